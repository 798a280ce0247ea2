//! Distinct people of the last windows: who counts, on any number of workers, across processes, and beside one person
//! less.

use super::going_on::crowd;
use super::*;
use crate::mechanisms::TotalSpan;

const LAST: i64 = 3;
const ENTRIES: u64 = 2;

fn release_people(recorder: &Recorder, rho: f64) -> impl Fn(Fed<'_, Event>) + Send + Sync + use<> {
    let recorder = recorder.clone();
    move |visits| {
        let people = visits
            .protect(|visit| visit.0)
            .tumbling(span(WINDOW), |visit| visit.3)
            .between(0, HORIZON)
            .bound(Bound::keys(KEYS));
        let noise = || Exactly(Gaussian::rho(rho));
        let of_last =
            |keys| people.clone().people_by(|v: &Event| v.1, keys).people_of_last(LAST as u64, ENTRIES);
        of_last(Keys::public(0..9)).release_at(&recorder, "listed", noise());
        of_last(Ok(Keys::discover(1e-3))).release_at(&recorder, "open", noise());
        people.clone().people().people_of_last(LAST as u64, ENTRIES).by(Strategy::Tree).release_at(
            &recorder,
            "all",
            noise(),
        );
        // Another statistic of the same people shares their table.
        people.people_by(|v| v.1, Keys::public(0..9)).running().release_at(&recorder, "so_far", noise());
    }
}

/// Returns the people of each key in each window, and those of them who were never there before: by the definition, from
/// all records at once.
fn expected(scripts: &[Script<Event>], key: impl Fn(&Event) -> Option<u32>) -> Tallies {
    let (given, selector) = (given(scripts), ContributionSelector::new(SECRET));
    let starts: Vec<Time> = (0..HORIZON).step_by(WINDOW as usize).collect();
    // The starts of the windows in which a person was seen in a key and counted.
    let mut kept: BTreeMap<u64, BTreeMap<u32, (Vec<Time>, u64)>> = BTreeMap::new();
    let mut tallies = Tallies::new();
    for &start in &starts {
        let (end, selector) = (start + WINDOW, selector.within(start));
        let mut seen: std::collections::BTreeSet<(u64, u64, u32)> = Default::default();
        for (declared, event) in &given {
            let Some(key) = key(event).filter(|_| (start..end).contains(&event.3) && *declared < end) else {
                continue;
            };
            seen.insert((event.0, selector.place(&event.0, &key), key));
        }
        let cells = tallies.entry(start).or_default();
        for (person, _, key) in seen {
            let keys = kept.entry(person).or_default();
            let is_new = !keys.contains_key(&key);
            if is_new && keys.len() as u64 == KEYS {
                continue;
            }
            let (windows, entries) = keys.entry(key).or_default();
            let was_counted = windows.iter().any(|seen| *seen >= start - LAST * WINDOW);
            if !was_counted && *entries == ENTRIES {
                continue;
            }
            *entries += u64::from(!was_counted);
            windows.push(start);
            cells.entry(key.to_string()).or_default()[0] += i128::from(is_new);
        }
        for (key, (windows, _)) in kept.values().flatten() {
            if windows.iter().any(|seen| *seen > start - LAST * WINDOW) {
                cells.entry(key.to_string()).or_default()[2] += 1;
            }
        }
        cells.retain(|_, cell| *cell != [0; 3]);
    }
    tallies
}

// Refutes a person who leaves a window early or late, or never; one who enters a third time, or in a third key; people of
// one worker alone; and whatever depends on workers, batches or order.
#[test]
fn people_of_the_last_windows_are_those_who_were_there() {
    let mut left = 0;
    for seed in 0..size(40, 120) as u64 {
        let mut random = Random::new(seed);
        let records = events(&mut random);
        let scripts = divided(&mut random, &records, [1, 2, 4][seed as usize % 3]);
        let recorder = Recorder::new(PrivacyUnit::Person);
        let finished = run(&scripts, release_people(&recorder, 0.5));
        assert!(finished.is_ok(), "seed {seed}: {finished:?}");
        let sealed = recorder.sealed();
        let truth = expected(&scripts, |event| Some(event.1));
        for name in ["listed", "open"] {
            assert_eq!(Recorder::exact(&sealed, name), truth, "seed {seed}, {name}");
        }
        let whole = Recorder::exact(&sealed, "all");
        let of_all = expected(&scripts, |_| Some(0));
        let numbers = |tallies: &Tallies| -> Vec<Vec<[i128; 3]>> {
            tallies.values().map(|cells| cells.values().copied().collect()).collect()
        };
        assert_eq!(numbers(&whole), numbers(&of_all), "seed {seed}");
        let totals: Vec<i128> =
            of_all.values().map(|cells| cells.get("0").map_or(0, |cell| cell[2])).collect();
        left += totals.windows(2).filter(|pair| pair[1] < pair[0]).count();
        for sealed in sealed {
            let Charge::Once { cost, life } = sealed.charge else { panic!("charged by the window") };
            assert_eq!((life.start(), life.end()), (0, HORIZON));
            assert!(matches!(cost.amount(), PrivacyCost::Zcdp { rho, .. } if rho.to_float_down() <= 0.5));
        }
    }
    assert!(left > 20, "people hardly ever left: {left}");
}

// One person more: the numbers of each key move by 1 while that person counts, and by nothing else. Refutes an entry too
// many, a key too many, a person who is counted twice or below zero, others who count differently, and a request for noise
// that depends on who is there.
#[test]
fn one_person_enters_and_leaves_and_moves_nothing_else() {
    let mut reached = [0; 2];
    for seed in 0..size(60, 240) as u64 {
        let mut random = Random::new(seed);
        let mut records = events(&mut random);
        // The person comes and goes, to three keys.
        for (event, number) in records.iter_mut().filter(|event| event.0 == 1).zip(0i64..) {
            event.1 = (number % 3) as u32;
            event.3 = (number * (7 + seed as i64 % 40)).rem_euclid(HORIZON);
        }
        let scripts = divided(&mut random, &records, 1 + seed as usize % 3);
        let [one, other] =
            neighbours::with_and_without(scripts, 1, seed, |recorder| release_people(recorder, 0.5));
        for (one, other) in one.iter().zip(&other) {
            assert_eq!((&one.release, &one.charge), (&other.release, &other.charge), "seed {seed}");
            if one.release.name.as_str() != "open" {
                assert_eq!(one.requests, other.requests, "seed {seed}");
            }
        }
        for name in ["listed", "open"] {
            let (one, other) = (Recorder::exact(&one, name), Recorder::exact(&other, name));
            let number = |tallies: &Tallies, start: &Time, key: &str, place: usize| {
                tallies[start].get(key).map_or(0, |cell| cell[place])
            };
            let mut keys = 0;
            for key in (0..9).map(|key| key.to_string()) {
                let moved = |place: usize| -> Vec<i128> {
                    let starts = one.keys();
                    starts
                        .map(|start| number(&one, start, &key, place) - number(&other, start, &key, place))
                        .collect()
                };
                let present = moved(2);
                let present: Vec<i128> = if present.iter().any(|moved| *moved < 0) {
                    present.iter().map(|moved| -moved).collect()
                } else {
                    present
                };
                assert!(present.iter().all(|moved| [0, 1].contains(moved)), "seed {seed}: {present:?}");
                let before = std::iter::once(&0).chain(&present);
                let entries = before.zip(&present).filter(|(before, now)| now > before).count();
                assert!(entries as u64 <= ENTRIES, "seed {seed}, {name}: {present:?}");
                let new: i128 = moved(0).iter().map(|moved| moved.abs()).sum();
                assert!(new <= 1 && (new == 1) == (entries > 0), "seed {seed}, {name}");
                keys += u64::from(entries > 0);
                reached[0] = reached[0].max(entries as u64);
            }
            assert!(keys <= KEYS, "seed {seed}, {name}");
            reached[1] = reached[1].max(keys);
        }
    }
    assert_eq!(reached, [ENTRIES, KEYS], "too weak a test");
}

// The process ends after some windows, and the next begins with all of the input again. Refutes a person who is forgotten
// or who enters anew, an exit that is lost, and noise that is drawn again.
#[test]
fn people_stay_and_leave_in_another_process_as_if_it_were_the_same() {
    let stop = |recorder: &Recorder, records: &[Event], half: Time, workers: usize| {
        let mut scripts = vec![Script(Vec::new()); workers];
        for (at, event) in records.iter().filter(|event| event.3 < half).enumerate() {
            scripts[at % workers].0.push((vec![*event], Pulled::More));
        }
        // A schedule without an end: an input that ends completes nothing after `half`.
        let ends = [(Vec::new(), Pulled::Complete(half)), (Vec::new(), Pulled::End)];
        scripts.iter_mut().for_each(|script| script.0.extend(ends.clone()));
        let finished = run(&scripts, endless_people(recorder));
        assert!(finished.is_ok(), "{finished:?}");
    };
    for seed in 0..12 {
        let mut random = Random::new(seed);
        // Few records, so that people leave and come back.
        let records: Vec<Event> = crowd(&mut random).into_iter().take(90).collect();
        let order = |sealed: &Sealed| (sealed.release.window.end(), sealed.release.name.to_string());
        let whole = Recorder::new(PrivacyUnit::Person);
        stop(&whole, &records, HORIZON, 1);
        let mut expected = whole.sealed();
        expected.sort_by_key(order);
        let recorder = Recorder::new(PrivacyUnit::Person);
        for process in 0..4 {
            stop(&recorder, &records, WINDOW * random.below(12) as Time, 1 + process % 3);
        }
        stop(&recorder, &records, HORIZON, 2);
        let mut sealed = recorder.sealed();
        sealed.sort_by_key(order);
        assert_eq!(sealed.len(), expected.len(), "seed {seed}");
        for (one, other) in sealed.iter().zip(&expected) {
            assert_eq!((&one.released, &one.exact), (&other.released, &other.exact), "seed {seed}");
        }
    }
}

fn endless_people(recorder: &Recorder) -> impl Fn(Fed<'_, Event>) + Send + Sync + use<> {
    let recorder = recorder.clone();
    move |visits| {
        let people = visits.protect(|visit| visit.0).tumbling(span(WINDOW), |visit| visit.3).from(0);
        let people = people.bound(Bound::keys(KEYS));
        let of_last = TotalSpan::People { windows: 40, last: LAST as u64, entries: ENTRIES };
        let (listed, open) = (Keys::public(0..5), Keys::discover(1e-2));
        let noise = || Exactly(Gaussian::rho(5.0));
        people.clone().people_by(|v| v.1, listed).over(Ok(of_last)).release_at(&recorder, "listed", noise());
        people.people_by(|v| v.1, open).over(Ok(of_last)).release_at(&recorder, "open", noise());
    }
}

// Some windows are refused. Refutes a number that lacks the people who came or left in them.
#[test]
fn a_window_without_an_answer_loses_nobody() {
    // Ten people a window, each seen once.
    let records: Vec<Event> = (0..HORIZON as u64).map(|id| (id, 3, 1, id as Time, id)).collect();
    let recorder = Recorder::new(PrivacyUnit::Person);
    recorder.refuses([0, 30, 40, 80]);
    let sealing = recorder.clone();
    let script = [Script(vec![(records, Pulled::More)])];
    let finished = run(&script, move |visits| {
        let people = visits.protect(|v| v.0).tumbling(span(WINDOW), |v| v.3).between(0, HORIZON);
        let people = people.bound(Bound::keys(1)).people().people_of_last(3, 2);
        people.release_at(&sealing, "last", Exactly(Gaussian::rho(300.0)));
    });
    assert!(finished.is_ok());
    let released = released(&recorder.sealed(), "last");
    let values: Vec<f64> = released.values().map(|keys| keys["null"][0]).collect();
    let truth = [20.0, 30.0, 30.0, 30.0, 30.0, 30.0, 30.0, 30.0];
    assert_eq!(values.len(), truth.len());
    for (value, truth) in values.iter().zip(truth) {
        assert!((value - truth).abs() < 3.0, "{values:?}");
    }
}

// A window lacks a part of its input and is skipped, and the numbers of the next ones have whom it counted. Refutes a process
// that does not know of that entry, and lets the person enter again.
#[test]
fn who_was_counted_in_a_skipped_window_has_entered() {
    let recorder = Recorder::new(PrivacyUnit::Person);
    let process = |script: Script<Event>| {
        let sealing = recorder.clone();
        let finished = run(&[script], move |visits| {
            let people = visits.protect(|v| v.0).tumbling(span(WINDOW), |v| v.3).from(0);
            let people = people.bound(Bound::keys(1)).people();
            let of_last = TotalSpan::People { windows: 40, last: 3, entries: 1 };
            people.over(Ok(of_last)).release_at(&sealing, "people", Exactly(Gaussian::rho(80.0)));
        });
        assert!(finished.is_ok(), "{finished:?}");
    };
    let levels = || -> BTreeMap<Time, i128> {
        let exact = Recorder::exact(&recorder.sealed(), "people");
        exact.into_iter().map(|(start, cells)| (start, cells.values().map(|cell| cell[2]).sum())).collect()
    };
    let end = |time| [(Vec::new(), Pulled::Complete(time)), (Vec::new(), Pulled::End)];
    let first = vec![(vec![(5, 1, 1, 15, 1)], Pulled::Gap(12, 18))];
    process(Script(first.into_iter().chain(end(30)).collect()));
    assert_eq!(levels(), BTreeMap::from([(0, 0), (20, 1)]), "the second window is skipped");
    let second = vec![(vec![(5, 1, 1, 75, 2)], Pulled::More)];
    process(Script(second.into_iter().chain(end(100)).collect()));
    let expected = [(30, 1), (40, 0), (50, 0), (60, 0), (70, 0), (80, 0), (90, 0)];
    assert_eq!(levels().split_off(&30), BTreeMap::from(expected));
}

// Refutes people without a last window, records that enter and leave, and what is not people.
#[test]
fn what_is_not_people_up_to_a_last_window_is_refused() {
    let refused = |build: fn(&Recorder, Fed<'_, Event>)| {
        let recorder = Recorder::new(PrivacyUnit::Person);
        run(&[Script(Vec::new())], move |visits| build(&recorder, visits)).unwrap_err().to_string()
    };
    let endless = refused(|recorder, visits| {
        let people = visits.protect(|v| v.0).tumbling(span(WINDOW), |v| v.3).from(0).bound(Bound::keys(1));
        people.people().people_of_last(3, 2).release_at(recorder, "people", Exactly(Gaussian::rho(1.0)));
    });
    assert!(endless.contains("until"), "{endless}");
    let records = refused(|recorder, visits| {
        let people = visits.protect(|v| v.0).tumbling(span(WINDOW), |v| v.3).between(0, HORIZON);
        let count = people.bound(Bound::keys(1)).count();
        count.people_of_last(3, 2).release_at(recorder, "count", Exactly(Gaussian::rho(1.0)));
    });
    assert!(records.contains("over"), "{records}");
    let sliding = refused(|recorder, visits| {
        let people = visits.protect(|v| v.0).sliding(span(2 * WINDOW), span(WINDOW), |v| v.3);
        let people = people.between(0, HORIZON).bound(Bound::keys(1)).people();
        people.people_of_last(3, 2).release_at(recorder, "people", Exactly(Gaussian::rho(1.0)));
    });
    assert!(sliding.contains("people_of_last"), "{sliding}");
}
