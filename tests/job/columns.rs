//! Columnar files, through the command: the releases of the same records in lines, and what is refused.

use crate::jobs::exact;
use crate::refusals::{FROM, change};
use crate::scene::Scene;

// Refutes a build without the feature that takes such a file for lines, or says that the word is unknown.
#[cfg(not(feature = "arrow"))]
#[test]
fn a_build_without_the_feature_says_how_to_build_with_it() {
    for (word, name) in [("parquet", "Parquet"), ("arrow", "Arrow")] {
        let scene = Scene::new("columns-without");
        scene.write("job.toml", exact(FROM, Some(FROM + 2_000_000)));
        change(&scene, "type = \"csv\"", &format!("type = \"{word}\""));
        for command in ["check", "plan", "replay", "run"] {
            let said = scene.run(&[command, "job.toml"]);
            let words = format!(
                "source.type: found {name} files, which this build does not read; give a build with `--features arrow`"
            );
            assert!(said.code == Some(78) && said.err.contains(&words), "{said:?}");
        }
    }
}

#[cfg(feature = "arrow")]
mod built {
    use std::fs;
    use std::sync::Arc;

    use arrow_array::{ArrayRef, RecordBatch, StringArray, TimestampMicrosecondArray};
    use arrow_ipc::writer::{FileWriter, StreamWriter};
    use parquet::arrow::ArrowWriter;

    use super::*;
    use crate::cluster::{WINDOWS, beside, chosen, crowd, set, start_as};
    use crate::jobs::{HEADER, PAGES, tallies};
    use crate::refusals::SECRET;
    use crate::scene::Printed;

    /// The types of the job file, each with the ending of its files.
    const FORMATS: [(&str, &str); 3] = [("parquet", "parquet"), ("arrow", "arrow"), ("arrow", "arrows")];

    /// The time of a line without a column's type, and with it.
    const TIMES: [&str; 2] =
        ["time = { field = \"time\", format = \"unix\" }", "time = { field = \"time\" }"];

    /// The lines of a log with a header, as a file with a column of each field; `time` is a timestamp.
    fn columns(ending: &str, text: &str) -> Vec<u8> {
        let mut lines = text.lines();
        let names: Vec<&str> = lines.next().unwrap().split(',').collect();
        let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
        let microseconds = |text: &str| {
            let (second, fraction) = text.split_once('.').unwrap();
            second.parse::<i64>().unwrap() * 1_000_000 + fraction.parse::<i64>().unwrap()
        };
        let columns = names.iter().enumerate().map(|(column, name)| {
            let values = rows.iter().map(|row| row[column]);
            let array: ArrayRef = match *name {
                "time" => Arc::new(TimestampMicrosecondArray::from_iter_values(values.map(microseconds))),
                _ => Arc::new(StringArray::from_iter(
                    values.map(|value| Some(value).filter(|value| !value.is_empty())),
                )),
            };
            (*name, array, true)
        });
        let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
        let mut bytes = Vec::new();
        match ending {
            "parquet" => {
                let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
                writer.write(&batch).unwrap();
                writer.close().unwrap();
            }
            "arrow" => {
                let mut writer = FileWriter::try_new(&mut bytes, &batch.schema()).unwrap();
                writer.write(&batch).unwrap();
                writer.finish().unwrap();
            }
            _ => {
                let mut writer = StreamWriter::try_new(&mut bytes, &batch.schema()).unwrap();
                writer.write(&batch).unwrap();
                writer.finish().unwrap();
            }
        }
        bytes
    }

    /// The number of records of [`halves`]: several chunks of each file.
    const RECORDS: i64 = 18_000;

    /// A log in two files, in the order of its times, with an id for each record and every tenth line twice.
    /// Everybody visits two pages once, so that all of it counts, whichever records a version of the job
    /// selects.
    fn halves() -> [String; 2] {
        let mut lines: Vec<(i64, String)> = Vec::new();
        for number in 0..RECORDS {
            let (person, page) = (number / 2, PAGES[((number + number / 6) % 3) as usize]);
            let time = FROM + person % WINDOWS * 1_000_000 + person * 7 % 1_000_000;
            let text = crate::jobs::line(format!("somebody-{person}"), time, page);
            let line = (time, text.replace('\n', &format!(",{number}\n")));
            lines.extend(std::iter::repeat_n(line, 1 + usize::from(number % 10 == 0)));
        }
        lines.sort();
        let middle = lines.len() * 2 / 3;
        [&lines[..middle], &lines[middle..]].map(|lines| {
            let lines: String = lines.iter().map(|(_, line)| line.as_str()).collect();
            HEADER.replace('\n', ",id\n") + &lines
        })
    }

    /// A job over the files of a type and an ending.
    fn job(csv: &str, word: &str, path: &str) -> String {
        csv.replace("type = \"csv\"", &format!("type = \"{word}\""))
            .replace("visits.csv", path)
            .replace(TIMES[0], TIMES[1])
    }

    // Refutes rows that are lost, doubled or changed: by workers, by processes, in order of time or not, in
    // several files, of which all are read; and records that count twice under one id.
    #[test]
    fn columns_release_what_the_same_lines_do() {
        let any = chosen().replace("[privacy]", "id = { field = \"id\" }\n\n[privacy]");
        let sorted = any.replace("late = \"500ms\"", "order = \"sorted\"");
        let halves = halves();
        let scene = set(&any.replace("visits.csv", "visits-*.csv"), "");
        let scene = |job: &str, ending: &str| {
            let scene = beside(&scene);
            scene.write("job.toml", job);
            for (name, half) in ["visits-1", "visits-2"].iter().zip(&halves) {
                let bytes = if ending == "csv" { half.clone().into_bytes() } else { columns(ending, half) };
                scene.write(&format!("{name}.{ending}"), bytes);
            }
            scene
        };
        let lines = scene(&any.replace("visits.csv", "visits-*.csv"), "csv");
        lines.done(&["replay", "job.toml", "--out", "releases.jsonl"]);
        lines.done(&["replay", "job.toml", "--demo", "--out", "demo.jsonl"]);
        let [expected, demo] = ["releases.jsonl", "demo.jsonl"].map(|file| Printed::of(&lines.read(file)));
        assert_eq!(tallies(&expected.values()).values().sum::<i64>(), RECORDS);
        for (word, ending) in FORMATS {
            let path = format!("visits-*.{ending}");
            for (job, workers) in [
                (job(&any, word, &path), "1"),
                (job(&any, word, &path), "4"),
                (job(&sorted, word, &path), "2"),
            ] {
                let scene = scene(&job, ending);
                scene.done(&["replay", "job.toml", "-w", workers, "--out", "releases.jsonl"]);
                scene.verify("job.ledger");
                let printed = Printed::of(&scene.read("releases.jsonl"));
                assert_eq!(printed.values(), expected.values(), "{ending} {workers}");
                assert_eq!(printed.0.len(), WINDOWS as usize);
                scene.done(&["replay", "job.toml", "--demo", "-w", workers, "--out", "demo.jsonl"]);
                let shown = Printed::of(&scene.read("demo.jsonl"));
                for field in ["tally", "truth"] {
                    assert_eq!(shown.field(field), demo.field(field), "{ending} {workers}");
                }
            }
            let scene = scene(&job(&any, word, &path), ending);
            let lives = [0, 1].map(|process| start_as(&scene, process, &["replay", "job.toml", "-w", "2"]));
            for said in lives.map(|life| life.end()) {
                assert_eq!(said.code, Some(0), "{said:?}");
            }
            assert_eq!(Printed::of(&scene.read("releases.jsonl")).values(), expected.values(), "{ending}");
        }
    }

    // Refutes processes that read different files, and together release what neither would alone.
    #[test]
    fn processes_that_read_different_columns_seal_nothing() {
        for (word, ending) in FORMATS {
            let scene = set(&job(&chosen(), word, &format!("0.{ending}")), "");
            scene.write(
                "job-1.toml",
                scene.read("job.toml").replace(&format!("0.{ending}"), &format!("1.{ending}")),
            );
            let mut bytes = columns(ending, &crowd());
            scene.write(&format!("0.{ending}"), &bytes);
            // One letter of one person, who is another one then.
            let at = bytes.windows(13).rposition(|text| text == b"somebody-2999").unwrap();
            bytes[at + 3] ^= 1;
            scene.write(&format!("1.{ending}"), &bytes);
            let lives = [0, 1].map(|process| {
                start_as(&scene, process, &["replay", ["job.toml", "job-1.toml"][process], "-w", "1"])
            });
            for said in lives.map(|life| life.end()) {
                assert!(
                    said.code == Some(65) && said.err.contains("the processes read different files"),
                    "{said:?}"
                );
            }
            assert_eq!(scene.charged("job.ledger").0, 0);
        }
    }

    /// A job over one file, its ledger, and the file.
    fn one(word: &str, ending: &str, text: &str) -> (Scene, String) {
        let scene = Scene::new("columns");
        let name = format!("visits.{ending}");
        scene.write("job.toml", job(&exact(FROM, Some(FROM + 2_000_000)), word, &name));
        scene.write(&name, columns(ending, text));
        scene.init();
        (scene, name)
    }

    fn visits(people: usize) -> String {
        let mut text = HEADER.to_owned();
        for person in 0..people {
            text += &crate::jobs::line(format!("{SECRET}-{person}"), FROM + person as i64, "a");
        }
        text
    }

    // Refutes a live run that waits for ever for rows that never come, and a plan that promises one.
    #[test]
    fn a_live_run_is_refused_with_the_field_and_the_remedy() {
        for (word, ending) in FORMATS {
            let (scene, _) = one(word, ending, &visits(3));
            let said = scene.run(&["run", "job.toml"]);
            let words = format!(
                "source.type: found {word}, whose files are not appended to, so a live run cannot follow them; use `discreet replay`"
            );
            assert!(said.code == Some(78) && said.err.contains(&words), "{said:?}");
            assert_eq!(scene.charged("job.ledger").0, 0);
            let plan = scene.done(&["plan", "job.toml"]).out;
            assert!(plan.contains("a live run is refused"), "{plan}");
            let sample = scene.done(&["check", "job.toml", "--connect", "--sample", "2"]).out;
            assert!(
                sample.contains("time: found 2, readable 2, between job.from and job.until 2"),
                "{sample}"
            );
            scene.done(&["replay", "job.toml", "--out", "releases.jsonl"]);
            assert!(scene.read("releases.jsonl").contains("\"key\":\"a\",\"value\":3,"));
        }
    }

    // Refutes a damaged file that releases a part of its rows, or says anything of one.
    #[test]
    fn a_file_that_is_damaged_or_lacks_a_column_releases_nothing() {
        for (word, ending) in FORMATS {
            let (scene, name) = one(word, ending, &visits(30_000));
            let whole = fs::read(scene.at(&name)).unwrap();
            let lacking = columns(ending, &visits(3).replace("page", "s3cr3t-column"));
            let cases: [(&[u8], i32, &str); 3] = [
                (&whole[..whole.len() / 2], 69, "is damaged or ends too soon; write it again"),
                (b"person,time,page\ns3cr3t,1,a\n", 69, "is damaged or ends too soon; write it again"),
                (&lacking, 65, "no column named page; name columns of its schema in the job file"),
            ];
            for (bytes, code, words) in cases {
                scene.write(&name, bytes);
                for workers in ["1", "3"] {
                    let said = scene.run(&["replay", "job.toml", "-w", workers]);
                    assert!(said.code == Some(code) && said.err.contains(words), "{said:?}");
                    assert!(
                        said.err.contains(&name) && !said.err.contains(SECRET) && said.out.is_empty(),
                        "{said:?}"
                    );
                    assert!(!said.err.contains("panicked"), "{said:?}");
                }
                assert_eq!(scene.charged("job.ledger").0, 0);
            }
        }
    }

    // Refutes an option that reads lines as columns, or columns from a pipe.
    #[test]
    fn other_places_are_read_and_standard_input_is_refused() {
        for (word, ending) in FORMATS {
            let (scene, name) = one(word, ending, &visits(3));
            fs::rename(scene.at(&name), scene.at("elsewhere")).unwrap();
            let said = scene.run(&["replay", "job.toml", "--from", "-"]);
            let words =
                "--from: found standard input, and columnar files are read at their places; give a path";
            assert!(said.code == Some(78) && said.err.contains(words), "{said:?}");
            let said = scene.done(&["replay", "job.toml", "--from", "elsewhere"]);
            assert!(said.out.contains("\"key\":\"a\",\"value\":3,"), "{said:?}");
            change(&scene, &name, "-");
            let said = scene.run(&["check", "job.toml"]);
            assert!(
                said.code == Some(78)
                    && said.err.contains("source.path: found standard input; give the path of"),
                "{said:?}"
            );
        }
    }
}
