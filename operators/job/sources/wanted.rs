//! The fields that a job reads of each line, and the cells in which they stand.

use std::collections::BTreeSet;
use std::sync::Arc;

use smallvec::SmallVec;

use super::identity::LONGEST_ID;
use super::survey::Survey;
use crate::canonical::{Canonical, Digest};
use crate::dataflow::SourceError;
use crate::job::condition::Condition;
use crate::job::config::{Missing, Protected, RecordFormat, RecordOrder, SourceSpec};
use crate::job::derived::{DerivedField, DerivedFields};
use crate::job::expression::Expression;
use crate::time::Time;

/// The key of a record for a release: the texts of fields, if a condition holds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct KeyField {
    /// The names of the fields; none where the release has no keys.
    pub(crate) fields: Vec<String>,
    /// The condition of the records that count for the release, if there is one.
    pub(crate) condition: Option<Condition>,
}

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
    /// The keys, each once.
    pub(crate) keys: Vec<KeyField>,
    /// The fields that hold values, each once with the same digits.
    pub(crate) values: Vec<NumberField>,
    /// The derived fields of the job.
    pub(crate) derived: DerivedFields,
    /// The key of the hash by which long ids are held.
    pub(crate) secret: [u8; 32],
    /// True where a release has windows that begin or end.
    pub(crate) time: bool,
    /// The span of time over which synthetic records are spread; one day of January 2026 where it is `None`.
    pub(crate) span: Option<(Time, Time)>,
    /// The survey that counts the records.
    pub(crate) survey: Arc<Survey>,
}

/// Returns the fields of which a line needs a readable value: those of the source that are read, and those of them that are
/// numbers.
///
/// # Errors
///
/// If no field has the times, which are needed.
pub(in crate::job) fn fields_read(
    source: &SourceSpec,
    person: &Protected,
    wanted: &FieldRequirements,
) -> Result<BTreeSet<Digest>, SourceError> {
    let layout = CellLayout::new(source, person, wanted)?;
    let field = |kind: &str, name: &String| Canonical::new("discreet field 1").text(kind).text(name).finish();
    let numbers = layout.values.iter().filter_map(|(cell, _)| layout.fields.get(*cell));
    let numbers = numbers.map(|name| field("number", name));
    Ok(layout.fields.iter().map(|name| field("any", name)).chain(numbers).collect())
}

/// The use of each cell of a line. Cells are numbered by the wanted fields of the source, each once, and then by the derived ones,
/// each behind those that it is made of.
#[derive(Clone)]
pub(super) struct CellLayout {
    /// The names of the fields of the source.
    pub(super) fields: Vec<String>,
    /// The names of all cells.
    pub(super) names: Vec<String>,
    /// The expressions of the derived fields, each with the cells of its fields.
    pub(super) derived: Vec<(Expression, Vec<usize>)>,
    pub(super) person: Option<(usize, Missing)>,
    pub(super) id: Option<usize>,
    /// The condition of the records that count, if there is one.
    pub(super) condition: Option<PlacedCondition>,
    pub(super) time: Option<usize>,
    /// True where records carry their time.
    pub(super) timed: bool,
    pub(super) sorted: bool,
    pub(super) keys: Vec<KeyCells>,
    /// The cells of the values, each with the number of digits behind the point that it is counted in.
    pub(super) values: Vec<(usize, i32)>,
    pub(super) secret: [u8; 32],
}

/// The key of a record, by the cells of its fields.
#[derive(Clone)]
pub(super) struct KeyCells {
    pub(super) cells: SmallVec<[usize; 2]>,
    pub(super) condition: Option<PlacedCondition>,
}

/// A condition with the cells of its fields.
#[derive(Clone)]
pub(super) struct PlacedCondition {
    condition: Condition,
    cells: Vec<usize>,
}

impl PlacedCondition {
    /// Returns true if it holds for the record of a line.
    #[inline]
    pub(super) fn holds(&self, time: Option<Time>, line: &[u8], cells: &LineCells) -> bool {
        self.condition.holds(time, |at| cells.found(line, *self.cells.get(at)?))
    }
}

/// The cells of the fields that a job reads, as they are collected.
struct WantedFields<'w> {
    all: &'w DerivedFields,
    fields: Vec<String>,
    derived: Vec<&'w DerivedField>,
}

impl WantedFields<'_> {
    /// Wants a field of the source, whatever derived field has its name.
    fn want_from_source(&mut self, name: &str) {
        if !self.fields.iter().any(|field| field == name) {
            self.fields.push(name.to_owned());
        }
    }

    /// Wants a field, with those that it is made of.
    fn want(&mut self, name: &str) {
        let behind = self.all.all_behind(&[name]);
        if behind.is_empty() {
            return self.want_from_source(name);
        }
        for field in behind {
            for of in field.expression.fields() {
                if of == field.name || self.all.get(of).is_none() {
                    self.want_from_source(of);
                }
            }
            if !self.derived.iter().any(|other| other.name == field.name) {
                self.derived.push(field);
            }
        }
    }

    fn cell_from_source(&self, name: &str) -> usize {
        self.fields.iter().position(|field| field == name).unwrap_or(usize::MAX)
    }

    /// Returns the cell of a wanted field.
    fn cell(&self, name: &str) -> usize {
        let derived = self.derived.iter().position(|field| field.name == name);
        derived.map_or_else(|| self.cell_from_source(name), |at| self.fields.len() + at)
    }

    fn placed(&self, condition: &Condition) -> PlacedCondition {
        let cells = condition.fields().map(|name| self.cell(name)).collect();
        PlacedCondition { condition: condition.clone(), cells }
    }

    /// Returns the expressions of the derived fields with the cells of their fields.
    fn expressions(&self) -> Vec<(Expression, Vec<usize>)> {
        let placed = |field: &&DerivedField| {
            let cell = |of: &str| match of == field.name {
                true => self.cell_from_source(of),
                false => self.cell(of),
            };
            (field.expression.clone(), field.expression.fields().map(cell).collect())
        };
        self.derived.iter().map(placed).collect()
    }
}

impl CellLayout {
    pub(super) fn new(
        source: &SourceSpec,
        person: &Protected,
        wanted: &FieldRequirements,
    ) -> Result<CellLayout, SourceError> {
        let mut cells = WantedFields { all: &wanted.derived, fields: Vec::new(), derived: Vec::new() };
        let sorted = source.order == RecordOrder::Sorted;
        if let Protected::Person { field, .. } = person {
            cells.want_from_source(field);
        }
        let keys = || wanted.keys.iter().flat_map(|key| &key.fields).map(String::as_str);
        let values = || wanted.values.iter().map(|value| value.field.as_str());
        let conditions =
            || source.condition.iter().chain(wanted.keys.iter().filter_map(|key| key.condition.as_ref()));
        let compared = || conditions().flat_map(Condition::fields);
        let read: Vec<&str> = compared().chain(keys()).chain(values()).collect();
        let needs_time = wanted.time
            || sorted
            || conditions().any(Condition::has_time)
            || wanted.derived.all_behind(&read).iter().any(|field| field.expression.has_time());
        let made_up = matches!(source.records, RecordFormat::Synthetic(_));
        let time = match &source.time {
            Some(time) if needs_time => Some(&time.field),
            None if made_up => None,
            None if wanted.time || sorted => {
                return Err(SourceError::refused("[source] time")
                    .because("no field says when a record happened; name it"));
            }
            _ => None,
        };
        compared().for_each(|name| cells.want(name));
        time.into_iter().for_each(|time| cells.want_from_source(time));
        if let Some(id) = &source.id {
            cells.want_from_source(id);
        }
        keys().chain(values()).for_each(|name| cells.want(name));
        // From here on there is no further cell, so that those of derived fields have their places.
        let person = match person {
            Protected::Person { field, missing } => Some((cells.cell_from_source(field), *missing)),
            Protected::Record => None,
        };
        let key = |key: &KeyField| KeyCells {
            cells: key.fields.iter().map(|field| cells.cell(field)).collect(),
            condition: key.condition.as_ref().map(|condition| cells.placed(condition)),
        };
        Ok(CellLayout {
            derived: cells.expressions(),
            person,
            id: source.id.as_deref().map(|id| cells.cell_from_source(id)),
            condition: source.condition.as_ref().map(|condition| cells.placed(condition)),
            time: time.map(|time| cells.cell_from_source(time)),
            timed: wanted.time,
            sorted,
            keys: wanted.keys.iter().map(key).collect(),
            values: wanted.values.iter().map(|value| (cells.cell(&value.field), value.digits)).collect(),
            secret: wanted.secret,
            names: cells
                .fields
                .iter()
                .cloned()
                .chain(cells.derived.iter().map(|field| field.name.clone()))
                .collect(),
            fields: cells.fields,
        })
    }
}

/// The cells of one line: ranges of the line, or of a buffer beside it where they cannot be read in place.
#[derive(Clone, Default)]
pub(super) struct LineCells {
    places: Vec<CellPlace>,
    beside: Vec<u8>,
    elements: Option<Elements>,
}

/// The cells of the elements of a line whose format explodes an array.
#[derive(Clone, Default)]
struct Elements {
    /// The cells of an element.
    cells: Vec<usize>,
    /// The places of these cells, element by element.
    places: Vec<CellPlace>,
    count: usize,
    /// The element that the cells are of.
    chosen: usize,
    /// The length of the buffer beside the line before anything was derived.
    beside: usize,
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
        LineCells { places: vec![CellPlace::Absent; fields], ..LineCells::default() }
    }

    /// Clears the cells of the line before.
    #[inline]
    pub(super) fn clear(&mut self) {
        self.places.fill(CellPlace::Absent);
        self.beside.clear();
        if let Some(elements) = &mut self.elements {
            elements.places.clear();
            elements.count = 0;
        }
    }

    /// Makes each element of the line a record with these cells of its own.
    pub(super) fn explode(&mut self, cells: &[usize]) {
        self.elements.get_or_insert_with(|| Elements { cells: cells.to_vec(), ..Elements::default() });
    }

    /// Ends an element: its cells are kept, and those of the next one are empty.
    pub(super) fn end_element(&mut self) {
        let Some(elements) = &mut self.elements else { return };
        for cell in &elements.cells {
            elements.places.extend(self.places.get_mut(*cell).map(std::mem::take));
        }
        elements.count += 1;
    }

    /// Ends a line: what is written from here on is derived, and of one element.
    pub(super) fn end_line(&mut self) {
        if let Some(elements) = &mut self.elements {
            elements.beside = self.beside.len();
        }
    }

    /// Returns the number of records of the line: of its elements, or one.
    #[inline]
    pub(super) fn records(&self) -> usize {
        self.elements.as_ref().map_or(1, |elements| elements.count)
    }

    /// Turns to one of the records of the line.
    #[inline]
    pub(super) fn turn_to(&mut self, record: usize) {
        let Some(elements) = &mut self.elements else { return };
        let own = elements.places.chunks(elements.cells.len().max(1)).nth(record).unwrap_or_default();
        for (cell, own) in elements.cells.iter().zip(own) {
            if let Some(place) = self.places.get_mut(*cell) {
                *place = *own;
            }
        }
        // What was derived of the element before would add up.
        self.beside.truncate(elements.beside);
        elements.chosen = record;
    }

    /// The index of the element that the cells are of; `None` where no array is exploded.
    #[inline]
    pub(super) fn element(&self) -> Option<u32> {
        self.elements.as_ref().map(|elements| elements.chosen as u32)
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

    /// The content of the cell; `None` where the line does not have it.
    #[inline]
    pub(super) fn found<'a>(&'a self, line: &'a [u8], cell: usize) -> Option<&'a [u8]> {
        self.has(cell).then(|| self.get(line, cell))
    }

    /// The content of the cell, unless it is longer than an id may be.
    #[inline]
    pub(super) fn id<'a>(&'a self, line: &'a [u8], cell: usize) -> Option<&'a [u8]> {
        Some(self.get(line, cell)).filter(|bytes| bytes.len() <= LONGEST_ID)
    }
}
