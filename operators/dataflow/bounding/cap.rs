//! How much of a person is kept.

use crate::invalid::{Invalid, InvalidKind};

/// At most so many keys of a person, and so many records in each of them. Both are from 1 to 2^31.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cap {
    keys: u32,
    per_key: u32,
}

impl Cap {
    /// One record in one key.
    pub(crate) const ONE: Cap = Cap { keys: 1, per_key: 1 };

    /// At most `keys` keys a person, and `per_key` records in each.
    ///
    /// # Errors
    ///
    /// Names `keys` or `per_key` where it is zero or above 2^31.
    pub fn new(keys: u64, per_key: u64) -> Result<Cap, Invalid> {
        Ok(Cap { keys: within("keys", keys)?, per_key: within("per_key", per_key)? })
    }

    /// At most so many keys.
    pub fn keys(self) -> u32 {
        self.keys
    }

    /// At most so many records in each.
    pub fn per_key(self) -> u32 {
        self.per_key
    }
}

/// Accepts a whole number from 1 to 2^31.
pub(super) fn within(field: &'static str, value: u64) -> Result<u32, Invalid> {
    let kind = match u32::try_from(value) {
        Ok(0) => InvalidKind::Zero,
        Ok(value) if value <= 1 << 31 => return Ok(value),
        _ => InvalidKind::TooLarge,
    };
    Err(Invalid::new(field, kind, "a whole number from 1 to 2^31"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cap_of_nothing_or_of_too_much_is_refused() {
        let refused = |keys, per_key| {
            let refused = Cap::new(keys, per_key).unwrap_err();
            (refused.field().to_owned(), refused.kind())
        };
        assert_eq!(refused(0, 1), ("keys".into(), InvalidKind::Zero));
        assert_eq!(refused(1, 0), ("per_key".into(), InvalidKind::Zero));
        assert_eq!(refused((1 << 31) + 1, 1), ("keys".into(), InvalidKind::TooLarge));
        assert_eq!(refused(1, 1 << 32), ("per_key".into(), InvalidKind::TooLarge));
        assert!(Cap::new(1 << 31, 1 << 31).is_ok());
    }
}
