//! The shape of a log that is made of an estimate: of what a job has released about its own records.
//!
//! Nothing but released numbers and stated ones is read here. The people have the released quantiles of
//! records, the values those of values, and a person's sum is as large among all sums as the number of its
//! records among all numbers. Nothing is known of the windows and keys of a person: the records of one are
//! taken to be in as many windows as `bound.windows` and as many keys of a window as `bound.keys` of the job
//! file, and without `bound.windows` at any time; half of the values of a person are like the one before.

use std::path::PathBuf;

use serde::{Serialize, Serializer};

use super::{CountedRecord, GENERATED, KEYS, LogOrigin, LogShape, ReleaseRecords};
use crate::dataflow::RunError;
use crate::job::config::{BudgetShare, ConfigNumber, Job, ReleaseSpec};
use crate::job::plan::short;
use crate::job::release_plan::ReleasePlan;
use crate::job::run::{as_part, rounded_down, rounded_up};
use crate::job::sources::{SplitMix, SyntheticLog};
use crate::job::statistics::StatisticSpec;
use crate::job::tune::{StatedKeys, as_number};
use crate::mechanisms::{DecimalPoint, Edges};
use crate::time::Time;

/// A log of which an estimate was released.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct EstimatedLog {
    /// The part of the budget that has paid for the estimate.
    #[serde(serialize_with = "as_number")]
    pub share: BudgetShare,
    /// The part of the budget that the releases of the job have together, by their shares, in units of
    /// [`BudgetShare::parts`]; as JSON a number.
    #[serde(serialize_with = "as_part")]
    pub releases: u64,
    /// The part of the budget that other jobs, and other versions of this one, have paid, in the same units.
    #[serde(serialize_with = "as_part")]
    pub others: u64,
    /// The name of the account that paid.
    pub account: String,
    /// The file of the released lines.
    pub file: PathBuf,
    /// The number of people.
    pub people: u64,
    /// The quantiles of the number of records of a person.
    pub records: QuantileCurve,
    /// The quantiles of the values of each field that a release needs.
    pub values: Vec<EstimatedValues>,
}

/// The values of a field.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct EstimatedValues {
    /// The field.
    pub of: String,
    /// True if they are sums of a person, and not values of records.
    pub of_sums: bool,
    /// Their quantiles.
    pub curve: QuantileCurve,
    /// The ends of the range in which they were ranked.
    pub ends: (f64, f64),
}

impl EstimatedValues {
    /// Returns the quantile of a fraction, within the range.
    fn at(&self, fraction: f64) -> f64 {
        let (low, high) = self.ends;
        self.curve.at(fraction).clamp(low, high.max(low))
    }
}

/// A released quantile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReleasedQuantile {
    /// The fraction.
    pub q: f64,
    /// The answer.
    pub value: f64,
    /// The scale of its noise, in ranks.
    pub scale: f64,
}

/// A quantile function, through released quantiles.
#[derive(Clone, Debug, PartialEq)]
pub struct QuantileCurve {
    /// Fractions, rising, each with its quantile, which does not fall.
    points: Vec<(f64, f64)>,
    /// The fractions of the released quantiles that it leaves out.
    left_out: Vec<f64>,
    /// True if no released quantile is sure.
    is_doubtful: bool,
}

impl Serialize for QuantileCurve {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.points.serialize(serializer)
    }
}

impl QuantileCurve {
    /// Creates the function through those of the quantiles that are sure among this number of values: where
    /// few values are beyond one, every answer beyond all values is nearly as good as itself. Without a sure
    /// one, the quantile nearest to the median is taken.
    pub fn new(quantiles: &[ReleasedQuantile], values: f64) -> QuantileCurve {
        let is_sure = |quantile: &&ReleasedQuantile| {
            let ReleasedQuantile { q, scale, .. } = quantile;
            q.min(1.0 - q) * values >= SURE * scale
        };
        let to_point = |quantile: &ReleasedQuantile| (quantile.q, quantile.value);
        let mut points: Vec<(f64, f64)> = quantiles.iter().filter(is_sure).map(to_point).collect();
        let is_doubtful = points.is_empty();
        if is_doubtful {
            let far = |quantile: &ReleasedQuantile| (quantile.q - 0.5).abs();
            points.extend(quantiles.iter().min_by(|a, b| far(a).total_cmp(&far(b))).map(to_point));
        }
        points.sort_by(|one, other| one.0.total_cmp(&other.0));
        let is_left_out = |q: &f64| points.iter().all(|(own, _)| own != q);
        let left_out = quantiles.iter().map(|quantile| quantile.q).filter(is_left_out).collect();
        let mut most = f64::NEG_INFINITY;
        for (_, value) in &mut points {
            most = most.max(*value);
            *value = most;
        }
        QuantileCurve { points, left_out, is_doubtful }
    }

    /// Returns the quantile of a fraction: on a line between two that are known, over the quantiles of a
    /// normal law, and beyond the ends on that of the last ones.
    pub fn at(&self, fraction: f64) -> f64 {
        self.line(fraction, |value| value)
    }

    /// Returns the quantile of a fraction of numbers of records, from 1 on, whose logarithms are on such
    /// lines: few people have most of the records, and so it goes on beyond the last known one.
    pub fn records_at(&self, fraction: f64) -> u64 {
        let log = self.line(fraction, |value| libm::log(value.max(1.0)));
        (libm::exp(log).round() as u64).clamp(1, MOST_RECORDS)
    }

    fn line(&self, fraction: f64, of: impl Fn(f64) -> f64) -> f64 {
        let points = &self.points;
        let at = normal_quantile(fraction);
        let after = points.partition_point(|(q, _)| *q < fraction);
        let (from, to) = match after {
            0 => (0, 1.min(points.len().saturating_sub(1))),
            // The last three, of which two may be equal by their noise.
            after if after >= points.len() => {
                (points.len().saturating_sub(3), points.len().saturating_sub(1))
            }
            after => (after - 1, after),
        };
        let (Some((low, of_low)), Some((high, of_high))) = (points.get(from), points.get(to)) else {
            return 0.0;
        };
        let (low, of_low) = (normal_quantile(*low), of(*of_low));
        let (high, of_high) = (normal_quantile(*high), of(*of_high));
        let slope = if high > low { (of_high - of_low) / (high - low) } else { 0.0 };
        // From the nearer end, where it is one of those that are known.
        if at > high { of_high + slope * (at - high) } else { of_low + slope * (at - low) }
    }
}

/// Returns the quantile of the standard normal law, to a thousandth (Abramowitz, Stegun 1964, 26.2.23).
fn normal_quantile(fraction: f64) -> f64 {
    let part = fraction.min(1.0 - fraction).max(f64::MIN_POSITIVE);
    let t = (-2.0 * libm::log(part)).sqrt();
    let above = 2.515_517 + t * (0.802_853 + t * 0.010_328);
    let below = 1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308));
    let size = t - above / below;
    if fraction < 0.5 { -size } else { size }
}

/// The number of scales of the noise that are between a sure quantile and the end of all values: an answer
/// beyond the end is less likely by a factor of e^10 than one at the quantile, and there are at most some
/// thousand times as many.
const SURE: f64 = 10.0;

/// The most records of a person.
const MOST_RECORDS: u64 = 1 << 16;

impl EstimatedLog {
    /// Says what has paid for the estimate, and what the releases and the account have left.
    pub(in crate::job) fn paid(&self) -> String {
        let EstimatedLog { share, releases, others, account, .. } = self;
        let taken = [share.parts(), *releases, *others].into_iter().fold(0u64, u64::saturating_add);
        let left = rounded_down(BudgetShare::WHOLE.parts().saturating_sub(taken));
        let left = if left == "0" { "nothing".to_owned() } else { left };
        let others =
            if *others > 0 { format!(" others have paid {},", rounded_up(*others)) } else { String::new() };
        format!(
            "{} of the budget of account {account} has paid for an estimate; the shares of this job have {} together,{others} \
             and {left} is left",
            share.to_decimal(),
            rounded_up(*releases)
        )
    }

    /// Says what was released.
    pub(in crate::job) fn released(&self) -> String {
        let EstimatedLog { people, records, values, file, .. } = self;
        let curve = |curve: &QuantileCurve| {
            let points = curve.points.iter().map(|(q, value)| format!("{}: {}", short(*q), short(*value)));
            let left_out: Vec<String> = curve.left_out.iter().map(|q| short(*q)).collect();
            let left_out = match left_out.len() {
                0 => String::new(),
                1 => format!(" ({} says next to nothing of so few, and is left out)", left_out.concat()),
                _ => format!(" ({} say next to nothing of so few, and are left out)", left_out.join(", ")),
            };
            points.collect::<Vec<_>>().join(", ") + &left_out
        };
        let mut page = format!("{people} people; quantiles of their records {}", curve(records));
        for EstimatedValues { of, of_sums, curve: own, .. } in values {
            let what = if *of_sums { "of their sums of" } else { "of" };
            page += &format!("; {what} {of} {}", curve(own));
        }
        format!("{page}; in {}", file.display())
    }

    /// Returns the warning that no quantile of records is sure.
    pub(in crate::job) fn doubt(&self) -> Option<&'static str> {
        let is_doubtful =
            self.records.is_doubtful || self.values.iter().any(|values| values.curve.is_doubtful);
        is_doubtful.then_some(
            "There are too few people for a sure quantile at this price: compare with --rows and --people, and with what you \
             know of the log.",
        )
    }

    /// Returns the values that a release reads.
    fn values_of(&self, release: &ReleaseSpec) -> Option<&EstimatedValues> {
        let (of, of_sums) = match &release.statistic {
            StatisticSpec::Sum(sum) => (&sum.measure.of, release.is_of_all_time()),
            StatisticSpec::Mean(mean) => (&mean.measure.of, false),
            StatisticSpec::Histogram(histogram) => (&histogram.of, false),
            _ => return None,
        };
        self.values.iter().find(|values| values.of == *of && values.of_sums == of_sums)
    }
}

/// A person of an estimated log.
#[derive(Clone, Copy)]
struct EstimatedPerson {
    number: u32,
    /// The place among all people by the number of records, between 0 and 1.
    rank: f64,
    records: u64,
}

impl LogShape {
    /// Generates a log of an estimate. Its keys stand for those that a release lists, the most common one for
    /// the first.
    ///
    /// # Errors
    ///
    /// If the job has no last window or cannot be planned, or the number of keys or their skew is none.
    pub fn estimated(job: &Job, log: EstimatedLog, keys: StatedKeys) -> Result<LogShape, RunError> {
        let offers = job.release_plans(job.horizon())?;
        let StatedKeys { keys, skew } = keys;
        let listed = |offer: &ReleasePlan| offer.keys.listed().map_or(KEYS, |keys| keys.len() as u64);
        let keys = keys.unwrap_or_else(|| offers.iter().map(listed).max().unwrap_or(1));
        // Ranks in the middle of equal parts of all people: the mean of a few thousand is that of all.
        let of_people = |people: u64| {
            let people = people.max(1);
            let rank = move |number: u64| (number as f64 + 0.5) / people as f64;
            (0..people).map(move |number| (number, rank(number)))
        };
        let tried = log.people.clamp(1, TRIED);
        let mean = of_people(tried).map(|(_, rank)| log.records.records_at(rank) as f64).sum::<f64>();
        let mean = mean / tried as f64;
        let fit = ((GENERATED as f64 / mean) as u64).max(1);
        let people = log.people.clamp(1, fit);
        let made = MadeKeys::of(job, keys, skew, people)?;
        let mut rows = 0;
        let mut releases: Vec<ReleaseRecords> = offers.iter().map(|_| ReleaseRecords::default()).collect();
        for (number, rank) in of_people(people) {
            let records = log.records.records_at(rank);
            rows += records;
            let person = EstimatedPerson { number: number as u32, rank, records };
            for ((release, offer), records) in job.releases.iter().zip(&offers).zip(&mut releases) {
                made.add(&mut records.records, person, (release, offer, log.values_of(release)));
            }
        }
        for (release, offer) in releases.iter_mut().zip(&offers) {
            release.keys = offer.keys.listed().map_or(keys, |listed| listed.len() as u64);
        }
        let scale = log.people.max(1) as f64 / people as f64;
        let (rows, all) = ((rows as f64 * scale).round() as u64, log.people.max(1));
        Ok(LogShape { rows, people: all, scale, origin: LogOrigin::Estimate(Box::new(log)), releases })
    }
}

/// The number of people by whom the mean number of records is found.
const TRIED: u64 = 100_000;

/// The keys and the times of an estimated log: those of a log that is made up.
struct MadeKeys {
    rows: SyntheticLog,
    keys: u64,
}

impl MadeKeys {
    fn of(job: &Job, keys: u64, skew: Option<ConfigNumber>, people: u64) -> Result<MadeKeys, RunError> {
        let span = job.from.zip(job.until);
        let rows = SyntheticLog::of(people, GENERATED, keys, skew, None, span)
            .map_err(|invalid| RunError::configuration(format!("--{invalid}")))?;
        Ok(MadeKeys { rows, keys })
    }

    /// Draws a key and a time.
    fn draw(&self, dice: &mut SplitMix) -> (u64, Time) {
        let row = self.rows.row(dice.below(GENERATED));
        ((row.key - 1).min(self.keys - 1), row.time)
    }

    /// Adds the records of a person that count for a release.
    fn add(
        &self,
        counted: &mut Vec<CountedRecord>,
        person: EstimatedPerson,
        (release, offer, values): (&ReleaseSpec, &ReleasePlan, Option<&EstimatedValues>),
    ) {
        let EstimatedPerson { number, rank, records } = person;
        let mut dice = SplitMix::of(u64::from(number));
        let windows = windows_of(&mut dice, (release, offer), records);
        let most_keys = u64::from(release.bound.keys.unwrap_or(1));
        let listed = offer.keys.listed().map(|keys| keys.len() as u64);
        let is_keyed = offer.statistic.grouping().is_some();
        let buckets = match &offer.statistic {
            StatisticSpec::Histogram(histogram) => histogram.edges().ok(),
            _ => None,
        };
        // The keys of a person in each window, of which the records are in turn.
        let mut own: Vec<Vec<u64>> = vec![Vec::new(); windows.len().max(1)];
        let steps = |value: f64| to_steps(value, offer.point());
        let mut last = 0;
        for record in 0..records {
            let (drawn, time) = self.draw(&mut dice);
            let window = record as usize % windows.len().max(1);
            let time = windows.get(window).copied().unwrap_or(time);
            let value = match (&offer.statistic, values) {
                // The sum of all records of a person, in equal parts.
                (StatisticSpec::Sum(_), Some(values)) => part_of(steps(values.at(rank)), record, records),
                // Values of one person are alike: every other one is the one before.
                (_, Some(_)) if record > 0 && dice.below(2) == 0 => last,
                (_, Some(values)) => steps(values.at(dice.part())),
                (_, None) => 0,
            };
            last = value;
            let key = match &buckets {
                Some((edges, _)) => bucket_of(edges, value),
                None if !is_keyed => 0,
                None => {
                    let Some(own) = own.get_mut(window) else { continue };
                    let turn = (record / windows.len().max(1) as u64) % most_keys;
                    if own.len() as u64 <= turn {
                        own.push(drawn);
                    }
                    own.get(turn as usize).copied().unwrap_or(drawn)
                }
            };
            if listed.is_some_and(|listed| key >= listed) {
                continue;
            }
            let key = u32::try_from(key).unwrap_or(u32::MAX);
            counted.push(CountedRecord { person: number, key, time, value });
        }
    }
}

/// Returns the times of the windows of a person, if the job file states their number; each once.
fn windows_of(
    dice: &mut SplitMix,
    (release, offer): (&ReleaseSpec, &ReleasePlan),
    records: u64,
) -> Vec<Time> {
    let count = offer.schedule.count();
    let Some(most) = release.bound.windows.filter(|_| count > 1) else { return Vec::new() };
    let most = u64::from(most).min(records).min(count);
    let mut numbers: Vec<u64> = Vec::with_capacity(most as usize);
    while (numbers.len() as u64) < most {
        let number = dice.below(count);
        if !numbers.contains(&number) {
            numbers.push(number);
        }
    }
    numbers.into_iter().filter_map(|number| Some(offer.schedule.window(number)?.start())).collect()
}

/// Returns the part of a whole for one of several records, so that all parts come to the whole.
fn part_of(whole: i64, record: u64, records: u64) -> i64 {
    let (whole, record, records) = (i128::from(whole), i128::from(record), i128::from(records));
    let part = whole * (record + 1) / records - whole * record / records;
    // A part is no farther from zero than the whole.
    part as i64
}

fn to_steps(value: f64, point: DecimalPoint) -> i64 {
    (value * 10f64.powi(point.count())).round() as i64
}

/// Returns the number of a bucket among those of edges.
fn bucket_of(edges: &Edges, value: i64) -> u64 {
    let own = edges.bucket(value);
    edges.keys().listed().and_then(|keys| keys.iter().position(|key| *key == own)).unwrap_or(0) as u64
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn curve(points: &[(f64, f64)], scale: f64, values: f64) -> QuantileCurve {
        let quantile = |(q, value): &(f64, f64)| ReleasedQuantile { q: *q, value: *value, scale };
        QuantileCurve::new(&points.iter().map(quantile).collect::<Vec<_>>(), values)
    }

    // Refutes a law that is not the normal one.
    #[test]
    fn a_quantile_is_that_of_the_normal_law() {
        for (fraction, quantile) in [(0.5, 0.0), (0.841_345, 1.0), (0.025, -1.959_964), (0.999, 3.090_232)] {
            assert!((normal_quantile(fraction) - quantile).abs() < 1e-3, "{fraction}");
        }
    }

    // Refutes a known quantile that is another one, a value that falls, and a tail of a lognormal law that is
    // another one.
    #[test]
    fn a_curve_leads_through_its_quantiles_and_goes_on() {
        let law = |fraction: f64| libm::exp(3.0 + 1.2 * normal_quantile(fraction));
        let known = [0.1, 0.5, 0.75, 0.9].map(|q| (q, law(q)));
        let of_law = curve(&known, 1.0, 1e6);
        for (q, value) in known {
            assert!((of_law.at(q) - value).abs() < 1e-9, "{q}");
            assert_eq!(of_law.records_at(q), value.round() as u64, "{q}");
        }
        for fraction in [0.01, 0.3, 0.6, 0.95, 0.99, 0.999] {
            let found = of_law.records_at(fraction) as f64;
            assert!(
                (found - law(fraction)).abs() <= 0.5 + 1e-6 * found,
                "{fraction}: {found} {}",
                law(fraction)
            );
        }
        let values: Vec<f64> = (1..1000).map(|part| of_law.at(f64::from(part) / 1000.0)).collect();
        assert!(values.is_sorted());
        // Noise may let a quantile fall below the one before.
        let falls = curve(&[(0.25, 5.0), (0.5, 3.0), (0.75, 9.0)], 1.0, 1e6);
        assert_eq!((falls.at(0.25), falls.at(0.5), falls.at(0.75)), (5.0, 5.0, 9.0));
        assert_eq!(curve(&[], 1.0, 1e6).at(0.5), 0.0);
    }

    // Refutes a quantile that is trusted where any answer is as good, and one that is not where it is sure.
    #[test]
    fn a_quantile_near_the_end_of_all_values_is_left_out() {
        let points = [(0.1, 1.0), (0.5, 2.0), (0.98, 4_000.0)];
        let known =
            |values: f64| curve(&points, 20.0, values).points.iter().map(|(q, _)| *q).collect::<Vec<_>>();
        assert_eq!(known(10_000.0), [0.1, 0.5, 0.98]);
        assert_eq!(known(9_999.0), [0.1, 0.5]);
        assert_eq!(known(1_999.0), [0.5]);
        // Without a sure one, the median is taken, and is in doubt.
        assert_eq!(known(10.0), [0.5]);
        assert!(curve(&points, 20.0, 10.0).is_doubtful && !curve(&points, 20.0, 1_999.0).is_doubtful);
        // Those that are left out are named on the page.
        let left_out = |values: f64| curve(&points, 20.0, values).left_out;
        assert_eq!([10_000.0, 9_999.0, 10.0].map(left_out), [vec![], vec![0.98], vec![0.1, 0.98]]);
    }

    // Refutes parts that lose a step of the whole.
    #[test]
    fn the_parts_of_a_sum_come_to_it() {
        for whole in [0, 1, 7, -7, 1_000_003, i64::MAX, i64::MIN] {
            for records in [1, 2, 3, 64] {
                let parts = (0..records).map(|record| i128::from(part_of(whole, record, records)));
                assert_eq!(parts.sum::<i128>(), i128::from(whole), "{whole} {records}");
            }
        }
    }
}
