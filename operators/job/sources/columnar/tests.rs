//! Columnar files, written by the same libraries, from bytes to records.
#![allow(clippy::unwrap_used)]
mod damage;
mod values;

use std::sync::Arc;

use arrow_array::{
    ArrayRef, Float64Array, Int64Array, ListArray, RecordBatch, StringArray, StructArray,
    TimestampMicrosecondArray,
};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use arrow_schema::{DataType, Field};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

use super::super::tests::{Given, Place, drained, of, read, stated, threads, wanted};
use super::*;
use crate::job::config::{Protected, SourceSpec};
use crate::job::sources::{Brake, Crew, FieldRequirements, InputPace, open};

/// The formats of the files of these tests, by their endings.
pub(super) const ENDINGS: [&str; 3] = ["parquet", "arrow", "arrows"];

pub(super) fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)))
        .unwrap()
}

/// A file with these batches, of the format of an ending.
pub(super) fn file(ending: &str, batches: &[RecordBatch], packed: bool) -> Vec<u8> {
    let (schema, mut bytes) = (batches[0].schema(), Vec::new());
    let options = || {
        let packing = packed.then_some(CompressionType::ZSTD);
        IpcWriteOptions::default().try_with_compression(packing).unwrap()
    };
    match ending {
        "parquet" => {
            let properties = WriterProperties::builder()
                .set_compression(if packed { Compression::SNAPPY } else { Compression::UNCOMPRESSED })
                .set_dictionary_enabled(packed)
                .set_max_row_group_row_count(Some(6_000));
            let mut writer = ArrowWriter::try_new(&mut bytes, schema, Some(properties.build())).unwrap();
            batches.iter().for_each(|batch| writer.write(batch).unwrap());
            writer.close().unwrap();
        }
        "arrow" => {
            let mut writer = FileWriter::try_new_with_options(&mut bytes, &schema, options()).unwrap();
            batches.iter().for_each(|batch| writer.write(batch).unwrap());
            writer.finish().unwrap();
        }
        _ => {
            let mut writer = StreamWriter::try_new_with_options(&mut bytes, &schema, options()).unwrap();
            batches.iter().for_each(|batch| writer.write(batch).unwrap());
            writer.finish().unwrap();
        }
    }
    bytes
}

/// A source of the files of a path.
pub(super) fn source(place: &Place, path: &str, more: &str, missing: &str) -> (SourceSpec, Protected) {
    let kind = match path.rsplit_once('.').unwrap().1 {
        "csv" => "csv",
        "parquet" => "parquet",
        _ => "arrow",
    };
    let path = place.path(path);
    let text = format!("type = \"{kind}\"\npath = {:?}\n{more}", path.to_str().unwrap());
    stated(&text, &format!("person = {{ field = \"user\", missing = \"{missing}\" }}"))
}

/// The time by the type of its column.
pub(super) const TYPED: &str = "time = { field = \"time\" }";

/// The start of the times of [`visits`], in microseconds.
const START: i64 = 1_767_225_600_000_000;

/// The number of visits: several chunks, and a last one that is short.
const VISITS: usize = 20_000;

/// Visits by time, of which some have no user, key or value; and the same as a csv file.
fn visits() -> (Vec<RecordBatch>, String) {
    let user = |row: usize| (row % 7 != 3).then(|| format!("user-{}", row * 31 % 977));
    let key =
        |row: usize| (row % 11 != 5).then(|| ["a", "b", "a long key of more than a few bytes"][row % 3]);
    let value = |row: usize| (row % 5 != 4).then_some(row as f64 / 4.0 - 17.0);
    let time = |row: usize| START + row as i64 * 250_000;
    let mut text = "user,unused,key,value,time\n".to_owned();
    for row in 0..VISITS {
        let value = value(row).map(|value| value.to_string()).unwrap_or_default();
        let (user, key) = (user(row).unwrap_or_default(), key(row).unwrap_or_default());
        text +=
            &format!("{user},x,{key},{value},{}\n", jiff::Timestamp::from_microsecond(time(row)).unwrap());
    }
    // Batches of several sizes, one of which is empty.
    let batches = [0..9_000, 9_000..9_000, 9_000..9_001, 9_001..VISITS].map(|rows| {
        let times = TimestampMicrosecondArray::from_iter_values(rows.clone().map(time)).with_timezone("UTC");
        batch(vec![
            ("time", Arc::new(times) as ArrayRef),
            ("user", Arc::new(StringArray::from_iter(rows.clone().map(user)))),
            ("unused", Arc::new(StringArray::from_iter(rows.clone().map(|_| Some("x"))))),
            ("value", Arc::new(Float64Array::from_iter(rows.clone().map(value)))),
            ("key", Arc::new(StringArray::from_iter(rows.map(key)))),
        ])
    });
    (batches.into(), text)
}

pub(super) fn keyed(time: bool) -> FieldRequirements {
    wanted(&["key"], &[("value", 2)], time)
}

// Refutes a row that is lost, doubled or changed: in any format, packed or not, on any number of workers.
#[test]
fn columns_give_the_records_of_the_same_lines() {
    let place = Place::new("columns-alike");
    let (batches, text) = visits();
    place.write("a.csv", &text);
    for missing in ["drop", "shared"] {
        let csv = source(&place, "a.csv", "time = { field = \"time\", format = \"rfc3339\" }", missing);
        let expected = read(&csv, &keyed(true), 1).unwrap();
        assert!(expected.len() > VISITS / 2);
        for ending in ENDINGS {
            for (packed, workers) in [(false, 1), (true, 1), (true, 3)] {
                let name = format!("a.{ending}");
                place.write(&name, file(ending, &batches, packed));
                let found = read(&source(&place, &name, TYPED, missing), &keyed(true), workers).unwrap();
                assert!(found == expected, "{name} {packed} {workers}: {} rows", found.len());
            }
        }
    }
    // A record without a person, where one is required, cannot be read.
    for ending in ENDINGS {
        let gone =
            read(&source(&place, &format!("a.{ending}"), TYPED, "reject"), &keyed(true), 1).unwrap_err();
        assert!(gone.to_string().contains("more than 0 lines cannot be read"), "{gone}");
    }
}

// Refutes rows of a file that two processes have, or none; and files of which every first chunk goes to one
// worker.
#[test]
fn processes_have_each_row_once() {
    let place = Place::new("columns-processes");
    let (batches, _) = visits();
    for ending in ENDINGS {
        for name in ["a", "b"] {
            place.write(&format!("{name}.{ending}"), file(ending, &batches, true));
        }
        let source = source(&place, &format!("*.{ending}"), TYPED, "shared");
        let parts = [0, 1].map(|process| {
            let crew = Crew { process, processes: 2, threads: 2 };
            let input =
                open(&source.0, &source.1, keyed(true), InputPace::Bounded, crew, Brake::new()).unwrap();
            drained((0..2).map(|own| input.part(process * 2 + own)).collect()).unwrap()
        });
        let parts = parts.concat();
        assert!(parts.iter().all(|part| part.len() > VISITS / 8), "each worker has some");
        let mut all: Vec<Given> = parts.concat();
        all.sort();
        let mut expected = read(&source, &keyed(true), 1).unwrap();
        expected.sort();
        assert!(all == expected && all.len() == VISITS * 2, "{ending}: {}", all.len());
    }
}

// Refutes order that is compared within a chunk alone, and a replay that fails on rows in order.
#[test]
fn rows_out_of_order_end_a_sorted_replay() {
    let place = Place::new("columns-sorted");
    let (batches, _) = visits();
    let sorted = format!("{TYPED}\norder = \"sorted\"");
    for ending in ENDINGS {
        let name = format!("a.{ending}");
        place.write(&name, file(ending, &batches, false));
        let source = source(&place, &name, &sorted, "shared");
        for workers in [1, 2] {
            assert_eq!(read(&source, &keyed(true), workers).unwrap().len(), VISITS);
        }
        let turned = [batches[3].clone(), batches[0].clone()];
        place.write(&name, file(ending, &turned, false));
        for workers in [1, 2] {
            let gone = read(&source, &keyed(true), workers).unwrap_err();
            assert!(gone.to_string().contains("a line is earlier than one before it"), "{gone}");
        }
    }
}

// Refutes a column that is decoded though the job does not need it: its text is no UTF-8.
#[test]
fn columns_that_are_not_wanted_are_not_decoded() {
    let place = Place::new("columns-pruned");
    let (batches, _) = visits();
    for ending in ENDINGS {
        let name = format!("a.{ending}");
        let mut bytes = file(ending, &batches, false);
        let text = b"a long key of more than a few bytes";
        let at = bytes.windows(text.len()).position(|window| window == text).unwrap();
        bytes[at] = 0xff;
        place.write(&name, bytes);
        let source = source(&place, &name, TYPED, "shared");
        let unkeyed = wanted(&[], &[("value", 2)], true);
        assert_eq!(read(&source, &unkeyed, 1).unwrap().len(), VISITS);
        let gone = read(&source, &keyed(true), 1).unwrap_err().to_string();
        assert!(gone.contains("damaged"), "{gone}");
    }
}

// Refutes rows that are lost where a job needs no column at all.
#[test]
fn rows_count_where_no_column_is_wanted() {
    let place = Place::new("columns-none");
    let (batches, _) = visits();
    for ending in ENDINGS {
        let name = format!("a.{ending}");
        place.write(&name, file(ending, &batches, true));
        let (source, _) = source(&place, &name, "", "shared");
        let found = read(&(source, Protected::Record), &wanted(&[], &[], false), 2).unwrap();
        assert_eq!(found.len(), VISITS);
    }
}

// Refutes a progress that ends short of its total, or beyond it, where some columns are not read.
#[test]
fn the_progress_of_a_file_ends_at_its_length() {
    let place = Place::new("columns-progress");
    let (batches, _) = visits();
    for ending in ENDINGS {
        let name = format!("a.{ending}");
        place.write(&name, file(ending, &batches, true));
        let source = source(&place, &name, TYPED, "shared");
        for wanted in [keyed(true), wanted(&[], &[], false)] {
            let input =
                open(&source.0, &source.1, wanted, InputPace::Bounded, threads(1), Brake::new()).unwrap();
            drained(of(&input, 1)).unwrap();
            let progress = input.progress();
            assert_eq!(Some(progress.read()), progress.total(), "{ending}");
        }
    }
}

/// A visit with more columns.
fn with(more: Vec<(&str, ArrayRef)>) -> RecordBatch {
    let mut columns: Vec<(&str, ArrayRef)> = vec![
        ("user", Arc::new(StringArray::from(vec!["s3cr3t"]))),
        ("key", Arc::new(StringArray::from(vec!["s3cr3t"]))),
        ("value", Arc::new(Int64Array::from(vec![1]))),
    ];
    columns.retain(|(name, _)| more.iter().all(|(other, _)| other != name));
    columns.extend(more);
    batch(columns)
}

// Refutes a column that is read as something else than it is, and a refusal without the column or the remedy.
#[test]
fn columns_that_do_not_fit_are_refused_by_name() {
    let place = Place::new("columns-refused");
    let texts = || Arc::new(StringArray::from(vec!["2026-01-01T00:00:00Z"])) as ArrayRef;
    let moments = || Arc::new(TimestampMicrosecondArray::from(vec![START])) as ArrayRef;
    let twice = vec![("time", moments()), ("value", texts()), ("value", texts())];
    let list: ArrayRef =
        Arc::new(ListArray::from_iter_primitive::<arrow_array::types::Int64Type, _, _>([Some([Some(1)])]));
    let inner = Arc::new(Field::new("s3cr3t", DataType::Utf8, true));
    let parts: ArrayRef = Arc::new(StructArray::from(vec![(inner, texts())]));
    let formatted = "time = { field = \"time\", format = \"rfc3339\" }";
    for ending in ENDINGS {
        let name = format!("a.{ending}");
        for (batch, time, words) in [
            (with(vec![]), TYPED, "no column named time; name columns of its schema"),
            (with(twice.clone()), TYPED, "two columns named value; name each column once"),
            (
                with(vec![("time", moments()), ("value", list.clone())]),
                TYPED,
                "column value has the type List, ",
            ),
            (
                with(vec![("time", moments()), ("key", parts.clone())]),
                TYPED,
                "column key has the type Struct, ",
            ),
            (
                with(vec![("time", texts())]),
                TYPED,
                "column time is neither a timestamp nor a date; say in source",
            ),
            (with(vec![("time", moments())]), formatted, "column time is a timestamp or a date, "),
        ] {
            place.write(&name, file(ending, &[batch], false));
            let gone = read(&source(&place, &name, time, "drop"), &keyed(true), 1).unwrap_err();
            let text = gone.to_string();
            assert!(gone.is_refused() && text.contains(words) && text.contains(&name), "{text}");
            assert!(!text.contains("s3cr3t"), "{text}");
        }
        // Columns of the same kinds that the job does not need do no harm.
        let odd = with(vec![("time", texts()), ("list", list.clone()), ("parts", parts.clone())]);
        place.write(&name, file(ending, &[odd], false));
        assert_eq!(read(&source(&place, &name, formatted, "drop"), &keyed(true), 1).unwrap().len(), 1);
    }
    // A pipe has no places.
    let pipe = place.path("pipe.arrow");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let gone = read(&source(&place, "pipe.arrow", TYPED, "drop"), &keyed(true), 1).unwrap_err();
    assert!(gone.is_refused() && gone.to_string().contains("no regular file, and columnar files"), "{gone}");
}
