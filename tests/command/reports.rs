//! Reports and tables of a run, by the command.

use std::fs;

use crate::discreet;
use crate::jobs::Jobs;
use crate::kit::Directory;

// Refutes a picture that leaves releases out in silence, and a page that is said to leave some out.
#[test]
fn a_picture_names_the_releases_that_it_leaves_out() {
    let jobs = Jobs::new("picture", "quickstart.toml");
    let job = jobs.path("job.toml");
    for (name, words) in [
        (
            "report.svg",
            Some(
                "report.svg: a picture has the first releases, and visits, seconds_on_a_page are not in it; --report FILE.html has all",
            ),
        ),
        ("report.html", None),
    ] {
        let report = jobs.path(name);
        let (code, _, error) =
            discreet(&["replay", &job, "--demo", "--out", "/dev/null", "--report", &report]);
        assert_eq!(code, 0, "{error}");
        let is_said = error.contains("not in it");
        assert!(is_said == words.is_some() && words.is_none_or(|words| error.contains(words)), "{error}");
    }
    let svg = fs::read_to_string(jobs.path("report.svg")).unwrap();
    assert!(svg.contains(">visitors_by_page, 24 windows") && !svg.contains(">visits, "), "{svg}");
}

pub(crate) const JOB: &str = r#"
[job]
name = "shop"
version = 1
from = "2026-01-01T00:00:00Z"
until = "2026-01-02T00:00:00Z"

[source]
type = "synthetic"
people = 500
rows = 3000
keys = 2
seed = 3

[fields]
part = '"morning" if value < 40 otherwise "evening"'

[privacy]
person = { field = "user", missing = "drop" }
promise = "lifetime"
budget = { epsilon = 4, delta = 1e-6 }
ledger = "shop.ledger"
account = "shop"

[[release]]
name = "visits"
every = "12 hours"
count = { by = ["key", "part"], keys = [["k1", "morning"], ["k2", "evening"]], rollup = true }
bound = { keys = 2, per_key = 3 }
noise = "gaussian"
share = 1
"#;

const ASK: &str = r#"
[[ask]]
name = "study"
every = "12 hours"
fields = { key = "text" }
bound = { per_key = 3 }
answers = 100
questions = "questions.jsonl"
cost = { epsilon = 0.5, delta = 1e-7 }
"#;

/// A job with questions alone, in a place with its ledger.
pub(crate) fn asked(name: &str) -> (Directory, impl Fn(&str) -> String) {
    let place = Directory::new(name);
    let (head, _) = JOB.split_once("[[release]]").unwrap();
    let (before, after) = head.split_once("[fields]").unwrap();
    let (_, after) = after.split_once("[privacy]").unwrap();
    place.write("job.toml", format!("{before}[privacy]{after}{ASK}"));
    let at = place.at("");
    let path = move |name: &str| at.join(name).to_str().unwrap().to_owned();
    let (code, _, error) = discreet(&["ledger", "init", &path("shop.ledger"), "--config", &path("job.toml")]);
    assert_eq!(code, 0, "{error}");
    (place, path)
}

pub(crate) fn question(id: &str, asked: &str) -> String {
    format!("{{\"id\":\"{id}\",\"analyst\":\"ann\",\"ask\":\"{asked}\"}}\n")
}

// Refutes an answer that was paid for and is in no report, since its question was renamed or removed since; and an answer that
// is shown without its question, or twice.
#[test]
fn a_report_has_the_answers_of_questions_that_were_renamed_or_removed() {
    let (place, path) = asked("renamed-questions");
    let replay = |report: &str| {
        let (job, out, report) = (path("job.toml"), path("out.jsonl"), path(report));
        let (code, _, error) = discreet(&["replay", &job, "--out", &out, "--report", &report]);
        assert_eq!(code, 0, "{error}");
        fs::read_to_string(report).unwrap()
    };
    place.write(
        "questions.jsonl",
        question("one", "count where key = `k1`").replace('`', "\\\"") + &question("two", "count"),
    );
    replay("report.html");
    place.write("questions.jsonl", question("three", "count where key in {`k1`, `k2`}").replace('`', "\\\""));
    for _ in 0..2 {
        let page = replay("report.html");
        for words in [
            "<td>one</td><td>count where key = &quot;k1&quot;</td>",
            "<td>two</td><td>count where all</td>",
            "<td>three</td><td>count where key in {&quot;k1&quot;, &quot;k2&quot;}</td>",
        ] {
            assert_eq!(page.matches(words).count(), 1, "{words}: {page}");
        }
        assert!(
            page.contains("<h3>ann</h3>") && page.contains("cost epsilon 0.5, delta 0.0000001, paid once"),
            "{page}"
        );
    }
    let picture = replay("report.svg");
    assert_eq!(picture.matches("<rect class=\"bar\"").count(), 1 + 3, "{picture}");
    // A demonstration shows none of what was released.
    let (job, report) = (path("job.toml"), path("demo.html"));
    assert_eq!(discreet(&["replay", &job, "--demo", "--out", "/dev/null", "--report", &report]).0, 0);
    let demo = fs::read_to_string(report).unwrap();
    assert!(demo.contains("<td>three</td>") && !demo.contains("<td>one</td>"), "{demo}");
}

// Refutes a question that the bundle had no answer left for and that is counted as an answer, in a first replay or a second one.
#[test]
fn a_question_without_an_answer_is_counted_as_none() {
    let (place, path) = asked("counted-questions");
    let (job, out, report) = (path("job.toml"), path("out.jsonl"), path("report.html"));
    let text = fs::read_to_string(&job).unwrap();
    place.write("job.toml", text.replace("answers = 100", "answers = 2"));
    place.write("questions.jsonl", ["one", "two", "three", "four"].map(|id| question(id, "count")).concat());
    let replay = |options: &[&str]| {
        let (code, page, error) = discreet(&[&["replay", &job, "--out", &out], options].concat());
        assert_eq!(code, 0, "{error}");
        page + &error
    };
    let words = "2 questions not answered: the bundle has no answer left for them";
    assert!(replay(&[]).contains(&format!("2 released, {words}\n")));
    assert!(replay(&[]).contains(&format!("0 released, 2 released before, {words}\n")));
    let said = replay(&["--json", "--report", &report]);
    for counted in ["\"released\":2", "\"released_before\":2", "\"unanswered\":2", "\"refused\":0"] {
        assert!(said.contains(counted), "{counted}: {said}");
    }
    let page = fs::read_to_string(&report).unwrap();
    let words = "2 answers and 2 questions that the bundle had no answer left for, of 1 analyst";
    assert!(page.contains(words) && page.matches("not answered</td>").count() == 2, "{page}");
    assert_eq!(fs::read_to_string(&out).unwrap().matches("\"refused\":\"bundle\"").count(), 2);
}

// Refutes a report, and the first line of a run, with the cap that the account had before it was raised.
#[test]
fn a_report_states_the_cap_of_the_ledger() {
    let place = Directory::new("raised");
    let path = |name: &str| place.at(name).to_str().unwrap().to_owned();
    let (job, ledger, report) = (path("job.toml"), path("shop.ledger"), path("report.html"));
    place.write(
        "job.toml",
        JOB.replace("2026-01-02", "2026-01-01T12:00:00Z").replace("T12:00:00ZT00:00:00Z", "T12:00:00Z"),
    );
    assert_eq!(discreet(&["ledger", "init", &ledger, "--config", &job]).0, 0);
    let replay = || {
        let (code, _, error) = discreet(&["replay", &job, "--out", &path("out.jsonl"), "--report", &report]);
        assert_eq!(code, 0, "{error}");
        head(&report)
    };
    let former = replay();
    let amend = [
        "ledger",
        "amend",
        &ledger,
        "--account",
        "shop",
        "--epsilon",
        "6",
        "--delta",
        "1e-6",
        "--who",
        "a",
        "--why",
        "b",
    ];
    let (code, said, error) = discreet(&amend);
    assert_eq!(code, 0, "{error}");
    let (_, raised) = said.lines().next().unwrap().split_once(", and is ").unwrap();
    let stated = format!("{raised}: epsilon 6, delta 1e-6");
    let former = former.strip_suffix(": epsilon 4, delta 1e-6").unwrap();
    assert!(said.contains(&format!("was {former}, ")) && former != raised, "{said} {former}");
    assert_eq!(replay(), stated);
    let (code, _, error) = discreet(&["run", &job, "--out", &path("live.jsonl"), "--report", &report]);
    assert!(code == 0 && error.contains(&format!("account shop of {raised};")), "{error}");
    assert_eq!(head(&report), stated);
    assert!(fs::read_to_string(&report).unwrap().contains(&format!(" of {raised} is spent")));
    // A demonstration has a ledger of its own, which nobody has amended.
    assert_eq!(
        discreet(&["replay", &job, "--demo", "--out", "/dev/null", "--report", &path("demo.html")]).0,
        0
    );
    assert_eq!(head(&path("demo.html")), format!("{former}: epsilon 4, delta 1e-6"));
}

/// The budget at the head of a report.
fn head(report: &str) -> String {
    let page = fs::read_to_string(report).unwrap();
    let (_, after) = page.split_once("<dt>Budget</dt><dd>").unwrap();
    after.split_once("</dd>").unwrap().0.to_owned()
}

// Refutes a local day that a report dates in UTC, and a table or a line that does not have UTC.
#[test]
fn a_report_dates_windows_in_the_zone_of_the_job() {
    let place = Directory::new("local-days");
    let path = |name: &str| place.at(name).to_str().unwrap().to_owned();
    let (job, report) = (path("job.toml"), path("report.html"));
    let local = JOB
        .replace("seed = 3", "seed = 3\nzone = \"Europe/Berlin\"")
        .replace("2026-01-01T00:00:00Z", "2025-12-31T23:00:00Z")
        .replace("2026-01-02T00:00:00Z", "2026-01-02T23:00:00Z")
        .replace("every = \"12 hours\"", "every = \"1 day\"");
    place.write("job.toml", local);
    assert_eq!(discreet(&["ledger", "init", &path("shop.ledger"), "--config", &job]).0, 0);
    let (code, _, error) = discreet(&["replay", &job, "--out", &path("out.csv"), "--report", &report]);
    assert_eq!(code, 0, "{error}");
    let (page, table) = (fs::read_to_string(&report).unwrap(), fs::read_to_string(path("out.csv")).unwrap());
    for words in [
        "<dt>Dates</dt><dd>of Europe/Berlin; axes and lines are in UTC</dd>",
        "<time datetime=\"2025-12-31T23:00:00Z\">2026-01-01</time> to <time datetime=\"2026-01-02T23:00:00Z\">2026-01-03</time>, Europe/Berlin",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    assert!(table.contains("2025-12-31T23:00:00Z,2026-01-01T23:00:00Z"), "{table}");
}

// Refutes a table of an earlier version whose columns change within it, one that is refused, a new one without the columns, and
// a notice where there is nothing to say.
#[test]
fn a_table_keeps_the_columns_that_it_began_with() {
    let place = Directory::new("columns");
    place.write("job.toml", JOB);
    let path = |name: &str| place.at(name).to_str().unwrap().to_owned();
    let (job, ledger) = (path("job.toml"), path("shop.ledger"));
    assert_eq!(discreet(&["ledger", "init", &ledger, "--config", &job]).0, 0);
    let (code, _, error) = discreet(&["replay", &job, "--out", &path("new.csv")]);
    assert!(code == 0 && !error.contains("columns"), "{error}");
    let new = fs::read_to_string(place.at("new.csv")).unwrap();
    let header = new.lines().next().unwrap();
    assert!(
        header.ends_with(",interval_of,of,rollup,covariance_with,covariance,covariance_scale"),
        "{header}"
    );
    assert_eq!(new.lines().filter(|line| line.ends_with(",true,,,")).count(), 4, "{new}");
    // The header of a file that an earlier version began.
    let old =
        header.strip_suffix(",rollup,covariance_with,covariance,covariance_scale").unwrap().to_owned() + "\n";
    place.write("old.csv", old.clone());
    let (code, _, error) = discreet(&["replay", &job, "--out", &path("old.csv")]);
    let words = "it has the columns of a job without roll-ups and covariances, and keeps them, so theirs are not in it; give the path of a new file";
    assert!(code == 0 && error.contains(words), "{error}");
    let kept = fs::read_to_string(place.at("old.csv")).unwrap();
    assert!(kept.starts_with(&old) && kept.lines().count() == new.lines().count(), "{kept}");
    for (kept, new) in kept.lines().zip(new.lines()).skip(1) {
        assert!(new.starts_with(&format!("{kept},")), "{kept}\n{new}");
    }
    // Another run adds nothing, to either.
    for name in ["old.csv", "new.csv"] {
        let before = fs::read_to_string(place.at(name)).unwrap();
        assert_eq!(discreet(&["replay", &job, "--out", &path(name)]).0, 0);
        assert_eq!(fs::read_to_string(place.at(name)).unwrap(), before, "{name}");
    }
}
