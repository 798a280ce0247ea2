//! The tables of a ledger in a schema of Postgres, and the changes allowed in them.

use std::error::Error;
use std::fmt;

use bytes::BytesMut;
use postgres::Row;
use postgres::types::{IsNull, ToSql, Type, to_sql_checked};

use super::super::error::LedgerError;
use super::super::store::{SqlRow, SqlValue, odd};
use super::session::Session;

/// The schema: the tables of a file, with the column types of Postgres, and one more: the servers and
/// timelines on which the ledger was valid. Names are compared byte by byte, whatever the locale of the
/// database. Triggers refuse changes that this library never makes, truncating a table included.
pub(super) const TABLES: &str = r#"
CREATE TABLE server (timeline BIGINT PRIMARY KEY, system TEXT NOT NULL);
CREATE TABLE meta ("only" BIGINT PRIMARY KEY CHECK ("only" = 1), format BIGINT NOT NULL, ledger BYTEA NOT NULL);
CREATE TABLE head ("only" BIGINT PRIMARY KEY CHECK ("only" = 1), sequence BIGINT NOT NULL, chain BYTEA NOT NULL);
CREATE TABLE key_check (
  "only" BIGINT PRIMARY KEY CHECK ("only" = 1), mac BYTEA NOT NULL, generation BIGINT NOT NULL);
CREATE TABLE fence (job TEXT COLLATE "C" PRIMARY KEY, generation BIGINT NOT NULL);
CREATE TABLE account (
  name TEXT COLLATE "C" PRIMARY KEY, sequence BIGINT NOT NULL UNIQUE, unit TEXT NOT NULL, relation TEXT NOT NULL,
  promise TEXT NOT NULL, span BIGINT NOT NULL, cap BYTEA NOT NULL, person TEXT NOT NULL, chain BYTEA NOT NULL);
CREATE TABLE release (
  id BYTEA NOT NULL, sequence BIGINT PRIMARY KEY, account TEXT COLLATE "C" NOT NULL REFERENCES account (name),
  job TEXT COLLATE "C" NOT NULL, version BYTEA NOT NULL, name TEXT COLLATE "C" NOT NULL,
  window_start BIGINT NOT NULL, window_end BIGINT NOT NULL, part BYTEA, generation BIGINT NOT NULL,
  status TEXT NOT NULL, cost BYTEA, partial BYTEA, life_start BIGINT, life_end BIGINT, prepaid BYTEA, state BYTEA,
  line TEXT NOT NULL, delivered BIGINT NOT NULL, chain BYTEA NOT NULL,
  CONSTRAINT one_row UNIQUE (window_start, id));
CREATE INDEX undelivered ON release (job) WHERE delivered = 0;
CREATE INDEX reserved ON release (job, name) WHERE life_start IS NOT NULL;
CREATE INDEX kept ON release (job, name, sequence) WHERE state IS NOT NULL;
CREATE INDEX last_row ON release (job, name, version, window_end) WHERE part IS NULL;
CREATE TABLE amendment (
  sequence BIGINT PRIMARY KEY, account TEXT COLLATE "C" NOT NULL REFERENCES account (name), cap BYTEA NOT NULL,
  who TEXT NOT NULL, why TEXT NOT NULL, chain BYTEA NOT NULL);
CREATE TABLE repair (
  sequence BIGINT PRIMARY KEY, sound BIGINT NOT NULL, floor BIGINT NOT NULL, reason TEXT NOT NULL,
  given_up BYTEA NOT NULL, chain BYTEA NOT NULL);
CREATE TABLE archive (
  sequence BIGINT PRIMARY KEY, until BIGINT NOT NULL, floor BIGINT NOT NULL, file BYTEA NOT NULL,
  former BYTEA NOT NULL, state BYTEA NOT NULL, carried BYTEA NOT NULL, content BYTEA NOT NULL, chain BYTEA NOT NULL);
CREATE TABLE rekey (sequence BIGINT PRIMARY KEY, mac BYTEA NOT NULL, states BYTEA NOT NULL, chain BYTEA NOT NULL);
CREATE TABLE state (
  job TEXT COLLATE "C" NOT NULL, name TEXT COLLATE "C" NOT NULL, version BIGINT NOT NULL, former BYTEA,
  digest BYTEA NOT NULL, held BYTEA NOT NULL, PRIMARY KEY (job, name, version));
CREATE TABLE noted (
  job TEXT COLLATE "C" NOT NULL, name TEXT COLLATE "C" NOT NULL, place BIGINT NOT NULL, held BYTEA NOT NULL,
  PRIMARY KEY (job, name, place));
CREATE TABLE position (
  job TEXT COLLATE "C" NOT NULL, input BIGINT NOT NULL, place BYTEA NOT NULL, held BYTEA NOT NULL,
  PRIMARY KEY (job, input, place));
CREATE TABLE balance (
  account TEXT COLLATE "C" NOT NULL REFERENCES account (name), reach BIGINT NOT NULL, place BIGINT NOT NULL, until BIGINT NOT NULL,
  spent BYTEA NOT NULL, partial BYTEA NOT NULL, PRIMARY KEY (account, reach, place, until));
CREATE TABLE agreed (
  job TEXT COLLATE "C" NOT NULL, version BIGINT NOT NULL, name TEXT COLLATE "C" NOT NULL, parameters BYTEA NOT NULL,
  fields BYTEA NOT NULL,
  PRIMARY KEY (job, version, name));
CREATE TABLE settled (
  job TEXT COLLATE "C" NOT NULL, name TEXT COLLATE "C" NOT NULL, version BYTEA NOT NULL, until BIGINT NOT NULL,
  PRIMARY KEY (job, name, version));
CREATE TABLE checkpoint (
  "only" BIGINT PRIMARY KEY CHECK ("only" = 1), sequence BIGINT NOT NULL, content BYTEA NOT NULL, mac BYTEA NOT NULL);
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION '%', TG_ARGV[0]; END $$;
CREATE TRIGGER server_stays BEFORE UPDATE ON server FOR EACH ROW EXECUTE FUNCTION refuse('a history stays');
CREATE TRIGGER server_kept BEFORE DELETE ON server FOR EACH ROW EXECUTE FUNCTION refuse('a history stays');
CREATE TRIGGER meta_stays BEFORE UPDATE ON meta FOR EACH ROW EXECUTE FUNCTION refuse('a ledger keeps its name');
CREATE TRIGGER meta_kept BEFORE DELETE ON meta FOR EACH ROW EXECUTE FUNCTION refuse('a ledger keeps its name');
CREATE TRIGGER key_check_moves_on BEFORE UPDATE ON key_check FOR EACH ROW WHEN (new.generation <> old.generation + 1)
  EXECUTE FUNCTION refuse('a ledger keeps its key');
CREATE TRIGGER key_check_kept BEFORE DELETE ON key_check FOR EACH ROW
  EXECUTE FUNCTION refuse('a ledger keeps its key');
CREATE TRIGGER head_grows BEFORE UPDATE ON head FOR EACH ROW WHEN (new.sequence <= old.sequence)
  EXECUTE FUNCTION refuse('the chain only grows');
CREATE TRIGGER head_kept BEFORE DELETE ON head FOR EACH ROW EXECUTE FUNCTION refuse('the chain only grows');
CREATE TRIGGER fence_rises BEFORE UPDATE ON fence FOR EACH ROW
  WHEN (new.generation <= old.generation OR new.job <> old.job) EXECUTE FUNCTION refuse('a fence only rises');
CREATE TRIGGER fence_kept BEFORE DELETE ON fence FOR EACH ROW EXECUTE FUNCTION refuse('a fence only rises');
CREATE TRIGGER account_stays BEFORE UPDATE ON account FOR EACH ROW EXECUTE FUNCTION refuse('an account is stated once');
CREATE TRIGGER account_kept BEFORE DELETE ON account FOR EACH ROW EXECUTE FUNCTION refuse('an account is stated once');
CREATE TRIGGER release_stays BEFORE UPDATE OF
  id, sequence, account, job, version, name, window_start, window_end, part, generation, status, cost, partial,
  life_start, life_end, prepaid, state, line, chain
  ON release FOR EACH ROW EXECUTE FUNCTION refuse('a release is written once');
CREATE TRIGGER release_delivered BEFORE UPDATE OF delivered ON release FOR EACH ROW
  WHEN (new.delivered < old.delivered) EXECUTE FUNCTION refuse('a delivery is not taken back');
CREATE FUNCTION archived() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF old.sequence > (SELECT COALESCE(max(until), 0) FROM archive) THEN RAISE EXCEPTION 'a release is written once'; END IF;
  RETURN old; END $$;
CREATE FUNCTION archived_before() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF NOT EXISTS (SELECT 1 FROM archive) THEN RAISE EXCEPTION 'what is spent is never given back'; END IF;
  RETURN old; END $$;
CREATE TRIGGER release_kept BEFORE DELETE ON release FOR EACH ROW EXECUTE FUNCTION archived();
CREATE TRIGGER amendment_stays BEFORE UPDATE ON amendment FOR EACH ROW EXECUTE FUNCTION refuse('an amendment stays');
CREATE TRIGGER amendment_kept BEFORE DELETE ON amendment FOR EACH ROW EXECUTE FUNCTION refuse('an amendment stays');
CREATE TRIGGER repair_stays BEFORE UPDATE ON repair FOR EACH ROW EXECUTE FUNCTION refuse('a repair stays');
CREATE TRIGGER repair_kept BEFORE DELETE ON repair FOR EACH ROW EXECUTE FUNCTION refuse('a repair stays');
CREATE TRIGGER archive_stays BEFORE UPDATE OF sequence, until, floor, file, former, state, carried, chain
  ON archive FOR EACH ROW EXECUTE FUNCTION refuse('an archive stays');
CREATE TRIGGER archive_kept BEFORE DELETE ON archive FOR EACH ROW EXECUTE FUNCTION refuse('an archive stays');
CREATE TRIGGER rekey_stays BEFORE UPDATE ON rekey FOR EACH ROW EXECUTE FUNCTION refuse('a rekey stays');
CREATE TRIGGER rekey_kept BEFORE DELETE ON rekey FOR EACH ROW EXECUTE FUNCTION refuse('a rekey stays');
CREATE FUNCTION moves_on() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF new.version <= (SELECT max(version) FROM state WHERE job = new.job AND name = new.name) THEN
    RAISE EXCEPTION 'a state only moves on'; END IF;
  RETURN new; END $$;
CREATE TRIGGER state_stays BEFORE UPDATE ON state FOR EACH ROW EXECUTE FUNCTION refuse('a state is written once');
CREATE TRIGGER state_moves_on BEFORE INSERT ON state FOR EACH ROW EXECUTE FUNCTION moves_on();
CREATE TRIGGER noted_stays BEFORE UPDATE ON noted FOR EACH ROW EXECUTE FUNCTION refuse('a note is written once');
CREATE TRIGGER balance_grows BEFORE UPDATE ON balance FOR EACH ROW
  WHEN (new.spent < old.spent OR new.partial < old.partial OR new.account <> old.account OR new.reach <> old.reach
    OR new.place <> old.place OR new.until <> old.until)
  EXECUTE FUNCTION refuse('what is spent is never given back');
CREATE TRIGGER balance_kept BEFORE DELETE ON balance FOR EACH ROW EXECUTE FUNCTION archived_before();
CREATE TRIGGER settled_rises BEFORE UPDATE ON settled FOR EACH ROW
  WHEN (new.until <= old.until OR new.job <> old.job OR new.name <> old.name OR new.version <> old.version)
  EXECUTE FUNCTION refuse('a frontier only rises');
CREATE TRIGGER settled_kept BEFORE DELETE ON settled FOR EACH ROW EXECUTE FUNCTION refuse('a frontier only rises');
CREATE TRIGGER agreed_stays BEFORE UPDATE ON agreed FOR EACH ROW EXECUTE FUNCTION refuse('a version keeps its word');
CREATE TRIGGER agreed_kept BEFORE DELETE ON agreed FOR EACH ROW EXECUTE FUNCTION refuse('a version keeps its word');
CREATE TRIGGER server_full BEFORE TRUNCATE ON server EXECUTE FUNCTION refuse('no table is emptied');
CREATE TRIGGER meta_full BEFORE TRUNCATE ON meta EXECUTE FUNCTION refuse('no table is emptied');
CREATE TRIGGER key_check_full BEFORE TRUNCATE ON key_check EXECUTE FUNCTION refuse('no table is emptied');
CREATE TRIGGER head_full BEFORE TRUNCATE ON head EXECUTE FUNCTION refuse('no table is emptied');
CREATE TRIGGER fence_full BEFORE TRUNCATE ON fence EXECUTE FUNCTION refuse('no table is emptied');
CREATE TRIGGER account_full BEFORE TRUNCATE ON account EXECUTE FUNCTION refuse('no table is emptied');
CREATE TRIGGER release_full BEFORE TRUNCATE ON release EXECUTE FUNCTION refuse('no table is emptied');
CREATE TRIGGER amendment_full BEFORE TRUNCATE ON amendment EXECUTE FUNCTION refuse('no table is emptied');
CREATE TRIGGER repair_full BEFORE TRUNCATE ON repair EXECUTE FUNCTION refuse('no table is emptied');
CREATE TRIGGER archive_full BEFORE TRUNCATE ON archive EXECUTE FUNCTION refuse('no table is emptied');
CREATE TRIGGER rekey_full BEFORE TRUNCATE ON rekey EXECUTE FUNCTION refuse('no table is emptied');
CREATE TRIGGER state_full BEFORE TRUNCATE ON state EXECUTE FUNCTION refuse('no table is emptied');
CREATE TRIGGER noted_full BEFORE TRUNCATE ON noted EXECUTE FUNCTION refuse('no table is emptied');
CREATE TRIGGER position_full BEFORE TRUNCATE ON position EXECUTE FUNCTION refuse('no table is emptied');
CREATE TRIGGER balance_full BEFORE TRUNCATE ON balance EXECUTE FUNCTION refuse('no table is emptied');
CREATE TRIGGER settled_full BEFORE TRUNCATE ON settled EXECUTE FUNCTION refuse('no table is emptied');
CREATE TRIGGER agreed_full BEFORE TRUNCATE ON agreed EXECUTE FUNCTION refuse('no table is emptied');
"#;

// Comparison of each index with its table. An index that misses a row hides a sealed release, and its window
// would be drawn again. So the keys are read through each index and past it. `amcheck` checks more, and only
// a superuser may run it.

/// Every index whose gaps would change a decision of a ledger, as the columns that only a scan of it gives in
/// order. A release that its index misses would be drawn again, an account would be lost, a fence would not
/// stop a zombie, a version would not be held to its terms.
const INDEXES: [(&str, &str); 12] = [
    ("release", "window_start, id"),
    ("release", "sequence"),
    ("balance", "account, reach, place, until"),
    ("fence", "job"),
    ("state", "job, name, version"),
    ("account", "name"),
    ("amendment", "sequence"),
    ("repair", "sequence"),
    ("archive", "sequence"),
    ("rekey", "sequence"),
    ("agreed", "job, version, name"),
    ("settled", "job, name, version"),
];

/// Compares all of them, inside a transaction that reads.
pub(super) fn compare(session: &mut Session) -> Result<(), LedgerError> {
    for (table, columns) in INDEXES {
        let (through, past) = (keys(session, true, table, columns)?, keys(session, false, table, columns)?);
        if through != past {
            return Err(LedgerError::doubt(format!(
                "ledger: the index of {table} ({columns}) does not hold what the table holds; `pg_amcheck` says more"
            )));
        }
    }
    Ok(())
}

/// The number of keys, and the sum of their hashes.
fn keys(session: &mut Session, through: bool, table: &str, columns: &str) -> Result<String, LedgerError> {
    let (index, heap) = if through { ("on", "off") } else { ("off", "on") };
    // In order, and without sorting: the only plan that remains is a scan of the index of these very columns.
    let rows = session.rows(&format!(
        "SET LOCAL enable_indexscan = {index}; SET LOCAL enable_indexonlyscan = {index};
         SET LOCAL enable_bitmapscan = off; SET LOCAL enable_seqscan = {heap}; SET LOCAL enable_sort = {heap};
         SELECT count(*) || ' ' || coalesce(sum(hashtextextended(key, 0)), 0) FROM
           (SELECT row({columns})::text AS key FROM {table} ORDER BY {columns}) AS keys"
    ))?;
    Ok(rows.first().and_then(|row| row.get(0)).unwrap_or_default().to_owned())
}

// Conversion of values to parameters of statements, and from columns of rows.

/// A parameter of a statement. Its debug form hides the value: the crate writes parameters to the log, at
/// level debug.
pub(super) struct Parameter<'a>(pub(super) SqlValue<'a>);

impl fmt::Debug for Parameter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<value>")
    }
}

impl ToSql for Parameter<'_> {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self.0 {
            SqlValue::Nothing => Ok(IsNull::Yes),
            SqlValue::Number(number) => number.to_sql(kind, out),
            SqlValue::Text(text) => text.to_sql(kind, out),
            SqlValue::Bytes(bytes) => bytes.to_sql(kind, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// The type of a parameter, where its value determines it.
pub(super) fn kind(value: &SqlValue<'_>) -> Type {
    match value {
        // The server infers it.
        SqlValue::Nothing => Type::UNKNOWN,
        SqlValue::Number(_) => Type::INT8,
        SqlValue::Text(_) => Type::TEXT,
        SqlValue::Bytes(_) => Type::BYTEA,
    }
}

impl SqlRow for Row {
    fn number(&self, column: usize) -> Result<Option<i64>, LedgerError> {
        self.try_get(column).map_err(|_| odd(column))
    }

    fn text(&self, column: usize) -> Result<String, LedgerError> {
        self.try_get(column).map_err(|_| odd(column))
    }

    fn bytes(&self, column: usize) -> Result<Option<Vec<u8>>, LedgerError> {
        self.try_get(column).map_err(|_| odd(column))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_prints_as_nothing() {
        assert_eq!(format!("{:?}", Parameter(SqlValue::Text("forty-two"))), "<value>");
    }
}
