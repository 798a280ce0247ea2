//! `discreet calibrate max` and `discreet calibrate quantile`: the rank errors of private maxima and
//! quantiles.

use clap::Args;
use discreet::mechanisms::{
    BinarySearch, Bound, ContributionBound, Exponential, Grid, Keys, Largest, Maximum, Mechanism, Noised,
    PerPerson, PermuteAndFlip, Quantile, Quantiles, Ranks, TypicalRankError,
};
use serde_json::{Value, json};

use super::stated_budget::{BudgetArgs, StatedBudget};
use super::values::{grid, number, parsed, whole};
use super::{Refusal, counted};

/// The grid and the privacy budget of one window.
#[derive(Debug, Args)]
struct RankArgs {
    /// The number of points of the public grid of answers, with the sentinel below it; or log, for a
    /// logarithmic grid from zero to the end of 64 bits
    #[arg(long, allow_negative_numbers = true, value_parser = grid())]
    grid: Grid,
    #[command(flatten)]
    budget: BudgetArgs,
    /// The probability that the rank error is within the printed bound
    #[arg(long, allow_negative_numbers = true, default_value = "0.99", value_parser = number())]
    confidence: f64,
    /// The number of keys in which one person counts
    #[arg(long, allow_negative_numbers = true, default_value = "1", value_parser = whole())]
    keys: u64,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

/// Returns the exponential mechanism with this budget.
fn exponential(budget: StatedBudget, confidence: f64) -> Exponential {
    let exponential = match budget {
        StatedBudget::Rho(rho) => Exponential::rho(rho),
        StatedBudget::Epsilon(epsilon) => Exponential::epsilon(epsilon),
    };
    exponential.confidence(confidence)
}

/// The largest value, or another monotone function, of each key.
#[derive(Debug, Args)]
pub(crate) struct MaxArgs {
    #[command(flatten)]
    rank: RankArgs,
}

impl MaxArgs {
    /// Returns the answer, ready to print.
    pub(crate) fn run(&self) -> Result<String, Refusal> {
        let RankArgs { ref grid, confidence, keys, .. } = self.rank;
        let budget = self.rank.budget.budget()?;
        let limits = Bound::keys(keys).checked()?;
        let largest = Largest::new(Maximum, PerPerson::Greatest, grid.clone(), limits, Keys::whole())?;
        let search = match budget {
            StatedBudget::Rho(rho) => BinarySearch::rho(rho),
            StatedBudget::Epsilon(epsilon) => BinarySearch::epsilon(epsilon),
        };
        let search = maximum_bound(search.confidence(confidence).prepare(&largest)?.noise())?;
        let inverse = maximum_bound(exponential(budget, confidence).prepare(&largest)?.noise())?;
        let comparisons = grid.comparisons();
        let (currency, spent) = budget.named();
        if self.rank.json {
            let mut line = json!({
                "mechanism": "binary search",
                "grid": grid.points(),
                "keys": keys,
                "confidence": confidence,
                "comparisons": comparisons,
                "noise": search.kind,
                "scale": search.scale,
                "tau": search.tau,
                "rank_error": 2 * search.tau,
                "shifted_inverse": {"scale": inverse.scale, "tau": inverse.tau, "rank_error": 2 * inverse.tau},
            });
            line[currency] = spent.into();
            return Ok(format!("{line}\n"));
        }
        let [scale, inverse_scale] = [search.scale, inverse.scale].map(|scale| format!("{scale:.6}"));
        Ok(format!(
            "search   {comparisons} comparisons of {kind} noise, scale {scale}, on a grid of {points} points\n         \
             tau {tau}: too small by at most {twice} people, with probability {confidence}\n\
             inverse  the exponential mechanism, scale {inverse_scale}\n         \
             tau {inverse_tau}: too small by at most {inverse_twice} people, with probability {confidence}\n\
             cost     {currency} = {spent}, for a person in {in_keys}\n\n\
             A private maximum is too small by design: it is between the value of the {twice}th largest person and the\n\
             largest, up to a point of the grid. With fewer than tau people the answer is the least point of the grid, or noise.\n",
            kind = search.kind,
            points = grid.points(),
            tau = search.tau,
            twice = 2 * search.tau,
            inverse_tau = inverse.tau,
            inverse_twice = 2 * inverse.tau,
            in_keys = counted(keys, "key"),
        ))
    }
}

/// The rank error of a maximum: it is too small by at most twice `tau` people.
struct MaximumBound {
    kind: &'static str,
    scale: f64,
    tau: u64,
}

fn maximum_bound(noise: &[Noised]) -> Result<MaximumBound, Refusal> {
    let found = noise.first().and_then(|noised| match noised.ranks() {
        Some(Ranks::Below { tau, .. }) => {
            Some(MaximumBound { kind: noised.kind(), scale: noised.scale(), tau })
        }
        _ => None,
    });
    // Unreachable: every prepared maximum has such a bound.
    found.ok_or_else(|| Refusal::new("grid: found one without a bound of the rank error; give another"))
}

/// Quantiles, with the bound of their rank errors.
#[derive(Debug, Args)]
pub(crate) struct QuantileArgs {
    #[command(flatten)]
    rank: RankArgs,
    /// The quantiles, ascending, such as 0.5,0.95
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "0.5",
        allow_negative_numbers = true,
        value_parser = parsed::<Quantile>()
    )]
    q: Vec<Quantile>,
    /// The number of values of one person that count in a key
    #[arg(long, allow_negative_numbers = true, default_value = "1", value_parser = whole())]
    per_key: u64,
    /// Use permute-and-flip instead of the exponential mechanism; for a pure budget and at most 65,536 points
    #[arg(long)]
    flip: bool,
}

impl QuantileArgs {
    /// Returns the answer, ready to print.
    pub(crate) fn run(&self) -> Result<String, Refusal> {
        let RankArgs { ref grid, confidence, keys, .. } = self.rank;
        let (budget, per_key) = (self.rank.budget.budget()?, self.per_key);
        let quantiles = self.quantiles()?;
        let prepared = match (self.flip, budget) {
            (true, StatedBudget::Epsilon(epsilon)) => {
                PermuteAndFlip::epsilon(epsilon).confidence(confidence).prepare(&quantiles)?
            }
            (true, StatedBudget::Rho(_)) => {
                return Err(Refusal::new(
                    "rho: found it beside flip; give epsilon, for permute-and-flip has no rho",
                ));
            }
            (false, _) => exponential(budget, confidence).prepare(&quantiles)?,
        };
        let each: Vec<QuantileBound> = prepared.noise().iter().filter_map(quantile_bound).collect();
        let kind = prepared.noise().first().map_or("", Noised::kind);
        let worst =
            each.iter().fold((0.0f64, 0), |most, own| (most.0.max(own.scale), most.1.max(own.rank_error)));
        let (currency, spent) = budget.named();
        if self.rank.json {
            let quantile_json = |own: &QuantileBound| json!({"q": own.q, "scale": own.scale, "rank_error": own.rank_error, "typical": own.typical});
            let mut line = json!({
                "mechanism": kind,
                "grid": grid.points(),
                "keys": keys,
                "per_key": per_key,
                "confidence": confidence,
                "scale": worst.0,
                "rank_error": worst.1,
                "quantiles": each.iter().map(quantile_json).collect::<Vec<Value>>(),
            });
            line[currency] = spent.into();
            return Ok(format!("{line}\n"));
        }
        let lines: String = each
            .iter()
            .map(|QuantileBound { q, scale, rank_error, typical: TypicalRankError { half, nine_tenths, .. } }| {
                format!(
                    "q {q:<6} off by at most {rank_error} ranks, with probability {confidence} (scale {scale:.6})\n         \
                     typically half within {half} and 90 of 100 within {nine_tenths}\n"
                )
            })
            .collect();
        Ok(format!(
            "{lines}by       {kind}, on a grid of {} points\ncost     {currency} = {spent}, for a person with {} in each of {}\n\n\
             A rank is a number of values: how far off the answer itself is depends on how many values lie near it. What is\n\
             typical is no promise: it is of many values that differ and lie evenly among the points, and more where many are equal.\n",
            grid.points(),
            counted(per_key, "value"),
            counted(keys, "key"),
        ))
    }

    fn quantiles(&self) -> Result<Quantiles<()>, Refusal> {
        let bound: ContributionBound = Bound::keys(self.rank.keys).per_key(self.per_key).checked()?;
        Ok(Quantiles::new(self.q.iter().copied(), self.rank.grid.clone(), bound, Keys::whole())?)
    }
}

/// A quantile, its scale in ranks, the bound of its rank error, and what is typical of it.
struct QuantileBound {
    q: f64,
    scale: f64,
    rank_error: u64,
    typical: TypicalRankError,
}

fn quantile_bound(noised: &Noised) -> Option<QuantileBound> {
    match noised.ranks() {
        Some(Ranks::Within { quantile, rank_error }) => Some(QuantileBound {
            q: quantile.to_f64(),
            scale: noised.scale(),
            rank_error,
            typical: noised.typical()?,
        }),
        _ => None,
    }
}
