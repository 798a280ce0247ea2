//! Tests of `discreet synth`: synthetic logs.

use serde_json::Value;

use crate::discreet;

// Refutes a log that changes from one call to the next, in its order, or with its format.
#[test]
fn a_log_is_made_up_from_a_seed() {
    let made = |more: &[&str]| {
        let arguments = [&["synth", "--rows", "1000", "--people", "50", "--keys", "9"], more].concat();
        let (code, output, error) = discreet(&arguments);
        assert_eq!((code, error.as_str()), (0, ""), "{more:?}");
        output
    };
    let log = made(&[]);
    assert_eq!(log.lines().count(), 1_001);
    assert!(
        log.starts_with("user,key,value,time\nu") && log.lines().all(|line| line.split(',').count() == 4)
    );
    assert!(log.lines().last().unwrap().contains(",2026-01-01T23:"), "{log}");
    assert_eq!(
        made(&["--seed", "0", "--skew", "1.1", "--from", "2026-01-01T00:00:00Z", "--format", "csv"]),
        log
    );
    assert_ne!(made(&["--seed", "1"]), log);
    for (line, row) in made(&["--format", "jsonl"]).lines().zip(log.lines().skip(1)) {
        let object: Value = serde_json::from_str(line).unwrap();
        let fields: Vec<&str> = row.split(',').collect();
        assert_eq!(object["user"], fields[0]);
        assert_eq!(object["value"].to_string().parse::<f64>().unwrap(), fields[2].parse::<f64>().unwrap());
        assert_eq!(object["time"], fields[3]);
    }
    let place = std::env::temp_dir().join(format!("discreet-synth-{}.csv", std::process::id()));
    assert_eq!(made(&["--out", place.to_str().unwrap()]), "");
    assert_eq!(std::fs::read_to_string(&place).unwrap(), log);
    std::fs::remove_file(place).unwrap();
}

#[test]
fn a_log_that_cannot_be_made_is_refused() {
    for (changed, value, printed) in [
        ("--rows", "0", "rows: found zero; give a number from 1 to 2^40"),
        ("--rows", "-1", "rows: found a negative number"),
        ("--people", "2e15", "people: found a number that is too large"),
        ("--skew", "11", "skew: found a number that is too large; give a number from 0 to 10"),
        ("--skew", "much", "skew: found text that is not understood"),
        ("--until", "2025-12-31", "until: found a number that is too small; give a time after from"),
        ("--from", "yesterday", "from: found text that is not understood; give a date"),
    ] {
        let mut arguments = vec!["synth", "--rows", "5", "--people", "5", "--keys", "5"];
        match arguments.iter().position(|argument| *argument == changed) {
            Some(at) => arguments[at + 1] = value,
            None => arguments.extend([changed, value]),
        }
        let (code, output, error) = discreet(&arguments);
        assert!(code == 78 && output.is_empty() && error.contains(printed), "{changed} {value}: {error}");
    }
    let arguments = ["synth", "--rows", "5", "--people", "5", "--keys", "5", "--out", "/nowhere/a.csv"];
    let (code, _, error) = discreet(&arguments);
    assert!(code == 74 && error.contains("out: /nowhere/a.csv: entity not found"), "{error}");
}
