//! Pipelines that keep to their bounds: none is refused.

use discreet::dataflow::Fed;
use discreet::dataflow::revealed::ExactRun;
use discreet::mechanisms::{Bound, Edges, Grid, Keys, PerPerson};
use discreet::time::Span;

use super::{HORIZON, Visit, declared, visits};
use crate::{Neighbours, Script, assert_bounded};

/// All statistics of one pipeline, by page and of everything.
fn every_statistic(visits: Fed<'_, Visit>, run: &ExactRun) {
    let people = visits
        .filter(|visit| visit.1 != 3)
        .map(|(reader, page, time)| (reader, page / 2, time))
        .protect(|visit| visit.0)
        .tumbling(Span::microseconds(10), |visit| visit.2)
        .between(0, HORIZON)
        .late(Span::microseconds(3))
        .bound(Bound::keys(1).per_key(2));
    let (page, value) = (|visit: &Visit| visit.1, |visit: &Visit| visit.2 - 20);
    let pages = || Keys::public(0..2_u32);
    people.clone().count_by(page, pages()).reveal(run, "count");
    people.clone().count_by(page, Keys::discover(1e-6)).reveal(run, "discovered");
    people.clone().people_by(page, pages()).reveal(run, "people");
    people.clone().sum_by(page, pages(), value, -8..=5).reveal(run, "sum");
    people.clone().mean_by(page, pages(), value, -8..=5).reveal(run, "mean");
    people.clone().histogram_by(value, Edges::new([-10, 0, 10])).reveal(run, "histogram");
    people.clone().max_by(page, pages(), value, Grid::log()).reveal(run, "max");
    people.clone().quantile_by(page, pages(), value, [0.5], Grid::linear(-20, 20, 1)).reveal(run, "median");
    let records = (PerPerson::Records, value);
    people
        .clone()
        .quantile_of_people_by(page, pages(), records, [0.5], Grid::linear(0, 9, 1))
        .reveal(run, "records");
    people.clone().count_by(page, pages()).running().reveal(run, "so_far");
    people.clone().sum_by(page, pages(), value, -8..=5).over_last(2).reveal(run, "lately");
    people.clone().people_by(page, pages()).people_of_last(2, 1).reveal(run, "present");
    people.people().reveal(run, "readers");
}

#[test]
fn every_statistic_passes() {
    assert_bounded(declared(), |visit| visit.0, every_statistic);
}

#[test]
fn every_statistic_passes_in_other_orders_and_without_chosen_persons() {
    let chosen = Neighbours::by_persons(visits(), |visit| visit.0, [0, 4]);
    chosen.workers([3]).orders(5).check(every_statistic).unwrap();
}

/// Checks a pipeline in fewer ways than by default: the others are those of every statistic above.
fn passes<F>(script: impl Into<Script<Visit>>, pipeline: F)
where
    F: for<'scope> Fn(Fed<'scope, Visit>, &ExactRun) + Send + Sync + 'static,
{
    let neighbours = Neighbours::by_person(script, |visit| visit.0).workers([2]).orders(2);
    neighbours.check(pipeline).unwrap();
}

#[test]
fn windows_that_overlap_or_are_bounded_pass() {
    passes(declared(), |visits, run| {
        let people = visits.protect(|visit| visit.0);
        people
            .sliding(Span::microseconds(20), Span::microseconds(5), |visit| visit.2)
            .between(0, HORIZON)
            .bound(Bound::keys(2).per_key(3))
            .count_by(|visit| visit.1, Keys::public(0..4_u32))
            .reveal(run, "sliding");
    });
    passes(visits(), |visits, run| {
        visits
            .protect(|visit| visit.0)
            .tumbling(Span::microseconds(10), |visit| visit.2)
            .between(0, HORIZON)
            .bound(Bound::keys(2).windows(2))
            .people_by(|visit| visit.1, Keys::public(0..4_u32))
            .reveal(run, "in_two_windows");
    });
}

// Duplicates of an id are equal.
#[test]
fn records_with_an_id_and_collections_pass() {
    let twice: Vec<Visit> = visits().into_iter().chain(visits()).collect();
    passes(twice.clone(), |visits, run| {
        visits
            .protect(|visit| visit.0)
            .identified_by(|visit| (u64::from(visit.1), visit.2))
            .tumbling(Span::microseconds(10), |visit| visit.2)
            .between(0, HORIZON)
            .bound(Bound::keys(2).per_key(2))
            .count_by(|visit| visit.1, Keys::public(0..4_u32))
            .reveal(run, "distinct");
    });
    passes(twice, |visits, run| {
        visits
            .map(|visit| (visit, 1))
            .collection(|visits| visits.distinct())
            .protect_collection(|visit| visit.0)
            .tumbling(Span::microseconds(10), |visit| visit.2)
            .between(0, HORIZON)
            .bound(Bound::keys(2).per_key(2))
            .count_by(|visit| visit.1, Keys::public(0..4_u32))
            .reveal(run, "distinct");
    });
}

// A record is left out with its duplicates.
#[test]
fn records_with_an_id_pass_where_each_is_protected() {
    let numbered: Vec<(usize, Visit)> = visits().into_iter().take(30).enumerate().collect();
    let twice: Vec<(usize, Visit)> = [&numbered[..], &numbered[20..]].concat();
    Neighbours::by_person(twice, |(number, _)| *number)
        .workers([2])
        .orders(2)
        .check(|visits, run| {
            visits
                .protect_each()
                .identified_by(|(number, _)| *number as u64)
                .tumbling(Span::microseconds(10), |(_, visit)| visit.2)
                .between(0, HORIZON)
                .one_by_one()
                .count_by(|(_, visit)| visit.1, Keys::public(0..4_u32))
                .reveal(run, "visits");
        })
        .unwrap();
}
