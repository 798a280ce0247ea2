//! The buckets of a histogram: keys that are public because their edges are.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::keys::{Key, Keys, Label};
use crate::invalid::{Invalid, InvalidKind};

/// The edges between the buckets of a histogram, from the lowest on. `n` edges make `n + 1` buckets, for what
/// lies below the first and from the last on is counted too: no value is left out, so leaving out reveals
/// nothing.
///
/// ```
/// use discreet::mechanisms::{Bound, Edges, Total};
///
/// let edges = Edges::new([0, 10, 100])?;
/// assert_eq!(edges.bucket(10).to_string(), "[10, 100)");
/// // A person counts in one bucket, once.
/// let latencies = Total::count(Bound::keys(1).checked()?, edges.keys())?;
/// # Ok::<(), discreet::Invalid>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edges(Vec<i64>);

impl Edges {
    /// These edges.
    ///
    /// # Errors
    /// Names `edges` where there is none, or one is not above the one before.
    pub fn new(edges: impl IntoIterator<Item = i64>) -> Result<Edges, Invalid> {
        let edges: Vec<i64> = edges.into_iter().collect();
        let kind = match edges.windows(2).all(|pair| pair[0] < pair[1]) {
            true if !edges.is_empty() => return Ok(Edges(edges)),
            true => InvalidKind::Empty,
            false => InvalidKind::Mixed,
        };
        Err(Invalid::new("edges", kind, "at least one whole number, each above the one before"))
    }

    /// The bucket that a value falls into: an edge belongs to the bucket above it.
    pub fn bucket(&self, value: i64) -> Bucket {
        self.at(self.0.partition_point(|&edge| edge <= value))
    }

    /// The first edge and the last; values from the one on and below the other are in a bucket with two ends.
    #[cfg(feature = "cli")]
    pub(crate) fn ends(&self) -> (i64, i64) {
        // There is one at least.
        (self.0.first().copied().unwrap_or_default(), self.0.last().copied().unwrap_or_default())
    }

    /// Every bucket, as keys.
    pub fn keys(&self) -> Keys<Bucket> {
        Keys::ascending((0..=self.0.len()).map(|place| self.at(place)).collect())
    }

    fn at(&self, place: usize) -> Bucket {
        let low = place.checked_sub(1).and_then(|below| self.0.get(below).copied());
        Bucket { low, high: self.0.get(place).copied() }
    }
}

/// So that `Edges::new([0, 10])` stands where edges are asked for, and what is wrong with them is said there.
impl TryFrom<Result<Edges, Invalid>> for Edges {
    type Error = Invalid;

    fn try_from(edges: Result<Edges, Invalid>) -> Result<Edges, Invalid> {
        edges
    }
}

/// The values from `low` on and below `high`; without an end on a side, all of them there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Bucket {
    low: Option<i64>,
    high: Option<i64>,
}

impl Bucket {
    /// All values.
    pub(crate) const EVERY: Bucket = Bucket { low: None, high: None };

    /// The least value in it.
    pub fn low(&self) -> Option<i64> {
        self.low
    }

    /// The least value above it.
    pub fn high(&self) -> Option<i64> {
        self.high
    }
}

impl fmt::Display for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.low {
            Some(low) => write!(f, "[{low}, ")?,
            None => f.write_str("(-inf, ")?,
        }
        match self.high {
            Some(high) => write!(f, "{high})"),
            None => f.write_str("inf)"),
        }
    }
}

/// Two ends of nine bytes: whether there is one, and where.
impl Key for Bucket {
    fn to_bytes(&self) -> Vec<u8> {
        let end = |end: Option<i64>| {
            let mut bytes = vec![u8::from(end.is_some())];
            bytes.extend(end.unwrap_or_default().to_bytes());
            bytes
        };
        [end(self.low), end(self.high)].concat()
    }

    fn from_bytes(bytes: &[u8]) -> Option<Bucket> {
        let end = |bytes: &[u8]| match bytes.split_first()? {
            (0, rest) => (i64::from_bytes(rest)? == 0).then_some(None),
            (1, rest) => i64::from_bytes(rest).map(Some),
            _ => None,
        };
        let (low, high) = bytes.split_at_checked(9)?;
        Some(Bucket { low: end(low)?, high: end(high)? })
    }

    fn label(&self) -> Label<'_> {
        Label::Text(self.to_string().into())
    }

    fn from_label(label: &Label<'_>) -> Option<Bucket> {
        let Label::Text(text) = label else { return None };
        let (low, high) = text.split_once(", ")?;
        let low = match low.strip_prefix('[') {
            Some(low) => Some(low.parse().ok()?),
            None => (low == "(-inf").then_some(None)?,
        };
        let high = match high.strip_suffix(')')? {
            "inf" => None,
            high => Some(high.parse().ok()?),
        };
        Some(Bucket { low, high })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanisms::keys::KeyChoice;

    // Refutes a value in two buckets or in none, and an edge on the wrong side: against a search from below.
    #[test]
    fn every_value_is_in_exactly_one_public_bucket() {
        let edges = Edges::new([-3, 0, 1, 7]).unwrap();
        let KeyChoice::Public(keys) = edges.keys().0 else { panic!() };
        assert_eq!(keys.len(), 5);
        for value in (-10..10).chain([i64::MIN, i64::MAX]) {
            let holds = |bucket: &&Bucket| {
                bucket.low.is_none_or(|low| low <= value) && bucket.high.is_none_or(|high| value < high)
            };
            let holding: Vec<&Bucket> = keys.iter().filter(holds).collect();
            assert_eq!(holding, [&edges.bucket(value)], "{value}");
        }
        assert!(keys.windows(2).all(|pair| pair[0] < pair[1] && pair[0].to_bytes() < pair[1].to_bytes()));
        let kind = |edges: &[i64]| Edges::new(edges.iter().copied()).unwrap_err().kind();
        assert_eq!(
            (kind(&[]), kind(&[1, 1]), kind(&[2, 1])),
            (InvalidKind::Empty, InvalidKind::Mixed, InvalidKind::Mixed)
        );
        assert_eq!(Edges::try_from(Edges::new([-3, 0, 1, 7])), Ok(edges));
        assert_eq!(Edges::try_from(Edges::new([])).unwrap_err().kind(), InvalidKind::Empty);
    }

    #[test]
    fn buckets_survive_their_bytes_and_are_spelt_out() {
        let edges = Edges::new([i64::MIN, 5]).unwrap();
        for (value, text) in [(i64::MIN, "[-9223372036854775808, 5)"), (5, "[5, inf)")] {
            let bucket = edges.bucket(value);
            assert_eq!(bucket.to_string(), text);
            assert_eq!(bucket.label(), Label::Text(text.into()));
            assert_eq!(Bucket::from_bytes(&bucket.to_bytes()), Some(bucket));
            assert_eq!(Bucket::from_label(&bucket.label()), Some(bucket));
        }
        let below = Edges::new([3]).unwrap().bucket(2);
        assert_eq!(below.to_string(), "(-inf, 3)");
        assert_eq!(Bucket::from_bytes(&below.to_bytes()), Some(below));
        assert_eq!(Bucket::from_label(&below.label()), Some(below));
        for other in ["(-inf, 3", "(3, 5)", "[a, 5)", "[1,5)", "[-inf, 3)"] {
            assert_eq!(Bucket::from_label(&Label::Text(other.into())), None, "{other}");
        }
        assert_eq!(Bucket::from_bytes(&[0; 17]), None);
        assert_eq!(Bucket::from_bytes(&[2; 18]), None);
        let two_names = [[0; 9], [1; 9]].concat();
        assert_eq!(Bucket::from_bytes(&two_names), None, "an end that is not there is written in one way");
    }
}
