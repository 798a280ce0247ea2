//! The columns that a job reads of a file, found by their names and checked by their types.

use arrow_schema::{DataType, Schema};

use crate::dataflow::SourceError;
use crate::job::config::{RecordFormat, SourceSpec, TimeFormat};
use crate::job::sources::wanted::CellLayout;
use crate::words::listed;

/// The format of columnar files.
#[derive(Clone, Copy, Debug)]
pub(super) enum FileFormat {
    Parquet,
    Arrow,
}

impl FileFormat {
    /// The name of the format, for messages.
    pub(super) fn name(self) -> &'static str {
        match self {
            FileFormat::Parquet => "Parquet",
            FileFormat::Arrow => "Arrow",
        }
    }
}

/// The columns that a job reads.
pub(in crate::job::sources) struct WantedColumns {
    pub(super) format: FileFormat,
    /// The names of the columns, in the order of the cells.
    fields: Vec<String>,
    /// The cell of the time, and true where the type of its column is its format.
    time: Option<(usize, bool)>,
}

/// The places of the wanted columns.
#[derive(Debug)]
pub(super) struct ColumnPlaces {
    /// The columns of the file, ascending.
    pub(super) in_file: Vec<usize>,
    /// For each cell, its column among these.
    pub(super) in_batch: Vec<usize>,
}

impl WantedColumns {
    /// The columns of a layout; `None` of a source whose files have none.
    pub(in crate::job::sources) fn new(source: &SourceSpec, layout: &CellLayout) -> Option<WantedColumns> {
        let format = match source.records {
            RecordFormat::Parquet(_) => FileFormat::Parquet,
            RecordFormat::Arrow(_) => FileFormat::Arrow,
            _ => return None,
        };
        let is_typed = source.time.as_ref().is_some_and(|time| time.format == TimeFormat::Column);
        let time = layout.time.map(|cell| (cell, is_typed));
        Some(WantedColumns { format, fields: layout.fields.clone(), time })
    }

    /// Finds the columns in the schema of a file.
    ///
    /// # Errors
    ///
    /// If one is not there or not alone under its name, or has a type that is not read. As with the first
    /// line of other files, the other columns are not listed: some files have a column for each person.
    pub(super) fn find(&self, schema: &Schema, place: &str) -> Result<ColumnPlaces, SourceError> {
        let refused = |why: String| Err(SourceError::refused(place).because(why));
        let (mut found, mut missing) = (Vec::new(), Vec::new());
        for (cell, name) in self.fields.iter().enumerate() {
            let mut columns = schema.fields().iter().enumerate().filter(|(_, field)| field.name() == name);
            let (column, field) = match (columns.next(), columns.next()) {
                (Some(column), None) => column,
                (Some(_), Some(_)) => {
                    return refused(format!("two columns named {name}; name each column once"));
                }
                (None, _) => {
                    missing.push(name.as_str());
                    continue;
                }
            };
            let kind = field.data_type();
            if !is_read(kind) {
                return refused(format!(
                    "column {name} has the type {}, which is not read; write texts, numbers, truth values, dates, \
                     timestamps or bytes, each in a column of its own",
                    type_name(kind)
                ));
            }
            match self.time.filter(|(time, _)| *time == cell) {
                Some((_, true)) if !is_time(kind) => {
                    return refused(format!(
                        "column {name} is neither a timestamp nor a date; say in source.time.format how its times are \
                         written"
                    ));
                }
                Some((_, false)) if is_time(kind) => {
                    return refused(format!(
                        "column {name} is a timestamp or a date, which is read by its type; leave out source.time.format"
                    ));
                }
                _ => found.push(column),
            }
        }
        if !missing.is_empty() {
            return refused(format!(
                "no column named {}; name columns of its schema in the job file",
                listed(&missing)
            ));
        }
        let mut in_file = found.clone();
        in_file.sort_unstable();
        let in_batch = found.iter().map(|column| in_file.partition_point(|other| other < column)).collect();
        Ok(ColumnPlaces { in_file, in_batch })
    }
}

/// Returns true for a type whose values are moments or days.
fn is_time(kind: &DataType) -> bool {
    matches!(kind, DataType::Timestamp(..) | DataType::Date32 | DataType::Date64)
}

/// Returns true for a type whose values can be written as the text of a cell.
fn is_read(kind: &DataType) -> bool {
    use DataType::*;
    match kind {
        Null | Boolean | Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 | UInt64 => true,
        Float32 | Float64 | Decimal32(..) | Decimal64(..) | Decimal128(..) | Decimal256(..) => true,
        Date32 | Date64 | Timestamp(..) => true,
        Utf8 | LargeUtf8 | Utf8View | Binary | LargeBinary | BinaryView | FixedSizeBinary(_) => true,
        Dictionary(_, values) => !matches!(**values, Dictionary(..)) && is_read(values),
        _ => false,
    }
}

/// The name of a type without the names of its fields.
fn type_name(kind: &DataType) -> String {
    let name = format!("{kind:?}");
    name.split(['(', ' ']).next().unwrap_or_default().to_owned()
}
