//! Ties, tails and places: what a statistical test of whole draws would see too seldom.

use super::*;
use crate::noise::NoiseSource;
use crate::noise::goodness::{Bins, binomial_within, size};

/// `q(m) = m / scale`, written out once more so that this file can be read alone.
struct Exponential {
    scale: u64,
}

const FIFTY: Exponential = Exponential { scale: 50 };

impl ConvexDecay for Exponential {
    fn reach(&self) -> u64 {
        self.scale
    }

    fn rise(&self, from: u64, to: u64) -> Fraction {
        Fraction::product(&[(to - from).into()], &[self.scale.into()])
    }

    fn curvature(&self, _: u64) -> Fraction {
        Fraction::ZERO
    }

    fn slope(&self, _: u64) -> Fraction {
        self.rise(0, 1)
    }

    fn residual(&self, _: u64) -> Fraction {
        Fraction::ZERO
    }
}

/// `q(m) = m^2 / 2000`, in blocks of `reach` chosen by the test.
struct Quadratic {
    reach: u64,
}

impl ConvexDecay for Quadratic {
    fn reach(&self) -> u64 {
        self.reach
    }

    fn rise(&self, from: u64, to: u64) -> Fraction {
        Fraction::product(&[(to - from).into(), (to + from).into()], &[2000])
    }

    fn curvature(&self, width: u64) -> Fraction {
        Fraction::product(&[width.into(), width.into()], &[1000])
    }

    fn slope(&self, at: u64) -> Fraction {
        Fraction::product(&[at.into()], &[1000])
    }

    fn residual(&self, j: u64) -> Fraction {
        Fraction::product(&[j.into(), j.into()], &[2000])
    }
}

/// Returns the block that these words select, and the number of words read.
fn block_of(table: &InversionTable<Exponential>, words: &[u64]) -> (usize, usize) {
    let mut noise = NoiseSource::fixed(words.iter().copied());
    let first = (noise.word() >> 32) as u32;
    let block = table.block(first, &mut noise);
    (block, words.len() - noise.unread())
}

/// The words of boundary `index`, moved by `by` in word `at`, the first being the 32 bits of the edge.
fn beside_boundary(table: &InversionTable<Exponential>, index: usize, at: usize, by: i64) -> Vec<u64> {
    let mut words = vec![u64::from(table.edges[index]) << 32];
    words.extend((0..6).map(|word| table.rest(index, word)));
    words[at] = words[at].wrapping_add_signed(by);
    words
}

#[test]
fn ties_with_a_boundary_are_decided_by_as_many_bits_as_it_takes() {
    let table = InversionTable::new(FIFTY);
    for index in [0, 1, 17, 100, 400] {
        // Words 1 to 3 stand in the table; 4 to 6 have to be computed further.
        for at in 1..=6 {
            let (below, read) = block_of(&table, &beside_boundary(&table, index, at, -1));
            assert_eq!((below, read), (index, at + 1), "boundary {index}, just below in word {at}");
            let (above, read) = block_of(&table, &beside_boundary(&table, index, at, 1));
            assert_eq!((above, read), (index + 1, at + 1), "boundary {index}, just above in word {at}");
        }
    }
}

#[test]
fn a_table_without_refinement_is_refuted() {
    // The mutant of the test above: it calls every tie "below" and never reads a second word.
    let table = InversionTable::new(FIFTY);
    let unrefined = |words: &[u64]| table.edges.partition_point(|&edge| edge < (words[0] >> 32) as u32);
    let above = beside_boundary(&table, 17, 1, 1);
    assert_eq!(unrefined(&above), 17);
    assert_eq!(block_of(&table, &above).0, 18);
}

#[test]
fn similar_edges_are_distinguished() {
    // Far out, blocks are so light that many boundaries share their first 32 bits; a word between two of them
    // must go to the one that holds it.
    let table = InversionTable::new(FIFTY);
    let last = table.edges.len() - 1;
    let crowded = (0..last).find(|&index| table.edges[index] == table.edges[index + 1]);
    let index = crowded.unwrap_or(last - 1);
    for candidate in index..last {
        let (block, _) = block_of(&table, &beside_boundary(&table, candidate, 1, 1));
        assert_eq!(block, candidate + 1);
    }
}

#[test]
fn boundaries_are_the_sums_of_the_law_and_do_not_depend_on_the_precision() {
    let table = InversionTable::new(FIFTY);
    let r = (-1.0f64 / 50.0).exp();
    let total = (1.0 + r) / (1.0 - r);
    let deep = boundaries(&FIFTY, 0, table.edges.len(), 9);
    for (index, boundary) in deep.iter().enumerate() {
        let exact = (1.0 + 2.0 * r * (1.0 - r.powi(index as i32)) / (1.0 - r)) / total;
        let held =
            f64::from(table.edges[index]) / 2f64.powi(32) + table.rests[index][0] as f64 / 2f64.powi(96);
        assert!((held - exact).abs() < 1e-13, "boundary {index}");
        assert_eq!(split(&(boundary >> (64 * (9 - REST)))), (table.edges[index], table.rests[index]));
    }
}

/// `a = b + c` as fractions.
fn assert_sum(a: &Fraction, b: &Fraction, c: &Fraction) {
    let ([a, b, c], [p, q, r]) = ([a, b, c].map(|x| x.parts().0), [a, b, c].map(|x| x.parts().1));
    assert_eq!(a * &q * &r, b * &p * &r + c * p * q);
}

/// Asserts exactly the assumptions of the table about a distribution: its second difference is constant, and
/// behind any place it rises by a slope and a residual that does not depend on the place.
pub(in crate::noise) fn assert_consistent(law: &impl ConvexDecay) {
    for width in [1u64, 2, 8, 1 << 20] {
        for at in [0, 1, 7, 1 << 30] {
            let (next, after) = (at * width + width, at * width + 2 * width);
            assert_sum(&law.rise(next, after), &law.rise(at * width, next), &law.curvature(width));
            let slope = law.slope(at);
            assert_sum(&law.rise(at, at + width), &slope.times(width.into(), 1), &law.residual(width));
        }
    }
}

/// Returns the block width of a table, and its boundaries.
pub(in crate::noise) fn boundaries_of<D: ConvexDecay>(table: &InversionTable<D>) -> (u64, Vec<f64>) {
    let held = |(&edge, rest): (&u32, &[u64; REST])| {
        f64::from(edge) / 2f64.powi(32) + rest[0] as f64 / 2f64.powi(96)
    };
    (1 << table.shift, table.edges.iter().zip(&table.rests).map(held).collect())
}

/// Asserts that no place of a block has a larger exponent than its bound, where its last magnitude has this
/// length.
pub(in crate::noise) fn assert_bounded<D: ConvexDecay>(table: &InversionTable<D>, length: u64) {
    for (block, &bound) in (0u64..).zip(&table.bounds) {
        let (start, next) = (block << table.shift, (block + 1) << table.shift);
        let most = table.law.rise(start, next - 1 + length).times(1 << table.uniform_bits, 1);
        assert_eq!(most.ceiling(), UBig::from(bound), "block {block}");
    }
}

#[test]
fn a_word_is_cut_into_a_sign_a_place_and_a_uniform_number_that_share_no_bit() {
    let table = InversionTable::new(Exponential { scale: 512 });
    assert_eq!((table.shift, table.uniform_bits), (3, 28));
    assert_bounded(&table, 0);
    let first = (1u64 << 31) + 12_345;
    let block = table.block(first as u32, &mut NoiseSource::fixed([]));
    let bound = u64::from(table.bounds[block]);
    for (uniform, sure) in [(bound, true), (bound - 1, false), ((1 << 28) - 1, true), (0, false)] {
        // The last place is the one that the bound was made for: its first trial never fails.
        for place in 0..if sure { 8u64 } else { 7 } {
            for sign in [0, 1] {
                let word = first << 32 | uniform << 4 | place << 1 | sign;
                // If a second word is read, it is the largest: the coin's first trial fails, and the place is
                // accepted.
                let mut noise = NoiseSource::fixed([word, u64::MAX]);
                let magnitude = (block as i64) << 3 | place as i64;
                assert_eq!(table.draw(&mut noise), if sign == 1 { -magnitude } else { magnitude });
                assert_eq!(noise.unread() == 1, sure, "uniform {uniform}, bound {bound}");
            }
        }
    }
}

#[test]
fn blocks_are_few_and_narrow_at_every_reach() {
    for reach in [1, 2, 63, 64, 127, 128, 1000, 1 << 20, (1 << 30) + 1, 1 << 52] {
        let shift = (reach / FINENESS).checked_ilog2().unwrap_or(0);
        let blocks = (reach * REACHES) >> shift;
        assert!((9..=1152).contains(&blocks), "{blocks} blocks at reach {reach}");
        assert!(1 << shift <= reach.div_ceil(FINENESS), "blocks of 2^{shift} at reach {reach}");
    }
}

#[test]
fn tails_fit_their_law_behind_any_block() {
    // Blocks that end at 9 or 36, at a sigma of 31.6: the tail is nearly the whole distribution.
    for (seed, reach) in [(1, 1), (2, 4)] {
        let table = InversionTable::new(Quadratic { reach });
        let mut noise = NoiseSource::seeded(seed);
        let start = 9 * reach as i64;
        let mut tails = Vec::new();
        while tails.len() < size(40_000, 100_000) {
            tails.extend(table.tail(&mut noise).map(|magnitude| magnitude as i64));
        }
        let weight = |z: i64| if z >= start { (-((z * z) as f64) / 2000.0).exp() } else { 0.0 };
        Bins::new(400, 100, weight).test(tails).assert_fits();

        // And the share of the tail, which rests on the same numbers.
        let whole = |z: i64| (-((z * z) as f64) / 2000.0).exp();
        Bins::new(400, 100, whole)
            .test((0..size(100_000, 300_000)).map(|_| table.draw(&mut noise)))
            .assert_fits();
    }
}

#[test]
fn the_full_coin_shows_the_probability_of_its_place() {
    // Between 104 and 111 this distribution falls by half; the bound of a block is at or above every exponent
    // inside.
    let table = InversionTable::new(Quadratic { reach: 32 });
    let mut noise = NoiseSource::seeded(3);
    for bound in [1 << table.uniform_bits, 7 << (table.uniform_bits - 3)] {
        for magnitude in [104, 107, 111u64] {
            let exponent = (magnitude * magnitude - 104 * 104) as f64 / 2000.0;
            let chance = f64::from(bound) / 2f64.powi(table.uniform_bits as i32);
            let accepted = (0..20_000).filter(|_| table.accept(104, magnitude, bound, &mut noise)).count();
            // All other places are accepted, so the coin compensates for those that the bound let through.
            binomial_within(accepted, 20_000, 1.0 - (1.0 - (-exponent).exp()) / chance);
        }
    }
}

/// `q(m) = 200 m^2`: the Gaussian of variance 1/400, which a rho of 200 pays for.
struct Steep;

impl ConvexDecay for Steep {
    fn reach(&self) -> u64 {
        1
    }

    fn rise(&self, from: u64, to: u64) -> Fraction {
        Fraction::product(&[200, (to - from).into(), (to + from).into()], &[1])
    }

    fn curvature(&self, width: u64) -> Fraction {
        Fraction::product(&[400, width.into(), width.into()], &[1])
    }

    fn slope(&self, at: u64) -> Fraction {
        Fraction::product(&[400, at.into()], &[1])
    }

    fn residual(&self, j: u64) -> Fraction {
        Fraction::product(&[200, j.into(), j.into()], &[1])
    }
}

// Refutes blocks so unlikely that their boundaries take seconds to compute, and a depth that cuts the blocks
// of usual scales.
#[test]
fn no_block_begins_where_nothing_is_left() {
    assert_consistent(&Steep);
    let table = InversionTable::new(Steep);
    assert_eq!(table.edges, [u32::MAX]);
    let mut noise = NoiseSource::seeded(9);
    assert!((0..1_000).all(|_| table.draw(&mut noise) == 0));
    assert_eq!(InversionTable::new(FIFTY).edges.len(), 450);
    // Nine standard deviations of a scale from 4 on are less deep.
    assert_eq!(InversionTable::new(Quadratic { reach: 32 }).edges.len(), 288);
}
