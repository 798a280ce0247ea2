//! From the cells of a line to its records.

use super::lines::Bad;
use super::number::{steps, trimmed};
use super::record::{MISSING, SourceRecord};
use super::text::Texts;
use super::times::Times;
use super::told::PersonIdentity;
use super::wanted::{CellLayout, GroupCells, LineCells};
use crate::dataflow::SourceError;
use crate::job::config::{Missing, SourceSpec};
use crate::job::text::Text;
use crate::time::Time;

/// Makes the records of one part.
pub(super) struct Maker {
    plan: CellLayout,
    times: Option<Times>,
    texts: Texts,
}

impl Maker {
    pub(super) fn new(plan: CellLayout, source: &SourceSpec) -> Result<Maker, SourceError> {
        let times = source.time.as_ref().map(|time| Times::new(&time.format, &source.zone)).transpose();
        let times =
            times.map_err(|invalid| SourceError::refused("[source] time").because(invalid.to_string()))?;
        Ok(Maker { plan, times, texts: Texts::new() })
    }

    /// When a line says that it happened.
    #[inline]
    pub(super) fn time(&mut self, line: &[u8], cells: &LineCells) -> Result<Option<Time>, Bad> {
        match (self.plan.time, &mut self.times) {
            (Some(cell), Some(times)) => times.read(cells.get(line, cell)).map(Some).ok_or(Bad),
            _ => Ok(None),
        }
    }

    /// Appends the records of a line, all of them or, where it is bad or left out, none.
    #[inline]
    pub(super) fn records<P: PersonIdentity, I: PersonIdentity>(
        &mut self,
        line: &[u8],
        cells: &LineCells,
        time: Option<Time>,
        batch: &mut Vec<SourceRecord<P, I>>,
    ) -> Result<(), Bad> {
        let secret = &self.plan.secret;
        let person = match self.plan.person {
            None => P::shared(),
            Some((cell, missing)) => match (cells.id(line, cell).ok_or(Bad)?, missing) {
                (&[], Missing::Drop) => return Ok(()),
                (&[], Missing::Reject) => return Err(Bad),
                (&[], Missing::Shared) => P::shared(),
                (bytes, _) => P::of(bytes, secret),
            },
        };
        let id = match self.plan.id {
            None => I::shared(),
            Some(cell) => match cells.id(line, cell).ok_or(Bad)? {
                [] => return Err(Bad),
                bytes => I::of(bytes, secret),
            },
        };
        let time = time.filter(|_| self.plan.timed).unwrap_or(0);
        let before = batch.len();
        for (group, GroupCells { key, value }) in self.plan.groups.iter().enumerate() {
            let value = match value {
                None => 0,
                Some((cell, digits)) => {
                    let bytes = cells.get(line, *cell);
                    match steps(bytes, *digits) {
                        // One step from the end is no matter, and the end says that there is none.
                        Some(steps) => steps.max(MISSING + 1),
                        None if trimmed(bytes).is_empty() => MISSING,
                        None => {
                            batch.truncate(before);
                            return Err(Bad);
                        }
                    }
                }
            };
            let key = match key {
                None => Text::default(),
                // One that is too long is none.
                Some(cell) => self.texts.of(cells.get(line, *cell)).unwrap_or_default(),
            };
            batch.push(SourceRecord {
                group: group as u32,
                time,
                person: person.clone(),
                id: id.clone(),
                key,
                value,
            });
        }
        Ok(())
    }
}
