//! What each number of a found mean may cost, in which steps it is counted, and the noise that this buys.

use super::found::FoundMean;
use crate::invalid::{Invalid, InvalidKind};
use crate::mechanisms::additive::Additive;
use crate::mechanisms::keys::Key;
use crate::mechanisms::laws::{UncheckedNoise, percent};
use crate::mechanisms::sensitivity::Sensitivity;
use crate::mechanisms::spend::Spend;

/// How long a record may be, and in which steps it is counted: enforced in integers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct VectorSteps {
    /// How long, in the units of a frame.
    pub(super) longest: f64,
    /// A step is `2^-bits` of such a unit.
    pub(super) bits: u32,
    /// For products of two coordinates, one is `2^-coarse`.
    pub(super) coarse: u32,
}

/// The noise of one window of a key.
#[derive(Clone, Debug)]
pub(super) struct WindowNoise {
    pub(super) counts: Additive,
    /// Of each coordinate of the sum, in steps.
    pub(super) sums: Additive,
    /// Of each entry of the sum of products, in squares of coarse steps.
    pub(super) squares: Additive,
    /// Inside of which a count is as often as it should be; and a sum.
    pub(super) halves: (u64, u64),
}

/// The prices of a found mean.
#[derive(Clone, Debug)]
pub(super) struct FoundMeanPrices {
    pub(super) steps: VectorSteps,
    /// For finding the bounds of one key.
    pub(super) finding: Spend,
    /// Of a window that has found its bounds itself.
    pub(super) fresh: WindowNoise,
    /// Of a window that was left its bounds.
    pub(super) kept: WindowNoise,
}

/// The finest steps that sums are counted in, and products. So fine, nothing of rounding shows: of `n` records the mean is off by
/// less than a step.
const FINEST: u32 = 30;
const FINEST_PRODUCTS: u32 = 10;

/// The coarsest. At these rounding would show.
const COARSEST: u32 = 16;
const COARSEST_PRODUCTS: u32 = 5;

/// More people than this are nowhere.
const MOST_PEOPLE: u64 = 1 << 40;

impl VectorSteps {
    /// How many steps long a record is at most. It is far below 2^53.
    pub(super) fn most(&self) -> u64 {
        (self.longest * libm::exp2(self.bits.into())) as u64
    }

    /// By how much coarser the steps of products are.
    pub(super) fn coarser(&self) -> u32 {
        self.bits - self.coarse
    }

    /// How long the products of one record are at most, each pair of coordinates once, in squares of coarse steps: no longer
    /// than the square of the record's length.
    pub(super) fn most_products(&self) -> u64 {
        u64::try_from(u128::from(self.most()).pow(2) >> (2 * self.coarser())).unwrap_or(u64::MAX)
    }
}

/// How long a vector of so many normal numbers is at most, of one in so many: a bound on the chi-squared tail (Laurent and
/// Massart 2000).
pub(super) fn longest(dimension: usize, people: u64) -> f64 {
    let (dimension, log) = (dimension as f64, libm::log(people.max(2) as f64));
    (dimension + 2.0 * (dimension * log).sqrt() + 2.0 * log).sqrt()
}

impl FoundMeanPrices {
    /// # Errors
    /// Names `finding`, `following`, `counting` or `people` where it is out of range, and `bound` or `rho` where steps would have
    /// to be too coarse.
    pub(super) fn new<K: Key>(
        asked: &UncheckedNoise,
        mean: &FoundMean<K>,
    ) -> Result<FoundMeanPrices, Invalid> {
        let spend = asked.spend()?;
        let (finding, following) = mean.percentages();
        let (finding, left) = spend.split(percent("finding", finding)?);
        let kind = match mean.stated_people() {
            0 => Some(InvalidKind::Zero),
            1..=MOST_PEOPLE => None,
            _ => Some(InvalidKind::TooLarge),
        };
        if let Some(kind) = kind {
            return Err(Invalid::new("people", kind, "a whole number from 1 to 2^40"));
        }
        let steps = |bits, coarse| {
            let longest = longest(mean.dimension(), mean.stated_people());
            VectorSteps { longest, bits, coarse }
        };
        let parts = |spend: Spend| -> Result<(Spend, Spend, Spend), Invalid> {
            let (squares, left) = spend.split(percent("following", following)?);
            let (counts, sums) = left.split(asked.counting()?);
            Ok((counts, sums, squares))
        };
        let (fresh, kept) = (parts(left)?, parts(spend)?);
        let law = |spend: Spend, most: u64| {
            let moved = u128::from(mean.limits().per_key()) * u128::from(most);
            // All coordinates of a key together are one vector of this length, and their noise is the same in each.
            Additive::within(asked.family, spend, &Sensitivity::each(mean.limits(), moved)?)
        };
        let both = |of: fn(&(Spend, Spend, Spend)) -> Spend, most: u64| {
            Ok((law(of(&fresh), most)?, law(of(&kept), most)?))
        };
        let counts = both(|parts| parts.0, 1)?;
        let (bits, sums) = finest(COARSEST..=FINEST, |bits| both(|parts| parts.1, steps(bits, bits).most()))?;
        let (coarse, squares) = finest(COARSEST_PRODUCTS..=FINEST_PRODUCTS, |coarse| {
            both(|parts| parts.2, steps(bits, coarse).most_products())
        })?;
        let each = (1.0 + asked.confidence()?) / 2.0;
        let laws = |counts: Additive, sums: Additive, squares: Additive| -> Result<WindowNoise, Invalid> {
            let halves = (counts.half_width(each)?, sums.half_width(each)?);
            Ok(WindowNoise { counts, sums, squares, halves })
        };
        Ok(FoundMeanPrices {
            steps: steps(bits, coarse),
            finding: finding.part_of(mean.limits().keys()),
            fresh: laws(counts.0, sums.0, squares.0)?,
            kept: laws(counts.1, sums.1, squares.1)?,
        })
    }
}

/// With the most bits with which it can be made.
fn finest<T>(
    bits: std::ops::RangeInclusive<u32>,
    make: impl Fn(u32) -> Result<T, Invalid>,
) -> Result<(u32, T), Invalid> {
    let least = *bits.start();
    let made = bits.rev().find_map(|bits| make(bits).ok().map(|made| (bits, made)));
    made.map_or_else(|| make(least).map(|made| (least, made)), Ok)
}
