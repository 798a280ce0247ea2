//! The lines that are written where no mechanism writes one.

use super::rows::{ReleaseId, ReleaseStatus, Row};
use crate::accounting::{Interval, PrivacyCost};
use crate::time::in_json;

/// The line of a release that did not fit. All of it is public: costs, caps and windows come from configuration.
pub(super) fn refusal(
    release: &ReleaseId,
    spent: &PrivacyCost,
    asked: &PrivacyCost,
    limit: &PrivacyCost,
) -> String {
    format!(
        "{{{},\"refused\":\"budget\",\"domain\":\"{}\",\"spent\":{},\"asked\":{},\"limit\":{}}}",
        head(release),
        release.domain,
        amount(spent),
        amount(asked),
        amount(limit),
    )
}

/// The line of a release that was skipped or lost.
pub(super) fn tombstone(release: &ReleaseId, fate: &str) -> String {
    format!("{{{},\"{fate}\":true}}", head(release))
}

/// The reason in the line of a window that a repair has lost. The ledger cannot know whether the window was released before;
/// a reader of both lines can.
const REPAIRED: &str = "starts before a repair of the ledger; a value that was released for it earlier holds";

/// The line of a release that starts before a repair and has no row.
pub(super) fn lost_to_repair(release: &ReleaseId) -> String {
    format!("{{{},\"lost\":true,\"why\":\"{REPAIRED}\"}}", head(release))
}

/// The line after those of a sealed window: that there are no more, how many there were, and where they stand in the
/// ledger. A refusal or a tombstone is the last word about its window already.
pub(super) fn closing(row: &Row) -> Option<String> {
    let cells = if row.line.is_empty() { 0 } else { row.line.split('\n').count() };
    (row.fate == ReleaseStatus::Sealed).then(|| {
        format!(
            "{{{},\"closed\":true,\"cells\":{cells},\"seq\":{},\"chain\":\"{}\"}}",
            head(&row.release),
            row.sequence,
            row.chain,
        )
    })
}

/// What a line is about. Lines of several answers over one window are told apart by their part.
fn head(release: &ReleaseId) -> String {
    let part = release.part.as_ref().map_or(String::new(), |part| format!(",\"part\":\"{part}\""));
    format!("\"release\":\"{}\",\"window\":{}{part}", release.name, window(release.window))
}

/// A window, as every line says it.
pub(crate) fn window(window: Interval) -> String {
    format!("{{\"start\":{},\"end\":{}}}", in_json(window.start()), in_json(window.end()))
}

/// Rounded up, as amounts are wherever they are shown.
fn amount(amount: &PrivacyCost) -> String {
    match amount {
        PrivacyCost::Pure { epsilon } => format!("{{\"epsilon\":{}}}", epsilon.to_float_up()),
        PrivacyCost::Zcdp { rho, delta, .. } => {
            format!("{{\"rho\":{},\"delta\":{}}}", rho.to_float_up(), delta.to_float_up())
        }
        // No ledger counts another currency.
        other => format!("\"{other}\""),
    }
}
