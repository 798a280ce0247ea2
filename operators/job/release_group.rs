//! Groups of releases that share one exchange and one table of people: releases with the same windows and the same
//! bound, which need no second key field and no second value field.

use super::release_plan::ReleasePlan;
use super::sources::{Group, NumberField};
use crate::dataflow::Schedule;
use crate::mechanisms::{Bound, DecimalPoint};

/// Releases whose records are exchanged and bounded together.
#[derive(Clone, Debug)]
pub(crate) struct ReleaseGroup {
    pub(crate) schedule: Schedule,
    pub(crate) bound: Bound,
    key: Option<String>,
    value: Option<(String, DecimalPoint)>,
    /// The indices of the release plans in the group.
    pub(crate) plans: Vec<usize>,
}

impl ReleaseGroup {
    fn can_share(&self, offer: &ReleasePlan) -> bool {
        fn alike<T: PartialEq>(one: &Option<T>, other: &Option<T>) -> bool {
            one.is_none() || other.is_none() || one == other
        }
        self.schedule == offer.schedule
            && self.bound == offer.bound
            && alike(&self.key, &offer.key)
            && alike(&self.value, &offer.value)
    }

    /// Returns the fields that the source reads of a line for the group.
    pub(crate) fn source_fields(&self) -> Group {
        let value = self.value.as_ref();
        Group {
            key: self.key.clone(),
            value: value.map(|(field, point)| NumberField { field: field.clone(), digits: point.count() }),
        }
    }
}

/// Returns true if two releases of one group keep the same keys of each person: they group by the same keys, and count
/// over the same windows. Buckets are keys of one release alone.
pub(crate) fn share_keys(one: &ReleasePlan, other: &ReleasePlan) -> bool {
    let groups = |offer: &ReleasePlan| {
        let statistic = offer.statistic.as_statistic();
        (statistic.grouping().is_some() || !statistic.is_keyed())
            .then(|| (offer.key.clone(), offer.keys.listed(), offer.running.is_some()))
    };
    groups(one).is_some_and(|own| Some(own) == groups(other))
}

/// Groups release plans, each with the first earlier group that accepts it.
pub(crate) fn group_releases(offers: &[ReleasePlan]) -> Vec<ReleaseGroup> {
    let mut bundles: Vec<ReleaseGroup> = Vec::new();
    for (at, offer) in offers.iter().enumerate() {
        match bundles.iter_mut().find(|bundle| bundle.can_share(offer)) {
            Some(bundle) => {
                bundle.key = bundle.key.take().or_else(|| offer.key.clone());
                bundle.value = bundle.value.take().or_else(|| offer.value.clone());
                bundle.plans.push(at);
            }
            None => bundles.push(ReleaseGroup {
                schedule: offer.schedule.clone(),
                bound: offer.bound,
                key: offer.key.clone(),
                value: offer.value.clone(),
                plans: vec![at],
            }),
        }
    }
    bundles
}
