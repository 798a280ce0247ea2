//! Means of a value between two known ends.
//!
//! Here they are of two sums of distances, from both ends of the range: one record moves both together by its width, so each
//! has Laplace noise at the whole epsilon. Tumult has a sum of distances from the middle, rounded to a whole number of a whole
//! range, over a count, each with half of the price (`create_average_measurement`); OpenDP's sum (`dp_mean` of its frames)
//! is of the value itself, so that a person moves it by the larger end, and each has half.
//!
//! The other algorithm is a sum of distances from the middle over a count, each with half of the price and drawn by this
//! library.
//!
//! The least is a mean over a known number of records: its noise is that of one sum at the whole price. An unknown
//! number costs more, by how far the mean lies from the middle.

use std::collections::BTreeMap;
use std::error::Error;

use discreet::accounting::gdp;
use discreet::mechanisms::{
    Bound, Cell, Cells, Gaussian, Keys, Laplace, Mean, Mechanism, NoisyMeans, Prepared, Range, Tally,
};
use discreet::noise::NoiseSource;

use super::counts::spread;
use super::data::{Contribution, Logs, Record, bounded, pages};
use super::peers::{Draws, Law, zcdp_rho};
use super::report::{Figure, Report, Row, thousands};
use super::{DELTA, EPSILON};

/// The number of means that a figure is made of, at least.
const NUMBERS: usize = 400_000;

/// A mean by listed keys, of which a person has one.
struct Asked<'a> {
    kept: &'a [Contribution],
    range: (i64, i64),
    per_key: u64,
}

/// The exact numbers of a key.
#[derive(Clone, Copy, Default)]
struct Exact {
    records: f64,
    sum: f64,
}

pub(crate) fn measure(logs: &Logs, report: &mut Report) -> Result<(), Box<dyn Error>> {
    if let Some(reviews) = &logs.reviews {
        // The six vendors with the most reviews, each person in one of them.
        let largest = largest_keys(&reviews.0, 6);
        let of: Vec<Record> =
            reviews.0.iter().filter(|record| largest.contains(&record.key)).copied().collect();
        let kept = bounded(&of, 1, 1);
        let asked = Asked { kept: &kept, range: (0, 5), per_key: 1 };
        let released = "reviews: the mean rating of 6 listed vendors, 0..5, of 1 a person".to_owned();
        report.add(asked.row(
            "mean_rating",
            released,
            "rms; 95% within, stars",
            Some("the mean rating of 6 vendors: rms, stars"),
        )?);
    }
    if let Some(retail) = &logs.retail {
        let whole: Vec<Record> = retail.prices.iter().map(|record| Record { key: 0, ..*record }).collect();
        let kept = bounded(&whole, 1, 5);
        let asked = Asked { kept: &kept, range: (0, 5000), per_key: 5 };
        let released = "retail: the mean price of a line, 0..50.00, of 5 lines a person".to_owned();
        report.add(asked.row("mean_price", released, "rms; 95% within, hundredths", None)?);
    }
    if let Some(access) = &logs.access {
        let whole: Vec<Record> = access.0.iter().map(|record| Record { key: 0, ..*record }).collect();
        let kept = bounded(&whole, 1, 5);
        let asked = Asked { kept: &kept, range: (0, 100_000), per_key: 5 };
        let released = "access log: the mean bytes of a response, 0..100,000, of 5 a client".to_owned();
        report.add(asked.row("mean_bytes", released, "rms; 95% within, bytes", None)?);
    }
    let whole: Vec<Record> = pages().iter().map(|record| Record { key: 0, ..*record }).collect();
    let kept = bounded(&whole, 1, 1);
    let asked = Asked { kept: &kept, range: (0, 120), per_key: 1 };
    let released = "synthetic: the mean of seconds in the middle of 0..120, of 1 visit a person".to_owned();
    let short = "a mean in the middle of its range: rms, seconds";
    report.add(asked.row("mean_middle", released, "rms; 95% within, seconds", Some(short))?);
    Ok(())
}

/// The keys with the most records.
fn largest_keys(records: &[Record], number: usize) -> Vec<u32> {
    let mut counts = BTreeMap::<u32, usize>::new();
    records.iter().for_each(|record| *counts.entry(record.key).or_default() += 1);
    let mut keys: Vec<u32> = counts.keys().copied().collect();
    keys.sort_by_key(|key| std::cmp::Reverse(counts[key]));
    keys.truncate(number);
    keys
}

impl Asked<'_> {
    fn row(
        &self,
        name: &'static str,
        released: String,
        error: &'static str,
        short: Option<&'static str>,
    ) -> Result<Row, Box<dyn Error>> {
        let exact = self.exact();
        let half = self.drawn(&Laplace::epsilon(EPSILON).counting(50), "a sum and a count, Laplace")?;
        let ours = self.drawn(&Laplace::epsilon(EPSILON), "Laplace")?;
        let ours = ours.or(self.drawn(&Gaussian::mu(gdp::mu_within(EPSILON, DELTA)?), "Gaussian, mu")?);
        let (low, high) = (self.range.0 as f64, self.range.1 as f64);
        let each = self.per_key as f64;
        // OpenDP: the sum of the values. Tumult: of their distances from a whole middle.
        let opendp = self.simulated(&exact, (0.0, low.abs().max(high.abs()) * each), 11);
        let middle = f64::midpoint(low, high).round_ties_even();
        let tumult = self.simulated(&exact, (middle, (middle - low).max(high - middle) * each), 12);
        let sum = Law::laplace((high - low) / 2.0 * each / EPSILON).rms();
        let squares: f64 = exact.values().map(|exact| (sum / exact.records).powi(2)).sum();
        let known = (squares / exact.len() as f64).sqrt();
        let records: f64 = exact.values().map(|exact| exact.records).sum();
        Ok(Row {
            name,
            released: format!("{released}, {} records", thousands(records as usize)),
            error,
            ours,
            opendp: Some(opendp),
            tumult: Some(tumult),
            other: Some(half),
            least: Some(Figure::new(known, "Laplace, of a known number of records")),
            more_is_better: false,
            short,
        })
    }

    /// The clipped values of each key.
    fn exact(&self) -> BTreeMap<u32, Exact> {
        let mut exact = BTreeMap::<u32, Exact>::new();
        for own in self.kept {
            let of = exact.entry(own.key).or_default();
            of.records += own.values.len() as f64;
            of.sum +=
                own.values.iter().map(|value| *value.clamp(&self.range.0, &self.range.1) as f64).sum::<f64>();
        }
        exact
    }

    /// Measures the errors of the library's own draws.
    fn drawn<M>(&self, mechanism: &M, how: &str) -> Result<Figure, Box<dyn Error>>
    where
        M: Mechanism<Mean<u32>, Prepared = NoisyMeans<u32>>,
    {
        let exact = self.exact();
        let range = Range::new(self.range.0, self.range.1)?;
        let bound = Bound::keys(1).per_key(self.per_key).checked()?;
        let mean = Mean::new(range, bound, Keys::public(exact.keys().copied())?)?;
        let mut cells = BTreeMap::<u32, Cell>::new();
        for own in self.kept {
            let sum = own.values.iter().map(|&value| mean.term(value)).sum();
            cells.entry(own.key).or_default().add(&mean.contribution(own.values.len() as u64, sum));
        }
        let (prepared, mut noise) = (mechanism.prepare(&mean)?, NoiseSource::from_os()?);
        let mut errors = Vec::with_capacity(NUMBERS + exact.len());
        while errors.len() < NUMBERS {
            let mut tally: Cells<u32> = prepared.tally();
            cells.iter().for_each(|(&key, &cell)| tally.absorb((key, cell)));
            let drawn = prepared.draw(tally, None, &mut noise);
            let error = |(key, value): &(u32, discreet::mechanisms::Estimate<f64>)| {
                value.value() - exact[key].sum / exact[key].records
            };
            errors.extend(drawn.answer.cells().iter().map(error));
        }
        let (rms, within) = spread(&mut errors);
        Ok(Figure::new(rms, how).within(within))
    }

    /// Simulates a noised sum of distances from a middle, over a noised count, each at half of the price, with the better noise;
    /// the answer is put into the range.
    fn simulated(&self, exact: &BTreeMap<u32, Exact>, (middle, moved): (f64, f64), seed: u8) -> Figure {
        let (low, high) = (self.range.0 as f64, self.range.1 as f64);
        let sigma = 1.0 / zcdp_rho(EPSILON, DELTA).sqrt();
        let laplace = |draws: &mut Draws, moved: f64| draws.laplace(2.0 * moved / EPSILON);
        let gaussian = |draws: &mut Draws, moved: f64| draws.gaussian(sigma * moved);
        let simulate = |noise: &dyn Fn(&mut Draws, f64) -> f64, how: &str| {
            let (mut draws, mut errors) = (Draws::seeded(seed), Vec::with_capacity(NUMBERS + exact.len()));
            while errors.len() < NUMBERS {
                for exact in exact.values() {
                    let sum = exact.sum - middle * exact.records + noise(&mut draws, moved);
                    let count = exact.records + noise(&mut draws, self.per_key as f64);
                    let mean = (middle + sum / count.max(1.0)).clamp(low, high);
                    errors.push(mean - exact.sum / exact.records);
                }
            }
            let (rms, within) = spread(&mut errors);
            Figure::new(rms, how).within(within)
        };
        simulate(&laplace, "Laplace").or(simulate(&gaussian, "Gaussian, zCDP"))
    }
}
