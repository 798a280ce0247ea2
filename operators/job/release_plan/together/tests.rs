use proptest::prelude::*;

use super::*;
use crate::accounting::{Account, Adjacency, BudgetUnits, Interval, PrivacyCost, ReleaseCost};
use crate::dataflow::Calendar;
use crate::time::{at, days, hours, seconds};

const SECOND: u64 = 1_000_000;
const TWICE: CutFactor = CutFactor { over: 2, under: 1 };

fn even(size: i64, step: i64, from: i64, until: Option<i64>) -> Schedule {
    let time = |time: i64| time * SECOND as i64;
    Schedule::sliding(seconds(size), seconds(step), time(from), until.map(time)).unwrap()
}

fn seen<'s>(schedule: &'s Schedule, even: bool) -> AccountWindows<'s> {
    AccountWindows { schedule, most: None, even }
}

/// Charges all windows in an order unrelated to time, each at its release's whole cost, and at `factor` times
/// that cost if it is cut. Returns the number of refused charges.
fn refused(promise: Promise, releases: &[(&Schedule, u128, CutFactor)], cap: u128) -> usize {
    let pure = |units| PrivacyCost::Pure { epsilon: BudgetUnits::from_bits(units) };
    let mut account = Account::new(promise, Adjacency::PERSON, pure(cap)).unwrap();
    let mut windows: Vec<(Interval, ReleaseCost)> = Vec::new();
    for (schedule, units, factor) in releases {
        let partial = units * u128::from(factor.over) / u128::from(factor.under);
        let cost = ReleaseCost::new(Adjacency::PERSON, pure(*units)).with_partial(pure(partial)).unwrap();
        windows.extend((0..schedule.count()).map(|number| (schedule.window(number).unwrap(), cost.clone())));
    }
    windows.sort_by_key(|(window, _)| window.end().wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as i64));
    windows.iter().filter(|(window, cost)| account.charge(*window, cost).is_err()).count()
}

fn holds_exactly(promise: Promise, schedule: &Schedule, is_even: bool) {
    for factor in [CutFactor::EVEN, TWICE, CutFactor { over: 4, under: 1 }] {
        let found = held(&seen(schedule, is_even), promise, factor);
        let windows = factor.of(found);
        for cap in [1_000_003, 7_919_000_000_000_000] {
            let all = |units| refused(promise, &[(schedule, units, factor)], cap);
            assert_eq!(all(cap / windows), 0, "{promise:?} {schedule:?} {found:?}");
            assert!(all(cap / windows + 1) > 0, "{promise:?} {schedule:?} {found:?}");
        }
    }
}

// Refutes a divisor that is one too small or one too large, against the account that decides.
#[test]
fn one_release_is_divided_as_the_account_counts() {
    let (from, until) = (at("2025-03-01").unwrap(), at("2025-09-01").unwrap());
    let daily = Schedule::calendar(&Calendar::days(1).in_zone("Europe/Berlin"), from, Some(until)).unwrap();
    let monthly = Schedule::calendar(&Calendar::months(1), from, Some(until)).unwrap();
    let quarters = Schedule::calendar(&Calendar::months(1).over(3), from, Some(until)).unwrap();
    let hourly = Schedule::sliding(hours(6), hours(1), from, Some(from + 400_000_000_000)).unwrap();
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
        let windows = AccountWindows { most: Some(most), ..seen(&schedule, true) };
        held(&windows, Promise::Windows(12), TWICE).whole
    };
    assert_eq!((most(12), most(1), most(50)), (12, 1, 20));
    let all = held(&seen(&schedule, true), Promise::Lifetime, TWICE);
    assert_eq!(all, HeldWindows { whole: 20, cut: 0 });
}

// By hand: a stretch of 30 days holds 30 days or cuts two of 31; of hours it holds 720 or cuts two of 721.
#[test]
fn a_stretch_cuts_a_window_at_either_end() {
    let day = 86_400 * SECOND;
    let (daily, hourly) = (even(86_400, 86_400, 0, None), even(3_600, 3_600, 0, None));
    let of = |schedule, promise, factor| held(&seen(schedule, true), promise, factor);
    assert_eq!(of(&daily, Promise::Any(30 * day), CutFactor::EVEN), HeldWindows { whole: 29, cut: 2 });
    assert_eq!(of(&hourly, Promise::Any(30 * day), TWICE), HeldWindows { whole: 719, cut: 2 });
    assert_eq!(of(&hourly, Promise::Each(day), TWICE), HeldWindows { whole: 24, cut: 0 });
    assert_eq!(of(&daily, Promise::Each(3_600 * SECOND), TWICE), HeldWindows { whole: 0, cut: 1 });
}

// Under a promise about each step, a moment is in as many windows as overlap, and in one where none do.
#[test]
fn an_aligned_step_is_in_the_windows_that_hold_it() {
    let day = 86_400 * SECOND;
    for over in [1, 2, 7] {
        let schedule = even(over * 86_400, 86_400, 0, Some(60 * 86_400));
        let held = held(&seen(&schedule, true), Promise::Each(day), CutFactor::EVEN);
        assert_eq!(held.whole + held.cut, over as u64);
    }
}

// Refutes a share that its own windows do not fit into, and one that leaves more than rounding does.
#[test]
fn a_share_is_used_in_full() {
    for factor in [CutFactor::EVEN, TWICE, CutFactor { over: 10_487, under: 4_096 }] {
        for (whole, cut) in [(1, 0), (0, 1), (29, 2), (719, 2)] {
            let together = ConcurrentWindows { held: HeldWindows { whole, cut }, most: whole + cut, factor };
            for all in [0, 1, 40, 12_345, 1 << 70] {
                let cost = |units| PrivacyCost::Pure { epsilon: units };
                let units = together.divide(BudgetUnits::from_bits(all));
                let fits =
                    |units| together.all(&cost(units)).unwrap().within(&cost(BudgetUnits::from_bits(all)));
                assert!(
                    fits(units) && !fits(units.plus("cost", BudgetUnits::from_bits(1)).unwrap()),
                    "{together:?} of {all}"
                );
            }
        }
    }
}

fn factors() -> impl Strategy<Value = CutFactor> {
    prop::sample::select(vec![
        CutFactor::EVEN,
        TWICE,
        CutFactor { over: 3, under: 1 },
        CutFactor { over: 4, under: 1 },
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    // Refutes a release that is refused because of the shares of others in its job, in any order of their
    // windows.
    #[test]
    fn several_releases_fit_together(
        shapes in prop::collection::vec((1i64..8, 1i64..4, 0i64..9, 1u128..50, factors()), 1..4),
        span in 1u64..60_000_000,
        each: bool,
    ) {
        let span = if span % 3 == 0 { span.div_ceil(SECOND) * SECOND } else { span };
        let promise = if each { Promise::Each(span) } else { Promise::Any(span) };
        let schedules: Vec<Schedule> =
            shapes.iter().map(|(step, times, from, ..)| even(step * times, *step, *from, Some(120))).collect();
        let cap = schedules.iter().zip(&shapes).map(|(own, (_, _, _, units, factor))| {
            factor.of(held(&seen(own, true), promise, *factor)) * units
        });
        let charged: Vec<(&Schedule, u128, CutFactor)> =
            schedules.iter().zip(&shapes).map(|(schedule, shape)| (schedule, shape.3, shape.4)).collect();
        prop_assert_eq!(refused(promise, &charged, cap.sum()), 0);
    }

    // Refutes a place that is skipped, against every place of a stretch.
    #[test]
    fn the_heaviest_place_is_found(
        shape in (1i64..9, 1i64..5, 0i64..9),
        span in 1u64..40,
        factor in factors(),
        each: bool,
    ) {
        let (step, times, from) = shape;
        let micro = |span: i64| crate::time::Span::microseconds(span);
        let schedule = Schedule::sliding(micro(step * times), micro(step), from, Some(from + 70)).unwrap();
        let windows: Vec<Interval> = (0..schedule.count()).map(|number| schedule.window(number).unwrap()).collect();
        let length = span as i64;
        let of = |place: i64| {
            let over = windows.iter().filter(|window| window.start() < place + length && window.end() > place);
            let inside = |window: &&Interval| window.start() >= place && window.end() <= place + length;
            let (whole, cut): (Vec<&Interval>, Vec<&Interval>) = over.partition(inside);
            factor.of(HeldWindows { whole: whole.len() as u64, cut: cut.len() as u64 })
        };
        let most = (-50..130).filter(|place| !each || place % length == 0).map(of).max().unwrap();
        let promise = if each { Promise::Each(span) } else { Promise::Any(span) };
        prop_assert_eq!(factor.of(held(&seen(&schedule, true), promise, factor)), most);
    }

    // Refutes the formulas for schedules without end, against a walk over all of their common period.
    #[test]
    fn endless_schedules_are_as_long_ones(
        shape in (1i64..13, 1i64..5),
        from in 0i64..13,
        halves in 1u64..80,
        factor in factors(),
    ) {
        let span = halves * SECOND / 2;
        let of = |until| even(shape.0 * shape.1, shape.0, from, until);
        let (endless, long) = (of(None), of(Some(2_000)));
        for promise in [Promise::Any(span), Promise::Each(span)] {
            let count = |schedule: &Schedule| factor.of(held(&seen(schedule, true), promise, factor));
            prop_assert_eq!(count(&endless), count(&long), "{:?}", promise);
        }
    }
}
