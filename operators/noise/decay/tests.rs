#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;

fn decay(numerator: u128, denominator: u128, step: u64) -> Decay {
    Decay::new(Ratio::new(numerator, denominator).unwrap(), step).unwrap()
}

/// Returns a rational just below `e^half`, with this many bits behind the point.
fn e_to(half: Ratio, bits: usize) -> UBig {
    let inverse = Enclosure::exp_minus(&Fraction::Small(half.numerator(), half.denominator()), 2048);
    (UBig::ONE << (2048 + bits)) / inverse.ends().1
}

/// Returns the first loss of the least weight.
fn end(decay: &Decay) -> u64 {
    let (mut some, mut none) = (0, 1 << 40);
    while some + 1 < none {
        let middle = (some + none) / 2;
        if decay.weight(middle) > Decay::LEAST { some = middle } else { none = middle }
    }
    none
}

/// Returns true if one step, or a part of it, changes some weight by more than `e^half`.
fn broken(decay: &Decay, parts: &[u64]) -> bool {
    let most = u128::try_from(e_to(decay.half, 38)).unwrap();
    (0..end(decay) + decay.step).any(|loss| {
        let weight = decay.weight(loss);
        parts.iter().any(|part| {
            let farther = decay.weight(loss + part);
            weight << 38 > most * farther || farther << 38 > most * weight
        })
    })
}

// Refutes a table whose rounding costs more than the part set aside: every loss, and every part of a step if
// there are few.
#[test]
fn no_part_of_a_step_changes_a_weight_by_more_than_half() {
    for (numerator, denominator, step) in
        [(1, 2, 1), (1, 2, 9), (1, 1, 99), (2, 1, 3), (1, 20, 19), (3, 2, 256)]
    {
        let decay = decay(numerator, denominator, step);
        assert!(!broken(&decay, &(1..=step).collect::<Vec<u64>>()), "{decay}");
    }
    for (numerator, denominator, step) in [(1, 100, 99), (1, 1 << 12, 1), (7, 10, 25_000)] {
        let decay = decay(numerator, denominator, step);
        assert!(!broken(&decay, &[1, step.div_ceil(2), step]), "{decay}");
    }
}

// Were nothing set aside, the floors near the least weight would cost more than was paid.
#[test]
fn without_what_is_set_aside_the_promise_is_broken() {
    for (half, step) in [(Ratio::new(1, 2).unwrap(), 9), (Ratio::new(1, 20).unwrap(), 19)] {
        let rate = Fraction::Small(half.numerator(), half.denominator() * u128::from(step));
        assert!(broken(&Decay { half, step, levels: levels(&rate) }, &[step]));
    }
}

#[test]
fn a_steep_fall_keeps_the_promise_too() {
    let decay = decay(1 << 10, 1, 100);
    let most = e_to(decay.half, 0);
    for loss in 0..=end(&decay) {
        for part in 1..=100 {
            assert!(UBig::from(decay.weight(loss)) <= &most * UBig::from(decay.weight(loss + part)));
        }
    }
}

#[test]
fn the_best_weighs_all_and_the_farthest_the_least() {
    for (decay, reach) in [(decay(1, 2, 1), 84), (decay(1, 20, 99), 82_346), (decay(1 << 10, 1, 1), 1)] {
        assert_eq!(decay.weight(0), Decay::MOST);
        assert_eq!(end(&decay), reach, "{decay}");
        assert_eq!(decay.weight(u64::MAX), Decay::LEAST);
    }
    // The widest of all: it has not come to its end at the largest loss there is.
    let widest = decay(1, 1 << 20, 1_000_000 << 31);
    assert_eq!(widest.levels.len(), 8);
    let nats = 2f64.powi(64 - 20 - 31) / 1e6 * (1.0 - 1.0 / 32.0);
    let ideal = 86.0 - nats * std::f64::consts::LOG2_E;
    assert!(((widest.weight(u64::MAX) as f64).log2() - ideal).abs() < 1e-6);
}

proptest! {
    // Refutes a factor of another digit, and a factor that is rounded up, by comparison with the exponential
    // itself.
    #[test]
    fn a_weight_is_the_exponential_cut_off(
        numerator in 1u128..1000,
        denominator in prop_oneof![1u128..1000, Just(1 << 18)],
        step in prop_oneof![1u64..100, 1u64..1 << 20, 1u64..1_000_000 << 31],
        place in 0.0..1.2f64,
    ) {
        let decay = decay(numerator, denominator, step);
        let loss = (place * 41.6 * step as f64 * denominator as f64 / numerator as f64) as u64;
        let kept = UBig::from((numerator << 25) - denominator);
        let exponent = Fraction::Large(kept * UBig::from(loss), UBig::from(denominator << 25) * UBig::from(step));
        let exact = Enclosure::exp_minus(&exponent, 160);
        let high = u128::try_from(exact.ends().1 >> 74usize).unwrap().max(Decay::LEAST);
        let weight = decay.weight(loss);
        prop_assert!(weight <= high);
        prop_assert!(weight + (weight >> 59) + 2 >= high, "{} of {}", weight, high);
    }
}

#[test]
fn what_cannot_be_kept_is_refused_by_name() {
    let refused = |numerator, denominator, step| {
        let refused = Decay::new(Ratio::new(numerator, denominator).unwrap(), step).unwrap_err();
        (refused.field().to_owned(), refused.kind())
    };
    assert_eq!(refused(1, (1 << 20) + 1, 1), ("epsilon".into(), InvalidKind::TooSmall));
    assert_eq!(refused((1 << 10) + 1, 1, 1), ("epsilon".into(), InvalidKind::TooLarge));
    assert_eq!(refused(1, 1, 0), ("step".into(), InvalidKind::Zero));
    assert!(Decay::new(Ratio::new(1, 1 << 20).unwrap(), u64::MAX).is_ok());
    assert!(Decay::new(Ratio::new(u128::MAX, u128::MAX - 1).unwrap(), u64::MAX).is_ok());
}
