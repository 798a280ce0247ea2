//! Repair of a ledger in doubt, the only way to go on with one. A repair loses releases, never budget.
//!
//! Rows that the chain proves stay as they are. All further spending that any witness records (rows that can
//! still be read, accounts, an anchor, a file of releases) is charged, past the cap if need be. No noise is
//! ever drawn for a window that starts before the repair and has no row: it may have been released. The state
//! of mechanisms is lost, so a life that was paid for once is paid for again.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::anchor::{AnchorEntry, Published};
use super::book::Ledger;
use super::charge::{fetch, keep, last_repair, unknown_account};
use super::error::{LedgerError, LedgerErrorKind};
use super::name::Name;
use super::place::{beside, sync_name};
use super::published::published_debts;
use super::records::{
    advance, amended_account, digest, head, name, number, read_amendment, read_entry, read_repair, read_row,
    read_stated, rows, write, write_account, write_amendment, write_repair,
};
use super::rows::{ReleaseId, ReleaseStatus, Repair, Row};
use super::sqlite::Sqlite;
use super::store::{SqlRow, SqlValue, Store, Transaction, all, first};
use super::verify::Chain;
use super::{agreement, anchor, archive, key_change, place};
use crate::accounting::{EntryKey, Interval, Prices, PrivacyCost};
use crate::canonical::Digest;

/// The loss that the operator accepts, and the witnesses of spending.
#[derive(Clone, Debug)]
pub struct AcceptedLoss<'a> {
    /// The reason, which the ledger records.
    pub reason: &'a str,
    /// The present, in microseconds since 1970: no noise is drawn any more for a window that starts before it
    /// and has no row.
    pub now: i64,
    /// The rows that anchors record as released.
    pub anchors: &'a [AnchorEntry],
    /// The rows that files of releases record. Such files contain no privacy cost. A window inside a life
    /// that its version paid for is charged nothing; a window of a version that the ledger charged one by one
    /// takes the highest of those costs; any other takes all that is left of its budget.
    pub published: &'a [Published],
}

/// The outcome of a repair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repaired {
    /// The sequence number of the last row that the chain proves.
    pub sound: i64,
    /// The number of charges for lost rows.
    pub charges: usize,
    /// The floor: no noise is drawn any more for a window that starts before it and has no row.
    pub floor: i64,
    /// The path of the torn ledger, if a new file took its place.
    pub torn: Option<PathBuf>,
}

/// The job name of charges for lost rows. No process can claim it.
pub(super) const JOB: &str = "repair";

/// A charge for a lost row: its account, its time and its privacy costs.
pub(super) type Debt = (Name, Interval, Prices);

impl Ledger {
    /// Repairs a ledger in doubt, so that it opens again.
    ///
    /// # Errors
    ///
    /// If nothing is in doubt, no reason is given, a job is running, or not even the stated accounts can be
    /// proven: then only a copy of the ledger can help.
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
            // The tables of a server are not replaced without its administrator.
            Err(trouble) if place::is_address(place) => Err(unreadable(trouble)),
            Err(trouble) if trouble.kind() == LedgerErrorKind::Doubt => replace(place, loss),
            Err(trouble) => Err(trouble),
        }
    }
}

/// Continues the chain of a ledger that adds up: records the repair, charges the lost rows, discards the
/// state of mechanisms, and raises every fence.
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
    let known = missing.iter().filter_map(|entry| Some((entry.account.clone(), entry.time, entry.prices()?)));
    let mut debts: Vec<Debt> = debts.into_iter().chain(known).collect();
    let is_in_file = |entry: &AnchorEntry| {
        loss.published
            .iter()
            .any(|row| row.row.is_some_and(|(sequence, _)| entry.anchor.sequence == sequence))
    };
    // An anchor contains the row of a torn window too, for every row is written to it before a line of the
    // row leaves.
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
    for (account, time, prices) in &debts {
        sequence += 1;
        chain = owe(tables, sequence, &chain, account, *time, prices)?;
    }
    tables.execute("DELETE FROM state", &[])?;
    tables.execute("DELETE FROM noted", &[])?;
    tables.execute("DELETE FROM position", &[])?;
    tables.execute("UPDATE fence SET generation = generation + 1", &[])?;
    advance(tables, sequence, &chain)?;
    transaction.commit()?;
    Ok(Repaired { sound, charges: debts.len(), floor, torn: None })
}

/// Writes a row without a result that charges the cost of a lost one, even past the cap.
fn owe(
    store: &mut dyn Store,
    sequence: i64,
    previous: &Digest,
    account: &Name,
    time: Interval,
    prices: &Prices,
) -> Result<Digest, LedgerError> {
    let known = amended_account(store, account)?.ok_or_else(|| unknown_account(account))?;
    let prices = Prices {
        whole: of_all_orders(&prices.whole, &known.cap),
        partial: of_all_orders(&prices.partial, &known.cap),
    };
    let mut balance = fetch(store, &known, time)?;
    let before = balance.entries();
    balance.add(time, &prices)?;
    keep(store, account, &before, &balance.entries())?;
    let release = ReleaseId {
        account: account.clone(),
        job: Name::new("job", JOB)?,
        version: *previous,
        name: Name::new("release", "lost")?,
        window: time,
        part: None,
    };
    let mut row = Row {
        sequence,
        generation: 0,
        status: ReleaseStatus::Lost,
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

/// The cost with the cap's range of Rényi orders: a torn amount may claim to hold for fewer orders than the
/// budget needs, and is charged for all of them.
fn of_all_orders(amount: &PrivacyCost, cap: &PrivacyCost) -> PrivacyCost {
    match (amount, cap) {
        (PrivacyCost::Zcdp { rho, delta, .. }, PrivacyCost::Zcdp { omega, .. }) => {
            PrivacyCost::Zcdp { rho: *rho, delta: *delta, omega: *omega }
        }
        (amount, _) => amount.clone(),
    }
}

/// Replaces a torn file by a new one that contains everything that the chain proves.
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
    // A replacement that does not add up either would be worse than the torn file.
    let sound = |repaired| Ledger::open(&fresh).map(|_| repaired).map_err(unreadable);
    let repaired = repaired.and_then(sound).inspect_err(|_| {
        let _ = fs::remove_file(&fresh);
    })?;
    let refuse = |error: std::io::Error| {
        LedgerError::doubt(format!("ledger {}: {error}", place.display())).caused_by(error)
    };
    let kept = (1..).map(|n| beside(place, &format!(".torn-{n}"))).find(|path| !path.exists());
    let kept = kept.unwrap_or_else(|| beside(place, ".torn"));
    // The old file goes first: a crash in between leaves no ledger, never a torn one without its newest
    // commits.
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
    let mut chain = Chain::begin(torn).map_err(unreadable)?;
    let (from, former) = (chain.sequence, chain.releases);
    // An error ends the proven part of the chain, and is no failure of the repair.
    let _ = chain.follow(torn, i64::MAX, i64::MAX);
    let sound = chain.sequence;
    // Rows that an archive has carried come first, and were compared with its hash of them.
    let carried = [SqlValue::Number(from)];
    let carried =
        first(torn, "SELECT count(*) FROM release WHERE sequence <= ?1", &carried, |row| number(row, 0));
    let proven = carried.map_err(unreadable)?.unwrap_or(0) + chain.releases - former;
    let debts = debts(torn, &chain, proven).map_err(unreadable)?;

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
    // By count and not up to a sequence number: where a number is torn, a row may stand among others that it
    // does not follow.
    let proven = [SqlValue::Number(proven)];
    let read = torn.read(rows!("ORDER BY sequence LIMIT ?1"), &proven, &mut |columns| {
        let row = read_row(columns)?;
        write(tables, &row)?;
        let mark = "UPDATE release SET delivered = ?2 WHERE sequence = ?1";
        tables.execute(mark, &[SqlValue::Number(row.sequence), SqlValue::Number(row.delivered.into())])?;
        Ok(())
    });
    read.map_err(unreadable)?;
    for (account, balance) in &chain.due.accounts {
        keep(tables, account, &BTreeMap::new(), &balance.entries())?;
    }
    for ((job, name, version), until) in &chain.due.settled {
        let values = [
            SqlValue::Text(job.as_str()),
            SqlValue::Text(name.as_str()),
            SqlValue::Bytes(version.bytes()),
            SqlValue::Number(*until),
        ];
        tables.execute("INSERT INTO settled VALUES (?1, ?2, ?3, ?4)", &values)?;
    }
    let fence = |row: &dyn SqlRow| Ok((row.text(0)?, number(row, 1)?));
    for (job, generation) in all(torn, "SELECT job, generation FROM fence", &[], fence).unwrap_or_default() {
        let values = [SqlValue::Text(&job), SqlValue::Number(generation)];
        tables.execute("INSERT INTO fence VALUES (?1, ?2)", &values)?;
    }
    // If it cannot be read, the next gate binds its key.
    let check = first(torn, "SELECT mac, generation FROM key_check", &[], |row| {
        Ok((digest(row, 0)?, number(row, 1)?))
    });
    if let Some((check, generation)) = check.unwrap_or_default() {
        let values = [SqlValue::Bytes(check.bytes()), SqlValue::Number(generation)];
        tables.execute("INSERT INTO key_check VALUES (1, ?1, ?2)", &values)?;
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

/// Copies statements unchanged: their hashes prove them.
fn copy_statements(torn: &mut Sqlite, tables: &mut dyn Store, sound: i64) -> Result<(), LedgerError> {
    let until = [SqlValue::Number(sound)];
    for (sequence, account, chain) in
        all(torn, "SELECT * FROM account WHERE sequence <= ?1", &until, read_stated).map_err(unreadable)?
    {
        write_account(tables, &account, sequence, &chain)?;
    }
    for (amendment, chain) in
        all(torn, "SELECT * FROM amendment WHERE sequence <= ?1", &until, read_amendment)
            .map_err(unreadable)?
    {
        write_amendment(tables, &amendment, &chain)?;
    }
    archive::copy(torn, tables, sound).map_err(unreadable)?;
    for (change, chain) in key_change::all_changes(torn).map_err(unreadable)? {
        if change.sequence <= sound {
            change.write(tables, &chain)?;
        }
    }
    for (repair, chain) in
        all(torn, "SELECT * FROM repair WHERE sequence <= ?1", &until, read_repair).map_err(unreadable)?
    {
        write_repair(tables, &repair, &chain)?;
    }
    Ok(())
}

/// The spending that the torn ledger records beyond the part that its chain proves.
fn debts(torn: &mut Sqlite, chain: &Chain, proven: i64) -> Result<Vec<Debt>, LedgerError> {
    let mut accounts = chain.due.accounts.clone();
    let mut debts = Vec::new();
    let unproven = |name: &Name| {
        let message =
            format!("ledger: account {name} was spent from, and its own statement is torn or edited");
        LedgerError::doubt(message)
    };
    let mut rest: Vec<Row> = Vec::new();
    let proven = [SqlValue::Number(proven)];
    // An error ends the rows that can be read.
    let _ = torn.read(rows!("ORDER BY sequence LIMIT -1 OFFSET ?1"), &proven, &mut |columns| {
        rest.push(read_row(columns)?);
        Ok(())
    });
    for row in rest {
        let (account, time) = (row.release.account.clone(), row.charged());
        if let Some(prices) = row.prices() {
            accounts.get_mut(&account).ok_or_else(|| unproven(&account))?.add(time, &prices)?;
            debts.push((account, time, prices));
        }
    }
    let entry = |row: &dyn SqlRow| Ok((name(row, 5)?, read_entry(row)?));
    let entries = all(torn, "SELECT reach, place, until, spent, partial, account FROM balance", &[], entry)
        .unwrap_or_default();
    let mut held: BTreeMap<Name, BTreeMap<EntryKey, Prices>> = BTreeMap::new();
    for (account, (place, prices)) in entries {
        held.entry(account).or_default().insert(place, prices);
    }
    for (account, entries) in held {
        let own = accounts.get(&account).ok_or_else(|| unproven(&account))?;
        for (time, prices) in own.shortfall(&own.holding(entries))? {
            debts.push((account.clone(), time, prices));
        }
    }
    Ok(debts)
}
