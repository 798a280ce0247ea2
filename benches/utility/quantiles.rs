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
use super::peers::{Answers, Draws, Rule, choose, consistent_tree, tree_levels, zcdp_rho};
use super::report::{Figure, Report, Row, thousands};
use super::{DELTA, EPSILON};

const SEVEN: [f64; 7] = [0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95];
/// The part of all draws within a figure.
const CONFIDENCE: f64 = 0.95;

/// The most points among which OpenDP is run, for the time of a draw grows with them; and the number of its draws.
const FEW: i64 = 5_000;
const RUN: usize = 200;

/// Values to rank.
struct Values {
    sorted: Vec<i64>,
    low: i64,
    high: i64,
    per_key: u64,
    draws: usize,
}

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
        report.add(values.row(opendp, "median_price", released, &[0.5], short)?);
        let released = "retail: seven quantiles of prices, 0, 0.01, .. 50.00, of 5 lines a person";
        let short = Some("seven quantiles of prices: the worst one, ranks, 95% within");
        report.add(values.row(opendp, "quantiles_price", released, &SEVEN, short)?);
    }
    if let Some(access) = &logs.access {
        let values = values(&access.0, 5, (0, 1_000_000), 1000);
        let released = "access log: the median of bytes, 0, 1, .. 1,000,000, of 5 responses a client";
        report.add(values.row(opendp, "median_bytes", released, &[0.5], None)?);
        let released = "access log: seven quantiles of bytes, 0, 1, .. 1,000,000, of 5 responses a client";
        report.add(values.row(opendp, "quantiles_bytes", released, &SEVEN, None)?);
    }
    let mut sorted: Vec<i64> = (0..5_000u64).map(|person| (mixed(person) >> 44) as i64).collect();
    sorted.sort_unstable();
    let values = Values { sorted, low: 0, high: (1 << 20) - 1, per_key: 1, draws: 1000 };
    let released = "synthetic: seven quantiles of 5,000 people, spread over 2^20 answers";
    let short = Some("seven quantiles of 5,000 people, all different: the same");
    report.add(values.row(opendp, "quantiles_spread", released, &SEVEN, short)?);
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

impl Values {
    fn row(
        &self,
        run: Opendp,
        name: &'static str,
        released: &str,
        quantiles: &[f64],
        short: Option<&'static str>,
    ) -> Result<Row, Box<dyn Error>> {
        let number = quantiles.len() as f64;
        let rho = convert::rho_within(EPSILON, DELTA, f64::INFINITY)?;
        let mut ours = self.drawn(&Exponential::epsilon(EPSILON), quantiles, "exponential")?;
        if self.high - self.low < 1 << 16 {
            ours = ours.or(self.drawn(&PermuteAndFlip::epsilon(EPSILON), quantiles, "permute-and-flip")?);
        }
        let at_rho = Exponential::cost(&PrivacyCost::zcdp(rho)?);
        ours = ours.or(self.drawn(&at_rho, quantiles, "exponential, zCDP")?);
        // The epsilon of one choice of several: of pure epsilon, or of rho.
        let pure = EPSILON / number;
        let ranged = (8.0 * zcdp_rho(EPSILON, DELTA) / number).sqrt();
        let opendp = |epsilon: f64, rule: Rule, how: &str| {
            let mut draws = Draws::seeded(21);
            self.simulated(quantiles, how, || {
                quantiles.iter().map(|&q| self.among_points(q, epsilon, rule, &mut draws)).collect()
            })
        };
        let tumult = |epsilon: f64, how: &str| {
            let mut draws = Draws::seeded(22);
            let sorted: Vec<f64> = self.sorted.iter().map(|&value| value as f64).collect();
            let (low, high) = (self.low as f64, self.high as f64);
            self.simulated(quantiles, how, || {
                let answer = |&q: &f64| {
                    self.nearest(among_intervals(&sorted, (low, high), q, self.rate(q, epsilon), &mut draws))
                };
                quantiles.iter().map(answer).collect()
            })
        };
        let recursive = (quantiles.len() > 1).then(|| {
            let mut draws = Draws::seeded(23);
            let sorted: Vec<f64> = self.sorted.iter().map(|&value| value as f64).collect();
            let levels = f64::from(usize::BITS - quantiles.len().leading_zeros());
            self.simulated(quantiles, "Kaplan, Schnapp, Stemmer", || {
                let mut answers = Vec::new();
                let ends = (self.low as f64, self.high as f64);
                self.split(
                    &sorted,
                    ends,
                    (quantiles, (0.0, 1.0)),
                    EPSILON / levels,
                    &mut draws,
                    &mut answers,
                );
                answers
            })
        });
        let simulated = |epsilon: f64, rule: Rule, how: &str| {
            let Some(run) = self.run(run, quantiles, epsilon, rule) else {
                return opendp(epsilon, rule, how);
            };
            println!(
                "  OpenDP ran: {} where {} is simulated, by {how}",
                run.value,
                opendp(epsilon, rule, how).value
            );
            Figure { how: format!("{how}, run"), ..run }
        };
        let opendp = simulated(pure, Rule::PermuteAndFlip, "permute-and-flip").or(simulated(
            ranged,
            Rule::Exponential,
            "exponential, zCDP",
        ));
        // All quantiles of one tree of counts, at either noise.
        let tree = |branches: usize, zcdp: bool| {
            let levels = f64::from(tree_levels((self.high - self.low + 1) as usize, branches));
            let (each, rho) = (self.per_key as f64, zcdp_rho(EPSILON, DELTA));
            let mut draws = Draws::seeded(24);
            let mut noise = || match zcdp {
                true => draws.gaussian(each * (levels / (2.0 * rho)).sqrt()),
                false => draws.laplace(each * levels / EPSILON),
            };
            let leaves = self.counts();
            let rounds = if self.high > FEW { RUN / 10 } else { RUN };
            self.of_draws(rounds, quantiles, &format!("tree of {branches} branches"), || {
                self.of_counts(&consistent_tree(&leaves, branches, &mut noise), quantiles)
            })
        };
        let opendp = match quantiles {
            [_] => opendp,
            _ => opendp.or(tree(2, true)).or(tree(4, true)).or(tree(4, false)),
        };
        let tumult = tumult(pure, "intervals").or(tumult(ranged, "intervals, zCDP"));
        Ok(Row {
            name,
            released: format!("{released}, {} values", thousands(self.sorted.len())),
            error: if quantiles.len() > 1 {
                "ranks off, 95% within, worst of 7"
            } else {
                "ranks off, 95% within"
            },
            ours,
            opendp: Some(opendp),
            tumult: Some(tumult),
            other: recursive,
            least: None,
            more_is_better: false,
            short,
        })
    }

    /// Measures the library's own draws.
    fn drawn<M>(&self, mechanism: &M, quantiles: &[f64], how: &str) -> Result<Figure, Box<dyn Error>>
    where
        M: Mechanism<Quantiles<()>, Prepared = PreparedQuantiles<()>>,
    {
        let grid = Grid::linear(self.low, self.high, 1)?;
        let bound = Bound::keys(1).per_key(self.per_key).checked()?;
        let prepared = mechanism.prepare(&Quantiles::new(quantiles.to_vec(), grid, bound, Keys::whole())?)?;
        let mut known = RankedValues::default();
        self.sorted.iter().for_each(|value| known.add(&[*value]));
        let mut noise = NoiseSource::from_os()?;
        Ok(self.simulated(quantiles, how, || {
            let mut exact: Cells<(), RankedValues> = prepared.tally();
            exact.absorb(((), known.clone()));
            let drawn = prepared.draw(exact, None, &mut noise);
            drawn.answer.cells().iter().map(|((), answer)| answer.value() as i64).collect()
        }))
    }

    /// The number of values at each point.
    fn counts(&self) -> Vec<f64> {
        let mut counts = vec![0.0; (self.high - self.low + 1) as usize];
        self.sorted.iter().for_each(|value| counts[(value - self.low) as usize] += 1.0);
        counts
    }

    /// The points at which counts reach these parts of their sum.
    fn of_counts(&self, counts: &[f64], quantiles: &[f64]) -> Vec<i64> {
        let all: f64 = counts.iter().sum();
        let at = |q: &f64| {
            let mut sum = 0.0;
            let reached = counts.iter().position(|count| {
                sum += count;
                sum >= q * all
            });
            self.low + reached.map_or(self.high - self.low, |at| at as i64)
        };
        quantiles.iter().map(at).collect()
    }

    /// Runs OpenDP, where it has few points to choose from.
    fn run(&self, opendp: Opendp, quantiles: &[f64], epsilon: f64, rule: Rule) -> Option<Figure> {
        if self.high > FEW {
            return None;
        }
        let mut answers = Vec::new();
        for &q in quantiles {
            // A person moves the scores of all points by up to this much, and one falls as another rises.
            let moved = 2.0 * q.max(1.0 - q) * self.per_key as f64;
            let (measure, cost) = match rule {
                Rule::PermuteAndFlip => ("pure", epsilon),
                Rule::Exponential => ("zcdp", epsilon * epsilon / 8.0),
            };
            // Its fractions have four digits, so a few of them are moved by a little more.
            let scale = moved / epsilon;
            let asked = (self.per_key, self.high, RUN);
            let (costs, found) = opendp.quantile((measure, q, scale), asked, &self.sorted)?;
            assert!((costs / cost - 1.0).abs() < 1e-3, "a quantile costs {costs}, not {cost}");
            answers.push(found);
        }
        let mut next = 0;
        Some(self.of_draws(RUN, quantiles, "", || {
            next += 1;
            answers.iter().map(|found| found[next - 1]).collect()
        }))
    }

    fn simulated(&self, quantiles: &[f64], how: &str, answer: impl FnMut() -> Vec<i64>) -> Figure {
        self.of_draws(self.draws, quantiles, how, answer)
    }

    /// The largest of the errors of all quantiles, each within this part of the draws.
    fn of_draws(
        &self,
        draws: usize,
        quantiles: &[f64],
        how: &str,
        mut answer: impl FnMut() -> Vec<i64>,
    ) -> Figure {
        let mut errors = vec![Vec::with_capacity(draws); quantiles.len()];
        for _ in 0..draws {
            for ((answer, q), errors) in answer().into_iter().zip(quantiles).zip(&mut errors) {
                errors.push(self.off(answer, *q));
            }
        }
        let at = (CONFIDENCE * draws as f64).ceil() as usize - 1;
        let within = errors.iter_mut().map(|errors| {
            errors.sort_unstable_by(f64::total_cmp);
            errors[at]
        });
        Figure::new(within.fold(0.0, f64::max), how)
    }

    /// By how many values the rank of an answer is off.
    fn off(&self, answer: i64, q: f64) -> f64 {
        let below = self.sorted.partition_point(|&value| value < answer) as f64;
        let up_to = self.sorted.partition_point(|&value| value <= answer) as f64;
        let wanted = q * self.sorted.len() as f64;
        (below - wanted).max(wanted - up_to).max(0.0).ceil()
    }

    fn nearest(&self, answer: f64) -> i64 {
        (answer.round() as i64).clamp(self.low, self.high)
    }

    /// The logarithm by which a choice falls for each rank: a person moves a rank by `per_key` times the larger part.
    fn rate(&self, q: f64, epsilon: f64) -> f64 {
        epsilon / (2.0 * q.max(1.0 - q) * self.per_key as f64)
    }

    /// OpenDP: each point has the score `|(1 - q) below - q above|`.
    fn among_points(&self, q: f64, epsilon: f64, rule: Rule, draws: &mut Draws) -> i64 {
        let all = self.sorted.len();
        let score = |below: usize, above: usize| ((1.0 - q) * below as f64 - q * above as f64).abs();
        let (mut answers, mut next, mut below) = (Vec::new(), self.low, 0);
        let mut stretch = |from: i64, to: i64, score: f64| {
            answers.push(Answers { weight: (to - from) as f64, score, from: from as f64, to: to as f64 });
        };
        for equal in self.sorted.chunk_by(|one, other| one == other) {
            stretch(next, equal[0], score(below, all - below));
            stretch(equal[0], equal[0] + 1, score(below, all - below - equal.len()));
            (next, below) = (equal[0] + 1, below + equal.len());
        }
        stretch(next, self.high + 1, score(below, all - below));
        let chosen = *choose(&answers, self.rate(q, epsilon), rule, draws);
        (chosen.from + (draws.uniform() * chosen.weight).floor()) as i64
    }

    /// Kaplan, Schnapp and Stemmer: the middle quantile, and the others among the values on its sides.
    fn split(
        &self,
        sorted: &[f64],
        (low, high): (f64, f64),
        (quantiles, (from, to)): (&[f64], (f64, f64)),
        epsilon: f64,
        draws: &mut Draws,
        answers: &mut Vec<i64>,
    ) {
        let Some((&q, above)) = quantiles[quantiles.len() / 2..].split_first() else { return };
        let part = (q - from) / (to - from);
        let rate = self.rate(part, epsilon);
        let answer = among_intervals(sorted, (low, high), part, rate, draws);
        let below = sorted.partition_point(|&value| value < answer);
        let up_to = sorted.partition_point(|&value| value <= answer);
        let lower = &quantiles[..quantiles.len() / 2];
        self.split(&sorted[..below], (low, answer), (lower, (from, q)), epsilon, draws, answers);
        answers.push(self.nearest(answer));
        self.split(&sorted[up_to..], (answer, high), (above, (q, to)), epsilon, draws, answers);
    }
}

/// Smith, Tumult: an interval between two neighbouring values, by its length and by how far its rank is off, and a number in it.
pub(crate) fn among_intervals(
    sorted: &[f64],
    (low, high): (f64, f64),
    q: f64,
    rate: f64,
    draws: &mut Draws,
) -> f64 {
    let wanted = q * sorted.len() as f64;
    let (mut intervals, mut from) = (Vec::new(), low);
    let mut interval = |from: f64, to: f64, rank: usize| {
        intervals.push(Answers { weight: to - from, score: (rank as f64 - wanted).abs(), from, to });
    };
    for (rank, &value) in sorted.iter().enumerate() {
        if value > from && value < high {
            interval(from, value, rank);
            from = value;
        }
    }
    interval(from, high, sorted.partition_point(|&value| value < high));
    let chosen = *choose(&intervals, rate, Rule::Exponential, draws);
    chosen.from + draws.uniform() * (chosen.to - chosen.from)
}
