//! The spool of received records under faults: of its disk, of a hand, and of an edited job.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::Signal;

use crate::http::Sender;
use crate::jobs::tallies;
use crate::scene::{Printed, until};

// Refutes a disk without room at which a batch is acknowledged, one that is lost by it, and a run that ends
// by it. The disk is a bound on the size of files.
#[test]
fn a_full_disk_refuses_and_loses_nothing() {
    let mut sender = Sender::new(", batch = \"2 MB\"");
    let command = format!(
        "trap '' XFSZ; ulimit -f 2048; exec {} run job.toml --out releases.jsonl",
        env!("CARGO_BIN_EXE_discreet")
    );
    let mut child = Command::new("sh")
        .args(["-c", &command])
        .current_dir(sender.scene.at(""))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    until("it listens", || sender.listens());
    let batch = sender.batch();
    assert_eq!(sender.send(&batch), Some(200));
    sender.keep(&batch);
    // 1.2 MB of records that no window counts, twice, in files of at most 1 or 2 MB.
    let much = "{\"person\":\"q\",\"time\":\"1\",\"page\":\"z\"}\n".repeat(31_000);
    let statuses: Vec<_> =
        (0..3).map(|number| sender.post(&format!("much-{number}"), much.as_bytes())).collect();
    assert!(statuses.contains(&Some(507)), "{statuses:?}");
    let kept = 1 + statuses.iter().filter(|status| **status == Some(200)).count();
    let last = sender.batch();
    assert_eq!(sender.send(&last), Some(200), "there is room for a small one");
    sender.keep(&last);
    assert!(child.try_wait().unwrap().is_none(), "the run goes on");
    let ids = fs::metadata(sender.scene.at("spool/ids/00000001")).unwrap().len();
    assert_eq!(ids, 40 * (kept as u64 + 2), "a head, and each batch");
    child.kill().unwrap();
    child.wait().unwrap();
    let life = sender.start();
    assert_eq!(sender.send(&batch), Some(200));
    assert_eq!(sender.post("much-2", much.as_bytes()), Some(200), "there is room now");
    assert_eq!(sender.finish(life), 2 * 20);
}

// Refutes windows that are answered from a part of their records where the spool was lost.
#[test]
fn a_spool_that_is_lost_is_an_input_gap() {
    let mut sender = Sender::new("");
    let life = sender.start();
    let batch = sender.batch();
    assert_eq!(sender.send(&batch), Some(200));
    sender.keep(&batch);
    thread::sleep(Duration::from_millis(2_500));
    assert_eq!(sender.finish(life), 20);
    fs::remove_dir_all(sender.scene.at("spool")).unwrap();
    let life = sender.start();
    // The same bytes again would be the same spool.
    let batch = sender.batch();
    assert_eq!(sender.send(&batch), Some(200));
    until("open windows are skipped", || {
        sender.scene.read("releases.jsonl").contains("\"why\":\"input gap\"")
    });
    life.signal(Signal::TERM);
    assert_eq!(life.end().code, Some(0));
    sender.scene.verify("job.ledger");
}

// Refutes a batch that was acknowledged and ends the next runs, once their job reads other lines, and one that is
// refused though it is there already, by a job that cannot read it.
#[test]
fn lines_that_an_edited_job_cannot_read_end_no_run() {
    let mut sender = Sender::new("");
    let life = sender.start();
    let batch = sender.batch();
    assert_eq!(sender.send(&batch), Some(200));
    life.kill();
    let job = sender.scene.read("job.toml");
    let edited = job.replace("version = 1", "version = 2").replace("\"unix\"", "\"rfc3339\"");
    assert_ne!(job, edited);
    sender.scene.write("job.toml", edited);
    let mut life = sender.start();
    assert_eq!(sender.send(&batch), Some(200), "it is there, and is not asked for again");
    let (status, response) =
        sender.request("POST /batches HTTP/1.1\r\nIdempotency-Key: new", batch.body.as_bytes()).unwrap();
    assert!(status == 400 && response.contains("line 1: field time: found a text; "), "{response}");
    thread::sleep(Duration::from_millis(700));
    assert!(!life.has_ended());
    life.signal(Signal::TERM);
    assert_eq!(life.end().code, Some(0));
}

/// Copies a directory.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (path, to) = (entry.as_ref().unwrap().path(), to.join(entry.unwrap().file_name()));
        if path.is_dir() { copy(&path, &to) } else { _ = fs::copy(&path, &to).unwrap() }
    }
}

// Refutes windows that are answered from a part of their records where a hand took the rest away behind the
// resume position, whatever it took, and though the run is killed once more; and a run that ends by it.
#[test]
fn what_a_hand_took_behind_the_position_is_an_input_gap() {
    type Hand = fn(&Path, &str);
    let hands: [(&str, Hand); 5] = [
        ("a middle segment", |spool, _| {
            fs::remove_file(spool.join("00000002.jsonl")).unwrap();
            fs::remove_file(spool.join("ids/00000002")).unwrap();
        }),
        ("the lines of a middle segment", |spool, _| fs::remove_file(spool.join("00000002.jsonl")).unwrap()),
        ("the end of the last one", |spool, last| {
            let file = fs::OpenOptions::new().write(true).open(spool.join(last)).unwrap();
            file.set_len(file.metadata().unwrap().len() - 50).unwrap();
        }),
        ("the last one", |spool, last| {
            fs::remove_file(spool.join(last)).unwrap();
            fs::remove_file(spool.join("ids").join(last.strip_suffix(".jsonl").unwrap())).unwrap();
        }),
        ("what came after a copy", |spool, _| {
            fs::remove_dir_all(spool).unwrap();
            copy(&spool.with_extension("copy"), spool);
        }),
    ];
    thread::scope(|scope| {
        for (hand, act) in hands {
            scope.spawn(move || {
                // A batch is a segment.
                let mut sender = Sender::new(", batch = \"2 kB\", hold = \"16 kB\"");
                let life = sender.start();
                let mut before = Vec::new();
                for number in 0..4 {
                    let batch = sender.batch();
                    assert_eq!(sender.send(&batch), Some(200), "{hand}");
                    before.extend(batch.about.clone());
                    if number == 2 {
                        copy(&sender.scene.at("spool"), &sender.scene.at("spool.copy"));
                    }
                }
                life.kill();
                act(&sender.scene.at("spool"), sender.segments().last().unwrap());
                let life = sender.start();
                thread::sleep(Duration::from_millis(300));
                life.kill();
                let life = sender.start();
                // In a window that begins after the run did.
                thread::sleep(Duration::from_millis(1_500));
                let batch = sender.batch();
                assert_eq!(sender.send(&batch), Some(200), "{hand}");
                sender.keep(&batch);
                let start = batch.about.last().unwrap().0.clone();
                let close = format!("\"start\":\"{start}\"");
                until("the last window is released", || sender.scene.read("releases.jsonl").contains(&close));
                life.signal(Signal::TERM);
                assert_eq!(life.end().code, Some(0), "{hand}");
                let lines = sender.scene.read("releases.jsonl");
                sender.scene.verify("job.ledger");
                let found = tallies(&Printed::of(&lines).values());
                for at in &before {
                    assert_eq!(found.get(at), None, "{hand}: {at:?}\n{lines}");
                    let skipped = |line: &str| line.contains(&at.0) && line.contains("\"why\":\"input gap\"");
                    assert!(lines.lines().any(skipped), "{hand}: {at:?}\n{lines}");
                }
                for (at, kept) in &sender.kept {
                    assert_eq!(found.get(at), Some(kept), "{hand}: {at:?}\n{lines}");
                }
            });
        }
    });
}
