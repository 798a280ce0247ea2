//! The only way on for a ledger in doubt. It loses releases, never budget.
//!
//! What the chain proves stays as it is. Everything that anyone knows to have been spent beyond it (rows that can still
//! be read, accounts, an anchor, a file of releases) is charged, past the cap if need be. No window that starts before the repair and has no
//! row is ever drawn: it may have been told. What mechanisms kept is gone, so what was paid once is paid again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::anchor::{Anchor, AnchorEntry, Published};
use super::book::Ledger;
use super::charge::{fetch, keep, last_repair, unknown_domain};
use super::error::{LedgerError, LedgerErrorKind};
use super::name::Name;
use super::place::{beside, sync_name};
use super::records::{
    advance, amended_domain, digest, head, name, number, read_amendment, read_entry, read_repair, read_row,
    read_stated, rows, write, write_amendment, write_domain, write_repair,
};
use super::rows::{ReleaseId, ReleaseStatus, Repair, Row};
use super::sqlite::Sqlite;
use super::store::{SqlRow, SqlValue, Store, Transaction, all, first};
use super::verify::Chain;
use super::{agreement, anchor, place};
use crate::accounting::{EntryKey, Interval, Prices, PrivacyCost, Promise};
use crate::canonical::Digest;
use crate::invalid::Invalid;

/// What the operator accepts.
#[derive(Clone, Debug)]
pub struct AcceptedLoss<'a> {
    /// Why, for whoever reads the ledger later.
    pub reason: &'a str,
    /// The present: no window that starts before it is drawn any more, unless it has a row.
    pub now: i64,
    /// What anchors know to have been told.
    pub anchors: &'a [AnchorEntry],
    /// What files of releases tell of. They do not say what it cost. A window of which the ledger holds others of the
    /// same version is charged as the dearest of them; any other takes all that is left of its budget.
    pub published: &'a [Published],
}

/// What was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repaired {
    /// The last row that is proven.
    pub sound: i64,
    /// How many charges were made for what is lost.
    pub charges: usize,
    /// No window that starts before this is drawn any more.
    pub floor: i64,
    /// Where the torn ledger is kept, if this is a new file.
    pub torn: Option<PathBuf>,
}

/// The job under whose name charges for what is lost are written. No process runs it.
pub(super) const JOB: &str = "repair";

/// A charge for what is lost.
type Debt = (Name, Interval, Prices);

impl Ledger {
    /// Makes a ledger in doubt usable again.
    ///
    /// # Errors
    ///
    /// If nothing is in doubt, no reason is given, a job is running, or so much is unreadable that not even the domains
    /// can be proven: then only a copy can help.
    pub fn repair(place: impl AsRef<Path>, loss: &AcceptedLoss<'_>) -> Result<Repaired, LedgerError> {
        let place = place.as_ref();
        if loss.reason.trim().is_empty() {
            return Err(LedgerError::refused("reason: found nothing; say why the loss is accepted"));
        }
        match Ledger::open(place) {
            Ok(mut ledger) => {
                let own = *ledger.name();
                let of_anchors = loss.anchors.iter().all(|entry| ledger.holds(&entry.anchor).is_ok());
                if of_anchors && loss.published.iter().all(|row| ledger.holds_published(row).is_ok()) {
                    return Err(LedgerError::refused(
                        "ledger: it adds up, and holds all that the anchors know; nothing is in doubt. Where a job says \
                         that it is behind a file, give that file with --anchor",
                    ));
                }
                give_up(ledger.store(), &own, loss, Vec::new())
            }
            // A server's tables are not put in another's place behind its back.
            Err(trouble) if place::is_address(place) => Err(unreadable(trouble)),
            Err(trouble) if trouble.kind() == LedgerErrorKind::Doubt => replace(place, loss),
            Err(trouble) => Err(trouble),
        }
    }
}

/// Goes on from the last row of a ledger that adds up.
fn give_up(
    store: &mut dyn Store,
    ledger: &Digest,
    loss: &AcceptedLoss<'_>,
    debts: Vec<Debt>,
) -> Result<Repaired, LedgerError> {
    let missing: Vec<&AnchorEntry> =
        loss.anchors.iter().filter(|entry| anchor::held(store, ledger, &entry.anchor).is_err()).collect();
    if missing.iter().any(|entry| entry.anchor.ledger != *ledger) {
        return Err(LedgerError::refused("anchor: it is of another ledger; give the one of this"));
    }
    if loss.published.iter().any(|row| row.ledger.is_some_and(|of| of != *ledger)) {
        return Err(LedgerError::refused(
            "anchor: a file holds releases of another ledger, which say nothing of what this one has spent; give the files \
             that were written from this one",
        ));
    }
    let known = missing.iter().filter_map(|entry| Some((entry.domain.clone(), entry.time, entry.prices()?)));
    let mut debts: Vec<Debt> = debts.into_iter().chain(known).collect();
    let is_in_file = |entry: &AnchorEntry| {
        loss.published
            .iter()
            .any(|row| row.row.is_some_and(|(sequence, _)| entry.anchor.sequence == sequence))
    };
    // An anchor has the row of a torn window too, for it knows each row before a line of it leaves.
    let noted_torn = |row: &Published| {
        row.row.is_none() && missing.iter().any(|entry| entry.window == row.window && !is_in_file(entry))
    };
    let noted = |row: &&Published| {
        noted_torn(row)
            || missing
                .iter()
                .any(|entry| row.row.is_some_and(|(sequence, _)| entry.anchor.sequence == sequence))
    };
    let unseen = |row: &&Published| !noted(row);
    let published: Vec<&Published> = loss.published.iter().filter(unseen).collect();
    let mut lost = Vec::new();
    for row in published {
        if anchor::published(store, ledger, row).is_err() {
            lost.push(row);
        }
    }

    let mut transaction = Transaction::begin(store)?;
    let tables = transaction.store();
    debts.extend(published_debts(tables, &lost)?);
    let (sound, mut chain) = head(tables)?;
    let newest = "SELECT COALESCE(max(window_end), ?1) FROM release WHERE job <> 'repair'";
    let newest = first(tables, newest, &[SqlValue::Number(loss.now)], |row| number(row, 0))?;
    let earlier = last_repair(tables)?.map(|(_, floor)| floor);
    let ends = missing.iter().map(|entry| entry.window.end());
    let ends = ends.chain(lost.iter().map(|row| row.window.end()));
    let floor = ends.chain(newest).chain(earlier).fold(loss.now, i64::max);
    let places = missing.iter().map(|entry| entry.anchor.sequence);
    let mut sequence = places
        .chain(lost.iter().filter_map(|row| row.row).map(|(sequence, _)| sequence))
        .fold(sound, i64::max)
        + 1;
    let repair = Repair {
        sequence,
        sound,
        floor,
        reason: loss.reason.to_owned(),
        given_up: missing
            .iter()
            .map(|entry| entry.anchor.chain)
            .chain(lost.iter().filter_map(|row| row.row).map(|(_, chain)| chain))
            .collect(),
    };
    chain = repair.chained(&chain);
    write_repair(tables, &repair, &chain)?;
    for (domain, time, prices) in &debts {
        sequence += 1;
        chain = owe(tables, sequence, &chain, domain, *time, prices)?;
    }
    tables.execute("DELETE FROM state", &[])?;
    tables.execute("DELETE FROM noted", &[])?;
    tables.execute("UPDATE fence SET generation = generation + 1", &[])?;
    advance(tables, sequence, &chain)?;
    transaction.commit()?;
    Ok(Repaired { sound, charges: debts.len(), floor, torn: None })
}

/// A row that says nothing and costs what was lost, whether or not it fits.
fn owe(
    store: &mut dyn Store,
    sequence: i64,
    previous: &Digest,
    domain: &Name,
    time: Interval,
    prices: &Prices,
) -> Result<Digest, LedgerError> {
    let known = amended_domain(store, domain)?.ok_or_else(|| unknown_domain(domain))?;
    let prices = Prices {
        whole: of_all_orders(&prices.whole, &known.cap),
        partial: of_all_orders(&prices.partial, &known.cap),
    };
    let mut account = fetch(store, &known, time)?;
    let before = account.entries();
    account.add(time, &prices)?;
    keep(store, domain, &before, &account.entries())?;
    let release = ReleaseId {
        domain: domain.clone(),
        job: Name::new("job", JOB)?,
        version: *previous,
        name: Name::new("release", "lost")?,
        window: time,
        part: None,
    };
    let mut row = Row {
        sequence,
        generation: 0,
        fate: ReleaseStatus::Lost,
        partial: (prices.partial != prices.whole).then_some(prices.partial),
        cost: Some(prices.whole),
        life: None,
        prepaid: None,
        state: None,
        line: release.tombstone(ReleaseStatus::Lost),
        delivered: false,
        chain: Digest::NONE,
        release,
    };
    row.chain = row.chained(previous);
    write(store, &row)?;
    Ok(row.chain)
}

/// A torn amount may claim to hold for fewer orders than the budget asks about; what it costs is charged for all.
fn of_all_orders(amount: &PrivacyCost, cap: &PrivacyCost) -> PrivacyCost {
    match (amount, cap) {
        (PrivacyCost::Zcdp { rho, delta, .. }, PrivacyCost::Zcdp { omega, .. }) => {
            PrivacyCost::Zcdp { rho: *rho, delta: *delta, omega: *omega }
        }
        (amount, _) => amount.clone(),
    }
}

/// Puts a new file with all that is proven in the place of a torn one.
fn replace(place: &Path, loss: &AcceptedLoss<'_>) -> Result<Repaired, LedgerError> {
    let mut torn = Sqlite::open(place).map_err(unreadable)?;
    torn.nobody_runs()?;
    // The file itself is replaced, and not a symbolic link to it.
    let place = &fs::canonicalize(place)
        .map_err(|error| LedgerError::refused(format!("ledger {}: {error}", place.display())))?;
    let fresh = beside(place, ".repaired");
    let _ = fs::remove_file(&fresh);
    let repaired = copy(&mut torn, &fresh, loss);
    drop(torn);
    // What took its place and does not add up either would be worse than what is there.
    let sound = |repaired| Ledger::open(&fresh).map(|_| repaired).map_err(unreadable);
    let repaired = repaired.and_then(sound).inspect_err(|_| {
        let _ = fs::remove_file(&fresh);
    })?;
    let refuse = |error: std::io::Error| LedgerError::doubt(format!("ledger {}: {error}", place.display()));
    let kept = (1..).map(|n| beside(place, &format!(".torn-{n}"))).find(|path| !path.exists());
    let kept = kept.unwrap_or_else(|| beside(place, ".torn"));
    // The old file goes first: a crash in between leaves no ledger, never a torn one without its newest commits.
    fs::rename(place, &kept).map_err(refuse)?;
    for suffix in ["-wal", "-shm"] {
        let (from, to) = (beside(place, suffix), beside(&kept, suffix));
        if from.exists() {
            fs::rename(from, to).map_err(refuse)?;
        }
    }
    fs::rename(&fresh, place).map_err(refuse)?;
    sync_name(place).map_err(refuse)?;
    Ok(Repaired { torn: Some(kept), ..repaired })
}

fn copy(torn: &mut Sqlite, fresh: &Path, loss: &AcceptedLoss<'_>) -> Result<Repaired, LedgerError> {
    let meta = |row: &dyn SqlRow| Ok((number(row, 0)?, digest(row, 1)?));
    let meta = first(torn, "SELECT format, ledger FROM meta", &[], meta).map_err(unreadable)?;
    let (format, ledger) = meta.ok_or_else(|| unreadable(LedgerError::doubt("ledger: it has no name")))?;
    let mut chain = Chain::of(ledger);
    // How far it gets is the question.
    let _ = chain.follow(torn);
    let sound = chain.sequence;
    let debts = debts(torn, &chain).map_err(unreadable)?;

    let mut store = Sqlite::create(fresh)?;
    let mut transaction = Transaction::begin(&mut store)?;
    let tables = transaction.store();
    tables.execute(
        "INSERT INTO meta VALUES (1, ?1, ?2)",
        &[SqlValue::Number(format), SqlValue::Bytes(ledger.bytes())],
    )?;
    let end = [SqlValue::Number(sound), SqlValue::Bytes(chain.last.bytes())];
    tables.execute("INSERT INTO head VALUES (1, ?1, ?2)", &end)?;
    copy_statements(torn, tables, sound)?;
    // Not those up to a number: where a number is torn, a row may stand among others that it is not one of.
    let proven = [SqlValue::Number(chain.releases)];
    let read = torn.read(rows!("ORDER BY sequence LIMIT ?1"), &proven, &mut |columns| {
        let row = read_row(columns)?;
        write(tables, &row)?;
        let mark = "UPDATE release SET delivered = ?2 WHERE sequence = ?1";
        tables.execute(mark, &[SqlValue::Number(row.sequence), SqlValue::Number(row.delivered.into())])?;
        Ok(())
    });
    read.map_err(unreadable)?;
    for (domain, account) in &chain.due.accounts {
        keep(tables, domain, &BTreeMap::new(), &account.entries())?;
    }
    let fence = |row: &dyn SqlRow| Ok((row.text(0)?, number(row, 1)?));
    for (job, generation) in all(torn, "SELECT job, generation FROM fence", &[], fence).unwrap_or_default() {
        let values = [SqlValue::Text(&job), SqlValue::Number(generation)];
        tables.execute("INSERT INTO fence VALUES (?1, ?2)", &values)?;
    }
    // Where it cannot be read, the next gate binds its key.
    let check = first(torn, "SELECT mac FROM key_check", &[], |row| digest(row, 0)).unwrap_or_default();
    if let Some(check) = check {
        tables.execute("INSERT INTO key_check VALUES (1, ?1)", &[SqlValue::Bytes(check.bytes())])?;
    }
    agreement::rescue(torn, tables)?;
    transaction.commit()?;
    give_up(&mut store, &ledger, loss, debts)
}

fn unreadable(trouble: LedgerError) -> LedgerError {
    LedgerError::doubt(format!(
        "{trouble}; too little can be read to repair it: bring back a copy, and repair that"
    ))
}

/// Statements are copied as they are: their hashes prove them.
fn copy_statements(torn: &mut Sqlite, tables: &mut dyn Store, sound: i64) -> Result<(), LedgerError> {
    let until = [SqlValue::Number(sound)];
    for (sequence, domain, chain) in
        all(torn, "SELECT * FROM domain WHERE sequence <= ?1", &until, read_stated).map_err(unreadable)?
    {
        write_domain(tables, &domain, sequence, &chain)?;
    }
    for (amendment, chain) in
        all(torn, "SELECT * FROM amendment WHERE sequence <= ?1", &until, read_amendment)
            .map_err(unreadable)?
    {
        write_amendment(tables, &amendment, &chain)?;
    }
    for (repair, chain) in
        all(torn, "SELECT * FROM repair WHERE sequence <= ?1", &until, read_repair).map_err(unreadable)?
    {
        write_repair(tables, &repair, &chain)?;
    }
    Ok(())
}

/// What the torn ledger says was spent, beyond what its chain proves.
fn debts(torn: &mut Sqlite, chain: &Chain) -> Result<Vec<Debt>, LedgerError> {
    let mut accounts = chain.due.accounts.clone();
    let mut debts = Vec::new();
    let unproven = |name: &Name| {
        let message =
            format!("ledger: domain {name} was spent from, and its own statement is torn or edited");
        LedgerError::doubt(message)
    };
    let mut rest: Vec<Row> = Vec::new();
    let proven = [SqlValue::Number(chain.releases)];
    // As far as it can be read at all.
    let _ = torn.read(rows!("ORDER BY sequence LIMIT -1 OFFSET ?1"), &proven, &mut |columns| {
        rest.push(read_row(columns)?);
        Ok(())
    });
    for row in rest {
        let (domain, time) = (row.release.domain.clone(), row.charged());
        if let Some(prices) = row.prices() {
            accounts.get_mut(&domain).ok_or_else(|| unproven(&domain))?.add(time, &prices)?;
            debts.push((domain, time, prices));
        }
    }
    let entry = |row: &dyn SqlRow| Ok((name(row, 5)?, read_entry(row)?));
    let entries = all(torn, "SELECT reach, place, until, spent, partial, domain FROM account", &[], entry)
        .unwrap_or_default();
    let mut held: BTreeMap<Name, BTreeMap<EntryKey, Prices>> = BTreeMap::new();
    for (domain, (place, prices)) in entries {
        held.entry(domain).or_default().insert(place, prices);
    }
    for (domain, entries) in held {
        let own = accounts.get(&domain).ok_or_else(|| unproven(&domain))?;
        for (time, prices) in own.shortfall(&own.holding(entries))? {
            debts.push((domain.clone(), time, prices));
        }
    }
    Ok(debts)
}

// What windows cost of which only a file of releases knows.
//
// A line names its window and the id of its release, and no price. The id is a hash of the job, the version and the
// window, and a version binds every parameter of the price; so where the ledger still holds a window of the same version,
// its dearest one says what a lost one cost at most. Where no version fits, where it has not been charged yet, or where
// it pays for many windows at once and this one is not among them, the price is unknown: then the window takes what is
// left of the budget, for it cannot have cost more.

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
