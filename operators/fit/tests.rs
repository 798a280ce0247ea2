//! Tests of the fitter, on lines.

#![cfg(feature = "cli")]

use super::*;

/// A line of an hour.
fn line(release: &str, hour: usize, key: Option<&str>, value: f64, more: &str) -> String {
    let key = key.map_or(String::new(), |key| format!(",\"key\":\"{key}\""));
    format!(
        "{{\"release\":\"{release}\",\"window\":{}{key},\"value\":{value},\"interval\":[{},{}],\"confidence\":0.9,\
         \"noise\":{{\"kind\":\"gaussian\",\"scale\":10.0}},\"id\":\"{release}{hour}\",\"promise\":\"lifetime\"{more}}}\n",
        window(hour),
        value - 16.0,
        value + 16.0
    )
}

fn window(hour: usize) -> String {
    let at = |hour: usize| format!("2026-01-{:02}T{:02}:00:00Z", 1 + hour / 24, hour % 24);
    format!("{{\"start\":\"{}\",\"end\":\"{}\"}}", at(hour), at(hour + 1))
}

fn closed(release: &str, hour: usize) -> String {
    let window = window(hour);
    format!(
        "{{\"release\":\"{release}\",\"window\":{window},\"closed\":true,\"cells\":1,\"seq\":2,\"chain\":\"ab\"}}\n"
    )
}

/// Passes lines through a fitter, one after another: what has left after each, and the outcome.
fn passed(fits: &[(&str, Fit)], lines: &[String]) -> (Vec<String>, Result<Vec<FitSummary>, UnfitRelease>) {
    let mut fitter = Fitter::new(fits.iter().map(|(name, fit)| ((*name).to_owned(), *fit))).unwrap();
    let mut left = Vec::new();
    for line in lines {
        let mut out = Vec::new();
        if let Err(refused) = fitter.take(line.as_bytes(), &mut out) {
            return (left, Err(refused));
        }
        left.push(String::from_utf8(out).unwrap());
    }
    let mut out = Vec::new();
    let outcome = fitter.finish(&mut out);
    left.push(String::from_utf8(out).unwrap());
    (left, outcome)
}

/// The fitted value of a line; `None` if it has none.
fn fitted(line: &str) -> Option<f64> {
    let (_, after) = line.split_once("\"fitted\":")?;
    after.split(',').next()?.parse().ok()
}

fn error(fits: &[(&str, Fit)], lines: &[String]) -> String {
    passed(fits, lines).1.unwrap_err().to_string()
}

// Refutes a filter that waits, mixes series, or changes another line.
#[test]
fn a_filter_adds_to_each_line_as_it_comes() {
    let lines = [
        line("a", 0, Some("x"), 100.0, ""),
        line("a", 0, Some("y"), 500.0, ""),
        closed("a", 0),
        line("b", 0, None, 7.0, ""),
        "no line\r\n".to_owned(),
        line("a", 1, Some("x"), 130.0, ""),
        // Three windows later: a number may have moved further.
        line("a", 4, Some("y"), 530.0, ""),
    ];
    let (left, outcome) = passed(&[("a", Fit::Filter(10.0))], &lines);
    for place in [2, 3, 4] {
        assert_eq!(left[place], lines[place]);
    }
    let values: Vec<Option<f64>> = left.iter().map(|line| fitted(line)).collect();
    // A gain of (100 + 100) / (100 + 100 + 100), and of (100 + 400) / (100 + 400 + 100).
    assert_eq!(values, [Some(100.0), Some(500.0), None, None, None, Some(120.0), Some(525.0), None]);
    assert!(left[5].ends_with(",\"fitted\":120,\"fitted_by\":\"filter\"}\n"), "{}", left[5]);
    assert!(left[5].starts_with(lines[5].trim_end_matches("}\n")));
    let summary = outcome.unwrap().remove(0);
    assert_eq!((summary.lines, summary.fitted), (4, 4));
    // 900 and 900 of squared differences, without 200 of noise each, over five windows.
    assert_eq!(summary.movement, Some((1400.0_f64 / 5.0).sqrt()));
}

// Refutes a window that is fitted before it is whole, lines that change their order, and keys of two levels that are drawn
// together.
#[test]
fn keys_wait_for_the_end_of_their_window() {
    let values = [100.0, 140.0, 120.0, 160.0];
    let mut lines: Vec<String> = values
        .iter()
        .enumerate()
        .map(|(key, value)| line("a", 0, Some(&key.to_string()), *value, ""))
        .collect();
    lines.push(line("b", 0, None, 7.0, ""));
    lines.push(line("a", 0, Some("all"), 9000.0, ",\"rollup\":true"));
    lines.push(closed("a", 0));
    lines.extend((0..4).map(|key| line("a", 1, Some(&key.to_string()), f64::from(key), "")));
    let (left, outcome) = passed(&[("a", Fit::Shrink)], &lines);
    assert!(left[..6].iter().chain(&left[7..11]).all(String::is_empty));
    let together: Vec<&str> = left[6].split_inclusive('\n').collect();
    assert_eq!(together.len(), 7);
    // The mean is 130, and the squares sum to 2000: of each distance 1 - 100 / 2000 stays.
    let values: Vec<Option<f64>> = together.iter().map(|line| fitted(line)).collect();
    let expected = [102, 140, 121, 159].map(|value| Some(f64::from(value)));
    assert_eq!(values[..4].iter().map(|value| value.map(f64::round)).collect::<Vec<_>>(), expected);
    assert_eq!((together[4], together[5], together[6]), (&*lines[4], &*lines[5], &*lines[6]));
    // A window that was not closed leaves as it is.
    assert_eq!(left[11], lines[7..].concat());
    assert_eq!(outcome.unwrap()[0].fitted, 4);
}

// Refutes a value of a series that is fitted before its end, and a total that falls or is below zero.
#[test]
fn a_whole_series_waits_for_the_end_of_the_input() {
    let total = ",\"total\":\"so far\"";
    let lines: Vec<String> = [-8.0, 40.0, 90.0, 50.0, 120.0]
        .iter()
        .enumerate()
        .map(|(hour, value)| line("a", hour, None, *value, total))
        .collect();
    let (left, _) = passed(&[("a", Fit::Monotone)], &lines);
    assert!(left[..5].iter().all(String::is_empty));
    let values: Vec<Option<f64>> = left[5].lines().map(fitted).collect();
    assert_eq!(values, [0.0, 40.0, 70.0, 70.0, 120.0].map(Some));
    assert!(left[5].contains("\"fitted\":0,"), "{}", left[5]);

    let lines: Vec<String> =
        [100.0, 130.0].iter().enumerate().map(|(hour, value)| line("a", hour, None, *value, "")).collect();
    let (left, _) = passed(&[("a", Fit::Smooth(10.0))], &lines);
    let values: Vec<Option<f64>> = left[2].lines().map(fitted).collect();
    assert_eq!(values, [Some(110.0), Some(120.0)]);
}

// Refutes a line that counts twice because it was delivered again, and one of another version that takes its place.
#[test]
fn a_line_that_comes_again_has_the_same_fitted_value() {
    let again = line("a", 1, None, 130.0, "");
    let lines = [
        line("a", 0, None, 100.0, ""),
        again.clone(),
        again.clone(),
        line("a", 0, None, 100.0, ""),
        again.replace("\"id\":\"a1\"", "\"id\":\"other\""),
        line("a", 2, None, 130.0, ""),
    ];
    let (left, _) = passed(&[("a", Fit::Filter(10.0))], &lines);
    let values: Vec<Option<f64>> = left.iter().map(|line| fitted(line)).collect();
    assert_eq!(values, [Some(100.0), Some(120.0), Some(120.0), None, None, Some(126.0), None]);
    let (left, _) = passed(&[("a", Fit::Smooth(10.0))], &lines);
    let values: Vec<Option<f64>> = left[6].lines().map(fitted).collect();
    assert_eq!((values[1], values[3], values[4]), (values[2], None, None));

    let keys: Vec<String> =
        (0..5).map(|key| line("a", 0, Some(&key.to_string()), 100.0 + 30.0 * key as f64, "")).collect();
    let once = passed(&[("a", Fit::Shrink)], &[&keys[..], &[closed("a", 0)]].concat()).0.concat();
    let twice =
        passed(&[("a", Fit::Shrink)], &[&keys[..2], &keys[..], &[closed("a", 0)]].concat()).0.concat();
    assert_eq!(twice.lines().skip(2).collect::<Vec<_>>(), once.lines().collect::<Vec<_>>());
}

// Refutes a release that is fitted by noise that is not stated so, and a refusal without the option, the reason and the remedy.
#[test]
fn lines_that_cannot_be_fitted_are_refused_at_the_first() {
    let single = line("a", 0, None, 100.0, "");
    let total = line("a", 0, None, 100.0, ",\"total\":\"so far\"");
    let quantile = single.replace("\"value\"", "\"q\":0.5,\"value\"");
    let unknown = single.replace("gaussian", "geometric");
    let before = line("a", 0, None, 100.0, ",\"fitted\":100,\"fitted_by\":\"filter\"");
    let walk = Fit::Filter(10.0);
    for (fit, line, words) in [
        (walk, &total, "filter: a: found totals of several windows, which share their noise; give "),
        (Fit::Smooth(1.0), &total, "smooth: a: found totals"),
        (Fit::Monotone, &single, "monotone: a: found numbers that may fall; give a release of totals so far"),
        (Fit::Shrink, &single, "shrink: a: found numbers without a key; give a release with keys"),
        (walk, &quantile, "filter: a: found values that are chosen by their rank"),
        (walk, &unknown, "filter: a: found noise of which the lines state no deviation; give "),
        (
            walk,
            &before,
            "filter: a: found lines that have a fitted value; give the lines as they were released",
        ),
    ] {
        let said = error(&[("a", fit)], std::slice::from_ref(line));
        assert!(said.starts_with(words), "{said}");
    }
    let other = error(&[("a", walk)], &[line("b", 0, None, 1.0, ""), line("c", 0, None, 1.0, "")]);
    assert_eq!(
        other,
        "filter: a: found no number of this release, but lines of b, c; give a release of the input"
    );
    assert!(error(&[("a", walk)], &["release,value\n".to_owned()]).contains("a table (CSV) has none"));
    let few = [line("a", 0, Some("x"), 1.0, ""), closed("a", 0)];
    assert!(
        error(&[("a", Fit::Shrink)], &few)
            .contains("no closed window of four keys or more; give a release with more")
    );
    // Later ones pass: the lines of a run go on.
    let (left, _) = passed(&[("a", walk)], &[single, quantile.clone()]);
    assert_eq!(left[1], quantile);
    assert!(Fitter::new([("a".to_owned(), walk), ("a".to_owned(), Fit::Shrink)]).is_err());
    let refused = Fitter::new([("a".to_owned(), Fit::Smooth(0.0))]).unwrap_err();
    assert!(refused.to_string().starts_with("smooth: "), "{refused}");
}

// Refutes a mean that is weighed without its interval, and Laplace noise that is taken for Gaussian.
#[test]
fn the_variance_is_that_of_the_line() {
    let several = r#""noise":[{"number":"sum","kind":"gaussian","scale":3.0},{"number":"records","kind":"gaussian","scale":1.0}]"#;
    let one = r#""noise":{"kind":"gaussian","scale":10.0}"#;
    let lines: Vec<String> =
        [(0, 100.0), (1, 130.0)].iter().map(|(hour, value)| line("a", *hour, None, *value, "")).collect();
    let last = |lines: &[String]| fitted(&passed(&[("a", Fit::Filter(10.0))], lines).0[1]).unwrap();
    assert_eq!(last(&lines), 120.0);
    let laplace: Vec<String> = lines.iter().map(|line| line.replace("gaussian", "laplace")).collect();
    // (200 + 100) / (200 + 100 + 200) of 30.
    assert_eq!(last(&laplace), 118.0);
    // A deviation of 32 / 1.645 on the longer side: (378.4 + 100) / (378.4 + 100 + 378.4) of 30.
    let means: Vec<String> = lines.iter().map(|line| line.replace(one, several)).collect();
    let means = [means[0].replace("[84,116]", "[68,116]"), means[1].replace("[114,146]", "[129,162]")];
    assert_eq!(last(&means), 117.0);
    let open = [means[0].clone(), means[1].replace("[129,162]", "[null,162]")];
    assert_eq!(fitted(&passed(&[("a", Fit::Filter(10.0))], &open).0[1]), None);
}

// Refutes errors that are measured beside another number, or without a root or a mean.
#[test]
fn errors_of_a_demonstration_are_measured() {
    let exact = |tally: u32, truth: u32| format!(",\"demo\":true,\"tally\":{tally},\"truth\":{truth}");
    let lines = [line("a", 0, None, 100.0, &exact(104, 110)), line("a", 1, None, 130.0, &exact(117, 120))];
    let summary = passed(&[("a", Fit::Filter(10.0))], &lines).1.unwrap().remove(0);
    let root = |first: f64, second: f64| (f64::midpoint(first * first, second * second)).sqrt();
    assert_eq!(summary.tally, Some(MeasuredError { value: root(4.0, 13.0), fitted: root(4.0, 3.0) }));
    assert_eq!(summary.truth, Some(MeasuredError { value: root(10.0, 10.0), fitted: root(10.0, 0.0) }));
    assert_eq!(summary.lag(), Some("a: the values move by about 26.46 from one window to the next, which is far more than 10: the fitted ones lag behind; give a larger deviation".to_owned()));
    assert_eq!(FitSummary { movement: Some(19.9), ..summary.clone() }.lag(), None);
    let said = summary.to_string();
    for words in [
        "a: 2 of 2 values have a fitted one, by filter with a deviation of 10\n",
        "a: the values move by about 26.46 from one window to the next, beyond their noise\n",
        "a: off from the tally by 9.618 as released and by 3.536 as fitted, 0.3676 times it (root mean square)\n",
    ] {
        assert!(said.contains(words), "{said}");
    }
}

// Refutes a part of a long line that is read as a line, and a line behind it that is not.
#[test]
fn a_part_of_a_long_line_passes_as_it_is() {
    let mut fitter = Fitter::new([("a".to_owned(), Fit::Filter(1.0))]).unwrap();
    let mut out = Vec::new();
    let released = line("a", 1, None, 7.0, "");
    for part in [b"xxxx".as_slice(), released.as_bytes(), released.as_bytes()] {
        fitter.take(part, &mut out).unwrap();
    }
    let text = String::from_utf8(out).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], format!("xxxx{}", released.trim_end()));
    assert!(fitted(lines[1]).is_some(), "{}", lines[1]);
}
