//! Charges for windows that only a file of releases records.
//!
//! A line contains its window and the id of its release, and no privacy cost. The id is a hash of the job,
//! the version and the window, and a version binds every parameter of the cost; so where the ledger still
//! holds windows of the same version, the highest of their costs bounds that of a lost one. Where no version
//! matches, where the version has not been charged yet, or where one of its charges pays for many windows and
//! this one is not among them, the cost is unknown: then the window takes all that is left of the budget, for
//! it cannot have cost more.

use std::collections::{BTreeMap, BTreeSet};

use super::anchor::{Anchor, Published};
use super::charge::{fetch, unknown_account};
use super::error::LedgerError;
use super::name::Name;
use super::records::{amended_account, name, read_row, rows};
use super::repair::Debt;
use super::rows::ReleaseId;
use super::store::{SqlValue, Store, all};
use crate::accounting::{Interval, Prices, Promise};
use crate::canonical::Digest;
use crate::invalid::Invalid;

impl Published {
    /// The row as an anchor of this ledger, if its sequence number and hash are known.
    pub(in crate::ledger) fn anchor(&self, ledger: Digest) -> Option<Anchor> {
        self.row.map(|(sequence, chain)| Anchor { ledger, sequence, chain })
    }
}

/// The charges that the ledger holds for one version of a statistic.
#[derive(Default)]
struct KnownPrices {
    /// The highest cost of a window that was paid for alone.
    dearest: Option<Prices>,
    /// The lives that were paid for once.
    lives: Vec<Interval>,
}

/// Account, job and version.
type VersionKey = (Name, Name, Digest);

/// The charges for rows that are lost.
pub(super) fn published_debts(store: &mut dyn Store, lost: &[&Published]) -> Result<Vec<Debt>, LedgerError> {
    let mut versions: BTreeMap<Name, BTreeMap<VersionKey, KnownPrices>> = BTreeMap::new();
    let mut debts = Vec::new();
    let mut unknown: BTreeSet<Name> = BTreeSet::new();
    for row in lost {
        if !versions.contains_key(&row.release) {
            versions.insert(row.release.clone(), known(store, &row.release)?);
        }
        let of_release = &versions[&row.release];
        let is_of = |(account, job, version): &VersionKey| {
            let release = ReleaseId {
                account: account.clone(),
                job: job.clone(),
                version: *version,
                name: row.release.clone(),
                window: row.window,
                part: None,
            };
            row.id == Some(release.id())
        };
        let prepaid = |life: &Interval| life.start() <= row.window.start() && row.window.end() <= life.end();
        match of_release.iter().find(|(version, _)| is_of(version)) {
            Some((_, known)) if known.lives.iter().any(prepaid) => {}
            Some(((account, ..), KnownPrices { dearest: Some(dearest), lives })) if lives.is_empty() => {
                debts.push((account.clone(), row.window, dearest.clone()));
            }
            _ if of_release.is_empty() => {
                unknown.extend(all(store, "SELECT name FROM account", &[], |row| name(row, 0))?);
            }
            _ => unknown.extend(of_release.keys().map(|(account, ..)| account.clone())),
        }
    }
    for account in unknown {
        debts.push(rest(store, &account)?);
    }
    Ok(debts)
}

fn known(store: &mut dyn Store, release: &Name) -> Result<BTreeMap<VersionKey, KnownPrices>, LedgerError> {
    let mut versions: BTreeMap<VersionKey, KnownPrices> = BTreeMap::new();
    let mut odd = None;
    store.read(
        rows!("WHERE name = ?1 AND job <> 'repair'"),
        &[SqlValue::Text(release.as_str())],
        &mut |columns| {
            let row = read_row(columns)?;
            let prices = row.prices();
            let version = (row.release.account, row.release.job, row.release.version);
            let known = versions.entry(version).or_default();
            match (row.life, prices) {
                (Some(life), _) => known.lives.push(life),
                (None, Some(prices)) => match dearer(known.dearest.as_ref(), &prices) {
                    Ok(dearer) => known.dearest = Some(dearer),
                    Err(invalid) => odd = Some(invalid),
                },
                (None, None) => {}
            }
            Ok(())
        },
    )?;
    odd.map_or(Ok(versions), |invalid| Err(invalid.into()))
}

/// The larger of two costs, of the whole and of the partial ones each.
fn dearer(known: Option<&Prices>, other: &Prices) -> Result<Prices, Invalid> {
    let Some(known) = known else { return Ok(other.clone()) };
    Ok(Prices { whole: known.whole.larger(&other.whole)?, partial: known.partial.larger(&other.partial)? })
}

/// A charge of all that is left of a budget.
fn rest(store: &mut dyn Store, name: &Name) -> Result<Debt, LedgerError> {
    let always = Interval::new(i64::MIN, i64::MAX)?;
    let account = amended_account(store, name)?.ok_or_else(|| unknown_account(name))?;
    let amount = match account.promise() {
        Promise::Lifetime => account.cap().less(&fetch(store, &account, always)?.spent(always)?)?,
        // The remainder differs between spans, and is nowhere more than the cap.
        _ => account.cap().clone(),
    };
    Ok((name.clone(), always, Prices::same(amount)))
}
