//! Synthetic logs: people of whom some are very active, keys of whom few are common, and a rhythm of days.
//!
//! Every row follows from the seed and its own number, so that any worker makes any of them, and all of them
//! together are the same log for every number of workers. Its rows come by time.

use std::io;
use std::io::Write;

use jiff::Timestamp;

use super::wanted::LineCells;
use crate::invalid::{Invalid, InvalidKind};
use crate::job::config::{ConfigNumber, SYNTHETIC_FIELDS as FIELDS, Synthetic};
use crate::time::{LIMIT, Time};

/// A synthetic log.
#[derive(Clone, Debug)]
pub struct SyntheticLog {
    people: Zipf,
    keys: Zipf,
    rhythm: Rhythm,
    rows: u64,
    seed: u64,
}

/// One line of a synthetic log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct SyntheticRow {
    /// The person, from 1; the first are the most active.
    pub user: u64,
    /// The key, from 1; the first are the most common.
    pub key: u64,
    /// The duration, in hundredths of a second.
    pub value: u64,
    /// The event time.
    pub time: Time,
}

/// The number of consecutive rows that one worker makes.
pub(super) const BLOCK: u64 = 1_024;

/// The default span: 2026-01-01, the whole day.
const SPAN: (Time, Time) = (1_767_225_600_000_000, 1_767_312_000_000_000);

/// The default skew.
const SKEW: f64 = 1.1;

/// People are less unequal than keys: with the usual skew, one in a thousand of them leaves a fifth of the
/// rows.
const PERSON_SKEW_RATIO: f64 = 0.7;

impl SyntheticLog {
    /// A log as a job file describes it, over a span of time; over one day where that is not given.
    ///
    /// # Errors
    ///
    /// The errors of [`SyntheticLog::of`].
    pub fn new(synthetic: &Synthetic, span: Option<(Time, Time)>) -> Result<SyntheticLog, Invalid> {
        let Synthetic { people, rows, keys, skew, seed } = *synthetic;
        SyntheticLog::of(people, rows, keys, skew, seed, span)
    }

    /// A log with these numbers of rows, people and keys.
    ///
    /// # Errors
    ///
    /// If a number is zero or above 2^40, or the span of time is empty.
    pub fn of(
        people: u64,
        rows: u64,
        keys: u64,
        skew: Option<ConfigNumber>,
        seed: Option<u64>,
        span: Option<(Time, Time)>,
    ) -> Result<SyntheticLog, Invalid> {
        for (field, count) in [("people", people), ("rows", rows), ("keys", keys)] {
            let kind = match count {
                0 => InvalidKind::Zero,
                count if count > 1 << 40 => InvalidKind::TooLarge,
                _ => continue,
            };
            return Err(Invalid::new(field, kind, "a number from 1 to 2^40"));
        }
        let skew = skew.map_or(SKEW, ConfigNumber::to_f64);
        if !(0.0..=10.0).contains(&skew) {
            let kind = if skew < 0.0 { InvalidKind::Negative } else { InvalidKind::TooLarge };
            return Err(Invalid::new("skew", kind, "a number from 0 to 10"));
        }
        let (from, until) = span.unwrap_or(SPAN);
        if from >= until || from < -LIMIT || until > LIMIT {
            return Err(Invalid::new("until", InvalidKind::TooSmall, "a time after from"));
        }
        Ok(SyntheticLog {
            people: Zipf::new(people, PERSON_SKEW_RATIO * skew),
            keys: Zipf::new(keys, skew),
            rhythm: Rhythm::new(from, until),
            rows,
            seed: mixed(seed.unwrap_or(0)),
        })
    }

    /// The number of rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The row with this number, which must be less than [`SyntheticLog::rows`].
    pub fn row(&self, number: u64) -> SyntheticRow {
        let mut dice = SplitMix(mixed(self.seed.wrapping_add(mixed(number))));
        let time = self.rhythm.time(number, self.rows, dice.word());
        let user = self.people.draw(|| dice.part());
        let key = self.keys.draw(|| dice.part());
        // The sum of four dice is nearly normal, and durations nearly log-normal: half a minute, give or
        // take.
        let normal = ((0..4).map(|_| dice.part()).sum::<f64>() - 2.0) * 1.732;
        let value = libm::exp(8.0 + 0.9 * normal) as u64;
        SyntheticRow { user, key, value, time }
    }

    /// The number of the first row that happens after a time.
    pub(super) fn first_after(&self, time: Time) -> u64 {
        let (mut low, mut high) = (0, self.rows);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.row(middle).time > time { high = middle } else { low = middle + 1 }
        }
        low
    }

    /// The line of column names under which [`SyntheticRow::write_csv`] writes.
    pub fn header() -> String {
        FIELDS.join(",") + "\n"
    }

    /// For each field of a row, the cell for which it is wanted.
    pub(super) fn cells(wanted: &[String]) -> Vec<Option<usize>> {
        FIELDS.iter().map(|field| wanted.iter().position(|wanted| wanted == field)).collect()
    }
}

impl SyntheticRow {
    /// Writes a line of separated fields.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn write_csv(&self, to: &mut impl Write) -> io::Result<()> {
        for field in 0..FIELDS.len() {
            if field > 0 {
                to.write_all(b",")?;
            }
            self.field(field, to)?;
        }
        to.write_all(b"\n")
    }

    /// Writes a line with a JSON object.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn write_json(&self, to: &mut impl Write) -> io::Result<()> {
        for (at, name) in FIELDS.iter().enumerate() {
            // None of these texts has anything to escape, and a value is a number.
            let (before, quote) = (if at == 0 { "{" } else { "," }, if *name == "value" { "" } else { "\"" });
            write!(to, "{before}\"{name}\":{quote}")?;
            self.field(at, to)?;
            to.write_all(quote.as_bytes())?;
        }
        to.write_all(b"}\n")
    }

    fn field(&self, field: usize, to: &mut impl Write) -> io::Result<()> {
        match field {
            0 => write!(to, "u{}", self.user),
            1 => write!(to, "k{}", self.key),
            2 => write!(to, "{}.{:02}", self.value / 100, self.value % 100),
            _ => match Timestamp::from_microsecond(self.time) {
                Ok(moment) => write!(to, "{moment}"),
                // Beyond the years that have four digits.
                Err(_) => write!(to, "{}", self.time),
            },
        }
    }

    /// Writes the wanted fields into their cells.
    pub(super) fn write(&self, wanted: &[Option<usize>], cells: &mut LineCells) {
        for (field, cell) in wanted.iter().enumerate() {
            if let Some(cell) = cell {
                cells.write(*cell, |beside| {
                    // A write to memory does not fail.
                    let _ = self.field(field, beside);
                });
            }
        }
    }
}

/// A short random sequence for each row (Steele, Lea, Flood 2014: SplitMix64). Privacy does not rest on it.
pub(in crate::job) struct SplitMix(u64);

impl SplitMix {
    /// Creates the sequence of a number, such as that of a row.
    pub(in crate::job) fn of(number: u64) -> SplitMix {
        SplitMix(mixed(number))
    }

    /// Returns the next number below `sides`, which is above zero.
    pub(in crate::job) fn below(&mut self, sides: u64) -> u64 {
        ((u128::from(self.word()) * u128::from(sides)) >> 64) as u64
    }

    fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed(self.0)
    }

    /// A number from 0 to below 1.
    pub(in crate::job) fn part(&mut self) -> f64 {
        (self.word() >> 11) as f64 / (1u64 << 53) as f64
    }
}

fn mixed(word: u64) -> u64 {
    let word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ word >> 31
}

// The times of synthetic rows: more in the evening than at night, by whole numbers alone.

/// Ascending times over a span.
#[derive(Clone, Debug)]
pub(super) struct Rhythm {
    first: i128,
    span: u128,
}

const HOUR: i128 = 3_600_000_000;

/// The weight of each hour of a day.
const HOURS: [i128; 24] =
    [6, 4, 3, 2, 2, 3, 6, 12, 20, 26, 30, 32, 33, 32, 31, 30, 31, 34, 38, 40, 36, 28, 18, 10];

/// The total weight of a day.
const DAY: i128 = {
    let (mut sum, mut hour) = (0, 0);
    while hour < HOURS.len() {
        sum += HOURS[hour] * HOUR;
        hour += 1;
    }
    sum
};

impl Rhythm {
    pub(super) fn new(from: Time, until: Time) -> Rhythm {
        let first = until_then(from);
        Rhythm { first, span: (until_then(until) - first).unsigned_abs() }
    }

    /// The time of a row: somewhere in its own part of the span's total weight.
    pub(super) fn time(&self, row: u64, rows: u64, word: u64) -> Time {
        // 67 bits of the span, and 60 of the row.
        let place = u128::from(row) << 20 | u128::from(word >> 44);
        let happened = self.span * place / (u128::from(rows.max(1)) << 20);
        let happened = self.first + happened as i128;
        let mut rest = happened.rem_euclid(DAY);
        let mut time = happened.div_euclid(DAY) * 24 * HOUR;
        for busy in HOURS {
            if rest < busy * HOUR {
                time += rest / busy;
                break;
            }
            rest -= busy * HOUR;
            time += HOUR;
        }
        time as Time
    }
}

/// The total weight from 1970 until this time.
fn until_then(time: Time) -> i128 {
    let time = i128::from(time);
    let (day, of_day) = (time.div_euclid(24 * HOUR), time.rem_euclid(24 * HOUR));
    let hour = (of_day / HOUR) as usize;
    let before: i128 = HOURS.iter().take(hour).map(|busy| busy * HOUR).sum();
    day * DAY + before + HOURS.get(hour).map_or(0, |busy| busy * (of_day % HOUR))
}

// Zipf's law: the number k comes in proportion to k^-skew (Hörmann, Derflinger 1996, "Rejection-inversion to
// generate variates from monotone discrete distributions"), by libm's functions, which are the same on every
// machine.

#[derive(Clone, Debug)]
pub(super) struct Zipf {
    count: u64,
    skew: f64,
    first: f64,
    last: f64,
    squeeze: f64,
}

impl Zipf {
    pub(super) fn new(count: u64, skew: f64) -> Zipf {
        let mut zipf = Zipf { count, skew, first: 0.0, last: 0.0, squeeze: 0.0 };
        zipf.first = zipf.sum(1.5) - 1.0;
        zipf.last = zipf.sum(count as f64 + 0.5);
        zipf.squeeze = 2.0 - zipf.inverse(zipf.sum(2.5) - zipf.weight(2.0));
        zipf
    }

    /// Draws a number from 1 on; `part` gives numbers from 0 to below 1, and is called about once.
    pub(super) fn draw(&self, mut part: impl FnMut() -> f64) -> u64 {
        loop {
            let area = self.last + part() * (self.first - self.last);
            let place = self.inverse(area);
            let found = ((place + 0.5) as u64).clamp(1, self.count);
            let near = found as f64;
            if near - place <= self.squeeze || area >= self.sum(near + 0.5) - self.weight(near) {
                return found;
            }
        }
    }

    fn weight(&self, place: f64) -> f64 {
        libm::exp(-self.skew * libm::log(place))
    }

    /// The area under the weights from 1 up to `place`.
    fn sum(&self, place: f64) -> f64 {
        let log = libm::log(place);
        let power = (1.0 - self.skew) * log;
        // Where the skew is 1 it is the logarithm.
        if power.abs() < 1e-8 { log * (1.0 + power / 2.0) } else { libm::expm1(power) / power * log }
    }

    fn inverse(&self, area: f64) -> f64 {
        let power = (area * (1.0 - self.skew)).max(-1.0);
        let log =
            if power.abs() < 1e-8 { area * (1.0 - power / 2.0) } else { libm::log1p(power) / power * area };
        libm::exp(log)
    }
}

#[cfg(test)]
mod made_tests {
    #![allow(clippy::unwrap_used)]
    use std::collections::HashMap;

    use super::*;

    fn made(rows: u64, seed: u64) -> SyntheticLog {
        SyntheticLog::of(1_000, rows, 50, None, Some(seed), None).unwrap()
    }

    #[test]
    fn a_log_comes_by_time_within_its_span_and_in_its_shape() {
        let log = made(100_000, 7);
        let rows: Vec<SyntheticRow> = (0..log.rows()).map(|number| log.row(number)).collect();
        assert!(rows.windows(2).all(|pair| pair[0].time <= pair[1].time));
        assert!(rows[0].time >= SPAN.0 && rows[99_999].time < SPAN.1);
        assert!(rows.iter().all(|row| (1..=1_000).contains(&row.user) && (1..=50).contains(&row.key)));
        let mut people: HashMap<u64, u64> = HashMap::new();
        let mut keys = [0u64; 51];
        for row in &rows {
            *people.entry(row.user).or_default() += 1;
            keys[row.key as usize] += 1;
        }
        assert!(people.len() > 900 && people[&1] > 20 * people[&900], "some are very active");
        assert!(keys[1] > 30 * keys[50] && keys[50] > 0);
        let at_night = rows.iter().filter(|row| (row.time - SPAN.0) / 3_600_000_000 < 6).count();
        assert!((2_000..6_000).contains(&at_night), "{at_night}");
        let mut values: Vec<u64> = rows.iter().map(|row| row.value).collect();
        values.sort_unstable();
        assert!((2_500..3_500).contains(&values[50_000]) && values[99_000] > 15_000);
    }

    #[test]
    fn rows_follow_from_the_seed_and_their_number() {
        let (log, same, other) = (made(1_000, 7), made(1_000, 7), made(1_000, 8));
        assert!((0..1_000).rev().all(|number| log.row(number) == same.row(number)));
        assert!((0..1_000).filter(|number| log.row(*number) == other.row(*number)).count() < 5);
        // A log that was made once is made again by every later version.
        let mut line = Vec::new();
        log.row(500).write_csv(&mut line).unwrap();
        assert_eq!(String::from_utf8(line).unwrap(), PINNED);
        let mut line = Vec::new();
        log.row(500).write_json(&mut line).unwrap();
        let object: serde_json::Value = serde_json::from_slice(&line).unwrap();
        assert_eq!(object["user"], PINNED.split(',').next().unwrap());
    }

    const PINNED: &str = "u670,k2,86.76,2026-01-01T15:23:49.4231Z\n";

    #[test]
    fn what_makes_no_log_is_refused() {
        let field = |log: Result<SyntheticLog, Invalid>| log.unwrap_err().field().to_owned();
        let skew = |text| Some(ConfigNumber::parse(text).unwrap());
        assert_eq!(field(SyntheticLog::of(0, 1, 1, None, None, None)), "people");
        assert_eq!(field(SyntheticLog::of(1, 0, 1, None, None, None)), "rows");
        assert_eq!(field(SyntheticLog::of(1, 1, (1 << 40) + 1, None, None, None)), "keys");
        assert_eq!(field(SyntheticLog::of(1, 1, 1, skew("-1"), None, None)), "skew");
        assert_eq!(field(SyntheticLog::of(1, 1, 1, skew("10.5"), None, None)), "skew");
        assert_eq!(field(SyntheticLog::of(1, 1, 1, None, None, Some((5, 5)))), "until");
        for (people, rows, span) in [(1, 1, (0, 1)), (1 << 40, 1 << 40, (-LIMIT, LIMIT)), (1, 10, (-5, 3))] {
            for text in ["0", "1", "10"] {
                let log = SyntheticLog::of(people, rows, people, skew(text), None, Some(span)).unwrap();
                for number in [0, rows / 2, rows - 1] {
                    let row = log.row(number);
                    assert!((span.0..span.1).contains(&row.time) && (1..=people).contains(&row.user));
                }
            }
        }
    }
}

#[cfg(test)]
mod rhythm_tests {
    use super::*;

    #[test]
    fn times_ascend_from_the_first_moment_to_the_last() {
        for (from, until) in [(0, 86_400_000_000), (-7, 5), (-90_000_000_001, 400_000_000_123), (1, 2)] {
            let rhythm = Rhythm::new(from, until);
            let times: Vec<Time> = (0..1_000).map(|row| rhythm.time(row, 1_000, row << 50)).collect();
            assert!(times.windows(2).all(|pair| pair[0] <= pair[1]));
            assert_eq!(times[0], from);
            let last = rhythm.time(999, 1_000, u64::MAX);
            assert!(times[999] < until && last < until && until - last <= 1 + (until - from) / 1_000_000);
        }
    }
}

#[cfg(test)]
mod zipf_tests {
    use super::*;

    // Compares with the exact probabilities, within five standard deviations of each count.
    #[test]
    fn counts_follow_the_law() {
        for skew in [0.0, 0.5, 1.0, 1.1, 2.0] {
            let zipf = Zipf::new(20, skew);
            let mut state = 1u64;
            let mut part = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 11) as f64 / (1u64 << 53) as f64
            };
            let mut counts = [0u32; 21];
            for _ in 0..100_000 {
                counts[zipf.draw(&mut part) as usize] += 1;
            }
            let total: f64 = (1..=20).map(|place| f64::from(place).powf(-skew)).sum();
            for place in 1..=20u32 {
                let expected = 100_000.0 * f64::from(place).powf(-skew) / total;
                let found = f64::from(counts[place as usize]);
                assert!(
                    (found - expected).abs() < 5.0 * expected.sqrt() + 1.0,
                    "{skew} {place}: {found} {expected}"
                );
            }
        }
    }
}
