//! Names of accounts, jobs and releases, from a small alphabet: two of them look alike only if they are
//! equal.

use std::fmt;

use crate::invalid::{Invalid, InvalidKind};

/// A name of 1 to 64 characters of `a-z`, `0-9`, `_` and `-`: no case, no spaces, no look-alikes from other
/// scripts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(String);

impl Name {
    /// Parses a name; `field` is the field that a refusal names.
    ///
    /// # Errors
    ///
    /// If the text is empty, longer than 64 bytes, or contains any other character.
    pub fn new(field: &'static str, name: &str) -> Result<Name, Invalid> {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-".contains(&byte);
        let kind = match name.len() {
            0 => InvalidKind::Missing,
            65.. => InvalidKind::TooLarge,
            _ if name.bytes().all(plain) => return Ok(Name(name.to_owned())),
            _ => InvalidKind::Malformed,
        };
        Err(Invalid::new(field, kind, "1 to 64 of a-z, 0-9, _ and -"))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn look_alikes_are_refused() {
        assert!(Name::new("account", "page_views-2").is_ok());
        for name in ["", "Visits", "visits ", "vísits", "visit\u{0455}", "a/b", &"x".repeat(65)] {
            assert_eq!(Name::new("account", name).unwrap_err().field(), "account", "{name:?}");
        }
    }
}
