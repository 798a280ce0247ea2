//! Charges to budget accounts, made inside the transaction that writes the row they pay for. No other code
//! spends budget.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use super::account::AccountSpec;
use super::archive;
use super::balances::Balances;
use super::book::Ledger;
use super::error::{LedgerError, LedgerErrorKind};
use super::name::Name;
use super::records::encode;
use super::records::{amended_account, digest, find, number, read_entry};
use super::rows::{Charge, ReleaseId, ReleaseStatus, Row};
use super::seal::{Claim, Sealing};
use super::store::{SqlRow, SqlValue, Store, Transaction, all, first};
use super::{failpoint, rows, states};
use crate::accounting::{Account, BudgetExceeded, EntryKey, Fetched, Interval, Prices, PrivacyCost};
use crate::canonical::Digest;

/// The row of a release, with its charge made: sealed if the budget holds it, refused if not.
pub(super) fn charged(
    store: &mut dyn Store,
    balances: &mut Balances,
    claim: &Claim,
    sealing: &Sealing,
) -> Result<Row, LedgerError> {
    let release = &sealing.release;
    if release.job != *claim.job() {
        let message = format!("job {}: the claim is for {}", release.job, claim.job());
        return Err(LedgerError::refused(message));
    }
    let promise = balances.account(store, &release.account)?.promise;
    let mut row = Row {
        sequence: 0,
        release: release.clone(),
        generation: claim.generation(),
        status: sealing.status,
        cost: None,
        partial: None,
        life: None,
        prepaid: None,
        state: None,
        line: sealing.line.clone(),
        delivered: false,
        chain: Digest::NONE,
    };
    let charge = match (sealing.status, &sealing.charge) {
        (ReleaseStatus::Skipped, _) => return Ok(row),
        (ReleaseStatus::Sealed | ReleaseStatus::Lost, Some(charge)) => charge,
        (ReleaseStatus::Sealed | ReleaseStatus::Lost, None) | (ReleaseStatus::Refused, _) => {
            let message = "charge: found nothing; give a cost: nothing is released for free";
            return Err(LedgerError::refused(message));
        }
    };
    let repaired = balances.last_repair(store)?;
    if repaired.is_some_and(|(_, floor)| release.window.start() < floor) {
        // The window may have been released before the repair.
        row.status = ReleaseStatus::Lost;
        row.line = release.lost_to_repair();
        return Ok(row);
    }
    if let Charge::Once { life, .. } = charge {
        if release.window.start() < life.start() || life.end() < release.window.end() {
            return Err(LedgerError::refused("charge: found a window outside of the life that was paid for"));
        }
        row.prepaid = payer(store, release, *life)?.map(|(_, id)| id);
        row.life = if row.prepaid.is_none() { Some(*life) } else { None };
    }
    if row.prepaid.is_none() && archive::bars_charge(store, promise, release, charge)? {
        // What was spent for that time may be in an archive.
        row.status = ReleaseStatus::Lost;
        row.life = None;
        row.line = release.lost_to_archive();
        return Ok(row);
    }
    if row.prepaid.is_none() {
        spend(store, balances, charge, &mut row)?;
    }
    if let (ReleaseStatus::Sealed, Some(state)) = (row.status, &sealing.state) {
        states::replace(store, release, state)?;
        failpoint::reached("after-mech-state", LedgerErrorKind::Unknown)?;
        row.state = Some(state.digest());
    }
    Ok(row)
}

/// Charges the account, or turns the row into a refusal.
fn spend(
    store: &mut dyn Store,
    balances: &mut Balances,
    charge: &Charge,
    row: &mut Row,
) -> Result<(), LedgerError> {
    let time = row.charged();
    let balance = balances.of(store, &row.release.account, time)?;
    match balance.charge(time, charge.cost()) {
        Ok(()) => {
            let prices = balance.asked(time, charge.cost())?;
            row.partial = (prices.partial != prices.whole).then_some(prices.partial);
            row.cost = Some(prices.whole);
            failpoint::reached("after-spent", LedgerErrorKind::Unknown)
        }
        Err(BudgetExceeded::Budget { spent, asked, limit }) => {
            row.status = ReleaseStatus::Refused;
            row.life = None;
            row.line = rows::refusal(&row.release, &spent, &asked, &limit);
            Ok(())
        }
        Err(BudgetExceeded::Uncountable(invalid)) => Err(invalid.into()),
    }
}

/// Writes the changed entries of an account.
pub(super) fn keep(
    store: &mut dyn Store,
    account: &Name,
    before: &BTreeMap<EntryKey, Prices>,
    after: &BTreeMap<EntryKey, Prices>,
) -> Result<(), LedgerError> {
    for (place, prices) in after.iter().filter(|(place, prices)| before.get(place) != Some(prices)) {
        let [whole, partial] =
            [&prices.whole, &prices.partial].map(|spent| encode(spent).unwrap_or_default());
        store.execute(
            "INSERT INTO balance VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT (account, reach, place, until) DO UPDATE SET spent = excluded.spent, partial = excluded.partial",
            &[
                SqlValue::Text(account.as_str()),
                SqlValue::Number(place.reach),
                SqlValue::Number(place.start),
                SqlValue::Number(place.end),
                SqlValue::Bytes(&whole),
                SqlValue::Bytes(&partial),
            ],
        )?;
    }
    Ok(())
}

/// The row and the id of the release that paid for this life of a statistic, if there is one. A reservation holds only
/// beside the state that it paid for: after a repair, which discards the state, and after another version has
/// replaced the state by its own, the life must be paid for again.
pub(super) fn payer(
    store: &mut dyn Store,
    release: &ReleaseId,
    life: Interval,
) -> Result<Option<(i64, Digest)>, LedgerError> {
    let since = last_repair(store)?.map_or(0, |(sequence, _)| sequence);
    let values = [
        SqlValue::Text(release.job.as_str()),
        SqlValue::Text(release.name.as_str()),
        SqlValue::Number(life.start()),
        SqlValue::Number(life.end()),
        SqlValue::Text(release.account.as_str()),
        SqlValue::Bytes(release.version.bytes()),
        SqlValue::Number(since),
    ];
    let keeper = keeper(store, &release.job, &release.name, since)?;
    if keeper.is_some_and(|keeper| keeper != release.version) {
        return Ok(None);
    }
    first(
        store,
        "SELECT sequence, id FROM release WHERE job = ?1 AND name = ?2 AND life_start = ?3 AND life_end = ?4
         AND account = ?5 AND version = ?6 AND sequence > ?7 AND life_start IS NOT NULL",
        &values,
        |row| Ok((number(row, 0)?, digest(row, 1)?)),
    )
}

/// The version whose release sealed the current state of a statistic, since the last repair.
pub(super) fn keeper(
    store: &mut dyn Store,
    job: &Name,
    name: &Name,
    since: i64,
) -> Result<Option<Digest>, LedgerError> {
    let values = [SqlValue::Text(job.as_str()), SqlValue::Text(name.as_str()), SqlValue::Number(since)];
    let newest =
        "SELECT version FROM release WHERE job = ?1 AND name = ?2 AND state IS NOT NULL AND sequence > ?3
                  ORDER BY sequence DESC LIMIT 1";
    first(store, newest, &values, |row| digest(row, 0))
}

/// The sequence number of the last repair, and its floor: windows that start before the floor are released no
/// more.
pub(super) fn last_repair(store: &mut dyn Store) -> Result<Option<(i64, i64)>, LedgerError> {
    let read = |row: &dyn SqlRow| Ok((number(row, 0)?, number(row, 1)?));
    first(store, "SELECT sequence, floor FROM repair ORDER BY sequence DESC LIMIT 1", &[], read)
}

/// The part of an account that a charge for the window can read or change.
pub(super) fn fetch(
    store: &mut dyn Store,
    account: &AccountSpec,
    window: Interval,
) -> Result<Account, LedgerError> {
    let empty = Account::new(account.promise, account.neighbours, account.cap.clone())?;
    let entries = match empty.fetched(window) {
        Fetched::Sums(floors, range) => fetch_sums(store, &account.name, floors, range)?,
        Fetched::Windows(time) => fetch_windows(store, &account.name, time)?,
    };
    Ok(empty.holding(entries))
}

fn fetch_sums(
    store: &mut dyn Store,
    account: &Name,
    floors: [i64; 2],
    range: RangeInclusive<i64>,
) -> Result<BTreeMap<EntryKey, Prices>, LedgerError> {
    let entries = all(
        store,
        "SELECT reach, place, until, spent, partial FROM
           (SELECT * FROM balance WHERE account = ?1 AND reach = 0 AND place <= ?2 ORDER BY place DESC LIMIT 1) AS a
         UNION SELECT reach, place, until, spent, partial FROM
           (SELECT * FROM balance WHERE account = ?1 AND reach = 0 AND place <= ?3 ORDER BY place DESC LIMIT 1) AS b
         UNION SELECT reach, place, until, spent, partial FROM balance
           WHERE account = ?1 AND reach = 0 AND place BETWEEN ?4 AND ?5",
        &[
            SqlValue::Text(account.as_str()),
            SqlValue::Number(floors[0]),
            SqlValue::Number(floors[1]),
            SqlValue::Number(*range.start()),
            SqlValue::Number(*range.end()),
        ],
        read_entry,
    )?;
    Ok(entries.into_iter().collect())
}

/// The entries of windows that overlap a time: for each reach in the account, by a range of starts.
fn fetch_windows(
    store: &mut dyn Store,
    account: &Name,
    time: Interval,
) -> Result<BTreeMap<EntryKey, Prices>, LedgerError> {
    let reaches = "WITH RECURSIVE known (reach) AS (
           SELECT min(reach) FROM balance WHERE account = ?1 AND reach > 0
           UNION ALL SELECT (SELECT min(reach) FROM balance WHERE account = ?1 AND reach > known.reach)
             FROM known WHERE known.reach IS NOT NULL)
         SELECT reach FROM known WHERE reach IS NOT NULL";
    let mut entries = BTreeMap::new();
    for reach in all(store, reaches, &[SqlValue::Text(account.as_str())], |row| number(row, 0))? {
        let (first, last) = EntryKey::starts(reach, time);
        let values = [
            SqlValue::Text(account.as_str()),
            SqlValue::Number(reach),
            SqlValue::Number(first),
            SqlValue::Number(last),
            SqlValue::Number(time.start()),
        ];
        let overlapping = "SELECT reach, place, until, spent, partial FROM balance
             WHERE account = ?1 AND reach = ?2 AND place BETWEEN ?3 AND ?4 AND until > ?5";
        entries.extend(all(store, overlapping, &values, read_entry)?);
    }
    Ok(entries)
}

pub(super) fn unknown_account(name: &Name) -> LedgerError {
    LedgerError::refused(format!(
        "account {name}: this ledger has none of that name; give one that it has, as `discreet ledger show` lists them. Another \
         one has a budget of its own, and is for another group of people"
    ))
}

// Shortfalls of a budget: the releases that it would refuse if they were sealed now.
//
// The charges are made to a copy of the account, by the code that makes them when sealing, in the order
// given; nothing is written, and no other process has to wait.

/// The windows of one statistic that the budget of an account does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortfall {
    /// The first release that would be refused.
    pub first: ReleaseId,
    /// The amount spent before it of the budget that this release needs.
    pub spent: PrivacyCost,
    /// The privacy cost of the release.
    pub asked: PrivacyCost,
    /// The cap.
    pub limit: PrivacyCost,
    /// The number of releases of the statistic that would be refused.
    pub refused: u64,
    /// The number of its releases that have no row yet.
    pub new: u64,
}

impl Ledger {
    /// Returns a shortfall for each statistic with releases that would be refused, if these releases of one
    /// account were sealed in this order. A release that has a row costs nothing more. Writes nothing.
    ///
    /// # Errors
    ///
    /// [`LedgerErrorKind::Refused`] for an unknown account or a cost that it
    /// cannot count, and an error if the ledger cannot be read.
    pub fn shortfalls(
        &mut self,
        account: &Name,
        asked: impl IntoIterator<Item = (ReleaseId, Charge)>,
    ) -> Result<Vec<Shortfall>, LedgerError> {
        let mut snapshot = Transaction::snapshot(self.store())?;
        let store = snapshot.store();
        let account = amended_account(store, account)?.ok_or_else(|| unknown_account(account))?;
        let asked: Vec<(ReleaseId, Charge)> = asked.into_iter().collect();
        let time = |(release, charge): &(ReleaseId, Charge)| match charge {
            Charge::Cost(_) => release.window.start(),
            Charge::Once { life, .. } => life.start(),
        };
        // The entries that these windows may read, and not those of a year before.
        let Some(first) = asked.iter().map(time).min() else { return Ok(Vec::new()) };
        let mut balance = fetch(store, &account, Interval::since(first)?)?;
        // The lives that earlier releases of the list have paid for.
        let mut paid = BTreeSet::new();
        let mut new: BTreeMap<Name, u64> = BTreeMap::new();
        let mut found: Vec<Shortfall> = Vec::new();
        let floor = archive::floor(store)?;
        for (release, charge) in asked {
            if find(store, &release)?.is_some() || archive::may_hold(floor, &release) {
                continue;
            }
            *new.entry(release.name.clone()).or_default() += 1;
            let mut time = release.window;
            if let Charge::Once { life, .. } = &charge {
                let key = (release.name.clone(), (life.start(), life.end()));
                if paid.contains(&key) || payer(store, &release, *life)?.is_some() {
                    continue;
                }
                time = *life;
                paid.insert(key);
            }
            if archive::bars(floor, account.promise, time) {
                continue;
            }
            match balance.charge(time, charge.cost()) {
                Ok(()) => {}
                Err(BudgetExceeded::Uncountable(invalid)) => return Err(invalid.into()),
                Err(BudgetExceeded::Budget { spent, asked, limit }) => {
                    if let Charge::Once { life, .. } = &charge {
                        paid.remove(&(release.name.clone(), (life.start(), life.end())));
                    }
                    match found.iter_mut().find(|known| known.first.name == release.name) {
                        Some(known) => known.refused += 1,
                        None => {
                            let (spent, asked, limit) = (*spent, *asked, *limit);
                            found.push(Shortfall { first: release, spent, asked, limit, refused: 1, new: 0 });
                        }
                    }
                }
            }
        }
        for shortfall in &mut found {
            shortfall.new = new.get(&shortfall.first.name).copied().unwrap_or(0);
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::super::scratch::{ScratchPlace, everywhere};
    use super::super::{AccountSpec, Digest, ReleaseStatus, Sealing};
    use super::*;
    use crate::accounting::{Adjacency, BudgetUnits, Interval, Omega, Promise, ReleaseCost};

    fn rho(units: u128) -> PrivacyCost {
        PrivacyCost::Zcdp {
            rho: BudgetUnits::from_bits(units),
            delta: BudgetUnits::ZERO,
            omega: Omega::EVERY,
        }
    }

    fn release(name: &str, start: i64) -> ReleaseId {
        ReleaseId {
            account: Name::new("account", "visits").unwrap(),
            job: Name::new("job", "web").unwrap(),
            version: Digest::of(b"version 1"),
            name: Name::new("name", name).unwrap(),
            window: Interval::new(start, start + 10).unwrap(),
            part: None,
        }
    }

    fn each(units: u128) -> Charge {
        Charge::Cost(ReleaseCost::new(Adjacency::PERSON, rho(units)))
    }

    fn once(units: u128) -> Charge {
        Charge::Once {
            cost: ReleaseCost::new(Adjacency::PERSON, rho(units)),
            life: Interval::new(0, 100).unwrap(),
        }
    }

    // Refutes a shortfall that differs from the result of sealing, in either direction, and one that writes.
    fn a_forecast_shortfall_is_the_one_that_sealing_finds(at: ScratchPlace) {
        for (promise, cap) in [(Promise::Lifetime, 100), (Promise::Any(30), 90), (Promise::Each(20), 70)] {
            let scratch = at.scratch();
            let mut ledger = Ledger::create(scratch.ledger()).unwrap();
            let account = Name::new("account", "visits").unwrap();
            let stated = AccountSpec::new(account.clone(), Adjacency::PERSON, promise, rho(cap)).unwrap();
            ledger.register(&stated).unwrap();
            let claim = ledger.claim(&Name::new("job", "web").unwrap()).unwrap();
            let sealing = |release: ReleaseId, charge: Charge| Sealing {
                release,
                charge: Some(charge),
                status: ReleaseStatus::Sealed,
                line: "{}".to_owned(),
                state: None,
            };
            let before = [sealing(release("hours", 0), each(10)), sealing(release("so_far", 0), once(5))];
            ledger.seal(&claim, &before).unwrap();
            let mut asked = Vec::new();
            for start in [0, 10, 20, 30, 40, 50] {
                asked.push((release("hours", start), each(10)));
                asked.push((release("so_far", start), once(5)));
                asked.push((release("later", start), once(11)));
                asked.push((release("quarters", start), each(9)));
            }
            let head = ledger.head().unwrap();
            let shortfalls = ledger.shortfalls(&account, asked.clone()).unwrap();
            assert_eq!(ledger.head().unwrap(), head, "it wrote something");
            let batch: Vec<Sealing> =
                asked.into_iter().map(|(release, charge)| sealing(release, charge)).collect();
            let rows = ledger.seal(&claim, &batch).unwrap();
            for name in ["hours", "so_far", "later", "quarters"] {
                let refused: Vec<i64> = (rows.iter())
                    .filter(|row| {
                        row.release().name.as_str() == name && row.status() == ReleaseStatus::Refused
                    })
                    .map(|row| row.release().window.start())
                    .collect();
                let known = shortfalls.iter().find(|known| known.first.name.as_str() == name);
                assert_eq!(
                    known.map_or(0, |known| known.refused),
                    refused.len() as u64,
                    "{promise:?} {name}"
                );
                assert_eq!(known.map(|known| known.first.window.start()), refused.first().copied());
                let had_a_row = u64::from(["hours", "so_far"].contains(&name));
                assert!(known.is_none_or(|known| known.new == 6 - had_a_row && known.limit == rho(cap)));
            }
            assert!(!shortfalls.is_empty(), "{promise:?}");
        }
    }

    everywhere! { a_forecast_shortfall_is_the_one_that_sealing_finds }
}
