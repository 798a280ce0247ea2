//! Tests of fields that are valid by themselves and contradict each other, and of files with many mistakes at
//! once.

use super::refusals::{BUDGET, COUNT, KEYS, NOISE, SHARE, check};
use super::{GOOD, parse};
use crate::accounting::Promise;

#[test]
fn tables_that_do_not_go_together() {
    check(&[
        (
            "until = \"2008-03-01T00:00:00Z\"",
            "until = «\"2003-05-01T00:00:00Z\"",
            &["job.until", "a time after from"],
        ),
        (SHARE, "share = 0.5\ncost = «{ rho = 0.001 }", &["either share or cost"]),
        (SHARE, "share = 0.5\npeople = «{}", &["a second statistic"]),
        (KEYS, "\"discover\" }\nover = «\"45 days\"\n#", &["release[1].over", "a whole multiple of every"]),
        (KEYS, "\"discover\" }\nover = «\"1 day\"\n#", &["a whole multiple of every"]),
        (
            SHARE,
            "share = 0.5\n[[release]]\nname = \"more\"\nevery = \"1 day\"\npeople = {}\nbound = { windows = 12 }\nnoise = \"gaussian\"\nshare = «0.500000000000000001",
            &["release[2].share", "more than the whole budget"],
        ),
        (
            SHARE,
            "share = 0.5\n«[[release]]\nname = \"more\"\nevery = \"1 day\"\npeople = {}\nnoise = \"gaussian\"\nshare = 0.5",
            &["no number of windows", "windows = 12"],
        ),
        (
            SHARE,
            "share = 0.5\n[[release]]\nname = «\"by_vendor\"\nevery = \"1 day\"\npeople = {}\nbound = { windows = 12 }\nnoise = \"gaussian\"\nshare = 0.5",
            &["the name of release[1] again"],
        ),
        (
            "promise = \"lifetime\"\nbudget = { epsilon = 1.0, delta = 1e-6 }\nledger = \"state/reviews.ledger\"\naccount = \"reviews\"\n[[release]]\nname = \"by_vendor\"\nevery = \"1 month\"\ncount = { by = \"vendor\", keys = \"discover\" }\nbound = { keys = 3, per_key = 1, windows = 12 }",
            "promise = \"any 30 days\"\nbudget = { epsilon = 1.0, delta = 1e-6 }\nledger = \"state/reviews.ledger\"\naccount = \"reviews\"\n[[release]]\nname = \"by_vendor\"\nevery = \"1 month\"\ncount = { by = \"vendor\", keys = \"discover\" }\nbound = { keys = 3, per_key = 1, windows = «12 }",
            &["each span of time pays for itself"],
        ),
    ]);
    // A share of a lifetime without end, with three remedies that give it one.
    let endless = GOOD.replace(", windows = 12", "");
    assert!(parse(&endless).is_ok());
    for line in ["from = \"2003-05-01T00:00:00Z\"\n", "until = \"2008-03-01T00:00:00Z\"\n"] {
        let refused = parse(&endless.replace(line, "")).unwrap_err().to_string();
        assert!(
            refused.contains("release[1].share: found a share of a lifetime among windows without end"),
            "{refused}"
        );
        assert!(parse(&GOOD.replace(line, "")).is_ok());
        assert!(parse(&endless.replace(line, "").replace("\"1 month\"", "\"all\"")).is_ok());
        assert!(parse(&endless.replace(line, "").replace("\"lifetime\"", "\"each day\"")).is_ok());
        let cost = endless.replace(line, "").replace(SHARE, "cost = { rho = 0.001, delta = 1e-8 }");
        assert!(parse(&cost).is_ok());
    }
}

// Refutes the advice to state windows in a release that has none, under a promise that refuses them.
#[test]
fn windows_that_are_refused_are_asked_of_no_other_release() {
    let two = GOOD.replace(
        SHARE,
        "share = 0.5\n[[release]]\nname = \"more\"\nevery = \"1 day\"\npeople = {}\nnoise = \"gaussian\"\nshare = 0.5",
    );
    let printed = |text: &str| {
        let mistakes = parse(text).unwrap_err();
        mistakes.iter().map(|mistake| mistake.field().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(printed(&two), ["release[2]"], "all reserve, or none");
    for promise in ["each day", "any 30 days"] {
        let spans = two.replace("promise = \"lifetime\"", &format!("promise = \"{promise}\""));
        assert_eq!(printed(&spans), ["release[1].bound.windows"], "{promise}");
    }
}

#[test]
fn laws_that_the_budget_cannot_pay() {
    let pure = GOOD.replace(BUDGET, "{ epsilon = 1.0 }").replace("\"gaussian\"", "\"laplace\"");
    let refused = |text: &str| parse(text).unwrap_err().to_string();
    assert!(
        refused(&pure)
            .contains("19:33: release[1].count.keys: found keys to discover under a budget without a delta")
    );
    let listed = pure.replace(KEYS, "[\"a\"]");
    assert!(parse(&listed).is_ok());
    let gaussian = refused(&listed.replace("\"laplace\"", "\"gaussian\""));
    assert!(
        gaussian.contains("21:9: release[1].noise: found Gaussian noise under a pure budget"),
        "{gaussian}"
    );
    let rho = refused(&listed.replace(SHARE, "cost = { rho = 0.001 }"));
    assert!(rho.contains("22:8: release[1].cost: "), "{rho}");
    assert!(parse(&listed.replace(SHARE, "cost = { epsilon = 0.01 }")).is_ok());
    let rho = GOOD.replace(BUDGET, "{ rho = 0.1 }");
    assert!(
        refused(&rho)
            .contains("release[1].count.keys: found keys to discover under a budget without a delta")
    );
    check(&[
        (
            NOISE,
            "noise = \"gaussian\"\ncost = «{ rho = 0.001 }",
            &["no delta", "what discovering keys costs"],
        ),
        (
            NOISE,
            "noise = \"gaussian\"\ncost = { epsilon = «0.01, delta = 1e-8 }",
            &["pure epsilon for Gaussian noise"],
        ),
    ]);
    let delta = GOOD.replace(KEYS, "[\"a\"]").replace(SHARE, "cost = { rho = 0.001, delta = 1e-8 }");
    assert!(refused(&delta).contains("22:31: release[1].cost.delta: found a delta for nothing"));
    // The whole budget fits once: exactly, and not one unit more.
    let whole = listed.replace(", windows = 12", "");
    assert!(parse(&whole.replace(SHARE, "cost = { epsilon = 1 }")).is_ok());
    let above = refused(&whole.replace(SHARE, "cost = { epsilon = 1.00000000000000000001 }"));
    assert!(above.contains("22:8: release[1].cost: found a cost above the whole budget"), "{above}");
}

#[test]
fn keys_and_bounds_that_cannot_be() {
    check(&[
        (KEYS, "[\"a\", \"b\", «\"a\"]", &["release[1].count.keys[3]", "the key of entry 1 again"]),
        (KEYS, "[\"a\", «\"\"]", &["an empty key"]),
        (KEYS, "[\"a\", «7]", &["a whole number", "a text in quotes"]),
        (KEYS, "«[]", &["at least one key"]),
        (KEYS, "«\"discovr\"", &["did you mean discover?"]),
        (KEYS, "{ file = «\"*.txt\" }", &["a pattern", "public"]),
        (KEYS, "{ file = «\"reviews.csv\" }", &["the file of the records"]),
        (
            "count = { by = \"vendor\", keys = \"discover\" }",
            "count = { by = «\"vendor\" }",
            &["a field without its keys"],
        ),
        (
            "count = { by = \"vendor\", keys = \"discover\" }",
            "count = { keys = «\"discover\" }",
            &["keys of no field"],
        ),
        (COUNT, "count = {}\nbound = { keys = «2, per_key = 1, windows = 12 }", &["more than there can be"]),
        (
            COUNT,
            "people = {}\nbound = { per_key = «2, windows = 12 }",
            &["release[1].bound.per_key", "there is no second one"],
        ),
    ]);
    const WEIGHT: &str = "count = { by = \"vendor\", keys = [\"a\", \"b\", \"c\"] }\nbound = { per_key = 1, windows = 12, weight = 2 }";
    assert!(parse(&GOOD.replace(COUNT, WEIGHT)).is_ok(), "keys that are listed need no bound");
    let in_part = &["a weight where nobody counts in part"][..];
    check(&[
        (COUNT, "count = {}\nbound = { per_key = 1, windows = 12, weight = «2 }", in_part),
        (
            COUNT,
            "count = { by = \"vendor\", keys = \"discover\" }\nbound = «{ per_key = 1, windows = 12, weight = 2 }",
            &["no bound of keys"],
        ),
        (
            COUNT,
            "count = { by = \"vendor\", keys = \"discover\" }\nbound = { keys = 2, per_key = 1, windows = 12, weight = «2 }",
            &["a weight of all keys of a person", "keys above the weight"],
        ),
        (
            COUNT,
            "max = { of = \"rating\", grid = \"log\", by = \"vendor\", keys = [\"a\", \"b\"] }\n\
             bound = { keys = 2, windows = 12, weight = «1 }",
            in_part,
        ),
    ]);
    let record = GOOD.replace("person = { field = \"who\", missing = \"drop\" }", "unit = \"record\"");
    let refused = parse(&record).unwrap_err().to_string();
    assert!(refused.contains("20:18: release[1].bound.keys: found more than there can be"), "{refused}");
    // A record is in the windows that contain its time, and a bound of windows does not apply to it.
    let windowed =
        record.replace("bound = { keys = 3, per_key = 1, windows = 12 }", "bound = { windows = 12 }");
    let refused = parse(&windowed).unwrap_err();
    let printed: Vec<(&str, String)> =
        refused.iter().map(|mistake| (mistake.field(), mistake.to_string())).collect();
    assert_eq!(printed.len(), 1, "{printed:?}");
    assert!(
        printed[0].0 == "release[1].bound.windows" && printed[0].1.contains("no windows: a record"),
        "{printed:?}"
    );
    let untimed =
        parse(&GOOD.replace("time = { field = \"date\", format = \"%Y-%m-%d\" }\n", "")).unwrap_err();
    assert!(untimed.to_string().contains("6:1: source: found no time"), "{untimed}");
    let keys = (0..100_001).map(|key| format!("\"{key}\"")).collect::<Vec<_>>().join(",");
    let many = parse(&GOOD.replace(KEYS, &format!("[{keys}]"))).unwrap_err().to_string();
    assert!(many.contains("more than 100,000 keys") && many.len() < 1_000, "{}", many.len());
}

// Refutes a person, a time or an id that each element has for itself, and elements that are each protected alone.
#[test]
fn the_elements_of_a_line_are_of_one_person() {
    let explode = "type = \"jsonl\"\nexplode = { array = \"who\", most = 3 }";
    let job = GOOD.replace("type = \"csv\"", explode);
    let fields = |job: &str| match parse(job) {
        Ok(_) => Vec::new(),
        Err(refused) => refused.iter().map(|mistake| mistake.field().to_owned()).collect(),
    };
    assert_eq!(fields(&job), ["privacy.person.field"]);
    assert_eq!(fields(&job.replace("\"who\", missing", "\"who.id\", missing")), ["privacy.person.field"]);
    assert!(fields(&job.replace("\"who\", missing", "\"whose\", missing")).is_empty());
    let dates = job.replace("array = \"who\"", "array = \"date\"");
    assert_eq!(fields(&dates), ["source.time.field"]);
    let ids = job.replace("array = \"who\"", "array = \"a\"");
    assert_eq!(
        fields(&ids.replace("most = 3 }", "most = 3 }\nid = { field = \"a.b\" }")),
        ["source.id.field"]
    );
    assert!(fields(&ids.replace("most = 3 }", "most = 3 }\nid = { field = \"ab\" }")).is_empty());
    let record = ids.replace("person = { field = \"who\", missing = \"drop\" }", "unit = \"record\"");
    assert!(fields(&record).contains(&"source.explode".to_owned()), "{:?}", fields(&record));
    for most in ["0", "1000001", "\"3\""] {
        assert_eq!(fields(&ids.replace("most = 3", &format!("most = {most}"))), ["source.explode.most"]);
    }
}

#[test]
fn fields_that_a_combined_log_does_not_have() {
    let log = GOOD
        .replace("\"csv\"", "\"combined\"")
        .replace("time = { field = \"date\", format = \"%Y-%m-%d\" }\n", "id = { field = \"request\" }\n")
        .replace("\"vendor\"", "\"paht\"");
    let refused = parse(&log).unwrap_err();
    let printed: Vec<(&str, Option<&str>)> =
        refused.iter().map(|mistake| (mistake.field(), mistake.suggestion())).collect();
    assert_eq!(
        printed,
        [("source.id.field", None), ("privacy.person.field", None), ("release[1].count.by", Some("path"))]
    );
}

#[test]
fn fields_that_made_up_records_do_not_have() {
    let made_up = GOOD
        .replace(
            "type = \"csv\"\npath = \"reviews.csv\"",
            "type = \"synthetic\"\npeople = 9\nrows = 9\nkeys = 9",
        )
        .replace("field = \"date\"", "field = \"tmie\"");
    let refused =
        parse(&made_up.replace("\"vendor\"", "\"keys\"").replace("\"who\"", "\"usr\"")).unwrap_err();
    let printed: Vec<(&str, Option<&str>)> =
        refused.iter().map(|mistake| (mistake.field(), mistake.suggestion())).collect();
    assert_eq!(
        printed,
        [
            ("source.time.field", Some("time")),
            ("privacy.person.field", Some("user")),
            ("release[1].count.by", Some("key"))
        ]
    );
}

#[test]
fn every_mistake_of_a_file_is_reported_in_its_order() {
    let text = GOOD
        .replace("version = 1", "versoin = 1")
        .replace("missing = \"drop\"", "missing = \"drp\"")
        .replace("epsilon = 1.0", "epsilonn = 1.0")
        .replace("keys = 3", "kyes = 3")
        .replace("noise = \"gaussian\"", "noise = \"x\"")
        + "[[release]]\nname = \"B\"\nevery = \"never\"\n[extra]\n";
    let mistakes = parse(&text).unwrap_err();
    let printed: Vec<(usize, &str)> =
        mistakes.iter().map(|mistake| (mistake.line(), mistake.field())).collect();
    assert_eq!(
        printed,
        [
            (3, "job.versoin"),
            (11, "privacy.person.missing"),
            (13, "privacy.budget.epsilonn"),
            (20, "release[1].bound.kyes"),
            (21, "release[1].noise"),
            (23, "release[2].noise"),
            (23, "release[2]"),
            (23, "release[2]"),
            (24, "release[2].name"),
            (25, "release[2].every"),
            (26, "extra"),
        ]
    );
}

#[test]
fn whole_tables_that_are_missing_are_named() {
    let mistakes = parse("").unwrap_err();
    let fields: Vec<&str> = mistakes.iter().map(|mistake| mistake.field()).collect();
    assert_eq!(fields, ["job", "source", "privacy", "release"]);
    assert!(parse("[job]\nname = \n").unwrap_err().to_string().starts_with("jobs/a.toml:2:"));
    let one = GOOD.replace("[[release]]", "[release]");
    assert!(
        parse(&one).unwrap_err().to_string().contains("16:1: release: found one table; give [[release]]")
    );
    let none = GOOD.split("[[release]]").next().unwrap().replace("[job]", "release = []\n[job]");
    assert!(parse(&none).unwrap_err().to_string().contains("1:11: release: found no release"));
}

#[test]
fn a_password_is_not_printed() {
    let text = GOOD.replace("\"state/reviews.ledger\"", "\"postgres://me:hunter2@host/db\"");
    let mistakes = parse(&text).unwrap_err();
    assert!(mistakes.to_string().contains("privacy.ledger: found an address with a password"));
    assert!(!format!("{mistakes} {mistakes:?}").contains("hunter2"));
}

#[test]
fn a_ledger_on_a_server_needs_a_key_of_its_own() {
    let text =
        GOOD.replace("\"state/reviews.ledger\"", "\"postgres://me@localhost/discreet?ledger=reviews\"");
    let mistakes = parse(&text).unwrap_err();
    assert!(mistakes.to_string().contains("privacy.key: found nothing"), "{mistakes}");
    let text = text
        .replace("account  =", "key = \"reviews.key\"\naccount  =")
        .replace("account =", "key = \"reviews.key\"\naccount =");
    let job = parse(&text).unwrap();
    assert!(job.privacy.is_remote() && job.privacy.key.ends_with("reviews.key"));
}

// Refutes an account that promises the windows of another release than the one that has most, and a release that pays for
// more windows than its own.
#[test]
fn each_release_has_its_own_number_of_windows() {
    for (own, largest) in [(5, 12), (12, 12), (40, 40)] {
        let more = format!(
            "share = 0.5\n[[release]]\nname = \"more\"\nevery = \"1 day\"\npeople = {{}}\nbound = {{ windows = {own} }}\n\
             noise = \"gaussian\"\nshare = 0.5"
        );
        let job = parse(&GOOD.replace(SHARE, &more)).unwrap_or_else(|mistakes| panic!("{mistakes}"));
        assert_eq!(job.account().promise(), Promise::Windows(largest));
        let plan = job.plan().unwrap();
        assert_eq!(plan.releases.iter().map(|release| release.paid_together).collect::<Vec<_>>(), [12, own]);
        // Half of the budget each, divided by its own windows.
        let [first, second] = [0, 1].map(|at: usize| plan.releases[at].cost.rho.unwrap());
        assert!((first * 12.0 / (second * own as f64) - 1.0).abs() < 1e-9, "{first} {second}");
    }
}
