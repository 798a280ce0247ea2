//! The texts of the questions of a file, by which the id of another question is found: an answer is kept under its id, so
//! a question that was edited would have the answer of the former one.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::canonical::Digest;
use crate::ledger::Row;
use crate::mechanisms::queries::Query;
use crate::mechanisms::release_line::{ReleaseLine, Says};

/// The questions that were read, by analyst and id.
#[derive(Clone, Default)]
pub(super) struct AskedTexts(Arc<Mutex<HashMap<Digest, AskedText>>>);

/// The hash of a question's text, and the line that has it.
#[derive(Clone, Copy)]
struct AskedText {
    text: Digest,
    line: u64,
}

impl AskedTexts {
    /// Adds the question of a line.
    ///
    /// # Errors
    ///
    /// If its id is that of another question.
    pub(super) fn add(&self, question: &Query, line: u64) -> Result<(), String> {
        let text = Digest::of(question.text().as_bytes());
        let mut texts = self.texts();
        let known = texts.entry(question.part()).or_insert(AskedText { text, line });
        if known.text != text {
            let place = match known.line == line {
                true => "which this line had before".to_owned(),
                false => format!("in line {}", known.line),
            };
            return Err(format!("id: found that of another question, {place}; give an id of its own"));
        }
        known.line = line;
        Ok(())
    }

    /// Returns the words about a question whose id has the answer of another one, once.
    pub(super) fn answered(&self, path: &Path, row: &Row) -> Option<String> {
        let part = row.release().part?;
        let lines = row.lines();
        let line = lines.lines().next().unwrap_or_default();
        let Says::Answer(answer) = ReleaseLine::read(line)?.says else { return None };
        let text = Digest::of(answer.asked.as_bytes());
        let mut texts = self.texts();
        let known = texts.get_mut(&part).filter(|known| known.text != text)?;
        known.text = text;
        Some(format!(
            "{}:{}: id: found that of another question, {}, which has its answer; give an id of its own",
            path.display(),
            known.line,
            answer.asked
        ))
    }

    fn texts(&self) -> MutexGuard<'_, HashMap<Digest, AskedText>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
