//! Cells against plain code, which lists every choice of keys and of records that a bound leaves.

#![allow(clippy::unwrap_used)]
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::cells::CellMeasure;
use super::*;
use crate::job::config::BoundSpec;
use crate::job::statistics::NoiseKind;
use crate::ledger::scratch::{Scratch, ScratchPlace};

/// One line of a log: the person, the quarter of the day, the page, and the price in cents.
pub(in crate::job) struct Line {
    pub(in crate::job) who: u64,
    pub(in crate::job) quarter: i64,
    pub(in crate::job) page: u64,
    pub(in crate::job) cents: Option<i64>,
}

/// The pages of a log, of which a release lists the first ones.
const PAGES: [&str; 5] = ["a", "b", "c", "d", ""];

/// The numbers of a cell in plain code: people, records, and the sum in cents.
pub(in crate::job) type Numbers = [f64; 3];

/// A statistic in plain code.
#[derive(Clone, Copy, PartialEq)]
pub(in crate::job) enum Plain {
    People,
    Records,
    /// With a range, in cents.
    Sum(i64, i64),
    Mean(i64, i64),
}

/// The bound of a person in plain code: keys, records of each, and windows.
pub(in crate::job) type PlainBound = (usize, usize, usize);

/// Generates a log of some people, of whom some have few lines and some have many.
pub(in crate::job) fn log(seed: u64, people: u64) -> Vec<Line> {
    let mut state = seed.wrapping_mul(2).wrapping_add(1);
    let mut below = |sides: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % sides
    };
    let mut lines = Vec::new();
    for who in 0..people {
        for _ in 0..=below(2 + who % 7) {
            // Pages and quarters are not equally common; a line may lie behind the last window.
            let (page, quarter) = (below(5).min(below(5)), below(5).min(below(5)) as i64);
            let cents = (below(6) > 0).then(|| below(3_000) as i64 - 500);
            lines.push(Line { who, quarter, page, cents });
        }
    }
    lines
}

pub(in crate::job) fn csv(log: &[Line]) -> String {
    let mut text = "who,time,page,price\n".to_owned();
    for Line { who, quarter, page, cents } in log {
        // The first person has no name.
        let who = if *who == 0 { String::new() } else { format!("u{who}") };
        let price = cents.map_or(String::new(), |cents| format!("{}", cents as f64 / 100.0));
        let time = 1_767_225_600 + quarter * 21_600 + 60;
        writeln!(text, "{who},{time},{},{price}", PAGES[*page as usize]).unwrap();
    }
    text
}

/// A job of one day of quarters, with these releases.
pub(in crate::job) fn job(releases: &str) -> Job {
    let text = text("", releases);
    Job::parse("job.toml", &text).unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

/// The text of a job file, with some text before its tables and some behind them.
pub(in crate::job) fn text(before: &str, releases: &str) -> String {
    format!(
        r#"
        {before}
        [job]
        name = "shop"
        version = 1
        from = 2026-01-01T00:00:00Z
        until = 2026-01-02T00:00:00Z
        [source]
        type = "csv"
        path = "/nowhere/log.csv"
        time = {{ field = "time", format = "unix" }}
        [privacy]
        person = {{ field = "who", missing = "drop" }}
        promise = "lifetime"
        budget = {{ epsilon = 8, delta = 1e-3 }}
        ledger = "/nowhere/shop.ledger"
        account = "shop"
        {releases}
        "#
    )
}

/// Reads the shape of a log by a job.
pub(in crate::job) fn shape(job: &Job, log: &[Line]) -> LogShape {
    let scratch: Scratch = ScratchPlace::File.scratch();
    let sample = scratch.directory().join("sample.csv");
    std::fs::write(&sample, csv(log)).unwrap();
    LogShape::of_sample(job, &sample).unwrap()
}

/// Every choice of `most` of `all`, or of all if they are fewer, as lists of places.
fn choices(all: usize, most: usize) -> Vec<Vec<usize>> {
    let taken = most.min(all);
    (0u32..1 << all)
        .filter(|chosen| chosen.count_ones() as usize == taken)
        .map(|chosen| (0..all).filter(|place| chosen >> place & 1 == 1).collect())
        .collect()
}

/// Counts the cells of a log, by the page of `keys` listed ones and the quarter: the truth, and the mean of
/// what is left by every choice that a bound allows, all of them equally likely.
pub(in crate::job) fn plain_cells(
    log: &[Line],
    (keys, statistic): (u64, Plain),
    (most_keys, most_records, most_windows): PlainBound,
) -> BTreeMap<(u64, i64), (Numbers, Numbers)> {
    let needs_price = matches!(statistic, Plain::Sum(..) | Plain::Mean(..));
    let mut found: BTreeMap<(u64, i64), (Numbers, Numbers)> = BTreeMap::new();
    let people: BTreeSet<u64> = log.iter().map(|line| line.who).filter(|who| *who > 0).collect();
    for who in people {
        let mut windows = 0;
        for quarter in 0..4 {
            let mut own: BTreeMap<u64, Vec<i64>> = BTreeMap::new();
            for line in log.iter().filter(|line| line.who == who && line.quarter == quarter) {
                if line.page < keys && (line.cents.is_some() || !needs_price) {
                    own.entry(line.page).or_default().push(line.cents.unwrap_or(0));
                }
            }
            for (page, prices) in &own {
                let (truth, _) = found.entry((*page, quarter)).or_default();
                truth[0] += 1.0;
                truth[1] += prices.len() as f64;
                truth[2] += prices.iter().sum::<i64>() as f64;
            }
            windows += usize::from(!own.is_empty());
            if windows > most_windows {
                continue;
            }
            let own: Vec<(u64, Vec<i64>)> = own.into_iter().collect();
            let of_keys = choices(own.len(), most_keys);
            for chosen in &of_keys {
                for (page, prices) in chosen.iter().map(|place| &own[*place]) {
                    let of_records = choices(prices.len(), most_records);
                    for kept in &of_records {
                        let weight = 1.0 / (of_keys.len() * of_records.len()) as f64;
                        let (_, left) = found.entry((*page, quarter)).or_default();
                        left[0] += weight;
                        left[1] += weight * kept.len() as f64;
                        left[2] += weight
                            * match statistic {
                                Plain::Sum(low, high) => prices.iter().sum::<i64>().clamp(low, high) as f64,
                                Plain::Mean(low, high) => {
                                    kept.iter().map(|place| prices[*place].clamp(low, high) as f64).sum()
                                }
                                _ => 0.0,
                            };
                    }
                }
            }
        }
    }
    found
}

const RELEASES: [(&str, Plain); 4] = [
    ("people = { by = \"page\", keys = [\"a\", \"b\", \"c\"] }", Plain::People),
    ("count = { by = \"page\", keys = [\"a\", \"b\", \"c\"] }", Plain::Records),
    (
        "sum = { of = \"price\", range = [-2, 15], by = \"page\", keys = [\"a\", \"b\", \"c\"] }",
        Plain::Sum(-200, 1500),
    ),
    (
        "mean = { of = \"price\", range = [0, 20], by = \"page\", keys = [\"a\", \"b\", \"c\"] }",
        Plain::Mean(0, 2000),
    ),
];

// Refutes a key that is kept with another chance, records beyond the bound, values that are clamped one by
// one in a sum, a record that counts without its value or without a person, and windows beyond those in which
// a person counts.
#[test]
fn what_a_bound_leaves_is_the_mean_of_all_choices() {
    for (seed, windows) in [(1, 4), (2, 2), (3, 1)] {
        let releases: String = (RELEASES.iter().zip(["a", "b", "c", "d"]))
            .map(|((statistic, plain), name)| {
                let per_key = if matches!(plain, Plain::Records | Plain::Mean(..)) { ", per_key = 1" } else { "" };
                format!(
                    "[[release]]\nname = \"{name}\"\nevery = \"6h\"\n{statistic}\nbound = {{ keys = 1{per_key}, \
                     windows = {windows} }}\nnoise = \"gaussian\"\nshare = 0.25\n"
                )
            })
            .collect();
        let (job, log) = (job(&releases), log(seed, 60));
        let shape = shape(&job, &log);
        let offers = job.release_plans(job.horizon()).unwrap();
        for (at, (_, plain)) in RELEASES.iter().enumerate() {
            let measure = CellMeasure::of(&job.releases[at]).unwrap();
            let cells = shape.cells(at, (&offers[at].schedule, Some(windows)), measure).unwrap();
            let point = offers[at].point();
            for (keys, per_key) in [(1, 1), (2, 1), (1, 2), (2, 3), (3, 9)] {
                let expected = plain_cells(&log, (3, *plain), (keys, per_key, windows as usize));
                assert_eq!(cells.cells.len(), expected.len());
                let bounded = cells.bounded(keys as u32, per_key as u32);
                for (cell, left) in cells.cells.iter().zip(&bounded) {
                    let (truth, kept) = expected[&(cell.key.into(), cell.window as i64)];
                    let near = |found: f64, plain: f64| (found - plain).abs() < 1e-6 * plain.abs().max(1.0);
                    let cents = |steps: f64| 100.0 * point.float(steps);
                    let own = (&cell.content, left);
                    let has_sum = matches!(plain, Plain::Sum(..) | Plain::Mean(..));
                    assert!(
                        near(own.0.people, truth[0]) && near(own.1.people, kept[0]),
                        "{at} {own:?} {kept:?}"
                    );
                    assert!(near(own.0.records, truth[1]), "{at} {own:?} {truth:?}");
                    if *plain != Plain::People {
                        let records = if matches!(plain, Plain::Sum(..)) { own.1.records } else { kept[1] };
                        assert!(near(own.1.records, records), "{at} {keys} {per_key} {own:?} {kept:?}");
                    }
                    if has_sum {
                        assert!(near(cents(own.0.sum), truth[2]), "{at} {own:?} {truth:?}");
                        assert!(near(cents(own.1.sum), kept[2]), "{at} {keys} {per_key} {own:?} {kept:?}");
                    }
                }
            }
        }
        let twice = shape.clone().of_people(2 * shape.people());
        assert_eq!(twice.rows(), 2 * shape.rows());
        let of = |shape: &LogShape| {
            let over = (&offers[0].schedule, Some(windows));
            let cells = shape.cells(0, over, CellMeasure::People).unwrap();
            (cells.cells[0].content.people, cells.bounded(1, 1)[0].people)
        };
        let ((truth, kept), (doubled, kept_of_doubled)) = (of(&shape), of(&twice));
        assert!((doubled, kept_of_doubled) == (2.0 * truth, 2.0 * kept), "{doubled} {kept_of_doubled}");
    }
}

/// Returns what is left of each cell of a log under a weight, with every key that a person has: people, what they count with, and the
/// sum in cents.
fn plain_weighed(
    log: &[Line],
    (statistic, per_key): (Plain, usize),
    (weight, noise): (f64, NoiseKind),
) -> BTreeMap<(u64, i64), Numbers> {
    let needs_price = matches!(statistic, Plain::Sum(..) | Plain::Mean(..));
    let mut own: BTreeMap<(u64, i64), BTreeMap<u64, Vec<i64>>> = BTreeMap::new();
    for line in log.iter().filter(|line| line.who > 0 && line.page < 3 && line.quarter < 4) {
        if line.cents.is_some() || !needs_price {
            let of_person = own.entry((line.who, line.quarter)).or_default();
            of_person.entry(line.page).or_default().push(line.cents.unwrap_or(0));
        }
    }
    let mut left: BTreeMap<(u64, i64), Numbers> = BTreeMap::new();
    for ((_, quarter), keys) in own {
        let records = |prices: &Vec<i64>| prices.len().min(per_key) as f64;
        let sum = |prices: &Vec<i64>| match statistic {
            Plain::Sum(low, high) => prices.iter().sum::<i64>().clamp(low, high) as f64,
            // Those that are kept are any of them.
            Plain::Mean(low, high) => {
                let all: f64 = prices.iter().map(|price| *price.clamp(&low, &high) as f64).sum();
                all * records(prices) / prices.len() as f64
            }
            _ => 0.0,
        };
        let sizes: Vec<f64> = keys
            .values()
            .map(|prices| match statistic {
                Plain::People => 1.0,
                Plain::Sum(low, high) => sum(prices).abs() / low.abs().max(high) as f64,
                _ => records(prices) / per_key as f64,
            })
            .collect();
        let part = match noise {
            NoiseKind::Laplace => weight / sizes.iter().sum::<f64>(),
            _ => (weight / sizes.iter().map(|size| size * size).sum::<f64>()).sqrt(),
        };
        for (page, prices) in keys {
            let of_cell = left.entry((page, quarter)).or_default();
            let counted = if statistic == Plain::People { 1.0 } else { records(&prices) };
            of_cell[0] += 1.0;
            of_cell[1] += part.min(1.0) * counted;
            of_cell[2] += part.min(1.0) * sum(&prices);
        }
    }
    left
}

// Refutes a person of several cells who counts with more or less than their factor, one of one cell who is weighed, and a factor
// of another norm than the noise has.
#[test]
fn what_a_weight_leaves_is_what_plain_code_makes_of_each_person() {
    let releases: String = (RELEASES.iter().zip(["a", "b", "c", "d"]))
        .map(|((statistic, plain), name)| {
            let per_key = if matches!(plain, Plain::Records | Plain::Mean(..)) { ", per_key = 1" } else { "" };
            format!(
                "[[release]]\nname = \"{name}\"\nevery = \"6h\"\n{statistic}\nbound = {{ keys = 3, weight = 1{per_key} }}\n\
                 noise = \"gaussian\"\nshare = 0.25\n"
            )
        })
        .collect();
    let (job, log) = (job(&releases), log(5, 80));
    let shape = shape(&job, &log);
    let offers = job.release_plans(job.horizon()).unwrap();
    for (at, (_, plain)) in RELEASES.iter().enumerate() {
        let measure = CellMeasure::of(&job.releases[at]).unwrap();
        let cells = shape.cells(at, (&offers[at].schedule, None), measure).unwrap();
        let point = offers[at].point();
        for (weight, per_key, noise) in [
            (1, 1, NoiseKind::Gaussian),
            (2, 3, NoiseKind::Gaussian),
            (1, 2, NoiseKind::Laplace),
            (2, 1, NoiseKind::Laplace),
        ] {
            let per_key = if *plain == Plain::People { 1 } else { per_key };
            let bound = BoundSpec { weight: Some(weight), per_key: Some(per_key as u32), ..BoundSpec::NONE };
            let expected = plain_weighed(&log, (*plain, per_key), (weight.into(), noise));
            assert_eq!(cells.cells.len(), expected.len());
            for (cell, left) in cells.cells.iter().zip(cells.weighed(&bound, noise)) {
                let kept = expected[&(cell.key.into(), cell.window as i64)];
                let counted = if *plain == Plain::People { left.people } else { left.records };
                let found = [left.present, counted, 100.0 * point.float(left.sum)];
                let checked = if matches!(plain, Plain::Sum(..)) { [0, 0, 2] } else { [0, 1, 2] };
                let near = |at: usize| (found[at] - kept[at]).abs() < 1e-6 * kept[at].abs().max(1.0);
                let has_sum = matches!(plain, Plain::Sum(..) | Plain::Mean(..));
                let is_near = checked.into_iter().filter(|at| *at < 2 || has_sum).all(near);
                assert!(is_near, "{at} {weight} {per_key} {noise:?}: {found:?} {kept:?}");
            }
        }
    }
}

// Refutes a stated log whose people or records are others than those that are stated once it stands for more
// of them.
#[test]
fn a_stated_log_stands_for_as_many_people_as_are_stated() {
    let people = "[[release]]\nname = \"people\"\nevery = \"1 day\"\npeople = { by = \"page\", keys = [\"a\", \"b\"] }\n\
        bound = { keys = 2 }\nnoise = \"gaussian\"\nshare = 0.5\n";
    let all = "[[release]]\nname = \"all\"\nevery = \"1 day\"\ncount = {}\nbound = { per_key = 2 }\nnoise = \"gaussian\"\n\
        share = 0.5\n";
    let job = job(&format!("{people}{all}"));
    let offers = job.release_plans(job.horizon()).unwrap();
    let stated = |rows, people, keys| StatedLog { rows, people, keys, skew: None };
    for (rows, people) in [(10_000, 1_000), (3 * GENERATED, 30_000)] {
        let shape = LogShape::stated(&job, stated(rows, people, Some(4))).unwrap();
        assert_eq!((shape.rows(), shape.people()), (rows, people));
        let count = shape.cells(1, (&offers[1].schedule, None), CellMeasure::Records).unwrap();
        let content = count.cells[0].content;
        assert!((content.records / rows as f64 - 1.0).abs() < 1e-3, "{content:?}");
        assert!(content.people <= people as f64 && content.people > 0.5 * people as f64, "{content:?}");
        // Two of the four keys are listed, the most common ones.
        let keyed = shape.cells(0, (&offers[0].schedule, None), CellMeasure::Records).unwrap();
        assert_eq!((keyed.cells.len(), shape.keys(0)), (2, 2));
        let listed: f64 = keyed.cells.iter().map(|cell| cell.content.records).sum();
        assert!(keyed.cells[0].content.records > keyed.cells[1].content.records && listed < rows as f64);
    }
    for (rows, people, keys, field) in
        [(0, 1, None, "--rows"), (1, 0, None, "--people"), (1, 1, Some(0), "--keys")]
    {
        let refused = LogShape::stated(&job, stated(rows, people, keys)).unwrap_err().to_string();
        assert!(refused.contains(field) && refused.contains("found zero"), "{refused}");
    }
}

// Refutes a sample that is read though it is what the job protects, by any name of it.
#[test]
fn a_file_of_the_source_is_no_sample() {
    let scratch = ScratchPlace::File.scratch();
    let at = |name: &str| scratch.directory().join(name);
    let text = csv(&log(1, 20));
    for name in ["log-1.csv", "log-2.csv", "public.csv", "log-9.txt"] {
        std::fs::write(at(name), &text).unwrap();
    }
    std::fs::hard_link(at("log-2.csv"), at("twin.csv")).unwrap();
    std::os::unix::fs::symlink("log-1.csv", at("link.csv")).unwrap();
    let release =
        "[[release]]\nname = \"people\"\nevery = \"1 day\"\npeople = {}\nnoise = \"gaussian\"\nshare = 1\n";
    let of = |source: &str| {
        let mut job = job(release);
        job.read_from(&at(source)).unwrap();
        job
    };
    for (source, samples) in [
        ("log-1.csv", &["log-1.csv", "link.csv", "log-*.csv"][..]),
        ("log-*.csv", &["log-1.csv", "log-2.csv", "twin.csv", "link.csv", "log-*.csv"]),
        ("", &["public.csv", "twin.csv", ""]),
    ] {
        for sample in samples {
            let refused = LogShape::of_sample(&of(source), &at(sample)).unwrap_err();
            assert_eq!(refused.exit_code(), 78);
            assert!(refused.to_string().contains("give a public sample of other people"), "{refused}");
        }
    }
    for sample in ["public.csv", "log-9.txt"] {
        assert!(LogShape::of_sample(&of("log-*.csv"), &at(sample)).unwrap().people() > 10);
    }
    // A source that is not there yet has no file.
    assert!(LogShape::of_sample(&of("nothing.csv"), &at("public.csv")).is_ok());
}
