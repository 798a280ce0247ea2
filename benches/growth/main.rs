//! Growth: CPU time, peak memory and ledger of a replay as one thing of it grows, beside its floor.
//!
//! Each point is a job file over a CSV file, replayed in a process of its own. All points begin from one job: a count
//! by key of three million lines, a million people, a thousand discovered keys, one window, on two workers; each axis
//! changes one thing. The floor of a point is another process: it reads the same lines, and adds the same statistics up
//! by window and key in hash maps, of everybody and without protection, on one thread.
//!
//! The exponent of a row is that of its CPU time against the row before: 1 is linear growth. Times include reading.
//!
//! ```sh
//! cargo bench --bench growth                    # all axes
//! cargo bench --bench growth -- sliding keys    # those whose name contains a word
//! ```
#![allow(clippy::print_stdout)]

mod floor;
mod point;

use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::Command;

use point::{Measured, Point};

const MILLION: u64 = 1_000_000;

/// The points of each axis, beside the number that grows.
fn axes() -> Vec<(&'static str, Vec<(u64, Point)>)> {
    let base = Point::BASE;
    let over = |values: &[u64], point: &dyn Fn(u64) -> Point| -> Vec<(u64, Point)> {
        values.iter().map(|value| (*value, point(*value))).collect()
    };
    let few = Point { rows: MILLION, people: 300_000, ..base };
    vec![
        ("rows", over(&[MILLION, 3 * MILLION, 10 * MILLION, 30 * MILLION], &|rows| Point { rows, ..base })),
        (
            "people",
            over(&[10_000, 100_000, MILLION, 10 * MILLION], &|people| Point {
                rows: 10 * MILLION,
                people,
                ..base
            }),
        ),
        ("listed keys", over(&[100, 10_000, MILLION], &|keys| Point { keys, is_listed: true, ..base })),
        ("discovered keys", over(&[100, 10_000, MILLION], &|keys| Point { keys, ..base })),
        ("windows", over(&[1, 100, 10_000, 86_400, 200_000], &|windows| Point { windows, keys: 1, ..few })),
        (
            "windows of four statistics",
            over(&[10_000, 200_000], &|windows| Point { windows, keys: 1, statistics: 4, ..few }),
        ),
        ("statistics by one key", over(&[1, 2, 4, 8], &|statistics| Point { statistics, ..base })),
        (
            "statistics by other keys",
            over(&[1, 2], &|statistics| Point { statistics, has_other_key: true, ..base }),
        ),
        ("sliding", over(&[1, 5, 60], &|overlap| Point { windows: 240, overlap, keys: 20, ..few })),
        ("workers", over(&[1, 2, 4], &|workers| Point { workers, ..base })),
    ]
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    if let [kind, directory, point] = &arguments[..]
        && ["subject", "floor"].contains(&kind.as_str())
    {
        return point::measure_here(kind, Path::new(directory), point.parse()?);
    }
    let directory = std::env::temp_dir().join(format!("discreet-bench-growth-{}", std::process::id()));
    fs::create_dir_all(&directory)?;
    let outcome = all(&directory, &arguments);
    fs::remove_dir_all(&directory)?;
    outcome
}

fn all(directory: &Path, words: &[String]) -> Result<(), Box<dyn Error>> {
    println!(
        "{:<28} {:>10} {:>9} {:>9} {:>7} {:>9} {:>9} {:>11} {:>9}",
        "axis", "value", "CPU s", "wall s", "floor", "ratio", "memory MB", "ledger KB", "exponent"
    );
    for (axis, points) in axes() {
        if !words.is_empty() && !words.iter().any(|word| axis.contains(word.as_str())) {
            continue;
        }
        let mut row = Vec::new();
        for (value, point) in points {
            point.write(directory)?;
            let floor = in_a_process("floor", directory, &point)?;
            let subject = in_a_process("subject", directory, &point)?;
            fs::remove_file(directory.join("events.csv"))?;
            let before: Option<&(u64, Measured)> = row.last();
            let exponent = before.map_or(f64::NAN, |(former, measured)| {
                (subject.cpu / measured.cpu).ln() / (value as f64 / *former as f64).ln()
            });
            println!(
                "{axis:<28} {value:>10} {:>9.2} {:>9.2} {:>7.2} {:>9.1} {:>9.0} {:>11.0} {exponent:>9.2}",
                subject.cpu,
                subject.wall,
                floor.cpu,
                subject.cpu / floor.cpu,
                subject.memory / 1e6,
                subject.ledger / 1e3,
            );
            row.push((value, subject));
        }
        figures(axis, &row);
    }
    Ok(())
}

/// Prints the figures of an axis that have an aim.
fn figures(axis: &str, row: &[(u64, Measured)]) {
    let at = |value: u64| row.iter().find(|(at, _)| *at == value).map(|(_, measured)| *measured);
    match axis {
        "windows" => {
            if let Some(day) = at(86_400) {
                println!("figure growth.day_of_seconds_cpu {:.2} s", day.cpu);
                println!("figure growth.day_of_seconds_memory {:.0} MB", day.memory / 1e6);
            }
        }
        "windows of four statistics" => {
            if let Some(many) = at(200_000) {
                println!("figure growth.windows_of_four_memory {:.0} MB", many.memory / 1e6);
            }
        }
        "statistics by one key" => {
            if let Some((one, eight)) = at(1).zip(at(8)) {
                println!(
                    "ratio growth.further_statistic_over_first {:.2}",
                    (eight.cpu / one.cpu - 1.0) / 7.0
                );
            }
        }
        "statistics by other keys" => {
            if let Some((one, two)) = at(1).zip(at(2)) {
                println!("ratio growth.other_key_over_first {:.2}", two.cpu / one.cpu - 1.0);
            }
        }
        "sliding" => {
            if let Some((one, sixty)) = at(1).zip(at(60)) {
                println!("ratio growth.sliding_cpu {:.2}", sixty.cpu / one.cpu);
                println!("ratio growth.sliding_memory {:.2}", sixty.memory / one.memory);
            }
        }
        _ => {}
    }
}

fn in_a_process(kind: &str, directory: &Path, point: &Point) -> Result<Measured, Box<dyn Error>> {
    let output = Command::new(std::env::current_exe()?)
        .arg(kind)
        .arg(directory)
        .arg(point.to_string())
        .stderr(std::process::Stdio::inherit())
        .output()?;
    let text = String::from_utf8(output.stdout)?;
    if !output.status.success() {
        return Err(format!("{kind} of {point}: {}", output.status).into());
    }
    text.parse()
}
