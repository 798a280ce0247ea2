//! CSV with other marks than commas, and without a line of names, through every command that reads a job.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::jobs::{HEADER, PAGES, SECOND, exact, line, log, tallies};
use crate::refusals::{FROM, SECRET, change, is_discreet};
use crate::scene::{Life, PATIENCE, Printed, Scene, moment, now};

/// A form of separated text.
#[derive(Clone, Copy, Debug)]
struct Form {
    /// The fields of the job file.
    fields: &'static str,
    delimiter: char,
    quote: &'static str,
    /// The beginning of each file.
    header: &'static str,
    /// A line that is no record.
    passed: &'static str,
}

const FORMS: [Form; 3] = [
    Form {
        fields: "delimiter = \"\\t\"\nquote = \"'\"\ncomment = \"#\"",
        delimiter: '\t',
        quote: "'",
        header: "# the log of a program\n\n# person\ttime\nperson\ttime\tpage\n",
        passed: "#x\t0\ta\n",
    },
    Form {
        fields: "delimiter = \";\"\nquote = \"\"\nheader = [\"person\", \"time\", \"page\"]",
        delimiter: ';',
        quote: "",
        header: "",
        passed: "\n",
    },
    Form {
        fields: "comment = \"%\"\nheader = [\"person\", \"time\", \"page\"]",
        delimiter: ',',
        quote: "\"",
        header: "%begin\n",
        passed: "%,,\n",
    },
];

impl Form {
    /// A line of commas in this form, and one that is no record.
    fn line(&self, line: &str) -> String {
        let fields: Vec<String> =
            line.trim_end().split(',').map(|field| format!("{0}{field}{0}", self.quote)).collect();
        format!("{}\n{}", fields.join(&self.delimiter.to_string()), self.passed)
    }

    /// A whole log of commas in this form.
    fn log(&self, log: &str) -> String {
        self.header.to_owned() + &log.lines().skip(1).map(|line| self.line(line)).collect::<String>()
    }

    fn write_job(&self, scene: &Scene, from: i64, until: Option<i64>) {
        scene.write("job.toml", exact(from, until));
        change(scene, "type = \"csv\"", &format!("type = \"csv\"\n{}", self.fields));
    }
}

// Refutes a form that a command leaves aside, or that a second run reads otherwise; and one whose change under the same
// version is not refused.
#[test]
fn each_form_is_read_by_every_command() {
    for form in FORMS {
        let scene = Scene::new("separated");
        let (text, truth) = log(FROM, 4, 30);
        form.write_job(&scene, FROM, Some(FROM + 4 * SECOND));
        scene.write("visits.csv", form.log(&text));
        let printed = scene.done(&["check", "job.toml", "--print"]).out;
        for field in form.fields.lines() {
            assert!(printed.contains(field), "{printed}");
        }
        scene.done(&["plan", "job.toml"]);
        scene.init();
        scene.done(&["check", "job.toml", "--connect"]);
        let sample = scene.done(&["check", "job.toml", "--connect", "--sample", "2"]).out;
        assert!(sample.contains("person: found 2, readable 2"), "{form:?}: {sample}");
        let demo = scene.done(&["replay", "job.toml", "--demo"]);
        let values = tallies(&Printed::of(&demo.out).values());
        assert_eq!(values.len(), truth.len(), "{form:?}: {demo:?}");
        let first = scene.done(&["replay", "job.toml"]);
        assert_eq!(tallies(&Printed::of(&first.out).values()), truth, "{form:?}");
        // From standard input, whole windows are those that were released.
        let input = File::open(scene.at("visits.csv")).unwrap();
        let again = scene.start_reading(&["replay", "job.toml", "--from", "-"], input.into()).end();
        assert_eq!((again.code, &again.out), (Some(0), &first.out), "{form:?}: {again:?}");
        let charged = scene.charged("job.ledger");

        let other =
            form.fields.replace("\"\\t\"", "\"|\"").replace("\"person\", \"time\"", "\"time\", \"person\"");
        change(&scene, form.fields, &other);
        for arguments in [&["check", "job.toml", "--connect"][..], &["replay", "job.toml"]] {
            let said = scene.run(arguments);
            let named = ["source.delimiter", "source.header"].iter().any(|field| said.err.contains(field));
            assert!(said.code == Some(78) && named && said.out.is_empty(), "{form:?}: {said:?}");
        }
        assert_eq!(scene.charged("job.ledger"), charged);
    }
}

// Refutes the place of an unreadable line that is counted without the comments before it.
#[test]
fn an_unreadable_line_is_found_behind_comments() {
    for form in FORMS {
        let scene = Scene::new("separated-bad");
        form.write_job(&scene, FROM, Some(FROM + 2 * SECOND));
        change(&scene, "late = \"500ms\"", "bad = { lines = 1 }");
        let lines = form.line(&line("ada", FROM, "a")) + &form.line(&format!("{SECRET},noon,a"));
        scene.write("visits.csv", form.header.to_owned() + &lines);
        let said = scene.done(&["replay", "job.toml", "--demo"]);
        let place = format!("visits.csv:{}: time: ", form.header.lines().count() + 3);
        assert!(said.err.contains(&place), "{form:?}: no {place}: {said:?}");
        is_discreet("an unreadable line", &said);
    }
}

/// A log that is written in a form, while runs live and die.
struct Written<'a> {
    scene: &'a Scene,
    form: Form,
    counts: BTreeMap<(String, String), i64>,
    person: u64,
}

impl Written<'_> {
    fn write(&mut self, lasting: Duration) {
        let since = Instant::now();
        // At least one line, however busy the machine is.
        loop {
            let mut options = OpenOptions::new();
            let mut file = options.append(true).create(true).open(self.scene.at("visits.csv")).unwrap();
            if file.metadata().unwrap().len() == 0 {
                file.write_all(self.form.header.as_bytes()).unwrap();
            }
            let (time, page) = (now(), PAGES[(self.person % 3) as usize]);
            file.write_all(self.form.line(&line(self.person, time, page)).as_bytes()).unwrap();
            *self.counts.entry((moment(time / SECOND * SECOND), page.to_owned())).or_default() += 1;
            self.person += 1;
            if since.elapsed() >= lasting {
                break;
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn rotate(&self) {
        for number in (0..5).rev() {
            let name =
                |number| if number == 0 { "visits.csv".to_owned() } else { format!("visits.csv.{number}") };
            if self.scene.at(&name(number)).exists() {
                fs::rename(self.scene.at(&name(number)), self.scene.at(&name(number + 1))).unwrap();
            }
        }
    }
}

// Refutes a header that is a record at the head of a rotated file, a first record that is taken for one, a line that is
// lost or counts twice by a restart, and a position that lies among comments.
#[test]
fn a_run_follows_each_form_through_rotations_and_restarts() {
    for form in FORMS {
        let scene = Scene::new("separated-run");
        form.write_job(&scene, now() / SECOND * SECOND, None);
        // Lines that are in the file before a run must not be late on a loaded machine.
        change(&scene, "late = \"500ms\"", "late = \"5s\"");
        // However long it takes there, each window is paid for.
        change(&scene, "promise = \"lifetime\"", "promise = \"each 10 seconds\"");
        scene.init();
        // At first a file has comments alone, or nothing.
        scene.write("visits.csv", form.header.split_inclusive('\n').next().unwrap_or_default());
        let mut log = Written { scene: &scene, form, counts: BTreeMap::new(), person: 0 };
        let life = scene.start(&["run", "job.toml", "--out", "releases.jsonl"]);
        let released = |scene: &Scene| scene.read("releases.jsonl").matches("\"closed\":true").count();
        let wait = |life: &Life, is_so: &dyn Fn() -> bool| {
            let since = Instant::now();
            while !is_so() {
                let is_over = since.elapsed() > PATIENCE;
                assert!(!is_over, "{form:?}: {:?}\n{}", life.said(), scene.read("releases.jsonl"));
                thread::sleep(Duration::from_millis(20));
            }
        };
        wait(&life, &|| released(&scene) > 0);
        life.kill();
        let rest: String = form.header.split_inclusive('\n').skip(1).collect();
        OpenOptions::new()
            .append(true)
            .open(scene.at("visits.csv"))
            .unwrap()
            .write_all(rest.as_bytes())
            .unwrap();
        for end in [Signal::KILL, Signal::TERM] {
            let life = scene.start(&["run", "job.toml", "--out", "releases.jsonl"]);
            let before = released(&scene);
            log.write(Duration::from_millis(800));
            log.rotate();
            log.write(Duration::from_millis(800));
            wait(&life, &|| released(&scene) > before);
            life.signal(end);
            life.end();
            // A rotation while nobody reads.
            log.write(Duration::from_millis(300));
            log.rotate();
            log.write(Duration::from_millis(300));
        }
        let life = scene.start(&["run", "job.toml", "--out", "releases.jsonl"]);
        let last = log.counts.keys().map(|(start, _)| start.clone()).max().unwrap();
        let closed =
            |line: &str| line.contains(&format!("\"start\":\"{last}")) && line.contains("\"closed\":true");
        wait(&life, &|| scene.read("releases.jsonl").lines().any(closed));
        life.signal(Signal::TERM);
        let ended = life.end();
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let text = scene.read("releases.jsonl");
        assert!(!text.contains("\"skipped\":true"), "{form:?}: a log of files has no gaps: {}", ended.err);
        let mut found = tallies(&Printed::of(&text).values());
        found.retain(|(start, _), _| *start <= last);
        for (place, count) in &log.counts {
            assert_eq!(found.remove(place), Some(*count), "{form:?}: {place:?}");
        }
        assert!(found.values().all(|count| *count == 0), "{form:?}: {found:?}");
    }
}

// Refutes an error that hides the columns of a file, and one that shows the record with which a file without names begins.
#[test]
fn a_column_that_is_missing_is_named_beside_those_that_exist() {
    let scene = Scene::new("separated-missing");
    scene.write("job.toml", exact(FROM, Some(FROM + 2 * SECOND)));
    scene.init();
    scene.write("visits.csv", HEADER.replace("page", "path,agent") + "ada,1,a,b\n");
    let said = scene.run(&["replay", "job.toml"]);
    let among = "no column named page among person, time, path and agent; name columns of its first line";
    assert!(said.code == Some(65) && said.err.contains(among), "{said:?}");
    scene.write("visits.csv", format!("{SECRET},{},a\n", FROM / SECOND));
    let said = scene.run(&["replay", "job.toml"]);
    assert!(said.code == Some(65) && said.err.contains("no column named person, time or page;"), "{said:?}");
    is_discreet("a file without names", &said);
    // A name in another case, and a log with another mark, show nothing that the job file does not have.
    for (head, words) in [
        (
            format!("Person,time,PAGE,{SECRET}\n"),
            "no column named person or page (did you mean Person or PAGE?); name columns",
        ),
        (
            format!("person\ttime\tpage\t{SECRET}\n"),
            "no column named person, time or page, which it has between tabs (delimiter = \"\\t\"); name columns",
        ),
        (
            format!("{SECRET};time;person;page\n"),
            "which it has between semicolons (delimiter = \";\"); name columns",
        ),
    ] {
        scene.write("visits.csv", head);
        for arguments in [&["check", "job.toml", "--sample", "all"][..], &["replay", "job.toml"]] {
            let said = scene.run(arguments);
            assert!(said.code == Some(65) && said.err.contains(words), "{said:?}");
            is_discreet(words, &said);
        }
    }
    // The job file names them, and a misspelt one is refused before anything is read.
    change(&scene, "type = \"csv\"", "type = \"csv\"\nheader = [\"person\", \"time\", \"path\"]");
    let said = scene.run(&["replay", "job.toml"]);
    assert!(said.code == Some(78) && said.err.contains("release[1].count.by"), "{said:?}");
    change(&scene, "\"path\"]", "\"page\"]");
    scene.done(&["check", "job.toml"]);
}
