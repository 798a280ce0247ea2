//! The metrics, the live page and the alerts of a running job.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use crate::jobs::{HEADER, SECOND, exact, line};
use crate::scene::{Life, Scene, now, until};

const WATCH: &str = "\n[watch]\nlisten = \"127.0.0.1:0\"\noperator = true\n";

/// A job that is watched, over some records, of which one may be of a person who is in no other.
fn scene(more: &str, watch: &str) -> Scene {
    let scene = Scene::new("watch");
    scene.write("job.toml", exact(now() / SECOND * SECOND, None) + watch);
    let records: String = (0..40).map(|at| line(at, now() + at * 50_000, "a")).collect();
    scene.write("visits.csv", HEADER.to_owned() + &records + more);
    scene.init();
    scene
}

/// The address that a run serves.
fn address(life: &Life) -> String {
    let mut address = String::new();
    until("it serves", || {
        let said = life.said().1;
        let found = said.split("watch: http://").nth(1).and_then(|rest| rest.split('/').next());
        address = found.unwrap_or_default().to_owned();
        !address.is_empty()
    });
    address
}

/// The status and the body of an answer.
fn get(address: &str, path: &str) -> (u16, String) {
    let mut socket = TcpStream::connect(address).unwrap();
    write!(socket, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut answer = Vec::new();
    // A debugger closes no connection: its body ends after its length.
    let whole = |answer: &[u8]| {
        let text = String::from_utf8_lossy(answer).to_ascii_lowercase();
        let length =
            text.split("content-length:").nth(1)?.split("\r\n").next()?.trim().parse::<usize>().ok()?;
        Some(answer.len() >= text.find("\r\n\r\n")? + 4 + length)
    };
    while whole(&answer) != Some(true) {
        let mut room = [0; 4096];
        let read = socket.read(&mut room).unwrap();
        if read == 0 {
            break;
        }
        answer.extend_from_slice(&room[..read]);
    }
    let answer = String::from_utf8(answer).unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    (status, answer.split_once("\r\n\r\n").unwrap().1.to_owned())
}

/// The names and labels of the public families.
fn public(metrics: &str) -> BTreeSet<String> {
    let samples = metrics.lines().filter(|line| !line.starts_with('#') && !line.contains("operator"));
    samples.map(|line| line.rsplit_once(' ').unwrap().0.to_owned()).collect()
}

fn settled(address: &str) -> u64 {
    let (_, metrics) = get(address, "/metrics");
    let name = "discreet_windows_settled_total{release=";
    let counts = metrics.lines().filter(|line| line.starts_with(name));
    counts.map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum()
}

// Refutes metrics that Prometheus does not read, a public family that one person adds or takes away, and a
// value, an id or a key that none has released in any of them.
#[test]
fn metrics_are_read_by_prometheus_and_one_person_changes_no_public_family() {
    let secret = line("s3cr3t-person", now() + 500_000, "a");
    let mut seen = Vec::new();
    for more in ["", secret.as_str()] {
        let scene = scene(more, WATCH);
        let life = scene.start(&["run", "job.toml", "--out", "releases.jsonl"]);
        let address = address(&life);
        until("two windows have settled", || settled(&address) >= 2);
        until("it is ready", || get(&address, "/readyz").0 == 200);
        assert_eq!(get(&address, "/healthz").0, 200);
        let (_, metrics) = get(&address, "/metrics");
        assert!(metrics.contains("# HELP discreet_operator_source_lag_seconds Operator only. "), "{metrics}");
        let pages = ["/", "/operator", "/live.js"].map(|path| get(&address, path).1).concat();
        assert!(
            !metrics.contains("s3cr3t") && !pages.contains("s3cr3t") && !life.said().1.contains("s3cr3t")
        );
        match Command::new("promtool").args(["check", "metrics"]).stdin(Stdio::piped()).spawn() {
            Ok(mut promtool) => {
                promtool.stdin.take().unwrap().write_all(metrics.as_bytes()).unwrap();
                assert!(promtool.wait().unwrap().success(), "{metrics}");
            }
            Err(error) => println!("skipped: promtool check metrics: {error} (apt-get install prometheus)"),
        }
        seen.push((public(&metrics), metrics));
        life.signal(Signal::TERM);
        let said = life.end();
        assert_eq!(said.code, Some(0), "{said:?}");
        let starts = |line: &&str| line.starts_with("started: job ");
        assert_eq!(said.err.lines().filter(starts).count(), 1, "{}", said.err);
    }
    assert_eq!(seen[0].0, seen[1].0, "{}\n{}", seen[0].1, seen[1].1);
    assert!(seen[0].0.len() > 8, "{:?}", seen[0].0);
}

/// A browser in the background, ended when this is dropped.
struct Browser(Child);

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

// Refutes a page that shows what was there when it was loaded, for ever, and one whose script is refused by the
// browser. The page has the number of settled windows in its title, which a browser shows its debugger.
#[test]
fn the_live_page_changes_in_a_browser_as_windows_settle() {
    let scene = scene("", WATCH);
    let life = scene.start(&["run", "job.toml", "--out", "releases.jsonl"]);
    let address = address(&life);
    until("a window has settled", || settled(&address) >= 1);
    let said = scene.at("browser.err");
    let options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"];
    let browser = Command::new("chromium")
        .args(options)
        .arg("--remote-debugging-port=0")
        .arg(format!("--user-data-dir={}", scene.at("browser").display()))
        .arg(format!("http://{address}/"))
        .stdout(Stdio::null())
        .stderr(File::create(&said).unwrap())
        .spawn();
    let Ok(browser) = browser else {
        println!("skipped: the live page in a browser: there is no chromium (apt-get install chromium)");
        return;
    };
    let _browser = Browser(browser);
    let mut debugger = String::new();
    until("the browser listens", || {
        let said = scene.read("browser.err");
        let found = said.split("DevTools listening on ws://").nth(1).and_then(|rest| rest.split('/').next());
        debugger = found.unwrap_or_default().to_owned();
        !debugger.is_empty()
    });
    let shown = || -> Option<u64> {
        let (_, pages) = get(&debugger, "/json/list");
        let pages: Value = serde_json::from_str(&pages).unwrap();
        let title =
            pages.as_array()?.iter().find(|page| page["type"] == "page")?["title"].as_str()?.to_owned();
        title.split_once(" settled").and_then(|(number, _)| number.parse().ok())
    };
    until("the browser shows the page", || shown().is_some());
    let first = shown().unwrap();
    until("the browser shows more windows", || shown().is_some_and(|later| later >= first + 2));
    assert!(first >= 1 && settled(&address) >= shown().unwrap());
}

// Refutes a report that appears at the end alone, one that is seen half written, and an alert that is raised at
// each window or waits for its command.
#[test]
fn the_report_is_rewritten_and_an_alert_runs_its_command_once() {
    let exec = "exec = [\"/bin/sh\", \"-c\", \"echo $DISCREET_ALERT $DISCREET_ALERT_TEXT >> alerts; exec sleep 20\"]\n";
    let scene = scene("", &format!("{WATCH}{exec}budget = [0.000001]\n"));
    let life = scene.start(&["run", "job.toml", "--out", "releases.jsonl", "--report", "report.html"]);
    until("the report is there", || scene.read("report.html").contains("<h1>"));
    let first = scene.read("report.html");
    until("it is another", || {
        let page = scene.read("report.html");
        assert!(page.ends_with("</html>\n"), "{} bytes", page.len());
        page != first
    });
    until("the command has run", || scene.read("alerts").contains("budget account "));
    std::thread::sleep(Duration::from_millis(1200));
    assert_eq!(scene.read("alerts").lines().count(), 1);
    let said = life.said().1;
    assert_eq!(said.matches("alert: account ").count(), 1, "{said}");
    life.signal(Signal::TERM);
    let said = life.end();
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.err.contains("wrote report.html"), "{}", said.err);
}

// Refutes an address that others reach without a token, and an option that does nothing.
#[test]
fn an_address_of_others_needs_a_token_and_a_token_an_address() {
    let scene = Scene::new("watch");
    let job = exact(now() / SECOND * SECOND, None);
    let refused = |watch: &str, words: &str| {
        scene.write("job.toml", format!("{job}\n[watch]\n{watch}\n"));
        let said = scene.run(&["check", "job.toml"]);
        assert!(said.code == Some(78) && said.err.contains(words), "{watch}: {said:?}");
    };
    refused("listen = \"0.0.0.0:9464\"", "watch.token: found nothing");
    refused("listen = \"[::]:9464\"", "watch.token: found nothing");
    refused("listen = \"9464\"", "watch.listen: found a text that is no address");
    refused("operator = true", "watch.listen: found nothing");
    refused("token = { file = \"token\" }", "watch.listen: found nothing");
    refused("exec = []", "watch.exec: found an empty list");
    refused("budget = [1.5]", "watch.budget[1]");
    scene.write(
        "job.toml",
        format!("{job}\n[watch]\nlisten = \"127.0.0.1:0\"\ntoken = {{ file = \"token\" }}\n"),
    );
    scene.init();
    scene.write("visits.csv", HEADER);
    let arguments = ["run", "job.toml"];
    let said = scene.run(&arguments);
    assert!(said.code == Some(78) && said.err.contains("watch.token.file"), "{said:?}");
    scene.write("token", "short\n");
    let said = scene.run(&arguments);
    assert!(said.code == Some(78) && said.err.contains("watch.token"), "{said:?}");
    scene.write("token", "0123456789abcdef\n");
    let life = scene.start(&arguments);
    let address = address(&life);
    assert_eq!(get(&address, "/metrics").0, 401);
    life.signal(Signal::TERM);
    let said = life.end();
    assert_eq!(said.code, Some(0), "{said:?}");
}
