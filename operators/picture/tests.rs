//! The words for numbers, times and texts on a page, and axes.

use proptest::prelude::*;

use super::{Dates, escape, grouped, named, numbers, percent, said, short, times};
use crate::time::{Zone, at};

#[test]
fn numbers_and_texts_are_said_plainly() {
    assert_eq!(
        ["1234567", "-1234.5", "12", "1e9", "", "-"].map(grouped),
        ["1,234,567", "\u{2212}1,234.5", "12", "1e9", "", "-"]
    );
    assert_eq!(
        [0.0, 1234.6, 12.34, 0.034, -0.0, 2e20, f64::NAN].map(said),
        ["0", "1,235", "12.3", "0.034", "0", "2.00e20", "–"]
    );
    assert_eq!([0.906, 1.0, 0.0, 1e-9].map(percent), ["90.6%", "100%", "0%", "less than 0.1%"]);
    assert_eq!(
        (short("abcdef", 6), short("abcdefg", 6), short("日本語", 4)),
        ("abcdef".into(), "abcde…".into(), "日…".into())
    );
    assert_eq!(escape("<a href='x'>&\n"), "&lt;a href=&#39;x&#39;&gt;&amp;\\u{a}");
    assert_eq!(escape("a\u{202e}b"), "a\\u{202e}b");
    assert_eq!([named(Some("a\u{1}")), named(Some("a\u{2}"))], ["a\\u{1}", "a\\u{2}"]);
    let span = |start: &str, end: &str| Dates::utc().spanned(at(start).ok(), at(end).ok());
    assert_eq!(span("2026-11-01", "2026-11-02"), "2026-11-01");
    assert_eq!(span("2024-02-01", "2024-03-01"), "February 2024");
    assert_eq!(span("2026-11-01T00:10:00Z", "2026-11-01T00:20:00Z"), "2026-11-01 00:10 to 2026-11-01 00:20");
    assert_eq!(Dates::utc().spanned(Some(0), None), "a window without a name");
}

// Refutes a local day that is named by the date of its beginning in UTC, one of 23 or 25 hours that is none, and a local time that
// occurs twice and has one name.
#[test]
fn dates_are_those_of_the_zone() {
    let zone = Zone::named("Europe/Berlin").unwrap();
    let dates = Dates::of(Some(&zone));
    let span = |start: &str, end: &str| dates.spanned(at(start).ok(), at(end).ok());
    assert_eq!(dates.zone(), Some("Europe/Berlin"));
    assert_eq!(span("2026-01-31T23:00:00Z", "2026-02-01T23:00:00Z"), "2026-02-01");
    assert_eq!(span("2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"), "2026-03-29");
    assert_eq!(span("2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"), "2026-10-25");
    assert_eq!(span("2026-02-28T23:00:00Z", "2026-03-31T22:00:00Z"), "March 2026");
    assert_eq!(
        span("2026-10-25T00:00:00Z", "2026-10-25T01:00:00Z"),
        "2026-10-25 02:00 +02:00 to 2026-10-25 02:00 +01:00"
    );
    for utc in [Dates::of(None), Dates::of(Some(&Zone::utc()))] {
        assert_eq!(
            (utc.zone(), utc.dated(at("2026-01-31T23:00:00Z").unwrap())),
            (None, "2026-01-31 23:00".to_owned())
        );
    }
}

#[test]
fn times_are_named_as_a_calendar_has_them() {
    let names = |start: &str, end: &str| {
        times((at(start).unwrap(), at(end).unwrap()), 5).into_iter().map(|(_, name)| name).collect::<Vec<_>>()
    };
    assert_eq!(names("2003-05-01", "2004-05-01"), ["Jul", "Oct", "2004", "Apr"]);
    assert_eq!(names("1999-01-01", "2020-01-01"), ["2000", "2005", "2010", "2015", "2020"]);
    assert_eq!(names("2026-11-01", "2026-11-02"), ["Nov 1", "06:00", "12:00", "18:00", "Nov 2"]);
    assert_eq!(names("2026-03-02", "2026-08-20"), ["May 2026", "Jul"]);
}

proptest! {
    // Refutes a range that lacks one of its values, an axis with too many ticks, and two ticks with the same
    // label.
    #[test]
    fn an_axis_holds_all_of_its_values(values in prop::collection::vec(prop_oneof![-1e300_f64..1e300, -100.0..100.0_f64, -1e-6..1e-6_f64], 0..6), zero: bool) {
        let range = numbers(values.iter().copied(), 4, zero);
        let (low, high) = range.ends;
        let slack = (high - low) * 1e-9;
        prop_assert!(low < high && low.is_finite() && high.is_finite());
        prop_assert!(values.iter().all(|value| low - slack <= *value && *value <= high + slack), "{:?}", range);
        prop_assert!((1..=10).contains(&range.ticks.len()), "{:?}", range);
        prop_assert!(range.ticks.iter().all(|(tick, _)| low - slack <= *tick && *tick <= high + slack), "{:?}", range);
        // Values fill most of their axis, unless they are all alike.
        let least = values.iter().copied().fold(if zero { 0.0 } else { f64::INFINITY }, f64::min);
        let most = values.iter().copied().fold(if zero { 0.0 } else { f64::NEG_INFINITY }, f64::max);
        let size = least.abs().max(most.abs());
        if most - least > size * 1e-8 {
            prop_assert!(high - low <= 1.5 * (most - least), "{:?}", range);
        }
        for pair in range.ticks.windows(2) {
            prop_assert!(pair[0].0 < pair[1].0 && pair[0].1 != pair[1].1, "{:?}", range.ticks);
        }
    }

    #[test]
    fn named_moments_are_few_and_in_order(start in -60_000_000_000_000_000_i64..250_000_000_000_000_000, length in 1_i64..3_000_000_000_000_000, most in 1_usize..12) {
        let end = start.saturating_add(length).min(253_402_207_200_000_000);
        let named = times((start, end.max(start + 1)), most);
        prop_assert!(named.len() <= most + 2, "{:?}", named);
        prop_assert!(named.windows(2).all(|pair| pair[0].0 < pair[1].0));
        prop_assert!(named.iter().all(|(tick, _)| (start..=end.max(start + 1)).contains(tick)));
    }
}
