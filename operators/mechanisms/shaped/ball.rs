//! Vectors of bounded length, as integers.

/// The integers of a vector in steps of `1 / unit`, rounded toward zero; where they would be longer than `longest`, those
/// of the vector as much shorter as it takes, so that the sum of their squares is at most `longest^2`, in integers. What is
/// no vector of finite numbers becomes zero.
///
/// It takes the place of what is in `whole`. `longest` is at most 2^60.
pub(in crate::mechanisms) fn within(found: &[f64], unit: f64, longest: u64, whole: &mut Vec<i64>) {
    let finite = found.iter().all(|entry| entry.is_finite());
    let most = found.iter().fold(1.0f64, |most, entry| most.max(entry.abs()));
    // Beside the largest entry, so that no square leaves the floats.
    let beside = found.iter().map(|entry| (entry / most).powi(2)).sum::<f64>().sqrt();
    let (over, mut scale) = match most * beside * unit {
        _ if !finite => (1.0, 0.0),
        length if length <= longest as f64 => (1.0, unit),
        _ => (most, longest as f64 / beside),
    };
    let limit = u128::from(longest).pow(2);
    // One step of the scale is more than all rounding: the second try is short enough, unless the first was.
    for _ in 0..4 {
        whole.clear();
        whole.extend(found.iter().map(|&entry| (entry / over * scale) as i64));
        if squares(whole) <= limit {
            return;
        }
        scale *= 1.0 - libm::exp2(-45.0);
    }
    whole.iter_mut().for_each(|entry| *entry = 0);
}

/// The sum of the squares; the largest number where it is beyond that.
pub(in crate::mechanisms) fn squares(whole: &[i64]) -> u128 {
    whole.iter().fold(0, |sum: u128, entry| sum.saturating_add(u128::from(entry.unsigned_abs()).pow(2)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ball(found: &[f64], unit: f64, longest: u64) -> Vec<i64> {
        let mut whole = vec![7; 3];
        within(found, unit, longest, &mut whole);
        assert_eq!(whole.len(), found.len());
        whole
    }

    #[test]
    fn what_fits_is_rounded_toward_zero_and_what_is_no_number_is_zero() {
        assert_eq!(ball(&[1.75, -0.75], 2.0, 100), [3, -1]);
        assert_eq!(ball(&[3.0, 4.0], 1.0, 5), [3, 4], "just as long as it may be");
        assert_eq!(ball(&[30.0, -40.0], 1.0, 5), [3, -4]);
        assert_eq!(ball(&[0.0; 4], 1.0, 5), [0; 4]);
        for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(ball(&[1.0, odd], 1.0, 5), [0, 0]);
        }
        assert_eq!(ball(&[f64::MAX, -f64::MAX], 1.0, 5), [3, -3], "its length is no number");
        assert_eq!(ball(&[f64::MAX / 4.0, 1.0], 1.0, 1 << 20), [1 << 20, 0]);
        assert_eq!(ball(&[f64::MIN_POSITIVE / 4.0], 1024.0, 5), [0]);
        assert_eq!(ball(&[1.0], 1.0, 0), [0]);
    }

    proptest! {
        // Refutes a length that is enforced before rounding, or of floats: and one that is enforced where none need be.
        #[test]
        fn no_vector_is_longer_than_it_may_be(
            found in proptest::collection::vec(prop_oneof![-1e3f64..1e3, proptest::num::f64::ANY], 0..20),
            bits in 0i32..31,
            longest in prop_oneof![0u64..50, 0u64..1 << 37],
        ) {
            let unit = libm::exp2(bits.into());
            let whole = ball(&found, unit, longest);
            prop_assert!(squares(&whole) <= u128::from(longest).pow(2));
            let own: f64 = found.iter().map(|entry| (entry * unit).powi(2)).sum::<f64>().sqrt();
            if own < longest as f64 * (1.0 - 1e-9) {
                prop_assert_eq!(whole, found.iter().map(|entry| (entry * unit) as i64).collect::<Vec<_>>());
            } else if own.is_finite() && longest > 1000 {
                let lost = longest as f64 - (squares(&whole) as f64).sqrt();
                prop_assert!(lost <= (found.len() as f64).sqrt() + 1e-6 * longest as f64, "{}", lost);
            }
        }
    }
}
