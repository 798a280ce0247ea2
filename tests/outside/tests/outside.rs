//! The program as it is run: with several workers, with two processes, twice, and with one that is killed.

use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use discreet::prelude::*;

struct Site(PathBuf);

impl Site {
    fn new(name: &str) -> Site {
        let directory = std::env::temp_dir().join(format!("discreet-outside-{name}-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let mut ledger = Ledger::create(directory.join("site.ledger")).unwrap();
        ledger.register(&AccountSpec::lifetime("readers", Budget::zcdp(500.0)).unwrap()).unwrap();
        Site(directory)
    }

    fn start(&self, arguments: &[&str]) -> Child {
        Command::new(env!("CARGO_BIN_EXE_outside"))
            .args([self.0.join("site.ledger"), self.0.join("out")])
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// The hour, page and readers of each released cell.
    fn cells(&self) -> Vec<Vec<i64>> {
        let out = fs::read_to_string(self.0.join("out")).unwrap();
        out.lines().map(|line| line.split(' ').map(|word| word.parse().unwrap()).collect()).collect()
    }

    /// Asserts that each page has its readers, while it can be reached from the home page. The noise is below 3 but for one
    /// cell in 10^17.
    fn assert_right(&self) {
        let readers = [60, 30, 20, 15, 12];
        let cells = self.cells();
        assert_eq!(cells.len(), 10, "{cells:?}");
        for (number, cell) in cells.iter().enumerate() {
            let (hour, page) = (number / 5, number % 5);
            let is_reached = page < if hour == 0 { 3 } else { 2 };
            let expected = if is_reached { readers[page] } else { 0 };
            assert_eq!(cell[..2], [hour as i64, page as i64]);
            assert!((cell[2] - expected).abs() <= 2, "{cell:?}: {expected} expected");
        }
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}

/// Waits for the end of a program; returns its exit code and its output.
fn end(mut program: Child) -> (Option<i32>, String) {
    let start = Instant::now();
    while program.try_wait().unwrap().is_none() {
        if start.elapsed() > Duration::from_secs(90) {
            program.kill().unwrap();
            panic!("it did not end");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let output = program.wait_with_output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&said).into_owned())
}

/// A file with two addresses that nothing listens on.
fn hosts(site: &Site) -> String {
    let ports = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    let addresses: Vec<String> = ports.iter().map(|port| port.local_addr().unwrap().to_string()).collect();
    let path = site.0.join("hosts");
    fs::write(&path, addresses.join("\n")).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn private_counts_follow_a_public_collection_of_the_program() {
    for workers in ["1", "3"] {
        let site = Site::new(workers);
        let (code, said) = end(site.start(&["-w", workers]));
        assert_eq!((code, said.trim()), (Some(0), "2 released"));
        site.assert_right();
        // The second run releases the same again.
        let before = site.cells();
        assert_eq!(end(site.start(&["-w", workers])).0, Some(0));
        let after = site.cells();
        assert_eq!((&after[..10], &after[10..]), (&before[..], &before[..]));
    }
}

#[test]
fn two_processes_release_what_one_does() {
    let site = Site::new("two");
    let hosts = hosts(&site);
    let processes = ["0", "1"].map(|process| site.start(&["-n", "2", "-p", process, "-h", &hosts]));
    for (code, said) in processes.map(end) {
        assert_eq!(code, Some(0), "{said}");
    }
    site.assert_right();
}

// Refutes a window that is sealed from the records of the process that is left.
#[test]
fn a_process_that_is_killed_leaves_nothing_partial() {
    let site = Site::new("killed");
    let hosts = hosts(&site);
    for round in 0..3_u64 {
        let [mut first, second] =
            ["0", "1"].map(|process| site.start(&["-n", "2", "-p", process, "-h", &hosts]));
        std::thread::sleep(Duration::from_millis(200 * round));
        let mut killed = second;
        killed.kill().unwrap();
        killed.wait().unwrap();
        // It ends if they were connected, and waits for the other one if not.
        std::thread::sleep(Duration::from_millis(500));
        let _ = first.kill();
        first.wait().unwrap();
    }
    fs::remove_file(site.0.join("out")).unwrap_or_default();
    let (code, said) = end(site.start(&[]));
    assert_eq!(code, Some(0), "{said}");
    site.assert_right();
}
