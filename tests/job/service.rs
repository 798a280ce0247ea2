//! A job as a service: what it tells its manager, its unit, a full disk, and a ledger that is brought back.

use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::Signal;

use crate::jobs::{SECOND, exact, log};
use crate::scene::{Printed, Said, Scene, now, until};

/// The messages of a process to its service manager, so far.
struct Manager {
    socket: UnixDatagram,
    heard: Vec<String>,
}

impl Manager {
    fn new(socket: UnixDatagram) -> Manager {
        socket.set_nonblocking(true).unwrap();
        Manager { socket, heard: Vec::new() }
    }

    fn listen(&mut self) {
        let mut text = [0; 4096];
        loop {
            match self.socket.recv(&mut text) {
                Ok(length) => self.heard.push(String::from_utf8(text[..length].to_vec()).unwrap()),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) => panic!("{error}"),
            }
        }
    }

    fn count(&mut self, message: &str) -> usize {
        self.listen();
        self.heard.iter().filter(|heard| *heard == message).count()
    }
}

fn live_job(name: &str) -> Scene {
    let scene = Scene::new(name);
    scene.write("job.toml", exact(now() / SECOND * SECOND, None));
    scene.write("visits.csv", "person,time,page\ns3cr3t,1.0,a\n");
    scene.init();
    scene
}

// Refutes a process that is ready before its ledger is open, that gives no sign of life, that hides its end, or
// that tells its manager what depends on records.
#[test]
fn a_manager_is_told_of_start_life_reload_and_end() {
    let scene = live_job("service");
    let mut manager = Manager::new(UnixDatagram::bind(scene.at("notify")).unwrap());
    let environment =
        [("NOTIFY_SOCKET", scene.at("notify").into_os_string()), ("WATCHDOG_USEC", "1000000".into())];
    let life = scene.start_in(&environment, &["run", "job.toml", "--out", "releases.jsonl"]);
    until("it is ready", || manager.count("READY=1") == 1);
    assert_eq!(manager.heard[0], "READY=1", "{:?}", manager.heard);
    let before = manager.count("WATCHDOG=1");
    until("it gives signs of life", || manager.count("WATCHDOG=1") >= before + 3);
    until("a window is released", || scene.read("releases.jsonl").contains("\"closed\":true"));
    life.signal(Signal::HUP);
    until("it reloads", || manager.count("RELOADING=1") == 1 && manager.count("READY=1") == 2);
    life.signal(Signal::TERM);
    until("it stops", || manager.count("STOPPING=1") >= 1);
    assert_eq!(life.end().code, Some(0));
    manager.listen();
    let status = manager.heard.iter().find_map(|heard| heard.strip_prefix("STATUS=")).unwrap();
    assert!(
        status.contains("windows open") && !status.contains("read") && !status.contains("lag"),
        "{status}"
    );
    assert!(manager.heard.iter().all(|heard| !heard.contains("s3cr3t")));
}

// Refutes a job that is ready although its ledger is missing.
#[test]
fn a_job_that_cannot_start_is_never_ready() {
    let scene = live_job("service-none");
    fs::remove_file(scene.at("job.ledger")).unwrap();
    let mut manager = Manager::new(UnixDatagram::bind(scene.at("notify")).unwrap());
    let environment = [("NOTIFY_SOCKET", scene.at("notify").into_os_string())];
    let said = scene.start_in(&environment, &["run", "job.toml"]).end();
    assert_ne!(said.code, Some(0));
    assert_eq!(manager.count("READY=1"), 0, "{:?}", manager.heard);
}

// Refutes signs of life that stop because nobody reads the output, which is no hang of the job; and a process
// that waits for a manager which does not read.
#[cfg(target_os = "linux")]
#[test]
fn a_reader_that_stops_is_no_hang() {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::SocketAddr;
    let scene = live_job("service-pipe");
    let name = format!("discreet-test-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let mut manager = Manager::new(UnixDatagram::bind_addr(&address).unwrap());
    let environment = [("NOTIFY_SOCKET", format!("@{name}").into()), ("WATCHDOG_USEC", "400000".into())];
    assert!(Command::new("mkfifo").arg(scene.at("pipe")).status().unwrap().success());
    // Read and written, so that it opens without a reader and nobody ever reads.
    let held = fs::OpenOptions::new().read(true).write(true).open(scene.at("pipe")).unwrap();
    let mut life = scene.start_in(&environment, &["run", "job.toml", "--out", "pipe"]);
    until("it is ready", || manager.count("READY=1") == 1);
    std::thread::sleep(Duration::from_secs(8));
    let before = manager.count("WATCHDOG=1");
    until("it gives signs of life", || manager.count("WATCHDOG=1") >= before + 3);
    assert!(!life.has_ended());
    drop((life, held));
}

fn at_root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Runs a program; `None` with a word about it where there is none.
fn tool(program: &str, arguments: &[&OsStr], without: &str) -> Option<Said> {
    match Command::new(program).args(arguments).stdin(Stdio::null()).output() {
        Err(_) => {
            println!("skipped: no {program}: {without}");
            None
        }
        Ok(output) => Some(Said {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
            took: Duration::ZERO,
        }),
    }
}

// Refutes a unit that systemd does not understand, and one that starts again where that cannot help.
#[test]
fn the_unit_is_understood() {
    let unit = fs::read_to_string(at_root("config/discreet@.service")).unwrap();
    let scene = Scene::new("unit");
    let built = unit.replace("/usr/local/bin/discreet", env!("CARGO_BIN_EXE_discreet"));
    scene.write("discreet@visits.service", &built);
    let path = scene.at("discreet@visits.service");
    if let Some(said) =
        tool("systemd-analyze", &["verify".as_ref(), path.as_ref()], "nobody verifies the unit")
    {
        let about: Vec<&str> = said.err.lines().filter(|line| line.contains("discreet@")).collect();
        assert!(said.code == Some(0) && about.is_empty(), "{said:?}");
        scene.write("discreet@visits.service", built.replace("WatchdogSec", "WatchdogSecs"));
        let said = tool("systemd-analyze", &["verify".as_ref(), path.as_ref()], "").unwrap();
        assert!(said.err.contains("WatchdogSecs"), "{said:?}");
    }
    for line in [
        "Type=notify",
        "WatchdogSec=120",
        "ProtectSystem=strict",
        "NoNewPrivileges=yes",
        "RestartPreventExitStatus=2 65 74 75 78",
        "ExecReload=/bin/kill -HUP $MAINPID",
        "LimitCORE=0",
    ] {
        assert!(unit.lines().any(|own| own == line), "{line}");
    }
}

// Refutes a rotation that copies and cuts, that deletes a witness, or that logrotate does not understand.
#[test]
fn the_rotation_of_outputs_keeps_the_files() {
    let conf = fs::read_to_string(at_root("config/logrotate.conf")).unwrap();
    for word in ["nocopytruncate", "rotate -1", "nocreate", "systemctl reload"] {
        assert!(conf.contains(word), "{word}");
    }
    let scene = live_job("rotated");
    let own = conf
        .replace("/var/lib/discreet/*/releases.jsonl", &format!("{:?}", scene.at("releases.jsonl")))
        .replace("    su discreet discreet\n", "")
        .replace("systemctl reload 'discreet@*.service'", "kill -HUP $(cat pid)");
    let life = scene.start(&["run", "job.toml", "--out", "releases.jsonl"]);
    scene.write("rotate.conf", own.replace("$(cat pid)", &life.child.id().to_string()));
    Command::new("chmod").arg("600").arg(scene.at("rotate.conf")).status().unwrap();
    let closed = |text: &str| text.matches("\"closed\":true").count();
    until("a window is released", || closed(&scene.read("releases.jsonl")) > 0);
    let (state, path) = (scene.at("state"), scene.at("rotate.conf"));
    let arguments = ["--force".as_ref(), "--state".as_ref(), state.as_os_str(), path.as_os_str()];
    let Some(said) = tool("logrotate", &arguments, "nobody rotates the outputs") else { return };
    assert_eq!(said.code, Some(0), "{said:?}");
    until("it goes on in a new file", || closed(&scene.read("releases.jsonl")) > 0);
    life.signal(Signal::TERM);
    assert_eq!(life.end().code, Some(0));
    let names =
        fs::read_dir(scene.at("")).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.starts_with("releases.jsonl")).collect();
    names.sort();
    assert_eq!(names.len(), 2, "{names:?}");
    let all: String = [&names[1], &names[0]].map(|name| scene.read(name)).concat();
    let printed = Printed::of(&all);
    let windows = u64::try_from(printed.0.len()).unwrap();
    assert_eq!(scene.charged("job.ledger").0, windows, "each window once");
}

/// A small file system; `None` with a word where this process may not mount one.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn new(place: PathBuf) -> Option<SmallDisk> {
        fs::create_dir_all(&place).unwrap();
        let arguments = ["-t", "tmpfs", "-o", "size=1m", "tmpfs"].map(OsStr::new);
        let mounted = Command::new("mount").args(arguments).arg(&place).stderr(Stdio::null()).status();
        if mounted.is_ok_and(|status| status.success()) {
            return Some(SmallDisk(place));
        }
        println!("skipped: no mount of a tmpfs (it takes root): no disk is ever full");
        None
    }

    /// Fills it but for some bytes.
    fn fill(&self, but: usize) {
        let path = self.0.join("filler");
        let mut size = 1 << 20;
        while size > 0 && fs::write(&path, vec![b'x'; size]).is_err() {
            size -= 4096;
        }
        fs::write(&path, vec![b'x'; size.saturating_sub(but)]).unwrap();
    }

    fn clear(&self) {
        fs::remove_file(self.0.join("filler")).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

// Refutes a full disk that ends a job with another code or without the file's name, that loses a window, that
// charges for one twice, or that keeps the same command from going on.
#[test]
fn a_full_disk_ends_the_job_and_the_same_command_goes_on() {
    for full in ["job.ledger", "releases.jsonl", "job.anchor", "report.html"] {
        let scene = Scene::new("full");
        let Some(disk) = SmallDisk::new(scene.at("disk")) else { return };
        let windows = 12;
        let (text, _) = log(0, windows, 30);
        let job = exact(0, Some(windows * SECOND)).replace("late = \"500ms\"\n", "");
        let job = job.replace("ledger = ", "anchor = \"job.anchor\"\nledger = ");
        let place = |name: &str| if name == full { format!("disk/{name}") } else { name.to_owned() };
        let job = ["job.ledger", "job.anchor"].iter().fold(job, |job, name| job.replace(name, &place(name)));
        scene.write("job.toml", job.replace("epsilon = 480", "epsilon = 460"));
        scene.write("visits.csv", text);
        scene.done(&["ledger", "init", &place("job.ledger"), "--config", "job.toml"]);
        let (out, report) = (place("releases.jsonl"), place("report.html"));
        let arguments = ["replay", "job.toml", "--out", &out, "--report", &report];
        // For a ledger, room to open it and little more.
        disk.fill(if full == "job.ledger" { 16 << 10 } else { 0 });
        let said = scene.run(&arguments);
        let expected = if full == "report.html" { [74, 78] } else { [74, 74] };
        assert!(said.code.is_some_and(|code| expected.contains(&code)), "{full}: {said:?}");
        assert!(said.err.contains(full) || said.err.contains("ledger"), "{full}: {said:?}");
        disk.clear();
        let said = scene.run(&arguments);
        assert_eq!(said.code, Some(0), "{full}: {said:?}");
        let printed = Printed::of(&scene.read(&out));
        assert_eq!(printed.0.len() as i64, windows, "{full}");
        assert!(printed.0.values().all(|cells| cells.len() == 3), "{full}: {printed:?}");
        assert_eq!(scene.charged(&place("job.ledger")).0, windows as u64, "{full}");
        assert!(scene.read(&report).contains("</html>"), "{full}");
    }
}

/// The commands of the block of a page that holds this line.
fn recipe(line: &str) -> String {
    let manual = fs::read_to_string(at_root("OPERATING.md")).unwrap();
    let blocks = manual.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    let found: Vec<&str> = blocks.filter(|block| block.contains(line)).collect();
    assert_eq!(found.len(), 1, "{line}");
    found[0].to_owned()
}

fn follow(scene: &Scene, recipe: &str) -> Said {
    let script = format!("set -e\ndiscreet() {{ {} \"$@\"; }}\n{recipe}", env!("CARGO_BIN_EXE_discreet"));
    let output = Command::new("bash").args(["-c", &script]).current_dir(scene.at("")).output().unwrap();
    Said {
        code: output.status.code(),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
        took: Duration::ZERO,
    }
}

/// The name of the ledger that a restore moved away.
fn moved_away(scene: &Scene) -> String {
    let names =
        fs::read_dir(scene.at("")).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut found = names.filter(|name| name.starts_with("broken-") && name.ends_with(".ledger"));
    let name = found.next().unwrap();
    assert_eq!(found.next(), None);
    name
}

// Refutes a written recipe that does not work to the letter: a copy that lacks something, and one that hides that
// rows were lost, or loses the newest rows of the ledger that it replaces, or its key.
#[test]
fn the_written_backup_comes_back() {
    let scene = Scene::new("backup");
    let (text, _) = log(0, 4, 30);
    let job = |windows: i64| {
        let job = exact(0, Some(windows * SECOND)).replace("late = \"500ms\"\n", "");
        job.replace("job.ledger", "visits.ledger")
    };
    scene.write("visits.toml", job(4));
    scene.write("visits.csv", text);
    scene.done(&["ledger", "init", "visits.ledger", "--config", "visits.toml"]);
    let replay = ["replay", "visits.toml", "--out", "visits.jsonl"];
    scene.done(&replay);
    let before = scene.read("visits.jsonl");
    let (copy, restore) =
        (recipe("ledger export visits.ledger"), recipe("mv visits.ledger$part $broken$part"));
    let said = follow(&scene, &copy);
    assert!(said.code == Some(0) && said.out.contains("sound: "), "{said:?}");
    // After the copy the key is changed: the ledger that is replaced keeps the one that opens it.
    let copied = fs::read(scene.at("visits.ledger.key")).unwrap();
    scene.done(&["ledger", "rekey", "visits.ledger"]);
    let changed = fs::read(scene.at("visits.ledger.key")).unwrap();
    assert_ne!(copied, changed);
    // Nothing is missing: the job goes on as if nothing had been.
    let said = follow(&scene, &restore);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(fs::read(scene.at("visits.ledger.key")).unwrap(), copied);
    let broken = moved_away(&scene);
    assert_eq!(fs::read(scene.at(&format!("{broken}.key"))).unwrap(), changed);
    // The key beside it opens it.
    scene.done(&["ledger", "rekey", &broken]);
    scene.done(&replay);
    assert_eq!(scene.read("visits.jsonl"), before);
    // The copy is older than the output: the last command says so, and how to go on.
    fs::remove_file(scene.at(&broken)).unwrap();
    let (text, _) = log(0, 6, 30);
    scene.write("visits.csv", text);
    scene.write("visits.toml", job(6).replace("version = 1", "version = 2"));
    // As after a kill, the newest rows are in the -wal alone: another connection keeps it.
    let reader = rusqlite::Connection::open(scene.at("visits.ledger")).unwrap();
    let _: i64 = reader.query_row("SELECT count(*) FROM release", [], |row| row.get(0)).unwrap();
    assert!(scene.run(&replay).code.is_some_and(|code| code == 0 || code == 75));
    let rows = scene.charged("visits.ledger");
    std::mem::forget(reader);
    assert!(fs::metadata(scene.at("visits.ledger-wal")).unwrap().len() > 0);
    let said = follow(&scene, &restore);
    assert!(said.code == Some(74) && said.err.contains("ledger repair"), "{said:?}");
    let broken = moved_away(&scene);
    scene.verify(&broken);
    assert_eq!(scene.charged(&broken), rows);
    assert_ne!(scene.charged("visits.ledger"), rows);
}
