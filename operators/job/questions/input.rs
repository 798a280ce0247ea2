//! The questions of a bundle, from a file of lines of JSON: all of them in a replay, and in a live run those that are there,
//! those that are appended, and those that are asked over HTTP.
//!
//! A question that was answered has its answer in the ledger, under its analyst and id. So a file that was replaced or cut is
//! read again from its start, and a run that is started again reads all of it: that asks nothing twice.

use std::borrow::Cow;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::fs::OFlags;

use super::asked_texts::AskedTexts;
use super::service::AskedQuestions;
use crate::dataflow::{Clock, Pulled, RunError, Source, SourceError, Unanswered};
use crate::invalid::{Invalid, found_by};
use crate::job::run::OperatorNotice;
use crate::ledger::Row;
use crate::mechanisms::queries::{Query, Schema};
use crate::time::Time;

/// The time between two looks at a file.
const INTERVAL: Duration = Duration::from_millis(100);

/// The most bytes that are read in a look.
const READ: u64 = 1 << 20;

/// The number of the newest bytes by which a file is known to be the same.
const REMEMBERED: usize = 256;

/// The most mistakes of a file that are reported at once.
const SHOWN: usize = 20;

/// The longest line, in bytes; a question has at most 2^19.
const LONGEST: usize = 1 << 20;

/// The questions of a bundle, before a run.
#[derive(Clone)]
pub(crate) enum QuestionInput {
    /// All questions of a replay.
    Whole(WholeQuestions),
    /// The questions of a live run.
    Followed(FollowedQuestions),
}

/// The questions of a replay, with the file that they are of.
#[derive(Clone, Default)]
pub(crate) struct WholeQuestions {
    path: Option<PathBuf>,
    questions: Vec<Query>,
    /// The line of each question.
    lines: Vec<u64>,
    texts: AskedTexts,
}

/// The questions of a live run: a file that it follows, and those that are asked over HTTP.
#[derive(Clone)]
pub(crate) struct FollowedQuestions {
    path: Option<PathBuf>,
    texts: AskedTexts,
    asked: AskedQuestions,
    schema: Schema,
    clock: Arc<dyn Clock>,
    /// The time after which no question is answered.
    last: Time,
    notice: Option<OperatorNotice>,
}

impl WholeQuestions {
    /// Returns all of them.
    pub(crate) fn all(&self) -> &[Query] {
        &self.questions
    }

    /// Returns the file that they are of.
    pub(super) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Returns each of them with the number of its line.
    pub(super) fn numbered(&self) -> impl Iterator<Item = (&Query, u64)> {
        self.questions.iter().zip(self.lines.iter().copied())
    }
}

impl QuestionInput {
    /// Returns no questions.
    pub(crate) fn none() -> QuestionInput {
        QuestionInput::Whole(WholeQuestions::default())
    }

    /// Reads all questions of a file, if there is one; those without a time are asked at `asked_at`.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or has a line that is no question: then nothing is asked.
    pub(crate) fn whole(
        path: Option<&Path>,
        schema: &Schema,
        asked_at: Time,
    ) -> Result<QuestionInput, RunError> {
        let Some(path) = path else { return Ok(QuestionInput::none()) };
        let QuestionFile { whole, mut mistakes } = QuestionFile::read(path, schema, asked_at)?;
        if mistakes.is_empty() {
            return Ok(QuestionInput::Whole(whole));
        }
        let more = mistakes.len().saturating_sub(SHOWN);
        mistakes.truncate(SHOWN);
        mistakes.extend((more > 0).then(|| format!("and {more} lines more")));
        Err(RunError::configuration(mistakes.join("\n")))
    }

    /// Reads the questions of a file as [`whole`](QuestionInput::whole) does, and leaves out what is none: for a check.
    pub(crate) fn readable(path: Option<&Path>, schema: &Schema, asked_at: Time) -> QuestionInput {
        let read = path.map(|path| QuestionFile::read(path, schema, asked_at));
        match read {
            Some(Ok(file)) => QuestionInput::Whole(file.whole),
            _ => QuestionInput::none(),
        }
    }

    /// Follows a file, which need not exist yet, and takes what is asked over HTTP, until no window is left at `last`.
    pub(crate) fn followed(
        (path, asked): (Option<&Path>, AskedQuestions),
        schema: &Schema,
        (clock, last): (Arc<dyn Clock>, Time),
        notice: Option<OperatorNotice>,
    ) -> QuestionInput {
        let (path, schema, texts) = (path.map(Path::to_owned), schema.clone(), AskedTexts::default());
        QuestionInput::Followed(FollowedQuestions { path, texts, asked, schema, clock, last, notice })
    }

    /// Returns the words about a question of the file whose id has the answer of another one, once.
    pub(crate) fn answered(&self, row: &Row) -> Option<String> {
        let (path, texts) = match self {
            QuestionInput::Whole(whole) => (&whole.path, &whole.texts),
            QuestionInput::Followed(followed) => (&followed.path, &followed.texts),
        };
        texts.answered(path.as_ref()?, row)
    }

    /// Passes the reason on for which a question is not answered; returns false if nobody waits for it.
    pub(crate) fn unanswered(&self, unanswered: &Unanswered) -> bool {
        match self {
            QuestionInput::Whole(_) => false,
            QuestionInput::Followed(followed) => followed.asked.unanswered(unanswered),
        }
    }

    /// Returns the part of one worker: the first worker of the first process has all of them.
    pub(crate) fn part(&self, worker: usize) -> QuestionPart {
        match self {
            _ if worker > 0 => QuestionPart::Whole(Vec::new()),
            QuestionInput::Whole(whole) => QuestionPart::Whole(whole.questions.clone()),
            QuestionInput::Followed(followed) => QuestionPart::Followed(Box::new(Following {
                of: followed.clone(),
                file: None,
                line: Vec::new(),
                lines: 0,
                newest: Vec::new(),
                is_missing: false,
                looked: None,
                given: None,
            })),
        }
    }
}

/// The questions of a file, and the mistakes of its lines that are none.
struct QuestionFile {
    whole: WholeQuestions,
    mistakes: Vec<String>,
}

impl QuestionFile {
    fn read(path: &Path, schema: &Schema, asked_at: Time) -> Result<QuestionFile, RunError> {
        let mut text = String::new();
        let read = open(path)
            .and_then(|mut file| file.read_to_string(&mut text).map_err(|error| found_by(&error).into()));
        read.map_err(|found: Cow<'static, str>| {
            RunError::configuration(format!(
                "ask.questions: {}: found {found}; give a file with a question a line, or an empty one",
                path.display()
            ))
        })?;
        let (mut questions, mut lines) = (Vec::new(), Vec::new());
        let (mut mistakes, texts) = (Vec::new(), AskedTexts::default());
        for (line, number) in text.lines().zip(1..) {
            let found = question(schema, line, asked_at).map_err(|refused| refused.to_string());
            let added = found.and_then(|found| {
                found.iter().try_for_each(|question| texts.add(question, number))?;
                lines.extend(found.iter().map(|_| number));
                questions.extend(found);
                Ok(())
            });
            mistakes.extend(added.err().map(|refused| format!("{}:{number}: {refused}", path.display())));
        }
        let path = Some(path.to_owned());
        Ok(QuestionFile { whole: WholeQuestions { path, questions, lines, texts }, mistakes })
    }
}

/// Opens a file of questions; the error is what was found. Opening a pipe otherwise would wait for its writer.
fn open(path: &Path) -> Result<File, Cow<'static, str>> {
    let at_once = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or(0);
    let file = OpenOptions::new().read(true).custom_flags(at_once).open(path);
    let file = file.map_err(|error| found_by(&error))?;
    match file.metadata() {
        Ok(facts) if facts.is_file() => Ok(file),
        _ => Err("no plain file".into()),
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
    /// The newest bytes that were read.
    newest: Vec<u8>,
    /// True once the operator knows that the file cannot be read.
    is_missing: bool,
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
        batch.extend(self.of.asked.take(now));
        // A file that cannot be read now may be there at the next look.
        let is_more = self.look(now, batch).unwrap_or(false);
        if is_more {
            return Pulled::More;
        }
        self.looked = Some(Instant::now());
        if now > self.of.last {
            self.of.asked.close("no window is left to ask about");
            return Pulled::End;
        }
        match self.given.replace(now) {
            Some(given) if given >= now => Pulled::Idle,
            _ => Pulled::Complete(now),
        }
    }

    /// Reads the lines that were appended; returns true if there are more.
    fn look(&mut self, now: Time, batch: &mut Vec<Query>) -> io::Result<bool> {
        let Some(path) = &self.of.path else { return Ok(false) };
        let mut file = match open(path) {
            Ok(file) => file,
            Err(found) => {
                let is_known = std::mem::replace(&mut self.is_missing, true);
                if let Some(notice) = self.of.notice.as_ref().filter(|_| !is_known) {
                    let path = path.display();
                    notice(&format!("ask.questions: {path}: found {found}; it is read once it can be"));
                }
                return Ok(false);
            }
        };
        self.is_missing = false;
        let facts = file.metadata()?;
        let own = (facts.dev(), facts.ino());
        // Another file, and one that was cut or written over, is read from its start.
        let from = match &self.file {
            Some((known, from))
                if *known == own && facts.len() >= *from && self.is_behind(&mut file, *from)? =>
            {
                *from
            }
            _ => {
                (self.line, self.lines, self.newest) = (Vec::new(), 0, Vec::new());
                0
            }
        };
        file.seek(SeekFrom::Start(from))?;
        let mut read = Vec::new();
        file.take(READ).read_to_end(&mut read)?;
        self.file = Some((own, from + read.len() as u64));
        self.newest.extend_from_slice(&read);
        self.newest.drain(..self.newest.len().saturating_sub(REMEMBERED));
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

    /// Returns true if the bytes before a place of the file are those that were read last.
    fn is_behind(&self, file: &mut File, from: u64) -> io::Result<bool> {
        let mut before = vec![0; self.newest.len()];
        file.seek(SeekFrom::Start(from.saturating_sub(before.len() as u64)))?;
        file.read_exact(&mut before)?;
        Ok(before == self.newest)
    }

    fn take(&self, line: &[u8], now: Time, batch: &mut Vec<Query>) {
        // A line that is no UTF-8 is no JSON.
        let found = question(&self.of.schema, &String::from_utf8_lossy(line), now);
        let added = found.map_err(|refused| refused.to_string()).and_then(|found| {
            found.iter().try_for_each(|question| self.of.texts.add(question, self.lines))?;
            Ok(found)
        });
        match added {
            Ok(found) => batch.extend(found),
            Err(refused) => {
                if let Some((notice, path)) = self.of.notice.as_ref().zip(self.of.path.as_ref()) {
                    notice(&format!("{}:{}: {refused}; it is not answered", path.display(), self.lines));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
