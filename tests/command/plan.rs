//! Tests of the output and exit codes of `discreet plan`.

use crate::discreet;
use crate::jobs::Jobs;

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
