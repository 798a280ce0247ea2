//! A job that is killed and goes on: the same texts, nothing charged twice, and nobody forgotten.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;

use discreet::accounting::{Omega, PrivacyCost};
use discreet::dataflow::{Finished, Pulled, RunError, Source, SourceError, execute};
use discreet::mechanisms::{Bound, Gaussian, Keys};
use discreet::time::Time;

use crate::kit::children::{child as process, end};
use crate::kit::size;
use crate::scene::{Row, Scratch, Visit, cast, span, write_down, zcdp};

const WINDOWS: Time = 8;
/// Noise that is not zero with probability 2 exp(-100): every key with more than one person is released.
const RHO: f64 = 100.0;
const DELTA: f64 = 1e-9;

/// The visits of a window: five people come always and three from the fifth window on, each group with a key
/// of its own; four others come in each window, once; and one is alone.
fn visits(window: Time) -> Vec<Visit> {
    let now = window as u64;
    let early = (1..=5).map(|person| (person, 1));
    let late = (11..=13).map(|person| (person, 2)).filter(|_| window >= 4);
    let once = (0..4).map(|person| (100 + 10 * now + person, 3));
    let all = early.chain(late).chain(once).chain([(1000 + now, 4)]);
    all.map(|(person, key)| (person, key, 0, 10 * window + 5, now)).collect()
}

/// By hand: each person in two windows, and a key in every window after its first release.
fn expected(window: Time) -> Vec<(u64, i64)> {
    let early = (1, if window < 2 { 5 } else { 0 });
    let late = (2, if window < 6 { 3 } else { 0 });
    [early, late, (3, 4)].into_iter().filter(|(key, _)| *key != 2 || window >= 4).collect()
}

/// One worker's visits from a window on; the next window comes only once one is complete, and none after the
/// last.
struct Visits {
    worker: usize,
    workers: usize,
    next: Time,
    last: Time,
}

impl Source for Visits {
    type Record = Visit;

    fn pull(&mut self, batch: &mut Vec<Visit>) -> Result<Pulled, SourceError> {
        if self.next == WINDOWS {
            return Ok(Pulled::End);
        }
        if self.next > self.last + 1 {
            return Ok(Pulled::Idle);
        }
        // Half of the window after the last is there when the process is killed.
        batch.extend(visits(self.next).into_iter().skip(self.worker).step_by(self.workers));
        self.next += 1;
        Ok(if self.next > self.last + 1 { Pulled::Idle } else { Pulled::Complete(10 * self.next) })
    }
}

/// `workers first last`: the number of workers, the first window of their visits, and the last complete one.
pub(crate) fn child(detail: &str, directory: PathBuf) -> Result<Finished, RunError> {
    let detail: Vec<Time> = detail.split(' ').map(|number| number.parse().unwrap()).collect();
    let [workers, first, last] = detail.try_into().unwrap();
    let (config, gate) = cast(&directory, workers as usize);
    execute(config, move |worker, feeds| {
        let source = Visits { worker: worker.index(), workers: worker.peers(), next: first, last };
        worker.dataflow(|scope| {
            let printed = feeds
                .stream(scope, source)
                .protect(|visit| visit.0)
                .tumbling(span(10), |visit| visit.3)
                .between(0, 10 * WINDOWS)
                .bound(Bound::keys(1).windows(2))
                .people_by(|visit| visit.1, Keys::discover(DELTA))
                .release(&gate, "people", Gaussian::rho(RHO));
            write_down(printed.stream(), &directory);
        });
        Ok(())
    })
}

/// Runs until this number of windows was printed, or to the end.
fn kill_after(scratch: &Scratch, task: &str, windows: usize) {
    let mut victim = process(task, &scratch.0).spawn().unwrap();
    let mut out = BufReader::new(victim.stdout.take().unwrap()).lines();
    let said = out.by_ref().map_while(Result::ok).filter(|line| line.starts_with("said"));
    assert_eq!(said.take(windows).count(), windows, "it ended by itself");
    victim.kill().unwrap();
    victim.wait().unwrap();
}

/// Checks that the released lines equal the ledger's and the true history, and that each was paid for once.
fn check(scratch: &Scratch, what: &str) {
    let rows = scratch.rows();
    let windows: Vec<Time> = rows.iter().map(|row| row.window.0).collect();
    assert_eq!(windows, (0..WINDOWS).map(|window| 10 * window).collect::<Vec<_>>(), "{what}");
    for (window, row) in rows.iter().enumerate() {
        assert_eq!(row.values(), expected(window as Time), "{what}: window {window}");
    }
    let held: BTreeSet<&str> = rows.iter().flat_map(|row| row.text.lines()).collect();
    let lines = scratch.lines();
    let printed: BTreeSet<&str> =
        lines.iter().map(String::as_str).filter(|line| !line.contains("\"closed\"")).collect();
    assert_eq!(printed, held, "{what}");
    let closed: BTreeSet<&String> = lines.iter().filter(|line| line.contains("\"closed\"")).collect();
    assert_eq!(closed.len(), WINDOWS as usize, "{what}: two closing lines for a window");
    let reserved = PrivacyCost::approximate_zcdp(RHO, Omega::EVERY, Some(DELTA)).unwrap().times(2).unwrap();
    assert_eq!(scratch.spent(), reserved, "{what}");
}

// Refutes counters and keys that are forgotten, or counted again, when a process starts anew: over the same
// input, and over input that was not released yet, where only the ledger remembers who has come; by as many
// workers, more, or fewer.
#[test]
fn a_job_that_was_killed_remembers_who_has_counted_and_which_keys_are_public() {
    for killed in [0, 1, 4] {
        for (from, workers) in [(0, 2), (killed + 1, 2), (killed + 1, 3), (killed + 1, 1)] {
            let what = format!("killed after window {killed}, given from {from} to {workers}");
            let scratch = Scratch::new("restart", &zcdp());
            kill_after(&scratch, &format!("restart 2 0 {killed}"), killed as usize + 1);
            let rows = scratch.rows();
            assert_eq!(rows.len(), killed as usize + 1, "{what}");
            let (status, said) =
                end(process(&format!("restart {workers} {from} {WINDOWS}"), &scratch.0).spawn().unwrap());
            assert_eq!(status.code(), Some(0), "{what}: {said}");
            assert_eq!(scratch.rows()[..rows.len()], rows[..], "{what}: a row was written again");
            check(&scratch, &what);
        }
    }
}

// The same job killed anywhere, several times.
#[test]
fn a_job_killed_anywhere_releases_what_it_would_have() {
    for _ in 0..size(1, 50) {
        let scratch = Scratch::new("anywhere", &zcdp());
        let mut before: Vec<Row> = Vec::new();
        for round in 0..4 {
            kill_after(&scratch, &format!("restart 2 0 {WINDOWS}"), 1 + 2 * round);
            let rows = scratch.rows();
            assert_eq!(rows[..before.len()], before[..], "a row was written again");
            before = rows;
        }
        let (status, said) = end(process(&format!("restart 2 0 {WINDOWS}"), &scratch.0).spawn().unwrap());
        assert_eq!(status.code(), Some(0), "{said}");
        check(&scratch, "killed anywhere");
    }
}
