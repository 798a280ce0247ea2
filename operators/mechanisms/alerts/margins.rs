//! The distances from a threshold at which an alert is surely silent and surely fires, and the division of its price between its
//! two draws.

use crate::accounting::BudgetUnits;
use crate::invalid::{Invalid, InvalidKind};
use crate::mechanisms::spend::Spend;
use crate::noise::{Geometric, Ratio};

/// The band of an alert between silence and a sure alarm, and its alarms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crossing {
    pub(in crate::mechanisms) above: u64,
    pub(in crate::mechanisms) surely: u64,
    pub(in crate::mechanisms) alarms: u32,
    pub(in crate::mechanisms) left: u32,
}

impl Crossing {
    /// The most alarms of an alert.
    pub(crate) const MOST_ALARMS: u32 = 1_000;

    /// The largest threshold, and the most windows: sums of them fit a float exactly.
    pub(crate) const MOST: u64 = 1 << 40;

    /// The number up to which it is silent, with the stated probability.
    pub fn above(&self) -> u64 {
        self.above
    }

    /// The number from which on it fires, with the same probability.
    pub fn surely(&self) -> u64 {
        self.surely
    }

    /// The alarms that are paid for.
    pub fn alarms(&self) -> u32 {
        self.alarms
    }

    /// The alarms that are left after this window. Without one the alert has ended.
    pub fn left(&self) -> u32 {
        self.left
    }
}

/// The aim of the division of a price.
#[derive(Clone, Copy, Debug)]
pub(super) struct Planned {
    /// The distance by which one unit moves a number.
    pub(super) step: u64,
    /// The draws for numbers: one for each window and key.
    pub(super) draws: f64,
    pub(super) alarms: u32,
    /// The probability of any mistake.
    pub(super) wrong: f64,
}

/// The draws of one arming, and their margins.
#[derive(Clone, Debug)]
pub(super) struct Arming {
    /// The noise of the threshold.
    pub(super) threshold: Geometric,
    /// The noise of a number.
    pub(super) number: Geometric,
    /// The distance that the noise of all numbers stays below.
    pub(super) below: u64,
    /// The distance that the noise of all thresholds stays below.
    pub(super) beyond: u64,
}

/// The parts that a price is divided into.
const PARTS: u128 = 1024;

impl Arming {
    /// Divides the price of an arming so that the two distances together are least. The threshold has `part` of 1,024 parts, and
    /// the number the rest, of which it has half where it counts twice: in a bounded range.
    pub(super) fn least(spend: Spend, planned: Planned) -> Result<Arming, Invalid> {
        let range = spend.range_of_each(planned.alarms.into());
        let twice = !matches!(spend, Spend::Pure(_));
        let small = || Invalid::new("epsilon", InvalidKind::TooSmall, "more budget, or fewer alarms");
        let divided = |part: u128| {
            let threshold = range / PARTS * part;
            let rest = range - threshold;
            (threshold, if twice { rest / 2 } else { rest })
        };
        let width = |part: u128| {
            let (threshold, number) = divided(part);
            planned.beyond(threshold) + planned.below(number)
        };
        let best = (1..PARTS).min_by(|one, other| width(*one).total_cmp(&width(*other)));
        let (threshold, number) = divided(best.unwrap_or(PARTS / 2));
        let law = |bits: u128| {
            let step = u128::from(planned.step) << 64;
            Geometric::new(Ratio::new(step, bits).map_err(|_| small())?).map_err(|_| small())
        };
        let whole = |margin: f64| {
            // More than any number that is counted.
            let most = Crossing::MOST as f64;
            if margin < most { Ok(margin.ceil() as u64) } else { Err(small()) }
        };
        Ok(Arming {
            threshold: law(threshold)?,
            number: law(number)?,
            below: whole(planned.below(number))?,
            beyond: whole(planned.beyond(threshold))?,
        })
    }
}

impl Planned {
    /// Returns the distance that this number of draws all stay below, but with half of the probability of a mistake: a draw is at
    /// least `m` with the probability `exp(-m epsilon / step)`.
    fn tail(&self, draws: f64, bits: u128) -> f64 {
        let epsilon = BudgetUnits::from_bits(bits).to_float_down();
        // Ten roundings, each of at most 2^-52 of the result.
        libm::log(2.0 * draws / self.wrong) * self.step as f64 / epsilon * (1.0 + 1e-14)
    }

    /// Returns the margin of the noise of numbers.
    fn below(&self, bits: u128) -> f64 {
        self.tail(self.draws, bits)
    }

    /// Returns the margin of the noise of thresholds.
    fn beyond(&self, bits: u128) -> f64 {
        self.tail(self.alarms.into(), bits)
    }
}
