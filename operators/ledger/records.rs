//! Conversion between database rows and the records of a ledger. A column with a value that is never written
//! is an error, never a guess.

use super::account::AccountSpec;
use super::error::LedgerError;
use super::name::Name;
use super::rows::{Amendment, ReleaseId, ReleaseStatus, Repair, Row};
use super::store::{SqlRow, SqlValue, Store, first, odd};
use crate::accounting::{
    Adjacency, BudgetUnits, EntryKey, Interval, Omega, Prices, PrivacyCost, PrivacyUnit, Promise, Relation,
};
use crate::canonical::Digest;

pub(super) fn write(store: &mut dyn Store, row: &Row) -> Result<(), LedgerError> {
    let cost = row.cost.as_ref().and_then(encode);
    let partial = row.partial.as_ref().and_then(encode);
    store.execute(
        "INSERT INTO release VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, 0, ?19)",
        &[
            SqlValue::Bytes(row.release.id().bytes()),
            SqlValue::Number(row.sequence),
            SqlValue::Text(row.release.account.as_str()),
            SqlValue::Text(row.release.job.as_str()),
            SqlValue::Bytes(row.release.version.bytes()),
            SqlValue::Text(row.release.name.as_str()),
            SqlValue::Number(row.release.window.start()),
            SqlValue::Number(row.release.window.end()),
            SqlValue::bytes(row.release.part.as_ref().map(|part| &part.bytes()[..])),
            SqlValue::Number(row.generation),
            SqlValue::Text(status_word(row.status)),
            SqlValue::bytes(cost.as_deref()),
            SqlValue::bytes(partial.as_deref()),
            SqlValue::number(row.life.map(|life| life.start())),
            SqlValue::number(row.life.map(|life| life.end())),
            SqlValue::bytes(row.prepaid.as_ref().map(|by| &by.bytes()[..])),
            SqlValue::bytes(row.state.as_ref().map(|state| &state.bytes()[..])),
            SqlValue::Text(&row.line),
            SqlValue::Bytes(row.chain.bytes()),
        ],
    )?;
    Ok(())
}

pub(super) fn write_account(
    store: &mut dyn Store,
    account: &AccountSpec,
    sequence: i64,
    chain: &Digest,
) -> Result<(), LedgerError> {
    let (promise, span) = promise_columns(account.promise);
    store.execute(
        "INSERT INTO account VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        &[
            SqlValue::Text(account.name.as_str()),
            SqlValue::Number(sequence),
            SqlValue::Text(unit_column(account.neighbours.unit)),
            SqlValue::Text(relation_column(account.neighbours.relation)),
            SqlValue::Text(promise),
            SqlValue::Number(span as i64),
            SqlValue::bytes(encode(&account.cap).as_deref()),
            SqlValue::Text(account.person.as_deref().unwrap_or_default()),
            SqlValue::Bytes(chain.bytes()),
        ],
    )?;
    Ok(())
}

pub(super) fn write_amendment(
    store: &mut dyn Store,
    amendment: &Amendment,
    chain: &Digest,
) -> Result<(), LedgerError> {
    store.execute(
        "INSERT INTO amendment VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        &[
            SqlValue::Number(amendment.sequence),
            SqlValue::Text(amendment.account.as_str()),
            SqlValue::bytes(encode(&amendment.cap).as_deref()),
            SqlValue::Text(&amendment.who),
            SqlValue::Text(&amendment.why),
            SqlValue::Bytes(chain.bytes()),
        ],
    )?;
    Ok(())
}

pub(super) fn write_repair(
    store: &mut dyn Store,
    repair: &Repair,
    chain: &Digest,
) -> Result<(), LedgerError> {
    store.execute(
        "INSERT INTO repair VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        &[
            SqlValue::Number(repair.sequence),
            SqlValue::Number(repair.sound),
            SqlValue::Number(repair.floor),
            SqlValue::Text(&repair.reason),
            SqlValue::Bytes(&repair.given_up_column()),
            SqlValue::Bytes(chain.bytes()),
        ],
    )?;
    Ok(())
}

/// The query for all columns of releases, in the order that [`read_row`] reads; the argument follows `FROM
/// release`.
macro_rules! rows {
    ($rest:expr) => {
        concat!(
            "SELECT sequence, account, job, version, name, window_start, window_end, generation, status, cost, ",
            "life_start, life_end, prepaid, state, line, delivered, chain, part, id, partial FROM release ",
            $rest
        )
    };
}
pub(super) use rows;

pub(super) fn find(store: &mut dyn Store, release: &ReleaseId) -> Result<Option<Row>, LedgerError> {
    let values = [SqlValue::Number(release.window.start()), SqlValue::Bytes(&release.id().0)];
    first(store, rows!("WHERE window_start = ?1 AND id = ?2"), &values, read_row)
}

pub(super) fn read_row(row: &dyn SqlRow) -> Result<Row, LedgerError> {
    let interval = |start, end| Interval::new(start, end).map_err(|_| odd(6));
    let life = match (row.number(10)?, row.number(11)?) {
        (Some(start), Some(end)) => Some(interval(start, end)?),
        (None, None) => None,
        _ => return Err(odd(10)),
    };
    Ok(Row {
        sequence: number(row, 0)?,
        release: ReleaseId {
            account: name(row, 1)?,
            job: name(row, 2)?,
            version: digest(row, 3)?,
            name: name(row, 4)?,
            window: interval(number(row, 5)?, number(row, 6)?)?,
            part: perhaps_digest(row, 17)?,
        },
        generation: number(row, 7)?,
        status: read_status(&row.text(8)?).ok_or_else(|| odd(8))?,
        cost: perhaps_amount(row, 9)?,
        partial: perhaps_amount(row, 19)?,
        life,
        prepaid: perhaps_digest(row, 12)?,
        state: perhaps_digest(row, 13)?,
        line: row.text(14)?,
        delivered: number(row, 15)? != 0,
        chain: digest(row, 16)?,
    })
}

/// The column in which [`rows!`] returns the id of a release, which [`read_row`] recomputes instead.
pub(super) const ID: usize = 18;

/// An account as it was stated, its sequence number, and the hash that its row holds.
pub(super) fn read_stated(row: &dyn SqlRow) -> Result<(i64, AccountSpec, Digest), LedgerError> {
    let unit = read_unit(&row.text(2)?).ok_or_else(|| odd(2))?;
    let relation = read_relation(&row.text(3)?).ok_or_else(|| odd(3))?;
    let span = u64::try_from(number(row, 5)?).map_err(|_| odd(5))?;
    let promise = read_promise(&row.text(4)?, span).ok_or_else(|| odd(4))?;
    let cap = amount(row, 6)?;
    let account =
        AccountSpec::new(name(row, 0)?, Adjacency { unit, relation }, promise, cap).map_err(|_| odd(4))?;
    let person = Some(row.text(7)?).filter(|person| !person.is_empty());
    Ok((number(row, 1)?, AccountSpec { person, ..account }, digest(row, 8)?))
}

pub(super) fn read_amendment(row: &dyn SqlRow) -> Result<(Amendment, Digest), LedgerError> {
    let amendment = Amendment {
        sequence: number(row, 0)?,
        account: name(row, 1)?,
        cap: amount(row, 2)?,
        who: row.text(3)?,
        why: row.text(4)?,
    };
    Ok((amendment, digest(row, 5)?))
}

pub(super) fn read_repair(row: &dyn SqlRow) -> Result<(Repair, Digest), LedgerError> {
    let given_up = row.bytes(4)?.unwrap_or_default();
    let (given_up, []) = given_up.as_chunks::<32>() else { return Err(odd(4)) };
    let repair = Repair {
        sequence: number(row, 0)?,
        sound: number(row, 1)?,
        floor: number(row, 2)?,
        reason: row.text(3)?,
        given_up: given_up.iter().copied().map(Digest).collect(),
    };
    Ok((repair, digest(row, 5)?))
}

/// The key of an account's entry, and the amounts spent there.
pub(super) fn read_entry(row: &dyn SqlRow) -> Result<(EntryKey, Prices), LedgerError> {
    let place = EntryKey { reach: number(row, 0)?, start: number(row, 1)?, end: number(row, 2)? };
    Ok((place, Prices { whole: amount(row, 3)?, partial: amount(row, 4)? }))
}

pub(super) fn read_account(store: &mut dyn Store, name: &Name) -> Result<Option<AccountSpec>, LedgerError> {
    let stated =
        first(store, "SELECT * FROM account WHERE name = ?1", &[SqlValue::Text(name.as_str())], read_stated)?;
    Ok(stated.map(|(_, account, _)| account))
}

/// An account with the cap of its last amendment.
pub(super) fn amended_account(
    store: &mut dyn Store,
    name: &Name,
) -> Result<Option<AccountSpec>, LedgerError> {
    let Some(mut account) = read_account(store, name)? else { return Ok(None) };
    let newest = "SELECT * FROM amendment WHERE account = ?1 ORDER BY sequence DESC LIMIT 1";
    if let Some((amendment, _)) = first(store, newest, &[SqlValue::Text(name.as_str())], read_amendment)? {
        account.cap = amendment.cap;
    }
    Ok(Some(account))
}

/// The sequence number of the last row, and the hash of the chain up to it.
pub(super) fn head(store: &mut dyn Store) -> Result<(i64, Digest), LedgerError> {
    let read = |row: &dyn SqlRow| Ok((number(row, 0)?, digest(row, 1)?));
    let head = first(store, "SELECT sequence, chain FROM head", &[], read)?;
    head.ok_or_else(|| LedgerError::doubt("ledger: it does not say where it ends"))
}

/// Moves the recorded end of the chain to this row.
pub(super) fn advance(store: &mut dyn Store, sequence: i64, chain: &Digest) -> Result<(), LedgerError> {
    let values = [SqlValue::Number(sequence), SqlValue::Bytes(chain.bytes())];
    store.execute("UPDATE head SET sequence = ?1, chain = ?2", &values)?;
    Ok(())
}

pub(super) fn number(row: &dyn SqlRow, column: usize) -> Result<i64, LedgerError> {
    row.number(column)?.ok_or_else(|| odd(column))
}

pub(super) fn name(row: &dyn SqlRow, column: usize) -> Result<Name, LedgerError> {
    Name::new("name", &row.text(column)?).map_err(|_| odd(column))
}

pub(super) fn digest(row: &dyn SqlRow, column: usize) -> Result<Digest, LedgerError> {
    perhaps_digest(row, column)?.ok_or_else(|| odd(column))
}

pub(super) fn perhaps_digest(row: &dyn SqlRow, column: usize) -> Result<Option<Digest>, LedgerError> {
    let digest = |bytes: Vec<u8>| bytes.try_into().map(Digest).map_err(|_| odd(column));
    row.bytes(column)?.map(digest).transpose()
}

fn amount(row: &dyn SqlRow, column: usize) -> Result<PrivacyCost, LedgerError> {
    perhaps_amount(row, column)?.ok_or_else(|| odd(column))
}

fn perhaps_amount(row: &dyn SqlRow, column: usize) -> Result<Option<PrivacyCost>, LedgerError> {
    row.bytes(column)?.map(|bytes| decode(&bytes).ok_or_else(|| odd(column))).transpose()
}

// The encoding of costs and enumerations in columns: each value has one form, and a value without one is
// refused.

/// Encodes a privacy cost as bytes that compare as its parts do; `None` for a currency that a ledger does not
/// count.
pub(crate) fn encode(amount: &PrivacyCost) -> Option<Vec<u8>> {
    match amount {
        PrivacyCost::Pure { epsilon } => Some([&b"p"[..], &epsilon.to_bits().to_be_bytes()].concat()),
        PrivacyCost::Zcdp { rho, delta, omega } => {
            let parts = [rho.to_bits(), delta.to_bits(), omega.to_bits()].map(u128::to_be_bytes);
            Some([&b"z"[..], &parts.concat()].concat())
        }
        PrivacyCost::Gaussian { rho, delta } => {
            let parts = [rho.to_bits(), delta.to_bits()].map(u128::to_be_bytes);
            Some([&b"g"[..], &parts.concat()].concat())
        }
        _ => None,
    }
}

/// Decodes a privacy cost; `None` for malformed bytes.
pub(crate) fn decode(bytes: &[u8]) -> Option<PrivacyCost> {
    let (currency, parts) = bytes.split_first()?;
    let (parts, []) = parts.as_chunks::<16>() else { return None };
    match (currency, parts) {
        (b'p', [epsilon]) => {
            Some(PrivacyCost::Pure { epsilon: BudgetUnits::from_bits(u128::from_be_bytes(*epsilon)) })
        }
        (b'z', [rho, delta, omega]) => Some(PrivacyCost::Zcdp {
            rho: BudgetUnits::from_bits(u128::from_be_bytes(*rho)),
            delta: BudgetUnits::from_bits(u128::from_be_bytes(*delta)),
            omega: Omega::from_bits(u128::from_be_bytes(*omega)),
        }),
        (b'g', [rho, delta]) => Some(PrivacyCost::Gaussian {
            rho: BudgetUnits::from_bits(u128::from_be_bytes(*rho)),
            delta: BudgetUnits::from_bits(u128::from_be_bytes(*delta)),
        }),
        _ => None,
    }
}

pub(crate) fn status_word(status: ReleaseStatus) -> &'static str {
    match status {
        ReleaseStatus::Sealed => "sealed",
        ReleaseStatus::Refused => "refused",
        ReleaseStatus::Skipped => "skipped",
        ReleaseStatus::Lost => "lost",
    }
}

pub(crate) fn read_status(column: &str) -> Option<ReleaseStatus> {
    [ReleaseStatus::Sealed, ReleaseStatus::Refused, ReleaseStatus::Skipped, ReleaseStatus::Lost]
        .into_iter()
        .find(|status| status_word(*status) == column)
}

pub(crate) fn unit_column(unit: PrivacyUnit) -> &'static str {
    match unit {
        PrivacyUnit::Person => "person",
        PrivacyUnit::Record => "record",
    }
}

pub(crate) fn read_unit(column: &str) -> Option<PrivacyUnit> {
    [PrivacyUnit::Person, PrivacyUnit::Record].into_iter().find(|unit| unit_column(*unit) == column)
}

pub(crate) fn relation_column(relation: Relation) -> &'static str {
    match relation {
        Relation::AddRemove => "add or remove",
        Relation::Replace => "replace",
    }
}

pub(crate) fn read_relation(column: &str) -> Option<Relation> {
    [Relation::AddRemove, Relation::Replace].into_iter().find(|relation| relation_column(*relation) == column)
}

/// The name of a promise in its column, and its number: a span, or a number of windows.
pub(crate) fn promise_columns(promise: Promise) -> (&'static str, u64) {
    match promise {
        Promise::Lifetime => ("lifetime", 0),
        Promise::Windows(most) => ("windows", most.into()),
        Promise::Any(span) => ("any", span),
        Promise::Each(span) => ("each", span),
    }
}

pub(crate) fn read_promise(word: &str, number: u64) -> Option<Promise> {
    match word {
        "lifetime" if number == 0 => Some(Promise::Lifetime),
        "windows" => u32::try_from(number).ok().map(Promise::Windows),
        "any" => Some(Promise::Any(number)),
        "each" => Some(Promise::Each(number)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_survive_their_bytes() {
        let amounts = [
            PrivacyCost::pure(0.1).unwrap(),
            PrivacyCost::zcdp(0.5).unwrap(),
            PrivacyCost::gaussian_limit(1.0, 1e-6, 3e-7).unwrap(),
            PrivacyCost::approximate_zcdp(0.5, Omega::below(40.0).unwrap(), Some(1e-9)).unwrap(),
        ];
        for amount in amounts {
            assert_eq!(decode(&encode(&amount).unwrap()), Some(amount));
        }
        for bytes in [&b""[..], b"p", b"z0123456789abcdef", b"g0123456789abcdef", b"q0123456789abcdef"] {
            assert_eq!(decode(bytes), None);
        }
        assert_eq!(encode(&PrivacyCost::renyi(|order| order).unwrap()), None);
    }
}
