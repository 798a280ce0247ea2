//! The rows that left before this run: a file that lacks them receives them, and the pages of the run begin
//! with the newest.
//!
//! They come from the ledger some hundreds at a time, so that a start takes no more memory however many there
//! are. Rows of other versions, and of releases that the job has no more, stay where they are.

use std::collections::HashSet;

use super::*;
use crate::ledger::{Digest, Name, ReleaseId, Row};

/// The number of rows that are read together.
const TOGETHER: i64 = if cfg!(test) { 3 } else { 500 };

/// The number of rows after which the operator learns that a file receives them.
const NOTICED: u64 = 100_000;

/// The releases and bundles of a job in the versions that its file states. A line of a former version, which a run delivers
/// because it had not left, has the name and the window of another one and no version: pages show it as neither.
#[derive(Clone)]
pub(super) struct PresentVersions(Arc<HashSet<(Name, Digest)>>);

impl PresentVersions {
    pub(super) fn of(job: &Job, (offers, asks): (&[ReleasePlan], &[AskPlan])) -> Result<Self, RunError> {
        let version = |offer: &ReleasePlan| Ok((offer.name.clone(), job.version_digest(offer)?));
        let mut versions = offers.iter().map(version).collect::<Result<HashSet<_>, RunError>>()?;
        versions.extend(asks.iter().map(|ask| (ask.name.clone(), ask.version_digest())));
        Ok(PresentVersions(Arc::new(versions)))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &(Name, Digest)> {
        self.0.iter()
    }

    pub(super) fn has(&self, release: &ReleaseId) -> bool {
        self.0.contains(&(release.name.clone(), release.version))
    }
}

/// The rows of a job's releases that left before its run.
pub(super) struct FormerRows<'g> {
    gate: &'g Gate,
    versions: PresentVersions,
}

impl<'g> FormerRows<'g> {
    pub(super) fn of(
        job: &Job,
        plans: (&[ReleasePlan], &[AskPlan]),
        gate: &'g Gate,
    ) -> Result<Self, RunError> {
        Ok(FormerRows { gate, versions: PresentVersions::of(job, plans)? })
    }

    /// Writes to a file the rows that left and come after all of its own: every one, to a new file.
    pub(super) fn complete(&self, sink: &mut Sink, notice: Option<&OperatorNotice>) -> Result<(), RunError> {
        let Some(after) = sink.newest_position() else { return Ok(()) };
        let mut written = 0;
        self.each_after(after, |row| {
            written += 1;
            if let Some(notice) = notice.filter(|_| written == NOTICED) {
                notice("--out: the rows that left before are written to it first, and there are many");
            }
            sink.put(row).map_err(|error| RunError::sink(&error))
        })?;
        if written > 0 { sink.settle().map_err(|error| RunError::sink(&error)) } else { Ok(()) }
    }

    /// Passes on the rows among the newest of the ledger, in their order. Returns true if the ledger has older ones.
    pub(super) fn newest(&self, most: usize, mut take: impl FnMut(&Row)) -> Result<bool, RunError> {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let after = self.gate.newest_position()?.saturating_sub(most);
        self.each_after(after, |row| {
            take(row);
            Ok(())
        })?;
        Ok(after > 0)
    }

    fn each_after(
        &self,
        mut after: i64,
        mut take: impl FnMut(&Row) -> Result<(), RunError>,
    ) -> Result<(), RunError> {
        loop {
            let rows = self.gate.delivered_after(after, TOGETHER)?;
            let Some(last) = rows.last() else { return Ok(()) };
            after = last.sequence();
            for row in rows {
                if self.versions.has(row.release()) {
                    take(&row)?;
                }
            }
        }
    }
}
