//! Answers, which may be released: every number here has had its noise.

use std::fmt::Write;
use std::sync::Arc;

use super::additive::Additive;
use super::alerts::Crossing;
#[cfg(doc)]
use super::keys::Key;
use super::ranks::{Quantile, TypicalRankError};
use crate::canonical::Canonical;
use crate::invalid::{Invalid, InvalidKind};

/// A noised number, and where the truth lies at the stated confidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate<T> {
    pub(super) value: T,
    pub(super) low: T,
    pub(super) high: T,
    /// The end that bounds nothing: it is the grid's, and not the truth's.
    pub(super) open: Option<OpenEnd>,
}

/// An end of an interval beyond which the truth may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OpenEnd {
    Low,
    High,
}

impl Estimate<f64> {
    /// The same within these ends, which the truth is within. Of an interval that misses them all between them is left: its noise
    /// is farther out than the interval is for.
    pub(super) fn clipped(self, low: f64, high: f64) -> Estimate<f64> {
        let clipped = self.map(|number| number.clamp(low, high));
        if self.misses(low, high) { Estimate { low, high, ..clipped } } else { clipped }
    }

    /// Returns true if no number of its interval is within these ends.
    pub(super) fn misses(&self, low: f64, high: f64) -> bool {
        self.low > high || self.high < low
    }
}

impl<T: Copy> Estimate<T> {
    pub(super) fn between(low: T, value: T, high: T) -> Estimate<T> {
        Estimate { value, low, high, open: None }
    }

    /// The same, with an interval that has no upper end.
    pub(super) fn open_above(self) -> Estimate<T> {
        Estimate { open: Some(OpenEnd::High), ..self }
    }

    /// The same through a function that does not fall.
    pub(super) fn map<U>(self, rising: impl Fn(T) -> U) -> Estimate<U> {
        Estimate {
            value: rising(self.value),
            low: rising(self.low),
            high: rising(self.high),
            open: self.open,
        }
    }

    /// The noised number, as it was drawn: it may be below zero where the truth cannot.
    pub fn value(&self) -> T {
        self.value
    }

    /// The least that the truth may be; of a value that is found above the smallest ([`Ranks::Above`]), and
    /// is bounded by nothing from below, the first answer of its grid.
    pub fn low(&self) -> T {
        self.low
    }

    /// The most that the truth may be; `None` where nothing bounds it from above, as for a value that is
    /// found below the largest ([`Ranks::Below`]).
    pub fn high(&self) -> Option<T> {
        (self.open != Some(OpenEnd::High)).then_some(self.high)
    }
}

impl Estimate<i128> {
    /// The same of numbers in reverse order, `-1 - number` each, with an upper end that is open.
    pub(super) fn reversed(self) -> Estimate<i128> {
        let Estimate { value, low, high, .. } = self;
        Estimate { value: !value, low: !high, high: !low, open: Some(OpenEnd::Low) }
    }
}

/// The noise of one number of a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noised {
    pub(super) number: &'static str,
    pub(super) kind: &'static str,
    pub(super) scale: f64,
    pub(super) ranks: Option<Ranks>,
    pub(super) crossing: Option<Crossing>,
    pub(super) typical: Option<TypicalRankError>,
    pub(super) over_bound: Option<f64>,
    pub(super) strategy: Option<&'static str>,
    pub(super) assumes: Option<&'static str>,
    pub(super) grid: Option<f64>,
}

/// The guarantee about an answer's rank among people, if there is none about its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ranks {
    /// It is below the largest, by design: at most `2 tau` people are above it.
    Below {
        /// The number of noised comparisons by which it was found, if it was searched for.
        comparisons: Option<u32>,
        /// The number of people above the rank that is aimed at.
        tau: u64,
        /// The least answer: where it is released, there are too few people to release more.
        least: i128,
    },
    /// It is above the smallest, by design: at most `2 tau` people are below it.
    Above {
        /// The number of noised comparisons by which it was found, if it was searched for.
        comparisons: Option<u32>,
        /// The number of people below the rank that is aimed at.
        tau: u64,
        /// The largest answer: where it is released, there are too few people to release less.
        most: i128,
    },
    /// It is off by this number of people at most.
    Within {
        /// The fraction of the quantile.
        quantile: Quantile,
        /// Rounded up.
        rank_error: u64,
    },
    /// It is a key that was picked: its number is below the largest that was left by this much at most.
    Behind {
        /// The number of people, or of records.
        within: u64,
    },
}

impl Noised {
    pub(super) fn of(number: &'static str, kind: &'static str, scale: f64) -> Noised {
        Noised {
            number,
            kind,
            scale,
            ranks: None,
            crossing: None,
            typical: None,
            over_bound: None,
            strategy: None,
            assumes: None,
            grid: None,
        }
    }

    pub(super) fn additive(number: &'static str, noise: &Additive) -> Noised {
        Noised::of(number, noise.family().name(), noise.scale())
    }

    pub(super) fn with_point(self, point: DecimalPoint) -> Noised {
        Noised { scale: point.float(self.scale), ..self }
    }

    /// Returns the name of the number: `records`, `people`, `sum`, `largest`, `smallest` or `quantile`.
    pub fn number(&self) -> &'static str {
        self.number
    }

    /// The law, as it is published.
    pub fn kind(&self) -> &'static str {
        self.kind
    }

    /// The law's scale: in units of the number, or in people where it is found by its rank. Of a running
    /// total, the largest standard deviation that it has.
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// Returns the guarantee about its rank, if it is found by that.
    pub fn ranks(&self) -> Option<Ranks> {
        self.ranks
    }

    /// Returns what an alert says of the number, if it is one.
    pub fn crossing(&self) -> Option<Crossing> {
        self.crossing
    }

    /// The rank error to expect of a quantile where values differ and lie evenly among the answers. It is no promise.
    pub fn typical(&self) -> Option<TypicalRankError> {
        self.typical
    }

    /// Of the sum of a mean: its standard deviation over the least that an unbiased one has at the same
    /// price, with noise that does not depend on the data. Not known where keys are discovered.
    ///
    /// A biased mean may err by less: one of clipped values is biased where it clips.
    ///
    /// Of a running total: its largest standard deviation over the least that any linear strategy has at the
    /// same price.
    pub fn over_bound(&self) -> Option<f64> {
        self.over_bound
    }

    /// Returns the strategy that correlates the noise of running totals, if it is one.
    pub fn strategy(&self) -> Option<&'static str> {
        self.strategy
    }

    /// The step of the public grid on which the number is released, in its units, where that is not a last
    /// digit: a stable mean's. The error has half of it beside the noise.
    pub fn grid(&self) -> Option<f64> {
        self.grid
    }

    /// Returns the assumption that is made and not proved, if there is one.
    pub fn assumes(&self) -> Option<&'static str> {
        self.assumes
    }
}

/// One of the numbers that a vector has.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Coordinate {
    pub(super) name: Option<String>,
    pub(super) point: DecimalPoint,
}

impl Coordinate {
    /// A number without a name: it is released by its place, from 0.
    pub fn unnamed() -> Coordinate {
        Coordinate { name: None, point: DecimalPoint::WHOLE }
    }

    /// A number with this name, released with its decimal point there.
    pub fn named(name: &str, point: DecimalPoint) -> Coordinate {
        Coordinate { name: Some(name.to_owned()), point }
    }

    /// These, if there is one for each of this number of numbers.
    pub(super) fn each(coordinates: Vec<Coordinate>, numbers: usize) -> Result<Arc<[Coordinate]>, Invalid> {
        if coordinates.len() == numbers {
            return Ok(coordinates.into());
        }
        Err(Invalid::new("of", InvalidKind::Mixed, "a name for each coordinate"))
    }

    pub(super) fn canonical(&self, form: Canonical) -> Canonical {
        let form = form.number(self.point.count().into());
        match &self.name {
            None => form.text("unnamed"),
            Some(name) => form.text("named").text(name),
        }
    }
}

/// The number of estimates of a key.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum EstimatesPerKey {
    One,
    /// One. Those behind this number of cells are of the level above, whose noises are the second half.
    Levels {
        keys: usize,
    },
    /// One. Those of each table have a noise of their own.
    Tables {
        /// The number of cells of all tables up to each.
        ends: Arc<[usize]>,
    },
    /// One for each noise.
    Quantiles,
    /// One for each of these. Each has a noise of its own, and behind them comes what all have in common.
    Coordinates(Arc<[Coordinate]>),
    /// The same, and each key has noises of its own: of each coordinate, and of what they have in common.
    OfKeys {
        coordinates: Arc<[Coordinate]>,
        /// Of each estimate, its covariance with each coordinate; empty where none is released.
        covariances: Vec<Vec<Covariance>>,
    },
}

/// The covariance of two coordinates, from noised sums of products.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Covariance {
    pub(super) value: f64,
    pub(super) scale: f64,
}

impl Covariance {
    /// Returns the covariance, in the product of the units of the two: without a bias but by shortened records, and of
    /// few records it need not be that of any.
    pub fn value(&self) -> f64 {
        self.value
    }

    /// Returns the standard deviation of the noise of the products in it. Those of the sums and of the count add little.
    pub fn scale(&self) -> f64 {
        self.scale
    }
}

/// The format of estimates, fixed before there is data.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct EstimateFormat {
    pub(super) noise: Vec<Noised>,
    pub(super) point: DecimalPoint,
    pub(super) confidence: f64,
    pub(super) each: EstimatesPerKey,
    /// Of which windows, where not of the line's own.
    pub(super) of: Option<Arc<str>>,
    /// True if a contribution bound or a range may leave records or parts of values out of the number that
    /// the interval holds.
    pub(super) bounded: bool,
    /// The keys that were found in this window, where their numbers have a noise of their own.
    pub(super) found: Option<FoundKeys>,
}

/// The keys of an answer that were found in its window, and the noise of their numbers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FoundKeys {
    /// The noise of each number of a key.
    pub(super) noise: Vec<Noised>,
    /// Of each key, in order, true if it was found.
    pub(super) keys: Vec<bool>,
}

impl EstimateFormat {
    /// Returns the number of estimates of a key.
    pub(super) fn each(&self) -> usize {
        match &self.each {
            EstimatesPerKey::One | EstimatesPerKey::Levels { .. } | EstimatesPerKey::Tables { .. } => 1,
            EstimatesPerKey::Quantiles => self.noise.len(),
            EstimatesPerKey::Coordinates(coordinates) | EstimatesPerKey::OfKeys { coordinates, .. } => {
                coordinates.len()
            }
        }
    }

    /// Returns the number of places of estimates with different noises: those of keys that were found in this window come
    /// behind the others.
    pub(super) fn different(&self) -> usize {
        self.apart() + self.found.as_ref().map_or(0, |_| self.each())
    }

    /// After how many estimates their noises are the same again.
    fn apart(&self) -> usize {
        match &self.each {
            EstimatesPerKey::OfKeys { coordinates, .. } => {
                self.noise.len() / (coordinates.len() + 1) * coordinates.len()
            }
            EstimatesPerKey::Levels { .. } => 2,
            EstimatesPerKey::Tables { ends } => ends.len(),
            _ => self.each(),
        }
    }

    /// Returns the place of a cell among those with different noises.
    pub(super) fn place_of(&self, cell: usize) -> usize {
        let each = self.each().max(1);
        if self.found.as_ref().is_some_and(|found| found.keys.get(cell / each) == Some(&true)) {
            return self.apart() + cell % each;
        }
        match &self.each {
            EstimatesPerKey::Levels { keys } => usize::from(cell >= *keys),
            EstimatesPerKey::Tables { ends } => ends.partition_point(|end| *end <= cell),
            _ => cell % self.apart().max(1),
        }
    }

    /// Returns the place of an estimate among those of its key.
    pub(super) fn place_in_key(&self, place: usize) -> usize {
        place.checked_sub(self.apart()).unwrap_or(place)
    }

    /// Returns true if a cell is of the level above.
    pub(super) fn is_above(&self, cell: usize) -> bool {
        matches!(self.each, EstimatesPerKey::Levels { keys } if cell >= keys)
    }

    /// The noise of one of them.
    pub(super) fn noise_of(&self, place: usize) -> Vec<Noised> {
        let found = self.found.as_ref().filter(|_| place >= self.apart());
        let (noise, place) = match found {
            Some(found) => (&found.noise, self.place_in_key(place)),
            None => (&self.noise, place),
        };
        match &self.each {
            EstimatesPerKey::One => noise.clone(),
            EstimatesPerKey::Levels { .. } if found.is_some() => noise.clone(),
            EstimatesPerKey::Levels { .. } => {
                let numbers = noise.len() / 2;
                noise.iter().skip(place * numbers).take(numbers).copied().collect()
            }
            EstimatesPerKey::Quantiles | EstimatesPerKey::Tables { .. } => {
                noise.get(place).copied().into_iter().collect()
            }
            EstimatesPerKey::Coordinates(coordinates) => {
                let own = noise.get(place).into_iter();
                own.chain(noise.iter().skip(coordinates.len())).copied().collect()
            }
            EstimatesPerKey::OfKeys { coordinates, .. } => {
                let size = coordinates.len().max(1);
                let first = place / size * (size + 1);
                let own = [first + place % size, first + size];
                own.iter().filter_map(|&place| self.noise.get(place)).copied().collect()
            }
        }
    }
}

/// One window's answer: an estimate a key, in the order of the keys.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer<K, T> {
    pub(super) cells: Vec<(K, Estimate<T>)>,
    pub(super) format: EstimateFormat,
    pub(super) room: Option<usize>,
}

impl<K, T> Answer<K, T> {
    /// The keys with their estimates: of quantiles and of vectors, several estimates a key, in their order.
    pub fn cells(&self) -> &[(K, Estimate<T>)] {
        &self.cells
    }

    /// The noise of each number that an estimate is made of: one for a total; for a mean the sum's, then the count's, or those
    /// of both sums of distances from the ends of its range. Of quantiles, each estimate of a key has its own; of a vector, each coordinate's sum, and
    /// then the count's. Where the [parents](Key::parent) of keys are released too, their noises follow. A key
    /// that was found in this window may have [another](Answer::noise_of_found).
    pub fn noise(&self) -> &[Noised] {
        &self.format.noise
    }

    /// Returns the noise of each number of a key that was found in this window, where it has not that of the others: a part
    /// of the key's price has found it.
    pub fn noise_of_found(&self) -> Option<&[Noised]> {
        self.format.found.as_ref().map(|found| &found.noise[..])
    }

    /// Returns the covariances of each estimate with the coordinates of its key, where they are released: of means whose
    /// ranges are found. Each is in steps, as the estimates are.
    pub fn covariances(&self) -> &[Vec<Covariance>] {
        match &self.format.each {
            EstimatesPerKey::OfKeys { covariances, .. } => covariances,
            _ => &[],
        }
    }

    /// Returns the decimal point of released estimates; of vectors, each coordinate has its own.
    pub fn point(&self) -> DecimalPoint {
        self.format.point
    }

    /// Returns the probability, for each cell by itself, that the truth is in its interval.
    pub fn confidence(&self) -> f64 {
        self.format.confidence
    }

    /// Returns the number of further keys that may become public, with partition selection. At 0 no others
    /// ever will.
    pub fn room(&self) -> Option<usize> {
        self.room
    }
}

// Where the decimal point of a whole number stands when it is released.

/// The number of a whole number's digits that stand behind the decimal point when it is released.
///
/// What is tallied are whole numbers. A price of 12.34 is tallied as 1234 steps of a hundredth; with two
/// digits behind the point it is released as it was brought. Where the point stands is public, and changes
/// nothing else.
///
/// ```
/// use discreet::mechanisms::DecimalPoint;
///
/// assert_eq!(DecimalPoint::digits(2)?.shown(-1234), "-12.34");
/// assert_eq!(DecimalPoint::digits(2)?.shown(1200), "12");
/// assert_eq!(DecimalPoint::digits(-2)?.shown(1234), "123400");
/// # Ok::<(), discreet::Invalid>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DecimalPoint(i8);

/// Up to here a power of ten is a float, exactly.
const MOST: i32 = 18;

impl DecimalPoint {
    /// Behind the last digit: numbers are released as they are.
    pub const WHOLE: DecimalPoint = DecimalPoint(0);

    /// Before the last `digits` digits; below zero, behind as many zeros more.
    ///
    /// # Errors
    /// Names `digits` unless it is from -18 to 18.
    pub fn digits(digits: i32) -> Result<DecimalPoint, Invalid> {
        match i8::try_from(digits) {
            Ok(count) if digits.abs() <= MOST => Ok(DecimalPoint(count)),
            _ => Err(Invalid::new("digits", InvalidKind::TooLarge, "a whole number from -18 to 18")),
        }
    }

    /// Returns the number of digits behind the point.
    pub fn count(self) -> i32 {
        self.0.into()
    }

    /// A whole number with its point, exactly: a plain decimal, without zeros at the end of its fraction.
    pub fn shown(self, number: i128) -> String {
        let mut text = number.to_string();
        let Ok(behind) = usize::try_from(self.0) else {
            if number != 0 {
                text.extend(std::iter::repeat_n('0', usize::from(self.0.unsigned_abs())));
            }
            return text;
        };
        if behind == 0 {
            return text;
        }
        let (sign, size) = (if number < 0 { "-" } else { "" }, number.unsigned_abs());
        let unit = 10u128.pow(behind as u32);
        let (whole, part) = (size / unit, size % unit);
        text.clear();
        // Writing to a text does not fail.
        let _ = write!(text, "{sign}{whole}.{part:0behind$}");
        let end = text.trim_end_matches('0').trim_end_matches('.').len();
        text.truncate(end);
        text
    }

    /// The same of a number that has been noised and divided, rounded to the nearest float.
    pub fn float(self, number: f64) -> f64 {
        let unit = 10f64.powi(self.count().abs());
        if self.0 < 0 { number * unit } else { number / unit }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_point_stands_where_it_was_put() {
        let shown = |digits: i32, number: i128| DecimalPoint::digits(digits).unwrap().shown(number);
        for (digits, number, text) in [
            (0, -1200, "-1200"),
            (0, 0, "0"),
            (3, 1, "0.001"),
            (3, -1, "-0.001"),
            (3, -1000, "-1"),
            (2, 120, "1.2"),
            (2, 0, "0"),
            (18, i128::MAX, "170141183460469231731.687303715884105727"),
            (18, i128::MIN, "-170141183460469231731.687303715884105728"),
            (-1, 7, "70"),
            (-3, 0, "0"),
            (-3, -5, "-5000"),
        ] {
            assert_eq!(shown(digits, number), text, "{number} with {digits} digits");
        }
        assert!(DecimalPoint::digits(19).is_err() && DecimalPoint::digits(-19).is_err());
        assert_eq!(DecimalPoint::default(), DecimalPoint::WHOLE);
    }

    proptest! {
        // Refutes a digit that is lost: read as a float, the text is the nearest one to the number.
        #[test]
        fn a_float_of_the_text_is_the_float_of_the_number(number in -(1i64 << 53)..1 << 53, digits in -18i32..=18) {
            let point = DecimalPoint::digits(digits).unwrap();
            let text: f64 = point.shown(number.into()).parse().unwrap();
            prop_assert_eq!(text, point.float(number as f64));
        }
    }
}
