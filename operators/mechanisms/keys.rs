//! Keys of a statistic (partitions), and their selection.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::accounting::BudgetUnits;
use crate::invalid::{Invalid, InvalidKind};

/// A key (partition) by which a statistic is grouped.
///
/// Its order is the order of the answer, so that nothing of the order of arrival shows. For the keys given
/// here it is that of their bytes.
pub trait Key: Ord + Clone + Send + Sync + Serialize + DeserializeOwned + 'static {
    /// The key as bytes, different for different keys: how it is kept from one window to the next.
    fn to_bytes(&self) -> Vec<u8>;

    /// The key that has these bytes, if one has.
    fn from_bytes(bytes: &[u8]) -> Option<Self>;

    /// Returns the label under which the key is released. Different keys are released differently.
    fn label(&self) -> Label<'_>;

    /// Returns the key that is released under this label; `None` if none is, or the label does not tell.
    fn from_label(_: &Label<'_>) -> Option<Self> {
        None
    }

    /// Returns the key of the level above, in which a statistic that is [rolled up](super::Total::rollup) adds up all keys that
    /// have the same parent. A parent is no key of the statistic itself.
    fn parent(&self) -> Option<Self> {
        None
    }

    /// Returns true if it stands for no key at all. A record that has it counts nowhere, and takes no place
    /// from its person's others.
    fn is_absent(&self) -> bool {
        false
    }
}

/// A key as it is released in a line of output.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Label<'a> {
    /// There are no other keys, so nothing is said of it.
    Whole,
    /// A whole number.
    Number(i128),
    /// Any text.
    Text(Cow<'a, str>),
    /// Several texts, in their order.
    Texts(Vec<Cow<'a, str>>),
}

impl Key for String {
    fn to_bytes(&self) -> Vec<u8> {
        self.as_bytes().to_vec()
    }

    fn from_bytes(bytes: &[u8]) -> Option<String> {
        String::from_utf8(bytes.to_vec()).ok()
    }

    fn label(&self) -> Label<'_> {
        Label::Text(self.into())
    }

    fn from_label(label: &Label<'_>) -> Option<String> {
        match label {
            Label::Text(text) => Some(text.clone().into_owned()),
            _ => None,
        }
    }
}

/// The only key of a statistic that is not grouped.
impl Key for () {
    fn to_bytes(&self) -> Vec<u8> {
        Vec::new()
    }

    fn from_bytes(bytes: &[u8]) -> Option<()> {
        bytes.is_empty().then_some(())
    }

    fn label(&self) -> Label<'_> {
        Label::Whole
    }

    fn from_label(label: &Label<'_>) -> Option<()> {
        (*label == Label::Whole).then_some(())
    }
}

fn number_of<N: TryFrom<i128>>(label: &Label<'_>) -> Option<N> {
    match label {
        Label::Number(number) => (*number).try_into().ok(),
        _ => None,
    }
}

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl Key for $number {
            fn to_bytes(&self) -> Vec<u8> {
                self.to_be_bytes().to_vec()
            }

            fn from_bytes(bytes: &[u8]) -> Option<$number> {
                Some(<$number>::from_be_bytes(bytes.try_into().ok()?))
            }

            fn label(&self) -> Label<'_> {
                Label::Number((*self).into())
            }

            fn from_label(label: &Label<'_>) -> Option<$number> {
                number_of(label)
            }
        }
    )*};
}

numbers!(u8, u16, u32, u64);

macro_rules! signed {
    ($($number:ty as $moved:ty),*) => {$(
        /// Moved up by half the range: the bytes of -1 come before those of 0.
        impl Key for $number {
            fn to_bytes(&self) -> Vec<u8> {
                (self.cast_unsigned() ^ <$moved>::MAX / 2 + 1).to_bytes()
            }

            fn from_bytes(bytes: &[u8]) -> Option<$number> {
                <$moved>::from_bytes(bytes).map(|moved| (moved ^ <$moved>::MAX / 2 + 1).cast_signed())
            }

            fn label(&self) -> Label<'_> {
                Label::Number((*self).into())
            }

            fn from_label(label: &Label<'_>) -> Option<$number> {
                number_of(label)
            }
        }
    )*};
}

signed!(i8 as u8, i16 as u16, i32 as u32, i64 as u64);

/// The keys that a statistic is released for.
#[derive(Clone, Debug)]
pub struct Keys<K>(pub(super) KeyChoice<K>);

#[derive(Clone, Debug)]
pub(super) enum KeyChoice<K> {
    /// Ascending, without duplicates, not empty.
    Public(Arc<[K]>),
    Discover {
        delta: Result<BudgetUnits, Invalid>,
        at_most: usize,
        /// The least number of people of a key that is found; 1 is any.
        people: u64,
    },
}

impl<K: Key> Keys<K> {
    /// The number of keys that a release remembers by default.
    pub const MOST: usize = 1 << 16;

    /// Exactly these, in every window, whether somebody has them or not. What is recorded under another key
    /// is left out.
    ///
    /// # Errors
    /// Names `keys` where the list is empty or has a key twice.
    pub fn public(keys: impl IntoIterator<Item = K>) -> Result<Keys<K>, Invalid> {
        let mut keys: Vec<K> = keys.into_iter().collect();
        if keys.is_empty() {
            return Err(Invalid::new("keys", InvalidKind::Empty, "at least one key, or discover them"));
        }
        keys.sort();
        if keys.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(Invalid::new("keys", InvalidKind::Mixed, "each key once"));
        }
        Ok(Keys::ascending(keys))
    }

    /// Keys that are known to ascend, and to be some.
    pub(super) fn ascending(keys: Vec<K>) -> Keys<K> {
        Keys(KeyChoice::Public(keys.into()))
    }

    /// Whatever keys people bring: a key is released once enough people have it, where "enough" is found so
    /// that the keys of any one person are given away with probability `delta` at most, in each window. From
    /// then on the key is public, and is in every window.
    ///
    /// `delta` is charged beside the mechanism's own cost, and as often: for every window, or once for a
    /// running total and under a lifetime contribution bound. It is checked when the mechanism is prepared.
    pub fn discover(delta: f64) -> Keys<K> {
        Keys(KeyChoice::Discover {
            delta: positive(BudgetUnits::at_least_float("delta", delta)),
            at_most: Self::MOST,
            people: 1,
        })
    }

    /// As [`Keys::discover`], from an exact amount.
    pub fn discover_within(delta: BudgetUnits) -> Keys<K> {
        Keys(KeyChoice::Discover { delta: positive(Ok(delta)), at_most: Self::MOST, people: 1 })
    }

    /// The list, where it is public.
    pub(crate) fn listed(&self) -> Option<Arc<[K]>> {
        match &self.0 {
            KeyChoice::Public(keys) => Some(Arc::clone(keys)),
            KeyChoice::Discover { .. } => None,
        }
    }

    pub(super) fn discovers(&self) -> bool {
        matches!(self.0, KeyChoice::Discover { .. })
    }

    /// The most keys that discovery makes public; [`Keys::MOST`] unless said. When they are found, discovery
    /// ends; where more cross the threshold at once than there is room for, those with the larger noised
    /// number of people stay. Both are decided by what is public. Public lists are not touched.
    pub fn at_most(self, keys: usize) -> Keys<K> {
        match self.0 {
            KeyChoice::Discover { delta, people, .. } => {
                Keys(KeyChoice::Discover { delta, people, at_most: keys })
            }
            list => Keys(list),
        }
    }

    /// A key is discovered only in a window in which at least this number of people have it, whatever the noise: k-anonymity
    /// of the list of keys, beside differential privacy and at the same delta. The threshold for the noised number is higher by as
    /// many less one. Refused for running totals. Public lists are not touched.
    pub fn at_least_people(self, people: u64) -> Keys<K> {
        match self.0 {
            KeyChoice::Discover { delta, at_most, .. } => {
                Keys(KeyChoice::Discover { delta, at_most, people: people.max(1) })
            }
            list => Keys(list),
        }
    }

    /// The least number of people of a key that is discovered, if one is stated.
    #[cfg(feature = "cli")]
    pub(crate) fn least_people(&self) -> Option<u64> {
        match &self.0 {
            KeyChoice::Discover { people, .. } => Some(*people).filter(|people| *people > 1),
            KeyChoice::Public(_) => None,
        }
    }
}

/// So that `Keys::public([..])` stands where keys are asked for, and what is wrong with them is said there.
impl<K> TryFrom<Result<Keys<K>, Invalid>> for Keys<K> {
    type Error = Invalid;

    fn try_from(keys: Result<Keys<K>, Invalid>) -> Result<Keys<K>, Invalid> {
        keys
    }
}

impl Keys<()> {
    /// No grouping: the window is one cell, which is there in every window.
    pub fn whole() -> Keys<()> {
        Keys(KeyChoice::Public(Arc::new([()])))
    }
}

fn positive(delta: Result<BudgetUnits, Invalid>) -> Result<BudgetUnits, Invalid> {
    let refuse = |kind| Err(Invalid::new("delta", kind, "a number above 0 and below 1, such as 1e-8"));
    match delta {
        Ok(BudgetUnits::ZERO) => refuse(InvalidKind::Zero),
        Ok(delta) if delta >= ONE => refuse(InvalidKind::TooLarge),
        Ok(delta) => Ok(delta),
        Err(found) if found.kind() == InvalidKind::Overflow => refuse(InvalidKind::TooLarge),
        Err(found) => refuse(found.kind()),
    }
}

const ONE: BudgetUnits = BudgetUnits::from_bits(1 << 64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn public_keys_are_in_order_and_each_is_there_once() {
        let KeyChoice::Public(keys) =
            Keys::public(["b".to_owned(), "a".to_owned(), "B".to_owned()]).unwrap().0
        else {
            panic!()
        };
        assert_eq!(*keys, ["B", "a", "b"].map(str::to_owned));
        assert_eq!(Keys::public([3u32, 1, 3]).unwrap_err().kind(), InvalidKind::Mixed);
        assert_eq!(Keys::<u32>::public([]).unwrap_err().kind(), InvalidKind::Empty);
    }

    // Refutes a list in the order in which it was written, and one where keys are discovered.
    #[test]
    fn only_public_keys_are_listed() {
        assert_eq!(Keys::public([7u32, 1, 3]).unwrap().listed().as_deref(), Some(&[1, 3, 7][..]));
        assert!(Keys::<u32>::discover(1e-6).listed().is_none());
        fn asked(keys: impl TryInto<Keys<u32>, Error: Into<Invalid>>) -> Result<bool, InvalidKind> {
            keys.try_into().map(|keys| keys.discovers()).map_err(|refused| refused.into().kind())
        }
        assert_eq!(asked(Keys::public([1, 2])), Ok(false));
        assert_eq!(asked(Keys::public([1, 1])), Err(InvalidKind::Mixed));
        assert_eq!(asked(Keys::discover(1e-6)), Ok(true));
    }

    #[test]
    fn a_delta_that_is_no_probability_is_named() {
        let kind = |delta: f64| match Keys::<u32>::discover(delta).0 {
            KeyChoice::Discover { delta, .. } => delta.map_err(|refused| refused.kind()),
            KeyChoice::Public(_) => panic!(),
        };
        assert_eq!(kind(0.0), Err(InvalidKind::Zero));
        assert_eq!(kind(-1.0), Err(InvalidKind::Negative));
        assert_eq!(kind(f64::NAN), Err(InvalidKind::Nan));
        assert_eq!(kind(1.0), Err(InvalidKind::TooLarge));
        assert_eq!(kind(f64::INFINITY), Err(InvalidKind::TooLarge));
        assert!(kind(1e-300).is_ok());
    }

    #[test]
    fn keys_survive_their_bytes_and_sort_like_them() {
        fn hold<K: Key + std::fmt::Debug>(keys: &[K]) {
            for pair in keys.windows(2) {
                assert!(pair[0] < pair[1] && pair[0].to_bytes() < pair[1].to_bytes(), "{pair:?}");
            }
            for key in keys {
                assert_eq!(K::from_bytes(&key.to_bytes()).as_ref(), Some(key));
            }
        }
        hold(&[0u64, 1, 255, 256, u64::MAX]);
        hold(&[0u8, 1, 255]);
        hold(&[i64::MIN, -256, -1, 0, 1, i64::MAX]);
        hold(&[i32::MIN, -256, -1, 0, 1, i32::MAX]);
        hold(&[i8::MIN, -1, 0, 1, i8::MAX]);
        hold(&["".to_owned(), "a".into(), "a\0".into(), "b".into(), "é".into(), "日".into()]);
        hold(&[()]);
        assert_eq!((-1i64).label(), Label::Number(-1));
        assert_eq!(u64::MAX.label(), Label::Number(u64::MAX.into()));
        assert_eq!("é".to_owned().label(), Label::Text("é".into()));
        assert_eq!(().label(), Label::Whole);
        assert_eq!(u64::from_bytes(&[0; 7]), None);
        assert_eq!(String::from_bytes(&[0xff]), None);
        assert_eq!(<()>::from_bytes(&[0]), None);
    }
}
