//! What a release costs an account, by how much of its window a stretch of time holds.

use crate::accounting::amount::PrivacyCost;
use crate::invalid::Invalid;

/// Two amounts in the currency of an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Prices {
    /// Where a stretch holds all of the window.
    pub(crate) whole: PrivacyCost,
    /// Where a stretch cuts the window: never less.
    pub(crate) partial: PrivacyCost,
}

impl Prices {
    /// One amount either way.
    pub(crate) fn same(amount: PrivacyCost) -> Prices {
        Prices { whole: amount.clone(), partial: amount }
    }

    /// Both, each added to the like of `other`.
    pub(crate) fn plus(&self, other: &Prices) -> Result<Prices, Invalid> {
        Ok(Prices { whole: self.whole.plus(&other.whole)?, partial: self.partial.plus(&other.partial)? })
    }
}
