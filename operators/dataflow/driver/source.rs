//! Where records come from, and who says that there are no more of them.

use std::fmt;

use crate::time::Time;

/// How many records a source gives at a time, about. More are taken; fewer make more turns.
pub const BATCH: usize = 1_024;

/// One worker's part of an input. The driver pulls; the source never pushes.
///
/// Completeness is this source's word, given by [`Pulled::Complete`] and [`Pulled::End`]: never by an error, by being
/// dropped, or by having nothing at the moment.
pub trait Source: 'static {
    /// What it gives.
    type Record: Clone + 'static;

    /// Appends what is there, about [`BATCH`] of it, and says how things stand after these records. It returns soon:
    /// while it waits, so does everything else on this worker.
    ///
    /// # Errors
    ///
    /// If the input is gone or cannot be accepted. Nothing is completed by that, and the job ends.
    fn pull(&mut self, batch: &mut Vec<Self::Record>) -> Result<Pulled, SourceError>;
}

/// How things stand after a pull.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pulled {
    /// There may be more at once.
    More,
    /// Every record of this part that is in time for a window which closes at or before this moment has been given. It
    /// never goes back.
    Complete(Time),
    /// There is nothing at the moment.
    Idle,
    /// This was all that there is.
    End,
}

/// Why a source gives nothing more, though it has not ended.
///
/// The text is for whoever runs the job. It names a place (a file, a line, a host), and never what was found there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceError {
    refused: bool,
    of_all: bool,
    place: String,
    why: Option<String>,
}

impl SourceError {
    /// What was read from cannot be read any more.
    pub fn lost(place: impl Into<String>) -> SourceError {
        SourceError { refused: false, of_all: false, place: place.into(), why: None }
    }

    /// What was read cannot be accepted: it is out of its declared order, or not decodable past its declared limit.
    pub fn refused(place: impl Into<String>) -> SourceError {
        SourceError { refused: true, of_all: false, place: place.into(), why: None }
    }

    /// Processes that share the work read different things there. Each of them finds it out, and ends by it.
    #[cfg(feature = "cli")]
    pub(crate) fn differs(place: impl Into<String>) -> SourceError {
        SourceError { of_all: true, ..SourceError::refused(place) }
    }

    /// With what is wrong there, and what to do about it: "what; remedy".
    #[must_use]
    pub fn because(self, why: impl Into<String>) -> SourceError {
        SourceError { why: Some(why.into()), ..self }
    }

    pub(crate) fn is_of_all(&self) -> bool {
        self.of_all
    }

    /// Whether it was there and could not be accepted.
    pub fn is_refused(&self) -> bool {
        self.refused
    }
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.refused { "the input was refused" } else { "the source is gone" };
        match &self.why {
            Some(why) => write!(f, "{}: {what}: {why}", self.place),
            None => write!(f, "{}: {what}", self.place),
        }
    }
}

impl std::error::Error for SourceError {}

/// A bounded input: the records of an iterator, and then the declaration that these were all.
#[derive(Clone)]
pub struct All<I> {
    records: I,
}

impl<I> All<I> {
    /// Of these records, whose end is the end.
    pub fn of(records: impl IntoIterator<IntoIter = I>) -> All<I> {
        All { records: records.into_iter() }
    }
}

impl<I> fmt::Debug for All<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("All(<private>)")
    }
}

impl<I: Iterator<Item: Clone + 'static> + 'static> Source for All<I> {
    type Record = I::Item;

    fn pull(&mut self, batch: &mut Vec<I::Item>) -> Result<Pulled, SourceError> {
        let before = batch.len();
        batch.extend(self.records.by_ref().take(BATCH));
        Ok(if batch.len() - before < BATCH { Pulled::End } else { Pulled::More })
    }
}
