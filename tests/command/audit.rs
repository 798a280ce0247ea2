//! `discreet audit` of the job files of the project, which need no data for it.

use serde_json::Value;

use crate::discreet;

/// The level of an audit here: another one would refute an honest job now and then.
const LEVEL: &str = "1e-9";

// Refutes an audit that reads a log, spends a budget, or leaves out a release in silence.
#[test]
fn the_job_files_are_audited_without_their_logs() {
    for (job, audited, left_out) in
        [("access_log", 4, 0), ("events", 2, 1), ("quickstart", 2, 1), ("retail", 4, 2), ("reviews", 3, 2)]
    {
        let path = format!("config/{job}.toml");
        let (code, page, error) =
            discreet(&["audit", &path, "--canaries", "500", "--level", LEVEL, "--json", "-w", "2"]);
        assert_eq!((code, error.as_str()), (0, ""), "{job}: {page}");
        let found: Value = serde_json::from_str(&page).unwrap();
        assert_eq!(found["refuted"], false, "{page}");
        let count = |field: &str| found[field].as_array().unwrap().len();
        assert_eq!((count("releases"), count("not_audited")), (audited, left_out), "{page}");
        for release in found["releases"].as_array().unwrap() {
            let tests: Vec<&str> = release["tests"]
                .as_array()
                .unwrap()
                .iter()
                .map(|test| test["test"].as_str().unwrap())
                .collect();
            for name in ["noise", "shift", "law", "one run, f", "one run", "charge"] {
                assert!(tests.contains(&name), "{name}: {release}");
            }
            assert_eq!(tests.contains(&"windows"), release["windows"].as_u64().unwrap() > 1, "{release}");
            let name = release["release"].as_str().unwrap();
            let discovers = ["visitors_by_page", "people_by_key", "reviews_by_vendor"].contains(&name);
            assert_eq!(tests.contains(&"keys"), discovers, "{release}");
        }
    }
}

// Refutes coins that are thrown anew where a seed is given, and a page that says "private".
#[test]
fn an_audit_can_be_repeated_and_says_what_it_would_find() {
    let arguments = ["audit", "config/access_log.toml", "--release", "requests", "--level", LEVEL];
    let (code, page, error) = discreet(
        &[&arguments[..], &["--seed-of-coins", "config/regions.txt", "--canaries", "1000"]].concat(),
    );
    assert_eq!((code, error.as_str()), (0, ""), "{page}");
    for words in [
        "requests: 1000 canaries, 1 key each in 4 windows; gaussian noise of scale 75.5734\n",
        " deviations, 0.1059 is stated ",
        "of the stated deviation",
        "nothing refuted, at level 1e-9. It would have found noise below ",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    assert!(!page.contains("is private") && page.lines().all(|line| line.chars().count() <= 120), "{page}");
}

#[test]
fn what_cannot_be_audited_is_refused_by_name() {
    let path = "config/quickstart.toml";
    for (arguments, code, words) in [
        (&["--canaries", "99"][..], 78, "canaries: found a number that is too small"),
        (&["--level", "0.5"], 78, "level: "),
        (&["--release", "others"], 78, "release: found nothing; give the name of a release of the job"),
        (&["--seed-of-coins", "no such file"], 78, "seed-of-coins: no such file: found no such file"),
        (&["--canarys", "1"], 2, "--canaries"),
    ] {
        let (found, page, error) = discreet(&[&["audit", path], arguments].concat());
        assert!(found == code && page.is_empty() && error.contains(words), "{arguments:?}: {found} {error}");
    }
    let (code, page, error) = discreet(&["audit", "config/running.toml"]);
    assert!(code == 0 && error.is_empty() && page.ends_with("nothing was audited\n"), "{page}");
    for name in ["reviewers_so_far", "reviews_in_seven_days"] {
        assert!(
            page.contains(&format!("{name}: not audited by canaries: its windows are added up")),
            "{page}"
        );
    }
}
