//! Records that are received over HTTP, by a plain client: what was acknowledged is counted once, whatever
//! ends the run.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::jobs::{PAGES, SECOND, exact, tallies};
use crate::kit::free_port;
use crate::scene::{Life, Printed, Scene, moment, now, until};

const TOKEN: &str = "0123456789abcdef";

/// A job that receives its records, and a sender.
pub(crate) struct Sender {
    pub(crate) scene: Scene,
    pub(crate) port: u16,
    /// The lines that were acknowledged, by the start of their window and page.
    pub(crate) kept: BTreeMap<(String, String), i64>,
    pub(crate) people: u64,
}

/// A batch: its id, its lines, and the window and page of each.
pub(crate) struct Batch {
    pub(crate) id: String,
    pub(crate) body: String,
    pub(crate) about: Vec<(String, String)>,
}

impl Sender {
    /// `http` are the further fields of `source.http`; windows close 4 seconds late, so that a batch can be
    /// sent again after a kill.
    pub(crate) fn new(http: &str) -> Sender {
        let scene = Scene::new("http");
        let port = free_port();
        let from = now() / SECOND * SECOND - SECOND;
        let source = format!("type = \"jsonl\"\nhttp = {{ listen = \"127.0.0.1:{port}\"{http} }}");
        let job = exact(from, None).replace("type = \"csv\"", &source).replace("visits.csv", "spool");
        let job =
            job.replace("late = \"500ms\"", "late = \"4s\"").replace("\"lifetime\"", "\"each 10 seconds\"");
        scene.write("job.toml", job);
        scene.init();
        Sender { scene, port, kept: BTreeMap::new(), people: 0 }
    }

    pub(crate) fn listens(&self) -> bool {
        TcpStream::connect(("127.0.0.1", self.port)).is_ok()
    }

    pub(crate) fn start(&self) -> Life {
        let life = self.scene.start(&["run", "job.toml", "--out", "releases.jsonl"]);
        until("it listens", || self.listens());
        life
    }

    /// Sends a request; returns the status and the response, or `None` where nobody answers.
    pub(crate) fn request(&self, head: &str, body: &[u8]) -> Option<(u16, String)> {
        let mut socket = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        let head = format!(
            "{head}\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        socket.write_all(head.as_bytes()).ok()?;
        // A response may come before the whole body was sent.
        let _ = socket.write_all(body);
        let mut response = String::new();
        socket.read_to_string(&mut response).ok()?;
        let status = response.split(' ').nth(1)?.parse().ok()?;
        Some((status, response))
    }

    pub(crate) fn post(&self, id: &str, body: &[u8]) -> Option<u16> {
        let head =
            format!("POST /batches HTTP/1.1\r\nIdempotency-Key: {id}\r\nAuthorization: Bearer {TOKEN}");
        self.request(&head, body).map(|(status, _)| status)
    }

    /// A batch of the present.
    pub(crate) fn batch(&mut self) -> Batch {
        let (mut body, mut about) = (String::new(), Vec::new());
        for _ in 0..20 {
            let (time, page) = (now(), PAGES[(self.people % 3) as usize]);
            let (seconds, rest) = (time / SECOND, time % SECOND);
            body += &format!(
                "{{\"person\":\"p{}\",\"time\":\"{seconds}.{rest:06}\",\"page\":\"{page}\"}}\n",
                self.people
            );
            about.push((moment(time / SECOND * SECOND), page.to_owned()));
            self.people += 1;
        }
        Batch { id: format!("batch-{}", self.people), body, about }
    }

    pub(crate) fn send(&self, batch: &Batch) -> Option<u16> {
        self.post(&batch.id, batch.body.as_bytes())
    }

    pub(crate) fn keep(&mut self, batch: &Batch) {
        batch.about.iter().cloned().for_each(|line| *self.kept.entry(line).or_default() += 1);
    }

    /// Waits until each window up to the present is released, ends the run, and compares every released
    /// window with the lines that were acknowledged; returns the number of released records.
    pub(crate) fn finish(&self, life: Life) -> i64 {
        let last = now() / SECOND * SECOND;
        let start = format!("\"start\":\"{}\"", moment(last));
        until("the present window is released", || {
            self.scene.read("releases.jsonl").lines().any(|line| line.contains(&start))
        });
        life.signal(Signal::TERM);
        let said = life.end();
        assert_eq!(said.code, Some(0), "{said:?}");
        let lines = self.scene.read("releases.jsonl");
        assert!(!lines.contains("input gap") && !said.err.contains("p1"), "{lines} {said:?}");
        self.scene.verify("job.ledger");
        let found = tallies(&Printed::of(&lines).values());
        for (at, kept) in &self.kept {
            assert_eq!(found.get(at), Some(kept), "{at:?}\n{lines}");
        }
        let sum = found.values().sum();
        assert_eq!(sum, self.kept.values().sum::<i64>(), "records that nobody has sent");
        sum
    }

    /// The segments that are there.
    pub(crate) fn segments(&self) -> Vec<String> {
        let entries = fs::read_dir(self.scene.at("spool")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut segments: Vec<String> = names.filter(|name| name.ends_with(".jsonl")).collect();
        segments.sort();
        segments
    }
}

// Refutes a batch that is acknowledged and lost, or counted twice, when the run is killed at once and the
// sender, which may not have heard, sends again; a torn end that is counted; and an input gap while nobody
// listens.
#[test]
fn what_was_acknowledged_is_counted_once_whatever_kills_the_run() {
    let mut sender = Sender::new("");
    let mut life = sender.start();
    for kill in 0..4 {
        for _ in 0..5 {
            let batch = sender.batch();
            assert_eq!(sender.send(&batch), Some(200));
            sender.keep(&batch);
            assert_eq!(sender.send(&batch), Some(200), "again");
            thread::sleep(Duration::from_millis(50));
        }
        let batch = sender.batch();
        assert_eq!(sender.send(&batch), Some(200));
        sender.keep(&batch);
        life.kill();
        assert_eq!(sender.send(&batch), None, "nobody listens");
        if kill == 2 {
            // A batch that was written in part, and that nobody has acknowledged.
            let segment = sender.scene.at("spool").join(sender.segments().last().unwrap());
            let torn = [fs::read(&segment).unwrap(), batch.body.replace("\"p", "\"q").into()].concat();
            fs::write(&segment, &torn[..torn.len() - 9]).unwrap();
        }
        life = sender.start();
        assert_eq!(sender.send(&batch), Some(200), "its id is known");
    }
    assert_eq!(sender.finish(life), 4 * 6 * 20);
    // The spool is read like a log.
    sender.scene.done(&["check", "job.toml", "--connect"]);
    let sample = sender.scene.done(&["check", "job.toml", "--sample", "1000"]);
    assert!(sample.out.contains("480"), "{sample:?}");
}

// Refutes a request that is not refused, one that ends the run or leaves something in the spool, and an
// answer from which a sender learns more than it sent.
#[test]
fn a_sender_is_refused_as_the_page_says() {
    let mut sender = Sender::new(", batch = \"2 kB\", token = { file = \"token\" }");
    sender.scene.write("token", TOKEN);
    let mut life = sender.start();
    let batch = sender.batch();
    let id = batch.id.clone();
    let post = |fields: &str| format!("POST /batches HTTP/1.1\r\nIdempotency-Key: {id}{fields}");
    let bearer = format!("\r\nAuthorization: Bearer {TOKEN}");
    for (head, status) in [
        (post(""), 401),
        (post("\r\nAuthorization: Bearer 0123456789abcdeF"), 401),
        (format!("GET /batches HTTP/1.1{bearer}"), 405),
        (format!("POST /other HTTP/1.1{bearer}"), 404),
        (format!("POST /batches HTTP/1.1{bearer}"), 400),
        (post(&format!("-{}{bearer}", "x".repeat(255))), 400),
        (post(&format!("\r\nContent-Encoding: gzip{bearer}")), 415),
        (post(&format!("\r\nOrigin: http://evil.example{bearer}")), 403),
        (post(&format!("\r\nTransfer-Encoding: chunked{bearer}")), 400),
    ] {
        let (found, response) = sender.request(&head, batch.body.as_bytes()).unwrap();
        assert_eq!(found, status, "{head}: {response}");
        assert!(!response.contains("person") && !response.contains(&id), "{response}");
    }
    assert_eq!(sender.post("large", &[b'\n'; 2_001]), Some(413));
    for bad in
        ["{\"person\":\"s3cr3t\"", "[1]", "\"s3cr3t\"", "s3cr3t", "{\"a\":1} {\"a\":2}", "{\"a\":\u{7}}"]
    {
        let body = format!("{}{bad}\n", &batch.body[..batch.body.find('\n').unwrap() + 1]);
        let (found, response) = sender.request(&post(&bearer), body.as_bytes()).unwrap();
        assert!(found == 400 && !response.contains("s3cr3t"), "{bad}: {response}");
    }
    // A client that goes away in the middle of a body.
    let mut broken = TcpStream::connect(("127.0.0.1", sender.port)).unwrap();
    let head =
        format!("{}\r\nHost: 127.0.0.1\r\nContent-Length: {}\r\n\r\n", post(&bearer), batch.body.len());
    broken.write_all(&[head.as_bytes(), &batch.body.as_bytes()[..300]].concat()).unwrap();
    drop(broken);
    assert_eq!(sender.scene.read("spool/00000001.jsonl"), "", "nothing was kept");
    assert_eq!(sender.send(&batch), Some(200));
    sender.keep(&batch);
    assert_eq!(sender.post(&id, b"{}\n"), Some(422));
    // What only a worker could not read is refused as a whole, too, by its line, field and kind.
    let first = &batch.body[..batch.body.find('\n').unwrap() + 1];
    let deep = format!("{{\"person\":\"s3cr3t\",\"time\":1.5,\"page\":{}1", "[".repeat(700));
    for (line, wrong) in [
        (&b"{\"person\":\"s3cr3t\",\"time\":\"soon\",\"page\":\"/\"}"[..], "field time: found a text"),
        (b"{\"person\":\"s3cr3t\",\"page\":\"/\"}", "field time: found nothing"),
        (b"{\"person\":\"s3cr\xff3t\",\"time\":\"1.5\"}", "field person: found bytes that are no UTF-8"),
        (b"{\"person\":\"s3cr3t\\ud800\",\"time\":\"1.5\"}", "field person: found half of a surrogate pair"),
        (b"{\"person\":\"a\",\"person\":\"s3cr3t\",\"time\":1}", "field person: found a second value"),
        (b"{\"person\":[\"s3cr3t\"],\"time\":1}", "field person: found a list"),
        (b"{\"person\":{\"s3cr3t\":1},\"time\":1}", "field person: found an object"),
        (deep.as_bytes(), "field page: found no JSON value"),
        (b"  ", "found no JSON object"),
    ] {
        let body = [first.as_bytes(), b"\n", line, b"\n", first.as_bytes()].concat();
        let (found, response) = sender.request(&post(&bearer).replace(&id, "unreadable"), &body).unwrap();
        assert!(found == 400 && response.contains(&format!("line 3: {wrong}; give ")), "{response}");
        assert!(!response.contains("s3cr3t"), "{response}");
    }
    assert_eq!(sender.scene.read("spool/00000001.jsonl"), batch.body, "nothing of them was kept");
    // A record that the job file leaves out is none that cannot be read.
    let left_out = b"{\"time\":\"1.5\",\"page\":\"a\"}\n{\"person\":null,\"time\":1.5}\n";
    assert_eq!(sender.post("left-out", left_out), Some(200));
    thread::sleep(Duration::from_millis(700));
    assert!(!life.has_ended());
    life.signal(Signal::KILL);
    life.end();
    let life = sender.start();
    assert_eq!(sender.finish(life), 20);
    // Beyond this machine, a token is required.
    let job = sender.scene.read("job.toml");
    let open = job.replace("127.0.0.1:", "0.0.0.0:").replace(", token = { file = \"token\" }", "");
    sender.scene.write("open.toml", open);
    let said = sender.scene.run(&["check", "open.toml"]);
    assert!(said.code == Some(78) && said.err.contains("source.http.token"), "{said:?}");
    // Senders keep no order of time.
    sender.scene.write("sorted.toml", job.replace("http = ", "order = \"sorted\"\nhttp = "));
    let said = sender.scene.run(&["check", "sorted.toml"]);
    assert!(said.code == Some(78) && said.err.contains("source.http: "), "{said:?}");
    sender.scene.write("hosts", "127.0.0.1:1\n127.0.0.1:2\n");
    let said = sender.scene.run(&["run", "job.toml", "--hosts", "hosts", "-n", "2", "-p", "0"]);
    assert!(said.code == Some(78) && said.err.contains("source.http: "), "{said:?}");
    // A token that nobody has written.
    fs::remove_file(sender.scene.at("token")).unwrap();
    let said = sender.scene.run(&["run", "job.toml", "--out", "releases.jsonl"]);
    assert!(said.code != Some(0) && said.err.contains("no such file"), "{said:?}");
    let said = sender.scene.done(&["check", "job.toml", "--connect"]);
    assert!(said.out.contains("no such file") && said.out.contains("`discreet run` is refused"), "{said:?}");
}

// Refutes a bound that is passed, a full spool that loses a batch, one that stays full, a segment that is
// kept though no restart needs it, and one that is removed and then missed by a restart.
#[test]
fn a_full_spool_refuses_until_windows_are_released_and_segments_go() {
    let mut sender = Sender::new(", batch = \"2 kB\", hold = \"6 kB\"");
    let mut life = sender.start();
    let (mut refused, mut batches, since) = (0, 0, Instant::now());
    // Some 24 kB, in an order of time that the spool's bound slows down.
    while batches < 16 {
        let batch = sender.batch();
        let head = format!("POST /batches HTTP/1.1\r\nIdempotency-Key: {}", batch.id);
        let (status, response) = sender.request(&head, batch.body.as_bytes()).unwrap();
        match status {
            200 => {
                (batches, _) = (batches + 1, sender.keep(&batch));
                if batches == 8 {
                    life.kill();
                    life = sender.start();
                    assert_eq!(sender.send(&batch), Some(200), "its id is known");
                }
            }
            429 => {
                refused += 1;
                assert!(response.contains("Retry-After: 5\r\n"), "{response}");
                thread::sleep(Duration::from_millis(100));
            }
            _ => panic!("{response}"),
        }
        assert!(since.elapsed() < Duration::from_secs(90), "{batches} batches, {refused} refused");
        let sizes = sender.segments();
        let sizes = sizes.iter().map(|name| sender.scene.read(&format!("spool/{name}")).len());
        assert!(sizes.sum::<usize>() <= 6_000);
    }
    assert!(refused >= 3, "{refused}");
    assert_eq!(sender.finish(life), 16 * 20);
    let segments = sender.segments();
    assert!(segments[0] != "00000001.jsonl" && segments.len() <= 6, "{segments:?}");
}

// Refutes a batch that is torn, lost, or counted twice where several senders share a run of several threads,
// and where both send the same batch.
#[test]
fn two_senders_share_a_run() {
    let mut sender = Sender::new("");
    let life = sender.scene.start(&["run", "job.toml", "--out", "releases.jsonl", "-w", "2"]);
    until("it listens", || sender.listens());
    let batches: Vec<Batch> = (0..40).map(|_| sender.batch()).collect();
    let shared = &sender;
    thread::scope(|scope| {
        for order in [0, 1] {
            let batches = &batches;
            scope.spawn(move || {
                for at in 0..batches.len() {
                    let at = if order == 0 { at } else { batches.len() - 1 - at };
                    // At the same moment, one of the two may be asked to send it again.
                    let mut status = shared.send(&batches[at]);
                    while status == Some(503) {
                        status = shared.send(&batches[at]);
                    }
                    assert_eq!(status, Some(200));
                }
            });
        }
    });
    batches.iter().for_each(|batch| sender.keep(batch));
    assert_eq!(sender.finish(life), 40 * 20);
}

// Refutes a window that an idle receiver leaves open, numbers that the public sees, and ones that do not
// count.
#[test]
fn an_idle_receiver_closes_windows_and_its_operator_sees_numbers() {
    let mut sender = Sender::new("");
    let job = sender.scene.read("job.toml").replace("late = \"4s\"", "late = \"500ms\"");
    sender.scene.write("job.toml", job + "\n[watch]\nlisten = \"127.0.0.1:0\"\noperator = true\n");
    let life = sender.start();
    let batch = sender.batch();
    assert_eq!(sender.send(&batch), Some(200));
    sender.keep(&batch);
    assert_eq!(sender.send(&batch), Some(200));
    assert_eq!(sender.post("", b"{}"), Some(400));
    let address = crate::watch::address(&life);
    let get = |path: &str| {
        let mut socket = TcpStream::connect(&address).unwrap();
        write!(socket, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
        let mut response = String::new();
        socket.read_to_string(&mut response).unwrap();
        response
    };
    let metrics = get("/metrics");
    for (name, value) in [("batches", 1), ("repeated", 1), ("records", 20), ("refused", 1)] {
        let sample = format!("\ndiscreet_operator_received_{name}_total {value}\n");
        assert!(metrics.contains(&sample), "{sample} {metrics}");
    }
    assert!(
        metrics.contains(&format!("\ndiscreet_operator_spool_bytes {}\n", batch.body.len() + 40)),
        "{metrics}"
    );
    assert!(get("/operator").contains("<dt>Batches</dt><dd>1 taken, 1 there already, 1 refused</dd>"));
    // Nothing more comes.
    let after = Printed::of(&sender.scene.read("releases.jsonl")).values().len();
    until("two more windows", || {
        Printed::of(&sender.scene.read("releases.jsonl")).values().len() >= after + 6
    });
    assert_eq!(sender.finish(life), 20);
}

// Refutes a page that says another thing of a record far ahead of the clock: it is acknowledged, and dropped when it
// is read.
#[test]
fn a_record_too_far_ahead_is_acknowledged_and_dropped() {
    let mut sender = Sender::new("");
    let job = sender.scene.read("job.toml").replace("late = \"4s\"", "late = \"500ms\"\nahead = \"1 hour\"");
    sender.scene.write("job.toml", job + "\n[watch]\nlisten = \"127.0.0.1:0\"\noperator = true\n");
    let life = sender.start();
    let ahead = format!("{{\"person\":\"p\",\"time\":\"{}\",\"page\":\"a\"}}\n", now() / SECOND + 7_200);
    assert_eq!(sender.post("ahead", ahead.as_bytes()), Some(200));
    let address = crate::watch::address(&life);
    until("it is dropped", || {
        crate::watch::get(&address, "/metrics")
            .1
            .contains("\ndiscreet_operator_source_ahead_records_total 1\n")
    });
    let batch = sender.batch();
    assert_eq!(sender.send(&batch), Some(200));
    sender.keep(&batch);
    assert_eq!(sender.finish(life), 20);
}

// Refutes a page whose commands do not work as they stand there.
#[test]
fn the_example_receives_by_the_command_on_its_page() {
    let page = include_str!("../../config/http.toml");
    let scene = Scene::new("http-example");
    let port = free_port();
    let at = |text: &str| text.replace("127.0.0.1:8080", &format!("127.0.0.1:{port}"));
    fs::create_dir(scene.at("config")).unwrap();
    scene.write("config/http.toml", at(page));
    let commands: Vec<String> = page.lines().filter_map(|line| line.strip_prefix("#   ")).map(at).collect();
    let [mkdir, init, run, post] = &commands[..] else { panic!("{commands:?}") };
    let words = |command: &str| -> Vec<String> { command.split(' ').skip(1).map(str::to_owned).collect() };
    let made = Command::new("sh").args(["-c", mkdir]).current_dir(scene.at("")).status().unwrap();
    assert!(made.success());
    let [init, run] = [init, run].map(|command| words(command));
    scene.done(&init.iter().map(String::as_str).collect::<Vec<_>>());
    let life = scene.start(&run.iter().map(String::as_str).collect::<Vec<_>>());
    until("it says where it receives", || {
        life.said().1.contains(&format!("batches are received at http://127.0.0.1:{port}/batches"))
    });
    let said = Command::new("sh").args(["-c", post]).output().unwrap();
    if said.status.code() == Some(127) {
        println!("skipped: curl: no such command (apt-get install curl)");
    } else {
        assert_eq!(said.stdout, b"kept\n", "{said:?}");
    }
    life.signal(Signal::TERM);
    assert_eq!(life.end().code, Some(0));
}

// Measures the records a second that are received, beside the same records as a file that is followed.
#[test]
#[ignore = "a measurement: cargo test --release --test job http::received -- --ignored --nocapture"]
fn received_records_a_second() {
    const BATCHES: u64 = 200;
    const RECORDS: u64 = 2_000;
    let batch = |number: u64| -> String {
        let line = |at: u64| {
            format!("{{\"person\":\"p{}\",\"time\":\"1.5\",\"page\":\"a\"}}\n", number * RECORDS + at)
        };
        (0..RECORDS).map(line).collect()
    };
    let batches: Vec<String> = (0..BATCHES).map(batch).collect();
    let bytes: usize = batches.iter().map(String::len).sum();
    let sender = Sender::new("");
    let life = sender.start();
    let read = |life: &Life, asked: &mut usize| {
        *asked += 1;
        life.signal(Signal::USR1);
        until("it answers", || life.said().1.matches("operator only: lag ").count() == *asked);
        let said = life.said().1;
        let line = said.lines().rfind(|line| line.contains("MB read")).unwrap().to_owned();
        let before = line.split(" MB read").next().unwrap().to_owned();
        before.rsplit(' ').next().unwrap().parse::<f64>().unwrap()
    };
    let wait = |life: &Life| {
        let mut asked = 0;
        while read(life, &mut asked) < bytes as f64 / 1e6 - 0.1 {
            thread::sleep(Duration::from_millis(20));
        }
    };
    for senders in [1, 4] {
        let since = Instant::now();
        thread::scope(|scope| {
            for part in 0..senders {
                let (sender, batches) = (&sender, &batches);
                scope.spawn(move || {
                    for number in (part..batches.len()).step_by(senders) {
                        let id = format!("{senders}-{number}");
                        assert_eq!(sender.post(&id, batches[number].as_bytes()), Some(200));
                    }
                });
            }
        });
        let rate = (BATCHES * RECORDS) as f64 / since.elapsed().as_secs_f64();
        println!("{senders} senders: {rate:.0} records/s acknowledged, in batches of {RECORDS}");
    }
    life.signal(Signal::TERM);
    life.end();
    let log = Sender::new("");
    let job = log.scene.read("job.toml");
    let from = job.find("http = ").unwrap();
    let end = from + job[from..].find('\n').unwrap();
    log.scene.write(
        "job.toml",
        format!("{}{}", &job[..from], &job[end + 1..]).replace("\"spool\"", "\"log.jsonl\""),
    );
    log.scene.write("log.jsonl", "");
    let life = log.scene.start(&["run", "job.toml", "--out", "releases.jsonl"]);
    until("it has begun", || life.said().1.contains("started: "));
    let since = Instant::now();
    log.scene.write("log.jsonl", batches.concat());
    wait(&life);
    let rate = (BATCHES * RECORDS) as f64 / since.elapsed().as_secs_f64();
    println!("the same records as a file that is followed: {rate:.0} records/s read");
    life.signal(Signal::TERM);
    life.end();
}

// Refutes connections that say nothing and keep a sender out.
#[test]
fn silent_connections_keep_no_sender_out() {
    let mut sender = Sender::new(", token = { file = \"token\" }");
    sender.scene.write("token", TOKEN);
    let life = sender.start();
    let mut silent = Vec::new();
    for number in 0..400 {
        let mut socket = TcpStream::connect(("127.0.0.1", sender.port)).unwrap();
        socket.write_all(b"P").unwrap();
        silent.push(socket);
        if number % 40 == 39 {
            let batch = sender.batch();
            assert_eq!(sender.send(&batch), Some(200), "beside {} others", number + 1);
            sender.keep(&batch);
        }
    }
    assert_eq!(sender.finish(life), 10 * 20);
}
