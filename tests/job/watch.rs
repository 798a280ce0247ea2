//! The metrics, the live page and the alerts of a running job.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::Signal;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::browser::Browser;
use crate::jobs::{HEADER, SECOND, exact, line};
use crate::refusals::change;
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
pub(crate) fn address(life: &Life) -> String {
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
pub(crate) fn get(address: &str, path: &str) -> (u16, String) {
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
        let records = 40 + u64::from(!more.is_empty());
        for (name, value) in [("source_records_total", records), ("source_late_records_total", 0)] {
            assert!(metrics.contains(&format!("\ndiscreet_operator_{name} {value}\n")), "{metrics}");
        }
        let written = metrics.split("\ndiscreet_operator_ledger_rows_written_total ").nth(1).unwrap();
        assert!(written.lines().next().unwrap().parse::<u64>().unwrap() >= 2, "{metrics}");
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
    let counted = |metrics: &str| metrics.contains("discreet_operator_source_records_total 41");
    assert_eq!(seen.iter().map(|(_, metrics)| counted(metrics)).collect::<Vec<_>>(), [false, true]);
    assert!(seen[0].0.len() > 8, "{:?}", seen[0].0);
}

// Refutes a budget that is unknown after a restart until a window leaves, which may take a day.
#[test]
fn the_budget_is_in_the_metrics_and_on_the_page_after_a_restart() {
    let scene = Scene::new("watch");
    // Two days have ended, and the next window leaves at midnight.
    const DAY: i64 = 86_400 * SECOND;
    let job = exact((now() / DAY - 2) * DAY, None).replace("every = \"1s\"", "every = \"1 day\"");
    scene.write("job.toml", job + WATCH);
    scene.write("visits.csv", HEADER.to_owned() + &line("someone", now(), "a"));
    scene.init();
    let arguments = ["run", "job.toml", "--out", "releases.jsonl"];
    let budget = |address: &str| -> Vec<String> {
        let (_, metrics) = get(address, "/metrics");
        let of_budget = |line: &&str| line.starts_with("discreet_budget_");
        metrics.lines().filter(of_budget).map(str::to_owned).collect()
    };
    let life = scene.start(&arguments);
    let first = address(&life);
    until("two windows have settled", || settled(&first) == 2);
    let spent = budget(&first);
    assert_eq!(spent.len(), 4, "{spent:?}");
    life.signal(Signal::TERM);
    assert_eq!(life.end().code, Some(0));
    let life = scene.start(&arguments);
    let second = address(&life);
    until("the budget is known", || !budget(&second).is_empty());
    assert_eq!(budget(&second), spent);
    assert!(settled(&second) <= 2, "no other window has left");
    let (_, page) = get(&second, "/");
    assert!(page.contains("visits: epsilon 40 of epsilon 480 is spent"), "{page}");
    assert!(page.contains("At this pace 22 more windows fit"), "{page}");
    let released = scene.read("releases.jsonl");
    for line in released.lines().take(2) {
        let line: Value = serde_json::from_str(line).unwrap();
        let start = line["window"]["start"].as_str().unwrap();
        assert!(page.contains(start), "the page lacks a window that left before: {start}\n{page}");
    }
    assert_eq!(
        page.matches("<tr>").count(),
        1 + 2 * 3 + 2,
        "three keys of each window, below their heads: {page}"
    );
    life.signal(Signal::TERM);
    assert_eq!(life.end().code, Some(0));
}

// Refutes a forecast of a release that is no longer in the job, at a time that has passed, and alerts about the
// budget that every restart raises anew.
#[test]
fn a_release_that_was_renamed_is_no_part_of_the_forecast() {
    let scene = Scene::new("renamed");
    let job =
        exact(now() / SECOND * SECOND, None).replace("cost = { epsilon = 20 }", "cost = { epsilon = 1 }");
    let job = job + WATCH + "budget = [0.005]\n";
    scene.write("job.toml", &job);
    scene.write("visits.csv", HEADER.to_owned() + &line("someone", now(), "a"));
    scene.init();
    let arguments = ["run", "job.toml", "--out", "releases.jsonl"];
    let value = |address: &str, name: &str| -> Option<f64> {
        let metrics = get(address, "/metrics").1;
        let line = metrics.lines().find(|line| line.starts_with(name))?;
        line.rsplit_once(' ').unwrap().1.parse().ok()
    };
    let raised = "discreet_alerts_total{alert=\"budget\"}";
    let life = scene.start(&arguments);
    let served = address(&life);
    until("three windows have settled", || settled(&served) >= 3);
    assert_eq!(value(&served, raised), Some(1.0));
    life.signal(Signal::TERM);
    assert_eq!(life.end().code, Some(0));

    scene.write("job.toml", job.replace("visits_by_page", "all_visits"));
    let life = scene.start(&arguments);
    let served = address(&life);
    until("a window of the new name has settled", || settled(&served) >= 1);
    let ends = value(&served, "discreet_budget_forecast_end_timestamp_seconds").unwrap();
    assert!(ends > now() as f64 / 1e6, "{ends}");
    let page = get(&served, "/").1;
    assert!(page.contains("that is refused is all_visits of"), "{page}");
    assert_eq!(value(&served, raised), Some(0.0));
    // By the job file at once, and by the ledger after three windows.
    let stated = scene.done(&["ledger", "forecast", "job.ledger", "--config", "job.toml"]).out;
    assert!(
        stated.contains("left out  visits visits_by_page: ") && stated.contains("does not have it"),
        "{stated}"
    );
    assert!(stated.contains("first visits all_visits"), "{stated}");
    until("three windows have passed without it", || {
        let found = scene.done(&["ledger", "forecast", "job.ledger"]).out;
        found.contains("left out  visits visits_by_page: ") && found.contains("went on without it")
    });
    life.signal(Signal::TERM);
    let said = life.end();
    assert_eq!(said.code, Some(0));
    let once = |line: &&str| line.contains("at the start: account visits has spent 0.5 % of its budget");
    assert_eq!(said.err.lines().filter(once).count(), 1, "{}", said.err);
}

/// What a browser shows of the live page.
#[derive(Debug, Deserialize)]
struct ShownPage {
    mark: String,
    state: String,
    settled: String,
    title: String,
    budget: String,
    rows: Vec<Vec<String>>,
    fetched: u64,
    pictures: u64,
}

impl ShownPage {
    /// The page as a browser shows it.
    fn of(browser: &mut Browser) -> ShownPage {
        let script = r#"JSON.stringify({
            mark: window.shown || (typeof shown === "undefined" ? "" : shown),
            state: document.getElementById("state")?.textContent ?? "",
            settled: document.getElementById("settled")?.textContent ?? "",
            title: document.title,
            budget: document.querySelector('[data-part="budget"] .sub')?.textContent ?? "",
            rows: [...document.querySelectorAll('[data-part^="release "] tbody tr')]
                .map(row => [...row.children].map(cell => cell.textContent)),
            fetched: performance.getEntriesByType("resource").filter(entry => entry.initiatorType === "fetch").length,
            pictures: document.querySelectorAll('[data-part^="release "] svg').length,
        })"#;
        serde_json::from_str(&browser.evaluate(script)).unwrap()
    }

    fn settled(&self) -> u64 {
        self.settled.parse().unwrap_or(0)
    }
}

/// The cells of the output, each as the live page shows it.
fn released(scene: &Scene) -> BTreeSet<Vec<String>> {
    let mut cells = BTreeSet::new();
    for line in scene.read("releases.jsonl").lines() {
        // The last line may be half written.
        let Ok(line) = serde_json::from_str::<Value>(line) else { continue };
        if line.get("value").is_some() {
            let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let window = &line["window"];
            let interval = &line["interval"];
            let cell =
                [&window["start"], &window["end"], &line["key"], &line["value"], &interval[0], &interval[1]];
            cells.insert(cell.map(text).to_vec());
        }
    }
    cells
}

// Refutes a page that shows what was there when it was loaded, for ever; numbers that are not those of the
// output; a script that the browser refuses, or that loads the page anew at each window; and a page that stays
// with a run that is no more.
#[test]
fn the_live_page_changes_in_a_browser_as_windows_settle() {
    let scene = scene("", WATCH);
    let arguments = ["run", "job.toml", "--out", "releases.jsonl"];
    let life = scene.start(&arguments);
    let address = address(&life);
    until("a window has settled", || settled(&address) >= 1);
    let Some(mut browser) = Browser::open(&scene, &format!("http://{address}/")) else {
        println!("skipped: the live page in a browser: there is no chromium (apt-get install chromium)");
        return;
    };
    let mut first = ShownPage::of(&mut browser);
    until("the browser shows the page", || {
        first = ShownPage::of(&mut browser);
        first.state == "live" && !first.rows.is_empty() && first.pictures > 0
    });
    let mut later = ShownPage::of(&mut browser);
    until("the browser shows more windows", || {
        later = ShownPage::of(&mut browser);
        later.settled() >= first.settled() + 3
    });
    assert!(!later.rows.is_empty() && later.rows.last() != first.rows.last(), "{first:?}\n{later:?}");
    assert_ne!(later.budget, first.budget);
    assert!(
        later.budget.starts_with("visits: epsilon ") && later.budget.contains(" of epsilon 480 is spent")
    );
    assert!(later.title.starts_with(&format!("{} settled: visits", later.settled)), "{later:?}");
    // One is lawful: the page may be older than the stream.
    assert!(later.fetched <= 1, "{later:?}");
    let output = released(&scene);
    for row in first.rows.iter().chain(&later.rows) {
        assert!(output.contains(row), "{row:?} is shown, and was not released: {output:?}");
    }
    life.signal(Signal::TERM);
    assert_eq!(life.end().code, Some(0));
    // The next run at this address: the browser comes back by itself, and takes its page whole.
    scene.write("job.toml", scene.read("job.toml").replace("127.0.0.1:0", &address));
    let life = scene.start(&arguments);
    let run = |page: &ShownPage| page.mark.split('-').next().unwrap().to_owned();
    let mut last = ShownPage::of(&mut browser);
    until("the browser shows the next run", || {
        last = ShownPage::of(&mut browser);
        run(&last) != run(&later) && last.state == "live" && last.settled() >= 2
    });
    assert!(last.fetched > later.fetched, "{last:?}");
    let output = released(&scene);
    assert!(!last.rows.is_empty() && last.rows.iter().all(|row| output.contains(row)), "{last:?}");
    life.signal(Signal::TERM);
    assert_eq!(life.end().code, Some(0));
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

// Refutes a log whose lines are no JSON, one that says more or less than its level, a level that is read once,
// and an answer that the level hides.
#[test]
fn the_log_is_of_json_and_its_level_is_read_again() {
    let scene = scene("", "");
    let job = scene.read("job.toml");
    let level = |level: &str| {
        scene.write("job.toml", format!("{job}\n[log]\nformat = \"json\"\nlevel = \"{level}\"\n"))
    };
    level("info");
    let life = scene.start(&["run", "job.toml", "--out", "releases.jsonl"]);
    let lines = |said: &str| -> Vec<Value> {
        let whole = said.rfind('\n').map_or("", |end| &said[..end]);
        whole.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{said}"))).collect()
    };
    let message = |line: &Value| line["message"].as_str().unwrap_or_default().to_owned();
    let count = |life: &Life, words: &str| {
        lines(&life.said().1).iter().filter(|line| message(line).contains(words)).count()
    };
    until("it has begun", || count(&life, "started: job visits") == 1);
    until("it releases", || scene.read("releases.jsonl").contains("closed"));
    for line in lines(&life.said().1) {
        let [time, level, audience] =
            ["time", "level", "audience"].map(|name| line[name].as_str().unwrap().to_owned());
        assert!(time.ends_with('Z') && ["info", "warn"].contains(&level.as_str()), "{line}");
        let is_public = message(&line).starts_with("started: ");
        assert_eq!(audience, if is_public { "public" } else { "operator" }, "{line}");
    }
    assert_eq!(count(&life, "a window has left"), 0);
    level("debug");
    life.signal(Signal::HUP);
    until("windows are logged", || count(&life, "a window has left") >= 1);
    let said = lines(&life.said().1);
    let left = said.iter().find(|line| message(line) == "a window has left").unwrap();
    assert_eq!((&left["release"], &left["status"]), (&json!("visits_by_page"), &json!("sealed")));
    let end = left["window_end"].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    assert_eq!(end.as_microsecond() % SECOND, 0, "{left}");
    level("error");
    life.signal(Signal::HUP);
    until("nothing is logged any more", || {
        let before = life.said().1.len();
        std::thread::sleep(Duration::from_millis(2500));
        life.said().1.len() == before
    });
    scene.write("job.toml", "[job");
    life.signal(Signal::HUP);
    life.signal(Signal::USR1);
    until("it answers", || count(&life, " windows open, ") == 1);
    life.signal(Signal::TERM);
    let said = life.end();
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(lines(&said.err).last().unwrap()["stopped"], json!(true), "{}", said.err);
}

// Refutes a second run that is refused for the address which the first one serves, and a busy address that is
// taken for a running job.
#[test]
fn a_second_run_says_that_the_job_is_running() {
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let busy = other.local_addr().unwrap();
    let scene = scene("", &format!("\n[watch]\nlisten = \"{busy}\"\n"));
    let said = scene.run(&["run", "job.toml"]);
    assert!(said.code == Some(78) && said.err.contains("watch.listen: "), "{said:?}");
    drop(other);
    let first = scene.start(&["run", "job.toml", "--out", "releases.jsonl"]);
    until("it has started", || first.said().1.contains("started: "));
    assert_eq!(address(&first), busy.to_string());
    let said = scene.run(&["run", "job.toml"]);
    assert!(said.code == Some(74) && said.err.contains("error: job visits is running already"), "{said:?}");
    assert!(!said.err.contains("watch.listen"), "{said:?}");
    first.signal(Signal::TERM);
    assert_eq!(first.end().code, Some(0));
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
    let said = scene.done(&["check", "job.toml", "--connect"]);
    assert!(
        said.out.contains("warning: watch.token.file: ") && said.out.contains("`discreet run` is refused"),
        "{said:?}"
    );
    scene.write("token", "short\n");
    let said = scene.run(&arguments);
    assert!(said.code == Some(78) && said.err.contains("watch.token"), "{said:?}");
    scene.write("token", "0123456789abcdef\n");
    let said = scene.done(&["check", "job.toml", "--connect"]);
    assert!(!said.out.contains("token"), "{said:?}");
    scene.write("missing.toml", format!("{job}\n[watch]\nexec = [\"./no-such-program\"]\n"));
    let said = scene.done(&["check", "missing.toml", "--connect"]);
    assert!(said.out.contains("warning: watch.exec: found no program ./no-such-program "), "{said:?}");
    let life = scene.start(&arguments);
    let address = address(&life);
    assert_eq!(get(&address, "/metrics").0, 401);
    life.signal(Signal::TERM);
    let said = life.end();
    assert_eq!(said.code, Some(0), "{said:?}");
}

// Refutes a file without effect of which the operator hears nothing, a file that is named though a record of it lies in a window, one
// that is named twice, and any of it in a public family or a line.
#[test]
fn a_file_before_the_first_window_is_named_to_the_operator() {
    let scene = Scene::new("before");
    let from = now() / SECOND * SECOND;
    scene.write("job.toml", exact(from, None) + WATCH);
    change(&scene, "path = \"visits.csv\"", "path = \"visits\"");
    change(&scene, "late = \"500ms\"", "late = \"5s\"");
    std::fs::create_dir(scene.at("visits")).unwrap();
    let month = 30 * 86_400 * SECOND;
    let file = |times: &[i64]| {
        HEADER.to_owned() + &times.iter().map(|time| line("s3cr3t", *time, "a")).collect::<String>()
    };
    scene.write("visits/first.csv", file(&[from - 2 * month, from - 2 * month + 1]));
    scene.write("visits/mixed.csv", file(&[from - 1, from]));
    scene.init();
    let life = scene.start(&["run", "job.toml", "--out", "releases.jsonl"]);
    let address = address(&life);
    until("it is ready", || get(&address, "/readyz").0 == 200);
    let named = |name: &str| {
        let named = format!(
            "operator only: warning: visits/{name}.csv: all records that were read of it lie before job.from"
        );
        life.said().1.matches(&named).count()
    };
    let alerts = |life: &Life| life.said().1.matches("alert: records came that lie before job.from").count();
    until("the file that was there is named", || named("first") == 1);
    assert_eq!(alerts(&life), 0, "those that were there are no news: {}", life.said().1);
    scene.write("visits/second.csv", file(&[from - month, from - month + 1, from - month + 2]));
    scene.write("visits/third.csv", file(&[now(), from - month]));
    until("the late file is named", || named("second") == 1);
    until("there is an alert", || alerts(&life) == 1);
    let (_, metrics) = get(&address, "/metrics");
    assert!(metrics.contains("\ndiscreet_operator_source_before_records_total 7\n"), "{metrics}");
    assert!(
        metrics.contains("\ndiscreet_operator_alerts_total{alert=\"records_before_start\"} 1\n"),
        "{metrics}"
    );
    assert!(get(&address, "/operator").1.contains("<dt>Records before job.from</dt><dd>7</dd>"));
    assert!(public(&metrics).iter().all(|family| !family.contains("before")), "{metrics}");
    life.signal(Signal::TERM);
    let ended = life.end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    for (name, count) in [("first", 1), ("second", 1), ("mixed", 0), ("third", 0)] {
        assert_eq!(ended.err.matches(&format!("visits/{name}.csv: all records")).count(), count, "{ended:?}");
    }
    let others = ended.err.replace("visits/first.csv", "").replace("visits/second.csv", "");
    assert!(!others.contains("s3cr3t") && !scene.read("releases.jsonl").contains("before"), "{ended:?}");
}
