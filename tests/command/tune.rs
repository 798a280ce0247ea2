//! `discreet tune` and `discreet plan --like`: numbers for a job by the shape of a log, and what is refused
//! as a log.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::jobs::Jobs;
use crate::kit::full;
use crate::{discreet, json};

/// Generates a log in the format of events.toml.
fn events(jobs: &Jobs, name: &str, seed: &str) -> String {
    let out = jobs.path(name);
    let words = [
        "synth", "--rows", "4000", "--people", "600", "--keys", "8", "--format", "jsonl", "--seed", seed,
        "--out", &out,
    ];
    assert_eq!(discreet(&words).0, 0);
    out
}

// Refutes a job file that is not planned, one that is written twice, a comment that is lost, and a second run
// that changes what the first one chose.
#[test]
fn a_tuned_job_file_is_written_once_and_stays() {
    let jobs = Jobs::new("tune", "quickstart.toml");
    let (config, out) = (jobs.path("job.toml"), jobs.path("tuned.toml"));
    let log = ["--rows", "20000", "--people", "2000", "--keys", "40"];
    let tune = |job: &str, more: &[&str]| discreet(&[&["tune", job], &log[..], more].concat());
    let (code, page, error) = tune(&config, &["--out", &out]);
    assert_eq!((code, error.as_str()), (0, ""), "{page}");
    assert!(page.starts_with("quickstart, by a log of 20000 records of 2000 people\n"), "{page}");
    for words in [
        "\nvisits\n  now          every 1 hour, per_key 10, share 0.2: errs by ",
        "docs/VERSIONS.md",
        "\nwrote ",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    let written = fs::read_to_string(&out).unwrap();
    let before = fs::read_to_string(&config).unwrap();
    assert!(
        written.contains("# tuned: ") && written.contains("# of a visitor count 6 pages an hour"),
        "{written}"
    );
    assert_eq!(written.lines().count(), before.lines().count());
    let (code, planned, error) = discreet(&["plan", &out]);
    assert!(code == 0 && planned.contains("visitors_by_page"), "{error}");

    let (code, page, error) = tune(&config, &["--out", &out]);
    assert!(
        code == 78 && page.is_empty() && error.contains("found a file, which is left as it is"),
        "{error}"
    );
    assert_eq!(fs::read_to_string(&out).unwrap(), written);
    let again = jobs.path("again.toml");
    let (code, page, error) = tune(&out, &["--out", &again]);
    assert!(code == 0 && page.contains("in which every number is as it was"), "{page}{error}");
    assert_eq!(fs::read_to_string(&again).unwrap(), written);

    let line = json(&[&["tune", config.as_str()], &log[..], &["--json"]].concat());
    assert_eq!((line["job"].as_str(), line["people"].as_u64()), (Some("quickstart"), Some(2000)));
    let visits = &line["releases"][1];
    assert!(visits["present"]["per_key"] == 10 && visits["present"]["share"] == 0.2, "{visits}");
    assert!(visits["per_key"].as_array().unwrap().len() > 2 && visits["left"] == Value::Null, "{visits}");
    let badly = jobs.path("badly.toml");
    fs::write(&badly, before.replacen("share = 0.2", "share = 0.02", 1)).unwrap();
    let shares = |more: &[&str]| {
        let log = ["--rows", "400000", "--people", "20000", "--keys", "40"];
        let line = json(&[&["tune", badly.as_str()], &log[..], &["--json"], more].concat());
        let of = |at: usize, choice: &str| line["releases"][at][choice]["share"].clone();
        (0..3).all(|at| of(at, "present") == of(at, "chosen"))
    };
    assert!(shares(&["--keep-shares"]) && !shares(&[]));
    // A job that makes up its own log needs no numbers of it.
    let own = json(&["tune", &jobs.changed("own.toml", "rows   = 400000", "rows   = 4000"), "--json"]);
    assert_eq!(own["rows"], 4000);
    assert_eq!(fs::read_dir(jobs.path("state")).unwrap().count(), 0, "nothing is charged");
}

// Refutes a drawing without a number that was tried, one that is written over another file, or that cannot be written after
// everything else was done.
#[test]
fn the_errors_are_drawn() {
    let jobs = Jobs::new("tune-svg", "quickstart.toml");
    let config = jobs.changed("badly.toml", "share  = 0.6", "share  = 0.02");
    let (svg, out) = (jobs.path("tuned.svg"), jobs.path("tuned.toml"));
    let tune = |svg: &str, more: &[&str]| {
        discreet(&[&["tune", &config, "--rows", "2000", "--people", "300", "--svg", svg][..], more].concat())
    };
    assert_eq!(tune(&svg, &["--windows"]).0, 0);
    let drawn = fs::read_to_string(&svg).unwrap();
    assert!(drawn.starts_with("<svg ") && drawn.ends_with("</svg>\n") && !drawn.contains("NaN"), "{drawn}");
    for words in [
        "quickstart",
        "visitors_by_page",
        "bound.keys",
        "bound.per_key",
        ">share<",
        ">every<",
        "seconds_on_a_page",
    ] {
        assert!(drawn.contains(words), "{words}: {drawn}");
    }
    assert!(
        tune(&svg, &[]).0 == 0 && !fs::read_to_string(&svg).unwrap().contains(">every<"),
        "an earlier drawing is replaced"
    );
    let notes = jobs.path("notes.svg");
    fs::write(&notes, "mine").unwrap();
    for (svg, said) in [
        (notes.as_str(), "is left as it is; give the path of a new file"),
        (&jobs.path("missing/tuned.svg"), "--svg: there is no directory"),
        (&out, "--svg: found the file of another option"),
    ] {
        let (code, page, error) = tune(svg, &["--out", &out]);
        assert!((code, page.as_str()) == (78, "") && error.contains(said), "{svg}: {error}");
        assert!(!Path::new(&out).exists(), "nothing is written");
    }
    assert_eq!(fs::read_to_string(&notes).unwrap(), "mine");
}

// Refutes a file in another directory, from which its paths would lead elsewhere.
#[test]
fn a_tuned_job_file_lies_beside_its_job() {
    let jobs = Jobs::new("tune-beside", "quickstart.toml");
    let config = jobs.path("job.toml");
    let tune = |out: &str| {
        let (code, page, error) =
            discreet(&["tune", &config, "--rows", "500", "--people", "90", "--out", out]);
        assert_eq!((code, page.as_str()), (if out.contains("missing") { 74 } else { 78 }, ""), "{error}");
        error
    };
    assert!(tune(&jobs.path("state/tuned.toml")).contains("give a file beside it"));
    assert!(tune(&config).contains("found a file, which is left as it is"));
    assert!(tune(&jobs.path("missing/tuned.toml")).contains("it cannot be written"));
}

// Refutes a log without a number that it needs, and a mistake that is found in no option.
#[test]
fn a_log_that_is_none_is_refused_by_its_option() {
    let jobs = Jobs::new("tune-refused", "events.toml");
    let (config, sample) = (jobs.path("job.toml"), events(&jobs, "sample.jsonl", "7"));
    for (words, expected, said) in [
        (&[][..], 78, "--rows: found nothing; give --rows and --people, or --like"),
        (&["--people", "5"], 78, "--people: found a number without records; give --rows"),
        (&["--rows", "5"], 2, "--people"),
        (&["--keys", "5"], 2, "--rows"),
        (&["--rows", "5", "--people", "5", "--like", &sample], 2, "--like"),
        (&["--rows", "0", "--people", "5"], 78, "rows: found zero; give"),
        (&["--rows", "5", "--people", "0"], 78, "people: found zero; give"),
        (&["--rows", "5", "--people", "5", "--keys", "0"], 78, "keys: found zero; give"),
        (&["--rows", "5", "--people", "5", "--skew", "11"], 78, "skew: found"),
        (&["--rows", "x", "--people", "5"], 78, "rows: found"),
        (&["--like", &sample, "--people", "0"], 78, "--people: found"),
    ] {
        let (code, output, error) = discreet(&[&["tune", config.as_str()], words].concat());
        assert_eq!((code, output.as_str()), (expected, ""), "{words:?}: {error}");
        assert!(error.contains(said), "{words:?}: {error}");
    }
}

/// Returns the shares of a line of `tune --json` together.
fn chosen_shares(line: &Value) -> f64 {
    let releases = line["releases"].as_array().unwrap().iter();
    releases.map(|release| release["chosen"]["share"].as_f64().unwrap()).sum()
}

// Refutes a tuned job whose new version is to be paid by what its present version has spent, and one that keeps its
// version and is reduced all the same.
#[test]
fn what_the_present_version_has_paid_is_not_left_for_a_new_one() {
    let jobs = Jobs::new("tune-again", "quickstart.toml");
    let ledger = jobs.path("state/quickstart.ledger");
    for (old, new) in [
        ("rows   = 400000", "rows   = 4000"),
        ("people = 20000", "people = 400"),
        ("2026-01-02T00:00:00Z", "2026-01-01T06:00:00Z"),
        ("bound = { per_key = 10 }", "bound = { per_key = 2 }"),
        (
            "per_key = 3 }\nnoise = \"gaussian\"\nshare = 0.2",
            "per_key = 3 }\nnoise = \"gaussian\"\nshare = 0.1",
        ),
    ] {
        jobs.changed("job.toml", old, new);
    }
    let (config, out) = (jobs.path("job.toml"), jobs.path("tuned.toml"));
    assert_eq!(discreet(&["ledger", "init", &ledger, "--config", &config]).0, 0);
    let log = ["--rows", "40000", "--people", "4000", "--keys", "40"];
    let tune = |more: &[&str]| discreet(&[&["tune", &config], &log[..], more].concat());
    let before = json(&[&["tune", &config], &log[..], &["--json"]].concat());
    // Nothing has run, and no version is asked for.
    let (_, page, _) = tune(&[]);
    let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("the ledger has nothing of those that change") && !words.contains("Give version"),
        "{page}"
    );
    assert!((chosen_shares(&before) - 0.9).abs() < 1e-9 && before["is_reduced"] == false, "{before}");
    let (code, _, error) = discreet(&["-q", "replay", &config]);
    assert_eq!(code, 0, "{error}");

    let (code, page, error) = tune(&["--out", &out]);
    assert_eq!((code, error.as_str()), (0, ""), "{page}");
    let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
    // A fifth of the budget was paid for the one release that changes, and another tenth is free.
    assert!(
        words.contains(
            "budget paid account quickstart: the present version of this job has paid Gaussian rho 0.0"
        ) && words.contains(
            ", and 0.8 of the budget is left for its shares shares 0.8 together, reduced to what is left"
        ),
        "{page}"
    );
    assert!(words.contains("Give version = 2 in visits; a release that has"), "{page}");
    // A release that was added since has nothing in the ledger, and keeps its version.
    let text = fs::read_to_string(&config).unwrap();
    let visits = text.split("[[release]]").find(|part| part.contains("name  = \"visits\"")).unwrap();
    let added = jobs.path("added.toml");
    let new =
        visits.replace("name  = \"visits\"", "name  = \"further\"").replace("share = 0.2", "share = 0.05");
    fs::write(&added, format!("{}\n\n[[release]]{}", text.trim_end(), new.trim_end())).unwrap();
    let (code, page, error) = discreet(&[&["tune", &added], &log[..]].concat());
    let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(code == 0 && words.contains(" further "), "{page}{error}");
    assert!(
        words.contains(
            "Give version = 2 in visits; further has not run, and keeps its version; a release that has"
        ),
        "{page}"
    );
    let written = fs::read_to_string(&out).unwrap();
    assert!(
        written.contains("; the present version of this job has left 0.8 of the budget for the shares"),
        "{written}"
    );
    assert!(written.contains("share  = 0.6 ") && written.matches("# tuned: ").count() == 2, "{written}");
    // Under the present version it is refused, and as a new one it fits to its last window.
    assert_eq!(discreet(&["-q", "replay", &out]).0, 78);
    let own = "name  = \"visits\"\n";
    assert!(written.contains(own), "{written}");
    fs::write(&out, written.replace(own, &format!("{own}version = 2\n"))).unwrap();
    let (code, page, _) = discreet(&["check", &out, "--connect"]);
    assert!(code == 0 && page.contains("within the budget"), "{page}");
    assert!(
        page.contains("former versions of this job have paid Gaussian rho 0.0")
            && page.contains("and 0.8 of the budget"),
        "{page}"
    );
    let (code, lines, error) = discreet(&["-q", "replay", &out]);
    assert!(code == 0 && !lines.contains("\"refused\""), "{error}");
    // With its shares as they are, the page says that they are too large.
    let kept = json(&[&["tune", &config], &log[..], &["--keep-shares", "--json"]].concat());
    assert_eq!(
        (&kept["is_reduced"], &kept["left"]["has_former_versions"]),
        (&false.into(), &true.into()),
        "{kept}"
    );
    let (code, page, _) = tune(&["--keep-shares"]);
    assert!(
        code == 0 && page.contains("0.9 together, which is more: the budget would refuse windows;"),
        "{page}"
    );
    // A job of which nothing changes has paid nothing twice.
    let again = json(&[&["tune", &out], &log[..], &["--json"]].concat());
    assert_eq!(
        (&again["is_reduced"], &again["left"]["has_present_version"]),
        (&false.into(), &false.into()),
        "{again}"
    );
}

// Refutes a release that is paid for and gets the rest of a spent budget, with the bounds that it has.
#[test]
fn a_release_that_is_paid_for_is_not_starved() {
    let jobs = Jobs::new("tune-spent", "quickstart.toml");
    let records: String = (0..1_200)
        .map(|at| format!("u{},{},{}\n", at % 300, ["a", "b", "c"][at % 3], 1_767_225_600 + at * 288))
        .collect();
    fs::write(jobs.path("log.csv"), format!("who,kind,time\n{records}")).unwrap();
    let write = |name: &str, share: &str| {
        let text = format!(
            r#"[job]
name = "{name}"
version = 1
from = 2026-01-01T00:00:00Z
until = 2026-01-05T00:00:00Z
[source]
type = "csv"
path = "log.csv"
time = {{ field = "time", format = "unix" }}
[privacy]
person = {{ field = "who", missing = "drop" }}
promise = "lifetime"
budget = {{ epsilon = 2, delta = 1e-6 }}
ledger = "l.ledger"
account = "shop"
[[release]]
name = "people"
every = "1 day"
people = {{ by = "kind", keys = ["a", "b", "c"] }}
bound = {{ keys = 1 }}
noise = "gaussian"
share = {share}
"#
        );
        let path = jobs.path(&format!("{name}.toml"));
        fs::write(&path, text).unwrap();
        path
    };
    let (own, other) = (write("own", "0.8"), write("other", "0.1999"));
    assert_eq!(discreet(&["ledger", "init", &jobs.path("l.ledger"), "--config", &own]).0, 0);
    for job in [&own, &other] {
        assert_eq!(discreet(&["-q", "replay", job]).0, 0);
    }
    let line = json(&["tune", &own, "--rows", "1200", "--people", "300", "--json"]);
    let release = &line["releases"][0];
    assert_eq!((&release["present"], &line["is_reduced"]), (&release["chosen"], &false.into()), "{line}");
}

// Refutes a release that is not tuned, or a range that pays for noise, of which neither the page nor the line of JSON says
// anything.
#[test]
fn what_is_not_tuned_is_said() {
    let jobs = Jobs::new("tune-left", "quickstart.toml");
    for (old, new) in [
        ("rows   = 400000", "rows   = 40000"),
        ("people = 20000", "people = 4000"),
        ("range = [0, 120]", "range = [0, 100000]"),
        ("noise = \"gaussian\"\nshare = 0.2\n\n", "noise = \"gaussian\"\ncost = { rho = 1e-5 }\n\n"),
    ] {
        jobs.changed("job.toml", old, new);
    }
    let (config, out) = (jobs.path("job.toml"), jobs.path("tuned.toml"));
    let (code, page, error) = discreet(&["tune", &config, "--out", &out]);
    assert_eq!((code, error.as_str()), (0, ""));
    let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
    let why = "its price is a stated cost, which stays with its bounds; give it a share to have it tuned";
    assert!(words.contains(&format!("visits as it is {why}")), "{page}");
    assert!(
        words.contains("range [0, 100000] is much wider than most values, which pays for noise: with it"),
        "{page}"
    );
    let written = fs::read_to_string(&out).unwrap();
    assert!(written.contains(&format!("cost = {{ rho = 1e-5 }}   # tuned: as it is: {why}\n")), "{written}");
    let line = json(&["tune", &config, "--json"]);
    let range = &line["releases"][2]["range"];
    assert!(line["releases"][1]["left"] == why && range["stated"] == "[0, 100000]", "{line}");
    assert!(range["better"][1].as_f64().unwrap() < 0.9 * range["stated_error"].as_f64().unwrap(), "{range}");
    assert_eq!(discreet(&["plan", &out]).0, 0);
}

// Refutes a rest that is called that of every day though others have paid on one day alone.
#[test]
fn what_others_have_paid_on_one_day_is_said_of_that_day() {
    let jobs = Jobs::new("tune-days", "quickstart.toml");
    let ledger = jobs.path("state/quickstart.ledger");
    for (old, new) in [
        ("rows   = 400000", "rows   = 4000"),
        ("people = 20000", "people = 400"),
        ("2026-01-02T00:00:00Z", "2026-01-06T00:00:00Z"),
        ("\"lifetime\"", "\"each day\""),
        ("\"1 hour\"", "\"1 day\""),
    ] {
        jobs.changed("job.toml", old, new);
    }
    let config = jobs.path("job.toml");
    assert_eq!(discreet(&["ledger", "init", &ledger, "--config", &config]).0, 0);
    let text = fs::read_to_string(&config).unwrap();
    let other = text.split_once("[[release]]\nname  = \"visits\"").unwrap().0;
    let other = other
        .replace("name    = \"quickstart\"", "name    = \"other\"")
        .replace("from    = \"2026-01-01", "from    = \"2026-01-03")
        .replace("until   = \"2026-01-06", "until   = \"2026-01-04")
        .replace("share  = 0.6", "share  = 0.25");
    fs::write(jobs.path("other.toml"), other).unwrap();
    let (code, _, error) = discreet(&["-q", "replay", &jobs.path("other.toml")]);
    assert_eq!(code, 0, "{error}");
    let (code, page, _) = discreet(&["check", &config, "--connect"]);
    let said = " for a window of this job, the most for that from 2026-01-03T00:00:00Z to 2026-01-04T00:00:00Z, and at least \
                0.75 of the budget is left for its shares in each window\n";
    assert!(
        code == 0
            && page.contains("privacy.budget: account quickstart: other has paid up to Gaussian rho 0.0"),
        "{page}"
    );
    assert!(page.contains(said), "{page}");
    let log = ["--rows", "400000", "--people", "20000", "--keys", "40"];
    let tune = |config: &str| json(&[&["tune", config], &log[..], &["--json"]].concat());
    let line = tune(&config);
    assert!(line["is_reduced"] == true && chosen_shares(&line) <= 0.75, "{line}");
    assert_eq!(line["left"]["most_paid_for"][0], "2026-01-03T00:00:00Z", "{line}");
    // Days of which no window is released are none of this job.
    let later = jobs.changed("later.toml", "from    = \"2026-01-01", "from    = \"2026-01-04");
    let line = tune(&later);
    assert!(line["is_reduced"] == false && (chosen_shares(&line) - 1.0).abs() < 1e-9, "{line}");
}

// Refutes a sample that is the log that a job protects, by whatever name; and one that is read though its
// records are of another time or another kind.
#[test]
fn the_protected_log_is_no_public_sample() {
    let jobs = Jobs::new("like", "events.toml");
    let config = jobs.path("job.toml");
    let (own, sample) = (events(&jobs, "events.jsonl", "1"), events(&jobs, "sample.jsonl", "2"));
    let twin = jobs.path("twin.jsonl");
    fs::hard_link(&own, &twin).unwrap();
    let all = jobs.changed("all.toml", "path   = \"events.jsonl\"", "path   = \"*.jsonl\"");
    fs::write(
        jobs.path("late.jsonl.1"),
        fs::read_to_string(&sample).unwrap().replace("2026-01-01", "2027-01-01"),
    )
    .unwrap();
    fs::write(jobs.path("words.txt"), "a\nb\n").unwrap();
    let refused = |job: &str, sample: &str, code: i32, said: &str| {
        for command in ["plan", "tune"] {
            let (found, output, error) = discreet(&[command, job, "--like", sample]);
            assert_eq!((found, output.as_str()), (code, ""), "{command} {sample}: {error}");
            assert!(error.contains(said), "{command} {sample}: {error}");
        }
    };
    for (job, sample) in [(&config, &own), (&config, &twin), (&all, &sample), (&all, &twin)] {
        refused(
            job,
            sample,
            78,
            "is of the source of the job, whose records are protected; give a public sample",
        );
    }
    refused(&config, &config, 78, "--like: ");
    refused(
        &config,
        &jobs.path("late.jsonl.1"),
        78,
        "--like: none of its 4000 records is within the windows of the job",
    );
    refused(&config, &jobs.path("words.txt"), 65, "words.txt");
    refused(&config, &jobs.path("missing.jsonl"), 69, "missing.jsonl");
    let quickstart = Jobs::new("like-synthetic", "quickstart.toml");
    refused(&quickstart.path("job.toml"), &sample, 78, "the source of this job is synthetic");
}

// Refutes numbers of a plan that are not those of the sample, or not scaled.
#[test]
fn a_plan_by_a_sample_has_its_keys() {
    let jobs = Jobs::new("plan-like", "events.toml");
    let (config, sample) = (jobs.path("job.toml"), events(&jobs, "sample.jsonl", "3"));
    let (code, page, error) = discreet(&["plan", &config, "--like", &sample]);
    assert_eq!((code, error.as_str()), (0, ""));
    assert!(page.contains("a replay") && page.contains("of 4000 records of "), "{page}");
    let words: Vec<&str> = page.split_whitespace().collect();
    let words = words.join(" ");
    assert!(words.contains("by the sample, the most common of 6 keys has "), "{page}");
    let of = |more: &[&str]| json(&[&["plan", &config, "--like", &sample, "--json"], more].concat());
    let (own, more) = (of(&[]), of(&["--people", "60000"]));
    let people = own["replay"]["people"].as_u64().unwrap();
    assert!((500..=600).contains(&people), "{people}");
    assert_eq!(more["replay"]["rows"].as_u64().unwrap(), 4000 * 60000 / people);
    assert_eq!(of(&["--rows", "8000"])["replay"]["people"].as_u64().unwrap(), 2 * people);
    let buckets = |plan: &Value| plan["releases"][1]["expected"]["keys"]["errors"][0].clone();
    let (one, other) = (buckets(&own), buckets(&more));
    let factor = other["people"].as_f64().unwrap() / one["people"].as_f64().unwrap();
    assert!((factor * people as f64 / 60_000.0 - 1.0).abs() < 1e-9, "{one} {other}");
    assert!(other["error"].as_f64().unwrap() < one["error"].as_f64().unwrap());
    let found = &more["releases"][0]["expected"]["keys"];
    assert!(found["sampled"] == 8 && found["count"].as_u64().unwrap() > 0, "{found}");
    // Without keys there is nothing more to say, and without a sample the plan is as it was.
    assert_eq!(own["releases"][2]["expected"]["keys"], Value::Null);
    let without = json(&["plan", &config, "--rows", "4000", "--people", "600", "--json"]);
    assert_eq!(without["releases"][0]["expected"]["keys"], Value::Null);
    // The sample tunes as well.
    let (code, page, error) = discreet(&["tune", &config, "--like", &sample, "--people", "60000"]);
    assert!(code == 0 && page.contains(" records of 60000 people\n"), "{page}{error}");
}

// The real logs, each as a sample of a job whose own source is elsewhere.
#[test]
fn real_logs_tune_their_jobs() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data");
    for (name, file) in
        [("reviews", "reviews.csv.bz2"), ("retail", "retail.csv.gz"), ("access_log", "access.log.gz")]
    {
        let log = data.join(file);
        // Without optimization the large ones take a minute.
        if !full() && name != "access_log" {
            continue;
        }
        if !log.exists() {
            println!("skipped: no ../shared/data: {name} is not tuned by {file}");
            continue;
        }
        let jobs = Jobs::new(&format!("tune-{name}"), &format!("{name}.toml"));
        let (config, out) = (jobs.path("job.toml"), jobs.path("tuned.toml"));
        let (code, page, error) =
            discreet(&["tune", &config, "--like", log.to_str().unwrap(), "--out", &out]);
        assert_eq!(code, 0, "{name}: {error}");
        println!("{page}");
        assert_eq!(discreet(&["plan", &out]).0, 0, "{name}");
    }
}
