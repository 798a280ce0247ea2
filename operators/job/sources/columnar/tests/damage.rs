//! Files that were cut, changed, or made to do harm.

use std::time::Instant;

use arrow_array::types::Int8Type;
use arrow_array::{Date32Array, Decimal128Array, DictionaryArray, StringViewArray};
use arrow_ipc::root_as_message;
use bytes::Bytes;
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader, ParquetMetaDataWriter};

use super::*;

/// Some records with a secret in every text, in columns of other types.
fn typed_secrets() -> Vec<RecordBatch> {
    let rows = 0..300;
    let text = |row: i64| format!("s3cr3t and more than a view holds: {}", row % 17);
    let texts: Vec<String> = rows.clone().map(text).collect();
    let users = DictionaryArray::<Int8Type>::from_iter(texts.iter().map(|text| Some(text.as_str())));
    let days = Date32Array::from_iter_values(rows.clone().map(|row| row as i32 * 50));
    let values =
        Decimal128Array::from_iter_values(rows.map(i128::from)).with_precision_and_scale(20, 3).unwrap();
    vec![batch(vec![
        ("user", Arc::new(users) as ArrayRef),
        ("key", Arc::new(StringViewArray::from_iter_values(texts))),
        ("value", Arc::new(values)),
        ("time", Arc::new(days)),
    ])]
}

/// Some records with a secret in every text.
fn secrets() -> Vec<RecordBatch> {
    let rows = 0..300;
    let text = |row: i64| format!("s3cr3t-{}", row % 17);
    let times = TimestampMicrosecondArray::from_iter_values(rows.clone().map(|row| START + row));
    vec![batch(vec![
        ("user", Arc::new(StringArray::from_iter_values(rows.clone().map(text))) as ArrayRef),
        ("key", Arc::new(StringArray::from_iter_values(rows.clone().map(text)))),
        ("value", Arc::new(Int64Array::from_iter_values(rows))),
        ("time", Arc::new(times)),
    ])]
}

/// The error of reading a file with these bytes, if there is one.
fn gone(place: &Place, ending: &str, bytes: &[u8]) -> Option<String> {
    let name = format!("a.{ending}");
    place.write(&name, bytes);
    let gone = read(&source(place, &name, TYPED, "drop"), &keyed(true), 1).err()?.to_string();
    assert!(gone.contains(&name) && gone.contains("; ") && !gone.contains("s3cr3t"), "{gone}");
    assert!(!gone.contains("its reading thread has ended"), "{gone}");
    Some(gone)
}

// Refutes a file that was cut and is read as if it were whole.
#[test]
fn a_file_that_was_cut_is_refused() {
    let place = Place::new("columns-cut");
    for ending in ENDINGS {
        for packed in [false, true] {
            let whole = file(ending, &secrets(), packed);
            assert_eq!(gone(&place, ending, &whole), None);
            let cuts = (0..whole.len()).step_by(whole.len() / 60).chain(whole.len() - 12..whole.len());
            for cut in cuts {
                let gone = gone(&place, ending, &whole[..cut]).unwrap_or_else(|| panic!("{ending} {cut}"));
                assert!(gone.contains("is damaged or ends too soon; write it again"), "{gone}");
            }
        }
        // A file of another format, and one of lines.
        for other in [
            file(if ending == "parquet" { "arrow" } else { "parquet" }, &secrets(), false),
            b"user,key\na,b\n".into(),
        ] {
            assert!(gone(&place, ending, &other).unwrap().contains("file, is damaged"));
        }
    }
}

// Refutes a decoder's panic that ends the process, one that says a value, a file that is read for ever, and
// memory of a size that the file states.
#[test]
fn a_file_that_was_changed_is_read_or_refused() {
    let place = Place::new("columns-changed");
    let mut random = 0x9e37_79b9_7f4a_7c15u64;
    let mut below = |limit: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random % limit as u64) as usize
    };
    let rounds = crate::noise::goodness::size(100, 5_000);
    for ending in ENDINGS {
        for (packed, records) in
            [(false, secrets()), (true, secrets()), (false, typed_secrets()), (true, typed_secrets())]
        {
            let whole = file(ending, &records, packed);
            assert_eq!(gone(&place, ending, &whole), None);
            let mut refused = 0;
            let began = Instant::now();
            for round in 0..rounds {
                let mut bytes = whole.clone();
                for _ in 0..1 + below(3) {
                    // Half of the changes are in the last part, where a file describes itself.
                    let (from, length) = if round % 2 == 0 {
                        (0, whole.len())
                    } else {
                        (whole.len() * 3 / 4, whole.len() / 4)
                    };
                    bytes[from + below(length)] = [0, 1, 0x7f, 0x80, 0xff, below(256) as u8][below(6)];
                }
                refused += usize::from(gone(&place, ending, &bytes).is_some());
            }
            assert!(refused > rounds / 10, "{ending} {packed}: {refused} of {rounds}");
            assert!(began.elapsed().as_secs() < 60 + rounds as u64 / 10);
        }
    }
}

// Refutes a buffer that is allocated as large as the file says: the process would end.
#[test]
fn a_packed_buffer_that_states_a_huge_size_is_refused() {
    let place = Place::new("columns-huge");
    let whole = file("arrows", &secrets(), true);
    // The second message of the stream is the batch.
    let length = |at: usize| i32::from_le_bytes(whole[at + 4..at + 8].try_into().unwrap()) as usize + 8;
    let head = length(0);
    let body = head + length(head);
    let message = root_as_message(&whole[head + 8..body]).unwrap();
    let buffers = message.header_as_record_batch().unwrap().buffers().unwrap();
    let buffer = buffers.iter().find(|buffer| buffer.length() > 0).unwrap();
    let at = body + buffer.offset() as usize;
    for (size, fits) in [(LIMIT + 1, false), (1 << 50, false), (LIMIT, true)] {
        let mut bytes = whole.clone();
        bytes[at..at + 8].copy_from_slice(&size.to_le_bytes());
        assert!(gone(&place, "arrows", &bytes).is_some());
        // What is not refused for its size is unpacked, and is shorter.
        place.write("b.arrows", &bytes);
        let file = PlacedFile::open(&place.path("b.arrows"), &Progress::of(None), None).unwrap();
        let mut batches = ArrowFile::open(Arc::new(file)).unwrap().batches(vec![1]).unwrap();
        assert_eq!(batches.next().unwrap().is_ok(), fits, "{size}");
    }
}

// Refutes chunks for as many rows as the file says, where no column says otherwise.
#[test]
fn a_batch_that_states_too_many_rows_is_refused() {
    let place = Place::new("columns-many");
    for ending in ["arrow", "arrows"] {
        let whole = file(ending, &secrets(), false);
        for rows in [-1, (1i64 << 30) + 1, i64::MAX] {
            let mut bytes = whole.clone();
            let stated = 300i64.to_le_bytes();
            let places: Vec<usize> =
                (0..bytes.len() - 8).filter(|at| bytes[*at..*at + 8] == stated).collect();
            assert!(!places.is_empty());
            places.iter().for_each(|at| bytes[*at..*at + 8].copy_from_slice(&rows.to_le_bytes()));
            place.write(&format!("a.{ending}"), bytes);
            let (source, _) = source(&place, &format!("a.{ending}"), "", "drop");
            let gone = read(&(source, Protected::Record), &wanted(&[], &[], false), 1).unwrap_err();
            assert!(gone.to_string().contains("is damaged or ends too soon"), "{gone}");
        }
    }
}

/// The largest buffer that is unpacked.
const LIMIT: i64 = 1 << 30;

/// The bytes of a Parquet file with other words about it at its end.
fn described(whole: &[u8], change: impl FnOnce(ParquetMetaData) -> ParquetMetaData) -> Vec<u8> {
    let metadata = ParquetMetaDataReader::new().parse_and_finish(&Bytes::copy_from_slice(whole)).unwrap();
    let length = u32::from_le_bytes(whole[whole.len() - 8..][..4].try_into().unwrap()) as usize;
    let mut bytes = whole[..whole.len() - 8 - length].to_vec();
    let changed = change(metadata);
    let mut end = Vec::new();
    ParquetMetaDataWriter::new(&mut end, &changed).finish().unwrap();
    bytes.extend(end);
    bytes
}

// Refutes a Parquet file with fewer rows than it states, or more: in a group, and in its columns.
#[test]
fn a_file_has_the_rows_that_it_states() {
    let place = Place::new("columns-rows");
    let whole = file("parquet", &secrets(), false);
    for (rows, values, fits) in [(300, 300, true), (299, 300, false), (301, 300, false), (301, 301, false)] {
        let bytes = described(&whole, |metadata| {
            let group = metadata.row_group(0).clone();
            let columns = group
                .columns()
                .iter()
                .map(|column| column.clone().into_builder().set_num_values(values).build().unwrap());
            let columns = columns.collect();
            let group = group.into_builder().set_num_rows(rows).set_column_metadata(columns).build().unwrap();
            metadata.into_builder().set_row_groups(vec![group]).build()
        });
        assert_eq!(gone(&place, "parquet", &bytes).is_none(), fits, "{rows} {values}");
    }
}

// Refutes a packing that is taken for damage, and one of a column that is not wanted.
#[test]
fn a_packing_that_is_not_read_is_named() {
    let place = Place::new("columns-packing");
    let whole = file("parquet", &secrets(), false);
    for (column, words) in
        [(1, "column key is packed with brotli, which is not read; write it with zstd"), (0, "column user")]
    {
        let bytes = described(&whole, |metadata| {
            let group = metadata.row_group(0).clone();
            let mut columns = group.columns().to_vec();
            columns[column] = columns[column]
                .clone()
                .into_builder()
                .set_compression(Compression::BROTLI(Default::default()))
                .build()
                .unwrap();
            let group = group.into_builder().set_column_metadata(columns).build().unwrap();
            metadata.into_builder().set_row_groups(vec![group]).build()
        });
        assert!(gone(&place, "parquet", &bytes).unwrap().contains(words));
        let unkeyed = wanted(&[], &[], true);
        let read = read(&source(&place, "a.parquet", TYPED, "drop"), &unkeyed, 1);
        assert_eq!(read.is_ok(), column == 1);
    }
}
