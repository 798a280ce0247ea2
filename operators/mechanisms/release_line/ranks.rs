//! The guarantee about a released value's rank, and the cases where a number says next to nothing.

/// The guarantee about a value's rank among people, for values whose interval says nothing of their distance
/// from the truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RankInterval {
    /// The maximum number of people at or above the value.
    Largest(u64),
    /// The maximum number of people at or below the value.
    Smallest(u64),
    /// The maximum number of people between the value and the requested quantile.
    Near(u64),
    /// The maximum distance of a picked key's number from the largest that was left.
    Behind(u64),
}

impl RankInterval {
    /// Returns the number of people by which the value may be off.
    pub(crate) fn allowed(self) -> u64 {
        match self {
            RankInterval::Largest(people)
            | RankInterval::Smallest(people)
            | RankInterval::Near(people)
            | RankInterval::Behind(people) => people,
        }
    }
}

/// Says among how many values a quantile whose rank may be off by `error` says next to nothing: among them, nothing bounds it from
/// either side. `unit` is the noun of what is ranked.
pub(crate) fn silent_among(
    q: &str,
    error: u64,
    unit: &str,
    number: impl Fn(u64) -> String,
) -> Option<String> {
    const MILLION: u64 = 1_000_000;
    let q: f64 = q.parse().ok().filter(|q| (0.0..=1.0).contains(q))?;
    // Fractions have six digits. The cast is of a number from 0 to a million.
    let below = (q * MILLION as f64).round() as u64;
    // With as many values or fewer, no more than `error` of them are on that side of the quantile.
    let up_to = |part: u64| error.saturating_mul(MILLION).checked_div(part);
    let (from_above, from_below) = (up_to(MILLION - below), up_to(below));
    let both = number(from_above.into_iter().chain(from_below).min()?);
    let side = if from_below.is_some_and(|below| from_above.is_none_or(|above| above > below)) {
        "from above"
    } else {
        "from below"
    };
    Some(match (from_above, from_below) {
        (Some(above), Some(below)) if above == below => {
            format!("among {both} {unit} or fewer it says next to nothing")
        }
        (Some(above), Some(below)) => format!(
            "among {} {unit} or fewer nothing bounds it {side}, and among {both} or fewer it says next to nothing",
            number(above.max(below))
        ),
        _ => format!("nothing bounds it {side}, and among {both} {unit} or fewer it says next to nothing"),
    })
}

/// Returns true if an interval has nine tenths of the range that a number lies in whatever the records are.
pub(crate) fn spans_nearly((low, high): (f64, f64), (least, most): (f64, f64)) -> bool {
    high.min(most) - low.max(least) >= 0.9 * (most - least)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Refutes a number of values among which a rank is bounded, from either side.
    #[test]
    fn a_rank_says_next_to_nothing_among_few() {
        let said =
            |q: &str, error: u64| silent_among(q, error, "values", |number| number.to_string()).unwrap();
        assert_eq!(said("0.5", 38), "among 76 values or fewer it says next to nothing");
        let above = "among 3800 values or fewer nothing bounds it from above, and among 38 or fewer it says next to nothing";
        assert_eq!(said("0.99", 38), above);
        assert_eq!(said("0.01", 38), above.replace("above", "below"));
        assert_eq!(said("0.95", 38).split(' ').nth(1), Some("760"));
        let all = "nothing bounds it from above, and among 38 values or fewer it says next to nothing";
        assert_eq!(said("1", 38), all);
        assert_eq!(said("0", 38), all.replace("above", "below"));
        assert_eq!(said("0.5", u64::MAX).split(' ').nth(1), Some((u64::MAX / 500_000).to_string().as_str()));
        // By counting: of this number of values, all may be on one side, and of one more they may not.
        for (q, error) in [(0.5, 38_u64), (0.9, 12), (0.25, 7)] {
            let text = said(&q.to_string(), error);
            let most: u64 = text.split(' ').nth(1).unwrap().parse().unwrap();
            let part = f64::min(q, 1.0 - q);
            assert!(
                most as f64 * part <= error as f64 + 1e-9 && (most + 1) as f64 * part > error as f64,
                "{text}"
            );
        }
    }

    #[test]
    fn an_interval_of_a_whole_range_is_one() {
        for (interval, spans) in [
            ((0.0, 100.0), true),
            ((5.0, 95.0), true),
            ((-1e9, 1e9), true),
            ((11.0, 100.0), false),
            ((-50.0, 89.0), false),
        ] {
            assert_eq!(spans_nearly(interval, (0.0, 100.0)), spans, "{interval:?}");
        }
    }
}
