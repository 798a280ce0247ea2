//! Two searches on a line. Neither is trusted: whatever point they end at gives a valid bound.

/// The least value over `ln x` of a function that falls and then rises, and where; `x` from 1e-12 to 1e18.
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

/// How near the crossing [`first_below`] stops, relatively.
const NEAR: f64 = 4e-9;

/// A point at or above 0 where a falling `curve`, given as value and minus its slope, was found at or below `target`, as
/// near as may be to the first such point; infinity if there is none below 1e300. `guess` is where to look first.
pub(super) fn first_below(target: f64, guess: f64, curve: impl Fn(f64) -> (f64, f64)) -> f64 {
    if curve(0.0).0 <= target {
        return 0.0;
    }
    let (mut low, mut high) = (0.0, f64::INFINITY);
    let mut at = guess.max(f64::MIN_POSITIVE);
    for _ in 0..2_000 {
        let (value, fall) = curve(at);
        let distance = (value / target).ln() * value / fall;
        if value <= target {
            high = at;
            if -distance <= NEAR * high || high - low <= NEAR * high {
                return high;
            }
        } else {
            low = at;
            if low > 1e300 {
                return f64::INFINITY;
            }
        }
        // Newton's step on the logarithm, and a hair beyond, so as to land below the target.
        let newton = (at + distance) * (1.0 + NEAR / 2.0);
        at = if newton > low && newton < high {
            newton
        } else if high.is_finite() {
            f64::midpoint(low, high)
        } else {
            2.0 * low.max(f64::MIN_POSITIVE)
        };
    }
    high
}
