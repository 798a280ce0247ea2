//! The budgets of a ledger: stated once, raised by hand, and how they stand.

use super::book::Ledger;
use super::charge::{fetch, unknown_domain};
use super::columns::encode;
use super::domain::AccountSpec;
use super::failpoint;
use super::name::Name;
use super::records::{
    advance, amended_domain, head, name, number, read_amendment, read_domain, write_amendment, write_domain,
};
use super::rows::Amendment;
use super::store::{SqlValue, Store, Transaction, all, first};
use super::trouble::{LedgerError, LedgerErrorKind};
use crate::accounting::{Interval, PrivacyCost};
use crate::canonical::Digest;

impl Ledger {
    /// States a domain. Stating it again, in the same words, changes nothing.
    ///
    /// # Errors
    ///
    /// If there is one of this name with other words: a domain is stated once, and only its cap can be raised.
    pub fn register(&mut self, domain: &AccountSpec) -> Result<(), LedgerError> {
        let mut transaction = Transaction::begin(self.store())?;
        let tables = transaction.store();
        if let Some(known) = read_domain(tables, domain.name())? {
            if known == *domain {
                return Ok(());
            }
            return Err(LedgerError::refused(format!(
                "domain {} is stated already, in other words",
                domain.name()
            )));
        }
        let (sequence, previous) = next(tables)?;
        let cap = encode(&domain.cap).unwrap_or_default();
        let chain = domain.chained(&previous, sequence, &cap);
        write_domain(tables, domain, sequence, &chain)?;
        advance(tables, sequence, &chain)?;
        transaction.commit()
    }

    /// The domains, each with its cap as last amended.
    ///
    /// # Errors
    ///
    /// If they cannot be read.
    pub fn domains(&mut self) -> Result<Vec<AccountSpec>, LedgerError> {
        let store = self.store();
        let names = all(store, "SELECT name FROM domain ORDER BY name", &[], |row| name(row, 0))?;
        names
            .into_iter()
            .map(|name| {
                let domain = amended_domain(store, &name)?;
                domain.ok_or_else(|| LedgerError::doubt(format!("domain {name} vanished")))
            })
            .collect()
    }

    /// Raises the cap of a domain, and keeps who answers for it and why.
    ///
    /// # Errors
    ///
    /// If the domain is unknown, the new cap is not above the old one, or `who` or `why` is empty.
    pub fn amend(
        &mut self,
        domain: &Name,
        cap: &PrivacyCost,
        who: &str,
        why: &str,
    ) -> Result<(), LedgerError> {
        if who.trim().is_empty() || why.trim().is_empty() {
            return Err(LedgerError::refused("amendment: found nothing; say who raises the cap, and why"));
        }
        let mut transaction = Transaction::begin(self.store())?;
        let tables = transaction.store();
        let known = amended_domain(tables, domain)?.ok_or_else(|| unknown_domain(domain))?;
        if *cap == known.cap || !known.cap.within(cap) {
            return Err(LedgerError::refused(format!(
                "domain {domain}: a cap can only be raised, in the currency that it has (an epsilon with a delta where it has \
                 one); it is {}",
                known.cap
            )));
        }
        let (sequence, previous) = next(tables)?;
        let amendment = Amendment {
            sequence,
            domain: domain.clone(),
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

    /// The caps that a domain has had, as stated first and by each amendment; none of an unknown domain. A job file that
    /// states one of them speaks of this budget.
    ///
    /// # Errors
    ///
    /// If they cannot be read.
    pub fn caps(&mut self, domain: &Name) -> Result<Vec<PrivacyCost>, LedgerError> {
        let Some(stated) = read_domain(self.store(), domain)? else { return Ok(Vec::new()) };
        let amendments = "SELECT * FROM amendment WHERE domain = ?1 ORDER BY sequence";
        let values = [SqlValue::Text(domain.as_str())];
        let amended = all(self.store(), amendments, &values, read_amendment)?;
        let amended = amended.into_iter().map(|(amendment, _)| amendment.cap);
        Ok(std::iter::once(stated.cap).chain(amended).collect())
    }

    /// What counts against a window's release now, and the cap it must stay under.
    ///
    /// # Errors
    ///
    /// If the domain is unknown.
    pub fn spent(
        &mut self,
        domain: &Name,
        window: Interval,
    ) -> Result<(PrivacyCost, PrivacyCost), LedgerError> {
        let known = amended_domain(self.store(), domain)?.ok_or_else(|| unknown_domain(domain))?;
        let account = fetch(self.store(), &known, window)?;
        Ok((account.spent(window)?, known.cap))
    }

    /// How many releases of a domain are sealed, and the window that ends last; the first moment of time where there
    /// is none.
    ///
    /// # Errors
    ///
    /// If they cannot be read.
    pub fn releases(&mut self, domain: &Name) -> Result<(u64, Interval), LedgerError> {
        let domain = [SqlValue::Text(domain.as_str())];
        let count = "SELECT count(*) FROM release WHERE domain = ?1 AND fate = 'sealed'";
        let count = first(self.store(), count, &domain, |row| number(row, 0))?.unwrap_or(0);
        let newest = "SELECT window_start, window_end FROM release WHERE domain = ?1 AND fate = 'sealed'
                      ORDER BY window_end DESC LIMIT 1";
        let newest = first(self.store(), newest, &domain, |row| Ok((number(row, 0)?, number(row, 1)?)))?;
        let (start, end) = newest.unwrap_or((0, 1));
        Ok((count.unsigned_abs(), Interval::new(start, end)?))
    }
}

fn next(store: &mut dyn Store) -> Result<(i64, Digest), LedgerError> {
    let (sequence, chain) = head(store)?;
    Ok((sequence + 1, chain))
}
