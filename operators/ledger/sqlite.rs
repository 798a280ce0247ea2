//! A ledger in one SQLite file: the embedded default. Any number of processes may share it; a job runs in one of them.

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags, OptionalExtension, TransactionBehavior, params};

use super::canonical::Digest;
use super::charge::{charged, fetch, unknown_domain};
use super::name::Name;
use super::records::{ROWS, amended_domain, digest, find, read_domain, read_row, write};
use super::rows::{Amendment, Charge, Domain, Fate, Release, Row};
use super::rows::{encode, promise_columns, relation_column, unit_column};
use super::schema::{self, at_commit, before_commit};
use super::trouble::{Trouble, TroubleKind};
use super::{place, verify};
use crate::accounting::{Amount, Interval};

/// An open ledger.
///
/// Opening recomputes the chain and every account from the rows; a ledger that does not add up is not opened. It is
/// never made by opening: a mistyped path must not be a fresh budget.
#[derive(Debug)]
pub struct Ledger {
    pub(super) connection: Connection,
    path: PathBuf,
    name: Digest,
}

/// A job's right to seal, until a later process takes it over.
#[derive(Debug)]
pub struct Claim {
    job: Name,
    generation: i64,
    /// Held for as long as the claim lives, so that a second process fails at once instead of at its first seal.
    _lock: File,
}

impl Claim {
    /// The job.
    pub(super) fn job(&self) -> &Name {
        &self.job
    }

    /// How many processes of this job have held the claim, this one included.
    pub fn generation(&self) -> i64 {
        self.generation
    }
}

/// What is to be written about one release.
#[derive(Clone, Debug)]
pub struct Sealing {
    /// The release.
    pub release: Release,
    /// How it is paid for. What is skipped costs nothing; nothing else may.
    pub charge: Option<Charge>,
    /// What is to become of it, where it fits the budget.
    pub fate: Fate,
    /// The line that may leave then.
    pub line: String,
}

impl Ledger {
    /// Makes an empty ledger.
    ///
    /// # Errors
    ///
    /// If there is a file already, or none can be made there.
    pub fn create(path: impl AsRef<Path>) -> Result<Ledger, Trouble> {
        let path = path.as_ref();
        let refuse = |error| Trouble::refused(format!("ledger {}: {error}", path.display()));
        OpenOptions::new().write(true).create_new(true).open(path).map_err(refuse)?;
        place::check(path)?;
        let mut name = [0; 32];
        getrandom::fill(&mut name).map_err(|error| Trouble::refused(format!("no randomness: {error}")))?;
        let connection = connect(path)?;
        connection.execute_batch(&format!("BEGIN IMMEDIATE; {}", schema::TABLES)).map_err(before_commit)?;
        connection
            .execute("INSERT INTO meta VALUES (1, ?1, ?2)", params![schema::FORMAT, &name[..]])
            .and_then(|_| connection.execute("INSERT INTO head VALUES (1, 0, ?1)", [&Digest::NONE.0[..]]))
            .map_err(before_commit)?;
        connection.execute_batch("COMMIT").map_err(at_commit)?;
        // The file's name is durable only with its directory.
        let directory =
            path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        File::open(directory).and_then(|directory| directory.sync_all()).map_err(refuse)?;
        drop(connection);
        Ledger::open(path)
    }

    /// Opens a ledger, and trusts it only if everything in it adds up.
    ///
    /// # Errors
    ///
    /// [`TroubleKind::Refused`] for a path that holds no ledger or one of another format, [`TroubleKind::Doubt`] for one
    /// that is torn or edited.
    pub fn open(path: impl AsRef<Path>) -> Result<Ledger, Trouble> {
        let path = path.as_ref();
        place::check(path)?;
        schema::check_library(rusqlite::version_number())?;
        let connection = connect(path)?;
        let (format, name): (i64, Digest) = connection
            .query_row("SELECT format, ledger FROM meta", [], |row| Ok((row.get(0)?, digest(row, 1)?)))
            .map_err(|error| Trouble::doubt(format!("ledger {}: {error}", path.display())))?;
        if format != schema::FORMAT {
            let message = format!(
                "ledger {}: its format is {format}, and this is for {}",
                path.display(),
                schema::FORMAT
            );
            return Err(Trouble::refused(message));
        }
        let ledger = Ledger { connection, path: path.to_owned(), name };
        ledger.verify()?;
        Ok(ledger)
    }

    /// A random number that tells this ledger from every other.
    pub fn name(&self) -> &Digest {
        &self.name
    }

    /// A word of warning about where it lies, if there is one.
    pub fn warning(&self) -> Option<String> {
        place::warning(&self.path)
    }

    /// How many rows there are, and the hash of all of them.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub fn head(&self) -> Result<(i64, Digest), Trouble> {
        head(&self.connection).map_err(before_commit)
    }

    /// Recomputes the chain and every account from the rows, and compares.
    ///
    /// # Errors
    ///
    /// [`TroubleKind::Doubt`], saying what does not add up.
    pub fn verify(&self) -> Result<(), Trouble> {
        verify::verify(&self.connection)
    }

    /// States a domain. Stating it again, in the same words, changes nothing.
    ///
    /// # Errors
    ///
    /// If there is one of this name with other words: a domain is stated once, and only its cap can be raised.
    pub fn register(&mut self, domain: &Domain) -> Result<(), Trouble> {
        let transaction = begin(&mut self.connection)?;
        if let Some(known) = read_domain(&transaction, domain.name()).map_err(before_commit)? {
            if known == *domain {
                return Ok(());
            }
            return Err(Trouble::refused(format!(
                "domain {} is stated already, in other words",
                domain.name()
            )));
        }
        let (sequence, previous) = next(&transaction)?;
        let (promise, span) = promise_columns(domain.promise);
        let cap = encode(&domain.cap).unwrap_or_default();
        let chain = domain.chained(&previous, sequence, &cap);
        transaction
            .execute(
                "INSERT INTO domain VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                params![
                    domain.name.as_str(),
                    sequence,
                    unit_column(domain.neighbours.unit),
                    relation_column(domain.neighbours.relation),
                    promise,
                    span as i64,
                    cap,
                    &chain.0[..]
                ],
            )
            .map_err(before_commit)?;
        advance(&transaction, sequence, &chain)?;
        transaction.commit().map_err(at_commit)
    }

    /// The domains, each with its cap as last amended.
    ///
    /// # Errors
    ///
    /// If they cannot be read.
    pub fn domains(&self) -> Result<Vec<Domain>, Trouble> {
        let mut statement =
            self.connection.prepare("SELECT name FROM domain ORDER BY name").map_err(before_commit)?;
        let names = statement.query_map([], |row| row.get::<_, String>(0)).map_err(before_commit)?;
        names
            .map(|name| {
                let name = Name::new("domain", &name.map_err(before_commit)?)?;
                let domain = amended_domain(&self.connection, &name).map_err(before_commit)?;
                domain.ok_or_else(|| Trouble::doubt(format!("domain {name} vanished")))
            })
            .collect()
    }

    /// Raises the cap of a domain, and keeps who answers for it and why.
    ///
    /// # Errors
    ///
    /// If the domain is unknown, the new cap is not above the old one, or `who` or `why` is empty.
    pub fn amend(&mut self, domain: &Name, cap: &Amount, who: &str, why: &str) -> Result<(), Trouble> {
        if who.trim().is_empty() || why.trim().is_empty() {
            return Err(Trouble::refused("amendment: found nothing; say who raises the cap, and why"));
        }
        let transaction = begin(&mut self.connection)?;
        let known = amended_domain(&transaction, domain).map_err(before_commit)?;
        let known = known.ok_or_else(|| unknown_domain(domain))?;
        if *cap == known.cap || !known.cap.within(cap) {
            return Err(Trouble::refused(format!(
                "domain {domain}: a cap can only be raised; it is {}",
                known.cap
            )));
        }
        let (sequence, previous) = next(&transaction)?;
        let amendment = Amendment {
            sequence,
            domain: domain.clone(),
            cap: cap.clone(),
            who: who.into(),
            why: why.into(),
        };
        let chain = amendment.chained(&previous);
        transaction
            .execute(
                "INSERT INTO amendment VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                params![sequence, domain.as_str(), encode(cap), who, why, &chain.0[..]],
            )
            .map_err(before_commit)?;
        advance(&transaction, sequence, &chain)?;
        transaction.commit().map_err(at_commit)
    }

    /// Takes a job's fence: whoever held it before can seal no more.
    ///
    /// # Errors
    ///
    /// [`TroubleKind::Fenced`] where a process of this job is running.
    pub fn claim(&mut self, job: &Name) -> Result<Claim, Trouble> {
        let path = lock_path(&self.path, job);
        let refuse = |error| Trouble::refused(format!("{}: {error}", path.display()));
        let lock = OpenOptions::new().write(true).create(true).truncate(false).open(&path).map_err(refuse)?;
        if lock.try_lock().is_err() {
            let message = format!("job {job} is running already, in a process that holds {}", path.display());
            return Err(Trouble::new(TroubleKind::Fenced, message));
        }
        let transaction = begin(&mut self.connection)?;
        let generation = transaction
            .query_row(
                "INSERT INTO fence VALUES (?1, 1) ON CONFLICT (job) DO UPDATE SET generation = generation + 1
                 RETURNING generation",
                [job.as_str()],
                |row| row.get(0),
            )
            .map_err(before_commit)?;
        transaction.commit().map_err(at_commit)?;
        Ok(Claim { job: job.clone(), generation, _lock: lock })
    }

    /// The row of this release, if there is one.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub fn look_up(&self, release: &Release) -> Result<Option<Row>, Trouble> {
        find(&self.connection, release).map_err(before_commit)
    }

    /// The rows of a job whose delivery is not known, oldest first.
    ///
    /// # Errors
    ///
    /// If they cannot be read.
    pub fn undelivered(&self, job: &Name) -> Result<Vec<Row>, Trouble> {
        let statement = format!("{ROWS} WHERE job = ?1 AND delivered = 0 ORDER BY sequence");
        let mut statement = self.connection.prepare_cached(&statement).map_err(before_commit)?;
        let rows = statement.query_map([job.as_str()], read_row).map_err(before_commit)?;
        rows.collect::<Result<_, _>>().map_err(before_commit)
    }

    /// Writes releases, together, in one durable commit; gives back the rows as they are then read, in the same order.
    ///
    /// A release that has a row keeps it, whatever is asked now. One that does not fit its domain's budget is written
    /// as refused, at no cost. After an error no row is known to be written; after [`TroubleKind::Unknown`] none is
    /// known not to be.
    ///
    /// # Errors
    ///
    /// [`TroubleKind::Fenced`] where a later process has the claim, [`TroubleKind::Refused`] for an unknown domain or a
    /// cost that it cannot count, [`TroubleKind::Busy`] where another writer did not end, and what
    /// [`TroubleKind`] says of the others.
    pub fn seal(&mut self, claim: &Claim, batch: &[Sealing]) -> Result<Vec<Row>, Trouble> {
        let transaction = begin(&mut self.connection)?;
        let generation: Option<i64> = transaction
            .query_row("SELECT generation FROM fence WHERE job = ?1", [claim.job.as_str()], |row| row.get(0))
            .optional()
            .map_err(before_commit)?;
        if generation != Some(claim.generation) {
            let message = format!("job {}: a later process has taken over", claim.job);
            return Err(Trouble::new(TroubleKind::Fenced, message));
        }
        let (mut sequence, mut chain) = head(&transaction).map_err(before_commit)?;
        for sealing in batch {
            if find(&transaction, &sealing.release).map_err(before_commit)?.is_some() {
                continue;
            }
            let mut row = charged(&transaction, claim, sealing)?;
            sequence += 1;
            row.sequence = sequence;
            row.chain = row.chained(&chain);
            chain = row.chain;
            write(&transaction, &row).map_err(before_commit)?;
        }
        if (sequence, chain) != head(&transaction).map_err(before_commit)? {
            advance(&transaction, sequence, &chain)?;
        }
        transaction.commit().map_err(at_commit)?;
        batch
            .iter()
            .map(|sealing| {
                let row = self.look_up(&sealing.release)?;
                row.ok_or_else(|| Trouble::doubt("a row that was committed cannot be read"))
            })
            .collect()
    }

    /// Writes that the lines of these rows have left, or are about to; says for each whether that is news.
    ///
    /// # Errors
    ///
    /// As [`seal`](Ledger::seal).
    pub fn mark(&mut self, rows: &[Row]) -> Result<Vec<bool>, Trouble> {
        let transaction = begin(&mut self.connection)?;
        let mut news = Vec::with_capacity(rows.len());
        for row in rows {
            let mut statement = transaction
                .prepare_cached("UPDATE release SET delivered = 1 WHERE sequence = ?1 AND delivered = 0")
                .map_err(before_commit)?;
            news.push(statement.execute([row.sequence]).map_err(before_commit)? == 1);
        }
        transaction.commit().map_err(at_commit)?;
        Ok(news)
    }

    /// What counts against a window's release now, and the cap it must stay under.
    ///
    /// # Errors
    ///
    /// If the domain is unknown.
    pub fn spent(&self, domain: &Name, window: Interval) -> Result<(Amount, Amount), Trouble> {
        let known = amended_domain(&self.connection, domain).map_err(before_commit)?;
        let known = known.ok_or_else(|| unknown_domain(domain))?;
        let account = fetch(&self.connection, &known, window)?;
        Ok((account.spent(window)?, known.cap))
    }

    /// How many releases of a domain are sealed, and the window that ends last; the first moment of time where there
    /// is none.
    ///
    /// # Errors
    ///
    /// If they cannot be read.
    pub fn releases(&self, domain: &Name) -> Result<(u64, Interval), Trouble> {
        let statement = "SELECT count(*), window_start, max(window_end) FROM release WHERE domain = ?1 AND fate = 'sealed'";
        let (count, start, end): (i64, Option<i64>, Option<i64>) = self
            .connection
            .query_row(statement, [domain.as_str()], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .map_err(before_commit)?;
        let window = Interval::new(start.unwrap_or(0), end.unwrap_or(1))?;
        Ok((count.unsigned_abs(), window))
    }

    /// Copies the ledger, as one commit left it, to a new file.
    ///
    /// # Errors
    ///
    /// If there is a file already, or it cannot be written.
    pub fn export(&self, to: impl AsRef<Path>) -> Result<(), Trouble> {
        let to = to.as_ref();
        if fs::exists(to).unwrap_or(true) {
            return Err(Trouble::refused(format!(
                "export {}: there is a file already; give a new path",
                to.display()
            )));
        }
        let to = to.to_str().ok_or_else(|| Trouble::refused("export: give a path in UTF-8"))?;
        self.connection.execute("VACUUM INTO ?1", [to]).map_err(before_commit)?;
        Ok(())
    }
}

fn connect(path: &Path) -> Result<Connection, Trouble> {
    // Never `CREATE`: see `Ledger::create`. Never a URI, in which a path could smuggle options.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(before_commit)?;
    schema::settle(&connection)?;
    Ok(connection)
}

fn lock_path(ledger: &Path, job: &Name) -> PathBuf {
    let mut path = ledger.as_os_str().to_owned();
    path.push(format!(".{job}.lock"));
    PathBuf::from(path)
}

/// Immediate: a transaction that reads before it asks for the write lock fails at once when another writes in between.
fn begin(connection: &mut Connection) -> Result<rusqlite::Transaction<'_>, Trouble> {
    connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(before_commit)
}

pub(super) fn head(connection: &Connection) -> rusqlite::Result<(i64, Digest)> {
    let mut statement = connection.prepare_cached("SELECT sequence, chain FROM head")?;
    statement.query_row([], |row| Ok((row.get(0)?, digest(row, 1)?)))
}

fn next(connection: &Connection) -> Result<(i64, Digest), Trouble> {
    let (sequence, chain) = head(connection).map_err(before_commit)?;
    Ok((sequence + 1, chain))
}

fn advance(connection: &Connection, sequence: i64, chain: &Digest) -> Result<(), Trouble> {
    let mut statement =
        connection.prepare_cached("UPDATE head SET sequence = ?1, chain = ?2").map_err(before_commit)?;
    statement.execute(params![sequence, &chain.0[..]]).map_err(before_commit)?;
    Ok(())
}
