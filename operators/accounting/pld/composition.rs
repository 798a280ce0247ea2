//! The total loss of a bundle in one direction: what is lost outright, what is listed, what is integrated.

use std::sync::Arc;

use super::complex::ULP;
use super::exact::ExactLossDistribution;
use super::integral::Integral;
use super::law::LossLaw;
use super::search::first_below;
use super::zcdp;

/// The privacy loss of one use: its law where it is finite, and the probability that it is not.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PrivacyLoss {
    pub(super) law: LossLaw,
    pub(super) infinite: f64,
}

#[derive(Debug)]
pub(super) struct Composition {
    infinite: f64,
    finite: f64,
    total: TotalLoss,
}

#[derive(Debug)]
enum TotalLoss {
    Zcdp(f64),
    Exact(ExactLossDistribution),
    Integral(Integral),
}

impl Composition {
    /// Composes losses, each as often as counted, and a part that is `rho`-zCDP.
    pub(super) fn new<'a>(losses: impl Iterator<Item = (&'a PrivacyLoss, u64)>, rho: f64) -> Composition {
        let (mut uses, mut squares, mut log_finite) = (Vec::new(), 0.0, 0.0);
        for (loss, count) in losses {
            log_finite += count as f64 * libm::log1p(-loss.infinite);
            match &loss.law {
                LossLaw::Gaussian { ratio } => squares += count as f64 * ratio * ratio,
                law => uses.push((law.clone(), count)),
            }
        }
        let slack = (uses.len() as f64 + 8.0) * 8.0 * ULP;
        let gaussian = (squares * (1.0 + slack)).sqrt() * (1.0 + 2.0 * ULP);
        if rho > 0.0 && (gaussian > 0.0 || !uses.is_empty()) {
            // The atoms hold all but this tail, which is below their rounding.
            let (atoms, infinite) = zcdp::dots(rho);
            log_finite += libm::log1p(-infinite);
            uses.push((LossLaw::Atoms(Arc::from(atoms)), 1));
        }
        let total = if rho > 0.0 && gaussian == 0.0 && uses.is_empty() {
            TotalLoss::Zcdp(rho)
        } else {
            match ExactLossDistribution::list(&uses, gaussian) {
                Some(exact) => TotalLoss::Exact(exact),
                None => TotalLoss::Integral(Integral::new(&uses, gaussian)),
            }
        };
        let left_out = if let TotalLoss::Exact(exact) = &total { exact.left_out() } else { 0.0 };
        Composition {
            infinite: (-libm::expm1(log_finite) * (1.0 + slack) + left_out).min(1.0),
            finite: libm::exp(log_finite * (1.0 - slack)),
            total,
        }
    }

    /// An upper bound on the hockey-stick divergence at `epsilon`.
    pub(super) fn delta(&self, epsilon: f64) -> f64 {
        let finite = match &self.total {
            TotalLoss::Zcdp(rho) => zcdp::zcdp_delta(*rho, epsilon).0,
            TotalLoss::Exact(exact) => exact.delta(epsilon).0,
            TotalLoss::Integral(integral) => integral.delta(epsilon),
        };
        ((self.infinite + self.finite * finite) * (1.0 + 4.0 * ULP)).min(1.0)
    }

    /// A bound on the least epsilon at which the divergence is at most `delta`; infinite if there is none.
    pub(super) fn epsilon(&self, delta: f64) -> f64 {
        let target = (delta - self.infinite) / self.finite * (1.0 - 16.0 * ULP);
        if target.is_nan() || target <= 0.0 {
            return f64::INFINITY;
        }
        match &self.total {
            TotalLoss::Zcdp(rho) => first_below(target, 1.0, |epsilon| zcdp::zcdp_delta(*rho, epsilon)),
            TotalLoss::Exact(exact) => first_below(target, 1.0, |epsilon| exact.delta(epsilon)),
            TotalLoss::Integral(integral) => integral.epsilon(target),
        }
    }
}
