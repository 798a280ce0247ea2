//! Replays of windows that are not over: the log goes on, and what comes later would count nowhere.

use crate::jobs::{HEADER, SECOND, exact, line};
use crate::scene::{Printed, Scene, moment, now};

const HOUR: i64 = 3_600 * SECOND;

/// The hour that may end while a test runs is over in it: the present is taken to be in the next one.
struct Hours {
    /// The start of the hour of which the first record is.
    from: i64,
    /// The end of the last one.
    until: i64,
}

/// A job of hours, of which three are over and five are not.
fn scene(name: &str) -> (Scene, Hours) {
    let scene = Scene::new(name);
    let hour = now() / HOUR * HOUR;
    let hours = Hours { from: hour - 4 * HOUR, until: hour + 4 * HOUR };
    let records: String = (0..4).map(|hour| line(hour, hours.from + hour * HOUR + SECOND, "a")).collect();
    scene.write("visits.csv", HEADER.to_owned() + &records);
    scene.write("job.toml", job(hours.from, hours.until));
    scene.init();
    (scene, hours)
}

fn job(from: i64, until: i64) -> String {
    exact(from, Some(until)).replace("every = \"1s\"", "every = \"1h\"")
}

// Refutes a replay that releases a window which is not over without being asked to, one that charges or writes before
// it refuses, a remedy that is no remedy, and a refusal where nothing would be released for the first time.
#[test]
fn a_window_that_is_not_over_is_released_on_request_alone() {
    let (scene, Hours { from, until }) = scene("unfinished");
    let replay = ["replay", "job.toml", "--out", "releases.jsonl"];
    let said = scene.run(&replay);
    assert_eq!(said.code, Some(78), "{said:?}");
    // The hour that began last may have ended since.
    let open = [from + 4 * HOUR, from + 5 * HOUR].into_iter().find(|open| {
        said.err.contains(&format!(
            "the first, of visits_by_page, is from {} to {}",
            moment(*open),
            moment(open + HOUR)
        ))
    });
    let open = open.unwrap_or_else(|| panic!("{said:?}"));
    let windows = (until - open) / HOUR;
    assert!(
        said.err.starts_with(&format!("error: job.until: {windows} windows are not over at ")),
        "{said:?}"
    );
    assert!(said.err.contains("give --unfinished where no more records come"), "{said:?}");
    assert!(said.out.is_empty() && !scene.at("releases.jsonl").exists(), "{said:?}");
    assert_eq!(scene.charged("job.ledger").0, 0);
    for command in [&["check", "job.toml"][..], &["check", "job.toml", "--connect"], &["plan", "job.toml"]] {
        let page = scene.done(command).out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(page.contains(" windows are not over at ") && page.contains("is refused now: "), "{page}");
    }
    let line = scene.done(&["check", "job.toml", "--json"]).out;
    let line: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!(line["unfinished"]["release"], "visits_by_page", "{line}");
    // A demonstration charges nothing for good.
    scene.done(&["replay", "job.toml", "--demo"]);

    // The remedies of the message.
    scene.write("over.toml", job(from, open));
    let (_, pasted) = said.err.split_once("give until = \"").unwrap();
    assert!(pasted.starts_with(&moment(open)), "{said:?}");
    let over = scene.done(&["replay", "over.toml"]);
    assert_eq!(Printed::of(&over.out).0.len() as i64, (open - from) / HOUR);
    let page = scene.done(&["check", "over.toml", "--connect"]).out;
    assert!(!page.contains("is refused now"), "{page}");
    assert_eq!(scene.run(&replay).code, Some(78), "it has no row for the others");
    scene.done(&[&replay[..], &["--unfinished"]].concat());
    let released = scene.read("releases.jsonl");
    assert_eq!(Printed::of(&released).0.len() as i64, (until - from) / HOUR);
    // All windows have their rows, and nothing is lost by another replay.
    scene.done(&replay);
    assert_eq!(scene.read("releases.jsonl"), released);
    let page = scene.done(&["check", "job.toml", "--connect"]).out;
    assert!(!page.contains("is refused now"), "{page}");
    assert_eq!(scene.run(&["replay", "job.toml", "--demo", "--unfinished"]).code, Some(2));
    scene.verify("job.ledger");
}

// Refutes a question about a window that is not over which is answered for good without being asked to, and one about
// an earlier window that is refused.
#[test]
fn a_question_about_a_window_that_is_not_over_is_answered_on_request_alone() {
    let (scene, Hours { from, until }) = scene("unfinished-question");
    let (head, _) =
        job(from, until).split_once("[[release]]").map(|(head, rest)| (head.to_owned(), rest.len())).unwrap();
    let head = head.replace("epsilon = 480", "epsilon = 20, delta = 1e-5");
    let bundle = "[[ask]]\nname = \"study\"\nevery = \"1h\"\nfields = { page = \"text\" }\nbound = { per_key = 1 }\nanswers = 5\n\
                  questions = \"questions.jsonl\"\nshare = 1\n";
    scene.write("asked.toml", head.replace("job.ledger", "asked.ledger") + bundle);
    scene.done(&["ledger", "init", "asked.ledger", "--config", "asked.toml"]);
    let question =
        |at: &str| format!("{{\"id\":\"q1\",\"analyst\":\"ann\",\"ask\":\"count where all\"{at}}}\n");
    scene.write("questions.jsonl", question(""));
    let said = scene.run(&["replay", "asked.toml"]);
    let last = format!("that of study, from {} to {}", moment(until - HOUR), moment(until));
    assert!(said.code == Some(78) && said.err.contains(&last), "{said:?}");
    scene.write("questions.jsonl", question(&format!(",\"at\":\"{}\"", moment(from + 2 * HOUR))));
    let said = scene.done(&["replay", "asked.toml"]);
    assert!(said.out.contains("\"q1\""), "{said:?}");
}
