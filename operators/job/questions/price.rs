//! The price of a bundle of answers: an epsilon and a delta for all of them, stated, or found within a share of the budget.

use crate::accounting::{BudgetUnits, PrivacyCost, ReleaseCost};
use crate::invalid::{Invalid, InvalidKind};
use crate::job::config::{AskSpec, BudgetShare, Job, PriceSpec};
use crate::job::release_plan::{Horizon, floor, schedule};
use crate::job::unfit::UnfitJob;

/// The price of all answers of a bundle together.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AskPrice {
    pub(crate) epsilon: f64,
    pub(crate) delta: f64,
    /// The cost in the account's currency, of a life that is cut if it is.
    pub(crate) paid: PrivacyCost,
    is_share: bool,
}

impl AskPrice {
    /// Returns the field of the job file that states it.
    pub(crate) fn field(&self) -> &'static str {
        if self.is_share { "share" } else { "cost" }
    }
}

impl Job {
    /// Returns the prices of the bundles of answers, in their order.
    pub(crate) fn ask_prices(&self, horizon: Horizon) -> Result<Vec<AskPrice>, UnfitJob> {
        self.asks.iter().enumerate().map(|(index, ask)| price(self, ask, horizon, index)).collect()
    }
}

fn price(job: &Job, ask: &AskSpec, horizon: Horizon, index: usize) -> Result<AskPrice, UnfitJob> {
    let place = format!("ask[{}]", index + 1);
    let schedule = schedule(job, (ask.every, None), horizon, &place)?;
    let life = schedule.life().map_err(|invalid| UnfitJob::at(format!("{place}.every"), &invalid))?;
    let is_cut = job.account().promise().cuts(life);
    let paid = |epsilon: f64, delta: f64| -> Result<PrivacyCost, Invalid> {
        let cost = ReleaseCost::new(job.account().neighbours(), PrivacyCost::approximate(epsilon, delta)?);
        job.account().counts(&cost)?;
        let amount = if is_cut { cost.partial()? } else { cost.amount().clone() };
        amount.in_currency_of(job.account().cap())
    };
    match &ask.price {
        PriceSpec::Cost(cost) => {
            let float =
                |decimal: &Option<crate::Decimal>| decimal.as_ref().map_or(0.0, crate::Decimal::to_f64);
            let (epsilon, delta) = (float(&cost.epsilon), float(&cost.delta));
            let paid =
                paid(epsilon, delta).map_err(|invalid| UnfitJob::at(format!("{place}.cost"), &invalid))?;
            Ok(AskPrice { epsilon, delta, paid, is_share: false })
        }
        PriceSpec::Share(share) => {
            let whole = part(job.account().cap(), *share);
            let fits =
                |epsilon: f64, delta: f64| paid(epsilon, delta).ok().filter(|paid| paid.within(&whole));
            let found = largest(&whole, is_cut, |epsilon, delta| fits(epsilon, delta).is_some());
            let found = found.and_then(|(epsilon, delta)| Some((epsilon, delta, fits(epsilon, delta)?)));
            let (epsilon, delta, paid) = found.ok_or_else(|| {
                let remedy = "a larger share, or a budget of epsilon and delta";
                UnfitJob::at(format!("{place}.share"), &Invalid::new("share", InvalidKind::TooSmall, remedy))
            })?;
            Ok(AskPrice { epsilon, delta, paid, is_share: true })
        }
    }
}

/// Returns this share of a cap, rounded down.
fn part(cap: &PrivacyCost, share: BudgetShare) -> PrivacyCost {
    // A pure budget pays for no delta.
    let parts = cap.rho_and_delta();
    parts.map_or_else(|| cap.nothing(), |(rho, delta)| cap.alike(share.part_of(rho), share.part_of(delta)))
}

/// Returns the largest epsilon, and the largest delta beside it, that fit into this part of the budget; each has six digits, so
/// that an identity that is made of them is the same on every machine.
fn largest(whole: &PrivacyCost, is_cut: bool, fits: impl Fn(f64, f64) -> bool) -> Option<(f64, f64)> {
    let (_, all) = whole.rho_and_delta()?;
    let six_digits = |number: f64| {
        let units = BudgetUnits::at_most_float("epsilon", number).ok()?;
        Some(floor(units)?.to_f64())
    };
    // Two steps in place of one take a delta twice, the second time times e^epsilon.
    let delta = |epsilon: f64| {
        let times = if is_cut { (1.0 + epsilon.exp()) * (1.0 + 1e-9) } else { 1.0 };
        six_digits(all.to_float_down() / times)
    };
    let fits = |epsilon: f64| delta(epsilon).is_some_and(|delta| fits(epsilon, delta));
    let (mut low, mut high) = (0.0, 500.0);
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if fits(middle) { low = middle } else { high = middle }
    }
    let epsilon = six_digits(low).filter(|epsilon| fits(*epsilon))?;
    Some((epsilon, delta(epsilon)?))
}
