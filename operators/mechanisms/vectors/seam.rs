//! What means of vectors have in common, however they are bounded.

use std::sync::Arc;

use super::found::FoundMean;
use super::mean::VectorMean;
use super::moments::Moments;
use super::rows::VectorRows;
use super::stably::StableVectors;
use crate::mechanisms::keys::Key;
use crate::mechanisms::statistic::Statistic;
use crate::mechanisms::tally::{Cells, Summary};

/// A statistic of vectors, by key.
pub trait Vectors: Statistic<Tally = Cells<Self::Key, Self::Known>> + Clone {
    /// What it is grouped by.
    type Key: Key;

    /// What must be known of a key.
    type Known: Summary + Clone;

    /// The only keys that it is told for, where they are public.
    fn listed(&self) -> Option<Arc<[Self::Key]>>;

    /// Adds what one person left in a key, as much of it as counts.
    fn add<V: AsRef<[i64]>>(&self, known: &mut Self::Known, records: &[V]);
}

macro_rules! vector_statistics {
    ($($statistic:ident: $known:ident),*) => {$(
        impl<K: Key> Vectors for $statistic<K> {
            type Key = K;
            type Known = $known;

            fn listed(&self) -> Option<Arc<[K]>> {
                $statistic::listed(self)
            }

            #[inline]
            fn add<V: AsRef<[i64]>>(&self, known: &mut $known, records: &[V]) {
                $statistic::add(self, known, records);
            }
        }
    )*};
}

vector_statistics!(VectorMean: Moments, FoundMean: VectorRows, StableVectors: VectorRows);
