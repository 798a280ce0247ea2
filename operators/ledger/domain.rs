//! One budget, and the words it is stated in.

use super::columns::{encode, promise_columns, relation_column, unit_column};
use super::name::Name;
use crate::accounting::{Account, Adjacency, PrivacyCost, PrivacyFilter, Promise, ReleaseCost};
use crate::canonical::{Canonical, Digest};
use crate::invalid::{Invalid, InvalidKind};
use crate::time::Span;

/// One budget: who is protected, what is promised, and how much may be spent on it. Stated once, printed with every
/// output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountSpec {
    pub(crate) name: Name,
    pub(crate) neighbours: Adjacency,
    pub(crate) promise: Promise,
    pub(crate) cap: PrivacyCost,
    pub(crate) person: Option<String>,
}

impl AccountSpec {
    /// All that a person ever does is hidden; when the budget is spent, releases stop.
    ///
    /// The cap is a [`Budget`](crate::accounting::Budget), or an [`PrivacyCost`]. Leave a little room: it is rounded down and
    /// charges are rounded up, in units of 2^-64, so a cap of 0.06 does not hold six charges of 0.01.
    ///
    /// ```
    /// use discreet::accounting::{Amount, Budget};
    /// use discreet::ledger::Domain;
    /// use discreet::time::days;
    ///
    /// Domain::lifetime("visits", Budget::approximate(1.0, 1e-6))?;
    /// Domain::any("visits", days(30), Amount::zcdp(0.1))?;
    /// Domain::each("visits", days(1), Budget::pure(0.5))?.of_records();
    /// # Ok::<(), discreet::Invalid>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Names what is wrong with the name or the cap.
    pub fn lifetime(
        name: &str,
        cap: impl TryInto<PrivacyCost, Error: Into<Invalid>>,
    ) -> Result<AccountSpec, Invalid> {
        AccountSpec::stated(name, Promise::Lifetime, cap)
    }

    /// What a person does within any span of this length is hidden; what is spent comes back with time.
    ///
    /// # Errors
    ///
    /// Names what is wrong with the name, the span or the cap.
    pub fn any(
        name: &str,
        span: impl TryInto<Span, Error: Into<Invalid>>,
        cap: impl TryInto<PrivacyCost, Error: Into<Invalid>>,
    ) -> Result<AccountSpec, Invalid> {
        AccountSpec::stated(name, Promise::Any(length(span)?), cap)
    }

    /// What a person does within one aligned span of this length is hidden (each day in UTC, each hour); every span has
    /// the whole budget.
    ///
    /// # Errors
    ///
    /// Names what is wrong with the name, the span or the cap.
    pub fn each(
        name: &str,
        span: impl TryInto<Span, Error: Into<Invalid>>,
        cap: impl TryInto<PrivacyCost, Error: Into<Invalid>>,
    ) -> Result<AccountSpec, Invalid> {
        AccountSpec::stated(name, Promise::Each(length(span)?), cap)
    }

    /// The same for single records: one of them is hidden, and who has many is hidden less.
    #[must_use]
    pub fn of_records(self) -> AccountSpec {
        AccountSpec { neighbours: Adjacency::RECORD, ..self }
    }

    /// States who one person is: the field that names people and what becomes of records without one, or any other words of
    /// the author. All that is charged to an account speaks about the same people, so whoever
    /// [states it](crate::gate::Opening::person) in other words is refused.
    ///
    /// # Errors
    ///
    /// Names `person` where the text is empty, longer than 4,096 bytes, or holds control characters.
    pub fn with_person(self, person: &str) -> Result<AccountSpec, Invalid> {
        let kind = match person {
            "" => InvalidKind::Missing,
            person if person.len() > 4_096 => InvalidKind::TooLarge,
            person if person.chars().any(char::is_control) => InvalidKind::Malformed,
            _ => return Ok(AccountSpec { person: Some(person.to_owned()), ..self }),
        };
        Err(Invalid::new("person", kind, "a line of text, of at most 4,096 bytes"))
    }

    fn stated(
        name: &str,
        promise: Promise,
        cap: impl TryInto<PrivacyCost, Error: Into<Invalid>>,
    ) -> Result<AccountSpec, Invalid> {
        AccountSpec::new(
            Name::new("domain", name)?,
            Adjacency::PERSON,
            promise,
            cap.try_into().map_err(Into::into)?,
        )
    }

    /// A domain that nothing has been spent from.
    ///
    /// # Errors
    ///
    /// If the promise is about no time or no window, or the cap is in a currency that a ledger does not count: it
    /// counts pure epsilon and zCDP.
    pub fn new(
        name: Name,
        neighbours: Adjacency,
        promise: Promise,
        cap: PrivacyCost,
    ) -> Result<AccountSpec, Invalid> {
        Account::new(promise, neighbours, cap.clone())?;
        if encode(&cap).is_none() {
            return Err(Invalid::new(
                "budget",
                InvalidKind::Mixed,
                "pure epsilon, epsilon with delta, or rho",
            ));
        }
        let (_, span) = promise_columns(promise);
        if i64::try_from(span).is_err() {
            return Err(Invalid::new("span", InvalidKind::TooLarge, "a span below 2^63 microseconds"));
        }
        Ok(AccountSpec { name, neighbours, promise, cap, person: None })
    }

    /// Its name.
    pub fn name(&self) -> &Name {
        &self.name
    }

    /// Who is protected, against what change.
    pub fn neighbours(&self) -> Adjacency {
        self.neighbours
    }

    /// Who one person is, where it was [stated](AccountSpec::with_person).
    pub fn person(&self) -> Option<&str> {
        self.person.as_deref()
    }

    /// What is promised.
    pub fn promise(&self) -> Promise {
        self.promise
    }

    /// Whether this domain can count a cost: of its neighbours, and in a currency that turns into its own.
    ///
    /// # Errors
    ///
    /// Names what keeps the cost from being counted.
    pub fn counts(&self, cost: &ReleaseCost) -> Result<(), Invalid> {
        PrivacyFilter::new(self.neighbours, self.cap.clone()).asked(cost).map(drop)
    }

    /// How much may be spent where the promise adds it up.
    pub fn cap(&self) -> &PrivacyCost {
        &self.cap
    }

    pub(crate) fn chained(&self, previous: &Digest, sequence: i64, cap: &[u8]) -> Digest {
        let (promise, span) = promise_columns(self.promise);
        Canonical::new("discreet domain 2")
            .digest(previous)
            .number(sequence)
            .text(self.name.as_str())
            .text(unit_column(self.neighbours.unit))
            .text(relation_column(self.neighbours.relation))
            .text(promise)
            .bytes(&span.to_be_bytes())
            .bytes(cap)
            .text(self.person.as_deref().unwrap_or_default())
            .finish()
    }
}

/// In microseconds. A span is above zero.
fn length(span: impl TryInto<Span, Error: Into<Invalid>>) -> Result<u64, Invalid> {
    Ok(span.try_into().map_err(Into::into)?.as_microseconds().unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::Budget;
    use crate::time::{days, minutes};

    // Refutes a span that is counted in another unit than windows are, and a unit that is lost on the way.
    #[test]
    fn words_state_what_the_long_form_does() {
        let cap = || PrivacyCost::zcdp(0.5).unwrap();
        let name = || Name::new("domain", "visits").unwrap();
        let long = |neighbours, promise| AccountSpec::new(name(), neighbours, promise, cap());
        assert_eq!(AccountSpec::lifetime("visits", cap()), long(Adjacency::PERSON, Promise::Lifetime));
        assert_eq!(
            AccountSpec::any("visits", days(2), Budget::zcdp(0.5)),
            long(Adjacency::PERSON, Promise::Any(172_800_000_000))
        );
        assert_eq!(
            AccountSpec::each("visits", minutes(1), PrivacyCost::zcdp(0.5)).map(AccountSpec::of_records),
            long(Adjacency::RECORD, Promise::Each(60_000_000))
        );
    }

    #[test]
    fn every_word_is_refused_by_name() {
        let field = |refused: Result<AccountSpec, Invalid>| refused.unwrap_err().field().to_owned();
        assert_eq!(field(AccountSpec::lifetime("a b", PrivacyCost::zcdp(0.5))), "domain");
        assert_eq!(field(AccountSpec::lifetime("a", PrivacyCost::zcdp(0.0))), "rho");
        assert_eq!(field(AccountSpec::any("a", days(0), PrivacyCost::zcdp(0.5))), "span");
        assert_eq!(field(AccountSpec::each("a", days(1), PrivacyCost::gaussian(0.5))), "budget");
        let stated =
            |person: &str| AccountSpec::lifetime("a", PrivacyCost::zcdp(0.5)).unwrap().with_person(person);
        for person in ["", "two\nlines", &"x".repeat(4_097)] {
            assert_eq!(field(stated(person)), "person");
        }
        assert_eq!(stated("the client").unwrap().person(), Some("the client"));
    }
}
