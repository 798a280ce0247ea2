//! Symmetric bounded noise, from the table of its weights at zero and above.

use super::coins::FairBits;
use super::source::NoiseSource;
use super::{ExactLaw, NoiseDistribution};
use crate::invalid::{Invalid, InvalidKind};

/// A symmetric distribution on the integers from `-bound` to `bound`: `j` and `-j` have one weight,
/// `half[|j|]`.
///
/// The distribution *is* the table, so a proof about the table holds for the draws, bit for bit, and no draw
/// is farther from zero than the table is long.
///
/// ```
/// use discreet::noise::{BoundedDistribution, NoiseDistribution, NoiseSource};
///
/// let distribution = BoundedDistribution::new(vec![5, 3, 1])?; // 0 in 5 of 13 draws, 2 in 1 of 13, -2 in 1 of 13
/// assert!(distribution.draw(&mut NoiseSource::from_os()?).abs() <= 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct BoundedDistribution {
    /// The weights of 0, 1, 2, ...
    half: Vec<u64>,
    /// The cumulative weights of 1, 2, ... up to the end of each block. A sum for each weight would take
    /// twice the room of the table itself.
    blocks: Vec<u128>,
    total: u128,
}

/// The number of weights in a block: a draw takes a binary search over a 32nd of the table, and then at most
/// 32 sums.
const BLOCK: usize = 32;

/// The largest weight, and the largest number of weights: 2^84 in all.
const WEIGHT: u64 = 1 << 62;
const LENGTH: usize = 1 << 21;

impl BoundedDistribution {
    /// Makes the distribution of these weights of 0, 1, 2, ... and of -1, -2, ...
    ///
    /// # Errors
    ///
    /// Names `weights` if there is none or more than 2^21, or if one of them is 0 or above 2^62.
    pub fn new(half: Vec<u64>) -> Result<BoundedDistribution, Invalid> {
        let refused = |kind, remedy| Err(Invalid::new("weights", kind, remedy));
        if half.len() > LENGTH {
            return refused(InvalidKind::TooLarge, "at most 2^21 weights");
        }
        let (least, most) = (half.iter().min(), half.iter().max());
        let Some(zero) = half.first() else {
            return refused(InvalidKind::Empty, "at least one weight");
        };
        if least == Some(&0) {
            return refused(InvalidKind::Zero, "weights above 0");
        }
        if most > Some(&WEIGHT) {
            return refused(InvalidKind::TooLarge, "weights up to 2^62");
        }
        let mut sum = 0;
        let block = |block: &[u64]| {
            sum += block.iter().copied().map(u128::from).sum::<u128>();
            sum
        };
        let blocks: Vec<u128> = half[1..].chunks(BLOCK).map(block).collect();
        let total = u128::from(*zero) + 2 * blocks.last().copied().unwrap_or(0);
        Ok(BoundedDistribution { half, blocks, total })
    }

    /// The largest magnitude of a draw, which some draws reach.
    pub fn bound(&self) -> u64 {
        self.half.len() as u64 - 1
    }

    /// Returns the magnitude above 0 at a place below the sum of their weights.
    fn magnitude(&self, place: u128) -> usize {
        let block = self.blocks.partition_point(|&sum| sum <= place);
        let before = block.checked_sub(1).map_or(0, |before| self.blocks[before]);
        let mut left = place - before;
        let mut magnitude = 1 + block * BLOCK;
        // Ends within the block, whose weights add up to more than is left.
        while left >= u128::from(self.half[magnitude]) {
            left -= u128::from(self.half[magnitude]);
            magnitude += 1;
        }
        magnitude
    }
}

impl NoiseDistribution for BoundedDistribution {
    fn draw(&self, noise: &mut NoiseSource) -> i64 {
        noise.asked_for("bounded", &format_args!("{} {}", self.bound(), self.total), 1);
        self.draw_from(noise)
    }
}

impl ExactLaw for BoundedDistribution {
    /// Draws a uniform place in the whole table: the weight of 0 first, which has no sign, then each other
    /// one twice.
    fn draw_from<B: FairBits + ?Sized>(&self, bits: &mut B) -> i64 {
        let place = bits.below_wide(self.total);
        let Some(signed) = place.checked_sub(u128::from(self.half[0])) else {
            return 0;
        };
        let magnitude = self.magnitude(signed >> 1) as i64;
        if signed & 1 == 0 { magnitude } else { -magnitude }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::goodness::{Bins, binomial_within, size};

    fn draws(half: &[u64], seed: u64, count: usize) -> Vec<i64> {
        let mut values = vec![0; count];
        BoundedDistribution::new(half.to_vec()).unwrap().fill(&mut NoiseSource::seeded(seed), &mut values);
        values
    }

    fn bins(half: &[u64]) -> Bins {
        Bins::new(half.len() as i64 - 1, 100, |z| half[z.unsigned_abs() as usize] as f64)
    }

    /// (1 - x^2)^4 on `length` weights, the largest 2^62.
    fn hill(length: usize) -> Vec<u64> {
        let weight = |j: usize| 1.0 - (j as f64 / length as f64).powi(2);
        (0..length).map(|j| (weight(j).powi(4) * (1u64 << 62) as f64) as u64).collect()
    }

    // Refutes a block that is left out or read twice, a weight that is read at its neighbour's place, a zero
    // with a sign.
    #[test]
    fn draws_fit_their_table_and_keep_its_bound() {
        let count = size(300_000, 10_000_000);
        for (seed, half) in
            [vec![5, 3, 1], hill(32), hill(33), hill(34), hill(1000), hill(65)].into_iter().enumerate()
        {
            let sample = draws(&half, seed as u64, count);
            assert!(sample.iter().all(|z| z.unsigned_abs() < half.len() as u64));
            bins(&half).test(sample.iter().copied()).assert_fits();
            let zeros = sample.iter().filter(|&&z| z == 0).count();
            let total = half.iter().map(|&weight| weight as f64).sum::<f64>() * 2.0 - half[0] as f64;
            binomial_within(zeros, count, half[0] as f64 / total);
        }
        // The mutants: a zero that counts twice, a table that is read one place off.
        let mut doubled = hill(33);
        doubled[0] *= 2;
        bins(&doubled).test(draws(&hill(33), 10, count)).assert_refuted();
        bins(&hill(34)[1..]).test(draws(&hill(33), 11, count)).assert_refuted();
    }

    // Covers every place of a small table: each magnitude is found exactly as often as its weight.
    #[test]
    fn every_place_leads_to_its_magnitude() {
        let half: Vec<u64> = (0..100).map(|j| 1 + j % 7).collect();
        let law = BoundedDistribution::new(half.clone()).unwrap();
        let mut found = vec![0; half.len()];
        (0..(law.total - u128::from(half[0])) / 2).for_each(|place| found[law.magnitude(place)] += 1);
        assert_eq!((found[0], &found[1..]), (0, &half[1..]));
    }

    #[test]
    fn the_largest_table_is_drawn_from_to_its_end() {
        let law = BoundedDistribution::new(vec![WEIGHT; LENGTH]).unwrap();
        assert_eq!(law.bound(), (1 << 21) - 1);
        assert_eq!(law.magnitude((law.total - u128::from(WEIGHT)) / 2 - 1), LENGTH - 1);
        let mut noise = NoiseSource::seeded(3);
        assert!((0..1000).any(|_| law.draw(&mut noise).unsigned_abs() > 2_000_000));
        assert_eq!(BoundedDistribution::new(vec![7]).unwrap().draw(&mut noise), 0);
    }

    #[test]
    fn tables_that_are_none_are_refused() {
        let refusal = |half: Vec<u64>| BoundedDistribution::new(half).unwrap_err().to_string();
        assert_eq!(refusal(vec![]), "weights: found an empty list; give at least one weight");
        assert_eq!(refusal(vec![3, 0]), "weights: found zero; give weights above 0");
        assert!(refusal(vec![WEIGHT + 1]).ends_with("weights up to 2^62"));
        assert!(refusal(vec![1; LENGTH + 1]).ends_with("at most 2^21 weights"));
    }
}
