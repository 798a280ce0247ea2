//! Which releases share the way of a record: those with the same windows and the same bound, that read no second key and
//! no second value.

use super::offer::ReleasePlan;
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
    /// Which offers, by their place.
    pub(crate) offers: Vec<usize>,
}

impl ReleaseGroup {
    fn takes(&self, offer: &ReleasePlan) -> bool {
        fn alike<T: PartialEq>(one: &Option<T>, other: &Option<T>) -> bool {
            one.is_none() || other.is_none() || one == other
        }
        self.schedule == offer.schedule
            && self.bound == offer.bound
            && alike(&self.key, &offer.key)
            && alike(&self.value, &offer.value)
    }

    /// What is read of a line for it.
    pub(crate) fn group(&self) -> Group {
        let value = self.value.as_ref();
        Group {
            key: self.key.clone(),
            value: value.map(|(field, point)| NumberField { field: field.clone(), digits: point.count() }),
        }
    }
}

/// Puts offers together, each with the first others that it can share with.
pub(crate) fn bundles(offers: &[ReleasePlan]) -> Vec<ReleaseGroup> {
    let mut bundles: Vec<ReleaseGroup> = Vec::new();
    for (at, offer) in offers.iter().enumerate() {
        match bundles.iter_mut().find(|bundle| bundle.takes(offer)) {
            Some(bundle) => {
                bundle.key = bundle.key.take().or_else(|| offer.key.clone());
                bundle.value = bundle.value.take().or_else(|| offer.value.clone());
                bundle.offers.push(at);
            }
            None => bundles.push(ReleaseGroup {
                schedule: offer.schedule.clone(),
                bound: offer.bound,
                key: offer.key.clone(),
                value: offer.value.clone(),
                offers: vec![at],
            }),
        }
    }
    bundles
}
