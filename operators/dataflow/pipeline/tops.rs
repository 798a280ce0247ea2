//! The stage of the most frequent keys.

use super::aggregation::{GroupingKey, KeyedAggregation, SummedMeasure};
use super::tallied::Tallied;
use super::unit::ProtectedUnit;
use crate::mechanisms::{TopKeys, Total};

/// The keys with the largest counts.
pub type Picking<K, M> = KeyedAggregation<TopKeys<K>, M>;

/// A count by listed keys, of which the keys with the largest numbers are released, and no number.
impl<'scope, D, U: ProtectedUnit<D>, T, K: GroupingKey, M: SummedMeasure + 'static, G, V>
    Tallied<'scope, D, U, T, KeyedAggregation<Total<K>, M>, G, V>
{
    /// The keys with the largest numbers of each window, this many of them, in order.
    ///
    /// A window costs what the mechanism says, however many keys there are, and in however many of them a person is: with
    /// [`Bound::keys`](crate::mechanisms::Bound::keys) of as many as are listed, nobody's records are left out.
    ///
    /// The run is refused where there are fewer keys, for sums, and where keys are discovered.
    ///
    /// ```no_run
    /// # use discreet::mechanisms::{Exponential, Keys};
    /// # use discreet::prelude::*;
    /// # fn pipeline(visits: discreet::dataflow::Fed<'_, (u64, i64, u32)>, gate: &Gate) {
    /// visits
    ///     .protect(|visit| visit.0)
    ///     .tumbling(days(1), |visit| visit.1)
    ///     .from("2026-01-01")
    ///     .bound(Bound::keys(1000))
    ///     .people_by(|visit| visit.2, Keys::public(0..1000))
    ///     .top(10)
    ///     .release(gate, "popular_pages", Exponential::rho(0.01));
    /// # }
    /// ```
    pub fn top(self, picks: u64) -> Tallied<'scope, D, U, T, Picking<K, M>, G, V> {
        self.asked(|KeyedAggregation { statistic, measure }| {
            Ok(KeyedAggregation { statistic: TopKeys::new(statistic, picks)?, measure })
        })
    }
}
