//! The survey of a job's fields: those that no record has, those that cannot be read, and times outside of
//! all windows.

use crate::jobs::{SECOND, exact};
use crate::refusals::{FROM, SECRET, change, is_discreet};
use crate::scene::{Scene, moment};

const UNTIL: i64 = FROM + 2 * SECOND;

/// Makes the ledger anew: the field that names a person belongs to the account.
fn init_again(scene: &Scene) {
    for name in ["job.ledger", "job.ledger.key"] {
        std::fs::remove_file(scene.at(name)).unwrap();
    }
    scene.init();
}

/// A job of JSON lines with the person in an inner object, and its ledger.
fn scene(lines: &str) -> Scene {
    let scene = Scene::new("fields");
    scene.write("job.toml", exact(FROM, Some(UNTIL)));
    change(&scene, "type = \"csv\"\npath = \"visits.csv\"", "type = \"jsonl\"\npath = \"visits.jsonl\"");
    change(&scene, "field = \"person\"", "field = \"who.id\"");
    scene.write("visits.jsonl", lines);
    scene.init();
    scene
}

/// Records of this number of people, in the first window, on page a.
fn records(people: i64, from: i64) -> String {
    let line = |person| {
        let time = from / SECOND;
        format!(
            "{{\"who\":{{\"id\":\"{SECRET}-{person}\"}},\"time\":{time},\"page\":\"a\",\"{SECRET}\":1}}\n"
        )
    };
    (0..people).map(line).collect()
}

// Refutes a path that leads nowhere, and a typo that drops everybody silently.
#[test]
fn a_field_that_no_record_has_is_reported_at_once_and_the_run_goes_on() {
    let scene = scene(&records(30, FROM));
    let said = scene.done(&["replay", "job.toml", "--out", "right.jsonl"]);
    assert!(said.out.is_empty() && !said.err.contains("warning"), "{said:?}");
    // Before budget is spent, a note names the option that makes a job refuse such a field.
    assert!(
        said.err.starts_with("note: source.fields: found nothing") && said.err.contains("--write-fields"),
        "{said:?}"
    );
    let declared = self::scene(&records(1, FROM));
    change(&declared, "type = \"jsonl\"", "type = \"jsonl\"\nfields = [\"who.id\", \"time\", \"page\"]");
    assert!(!declared.done(&["replay", "job.toml"]).err.contains("source.fields"));
    assert!(scene.read("right.jsonl").contains("\"key\":\"a\",\"value\":30,"));
    for (word, other, place) in [
        ("field = \"who.id\"", "field = \"who.name\"", "privacy.person: field who.name"),
        ("field = \"who.id\"", "field = \"whoid\"", "privacy.person: field whoid"),
        ("by = \"page\"", "by = \"pages\"", "release[1].count.by: field pages"),
    ] {
        for (command, lines) in [("replay", 30), ("run", 30), ("replay", 1_200)] {
            let scene = self::scene(&records(lines, FROM));
            change(&scene, word, other);
            init_again(&scene);
            let said = scene.done(&[command, "job.toml"]);
            is_discreet(place, &said);
            let warnings: Vec<&str> =
                said.err.lines().filter(|line| line.starts_with("operator only: warning: ")).collect();
            assert_eq!(warnings.len(), 1, "{said:?}");
            let counted =
                if lines > 1_000 { "none of the first 1,000 records" } else { "none of 30 records" };
            assert!(warnings[0].contains(place) && warnings[0].contains(counted), "{said:?}");
            assert!(!said.out.contains("warning") && said.out.contains("\"closed\":true"), "{said:?}");
        }
    }
}

// Refutes a demonstration that hides the records it left out, and one that reports them in its lines.
#[test]
fn a_demonstration_says_what_its_fields_hold_and_which_lines_cannot_be_read() {
    let bad = "{\"who\":{\"id\":\"x\"},\"time\":\"noon\",\"page\":\"a\"}\n{\"who\":\n";
    let scene =
        scene(&(records(3, FROM) + "{\"time\":1500000000,\"page\":\"b\"}\n" + bad + &records(1, UNTIL)));
    change(&scene, "late = \"500ms\"", "bad = { lines = 5 }");
    let said = scene.done(&["replay", "job.toml", "--demo"]);
    for words in [
        "fields in 6 records (for the operator of these records to see",
        "outside of the promise",
        "who.id: found 5, readable 5\n",
        "time: found 6, readable 5, between job.from and job.until 4\n",
        "page: found 6, readable 6\n",
        "2 lines cannot be read\n",
        "visits.jsonl:5: time: no time in the format of the job file\n",
        "visits.jsonl:6: no JSON object",
    ] {
        assert!(said.err.contains(words), "no {words:?}: {}", said.err);
    }
    assert!(!said.err.contains(SECRET) && !said.out.contains("found 6"), "{said:?}");
    // A sample reports the same, of no more records than requested.
    let said = scene.done(&["check", "job.toml", "--connect", "--sample", "2"]);
    assert!(
        said.out.contains("fields in 2 records (for the operator")
            && said.out.contains("who.id: found 2, readable 2")
    );
    assert_eq!(scene.charged("job.ledger").0, 0);
    let said = scene.done(&["check", "job.toml", "--connect", "--sample", "2", "--json"]);
    assert!(said.out.contains("\"field\":\"who.id\",\"found\":2,"), "{said:?}");
}

// Refutes windows that are all empty without a reason, and a real run that discloses the times of its
// records.
#[test]
fn records_outside_of_all_windows_are_reported_to_the_operator() {
    let outside = FROM - 3_600 * SECOND;
    let scene = scene(&records(5, outside));
    let demo = scene.done(&["replay", "job.toml", "--demo"]);
    let at = moment(outside);
    assert!(demo.err.contains(&format!("the first is of {at}, the last of {at}")), "{demo:?}");
    for command in ["replay", "run"] {
        let said = scene.done(&[command, "job.toml", "--out", "releases.jsonl"]);
        assert!(
            said.err.contains("operator only: warning: job.from, job.until: no record lies between"),
            "{said:?}"
        );
        assert!(!said.err.contains(&at) && !scene.read("releases.jsonl").contains("warning"), "{said:?}");
    }
}

// Refutes a list that accepts a misspelt field, one that is written although the job names another field, and
// any other change of the file.
#[test]
fn fields_are_declared_from_a_sample_and_then_refused_where_they_are_misspelt() {
    let scene = scene(&records(5, FROM).replace(SECRET, "agent"));
    let before = scene.read("job.toml");
    let write = ["check", "job.toml", "--connect", "--sample", "3", "--write-fields"];
    let said = scene.done(&write);
    assert!(said.out.contains("wrote the 4 fields of the sample into job.toml"), "{said:?}");
    let list = "type = \"jsonl\"\nfields = [\"agent\", \"page\", \"time\", \"who.id\"]\n";
    assert_eq!(scene.read("job.toml"), before.replace("type = \"jsonl\"\n", list));
    scene.done(&["replay", "job.toml"]);
    change(&scene, "field = \"who.id\"", "field = \"who.di\"");
    for arguments in [&["check", "job.toml"][..], &["replay", "job.toml"], &["run", "job.toml"]] {
        let said = scene.run(arguments);
        assert_eq!(said.code, Some(78), "{said:?}");
        assert!(said.err.contains("privacy.person.field: found \"who.di\"; give"), "{said:?}");
        assert!(said.err.contains("(did you mean who.id?)"), "{said:?}");
    }
    // Without the list the name cannot be checked; a list that lacks it is not written.
    scene.write("job.toml", before.replace("who.id", "who.di"));
    init_again(&scene);
    let said = scene.run(&write);
    assert!(said.code == Some(78) && said.err.contains("did you mean who.id?"), "{said:?}");
    assert_eq!(scene.read("job.toml"), before.replace("who.id", "who.di"));
}
