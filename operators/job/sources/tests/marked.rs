//! Separated text with other marks than commas, from its bytes to its records.

use proptest::prelude::*;

use super::*;
use crate::job::config::{CsvMarks, CsvSpec, RecordFormat};
use crate::job::sources::lines::kit::{marks, reader};
use crate::job::text::Text;

/// A source of this file with these marks, whose columns are named by the file or by the job file.
fn source(path: &Path, marks: CsvMarks, named: bool) -> (SourceSpec, Protected) {
    let header = if named { "header = [\"x\", \"user\", \"key\", \"other\"]" } else { "" };
    let (mut source, person) = csv(path, &format!("{header}\nbad = {{ lines = 1000 }}"));
    if let RecordFormat::Csv(_, CsvSpec { marks: of_source, .. }) = &mut source.records {
        *of_source = marks;
    }
    (source, person)
}

/// A line of fields, or one of other kinds; not all of them can be read.
fn lines() -> impl Strategy<Value = Vec<(Vec<String>, bool)>> {
    let plain = "[ab,;|\t\"'# \u{e9}]{0,4}";
    let field = prop_oneof![plain.prop_map(|text| text), "\"[ab;|\t]{0,3}\"", "'[ab,;|]{0,3}'"];
    let line = prop_oneof![
        8 => proptest::collection::vec(field, 4..6),
        1 => plain.prop_map(|text| vec![text]),
        1 => Just(vec![String::new()]),
    ];
    proptest::collection::vec((line, any::<bool>()), 0..40)
}

/// Returns true if the crate `csv` reads the line by itself as it does with others behind it: no mark is left open.
fn is_closed(line: &str, marks: CsvMarks) -> bool {
    let delimiter = char::from(marks.delimiter());
    let cells = |text: &str| {
        let first = reader(marks).has_headers(false).from_reader(text.as_bytes()).byte_records().next();
        first.map(|record| record.unwrap().iter().map(<[u8]>::to_vec).collect::<Vec<_>>())
    };
    cells(line) == cells(&format!("{line}\n{delimiter}a")) || cells(line).is_none()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    // The crate `csv` is the oracle, for the marks, comments and empty lines anywhere, both line ends, and names in the file
    // or in the job file. Refutes a cell that is another one, a comment that is a record or takes the place of the names,
    // and a record that is left out.
    #[test]
    fn marked_text_is_read_as_the_crate_csv_reads_it(
        lines in lines(),
        marks in marks(),
        before in 0usize..3,
        named in any::<bool>(),
        last in any::<bool>(),
        chunk in 1usize..200,
        workers in 1usize..4,
    ) {
        let delimiter = char::from(marks.delimiter()).to_string();
        let end = |crlf: bool| if crlf { "\r\n" } else { "\n" };
        let mut text = String::new();
        for at in 0..before {
            if let Some(comment) = marks.comment() {
                text += &format!("{}a line{delimiter}of words{}", char::from(comment), end(at == 0));
            }
            text += end(at == 1);
        }
        if !named {
            text += &(["x", "user", "key", "other"].join(&delimiter) + end(before == 2));
        }
        for (fields, crlf) in &lines {
            let line = fields.join(&delimiter);
            if is_closed(&line, marks) {
                text += &(line + end(*crlf));
            }
        }
        if last {
            text = text.trim_end_matches(['\r', '\n']).to_owned();
        }
        let mut expected = Vec::new();
        for record in reader(marks).has_headers(!named).from_reader(text.as_bytes()).byte_records() {
            let record = record.unwrap();
            if record.len() >= 4 && !record[1].is_empty() {
                let keys = [&record[2], &record[3]].map(|key| String::from_utf8_lossy(key).into_owned());
                let shared = <Id as PersonIdentity>::shared();
                let keys = [keys[0].as_str(), keys[1].as_str()];
                expected.push(SourceRecord::made_of(0, id(&record[1]), shared, &keys, &[]));
            }
        }
        expected.sort();
        let place = Place::new("marked");
        place.write("a.csv", &text);
        let (source, person) = source(&place.path("a.csv"), marks, named);
        let wanted = wanted(&["key", "other"], &[], false);
        let input = open_in(
            sizes(chunk), &source, &person, wanted, InputPace::Bounded, threads(workers), Brake::new(),
        );
        let mut found = drained(of(&input.unwrap(), workers)).unwrap().concat();
        found.sort();
        prop_assert!(found == expected, "{:?} {:?}", text, marks);
    }
}

fn people(source: &(SourceSpec, Protected)) -> Result<Vec<Id>, SourceError> {
    let found = read(source, &wanted(&["key"], &[], false), 2)?;
    Ok(found.into_iter().map(|record| record.person).collect())
}

// Refutes names that are read of the first file alone, or in the first line of one that has comments there.
#[test]
fn each_file_has_its_own_names_behind_its_comments() {
    let place = Place::new("marked-files");
    place.write("a.csv", "\u{feff}# a\n\n# b\r\nuser\tkey\nada\tk\n#bob\tk\n");
    place.write("b.csv", packed(Packing::Plain, b"key\tuser\n# a\nk\t'cid\t'\n"));
    place.write("c.csv.gz", packed(Packing::Gzip, b"#\nkey\tx\tuser\nk\t#\tdon"));
    let marks = "delimiter = \"\\t\"\nquote = \"'\"\ncomment = \"#\"";
    let mut expected = ["ada", "cid\t", "don"].map(|user| id(user.as_bytes()));
    expected.sort();
    assert_eq!(people(&csv(&place.path(""), marks)).unwrap(), expected);
    // A file of comments alone has no names.
    place.write("a.csv", "# a\n\n# b");
    let gone = people(&csv(&place.path("a.csv"), marks)).unwrap_err().to_string();
    assert!(gone.contains("no line of column names"), "{gone}");
    // Where the job file names the columns it needs none.
    let named = format!("{marks}\nheader = [\"user\", \"key\"]");
    assert!(people(&csv(&place.path("a.csv"), &named)).unwrap().is_empty());
    place.write("a.csv", "\u{feff}# a\nada\tk\n'bob'\tk\n\tk\n");
    assert_eq!(people(&csv(&place.path("a.csv"), &named)).unwrap().len(), 2);
}

// Refutes a mark that only one of the ways to read a key or a value has.
#[test]
fn values_and_keys_are_read_by_the_marks() {
    let place = Place::new("marked-values");
    place.write("a.csv", "user;value;key\n\"ada;2,50;k\"\n");
    let source = csv(&place.path("a.csv"), "delimiter = \";\"\nquote = \"\"");
    let found = read(&source, &wanted(&["key"], &[], false), 1).unwrap();
    assert_eq!((found[0].person, found[0].key(0)), (id(b"\"ada"), Some(Text::new("k\""))));
    // A decimal comma is no number.
    let gone = read(&source, &wanted(&["key"], &[("value", 2)], false), 1).unwrap_err();
    assert!(gone.to_string().contains("cannot be read"), "{gone}");
}
