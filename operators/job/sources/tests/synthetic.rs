//! Records that are made up, by any number of workers.

use super::*;

const SOURCE: &str = "type = \"synthetic\"\npeople = 300\nrows = 10000\nkeys = 20\nseed = 5";

fn groups() -> Vec<Group> {
    vec![group(Some("key"), Some(("value", 2))), group(None, None)]
}

// Refutes rows that depend on who makes them; and a log, written to a file and read again, that is another.
#[test]
fn made_up_records_are_the_same_for_every_number_of_workers_and_on_paper() {
    let source = stated(&format!("{SOURCE}\norder = \"sorted\""), USER);
    let expected = read(&source, &wanted(groups(), true), 1).unwrap();
    assert_eq!(expected.len(), 20_000);
    assert!(expected.iter().all(|record| (record.value > 0) == (record.group == 0)));
    for workers in [2, 5] {
        assert!(read(&source, &wanted(groups(), true), workers).unwrap() == expected);
    }
    let mut found = Vec::new();
    for process in 0..2 {
        let crew = Crew { process, processes: 2, threads: 2 };
        let (source, person) = stated(SOURCE, USER);
        let input =
            open(&source, &person, wanted(groups(), true), InputPace::Bounded, crew, Brake::new()).unwrap();
        found.extend(drained((0..4).map(|worker| input.part(worker)).collect()).unwrap().concat());
    }
    found.sort();
    assert!(found == expected);

    let place = Place::new("paper");
    let log = SyntheticLog::of(300, 10_000, 20, None, Some(5), None).unwrap();
    let (mut csv, mut json) = (SyntheticLog::header().into_bytes(), Vec::new());
    for number in 0..log.rows() {
        log.row(number).write_csv(&mut csv).unwrap();
        log.row(number).write_json(&mut json).unwrap();
    }
    for (kind, text) in [("csv", csv), ("jsonl", json)] {
        place.write("log", text);
        let source = format!(
            "type = \"{kind}\"\npath = {:?}\ntime = {{ field = \"time\", format = \"rfc3339\" }}\norder = \"sorted\"",
            place.path("log").to_str().unwrap()
        );
        assert!(read(&stated(&source, USER), &wanted(groups(), true), 2).unwrap() == expected, "{kind}");
    }
}

#[test]
fn a_live_log_gives_what_has_happened() {
    let now = crate::dataflow::Clock::now(&crate::dataflow::SystemClock);
    let (source, person) = stated(SOURCE, USER);
    let span = Some((now - 1_000_000, now + 1_000_000));
    let wanted = FieldRequirements { span, ..wanted(vec![group(None, None)], true) };
    let pace = InputPace::Follow(Arc::new(crate::dataflow::SystemClock));
    let input = open(&source, &person, wanted, pace, threads(1), Brake::new()).unwrap();
    let mut part = input.part::<Id, Id>(0);
    let (mut all, mut complete) = (Vec::new(), i64::MIN);
    loop {
        let mut batch = Vec::new();
        let pulled = part.pull(&mut batch).unwrap();
        let now = crate::dataflow::Clock::now(&crate::dataflow::SystemClock);
        assert!(batch.iter().all(|record| record.time <= now && record.time >= complete));
        all.extend(batch);
        match pulled {
            Pulled::Complete(time) => {
                assert!(complete < time && time <= now);
                complete = time;
            }
            Pulled::End => break,
            Pulled::More | Pulled::Idle => {}
        }
    }
    assert_eq!(all.len(), 10_000);
    assert!(complete > now);
}
