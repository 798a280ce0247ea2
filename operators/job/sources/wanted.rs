//! The fields that a job reads of each line, and the cells in which they stand.

use std::sync::Arc;

use super::identity::LONGEST_ID;
use super::survey::Survey;
use crate::dataflow::SourceError;
use crate::job::condition::Condition;
use crate::job::config::{Missing, Protected, RecordFormat, RecordOrder, SourceSpec};
use crate::time::Time;

/// A field with a number, and the power of ten that it is counted in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NumberField {
    /// The field's name.
    pub(crate) field: String,
    /// The digits behind the point: the value counts in steps of 10^-digits.
    pub(crate) digits: i32,
}

/// The fields and settings that a job needs from its source.
#[derive(Clone)]
pub(crate) struct FieldRequirements {
    /// The fields that hold keys, each once.
    pub(crate) keys: Vec<String>,
    /// The fields that hold values, each once with the same digits.
    pub(crate) values: Vec<NumberField>,
    /// The key of the hash by which long ids are held.
    pub(crate) secret: [u8; 32],
    /// True where a release has windows that begin or end.
    pub(crate) time: bool,
    /// The span of time over which synthetic records are spread; one day of January 2026 where it is `None`.
    pub(crate) span: Option<(Time, Time)>,
    /// The survey that counts the records.
    pub(crate) survey: Arc<Survey>,
}

/// The use of each cell of a line. Cells are numbered by the wanted fields, each once.
#[derive(Clone)]
pub(super) struct CellLayout {
    /// The names of the fields.
    pub(super) fields: Vec<String>,
    pub(super) person: Option<(usize, Missing)>,
    pub(super) id: Option<usize>,
    /// The condition of the records that count, with the cells of its fields.
    pub(super) condition: Option<(Condition, Vec<usize>)>,
    pub(super) time: Option<usize>,
    /// True where records carry their time.
    pub(super) timed: bool,
    pub(super) sorted: bool,
    pub(super) keys: Vec<usize>,
    /// The cells of the values, each with the number of digits behind the point that it is counted in.
    pub(super) values: Vec<(usize, i32)>,
    pub(super) secret: [u8; 32],
}

impl CellLayout {
    pub(super) fn new(
        source: &SourceSpec,
        person: &Protected,
        wanted: &FieldRequirements,
    ) -> Result<CellLayout, SourceError> {
        let mut fields: Vec<String> = Vec::new();
        let mut cell = |name: &str| {
            fields.iter().position(|field| field == name).unwrap_or_else(|| {
                fields.push(name.to_owned());
                fields.len() - 1
            })
        };
        let sorted = source.order == RecordOrder::Sorted;
        let person = match person {
            Protected::Person { field, missing } => Some((cell(field), *missing)),
            Protected::Record => None,
        };
        let condition = source.condition.clone().map(|condition| {
            let cells = condition.fields().map(&mut cell).collect();
            (condition, cells)
        });
        let needs_time =
            wanted.time || sorted || condition.as_ref().is_some_and(|(condition, _)| condition.has_time());
        let made_up = matches!(source.records, RecordFormat::Synthetic(_));
        let time = match &source.time {
            Some(time) if needs_time => Some(cell(&time.field)),
            None if made_up => None,
            None if wanted.time || sorted => {
                return Err(SourceError::refused("[source] time")
                    .because("no field says when a record happened; name it"));
            }
            _ => None,
        };
        let id = source.id.as_deref().map(&mut cell);
        let keys = wanted.keys.iter().map(|field| cell(field)).collect();
        let values = wanted.values.iter().map(|value| (cell(&value.field), value.digits)).collect();
        let (timed, secret) = (wanted.time, wanted.secret);
        Ok(CellLayout { fields, person, id, condition, time, timed, sorted, keys, values, secret })
    }
}

/// The cells of one line: ranges of the line, or of a buffer beside it where they cannot be read in place.
#[derive(Clone, Default)]
pub(super) struct LineCells {
    places: Vec<CellPlace>,
    beside: Vec<u8>,
}

#[derive(Clone, Copy, Default)]
enum CellPlace {
    #[default]
    Absent,
    Line(u32, u32),
    Beside(u32, u32),
}

impl LineCells {
    pub(super) fn new(fields: usize) -> LineCells {
        LineCells { places: vec![CellPlace::Absent; fields], beside: Vec::new() }
    }

    /// Clears the cells of the line before.
    #[inline]
    pub(super) fn clear(&mut self) {
        self.places.fill(CellPlace::Absent);
        self.beside.clear();
    }

    /// Sets a cell to the range of the line between two bytes. Lines are shorter than 4 GB.
    #[inline]
    pub(super) fn put(&mut self, cell: usize, from: usize, to: usize) {
        self.set(cell, CellPlace::Line(from as u32, to as u32));
    }

    /// Writes a cell into the buffer beside the line.
    pub(super) fn write(&mut self, cell: usize, write: impl FnOnce(&mut Vec<u8>)) {
        let from = self.beside.len() as u32;
        write(&mut self.beside);
        self.set(cell, CellPlace::Beside(from, self.beside.len() as u32));
    }

    #[inline]
    fn set(&mut self, cell: usize, place: CellPlace) {
        if let Some(slot) = self.places.get_mut(cell) {
            *slot = place;
        }
    }

    /// Clears a cell.
    pub(super) fn forget(&mut self, cell: usize) {
        self.set(cell, CellPlace::Absent);
    }

    /// Returns true if the line has this field.
    pub(super) fn has(&self, cell: usize) -> bool {
        !matches!(self.places.get(cell), None | Some(CellPlace::Absent))
    }

    /// The bytes of the line before the content of the cell; `None` where it is not read in place.
    pub(super) fn before<'a>(&self, line: &'a [u8], cell: usize) -> Option<&'a [u8]> {
        match self.places.get(cell) {
            Some(CellPlace::Line(from, _)) => line.get(..*from as usize),
            _ => None,
        }
    }

    /// The content of the cell; empty where there is none.
    #[inline]
    pub(super) fn get<'a>(&'a self, line: &'a [u8], cell: usize) -> &'a [u8] {
        let (bytes, from, to) = match self.places.get(cell) {
            Some(CellPlace::Line(from, to)) => (line, *from, *to),
            Some(CellPlace::Beside(from, to)) => (&self.beside[..], *from, *to),
            _ => return &[],
        };
        bytes.get(from as usize..to as usize).unwrap_or_default()
    }

    /// The content of the cell, unless it is longer than an id may be.
    #[inline]
    pub(super) fn id<'a>(&'a self, line: &'a [u8], cell: usize) -> Option<&'a [u8]> {
        Some(self.get(line, cell)).filter(|bytes| bytes.len() <= LONGEST_ID)
    }
}
