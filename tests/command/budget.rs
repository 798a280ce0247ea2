//! `discreet ledger init` and `forecast`: a budget of a job file, and how long it lasts.

use serde_json::Value;

use crate::jobs::Jobs;
use crate::kit::Directory;
use crate::ledger::{charge, ledger};
use crate::reports::{JOB, asked, question};
use crate::{discreet, json};

#[test]
fn a_budget_is_stated_once_with_its_key() {
    use std::os::unix::fs::PermissionsExt;

    let jobs = Jobs::new("init", "reviews.toml");
    let (ledger, config) = (jobs.path("state/reviews.ledger"), jobs.path("job.toml"));
    let made = json(&["ledger", "init", &ledger, "--config", &config, "--json"]);
    assert_eq!((&made["made"], &made["stated"]), (&true.into(), &true.into()));
    assert_eq!(made["budget"]["epsilon"], 1.0);
    // (1, 7e-7): three tenths of delta are for discovering keys.
    let (rho, delta) = (made["cap"]["rho"].as_f64().unwrap(), made["cap"]["delta"].as_f64().unwrap());
    assert!(rho > 0.02707 && rho < 0.02708 && delta <= 3e-7 && delta > 2.999e-7, "{made}");
    assert_eq!(made["accounting"], "gaussian");
    assert_eq!(made["cap"]["omega"], Value::Null);
    assert!(made["promise"].as_str().unwrap().contains("at most 3 of the windows"));

    let key = jobs.path("state/reviews.ledger.key");
    let metadata = std::fs::metadata(&key).unwrap();
    assert_eq!((metadata.permissions().mode() & 0o777, metadata.len()), (0o600, 32));
    let secret = std::fs::read(&key).unwrap();

    // Stating the same account again changes nothing.
    let again = json(&["ledger", "init", &ledger, "--config", &config, "--json"]);
    assert_eq!((&again["made"], &again["stated"]), (&false.into(), &false.into()));
    assert_eq!((&again["ledger"], &again["fingerprint"]), (&made["ledger"], &made["fingerprint"]));
    assert_eq!(std::fs::read(&key).unwrap(), secret);
    let rows = || json(&["ledger", "show", &ledger, "--json"])["rows"].clone();
    assert_eq!(rows(), 1);

    assert!(!again["warnings"].to_string().contains("its key existed already"), "{again}");

    // Another budget is refused for the same account; another account is a separate budget in the same
    // ledger.
    let other = jobs.changed("other.toml", "delta = 1e-6", "delta = 2e-6");
    let (code, _, error) = discreet(&["ledger", "init", &ledger, "--config", &other]);
    assert!(code == 78 && error.contains("stated already, in other words"), "{error}");
    assert_eq!(rows(), 1);
    let second = jobs.changed("second.toml", "account = \"reviews\"", "account = \"more\"");
    let (code, page, _) = discreet(&["ledger", "init", &ledger, "--config", &second]);
    assert!(
        code == 0 && page.contains("account more, stated now") && page.contains("existed already"),
        "{page}"
    );
    assert_eq!(rows(), 2);
    assert_eq!(std::fs::read(&key).unwrap(), secret);

    let (code, page, error) =
        discreet(&["ledger", "init", &jobs.path("state/other.ledger"), "--config", &config]);
    assert!(code == 0 && page.contains("epsilon 1.0, delta 1e-6") && page.contains("rho 0.02"), "{page}");
    // It is no line at the end of a page.
    let warned = format!("warning: the job file names another ledger, {ledger}, and this one is ");
    assert!(error.starts_with(&warned) && error.lines().count() == 1, "{error}");
    assert!(!page.contains("another ledger"), "{page}");

    // A deleted ledger takes the record of its spending with it: the next one warns of that.
    std::fs::remove_file(&ledger).unwrap();
    let anew = json(&["ledger", "init", &ledger, "--config", &config, "--json"]);
    assert!(anew["warnings"].to_string().contains("its key existed already"), "{anew}");
    assert_eq!((&anew["made"], &anew["fingerprint"]), (&true.into(), &made["fingerprint"]));
}

// Refutes the budget that docs/JOBS.md states for a rho with discovered keys.
#[test]
fn an_epsilon_and_a_delta_are_stated_for_a_rho_with_discovered_keys() {
    let jobs = Jobs::new("rho", "quickstart.toml");
    std::fs::write(jobs.path("prices.json"), "[{ \"mechanism\": \"zcdp\", \"rho\": 0.1 }]").unwrap();
    let priced = json(&["price", &jobs.path("prices.json"), "--delta", "5e-7", "--json"]);
    let epsilon = priced["zcdp"]["epsilon"].as_f64().unwrap();
    assert_eq!(format!("{epsilon:.4}"), "2.2060");
    let stated = "budget  = { epsilon = 1.0, delta = 1e-6 }";
    let refused = jobs.changed("refused.toml", stated, "budget = { rho = 0.1 }");
    let (code, _, error) = discreet(&["plan", &refused]);
    assert!(code == 78 && error.contains("a budget of epsilon and delta"), "{error}");
    let plan = json(&[
        "plan",
        &jobs.changed("b.toml", stated, "budget = { epsilon = 2.2061, delta = 1e-6 }\naccounting = \"zcdp\""),
        "--json",
    ]);
    let cap = [&plan["cap"]["rho"], &plan["cap"]["delta"]].map(|amount| amount.as_f64().unwrap());
    assert!((cap[0] - 0.1).abs() < 1e-5 && cap[0] >= 0.1 && (cap[1] - 5e-7).abs() < 1e-12, "{plan}");
}

// Refutes an example whose page creates another ledger than its job charges.
#[test]
fn each_example_is_charged_to_the_ledger_that_its_page_creates() {
    let configs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("config");
    let directory = Directory::new("command-examples");
    std::fs::create_dir_all(directory.at("config/state")).unwrap();
    let mut count = 0;
    for entry in std::fs::read_dir(&configs).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        // Lists of public keys lie beside the jobs.
        if name.ends_with(".txt") {
            std::fs::copy(&path, directory.at(&format!("config/{name}"))).unwrap();
        }
    }
    for entry in std::fs::read_dir(configs).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if !name.ends_with(".toml") {
            continue;
        }
        let page = std::fs::read_to_string(&path).unwrap();
        directory.write(&format!("config/{name}"), &page);
        let inits = page.lines().filter_map(|line| line.strip_prefix("#   discreet ledger init "));
        for init in inits {
            let arguments: Vec<&str> = ["ledger", "init"].into_iter().chain(init.split(' ')).collect();
            let ended = directory.run(&arguments);
            assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""), "{name}: {init}");
            count += 1;
        }
    }
    assert_eq!(count, 8);
}

#[test]
fn nothing_is_made_of_a_wrong_job_file_or_path() {
    use std::os::unix::fs::PermissionsExt;

    let jobs = Jobs::new("refused", "reviews.toml");
    let (ledger, config) = (jobs.path("state/reviews.ledger"), jobs.path("job.toml"));
    let init = |ledger: &str, config: &str| {
        let (code, output, error) = discreet(&["ledger", "init", ledger, "--config", config]);
        assert_eq!(output, "");
        (code, error)
    };
    let slip = jobs.changed("slip.toml", "epsilon = 1.0", "epsilonn = 1.0");
    let text = std::fs::read_to_string(&slip).unwrap();
    let line = text.lines().position(|line| line.contains("epsilonn")).unwrap() + 1;
    let (code, error) = init(&ledger, &slip);
    assert!(
        code == 78 && error.starts_with(&format!("error: {slip}:{line}:13: privacy.budget.epsilonn: ")),
        "{error}"
    );
    assert!(error.contains("did you mean epsilon?"), "{error}");
    let two = std::fs::read_to_string(&slip).unwrap().replace("gaussian", "gausian");
    std::fs::write(&slip, two).unwrap();
    let (_, error) = init(&ledger, &slip);
    // Four releases with noise, one budget.
    assert_eq!(error.lines().filter(|line| line.starts_with("error: ")).count(), 5, "{error}");
    assert!(init(&ledger, &jobs.path("none.toml")).0 == 78);
    assert_eq!(discreet(&["ledger", "init", &ledger]).0, 2);
    let (code, error) = init(&jobs.path("typo/reviews.ledger"), &config);
    assert!(code == 78 && error.contains("there is no directory"), "{error}");
    assert_eq!(init(":memory:", &config).0, 78);
    assert_eq!(init(&jobs.path("state"), &config).0, 78);
    let files = std::fs::read_dir(jobs.path("state")).unwrap().count();
    assert_eq!(files, 0, "something was made");

    // A ledger without its key, a key that other users can read, and a torn key.
    assert_eq!(discreet(&["ledger", "init", &ledger, "--config", &config]).0, 0);
    let key = jobs.path("state/reviews.ledger.key");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
    let (code, error) = init(&ledger, &config);
    assert!(code == 78 && error.contains("chmod 600"), "{error}");
    let kept = jobs.path("kept.key");
    std::fs::rename(&key, &kept).unwrap();
    let (code, error) = init(&ledger, &config);
    assert!(code == 78 && error.contains("bring back the copy"), "{error}");
    assert!(!std::path::Path::new(&key).exists(), "a second key was made for one ledger");
    std::fs::rename(&kept, &key).unwrap();
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    std::fs::write(&ledger, vec![7; 5000]).unwrap();
    assert_eq!(init(&ledger, &config).0, 74);
}

// By hand: .125 of .5 is spent on the first 10 microseconds, so three more windows of 10 fit, and end at 40.
#[test]
fn the_rest_of_a_budget_is_stated_in_windows() {
    let path = ledger("forecast");
    let (ledger, torn) = (path.to_str().unwrap(), path.with_extension("torn"));
    let printed = json(&["ledger", "forecast", ledger, "--json"]);
    let visits = &printed["accounts"]["visits"];
    assert_eq!((&visits["ends"], &visits["windows"]), (&"refused".into(), &3.into()));
    assert_eq!(visits["last_closes"], "1970-01-01T00:00:00.00004Z");
    assert_eq!(visits["refused"]["release"], "by_path");
    assert_eq!(visits["refused"]["window"]["start"], "1970-01-01T00:00:00.00004Z");
    assert_eq!(
        (&visits["pace"][0]["every"], &visits["pace"][0]["price"]["rho"]),
        (&"10 microseconds".into(), &0.125.into())
    );
    let (code, page, _) = discreet(&["ledger", "forecast", ledger, "--account", "visits"]);
    assert!(
        code == 0
            && page.contains("after 3 more windows; the last of them closes 1970-01-01T00:00:00.00004Z"),
        "{page}"
    );
    assert!(
        page.contains("every 10 microseconds, rho 0.125 a window") && page.contains("assumed: "),
        "{page}"
    );

    let (code, output, error) = discreet(&["ledger", "forecast", ledger, "--account", "visit"]);
    assert!(code == 78 && output.is_empty() && error.contains("none named visit"), "{error}");
    let missing = path.with_extension("missing");
    assert_eq!(discreet(&["ledger", "forecast", missing.to_str().unwrap()]).0, 78);
    assert!(!missing.exists(), "a forecast made a ledger");
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&torn, &bytes[..bytes.len() / 2]).unwrap();
    assert_eq!(discreet(&["ledger", "forecast", torn.to_str().unwrap()]).0, 74);
    std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
}

#[test]
fn a_promise_about_a_span_is_never_spent_at_a_pace_that_fits_it() {
    let jobs = Jobs::new("never", "reviews.toml");
    let text = std::fs::read_to_string(jobs.changed("day.toml", "\"lifetime\"", "\"any 30 days\"")).unwrap();
    let config = jobs.path("day.toml");
    std::fs::write(&config, text.replace(", windows = 3", "").replace("bound = { windows = 3 }", ""))
        .unwrap();
    let path = jobs.path("state/reviews.ledger");
    assert_eq!(discreet(&["ledger", "init", &path, "--config", &config]).0, 0);
    let (_, page, _) = discreet(&["ledger", "forecast", &path]);
    assert!(page.contains("the ledger holds no window that was charged"), "{page}");
    charge(std::path::Path::new(&path), "reviews", 86_400_000_000, 0.0001);
    let (_, page, _) = discreet(&["ledger", "forecast", &path]);
    assert!(page.contains("every 1 day") && page.contains("refuses   never, at this pace"), "{page}");
    // 31 days count together: at .001 a day, .0270 after the first holds 26, of which one is charged.
    charge(std::path::Path::new(&path), "reviews", 172_800_000_000, 0.001);
    let printed = json(&["ledger", "forecast", &path, "--json"]);
    assert_eq!(printed["accounts"]["reviews"]["ends"], "refused");
    assert_eq!(printed["accounts"]["reviews"]["windows"], 25);
    assert_eq!(printed["accounts"]["reviews"]["last_closes"], "1970-01-28T00:00:00Z");
}

/// A job that counts all records of each window for two months, at a share of a budget for any two days.
fn counting(name: &str, every: &str, share: &str) -> String {
    format!(
        r#"
        [job]
        name = "{name}"
        version = 1
        from = "2026-01-01T00:00:00Z"
        until = "2026-03-01T00:00:00Z"
        [source]
        type = "synthetic"
        people = 20
        rows = 400
        keys = 3
        seed = 7
        [privacy]
        person = {{ field = "user", missing = "drop" }}
        promise = "any 2 days"
        budget = {{ epsilon = 1.0, delta = 1e-6 }}
        ledger = "state/shared.ledger"
        account = "shared"
        [[release]]
        name = "visits"
        every = "{every}"
        count = {{}}
        bound = {{ per_key = 1 }}
        noise = "gaussian"
        share = {share}
        "#
    )
}

// Refutes an account that adds up windows which share no stretch of two days: the 59 windows of the second
// job were charged beside all that the first had charged for later days.
#[test]
fn a_second_job_has_room_for_its_share_whichever_comes_first() {
    for (index, order) in [["hourly", "daily"], ["daily", "hourly"]].into_iter().enumerate() {
        let jobs = Jobs::new(&format!("second-{index}"), "quickstart.toml");
        for name in order {
            let (every, share) = if name == "hourly" { ("1h", "0.5") } else { ("1 day", "0.3") };
            let config = jobs.path(&format!("{name}.toml"));
            std::fs::write(&config, counting(name, every, share)).unwrap();
            let ledger = jobs.path("state/shared.ledger");
            assert_eq!(discreet(&["ledger", "init", &ledger, "--config", &config]).0, 0);
            let out = jobs.path(&format!("{name}.jsonl"));
            let (code, _, error) = discreet(&["replay", &config, "--out", &out]);
            assert_eq!(code, 0, "{name}: {error}");
            let lines = std::fs::read_to_string(&out).unwrap();
            let windows = if name == "hourly" { 59 * 24 } else { 59 };
            assert_eq!(
                (lines.matches("\"closed\":true").count(), lines.matches("refused").count()),
                (windows, 0)
            );
        }
        assert_eq!(discreet(&["ledger", "verify", &jobs.path("state/shared.ledger")]).0, 0);
    }
}

// Refutes a forecast of another window after the only one of a release, and of windows after answers.
#[test]
fn no_window_is_forecast_after_everything() {
    let place = Directory::new("everything-once");
    let path = |name: &str| place.at(name).to_str().unwrap().to_owned();
    let (job, ledger, report) = (path("job.toml"), path("shop.ledger"), path("report.html"));
    place.write("job.toml", JOB.replace("every = \"12 hours\"", "every = \"all\""));
    assert_eq!(discreet(&["ledger", "init", &ledger, "--config", &job]).0, 0);
    assert_eq!(discreet(&["replay", &job, "--out", &path("out.jsonl"), "--report", &report]).0, 0);
    assert!(std::fs::read_to_string(&report).unwrap().contains("<p>No window is to come.</p>"));
    let forecast = |ledger: &str| discreet(&["ledger", "forecast", ledger]).1;
    let page = forecast(&ledger);
    let words = "left out  shop visits: its last window closed 2026-01-02T00:00:00Z, and the job has no window after it\n  refuses   \
                 never: no window is to come\n";
    assert!(page.contains(words), "{page}");

    let (place, path) = asked("answers-forecast");
    place.write("questions.jsonl", question("one", "count"));
    let (ledger, report) = (path("shop.ledger"), path("report.html"));
    assert!(forecast(&ledger).contains("the ledger holds no window that was charged"));
    assert_eq!(
        discreet(&["replay", &path("job.toml"), "--out", &path("out.jsonl"), "--report", &report]).0,
        0
    );
    assert!(
        forecast(&ledger).contains("unknown: what was charged, such as answers, is followed by no window\n")
    );
    assert!(!std::fs::read_to_string(&report).unwrap().contains("Nothing was charged"));
}

/// A release of the keys that are found, at a share.
fn finding(share: &str) -> String {
    format!(
        r#"
        [[release]]
        name = "pages"
        every = "1 day"
        people = {{ by = "key", keys = "discover" }}
        bound = {{ keys = 2 }}
        noise = "gaussian"
        share = {share}
        "#
    )
}

// Refutes a refusal that blames a budget which nobody edited, a remedy that is refused too, and the words that all is spent
// where the delta for discovered keys alone is.
#[test]
fn a_part_of_delta_that_comes_or_goes_is_named_with_what_helps() {
    let jobs = Jobs::new("delta-for-keys", "quickstart.toml");
    let (config, ledger) = (jobs.path("job.toml"), jobs.path("state/shared.ledger"));
    let without = counting("shop", "1 day", "0.3");
    let write = |text: &str| std::fs::write(&config, text).unwrap();
    let check = || {
        let (code, page, error) = discreet(&["check", &config, "--connect"]);
        (code, page + &error)
    };
    write(&without);
    assert_eq!(discreet(&["ledger", "init", &ledger, "--config", &config]).0, 0);
    assert_eq!(discreet(&["replay", &config]).0, 0);

    // The first release that discovers keys, in an account that has no delta for them.
    let with = without.clone() + &finding("0.3");
    write(&with);
    let (code, page) = check();
    assert_eq!(code, 78, "{page}");
    for words in [
        "privacy.budget (was Gaussian rho 0.0280144819126, is Gaussian rho 0.0270743792996, delta 0.0000003, for pages takes a part of delta",
        "; leave pages out; the account has no delta for it, and `discreet ledger amend` adds none: write another job with an account",
    ] {
        assert!(page.contains(words), "{words}\n{page}");
    }
    assert!(!page.contains("new version") && !page.contains("put back"), "{page}");
    write(&with.replace("version = 1", "version = 2"));
    let (code, page) = check();
    assert_eq!(code, 0, "{page}");
    let words = "nothing of its delta for discovered keys, stable means and questions, and 0.724306 of its rho, is left for its shares";
    assert!(page.contains(words), "{page}");
    assert!(!page.contains("raise the cap") && !page.contains("release.share"), "{page}");
    assert!(
        page.contains("release pages: all windows would be refused: account shared has no delta"),
        "{page}"
    );
    // Another mistake beside it keeps its own remedy.
    write(&with.replace("per_key = 1", "per_key = 2"));
    let (_, page) = check();
    assert!(
        page.contains(", and put back what the others were") && page.contains("bound.per_key (was 1, is 2)"),
        "{page}"
    );

    // The last one is removed, from an account that has such a delta.
    std::fs::remove_file(&ledger).unwrap();
    let without = counting("shop", "1 day", "0.1");
    let with = without.clone() + &finding("0.9");
    write(&with);
    assert_eq!(discreet(&["ledger", "init", &ledger, "--config", &config]).0, 0);
    assert_eq!(discreet(&["replay", &config]).0, 0);
    write(&without);
    let (code, page) = check();
    let words = "so that all of delta turns the epsilon into rho); state delta_for_keys = 3e-7 in privacy.budget, which keeps it as it \
                 was, or give visits a new version (`version = 2`";
    assert!(code == 78 && page.contains(words), "{page}");
    write(&without.replace("delta = 1e-6", "delta = 1e-6, delta_for_keys = 3e-7"));
    let (code, page) = check();
    assert!(code == 0 && page.contains("1 release, within the budget"), "{page}");

    // A larger epsilon gives a new version rho, and no delta.
    let amend = |more: &[&str]| {
        let cap = ["ledger", "amend", &ledger, "--account", "shared", "--who", "ada", "--why", "a test"];
        let (code, page, error) = discreet(&[&cap[..], more].concat());
        assert_eq!(code, 0, "{page}{error}");
    };
    amend(&["--epsilon", "2", "--delta", "1e-6"]);
    write(&with.replace("version = 1", "version = 2"));
    let (code, page) = check();
    assert_eq!(code, 0, "{page}");
    for words in [
        ", and at least 0.1 of its delta for discovered keys, stable means and questions, and 1 of its rho, is left for its shares",
        "delta 0.00000003 is left, of which the delta for discovered keys, stable means and questions does not suffice. Leave the \
         release out, or raise the cap with `discreet ledger amend --delta-for-keys 3.6e-7` or more (which pays for this window alone), \
         beside an --epsilon and a --delta whose rest comes to no less rho",
        "release.share: the shares of this job that take delta come to 0.9, and former versions of this job have left 0.1 of its \
         delta for discovered keys, stable means and questions, and 1 of its rho; give them shares that come to at most 0.1, or \
         `discreet ledger amend --delta-for-keys 5.4e-7` or more, beside an",
    ] {
        assert!(page.contains(words), "{words}\n{page}");
    }
    let needed = "5.4e-7";
    amend(&["--epsilon", "2.1", "--delta", "2e-6", "--delta-for-keys", needed]);
    let (code, page) = check();
    assert!(code == 0 && page.contains("2 releases, within the budget"), "{needed}\n{page}");

    // A budget that was edited is compared as it was stated, by field.
    for (old, new, words) in [
        ("epsilon = 1.0", "epsilon = 3", "epsilon 3 where 1 is stated; give what was stated"),
        (
            "delta = 1e-6",
            "delta = 1e-6, delta_for_keys = 5e-7",
            "delta_for_keys 5e-7 where 3e-7 is stated; give",
        ),
        ("delta = 1e-6", "delta = 2e-6", "ledger, delta 2e-6 where 1e-6 is stated; give"),
        (
            "{ epsilon = 1.0, delta = 1e-6 }",
            "{ epsilon = 1.1, delta = 1e-5 }",
            "epsilon 1.1 where 1 is stated, and delta 1e-5 where 1e-6 is",
        ),
    ] {
        write(&with.replace(old, new));
        let (code, page) = check();
        assert!(code == 78 && page.contains(words), "{words}\n{page}");
    }
    let (_, page, _) = discreet(&["ledger", "show", &ledger]);
    assert!(page.contains(": epsilon 2.1, delta 2e-6\n"), "{page}");
}
