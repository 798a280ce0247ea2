//! Numbers of people and records, and sums, of everybody and by listed keys.
//!
//! A person who moves `keys` numbers by `each` asks for Laplace noise of the scale `keys each / epsilon`, or for Gaussian noise of
//! the deviation `sqrt(keys) each / mu`; of several windows, for that of as many times the keys. The first is less up to eight
//! keys at this promise. At pure epsilon no noise on one number of people has a smaller error than discrete Laplace noise (Ghosh,
//! Roughgarden and Sundararajan 2009), and a delta of 1e-6 takes less than a thousandth from it.

use std::collections::BTreeMap;
use std::error::Error;

use discreet::accounting::gdp;
use discreet::mechanisms::{
    Bound, Cell, Cells, ContributionBound, Gaussian, Keys, Laplace, Mechanism, NoisyTotals, Prepared, Range,
    Tally, Total,
};
use discreet::noise::NoiseSource;

use super::data::{Contribution, Logs, bounded, pages};
use super::peers::{Law, analytic_gaussian, zcdp_rho};
use super::report::{Figure, Report, Row, thousands};
use super::{DELTA, EPSILON};

/// The number of noised numbers that a figure is made of, at least.
const NUMBERS: usize = 4_000_000;

/// The part of all numbers within the second figure of a cell.
const WITHIN: f64 = 0.95;

/// A count, of people or of records, or a sum.
#[derive(Clone, Copy)]
enum Kind {
    People,
    Records,
    Sum(Range),
}

/// A statistic and its bound.
struct Asked {
    kind: Kind,
    bound: Bound,
    /// The number of windows in which a person counts.
    windows: u64,
}

pub(crate) fn measure(logs: &Logs, report: &mut Report) -> Result<(), Box<dyn Error>> {
    let rms = "rms; 95% within";
    if let Some(reviews) = &logs.reviews {
        let kept = bounded(&reviews.0, 1, 1);
        let whole: Vec<Contribution> =
            kept.iter().map(|own| Contribution { key: 0, ..own.clone() }).collect();
        let asked = Asked { kind: Kind::People, bound: Bound::keys(1), windows: 1 };
        let released = format!("reviews: the number of {} reviewers", thousands(whole.len()));
        report.add(row("people", released, rms, Some("the number of reviewers: rms"), (&whole, &asked))?);

        let kept = bounded(&reviews.0, 2, 1);
        let asked = Asked { kind: Kind::Records, bound: Bound::keys(2), windows: 1 };
        let released = format!("reviews by {} listed vendors, of 2 a person", thousands(keys(&kept).len()));
        report.add(row("count_2_keys", released, rms, None, (&kept, &asked))?);
    }
    if let Some(retail) = &logs.retail {
        let kept = bounded(&retail.pieces, 1, usize::MAX);
        let range = Range::new(-200, 2000)?;
        let asked = Asked { kind: Kind::Sum(range), bound: Bound::keys(1), windows: 4 };
        let released = format!(
            "retail: pieces by {} listed countries, of 1 a person, in -200..2000, in 4 months of a person",
            thousands(keys(&kept).len())
        );
        let short = "pieces sold by country, a person in 4 months: rms";
        report.add(row("sum_4_windows", released, rms, Some(short), (&kept, &asked))?);

        let kept = bounded(&retail.prices, 50, 2);
        let asked = Asked { kind: Kind::Records, bound: Bound::keys(50).per_key(2), windows: 1 };
        let released = format!(
            "retail: lines by {} listed products, of 50 a person, 2 of each",
            thousands(keys(&kept).len())
        );
        report.add(row("count_50_keys", released, rms, None, (&kept, &asked))?);
    }
    if let Some(access) = &logs.access {
        let kept = bounded(&access.0, 10, 5);
        let asked = Asked { kind: Kind::Records, bound: Bound::keys(10).per_key(5), windows: 1 };
        let released = format!(
            "access log: requests by {} listed paths, of 10 a person, 5 of each",
            thousands(keys(&kept).len())
        );
        report.add(row("count_10_keys", released, rms, None, (&kept, &asked))?);
    }
    let kept = bounded(&pages(), 6, 1);
    let asked = Asked { kind: Kind::People, bound: Bound::keys(6), windows: 24 };
    let released = "synthetic: people by 40 listed pages, of 6 a person, in 24 hours of a person".to_owned();
    let short = "people by page, of 6 pages in 24 hours: rms";
    report.add(row("people_24_windows", released, rms, Some(short), (&kept, &asked))?);
    Ok(())
}

/// The keys that somebody has.
fn keys(kept: &[Contribution]) -> Vec<u32> {
    let mut keys: Vec<u32> = kept.iter().map(|own| own.key).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

fn row(
    name: &'static str,
    released: String,
    error: &'static str,
    short: Option<&'static str>,
    (kept, asked): (&[Contribution], &Asked),
) -> Result<Row, Box<dyn Error>> {
    let limits = asked.bound.checked()?;
    let (moved, each) = (limits.keys() * asked.windows, asked.each(&limits));
    let windows = asked.windows as f64;
    // Here.
    let laplace = asked.drawn(kept, &Laplace::epsilon(EPSILON / windows), "Laplace")?;
    let mu = gdp::mu_within(EPSILON, DELTA)?;
    let gaussian = asked.drawn(kept, &Gaussian::mu(mu / windows.sqrt()), "Gaussian, mu")?;
    // Both others: one law at one scale.
    let of = |law: Law, how: &str| Figure::new(law.rms(), how).within(law.within(WITHIN));
    let theirs = of(Law::laplace((moved * each) as f64 / EPSILON), "Laplace").or(of(
        Law::gaussian((moved as f64 / (2.0 * zcdp_rho(EPSILON, DELTA))).sqrt() * each as f64),
        "Gaussian, zCDP",
    ));
    let least = match moved {
        1 => Figure::new(Law::laplace(each as f64 / EPSILON).rms(), "of any noise at delta 0"),
        _ => {
            let sigma = analytic_gaussian(EPSILON, DELTA) * (moved as f64).sqrt() * each as f64;
            let laplace = Law::laplace((moved * each) as f64 / EPSILON).rms();
            Figure::new(sigma, "of Gaussian noise").or(Figure::new(laplace, "of Laplace noise"))
        }
    };
    Ok(Row {
        name,
        released,
        error,
        ours: laplace.or(gaussian),
        opendp: Some(theirs.clone()),
        tumult: Some(theirs),
        other: None,
        least: Some(least),
        more_is_better: false,
        short,
    })
}

impl Asked {
    /// The most by which a person moves a number.
    fn each(&self, limits: &ContributionBound) -> u64 {
        match self.kind {
            Kind::People => 1,
            Kind::Records => limits.per_key(),
            Kind::Sum(range) => range.low().unsigned_abs().max(range.high().unsigned_abs()),
        }
    }

    /// Measures the errors of the library's own draws.
    fn drawn<M>(&self, kept: &[Contribution], mechanism: &M, how: &str) -> Result<Figure, Box<dyn Error>>
    where
        M: Mechanism<Total<u32>, Prepared = NoisyTotals<u32>>,
    {
        let (limits, listed) = (self.bound.checked()?, Keys::public(keys(kept))?);
        let total = match self.kind {
            Kind::People => Total::people(limits, listed)?,
            Kind::Records => Total::count(limits, listed)?,
            Kind::Sum(range) => Total::sum(range, limits, listed)?,
        };
        let (mut cells, mut truths) = (BTreeMap::<u32, Cell>::new(), BTreeMap::<u32, i128>::new());
        for own in kept {
            let (records, sum) =
                (own.values.len() as u64, own.values.iter().map(|&value| i128::from(value)).sum());
            cells.entry(own.key).or_default().add(&total.contribution(records, sum));
            *truths.entry(own.key).or_default() += match self.kind {
                Kind::People => 1,
                Kind::Records => i128::from(records),
                Kind::Sum(range) => sum.clamp(range.low().into(), range.high().into()),
            };
        }
        let (prepared, mut noise) = (mechanism.prepare(&total)?, NoiseSource::from_os()?);
        let mut errors = Vec::with_capacity(NUMBERS + truths.len());
        while errors.len() < NUMBERS {
            let mut exact: Cells<u32> = prepared.tally();
            cells.iter().for_each(|(&key, &cell)| exact.absorb((key, cell)));
            let drawn = prepared.draw(exact, None, &mut noise);
            errors
                .extend(drawn.answer.cells().iter().map(|(key, value)| (value.value() - truths[key]) as f64));
        }
        let (rms, within) = spread(&mut errors);
        Ok(Figure::new(rms, how).within(within))
    }
}

/// The root of the mean of the squares, and what 95 of 100 errors are within.
pub(crate) fn spread(errors: &mut [f64]) -> (f64, f64) {
    errors.iter_mut().for_each(|error| *error = error.abs());
    errors.sort_unstable_by(f64::total_cmp);
    let squares: f64 = errors.iter().map(|error| error * error).sum();
    let at = (WITHIN * errors.len() as f64).ceil() as usize - 1;
    ((squares / errors.len() as f64).sqrt(), errors[at])
}
