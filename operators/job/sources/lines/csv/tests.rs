#![allow(clippy::unwrap_used)]
use proptest::prelude::*;

use super::kit::{marks, reader};
use super::*;
use crate::job::config::RecordFormat;
use crate::job::config::tests::{changed, parse};

type Row = Vec<Vec<u8>>;

fn columns(wanted: impl IntoIterator<Item = (usize, usize)>, marks: CsvMarks) -> CsvColumns {
    CsvColumns { wanted: wanted.into_iter().collect(), marks }
}

/// Returns what the crate `csv` reads of one line, and what is read here.
fn both(line: &[u8], marks: CsvMarks) -> (Row, Result<Row, ()>) {
    let mut reader = reader(marks).has_headers(false).from_reader(line);
    let record = reader.byte_records().next().map(|record| record.unwrap());
    let theirs: Row = record.map_or(vec![vec![]], |record| record.iter().map(<[u8]>::to_vec).collect());
    let columns = columns((0..theirs.len()).map(|column| (column, column)), marks);
    let mut cells = LineCells::new(theirs.len());
    let read = columns.quoted(line, &mut cells).map_err(|_| ());
    let ours = read.map(|()| (0..theirs.len()).map(|cell| cells.get(line, cell).to_vec()).collect());
    (theirs, ours)
}

proptest! {
    // Covers every way of writing marks, well-formed or not.
    #[test]
    fn any_line_is_read_as_the_crate_csv_reads_it(
        line in prop_oneof!["[a\",]{0,12}", "[a\"',;|\t]{0,12}"],
        marks in marks(),
    ) {
        prop_assume!(!is_comment(line.as_bytes(), marks));
        let (theirs, ours) = both(line.as_bytes(), marks);
        // It takes what is torn within quotation marks for whole; that line is bad here. A line feed
        // behind it tells.
        let (longer, _) = both(format!("{line}\n{}", char::from(marks.delimiter())).as_bytes(), marks);
        let whole = line.is_empty() || longer == theirs;
        prop_assert_eq!(ours, if whole { Ok(theirs) } else { Err(()) }, "{}", line);
    }

    #[test]
    fn a_line_without_marks_is_read_alike_by_both_readers(
        line in "[ab,;|\t]{0,90}",
        after in "[a,;|\t\\n]{0,40}",
        wanted in proptest::collection::btree_set(0usize..30, 1..4),
        marks in marks(),
    ) {
        let columns = columns(wanted.iter().enumerate().map(|(cell, column)| (*column, cell)), marks);
        let (mut plain, mut quoted) = (LineCells::new(4), LineCells::new(4));
        // What follows the line is no part of it.
        let lines = format!("{line}\n{after}");
        let ended = columns.plain(lines.as_bytes(), line.len(), &mut plain).is_ok();
        prop_assert_eq!(ended, columns.quoted(line.as_bytes(), &mut quoted).is_ok());
        let split: Vec<&str> = line.split(char::from(marks.delimiter())).collect();
        prop_assert_eq!(ended, wanted.iter().all(|column| *column < split.len()));
        for (cell, column) in wanted.iter().enumerate().filter(|_| ended) {
            prop_assert_eq!(plain.get(line.as_bytes(), cell), split[*column].as_bytes());
            prop_assert_eq!(quoted.get(line.as_bytes(), cell), split[*column].as_bytes());
        }
    }
}

#[test]
fn columns_are_found_by_their_names() {
    let find =
        |header: &str, fields: &[&str]| format(&CsvSpec::default(), fields).find(header.as_bytes(), "a.csv");
    assert_eq!(find("a,\"b\",\"c\"\"d\"", &["c\"d", "a"]).unwrap().wanted, [(0, 1), (2, 0)]);
    assert_eq!(find("a,b", &[]).unwrap().wanted, []);
    let gone = find("a,secret", &["b"]).unwrap_err().to_string();
    assert_eq!(
        gone,
        "a.csv: the input was refused: no column named b; name columns of its first line in the job file, or all of its columns in source.header"
    );
    assert!(find("a,secret", &["b", "a", "c"]).unwrap_err().to_string().contains("named b or c;"));
    assert!(find("a,a", &["a"]).unwrap_err().to_string().contains("two columns named a"));
    assert!(find("A, a", &["a"]).is_err(), "names are what they are");
}

fn format(form: &CsvSpec, fields: &[&str]) -> CsvFormat {
    let fields: Vec<String> = fields.iter().map(|field| (*field).to_owned()).collect();
    CsvFormat::new(form, &fields).unwrap()
}

// Refutes a list of names that is missed where the first line has them, one that shows the record with which a file
// without names begins, and one that has no end.
#[test]
fn the_names_of_a_line_are_listed_where_it_has_more_of_the_wanted_ones_than_it_lacks() {
    let missed = |line: &str, fields: &[&str]| {
        format(&CsvSpec::default(), fields).find(line.as_bytes(), "a.csv").unwrap_err().to_string()
    };
    let wanted = ["user", "time", "page"];
    let listed = missed("user,time,path,\"a \u{1b}[1m\"", &wanted);
    assert!(listed.contains("no column named page among user, time, path and a \\u{1b}[1m;"), "{listed}");
    for line in ["user,secret,7", "ada,secret,7", "secret", "user,user,secret"] {
        assert!(!missed(line, &wanted).contains("secret"), "{line}");
    }
    // Two of four are as many as it lacks, and one of one is a single word.
    assert!(!missed("user,time,secret", &["user", "time", "page", "key"]).contains("secret"));
    assert!(!missed("user,secret", &["user", "page"]).contains("secret"));
    // A file whose lines end in another way is one line, with everybody's records.
    let whole = missed("user,time,path\rsecret,1,/\rsecret,2,/", &wanted);
    assert!(whole.contains("a carriage return") && !whole.contains("secret"), "{whole}");
    let many = missed(&format!("user,time{}", ",column".repeat(100)), &wanted);
    assert!(many.contains("column and 72 more;") && many.matches("column,").count() == 27, "{many}");
    let long = missed(&format!("user,time,{}", "é".repeat(100)), &wanted);
    assert!(long.contains(&format!("time and {}..;", "é".repeat(60))), "{long}");
}

#[test]
fn a_text_has_a_record_behind_its_comments_and_names() {
    let form = |fields: &str| {
        let text = changed("[source]", &format!("type = \"csv\"\n{fields}"));
        match parse(&text).unwrap().source.records {
            RecordFormat::Csv(_, form) => form,
            other => panic!("{other:?}"),
        }
    };
    let has = |form: &CsvSpec, text: &str| format(form, &["who"]).has_record(text.as_bytes());
    let (plain, comments) = (CsvSpec::default(), form("comment = '#'"));
    let named = form("comment = '#'\nheader = ['who', 'date', 'vendor']");
    for (text, of_plain, of_comments, of_named) in [
        ("", false, false, false),
        ("who", false, false, true),
        ("who\r\n\r\n", false, false, true),
        ("# a\n# b\n", true, false, false),
        ("# a\n\nwho\n", true, false, true),
        ("\u{feff}# a\nwho\n", true, false, true),
        ("# a\nwho\n# b", true, false, true),
        ("# a\nwho\nada\n", true, true, true),
    ] {
        let found = [&plain, &comments, &named].map(|form| has(form, text));
        assert_eq!(found, [of_plain, of_comments, of_named], "{text:?}");
    }
}

proptest! {
    #[test]
    fn delimiters_are_where_they_are(
        (delimiter, lines) in (0u8..128).prop_flat_map(|delimiter| {
            let byte = prop_oneof![Just(delimiter), Just(delimiter ^ 0x80), any::<u8>()];
            (Just(delimiter), proptest::collection::vec(byte, 0..100))
        }),
        length in 0usize..100,
    ) {
        let length = length.min(lines.len());
        let mut delimiters = Delimiters::new(delimiter, &lines, length);
        for (at, _) in lines.iter().take(length).enumerate().filter(|(_, byte)| **byte == delimiter) {
            prop_assert_eq!(delimiters.next(), at);
        }
        prop_assert_eq!((delimiters.next(), delimiters.next()), (length, length));
    }
}

// Refutes a fault that is reported of another column, or in words that are not those of its kind.
#[test]
fn a_fault_names_its_column() {
    let columns = columns([(1, 1), (3, 0)], CsvMarks::default());
    let names = ["page".to_owned(), "user".to_owned()];
    for (line, field, found, wanted) in [
        ("x", "user", LINE_END, "column 2 of the line"),
        ("x,y,z", "page", LINE_END, "column 4 of the line"),
        ("x,\"y,z,w", "user", OPEN_QUOTE, "a field that ends with its line"),
        ("x,y,\"z,w", "column 3", OPEN_QUOTE, "a field that ends with its line"),
        ("x,y,z,w,\"v", "column 5", OPEN_QUOTE, "a field that ends with its line"),
    ] {
        assert!(columns.quoted(line.as_bytes(), &mut LineCells::new(2)).is_err(), "{line}");
        let fault = columns.fault(line.as_bytes(), &names);
        assert_eq!(
            (fault.field.as_deref(), &*fault.found, &*fault.wanted),
            (Some(field), found, wanted),
            "{line}"
        );
    }
}
