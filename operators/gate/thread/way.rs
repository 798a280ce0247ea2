//! The way of a release through the gate, as spans for the operator: the release, its draw, and its commit.
//!
//! Without a subscriber, or with these spans off, nothing is kept and nothing is allocated.

use std::collections::{BTreeSet, HashMap};

use tracing::Span;
use tracing::field::Empty;

use crate::ledger::{Digest, Name, ReleaseId, ReleaseStatus, Sealing, status_word};
use crate::time::in_utc;

/// The spans of the releases that are on their way.
#[derive(Default)]
pub(super) struct ReleaseSpans(HashMap<Digest, Span>);

impl ReleaseSpans {
    /// Begins the span of a release, which is on its way from now on.
    pub(super) fn begin(&mut self, id: Digest, release: &ReleaseId) {
        let span = operator_span!(
            DEBUG,
            "release",
            release = release.name.as_str(),
            account = release.account.as_str(),
            version = %release.version,
            window_start = %in_utc(release.window.start()),
            window_end = %in_utc(release.window.end()),
            status = Empty,
        );
        if !span.is_disabled() {
            self.0.insert(id, span);
        }
    }

    /// Returns the span of a release's draw, to be entered for as long as it takes.
    pub(super) fn draw(&self, id: &Digest, release: &ReleaseId) -> Span {
        let parent = if self.0.is_empty() { None } else { self.0.get(id).and_then(Span::id) };
        operator_span!(
            TRACE,
            "draw",
            parent: parent,
            release = release.name.as_str(),
            window_end = %in_utc(release.window.end()),
        )
    }

    /// Ends the span of a release whose row is given out.
    pub(super) fn end(&mut self, release: &ReleaseId, status: ReleaseStatus) {
        // The id is a hash, which nobody pays for without a span.
        if !self.0.is_empty()
            && let Some(span) = self.0.remove(&release.id())
        {
            span.record("status", status_word(status));
        }
    }

    /// Ends the span of a release without a status, if it is still on its way.
    pub(super) fn give_up(&mut self, id: &Digest) {
        if !self.0.is_empty() {
            self.0.remove(id);
        }
    }
}

/// Returns the span of a commit, to be entered for as long as it takes.
pub(super) fn commit(sealings: &[Sealing]) -> Span {
    operator_span!(TRACE, "commit", rows = sealings.len() as u64, accounts = accounts(sealings))
}

/// Returns the number of accounts of these releases.
fn accounts(sealings: &[Sealing]) -> u64 {
    sealings.iter().map(|sealing| &sealing.release.account).collect::<BTreeSet<&Name>>().len() as u64
}
