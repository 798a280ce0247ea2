//! The fields of rows, accounts and statements in the file of an archive.

use super::ArchiveRecord;
use crate::accounting::{Adjacency, PrivacyCost};
use crate::canonical::Digest;
use crate::ledger::account::AccountSpec;
use crate::ledger::checkpoint::{Reader, Writer};
use crate::ledger::key_change::KeyChange;
use crate::ledger::records::{
    decode, encode, promise_columns, read_promise, read_relation, read_status, read_unit, relation_column,
    status_word, unit_column,
};
use crate::ledger::rows::{Amendment, ReleaseId, Repair, Row};
use crate::ledger::verify::Statement;

/// The first byte of each record, by its kind.
pub(super) const HEAD: u8 = 0;
pub(super) const RELEASE: u8 = 1;
pub(super) const ACCOUNT: u8 = 2;
pub(super) const AMENDMENT: u8 = 3;
pub(super) const REPAIR: u8 = 4;
pub(super) const ARCHIVE: u8 = 5;
pub(super) const KEY_CHANGE: u8 = 6;
pub(super) const END: u8 = 7;
pub(super) const SEAL: u8 = 8;

fn amount(to: &mut Writer, amount: Option<&PrivacyCost>) {
    to.bytes(&amount.and_then(encode).unwrap_or_default());
}

fn read_amount(from: &mut Reader<'_>) -> Option<Option<PrivacyCost>> {
    match from.bytes()? {
        [] => Some(None),
        bytes => Some(Some(decode(bytes)?)),
    }
}

fn read_perhaps(from: &mut Reader<'_>) -> Option<Option<Digest>> {
    match from.bytes()? {
        [] => Some(None),
        bytes => Some(Some(Digest(bytes.try_into().ok()?))),
    }
}

fn read_text(from: &mut Reader<'_>) -> Option<String> {
    String::from_utf8(from.bytes()?.to_vec()).ok()
}

pub(super) fn write_release(row: &Row) -> Vec<u8> {
    let mut to = Writer(Vec::new());
    let ReleaseId { account, job, version, name, window, part } = &row.release;
    let perhaps =
        |to: &mut Writer, digest: Option<&Digest>| to.bytes(digest.map_or(&[], |known| known.bytes()));
    to.number(row.sequence);
    [account, job, name].into_iter().for_each(|name| to.name(name));
    to.bytes(version.bytes());
    to.interval(*window);
    perhaps(&mut to, part.as_ref());
    to.number(row.generation);
    to.bytes(status_word(row.status).as_bytes());
    amount(&mut to, row.cost.as_ref());
    amount(&mut to, row.partial.as_ref());
    to.list(row.life.iter(), |to, life| to.interval(*life));
    perhaps(&mut to, row.prepaid.as_ref());
    perhaps(&mut to, row.state.as_ref());
    to.bytes(row.line.as_bytes());
    to.bytes(row.chain.bytes());
    to.0
}

pub(super) fn read_release(body: &[u8]) -> Option<Row> {
    let mut from = Reader(body);
    let sequence = from.number()?;
    let (account, job, name) = (from.name()?, from.name()?, from.name()?);
    let (version, window, part) = (from.digest()?, from.interval()?, read_perhaps(&mut from)?);
    let row = Row {
        sequence,
        release: ReleaseId { account, job, version, name, window, part },
        generation: from.number()?,
        status: read_status(&read_text(&mut from)?)?,
        cost: read_amount(&mut from)?,
        partial: read_amount(&mut from)?,
        life: from.list(Reader::interval)?.into_iter().next(),
        prepaid: read_perhaps(&mut from)?,
        state: read_perhaps(&mut from)?,
        line: read_text(&mut from)?,
        delivered: true,
        chain: from.digest()?,
    };
    from.0.is_empty().then_some(row)
}

pub(super) fn write_account(to: &mut Writer, account: &AccountSpec) {
    let (promise, span) = promise_columns(account.promise);
    to.name(&account.name);
    to.bytes(unit_column(account.neighbours.unit).as_bytes());
    to.bytes(relation_column(account.neighbours.relation).as_bytes());
    to.bytes(promise.as_bytes());
    to.number(span as i64);
    amount(to, Some(&account.cap));
    to.bytes(account.person.as_deref().unwrap_or_default().as_bytes());
}

pub(super) fn read_account(from: &mut Reader<'_>) -> Option<AccountSpec> {
    let name = from.name()?;
    let unit = read_unit(&read_text(from)?)?;
    let relation = read_relation(&read_text(from)?)?;
    let promise = read_text(from)?;
    let promise = read_promise(&promise, u64::try_from(from.number()?).ok()?)?;
    let account = AccountSpec::new(name, Adjacency { unit, relation }, promise, read_amount(from)??).ok()?;
    let person = Some(read_text(from)?).filter(|person| !person.is_empty());
    Some(AccountSpec { person, ..account })
}

pub(super) fn write_statement(sequence: i64, statement: &Statement, held: &Digest) -> (u8, Vec<u8>) {
    let mut to = Writer(Vec::new());
    to.number(sequence);
    to.bytes(held.bytes());
    let kind = match statement {
        Statement::Account(account) => {
            write_account(&mut to, account);
            ACCOUNT
        }
        Statement::Amendment(Amendment { account, cap, who, why, .. }) => {
            to.name(account);
            amount(&mut to, Some(cap));
            to.bytes(who.as_bytes());
            to.bytes(why.as_bytes());
            AMENDMENT
        }
        Statement::Repair(repair) => {
            to.number(repair.sound);
            to.number(repair.floor);
            to.bytes(repair.reason.as_bytes());
            to.list(repair.given_up.iter(), |to, chain| to.bytes(chain.bytes()));
            REPAIR
        }
        Statement::Archive(ArchiveRecord { until, floor, file, former, state, carried, .. }) => {
            to.number(*until);
            to.number(*floor);
            [file, former, state, carried].into_iter().for_each(|hash| to.bytes(hash.bytes()));
            ARCHIVE
        }
        Statement::KeyChange(change) => {
            to.bytes(change.check.bytes());
            to.bytes(&change.states_column());
            KEY_CHANGE
        }
    };
    (kind, to.0)
}

pub(super) fn read_statement(kind: u8, body: &[u8]) -> Option<(i64, (Statement, Digest))> {
    let mut from = Reader(body);
    let (sequence, held) = (from.number()?, from.digest()?);
    let statement = match kind {
        ACCOUNT => Statement::Account(read_account(&mut from)?),
        AMENDMENT => Statement::Amendment(Amendment {
            sequence,
            account: from.name()?,
            cap: read_amount(&mut from)??,
            who: read_text(&mut from)?,
            why: read_text(&mut from)?,
        }),
        REPAIR => Statement::Repair(Repair {
            sequence,
            sound: from.number()?,
            floor: from.number()?,
            reason: read_text(&mut from)?,
            given_up: from.list(Reader::digest)?,
        }),
        ARCHIVE => Statement::Archive(ArchiveRecord {
            sequence,
            until: from.number()?,
            floor: from.number()?,
            file: from.digest()?,
            former: from.digest()?,
            state: from.digest()?,
            carried: from.digest()?,
        }),
        KEY_CHANGE => Statement::KeyChange(KeyChange {
            sequence,
            check: from.digest()?,
            states: KeyChange::read_states(from.bytes()?)?,
        }),
        _ => return None,
    };
    from.0.is_empty().then_some((sequence, (statement, held)))
}
