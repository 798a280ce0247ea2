//! A ledger in one SQLite file: the embedded default. Any number of processes may share it; a job runs in one of them.

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags, OptionalExtension, Row as Record, TransactionBehavior, params};

use super::canonical::Digest;
use super::name::Name;
use super::rows::{Amendment, Charge, Domain, Fate, Release, Row};
use super::rows::{
    decode, encode, fate_column, promise_columns, read_fate, read_promise, read_relation, read_unit,
    relation_column, unit_column,
};
use super::schema::{self, at_commit, before_commit};
use super::trouble::{Trouble, TroubleKind};
use super::{lines, place, verify};
use crate::accounting::{Account, Amount, Interval, Neighbours, Refused};

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
    /// How it is paid for.
    pub charge: Charge,
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

/// The row that this release gets, with its charge made: sealed as asked if it fits, refused if not.
fn charged(connection: &Connection, claim: &Claim, sealing: &Sealing) -> Result<Row, Trouble> {
    let release = &sealing.release;
    let domain = amended_domain(connection, &release.domain).map_err(before_commit)?;
    let domain = domain.ok_or_else(|| unknown_domain(&release.domain))?;
    let mut row = Row {
        sequence: 0,
        release: release.clone(),
        generation: claim.generation,
        fate: sealing.fate,
        cost: None,
        prepaid: None,
        line: sealing.line.clone(),
        delivered: false,
        chain: Digest::NONE,
    };
    let cost = match &sealing.charge {
        Charge::Nothing => return Ok(row),
        Charge::Prepaid { by } => {
            row.prepaid = Some(*by);
            return Ok(row);
        }
        Charge::Cost(cost) => cost,
    };
    let mut account = fetch(connection, &domain, release.window)?;
    let before = account.entries();
    match account.charge(release.window, cost) {
        Ok(()) => {
            row.cost = Some(cost.amount().in_currency_of(&domain.cap)?);
            for (place, spent) in
                account.entries().iter().filter(|(place, spent)| before.get(place) != Some(spent))
            {
                let mut statement = connection
                    .prepare_cached(
                        "INSERT INTO account VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET spent = excluded.spent",
                    )
                    .map_err(before_commit)?;
                statement
                    .execute(params![domain.name.as_str(), place, encode(spent)])
                    .map_err(before_commit)?;
            }
        }
        Err(Refused::Budget { spent, asked, limit }) => {
            row.fate = Fate::Refused;
            row.line = lines::refusal(release, &spent, &asked, &limit);
        }
        Err(Refused::Uncountable(invalid)) => return Err(invalid.into()),
    }
    Ok(row)
}

/// As much of a domain's account as a charge for the window can touch.
fn fetch(connection: &Connection, domain: &Domain, window: Interval) -> Result<Account, Trouble> {
    let empty = Account::new(domain.promise, domain.neighbours, domain.cap.clone())?;
    let (floors, range) = empty.places(window);
    let mut statement = connection
        .prepare_cached(
            "SELECT place, spent FROM (SELECT * FROM account WHERE domain = ?1 AND place <= ?2 ORDER BY place DESC LIMIT 1)
             UNION SELECT place, spent FROM (SELECT * FROM account WHERE domain = ?1 AND place <= ?3 ORDER BY place DESC LIMIT 1)
             UNION SELECT place, spent FROM account WHERE domain = ?1 AND place BETWEEN ?4 AND ?5",
        )
        .map_err(before_commit)?;
    let entries = statement
        .query_map(
            params![domain.name.as_str(), floors[0], floors[1], range.start(), range.end()],
            read_entry,
        )
        .and_then(|entries| entries.collect::<Result<_, _>>())
        .map_err(before_commit)?;
    Ok(Account::resume(domain.promise, domain.neighbours, domain.cap.clone(), entries)?)
}

fn write(connection: &Connection, row: &Row) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(
        "INSERT INTO release VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, 0, ?14)",
    )?;
    statement.execute(params![
        &row.release.id().0[..],
        row.sequence,
        row.release.domain.as_str(),
        row.release.job.as_str(),
        &row.release.version.0[..],
        row.release.name.as_str(),
        row.release.window.start(),
        row.release.window.end(),
        row.generation,
        fate_column(row.fate),
        row.cost.as_ref().and_then(encode),
        row.prepaid.as_ref().map(|by| &by.0[..]),
        row.line,
        &row.chain.0[..],
    ])?;
    Ok(())
}

/// Everything of a row, in the order of [`read_row`].
pub(super) const ROWS: &str =
    "SELECT sequence, domain, job, version, name, window_start, window_end, generation,
    fate, cost, prepaid, line, delivered, chain, id FROM release";

fn find(connection: &Connection, release: &Release) -> rusqlite::Result<Option<Row>> {
    let mut statement = connection.prepare_cached(&format!("{ROWS} WHERE window_start = ?1 AND id = ?2"))?;
    statement.query_row(params![release.window.start(), &release.id().0[..]], read_row).optional()
}

pub(super) fn read_row(row: &Record<'_>) -> rusqlite::Result<Row> {
    let window = Interval::new(row.get(5)?, row.get(6)?);
    let cost: Option<Vec<u8>> = row.get(9)?;
    Ok(Row {
        sequence: row.get(0)?,
        release: Release {
            domain: name(row, 1)?,
            job: name(row, 2)?,
            version: digest(row, 3)?,
            name: name(row, 4)?,
            window: window.map_err(|_| odd(6))?,
        },
        generation: row.get(7)?,
        fate: read_fate(&row.get::<_, String>(8)?).ok_or_else(|| odd(8))?,
        cost: cost.map(|bytes| decode(&bytes).ok_or_else(|| odd(9))).transpose()?,
        prepaid: if row.get_ref(10)? == rusqlite::types::ValueRef::Null {
            None
        } else {
            Some(digest(row, 10)?)
        },
        line: row.get(11)?,
        delivered: row.get::<_, i64>(12)? != 0,
        chain: digest(row, 13)?,
    })
}

/// A domain as it was stated, and the hash of its row.
pub(super) fn read_stated(row: &Record<'_>) -> rusqlite::Result<(i64, Domain, Digest)> {
    let unit = read_unit(&row.get::<_, String>(2)?).ok_or_else(|| odd(2))?;
    let relation = read_relation(&row.get::<_, String>(3)?).ok_or_else(|| odd(3))?;
    let span = u64::try_from(row.get::<_, i64>(5)?).map_err(|_| odd(5))?;
    let promise = read_promise(&row.get::<_, String>(4)?, span).ok_or_else(|| odd(4))?;
    let cap = decode(&row.get::<_, Vec<u8>>(6)?).ok_or_else(|| odd(6))?;
    let domain =
        Domain::new(name(row, 0)?, Neighbours { unit, relation }, promise, cap).map_err(|_| odd(4))?;
    Ok((row.get(1)?, domain, digest(row, 7)?))
}

pub(super) fn read_amendment(row: &Record<'_>) -> rusqlite::Result<(Amendment, Digest)> {
    let cap = decode(&row.get::<_, Vec<u8>>(2)?).ok_or_else(|| odd(2))?;
    let amendment =
        Amendment { sequence: row.get(0)?, domain: name(row, 1)?, cap, who: row.get(3)?, why: row.get(4)? };
    Ok((amendment, digest(row, 5)?))
}

pub(super) fn read_entry(row: &Record<'_>) -> rusqlite::Result<(i64, Amount)> {
    Ok((row.get(0)?, decode(&row.get::<_, Vec<u8>>(1)?).ok_or_else(|| odd(1))?))
}

fn read_domain(connection: &Connection, name: &Name) -> rusqlite::Result<Option<Domain>> {
    let mut statement = connection.prepare_cached("SELECT * FROM domain WHERE name = ?1")?;
    let stated = statement.query_row([name.as_str()], read_stated).optional()?;
    Ok(stated.map(|(_, domain, _)| domain))
}

/// A domain with the cap of its last amendment.
fn amended_domain(connection: &Connection, name: &Name) -> rusqlite::Result<Option<Domain>> {
    let Some(mut domain) = read_domain(connection, name)? else { return Ok(None) };
    let mut statement = connection
        .prepare_cached("SELECT * FROM amendment WHERE domain = ?1 ORDER BY sequence DESC LIMIT 1")?;
    if let Some((amendment, _)) = statement.query_row([name.as_str()], read_amendment).optional()? {
        domain.cap = amendment.cap;
    }
    Ok(Some(domain))
}

fn name(row: &Record<'_>, column: usize) -> rusqlite::Result<Name> {
    Name::new("name", &row.get::<_, String>(column)?).map_err(|_| odd(column))
}

pub(super) fn digest(row: &Record<'_>, column: usize) -> rusqlite::Result<Digest> {
    row.get::<_, [u8; 32]>(column).map(Digest)
}

/// A column that holds what this library never writes.
fn odd(column: usize) -> rusqlite::Error {
    rusqlite::Error::InvalidColumnType(
        column,
        "no such thing is ever written".into(),
        rusqlite::types::Type::Null,
    )
}

fn unknown_domain(name: &Name) -> Trouble {
    Trouble::refused(format!(
        "domain {name}: this ledger has none of that name; state it with `discreet ledger init`"
    ))
}
