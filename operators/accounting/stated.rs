//! The epsilon and delta of a limit: those that it was made from, where they are found again, and else the least epsilon that
//! it proves at a delta.
//!
//! A ledger keeps the limit alone: rho, beside the delta that charges take. A pair of epsilon and delta is found again by trying
//! the deltas that people state: the epsilon of few digits nearest to the one that the limit proves there is the stated one if the
//! limit that it comes to is this one, to the last of its 64 binary digits.

use super::amount::PrivacyCost;
use super::budget::{DeltaForKeys, left, pair};
use super::convert;
use super::gaussian::GaussianCost;
use super::gdp;
use super::units::BudgetUnits;
use crate::decimal::Decimal;

/// The most digits of a stated epsilon, and of a stated delta.
const DIGITS: usize = 6;

/// The delta at which the epsilon of a limit is computed that no delta is known of.
const USUAL_DELTA: &str = "1e-6";

impl PrivacyCost {
    /// Returns the epsilon and delta that this limit was made from. They are looked for among the usual deltas, that of which
    /// the delta for keys is the usual part, and `near`; `None` where none of them makes this limit.
    pub(crate) fn stated_as(&self, near: Option<&Decimal>) -> Option<(Decimal, Decimal)> {
        let powers = (3..=15).flat_map(|power| [1, 5, 2].map(|digit| format!("{digit}e-{power}")));
        let usual = powers.filter_map(|text| Decimal::parse("delta", &text).ok());
        let deltas = near.cloned().into_iter().chain(self.delta_by_part()).chain(usual);
        deltas.into_iter().find_map(|delta| Some((self.epsilon_stated(&delta)?, delta)))
    }

    /// Returns the limit in words, with the epsilon and delta that it was made from, or else an epsilon that it proves, rounded
    /// up.
    pub fn with_epsilon(&self) -> String {
        if self.rho_and_delta().is_none() {
            return self.to_string();
        }
        if let Some((epsilon, delta)) = self.stated_as(None) {
            return format!("{self}: epsilon {epsilon}, delta {delta}");
        }
        let delta = self.delta_by_part().or_else(|| Decimal::parse("delta", USUAL_DELTA).ok());
        let proved = delta.and_then(|delta| Some((self.epsilon_beside(&delta)?, delta)));
        match proved {
            Some((epsilon, delta)) => format!("{self}: epsilon {} at delta {delta}", rounded_up(epsilon)),
            None => self.to_string(),
        }
    }

    /// Returns the delta of which the delta for keys is the usual part, of the fewest digits.
    fn delta_by_part(&self) -> Option<Decimal> {
        let (_, for_keys) = self.rho_and_delta().filter(|(_, delta)| *delta != BudgetUnits::ZERO)?;
        let tenths = match self {
            PrivacyCost::Gaussian { .. } => gdp::USUAL,
            _ => 5,
        };
        let near = for_keys.to_float_up() * 10.0 / tenths as f64;
        in_few_digits(near).find(|delta| {
            let all = BudgetUnits::at_most("delta", delta);
            all.and_then(|all| DeltaForKeys::Usual.of(all, tenths)) == Ok(for_keys)
        })
    }

    /// Returns the least epsilon that the limit proves beside its delta for keys, within this delta in all.
    fn epsilon_beside(&self, delta: &Decimal) -> Option<f64> {
        let (rho, for_keys) = self.rho_and_delta()?;
        let rest = left(BudgetUnits::at_most("delta", delta).ok()?, for_keys).ok()?.to_float_down();
        match self {
            PrivacyCost::Gaussian { .. } => {
                GaussianCost::new(1.0, gdp::mu_of_rho(rho)).and_then(|noise| noise.epsilon(rest)).ok()
            }
            PrivacyCost::Zcdp { omega, .. } => {
                convert::epsilon_of_rho(rho.to_float_up(), omega.to_float(), rest).ok()
            }
            _ => None,
        }
    }

    /// Returns the epsilon of few digits of which this is the limit beside this delta.
    fn epsilon_stated(&self, delta: &Decimal) -> Option<Decimal> {
        let (_, for_keys) = self.rho_and_delta()?;
        let near = self.epsilon_beside(delta)?;
        let is_near = |epsilon: &Decimal| (epsilon.to_f64() / near - 1.0).abs() < 1e-6;
        let is_limit = |epsilon: &Decimal| {
            let limit = match self {
                PrivacyCost::Zcdp { omega, .. } => {
                    let exact = BudgetUnits::at_most;
                    (exact("epsilon", epsilon).and_then(|epsilon| Ok((epsilon, exact("delta", delta)?))))
                        .and_then(|(epsilon, delta)| pair(epsilon, delta, for_keys, *omega))
                }
                _ => gdp::limit_beside(epsilon, delta, for_keys),
            };
            limit.as_ref() == Ok(self)
        };
        in_few_digits(near).filter(is_near).find(is_limit)
    }
}

/// Returns the nearest decimals of one digit and more.
fn in_few_digits(number: f64) -> impl Iterator<Item = Decimal> {
    (0..DIGITS).filter_map(move |behind| Decimal::parse("epsilon", &format!("{number:.behind$e}")).ok())
}

/// Returns a decimal of six digits that is not below a number.
fn rounded_up(number: f64) -> Decimal {
    let text = format!("{number:.5e}");
    let near = Decimal::parse("epsilon", &text).unwrap_or_else(|_| Decimal::of("", 0));
    if near.to_f64() >= number {
        return near;
    }
    let (mantissa, power) = text.split_once('e').unwrap_or((&text, "0"));
    let digits: u64 = mantissa.replace('.', "").parse().unwrap_or(0);
    Decimal::of(&(digits + 1).to_string(), power.parse::<i32>().unwrap_or(0) - 5)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::{Omega, limit};

    fn decimal(text: &str) -> Decimal {
        Decimal::parse("budget", text).unwrap()
    }

    // Refutes a limit whose epsilon and delta are not those that were stated, and one that is found where nothing was.
    #[test]
    fn a_limit_has_the_epsilon_and_delta_that_stated_it() {
        for (epsilon, delta, for_keys) in [
            ("1", "1e-6", None),
            ("1.25", "1e-5", None),
            ("0.1", "2e-9", Some("1e-9")),
            ("3", "4e-6", None),
            ("8", "1e-6", Some("6e-7")),
        ] {
            let (epsilon, delta, stated) = (decimal(epsilon), decimal(delta), for_keys.map(decimal));
            let parts =
                [DeltaForKeys::None, stated.as_ref().map_or(DeltaForKeys::Usual, DeltaForKeys::Stated)];
            for part in parts {
                let gaussian = gdp::limit(&epsilon, &delta, part).unwrap();
                let zcdp = limit(Some(&epsilon), Some(&delta), None, part, Omega::EVERY).unwrap();
                for cap in [gaussian, zcdp] {
                    let found = cap.stated_as(Some(&delta));
                    assert_eq!(found, Some((epsilon.clone(), delta.clone())), "{cap}");
                    assert!(cap.with_epsilon().starts_with(&format!("{cap}: epsilon ")), "{cap}");
                }
            }
        }
        let usual = gdp::limit(&decimal("1"), &decimal("4e-6"), DeltaForKeys::Usual).unwrap();
        assert_eq!(usual.stated_as(None), Some((decimal("1"), decimal("4e-6"))));
        assert!(usual.with_epsilon().ends_with(": epsilon 1, delta 4e-6"), "{}", usual.with_epsilon());
        // By the formula of 2020 rho .1 is 2.15994 at 1e-6; here the least that is proved, rounded up.
        let rho = PrivacyCost::zcdp(0.1).unwrap();
        assert_eq!(rho.stated_as(None), None);
        let proved = convert::epsilon_of_rho(0.1, f64::INFINITY, 1e-6).unwrap();
        let words = rho.with_epsilon();
        let shown = words.strip_prefix("rho 0.1: epsilon ").unwrap().strip_suffix(" at delta 1e-6").unwrap();
        let shown: f64 = shown.parse().unwrap();
        assert!(shown >= proved && shown < proved * 1.00002, "{words} {proved}");
        assert_eq!(PrivacyCost::pure(2.0).unwrap().with_epsilon(), "epsilon 2");
    }
}
