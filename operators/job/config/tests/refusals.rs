//! Tests of every mistake in a single field, and of the place at which it is reported: the mark `«`.

use super::{GOOD, parse};

/// The text of the good file to replace, its replacement with a mark, and words of the message.
pub(in crate::job) type Case<'c> = (&'c str, &'c str, &'c [&'c str]);

pub(in crate::job) fn check(cases: &[Case<'_>]) {
    for (old, new, words) in cases {
        assert_eq!(GOOD.matches(old).count(), 1, "{old:?} is not once in the good file");
        let marked = GOOD.replacen(old, new, 1);
        let (before, after) = marked.split_once('«').unwrap_or_else(|| panic!("no mark in {new:?}"));
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap().chars().count() + 1;
        let mistakes = match parse(&format!("{before}{after}")) {
            Ok(_) => panic!("accepted: {new}"),
            Err(mistakes) => mistakes,
        };
        let shown = mistakes.to_string();
        let first = mistakes.iter().next().unwrap();
        assert_eq!((first.line(), first.column()), (line, column), "{new}\n{shown}");
        assert!(shown.starts_with(&format!("jobs/a.toml:{line}:{column}: ")), "{shown}");
        assert_eq!(mistakes.iter().count(), 1, "{new}\n{shown}");
        for word in *words {
            assert!(shown.contains(word), "{word:?} is not in\n{shown}");
        }
    }
}

pub(in crate::job) const BUDGET: &str = "{ epsilon = 1.0, delta = 1e-6 }";
pub(in crate::job) const EPSILON: &str = "epsilon = 1.0,";
pub(in crate::job) const DELTA: &str = "delta = 1e-6 }";
pub(in crate::job) const COUNT: &str =
    "count = { by = \"vendor\", keys = \"discover\" }\nbound = { keys = 3, per_key = 1, windows = 12 }";
pub(in crate::job) const KEYS: &str = "\"discover\"";
pub(in crate::job) const BOUND: &str = "{ keys = 3, per_key = 1, windows = 12 }";
pub(in crate::job) const SHARE: &str = "share = 0.5";
pub(in crate::job) const NOISE: &str = "noise = \"gaussian\"\nshare = 0.5";

#[test]
fn numbers_that_are_no_budget() {
    check(&[
        (EPSILON, "epsilon = «0,", &["privacy.budget.epsilon", "zero", "above 0 and at most 500"]),
        (EPSILON, "epsilon = «-1,", &["a negative number"]),
        (EPSILON, "epsilon = «-0.0,", &["a negative number"]),
        (EPSILON, "epsilon = «nan,", &["NaN"]),
        (EPSILON, "epsilon = «inf,", &["an infinite number"]),
        (EPSILON, "epsilon = «-inf,", &["an infinite number"]),
        (EPSILON, "epsilon = «1e400,", &["too large"]),
        (EPSILON, "epsilon = «5e-324,", &["privacy.budget.epsilon"]),
        (EPSILON, "epsilon = «1e6,", &["too large", "at most 500"]),
        (EPSILON, "epsilon = «\"1.0\",", &["a text", "without quotes"]),
        (EPSILON, "epsilon = «\"0,5\",", &["a text"]),
        (EPSILON, "epsilon = «+1,", &["not understood", "plain decimal"]),
        (EPSILON, "epsilon = «0x1,", &["not understood"]),
        (EPSILON, "epsilon = «1_0,", &["not understood"]),
        (EPSILON, "epsilon = «１,", &["give valid TOML"]),
        (EPSILON, "epsilon = «true,", &["true or false"]),
        (DELTA, "delta = «0 }", &["privacy.budget.delta", "zero"]),
        (DELTA, "delta = «1 }", &["too large"]),
        (DELTA, "delta = «-1e-6 }", &["a negative number"]),
        (
            BUDGET,
            "{ epsilon = 1.0, rho = «0.1 }",
            &["privacy.budget.rho", "either rho, or epsilon and delta"],
        ),
        (BUDGET, "{ epsilon = 1.0, delta = 1e-6, rho = «0.1 }", &["either rho"]),
        (BUDGET, "«{ delta = 1e-6 }", &["privacy.budget", "an epsilon beside delta"]),
        (BUDGET, "«{}", &["privacy.budget", "epsilon and delta, or rho"]),
        (BUDGET, "«1.0", &["a number", "a table of epsilon, delta, delta_for_keys, rho or omega"]),
        (
            BUDGET,
            "{ epsilon = 1.0, delta = 1e-6, delta_for_keys = «0 }",
            &["privacy.budget.delta_for_keys", "zero beside a release that discovers keys", "leave it out"],
        ),
        (BUDGET, "{ rho = 1, omega = «1 }", &["omega", "above 1"]),
        (BUDGET, "{ epsilon = 1, omega = «40 }", &["an omega beside pure epsilon"]),
        // One field stated twice, in two ways.
        (BUDGET, "{ epsilon = 1.0, «epsilon = 2.0 }", &["duplicate key; give each field once"]),
        (BUDGET, "{ epsilon = 1.0 }\n«budget = { rho = 1.0 }", &["duplicate key; give each field once"]),
        // A cost must be in range and in one currency.
        (SHARE, "cost = { rho = «0, delta = 1e-8 }", &["release[1].cost.rho", "zero"]),
        (SHARE, "cost = { rho = «nan, delta = 1e-8 }", &["NaN"]),
        (SHARE, "cost = { rho = «501, delta = 1e-8 }", &["too large"]),
        (SHARE, "cost = { rho = 0.001, delta = «1 }", &["release[1].cost.delta", "too large"]),
        (SHARE, "cost = «{ rho = 0.001, epsilon = 0.1, delta = 1e-8 }", &["either epsilon or rho"]),
        (SHARE, "cost = «{ delta = 1e-8 }", &["rho or epsilon"]),
        (SHARE, "cost = «{ rho = 0.1, delta = 1e-8 }", &["12 windows are above the whole budget"]),
        (SHARE, "cost = «{ rho = 0.001, delta = 4.2e-8 }", &["12 windows are above the whole budget"]),
        // A share is exact.
        (SHARE, "share = «0", &["release[1].share", "zero"]),
        (SHARE, "share = «-0.5", &["a negative number"]),
        (SHARE, "share = «1.000000000000000001", &["too large", "at most 1"]),
        (SHARE, "share = «0.1234567890123456789", &["18 digits"]),
        (SHARE, "share = «\"half\"", &["a text"]),
    ]);
}

#[test]
fn a_least_number_of_people_without_keys_to_find() {
    let place = "release[1].least_people";
    let (least, listed) = ("least_people = «20\n", COUNT.replace(KEYS, "[\"a\"]"));
    check(&[
        (COUNT, &format!("{least}{listed}"), &[place, "keys that are not discovered", "keys = \"discover\""]),
        (
            COUNT,
            &format!("{least}running = true\n{}", COUNT.replace(", windows = 12", "")),
            &[place, "running = true"],
        ),
        (COUNT, &format!("least_people = «0\n{COUNT}"), &[place, "found zero"]),
    ]);
}

#[test]
fn bounds_that_bound_nothing() {
    let sum =
        |range: &str| format!("sum = {{ of = \"rating\", range = {range} }}\nbound = {{ windows = 12 }}");
    for (range, words) in [
        ("«[5, 1]", "ends before it starts"),
        ("«[1, 1]", "a range of one number"),
        ("«[1, 1.000]", "a range of one number"),
        ("[«nan, 1]", "NaN"),
        ("[0, «inf]", "an infinite number"),
        ("[«-inf, 0]", "an infinite number"),
        ("[0, «9223372036854775807]", "within 2^53 of zero"),
        ("[«-9223372036854775808, 0]", "within 2^53 of zero"),
        ("[0, «\"1\"]", "without quotes"),
        ("«[0, 1, 2]", "another length"),
        ("«[]", "another length"),
        ("«5", "a list"),
    ] {
        check(&[(COUNT, &sum(range), &["release[1].sum.range", words])]);
    }
    let histogram = |edges: &str| {
        format!(
            "histogram = {{ of = \"rating\", edges = {edges} }}\nbound = {{ keys = 1, per_key = 1, windows = 12 }}"
        )
    };
    for (edges, words) in [
        ("«[1]", "2 to 10,000"),
        ("«[1, 2, 2]", "do not rise"),
        ("«[2, 1]", "do not rise"),
        ("[0, «\"x\"]", "without quotes"),
    ] {
        check(&[(COUNT, &histogram(edges), &["release[1].histogram.edges", words])]);
    }
    check(&[
        (
            BOUND,
            "{ keys = «0, per_key = 1, windows = 12 }",
            &["release[1].bound.keys", "zero", "from 1 to 2147483648"],
        ),
        (BOUND, "{ keys = «-3, per_key = 1, windows = 12 }", &["a negative number"]),
        (BOUND, "{ keys = «2147483649, per_key = 1, windows = 12 }", &["\"2147483649\""]),
        (BOUND, "{ keys = «1.5, per_key = 1, windows = 12 }", &["a number", "a whole number"]),
        (BOUND, "{ keys = «1e3, per_key = 1, windows = 12 }", &["a whole number"]),
        (BOUND, "{ keys = «0x3, per_key = 1, windows = 12 }", &["not understood"]),
        (BOUND, "{ keys = 3, per_key = 1, windows = «0 }", &["release[1].bound.windows", "zero"]),
        (BOUND, "«{ keys = 2147483648, per_key = 2147483648, windows = 12 }", &["above 2^40"]),
        (BOUND, "«{ keys = 3, windows = 12 }", &["no bound of per_key"]),
        (BOUND, "«{ per_key = 1, windows = 12 }", &["no bound of keys"]),
    ]);
}

#[test]
fn words_that_mean_nothing() {
    check(&[
        (
            EPSILON,
            "«epsilonn = 1.0,",
            &["privacy.budget.epsilonn", "an unknown field", "did you mean epsilon?"],
        ),
        ("version = 1", "«versoin = 1", &["job.versoin", "did you mean version?"]),
        ("[privacy]", "«runing = true\n[privacy]", &["source.runing", "an unknown field"]),
        ("[[release]]", "[«limitss]\n[[release]]", &["limitss", "did you mean limits?"]),
        ("[[release]]", "[limits]\n«disk = \"1 GB\"\n[[release]]", &["limits.disk", "give memory or spill"]),
        ("[[release]]", "[limits]\nspill = «\"a\"\n[[release]]", &["limits.spill", "memory beside it"]),
        ("[[release]]", "[limits]\nmemory = «\"2 gb\"\n[[release]]", &["limits.memory", "2 GB"]),
        (
            "count = { by = \"vendor\", keys = \"discover\" }",
            "«median = { of = \"rating\", range = [0, 5] }",
            &[
                "release[1].median",
                "count, people, sum, mean, means, variance, ratio, histogram, max, min, altogether, quantile, alert, top or marginals",
            ],
        ),
        (
            "count = { by = \"vendor\", keys = \"discover\" }",
            "«cuont = { by = \"vendor\", keys = \"discover\" }",
            &["release[1].cuont", "did you mean count?"],
        ),
        (
            "noise = \"gaussian\"",
            "noise = «\"gausian\"",
            &["\"gausian\"", "gaussian or laplace", "did you mean gaussian?"],
        ),
        ("noise = \"gaussian\"", "noise = «\"none\"", &["gaussian or laplace"]),
        ("noise = \"gaussian\"", "noise = «\"debug\"", &["gaussian or laplace"]),
        ("missing = \"drop\"", "missing = «\"drp\"", &["drop, reject or shared", "did you mean drop?"]),
        (
            "person = { field = \"who\", missing = \"drop\" }",
            "person = «{ field = \"who\" }",
            &["privacy.person.missing", "found nothing"],
        ),
        (
            "person = { field = \"who\", missing = \"drop\" }",
            "unit = «\"row\"",
            &["privacy.unit", "give record"],
        ),
        (
            "person = { field = \"who\", missing = \"drop\" }",
            "person = { field = \"who\", missing = \"drop\" }\nunit = «\"record\"",
            &["a unit beside person"],
        ),
        (
            "[privacy]\nperson = { field = \"who\", missing = \"drop\" }",
            "«[privacy]",
            &["privacy.person", "there is no default"],
        ),
        ("promise = \"lifetime\"", "promise = «\"forever\"", &["privacy.promise", "\"lifetime\""]),
        ("promise = \"lifetime\"", "promise = «\"any month\"", &["always the same", "30 days"]),
        ("promise = \"lifetime\"", "promise = «\"each 0 days\"", &["zero"]),
        ("promise = \"lifetime\"", "promise = «\"any 30 dyas\"", &["did you mean days?"]),
        (
            "type = \"csv\"",
            "type = «\"cvs\"",
            &["source.type", "csv, jsonl, combined, synthetic, parquet or arrow", "did you mean csv?"],
        ),
        ("[source]\ntype = \"csv\"", "«[source]", &["source.type", "found nothing"]),
        ("path = \"reviews.csv\"", "path = «\"\"", &["source.path", "an empty text"]),
        ("format = \"%Y-%m-%d\"", "format = «\"%H:%M\"", &["source.time.format", "day, month and year"]),
        (
            "format = \"%Y-%m-%d\"",
            "format = \"%Y-%m-%d\", zone = «\"Europe/Bonn\"",
            &["source.time.zone", "Europe/Berlin"],
        ),
        (
            "format = \"%Y-%m-%d\" }",
            "format = \"%Y-%m-%d\", zone = \"UTC\" }\nzone = «\"UTC\"",
            &["a second zone"],
        ),
        ("[privacy]", "order = «\"sorte\"\n[privacy]", &["any or sorted", "did you mean sorted?"]),
        ("[privacy]", "late = «\"5 minuts\"\n[privacy]", &["source.late", "did you mean minutes?"]),
        ("[privacy]", "late = «5\n[privacy]", &["a whole number", "a text in quotes"]),
        ("[privacy]", "late = «\"0 moons\"\n[privacy]", &["source.late", "a unit"]),
        ("[privacy]", "bad = { lines = «-1 }\n[privacy]", &["source.bad.lines", "a negative number"]),
        ("every = \"1 month\"", "every = «\"1 us\"", &["release[1].every", "at least a second"]),
        ("every = \"1 month\"", "every = «\"100 years\"", &["at most ten years"]),
        ("every = \"1 month\"", "every = «\"0 days\"", &["zero"]),
        (
            "every = \"1 month\"",
            "every = «\"monthly\"",
            &["\"all\", or a unit: s, m, h, days, weeks, months or years"],
        ),
        ("name = \"reviews\"", "name = «\"Reviews\"", &["job.name", "a-z, 0-9, _ and -"]),
        ("account = \"reviews\"", "account = «\"reviews \"", &["privacy.account"]),
        ("account = \"reviews\"", "account = «\"rev\u{456}ews\"", &["privacy.account"]),
        ("version = 1", "version = «0", &["job.version", "zero"]),
        ("version = 1", "version = «\"1\"", &["job.version", "a text"]),
        ("[job]\nname = \"reviews\"", "«[job]", &["job.name: found nothing"]),
        (
            "from = \"2003-05-01T00:00:00Z\"",
            "from = «\"2003-05-01T00:00:00\"",
            &["job.from", "with its zone"],
        ),
        ("from = \"2003-05-01T00:00:00Z\"", "from = «2003-05-01 00:00:00", &["job.from", "with its zone"]),
        (
            "from = \"2003-05-01T00:00:00Z\"",
            "from = «\"2003-05\"",
            &["job.from", "a date or a moment", "\"2026-11-01\""],
        ),
        (
            "until = \"2008-03-01T00:00:00Z\"",
            "until = \"2008-03-01T00:00:00Z\"\nslack = «\"0s\"",
            &["job.slack", "zero"],
        ),
        (
            "until = \"2008-03-01T00:00:00Z\"",
            "until = \"2008-03-01T00:00:00Z\"\nclock_hold = «\"0s\"",
            &["job.clock_hold", "zero"],
        ),
        (
            "ledger = \"state/reviews.ledger\"",
            "ledger = «\":memory:\"",
            &["privacy.ledger", "the path of a file"],
        ),
        (
            "ledger = \"state/reviews.ledger\"",
            "ledger = «\"mysql://host/db\"",
            &["privacy.ledger", "an address of another kind"],
        ),
        (
            "ledger = \"state/reviews.ledger\"",
            "ledger = «\"postgres://me:hunter2@host/db\"",
            &["privacy.ledger", "an address with a password"],
        ),
    ]);
}
