//! What is held of a person: sizes of [`bounding`](crate::dataflow::bounding), which `tests` measures on a table.

use smallvec::SmallVec;

use super::PlannedMemory;
use crate::dataflow::Schedule;
use crate::job::config::{Every, Job, Protected, ReleaseSpec, StatisticSpec};
use crate::job::offer::CellKey;

/// A person's identity, as the sources hold it.
pub(super) const PERSON: u64 = 32;
/// Where what is held of a person begins.
const PLACE: u64 = 8;
/// A key with a number of records.
const COUNTED: u64 = 8;
/// A key with a sum of 128 bits.
const SUMMED: u64 = 48;
/// A key with one value, and the hash that decides whether it is kept.
const KEPT: u64 = 32;
/// What is remembered of who has brought something to keys that are added up: a person, and the first key with its amount.
const BROUGHT: u64 = PERSON + size_of::<SmallVec<[(CellKey, u64); 1]>>() as u64;
/// Each key of several.
const BROUGHT_TO: u64 = size_of::<(CellKey, u64)>() as u64;
/// A value among the largest of a key, of which there are up to twice as many as must be known.
const LISTED: u64 = 8;

pub(super) fn planned_memory(
    job: &Job,
    release: &ReleaseSpec,
    (schedule, largest): (&Schedule, Option<usize>),
) -> PlannedMemory {
    let person = matches!(job.privacy.protected, Protected::Person { .. });
    let most = u64::from(release.bound.keys.unwrap_or(1));
    // Which keys of a window count is a matter of former windows: until it closes, any of them may.
    let keys = if release.running.is_some() { 1 } else { most };
    let records = u64::from(release.bound.per_key.unwrap_or(1));
    let held = match (&release.statistic, &job.source.id) {
        // What may come twice is held until it is known that it did not.
        (_, Some(_)) => keys.saturating_mul(records).saturating_mul(KEPT + PERSON),
        (StatisticSpec::Mean(..) | StatisticSpec::Quantile(..), None) => {
            keys.saturating_mul(records).saturating_mul(KEPT)
        }
        (StatisticSpec::Sum(..) | StatisticSpec::Max { .. }, None) => keys.saturating_mul(SUMMED),
        _ => keys.saturating_mul(COUNTED),
    };
    let runs = person && release.running.is_some();
    let by_key = release.statistic.grouping().is_some()
        || matches!(release.statistic, StatisticSpec::Histogram { .. });
    let a_person = match person {
        true if runs && by_key => PERSON + PLACE,
        true => PERSON + PLACE + held,
        false => 0,
    };
    let for_ever = match runs {
        true => {
            let keys = if most > 1 { most.saturating_mul(BROUGHT_TO) } else { 0 };
            Some(BROUGHT.saturating_add(keys) / 2 * 3)
        }
        false => release.bound.windows.map(|_| (PERSON + 4) * 3 / 2),
    };
    let a_key = largest.map(|people| (people as u64).saturating_mul(2 * LISTED));
    let a_key_of_a_person = (runs && by_key).then_some(held);
    PlannedMemory { a_person, a_key, windows_open: open(job, release, schedule), a_key_of_a_person, for_ever }
}

/// Windows that have begun and are not closed, at most, when records come as they happen.
fn open(job: &Job, release: &ReleaseSpec, schedule: &Schedule) -> Option<u64> {
    if release.every == Every::All {
        return Some(1);
    }
    let (first, second) = (schedule.window(0)?, schedule.window(1));
    let Some(second) = second else { return Some(1) };
    let late = job.source.late.map_or(0, |late| late.as_microseconds());
    let step = (second.start() - first.start()).max(1);
    // Those that hold a moment, and those that ended and still take records.
    let open = (first.end() - first.start()).saturating_add(late).saturating_add(step - 1) / step;
    Some(open.unsigned_abs())
}
