//! The specification of a budget account: privacy unit, promise and cap.

use super::balances::Balances;
use super::book::Ledger;
use super::charge::unknown_account;
use super::due::newer;
use super::error::{LedgerError, LedgerErrorKind};
use super::failpoint;
use super::name::Name;
use super::records::{
    advance, amended_account, head, name, number, read_account, read_amendment, write_account,
    write_amendment,
};
use super::records::{encode, promise_columns, relation_column, unit_column};
use super::rows::Amendment;
use super::store::{SqlValue, Store, Transaction, all};
use crate::accounting::{Account, Adjacency, Interval, PrivacyCost, PrivacyFilter, Promise, ReleaseCost};
use crate::canonical::{Canonical, Digest};
use crate::invalid::{Invalid, InvalidKind};
use crate::time::Span;

/// A budget account: its adjacency, its promise, and its cap. It is stated once, and printed with every
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
    /// An account with user-level privacy for a lifetime: everything that a person ever does is hidden. When
    /// the budget is spent, releases stop.
    ///
    /// The cap is a [`Budget`](crate::accounting::Budget), or a [`PrivacyCost`]. Leave a little room: it is
    /// rounded down and charges are rounded up, in units of 2^-64, so a cap of 0.06 does not hold six charges
    /// of 0.01.
    ///
    /// ```
    /// use discreet::accounting::{PrivacyCost, Budget};
    /// use discreet::ledger::AccountSpec;
    /// use discreet::time::days;
    ///
    /// AccountSpec::lifetime("visits", Budget::approximate(1.0, 1e-6))?;
    /// AccountSpec::any("visits", days(30), PrivacyCost::zcdp(0.1))?;
    /// AccountSpec::each("visits", days(1), Budget::pure(0.5))?.of_records();
    /// # Ok::<(), discreet::Invalid>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the name or the cap is invalid; the error names it.
    pub fn lifetime(
        name: &str,
        cap: impl TryInto<PrivacyCost, Error: Into<Invalid>>,
    ) -> Result<AccountSpec, Invalid> {
        AccountSpec::stated(name, Promise::Lifetime, cap)
    }

    /// An account that hides everything that a person does within any span of this length; budget that was
    /// spent becomes available again with time.
    ///
    /// # Errors
    ///
    /// If the name, the span or the cap is invalid; the error names it.
    pub fn any(
        name: &str,
        span: impl TryInto<Span, Error: Into<Invalid>>,
        cap: impl TryInto<PrivacyCost, Error: Into<Invalid>>,
    ) -> Result<AccountSpec, Invalid> {
        AccountSpec::stated(name, Promise::Any(length(span)?), cap)
    }

    /// An account that hides everything that a person does within one aligned span of this length (each day
    /// in UTC, each hour); every span has the whole budget.
    ///
    /// # Errors
    ///
    /// If the name, the span or the cap is invalid; the error names it.
    pub fn each(
        name: &str,
        span: impl TryInto<Span, Error: Into<Invalid>>,
        cap: impl TryInto<PrivacyCost, Error: Into<Invalid>>,
    ) -> Result<AccountSpec, Invalid> {
        AccountSpec::stated(name, Promise::Each(length(span)?), cap)
    }

    /// Changes the privacy unit to a single record (event-level privacy): any one record is hidden, and a
    /// person with many records is hidden less.
    #[must_use]
    pub fn of_records(self) -> AccountSpec {
        AccountSpec { neighbours: Adjacency::RECORD, ..self }
    }

    /// States the definition of a person: the field that names people and the treatment of records without
    /// one, or any other text of the author. All charges to an account concern the same people, so a job that
    /// [states another definition](crate::gate::Opening::person) is refused.
    ///
    /// # Errors
    ///
    /// If the text is empty, longer than 4,096 bytes, or contains control characters; the error names
    /// `person`.
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
            Name::new("account", name)?,
            Adjacency::PERSON,
            promise,
            cap.try_into().map_err(Into::into)?,
        )
    }

    /// An account of any adjacency and promise.
    ///
    /// # Errors
    ///
    /// If the promise covers no time or no window, or the cap is in a currency that a ledger does not count:
    /// it counts pure epsilon, zCDP and Gaussian differential privacy.
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

    /// The name of the account.
    pub fn name(&self) -> &Name {
        &self.name
    }

    /// The adjacency: the privacy unit, and the change to it that is hidden.
    pub fn neighbours(&self) -> Adjacency {
        self.neighbours
    }

    /// The definition of a person, if it was [stated](AccountSpec::with_person).
    pub fn person(&self) -> Option<&str> {
        self.person.as_deref()
    }

    /// The promise: the time over which the budget holds.
    pub fn promise(&self) -> Promise {
        self.promise
    }

    /// Checks that this account can count a cost: one of its adjacency, and in a currency that converts to
    /// its own.
    ///
    /// # Errors
    ///
    /// If the cost cannot be counted; the error names the reason.
    pub fn counts(&self, cost: &ReleaseCost) -> Result<(), Invalid> {
        PrivacyFilter::new(self.neighbours, self.cap.clone()).asked(cost).map(drop)
    }

    /// The cap: the most that may be spent over the time that the promise covers.
    pub fn cap(&self) -> &PrivacyCost {
        &self.cap
    }

    pub(crate) fn chained(&self, previous: &Digest, sequence: i64, cap: &[u8]) -> Digest {
        let (promise, span) = promise_columns(self.promise);
        Canonical::new("discreet account 2")
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

/// The length of a span in microseconds, which is above zero.
fn length(span: impl TryInto<Span, Error: Into<Invalid>>) -> Result<u64, Invalid> {
    Ok(span.try_into().map_err(Into::into)?.as_microseconds().unsigned_abs())
}

// The budget accounts of a ledger: stating them, raising their caps, and reading their balance.

impl Ledger {
    /// States a budget account. Stating it again with the same terms changes nothing.
    ///
    /// # Errors
    ///
    /// If an account of this name has other terms: an account is stated once, and only its cap can be raised.
    pub fn register(&mut self, account: &AccountSpec) -> Result<(), LedgerError> {
        let mut transaction = Transaction::begin(self.store())?;
        let tables = transaction.store();
        if let Some(known) = read_account(tables, account.name())? {
            if known == *account {
                return Ok(());
            }
            return Err(LedgerError::refused(format!(
                "account {} is stated already, in other words",
                account.name()
            )));
        }
        let (sequence, previous) = next(tables)?;
        let cap = encode(&account.cap).unwrap_or_default();
        let chain = account.chained(&previous, sequence, &cap);
        write_account(tables, account, sequence, &chain)?;
        advance(tables, sequence, &chain)?;
        transaction.commit()
    }

    /// All budget accounts, in the order of their names, each with its cap as last amended.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub fn accounts(&mut self) -> Result<Vec<AccountSpec>, LedgerError> {
        let store = self.store();
        let names = all(store, "SELECT name FROM account ORDER BY name", &[], |row| name(row, 0))?;
        names
            .into_iter()
            .map(|name| {
                let account = amended_account(store, &name)?;
                account.ok_or_else(|| LedgerError::doubt(format!("account {name} vanished")))
            })
            .collect()
    }

    /// Raises the cap of an account, and records the person responsible and the reason.
    ///
    /// # Errors
    ///
    /// If the account is unknown, the new cap is not above the old one, or `who` or `why` is empty.
    pub fn amend(
        &mut self,
        account: &Name,
        cap: &PrivacyCost,
        who: &str,
        why: &str,
    ) -> Result<(), LedgerError> {
        if who.trim().is_empty() || why.trim().is_empty() {
            return Err(LedgerError::refused("amendment: found nothing; say who raises the cap, and why"));
        }
        let mut transaction = Transaction::begin(self.store())?;
        let tables = transaction.store();
        let known = amended_account(tables, account)?.ok_or_else(|| unknown_account(account))?;
        if *cap == known.cap || !known.cap.within(cap) {
            return Err(LedgerError::refused(format!(
                "account {account}: a cap can only be raised, in the currency that it has (an epsilon with a delta where it has \
                 one); it is {}",
                known.cap
            )));
        }
        let (sequence, previous) = next(tables)?;
        let amendment = Amendment {
            sequence,
            account: account.clone(),
            cap: cap.clone(),
            who: who.into(),
            why: why.into(),
        };
        let chain = amendment.chained(&previous);
        write_amendment(tables, &amendment, &chain)?;
        failpoint::reached("during-amendment", LedgerErrorKind::Unknown)?;
        advance(tables, sequence, &chain)?;
        transaction.commit()
    }

    /// All caps that an account has had: the stated one, and that of each amendment; empty for an unknown
    /// account. A job file that states any of them means this account.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub fn caps(&mut self, account: &Name) -> Result<Vec<PrivacyCost>, LedgerError> {
        let Some(stated) = read_account(self.store(), account)? else { return Ok(Vec::new()) };
        let amendments = "SELECT * FROM amendment WHERE account = ?1 ORDER BY sequence";
        let values = [SqlValue::Text(account.as_str())];
        let amended = all(self.store(), amendments, &values, read_amendment)?;
        let amended = amended.into_iter().map(|(amendment, _)| amendment.cap);
        Ok(std::iter::once(stated.cap).chain(amended).collect())
    }

    /// The amount that counts against a release of this window now, and the cap that limits it.
    ///
    /// # Errors
    ///
    /// If the account is unknown.
    pub fn spent(
        &mut self,
        account: &Name,
        window: Interval,
    ) -> Result<(PrivacyCost, PrivacyCost), LedgerError> {
        let spent = self.spent_each([(account, window)].into_iter())?;
        spent.into_iter().next().ok_or_else(|| unknown_account(account))
    }

    /// The amounts of [`spent`](Ledger::spent) for each of these, in one state of the ledger.
    pub(crate) fn spent_each<'a>(
        &mut self,
        charged: impl Iterator<Item = (&'a Name, Interval)>,
    ) -> Result<Vec<(PrivacyCost, PrivacyCost)>, LedgerError> {
        let mut snapshot = Transaction::snapshot(self.store())?;
        let mut balances = Balances::default();
        let spent = |(account, window): (&Name, Interval)| {
            let spent = balances.of(snapshot.store(), account, window)?.spent(window)?;
            Ok((spent, balances.account(snapshot.store(), account)?.cap.clone()))
        };
        charged.map(spent).collect()
    }

    /// The number of sealed releases of an account, and their window that ends last, the longest of those; the first
    /// microsecond of 1970 without any.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub fn releases(&mut self, account: &Name) -> Result<(u64, Interval), LedgerError> {
        let sealed = self.proof().due.sealed.get(account).copied();
        let since = [SqlValue::Number(self.proof().sequence), SqlValue::Text(account.as_str())];
        let (mut count, mut newest) = sealed.map_or((0, None), |sealed| (sealed.count, Some(sealed.newest)));
        let later = "SELECT window_start, window_end FROM release
                     WHERE sequence > ?1 AND account = ?2 AND status = 'sealed'";
        self.store().read(later, &since, &mut |row| {
            let window = Interval::new(number(row, 0)?, number(row, 1)?)?;
            count += 1;
            newest = Some(newest.map_or(window, |newest| newer(newest, window)));
            Ok(())
        })?;
        Ok((count, newest.map_or_else(|| Interval::new(0, 1), Ok)?))
    }
}

fn next(store: &mut dyn Store) -> Result<(i64, Digest), LedgerError> {
    let (sequence, chain) = head(store)?;
    Ok((sequence + 1, chain))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::Budget;
    use crate::time::{days, minutes};

    // Refutes a span that is counted in another unit of time than windows are, and a privacy unit that is
    // dropped.
    #[test]
    fn words_state_what_the_long_form_does() {
        let cap = || PrivacyCost::zcdp(0.5).unwrap();
        let name = || Name::new("account", "visits").unwrap();
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
        assert_eq!(field(AccountSpec::lifetime("a b", PrivacyCost::zcdp(0.5))), "account");
        assert_eq!(field(AccountSpec::lifetime("a", PrivacyCost::zcdp(0.0))), "rho");
        assert_eq!(field(AccountSpec::any("a", days(0), PrivacyCost::zcdp(0.5))), "span");
        let curve = PrivacyCost::renyi(|order| 0.1 * order);
        assert_eq!(field(AccountSpec::each("a", days(1), curve)), "budget");
        let stated =
            |person: &str| AccountSpec::lifetime("a", PrivacyCost::zcdp(0.5)).unwrap().with_person(person);
        for person in ["", "two\nlines", &"x".repeat(4_097)] {
            assert_eq!(field(stated(person)), "person");
        }
        assert_eq!(stated("the client").unwrap().person(), Some("the client"));
    }
}
