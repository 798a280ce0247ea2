//! What a largest value asks of people: one number of each.

use std::sync::Arc;

use super::question::{Aggregation, GroupingKey};
use crate::dataflow::bounding::{Cap, Own};
use crate::invalid::Invalid;
use crate::mechanisms::{ContributionBound, Largest, Monotone, Summary, Tops};

/// A monotone function of what each person has, by key.
#[derive(Clone, Debug)]
pub struct Searching<K, F> {
    largest: Largest<K, F>,
    measure: Own,
    most: usize,
}

impl<K: GroupingKey, F: Monotone> Searching<K, F> {
    pub(crate) fn new(largest: Largest<K, F>) -> Searching<K, F> {
        let measure = Own(largest.each());
        Searching { largest, measure, most: usize::MAX }
    }
}

impl<K: GroupingKey, F: Monotone> Aggregation for Searching<K, F> {
    type Key = K;
    type Measure = Own;
    type Statistic = Largest<K, F>;
    type Total = Tops;

    #[inline]
    fn measure(&self) -> &Own {
        &self.measure
    }

    fn statistic(&self) -> &Largest<K, F> {
        &self.largest
    }

    fn listed(&self) -> Option<Arc<[K]>> {
        self.largest.listed()
    }

    /// A person is one number, of all that they left in a key.
    fn cap(&self, limits: &ContributionBound) -> Result<Cap, Invalid> {
        Cap::new(limits.keys(), 1 << 31)
    }

    fn of_the_largest(self, people: usize) -> Self {
        Searching { most: people, ..self }
    }

    #[inline]
    fn add(&self, total: &mut Tops, own: i128) {
        total.add(self.largest.contribution(own), self.most);
    }

    fn join(&self, ours: &mut Tops, theirs: &Tops) {
        ours.join(theirs.clone());
    }

    fn part(key: K, mut total: Tops) -> (K, Tops) {
        total.cut();
        (key, total)
    }
}
