use proptest::prelude::*;

use super::*;
use crate::Decimal;
use crate::accounting::{ORDERS, PrivacyUnit};

const REPLACE: Adjacency = Adjacency { unit: PrivacyUnit::Person, relation: Relation::Replace };

fn units(text: &str) -> BudgetUnits {
    BudgetUnits::at_least("rho", &Decimal::parse("rho", text).unwrap()).unwrap()
}

fn rho(text: &str) -> PrivacyCost {
    PrivacyCost::Zcdp { rho: units(text), delta: BudgetUnits::ZERO, omega: Omega::EVERY }
}

fn person(amount: PrivacyCost) -> ReleaseCost {
    ReleaseCost::new(Adjacency::PERSON, amount)
}

#[test]
fn each_currency_adds_up_in_its_own_way() {
    let pure = PrivacyCost::pure(0.5).unwrap();
    assert_eq!(pure.plus(&pure).unwrap(), PrivacyCost::pure(1.0).unwrap());
    assert_eq!(rho("0.25").plus(&rho("0.5")).unwrap(), rho("0.75"));
    assert_eq!(rho("0.25").times(3).unwrap(), rho("0.75"));
    // mu = 3 and mu = 4 make mu = 5.
    let mu = |mu| PrivacyCost::gaussian(mu).unwrap();
    assert_eq!(mu(3.0).plus(&mu(4.0)).unwrap(), mu(5.0));
    let pair = PrivacyCost::approximate(0.5, 0.125).unwrap();
    assert_eq!(pair.times(2).unwrap(), PrivacyCost::approximate(1.0, 0.25).unwrap());
    let truncated =
        |omega| PrivacyCost::approximate_zcdp(0.5, Omega::below(omega).unwrap(), Some(0.25)).unwrap();
    let PrivacyCost::Zcdp { rho, delta, omega } = truncated(8.0).plus(&truncated(4.0)).unwrap() else {
        panic!()
    };
    assert_eq!((rho, delta, omega), (units("1"), units("0.5"), Omega::below(4.0).unwrap()));
    let curve = |slope: f64| {
        PrivacyCost::renyi(|order| if order < 10.0 { slope * order } else { f64::INFINITY }).unwrap()
    };
    assert_eq!(curve(0.5).plus(&curve(0.25)).unwrap(), curve(0.75));
}

// Refutes a sum across currencies, neighbours, units or relations.
#[test]
fn what_differs_is_never_added() {
    let kind = |result: Result<PrivacyCost, Invalid>| result.unwrap_err().kind();
    let all = [
        PrivacyCost::pure(1.0),
        PrivacyCost::approximate(1.0, 0.5),
        PrivacyCost::zcdp(1.0),
        PrivacyCost::gaussian(1.0),
        PrivacyCost::renyi(|_| 1.0),
    ]
    .map(Result::unwrap);
    for (i, a) in all.iter().enumerate() {
        for (j, b) in all.iter().enumerate() {
            if i != j {
                assert_eq!(kind(a.plus(b)), InvalidKind::Mixed);
            }
        }
    }
    let cost = person(rho("1"));
    for other in [REPLACE, Adjacency { unit: PrivacyUnit::Record, ..Adjacency::PERSON }] {
        let other = ReleaseCost::new(other, rho("1"));
        assert_eq!(cost.plus(&other).unwrap_err().kind(), InvalidKind::Mixed);
        assert_eq!(ReleaseCost::parallel(&[cost.clone(), other]).unwrap_err().kind(), InvalidKind::Mixed);
    }
    assert_eq!(kind(rho("10000000000000000000").times(2)), InvalidKind::Overflow);
    assert_eq!(kind(rho("1").times(0)), InvalidKind::Zero);
}

// A cost for fewer orders than the limit speaks of is not within it, however small.
#[test]
fn missing_orders_are_not_within_a_limit() {
    let amount =
        |rho, omega: f64| PrivacyCost::approximate_zcdp(rho, Omega::below(omega).unwrap(), None).unwrap();
    let limit = amount(1.0, 8.0);
    for (omega, within) in [(7.0, false), (8.0, true), (9.0, true), (f64::INFINITY, true)] {
        assert_eq!(amount(0.5, omega).within(&limit), within, "{omega}");
        assert!(!amount(2.0, omega).within(&limit));
    }
}

#[test]
fn parts_of_a_partition_cost_the_largest_or_the_two_largest() {
    let costs = |neighbours| ["0.25", "1", "0.5", "0.75"].map(|text| ReleaseCost::new(neighbours, rho(text)));
    assert_eq!(ReleaseCost::parallel(&costs(Adjacency::PERSON)).unwrap(), person(rho("1")));
    assert_eq!(ReleaseCost::parallel(&costs(REPLACE)).unwrap().amount(), &rho("1.75"));
    assert_eq!(ReleaseCost::parallel(&costs(REPLACE)[..1]).unwrap().amount(), &rho("0.25"));
    let twice = [ReleaseCost::new(REPLACE, rho("1")), ReleaseCost::new(REPLACE, rho("1"))];
    assert_eq!(ReleaseCost::parallel(&twice).unwrap().amount(), &rho("2"));
    assert_eq!(ReleaseCost::parallel(&[]).unwrap_err().kind(), InvalidKind::Empty);
}

// By hand: 2 epsilon, 4 rho, 2 mu, and at epsilon = ln 3: (1 + 3) delta.
#[test]
fn a_replaced_unit_is_two_steps() {
    let replaced = |amount| person(amount).replaced().map(|cost| cost.amount().clone());
    assert_eq!(replaced(rho("0.25")).unwrap(), rho("1"));
    assert_eq!(replaced(PrivacyCost::pure(0.25).unwrap()).unwrap(), PrivacyCost::pure(0.5).unwrap());
    assert_eq!(replaced(PrivacyCost::gaussian(1.5).unwrap()).unwrap(), PrivacyCost::gaussian(3.0).unwrap());
    let PrivacyCost::Approximate { delta, .. } =
        replaced(PrivacyCost::approximate(3f64.ln(), 0.125).unwrap()).unwrap()
    else {
        panic!()
    };
    assert!(delta.to_float_down() >= 0.5 && delta.to_float_up() < 0.5 + 1e-9);
    for amount in [
        PrivacyCost::approximate_zcdp(1.0, Omega::EVERY, Some(1e-9)).unwrap(),
        PrivacyCost::approximate_zcdp(1.0, Omega::below(9.0).unwrap(), None).unwrap(),
        PrivacyCost::renyi(|order| order).unwrap(),
    ] {
        assert_eq!(replaced(amount).unwrap_err().kind(), InvalidKind::Mixed);
    }
    assert_eq!(ReleaseCost::new(REPLACE, rho("1")).replaced().unwrap_err().field(), "relation");
}

// tanh(1/2) = .46211715726; mu = 1 is rho = 1/2; the (epsilon, delta) of a curve are those of its rho.
#[test]
fn theorems_lead_from_one_currency_to_another() {
    let zcdp = rho("1");
    let PrivacyCost::Zcdp { rho, delta, .. } =
        PrivacyCost::approximate(1.0, 0.25).unwrap().in_currency_of(&zcdp).unwrap()
    else {
        panic!()
    };
    assert!((rho.to_float_up() - 0.46211715726).abs() < 1e-10 && delta == units("0.25"));
    assert_eq!(
        PrivacyCost::gaussian(1.0).unwrap().in_currency_of(&zcdp).unwrap(),
        PrivacyCost::zcdp(0.5).unwrap()
    );
    let curve = PrivacyCost::renyi(|order| order).unwrap();
    let by_curve = PrivacyCost::zcdp(0.1).unwrap().in_currency_of(&curve).unwrap().epsilon(1e-6).unwrap();
    let by_rho = PrivacyCost::zcdp(0.1).unwrap().epsilon(1e-6).unwrap();
    assert!(by_curve >= by_rho && by_curve < by_rho * 1.01);
    // A delta is not lost on the way, nor are missing orders made up.
    let with_delta = PrivacyCost::approximate_zcdp(1.0, Omega::EVERY, Some(0.5)).unwrap();
    assert_eq!(with_delta.in_currency_of(&curve).unwrap_err().kind(), InvalidKind::Mixed);
    let truncated = PrivacyCost::approximate_zcdp(1.0, Omega::below(3.0).unwrap(), None).unwrap();
    let PrivacyCost::Renyi(values) = truncated.in_currency_of(&curve).unwrap() else { panic!() };
    for (order, value) in ORDERS.iter().zip(values.iter()) {
        assert_eq!(*value == BudgetUnits::UNBOUNDED, *order >= 3.0);
    }
    assert_eq!(
        PrivacyCost::zcdp(1.0).unwrap().in_currency_of(&PrivacyCost::pure(1.0).unwrap()).unwrap_err().kind(),
        InvalidKind::Mixed
    );
}

#[test]
fn epsilon_at_a_delta_counts_the_delta_spent() {
    let spent = |delta| PrivacyCost::approximate_zcdp(0.1, Omega::EVERY, delta).unwrap();
    let (all, half) = (spent(None).epsilon(1e-6).unwrap(), spent(Some(5e-7)).epsilon(1e-6).unwrap());
    assert!((all - 2.141939).abs() < 1e-6 && half > all);
    assert_eq!(spent(Some(1e-6)).epsilon(1e-6).unwrap_err().field(), "delta");
    assert!((PrivacyCost::gaussian(1.0).unwrap().epsilon(1e-6).unwrap() - 4.88655411746).abs() < 1e-8);
}

proptest! {
    // Integers: any order of the same charges is the same cost, to the bit, and more of them is never less.
    #[test]
    fn sums_do_not_depend_on_order(parts in prop::collection::vec((1u64.., 1u64..), 1..20), turn: prop::sample::Index) {
        let amount = |(rho, delta): &(u64, u64)| PrivacyCost::Zcdp {
            rho: BudgetUnits::from_bits(u128::from(*rho)),
            delta: BudgetUnits::from_bits(u128::from(*delta)),
            omega: Omega::EVERY,
        };
        let sum = |parts: &[(u64, u64)]| parts[1..].iter().fold(amount(&parts[0]), |sum, part| sum.plus(&amount(part)).unwrap());
        let mut turned = parts.clone();
        turned.rotate_left(turn.index(parts.len()));
        prop_assert_eq!(sum(&parts), sum(&turned));
        if parts.len() > 1 {
            prop_assert!(sum(&parts[1..]).within(&sum(&parts)));
            prop_assert!(!sum(&parts).within(&sum(&parts[1..])));
        }
    }
}
