//! `max` and `quantile`, as job files state them.

use super::*;
use crate::job::config::ConfigNumber;
use crate::job::config::tests::refusals::{BUDGET, COUNT, check};
use crate::job::config::tests::{GOOD, parse};
use crate::job::config::{GroupingSpec, KeysSpec};

const KEYED: &str = "bound = { keys = 3, windows = 12 }";
const WEIGHED: &str = "bound = { per_key = 2, windows = 12 }";

fn max(parts: &str) -> String {
    format!("max = {{ {parts} }}\n{}", KEYED.replace("keys = 3, ", ""))
}

fn quantile(parts: &str) -> String {
    format!("quantile = {{ {parts} }}\n{WEIGHED}")
}

fn statistic(text: &str, noise: &str) -> StatisticSpec {
    let text = GOOD.replace(COUNT, text).replace("\"gaussian\"", noise);
    let job = parse(&text).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    job.releases[0].statistic.clone()
}

fn number(text: &str) -> ConfigNumber {
    ConfigNumber::parse(text).unwrap()
}

// Refutes a statistic that the page of job files does not name in its table.
#[test]
fn every_statistic_is_on_the_page_of_job_files() {
    let page = include_str!("../../../docs/JOBS.md");
    let (_, page) = page.split_once("\n## Statistics\n").unwrap();
    let (table, _) = page.split_once("\n## ").unwrap();
    for word in StatisticSpec::WORDS {
        let is_named = [' ', '`'].iter().any(|after| table.contains(&format!("`{word}{after}")));
        assert!(is_named, "docs/JOBS.md, Statistics: {word} has no row");
    }
}

#[test]
fn the_largest_is_asked_of_one_number_a_person() {
    let asked = |parts: &str| match statistic(&max(parts), "\"laplace\"") {
        StatisticSpec::Max(MaxSpec { each, grid, grouping: None, .. }) => (each, grid),
        other => panic!("{other:?}"),
    };
    let of = || "rating".to_owned();
    assert_eq!(asked("of = \"rating\", grid = \"log\""), (MaximumOf::Greatest(of()), GridSpec::Log(0)));
    let both = (MaximumOf::Greatest(of()), GridSpec::SignedLog);
    assert_eq!(asked("of = \"rating\", each = \"greatest\", grid = \"signed log\""), both);
    assert_eq!(
        asked("of = \"rating\", each = \"sum\", grid = { log = 0.01 }"),
        (MaximumOf::Sum(of()), GridSpec::Log(2))
    );
    assert_eq!(asked("each = \"count\", grid = \"log\""), (MaximumOf::Count, GridSpec::Log(0)));
    assert_eq!(asked("of = \"rating\", grid = { log = 10 }"), (MaximumOf::Greatest(of()), GridSpec::Log(-1)));
    let listed = GridSpec::List(vec![number("-1"), number("2.5"), number("10")]);
    assert_eq!(asked("of = \"rating\", grid = [-1, 2.5, 10]"), (MaximumOf::Greatest(of()), listed));
    let steps = GridSpec::Steps { from: number("0"), to: number("1000"), step: number("0.5") };
    assert_eq!(
        asked("of = \"rating\", each = \"sum\", grid = { from = 0, to = 1000, step = 0.5 }"),
        (MaximumOf::Sum(of()), steps)
    );
    let keyed = statistic(
        &format!(
            "max = {{ of = \"rating\", grid = \"log\", by = \"vendor\", keys = \"discover\" }}\n{KEYED}"
        ),
        "\"gaussian\"",
    );
    let vendors =
        GroupingSpec { by: vec![KeyPart::Field("vendor".into())], keys: KeysSpec::Discover, rollup: false };
    assert_eq!(keyed.grouping(), Some(&vendors));
}

#[test]
fn the_smallest_is_asked_of_one_number_a_person() {
    let asked = |parts: &str| match statistic(&max(parts).replacen("max", "min", 1), "\"laplace\"") {
        StatisticSpec::Min(MinSpec { each, grid, grouping: None, .. }) => (each, grid),
        other => panic!("{other:?}"),
    };
    let least = MaximumOf::Least("rating".to_owned());
    assert_eq!(asked("of = \"rating\", grid = \"log\""), (least.clone(), GridSpec::Log(0)));
    let listed = GridSpec::List(vec![number("-1"), number("2.5")]);
    assert_eq!(asked("of = \"rating\", each = \"least\", grid = [-1, 2.5]"), (least, listed));
    assert_eq!(asked("each = \"count\", grid = \"log\""), (MaximumOf::Count, GridSpec::Log(0)));
    let refused = max("of = \"rating\", each = «\"greatest\", grid = \"log\"").replacen("max", "min", 1);
    check(&[(COUNT, &refused, &["release[1].min.each", "least, sum or count"])]);
}

#[test]
fn quantiles_are_one_or_several() {
    let asked = |parts: &str| match statistic(&quantile(parts), "\"exponential\"") {
        StatisticSpec::Quantile(quantiles @ QuantileSpec { grouping: None, .. }) => quantiles,
        other => panic!("{other:?}"),
    };
    let one = asked("of = \"rating\", q = 0.5, range = [0, 5]");
    let printed: Vec<u32> = one.q.iter().map(|fraction| fraction.millionths()).collect();
    assert_eq!((printed, one.low, one.high, one.step), (vec![500_000], number("0"), number("5"), None));
    let more = asked("of = \"rating\", q = [0.05, 0.5, 0.999999], range = [0, 5], step = 0.25");
    let printed: Vec<u32> = more.q.iter().map(|fraction| fraction.millionths()).collect();
    assert_eq!((printed, more.step), (vec![50_000, 500_000, 999_999], Some(number("0.25"))));
}

#[test]
fn quantiles_are_of_values_or_of_people() {
    let of_people = |parts: &str| format!("quantile = {{ {parts} }}\nbound = {{ windows = 12 }}");
    let asked = |parts: &str| match statistic(&of_people(parts), "\"exponential\"") {
        StatisticSpec::Quantile(quantiles) => quantiles.each,
        other => panic!("{other:?}"),
    };
    let rest = "q = 0.5, range = [0, 5]";
    let (of, rating) = ("of = \"rating\"", || "rating".to_owned());
    let stated = |each: &str| asked(&format!("{of}, each = \"{each}\", {rest}"));
    assert_eq!(stated("sum"), RankedOf::Person(MaximumOf::Sum(rating())));
    assert_eq!(stated("greatest"), RankedOf::Person(MaximumOf::Greatest(rating())));
    assert_eq!(stated("least"), RankedOf::Person(MaximumOf::Least(rating())));
    assert_eq!(asked(&format!("each = \"count\", {rest}")), RankedOf::Person(MaximumOf::Count));
    let values = quantile(&format!("{of}, each = \"value\", {rest}"));
    let values = statistic(&values, "\"exponential\"");
    assert!(matches!(values, StatisticSpec::Quantile(QuantileSpec { each: RankedOf::Values(_), .. })));
    assert_eq!(values, statistic(&quantile(&format!("{of}, {rest}")), "\"exponential\""));
    for (parts, words) in [
        (
            "of = \"rating\", each = «\"smu\", q = 0.5, range = [0, 5]",
            &["release[1].quantile.each", "did you mean sum?"][..],
        ),
        ("of = \"rating\", each = «5, q = 0.5, range = [0, 5]", &["a text in quotes"]),
        (
            "of = «\"rating\", each = \"count\", q = 0.5, range = [0, 5]",
            &["release[1].quantile.of", "a field beside a count", "each = \"value\" or \"greatest\""],
        ),
        ("each = \"count\", q = 0.5, range = [0, «5.5]", &["a part of a record"]),
        ("each = \"count\", q = 0.5, range = [0, 5], step = «0.5", &["quantile.step", "a part of a record"]),
    ] {
        let noised = format!("{COUNT}\nnoise = \"gaussian\"");
        check(&[(&noised, &format!("{}\nnoise = \"exponential\"", of_people(parts)), words)]);
    }
    let noised = format!("{COUNT}\nnoise = \"gaussian\"");
    for (parts, words) in [
        ("«{ q = 0.5, range = [0, 5] }", &["release[1].quantile.of: found nothing"][..]),
        ("«{ each = \"sum\", q = 0.5, range = [0, 5] }", &["release[1].quantile.of: found nothing"]),
    ] {
        let text = format!("quantile = {parts}\nbound = {{ windows = 12 }}\nnoise = \"exponential\"");
        check(&[(&noised, &text, words)]);
    }
    let one = format!("quantile = {{ each = \"count\", {rest} }}\nbound = {{ per_key = «1, windows = 12 }}");
    let words = &["release[1].bound.per_key", "a person is one value"];
    check(&[(&noised, &format!("{one}\nnoise = \"exponential\""), words)]);
    let record = GOOD
        .replace("person = { field = \"who\", missing = \"drop\" }", "unit = \"record\"")
        .replace(&noised, &format!("quantile = {{ each = \"count\", {rest} }}\nnoise = \"exponential\""));
    let refused = parse(&record).unwrap_err().to_string();
    assert!(refused.contains("release[1].quantile.each: found records of a record"), "{refused}");
}

#[test]
fn a_largest_that_cannot_be_read() {
    for (parts, words) in [
        (
            "of = \"rating\", grid = «\"lgo\"",
            &["release[1].max.grid", "\"log\" or \"signed log\", a table such as", "did you mean log?"][..],
        ),
        ("of = \"rating\", grid = «\"linear\"", &["{ from = 0, to = 100, step = 1 }, or a list of answers"]),
        ("of = \"rating\", grid = «5", &["\"log\" or \"signed log\", a table such as { log = 0.01 }"]),
        ("of = \"rating\", each = «\"gretest\", grid = \"log\"", &["did you mean greatest?"]),
        ("of = \"rating\", each = «\"mean\", grid = \"log\"", &["greatest, sum or count"]),
        ("of = «\"rating\", each = \"count\", grid = \"log\"", &["release[1].max.of", "no field, or each"]),
        ("«fo = \"rating\", grid = \"log\"", &["did you mean of?"]),
        ("of = «\"\", grid = \"log\"", &["an empty text"]),
        ("of = \"rating\", grid = { log = «0.02 }", &["release[1].max.grid.log", "no power of ten"]),
        ("of = \"rating\", grid = { log = «0 }", &["no power of ten"]),
        ("of = \"rating\", grid = { log = «-1 }", &["no power of ten"]),
        ("of = \"rating\", grid = { log = «1e-19 }", &["no power of ten"]),
        ("of = \"rating\", grid = { log = 0.01, «step = 1 }", &["an unknown field"]),
        ("of = \"rating\", grid = { from = 0, to = «0, step = 1 }", &["a number above from"]),
        ("of = \"rating\", grid = { from = 0, to = 5, step = «0 }", &["not above 0"]),
        ("of = \"rating\", grid = { from = 0, to = 5, step = «-1 }", &["not above 0"]),
        ("of = \"rating\", grid = { from = 0, to = 5, step = «2 }", &["a whole multiple"]),
        ("of = \"rating\", grid = { from = 0, to = 5, step = «7 }", &["a whole multiple"]),
        ("of = \"rating\", grid = { from = 0, to = 5, step = «1e-18 }", &["2^40 answers", "a larger step"]),
        ("of = \"rating\", grid = { from = 0, to = 5, «stpe = 1 }", &["did you mean step?"]),
        ("of = \"rating\", grid = «[1]", &["2 to 10,000 answers"]),
        ("of = \"rating\", grid = «[2, 1]", &["answers that do not rise"]),
        ("of = \"rating\", grid = [1, «\"2\"]", &["without quotes"]),
        ("of = \"rating\", grid = [0, «1e-19]", &["release[1].max.grid[2]", "18 digits"]),
    ] {
        check(&[(COUNT, &max(parts), words)]);
    }
    check(&[
        (
            COUNT,
            "max = «{ of = \"rating\" }\nbound = { windows = 12 }",
            &["release[1].max.grid: found nothing"],
        ),
        (COUNT, "max = «{ grid = \"log\" }\nbound = { windows = 12 }", &["release[1].max.of: found nothing"]),
        (COUNT, "max = «\"rating\"\nbound = { windows = 12 }", &["a table of grid, of, each, by or keys"]),
    ]);
}

#[test]
fn means_that_cannot_be_read() {
    let two = |parts: &str| {
        format!("means = {{ of = [\"rating\", \"age\"], {parts} }}\nbound = {{ windows = 12 }}")
    };
    for (parts, words) in [
        ("within = «[[0, 5]]", &["release[1].means.within", "one entry for each field"][..]),
        ("within = [[0, 5], «[5, 0]]", &["release[1].means.within[2]", "ends before it starts"]),
        ("within = [[0, 5], «7]", &["release[1].means.within[2]", "a list"]),
        ("over = [1, «0]", &["release[1].means.over[2]", "not above 0"]),
        ("over = [1, «\"2\"]", &["without quotes"]),
        ("found_within = «[[0, 5], [0, 1], [0, 2]]", &["one entry for each field"]),
        ("found_within = [[0, 5], [0, 1]], people = «0", &["release[1].means.people", "zero"]),
        ("within = [[0, 5], [0, 1]], people = «5", &["release[1].means.people", "found_within"]),
        ("within = [[0, 5], [0, 1]], over = «[1, 1]", &["over beside within", "one of within, over"]),
        ("«wihtin = [[0, 5], [0, 1]]", &["did you mean within?"]),
        ("within = [[0, 5], [0, 1]], «range = [0, 5]", &["an unknown field"]),
    ] {
        check(&[(COUNT, &two(parts), words)]);
    }
    let rest = "within = [[0, 1]] }\nbound = { windows = 12 }";
    check(&[
        (COUNT, "means = «{ of = [\"rating\"] }\nbound = { windows = 12 }", &["no bound of the values"]),
        (COUNT, &format!("means = {{ of = «[], {rest}"), &["1 to 32 fields"]),
        (COUNT, &format!("means = {{ of = «\"rating\", {rest}"), &["release[1].means.of", "a list"]),
        (
            COUNT,
            &format!("means = {{ of = [\"a\", «\"a\"], {rest}"),
            &["release[1].means.of[2]", "field 1 again"],
        ),
        (
            COUNT,
            "means = { of = [\"rating\"], found_within = [[0, 1]], by = \"age\", keys = «\"discover\" }\nbound = { keys = 1, per_key = 1, windows = 12 }",
            &["release[1].means.keys", "ranges are found for keys that are known"],
        ),
    ]);
}

#[test]
fn quantiles_that_cannot_be_read() {
    let with = |parts: &str| format!("of = \"rating\", {parts}");
    for (parts, words) in [
        ("q = «0, range = [0, 5]", &["release[1].quantile.q", "zero", "between 0 and 1"][..]),
        ("q = «1, range = [0, 5]", &["too large"]),
        ("q = «50, range = [0, 5]", &["too large"]),
        ("q = «-0.5, range = [0, 5]", &["a negative number"]),
        ("q = «0.1234567, range = [0, 5]", &["at most 6 digits"]),
        ("q = «\"0.5\", range = [0, 5]", &["without quotes"]),
        ("q = «[], range = [0, 5]", &["1 to 100 quantiles"]),
        ("q = [0.5, «0.5], range = [0, 5]", &["release[1].quantile.q[2]", "each quantile once, rising"]),
        ("q = [0.5, «0.25], range = [0, 5]", &["rising"]),
        ("q = [0.5, «nan], range = [0, 5]", &["NaN"]),
        ("q = 0.5, range = «[5, 0]", &["ends before it starts"]),
        ("q = 0.5, range = [0, 5], step = «0", &["not above 0"]),
        ("q = 0.5, range = [0, 5], step = «0.3", &["a whole multiple"]),
        ("q = 0.5, range = [0, 5], step = «1e-18", &["2^40"]),
        ("q = 0.5, range = [0, 5], «setp = 1", &["did you mean step?"]),
        ("q = 0.5, range = [0, «0.0000000000000000003], step = 1e-19", &["18 digits"]),
    ] {
        let text = quantile(&with(parts)).replace(WEIGHED, &format!("{WEIGHED}\nnoise = \"exponential\"\n#"));
        check(&[(&format!("{COUNT}\nnoise = \"gaussian\""), &text, words)]);
    }
}

#[test]
fn what_does_not_go_with_ranks() {
    let median = "quantile = { of = \"rating\", q = 0.5, range = [0, 5], step = 0.5 }";
    let noised = format!("{COUNT}\nnoise = \"gaussian\"");
    let flip = |bound: &str| format!("{median}\nbound = {{ {bound} }}\nnoise = «\"permute-and-flip\"");
    check(&[
        (
            COUNT,
            "max = { each = \"count\", grid = \"log\" }\nbound = { per_key = «1, windows = 12 }",
            &["release[1].bound.per_key", "a person is one value"],
        ),
        (
            COUNT,
            "max = { each = \"count\", grid = «{ log = 10 } }\nbound = { windows = 12 }",
            &["release[1].max.grid", "one by one"],
        ),
        (
            COUNT,
            "max = { each = \"count\", grid = { from = 0, to = 9, step = «0.5 } }\nbound = { windows = 12 }",
            &["release[1].max.grid.step", "a part of a record"],
        ),
        (
            COUNT,
            "max = { each = \"count\", grid = [1, «2.5] }\nbound = { windows = 12 }",
            &["release[1].max.grid[2]", "a part of a record"],
        ),
        (
            COUNT,
            "max = { each = \"count\", grid = \"log\", by = \"vendor\", keys = [\"a\"] }\nbound = «{ windows = 12 }",
            &["no bound of keys"],
        ),
        (
            &noised,
            &format!("{median}\nbound = «{{ windows = 12 }}\nnoise = \"exponential\""),
            &["no bound of per_key"],
        ),
        (
            &noised,
            &format!("{median}\n{WEIGHED}\nnoise = «\"gaussian\""),
            &["release[1].noise", "which quantile does not have", "exponential or permute-and-flip"],
        ),
        (
            &noised,
            &format!("{COUNT}\nnoise = «\"exponential\""),
            &["exponential noise, which count does not have; give gaussian or laplace"],
        ),
        (
            &noised,
            "max = { each = \"count\", grid = \"log\" }\nbound = { windows = 12 }\nnoise = «\"permute-and-flip\"",
            &["gaussian, laplace or exponential"],
        ),
        (
            &noised,
            "max = { each = \"count\", grid = \"log\" }\nbound = { windows = 12 }\nnoise = «\"expnential\"",
            &["gaussian, laplace or exponential", "did you mean exponential?"],
        ),
        (
            &noised,
            &flip("per_key = 2, windows = 12"),
            &["a budget that is not pure", "a budget of epsilon alone"],
        ),
    ]);
    // A pure budget accepts it: with a step, and not many answers.
    let pure = |parts: &str| {
        let text = flip("per_key = 2, windows = 12").replace('«', "").replace("step = 0.5", parts);
        parse(&GOOD.replace(&noised, &text).replace(BUDGET, "{ epsilon = 1 }"))
            .map(|_| ())
            .map_err(|mistakes| mistakes.to_string())
    };
    assert_eq!(pure("step = 0.5"), Ok(()));
    assert_eq!(pure("step = 0.0001"), Ok(()));
    let fine = pure("step = 0.00005").unwrap_err();
    assert!(fine.contains("quantile.step: found more than 65,536 answers"), "{fine}");
    let none = pure("by = \"vendor\", keys = [\"a\"]").unwrap_err();
    assert!(none.contains("quantile: found permute-and-flip without a step"), "{none}");
    // One record is the only record of its unit.
    let record = GOOD
        .replace("person = { field = \"who\", missing = \"drop\" }", "unit = \"record\"")
        .replace(COUNT, "max = { each = \"count\", grid = \"log\" }");
    let refused = parse(&record).unwrap_err().to_string();
    assert!(refused.contains("release[1].max.each: found records of a record"), "{refused}");
    assert!(parse(&record.replace("each = \"count\"", "of = \"rating\"")).is_ok());
    let refused = parse(&record.replace("max = {", "min = {")).unwrap_err().to_string();
    assert!(refused.contains("release[1].min.each") && refused.contains("each = \"least\""), "{refused}");
    // A misspelt field of a combined log is reported, with the nearest name.
    let combined = GOOD
        .replace("\"csv\"", "\"combined\"")
        .replace("time = { field = \"date\", format = \"%Y-%m-%d\" }\n", "")
        .replace("\"who\"", "\"client\"")
        .replace(COUNT, "max = { of = \"bytse\", grid = \"log\" }\nbound = { windows = 12 }");
    let refused = parse(&combined).unwrap_err().to_string();
    assert!(refused.contains("release[1].max.of") && refused.contains("did you mean bytes?"), "{refused}");
}

#[test]
fn points_are_counted_exactly() {
    let points =
        |from: &str, to: &str, step: &str| GridSpec::answer_count(number(from), number(to), number(step));
    assert_eq!(points("0", "5", "0.5"), Some(11));
    assert_eq!(points("-0.3", "0.3", "0.1"), Some(7));
    assert_eq!(points("0", "1", "0.3"), None);
    assert_eq!(points("0", "1", "0"), None);
    assert_eq!(points("0", "9007199254740992", "1e-30"), None);
}

// Refutes a roll-up that is ignored, one of what is no sum over records and keys, and one whose refusal does not say what to do.
#[test]
fn what_cannot_be_rolled_up() {
    let by = "by = [\"vendor\", \"age\"], keys = \"discover\"";
    let with = |statistic: &str| format!("{statistic}\nbound = {{ keys = 3, per_key = 1, windows = 12 }}");
    let of = "of = \"rating\", range = [0, 5]";
    for statistic in [
        format!("count = {{ {by}, rollup = true }}"),
        format!("sum = {{ {of}, {by}, rollup = true }}"),
        format!("mean = {{ {of}, {by}, rollup = true }}"),
        format!("variance = {{ {of}, {by}, rollup = true }}"),
        format!("ratio = {{ {of}, per = \"age\", per_range = [1, 9], {by}, rollup = true }}"),
    ] {
        let text = with(&statistic)
            .replace("per_key = 1, ", if statistic.starts_with("sum") { "" } else { "per_key = 1, " });
        let job =
            parse(&GOOD.replace(COUNT, &text)).unwrap_or_else(|mistakes| panic!("{statistic}: {mistakes}"));
        assert!(job.releases[0].statistic.grouping().unwrap().rollup, "{statistic}");
        assert!(job.to_string().contains("rollup = true"), "{job}");
        let not = GOOD.replace(COUNT, &text.replace("rollup = true", "rollup = false"));
        let job = parse(&not).unwrap();
        assert!(!job.releases[0].statistic.grouping().unwrap().rollup);
        assert!(!job.to_string().contains("rollup"), "{job}");
    }
    let count = |parts: &str| with(&format!("count = {{ {parts} }}"));
    let people = format!("people = {{ {by}, rollup = «true }}\nbound = {{ keys = 3, windows = 12 }}");
    let max = format!("max = {{ {by}, of = \"rating\", grid = \"log\", rollup = «true }}\n{KEYED}");
    let median =
        format!("quantile = {{ of = \"rating\", q = 0.5, range = [0, 5], {by}, rollup = «true }}\n{KEYED}");
    let running =
        format!("running = true\ncount = {{ {by}, rollup = «true }}\nbound = {{ keys = 3, per_key = 1 }}");
    check(&[
        (
            COUNT,
            &count("by = \"vendor\", keys = \"discover\", rollup = «true"),
            &["release[1].count.rollup", "keys of one part", "by with several fields"],
        ),
        (COUNT, &count("by = [\"vendor\"], keys = [\"a\"], rollup = «true"), &["keys of one part"]),
        (
            COUNT,
            "count = { rollup = «true }\nbound = { per_key = 1, windows = 12 }",
            &["without keys", "by with several fields"],
        ),
        (COUNT, &count(&format!("{by}, rollup = «\"yes\"")), &["release[1].count.rollup", "true or false"]),
        (
            COUNT,
            &people,
            &[
                "release[1].people.rollup",
                "a roll-up of people",
                "another release of people, by the fields above",
            ],
        ),
        (COUNT, &max, &["release[1].max.rollup", "the max of a parent is no sum over its keys"]),
        (COUNT, &median, &["release[1].quantile.rollup", "another release, by the fields above"]),
        (
            COUNT,
            "histogram = { of = \"rating\", edges = [1], rollup = «true }\nbound = { keys = 1, windows = 12 }",
            &["release[1].histogram.rollup", "the last one has edges"],
        ),
        (
            COUNT,
            &running,
            &[
                "release[1].count.rollup",
                "a roll-up of running totals",
                "another running release by the fields above",
            ],
        ),
    ]);
}
