//! Exact values beside a plain computation, on 1, 2 and 4 workers, and the windows of scripted inputs.

use std::collections::{BTreeMap, BTreeSet};

use discreet::dataflow::revealed::ExactRun;
use discreet::dataflow::{FailureKind, Fed};
use discreet::gate::SkipReason;
use discreet::mechanisms::{Bound, Grid, Keys};
use discreet::time::Span;

use super::{HORIZON, Visit, visits};
use crate::{ExactTally, ExactValue, Script, exact, exact_of_parts};

/// Every statistic, of everything that each reader did.
fn unbounded(visits: Fed<'_, Visit>, run: &ExactRun) {
    let people = visits
        .protect(|visit| visit.0)
        .tumbling(Span::microseconds(10), |visit| visit.2)
        .between(0, HORIZON)
        .bound(Bound::keys(10).per_key(100));
    let (page, value, pages) = (|visit: &Visit| visit.1, |visit: &Visit| visit.2, || Keys::public(0..5_u32));
    people.clone().count_by(page, pages()).reveal(run, "count");
    people.clone().people_by(page, pages()).reveal(run, "people");
    people.clone().sum_by(page, pages(), value, 0..=10_000).reveal(run, "sum");
    people.clone().mean_by(page, pages(), value, 0..=35).reveal(run, "mean");
    people.clone().max_by(page, pages(), value, Grid::log()).reveal(run, "max");
    people.quantile_by(page, pages(), value, [0.5], Grid::linear(0, 40, 1)).reveal(run, "median");
}

/// The values of a statistic, by window and page.
fn values(tallies: &[ExactTally], name: &str) -> Vec<ExactValue> {
    let tally = tallies.iter().find(|tally| tally.name() == name).unwrap();
    let windows = tally.windows().iter();
    windows.flat_map(|window| (0..5_u32).map(|page| window.cell(&page).unwrap().value.clone())).collect()
}

/// The same by a plain loop, which a function makes of the visits of a window and a page.
fn plain(of: impl Fn(&[Visit]) -> ExactValue) -> Vec<ExactValue> {
    let cell = |start: i64, page: u32| {
        let own: Vec<Visit> =
            visits().into_iter().filter(|visit| visit.2 / 10 == start && visit.1 == page).collect();
        of(&own)
    };
    (0..HORIZON / 10)
        .flat_map(|start| (0..5).map(move |page| (start, page)))
        .map(|(s, p)| cell(s, p))
        .collect()
}

#[test]
fn exact_values_are_those_of_a_plain_computation() {
    let expected = [
        ("count", plain(|own| ExactValue::Number(own.len() as i128))),
        ("people", {
            plain(|own| {
                ExactValue::Number(own.iter().map(|visit| visit.0).collect::<BTreeSet<_>>().len() as i128)
            })
        }),
        ("sum", plain(|own| ExactValue::Number(own.iter().map(|visit| i128::from(visit.2)).sum()))),
        ("max", {
            plain(|own| {
                let mut greatest = BTreeMap::new();
                for visit in own {
                    let own = greatest.entry(visit.0).or_insert(visit.2);
                    *own = visit.2.max(*own);
                }
                let mut values: Vec<i64> = greatest.into_values().collect();
                values.sort_unstable();
                ExactValue::Values(values)
            })
        }),
        ("median", {
            plain(|own| {
                let mut values: Vec<i64> = own.iter().map(|visit| visit.2).collect();
                values.sort_unstable();
                ExactValue::Values(values)
            })
        }),
    ];
    for workers in [1, 2, 4] {
        for order in 0..3 {
            let tallies = exact_of_parts(Script::from(visits()).dealt(workers, order), unbounded).unwrap();
            for (name, expected) in &expected {
                assert_eq!(&values(&tallies, name), expected, "{name} on {workers} workers, order {order}");
            }
            // Values are clipped to the range.
            let mean = values(&tallies, "mean").into_iter().map(|value| match value {
                ExactValue::Mean { sum, records } => (sum, records),
                other => panic!("{other:?}"),
            });
            let clipped = plain(|own| ExactValue::Number(own.iter().map(|v| i128::from(v.2.min(35))).sum()));
            for ((sum, records), (clipped, count)) in mean.zip(clipped.iter().zip(&expected[0].1)) {
                assert_eq!(ExactValue::Number(sum), *clipped);
                assert_eq!(ExactValue::Number(records.into()), *count);
            }
        }
    }
}

// Refutes a bound that is not enforced, and one that leaves out more than it must.
#[test]
fn what_is_kept_of_a_person_is_the_bound() {
    let pipeline = |visits: Fed<'_, Visit>, run: &ExactRun| {
        visits
            .protect(|visit| visit.0)
            .whole(0, HORIZON, |visit| visit.2)
            .bound(Bound::keys(1).per_key(2))
            .count_by(|visit| visit.1, Keys::public(0..4_u32))
            .reveal(run, "bounded");
    };
    for workers in [1, 2, 4] {
        let tallies = exact_of_parts(Script::from(visits()).dealt(workers, 1), pipeline).unwrap();
        let window = &tallies[0].windows()[0];
        let people: u64 = window.cells().iter().map(|(_, cell)| cell.people).sum();
        assert_eq!(people, 6, "each reader in one page");
        let visits: Option<i128> = (0..4_u32).map(|page| window.number(&page)).sum();
        assert!((7..=12).contains(&visits.unwrap()), "{visits:?}");
        assert_eq!(tallies[0].sensitivity().l1(), 2);
        assert_eq!(window.number(&77_u32), Some(0));
    }
}

fn count(visits: Fed<'_, Visit>, run: &ExactRun) {
    visits
        .protect(|visit| visit.0)
        .tumbling(Span::microseconds(10), |visit| visit.2)
        .between(0, HORIZON)
        .late(Span::microseconds(2))
        .bound(Bound::keys(1).per_key(100))
        .count()
        .reveal(run, "visits");
}

/// The counts of the windows, and the reasons for which they are skipped.
fn counts(script: Script<Visit>) -> Vec<Result<i128, SkipReason>> {
    let tallies = exact(script, count).unwrap();
    let windows = tallies[0].windows().iter();
    windows.map(|window| window.number(&()).ok_or_else(|| window.skipped().unwrap())).collect()
}

// The third visit comes when its window, and its lateness, are declared complete; the fourth just before.
#[test]
fn late_records_and_gaps_are_those_of_the_script() {
    let script = Script::of([(1, 0, 3)]).complete(12).records([(2, 0, 3), (3, 0, 12)]).complete(21);
    let script = script.silence().records([(4, 0, 15)]).gap(33, 35).records([(5, 0, 32)]);
    assert_eq!(counts(script), [Ok(1), Ok(2), Ok(0), Err(SkipReason::InputGap)]);
    assert_eq!(counts(Script::new()), [Ok(0); 4]);
}

#[test]
fn windows_of_a_schedule_without_an_end_are_those_that_are_declared() {
    let script = Script::of([(1_u64, 5_i64), (2, 25)]).complete(20).records([(3, 12)]);
    let tallies = exact(script, |visits, run| {
        let people = visits.protect(|visit| visit.0).tumbling(Span::microseconds(10), |visit| visit.1);
        people.from(0).bound(Bound::keys(1)).count().reveal(run, "visits");
    });
    let tallies = tallies.unwrap();
    let numbers: Vec<_> = tallies[0].windows().iter().map(|window| window.number(&())).collect();
    assert_eq!(numbers, [Some(1), Some(0)]);
}

#[test]
fn a_lost_source_ends_the_run() {
    let lost = exact(Script::of([(1, 0, 3)]).complete(15).lost("the far side"), count).unwrap_err();
    assert_eq!(lost.kind(), FailureKind::Gone);
    assert!(lost.to_string().contains("the far side"), "{lost}");
    let wrong = exact(Script::of([(1, 0, 3)]).complete("on Monday"), count).unwrap_err();
    assert_eq!(wrong.kind(), FailureKind::Refused);
    assert!(wrong.to_string().contains("time"), "{wrong}");
}

#[test]
fn moments_are_read_as_pipelines_read_them() {
    let script = Script::of([(1_u64, discreet::time::at("2026-11-01T12:30:00Z").unwrap())]);
    let tallies = exact(script.complete("2026-11-01T14:00:00Z"), |visits, run| {
        let people = visits.protect(|visit| visit.0).tumbling(discreet::time::hours(1), |visit| visit.1);
        people.from("2026-11-01T12:00:00Z").bound(Bound::keys(1)).people().reveal(run, "people");
    });
    let tallies = tallies.unwrap();
    let numbers: Vec<_> = tallies[0].windows().iter().map(|window| window.number(&())).collect();
    assert_eq!(numbers, [Some(1), Some(0)]);
}

// Refutes a cell of a running total that is the total so far.
#[test]
fn a_running_total_is_revealed_as_what_each_window_adds() {
    let tallies = exact([(1_u64, 5_i64), (1, 15), (2, 15)], |visits, run| {
        let people = visits.protect(|visit| visit.0).tumbling(Span::microseconds(10), |visit| visit.1);
        people.between(0, 30).bound(Bound::keys(1)).people().running_for(2).reveal(run, "people");
    });
    let tallies = tallies.unwrap();
    let tally = &tallies[0];
    let numbers: Vec<_> = tally.windows().iter().map(|window| window.number(&())).collect();
    assert_eq!(numbers, [Some(1), Some(1), None]);
    assert!(tally.is_of_all_windows() && !tally.discovers_keys());
    assert_eq!(tally.windows()[2].skipped(), Some(SkipReason::Late));
}
