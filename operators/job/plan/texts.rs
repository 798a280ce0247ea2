//! The parts of a plan that are text: a statistic, a bound and a restart in words.

use crate::job::config::{Job, Protected, ReleaseSpec, SourcePlace};
use crate::job::statistics::{ContributionKind, StatisticSpec};

/// Describes the statistic of a window, or of several.
pub(in crate::job) fn statistic(job: &Job, release: &ReleaseSpec) -> String {
    let unit = if job.privacy.privacy_unit == Protected::Record { "record" } else { "person" };
    let text = release.statistic.as_statistic().describe(unit);
    let text = match &release.condition {
        Some(condition) => format!("{text}, where {condition}"),
        None => text,
    };
    match (release.running, release.total_windows()) {
        (None, _) => text,
        (Some(_), None) => format!("so far, {text}"),
        (Some(_), Some(1)) => format!("in each window, {text}"),
        (Some(_), Some(windows)) => format!("in the last {windows} windows, {text}"),
    }
}

/// Describes the contribution bound of one protected unit.
pub(super) fn bound(job: &Job, release: &ReleaseSpec) -> String {
    let Protected::Person { field, .. } = &job.privacy.privacy_unit else {
        return "one record, in every window that holds its time".to_owned();
    };
    let counted =
        |count: u32, one: &str| if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") };
    let mut words = format!("a person is one {field}");
    let runs = release.running.is_some();
    if let Some(keys) = release.bound.keys {
        let of = if runs { "" } else { " of a window" };
        words += &format!(", who counts in at most {}{of}", counted(keys, "key"));
    }
    let statistic = release.statistic.as_statistic();
    let (contribution, in_all) =
        (statistic.contribution(), statistic.counts_in_all_keys() && statistic.is_keyed());
    match contribution {
        ContributionKind::ClampedSum { most } if runs => {
            words += &format!(", with values of {most} together, without their signs");
        }
        ContributionKind::Presence if release.is_of_present_people() => {
            let (and, each) = match release.bound.keys {
                Some(_) => ("and", " each"),
                None => ("who", ""),
            };
            let entries = counted(release.bound.entries.unwrap_or(1), "time");
            words += &format!(", {and} enters{each} at most {entries}");
        }
        ContributionKind::Presence if in_all => words += ", once in each key",
        ContributionKind::Presence => words += ", once",
        ContributionKind::ClampedSum { .. } => words += ", with all that they bring",
        ContributionKind::OneValue => words += ", with one value",
        ContributionKind::Records => {
            words += &format!(", with {}", counted(release.bound.per_key.unwrap_or(1), "record"));
        }
    }
    if (release.bound.keys.is_some() || in_all) && contribution != ContributionKind::Presence {
        words += if release.bound.keys == Some(1) { " in it" } else { " in each" };
    }
    if runs {
        words += ", over all windows together: the first ones";
    }
    if let Some(weight) = release.bound.weight {
        words += &format!("; of one with more than {} each counts in part", counted(weight, "whole key"));
    }
    if let Some(windows) = release.bound.windows {
        words += &format!(", and in {}, the first ones", counted(windows, "window"));
    }
    words
}

/// Describes the work that is repeated after a restart.
pub(super) fn restart(job: &Job) -> String {
    let again = match job.source.records.place() {
        Some(SourcePlace::Stdin) => {
            "Standard input is not read again: windows that begin before the restart and are not sealed are skipped, at no cost."
        }
        None => "A run goes on where its open windows begin; a replay generates all records again.",
        Some(SourcePlace::Files(_)) if job.source.http.is_some() => {
            "A run goes on in the spool where its open windows begin; a replay reads all of the spool."
        }
        Some(SourcePlace::Files(_)) if job.source.records.is_columnar() => {
            "A replay reads all files from their start; a live run is refused, for such files are not appended to."
        }
        Some(SourcePlace::Files(_)) => {
            "A run reads on in the files where its open windows begin, and skips, at no cost, those of which the files \
             are gone. A replay reads all files from their start. A pipe is not read again: windows that begin before \
             the restart and are not sealed are skipped, at no cost."
        }
    };
    let counters = match job.releases.iter().find_map(|release| release.bound.windows) {
        Some(_) => {
            " In how many windows each person has counted is kept in the ledger, sealed, and comes back."
        }
        None => "",
    };
    let running = match job.releases.iter().any(|release| release.running.is_some()) {
        true => {
            " Totals go on where they were, at no cost: their noise, and what each person has brought to them, are kept in the \
             ledger, sealed. Were that lost, they would begin anew as another version, which pays anew."
        }
        false => "",
    };
    let alerts = match job.releases.iter().any(|release| matches!(release.statistic, StatisticSpec::Alert(_)))
    {
        true => {
            " Alerts stay armed as they were: the noise of each threshold is kept in the ledger, sealed. Were that lost, they would \
             be armed anew as another version, which pays anew."
        }
        false => "",
    };
    format!("{again} Sealed releases stay as they are and are not charged again.{counters}{running}{alerts}")
}
