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
    if let Some(windows) = release.total_windows() {
        return Ok(Some(RunningTotalSpec { span: TotalSpan::Last { windows }, strategy }));
    }
    if !schedule.is_bounded() {
        let message = format!(
            "found nothing; give the time of the last window of {place}, as in 2027-01-01T00:00:00Z: the noise of totals so far \
             is made for their number; or give it over = \"..\", for totals of the last windows of a stream without an end"
        );
        return Err(UnfitJob::new("job.until", message));
    }
    let windows = schedule.count();
    if windows > HORIZON {
        let message = format!(
            "found {windows} windows, of which totals so far are released for 2^32 at most; give a longer every, or an earlier \
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
    Ok(Some(RunningTotalSpec { span: TotalSpan::SoFar { windows }, strategy }))
}

/// Returns the field of a release that corresponds to the field `refused` of a running total's mechanism;
/// `None` if the release has no running total or the field is another one.
pub(super) fn field(release: &ReleaseSpec, refused: &str) -> Option<&'static str> {
    release.running?;
    match refused {
        "horizon" => Some("every"),
        "width" | "over" => Some("over"),
        "strategy" => Some("strategy"),
        "each" => Some(release.statistic.as_statistic().field_of("range").unwrap_or("bound")),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
