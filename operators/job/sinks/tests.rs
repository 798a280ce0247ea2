#![allow(clippy::unwrap_used)]

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use proptest::prelude::*;

use super::known_rows::IN_MIND;
use super::table::TableColumns;
use super::*;
use crate::accounting::Interval;
use crate::ledger::{Name, ReleaseId, ReleaseStatus};
use crate::noise::goodness::full;

mod columns;

struct Place(PathBuf);

impl Place {
    fn new() -> Place {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("discreet-sink-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let place = std::env::temp_dir().join(name);
        fs::create_dir_all(&place).unwrap();
        Place(place)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const NAMES: [&str; 2] = ["out.jsonl", "out.csv"];

fn row(sequence: i64, status: ReleaseStatus, line: impl FnOnce(&str) -> String) -> Row {
    let name = |text| Name::new("name", text).unwrap();
    let window = Interval::new(sequence * 60_000_000, (sequence + 1) * 60_000_000).unwrap();
    let version = Digest::of(b"version");
    let release = ReleaseId {
        account: name("visits"),
        job: name("web"),
        version,
        name: name("by_path"),
        window,
        part: None,
    };
    let line = line(&crate::ledger::rows::window(window));
    let chain = Digest::of(&sequence.to_be_bytes());
    let (cost, life, prepaid, state) = (None, None, None, None);
    Row {
        sequence,
        release,
        generation: 1,
        status,
        cost,
        partial: None,
        life,
        prepaid,
        state,
        line,
        delivered: false,
        chain,
    }
}

fn cell(window: &str, key: &str, value: &str) -> String {
    let (key, id) = (serde_json::to_string(key).unwrap(), Digest::of(window.as_bytes()));
    format!(
        r#"{{"release":"by_path","window":{window},"key":{key},"value":{value},"interval":[-18,1.50],"confidence":0.9,"noise":{{"kind":"gaussian","scale":10.9}},"id":"{id}","promise":"lifetime, a person, rho 0.01"}}"#
    )
}

fn sealed(sequence: i64, cells: &[(&str, &str)]) -> Row {
    row(sequence, ReleaseStatus::Sealed, |window| {
        let cells: Vec<String> = cells.iter().map(|(key, value)| cell(window, key, value)).collect();
        cells.join("\n")
    })
}

fn refused(sequence: i64) -> Row {
    row(sequence, ReleaseStatus::Refused, |window| {
        format!(
            r#"{{"release":"by_path","window":{window},"refused":"budget","account":"visits","spent":{{"rho":0.5,"delta":0.0}},"asked":{{"rho":0.25,"delta":1e-9}},"limit":{{"rho":0.6,"delta":1e-6}}}}"#
        )
    })
}

fn rows() -> Vec<Row> {
    let skipped = row(4, ReleaseStatus::Skipped, |window| {
        format!(r#"{{"release":"by_path","window":{window},"skipped":true}}"#)
    });
    vec![
        sealed(
            1,
            &[
                ("/", "1234"),
                ("line\nend, \"quoted\" é", "-2"),
                ("=1+1", "170141183460469231731687303715884105727"),
            ],
        ),
        sealed(2, &[]),
        refused(3),
        skipped,
        sealed(5, &[("\n", "0")]),
    ]
}

fn put(path: &Path, rows: &[Row]) -> Vec<u8> {
    let mut sink = Sink::file(path, false).unwrap();
    rows.iter().for_each(|row| sink.put(row).unwrap());
    sink.settle().unwrap();
    drop(sink);
    fs::read(path).unwrap()
}

// Refutes a torn row that stays, a whole row that is cut, and a row that is written twice or never.
#[test]
fn a_file_that_was_torn_anywhere_ends_as_if_it_never_was() {
    for name in NAMES {
        let place = Place::new();
        let whole = put(&place.file(name), &rows());
        for length in 0..=whole.len() {
            // In an ordinary run, each length with one of the two.
            for zeros in [0, 3].into_iter().filter(|zeros| full() || zeros % 2 == length % 2) {
                let path = place.file(&format!("{length}-{zeros}-{name}"));
                fs::write(&path, [&whole[..length], &vec![0; zeros]].concat()).unwrap();
                assert!(put(&path, &rows()) == whole, "{name} cut at {length} with {zeros} zeros");
            }
        }
    }
}

// Refutes a window whose end is in the file and counts as new, by a sink that receives all rows at once, or
// again later.
#[test]
fn nothing_is_written_twice() {
    for name in NAMES {
        let place = Place::new();
        let path = place.file(name);
        let once = put(&path, &rows());
        let twice: Vec<Row> = rows().into_iter().chain(rows()).collect();
        assert_eq!(put(&path, &twice), once);
        assert_eq!(put(&place.file(&format!("other-{name}")), &twice), once);
        let more = put(&path, &[rows(), vec![refused(6), sealed(7, &[("/", "3")])]].concat());
        assert!(more.starts_with(&once) && more.len() > once.len());
    }
}

// Refutes windows that are written again because an editor wrote the file anew.
#[test]
fn a_row_is_known_however_its_end_is_written() {
    let place = Place::new();
    let path = place.file("out.jsonl");
    let sealed = [sealed(1, &[("/", "1")]), sealed(2, &[])];
    let rewritten =
        String::from_utf8(put(&path, &sealed)).unwrap().replace("\",\"", "\", \"").replace('\n', "\r\n");
    fs::write(&path, &rewritten).unwrap();
    assert_eq!(put(&path, &sealed), rewritten.as_bytes());
}

// Refutes a new file that begins anew though a rotation moved the former one away, one that goes on behind rows of
// another ledger, and a row that is written twice because its delivery was not confirmed.
#[test]
fn a_new_file_goes_on_behind_the_ones_that_a_rotation_made_of_it() {
    let (ledger, other) = (Digest::of(b"ledger"), Digest::of(b"another"));
    let open = |path: &Path, ledger| {
        let mut sink = Sink::file(path, false).unwrap();
        sink.of_ledger(&ledger).unwrap();
        sink
    };
    for (name, moved) in [
        ("out.jsonl", "out.jsonl.1"),
        ("out.jsonl", "out.1.jsonl"),
        ("out.jsonl", "out.jsonl-20261124.gz"),
        ("out.csv", "out.csv-20261124"),
    ] {
        let place = Place::new();
        let path = place.file(name);
        let mut sink = open(&path, ledger);
        [sealed(5, &[]), sealed(7, &[("/", "1")])].iter().for_each(|row| sink.put(row).unwrap());
        sink.settle().unwrap();
        drop(sink);
        let mut bytes = fs::read(&path).unwrap();
        if moved.ends_with("gz") {
            let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
            packed.write_all(&bytes).unwrap();
            bytes = packed.finish().unwrap();
        }
        fs::remove_file(&path).unwrap();
        fs::write(place.file(moved), bytes).unwrap();
        let sink = open(&path, other);
        assert_eq!(sink.newest_position(), Some(0), "{moved}: of another ledger");
        let shows = |witness: Witness| (witness.newest, witness.files);
        assert_eq!(shows(sink.witness().unwrap()), (None, Vec::new()), "{moved}: of another ledger");
        assert_eq!(
            shows(witness_in(&path, &other).unwrap()),
            (None, Vec::new()),
            "{moved}: of another ledger"
        );
        drop(sink);
        let mut sink = open(&path, ledger);
        assert_eq!(sink.newest_position(), Some(7), "{moved}");
        let newest = (Some((7, Digest::of(&7_i64.to_be_bytes()))), vec![place.file(moved)]);
        assert_eq!(shows(sink.witness().unwrap()), newest, "{moved}");
        assert_eq!(shows(witness_in(&path, &ledger).unwrap()), newest, "{moved}");
        assert!(is_of_releases(&place.file(moved)), "{moved}");
        let rows = published(&place.file(moved)).unwrap();
        assert_eq!(rows.iter().map(|row| row.row.unwrap().0).collect::<Vec<_>>(), [5, 7], "{moved}");
        [sealed(5, &[]), sealed(7, &[("/", "1")]), sealed(9, &[])]
            .iter()
            .for_each(|row| sink.put(row).unwrap());
        sink.settle().unwrap();
        drop(sink);
        let text = fs::read_to_string(&path).unwrap();
        let rows = HeldRows::read(text.as_bytes(), SinkFormat::of(&path), false, &path).unwrap();
        assert_eq!((rows.first, rows.newest.map(|(at, _)| at)), (Some(9), Some(9)), "{moved}");
        let sink = open(&path, ledger);
        assert_eq!(sink.newest_position(), Some(9));
        assert_eq!(sink.witness().unwrap().files, [path]);
    }
    // An output that has no position yet goes on behind them as well.
    let place = Place::new();
    let path = place.file("out.jsonl");
    for (row, moved) in [(sealed(7, &[]), true), (refused(8), false)] {
        let mut sink = open(&path, ledger);
        sink.put(&row).unwrap();
        sink.settle().unwrap();
        drop(sink);
        if moved {
            fs::rename(&path, place.file("out.jsonl.1")).unwrap();
        }
    }
    let sink = open(&path, ledger);
    assert!(!sink.is_new());
    assert_eq!(
        (sink.newest_position(), sink.witness().unwrap().newest.map(|(at, _)| at)),
        (Some(7), Some(7))
    );
    drop(sink);
    assert_eq!(witness_in(&path, &ledger).unwrap().newest.map(|(at, _)| at), Some(7));
    // Files that were written at one time.
    let place = Place::new();
    let path = place.file("out.jsonl");
    for (moved, sequence) in [("out.jsonl.1", 7), ("out.jsonl.2", 5)] {
        let other = place.file(&format!("other-{sequence}.jsonl"));
        let mut sink = open(&other, ledger);
        sink.put(&sealed(sequence, &[])).unwrap();
        sink.settle().unwrap();
        drop(sink);
        fs::rename(&other, place.file(moved)).unwrap();
        let file = OpenOptions::new().append(true).open(place.file(moved)).unwrap();
        file.set_modified(std::time::UNIX_EPOCH).unwrap();
    }
    assert_eq!(open(&path, ledger).newest_position(), Some(7));
    // A file that is no output, and another's.
    let place = Place::new();
    fs::write(place.file("out.jsonl.1"), "no release\n").unwrap();
    assert_eq!(open(&place.file("out.jsonl"), ledger).newest_position(), Some(0));
}

/// Rows of a ledger as a file of this name has them.
fn file_of(name: &str, ledger: &Digest, sequences: &[i64]) -> Vec<u8> {
    let place = Place::new();
    let mut sink = Sink::file(&place.file(name), false).unwrap();
    sink.of_ledger(ledger).unwrap();
    sequences.iter().for_each(|at| sink.put(&sealed(*at, &[("/", "1")])).unwrap());
    sink.settle().unwrap();
    fs::read(place.file(name)).unwrap()
}

// Refutes an older copy of the ledger that is taken for the newest one, since the newest rotated output was copied before an older
// one, lies beside another job's, is torn or cut short, or beside the target of a link, or since the output was restored too.
#[test]
fn whatever_a_rotation_left_is_a_witness() {
    let (ledger, other) = (Digest::of(b"ledger"), Digest::of(b"another"));
    let now = std::time::SystemTime::now();
    let write = |path: &Path, bytes: &[u8], age: u64| {
        fs::write(path, bytes).unwrap();
        let file = OpenOptions::new().append(true).open(path).unwrap();
        file.set_modified(now - std::time::Duration::from_secs(age)).unwrap();
    };
    let shows = |path: &Path| {
        let mut sink = Sink::file(path, false).unwrap();
        sink.of_ledger(&ledger).unwrap();
        let [own, checked] = [sink.witness().unwrap(), witness_in(path, &ledger).unwrap()].map(|witness| {
            let newest = witness.newest.map(|(at, _)| at);
            (newest, witness.unclosed.map(|window| window.id), witness.files)
        });
        assert_eq!(own, checked);
        own
    };
    for name in NAMES {
        let file = |sequences: &[i64]| file_of(name, &ledger, sequences);
        // By their times the older one is the newer.
        for [newest, older] in
            [[".9", ".1"], [".1", ".2"], [".1", ".10"], ["-20261127", "-20261126"], [".1", ".bak"]]
        {
            let place = Place::new();
            let [newest, older] = [newest, older].map(|ending| place.file(&format!("{name}{ending}")));
            write(&newest, &file(&[5, 7]), 20);
            write(&older, &file(&[1, 3]), 10);
            (3..5).for_each(|at| write(&place.file(&format!("{name}.{at}")), &file(&[1]), 5));
            assert_eq!(shows(&place.file(name)), (Some(7), None, vec![newest]), "{name}");
        }
        // Those of another ledger say nothing of this one.
        let place = Place::new();
        let path = place.file(name);
        let rotated = |at: usize| place.file(&format!("{name}.{at}"));
        (1..4).for_each(|at| write(&rotated(at), &file_of(name, &other, &[9]), at as u64));
        write(&rotated(4), &file(&[7]), 4);
        assert_eq!(shows(&path), (Some(7), None, vec![rotated(4)]), "{name}");
        // The output was restored with the ledger.
        fs::write(&path, file(&[3])).unwrap();
        assert_eq!(shows(&path), (Some(7), None, vec![path.clone(), rotated(4)]), "{name}");
        fs::write(&path, file(&[9])).unwrap();
        assert_eq!(shows(&path), (Some(9), None, vec![path.clone()]), "{name}");
        // A packed file that lacks its end, and one whose last window is torn.
        let place = Place::new();
        let path = place.file(name);
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        packed.write_all(&file(&[5, 7])).unwrap();
        let packed = packed.finish().unwrap();
        let gz = place.file(&format!("{name}.1.gz"));
        fs::write(&gz, &packed[..packed.len() - 4]).unwrap();
        assert_eq!(shows(&path), (Some(7), None, vec![gz.clone()]), "{name}");
        assert_eq!(published(&gz).unwrap().len(), 2, "{name}");
        let whole = file(&[5, 7]);
        let closing = whole[..whole.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
        let seven = sealed(7, &[("/", "1")]);
        let line: serde_json::Value = serde_json::from_str(seven.line().lines().next().unwrap()).unwrap();
        let unclosed = Some(Digest::parse(line["id"].as_str().unwrap()));
        assert_ne!(unclosed, Some(None));
        for torn in [&whole[..whole.len() - 10], &whole[..closing], &whole[..closing - 1]] {
            fs::remove_file(&gz).ok();
            let plain = place.file(&format!("{name}.1"));
            fs::write(&plain, torn).unwrap();
            assert_eq!(shows(&path), (Some(5), unclosed, vec![plain.clone()]), "{name}");
            fs::remove_file(&plain).unwrap();
            // A line that lacks its line end alone was read by others.
            fs::write(&path, torn).unwrap();
            assert_eq!(shows(&path), (Some(5), unclosed, vec![path.clone()]), "{name}");
            fs::remove_file(&path).unwrap();
        }
        // Beside the target of a link.
        fs::create_dir(place.file("target")).unwrap();
        std::os::unix::fs::symlink(place.file(&format!("target/{name}")), &path).unwrap();
        let beside = place.file(&format!("target/{name}.1"));
        fs::write(&beside, file(&[7])).unwrap();
        assert_eq!(shows(&path), (Some(7), None, vec![beside]), "{name}");
    }
}

#[test]
fn the_newest_row_that_a_file_knows_anchors_its_ledger() {
    for name in NAMES {
        let place = Place::new();
        let path = place.file(name);
        let sink = Sink::file(&path, false).unwrap();
        assert!(sink.is_new() && sink.witness().unwrap().newest.is_none());
        assert_eq!(sink.newest_position(), Some(0), "it lacks all rows");
        drop(sink);
        put(&path, &[sealed(9, &[]), sealed(2, &[("/", "1")]), refused(11)]);
        let sink = Sink::file(&path, false).unwrap();
        assert!(!sink.is_new());
        assert_eq!(sink.witness().unwrap().newest, Some((9, Digest::of(&9_i64.to_be_bytes()))));
        assert_eq!(sink.newest_position(), Some(9), "it lacks what comes after that");
        // A file without a whole row is as good as new.
        drop(sink);
        let torn = place.file(&format!("torn-{name}"));
        let whole = fs::read(&path).unwrap();
        let header = if name.ends_with("csv") { TableColumns::narrow(false).header().len() } else { 0 };
        fs::write(&torn, &whole[..header + 40]).unwrap();
        assert!(Sink::file(&torn, false).unwrap().is_new());
        assert_eq!(fs::read(&torn).unwrap(), &whole[..header + 40], "a sink without a row cut its file");
    }
}

/// Opens a file that must be refused and left unchanged; returns the error.
fn is_refused(name: &str, text: &[u8], demo: bool) -> String {
    let place = Place::new();
    let path = place.file(name);
    fs::write(&path, text).unwrap();
    let trouble = Sink::file(&path, demo).unwrap_err();
    assert_eq!(trouble.kind(), crate::ledger::LedgerErrorKind::Refused);
    assert_eq!(fs::read(&path).unwrap(), text, "it was written to");
    trouble.to_string()
}

// Refutes a foreign file that is cut, an error that shows the text of the file, and a damage in the middle
// that is skipped.
#[test]
fn what_is_no_file_of_releases_is_left_as_it_is() {
    let place = Place::new();
    for name in NAMES {
        let whole = String::from_utf8(put(&place.file(name), &rows())).unwrap();
        for foreign in
            ["secret", "secret\n", "{\"secret\":1", "{\"release\":\"Secret", "\n", "{\"release\":\"a\"}\n"]
        {
            let message = is_refused(name, foreign.as_bytes(), false);
            assert!(message.contains(&format!("{name}:1: ")) && !message.contains("ecret\""), "{message}");
        }
        is_refused(name, &[whole.as_bytes(), b"secret\n"].concat(), false);
        is_refused(name, &[0xff, b'\n'], false);
        // A window without one of its lines, and one among the lines of another.
        let lines: Vec<&str> = whole.split_inclusive('\n').collect();
        let first = usize::from(name.ends_with("csv"));
        let without = [&lines[..first], &lines[first + 1..]].concat().concat();
        assert!(is_refused(name, without.as_bytes(), false).contains("lacks some"));
        let (one, end) = (lines[first], lines.last().unwrap());
        let head = lines[..first].concat();
        assert!(is_refused(name, format!("{head}{one}{end}").as_bytes(), false).contains("another window"));
    }
    assert!(Sink::file(&place.0, false).unwrap_err().to_string().contains("directory"));
    assert!(Sink::file(&place.file("no/such/directory"), false).is_err());
}

#[test]
fn a_demo_and_releases_are_never_mixed() {
    for name in NAMES {
        let place = Place::new();
        let path = place.file(name);
        let released = put(&path, &rows());
        assert!(is_refused(name, &released, true).contains("found releases"));
        let window = r#"{"start":"2026-11-01T00:00:00Z","end":null}"#;
        let demo = cell(window, "/", "3").replace("\"}", "\",\"demo\":true,\"tally\":4,\"truth\":5}");
        let closed = format!(
            r#"{{"release":"by_path","window":{window},"closed":true,"cells":1,"seq":1,"chain":"{}"}}"#,
            Digest::of(b"")
        );
        let path = place.file(&format!("demo-{name}"));
        let printed = || {
            let mut sink = Sink::file(&path, true).unwrap();
            assert!(sink.is_new());
            sink.put_lines(&format!("{demo}\n{closed}")).unwrap();
            sink.settle().unwrap();
            fs::read_to_string(&path).unwrap()
        };
        let once = printed();
        // Every line is marked, and the next demonstration truncates the file.
        assert!(
            once.lines()
                .skip(usize::from(name == NAMES[1]))
                .all(|line| line.contains("\"demo\":true") || line.contains(",true,")),
            "{once}"
        );
        assert_eq!(printed(), once);
        assert!(is_refused(name, once.as_bytes(), false).contains("found a demo"));
    }
}

// Refutes a row that is lost without an error: on a disk that is full at once, and after it.
#[test]
fn a_full_disk_is_an_error_and_stays_one() {
    let mut sink = Sink::file(Path::new("/dev/full"), false).unwrap();
    assert!(!sink.is_new());
    sink.put(&sealed(1, &[("/", "1")])).unwrap();
    let error = sink.settle().unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    assert!(error.to_string().starts_with("/dev/full: it cannot be written ("), "{error}");
    assert!(sink.put(&sealed(2, &[])).is_err() && sink.settle().is_err());
    let mut sink = Sink::file(Path::new("/dev/full"), false).unwrap();
    let long = "x".repeat(PENDING);
    assert!(sink.put(&sealed(1, &[(&long, "1")])).is_err());
}

// Refutes an error without the path of the file, or without a remedy.
#[test]
fn a_file_that_cannot_be_written_is_named() {
    let place = Place::new();
    let path = place.file("out.jsonl");
    let mut sink = Sink::file(&path, false).unwrap();
    // The descriptor refuses every byte, as under a limit on the file's size.
    sink.to = To::File(File::open(&path).unwrap());
    sink.put(&sealed(1, &[("/", "1")])).unwrap();
    let printed = sink.settle().unwrap_err().to_string();
    assert!(printed.starts_with(&format!("{}: it cannot be written (", path.display())), "{printed}");
    assert!(printed.contains("start the same command again: the ledger holds"), "{printed}");
}

#[test]
fn a_device_receives_every_release() {
    let mut sink = Sink::file(Path::new("/dev/null"), false).unwrap();
    for _ in 0..2 {
        sink.put(&sealed(1, &[("/", "1")])).unwrap();
        assert!(!sink.pending.is_empty());
        sink.settle().unwrap();
    }
    assert!(!sink.is_new() && sink.witness().unwrap().newest.is_none());
}

#[test]
fn two_processes_do_not_write_one_file_and_a_link_leads_to_it() {
    let place = Place::new();
    let (path, link) = (place.file("out.jsonl"), place.file("link.jsonl"));
    let whole = put(&path, &rows());
    std::os::unix::fs::symlink(&path, &link).unwrap();
    assert_eq!(put(&link, &rows()), whole);
    let sink = Sink::file(&path, false).unwrap();
    assert!(Sink::file(&link, false).unwrap_err().to_string().contains("another process"));
    drop(sink);
    assert!(Sink::file(&link, false).is_ok());
}

// Refutes a start that reads a year of releases, and one that writes a row of the unread part again. Keys
// with line ends and quotes take several lines of a table.
#[test]
fn of_a_large_file_the_end_is_read_and_no_row_is_written_twice() {
    the_end_is_read("out.jsonl", "/b");
    the_end_is_read("out.csv", "/b");
    the_end_is_read("out.csv", "/b\n\"x\", 1\nand\n");
}

fn the_end_is_read(name: &str, key: &str) {
    let place = Place::new();
    let (path, format) = (place.file(name), SinkFormat::of(Path::new(name)));
    let many: Vec<Row> = (1..400).map(|sequence| sealed(sequence, &[("/", "1234"), (key, "5")])).collect();
    put(&path, &many);
    let whole = fs::read(&path).unwrap();
    assert!(whole.len() as u64 > 4 * existing_rows::END);
    let file = || File::open(&path).unwrap();
    // Wherever the end begins, and wherever the last row is torn.
    for cut in (0..2_000).step_by(37) {
        fs::write(&path, &whole[..whole.len() - cut]).unwrap();
        let read = HeldRows::read(BufReader::new(file()), format, false, &path).unwrap();
        let end = HeldRows::read_end(&file(), format, false, &path).unwrap();
        assert_eq!((end.sound, end.newest, end.first), (read.sound, read.newest, read.first), "{cut}");
        assert_eq!(end.unclosed.is_some(), read.unclosed.is_some(), "{cut}");
        assert!(end.rows < read.rows / 2 && end.rows > 10, "{} of {}", end.rows, read.rows);
    }
    fs::write(&path, &whole).unwrap();

    // Rows that were delivered, one whose delivery was not recorded, and one that the file lacks.
    let delivered = |row: &Row| Row { delivered: true, ..row.clone() };
    let again: Vec<Row> = many.iter().map(delivered).chain([many[3].clone(), many[397].clone()]).collect();
    assert!(put(&path, &again) == whole, "a row was written twice");
    let lacking = [Row { chain: Digest::of(b"another"), ..many[3].clone() }];
    let headers =
        |format| if format == SinkFormat::Csv { TableColumns::narrow(false).header().len() } else { 0 };
    let alone = put(&place.file(&format!("alone-{name}")), &lacking);
    assert_eq!(put(&path, &lacking).len() - whole.len(), alone.len() - headers(format));

    // A file whose first row or whose end is something else is read whole, and refused with the line.
    let last = whole.windows(6).rposition(|word| word == b"closed").unwrap();
    for at in [0, last] {
        let mut other = whole.clone();
        other[at..at + 6].copy_from_slice(b"------");
        fs::write(&path, &other).unwrap();
        let refused = Sink::file(&path, false).unwrap_err().to_string();
        assert!(refused.contains("found no "), "{refused}");
        assert!(at > 0 || refused.contains(":1:"), "{refused}");
    }
}

// Refutes rows in the text of a key that are taken for rows of the table.
#[test]
fn a_table_whose_keys_are_tables_is_read_whole() {
    let place = Place::new();
    let (path, other) = (place.file("out.csv"), place.file("other.csv"));
    let rows: Vec<Row> = (900..903).map(|sequence| sealed(sequence, &[("/", "7")])).collect();
    let table = String::from_utf8(put(&other, &rows)).unwrap();
    let key = format!("\n{}", table.split_once('\n').unwrap().1);
    let many: Vec<Row> = (1..200).map(|sequence| sealed(sequence, &[(&*key, "5")])).collect();
    let whole = put(&path, &many);
    let end = |length: usize| {
        fs::write(&path, &whole[..length]).unwrap();
        HeldRows::read_end(&File::open(&path).unwrap(), SinkFormat::Csv, false, &path).unwrap()
    };
    for cut in (0..3_000).step_by(41) {
        let end = end(whole.len() - cut);
        assert!(end.newest.unwrap().0 < 200, "a row of a key was taken for the newest: {cut}");
        assert_eq!(end.first, Some(1));
    }
}

#[test]
fn a_long_run_keeps_its_newest_rows_in_mind_alone() {
    let place = Place::new();
    let path = place.file("out.jsonl");
    let mut sink = Sink::file(&path, false).unwrap();
    for sequence in 1..1_000 {
        sink.put(&sealed(sequence, &[])).unwrap();
    }
    assert!(sink.known.newer.len() + sink.known.older.len() <= 2 * IN_MIND);
    for sequence in (1..1_000).rev() {
        sink.put(&Row { delivered: true, ..sealed(sequence, &[]) }).unwrap();
    }
    sink.put(&sealed(3, &[])).unwrap();
    sink.settle().unwrap();
    assert_eq!(fs::read(&path).unwrap().split(|byte| *byte == b'\n').count(), 1_000);
}
