//! A Postgres server for tests: new, on a Unix socket and a port of this machine, with synced commits; it
//! ends with the process that started it, even if that is killed.

#![allow(clippy::unwrap_used, clippy::print_stdout)]
#![allow(dead_code, reason = "the library's tests use a part of it")]

use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// The parent holds the other end of `stdin`, so that this shell goes on when the parent is gone, even if it
/// was killed.
const GUARDIAN: &str = r#"
trap '' INT TERM HUP
"$@" </dev/null >"$LOG" 2>&1 &
read -r word
kill -QUIT $!
wait
[ "$word" = keep ] || rm -rf "$DIRECTORY"
"#;

/// A server, and the shell that ends it.
pub(crate) struct Server {
    directory: PathBuf,
    binaries: PathBuf,
    port: u16,
    guardian: Option<Child>,
}

/// The server that the tests of this process share; `None` if there is none, with the reason printed once.
pub(crate) fn shared() -> Option<&'static Server> {
    static SERVER: OnceLock<Option<Server>> = OnceLock::new();
    SERVER.get_or_init(Server::start).as_ref()
}

impl Server {
    /// A server of its own, for a test that changes its settings or stops it.
    pub(crate) fn start() -> Option<Server> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let Some(binaries) = binaries() else {
            println!("skipped: no postgresql on this machine");
            return None;
        };
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("discreet-postgres-{}-{number}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        fs::create_dir_all(&directory).unwrap();
        if is_root() {
            run(Command::new("chown").arg("postgres").arg(&directory)).unwrap();
        }
        let data = directory.join("data");
        let mut make = as_postgres(&binaries.join("initdb"));
        make.args([
            "--username=discreet",
            "--auth=trust",
            "--encoding=UTF8",
            "--locale=C",
            "--data-checksums",
        ]);
        run(make.args(["--no-sync", "--pgdata"]).arg(&data)).unwrap();
        // Without a password on the socket, with one on the port.
        let rules = "local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n";
        fs::write(data.join("pg_hba.conf"), rules).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut server = Server { directory, binaries, port, guardian: None };
        server.launch();
        Some(server)
    }

    /// Starts a stopped server.
    pub(crate) fn launch(&mut self) {
        let mut guardian = Command::new("sh");
        guardian.args(["-c", GUARDIAN, "guardian"]);
        if is_root() {
            guardian.args(["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]);
            guardian.arg("--pdeathsig=QUIT");
        }
        guardian.arg(self.binaries.join("postgres")).arg("-D").arg(self.directory.join("data"));
        for setting in [
            format!("port={}", self.port),
            format!("unix_socket_directories={}", self.directory.display()),
            "listen_addresses=127.0.0.1".into(),
            "shared_buffers=32MB".into(),
        ] {
            guardian.args(["-c", &setting]);
        }
        guardian.env("LOG", self.directory.join("log")).env("DIRECTORY", &self.directory);
        self.guardian = Some(guardian.stdin(Stdio::piped()).spawn().unwrap());
        let begun = Instant::now();
        while self.sql("public", "SELECT 1").is_err() {
            let log = || fs::read_to_string(self.directory.join("log")).unwrap_or_default();
            assert!(begun.elapsed() < Duration::from_secs(60), "no server: {}", log());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Ends the server as a crash of its machine would, and keeps its files.
    pub(crate) fn crash(&mut self) {
        let mut guardian = self.guardian.take().unwrap();
        guardian.stdin.take().unwrap().write_all(b"keep\n").unwrap();
        guardian.wait().unwrap();
    }

    /// The directory of its files.
    pub(crate) fn data(&self) -> PathBuf {
        self.directory.join("data")
    }

    /// The address of a ledger, by the socket.
    pub(crate) fn address(&self, ledger: &str) -> PathBuf {
        let (directory, port) = (self.directory.display(), self.port);
        PathBuf::from(format!("postgres://discreet@:{port}/postgres?host={directory}&ledger={ledger}"))
    }

    /// The address of a ledger, by the port.
    pub(crate) fn address_by_port(&self, user: &str, ledger: &str) -> PathBuf {
        PathBuf::from(format!("postgres://{user}@127.0.0.1:{}/postgres?ledger={ledger}", self.port))
    }

    /// A ledger name that is not in use.
    pub(crate) fn unused(&self) -> String {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        format!("ledger{}", COUNT.fetch_add(1, Ordering::Relaxed))
    }

    /// Runs statements in a ledger's schema, as a person with a shell could.
    pub(crate) fn sql(&self, ledger: &str, statements: &str) -> Result<String, String> {
        let mut shell = Command::new(self.binaries.join("psql"));
        shell.args([
            "--no-psqlrc",
            "-qtA",
            "-v",
            "ON_ERROR_STOP=1",
            "-U",
            "discreet",
            "-d",
            "postgres",
            "-h",
        ]);
        shell.arg(&self.directory).args(["-p", &self.port.to_string(), "-c", statements]);
        run(shell.env("PGOPTIONS", format!("-c search_path={ledger} -c client_min_messages=warning")))
    }
}

/// A pooler in front of a server, ended when this is dropped.
pub(crate) struct Pooler {
    child: Child,
    directory: PathBuf,
}

impl Server {
    /// Starts a pooler of one session, in a mode of PgBouncer; `None` if it is not installed, with the reason
    /// printed.
    pub(crate) fn pooler(&self, mode: &str, ignored: &str) -> Option<Pooler> {
        let path =
            ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer"].into_iter().find(|path| Path::new(path).exists());
        let Some(path) = path else {
            println!("skipped: no pgbouncer on this machine");
            return None;
        };
        let directory = self.directory.join(format!("pooler-{}", self.unused()));
        fs::create_dir(&directory).unwrap();
        let (at, server, port) = (directory.display(), self.directory.display(), self.port);
        let settings = format!(
            "[databases]\npostgres = host={server} port={port} user=discreet\n[pgbouncer]\nunix_socket_dir = {at}\n\
             listen_port = {port}\nauth_type = any\npool_mode = {mode}\ndefault_pool_size = 1\n\
             ignore_startup_parameters = extra_float_digits{ignored}\nlogfile = {at}/log\n"
        );
        let file = directory.join("pgbouncer.ini");
        fs::write(&file, settings).unwrap();
        let mut command = Command::new(path);
        if is_root() {
            run(Command::new("chown").args(["-R", "postgres"]).arg(&directory)).unwrap();
            command = Command::new("setpriv");
            command.args([
                "--reuid=postgres",
                "--regid=postgres",
                "--clear-groups",
                "--pdeathsig=KILL",
                path,
            ]);
        }
        let child = command.arg("-q").arg(&file).stdin(Stdio::null()).spawn().unwrap();
        let pooler = Pooler { child, directory };
        let begun = Instant::now();
        while !pooler.directory.join(format!(".s.PGSQL.{port}")).exists() {
            assert!(begun.elapsed() < Duration::from_secs(30), "no pooler");
            std::thread::sleep(Duration::from_millis(20));
        }
        Some(pooler)
    }

    /// The address of a ledger, through a pooler.
    pub(crate) fn address_through(&self, pooler: &Pooler, ledger: &str) -> PathBuf {
        let (directory, port) = (pooler.directory.display(), self.port);
        PathBuf::from(format!("postgres://discreet@:{port}/postgres?host={directory}&ledger={ledger}"))
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(mut guardian) = self.guardian.take() {
            drop(guardian.stdin.take());
            let _ = guardian.wait();
        }
    }
}

/// The directory of the server's programs: Debian keeps them by version, and links only some of them.
fn binaries() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?;
    let directories = versions.filter_map(|version| Some(version.ok()?.path().join("bin")));
    let known = !is_root() || Command::new("id").arg("postgres").output().is_ok_and(|id| id.status.success());
    directories.filter(|directory| known && directory.join("initdb").exists()).max()
}

/// Returns true for root, as which Postgres refuses to run.
fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

fn as_postgres(program: &Path) -> Command {
    if !is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]).arg(program);
    command
}

fn run(command: &mut Command) -> Result<String, String> {
    let output = command.current_dir("/").stdin(Stdio::null()).output().map_err(|error| error.to_string())?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}
