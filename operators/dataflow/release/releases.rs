//! Releases with typed cells: as a stream, and as differential collections.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;

use differential_dataflow::consolidation::consolidate_updates;
use differential_dataflow::{AsCollection, Data, VecCollection};

use super::deliver::{Deliver, LeavingRelease};
use crate::accounting::Interval;
use crate::dataflow::driver::{ProcessShared, RunError};
use crate::dataflow::engine::{Map, Operator, Pipeline, StreamVec};
use crate::gate::PastRows;
use crate::ledger::{Name, ReleaseStatus, Row};
use crate::mechanisms::queries::ReleasedAnswer;
use crate::mechanisms::{Key, ReleasedCell, ReleasedValue, read_cells};
use crate::time::{Time, in_json};

/// A release of which each key has a value of this type.
///
/// It is a [`LeavingRelease`], a row of the ledger on its way to a sink, and has the [cells](Release::cells) of that row.
pub struct Release<K, V> {
    leaving: LeavingRelease,
    cells: PhantomData<fn() -> (K, V)>,
}

/// The release of an answer to a query.
pub type Reply = Release<(), ReleasedAnswer>;

impl<K, V> Release<K, V> {
    pub(in crate::dataflow) fn new(leaving: LeavingRelease) -> Release<K, V> {
        Release { leaving, cells: PhantomData }
    }
}

impl Reply {
    /// Reads the answer from the line that was sealed; `None` if the budget has refused it.
    pub fn answer(&self) -> Option<ReleasedAnswer> {
        ReleasedAnswer::read(self.leaving.line())
    }
}

impl<K: Key, V: ReleasedValue> Release<K, V> {
    /// Reads the cells from the line that was sealed, in the order of their keys; none if the window was refused, skipped or
    /// lost.
    ///
    /// A release that is delivered again has the cells that it had.
    ///
    /// # Errors
    ///
    /// If the release is of another version, in which its keys or values were of other types.
    pub fn cells(&self) -> Result<Vec<ReleasedCell<K, V>>, OtherTypes> {
        cells_of(self.leaving.row())
    }

    /// Returns the cells; where they are of other types, none, and the run ends.
    fn cells_or_end(&self) -> Vec<ReleasedCell<K, V>> {
        self.cells().unwrap_or_else(|other| {
            self.leaving.ends_run(RunError::configuration(other.to_string()));
            Vec::new()
        })
    }
}

fn cells_of<K: Key, V: ReleasedValue>(row: &Row) -> Result<Vec<ReleasedCell<K, V>>, OtherTypes> {
    if row.status() != ReleaseStatus::Sealed {
        return Ok(Vec::new());
    }
    let other = || OtherTypes { name: row.release().name.clone(), window: row.release().window };
    read_cells(row.line()).ok_or_else(other)
}

/// The error of a release whose cells are of other types than its pipeline states: an earlier version has sealed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherTypes {
    name: Name,
    window: Interval,
}

impl fmt::Display for OtherTypes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "release {}: the window that ends {} has cells of other types; an earlier version sealed it, whose lines can be \
             read as text",
            self.name,
            in_json(self.window.end())
        )
    }
}

impl std::error::Error for OtherTypes {}

impl<K, V> Clone for Release<K, V> {
    fn clone(&self) -> Release<K, V> {
        Release { leaving: self.leaving.clone(), cells: PhantomData }
    }
}

impl<K, V> Deref for Release<K, V> {
    type Target = LeavingRelease;

    fn deref(&self) -> &LeavingRelease {
        &self.leaving
    }
}

impl<K, V> Borrow<LeavingRelease> for Release<K, V> {
    fn borrow(&self) -> &LeavingRelease {
        &self.leaving
    }
}

impl<K, V> From<Release<K, V>> for LeavingRelease {
    fn from(release: Release<K, V>) -> LeavingRelease {
        release.leaving
    }
}

/// Formats all lines of the window.
impl<K, V> fmt::Display for Release<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.leaving.fmt(f)
    }
}

impl<K, V> fmt::Debug for Release<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.leaving, f)
    }
}

/// The releases of a statistic, on worker 0, in the order of their windows.
///
/// An ordinary stream ([`stream`](Releases::stream)), and what is made of it: lines for a sink, typed cells, and differential
/// collections of them. All of it is released: whatever is computed from it is public, and costs nothing.
pub struct Releases<'scope, K, V> {
    stream: StreamVec<'scope, Time, Release<K, V>>,
    past: Option<PastReleases>,
}

/// The number of changes of the past that are held before those that cancel are dropped.
const MANY: usize = 1 << 16;

/// The releases that a former run has left in the ledger, for worker 0.
#[derive(Clone)]
pub(in crate::dataflow) struct PastReleases {
    pub(in crate::dataflow) rows: PastRows,
    /// The time from the end of a window to its close.
    pub(in crate::dataflow) late: Time,
    pub(in crate::dataflow) shared: Arc<ProcessShared>,
}

impl<K: 'static, V: 'static> Clone for Releases<'_, K, V> {
    fn clone(&self) -> Self {
        Releases { stream: self.stream.clone(), past: self.past.clone() }
    }
}

impl<K, V> fmt::Debug for Releases<'_, K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Releases").finish_non_exhaustive()
    }
}

impl<'scope, K: 'static, V: 'static> Releases<'scope, K, V> {
    pub(in crate::dataflow) fn new(
        releases: StreamVec<'scope, Time, LeavingRelease>,
        past: Option<PastReleases>,
    ) -> Releases<'scope, K, V> {
        Releases { stream: releases.map(Release::new), past }
    }

    /// Returns the stream of releases: each is a row of the ledger, durable before it leaves.
    pub fn stream(self) -> StreamVec<'scope, Time, Release<K, V>> {
        self.stream
    }

    /// Delivers them to a sink, as [`Deliver::deliver`] does.
    pub fn deliver(self, sink: impl FnMut(&Release<K, V>) -> io::Result<()> + 'static) {
        self.stream.deliver(sink);
    }
}

impl<'scope, K: Key + fmt::Debug, V: ReleasedValue> Releases<'scope, K, V> {
    /// Returns the cells as a stream, each with its window. A release whose cells are of [`OtherTypes`] ends the run.
    ///
    /// Nothing is confirmed by it: a process that is started again has the cells of all releases that were not
    /// [delivered](Releases::deliver).
    pub fn cells(self) -> StreamVec<'scope, Time, (Interval, ReleasedCell<K, V>)> {
        self.stream.unary(Pipeline, "Cells", |capability, _| {
            drop(capability);
            |input, output| {
                input.for_each(|capability, batch| {
                    let mut session = output.session(&capability);
                    for release in batch.drain(..) {
                        let window = release.window();
                        session.give_iterator(release.cells_or_end().into_iter().map(|cell| (window, cell)));
                    }
                });
            }
        })
    }

    /// Returns the newest value of each key as a differential collection: a release takes back the former values of its
    /// keys, and a window that was refused or skipped leaves all as it was.
    ///
    /// After a restart the collection has what it had: the releases of this version that are in the ledger are read again,
    /// those in archives are not. It confirms no delivery, so that the releases must be [delivered](Releases::deliver) as well.
    pub fn latest(self) -> VecCollection<'scope, Time, (K, V)>
    where
        V: Ord,
    {
        self.latest_by(|cell| cell.value.clone())
    }

    /// Returns the newest cell of each key as [`latest`](Releases::latest) does, by what `datum` makes of it.
    pub fn latest_by<D: Data>(
        self,
        datum: impl Fn(&ReleasedCell<K, V>) -> D + 'static,
    ) -> VecCollection<'scope, Time, (K, D)> {
        let mut newest: BTreeMap<K, (Time, D)> = BTreeMap::new();
        self.changes(move |(time, _), cell, is_past, changes| {
            let value = datum(&cell);
            let entry = (cell.key.clone(), value.clone());
            let former = newest.insert(cell.key, (time, value));
            if let Some((since, former)) = former {
                // What a former run has taken back is not given at all.
                let at = if is_past { since } else { time };
                changes.push(((entry.0.clone(), former), at, -1));
            }
            changes.push((entry, time, 1));
        })
    }

    /// Returns all cells as a differential collection, each with its window, from the first of this version that is in the
    /// ledger.
    ///
    /// It grows with each window. After a restart it has what it had, as [`latest`](Releases::latest) does.
    pub fn history(self) -> VecCollection<'scope, Time, (Interval, K, V)>
    where
        V: Ord,
    {
        self.history_by(|cell| cell.value.clone())
    }

    /// Returns all cells as [`history`](Releases::history) does, by what `datum` makes of each.
    pub fn history_by<D: Data>(
        self,
        datum: impl Fn(&ReleasedCell<K, V>) -> D + 'static,
    ) -> VecCollection<'scope, Time, (Interval, K, D)> {
        self.changes(move |(time, window), cell, _, changes| {
            let value = datum(&cell);
            changes.push(((window, cell.key, value), time, 1));
        })
    }

    /// Makes changes of the cells: of those in the ledger first, at the close of their windows, and then of each release that
    /// was not among them.
    fn changes<D: Data>(
        self,
        mut change: impl FnMut((Time, Interval), ReleasedCell<K, V>, bool, &mut Vec<(D, Time, isize)>) + 'static,
    ) -> VecCollection<'scope, Time, D> {
        let Releases { stream, past } = self;
        let past_rows = past.as_ref().map(|past| past.rows.clone());
        let changed = stream.unary(Pipeline, "Changes", |capability, _| {
            let (mut changes, mut known, mut most) = (Vec::new(), i64::MIN, MANY);
            if let Some(PastReleases { rows, late, shared }) = &past {
                let read = rows.each(|row| {
                    known = known.max(row.sequence());
                    let window = row.release().window;
                    match cells_of(&row) {
                        Ok(cells) => cells.into_iter().for_each(|cell| {
                            let time = window.end().saturating_add(*late);
                            change((time, window), cell, true, &mut changes);
                        }),
                        Err(other) => shared.fail(RunError::configuration(other.to_string())),
                    }
                    // Of the newest values alone, no more is held than they are, however long the ledger is.
                    if changes.len() > most {
                        consolidate_updates(&mut changes);
                        most = MANY.max(2 * changes.len());
                    }
                });
                read.err().into_iter().for_each(|unread| shared.fail(unread.into()));
            }
            consolidate_updates(&mut changes);
            let mut past = Some((capability, changes));
            move |input, output| {
                if let Some((capability, changes)) = past.take() {
                    // Each change has its own time. A message for each time would take a kilobyte of buffer or more.
                    output.session(&capability).give_iterator(changes.into_iter());
                }
                input.for_each(|capability, batch| {
                    for release in batch.drain(..) {
                        // What a former process has not delivered is read from the ledger, and what another version has sealed
                        // may be of other types.
                        let is_own = past_rows.as_ref().is_some_and(|rows| rows.are_of(release.row()));
                        if !is_own || release.row().sequence() <= known {
                            continue;
                        }
                        let (Some(&time), window) = (capability.least(), release.window()) else { continue };
                        let mut changes = Vec::new();
                        for cell in release.cells_or_end() {
                            change((time, window), cell, false, &mut changes);
                        }
                        output.session(&capability).give_iterator(changes.into_iter());
                    }
                });
            }
        });
        changed.as_collection()
    }
}
