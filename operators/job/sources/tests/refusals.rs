//! The errors of a source that cannot go on.

use crossbeam_channel::bounded;

use super::*;
use crate::job::sources::dealer::DealerMessage;
use crate::job::sources::dealer::SourceFault;
use crate::job::sources::lines::{Combined, LineFormat};
use crate::job::sources::maker::Maker;
use crate::job::sources::part::Chunks;
use crate::job::sources::part::{Lines, PartContext};
use crate::job::sources::wanted::CellLayout;

/// A text of the input, which no error may contain.
const SECRET: &str = "s3cret";

fn gone(source: &(SourceSpec, Protected), wanted: &FieldRequirements, workers: usize) -> SourceError {
    let gone = read(source, wanted, workers).unwrap_err();
    let printed = format!("{gone} {gone:?}");
    assert!(!printed.contains(SECRET), "{printed}");
    assert!(printed.contains("; "), "it says what to do: {printed}");
    gone
}

fn keyed() -> FieldRequirements {
    wanted(&["key"], &[("value", 2)], true)
}

const TIME: &str = "time = { field = \"time\", format = \"rfc3339\" }";

// Through every way in which reading can fail. Refutes an error that quotes what it has read.
#[test]
fn no_error_quotes_a_piece_of_a_record() {
    let place = Place::new("secret");
    let good = "user,key,value,time\nada,k,1,2026-01-01T00:00:00Z\n";
    let lines = [
        format!("{SECRET},k,{SECRET},2026-01-01T00:00:00Z"),
        format!("{SECRET},k,1,{SECRET}"),
        format!("{SECRET},k"),
        format!("\"{SECRET},k,1,"),
        format!("{}{SECRET},k,1,2026-01-01T00:00:00Z", "u".repeat(64 << 10)),
        format!("{SECRET}{}", "x".repeat(2 << 20)),
    ];
    for line in lines {
        place.write("a.csv", format!("{good}{line}\n{good}"));
        for workers in [1, 2] {
            let gone = gone(&csv(&place.path("a.csv"), TIME), &keyed(), workers);
            assert!(gone.is_refused());
            assert!(
                gone.to_string().contains("a.csv: the input was refused: more than 0 lines cannot be read"),
                "{gone}"
            );
        }
    }
    // A file without names begins with a record. It has no two of the wanted names, or as many as it lacks.
    for header in [
        format!("user,key,{SECRET}"),
        format!("user,{SECRET},1,2026-01-01T00:00:00Z"),
        SECRET.into(),
        format!("{SECRET}\n"),
        String::new(),
        format!("\"{SECRET}"),
        format!("user,user,key,value,time,{SECRET}"),
    ] {
        place.write("a.csv", format!("{header}\n{SECRET},k,1,2026-01-01T00:00:00Z\n"));
        assert!(gone(&csv(&place.path("a.csv"), TIME), &keyed(), 1).is_refused());
    }
    place.write("a.csv", "");
    assert!(
        gone(&csv(&place.path("a.csv"), TIME), &keyed(), 1).to_string().contains("no line of column names")
    );
    place.write("a.csv", SECRET.repeat(1 << 20));
    assert!(gone(&csv(&place.path("a.csv"), TIME), &keyed(), 1).is_refused());

    let jsonl = stated(
        &format!("type = \"jsonl\"\npath = {:?}\n{TIME}", place.path("a.jsonl").to_str().unwrap()),
        USER,
    );
    for line in [
        format!("{{\"user\":\"{SECRET}\",\"user\":1}}"),
        SECRET.to_owned(),
        format!("{{\"{SECRET}\":1"),
        format!("{{\"user\":[\"{SECRET}\"]}}"),
        format!("{{\"time\":\"{SECRET}\"}}"),
    ] {
        place.write("a.jsonl", line);
        assert!(gone(&jsonl, &keyed(), 1).is_refused());
    }
    let log = stated(
        &format!("type = \"combined\"\npath = {:?}", place.path("a.log").to_str().unwrap()),
        "unit = \"record\"",
    );
    place.write("a.log", format!("{SECRET} - - [{SECRET}] \"{SECRET}\" 200 1 \"\" \"{SECRET}\"\n"));
    assert!(gone(&log, &wanted(&[], &[], true), 1).is_refused());

    // Packed files that are torn, or are none.
    let text = format!("{good}{}", format!("{SECRET},k,1,2026-01-01T00:00:00Z\n").repeat(5_000));
    for (name, packing) in
        [("a.csv.gz", Packing::Gzip), ("a.csv.bz2", Packing::Bzip2), ("a.csv.zst", Packing::Zstandard)]
    {
        let whole = packed(packing, text.as_bytes());
        for cut in [1, whole.len() / 2, whole.len() - 1] {
            place.write(name, &whole[..cut]);
            let gone = gone(&csv(&place.path(name), TIME), &keyed(), 1);
            assert!(!gone.is_refused() && gone.to_string().contains(name), "{name} {cut} {gone}");
        }
        let mut wrong = whole.clone();
        let middle = wrong.len() / 2;
        wrong[middle..middle + 8].iter_mut().for_each(|byte| *byte ^= 0x5a);
        place.write(name, &wrong);
        assert!(read(&csv(&place.path(name), TIME), &keyed(), 1).is_err(), "{name}");
        place.write(name, text.as_bytes());
        assert!(!gone(&csv(&place.path(name), TIME), &keyed(), 1).is_refused());
    }
    assert!(!gone(&csv(&place.path("nothing.csv"), TIME), &keyed(), 1).is_refused());
}

// Refutes a limit that is one line off, or that each worker has for itself.
#[test]
fn bad_lines_are_counted_over_all_workers_and_up_to_their_limit() {
    let place = Place::new("limit");
    place.write("a.csv", format!("user,value\n{}", "ada,1\nada,x\nada,\n".repeat(100)));
    let groups = wanted(&[], &[("value", 0)], false);
    for workers in [1, 2, 5] {
        for (limit, enough) in [(100, true), (99, false)] {
            let (source, person) = csv(&place.path("a.csv"), &format!("bad = {{ lines = {limit} }}"));
            let input = open_in(
                sizes(50),
                &source,
                &person,
                groups.clone(),
                InputPace::Bounded,
                threads(workers),
                Brake::new(),
            )
            .unwrap();
            let parts = of(&input, workers);
            match drained(parts) {
                // A line without a value is a line.
                Ok(found) => assert!(enough && found.concat().len() == 200),
                Err(gone) => assert!(!enough && gone.to_string().contains("more than 99 lines"), "{gone}"),
            }
        }
    }
    // Every part says so, and says it again.
    let (source, person) = csv(&place.path("a.csv"), "bad = { lines = 99 }");
    let input =
        open_in(sizes(50), &source, &person, groups, InputPace::Bounded, threads(2), Brake::new()).unwrap();
    let mut parts = of(&input, 2);
    let mut failed = [0; 2];
    while failed.iter().any(|times| *times < 3) {
        for (part, times) in parts.iter_mut().zip(&mut failed) {
            *times += i32::from(part.pull(&mut Vec::new()).is_err());
        }
    }
}

// Refutes an order that is checked only within a chunk or a worker.
#[test]
fn one_line_out_of_order_fails_a_sorted_source() {
    let place = Place::new("sorted");
    let unix = "time = { field = \"time\", format = \"unix\" }\norder = \"sorted\"";
    let (source, person) = csv(&place.path("a.csv"), unix);
    let read = |times: &[i64], chunk, workers| {
        let lines: String = times.iter().map(|time| format!("ada,{time}\n")).collect();
        place.write("a.csv", format!("user,time\n{lines}"));
        let input = open_in(
            sizes(chunk),
            &source,
            &person,
            wanted(&[], &[], true),
            InputPace::Bounded,
            threads(workers),
            Brake::new(),
        )
        .unwrap();
        drained(of(&input, workers)).map(|found| found.concat().len())
    };
    let good: Vec<i64> = (0..200).map(|line| 1_000 + line / 3).collect();
    for workers in [1, 2, 5] {
        for chunk in [9, 40, 1_000_000] {
            assert_eq!(read(&good, chunk, workers), Ok(200));
            for swapped in [2, 50, 101, 197] {
                let mut bad = good.clone();
                bad.swap(swapped, swapped + 1);
                if bad == good {
                    continue;
                }
                let gone = read(&bad, chunk, workers).unwrap_err();
                assert!(gone.is_refused() && gone.to_string().contains("order = \"any\""), "{gone}");
            }
            let mut late = good.clone();
            late.push(999);
            assert!(read(&late, chunk, workers).is_err());
        }
    }
}

// Refutes a declaration before its records, and one that goes back.
#[test]
fn a_sorted_part_is_complete_up_to_its_last_line() {
    let place = Place::new("complete");
    let lines: String = (0..20_000).map(|line| format!("ada,{line}\n")).collect();
    place.write("a.csv", format!("user,time\n{lines}"));
    let (source, person) =
        csv(&place.path("a.csv"), "time = { field = \"time\", format = \"unix\" }\norder = \"sorted\"");
    let want = || wanted(&[], &[], true);
    let input = open_in(sizes(5_000), &source, &person, want(), InputPace::Bounded, threads(2), Brake::new())
        .unwrap();
    let mut declared = [0; 2];
    let mut parts = of(&input, 2);
    let mut ended = [false; 2];
    while !ended.iter().all(|ended| *ended) {
        for (worker, part) in parts.iter_mut().enumerate() {
            let mut batch = Vec::new();
            let pulled = part.pull(&mut batch).unwrap();
            assert!(batch.iter().all(|record| record.time >= declared[worker]));
            match pulled {
                Pulled::Complete(time) => {
                    assert!(
                        declared[worker] <= time && batch.last().is_none_or(|record| record.time == time)
                    );
                    declared[worker] = time;
                }
                Pulled::End => ended[worker] = true,
                Pulled::More | Pulled::Idle | Pulled::Gap(..) => {}
            }
        }
    }
    assert!(declared.iter().all(|time| *time > 15_000_000_000), "{declared:?}");
    // The other processes leave it to the first.
    let crew = Crew { process: 1, processes: 2, threads: 2 };
    let input = open(&source, &person, want(), InputPace::Bounded, crew, Brake::new()).unwrap();
    assert!(drained(vec![input.part(2), input.part(3)]).unwrap().concat().is_empty());
    let crew = Crew { process: 0, ..crew };
    let input = open(&source, &person, want(), InputPace::Bounded, crew, Brake::new()).unwrap();
    assert_eq!(drained(vec![input.part(0), input.part(1)]).unwrap().concat().len(), 20_000);
}

#[test]
fn times_from_far_away_are_times() {
    let place = Place::new("far");
    place.write(
        "a.csv",
        "user,time\na,9999-12-31T23:59:59Z\nb,1066-10-14T09:00:00Z\nc,1970-01-01T00:00:00Z\n",
    );
    let found = read(&csv(&place.path("a.csv"), TIME), &wanted(&[], &[], true), 1).unwrap();
    let times: Vec<i64> = found.iter().map(|record| record.time).collect();
    assert_eq!(times, [crate::time::at("1066-10-14T09:00:00Z").unwrap(), 0, 253_402_300_799_000_000]);
    // Where nobody asks for times, they are not read.
    place.write("a.csv", "user,time\na,never\n");
    let found = read(&csv(&place.path("a.csv"), TIME), &wanted(&[], &[], false), 1).unwrap();
    assert_eq!(found.iter().map(|record| record.time).collect::<Vec<_>>(), [0]);
}

// Refutes a declaration that goes back, for which the driver would have another name: a worker is two chunks
// ahead.
#[test]
fn a_worker_that_is_ahead_finds_disorder_by_itself() {
    let place = Place::new("ahead");
    let unix = "time = { field = \"time\", format = \"unix\" }\norder = \"sorted\"";
    let mut lines: Vec<i64> = (1_000..1_090).collect();
    lines[60..90].iter_mut().for_each(|time| *time -= 55);
    let lines: String = lines.iter().map(|time| format!("ada,{time}\n")).collect();
    place.write("a.csv", format!("user,time\n{lines}"));
    let (source, person) = csv(&place.path("a.csv"), unix);
    for workers in 2..4 {
        let wanted = wanted(&[], &[], true);
        let sizes = sizes(90);
        let input =
            open_in(sizes, &source, &person, wanted, InputPace::Bounded, threads(workers), Brake::new())
                .unwrap();
        let mut parts = of(&input, workers);
        // Until one part has failed, it alone is pulled; the others are only pulled where it has nothing
        // more.
        let (mut declared, mut given) = (i64::MIN, Vec::new());
        let gone = loop {
            match parts[0].pull(&mut given) {
                Ok(Pulled::Complete(time)) => {
                    assert!(declared <= time, "what is declared goes on");
                    declared = time;
                }
                Ok(Pulled::Idle) => {
                    for other in &mut parts[1..] {
                        let _ = other.pull(&mut Vec::new());
                    }
                }
                Ok(pulled) => assert_eq!(pulled, Pulled::More),
                Err(gone) => break gone,
            }
        };
        assert!(gone.is_refused() && gone.to_string().contains("a line is earlier"), "{gone}");
    }
}

// Refutes a thread whose death looks like the end of the data.
#[test]
fn a_part_whose_reading_thread_is_gone_says_so() {
    let (source, person) = stated("type = \"combined\"\npath = \"-\"", "unit = \"record\"");
    let part = |messages: Vec<DealerMessage>| {
        let plan = CellLayout::new(&source, &person, &wanted(&[], &[], false)).unwrap();
        let handle = PartContext {
            maker: Maker::new(plan.clone(), &source).unwrap(),
            fault: SourceFault::new("standard input".into(), (0, false), false),
            brake: Brake::new(),
            survey: Survey::none(),
            milestones: Arc::default(),
            reports: true,
            order: Arc::new(Chunks::default()),
            progress: Progress::of(None),
            _taken: Arc::new(()),
            plan,
        };
        let ((sender, chunks), (spare, _)) = (bounded(2), bounded(1));
        for message in messages {
            sender.send(message).unwrap();
        }
        let format = LineFormat::Combined(Combined::new(&[]));
        SourcePart::<(), ()>::of_lines(Lines::new(handle, chunks, spare, format, false, 100))
    };
    let gone = part(Vec::new()).pull(&mut Vec::new()).unwrap_err();
    assert!(!gone.is_refused() && gone.to_string().contains("its reading thread has ended"), "{gone}");
    let mut ended = part(vec![DealerMessage::End]);
    for _ in 0..2 {
        assert_eq!(ended.pull(&mut Vec::new()), Ok(Pulled::End));
    }
}

// Refutes a build without the feature that reads such files as lines, where a program has set them as the source.
#[cfg(not(feature = "arrow"))]
#[test]
fn columnar_files_are_refused_by_a_build_without_the_feature() {
    use crate::job::config::{RecordFormat, SourcePlace};
    let place = Place::new("columnar");
    place.write("a.csv", "user\nada\n");
    let (mut source, person) = csv(&place.path("a.csv"), "");
    let files = SourcePlace::Files(place.path("a.csv"));
    for records in [RecordFormat::Parquet(files.clone()), RecordFormat::Arrow(files)] {
        source.records = records;
        let gone = gone(&(source.clone(), person.clone()), &wanted(&[], &[], false), 1);
        assert!(gone.is_refused() && gone.to_string().contains("build it with `--features arrow`"), "{gone}");
    }
}
