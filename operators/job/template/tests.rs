use std::fs;
use std::path::PathBuf;

use super::*;
use crate::job::Job;

/// A log in a directory of its own, which goes with it.
struct WrittenLog(PathBuf);

impl WrittenLog {
    fn new(name: &str, text: &str) -> WrittenLog {
        let directory = std::env::temp_dir().join(format!("discreet-template-{}-{name}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("log"), text).unwrap();
        WrittenLog(directory)
    }

    fn template(&self, kind: LogKind) -> io::Result<JobTemplate> {
        JobTemplate::new(kind, Path::new("job.toml"), Some("log"), Some(&self.0.join("log")))
    }

    fn job(&self, kind: LogKind) -> (JobTemplate, Job) {
        let template = self.template(kind).unwrap();
        let job = Job::parse("job.toml", &with_person(template.text(), kind));
        let job = job.unwrap_or_else(|mistakes| panic!("{mistakes}\n{}", template.text()));
        job.plan().unwrap();
        (template, job)
    }
}

/// The job file, whose person is named by somebody where it is left to be named.
fn with_person(page: &str, kind: LogKind) -> String {
    let name = if kind == LogKind::Events { "user" } else { "customer" };
    page.replace("# person  = { field = \"..\"", &format!("person  = {{ field = \"{name}\""))
}

impl Drop for WrittenLog {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

const ZEEK: &str = "#separator \\x09\n#path\tconn\n#fields\tts\tuid\tid.orig_h\tid.orig_p\tid.resp_h\tid.resp_p\tproto\tservice\tsecret_name\n";

// Refutes a template that a reader of job files refuses, with a log and without.
#[test]
fn every_template_is_a_job_that_has_a_plan() {
    for (word, kind) in LogKind::WORDS {
        let template = JobTemplate::new(kind, Path::new("job.toml"), None, None).unwrap();
        let job = Job::parse("job.toml", template.text());
        let job = job.unwrap_or_else(|mistakes| panic!("{word}: {mistakes}\n{}", template.text()));
        job.plan().unwrap_or_else(|error| panic!("{word}: {error}"));
        assert_eq!(job.name.as_str(), kind.job_name());
        assert_eq!(template.text().lines().find(|line| line.chars().count() > 120), None);
    }
}

#[test]
fn columns_are_found_by_their_names() {
    let person = |job: &Job| job.privacy.privacy_unit.person_identity().unwrap();
    let log = WrittenLog::new(
        "orders",
        "\u{feff}InvoiceNo,Quantity,InvoiceDate,UnitPrice,CustomerID,Country\n1,2,3,4,5,6\n",
    );
    let (template, job) = log.job(LogKind::Orders);
    assert!(person(&job).contains("\"CustomerID\""), "{}", template.text());
    let statistics: Vec<&str> = job.releases.iter().map(|release| release.name.as_str()).collect();
    assert_eq!(statistics, ["customers", "customers_by_key", "mean_value"]);
    for words in ["by = \"Country\"", "of = \"UnitPrice\"", "# time = { field = \"InvoiceDate\""] {
        assert!(template.text().contains(words), "{words}\n{}", template.text());
    }
    let (_, what) = template.edits().last().unwrap();
    assert!(what.contains("or another field: \"Quantity\""), "{what}");

    let log = WrittenLog::new("semicolons", "\"customer name\";customer-id;total\n");
    let (template, job) = log.job(LogKind::Orders);
    assert!(template.text().contains("delimiter = \";\"") && person(&job).contains("customer-id"));
    assert_eq!(job.releases.len(), 2, "no key is known");
    assert!(template.text().contains("# people = { by = \"country\""), "{}", template.text());

    let log = WrittenLog::new(
        "events",
        "\n{\"at\":1,\"user\":{\"id\":7,\"tags\":[]},\"type\":\"x\",\"duration\":3}\n",
    );
    let (template, job) = log.job(LogKind::Events);
    assert!(person(&job).contains("\"user.id\"") && template.text().contains("by = \"type\""));

    let log = WrittenLog::new("zeek", &format!("{ZEEK}1\t2\n"));
    let (template, _) = log.job(LogKind::Zeek);
    assert!(template.text().contains("\"column_9\"") && template.edits().is_empty(), "{}", template.text());
}

// Refutes a record that is taken for a line of names, a line of names that is taken for a record, and a form of the columns that
// is not that of the records.
#[test]
fn a_log_without_names_has_numbered_columns() {
    let rows = |row: &dyn Fn(usize) -> String| (0..30).map(row).collect::<String>();
    let hour = |number: usize| format!("2026-01-01T{:02}:00:00Z", number % 24);
    let tabs = rows(&|number| format!("{}\tu{number}\tsay \"a\tb,c\t{number}.5\n", hour(number)));
    let quoted = rows(&|number| format!("u{number}\t\"a\tb\"\t2026-01-01 00:{number:02}:00\n"));
    let late = format!("# a log\n# of values\n\n{}", rows(&|number| format!("u{number};;17{number:08};x\n")));
    let dates = rows(&|number| format!("{number},2026-01-{:02},{}\n", number % 20 + 1, 1_767_225_600_000i64));
    for (kind, text, marks, time, person, value) in [
        (
            LogKind::Events,
            &tabs,
            "delimiter = \"\\t\"\nquote = \"\"",
            Some(("column_1", "rfc3339")),
            "column_2",
            Some("column_5"),
        ),
        (
            LogKind::Events,
            &quoted,
            "delimiter = \"\\t\"",
            Some(("column_3", "%Y-%m-%d %H:%M:%S%.f")),
            "column_1",
            None,
        ),
        (
            LogKind::Orders,
            &late,
            "delimiter = \";\"\ncomment = \"#\"",
            Some(("column_3", "unix")),
            "column_1",
            None,
        ),
        (LogKind::Orders, &dates, "", Some(("column_2", "%Y-%m-%d")), "column_1", Some("column_3")),
        (LogKind::Orders, &"a,b,3\n".to_owned(), "", None, "column_1", Some("column_3")),
    ] {
        let log = WrittenLog::new("unnamed", text);
        let (template, job) = log.job(kind);
        let page = template.text();
        assert!(!template.has_names() && page.contains(marks), "{page}");
        assert_eq!(page.contains("quote = \"\""), marks.contains("quote"), "{page}");
        let names = ["column_1", "column_2", "column_3"].map(|name| format!("\"{name}\"")).join(", ");
        assert!(page.contains(&format!("header = [{names}")), "{page}");
        let stated = job.source.time.as_ref().map(|time| (time.field.as_str(), time.format.to_string()));
        assert_eq!(stated, time.map(|(field, format)| (field, format.to_owned())), "{page}");
        assert!(job.privacy.privacy_unit.person_identity().unwrap().contains(person), "{page}");
        let mean = page.lines().find(|line| line.contains("mean   = ")).unwrap();
        assert!(mean.starts_with("# ") && value.is_none_or(|value| mean.contains(value)), "{mean}");
        assert!(template.edits()[0].1.starts_with("the names of the columns"), "{:?}", template.edits());
        assert!(page.lines().nth(template.edits()[0].0 - 1).unwrap().starts_with("header = ["), "{page}");
    }
    // Names after comments are names.
    let log = WrittenLog::new("commented", "# a log\ncustomer,time,amount\n1,2,3\n");
    let (template, job) = log.job(LogKind::Orders);
    assert!(template.has_names() && template.text().contains("comment = \"#\""), "{}", template.text());
    assert!(job.privacy.privacy_unit.person_identity().unwrap().contains("customer"));
}

// Refutes an order of day and month that nothing in the log says, and one that is asked for though a day after the 12th says it.
#[test]
fn an_order_of_day_and_month_is_said_to_be_a_guess() {
    let log = |last: u32| -> String {
        (0..15).map(|number| format!("u{number};{:02}/11/2026 18:15;2\n", number % (last - 1) + 1)).collect()
    };
    for (last, is_said) in [(12, true), (14, false)] {
        let log = WrittenLog::new("order", &log(last));
        let (template, job) = log.job(LogKind::Events);
        let said = template.edits().iter().find(|(_, what)| what.starts_with("the order of day and month"));
        assert_eq!((said.is_some(), job.source.time.is_none()), (is_said, is_said), "{}", template.text());
        if let Some((line, what)) = said {
            assert!(what.ends_with("whether the format is %d/%m/%Y %H:%M or %m/%d/%Y %H:%M"), "{what}");
            let line = template.text().lines().nth(line - 1).unwrap();
            assert!(line.starts_with("# time = ") && line.ends_with("# or %m/%d/%Y %H:%M"), "{line}");
        }
    }
}

// Refutes a name that no column has, and a job file that runs with it.
#[test]
fn a_person_whose_column_cannot_be_named_is_left_to_be_named() {
    for (kind, text) in
        [(LogKind::Orders, "secret,hidden\nx,y\nx,z\n"), (LogKind::Events, "{\"secret\":\"x\"}\n")]
    {
        let log = WrittenLog::new("unnamed-person", text);
        let template = log.template(kind).unwrap();
        let page = template.text();
        assert!(!page.contains("\"customer\"") && !page.contains("\"user\""), "{page}");
        let refused = Job::parse("job.toml", page).unwrap_err().to_string();
        assert!(refused.contains("privacy.person: found nothing; give person = { field = .."), "{refused}");
        let (line, _) =
            template.edits().iter().find(|(_, what)| what.starts_with("whose a record is")).unwrap();
        assert!(page.lines().nth(line - 1).unwrap().starts_with("# person  = { field = \"..\""), "{page}");
    }
    // Without a log the name is to be edited as the path is.
    let template = JobTemplate::new(LogKind::Orders, Path::new("job.toml"), None, None).unwrap();
    assert!(template.text().contains("\nperson  = { field = \"customer\""), "{}", template.text());
}

// Refutes a job file that is refused for its size, a comment that hides how many columns there are, and a cut that is made where all
// names are needed.
#[test]
fn a_job_file_of_many_columns_stays_small() {
    let wide = |columns: usize, name: &dyn Fn(usize) -> String| -> String {
        (0..columns).map(name).collect::<Vec<_>>().join(",")
    };
    // Words of letters alone, each another one.
    let word = |at: usize| -> String {
        at.to_string().bytes().map(|digit| char::from(digit - b'0' + b'k')).collect()
    };
    let (names, values) = (wide(100_000, &word), wide(100_000, &|_| "w".to_owned()));
    let log = WrittenLog::new("wide", &format!("{names}\n{values}\n"));
    let template = log.template(LogKind::Orders).unwrap();
    let page = template.text();
    assert!(page.len() < 20_000, "{}", page.len());
    assert!(
        page.contains("\"column_300\",\n#     .. and 99700 further columns, up to \"column_100000\"]\n"),
        "{page}"
    );
    // Many columns of one usual name.
    let users: Vec<String> = (0..5_000).map(|at| format!("{}user", "_".repeat(at % 99))).collect();
    let columns = NamedColumns::of(LogKind::Orders, Some(&LogNames::of_columns(users, ',')));
    assert_eq!((columns.person.name.as_str(), columns.person.others.len()), ("user", 8));
    let log = WrittenLog::new("narrow", "one,two\nthree,four\n");
    assert!(
        log.template(LogKind::Orders).unwrap().text().contains("# header = [\"column_1\", \"column_2\"]\n")
    );
    // A header names all columns.
    let numbers = |columns: usize| format!("{}\n", wide(columns, &|at| (at % 10).to_string()));
    let log = WrittenLog::new("header", &numbers(2_000));
    let (template, _) = log.job(LogKind::Orders);
    assert!(template.text().contains("\"column_2000\",\n]\n") && template.text().len() < 1 << 16);
    let refused =
        WrittenLog::new("wider", &numbers(20_001)).template(LogKind::Orders).unwrap_err().to_string();
    assert_eq!(
        refused,
        "it has 20001 columns without a line that names them, and a job file names at most 20000"
    );
}

/// The lines of a log of halls, cards, kinds, items, prices and local times, between tabs.
fn halls(lines: usize) -> String {
    let line = |number: usize| {
        format!(
            "hall {}\tcard {}\t{}\titem {}\t{}.50\t{:02}.11.2026 {:02}:{:02}\n",
            ["north", "south", "west"][number * 5 % 3],
            ["a", "b"][number % 2].repeat(number * 7 % 150 / 2 + 1),
            ["sale", "refund"][number % 11 / 10],
            ["tea", "bread", "milk", "salt"][number % 4],
            number % 90,
            number % 28 + 1,
            number % 24,
            number % 60
        )
    };
    (0..lines).map(line).collect()
}

// Refutes a column of three halls as the person, a name that no column has, a word of a first line that may be a record in the
// job file, and a guess that is not said to be one.
#[test]
fn the_person_is_the_column_in_which_the_most_values_come_again() {
    let sales = halls(1_500);
    let above = |names: &str| format!("{names}\n{sales}");
    let objects: String = (0..300)
        .map(|number| {
            format!("{{\"hall\":{},\"card\":\"c{}\",\"price\":{number}.5}}\n", number % 3, number % 90)
        })
        .collect();
    for (kind, text, person, is_written) in [
        (LogKind::Orders, sales.clone(), "column_2", true),
        (LogKind::Events, sales.clone(), "column_2", true),
        (LogKind::Orders, above("hall\tcard\tkind\titem\tprice\ttime"), "card", true),
        // Names that say nothing.
        (LogKind::Orders, above("ha\tka\tar\twa\tpr\tze"), "ka", true),
        // A usual name decides.
        (LogKind::Orders, above("customer\tcard\tkind\titem\tprice\ttime"), "customer", false),
        // Nothing speaks for names, or a word comes again: they may be values.
        (LogKind::Orders, "secret,hidden\nx,y\nx,z\n".to_owned(), "customer", false),
        (LogKind::Orders, above("secret\tsecret\tkind\titem\tprice\ttime"), "customer", false),
        (LogKind::Orders, "secret,none\nann,3\nben,4\nann,5\neve,5\neve,6\n".to_owned(), "customer", false),
        (LogKind::Events, objects, "card", true),
        (LogKind::Events, "{\"secret\":\"x\"}\n".to_owned(), "user", false),
    ] {
        let log = WrittenLog::new("person", &text);
        let (template, job) = log.job(kind);
        let page = template.text();
        let stated = job.privacy.privacy_unit.person_identity().unwrap();
        assert!(stated.contains(&format!("\"{person}\"")), "{person}: {page}");
        let is_guess = |text: &str| text.contains("it has the most different values that come again");
        let said = template.edits().iter().find(|(_, what)| what.contains("this column is a guess"));
        assert_eq!(
            said.is_some_and(|(_, what)| is_guess(what)),
            is_written,
            "{person}: {:?}",
            template.edits()
        );
        if let Some((line, _)) = said {
            assert!(page.lines().nth(line - 1).unwrap().starts_with("person  = "), "{page}");
        }
        let comment = page.replace("\n# ", " ");
        assert_eq!(comment.contains("This column was chosen: "), is_written, "{page}");
        assert!(!page.contains("secret") && !page.contains("hidden"), "{page}");
        for value in ["hall ", "tea", "refund"] {
            assert!(!page.contains(value), "{page}");
        }
    }
    // Of names of something else one is the person's, and no key as well.
    let log = WrittenLog::new(
        "keys",
        &format!("item,price,time\n{}", "tea,1.5,2026-01-01\nmilk,2.5,2026-01-02\n".repeat(9)),
    );
    let (template, job) = log.job(LogKind::Orders);
    assert!(job.privacy.privacy_unit.person_identity().unwrap().contains("\"item\""), "{}", template.text());
    assert!(template.text().contains("# people = { by = \"item\""), "{}", template.text());
    // A first line that may be a record is named by the place of the likely column.
    let log =
        WrittenLog::new("place", "one,two,three\nx,a,k\ny,a,l\nx,b,m\nz,b,n\nz,c,o\ny,c,p\nx,d,q\nx,d,r\n");
    let (template, _) = log.job(LogKind::Orders);
    let said = &template.edits().iter().find(|(_, what)| what.starts_with("whose a record is")).unwrap().1;
    assert!(
        said.starts_with("whose a record is: the name of the field, likely number 2 of the first"),
        "{said}"
    );
}

// Refutes a record of plain words that is taken for names, a line of names that is taken for a record, and a job file that does
// not say which it was and how to state the other.
#[test]
fn a_first_line_of_words_is_said_to_be_names_or_a_record() {
    let rows = |row: &dyn Fn(usize) -> String| (0..60).map(row).collect::<String>();
    let towns = ["berlin", "paris", "rome"];
    let words =
        rows(&|number| format!("{},{},open\n", ["ann", "ben", "eve"][number * 7 % 3], towns[number % 3]));
    let all_other = rows(&|number| {
        let letter = |number: usize| char::from(b'a' + (number % 26) as u8);
        let word = [letter(number), letter(number / 26), letter(number * 3)];
        let word: String = word.iter().collect();
        format!("{word}x,{word}y\n")
    });
    let late = format!("tim,oslo,shut\n{}tim,oslo,shut,\n", words.repeat(5));
    for (text, is_names, is_edited, why) in [
        // Plain words that come again.
        (words.clone(), false, true, "come again, or are formed like"),
        // Of those that come again far below.
        (late, false, true, "come again, or are formed like"),
        // Ids of one form.
        (rows(&|number| format!("u{number};p{}{number}\n", number * 3)), false, true, "formed like"),
        // A word above numbers in one column, and two that come again.
        (
            format!("ann,berlin,none\n{}", rows(&|number| format!("ann,berlin,{number}\n"))),
            false,
            true,
            "come again",
        ),
        // Names above the same words.
        (format!("customer,city,state\n{words}"), true, false, "a usual name"),
        (format!("name,town,what\n{words}"), true, true, "nothing in the log speaks for that"),
        // Several files with their names.
        (format!("name,town,what\n{words}name,town,what\n{words}"), true, true, "nothing in the log"),
        (format!("who,count\n{}", rows(&|number| format!("who,{number}\n"))), true, false, "above numbers"),
        (all_other, true, true, "nothing in the log speaks"),
        ("name,town\n".to_owned(), true, true, "nothing in the log speaks"),
    ] {
        let log = WrittenLog::new("words", &text);
        let (template, job) = log.job(LogKind::Orders);
        let page = template.text();
        let first: String = text.chars().take(60).collect();
        assert_eq!(template.has_names(), is_names, "{first}\n{page}");
        let said = template.first_line().unwrap();
        assert!(said.contains(why) && said.contains("header"), "{first}: {said}");
        assert!(said.starts_with("the first line was taken for "), "{said}");
        let of_names =
            template.edits().iter().filter(|(_, what)| what.starts_with("the names of the columns"));
        assert_eq!(of_names.count(), usize::from(is_edited), "{first}: {:?}", template.edits());
        // The other reading is a job, too.
        let page = with_person(page, LogKind::Orders);
        let other: Vec<&str> = match is_names {
            true => page
                .lines()
                .map(|line| if line.starts_with("# header = [") { &line[2..] } else { line })
                .collect(),
            false => page.lines().filter(|line| !line.starts_with("header = [")).collect(),
        };
        let person = match (is_names, &job.privacy.privacy_unit.person_identity()) {
            (true, Some(identity)) => identity.split('"').nth(1).unwrap().to_owned(),
            _ => "column_1".to_owned(),
        };
        let other = other.join("\n").replace(&format!("{{ field = \"{person}\""), "{ field = \"column_1\"");
        let other = other.lines().filter(|line| !line.starts_with("# person")).collect::<Vec<_>>().join("\n");
        let other = other.replace("by = \"city\"", "by = \"column_2\"");
        assert!(Job::parse("job.toml", &other).is_ok(), "{other}");
    }
    let log = WrittenLog::new("object", "{\"user\":\"a\",\"kind\":\"b\"}\n");
    assert_eq!(log.template(LogKind::Events).unwrap().first_line(), None);
}

// Refutes a value that reaches a job file: of a file without names the first line is a record.
#[test]
fn nothing_of_a_record_is_written() {
    for (kind, text) in [
        (LogKind::Orders, "Ann Secret,secret@example.org,User 7,49.99\n".to_owned()),
        (LogKind::Orders, "secret;42\n".to_owned()),
        (LogKind::Events, "secret\t42\t49.99\tuser 7\t2026-01-01\n".to_owned()),
        (LogKind::Events, "# secret\n\"secret\"|secret||user 7\n".to_owned()),
        (LogKind::Events, "{\"secret\":\"secret\",\"user\":\"secret\",\"secret.user\":1}\n".to_owned()),
        (LogKind::Zeek, format!("{ZEEK}secret\tsecret\n")),
        (LogKind::AccessLog, "secret - - [secret]\n".to_owned()),
    ] {
        let log = WrittenLog::new("secret", &text);
        let template = log.template(kind).unwrap();
        let page = format!("{}{:?}", template.text(), template.edits()).to_lowercase();
        assert!(!page.contains("secret") && !page.contains("49.99") && !page.contains("user 7"), "{page}");
    }
}

// Refutes a line that is called one to edit and is another one.
#[test]
fn the_lines_to_edit_are_those_of_their_fields() {
    let log = WrittenLog::new("edits", "user,customer,date,country,price,rating\n");
    let (template, _) = log.job(LogKind::Orders);
    let lines: Vec<&str> = template.text().lines().collect();
    let begins: Vec<&str> =
        template.edits().iter().map(|(line, _)| lines[line - 1].split(" =").next().unwrap()).collect();
    assert_eq!(begins.iter().map(|name| name.trim()).collect::<Vec<_>>(), ["# time", "person", "mean"]);
    assert!(
        lines.contains(&"# person  = { field = \"customer\", missing = \"drop\" }"),
        "{}",
        template.text()
    );
    let template = JobTemplate::new(LogKind::Events, Path::new("job.toml"), None, None).unwrap();
    let lines: Vec<&str> = template.text().lines().collect();
    let begins: Vec<&str> =
        template.edits().iter().map(|(line, _)| lines[line - 1].split(" =").next().unwrap()).collect();
    assert_eq!(
        begins.iter().map(|name| name.trim()).collect::<Vec<_>>(),
        ["path", "# time", "person", "# people", "# mean"]
    );
}

#[test]
fn a_log_of_another_kind_is_refused() {
    for (kind, text, found) in [
        (LogKind::Events, "a,b\n", "no object of JSON, and names columns, as of --from orders"),
        (LogKind::Events, "a b\n", "no object of JSON"),
        (LogKind::Events, "", "it is empty"),
        (LogKind::Orders, "\n\n", "it is empty"),
        (LogKind::Zeek, "1\t2\n", "no line #fields"),
        (LogKind::Zeek, "#fields\tts\tquery\n", "not that of a conn.log"),
        (LogKind::Zeek, "", "no line #fields"),
    ] {
        let error = WrittenLog::new("other", text).template(kind).unwrap_err();
        assert!(
            error.kind() == io::ErrorKind::InvalidInput && error.to_string().contains(found),
            "{text}: {error}"
        );
    }
}
