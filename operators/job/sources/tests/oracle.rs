//! A naive reader as the oracle of the real one.

use proptest::prelude::*;

use super::*;
use crate::job::text::Text;

/// One record for each user, of two keys and of the value at two scales.
fn naive(rows: &[[String; 3]]) -> Vec<Given> {
    let mut records = Vec::new();
    for [user, key, value] in rows.iter().filter(|[user, _, _]| !user.is_empty()) {
        let value = |scale: i128| match value.trim() {
            "" => MISSING,
            value => {
                let steps = value.parse::<i128>().unwrap() * scale;
                steps.clamp(i128::from(i64::MIN) + 1, i64::MAX.into()) as i64
            }
        };
        let shared = <Id as PersonIdentity>::shared();
        let (keys, values) = ([key.as_str(), user.as_str()], [value(100), value(1)]);
        records.push(SourceRecord::made_of(0, id(user.as_bytes()), shared, &keys, &values));
    }
    records.sort();
    records
}

fn fields() -> FieldRequirements {
    wanted(&["key", "user"], &[("value", 2), ("value", 0)], false)
}

/// A field as some program would write it.
fn written(field: &str, quoted: bool) -> String {
    if quoted || field.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

/// User, key and value, and how each field is written.
type Case = ([String; 3], [bool; 4]);

fn cases() -> impl Strategy<Value = (Vec<Case>, bool, bool)> {
    let row = ("[a-c\",\n é]{0,4}", "[x-z\",\r\n]{0,30}", "-?[0-9]{1,22}|", any::<[bool; 4]>())
        .prop_map(|(user, key, value, quoted)| ([user, key, value], quoted));
    (proptest::collection::vec(row, 0..60), any::<bool>(), any::<bool>())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    // The oracle also for: every packing, every number of workers and processes, every size of chunk, both
    // line ends, with and without the last of them. Refutes a record that is lost, given twice, torn, or
    // changed.
    #[test]
    fn columns_become_records((rows, crlf, last) in cases(), chunk in 1usize..300, packing in 0usize..4) {
        columns(&in_one_line(rows), crlf, last, chunk, packing);
    }

    #[test]
    fn objects_become_records((rows, crlf, _) in cases(), chunk in 1usize..300) {
        objects(&rows, crlf, chunk);
    }

    // A line of one person changes nothing in the records of others, regardless of its content.
    #[test]
    fn a_line_leaves_others_as_they_are(line in "[a\",:{}\\\\ ]{0,20}", at in 0usize..5, chunk in 1usize..60) {
        let csv = ["u0,k,1", "\"u1\",\"k\"\"\",2", "u2,\"k,\",3", "u3,,"];
        let jsonl = ["u0", "u1", "u2", "u3"].map(|user| format!("{{\"user\":\"{user}\",\"x\":\"{{\\\"\"}}"));
        alone("csv", "user,key,value\n", csv.map(str::to_owned), &line, at, chunk)?;
        alone("jsonl", "", jsonl, &line, at, chunk)?;
    }
}

/// Compares what is read of four people with and without one more line, the `at`-th.
fn alone(
    kind: &str,
    header: &str,
    lines: [String; 4],
    line: &str,
    at: usize,
    chunk: usize,
) -> Result<(), TestCaseError> {
    let place = Place::new("alone");
    let file = format!("a.{kind}");
    let source =
        format!("type = {kind:?}\npath = {:?}\nbad = {{ lines = 5 }}", place.path(&file).to_str().unwrap());
    let people = lines.len();
    let read = |lines: &[String]| {
        place.write(&file, format!("{header}{}\n", lines.join("\n")));
        let mut found = read_in(chunk, &stated(&source, USER), threads(2));
        found.retain(|record| (0..people).any(|user| record.person == id(format!("u{user}").as_bytes())));
        found
    };
    let without = read(&lines);
    let mut with = lines.to_vec();
    with.insert(at, line.to_owned());
    prop_assert!(!without.is_empty() && read(&with) == without, "{} as line {} of {}", line, at, kind);
    Ok(())
}

/// The rows without line feeds, each of which ends a line of columns.
fn in_one_line(mut rows: Vec<Case>) -> Vec<Case> {
    rows.iter_mut().flat_map(|(row, _)| row).for_each(|field| *field = field.replace('\n', " "));
    rows
}

/// All records, in order, that the workers of this process are given.
fn read_in(chunk: usize, source: &(SourceSpec, Protected), crew: Crew) -> Vec<Given> {
    let wanted = fields();
    let input =
        open_in(sizes(chunk), &source.0, &source.1, wanted, InputPace::Bounded, crew, Brake::new()).unwrap();
    let workers = 0..crew.processes * crew.threads;
    let mut found = drained(workers.map(|worker| input.part(worker)).collect()).unwrap().concat();
    found.sort();
    let progress = input.progress();
    assert!(progress.has_ended() && Some(progress.read()) == progress.total());
    found
}

fn naive_rows(rows: &[Case]) -> Vec<Given> {
    naive(&rows.iter().map(|(row, _)| row.clone()).collect::<Vec<_>>())
}

fn columns(rows: &[Case], crlf: bool, last: bool, chunk: usize, packing: usize) {
    let place = Place::new("oracle-csv");
    let end = if crlf { "\r\n" } else { "\n" };
    let mut text = format!("extra,value,\"user\",key{end}");
    for ([user, key, value], quoted) in rows {
        let fields = [("e", quoted[0]), (value, quoted[1]), (user, quoted[2]), (key, quoted[3])];
        text += &(fields.map(|(field, quoted)| written(field, quoted)).join(",") + end);
    }
    if !last && !rows.is_empty() {
        text.truncate(text.len() - end.len());
    }
    // The crate `csv` agrees with what was meant.
    for (record, (row, _)) in ::csv::Reader::from_reader(text.as_bytes()).records().zip(rows) {
        let record = record.unwrap();
        assert_eq!([&record[2], &record[3], &record[1]], [&row[0][..], &row[1], &row[2]]);
    }
    let names = ["a.csv", "a.csv.gz", "a.csv.bz2", "a.csv.zst"];
    let packings = [Packing::Plain, Packing::Gzip, Packing::Bzip2, Packing::Zstandard];
    place.write(names[packing], packed(packings[packing], text.as_bytes()));
    let expected = naive_rows(rows);
    let source = csv(&place.path(names[packing]), "");
    for workers in [1, 2, 5] {
        assert!(read_in(chunk, &source, threads(workers)) == expected, "{workers} workers");
    }
    // Three processes of two threads: each keeps its own workers' chunks.
    let crew = |process| Crew { process, processes: 3, threads: 2 };
    let mut found: Vec<Given> = (0..3).flat_map(|process| read_in(chunk, &source, crew(process))).collect();
    found.sort();
    assert!(found == expected, "three processes");
}

fn objects(rows: &[Case], crlf: bool, chunk: usize) {
    let place = Place::new("oracle-json");
    let end = if crlf { "\r\n" } else { "\n" };
    let quoted = |text: &str| serde_json::json!(text).to_string();
    let mut text = String::new();
    for ([user, key, value], shape) in rows {
        let value = match value.as_str() {
            "" if shape[0] => "null".into(),
            "" => "\"\"".into(),
            value if shape[0] => quoted(value),
            // Numbers of JSON begin with no zero.
            value => value.parse::<i128>().unwrap().to_string(),
        };
        let user = if user.is_empty() && shape[1] { "null".into() } else { quoted(user) };
        let key = quoted(key);
        text += &format!("{{\"x\": [\"\\n\"], \"value\":{value}, \"user\" : {user},\"key\":{key}}}{end}");
    }
    place.write("a.jsonl", &text);
    let source = format!("type = \"jsonl\"\npath = {:?}", place.path("a.jsonl").to_str().unwrap());
    for workers in [1, 2, 5] {
        assert!(read_in(chunk, &stated(&source, USER), threads(workers)) == naive_rows(rows));
    }
}

#[test]
fn a_combined_log_becomes_records() {
    let place = Place::new("combined");
    let mut text = String::new();
    let mut expected = Vec::new();
    for number in 0..5_000u32 {
        let bytes = if number % 7 == 0 { "-".to_owned() } else { number.to_string() };
        let (minute, second) = (number / 60 % 60, number % 60);
        text += &format!(
            "10.0.0.{} - - [17/May/2015:10:{minute:02}:{second:02} +0000] \"GET /{} HTTP/1.1\" 200 {bytes} \"-\" \"a \\\"b\\\"\"\n",
            number % 50,
            number % 9
        );
        let time = crate::time::at("2015-05-17T10:00:00Z").unwrap() + i64::from(number % 3_600) * 1_000_000;
        let person = id(format!("10.0.0.{}", number % 50).as_bytes());
        let value = if number % 7 == 0 { MISSING } else { i64::from(number) / 10 };
        let key = format!("/{}", number % 9);
        expected.push(SourceRecord::made_of(time, person, id(b"a \"b\""), &[&key], &[value]));
    }
    expected.sort();
    place.write("access.log", &text);
    let person = "person = { field = \"client\", missing = \"reject\" }";
    let source = stated(
        &format!(
            "type = \"combined\"\npath = {:?}\nid = {{ field = \"agent\" }}",
            place.path("access.log").to_str().unwrap()
        ),
        person,
    );
    for workers in [1, 3] {
        assert!(read(&source, &wanted(&["path"], &[("bytes", -1)], true), workers).unwrap() == expected);
    }
}

// Refutes an order of files that depends on the directory, and a file that is read twice or not at all.
#[test]
fn many_files_are_one_input() {
    let place = Place::new("many");
    for file in 0..20 {
        let bytes = packed([Packing::Plain, Packing::Gzip][file % 2], format!("user\nu{file}\n").as_bytes());
        place.write(["a.csv", "b.csv.gz"][file % 2].replace('.', &format!("{file:02}.")).as_str(), bytes);
    }
    let expected: Vec<Id> = {
        let mut ids: Vec<Id> = (0..20).map(|file| id(format!("u{file}").as_bytes())).collect();
        ids.sort();
        ids
    };
    let people = |path: &str| {
        let found = read(&csv(&place.path(path), ""), &wanted(&[], &[], false), 3).unwrap();
        found.iter().map(|record| record.person).collect::<Vec<_>>()
    };
    assert!(people("") == expected && people("*.csv*") == expected);
    assert_eq!(people("b*").len(), 10);
}

#[test]
fn people_who_are_not_named_are_dropped_rejected_or_one() {
    let place = Place::new("missing");
    place.write("a.csv", "user,x\nada,1\n,2\n\"\",3\n");
    place.write("a.jsonl", "{\"user\":\"ada\"}\n{\"user\":null}\n{\"user\":\"\"}\n{}\n");
    for (kind, lines) in [("csv", 2), ("jsonl", 3)] {
        let people = |missing: &str, bad: u64| {
            let source = format!(
                "type = \"{kind}\"\npath = {:?}\nbad = {{ lines = {bad} }}",
                place.path(&format!("a.{kind}")).to_str().unwrap()
            );
            let source =
                stated(&source, &format!("person = {{ field = \"user\", missing = \"{missing}\" }}"));
            read(&source, &wanted(&[], &[], false), 1)
                .map(|found| found.iter().map(|record| record.person).collect::<Vec<_>>())
        };
        assert!(people("drop", 0).unwrap() == [id(b"ada")]);
        assert!(people("reject", lines).unwrap() == [id(b"ada")]);
        assert!(people("reject", lines - 1).unwrap_err().is_refused());
        let mut all = vec![Id::SHARED; lines as usize];
        all.push(id(b"ada"));
        all.sort();
        assert!(people("shared", 0).unwrap() == all);
    }
}

// Every kind of record that somebody might send (B44 to B58): a fixed rule, and no end of the run.
#[test]
fn odd_records_follow_the_rules() {
    let place = Place::new("odd");
    let long = "k".repeat(4_097);
    let huge = "u".repeat(64 << 10);
    type Expected = Option<(&'static [u8], &'static str, i64)>;
    let lines: [(&[u8], Expected); 22] = [
        (b"a,k,NaN", None),
        (b"a,k,inf", None),
        (b"a,k,-0.0", Some((b"a", "k", 0))),
        (b"a,k,1e-320", Some((b"a", "k", 0))),
        // One step from the end: the end itself says that there is no value.
        (b"a,k,-9223372036854775808", Some((b"a", "k", i64::MIN + 1))),
        (b"a,k,", Some((b"a", "k", MISSING))),
        (b"a,,1", Some((b"a", "", 1))),
        (b"a,k,18446744073709551615", Some((b"a", "k", i64::MAX))),
        (b"a,k,1e30", Some((b"a", "k", i64::MAX))),
        (b"\xff\xfe,k,1", Some((b"\xff\xfe", "k", 1))),
        (b"a\0b,k,1", Some((b"a\0b", "k", 1))),
        (b"007,k,1", Some((b"007", "k", 1))),
        ("é,k,1".as_bytes(), Some(("é".as_bytes(), "k", 1))),
        ("e\u{301},k,1".as_bytes(), Some(("e\u{301}".as_bytes(), "k", 1))),
        (b"a,\xff,1", Some((b"a", "\u{fffd}", 1))),
        (b"a,=cmd(),1", Some((b"a", "=cmd()", 1))),
        (b"a,\"x\ny\",1", None),
        (b"a,k", None),
        (b"a,k,1,2,3", Some((b"a", "k", 1))),
        (b"a,k,\"1", None),
        (b"a,k,0x10", None),
        (b"a,k, 7 ", Some((b"a", "k", 7))),
    ];
    for (line, expected) in lines {
        place.write("a.csv", [b"user,key,value\nz,k,1\n", line, b"\n"].concat());
        let found = read(
            &csv(&place.path("a.csv"), "bad = { lines = 2 }"),
            &wanted(&["key"], &[("value", 0)], false),
            1,
        )
        .unwrap();
        let found: Vec<_> = found
            .into_iter()
            .filter(|record| record.person != id(b"z"))
            .map(|record| (record.person, record.key(0).unwrap(), record.value(0)))
            .collect();
        let expected: Vec<_> =
            expected.into_iter().map(|(person, key, value)| (id(person), Text::new(key), value)).collect();
        assert!(found == expected, "{}", String::from_utf8_lossy(line));
    }
    let line =
        [format!("{huge},k,1"), format!("{huge}u,k,1"), format!("a,{long},1"), format!("a,{},1", &long[1..])]
            .join("\n");
    place.write("a.csv", format!("user,key,value\n{line}\n{}\n", "x".repeat(3 << 20)));
    let wanted = wanted(&["key", "key"], &[], false);
    let found = read(&csv(&place.path("a.csv"), "bad = { lines = 2 }"), &wanted, 2).unwrap();
    // The longest id counts, the one above it is bad as is the line of 3 MB, and the long key counts as empty.
    assert_eq!(found.iter().filter(|record| record.person == id(huge.as_bytes())).count(), 1);
    let with_keys = |at| found.iter().filter(|record| !record.key(at).unwrap().is_empty()).count();
    assert_eq!((found.len(), with_keys(0), with_keys(1)), (3, 2, 2));
}

// Refutes an allocation for each record: what goes round keeps its room, and long keys are shared.
#[test]
fn reading_goes_on_in_the_room_that_it_has() {
    let place = Place::new("room");
    let key = "a key that does not lie in place";
    place.write("a.csv", format!("user,key\n{}", format!("ada,{key}\n").repeat(200_000)));
    let (source, person) = csv(&place.path("a.csv"), "");
    let input =
        open(&source, &person, wanted(&["key"], &[], false), InputPace::Bounded, threads(1), Brake::new())
            .unwrap();
    let mut part = input.part::<Id, ()>(0);
    let (mut batch, mut count, mut shared) = (Vec::with_capacity(4_096), 0, None);
    loop {
        batch.clear();
        let pulled = part.pull(&mut batch).unwrap();
        assert!(batch.len() <= 2 * crate::dataflow::BATCH && batch.capacity() == 4_096);
        for record in &batch {
            let found = record.key(0).unwrap().text().as_ptr().addr();
            assert_eq!(*shared.get_or_insert(found), found);
        }
        count += batch.len();
        if pulled == Pulled::End {
            break;
        }
    }
    assert_eq!(count, 200_000);
}

// Refutes a part that is read twice, and one of another process.
#[test]
fn a_part_is_taken_once_and_by_its_own_process() {
    let place = Place::new("once");
    place.write("a.csv", "user\nada\n");
    let (source, person) = csv(&place.path("a.csv"), "");
    let crew = Crew { process: 1, processes: 2, threads: 1 };
    let input =
        open(&source, &person, wanted(&[], &[], false), InputPace::Bounded, crew, Brake::new()).unwrap();
    let mut batch = Vec::new();
    for other in [0, 2, usize::MAX] {
        assert_eq!(input.part::<Id, ()>(other).pull(&mut batch), Ok(Pulled::End));
    }
    let _first = input.part::<Id, ()>(1);
    assert_eq!(input.part::<Id, ()>(1).pull(&mut batch), Ok(Pulled::End));
    assert!(batch.is_empty());
}

// Refutes reading that goes on under the brake.
#[test]
fn nothing_is_read_while_the_brake_is_pulled() {
    let place = Place::new("brake");
    place.write("a.csv", format!("user\n{}", "ada\n".repeat(1_000_000)));
    let (source, person) = csv(&place.path("a.csv"), "");
    let brake = Brake::new();
    brake.pull();
    let input =
        open(&source, &person, wanted(&[], &[], false), InputPace::Bounded, threads(1), Arc::clone(&brake))
            .unwrap();
    std::thread::sleep(Duration::from_millis(60));
    assert!(brake.is_pulled() && input.progress().read() == 0);
    let mut part = input.part::<Id, Id>(0);
    assert_eq!(part.pull(&mut Vec::new()), Ok(Pulled::Idle));
    brake.release();
    assert_eq!(drained(vec![part]).unwrap()[0].len(), 1_000_000);
}
