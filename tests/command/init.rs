//! `discreet init`: a job file for each kind of log, from the log to its first line in sentences.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::discreet;
use crate::kit::{Directory, full};

fn access_log() -> String {
    let line = |number: usize| {
        let (client, page) = (number % 400, if number.is_multiple_of(3) { "/" } else { "/about" });
        format!(
            "10.0.{}.{} - - [17/May/2026:10:{:02}:03 +0000] \"GET {page} HTTP/1.1\" 200 512 \"-\" \"Mozilla\"\n",
            client / 200,
            client % 200,
            number % 60
        )
    };
    (0..2_000).map(line).collect()
}

fn events() -> String {
    let line = |number: usize| {
        format!(
            "{{\"time\":\"2026-01-01T00:{:02}:00Z\",\"user\":\"u{}\",\"kind\":\"{}\",\"value\":{}}}\n",
            number % 60,
            number % 400,
            if number.is_multiple_of(3) { "open" } else { "close" },
            number % 90
        )
    };
    (0..2_000).map(line).collect()
}

fn orders() -> String {
    let line = |number: usize| {
        format!(
            "c{},2026-01-01 00:{:02}:00,{},{}.50\n",
            number % 400,
            number % 60,
            ["DE", "FR"][number % 2],
            number % 90
        )
    };
    format!("customer,time,country,amount\n{}", (0..2_000).map(line).collect::<String>())
}

fn connections() -> String {
    let head = "#separator \\x09\n#set_separator\t,\n#empty_field\t(empty)\n#unset_field\t-\n#path\tconn\n#open\t2026-01-01-00-00-00\n\
        #fields\tts\tuid\tid.orig_h\tid.orig_p\tid.resp_h\tid.resp_p\tproto\tservice\tduration\torig_bytes\tresp_bytes\tconn_state\tlocal_orig\t\
        local_resp\tmissed_bytes\thistory\torig_pkts\torig_ip_bytes\tresp_pkts\tresp_ip_bytes\ttunnel_parents\n\
        #types\ttime\tstring\taddr\tport\taddr\tport\tenum\tstring\tinterval\tcount\tcount\tstring\tbool\tbool\tcount\tstring\tcount\tcount\tcount\tcount\tset[string]\n";
    let line = |number: usize| {
        let (port, service) = [("53", "dns"), ("443", "ssl"), ("22", "-")][number % 3];
        format!(
            "{}.25\tC{number}\t10.0.{}.{}\t40000\t192.0.2.1\t{port}\ttcp\t{service}\t-\t-\t-\tSF\tT\tF\t0\tShADad\"f\t4\t300\t4\t900\t-\n",
            1_767_225_600 + number,
            number % 400 / 200,
            number % 200
        )
    };
    format!("{head}{}#close\t2026-01-02-00-00-00\n", (0..2_000).map(line).collect::<String>())
}

/// Runs the command in a directory, as somebody there does.
fn within(directory: &Path, arguments: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_discreet"));
    let output =
        command.current_dir(directory).env("JOURNAL_STREAM", "0:0").args(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

// Refutes a job file that needs an edit before it runs, and a line of it that cannot be explained.
#[test]
fn each_log_has_a_job_that_runs_as_it_is_written() {
    for (kind, name, log, edits) in [
        ("access-log", "access_log", access_log(), 0),
        ("events", "events", events(), 2),
        ("orders", "orders", orders(), 2),
        ("zeek", "zeek", connections(), 0),
    ] {
        let place = Directory::new(&format!("init-{kind}"));
        fs::write(place.join("the log"), log).unwrap();
        let job = format!("{name}.toml");
        let (code, page, error) = within(&place, &["init", "--from", kind, "the log"]);
        assert_eq!((code, error.as_str()), (0, ""), "{kind}");
        assert!(
            page.starts_with(&format!(
                "wrote {job}; of the log the names of the columns were read, and no value was written\n"
            )),
            "{page}"
        );
        assert!(
            page.ends_with(&format!("then run\n  discreet plan {job}\n  discreet replay {job} --demo\n")),
            "{page}"
        );
        assert_eq!(
            page.lines().filter(|line| line.starts_with(&format!("  {job}:"))).count(),
            edits,
            "{page}"
        );
        // Separated text alone may have names or none.
        let said = page.lines().nth(1).unwrap();
        let is_said = said
            .starts_with("the first line was taken for the names of the columns, since it has a usual name");
        assert_eq!(is_said, kind == "orders", "{page}");

        for command in [&["check", &job, "--sample", "2000"][..], &["plan", &job]] {
            let (code, page, error) = within(&place, command);
            assert!(code == 0 && error.is_empty(), "{kind}: {command:?} {error}");
            assert!(
                !page.contains("source.") || !page.contains("has it"),
                "{kind}: a field is not found: {page}"
            );
        }
        let (code, lines, error) = within(&place, &["replay", &job, "--demo"]);
        assert_eq!(code, 0, "{kind}: {error}");
        assert!(error.contains("2000 records") || error.contains("2,000 records"), "{kind}: {error}");
        fs::write(place.join("lines"), &lines).unwrap();
        let (code, page, error) = within(&place, &["explain", "lines", "--job", &job]);
        assert_eq!((code, error.as_str()), (0, ""), "{kind}: {lines}");
        for words in [
            "demo        This line is of a demonstration",
            "account     ",
            "The exact number of all records is ",
        ] {
            assert!(
                page.contains(words) || page.contains(&words.replace("The exact number", "exact number")),
                "{kind}: {words}\n{page}"
            );
        }
        // It releases for good, too.
        let ledger = format!("{name}.ledger");
        assert_eq!(within(&place, &["ledger", "init", &ledger, "--config", &job]).0, 0);
        assert_eq!(within(&place, &["replay", &job]).0, 0);
    }
}

// Refutes a log without a line of names that has no job file, one whose first record is taken for names, and a time or a mark
// that the run reads otherwise.
#[test]
fn a_log_without_names_has_a_job_that_runs() {
    let line = |number: usize| {
        format!(
            "u{}\t2026-01-01 00:{:02}:00\t/a\"{}\t{}\n",
            number % 400,
            number % 60,
            number % 3,
            number % 90
        )
    };
    let place = Directory::new("init-unnamed");
    fs::write(place.join("log.tsv"), (0..2_000).map(line).collect::<String>()).unwrap();
    for (kind, job) in [("events", "events.toml"), ("orders", "orders.toml")] {
        let (code, page, error) = within(&place, &["init", "--from", kind, "log.tsv"]);
        assert_eq!((code, error.as_str()), (0, ""), "{kind}");
        let read = format!(
            "wrote {job}; of log.tsv no line names the columns: the kinds of the first values were read, and the values of the first lines compared, and no value was written\n"
        );
        assert!(page.starts_with(&read), "{page}");
        for words in [
            "the names of the columns, in their order\n",
            "whose a record is: no usual name says so, and this column is a guess: of the columns without times and decimals, it has the most \
             different values that come again\n",
            "a release that is left out, since no field is known for it: the field by which people are counted\n",
        ] {
            assert!(page.contains(words), "no {words}: {page}");
        }
        let (code, page, error) = within(&place, &["check", job, "--sample", "3000"]);
        assert!(code == 0 && error.is_empty() && page.contains("fields in 2,000 records"), "{page}{error}");
        assert!(
            !page.contains("cannot be read") && page.contains("column_1: found 2,000, readable 2,000"),
            "{page}"
        );
        let released = ["name ", "every ", "people ", "mean ", "bound ", "noise ", "share "];
        // With the names of its columns, days and the releases that are left out, it is a whole job.
        let text = fs::read_to_string(place.join(job)).unwrap();
        let whole = text
            .replace(
                "# from  = \"2026-01-01T00:00:00Z\"\n# until = \"2026-02-01T00:00:00Z\"",
                "from = \"2026-01-01T00:00:00Z\"\nuntil = \"2026-01-03T00:00:00Z\"",
            )
            .replace("\"lifetime\" ", "\"each day\" ")
            .replace("\"all\" ", "\"1 day\" ")
            .replace("\"column_1\"", "\"who\"")
            .replace("\"column_3\"", "\"page\"")
            .replace("# [[release]]", "[[release]]");
        let whole: Vec<&str> = whole
            .lines()
            .map(|line| match line.strip_prefix("# ") {
                Some(rest) if released.iter().any(|field| rest.starts_with(field)) => rest,
                _ => line,
            })
            .collect();
        fs::write(place.join("whole.toml"), whole.join("\n")).unwrap();
        let (code, lines, error) = within(&place, &["replay", "whole.toml", "--demo"]);
        assert_eq!(code, 0, "{error}");
        assert!(lines.contains("\"release\":\"mean_value\""), "{lines}");
        assert!(lines.contains("\"key\":\"/a\\\"1\""), "{lines}");
        let ledger = format!("{kind}.ledger");
        assert_eq!(within(&place, &["ledger", "init", &ledger, "--config", job]).0, 0);
        assert_eq!(within(&place, &["replay", job]).0, 0);
    }
}

/// The lines of a log of halls, cards, kinds, items, prices and local times, between tabs.
fn sales() -> String {
    let line = |number: usize| {
        let (hall, kind) = (["north", "south", "west"][number * 5 % 3], ["sale", "refund"][number % 11 / 10]);
        format!(
            "{hall}\tk{}\t{kind}\ttea {}\t{}.50\t{:02}.11.2026 {:02}:{:02}\n",
            number * 7 % 300,
            number % 9,
            number % 90,
            number % 28 + 1,
            number % 24,
            number % 60
        )
    };
    (0..2_000).map(line).collect()
}

// Refutes halls that are taken for people, a person that no column has, and a guess that is not said to be one.
#[test]
fn the_person_is_chosen_by_the_values_where_no_name_says_it() {
    for (first, person, edit) in [
        ("", "column_2", "whose a record is: no usual name says so, and this column is a guess: "),
        (
            "hall\tcard\tkind\titem\tprice\ttime\n",
            "card",
            "whose a record is: no usual name says so, and this column is a guess: ",
        ),
        ("wo\twer\twie\twas\tzahl\twann\n", "wer", "whose a record is: no usual name says so"),
        ("card\tmember\tkind\titem\tprice\ttime\n", "member", ""),
    ] {
        let place = Directory::new("init-person");
        fs::write(place.join("sales.tsv"), format!("{first}{}", sales())).unwrap();
        let (code, page, error) = within(&place, &["init", "--from", "orders", "sales.tsv"]);
        assert_eq!((code, error.as_str()), (0, ""));
        let is_said = page.contains(&format!(
            "{edit}of the columns without times and decimals, it has the most different values that come again"
        )) || (person == "wer" && page.contains(edit));
        assert_eq!(is_said, !edit.is_empty(), "{page}");
        assert_eq!(
            page.contains("the values of the first lines compared, and no"),
            !edit.is_empty(),
            "{page}"
        );
        let text = fs::read_to_string(place.join("orders.toml")).unwrap();
        assert!(text.contains(&format!("\nperson  = {{ field = \"{person}\", missing")), "{text}");
        let has_reason = text.contains("\n# No usual name says whose a record is. This column was chosen: ");
        assert_eq!(has_reason, !edit.is_empty(), "{text}");
        for value in ["north", "k17", "refund", "tea 5", "300", "1,000"] {
            assert!(!text.contains(value) && !page.contains(value), "{value}: {page}{text}");
        }
        let (code, page, error) = within(&place, &["check", "orders.toml", "--sample", "all"]);
        assert!(
            code == 0 && page.contains(", of 300 people") && !page.contains("warning: privacy.person"),
            "{page}{error}"
        );
        assert_eq!(within(&place, &["replay", "orders.toml", "--demo"]).0, 0);
        // The field of three halls is warned of.
        let hall = if first.is_empty() { "column_1" } else { first.split('\t').next().unwrap() };
        let text = text.replace(&format!("field = \"{person}\""), &format!("field = \"{hall}\""));
        fs::write(place.join("halls.toml"), text).unwrap();
        let (code, page, error) = within(&place, &["check", "halls.toml", "--sample", "all"]);
        let warning = format!("warning: privacy.person: field {hall}: 2,000 records are of 3 people: ");
        assert!(code == 0 && page.contains(&warning), "{page}{error}");
    }
}

// Refutes a first record of plain words that becomes the names of the columns, or is left out.
#[test]
fn a_first_record_of_words_is_counted() {
    let place = Directory::new("init-words");
    let line =
        |number: usize| format!("u{},{},{}\n", ["a", "b", "c"][number % 3], ["x", "y"][number % 2], "web");
    fs::write(place.join("log.csv"), (0..60).map(line).collect::<String>()).unwrap();
    let (code, page, error) = within(&place, &["init", "--from", "orders", "log.csv"]);
    assert_eq!((code, error.as_str()), (0, ""));
    assert!(
        page.lines()
            .nth(1)
            .unwrap()
            .starts_with("the first line was taken for a record, since it has values that come again"),
        "{page}"
    );
    assert!(
        page.contains("; if it has the names of the columns, leave the header of [source] out, and use its"),
        "{page}"
    );
    let (code, page, error) = within(&place, &["check", "orders.toml", "--sample", "all"]);
    assert!(code == 0 && page.contains("fields in 60 records"), "{page}{error}");
    // Where nothing speaks for either, it is a line to look at.
    fs::write(place.join("log.csv"), "one,two\nthree,four\n").unwrap();
    let (code, page, _) = within(&place, &["init", "--from", "orders", "log.csv", "--out", "other.toml"]);
    assert!(
        code == 0
            && page.contains(
                "but nothing in the log speaks for that or against it; if it is a record, give its 2 columns"
            ),
        "{page}"
    );
    let text = fs::read_to_string(place.join("other.toml")).unwrap();
    let at = text.lines().position(|line| line == "# header = [\"column_1\", \"column_2\"]").unwrap();
    assert!(
        page.contains(&format!(
            "  other.toml:{at}: the names of the columns: whether the first line has them, or is a record\n"
        )),
        "{page}"
    );
}

// Refutes a job file that is lost, and half a file that is left.
#[test]
fn a_file_that_is_there_is_left_as_it_is() {
    let place = Directory::new("init-there");
    fs::write(place.join("zeek.toml"), "mine").unwrap();
    let (code, output, error) = within(&place, &["init", "--from", "zeek"]);
    assert_eq!((code, output.as_str()), (78, ""));
    assert!(
        error.contains("--out: zeek.toml: found a file, which is left as it is; give another name"),
        "{error}"
    );
    assert_eq!(fs::read_to_string(place.join("zeek.toml")).unwrap(), "mine");
    let (code, page, _) = within(&place, &["init", "--from", "zeek", "--out", "other.toml"]);
    assert!(
        code == 0
            && page.contains("look at 1 line:\n  other.toml:")
            && page.contains(": the path of the log\n"),
        "{page}"
    );
    assert_eq!(within(&place, &["plan", "other.toml"]).0, 0);

    let (code, output, error) = within(&place, &["init", "--from", "events", "missing"]);
    assert!(code == 78 && output.is_empty() && error.contains("log: missing: found no such file"), "{error}");
    fs::write(place.join("table"), "a,b\n").unwrap();
    let (code, _, error) = within(&place, &["init", "--from", "events", "table"]);
    assert!(
        code == 78
            && error.contains(
                "log: table: its first line is no object of JSON, and names columns, as of --from orders; give a log of this kind"
            ),
        "{error}"
    );
    assert!(!place.join("events.toml").exists());
    assert_eq!(within(&place, &["init", "--from", "mail"]).0, 2);
    assert_eq!(within(&place, &["init"]).0, 2);
}

// Refutes a path that means another file from the directory of the job file.
#[test]
fn a_job_file_elsewhere_names_its_log_by_the_whole_path() {
    let place = Directory::new("init-elsewhere");
    fs::create_dir(place.join("jobs")).unwrap();
    fs::write(place.join("orders.csv"), orders()).unwrap();
    assert_eq!(within(&place, &["init", "--from", "orders", "orders.csv", "--out", "jobs/a.toml"]).0, 0);
    let (code, page, error) = within(&place, &["check", "jobs/a.toml", "--sample", "5"]);
    assert!(code == 0 && page.contains("5 records"), "{page}{error}");
}

// The logs of people that the tests of jobs read as well.
#[test]
fn real_logs_have_a_job_that_runs() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data");
    for (kind, name, file) in [
        ("access-log", "access_log", "access.log.gz"),
        ("orders", "orders", "retail.csv.gz"),
        ("orders", "orders", "reviews.csv.bz2"),
    ] {
        let log = data.join(file);
        // Without optimization the large ones take a minute.
        if !full() && kind == "orders" {
            continue;
        }
        if !log.exists() {
            println!("skipped: no ../shared/data: no job is written for {file}");
            continue;
        }
        let place = Directory::new("init-real");
        let (code, page, error) = within(&place, &["init", "--from", kind, log.to_str().unwrap()]);
        assert_eq!((code, error.as_str()), (0, ""), "{page}");
        let job = format!("{name}.toml");
        assert_eq!(within(&place, &["plan", &job]).0, 0);
        let (code, lines, error) = within(&place, &["replay", &job, "--demo"]);
        assert!(code == 0 && lines.lines().count() >= 6, "{file}: {error}");
    }
}

#[test]
fn a_kind_of_log_is_named_in_the_help() {
    let (_, page, _) = discreet(&["init", "--help"]);
    for word in ["access-log", "events", "orders", "zeek", "no value is written"] {
        assert!(page.contains(word), "{word}: {page}");
    }
}
