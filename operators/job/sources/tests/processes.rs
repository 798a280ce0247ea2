//! Two processes that follow one input: what is declared is what both have read.

use std::sync::atomic::Ordering;

use crossbeam_channel::{Receiver, Sender, unbounded};

use super::following::{Followed, Settable};
use super::*;
use crate::dataflow::{Clock, SystemClock};
use crate::job::sources::accord::ClusterLinks;

/// One of two processes, which hear each other.
struct Other {
    process: usize,
    to: Sender<(usize, Vec<u8>)>,
    notes: Receiver<(usize, Vec<u8>)>,
}

impl ClusterLinks for Other {
    fn broadcast(&self, note: &[u8]) {
        // Who is gone hears nothing.
        let _ = self.to.send((self.process, note.to_owned()));
    }

    fn messages(&self) -> &Receiver<(usize, Vec<u8>)> {
        &self.notes
    }

    fn name(&self, process: usize) -> String {
        format!("process {process}")
    }
}

/// Two processes that follow a file each, by a clock each.
pub(super) fn two(sources: [&(SourceSpec, Protected); 2], clocks: [&Arc<Settable>; 2]) -> [Followed; 2] {
    let (to_first, first) = unbounded();
    let (to_second, second) = unbounded();
    let links = [(0, to_second, first), (1, to_first, second)];
    links.map(|(process, to, notes)| {
        let (source, person) = sources[process];
        let crew = Crew { process, processes: 2, threads: 1 };
        let crew = ClusterCrew::between(crew, Box::new(Other { process, to, notes }));
        let pace = InputPace::Follow(Arc::clone(clocks[process]) as Arc<dyn Clock>);
        let wanted = wanted(&[], &[], false);
        let input = open_in(sizes(64), source, person, wanted, pace, crew, Brake::new()).unwrap();
        Followed::of(vec![input.part(process)], input.progress())
    })
}

/// Takes what a process gives, for some time; what ended it.
pub(super) fn turns(processes: &mut [Followed; 2], within: Duration) -> Option<SourceError> {
    let began = Instant::now();
    while began.elapsed() < within {
        for Followed { parts, found, complete, .. } in processes.iter_mut() {
            match parts[0].pull(found) {
                Ok(Pulled::Complete(time)) => complete[0] = time,
                Ok(_) => {}
                Err(gone) => return Some(gone),
            }
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    None
}

// Refutes a moment that is declared complete although a copy has not got what another had by then; lines that
// are lost or twice by it; and a copy that is compared only where it was at the start.
#[test]
fn a_copy_that_is_behind_is_waited_for() {
    let (first, second) = (Place::new("ahead-of"), Place::new("behind"));
    let clock = Arc::new(Settable::default());
    let lines: Vec<String> = (0..300).map(|line| format!("somebody-{line}\n")).collect();
    first.write("a.csv", "user\n".to_owned() + &lines[..200].concat());
    second.write("a.csv", "user\n".to_owned() + &lines[..50].concat());
    let mut both = two([&csv(&first.path("a.csv"), ""), &csv(&second.path("a.csv"), "")], [&clock, &clock]);
    assert_eq!(turns(&mut both, Duration::from_millis(700)), None);
    assert_eq!(both[1].complete, [i64::MIN], "what the other had is not there");
    second.append("a.csv", lines[50..200].concat());
    let now = SystemClock.now();
    let is_settled = |both: &[Followed; 2], now| both.iter().all(|process| process.complete[0] > now);
    let deadline = Instant::now() + Duration::from_secs(20);
    while !is_settled(&both, now) {
        assert!(Instant::now() < deadline);
        assert_eq!(turns(&mut both, Duration::from_millis(20)), None);
    }
    first.append("a.csv", lines[200..].concat());
    std::thread::sleep(Duration::from_millis(300));
    second.append("a.csv", lines[200..].concat());
    let now = SystemClock.now();
    while !is_settled(&both, now) {
        assert!(Instant::now() < deadline);
        assert_eq!(turns(&mut both, Duration::from_millis(20)), None);
    }
    let found: Vec<Id> = both.iter().flat_map(|process| &process.found).map(|record| record.person).collect();
    let mut expected: Vec<Id> = lines.iter().map(|line| id(line.trim().as_bytes())).collect();
    assert!(both.iter().all(|process| process.found.len() > 50), "each has read some");
    let mut sorted = found.clone();
    sorted.sort();
    expected.sort();
    assert!(sorted == expected);
    // What is appended later is compared as well.
    first.append("a.csv", "ada\n");
    second.append("a.csv", "adb\n");
    let gone = turns(&mut both, Duration::from_secs(20)).unwrap();
    assert!(gone.is_refused(), "{gone}");
    let what = "process 0 has other bytes among its first";
    assert!(gone.to_string().contains(what) && !gone.to_string().contains("adb"), "{gone}");
}

// Refutes a moment that one process declares although another's clock has not come to it.
#[test]
fn nothing_is_complete_that_is_not_for_all_clocks() {
    let (first, second) = (Place::new("clock-one"), Place::new("clock-two"));
    for place in [&first, &second] {
        place.write("a.csv", "user\nada\n");
    }
    let behind = Arc::new(Settable::default());
    behind.0.store(-5_000_000, Ordering::Relaxed);
    let mut both =
        two([&csv(&first.path("a.csv"), ""), &csv(&second.path("a.csv"), "")], [&Arc::default(), &behind]);
    assert_eq!(turns(&mut both, Duration::from_secs(1)), None);
    for process in &both {
        let late = SystemClock.now() - process.complete[0];
        assert!((5_000_000..30_000_000).contains(&late), "{late}");
    }
}
