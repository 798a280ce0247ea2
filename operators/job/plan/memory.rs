//! What is held of a person: sizes of [`bounding`](crate::dataflow::bounding), which `tests` measures on a table.

use super::Memory;
use crate::dataflow::Schedule;
use crate::job::config::{Every, Job, Protected, Release, Statistic};

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
/// A value among the largest of a key, of which there are up to twice as many as must be known.
const LISTED: u64 = 8;

pub(super) fn of(job: &Job, release: &Release, (schedule, largest): (&Schedule, Option<usize>)) -> Memory {
    let person = matches!(job.privacy.protected, Protected::Person { .. });
    let keys = u64::from(release.bound.keys.unwrap_or(1));
    let records = u64::from(release.bound.per_key.unwrap_or(1));
    let held = match (&release.statistic, &job.source.id) {
        // What may come twice is held until it is known that it did not.
        (_, Some(_)) => keys.saturating_mul(records).saturating_mul(KEPT + PERSON),
        (Statistic::Mean(..) | Statistic::Quantile(..), None) => {
            keys.saturating_mul(records).saturating_mul(KEPT)
        }
        (Statistic::Sum(..) | Statistic::Max { .. }, None) => keys.saturating_mul(SUMMED),
        _ => keys.saturating_mul(COUNTED),
    };
    let a_person = if person { PERSON + PLACE + held } else { 0 };
    let for_ever = release.bound.windows.map(|_| (PERSON + 4) * 3 / 2);
    let a_key = largest.map(|people| (people as u64).saturating_mul(2 * LISTED));
    Memory { a_person, a_key, windows_open: open(job, release, schedule), for_ever }
}

/// Windows that have begun and are not closed, at most, when records come as they happen.
fn open(job: &Job, release: &Release, schedule: &Schedule) -> Option<u64> {
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
