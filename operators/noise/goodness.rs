//! Statistics for the tests of this module. Every test has a fixed seed, so it fails always or never; alpha
//! is the probability that a correct sampler would fail at a random seed.

/// The quantile of the standard normal behind all bounds here, for a one-sided alpha of 10^-6.
const QUANTILE: f64 = 4.753;

/// The full size of a test, which `bash .ci/run --full` asks for.
pub(crate) fn full() -> bool {
    std::env::var_os("DISCREET_FULL").is_some()
}

/// The number of draws of a test: `small` in an ordinary run, `whole` in a full one.
pub(crate) fn size(small: usize, whole: usize) -> usize {
    if full() { whole } else { small }
}

/// The distance of counts from their distribution, as a standard normal deviate; above [`QUANTILE`] they do
/// not fit.
#[derive(Debug)]
pub(crate) struct Deviation(f64);

impl Deviation {
    pub(crate) fn fits(&self) -> bool {
        self.0 < QUANTILE
    }

    #[track_caller]
    pub(crate) fn assert_fits(&self) {
        assert!(self.fits(), "{:.1} standard deviations from the law", self.0);
    }

    #[track_caller]
    pub(crate) fn assert_refuted(&self) {
        assert!(!self.fits(), "the mutant passed, at {:.1} standard deviations", self.0);
    }
}

/// Runs Pearson's test of counts against probabilities; neighbouring bins are merged until each expects 50.
pub(crate) fn chi_squared(counts: &[u64], probabilities: &[f64]) -> Deviation {
    let draws = counts.iter().sum::<u64>() as f64;
    let weigh = |probability: &f64| probability * draws;
    let mut statistic = 0.0;
    let mut bins = 0;
    let mut pending = (0.0, 0.0);
    let mut left = draws;
    for (&count, expected) in counts.iter().zip(probabilities.iter().map(weigh)) {
        pending = (pending.0 + count as f64, pending.1 + expected);
        left -= expected;
        if pending.1 >= 50.0 && (left >= 50.0 || left.abs() < 1e-6 * draws) {
            statistic += (pending.0 - pending.1).powi(2) / pending.1;
            bins += 1;
            pending = (0.0, 0.0);
        }
    }
    if pending.1 >= 50.0 {
        statistic += (pending.0 - pending.1).powi(2) / pending.1;
        bins += 1;
    }
    deviation(statistic, bins - 1)
}

/// Tests that two lists of counts come from one distribution.
pub(crate) fn two_sample(left: &[u64], right: &[u64]) -> Deviation {
    let (n, m) = (left.iter().sum::<u64>() as f64, right.iter().sum::<u64>() as f64);
    let mut statistic = 0.0;
    let mut bins = 0;
    let mut pending = (0.0, 0.0);
    for (&a, &b) in left.iter().zip(right) {
        pending = (pending.0 + a as f64, pending.1 + b as f64);
        if pending.0.min(pending.1) >= 50.0 {
            let difference = pending.0 * (m / n).sqrt() - pending.1 * (n / m).sqrt();
            statistic += difference.powi(2) / (pending.0 + pending.1);
            bins += 1;
            pending = (0.0, 0.0);
        }
    }
    deviation(statistic, bins - 1)
}

/// Applies Wilson and Hilferty's cube root: good to 2% of the tail from ten degrees of freedom on, and
/// cautious below.
fn deviation(statistic: f64, freedom: i32) -> Deviation {
    assert!(freedom > 0, "a test needs two bins that expect 50 draws each");
    let freedom = f64::from(freedom);
    let spread = 2.0 / (9.0 * freedom);
    Deviation(((statistic / freedom).cbrt() - (1.0 - spread)) / spread.sqrt())
}

/// Asserts that `hits` of `draws` fits probability `chance`, two-sided.
#[track_caller]
pub(crate) fn binomial_within(hits: usize, draws: usize, chance: f64) {
    let mean = draws as f64 * chance;
    let deviation = (hits as f64 - mean).abs() / (mean * (1.0 - chance)).sqrt().max(1.0);
    assert!(deviation < QUANTILE, "{hits} of {draws} at {chance}: {deviation:.1} standard deviations");
}

/// A partition of the integers into ranges, each about as likely as the others.
#[derive(Debug)]
pub(crate) struct Bins {
    /// The first integer of every range but the first.
    starts: Vec<i64>,
    pub(crate) probabilities: Vec<f64>,
}

impl Bins {
    /// Cuts a distribution, given by weights on `-reach..=reach`, into about `count` ranges.
    pub(crate) fn new(reach: i64, count: usize, weight: impl Fn(i64) -> f64) -> Bins {
        let total: f64 = (-reach..=reach).map(&weight).sum();
        let (mut starts, mut probabilities, mut sum) = (Vec::new(), Vec::new(), 0.0);
        for z in -reach..=reach {
            sum += weight(z) / total;
            if sum >= 1.0 / count as f64 {
                starts.push(z + 1);
                probabilities.push(sum);
                sum = 0.0;
            }
        }
        probabilities.push(sum);
        Bins { starts, probabilities }
    }

    pub(crate) fn count(&self, draws: impl IntoIterator<Item = i64>) -> Vec<u64> {
        let mut counts = vec![0; self.probabilities.len()];
        for z in draws {
            counts[self.starts.partition_point(|&start| start <= z)] += 1;
        }
        counts
    }

    pub(crate) fn test(&self, draws: impl IntoIterator<Item = i64>) -> Deviation {
        chi_squared(&self.count(draws), &self.probabilities)
    }
}
