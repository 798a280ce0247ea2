//! Means of vectors in a sentence: against one table that sees every record, and for neighbours.

use ndarray::Array1;

use super::*;
use crate::accounting::PrivacyUnit;
use crate::accounting::shape::{DataDomain, Norm};
use crate::dataflow::bounding::{KeptRecords, Values};
use crate::mechanisms::{
    ContributionBound, FoundMean, Ranges, Stable, StableVectors, Summary, VectorMean, Vectors,
};

const LISTED: [u32; 6] = [0, 1, 2, 4, 7, 100];
const KEYS: u64 = 2;
const PER_KEY: u64 = 3;

pub(super) fn ranges() -> Ranges {
    Ranges::new([(-40, 41), (0, 100)]).unwrap()
}

fn domain() -> Result<DataDomain, crate::Invalid> {
    DataDomain::ball(2.0, 60.0, 2)
}

/// Most are in time for their day, some below zero.
fn vector(visit: &Event) -> [i64; 2] {
    [visit.2, visit.3.wrapping_mul(3)]
}

fn bound() -> Bound {
    Bound::keys(KEYS).per_key(PER_KEY)
}

fn release(recorder: &Recorder, schedule: &Schedule) -> impl Fn(Fed<'_, Event>) + Send + Sync + use<> {
    let (recorder, schedule) = (recorder.clone(), schedule.clone());
    move |visits| {
        let people = visits.protect(|visit| visit.0).scheduled(schedule.clone(), |visit| visit.3);
        let people = people.bound(bound());
        let (listed, noise) = (|| Keys::public(LISTED), || Exactly(Gaussian::rho(0.5)));
        let clipped = people.clone().mean_of_by(|v| v.1, listed(), vector).within(ranges());
        clipped.release_at(&recorder, "clipped", noise());
        let shaped =
            people.clone().mean_of_by(|v| v.1, listed(), |v| Array1::from_iter(vector(v))).over(domain());
        shaped.release_at(&recorder, "shaped", noise());
        let found = people.clone().mean_of_by(|v| v.1, listed(), vector).found_within(ranges());
        found.release_at(&recorder, "found", noise());
        people.mean_of(vector).within([-40..=41, 0..=100]).release_at(&recorder, "whole", noise());
    }
}

/// The same, of one record a person.
fn release_stable(recorder: &Recorder, schedule: &Schedule) -> impl Fn(Fed<'_, Event>) + Send + Sync + use<> {
    let (recorder, schedule) = (recorder.clone(), schedule.clone());
    move |visits| {
        let people = visits.protect(|visit| visit.0).scheduled(schedule.clone(), |visit| visit.3);
        let stable =
            people.bound(Bound::keys(1)).mean_of_by(|v| v.1, Keys::public(LISTED), vector).stable(ranges());
        stable.charged_to(recorder::LOW_ORDERS).release_at(
            &recorder,
            "stable",
            Exactly(Stable::epsilon(4.0, 1e-6).people(1_000_000)),
        );
    }
}

fn schedule(random: &mut Random) -> Schedule {
    match random.below(2) {
        0 => Schedule::tumbling(span(20), 0, Some(HORIZON)).unwrap(),
        _ => Schedule::sliding(span(40), span(20), 0, Some(HORIZON)).unwrap(),
    }
}

/// One table of every record, for a statistic of vectors.
fn expected<S: Vectors<Key = u32, Known: Default>>(
    schedule: &Schedule,
    scripts: &[Script<Event>],
    cap: Cap,
    statistic: &S,
) -> BTreeMap<Time, BTreeMap<String, Vec<i128>>> {
    let base = ContributionSelector::new(recorder::SECRET);
    let table = |selector| {
        PersonTable::<u64, u32, _>::new(selector, cap, KeptRecords::new(Values::<[i64; 2]>::new()))
    };
    let fill = |window: Interval, table: &mut PersonTable<u64, u32, _>| {
        for (declared, event) in given(scripts) {
            let inside = (window.start()..window.end()).contains(&event.3) && declared < window.end();
            if inside && LISTED.contains(&event.1) {
                let vector = vector(&event);
                table.add(event.0, &event.1, (base.record(&(event.3, vector)), vector));
            }
        }
    };
    let add = |total: &mut S::Known, share: bounding::Few<[i64; 2]>| statistic.add(total, &share);
    let found = tallied(schedule, table, fill, |_| true, add);
    let released = |keys: Vec<(u32, S::Known)>| -> BTreeMap<String, Vec<i128>> {
        keys.iter().map(|(key, total)| (key.to_string(), total.shown())).collect()
    };
    found.into_iter().map(|(start, keys)| (start, released(keys))).collect()
}

// Refutes a vector that is clipped as another, one of a key that is not listed or of a window that was
// closed, a person in two places, and whatever depends on workers, batches or order.
#[test]
fn vectors_are_those_of_one_table() {
    let listed = || Keys::public(LISTED).unwrap();
    let limits: ContributionBound = bound().checked().unwrap();
    let clipped = VectorMean::clipped(&ranges(), limits, listed()).unwrap();
    let shaped = VectorMean::over(&domain().unwrap(), Norm::EUCLIDEAN, limits, listed()).unwrap();
    let found = FoundMean::new(&ranges(), limits, listed()).unwrap();
    let stable = StableVectors::new(ranges(), Bound::keys(1).checked().unwrap(), listed()).unwrap();
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let schedule = schedule(&mut random);
        let records = events(&mut random);
        let scripts = divided(&mut random, &records, [1, 2, 4][seed as usize % 3]);
        let recorder = Recorder::new(PrivacyUnit::Person);
        // A stable mean takes its time to be planned.
        let stably = seed % 6 == 0;
        let mut finished = vec![run(&scripts, release(&recorder, &schedule))];
        if stably {
            finished.push(run(&scripts, release_stable(&recorder, &schedule)));
        }
        assert!(finished.iter().all(Result::is_ok), "seed {seed}: {finished:?}");
        let sealed = recorder.sealed();
        let whole = Cap::new(KEYS, PER_KEY).unwrap();
        let one = Cap::new(1, 1).unwrap();
        let released = |name| Recorder::tallies(&sealed, name);
        assert_eq!(released("clipped"), expected(&schedule, &scripts, whole, &clipped), "seed {seed}");
        assert_eq!(released("found"), expected(&schedule, &scripts, whole, &found), "seed {seed}");
        if stably {
            assert_eq!(released("stable"), expected(&schedule, &scripts, one, &stable), "seed {seed}");
        }
        // A list hashes otherwise than an array, so others are chosen where somebody has more than is kept.
        let people = |tallies: BTreeMap<Time, BTreeMap<String, Vec<i128>>>| -> Vec<Vec<i128>> {
            let counts = tallies.values().flat_map(|keys| keys.values());
            counts.map(|numbers| numbers.iter().take(2).copied().collect()).collect()
        };
        assert_eq!(
            people(released("shaped")),
            people(expected(&schedule, &scripts, whole, &shaped)),
            "seed {seed}"
        );
    }
}

// Refutes more keys, or more records in one, than are paid for; sums that are moved farther than the noise
// was made for; and a request for noise that depends on who is there.
#[test]
fn one_person_moves_vectors_by_no_more_than_was_said() {
    // The square of the length of what a person can move: sums in half units of 81 and 100; whitened, one
    // vector of 2^30 a record.
    let records = i128::from(PER_KEY * PER_KEY) * i128::from(KEYS);
    let most = [("clipped", records * (81 * 81 + 100 * 100)), ("shaped", records << 60)];
    let mut reached = [0f64; 2];
    for seed in 0..crate::noise::goodness::size(60, 5_000) as u64 {
        let mut random = Random::new(seed);
        let schedule = Schedule::tumbling(span(20), 0, Some(HORIZON)).unwrap();
        let mut records = events(&mut random);
        let target = random.below(8) as u64;
        if random.below(2) == 0 {
            for (event, number) in records.iter_mut().filter(|event| event.0 == target).zip(0i64..) {
                (event.1, event.2) =
                    ([0, 1, 2, 4][number as usize % 4], if seed % 2 == 0 { 1000 } else { i64::MIN });
                event.3 = 40 + number % 20;
            }
        }
        let scripts = divided(&mut random, &records, 1 + seed as usize % 3);
        let [one, other] =
            neighbours::with_and_without(scripts, target, seed, |recorder| release(recorder, &schedule));
        assert_eq!(one.len(), other.len());
        for (one, other) in one.iter().zip(&other) {
            assert_eq!((&one.release, &one.charge), (&other.release, &other.charge), "seed {seed}");
            assert_eq!(one.requests, other.requests, "seed {seed}");
            assert_eq!(one.released.lines().count(), other.released.lines().count(), "seed {seed}");
        }
        let (with, without) = (Recorder::tallies(&one, "found"), Recorder::tallies(&other, "found"));
        for (start, keys) in &without {
            let mut more = 0;
            for (key, numbers) in keys {
                let mut rows: Vec<&[i128]> = with[start][key][2..].chunks(2).collect();
                for row in numbers[2..].chunks(2) {
                    let place = rows.iter().position(|other| *other == row);
                    rows.swap_remove(place.expect("somebody else's record came instead"));
                }
                assert!(rows.len() <= PER_KEY as usize, "seed {seed}: {} records", rows.len());
                more += usize::from(!rows.is_empty());
            }
            assert!(more <= KEYS as usize, "seed {seed}: {more} keys");
        }
        for ((name, most), reached) in most.iter().zip(&mut reached) {
            let (one, other) = (Recorder::tallies(&one, name), Recorder::tallies(&other, name));
            for (start, keys) in &one {
                let names = keys.keys().chain(other[start].keys()).collect::<std::collections::BTreeSet<_>>();
                let moved: i128 = names
                    .into_iter()
                    .map(|name| {
                        let sum = |keys: &BTreeMap<String, Vec<i128>>, place: usize| {
                            keys.get(name).and_then(|numbers| numbers.get(2 + place)).copied().unwrap_or(0)
                        };
                        (0..2).map(|at| (sum(keys, at) - sum(&other[start], at)).pow(2)).sum::<i128>()
                    })
                    .sum();
                assert!(moved <= *most, "seed {seed}, {name}: {moved} where {most} was said");
                *reached = reached.max(moved as f64 / *most as f64);
            }
        }
    }
    assert!(reached.iter().all(|&reached| reached > 0.98), "{reached:?}: too weak a test");
}

// Refutes a mistake in a word that is found late, or not by its name.
#[test]
fn a_bound_that_is_none_ends_the_run_before_it_begins() {
    let refused = |build: fn(MeanOfVisits<'_>, &Recorder)| {
        let recorder = Recorder::new(PrivacyUnit::Person);
        let finished = run(&[Script(vec![])], move |visits: Fed<'_, Event>| {
            let people = visits
                .protect(visit_of as fn(&Event) -> u64)
                .tumbling(span(20), time_of as fn(&Event) -> Time);
            build(people.between(0, HORIZON).bound(bound()), &recorder);
        });
        finished.unwrap_err().to_string()
    };
    let none = refused(|people, recorder| {
        people.mean_of(|_: &Event| [0i64; 0]).within([(0, 1); 0]).release_at(
            recorder,
            "m",
            Exactly(Gaussian::rho(0.5)),
        );
    });
    assert!(none.contains("ranges: found an empty list"), "{none}");
    let back = refused(|people, recorder| {
        people.mean_of(vector).within([(0, 1), (9, 1)]).release_at(
            recorder,
            "m",
            Exactly(Gaussian::rho(0.5)),
        );
    });
    assert!(back.contains("ranges[1]: found a number that is too small"), "{back}");
    let endless = refused(|people, recorder| {
        let domain = DataDomain::reaching(&[1.0, f64::INFINITY]);
        people.mean_of(vector).over(domain).release_at(recorder, "m", Exactly(Gaussian::rho(0.5)));
    });
    assert!(endless.contains("box") && endless.contains("infinite"), "{endless}");
}

type MeanOfVisits<'scope> =
    Bounded<'scope, Event, People<u64, fn(&Event) -> u64, DistinctRecords>, fn(&Event) -> Time>;

fn visit_of(visit: &Event) -> u64 {
    visit.0
}

fn time_of(visit: &Event) -> Time {
    visit.3
}
