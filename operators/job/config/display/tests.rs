use super::*;

fn comes_back(job: &Job) {
    let printed = job.to_string();
    assert_eq!(
        &Job::parse("printed.toml", &printed).unwrap_or_else(|wrong| panic!("{wrong}\n{printed}")),
        job,
        "{printed}"
    );
}

#[test]
fn every_config_is_read_as_the_same_job() {
    for entry in std::fs::read_dir("config").unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "toml") {
            comes_back(&Job::open(&path).unwrap());
        }
    }
}

// Refutes a field that is left out, or printed as another one: a job with every possible field, varied.
#[test]
fn every_field_is_written() {
    const ALL: &str = r#"
        [job]
        name = "shop"
        version = 7
        from = "2026-01-01T00:00:00.25Z"
        until = "2026-02-01T00:00:00Z"
        slack = "90s"
        clock_hold = "150s"
        [source]
        type = "jsonl"
        path = "in/*.jsonl"
        time = { field = "a \"quoted\\ field", format = "unix-ms", zone = "Europe/Berlin" }
        order = "sorted"
        late = "5m"
        ahead = "2h"
        bad = { lines = 3 }
        id = { field = "é\u0007\u007f" }
        [privacy]
        person = { field = "who", missing = "reject" }
        promise = "lifetime"
        budget = { epsilon = 1.50, delta = 1e-7, omega = 40 }
        ledger = "shop.ledger"
        account = "shop"
        key = "keys/shop"
        anchor = "out.jsonl"
        [limits]
        memory = "3 MiB"
        spill = "spilled"
        [[release]]
        name = "visits"
        every = "6h"
        over = "48h"
        sum = { of = "price", range = [-0.05, 1e-3], by = "page", keys = ["b", "a\tb"] }
        bound = { keys = 3, windows = 5 }
        noise = "gaussian"
        share = 0.123456789012345678
        [[release]]
        name = "second"
        version = 4294967295
        every = "1 week"
        over = "2 weeks"
        count = { by = "page", keys = "discover" }
        bound = { keys = 3, per_key = 2, windows = 5 }
        noise = "laplace"
        cost = { rho = 1.5e-6, delta = 1e-12 }
    "#;
    let job = |text: &str| Job::parse("shop.toml", text).unwrap_or_else(|wrong| panic!("{wrong}"));
    comes_back(&job(ALL));
    let person = "person = { field = \"who\", missing = \"reject\" }";
    for changes in [
        &[("[\"b\", \"a\\tb\"]", "{ file = \"keys.txt\" }")][..],
        &[("\"reject\"", "\"shared\""), ("\"unix-ms\"", "\"%Y-%m-%d %H:%M:%S\"")],
        &[("late = \"5m\"", "where = 'who != \"x \\\" y\" and price in -1.5..2 or `b c` contains \"\\n\"'")],
        &[("type = \"jsonl\"", "type = \"csv\""), ("in/*.jsonl", "-"), ("\"unix-ms\"", "\"unix\"")],
        &[("type = \"jsonl\"", "type = \"csv\"\ndelimiter = \"\\t\"\nquote = \"\"\ncomment = '\"'")],
        &[
            (
                "type = \"jsonl\"",
                "type = \"csv\"\ndelimiter = \"\\u0001\"\nquote = \"\\\\\"\nheader = ['a \"b', 'who']",
            ),
            ("a \\\"quoted\\\\ field", "who"),
            ("é\\u0007\\u007f", "who"),
            ("by = \"page\"", "by = \"who\""),
            ("of = \"price\"", "of = 'a \"b'"),
        ],
        &[("\"lifetime\"", "\"any 30 days\""), (", windows = 5", "")],
        &[("\"lifetime\"", "\"each 90 minutes\""), (", windows = 5", "")],
        &[
            (person, "unit = \"record\""),
            ("keys = 3, windows = 5", ""),
            ("keys = 3, per_key = 2, windows = 5", ""),
        ],
        &[("key = \"keys/shop\"\n", ""), ("anchor = \"out.jsonl\"\n", ""), ("late = \"5m\"\n", "")],
        &[("\"shop.ledger\"", "\"postgres://shop@localhost/money?ledger=shop\"")],
        &[("cost = { rho = 1.5e-6, delta", "cost = { epsilon = 0.001, delta")],
        &[
            (
                "sum = { of = \"price\", range = [-0.05, 1e-3], by = \"page\", keys = [\"b\", \"a\\tb\"] }",
                "histogram = { of = \"price\", edges = [-1, 0.5, 12345678] }",
            ),
            ("keys = 3, windows", "keys = 1, per_key = 4, windows"),
        ],
        &[("sum = {", "mean = {"), ("keys = 3, windows", "keys = 1, per_key = 4, windows")],
        &[
            (
                "sum = { of = \"price\", range = [-0.05, 1e-3]",
                "ratio = { of = \"price\", range = [-0.05, 1e-3], per = \"other\", per_range = [1, 2.5]",
            ),
            ("keys = 3, windows", "keys = 1, per_key = 4, windows"),
        ],
        &[("sum = {", "variance = {"), ("keys = 3, windows", "keys = 1, per_key = 4, windows")],
        &[(", windows = 5", ""), ("over = \"48h\"", "over = \"48h\"\nrunning = true\nstrategy = \"fresh\"")],
        &[(", windows = 5", ""), ("over = \"48h\"", "strategy = \"square-root\"\nrunning = true")],
        &[(", windows = 5", ""), ("over = \"48h\"", "running = true")],
        &[
            ("sum = { of = \"price\", range = [-0.05, 1e-3], by", "people = { by"),
            ("keys = 3, windows = 5", "keys = 3, entries = 4"),
            (", windows = 5", ""),
            ("over = \"48h\"", "over = \"48h\"\nrunning = true"),
        ],
        &[("sum = { of = \"price\", range = [-0.05, 1e-3]", "max = { of = \"price\", grid = \"log\"")],
        &[("sum = { of = \"price\", range = [-0.05, 1e-3]", "min = { of = \"price\", grid = \"log\"")],
        &[(
            "sum = { of = \"price\", range = [-0.05, 1e-3]",
            "min = { of = \"price\", each = \"least\", grid = [-1, 2.5]",
        )],
        &[
            ("sum = { of = \"price\", range = [-0.05, 1e-3]", "max = { each = \"count\", grid = [-1, 2, 10]"),
            ("noise = \"gaussian\"", "noise = \"laplace\""),
        ],
        &[
            (
                "sum = { of = \"price\", range = [-0.05, 1e-3]",
                "max = { of = \"price\", each = \"sum\", grid = { log = 0.01 }",
            ),
            ("noise = \"gaussian\"", "noise = \"exponential\""),
        ],
        &[(
            "sum = { of = \"price\", range = [-0.05, 1e-3]",
            "max = { of = \"price\", each = \"greatest\", grid = { from = -1, to = 9.5, step = 0.25 }",
        )],
        &[("sum = { of = \"price\", range = [-0.05, 1e-3]", "max = { of = \"price\", grid = \"signed log\"")],
        &[
            (
                "sum = { of = \"price\", range = [-0.05, 1e-3]",
                "quantile = { of = \"price\", q = [0.05, 0.5, 0.999999], range = [-0.05, 1e-3], step = 1e-3",
            ),
            ("noise = \"gaussian\"", "noise = \"exponential\""),
            ("keys = 3, windows", "keys = 3, per_key = 4, windows"),
        ],
        &[
            (
                "sum = { of = \"price\", range = [-0.05, 1e-3]",
                "quantile = { of = \"price\", each = \"sum\", q = 0.5, range = [-0.05, 1e-3]",
            ),
            ("noise = \"gaussian\"", "noise = \"exponential\""),
        ],
        &[
            (
                "sum = { of = \"price\", range = [-0.05, 1e-3], by = \"page\", keys = [\"b\", \"a\\tb\"] }",
                "quantile = { of = \"price\", q = 0.5, range = [0, 12] }",
            ),
            ("noise = \"gaussian\"", "noise = \"exponential\""),
            (
                "keys = 3, windows = 5 }\n        noise = \"exponential\"",
                "per_key = 4, windows = 5 }\n        noise = \"exponential\"",
            ),
        ],
        &[
            (
                "sum = { of = \"price\", range = [-0.05, 1e-3], by = \"page\", keys = [\"b\", \"a\\tb\"] }",
                "quantile = { of = \"price\", q = 0.5, range = [0, 12], step = 0.001 }",
            ),
            ("budget = { epsilon = 1.50, delta = 1e-7, omega = 40 }", "budget = { epsilon = 1.50 }"),
            ("noise = \"gaussian\"", "noise = \"permute-and-flip\""),
            (
                "keys = 3, windows = 5 }\n        noise = \"permute",
                "per_key = 4, windows = 5 }\n        noise = \"permute",
            ),
            ("keys = \"discover\"", "keys = [\"a\"]"),
            ("cost = { rho = 1.5e-6, delta = 1e-12 }", "cost = { epsilon = 1.5e-6 }"),
        ],
    ] {
        let mut text = ALL.to_owned();
        for (from, to) in changes {
            assert!(text.contains(from), "{from}");
            text = text.replace(from, to);
        }
        comes_back(&job(&text));
    }
    let made_up = job(ALL).to_string().replace(
        "type = \"jsonl\"\npath = \"in/*.jsonl\"\n",
        "type = \"synthetic\"\npeople = 5\nrows = 10\nkeys = 2\nskew = 1.25\nseed = 9\n",
    );
    let fields = made_up
        .replace("a \\\"quoted\\\\ field", "time")
        .replace("\"page\"", "\"key\"")
        .replace("\"price\"", "\"value\"")
        .replace("\"who\"", "\"user\"");
    let fields = fields.lines().filter(|line| !line.starts_with("id = ")).collect::<Vec<_>>().join("\n");
    comes_back(&job(&fields));
    let combined = job(ALL)
        .to_string()
        .replace("jsonl\"\npath", "combined\"\npath")
        .replace("a \\\"quoted\\\\ field", "time")
        .replace("\"page\"", "\"path\"")
        .replace("\"price\"", "\"bytes\"")
        .replace("\"who\"", "\"client\"");
    let combined = combined.lines().filter(|line| !line.starts_with("id = ")).collect::<Vec<_>>().join("\n");
    comes_back(&job(&combined));
}
