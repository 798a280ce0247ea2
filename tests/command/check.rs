//! Tests of the output and exit codes of `discreet check`.

mod budget;
mod questions;
mod source;

use crate::discreet;
use crate::jobs::Jobs;

// Refutes a check that passes a job which cannot run, or that spends or creates something.
#[test]
fn a_check_goes_as_far_as_it_is_asked() {
    let jobs = Jobs::new("check", "reviews.toml");
    let (config, ledger) = (jobs.path("job.toml"), jobs.path("state/reviews.ledger"));
    let (code, page, _) = discreet(&["check", &config]);
    assert!(code == 0 && page.contains("reviews, version 1: 5 releases, within the budget\n"), "{page}");

    // Without a key and a ledger, the printed command can be pasted.
    let (code, page, error) = discreet(&["check", &config, "--connect"]);
    let command = format!("discreet ledger init {ledger} --config {config}");
    assert!(code == 78 && page.is_empty() && error.contains(&command), "{code} {error}");
    assert_eq!(std::fs::read_dir(jobs.path("state")).unwrap().count(), 0, "a check makes nothing");
    assert_eq!(discreet(&["ledger", "init", &ledger, "--config", &config]).0, 0);
    let before = discreet(&["ledger", "show", &ledger, "--json"]).1;

    // A ledger, and no source.
    let (code, _, error) = discreet(&["check", &config, "--connect"]);
    assert!(
        code == 69
            && error.contains("source.path: ")
            && error.contains("reviews.csv.bz2: found no such file"),
        "{code} {error}"
    );
    std::fs::write(jobs.path("reviews.csv.bz2"), "").unwrap();
    let (code, page, error) = discreet(&["check", &config, "--connect"]);
    assert!(code == 0 && page.contains("its ledger and source are there"), "{error}");
    let line = discreet(&["check", &config, "--connect", "--json"]).1;
    let line: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!((&line["connected"], &line["releases"]), (&true.into(), &5.into()));

    // Another budget than the stated one, another account, and a pattern without a file.
    let original = std::fs::read_to_string(&config).unwrap();
    for (old, new, code, words) in [
        ("delta = 1e-6", "delta = 2e-6", 78, "another budget for account reviews in ledger"),
        ("account = \"reviews\"", "account = \"more\"", 78, "no account more"),
        ("promise = \"lifetime\" ", "promise = \"any 30 days\" ", 78, "another promise"),
        ("reviews.csv.bz2", "*.csv", 69, "no file is there; give a path"),
    ] {
        let changed = original
            .replace(old, new)
            .replace(", windows = 3 }", if new.contains("any") { " }" } else { ", windows = 3 }" });
        let changed = if new.contains("any") { changed.replace("{ windows = 3 }", "{}") } else { changed };
        std::fs::write(&config, changed).unwrap();
        let (found, _, error) = discreet(&["check", &config, "--connect"]);
        assert!(found == code && error.contains(words), "{found} {error}");
        // A run refuses at its start, in the same words, all that a check refuses of the ledger.
        for command in ["replay", "run"].into_iter().filter(|_| code == 78) {
            assert_eq!(discreet(&[command, &config]), (78, String::new(), error.clone()), "{command}");
        }
    }
    assert_eq!(discreet(&["ledger", "show", &ledger, "--json"]).1, before);

    std::fs::write(&config, original.replace("gaussian", "gausian")).unwrap();
    let (code, _, error) = discreet(&["check", &config, "--connect"]);
    assert!(code == 78 && error.lines().filter(|line| line.starts_with("error: ")).count() == 4, "{error}");
}

// Refutes a job file that is read whole, however large it is.
#[test]
fn a_job_file_has_a_largest_size() {
    let jobs = Jobs::new("large", "reviews.toml");
    let config = jobs.path("job.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    for (size, expected) in [(1 << 20, 0), ((1 << 20) + 1, 78)] {
        let padded = format!("{text}#{}\n", "x".repeat(size - text.len() - 2));
        std::fs::write(&config, padded).unwrap();
        let (code, _, error) = discreet(&["check", &config]);
        assert_eq!(code, expected, "{error}");
        assert_eq!(
            error.contains("config: found more than 1 MiB; give the path of a job file"),
            code == 78,
            "{error}"
        );
    }
}

#[test]
fn what_is_printed_is_the_same_job() {
    for config in [
        "quickstart.toml",
        "access_log.toml",
        "access_tsv.toml",
        "events.toml",
        "http.toml",
        "retail.toml",
        "reviews.toml",
        "spread.toml",
    ] {
        let jobs = Jobs::new(config, config);
        let (code, printed, error) = discreet(&["check", &jobs.path("job.toml"), "--print"]);
        assert_eq!((code, error.as_str()), (0, ""));
        std::fs::write(jobs.path("job.toml"), &printed).unwrap();
        assert_eq!(discreet(&["check", &jobs.path("job.toml"), "--print"]).1, printed);
    }
}

// Refutes a list that lacks fields of the example jobs, and two forms of the list that differ.
#[test]
fn every_field_is_listed() {
    let (code, page, error) = discreet(&["fields"]);
    assert_eq!((code, error.as_str()), (0, ""));
    let line = crate::json(&["fields", "--json"]);
    let paths: Vec<&str> =
        line["fields"].as_array().unwrap().iter().map(|field| field["path"].as_str().unwrap()).collect();
    let printed: Vec<&str> = page.lines().map(|line| line.split_whitespace().next().unwrap()).collect();
    assert_eq!(printed, paths);
    assert!(page.contains("\nsource.order                   a word: any, sorted\n"), "{page}");
    for path in ["job.name", "privacy.budget.omega", "release.max.grid.log", "release.cost.delta"] {
        assert!(paths.contains(&path), "{path}");
    }
}

// Refutes a window without an end that a check or a plan passes in silence, and a warning that stays where it has one.
#[test]
fn a_window_over_everything_without_an_end_is_warned_of() {
    let jobs = Jobs::new("endless", "events.toml");
    let config = jobs.path("job.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    let job = |every: &str, until: &str| {
        let (head, rest) = text.split_once("until   = \"").unwrap();
        let rest = rest.split_once('\n').unwrap().1;
        let (head, rest) = (format!("{head}{until}"), rest.replace("\"each day\"", "\"lifetime\""));
        let every = rest.lines().map(|line| match line.starts_with("every") {
            true => format!("every = \"{every}\""),
            false => line.to_owned(),
        });
        std::fs::write(&config, head + &every.collect::<Vec<_>>().join("\n")).unwrap();
        for command in ["check", "plan"] {
            let (code, page, error) = discreet(&[command, &config]);
            assert_eq!((code, error.as_str()), (0, ""), "{command}");
            let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
            let warned = page.contains("one window over everything, which has no end");
            assert_eq!(warned, until.is_empty(), "{command}: {page}");
            assert_eq!(
                page.contains("give until, the end of the time that is to be published"),
                warned,
                "{page}"
            );
        }
    };
    job("all", "");
    job("all", "until = \"2026-01-02T00:00:00Z\"\n");
}

// Refutes weeks that begin on Thursday without a word, and those of a stated day that begin on another.
#[test]
fn the_first_week_of_a_release_is_named() {
    let jobs = Jobs::new("weeks", "quickstart.toml");
    let job = jobs.path("job.toml");
    let of = |every: &str| {
        let text = std::fs::read_to_string(&job).unwrap();
        let lines = text.lines().map(|line| if line.starts_with("every ") { every } else { line });
        let text = lines.collect::<Vec<_>>().join("\n").replace("2026-01-02", "2026-04-02");
        std::fs::write(&job, text).unwrap();
        discreet(&["check", &job])
    };
    let (code, page, error) = of("every = \"1 week from Monday\"");
    assert_eq!(code, 0, "{error}");
    // 2026-01-01 is a Thursday.
    assert!(page.contains("visits: the first week begins on Monday, at 2026-01-05T00:00:00Z\n"), "{page}");
    let (_, page, _) = of("every = \"1 week\"");
    assert!(page.contains("visits: the first week begins on Thursday, at 2026-01-01T00:00:00Z\n"), "{page}");
    assert!(!of("every = \"1 day\"").1.contains("first week"));
    let (code, _, error) = of("every = \"1 week from Munday\"");
    assert!(code == 78 && error.contains("did you mean Monday?"), "{error}");
    let (code, _, error) = of("every = \"1 week from Monday\"\nover = \"2 weeks from Monday\"");
    assert!(code == 78 && error.contains("a day on which a length begins"), "{error}");
}
