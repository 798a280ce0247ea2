//! A release against the tables that it is released under: its contribution bound, its noise and its keys.

use super::Tables;
use crate::accounting::Omega;
use crate::job::MistakeKind;
use crate::job::config::every;
use crate::job::config::mistake::{MistakeDetail, listed};
use crate::job::config::node::ConfigNode;
use crate::job::config::privacy::Protected;
use crate::job::config::release::{PriceSpec, ReleaseSpec};
use crate::job::config::source::{SourcePlace, SourceSpec};
use crate::job::statistics::{ContributionKind, KeysSpec, NoiseKind};

/// Checks a release.
pub(super) fn check(node: &ConfigNode<'_>, release: &ReleaseSpec, tables: &Tables<'_>) {
    bound(node, release, &tables.privacy.privacy_unit);
    check_noise(node, release, tables);
    keys(node, release, tables.source);
    least_people(node, release, &tables.privacy.privacy_unit);
}

/// Refuses a least number of people where no window finds keys by its people.
fn least_people(node: &ConfigNode<'_>, release: &ReleaseSpec, protected: &Protected) {
    if release.least_people.is_none() {
        return;
    }
    let place = node.descendant(&["least_people"]);
    if !release.selects_partitions() {
        let found = "a least number of people of keys that are not discovered";
        place.conflict::<()>(found, "keys = \"discover\", or leave it out: other keys are public");
    } else if release.running.is_some() {
        let remedy = "no least_people: those of a running total come to a key over many windows";
        place.conflict::<()>("a least number of people beside running = true", remedy);
    } else if *protected == Protected::Record {
        let remedy = "privacy.person, or leave it out: of records it is not known how many people they are";
        place.conflict::<()>("a least number of people beside unit = \"record\"", remedy);
    }
}

/// Refuses a contribution bound that is not stated although it could be more than 1.
fn bound(node: &ConfigNode<'_>, release: &ReleaseSpec, protected: &Protected) {
    let person = matches!(protected, Protected::Person { .. });
    let place = node.descendant(&["bound"]);
    let statistic = release.statistic.as_statistic();
    let (many_keys, contribution) = (statistic.is_keyed(), statistic.contribution());
    let one_value = contribution == ContributionKind::OneValue;
    let many_records = contribution.has_records();
    // Beside a weight, and for an alert, a person counts in all keys that are listed.
    let weighs = release.bound.weight.is_some() && !release.selects_partitions();
    let in_all = weighs || statistic.counts_in_all_keys();
    // If windows are added up, a person's contribution is bounded over all of them together.
    let of_all = release.running.is_some();
    let of = if of_all { ", over all windows together" } else { "" };
    // A person's sum is clipped to its range, whatever the number of records.
    let unclipped = contribution == ContributionKind::Records;
    let counts = [
        (
            "keys",
            release.bound.keys,
            person && many_keys,
            person && many_keys && !in_all,
            if of_all {
                "how many keys a person counts in"
            } else {
                "how many keys of a window a person counts in"
            },
        ),
        (
            "per_key",
            release.bound.per_key,
            person && many_records,
            person && unclipped,
            "how many records a person counts with in each key",
        ),
    ];
    for (name, found, may_be_many, required, what) in counts {
        match found {
            None if required => {
                let remedy = format!("bound = {{ {name} = .. }}: {what}{of}");
                place.record_mistake::<()>(MistakeDetail::new(
                    MistakeKind::Missing,
                    format!("no bound of {name}"),
                    remedy,
                ));
            }
            Some(_) if one_value && name == "per_key" => {
                let remedy = "no per_key: a person is one value, of all its records";
                place
                    .descendant(&[name])
                    .conflict::<()>("records a key beside one value of a person", remedy);
            }
            Some(2..) if !may_be_many => {
                let remedy = "1, or nothing: there is no second one";
                place.descendant(&[name]).conflict::<()>("more than there can be", remedy);
            }
            _ => {}
        }
    }
    bound_of_entries(node, release, person);
    weight(node, release, person);
    // Every mechanism refuses sensitivities above 2^40.
    let most = u64::from(release.bound.keys.or(release.bound.weight).unwrap_or(1))
        .saturating_mul(release.bound.per_key.unwrap_or(1).into());
    if most > 1 << 40 {
        place.conflict::<()>("keys times per_key above 2^40", "a smaller bound");
    }
}

/// Refuses a weight where nobody can count in part, and one that leaves everybody whole.
fn weight(node: &ConfigNode<'_>, release: &ReleaseSpec, person: bool) {
    let Some(weight) = release.bound.weight else { return };
    let place = node.descendant(&["bound", "weight"]);
    if !person || !release.can_be_weighted() {
        let remedy = "no weight: it is for people of counts, sums, means and histograms by keys, without running and rollup";
        place.conflict::<()>("a weight where nobody counts in part", remedy);
    } else if release.bound.keys.is_some_and(|keys| keys <= weight) {
        let remedy = "keys above the weight: in how many keys a person counts, wholly or in part";
        place.conflict::<()>("a weight of all keys of a person", remedy);
    }
}

/// Refuses people over the last windows that are not bounded by their entries, and entries of anything else.
fn bound_of_entries(node: &ConfigNode<'_>, release: &ReleaseSpec, person: bool) {
    let place = node.descendant(&["bound"]);
    match (release.is_of_present_people(), release.bound.entries) {
        (true, _) if !person => {
            let remedy = "count: a record is in one window, and people are not known";
            node.descendant(&["over"])
                .conflict::<()>("people over the last windows beside unit = \"record\"", remedy);
        }
        (true, None) => {
            let remedy = "bound = { entries = .. }: how many times a person enters each key, by coming again after the \
                          windows of `over` without a record, over all windows together";
            place.record_mistake::<()>(MistakeDetail::new(
                MistakeKind::Missing,
                "no bound of entries",
                remedy,
            ));
        }
        (false, Some(_)) => {
            let remedy = "no entries: they bound people over the last windows, with over and running = true";
            place.descendant(&["entries"]).conflict::<()>("entries where nobody leaves", remedy);
        }
        _ => {}
    }
}

/// Refuses a noise distribution that the statistic does not have, and noise, partition selection or a cost
/// that the currencies of the budget cannot pay for.
fn check_noise(node: &ConfigNode<'_>, release: &ReleaseSpec, tables: &Tables<'_>) {
    let budget = &tables.privacy.budget;
    let pure = budget.is_pure();
    let runs = release.running.is_some();
    if runs && !every::check_noise(node, release, pure) {
        return;
    }
    let kinds = release.statistic.as_statistic().noise_kinds();
    if !kinds.contains(&release.noise) {
        let words: Vec<&str> = kinds.iter().map(|kind| kind.word()).collect();
        let found =
            format!("{} noise, which {} does not have", release.noise.word(), release.statistic.word());
        node.descendant(&["noise"]).conflict::<()>(found, listed(&words));
        return;
    }
    if release.noise == NoiseKind::Gaussian && pure {
        let remedy = "\"laplace\", or a budget of rho, or of epsilon and delta";
        node.descendant(&["noise"]).conflict::<()>("Gaussian noise under a pure budget", remedy);
    }
    let discovers = release.selects_partitions();
    if discovers && budget.delta.is_none() {
        let found = "keys to discover under a budget without a delta";
        let remedy = "a list of keys, { file = .. }, or a budget of epsilon and delta";
        node.descendant(&[release.statistic.word(), "keys"]).conflict::<()>(found, remedy);
    }
    let has_delta = release.statistic.as_statistic().has_delta();
    if has_delta && (budget.delta.is_none() || budget.omega == Omega::EVERY) {
        let lacks = if budget.delta.is_none() { "a delta" } else { "an omega" };
        let remedy = "epsilon, delta and an omega, such as 20, in privacy.budget: a stable mean has no cost of every Rényi \
                      order, and a delta of its own";
        let place = node.descendant(&[release.statistic.word()]);
        place.conflict::<()>(format!("a stable mean under a budget without {lacks}"), remedy);
    }
    let PriceSpec::Cost(cost) = &release.price else { return };
    match (discovers || has_delta, &cost.delta) {
        (true, None) => {
            let remedy = match has_delta {
                true => "the field delta beside it: what the test of a stable mean costs",
                false => "the field delta beside it: what discovering keys costs",
            };
            node.descendant(&["cost"]).record_mistake::<()>(MistakeDetail::new(
                MistakeKind::Missing,
                "no delta",
                remedy,
            ));
        }
        (false, Some(_)) => {
            let remedy = "no delta: it pays for discovering keys and for stable means alone";
            node.descendant(&["cost", "delta"]).conflict::<()>("a delta for nothing", remedy);
        }
        _ => {}
    }
    if release.noise == NoiseKind::Gaussian && cost.epsilon.is_some() {
        let remedy = if runs { "rho" } else { "rho, or noise = \"laplace\"" };
        node.descendant(&["cost", "epsilon"]).conflict::<()>("pure epsilon for Gaussian noise", remedy);
    }
}

/// Refuses a file of keys that is the file of the records: a list of keys is public; the records are not.
fn keys(node: &ConfigNode<'_>, release: &ReleaseSpec, source: &SourceSpec) {
    let Some(KeysSpec::File(keys)) = release.statistic.grouping().map(|grouping| &grouping.keys) else {
        return;
    };
    if matches!(source.records.place(), Some(SourcePlace::Files(path)) if path == keys) {
        let found = "the file of the records";
        node.descendant(&[release.statistic.word(), "keys", "file"])
            .conflict::<()>(found, "a file of keys that are public");
    }
}
