//! Tests of the warnings of a plan.

use super::super::*;
use super::GOOD;

// Refutes a promise that is not that of the words, one that saves nothing, and advice where people are protected.
#[test]
fn a_record_pays_for_the_windows_that_hold_its_time() {
    let record = GOOD.replace("person = { field = \"who\", missing = \"drop\" }", "unit = \"record\"");
    let record = record.replace("people = {}", "count = {}");
    let plan =
        |text: &str| Job::parse("a.toml", text).unwrap_or_else(|wrong| panic!("{wrong}")).plan().unwrap();
    let sliding = record.replace("every = \"1 day\"", "every = \"1 day\"\nover = \"7 days\"");
    for (text, windows) in [(&record, 1), (&sliding, 7)] {
        let whole = plan(text);
        let said = whole.warnings.iter().filter(|said| said.starts_with("privacy.promise: a record is in "));
        let said: Vec<&String> = said.collect();
        let [said] = &said[..] else { panic!("{:?}", whole.warnings) };
        let promise = "\"each 1 day\"";
        assert!(said.contains(promise), "{said}");
        let better = plan(&text.replace("promise = \"lifetime\"", &format!("promise = {promise}")));
        assert!(
            !better.warnings.iter().any(|said| said.starts_with("privacy.promise")),
            "{:?}",
            better.warnings
        );
        assert_eq!(better.releases[0].paid_together, windows);
        let times = better.releases[0].cost.rho.unwrap() / whole.releases[0].cost.rho.unwrap();
        let all = whole.releases[0].paid_together as f64;
        assert!((times * windows as f64 / all - 1.0).abs() < 1e-6, "{times} {all}");
    }
    for quiet in [GOOD.to_owned(), record.replace("every = \"1 day\"", "every = \"all\"")] {
        assert!(!plan(&quiet).warnings.iter().any(|said| said.starts_with("privacy.promise")));
    }
}

// Refutes a rule that never warns, and one that warns of a job without defects.
#[test]
fn what_will_not_work_is_said() {
    let warnings = |changes: &[(&str, &str)]| {
        let mut text = GOOD.to_owned();
        for (from, to) in changes {
            assert!(text.contains(from), "{from}");
            text = text.replace(from, to);
        }
        Job::parse("a.toml", &text).unwrap_or_else(|wrong| panic!("{wrong}")).plan().unwrap().warnings
    };
    assert_eq!(warnings(&[]), [""; 0]);
    let discover = (
        "people = {}\nbound = {}",
        "people = { by = \"page\", keys = \"discover\" }\nbound = { keys = 100 }",
    );
    for (changes, words) in [
        (&[("epsilon = 1.0", "epsilon = 0.01")][..], "a cell needs 50390 people"),
        (&[discover], "a key is released once about "),
        (&[("every = \"1 day\"", "every = \"1 day\"\nover = \"7 days\"")], "charged for 7 times"),
        (
            &[(
                "people = {}\nbound = {}",
                "people = { by = \"page\", keys = [\"a\"] }\nbound = { keys = 2 }",
            )],
            "give bound.keys = 1",
        ),
        (&[("delta = 1e-6", "delta = 0.01")], "a delta above 1/1000"),
        (&[("epsilon = 1.0", "epsilon = 11")], "an epsilon above 10"),
        (&[("epsilon = 1.0, delta = 1e-6", "rho = 3")], "this rho is an epsilon above 10"),
        (&[("share = 1", "share = 0.7")], "30% of it is given to no release"),
        (
            &[("until = 2026-04-11T00:00:00Z\n", ""), ("share = 1", "cost = { rho = 0.001 }")],
            "at most 28 fit the budget",
        ),
    ] {
        let found = warnings(changes);
        assert!(found.iter().any(|warning| warning.contains(words)), "{words}: {found:?}");
    }
    let keys: String = (0..100_001).map(|key| format!("{key}\n")).collect();
    let file = std::env::temp_dir().join(format!("discreet-plan-{}.txt", std::process::id()));
    std::fs::write(&file, keys).unwrap();
    let listed =
        format!("people = {{ by = \"page\", keys = {{ file = {:?} }} }}\nbound = {{ keys = 1 }}", file);
    let found = warnings(&[("people = {}\nbound = {}", &listed)]);
    std::fs::remove_file(&file).unwrap();
    assert!(found.iter().any(|warning| warning.contains("100001 keys are released")), "{found:?}");
}

// Refutes a window without an end that is released with the next replay though nobody was warned, and a warning of one that
// ends, or of a log that is whole.
#[test]
fn a_window_without_an_end_is_warned_of() {
    let endless = GOOD.replace("until = 2026-04-11T00:00:00Z\n", "").replace("1 day\"\n", "all\"\n");
    let twice = format!("{endless}[[release]]\n{}", endless.split_once("[[release]]\n").unwrap().1)
        .replacen("share = 1", "share = 0.5", 2)
        .replacen("share = 1", "share = 0.5", 1)
        .replacen("name = \"visits\"\nevery", "name = \"others\"\nevery", 1);
    let warnings = |text: &str| {
        let job = Job::parse("a.toml", text).unwrap_or_else(|wrong| panic!("{wrong}\n{text}"));
        let of_end = |warning: &String| warning.starts_with("job.until: ");
        job.plan().unwrap().warnings.into_iter().filter(of_end).collect::<Vec<_>>()
    };
    assert_eq!(
        warnings(&endless),
        [
            "job.until: release visits has one window over everything, which has no end: `discreet replay` releases it for good \
          at the end of its input, and records that come later are never in it, and no live run releases it; give until, the end \
          of the time that is to be published, unless no more records come"
        ]
    );
    let found = warnings(&twice);
    assert!(found.len() == 1 && found[0].contains("releases others and visits have one window"), "{found:?}");
    let days =
        GOOD.replace("until = 2026-04-11T00:00:00Z\n", "").replace("share = 1", "cost = { rho = 0.001 }");
    assert_eq!(
        [warnings(&GOOD), warnings(&GOOD.replace("1 day\"\n", "all\"\n")), warnings(&days)],
        [[""; 0]; 3]
    );
}
