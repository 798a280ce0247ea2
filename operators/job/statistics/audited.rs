//! The statistic of an audit: that of a release, of reserved fields and keys.

use super::{
    ContributionKind, CountSpec, GroupingSpec, HistogramSpec, MeasureSpec, PeopleSpec, StatisticSpec, SumSpec,
};
use crate::job::config::ConfigNumber;

/// The reserved keys of an audit, and the field of its values.
pub(in crate::job) struct Reserved<'r> {
    /// The grouping by reserved keys.
    pub(in crate::job) grouping: &'r GroupingSpec,
    /// The number of keys.
    pub(in crate::job) keys: usize,
    /// The field of values.
    pub(in crate::job) value: &'r str,
}

/// A statistic of reserved keys, with the value that a record of a canary has.
pub(in crate::job) struct AuditedStatistic {
    /// The statistic.
    pub(in crate::job) statistic: StatisticSpec,
    /// The value of each record.
    pub(in crate::job) value: CanaryValue,
}

/// The value of a canary's record.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::job) enum CanaryValue {
    /// None.
    None,
    /// This number.
    Stated(ConfigNumber),
    /// The number of its key.
    OfKey,
}

impl StatisticSpec {
    /// Returns the same statistic of reserved keys; `None` if its numbers are no sums with noise of their own.
    pub(in crate::job) fn audited(&self, reserved: &Reserved<'_>) -> Option<AuditedStatistic> {
        let grouping = Some(reserved.grouping.clone());
        let (statistic, value) = match self {
            StatisticSpec::Count(_) => (StatisticSpec::Count(CountSpec { grouping }), CanaryValue::None),
            StatisticSpec::People(_) => (StatisticSpec::People(PeopleSpec { grouping }), CanaryValue::None),
            StatisticSpec::Sum(SumSpec { measure, .. }) => {
                let MeasureSpec { low, high, .. } = *measure;
                let measure = MeasureSpec { of: reserved.value.to_owned(), low, high };
                let farthest = if low.size() > high.size() { low } else { high };
                (StatisticSpec::Sum(SumSpec { measure, grouping }), CanaryValue::Stated(farthest))
            }
            StatisticSpec::Histogram(_) => {
                let edge = |number: usize| ConfigNumber::parse(&number.to_string());
                let edges: Result<Vec<ConfigNumber>, _> = (0..=reserved.keys).map(edge).collect();
                let of = reserved.value.to_owned();
                let histogram = HistogramSpec { of, edges: edges.ok()? };
                (StatisticSpec::Histogram(histogram), CanaryValue::OfKey)
            }
            _ => return None,
        };
        Some(AuditedStatistic { statistic, value })
    }

    /// Returns the number of records of a key with which one person moves it farthest, of at most `per_key`.
    pub(in crate::job) fn records_to_move(&self, per_key: u64) -> u64 {
        match self.as_statistic().contribution() {
            ContributionKind::Records => per_key,
            ContributionKind::OneValue | ContributionKind::Presence | ContributionKind::ClampedSum { .. } => {
                1
            }
        }
    }
}
