//! Tests against an oracle that charges window by window, and applies each promise by its definition.

use proptest::prelude::*;

use super::*;
use crate::accounting::{Adjacency, BudgetUnits};
use crate::noise::goodness::size;

fn amount(units: u64) -> PrivacyCost {
    PrivacyCost::Pure { epsilon: BudgetUnits::from_bits(units.into()) }
}

/// The same cost for a window and for a part of one.
fn cost(units: u64) -> ReleaseCost {
    ReleaseCost::new(Adjacency::PERSON, amount(units)).with_partial(amount(units)).unwrap()
}

fn account(promise: Promise, cap: u64) -> AccountSpec {
    AccountSpec::new(Name::new("account", "d").unwrap(), Adjacency::PERSON, promise, amount(cap)).unwrap()
}

fn pace(index: usize, start: i64, length: i64, step: u64, price: u64) -> Pace {
    Pace {
        job: Name::new("job", "j").unwrap(),
        release: Name::new("release", &format!("r{index}")).unwrap(),
        next: Interval::new(start, start + length).unwrap(),
        step,
        price: (price > 0).then(|| amount(price)),
        partial: (price > 0).then(|| amount(price)),
        until: None,
    }
}

/// All charges so far.
type Charges = Vec<(i64, i64, u64)>;

/// Returns true if one more charge fits, by the definition of the promise.
fn fits(promise: Promise, cap: u64, charges: &Charges, (start, end, price): (i64, i64, u64)) -> bool {
    let sum = |counts: &dyn Fn(i64, i64) -> bool| {
        let counted = charges.iter().filter(|(start, end, _)| counts(*start, *end));
        counted.map(|(_, _, price)| price).sum::<u64>() + price <= cap
    };
    match promise {
        Promise::Lifetime | Promise::Windows(_) => sum(&|_, _| true),
        Promise::Any(span) => {
            let span = span as i64;
            (start - span + 1..end).all(|at| sum(&|start, end| start < at + span && end > at))
        }
        Promise::Each(span) => {
            let block = |time: i64| time.div_euclid(span as i64);
            (block(start)..=block(end - 1))
                .all(|at| sum(&|start, end| block(start) <= at && at <= block(end - 1)))
        }
    }
}

/// The first refusal among `most` windows, with the number of windows before it and the end of the last of
/// them.
fn slow(
    promise: Promise,
    cap: u64,
    mut charges: Charges,
    paces: &[Pace],
    most: u64,
) -> (u64, Option<i64>, Option<(usize, Interval)>) {
    let mut next: Vec<(i64, usize, Interval)> = paces
        .iter()
        .enumerate()
        .filter(|(_, pace)| pace.price.is_some())
        .map(|(index, pace)| (pace.next.end(), index, pace.next))
        .collect();
    let (mut windows, mut last) = (0, None);
    while windows < most && !next.is_empty() {
        next.sort_by_key(|(end, index, _)| (*end, *index));
        let (_, index, window) = next[0];
        let Some(PrivacyCost::Pure { epsilon }) = &paces[index].price else { panic!() };
        let charge = (window.start(), window.end(), epsilon.to_bits() as u64);
        if !fits(promise, cap, &charges, charge) {
            return (windows, last, Some((index, window)));
        }
        charges.push(charge);
        (windows, last) = (windows + 1, Some(window.end()));
        let step = paces[index].step as i64;
        let window = Interval::new(window.start() + step, window.end() + step).unwrap();
        match paces[index].until {
            Some(until) if window.end() > until => drop(next.remove(0)),
            _ => next[0] = (window.end(), index, window),
        }
    }
    (windows, last, None)
}

fn promises() -> impl Strategy<Value = Promise> {
    prop_oneof![
        Just(Promise::Lifetime),
        (1..40u64).prop_map(Promise::Any),
        (1..40u64).prop_map(Promise::Each),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(size(300, 1500) as u32))]

    #[test]
    fn a_forecast_comes_true(
        promise in promises(),
        cap in 1..120u64,
        past in prop::collection::vec((-30..0i64, 1..12i64, 1..8u64), 0..6),
        coming in prop::collection::vec((-10..20i64, 1..12i64, 1..12u64, 0..8u64, prop::option::of(0..60u64)), 1..4),
    ) {
        let account = account(promise, cap);
        let mut balance = Account::new(promise, account.neighbours, account.cap.clone()).unwrap();
        let mut charges = Charges::new();
        for (start, length, price) in past {
            let window = Interval::new(start, start + length).unwrap();
            if balance.charge(window, &cost(price)).is_ok() {
                charges.push((start, start + length, price));
            }
        }
        let paces: Vec<Pace> = coming
            .iter()
            .enumerate()
            .map(|(index, (start, length, step, price, further))| {
                let until = further.map(|windows| start + length + (windows * step) as i64);
                Pace { until, ..pace(index, *start, *length, *step, *price) }
            })
            .collect();
        let forecast = forecast(&account, balance, paces.clone(), LOOKED_AT).unwrap();
        if paces.iter().all(|pace| pace.price.is_none()) {
            prop_assert_eq!(forecast.outlook(), &Outlook::Endless);
            return Ok(());
        }
        // The common cycle of steps up to 11 and of a grid up to 39 is below 40,000; most are far shorter.
        let (windows, last, refused) = slow(promise, cap, charges, &paces, 700);
        match (forecast.outlook(), refused) {
            (Outlook::Refused { pace, window }, Some(refused)) => {
                prop_assert_eq!((*pace, *window), refused);
                prop_assert_eq!((forecast.windows(), forecast.last_closes()), (windows, last));
            }
            (Outlook::Holds, None) => {
                prop_assert!(paces.iter().all(|pace| pace.price.is_none() || pace.until.is_some()));
                prop_assert_eq!((forecast.windows(), forecast.last_closes()), (windows, last));
            }
            (Outlook::Endless, None) => {}
            (Outlook::Refused { .. }, None) => prop_assert!(forecast.windows() >= 700),
            (outlook, refused) => prop_assert!(false, "{outlook:?} where {refused:?} comes"),
        }
    }
}

#[test]
fn a_pace_goes_on_with_the_first_window_that_is_not_before_the_floor() {
    for (floor, next) in [(-5, 0), (0, 0), (1, 10), (10, 10), (25, 30), (30, 30)] {
        let mut pace = pace(0, 0, 7, 10, 3);
        pace.start_from(floor).unwrap();
        assert_eq!((pace.next.start(), pace.next.end()), (next, next + 7), "from {floor}");
    }
}

// By hand: a budget of 100 holds 33 charges of 3.
#[test]
fn a_lifetime_ends_and_a_span_renews_itself() {
    let forecast = |promise, cap, paces: Vec<Pace>| {
        let account = account(promise, cap);
        let balance = Account::new(promise, account.neighbours, account.cap.clone()).unwrap();
        forecast(&account, balance, paces, LOOKED_AT).unwrap()
    };
    let lifetime = forecast(Promise::Lifetime, 100, vec![pace(0, 0, 10, 10, 3)]);
    assert_eq!((lifetime.windows(), lifetime.last_closes()), (33, Some(330)));
    let refused = Interval::new(330, 340).unwrap();
    assert_eq!(lifetime.outlook(), &Outlook::Refused { pace: 0, window: refused });

    // Four windows of 10 count together within any 30, and three within each.
    for (promise, cap, outlook) in [
        (Promise::Any(30), 12, Outlook::Endless),
        (Promise::Any(30), 11, Outlook::Refused { pace: 0, window: Interval::new(30, 40).unwrap() }),
        (Promise::Each(30), 9, Outlook::Endless),
        (Promise::Each(30), 8, Outlook::Refused { pace: 0, window: Interval::new(20, 30).unwrap() }),
    ] {
        assert_eq!(
            forecast(promise, cap, vec![pace(0, 0, 10, 10, 3)]).outlook(),
            &outlook,
            "{promise:?} {cap}"
        );
    }
    // Of two windows with one end, the one that is named first is charged first.
    let tied = forecast(Promise::Lifetime, 7, vec![pace(0, 0, 10, 10, 2), pace(1, 5, 5, 10, 2)]);
    assert_eq!((tied.windows(), tied.last_closes()), (3, Some(20)));
    assert!(matches!(tied.outlook(), Outlook::Refused { pace: 1, .. }));

    // Three windows come, and no other: the budget holds them, and not one less.
    for promise in [Promise::Lifetime, Promise::Any(100), Promise::Each(100)] {
        let three = || vec![Pace { until: Some(30), ..pace(0, 0, 10, 10, 3) }];
        let held = forecast(promise, 9, three());
        assert_eq!((held.outlook(), held.windows(), held.last_closes()), (&Outlook::Holds, 3, Some(30)));
        assert!(matches!(forecast(promise, 8, three()).outlook(), Outlook::Refused { .. }), "{promise:?}");
    }

    assert_eq!(forecast(Promise::Lifetime, 7, vec![]).outlook(), &Outlook::Unseen);
    assert_eq!(forecast(Promise::Windows(3), 7, vec![pace(0, 0, 10, 10, 0)]).outlook(), &Outlook::Endless);
}

// By hand. Windows of 6 every 7 meet blocks of 10: the block from 40 is the first that three of them overlap,
// for 10 * 4 - 5 is a multiple of 7. A block that was charged long before its time is counted when its time
// comes.
#[test]
fn a_promise_about_aligned_spans_is_looked_at_for_a_whole_cycle() {
    let promise = Promise::Each(10);
    let account = account(promise, 2);
    let balance = Account::new(promise, account.neighbours, account.cap.clone()).unwrap();
    let forecast = forecast(&account, balance, vec![pace(0, 0, 6, 7, 1)], LOOKED_AT).unwrap();
    let window = Interval::new(49, 55).unwrap();
    assert_eq!(forecast.outlook(), &Outlook::Refused { pace: 0, window });

    let promise = Promise::Each(30);
    let account = self::account(promise, 9);
    let mut balance = Account::new(promise, account.neighbours, account.cap.clone()).unwrap();
    let ahead = Interval::new(3_000, 3_010).unwrap();
    balance.charge(ahead, &cost(1)).unwrap();
    let forecast = super::forecast(&account, balance, vec![pace(0, 0, 10, 10, 3)], LOOKED_AT).unwrap();
    let window = Interval::new(3_020, 3_030).unwrap();
    assert_eq!(forecast.outlook(), &Outlook::Refused { pace: 0, window });
    assert_eq!((forecast.windows(), forecast.last_closes()), (302, Some(3_020)));
}

// A window a microsecond at one unit of 2^-64 each: 2^64 windows, too many to charge one by one.
#[test]
fn a_long_life_is_counted_at_once() {
    let cap = PrivacyCost::Pure { epsilon: BudgetUnits::from_bits(1 << 64) };
    let account =
        AccountSpec::new(Name::new("account", "d").unwrap(), Adjacency::PERSON, Promise::Lifetime, cap)
            .unwrap();
    let balance = Account::new(account.promise, account.neighbours, account.cap.clone()).unwrap();
    let year = 31_557_600_000_000;
    let yearly =
        forecast(&account, balance.clone(), vec![pace(0, 0, 1, year as u64, 1 << 60)], LOOKED_AT).unwrap();
    assert_eq!((yearly.windows(), yearly.last_closes()), (16, Some(15 * year + 1)));
    let tiny = forecast(&account, balance.clone(), vec![pace(0, 0, 1, 1, 1 << 20)], LOOKED_AT).unwrap();
    assert_eq!((tiny.windows(), tiny.last_closes()), (1 << 44, Some(1 << 44)));
    // Every window until the end of time fits.
    assert_eq!(
        forecast(&account, balance, vec![pace(0, 0, 1, 1, 1)], LOOKED_AT).unwrap().outlook(),
        &Outlook::Endless
    );
}

// Steps whose common cycle is too long to examine: the forecast says so, and not "never".
#[test]
fn what_was_not_looked_at_is_not_promised() {
    let account = account(Promise::Any(1_000), 1 << 40);
    let balance = Account::new(account.promise, account.neighbours, account.cap.clone()).unwrap();
    let steps = [999_983, 999_979, 999_961];
    let paces = steps.iter().enumerate().map(|(index, step)| pace(index, 0, 10, *step, 1)).collect();
    let forecast = forecast(&account, balance, paces, LOOKED_AT).unwrap();
    assert_eq!((forecast.outlook(), forecast.windows()), (&Outlook::Beyond, LOOKED_AT));
    assert_eq!(common(4, 6), Some(12));
    assert_eq!(common(u128::MAX, u128::MAX - 1), None);
}
