//! Every parameter that an answer depends on, in one canonical form.
//!
//! It goes into the names of releases, so it is a format: whatever changes it needs another number, and gives every
//! release another name. All that was stated counts, whether or not it matters beside the rest.
//!
//! What a key is made of is not in it, for no list is at hand where keys are discovered: a closure that gives other keys
//! is other code, and needs another version of its job.

use super::bound::{ContributionBound, Range};
use super::keys::{Key, KeyChoice, Keys};
use super::laws::UncheckedNoise;
use super::point::DecimalPoint;
use super::spend::Spend;
use super::statistic::KeyedStatistic;
use crate::accounting::BudgetUnits;
use crate::canonical::{Canonical, Digest};

pub(super) fn parameters<K: Key>(
    asked: &UncheckedNoise,
    spend: Spend,
    delta: BudgetUnits,
    stated: &KeyedStatistic<'_, K>,
) -> Digest {
    let form = Canonical::new("discreet mechanism 1").text(stated.measure);
    let form = keys(limits(range(form, stated.range), stated.limits), stated.keys, delta);
    let (currency, amount) = match spend {
        Spend::Pure(epsilon) => ("epsilon", epsilon),
        Spend::Rho(rho) => ("rho", rho),
    };
    let form = form
        .text(asked.family.name())
        .text(currency)
        .bytes(&amount.to_bits().to_be_bytes())
        .bytes(&asked.confidence.to_bits().to_be_bytes())
        .number(asked.selecting.into())
        .number(asked.counting.into());
    // Numbers that are told as they are had this form before there was a choice.
    let form = match stated.point {
        DecimalPoint::WHOLE => form,
        point => form.text("point").number(point.count().into()),
    };
    match &stated.also {
        None => form.finish(),
        Some(also) => form.text("also").digest(also).finish(),
    }
}

fn range(form: Canonical, range: Option<Range>) -> Canonical {
    match range {
        None => form.text("no range"),
        Some(range) => form.text("range").number(range.low()).number(range.high()),
    }
}

fn limits(form: Canonical, limits: &ContributionBound) -> Canonical {
    let form = form
        .text(&limits.unit().to_string())
        .bytes(&limits.keys().to_be_bytes())
        .bytes(&limits.per_key().to_be_bytes());
    match limits.windows() {
        None => form.text("all windows"),
        Some(windows) => form.text("windows").bytes(&windows.to_be_bytes()),
    }
}

fn keys<K: Key>(form: Canonical, keys: &Keys<K>, delta: BudgetUnits) -> Canonical {
    match &keys.0 {
        KeyChoice::Public(list) => {
            let form = form.text("public").bytes(&(list.len() as u64).to_be_bytes());
            list.iter().fold(form, |form, key| form.bytes(&key.to_bytes()))
        }
        KeyChoice::Discover { most, .. } => {
            form.text("discover").bytes(&delta.to_bits().to_be_bytes()).bytes(&(*most as u64).to_be_bytes())
        }
    }
}

#[cfg(test)]
mod tests;
