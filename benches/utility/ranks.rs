//! Quantiles of others, of one list of values: run, or simulated from their sources.

use super::opendp::Opendp;
use super::peers::{Answers, Draws, Rule, choose, consistent_tree, tree_levels, zcdp_rho};
use super::report::Figure;
use super::{DELTA, EPSILON};

/// The part of all draws within a figure.
pub(crate) const CONFIDENCE: f64 = 0.95;

/// The most points among which OpenDP is run, for the time of a draw grows with them; and the number of its draws.
const FEW: i64 = 5_000;
const RUN: usize = 200;

/// Values to rank, in order and within the grid of whole numbers from `low` to `high`.
pub(crate) struct Values {
    pub(crate) sorted: Vec<i64>,
    pub(crate) low: i64,
    pub(crate) high: i64,
    pub(crate) per_key: u64,
    pub(crate) draws: usize,
}

/// The epsilons of one choice of several: of pure epsilon, and of rho.
fn parts(quantiles: &[f64]) -> (f64, f64) {
    let number = quantiles.len() as f64;
    (EPSILON / number, (8.0 * zcdp_rho(EPSILON, DELTA) / number).sqrt())
}

impl Values {
    /// OpenDP: a choice for each, or all of one tree of counts.
    pub(crate) fn by_opendp(&self, opendp: Opendp, quantiles: &[f64]) -> Figure {
        let chosen = |epsilon: f64, rule: Rule, how: &str| {
            let mut draws = Draws::seeded(21);
            let simulated = self.off(self.draws, quantiles, how, || {
                quantiles.iter().map(|&q| self.among_points(q, epsilon, rule, &mut draws)).collect()
            });
            let Some(run) = self.run(opendp, quantiles, epsilon, rule) else { return simulated };
            println!("  OpenDP errs by {}, where {} is simulated, by {how}", run.value, simulated.value);
            Figure { how: format!("{how}, run"), ..run }
        };
        let (pure, ranged) = parts(quantiles);
        let chosen = chosen(pure, Rule::PermuteAndFlip, "permute-and-flip").or(chosen(
            ranged,
            Rule::Exponential,
            "exponential, zCDP",
        ));
        match quantiles {
            [_] => chosen,
            _ => [(2, true), (4, true), (4, false)]
                .into_iter()
                .map(|(branches, zcdp)| self.by_tree(quantiles, branches, zcdp))
                .fold(chosen, Figure::or),
        }
    }

    /// Tumult: a choice for each, among intervals.
    pub(crate) fn by_tumult(&self, quantiles: &[f64]) -> Figure {
        let chosen = |epsilon: f64, how: &str| {
            let (mut draws, sorted) = (Draws::seeded(22), self.floats());
            self.off(self.draws, quantiles, how, || {
                let answer = |&q: &f64| {
                    let ends = (self.low as f64, self.high as f64);
                    self.nearest(among_intervals(&sorted, ends, q, self.rate(q, epsilon), &mut draws))
                };
                quantiles.iter().map(answer).collect()
            })
        };
        let (pure, ranged) = parts(quantiles);
        chosen(pure, "intervals").or(chosen(ranged, "intervals, zCDP"))
    }

    /// Kaplan, Schnapp and Stemmer 2022: a level for as many as there are halves.
    pub(crate) fn by_levels(&self, quantiles: &[f64]) -> Figure {
        let (mut draws, sorted) = (Draws::seeded(23), self.floats());
        let levels = f64::from(usize::BITS - quantiles.len().leading_zeros());
        let ends = (self.low as f64, self.high as f64);
        self.off(self.draws, quantiles, "Kaplan, Schnapp, Stemmer", || {
            let mut answers = Vec::new();
            let asked = (quantiles, (0.0, 1.0));
            self.split(&sorted, ends, asked, EPSILON / levels, &mut draws, &mut answers);
            answers
        })
    }

    /// All quantiles of one tree of counts, at either noise.
    fn by_tree(&self, quantiles: &[f64], branches: usize, zcdp: bool) -> Figure {
        let levels = f64::from(tree_levels((self.high - self.low + 1) as usize, branches));
        let (each, rho) = (self.per_key as f64, zcdp_rho(EPSILON, DELTA));
        let (mut draws, leaves) = (Draws::seeded(24), self.counts());
        let mut noise = || match zcdp {
            true => draws.gaussian(each * (levels / (2.0 * rho)).sqrt()),
            false => draws.laplace(each * levels / EPSILON),
        };
        let rounds = if self.high > FEW { RUN / 10 } else { RUN };
        self.off(rounds, quantiles, &format!("tree of {branches} branches"), || {
            self.of_counts(&consistent_tree(&leaves, branches, &mut noise), quantiles)
        })
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
        Some(self.off(RUN, quantiles, "", || {
            next += 1;
            answers.iter().map(|found| found[next - 1]).collect()
        }))
    }

    /// The largest of the errors of all quantiles that this part of the draws is within, and the largest of their means.
    pub(crate) fn off(
        &self,
        draws: usize,
        quantiles: &[f64],
        how: &str,
        mut answer: impl FnMut() -> Vec<i64>,
    ) -> Figure {
        let mut errors = vec![Vec::with_capacity(draws); quantiles.len()];
        for _ in 0..draws {
            for ((answer, q), errors) in answer().into_iter().zip(quantiles).zip(&mut errors) {
                errors.push(self.rank_off(answer, *q));
            }
        }
        let at = (CONFIDENCE * draws as f64).ceil() as usize - 1;
        let worst = errors.iter_mut().map(|errors| {
            errors.sort_unstable_by(f64::total_cmp);
            (errors[at], errors.iter().sum::<f64>() / draws as f64)
        });
        let (within, mean) =
            worst.fold((0.0f64, 0.0f64), |one, other| (one.0.max(other.0), one.1.max(other.1)));
        Figure::new(within, how).within(mean)
    }

    /// By how many values the rank of an answer is off.
    fn rank_off(&self, answer: i64, q: f64) -> f64 {
        let below = self.sorted.partition_point(|&value| value < answer) as f64;
        let up_to = self.sorted.partition_point(|&value| value <= answer) as f64;
        let wanted = q * self.sorted.len() as f64;
        (below - wanted).max(wanted - up_to).max(0.0).ceil()
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

    fn floats(&self) -> Vec<f64> {
        self.sorted.iter().map(|&value| value as f64).collect()
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
