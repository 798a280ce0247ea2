//! Tests of the output and exit codes of `discreet check` and `discreet plan`.

use crate::discreet;
use crate::jobs::Jobs;
use crate::reports::{asked, question};

#[test]
fn a_plan_is_a_page_or_a_line_and_touches_nothing() {
    let jobs = Jobs::new("plan", "reviews.toml");
    let config = jobs.path("job.toml");
    let (code, page, error) = discreet(&["plan", &config]);
    assert_eq!((code, error.as_str()), (0, ""));
    assert!(page.contains("reviews_by_vendor: how many records of each vendorId"), "{page}");
    let (code, page, error) = discreet(&["plan", &config, "--rows", "1000000", "--people", "30000"]);
    assert!(code == 0 && page.contains("of 1000000 records of 30000 people holds"), "{page}{error}");
    assert_eq!(page.lines().filter(|line| line.starts_with("  expected     ")).count(), 5, "{page}");
    let (code, _, error) = discreet(&["plan", &config, "--people", "30000"]);
    assert!(code == 2 && error.contains("--rows"), "{error}");
    let (code, line, _) = discreet(&["plan", &config, "--json"]);
    let line: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!((code, line["releases"].as_array().unwrap().len()), (0, 5));
    assert_eq!(std::fs::read_dir(jobs.path("state")).unwrap().count(), 0);

    // A job that does not fit ends with 78, and the suggested cost fits when pasted.
    jobs.changed(
        "job.toml",
        "share = 0.1                              # one number a month needs little",
        "cost = { rho = 0.005 }",
    );
    let (code, page, error) = discreet(&["plan", &config]);
    assert_eq!((code, page.as_str()), (78, ""));
    assert!(
        error.starts_with(&format!("error: {config}: release[2].cost: found Gaussian rho 0.005 a window")),
        "{error}"
    );
    let fits = error.trim().split_once("give at most ").unwrap().1;
    jobs.changed("job.toml", "cost = { rho = 0.005 }", fits);
    assert_eq!(discreet(&["plan", &config]).0, 0);
}

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

// Refutes a check that ignores spent budget, one that counts windows that are paid for already, and a job
// that is refused because its cap was raised.
#[test]
fn a_check_says_which_windows_do_not_fit_any_more() {
    let jobs = Jobs::new("spent", "quickstart.toml");
    let (config, ledger) = (jobs.path("job.toml"), jobs.path("state/quickstart.ledger"));
    jobs.changed("job.toml", "people = 20000", "people = 20");
    jobs.changed("job.toml", "rows   = 400000", "rows   = 400");
    jobs.changed("job.toml", "until   = \"2026-01-02", "until   = \"2026-01-01T06:00:00Z\" # 2026-01-02");
    assert_eq!(discreet(&["ledger", "init", &ledger, "--config", &config]).0, 0);
    let check = |config: &str| {
        let (code, page, error) = discreet(&["check", config, "--connect"]);
        assert_eq!((code, error.as_str()), (0, ""));
        let refused = page.contains("would be refused");
        assert_eq!(page.contains("within the budget"), !refused, "{page}");
        page.lines().filter(|line| line.contains("would be refused")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(check(&config), Vec::<String>::new());
    assert_eq!(discreet(&["replay", &config]).0, 0);
    assert_eq!(check(&config), Vec::<String>::new(), "what is paid is not asked again");
    let second = jobs.changed("second.toml", "version = 1", "version = 2");
    let printed = check(&second);
    assert_eq!(printed.len(), 3, "{printed:?}");
    let first = "warning: release visitors_by_page: 6 of the 6 windows that it has not released would be refused, the \
                 first from 2026-01-01T00:00:00Z to 2026-01-01T01:00:00Z: ";
    assert!(printed[0].starts_with(first) && printed[0].contains("discreet ledger amend"), "{printed:?}");
    // The remainder of rounding is zero.
    let spent = "none of them fits: the rho of quickstart is spent. Leave the release out, or raise the cap";
    assert!(printed.iter().all(|printed| printed.contains(spent)), "{printed:?}");
    assert_eq!(discreet(&["replay", &second]).0, 75);
    // What was refused has a row, and stays refused.
    let (code, page, _) = discreet(&["check", &second, "--connect"]);
    assert!(
        code == 0 && page.contains("3 releases, of which the budget has refused windows, and its"),
        "{page}"
    );
    assert_eq!(
        page.matches(": 6 windows were refused for budget, the first from 2026-01-01T00:00:00Z").count(),
        3,
        "{page}"
    );
    // With a higher cap the windows fit, and the job goes on with the budget of its file.
    let amend =
        ["--account", "quickstart", "--epsilon", "3", "--delta", "4e-6", "--who", "ada", "--why", "a test"];
    let (code, _, error) = discreet(&[&["ledger", "amend", &ledger][..], &amend].concat());
    assert_eq!(code, 0, "{error}");
    let third = jobs.changed("third.toml", "version = 1", "version = 3");
    assert_eq!(check(&third), Vec::<String>::new());
    assert_eq!(discreet(&["replay", &third]).0, 0);
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

// Refutes an account that is stated for good by a job that cannot run.
#[test]
fn no_budget_is_stated_for_a_job_that_does_not_fit_it() {
    let jobs = Jobs::new("unfit", "reviews.toml");
    let (config, ledger) = (jobs.path("job.toml"), jobs.path("state/reviews.ledger"));
    jobs.changed(
        "job.toml",
        "share = 0.1                              # one number a month needs little",
        "cost = { rho = 0.005 }",
    );
    let (code, page, error) = discreet(&["ledger", "init", &ledger, "--config", &config]);
    assert_eq!((code, page.as_str()), (78, ""));
    assert!(
        error.starts_with(&format!("error: {config}: release[2].cost: found Gaussian rho 0.005 a window")),
        "{error}"
    );
    assert_eq!(std::fs::read_dir(jobs.path("state")).unwrap().count(), 0, "nothing is made");
}

// Refutes a second budget for the same people without a warning, and a warning if people are named by another
// field.
#[test]
fn a_second_account_for_the_same_people_is_warned_of() {
    let jobs = Jobs::new("twice", "quickstart.toml");
    let (config, ledger) = (jobs.path("job.toml"), jobs.path("state/quickstart.ledger"));
    let init = |config: &str| {
        let (code, page, error) = discreet(&["ledger", "init", &ledger, "--config", config]);
        assert_eq!((code, error.as_str()), (0, ""));
        page
    };
    assert!(!init(&config).contains("warning"));
    let account = |name: &str| jobs.changed(name, "account = \"quickstart\"", "account = \"quikstart\"");
    let other = account("other.toml");
    let (code, _, error) = discreet(&["check", &other, "--connect"]);
    assert!(code == 78 && error.contains("did you mean quickstart?"), "{error}");
    assert!(error.contains("who is in both groups spends both"), "{error}");
    let page = init(&other);
    let warned =
        "warning: this ledger also states quickstart, whose people are named by the same field \"user\"";
    assert!(page.contains(warned) && page.contains("spend both budgets"), "{page}");
    // Records without a person may be dropped or shared, the people are the same; and the first account now
    // has a second one beside it.
    assert!(init(&config).contains("also states quikstart"));
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(
        &config,
        text.replace("account = \"quickstart\"", "account = \"third\"").replace("\"drop\"", "\"shared\""),
    )
    .unwrap();
    assert!(
        init(&config).contains("also states quickstart, quikstart"),
        "another `missing` is the same people"
    );
    std::fs::write(
        &config,
        text.replace("account = \"quickstart\"", "account = \"pages\"")
            .replace("field = \"user\"", "field = \"key\""),
    )
    .unwrap();
    assert!(!init(&config).contains("warning"), "other people");
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

// Refutes a plan that prints a ratio of a hundred digits for a rho at which nothing is hidden.
#[test]
fn a_plan_of_a_large_rho_states_no_bound_that_is_far() {
    let jobs = Jobs::new("far", "access_log.toml");
    let text = std::fs::read_to_string(jobs.path("job.toml")).unwrap();
    let (head, _) = text.split_once("[[release]]").unwrap();
    let stated = |field: &str| head.lines().find(|line| line.starts_with(field)).unwrap();
    let release = "[[release]]\nname = \"requests\"\nevery = \"1 day\"\nmean = { of = \"bytes\", range = [0, 100] }\nbound = { per_key = 1 }\nnoise = \"gaussian\"\nshare = 1\n";
    let far = head
        .replace(stated("budget"), "budget = { rho = 500 }")
        .replace(stated("promise"), "promise = \"any 1 day\"");
    let far = far + release;
    std::fs::write(jobs.path("far.toml"), far).unwrap();
    let (code, page, error) = discreet(&["plan", &jobs.path("far.toml")]);
    assert!(
        code == 0 && page.contains("best known   no bound is known that is near this noise"),
        "{page}{error}"
    );
    let plan = crate::json(&["plan", &jobs.path("far.toml"), "--json"]);
    assert_eq!(plan["releases"][0]["near"], serde_json::Value::Null, "{plan}");
}

// Refutes a warning that sums of windows might do for distinct people, and one that names a form that the job cannot have.
#[test]
fn people_of_overlapping_windows_have_a_cheaper_form() {
    let jobs = Jobs::new("overlap", "reviews.toml");
    let job = |budget: &str, statistic: &str, noise: &str, bound: &str| {
        format!(
            "[job]\nname = \"r\"\nversion = 1\nfrom = \"2026-01-01T00:00:00Z\"\nuntil = \"2026-03-01T00:00:00Z\"\n[source]\ntype = \"synthetic\"\npeople = 9\nrows = 9\n\
             keys = 2\n[privacy]\nperson = {{ field = \"user\", missing = \"drop\" }}\npromise = \"lifetime\"\nbudget = {budget}\n\
             ledger = \"l\"\naccount = \"a\"\n[[release]]\nname = \"r\"\nevery = \"1 day\"\nover = \"7 days\"\n{statistic}\n{bound}\n\
             noise = \"{noise}\"\nshare = 0.5\n"
        )
    };
    let both = "{ epsilon = 1.0, delta = 1e-6 }";
    let last = "running = true with bound.entries pays once for the people of the last windows";
    for (budget, statistic, noise, bound, words) in [
        (
            both,
            "people = {}",
            "gaussian",
            "",
            format!("{last}; or leave out over if those of each single window will do"),
        ),
        (
            both,
            "people = {}",
            "gaussian",
            "bound = { windows = 14 }",
            format!(
                "{last}, in another account where no release bounds windows; or leave out over if those of each single window will do"
            ),
        ),
        (
            "{ epsilon = 1.0 }",
            "people = {}",
            "laplace",
            "",
            "7 times; leave out over if the people of each single window will do".to_owned(),
        ),
        (
            both,
            "count = {}",
            "gaussian",
            "bound = { per_key = 2 }",
            "7 times; leave out over if sums of windows will do".to_owned(),
        ),
    ] {
        std::fs::write(jobs.path("job.toml"), job(budget, statistic, noise, bound)).unwrap();
        let (code, plan, error) = discreet(&["plan", &jobs.path("job.toml"), "--json"]);
        assert_eq!((code, error.as_str()), (0, ""), "{statistic}");
        let plan: serde_json::Value = serde_json::from_str(&plan).unwrap();
        let warnings = plan["warnings"].as_array().unwrap();
        let warned = |warning: &&serde_json::Value| warning.as_str().unwrap().contains("windows overlap");
        let found: Vec<&str> =
            warnings.iter().filter(warned).map(|warning| warning.as_str().unwrap()).collect();
        assert!(found.len() == 1 && found[0].ends_with(&words), "{found:?}");
    }
    // The form that is named is one that a plan has, at less noise for people who come often.
    let text = job(both, "people = {}", "gaussian", "running = true\nbound = { entries = 2 }");
    std::fs::write(jobs.path("job.toml"), text).unwrap();
    let (code, page, error) = discreet(&["plan", &jobs.path("job.toml")]);
    assert!(code == 0 && !page.contains("windows overlap"), "{page}{error}");
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

// Refutes a check that is silent about questions without an answer, one that does not heed the answers of the ledger, and another
// reason than a replay has.
#[test]
fn a_check_names_questions_that_cannot_be_answered() {
    let (place, path) = asked("unanswerable-questions");
    let (job, file, out) = (path("job.toml"), path("questions.jsonl"), path("out.jsonl"));
    let text = std::fs::read_to_string(&job).unwrap();
    place.write(
        "job.toml",
        text.replace("answers = 100", "answers = 9\nanalysts = { ann = 3, ben = 2 }")
            .replace("{ key = \"text\" }", "{ key = \"text\", value = \"1 digit\" }"),
    );
    let by = |analyst: &str, line: &str| line.replace("\"ann\"", &format!("\"{analyst}\""));
    let mean = "mean of value in 0..100";
    let early = question("c2", "count").replace('}', ",\"at\":\"2026-01-01T11:00:00Z\"}");
    // Those of the first window have their answers first.
    let first = |line: &str| line.replace('}', ",\"at\":\"2026-01-01T12:00:00Z\"}");
    let lines = [
        by("carl", &question("c1", "count")),
        early,
        question("q1", mean),
        question("q2", mean),
        question("q3", "count"),
        first(&question("q4", "count")),
        by("ben", &question("q5", mean)),
        question("q1", mean),
    ];
    place.write("questions.jsonl", lines.concat());
    let checked = |options: &[&str]| {
        let (code, page, error) = discreet(&[&["check", &job], options].concat());
        assert_eq!(code, 0, "{error}");
        page.lines().filter(|line| line.contains(": question ")).map(str::to_owned).collect::<Vec<_>>()
    };
    let unserved = "question c1 of carl: analyst: found an analyst without a share of the bundle; give ";
    let unready = "question c2 of ann: at: found a time before the first window is over; give 2026-01-01T12:00:00Z or later";
    let spent = |line: u32, id: &str| {
        format!(
            "warning: {file}:{line}: question {id} of ann: found too few answers left of the 3 that ann has (a count takes one, a mean \
             two); leave it out, or raise ask[1].analysts, which is a new version once an answer was given"
        )
    };
    let expected = [
        format!("warning: {file}:1: {unserved}one of ask[1].analysts, such as ann"),
        format!("warning: {file}:2: {unready}"),
        spent(4, "q2"),
        spent(5, "q3"),
    ];
    for options in [&[][..], &["--connect"]] {
        assert_eq!(checked(options), expected);
    }
    let (code, _, error) = discreet(&["replay", &job, "--out", &out]);
    for words in
        [&format!("{unserved}an analyst who has one")[..], unready, "3 released, 2 questions not answered: "]
    {
        assert!(code == 0 && error.contains(words), "{words}: {error}");
    }
    // What has an answer takes none, and what was refused stays so.
    let asks = [
        question("q1", mean),
        question("q3", "count"),
        question("q6", "count"),
        by("ben", &question("q7", "count")),
    ];
    place.write("questions.jsonl", asks.concat());
    let found = checked(&["--connect"]);
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(
        found[0].contains(":2: question q3 of ann: id: found that of a question that was refused"),
        "{found:?}"
    );
    assert_eq!(found[1], spent(3, "q6"));
    assert!(
        found[2].contains(":4: question q7 of ben: found too few answers left of the 2 that ben has"),
        "{found:?}"
    );
    assert_eq!(checked(&[]), [spent(3, "q6")], "no ledger is read");
}

// Refutes a check that passes a replay which is refused for its questions, one that says nothing of a replay that asks none, and
// an edited question that a replay names and a check does not.
#[test]
fn a_check_says_what_a_replay_does_with_questions() {
    let (place, path) = asked("checked-questions");
    let (job, out) = (path("job.toml"), path("out.jsonl"));
    let checked = |options: &[&str]| {
        let (code, page, error) = discreet(&[&["check", &job], options].concat());
        assert_eq!(code, 0, "{error}");
        page
    };
    let refused = || discreet(&["replay", &job]).0 == 78;
    let missing = checked(&[]);
    assert!(
        missing.contains("found no such file: `discreet replay` is refused without it") && refused(),
        "{missing}"
    );
    place.write("questions.jsonl", "{}\n");
    let wrong = checked(&[]);
    assert!(wrong.contains("`discreet replay` is refused for such a line") && refused(), "{wrong}");
    place.write("questions.jsonl", question("one", "count") + &question("two", "count"));
    assert!(!checked(&["--connect"]).contains("is refused"));
    assert_eq!(discreet(&["replay", &job, "--out", &out]).0, 0);
    assert!(!checked(&["--connect", "--out", &out]).contains("another question"));
    place.write(
        "questions.jsonl",
        question("one", "count") + &question("two", "count where key = 'k1'").replace('\'', "\\\""),
    );
    let words = "questions.jsonl:2: id: found that of another question, count where all, which has its answer; give an id of its own";
    for options in [&["--connect"][..], &["--connect", "--out", &out]] {
        let page = checked(options);
        assert_eq!(page.matches(words).count(), 1, "{page}");
    }
    assert!(!checked(&[]).contains("another question"), "no ledger is read");
    let (code, _, error) = discreet(&["replay", &job, "--out", &out]);
    assert!(code == 0 && error.contains(words), "{error}");
    // A question about a window that is not over; and questions that come over HTTP alone.
    let text = std::fs::read_to_string(&job).unwrap();
    let csv = text
        .replace(
            "type = \"synthetic\"\npeople = 500\nrows = 3000\nkeys = 2\nseed = 3",
            "type = \"csv\"\npath = \"log.csv\"\ntime = { field = \"time\", format = \"unix\" }",
        )
        .replace("until = \"2026-01-02", "until = \"9000-01-02")
        .replace("every = \"12 hours\"", "every = \"all\"");
    place.write("log.csv", "user,time,key,value\n");
    place.write("job.toml", csv);
    let page = checked(&[]);
    assert!(
        page.contains("`discreet replay` is refused now: 1 window is not over")
            && page.contains("that of study"),
        "{page}"
    );
    assert!(refused());
    place.write("ann.token", "abcdefghijklmnop");
    place.write(
        "job.toml",
        text.replace("questions = \"questions.jsonl\"", "tokens = { ann = \"ann.token\" }")
            + "[watch]\nlisten = \"127.0.0.1:0\"\n",
    );
    let page = checked(&[]);
    let words =
        "study: its questions come over HTTP alone, to `discreet run`; `discreet replay` asks none of them\n";
    assert!(page.contains(words), "{page}");
    let (code, _, error) = discreet(&["replay", &job, "--out", "/dev/null"]);
    assert!(code == 0 && error.contains("0 released"), "{error}");
}
