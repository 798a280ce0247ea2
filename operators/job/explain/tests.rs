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
            "The number for all keys that begin with \"GET\" is 12.",
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
            "The number in the last 7 windows, this one among them is 12.",
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
            "The value from below is 12.",
        ),
        (
            r#""value":12,"interval":[null,14]"#.to_owned(),
            r#"{"kind":"gaussian","scale":9.0,"comparisons":10,"tau":33}"#,
            "The value from above is 12.",
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
            "The exact number is between 10 and 14 with probability at least 95%, over the noise, for this number by itself. The contribution bound and the range can leave nothing out",
        ),
        (
            r#""value":12,"interval":[10,14],"interval_of":"bounded""#,
            "The exact number after the contribution bound and the range is between 10 and 14 with",
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
        "Without 66 people or fewer the exact one would not be above it, with probability at least 95%",
        "at least 11.",
        "There were too few people",
        "by 10 comparisons",
    ] {
        assert!(largest.contains(words), "{words}\n{largest}");
    }
    let quantile = cell(
        r#""q":0.5,"value":12,"interval":[0,50]"#,
        r#"{"kind":"exponential","scale":4.0,"rank_error":38}"#,
    );
    assert!(
        quantile.contains("At most 38 values are between this value and the exact quantile, with"),
        "{quantile}"
    );
    assert_eq!(["0.9", "0.95", "0.999", "0.9999999"].map(percent), ["90%", "95%", "99.9%", "99.99999%"]);
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
