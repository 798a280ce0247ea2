//! The bytes of state that a gate seals with each window, and those that reach the disk.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use discreet::accounting::running::Strategy;
use discreet::accounting::{Adjacency, Interval, PrivacyCost, ReleaseCost};
use discreet::gate::{DrawResult, GateEvent, Opening, ReleaseRequest, Sealable};
use discreet::ledger::{AccountSpec, Charge, Digest, Ledger, Name, ReleaseId};
use discreet::mechanisms::{
    Bound, Gaussian, Keys, Mechanism, Prepared, RunningTotal, RunningTotals, Tally, Total, TotalSpan,
};
use discreet::noise::NoiseSource;

/// The number of keys that become public in the first window, and of windows after that.
const KEYS: u32 = 1_000;
const WINDOWS: i64 = 100;
/// The people of each key in a window, and further keys with one person each, which stay unknown.
const PEOPLE: u64 = 20;
const UNKNOWN: u32 = 20;

/// The mean bytes of a window.
pub(crate) struct Sealed {
    pub(crate) name: &'static str,
    /// Bytes of the state that a draw returns.
    pub(crate) clear: usize,
    /// Bytes of a full copy, as encrypted.
    pub(crate) whole: usize,
    /// Bytes of state, as encrypted.
    pub(crate) state: f64,
    /// Bytes that the process wrote, where the system reports them.
    pub(crate) written: Option<f64>,
}

/// The length of the newest state.
static CLEAR: AtomicUsize = AtomicUsize::new(0);

struct Window {
    prepared: RunningTotals<u32>,
    tally: <RunningTotals<u32> as Prepared>::Tally,
}

impl Sealable for Window {
    fn keeps_state(&self) -> bool {
        true
    }

    fn draw(self: Box<Self>, state: Option<&[u8]>, noise: &mut NoiseSource) -> DrawResult {
        let drawn = self.prepared.draw(self.tally, state, noise);
        CLEAR.store(drawn.state.as_ref().map_or(0, Vec::len), Ordering::Relaxed);
        let step = drawn.step.filter(|_| state.is_some());
        DrawResult { line: String::new(), state: drawn.state, step, note: None }
    }
}

/// Seals windows of running totals over discovered keys: so far up to a month of seconds, and up to 4,096
/// seconds.
pub(crate) fn sealed() -> Result<Vec<Sealed>, Box<dyn Error>> {
    let so_far = |windows| TotalSpan::SoFar { windows };
    [
        ("buffered", so_far(30 * 86_400), Strategy::Buffered),
        ("square_root", so_far(4_096), Strategy::SquareRoot),
    ]
    .into_iter()
    .map(|(name, span, strategy)| of(name, span, strategy))
    .collect()
}

fn of(name: &'static str, span: TotalSpan, strategy: Strategy) -> Result<Sealed, Box<dyn Error>> {
    let directory = std::env::temp_dir().join(format!("discreet-bench-running-{}", std::process::id()));
    fs::create_dir_all(&directory)?;
    let found = in_directory(&directory, name, span, strategy);
    fs::remove_dir_all(&directory)?;
    found
}

fn in_directory(
    directory: &Path,
    name: &'static str,
    span: TotalSpan,
    strategy: Strategy,
) -> Result<Sealed, Box<dyn Error>> {
    let path = directory.join("bench.ledger");
    let account = AccountSpec::lifetime("visits", PrivacyCost::zcdp(1.0)?)?;
    Ledger::create(&path)?.register(&account)?;
    let gate = Opening::new(&path, "web")?.key(directory.join("bench.ledger.key")).open()?;
    let handle = gate.handle(&Name::new("name", "total")?, &Digest::of(b"version 1"), || ())?;
    let limits = Bound::keys(1).per_key(1).checked()?;
    let total = RunningTotal::new(Total::people(limits, Keys::discover(1e-6))?, span)?.by(strategy);
    let prepared = Gaussian::rho(1.0).prepare(&total)?;
    let cost = ReleaseCost::new(Adjacency::PERSON, PrivacyCost::zcdp(1.0 / 4_096.0)?);
    let (mut sizes, mut whole, mut before) = (0usize, 0usize, None);
    for window in 0..=WINDOWS {
        let mut tally = prepared.tally();
        let people = if window == 0 { 1_000 } else { PEOPLE };
        let one = total.contribution(1, 0, 1, true).0;
        for key in 0..KEYS {
            (0..people + u64::from(key) % 7).for_each(|_| tally.absorb((key, one)));
        }
        (0..UNKNOWN).for_each(|key| tally.absorb((KEYS + window as u32 * UNKNOWN + key, one)));
        let release = ReleaseId {
            account: account.name().clone(),
            job: Name::new("job", "web")?,
            version: Digest::of(b"version 1"),
            name: Name::new("name", "total")?,
            window: Interval::new(window, window + 1)?,
            part: None,
        };
        let sealable = Box::new(Window { prepared: prepared.clone(), tally });
        let charge = Charge::Cost(cost.clone());
        handle.submit(ReleaseRequest::unproved_for_tests_of_the_library_itself(release, charge, sealable))?;
        let Some(GateEvent::Row(row, _)) = handle.wait() else { return Err("no row".into()) };
        handle.delivered(&row);
        // The first window makes the keys public.
        let states = Ledger::open(&path)?.states(&Name::new("job", "web")?, &row.release().name)?;
        whole = states.first().map_or(0, |state| state.held.len());
        match window {
            0 => before = written(),
            _ => sizes += states.last().map_or(0, |state| state.held.len()),
        }
    }
    let written = written().zip(before).map(|(after, before)| (after - before) / WINDOWS as f64);
    let clear = CLEAR.load(Ordering::Relaxed);
    Ok(Sealed { name, clear, whole, state: sizes as f64 / WINDOWS as f64, written })
}

/// Bytes that this process has caused to be written to the disk.
fn written() -> Option<f64> {
    let io = fs::read_to_string("/proc/self/io").ok()?;
    io.lines().find_map(|line| line.strip_prefix("wchar: "))?.trim().parse().ok()
}
