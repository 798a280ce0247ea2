use proptest::prelude::*;

use super::*;
use crate::accounting::{Account, Amount, Cost, Interval, Neighbours, Units};
use crate::dataflow::Calendar;
use crate::time::{at, days, hours, seconds};

const SECOND: u64 = 1_000_000;

fn even(size: i64, step: i64, from: i64, until: Option<i64>) -> Schedule {
    let time = |time: i64| time * SECOND as i64;
    Schedule::sliding(seconds(size), seconds(step), time(from), until.map(time)).unwrap()
}

fn seen<'s>(schedule: &'s Schedule, even: bool) -> Windows<'s> {
    Windows { schedule, most: None, even }
}

/// Charges all windows in the order of their ends, each at its release's cost. Gives back how many were refused.
fn refused(promise: Promise, releases: &[(&Schedule, u128)], cap: u128) -> usize {
    let pure = |units| Amount::Pure { epsilon: Units::from_bits(units) };
    let mut account = Account::new(promise, Neighbours::PERSON, pure(cap)).unwrap();
    let mut windows: Vec<(Interval, u128)> = Vec::new();
    for (schedule, cost) in releases {
        windows.extend((0..schedule.count()).map(|number| (schedule.window(number).unwrap(), *cost)));
    }
    windows.sort_by_key(|(window, _)| window.end());
    let charged = |(window, cost): &(Interval, u128)| {
        account.charge(*window, &Cost::new(Neighbours::PERSON, pure(*cost))).is_err()
    };
    windows.iter().map(charged).filter(|refused| *refused).count()
}

fn holds_exactly(promise: Promise, schedule: &Schedule, is_even: bool) {
    let own = [seen(schedule, is_even)];
    let together = u128::from(together(&own[0], &own, promise));
    for cap in [1_000_003, 7_919_000_000_000_000] {
        assert_eq!(refused(promise, &[(schedule, cap / together)], cap), 0, "{promise:?} {schedule:?}");
        assert!(refused(promise, &[(schedule, cap / together + 1)], cap) > 0, "{promise:?} {schedule:?}");
    }
}

// Refutes a divisor that is one too small or one too large, against the account that decides.
#[test]
fn one_release_is_divided_as_the_account_counts() {
    let (from, until) = (at("2025-03-01").unwrap(), at("2025-12-01").unwrap());
    let daily = Schedule::calendar(&Calendar::days(1).in_zone("Europe/Berlin"), from, Some(until)).unwrap();
    let monthly = Schedule::calendar(&Calendar::months(1), from, Some(until)).unwrap();
    let quarters = Schedule::calendar(&Calendar::months(1).over(3), from, Some(until)).unwrap();
    let hourly = Schedule::sliding(hours(6), hours(1), from, Some(from + 864_000_000_000)).unwrap();
    let whole = Schedule::whole(from, until).unwrap();
    let day = days(1).unwrap().as_microseconds().unsigned_abs();
    for (schedule, even) in
        [(&daily, false), (&monthly, false), (&quarters, false), (&hourly, true), (&whole, false)]
    {
        for promise in [
            Promise::Lifetime,
            Promise::Any(day),
            Promise::Any(30 * day),
            Promise::Any(31 * day + 1),
            Promise::Each(day),
            Promise::Each(7 * day),
            Promise::Each(10 * 60 * SECOND),
        ] {
            holds_exactly(promise, schedule, even);
        }
    }
}

#[test]
fn a_person_in_few_windows_divides_by_them() {
    let schedule = even(10, 10, 0, Some(200));
    let most = |most| {
        let windows = Windows { most: Some(most), ..seen(&schedule, true) };
        together(&windows, &[], Promise::Windows(12))
    };
    assert_eq!((most(12), most(1), most(50)), (12, 1, 20));
    assert_eq!(together(&seen(&schedule, true), &[], Promise::Lifetime), 20);
}

// By hand: 30 days from the start of a day, and that day, are 31; an hour of any day meets 30 * 24 hours and itself; the day
// that holds it as its last meets 24 more, less itself.
#[test]
fn long_windows_meet_more_short_ones() {
    let day = 86_400 * SECOND;
    let daily = even(86_400, 86_400, 0, None);
    let hourly = even(3_600, 3_600, 0, None);
    let (days, hours) = ([seen(&daily, true)], [seen(&hourly, true)]);
    assert_eq!(together(&days[0], &days, Promise::Any(30 * day)), 31);
    assert_eq!(together(&hours[0], &hours, Promise::Any(30 * day)), 721);
    let both = [seen(&daily, true), seen(&hourly, true)];
    assert_eq!(together(&both[1], &both, Promise::Any(30 * day)), 744);
    assert_eq!(together(&both[0], &both, Promise::Any(30 * day)), 31);
    assert_eq!(together(&both[1], &both, Promise::Each(day)), 24);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    // Refutes a release that is refused by what others of its job were given.
    #[test]
    fn several_releases_fit_together(
        shapes in prop::collection::vec((1i64..8, 1i64..4, 0i64..9, 1u128..50), 1..4),
        span in 1u64..60_000_000,
        each: bool,
    ) {
        let span = if span % 3 == 0 { span.div_ceil(SECOND) * SECOND } else { span };
        let promise = if each { Promise::Each(span) } else { Promise::Any(span) };
        let schedules: Vec<Schedule> =
            shapes.iter().map(|(step, times, from, _)| even(step * times, *step, *from, Some(120))).collect();
        let windows: Vec<Windows<'_>> = schedules.iter().map(|schedule| seen(schedule, true)).collect();
        let cap = windows.iter().zip(&shapes).map(|(own, shape)| u128::from(together(own, &windows, promise)) * shape.3).sum();
        let charged: Vec<(&Schedule, u128)> = schedules.iter().zip(&shapes).map(|(schedule, shape)| (schedule, shape.3)).collect();
        prop_assert_eq!(refused(promise, &charged, cap), 0);
    }

    // Refutes the formulas for schedules without end, against a walk over all of their common period.
    #[test]
    fn endless_schedules_are_as_long_ones(
        one in (1i64..13, 1i64..5),
        other in (1i64..13, 1i64..5),
        from in (0i64..13, 0i64..13),
        halves in 1u64..80,
    ) {
        let span = halves * SECOND / 2;
        let of = |(step, times): (i64, i64), from, until| even(step * times, step, from, until);
        let pair = |until| [of(one, from.0, until), of(other, from.1, until)];
        let (endless, long) = (pair(None), pair(Some(2_000)));
        for promise in [Promise::Any(span), Promise::Each(span)] {
            let count = |schedules: &[Schedule; 2]| {
                let windows = [seen(&schedules[0], true), seen(&schedules[1], true)];
                together(&windows[0], &windows, promise)
            };
            prop_assert_eq!(count(&endless), count(&long), "{:?}", promise);
        }
    }
}
