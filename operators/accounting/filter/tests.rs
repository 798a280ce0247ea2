use proptest::prelude::*;

use super::*;
use crate::Decimal;
use crate::accounting::{ORDERS, Relation};

fn at_most(text: &str) -> BudgetUnits {
    BudgetUnits::at_most("rho", &Decimal::parse("rho", text).unwrap()).unwrap()
}

fn zcdp(rho: BudgetUnits, delta: BudgetUnits) -> PrivacyCost {
    PrivacyCost::Zcdp { rho, delta, omega: Omega::EVERY }
}

fn person(amount: PrivacyCost) -> ReleaseCost {
    ReleaseCost::new(Adjacency::PERSON, amount)
}

// Refutes `<` for `<=`: the limit is reached exactly, and one unit more is refused.
#[test]
fn a_limit_can_be_spent_to_the_last_unit() {
    let tenth = person(zcdp(at_most("0.125"), BudgetUnits::ZERO));
    let mut filter = PrivacyFilter::new(Adjacency::PERSON, zcdp(at_most("1"), BudgetUnits::ZERO));
    for _ in 0..8 {
        filter.charge(&tenth).unwrap();
    }
    assert_eq!(filter.spent(), filter.limit());
    let before = filter.clone();
    let least = person(zcdp(BudgetUnits::from_bits(1), BudgetUnits::ZERO));
    assert!(matches!(filter.charge(&least), Err(BudgetExceeded::Budget { .. })));
    assert_eq!(filter, before);
    // One part over is enough to refuse.
    let mut filter = PrivacyFilter::new(Adjacency::PERSON, zcdp(at_most("1"), at_most("0.5")));
    let delta = person(zcdp(BudgetUnits::from_bits(1), at_most("0.5")));
    filter.charge(&delta).unwrap();
    assert!(filter.charge(&delta).is_err());
    // An overflow does not wrap around to a small sum.
    let mut filter = PrivacyFilter::new(Adjacency::PERSON, zcdp(BudgetUnits::UNBOUNDED, BudgetUnits::ZERO));
    let huge = person(zcdp(BudgetUnits::from_bits(u128::MAX - 1), BudgetUnits::ZERO));
    filter.charge(&huge).unwrap();
    assert!(matches!(filter.charge(&huge), Err(BudgetExceeded::Budget { .. })));
}

#[test]
fn what_cannot_be_counted_is_refused_and_changes_nothing() {
    let limit = PrivacyCost::approximate_zcdp(1.0, Omega::below(16.0).unwrap(), Some(1e-6)).unwrap();
    let mut filter = PrivacyFilter::new(Adjacency::PERSON, limit);
    let before = filter.clone();
    let field = |refused: Result<(), BudgetExceeded>| match refused {
        Err(BudgetExceeded::Uncountable(invalid)) => invalid.field().to_owned(),
        other => panic!("{other:?}"),
    };
    let rho = |omega| PrivacyCost::approximate_zcdp(0.1, Omega::below(omega).unwrap(), None).unwrap();
    assert_eq!(field(filter.charge(&person(rho(15.0)))), "omega");
    assert_eq!(field(filter.charge(&person(PrivacyCost::renyi(|order| order).unwrap()))), "currency");
    let replace = Adjacency { relation: Relation::Replace, ..Adjacency::PERSON };
    assert_eq!(field(filter.charge(&ReleaseCost::new(replace, rho(16.0)))), "relation");
    assert_eq!(filter, before);
    for amount in [
        rho(16.0),
        rho(f64::INFINITY),
        PrivacyCost::pure(0.1).unwrap(),
        PrivacyCost::approximate(0.1, 1e-7).unwrap(),
    ] {
        filter.charge(&person(amount)).unwrap();
    }
    // A Gaussian filter counts Gaussian noise alone.
    let mut filter = PrivacyFilter::new(Adjacency::PERSON, PrivacyCost::gaussian(1.0).unwrap());
    assert_eq!(field(filter.charge(&person(PrivacyCost::zcdp(0.1).unwrap()))), "currency");
    filter.charge(&person(PrivacyCost::gaussian(0.5).unwrap())).unwrap();
}

// Every order that has a limit counts; none is chosen afterwards.
#[test]
fn a_curve_is_kept_at_every_limited_order() {
    let limit =
        PrivacyCost::renyi(|order| if order == 8.0 || order == 16.0 { 1.0 } else { f64::INFINITY }).unwrap();
    let cost =
        |at: f64| person(PrivacyCost::renyi(move |order| if order == at { 0.75 } else { 0.25 }).unwrap());
    for (at, fits) in [(8.0, false), (16.0, false), (32.0, true)] {
        let mut filter = PrivacyFilter::new(Adjacency::PERSON, limit.clone());
        filter.charge(&cost(at)).unwrap();
        assert_eq!(filter.charge(&cost(at)).is_ok(), fits, "{at}");
    }
    assert!(ORDERS.contains(&8.0) && ORDERS.contains(&16.0));
}

// By hand at slack 1e-6, 0.1 each: the published filter stops before sqrt(2 * 13.8155 * .01 k) + .005 k > 1,
// k = 3.
#[test]
fn the_pair_filter_is_at_least_the_published_one() {
    let published = |epsilon: f64, slack: f64, step: f64| {
        let fits = |k: f64| (-2.0 * slack.ln() * k * step * step).sqrt() + k * step * step / 2.0 <= epsilon;
        (1..).take_while(|k| fits(f64::from(*k))).count()
    };
    assert_eq!(published(1.0, 1e-6, 0.1), 3);
    for (epsilon, slack, step) in [(1.0, 1e-6, 0.1), (1.0, 1e-9, 0.01), (4.0, 1e-6, 0.1)] {
        let mut filter = PrivacyFilter::approximate(Adjacency::PERSON, epsilon, 2.0 * slack, slack).unwrap();
        let cost = person(PrivacyCost::approximate(step, 1e-300).unwrap());
        let mut count = 0;
        while filter.charge(&cost).is_ok() {
            count += 1;
        }
        assert!(count >= published(epsilon, slack, step), "{count}");
        assert!(
            convert::epsilon_of_rho(f64::from(count as u32) * step * step * 0.4995, f64::INFINITY, slack)
                .unwrap()
                <= epsilon
        );
    }
    assert_eq!(PrivacyFilter::approximate(Adjacency::PERSON, 1.0, 1e-7, 1e-6).unwrap_err().field(), "slack");
}

proptest! {
    // An adaptive adversary, who reads every answer of the filter and chooses the next charge from it, never
    // gets past the limit, and what was granted is what is spent. Its last charge is what is left, to the
    // unit.
    #[test]
    fn no_strategy_exceeds_the_limit(limit in 1u128.., moves in prop::collection::vec(any::<(u128, u8)>(), 1..60)) {
        let units = |bits| zcdp(BudgetUnits::from_bits(bits), BudgetUnits::ZERO);
        let limit = limit.min(u128::MAX - 1);
        let mut filter = PrivacyFilter::new(Adjacency::PERSON, units(limit));
        let mut granted = 0u128;
        let mut shift = 0u32;
        for (wish, turn) in moves {
            let left = limit - granted;
            let ask = match turn % 4 {
                0 => left.saturating_add(1),
                1 => (wish >> (shift % 128)).max(1),
                2 => (left / 2).max(1),
                _ => wish.max(1),
            };
            let fits = ask <= left;
            prop_assert_eq!(filter.charge(&person(units(ask))).is_ok(), fits);
            if fits { granted += ask } else { shift += 1 }
            prop_assert!(granted <= limit);
            prop_assert_eq!(filter.spent(), &units(granted));
        }
        if granted < limit {
            filter.charge(&person(units(limit - granted))).unwrap();
        }
        prop_assert_eq!(filter.spent(), filter.limit());
    }
}
