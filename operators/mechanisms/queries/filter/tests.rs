#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;
use crate::mechanisms::queries::Field;
use crate::mechanisms::queries::sample::{holds, rows, schema, trees, written};

fn released(text: &str) -> String {
    Filter::parse(&schema(), text).unwrap().to_string()
}

fn refused(text: &str) -> Invalid {
    Filter::parse(&schema(), text).unwrap_err()
}

proptest! {
    // Refutes a step out of order, a range with its ends swapped, and an absent value that passes.
    #[test]
    fn a_filter_means_what_its_tree_means(tree in trees(), rows in prop::collection::vec(rows(), 1..30)) {
        let filter = Filter::parse(&schema(), &written(&tree)).unwrap();
        for row in rows {
            prop_assert_eq!(filter.matches(&row), holds(&tree, &row), "{} of {:?}", filter, row.values());
        }
    }

    // Refutes a normal text that parses as another filter, and two normal texts of one filter.
    #[test]
    fn a_filter_is_read_from_its_own_text(tree in trees()) {
        let filter = Filter::parse(&schema(), &written(&tree)).unwrap();
        let again = Filter::parse(&schema(), &filter.to_string()).unwrap();
        prop_assert_eq!(&again, &filter);
        prop_assert!(again.to_string().chars().all(|character| !character.is_control()));
        let sent: Filter = serde_json::from_str(&serde_json::to_string(&filter).unwrap()).unwrap();
        prop_assert_eq!(sent, filter);
    }

    #[test]
    fn no_text_is_too_much(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Filter::parse(&schema(), &String::from_utf8_lossy(&bytes));
    }

    // Refutes a panic after the first token: on texts of the tokens of filters, and a few others.
    #[test]
    fn no_words_are_too_much(words in prop::collection::vec(prop::sample::select(vec![
        "age", "price", "when", "country", "client", "`", "`order total`", "\"", "\"DE\"", "\\", "\"2026-11-01\"", "=",
        "!=", "!", "<", "<=", ">", "in", "in..", "{", "}", "(", ")", ",", "..", ".", "1", "-1", "1.25", "1e3", "1e-400", "-", "e",
        "and", "or", "not", "all", "starts", "with", "ends", "contains", " ", "  ", "\n", "é", "\u{1f600}", "9223372036854775807", "-9223372036854775808",
    ]), 0..30)) {
        let text = words.concat();
        if let Ok(filter) = Filter::parse(&schema(), &text) {
            prop_assert_eq!(Filter::parse(&schema(), &filter.to_string()), Ok(filter));
        }
    }
}

#[test]
fn one_meaning_has_one_text() {
    for (text, canonical) in [
        ("all", "all"),
        (" not not(all) ", "all"),
        ("age>=18", "age >= 18"),
        ("age>17", "age >= 18"),
        ("age<=17", "age < 18"),
        ("age in ..18", "age < 18"),
        ("age in 18..", "age >= 18"),
        ("age in -1..2", "age in -1..2"),
        ("age in 7..8", "age = 7"),
        ("age in {7}", "age = 7"),
        ("age in {3,1,3,2}", "age in {1, 2, 3}"),
        ("age <= 9223372036854775807", "age >= -9223372036854775808"),
        ("price = 1.50", "price = 1.5"),
        ("price < 1e2", "price < 100"),
        ("price != -0", "price != 0"),
        ("price in 10.5..20", "price in 10.5..20"),
        ("when > \"2026-11-01\"", "when >= \"2026-11-01T00:00:00.000001Z\""),
        ("when = \"2026-11-01T01:00:00+01:00\"", "when = \"2026-11-01T00:00:00Z\""),
        ("country  starts\twith\"D\"", "country starts with \"D\""),
        (
            "not country ends with \"E\" and country contains \"\\u0041\"",
            "not country ends with \"E\" and country contains \"A\"",
        ),
        ("country in {\"DE\",\"AT\",\"DE\"}", "country in {\"AT\", \"DE\"}"),
        ("country = \"\\u0044E\"", "country = \"DE\""),
        ("country != \"\u{9b}\u{e000}\u{202e}\"", "country != \"\\u009b\u{e000}\\u202e\""),
        ("`age` = 1 and `order total` = 2", "age = 1 and `order total` = 2"),
        ("(age = 1 and (age = 2 and age = 3))", "age = 1 and age = 2 and age = 3"),
        ("(age = 1 or age = 2) and age = 3", "(age = 1 or age = 2) and age = 3"),
        ("age = 1 or (age = 2 and age = 3)", "age = 1 or age = 2 and age = 3"),
        ("age = 1 and not(age = 2 and age = 3)", "age = 1 and not (age = 2 and age = 3)"),
        ("age = 1 and not not(age = 2 and age = 3)", "age = 1 and age = 2 and age = 3"),
        ("not (age = 1)", "not age = 1"),
    ] {
        assert_eq!(released(text), canonical, "{text}");
        assert_eq!(released(canonical), canonical);
    }
}

// Refutes three-valued logic: a record without an age matches `not age = 1`.
#[test]
fn what_is_absent_passes_nothing() {
    let nobody = QueryRow::from([]);
    for (text, matches) in [
        ("age = 1", false),
        ("age != 1", false),
        ("not age = 1", true),
        ("not age != 1", true),
        ("all", true),
    ] {
        assert_eq!(Filter::parse(&schema(), text).unwrap().matches(&nobody), matches, "{text}");
    }
}

// Refutes an error without a column, without the text that was found, or without a remedy.
#[test]
fn what_is_wrong_is_said_where_it_is() {
    let fields = "age, price, when, country or `order total`";
    for (text, kind, words) in [
        ("", InvalidKind::Missing, "a condition such as \"age >= 18\", or \"all\" for every record"),
        (" \n", InvalidKind::Missing, "a condition such as"),
        ("agee = 1", InvalidKind::Malformed, "a field at column 1 in place of \"agee\", which is no field: "),
        ("agee = 1", InvalidKind::Malformed, &format!("{fields} (did you mean age?)")),
        (
            "all and  x = 1",
            InvalidKind::Malformed,
            "a field at column 10 in place of \"x\", which is no field",
        ),
        ("é = 1", InvalidKind::Malformed, "column 1 in place of \"é\""),
        ("\"é\" = 1", InvalidKind::Malformed, "a condition at column 1 in place of a text"),
        (
            "country = \"é\" & all",
            InvalidKind::Malformed,
            "a word of a filter at column 15 in place of \"&\"",
        ),
        (
            "client = \"me\"",
            InvalidKind::Malformed,
            "a field at column 1 in place of \"client\", of which nobody may ask, for it says whose a record is: age",
        ),
        ("age = \"18\"", InvalidKind::Mixed, "a number at column 7 in place of a text"),
        ("age = old", InvalidKind::Malformed, "a number at column 7 in place of \"old\""),
        ("age = 1.5", InvalidKind::TooSmall, "a whole number at column 7"),
        ("age = 1_000", InvalidKind::Malformed, "a whole number at column 7"),
        ("age = 0x10", InvalidKind::Malformed, "a whole number at column 7"),
        ("age = --1", InvalidKind::Malformed, "a whole number at column 7"),
        (
            "age = 9223372036854775808",
            InvalidKind::TooLarge,
            "a whole number, below 2^63 of its steps at column 7",
        ),
        (
            "age > 9223372036854775807",
            InvalidKind::TooLarge,
            "a number beyond which there are others at column 7",
        ),
        (
            "age < -9223372036854775808",
            InvalidKind::TooLarge,
            "a number beyond which there are others at column 7",
        ),
        ("price = 1.234", InvalidKind::TooSmall, "a number of at most 2 digits behind the point at column 9"),
        ("country = 7", InvalidKind::Mixed, "a text in double quotes at column 11 in place of a number"),
        ("country = DE", InvalidKind::Malformed, "a text in double quotes at column 11 in place of \"DE\""),
        ("country = 'DE'", InvalidKind::Malformed, "a text in double quotes at column 11"),
        (
            "country < \"DE\"",
            InvalidKind::Mixed,
            "=, != or in, for which of two texts is first depends on a language",
        ),
        ("country in \"A\"..\"B\"", InvalidKind::Mixed, "a set such as {\"DE\", \"AT\"} at column 12"),
        ("country = \"DE", InvalidKind::Malformed, "a text that ends with the double quote"),
        ("country = \"\\x\"", InvalidKind::Malformed, "a text with the escapes of JSON"),
        ("`age = 1", InvalidKind::Malformed, "a name that ends with the backquote"),
        ("when > 2026-11-01", InvalidKind::Mixed, "a moment in double quotes, such as \"2026-11-01\""),
        ("when > \"soon\"", InvalidKind::Malformed, "a date or a moment with its zone"),
        (
            "when = \"0000-01-01T00:00:00+01:00\"",
            InvalidKind::TooLarge,
            "a moment of the years 0 to 9999 at column 8",
        ),
        ("when <= \"9999-12-30T22:00:00Z\"", InvalidKind::TooLarge, "moments of the years 0 to 9999"),
        ("country in {}", InvalidKind::Empty, "at least one value at column 13"),
        ("age in {1 2}", InvalidKind::Malformed, "a comma or the brace that ends the set at column 11"),
        ("age in 20..10", InvalidKind::TooSmall, "an end above its beginning"),
        ("age in 10..10", InvalidKind::TooSmall, "at column 12"),
        (
            "age in ..",
            InvalidKind::Malformed,
            "the end of a range that has no beginning at column 10 in place of the end",
        ),
        ("age in 10", InvalidKind::Malformed, "the two points of a range at column 10 in place of the end"),
        ("age in", InvalidKind::Malformed, "a range such as 10..20 or a set such as {10, 20}"),
        ("age", InvalidKind::Malformed, "=, !=, <, <=, >, >= or in at column 4 in place of the end"),
        ("age == 1", InvalidKind::Malformed, "a number at column 6 in place of \"=\""),
        (
            "age = 1 age = 2",
            InvalidKind::Malformed,
            "\"and\", \"or\", or the end at column 9 in place of \"age\"",
        ),
        ("age = 1 AND age = 2", InvalidKind::Malformed, "and at column 9 in place of \"AND\""),
        ("age = 1 and", InvalidKind::Malformed, "a condition at column 12 in place of the end"),
        ("or age = 1", InvalidKind::Malformed, "a condition at column 1 in place of \"or\""),
        (
            "(age = 1",
            InvalidKind::Malformed,
            "the parenthesis that ends what one began, at column 9 in place of the end",
        ),
        ("age = 1)", InvalidKind::Malformed, "no parenthesis that ends and did not begin at column 8"),
        ("()", InvalidKind::Malformed, "a condition at column 2 in place of \")\""),
    ] {
        let refused = refused(text);
        assert_eq!((refused.field(), refused.kind()), ("filter", kind), "{text}: {refused}");
        assert!(refused.remedy().contains(words), "{text}: {refused}");
    }
}

// Refutes a parser that recurses for each parenthesis, and a limit that is off by one.
#[test]
fn depth_and_length_are_bounded() {
    let nested = |open: &str, depth: usize, close: &str| {
        Filter::parse(&schema(), &format!("{}age = 1{}", open.repeat(depth), close.repeat(depth)))
    };
    for (open, close) in [("(", ")"), ("not ", ""), ("not(", ")"), ("all and (", ")")] {
        let most = if open == "not(" { 32 } else { 64 };
        assert!(nested(open, most, close).is_ok());
        for depth in [most + 1, 1_000] {
            let refused = nested(open, depth, close).unwrap_err();
            assert!(
                refused.remedy().contains("at most 64 parentheses and \"not\"s within each other"),
                "{refused}"
            );
        }
        let refused = nested(open, 1_000_000, close).unwrap_err();
        assert_eq!(
            (refused.kind(), refused.remedy()),
            (InvalidKind::TooLarge, "a text of at most 65536 bytes")
        );
    }
    let set = |count: usize| {
        let numbers: Vec<String> = (0..count).map(|number| number.to_string()).collect();
        format!("age in {{{}}}", numbers.join(","))
    };
    assert!(Filter::parse(&schema(), &set(4_096)).is_ok());
    let too_many = refused(&set(4_097));
    assert_eq!(too_many.kind(), InvalidKind::TooLarge);
    assert!(too_many.remedy().contains("at most 4096 values"), "{too_many}");
    assert!(refused(&format!("{} or age = 1", set(4_096))).remedy().contains("at most 4096 values"));
    let chain = |count: usize| vec!["age=1"; count].join(" or ");
    assert!(Filter::parse(&schema(), &chain(4_096)).is_ok());
    assert!(Filter::parse(&schema(), &chain(4_097)).is_err());
    // Its normal text is longer than the text that was written.
    let dates = vec!["when=\"2026-11-01\""; 3_000].join("or ");
    assert_eq!(refused(&dates).remedy(), "a text of at most 65536 bytes");
}

// Refutes an error that quotes a text of any length, or control characters.
#[test]
fn what_is_shown_is_cut_and_printable() {
    let long = refused(&format!("{} = 1", "x".repeat(60_000)));
    assert!(long.to_string().len() < 300, "{long}");
    let escape = refused("\u{1b}[2J = 1");
    assert!(!escape.to_string().contains('\u{1b}'), "{escape}");
    let many = Schema::new((0..1_000).map(|place| Field::number(format!("field{place}")))).unwrap();
    let listed = Filter::parse(&many, "nothing = 1").unwrap_err();
    assert!(listed.remedy().contains("field19 or 980 more") && listed.to_string().len() < 400, "{listed}");
}

// Refutes deserialized steps that are not checked: they may not be a filter.
#[test]
fn steps_that_are_no_program_are_refused() {
    let sent = |program: &[FilterStep]| {
        let unread = Unread { program: program.into(), text: "all".into() };
        Filter::try_from(unread).is_ok()
    };
    assert!(sent(&[FilterStep::All, FilterStep::Not]));
    assert!(
        !sent(&[])
            && !sent(&[FilterStep::Not])
            && !sent(&[FilterStep::All, FilterStep::And])
            && !sent(&[FilterStep::All, FilterStep::All])
    );
    assert!(!sent(&[FilterStep::Field(0, ValueTest::Among([2, 1].into()))]));
}
