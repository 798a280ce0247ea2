//! Records that are received over HTTP, by a plain client: what was acknowledged is counted once, whatever
//! ends the run.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use rustix::process::Signal;

use crate::jobs::{PAGES, SECOND, exact, tallies};
use crate::scene::{Life, Printed, Scene, moment, now, until};

const TOKEN: &str = "0123456789abcdef";

/// A job that receives its records, and a sender.
struct Sender {
    scene: Scene,
    port: u16,
    /// The lines that were acknowledged, by the start of their window and page.
    kept: BTreeMap<(String, String), i64>,
    people: u64,
}

impl Sender {
    /// `http` are the further fields of `source.http`.
    fn new(http: &str) -> Sender {
        let scene = Scene::new("http");
        // A free port; nobody else takes it at once.
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let from = now() / SECOND * SECOND - SECOND;
        let source = format!("type = \"jsonl\"\nhttp = {{ listen = \"127.0.0.1:{port}\"{http} }}");
        let job = exact(from, None).replace("type = \"csv\"", &source).replace("visits.csv", "spool");
        // Time for a batch to be sent again after a kill.
        let job =
            job.replace("late = \"500ms\"", "late = \"4s\"").replace("\"lifetime\"", "\"each 10 seconds\"");
        scene.write("job.toml", job);
        scene.init();
        Sender { scene, port, kept: BTreeMap::new(), people: 0 }
    }

    fn start(&self) -> Life {
        let life = self.scene.start(&["run", "job.toml", "--out", "releases.jsonl"]);
        until("it listens", || TcpStream::connect(("127.0.0.1", self.port)).is_ok());
        life
    }

    /// Sends a request; returns the status, or `None` where nobody answers.
    fn request(&self, head: &str, body: &[u8]) -> Option<(u16, String)> {
        let mut socket = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        let head = format!(
            "{head}\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        socket.write_all(head.as_bytes()).ok()?;
        socket.write_all(body).ok()?;
        let mut response = String::new();
        socket.read_to_string(&mut response).ok()?;
        let status = response.split(' ').nth(1)?.parse().ok()?;
        Some((status, response))
    }

    fn post(&self, id: &str, body: &[u8]) -> Option<u16> {
        let head =
            format!("POST /batches HTTP/1.1\r\nIdempotency-Key: {id}\r\nAuthorization: Bearer {TOKEN}");
        self.request(&head, body).map(|(status, _)| status)
    }

    /// A batch of the present, and its lines by window and page.
    fn batch(&mut self) -> (String, String, Vec<(String, String)>) {
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
        (format!("batch-{}", self.people), body, about)
    }

    fn keep(&mut self, about: Vec<(String, String)>) {
        about.into_iter().for_each(|line| *self.kept.entry(line).or_default() += 1);
    }

    /// Compares all released windows with the lines that were acknowledged.
    fn compare(&self) -> i64 {
        let printed = Printed::of(&self.scene.read("releases.jsonl"));
        let mut sum = 0;
        for ((start, page), value) in tallies(&printed.values()) {
            let kept = self.kept.get(&(start.clone(), page.clone())).copied().unwrap_or_default();
            assert_eq!(value, kept, "{start} {page}");
            sum += value;
        }
        sum
    }

    /// Waits until all windows up to the present are released.
    fn released(&self) {
        let last = moment(now() / SECOND * SECOND);
        let closed = |line: &str| line.contains(&last) && line.contains("\"closed\":true");
        until("the present window is released", || self.scene.read("releases.jsonl").lines().any(closed));
    }
}

// Refutes a batch that is acknowledged and lost, or counted twice, when the run is killed at once and the
// sender, which may not have heard, sends again; and an input gap while nobody listens.
#[test]
fn what_was_acknowledged_is_counted_once_whatever_kills_the_run() {
    let mut sender = Sender::new("");
    let mut life = sender.start();
    for kill in 0..4 {
        for _ in 0..5 {
            let (id, body, about) = sender.batch();
            assert_eq!(sender.post(&id, body.as_bytes()), Some(200));
            sender.keep(about);
            assert_eq!(sender.post(&id, body.as_bytes()), Some(200), "again");
            thread::sleep(Duration::from_millis(50));
        }
        let (id, body, about) = sender.batch();
        assert_eq!(sender.post(&id, body.as_bytes()), Some(200));
        sender.keep(about);
        life.kill();
        assert_eq!(sender.post(&id, body.as_bytes()), None, "nobody listens");
        if kill == 2 {
            // A batch that was written in part, and that nobody has acknowledged.
            let segment = sender.scene.at("spool/00000001.jsonl");
            let torn =
                [fs::read(&segment).unwrap().as_slice(), body.as_bytes(), b"{\"person\":\"tor"].concat();
            fs::write(&segment, torn).unwrap();
        }
        life = sender.start();
        assert_eq!(sender.post(&id, body.as_bytes()), Some(200), "its id is known");
    }
    sender.released();
    life.signal(Signal::TERM);
    assert_eq!(life.end().code, Some(0));
    assert_eq!(sender.compare(), 4 * 6 * 20);
    assert!(!sender.scene.read("releases.jsonl").contains("input gap"));
    sender.scene.verify("job.ledger");
    // The spool is read like a log.
    assert_eq!(sender.scene.run(&["check", "job.toml", "--connect"]).code, Some(0));
    let sample = sender.scene.run(&["check", "job.toml", "--sample", "1000"]);
    assert!(sample.code == Some(0) && sample.out.contains("480"), "{sample:?}");
}

// Refutes a bound that is passed, a request that is not refused, one that ends the run, and an answer from
// which a sender learns more than it sent.
#[test]
fn a_sender_is_refused_as_the_page_says() {
    let mut sender = Sender::new(", batch = \"2 kB\", hold = \"4 kB\", token = \"token\"");
    sender.scene.write("token", TOKEN);
    let mut life = sender.start();
    let (id, body, about) = sender.batch();
    assert!((1_000..1_900).contains(&body.len()));
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
    ] {
        let (found, response) = sender.request(&head, body.as_bytes()).unwrap();
        assert_eq!(found, status, "{head}: {response}");
        assert!(!response.contains("person") && !response.contains(&id), "{response}");
    }
    assert_eq!(sender.post("large", &[b'\n'; 2_001]), Some(413));
    assert_eq!(sender.scene.read("spool/00000001.jsonl"), "", "nothing was kept");
    assert_eq!(sender.post(&id, body.as_bytes()), Some(200));
    sender.keep(about);
    assert_eq!(sender.post(&id, b"other bytes\n"), Some(422));
    // Until the spool is full; then a batch that is there is acknowledged, and another one is not.
    let (other, more, about) = sender.batch();
    assert_eq!(sender.post(&other, more.as_bytes()), Some(200));
    sender.keep(about);
    let (third, most, _) = sender.batch();
    let head = format!("POST /batches HTTP/1.1\r\nIdempotency-Key: {third}{bearer}");
    let (status, response) = sender.request(&head, most.as_bytes()).unwrap();
    assert!(status == 429 && response.contains("Retry-After: "), "{response}");
    assert_eq!(sender.post(&other, more.as_bytes()), Some(200));
    sender.released();
    assert!(!life.has_ended());
    life.signal(Signal::TERM);
    assert_eq!(life.end().code, Some(0));
    assert_eq!(sender.compare(), 2 * 20);
    // Beyond this machine, a token is required.
    let open =
        sender.scene.read("job.toml").replace("127.0.0.1:", "0.0.0.0:").replace(", token = \"token\"", "");
    sender.scene.write("open.toml", open);
    let said = sender.scene.run(&["check", "open.toml"]);
    assert!(said.code == Some(78) && said.err.contains("a token beside it"), "{said:?}");
    sender.scene.write("hosts", "127.0.0.1:1\n127.0.0.1:2\n");
    let said = sender.scene.run(&["run", "job.toml", "--hosts", "hosts", "-n", "2", "-p", "0"]);
    assert!(said.code == Some(78) && said.err.contains("source.http: "), "{said:?}");
}

// Refutes batches of two senders that are torn or counted twice.
#[test]
fn two_senders_share_a_run() {
    let mut sender = Sender::new("");
    let life = sender.start();
    let batches: Vec<_> = (0..40).map(|_| sender.batch()).collect();
    let shared = &sender;
    thread::scope(|scope| {
        for order in [0, 1] {
            let batches = &batches;
            scope.spawn(move || {
                for at in 0..batches.len() {
                    let at = if order == 0 { at } else { batches.len() - 1 - at };
                    let (id, body, _) = &batches[at];
                    assert_eq!(shared.post(id, body.as_bytes()), Some(200));
                }
            });
        }
    });
    batches.into_iter().for_each(|(_, _, about)| sender.keep(about));
    sender.released();
    life.signal(Signal::TERM);
    assert_eq!(life.end().code, Some(0));
    assert_eq!(sender.compare(), 40 * 20);
}
