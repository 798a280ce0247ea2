//! Chosen numbers against every bound and many shares, each evaluated by plain code from the lines of a log
//! and the page of the plan of a whole job file.

#![allow(clippy::unwrap_used)]
use std::path::Path;

use super::*;
use crate::job::log_shape::StatedLog;
use crate::job::log_shape::tests::{Line, Plain, job, log, plain_cells, shape, text};
use crate::job::plan::PlannedKeys;

/// A release in plain code: its statistic as the job file has it, and what it counts.
#[derive(Clone, Copy)]
struct PlainRelease {
    statistic: &'static str,
    plain: Plain,
    has_records: bool,
    keys: u64,
    windows: usize,
}

/// Statistics such as those of config/reviews.toml and config/retail.toml.
const LIKE_REVIEWS: [PlainRelease; 3] = [
    PlainRelease {
        statistic: "count = { by = \"page\", keys = \"discover\" }",
        plain: Plain::Records,
        has_records: true,
        keys: 4,
        windows: 3,
    },
    PlainRelease {
        statistic: "mean = { of = \"price\", range = [0, 20], by = \"page\", keys = [\"a\", \"b\", \"c\"] }",
        plain: Plain::Mean(0, 2000),
        has_records: true,
        keys: 3,
        windows: 3,
    },
    PlainRelease {
        statistic: "people = { by = \"page\", keys = [\"a\", \"b\", \"c\", \"d\"] }",
        plain: Plain::People,
        has_records: false,
        keys: 4,
        windows: 3,
    },
];
const LIKE_RETAIL: [PlainRelease; 3] = [
    PlainRelease {
        statistic: "sum = { of = \"price\", range = [-2, 20], by = \"page\", keys = [\"a\", \"b\", \"c\"] }",
        plain: Plain::Sum(-200, 2000),
        has_records: false,
        keys: 3,
        windows: 4,
    },
    PlainRelease {
        statistic: "count = { by = \"page\", keys = [\"a\", \"b\", \"c\", \"d\"] }",
        plain: Plain::Records,
        has_records: true,
        keys: 4,
        windows: 4,
    },
    PlainRelease {
        statistic: "people = { by = \"page\", keys = \"discover\" }",
        plain: Plain::People,
        has_records: false,
        keys: 4,
        windows: 4,
    },
];

/// The numbers of a release: keys, records of a key, and hundredths of the budget.
type Numbers = (u32, u32, u32);

fn written(releases: &[PlainRelease], numbers: &[Numbers]) -> Job {
    let one = |(at, (release, (keys, per_key, share))): (usize, (&PlainRelease, &Numbers))| {
        let per_key = if release.has_records { format!(", per_key = {per_key}") } else { String::new() };
        format!(
            "[[release]]\nname = \"r{at}\"\nevery = \"6h\"\n{}\nbound = {{ keys = {keys}{per_key}, windows = {} }}\n\
             noise = \"gaussian\"\nshare = 0.{share:02}\n",
            release.statistic, release.windows
        )
    };
    job(&releases.iter().zip(numbers).enumerate().map(one).collect::<String>())
}

/// The error of the release with this index, from its definition.
fn plain_error(job: &Job, log: &[Line], release: PlainRelease, of: (usize, Numbers)) -> f64 {
    plain_error_and_unfound(job, log, release, of).0
}

/// The same, with the number of cells whose key is not found.
fn plain_error_and_unfound(
    job: &Job,
    log: &[Line],
    release: PlainRelease,
    (at, numbers): (usize, Numbers),
) -> (f64, usize) {
    let planned = &job.plan().unwrap().releases[at];
    let intervals: Vec<f64> = planned.noise.iter().map(|noise| noise.interval).collect();
    let threshold = match planned.keys {
        PlannedKeys::Discovered { threshold, .. } => threshold as f64,
        _ => 0.0,
    };
    let bound = (numbers.0 as usize, numbers.1 as usize, release.windows);
    let (mut error, mut weights, mut found, mut unfound) = (0.0, 0.0, None, 0);
    for ((page, _), (truth, kept)) in plain_cells(log, (release.keys, release.plain), bound) {
        if kept[0] >= threshold {
            found = Some(page);
        }
        let (weight, own) = match release.plain {
            Plain::People => (truth[0], ((truth[0] - kept[0]).abs() + intervals[0]) / truth[0]),
            Plain::Records => (truth[1], ((truth[1] - kept[1]).abs() + intervals[0]) / truth[1]),
            Plain::Sum(..) if truth[2] == 0.0 => (0.0, 0.0),
            Plain::Sum(..) => {
                let size = truth[2].abs();
                (size, ((truth[2] - kept[2]).abs() + 100.0 * intervals[0]) / size)
            }
            Plain::Mean(..) if kept[1] == 0.0 => (truth[1], 1.0),
            Plain::Mean(low, high) => {
                let (width, middle) = (usual_width(log, release.keys), (high + low) as f64 / 2.0);
                let (truly, mean) = (truth[2] / truth[1], kept[2] / kept[1]);
                // One in ten of normal errors that were stated with one in twenty beyond each.
                let reach = f64::hypot(100.0 * intervals[0], intervals[1] * (mean - middle));
                let noise = reach * 1.644_853_6 / 1.959_964 / kept[1];
                let size = truly.abs().max(width / 10.0).min(width);
                (truth[1], ((truly - mean).abs() + noise) / size)
            }
        };
        weights += weight;
        unfound += usize::from(found != Some(page));
        error += weight * if found == Some(page) { own.min(1.0) } else { 1.0 };
    }
    (error / weights, unfound)
}

/// The width that 98 of 100 values keep within.
fn usual_width(log: &[Line], keys: u64) -> f64 {
    let counts = |line: &&Line| line.who > 0 && line.page < keys;
    let mut values: Vec<i64> = log.iter().filter(counts).filter_map(|line| line.cents).collect();
    values.sort_unstable();
    let at = |part: f64| values[(part * (values.len() - 1) as f64).ceil() as usize];
    (at(0.99) - at(0.01)) as f64
}

fn numbers(choice: &TunedChoice) -> Numbers {
    let share = (choice.share.to_decimal().to_f64() * 100.0).round() as u32;
    (choice.keys.unwrap_or(1), choice.per_key.unwrap_or(1), share)
}

// Refutes an error that is not what it is defined as, and a bound that is worse than the best of all by more
// than a tenth.
#[test]
fn the_chosen_bound_is_nearly_the_best_of_all() {
    let shares = [[40, 35, 25], [60, 38, 2]];
    for (releases, seed, shares) in [(LIKE_REVIEWS, 5, shares[0]), (LIKE_RETAIL, 6, shares[1])] {
        let log = log(seed, 250);
        let stated: [Numbers; 3] = [(3, 5, shares[0]), (1, 2, shares[1]), (4, 1, shares[2])];
        let job = written(&releases, &stated);
        let tuning = job.tune(&shape(&job, &log), BOTH).unwrap();
        let chosen: Vec<Numbers> =
            tuning.releases.iter().map(|release| numbers(release.chosen.as_ref().unwrap())).collect();
        let tuned = written(&releases, &chosen);
        assert_eq!(tuned, tuning.tuned, "the numbers of the page are those of the job");
        for (at, (release, tuned_release)) in releases.iter().zip(&tuning.releases).enumerate() {
            let near = |found: f64, plain: f64| (found - plain).abs() < 1e-6;
            let (present, best) =
                (tuned_release.present.as_ref().unwrap(), tuned_release.chosen.as_ref().unwrap());
            let (of_present, unfound) = plain_error_and_unfound(&job, &log, *release, (at, stated[at]));
            assert!(near(present.error, of_present), "{at}: {present:?} {of_present}");
            // A key that has too few people for a share of 0.02.
            assert_eq!(unfound > 0, stated[at].2 == 2, "{unfound}");
            let of_chosen = plain_error(&tuned, &log, *release, (at, chosen[at]));
            assert!(near(best.error, of_chosen), "{at}: {best:?} {of_chosen}");
            let mut least = f64::INFINITY;
            for keys in 1..=4 {
                for per_key in 1..=if release.has_records { 6 } else { 1 } {
                    let mut other = chosen.clone();
                    other[at] = (keys, per_key, chosen[at].2);
                    let other = (written(&releases, &other), (at, (keys, per_key, 0)));
                    least = least.min(plain_error(&other.0, &log, *release, other.1));
                }
            }
            assert!(of_chosen <= 1.1 * least, "{at}: {of_chosen} with {best:?}, where {least} is possible");
            assert!(!tuned_release.keys.is_empty());
        }
    }
}

// Refutes shares of which others have a mean error that is smaller by more than a tenth: errors of small cells
// move in steps.
#[test]
fn the_mean_error_is_nearly_the_least() {
    let log = log(9, 500);
    let releases =
        [PlainRelease { windows: 4, ..LIKE_RETAIL[1] }, PlainRelease { windows: 4, ..LIKE_REVIEWS[2] }];
    let stated: [Numbers; 2] = [(4, 6, 5), (4, 1, 95)];
    let job = written(&releases, &stated);
    let tuning = job.tune(&shape(&job, &log), BOTH).unwrap();
    let chosen: Vec<Numbers> =
        tuning.releases.iter().map(|release| numbers(release.chosen.as_ref().unwrap())).collect();
    assert!(chosen[0].2 > 50 && chosen[0].2 + chosen[1].2 <= 100, "{chosen:?}");
    let kept = job.tune(&shape(&job, &log), BOUNDS).unwrap().tuned;
    assert!(
        kept != job && kept.releases.iter().zip(&job.releases).all(|(kept, own)| kept.price == own.price)
    );
    let least_error = |at: usize, share: u32| {
        let mut least = f64::INFINITY;
        for keys in 1..=4 {
            for per_key in 1..=if releases[at].has_records { 6 } else { 1 } {
                let mut other = [(1, 1, 100 - share), (1, 1, 100 - share)];
                other[at] = (keys, per_key, share);
                let job = written(&releases, &other);
                least = least.min(plain_error(&job, &log, releases[at], (at, other[at])));
            }
        }
        least
    };
    let sum = |share: u32| least_error(0, share) + least_error(1, 100 - share);
    let best = (1..20).map(|twentieths| sum(5 * twentieths)).fold(f64::INFINITY, f64::min);
    let errors = tuning.releases.iter().map(|release| release.chosen.as_ref().unwrap().error);
    let found = errors.sum::<f64>();
    assert!(found <= 1.1 * best, "{found}, where {best} is possible: {chosen:?}");
    assert!(sum(5) > 1.1 * best && sum(95) > 1.1 * best, "the shares matter");
    // The errors that are shown are those of the shares, and the present and the chosen one are among them.
    for (release, (present, chosen)) in tuning.releases.iter().zip(stated.iter().zip(&chosen)) {
        let swept: Vec<f64> = release.shares.iter().map(|swept| swept.error).collect();
        assert!(swept.is_sorted_by(|one, other| one >= other), "{swept:?}");
        for (share, choice) in [(present.2, None), (chosen.2, release.chosen.as_ref())] {
            let is_it =
                |swept: &&SweptShare| (swept.share.to_decimal().to_f64() * 100.0).round() == f64::from(share);
            let found = release.shares.iter().find(is_it).unwrap();
            assert!(choice.is_none_or(
                |choice| found.error <= choice.error + 1e-9 && choice.error * SMALLER <= found.error
            ));
        }
    }
}

const BOUNDS: TuningScope = TuningScope::BOUNDS;
const BOTH: TuningScope = TuningScope { shares: true, ..BOUNDS };

/// Tunes a job file of the directory `config` by a log that is made up.
fn tuned(name: &str) -> (Job, Tuning, String) {
    let path = Path::new("config").join(name);
    let job = Job::open(&path).unwrap();
    let log = StatedLog { rows: 40_000, people: 4_000, keys: Some(30), skew: None };
    let shape = LogShape::stated(&job, log).unwrap();
    let tuning = job.tune(&shape, BOTH).unwrap();
    (job, tuning, std::fs::read_to_string(path).unwrap())
}

// Refutes an edit that loses a comment, changes another line, or is read as another job than the one that was
// chosen.
#[test]
fn an_edited_job_file_has_its_numbers_its_comments_and_nothing_else_changed() {
    let mut changed = 0;
    for name in ["reviews.toml", "retail.toml", "access_log.toml"] {
        let (job, tuning, text) = tuned(name);
        let path = Path::new("config").join(name);
        let EditedJob::Text(edited) = tuning.edited(&path, &text) else { panic!("{name}: no text") };
        let read = Job::parse(&path, &edited).unwrap();
        assert_eq!(read, tuning.tuned, "{name}");
        assert!(read.plan().is_ok(), "{name}");
        assert_eq!(read == job, !tuning.is_changed(), "{name}");
        assert_eq!(edited.lines().count(), text.lines().count());
        for (before, after) in text.lines().zip(edited.lines()).filter(|(before, after)| before != after) {
            changed += 1;
            let (kept, why) = after.split_once(TUNED_MARK).unwrap();
            assert!(why.contains("errs by ") || why.starts_with("as it is: a quantile errs"), "{after}");
            let comment = before.split_once('#').map_or("", |(_, comment)| comment.trim_end());
            assert!(kept.trim_end().ends_with(comment), "{before}\n{after}");
            assert_eq!(before.split('=').next(), after.split('=').next());
        }
        // A comment of a run before is replaced.
        let EditedJob::Text(again) = tuning.edited(&path, &edited) else { panic!("{name}: no text") };
        assert_eq!(again, edited, "{name}");
        // Where a release is no table of its own lines, the numbers are lines.
        if tuning.is_changed() {
            let EditedJob::Lines(lines) = tuning.edited(&path, "[job]\n") else { panic!("{name}: a text") };
            assert!(!lines.is_empty() && lines.iter().all(|line| line.starts_with("release[")), "{lines:?}");
        }
    }
    assert!(changed > 3, "{changed}");
}

// Refutes a comment within a text of several lines, which makes another job of the file.
#[test]
fn a_line_whose_end_is_within_a_text_is_not_edited() {
    let release = "name = \"pages\", every = \"1 day\", people = { by = \"page\", keys = [\"a\", \"b\", \"c\"] }, \
        noise = \"gaussian\", share = 1, bound = { keys = 1 }, where = ";
    let of_lines = |condition: &str| text(&format!("release = [{{ {release}{condition} }}]"), "");
    let log = log(4, 60);
    for (condition, is_edited) in [("'page != \"d\"'", true), ("'''\npage != \"d\"'''", false)] {
        let text = of_lines(condition);
        let job = Job::parse("job.toml", &text).unwrap();
        let tuning = job.tune(&shape(&job, &log), BOTH).unwrap();
        assert!(tuning.is_changed(), "{tuning:?}");
        let edited = tuning.edited(Path::new("job.toml"), &text);
        assert_eq!(matches!(edited, EditedJob::Text(_)), is_edited, "{edited:?}");
    }
}

const TUNED_MARK: &str = "# tuned: ";

// Refutes a longer window that is taken though nobody asked for it, though the present one errs by little, or
// though a shorter one would do.
#[test]
fn the_shortest_window_that_errs_by_a_tenth_is_taken_on_request() {
    let text =
        "[[release]]\nname = \"people\"\nevery = \"1h\"\npeople = {}\nnoise = \"gaussian\"\nshare = 0.02\n";
    let job = job(text);
    let log = StatedLog { rows: 2_000, people: 1_500, keys: None, skew: None };
    let shape = LogShape::stated(&job, log).unwrap();
    let as_it_is = job.tune(&shape, BOTH).unwrap();
    assert!(!as_it_is.is_changed() && as_it_is.releases[0].windows.is_empty());
    let tuning = job.tune(&shape, TuningScope { windows: true, ..BOTH }).unwrap();
    let release = &tuning.releases[0];
    let windows = &release.windows;
    assert!(windows.len() >= 2 && windows[0].error > LARGE, "{windows:?}");
    assert!(windows.is_sorted_by(|one, other| one.error >= other.error), "{windows:?}");
    let first = windows.iter().find(|window| window.error <= LARGE).unwrap();
    let chosen = release.chosen.as_ref().unwrap();
    assert_eq!((chosen.every, tuning.tuned.releases[0].every), (first.every, first.every));
    assert_eq!(release.present.as_ref().unwrap().every, job.releases[0].every);
    let again = tuning.tuned.tune(&shape, TuningScope { windows: true, ..BOTH }).unwrap();
    assert!(!again.is_changed(), "{again:?}");
}

// Refutes a release that is tuned though its error is of another kind or its price is stated, and one that is
// left without the reason.
#[test]
fn a_release_that_is_not_tuned_says_why() {
    let (job, tuning, _) = tuned("reviews.toml");
    let left: Vec<Option<&str>> = tuning.releases.iter().map(|release| release.left).collect();
    assert_eq!(
        left,
        [None, None, None, None, Some("a quantile errs by ranks, and not by a part of its value")]
    );
    assert_eq!(tuning.tuned.releases[4], job.releases[4]);
    // A log that is made up has no values, by which a bound of a mean could be chosen.
    let mean = tuning.releases[2].chosen.as_ref().unwrap();
    assert_eq!((mean.keys, mean.per_key, tuning.releases[2].keys.len()), (Some(1), Some(1), 1));
    let page = tuning.to_string();
    for words in [
        "usual_ratings\n  as it is     a quantile errs by ranks",
        "\n  now          every 1 month, keys 2",
        "\n  keys         1: ",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    assert!(page.lines().all(|line| line.chars().count() <= 100), "{page}");
}

// Refutes advice on a weight that errs by more than it says, or that is given where a weight is no better; and a stated weight
// that is not tuned.
#[test]
fn a_weight_that_leaves_less_out_is_advised_of() {
    // Of ten people one has all four pages, and the others have one.
    let release = |bound: &str| {
        let statistic = "people = { by = \"page\", keys = [\"a\", \"b\", \"c\", \"d\"] }";
        format!(
            "[[release]]\nname = \"people\"\nevery = \"1 day\"\n{statistic}\nbound = {{ {bound} }}\nnoise = \"gaussian\"\nshare = 0.0002\n"
        )
    };
    let line = |who, page| Line { who, quarter: 0, page, cents: None };
    let log: Vec<Line> = (1..400u64)
        .flat_map(|who| {
            if who % 10 == 0 { (0..4).collect() } else { vec![who % 4] }
                .into_iter()
                .map(move |page| line(who, page))
        })
        .collect();
    let keys = job(&release("keys = 1"));
    let shape = shape(&keys, &log);
    let tuning = keys.tune(&shape, TuningScope::BOUNDS).unwrap();
    let advice = tuning.releases[0].weight.clone().unwrap();
    let chosen = tuning.releases[0].chosen.clone().unwrap();
    assert!(advice.error <= 0.95 * chosen.error, "{advice:?} {chosen:?}");
    assert!(
        tuning.to_string().contains(&format!("keys = {}, weight = {} errs by", advice.keys, advice.weight))
    );
    let stated = job(&release(&format!("keys = {}, weight = {}", advice.keys, advice.weight)));
    let tuned = stated.tune(&shape, TuningScope::BOUNDS).unwrap();
    let present = tuned.releases[0].present.clone().unwrap();
    assert!((present.error - advice.error).abs() < 1e-12, "{present:?} {advice:?}");
    assert!(tuned.releases[0].weight.is_none() && tuned.releases[0].weights.len() > 1);
    // Another weight is tuned to this one, in the text too.
    let other = release("keys = 4, weight = 3");
    let tuned = job(&other).tune(&shape, TuningScope::BOUNDS).unwrap();
    assert_eq!(tuned.releases[0].chosen.as_ref().unwrap().weight, Some(advice.weight));
    let edited = tuned.edited(Path::new("job.toml"), &text("", &other));
    let EditedJob::Text(edited) = edited else { panic!("{edited:?}") };
    assert!(
        edited.contains(&format!(
            "weight = {} }}   # tuned: weight = {} errs by",
            advice.weight, advice.weight
        )),
        "{edited}"
    );
    // Nobody has a second page.
    let single: Vec<Line> = (1..400u64).map(|who| line(who, who % 4)).collect();
    let shape = super::super::log_shape::tests::shape(&keys, &single);
    assert!(keys.tune(&shape, TuningScope::BOUNDS).unwrap().releases[0].weight.is_none());
}

// Refutes a range that pays for noise or clips most values and is passed in silence, advice that is no better, and advice on a
// range that fits. The values are from -5 to 25.
#[test]
fn a_range_that_does_not_fit_is_advised_of() {
    let log = log(11, 600);
    let job = |statistic: &str, range: &str, (most_keys, most): (u32, u32)| {
        let per_key = if statistic == "sum" { String::new() } else { format!(", per_key = {most}") };
        job(&format!(
            "[[release]]\nname = \"money\"\nevery = \"6h\"\n{statistic} = {{ of = \"price\", range = {range}, by = \"page\", keys = \
             [\"a\", \"b\"] }}\nbound = {{ keys = {most_keys}{per_key}, windows = 4 }}\nnoise = \"gaussian\"\nshare = 1\n"
        ))
    };
    let release = |job: &Job| job.tune(&shape(job, &log), BOUNDS).unwrap().releases.remove(0);
    for statistic in ["sum", "mean"] {
        for (range, is_narrower) in [("[-1000, 100000]", true), ("[0, 100000]", true), ("[0, 1]", false)] {
            let found = release(&job(statistic, range, (2, 1)));
            let advice = found.range.clone().unwrap_or_else(|| panic!("{statistic} {range}: {found:?}"));
            let (better, error) = advice.better.clone().unwrap();
            assert!(error < 0.9 * advice.stated_error, "{advice:?}");
            let sentence = advice.sentence();
            assert!(
                sentence.starts_with(range) && sentence.contains(&format!("range = {better} by ")),
                "{sentence}"
            );
            assert_eq!(sentence.contains("much wider than most"), is_narrower, "{sentence}");
            assert_eq!(sentence.contains("] clips "), !is_narrower, "{sentence}");
            let ends: Vec<f64> =
                better.trim_matches(['[', ']']).split(", ").map(|end| end.parse().unwrap()).collect();
            assert!(ends[1] > 1.0 && ends[1] < 200.0, "{better}");
            // With the range and the numbers that were chosen it errs by what was said.
            let chosen = found.chosen.unwrap();
            let bound = (chosen.keys.unwrap(), chosen.per_key.unwrap_or(1));
            let again = release(&job(statistic, &better, bound));
            let present = again.present.as_ref().unwrap().error;
            if statistic == "sum" {
                assert!((present - error).abs() < 0.02 * error, "{range}: {present} {error}");
                assert!((chosen.error - advice.stated_error).abs() < 1e-9, "{advice:?}");
            }
            let left = again.range.and_then(|advice| advice.better);
            assert!(left.is_none_or(|(_, other)| other > 0.5 * error), "{statistic} {range} {better}");
        }
    }
    // A log that is made up has no values, and people have no range.
    let job = job("mean", "[0, 100000]", (2, 1));
    let stated = StatedLog { rows: 2_000, people: 500, keys: None, skew: None };
    let tuning = job.tune(&LogShape::stated(&job, stated).unwrap(), BOUNDS).unwrap();
    assert_eq!(tuning.releases[0].range, None);
    let page = job.tune(&shape(&job, &log), BOUNDS).unwrap().to_string();
    assert!(page.contains("\n  range        [0, 100000] is much wider than most values"), "{page}");
}

// Refutes a release that is not tuned and says nothing of it, in the page or at its line of the file.
#[test]
fn each_release_that_is_not_tuned_is_named_with_its_reason() {
    let release = |name: &str, statistic: &str, more: &str, price: &str| {
        format!(
            "[[release]]\nname = \"{name}\"\nevery = \"1 day\"\n{statistic}\n{more}noise = \"gaussian\"\n{price}\n"
        )
    };
    let ranks = "bound = { per_key = 1 }\n";
    let text = [
        release("stated", "people = {}", "", "cost = { rho = 1e-5 }   # of a window"),
        release("so_far", "count = {}", "running = true\nbound = { per_key = 1 }\n", "share = 0.1"),
        release("usual", "quantile = { of = \"price\", q = [0.5], range = [0, 10] }", ranks, "share = 0.1")
            .replace("gaussian", "exponential"),
        release("spread", "variance = { of = \"price\", range = [0, 10] }", ranks, "share = 0.1"),
        release("tuned", "count = {}", "bound = { per_key = 1 }\n", "share = 0.5"),
    ];
    let text = self::text("", &text.concat());
    let job = Job::parse("job.toml", &text).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let tuning = job.tune(&shape(&job, &log(5, 200)), BOTH).unwrap();
    let page = tuning.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
    let EditedJob::Text(edited) = tuning.edited(Path::new("job.toml"), &text) else { panic!("no text") };
    for (name, line, why) in [
        ("stated", "cost = { rho = 1e-5 }   # of a window", "its price is a stated cost, which stays"),
        ("so_far", "running = true", "it is a running total, whose bounds hold for all windows together"),
        ("usual", "quantile = { of = \"price\", q = [0.5], range = [0, 10] }", "a quantile errs by ranks"),
        ("spread", "variance = { of = \"price\", range = [0, 10] }", "a variance has three numbers"),
    ] {
        assert!(page.contains(&format!("{name} as it is {why}")), "{name}: {page}");
        assert!(edited.contains(&format!("\n{line}   # tuned: as it is: {why}")), "{name}: {edited}");
    }
    assert!(
        page.contains("tuned now every 1 day") && Job::parse("job.toml", &edited).unwrap() == tuning.tuned
    );
    let EditedJob::Text(again) = tuning.edited(Path::new("job.toml"), &edited) else { panic!("no text") };
    assert_eq!(again, edited);
}
