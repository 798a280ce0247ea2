//! The password, from where every program that speaks to Postgres finds it: `PGPASSWORD`, or else the file that
//! `PGPASSFILE` names, or else `~/.pgpass`.

use std::env;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

use super::super::trouble::LedgerError;
use super::address::{Address, Host};

/// The password for an address; `None` where there is none to be found, as where the server asks for none.
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

/// The password of a line `host:port:database:user:password`, if it is about this address. `*` stands for anything, and
/// a backslash before `:` and `\`.
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
    // A socket may be called by its directory, or `localhost`.
    let near = matches!(address.host, Host::Socket(_)) && **host == *"localhost";
    let same = (near || is(&host, &address.host_name()))
        && is(&port, &address.port.to_string())
        && is(&database, &address.database)
        && is(&user, &address.user);
    same.then_some(password)
}

#[cfg(test)]
mod tests {
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
