use super::cell::percent;
use super::*;
use crate::accounting::{PrivacyCost, ReleaseCost};

const WINDOW: &str = r#""window":{"start":"2026-01-01T09:00:00Z","end":"2026-01-01T10:00:00Z"}"#;

fn explained(rest: &str) -> String {
    let line = format!("{{\"release\":\"visits\",{WINDOW},{rest}}}");
    // The places at which a page breaks its lines are of no interest here.
    let page = Explanation::of(&line, None).unwrap_or_else(|error| panic!("{error}: {line}")).to_string();
    page.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A cell with this key and these numbers, and this noise.
fn cell(before: &str, noise: &str) -> String {
    explained(&format!(
        r#"{before},"confidence":0.95,"noise":{noise},"id":"5f","promise":"lifetime, a person, rho 0.01""#
    ))
}

const GAUSSIAN: &str = r#"{"kind":"gaussian","scale":10.9}"#;

// Refutes a promise that is explained as another one: each that a line can have is read back.
#[test]
fn the_promise_of_a_line_is_the_one_that_was_written() {
    let people = Adjacency::PERSON;
    let records = Adjacency { unit: PrivacyUnit::Record, relation: Relation::Replace };
    for promise in [
        Promise::Lifetime,
        Promise::Windows(12),
        Promise::Any(30 * 86_400_000_000),
        Promise::Each(86_400_000_000),
        Promise::Each(1),
        Promise::Any(90 * 60_000_000),
    ] {
        for adjacency in [people, records] {
            for amount in [
                PrivacyCost::zcdp(0.25).unwrap(),
                PrivacyCost::approximate(1.0, 1e-6).unwrap(),
                PrivacyCost::pure(0.5).unwrap(),
            ] {
                let brief = promise.briefly(&ReleaseCost::new(adjacency, amount.clone()), in_words);
                let (read, of, cost) = read_promise(&brief).unwrap_or_else(|| panic!("{brief}"));
                assert_eq!((read, of), (promise, adjacency), "{brief}");
                assert!(cost.starts_with(&amount.to_string()), "{brief}: {cost}");
            }
        }
    }
    for damaged in ["", "lifetime", "lifetime, a person", "lifetime, a person, ", "ever, a person, rho 1"] {
        assert!(read_promise(damaged).is_none(), "{damaged}");
    }
    for damaged in
        ["each 0 days, a person, rho 1", "lifetime in x windows, a person, rho 1", "any, a person, rho 1"]
    {
        assert!(read_promise(damaged).is_none(), "{damaged}");
    }
}

#[test]
fn each_number_is_named_by_its_line() {
    let plain = r#""value":12,"interval":[10,14]"#;
    for (before, noise, words) in [
        (plain.to_owned(), GAUSSIAN, "The number is 12."),
        (format!("\"key\":\"a\\u001b\",{plain}"), GAUSSIAN, "The number for the key \"a\\u{1b}\" is 12."),
        (format!("\"key\":7,{plain}"), GAUSSIAN, "The number for the key 7 is 12."),
        (
            format!("\"key\":\"[10, 20)\",{plain}"),
            GAUSSIAN,
            "The number for values from 10 on and below 20 is 12.",
        ),
        (format!("\"key\":\"[20, inf)\",{plain}"), GAUSSIAN, "The number for values from 20 on is 12."),
        (format!("\"key\":\"(-inf, -1.5)\",{plain}"), GAUSSIAN, "The number for values below -1.5 is 12."),
        (format!("\"key\":\"[a, b)\",{plain}"), GAUSSIAN, "The number for the key \"[a, b)\" is 12."),
        (
            format!("\"key\":[\"GET\",\"200\"],{plain}"),
            GAUSSIAN,
            "The number for the key \"GET\" and \"200\" is 12.",
        ),
        (
            format!("\"key\":[\"GET\"],\"rollup\":true,{plain}"),
            GAUSSIAN,
            "The number for the keys that begin with \"GET\" is 12. It has all keys that begin so if keys are discovered, and those of the list",
        ),
        (format!("\"of\":\"price\",{plain}"), GAUSSIAN, "The mean of \"price\" is 12."),
        (format!("\"of\":2,{plain}"), GAUSSIAN, "The mean of coordinate 2 is 12."),
        (
            format!("{plain},\"total\":\"so far\""),
            GAUSSIAN,
            "The number in all windows up to this one is 12.",
        ),
        (
            format!("{plain},\"total\":\"last 7\""),
            GAUSSIAN,
            "The number in the last 7 windows up to this one is 12.",
        ),
        (
            plain.to_owned(),
            r#"[{"number":"sum","kind":"laplace","scale":7},{"number":"records","kind":"laplace","scale":3}]"#,
            "The mean is 12.",
        ),
        (
            plain.to_owned(),
            r#"[{"number":"sum","kind":"laplace","scale":7},{"number":"squares","kind":"laplace","scale":9},{"number":"records","kind":"laplace","scale":3}]"#,
            "The variance is 12.",
        ),
        (
            plain.to_owned(),
            r#"[{"number":"sum","kind":"laplace","scale":7},{"number":"per","kind":"laplace","scale":3}]"#,
            "The ratio is 12.",
        ),
        (
            format!("\"q\":0.5,{plain}"),
            r#"{"kind":"exponential","scale":4.0,"rank_error":38}"#,
            "The quantile 0.5 is 12.",
        ),
        (
            plain.to_owned(),
            r#"{"kind":"gaussian","scale":9.0,"comparisons":10,"tau":33}"#,
            "The value that was approached from below is 12.",
        ),
        (
            r#""value":12,"interval":[null,14]"#.to_owned(),
            r#"{"kind":"gaussian","scale":9.0,"comparisons":10,"tau":33}"#,
            "The value that was approached from above is 12.",
        ),
        (
            r#""value":12,"interval":[null,14],"insufficient":true"#.to_owned(),
            r#"{"kind":"gaussian","scale":9.0,"comparisons":10,"tau":33}"#,
            "There were too few people for a full answer: this is the largest possible one.",
        ),
        (
            r#""value":null,"interval":[null,null]"#.to_owned(),
            GAUSSIAN,
            "The number has no value: it is no finite number.",
        ),
    ] {
        let page = cell(&before, noise);
        assert!(page.contains(words), "{words}\n{page}");
    }
}

#[test]
fn each_interval_says_what_is_sure() {
    for (before, words) in [
        (
            r#""value":12,"interval":[10,14]"#,
            "The exact number is between 10 and 14 with probability at least 95%, over the noise, for this number by itself. No contribution bound and no range leaves anything out of it.",
        ),
        (
            r#""value":12,"interval":[10,14],"interval_of":"bounded""#,
            "The exact number after the contribution bound and the range of a sum is between 10 and 14 with",
        ),
        (
            r#""value":12,"interval":[10,null]"#,
            "The exact number is at least 10, and nothing bounds it from above, with",
        ),
        (
            r#""value":12,"interval":[null,14]"#,
            "The exact number is at most 14, and nothing bounds it from below, with",
        ),
        (r#""value":12,"interval":[null,null]"#, "None: nothing is promised of the distance"),
    ] {
        let page = cell(before, GAUSSIAN);
        assert!(page.contains(words), "{words}\n{page}");
    }
    let largest = cell(
        r#""value":12,"interval":[11,null],"insufficient":true"#,
        r#"{"kind":"gaussian","scale":9.0,"comparisons":10,"tau":33}"#,
    );
    for words in [
        "There are at most 66 people without whom the exact one would not be above it, with probability at least 95%",
        "at least 11.",
        "There were too few people",
        "by 10 comparisons of numbers of people, each with gaussian noise of scale 9.0.",
    ] {
        assert!(largest.contains(words), "{words}\n{largest}");
    }
    let quantile = cell(
        r#""q":0.5,"value":12,"interval":[0,50]"#,
        r#"{"kind":"exponential","scale":4.0,"rank_error":38}"#,
    );
    for words in [
        "At most 38 values are between this value and the exact quantile, with",
        "Among 76 values or fewer it says next to nothing.",
    ] {
        assert!(quantile.contains(words), "{words}\n{quantile}");
    }
    assert_eq!(["0.9", "0.95", "0.999", "0.9999999"].map(percent), ["90%", "95%", "99.9%", "99.99999%"]);
}

// Refutes the discrete law of a line whose noise is a rounded normal distribution.
#[test]
fn the_noise_of_a_gaussian_account_is_a_rounded_normal_distribution() {
    let line = |cost: &str, grid: &str| {
        let noise = format!(r#"{{"kind":"gaussian","scale":14.88{grid}}}"#);
        let line = format!(
            r#"{{"release":"r","window":{{"start":"2026-01-01T00:00:00Z","end":"2026-01-02T00:00:00Z"}},"value":12,"interval":[10,14],"confidence":0.9,"noise":{noise},"id":"5f","promise":"lifetime, a person, {cost}"}}"#
        );
        let page = Explanation::of(&line, None).unwrap().to_string();
        page.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let normal =
        "noise Gaussian noise of standard deviation 14.88, a normal distribution rounded to whole numbers";
    assert!(line("Gaussian rho 0.01", "").contains(&format!("{normal}. ")));
    assert!(
        line("Gaussian rho 0.01", r#","grid":0.5"#)
            .contains(&format!("{normal}, on a public grid of step 0.5."))
    );
    assert!(line("rho 0.01", "").contains("noise Discrete Gaussian noise of standard deviation 14.88."));
}

#[test]
fn noise_is_said_with_all_that_a_line_says_of_it() {
    let page = cell(
        r#""value":12,"interval":[10,14],"total":"so far","gaps":[{"start":"2026-01-01T00:00:00Z","end":"2026-01-02T00:00:00Z"}]"#,
        r#"{"kind":"gaussian","scale":60.8,"over_bound":1.0007,"strategy":"square-root","grid":0.5,"assumes":"floating point"}"#,
    );
    for words in [
        "Discrete Gaussian noise of standard deviation 60.8, at most, correlated over the windows by the strategy square-root, on a public grid of step 0.5.",
        "1.0007 times the least",
        "It assumes, and does not prove: floating point.",
        "without windows that were skipped (from 2026-01-01T00:00:00Z to 2026-01-02T00:00:00Z)",
        "All totals of the release together cost rho 0.01 of the budget.",
    ] {
        assert!(page.contains(words), "{words}\n{page}");
    }
}

// Refutes a status that is explained as another one.
#[test]
fn each_status_has_its_words() {
    for (rest, words) in [
        (
            r#""closed":true,"cells":3,"seq":7,"chain":"ab","ledger":"cd""#,
            "the window has 3 lines before this one.",
        ),
        (
            r#""closed":true,"cells":0,"seq":7,"chain":"ab""#,
            "no line before this one: no key had enough people",
        ),
        (
            r#""closed":true,"cells":3,"seq":7,"chain":"ab","ledger":"cd""#,
            "Row 7 of the ledger cd, with the hash ab over",
        ),
        (
            r#""refused":"budget","account":"visits","spent":{"rho":0.5},"asked":{"rho":0.25,"delta":1e-9},"limit":{"rho":0.6}"#,
            "visits had spent rho 0.5; the window asked for rho 0.25, delta 1e-9, and the limit is rho 0.6.",
        ),
        (r#""skipped":true,"why":"input gap""#, "Skipped: a part of the input could not be read"),
        (r#""skipped":true,"why":"late""#, "Skipped: its deadline had passed"),
        (r#""skipped":true"#, "Skipped: the window gets no answer."),
        (
            r#""lost":true,"why":"starts before a repair""#,
            "Lost: the window gets no answer, in any version. It starts before a repair.",
        ),
        (r#""skipped":true,"demo":true"#, "This line is of a demonstration: it protects nobody"),
    ] {
        let page = explained(rest);
        assert!(page.contains(words), "{words}\n{page}");
    }
}

#[test]
fn an_answer_of_a_query_is_explained_with_its_question() {
    let head = format!(
        r#"{{"release":"study",{WINDOW},"part":"5f","question":"q1","analyst":"ann","at":"2026-01-02T09:00:00Z","asked":"count where age >= 18","version":{{"start":"2026-01-01T00:00:00Z","end":"2026-01-02T00:00:00Z"}}"#
    );
    let tail = r#""used":3,"left":97,"id":"7a","promise":"lifetime, a person, epsilon 1, delta 0.000001"}"#;
    let page = |middle: &str| Explanation::of(&format!("{head},{middle},{tail}"), None).unwrap().to_string();
    let answered = page(
        r#""value":12.5,"interval":[-3,28],"confidence":1,"noise":{"kind":"bounded","shape":"polynomial:5","bound":15.5,"scale":4.5}"#,
    );
    for words in [
        "\"q1\" of \"ann\", asked at 2026-01-02T09:00:00Z: count where age >= 18.",
        "is between -3 and 28 with certainty.",
        "never exceeds 15.5",
        "has used 3 answers, this one among them, and has 97 left.",
        "All answers of the bundle together cost epsilon 1, delta 0.000001 of the budget.",
    ] {
        assert!(
            answered.split_whitespace().collect::<Vec<_>>().join(" ").contains(words),
            "{words}\n{answered}"
        );
    }
    let refused = page("\"refused\":\"bundle\"");
    assert!(
        refused.contains("Refused: the bundle had no answer left") && !refused.contains("interval"),
        "{refused}"
    );
}

// Refutes a page that a terminal breaks, and a name that stands beside another part's sentences.
#[test]
fn a_page_has_a_name_and_sentences_for_each_part() {
    let line = format!(
        r#"{{"release":"visits",{WINDOW},"key":"k","value":12,"interval":[10,14],"confidence":0.9,"noise":{GAUSSIAN},"id":"5f","promise":"any 30 days, a person, rho 0.25, or rho 1 where a span cuts a window"}}"#
    );
    let page = Explanation::of(&line, None).unwrap().to_string();
    assert!(page.lines().all(|line| line.chars().count() <= WIDTH && line.len() > INDENT), "{page}");
    let names: Vec<&str> =
        page.lines().map(|line| line[..INDENT].trim()).filter(|name| !name.is_empty()).collect();
    assert_eq!(
        names,
        ["release", "window", "value", "interval", "noise", "promise", "cost", "id", "unsaid", "no promise"]
    );
    assert!(
        page.contains("This window costs rho 0.25 of the budget, or rho 1 where a span cuts a window."),
        "{page}"
    );
}

/// A job with each statistic, of people in windows of a day in Berlin.
fn job(release: &str) -> Job {
    let text = format!(
        r#"
[job]
name = "shop"
version = 1
from = "2026-01-01T00:00:00+01:00"
until = "2026-02-01T00:00:00+01:00"
[source]
type = "csv"
path = "shop.csv"
zone = "Europe/Berlin"
where = 'price > 0'
time = {{ field = "time", format = "rfc3339" }}
[privacy]
person = {{ field = "user", missing = "drop" }}
promise = "lifetime"
budget = {{ epsilon = 4, delta = 1e-6 }}
ledger = "shop.ledger"
account = "shop"
[[release]]
name = "visits"
every = "1 day"
share = 0.5
{release}
"#
    );
    Job::parse("shop.toml", &text).unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

/// The page of a cell with what its job file says, in one line.
fn by_job(release: &str, cell: &str, noise: &str) -> String {
    let line = format!(
        r#"{{"release":"visits","window":{{"start":"2025-12-31T23:00:00Z","end":"2026-01-01T23:00:00Z"}},{cell},"confidence":0.95,"noise":{noise},"id":"5f","promise":"lifetime, a person, rho 0.01"}}"#
    );
    let page = Explanation::of(&line, Some(&job(release))).unwrap_or_else(|error| panic!("{error}: {line}"));
    page.to_string().split_whitespace().collect::<Vec<_>>().join(" ")
}

const BOUNDED: &str = r#""interval_of":"bounded","demo":true,"tally":4,"truth":5"#;
const SEARCH: &str = r#"{"kind":"gaussian","scale":9.0,"comparisons":10,"tau":33}"#;
const RANKED: &str = r#"{"kind":"exponential","scale":4.0,"rank_error":38}"#;
const MEAN: &str =
    r#"[{"number":"sum","kind":"laplace","scale":7},{"number":"records","kind":"laplace","scale":3}]"#;
const RATIO: &str =
    r#"[{"number":"sum","kind":"gaussian","scale":7},{"number":"per","kind":"gaussian","scale":3}]"#;

// Refutes a range where a statistic has none, records for what are people, and a number without its name.
#[test]
fn a_statistic_of_the_job_has_its_own_words() {
    let value = format!("\"value\":4,\"interval\":[2,6],{BOUNDED}");
    let keyed = format!("\"key\":\"a\",{value}");
    let largest = format!("\"value\":4,\"interval\":[3,null],{BOUNDED},\"off\":7");
    let smallest = format!("\"value\":4,\"interval\":[null,6],{BOUNDED},\"off\":7");
    let quantile = format!("\"q\":0.99,\"value\":4,\"interval\":[1,100],{BOUNDED},\"off\":7");
    let bucket = format!("\"key\":\"[10, inf)\",{value}");
    let of =
        format!("\"of\":\"price\",\"covariance\":[{{\"with\":\"price\",\"value\":7,\"scale\":2}}],{value}");
    for (release, cell, noise, all) in [
        (
            "people = { by = \"page\", keys = [\"a\", \"b\", \"c\"] }\nbound = { keys = 2 }\nnoise = \"gaussian\"",
            &keyed,
            GAUSSIAN,
            &[
                "The number of people for the key \"a\" is 4. The exact number after the contribution bound is 4. The exact number of all records is 5.",
                "The exact number after the contribution bound is between 2 and 6 with",
                "What the contribution bound left out is not in it",
                "statistic By the job file: how many people of each page.",
                "records Those of the source where price > 0.",
                "bound Of one person count at most, in a window: 2 keys.",
                "In Europe/Berlin from 2026-01-01 00:00 on and before 2026-01-02 00:00.",
            ][..],
        ),
        (
            "where = 'page = \"a\"'\ncount = {}\nbound = { per_key = 3 }\nnoise = \"gaussian\"",
            &value,
            GAUSSIAN,
            &[
                "The number of records is 4.",
                "The exact number of all records of its `where` is 5.",
                "By the job file: how many records, where page = \"a\".",
                "in a window: 3 records.",
            ],
        ),
        (
            "sum = { of = \"price\", range = [0, 9] }\nnoise = \"gaussian\"",
            &value,
            GAUSSIAN,
            &[
                "The sum of \"price\" is 4. The exact number after the contribution bound and the range is 4.",
                "what each person brings to it kept within 0 and 9",
                "One person counts with one sum, kept within the range, in a window.",
            ],
        ),
        (
            "mean = { of = \"price\", range = [0, 9] }\nbound = { per_key = 3 }\nnoise = \"laplace\"",
            &value,
            MEAN,
            &["The mean of \"price\" is 4.", "in the number of records."],
        ),
        (
            "ratio = { of = \"price\", range = [0, 9], per = \"pieces\", per_range = [1, 20] }\nbound = { per_key = 3 }\nnoise = \"gaussian\"",
            &value,
            RATIO,
            &[
                "The sum of \"price\" over that of \"pieces\" is 4.",
                "after the contribution bound and the ranges",
                "in the sum above the line. Discrete Gaussian noise of standard deviation 3 in the sum below the line.",
            ],
        ),
        (
            "means = { of = [\"price\"], found_within = [[0, 900]] }\nbound = { per_key = 3 }\nnoise = \"gaussian\"",
            &of,
            MEAN,
            &[
                "The mean of \"price\" is 4. The exact number after the contribution bound and the stated range is 4.",
                "The exact number after the contribution bound and the closer range that was found is between 2 and 6",
                "What these left out is not in it",
                "covariance with itself, its variance, 7, with noise of standard deviation 2.",
            ],
        ),
        (
            "histogram = { of = \"price\", edges = [0, 10] }\nbound = { keys = 2, per_key = 3 }\nnoise = \"gaussian\"",
            &bucket,
            GAUSSIAN,
            &[
                "The number of records for values of \"price\" from 10 on is 4.",
                "after the contribution bound is 4.",
            ],
        ),
        (
            "max = { of = \"price\", each = \"sum\", grid = \"log\" }\nnoise = \"gaussian\"",
            &largest,
            SEARCH,
            &[
                "The largest sum of \"price\" of one person is 4.",
                "It is off by 7 people.",
                "There are at most 66 people without whom the exact one would not be above it",
                "One person counts with one value in a window.",
            ],
        ),
        (
            "min = { of = \"price\", grid = \"log\" }\nnoise = \"gaussian\"",
            &smallest,
            SEARCH,
            &["The smallest \"price\" is 4.", "would not be below it"],
        ),
        (
            "altogether = { each = \"count\", grid = \"log\" }\nnoise = \"gaussian\"",
            &largest,
            SEARCH,
            &["The number of records is 4. The exact number after the contribution bound is 4."],
        ),
        (
            "quantile = { each = \"count\", q = [0.5, 0.99], range = [1, 100] }\nnoise = \"exponential\"",
            &quantile,
            RANKED,
            &[
                "The quantile 0.99 of the number of records of each person is 4.",
                "Between it and the exact quantile are 7 people.",
                "At most 38 people have theirs between this value and the exact quantile",
                "How far apart the two are is not promised. Among 3800 people or fewer nothing bounds it from above, and among 38 or \
                 fewer it says next to nothing. Every possible answer is from 1 to 100",
                "of scale 4.0, in ranks.",
                "the quantiles 0.5 and 0.99 of the number of records of a person",
            ],
        ),
    ] {
        let page = by_job(release, cell, noise);
        for words in all {
            assert!(page.contains(words), "{words}\n{page}");
        }
        let has_range = page.contains("and the range");
        let clips = ["sum =", "mean =", "ratio =", "quantile ="].iter().any(|word| release.contains(word));
        assert!(has_range == clips || release.starts_with("max") || release.starts_with("min"), "{page}");
    }
}

// Refutes a parent that has all keys, where those of a list alone enter.
#[test]
fn a_parent_has_the_keys_that_its_job_says() {
    let total = format!("\"key\":[\"a\"],\"rollup\":true,\"value\":4,\"interval\":[2,6],{BOUNDED}");
    for (keys, words) in [
        ("\"discover\"", "for all keys that begin with \"a\", undiscovered ones too, is 4."),
        ("[[\"a\", \"b\"], [\"a\", \"c\"]]", "for the listed keys that begin with \"a\" is 4."),
    ] {
        let count = format!(
            "count = {{ by = [\"page\", \"user_agent\"], keys = {keys}, rollup = true }}\nbound = {{ keys = 2, per_key = 3 }}\nnoise = \"gaussian\""
        );
        let page = by_job(&count, &total, GAUSSIAN);
        assert!(page.contains(&format!("The number of records {words}")), "{page}");
    }
}

// Refutes an interval that passes for a finding where it is what is known without it, and one that is said to be empty of news
// where it is not.
#[test]
fn an_interval_that_says_next_to_nothing_is_said_to() {
    let mean = "mean = { of = \"price\", range = [0, 9] }\nbound = { per_key = 3 }\nnoise = \"laplace\"";
    let variance = mean.replace("mean", "variance");
    let means = "means = { of = [\"price\", \"pieces\"], within = [[0, 9], [0, 90]] }\nbound = { per_key = 3 }\nnoise = \"laplace\"";
    let count = "count = {}\nbound = { per_key = 3 }\nnoise = \"gaussian\"";
    let squares = MEAN.replace("},{", "},{\"number\":\"squares\",\"kind\":\"laplace\",\"scale\":7},{");
    let whole =
        "This says next to nothing: the interval is the whole range that the job file leaves, from 0 to";
    let nearly = whole.replace("is the", "is nearly the");
    for (release, interval, noise, words) in [
        (mean, "[0,9]", MEAN, Some(format!("{whole} 9."))),
        (mean, "[0.1,9]", MEAN, Some(format!("{nearly} 9."))),
        (mean, "[0,7]", MEAN, None),
        (&variance, "[0,20.25]", &squares, Some(format!("{whole} 20.25."))),
        (&variance, "[0,9]", &squares, None),
        (means, "[0,90]", MEAN, Some(format!("{whole} 90."))),
        (means, "[0,9]", MEAN, None),
        (count, "[-3,9]", GAUSSIAN, Some("It holds 0: noise alone may have made this number.".to_owned())),
        (count, "[1,9]", GAUSSIAN, None),
    ] {
        let of = if release == means { "\"of\":\"pieces\"," } else { "" };
        let page = by_job(release, &format!("{of}\"value\":4,\"interval\":{interval},{BOUNDED}"), noise);
        match words {
            Some(words) => assert!(page.contains(&words), "{words}\n{page}"),
            None => assert!(!page.contains("next to nothing") && !page.contains("It holds 0"), "{page}"),
        }
    }
}
