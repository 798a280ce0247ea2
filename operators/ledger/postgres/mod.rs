//! The store of a ledger in a schema of a Postgres database, for jobs on several machines: behind the feature
//! `postgres`. The [ledger's page](super#on-a-server) describes its use; this one argues why it can be
//! trusted.
//!
//! # Writers
//!
//! Every transaction that writes begins by locking the one row of `head`. The chain is one for each ledger,
//! so all writers would meet there anyway, and nothing is lost by meeting at once. After the lock, `READ
//! COMMITTED` gives each statement all that was committed before, so fences, names and accounts are current;
//! no two transactions hold row locks of one ledger together, so they cannot wait for each other in a circle,
//! and no other order is needed. The locks that keep two processes of one job apart are taken between
//! transactions, or without waiting.
//!
//! **A lost commit.** The transaction of a commit with an unknown outcome holds `head` until it has ended one
//! way or the other, however dead its connection. A process that reads the outcome locks `head` first, over a
//! new connection, and so waits; its result is then final. The server ends a session whose client has
//! vanished, in 10 seconds inside a transaction, in half a minute otherwise; the gate retries for longer.
//!
//! **A commit that reports success** is trusted unless the server adds a warning. It warns if it stopped
//! waiting for a standby, and if there was no transaction; and a transaction in which a statement failed,
//! whose `COMMIT` it answers without an error, is never committed from here.
//!
//! # Checks
//!
//! At each connection every setting that durability depends on is read back, and at the beginning of each
//! writing transaction those that can change while a server runs: `fsync`, `full_page_writes`,
//! `synchronous_commit`, and the process that answers.
//!
//! **A pooler** gives one session of the server to many clients, in turns. Then a name in a statement may
//! mean the table of another ledger, a prepared statement another statement, and a lock of the session
//! belongs to all clients; with a pool of one the process that answers is always the same, and its id proves
//! nothing. So each connection begins with a random token, as a setting in its first message, and reads it
//! back: a pooler refuses the setting or drops it, and is refused, however it assigns sessions. Each
//! transaction compares the token again, sets its own search path, and compares the name of the ledger that
//! it finds there; lines that may leave are read in such a transaction.
//!
//! Errors contain the message of the server and its code, never its details: they quote rows. The debug form
//! of a value is empty, because the crate writes values to the log.
//!
//! The crate runs its own event loop on the calling thread; inside an asynchronous one it would panic, so a
//! ledger is used from an ordinary thread, as a gate does.

mod address;
mod session;
mod tables;

use std::fmt;
use std::path::Path;

use postgres::Statement;
use postgres::fallible_iterator::FallibleIterator;
use postgres::types::{ToSql, Type};

use super::copy;
use super::error::{LedgerError, LedgerErrorKind};
use super::name::Name;
use super::sqlite::Sqlite;
use super::store::{FileLock, SqlRow, SqlValue, Store};
use crate::canonical::Canonical;
use address::Address;
use session::{ServerIdentity, Session};
use tables::{Parameter, kind};

/// A connection to the schema of a ledger.
pub(super) struct Postgres {
    address: Address,
    session: Session,
    /// The jobs that this process has claimed.
    jobs: Vec<Name>,
    /// The claimed jobs whose lock this connection does not hold yet.
    missing: Vec<Name>,
}

impl Postgres {
    /// Creates a new schema with empty tables.
    pub(super) fn create(address: &str) -> Result<Postgres, LedgerError> {
        let address = Address::parse(address)?;
        let mut session = Session::open(&address)?;
        let ServerIdentity { system, timeline } = session.identity.clone();
        let schema = &address.ledger;
        if !session.rows(&format!("SELECT 1 FROM pg_namespace WHERE nspname = '{schema}'"))?.is_empty() {
            return Err(LedgerError::refused(format!(
                "ledger {schema}: the database has a schema of that name already"
            )));
        }
        let tables = tables::TABLES;
        session.rows(&format!(
            "BEGIN; CREATE SCHEMA \"{schema}\"; {tables} INSERT INTO server VALUES ({timeline}, '{system}')"
        ))?;
        session.commit()?;
        Ok(Postgres { address, session, jobs: Vec::new(), missing: Vec::new() })
    }

    /// Opens an existing schema, and never creates one.
    pub(super) fn open(address: &str) -> Result<Postgres, LedgerError> {
        let address = Address::parse(address)?;
        let session = known(&address)?;
        Ok(Postgres { address, session, jobs: Vec::new(), missing: Vec::new() })
    }

    /// Takes the locks of jobs that a lost connection may still hold, as soon as they are free. Until then
    /// the fence decides.
    fn exclude_again(&mut self) -> Result<(), LedgerError> {
        for job in std::mem::take(&mut self.missing) {
            let lock = format!("SELECT pg_try_advisory_lock({})", self.lock(&job));
            if self.session.rows(&lock)?.first().and_then(|row| row.get(0)) == Some("t") {
                self.call(&job)?;
            } else {
                self.missing.push(job);
            }
        }
        Ok(())
    }

    /// Sets the application name of the session to its ledger and job, for the administrator of the server.
    fn call(&mut self, job: &Name) -> Result<(), LedgerError> {
        let ledger = &self.address.ledger;
        self.session.rows(&format!("SET application_name = 'discreet {ledger} {job}'")).map(drop)
    }

    /// The number of the lock that the processes of one job compete for.
    fn lock(&self, job: &Name) -> i64 {
        let digest = Canonical::new("discreet lock 1").text(&self.address.ledger).text(job.as_str()).finish();
        digest.bytes().first_chunk().map_or(0, |bytes| i64::from_be_bytes(*bytes))
    }

    fn prepared(
        &mut self,
        statement: &'static str,
        values: &[SqlValue<'_>],
    ) -> Result<Statement, postgres::Error> {
        if let Some(known) = self.session.statements.get(statement) {
            return Ok(known.clone());
        }
        // The types are given, because Postgres would infer a narrower number than the column's from `?3 -
        // 1`.
        let types: Vec<Type> = values.iter().map(kind).collect();
        let prepared = self.session.client.prepare_typed(&statement.replace('?', "$"), &types)?;
        self.session.statements.insert(statement, prepared.clone());
        Ok(prepared)
    }

    fn failed(&mut self, error: &postgres::Error) -> LedgerError {
        self.session.failed = true;
        session::before_commit(error)
    }
}

impl Store for Postgres {
    fn begin(&mut self) -> Result<(), LedgerError> {
        self.exclude_again()?;
        let begun = self.session.begin();
        if begun.is_err() {
            self.roll_back();
        }
        begun
    }

    fn snapshot(&mut self) -> Result<(), LedgerError> {
        let begun = self.session.snapshot();
        if begun.is_err() {
            self.roll_back();
        }
        begun
    }

    fn commit(&mut self) -> Result<(), LedgerError> {
        self.session.commit()
    }

    fn roll_back(&mut self) {
        let _ = self.session.client.batch_execute("ROLLBACK");
    }

    fn execute(&mut self, statement: &'static str, values: &[SqlValue<'_>]) -> Result<u64, LedgerError> {
        let prepared = self.prepared(statement, values).map_err(|error| self.failed(&error))?;
        let parameters: Vec<Parameter<'_>> = values.iter().copied().map(Parameter).collect();
        let parameters: Vec<&(dyn ToSql + Sync)> = parameters.iter().map(|value| value as _).collect();
        self.session.client.execute(&prepared, &parameters).map_err(|error| self.failed(&error))
    }

    fn read(
        &mut self,
        statement: &'static str,
        values: &[SqlValue<'_>],
        take: &mut dyn FnMut(&dyn SqlRow) -> Result<(), LedgerError>,
    ) -> Result<(), LedgerError> {
        let prepared = self.prepared(statement, values).map_err(|error| self.failed(&error))?;
        let mut each = || {
            let mut rows = self.session.client.query_raw(&prepared, values.iter().copied().map(Parameter))?;
            while let Some(row) = rows.next()? {
                if let Err(trouble) = take(&row) {
                    return Ok(Err(trouble));
                }
            }
            Ok(Ok(()))
        };
        each().map_err(|error| self.failed(&error))?
    }

    fn check(&mut self) -> Result<(), LedgerError> {
        self.snapshot()?;
        let outcome = tables::compare(&mut self.session);
        self.roll_back();
        outcome
    }

    /// Takes a lock of the session, which ends with the connection. A predecessor that has just died is
    /// waited for.
    fn exclude(&mut self, job: &Name) -> Result<Option<FileLock>, LedgerError> {
        let lock = format!(
            "BEGIN; SET LOCAL lock_timeout = '1500ms'; SELECT pg_advisory_lock({}); COMMIT",
            self.lock(job)
        );
        if let Err(trouble) = self.session.rows(&lock) {
            self.roll_back();
            if trouble.kind() != LedgerErrorKind::Busy {
                return Err(trouble);
            }
            let message = format!("job {job} is running already, over another connection to the server");
            return Err(LedgerError::new(LedgerErrorKind::Fenced, message));
        }
        self.jobs.push(job.clone());
        self.call(job)?;
        Ok(None)
    }

    fn reconnect(&mut self) -> Result<(), LedgerError> {
        let mut session = known(&self.address)?;
        session.succeed(&self.session);
        self.session = session;
        self.missing = self.jobs.clone();
        Ok(())
    }

    /// Copies to a file, for a copy on the same server would be lost with it.
    fn export(&mut self, to: &Path) -> Result<(), LedgerError> {
        let mut file = Sqlite::create(to)?;
        let copied = copy::copy(self, &mut file);
        if copied.is_err() {
            drop(file);
            // A partial copy is of no use.
            let _ = std::fs::remove_file(to);
        }
        copied
    }

    fn shrink(&mut self) -> Result<(), LedgerError> {
        // One message each: a message of several statements is a transaction, and this is none.
        for statement in
            ["SET statement_timeout = 0", "VACUUM release", "VACUUM balance", "SET statement_timeout = '30s'"]
        {
            self.session.rows(statement)?;
        }
        Ok(())
    }

    fn is_remote(&self) -> bool {
        true
    }

    fn warning(&self) -> Option<String> {
        let warning = "the ledger's server keeps no checksums of its pages, so a torn one may go unnoticed; \
                       `pg_checksums --enable` gives it some";
        (!self.session.checksums).then(|| warning.to_owned())
    }
}

impl fmt::Debug for Postgres {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Postgres").field("address", &self.address).finish_non_exhaustive()
    }
}

/// Connects to the server, and checks that the ledger was created on it.
fn known(address: &Address) -> Result<Session, LedgerError> {
    let mut session = Session::open(address)?;
    let schema = &address.ledger;
    let there = session.rows("SELECT to_regclass('server')")?;
    if there.first().and_then(|row| row.get(0)).is_none() {
        return Err(LedgerError::refused(format!(
            "ledger {schema}: the database has none of that name; make it with `discreet ledger init`"
        )));
    }
    let made = session.rows("SELECT system, timeline FROM server ORDER BY timeline DESC LIMIT 1")?;
    let held = made.first().and_then(|row| Some((row.get(0)?.to_owned(), row.get(1)?.parse::<u32>().ok()?)));
    let Some((system, timeline)) = held else {
        return Err(LedgerError::doubt(format!(
            "ledger {schema}: it does not say on which server it was made"
        )));
    };
    let ServerIdentity { system: found, timeline: now } = session.identity.clone();
    if found != system {
        return Err(LedgerError::doubt(format!(
            "ledger {schema}: it was made on the server with system identifier {system}, and this is {found}: a copy \
             does not know what was released since"
        )));
    }
    if now == timeline {
        return Ok(session);
    }
    if now < timeline || address.timeline != Some(now) {
        return Err(LedgerError::doubt(format!(
            "ledger {schema}: the server is on timeline {now}, and was on {timeline}: it was restored or failed over, and \
             may have lost commits; compare the ledger with its anchors, then vouch for it with &timeline={now} in the \
             address"
        )));
    }
    session.rows(&format!("BEGIN; INSERT INTO server VALUES ({now}, '{system}') ON CONFLICT DO NOTHING"))?;
    session.commit()?;
    Ok(session)
}
