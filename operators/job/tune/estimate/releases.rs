//! The releases of the second job: the number of people, quantiles of the number of records of a person, and quantiles of the
//! values and sums that the releases of the job need.

use std::collections::BTreeMap;

use super::OPTION;
use crate::dataflow::RunError;
use crate::decimal::Decimal;
use crate::invalid::Invalid;
use crate::job::config::{
    BoundSpec, BudgetShare, ConfigNumber, Every, Job, MaximumOf, NoiseKind, PeopleSpec, PriceSpec,
    QuantileFraction, QuantileSpec, RankedOf, ReleaseSpec, StatisticSpec,
};
use crate::job::tune::shares::of_parts;
use crate::ledger::Name;

/// The names of the releases of people and of their records.
const PEOPLE: &str = "people";
const RECORDS: &str = "records_of_a_person";

/// The fractions of the quantiles of records: close to 1, where few people have many records. Seven are as
/// dear as four.
const OF_RECORDS: [&str; 7] = ["0.25", "0.5", "0.75", "0.9", "0.97", "0.99", "0.998"];

/// The fractions of the quantiles of values.
const OF_VALUES: [&str; 7] = ["0.05", "0.2", "0.35", "0.5", "0.65", "0.8", "0.95"];

/// The largest number of records of a person that is distinguished from more.
const MOST_RECORDS: &str = "4096";

/// The power of ten that divides the range of values into the steps of their answers: the fewer there are,
/// the nearer is the answer.
const STEPS: i32 = 3;

/// The number of equal parts into which the estimate's part of the budget is divided.
const WHOLE: u64 = 1_000;

/// Those that pay for the number of people, and for their records where values are estimated, too.
const FOR_PEOPLE: u64 = 50;
const FOR_RECORDS: u64 = 600;

/// The values of a field that releases need.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ValuesToEstimate {
    /// The statistic of the job file that needs them, such as `release[2].mean`.
    pub(super) place: String,
    pub(super) of: String,
    pub(super) of_sums: bool,
    pub(super) low: ConfigNumber,
    pub(super) high: ConfigNumber,
}

/// Returns the values that the releases need which can be tuned, each field once, with a range that holds all
/// of theirs.
pub(super) fn values_to_estimate(job: &Job) -> Vec<ValuesToEstimate> {
    let mut found: BTreeMap<(String, bool), (String, ConfigNumber, ConfigNumber)> = BTreeMap::new();
    for (at, release) in job.releases.iter().enumerate() {
        let is_tuned = matches!(release.price, PriceSpec::Share(_)) && release.running.is_none();
        let (of, of_sums, low, high) = match &release.statistic {
            _ if !is_tuned || release.condition.is_some() => continue,
            StatisticSpec::Sum(sum) => {
                (&sum.measure.of, release.is_of_all_time(), sum.measure.low, sum.measure.high)
            }
            StatisticSpec::Mean(mean) => (&mean.measure.of, false, mean.measure.low, mean.measure.high),
            StatisticSpec::Histogram(histogram) => {
                let [Some(low), Some(high)] = [histogram.edges.first(), histogram.edges.last()] else {
                    continue;
                };
                let (low, high) = wider(*low, *high).unwrap_or((*low, *high));
                (&histogram.of, false, low, high)
            }
            _ => continue,
        };
        let place = format!("release[{}].{}", at + 1, release.statistic.word());
        let range = found.entry((of.clone(), of_sums)).or_insert((place, low, high));
        (range.1, range.2) = (range.1.min(low), range.2.max(high));
    }
    let own = |((of, of_sums), (place, low, high))| ValuesToEstimate { place, of, of_sums, low, high };
    found.into_iter().map(own).collect()
}

/// Returns a range three times as wide, around the same middle: values beyond the outer edges of a histogram
/// are distinguished from those at them. `None` if its ends are no numbers of a job file.
fn wider(low: ConfigNumber, high: ConfigNumber) -> Option<(ConfigNumber, ConfigNumber)> {
    let power = low.parts().1.min(high.parts().1);
    let (low, high) = (digits(low, power)?, digits(high, power)?);
    let width = high.checked_sub(low)?;
    let number = |digits: i128| ConfigNumber::parse(&format!("{digits}e{power}")).ok();
    Some((number(low.checked_sub(width)?)?, number(high.checked_add(width)?)?))
}

/// Returns a part of a range; `None` if it is no number of a job file.
fn step(low: ConfigNumber, high: ConfigNumber) -> Option<ConfigNumber> {
    let power = low.parts().1.min(high.parts().1);
    let width = digits(high, power)?.checked_sub(digits(low, power)?)?;
    ConfigNumber::parse(&format!("{width}e{}", power - STEPS)).ok()
}

/// Returns the digits of a number behind this power of ten.
fn digits(number: ConfigNumber, power: i32) -> Option<i128> {
    let (digits, own) = number.parts();
    digits.checked_mul(10i128.checked_pow(own.abs_diff(power))?)
}

/// Returns the releases of the second job.
pub(super) fn releases(
    share: BudgetShare,
    values: &[ValuesToEstimate],
    is_pure: bool,
) -> Result<Vec<ReleaseSpec>, RunError> {
    let part = |parts: u64| {
        let parts = share.parts() / WHOLE * parts;
        let message = || {
            RunError::configuration(format!(
                "{OPTION}: found too small a part of the budget; give a larger one"
            ))
        };
        of_parts(parts).ok_or_else(message)
    };
    let release = |name: String, statistic, (per_key, noise), share| {
        Ok::<_, RunError>(ReleaseSpec {
            name: Name::new("release", &name)?,
            version: None,
            every: Every::All,
            over: None,
            running: None,
            condition: None,
            statistic,
            bound: BoundSpec { per_key, ..BoundSpec::NONE },
            noise,
            least_people: None,
            price: PriceSpec::Share(share),
        })
    };
    let quantiles = |each, fractions: &[&str], (low, high, step)| {
        let fraction = |text: &&str| QuantileFraction::of(&Decimal::parse("q", text)?);
        let q = fractions.iter().map(fraction).collect::<Result<Vec<_>, Invalid>>()?;
        Ok::<_, RunError>(StatisticSpec::Quantile(QuantileSpec { each, q, low, high, step, grouping: None }))
    };
    let for_records = if values.is_empty() { WHOLE - FOR_PEOPLE } else { FOR_RECORDS };
    let people = StatisticSpec::People(PeopleSpec { grouping: None });
    let ends = (ConfigNumber::parse("1")?, ConfigNumber::parse(MOST_RECORDS)?, None);
    let records = quantiles(RankedOf::Person(MaximumOf::Count), &OF_RECORDS, ends)?;
    let (no_records, by_rank) = (None, NoiseKind::Exponential);
    let of_people = if is_pure { NoiseKind::Laplace } else { NoiseKind::Gaussian };
    let mut releases = vec![
        release(PEOPLE.to_owned(), people, (no_records, of_people), part(FOR_PEOPLE)?)?,
        release(RECORDS.to_owned(), records, (no_records, by_rank), part(for_records)?)?,
    ];
    for (number, own) in values.iter().enumerate() {
        let each = match own.of_sums {
            true => RankedOf::Person(MaximumOf::Sum(own.of.clone())),
            false => RankedOf::Values(own.of.clone()),
        };
        let statistic = quantiles(each, &OF_VALUES, (own.low, own.high, step(own.low, own.high)))?;
        // One value of a person is ranked, so that a person moves a rank by one.
        let bound = ((!own.of_sums).then_some(1), by_rank);
        let own_part = (WHOLE - FOR_PEOPLE - FOR_RECORDS) / values.len() as u64;
        releases.push(release(format!("values_{}", number + 1), statistic, bound, part(own_part)?)?);
    }
    Ok(releases)
}
