//! Files of keys, one key a line.

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::key_part::BETWEEN_PARTS;
use crate::dataflow::bounding::{Identity, IdentitySink, StableHasher};
use crate::invalid::found_by;
use crate::job::text::Text;
use crate::mechanisms::{Bucket, DecimalPoint, Key, Label};

/// The most keys in a file: more keys are more rows of noise than anybody can read.
const MOST: usize = 1_000_000;
/// The longest key, in bytes.
const LONGEST: usize = 1_024;
/// The largest file of keys, in bytes.
const LARGEST: u64 = 64 << 20;

/// Returns the keys of a file in the order of their lines, each of this number of parts with tabs between them, or a message that names
/// the line and never quotes its text.
pub(super) fn read(path: &Path, parts: usize) -> Result<Vec<CellKey>, String> {
    let shown = path.display();
    let table = ["csv", "json", "jsonl", "gz", "bz2", "zst", "parquet", "xlsx"];
    let is_table = |ending: &std::ffi::OsStr| {
        table.iter().any(|word| ending.eq_ignore_ascii_case(word))
            || (parts == 1 && ending.eq_ignore_ascii_case("tsv"))
    };
    if path.extension().is_some_and(is_table) {
        return Err(format!(
            "{shown}: a file of records; give a plain file with one key a line, such as keys.txt"
        ));
    }
    let unreadable = |error: std::io::Error| {
        format!("{shown}: found {}; give a plain file with one key a line", found_by(&error))
    };
    // Anything else, such as a pipe, might never end.
    if !path.metadata().map_err(unreadable)?.is_file() {
        return Err(format!("{shown}: no plain file; give a plain file with one key a line"));
    }
    let mut text = String::new();
    let mut file = File::open(path).map_err(unreadable)?.take(LARGEST + 1);
    match file.read_to_string(&mut text) {
        Err(error) if error.kind() == std::io::ErrorKind::InvalidData => {
            return Err(format!("{shown}: no text in UTF-8; give one key a line"));
        }
        Err(error) => return Err(unreadable(error)),
        Ok(length) if length as u64 > LARGEST => {
            return Err(format!("{shown}: larger than 64 MiB; give at most 1,000,000 keys"));
        }
        Ok(_) => {}
    }
    lines(&text, parts).map_err(|(line, wrong)| format!("{shown}:{line}: {wrong}"))
}

fn lines(text: &str, parts: usize) -> Result<Vec<CellKey>, (usize, String)> {
    let mut first: HashMap<&str, usize> = HashMap::new();
    let mut keys = Vec::new();
    for (index, key) in text.strip_prefix('\u{feff}').unwrap_or(text).lines().enumerate() {
        let line = index + 1;
        let wrong = if key.is_empty() {
            "an empty line; give a key, or no line"
        } else if key.len() > LONGEST {
            "a long line; give a key of at most 1,024 bytes"
        } else if parts == 1 && key.contains('\t') {
            "a tab; give one key a line"
        } else if parts > 1 && (key.split('\t').count() != parts || key.split('\t').any(str::is_empty)) {
            "another number of fields than by has; give one text for each, with a tab between two"
        } else if parts > 1 && key.contains(BETWEEN_PARTS) {
            "the character U+001F; give a key without it"
        } else if line > MOST {
            "more keys than 1,000,000; give fewer"
        } else {
            if let Some(first) = first.insert(key, line) {
                return Err((line, format!("the key of line {first} again; give each key once")));
            }
            keys.push(match parts {
                1 => CellKey::Text(key.into()),
                _ => CellKey::of_parts(key.split('\t')),
            });
            continue;
        };
        return Err((line, wrong.to_owned()));
    }
    if keys.is_empty() {
        return Err((1, "no key; give at least one".to_owned()));
    }
    let columns = |key: &str| key.bytes().filter(|byte| *byte == b',').count();
    let wide = first.keys().next().map_or(0, |key| columns(key));
    // Two commas in every line mark a table, and hardly ever a list of names.
    if keys.len() > 1 && wide >= 2 && first.keys().all(|key| columns(key) == wide) {
        return Err((1, "a table of several columns; give one key a line".to_owned()));
    }
    Ok(keys)
}

// The key type of all jobs: the fields that a job groups by are known only when its file is read.

/// The key of one cell of a release. Texts are in the order of their bytes, buckets in that of their edges.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) enum CellKey {
    /// No key: the record counts nowhere. It is never released.
    Absent,
    /// The only cell of a release without keys.
    Whole,
    /// The text of a field of the record.
    Text(Text),
    /// The texts of several fields, with [`BETWEEN_PARTS`] between them; of a parent, one less, so that it is no key of
    /// its release.
    Texts(Text),
    /// A bucket between two edges, in steps, which are released with their decimal point.
    Bucket(Bucket, #[serde(serialize_with = "put_point", deserialize_with = "take_point")] DecimalPoint),
}

/// The tag of a cell without a key; no key was encoded with it.
const ABSENT: u8 = u8::MAX;
const WHOLE: u8 = 0;
const TEXT: u8 = 1;
const BUCKET: u8 = 2;
const TEXTS: u8 = 3;

impl CellKey {
    /// Returns the key of these parts, none of which holds [`BETWEEN_PARTS`] if there are several.
    pub(crate) fn of_parts<'p>(parts: impl Iterator<Item = &'p str>) -> CellKey {
        let parts: Vec<&str> = parts.collect();
        match &parts[..] {
            [one] => CellKey::Text((*one).into()),
            parts => CellKey::of_several(parts.iter().copied()),
        }
    }

    /// Returns the key of these parts of a key of several: all of them, or those of a parent, which may be one.
    pub(crate) fn of_several<'p>(parts: impl Iterator<Item = &'p str>) -> CellKey {
        let parts: Vec<&str> = parts.collect();
        CellKey::Texts(Text::new(&parts.join(&BETWEEN_PARTS.to_string())))
    }
}

/// Encodes a byte for the kind, and then the data of that kind.
impl Key for CellKey {
    fn to_bytes(&self) -> Vec<u8> {
        match self {
            CellKey::Absent => vec![ABSENT],
            CellKey::Whole => vec![WHOLE],
            CellKey::Text(text) => [&[TEXT], text.text().as_bytes()].concat(),
            CellKey::Texts(text) => [&[TEXTS], text.text().as_bytes()].concat(),
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
            (&TEXTS, text) => str::from_utf8(text).ok().map(|text| CellKey::Texts(text.into())),
            (&BUCKET, [digits, bucket @ ..]) => {
                let point = DecimalPoint::digits(i8::from_be_bytes([*digits]).into()).ok()?;
                Some(CellKey::Bucket(Bucket::from_bytes(bucket)?, point))
            }
            _ => None,
        }
    }

    fn parent(&self) -> Option<CellKey> {
        let CellKey::Texts(text) = self else { return None };
        let text = text.text();
        let (above, _) = text.rsplit_once(BETWEEN_PARTS)?;
        Some(CellKey::Texts(Text::new(above)))
    }

    fn is_absent(&self) -> bool {
        *self == CellKey::Absent
    }

    fn label(&self) -> Label<'_> {
        match self {
            CellKey::Absent | CellKey::Whole => Label::Whole,
            CellKey::Text(text) => Label::Text(text.text()),
            CellKey::Texts(text) => {
                Label::Texts(text.text().split(BETWEEN_PARTS).map(|part| part.to_owned().into()).collect())
            }
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
            CellKey::Texts(text) => return f.write_str(&text.text().replace(BETWEEN_PARTS, ", ")),
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
            CellKey::Texts(text) => {
                TEXTS.write(sink);
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
            TEXTS => Text::read(bytes).map(CellKey::Texts),
            BUCKET => {
                let point = DecimalPoint::digits(i8::read(bytes)?.into()).ok()?;
                Some(CellKey::Bucket(Bucket::read(bytes)?, point))
            }
            _ => None,
        }
    }

    /// Hashes a text as it is stored: all keys of one release are of one kind.
    #[inline]
    fn mix(&self, hasher: &StableHasher) -> u64 {
        match self {
            CellKey::Text(text) | CellKey::Texts(text) => text.mix(hasher),
            other => hasher.written(other),
        }
    }

    fn heap(&self) -> usize {
        match self {
            CellKey::Text(text) | CellKey::Texts(text) => text.heap(),
            _ => 0,
        }
    }

    #[inline]
    fn code(&self) -> Option<u32> {
        match self {
            CellKey::Text(text) | CellKey::Texts(text) => text.code(),
            _ => None,
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

    #[test]
    fn a_key_is_a_line() {
        let keys =
            |text: &str| lines(text, 1).map(|keys| keys.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(keys("b\na\r\nBerlin, Germany\n").unwrap(), ["b", "a", "Berlin, Germany"]);
        assert_eq!(keys("\u{feff}a").unwrap(), ["a"]);
        let line = |text: &str| lines(text, 1).unwrap_err();
        assert_eq!(line("a\n\nb").0, 2);
        assert_eq!(line("a\nb\na").0, 3);
        let pairs = lines("GET\t200\nPUT\t404\n", 2).unwrap();
        assert_eq!(pairs.iter().map(ToString::to_string).collect::<Vec<_>>(), ["GET, 200", "PUT, 404"]);
        assert_eq!(pairs[0].label(), Label::Texts(vec!["GET".into(), "200".into()]));
        for (text, wrong) in [
            ("GET", "number of fields"),
            ("GET\t", "number of fields"),
            ("a\tb\tc", "number of fields"),
            ("a\tb\u{1f}", "U+001F"),
        ] {
            let (line, found) = lines(text, 2).unwrap_err();
            assert!(line == 1 && found.contains(wrong), "{text}: {found}");
        }
        assert!(line("a\nb\na").1.contains("line 1 again"));
        assert_eq!(line(&format!("a\n{}", "x".repeat(1_025))).0, 2);
        assert_eq!((line("").0, line("a\tb").0), (1, 1));
        assert!(line("id,name,price\n1,x,2").1.contains("table"));
        let many: String = (0..1_000_001).map(|key| format!("{key}\n")).collect();
        assert_eq!(line(&many).0, 1_000_001);
    }

    // Refutes a mistake that quotes the text of the file.
    #[test]
    fn a_message_never_quotes_the_contents_of_a_file() {
        let directory = std::env::temp_dir().join(format!("discreet-keys-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let path = directory.join("keys.txt");
        for bytes in [&b"secret\nsecret\n"[..], b"secret\n\n", b"secret\xff\n", b"secret\tsecret"] {
            std::fs::write(&path, bytes).unwrap();
            let wrong = read(&path, 1).unwrap_err();
            assert!(wrong.contains("keys.txt") && !wrong.contains("secret"), "{wrong}");
        }
        assert!(read(&directory.join("keys.CSV"), 1).unwrap_err().contains("file of records"));
        assert!(read(&directory.join("none.txt"), 1).unwrap_err().contains("none.txt: "));
        std::fs::remove_dir_all(&directory).unwrap();
    }
}

#[cfg(test)]
mod cell_tests {
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
    fn every_encoding_keeps_keys_distinct() {
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

    // Refutes a parent that is a key of its release, or has the line or the bytes of one, and one that is read back as another.
    #[test]
    fn a_parent_is_no_key_and_is_read_back() {
        let of = |parts: &[&str]| CellKey::of_several(parts.iter().copied());
        let (key, parent) = (of(&["a, b", "c"]), of(&["a, b"]));
        assert_eq!(key.parent(), Some(parent.clone()));
        assert_eq!(of(&["a", "b", "c"]).parent(), Some(of(&["a", "b"])));
        assert_eq!(parent.parent(), None);
        assert!(keys().iter().all(|key| key.parent().is_none()), "of one part");
        assert_eq!(parent.label(), Label::Texts(vec!["a, b".into()]));
        assert_ne!(parent, CellKey::Text("a, b".into()));
        assert_ne!(parent.to_bytes(), CellKey::Text("a, b".into()).to_bytes());
        assert_eq!(CellKey::from_bytes(&parent.to_bytes()), Some(parent.clone()));
        let listed = crate::mechanisms::Keys::public([key.clone()]).unwrap();
        let line = |parts: &[&str]| crate::mechanisms::release_line::LineKey::Texts {
            parts: parts.iter().map(|part| (*part).to_owned()).collect(),
            joined: String::new(),
        };
        let read = |parts: &[&str]| crate::job::statistics::released_key(&listed, Some(&line(parts)));
        assert_eq!((read(&["a, b", "c"]), read(&["a, b"])), (Some(key), Some(parent)));
    }

    #[test]
    fn buckets_are_printed_in_order_and_in_the_units_of_the_file() {
        let mut sorted = keys();
        sorted.reverse();
        sorted.sort();
        assert_eq!(sorted[..9], keys()[..9]);
        assert_eq!(sorted[11], keys()[10], "the last edge");
        let printed: Vec<String> = keys()[7..].iter().map(ToString::to_string).collect();
        assert_eq!(printed, ["(-inf, -0.5)", "[-0.5, 0)", "[0, 1.25)", "[1.25, inf)", "[0, 125)"]);
        assert_eq!(keys()[0].label(), Label::Whole);
        assert_eq!(keys()[1].label(), Label::Text("".into()));
    }
}
