//! Tests of a check of the budget: what is left of it, and the account that is stated for a job.

use crate::discreet;
use crate::jobs::Jobs;

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
