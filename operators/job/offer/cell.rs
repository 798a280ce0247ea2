//! The key type of all jobs: the fields that a job groups by are known only when its file is read.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::dataflow::bounding::{Identity, IdentitySink, Mixer};
use crate::job::text::Text;
use crate::mechanisms::{Bucket, DecimalPoint, Key, Label};

/// The key of one cell of a release. Texts are in the order of their bytes, buckets in that of their edges.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) enum CellKey {
    /// No key: the record counts nowhere. It is never released.
    Absent,
    /// The only cell of a release without keys.
    Whole,
    /// The text of a field of the record.
    Text(Text),
    /// A bucket between two edges, in steps, which are released with their decimal point.
    Bucket(Bucket, #[serde(serialize_with = "put_point", deserialize_with = "take_point")] DecimalPoint),
}

/// The tag of a cell without a key; no key was encoded with it.
const ABSENT: u8 = u8::MAX;
const WHOLE: u8 = 0;
const TEXT: u8 = 1;
const BUCKET: u8 = 2;

/// Encodes a byte for the kind, and then the data of that kind.
impl Key for CellKey {
    fn to_bytes(&self) -> Vec<u8> {
        match self {
            CellKey::Absent => vec![ABSENT],
            CellKey::Whole => vec![WHOLE],
            CellKey::Text(text) => [&[TEXT], text.text().as_bytes()].concat(),
            CellKey::Bucket(bucket, point) => {
                let mut bytes = vec![BUCKET];
                bytes.extend((point.count() as i8).to_be_bytes());
                bytes.extend(bucket.to_bytes());
                bytes
            }
        }
    }

    fn from_bytes(bytes: &[u8]) -> Option<CellKey> {
        match bytes.split_first()? {
            (&WHOLE, []) => Some(CellKey::Whole),
            (&TEXT, text) => str::from_utf8(text).ok().map(|text| CellKey::Text(text.into())),
            (&BUCKET, [digits, bucket @ ..]) => {
                let point = DecimalPoint::digits(i8::from_be_bytes([*digits]).into()).ok()?;
                Some(CellKey::Bucket(Bucket::from_bytes(bucket)?, point))
            }
            _ => None,
        }
    }

    fn is_absent(&self) -> bool {
        *self == CellKey::Absent
    }

    fn label(&self) -> Label<'_> {
        match self {
            CellKey::Absent | CellKey::Whole => Label::Whole,
            CellKey::Text(text) => Label::Text(text.text()),
            CellKey::Bucket(..) => Label::Text(self.to_string().into()),
        }
    }
}

/// Prints the key as it is released: a bucket in the units of the file.
impl fmt::Display for CellKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (bucket, point) = match self {
            CellKey::Absent | CellKey::Whole => return Ok(()),
            CellKey::Text(text) => return f.write_str(&text.text()),
            CellKey::Bucket(bucket, point) => (bucket, point),
        };
        match bucket.low() {
            Some(low) => write!(f, "[{}, ", point.shown(low.into()))?,
            None => f.write_str("(-inf, ")?,
        }
        match bucket.high() {
            Some(high) => write!(f, "{})", point.shown(high.into())),
            None => f.write_str("inf)"),
        }
    }
}

impl Identity for CellKey {
    fn write<S: IdentitySink>(&self, sink: &mut S) {
        match self {
            CellKey::Absent => ABSENT.write(sink),
            CellKey::Whole => WHOLE.write(sink),
            CellKey::Text(text) => {
                TEXT.write(sink);
                text.write(sink);
            }
            CellKey::Bucket(bucket, point) => (BUCKET, point.count() as i8, *bucket).write(sink),
        }
    }

    fn read(bytes: &mut &[u8]) -> Option<CellKey> {
        match u8::read(bytes)? {
            ABSENT => Some(CellKey::Absent),
            WHOLE => Some(CellKey::Whole),
            TEXT => Text::read(bytes).map(CellKey::Text),
            BUCKET => {
                let point = DecimalPoint::digits(i8::read(bytes)?.into()).ok()?;
                Some(CellKey::Bucket(Bucket::read(bytes)?, point))
            }
            _ => None,
        }
    }

    /// Hashes a text as it is stored: all keys of one release are of one kind.
    #[inline]
    fn mix(&self, mixer: &Mixer) -> u64 {
        match self {
            CellKey::Text(text) => text.mix(mixer),
            other => mixer.written(other),
        }
    }

    fn heap(&self) -> usize {
        match self {
            CellKey::Text(text) => text.heap(),
            _ => 0,
        }
    }
}

fn put_point<S: Serializer>(point: &DecimalPoint, serializer: S) -> Result<S::Ok, S::Error> {
    point.count().serialize(serializer)
}

fn take_point<'de, D: Deserializer<'de>>(deserializer: D) -> Result<DecimalPoint, D::Error> {
    DecimalPoint::digits(i32::deserialize(deserializer)?).map_err(serde::de::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanisms::Edges;

    fn keys() -> Vec<CellKey> {
        let (edges, whole) = (Edges::new([-50, 0, 125]).unwrap(), DecimalPoint::WHOLE);
        let point = DecimalPoint::digits(2).unwrap();
        let texts = ["", "/", "B", "a", "a key that is longer than what is held in place", "é"];
        let mut keys = vec![CellKey::Whole];
        keys.extend(texts.map(|text| CellKey::Text(text.into())));
        keys.extend([-51, -50, 0, 125].map(|value| CellKey::Bucket(edges.bucket(value), point)));
        keys.push(CellKey::Bucket(edges.bucket(0), whole));
        keys
    }

    // Refutes a key that is lost, or becomes another one, between two windows, two processes or two people.
    #[test]
    fn every_way_there_and_back_tells_keys_apart() {
        let written = |key: &CellKey| {
            let mut bytes = Vec::new();
            key.write(&mut bytes);
            bytes
        };
        for key in keys() {
            assert_eq!(CellKey::from_bytes(&key.to_bytes()), Some(key.clone()));
            let mut bytes = written(&key);
            for cut in 0..bytes.len() {
                assert_eq!(CellKey::read(&mut &bytes[..cut]), None, "{key}");
            }
            bytes.push(9);
            let mut rest = &bytes[..];
            assert_eq!((CellKey::read(&mut rest), rest), (Some(key.clone()), &[9][..]));
            let json = serde_json::to_string(&key).unwrap();
            assert_eq!(serde_json::from_str::<CellKey>(&json).unwrap(), key);
            for other in keys().iter().filter(|other| **other != key) {
                assert!(!written(other).starts_with(&written(&key)), "{key} {other}");
                assert_ne!(other.to_bytes(), key.to_bytes());
            }
        }
        assert_eq!(CellKey::from_bytes(&[BUCKET, 19]), None);
        assert_eq!(CellKey::from_bytes(&[WHOLE, 0]), None);
    }

    #[test]
    fn they_are_told_in_order_and_in_the_units_of_the_file() {
        let mut sorted = keys();
        sorted.reverse();
        sorted.sort();
        assert_eq!(sorted[..9], keys()[..9]);
        assert_eq!(sorted[11], keys()[10], "the last edge");
        let told: Vec<String> = keys()[7..].iter().map(ToString::to_string).collect();
        assert_eq!(told, ["(-inf, -0.5)", "[-0.5, 0)", "[0, 1.25)", "[1.25, inf)", "[0, 125)"]);
        assert_eq!(keys()[0].label(), Label::Whole);
        assert_eq!(keys()[1].label(), Label::Text("".into()));
    }
}
