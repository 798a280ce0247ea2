//! Whole jobs over a real ledger: processes whose inputs are dropped, whose siblings panic, whose peers are
//! killed. Incomplete windows are not sealed, and a process that cannot go on ends.
//!
//! Each test starts this program again as its child, with a task in the environment.

#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr)]

mod cluster;
#[path = "../kit/mod.rs"]
mod kit;
mod subject;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::time::Duration;

use discreet::accounting::PrivacyCost;
use discreet::dataflow::{All, Config, Deliver, StatisticSchedule, Title, execute};
use discreet::gate::{Gate, Opening};
use discreet::ledger::{AccountSpec, Digest, Ledger, Name, ReleaseStatus};

use kit::Directory;
use kit::children::{child, end};
use subject::{People, hosted, job, released, schedule, title};

/// A power of two, so that sums of costs are exact in any arithmetic.
const COST: f64 = 1.0 / 1024.0;
const WINDOWS: usize = 6;

struct Scratch(Directory);

impl Scratch {
    /// A ledger whose budget pays for this number of windows.
    fn new(name: &str, windows: f64) -> Scratch {
        let scratch = Scratch(Directory::new(&format!("flow-{name}")));
        let mut ledger = Ledger::create(scratch.ledger()).unwrap();
        ledger
            .register(&AccountSpec::lifetime("visits", PrivacyCost::zcdp(windows * COST)).unwrap())
            .unwrap();
        scratch
    }

    fn ledger(&self) -> PathBuf {
        self.0.join("visits.ledger")
    }

    /// The ledger's status of each window of the schedule.
    fn statuses(&self) -> Vec<Option<ReleaseStatus>> {
        let mut ledger = Ledger::open(self.ledger()).unwrap();
        let windows = (0..).map_while(|number| schedule().window(number));
        windows.map(|window| ledger.look_up(&title().of(window)).unwrap().map(|row| row.status())).collect()
    }

    fn lines(&self) -> Vec<String> {
        fs::read_to_string(self.0.join("out")).unwrap_or_default().lines().map(str::to_owned).collect()
    }
}

/// The task of the children, not a test of its own. Without a task it does nothing.
#[test]
fn the_child() {
    let Ok(task) = std::env::var("TASK") else { return };
    let directory = PathBuf::from(std::env::var("DIRECTORY").unwrap());
    let is_hosted = std::env::var("RUNS_TIMELY").is_ok();
    let open = || Gate::open(directory.join("visits.ledger"), title().job.as_str()).unwrap();
    let ended = match std::env::var("HOSTS") {
        Err(_) if is_hosted => {
            hosted(timely::CommunicationConfig::Process(2), task, directory.clone(), open())
        }
        Err(_) => job(Config::threads(2).unwrap(), task, directory.clone(), open()),
        Ok(hosts) => {
            let process = std::env::var("PROCESS").unwrap().parse().unwrap();
            let gate = match process {
                0 => open(),
                _ => Gate::elsewhere(title().job.as_str(), directory.join("visits.ledger.key")).unwrap(),
            };
            let addresses = hosts.split(' ').map(str::to_owned).collect();
            if is_hosted {
                let config = timely::CommunicationConfig::Cluster {
                    threads: 1,
                    process,
                    addresses,
                    report: false,
                    zerocopy: false,
                };
                hosted(config, task, directory.clone(), gate)
            } else {
                let agreement = std::env::var("AGREEMENT").unwrap_or_default();
                let config = Config::cluster(1, process, addresses).unwrap();
                let config = config
                    .connect_within(Duration::from_secs(3))
                    .agreeing_on(Digest::of(agreement.as_bytes()));
                job(config, task, directory.clone(), gate)
            }
        }
    };
    let code = match &ended {
        Ok(finished) => finished.exit_code(),
        Err(failure) => {
            eprintln!("{failure}");
            failure.exit_code()
        }
    };
    std::process::exit(code.into());
}

/// The drivers of a child: none that is added to its environment, for the library's own; or a program that runs timely itself.
const DRIVERS: [Option<(&str, &str)>; 2] = [None, Some(("RUNS_TIMELY", "1"))];

#[test]
fn a_whole_input_is_released_window_by_window_and_said_again_to_the_byte() {
    for driver in DRIVERS {
        let scratch = Scratch::new("whole", 100.0);
        for round in 1..=2 {
            let (status, said) = end(child("whole", &scratch.0).envs(driver).spawn().unwrap());
            assert_eq!(status.code(), Some(0), "{said}");
            let lines = scratch.lines();
            let windows: Vec<_> = lines.iter().filter_map(|line| line.split(' ').next()).collect();
            assert_eq!(windows, ["0", "10", "20", "30", "40", "50"].repeat(round));
            assert_eq!(lines[lines.len() - WINDOWS..], lines[..WINDOWS], "the second run repeats the first");
        }
        assert_eq!(scratch.statuses(), [Some(ReleaseStatus::Sealed); WINDOWS]);
    }
}

#[test]
fn windows_that_the_budget_does_not_hold_are_refused_and_the_exit_code_says_so() {
    for driver in DRIVERS {
        let scratch = Scratch::new("poor", 4.0);
        let (status, said) = end(child("poor", &scratch.0).envs(driver).spawn().unwrap());
        assert_eq!(status.code(), Some(75), "{said}");
        let statuses = scratch.statuses();
        assert_eq!(statuses.iter().filter(|status| **status == Some(ReleaseStatus::Sealed)).count(), 4);
        assert_eq!(statuses.iter().filter(|status| **status == Some(ReleaseStatus::Refused)).count(), 2);
        assert_eq!(scratch.lines().len(), WINDOWS, "a refusal is a line, too");
    }
}

/// Refutes frontiers as evidence of completeness: dropped inputs, early returns, errors and panics close them
/// all.
#[test]
fn an_input_that_is_left_seals_nothing_and_ends_the_process() {
    for driver in DRIVERS {
        for (task, code) in [
            ("returns early", 70),
            ("panics while building", 70),
            ("panics", 70),
            ("errs", 69),
            ("refuses", 65),
            ("goes back", 70),
            ("external", 70),
        ] {
            let scratch = Scratch::new(&task.replace(' ', "-"), 100.0);
            let (status, said) = end(child(task, &scratch.0).envs(driver).spawn().unwrap());
            assert_eq!(status.code(), Some(code), "{task}: {said}");
            assert_eq!(scratch.statuses(), [None; WINDOWS], "{task}");
            assert_eq!(scratch.lines().len(), 0, "{task}");
            assert!(!said.contains("47"), "{task}: a panic quotes a record: {said}");
        }
    }
}

/// Kills a job at some moment after its first release, and starts it again. Refutes a second text for one
/// window, and a window that is never released.
#[test]
fn a_job_that_is_killed_goes_on_with_the_same_texts() {
    for driver in DRIVERS {
        let scratch = Scratch::new("again", 100.0);
        for round in 0..4 {
            let mut victim = child("whole", &scratch.0).envs(driver).spawn().unwrap();
            let mut out = BufReader::new(victim.stdout.take().unwrap()).lines();
            let _ = out.by_ref().map_while(Result::ok).filter(|line| line.starts_with("said")).nth(round);
            victim.kill().unwrap();
            victim.wait().unwrap();
        }
        let (status, said) = end(child("whole", &scratch.0).envs(driver).spawn().unwrap());
        assert_eq!(status.code(), Some(0), "{said}");
        let mut texts: Vec<String> =
            scratch.lines().into_iter().filter(|line| line.contains("about")).collect();
        texts.sort();
        texts.dedup();
        assert_eq!(texts.len(), WINDOWS, "{texts:?}");
    }
}

#[test]
fn a_process_without_the_ledger_cannot_hold_worker_0() {
    let scratch = Scratch::new("elsewhere", 1.0);
    let gate = Gate::elsewhere("web", scratch.0.join("visits.ledger.key")).unwrap();
    let ended = execute(Config::threads(1).unwrap(), move |worker, feeds| {
        worker.dataflow(|scope| drop(released(feeds.stream(scope, All::of([])), &gate)));
        Ok(())
    });
    assert_eq!(ended.unwrap_err().exit_code(), 78);
}

/// Refutes a run that goes on with other parameters under the same version, alone or beside a statistic of
/// the same job whose parameters are unchanged.
#[test]
fn a_job_with_other_parameters_needs_a_new_version() {
    let scratch = Scratch::new("versions", 100.0);
    let run = |version, parameters: &'static [u8], names: &'static [&str]| {
        let gate = Opening::new(scratch.ledger(), "web").unwrap().version(version).open().unwrap();
        let ended = execute(Config::threads(2).unwrap(), move |worker, feeds| {
            worker.dataflow(|scope| {
                for name in names {
                    let version = match *name {
                        // The parameters of this statistic are unchanged.
                        "hours" => Digest::of(b"hours"),
                        _ => Digest::of_version(gate.version(), &Digest::of(parameters)),
                    };
                    let name = Name::new("release", name).unwrap();
                    let plan = StatisticSchedule::new(Title { version, name, ..title() }, schedule(), People);
                    let records = feeds.stream(scope, All::of([3, 14]));
                    let parts = records.flat_map(|time| schedule().holding(time).map(|window| (window, 1)));
                    parts.release_unproved_for_tests_of_the_library_itself(&gate, plan).deliver(|_| Ok(()));
                }
            });
            Ok(())
        });
        let rows = Ledger::open(scratch.ledger()).unwrap().head().unwrap().0 - 1;
        let ended = ended.map(|finished| finished.released()).map_err(|failure| {
            assert!(failure.to_string().contains("people in version"), "{failure}");
            failure.exit_code()
        });
        (ended, rows)
    };
    assert_eq!(run(1, b"variance 50", &["people"]), (Ok(6), 6));
    assert_eq!(run(1, b"variance 9", &["people"]), (Err(78), 6));
    for names in [&["hours", "people"][..], &["people", "hours"]] {
        assert_eq!(run(1, b"variance 9", names), (Err(78), 6), "{names:?}");
    }
    assert_eq!(run(1, b"variance 50", &["people"]), (Ok(6), 6));
    assert_eq!(run(2, b"variance 9", &["people"]), (Ok(6), 12));
    assert_eq!(run(2, b"variance 50", &["people"]), (Err(78), 12));
}
