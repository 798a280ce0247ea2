//! Tests of a check of questions.

use crate::discreet;
use crate::reports::{asked, question};

// Refutes a check that is silent about questions without an answer, one that does not heed the answers of the ledger, and another
// reason than a replay has.
#[test]
fn a_check_names_questions_that_cannot_be_answered() {
    let (place, path) = asked("unanswerable-questions");
    let (job, file, out) = (path("job.toml"), path("questions.jsonl"), path("out.jsonl"));
    let text = std::fs::read_to_string(&job).unwrap();
    place.write(
        "job.toml",
        text.replace("answers = 100", "answers = 9\nanalysts = { ann = 3, ben = 2 }")
            .replace("{ key = \"text\" }", "{ key = \"text\", value = \"1 digit\" }"),
    );
    let by = |analyst: &str, line: &str| line.replace("\"ann\"", &format!("\"{analyst}\""));
    let mean = "mean of value in 0..100";
    let early = question("c2", "count").replace('}', ",\"at\":\"2026-01-01T11:00:00Z\"}");
    // Those of the first window have their answers first.
    let first = |line: &str| line.replace('}', ",\"at\":\"2026-01-01T12:00:00Z\"}");
    let lines = [
        by("carl", &question("c1", "count")),
        early,
        question("q1", mean),
        question("q2", mean),
        question("q3", "count"),
        first(&question("q4", "count")),
        by("ben", &question("q5", mean)),
        question("q1", mean),
    ];
    place.write("questions.jsonl", lines.concat());
    let checked = |options: &[&str]| {
        let (code, page, error) = discreet(&[&["check", &job], options].concat());
        assert_eq!(code, 0, "{error}");
        page.lines().filter(|line| line.contains(": question ")).map(str::to_owned).collect::<Vec<_>>()
    };
    let unserved = "question c1 of carl: analyst: found an analyst without a share of the bundle; give ";
    let unready = "question c2 of ann: at: found a time before the first window is over; give 2026-01-01T12:00:00Z or later";
    let spent = |line: u32, id: &str| {
        format!(
            "warning: {file}:{line}: question {id} of ann: found too few answers left of the 3 that ann has (a count takes one, a mean \
             two); leave it out, or raise ask[1].analysts, which is a new version once an answer was given"
        )
    };
    let expected = [
        format!("warning: {file}:1: {unserved}one of ask[1].analysts, such as ann"),
        format!("warning: {file}:2: {unready}"),
        spent(4, "q2"),
        spent(5, "q3"),
    ];
    for options in [&[][..], &["--connect"]] {
        assert_eq!(checked(options), expected);
    }
    let (code, _, error) = discreet(&["replay", &job, "--out", &out]);
    for words in
        [&format!("{unserved}an analyst who has one")[..], unready, "3 released, 2 questions not answered: "]
    {
        assert!(code == 0 && error.contains(words), "{words}: {error}");
    }
    // What has an answer takes none, and what was refused stays so.
    let asks = [
        question("q1", mean),
        question("q3", "count"),
        question("q6", "count"),
        by("ben", &question("q7", "count")),
    ];
    place.write("questions.jsonl", asks.concat());
    let found = checked(&["--connect"]);
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(
        found[0].contains(":2: question q3 of ann: id: found that of a question that was refused"),
        "{found:?}"
    );
    assert_eq!(found[1], spent(3, "q6"));
    assert!(
        found[2].contains(":4: question q7 of ben: found too few answers left of the 2 that ben has"),
        "{found:?}"
    );
    assert_eq!(checked(&[]), [spent(3, "q6")], "no ledger is read");
}

// Refutes a check that passes a replay which is refused for its questions, one that says nothing of a replay that asks none, and
// an edited question that a replay names and a check does not.
#[test]
fn a_check_says_what_a_replay_does_with_questions() {
    let (place, path) = asked("checked-questions");
    let (job, out) = (path("job.toml"), path("out.jsonl"));
    let checked = |options: &[&str]| {
        let (code, page, error) = discreet(&[&["check", &job], options].concat());
        assert_eq!(code, 0, "{error}");
        page
    };
    let refused = || discreet(&["replay", &job]).0 == 78;
    let missing = checked(&[]);
    assert!(
        missing.contains("found no such file: `discreet replay` is refused without it") && refused(),
        "{missing}"
    );
    place.write("questions.jsonl", "{}\n");
    let wrong = checked(&[]);
    assert!(wrong.contains("`discreet replay` is refused for such a line") && refused(), "{wrong}");
    place.write("questions.jsonl", question("one", "count") + &question("two", "count"));
    assert!(!checked(&["--connect"]).contains("is refused"));
    assert_eq!(discreet(&["replay", &job, "--out", &out]).0, 0);
    assert!(!checked(&["--connect", "--out", &out]).contains("another question"));
    place.write(
        "questions.jsonl",
        question("one", "count") + &question("two", "count where key = 'k1'").replace('\'', "\\\""),
    );
    let words = "questions.jsonl:2: id: found that of another question, count where all, which has its answer; give an id of its own";
    for options in [&["--connect"][..], &["--connect", "--out", &out]] {
        let page = checked(options);
        assert_eq!(page.matches(words).count(), 1, "{page}");
    }
    assert!(!checked(&[]).contains("another question"), "no ledger is read");
    let (code, _, error) = discreet(&["replay", &job, "--out", &out]);
    assert!(code == 0 && error.contains(words), "{error}");
    // A question about a window that is not over; and questions that come over HTTP alone.
    let text = std::fs::read_to_string(&job).unwrap();
    let csv = text
        .replace(
            "type = \"synthetic\"\npeople = 500\nrows = 3000\nkeys = 2\nseed = 3",
            "type = \"csv\"\npath = \"log.csv\"\ntime = { field = \"time\", format = \"unix\" }",
        )
        .replace("until = \"2026-01-02", "until = \"9000-01-02")
        .replace("every = \"12 hours\"", "every = \"all\"");
    place.write("log.csv", "user,time,key,value\n");
    place.write("job.toml", csv);
    let page = checked(&[]);
    assert!(
        page.contains("`discreet replay` is refused now: 1 window is not over")
            && page.contains("that of study"),
        "{page}"
    );
    assert!(refused());
    place.write("ann.token", "abcdefghijklmnop");
    place.write(
        "job.toml",
        text.replace("questions = \"questions.jsonl\"", "tokens = { ann = \"ann.token\" }")
            + "[watch]\nlisten = \"127.0.0.1:0\"\n",
    );
    let page = checked(&[]);
    let words =
        "study: its questions come over HTTP alone, to `discreet run`; `discreet replay` asks none of them\n";
    assert!(page.contains(words), "{page}");
    let (code, _, error) = discreet(&["replay", &job, "--out", "/dev/null"]);
    assert!(code == 0 && error.contains("0 released"), "{error}");
}
