//! When things happen: more in the evening than at night, by whole numbers alone.

use crate::time::Time;

/// Times that ascend, over a span.
#[derive(Clone, Debug)]
pub(super) struct Rhythm {
    first: i128,
    span: u128,
}

const HOUR: i128 = 3_600_000_000;

/// How busy the hours of a day are.
const HOURS: [i128; 24] =
    [6, 4, 3, 2, 2, 3, 6, 12, 20, 26, 30, 32, 33, 32, 31, 30, 31, 34, 38, 40, 36, 28, 18, 10];

/// What happens in a day.
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

    /// The time of a row: somewhere in its own part of all that happens in the span.
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

/// What has happened until then, since 1970.
fn until_then(time: Time) -> i128 {
    let time = i128::from(time);
    let (day, of_day) = (time.div_euclid(24 * HOUR), time.rem_euclid(24 * HOUR));
    let hour = (of_day / HOUR) as usize;
    let before: i128 = HOURS.iter().take(hour).map(|busy| busy * HOUR).sum();
    day * DAY + before + HOURS.get(hour).map_or(0, |busy| busy * (of_day % HOUR))
}

#[cfg(test)]
mod tests {
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
