//! The invariants of a row: the properties that its runs must share, whatever its options are.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::net::TcpListener;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;

use crate::kit::lines::{ANSWERS, Cell, Lines, Window};
use crate::kit::process::{Ended, Process};
use crate::kit::{Directory, Random};
use crate::row::{Row, Scenario};

/// The results of the checks of a row.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Done {
    pub(crate) kills: u32,
    pub(crate) second_runs: u32,
}

type Checked<T> = Result<T, String>;

/// Runs a row in its mode, and returns the first fault.
pub(crate) fn row(row: Row, seed: u64) -> Checked<Done> {
    let now = jiff::Timestamp::now().as_microsecond();
    let scenario = Scenario::new(row.clone(), now);
    if row.is("mode", &["demo"]) { demo(&scenario) } else { released(&scenario, now, seed) }
}

fn prepared(scenario: &Scenario) -> Directory {
    let directory = Directory::new("scenario");
    scenario.write(&directory);
    directory
}

fn start(scenario: &Scenario, directory: &Directory, workers: &str) -> Process {
    let arguments = scenario.arguments(workers);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let live = scenario.row.is("mode", &["run"]);
    match scenario.reads_stdin() {
        false => directory.start(&arguments, Stdio::null()),
        true if !live => directory.start(&arguments, File::open(directory.at("log.txt")).unwrap().into()),
        // The producer is still there when the job ends.
        true => {
            let mut process = directory.start(&arguments, Stdio::piped());
            process.feed(&std::fs::read(directory.at("log.txt")).unwrap());
            process
        }
    }
}

/// Runs the row with its number of processes, all of which must succeed; returns the end of the first.
fn ended_together(scenario: &Scenario, directory: &Directory, workers: &str) -> Checked<Ended> {
    if scenario.row.is("processes", &["1"]) {
        return well(start(scenario, directory, workers).end());
    }
    let taken: Vec<TcpListener> = (0..2).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    let hosts = taken.iter().map(|taken| format!("{}\n", taken.local_addr().unwrap()));
    directory.write("hosts", hosts.collect::<String>());
    drop(taken);
    let of = |process: &'static str| {
        let arguments = scenario.arguments(workers).into_iter();
        // Only the first process writes.
        let writes = |word: &String| process == "0" || !["--out", "--report"].contains(&word.as_str());
        let written =
            |word: &String| process == "0" || !word.starts_with("releases.") && word != "report.html";
        let own = ["-n", "2", "-p", process, "--hosts", "hosts"].map(str::to_owned);
        let arguments: Vec<String> =
            arguments.filter(|word| writes(word) && written(word)).chain(own).collect();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        directory.start(&arguments, Stdio::null())
    };
    let (other, first) = (of("1"), of("0"));
    let (first, other) = (first.end(), other.end());
    let other = well(other).map_err(|why| format!("the second process: {why}\nthe first: {}", first.err))?;
    match other.out.is_empty() {
        true => well(first),
        false => Err(format!("the second process released lines: {}", other.out)),
    }
}

/// Returns the end of a process that must succeed.
fn well(ended: Ended) -> Checked<Ended> {
    match (ended.hung, ended.code) {
        (false, Some(0)) => Ok(ended),
        (true, _) => {
            Err(format!("{}: it did not end within {:?}\n{}", ended.arguments, ended.took, ended.err))
        }
        (_, code) => Err(format!("{}: exit code {code:?}\n{}", ended.arguments, ended.err)),
    }
}

fn lines_of(scenario: &Scenario, directory: &Directory, printed: &str, torn: bool) -> Checked<Lines> {
    match scenario.out() {
        None => Lines::of(printed, false, torn),
        Some(file) if !printed.is_empty() => {
            Err(format!("lines in {file}, and on standard output: {printed}"))
        }
        Some(file) => Lines::of(&directory.read(file), scenario.row.is_csv(), torn),
    }
}

/// Checks that every window of the schedule is released, and no other; or is skipped, where its input has a
/// gap.
fn complete(scenario: &Scenario, lines: &Lines) -> Checked<()> {
    let (mut found, expected) =
        (lines.closed.keys().cloned().collect::<BTreeSet<Window>>(), scenario.windows());
    let has_gaps = scenario.has_gaps() && lines.others.values().all(|status| status == "skipped");
    if has_gaps {
        found.extend(lines.others.keys().cloned());
    }
    if found != expected || !(lines.others.is_empty() || has_gaps) {
        return Err(format!("windows {found:?}, others {:?}, expected {expected:?}", lines.others));
    }
    let (answers, asked) = (lines.answers.keys().collect::<BTreeSet<_>>(), scenario.answers());
    if answers != asked.keys().collect() && !has_gaps {
        return Err(format!("answers {answers:?}, expected {asked:?}"));
    }
    // An alert has no line in its pause.
    let pauses = scenario.row.is("statistic", &["alert"]) && scenario.row.is("form", &["2"]);
    let public = !scenario.row.is("keys", &["discover"]) && !pauses;
    match lines.closed.iter().find(|(_, cells)| public && cells.is_empty()) {
        Some((window, _)) => Err(format!("{window:?} without a value")),
        None => Ok(()),
    }
}

fn report(scenario: &Scenario, directory: &Directory, word: &str) -> Checked<()> {
    if scenario.row.is("report", &["no"]) {
        return Ok(());
    }
    let page = directory.read("report.html");
    let whole = page.trim_end().ends_with("</html>") && page.contains("visits") && page.contains(word);
    if whole { Ok(()) } else { Err(format!("no report: {} bytes", page.len())) }
}

/// A demonstration: its exact numbers are those of the log, for any number of workers.
fn demo(scenario: &Scenario) -> Checked<Done> {
    let mut exact: Vec<BTreeMap<(Window, String), (String, String)>> = Vec::new();
    let workers = scenario.row.value("workers");
    let other = if workers == "1" { "2" } else { "1" };
    for workers in [workers, other] {
        let directory = prepared(scenario);
        let ended = if exact.is_empty() {
            well(start(scenario, &directory, workers).end())?
        } else {
            ended_together(scenario, &directory, workers)?
        };
        let lines = lines_of(scenario, &directory, &ended.out, false)?;
        if !scenario.is_synthetic() || scenario.row.is("horizon", &["stated"]) {
            complete(scenario, &lines)?;
        }
        report(scenario, &directory, "DEMO")?;
        compared(scenario, &lines)?;
        let cells = |(window, cells): (&Window, &BTreeMap<String, Cell>)| {
            let of =
                |(key, cell): (&String, &Cell)| Some(((window.clone(), key.clone()), cell.exact.clone()?));
            cells.iter().filter_map(of).collect::<Vec<_>>()
        };
        let answers = (ANSWERS.to_owned(), String::new(), String::new());
        exact.push(lines.closed.iter().chain([(&answers, &lines.answers)]).flat_map(cells).collect());
    }
    // The set of discovered keys depends on noise, and so do the most frequent ones.
    for (place, one) in &exact[0] {
        match exact[1].get(place) {
            Some(other) if one != other => {
                return Err(format!("{place:?}: {one:?} on {workers} workers, {other:?} on {other:?}"));
            }
            None if !scenario.row.is("keys", &["discover"]) && !scenario.row.is("statistic", &["top"]) => {
                return Err(format!("{place:?} on one side alone"));
            }
            _ => {}
        }
    }
    Ok(Done { kills: 0, second_runs: 1 })
}

/// Compares the exact numbers of a demonstration with those that the test computes.
fn compared(scenario: &Scenario, lines: &Lines) -> Checked<()> {
    for (question, count) in scenario.answers() {
        let tally =
            lines.answers.get(&question).and_then(|answer| answer.exact.as_ref()).map(|(tally, _)| tally);
        if count.is_some() && count.map(|count| count.to_string()).as_ref() != tally {
            return Err(format!("{question}: tally {tally:?}, expected {count:?}"));
        }
    }
    let truth = scenario.truth();
    for (window, cells) in &lines.closed {
        let Some(known) = truth.get(window) else { continue };
        for (key, cell) in cells {
            let expected = known.get(key).map(i64::to_string);
            let Some((tally, shown)) = &cell.exact else {
                return Err(format!("{window:?} {key}: no exact numbers"));
            };
            if Some(shown) != expected.as_ref() {
                return Err(format!("{window:?} {key}: truth {shown}, expected {expected:?}"));
            }
            if scenario.is_unbounded() && tally != shown {
                return Err(format!(
                    "{window:?} {key}: tally {tally} under a bound that does not bind, truth {shown}"
                ));
            }
        }
    }
    Ok(())
}

/// The amount that the account has spent, and its number of windows.
fn spent(directory: &Directory) -> Checked<String> {
    let page = well(directory.run(&["ledger", "show", "job.ledger", "--json"]))?.out;
    let page: Value = serde_json::from_str(&page).map_err(|error| error.to_string())?;
    Ok(page["accounts"].to_string())
}

fn made(scenario: &Scenario) -> Checked<Directory> {
    let directory = prepared(scenario);
    well(directory.run(&["ledger", "init", "job.ledger", "--config", "job.toml"]))?;
    Ok(directory)
}

/// The lines of a run; in alphabetical order if there are questions, whose place among windows depends on when they are
/// counted.
fn in_order<'o>(scenario: &Scenario, out: &'o str) -> Vec<&'o str> {
    let mut lines: Vec<&str> = out.lines().collect();
    if !scenario.row.is("asked", &["no"]) {
        lines.sort_unstable();
    }
    lines
}

/// A replay or a live run: once, again, and killed in between.
fn released(scenario: &Scenario, now: i64, seed: u64) -> Checked<Done> {
    let workers = scenario.row.value("workers");
    let directory = made(scenario)?;
    let ended = well(start(scenario, &directory, workers).end())?;
    let lines = lines_of(scenario, &directory, &ended.out, false)?;
    complete(scenario, &lines)?;
    report(scenario, &directory, "visits")?;
    let cost = spent(&directory)?;
    let file = scenario.out().map(|out| directory.read(out));

    let again = ended_together(scenario, &directory, workers)?;
    let file_again = scenario.out().map(|out| directory.read(out));
    // A live run on standard output prints only new lines.
    let same = file == file_again
        && (in_order(scenario, &again.out) == in_order(scenario, &ended.out)
            || (scenario.row.is("mode", &["run"]) && again.out.is_empty()));
    if !same {
        return Err(format!(
            "a second run released other lines:\n{}{}",
            again.out,
            file_again.unwrap_or_default()
        ));
    }
    let unchanged = spent(&directory)?;
    if unchanged != cost {
        return Err(format!("a second run was charged: {cost}, then {unchanged}"));
    }
    well(directory.run(&["ledger", "verify", "job.ledger"]))?;
    let kills = killed(scenario, now, &cost, ended.took, seed)?;
    Ok(Done { kills, second_runs: 1 })
}

/// A run that is killed and started again: each window has one value, and all are charged once.
fn killed(scenario: &Scenario, now: i64, cost: &str, usual: Duration, seed: u64) -> Checked<u32> {
    let workers = scenario.row.value("workers");
    // Windows around the present are made anew: those of the first run are over.
    let passed = jiff::Timestamp::now().as_microsecond() - now;
    let moves = scenario.row.is("mode", &["run"]) && scenario.row.is("every", &["second"]);
    let moved = moves.then(|| Scenario::new(scenario.row.clone(), now + passed));
    let scenario = moved.as_ref().unwrap_or(scenario);
    let directory = made(scenario)?;
    let mut process = start(scenario, &directory, workers);
    // Half of the runs are killed after the first line, half at some moment.
    let moment = usual.mul_f64(Random(seed).below(1_000) as f64 / 1_000.0);
    let at_a_line = seed.is_multiple_of(2);
    let has_released = |process: &Process| match scenario.out() {
        None => process.stdout().contains('\n'),
        Some(file) => directory.read(file).lines().count() > 1,
    };
    while !process.has_ended() && !(if at_a_line { has_released(&process) } else { process.age() >= moment })
    {
        if process.age() > crate::kit::process::LIMIT {
            return Err(format!("no line within {:?}", process.age()));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let (first, was_killed) = process.kill();
    let before = lines_of(scenario, &directory, &first.out, true)?;
    let second = well(start(scenario, &directory, workers).end())?;
    let after = lines_of(scenario, &directory, &second.out, false)?;
    let live = scenario.row.is("mode", &["run"]) && scenario.out().is_none();
    for (window, cells) in &before.closed {
        match after.closed.get(window) {
            Some(again) if again != cells => {
                return Err(format!("{window:?} before a kill {cells:?}, after it {again:?}"));
            }
            None if !live => return Err(format!("{window:?} before a kill, and not after it")),
            _ => {}
        }
    }
    for (question, answer) in &before.answers {
        match after.answers.get(question) {
            Some(again) if again != answer => {
                return Err(format!("{question} before a kill {answer:?}, after it {again:?}"));
            }
            None if !live => return Err(format!("{question} before a kill, and not after it")),
            _ => {}
        }
    }
    if !live {
        complete(scenario, &after)?;
    }
    let paid = spent(&directory)?;
    // Where the input has a gap, what is skipped depends on the moment of the kill.
    if paid != cost && !scenario.has_gaps() {
        return Err(format!("a killed run was charged {paid}, another one {cost}"));
    }
    well(directory.run(&["ledger", "verify", "job.ledger"]))?;
    Ok(was_killed.into())
}
