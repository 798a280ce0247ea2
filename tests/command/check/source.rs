//! Tests of a check of the source: its files, a pipe, and a sample of its records.

use crate::discreet;
use crate::jobs::Jobs;

// Refutes a check that says that a source is there of which a run cannot open each file.
#[test]
fn a_check_opens_each_file_of_a_source() {
    use std::fs::{Permissions, create_dir, remove_file, set_permissions, write};
    use std::os::unix::fs::{PermissionsExt, symlink};
    for pattern in ["logs/*.csv", "logs", "**/*.csv"] {
        let jobs = Jobs::new("opens", "reviews.toml");
        let (config, ledger) = (jobs.path("job.toml"), jobs.path("state/reviews.ledger"));
        jobs.changed("job.toml", "reviews.csv.bz2", pattern);
        assert_eq!(discreet(&["ledger", "init", &ledger, "--config", &config]).0, 0);
        create_dir(jobs.path("logs")).unwrap();
        let check = || discreet(&["check", &config, "--connect"]);
        let (code, _, error) = check();
        assert!(code == 69 && error.contains("no file is there; give a path"), "{error}");
        for name in ["logs/a.csv", "logs/b.csv"] {
            write(jobs.path(name), "").unwrap();
        }
        let (code, page, error) = check();
        assert!(code == 0 && page.contains("its ledger and source are there"), "{error}");
        // A live run waits for it.
        let link = jobs.path("logs/c.csv");
        symlink("nowhere", &link).unwrap();
        let (code, page, error) = check();
        let warning = format!("warning: source.path: {link}: it is a symbolic link that leads to no file: ");
        assert!(code == 0 && page.contains(&warning), "{page}{error}");
        let (code, _, error) = discreet(&["replay", &config]);
        assert!(
            code == 69 && error.contains("logs/c.csv: the source is gone: it is a symbolic link"),
            "{error}"
        );
        remove_file(&link).unwrap();
        symlink("c.csv", &link).unwrap();
        let (code, page, error) = check();
        assert!(code == 69 && page.is_empty() && error.contains("logs/c.csv: the source is gone"), "{error}");
        remove_file(&link).unwrap();
        remove_file(jobs.path("logs/a.csv")).unwrap();
        set_permissions(jobs.path("logs/b.csv"), Permissions::from_mode(0o000)).unwrap();
        if rustix::process::geteuid().is_root() {
            println!("skipped: root may open every file");
            continue;
        }
        let (code, page, error) = check();
        assert!(code == 69 && page.is_empty() && error.contains("logs/b.csv: "), "{error}");
        assert!(error.contains("it may not be read; give this user the right to"), "{error}");
        assert_eq!(discreet(&["replay", &config]), (69, String::new(), error));
    }
}

// Refutes a check that waits for the writer of a named pipe, one that takes its lines, and one that calls any
// path a pipe.
#[test]
fn a_named_pipe_is_not_opened() {
    let jobs = Jobs::new("pipe", "reviews.toml");
    let (config, ledger) = (jobs.path("job.toml"), jobs.path("state/reviews.ledger"));
    assert_eq!(discreet(&["ledger", "init", &ledger, "--config", &config]).0, 0);
    let pipe = jobs.path("reviews.csv.bz2");
    std::fs::write(&pipe, "").unwrap();
    assert_eq!(crate::json(&["check", &config, "--connect", "--json"])["pipe"], false);
    std::fs::remove_file(&pipe).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let ended = jobs.run(&["check", &config, "--connect"]);
    assert!(!ended.hung && ended.code == Some(0), "{ended:?}");
    let said =
        format!("source.path: {pipe} is a named pipe; it was not opened, and it may have no writer yet\n");
    assert!(ended.out.contains(&said), "{ended:?}");
    assert_eq!(crate::json(&["check", &config, "--connect", "--json"])["pipe"], true);
    let ended = jobs.run(&["check", &config, "--sample", "10"]);
    assert!(!ended.hung && ended.code == Some(78), "{ended:?}");
    assert!(ended.err.contains("is a named pipe, which is read once"), "{ended:?}");
}

// Refutes a sample in which a field of few values passes for people, and an exchange of day and month for the times of the job.
#[test]
fn a_sample_warns_of_few_people_and_of_times_outside_of_all_windows() {
    let jobs = Jobs::new("suspect", "quickstart.toml");
    let job = "[job]\nname = \"sales\"\nversion = 1\nfrom = \"2026-11-01T00:00:00Z\"\nuntil = \"2026-12-01T00:00:00Z\"\n\
        [source]\ntype = \"csv\"\npath = \"sales.csv\"\ntime = { field = \"time\", format = \"%d.%m.%Y %H:%M\" }\n\
        [privacy]\nperson = { field = \"card\", missing = \"drop\" }\npromise = \"each day\"\n\
        budget = { epsilon = 1.0, delta = 1e-6 }\nledger = \"sales.ledger\"\naccount = \"sales\"\n\
        [[release]]\nname = \"cards\"\nevery = \"1 day\"\npeople = {}\nnoise = \"gaussian\"\nshare = 1.0\n";
    std::fs::write(jobs.path("job.toml"), job).unwrap();
    let line = |number: usize| {
        format!("hall {},c{},{:02}.11.2026 10:00\n", number % 3, number % 90, number % 12 + 1)
    };
    let log = (0..1_200).map(line).collect::<String>();
    std::fs::write(jobs.path("sales.csv"), format!("hall,card,time\n{log}")).unwrap();
    let config = jobs.path("job.toml");
    let few = "warning: privacy.person: field hall: 1,200 records are of 3 people: the field may not be that of a person";
    let exchanged =
        "warning: job.from, job.until: 1,100 of 1,200 records that have a time lie outside of all windows. ";
    let halls = jobs.changed("halls.toml", "\"card\"", "\"hall\"");
    let months = jobs.changed("months.toml", "%d.%m.%Y", "%m.%d.%Y");
    for (config, warnings) in [(&config, [false, false]), (&halls, [true, false]), (&months, [false, true])] {
        let (code, page, error) = discreet(&["check", config, "--sample", "all"]);
        assert!(
            code == 0 && error.is_empty() && page.contains("found 1,200, readable 1,200"),
            "{page}{error}"
        );
        assert_eq!([few, exchanged].map(|warning| page.contains(warning)), warnings, "{page}");
        let line = crate::json(&["check", config, "--sample", "all", "--json"]);
        let said = line["sample"]["warnings"].as_array().unwrap().len();
        assert_eq!(said, warnings.into_iter().filter(|is_said| *is_said).count(), "{line}");
        // No run says so, and none ends otherwise for it.
        let (code, _, error) = discreet(&["replay", config, "--demo"]);
        assert!(code == 0 && !error.contains("the field may not be"), "{error}");
    }
    // A tenth of the records is too few to tell.
    let (_, page, _) = discreet(&["check", &halls, "--sample", "120"]);
    assert!(page.contains(", of 3 people\n") && !page.contains("warning: privacy.person"), "{page}");
}
