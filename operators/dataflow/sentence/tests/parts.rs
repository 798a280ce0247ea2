//! Parts of a person, replayed: what it changes that only the records of some time are gone.

use super::neighbours::replayed;
use super::*;
use crate::accounting::Amount;
use crate::ledger::Charge;

/// As many pairs as reach every price.
const RUNS: u64 = 240;
const KEYS: u32 = 2;
const PER_KEY: i64 = 3;

/// A statistic, and the numbers that have noise of their own: which of people, records and sum, how far all of a person moves
/// it in a key, and which share of the price it has.
struct Told {
    name: &'static str,
    numbers: &'static [(usize, i128, f64)],
    /// The price of a part over the price of a whole, by hand.
    factor: f64,
}

/// `sum`: from -30 to 50, so (80 / 50)^2. `mean`: 70 percent for a sum that moves by twice as much, in half units of 81 a
/// record, where 30 percent count records. `both` has no other key to keep.
const TOLD: [Told; 8] = [
    Told { name: "count", numbers: &[(1, PER_KEY as i128, 1.0)], factor: 2.0 },
    Told { name: "open", numbers: &[(1, PER_KEY as i128, 1.0)], factor: 2.0 },
    Told { name: "people", numbers: &[(0, 1, 1.0)], factor: 2.0 },
    Told { name: "sum", numbers: &[(2, 50, 1.0)], factor: 2.56 },
    Told { name: "amounts", numbers: &[(2, 50, 1.0)], factor: 2.0 },
    Told { name: "mean", numbers: &[(2, PER_KEY as i128 * 81, 0.7), (1, PER_KEY as i128, 0.3)], factor: 2.8 },
    Told { name: "histogram", numbers: &[(1, PER_KEY as i128, 1.0)], factor: 2.0 },
    Told { name: "both", numbers: &[(1, PER_KEY as i128, 1.0)], factor: 1.0 },
];

fn release(recorder: &Recorder, schedule: &Schedule) -> impl Fn(Fed<'_, Event>) + Send + Sync + use<> {
    let (recorder, schedule) = (recorder.clone(), schedule.clone());
    move |visits| {
        let windows = visits.protect(|visit| visit.0).scheduled(schedule.clone(), |visit| visit.3);
        let people = windows.bound(Bound::keys(2).per_key(3));
        let noise = || Exactly(Gaussian::rho(0.5));
        let listed = || Keys::public(0..9);
        people.clone().count_by(|v| v.1, listed()).release_at(&recorder, "count", noise());
        people.clone().count_by(|v| v.1, Keys::discover(1e-3)).release_at(&recorder, "open", noise());
        people.clone().people_by(|v| v.1, listed()).release_at(&recorder, "people", noise());
        people.clone().sum_by(|v| v.1, listed(), |v| v.2, -30..=50).release_at(&recorder, "sum", noise());
        people.clone().sum_by(|v| v.1, listed(), |v| v.2, 0..=50).release_at(&recorder, "amounts", noise());
        people.clone().mean_by(|v| v.1, listed(), |v| v.2, -40..=41).release_at(&recorder, "mean", noise());
        let edges = crate::mechanisms::Edges::new([-1, 1, 8]);
        people.clone().histogram_by(|v| v.2, edges).release_at(&recorder, "histogram", noise());
        people.count_by(|v| v.1 % 2, Keys::public(0..2)).release_at(&recorder, "both", noise());
    }
}

/// What the target does in a window from `start` on: some of it in the first half, some in the second, such that the bound
/// keeps something else of the second than of both.
fn visits(random: &mut Random, target: u64, start: Time) -> Vec<Event> {
    let mut visits = Vec::new();
    let mut add = |keys: &[u32], records: i64, value: &[i64], late: Time| {
        for &key in keys {
            for record in 0..records {
                let value = value[record as usize % value.len()];
                visits.push((target, key, value, start + late + record % 8, 0));
            }
        }
    };
    match random.below(3) {
        // Other keys.
        0 => {
            add(&[0, 1, 2, 3, 4, 5, 6], PER_KEY, &[1000], 0);
            add(&[7, 8], PER_KEY, &[1000], 10);
        }
        // Other values of the same keys, and only the last few of many records.
        1 => {
            add(&[3, 4], 90, &[-1000], 0);
            add(&[3, 4], PER_KEY, &[1000], 10);
        }
        // Other buckets.
        _ => {
            add(&[3], 12, &[-5, 0], 0);
            add(&[3], 12, &[3, 100], 10);
        }
    }
    visits
}

/// The partial price over the whole one.
fn factor(charge: &Charge) -> f64 {
    let rho = |amount: &Amount| match amount {
        Amount::Zcdp { rho, .. } => rho.to_bits() as f64,
        _ => panic!("{amount}"),
    };
    rho(&charge.cost().partial().unwrap()) / rho(charge.cost().amount())
}

// Refutes the price of a whole person for a part of one, a price that nothing reaches, and a window that changes though none
// of its records did.
#[test]
fn a_part_of_a_person_moves_a_window_by_no_more_than_its_partial_price() {
    let mut reached = [0f64; TOLD.len()];
    for seed in 0..RUNS {
        let mut random = Random::new(seed);
        let schedule = match random.below(2) {
            0 => Schedule::tumbling(span(20), 0, Some(HORIZON)),
            _ => Schedule::sliding(span(40), span(20), 0, Some(HORIZON)),
        };
        let schedule = schedule.unwrap();
        let target = random.below(1 << 30) as u64 + 100;
        let start = random.below(HORIZON as usize / 20) as Time * 20;
        let mut records = events(&mut random);
        records.extend(visits(&mut random, target, start));
        // Now and then a time that has nothing to do with what the target does.
        let gone = match random.below(4) {
            0 => {
                let from = random.below(HORIZON as usize) as Time;
                from..from + 1 + random.below(60) as Time
            }
            _ => start..start + 10,
        };
        let workers = 1 + random.below(3);
        let scripts = divided(&mut random, &records, workers);
        let stays = |event: &Event| event.0 != target || !gone.contains(&event.3);
        let [one, other] = replayed(scripts, stays, seed, |recorder| release(recorder, &schedule));
        for (told, reached) in TOLD.iter().zip(&mut reached) {
            let price = one.iter().find(|sealed| sealed.release.name.as_str() == told.name);
            let price = factor(&price.unwrap().charge);
            assert!(price >= told.factor && price < told.factor * 1.001, "{}: {price}", told.name);
            let length = if schedule.window(0).unwrap().end() == 40 { 40 } else { 20 };
            let (one, other) = (Recorder::exact(&one, told.name), Recorder::exact(&other, told.name));
            for (start, cells) in &one {
                let names: std::collections::BTreeSet<&String> =
                    cells.keys().chain(other[start].keys()).collect();
                let mut moved = 0.0;
                for name in names {
                    let cell =
                        |cells: &BTreeMap<String, [i128; 3]>| cells.get(name).copied().unwrap_or_default();
                    let (one, other) = (cell(cells), cell(&other[start]));
                    for &(number, most, share) in told.numbers {
                        let difference = (one[number] - other[number]) as f64 / most as f64;
                        moved += share * difference * difference / f64::from(KEYS);
                    }
                }
                assert!(moved <= price * 1.000_001, "seed {seed}, {}: {moved} at {price}", told.name);
                let overlaps = gone.start < start + length && gone.end > *start;
                assert!(
                    overlaps || moved == 0.0,
                    "seed {seed}, {}: a window of another time moved",
                    told.name
                );
                *reached = reached.max(moved);
            }
        }
    }
    for (told, reached) in TOLD.iter().zip(reached) {
        assert!(
            reached >= told.factor * 0.99,
            "{}: {reached} of {}: too weak a test",
            told.name,
            told.factor
        );
    }
}
