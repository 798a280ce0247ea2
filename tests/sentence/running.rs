//! A thousand windows that are added up, by a job that is killed again and again.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;

use discreet::accounting::{Amount, Omega};
use discreet::dataflow::{Failure, Finished, Gone, Pulled, Source, execute};
use discreet::mechanisms::{Bound, Gaussian, Keys};
use discreet::time::Time;

use crate::children::child as process;
use crate::scene::{Random, Row, Scratch, Visit, cast, size, span, write_down, zcdp};

const WINDOWS: Time = 1000;
/// Noise is then below 1/10 of a record but for one total in 10^20.
const RHO: f64 = 10_000.0;
const DELTA: f64 = 1e-9;

/// A few visits a window, of a hundred people, by key; a key of three people comes once in a while.
fn visits(window: Time) -> Vec<Visit> {
    let mut random = Random::new(window as u64);
    let mut visit = |people: usize, key: u32| {
        (random.below(people) as u64, key, 0, 10 * window + random.below(10) as Time, window as u64)
    };
    let mut all: Vec<Visit> = (0..6).map(|number| visit(100, number % 3)).collect();
    if window % 90 == 80 {
        all.push(visit(3, 7));
    }
    all
}

/// One worker's visits; a window is complete once the next one is given.
struct Visits {
    worker: usize,
    workers: usize,
    next: Time,
}

impl Source for Visits {
    type Record = Visit;

    fn pull(&mut self, batch: &mut Vec<Visit>) -> Result<Pulled, Gone> {
        if self.next == WINDOWS {
            return Ok(Pulled::End);
        }
        batch.extend(visits(self.next).into_iter().skip(self.worker).step_by(self.workers));
        self.next += 1;
        Ok(Pulled::Complete(10 * self.next))
    }
}

pub(crate) fn child(detail: &str, directory: PathBuf) -> Result<Finished, Failure> {
    let (config, gate) = cast(&directory, detail.parse().unwrap());
    execute(config, move |worker, feeds| {
        let source = Visits { worker: worker.index(), workers: worker.peers(), next: 0 };
        worker.dataflow(|scope| {
            let people = feeds
                .stream(scope, source)
                .protect(|visit| visit.0)
                .tumbling(span(10), |visit| visit.3)
                .between(0, 10 * WINDOWS)
                .bound(Bound::keys(2).per_key(2));
            let listed = || Keys::public(0..3);
            let noise = || Gaussian::rho(RHO);
            let so_far = people.clone().count_by(|visit| visit.1, listed()).running();
            write_down(so_far.release(&gate, "so_far", noise()), &directory);
            let last = people.clone().count_by(|visit| visit.1, listed()).over_last(60);
            write_down(last.release(&gate, "last", noise()), &directory);
            let people = people.people_by(|visit| visit.1, Keys::discover(DELTA)).running();
            write_down(people.release(&gate, "people", noise()), &directory);
        });
        Ok(())
    })
}

/// Runs until so many lines were said, or to its end.
fn kill_after(scratch: &Scratch, workers: usize, windows: usize) {
    let mut victim = process(&format!("running {workers}"), &scratch.0).spawn().unwrap();
    let mut out = BufReader::new(victim.stdout.take().unwrap()).lines();
    let said = out.by_ref().map_while(Result::ok).filter(|line| line.starts_with("said"));
    assert_eq!(said.take(windows).count(), windows, "it ended by itself");
    victim.kill().unwrap();
    victim.wait().unwrap();
}

fn run_to_the_end(scratch: &Scratch, workers: usize) {
    let ended = process(&format!("running {workers}"), &scratch.0).output().unwrap();
    assert_eq!(ended.status.code(), Some(0), "{}", String::from_utf8_lossy(&ended.stderr));
}

/// What the rows of each release tell, in order of windows.
fn told(scratch: &Scratch) -> Vec<(String, Time, Vec<(u64, i64)>)> {
    let mut told: Vec<_> =
        scratch.rows().iter().map(|row| (row.name.clone(), row.window.0, row.values())).collect();
    told.sort();
    told
}

// Refutes a window that is missing from a total after a kill, or in it twice; a person whose share begins anew; a key that is
// forgotten; a row that is written again; and a second payment.
#[test]
fn a_thousand_totals_are_what_they_would_be_without_a_kill() {
    let whole = Scratch::new("thousand", &zcdp());
    run_to_the_end(&whole, 1);
    let expected = told(&whole);
    assert_eq!(expected.len(), 3 * WINDOWS as usize);
    let last = |name: &str| &expected.iter().rfind(|(other, ..)| other == name).unwrap().2;
    // A hundred people in two of three keys at most, twice each.
    assert!(last("so_far").iter().all(|(_, total)| (100..=200).contains(total)), "{:?}", last("so_far"));
    assert_eq!(last("people").last(), Some(&(7, 2)), "found by a long span");
    for _ in 0..size(1, 20) {
        let scratch = Scratch::like("killed", &zcdp(), &whole);
        let mut before: Vec<Row> = Vec::new();
        for (round, windows) in [40, 1000, 1, 1600].into_iter().enumerate() {
            kill_after(&scratch, 1 + round % 3, windows);
            let rows = scratch.rows();
            assert_eq!(rows[..before.len()], before[..], "a row was written again");
            before = rows;
        }
        assert!(before.len() < expected.len(), "it was killed too late to matter");
        run_to_the_end(&scratch, 2);
        assert_eq!(scratch.rows()[..before.len()], before[..], "a row was written again");
        assert_eq!(told(&scratch), expected);
        // Lines are what rows hold, whatever process let them leave.
        let held: std::collections::BTreeSet<String> =
            scratch.rows().iter().flat_map(|row| row.text.lines()).map(str::to_owned).collect();
        let lines = scratch.lines();
        let said: std::collections::BTreeSet<String> =
            lines.into_iter().filter(|line| !line.contains("\"closed\"")).collect();
        assert_eq!(said, held);
        let once = Amount::approximate_zcdp(3.0 * RHO, Omega::EVERY, Some(DELTA)).unwrap();
        assert_eq!(scratch.spent(), once);
    }
}
