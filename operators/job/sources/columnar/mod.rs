//! Columnar files: Parquet, and Arrow IPC in its file format and its stream format.
//!
//! *file → wanted columns → batches of rows → dealt to workers → cells there, row by row → records.*
//!
//! The reading thread decodes, and only the wanted columns; a worker writes the values of a row as the texts
//! that a line would have ([`cells`]), and what follows is the way of a line. So a columnar file and a csv
//! file of the same texts give the same records, and numbers stay exact. A file is read at its places
//! ([`file`]) and never held as a whole: of a Parquet file some pages of each wanted column, of an Arrow file
//! one record batch.
//!
//! Rows are dealt in chunks of [`ROWS`], by their place in the file: several processes read the same files,
//! each keeps its own workers' chunks, and together they have every row once.
//!
//! **A file that is damaged ends the source**, also where a decoder panics: its message may contain a value,
//! and is not printed. A value that cannot be read makes its row unreadable, which is counted.

mod cells;
mod file;
mod ipc;
mod schema;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Fields, Schema, SchemaRef, TimeUnit};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use parquet::basic::{Compression, Type as PhysicalType};
use parquet::schema::types::Type as ParquetType;

use super::dealer::{Dealer, Progress};
use super::reader::{Hash, ReadStop, unreadable};
use crate::dataflow::{SourceError, silently};
pub(super) use cells::Rows;
use file::{ParquetFile, PlacedFile};
use ipc::ArrowFile;
pub(super) use schema::WantedColumns;
use schema::{ColumnPlaces, FileFormat};

/// The number of rows of a chunk, and of a batch that is decoded at once.
const ROWS: usize = 4_096;

/// The error of a file that cannot be decoded. The decoder's message is left out: it may contain a value.
#[derive(Debug)]
struct Damaged;

impl<E: std::error::Error> From<E> for Damaged {
    fn from(_: E) -> Damaged {
        Damaged
    }
}

/// The batches of a file, and the places of the wanted columns in each.
type Batches = (Box<dyn Iterator<Item = Result<RecordBatch, Damaged>>>, Vec<usize>);

/// Reads the wanted columns of a file, and deals its rows to the workers.
pub(super) fn read_columns(
    path: &Path,
    turn: u64,
    hash: Option<Hash>,
    wanted: &WantedColumns,
    dealer: &mut Dealer,
    progress: &Arc<Progress>,
) -> Result<Option<Hash>, ReadStop> {
    let place = path.display().to_string();
    dealer.begin(&place, 0);
    let file = PlacedFile::open(path, progress, hash).map_err(|error| unreadable(&place, &error))?;
    let file = Arc::new(file);
    let (mut batches, columns) = undamaged(&place, wanted, || match wanted.format {
        FileFormat::Parquet => open_parquet(&file, wanted, &place),
        FileFormat::Arrow => open_arrow(&file, wanted, &place),
    })??;
    let mut turn = turn;
    loop {
        dealer.wait()?;
        let chunks = undamaged(&place, wanted, || {
            Ok(batches.next().transpose()?.map(|batch| chunks(&batch, &columns)))
        })?;
        let Some(chunks) = chunks else { return Ok(file.finish()) };
        for rows in chunks {
            dealer.wait()?;
            dealer.deal_rows(rows, turn)?;
            turn = turn.wrapping_add(1);
        }
    }
}

/// The rows of a batch in chunks.
fn chunks(batch: &RecordBatch, columns: &[usize]) -> Vec<Rows> {
    let from = (0..batch.num_rows()).step_by(ROWS);
    from.map(|from| Rows::new(&batch.slice(from, ROWS.min(batch.num_rows() - from)), columns)).collect()
}

/// Calls a decoder, and makes an error of one that fails or panics.
fn undamaged<T>(
    place: &str,
    wanted: &WantedColumns,
    decode: impl FnOnce() -> Result<T, Damaged>,
) -> Result<T, SourceError> {
    match silently(decode) {
        Some(Ok(decoded)) => Ok(decoded),
        Some(Err(Damaged)) | None => {
            let name = wanted.format.name();
            Err(SourceError::lost(place)
                .because(format!("it is no {name} file, is damaged or ends too soon; write it again")))
        }
    }
}

fn open_parquet(
    file: &Arc<PlacedFile>,
    wanted: &WantedColumns,
    place: &str,
) -> Result<Result<Batches, SourceError>, Damaged> {
    let source = ParquetFile(Arc::clone(file));
    let mut described = ArrowReaderMetadata::load(&source, ArrowReaderOptions::new())?;
    if let Some(schema) = in_microseconds(&described) {
        let options = ArrowReaderOptions::new().with_schema(schema);
        described = ArrowReaderMetadata::try_new(Arc::clone(described.metadata()), options)?;
    }
    let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(source, described);
    let places = match wanted.find(builder.schema(), place) {
        Ok(places) => places,
        Err(refused) => return Ok(Err(refused)),
    };
    let ColumnPlaces { in_file, in_batch } = places;
    let mask = ProjectionMask::roots(builder.parquet_schema(), in_file);
    let metadata = Arc::clone(builder.metadata());
    for group in metadata.row_groups() {
        for (leaf, column) in group.columns().iter().enumerate() {
            if !mask.leaf_included(leaf) {
                continue;
            }
            // A wanted column has one value or null a row.
            if column.num_values() != group.num_rows() {
                return Err(Damaged);
            }
            if !is_unpacked(column.compression()) {
                let (name, codec) = (column.column_path().string(), codec(column.compression()));
                let why = format!(
                    "column {name} is packed with {codec}, which is not read; write it with zstd, snappy, gzip or lz4"
                );
                return Ok(Err(SourceError::refused(place).because(why)));
            }
        }
    }
    let rows = metadata.file_metadata().num_rows();
    let reader = builder.with_projection(mask).with_batch_size(ROWS).build()?;
    let batches = Whole { batches: reader, rows };
    Ok(Ok((Box::new(batches), in_batch)))
}

/// The schema of a file that has timestamps of 96 bits, with these in microseconds; `None` of any other. They
/// reach further than 64 bits of nanoseconds, in which the reader would wrap those from the year 2263 on.
fn in_microseconds(described: &ArrowReaderMetadata) -> Option<SchemaRef> {
    let stored = described.parquet_schema().root_schema().get_fields();
    let is_long = |kind: &ParquetType| kind.is_primitive() && kind.get_physical_type() == PhysicalType::INT96;
    if !stored.iter().any(|kind| is_long(kind)) {
        return None;
    }
    let fields =
        described.schema().fields().iter().zip(stored).map(|(field, kind)| match field.data_type() {
            DataType::Timestamp(_, zone) if is_long(kind) => {
                let kind = DataType::Timestamp(TimeUnit::Microsecond, zone.clone());
                Arc::new(field.as_ref().clone().with_data_type(kind))
            }
            _ => Arc::clone(field),
        });
    Some(Arc::new(Schema::new_with_metadata(
        fields.collect::<Fields>(),
        described.schema().metadata().clone(),
    )))
}

fn is_unpacked(compression: Compression) -> bool {
    matches!(
        compression,
        Compression::UNCOMPRESSED
            | Compression::SNAPPY
            | Compression::GZIP(_)
            | Compression::LZ4
            | Compression::LZ4_RAW
            | Compression::ZSTD(_)
    )
}

/// The name of a compression without its level.
fn codec(compression: Compression) -> String {
    let name = compression.to_string();
    name.split('(').next().unwrap_or_default().to_lowercase()
}

/// Batches that must have a stated number of rows together: pages that end too soon are no error of their
/// own.
struct Whole<B> {
    batches: B,
    /// The rows that are still to come.
    rows: i64,
}

impl<B, E: std::error::Error> Iterator for Whole<B>
where
    B: Iterator<Item = Result<RecordBatch, E>>,
{
    type Item = Result<RecordBatch, Damaged>;

    fn next(&mut self) -> Option<Result<RecordBatch, Damaged>> {
        match self.batches.next() {
            Some(Ok(batch)) => {
                self.rows = self.rows.wrapping_sub(batch.num_rows() as i64);
                Some(Ok(batch))
            }
            Some(Err(_)) => Some(Err(Damaged)),
            None if self.rows != 0 => Some(Err(Damaged)),
            None => None,
        }
    }
}

fn open_arrow(
    file: &Arc<PlacedFile>,
    wanted: &WantedColumns,
    place: &str,
) -> Result<Result<Batches, SourceError>, Damaged> {
    let arrow = ArrowFile::open(Arc::clone(file))?;
    let places = match wanted.find(arrow.schema(), place) {
        Ok(places) => places,
        Err(refused) => return Ok(Err(refused)),
    };
    Ok(Ok((Box::new(arrow.batches(places.in_file)?), places.in_batch)))
}
