//! The law of rounded Gaussian noise, beside its closed form, and beside another way to draw it.

use dashu_int::UBig;

use super::*;
use crate::noise::RoundedGaussian;

/// The rounded Gaussian of variance `sigma^2` before rounding.
fn rounded(sigma: &str) -> RoundedGaussian {
    RoundedGaussian::with_sigma(ratio(sigma)).unwrap()
}

/// Ranges of integers by their probability, `Phi((z + 1/2) / sigma) - Phi((z - 1/2) / sigma)`.
fn rounded_bins(sigma: f64) -> Bins {
    let above = |x: f64| libm::erfc(x / sigma * std::f64::consts::FRAC_1_SQRT_2) / 2.0;
    Bins::new((12.0 * sigma).ceil() as i64 + 1, 300, |z| match z.unsigned_abs() as f64 {
        // The density at the middle is this far from the mean to 10^-9.
        middle if sigma > 1e4 => (-(middle / sigma).powi(2) / 2.0).exp(),
        0.0 => 1.0 - 2.0 * above(0.5),
        middle => above(middle - 0.5) - above(middle + 0.5),
    })
}

/// The normal distribution of Karney (2016, arXiv 1303.6257, algorithm N), without a table, with uniform
/// numbers of as many digits as are asked for.
mod karney {
    use super::*;

    #[derive(Default)]
    struct Uniform(Vec<u64>);

    impl Uniform {
        fn digit(&mut self, index: usize, noise: &mut NoiseSource) -> u64 {
            while self.0.len() <= index {
                self.0.push(noise.word());
            }
            self.0[index]
        }

        fn is_below(&mut self, other: &mut Uniform, noise: &mut NoiseSource) -> bool {
            (0..)
                .map(|index| (self.digit(index, noise), other.digit(index, noise)))
                .find(|(left, right)| left != right)
                .is_some_and(|(left, right)| left < right)
        }
    }

    /// Algorithm H: `exp(-1/2)`.
    fn half(noise: &mut NoiseSource) -> bool {
        let mut last = Uniform::default();
        if last.digit(0, noise) >> 63 == 1 {
            return true;
        }
        let mut falls = 1;
        loop {
            let mut next = Uniform::default();
            if !next.is_below(&mut last, noise) {
                return falls % 2 == 0;
            }
            (last, falls) = (next, falls + 1);
        }
    }

    /// Algorithm B: `exp(-x (2 k + x) / (2 k + 2))`.
    fn accepts(k: u64, x: &mut Uniform, noise: &mut NoiseSource) -> bool {
        let mut last: Option<Uniform> = None;
        let mut falls = 0;
        loop {
            let mut next = Uniform::default();
            let falls_again = match &mut last {
                Some(last) => next.is_below(last, noise),
                None => next.is_below(x, noise),
            };
            let keeps = match noise.below(2 * k + 2) {
                0 => false,
                1 => Uniform::default().is_below(x, noise),
                _ => true,
            };
            if !(falls_again && keeps) {
                return falls % 2 == 0;
            }
            (last, falls) = (Some(next), falls + 1);
        }
    }

    /// Draws the magnitude of `sigma N`, rounded by `round`, which takes a fraction.
    fn magnitude(sigma: Ratio, round: fn(&UBig, &UBig) -> UBig, noise: &mut NoiseSource) -> i64 {
        let (k, mut x) = loop {
            let mut k = 0;
            while half(noise) {
                k += 1;
            }
            let mut x = Uniform::default();
            let few_enough = k < 2 || (0..k * (k - 1)).all(|_| half(noise));
            if few_enough && (0..=k).all(|_| accepts(k, &mut x, noise)) {
                break (k, x);
            }
        };
        let (mut digits, mut denominator) = (UBig::from(k), UBig::from(sigma.denominator()));
        for index in 0.. {
            digits = (digits << 64) + UBig::from(x.digit(index, noise));
            denominator <<= 64;
            let at = |digits: UBig| round(&(digits * UBig::from(sigma.numerator())), &denominator);
            let (low, high) = (at(digits.clone()), at(&digits + UBig::ONE));
            if low == high {
                return i64::try_from(&low).unwrap();
            }
        }
        unreachable!("bits decide at last")
    }

    pub(super) fn draws(sigma: Ratio, round: fn(&UBig, &UBig) -> UBig, seed: u64, count: usize) -> Vec<i64> {
        let mut noise = NoiseSource::seeded(seed);
        let signed = |_| {
            let magnitude = magnitude(sigma, round, &mut noise);
            if noise.below(2) == 0 { magnitude } else { -magnitude }
        };
        (0..count).map(signed).collect()
    }

    pub(super) fn half_up(numerator: &UBig, denominator: &UBig) -> UBig {
        (2u8 * numerator + denominator) / (2u8 * denominator)
    }

    pub(super) fn half_even(numerator: &UBig, denominator: &UBig) -> UBig {
        let up = half_up(numerator, denominator);
        let is_half = 2u8 * numerator + denominator == 2u8 * denominator * &up;
        if is_half && &up % 2u8 == 1 { up - UBig::ONE } else { up }
    }

    pub(super) fn toward_zero(numerator: &UBig, denominator: &UBig) -> UBig {
        numerator / denominator
    }
}

// Refutes a variance in the place of sigma, and the discrete Gaussian.
#[test]
fn draws_fit_the_exact_law_at_every_scale() {
    let count = size(125_000, 10_000_000);
    for (seed, sigma) in ["0.2"].into_iter().chain(SCALES).chain(["0.5"]).enumerate() {
        let sample = draws(&rounded(sigma), 1000 + seed as u64, count);
        rounded_bins(ratio(sigma).to_f64()).test(sample).assert_fits();
    }
    for sigma in ["0.3", "2", "50"] {
        let variance = RoundedGaussian::new(ratio(sigma)).unwrap();
        rounded_bins(ratio(sigma).to_f64()).test(draws(&variance, 1020, count)).assert_refuted();
    }
    for sigma in ["0.3", "0.5"] {
        rounded_bins(ratio(sigma).to_f64()).test(draws(&gaussian(sigma), 1021, count)).assert_refuted();
        gaussian_bins(ratio(sigma).to_f64()).test(draws(&rounded(sigma), 1022, count)).assert_refuted();
    }
    rounded_bins(50.0).test(draws(&rounded("50.5"), 1023, DRAWS)).assert_refuted();
}

#[test]
fn the_smallest_noise_is_all_but_always_zero() {
    let count = size(300_000, 10_000_000);
    assert!(draws(&rounded("0.03125"), 1030, count).iter().all(|&z| z == 0));
    // 2 Phi(-5), and 2 Phi(-4).
    for (sigma, beyond) in [("0.1", 5.733e-7), ("0.125", 6.334_248e-5)] {
        let beyond_half = draws(&rounded(sigma), 1031, count).iter().filter(|&&z| z != 0).count();
        binomial_within(beyond_half, count, beyond);
    }
}

// Refutes noise that is rounded toward zero. Nearest-even rounding is no mistake: it is the same law.
#[test]
fn another_exact_way_to_the_normal_distribution_has_one_law_with_it() {
    let count = size(30_000, 1_000_000);
    for (seed, sigma) in ["0.3", "1", "2", "50", "127.7", "1048576"].into_iter().enumerate() {
        let bins = rounded_bins(ratio(sigma).to_f64());
        let other = karney::draws(ratio(sigma), karney::half_up, 1040 + seed as u64, count);
        bins.test(other.iter().copied()).assert_fits();
        let mine = bins.count(draws(&rounded(sigma), 1050 + seed as u64, 4 * count));
        two_sample(&mine, &bins.count(other)).assert_fits();
        if seed < 3 {
            let truncated = karney::draws(ratio(sigma), karney::toward_zero, 1040 + seed as u64, count);
            bins.test(truncated).assert_refuted();
            let even = karney::draws(ratio(sigma), karney::half_even, 1040 + seed as u64, count);
            two_sample(&mine, &bins.count(even)).assert_fits();
        }
    }
    assert_eq!(karney::half_even(&UBig::from(5u8), &UBig::from(2u8)), UBig::from(2u8));
    assert_eq!(karney::half_up(&UBig::from(5u8), &UBig::from(2u8)), UBig::from(3u8));
}

// Refutes noise of the variance that it has before rounding.
#[test]
fn rounding_adds_a_twelfth_to_the_variance() {
    for (seed, sigma) in ["1", "2", "5"].into_iter().enumerate() {
        let sample = draws(&rounded(sigma), 1060 + seed as u64, DRAWS);
        let expected = ratio(sigma).to_f64().powi(2) + 1.0 / 12.0;
        let mean = sample.iter().sum::<i64>() as f64 / DRAWS as f64;
        let variance = sample.iter().map(|z| z * z).sum::<i64>() as f64 / DRAWS as f64;
        // Of the standard error of the mean, and of that of the variance, which is that of a normal's within
        // a tenth.
        let error = 5.0 / (DRAWS as f64).sqrt();
        assert!(mean.abs() < error * expected.sqrt(), "mean {mean} at sigma {sigma}");
        assert!((variance / expected - 1.0).abs() < error * 1.5, "variance {variance} at sigma {sigma}");
        if seed < 2 {
            assert!((variance / (expected - 1.0 / 12.0) - 1.0).abs() > error * 1.5);
        }
    }
}

#[test]
fn tails_and_signs_are_those_of_the_law() {
    // At sigma = 10, from 41 on: 2 Phi(-4.05).
    let sample = draws(&rounded("10"), 1070, size(DRAWS, 4 * DRAWS));
    let beyond = sample.iter().filter(|z| z.abs() >= 41).count();
    binomial_within(beyond, sample.len(), libm::erfc(4.05 * std::f64::consts::FRAC_1_SQRT_2));
    let (below, above) =
        (sample.iter().filter(|&&z| z < 0).count(), sample.iter().filter(|&&z| z > 0).count());
    binomial_within(below, below + above, 0.5);
}

// Refutes a place that is uniform in its block: at 640 blocks are 8 integers wide, along which the distribution
// falls by 1%.
#[test]
fn places_inside_a_block_of_cells_follow_the_law() {
    let above = |x: f64| libm::erfc(x / 640.0 * std::f64::consts::FRAC_1_SQRT_2);
    let block = |start: i64| above(start as f64) - above(start as f64 + 8.0);
    let (mut exact, mut uniform) = ([0.0; 8], [0.0; 8]);
    for z in 0..6_400i64 {
        let place = (z % 8) as usize;
        exact[place] += above((z as f64 - 0.5).max(0.0)) - above(z as f64 + 0.5);
        // The first half of an integer on a boundary is in the block before it.
        let before = block(if place == 0 { (z - 8).max(0) } else { z - z % 8 });
        uniform[place] += (if z == 0 { 0.0 } else { before } + block(z - z % 8)) / 16.0;
    }
    let mut counts = [0u64; 8];
    draws(&rounded("640"), 1080, 4 * DRAWS).iter().for_each(|z| counts[(z.unsigned_abs() % 8) as usize] += 1);
    chi_squared(&counts, &exact).assert_fits();
    chi_squared(&counts, &uniform).assert_refuted();
}

#[test]
fn fractions_past_128_bits_keep_the_law_of_rounded_noise() {
    let wide = Ratio::new((1 << 40) * ((1 << 80) + 1), 1 << 80).unwrap();
    rounded_bins(1048576.0).test(draws(&RoundedGaussian::new(wide).unwrap(), 1090, 200_000)).assert_fits();
    let small = Ratio::new((1 << 100) + 1, 1 << 100).unwrap();
    rounded_bins(1.0).test(draws(&RoundedGaussian::new(small).unwrap(), 1091, 200_000)).assert_fits();
    // At 2^52 the low bits come from a word of their own.
    let law = RoundedGaussian::with_sigma(2f64.powi(52)).unwrap();
    let sample = draws(&law, 1092, 200_000);
    let mut counts = [0u64; 64];
    sample.iter().for_each(|z| counts[(z.unsigned_abs() & 63) as usize] += 1);
    chi_squared(&counts, &[1.0 / 64.0; 64]).assert_fits();
    gaussian_bins(512.0).test(sample.iter().map(|z| (z + (1 << 42)) >> 43)).assert_fits();
}

#[test]
fn clones_share_a_table_and_requests_are_recorded() {
    let law = rounded("3");
    let mut noise = NoiseSource::recording(1);
    let singly: Vec<i64> = (0..1000).map(|_| law.draw(&mut noise)).collect();
    assert_eq!(noise.requests().len(), 1000);
    assert_eq!((noise.requests()[0].law, noise.requests()[0].parameter.as_str()), ("rounded-gaussian", "9"));
    assert_eq!(draws(&law.clone(), 1, 1000), singly);
    assert_eq!(law.variance(), ratio("9"));
    assert!(format!("{law:?}").contains("blocks of 2^10"), "{law:?}");
    let refusal = |result: Result<RoundedGaussian, crate::Invalid>| result.unwrap_err().to_string();
    assert_eq!(
        refusal(RoundedGaussian::new(1.0 / 1025.0)),
        "variance: found a number that is too small; give a number from 2^-10 to 2^104"
    );
    assert_eq!(
        refusal(RoundedGaussian::with_sigma(2f64.powi(53))),
        "sigma: found a number that is too large; give a number from 2^-5 to 2^52"
    );
}
