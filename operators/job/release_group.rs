//! The records of a job: what all its releases read of a line, and groups of releases that share one exchange and one
//! table of people, which are those with the same windows and the same bound.

use super::questions::{AskPlan, AskedField};
use super::release_plan::ReleasePlan;
use super::sources::{KeyField, NumberField};
use crate::dataflow::Schedule;
use crate::mechanisms::Bound;

/// The fields of a job that hold keys and values.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ReleaseFields {
    /// Each once.
    pub(crate) keys: Vec<KeyField>,
    /// Each once with the same digits.
    pub(crate) values: Vec<NumberField>,
}

impl ReleaseFields {
    /// Collects the fields that the releases read, and those that can be asked about.
    pub(crate) fn of(offers: &[ReleasePlan], asks: &[AskPlan]) -> ReleaseFields {
        let mut fields = ReleaseFields::default();
        for offer in offers {
            fields.keys.extend(offer.key.clone().filter(|_| fields.key(offer).is_none()));
            for value in number_fields(offer) {
                fields.want_value(value);
            }
        }
        for field in asks.iter().flat_map(|ask| &ask.fields) {
            match field {
                AskedField::Text(key) if !fields.keys.contains(key) => fields.keys.push(key.clone()),
                AskedField::Number(value) => fields.want_value(value.clone()),
                AskedField::Text(_) | AskedField::Time => {}
            }
        }
        fields
    }

    fn want_value(&mut self, value: NumberField) {
        if !self.values.contains(&value) {
            self.values.push(value);
        }
    }

    /// Returns the index of the key of a release.
    pub(crate) fn key(&self, offer: &ReleasePlan) -> Option<usize> {
        let key = offer.key.as_ref()?;
        self.keys.iter().position(|field| field == key)
    }

    /// Returns the indices of the values of a release.
    pub(crate) fn values(&self, offer: &ReleasePlan) -> Vec<usize> {
        let place = |value| self.values.iter().position(|field| *field == value);
        number_fields(offer).filter_map(place).collect()
    }
}

fn number_fields(offer: &ReleasePlan) -> impl Iterator<Item = NumberField> {
    offer.values.iter().map(|(field, point)| NumberField { field: field.clone(), digits: point.count() })
}

/// Releases whose records are exchanged and bounded together.
#[derive(Clone, Debug)]
pub(crate) struct ReleaseGroup {
    pub(crate) schedule: Schedule,
    pub(crate) bound: Bound,
    /// The indices of the release plans in the group.
    pub(crate) plans: Vec<usize>,
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

/// Groups release plans by their windows and their bound.
pub(crate) fn group_releases(offers: &[ReleasePlan]) -> Vec<ReleaseGroup> {
    let mut groups: Vec<ReleaseGroup> = Vec::new();
    for (at, offer) in offers.iter().enumerate() {
        match groups.iter_mut().find(|group| group.schedule == offer.schedule && group.bound == offer.bound) {
            Some(group) => group.plans.push(at),
            None => {
                let (schedule, bound) = (offer.schedule.clone(), offer.bound);
                groups.push(ReleaseGroup { schedule, bound, plans: vec![at] });
            }
        }
    }
    groups
}
