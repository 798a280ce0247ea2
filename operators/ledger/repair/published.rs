//! What windows cost of which only a file of releases knows.
//!
//! A line names its window and the id of its release, and no price. The id is a hash of the job, the version and the
//! window, and a version binds every parameter of the price; so where the ledger still holds a window of the same version,
//! its dearest one says what a lost one cost at most. Where no version fits, where it has not been charged yet, or where
//! it pays for many windows at once and this one is not among them, the price is unknown: then the window takes what is
//! left of the budget, for it cannot have cost more.

use std::collections::{BTreeMap, BTreeSet};

use super::super::anchor::{Anchor, Published};
use super::super::charge::{fetch, unknown_domain};
use super::super::name::Name;
use super::super::records::{amended_domain, name, read_row, rows};
use super::super::rows::ReleaseId;
use super::super::store::{SqlValue, Store, all};
use super::super::trouble::LedgerError;
use super::Debt;
use crate::accounting::{Interval, Prices, Promise};
use crate::canonical::Digest;
use crate::invalid::Invalid;

impl Published {
    /// The same as an anchor of this ledger, where its row is known.
    pub(in crate::ledger) fn anchor(&self, ledger: Digest) -> Option<Anchor> {
        self.row.map(|(sequence, chain)| Anchor { ledger, sequence, chain })
    }
}

/// What the ledger knows of one version of a statistic.
#[derive(Default)]
struct KnownPrices {
    /// The dearest window that was paid for by itself.
    dearest: Option<Prices>,
    /// The times for which it has paid once.
    lives: Vec<Interval>,
}

/// Domain, job and version.
type VersionKey = (Name, Name, Digest);

/// What is charged for rows that are lost.
pub(super) fn published_debts(store: &mut dyn Store, lost: &[&Published]) -> Result<Vec<Debt>, LedgerError> {
    let mut versions: BTreeMap<Name, BTreeMap<VersionKey, KnownPrices>> = BTreeMap::new();
    let mut debts = Vec::new();
    let mut unknown: BTreeSet<Name> = BTreeSet::new();
    for row in lost {
        if !versions.contains_key(&row.release) {
            versions.insert(row.release.clone(), known(store, &row.release)?);
        }
        let of_release = &versions[&row.release];
        let is_of = |(domain, job, version): &VersionKey| {
            let release = ReleaseId {
                domain: domain.clone(),
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
            Some(((domain, ..), KnownPrices { dearest: Some(dearest), lives })) if lives.is_empty() => {
                debts.push((domain.clone(), row.window, dearest.clone()));
            }
            _ if of_release.is_empty() => {
                unknown.extend(all(store, "SELECT name FROM domain", &[], |row| name(row, 0))?);
            }
            _ => unknown.extend(of_release.keys().map(|(domain, ..)| domain.clone())),
        }
    }
    for domain in unknown {
        debts.push(rest(store, &domain)?);
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
            let version = (row.release.domain, row.release.job, row.release.version);
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

/// The larger of two, in each of their amounts.
fn dearer(known: Option<&Prices>, other: &Prices) -> Result<Prices, Invalid> {
    let Some(known) = known else { return Ok(other.clone()) };
    Ok(Prices { whole: known.whole.larger(&other.whole)?, partial: known.partial.larger(&other.partial)? })
}

/// All that is left of a budget.
fn rest(store: &mut dyn Store, name: &Name) -> Result<Debt, LedgerError> {
    let always = Interval::new(i64::MIN, i64::MAX)?;
    let domain = amended_domain(store, name)?.ok_or_else(|| unknown_domain(name))?;
    let amount = match domain.promise() {
        Promise::Lifetime => domain.cap().less(&fetch(store, &domain, always)?.spent(always)?)?,
        // What is left differs from one span to another, and nowhere is more than the cap.
        _ => domain.cap().clone(),
    };
    Ok((name.clone(), always, Prices::same(amount)))
}
