//! The address of a ledger on a server: `postgres://user@host:port/database?ledger=name`.
//!
//! Stricter than the addresses of other programs: one server (of two, one may be behind), no password, and no
//! unknown parameter.

use std::io::ErrorKind;
use std::net::IpAddr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::{env, fs};

use zeroize::Zeroizing;

use super::super::error::LedgerError;

/// A parsed address of a ledger on a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) host: Host,
    pub(super) port: u16,
    pub(super) user: String,
    pub(super) database: String,
    /// The name of the ledger, which is that of the schema that holds it.
    pub(super) ledger: String,
    /// The timeline of the server that the operator vouches for, after a failover.
    pub(super) timeline: Option<u32>,
}

/// The host of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Host {
    /// `localhost`, or a loopback IP address.
    Loopback(String),
    /// The directory of a Unix socket.
    Socket(PathBuf),
}

const PORT: u16 = 5432;

impl Address {
    /// Parses an address. An error never repeats it: it may contain a password.
    pub(super) fn parse(text: &str) -> Result<Address, LedgerError> {
        let rest = text.strip_prefix("postgres://").or_else(|| text.strip_prefix("postgresql://"));
        let rest = rest.ok_or_else(|| refused("it does not begin with postgres://"))?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (server, database) = rest.split_once('/').ok_or_else(|| refused("it names no database"))?;
        let (user, server) = server.rsplit_once('@').ok_or_else(|| refused("it names no user"))?;
        if user.contains(':') {
            return Err(password());
        }
        let (mut ledger, mut socket, mut timeline) = (None, None, None);
        for (word, value) in
            query.split('&').filter(|part| !part.is_empty()).filter_map(|p| p.split_once('='))
        {
            let value = decoded(value)?;
            let known = match word {
                "ledger" => ledger.replace(value),
                "host" => socket.replace(value),
                "timeline" => timeline.replace(value),
                "password" | "passfile" | "sslpassword" => return Err(password()),
                _ => return Err(refused("it has a parameter other than ledger, host and timeline")),
            };
            if known.is_some() {
                return Err(refused("it has a parameter twice"));
            }
        }
        if query.split('&').any(|part| !part.is_empty() && !part.contains('=')) {
            return Err(refused("it has a parameter without a value"));
        }
        let (host, port) = host_and_port(server)?;
        let host = match (host.is_empty(), socket) {
            (true, Some(socket)) => socket,
            (false, None) => host,
            (true, None) => return Err(refused("it names no host")),
            (false, Some(_)) => return Err(refused("it names two hosts")),
        };
        let timeline = timeline.map(|text| text.parse::<u32>()).transpose();
        Ok(Address {
            host: near(host)?,
            port,
            user: named(decoded(user)?, "user")?,
            database: named(decoded(database)?, "database")?,
            ledger: schema(ledger.ok_or_else(|| refused("it names no ledger"))?)?,
            timeline: timeline.map_err(|_| refused("its timeline is no whole number"))?,
        })
    }

    /// The form of the host in a password file.
    pub(super) fn host_name(&self) -> String {
        match &self.host {
            Host::Loopback(name) => name.clone(),
            Host::Socket(directory) => directory.display().to_string(),
        }
    }
}

fn host_and_port(server: &str) -> Result<(String, u16), LedgerError> {
    let (host, port) = match server.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, port)) => (host, port.strip_prefix(':')),
        None => match server.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (server, None),
        },
    };
    if host.contains(',') {
        return Err(refused("it names two hosts"));
    }
    let port = port.map_or(Ok(PORT), str::parse).map_err(|_| refused("its port is no number below 65536"))?;
    Ok((decoded(host)?, port))
}

/// Checks that the host is on this machine. There is no TLS here: a server elsewhere is reached through a
/// tunnel that encrypts.
fn near(host: String) -> Result<Host, LedgerError> {
    if host.starts_with('/') {
        return Ok(Host::Socket(PathBuf::from(host)));
    }
    if host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback()) {
        return Ok(Host::Loopback(host));
    }
    Err(LedgerError::refused(
        "ledger address: its host is another machine, and what was drawn would go there unencrypted; give the directory \
         of a Unix socket, or 127.0.0.1 and a tunnel that ends there, such as `ssh -L` or stunnel",
    ))
}

fn named(name: String, what: &str) -> Result<String, LedgerError> {
    if name.is_empty() || name.contains('\0') {
        return Err(refused(&format!("it names no {what}")));
    }
    Ok(name)
}

/// Checks the name of a schema: it needs no escapes between quotes, Postgres does not truncate it, and it is
/// none of its own.
fn schema(name: String) -> Result<String, LedgerError> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-".contains(&byte);
    let own = name.starts_with("pg_") || ["public", "information_schema"].contains(&name.as_str());
    if name.is_empty() || name.len() > 63 || own || !name.bytes().all(plain) {
        return Err(refused(
            "its ledger is no name of 1 to 63 of a-z, 0-9, _ and -, or one of Postgres's own",
        ));
    }
    Ok(name)
}

fn decoded(text: &str) -> Result<String, LedgerError> {
    let odd = || refused("it has a % that is not followed by two digits of a character");
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        if first != b'%' {
            bytes.push(first);
            continue;
        }
        let (digits, after) = rest.split_first_chunk::<2>().ok_or_else(odd)?;
        let digit = |byte: u8| char::from(byte).to_digit(16).ok_or_else(odd);
        bytes.push((16 * digit(digits[0])? + digit(digits[1])?) as u8);
        rest = after;
    }
    String::from_utf8(bytes).map_err(|_| odd())
}

fn refused(what: &str) -> LedgerError {
    LedgerError::refused(format!("ledger address: {what}; give postgres://user@host/database?ledger=name"))
}

fn password() -> LedgerError {
    LedgerError::refused(
        "ledger address: it carries a password, which everybody can read in a list of processes; take it out, and put \
         it in ~/.pgpass, in the file that PGPASSFILE names, or in PGPASSWORD",
    )
}

// The password of a server, from the places that every Postgres client reads: `PGPASSWORD`, or else the file
// that `PGPASSFILE` names, or else `~/.pgpass`.

/// The password for an address; `None` if there is none, as for a server that requires none.
pub(super) fn find(address: &Address) -> Result<Option<Zeroizing<String>>, LedgerError> {
    if let Ok(password) = env::var("PGPASSWORD") {
        return Ok(Some(Zeroizing::new(password)));
    }
    let named = env::var_os("PGPASSFILE").map(PathBuf::from);
    let usual = || env::var_os("HOME").map(|home| Path::new(&home).join(".pgpass"));
    match named.or_else(usual) {
        Some(path) => in_file(&path, address),
        None => Ok(None),
    }
}

fn in_file(path: &Path, address: &Address) -> Result<Option<Zeroizing<String>>, LedgerError> {
    let refuse = |what: &str| LedgerError::refused(format!("password file {}: {what}", path.display()));
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(refuse(&error.to_string())),
    };
    if metadata.mode() & 0o077 != 0 {
        return Err(refuse("others may read it; take that away with `chmod 600`"));
    }
    let text = fs::read_to_string(path).map(Zeroizing::new).map_err(|error| refuse(&error.to_string()))?;
    Ok(text.lines().filter(|line| !line.starts_with('#')).find_map(|line| matching(line, address)))
}

/// The password of a line `host:port:database:user:password`, if the line matches this address. `*` matches
/// anything, and a backslash escapes `:` and `\`.
fn matching(line: &str, address: &Address) -> Option<Zeroizing<String>> {
    let mut fields = vec![Zeroizing::new(String::new())];
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        let letter = match letter {
            ':' if fields.len() < 5 => {
                fields.push(Zeroizing::new(String::new()));
                continue;
            }
            '\\' => letters.next().unwrap_or('\\'),
            letter => letter,
        };
        fields.last_mut()?.push(letter);
    }
    let [host, port, database, user, password] = <[Zeroizing<String>; 5]>::try_from(fields).ok()?;
    let is = |field: &str, value: &str| field == "*" || field == value;
    // The file may name a socket by its directory, or `localhost`.
    let near = matches!(address.host, Host::Socket(_)) && **host == *"localhost";
    let same = (near || is(&host, &address.host_name()))
        && is(&port, &address.port.to_string())
        && is(&database, &address.database)
        && is(&user, &address.user);
    same.then_some(password)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_says_which_ledger_on_which_server() {
        let plain = Address::parse("postgres://me@localhost/books?ledger=visits").unwrap();
        assert_eq!(plain.host, Host::Loopback("localhost".into()));
        assert_eq!((plain.port, &*plain.user, &*plain.database), (5432, "me", "books"));
        assert_eq!((&*plain.ledger, plain.timeline), ("visits", None));
        let full = Address::parse("postgresql://m%40e@[::1]:5433/my%20books?timeline=3&ledger=page-visits_2")
            .unwrap();
        assert_eq!(full.host, Host::Loopback("::1".into()));
        assert_eq!((full.port, &*full.user, &*full.database), (5433, "m@e", "my books"));
        assert_eq!((&*full.ledger, full.timeline), ("page-visits_2", Some(3)));
        let socket = Host::Socket("/run/postgresql".into());
        for host in ["@/books?host=/run/postgresql&", "@%2Frun%2Fpostgresql/books?"] {
            let address = Address::parse(&format!("postgres://me{host}ledger=visits")).unwrap();
            assert_eq!(address.host, socket);
        }
    }

    #[test]
    fn what_is_not_understood_is_refused_with_its_reason() {
        for (address, reason) in [
            ("postgres://localhost/books?ledger=visits", "no user"),
            ("postgres://@localhost/books?ledger=visits", "no user"),
            ("postgres://me@localhost?ledger=visits", "no database"),
            ("postgres://me@localhost/?ledger=visits", "no database"),
            ("postgres://me@localhost/books", "no ledger"),
            ("postgres://me@/books?ledger=visits", "no host"),
            ("postgres://me@localhost/books?ledger=visits&host=/run", "two hosts"),
            ("postgres://me@localhost,127.0.0.1/books?ledger=visits", "two hosts"),
            ("postgres://me@localhost:x/books?ledger=visits", "port"),
            ("postgres://me@localhost/books?ledger=visits&ledger=visits", "twice"),
            ("postgres://me@localhost/books?ledger=visits&fsync=off", "other than"),
            ("postgres://me@localhost/books?ledger=visits&timeline", "without a value"),
            ("postgres://me@localhost/books?ledger=visits&timeline=x", "timeline"),
            ("postgres://me@localhost/books?ledger=Visits", "no name"),
            ("postgres://me@localhost/books?ledger=pg_visits", "Postgres's own"),
            ("postgres://me@localhost/books?ledger=public", "Postgres's own"),
            ("postgres://me@localhost/b%2?ledger=visits", "%"),
            ("postgres://me@db.example.org/books?ledger=visits", "another machine"),
            ("postgres://me@10.0.0.7/books?ledger=visits", "another machine"),
        ] {
            let trouble = Address::parse(address).unwrap_err();
            assert!(trouble.to_string().contains(reason), "{address}: {trouble}");
        }
        let long = format!("postgres://me@localhost/books?ledger={}", "x".repeat(64));
        assert!(Address::parse(&long).is_err(), "Postgres would cut the name");
    }

    #[test]
    fn a_password_in_an_address_is_refused_and_never_repeated() {
        for address in [
            "postgres://me:hunter2@localhost/books?ledger=visits",
            "postgres://me@localhost/books?ledger=visits&password=hunter2",
            "postgres://me:hunter2@x@localhost/books?ledger=visits",
        ] {
            let trouble = Address::parse(address).unwrap_err();
            assert!(trouble.to_string().contains("PGPASSFILE"), "{trouble}");
            assert!(!format!("{trouble} {trouble:?}").contains("hunter2"));
        }
        // Nor is it repeated for any other error.
        for address in [
            "postgres://me:hunter2@localhost",
            "postgres://me:hunter2/books",
            "postgres://a?password=hunter2",
        ] {
            let trouble = Address::parse(address).unwrap_err();
            assert!(!format!("{trouble} {trouble:?}").contains("hunter2"), "{trouble}");
        }
    }
}

#[cfg(test)]
mod password_tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn address(host: &str) -> Address {
        Address::parse(&format!("postgres://me@{host}/books?ledger=visits")).unwrap()
    }

    #[test]
    fn the_first_line_that_is_about_the_address_counts() {
        let path = env::temp_dir().join(format!("discreet-pgpass-{}", std::process::id()));
        let text = "# a comment\nlocalhost:5433:*:me:port\nlocalhost:*:ledgers:me:database\nlocalhost:*:*:you:user\n\
                    127.0.0.1:5432:books:me:with\\:colon\\\\and:rest\n*:*:*:me:any\n";
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let found = |host: &str| in_file(&path, &address(host)).unwrap().map(|password| password.to_string());
        assert_eq!(found("127.0.0.1").unwrap(), "with:colon\\and:rest");
        assert_eq!(found("localhost").unwrap(), "any");
        assert_eq!(found("localhost:5433").unwrap(), "port");
        assert_eq!(found("%2Frun:5433").unwrap(), "port");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(in_file(&path, &address("localhost")).unwrap_err().to_string().contains("chmod 600"));
        fs::remove_file(&path).unwrap();
        assert!(in_file(&path, &address("localhost")).unwrap().is_none());
    }

    #[test]
    fn a_line_that_is_too_short_is_about_nothing() {
        for line in ["", "*", "*:*:*:*", "localhost:5432:books:me"] {
            assert!(matching(line, &address("localhost")).is_none(), "{line:?}");
        }
    }
}
