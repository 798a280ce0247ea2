//! Running totals of a release plan: their windows and their strategy; and the refusals of the mechanism,
//! mapped to fields of the job file.

use crate::accounting::running::{HORIZON, REMEMBERED, Strategy};
use crate::dataflow::Schedule;
use crate::job::config::ReleaseSpec;
use crate::job::statistics::RunningTotalSpec;
use crate::job::unfit::UnfitJob;
use crate::mechanisms::TotalSpan;

/// Returns the running total of a release; `None` if each window is released by itself.
pub(super) fn running_total(
    release: &ReleaseSpec,
    schedule: &Schedule,
    place: &str,
) -> Result<Option<RunningTotalSpec>, UnfitJob> {
    let Some(running) = release.running else { return Ok(None) };
    let strategy = running.strategy;
    let is_of_present_people = release.is_of_present_people();
    let last = release.total_windows();
    if let Some(windows) = last.filter(|_| !is_of_present_people) {
        return Ok(Some(RunningTotalSpec { span: TotalSpan::Last { windows }, strategy }));
    }
    let what = if is_of_present_people { "people over the last windows" } else { "totals so far" };
    if !schedule.is_bounded() {
        let or = match is_of_present_people {
            true => "or leave out running, for windows that are each paid for",
            false => "or give it over = \"..\", for totals of the last windows of a stream without an end",
        };
        let message = format!(
            "found nothing; give the time of the last window of {place}, as in 2027-01-01T00:00:00Z: the noise of {what} \
             is made for their number; {or}"
        );
        return Err(UnfitJob::new("job.until", message));
    }
    let windows = schedule.count();
    if windows > HORIZON {
        let message = format!(
            "found {windows} windows, of which {what} are released for 2^32 at most; give a longer every, or an earlier \
             job.until"
        );
        return Err(UnfitJob::new(format!("{place}.every"), message));
    }
    if strategy == Some(Strategy::SquareRoot) && windows > REMEMBERED {
        let message = format!(
            "found square-root for {windows} windows, all of which each key would remember; give \"buffered\", or at most \
             {REMEMBERED} windows"
        );
        return Err(UnfitJob::new(format!("{place}.strategy"), message));
    }
    let span = match last {
        // Without a bound the job was refused.
        Some(last) => TotalSpan::People { windows, last, entries: release.bound.entries.unwrap_or(1).into() },
        None => TotalSpan::SoFar { windows },
    };
    Ok(Some(RunningTotalSpec { span, strategy }))
}

/// Returns the field of a release that corresponds to the field `refused` of a running total's mechanism;
/// `None` if the release has no running total or the field is another one.
pub(super) fn field(release: &ReleaseSpec, refused: &str) -> Option<&'static str> {
    release.running?;
    match refused {
        "horizon" => Some("every"),
        "width" | "over" => Some("over"),
        "strategy" => Some("strategy"),
        "entries" => Some("bound"),
        "each" => Some(release.statistic.as_statistic().field_of("range").unwrap_or("bound")),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
