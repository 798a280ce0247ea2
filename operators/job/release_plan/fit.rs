//! The privacy costs of the windows of each release, and the check that all of them fit under the cap.

use dashu_int::UBig;

use super::ConcurrentWindows;
use crate::accounting::{BudgetUnits, PrivacyCost, Promise};
use crate::dataflow::Schedule;
use crate::decimal::Decimal;
use crate::job::config::{BudgetShare, CostSpec, Job, PriceSpec};
use crate::job::questions::AskPrice;
use crate::job::unfit::UnfitJob;

/// Returns the cost of a window of each release, in the account's currency, beside the answers of questions.
pub(super) fn costs(
    job: &Job,
    asks: &[AskPrice],
    together: &[ConcurrentWindows],
    schedules: &[Schedule],
) -> Result<Vec<PrivacyCost>, UnfitJob> {
    let cap = job.account().cap();
    let mut left = cap.clone();
    let mut costs: Vec<PrivacyCost> = Vec::with_capacity(together.len());
    // Shares sum to no more than the whole, so they always fit; the rest is for the releases that state a
    // cost.
    for (index, (release, together)) in job.releases.iter().zip(together).enumerate() {
        let cost = match &release.price {
            PriceSpec::Share(share) => part(cap, *share, *together, release.charges_delta()),
            PriceSpec::Cost(words) => job
                .cost(words)
                .map_err(|invalid| UnfitJob::at(format!("release[{}].cost", index + 1), &invalid))?,
        };
        let cost = if release.statistic.as_statistic().has_delta() { below_omega(cost, cap) } else { cost };
        if matches!(release.price, PriceSpec::Share(_)) {
            left = without(&left, &cost, *together).unwrap_or(left);
        }
        costs.push(cost);
    }
    for (index, ask) in asks.iter().enumerate() {
        let place = || format!("ask[{}].{}", index + 1, ask.field());
        let message = || {
            format!(
                "found {} for all answers, where {left} of {cap} is left beside the shares; give less to it or to them",
                ask.paid
            )
        };
        if !ask.paid.within(&left) {
            return Err(UnfitJob::new(place(), message()));
        }
        left = left.less(&ask.paid).map_err(|invalid| UnfitJob::at(place(), &invalid))?;
    }
    // A lifetime without end is spent sooner or later: its releases then stop.
    let endless =
        |index: usize| job.account().promise() == Promise::Lifetime && !schedules[index].is_bounded();
    let written: Vec<StatedCost<'_>> = (job.releases.iter().enumerate())
        .filter_map(|(index, release)| {
            let PriceSpec::Cost(words) = &release.price else { return None };
            let together = if endless(index) { ConcurrentWindows::ONE } else { together[index] };
            Some(StatedCost { index, words, cost: &costs[index], together, at_once: release.pays_once() })
        })
        .collect();
    let beside = |skipped: Option<usize>| {
        let others = written.iter().filter(|written| Some(written.index) != skipped);
        others.clone().try_fold(left.clone(), |left, other| without(&left, other.cost, other.together))
    };
    if beside(None).is_some() {
        return Ok(costs);
    }
    // A cost that can be reduced to fit beside all others, if there is one.
    let fits = |written: &StatedCost<'_>| {
        let left = beside(Some(written.index)).filter(|left| is_some_of(left, cap))?;
        largest_fitting_cost(written.words, written.cost, written.together.divisor(), &left)
            .map(|fits| (left, fits))
    };
    let smaller = written.iter().find_map(|written| fits(written).map(|fits| (written, Some(fits))));
    // Else the largest of all, which is in the way of the others.
    let all =
        |written: &&StatedCost<'_>| written.together.all(written.cost).map_or(u128::MAX, |all| size(&all));
    match smaller.or(written.iter().max_by_key(all).map(|largest| (largest, None))) {
        Some((written, fits)) => Err(too_much(written, fits, cap)),
        None => Ok(costs),
    }
}

/// Returns the cost at the orders of a cap alone, for a mechanism that has none at every order.
fn below_omega(cost: PrivacyCost, cap: &PrivacyCost) -> PrivacyCost {
    match (cost, cap) {
        (PrivacyCost::Zcdp { rho, delta, .. }, PrivacyCost::Zcdp { omega, .. }) => {
            PrivacyCost::Zcdp { rho, delta, omega: *omega }
        }
        (other, _) => other,
    }
}

/// Returns true if the amount is more than a remainder of rounding.
fn is_some_of(left: &PrivacyCost, cap: &PrivacyCost) -> bool {
    size(left) > size(cap) >> 30
}

/// The epsilon or rho of an amount, as a number of the smallest units.
fn size(amount: &PrivacyCost) -> u128 {
    match amount {
        PrivacyCost::Pure { epsilon } => epsilon.to_bits(),
        PrivacyCost::Zcdp { rho, .. } | PrivacyCost::Gaussian { rho, .. } => rho.to_bits(),
        _ => 0,
    }
}

/// A cost that the job file states.
struct StatedCost<'j> {
    index: usize,
    words: &'j CostSpec,
    cost: &'j PrivacyCost,
    together: ConcurrentWindows,
    /// True if the cost is for all windows together.
    at_once: bool,
}

/// Returns the share of the cap, divided part by part by the windows that one account holds at once; a share
/// of delta only with partition selection.
fn part(cap: &PrivacyCost, share: BudgetShare, together: ConcurrentWindows, discovers: bool) -> PrivacyCost {
    let shared = |all: BudgetUnits| share.part_of(all);
    match cap {
        PrivacyCost::Pure { epsilon } => PrivacyCost::Pure { epsilon: together.divide(shared(*epsilon)) },
        PrivacyCost::Zcdp { rho, delta, .. } | PrivacyCost::Gaussian { rho, delta } => {
            let delta = if discovers { together.divide_evenly(shared(*delta)) } else { BudgetUnits::ZERO };
            cap.alike(together.divide(shared(*rho)), delta)
        }
        // Budget accounts hold only these currencies.
        other => other.clone(),
    }
}

/// Returns the amount that is left after the windows of a release are paid; `None` if they do not fit.
fn without(left: &PrivacyCost, cost: &PrivacyCost, together: ConcurrentWindows) -> Option<PrivacyCost> {
    let all = together.all(cost)?;
    if !all.within(left) {
        return None;
    }
    left.less(&all).ok()
}

fn too_much(written: &StatedCost<'_>, fits: Option<(PrivacyCost, String)>, cap: &PrivacyCost) -> UnfitJob {
    let StatedCost { index, cost, together, at_once, .. } = written;
    let windows = match together.windows() {
        1 => "1 window".to_owned(),
        windows => format!("{windows} windows"),
    };
    let cut = together.partial(cost).map_or(String::new(), |partial| format!(" ({partial} where it is cut)"));
    let comes = together.all(cost).map_or("more than 2^64".to_owned(), |all| all.to_string());
    let found = match at_once {
        true => format!("found {cost} for all windows together"),
        false => {
            format!(
                "found {cost} a window{cut}, which comes to {comes} for {windows} that one account holds together"
            )
        }
    };
    let message = match fits {
        Some((left, fits)) => {
            format!(
                "{found}, where {left} of {cap} is left beside the others; give at most cost = {{ {fits} }}"
            )
        }
        None => format!(
            "{found}, the largest of the stated costs; beside the others nothing of {cap} is left: give less to it or to them"
        ),
    };
    UnfitJob::new(format!("release[{}].cost", index + 1), message)
}

/// Returns the text of the largest cost that fits, as a job file states it.
pub(in crate::job) fn largest_fitting_cost(
    words: &CostSpec,
    cost: &PrivacyCost,
    together: u64,
    left: &PrivacyCost,
) -> Option<String> {
    let each = |all: BudgetUnits| BudgetUnits::from_bits(all.to_bits() / u128::from(together.max(1)));
    // A part that fits already is kept as written.
    let kept = |own: BudgetUnits, all: BudgetUnits, word: &Option<Decimal>| match word {
        Some(word) if own <= each(all) => Some(word.clone()),
        _ => floor(each(all)),
    };
    if let (PrivacyCost::Pure { .. }, PrivacyCost::Pure { epsilon }) = (cost, left) {
        return Some(format!("epsilon = {}", floor(each(*epsilon))?));
    }
    let ((rho, delta), (all, all_delta)) = (cost.rho_and_delta()?, left.rho_and_delta()?);
    let noise = match &words.epsilon {
        Some(word) if rho <= each(all) => format!("epsilon = {}", word.clone()),
        Some(_) => format!("epsilon = {}", epsilon_within(&left.alike(each(all), BudgetUnits::ZERO))?),
        None => format!("rho = {}", kept(rho, all, &words.rho)?),
    };
    match &words.delta {
        Some(_) => Some(format!("{noise}, delta = {}", kept(delta, all_delta, &words.delta)?)),
        None => Some(noise),
    }
}

/// Returns a decimal of six digits that is no more than the amount, so that it still fits after it is read
/// and rounded up.
pub(in crate::job) fn floor(amount: BudgetUnits) -> Option<Decimal> {
    let bits = UBig::from(amount.to_bits());
    let scaled = |power: i32| (&bits * UBig::from(10u8).pow(power.unsigned_abs() as usize)) >> 64;
    // 2^-64 has six digits before the point at 10^25.
    let power = (0..=26).find(|power| scaled(*power) >= UBig::from(100_000u32)).unwrap_or(26);
    let digits = scaled(power);
    (digits != UBig::ZERO).then(|| Decimal::of(&digits.to_string(), -power))
}

/// Returns the shortest decimal that is read as this amount where a limit is, rounded down.
pub(in crate::job) fn shortest(amount: BudgetUnits) -> Option<Decimal> {
    let is_read = |decimal: &Decimal| BudgetUnits::at_most("delta", decimal) == Ok(amount);
    decimals_above(amount).map(|(decimal, _)| decimal).find(is_read)
}

/// Returns a short decimal that is no less than the amount where it is read as a limit, and more by a millionth at most,
/// or by 1e-20.
pub(in crate::job) fn ceiling(amount: BudgetUnits) -> Decimal {
    let mut decimals = decimals_above(amount);
    let (mut above, mut is_near) = decimals.next().unwrap_or_else(|| (Decimal::of("", 0), true));
    while !is_near && let Some(next) = decimals.next() {
        (above, is_near) = next;
    }
    above
}

/// Returns the least decimals of up to twenty digits behind the point that are no less than an amount, each with whether it is
/// more by a millionth at most. Two of the longest ones are less than 2^-64 apart.
fn decimals_above(amount: BudgetUnits) -> impl Iterator<Item = (Decimal, bool)> {
    let bits = UBig::from(amount.to_bits());
    (0..=20).map(move |digits_behind: i32| {
        let scaled = &bits * UBig::from(10u8).pow(digits_behind as usize);
        let digits: UBig = (&scaled + UBig::from(u64::MAX)) >> 64;
        let excess = (&digits << 64) - &scaled;
        (Decimal::of(&digits.to_string(), -digits_behind), excess * UBig::from(1_000_000u32) <= scaled)
    })
}

/// Returns a pure epsilon that converts to no more than this amount.
fn epsilon_within(amount: &PrivacyCost) -> Option<Decimal> {
    let fits = |epsilon: f64| {
        let cost = PrivacyCost::pure(epsilon).and_then(|cost| cost.in_currency_of(amount));
        cost.is_ok_and(|cost| cost.within(amount))
    };
    let (mut low, mut high) = (0.0, 500.0);
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if fits(middle) { low = middle } else { high = middle }
    }
    floor(BudgetUnits::at_most_float("epsilon", low).ok()?).filter(|epsilon| fits(epsilon.to_f64()))
}

#[cfg(test)]
mod tests {
    use super::*;

    // Refutes a decimal that is read as another amount, and one that is longer than the file's.
    #[test]
    fn a_limit_has_the_decimal_that_stated_it() {
        for text in ["3e-7", "1e-6", "0.97e-6", "123.456", "1"] {
            let stated = Decimal::parse("delta", text).unwrap();
            assert_eq!(shortest(BudgetUnits::at_most("delta", &stated).unwrap()), Some(stated), "{text}");
        }
        for bits in [1u128, 7, 18_446_744_073_709, (1 << 64) / 3, u128::MAX - 1] {
            let amount = BudgetUnits::from_bits(bits);
            let read = shortest(amount).unwrap();
            assert_eq!(BudgetUnits::at_most("delta", &read), Ok(amount), "{read}");
            let (above, most) = (ceiling(amount), bits.saturating_add(bits / 1_000_000 + 1));
            let read = BudgetUnits::at_most("delta", &above).unwrap_or(BudgetUnits::UNBOUNDED).to_bits();
            assert!(bits <= read && (read <= most || read == u128::MAX), "{bits}: {above}");
        }
    }

    // Refutes a text that no longer fits when it is read, and one that is much smaller than necessary.
    #[test]
    fn what_is_pasted_fits() {
        for bits in [1u128, 7, 12_345, 1 << 40, (1 << 64) - 1, 1 << 64, 100 << 64, u128::MAX - 1] {
            let amount = BudgetUnits::from_bits(bits);
            let text = floor(amount).unwrap().to_string();
            let back = BudgetUnits::at_least("rho", &Decimal::parse("rho", &text).unwrap()).unwrap();
            assert!(back <= amount, "{text}");
            assert!(back.to_bits() as f64 >= 0.9999 * bits as f64 - 1.0, "{text}");
        }
        assert_eq!(floor(BudgetUnits::ZERO), None);
        for rho in [1e-9, 1e-3, 0.5, 20.0] {
            let rho = BudgetUnits::at_most_float("rho", rho).unwrap();
            for account in [PrivacyCost::zcdp(1.0).unwrap(), PrivacyCost::gaussian(1.0).unwrap()] {
                let amount = account.alike(rho, BudgetUnits::ZERO);
                let epsilon = epsilon_within(&amount).unwrap().to_f64();
                let cost =
                    |epsilon: f64| PrivacyCost::pure(epsilon).unwrap().in_currency_of(&amount).unwrap();
                assert!(cost(epsilon).within(&amount) && !cost(epsilon * 1.0001).within(&amount));
            }
        }
    }
}
