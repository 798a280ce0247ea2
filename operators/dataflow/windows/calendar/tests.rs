use proptest::prelude::*;

use super::*;
use crate::dataflow::Schedule;
use crate::time::at;

fn time(text: &str) -> Time {
    at(text).unwrap()
}

fn windows(schedule: &Schedule) -> Vec<(Time, Time)> {
    (0..).map_while(|number| schedule.window(number)).map(|window| (window.start(), window.end())).collect()
}

/// Returns the starts and ends of windows side by side.
fn ticks(calendar: &Calendar, from: &str, until: &str) -> Vec<Time> {
    let schedule = Schedule::calendar(calendar, time(from), Some(time(until))).unwrap();
    let windows = windows(&schedule);
    assert!(windows.windows(2).all(|pair| pair[0].1 == pair[1].0), "a gap in {windows:?}");
    windows.iter().map(|(start, _)| *start).chain(windows.last().map(|(_, end)| *end)).collect()
}

fn times(texts: &[&str]) -> Vec<Time> {
    texts.iter().map(|text| time(text)).collect()
}

// Refutes months of 30 days, a leap year too many or few, and windows that stick out at either end.
#[test]
fn months_begin_on_the_first() {
    let months = Calendar::months(1);
    let leap = ["2024-01-01", "2024-02-01", "2024-03-01", "2024-04-01"];
    assert_eq!(ticks(&months, "2023-12-01T00:00:00.000001Z", "2024-04-30"), times(&leap));
    assert_eq!(ticks(&months, "2024-01-01", "2024-04-01"), times(&leap));
    assert_eq!(ticks(&months, "1900-02-01", "1900-03-01"), times(&["1900-02-01", "1900-03-01"]));
    let century = ticks(&months, "2000-01-01", "2100-01-01");
    assert_eq!(century.len(), 1_201);
    assert_eq!(century[1_200], time("2100-01-01"));
}

// Also before 1970, where a division that rounds towards zero would be wrong.
#[test]
fn longer_windows_are_aligned_to_1970() {
    let quarters = ["1968-07-01", "1968-10-01", "1969-01-01", "1969-04-01"];
    assert_eq!(ticks(&Calendar::months(3), "1968-05-01", "1969-06-30"), times(&quarters));
    let biennia = ["1966-01-01", "1968-01-01", "1970-01-01", "1972-01-01"];
    assert_eq!(ticks(&Calendar::months(24), "1965-01-01", "1973-12-31"), times(&biennia));
    let weeks = ["1969-12-18", "1969-12-25", "1970-01-01", "1970-01-08"];
    assert_eq!(ticks(&Calendar::days(7), "1969-12-12", "1970-01-14"), times(&weeks));
}

// Refutes weeks that begin on another day than theirs, before 1970 or after it, in whatever zone.
#[test]
fn weeks_begin_on_their_day() {
    let mondays = ["1969-12-15", "1969-12-22", "1969-12-29", "1970-01-05", "1970-01-12"];
    assert_eq!(ticks(&Calendar::weeks(1, Weekday::Monday), "1969-12-12", "1970-01-14"), times(&mondays));
    assert_eq!(
        ticks(&Calendar::weeks(1, Weekday::Thursday), "1960-01-01", "1980-01-01"),
        ticks(&Calendar::days(7), "1960-01-01", "1980-01-01")
    );
    let two = ["1969-12-22", "1970-01-05", "1970-01-19"];
    assert_eq!(ticks(&Calendar::weeks(2, Weekday::Monday), "1969-12-12", "1970-01-20"), times(&two));
    for (days, weekday) in Weekday::ALL.into_iter().enumerate() {
        // 2026-06-01 is a Monday.
        let starts = [1, 8].map(|first| format!("2026-06-{:02}", first + days));
        let started = ticks(&Calendar::weeks(1, weekday), "2026-06-01", "2026-06-14");
        assert_eq!(started, starts.map(|start| time(&start)), "{}", weekday.name());
    }
    let berlin = Calendar::weeks(1, Weekday::Monday).in_zone("Europe/Berlin");
    // The clocks are set forward on 2026-03-29.
    let expected = ["2026-03-22T23:00:00Z", "2026-03-29T22:00:00Z"];
    assert_eq!(ticks(&berlin, "2026-03-20", "2026-04-01"), times(&expected));
}

#[test]
fn a_window_over_several_months_starts_with_each() {
    let quarters = Calendar::months(1).over(3).in_zone("Europe/Berlin");
    let schedule =
        Schedule::calendar(&quarters, time("2026-01-01"), Some(time("2026-06-30T22:00:00Z"))).unwrap();
    let expected = [
        ("2026-01-31T23:00:00Z", "2026-04-30T22:00:00Z"),
        ("2026-02-28T23:00:00Z", "2026-05-31T22:00:00Z"),
        ("2026-03-31T22:00:00Z", "2026-06-30T22:00:00Z"),
    ];
    assert_eq!(windows(&schedule), expected.map(|(start, end)| (time(start), time(end))));
    assert_eq!(schedule.holding(time("2026-03-15")), 0..2);
    assert!(schedule.overlaps());
}

// Refutes a day of 24 hours, and a change of the clock in the wrong night.
#[test]
fn days_have_23_or_25_hours_where_the_clock_changes() {
    let berlin = Calendar::days(1).in_zone("Europe/Berlin");
    let hours = |from, until| {
        let ticks = ticks(&berlin, from, until);
        ticks.windows(2).map(|day| (day[1] - day[0]) / 3_600_000_000).collect::<Vec<_>>()
    };
    assert_eq!(hours("2026-03-27T23:00:00Z", "2026-03-30T22:00:00Z"), [24, 23, 24]);
    assert_eq!(hours("2026-10-23T22:00:00Z", "2026-10-26T23:00:00Z"), [24, 25, 24]);
}

#[test]
fn a_day_that_a_zone_left_out_has_no_window() {
    let apia = Calendar::days(1).in_zone("Pacific/Apia");
    let days =
        ["2011-12-28T10:00:00Z", "2011-12-29T10:00:00Z", "2011-12-30T10:00:00Z", "2011-12-31T10:00:00Z"];
    assert_eq!(ticks(&apia, days[0], days[3]), times(&days));
    let schedule = Schedule::calendar(&apia.over(2), time(days[0]), Some(time(days[3]))).unwrap();
    assert_eq!(windows(&schedule), [(time(days[0]), time(days[2])), (time(days[1]), time(days[3]))]);
}

#[test]
fn without_an_end_the_list_goes_on_for_200_years_and_is_no_end() {
    let years = Calendar::months(12);
    let schedule = Schedule::calendar(&years, time("2000-01-01"), None).unwrap();
    assert!(!schedule.is_bounded());
    assert_eq!(windows(&schedule).len(), 200);
    let bounded = Schedule::calendar(&years, time("2000-01-01"), Some(time("2200-01-02"))).unwrap();
    assert!(bounded.is_bounded());
    assert_eq!(windows(&bounded), windows(&schedule));
    // Near the last date the list is shorter.
    let late = Schedule::calendar(&years, time("9990-01-01"), None).unwrap();
    assert_eq!(windows(&late).len(), 9);
}

#[test]
fn what_makes_no_calendar_is_named() {
    let refused = |calendar: Calendar, from, until| {
        let refused = Schedule::calendar(&calendar, from, until).unwrap_err();
        (refused.field().to_owned(), refused.kind())
    };
    let day = 86_400_000_000;
    let is = |field: &str, kind| (field.to_owned(), kind);
    assert_eq!(refused(Calendar::months(0), 0, None), is("months", InvalidKind::Zero));
    assert_eq!(refused(Calendar::months(1_201), 0, None), is("months", InvalidKind::TooLarge));
    assert_eq!(refused(Calendar::days(0), 0, None), is("days", InvalidKind::Zero));
    assert_eq!(refused(Calendar::days(u32::MAX), 0, None), is("days", InvalidKind::TooLarge));
    assert_eq!(refused(Calendar::days(1).over(0), 0, None), is("over", InvalidKind::Zero));
    assert_eq!(refused(Calendar::months(600).over(3), 0, None), is("over", InvalidKind::TooLarge));
    assert_eq!(refused(Calendar::days(u32::MAX).over(u32::MAX), 0, None), is("days", InvalidKind::TooLarge));
    assert_eq!(
        refused(Calendar::months(1).in_zone("Europe/Bonn"), 0, None),
        is("zone", InvalidKind::Malformed)
    );
    assert_eq!(refused(Calendar::days(1), 0, Some(day - 1)), is("until", InvalidKind::TooSmall));
    assert_eq!(refused(Calendar::days(1).over(2), 0, Some(2 * day - 1)), is("until", InvalidKind::TooSmall));
    assert_eq!(refused(Calendar::days(1), 0, Some(Time::MIN)), is("until", InvalidKind::TooLarge));
    assert_eq!(refused(Calendar::days(1), 0, Some(Time::MAX)), is("until", InvalidKind::TooLarge));
    assert_eq!(refused(Calendar::days(1), Time::MAX, None), is("from", InvalidKind::TooLarge));
    assert_eq!(refused(Calendar::days(1), Time::MIN, None), is("from", InvalidKind::TooLarge));
    assert_eq!(refused(Calendar::months(12), time("9999-06-01"), None), is("from", InvalidKind::TooLarge));
    let (earliest, latest) = (time("0000-01-01"), time("9999-12-30"));
    let centuries = Calendar::months(1_200).in_zone("America/New_York");
    assert!(Schedule::calendar(&centuries, earliest, None).is_ok());
    assert!(Schedule::calendar(&centuries, 0, Some(latest)).is_ok());
    assert_eq!(refused(centuries.clone(), earliest - 1, None), is("from", InvalidKind::TooLarge));
    assert_eq!(refused(centuries, 0, Some(latest + 1)), is("until", InvalidKind::TooLarge));
    // A million starts are allowed, the first of them at `from`.
    let most = 999_999 * day;
    assert!(Schedule::calendar(&Calendar::days(1), 0, Some(most)).is_ok());
    assert_eq!(refused(Calendar::days(1), 0, Some(most + day)), is("until", InvalidKind::TooLarge));
    assert!(Schedule::calendar(&Calendar::months(1_200), 0, None).is_ok());
}

#[test]
fn calendars_that_differ_are_described_differently() {
    let described = |calendar: Calendar, from, until| {
        Schedule::calendar(&calendar, time(from), until).unwrap().describe()
    };
    let all = [
        Calendar::months(1),
        Calendar::months(3),
        Calendar::months(1).over(3),
        Calendar::days(1),
        Calendar::days(3),
        Calendar::days(1).over(3),
        Calendar::days(1).in_zone("Europe/Berlin"),
        Calendar::days(1).in_zone("Europe/Paris"),
        Calendar::days(7),
        Calendar::weeks(1, Weekday::Monday),
        Calendar::weeks(1, Weekday::Sunday),
        Calendar::weeks(2, Weekday::Monday),
    ];
    let texts: std::collections::HashSet<_> =
        all.iter().map(|calendar| described(calendar.clone(), "2026-01-01", None)).collect();
    assert_eq!(texts.len(), all.len());
    for calendar in all {
        let one = described(calendar.clone(), "2026-01-01", None);
        assert_eq!(one, described(calendar, "2003-05-01", Some(time("2026-05-01"))));
    }
    // The spelling of the database, however it was written.
    assert_eq!(
        described(Calendar::days(1).in_zone("europe/berlin"), "2026-01-01", None),
        "1 days every 1 in Europe/Berlin"
    );
}

/// Zones whose clocks jump at midnight, over it or by a whole day, fall back over it, or change by half an
/// hour.
const ODD: [&str; 10] = [
    "Europe/Berlin",
    "America/Sao_Paulo",
    "America/Havana",
    "America/St_Johns",
    "Pacific/Apia",
    "Pacific/Kwajalein",
    "Pacific/Kiritimati",
    "Australia/Lord_Howe",
    "Africa/Casablanca",
    "Asia/Amman",
];

const MINUTE: Time = 60_000_000;

/// Returns the days of a zone and the minutes at which its calendar first shows them, read minute by minute.
fn read(rules: &TimeZone, from: Time, until: Time) -> Vec<(Date, Time)> {
    let shown = |time| rules.to_datetime(Timestamp::from_microsecond(time).unwrap()).date();
    let mut days: Vec<(Date, Time)> = Vec::new();
    let mut latest = shown(from - MINUTE);
    for time in (from..=until).step_by(MINUTE as usize) {
        let day = shown(time);
        if day > latest {
            days.push((day, time));
            latest = day;
        }
    }
    days
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    // Around changes of the clock, which since 1975 are at whole minutes in these zones.
    #[test]
    fn windows_start_and_end_when_the_calendar_on_the_wall_does(
        zone in proptest::sample::select(&ODD[..]), change in 0usize..60, before in 0i64..9_000, long in 0i64..16_000,
        monthly: bool, over in 1u32..4,
    ) {
        let (_, rules) = known(zone).unwrap();
        let change = rules.following(Timestamp::from_second(5 * 365 * 86_400).unwrap()).nth(change);
        prop_assume!(change.is_some());
        let change = change.unwrap().timestamp().as_microsecond().div_euclid(MINUTE) * MINUTE;
        let from = change - before * MINUTE;
        // Months are read a few at a time.
        let until = from + long * MINUTE * if monthly { 10 } else { 1 };
        let (calendar, starts) = if monthly { (Calendar::months(1), 1) } else { (Calendar::days(1), 0) };
        let moments: Vec<Time> = read(&rules, from, until)
            .into_iter()
            .filter(|(day, _)| starts == 0 || day.day() == starts)
            .map(|(_, moment)| moment)
            .collect();
        let expected: Vec<_> =
            moments.iter().copied().zip(moments.iter().copied().skip(over as usize)).collect();
        match Schedule::calendar(&calendar.over(over).in_zone(zone), from, Some(until)) {
            Ok(schedule) => prop_assert_eq!(windows(&schedule), expected),
            Err(_) => prop_assert_eq!(expected, []),
        }
    }
}
