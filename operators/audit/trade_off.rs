//! Trade-off curves that audits refute: by how much a mechanism is claimed to hide one unit.

use super::tails::{normal, normal_quantile};

/// A claim about a mechanism on neighbouring data, as the least probability under one of them of an event that has a given
/// probability under the other.
#[derive(Clone, Debug, PartialEq)]
pub enum TradeOff {
    /// No easier to tell than a normal law from one that is moved by `mu` deviations.
    Gaussian {
        /// The distance in deviations.
        mu: f64,
    },
    /// (epsilon, delta)-private; purely epsilon-private where delta is 0.
    Approximate {
        /// The epsilon.
        epsilon: f64,
        /// The delta.
        delta: f64,
    },
    /// The corners of a convex polygon from (0, 0) to (1, 1), ordered by both coordinates.
    Polygon(Vec<(f64, f64)>),
}

/// The largest scale, in steps, of which the law of integers is taken by its points.
const POINTS: f64 = 1000.0;

impl TradeOff {
    /// Returns the curve of integer noise that one unit moves by `shift`, from `P[Z >= at]` of its symmetric law, whose
    /// logarithm is concave; `None` if there are too many points.
    ///
    /// The likelihood ratio of such noise grows with the answer, so the events of the curve are all answers up to one.
    pub fn of_integers(tail: impl Fn(i64) -> f64, scale: f64, shift: u64) -> Option<TradeOff> {
        if scale.is_nan() || scale + shift as f64 > POINTS {
            return None;
        }
        let shift = i64::try_from(shift).ok()?;
        let reach = (40.0 * scale.max(1.0)).ceil() as i64 + shift;
        let up_to = |at: i64| tail(-at).min(1.0);
        let mut points = vec![(0.0, 0.0)];
        points.extend((-reach..=reach).map(|at| (up_to(at), up_to(at - shift))));
        points.push((1.0, 1.0));
        points.dedup_by(|one, other| one.0 <= other.0);
        Some(TradeOff::Polygon(points))
    }

    /// Returns the least probability, rounded down, of an event that has probability `chance` under the other law.
    pub fn least_under_other(&self, chance: f64) -> f64 {
        if chance >= 1.0 {
            return 1.0;
        }
        let found = match self {
            TradeOff::Gaussian { mu } => normal(normal_quantile(chance) - mu),
            TradeOff::Approximate { epsilon, delta } => {
                let few = libm::exp(-epsilon) * (chance - delta);
                few.max(1.0 - delta - libm::exp(*epsilon) * (1.0 - chance))
            }
            TradeOff::Polygon(points) => {
                let after = points.partition_point(|(x, _)| *x <= chance).clamp(1, points.len() - 1);
                let ((x, low), (end, high)) = (points[after - 1], points[after]);
                low + (high - low) * ((chance - x) / (end - x))
            }
        };
        (found * (1.0 - 1e-11)).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tail of discrete Laplace noise.
    fn laplace(scale: f64) -> impl Fn(i64) -> f64 {
        move |at: i64| {
            let a = libm::exp(-1.0 / scale);
            let above = |at: i64| a.powi(at as i32) / (1.0 + a);
            if at > 0 { above(at) } else { 1.0 - above(1 - at) }
        }
    }

    // Refutes a curve in the wrong direction, and one above the law of the noise.
    #[test]
    fn a_law_of_integers_is_told_apart_as_its_points_are() {
        let polygon = TradeOff::of_integers(laplace(2.0), 2.0, 1).unwrap();
        let pure = TradeOff::Approximate { epsilon: 0.5, delta: 0.0 };
        for step in 1..1000 {
            let chance = f64::from(step) / 1000.0;
            let (exact, bound) = (polygon.least_under_other(chance), pure.least_under_other(chance));
            assert!(exact >= bound - 1e-12 && exact <= chance, "{chance}: {exact} {bound}");
        }
        // A shift of one step has two losses alone, so that the polygon is that of the bound.
        let median = laplace(2.0)(0);
        assert!((polygon.least_under_other(median) - pure.least_under_other(median)).abs() < 1e-9);
        // A shift of two has a third loss, of 0, between them: it is harder to tell.
        let far = TradeOff::of_integers(laplace(4.0), 4.0, 2).unwrap();
        assert!(far.least_under_other(0.61) > pure.least_under_other(0.61) + 0.01);
        assert_eq!(TradeOff::of_integers(laplace(4.0), 1e6, 2), None);
    }

    // Refutes an event of probability 1 that is unlikely under the other law, and a delta that is left out.
    #[test]
    fn curves_lead_from_nothing_to_everything() {
        for law in [
            TradeOff::Gaussian { mu: 0.5 },
            TradeOff::Approximate { epsilon: 1.0, delta: 1e-3 },
            TradeOff::of_integers(laplace(3.0), 3.0, 2).unwrap(),
        ] {
            assert_eq!(law.least_under_other(1.0), 1.0);
            assert_eq!(law.least_under_other(0.0), 0.0);
            let mut former = 0.0;
            for step in 0..=100 {
                let found = law.least_under_other(f64::from(step) / 100.0);
                assert!(found >= former, "{law:?} {step}");
                former = found;
            }
        }
        let law = TradeOff::Approximate { epsilon: 0.0, delta: 0.1 };
        assert!((law.least_under_other(0.5) - 0.4).abs() < 1e-10);
    }
}
