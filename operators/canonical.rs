//! Canonical encoding: one string of bytes for one meaning, which is hashed into names and into the chain.
//!
//! Every field has a length or a fixed width in front of it, so no two lists of fields run together into the
//! same bytes.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A BLAKE3 hash of 256 bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Digest(pub(crate) [u8; 32]);

impl Digest {
    /// The digest before the first link of a chain.
    pub(crate) const NONE: Digest = Digest([0; 32]);

    /// The hash of these bytes.
    pub fn of(bytes: &[u8]) -> Digest {
        // Not copied: a state may have megabytes.
        let head = Canonical::new("discreet bytes 1").number(bytes.len() as i64);
        Digest(*blake3::Hasher::new().update(&head.0).update(bytes).finalize().as_bytes())
    }

    /// Computes [`ReleaseId::version`](crate::ledger::ReleaseId::version) for this version of a job with
    /// these parameters: another hash if either differs.
    pub fn of_version(version: u32, parameters: &Digest) -> Digest {
        Canonical::new("discreet version 1").number(version.into()).digest(parameters).finish()
    }

    /// Reads a hash as it is displayed; `None` where the text is none.
    pub fn parse(text: &str) -> Option<Digest> {
        let (pairs, []) = text.as_bytes().as_chunks::<2>() else { return None };
        // A sign is no digit of a hash.
        if !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
        let bytes: Vec<u8> = pairs.iter().map(byte).collect::<Option<_>>()?;
        bytes.try_into().ok().map(Digest)
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Fields on their way into a [`Digest`]. They are hashed at once: a hasher has two kilobytes, and most fields few
/// bytes.
pub(crate) struct Canonical(Vec<u8>);

impl Canonical {
    /// `context` says what the fields are of, with the version of their order.
    pub(crate) fn new(context: &'static str) -> Canonical {
        Canonical(Vec::with_capacity(512)).text(context)
    }

    pub(crate) fn bytes(mut self, bytes: &[u8]) -> Canonical {
        self.0.extend_from_slice(&(bytes.len() as u64).to_be_bytes());
        self.0.extend_from_slice(bytes);
        self
    }

    pub(crate) fn text(self, text: &str) -> Canonical {
        self.bytes(text.as_bytes())
    }

    pub(crate) fn number(mut self, number: i64) -> Canonical {
        self.0.extend_from_slice(&number.to_be_bytes());
        self
    }

    pub(crate) fn digest(self, digest: &Digest) -> Canonical {
        self.bytes(&digest.0)
    }

    pub(crate) fn finish(self) -> Digest {
        Digest(*blake3::hash(&self.0).as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_hexadecimal_digits_alone() {
        let digest = Digest::of(b"test");
        assert_eq!(Digest::parse(&digest.to_string()), Some(digest));
        for wrong in ["", "0f", "+f", " f", "\u{ff10}f", "-1"] {
            assert_eq!(
                Digest::parse(&format!("{wrong}{}", "0f".repeat(31))).is_some(),
                wrong == "0f",
                "{wrong}"
            );
        }
    }

    // Refutes a hash that changes: ledgers and files of releases have it.
    #[test]
    fn a_hash_is_that_of_its_fields_one_after_another() {
        let whole = [&16u64.to_be_bytes()[..], b"discreet bytes 1", &4u64.to_be_bytes(), b"test"].concat();
        assert_eq!(Digest::of(b"test").0, *blake3::hash(&whole).as_bytes());
        let whole = [&1u64.to_be_bytes()[..], b"t", &2u64.to_be_bytes(), b"ab", &7i64.to_be_bytes()].concat();
        assert_eq!(Canonical::new("t").text("ab").number(7).finish().0, *blake3::hash(&whole).as_bytes());
    }

    #[test]
    fn fields_do_not_run_together() {
        let hash = |a: &str, b: &str| Canonical::new("test").text(a).text(b).finish();
        assert_ne!(hash("ab", "c"), hash("a", "bc"));
        assert_ne!(hash("", "abc"), hash("abc", ""));
        assert_ne!(Canonical::new("a").text("b").finish(), Canonical::new("ab").text("").finish());
        assert_ne!(Canonical::new("t").number(-1).finish(), Canonical::new("t").number(1).finish());
    }
}
