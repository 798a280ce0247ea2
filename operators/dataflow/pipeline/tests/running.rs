//! Windows that are added up: what counts of a person over all of them, and what is released.

mod going_on;
mod people_of_last;

use super::recorder::SECRET;
use super::*;
use crate::accounting::running::Strategy;
use crate::accounting::{PrivacyCost, PrivacyUnit};
use crate::ledger::Charge;
use crate::mechanisms::Edges;
use crate::noise::goodness::size;

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

/// Returns the contributions of each window: of each person the first keys, in the order of windows and in
/// the order of selection within one, and of each key as much as is left.
fn expected(
    scripts: &[Script<Event>],
    key: impl Fn(&Event) -> Option<u32>,
    each: i128,
    measure: impl Fn(&[Event]) -> i128,
    place: usize,
) -> Tallies {
    let (given, selector) = (given(scripts), ContributionSelector::new(SECRET));
    let mut brought: BTreeMap<u64, BTreeMap<u32, i128>> = BTreeMap::new();
    let mut tallies = Tallies::new();
    for start in (0..HORIZON).step_by(WINDOW as usize) {
        let (end, selector) = (start + WINDOW, selector.within(start));
        let mut records: BTreeMap<(u64, u64, u32), Vec<Event>> = BTreeMap::new();
        for (declared, event) in &given {
            let Some(key) = key(event).filter(|_| (start..end).contains(&event.3) && *declared < end) else {
                continue;
            };
            records.entry((event.0, selector.place(&event.0, &key), key)).or_default().push(*event);
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

/// The numbers that are released, and of no others of a cell.
fn only(mut tallies: Tallies, places: &[usize]) -> Tallies {
    for cells in tallies.values_mut() {
        for cell in cells.values_mut() {
            (0..3).filter(|place| !places.contains(place)).for_each(|place| cell[place] = 0);
        }
        cells.retain(|_, cell| *cell != [0; 3]);
    }
    tallies
}

// Refutes a bound by window; a key that a person loses again, or has beside those that are left; a person who
// is counted twice in a key; a sum that is clipped each time anew; and whatever depends on workers, batches
// or order.
#[test]
fn what_windows_add_is_bounded_over_all_of_them() {
    for seed in 0..size(30, 60) as u64 {
        let mut random = Random::new(seed);
        let records = events(&mut random);
        let scripts = divided(&mut random, &records, [1, 2, 4][seed as usize % 3]);
        let recorder = Recorder::new(PrivacyUnit::Person);
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
            // Totals of the last windows are paid for however many there are.
            let end = if ["last", "sum"].contains(&sealed.release.name.as_str()) {
                crate::time::LIMIT
            } else {
                HORIZON
            };
            assert_eq!((life.start(), life.end()), (0, end));
            assert!(matches!(cost.amount(), PrivacyCost::Zcdp { rho, .. } if rho.to_float_down() <= 0.5));
        }
    }
}

// One person in several windows, over all of them together. Refutes a bound by window, a key too many, a
// total that is bounded with its signs, and a request for noise that depends on who is there.
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
    for seed in 0..size(60, 120) as u64 {
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

/// Returns the released numbers of each key, by window.
fn released(sealed: &[Sealed], name: &str) -> BTreeMap<Time, BTreeMap<String, [f64; 3]>> {
    let of_name = sealed.iter().filter(|sealed| sealed.release.name.as_str() == name);
    of_name
        .map(|sealed| {
            let cell = |line: &str| {
                let line: serde_json::Value = serde_json::from_str(line).unwrap();
                let ends = &line["interval"];
                let three = [&line["value"], &ends[0], &ends[1]].map(|number| number.as_f64().unwrap());
                (line["key"].to_string().trim_matches('"').to_owned(), three)
            };
            (sealed.release.window.start(), sealed.released.lines().map(cell).collect())
        })
        .collect()
}

/// Sums of what the last windows added.
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

// With next to no noise. Refutes a total of other windows than it says, a key that is found without what was
// before, and an interval that is of something else.
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
        let recorder = Recorder::new(PrivacyUnit::Person);
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
            for (start, keys) in released(&sealed, name) {
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

// Refutes a record that has to be remembered, and an id that counts in two windows.
#[test]
fn a_record_is_in_one_window_and_an_id_in_one_total() {
    let records: Vec<Event> = (0..80).map(|id| (0, 1, 1, id as Time, id % 40)).collect();
    let recorder = Recorder::new(PrivacyUnit::Record);
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
