//! The questions of a bundle, from a file of lines of JSON: all of them in a replay, and in a live run those that are there and
//! those that are appended.
//!
//! A question that was answered has its answer in the ledger, under its analyst and id. So a file that was replaced or cut is
//! read again from its start, and a run that is started again reads all of it: that asks nothing twice.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::dataflow::{Clock, Pulled, RunError, Source, SourceError};
use crate::invalid::{Invalid, found_by};
use crate::job::run::OperatorNotice;
use crate::mechanisms::queries::{Query, Schema};
use crate::time::Time;

/// The time between two looks at a file.
const INTERVAL: Duration = Duration::from_millis(100);

/// The most bytes that are read in a look.
const READ: u64 = 1 << 20;

/// The longest line, in bytes; a question has at most 2^19.
const LONGEST: usize = 1 << 20;

/// The questions of a bundle, before a run.
#[derive(Clone)]
pub(crate) enum QuestionInput {
    /// All questions of a replay.
    Whole(Vec<Query>),
    /// The questions of a live run.
    Followed(FollowedQuestions),
}

/// A file of questions that a live run follows.
#[derive(Clone)]
pub(crate) struct FollowedQuestions {
    path: PathBuf,
    schema: Schema,
    clock: Arc<dyn Clock>,
    /// The time after which no question is answered.
    last: Time,
    notice: Option<OperatorNotice>,
}

impl QuestionInput {
    /// Reads all questions of a file; those without a time are asked at `asked_at`.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or has a line that is no question: then nothing is asked.
    pub(crate) fn whole(path: &Path, schema: &Schema, asked_at: Time) -> Result<QuestionInput, RunError> {
        let text = std::fs::read_to_string(path).map_err(|error| {
            let found = found_by(&error);
            RunError::configuration(format!(
                "ask.questions: {}: found {found}; give a file with a question a line, or an empty one",
                path.display()
            ))
        })?;
        let mut questions = Vec::new();
        for (line, number) in text.lines().zip(1..) {
            match question(schema, line, asked_at) {
                Ok(found) => questions.extend(found),
                Err(refused) => {
                    return Err(RunError::configuration(format!("{}:{number}: {refused}", path.display())));
                }
            }
        }
        Ok(QuestionInput::Whole(questions))
    }

    /// Follows a file, which need not exist yet, until no window is left at `last`.
    pub(crate) fn followed(
        path: &Path,
        schema: &Schema,
        (clock, last): (Arc<dyn Clock>, Time),
        notice: Option<OperatorNotice>,
    ) -> QuestionInput {
        let (path, schema) = (path.to_owned(), schema.clone());
        QuestionInput::Followed(FollowedQuestions { path, schema, clock, last, notice })
    }

    /// Returns the part of one worker: the first worker of the first process has all of them.
    pub(crate) fn part(&self, worker: usize) -> QuestionPart {
        match self {
            _ if worker > 0 => QuestionPart::Whole(Vec::new()),
            QuestionInput::Whole(questions) => QuestionPart::Whole(questions.clone()),
            QuestionInput::Followed(followed) => QuestionPart::Followed(Box::new(Following {
                of: followed.clone(),
                file: None,
                line: Vec::new(),
                lines: 0,
                looked: None,
                given: None,
            })),
        }
    }
}

/// Reads the question in a line, unless the line is blank. Of a line that is too long there is the beginning.
fn question(schema: &Schema, line: &str, asked_at: Time) -> Result<Option<Query>, Invalid> {
    if line.len() <= LONGEST && line.trim_ascii().is_empty() {
        return Ok(None);
    }
    schema.question_line(line, asked_at).map(Some)
}

/// The questions of one worker.
pub(crate) enum QuestionPart {
    Whole(Vec<Query>),
    Followed(Box<Following>),
}

/// A file that is followed.
pub(crate) struct Following {
    of: FollowedQuestions,
    /// The file, by its device and number, and the place up to which it was read.
    file: Option<((u64, u64), u64)>,
    /// The beginning of a line whose end was not written yet.
    line: Vec<u8>,
    /// The number of whole lines that were read.
    lines: u64,
    looked: Option<Instant>,
    /// The time up to which all questions were given.
    given: Option<Time>,
}

impl Source for QuestionPart {
    type Record = Query;

    fn pull(&mut self, batch: &mut Vec<Query>) -> Result<Pulled, SourceError> {
        match self {
            QuestionPart::Whole(questions) => {
                batch.append(questions);
                Ok(Pulled::End)
            }
            QuestionPart::Followed(following) => Ok(following.pull(batch)),
        }
    }
}

impl Following {
    fn pull(&mut self, batch: &mut Vec<Query>) -> Pulled {
        if self.looked.is_some_and(|looked| looked.elapsed() < INTERVAL) {
            return Pulled::Idle;
        }
        let now = self.of.clock.now();
        // A file that cannot be read now may be there at the next look.
        let is_more = self.look(now, batch).unwrap_or(false);
        if is_more {
            return Pulled::More;
        }
        self.looked = Some(Instant::now());
        if now > self.of.last {
            return Pulled::End;
        }
        match self.given.replace(now) {
            Some(given) if given >= now => Pulled::Idle,
            _ => Pulled::Complete(now),
        }
    }

    /// Reads the lines that were appended; returns true if there are more.
    fn look(&mut self, now: Time, batch: &mut Vec<Query>) -> io::Result<bool> {
        let mut file = File::open(&self.of.path)?;
        let facts = file.metadata()?;
        if !facts.is_file() {
            return Ok(false);
        }
        let own = (facts.dev(), facts.ino());
        let from = match self.file {
            Some((known, from)) if known == own && facts.len() >= from => from,
            // Another file, or one that was cut.
            _ => {
                (self.line, self.lines) = (Vec::new(), 0);
                0
            }
        };
        file.seek(SeekFrom::Start(from))?;
        let mut read = Vec::new();
        file.take(READ).read_to_end(&mut read)?;
        self.file = Some((own, from + read.len() as u64));
        for piece in read.split_inclusive(|byte| *byte == b'\n') {
            // Of a line that is too long the rest is read and dropped.
            if self.line.len() <= LONGEST {
                self.line.extend_from_slice(piece);
            }
            if piece.last() == Some(&b'\n') {
                self.lines += 1;
                let line = std::mem::take(&mut self.line);
                self.take(&line, now, batch);
            }
        }
        Ok(read.len() as u64 == READ)
    }

    fn take(&self, line: &[u8], now: Time, batch: &mut Vec<Query>) {
        // A line that is no UTF-8 is no JSON.
        match question(&self.of.schema, &String::from_utf8_lossy(line), now) {
            Ok(found) => batch.extend(found),
            Err(refused) => {
                if let Some(notice) = &self.of.notice {
                    notice(&format!(
                        "{}:{}: {refused}; it is not answered",
                        self.of.path.display(),
                        self.lines
                    ));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
