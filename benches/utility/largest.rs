//! Largest values: by how many people an answer is too small.
//!
//! No private answer is the largest value itself. The error is the number of people who have more than the answer, and an answer
//! above everybody, which is of nobody, counts as all people: here both are what a search or a choice keeps to at its confidence.
//! The others have quantiles. Each is given the quantile among eight near 1 that errs least on this very log, and the same points to
//! choose from; Tumult, which has a range in place of points, one up to 2^31.
//!
//! The least is of any epsilon-private choice among as many answers, on its hardest data: where `k` people have one of `T` answers
//! and all others the lowest, an answer that fewer than `k` are above, and not nobody, is that one; as for quantiles, `k` is at least
//! `ln(T p) / epsilon`.

use std::collections::HashMap;
use std::error::Error;

use discreet::accounting::PrivacyCost;
use discreet::accounting::gdp;
use discreet::mechanisms::{
    BinarySearch, Bound, Cells, Exponential, Grid, Keys, Largest, Maximum, Mechanism, PerPerson, Prepared,
    Tally, Tops,
};
use discreet::noise::NoiseSource;

use super::data::{Logs, Record};
use super::peers::{Answers, Draws, Rule, choose};
use super::report::{Figure, Report, Row, thousands};
use super::{DELTA, EPSILON};

const DRAWS: usize = 1_000;
/// The part of all draws within a figure.
const PART: f64 = 0.95;
/// The confidences that a search or a choice is asked to keep to; the best one is taken.
const CONFIDENCES: [f64; 4] = [0.9, 0.95, 0.97, 0.99];
/// The numbers of people above the quantiles that the others aim at.
const ABOVE: [f64; 8] = [5.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0, 64.0];

pub(crate) fn measure(logs: &Logs, report: &mut Report) -> Result<(), Box<dyn Error>> {
    if let Some(retail) = &logs.retail {
        let people = of_each(&retail.pieces, |record| record.value);
        let short = "the most pieces of a customer: people above it, 95% within";
        report.add(row("largest_pieces", "retail: the most pieces of a customer", people, Some(short))?);
    }
    if let Some(access) = &logs.access {
        let people = of_each(&access.0, |_| 1);
        report.add(row("largest_requests", "access log: the most requests of a client", people, None)?);
    }
    if let Some(reviews) = &logs.reviews {
        let people = of_each(&reviews.0, |_| 1);
        report.add(row("largest_reviews", "reviews: the most reviews of a person", people, None)?);
    }
    Ok(())
}

/// The sum of each person, none below zero, in ascending order.
fn of_each(records: &[Record], value: impl Fn(&Record) -> i64) -> Vec<i64> {
    let mut people = HashMap::<u32, i64>::new();
    records.iter().for_each(|record| *people.entry(record.person).or_default() += value(record));
    let mut sorted: Vec<i64> = people.into_values().map(|sum| sum.max(0)).collect();
    sorted.sort_unstable();
    sorted
}

fn row(
    name: &'static str,
    released: &str,
    people: Vec<i64>,
    short: Option<&'static str>,
) -> Result<Row, Box<dyn Error>> {
    let grid = Grid::log_from_zero();
    let points: Vec<i64> = (1..=grid.top()).filter_map(|index| grid.at(index)).collect();
    let mu = PrivacyCost::gaussian(gdp::mu_within(EPSILON, DELTA)?)?;
    let mut ours = Vec::new();
    for confidence in CONFIDENCES {
        let search = BinarySearch::epsilon(EPSILON).confidence(confidence);
        ours.push(drawn(&search, &people, "search, Laplace")?);
        let search = BinarySearch::gaussian(&mu).confidence(confidence);
        ours.push(drawn(&search, &people, "search, Gaussian, mu")?);
        let choice = Exponential::epsilon(EPSILON).confidence(confidence);
        ours.push(drawn(&choice, &people, "shifted inverse")?);
    }
    let all = people.len() as f64;
    let peer = |draw: &dyn Fn(f64, &mut Draws) -> f64, how: &str, seed: u8| {
        let figures = ABOVE.iter().map(|above| {
            let mut draws = Draws::seeded(seed);
            let q = 1.0 - above / all;
            let within = error(&people, || draw(q, &mut draws));
            Figure::new(within, format!("{how} at {above} above"))
        });
        figures.reduce(Figure::or)
    };
    let opendp = |q: f64, draws: &mut Draws| among_points(&people, &points, q, draws);
    let tumult = |q: f64, draws: &mut Draws| among_intervals(&people, (0.0, 2f64.powi(31)), q, draws);
    Ok(Row {
        name,
        released: format!("{released}, {} people", thousands(people.len())),
        error: "people above the answer, 95% within",
        ours: ours.into_iter().reduce(Figure::or).ok_or("no search")?,
        opendp: peer(&opendp, "quantile", 31),
        tumult: peer(&tumult, "quantile", 32),
        other: None,
        least: Some(Figure::new(
            ((points.len() as f64 * PART).ln() / EPSILON).floor(),
            "of any choice at pure epsilon, hardest data",
        )),
        more_is_better: false,
        short,
    })
}

/// The number of people above an answer that this part of all answers keeps to; all people, where it is above everybody.
fn error(people: &[i64], mut answer: impl FnMut() -> f64) -> f64 {
    // The point of the grid above the largest value is as near as a grid allows.
    let grid = Grid::log_from_zero();
    let largest = people.last().copied().unwrap_or(0);
    let top = grid.at(grid.ceiling(largest)).unwrap_or(largest) as f64;
    let mut errors: Vec<usize> = (0..DRAWS)
        .map(|_| {
            let answer = answer();
            if answer > top {
                people.len()
            } else {
                people.len() - people.partition_point(|&own| own as f64 <= answer)
            }
        })
        .collect();
    errors.sort_unstable();
    errors[(PART * DRAWS as f64).ceil() as usize - 1] as f64
}

/// Measures the library's own draws.
fn drawn<M, P>(mechanism: &M, people: &[i64], how: &str) -> Result<Figure, Box<dyn Error>>
where
    M: Mechanism<Largest<(), Maximum>, Prepared = P>,
    P: Prepared<Tally = Cells<(), Tops>, Answer = discreet::mechanisms::Answer<(), i128>>,
{
    let bound = Bound::keys(1).checked()?;
    let largest = Largest::new(Maximum, PerPerson::Greatest, Grid::log_from_zero(), bound, Keys::whole())?;
    let prepared = mechanism.prepare(&largest)?;
    let most = prepared.largest_needed().unwrap_or(usize::MAX);
    let mut tops = Tops::default();
    people.iter().for_each(|&own| tops.add(own, most));
    tops.cut();
    let mut noise = NoiseSource::from_os()?;
    let within = error(people, || {
        let mut exact = prepared.tally();
        exact.absorb(((), tops.clone()));
        prepared.draw(exact, None, &mut noise).answer.cells()[0].1.value() as f64
    });
    Ok(Figure::new(within, how))
}

/// The logarithm by which a choice falls for each rank.
fn rate(q: f64) -> f64 {
    EPSILON / (2.0 * q.max(1.0 - q))
}

/// OpenDP's quantile among points, by permute-and-flip.
fn among_points(people: &[i64], points: &[i64], q: f64, draws: &mut Draws) -> f64 {
    let answers: Vec<Answers> = (points.iter())
        .map(|&point| {
            let below = people.partition_point(|&own| own < point) as f64;
            let above = (people.len() - people.partition_point(|&own| own <= point)) as f64;
            let point = point as f64;
            Answers { weight: 1.0, score: ((1.0 - q) * below - q * above).abs(), from: point, to: point }
        })
        .collect();
    choose(&answers, rate(q), Rule::PermuteAndFlip, draws).from
}

/// Tumult's quantile among intervals.
fn among_intervals(people: &[i64], ends: (f64, f64), q: f64, draws: &mut Draws) -> f64 {
    let sorted: Vec<f64> = people.iter().map(|&own| own as f64).collect();
    super::ranks::among_intervals(&sorted, ends, q, rate(q), draws)
}
