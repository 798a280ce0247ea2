//! The rows of a batch as cells: the text that each value has in a line.

use std::io::Write;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, TimeUnit};

use crate::job::sources::lines::{Bad, LineFault};
use crate::job::sources::wanted::LineCells;

/// Some rows of a batch, of which the first ones were read.
pub(in crate::job::sources) struct Rows {
    /// The columns, in the order of the cells.
    columns: Vec<Column>,
    rows: usize,
    at: usize,
}

struct Column {
    array: ArrayRef,
    /// The values of a dictionary, and for each row the place of its value in it.
    dictionary: Option<(ArrayRef, Vec<usize>)>,
}

impl Rows {
    /// The rows of a batch, with its columns that the cells have in their order.
    pub(super) fn new(batch: &RecordBatch, columns: &[usize]) -> Rows {
        let columns = columns.iter().filter_map(|column| batch.columns().get(*column)).map(Column::new);
        Rows { columns: columns.collect(), rows: batch.num_rows(), at: 0 }
    }

    /// The number of rows that were not read.
    pub(in crate::job::sources) fn remaining(&self) -> usize {
        self.rows - self.at
    }

    /// Reads the cells of the next row, which have these names. None of them may have more bytes than `longest`.
    pub(in crate::job::sources) fn read(
        &mut self,
        cells: &mut LineCells,
        names: &[String],
        longest: usize,
    ) -> Result<(), LineFault> {
        cells.clear();
        let row = self.at;
        self.at += 1;
        for (cell, column) in self.columns.iter().enumerate() {
            let Some((array, row)) = column.value(row) else { continue };
            let mut written = Ok(());
            cells.write(cell, |beside| written = write(array, row, longest, beside));
            written.map_err(|Bad| {
                let (found, wanted) = unwritten(array.data_type());
                LineFault { field: names.get(cell).cloned(), found: found.into(), wanted: wanted.into() }
            })?;
        }
        Ok(())
    }
}

/// The words for a value of this type that has no text, and for one that has.
fn unwritten(kind: &DataType) -> (&'static str, &'static str) {
    match kind {
        DataType::Float32 | DataType::Float64 => ("NaN or an infinity", "a number"),
        DataType::Date32 | DataType::Date64 | DataType::Timestamp(..) => {
            ("a time before the year 0 or after 9999", "a time of these years")
        }
        _ => ("more than 1 MB", "a value of at most 1 MB"),
    }
}

impl Column {
    fn new(array: &ArrayRef) -> Column {
        let dictionary = array.as_any_dictionary_opt().filter(|dictionary| !dictionary.values().is_empty());
        Column {
            dictionary: dictionary
                .map(|dictionary| (Arc::clone(dictionary.values()), dictionary.normalized_keys())),
            array: Arc::clone(array),
        }
    }

    /// The array and the place in it of the value of a row; `None` of a null.
    #[inline]
    fn value(&self, row: usize) -> Option<(&ArrayRef, usize)> {
        // An array of nulls has no mask of them.
        if self.array.is_null(row) || *self.array.data_type() == DataType::Null {
            return None;
        }
        match &self.dictionary {
            None => Some((&self.array, row)),
            Some((values, places)) => {
                places.get(row).filter(|place| !values.is_null(**place)).map(|place| (values, *place))
            }
        }
    }
}

/// Writes a value that is no null. Numbers are exact: a float is written as the shortest decimal that is read
/// as the same float, and everything that follows reads that decimal.
fn write(array: &ArrayRef, row: usize, longest: usize, text: &mut Vec<u8>) -> Result<(), Bad> {
    macro_rules! number {
        ($kind:ty) => {
            write!(text, "{}", array.as_primitive::<$kind>().value(row)).map_err(|_| Bad)
        };
    }
    macro_rules! float {
        ($kind:ty) => {
            match array.as_primitive::<$kind>().value(row) {
                float if float.is_finite() => write!(text, "{float}").map_err(|_| Bad),
                _ => Err(Bad),
            }
        };
    }
    macro_rules! decimal {
        ($kind:ty) => {{
            text.extend_from_slice(array.as_primitive::<$kind>().value_as_string(row).as_bytes());
            Ok(())
        }};
    }
    let mut bytes = |bytes: &[u8]| {
        if bytes.len() > longest {
            return Err(Bad);
        }
        text.extend_from_slice(bytes);
        Ok(())
    };
    match array.data_type() {
        DataType::Utf8 => bytes(array.as_string::<i32>().value(row).as_bytes()),
        DataType::LargeUtf8 => bytes(array.as_string::<i64>().value(row).as_bytes()),
        DataType::Utf8View => bytes(array.as_string_view().value(row).as_bytes()),
        DataType::Binary => bytes(array.as_binary::<i32>().value(row)),
        DataType::LargeBinary => bytes(array.as_binary::<i64>().value(row)),
        DataType::BinaryView => bytes(array.as_binary_view().value(row)),
        DataType::FixedSizeBinary(_) => bytes(array.as_fixed_size_binary().value(row)),
        DataType::Boolean => bytes(if array.as_boolean().value(row) { b"true" } else { b"false" }),
        DataType::Int8 => number!(Int8Type),
        DataType::Int16 => number!(Int16Type),
        DataType::Int32 => number!(Int32Type),
        DataType::Int64 => number!(Int64Type),
        DataType::UInt8 => number!(UInt8Type),
        DataType::UInt16 => number!(UInt16Type),
        DataType::UInt32 => number!(UInt32Type),
        DataType::UInt64 => number!(UInt64Type),
        DataType::Float32 => float!(Float32Type),
        DataType::Float64 => float!(Float64Type),
        DataType::Decimal32(..) => decimal!(Decimal32Type),
        DataType::Decimal64(..) => decimal!(Decimal64Type),
        DataType::Decimal128(..) => decimal!(Decimal128Type),
        DataType::Decimal256(..) => decimal!(Decimal256Type),
        DataType::Date32 => write_date(array.as_primitive::<Date32Type>().value(row).into(), text),
        // A date in milliseconds is a whole number of days.
        DataType::Date64 => match array.as_primitive::<Date64Type>().value(row) {
            time if time % 86_400_000 == 0 => write_date(time / 86_400_000, text),
            _ => Err(Bad),
        },
        DataType::Timestamp(unit, zone) => {
            let (time, digits) = match unit {
                TimeUnit::Second => (array.as_primitive::<TimestampSecondType>().value(row), 0),
                TimeUnit::Millisecond => (array.as_primitive::<TimestampMillisecondType>().value(row), 3),
                TimeUnit::Microsecond => (array.as_primitive::<TimestampMicrosecondType>().value(row), 6),
                TimeUnit::Nanosecond => (array.as_primitive::<TimestampNanosecondType>().value(row), 9),
            };
            write_timestamp(time, digits, zone.is_some(), text)
        }
        _ => Err(Bad),
    }
}

/// Writes a timestamp in units of 10^-`digits` seconds as RFC 3339 does, and with a zone as a moment of UTC.
pub(super) fn write_timestamp(time: i64, digits: u32, zoned: bool, text: &mut Vec<u8>) -> Result<(), Bad> {
    let unit = 10i64.pow(digits);
    let (second, mut fraction) = (time.div_euclid(unit), time.rem_euclid(unit));
    write_date(second.div_euclid(86_400), text)?;
    let of_day = second.rem_euclid(86_400);
    for (mark, number) in [(b'T', of_day / 3_600), (b':', of_day / 60 % 60), (b':', of_day % 60)] {
        text.push(mark);
        write_two(number, text);
    }
    if fraction > 0 {
        text.push(b'.');
    }
    let mut place = unit / 10;
    while fraction > 0 {
        text.push(digit(fraction / place));
        (fraction, place) = (fraction % place, place / 10);
    }
    if zoned {
        text.push(b'Z');
    }
    Ok(())
}

/// Writes a day, counted from 1970 on, of the years 0 to 9999 (Hinnant, "chrono-compatible low-level date
/// algorithms").
pub(super) fn write_date(day: i64, text: &mut Vec<u8>) -> Result<(), Bad> {
    let day = day.checked_add(719_468).ok_or(Bad)?;
    let (era, of_era) = (day.div_euclid(146_097), day.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (year, month) =
        (year + era * 400 + i64::from(month >= 10), if month < 10 { month + 3 } else { month - 9 });
    if !(0..=9_999).contains(&year) {
        return Err(Bad);
    }
    write_two(year / 100, text);
    write_two(year % 100, text);
    for number in [month, day] {
        text.push(b'-');
        write_two(number, text);
    }
    Ok(())
}

fn write_two(number: i64, text: &mut Vec<u8>) {
    text.extend([digit(number / 10), digit(number % 10)]);
}

fn digit(digit: i64) -> u8 {
    b'0' + digit as u8
}
