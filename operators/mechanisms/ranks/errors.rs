//! The rank error of an answer that inherits parts of other errors.

/// A part of an error whose tail is bounded.
pub(super) struct PartialError<'a> {
    /// The part, from 0 to 1.
    pub(super) part: f64,
    /// The number of people over which the tail falls by `e`, far out.
    pub(super) scale: f64,
    /// Bounds the probability that the error is more than this number of people; it never grows.
    pub(super) exceeds: Box<dyn Fn(u64) -> f64 + 'a>,
}

/// The number of steps in a scale, for one error.
const FINE: f64 = 128.0;
/// The chance from which on errors are taken to be as large as the one with this chance.
const NEAR: f64 = 0.9;
/// The part of the chance that errors beyond the last step take.
const BEYOND: f64 = 1e-4;
/// The most steps of one error.
const STEPS: usize = 1 << 16;

/// The least number of people that a sum of independent errors with these tails exceeds with a probability of at most
/// `outside`; `None` where there is none.
///
/// Errors are rounded up to steps, and what is beyond the last step counts as too much: all that is rounded is rounded up.
/// A single whole error is not rounded.
pub(super) fn least_kept(errors: &[PartialError<'_>], outside: f64) -> Option<u64> {
    let errors: Vec<&PartialError<'_>> = errors.iter().filter(|error| error.part > 0.0).collect();
    match &errors[..] {
        [] => Some(0),
        [error] if error.part == 1.0 => least_single(&error.exceeds, outside),
        _ => least_sum(&errors, outside),
    }
}

fn least_single(exceeds: &dyn Fn(u64) -> f64, outside: f64) -> Option<u64> {
    let (mut below, mut at) = (0, 1u64 << 40);
    if exceeds(0) <= outside {
        return Some(0);
    }
    if exceeds(at) > outside {
        return None;
    }
    while below + 1 < at {
        let middle = below + (at - below) / 2;
        if exceeds(middle) <= outside { at = middle } else { below = middle }
    }
    Some(at)
}

/// The chances of one error, in steps.
struct SteppedError {
    first: u64,
    /// The chance of each number of steps, from `first` on.
    chances: Vec<f64>,
    /// The chance of more steps than these.
    beyond: f64,
}

/// The number of steps at which a tail is as low as it falls.
const FAR: u64 = 1 << 48;

impl SteppedError {
    /// Rounds an error up to steps of this number of people, and leaves out what is beyond a chance of `little`.
    ///
    /// A tail may stay above that: each of the points of a fine grid weighs something, however far off it is. Then it is
    /// followed to within `little` of the chance at which it stays. To go on would add steps that have no chance.
    fn of(error: &PartialError<'_>, step: f64, little: f64) -> Option<SteppedError> {
        // Whole people alone: the last below a number of steps decides.
        let above = |steps: u64| {
            (error.exceeds)((steps as f64 * step / error.part * (1.0 - 1e-12)) as u64).clamp(0.0, 1.0)
        };
        let first = first_at_most(&above, NEAR)?;
        let stays = above(FAR);
        let enough = if stays < little { little } else { stays + little };
        let (mut chances, mut beyond) = (Vec::new(), 1.0);
        for steps in (first..).take(STEPS) {
            let next = above(steps).min(beyond);
            chances.push(beyond - next);
            beyond = next;
            if beyond <= enough {
                break;
            }
        }
        Some(SteppedError { first, chances, beyond })
    }
}

fn least_sum(errors: &[&PartialError<'_>], outside: f64) -> Option<u64> {
    let number = errors.len() as f64;
    let widest = errors.iter().map(|error| error.part * error.scale).fold(0.0, f64::max);
    let step = (widest * number / FINE).max(1.0 / 64.0);
    let little = outside * BEYOND / number;
    let errors: Vec<SteppedError> =
        errors.iter().map(|error| SteppedError::of(error, step, little)).collect::<Option<_>>()?;
    let first: u64 = errors.iter().map(|error| error.first).sum();
    let beyond: f64 = errors.iter().map(|error| error.beyond).sum();
    if beyond > outside {
        // All of it is too much where what is beyond is.
        return None;
    }
    let chances = errors.iter().fold(vec![1.0], |sums, error| convolved(&sums, &error.chances));
    // From the far end, as long as it is little enough.
    let mut tail = beyond;
    for (steps, chance) in chances.iter().enumerate().rev() {
        tail += chance;
        if tail > outside {
            let last = first + steps as u64;
            return Some((last as f64 * step * (1.0 + 1e-12)).ceil() as u64);
        }
    }
    Some((first as f64 * step).ceil() as u64)
}

/// The least number at which a tail is at most this.
fn first_at_most(above: &dyn Fn(u64) -> f64, chance: f64) -> Option<u64> {
    let (mut low, mut high) = (0, FAR);
    if above(high) > chance {
        return None;
    }
    while low < high {
        let middle = low + (high - low) / 2;
        if above(middle) <= chance { high = middle } else { low = middle + 1 }
    }
    Some(low)
}

/// The chances of a sum of two independent numbers of steps.
pub(super) fn convolved(one: &[f64], other: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; one.len() + other.len() - 1];
    for (at, chance) in one.iter().enumerate() {
        for (sum, own) in sums[at..].iter_mut().zip(other) {
            *sum += chance * own;
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An error of at least `least`, whose tail falls by `e` over a scale from there on.
    fn error(part: f64, least: f64, scale: f64) -> PartialError<'static> {
        let exceeds = move |people: u64| (-(people as f64 - least) / scale).exp().min(1.0);
        PartialError { part, scale, exceeds: Box::new(exceeds) }
    }

    // Refutes a sum whose tail is below the exact one, and one that is far above it.
    #[test]
    fn a_sum_is_that_of_its_tails() {
        assert_eq!(least_kept(&[], 0.1), Some(0));
        assert_eq!(least_kept(&[error(1.0, 10.0, 1.0)], 0.1), Some(13));
        // Two with the same scale: (1 + x) e^-x of the second and first together.
        let two =
            |outside| least_kept(&[error(1.0, 300.0, 100.0), error(1.0, 500.0, 100.0)], outside).unwrap();
        for (outside, x) in [(0.1, 3.8897), (0.01, 6.6384), (1e-6, 16.6884)] {
            let exact = 800.0 + 100.0 * x;
            let kept = two(outside) as f64;
            assert!(kept >= exact - 0.5 && kept <= exact + 6.0, "{outside}: {kept} and {exact}");
        }
        // A half of another: 2 e^-x - e^-2x.
        let half = least_kept(&[error(1.0, 0.0, 100.0), error(0.5, 0.0, 100.0)], 0.1).unwrap() as f64;
        assert!((296.9..303.0).contains(&half), "{half}");
        // No more than the sum of both, each at its part of the chance.
        assert!(two(0.1) < 800 + 2 * 300);
    }

    /// An error whose tail stays at `stays`, as that of a choice among many points does.
    fn staying(part: f64, scale: f64, stays: f64) -> PartialError<'static> {
        let exceeds = move |people: u64| ((-(people as f64 - 20.0 * scale) / scale).exp() + stays).min(1.0);
        PartialError { part, scale, exceeds: Box::new(exceeds) }
    }

    // Refutes a tail that is followed after it has ceased to fall: the steps of each error are a number that does not
    // depend on where it stays.
    #[test]
    fn a_tail_is_followed_as_far_as_it_falls() {
        for number in 2..9 {
            for stays in [0.0, 1e-12, 3e-7, 1e-6, 1.000_001e-6, 1e-5, 1e-4, 1e-3] {
                for outside in [0.5, 0.01, 1e-6] {
                    let error = staying(1.0, 1000.0, stays);
                    let step = 1000.0 * number as f64 / FINE;
                    let little = outside * BEYOND / number as f64;
                    let stepped = SteppedError::of(&error, step, little).unwrap();
                    // 80 scales, past which a float that is `stays` and something is `stays`.
                    let most = (80.0 * FINE / number as f64) as usize;
                    assert!(
                        stepped.chances.len() <= most,
                        "{number} {stays} {outside}: {}",
                        stepped.chances.len()
                    );
                    assert!(stepped.beyond <= little || stepped.beyond <= stays + little);
                    let all: f64 = stepped.chances.iter().sum::<f64>() + stepped.beyond;
                    assert!((all - 1.0).abs() < 1e-9);
                }
            }
        }
    }

    // Refutes a sum that leaves out where a tail stays, and one that is far above the sum of tails that do not.
    #[test]
    fn a_tail_that_stays_counts_as_beyond() {
        let kept = |stays: f64, outside: f64| {
            let errors = [staying(1.0, 1000.0, stays), staying(0.5, 1000.0, stays)];
            least_kept(&errors, outside)
        };
        let falling = kept(0.0, 0.01).unwrap();
        for stays in [1e-9, 1e-7, 1e-6, 1e-5, 1e-4] {
            // A sum that keeps what is beyond out of its chance is at most as large as one with the rest of it.
            let exact_at_most = kept(0.0, 0.01 - 2.0 * stays - 2e-6).unwrap();
            let staying = kept(stays, 0.01).unwrap();
            assert!(
                falling <= staying && staying <= exact_at_most + 64,
                "{stays}: {staying} {exact_at_most}"
            );
        }
        assert_eq!(kept(0.005_1, 0.01), None);
        assert!(kept(0.004, 0.01).unwrap() > falling);
    }

    #[test]
    fn what_no_number_keeps_is_none() {
        let floor = PartialError { part: 1.0, scale: 1.0, exceeds: Box::new(|_| 0.2) };
        assert_eq!(least_kept(&[floor], 0.1), None);
        let floor = PartialError { part: 0.5, scale: 1.0, exceeds: Box::new(|_| 0.2) };
        assert_eq!(least_kept(&[floor, error(1.0, 3.0, 1.0)], 0.1), None);
    }
}
