//! The values of each type, beside the texts that a csv file would have.

use arrow_array::types::{Int8Type, UInt16Type};
use arrow_array::*;
use proptest::prelude::*;

use super::super::cells::{write_date, write_timestamp};
use super::*;
use crate::job::sources::MISSING;

/// The records of a column beside those of a csv file with these texts; an empty text is a null.
fn compare(name: &str, array: ArrayRef, texts: &[&str], role: &str, extra: (&str, &str)) {
    let place = Place::new(&format!("values-{name}-{role}"));
    let rows = texts.len();
    let user = |row: usize| format!("u{row}");
    let mut columns: Vec<(&str, ArrayRef)> = vec![(role, array)];
    if role != "user" {
        columns.push(("user", Arc::new(StringArray::from_iter_values((0..rows).map(user)))));
    }
    let mut csv = format!("{role},user\n");
    for (row, text) in texts.iter().enumerate() {
        csv += &format!("{text},{}\n", user(row));
    }
    if role == "user" {
        csv = csv.replacen("user,user", "user,other", 1);
    }
    place.write("a.csv", csv);
    let wanted = match role {
        "key" => wanted(&["key"], &[], false),
        "value" => wanted(&[], &[("value", 3)], false),
        "time" => wanted(&[], &[], true),
        _ => wanted(&[], &[], false),
    };
    let expected = read(&source(&place, "a.csv", extra.0, "drop"), &wanted, 1).unwrap();
    for ending in ENDINGS {
        let path = format!("a.{ending}");
        place.write(&path, file(ending, &[batch(columns.clone())], false));
        let found = read(&source(&place, &path, extra.1, "drop"), &wanted, 1).unwrap();
        assert!(found == expected, "{name} as {role} in {ending}: {found:?}");
    }
}

// Refutes a value that is not the text of it: of a person, of a key, and a number that is not exact.
#[test]
fn every_type_is_read_as_its_text() {
    let ends = i64::MIN.to_string();
    let texts = ["5", "", "-7", "0", "1"];
    let cases: Vec<(&str, ArrayRef, Vec<&str>)> = vec![
        ("i8", Arc::new(Int8Array::from(vec![Some(5), None, Some(-7), Some(0), Some(1)])), texts.into()),
        ("i16", Arc::new(Int16Array::from(vec![Some(5), None, Some(i16::MIN)])), vec!["5", "", "-32768"]),
        ("i32", Arc::new(Int32Array::from(vec![Some(5), None, Some(i32::MAX)])), vec!["5", "", "2147483647"]),
        ("i64", Arc::new(Int64Array::from(vec![Some(5), None, Some(i64::MIN)])), vec!["5", "", &ends]),
        ("u8", Arc::new(UInt8Array::from(vec![Some(255), None])), vec!["255", ""]),
        ("u16", Arc::new(UInt16Array::from(vec![Some(65_535), None])), vec!["65535", ""]),
        ("u32", Arc::new(UInt32Array::from(vec![Some(u32::MAX), None])), vec!["4294967295", ""]),
        ("u64", Arc::new(UInt64Array::from(vec![Some(u64::MAX), None])), vec!["18446744073709551615", ""]),
        (
            "f32",
            Arc::new(Float32Array::from(vec![Some(0.1), None, Some(-1e10), Some(1.25)])),
            vec!["0.1", "", "-10000000000", "1.25"],
        ),
        // Not the 0.1000000000000000055 that the float is.
        (
            "f64",
            Arc::new(Float64Array::from(vec![Some(0.1), None, Some(0.29), Some(1e-3), Some(2.5e20)])),
            vec!["0.1", "", "0.29", "0.001", "250000000000000000000"],
        ),
        (
            "decimal32",
            Arc::new(Decimal32Array::from(vec![Some(-5), None]).with_precision_and_scale(9, 2).unwrap()),
            vec!["-0.05", ""],
        ),
        (
            "decimal64",
            Arc::new(Decimal64Array::from(vec![Some(12_345), None]).with_precision_and_scale(18, 3).unwrap()),
            vec!["12.345", ""],
        ),
        (
            "decimal128",
            Arc::new(
                Decimal128Array::from(vec![Some(1_999), None, Some(-1)])
                    .with_precision_and_scale(38, 2)
                    .unwrap(),
            ),
            vec!["19.99", "", "-0.01"],
        ),
        (
            "decimal256",
            Arc::new(
                Decimal256Array::from(vec![Some(arrow_buffer::i256::from_i128(-150)), None])
                    .with_precision_and_scale(76, 1)
                    .unwrap(),
            ),
            vec!["-15.0", ""],
        ),
        ("utf8", Arc::new(StringArray::from(vec![Some("12"), None, Some("")])), vec!["12", "", ""]),
        ("large", Arc::new(LargeStringArray::from(vec![Some("12"), None])), vec!["12", ""]),
        ("view", Arc::new(StringViewArray::from(vec![Some("12"), None])), vec!["12", ""]),
        (
            "dictionary",
            Arc::new(DictionaryArray::<Int8Type>::from_iter([Some("12"), None, Some("7"), Some("12")])),
            vec!["12", "", "7", "12"],
        ),
        // A dictionary with a null among its values, and one without any.
        (
            "null-of-dictionary",
            Arc::new(DictionaryArray::<UInt16Type>::new(
                UInt16Array::from(vec![1, 0]),
                Arc::new(StringArray::from(vec![None, Some("3")])),
            )),
            vec!["3", ""],
        ),
        (
            "empty-dictionary",
            Arc::new(DictionaryArray::<Int8Type>::from_iter([None::<&str>, None])),
            vec!["", ""],
        ),
        ("binary", Arc::new(BinaryArray::from_opt_vec(vec![Some(b"12"), None])), vec!["12", ""]),
        ("large-binary", Arc::new(LargeBinaryArray::from_opt_vec(vec![Some(b"12"), None])), vec!["12", ""]),
        ("view-binary", Arc::new(BinaryViewArray::from(vec![Some(&b"12"[..]), None])), vec!["12", ""]),
        (
            "fixed",
            Arc::new(FixedSizeBinaryArray::try_from_iter([b"12", b"34"].into_iter()).unwrap()),
            vec!["12", "34"],
        ),
        ("null", Arc::new(NullArray::new(2)), vec!["", ""]),
    ];
    for (name, array, texts) in cases {
        for role in ["key", "value", "user"] {
            compare(name, Arc::clone(&array), &texts, role, ("", ""));
        }
    }
    compare(
        "bool",
        Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)])),
        &["true", "", "false"],
        "key",
        ("", ""),
    );
    compare(
        "date",
        Arc::new(Date32Array::from(vec![Some(0), None, Some(-1)])),
        &["1970-01-01", "", "1969-12-31"],
        "key",
        ("", ""),
    );
    compare(
        "moment",
        Arc::new(TimestampMillisecondArray::from(vec![Some(1_500), None]).with_timezone("+02:00")),
        &["1970-01-01T00:00:01.5Z", ""],
        "key",
        ("", ""),
    );
}

// Refutes a time in another unit or zone, rounded to the nearest, or of another calendar.
#[test]
fn times_are_moments_by_their_type() {
    let unix = |more: &str| format!("time = {{ field = \"time\", format = \"unix\" }}{more}");
    let typed = |zone: &str| format!("{TYPED}{zone}");
    let berlin = "\nzone = \"Europe/Berlin\"";
    let zoned =
        |array: PrimitiveArray<types::TimestampNanosecondType>| array.with_timezone("America/New_York");
    let cases: Vec<(&str, ArrayRef, Vec<&str>, &str)> = vec![
        ("s", Arc::new(TimestampSecondArray::from(vec![-1, 1_700_000_000])), vec!["-1", "1700000000"], ""),
        ("ms", Arc::new(TimestampMillisecondArray::from(vec![-1, 1_500])), vec!["-0.001", "1.5"], ""),
        (
            "us",
            Arc::new(TimestampMicrosecondArray::from(vec![-1, 1_000_001])),
            vec!["-0.000001", "1.000001"],
            "",
        ),
        (
            "ns",
            Arc::new(TimestampNanosecondArray::from(vec![-1, 1_999, 1_000_000_001])),
            vec!["-0.000001", "0.000001", "1"],
            "",
        ),
        // A zone in the type says nothing of the moment; one of the source is for times that have none.
        ("zoned", Arc::new(zoned(TimestampNanosecondArray::from(vec![0]))), vec!["0"], berlin),
        (
            "local",
            // An hour that is skipped, and one that comes twice, of which the first is meant.
            Arc::new(TimestampSecondArray::from(vec![0, 1_774_751_400, 1_792_895_400])),
            vec!["-3600", "1774747800", "1792888200"],
            berlin,
        ),
        ("date32", Arc::new(Date32Array::from(vec![0, 20_454])), vec!["0", "1767225600"], ""),
        ("date32-local", Arc::new(Date32Array::from(vec![0])), vec!["-3600"], berlin),
        ("date64", Arc::new(Date64Array::from(vec![86_400_000])), vec!["86400"], ""),
    ];
    for (name, array, texts, zone) in cases {
        compare(name, array, &texts, "time", (&unix(zone), &typed(zone)));
    }
    // Times in columns of other types have a format, as in lines.
    let stated = "time = { field = \"time\", format = \"unix-ms\" }";
    compare("stated", Arc::new(Int64Array::from(vec![1_500])), &["1500"], "time", (stated, stated));
    compare("stated-f", Arc::new(Float64Array::from(vec![1500.25])), &["1500.25"], "time", (stated, stated));
}

// Refutes a timestamp of 96 bits that wraps where one of 64 bits in nanoseconds ends.
#[test]
fn long_timestamps_are_moments_too() {
    use parquet::data_type::{ByteArray, ByteArrayType, Int96, Int96Type};
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;
    let schema =
        parse_message_type("message visits { required binary user (UTF8); required int96 time; }").unwrap();
    let mut bytes = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut bytes, Arc::new(schema), Default::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let users = ["u0", "u1"].map(ByteArray::from);
    // The Julian day 2440588 is the first of 1970; the days are of 1970 and of the year 9999.
    let times = [(2_440_588u32, 1_999u64), (2_440_588 + 2_932_896, 0)].map(|(day, nanos)| {
        let mut time = Int96::new();
        time.set_data(nanos as u32, (nanos >> 32) as u32, day);
        time
    });
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<ByteArrayType>().write_batch(&users, None, None).unwrap();
    column.close().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<Int96Type>().write_batch(&times, None, None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
    let place = Place::new("values-long");
    place.write("a.parquet", bytes);
    let wanted = wanted(&[], &[], true);
    let found = read(&source(&place, "a.parquet", TYPED, "drop"), &wanted, 1).unwrap();
    let mut times: Vec<i64> = found.iter().map(|record| record.time).collect();
    times.sort_unstable();
    assert_eq!(times, [1, 253_402_214_400_000_000]);
}

// Refutes a value that cannot be read and that is read as another, or whose row counts all the same; and a
// limit that is one byte off.
#[test]
fn a_value_that_cannot_be_read_makes_its_row_unreadable() {
    let place = Place::new("values-bad");
    let (limit, over) = ("k".repeat(1 << 20), "k".repeat((1 << 20) + 1));
    let cases: Vec<(&str, &str, ArrayRef)> = vec![
        ("value", "NaN", Arc::new(Float64Array::from(vec![Some(f64::NAN), Some(1.0), None]))),
        ("value", "infinite", Arc::new(Float32Array::from(vec![Some(f32::NEG_INFINITY), Some(1.0), None]))),
        ("key", "NaN key", Arc::new(Float64Array::from(vec![Some(f64::NAN), Some(1.0), None]))),
        ("value", "a text", Arc::new(StringArray::from(vec![Some("s3cr3t"), Some("1"), None]))),
        ("value", "a truth", Arc::new(StringArray::from(vec![Some("true"), Some("1"), None]))),
        ("key", "long", Arc::new(StringArray::from(vec![Some(over.as_str()), Some(&limit), None]))),
        ("key", "year 10000", Arc::new(Date32Array::from(vec![Some(2_932_897), Some(2_932_896), None]))),
        ("key", "year -1", Arc::new(Date32Array::from(vec![Some(-719_529), Some(-719_528), None]))),
        ("key", "no day", Arc::new(Date64Array::from(vec![Some(1), Some(0), None]))),
    ];
    let users = || Arc::new(StringArray::from(vec!["a", "b", "c"])) as ArrayRef;
    for (role, name, array) in cases {
        for ending in ENDINGS {
            // Parquet has days and no other dates.
            if (name, ending) == ("no day", "parquet") {
                continue;
            }
            let path = format!("a.{ending}");
            place.write(
                &path,
                file(ending, &[batch(vec![("user", users()), (role, Arc::clone(&array))])], false),
            );
            let wanted = match role {
                "key" => wanted(&["key"], &[], false),
                _ => wanted(&[], &[("value", 0)], false),
            };
            let found = read(&source(&place, &path, "bad = { lines = 1 }", "drop"), &wanted, 1).unwrap();
            assert_eq!(found.len(), 2, "{name} in {ending}");
            assert!(role == "key" || found.iter().any(|record| record.value(0) == MISSING));
            let gone = read(&source(&place, &path, "", "drop"), &wanted, 1).unwrap_err().to_string();
            assert!(gone.contains("more than 0 lines cannot be read") && !gone.contains("s3cr3t"), "{gone}");
        }
    }
}

proptest! {
    // Refutes a wrong calendar, and a wrong sign before 1970.
    #[test]
    fn timestamps_are_written_as_jiff_writes_them(nanos in -62_135_596_800_000i64..253_402_207_200_000, digits in 0u32..4) {
        let digits = digits * 3;
        let (time, micros) = match digits {
            0 => (nanos / 1_000, nanos / 1_000 * 1_000_000),
            3 => (nanos, nanos * 1_000),
            6 => (nanos * 1_000 + 7, nanos * 1_000 + 7),
            _ => (nanos * 1_000, nanos),
        };
        let mut text = Vec::new();
        write_timestamp(time, digits, true, &mut text).unwrap();
        let expected = jiff::Timestamp::from_microsecond(micros).unwrap().to_string();
        prop_assert_eq!(String::from_utf8(text).unwrap(), expected);
    }

    #[test]
    fn no_time_ends_the_writing(time in any::<i64>(), digits in 0u32..4) {
        let mut text = Vec::new();
        let _ = write_timestamp(time, digits * 3, false, &mut text);
        let _ = write_date(time, &mut text);
    }
}
