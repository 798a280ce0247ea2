//! Exact inversion sampling: draws from `exp(-q(m))` in about the time of one random word.
//!
//! The magnitudes `0, 1, 2, ..` are cut into at most about 1,200 equal blocks of a power-of-two width and one
//! endless tail. A draw takes one 64-bit word:
//!
//! 1. Its upper half picks the block, by inversion: the table holds the leading bits of every cumulative
//!    probability, computed in integers with both ends rounded outwards, so they are the *true* leading bits.
//!    Where 32 bits cannot decide (once in some millions of draws), more are drawn and compared with the next
//!    192 bits of the boundary, and where those cannot decide (once in 2^192) the boundary is computed
//!    further. Nothing is cut off: with a plain 64-bit table the distribution would be wrong by up to 2^-50,
//!    more than a small delta allows.
//! 2. Its lower half holds the sign, the place inside the block, and a uniform number that accepts the place
//!    with probability `exp(-(q(m) - q(start)))`. The number is compared with one bound for the whole block,
//!    which nearly always accepts; otherwise the coin is thrown in full, in exact integers.
//!
//! A continuous distribution is drawn from likewise: a magnitude is the cell up to the next one, and the place
//! inside of it is drawn as far as the coin asks for it (see `rounded.rs`).
//!
//! The table takes at most about 20 KB at any scale, so it stays in the first-level cache (the bits behind the
//! first 32 of a boundary, as much again, are hardly ever read); one cell for each integer, as inversion is
//! usually done, would need megabytes at a scale of 2^16.

use std::fmt;

use dashu_int::UBig;

use super::coins::FairBits;
use super::enclosure::Enclosure;
use super::ratio::Fraction;

/// A symmetric distribution: `P(z)` proportional to `exp(-q(|z|))`, `q` convex with `q(0) = 0` and a constant
/// second difference.
///
/// It is a distribution on the integers, where a magnitude is a point; or on the real numbers, where a
/// magnitude `m` is the cell of all places from `m` to `m + 1`.
pub(super) trait ConvexDecay {
    /// The length of a magnitude: 0 for a point, 1 for a cell.
    const LENGTH: u64 = 0;

    /// An integer near the scale, at least 1, from which the block width is chosen.
    fn reach(&self) -> u64;

    /// Returns `q(to) - q(from)`, for `from <= to`.
    fn rise(&self, from: u64, to: u64) -> Fraction;

    /// The second difference of `q` over steps of `width`.
    fn curvature(&self, width: u64) -> Fraction;

    /// A rate at which the tail from `at` falls at least: `q(at + j) = q(at) + slope j + residual(j)`.
    fn slope(&self, at: u64) -> Fraction;

    /// The part of `q(at + j) - q(at)` that the slope leaves over, at distance `j` from the start of the
    /// tail; it does not depend on where the tail starts.
    fn residual(&self, j: u64) -> Fraction;

    /// Draws the coin of probability `exp(-(q(x) - q(start)))` for a place `x` of `magnitude`, given that a
    /// uniform number fell below `bound / whole`, which is at least the exponent. Given that, it falls below
    /// the exponent, as the coin's first trial demands, with probability exponent over bound.
    fn accept<B: FairBits + ?Sized>(
        &self,
        start: u64,
        magnitude: u64,
        [bound, whole]: [u128; 2],
        noise: &mut B,
    ) -> bool {
        let exponent = self.rise(start, magnitude);
        !noise.flip(&exponent.times(whole, bound)) || noise.flip_exp_after_first_trial(&exponent)
    }

    /// Draws the coin of probability `exp(-(q(x) - q(start) - slope j))` for a place `x` of `start + j`.
    fn accept_behind<B: FairBits + ?Sized>(&self, _start: u64, j: u64, noise: &mut B) -> bool {
        noise.flip_exp(&self.residual(j))
    }

    /// The integer that a magnitude is released as, but for its sign.
    #[inline]
    fn released(&self, magnitude: u64) -> u64 {
        magnitude
    }
}

/// The number of reaches that the blocks of a distribution cover; beyond is the tail, exact as well but
/// slower.
const REACHES: u64 = 9;
/// The largest `q` at the start of a block: none begins where the distribution has fallen by more than
/// `exp(-64)`. At a scale far below 1 it falls by much more from one integer to the next, and every boundary
/// needs as many bits as the last block is unlikely: 23,000 at nine integers of variance 1/400, which take
/// seconds to compute.
const DEEPEST: UBig = UBig::from_word(64);
/// The divisor of the reach that gives the largest block width, which is at least 1. Blocks are so narrow
/// that nearly every place in one is accepted at once.
const FINENESS: u64 = 64;
/// The number of leading bits, of the 32, by which the guide finds the first block that they may mean.
const GUIDE_BITS: u32 = 12;
/// The number of words behind the first 32 bits of a boundary that the table holds.
const REST: usize = 3;

pub(super) struct InversionTable<D> {
    law: D,
    /// The logarithm of the width: blocks hold `2^shift` magnitudes each.
    shift: u32,
    guide: Vec<u16>,
    /// The first 32 bits of the probability of all blocks up to this one; the tail needs none.
    edges: Vec<u32>,
    /// The 192 bits of each boundary after its first 32.
    rests: Vec<[u64; REST]>,
    /// The bound of each block: a uniform number of `uniform_bits` at or above it accepts any place in the
    /// block.
    bounds: Vec<u32>,
    uniform_bits: u32,
}

impl<D: ConvexDecay> InversionTable<D> {
    pub(super) fn new(law: D) -> InversionTable<D> {
        let shift = (law.reach() / FINENESS).checked_ilog2().unwrap_or(0);
        let most = ((law.reach() * REACHES) >> shift) as usize;
        let blocks = (1..most).find(|blocks| law.rise(0, (*blocks as u64) << shift).ceiling() >= DEEPEST);
        let blocks = blocks.unwrap_or(most);
        let (mut edges, mut rests) = (Vec::with_capacity(blocks), Vec::with_capacity(blocks));
        for boundary in boundaries(&law, shift, blocks, REST) {
            let (edge, rest) = split(&boundary);
            edges.push(edge);
            rests.push(rest);
        }
        // The lower half of the word holds a sign, then the place if at least 16 bits are left for the
        // uniform number.
        let uniform_bits = if shift <= 15 { 31 - shift } else { 31 };
        let width = 1u64 << shift;
        let bound = |block: usize| {
            let start = block as u64 * width;
            let bound = law.rise(start, start + width - 1 + D::LENGTH).times(1 << uniform_bits, 1).ceiling();
            u32::try_from(bound).expect("blocks are so narrow that q rises by less than 1 inside")
        };
        let bounds = (0..blocks).map(bound).collect();
        let mut guide = Vec::with_capacity(1 << GUIDE_BITS);
        let mut block = 0;
        for entry in 0..1u32 << GUIDE_BITS {
            while edges.get(block).is_some_and(|&edge| edge < entry << (32 - GUIDE_BITS)) {
                block += 1;
            }
            guide.push(block as u16);
        }
        InversionTable { law, shift, guide, edges, rests, bounds, uniform_bits }
    }

    /// Makes one draw.
    #[inline]
    pub(super) fn draw<B: FairBits + ?Sized>(&self, noise: &mut B) -> i64 {
        loop {
            let word = noise.word();
            let lower = word as u32;
            let block = self.block((word >> 32) as u32, noise);
            let negative = lower & 1 == 1;
            let Some(&bound) = self.bounds.get(block) else {
                if let Some(magnitude) = self.tail(noise) {
                    return self.signed(magnitude, negative);
                }
                continue;
            };
            let (place, uniform) = if self.shift <= 15 {
                (u64::from(lower >> 1) & ((1 << self.shift) - 1), lower >> (1 + self.shift))
            } else {
                (noise.word() >> (64 - self.shift), lower >> 1)
            };
            let start = (block as u64) << self.shift;
            let magnitude = start + place;
            if uniform < bound && !self.accept(start, magnitude, bound, noise) {
                continue;
            }
            // The point zero must not be drawn as both +0 and -0; a block of zero alone has half the weight
            // instead. The cells of +0 and -0 lie side by side. One comparison asks for both: a branch on the
            // sign would be mispredicted half of the time.
            let is_point = D::LENGTH == 0 && self.shift > 0;
            if is_point && magnitude << 1 | u64::from(!negative) == 0 {
                continue;
            }
            return self.signed(magnitude, negative);
        }
    }

    /// Returns the number of boundaries at or below the uniform number that begins with `first`.
    #[inline]
    fn block<B: FairBits + ?Sized>(&self, first: u32, noise: &mut B) -> usize {
        let mut block = usize::from(self.guide[(first >> (32 - GUIDE_BITS)) as usize]);
        while let Some(&edge) = self.edges.get(block) {
            if first <= edge {
                if first == edge {
                    return self.refine(block, first, noise);
                }
                break;
            }
            block += 1;
        }
        block
    }

    /// Draws further bits to decide between blocks that 32 bits do not separate; `block` is the first whose
    /// boundary begins with `first`.
    #[cold]
    fn refine<B: FairBits + ?Sized>(&self, block: usize, first: u32, noise: &mut B) -> usize {
        let mut drawn: Vec<u64> = Vec::new();
        let alike = self.edges[block..].iter().take_while(|&&edge| edge == first).count();
        for candidate in block..block + alike {
            let mut index = 0;
            let below = loop {
                if index == drawn.len() {
                    drawn.push(noise.word());
                }
                let boundary = self.rest(candidate, index);
                if drawn[index] != boundary {
                    break drawn[index] < boundary;
                }
                index += 1;
            };
            if below {
                return candidate;
            }
        }
        block + alike
    }

    /// Returns word `index` behind the first 32 bits of a boundary: from the table, or computed anew past its
    /// end.
    fn rest(&self, boundary: usize, index: usize) -> u64 {
        match self.rests[boundary].get(index) {
            Some(&word) => word,
            None => {
                let deeper = boundaries(&self.law, self.shift, self.edges.len(), index + 1);
                low_word(&deeper[boundary])
            }
        }
    }

    /// Draws the full coin for a place that its block's bound did not accept.
    #[cold]
    fn accept<B: FairBits + ?Sized>(&self, start: u64, magnitude: u64, bound: u32, noise: &mut B) -> bool {
        self.law.accept(start, magnitude, [bound.into(), 1 << self.uniform_bits], noise)
    }

    /// Draws a magnitude behind the last block; `None` demands a new draw.
    #[cold]
    fn tail<B: FairBits + ?Sized>(&self, noise: &mut B) -> Option<u64> {
        let start = (self.edges.len() as u64) << self.shift;
        let j = noise.geometric(&self.law.slope(start));
        // One past 63 bits would need `exp(-2^11)` to happen at the largest scale there is.
        let magnitude = start.saturating_add(j).min(i64::MAX as u64);
        self.law.accept_behind(start, j, noise).then_some(magnitude)
    }

    /// Returns the integer of a magnitude, with its sign.
    #[inline]
    fn signed(&self, magnitude: u64, negative: bool) -> i64 {
        let magnitude = self.law.released(magnitude) as i64;
        // Without a branch: half of all signs would be mispredicted, at several nanoseconds each.
        let sign = -i64::from(negative);
        (magnitude ^ sign) - sign
    }
}

impl<D> fmt::Debug for InversionTable<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Table({} blocks of 2^{})", self.edges.len(), self.shift)
    }
}

/// Computes the probability of the first `1, 2, .., blocks` blocks: 32 bits and `words` words behind the
/// point, all true.
///
/// More precision is taken until both ends of every enclosure agree on them. That happens at last, because no
/// boundary is a fraction: each is a ratio of sums of powers of `e` (Lindemann 1882).
fn boundaries(law: &impl ConvexDecay, shift: u32, blocks: usize, words: usize) -> Vec<UBig> {
    let wanted = 32 + 64 * words;
    let mut bits = wanted + 96;
    loop {
        if let Some(boundaries) = boundaries_within(law, shift, blocks, wanted, bits) {
            return boundaries;
        }
        bits *= 2;
    }
}

fn boundaries_within<D: ConvexDecay>(
    law: &D,
    shift: u32,
    blocks: usize,
    wanted: usize,
    bits: usize,
) -> Option<Vec<UBig>> {
    let width = 1u64 << shift;
    let mut weight = Enclosure::one(bits);
    let mut fall = Enclosure::exp_minus(&law.rise(0, width), bits);
    let bend = Enclosure::exp_minus(&law.curvature(width), bits);
    let mut sum = Enclosure::zero(bits);
    let mut sums = Vec::with_capacity(blocks);
    for block in 0..blocks {
        // Both signs, except for a block that holds the point zero alone.
        let is_alone = width == 1 && block == 0;
        let copies = if D::LENGTH == 0 && is_alone { 1 } else { 2 * width };
        sum = sum.plus(&weight.times_integer(copies));
        sums.push(sum.clone());
        weight = weight.times(&fall);
        fall = fall.times(&bend);
    }
    let slope = law.slope(blocks as u64 * width);
    // A cell behind the last block is proposed by the weight of its start.
    let tail = weight.times_integer(2).over(&Enclosure::exp_minus(&slope, bits).complement())?;
    let total = sum.plus(&tail);
    sums.iter().map(|sum| sum.over(&total)?.leading_bits(wanted)).collect()
}

/// Splits a boundary into its first 32 bits and the words after them.
fn split(boundary: &UBig) -> (u32, [u64; REST]) {
    let rest = std::array::from_fn(|index| low_word(&(boundary >> (64 * (REST - 1 - index)))));
    (low_word(&(boundary >> (64 * REST))) as u32, rest)
}

fn low_word(value: &UBig) -> u64 {
    let (word, _) = value.as_words().split_first().map_or((0, &[][..]), |(low, rest)| (*low, rest));
    word
}

#[cfg(test)]
pub(super) mod tests;
