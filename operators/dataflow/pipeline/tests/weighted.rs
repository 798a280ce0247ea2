//! People who count in part: whole sentences against a plain sum over everybody, and with one person less.

use super::oracle::case::case;
use super::*;
use crate::accounting::PrivacyUnit;
use crate::mechanisms::{Laplace, Norm, Range};
use crate::noise::goodness::size;

/// The factor of a person who counts in full.
const FULL: i128 = 1 << 20;

/// The number of units of a whole number: no share of these tests is above a thousand.
const UNITS: i128 = 10_000;

/// Of a person more keys than there are.
const KEYS: u64 = 20;
const PER_KEY: u64 = 3;

/// Each statistic with the most of one share, and the index of the released number among people, records and
/// sum.
const STATISTICS: [(&str, i128, usize); 5] =
    [("count", 3, 1), ("open", 3, 1), ("people", 1, 1), ("sum", 50, 2), ("mean", 3 * 81, 2)];

fn release(
    recorder: &Recorder,
    schedule: &Schedule,
    (late, weight, norm): (i64, u64, Norm),
) -> impl Fn(Fed<'_, Event>) + Send + Sync + use<> {
    let (recorder, schedule) = (recorder.clone(), schedule.clone());
    move |visits| {
        let people = visits
            .protect(|visit| visit.0)
            .scheduled(schedule.clone(), |visit| visit.3)
            .late_by(late)
            .bound(Bound::keys(KEYS).per_key(PER_KEY).weight(weight, norm));
        let noise = || Exactly(Gaussian::rho(0.5));
        let listed = || Keys::public(0..9);
        people.clone().count_by(|v| v.1, listed()).release_at(&recorder, "count", noise());
        people.clone().count_by(|v| v.1, Keys::discover(1e-3)).release_at(&recorder, "open", noise());
        people.clone().people_by(|v| v.1, listed()).release_at(&recorder, "people", noise());
        people.clone().sum_by(|v| v.1, listed(), |v| v.2, -30..=50).release_at(&recorder, "sum", noise());
        people.mean_by(|v| v.1, listed(), |v| v.2, -40..=41).release_at(&recorder, "mean", noise());
    }
}

/// The largest factor by which shares of these sizes are no more than the weight.
fn factor(shares: &[i128], whole: i128, (weight, norm): (u64, Norm)) -> i128 {
    let weight = i128::from(weight);
    let length = |factor: i128| match norm {
        Norm::L1 => shares.iter().map(|share| share.abs() * factor).sum::<i128>(),
        Norm::L2 => shares.iter().map(|share| (share * factor).pow(2)).sum(),
    };
    let most = match norm {
        Norm::L1 => FULL * weight * whole,
        Norm::L2 => FULL * FULL * weight * whole * whole,
    };
    let (mut low, mut high) = (0, FULL + 1);
    while high - low > 1 {
        let middle = (low + high) / 2;
        if length(middle) <= most { low = middle } else { high = middle }
    }
    low
}

/// Returns what a plain sum over everybody comes to: people, records and sum of each key of each window. `None` where the order of
/// choice among a person's records decides, of a mean of more than `PER_KEY` records.
fn expected(
    of: &str,
    windows: &[(Time, Vec<Event>)],
    weight: (u64, Norm),
) -> BTreeMap<Time, BTreeMap<String, Option<[i128; 3]>>> {
    let range = Range::new(-40, 41).unwrap();
    let mut expected = BTreeMap::new();
    for (start, events) in windows {
        let mut people: BTreeMap<u64, BTreeMap<u32, Vec<i64>>> = BTreeMap::new();
        for (person, key, value, ..) in events.iter().filter(|event| of == "open" || event.1 < 9) {
            people.entry(*person).or_default().entry(*key).or_default().push(*value);
        }
        let mut cells: BTreeMap<String, Option<[i128; 3]>> = BTreeMap::new();
        for keys in people.values() {
            let shares: Vec<(u32, Option<[i128; 2]>)> = keys
                .iter()
                .map(|(key, values)| {
                    let records = (values.len() as i128).min(PER_KEY.into());
                    let sum: i128 = values.iter().map(|value| i128::from(*value)).sum();
                    let share = match of {
                        "count" | "open" => Some([records, 0]),
                        "people" => Some([1, 0]),
                        "sum" => Some([records, sum.clamp(-30, 50)]),
                        _ if values.len() as u64 > PER_KEY => None,
                        _ => Some([records, values.iter().map(|value| range.term(*value)).sum()]),
                    };
                    (*key, share)
                })
                .collect();
            let whole = [("sum", 50), ("people", 1)].into_iter().find(|(name, _)| *name == of);
            let whole = whole.map_or(PER_KEY.into(), |(_, whole)| whole);
            let sizes: Vec<i128> = keys
                .values()
                .zip(&shares)
                .map(|(values, (_, share))| match (of, share) {
                    ("sum", Some([_, sum])) => *sum,
                    ("people", _) => 1,
                    _ => (values.len() as i128).min(PER_KEY.into()),
                })
                .collect();
            let factor = factor(&sizes, whole, weight);
            // Towards zero.
            let weighed = |share: i128| factor * share * UNITS / FULL;
            for (key, share) in shares {
                let cell = cells.entry(key.to_string()).or_insert(Some([0; 3]));
                *cell = cell.zip(share).map(|(cell, [records, sum])| {
                    [cell[0] + 1, cell[1] + weighed(records), cell[2] + weighed(sum)]
                });
            }
        }
        expected.insert(*start, cells);
    }
    expected
}

// Refutes a factor that is found from a pane, a worker or a batch; one of another person; one that is kept from window to
// window; a share that is weighed twice, or in one key alone; and totals by difference of windows in which factors differ.
#[test]
fn people_who_count_in_part_come_to_a_plain_sum() {
    for seed in 0..size(60, 240) as u64 {
        let mut random = Random::new(seed);
        let case = case(seed, &mut random);
        let (weight, norm) = (1 + random.below(3) as u64, random.pick(&[Norm::L1, Norm::L2]));
        let recorder = Recorder::new(PrivacyUnit::Person);
        let finished = run(&case.scripts, release(&recorder, &case.schedule, (case.late, weight, norm)));
        assert!(finished.is_ok(), "seed {seed}: {finished:?}");
        let windows: Vec<(Time, Vec<Event>)> = (0..)
            .map_while(|number| case.schedule.window(number))
            .map(|window| (window.start(), case.in_time(window)))
            .collect();
        let sealed = recorder.sealed();
        for (name, ..) in STATISTICS {
            let found = Recorder::exact(&sealed, name);
            for (start, cells) in expected(name, &windows, (weight, norm)) {
                let found = &found[&start];
                let keys: Vec<&String> =
                    found.iter().filter(|(_, cell)| cell[0] > 0).map(|(key, _)| key).collect();
                assert_eq!(keys, cells.keys().collect::<Vec<_>>(), "seed {seed}, {name}");
                for (key, cell) in cells {
                    let Some(cell) = cell else { continue };
                    assert_eq!(found[&key], cell, "seed {seed}, {name}, {key}");
                }
            }
        }
    }
}

// Refutes somebody whose records in a window are all in one pane, and who is taken over from it, or given up, as a whole person.
#[test]
fn people_of_overlapping_windows_are_weighed_in_each() {
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let mut case = case(seed, &mut random);
        case.schedule = Schedule::sliding(span(40), span(4), 0, Some(HORIZON)).unwrap();
        let recorder = Recorder::new(PrivacyUnit::Person);
        let (schedule, late, sealing) = (case.schedule.clone(), case.late, recorder.clone());
        let finished = run(&case.scripts, move |visits| {
            visits
                .protect(|visit: &Event| visit.0 * 100 + visit.4 % 40)
                .scheduled(schedule.clone(), |visit| visit.3)
                .late_by(late)
                .bound(Bound::keys(KEYS).weight(1, Norm::L1))
                .people_by(|v| v.4 as u32 % 9, Keys::public(0..9))
                .release_at(&sealing, "people", Exactly(Gaussian::rho(0.5)));
        });
        assert!(finished.is_ok(), "seed {seed}: {finished:?}");
        // Many people of a few records each.
        let other =
            |event: &Event| (event.0 * 100 + event.4 % 40, event.4 as u32 % 9, event.2, event.3, event.4);
        let windows: Vec<(Time, Vec<Event>)> = (0..)
            .map_while(|number| case.schedule.window(number))
            .map(|window| (window.start(), case.in_time(window).iter().map(other).collect()))
            .collect();
        let found = Recorder::exact(&recorder.sealed(), "people");
        for (start, cells) in expected("people", &windows, (1, Norm::L1)) {
            for (key, cell) in cells {
                assert_eq!(found[&start][&key], cell.unwrap(), "seed {seed}, {key}");
            }
        }
    }
}

// Refutes a factor that is too large, one that somebody else's records change, and a noise that is asked for otherwise.
#[test]
fn one_person_in_part_moves_a_window_by_no_more_than_the_weight() {
    let weight = 2u64;
    let mut reached = [[0i128; 2]; STATISTICS.len()];
    for seed in 0..size(100, 5_000) as u64 {
        let norm = if seed % 2 == 0 { Norm::L2 } else { Norm::L1 };
        let [one, other] =
            neighbours::pair(seed, |recorder, schedule| release(recorder, schedule, (0, weight, norm)));
        assert_eq!(one.len(), other.len());
        for ((name, whole, number), reached) in STATISTICS.into_iter().zip(&mut reached) {
            let (one, other) = (Recorder::exact(&one, name), Recorder::exact(&other, name));
            for (start, cells) in &one {
                let names: std::collections::BTreeSet<&String> =
                    cells.keys().chain(other[start].keys()).collect();
                let cell = |cells: &BTreeMap<String, [i128; 3]>, name: &String| {
                    cells.get(name).copied().unwrap_or_default()[number]
                };
                let moved: Vec<i128> = names
                    .into_iter()
                    .map(|name| (cell(cells, name) - cell(&other[start], name)).abs())
                    .collect();
                let (share, weight) = (UNITS * whole, i128::from(weight));
                let (largest, sum) = (moved.iter().copied().max().unwrap_or(0), moved.iter().sum::<i128>());
                let squares: i128 = moved.iter().map(|moved| moved * moved).sum();
                assert!(largest <= share, "seed {seed}, {name}: {largest}");
                assert!(squares <= weight * share * share, "seed {seed}, {name}: {squares}");
                assert!(norm == Norm::L2 || sum <= weight * share, "seed {seed}, {name}: {sum}");
                // In hundredths of what it may come to.
                *reached = [
                    reached[0].max(100 * squares / (weight * share * share)),
                    reached[1].max(if norm == Norm::L1 { 100 * sum / (weight * share) } else { 0 }),
                ];
            }
        }
    }
    for ((name, ..), reached) in STATISTICS.into_iter().zip(reached) {
        let enough = if name == "mean" { 90 } else { 99 };
        assert!(reached.iter().all(|reached| *reached >= enough), "{name}: {reached:?}, too weak a test");
    }
}

// Refutes a weight that is accepted and does nothing.
#[test]
fn a_weight_of_what_is_no_sum_of_shares_is_refused() {
    let refused = |build: fn(Bounded<'_, Event, _, _>, &Recorder)| {
        let recorder = Recorder::new(PrivacyUnit::Person);
        let finished = run(&[Script(Vec::<(Vec<Event>, Pulled)>::new())], move |visits: Fed<'_, Event>| {
            let person: fn(&Event) -> u64 = |visit| visit.0;
            let time: fn(&Event) -> Time = |visit| visit.3;
            let windows = visits.protect(person).tumbling(span(10), time).between(0, 40);
            build(windows.bound(Bound::keys(9).weight(2, Norm::L1)), &recorder);
        });
        finished.unwrap_err().to_string()
    };
    let quantile = refused(|people, recorder| {
        let grid = crate::mechanisms::Grid::linear(0, 9, 1);
        let asked = people.quantile_by(|v| v.1, Keys::public(0..9), |v| v.2, [0.5], grid);
        asked.release_at(recorder, "median", Exactly(crate::mechanisms::Exponential::rho(0.5)));
    });
    let running = refused(|people, recorder| {
        let counts = people.count_by(|v| v.1, Keys::public(0..9)).running();
        counts.release_at(recorder, "so_far", Exactly(Gaussian::rho(0.5)));
    });
    for refused in [quantile, running] {
        assert!(refused.contains("weight"), "{refused}");
    }
    let pure = refused(|people, recorder| {
        people.count_by(|v| v.1, Keys::public(0..9)).release_at(
            recorder,
            "n",
            Exactly(Laplace::epsilon(0.0)),
        );
    });
    assert!(!pure.contains("weight"), "{pure}");
}
