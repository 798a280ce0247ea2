//! Words and amounts as they stand in columns: each has one form, and what has none is refused.

use super::rows::ReleaseStatus;
use crate::accounting::{BudgetUnits, Omega, PrivacyCost, PrivacyUnit, Promise, Relation};

/// An amount as bytes that compare like the amount, part by part; `None` for a currency that a ledger does not count.
pub(crate) fn encode(amount: &PrivacyCost) -> Option<Vec<u8>> {
    match amount {
        PrivacyCost::Pure { epsilon } => Some([&b"p"[..], &epsilon.to_bits().to_be_bytes()].concat()),
        PrivacyCost::Zcdp { rho, delta, omega } => {
            let parts = [rho.to_bits(), delta.to_bits(), omega.to_bits()].map(u128::to_be_bytes);
            Some([&b"z"[..], &parts.concat()].concat())
        }
        _ => None,
    }
}

/// The amount of these bytes; `None` where they are none.
pub(crate) fn decode(bytes: &[u8]) -> Option<PrivacyCost> {
    let (currency, parts) = bytes.split_first()?;
    let (parts, []) = parts.as_chunks::<16>() else { return None };
    match (currency, parts) {
        (b'p', [epsilon]) => {
            Some(PrivacyCost::Pure { epsilon: BudgetUnits::from_bits(u128::from_be_bytes(*epsilon)) })
        }
        (b'z', [rho, delta, omega]) => Some(PrivacyCost::Zcdp {
            rho: BudgetUnits::from_bits(u128::from_be_bytes(*rho)),
            delta: BudgetUnits::from_bits(u128::from_be_bytes(*delta)),
            omega: Omega::from_bits(u128::from_be_bytes(*omega)),
        }),
        _ => None,
    }
}

pub(crate) fn fate_column(fate: ReleaseStatus) -> &'static str {
    match fate {
        ReleaseStatus::Sealed => "sealed",
        ReleaseStatus::Refused => "refused",
        ReleaseStatus::Skipped => "skipped",
        ReleaseStatus::Lost => "lost",
    }
}

pub(crate) fn read_fate(column: &str) -> Option<ReleaseStatus> {
    [ReleaseStatus::Sealed, ReleaseStatus::Refused, ReleaseStatus::Skipped, ReleaseStatus::Lost]
        .into_iter()
        .find(|fate| fate_column(*fate) == column)
}

pub(crate) fn unit_column(unit: PrivacyUnit) -> &'static str {
    match unit {
        PrivacyUnit::Person => "person",
        PrivacyUnit::Record => "record",
    }
}

pub(crate) fn read_unit(column: &str) -> Option<PrivacyUnit> {
    [PrivacyUnit::Person, PrivacyUnit::Record].into_iter().find(|unit| unit_column(*unit) == column)
}

pub(crate) fn relation_column(relation: Relation) -> &'static str {
    match relation {
        Relation::AddRemove => "add or remove",
        Relation::Replace => "replace",
    }
}

pub(crate) fn read_relation(column: &str) -> Option<Relation> {
    [Relation::AddRemove, Relation::Replace].into_iter().find(|relation| relation_column(*relation) == column)
}

/// The word of a promise, and its number: a span, or how many windows.
pub(crate) fn promise_columns(promise: Promise) -> (&'static str, u64) {
    match promise {
        Promise::Lifetime => ("lifetime", 0),
        Promise::Windows(most) => ("windows", most.into()),
        Promise::Any(span) => ("any", span),
        Promise::Each(span) => ("each", span),
    }
}

pub(crate) fn read_promise(word: &str, number: u64) -> Option<Promise> {
    match word {
        "lifetime" if number == 0 => Some(Promise::Lifetime),
        "windows" => u32::try_from(number).ok().map(Promise::Windows),
        "any" => Some(Promise::Any(number)),
        "each" => Some(Promise::Each(number)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_survive_their_bytes() {
        let amounts = [
            PrivacyCost::pure(0.1).unwrap(),
            PrivacyCost::zcdp(0.5).unwrap(),
            PrivacyCost::approximate_zcdp(0.5, Omega::below(40.0).unwrap(), Some(1e-9)).unwrap(),
        ];
        for amount in amounts {
            assert_eq!(decode(&encode(&amount).unwrap()), Some(amount));
        }
        for bytes in [&b""[..], b"p", b"z0123456789abcdef", b"q0123456789abcdef"] {
            assert_eq!(decode(bytes), None);
        }
        assert_eq!(encode(&PrivacyCost::gaussian(1.0).unwrap()), None);
    }
}
