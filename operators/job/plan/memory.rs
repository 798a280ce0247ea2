//! The memory held for each person and key, from the sizes in [`bounding`](crate::dataflow::bounding), which
//! `tests` measures on a table.

use smallvec::SmallVec;

use super::PlannedMemory;
use crate::dataflow::Schedule;
use crate::job::config::{Every, Job, Protected, ReleaseSpec, StatisticSpec};
use crate::job::offer::CellKey;

/// The size of a person's identity, as the sources hold it.
pub(super) const PERSON: u64 = 32;
/// The size of the offset of a person's entries.
const PLACE: u64 = 8;
/// The size of a key with a number of records.
const COUNTED: u64 = 8;
/// The size of a key with a sum of 128 bits.
const SUMMED: u64 = 48;
/// The size of a key with one value, and the hash that decides whether it is kept.
const KEPT: u64 = 32;
/// The size of the record of a person who has contributed to keys that are added up: the person, and the
/// first key with its amount.
const BROUGHT: u64 = PERSON + size_of::<SmallVec<[(CellKey, u64); 1]>>() as u64;
/// The size of each key with its amount, if a person has several.
const BROUGHT_TO: u64 = size_of::<(CellKey, u64)>() as u64;
/// The size of a value among the largest of a key, of which up to twice as many are held as are needed.
const LISTED: u64 = 8;

pub(super) fn planned_memory(
    job: &Job,
    release: &ReleaseSpec,
    (schedule, largest): (&Schedule, Option<usize>),
) -> PlannedMemory {
    let person = matches!(job.privacy.privacy_unit, Protected::Person { .. });
    let most = u64::from(release.bound.keys.unwrap_or(1));
    // The keys of a window that count depend on former windows: until the window closes, any of them may.
    let keys = if release.running.is_some() { 1 } else { most };
    let records = u64::from(release.bound.per_key.unwrap_or(1));
    let held = match (&release.statistic, &job.source.id) {
        // A record that may be a duplicate is held until it is known not to be one.
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

/// Returns the most windows that have begun and are not closed, if records arrive in real time.
fn open(job: &Job, release: &ReleaseSpec, schedule: &Schedule) -> Option<u64> {
    if release.every == Every::All {
        return Some(1);
    }
    let (first, second) = (schedule.window(0)?, schedule.window(1));
    let Some(second) = second else { return Some(1) };
    let late = job.source.late.map_or(0, |late| late.as_microseconds());
    let step = (second.start() - first.start()).max(1);
    // The windows that contain one moment, and those that ended and still take records.
    let open = (first.end() - first.start()).saturating_add(late).saturating_add(step - 1) / step;
    Some(open.unsigned_abs())
}
