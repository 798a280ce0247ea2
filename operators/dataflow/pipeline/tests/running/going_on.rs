//! Totals from window to window: across processes and versions, over gaps, and up to the last one.

use super::*;

/// A run that ends when `half` is complete, and what it sealed.
fn stopped_at(recorder: &Recorder, records: &[Event], half: Time) {
    let before: Vec<Event> = records.iter().filter(|event| event.3 < half).copied().collect();
    let script = [Script(vec![(before, Pulled::Complete(half)), (Vec::new(), Pulled::End)])];
    // A schedule without an end: an input that ends completes nothing after `half`.
    let finished = run(&script, endless(recorder));
    assert!(finished.is_ok(), "{finished:?}");
}

fn endless(recorder: &Recorder) -> impl Fn(Fed<'_, Event>) + Send + Sync + use<> {
    let recorder = recorder.clone();
    move |visits| {
        let people = visits
            .protect(|visit| visit.0)
            .tumbling(span(WINDOW), |visit| visit.3)
            .from(0)
            .bound(Bound::keys(KEYS).per_key(PER_KEY));
        let noise = || Exactly(Gaussian::rho(5.0));
        let discovered = || Keys::discover(1e-2);
        people.clone().count_by(|v| v.1, discovered()).running_for(40).release_at(&recorder, "open", noise());
        people.clone().count_by(|v| v.1, Keys::public(0..9)).over_last(3).release_at(
            &recorder,
            "last",
            noise(),
        );
        people.people_by(|v| v.1, Keys::public(0..9)).running_for(7).release_at(&recorder, "people", noise());
    }
}

pub(super) fn crowd(random: &mut Random) -> Vec<Event> {
    (0..300)
        .map(|id| {
            let time = random.below(HORIZON as usize) as Time;
            (random.below(40) as u64, random.below(5) as u32, 1, time, id)
        })
        .collect()
}

// The process ends after some windows, and the next begins with all of the input again. Refutes noise that is
// drawn again, a key that is forgotten, and a person whose ration begins anew. Every draw here has the same
// seed, so that only what is kept can make a difference.
#[test]
fn totals_go_on_in_another_process_as_if_it_were_the_same() {
    for seed in 0..12 {
        let mut random = Random::new(seed);
        let records = crowd(&mut random);
        let whole = Recorder::new(PrivacyUnit::Person);
        let all = |recorder: &Recorder| stopped_at(recorder, &records, HORIZON);
        all(&whole);
        let expected = whole.sealed();
        let recorder = Recorder::new(PrivacyUnit::Person);
        for _ in 0..3 {
            stopped_at(&recorder, &records, WINDOW * random.below(12) as Time);
        }
        all(&recorder);
        let mut sealed = recorder.sealed();
        let order = |sealed: &Sealed| (sealed.release.window.end(), sealed.release.name.to_string());
        sealed.sort_by_key(order);
        let mut expected = expected;
        expected.sort_by_key(order);
        assert_eq!(sealed.len(), expected.len(), "seed {seed}");
        for (one, other) in sealed.iter().zip(&expected) {
            assert_eq!((&one.released, &one.exact), (&other.released, &other.exact), "seed {seed}");
        }
    }
}

// Refutes a horizon that is one window longer, and one that begins again.
#[test]
fn after_the_last_window_nothing_is_released() {
    let mut random = Random::new(3);
    let recorder = Recorder::new(PrivacyUnit::Person);
    stopped_at(&recorder, &crowd(&mut random), HORIZON);
    let sealed = recorder.sealed();
    let released = released(&sealed, "people");
    assert_eq!(
        released.keys().copied().collect::<Vec<_>>(),
        (0..7).map(|window| window * WINDOW).collect::<Vec<_>>()
    );
    assert_eq!(recorder.answered(), 36, "each window after it has a row of its own");
    for sealed in sealed.iter().filter(|sealed| sealed.release.name.as_str() == "people") {
        let Charge::Once { life, .. } = &sealed.charge else { panic!() };
        assert_eq!((life.start(), life.end()), (0, 7 * WINDOW));
    }
}

// Windows that were refused leave a gap. Refutes totals of the last windows that reach farther back, and a
// draw for each window of a long gap.
#[test]
fn a_window_without_an_answer_is_one_in_which_nothing_was() {
    let records: Vec<Event> = (0..HORIZON as u64).map(|id| (id, 3, 1, id as Time, id)).collect();
    let recorder = Recorder::new(PrivacyUnit::Person);
    recorder.refuses([30, 40, 80]);
    let sealing = recorder.clone();
    let script = [Script(vec![(records, Pulled::More)])];
    let finished = run(&script, move |visits| {
        let people = visits.protect(|v| v.0).tumbling(span(WINDOW), |v| v.3).between(0, HORIZON);
        let people = people.bound(Bound::keys(1));
        people.clone().count().over_last(3).release_at(&sealing, "last", Exactly(Gaussian::rho(80.0)));
        people.count().running().release_at(&sealing, "so_far", Exactly(Gaussian::rho(80.0)));
    });
    assert!(finished.is_ok());
    let sealed = recorder.sealed();
    let values =
        |name| -> Vec<f64> { released(&sealed, name).values().map(|keys| keys["null"][0]).collect() };
    let near = |released: Vec<f64>, truth: &[f64]| {
        assert_eq!(released.len(), truth.len());
        released
            .iter()
            .zip(truth)
            .for_each(|(released, truth)| assert!((released - truth).abs() < 4.0, "{released} for {truth}"));
    };
    // Without the windows from 30, 40 and 80.
    near(values("last"), &[10.0, 20.0, 30.0, 10.0, 20.0, 30.0, 20.0, 20.0, 30.0]);
    near(values("so_far"), &[10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0]);
}

// Refutes a new version that goes on with totals it has not paid for, or forgets what is public; and an old
// one that begins anew.
#[test]
fn a_new_version_begins_anew_and_knows_the_keys() {
    let records: Vec<Event> = (0..600).map(|id| (id, 7, 1, 0, id)).collect();
    let recorder = Recorder::new(PrivacyUnit::Person);
    stopped_at(&recorder, &records, 20);
    let first = released(&recorder.sealed(), "open");
    assert!(first[&0].contains_key("7"), "600 people are enough");
    let later = recorder.of_version(2);
    stopped_at(&later, &[], 40);
    let second = released(&later.sealed(), "open");
    assert!(second[&0]["7"][0].abs() < 60.0, "of nobody: {second:?}");
    assert_eq!(second.len(), 4);
    stopped_at(&later, &[], 40);
    assert_eq!(later.sealed(), [], "the same version has released these windows");
}
