//! Questions of analysts over HTTP: the page, the command, and many analysts at once (`DISCREET_FULL=1`: a thousand).

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use crate::browser::Browser;
use crate::jobs::SECOND;
use crate::kit::{free_port, size};
use crate::questions::answers;
use crate::scene::{PATIENCE, Scene, moment, now, until};

/// The records of each hour.
const RECORDS: i64 = 200;

/// A job of which the analysts may ask, with equal records in the last complete window and in the one that is open.
fn scene(name: &str, port: u16, analysts: usize) -> Scene {
    let scene = Scene::new(name);
    let from = now() / SECOND * SECOND - 3_600 * SECOND;
    let tokens: Vec<String> =
        (0..analysts).map(|analyst| format!("a{analyst} = \"a{analyst}.token\"")).collect();
    for analyst in 0..analysts {
        scene.write(&format!("a{analyst}.token"), format!("{}\n", token(analyst)));
    }
    scene.write(
        "job.toml",
        format!(
            r#"
            [job]
            name = "shop"
            version = 1
            from = "{}"
            until = "{}"
            slack = "200ms"
            [source]
            type = "csv"
            path = "visits.csv"
            time = {{ field = "time", format = "unix" }}
            [privacy]
            person = {{ field = "who", missing = "drop" }}
            promise = "lifetime"
            budget = {{ epsilon = 100, delta = 1e-5 }}
            ledger = "job.ledger"
            account = "shop"
            [watch]
            listen = "127.0.0.1:{port}"
            operator = true
            [[ask]]
            name = "study"
            every = "1 hour"
            fields = {{ page = "text", price = "1 digit" }}
            bound = {{ per_key = 1 }}
            answers = 3000
            tokens = {{ {} }}
            share = 1
            "#,
            moment(from - 3_600 * SECOND),
            moment(from + 72 * 3_600 * SECOND),
            tokens.join(", "),
        ),
    );
    // The hour that is over, and the one that may end while the test runs: either is the last that is complete.
    let hour = now() / (3_600 * SECOND) * 3_600;
    let record = |record: i64| {
        let (person, time) = (record / 2, hour - record % 2);
        format!("p{person},{time},{},{}.5\n", ["a", "b"][(person % 2) as usize], person % 10)
    };
    scene.write(
        "visits.csv",
        "who,time,page,price\n".to_owned() + &(0..2 * RECORDS).map(record).collect::<String>(),
    );
    scene.init();
    scene
}

fn token(analyst: usize) -> String {
    format!("token-of-analyst-{analyst}")
}

/// The status and the body of a reply; `None` if the connection ends before it.
fn reply(port: u16, request: &[u8]) -> Option<(u16, String)> {
    let mut socket = TcpStream::connect(("127.0.0.1", port)).ok()?;
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    // The server may answer, and close, before it has read everything.
    let _ = socket.write_all(request);
    let mut text = Vec::new();
    let _ = socket.read_to_end(&mut text);
    let text = String::from_utf8(text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n")?;
    let length = head.split("Content-Length: ").nth(1)?.split("\r\n").next()?.parse::<usize>().ok()?;
    (length == body.len()).then(|| (head.split(' ').nth(1).unwrap().parse().unwrap(), body.trim().to_owned()))
}

fn post(port: u16, token: &str, body: &str) -> Option<(u16, String)> {
    let head = format!(
        "POST /ask HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    reply(port, (head + body).as_bytes())
}

fn listens(port: u16) -> bool {
    TcpStream::connect(("127.0.0.1", port)).is_ok()
}

// Refutes an answer with two values, one that is in no output or unpaid, an analyst who is never answered, and a run that ends,
// or answers nobody, because of what others send.
#[test]
fn many_analysts_are_answered_once_through_a_kill() {
    let many = size(300, 1_000);
    let port = free_port();
    let scene = scene("asking-many", port, many);
    let start = || {
        let life = scene.start(&["run", "job.toml", "--out", "out.jsonl"]);
        until("it listens", || listens(port));
        life
    };
    let life = start();
    let (answered, until_when) = (AtomicUsize::new(0), Instant::now() + 2 * PATIENCE);
    // They hold connections, and never complete a request.
    let slow: Vec<TcpStream> = (0..50).filter_map(|_| TcpStream::connect(("127.0.0.1", port)).ok()).collect();
    for (number, mut socket) in slow.iter().enumerate() {
        let part = [
            "",
            "POST /ask HT",
            "POST /ask HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer token-of-analyst-1\r\nContent-Length: 9\r\n\r\n{",
        ];
        socket.write_all(part[number % 3].as_bytes()).unwrap();
    }
    let ask = |analyst: usize| {
        let question = ["count where page = \\\"a\\\"", "mean of price in 0..10"][analyst % 2];
        let body = format!("{{\"id\":\"q{analyst}\",\"ask\":\"{question}\"}}");
        // Half of them ask once more after they have their answer, and so after the kill.
        let mut lines: Vec<String> = Vec::new();
        while lines.len() < 2 && Instant::now() < until_when {
            match post(port, &token(analyst), &body) {
                Some((200, line)) => {
                    if lines.is_empty() {
                        answered.fetch_add(1, Ordering::SeqCst);
                    }
                    lines.push(line);
                    until("the run was killed", || answered.load(Ordering::SeqCst) >= many / 3);
                }
                Some((202 | 429 | 503, _)) | None => thread::sleep(Duration::from_millis(50)),
                Some(other) => panic!("{analyst}: {other:?}"),
            }
        }
        lines
    };
    let lines: Vec<Vec<String>> = thread::scope(|scope| {
        let analysts: Vec<_> = (0..many)
            .map(|analyst| {
                let thread = thread::Builder::new().stack_size(256 << 10);
                thread.spawn_scoped(scope, move || ask(analyst)).unwrap()
            })
            .collect();
        until("a third is answered", || answered.load(Ordering::SeqCst) >= many / 3);
        life.kill();
        let life = start();
        // Others send what is no question.
        let large = "x".repeat(100_000);
        for (request, status) in [
            ("POST /ask HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}".to_owned(), 401),
            ("DELETE /ask HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned(), 405),
            ("POST /ask HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 2\r\n\r\n{}".to_owned(), 421),
            (
                format!(
                    "POST /ask HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\nContent-Length: 100000\r\n\r\n{large}",
                    token(1)
                ),
                413,
            ),
        ] {
            until("it is refused", || reply(port, request.as_bytes()).is_some_and(|reply| reply.0 == status));
        }
        for body in [
            "",
            "{",
            "[]",
            "{\"id\":\"x\"}",
            "{\"id\":\"x\",\"ask\":\"count where prise > 1\"}",
            "{\"id\":\"x\",\"analyst\":\"a3\",\"ask\":\"count\"}",
        ] {
            until("it is no question", || match post(port, &token(2), body) {
                Some((422, body)) => body.starts_with("{\"error\":"),
                _ => false,
            });
        }
        let lines = analysts.into_iter().map(|analyst| analyst.join().unwrap()).collect();
        life.signal(Signal::TERM);
        assert_eq!(life.end().code, Some(0));
        lines
    });
    drop(slow);
    let released: BTreeMap<String, Value> = answers(&scene, "out.jsonl");
    assert_eq!(released.len(), many, "each is in the output once");
    for (analyst, lines) in lines.iter().enumerate() {
        let [first, second] = &lines[..] else { panic!("{analyst} has {} answers", lines.len()) };
        let line: Value = serde_json::from_str(first).unwrap();
        assert_eq!(first, second);
        assert_eq!(line, released[&format!("q{analyst}")]);
        assert_eq!(line["analyst"], format!("a{analyst}"));
        let value = line["value"].as_f64().unwrap();
        let (truth, reach) = if analyst % 2 == 0 { (RECORDS as f64 / 2.0, 60.0) } else { (5.0, 2.5) };
        assert!((value - truth).abs() <= reach, "{line}");
    }
    // One bundle was paid for, and no more.
    let plan: Value = serde_json::from_str(&scene.done(&["plan", "job.toml", "--json"]).out).unwrap();
    let (paid, (_, spent)) = (plan["asks"][0]["paid"]["rho"].as_f64().unwrap(), scene.charged("job.ledger"));
    assert!((spent["rho"] - paid).abs() < 1e-6 * paid, "{spent:?} {paid}");
    scene.verify("job.ledger");
}

// Refutes a command that asks anew under an id, or ends with success where there is no answer, and a limit that is none.
#[test]
fn the_command_asks_and_says_why_not() {
    let port = free_port();
    let scene = scene("asking-command", port, 2);
    let url = format!("http://127.0.0.1:{port}");
    let ask = |question: &str, more: &[&str]| {
        scene.run(&[&["ask", &url, question, "--token", "a0.token"], more].concat())
    };
    assert_eq!(ask("count", &[]).code, Some(69), "there is no run");
    let life = scene.start(&["run", "job.toml", "--out", "out.jsonl"]);
    until("it listens", || listens(port));
    let first = ask("count where page = \"a\"", &["--id", "one", "--json"]);
    assert_eq!(first.code, Some(0), "{first:?}");
    let line: Value = serde_json::from_str(&first.out).unwrap();
    assert_eq!((&line["question"], &line["analyst"]), (&"one".into(), &"a0".into()));
    assert_eq!(ask("count where page = \"a\"", &["--id", "one", "--json"]).out, first.out);
    let page = ask("mean of price in 0..10", &[]);
    assert!(page.code == Some(0) && page.out.contains("The mean is "), "{page:?}");
    for (question, more, code, why) in [
        ("count", &["--id", "one"][..], 78, "id: it is that of another question, count where page = \"a\""),
        ("count where prise > 1", &[], 78, "column 13"),
        ("sum of price", &[], 78, "count where age >= 18"),
        ("count", &["--at", "2020-01-01T00:00:00Z"], 78, "question: at: "),
    ] {
        let said = ask(question, more);
        assert!(
            said.code == Some(code) && said.err.contains(why) && said.out.is_empty(),
            "{question}: {said:?}"
        );
    }
    scene.write("other.token", "another-token-of-nobody");
    let refused = scene.run(&["ask", &url, "count", "--token", "other.token"]);
    assert!(refused.code == Some(78) && refused.err.contains("the token of no analyst"), "{refused:?}");
    // More than an analyst may, while another is answered.
    let statuses: Vec<u16> = (0..60)
        .filter_map(|_| {
            Some(post(port, &token(0), "{\"id\":\"one\",\"ask\":\"count where page = \\\"a\\\"\"}")?.0)
        })
        .collect();
    assert!(statuses.contains(&429) && statuses.contains(&200), "{statuses:?}");
    assert_eq!(post(port, &token(1), "{\"id\":\"of another\",\"ask\":\"count\"}").unwrap().0, 200);
    life.signal(Signal::TERM);
    assert_eq!(life.end().code, Some(0));
    // After a restart with another number of workers, the same id has the same answer.
    let life = scene.start(&["run", "job.toml", "--out", "out.jsonl", "--workers", "2"]);
    until("it listens", || listens(port));
    assert_eq!(ask("count where page = \"a\"", &["--id", "one", "--json"]).out, first.out);
    let more = ask("count where page = \"b\"", &["--id", "two", "--json"]);
    let line: Value = serde_json::from_str(&more.out).unwrap();
    assert!((line["value"].as_f64().unwrap() - RECORDS as f64 / 2.0).abs() < 60.0, "{more:?}");
    life.signal(Signal::TERM);
    assert_eq!(life.end().code, Some(0));
    assert_eq!(answers(&scene, "out.jsonl").len(), 2 + 1 + 1);
}

// Refutes a form that does not ask, shows another number than that of the output, or takes an answer for markup.
#[test]
fn the_page_asks_in_a_browser() {
    let port = free_port();
    let scene = scene("asking-page", port, 1);
    let life = scene.start(&["run", "job.toml", "--out", "out.jsonl"]);
    until("it listens", || listens(port));
    let Some(mut browser) = Browser::open(&scene, &format!("http://127.0.0.1:{port}/ask")) else {
        println!("skipped: questions in a browser: there is no chromium (apt-get install chromium)");
        return;
    };
    let text = |browser: &mut Browser, of: &str| {
        browser.evaluate(&format!("document.getElementById(\"{of}\")?.textContent ?? \"\""))
    };
    until("the page is there", || {
        browser.evaluate("document.getElementById(\"id\")?.value ?? \"\"").starts_with("q-")
    });
    let ask = |browser: &mut Browser, token: &str, question: &str| {
        let question = serde_json::to_string(question).unwrap();
        browser.evaluate(&format!(
            "document.getElementById(\"token\").value = \"{token}\"; document.getElementById(\"question\").value = {question}; \
             document.getElementById(\"form\").requestSubmit(); \"asked\""
        ));
    };
    ask(&mut browser, "a-token-of-nobody", "count");
    until("the token is refused", || text(&mut browser, "state").contains("of no analyst"));
    ask(&mut browser, &token(0), "count where <b>");
    until("the mistake is shown as text", || text(&mut browser, "state").ends_with("in place of \"<\""));
    ask(&mut browser, &token(0), "count where page = \"<b>a</b>\"");
    until("the answer is shown", || text(&mut browser, "state") == "Answered.");
    let cells = browser.evaluate(
        "JSON.stringify([...document.querySelectorAll(\"#answers tbody td\")].map(cell => cell.textContent))",
    );
    let cells: Vec<String> = serde_json::from_str(&cells).unwrap();
    let released = answers(&scene, "out.jsonl");
    let line = &released[&cells[0]];
    assert_eq!(cells[1], line["asked"].as_str().unwrap());
    // The digits that the noise leaves, fewer where the interval is not cut at 0; it is not made narrower.
    let value = line["value"].as_f64().unwrap();
    let [low, high] = [0, 1].map(|end| line["interval"][end].as_f64().unwrap());
    let unit = 10_f64.powf(((high - low) / 2.0).log10().floor() - 1.0).min(1.0);
    let shown = cells[2].parse::<f64>().unwrap();
    let decimals = cells[2].split('.').nth(1).map_or(0, str::len) as f64;
    assert!(value.fract() == 0.0 || decimals == -unit.log10().round(), "{cells:?} {line}");
    assert!((shown - value).abs() <= unit / 2.0 + 1e-9, "{cells:?} {line}");
    let ends: Vec<f64> = cells[3].split(" to ").map(|end| end.parse().unwrap()).collect();
    assert!(
        ends[0] <= low && high <= ends[1] && ends[1] - ends[0] < high - low + 2.0 * unit,
        "{cells:?} {line}"
    );
    assert_eq!(cells[5], "2999 (1 used)");
    // The live page leads there.
    assert!(
        reply(port, b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            .unwrap()
            .1
            .contains("href=\"/ask\"")
    );
    life.signal(Signal::TERM);
    assert_eq!(life.end().code, Some(0));
}
