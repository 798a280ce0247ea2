use proptest::prelude::*;

use super::*;
use crate::time::{days, hours, minutes};

fn span(length: i64) -> Span {
    Span::microseconds(length).unwrap()
}

/// Lists all windows of a schedule one by one, from the definition.
fn listed(size: i64, step: i64, from: Time, until: Time) -> Vec<(Time, Time)> {
    (from..until)
        .filter(|start| start % step == 0 && start + size <= until)
        .map(|start| (start, start + size))
        .collect()
}

fn numbers(windows: &[(Time, Time)], holds: impl Fn(Time, Time) -> bool) -> Vec<u64> {
    (0u64..).zip(windows).filter(|(_, (start, end))| holds(*start, *end)).map(|(number, _)| number).collect()
}

/// Checks that a schedule has these windows, and that its panes and its windows at a moment follow from them.
fn agrees(schedule: &Schedule, oracle: &[(Time, Time)], time: Time) -> Result<(), TestCaseError> {
    let windows: Vec<_> = (0..).map_while(|number| schedule.window(number)).collect();
    prop_assert_eq!(windows.iter().map(|w| (w.start(), w.end())).collect::<Vec<_>>(), oracle);

    let holding = numbers(oracle, |start, end| (start..end).contains(&time));
    prop_assert_eq!(schedule.holding(time).collect::<Vec<_>>(), holding.clone());
    prop_assert_eq!(schedule.pane(time).is_some(), !holding.is_empty());

    let panes: Vec<_> = (0..).map_while(|number| schedule.span_of_pane(number)).collect();
    prop_assert!(panes.windows(2).all(|pair| pair[0].end() == pair[1].start()), "gaps: {:?}", panes);
    for (number, pane) in (0u64..).zip(&panes) {
        let (start, end) = (pane.start(), pane.end());
        prop_assert_eq!((schedule.pane(start), schedule.pane(end - 1)), (Some(number), Some(number)));
        let around = numbers(oracle, |first, last| first <= start && end <= last);
        prop_assert_eq!(
            &around,
            &numbers(oracle, |first, last| first < end && start < last),
            "{} is divided",
            number
        );
        prop_assert_eq!(schedule.windows_of(number).collect::<Vec<_>>(), around);
    }
    let beyond = panes.len() as u64;
    for number in [beyond, beyond + 1, u64::MAX - 1, u64::MAX] {
        prop_assert_eq!(schedule.span_of_pane(number), None);
        prop_assert!(schedule.windows_of(number).is_empty());
    }
    for (number, (start, end)) in (0u64..).zip(oracle) {
        let range = schedule.panes(number);
        prop_assert!(!range.is_empty());
        prop_assert_eq!(panes[range.start as usize].start(), *start);
        prop_assert_eq!(panes[range.end as usize - 1].end(), *end);
    }
    prop_assert!(schedule.panes(oracle.len() as u64).is_empty());
    prop_assert!(schedule.panes(u64::MAX).is_empty());
    let shares = oracle.windows(2).any(|pair| pair[1].0 < pair[0].1);
    prop_assert!(schedule.overlaps() || !shares);
    prop_assert!(!schedule.overlaps() || shares || oracle.len() == 1);
    Ok(())
}

proptest! {
    #[test]
    fn the_windows_are_those_that_one_would_list(
        size in 1i64..40, step in 1i64..40, from in -100i64..100, length in 0i64..200, time in -300i64..300,
    ) {
        prop_assume!(step <= size);
        let until = from + length;
        let oracle = listed(size, step, from, until);
        match Schedule::sliding(span(size), span(step), from, Some(until)) {
            Ok(schedule) => agrees(&schedule, &oracle, time)?,
            Err(_) => prop_assert_eq!(oracle, []),
        }
    }

    // Days in UTC can be listed without a calendar; the calendar's own tests cover their beginnings.
    #[test]
    fn a_calendars_windows_are_those_that_one_would_list(
        each in 1u32..4, over in 1u32..6, from in -50i64..50, length in 0i64..40, hour in -1i64..2, time in -60i64..100,
    ) {
        let day = 86_400_000_000;
        let (from, until) = (from * day + hour, (from + length) * day + hour);
        let step = i64::from(each) * day;
        let oracle: Vec<_> = (-60..120)
            .map(|number| (number * step, (number + i64::from(over)) * step))
            .filter(|(start, end)| from <= *start && *end <= until)
            .collect();
        match Schedule::calendar(&Calendar::days(each).over(over), from, Some(until)) {
            Ok(schedule) => agrees(&schedule, &oracle, time * day + hour)?,
            Err(_) => prop_assert_eq!(oracle, []),
        }
    }

    #[test]
    fn one_window_is_the_whole(from in -100i64..100, length in 1i64..100, time in -150i64..250) {
        agrees(&Schedule::whole(from, from + length).unwrap(), &[(from, from + length)], time)?;
    }

    // Every moment of 64 bits, with schedules as long as possible.
    #[test]
    fn no_moment_is_too_far_to_ask_about(time: i64, number: u64) {
        for schedule in far() {
            let number = schedule.pane(time).unwrap_or(number);
            if let Some(pane) = schedule.span_of_pane(number) {
                prop_assert!(schedule.pane(time) != Some(number) || (pane.start() <= time && time < pane.end()));
            }
            prop_assert_eq!(schedule.holding(time).is_empty(), schedule.pane(time).is_none());
            for window in schedule.windows_of(number).take(3) {
                prop_assert!(schedule.panes(window).contains(&number));
                prop_assert!(schedule.window(window).is_some());
            }
        }
    }
}

// Refutes a window that is requested though records of it are not read, and one that is left out though all are.
#[test]
fn a_restart_begins_where_no_record_is_lacking() {
    let tens = Schedule::tumbling(span(10), 0, Some(100)).unwrap();
    for ((last_row, whole), first) in [
        ((None, 0), 0),
        ((None, 20), 2),
        ((None, 21), 3),
        ((Some(20), 20), 2),
        ((Some(50), 20), 5),
        ((Some(10), 21), 3),
        ((None, 200), 10),
    ] {
        assert_eq!(tens.resumed(last_row, whole), first, "{last_row:?}, {whole}");
    }
}

fn far() -> Vec<Schedule> {
    vec![
        Schedule::tumbling(minutes(10), -5, Some(days(40_000).unwrap().as_microseconds())).unwrap(),
        Schedule::sliding(hours(24), span(1), -LIMIT, None).unwrap(),
        Schedule::sliding(span(7), span(5), -LIMIT, None).unwrap(),
        Schedule::tumbling(span(LIMIT), -LIMIT, None).unwrap(),
        Schedule::whole(-LIMIT, LIMIT).unwrap(),
        Schedule::calendar(&Calendar::months(3).over(4).in_zone("Europe/Berlin"), 0, None).unwrap(),
    ]
}

#[test]
fn the_ends_of_time_are_in_no_window() {
    for schedule in far() {
        for time in [i64::MIN, i64::MIN + 1, -LIMIT - 1, LIMIT, LIMIT + 1, i64::MAX - 1, i64::MAX] {
            assert_eq!((schedule.pane(time), schedule.holding(time)), (None, 0..0), "{time} in {schedule:?}");
        }
        assert_eq!(schedule.window(u64::MAX), None);
    }
    assert_eq!(Schedule::whole(-LIMIT, LIMIT).unwrap().pane(-LIMIT), Some(0));
    assert_eq!(Schedule::whole(-LIMIT, LIMIT).unwrap().pane(LIMIT - 1), Some(0));
}

#[test]
fn what_makes_no_schedule_is_named() {
    let field = |schedule: Result<Schedule, Invalid>| schedule.unwrap_err().field().to_owned();
    assert_eq!(field(Schedule::tumbling(minutes(0), 0, None)), "span");
    assert_eq!(field(Schedule::sliding(minutes(1), minutes(2), 0, None)), "step");
    assert_eq!(field(Schedule::tumbling(minutes(1), 0, Some(59_999_999))), "until");
    assert_eq!(field(Schedule::tumbling(minutes(1), i64::MIN, None)), "from");
    assert_eq!(field(Schedule::tumbling(minutes(1), 0, Some(i64::MAX))), "until");
    assert_eq!(field(Schedule::whole(5, 5)), "until");
    assert_eq!(field(Schedule::whole(0, i64::MAX)), "until");
    assert_eq!(field(Schedule::whole(i64::MIN, 0)), "from");
}

// Refutes a name that changes when a schedule is extended, and one that two different schedules share.
#[test]
fn a_description_says_what_windows_are_and_not_which_exist() {
    let (hour, day) = (hours(1).unwrap(), days(1).unwrap());
    let described = |schedule: Result<Schedule, Invalid>| schedule.unwrap().describe();
    let all = [
        described(Schedule::tumbling(hour, 0, None)),
        described(Schedule::tumbling(day, 0, None)),
        described(Schedule::sliding(day, hour, 0, None)),
        described(Schedule::calendar(&Calendar::days(1), 0, None)),
        described(Schedule::whole(0, 1)),
    ];
    for (at, one) in all.iter().enumerate() {
        assert!(!all[..at].contains(one), "{one}");
    }
    let year = 31_536_000_000_000;
    assert_eq!(all[2], described(Schedule::sliding(day, hour, 7, Some(year))));
    assert_eq!(all[0], described(Schedule::sliding(hour, hour, -7, Some(2 * year))));
    assert_eq!(all[4], described(Schedule::whole(-5, year)));
}
