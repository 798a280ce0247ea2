//! Answers to questions: each with its text, beside those that can be compared with it.

use super::pictures::between;
use super::samples::*;
use crate::picture::Dates;
use crate::time::Zone;
use crate::watch::report::{Heading, Report};

const DAY: &str = r#"{"start":"2026-01-01T00:00:00Z","end":"2026-01-02T00:00:00Z"}"#;

/// The line of an answer of `[id, analyst, question]` about a day, with the number of its noises and the demonstration's
/// exact number.
fn answer(
    [id, analyst, asked]: [&str; 3],
    day: u32,
    value: Option<[f64; 3]>,
    noises: usize,
    exact: &str,
) -> String {
    let text = |text: &str| serde_json::to_string(text).unwrap();
    let version = DAY.replace("-01T", &format!("-{day:02}T")).replace("-02T", &format!("-{:02}T", day + 1));
    let version = if day == 1 { DAY.to_owned() } else { version };
    let noise = r#"{"kind":"bounded","shape":"polynomial:4","bound":752.7,"scale":226.8}"#;
    let number = match value {
        Some([value, low, high]) => format!(
            "\"value\":{value},\"interval\":[{low},{high}],\"confidence\":1,\"noise\":[{}]",
            vec![noise; noises].join(",")
        ),
        None => "\"refused\":\"bundle\"".to_owned(),
    };
    let window = r#"{"start":"2026-01-01T00:00:00Z","end":"2026-01-09T00:00:00Z"}"#;
    let (id, analyst, asked) = (text(id), text(analyst), text(asked));
    format!(
        "{{\"release\":\"study\",\"window\":{window},\"part\":\"5f\",\"question\":{id},\"analyst\":{analyst},\
         \"at\":\"2026-01-07T09:00:00Z\",\"asked\":{asked},\"version\":{version},{number},\"used\":3,\"left\":1997,\
         \"id\":{id},\"promise\":\"lifetime, a person, epsilon 2, delta 0.000001\"{exact}}}"
    )
}

fn report(demo: bool, lines: &[String]) -> Report {
    let mut report = Report::new(heading(demo));
    lines.iter().for_each(|line| report.add(line, None));
    report
}

fn studied() -> Report {
    let some = |value: f64| Some([value, value - 50.0, value + 60.0]);
    report(
        false,
        &[
            answer(["q1", "ann", "count where age >= 18"], 1, some(100.0), 1, ""),
            answer(["q2", "ann", "mean of age in 0..100 where all"], 1, Some([48.5, 13.25, 83.5]), 2, ""),
            answer(["q3", "ben", "count where all"], 1, some(1000.0), 1, ""),
            answer(["q4", "ann", "count where age >= 18"], 4, some(400.0), 1, ""),
            answer(["q5", "ann", "count where country = \"DE\""], 1, some(200.0), 1, ""),
            answer(["q6", "ben", "count where all"], 2, None, 1, ""),
            // A window that leaves again, as in a second replay.
            answer(["q1", "ann", "count where age >= 18"], 1, some(100.0), 1, ""),
        ],
    )
}

// Refutes an answer without its question, under another analyst or twice, one that says another price, and a refusal that looks
// like an answer.
#[test]
fn an_answer_has_its_question_interval_and_price() {
    let html = studied().html();
    let [ann, ben] = [("<h3>ann</h3>", "<h3>ben</h3>"), ("<h3>ben</h3>", "</section>")]
        .map(|(from, to)| between(&html, from, to)[0]);
    for (part, words) in [
        (
            &html[..],
            "<p class=\"sub\">5 answers and 1 question that the bundle had no answer left for, of 2 analysts</p>",
        ),
        (
            &html,
            "All answers of the bundle together cost epsilon 2, delta 0.000001, paid once, with the first. A count takes one",
        ),
        (ann, "<td>q1</td><td>count where age &gt;= 18</td>"),
        (
            ann,
            "<td class=\"number\">100</td><td class=\"number\">50</td><td class=\"number\">160</td><td class=\"number\">1</td><td class=\"number\">1,997</td>",
        ),
        (
            ann,
            "<td class=\"number\">49</td><td class=\"number\">13</td><td class=\"number\">84</td><td class=\"number\">2</td>",
        ),
        (ben, "<td>q6</td><td>count where all</td>"),
        (
            ben,
            "<td class=\"number\">not answered</td><td class=\"number\"></td><td class=\"number\"></td><td class=\"number\">0</td>",
        ),
        (ben, "One that is not answered took nothing"),
    ] {
        assert_eq!(part.matches(words).count(), 1, "{words}: {part}");
    }
    assert!(ann.contains("2026-01-07T09:00:00Z") && !ann.contains("not answered"), "{ann}");
}

// Refutes a picture of answers that cannot be compared, one that is not its number or interval, and bars of one name.
#[test]
fn answers_of_one_unit_are_drawn_together() {
    let report = studied();
    let (charts, svg) = (report.model.releases[0].answers.charts(&Dates::utc()), report.svg());
    let [(analyst, charts)] = &charts[..] else { panic!("a single answer of ben is not drawn") };
    assert_eq!((*analyst, charts.len(), charts[0].title.as_str()), ("ann", 1, "Counts of records"));
    let picture = charts[0].draw(700.0, false).body;
    let names = between(&picture, "<text class=\"label end\"", "</text>");
    let names: Vec<&str> = names.iter().map(|text| text.split_once('>').unwrap().1).collect();
    assert_eq!(names, ["2026-01-01: age &gt;= 18", "2026-01-04: age &gt;= 18", "country = &quot;DE&quot;"]);
    let number = |text: &str, name: &str| between(text, name, "\"")[0].parse::<f64>().unwrap();
    let bars: Vec<f64> =
        between(&picture, "<rect class=\"bar\"", "/>").iter().map(|bar| number(bar, "width=\"")).collect();
    let unit = bars[0] / 100.0;
    assert!((bars[1] - 400.0 * unit).abs() < 0.03 && (bars[2] - 200.0 * unit).abs() < 0.03, "{bars:?}");
    for whisker in between(&picture, "<line class=\"reach\"", "/>").iter().step_by(3) {
        assert!(
            (number(whisker, "x2=\"") - number(whisker, "x1=\"") - 110.0 * unit).abs() < 0.03,
            "{whisker}"
        );
    }
    assert!(svg.contains(">ann: Counts of records</text>") && report.left_out_of_svg().is_empty(), "{svg}");
}

// Refutes an id, an analyst or a question that becomes a part of the page or of the picture, and a field whose name splits the
// text of its question.
#[test]
fn no_text_of_a_question_ends_its_element() {
    let hostile = "</svg><script>alert(1)</script>\u{202e}";
    let asked = format!("mean of `a where {hostile}` in 0..1 where b = \"{hostile}\"");
    let lines: Vec<String> = (0..3)
        .map(|at| {
            answer(
                [&format!("{at}{hostile}"), hostile, &asked],
                1,
                Some([0.5, 0.0, 1.0]),
                2,
                ",\"demo\":true,\"tally\":0.4",
            )
        })
        .collect();
    let report = report(true, &lines);
    for text in [report.html(), report.svg()] {
        assert!(!text.contains("<script") && !text.contains('\u{202e}'), "{text}");
        assert_eq!(text.matches("<svg").count(), text.matches("</svg>").count());
        assert!(text.contains("Mean of `a where &lt;/svg&gt;") && text.contains("DEMO"), "{text}");
    }
    assert!(super::is_well_formed(&report.svg()));
    assert!(report.html().contains("<td class=\"number\">0.4</td>"));
}

// Refutes a window of a local day under its date in UTC, one whose zone is not said, and UTC that programs cannot read.
#[test]
fn local_days_have_their_dates() {
    let zone = Some(Zone::named("Europe/Berlin").unwrap());
    let mut report = Report::new(Heading { zone, ..heading(false) });
    for day in ["2026-01-31", "2026-02-01"] {
        let day = crate::time::at(&format!("{day}T23:00:00Z")).unwrap();
        let span = crate::accounting::Interval::new(day, day + 86_400_000_000).unwrap();
        let cell = Cell { key: None, value: "9".into(), reach: ["1".into(), "19".into()], exact: None };
        report.add(&line_of("visits", span, &[cell], GAUSSIAN), None);
    }
    report.add(&answer(["q1", "ann", "count where all"], 1, Some([7.0, 0.0, 9.0]), 1, ""), None);
    let html = report.html();
    for words in [
        "<dt>Dates</dt><dd>of Europe/Berlin; axes and lines are in UTC</dd>",
        "2 windows: <time datetime=\"2026-01-31T23:00:00Z\">2026-02-01</time> to <time datetime=\"2026-02-02T23:00:00Z\">2026-02-03</time>, \
         Europe/Berlin",
        "<td><time datetime=\"2026-02-01T23:00:00Z\">2026-02-02</time></td><td><time datetime=\"2026-02-02T23:00:00Z\">2026-02-03</time></td>",
        "<td><time datetime=\"2026-01-07T09:00:00Z\">2026-01-07 10:00 +01:00</time></td>",
    ] {
        assert!(html.contains(words), "{words}: {html}");
    }
    assert!(!Report::new(heading(false)).html().contains("<dt>Dates</dt>"));
}

// Refutes a live page that grows with every answer, and answers that are left out without a word.
#[test]
fn the_newest_answers_are_kept_on_a_live_page() {
    let mut report = Report::of_newest(heading(false), 40);
    for at in 0..50 {
        let id = format!("q{at}");
        report.add(&answer([&id, "ann", "count where all"], 1, Some([7.0, 0.0, 9.0]), 1, ""), None);
    }
    let html = report.html();
    assert!(!html.contains("<td>q9</td>") && html.contains("<td>q10</td>") && html.contains("<td>q49</td>"));
    for words in [
        "10 older ones are in the file of releases.",
        "10 earlier answers are not drawn.",
        "50 answers to questions",
    ] {
        assert!(html.contains(words), "{words}: {html}");
    }
}
