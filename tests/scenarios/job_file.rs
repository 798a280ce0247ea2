//! The job file of a row.

use jiff::Timestamp;

use crate::kit::job::{JobText, inline, quoted};
use crate::kit::lines::ANSWERS;
use crate::kit::log::PATTERN;
use crate::row::{BESIDE, KEYS, LEFT_OUT, Row};

/// Writes the job file of a row whose windows have these ends.
pub(crate) fn job(row: &Row, ends: &[i64]) -> JobText {
    let mut job = JobText::default();
    let moment = |time: i64| Timestamp::from_microsecond(time).unwrap().to_string();
    let others = row.is("others", &["all"]);
    job.text("job.name", "scenario").set("job.version", "1");
    if row.is("horizon", &["stated"]) {
        job.text("job.from", &moment(ends[0])).text("job.until", &moment(ends[ends.len() - 1]));
    }
    if others {
        job.text("job.slack", "100ms").text("job.clock_hold", "2m").text("source.ahead", "2 days");
    }
    source(&mut job, row);
    let [_, user, ..] = row.fields();
    match row.value("unit") {
        "record" => job.text("privacy.unit", "record"),
        missing => job.set("privacy.person", format!("{{ field = \"{user}\", missing = \"{missing}\" }}")),
    };
    let promise = match row.value("promise") {
        "any" => "any 30 days",
        "each" => "each day",
        lifetime => lifetime,
    };
    job.text("privacy.promise", promise);
    let budget = match row.value("budget") {
        "epsilon delta" => "{ epsilon = 300, delta = 1e-6 }",
        "epsilon delta keys" => "{ epsilon = 300, delta = 1e-6, delta_for_keys = 2e-7 }",
        "epsilon delta omega" => "{ epsilon = 300, delta = 1e-6, omega = 1000 }",
        "epsilon" => "{ epsilon = 300 }",
        "rho" => "{ rho = 200 }",
        _ => "{ rho = 200, omega = 1000 }",
    };
    if !row.is("accounting", &["no"]) {
        job.text("privacy.accounting", row.value("accounting"));
    }
    job.set("privacy.budget", budget).text("privacy.ledger", "job.ledger").text("privacy.account", "visits");
    if others {
        job.text("privacy.key", "a.key")
            .text("privacy.anchor", "anchor")
            .text("limits.memory", "8 GB")
            .text("limits.spill", ".");
        job.text("watch.listen", "127.0.0.1:0").set("watch.operator", "true").set("watch.budget", "[0.5, 1]");
        job.text("watch.token.file", "a.token").set("watch.exec", "[\"true\"]");
    }
    if let Some((format, level)) = row.value("log").split_once(' ') {
        job.text("log.format", format).text("log.level", level);
    }
    release(&mut job, row);
    beside(&mut job, row);
    if !row.is("asked", &["no"]) {
        asked(&mut job, row);
    }
    job
}

/// The questions of analysts.
fn asked(job: &mut JobText, row: &Row) {
    let [_, _, key, value] = row.fields();
    let key = if row.is("by", &["derived", "several"]) { "word" } else { key };
    let shares = row.is("asked", &["share"]);
    job.text("ask.name", ANSWERS).text("ask.every", every(row).0);
    if row.is("others", &["all"]) {
        job.set("ask.version", "3");
    }
    let number = if shares { "whole" } else { "2 digits" };
    job.set("ask.fields", format!("{{ \"{key}\" = \"text\", \"{value}\" = \"{number}\" }}"));
    let many = if row.is("bound", &["wide"]) { "300" } else { "1" };
    if !row.is("unit", &["record"]) {
        job.set("ask.bound", format!("{{ per_key = {many} }}"));
    }
    // The shape of the noise of few answers takes seconds to find.
    job.set("ask.answers", "1000").text("ask.questions", "questions.jsonl");
    match shares {
        true => job.set("ask.share", "0.05"),
        false => job
            .set("ask.analysts", "{ ann = 600, ben = 400 }")
            .set("ask.cost", "{ epsilon = 1, delta = 1e-8 }"),
    };
    // They are asked at the address of the watch.
    if !shares && row.is("others", &["all"]) {
        job.set("ask.tokens", "{ ann = \"an.token\" }");
    }
}

/// The other releases: their windows are those of one step, and each has a low cost.
fn beside(job: &mut JobText, row: &Row) {
    let [_, _, _, value] = row.fields();
    let is_pure = row.is("budget", &["epsilon"]);
    let every = every(row).0;
    for name in row.beside() {
        let cost = if is_pure { "{ epsilon = 0.5 }" } else { "{ rho = 0.2 }" };
        if *name == BESIDE {
            let noise = if is_pure { "laplace" } else { "gaussian" };
            job.text("second.name", name).text("second.every", every).set("second.people", "{}");
            // One account has one number of windows.
            let bound = inline(&[("windows", windows(row))]);
            job.set("second.bound", bound).text("second.noise", noise).set("second.cost", cost);
        } else {
            let quantile = format!("{{ of = \"{value}\", q = 0.5, range = [0, 50], step = 1 }}");
            let most = if row.is("unit", &["record"]) { "1" } else { "300" }.to_owned();
            job.text("third.name", name).text("third.every", every).set("third.quantile", quantile);
            job.set("third.bound", inline(&[("per_key", Some(most)), ("windows", windows(row))]));
            job.text("third.noise", "exponential").set("third.cost", cost);
        }
    }
}

/// The bound on the windows of a person, if there is one.
fn windows(row: &Row) -> Option<String> {
    row.is("windows", &["some"]).then(|| "3".to_owned())
}

/// The step of the windows, and two steps.
fn every(row: &Row) -> (&'static str, &'static str) {
    match row.value("every") {
        "second" => ("1 second", "2 seconds"),
        "hour" => ("1 hour", "2 hours"),
        "day" => ("1 day", "2 days"),
        "week" => ("1 week from Monday", "2 weeks"),
        "month" => ("1 month", "2 months"),
        all => (all, "all"),
    }
}

fn source(job: &mut JobText, row: &Row) {
    let [id, ..] = row.fields();
    let kind = row.value("source");
    job.text("source.type", kind);
    if kind == "synthetic" {
        job.set("source.people", "40").set("source.rows", "400").set("source.keys", "4");
        if row.is("others", &["all"]) {
            job.set("source.skew", "0.5").set("source.seed", "3");
        }
    } else {
        let path = match row.value("place") {
            "stdin" => "-",
            "glob" => "log-*.txt",
            "from" => "absent.txt",
            "spool" => "spool",
            "gz" => "log.txt.gz",
            "bz2" => "log.txt.bz2",
            "zst" => "log.txt.zst",
            _ => "log.txt",
        };
        job.text("source.path", path);
        if path == "spool" {
            job.text("source.http.listen", "127.0.0.1:0").text("source.http.token.file", "a.token");
            job.text("source.http.batch", "2 MB").text("source.http.hold", "2 GB");
        }
    }
    let zone = |wanted: &str| row.is("zone", &[wanted]).then(|| quoted("Europe/Berlin"));
    let format = match row.value("format") {
        "no" => None,
        "pattern" => Some(PATTERN),
        format => Some(format),
    };
    let time =
        [("field", format.map(|_| quoted("time"))), ("format", format.map(quoted)), ("zone", zone("time"))];
    if time.iter().any(|(_, value)| value.is_some()) {
        job.set("source.time", inline(&time));
    }
    if let Some(zone) = zone("source") {
        job.set("source.zone", zone);
    }
    for option in ["order", "late"] {
        if !row.is(option, &["no"]) {
            job.text(if option == "order" { "source.order" } else { "source.late" }, row.value(option));
        }
    }
    match row.value("separated") {
        "marks" => {
            job.text("source.delimiter", "\\t").text("source.quote", "'").text("source.comment", "#");
        }
        "names" => {
            job.text("source.delimiter", ";").text("source.quote", "");
            job.set("source.header", "[\"id\", \"user\", \"key\", \"value\", \"time\"]");
        }
        _ => {}
    }
    let [_, _, key, _] = row.fields();
    if row.is("where", &["key", "release"]) {
        let field = if row.is("where", &["key"]) { "source.where" } else { "release.where" };
        job.set(field, format!("'{key} != \"{LEFT_OUT}\" or {key} contains \"no key has it\"'"));
    }
    if row.is("by", &["derived", "several"]) {
        job.set("fields.word", format!("'lower of {key} otherwise \"-\"'"));
        job.text("fields.one", "2 / 2");
        job.set("tables.words", "{ file = \"words.csv\", by = \"word\" }");
    }
    if row.is("fields", &["declared"]) {
        let [id, user, key, value] = row.fields();
        let names = [id, user, key, value, "time"];
        job.set("source.fields", format!("[{}]", names.map(quoted).join(", ")));
    }
    if row.is("explode", &["first"]) {
        job.set("source.explode", "{ array = \"items\", most = 1 }");
    }
    if row.is("bad", &["some"]) {
        job.set("source.bad", "{ lines = 2 }");
    }
    if row.is("id", &["field"]) {
        job.set("source.id", format!("{{ field = \"{id}\" }}"));
    }
}

/// Returns true if the release counts records where it states no number.
fn is_of_records(form: &str) -> bool {
    ["1", "3"].contains(&form)
}

fn release(job: &mut JobText, row: &Row) {
    let [_, _, key, value] = row.fields();
    let (statistic, form) = (row.value("statistic"), row.value("form"));
    job.text("release.name", "visits");
    if row.is("others", &["all"]) {
        job.set("release.version", "2");
    }
    let two = row.is("over", &["two"]);
    let (every, over) = every(row);
    job.text("release.every", every);
    if two {
        job.text("release.over", over);
    }
    match row.value("running") {
        "no" => {}
        "false" => drop(job.set("release.running", "false")),
        strategy => {
            job.set("release.running", "true");
            if strategy != "best" {
                job.text("release.strategy", strategy);
            }
        }
    }
    let by = (!row.is("keys", &["no"])).then(|| match row.value("by") {
        "derived" => quoted("word"),
        "several" => {
            "[\"word\", { of = \"words.place\", depth = 1 }, { of = \"one\", edges = [0] }]".to_owned()
        }
        _ => quoted(key),
    });
    let listed = match row.is("by", &["several"]) {
        true => KEYS.map(|key| format!("[{}, \"/all\", \"[0, inf)\"]", quoted(key))).join(", "),
        false => KEYS.map(quoted).join(", "),
    };
    let keys = match row.value("keys") {
        "no" => None,
        "listed" => Some(format!("[{listed}]")),
        "file" => Some("{ file = \"keys.txt\" }".to_owned()),
        _ => Some("\"discover\"".to_owned()),
    };
    let of = Some(quoted(value));
    let range = |range: &str| Some(range.to_owned());
    let each = match statistic {
        "max" => "greatest",
        "min" => "least",
        _ => "sum",
    };
    let own = match (statistic, form) {
        ("count" | "people", _) => vec![],
        ("sum" | "mean" | "variance", "0" | "1" | "2") => vec![("of", of), ("range", range("[0, 10000]"))],
        ("sum" | "mean" | "variance", _) => vec![("of", of), ("range", range("[-10000, 10000]"))],
        ("ratio", form) => {
            let ranges = match form {
                "0" | "1" => ["[0, 10000]", "[1, 10000]"],
                "2" => ["[-10000, 10000]", "[0, 10000]"],
                _ => ["[0, 10000]", "[-10000, 10000]"],
            };
            let [upper, lower] = ranges.map(range);
            vec![("of", of.clone()), ("range", upper), ("per", of), ("per_range", lower)]
        }
        ("means", form) => {
            let of = of.map(|of| format!("[{of}]"));
            match form {
                "1" => vec![("of", of), ("over", range("[10000]"))],
                "2" => vec![("of", of), ("found_within", range("[[0, 10000]]"))],
                "3" => vec![("of", of), ("found_within", range("[[-9, 10000]]")), ("people", range("500"))],
                "4" => vec![("of", of), ("stable", range("[[0, 10000]]")), ("people", range("16000000"))],
                _ => vec![("of", of), ("within", range("[[0, 10000]]"))],
            }
        }
        ("histogram", _) => vec![("of", of), ("edges", Some("[10, 20, 30]".to_owned()))],
        ("max" | "min" | "altogether", "0") => vec![("of", of), ("grid", Some(quoted("log")))],
        ("max" | "min" | "altogether", "1") => {
            vec![("of", of), ("each", Some(quoted("sum"))), ("grid", Some(quoted("signed log")))]
        }
        ("max" | "min" | "altogether", "2") => {
            vec![("each", Some(quoted("count"))), ("grid", Some("{ log = 1 }".to_owned()))]
        }
        ("max" | "min" | "altogether", "3") => vec![
            ("of", of),
            ("each", Some(quoted(each))),
            ("grid", Some("{ from = 0, to = 100, step = 1 }".to_owned())),
        ],
        ("max" | "min" | "altogether", _) => {
            vec![("of", of), ("each", Some(quoted("sum"))), ("grid", Some("[0, 5, 10, 100]".to_owned()))]
        }
        ("quantile", "0") => {
            vec![("of", of), ("q", Some("0.5".to_owned())), ("range", range("[0, 50]"))]
        }
        ("quantile", _) => {
            let each = match form {
                "1" => "value",
                "2" if row.is("bound", &["wide"]) => "greatest",
                "2" => "least",
                "3" => "sum",
                _ => "count",
            };
            vec![
                ("of", of.filter(|_| each != "count")),
                ("each", Some(quoted(each))),
                ("q", Some("[0.25, 0.75]".to_owned())),
                ("range", range("[0, 50]")),
                ("step", Some("1".to_owned())),
            ]
        }
        // No alert has its last alarm in these windows: behind it there are no lines.
        ("alert", form) => {
            let [count, above, alarms] = match form {
                "0" => ["people", "1000", "1"],
                "1" => ["records", "0", "1000"],
                "2" => ["people", "3", "100"],
                "3" => ["records", "20", "100"],
                _ => ["people", "0", "1000"],
            };
            let windows = (form == "3" || row.is("horizon", &["no"])).then(|| "1000".to_owned());
            vec![
                ("count", Some(quoted(count))),
                ("above", Some(above.to_owned())),
                ("alarms", Some(alarms.to_owned())),
                ("pause", (form == "2").then(|| "1".to_owned())),
                ("wrong", (form == "1").then(|| "0.2".to_owned())),
                ("windows", windows),
            ]
        }
        ("top", form) => {
            let [count, k] = if is_of_records(form) { ["records", "4"] } else { ["people", "2"] };
            vec![("count", Some(quoted(count))), ("k", Some(k.to_owned()))]
        }
        ("marginals", form) => {
            let own = if row.is("by", &["derived", "several"]) { "word" } else { key };
            let tables = match row.is("by", &["several"]) {
                true => format!("[[{0}, \"words.place\"], [\"one\"], []]", quoted(own)),
                false => format!("[[{}], []]", quoted(own)),
            };
            let of_field = match row.value("keys") {
                "file" => "{ file = \"categories.txt\" }".to_owned(),
                "discover" => "\"discover\"".to_owned(),
                _ => format!("[{}, \"other\"]", KEYS.map(quoted).join(", ")),
            };
            let place =
                if row.is("by", &["several"]) { ", \"words.place\" = [\"/all\", \"other\"]" } else { "" };
            let count = if is_of_records(form) { "records" } else { "people" };
            vec![
                ("count", Some(quoted(count))),
                ("tables", Some(tables)),
                ("categories", Some(format!("{{ {} = {of_field}{place} }}", quoted(own)))),
            ]
        }
        other => panic!("{other:?} has no fields here"),
    };
    let rollup = row.is("rollup", &["yes"]).then(|| "true".to_owned());
    let keys = keys.filter(|_| statistic != "marginals");
    let table = inline(&[own, vec![("by", by), ("keys", keys), ("rollup", rollup)]].concat());
    job.set(&format!("release.{statistic}"), table);
    // If the unit is the record, it counts once; of a person count all records, or one of each key.
    // Ranges are found for many people of a wide bound.
    let finds = statistic == "means" && ["2", "3", "4"].contains(&form);
    let many = row.is("bound", &["wide"]) && !row.is("unit", &["record"]) && !finds;
    let keyed = statistic == "histogram" || !row.is("keys", &["no"]);
    // Of a person there is one value.
    let is_of_people = statistic == "quantile" && ["2", "3", "4"].contains(&form)
        || ["alert", "top", "marginals"].contains(&statistic) && !is_of_records(form);
    let most = |number: &str| Some(if many { number.to_owned() } else { "1".to_owned() });
    // Noise of totals of squares is drawn up to a deviation, which more records would need more than.
    let per_key = if statistic == "variance" && row.runs() { "30" } else { "300" };
    let in_part = row.is("weight", &["some"]);
    let bound = [
        // Above a weight.
        (
            "keys",
            match (keyed, in_part) {
                _ if ["alert", "top"].contains(&statistic) => None,
                (false, _) => None,
                (true, false) => most("8"),
                (true, true) => Some(if many { "8" } else { "2" }.to_owned()),
            },
        ),
        (
            "per_key",
            if ["people", "max", "min", "altogether"].contains(&statistic) || is_of_people {
                None
            } else {
                most(per_key)
            },
        ),
        ("windows", windows(row)),
        ("entries", if row.is("entries", &["some"]) { most("300") } else { None }),
        ("weight", in_part.then(|| if many { "3" } else { "1" }.to_owned())),
    ];
    job.set("release.bound", inline(&bound));
    job.text("release.noise", row.value("noise"));
    if row.is("least people", &["2"]) {
        job.set("release.least_people", "2".to_owned());
    }
    let has_delta = row.is("keys", &["discover"]) || (statistic == "means" && form == "4");
    let delta = has_delta.then(|| "1e-8".to_owned());
    match row.value("price") {
        // Questions with a cost take some of the delta for keys.
        "share" if row.is("asked", &["cost"]) => job.set("release.share", "0.8"),
        "share" => job.set("release.share", "0.9"),
        price => job.set("release.cost", inline(&[(price, Some("1.5".to_owned())), ("delta", delta)])),
    };
}
