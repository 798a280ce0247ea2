//! Checkpoints: what a verification proved, authenticated with the ledger's key, so that the next process
//! verifies the rows after it and not those of a year.
//!
//! # What a checkpoint says
//!
//! *This ledger, up to row n, with chain hash h, was verified by a process that has its key*: and what follows
//! from those rows for the releases to come. That is the hash of all stated accounts, amendments and repairs;
//! the entries of accounts that the next charges read; the reservations that may pay for them; the hash of
//! each mechanism's newest state; the settled frontier of each version of a release. All of it is few, however
//! many rows there are. It is authenticated by a keyed hash under a key derived from the ledger's for this use
//! alone ([`LedgerKey::derive`]).
//!
//! # What opening from it proves
//!
//! Opening checks the keyed hash, that row n has hash h, and every later row as if the ledger began there. It
//! recomputes accounts, frontiers and states from the checkpoint on by the later rows, and compares all of
//! them with the stored ones. Rows up to n are compared with h in the background of a run, or by
//! `discreet ledger verify`; a checkpoint is never taken from one that was not opened in this way, so each
//! stands on a chain of them that begins with a verification from the first row. A checkpoint that is missing,
//! edited, of another ledger or key, or that the ledger does not bear out, is not used: then everything is
//! verified before the ledger opens. So is a ledger of at most [`SMALL`] rows, always.
//!
//! # What somebody without the key can do to the file, and when it is noticed
//!
//! * *Edit, remove, add or move a row after the checkpoint*: at open. Without the checkpoint's key the rows up
//!   to n cannot be replaced by others either, for h would differ, and a new checkpoint cannot be made.
//! * *Edit, remove or add a row up to n, or damage its page or index entry*: in the background of the next
//!   run, which then halts, or by `discreet ledger verify`. What happens until then is sound:
//!   - no charge is decided by it: entries of accounts, reservations and stated caps that a charge reads are
//!     in the checkpoint, and a charge that would read others waits for a verification of the whole;
//!   - no window is drawn again: a window at or before the settled frontier is never drawn, and frontiers are
//!     in the checkpoint. One of several answers over a window has no frontier. If its row is hidden it may be
//!     drawn again, and then it is charged again, or counts against the bundle that its mechanism's state
//!     limits: the budget holds, and the two answers are noticed by the verification that halts the gate;
//!   - no state of a mechanism is put back: its hash is in the checkpoint.
//! * *Lower a balance, a frontier, or put an older state back*: at open, or at the next checkpoint of the
//!   process that runs, for what the next charges read; in the background for older entries, which no charge
//!   reads before.
//! * *Put an older checkpoint in its place*: nothing is gained; more rows are verified at open.
//! * *Put an older copy of the whole file in its place*: not noticed, as ever, but by an
//!   [anchor](super::Anchor) or a file of releases.
//! * *Rewrite all of the ledger* with another history and no checkpoint: the chain has no key, so a forger who
//!   recomputes every hash is not noticed but by an anchor or a file of releases, as ever.

use std::collections::BTreeMap;

use zeroize::Zeroizing;

use super::account::AccountSpec;
use super::due::{Reservation, Sealed};
use super::error::LedgerError;
use super::key::LedgerKey;
use super::name::Name;
use super::records::{decode, digest, encode, number, read_stated};
use super::store::{SqlRow, SqlValue, Store, Transaction, all, first, odd};
use super::verify::Chain;
use crate::accounting::{Account, EntryKey, Interval, Prices, PrivacyCost};
use crate::canonical::Digest;

/// The number of rows up to which a ledger is verified whole whenever it is opened.
pub(super) const SMALL: i64 = 10_000;

/// The number of rows after which a process that seals them takes the next checkpoint.
pub(super) const INTERVAL: i64 = 4_096;

/// The key of checkpoints, derived from a ledger's.
pub(super) struct CheckpointKey(Zeroizing<[u8; 32]>);

impl CheckpointKey {
    pub(super) fn of(key: &LedgerKey) -> CheckpointKey {
        CheckpointKey(key.derive("discreet-dataflow 2026-11 checkpoint of a ledger"))
    }

    fn authenticate(&self, content: &[u8]) -> Digest {
        Digest(*blake3::keyed_hash(&self.0, content).as_bytes())
    }
}

impl std::fmt::Debug for CheckpointKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("<secret>")
    }
}

/// Stores a checkpoint, unless the ledger holds a later one.
pub(super) fn store(store: &mut dyn Store, key: &CheckpointKey, chain: &Chain) -> Result<(), LedgerError> {
    let content = written(chain);
    let mac = key.authenticate(&content);
    let mut transaction = Transaction::begin(store)?;
    let values = [SqlValue::Number(chain.sequence), SqlValue::Bytes(&content), SqlValue::Bytes(mac.bytes())];
    transaction.store().execute(
        "INSERT INTO checkpoint VALUES (1, ?1, ?2, ?3) ON CONFLICT (\"only\") DO UPDATE
         SET sequence = excluded.sequence, content = excluded.content, mac = excluded.mac",
        &values,
    )?;
    transaction.commit()
}

/// The checkpoint of this ledger, if it holds one that was made with this key.
pub(super) fn find(
    store: &mut dyn Store,
    key: &CheckpointKey,
    ledger: &Digest,
) -> Result<Option<Chain>, LedgerError> {
    let read =
        |row: &dyn SqlRow| Ok((number(row, 0)?, row.bytes(1)?.ok_or_else(|| odd(1))?, digest(row, 2)?));
    let held = first(store, "SELECT sequence, content, mac FROM checkpoint", &[], read)?;
    let Some((sequence, content, mac)) = held else { return Ok(None) };
    // Compared as a hash is, in constant time.
    if blake3::Hash::from_bytes(*key.authenticate(&content).bytes()) != *mac.bytes() {
        return Ok(None);
    }
    let stated = all(store, "SELECT * FROM account", &[], read_stated)?;
    let stated: Vec<AccountSpec> = stated.into_iter().map(|(_, account, _)| account).collect();
    let chain = read_back(&content, &stated);
    Ok(chain.filter(|chain| chain.ledger == *ledger && chain.sequence == sequence))
}

// The content of a checkpoint: every field has a fixed width or its length in front.

const TITLE: &[u8] = b"discreet checkpoint 1";

pub(super) struct Writer(pub(super) Vec<u8>);

impl Writer {
    pub(super) fn number(&mut self, number: i64) {
        self.0.extend(number.to_be_bytes());
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as i64);
        self.0.extend(bytes);
    }

    pub(super) fn name(&mut self, name: &Name) {
        self.bytes(name.as_str().as_bytes());
    }

    pub(super) fn interval(&mut self, interval: Interval) {
        self.number(interval.start());
        self.number(interval.end());
    }

    fn amount(&mut self, amount: &PrivacyCost) {
        self.bytes(&encode(amount).unwrap_or_default());
    }

    pub(super) fn list<T>(
        &mut self,
        items: impl ExactSizeIterator<Item = T>,
        mut each: impl FnMut(&mut Writer, T),
    ) {
        self.number(items.len() as i64);
        items.for_each(|item| each(self, item));
    }
}

/// Reads what a [`Writer`] wrote; `None` where it is anything else.
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn number(&mut self) -> Option<i64> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(i64::from_be_bytes(*bytes))
    }

    pub(super) fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    pub(super) fn digest(&mut self) -> Option<Digest> {
        self.bytes()?.try_into().ok().map(Digest)
    }

    pub(super) fn name(&mut self) -> Option<Name> {
        Name::new("name", std::str::from_utf8(self.bytes()?).ok()?).ok()
    }

    pub(super) fn interval(&mut self) -> Option<Interval> {
        Interval::new(self.number()?, self.number()?).ok()
    }

    fn amount(&mut self) -> Option<PrivacyCost> {
        decode(self.bytes()?)
    }

    pub(super) fn list<T>(&mut self, mut each: impl FnMut(&mut Reader<'a>) -> Option<T>) -> Option<Vec<T>> {
        (0..self.number()?).map(|_| each(self)).collect()
    }
}

pub(super) fn written(chain: &Chain) -> Vec<u8> {
    let Chain { ledger, sequence, last, releases, statements, due, below: _ } = chain;
    let mut content = Writer(Vec::new());
    content.bytes(TITLE);
    content.bytes(ledger.bytes());
    content.number(*sequence);
    content.bytes(last.bytes());
    content.number(*releases);
    content.bytes(statements.bytes());
    content.list(due.accounts.iter(), |to, (name, account)| {
        to.name(name);
        to.list(account.entries().iter(), |to, (place, prices)| {
            [place.reach, place.start, place.end].into_iter().for_each(|number| to.number(number));
            to.amount(&prices.whole);
            to.amount(&prices.partial);
        });
    });
    content.list(due.floors.iter(), |to, ((account, reach), floor)| {
        to.name(account);
        to.number(*reach);
        to.number(*floor);
    });
    content.list(due.states.iter(), |to, ((job, name), state)| {
        to.name(job);
        to.name(name);
        to.bytes(state.bytes());
    });
    content.list(due.settled.iter(), |to, ((job, name, version), until)| {
        to.name(job);
        to.name(name);
        to.bytes(version.bytes());
        to.number(*until);
    });
    content.list(due.reserved.iter(), |to, ((account, job, name, version), reserved)| {
        [account, job, name].into_iter().for_each(|name| to.name(name));
        to.bytes(version.bytes());
        to.list(reserved.iter(), |to, reservation| {
            to.number(reservation.sequence);
            to.interval(reservation.life);
            to.bytes(reservation.id.bytes());
        });
    });
    content.list(due.sealed.iter(), |to, (account, sealed)| {
        to.name(account);
        to.number(sealed.count as i64);
        to.interval(sealed.newest);
    });
    content.0
}

pub(super) fn read_back(content: &[u8], stated: &[AccountSpec]) -> Option<Chain> {
    let mut from = Reader(content);
    if from.bytes()? != TITLE {
        return None;
    }
    let mut chain = Chain::of(from.digest()?);
    chain.sequence = from.number()?;
    chain.last = from.digest()?;
    chain.releases = from.number()?;
    chain.statements = from.digest()?;
    let accounts = from.list(|from| {
        let name = from.name()?;
        let entries = from.list(|from| {
            let place = EntryKey { reach: from.number()?, start: from.number()?, end: from.number()? };
            Some((place, Prices { whole: from.amount()?, partial: from.amount()? }))
        })?;
        let spec = stated.iter().find(|spec| spec.name == name)?;
        let entries = BTreeMap::from_iter(entries);
        let account = Account::resume(spec.promise, spec.neighbours, spec.cap.clone(), entries).ok()?;
        Some((name, account))
    })?;
    let due = &mut chain.due;
    due.accounts.extend(accounts);
    due.floors.extend(from.list(|from| Some(((from.name()?, from.number()?), from.number()?)))?);
    due.compared = due.floors.is_empty().then_some(0);
    due.states.extend(from.list(|from| Some(((from.name()?, from.name()?), from.digest()?)))?);
    let settled =
        |from: &mut Reader<'_>| Some(((from.name()?, from.name()?, from.digest()?), from.number()?));
    due.settled.extend(from.list(settled)?);
    due.reserved.extend(from.list(|from| {
        let payer = (from.name()?, from.name()?, from.name()?, from.digest()?);
        let reserved = from.list(|from| {
            Some(Reservation { sequence: from.number()?, life: from.interval()?, id: from.digest()? })
        })?;
        Some((payer, reserved))
    })?);
    due.sealed.extend(from.list(|from| {
        let account = from.name()?;
        Some((account, Sealed { count: from.number()?.unsigned_abs(), newest: from.interval()? }))
    })?);
    from.0.is_empty().then_some(chain)
}
