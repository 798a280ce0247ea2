//! Neighbours, replayed: what one person more or less changes, and what it must not.

use super::*;
use crate::accounting::PrivacyUnit;
use crate::mechanisms::{BinarySearch, Edges, Exponential, Grid, Maximum, PerPerson};
use crate::noise::goodness::size;

/// A few pairs in an ordinary run, all of them in `bash .ci/run --full`. Every run has six statistics.
fn runs() -> u64 {
    size(100, 16_700) as u64
}

/// The most that one person may move a statistic over all windows together, by the theorem and not by the
/// code.
struct Most {
    name: &'static str,
    l0: i128,
    linf: i128,
    l1: i128,
    l2_squared: i128,
    /// The indices of the released ones of people, records and sum.
    released: &'static [usize],
}

const KEYS: i128 = 2;
const PER_KEY: i128 = 3;
const WINDOWS: i128 = 2;

/// Each row by hand. `sum`: clipped to -30..=50. `mean`: sums in half units of -40..=41, so a record moves
/// them by 81.
const MOST: [Most; 6] = [
    most("count", PER_KEY, &[1]),
    most("open", PER_KEY, &[1]),
    most("people", 1, &[0]),
    most("sum", 50, &[2]),
    most("mean", PER_KEY * 81, &[2]),
    most("histogram", PER_KEY, &[1]),
];

const fn most(name: &'static str, linf: i128, released: &'static [usize]) -> Most {
    let cells = WINDOWS * KEYS;
    Most { name, l0: cells, linf, l1: cells * linf, l2_squared: cells * linf * linf, released }
}

fn release(recorder: &Recorder, schedule: &Schedule) -> impl Fn(Fed<'_, Event>) + Send + Sync + use<> {
    let (recorder, schedule) = (recorder.clone(), schedule.clone());
    move |visits| {
        let people = visits
            .protect(|visit| visit.0)
            .scheduled(schedule.clone(), |visit| visit.3)
            .bound(Bound::keys(2).per_key(3).windows(2));
        let noise = || Exactly(Gaussian::rho(0.5));
        let listed = || Keys::public(0..9);
        people.clone().count_by(|v| v.1, listed()).release_at(&recorder, "count", noise());
        people.clone().count_by(|v| v.1, Keys::discover(1e-3)).release_at(&recorder, "open", noise());
        people.clone().people_by(|v| v.1, listed()).release_at(&recorder, "people", noise());
        people.clone().sum_by(|v| v.1, listed(), |v| v.2, -30..=50).release_at(&recorder, "sum", noise());
        people.clone().mean_by(|v| v.1, listed(), |v| v.2, -40..=41).release_at(&recorder, "mean", noise());
        people.histogram_by(|v| v.2, Edges::new([-1, 1, 8])).release_at(&recorder, "histogram", noise());
    }
}

/// The same of what is found by its rank.
fn release_ranks(recorder: &Recorder, schedule: &Schedule) -> impl Fn(Fed<'_, Event>) + Send + Sync + use<> {
    let (recorder, schedule) = (recorder.clone(), schedule.clone());
    move |visits| {
        let people = visits
            .protect(|visit| visit.0)
            .scheduled(schedule.clone(), |visit| visit.3)
            .bound(Bound::keys(2).per_key(3).windows(2));
        let (listed, value) = (|| Keys::public(0..9), |visit: &Event| visit.2);
        let search = || Exactly(BinarySearch::rho(0.5));
        people.clone().max_by(|v| v.1, listed(), value, Grid::log()).release_at(&recorder, "max", search());
        let sums = (PerPerson::Sum, value);
        people.clone().monotone_by(|v| v.1, listed(), sums, Maximum, Grid::log()).release_at(
            &recorder,
            "sums",
            Exactly(Exponential::rho(0.5)),
        );
        let grid = || Grid::linear(-40, 41, 1);
        let exponential = || Exactly(Exponential::rho(0.5));
        people.clone().quantile_by(|v| v.1, listed(), value, [0.5], grid()).release_at(
            &recorder,
            "median",
            exponential(),
        );
        let records = (PerPerson::Records, value);
        people.clone().quantile_of_people_by(|v| v.1, listed(), records, [0.5], grid()).release_at(
            &recorder,
            "records",
            exponential(),
        );
        people.quantile_by(|v| v.1, listed(), value, [0.1, 0.5, 0.9], grid()).release_at(
            &recorder,
            "several",
            exponential(),
        );
    }
}

/// A run, and the same without a person.
pub(super) fn pair<R>(seed: u64, release: impl Fn(&Recorder, &Schedule) -> R) -> [Vec<Sealed>; 2]
where
    R: Fn(Fed<'_, Event>) + Send + Sync + 'static,
{
    let mut random = Random::new(seed);
    let schedule = match random.below(2) {
        0 => Schedule::tumbling(span(20), 0, Some(HORIZON)),
        _ => Schedule::sliding(span(40), span(20), 0, Some(HORIZON)),
    };
    let schedule = schedule.unwrap();
    let mut records = events(&mut random);
    let target = random.below(8) as u64;
    // The target has many values at an end of the range, or a few of any.
    if random.below(2) == 0 {
        for (event, number) in records.iter_mut().filter(|event| event.0 == target).zip(0i64..) {
            event.2 = 1000;
            event.3 = (number / 8 * 20).rem_euclid(HORIZON) + number % 8;
        }
    }
    let workers = 1 + random.below(4);
    let scripts = divided(&mut random, &records, workers);
    with_and_without(scripts, target, seed, |recorder| release(recorder, &schedule))
}

/// Returns the sealed tallies of a script, and of the same script without a person.
pub(super) fn with_and_without<R>(
    scripts: Vec<Script<Event>>,
    person: u64,
    seed: u64,
    release: impl Fn(&Recorder) -> R,
) -> [Vec<Sealed>; 2]
where
    R: Fn(Fed<'_, Event>) + Send + Sync + 'static,
{
    replayed(scripts, |event| event.0 != person, seed, release)
}

/// The same scripts with those records alone that stay.
pub(super) fn without(scripts: &[Script<Event>], stays: impl Fn(&Event) -> bool) -> Vec<Script<Event>> {
    let others = |records: &Vec<Event>| records.iter().filter(|event| stays(event)).copied().collect();
    let script = |script: &Script<Event>| {
        Script(script.0.iter().map(|(records, pulled)| (others(records), *pulled)).collect())
    };
    scripts.iter().map(script).collect()
}

/// Returns the sealed tallies of a script, and of the same script with the remaining records alone.
pub(super) fn replayed<R>(
    scripts: Vec<Script<Event>>,
    stays: impl Fn(&Event) -> bool,
    seed: u64,
    release: impl Fn(&Recorder) -> R,
) -> [Vec<Sealed>; 2]
where
    R: Fn(Fed<'_, Event>) + Send + Sync + 'static,
{
    let without = without(&scripts, stays);
    [scripts, without].map(|scripts| {
        let recorder = Recorder::new(PrivacyUnit::Person);
        let finished = run(&scripts, release(&recorder));
        assert!(finished.is_ok(), "seed {seed}: {finished:?}");
        let mut sealed = recorder.sealed();
        // Statistics are independent of each other; the windows of each are in order.
        sealed.sort_by(|a, b| a.release.name.as_str().cmp(b.release.name.as_str()));
        sealed
    })
}

/// The keys that a text names.
fn keys(released: &str) -> Vec<&str> {
    released
        .lines()
        .filter_map(|line| line.split_once("\"key\":")?.1.split_once(','))
        .map(|(key, _)| key)
        .collect()
}

// Refutes: a bound by window where one by person was asked for; one window, key or record too many; a sum
// clipped at one end; a mean whose terms are from an end of the range; a window that is left out because
// nobody was in it; a request for noise that depends on who is there.
#[test]
fn one_person_moves_everything_together_by_no_more_than_was_said() {
    let mut reached = [[0i128; 4]; MOST.len()];
    for seed in 0..runs() {
        let [one, other] = pair(seed, release);
        assert_eq!(one.len(), other.len());
        for (one, other) in one.iter().zip(&other) {
            // Which releases there are, in which order, at which price.
            assert_eq!((&one.release, &one.charge), (&other.release, &other.charge), "seed {seed}");
            if one.release.name.as_str() != "open" {
                assert_eq!(one.requests, other.requests, "seed {seed}");
                assert_eq!(keys(&one.released), keys(&other.released), "seed {seed}");
            } else {
                // What is discovered may be asked for more often, and from the same law.
                let laws = |sealed: &Sealed| -> Vec<_> {
                    sealed.requests.iter().map(|request| (request.law, request.parameter.clone())).collect()
                };
                assert_eq!(laws(one), laws(other), "seed {seed}");
            }
        }
        for (most, reached) in MOST.iter().zip(&mut reached) {
            let (one, other) = (Recorder::exact(&one, most.name), Recorder::exact(&other, most.name));
            let mut moved = [0i128; 4];
            let mut windows = 0;
            for (start, cells) in &one {
                let names: std::collections::BTreeSet<&String> =
                    cells.keys().chain(other[start].keys()).collect();
                let mut differs = false;
                for name in names {
                    let cell =
                        |cells: &BTreeMap<String, [i128; 3]>| cells.get(name).copied().unwrap_or_default();
                    let (one, other) = (cell(cells), cell(&other[start]));
                    for &number in most.released {
                        let difference = (one[number] - other[number]).abs();
                        differs |= difference > 0;
                        moved[0] += i128::from(difference > 0);
                        moved[1] = moved[1].max(difference);
                        moved[2] += difference;
                        moved[3] += difference * difference;
                    }
                }
                windows += i128::from(differs);
            }
            let bounds = [most.l0, most.linf, most.l1, most.l2_squared];
            for (moved, bound) in moved.iter().zip(bounds) {
                assert!(*moved <= bound, "seed {seed}, {}: {moved} where {bound} was said", most.name);
            }
            assert!(windows <= WINDOWS, "seed {seed}, {}", most.name);
            for (reached, moved) in reached.iter_mut().zip(moved) {
                *reached = (*reached).max(moved);
            }
        }
    }
    for (most, reached) in MOST.iter().zip(reached) {
        for (bound, reached) in [most.l0, most.linf, most.l1, most.l2_squared].into_iter().zip(reached) {
            let percent = 100 * reached / bound;
            assert!(percent >= 99, "{}: {reached} of {bound}, so this test is too weak", most.name);
        }
    }
}

/// Returns how many numbers, with their copies, are in each list and not in the other; both are sorted.
pub(super) fn apart(one: &[i128], other: &[i128]) -> [usize; 2] {
    let mut counts: BTreeMap<i128, i64> = BTreeMap::new();
    one.iter().for_each(|number| *counts.entry(*number).or_default() += 1);
    other.iter().for_each(|number| *counts.entry(*number).or_default() -= 1);
    let of = |sign: i64| counts.values().map(|count| (sign * count).max(0) as usize).sum();
    [of(1), of(-1)]
}

// Refutes a person who is two values in a key, or in a key too many; one who is more than `per_key` values of
// a quantile; a value that gives way to somebody else's; and a request for noise that depends on who is
// there.
#[test]
fn one_person_moves_ranks_by_no_more_than_was_said() {
    let runs = runs() / 2;
    let names = [("max", 1), ("sums", 1), ("median", 3), ("several", 3), ("records", 1)];
    let mut reached = [[0usize; 3]; 5];
    for seed in 0..runs {
        let [one, other] = pair(seed, release_ranks);
        assert_eq!(one.len(), other.len());
        for (one, other) in one.iter().zip(&other) {
            assert_eq!((&one.release, &one.charge), (&other.release, &other.charge), "seed {seed}");
            assert_eq!(one.requests, other.requests, "seed {seed}");
            assert_eq!(keys(&one.released), keys(&other.released), "seed {seed}");
        }
        for ((name, each), reached) in names.into_iter().zip(&mut reached) {
            let release = name;
            let (one, other) = (Recorder::tallies(&one, name), Recorder::tallies(&other, name));
            let (mut cells, mut most, mut windows) = (0, 0, 0);
            for (start, keys) in &one {
                let before = cells;
                for name in keys.keys().chain(other[start].keys()).collect::<std::collections::BTreeSet<_>>()
                {
                    // Behind the number of people, and what they have together.
                    let values = |keys: &BTreeMap<String, Vec<i128>>| {
                        let skipped = if ["max", "sums"].contains(&release) { 2 } else { 1 };
                        keys.get(name).map_or(Vec::new(), |numbers| numbers[skipped..].to_vec())
                    };
                    let [more, less] = apart(&values(keys), &values(&other[start]));
                    assert_eq!(less, 0, "seed {seed}: somebody else's value came instead");
                    assert!(more <= each, "seed {seed}, {name}: {more} values where {each} were said");
                    cells += usize::from(more > 0);
                    most = most.max(more);
                }
                windows += usize::from(cells > before);
                assert!(cells - before <= KEYS as usize, "seed {seed}, {name}");
            }
            assert!(windows <= WINDOWS as usize, "seed {seed}, {name}");
            *reached = [reached[0].max(cells), reached[1].max(most), reached[2].max(windows)];
        }
    }
    for ((name, each), reached) in names.into_iter().zip(reached) {
        assert_eq!(reached, [(KEYS * WINDOWS) as usize, each, WINDOWS as usize], "{name}: too weak a test");
    }
}

// Refutes a release that exists because somebody was there, and one that is written otherwise for nobody.
#[test]
fn a_record_of_another_age_moves_nobody_elses_window() {
    let mut random = Random::new(5);
    let records = events(&mut random);
    let schedule = Schedule::tumbling(span(20), 0, Some(HORIZON)).unwrap();
    let sealed = |records: &[Event]| {
        let recorder = Recorder::new(PrivacyUnit::Person);
        let script = [Script(vec![(records.to_vec(), Pulled::Complete(50))])];
        assert!(run(&script, release(&recorder, &schedule)).is_ok());
        recorder.sealed()
    };
    let before = sealed(&records);
    let mut with = records.clone();
    with.insert(0, (77, 1, 1, 253_370_764_800_000_000, 7));
    assert_eq!(sealed(&with), before);
    assert_eq!(sealed(&[]).len(), before.len(), "an empty stream has the same windows");
}
