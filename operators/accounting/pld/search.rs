//! Two searches on a line. Neither is trusted: every point that they may end at gives a valid bound.

/// Returns the place `ln x` and the value of the minimum of a function of `ln x` that falls and then rises;
/// `x` from 1e-12 to 1e18.
pub(super) fn lowest(f: impl Fn(f64) -> f64) -> (f64, f64) {
    const GOLDEN: f64 = 0.618_033_988_749_894_8;
    let (mut low, mut high) = (-27.7, 41.5);
    let inner = |low: f64, high: f64| high - GOLDEN * (high - low);
    let (mut a, mut b) = (inner(low, high), inner(high, low));
    let (mut at_a, mut at_b) = (f(a), f(b));
    while high - low > 1e-7 {
        if at_a <= at_b {
            (high, b, at_b) = (b, a, at_a);
            a = inner(low, high);
            at_a = f(a);
        } else {
            (low, a, at_a) = (a, b, at_b);
            b = inner(high, low);
            at_b = f(b);
        }
    }
    if at_a <= at_b { (a, at_a) } else { (b, at_b) }
}

/// The relative width of the bracket at which [`first_below`] stops.
const NEAR: f64 = 4e-9;
/// The largest factor between two points of a search without an upper bound.
const LEAP: f64 = 16.0;

/// Returns a point at or above 0 at which a falling `curve`, given as value and minus its slope, was at or
/// below `target`, as near as possible to the first such point; infinity if there is none below 1e300. The
/// search starts at `guess`.
///
/// It stops on a bracket whose lower end was above the target. A Newton step proposes points and decides
/// nothing: at a kink the slope says nothing about the other side (a lattice of losses has a kink at each of
/// them).
pub(super) fn first_below(target: f64, guess: f64, curve: impl Fn(f64) -> (f64, f64)) -> f64 {
    if curve(0.0).0 <= target {
        return 0.0;
    }
    let (mut low, mut high) = (0.0, f64::INFINITY);
    let mut at = guess.max(f64::MIN_POSITIVE);
    for round in 0..2_000 {
        let (value, fall) = curve(at);
        let below = value <= target;
        if below {
            high = at
        } else {
            low = at
        }
        if low > 1e300 {
            return f64::INFINITY;
        }
        if high.is_finite() && high - low <= NEAR * high {
            break;
        }
        // Newton's step on the logarithm, and slightly beyond, so as to land on the other side.
        let distance = (value / target).ln() * value / fall;
        let beyond = if below { -NEAR } else { NEAR } / 4.0;
        let newton = (at + distance) * (1.0 + beyond);
        // Every third step halves, so that no curve can keep Newton's steps short for ever.
        let halves = round % 3 == 2;
        at = if high == f64::INFINITY {
            if newton > low { newton.min(LEAP * at) } else { LEAP * at }
        } else if newton > low && newton < high && !halves {
            newton
        } else if low > 0.0 && high > 4.0 * low {
            low.sqrt() * high.sqrt()
        } else {
            f64::midpoint(low, high)
        };
    }
    high
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Refutes: "a small Newton step is a bracket". The curve has kinks, and just below the guess a cliff
    /// whose foot has almost no slope: the sum of losses of which the largest is the guess.
    #[test]
    fn a_kink_at_the_guess_does_not_end_the_search() {
        for (kinks, target) in [(3, 1e-6), (20, 1e-6), (100, 1e-6), (100, 1e-13), (1000, 1e-30)] {
            let atom = |n: i32| (f64::from(n) / f64::from(kinks), 0.5_f64.powi(n));
            let looks = Cell::new(0);
            let curve = |at: f64| {
                looks.set(looks.get() + 1);
                let (mut value, mut fall) = (0.0, 0.0);
                for (loss, mass) in (1..=kinks).map(atom).filter(|(loss, _)| *loss * (1.0 + 1e-15) > at) {
                    value += mass * -(at - loss * (1.0 + 1e-15)).exp_m1();
                    fall += mass * (at - loss).exp();
                }
                (value, fall)
            };
            let found = first_below(target, 1.0, curve);
            assert!(curve(found).0 <= target, "{kinks}, {target:e}: {found} is too small");
            assert!(
                curve(found * (1.0 - 2.0 * NEAR)).0 > target,
                "{kinks}, {target:e}: {found} is too large"
            );
            assert!(looks.get() < 150, "{kinks}, {target:e}: {} looks", looks.get());
        }
    }

    /// Refutes: "the first point is found from any guess", for roots from 1e-30 to 1e30 and a curve that
    /// never falls.
    #[test]
    fn any_guess_finds_the_root() {
        for root in [1e-30, 1e-9, 0.3, 1.0, 17.0, 1e9, 1e30] {
            for guess in [0.0, 1e-20, 1.0, 1e12] {
                // Falls as a Gaussian's tail does.
                let curve = |at: f64| {
                    let place = at / root;
                    let value = (-place * place).exp();
                    (value, 2.0 * place / root * value)
                };
                let found = first_below((-1.0_f64).exp(), guess, curve);
                assert!(
                    found >= root * (1.0 - 1e-14) && found <= root * (1.0 + NEAR),
                    "{root} {guess}: {found}"
                );
            }
        }
        assert_eq!(first_below(0.5, 1.0, |_| (1.0, 0.0)), f64::INFINITY);
        assert_eq!(first_below(0.5, 1.0, |_| (f64::NAN, 0.0)), f64::INFINITY);
        assert_eq!(first_below(0.5, 1.0, |_| (0.5, 0.0)), 0.0);
    }
}
