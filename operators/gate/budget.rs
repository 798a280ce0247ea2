//! Which of a ledger's budgets a statement about it means.

use crate::accounting::Unit;
use crate::ledger::{Domain, Name, Trouble};

/// The domain of this name, or the only one that protects this unit.
pub(super) fn find<'a>(
    domains: &'a [Domain],
    named: Option<&Name>,
    unit: Unit,
) -> Result<&'a Domain, Trouble> {
    let protects = |domain: &&Domain| domain.neighbours().unit == unit;
    let fitting: Vec<&Domain> = domains.iter().filter(protects).collect();
    let refuse = |found: &str| {
        let names: Vec<&str> = fitting.iter().map(|domain| domain.name().as_str()).collect();
        let remedy = match names.as_slice() {
            [] => format!("state one that protects a {unit} with `discreet ledger init`"),
            names => format!("give one that protects a {unit}: {}", names.join(", ")),
        };
        Err(Trouble::refused(format!("domain: {found}; {remedy}")))
    };
    let Some(name) = named else {
        return match fitting[..] {
            [only] => Ok(only),
            [] => refuse("the ledger has none for this"),
            _ => refuse("found nothing, and the ledger has several"),
        };
    };
    match domains.iter().find(|domain| domain.name() == name) {
        Some(domain) if protects(&domain) => Ok(domain),
        Some(domain) => refuse(&format!("{name} protects a {}", domain.neighbours().unit)),
        None => refuse(&format!("the ledger has none named {name}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::{Amount, Neighbours, Promise};

    fn name(text: &str) -> Name {
        Name::new("domain", text).unwrap()
    }

    fn domain(text: &str, unit: Unit) -> Domain {
        let neighbours = Neighbours { unit, ..Neighbours::PERSON };
        Domain::new(name(text), neighbours, Promise::Lifetime, Amount::zcdp(1.0).unwrap()).unwrap()
    }

    /// Refutes a guess: where more than one domain could be meant, or none can, somebody's budget would be spent unasked.
    #[test]
    fn only_what_is_named_or_alone_is_found() {
        let domains =
            [domain("visits", Unit::Person), domain("logs", Unit::Record), domain("taps", Unit::Person)];
        let found = |named: Option<&str>, unit| {
            let named = named.map(name);
            find(&domains, named.as_ref(), unit).map(|domain| domain.name().to_string())
        };
        assert_eq!(found(Some("taps"), Unit::Person).unwrap(), "taps");
        assert_eq!(found(None, Unit::Record).unwrap(), "logs");
        for (named, unit, says) in [
            (None, Unit::Person, &["several", "visits, taps"][..]),
            (Some("visit"), Unit::Person, &["none named visit", "visits, taps"]),
            (Some("logs"), Unit::Person, &["logs protects a record", "protects a person: visits, taps"]),
            (Some("visits"), Unit::Record, &["visits protects a person", "protects a record: logs"]),
        ] {
            let trouble = found(named, unit).unwrap_err();
            assert_eq!(trouble.kind(), crate::ledger::TroubleKind::Refused);
            for word in says {
                assert!(trouble.to_string().contains(word), "{trouble}");
            }
        }
        let trouble = find(&domains[..1], None, Unit::Record).unwrap_err();
        assert!(trouble.to_string().contains("ledger init"), "{trouble}");
    }
}
