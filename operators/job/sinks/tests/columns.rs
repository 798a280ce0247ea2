//! Tables: what a row of a CSV says, and the columns that a file has.

use super::*;

// Refutes a quantile that a table reads as another, and a promise about ranks that it leaves out.
#[test]
fn a_table_states_the_promise_about_ranks() {
    let window = r#"{"start":null,"end":null}"#;
    let law = |law: &str| format!("\"noise\":{{\"kind\":\"exponential\",\"scale\":4.0,{law}}}");
    let plain = cell(window, "/", "3");
    let (before, rest) = plain.split_once("\"noise\":{").unwrap();
    let after = rest.split_once('}').unwrap().1;
    let median =
        format!("{before}{}{after}", law("\"rank_error\":38")).replace("\"value\"", "\"q\":0.50,\"value\"");
    let largest = format!("{before}{}{after}", law("\"tau\":33"))
        .replace("\"confidence\"", "\"insufficient\":true,\"confidence\"")
        .replace("\"}", "\",\"demo\":true,\"tally\":4,\"truth\":5,\"off\":7}");
    let table = table_of(
        [TableColumns::narrow(true).header(), table::record(&largest, TableColumns::narrow(true)).unwrap()]
            .concat()
            .as_bytes(),
    );
    let of = |name: &str| table[1][table[0].iter().position(|column| column == name).unwrap()].as_str();
    assert_eq!((of("tau"), of("rank_error"), of("off"), of("why")), ("33", "", "7", "insufficient"));
    assert_eq!(table[1].len(), TableColumns::narrow(true).width());
    let table = table_of(
        [TableColumns::narrow(false).header(), table::record(&median, TableColumns::narrow(false)).unwrap()]
            .concat()
            .as_bytes(),
    );
    let of = |name: &str| table[1][table[0].iter().position(|column| column == name).unwrap()].as_str();
    assert_eq!((of("q"), of("rank_error"), of("tau"), of("why")), ("0.50", "38", "", ""));
    assert_eq!(table[1].len(), TableColumns::narrow(false).width());
}

// Refutes a total over windows that a table prints as the value of one, and an interval that is taken for one of
// the exact number.
#[test]
fn a_table_states_the_windows_of_a_total() {
    let plain = cell(r#"{"start":null,"end":null}"#, "/", "3");
    let total = plain
        .replace("\"confidence\"", "\"interval_of\":\"bounded\",\"total\":\"last 7\",\"confidence\"")
        .replace("\"scale\":10.9", "\"scale\":10.9,\"over_bound\":1.02,\"strategy\":\"square-root\"");
    let said = [(&total, ("last 7", "square-root", "bounded")), (&plain, ("", "", ""))];
    for (line, said) in said {
        let table = table_of(
            [TableColumns::narrow(false).header(), table::record(line, TableColumns::narrow(false)).unwrap()]
                .concat()
                .as_bytes(),
        );
        let of = |name: &str| table[1][table[0].iter().position(|column| column == name).unwrap()].as_str();
        assert_eq!((of("total"), of("strategy"), of("interval_of")), said);
        assert_eq!(of("noise"), "gaussian");
        assert_eq!(table[1].len(), TableColumns::narrow(false).width());
    }
}

/// The oracle reads a table as a spreadsheet does.
fn table_of(text: &[u8]) -> Vec<Vec<String>> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(text);
    reader.records().map(|record| record.unwrap().iter().map(str::to_owned).collect()).collect()
}

#[test]
fn a_table_holds_what_the_lines_say() {
    let place = Place::new();
    let table = table_of(&put(&place.file("out.csv"), &rows()));
    let columns = |name: &str| table[0].iter().position(|column| column == name).unwrap();
    let at = |row: usize, name: &str| table[row][columns(name)].as_str();
    assert_eq!(table.len(), 1 + 3 + 1 + 1 + 1 + 1 + 2);
    assert_eq!((at(1, "key"), at(1, "value"), at(1, "status")), ("/", "1234", "value"));
    assert_eq!((at(1, "low"), at(1, "high"), at(1, "confidence")), ("-18", "1.50", "0.9"));
    assert_eq!((at(1, "noise"), at(1, "scale")), ("gaussian", "10.9"));
    assert_eq!((at(1, "start"), at(1, "end")), ("1970-01-01T00:01:00Z", "1970-01-01T00:02:00Z"));
    assert_eq!((at(2, "key"), at(2, "value")), ("line\nend, \"quoted\" é", "-2"));
    assert_eq!((at(3, "key"), at(3, "value")), ("'=1+1", "170141183460469231731687303715884105727"));
    assert_eq!((at(4, "status"), at(4, "cells"), at(4, "seq")), ("closed", "3", "1"));
    assert_eq!(at(4, "chain"), Digest::of(&1_i64.to_be_bytes()).to_string());
    let why = "budget of visits: spent rho 0.5; asked rho 0.25, delta 1e-9; limit rho 0.6, delta 1e-6";
    assert_eq!((at(6, "status"), at(6, "why")), ("refused", why));
    assert_eq!((at(7, "status"), at(8, "key")), ("skipped", "'\n"));
    let window = r#"{"start":null,"end":null}"#;
    let mean = cell(window, "", "null").replace(
        r#"{"kind":"gaussian","scale":10.9}"#,
        r#"[{"number":"sum","kind":"laplace","scale":35.5},{"number":"records","kind":"laplace","scale":7.0}]"#,
    );
    let mean = &table_of(table::record(&mean, TableColumns::narrow(false)).unwrap().as_bytes())[0];
    assert_eq!(
        (&*mean[columns("noise")], &*mean[columns("scale")]),
        ("sum laplace; records laplace", "35.5; 7.0")
    );
    assert_eq!((&*mean[columns("value")], &*mean[columns("start")]), ("", ""));
}

proptest! {
    // Refutes a formula in a spreadsheet, two keys that become one, and a field that is read as another.
    #[test]
    fn no_key_is_a_formula_and_none_is_lost(key in prop_oneof![any::<String>(), "['=+@\t\r\n\",-]{0,4}[0-9.e+-]{0,5}"]) {
        let line = cell(r#"{"start":null,"end":null}"#, &key, "1");
        let record = table::record(&line, TableColumns::narrow(false)).unwrap();
        let read = &table_of(record.as_bytes())[0];
        prop_assert_eq!(read.len(), TableColumns::narrow(false).width());
        let printed = &read[3];
        prop_assert_eq!(printed.strip_prefix('\'').unwrap_or(printed), &key);
        let formula = printed.starts_with(['=', '+', '@', '\t', '\r', '\n', '-']);
        prop_assert!(!formula || printed.parse::<f64>().is_ok(), "{}", printed);
        let own = table::fields(record.strip_suffix('\n').unwrap()).unwrap();
        prop_assert_eq!(own.iter().map(ToString::to_string).collect::<Vec<_>>(), read.clone());
    }

    #[test]
    fn no_record_makes_the_reader_panic(text in "[\",a\n]{0,12}") {
        let _ = table::fields(&text);
    }
}

// Roll-ups and covariances.

/// A window with a key, its total, and two fields with covariances.
fn with_rollup(sequence: i64) -> Row {
    row(sequence, ReleaseStatus::Sealed, |window| {
        let line = |fields: &str| cell(window, "/", "7").replace(r#""key":"/","#, fields);
        [
            line(r#""key":["a","b"],"#),
            line(r#""key":["a"],"rollup":true,"#),
            line(r#""of":"x, y","covariance":[{"with":"x, y","value":-1.50,"scale":0.25},{"with":"z","value":2e3,"scale":4}],"#),
        ]
        .join("\n")
    })
}

fn put_wide(path: &Path, rows: &[Row]) -> Vec<u8> {
    let mut sink = Sink::file(path, false).unwrap();
    sink.widen();
    rows.iter().for_each(|row| sink.put(row).unwrap());
    sink.settle().unwrap();
    fs::read(path).unwrap()
}

// Refutes columns that are not behind all others, a total without its word, and covariances that lose a digit.
#[test]
fn a_job_with_rollups_or_covariances_has_their_columns() {
    let place = Place::new();
    let path = place.file("out.csv");
    let table = table_of(&put_wide(&path, &[with_rollup(1), refused(2)]));
    let narrow = table_of(&put(&place.file("narrow.csv"), &[with_rollup(1), refused(2)]));
    for (wide, narrow) in table.iter().zip(&narrow) {
        assert_eq!((&wide[..narrow.len()], wide.len()), (&narrow[..], narrow.len() + 4));
    }
    let last = |row: usize| table[row][narrow[0].len()..].to_vec();
    assert_eq!(last(0), ["rollup", "covariance_with", "covariance", "covariance_scale"]);
    assert_eq!(last(1), ["", "", "", ""]);
    assert_eq!(last(2), ["true", "", "", ""]);
    assert_eq!(last(3), ["", "x, y; z", "-1.50; 2e3", "0.25; 4"]);
    // A demonstration has its own columns where they were, too.
    let columns = TableColumns { demo: true, wide: true };
    let demo = table_of(columns.header().as_bytes());
    assert_eq!(
        demo[0][narrow[0].len()..],
        ["demo", "tally", "truth", "off", "rollup", "covariance_with", "covariance", "covariance_scale"]
    );
    let record = table::record(with_rollup(1).line().lines().next().unwrap(), columns).unwrap();
    assert_eq!(table_of(record.as_bytes())[0].len(), columns.width());
}

// Refutes a file of an earlier run that gets other columns than its header has, one that is refused for them, and rows that are written
// again because the columns differ.
#[test]
fn a_file_keeps_the_columns_of_its_header() {
    let place = Place::new();
    let path = place.file("out.csv");
    let narrow = put(&path, &rows());
    let both = put_wide(&path, &[rows(), vec![with_rollup(6)]].concat());
    assert!(both.starts_with(&narrow) && both.len() > narrow.len());
    let table = table_of(&both);
    assert!(table.iter().all(|row| row.len() == table[0].len()));
    let mut sink = Sink::file(&path, false).unwrap();
    sink.widen();
    assert_eq!(sink.lacks_columns(), Some(&*path));
    drop(sink);
    // The other way round: a wide file stays one, torn anywhere.
    let path = place.file("wide.csv");
    let wide = put_wide(&path, &rows());
    assert_eq!(put(&path, &rows()), wide);
    let mut sink = Sink::file(&path, false).unwrap();
    sink.widen();
    assert_eq!(sink.lacks_columns(), None);
    drop(sink);
    for length in (0..=wide.len()).step_by(if full() { 1 } else { 7 }) {
        fs::write(&path, &wide[..length]).unwrap();
        assert!(put_wide(&path, &rows()) == wide, "cut at {length}");
    }
    assert_eq!(
        published(&path).unwrap(),
        published(&place.file("out.csv")).unwrap()[..published(&path).unwrap().len()]
    );
    let large: Vec<Row> = (1..200).map(with_rollup).collect();
    fs::remove_file(&path).unwrap();
    let whole = put_wide(&path, &large);
    assert!(whole.len() as u64 > existing_rows::END);
    assert_eq!(put_wide(&path, &large), whole);
    assert_eq!(Sink::file(&path, false).unwrap().newest_position(), Some(199));
    // A row of one line is known in a file of other columns that a rotation made.
    let ledger = Digest::of(b"ledger");
    let open = || {
        let mut sink = Sink::file(&place.file("log.csv"), false).unwrap();
        sink.widen();
        sink.of_ledger(&ledger).unwrap();
        sink
    };
    let mut sink = Sink::file(&place.file("log.csv"), false).unwrap();
    sink.of_ledger(&ledger).unwrap();
    [sealed(1, &[("/", "1")]), refused(2)].iter().for_each(|row| sink.put(row).unwrap());
    sink.settle().unwrap();
    drop(sink);
    fs::rename(place.file("log.csv"), place.file("log.csv.1")).unwrap();
    let mut sink = open();
    [sealed(1, &[("/", "1")]), refused(2), with_rollup(3)].iter().for_each(|row| sink.put(row).unwrap());
    sink.settle().unwrap();
    let table = table_of(&fs::read(place.file("log.csv")).unwrap());
    assert_eq!(table.len(), 5, "{table:?}");
    assert!(table.iter().all(|row| row.len() == table[0].len()));
    // A table that the sink goes on in has the columns, too.
    fs::rename(place.file("log.csv"), place.file("log.csv.2")).unwrap();
    assert!(sink.reopen(&place.file("log.csv")).unwrap());
    sink.put(&with_rollup(4)).unwrap();
    sink.settle().unwrap();
    let table = table_of(&fs::read(place.file("log.csv")).unwrap());
    assert_eq!((table.len(), &*table[0][25]), (5, "rollup"));
}
