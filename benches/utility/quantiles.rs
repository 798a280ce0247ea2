//! Quantiles: by how many values the rank of an answer is off.
//!
//! Of one quantile all choose one answer for the whole price: here and in OpenDP by permute-and-flip among the points of the grid,
//! in Tumult by the exponential mechanism among the intervals between values, where a number is then drawn uniformly (Smith 2011).
//! OpenDP has a tree of counts, too, made consistent, from which all quantiles are read (`make_b_ary_tree`,
//! `make_quantiles_from_counts`). Of seven, OpenDP and Tumult divide the price among seven choices, at pure epsilon or at rho, whichever errs less. Kaplan,
//! Schnapp and Stemmer 2022 choose the middle one first, and the others among the values on its sides: three levels. Here it is the
//! same with cuts that are chosen by their rank, also among equal values.
//!
//! All answers are put on the nearest point of the grid, which costs nothing, before their rank is taken. Values are clipped to
//! the grid, and the rank of an answer is off by the number of values by which too many are below it, or above.
//!
//! The last row is of any data: what is promised for the median among 2^16 answers, beside the bound of the exponential
//! mechanism that is in textbooks (McSherry and Talwar 2007), and the least: where `k` people have one of `T` answers, and all others
//! are at the ends, an answer that is off by less than `k / 2` is that one. An epsilon-private choice finds each of them with a
//! probability of at most `e^(k epsilon)` times that without them, and these add up to 1: so `k` is at least `ln(T p) / epsilon` where
//! the answer is so near with a probability of `p`.

use std::error::Error;

use discreet::accounting::{PrivacyCost, convert};
use discreet::mechanisms::{
    Bound, Cells, Exponential, Grid, Keys, Mechanism, PermuteAndFlip, Prepared, PreparedQuantiles, Quantiles,
    RankedValues, Ranks, Tally,
};
use discreet::noise::NoiseSource;

use super::data::{Logs, Record, bounded, mixed};
use super::opendp::Opendp;
use super::ranks::{CONFIDENCE, Values};
use super::report::{Figure, Report, Row, thousands};
use super::{DELTA, EPSILON};

const SEVEN: [f64; 7] = [0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95];

pub(crate) fn measure(logs: &Logs, opendp: Opendp, report: &mut Report) -> Result<(), Box<dyn Error>> {
    let whole = |records: &[Record]| -> Vec<Record> {
        records.iter().map(|record| Record { key: 0, ..*record }).collect()
    };
    let values = |records: &[Record], per_key: usize, (low, high): (i64, i64), draws: usize| {
        let kept = bounded(&whole(records), 1, per_key);
        let mut sorted: Vec<i64> = kept.into_iter().flat_map(|own| own.values).collect();
        sorted.iter_mut().for_each(|value| *value = (*value).clamp(low, high));
        sorted.sort_unstable();
        Values { sorted, low, high, per_key: per_key as u64, draws }
    };
    if let Some(retail) = &logs.retail {
        let values = values(&retail.prices, 5, (0, 5000), 1000);
        let released = "retail: the median price, 0, 0.01, .. 50.00, of 5 lines a person";
        let short = Some("the median price, of 5 lines a person: ranks, 95% within");
        report.add(row(opendp, ("median_price", short), released, (&values, &[0.5]))?);
        let released = "retail: seven quantiles of prices, 0, 0.01, .. 50.00, of 5 lines a person";
        let short = Some("seven quantiles of prices: the worst one, ranks, 95% within");
        report.add(row(opendp, ("quantiles_price", short), released, (&values, &SEVEN))?);
    }
    if let Some(access) = &logs.access {
        let values = values(&access.0, 5, (0, 1_000_000), 4000);
        let released = "access log: the median of bytes, 0, 1, .. 1,000,000, of 5 responses a client";
        report.add(row(opendp, ("median_bytes", None), released, (&values, &[0.5]))?);
        let released = "access log: seven quantiles of bytes, 0, 1, .. 1,000,000, of 5 responses a client";
        report.add(row(opendp, ("quantiles_bytes", None), released, (&values, &SEVEN))?);
    }
    let mut sorted: Vec<i64> = (0..5_000u64).map(|person| (mixed(person) >> 44) as i64).collect();
    sorted.sort_unstable();
    let values = Values { sorted, low: 0, high: (1 << 20) - 1, per_key: 1, draws: 4000 };
    let released = "synthetic: seven quantiles of 5,000 people, spread over 2^20 answers";
    let short = Some("seven quantiles of 5,000 people, all different: the same");
    report.add(row(opendp, ("quantiles_spread", short), released, (&values, &SEVEN))?);
    report.add(promised()?);
    Ok(())
}

/// The rank error that is promised for any data.
fn promised() -> Result<Row, Box<dyn Error>> {
    let answers = f64::from(1 << 16);
    let grid = Grid::linear(0, (1 << 16) - 1, 1)?;
    let median = Quantiles::new([0.5], grid, Bound::keys(1).checked()?, Keys::whole())?;
    let prepared = PermuteAndFlip::epsilon(EPSILON).confidence(CONFIDENCE).prepare(&median)?;
    let Some(Ranks::Within { rank_error, .. }) = prepared.noise().first().and_then(|noise| noise.ranks())
    else {
        return Err("a median without a promise".into());
    };
    // A person moves the score of an answer by half a rank.
    let textbook = (2.0 * 0.5 / EPSILON * (answers / (1.0 - CONFIDENCE)).ln()).ceil();
    let people = ((answers * CONFIDENCE).ln() / EPSILON).floor();
    Ok(Row {
        name: "median_promised",
        released: "any data: the median among 2^16 answers, of 1 a person".to_owned(),
        error: "ranks that it is off by at most, at 95%, as proved",
        ours: Figure::new(rank_error as f64, "permute-and-flip"),
        opendp: None,
        tumult: None,
        other: Some(Figure::new(textbook, "exponential mechanism, textbook")),
        least: Some(Figure::new(people / 2.0, "of any choice at pure epsilon")),
        more_is_better: false,
        short: None,
    })
}

fn row(
    opendp: Opendp,
    (name, short): (&'static str, Option<&'static str>),
    released: &str,
    (values, quantiles): (&Values, &[f64]),
) -> Result<Row, Box<dyn Error>> {
    let mut ours = drawn(&Exponential::epsilon(EPSILON), (values, quantiles), "exponential")?;
    if values.high - values.low < 1 << 16 {
        let flip = PermuteAndFlip::epsilon(EPSILON);
        ours = ours.or(drawn(&flip, (values, quantiles), "permute-and-flip")?);
    }
    let at_rho = Exponential::cost(&PrivacyCost::zcdp(convert::rho_within(EPSILON, DELTA, f64::INFINITY)?)?);
    ours = ours.or(drawn(&at_rho, (values, quantiles), "exponential, zCDP")?);
    let several = quantiles.len() > 1;
    let error =
        if several { "ranks off, worst of 7: 95% within; mean" } else { "ranks off: 95% within; mean" };
    Ok(Row {
        name,
        released: format!("{released}, {} values", thousands(values.sorted.len())),
        error,
        ours,
        opendp: Some(values.by_opendp(opendp, quantiles)),
        tumult: Some(values.by_tumult(quantiles)),
        other: several.then(|| values.by_levels(quantiles)),
        least: None,
        more_is_better: false,
        short,
    })
}

/// Measures the library's own draws.
fn drawn<M>(
    mechanism: &M,
    (values, quantiles): (&Values, &[f64]),
    how: &str,
) -> Result<Figure, Box<dyn Error>>
where
    M: Mechanism<Quantiles<()>, Prepared = PreparedQuantiles<()>>,
{
    let grid = Grid::linear(values.low, values.high, 1)?;
    let bound = Bound::keys(1).per_key(values.per_key).checked()?;
    let prepared = mechanism.prepare(&Quantiles::new(quantiles.to_vec(), grid, bound, Keys::whole())?)?;
    let mut known = RankedValues::default();
    values.sorted.iter().for_each(|value| known.add(&[*value]));
    let mut noise = NoiseSource::from_os()?;
    Ok(values.off(values.draws, quantiles, how, || {
        let mut exact: Cells<(), RankedValues> = prepared.tally();
        exact.absorb(((), known.clone()));
        let drawn = prepared.draw(exact, None, &mut noise);
        drawn.answer.cells().iter().map(|((), answer)| answer.value() as i64).collect()
    }))
}
