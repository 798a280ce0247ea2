//! Goodness-of-fit tests of the samplers: two million draws a scale against the exact distribution, alpha
//! 10^-6 a test. Each test is shown to refute the mistake that it is meant to find.

use super::goodness::{Bins, binomial_within, chi_squared, full, size, two_sample};
use super::{
    DiscreteGaussian, DiscreteLaplace, FairBits, Geometric, NoiseDistribution, NoiseSource, Polynomial,
    Ratio, Weights,
};

mod rounded;

const DRAWS: usize = 2_000_000;

/// The number of draws where nothing is to be refuted.
fn draws_that_fit() -> usize {
    size(125_000, DRAWS)
}

/// One magnitude a block, the edge of that, and two sizes of wider blocks.
const SCALES: [&str; 8] = ["0.3", "1", "2", "5", "50", "127.7", "1000", "1048576"];

fn ratio(text: &str) -> Ratio {
    text.parse().unwrap()
}

fn laplace(scale: &str) -> DiscreteLaplace {
    DiscreteLaplace::new(ratio(scale)).unwrap()
}

/// The discrete Gaussian of variance `sigma^2`.
fn gaussian(sigma: &str) -> DiscreteGaussian {
    DiscreteGaussian::with_sigma(ratio(sigma)).unwrap()
}

fn laplace_bins(scale: f64) -> Bins {
    Bins::new((40.0 * scale).ceil() as i64, 300, |z| (-(z.abs() as f64) / scale).exp())
}

fn gaussian_bins(sigma: f64) -> Bins {
    Bins::new((12.0 * sigma).ceil() as i64, 300, |z| (-(z as f64 / sigma).powi(2) / 2.0).exp())
}

fn draws(law: &impl NoiseDistribution, seed: u64, count: usize) -> Vec<i64> {
    let mut values = vec![0; count];
    law.fill(&mut NoiseSource::seeded(seed), &mut values);
    values
}

/// The samplers of Canonne, Kamath and Steinke (2020), step by step, without a table: another way to the same
/// distributions.
mod plain {
    use super::*;

    pub(super) fn laplace(scale: Ratio, noise: &mut NoiseSource) -> i64 {
        let (t, s) = (scale.numerator() as u64, scale.denominator() as u64);
        loop {
            let u = noise.below(t);
            if u > 0 && !noise.bernoulli_exp(Ratio::new(u.into(), t.into()).unwrap()) {
                continue;
            }
            let mut v = 0;
            while noise.bernoulli_exp(Ratio::new(1, 1).unwrap()) {
                v += 1;
            }
            let magnitude = ((u + t * v) / s) as i64;
            let negative = noise.below(2) == 1;
            if !(negative && magnitude == 0) {
                return if negative { -magnitude } else { magnitude };
            }
        }
    }

    pub(super) fn gaussian(variance: Ratio, noise: &mut NoiseSource) -> i64 {
        let (p, q) = (variance.numerator(), variance.denominator());
        let t = (p / q).isqrt() + 1;
        loop {
            let candidate = laplace(Ratio::new(t, 1).unwrap(), noise);
            let excess = (u128::from(candidate.unsigned_abs()) * t * q).abs_diff(p);
            let denominator = 2 * p * q * t * t;
            if excess == 0 || noise.bernoulli_exp(Ratio::new(excess * excess, denominator).unwrap()) {
                return candidate;
            }
        }
    }
}

#[test]
fn laplace_draws_fit_the_exact_law_at_every_scale() {
    for (seed, scale) in SCALES.into_iter().enumerate() {
        laplace_bins(ratio(scale).to_f64())
            .test(draws(&laplace(scale), 100 + seed as u64, draws_that_fit()))
            .assert_fits();
    }
}

#[test]
fn gaussian_draws_fit_the_exact_law_at_every_scale() {
    for (seed, sigma) in SCALES.into_iter().enumerate() {
        gaussian_bins(ratio(sigma).to_f64())
            .test(draws(&gaussian(sigma), 200 + seed as u64, draws_that_fit()))
            .assert_fits();
    }
}

#[test]
fn the_fast_path_and_the_plain_path_have_one_law() {
    let count = size(40_000, DRAWS);
    for (seed, scale) in ["0.3", "2", "50", "1048576"].into_iter().enumerate() {
        let mut noise = NoiseSource::seeded(300 + seed as u64);
        let plain = (0..count).map(|_| plain::laplace(ratio(scale), &mut noise));
        let bins = laplace_bins(ratio(scale).to_f64());
        two_sample(&bins.count(draws(&laplace(scale), 310, draws_that_fit())), &bins.count(plain))
            .assert_fits();

        let law = gaussian(scale);
        let plain = (0..count).map(|_| plain::gaussian(law.variance(), &mut noise));
        let bins = gaussian_bins(ratio(scale).to_f64());
        two_sample(&bins.count(draws(&law, 320, draws_that_fit())), &bins.count(plain)).assert_fits();
    }
    // The mutant: a fast path that is 2% too wide, or 4% for a quarter of the draws.
    let (wider, draws_of_each) = if full() { ("2.04", DRAWS) } else { ("2.08", DRAWS / 4) };
    let mut noise = NoiseSource::seeded(330);
    let bins = laplace_bins(2.0);
    let plain = bins.count((0..draws_of_each / 4).map(|_| plain::laplace(ratio("2"), &mut noise)));
    two_sample(&bins.count(draws(&laplace(wider), 331, 4 * draws_of_each)), &plain).assert_refuted();
}

#[test]
fn a_scale_that_is_one_percent_wrong_is_refuted() {
    let scales: &[f64] = if full() { &[1.0, 50.0, 1048576.0] } else { &[50.0] };
    for &scale in scales {
        let law = DiscreteLaplace::new(1.01 * scale).unwrap();
        laplace_bins(scale).test(draws(&law, 400, DRAWS)).assert_refuted();
        let law = DiscreteGaussian::with_sigma(1.01 * scale).unwrap();
        gaussian_bins(scale).test(draws(&law, 401, DRAWS)).assert_refuted();
    }
}

#[test]
fn a_sign_that_is_one_percent_biased_is_refuted() {
    let mut noise = NoiseSource::seeded(402);
    let law = laplace("5");
    let biased = draws(&law, 403, DRAWS)
        .into_iter()
        .map(|z| if noise.below(100) < 51 { z.abs() } else { -z.abs() })
        .collect::<Vec<_>>();
    laplace_bins(5.0).test(biased).assert_refuted();
}

#[test]
fn rounded_continuous_noise_is_refuted() {
    let mut noise = NoiseSource::seeded(404);
    let mut uniform = || (noise.word() >> 11) as f64 / (1u64 << 53) as f64 + 1e-17;
    let rounded = (0..DRAWS).map(|_| (uniform().ln() - uniform().ln()).round() as i64).collect::<Vec<_>>();
    laplace_bins(1.0).test(rounded).assert_refuted();
}

#[test]
fn a_zero_that_counts_twice_is_refuted() {
    let mut noise = NoiseSource::seeded(405);
    let geometric = Geometric::new(ratio("1")).unwrap();
    // The sign is drawn, and minus zero is kept: 0.63 of the draws are zero, and not 0.46.
    let doubled = (0..DRAWS / 20).map(|_| {
        let magnitude = geometric.draw(&mut noise);
        if noise.below(2) == 0 { magnitude } else { -magnitude }
    });
    laplace_bins(1.0).test(doubled).assert_refuted();
}

#[test]
fn zero_has_the_probability_that_the_closed_form_says() {
    // tanh(1/2) = 0.4621; with a zero that counts twice it would be 0.6321.
    let zeros = draws(&laplace("1"), 500, DRAWS).into_iter().filter(|&z| z == 0).count();
    binomial_within(zeros, DRAWS, 0.462_117_157_260_009_76);
}

#[test]
fn moments_are_those_of_the_law() {
    // sigma = 10: five standard errors of the mean are 0.035, of the variance half a percent; 1% of sigma is
    // 2%.
    let sample = draws(&gaussian("10"), 501, DRAWS);
    let mean = sample.iter().sum::<i64>() as f64 / DRAWS as f64;
    let variance = sample.iter().map(|z| z * z).sum::<i64>() as f64 / DRAWS as f64;
    assert!(mean.abs() < 0.035, "mean {mean}");
    assert!((variance / 100.0 - 1.0).abs() < 0.005, "variance {variance}");

    // Laplace of scale 10: the variance 2r/(1-r)^2 at r = exp(-1/10) is 199.8334; the standard deviation of a
    // square is sqrt(5) of it.
    let sample = draws(&laplace("10"), 502, DRAWS);
    let variance = sample.iter().map(|z| z * z).sum::<i64>() as f64 / DRAWS as f64;
    assert!((variance / 199.833_4 - 1.0).abs() < 0.008, "variance {variance}");
}

#[test]
fn tails_are_those_of_the_law() {
    // sigma = 10, |z| >= 41: the exact sum over the distribution.
    let weight = |z: i64| (-(z * z) as f64 / 200.0).exp();
    let total: f64 = (-200..=200).map(weight).sum();
    let tail: f64 = 2.0 * (41..=200).map(weight).sum::<f64>() / total;
    let draws_made = size(DRAWS, 4 * DRAWS);
    let beyond = draws(&gaussian("10"), 503, draws_made).into_iter().filter(|z| z.abs() >= 41).count();
    binomial_within(beyond, draws_made, tail);

    // Behind the last block: of scale 20 that is 180, and 10^-4 of all draws come from the tail sampler.
    let far: Vec<i64> =
        draws(&laplace("20"), 504, draws_made).into_iter().filter(|z| z.abs() >= 180).collect();
    let r = (-1.0f64 / 20.0).exp();
    binomial_within(far.len(), draws_made, 2.0 * r.powi(180) / (1.0 + r));
    let bins = Bins::new(2000, 8, |z| if z.abs() >= 180 { (-(z.abs() as f64) / 20.0).exp() } else { 0.0 });
    bins.test(far).assert_fits();
}

#[test]
fn parameters_past_128_bits_keep_the_law() {
    // 50 (1 + 2^-100) as a fraction whose products need big integers in every coin that is thrown in full.
    let huge = Ratio::new(50 * ((1 << 100) + 1), 1 << 100).unwrap();
    laplace_bins(50.0).test(draws(&DiscreteLaplace::new(huge).unwrap(), 506, 200_000)).assert_fits();
    let wide = Ratio::new((1 << 40) * ((1 << 80) + 1), 1 << 80).unwrap();
    gaussian_bins(1048576.0).test(draws(&DiscreteGaussian::new(wide).unwrap(), 507, 200_000)).assert_fits();
}

#[test]
fn places_inside_a_block_follow_the_law() {
    // Scale 640 has blocks of 8, along which the distribution falls by 1.1%; a sampler that took every place
    // of a block as equally likely would pass the tests above. 8 million draws refute it with a power of 1 -
    // 10^-6.
    let mut counts = [0u64; 8];
    draws(&laplace("640"), 509, 4 * DRAWS)
        .iter()
        .filter(|&&z| z > 0)
        .for_each(|z| counts[(z % 8) as usize] += 1);
    let r = (-1.0f64 / 640.0).exp();
    let place = |place: i32| (1.0 - r) / (1.0 - r.powi(8)) * r.powi(if place == 0 { 7 } else { place - 1 });
    chi_squared(&counts, &[0, 1, 2, 3, 4, 5, 6, 7].map(place)).assert_fits();
    chi_squared(&counts, &[1.0 / 8.0; 8]).assert_refuted();
}

#[test]
fn the_widest_blocks_fill_all_their_low_bits() {
    // At 2^52 the low 45 bits come from a word of their own: they must be uniform, and the high part Laplace.
    let law = DiscreteLaplace::new(Ratio::new(1 << 52, 1).unwrap()).unwrap();
    let sample = draws(&law, 508, 500_000);
    let mut counts = [0u64; 64];
    sample.iter().for_each(|z| counts[(z.unsigned_abs() & 63) as usize] += 1);
    chi_squared(&counts, &[1.0 / 64.0; 64]).assert_fits();
    let high = sample.iter().map(|z| (z.unsigned_abs() >> 43) as i64);
    Bins::new(20_000, 300, |z| if z >= 0 { (-(z as f64) / 512.0).exp() } else { 0.0 })
        .test(high)
        .assert_fits();
    let beyond = sample.iter().filter(|z| z.unsigned_abs() > 1 << 52).count();
    binomial_within(beyond, sample.len(), (-1.0f64).exp());
}

#[test]
fn polynomial_draws_fit_their_law_and_keep_their_bound() {
    for (bound, exponent) in [(1u64, 3u32), (2, 1), (10, 2), (1000, 5)] {
        let law = Polynomial::new(bound, exponent).unwrap();
        let sample = draws(&law, 600, size(100_000, 300_000));
        assert!(sample.iter().all(|z| z.unsigned_abs() < bound));
        if bound > 1 {
            let square = (bound * bound) as f64;
            let weight = |z: i64| (square - (z * z) as f64).max(0.0).powi(exponent as i32);
            let deviation = Bins::new(bound as i64, 100, weight).test(sample.iter().copied());
            deviation.assert_fits();
            // The mutant: one trial too few.
            let weight = |z: i64| (square - (z * z) as f64).max(0.0).powi(exponent as i32 + 1);
            Bins::new(bound as i64, 100, weight).test(sample).assert_refuted();
        }
    }
}

#[test]
fn weighted_draws_fit_their_table() {
    let weights = [3u128, 0, 1, 10, 0, 6];
    for shift in [0, 60, 120] {
        let law = Weights::new(weights.map(|weight| weight << shift)).unwrap();
        let mut noise = NoiseSource::seeded(700 + shift as u64);
        let mut counts = [0u64; 6];
        (0..200_000).for_each(|_| counts[law.draw(&mut noise)] += 1);
        assert_eq!((counts[1], counts[4]), (0, 0));
        chi_squared(&counts, &weights.map(|weight| weight as f64 / 20.0)).assert_fits();
    }
}

#[test]
fn draws_are_not_correlated_with_those_before() {
    // |r| < 5 / sqrt(n) for lags 1 to 50: alpha 3 x 10^-5 in all.
    let sample = draws(&gaussian("3"), 800, 1_000_000);
    for lag in 1..=50 {
        let sum: i64 = sample.iter().zip(&sample[lag..]).map(|(a, b)| a * b).sum();
        let correlation = sum as f64 / 9.0 / sample.len() as f64;
        assert!(correlation.abs() < 0.005, "lag {lag}: {correlation}");
    }
}

#[test]
fn filling_a_slice_is_drawing_one_by_one() {
    let law = gaussian("700");
    let mut noise = NoiseSource::seeded(900);
    let singly: Vec<i64> = (0..10_000).map(|_| law.draw(&mut noise)).collect();
    assert_eq!(draws(&law, 900, 10_000), singly);
}

#[test]
fn a_recording_source_returns_what_was_asked_of_it() {
    let requests = |scale: &str, cells: usize| {
        let mut noise = NoiseSource::recording(1);
        laplace(scale).fill(&mut noise, &mut vec![0; cells]);
        gaussian("3").draw(&mut noise);
        noise.requests().to_vec()
    };
    assert_eq!(requests("2", 10), requests("2", 10));
    // The mutants that the replay of neighbouring inputs must refute: a scale, or a number of cells, that
    // depends on the data.
    assert_ne!(requests("2", 10), requests("2.01", 10));
    assert_ne!(requests("2", 10), requests("2", 11));
}

#[test]
fn parameters_outside_the_lattice_are_refused_by_name() {
    let refusal = |result: Result<(), crate::Invalid>| result.unwrap_err().to_string();
    assert_eq!(
        refusal(DiscreteLaplace::new(1.0 / 1025.0).map(drop)),
        "scale: found a number that is too small; give a number from 2^-10 to 2^52"
    );
    assert_eq!(
        refusal(DiscreteGaussian::new(2f64.powi(105)).map(drop)),
        "variance: found a number that is too large; give a number from 2^-10 to 2^104"
    );
    assert_eq!(refusal(Polynomial::new(0, 1).map(drop)), "bound: found zero; give an integer from 1 to 2^52");
    assert_eq!(
        refusal(Polynomial::new(5, 1001).map(drop)),
        "exponent: found a number that is too large; give an integer from 1 to 1000"
    );
    assert_eq!(refusal(Weights::new([]).map(drop)), "weights: found an empty list; give at least one weight");
    assert_eq!(
        refusal(Weights::new([0, 0]).map(drop)),
        "weights: found zero; give at least one weight above 0"
    );
    assert_eq!(Weights::new([u128::MAX, 1]).unwrap_err().kind(), crate::InvalidKind::Overflow);
}
