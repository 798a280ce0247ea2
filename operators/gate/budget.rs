//! Which of a ledger's budgets a statement about it means.

use crate::accounting::PrivacyUnit;
use crate::ledger::{AccountSpec, LedgerError, Name};

/// The domain of this name, or the only one that protects this unit; where it is stated who one person is, of these people.
pub(super) fn find<'a>(
    domains: &'a [AccountSpec],
    named: Option<&Name>,
    unit: PrivacyUnit,
    person: Option<&str>,
) -> Result<&'a AccountSpec, LedgerError> {
    let found = of_unit(domains, named, unit)?;
    let Some(person) = person.filter(|person| found.person() != Some(*person)) else { return Ok(found) };
    let stated = found.person().map_or("does not state who one person is".to_owned(), |known| {
        format!("is an account of other people: of the person {known}")
    });
    Err(LedgerError::refused(format!(
        "person: found {person}, and domain {} {stated}; one cap would speak about different people: put back what it was; or \
         state another account, with `discreet ledger init` and a domain of another name: a budget of its own, and who is in \
         both accounts spends both",
        found.name()
    )))
}

fn of_unit<'a>(
    domains: &'a [AccountSpec],
    named: Option<&Name>,
    unit: PrivacyUnit,
) -> Result<&'a AccountSpec, LedgerError> {
    let protects = |domain: &&AccountSpec| domain.neighbours().unit == unit;
    let fitting: Vec<&AccountSpec> = domains.iter().filter(protects).collect();
    let refuse = |found: &str| {
        let names: Vec<&str> = fitting.iter().map(|domain| domain.name().as_str()).collect();
        let remedy = match names.as_slice() {
            [] => format!("state one that protects a {unit} with `discreet ledger init`"),
            names => format!("give one that protects a {unit}: {}", names.join(", ")),
        };
        Err(LedgerError::refused(format!("domain: {found}; {remedy}")))
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
    use crate::accounting::{Adjacency, PrivacyCost, Promise};

    fn name(text: &str) -> Name {
        Name::new("domain", text).unwrap()
    }

    fn domain(text: &str, unit: PrivacyUnit) -> AccountSpec {
        let neighbours = Adjacency { unit, ..Adjacency::PERSON };
        AccountSpec::new(name(text), neighbours, Promise::Lifetime, PrivacyCost::zcdp(1.0).unwrap()).unwrap()
    }

    /// Refutes a guess: where more than one domain could be meant, or none can, somebody's budget would be spent unasked.
    #[test]
    fn only_what_is_named_or_alone_is_found() {
        let domains = [
            domain("visits", PrivacyUnit::Person),
            domain("logs", PrivacyUnit::Record),
            domain("taps", PrivacyUnit::Person),
        ];
        let found = |named: Option<&str>, unit| {
            let named = named.map(name);
            of_unit(&domains, named.as_ref(), unit).map(|domain| domain.name().to_string())
        };
        assert_eq!(found(Some("taps"), PrivacyUnit::Person).unwrap(), "taps");
        assert_eq!(found(None, PrivacyUnit::Record).unwrap(), "logs");
        for (named, unit, says) in [
            (None, PrivacyUnit::Person, &["several", "visits, taps"][..]),
            (Some("visit"), PrivacyUnit::Person, &["none named visit", "visits, taps"]),
            (
                Some("logs"),
                PrivacyUnit::Person,
                &["logs protects a record", "protects a person: visits, taps"],
            ),
            (Some("visits"), PrivacyUnit::Record, &["visits protects a person", "protects a record: logs"]),
        ] {
            let trouble = found(named, unit).unwrap_err();
            assert_eq!(trouble.kind(), crate::ledger::LedgerErrorKind::Refused);
            for word in says {
                assert!(trouble.to_string().contains(word), "{trouble}");
            }
        }
        let trouble = of_unit(&domains[..1], None, PrivacyUnit::Record).unwrap_err();
        assert!(trouble.to_string().contains("ledger init"), "{trouble}");
    }

    // Refutes an account of other people, and one that says nothing beside a job that does; a job that says nothing is not asked.
    #[test]
    fn a_domain_is_charged_for_the_people_that_it_states() {
        let stated = domain("people", PrivacyUnit::Person).with_person("the client").unwrap();
        let domains = [stated, domain("anybody", PrivacyUnit::Person)];
        let found = |named: &str, person: Option<&str>| {
            find(&domains, Some(&name(named)), PrivacyUnit::Person, person)
                .map_err(|trouble| trouble.to_string())
        };
        assert!(found("people", Some("the client")).is_ok() && found("people", None).is_ok());
        assert!(found("anybody", None).is_ok());
        for (named, person) in
            [("people", "the account"), ("people", "the Client"), ("anybody", "the client")]
        {
            let said = found(named, Some(person)).unwrap_err();
            assert!(
                said.contains(person) && said.contains(named) && said.contains("another account"),
                "{said}"
            );
        }
    }
}
