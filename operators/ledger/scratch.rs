//! Places for the ledgers of tests: a file always, and a server if there is one.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use super::LedgerKey;
#[cfg(feature = "postgres")]
use crate::server::Server;

/// Runs tests that take a [`ScratchPlace`] with a file, and with a server.
macro_rules! everywhere {
    ($($test:ident)*) => {
        mod in_a_file {
            $(#[test]
            fn $test() {
                super::$test($crate::ledger::scratch::ScratchPlace::File);
            })*
        }
        #[cfg(feature = "postgres")]
        mod on_a_server {
            $(#[test]
            fn $test() {
                if let Some(server) = $crate::server::shared() {
                    super::$test($crate::ledger::scratch::ScratchPlace::Server(server));
                }
            })*
        }
    };
}
pub(crate) use everywhere;

/// The kind of place for the ledgers of a test.
#[derive(Clone, Copy)]
pub(crate) enum ScratchPlace {
    File,
    #[cfg(feature = "postgres")]
    Server(&'static Server),
}

/// A place for one ledger, with a directory that is removed with the test.
pub(crate) struct Scratch {
    at: ScratchPlace,
    directory: PathBuf,
    ledger: PathBuf,
}

impl ScratchPlace {
    pub(crate) fn scratch(self) -> Scratch {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("discreet-test-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let directory = std::env::temp_dir().join(name);
        fs::create_dir_all(&directory).unwrap();
        let ledger = match self {
            ScratchPlace::File => directory.join("test.ledger"),
            #[cfg(feature = "postgres")]
            ScratchPlace::Server(server) => server.address(&server.unused()),
        };
        Scratch { at: self, directory, ledger }
    }

    /// The number of tries, given that for a file: a try costs more on a server.
    pub(crate) fn tries(self, in_a_file: usize) -> usize {
        match self {
            ScratchPlace::File => in_a_file,
            #[cfg(feature = "postgres")]
            ScratchPlace::Server(_) => in_a_file.div_ceil(4),
        }
    }
}

impl Scratch {
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    pub(crate) fn ledger(&self) -> PathBuf {
        self.ledger.clone()
    }

    /// The path of the key that a gate opens, created if it is missing.
    pub(crate) fn key(&self) -> PathBuf {
        match self.at {
            ScratchPlace::File => LedgerKey::beside(&self.ledger),
            #[cfg(feature = "postgres")]
            ScratchPlace::Server(_) => {
                let path = self.directory.join("test.key");
                if !path.exists() {
                    LedgerKey::create(&path).unwrap();
                }
                path
            }
        }
    }

    /// Removes the lock by which the process of a job excludes others, as a move to another machine does.
    pub(crate) fn unlock(&self, job: &str) {
        match self.at {
            ScratchPlace::File => {
                let inode = fs::metadata(&self.ledger).unwrap().ino();
                fs::remove_file(self.directory.join(format!("ledger-{inode}.{job}.lock"))).unwrap();
            }
            #[cfg(feature = "postgres")]
            ScratchPlace::Server(server) => {
                let session = format!("discreet {} {job}", self.name());
                let end =
                    "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name";
                assert_eq!(server.sql("public", &format!("{end} = '{session}'")).unwrap(), "t");
            }
        }
    }

    /// Edits the tables directly: with their triggers, or after dropping them.
    pub(crate) fn edit(&self, statement: &str, triggers: bool) -> Result<(), String> {
        match self.at {
            ScratchPlace::File => self.edit_file(statement, triggers).map_err(|error| error.to_string()),
            #[cfg(feature = "postgres")]
            ScratchPlace::Server(server) => {
                let bytes = |statement: &str, count: usize| {
                    let hex = format!("decode('{}', 'hex')", "00".repeat(count));
                    statement.replace(&format!("zeroblob({count})"), &hex)
                };
                let statement =
                    [0, 22, 32, 49].iter().fold(statement.to_owned(), |text, count| bytes(&text, *count));
                let random = "decode(md5('a') || md5('b'), 'hex')";
                let statement = statement.replace("randomblob(32)", random);
                let role = if triggers { "origin" } else { "replica" };
                let statements = format!("SET session_replication_role = {role}; {statement}");
                server.sql(self.name(), &statements).map(drop)
            }
        }
    }

    fn edit_file(&self, statement: &str, triggers: bool) -> rusqlite::Result<()> {
        let shell = rusqlite::Connection::open(&self.ledger)?;
        if !triggers {
            let mut names = shell.prepare("SELECT name FROM sqlite_master WHERE type = 'trigger'")?;
            let names: Vec<String> = names.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
            for name in names {
                shell.execute_batch(&format!("DROP TRIGGER {name}"))?;
            }
            shell.execute_batch("PRAGMA foreign_keys = OFF")?;
        }
        shell.execute_batch(statement)
    }

    /// The name of a ledger on a server.
    #[cfg(feature = "postgres")]
    pub(crate) fn name(&self) -> &str {
        self.ledger.to_str().unwrap().rsplit('=').next().unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.directory);
    }
}
