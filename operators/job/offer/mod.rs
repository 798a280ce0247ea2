//! What a job's releases come to: each with its windows, its price and its noise settled, before there is data.
//!
//! Nothing is left to be decided after this, so that a plan, a demo and a live run cannot disagree. A share of the budget is
//! divided by the windows of the release that one account holds together ([`Offer::together`]), in whole units of 2^-64,
//! rounded down; what is written as a cost stands as it is, and must fit beside the shares.

mod cell;
mod fit;
mod found;
mod keys;
mod ready;
mod refused;
mod steps;
#[cfg(test)]
mod tests;
mod together;

pub(crate) use cell::CellKey;
pub(super) use fit::pasted;
pub(crate) use ready::{Law, Settled};
pub use refused::Refused;
pub(super) use steps::misfit;

use crate::accounting::{Amount, Omega, Units};
use crate::dataflow::{Calendar, Schedule};
use crate::job::config::{
    self, CalendarUnit, Each, Every, Job, Measure, Number, Price, Protected, Release, Statistic,
};
use crate::ledger::Name;
use crate::mechanisms::{Bound, Edges, Grid, Keys, Limits, PerPerson, Point, Quantile, Range};
use crate::time::{LIMIT, Time};
use steps::Size;
use together::{Windows, together};

/// A release with everything settled.
#[derive(Clone, Debug)]
pub(crate) struct Offer {
    /// Its name.
    pub(crate) name: Name,
    /// Its windows.
    pub(crate) schedule: Schedule,
    /// How much a person can matter. A record is one record: there it says nothing.
    pub(crate) bound: Bound,
    /// The field by which it groups.
    pub(crate) key: Option<String>,
    /// The field that it adds up or sorts into buckets, and where the point of a step of it stands.
    pub(crate) value: Option<(String, Point)>,
    /// What is asked.
    pub(crate) asking: Asking,
    /// The noise, made from the cost.
    pub(crate) law: Law,
    /// What a window costs, in the domain's currency, the delta of discovery included.
    pub(crate) cost: Amount,
    /// How many windows of it one account ever holds together.
    pub(crate) together: u64,
}

/// What is asked of a window.
#[derive(Clone, Debug)]
pub(crate) enum Asking {
    /// How many records.
    Count(Keys<CellKey>),
    /// How many people.
    People(Keys<CellKey>),
    /// The sum, each person's within the range.
    Sum(Range, Keys<CellKey>),
    /// The mean, each record's within the range.
    Mean(Range, Keys<CellKey>),
    /// The largest of what people have, as one of these answers.
    Max(PerPerson, Grid, Keys<CellKey>),
    /// Quantiles of the values, as some of these answers.
    Quantiles(Vec<Quantile>, Grid, Keys<CellKey>),
    /// How many records between two edges; the keys are the buckets.
    Histogram(Edges, Point, Keys<CellKey>),
}

impl Asking {
    /// Its keys.
    pub(crate) fn keys(&self) -> &Keys<CellKey> {
        match self {
            Asking::Count(keys)
            | Asking::People(keys)
            | Asking::Sum(_, keys)
            | Asking::Mean(_, keys)
            | Asking::Max(_, _, keys)
            | Asking::Quantiles(_, _, keys)
            | Asking::Histogram(_, _, keys) => keys,
        }
    }
}

/// Between which times there are windows: the job's own, or those that a demo found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Horizon {
    /// Before which there is no window.
    pub(crate) from: Option<Time>,
    /// After which there is none.
    pub(crate) until: Option<Time>,
}

impl Offer {
    /// Where the point of its numbers stands.
    pub(crate) fn point(&self) -> Point {
        self.value.as_ref().map_or(Point::WHOLE, |(_, point)| *point)
    }
}

impl Job {
    /// The horizon that its file states.
    pub(crate) fn horizon(&self) -> Horizon {
        Horizon { from: self.from, until: self.until }
    }

    /// What its releases come to, in their order. Reads files of keys, and no data.
    pub(crate) fn offers(&self, horizon: Horizon) -> Result<Vec<Offer>, Refused> {
        let place = |index: usize| format!("release[{}]", index + 1);
        let schedules: Vec<Schedule> = (self.releases.iter().enumerate())
            .map(|(index, release)| schedule(self, release, horizon, &place(index)))
            .collect::<Result<_, _>>()?;
        let windows: Vec<Windows<'_>> = (self.releases.iter().zip(&schedules))
            .map(|(release, schedule)| Windows {
                schedule,
                most: release.bound.windows.map(u64::from),
                even: matches!(release.every, Every::Span(_)),
            })
            .collect();
        let together: Vec<u64> =
            (windows.iter()).map(|counted| together(counted, &windows, self.domain().promise())).collect();
        let costs = fit::costs(self, &together, &schedules)?;
        let mut offers = Vec::with_capacity(schedules.len());
        for (index, release) in self.releases.iter().enumerate() {
            let (schedule, together, cost) =
                (schedules[index].clone(), together[index], costs[index].clone());
            offers.push(offer(self, release, (schedule, together, cost), &place(index))?);
        }
        Ok(offers)
    }

    /// The bound of an offer, in range: a record's, where a record is what is protected.
    pub(crate) fn limits(&self, offer: &Offer) -> Result<Limits, crate::Invalid> {
        match self.privacy.protected {
            Protected::Record => Ok(Limits::RECORD),
            Protected::Person { .. } => offer.bound.checked(),
        }
    }
}

pub(crate) fn schedule(
    job: &Job,
    release: &Release,
    horizon: Horizon,
    place: &str,
) -> Result<Schedule, Refused> {
    let Horizon { from, until } = horizon;
    let field = |invalid: crate::Invalid| {
        let place = match invalid.field() {
            "from" => "job.from".to_owned(),
            "until" => "job.until".to_owned(),
            "over" => format!("{place}.over"),
            _ => format!("{place}.every"),
        };
        Refused::at(place, &invalid)
    };
    if release.every == Every::All {
        return Schedule::whole(from.unwrap_or(-LIMIT), until.unwrap_or(LIMIT)).map_err(field);
    }
    let Some(from) = from else {
        let message = format!(
            "found nothing; give the time from which on {place} has windows, as in 2026-01-01T00:00:00Z"
        );
        return Err(Refused::new("job.from", message));
    };
    let times = release.over.and_then(|over| over.over(release.every)).unwrap_or(1);
    match (release.every, release.over) {
        (Every::Span(step), Some(Every::Span(size))) => Schedule::sliding(size, step, from, until),
        (Every::Span(step), _) => Schedule::tumbling(step, from, until),
        (Every::Calendar(count, unit), _) => {
            let calendar = match unit {
                CalendarUnit::Day => Calendar::days(count),
                CalendarUnit::Week => Calendar::days(count.saturating_mul(7)),
                CalendarUnit::Month => Calendar::months(count),
                CalendarUnit::Year => Calendar::months(count.saturating_mul(12)),
            };
            let over = u32::try_from(times).unwrap_or(u32::MAX);
            let calendar = calendar.over(over).in_zone(job.source.zone.name());
            Schedule::calendar(&calendar, from, until)
        }
        (Every::All, _) => Schedule::whole(from, until.unwrap_or(LIMIT)),
    }
    .map_err(field)
}

fn offer(
    job: &Job,
    release: &Release,
    (schedule, together, cost): (Schedule, u64, Amount),
    place: &str,
) -> Result<Offer, Refused> {
    let word = release.statistic.word();
    let (asking, value) = asking(release, &cost, &format!("{place}.{word}"))?;
    let law = Law::new(release.noise, without_delta(&cost));
    let bound = Bound::keys(release.bound.keys.unwrap_or(1).into())
        .per_key(release.bound.per_key.unwrap_or(1).into());
    let bound = release.bound.windows.map_or(bound, |windows| bound.windows(windows.into()));
    let key = release.statistic.grouping().map(|grouping| grouping.by.clone());
    let offer =
        Offer { name: release.name.clone(), schedule, bound, key, value, asking, law, cost, together };
    // Whatever a mechanism can refuse is refused here, before there is a plan.
    offer.settled(job).map_err(|invalid| {
        let price = if matches!(release.price, Price::Share(_)) { "share" } else { "cost" };
        let field = match invalid.field() {
            "bound" | "keys" | "per_key" | "windows" => "bound".to_owned(),
            "range" => format!("{word}.range"),
            "edges" => format!("{word}.edges"),
            "grid" | "step" if word == "max" => "max.grid".to_owned(),
            "grid" | "step" => format!("{word}.range"),
            "q" => format!("{word}.q"),
            _ => price.to_owned(),
        };
        Refused::at(format!("{place}.{field}"), &invalid)
    })?;
    Ok(offer)
}

/// What is asked, and of which field in which steps.
fn asking(
    release: &Release,
    cost: &Amount,
    place: &str,
) -> Result<(Asking, Option<(String, Point)>), Refused> {
    let keys = keys_of(release, cost, place)?;
    let range = |measure: &Measure, size| -> Result<(Range, Point), Refused> {
        let Measure { low, high, .. } = measure;
        steps::of_range(*low, *high, size).map_err(|invalid| Refused::at(format!("{place}.range"), &invalid))
    };
    Ok(match &release.statistic {
        Statistic::Count(_) => (Asking::Count(keys), None),
        Statistic::People(_) => (Asking::People(keys), None),
        Statistic::Sum(measure, _) => {
            let (range, point) = range(measure, Size::Reach)?;
            (Asking::Sum(range, keys), Some((measure.of.clone(), point)))
        }
        Statistic::Mean(measure, _) => {
            let (range, point) = range(measure, Size::Width)?;
            (Asking::Mean(range, keys), Some((measure.of.clone(), point)))
        }
        Statistic::Histogram { of, edges } => {
            let (edges, point) = edges_of(edges, place)?;
            (Asking::Histogram(edges, point, keys), Some((of.clone(), point)))
        }
        Statistic::Max { each, grid, .. } => {
            let (grid, point) =
                grid_of(grid, each).map_err(|invalid| Refused::at(format!("{place}.grid"), &invalid))?;
            let value = each.of().map(|of| (of.to_owned(), point));
            let each = match each {
                Each::Greatest(_) => PerPerson::Greatest,
                Each::Sum(_) => PerPerson::Sum,
                Each::Count => PerPerson::Records,
            };
            (Asking::Max(each, grid, keys), value)
        }
        Statistic::Quantile(quantiles, _) => {
            let parts = quantiles.q.iter().map(|q| Quantile::of(q.millionths().into(), 1_000_000));
            let parts = parts.collect::<Result<Vec<Quantile>, _>>();
            let parts = parts.map_err(|invalid| Refused::at(format!("{place}.q"), &invalid))?;
            let (grid, point) =
                range_of(quantiles).map_err(|invalid| Refused::at(format!("{place}.range"), &invalid))?;
            (Asking::Quantiles(parts, grid, keys), Some((quantiles.of.clone(), point)))
        }
    })
}

fn edges_of(edges: &[Number], place: &str) -> Result<(Edges, Point), Refused> {
    steps::of_edges(edges).map_err(|invalid| Refused::at(format!("{place}.edges"), &invalid))
}

/// The answers in steps, and where the point of a step stands.
fn grid_of(grid: &config::Grid, each: &Each) -> Result<(Grid, Point), crate::Invalid> {
    // Records are counted one by one.
    let finest = if *each == Each::Count { 0 } else { steps::DIGITS };
    match grid {
        config::Grid::Log(digits) => Ok((Grid::log_from_zero(), Point::digits(*digits)?)),
        config::Grid::SignedLog => Ok((Grid::log(), Point::WHOLE)),
        config::Grid::Steps { from, to, step } => {
            let (steps, point) = steps::of_answers(&[*from, *to, *step], finest)?;
            Ok((stepped(&steps)?, point))
        }
        config::Grid::List(answers) => {
            let (answers, point) = steps::of_answers(answers, finest)?;
            Ok((Grid::list(answers)?, point))
        }
    }
}

/// The answers of quantiles: without a step, a million of them or more.
fn range_of(quantiles: &config::Quantiles) -> Result<(Grid, Point), crate::Invalid> {
    let config::Quantiles { low, high, step, .. } = quantiles;
    let Some(step) = step else {
        let (range, point) = steps::of_range(*low, *high, Size::Width)?;
        return Ok((Grid::linear(range.low(), range.high(), 1)?, point));
    };
    let (steps, point) = steps::of_answers(&[*low, *high, *step], steps::DIGITS)?;
    Ok((stepped(&steps)?, point))
}

/// From the first of three to the second, by the third.
fn stepped(steps: &[i64]) -> Result<Grid, crate::Invalid> {
    match *steps {
        [from, to, step] => Grid::linear(from, to, step.unsigned_abs()),
        _ => Grid::list([]),
    }
}

fn keys_of(release: &Release, cost: &Amount, place: &str) -> Result<Keys<CellKey>, Refused> {
    let refused = |invalid: crate::Invalid| Refused::at(format!("{place}.keys"), &invalid);
    if let Statistic::Histogram { edges, .. } = &release.statistic {
        let (edges, point) = edges_of(edges, place)?;
        let buckets = edges.keys().listed().unwrap_or_default();
        return Keys::public(buckets.iter().map(|bucket| CellKey::Bucket(*bucket, point))).map_err(refused);
    }
    match release.statistic.grouping().map(|grouping| &grouping.keys) {
        None => Keys::public([CellKey::Whole]).map_err(refused),
        Some(config::Keys::Listed(keys)) => {
            Keys::public(keys.iter().map(|key| CellKey::Text(key.as_str().into()))).map_err(refused)
        }
        Some(config::Keys::File(path)) => {
            let keys = keys::read(path).map_err(|wrong| Refused::new(format!("{place}.keys"), wrong))?;
            Keys::public(keys.into_iter().map(CellKey::Text)).map_err(refused)
        }
        Some(config::Keys::Discover) => Ok(Keys::discover_within(delta_of(cost))),
    }
}

/// What a cost sets aside for the discovery of keys.
pub(crate) fn delta_of(cost: &Amount) -> Units {
    if let Amount::Zcdp { delta, .. } = cost { *delta } else { Units::ZERO }
}

/// What of a cost the noise has.
fn without_delta(cost: &Amount) -> Amount {
    match cost {
        Amount::Zcdp { rho, .. } => Amount::Zcdp { rho: *rho, delta: Units::ZERO, omega: Omega::EVERY },
        other => other.clone(),
    }
}
