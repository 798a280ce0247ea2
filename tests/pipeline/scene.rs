//! The basis of these tests: a ledger in a directory of its own, visits, and the released lines.

use std::borrow::Borrow;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use discreet::accounting::{Omega, PrivacyCost};
use discreet::dataflow::{Config, Deliver, LeavingRelease, Pulled, Source, SourceError, StreamVec};
use discreet::gate::Gate;
use discreet::ledger::{AccountSpec, Ledger, Name};
use discreet::time::{Span, Time};
use serde_json::Value;

use crate::kit::Directory;

/// A visit: person, key, value, time, id.
pub(crate) type Visit = (u64, u32, i64, Time, u64);

pub(crate) const JOB: &str = "web";

pub(crate) fn span(microseconds: i64) -> Span {
    Span::microseconds(microseconds).unwrap()
}

/// A budget in pure epsilon that nothing here exhausts.
pub(crate) fn pure() -> PrivacyCost {
    PrivacyCost::pure(500.0).unwrap().times(1000).unwrap()
}

/// A budget in zCDP, with room for a delta.
pub(crate) fn zcdp() -> PrivacyCost {
    PrivacyCost::approximate_zcdp(500.0, Omega::EVERY, Some(0.5)).unwrap().times(100).unwrap()
}

pub(crate) struct Scratch(pub(crate) Directory);

impl Scratch {
    /// A ledger with one account for people.
    pub(crate) fn new(name: &str, cap: &PrivacyCost) -> Scratch {
        let scratch = Scratch(Directory::new(&format!("sentence-{name}")));
        register(Ledger::create(scratch.ledger()).unwrap(), cap);
        scratch
    }

    /// A ledger with the key of another, on which contribution selection depends.
    pub(crate) fn like(name: &str, cap: &PrivacyCost, other: &Scratch) -> Scratch {
        let scratch = Scratch(Directory::new(&format!("sentence-{name}")));
        fs::copy(key(&other.0), key(&scratch.0)).unwrap();
        register(Ledger::create_alone(scratch.ledger()).unwrap(), cap);
        scratch
    }

    pub(crate) fn ledger(&self) -> PathBuf {
        ledger(&self.0)
    }

    /// The total charge.
    pub(crate) fn spent(&self) -> PrivacyCost {
        let window = discreet::accounting::Interval::new(0, 1).unwrap();
        Ledger::open(self.ledger()).unwrap().spent(&account(), window).unwrap().0
    }

    /// Every row of the ledger, in order. The ledger verified them when it was opened.
    pub(crate) fn rows(&self) -> Vec<Row> {
        drop(Ledger::open(self.ledger()).unwrap());
        let tables = rusqlite::Connection::open(self.ledger()).unwrap();
        let rows = "SELECT name, window_start, window_end, status, line FROM release ORDER BY sequence";
        let mut rows = tables.prepare(rows).unwrap();
        let row = |row: &rusqlite::Row<'_>| {
            let window = (row.get(1)?, row.get(2)?);
            Ok(Row { name: row.get(0)?, window, status: row.get(3)?, text: row.get(4)? })
        };
        rows.query_map([], row).unwrap().map(Result::unwrap).collect()
    }

    /// The lines that left.
    pub(crate) fn lines(&self) -> Vec<String> {
        fs::read_to_string(self.0.join("out")).unwrap_or_default().lines().map(str::to_owned).collect()
    }
}

/// A row of the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) window: (Time, Time),
    pub(crate) status: String,
    pub(crate) text: String,
}

impl Row {
    /// The released values, by key.
    pub(crate) fn values(&self) -> Vec<(u64, i64)> {
        let printed = |line: &str| {
            let line = json(line);
            (line["key"].as_u64().unwrap(), line["value"].as_i64().unwrap())
        };
        self.text.lines().map(printed).collect()
    }
}

pub(crate) fn json(line: &str) -> Value {
    serde_json::from_str(line).unwrap()
}

pub(crate) fn account() -> Name {
    Name::new("account", "visits").unwrap()
}

fn register(mut ledger: Ledger, cap: &PrivacyCost) {
    ledger.register(&AccountSpec::lifetime(account().as_str(), cap.clone()).unwrap()).unwrap();
}

fn ledger(directory: &Path) -> PathBuf {
    directory.join("visits.ledger")
}

fn key(directory: &Path) -> PathBuf {
    directory.join("visits.ledger.key")
}

/// The configuration and the gate of a child: alone, or as the process that its environment names.
pub(crate) fn cast(directory: &Path, threads: usize) -> (Config, Gate) {
    let Ok(hosts) = std::env::var("HOSTS") else {
        return (Config::threads(threads).unwrap(), Gate::open(ledger(directory), JOB).unwrap());
    };
    let process = std::env::var("PROCESS").unwrap().parse().unwrap();
    let gate = match process {
        0 => Gate::open(ledger(directory), JOB).unwrap(),
        _ => Gate::elsewhere(JOB, key(directory)).unwrap(),
    };
    let config = Config::cluster(threads, process, hosts.split(' ').map(str::to_owned).collect()).unwrap();
    (config.connect_within(Duration::from_secs(3)), gate)
}

/// Writes every release and its closing line to the file `out`, and a word for each release to standard
/// output.
pub(crate) fn write_down<R: Borrow<LeavingRelease> + 'static>(
    releases: StreamVec<'_, Time, R>,
    directory: &Path,
) {
    let out = directory.join("out");
    releases.deliver(move |release| {
        let release: &LeavingRelease = release.borrow();
        let mut file = fs::OpenOptions::new().create(true).append(true).open(&out)?;
        let closing = release.closing().unwrap_or_default();
        let text = [release.line(), &closing].join("\n");
        file.write_all(format!("{}\n", text.trim_start_matches('\n')).as_bytes())?;
        println!("\nsaid {}", release.window().start());
        Ok(())
    });
}

/// The batches of a source, a step at a time.
pub(crate) struct Script(std::vec::IntoIter<(Vec<Visit>, Pulled)>);

impl Script {
    pub(crate) fn of(steps: Vec<(Vec<Visit>, Pulled)>) -> Script {
        Script(steps.into_iter())
    }
}

impl Source for Script {
    type Record = Visit;

    fn pull(&mut self, batch: &mut Vec<Visit>) -> Result<Pulled, SourceError> {
        let Some((records, pulled)) = self.0.next() else { return Ok(Pulled::End) };
        batch.extend(records);
        Ok(pulled)
    }
}

/// A random sequence, the same in every run: SplitMix64.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (((u128::from(mixed ^ (mixed >> 31))) * limit as u128) >> 64) as usize
    }

    pub(crate) fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}
