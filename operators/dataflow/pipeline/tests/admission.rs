//! A person counts in the first so many windows, across restarts too.

use super::*;
use crate::accounting::PrivacyUnit;
use crate::ledger::Charge;
use crate::mechanisms::Laplace;

/// Person, time.
type Visit = (u64, Time);

fn visits(random: &mut Random) -> Vec<Visit> {
    (0..random.below(200)).map(|_| (random.below(7) as u64, random.below(HORIZON as usize) as Time)).collect()
}

fn release(recorder: &Recorder, windows: u64) -> impl Fn(Fed<'_, Visit>) + Send + Sync + 'static {
    let recorder = recorder.clone();
    move |visits| {
        visits
            .protect(|visit| visit.0)
            .tumbling(span(10), |visit| visit.1)
            .between(0, HORIZON)
            .bound(Bound::keys(1).windows(windows))
            .count_by(|visit| visit.0, Keys::public(0..7))
            .release_at(&recorder, "count", Exactly(Laplace::epsilon(1.0)));
    }
}

/// In which windows each person counts.
fn counted(sealed: &[Sealed]) -> BTreeMap<String, Vec<Time>> {
    counted_in(sealed, "count")
}

fn counted_in(sealed: &[Sealed], name: &str) -> BTreeMap<String, Vec<Time>> {
    let mut counted: BTreeMap<String, Vec<Time>> = BTreeMap::new();
    for (start, people) in Recorder::exact(sealed, name) {
        for person in people.into_keys() {
            counted.entry(person).or_default().push(start);
        }
    }
    counted
}

/// The first windows in which each person has been, in order of their end.
fn expected(visits: &[(Time, Visit)], windows: usize) -> BTreeMap<String, Vec<Time>> {
    let mut expected: BTreeMap<String, Vec<Time>> = BTreeMap::new();
    for start in (0..HORIZON).step_by(10) {
        let inside = visits
            .iter()
            .filter(|(given, (_, time))| (start..start + 10).contains(time) && *given < start + 10);
        let mut people: Vec<u64> = inside.map(|(_, (person, _))| *person).collect();
        people.sort_unstable();
        people.dedup();
        for person in people {
            let been = expected.entry(person.to_string()).or_default();
            if been.len() < windows {
                been.push(start);
            }
        }
    }
    expected
}

// Refutes one window more, a count that is kept by worker, and a window that is paid for by itself.
#[test]
fn a_person_counts_in_the_first_windows_and_in_no_other() {
    for seed in 0..150 {
        let mut random = Random::new(seed);
        let windows = 1 + random.below(4);
        let visits = visits(&mut random);
        let scripts = divided(&mut random, &visits, [1, 2, 4][seed as usize % 3]);
        let recorder = Recorder::new(PrivacyUnit::Person);
        let finished = run(&scripts, release(&recorder, windows as u64));
        assert!(finished.is_ok(), "seed {seed}: {finished:?}");
        let sealed = recorder.sealed();
        assert_eq!(counted(&sealed), expected(&given(&scripts), windows), "seed {seed}");
        for sealed in sealed {
            let Charge::Once { cost, life } = sealed.charge else { panic!("charged by the window") };
            assert_eq!((life.start(), life.end()), (0, crate::time::LIMIT));
            assert_eq!(*cost.amount(), crate::accounting::PrivacyCost::pure(windows as f64).unwrap());
        }
    }
}

// The run ends after some windows, and the next begins with all of the input again, or with the rest of it.
// Refutes a count that begins anew, one that counts a window twice, and one that waits for a gate's answer.
#[test]
fn what_was_counted_survives_the_process() {
    for seed in 0..80 {
        let mut random = Random::new(seed);
        let windows = 1 + random.below(3);
        let visits: Vec<Visit> = visits(&mut random);
        let recorder = Recorder::new(PrivacyUnit::Person);
        recorder.refuses([random.below(12) as Time * 10]);
        let half = 10 * random.below(12) as Time;
        // Everything in time, in order of windows.
        let mut ordered = visits.clone();
        ordered.sort_by_key(|visit| visit.1);
        let (before, after): (Vec<Visit>, Vec<Visit>) = ordered.iter().partition(|visit| visit.1 < half);

        let whole = Recorder::new(PrivacyUnit::Person);
        assert!(
            run(&[Script(vec![(ordered.clone(), Pulled::More)])], release(&whole, windows as u64)).is_ok()
        );
        let expected = counted(&whole.sealed());

        let stops =
            Script(vec![(before.clone(), Pulled::Complete(half)), (Vec::new(), Pulled::Complete(half))]);
        let stopped = stopped_at(&recorder, stops, half, windows as u64);
        let again = if random.below(2) == 0 { ordered } else { after };
        let rest = recorder.clone();
        let scripts = divided_in_order(&mut random, &again, 2);
        assert!(run(&scripts, release(&rest, windows as u64)).is_ok());
        let mut sealed = stopped;
        sealed.extend(recorder.sealed());
        let refused = |start: &Time| recorder.is_refusing(*start);
        let expected: BTreeMap<String, Vec<Time>> = expected
            .into_iter()
            .map(|(person, starts)| (person, starts.into_iter().filter(|start| !refused(start)).collect()))
            .filter(|(_, starts): &(String, Vec<Time>)| !starts.is_empty())
            .collect();
        assert_eq!(counted(&sealed), expected, "seed {seed}");
    }
}

/// Windows that end by `half` are sealed, and then the process is gone: its source never ends.
fn stopped_at(recorder: &Recorder, script: Script<Visit>, half: Time, windows: u64) -> Vec<Sealed> {
    struct Hangs(Scripted<Visit>, Stop, Recorder, usize);
    impl Source for Hangs {
        type Record = Visit;

        fn pull(&mut self, batch: &mut Vec<Visit>) -> Result<Pulled, SourceError> {
            match self.0.pull(batch)? {
                Pulled::End => {
                    if self.2.answered() >= self.3 {
                        self.1.stop();
                    }
                    Ok(Pulled::Idle)
                }
                pulled => Ok(pulled),
            }
        }
    }
    let (stop, seals, job) = (Stop::new(), recorder.clone(), release(recorder, windows));
    let config = Config::threads(1).unwrap().stopped_by(&stop);
    let expected = (half / 10) as usize;
    let finished = execute(config, move |worker, feeds| {
        let source = Hangs(script.clone().source(), stop.clone(), seals.clone(), expected);
        worker.dataflow(|scope| job(feeds.stream(scope, source)));
        Ok(())
    });
    assert!(finished.is_ok(), "{finished:?}");
    let sealed = recorder.sealed();
    assert!(sealed.iter().all(|sealed| sealed.release.window.end() <= half));
    sealed
}

/// Among workers, with nothing declared before the end.
fn divided_in_order(random: &mut Random, visits: &[Visit], workers: usize) -> Vec<Script<Visit>> {
    let mut scripts = vec![Script(Vec::new()); workers];
    for visit in visits {
        scripts[random.below(workers)].0.push((vec![*visit], Pulled::More));
    }
    scripts
}

// Refutes a new version that goes on with the old count, which it has not paid for; and an old one that
// begins anew.
#[test]
fn a_new_version_pays_and_counts_anew() {
    let visits: Vec<Visit> = (0..12).map(|window| (1, window * 10)).collect();
    let script = [Script(vec![(visits, Pulled::More)])];
    let recorder = Recorder::new(PrivacyUnit::Person);
    let mut counts = Vec::new();
    for version in [1, 2] {
        let recorder = recorder.of_version(version);
        assert!(run(&script, release(&recorder, 3)).is_ok());
        counts.push(counted(&recorder.sealed())["1"].len());
    }
    assert_eq!(counts, [3, 3]);
    assert!(run(&script, release(&recorder.of_version(2), 3)).is_ok());
    assert_eq!(recorder.sealed(), [], "the same version has released these windows");
}

// Two releases of one job, over the same exchange. Refutes a release that ignores its own version, and one that
// pays or counts anew because the other has a new version.
#[test]
fn a_release_in_a_version_of_its_own_counts_anew_and_the_other_goes_on() {
    let visits: Vec<Visit> = (0..12).map(|window| (1, window * 10)).collect();
    let script = |until: Time| {
        let visits = visits.iter().copied().filter(|visit| visit.1 < until).collect();
        [Script(vec![(visits, Pulled::Complete(until)), (Vec::new(), Pulled::Complete(until))])]
    };
    let recorder = Recorder::new(PrivacyUnit::Person);
    let job = |version: Option<u32>| {
        let recorder = recorder.clone();
        move |visits: Fed<'_, Visit>| {
            let people = visits
                .protect(|visit| visit.0)
                .tumbling(span(10), |visit| visit.1)
                .from(0)
                .bound(Bound::keys(1).windows(3));
            let count = |name: &str, version: Option<u32>| {
                let counted = people.clone().count_by(|visit| visit.0, Keys::public(0..7));
                let counted = version.into_iter().fold(counted, |counted, version| counted.version(version));
                counted.release_at(&recorder, name, Exactly(Laplace::epsilon(1.0)));
            };
            count("changed", version);
            count("other", None);
        }
    };
    let windows = |until, version| {
        assert!(run(&script(until), job(version)).is_ok());
        let sealed = recorder.sealed();
        ["changed", "other"].map(|name| counted_in(&sealed, name).remove("1").unwrap_or_default())
    };
    assert_eq!(windows(20, None), [vec![0, 10], vec![0, 10]]);
    // The job's own version, stated.
    assert_eq!(windows(30, Some(1)), [vec![20], vec![20]]);
    assert_eq!(windows(60, Some(2)), [vec![0, 10, 20], Vec::new()]);
    assert_eq!(windows(80, Some(2)), [Vec::<Time>::new(), Vec::new()], "both have counted three times");
}
