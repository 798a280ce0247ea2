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
        "page: found 6, readable 6, among the listed keys 6\n",
        "2 lines cannot be read\n",
        "visits.jsonl:5: time: found a text, where a time in the format unix of source.time is read\n",
        "visits.jsonl:6: found no JSON object, where one JSON object of at most 1 MiB",
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

// Refutes an element of an array that a job may name and that a sample does not find, names of elements that the job does not
// have, and a list that lacks what an unused derived field is made of.
#[test]
fn an_element_that_is_named_by_its_index_is_declared() {
    let line = |items: &str| {
        format!("{{\"who\":{{\"id\":\"x\"}},\"time\":{},\"order\":{{\"items\":{items}}}}}\n", FROM / SECOND)
    };
    let items = [
        "[]",
        "[{\"page\":\"a\",\"price\":1},{\"page\":\"b\"}]",
        "[{\"page\":\"a\",\"sizes\":[1,2,3]},{\"colour\":1}]",
    ];
    let scene = scene(&items.map(line).concat());
    change(&scene, "by = \"page\"", "by = \"order.items.0.page\"");
    let text = scene.read("job.toml") + "\n[fields]\nsecond = \"number of order.items.0.sizes.1\"\n";
    scene.write("job.toml", &text);
    let write = ["check", "job.toml", "--sample", "10", "--write-fields"];
    let said = scene.done(&write);
    assert!(said.out.contains("wrote the 5 fields of the sample into job.toml"), "{said:?}");
    let list = "fields = [\"order.items.0.page\", \"order.items.0.price\", \"order.items.0.sizes.1\", \"time\", \"who.id\"]\n";
    assert_eq!(
        scene.read("job.toml"),
        text.replace("type = \"jsonl\"\n", &format!("type = \"jsonl\"\n{list}"))
    );
    let demo = scene.done(&["replay", "job.toml", "--demo"]);
    assert!(demo.out.contains("\"key\":\"a\",\"value\":1,"), "{demo:?}");
    // A misspelt one is refused, and the word that was meant is named.
    change(&scene, "by = \"order.items.0.page\"", "by = \"order.items.0.pgae\"");
    let said = scene.run(&["check", "job.toml"]);
    assert!(said.code == Some(78) && said.err.contains("did you mean order.items.0.page?"), "{said:?}");
    scene.write("job.toml", text.replace("order.items.0.page", "order.items.2.page"));
    let said = scene.run(&write);
    assert!(said.code == Some(78) && said.err.contains("found \"order.items.2.page\""), "{said:?}");
    assert!(!scene.read("job.toml").contains("fields = "));
}

/// A job over a log of this source, with a sum of a number.
fn of_numbers(source: &str, by: &str, of: &str) -> String {
    let text = exact(FROM, Some(UNTIL));
    let (head, tail) = text.split_once("[source]").unwrap();
    let (_, tail) = tail.split_once("[privacy]").unwrap();
    let count = "count = { by = \"page\", keys = [\"a\", \"b\", \"c\"] }";
    let sum = format!("sum = {{ of = \"{of}\", range = [0, 10], by = \"{by}\", keys = [\"a\"] }}");
    format!("{head}[source]\n{source}\n[privacy]{}", tail.replace(count, &sum))
}

// Refutes a line whose fault is named as one of several, of another field or line, or with anything of its values.
#[test]
fn a_line_that_cannot_be_read_is_named_with_its_one_fault() {
    let at = FROM / SECOND;
    let csv = format!(
        "person,time,page,price\np,{at},a,1\n{SECRET},{at},a,{SECRET}\n{SECRET},{SECRET},a,1\n{SECRET}\n\
         {SECRET},{at},\"{SECRET},1\n{},{at},a,1\n,{at},a,1\n",
        SECRET.repeat(20_000)
    );
    let csv_faults = [
        "visits.csv:3: price: found a text, where a number is read\n",
        "visits.csv:4: time: found a text, where a time in the format unix of source.time is read\n",
        "visits.csv:5: time: found the end of the line, where column 2 of the line is read\n",
        "visits.csv:6: page: found a quotation mark that its own line does not close, where a field that ends with its line is read\n",
        "visits.csv:7: person: found more than 64 KiB, where a text or a number of 1 to 65,536 bytes is read\n",
        "visits.csv:8: person: found nothing, where a text or a number of 1 to 65,536 bytes is read\n",
        "6 lines cannot be read\n",
    ];
    let json = |person: &str, time: &str, price: &str| {
        format!("{{\"person\":{person},\"time\":{time},\"page\":\"a\",\"price\":{price}}}\n")
    };
    let secret = format!("\"{SECRET}\"");
    let time = at.to_string();
    let lines = json("1", &time, "1")
        + &json(&secret, &time, "true")
        + &json(&secret, "null", "1")
        + &json(&format!("[{secret}]"), &time, "1")
        + &json("\"\"", &time, "1")
        + &format!("{{\"{SECRET}\n");
    let json_faults = [
        "visits.csv:2: price: found true or false, where a number is read\n",
        "visits.csv:3: time: found nothing, where a time in the format unix of source.time is read\n",
        "visits.csv:4: person: found a list, where one text, number, truth value or null is read\n",
        "visits.csv:5: person: found an empty text, where a text or a number of 1 to 65,536 bytes is read\n",
        "visits.csv:6: found no JSON object, where one JSON object of at most 1 MiB on each line is read\n",
        "5 lines cannot be read\n",
    ];
    let combined = |rest: &str| format!("{SECRET} - - [17/May/2026:10:00:00 +0000] {rest}\n");
    let log = combined("\"GET / HTTP/1.1\" 200 9 \"-\" \"-\"")
        + &combined("\"GET / HTTP/1.1\" 200 9")
        + &combined(&format!("\"GET {SECRET}"))
        + &format!("{SECRET} - - [{SECRET}] \"GET / HTTP/1.1\" 200 9 \"-\" \"-\"\n");
    let log_faults = [
        "visits.csv:2: referer: found the end of the line, where a text in quotation marks, as of the combined format is read\n",
        "visits.csv:3: request: found a quotation mark that its own line does not close, where a text in quotation marks and a \
         space is read\n",
        "visits.csv:4: time: found a text, where a time in the format clf of source.time is read\n",
        "3 lines cannot be read\n",
    ];
    let timed = "time = { field = \"time\", format = \"unix\" }";
    let sources = [
        (format!("type = \"csv\"\npath = \"visits.csv\"\n{timed}"), "price", csv, &csv_faults[..]),
        (format!("type = \"jsonl\"\npath = \"visits.csv\"\n{timed}"), "price", lines, &json_faults[..]),
        ("type = \"combined\"\npath = \"visits.csv\"".to_owned(), "bytes", log, &log_faults[..]),
    ];
    for (source, of, text, faults) in sources {
        let scene = Scene::new("faults");
        let (by, person) = if of == "bytes" { ("referer", "client") } else { ("page", "person") };
        let job = of_numbers(&source, by, of).replace("field = \"person\"", &format!("field = \"{person}\""));
        scene.write("job.toml", job.replace("missing = \"drop\"", "missing = \"reject\""));
        scene.write("visits.csv", text);
        let said = scene.done(&["check", "job.toml", "--sample", "100"]);
        is_discreet(&source, &said);
        for fault in faults {
            assert!(said.out.contains(fault), "{source}: no {fault}: {}", said.out);
        }
        // A run says that there are too many, and none of their faults.
        scene.init();
        for command in ["replay", "run"] {
            let said = scene.run(&[command, "job.toml"]);
            assert!(said.code == Some(65) && said.err.contains("check JOB --sample all"), "{said:?}");
            assert!(!said.err.contains("visits.csv:2") && !said.err.contains("visits.csv:3"), "{said:?}");
            is_discreet(&source, &said);
        }
    }
}

// Refutes a table that lacks the keys of the records without a warning, a count that is wrong, and a run that says of how
// many records a table has no row.
#[test]
fn a_table_without_rows_for_the_records_is_warned_of() {
    let job = of_numbers(
        "type = \"csv\"\npath = \"visits.csv\"\ntime = { field = \"time\", format = \"unix\" }",
        "pages.topic",
        "price",
    );
    let job = format!("{job}\n[tables]\npages = \"pages.csv\"\n\n[fields]\npage = 'lower of page'\n");
    let scene = Scene::new("tables");
    scene.write("job.toml", &job);
    scene.write("pages.csv", "page,topic,other\na,a,1\nb,,2\n");
    let records = |pages: &str| {
        let line = |page: char| {
            format!("p,{},{},1\n", FROM / SECOND, if page == '-' { String::new() } else { page.to_string() })
        };
        "person,time,page,price\n".to_owned() + &pages.chars().map(line).collect::<String>()
    };
    let counted = |lines: &str, said: &str, warned: Option<&str>| {
        scene.write("visits.csv", records(lines));
        let sample = scene.done(&["check", "job.toml", "--sample", "100"]);
        assert!(sample.out.contains(&format!("  page: {said}\n")), "{sample:?}");
        let warnings: Vec<&str> =
            sample.out.lines().filter(|line| line.contains("warning: tables.pages")).collect();
        assert_eq!(warnings.len(), usize::from(warned.is_some()), "{sample:?}");
        if let Some(warned) = warned {
            assert!(
                warnings[0]
                    .starts_with(&format!("warning: tables.pages: field page: {warned} a row of the table;")),
                "{warnings:?}"
            );
        }
    };
    // The key is the derived field, and a row with an empty cell is one.
    counted("aAbBaaaaaa", "found 10, readable 10, with a row of the table 10, without one 0", None);
    counted("abBaaaaaax-", "found 10, readable 10, with a row of the table 9, without one 1", None);
    counted(
        "abBaaaaayx",
        "found 10, readable 10, with a row of the table 8, without one 2",
        Some("2 of 10 records lack"),
    );
    counted("xyz-", "found 3, readable 3, with a row of the table 0, without one 3", Some("no record has"));
    scene.init();
    let said = scene.done(&["replay", "job.toml", "--out", "none.jsonl"]);
    let warning = "operator only: warning: tables.pages: field page: no record has a row of the table;";
    assert_eq!(said.err.matches(warning).count(), 1, "{said:?}");
    scene.write("visits.csv", records("axyz"));
    let again = job.replace("version = 1", "version = 2");
    scene.write("job.toml", again);
    let said = scene.done(&["replay", "job.toml", "--out", "some.jsonl"]);
    assert!(!said.err.contains("tables.pages"), "{said:?}");
}

// Refutes a condition and a list of keys without effect of which a sample says nothing, a number that is wrong, a derived field that is
// counted as the one that it hides, lines that are counted twice, and faults that are repeated until they hide another.
#[test]
fn a_sample_says_what_conditions_and_lists_leave() {
    let scene = Scene::new("sampled");
    let source = "type = \"csv\"\npath = \"visits.csv\"\ntime = { field = \"time\", format = \"unix\" }\nwhere = 'price > 2'";
    let job =
        of_numbers(source, "page", "price").replace("[[release]]", "[[release]]\nwhere = 'page = \"a\"'");
    let job = format!("{job}\n[fields]\npage = 'lower of page if price < 9'\n");
    scene.write("job.toml", &job);
    let at = FROM / SECOND;
    let line = |number: i64| format!("p,{at},{},{number}\n", if number % 2 == 0 { "A" } else { "b" });
    let lines: String = (0..10).map(line).collect();
    scene.write("visits.csv", format!("person,time,page,price\n{lines}"));
    let sample = |most: &str| scene.done(&["check", "job.toml", "--sample", most]).out;
    let said = sample("all");
    for words in [
        "fields in 10 records (",
        "  privacy.person     person: found 10, readable 10, of 1 person\n",
        "  source.where       holds of 7 of 10 records\n",
        "  release[1].where   holds of 3 of 7 records\n",
        "  release[1].sum.by  page: found 9, readable 9, among the listed keys 5\n",
    ] {
        assert!(said.contains(words), "no {words}: {said}");
    }
    assert!(!said.contains("warning: source") && !said.contains("warning: release"), "{said}");
    assert!(sample("4").contains("fields in 4 records ("));
    let line: serde_json::Value =
        serde_json::from_str(&scene.done(&["check", "job.toml", "--sample", "all", "--json"]).out).unwrap();
    assert_eq!(
        line["sample"]["conditions"][1],
        serde_json::json!({ "place": "release[1].where", "held": 3 })
    );
    // What has no effect is warned of.
    scene.write("job.toml", job.replace("lower of", "trimmed of").replace("price > 2", "price > 2000"));
    let said = sample("10");
    for words in [
        "warning: source.where: it holds of no record, so no record counts.",
        "warning: release[1].where: it holds of no record, so the release counts no record.",
        "warning: release[1].sum.by: field page: none of 9 records has one of the listed keys",
    ] {
        assert!(said.contains(words), "no {words}: {said}");
    }
    scene.write("job.toml", job.replace("price < 9", "price > 9"));
    assert!(sample("10").contains("field page: none of 10 records has it; a record without it does not count. Do the records have what its expression reads?"));
    // A line that cannot be read is one line, and faults that are alike leave room for another.
    scene.write("job.toml", &job);
    let bad = (0..20).map(|number| format!("{SECRET},noon,a,{number}\n")).collect::<String>();
    scene.write("visits.csv", format!("person,time,page,price\n{bad}{SECRET}\n{lines}"));
    let said = sample("25");
    for words in [
        "fields in 24 records (",
        "21 lines cannot be read\n  visits.csv:2: time: found a text",
        "  visits.csv:4: time: found a text",
        "  visits.csv:22: time: found the end of the line, where column 2 of the line is read\n  and 17 more\n",
    ] {
        assert!(said.contains(words), "no {words}: {said}");
    }
    assert!(!said.contains("visits.csv:5:") && !said.contains(SECRET), "{said}");
    let wrong = scene.run(&["check", "job.toml", "--sample", "some"]);
    assert!(
        wrong.code == Some(2) && wrong.err.contains("give a whole number of records, such as 1000, or all"),
        "{wrong:?}"
    );
}

// Refutes a sample that counts records without a person and does not say which lines they are, and one that shows what is in
// them.
#[test]
fn a_sample_says_which_lines_have_no_person() {
    let scene = Scene::new("without-person");
    let at = FROM / SECOND;
    let lines: String = (0..20)
        .map(|number| match number % 2 {
            0 => format!("p{number},{at},a,1\n"),
            _ => format!(",{at},{SECRET},1\n"),
        })
        .collect();
    scene.write("visits.csv", format!("person,time,page,price\n{lines}"));
    let source = "type = \"csv\"\npath = \"visits.csv\"\ntime = { field = \"time\", format = \"unix\" }";
    let job = of_numbers(source, "page", "price");
    for (missing, said) in [
        ("drop", "they are left out (missing = \"drop\")"),
        ("shared", "all such records are one person's (missing = \"shared\")"),
    ] {
        scene.write("job.toml", job.replace("missing = \"drop\"", &format!("missing = \"{missing}\"")));
        let sample = |most: &str| scene.done(&["check", "job.toml", "--sample", most]).out;
        let page = sample("all");
        let expected = format!(
            "10 records have no person, and {said}; mend the lines, or name another field\n  visits.csv:3\n  visits.csv:5\n  \
             visits.csv:7\n  visits.csv:9\n  visits.csv:11\n  and 5 more\n"
        );
        assert!(page.contains(&expected) && !page.contains(SECRET), "{page}");
        let page = sample("2");
        assert!(
            page.contains("\n1 record has no person, and ") && page.contains("\n  visits.csv:3\n"),
            "{page}"
        );
        assert!(!sample("1").contains("no person"), "{page}");
        let line = scene.done(&["check", "job.toml", "--sample", "all", "--json"]).out;
        let line: serde_json::Value = serde_json::from_str(&line).unwrap();
        let found = &line["sample"]["without_person"];
        assert_eq!((&found["records"], &found["lines"][4]["line"]), (&10.into(), &11.into()), "{line}");
    }
    // A person of a space is a person, as in a run.
    let blank = scene.read("visits.csv").replace("\n,", "\n ,");
    scene.write("visits.csv", &blank);
    assert!(!scene.done(&["check", "job.toml", "--sample", "all"]).out.contains("no person"));
    scene.write("visits.csv", blank.replace("\n ,", "\n,"));
    // Where they cannot be read, they are among the unreadable lines.
    scene.write("job.toml", job.replace("missing = \"drop\"", "missing = \"reject\""));
    let page = scene.done(&["check", "job.toml", "--sample", "all"]).out;
    assert!(
        page.contains("10 lines cannot be read\n  visits.csv:3: person: ") && !page.contains("no person"),
        "{page}"
    );
}

// Refutes a sample that hides of which times it is, in UTC or in the zone of the job, or whose times are those of other records.
#[test]
fn a_sample_says_its_first_and_last_time() {
    let scene = Scene::new("sampled-times");
    let source = "type = \"csv\"\npath = \"visits.csv\"\nzone = \"Europe/Berlin\"\n\
                  time = { field = \"time\", format = \"%Y-%m-%d %H:%M\" }";
    let job = of_numbers(source, "page", "price");
    scene.write("job.toml", &job);
    let lines = "p,2026-07-02 12:30,a,1\np,2026-07-01 00:10,a,1\np,2026-08-01 00:00,a,1\n";
    scene.write("visits.csv", format!("person,time,page,price\n{lines}"));
    let page = scene.done(&["check", "job.toml", "--sample", "2"]).out;
    let times = "the first is of 2026-06-30T22:10:00Z, the last of 2026-07-02T10:30:00Z (2026-07-01T00:10:00 and \
                 2026-07-02T12:30:00 in Europe/Berlin)";
    let rows: Vec<&str> =
        page.lines().filter(|line| line.trim_start().starts_with("the first is of")).collect();
    assert!(rows.len() == 1 && rows[0].trim_start() == times, "{page}");
    let warned =
        format!("{times}; every window is empty. Are the years, the format of the time and its zone right?");
    assert!(
        page.contains("warning: job.from, job.until: no record lies between") && page.contains(&warned),
        "{page}"
    );
    let line = scene.done(&["check", "job.toml", "--sample", "2", "--json"]).out;
    let line: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!(
        (&line["sample"]["first"], &line["sample"]["last"]),
        (&"2026-06-30T22:10:00Z".into(), &"2026-07-02T10:30:00Z".into())
    );
    // Without a zone it is UTC alone; and a sample with a record within the windows is not warned of.
    scene.write("job.toml", job.replace("zone = \"Europe/Berlin\"\n", ""));
    let at = FROM / SECOND;
    let job = job.replace("zone = \"Europe/Berlin\"\n", "").replace("%Y-%m-%d %H:%M", "unix");
    scene.write("job.toml", job);
    scene.write("visits.csv", format!("person,time,page,price\np,{at},a,1\np,0,a,1\n"));
    let page = scene.done(&["check", "job.toml", "--sample", "all"]).out;
    let rows: Vec<&str> = page
        .lines()
        .filter(|line| line.trim_start().starts_with("the first is of 1970-01-01T00:00:00Z, "))
        .collect();
    assert!(rows.len() == 1 && rows[0].ends_with('Z') && !page.contains("every window is empty"), "{page}");
}

// Refutes a sample that hides the format that the times have, and a warning about windows where no time could be read.
#[test]
fn a_time_in_another_format_is_named_with_its_format() {
    for (time, format, words) in [
        (
            "2017-07-14 02:40:00",
            "%d/%m/%Y %H:%M",
            "found a time in the format %Y-%m-%d %H:%M:%S%.f, where a time in the format %d/%m/%Y %H:%M of source.time is read",
        ),
        (
            "2017-07-14T02:40:00Z",
            "unix",
            "found a time in the format rfc3339, where a time in the format unix of source.time is read",
        ),
        (
            "29.11.2026 18:15",
            "unix",
            "found a time in the format %d.%m.%Y %H:%M, where a time in the format unix of source.time is read",
        ),
        (
            "11/12/2026 18:15",
            "unix",
            "found a time in the format %d/%m/%Y %H:%M or %m/%d/%Y %H:%M (it does not say which number is the day, and which the \
             month), where a time in the format unix of source.time is read",
        ),
        ("soon", "unix", "found a text, where a time in the format unix of source.time is read"),
    ] {
        let source = format!(
            "type = \"csv\"\npath = \"visits.csv\"\ntime = {{ field = \"time\", format = \"{format}\" }}"
        );
        let scene = Scene::new("formats");
        scene.write("job.toml", of_numbers(&source, "page", "price"));
        scene.write("visits.csv", format!("person,time,page,price\n{SECRET},{time},a,1\n"));
        let said = scene.done(&["check", "job.toml", "--sample", "all"]);
        assert!(said.out.contains(&format!("visits.csv:2: time: {words}\n")), "{said:?}");
        assert!(!said.out.contains("no record lies between"), "{said:?}");
        is_discreet(time, &said);
    }
    let source = "type = \"csv\"\npath = \"visits.csv\"\ntime = { field = \"time\", format = \"unix\" }";
    let scene = Scene::new("milliseconds");
    scene.write("job.toml", of_numbers(source, "page", "price"));
    scene.write("visits.csv", format!("person,time,page,price\np,{},a,1\n", FROM / 1_000));
    let said = scene.done(&["check", "job.toml", "--sample", "all"]);
    assert!(said.out.contains("Are they milliseconds: format = \"unix-ms\"?"), "{said:?}");
}

// Refutes a day of the year 9999, which stands for a time that never comes, that cannot be read, or is said to lie beyond it.
#[test]
fn the_last_day_of_the_calendar_is_a_time() {
    for (time, format, zone, last) in [
        ("9999-12-31", "%Y-%m-%d", "UTC", "the last of 9999-12-31T00:00:00Z"),
        ("9999-12-31", "%Y-%m-%d", "Europe/Berlin", "the last of 9999-12-30T23:00:00Z"),
        ("9999-12-31T23:59:59Z", "rfc3339", "UTC", "the last of 9999-12-31T23:59:59Z"),
        (
            "9999-12-31 23:59:59",
            "%Y-%m-%d %H:%M:%S",
            "America/New_York",
            "the last of a time beyond the year 9999",
        ),
    ] {
        let source = format!(
            "type = \"csv\"\npath = \"visits.csv\"\ntime = {{ field = \"time\", format = \"{format}\", zone = \"{zone}\" }}"
        );
        let scene = Scene::new("last_day");
        scene.write("job.toml", of_numbers(&source, "page", "price"));
        scene.write("visits.csv", format!("person,time,page,price\np,{time},a,1\n"));
        let said = scene.done(&["check", "job.toml", "--sample", "all"]);
        assert!(said.out.contains("time: found 1, readable 1,") && said.out.contains(last), "{said:?}");
        assert!(!said.out.contains("unix-ms") || zone == "America/New_York", "{said:?}");
        scene.done(&["replay", "job.toml", "--demo"]);
    }
}
