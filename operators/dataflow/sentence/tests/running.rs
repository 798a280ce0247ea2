//! Windows that are added up: what counts of a person over all of them, and what is told.

use super::recorder::SECRET;
use super::*;
use crate::accounting::running::Strategy;
use crate::accounting::{Amount, Unit};
use crate::ledger::Charge;
use crate::mechanisms::Edges;

const WINDOW: i64 = 10;
const KEYS: u64 = 2;
const PER_KEY: u64 = 4;

fn release(recorder: &Recorder, rho: f64) -> impl Fn(Fed<'_, Event>) + Send + Sync + use<> {
    let recorder = recorder.clone();
    move |visits| {
        let people = visits
            .protect(|visit| visit.0)
            .tumbling(span(WINDOW), |visit| visit.3)
            .between(0, HORIZON)
            .bound(Bound::keys(KEYS).per_key(PER_KEY));
        let listed = || Keys::public(0..9);
        let noise = || Exactly(Gaussian::rho(rho));
        people.clone().count_by(|v| v.1, listed()).running().release_at(&recorder, "count", noise());
        people.clone().count_by(|v| v.1, Keys::discover(1e-3)).running().release_at(
            &recorder,
            "open",
            noise(),
        );
        people.clone().people_by(|v| v.1, listed()).running().release_at(&recorder, "people", noise());
        people.clone().sum_by(|v| v.1, listed(), |v| v.2, -30..=50).over_last(3).release_at(
            &recorder,
            "sum",
            noise(),
        );
        people.clone().count_by(|v| v.1, Keys::discover(1e-3)).over_last(3).release_at(
            &recorder,
            "last",
            noise(),
        );
        people.histogram_by(|v| v.2, Edges::new([-1, 1, 8])).running().by(Strategy::Tree).release_at(
            &recorder,
            "histogram",
            noise(),
        );
    }
}

/// Records and sums that each window adds, by key: people, records, sum.
type Tallies = BTreeMap<Time, BTreeMap<String, [i128; 3]>>;

/// What each window adds: of each person the first keys, in order of windows and in a window of choice, and as much of each
/// as is left.
fn expected(
    scripts: &[Script<Event>],
    key: impl Fn(&Event) -> Option<u32>,
    each: i128,
    measure: impl Fn(&[Event]) -> i128,
    place: usize,
) -> Tallies {
    let (given, chooser) = (given(scripts), Chooser::new(SECRET));
    let mut brought: BTreeMap<u64, BTreeMap<u32, i128>> = BTreeMap::new();
    let mut tallies = Tallies::new();
    for start in (0..HORIZON).step_by(WINDOW as usize) {
        let (end, chooser) = (start + WINDOW, chooser.within(start));
        let mut records: BTreeMap<(u64, u64, u32), Vec<Event>> = BTreeMap::new();
        for (declared, event) in &given {
            let Some(key) = key(event).filter(|_| (start..end).contains(&event.3) && *declared < end) else {
                continue;
            };
            records.entry((event.0, chooser.place(&event.0, &key), key)).or_default().push(*event);
        }
        let cells = tallies.entry(start).or_default();
        for ((person, _, key), events) in records {
            let keys = brought.entry(person).or_default();
            let first = !keys.contains_key(&key);
            let used = keys.get(&key).copied().unwrap_or(0);
            if (first && keys.len() as u64 == KEYS) || used == each {
                continue;
            }
            let value = measure(&events).clamp(used - each, each - used);
            keys.insert(key, used + value.abs());
            let cell = cells.entry(key.to_string()).or_default();
            cell[0] += i128::from(first);
            cell[place] += if place == 0 { 0 } else { value };
        }
        cells.retain(|_, cell| *cell != [0; 3]);
    }
    tallies
}

/// The numbers that are told, and of no others of a cell.
fn only(mut tallies: Tallies, places: &[usize]) -> Tallies {
    for cells in tallies.values_mut() {
        for cell in cells.values_mut() {
            (0..3).filter(|place| !places.contains(place)).for_each(|place| cell[place] = 0);
        }
        cells.retain(|_, cell| *cell != [0; 3]);
    }
    tallies
}

// Refutes a bound by window; a key that a person loses again, or has beside those that are left; a person who is counted twice in a
// key; a sum that is clipped each time anew; and whatever depends on workers, batches or order.
#[test]
fn what_windows_add_is_bounded_over_all_of_them() {
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let records = events(&mut random);
        let scripts = divided(&mut random, &records, [1, 2, 4][seed as usize % 3]);
        let recorder = Recorder::new(Unit::Person);
        let finished = run(&scripts, release(&recorder, 0.5));
        assert!(finished.is_ok(), "seed {seed}: {finished:?}");
        let sealed = recorder.sealed();
        let exact = |name, places: &[usize]| only(Recorder::exact(&sealed, name), places);

        let records = |events: &[Event]| (events.len() as i128).min(PER_KEY.into());
        let by_key = |event: &Event| Some(event.1);
        let counts = expected(&scripts, by_key, PER_KEY.into(), records, 1);
        assert_eq!(exact("count", &[0, 1]), counts, "seed {seed}");
        assert_eq!(exact("open", &[0, 1]), counts, "seed {seed}");
        assert_eq!(exact("last", &[0, 1]), counts, "seed {seed}");
        let people = expected(&scripts, by_key, 1, |_| 1, 0);
        assert_eq!(exact("people", &[0]), people, "seed {seed}");
        let clipped =
            |events: &[Event]| events.iter().map(|event| i128::from(event.2)).sum::<i128>().clamp(-30, 50);
        assert_eq!(exact("sum", &[2]), only(expected(&scripts, by_key, 50, clipped, 2), &[2]), "seed {seed}");
        for sealed in sealed {
            let Charge::Once { cost, life } = sealed.charge else { panic!("charged by the window") };
            assert_eq!((life.start(), life.end()), (0, HORIZON));
            assert!(matches!(cost.amount(), Amount::Zcdp { rho, .. } if rho.to_float_down() <= 0.5));
        }
    }
}

// One person in several windows, over all of them together. Refutes a bound by window, a key too many, a total that is bounded
// with its signs, and a request for noise that depends on who is there.
#[test]
fn one_person_brings_no_more_than_was_said_to_all_windows_together() {
    // Of which number, and by how much a key is moved at most.
    let most = [
        ("count", 1, 4),
        ("open", 1, 4),
        ("people", 0, 1),
        ("sum", 2, 50),
        ("last", 1, 4),
        ("histogram", 1, 4),
    ];
    let mut reached = [[0i128; 2]; 6];
    for seed in 0..120 {
        let mut random = Random::new(seed);
        let mut records = events(&mut random);
        // The person has many windows, few keys, and values of both signs.
        for (event, number) in records.iter_mut().filter(|event| event.0 == 1).zip(0i64..) {
            event.1 = (number % 3) as u32;
            event.2 = [25, -20, 3, 0, 9][number as usize % 5];
            event.3 = (number * 7).rem_euclid(HORIZON);
        }
        let scripts = divided(&mut random, &records, 1 + seed as usize % 3);
        let [one, other] = neighbours::with_and_without(scripts, 1, seed, |recorder| release(recorder, 0.5));
        for (one, other) in one.iter().zip(&other) {
            assert_eq!((&one.release, &one.charge), (&other.release, &other.charge), "seed {seed}");
            if !["open", "last"].contains(&one.release.name.as_str()) {
                assert_eq!(one.requests, other.requests, "seed {seed}");
            }
        }
        for ((name, place, each), reached) in most.into_iter().zip(&mut reached) {
            let (one, other) = (Recorder::exact(&one, name), Recorder::exact(&other, name));
            let mut moved: BTreeMap<&String, i128> = BTreeMap::new();
            for (start, cells) in &one {
                for key in cells.keys().chain(other[start].keys()).collect::<std::collections::BTreeSet<_>>()
                {
                    let number =
                        |cells: &BTreeMap<String, [i128; 3]>| cells.get(key).map_or(0, |cell| cell[place]);
                    *moved.entry(key).or_default() += (number(cells) - number(&other[start])).abs();
                }
            }
            moved.retain(|_, moved| *moved > 0);
            let largest = moved.values().copied().max().unwrap_or(0);
            assert!(largest <= each && moved.len() as u64 <= KEYS, "seed {seed}, {name}: {moved:?}");
            *reached = [reached[0].max(largest), reached[1].max(moved.len() as i128)];
        }
    }
    for ((name, _, each), reached) in most.into_iter().zip(reached) {
        assert_eq!(reached, [each, KEYS.into()], "{name}: too weak a test");
    }
}

/// What is told of each key, by window.
fn told(sealed: &[Sealed], name: &str) -> BTreeMap<Time, BTreeMap<String, [f64; 3]>> {
    let of_name = sealed.iter().filter(|sealed| sealed.release.name.as_str() == name);
    of_name
        .map(|sealed| {
            let cell = |line: &str| {
                let line: serde_json::Value = serde_json::from_str(line).unwrap();
                let ends = &line["interval"];
                let three = [&line["value"], &ends[0], &ends[1]].map(|number| number.as_f64().unwrap());
                (line["key"].to_string().trim_matches('"').to_owned(), three)
            };
            (sealed.release.window.start(), sealed.told.lines().map(cell).collect())
        })
        .collect()
}

/// Sums of what windows added, of the last so many.
fn added(tallies: &Tallies, place: usize, last: usize) -> BTreeMap<Time, BTreeMap<String, i128>> {
    tallies
        .keys()
        .map(|start| {
            let first = start - (last as i64 - 1).saturating_mul(WINDOW);
            let mut sums: BTreeMap<String, i128> = BTreeMap::new();
            for cells in tallies.range(first..=*start).map(|(_, cells)| cells) {
                cells.iter().for_each(|(key, cell)| *sums.entry(key.clone()).or_default() += cell[place]);
            }
            (*start, sums)
        })
        .collect()
}

// With next to no noise. Refutes a total of other windows than it says, a key that is found without what was before, and an
// interval that is of something else.
#[test]
fn totals_are_of_the_windows_that_they_say() {
    let mut found = [0; 2];
    for seed in 0..12 {
        let mut random = Random::new(seed);
        let records: Vec<Event> = (0..300)
            .map(|id| {
                let time = random.below(HORIZON as usize) as Time;
                (random.below(60) as u64, random.below(4) as u32, random.below(60) as i64 - 20, time, id)
            })
            .collect();
        let scripts = divided(&mut random, &records, 2);
        let recorder = Recorder::new(Unit::Person);
        assert!(run(&scripts, release(&recorder, 80.0)).is_ok());
        let sealed = recorder.sealed();
        for (name, place, last) in [
            ("count", 1, 99),
            ("open", 1, 99),
            ("people", 0, 99),
            ("sum", 2, 3),
            ("last", 1, 3),
            ("histogram", 1, 99),
        ] {
            let exact = added(&Recorder::exact(&sealed, name), place, last);
            let mut off = 0;
            let mut cells = 0;
            for (start, keys) in told(&sealed, name) {
                for (key, [value, low, high]) in keys {
                    let truth = exact[&start].get(&key).copied().unwrap_or(0) as f64;
                    assert!(
                        (value - truth).abs() <= 5.0 * (high - low),
                        "seed {seed}, {name} at {start}: {value} for {truth}"
                    );
                    off += usize::from(truth < low || truth > high);
                    cells += 1;
                }
            }
            assert!(off * 4 <= cells, "{name}: {off} of {cells} intervals miss");
            if let Some(place) = ["open", "last"].iter().position(|open| *open == name) {
                found[place] += cells;
            }
        }
    }
    assert!(found.iter().all(|cells| *cells > 200), "keys were hardly ever found: {found:?}");
}

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

fn crowd(random: &mut Random) -> Vec<Event> {
    (0..300)
        .map(|id| {
            let time = random.below(HORIZON as usize) as Time;
            (random.below(40) as u64, random.below(5) as u32, 1, time, id)
        })
        .collect()
}

// The process ends after some windows, and the next begins with all of the input again. Refutes noise that is drawn again, a
// key that is forgotten, and a person whose ration begins anew. Every draw here has the same seed, so that only what is kept can make a
// difference.
#[test]
fn totals_go_on_in_another_process_as_if_it_were_the_same() {
    for seed in 0..12 {
        let mut random = Random::new(seed);
        let records = crowd(&mut random);
        let whole = Recorder::new(Unit::Person);
        let all = |recorder: &Recorder| stopped_at(recorder, &records, HORIZON);
        all(&whole);
        let expected = whole.sealed();
        let recorder = Recorder::new(Unit::Person);
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
            assert_eq!((&one.told, &one.exact), (&other.told, &other.exact), "seed {seed}");
        }
    }
}

// Refutes a horizon that is one window longer, and one that begins again.
#[test]
fn after_the_last_window_nothing_is_told() {
    let mut random = Random::new(3);
    let recorder = Recorder::new(Unit::Person);
    stopped_at(&recorder, &crowd(&mut random), HORIZON);
    let sealed = recorder.sealed();
    let told = told(&sealed, "people");
    assert_eq!(
        told.keys().copied().collect::<Vec<_>>(),
        (0..7).map(|window| window * WINDOW).collect::<Vec<_>>()
    );
    assert_eq!(recorder.answered(), 36, "each window after it has a row of its own");
    for sealed in sealed.iter().filter(|sealed| sealed.release.name.as_str() == "people") {
        let Charge::Once { life, .. } = &sealed.charge else { panic!() };
        assert_eq!((life.start(), life.end()), (0, 7 * WINDOW));
    }
}

// Windows that were refused leave a gap. Refutes totals of the last windows that reach farther back, and a draw for each
// window of a long gap.
#[test]
fn a_window_without_an_answer_is_one_in_which_nothing_was() {
    let records: Vec<Event> = (0..HORIZON as u64).map(|id| (id, 3, 1, id as Time, id)).collect();
    let recorder = Recorder::new(Unit::Person);
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
    let values = |name| -> Vec<f64> { told(&sealed, name).values().map(|keys| keys["null"][0]).collect() };
    let near = |told: Vec<f64>, truth: &[f64]| {
        assert_eq!(told.len(), truth.len());
        told.iter()
            .zip(truth)
            .for_each(|(told, truth)| assert!((told - truth).abs() < 4.0, "{told} for {truth}"));
    };
    // Without the windows from 30, 40 and 80.
    near(values("last"), &[10.0, 20.0, 30.0, 10.0, 20.0, 30.0, 20.0, 20.0, 30.0]);
    near(values("so_far"), &[10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0]);
}

// Refutes a new version that goes on with totals it has not paid for, or forgets what is public; and an old one that begins
// anew.
#[test]
fn a_new_version_begins_anew_and_knows_the_keys() {
    let records: Vec<Event> = (0..600).map(|id| (id, 7, 1, 0, id)).collect();
    let recorder = Recorder::new(Unit::Person);
    stopped_at(&recorder, &records, 20);
    let first = told(&recorder.sealed(), "open");
    assert!(first[&0].contains_key("7"), "600 people are enough");
    let later = recorder.of_version(2);
    stopped_at(&later, &[], 40);
    let second = told(&later.sealed(), "open");
    assert!(second[&0]["7"][0].abs() < 60.0, "of nobody: {second:?}");
    assert_eq!(second.len(), 4);
    stopped_at(&later, &[], 40);
    assert_eq!(later.sealed(), [], "the same version has told these windows");
}

// Refutes a record that has to be remembered, and an id that counts in two windows.
#[test]
fn a_record_is_in_one_window_and_an_id_in_one_total() {
    let records: Vec<Event> = (0..80).map(|id| (0, 1, 1, id as Time, id % 40)).collect();
    let recorder = Recorder::new(Unit::Record);
    let sealing = recorder.clone();
    let script = [Script(vec![(records, Pulled::More)])];
    let finished = run(&script, move |visits| {
        let noise = || Exactly(Gaussian::rho(80.0));
        let each = visits.clone().protect_each().tumbling(span(WINDOW), |v| v.3).between(0, HORIZON);
        each.one_by_one().count().running().release_at(&sealing, "each", noise());
        let named = visits.protect_each().identified_by(|v| v.4);
        let named = named.tumbling(span(WINDOW), |v| v.3).between(0, HORIZON);
        named.one_by_one().count().running().release_at(&sealing, "named", noise());
    });
    assert!(finished.is_ok(), "{finished:?}");
    let sealed = recorder.sealed();
    let total = |name| -> i128 {
        Recorder::exact(&sealed, name).values().flat_map(|keys| keys.values()).map(|cell| cell[1]).sum()
    };
    assert_eq!((total("each"), total("named")), (80, 40));
}
