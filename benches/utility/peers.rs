//! The formulas and simulations of others, from their papers, pages and sources, in code of its own.
//!
//! | what | source |
//! |---|---|
//! | the least Gaussian noise | Balle and Wang 2018, theorem 8 |
//! | epsilon and delta of zCDP | Canonne, Kamath and Steinke 2020, proposition 12: `make_zCDP_to_approxDP` of OpenDP; Tumult converts nothing, and is given the same |
//! | discrete Laplace and Gaussian noise | the same paper; Tumult's `AddGeometricNoise` and `AddDiscreteGaussianNoise` |
//! | OpenDP's keys | `make_laplace_threshold`, `make_gaussian_threshold`: noise and a threshold, here the least that keeps delta by the exact tail |
//! | Tumult's keys | `create_partition_selection_measurement` of Tumult Core |
//! | the best keys of one key a person | Desfontaines, Voss, Gipson and Mandayam 2020, theorem 1 |
//! | choices | McKenna and Sheldon 2020; OpenDP's `make_noisy_max`, which adds exponential or Gumbel noise to scores |

use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};

/// `P[N(0, 1) >= x]`.
pub(crate) fn normal_tail(x: f64) -> f64 {
    libm::erfc(x / std::f64::consts::SQRT_2) / 2.0
}

/// Returns the point where a falling condition begins to hold, by bisection.
fn least(mut low: f64, mut high: f64, holds: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..200 {
        let middle = f64::midpoint(low, high);
        if holds(middle) { high = middle } else { low = middle }
    }
    high
}

/// The delta at epsilon of Gaussian noise on a number that moves by 1.
fn gaussian_delta(sigma: f64, epsilon: f64) -> f64 {
    let (half, part) = (0.5 / sigma, epsilon * sigma);
    normal_tail(part - half) - epsilon.exp() * normal_tail(part + half)
}

/// The least sigma of Gaussian noise for a move of 1.
pub(crate) fn analytic_gaussian(epsilon: f64, delta: f64) -> f64 {
    least(1e-3, 1e6, |sigma| gaussian_delta(sigma, epsilon) <= delta)
}

/// The delta that rho of zCDP comes to at epsilon: the least over all orders, by ternary search of a convex function.
fn zcdp_delta(rho: f64, epsilon: f64) -> f64 {
    let log_delta = |order: f64| {
        (order - 1.0) * (order * rho - epsilon) + order * libm::log1p(-1.0 / order) - libm::log(order - 1.0)
    };
    let (mut low, mut high) = (1.0 + 1e-9, (epsilon + 1.0) / (2.0 * rho) + 2.0);
    for _ in 0..200 {
        let (one, two) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
        if log_delta(one) < log_delta(two) { high = two } else { low = one }
    }
    libm::exp(log_delta(low))
}

/// The largest rho of zCDP within epsilon and delta.
pub(crate) fn zcdp_rho(epsilon: f64, delta: f64) -> f64 {
    1.0 / least(1e-3, 1e9, |inverse| zcdp_delta(1.0 / inverse, epsilon) <= delta)
}

/// A symmetric law of whole numbers: the chances of 0, 1, 2 and so on.
pub(crate) struct Law(Vec<f64>);

impl Law {
    pub(crate) fn laplace(scale: f64) -> Law {
        let q = (-1.0 / scale).exp();
        let first = (1.0 - q) / (1.0 + q);
        Law((0..(45.0 * scale) as i32 + 45).map(|at| first * q.powi(at)).collect())
    }

    pub(crate) fn gaussian(sigma: f64) -> Law {
        let weight = |at: usize| (-(at as f64 / sigma).powi(2) / 2.0).exp();
        let weights: Vec<f64> = (0..(12.0 * sigma) as usize + 12).map(weight).collect();
        let all = 2.0 * weights[1..].iter().rev().sum::<f64>() + weights[0];
        Law(weights.into_iter().map(|weight| weight / all).collect())
    }

    /// The root of the mean of the squares.
    pub(crate) fn rms(&self) -> f64 {
        let squares = self.0.iter().enumerate().map(|(at, chance)| (at as f64).powi(2) * chance);
        (2.0 * squares.sum::<f64>()).sqrt()
    }

    /// The least half-width that this part of all draws is within.
    pub(crate) fn within(&self, part: f64) -> f64 {
        let mut sum = -self.0[0];
        let reached = self.0.iter().position(|chance| {
            sum += 2.0 * chance;
            sum >= part
        });
        reached.unwrap_or(self.0.len()) as f64
    }

    /// `P[noise >= at]`.
    pub(crate) fn tail(&self, at: i64) -> f64 {
        let above = |at: usize| self.0.get(at..).map_or(0.0, |rest| rest.iter().rev().sum());
        if at > 0 { above(at as usize) } else { 1.0 - above(at.unsigned_abs() as usize + 1) }
    }
}

/// A threshold for noised numbers of people, and the noise.
pub(crate) struct Selection {
    pub(crate) threshold: i64,
    pub(crate) law: Law,
    pub(crate) how: String,
}

impl Selection {
    /// The chance that a key of this number of people is found.
    pub(crate) fn chance(&self, people: u64) -> f64 {
        self.law.tail(self.threshold - people as i64)
    }

    /// The least number of people with which a key is found in half of the windows.
    pub(crate) fn half(&self) -> f64 {
        (1..).find(|&people| self.chance(people) >= 0.5 - 1e-9).unwrap_or(u64::MAX) as f64
    }
}

/// The least whole threshold that keeps to delta for a person of this number of lone keys, by the exact tail of the noise:
/// noise of one less than the threshold gives a lone key away.
fn threshold(keys: u64, delta: f64, tail: impl Fn(i64) -> f64) -> i64 {
    let given_away = |threshold: i64| -(keys as f64 * libm::log1p(-tail(threshold - 1))).exp_m1();
    let (mut low, mut high) = (0, 1);
    while given_away(high) > delta {
        (low, high) = (high, 2 * high);
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if given_away(middle) <= delta { high = middle } else { low = middle }
    }
    high
}

/// OpenDP's selection under discrete Laplace noise: all of delta is for keys.
pub(crate) fn opendp_laplace(keys: u64, epsilon: f64, delta: f64) -> Selection {
    let law = Law::laplace(keys as f64 / epsilon);
    Selection { threshold: threshold(keys, delta, |at| law.tail(at)), law, how: "Laplace".into() }
}

/// OpenDP's selection under discrete Gaussian noise, with the part of delta for keys, in hundredths, by which it is least.
pub(crate) fn opendp_gaussian(keys: u64, epsilon: f64, delta: f64) -> Selection {
    let of = |part: u32| {
        let for_keys = delta * f64::from(part) / 100.0;
        let sigma = (keys as f64 / (2.0 * zcdp_rho(epsilon, delta - for_keys))).sqrt();
        let law = Law::gaussian(sigma);
        (threshold(keys, for_keys, |at| law.tail(at)), sigma)
    };
    let (threshold, sigma) =
        (1..100).map(of).min_by(|one, two| one.partial_cmp(two).expect("numbers")).expect("some part");
    Selection { threshold, law: Law::gaussian(sigma), how: "Gaussian, zCDP".into() }
}

/// Tumult's threshold: geometric noise, and a group of `keys` rows by group privacy.
pub(crate) fn tumult(keys: u64, epsilon: f64, delta: f64) -> Selection {
    let alpha = keys as f64 / epsilon;
    let delta = if keys == 1 { delta } else { delta / (keys as f64 * epsilon.exp()) };
    let e = (1.0 / alpha).exp();
    // The least k of which the noise is at most k with a probability of 1 - delta.
    let inverse = (-alpha * (delta * (e + 1.0)).ln()).ceil() as i64;
    Selection { threshold: inverse + 2, law: Law::laplace(alpha), how: "geometric".into() }
}

/// The chances of the best selection, where a person has one key: by numbers of people from 0 on.
pub(crate) fn best_selection(epsilon: f64, delta: f64) -> Vec<f64> {
    let mut chances = vec![0.0f64];
    while let Some(&last) = chances.last().filter(|&&last| last < 1.0 - 1e-12) {
        let next = (epsilon.exp() * last + delta).min(1.0 - (-epsilon).exp() * (1.0 - last - delta));
        chances.push(next.min(1.0));
    }
    chances
}

/// Draws with a seed.
pub(crate) struct Draws(ChaCha20Rng);

impl Draws {
    pub(crate) fn seeded(seed: u8) -> Draws {
        Draws(ChaCha20Rng::from_seed([seed; 32]))
    }

    /// A number between 0 and 1, without the ends.
    pub(crate) fn uniform(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) as f64 + 0.5) * (-53f64).exp2()
    }

    fn gumbel(&mut self) -> f64 {
        -(-self.uniform().ln()).ln()
    }

    /// The largest of `count` draws of an exponential law of rate 1.
    fn largest_exponential(&mut self, count: f64) -> f64 {
        -(-libm::expm1(self.uniform().ln() / count)).ln()
    }

    /// Discrete Laplace noise, as the difference of two geometric draws.
    pub(crate) fn laplace(&mut self, scale: f64) -> f64 {
        let mut geometric = || (-self.uniform().ln() * scale).floor();
        geometric() - geometric()
    }

    /// Gaussian noise, rounded: at a deviation of 4 and more it is the discrete one up to a thousandth.
    pub(crate) fn gaussian(&mut self, sigma: f64) -> f64 {
        let (radius, turn) = ((-2.0 * self.uniform().ln()).sqrt(), self.uniform());
        (sigma * radius * (2.0 * std::f64::consts::PI * turn).cos()).round()
    }
}

/// Answers of one score: how many, or how long the interval is, and where they begin and end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answers {
    pub(crate) weight: f64,
    /// The lower, the better.
    pub(crate) score: f64,
    pub(crate) from: f64,
    pub(crate) to: f64,
}

/// The rule by which one of them is chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Rule {
    /// The exponential mechanism: Gumbel noise on each score.
    Exponential,
    /// Permute-and-flip: exponential noise on each score.
    PermuteAndFlip,
}

/// Chooses answers of one score, where the chance falls by `e` for each `1 / rate` of score.
pub(crate) fn choose<'a>(answers: &'a [Answers], rate: f64, rule: Rule, draws: &mut Draws) -> &'a Answers {
    let mut best = (f64::NEG_INFINITY, &answers[0]);
    for answer in answers.iter().filter(|answer| answer.weight > 0.0) {
        let noise = match rule {
            Rule::Exponential => answer.weight.ln() + draws.gumbel(),
            Rule::PermuteAndFlip => draws.largest_exponential(answer.weight),
        };
        let noised = noise - rate * answer.score;
        if noised > best.0 {
            best = (noised, answer);
        }
    }
    best.1
}

/// Noised counts of a tree with `branches` children a node, made consistent (Hay, Rastogi, Miklau and Suciu 2010): the counts of its
/// leaves. All of the tree has noise, its root too, and `noise` is that of a node.
pub(crate) fn consistent_tree(leaves: &[f64], branches: usize, mut noise: impl FnMut() -> f64) -> Vec<f64> {
    // From the leaves up: the counts, and the estimates of each node by its own and those below it.
    let mut size = 1;
    while size < leaves.len() {
        size *= branches;
    }
    let mut exact = leaves.to_vec();
    exact.resize(size, 0.0);
    let mut estimates = vec![exact.iter().map(|count| count + noise()).collect::<Vec<f64>>()];
    let mut below = 1.0;
    while exact.len() > 1 {
        exact = exact.chunks(branches).map(|children| children.iter().sum()).collect();
        let own = branches as f64 * below;
        let nodes =
            exact.iter().zip(estimates[estimates.len() - 1].chunks(branches)).map(|(count, children)| {
                // Weights by the number of leaves below: that of the node's own count, and that of its children together.
                let weights = (own * branches as f64 - own, own - 1.0);
                let all = own * branches as f64 - 1.0;
                (weights.0 * (count + noise()) + weights.1 * children.iter().sum::<f64>()) / all
            });
        let nodes = nodes.collect();
        estimates.push(nodes);
        below = own;
    }
    // From the root down: each family takes an equal part of what it lacks.
    let mut above = estimates.pop().unwrap_or_default();
    while let Some(mut nodes) = estimates.pop() {
        for (parent, children) in above.iter().zip(nodes.chunks_mut(branches)) {
            let lacking = (parent - children.iter().sum::<f64>()) / branches as f64;
            children.iter_mut().for_each(|child| *child += lacking);
        }
        above = nodes;
    }
    above.truncate(leaves.len());
    above
}

/// The number of levels of such a tree, the root and the leaves among them.
pub(crate) fn tree_levels(leaves: usize, branches: usize) -> u32 {
    let mut levels = 1;
    while branches.pow(levels - 1) < leaves {
        levels += 1;
    }
    levels
}

/// Checks each formula against a published figure, or another way to compute it.
pub(crate) fn check() {
    let near =
        |found: f64, wanted: f64, part: f64| assert!((found / wanted - 1.0).abs() < part, "{found} {wanted}");
    // The exact Gaussian at (1, 1e-6), and a hundred of it: a table of converged figures.
    near(analytic_gaussian(1.0, 1e-6), 4.22468, 2e-6);
    near(analytic_gaussian(0.5, 1e-6), 8.05762, 2e-6);
    // OpenDP's test of its conversion: rho = 1/32 at delta = 1e-3 is epsilon = 0.688002.
    near(zcdp_delta(0.03125, 0.688_002_455_487_808_5), 1e-3, 1e-6);
    near(zcdp_rho(0.688_002_455_487_808_5, 1e-3), 0.03125, 1e-6);
    // At rho = .1, by Bun and Steinke's formula, which is looser, and by the least possible, which no conversion passes.
    let epsilon = least(1e-3, 100.0, |epsilon| zcdp_delta(0.1, epsilon) <= 1e-6);
    assert!(epsilon < 0.1 + 2.0 * (0.1 * 1e6f64.ln()).sqrt());
    assert!(epsilon > least(1e-3, 100.0, |epsilon| gaussian_delta(5f64.sqrt(), epsilon) <= 1e-6));
    // Moments of both laws: closed, and that of a wide normal law.
    let q = (-0.5f64).exp();
    near(Law::laplace(2.0).rms(), (2.0 * q).sqrt() / (1.0 - q), 1e-9);
    near(Law::gaussian(4.0).rms(), 4.0, 1e-9);
    assert_eq!(Law::gaussian(100.0).within(0.95), 196.0);
    near(Law::laplace(2.0).tail(3) + Law::laplace(2.0).tail(-2), 1.0, 1e-9);
    // An example of Tumult Core's page: threshold 50 at alpha 1 has this delta.
    near(Law::laplace(1.0).tail(49), 3.832_856_540_978_124_3e-22, 1e-6);
    assert_eq!(tumult(1, 1.0, 3.84e-22).threshold, 50);
    assert_eq!(tumult(1, 1.0, 3.83e-22).threshold, 51);
    // The best selection in closed form, up to where it turns.
    let (epsilon, delta) = (1.0f64, 1e-6);
    let turn = 1.0 + ((epsilon.exp() + 2.0 * delta - 1.0) / ((epsilon.exp() + 1.0) * delta)).ln() / epsilon;
    for (people, chance) in best_selection(epsilon, delta).iter().enumerate().skip(1).take(turn as usize) {
        near(*chance, (people as f64 * epsilon).exp_m1() / epsilon.exp_m1() * delta, 1e-9);
    }
    // Two answers, of which one is worse by 1: closed chances of both rules, of a hundred thousand draws.
    let answer = |score: f64| Answers { weight: 1.0, score, from: score, to: score };
    let answers = [answer(0.0), answer(1.0)];
    let worse = 1.0 / (1.0 + 1f64.exp());
    for (rule, wanted) in [(Rule::Exponential, worse), (Rule::PermuteAndFlip, (-1f64).exp() / 2.0)] {
        let mut draws = Draws::seeded(9);
        let found = (0..100_000).filter(|_| choose(&answers, 1.0, rule, &mut draws).score > 0.0).count();
        near(found as f64 / 1e5, wanted, 0.03);
    }
    let mut draws = Draws::seeded(10);
    let squares: f64 = (0..100_000).map(|_| draws.laplace(3.0).powi(2)).sum();
    near((squares / 1e5).sqrt(), Law::laplace(3.0).rms(), 0.03);
    let squares: f64 = (0..100_000).map(|_| draws.gaussian(5.0).powi(2)).sum();
    near((squares / 1e5).sqrt(), Law::gaussian(5.0).rms(), 0.03);
    // Without noise a tree is its leaves; with noise, totals of a binary tree of 1,024 leaves err by at most 4.438 of a node, for
    // one contribution, by a published table.
    let leaves: Vec<f64> = (0..1000).map(f64::from).collect();
    assert!(
        consistent_tree(&leaves, 4, || 0.0)
            .iter()
            .zip(&leaves)
            .all(|(found, leaf)| (found - leaf).abs() < 1e-6)
    );
    let (mut draws, rounds) = (Draws::seeded(11), 1_000);
    let mut squares = vec![0.0; 1024];
    for _ in 0..rounds {
        let mut total = 0.0;
        let found = consistent_tree(&[0.0; 1024], 2, || draws.gaussian(1e3) / 1e3);
        squares.iter_mut().zip(found).for_each(|(square, leaf)| {
            total += leaf;
            *square += total * total / f64::from(rounds);
        });
    }
    let mean = (squares.iter().sum::<f64>() / 1024.0 * f64::from(tree_levels(1024, 2))).sqrt();
    near(mean, 3.686_159, 0.05);
}
