//! `discreet explain`: lines of every kind in sentences.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::discreet;
use crate::jobs::Jobs;
use crate::kit::Directory;

/// Lines of demonstrations of the example jobs, most of them without what only a demonstration says, and one of
/// each status, of a vector and of a query.
fn lines() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/command/explain/lines.jsonl")
}

// Refutes a sentence that changes unnoticed: each kind of line has its page in `pages.txt`.
#[test]
fn each_kind_of_line_has_its_page() {
    let pages = fs::read_to_string(lines().with_file_name("pages.txt")).unwrap();
    let (text, lines) = (fs::read_to_string(lines()).unwrap(), lines());
    let mut printed = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let number = (index + 1).to_string();
        let (code, page, error) = discreet(&["explain", lines.to_str().unwrap(), "--line", &number]);
        assert_eq!((code, error.as_str()), (0, ""), "line {number}");
        assert_eq!(discreet(&["explain", line]), (0, page.clone(), String::new()), "line {number} by itself");
        printed.push(page);
    }
    let expected: Vec<&str> = pages.split_inclusive("\n\n").map(|page| page.trim_end_matches('\n')).collect();
    assert_eq!(printed.len(), expected.len());
    for (page, expected) in printed.iter().zip(expected) {
        assert_eq!(page.trim_end_matches('\n'), expected);
    }
}

// Refutes a text of a line that commands a terminal.
#[test]
fn a_text_of_a_line_is_no_command() {
    let text = fs::read_to_string(lines()).unwrap();
    let line = text.lines().next().unwrap();
    let (name, _) = line.split_once("\"release\":\"").unwrap().1.split_once('"').unwrap();
    let forged = line.replace(&format!("\"release\":\"{name}\""), "\"release\":\"a\\u001b[31mb\\u0007\"");
    let (code, page, error) = discreet(&["explain", &forged]);
    assert_eq!(code, 0, "{error}");
    assert!(page.contains("a\\u{1b}[31mb\\u{7}\n") && !page.contains('\u{1b}'), "{page}");
}

// Refutes a line of standard input, or of a number, that is another one.
#[test]
fn a_line_is_that_of_its_number() {
    let text = fs::read_to_string(lines()).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_discreet"))
        .args(["explain", "-", "--line", "3"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let third = discreet(&["explain", text.lines().nth(2).unwrap()]).1;
    assert_eq!((output.status.code(), String::from_utf8(output.stdout).unwrap()), (Some(0), third));

    let place = Directory::new("explain");
    let one = place.join("one");
    fs::write(&one, text.lines().next().unwrap()).unwrap();
    let one = one.to_str().unwrap();
    assert_eq!(discreet(&["explain", one]).0, 0, "a last line without its end");
    for (arguments, words) in [
        (&[one, "--line", "2"][..], "has 1 line; give a number of one of them"),
        (&[one, "--line", "0"], "--line: found zero; give the number of a line, from 1"),
        (&["{}", "--line", "2"], "--line: found the number of a line beside a line"),
        (&["missing.jsonl"], "line: missing.jsonl: found no such file"),
    ] {
        let (code, output, error) = discreet(&[&["explain"], arguments].concat());
        assert!(code == 78 && output.is_empty() && error.contains(words), "{arguments:?}: {error}");
    }
}

// Refutes an error that quotes a damaged line, and one that does not name the field.
#[test]
fn a_damaged_line_is_refused_by_its_field() {
    let text = fs::read_to_string(lines()).unwrap();
    let line = text.lines().nth(1).unwrap();
    for (old, new, words) in [
        (
            "\"confidence\":0.9",
            "\"confidence\":\"secret\"",
            "error: confidence: found another value; give a number\n",
        ),
        (
            "\"promise\":\"lifetime",
            "\"promise\":\"secret",
            "error: promise: found another text; give the promise",
        ),
        ("\"release\"", "\"secret\"", "error: release: found nothing; give a text\n"),
        ("}", "", "error: line: found no JSON from column "),
    ] {
        assert!(line.contains(old), "{old}");
        let (code, output, error) = discreet(&["explain", &line.replacen(old, new, 1)]);
        assert!(code == 78 && output.is_empty() && error.starts_with(words), "{new}: {error}");
        assert!(!error.contains("secret") && !error.contains("visitors"), "{error}");
    }
    let place = Directory::new("explain-damaged");
    fs::write(place.join("lines"), format!("{line}\nsecret\n")).unwrap();
    let path = place.join("lines");
    let (_, _, error) = discreet(&["explain", path.to_str().unwrap(), "--line", "2"]);
    assert!(
        error.contains("lines:2: line: found no JSON from column 1 on") && !error.contains("secret"),
        "{error}"
    );
}

// Refutes a job file that is read and adds nothing, and one of another job.
#[test]
fn a_job_file_adds_what_a_line_does_not_say() {
    let jobs = Jobs::new("explain", "quickstart.toml");
    let job = jobs.path("job.toml");
    let text = fs::read_to_string(lines()).unwrap();
    let (code, page, error) = discreet(&["explain", text.lines().nth(1).unwrap(), "--job", &job]);
    assert_eq!((code, error.as_str()), (0, ""));
    for words in [
        "statistic   By the job file: how many people of each key.",
        "person      One value of the field \"user\"; records without one are left out.",
        "bound       Of one person count at most, in a window: 6 keys.",
        "account     quickstart of the ledger ",
        "version     1 of job quickstart, as its file is now.",
    ] {
        assert!(page.contains(words), "{words}\n{page}");
    }
    assert!(!page.contains("unsaid") && page.contains("A key that has no"), "{page}");
    let (code, output, error) = discreet(&["explain", text.lines().nth(4).unwrap(), "--job", &job]);
    let words = "release: found a name that the job file has not; give the job file of the line; this one has \
                 visitors_by_page, visits, seconds_on_a_page";
    assert!(code == 78 && output.is_empty() && error.contains(words), "{error}");
    jobs.changed("job.toml", "version = 1", "version = 7");
    assert!(
        discreet(&["explain", text.lines().nth(1).unwrap(), "--job", &job])
            .1
            .contains("version     7 of job")
    );
}
