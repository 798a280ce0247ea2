//! A session with the server, and the checks before a ledger is trusted over it.

use std::collections::HashMap;
use std::error::Error as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use postgres::config::SslMode;
use postgres::error::{Severity, SqlState};
use postgres::{Client, Config, Error, NoTls, SimpleQueryMessage, SimpleQueryRow, Statement};

use super::super::error::{LedgerError, LedgerErrorKind};
use super::address;
use super::address::{Address, Host};

/// The first version of Postgres with both settings that detect a vanished client:
/// `client_connection_check_interval` and `idle_session_timeout`.
const OLDEST: i64 = 140_000;

/// The required settings of the server. They can be changed while it runs, so a writer reads them again.
const GUARANTEES: [(&str, &str); 3] =
    [("fsync", "on"), ("full_page_writes", "on"), ("server_encoding", "UTF8")];

/// The settings of the session, which are read back.
///
/// A session that is idle inside a transaction holds the lock of every writer, so it ends before a rival
/// stops waiting; a rival stops waiting before its statement times out.
const SETTINGS: [(&str, &str); 10] = [
    ("synchronous_commit", "on"),
    ("idle_in_transaction_session_timeout", "10s"),
    ("lock_timeout", "15s"),
    ("statement_timeout", "30s"),
    ("idle_session_timeout", "0"),
    ("client_connection_check_interval", "5s"),
    ("default_transaction_read_only", "off"),
    // A row security policy that hides rows then makes statements fail instead.
    ("row_security", "off"),
    ("client_min_messages", "warning"),
    // Values that were not committed are not written into the server's log.
    ("log_parameter_max_length_on_error", "0"),
];

/// The keepalives, by which a client that vanished silently is detected in 25 seconds. A Unix socket needs
/// none of them, and reads back zeros.
const KEEPALIVES: [(&str, &str); 4] = [
    ("tcp_keepalives_idle", "10"),
    ("tcp_keepalives_interval", "5"),
    ("tcp_keepalives_count", "3"),
    ("tcp_user_timeout", "25000"),
];

/// The setting that holds the session's token. It is set when the connection is made, and not by a statement:
/// a pooler cannot pass it on, and refuses it or drops it.
const TOKEN: &str = "discreet.session";

/// The identity of a server: its system identifier, and its timeline, which increases with each failover or
/// restore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ServerIdentity {
    pub(super) system: String,
    pub(super) timeline: u32,
}

/// A session that has been checked.
pub(super) struct Session {
    pub(super) client: Client,
    pub(super) statements: HashMap<&'static str, Statement>,
    pub(super) identity: ServerIdentity,
    /// True if the server keeps checksums of its pages.
    pub(super) checksums: bool,
    backend: String,
    /// The random token that only this session was begun with.
    token: String,
    /// The schema of the ledger, which every transaction puts on its own search path.
    schema: String,
    /// The name of the ledger in the schema, in hex, once it has been read.
    ledger: Option<String>,
    warned: Arc<AtomicBool>,
    /// True if a statement of the transaction has failed: then a commit would undo it, and report success.
    pub(super) failed: bool,
}

impl Session {
    /// Connects, applies the settings, and reads everything back.
    pub(super) fn open(address: &Address) -> Result<Session, LedgerError> {
        let warned = Arc::new(AtomicBool::new(false));
        let mut token = [0; 16];
        getrandom::fill(&mut token)
            .map_err(|error| LedgerError::refused(format!("no randomness: {error}")))?;
        let token: String = token.iter().map(|byte| format!("{byte:02x}")).collect();
        let mut client =
            configured(address, &token, &warned)?.connect(NoTls).map_err(|error| at_connect(&error))?;
        // Checked first: a pooler may answer for the server in everything else.
        let held = rows(&mut client, &format!("SELECT current_setting('{TOKEN}', true)"))?;
        if held.first().and_then(|row| row.get(0)) != Some(&token) {
            return Err(pooled("what answers is not the session that was asked for"));
        }
        let version = ask(&mut client, "SHOW server_version_num")?;
        if version.parse::<i64>().is_ok_and(|version| version < OLDEST) {
            return Err(LedgerError::refused(format!(
                "ledger: the server is Postgres {version}, and is needed from {OLDEST} on"
            )));
        }
        if ask(&mut client, "SELECT pg_is_in_recovery()")? != "f" {
            return Err(LedgerError::doubt(
                "ledger: the server is a standby, or not yet recovered; give the primary",
            ));
        }
        settle(&mut client, address)?;
        let identity = identify(&mut client)?;
        let checksums = ask(&mut client, "SHOW data_checksums")? == "on";
        let backend = ask(&mut client, "SELECT pg_backend_pid()")?;
        Ok(Session {
            client,
            statements: HashMap::new(),
            identity,
            checksums,
            backend,
            token,
            schema: address.ledger.to_string(),
            ledger: None,
            warned,
            failed: false,
        })
    }

    /// Begins a writing transaction behind the one row that all writers change, and checks that the settings
    /// still hold and that this is the session that was opened, in the schema of the same ledger.
    pub(super) fn begin(&mut self) -> Result<(), LedgerError> {
        self.failed = false;
        let (schema, token) = (&self.schema, TOKEN);
        let rows = self.rows(&format!(
            "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SET LOCAL search_path = \"{schema}\", pg_temp;
             SELECT pg_backend_pid(), current_setting('fsync'), current_setting('full_page_writes'),
               current_setting('synchronous_commit'), current_setting('{token}', true),
               (SELECT encode(ledger, 'hex') FROM meta) FROM head FOR UPDATE"
        ))?;
        // Only a ledger that is being created has no such row yet.
        let Some(row) = rows.first() else { return Ok(()) };
        let found = [0, 1, 2, 3].map(|column| row.get(column).unwrap_or_default());
        if found != [&*self.backend, "on", "on", "on"] {
            return Err(LedgerError::doubt(format!(
                "ledger: process {} of the server answers with fsync, full_page_writes and synchronous_commit {}, {} \
                 and {}, where process {} and on are needed; connect without a pooler, to a server that syncs",
                found[0], found[1], found[2], found[3], self.backend
            )));
        }
        self.is_the_same(row.get(4), row.get(5))
    }

    /// Begins a transaction that reads, without a timeout, with the same checks.
    pub(super) fn snapshot(&mut self) -> Result<(), LedgerError> {
        self.failed = false;
        let (schema, token) = (&self.schema, TOKEN);
        let rows = self.rows(&format!(
            "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL search_path = \"{schema}\", pg_temp;
             SET LOCAL statement_timeout = 0;
             SELECT current_setting('{token}', true), encode(ledger, 'hex') FROM meta"
        ))?;
        let Some(row) = rows.first() else { return Ok(()) };
        self.is_the_same(row.get(0), row.get(1))
    }

    /// Checks that a transaction is in the session that was opened, and in the ledger that was read first.
    fn is_the_same(&mut self, token: Option<&str>, ledger: Option<&str>) -> Result<(), LedgerError> {
        if token != Some(&*self.token) {
            let doubt = pooled("another session answers than the one that was opened");
            return Err(LedgerError::doubt(doubt.to_string()));
        }
        let Some(ledger) = ledger else { return Ok(()) };
        let known = self.ledger.get_or_insert_with(|| ledger.to_owned());
        if known == ledger {
            return Ok(());
        }
        Err(LedgerError::doubt(format!(
            "ledger {}: the schema holds another ledger than before; open it anew, and compare it with its anchors",
            self.schema
        )))
    }

    /// Takes over the name of the ledger from an earlier session.
    pub(super) fn succeed(&mut self, earlier: &Session) {
        self.ledger.clone_from(&earlier.ledger);
    }

    /// Commits, and trusts the commit only if the server adds no warning: it warns if a transaction is not on
    /// the standby that it waits for, and if there was no transaction.
    pub(super) fn commit(&mut self) -> Result<(), LedgerError> {
        if self.failed {
            return Err(LedgerError::new(
                LedgerErrorKind::Busy,
                "ledger: a statement failed, so nothing was written",
            ));
        }
        self.warned.store(false, Ordering::Relaxed);
        self.client.batch_execute("COMMIT").map_err(|error| at_commit(&error))?;
        if self.warned.load(Ordering::Relaxed) {
            return Err(LedgerError::doubt(
                "ledger: the server warned at a commit, as where it is not on a standby; its log says more",
            ));
        }
        Ok(())
    }

    /// Runs statements without parameters, and returns the rows of all of them as text.
    pub(super) fn rows(&mut self, statements: &str) -> Result<Vec<SimpleQueryRow>, LedgerError> {
        rows(&mut self.client, statements)
    }
}

fn configured(address: &Address, token: &str, warned: &Arc<AtomicBool>) -> Result<Config, LedgerError> {
    let mut config = Config::new();
    match &address.host {
        Host::Loopback(name) => config.host(name),
        Host::Socket(directory) => config.host_path(directory),
    };
    config.port(address.port).user(&address.user).dbname(&address.database).ssl_mode(SslMode::Disable);
    config.application_name(&format!("discreet {}", address.ledger));
    config.options(&format!("-c {TOKEN}={token}"));
    config.connect_timeout(Duration::from_secs(10)).tcp_user_timeout(Duration::from_secs(25));
    config
        .keepalives_idle(Duration::from_secs(10))
        .keepalives_interval(Duration::from_secs(5))
        .keepalives_retries(3);
    if let Some(password) = address::find(address)? {
        config.password(password.as_bytes());
    }
    let warned = Arc::clone(warned);
    config.notice_callback(move |notice| {
        // An unknown severity is taken for a warning.
        let harmless = [Severity::Notice, Severity::Info, Severity::Log, Severity::Debug];
        if notice.parsed_severity().is_none_or(|severity| !harmless.contains(&severity)) {
            warned.store(true, Ordering::Relaxed);
        }
    });
    Ok(config)
}

fn settle(client: &mut Client, address: &Address) -> Result<(), LedgerError> {
    let keepalives = match address.host {
        Host::Loopback(_) => &KEEPALIVES[..],
        Host::Socket(_) => &[],
    };
    let settings = SETTINGS.iter().chain(keepalives);
    let mut statements = format!("SET search_path = \"{}\", pg_temp;", address.ledger);
    statements.extend(settings.clone().map(|(name, value)| format!("SET {name} = '{value}';")));
    client.batch_execute(&statements).map_err(|error| before_commit(&error))?;
    for (name, expected) in settings.chain(&GUARANTEES) {
        let found = ask(client, &format!("SHOW {name}"))?;
        if found != *expected {
            return Err(LedgerError::doubt(format!(
                "ledger: the server keeps {name} = {found} where {expected} is needed"
            )));
        }
    }
    Ok(())
}

/// Reads the identity of the server. The timeline is the first part of the name of the file that the server
/// writes to; its control file may still hold the previous one.
fn identify(client: &mut Client) -> Result<ServerIdentity, LedgerError> {
    let system = ask(client, "SELECT system_identifier FROM pg_control_system()")?;
    let file = ask(client, "SELECT pg_walfile_name(pg_current_wal_lsn())")?;
    let timeline = file.get(..8).and_then(|digits| u32::from_str_radix(digits, 16).ok());
    let timeline =
        timeline.ok_or_else(|| LedgerError::doubt("ledger: the server does not say its timeline"))?;
    Ok(ServerIdentity { system, timeline })
}

/// The single value that a statement returns.
fn ask(client: &mut Client, statement: &str) -> Result<String, LedgerError> {
    let answer = rows(client, statement)?.into_iter().next();
    let answer = answer.as_ref().and_then(|row| row.get(0)).map(str::to_owned);
    answer.ok_or_else(|| LedgerError::doubt("ledger: the server does not say what it was asked"))
}

fn rows(client: &mut Client, statements: &str) -> Result<Vec<SimpleQueryRow>, LedgerError> {
    let messages = client.simple_query(statements).map_err(|error| before_commit(&error))?;
    let row = |message| match message {
        SimpleQueryMessage::Row(row) => Some(row),
        _ => None,
    };
    Ok(messages.into_iter().filter_map(row).collect())
}

// Conversion of errors of the server to ledger errors, by their effect on the ledger. Details of the
// server's errors are never repeated: they quote rows, and a row that was not committed holds a draw of
// noise that nobody may see.

/// Converts an error of any statement but a commit: nothing was written. [`LedgerErrorKind::Unknown`] means
/// that this connection is unusable, so that a gate retries over another.
pub(super) fn before_commit(error: &Error) -> LedgerError {
    LedgerError::new(kind(error), format!("ledger: {}", said(error)))
}

/// Converts an error of a commit. Only an answer that the transaction was undone is trusted.
pub(super) fn at_commit(error: &Error) -> LedgerError {
    let undone = [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED];
    let kind = match error.code() {
        Some(code) if undone.contains(code) => LedgerErrorKind::Busy,
        _ => LedgerErrorKind::Unknown,
    };
    LedgerError::new(kind, format!("ledger: the commit did not end: {}", said(error)))
}

/// Converts an error of connecting: a server that cannot be reached may be back soon; one that denies access
/// will not grant it.
pub(super) fn at_connect(error: &Error) -> LedgerError {
    let kind = match error.code().map(SqlState::code) {
        Some(code) if code.starts_with("28") || code.starts_with("3D") => LedgerErrorKind::Refused,
        // A server accepts the token of a session; a pooler reports an unknown parameter.
        Some("08P01") => return pooled(&said(error)),
        Some(_) => kind(error),
        // The crate gives this text for a missing password, and no public kind.
        None if error.to_string() == "invalid configuration" => {
            return LedgerError::refused(
                "ledger: the server asks for a password, and there is none for it in PGPASSWORD, in the file that \
                 PGPASSFILE names, or in ~/.pgpass",
            );
        }
        None => LedgerErrorKind::Unknown,
    };
    LedgerError::new(kind, format!("ledger: no connection to the server: {}", said(error)))
}

/// The error for a pooler between this process and the server, which hands sessions from one client to
/// another, or may.
pub(super) fn pooled(found: &str) -> LedgerError {
    LedgerError::refused(format!(
        "ledger: {found}: there is a pooler in front of the server, which gives one session to many clients; connect to \
         the server itself"
    ))
}

fn kind(error: &Error) -> LedgerErrorKind {
    match error.code() {
        Some(code) => kind_of(code.code()),
        // An error that is neither an answer nor a broken connection is a column with an invalid value.
        None if error.is_closed() || error.source().is_some_and(|source| source.is::<std::io::Error>()) => {
            LedgerErrorKind::Unknown
        }
        None => LedgerErrorKind::Doubt,
    }
}

/// The kind of an error, by the class and the code of its SQLSTATE.
fn kind_of(code: &str) -> LedgerErrorKind {
    match code {
        // The answer was lost; or the server ends the session, is shutting down, or has become a standby.
        "40003" | "25P03" | "25006" => LedgerErrorKind::Unknown,
        // The server undid the transaction itself, or a timeout that the session has set passed.
        "40001" | "40P01" | "55P03" | "57014" => LedgerErrorKind::Busy,
        _ => match &code[..code.len().min(2)] {
            // Connections; no room, memory or disk; an operator's intervention; the server's own files.
            "08" | "53" | "57" | "58" => LedgerErrorKind::Unknown,
            // Damage.
            "XX" | "F0" => LedgerErrorKind::Doubt,
            // Constraints, triggers, rights.
            _ => LedgerErrorKind::Refused,
        },
    }
}

/// The message of the server, without its details, or the state of the connection.
fn said(error: &Error) -> String {
    match error.as_db_error() {
        Some(answer) => format!("{} ({})", answer.message(), answer.code().code()),
        None => match error.source().filter(|source| source.is::<std::io::Error>()) {
            Some(source) => format!("{error}: {source}"),
            None => error.to_string(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Refutes trust in a pooler that runs one session's transactions in several processes of the server.
    #[test]
    fn another_process_of_the_server_than_the_one_that_was_checked_is_in_doubt() {
        let Some(server) = crate::server::shared() else { return };
        let place = server.address(&server.unused());
        drop(crate::ledger::Ledger::create(&place).unwrap());
        let mut session = Session::open(&Address::parse(place.to_str().unwrap()).unwrap()).unwrap();
        session.begin().unwrap();
        session.rows("ROLLBACK").unwrap();
        session.rows("SET synchronous_commit = off").unwrap();
        assert_eq!(session.begin().unwrap_err().kind(), LedgerErrorKind::Doubt);
        session.rows("ROLLBACK; SET synchronous_commit = on").unwrap();
        let backend = std::mem::replace(&mut session.backend, "1".into());
        assert_eq!(session.begin().unwrap_err().kind(), LedgerErrorKind::Doubt);
        session.backend = backend;
        session.rows("ROLLBACK").unwrap();
        session.begin().unwrap();
        session.rows("ROLLBACK").unwrap();
        session.rows("SET discreet.session = 'of another client'").unwrap();
        for begun in [Session::begin, Session::snapshot] {
            let doubt = begun(&mut session).unwrap_err();
            assert_eq!(doubt.kind(), LedgerErrorKind::Doubt);
            assert!(doubt.to_string().contains("pooler"), "{doubt}");
            session.rows("ROLLBACK").unwrap();
        }
    }
}

#[cfg(test)]
mod fault_tests {
    use super::*;

    #[test]
    fn what_an_answer_leaves_known_is_what_its_code_says() {
        use LedgerErrorKind::{Busy, Doubt, Refused, Unknown};
        for (code, kind) in [
            ("08006", Unknown),
            ("40003", Unknown),
            ("57P01", Unknown),
            ("57P02", Unknown),
            ("57P03", Unknown),
            ("57P05", Unknown),
            ("25P03", Unknown),
            ("53100", Unknown),
            ("53300", Unknown),
            ("40001", Busy),
            ("40P01", Busy),
            ("55P03", Busy),
            ("57014", Busy),
            ("23505", Refused),
            ("P0001", Refused),
            ("42501", Refused),
            ("XX001", Doubt),
            ("XX002", Doubt),
        ] {
            assert_eq!(kind_of(code), kind, "{code}");
        }
    }
}
