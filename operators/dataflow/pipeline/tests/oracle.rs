//! Each word against one table that sees every record, in one order, at once.

mod alone;
pub(super) mod case;
mod overlap;

use super::*;
use crate::accounting::PrivacyUnit;
use crate::dataflow::bounding::{Count, Identified, KeptRecords, Sum};
use crate::dataflow::pipeline::aggregation::Terms;
use crate::mechanisms::{
    AboveThreshold, Altogether, Attribute, BinarySearch, Edges, Exponential, Grid, MarginalTables, PerPerson,
    Range,
};
use crate::noise::goodness::size;
use case::{Case, case};

/// People, records, sum, by key.
type Tallies = BTreeMap<Time, BTreeMap<String, [i128; 3]>>;

type Three = [i128; 3];

fn three(total: &Three) -> Three {
    *total
}

/// A key of texts, chosen among others as a list of them is.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Texts(Vec<String>);

impl bounding::Identity for Texts {
    fn write<S: bounding::IdentitySink>(&self, sink: &mut S) {
        self.0.write(sink);
    }

    fn read(bytes: &mut &[u8]) -> Option<Texts> {
        bounding::Identity::read(bytes).map(Texts)
    }
}

impl std::fmt::Display for Texts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

// Refutes a record in the wrong window, or in a window that was closed for it; a person in two places; a
// record that counts twice in a pane, or once in all windows over it; a key that is not listed and takes
// another's place; a part that comes too late to count; and whatever depends on workers, batches or order.
#[test]
fn every_kind_of_statistic_releases_what_one_table_would() {
    for seed in 0..size(60, 240) as u64 {
        let mut random = Random::new(seed);
        let case = Arc::new(case(seed, &mut random));
        let recorder = Recorder::new(PrivacyUnit::Person);
        let (asked, sealing) = (Arc::clone(&case), recorder.clone());
        let finished = run(&case.scripts, move |visits| {
            let case = &asked;
            let people = visits
                .protect(|visit: &Event| visit.0)
                .scheduled(case.schedule.clone(), |visit| visit.3)
                .late_by(case.late)
                .bound(case.bound());
            let listed = Keys::public(case.listed.clone());
            let noise = || Exactly(Gaussian::rho(0.5));
            people.clone().count_by(|v| v.1, listed.clone()).release_at(&sealing, "count", noise());
            people.clone().count_by(|v| v.1, Keys::discover(1e-3)).release_at(&sealing, "open", noise());
            people.clone().count().release_at(&sealing, "whole", noise());
            people.clone().people_by(|v| v.1, listed.clone()).release_at(&sealing, "people", noise());
            let alert = people.clone().people_by(|v| v.1, listed.clone()).alert(3).planned_for(10);
            alert.release_at(&sealing, "alert", Exactly(AboveThreshold::rho(0.5)));
            let top = people.clone().people_by(|v| v.1, listed.clone()).top(1);
            top.release_at(&sealing, "top", Exactly(Exponential::rho(0.5)));
            let some = Attribute::new("key", ["0", "1", "other"]);
            let tables = some.and_then(|some| MarginalTables::new([some], &[&["key"], &[]]));
            people.clone().marginals(|v| vec![v.1.to_string()], tables.clone()).release_at(
                &sealing,
                "tables",
                noise(),
            );
            people.clone().marginals_of_people(|v| vec![v.1.to_string()], tables).release_at(
                &sealing,
                "of_people",
                noise(),
            );
            people.clone().sum_by(|v| v.1, listed.clone(), |v| v.2, -30..=50).release_at(
                &sealing,
                "sum",
                noise(),
            );
            people.clone().mean_by(|v| v.1, listed, |v| v.2, (-40, 41)).release_at(&sealing, "mean", noise());
            people.histogram_by(|v| v.2, Edges::new([-1, 1, 8])).release_at(&sealing, "histogram", noise());
        });
        assert!(finished.is_ok(), "seed {seed}: {finished:?}");
        let sealed = recorder.sealed();
        let exact = |name| Recorder::exact(&sealed, name);

        let listed = |event: &Event| case.listed.contains(&event.1).then_some((event.1, ()));
        let count = |total: &mut Three, records: u32| {
            *total = [total[0] + 1, total[1] + i128::from(records), 0];
        };
        let expected = case.expect(Count, |_, event| listed(event), count, three);
        assert_eq!(exact("count"), expected, "seed {seed}");
        assert_eq!(exact("people"), expected, "seed {seed}");
        assert_eq!(exact("alert"), expected, "seed {seed}");
        assert_eq!(exact("top"), expected, "seed {seed}");
        let open = case.expect(Count, |_, event| Some((event.1, ())), count, three);
        assert_eq!(exact("open"), open, "seed {seed}");

        let whole = case.expect(Count, |_, _| Some((0, ())), count, three);
        let unnamed = |tallies: Tallies| -> Vec<Vec<Three>> {
            tallies.into_values().map(|keys| keys.into_values().collect()).collect()
        };
        let found: Vec<Vec<Three>> = unnamed(exact("whole"));
        assert_eq!(found, unnamed(whole), "seed {seed}");

        // Texts become categories before people are bounded.
        let category = |event: &Event| if event.1 < 2 { event.1.to_string() } else { "other".to_owned() };
        let texts = case.expect(Count, |_, event| Some((Texts(vec![category(event)]), ())), count, three);
        for name in ["tables", "of_people"] {
            assert_eq!(unnamed(exact(name)), unnamed(texts.clone()), "seed {seed}");
        }

        let sum = Sum::clipped(-30, 50).unwrap();
        let value = |event: &Event| listed(event).map(|(key, ())| (key, event.2));
        let add = |total: &mut Three, share: bounding::PersonSum| {
            *total = [total[0] + 1, total[1] + i128::from(share.records), total[2] + i128::from(share.sum)];
        };
        let expected = case.expect(sum, |_, event| value(event), add, three);
        assert_eq!(exact("sum"), expected, "seed {seed}");

        let terms = Terms(Range::new(-40, 41).unwrap());
        let term = |total: &mut Three, (records, sum): (u32, i128)| {
            *total = [total[0] + 1, total[1] + i128::from(records), total[2] + sum];
        };
        let read = |selector: &ContributionSelector, event: &Event| {
            listed(event).map(|(key, ())| (key, (selector.record(&(event.3, event.2)), event.2)))
        };
        let expected = case.expect(KeptRecords::new(terms), read, term, three);
        assert_eq!(exact("mean"), expected, "seed {seed}");

        let edges = Edges::new([-1, 1, 8]).unwrap();
        let bucket = |_: &ContributionSelector, event: &Event| Some((edges.bucket(event.2), ()));
        let expected = case.expect(Count, bucket, count, three);
        assert_eq!(exact("histogram"), expected, "seed {seed}");
    }
}

// Refutes an id that is one for all persons, a duplicate that counts, and a winner by arrival.
#[test]
fn duplicates_of_an_id_count_once_wherever_they_come() {
    for seed in 0..size(60, 120) as u64 {
        let mut random = Random::new(seed);
        let case = Arc::new(case(seed, &mut random));
        let recorder = Recorder::new(PrivacyUnit::Person);
        let (asked, sealing) = (Arc::clone(&case), recorder.clone());
        let finished = run(&case.scripts, move |visits| {
            let case = &asked;
            let people = visits
                .protect(|visit: &Event| visit.0)
                .identified_by(|visit| visit.4 % 40)
                .scheduled(case.schedule.clone(), |visit| visit.3)
                .late_by(case.late)
                .bound(case.bound());
            let noise = || Exactly(Gaussian::rho(0.5));
            people.clone().count_by(|v| v.1, Keys::discover(1e-3)).release_at(&sealing, "count", noise());
            people.sum_by(|v| v.1, Keys::discover(1e-3), |v| v.2, -30..=50).release_at(
                &sealing,
                "sum",
                noise(),
            );
        });
        assert!(finished.is_ok(), "seed {seed}: {finished:?}");
        let sealed = recorder.sealed();
        let count = |total: &mut Three, records: u32| {
            *total = [total[0] + 1, total[1] + i128::from(records), 0];
        };
        let once = |_: &ContributionSelector, event: &Event| Some((event.1, (event.4 % 40, ())));
        let expected = case.expect(Identified::new(Count), once, count, three);
        assert_eq!(Recorder::exact(&sealed, "count"), expected, "seed {seed}");
        let add = |total: &mut Three, share: bounding::PersonSum| {
            *total = [total[0] + 1, total[1] + i128::from(share.records), total[2] + i128::from(share.sum)];
        };
        let sum = Identified::new(Sum::clipped(-30, 50).unwrap());
        let once = |_: &ContributionSelector, event: &Event| Some((event.1, (event.4 % 40, event.2)));
        let expected = case.expect(sum, once, add, three);
        assert_eq!(Recorder::exact(&sealed, "sum"), expected, "seed {seed}");
    }
}

// Refutes the same of what is found by its rank: a person who is several values, a value that is lost between
// workers or in a cut, a record more than `per_key`, and an answer that is not of the grid.
#[test]
fn largest_values_and_quantiles_are_of_what_one_table_would_have() {
    for seed in 0..size(60, 120) as u64 {
        let mut random = Random::new(seed);
        let case = Arc::new(case(seed, &mut random));
        let recorder = Recorder::new(PrivacyUnit::Person);
        let (asked, sealing) = (Arc::clone(&case), recorder.clone());
        let finished = run(&case.scripts, move |visits| {
            let case = &asked;
            let people = visits
                .protect(|visit: &Event| visit.0)
                .scheduled(case.schedule.clone(), |visit| visit.3)
                .late_by(case.late)
                .bound(case.bound());
            let search = || Exactly(BinarySearch::rho(0.5));
            let listed = Keys::public(case.listed.clone());
            let sums = |visit: &Event| visit.2;
            people.clone().max_by(|v| v.1, listed.clone(), sums, Grid::log()).release_at(
                &sealing,
                "max",
                search(),
            );
            people
                .clone()
                .monotone_by(|v| v.1, Keys::discover(1e-3), (PerPerson::Sum, sums), Altogether, Grid::log())
                .release_at(&sealing, "altogether", Exactly(Exponential::rho(0.5)));
            let tens = Grid::linear(-30, 50, 10);
            people.clone().quantile_by(|v| v.1, listed.clone(), sums, [0.25, 0.5, 0.9], tens).release_at(
                &sealing,
                "quantiles",
                Exactly(Exponential::rho(0.5)),
            );
            let own = (PerPerson::Sum, sums);
            people.quantile_of_people_by(|v| v.1, listed, own, [0.5], Grid::linear(-30, 50, 10)).release_at(
                &sealing,
                "of_people",
                Exactly(Exponential::rho(0.5)),
            );
        });
        assert!(finished.is_ok(), "seed {seed}: {finished:?}");
        let sealed = recorder.sealed();
        let exact = |name| Recorder::tallies(&sealed, name);
        let listed = |event: &Event| case.listed.contains(&event.1).then_some((event.1, event.2));

        // People, what they have together, and each, from the largest on.
        let push = |least: i64| {
            move |all: &mut Vec<i64>, own: i128| all.push(own.clamp(least.into(), i64::MAX.into()) as i64)
        };
        let tops = |all: &Vec<i64>| {
            let mut all: Vec<i128> = all.iter().map(|value| i128::from(*value)).collect();
            all.sort_unstable_by_key(|value| std::cmp::Reverse(*value));
            [vec![all.len() as i128, all.iter().sum()], all].concat()
        };
        let greatest = bounding::Own(PerPerson::Greatest);
        let expected = case.expect(greatest, |_, event| listed(event), push(i64::MIN), tops);
        assert_eq!(exact("max"), expected, "seed {seed}");
        let all = |_: &ContributionSelector, event: &Event| Some((event.1, event.2));
        let expected = case.expect(bounding::Own(PerPerson::Sum), all, push(0), tops);
        assert_eq!(exact("altogether"), expected, "seed {seed}");

        let read = |selector: &ContributionSelector, event: &Event| {
            listed(event).map(|(key, value)| (key, (selector.record(&(event.3, event.2)), value)))
        };
        let add = |total: &mut (i128, Vec<i64>), values: bounding::Few<i64>| {
            total.0 += 1;
            total.1.extend(values);
        };
        let sorted = |(people, values): &(i128, Vec<i64>)| {
            let mut values: Vec<i128> = values.iter().map(|value| i128::from(*value)).collect();
            values.sort_unstable();
            [vec![*people], values].concat()
        };
        let expected = case.expect(KeptRecords::new(bounding::Values::new()), read, add, sorted);
        assert_eq!(exact("quantiles"), expected, "seed {seed}");
        let add = |total: &mut (i128, Vec<i64>), own: i128| {
            total.0 += 1;
            total.1.push(own.clamp(i64::MIN.into(), i64::MAX.into()) as i64);
        };
        let own = bounding::Own(PerPerson::Sum);
        let expected = case.expect(own, |_, event| listed(event), add, sorted);
        assert_eq!(exact("of_people"), expected, "seed {seed}");
        let quantiles = sealed.iter().filter(|sealed| sealed.release.name.as_str() == "quantiles");
        for sealed in quantiles {
            // Three a key, in order, each a point of the grid.
            let value = |line: &str| -> i64 {
                line.split_once("\"value\":").unwrap().1.split_once(',').unwrap().0.parse().unwrap()
            };
            let values: Vec<i64> = sealed.released.lines().map(value).collect();
            assert_eq!(values.len(), 3 * case.listed.len());
            assert!(values.chunks(3).all(|three| three.is_sorted()), "{values:?}");
            assert!(values.iter().all(|value| value % 10 == 0 && (-30..=50).contains(value)));
        }
    }
}

// Refutes a public key that is forgotten from one window to the next, or by the next process.
#[test]
fn a_key_that_was_released_once_is_released_in_every_later_window() {
    let recorder = Recorder::new(PrivacyUnit::Person);
    let (crowd, rest): (Vec<Event>, Vec<Event>) =
        ((0..200).map(|person| (person, 7, 0, 15, person)).collect(), vec![(1, 8, 0, 25, 0)]);
    for (records, until, released) in [(crowd, 40, &[0, 1, 1, 1][..]), (rest, 60, &[1, 1])] {
        let sealing = recorder.clone();
        let finished = run(&[Script(vec![(records, Pulled::More)])], move |visits| {
            visits
                .protect(|visit: &Event| visit.0)
                .tumbling(span(10), |visit| visit.3)
                .between(0, until)
                .bound(Bound::keys(1))
                .count_by(|visit| visit.1, Keys::discover(1e-6))
                .release_at(&sealing, "visits", Exactly(Gaussian::rho(0.5)));
        });
        assert!(finished.is_ok(), "{finished:?}");
        let sealed = recorder.sealed();
        let keys: Vec<usize> = sealed.iter().map(|sealed| sealed.released.lines().count()).collect();
        assert_eq!(keys, released);
        assert!(sealed.iter().all(|sealed| sealed.released.lines().all(|line| line.contains("\"key\":7,"))));
    }
}
