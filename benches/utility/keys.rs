//! Numbers of people by discovered keys: with how many people a key is found, and how many keys of a log are.
//!
//! Here the account keeps three tenths of delta for keys, as it does unless said, and the rest makes mu; one draw both finds a key
//! and is its number. OpenDP's Gaussian threshold has the better part of delta for keys, and Tumult's the whole of both for
//! finding, without a number. Where a person has one key no selection finds more than the best one (Desfontaines, Voss, Gipson
//! and Mandayam 2020), which releases no number; with more keys, that is still a bound, for persons of one key are among those
//! who are protected. An account here holds pure epsilon, or Gaussian noise with a delta; Laplace noise with a delta, as the others
//! have, it has only at the price of its mu, which is five times as much.

use std::error::Error;

use discreet::accounting::gdp;
use discreet::mechanisms::{Bound, Cell, Gaussian, Keys, Mechanism, NoisyTotals, Prepared, Tally, Total};
use discreet::noise::NoiseSource;

use super::data::{Contribution, Logs, bounded, pages, people_by_key};
use super::peers::{Selection, best_selection, opendp_gaussian, opendp_laplace, tumult};
use super::report::{Figure, Report, Row, thousands};
use super::{DELTA, EPSILON};

/// The part of delta for keys.
const FOR_KEYS: f64 = 0.3;

/// The number of windows that are drawn of each log.
const WINDOWS: usize = 400;

pub(crate) fn measure(logs: &Logs, report: &mut Report) -> Result<(), Box<dyn Error>> {
    let kept = bounded(&pages(), 1, 1);
    rows(report, ("keys_of_1", ""), ("synthetic: 40 pages", &kept), 1)?;
    if let Some(reviews) = &logs.reviews {
        let kept = bounded(&reviews.0, 2, 1);
        rows(report, ("keys_of_2", "found_of_2"), ("reviews: 247 vendors", &kept), 2)?;
    }
    if let Some(access) = &logs.access {
        let kept = bounded(&access.0, 10, 1);
        rows(report, ("keys_of_10", "found_of_10"), ("access log: paths", &kept), 10)?;
    }
    if let Some(retail) = &logs.retail {
        let kept = bounded(&retail.prices, 50, 1);
        rows(report, ("keys_of_50", "found_of_50"), ("retail: products", &kept), 50)?;
    }
    Ok(())
}

/// Adds two rows: the people with whom a key is found, and the keys of the log that are found, if the second name is not empty.
fn rows(
    report: &mut Report,
    (name, found_name): (&'static str, &'static str),
    (log, kept): (&str, &[Contribution]),
    keys: u64,
) -> Result<(), Box<dyn Error>> {
    let total: Total<u32> = Total::people(Bound::keys(keys).checked()?, Keys::discover(FOR_KEYS * DELTA))?;
    let ours = Gaussian::mu(gdp::mu_within(EPSILON, DELTA * (1.0 - FOR_KEYS))?).prepare(&total)?;
    let opendp = [opendp_laplace(keys, EPSILON, DELTA), opendp_gaussian(keys, EPSILON, DELTA)];
    let tumult = [tumult(keys, EPSILON, DELTA)];
    let best = best_selection(EPSILON, DELTA);
    let parts = best_selection(EPSILON / keys as f64, DELTA / keys as f64);
    let of_parts = "best for one key, at a part of both for each";

    let half = |of: &[Selection]| {
        let figures = of.iter().map(|selection| Figure::new(selection.half(), &selection.how[..]));
        figures.reduce(Figure::or)
    };
    let half_of = |chances: &[f64]| chances.iter().position(|&chance| chance >= 0.5).unwrap_or(0) as f64;
    let people = (1..).find_map(|people| found_half(&ours, people).transpose()).transpose()?;
    report.add(Row {
        name,
        released: format!("{log} to discover, of {keys} a person"),
        error: "people of a key that is found in half of the windows",
        ours: Figure::new(people.unwrap_or(0) as f64, "Gaussian, mu"),
        opendp: half(&opendp),
        tumult: half(&tumult),
        other: Some(Figure::new(half_of(&parts), of_parts)),
        least: Some(Figure::new(half_of(&best), "of any selection, persons of 1 key")),
        more_is_better: false,
        short: match keys {
            1 => Some("pages to discover, of 1 a person: people of one that is found half of the time"),
            50 => Some("products to discover, of 50 a person: the same"),
            _ => None,
        },
    });
    if found_name.is_empty() {
        return Ok(());
    }
    let people = people_by_key(kept);
    let expected = |chance: &dyn Fn(u64) -> f64| people.values().map(|&people| chance(people)).sum::<f64>();
    let found = |of: &[Selection]| {
        let figure = |of: &Selection| Figure::new(expected(&|people| of.chance(people)), &of.how[..]);
        of.iter().map(figure).reduce(|one, other| if other.value > one.value { other } else { one })
    };
    let found_of = |chances: &[f64]| expected(&|people| chances.get(people as usize).copied().unwrap_or(1.0));
    let mut noise = NoiseSource::from_os()?;
    let mut seen = 0;
    for _ in 0..WINDOWS {
        let mut exact = ours.tally();
        people.iter().for_each(|(&key, &people)| exact.absorb((key, cell(&total, people))));
        seen += ours.draw(exact, None, &mut noise).answer.cells().len();
    }
    report.add(Row {
        name: found_name,
        released: format!("{log} to discover, of {keys} a person, {} there", thousands(people.len())),
        error: "keys found, more is better",
        ours: Figure::new(seen as f64 / WINDOWS as f64, "Gaussian, mu"),
        opendp: found(&opendp),
        tumult: found(&tumult),
        other: Some(Figure::new(found_of(&parts), of_parts)),
        least: Some(Figure::new(found_of(&best), "most of any selection, persons of 1 key")),
        more_is_better: true,
        short: None,
    });
    Ok(())
}

/// Returns this number of people if a key of so many is found in half of the windows that are drawn, up to the chance of draws.
fn found_half(ours: &NoisyTotals<u32>, people: u64) -> Result<Option<u64>, Box<dyn Error>> {
    // By the law: far below the threshold nothing is to be drawn.
    let threshold = ours.threshold().unwrap_or(0);
    if (people as i64) < threshold - 3 {
        return Ok(None);
    }
    let mut noise = NoiseSource::from_os()?;
    let total: Total<u32> = Total::people(Bound::keys(1).checked()?, Keys::discover(DELTA))?;
    // Ten thousand keys of so many people, in one window.
    let (keys, slack) = (10_000, 0.01);
    let mut exact = ours.tally();
    let of_a_key = cell(&total, people);
    (0..keys).for_each(|key| exact.absorb((key, of_a_key)));
    let found = ours.draw(exact, None, &mut noise).answer.cells().len();
    Ok((found as f64 >= (0.5 - slack) * f64::from(keys)).then_some(people))
}

/// The tally of a key of this number of people.
fn cell(total: &Total<u32>, people: u64) -> Cell {
    let mut cell = Cell::default();
    (0..people).for_each(|_| cell.add(&total.contribution(1, 0)));
    cell
}
