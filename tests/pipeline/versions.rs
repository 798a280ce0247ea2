//! A version of a job is held to its parameters; another version goes on with the public keys.

use std::path::PathBuf;

use discreet::accounting::PrivacyCost;
use discreet::dataflow::{All, Config, FailureKind, execute};
use discreet::gate::Opening;
use discreet::mechanisms::{Bound, Gaussian, Keys, Mechanism, Prepared, Ranges, Stable, StableVectors};
use discreet::time::Time;

use crate::scene::{JOB, Scratch, Visit, span, write_down, zcdp};

/// A job with two statistics over two windows.
#[derive(Clone)]
struct Job {
    version: u32,
    accounts: [&'static str; 2],
    bound: Bound,
    listed: &'static [u32],
    delta: f64,
    from: Time,
    visits: &'static [Visit],
}

/// Two people of one key.
const VISITS: &[Visit] = &[(1, 7, 0, 3, 0), (2, 7, 0, 4, 0)];
const FIRST: Job = Job {
    version: 1,
    accounts: ["visits"; 2],
    bound: Bound::keys(1),
    listed: &[7, 8],
    delta: 1e-9,
    from: 0,
    visits: VISITS,
};

impl Job {
    /// Runs the job: its exit code, and its error message.
    fn run(self, scratch: &Scratch) -> (u8, String) {
        let gate = Opening::new(scratch.ledger(), JOB).unwrap().version(self.version).open().unwrap();
        let directory: PathBuf = scratch.0.to_path_buf();
        let ended = execute(Config::threads(2).unwrap(), move |worker, feeds| {
            let job = self.clone();
            let own = job.visits.iter().copied().skip(worker.index()).step_by(2);
            worker.dataflow(|scope| {
                let visits = feeds
                    .stream(scope, All::of(own))
                    .protect(|visit| visit.0)
                    .tumbling(span(10), |visit| visit.3)
                    .between(job.from, job.from + 20)
                    .bound(job.bound);
                let (listed, open) = (Keys::public(job.listed.to_vec()), Keys::discover(job.delta));
                let noise = || Gaussian::rho(100.0);
                let listed = visits.clone().people_by(|visit| visit.1, listed).charged_to(job.accounts[0]);
                let open = visits.people_by(|visit| visit.1, open).charged_to(job.accounts[1]);
                write_down(listed.release(&gate, "listed", noise()).stream(), &directory);
                write_down(open.release(&gate, "open", noise()).stream(), &directory);
            });
            Ok(())
        });
        match ended {
            Ok(finished) => (finished.exit_code(), String::new()),
            Err(failure) => {
                assert_eq!(failure.kind(), FailureKind::Configuration, "{failure}");
                (failure.exit_code(), failure.to_string())
            }
        }
    }
}

fn printed(scratch: &Scratch, name: &str) -> Vec<(Time, Vec<(u64, i64)>)> {
    let rows = scratch.rows().into_iter().filter(|row| row.name == name);
    rows.map(|row| (row.window.0, row.values())).collect()
}

// Refutes a run that goes on with another bound, list, delta or cost under the same version; a message
// without the parameter, or without a remedy; and a new version that forgets the public keys.
#[test]
fn a_version_is_held_to_its_parameters_and_the_next_one_keeps_what_is_public() {
    let scratch = Scratch::new("versions", &zcdp());
    assert_eq!(FIRST.run(&scratch), (0, String::new()));
    assert_eq!(printed(&scratch, "listed"), [(0, vec![(7, 2), (8, 0)]), (10, vec![(7, 0), (8, 0)])]);
    assert_eq!(printed(&scratch, "open"), [(0, vec![(7, 2)]), (10, vec![(7, 0)])]);
    let (rows, spent) = (scratch.rows(), scratch.spent());

    let slips = [
        (Job { bound: Bound::keys(2), ..FIRST }, "listed"),
        (Job { bound: Bound::keys(1).windows(1), ..FIRST }, "listed"),
        (Job { listed: &[7, 9], ..FIRST }, "listed"),
        (Job { delta: 1e-8, ..FIRST }, "open"),
        // The first window of a statistic that keeps state between windows, and the last of one that does
        // not.
        (Job { from: -10, ..FIRST }, "listed"),
        (Job { from: 10, ..FIRST }, "listed"),
    ];
    for (job, name) in slips {
        let (code, said) = job.run(&scratch);
        assert_eq!(code, 78, "{said}");
        let remedy = format!("give {name} a new version (`version = 2` in its [[release]] or [[ask]]");
        for word in [name, JOB, "version 1", &remedy] {
            assert!(said.contains(word), "{said}");
        }
    }
    assert_eq!((scratch.rows(), scratch.spent()), (rows.clone(), spent), "a slip was sealed");
    assert_eq!(FIRST.run(&scratch).0, 0);
    assert_eq!(scratch.rows(), rows);

    // Without records, the public key is released all the same; also for earlier windows, in another version
    // again.
    let second = Job { version: 2, bound: Bound::keys(2), visits: &[], ..FIRST };
    assert_eq!(Job { from: 20, ..second.clone() }.run(&scratch), (0, String::new()));
    assert_eq!(printed(&scratch, "open")[2..], [(20, vec![(7, 0)]), (30, vec![(7, 0)])]);
    let (code, said) = second.clone().run(&scratch);
    assert!(code == 78 && said.contains("from (was"), "{said}");
    assert_eq!(Job { version: 3, ..second }.run(&scratch).0, 0);
    assert_eq!(printed(&scratch, "open")[4..], [(0, vec![(7, 0)]), (10, vec![(7, 0)])]);
    // The first version's parameters are not the second's.
    assert_eq!(Job { version: 2, ..FIRST }.run(&scratch).0, 78);
}

// Faults that only worker 0 can detect. Refutes a worker that then builds less than the others: they would
// mistake the next statistic's channels, or the driver's, for others, and end without a message.
#[test]
fn what_only_the_ledger_knows_to_be_wrong_is_said_like_the_rest() {
    let scratch = Scratch::new("nowhere", &zcdp());
    for accounts in [["visits", "visit"], ["visit", "visits"], ["visit", "visit"]] {
        let (code, said) = Job { accounts, ..FIRST }.run(&scratch);
        assert_eq!(code, 78);
        assert!(said.starts_with("account: the ledger has none named visit;"), "{said}");
    }
    assert_eq!(scratch.rows(), []);
}

/// The bounds of a job's means, and whether they are kept from window to window.
#[derive(Clone, Copy, Debug)]
enum Means {
    Found,
    Stable,
}

impl Means {
    const RANGE: (i64, i64) = (-1_000_000, 1_000_000);

    fn stable() -> Stable {
        Stable::epsilon(2.0, 1e-6).people(1_000_000)
    }

    /// A budget for several windows.
    fn budget(self) -> PrivacyCost {
        match self {
            Means::Found => zcdp(),
            Means::Stable => {
                let (ranges, bound) = (Ranges::new([Means::RANGE]), Bound::keys(1).checked());
                let vectors = StableVectors::new(ranges.unwrap(), bound.unwrap(), Keys::whole()).unwrap();
                Means::stable().prepare(&vectors).unwrap().cost().amount().times(100).unwrap()
            }
        }
    }

    /// Runs the job: its exit code, and its error message.
    fn run(self, scratch: &Scratch, version: u32) -> (u8, String) {
        let gate = Opening::new(scratch.ledger(), JOB).unwrap().version(version).open().unwrap();
        let directory: PathBuf = scratch.0.to_path_buf();
        let ended = execute(Config::threads(1).unwrap(), move |worker, feeds| {
            worker.dataflow(|scope| {
                let visits =
                    (0..400).map(|person| (person, 7, person as i64 % 20, person as i64 % 20, person));
                let means = feeds
                    .stream(scope, All::of(visits))
                    .protect(|visit: &Visit| visit.0)
                    .tumbling(span(10), |visit| visit.3)
                    .between(0, 20)
                    .bound(Bound::keys(1))
                    .mean_of(|visit| [visit.2]);
                let releases = match self {
                    Means::Found => {
                        let found = means.found_within([Means::RANGE]);
                        found.release(&gate, "means", Gaussian::rho(1.0))
                    }
                    Means::Stable => means.stable([Means::RANGE]).release(&gate, "means", Means::stable()),
                };
                write_down(releases.stream(), &directory);
            });
            Ok(())
        });
        match ended {
            Ok(finished) => (finished.exit_code(), String::new()),
            Err(failure) => (failure.exit_code(), failure.to_string()),
        }
    }
}

// Versions 1, 2, 1 and 1, 2, 3, 1. Refutes an old version that uses the bounds that another one found, and
// one that is refused though it keeps no state.
#[test]
fn a_version_that_comes_back_goes_on_only_where_it_kept_nothing() {
    for means in [Means::Found, Means::Stable] {
        let scratch = Scratch::new(&format!("back-{means:?}"), &means.budget());
        assert_eq!(means.run(&scratch, 1), (0, String::new()), "{means:?}");
        for version in [2, 3] {
            assert_eq!(means.run(&scratch, version), (0, String::new()), "{means:?}");
            let (rows, spent) = (scratch.rows(), scratch.spent());
            assert_eq!(rows.len(), 2 * version as usize, "{means:?}: {rows:?}");
            let (code, said) = means.run(&scratch, 1);
            let replaced = format!("was replaced by version {version}");
            match means {
                Means::Found => assert!(code == 78 && said.contains(&replaced), "{code} {said}"),
                Means::Stable => assert_eq!((code, said), (0, String::new())),
            }
            assert_eq!((scratch.rows(), scratch.spent()), (rows, spent), "{means:?}: it paid or drew again");
        }
    }
}
