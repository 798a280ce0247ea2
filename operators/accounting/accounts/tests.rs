use proptest::prelude::*;

use super::*;
use crate::accounting::{BudgetUnits, Omega, PrivacyUnit, windows_touched};

fn rho(units: u128) -> PrivacyCost {
    PrivacyCost::Zcdp { rho: BudgetUnits::from_bits(units), delta: BudgetUnits::ZERO, omega: Omega::EVERY }
}

fn person(units: u128) -> ReleaseCost {
    ReleaseCost::new(Adjacency::PERSON, rho(units)).with_partial(rho(units)).unwrap()
}

fn account(promise: Promise, cap: u128) -> Account {
    Account::new(promise, Adjacency::PERSON, rho(cap)).unwrap()
}

fn window(start: i64, end: i64) -> Interval {
    Interval::new(start, end).unwrap()
}

// An endless stream fits under `any span` exactly when the cap holds as many windows as the span can touch: 4
// and 6, not 3 and 5. Refutes `>=` for `>` at either edge, and a count by time of release.
#[test]
fn a_stream_fits_when_the_cap_holds_every_window_that_a_span_touches() {
    for (span, size, slide, touched) in [(30, 10, 10, 4), (30, 30, 10, 6), (10, 10, 10, 2), (12, 10, 10, 3)] {
        assert_eq!(windows_touched(span, size, slide).unwrap(), touched);
        for cap in [touched - 1, touched] {
            let mut account = account(Promise::Any(span), u128::from(cap));
            let fits = (0..100).all(|k| {
                let start = k * slide as i64;
                account.charge(window(start, start + size as i64), &person(1)).is_ok()
            });
            assert_eq!(fits, cap == touched, "span {span}, size {size}, slide {slide}, cap {cap}");
        }
    }
}

#[test]
fn each_span_pays_for_the_windows_that_overlap_it() {
    let mut account = account(Promise::Each(10), 2);
    account.charge(window(0, 10), &person(2)).unwrap();
    account.charge(window(10, 20), &person(1)).unwrap();
    // [5, 15) lies in two spans, and the first is full.
    assert!(matches!(account.charge(window(5, 15), &person(1)), Err(BudgetExceeded::Budget { .. })));
    account.charge(window(15, 25), &person(1)).unwrap();
    assert!(account.charge(window(19, 20), &person(1)).is_err());
    // A life without horizon counts in every span from its first on; -1 and below are another span.
    account.charge(Interval::since(20).unwrap(), &person(1)).unwrap();
    assert!(account.charge(window(20, 21), &person(1)).is_err());
    assert!(account.charge(window(1_000_000, 1_000_001), &person(2)).is_err());
    account.charge(window(1_000_000, 1_000_001), &person(1)).unwrap();
    account.charge(window(-10, 0), &person(2)).unwrap();
}

// By hand: the spans [0, 10) and [10, 20). Refutes the whole price for a window that both hold a part of.
#[test]
fn an_aligned_span_cuts_what_is_not_inside_of_it() {
    let mut account = account(Promise::Each(10), 4);
    account.charge(window(0, 10), &priced(1, 3)).unwrap();
    account.charge(window(5, 15), &priced(1, 3)).unwrap();
    assert_eq!(account.spent(window(0, 1)).unwrap(), rho(4));
    assert_eq!(account.spent(window(10, 20)).unwrap(), rho(3));
    assert!(account.charge(window(9, 10), &priced(1, 1)).is_err());
}

// Refutes a part that is free, and one that has the price of the whole where nobody has worked out another.
#[test]
fn what_has_no_price_for_a_part_pays_for_two_steps() {
    let cost = |neighbours, amount: Result<PrivacyCost, Invalid>| {
        ReleaseCost::new(neighbours, amount.unwrap()).partial()
    };
    let person = |amount| cost(Adjacency::PERSON, amount);
    assert_eq!(person(PrivacyCost::zcdp(0.25)), PrivacyCost::zcdp(1.0));
    assert_eq!(person(PrivacyCost::pure(0.25)), PrivacyCost::pure(0.5));
    let approximate = PrivacyCost::approximate_zcdp(0.25, Omega::EVERY, Some(0.5));
    let refused = person(approximate.clone()).unwrap_err();
    assert_eq!((refused.field(), refused.kind()), ("currency", InvalidKind::Mixed));
    assert_eq!(cost(Adjacency::RECORD, approximate.clone()), approximate);
    let replaced = Adjacency { relation: Relation::Replace, ..Adjacency::PERSON };
    assert_eq!(cost(replaced, approximate.clone()), approximate);
    // Over a lifetime nobody is cut.
    let small =
        ReleaseCost::new(Adjacency::PERSON, PrivacyCost::approximate_zcdp(0.25, Omega::EVERY, None).unwrap());
    let cap = || PrivacyCost::zcdp(0.3).unwrap();
    let mut lifetime = Account::new(Promise::Lifetime, Adjacency::PERSON, cap()).unwrap();
    lifetime.charge(window(0, 10), &small).unwrap();
    let mut any = Account::new(Promise::Any(5), Adjacency::PERSON, cap()).unwrap();
    assert!(any.charge(window(0, 10), &small).is_err());
    any.charge(window(0, 1), &small).unwrap();
}

#[test]
fn a_lifetime_is_one_account() {
    let mut account = account(Promise::Lifetime, 3);
    account.charge(window(0, 1), &person(2)).unwrap();
    assert!(account.charge(window(1_000_000, 1_000_001), &person(2)).is_err());
    account.charge(window(-5, 0), &person(1)).unwrap();
    assert_eq!(account.spent(window(0, 1)).unwrap(), rho(3));
}

#[test]
fn a_reservation_is_the_largest_windows() {
    let person = |units| ReleaseCost::new(Adjacency::PERSON, rho(units));
    let costs: Vec<ReleaseCost> = [3, 9, 1, 7, 7].map(person).to_vec();
    for (most, sum) in [(1, 9), (2, 16), (3, 23), (5, 27), (100, 27)] {
        assert_eq!(reservation(&costs, most).unwrap(), person(sum));
    }
    assert_eq!(reservation(&costs, 0).unwrap_err().kind(), InvalidKind::Empty);
    assert_eq!(reservation(&[], 1).unwrap_err().kind(), InvalidKind::Empty);
    // Part by part: the largest rho and the largest delta may come from different windows.
    let pair = |rho, delta| {
        let (rho, delta) = (BudgetUnits::from_bits(rho), BudgetUnits::from_bits(delta));
        ReleaseCost::new(Adjacency::PERSON, PrivacyCost::Zcdp { rho, delta, omega: Omega::EVERY })
    };
    assert_eq!(reservation(&[pair(5, 1), pair(1, 5)], 1).unwrap(), pair(5, 5));
}

#[test]
fn promises_are_said_in_a_few_words() {
    let say = |promise: Promise, cost: &ReleaseCost| promise.briefly(cost, |span| format!("{span} days"));
    let cost = ReleaseCost::new(Adjacency::PERSON, PrivacyCost::zcdp(0.01).unwrap());
    assert_eq!(say(Promise::Lifetime, &cost), "lifetime, a person, rho 0.01");
    assert_eq!(say(Promise::Windows(12), &cost), "lifetime in 12 windows, a person, rho 0.01");
    let record = Adjacency { unit: PrivacyUnit::Record, relation: Relation::Replace };
    let cost = ReleaseCost::new(record, PrivacyCost::approximate(1.0, 1e-6).unwrap());
    let part = |amount| ReleaseCost::new(Adjacency::PERSON, PrivacyCost::zcdp(amount).unwrap());
    assert_eq!(
        say(Promise::Any(30), &part(0.25)),
        "any 30 days, a person, rho 0.25, or rho 1 where a span cuts a window"
    );
    assert_eq!(say(Promise::Any(30), &cost), "any 30 days, a record replaced, epsilon 1, delta 0.000001");
    assert_eq!(say(Promise::Each(2), &cost), "each 2 days, a record replaced, epsilon 1, delta 0.000001");
}

#[test]
fn promises_are_said_in_a_sentence() {
    let say = |promise: Promise| promise.sentence(Adjacency::PERSON, |span| format!("{span} days"));
    assert_eq!(
        say(Promise::Any(30)),
        "Hides one person more or less within any span of 30 days, wherever it starts; what lasts longer is hidden less, \
         span by span."
    );
    assert!(say(Promise::Each(1)).contains("each aligned span of 1 days;"));
    assert!(say(Promise::Windows(12)).contains("at most 12 of the windows"));
    assert!(say(Promise::Lifetime).contains("releases stop"));
    assert_eq!(Account::new(Promise::Each(0), Adjacency::PERSON, rho(1)).unwrap_err().field(), "span");
    assert_eq!(Account::new(Promise::Windows(0), Adjacency::PERSON, rho(1)).unwrap_err().field(), "windows");
}

/// A cost of this number of units, and of more where a stretch cuts the window.
fn priced(whole: u128, partial: u128) -> ReleaseCost {
    person(whole).with_partial(rho(partial)).unwrap()
}

/// Returns the cost of the charged windows to a span `[from, from + span)`, by the definition of the promise.
fn cost_of(charged: &[(Interval, u128, u128)], from: i64, span: i64) -> u128 {
    let price = |(window, whole, partial): &(Interval, u128, u128)| {
        let (start, end) = (window.start(), window.end());
        if end <= from || start >= from + span {
            0
        } else if start >= from && end <= from + span {
            *whole
        } else {
            *partial
        }
    };
    charged.iter().map(price).sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    // Against brute force over every start of a stretch, whatever windows are asked for, in whatever order:
    // no stretch ever holds more than the cap, and nothing is refused that every stretch has room for.
    // Refutes ends that are off by one, a cut window at the whole price, and a stretch that is not looked at.
    #[test]
    fn no_stretch_ever_holds_more_than_the_cap_and_none_is_refused_that_fits(
        asked in prop::collection::vec((-40i64..40, 1i64..25, 1u128..6, 0u128..12), 1..40),
        span in 1u64..30,
        cap in 1u128..40,
        aligned: bool,
        forever in prop::option::weighted(0.2, -30i64..30),
    ) {
        let mut account = account(if aligned { Promise::Each(span) } else { Promise::Any(span) }, cap);
        let mut charged: Vec<(Interval, u128, u128)> = Vec::new();
        let span = span as i64;
        let places: Vec<i64> = (-150i64..150).filter(|t| !aligned || t % span == 0).collect();
        let mut asked: Vec<(Interval, u128, u128)> = asked
            .into_iter()
            .map(|(start, size, whole, more)| (window(start, start + size), whole, whole + more))
            .collect();
        asked.extend(forever.map(|start| (Interval::since(start).unwrap(), 1, 2)));
        for asked in asked {
            let before: Vec<u128> = places.iter().map(|place| cost_of(&charged, *place, span)).collect();
            let own = |place| cost_of(&[asked], place, span);
            let touched = || places.iter().zip(&before).filter(|(place, _)| own(**place) > 0);
            let fits = touched().all(|(place, before)| before + own(*place) <= cap);
            let spent = touched().map(|(_, before)| *before).max().unwrap();
            prop_assert_eq!(account.spent(asked.0).unwrap(), rho(spent));
            let accepted = account.charge(asked.0, &priced(asked.1, asked.2));
            // The same window may be asked for twice in a row.
            prop_assert_eq!(accepted.is_ok(), fits, "{:?} of {}", asked, cap);
            match accepted {
                Ok(()) => charged.push(asked),
                Err(BudgetExceeded::Budget { spent, asked: more, limit }) => {
                    prop_assert!(!spent.plus(&more).unwrap().within(&limit));
                    prop_assert!([rho(asked.1), rho(asked.2)].contains(&more));
                }
                Err(other) => panic!("{other}"),
            }
        }
        prop_assert!(places.iter().all(|place| cost_of(&charged, *place, span) <= cap));
    }
}

// By hand, stretches of 10: one holds [0, 10) whole, and any other cuts it. So a window that is half inside
// of a stretch costs its partial price there, and a microsecond is never cut.
#[test]
fn a_window_costs_more_where_a_stretch_cuts_it() {
    let mut account = account(Promise::Any(10), 7);
    account.charge(window(0, 10), &priced(2, 5)).unwrap();
    // [5, 15) cuts both.
    assert!(account.charge(window(10, 20), &priced(2, 5)).is_err());
    account.charge(window(10, 20), &priced(1, 2)).unwrap();
    // [9, 19) holds [18, 19) whole, and cuts both others.
    assert!(account.charge(window(18, 19), &priced(1, 100)).is_err());
    // [10, 20) does not reach [0, 10): all of the second, and one more, is 2.
    account.charge(window(19, 20), &priced(3, 100)).unwrap();
    assert_eq!(account.spent(window(19, 20)).unwrap(), rho(5));
}

// A ledger fetches only some entries. Refutes an entry too few: an account resumed from those alone must
// decide like the whole one and change the same entries.
#[test]
fn an_account_resumed_from_what_is_fetched_decides_like_the_whole() {
    let promises =
        [Promise::Lifetime, Promise::Any(25), Promise::Any(1), Promise::Each(10), Promise::Each(7)];
    proptest!(|(promise in prop::sample::select(promises.to_vec()),
                windows in prop::collection::vec((-60i64..60, 1i64..30, 1u128..4, 0u128..3), 1..40))| {
        let mut whole = account(promise, 12);
        let mut kept: BTreeMap<EntryKey, Prices> = BTreeMap::new();
        for (start, length, units, more) in windows {
            let window = window(start, start + length);
            let mut fetched = BTreeMap::new();
            match whole.fetched(window) {
                Fetched::Sums(floors, range) => {
                    for floor in floors {
                        fetched.extend(kept.range(..=EntryKey::of_sum(floor)).next_back().map(|(place, sum)| (*place, sum.clone())));
                    }
                    let range = EntryKey::of_sum(*range.start())..=EntryKey::of_sum(*range.end());
                    fetched.extend(kept.range(range).map(|(place, sum)| (*place, sum.clone())));
                }
                Fetched::Windows(time) => {
                    for reach in [1, 2, 4, 8, 16, 32] {
                        let (first, last) = EntryKey::starts(reach, time);
                        let found = kept.iter().filter(|(place, _)| {
                            place.reach == reach && (first..=last).contains(&place.start) && place.end > time.start()
                        });
                        fetched.extend(found.map(|(place, prices)| (*place, prices.clone())));
                    }
                }
            }
            let cost = priced(units, units + more);
            let mut part = Account::resume(promise, Adjacency::PERSON, rho(12), fetched).unwrap();
            prop_assert_eq!(part.charge(window, &cost), whole.charge(window, &cost));
            kept.extend(part.entries());
            let spent_by_all = Account::resume(promise, Adjacency::PERSON, rho(12), kept.clone()).unwrap();
            prop_assert_eq!(spent_by_all.spent(window).unwrap(), whole.spent(window).unwrap());
        }
    });
}

#[test]
fn a_window_is_found_by_its_reach() {
    let reach = |start, end| EntryKey::of_window(window(start, end)).reach;
    assert_eq!((reach(0, 1), reach(5, 7), reach(0, 3), reach(-2, 2), reach(0, 5)), (1, 2, 4, 4, 8));
    let long = [(0, i64::MAX), (i64::MIN, i64::MAX), (0, (1 << 62) + 1)];
    assert!(long.iter().all(|(start, end)| reach(*start, *end) == i64::MAX));
    assert_eq!(EntryKey::starts(i64::MAX, window(5, 10)), (i64::MIN, 9));
    assert_eq!(
        (EntryKey::of_window(window(3, 9)).window(), EntryKey::of_sum(0).window()),
        (Some(window(3, 9)), None)
    );
}

/// Refutes a repair that gives budget back: an account with its shortfall added counts no window for less
/// than either did.
#[test]
fn a_shortfall_makes_up_for_everything_that_another_account_holds() {
    let promises = [Promise::Lifetime, Promise::Any(20), Promise::Each(15)];
    let charges = || prop::collection::vec((-60i64..60, 1i64..40, 1u128..9), 0..8);
    let units = |units| PrivacyCost::Pure { epsilon: BudgetUnits::from_bits(units) };
    proptest!(|(promise in prop::sample::select(promises.to_vec()), own in charges(), other in charges())| {
        let filled = |charges: &[(i64, i64, u128)]| {
            let mut account = Account::new(promise, Adjacency::PERSON, units(1_000)).unwrap();
            for (start, length, spent) in charges {
                let prices = Prices { whole: units(*spent), partial: units(spent + 3) };
                account.add(Interval::new(*start, start + length).unwrap(), &prices).unwrap();
            }
            account
        };
        let (own, other) = (filled(&own), filled(&other));
        let mut repaired = own.clone();
        for (time, prices) in own.shortfall(&other).unwrap() {
            repaired.add(time, &prices).unwrap();
        }
        for start in -90..90 {
            for length in [1, 7, 40] {
                let window = Interval::new(start, start + length).unwrap();
                let spent = |account: &Account| account.spent(window).unwrap();
                let most = spent(&own).larger(&spent(&other)).unwrap();
                prop_assert!(most.within(&spent(&repaired)), "{:?}", window);
            }
        }
        prop_assert!(repaired.shortfall(&repaired).unwrap().is_empty());
    });
}
