//! A running total over a thousand windows, by a job that is killed again and again.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;

use discreet::accounting::{Omega, PrivacyCost};
use discreet::dataflow::{Finished, Pulled, RunError, Source, SourceError, execute};
use discreet::mechanisms::{Bound, Gaussian, Keys};
use discreet::time::Time;

use crate::kit::children::child as process;
use crate::kit::size;
use crate::scene::{Random, Row, Scratch, Visit, cast, span, write_down, zcdp};

const WINDOWS: Time = 1000;
/// The largest cost: totals of two runs are then nearer to each other than [`NEAR`] but for a probability of
/// 10^-12, and a window is larger than that.
const RHO: f64 = 500.0;
const NEAR: i64 = 3;
const DELTA: f64 = 1e-9;

/// Four visits to each of three keys in every window, from fifteen hundred people; and once in a while a
/// person with a key of their own.
fn visits(window: Time) -> Vec<Visit> {
    let mut random = Random::new(window as u64);
    let mut visit = |people: u64, key: u32| (people, key, 0, 10 * window + random.below(10) as Time, 0);
    let mut people = Random::new(!window as u64);
    let mut all: Vec<Visit> = (0..12).map(|number| visit(people.below(1500) as u64, number % 3)).collect();
    if window % 90 == 80 && window < 500 {
        all.push(visit(10_000 + window as u64, 7));
    }
    all
}

/// One worker's visits; a window is complete once the next one is yielded.
struct Visits {
    worker: usize,
    workers: usize,
    next: Time,
}

impl Source for Visits {
    type Record = Visit;

    fn pull(&mut self, batch: &mut Vec<Visit>) -> Result<Pulled, SourceError> {
        if self.next == WINDOWS {
            return Ok(Pulled::End);
        }
        batch.extend(visits(self.next).into_iter().skip(self.worker).step_by(self.workers));
        self.next += 1;
        Ok(Pulled::Complete(10 * self.next))
    }
}

pub(crate) fn child(detail: &str, directory: PathBuf) -> Result<Finished, RunError> {
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
            write_down(so_far.release(&gate, "so_far", noise()).stream(), &directory);
            let last = people.clone().count_by(|visit| visit.1, listed()).over_last(60);
            write_down(last.release(&gate, "last", noise()).stream(), &directory);
            let people = people.people_by(|visit| visit.1, Keys::discover(DELTA)).running();
            write_down(people.release(&gate, "people", noise()).stream(), &directory);
        });
        Ok(())
    })
}

/// Runs until this number of lines was printed, or to the end.
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

/// A release, a window, and the released value of each key.
type Printed = (String, Time, Vec<(u64, i64)>);

/// The rows of each release, in order of windows.
fn printed(scratch: &Scratch) -> Vec<Printed> {
    let mut printed: Vec<_> =
        scratch.rows().iter().map(|row| (row.name.clone(), row.window.0, row.values())).collect();
    printed.sort();
    printed
}

/// Returns true if both have the same windows, but for noise; a key of few people may be discovered some
/// windows later.
fn are_alike(one: &[Printed], other: &[Printed]) -> bool {
    let of_all = |values: &[(u64, i64)]| -> Vec<(u64, i64)> {
        values.iter().filter(|(key, _)| *key != 7).copied().collect()
    };
    let near = |a: &(u64, i64), b: &(u64, i64)| a.0 == b.0 && (a.1 - b.1).abs() <= NEAR;
    let alike =
        |a: &[(u64, i64)], b: &[(u64, i64)]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| near(a, b));
    let first = one.iter().map(|row| row.1).min();
    let first = first.unwrap_or_default();
    one.len() == other.len()
        && one.iter().zip(other).all(|(one, other)| {
            // In the first window four people have each key, with whom it is found in nine of ten spans or more.
            let finds = one.0 == "people" && one.1 == first;
            (&one.0, one.1) == (&other.0, other.1) && (finds || alike(&of_all(&one.2), &of_all(&other.2)))
        })
}

// Refutes a window that is missing from a total after a kill, or in it twice; a person whose share starts
// anew; a key that is forgotten; a row that is written again; and a second charge.
#[test]
fn a_thousand_totals_are_what_they_would_be_without_a_kill() {
    let whole = Scratch::new("thousand", &zcdp());
    run_to_the_end(&whole, 1);
    let expected = printed(&whole);
    assert_eq!(expected.len(), 3 * WINDOWS as usize);
    let last = |name: &str| &expected.iter().rfind(|(other, ..)| other == name).unwrap().2;
    // Four thousand visits of each key, from fifteen hundred people in two of three keys, twice in each.
    assert!(last("so_far").iter().all(|(_, total)| (1200..2400).contains(total)), "{:?}", last("so_far"));
    let found =
        |last: &[(u64, i64)]| last.iter().any(|(key, people)| *key == 7 && (people - 5).abs() <= NEAR);
    assert!(found(last("people")), "not found by a long span: {:?}", last("people"));
    for _ in 0..size(1, 20) {
        let scratch = Scratch::like("killed", &zcdp(), &whole);
        let mut before: Vec<Row> = Vec::new();
        for (round, windows) in [40, 900, 1, 700].into_iter().enumerate() {
            kill_after(&scratch, 1 + round % 3, windows);
            let rows = scratch.rows();
            assert_eq!(rows[..before.len()], before[..], "a row was written again");
            before = rows;
        }
        assert!(before.len() < expected.len(), "it was killed too late to matter");
        run_to_the_end(&scratch, 2);
        assert_eq!(scratch.rows()[..before.len()], before[..], "a row was written again");
        assert!(
            are_alike(&printed(&scratch), &expected),
            "{:?}\n{:?}",
            printed(&scratch).last(),
            expected.last()
        );
        // The lines are those of the rows, in whatever process they left.
        let held: std::collections::BTreeSet<String> =
            scratch.rows().iter().flat_map(|row| row.text.lines()).map(str::to_owned).collect();
        let lines = scratch.lines();
        let is_whole = |line: &String| serde_json::from_str::<serde_json::Value>(line).is_ok();
        let (whole_lines, torn): (Vec<String>, Vec<String>) = lines.into_iter().partition(is_whole);
        // A kill may come within a line, which the next process says again behind what is there of it.
        assert!(torn.len() <= 4, "{torn:?}");
        let said: std::collections::BTreeSet<String> =
            whole_lines.into_iter().filter(|line| !line.contains("\"closed\"")).collect();
        assert_eq!(said, held);
        // Each of the three is charged once, and one of them for partition selection.
        let paid = |amount: &PrivacyCost| match amount {
            PrivacyCost::Zcdp { rho, delta, .. } => (*rho, *delta),
            other => panic!("{other:?}"),
        };
        let each = paid(&PrivacyCost::approximate_zcdp(RHO, Omega::EVERY, Some(DELTA)).unwrap());
        let all = paid(&PrivacyCost::zcdp(RHO).unwrap().times(3).unwrap());
        assert_eq!(paid(&scratch.spent()), (all.0, each.1));
    }
}
