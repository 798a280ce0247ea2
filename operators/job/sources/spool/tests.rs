//! Batches that are added, and a spool that is opened after a crash or a hand was at it.
#![allow(clippy::unwrap_used)]
use std::path::Path;

use super::segment::{IDS, numbers};
use super::*;
use crate::job::sources::tests::Place;
use crate::noise::goodness::size;

const BOUNDS: SpoolBounds = SpoolBounds { segment: 1 << 20, hold: 1 << 30, remembered: REMEMBERED };

fn open(place: &Place, bounds: SpoolBounds) -> Spool {
    for _ in 0..1_000 {
        match Spool::open(&place.path("spool"), bounds) {
            // A process that another test begins holds the lock up to its own program.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                std::thread::sleep(Duration::from_millis(1));
            }
            opened => return opened.unwrap(),
        }
    }
    panic!("another run has the spool")
}

fn add(spool: &Spool, id: &str, body: &[u8]) -> Result<SpooledBatch, SpoolRefusal> {
    spool.add(&SpoolBatch::new(id, body))
}

fn text(place: &Place) -> String {
    let mut all = numbers(&place.path("spool"), ".jsonl").unwrap();
    all.sort_unstable();
    all.iter().map(|number| fs::read_to_string(lines_path(&place.path("spool"), *number)).unwrap()).collect()
}

// Refutes a gap for a crash in the first moments of a spool, when nothing was acknowledged, and none where a hand has emptied one.
#[test]
fn a_spool_that_is_torn_before_its_end_begins_again() {
    for is_hand in [false, true] {
        for (length, is_end_there) in [(0, false), (7, false), (40, false), (40, true)] {
            let place = Place::new("spool-torn");
            let at = place.path("spool");
            let spool = open(&place, BOUNDS);
            let seen = is_hand.then(|| {
                add(&spool, "one", b"a\n").unwrap();
                spool.end()
            });
            drop(spool);
            fs::write(lines_path(&at, 1), "").unwrap();
            let head = fs::read(records_path(&at, 1)).unwrap();
            fs::write(records_path(&at, 1), &head[..length]).unwrap();
            let end = at.join(IDS).join("end");
            if is_end_there {
                fs::write(end, "").unwrap()
            } else {
                fs::remove_file(end).unwrap()
            };
            let spool = open(&place, BOUNDS);
            assert_eq!((spool.first(), spool.end().segment), (1, 1), "{length}");
            assert_eq!(spool.is_whole(1, seen.as_ref()).unwrap(), !is_hand, "{length}");
            add(&spool, "two", b"b\n").unwrap();
            drop(spool);
            assert!(open(&place, BOUNDS).is_whole(1, None).unwrap());
        }
    }
    // What is there stays, and it is not known if it is all.
    let place = Place::new("spool-torn");
    add(&open(&place, BOUNDS), "one", b"a\n").unwrap();
    fs::remove_file(place.path("spool").join(IDS).join("end")).unwrap();
    let spool = open(&place, BOUNDS);
    assert_eq!((text(&place).as_str(), spool.end().segment), ("a\n", 2));
    assert!(!spool.is_whole(1, None).unwrap());
}

// Refutes a batch that is written twice, an id that is forgotten with its process, one that stands for
// other bytes, a last line that runs into the next batch, and a spool that two runs fill.
#[test]
fn a_repeated_batch_is_written_once() {
    let place = Place::new("spool-repeated");
    for life in 0..3 {
        let spool = open(&place, BOUNDS);
        let is_new = if life == 0 { SpooledBatch::New } else { SpooledBatch::Repeated };
        assert_eq!(add(&spool, "one", b"a\nb\n").unwrap(), is_new);
        assert_eq!(add(&spool, "two", b"c").unwrap(), is_new);
        assert_eq!(add(&spool, "two", b"c").unwrap(), SpooledBatch::Repeated);
        assert_eq!(add(&spool, "three", b"").unwrap(), is_new);
        assert_eq!(add(&spool, "two", b"d"), Err(SpoolRefusal::OtherBatch));
        assert_eq!(text(&place), "a\nb\nc\n");
        let other = Spool::open(&place.path("spool"), BOUNDS).err().unwrap();
        assert_eq!(other.kind(), io::ErrorKind::WouldBlock);
    }
}

// Refutes an acknowledged batch that a crash loses, bytes of one that was not acknowledged and stay, and a batch
// that was acknowledged and is not missed, at every byte of either file at which a crash or a hand may cut it.
#[test]
fn what_a_crash_leaves_is_cut_to_whole_batches() {
    let place = Place::new("spool-crash");
    let at = place.path("spool");
    let spool = open(&place, BOUNDS);
    let mut ends = vec![fs::read(at.join(IDS).join("end")).unwrap()];
    for (id, body) in [("one", "a\nbb\n"), ("two", "ccc"), ("three", "d\n")] {
        add(&spool, id, body.as_bytes()).unwrap();
        ends.push(fs::read(at.join(IDS).join("end")).unwrap());
    }
    drop(spool);
    let paths = [lines_path(&at, 1), records_path(&at, 1)];
    let [lines, records] = paths.clone().map(|path| fs::read(path).unwrap());
    let head = records.len() - 3 * RECORD;
    assert_eq!((lines.len(), head), (11, 40));
    let places = [0, 5, 9, 11];
    for (acknowledged, end) in ends.iter().enumerate() {
        for cut_lines in 0..=lines.len() {
            for cut_records in (0..=records.len()).step_by(size(8, 4)) {
                fs::write(&paths[0], &lines[..cut_lines]).unwrap();
                fs::write(&paths[1], &records[..cut_records]).unwrap();
                fs::write(at.join(IDS).join("end"), end).unwrap();
                let kept = cut_records.checked_sub(head).map(|records| records / RECORD);
                let whole =
                    places[1..].iter().filter(|end| **end <= cut_lines).count().min(kept.unwrap_or(0));
                let case = format!("{acknowledged} {cut_lines} {cut_records}");
                // An end from before the first batch comes from its creation, which the head is older than.
                let is_whole = kept.is_some() && whole >= acknowledged;
                for _ in 0..2 {
                    let spool = open(&place, BOUNDS);
                    assert_eq!(spool.is_whole(1, None).unwrap(), is_whole, "{case}");
                    let number = if is_whole { 1 } else { 2 };
                    let length = if is_whole { places[whole] as u64 } else { 0 };
                    let extent = SegmentExtent { length, is_closed: false };
                    assert_eq!(spool.extent(number), Some(extent), "{case}");
                }
                if is_whole {
                    assert_eq!(text(&place).as_bytes(), &lines[..places[whole]], "{case}");
                }
                let spool = open(&place, BOUNDS);
                let again = if whole >= 2 { SpooledBatch::Repeated } else { SpooledBatch::New };
                assert_eq!(add(&spool, "two", b"ccc").unwrap(), again, "{case}");
                drop(spool);
                let _ = fs::remove_file(lines_path(&at, 2));
                let _ = fs::remove_file(records_path(&at, 2));
            }
        }
    }
}

/// Copies a directory.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let path = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &path)
        } else {
            _ = fs::copy(entry.path(), path).unwrap()
        }
    }
}

fn cut(path: &Path, bytes: u64) {
    let file = fs::OpenOptions::new().write(true).open(path).unwrap();
    file.set_len(file.metadata().unwrap().len() - bytes).unwrap();
}

// Refutes an acknowledged batch that a hand took away and that is not missed, by this start or the next one; one
// that is missed for ever; a spool that takes no batches then; and an unharmed one of which something is missed.
#[test]
fn a_hand_in_the_spool_is_noticed_until_nothing_before_it_is_read() {
    type Hand = fn(&Path, &Path);
    let hands: &[(&str, u64, Hand)] = &[
        ("nothing", 0, |_, _| {}),
        ("the lines of a middle segment", 2, |at, _| fs::remove_file(lines_path(at, 2)).unwrap()),
        ("the ids of a middle segment", 2, |at, _| fs::remove_file(records_path(at, 2)).unwrap()),
        ("a middle segment", 2, |at, _| {
            fs::remove_file(lines_path(at, 2)).unwrap();
            fs::remove_file(records_path(at, 2)).unwrap();
        }),
        ("the end of the lines of a middle segment", 2, |at, _| cut(&lines_path(at, 2), 20)),
        ("a batch of a middle segment", 2, |at, _| {
            cut(&lines_path(at, 2), 20);
            cut(&records_path(at, 2), RECORD as u64);
        }),
        ("the end of the lines", 4, |at, _| cut(&lines_path(at, 4), 1)),
        ("the end of the ids", 4, |at, _| cut(&records_path(at, 4), 1)),
        ("the last batch", 4, |at, _| {
            cut(&lines_path(at, 4), 20);
            cut(&records_path(at, 4), RECORD as u64);
        }),
        ("the last lines", 4, |at, _| fs::remove_file(lines_path(at, 4)).unwrap()),
        ("the last ids", 4, |at, _| fs::remove_file(records_path(at, 4)).unwrap()),
        ("the last segment", 4, |at, _| {
            fs::remove_file(lines_path(at, 4)).unwrap();
            fs::remove_file(records_path(at, 4)).unwrap();
        }),
        ("the end", 4, |at, _| fs::remove_file(at.join(IDS).join("end")).unwrap()),
        ("all ids", 4, |at, _| fs::remove_dir_all(at.join(IDS)).unwrap()),
        ("all segments", 4, |at, _| {
            for number in 1..=4 {
                fs::remove_file(lines_path(at, number)).unwrap();
                fs::remove_file(records_path(at, number)).unwrap();
            }
        }),
        ("an older copy", 3, |at, older| {
            fs::remove_dir_all(at).unwrap();
            copy(older, at);
        }),
        ("a copy of now", 4, |at, older| {
            fs::remove_dir_all(older).unwrap();
            copy(at, older);
            fs::remove_dir_all(at).unwrap();
            copy(older, at);
        }),
    ];
    let bounds = SpoolBounds { segment: 40, ..BOUNDS };
    let body = b"nineteen bytes here\n";
    for (hand, last, act) in hands {
        let place = Place::new("spool-hand");
        let (at, older) = (place.path("spool"), place.path("older"));
        let spool = open(&place, bounds);
        for number in 0..8 {
            add(&spool, &number.to_string(), body).unwrap();
            if number == 5 {
                copy(&at, &older);
            }
        }
        assert!(spool.is_whole(1, None).unwrap() && spool.extent(4).is_some() && spool.extent(5).is_none());
        let end = spool.end();
        assert_eq!(SpoolEnd::read(&end.write()), Some(end));
        drop(spool);
        act(&at, &older);
        for life in 0..3 {
            let spool = open(&place, bounds);
            let case = format!("{hand}, life {life}");
            assert_eq!(spool.is_whole(1, None).unwrap(), *last == 0, "{case}");
            // Only the older ones are not needed any more.
            let next = spool.end().segment;
            for from in 1..=next {
                assert_eq!(spool.is_whole(from, None).unwrap(), from > *last, "{case}, from {from}");
            }
            assert!(!spool.is_whole(next + 1, None).unwrap());
            assert_eq!(add(&spool, &format!("new {life}"), body), Ok(SpooledBatch::New), "{case}");
        }
    }
}

// Refutes a spool that ends before the end that a ledger has, though it is whole in itself, and one with another
// batch there.
#[test]
fn an_end_is_known_by_everything_before_it() {
    let [place, other, foreign] = ["a", "b", "c"].map(|name| Place::new(&format!("spool-end-{name}")));
    let spool = open(&place, BOUNDS);
    add(&spool, "one", b"1").unwrap();
    let first = spool.end();
    drop(spool);
    fs::rename(place.path("spool").join(IDS).join("end"), place.path("kept")).unwrap();
    copy(&place.path("spool"), &other.path("spool"));
    fs::rename(place.path("kept"), place.path("spool").join(IDS).join("end")).unwrap();
    let spool = open(&place, BOUNDS);
    add(&spool, "two", b"2").unwrap();
    let second = spool.end();
    assert!(spool.is_whole(1, Some(&first)).unwrap() && spool.is_whole(1, Some(&second)).unwrap());
    add(&spool, "three", b"3").unwrap();
    assert!(spool.is_whole(1, Some(&second)).unwrap(), "and more");
    let older = open(&other, BOUNDS);
    let whole_from = older.end().segment;
    assert!(older.is_whole(whole_from, Some(&first)).unwrap());
    assert!(!older.is_whole(whole_from, Some(&second)).unwrap());
    let foreign = open(&foreign, BOUNDS);
    add(&foreign, "one", b"1").unwrap();
    add(&foreign, "two", b"2").unwrap();
    assert!(foreign.is_whole(1, None).unwrap() && !foreign.is_whole(1, Some(&second)).unwrap());
}

// Refutes a batch that is read though a crash may still lose it.
#[test]
fn nothing_is_read_before_it_is_durable() {
    let place = Place::new("spool-durable");
    let spool = open(&place, BOUNDS);
    let (number, status) = spool.write(&SpoolBatch::new("one", b"x")).unwrap();
    assert_eq!((spool.extent(1).unwrap().length, status), (0, SpooledBatch::New));
    spool.sync(number).unwrap();
    assert_eq!(spool.extent(1).unwrap().length, 2);
}

// Refutes a bound that is passed, a spool that stays full, a segment that is removed while it is needed,
// and an id that is forgotten with its lines.
#[test]
fn a_full_spool_takes_batches_again_once_segments_are_removed() {
    let place = Place::new("spool-full");
    let bounds = SpoolBounds { segment: 100, hold: 1_000, ..BOUNDS };
    let body = [b'x'; 59];
    {
        let spool = open(&place, bounds);
        for number in 0..10 {
            assert_eq!(add(&spool, &format!("{number}"), &body), Ok(SpooledBatch::New));
        }
        assert_eq!(spool.held(), 1_000);
        assert_eq!(add(&spool, "10", &body), Err(SpoolRefusal::Full));
        assert_eq!(add(&spool, "3", &body), Ok(SpooledBatch::Repeated));
    }
    let spool = open(&place, bounds);
    assert_eq!((add(&spool, "10", &body), spool.first()), (Err(SpoolRefusal::Full), 1));
    spool.remove_before(3).unwrap();
    assert_eq!((spool.extent(2), spool.first(), spool.held()), (None, 3, 600));
    assert_eq!(add(&spool, "0", &body), Ok(SpooledBatch::Repeated), "its lines are gone");
    assert_eq!(add(&spool, "10", &body), Ok(SpooledBatch::New));
    drop(spool);
    assert_eq!(add(&open(&place, bounds), "0", &body), Ok(SpooledBatch::Repeated), "in another run, too");
    // A single batch may fill it.
    let spool = open(&place, bounds);
    spool.remove_before(u64::MAX).unwrap();
    let most = vec![b'y'; 1_000 - RECORD - 1 - spool.held() as usize];
    assert_eq!(add(&spool, "most", &most), Ok(SpooledBatch::New));
    assert_eq!(add(&spool, "more", b""), Err(SpoolRefusal::Full));
    spool.remove_before(u64::MAX).unwrap();
    assert_eq!((spool.held(), add(&spool, "more", b"")), (0, Ok(SpooledBatch::New)));
}

// Refutes ids that are forgotten too early, ones that are never forgotten, and batches beyond what may be
// remembered.
#[test]
fn the_newest_ids_are_remembered() {
    let place = Place::new("spool-ids");
    let bounds = SpoolBounds { remembered: 20, ..BOUNDS };
    let spool = open(&place, bounds);
    let add = |spool: &Spool, number: u64| add(spool, &format!("{number}"), b"x");
    for number in 0..20 {
        assert_eq!(add(&spool, number), Ok(SpooledBatch::New), "{number}");
    }
    assert_eq!(add(&spool, 20), Err(SpoolRefusal::Full));
    for number in 20..200 {
        spool.remove_before(u64::MAX).unwrap();
        assert_eq!(add(&spool, number), Ok(SpooledBatch::New), "{number}");
        let oldest = (number - 19).max(1);
        assert_eq!(add(&spool, oldest), Ok(SpooledBatch::Repeated), "{oldest} at {number}");
    }
    assert!(lock_of(&spool.open).known.len() <= 24);
    drop(spool);
    let spool = open(&place, bounds);
    assert!(lock_of(&spool.open).known.len() <= 24);
    assert_eq!(add(&spool, 181), Ok(SpooledBatch::Repeated));
}

// Refutes a segment that holds lines for ever where few arrive, and empty ones that follow one another.
#[test]
fn a_segment_is_closed_by_its_age() {
    let place = Place::new("spool-age");
    let spool = open(&place, BOUNDS);
    spool.close_older(Duration::ZERO).unwrap();
    add(&spool, "one", b"x").unwrap();
    spool.close_older(AGE).unwrap();
    assert_eq!(spool.extent(2), None);
    spool.close_older(Duration::ZERO).unwrap();
    spool.close_older(Duration::ZERO).unwrap();
    assert_eq!(spool.extent(1), Some(SegmentExtent { length: 2, is_closed: true }));
    assert_eq!(spool.extent(2), Some(SegmentExtent { length: 0, is_closed: false }));
    assert_eq!(spool.extent(3), None);
}

// Refutes an acknowledgement of another batch's sync, and a batch that is torn by one that comes at once.
#[test]
fn batches_of_many_senders_are_whole() {
    let place = Place::new("spool-many");
    let spool = open(&place, SpoolBounds { segment: 500, ..BOUNDS });
    std::thread::scope(|scope| {
        for sender in 0..4 {
            let spool = &spool;
            scope.spawn(move || {
                for number in 0..20 {
                    let body = format!("{sender} {number}\n").repeat(3);
                    assert_eq!(
                        add(spool, &format!("{sender}-{number}"), body.as_bytes()),
                        Ok(SpooledBatch::New)
                    );
                }
            });
        }
    });
    let text = text(&place);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 4 * 20 * 3);
    assert!(lines.chunks(3).all(|batch| batch[0] == batch[1] && batch[1] == batch[2]));
}
