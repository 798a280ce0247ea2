//! The oracle: what was released, window by window, beside what was written.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::SECOND;
use crate::writer::Truth;

/// The distance, in deviations of the stated noise, beyond which a number is wrong: a Gaussian is farther with
/// probability below 2 e^(-z z / 2) = 2e-11, which over 25,000 numbers of an hour is below 1e-6.
const FAR: f64 = 7.1;

const RELEASES: [&str; 4] = ["pages", "people", "cents", "so_far"];

/// The outcome of a soak.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    pub(crate) right: usize,
    /// Windows of which the writer does not know if all of its lines came in time.
    pub(crate) unsure: usize,
    pub(crate) skipped: usize,
    pub(crate) refused: usize,
    pub(crate) wrong: Vec<String>,
}

/// A window of a release as it was printed.
#[derive(Default)]
struct Window {
    cells: BTreeMap<String, (f64, f64)>,
    closed: usize,
    skipped: Option<String>,
    refused: bool,
}

/// Compares what was printed with the exact numbers of the windows from `from` on, in seconds.
pub(crate) fn judged(text: &str, truth: &[Truth], from: i64) -> Verdict {
    let mut verdict = Verdict::default();
    let mut windows: BTreeMap<(String, i64), Window> = BTreeMap::new();
    if !text.is_empty() && !text.ends_with('\n') {
        verdict.wrong.push("a torn line at the end".to_owned());
    }
    for line in text.lines() {
        let Ok(read) = serde_json::from_str::<Value>(line) else {
            verdict.wrong.push(format!("no line of JSON: {line}"));
            continue;
        };
        let start = read["window"]["start"].as_str().and_then(|start| start.parse::<jiff::Timestamp>().ok());
        let start = start.map_or(i64::MIN, |start| start.as_microsecond() / SECOND);
        let release = read["release"].as_str().unwrap_or_default().to_owned();
        let window = windows.entry((release, start)).or_default();
        if read["closed"] == true {
            window.closed += 1;
        } else if read["skipped"] == true {
            window.closed += 1;
            window.skipped = Some(read["why"].as_str().unwrap_or("late").to_owned());
        } else if read.get("refused").is_some() {
            window.closed += 1;
            window.refused = true;
        } else {
            let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
            let key = read["key"].as_str().unwrap_or_default().to_owned();
            let cell = (number(&read["value"]), number(&read["noise"]["scale"]));
            if window.cells.insert(key, cell).is_some() {
                verdict.wrong.push(format!("a key twice: {line}"));
            }
        }
    }
    let (mut so_far, mut unsure_so_far) = (0, false);
    for (number, truth) in truth.iter().enumerate() {
        let start = from + number as i64;
        for release in RELEASES {
            let place = format!("{release}, window {number}");
            let Some(window) = windows.remove(&(release.to_owned(), start)) else {
                verdict.wrong.push(format!("{place}: missing"));
                continue;
            };
            if window.closed != 1 {
                verdict.wrong.push(format!("{place}: released {} times", window.closed));
            } else if let Some(why) = &window.skipped {
                if why != "input gap" || !window.cells.is_empty() {
                    verdict.wrong.push(format!("{place}: skipped, {why}"));
                }
                verdict.skipped += 1;
            } else if window.refused {
                verdict.refused += 1;
            } else {
                if release == "so_far" {
                    so_far += truth.lines;
                    unsure_so_far |= truth.is_unsure;
                }
                let is_unsure = if release == "so_far" { unsure_so_far } else { truth.is_unsure };
                match compared(&window, &due(release, truth, so_far), is_unsure) {
                    None if is_unsure => verdict.unsure += 1,
                    None => verdict.right += 1,
                    Some(wrong) => verdict.wrong.push(format!("{place}: {wrong}")),
                }
            }
        }
    }
    for (release, start) in windows.into_keys() {
        verdict.wrong.push(format!("{release}: a window that there is not, {start}"));
    }
    verdict
}

/// The numbers of a release that are due, by key.
fn due(release: &str, truth: &Truth, so_far: i64) -> BTreeMap<String, i64> {
    match release {
        "pages" => ["a", "b", "c", "d"].iter().map(|key| (*key).to_owned()).zip(truth.pages).collect(),
        "people" => BTreeMap::from([(String::new(), truth.people)]),
        "cents" => BTreeMap::from([(String::new(), truth.cents)]),
        _ => BTreeMap::from([(String::new(), so_far)]),
    }
}

/// The fault of a window, if there is one. Of an unsure window lines may be missing, and none may be too many.
fn compared(window: &Window, due: &BTreeMap<String, i64>, is_unsure: bool) -> Option<String> {
    if !window.cells.keys().eq(due.keys()) {
        return Some(format!("keys {:?}", window.cells.keys()));
    }
    window.cells.iter().zip(due.values()).find_map(|((key, (value, scale)), due)| {
        let due = *due as f64;
        let near = FAR * scale + 1.0;
        let fits = (value - due).abs() <= near || is_unsure && *value < due;
        // A number that is none fits nowhere.
        (!fits).then(|| format!("{key} {value}, and {due} is due, give or take {near:.0}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn truth() -> Truth {
        Truth { lines: 900, pages: [400, 300, 200, 0], people: 500, cents: 3_000, is_unsure: false }
    }

    fn lines(window: i64, release: &str, cells: &[(&str, f64)]) -> String {
        let about = format!(
            "\"release\":\"{release}\",\"window\":{{\"start\":\"{}\"}}",
            jiff::Timestamp::from_second(window).unwrap()
        );
        let cells = cells.iter().map(|(key, value)| {
            format!("{{{about},\"key\":\"{key}\",\"value\":{value},\"noise\":{{\"scale\":2}}}}\n")
        });
        cells.collect::<String>() + &format!("{{{about},\"closed\":true}}\n")
    }

    fn window(number: i64, so_far: f64) -> String {
        [
            lines(number, "pages", &[("a", 401.0), ("b", 298.0), ("c", 200.0), ("d", 3.0)]),
            lines(number, "people", &[("", 500.0)]),
            lines(number, "cents", &[("", 3_010.0)]),
            lines(number, "so_far", &[("", so_far)]),
        ]
        .concat()
    }

    // Refutes an oracle that would let a fault pass: each is tried.
    #[test]
    fn a_wrong_window_is_found() {
        let (truth, good) = ([truth(), truth()], window(10, 900.0) + &window(11, 1_801.0));
        let wrong = |text: &str| judged(text, &truth, 10).wrong;
        let verdict = judged(&good, &truth, 10);
        assert_eq!((verdict.right, verdict.wrong.len()), (8, 0), "{verdict:?}");
        let gap = |why: &str| {
            let people = lines(11, "people", &[("", 500.0)]);
            let start = jiff::Timestamp::from_second(11).unwrap();
            let skipped = format!(
                "{{\"release\":\"people\",\"window\":{{\"start\":\"{start}\"}},\"skipped\":true,\"why\":\"{why}\"}}\n"
            );
            good.replace(&people, &skipped)
        };
        assert_eq!(judged(&gap("input gap"), &truth, 10).skipped, 1);
        assert!(wrong(&gap("input gap")).is_empty());
        for bad in [
            gap("late"),
            good.replace("\"value\":298", "\"value\":250"),
            good.replace("1801", "2701"),
            good.replace("\"value\":500", "\"value\":null"),
            window(10, 900.0),
            good.clone() + &window(12, 2_700.0),
            good.clone() + &lines(10, "people", &[("", 500.0)]),
            good.replace("\"key\":\"d\"", "\"key\":\"e\""),
            good[..good.len() - 1].to_owned(),
        ] {
            assert!(!wrong(&bad).is_empty(), "{bad}");
        }
        // Lines may be missing of an unsure window; none may be too many.
        let unsure = [Truth { is_unsure: true, ..truth[0].clone() }, truth[1].clone()];
        let fewer = good.replace("\"value\":298", "\"value\":250");
        assert!(!judged(&fewer, &unsure, 10).wrong.is_empty(), "the second window is sure");
        let first = window(10, 900.0).replace("\"value\":298", "\"value\":250") + &window(11, 1_801.0);
        assert!(judged(&first, &unsure, 10).wrong.is_empty());
        assert!(!judged(&first.replace("\"value\":401", "\"value\":451"), &unsure, 10).wrong.is_empty());
    }
}
