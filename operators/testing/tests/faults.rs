//! Faults of a user's pipeline: each is found, and the message says where.

use std::cell::Cell;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use differential_dataflow::operators::count::CountTotal;
use discreet::dataflow::revealed::ExactRun;
use discreet::dataflow::{Clock, Fed};
use discreet::mechanisms::{Bound, Grid, Keys};
use discreet::time::Span;

use super::{HORIZON, Visit, declared, visits};
use crate::{ChangeNorm, ManualClock, Neighbours, Unbounded, assert_bounded, check_bounded};

/// Counts visits by page: of each reader at most `keys` pages in a window, one visit of each.
fn by_page(visits: Fed<'_, Visit>, keys: u64, run: &ExactRun) {
    visits
        .protect(|visit| visit.0)
        .tumbling(Span::microseconds(10), |visit| visit.2)
        .between(0, HORIZON)
        .bound(Bound::keys(keys))
        .count_by(|visit| visit.1, Keys::public(0..4_u32))
        .reveal(run, "by_page");
}

/// The faults of these closures show on one worker and in one order.
fn in_order() -> Neighbours<Visit> {
    Neighbours::by_person(visits(), |visit| visit.0).workers([1]).orders(1)
}

fn norm(unbounded: Result<(), Unbounded>) -> ChangeNorm {
    match unbounded {
        Err(Unbounded::Moved { norm, moved, bound, .. }) => {
            assert!(moved > bound);
            norm
        }
        other => panic!("{other:?}"),
    }
}

// Two readers who are bounded as one: without the first, another page of the second is kept.
#[test]
#[should_panic(
    expected = "moves a tally by 2 where the bound is 1 (L0, the number of cells that change): by_page"
)]
fn a_map_that_merges_persons() {
    assert_bounded(
        visits(),
        |visit| visit.0,
        |visits, run| {
            by_page(visits.map(|(reader, page, time)| (reader / 2, page, time)), 1, run);
        },
    );
}

#[test]
fn one_record_that_becomes_records_of_several_persons() {
    let found = check_bounded(
        declared(),
        |visit| visit.0,
        |visits, run| {
            let each = |(reader, page, time)| (0..3).map(move |copy| (reader * 3 + copy, page, time));
            by_page(visits.flat_map(each), 4, run);
        },
    );
    assert_eq!(norm(found), ChangeNorm::Linf);
}

#[test]
fn state_from_one_record_to_the_next() {
    let pipeline = |visits: Fed<'_, Visit>, run: &ExactRun| {
        let mut count = 0;
        let numbered = visits.map(move |(reader, _, time)| {
            count += 1;
            (reader, count % 4, time)
        });
        by_page(numbered, 1, run);
    };
    let found = check_bounded(visits(), |visit| visit.0, pipeline);
    assert!(matches!(found, Err(Unbounded::OrderDependent { .. })), "{found:?}");
    assert_eq!(norm(in_order().check(pipeline)), ChangeNorm::L0);
}

#[test]
fn a_counter_of_the_process() {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let found = in_order().check(|visits, run| {
        let numbered =
            visits.map(|(reader, _, time)| (reader, COUNT.fetch_add(1, Ordering::Relaxed) / 7 % 4, time));
        by_page(numbered, 1, run);
    });
    assert!(matches!(found, Err(Unbounded::Unrepeatable(_))), "{found:?}");
}

#[test]
fn randomness() {
    let found = in_order().check(|visits, run| {
        let random = RandomState::new();
        by_page(visits.map(move |visit| (visit.0, random.hash_one(visit) as u32 % 4, visit.2)), 4, run);
    });
    assert!(matches!(found, Err(Unbounded::Unrepeatable(_))), "{found:?}");
}

#[test]
fn a_time_that_depends_on_other_records() {
    let pipeline = |visits: Fed<'_, Visit>, run: &ExactRun| {
        let latest = Cell::new(0);
        let moved = visits.map(move |(reader, page, time)| {
            latest.set(time.max(latest.get()));
            (reader, page, latest.get())
        });
        by_page(moved, 1, run);
    };
    let found = check_bounded(visits(), |visit| visit.0, pipeline);
    assert!(matches!(found, Err(Unbounded::OrderDependent { .. })), "{found:?}");
    // Reader 1 alone has come as late as 39; without the reader, the visits that follow are in their own windows.
    let latest = [(1, 0, 39), (2, 0, 5), (3, 0, 5), (4, 0, 5)];
    let found = Neighbours::by_person(latest, |visit| visit.0).workers([1]).orders(1).check(pipeline);
    assert_eq!(norm(found), ChangeNorm::Linf);
}

/// The visits as changes of a collection, protected by reader.
fn of_collection(visits: Fed<'_, (Visit, i64, isize)>, bound: Bound, run: &ExactRun) {
    visits
        .protect_collection(|visit| visit.0)
        .whole(0, HORIZON, |visit| visit.2)
        .bound(bound)
        .count_by(|visit| visit.1, Keys::public(0..90_u32))
        .reveal(run, "joined");
}

// Each visit to a page is given to all readers of the page. It is the same in every order.
#[test]
fn a_join_that_multiplies() {
    let readers = (0..6).map(|reader| (reader, 0, 5)).collect::<Vec<Visit>>();
    let found = check_bounded(
        readers,
        |visit| visit.0,
        |visits, run| {
            let joined = visits.map(|visit| (visit, 1)).collection(|visits| {
                let by_page = visits.map(|(reader, page, time)| (page, (reader, time)));
                by_page.clone().join_map(by_page, |page, (_, time), (other, _)| (*other, *page, *time))
            });
            of_collection(joined, Bound::keys(1).per_key(6), run);
        },
    );
    assert_eq!(norm(found), ChangeNorm::Linf);
}

// The key of a visit is the number of visits to its page, of all readers. It is the same in every order.
#[test]
fn keys_that_depend_on_other_persons() {
    let found = check_bounded(
        visits(),
        |visit| visit.0,
        |visits, run| {
            let ranked = visits.map(|visit| (visit, 1)).collection(|visits| {
                let by_page = visits.map(|(reader, page, time)| (page, (reader, time)));
                let counts = by_page.clone().map(|(page, _)| page).count_total();
                by_page.join_map(counts, |_, (reader, time), count| (*reader, *count as u32, *time))
            });
            of_collection(ranked, Bound::keys(1), run);
        },
    );
    assert_eq!(norm(found), ChangeNorm::L0);
}

// A record of reader 3 moves the clock by which windows are skipped.
#[test]
fn a_window_that_is_skipped_because_of_a_person() {
    let found = in_order().check(|visits, run| {
        let clock = ManualClock::at(0);
        let moving = clock.clone();
        let seen = visits.map(move |visit| {
            if visit.0 == 3 {
                moving.set(1_000);
            }
            visit
        });
        seen.protect(|visit| visit.0)
            .tumbling(Span::microseconds(10), |visit| visit.2)
            .between(0, HORIZON)
            .skipping(Arc::new(clock) as Arc<dyn Clock>, Span::microseconds(10))
            .bound(Bound::keys(1))
            .people()
            .reveal(run, "readers");
    });
    let Err(Unbounded::WindowDependsOnUnit { unit, difference }) = found else { panic!("{found:?}") };
    assert_eq!(difference.statistic, "readers");
    assert!(difference.cells.contains("skipped (Late)"), "{difference}");
    let third = visits().iter().position(|visit| visit.0 == 3).unwrap();
    let before: std::collections::HashSet<u64> = visits()[..third].iter().map(|visit| visit.0).collect();
    assert_eq!(unit.index, before.len(), "reader 3 in the order of first records");
}

// Reader 0 comes in the first window and reader 1 in the second: as one person, they count in the first alone.
#[test]
fn persons_who_are_merged_move_more_windows_than_one() {
    let visits = [(0, 0, 5), (1, 0, 15)];
    let found = check_bounded(
        visits,
        |visit| visit.0,
        |visits: Fed<'_, Visit>, run| {
            visits
                .protect(|visit| visit.0 / 2)
                .tumbling(Span::microseconds(10), |visit| visit.2)
                .between(0, HORIZON)
                .bound(Bound::keys(1).windows(1))
                .count()
                .reveal(run, "visits");
        },
    );
    let Err(Unbounded::InTooManyWindows { unit, windows: 2, bound: 1, .. }) = found else {
        panic!("{found:?}")
    };
    assert_eq!((unit.index, unit.records), (0, 1));
}

// The sums stay as they are, and the number of people decides which keys are released.
#[test]
fn one_person_who_is_several_where_keys_are_discovered() {
    let found = in_order().check(|visits, run| {
        visits
            .flat_map(|(reader, page, time)| (0..3).map(move |copy| (reader * 3 + copy, page, time)))
            .protect(|visit| visit.0)
            .tumbling(Span::microseconds(10), |visit| visit.2)
            .between(0, HORIZON)
            .bound(Bound::keys(4))
            .sum_by(|visit| visit.1, Keys::discover(1e-6), |_| 0, 0..=1)
            .reveal(run, "nothing");
    });
    assert_eq!(norm(found), ChangeNorm::PeopleOfAKey);
}

#[test]
fn one_person_who_has_more_keys_where_they_are_discovered() {
    let found = in_order().check(|visits, run| {
        visits
            .flat_map(|(reader, page, time)| {
                (0..3).map(move |copy| (reader * 3 + copy, 4 * copy + u64::from(page), time))
            })
            .protect(|visit| visit.0)
            .tumbling(Span::microseconds(10), |visit| visit.2)
            .between(0, HORIZON)
            .bound(Bound::keys(1))
            .sum_by(|visit| visit.1, Keys::discover(1e-6), |_| 0, 0..=1)
            .reveal(run, "nothing");
    });
    assert_eq!(norm(found), ChangeNorm::KeysOfPeople);
}

// One key, and one more of each value, but twice as many values as a person may have.
#[test]
fn one_person_who_is_two_values_of_a_quantile() {
    let found = check_bounded(
        [(1, 0, 3), (2, 0, 5)],
        |visit| visit.0,
        |visits: Fed<'_, Visit>, run| {
            visits
                .flat_map(|(reader, page, time)| [(reader, page, time), (reader + 100, page, time + 1)])
                .protect(|visit| visit.0)
                .whole(0, HORIZON, |visit| visit.2)
                .bound(Bound::keys(1))
                .quantiles(|visit| visit.2, [0.5], Grid::linear(0, 40, 1))
                .reveal(run, "median");
        },
    );
    assert_eq!(norm(found), ChangeNorm::L1);
}

// The first record moves the values of twelve others by half the range: within the other norms of ten means, where the
// counts, which do not move, leave them room.
#[test]
fn one_person_who_moves_more_sums_than_means_have() {
    let visits: Vec<Visit> =
        [(0, 99, 5)].into_iter().chain((0..12).map(|page| (1 + u64::from(page), page, 5))).collect();
    let found = Neighbours::by_person(visits, |visit| visit.0).workers([1]).orders(1).check(|visits, run| {
        let mut first = false;
        let moved = visits.map(move |(reader, page, time)| {
            first |= reader == 0;
            (reader, page, if first { time } else { 0 })
        });
        moved
            .protect(|visit| visit.0)
            .whole(0, HORIZON, |_| 5)
            .bound(Bound::keys(10))
            .mean_by(|visit| visit.1, Keys::public(0..12_u32), |visit| visit.2, 0..=10)
            .reveal(run, "means");
    });
    assert_eq!(norm(found), ChangeNorm::L2Squared);
}

// The bound of a running total is of all windows together: a record that is a new person in each window stays within
// the bound of every single one.
#[test]
fn one_person_who_is_another_in_each_window_of_a_running_total() {
    let found = in_order().check(|visits, run| {
        visits
            .protect(|visit| (visit.0, visit.2 / 10))
            .tumbling(Span::microseconds(10), |visit| visit.2)
            .between(0, HORIZON)
            .bound(Bound::keys(4))
            .people_by(|visit| visit.1, Keys::public(0..4_u32))
            .running()
            .reveal(run, "so_far");
    });
    let Err(Unbounded::Moved { norm: ChangeNorm::Linf, difference, bound: 1, .. }) = found else {
        panic!("{found:?}")
    };
    assert_eq!(difference.window, None);
}

#[test]
fn a_person_who_is_protected_a_record_at_a_time() {
    let each = |visits: Fed<'_, Visit>, run: &ExactRun| {
        visits
            .protect_each()
            .tumbling(Span::microseconds(10), |visit| visit.2)
            .between(0, HORIZON)
            .one_by_one()
            .count()
            .reveal(run, "visits");
    };
    assert_eq!(norm(in_order().check(each)), ChangeNorm::Linf);
    Neighbours::by_record(visits()[..30].to_vec()).workers([2]).orders(2).check(each).unwrap();
    let found = Neighbours::by_record(visits()).check(|visits, run| by_page(visits, 1, run));
    assert!(matches!(found, Err(Unbounded::OtherUnit { .. })), "{found:?}");
}

// Refutes a check that cannot fail.
#[test]
fn nothing_that_is_compared_is_no_success() {
    let nothing: [fn(Fed<'_, Visit>, &ExactRun); 3] = [
        |_, _| {},
        // Nothing declares a window of a schedule without an end.
        |visits, run| {
            let windows = visits.protect(|visit| visit.0).tumbling(Span::microseconds(10), |visit| visit.2);
            windows.from(0).bound(Bound::keys(1)).count().reveal(run, "visits");
        },
        // All records are of another time.
        |visits, run| {
            let windows = visits.protect(|visit| visit.0).tumbling(Span::microseconds(10), |visit| visit.2);
            windows.between(1_000, 1_020).bound(Bound::keys(1)).count().reveal(run, "visits");
        },
    ];
    for pipeline in nothing {
        let found = in_order().check(pipeline);
        assert!(matches!(found, Err(Unbounded::NothingCompared)), "{found:?}");
    }
}

#[test]
fn a_parameter_that_is_refused_is_an_error() {
    let found = in_order().check(|visits, run| by_page(visits, 0, run));
    let Err(Unbounded::Run(error)) = found else { panic!("{found:?}") };
    assert!(error.to_string().contains("keys"), "{error}");
}

// The message names the person by number, the window, the difference and the bound.
#[test]
fn a_message_says_all_that_is_needed() {
    let visits = [(7, 0, 3), (5, 2, 12), (5, 2, 13)];
    let found = check_bounded(
        visits,
        |visit| visit.0,
        |visits: Fed<'_, Visit>, run| {
            visits
                .flat_map(|visit| [visit, (visit.0 + 100, visit.1, visit.2)])
                .protect(|visit| visit.0)
                .tumbling(Span::microseconds(10), |visit| visit.2)
                .between(0, 20)
                .bound(Bound::keys(1).per_key(1))
                .count_by(|visit| visit.1, Keys::public(0..4_u32))
                .reveal(run, "by_page");
        },
    );
    assert_eq!(
        found.unwrap_err().to_string(),
        "person 0 (1 record) moves a tally by 2 where the bound is 1 (Linf, the largest change of a cell): by_page, \
         window from 0 us until 10 us: key 0 from 2 of 2 people to 0 of 0 people"
    );
}
