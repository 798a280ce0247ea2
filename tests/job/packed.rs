//! Compressed files: in replays and in runs, in one process and in two.

use std::io::Write;

use crate::cluster::{WINDOWS, beside, chosen, crowd, set, start_as};
use crate::jobs::tallies;
use crate::scene::{Printed, Scene};

pub(crate) fn packed(ending: &str, text: &str) -> Vec<u8> {
    match ending {
        "gz" => {
            let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            packer.write_all(text.as_bytes()).unwrap();
            packer.finish().unwrap()
        }
        "bz2" => {
            let mut packer = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
            packer.write_all(text.as_bytes()).unwrap();
            packer.finish().unwrap()
        }
        _ => {
            let level = ruzstd::encoding::CompressionLevel::Fastest;
            ruzstd::encoding::compress_to_vec(text.as_bytes(), level)
        }
    }
}

// Refutes a run that cannot read what a replay can, a replay that only one process can do, and a difference
// between them.
#[test]
fn packed_files_are_read_by_every_command_in_one_process_and_in_two() {
    for ending in ["gz", "bz2", "zst"] {
        let file = format!("visits.csv.{ending}");
        let job = chosen().replace("visits.csv", &file);
        let scene = set(&job, "");
        let lines = packed(ending, &crowd());
        let printed = |scene: &Scene| {
            scene.verify("job.ledger");
            Printed::of(&scene.read("releases.jsonl"))
        };
        let ran: Vec<Printed> = [("replay", 1), ("replay", 2), ("run", 1), ("run", 2)]
            .map(|(command, processes)| {
                let scene = beside(&scene);
                scene.write(&file, &lines);
                let lives: Vec<_> = (0..processes)
                    .map(|process| match processes {
                        1 => scene.start(&[command, "job.toml", "--out", "releases.jsonl"]),
                        _ => start_as(&scene, process, &[command, "job.toml", "-w", "2"]),
                    })
                    .collect();
                for said in lives.into_iter().map(|life| life.end()) {
                    assert_eq!(said.code, Some(0), "{command} {ending}: {said:?}");
                }
                printed(&scene)
            })
            .into();
        assert_eq!(tallies(&ran[0].values()).values().sum::<i64>(), 3_000 * 4);
        assert_eq!(ran[0].0.len(), WINDOWS as usize);
        for other in &ran[1..] {
            assert_eq!(ran[0].values(), other.values(), "{ending}");
            assert_eq!(ran[0].field("id"), other.field("id"), "{ending}");
        }
    }
}

// Refutes a demonstration of two processes with other exact values than that of one.
#[test]
fn two_processes_show_the_truth_that_one_shows() {
    let scene = set(&chosen(), &crowd());
    scene.done(&["replay", "job.toml", "--demo", "--out", "one.jsonl"]);
    let lives = [0, 1].map(|process| start_as(&scene, process, &["replay", "job.toml", "--demo", "-w", "2"]));
    for said in lives.map(|life| life.end()) {
        assert_eq!(said.code, Some(0), "{said:?}");
    }
    let [one, two] = ["one.jsonl", "releases.jsonl"].map(|file| Printed::of(&scene.read(file)));
    for field in ["tally", "truth"] {
        assert_eq!(one.field(field), two.field(field));
        assert!(one.field(field).values().all(serde_json::Value::is_i64));
    }
    assert_eq!(scene.read("other.jsonl"), "", "the first process alone releases");
}
