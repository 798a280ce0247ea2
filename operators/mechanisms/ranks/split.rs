//! One or several quantiles of one key, planned before there is data.
//!
//! # One or two
//!
//! Each is chosen by itself, from all values and for an equal part of what is spent; then they are put in
//! order. So it is with any number that permute-and-flip is to choose.
//!
//! # More
//!
//! The middle one is chosen first. What is below it holds the lower ones, and what is not the upper ones: the
//! quantile of `b` is that of `(b - a) / (1 - a)` among the values above the quantile of `a` (Kaplan, Schnapp
//! and Stemmer 2022). Seven quantiles take three levels. One value is on one side of each cut, and the sides
//! are chosen from independently, so a level costs what one choice does, and is paid a third; by itself each
//! would have been paid a seventh.
//!
//! **What a level costs.** Given the cuts above, a person with `per_key` values has some on each side,
//! `per_key` together. Losses there move by these parts of the step, so the choices of a level cost parts of
//! the level's epsilon that add up to it, and as many times 2^-25 beside as there are choices, which is set
//! aside (see `noise/decay.rs`). Draws of the sides are independent, so costs add up over them:
//!
//! * In rho a choice of epsilon costs `epsilon^2 / 8`, and a sum of squares is no more than the square of the
//!   sum: together no more than the level's epsilon costs.
//! * In mu it is of range epsilon, and costs `mu^2 = f(epsilon / 2)`, where `f` is the square of
//!   [`mu_of_pure`](crate::accounting::gdp::mu_of_pure). `f` is convex and 0 at 0, so that
//!   `f(x) + f(y) <= f(x + y)`: together no more than `f` of half of the level's epsilon.
//!
//! Levels are chosen one after the other, by what was chosen before: their costs add up too, in mu the
//! squares, and each level has an equal part of what is spent.
//!
//! **A cut is exact.** Every number of values below it is one that can be chosen, also among equal ones (`cuts.rs`), and
//! its loss is the number of values by which what is below differs from what was wanted: what goes to each side is what
//! the loss has weighed. A quantile that nothing is below or above of needs no cut, and is chosen among the points.
//!
//! # How far off
//!
//! The rank of an answer is off by more than `rank_error` people with a probability of at most `1 -
//! confidence`, each answer by itself. Of one that is chosen from all values, it is the exact bound of its
//! weights. In order they err no more than the one that errs most.
//!
//! Of a cut between two others, let `low` and `high` be the values below each of these, and `t` its quantile among the
//! values between. It aims at `(1 - t) low + t high`. So it inherits `1 - t` of the error of one and `t` of that of the
//! other, and adds its own: its error is a sum of parts of the errors of all that was chosen on the way to it. Given what
//! was chosen before, each of these exceeds `L` with a probability of at most `T(L)`, which depends on no data. So a sum of
//! independent numbers with just these tails exceeds any number at least as often (chosen one by one, each below its own);
//! its tail is computed in `errors.rs`.
//!
//! Most answers err far less than is promised, for values are seldom as bad as they may be: see `typical.rs`.
//!
//! All that is beside what the grid costs: a value between two points counts at the one above, and one beyond an end at
//! the end.

use super::super::spend::Spend;
use super::choose::AnswerChoice;
use super::cuts::CutChoice;
use super::errors::{PartialError, least_kept};
use super::grid::Grid;
use super::laws::{ChoiceRule, EpsilonShare};
use super::quantiles::{FINEST, Quantile, greatest_common_divisor};
use super::typical::TypicalRankError;
use super::{choose, values};
use crate::invalid::{Invalid, InvalidKind};
use crate::noise::NoiseSource;

/// The procedure that chooses the quantiles of a key.
#[derive(Clone, Debug)]
pub(super) struct Splitting {
    grid: Grid,
    quantiles: Vec<Quantile>,
    shape: SplitShape,
}

/// The quantiles that are chosen for each key.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyQuantiles<'a> {
    /// Ascending, each once.
    pub(super) quantiles: &'a [Quantile],
    pub(super) grid: &'a Grid,
    /// At most this number of values a person.
    pub(super) per_key: u64,
    pub(super) rule: ChoiceRule,
    /// For all quantiles of one key together.
    pub(super) spend: Spend,
}

#[derive(Clone, Debug)]
enum SplitShape {
    /// A choice for each, by itself.
    Apart(Vec<AnswerChoice>),
    Tree {
        depth: u32,
        root: Option<Box<QuantileNode>>,
    },
}

/// A quantile that others may be below and above of.
#[derive(Clone, Debug)]
struct QuantileNode {
    /// The index of the quantile.
    place: usize,
    /// The quantile among the values that are left here.
    fraction: Quantile,
    choice: NodeChoice,
    below: Option<Box<QuantileNode>>,
    above: Option<Box<QuantileNode>>,
}

#[derive(Clone, Debug)]
enum NodeChoice {
    /// A cut: others are chosen on its sides.
    Cut(CutChoice),
    /// A point, and no cut.
    Point(AnswerChoice),
}

impl QuantileNode {
    /// The number of people of rank over which the chance of an answer falls by `e`.
    fn scale(&self) -> f64 {
        match &self.choice {
            NodeChoice::Cut(choice) => choice.scale(self.fraction),
            NodeChoice::Point(choice) => choice.scale() / self.fraction.denominator() as f64,
        }
    }

    /// Bounds the probability that it is off by more than this number of people, beside what it inherits.
    fn exceeds(&self, points: u64, people: u64) -> f64 {
        match &self.choice {
            NodeChoice::Cut(choice) => choice.exceeds(points, self.fraction, people),
            NodeChoice::Point(choice) => choice.exceeds(points, self.fraction, people),
        }
    }
}

/// The largest error of an answer, in people.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Accuracy {
    /// Over this number of people of rank the chance of an answer falls by `e`.
    pub(super) scale: f64,
    /// By more than this it is off with a probability of at most `1 - confidence`.
    pub(super) rank_error: u64,
}

impl Splitting {
    /// A plan.
    ///
    /// # Errors
    /// Names `q` where the quantiles are none or not ascending, or three or more without a common denominator
    /// of at most 10^6; `grid` where it is too fine for the rule; `currency` where
    /// permute-and-flip is to spend rho; `bound` where a person moves ranks too far; `epsilon` where too
    /// little or too much is left for a choice.
    pub(super) fn new(asked: &KeyQuantiles<'_>) -> Result<Splitting, Invalid> {
        let KeyQuantiles { quantiles, grid, rule, .. } = *asked;
        if !quantiles.windows(2).all(|pair| pair[0] < pair[1]) {
            return Err(Invalid::new("q", InvalidKind::Mixed, "quantiles in ascending order, each once"));
        }
        if rule == ChoiceRule::PermuteAndFlip {
            if !matches!(asked.spend, Spend::Pure(_)) {
                return Err(Invalid::new("currency", InvalidKind::Mixed, "pure epsilon to permute-and-flip"));
            }
            if grid.top() > ChoiceRule::FLIPPED {
                return Err(Invalid::new(
                    "grid",
                    InvalidKind::TooLarge,
                    "at most 65,536 points to permute-and-flip",
                ));
            }
        }
        let shape = match quantiles {
            [] => return Err(Invalid::new("q", InvalidKind::Empty, "at least one quantile")),
            [_] | [_, _] => apart(asked)?,
            _ if rule == ChoiceRule::PermuteAndFlip => apart(asked)?,
            _ => tree(asked)?,
        };
        Ok(Splitting { grid: grid.clone(), quantiles: quantiles.to_vec(), shape })
    }

    /// Into how many equal parts the spend is divided: one for each choice, or for each level.
    pub(super) fn parts(&self) -> u64 {
        match &self.shape {
            SplitShape::Apart(choices) => choices.len() as u64,
            SplitShape::Tree { depth, .. } => (*depth).into(),
        }
    }

    /// The answers to all quantiles, in their order, as indexes of the grid, from the values of a key in
    /// order.
    pub(super) fn draw(&self, sorted: &[i64], noise: &mut NoiseSource) -> Vec<u64> {
        match &self.shape {
            SplitShape::Apart(choices) => {
                let choose = |(&quantile, choice): (&Quantile, &AnswerChoice)| {
                    choice.choose(&choose::by_value(sorted, &self.grid, quantile), noise) + 1
                };
                let mut answers: Vec<u64> = self.quantiles.iter().zip(choices).map(choose).collect();
                answers.sort_unstable();
                answers
            }
            SplitShape::Tree { root, .. } => {
                let places = values::places(sorted, &self.grid);
                let mut answers = vec![0; self.quantiles.len()];
                cut(root.as_deref(), &places, (0, self.grid.top() - 1), noise, &mut answers);
                answers.iter().map(|place| place + 1).collect()
            }
        }
    }

    /// Returns the largest error of each answer.
    ///
    /// # Errors
    /// Names `confidence` unless it is above 0 and below 1, and where nothing can be promised at it.
    pub(super) fn accuracies(&self, confidence: f64) -> Result<Vec<Accuracy>, Invalid> {
        if !(confidence > 0.0 && confidence < 1.0) {
            let kind = if confidence.is_nan() { InvalidKind::Nan } else { InvalidKind::Malformed };
            return Err(Invalid::new("confidence", kind, "a number above 0 and below 1, such as 0.9"));
        }
        let outside = 1.0 - confidence;
        let mut accuracies = Vec::new();
        match &self.shape {
            SplitShape::Apart(choices) => {
                let chance = outside / self.parts() as f64;
                for (&quantile, choice) in self.quantiles.iter().zip(choices) {
                    accuracies.push(accuracy(choice, quantile, self.grid.top(), chance)?);
                }
                // In order, none errs more than the one that errs most.
                let most = accuracies.iter().map(|accuracy| accuracy.rank_error).max().unwrap_or(0);
                accuracies.iter_mut().for_each(|accuracy| accuracy.rank_error = most);
            }
            SplitShape::Tree { root, .. } => {
                accuracies.resize(self.quantiles.len(), Accuracy { scale: 0.0, rank_error: 0 });
                let points = self.grid.top();
                inherit(root.as_deref(), (&[], &[]), &mut |node, errors| {
                    let rank_error = least_kept(&parts(errors, points), outside).ok_or_else(unpromised)?;
                    if let Some(accuracy) = accuracies.get_mut(node.place) {
                        *accuracy = Accuracy { scale: node.scale(), rank_error };
                    }
                    Ok(())
                })?;
            }
        }
        Ok(accuracies)
    }

    /// Returns the typical error of each answer, which is no promise.
    pub(super) fn typical(&self) -> Vec<TypicalRankError> {
        match &self.shape {
            SplitShape::Apart(choices) => {
                let own = |(quantile, choice): (&Quantile, &AnswerChoice)| {
                    TypicalRankError::of(&[choice.scale() / quantile.denominator() as f64])
                };
                self.quantiles.iter().zip(choices).map(own).collect()
            }
            SplitShape::Tree { root, .. } => {
                let mut typical = vec![TypicalRankError::of(&[]); self.quantiles.len()];
                let visited = inherit(root.as_deref(), (&[], &[]), &mut |node, errors| {
                    let scales: Vec<f64> =
                        errors.iter().map(|error| error.part * error.node.scale()).collect();
                    if let Some(typical) = typical.get_mut(node.place) {
                        *typical = TypicalRankError::of(&scales);
                    }
                    Ok(())
                });
                debug_assert!(visited.is_ok(), "no visit is refused");
                typical
            }
        }
    }
}

fn apart(asked: &KeyQuantiles<'_>) -> Result<SplitShape, Invalid> {
    let share = EpsilonShare::of(asked.spend, asked.quantiles.len() as u64);
    let choice = |&quantile: &Quantile| share.choice(asked.rule, step(asked, quantile)?, 1);
    Ok(SplitShape::Apart(asked.quantiles.iter().map(choice).collect::<Result<_, _>>()?))
}

fn tree(asked: &KeyQuantiles<'_>) -> Result<SplitShape, Invalid> {
    let many = || {
        Invalid::new("q", InvalidKind::Mixed, "quantiles that have a denominator of at most 10^6 in common")
    };
    let mut common = 1;
    for quantile in asked.quantiles {
        let denominator = quantile.denominator();
        common *= denominator / greatest_common_divisor(common, denominator);
        if common > FINEST {
            return Err(many());
        }
    }
    let numerators: Vec<u64> =
        asked.quantiles.iter().map(|q| q.numerator() * (common / q.denominator())).collect();
    let depth = usize::BITS - numerators.len().leading_zeros();
    let planner = Planner { asked, share: EpsilonShare::of(asked.spend, depth.into()) };
    let root = planner.node(&numerators, 0, (0, common), 1)?;
    Ok(SplitShape::Tree { depth, root })
}

struct Planner<'a> {
    asked: &'a KeyQuantiles<'a>,
    share: EpsilonShare,
}

impl Planner<'_> {
    /// The middle one of quantiles that lie between two others; all of them have one denominator. `beside`
    /// nodes are on its level.
    fn node(
        &self,
        numerators: &[u64],
        first: usize,
        (low, high): (u64, u64),
        beside: u64,
    ) -> Result<Option<Box<QuantileNode>>, Invalid> {
        let (below, rest) = numerators.split_at(numerators.len() / 2);
        let Some((&at, above)) = rest.split_first() else { return Ok(None) };
        let fraction = Quantile::of(at - low, high - low)?;
        let place = first + below.len();
        // A person with three values is on three sides at most.
        let (parts, step) = (beside.min(self.asked.per_key), step(self.asked, fraction)?);
        let choice = match numerators {
            [_] => NodeChoice::Point(self.share.choice(self.asked.rule, step, parts)?),
            _ => NodeChoice::Cut(self.share.cut(step, self.asked.per_key, parts)?),
        };
        Ok(Some(Box::new(QuantileNode {
            place,
            fraction,
            choice,
            below: self.node(below, first, (low, at), beside.saturating_mul(2))?,
            above: self.node(above, place + 1, (at, high), beside.saturating_mul(2))?,
        })))
    }
}

/// Returns the largest change of a quantile's losses by one person.
fn step(asked: &KeyQuantiles<'_>, quantile: Quantile) -> Result<u64, Invalid> {
    let step = asked.per_key.checked_mul(quantile.reach());
    step.ok_or_else(|| Invalid::new("bound", InvalidKind::Overflow, "fewer records a key"))
}

/// Chooses an answer from `low` to `high`, both included, then those of the values on either side of it.
fn cut(
    node: Option<&QuantileNode>,
    places: &[u64],
    (low, high): (u64, u64),
    noise: &mut NoiseSource,
    answers: &mut [u64],
) {
    let Some(node) = node else { return };
    let (at, below) = match &node.choice {
        NodeChoice::Point(choice) => {
            (low + choice.choose(&choose::by_place(places, (low, high), node.fraction), noise), 0)
        }
        NodeChoice::Cut(choice) => {
            let cut = choice.choose(places, (low, high), node.fraction, noise);
            (cut.place, cut.below)
        }
    };
    if let Some(answer) = answers.get_mut(node.place) {
        *answer = at;
    }
    let (below, above) = places.split_at(below);
    cut(node.below.as_deref(), below, (low, at), noise, answers);
    cut(node.above.as_deref(), above, (at, high), noise, answers);
}

/// A part of the error of a node.
#[derive(Clone, Copy)]
struct InheritedError<'a> {
    node: &'a QuantileNode,
    part: f64,
}

/// Visits a node between two with these errors, and those on either side of it, each with the parts of its own error.
fn inherit<'a>(
    node: Option<&'a QuantileNode>,
    (low, high): (&[InheritedError<'a>], &[InheritedError<'a>]),
    visit: &mut impl FnMut(&'a QuantileNode, &[InheritedError<'a>]) -> Result<(), Invalid>,
) -> Result<(), Invalid> {
    let Some(node) = node else { return Ok(()) };
    let t = node.fraction.to_f64();
    let mut errors = vec![InheritedError { node, part: 1.0 }];
    let inherited = low.iter().map(|error| (error, 1.0 - t)).chain(high.iter().map(|error| (error, t)));
    for (error, weight) in inherited {
        let part = weight * error.part;
        match errors.iter_mut().find(|known| known.node.place == error.node.place) {
            Some(known) => known.part += part,
            None => errors.push(InheritedError { part, ..*error }),
        }
    }
    visit(node, &errors)?;
    inherit(node.below.as_deref(), (low, &errors), visit)?;
    inherit(node.above.as_deref(), (&errors, high), visit)
}

/// The tails of these errors among this number of points.
fn parts<'a>(errors: &[InheritedError<'a>], points: u64) -> Vec<PartialError<'a>> {
    let part = |&InheritedError { node, part }: &InheritedError<'a>| PartialError {
        part,
        scale: node.scale(),
        exceeds: Box::new(move |people| node.exceeds(points, people)),
    };
    errors.iter().map(part).collect()
}

/// Of one choice among all values.
fn accuracy(
    choice: &AnswerChoice,
    quantile: Quantile,
    points: u64,
    chance: f64,
) -> Result<Accuracy, Invalid> {
    let loss = choice.exceeded(points, 0, chance).ok_or_else(unpromised)?;
    let one = quantile.denominator();
    Ok(Accuracy { scale: choice.scale() / one as f64, rank_error: loss.div_ceil(one) })
}

/// The refusal of a choice whose rank no bound holds: its epsilon is small beside the grid, or so large that the floor of weights
/// (`noise/decay.rs`) holds more than is left out.
fn unpromised() -> Invalid {
    let remedy = "a coarser grid, or another price, for no bound of the rank is known: a larger one where it is small, and one of a \
                  smaller epsilon above 100; in Rust also a lower confidence";
    Invalid::new("confidence", InvalidKind::TooLarge, remedy)
}

// Where nearly all values of a key are: between two quantiles, each chosen by its rank.

/// Two quantiles among the points of an even grid, by the exponential mechanism.
#[derive(Clone, Debug)]
pub(in crate::mechanisms) struct QuantileBounds {
    splitting: Splitting,
    grid: Grid,
}

/// The most points, of the finest grid.
const POINTS: u64 = 1 << 40;

impl QuantileBounds {
    /// Of these two, the first below the second, on all whole numbers of a range, or on as many of them as a
    /// grid may have. A person has at most `per_key` values, and all of `spend` is for them.
    ///
    /// # Errors
    /// Names `bound` where a person moves ranks too far, and `epsilon` where too little is left for a choice.
    pub(in crate::mechanisms) fn new(
        quantiles: [Quantile; 2],
        (low, high): (i64, i64),
        per_key: u64,
        spend: Spend,
    ) -> Result<QuantileBounds, Invalid> {
        let grid = Grid::linear(low, high, high.abs_diff(low).div_ceil(POINTS - 1).max(1))?;
        let asked = KeyQuantiles {
            quantiles: &quantiles,
            grid: &grid,
            per_key,
            rule: ChoiceRule::Exponential,
            spend,
        };
        Ok(QuantileBounds { splitting: Splitting::new(&asked)?, grid })
    }

    /// By how many values the rank of either may be off, at this confidence.
    ///
    /// # Errors
    /// Names `confidence` where nothing can be promised at it.
    pub(in crate::mechanisms) fn rank_error(&self, confidence: f64) -> Result<u64, Invalid> {
        let accuracies = self.splitting.accuracies(confidence)?;
        Ok(accuracies.iter().map(|accuracy| accuracy.rank_error).max().unwrap_or(0))
    }

    /// Both, from all values in order. It asks for two choices, whatever they are.
    pub(in crate::mechanisms) fn draw(&self, sorted: &[i64], noise: &mut NoiseSource) -> (i64, i64) {
        let chosen = self.splitting.draw(sorted, noise);
        let at = |index: Option<&u64>| index.and_then(|&index| self.grid.at(index)).unwrap_or(0);
        (at(chosen.first()), at(chosen.last()))
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod bounds_tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::accounting::BudgetUnits;

    fn bounds(range: (i64, i64), rho: f64) -> Result<QuantileBounds, Invalid> {
        let spend = Spend::Rho(BudgetUnits::at_most_float("rho", rho).unwrap());
        QuantileBounds::new([Quantile::of(1, 100)?, Quantile::of(99, 100)?], range, 1, spend)
    }

    // Refutes a grid that is too fine to be one, or so coarse that it shows, and quantiles that are off by
    // more than is said.
    #[test]
    fn nearly_all_values_lie_between_them() {
        for (low, high) in [(0, 1), (0, 100_000), (-(1 << 40), 1 << 41), (i64::MIN, i64::MAX)] {
            let bounds = bounds((low, high), 0.1).unwrap();
            let off = bounds.rank_error(0.999).unwrap() as usize;
            let width = i128::from(high) - i128::from(low);
            let count = 20 * off;
            let at = |at: usize| (i128::from(low) + width * at as i128 / (count as i128 - 1)) as i64;
            let sorted: Vec<i64> = (0..count).map(at).collect();
            let (first, last) = bounds.draw(&sorted, &mut NoiseSource::seeded(3));
            let below = |value| sorted.partition_point(|&other| other < value);
            assert!(below(first) <= count / 100 + off, "{first}");
            assert!(sorted.partition_point(|&other| other <= last) >= count - count / 100 - off, "{last}");
            assert!(low <= first && first <= last && last <= high);
            let (first, last) = bounds.draw(&[], &mut NoiseSource::seeded(3));
            assert!(low <= first && first <= last && last <= high);
        }
        assert_eq!(bounds((0, 9), 1e-14).unwrap_err().field(), "epsilon");
    }
}
