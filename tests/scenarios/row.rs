//! A row of the array: its log, its command line, its windows and its exact numbers.

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::date;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, Zoned};

use crate::covering::Values;
use crate::job_file::job;
use crate::kit::job::JobText;
use crate::kit::lines::Window;
use crate::kit::log::{self, Event, Separated, pack};
use crate::kit::{Directory, Random};
use crate::model::FACTORS;

pub(crate) const SECOND: i64 = 1_000_000;
/// The other releases of a job.
pub(crate) const BESIDE: &str = "people_of_everything";
const QUANTILE: &str = "middle";
/// The listed keys; nobody has the last one.
pub(crate) const KEYS: [&str; 4] = ["a", "b", "c", "nobody"];
const EDGES: [i64; 3] = [10, 20, 30];
const PEOPLE: u64 = 24;
const EVENTS: i64 = 240;

/// A row, read by the names of its values.
#[derive(Clone, Debug)]
pub(crate) struct Row(pub(crate) Values);

/// The job, the log and the expected results of a row.
pub(crate) struct Scenario {
    pub(crate) row: Row,
    pub(crate) job: JobText,
    events: Vec<Event>,
    /// The ends of the windows of `every`, one more than there are windows.
    ends: Vec<i64>,
}

impl Row {
    pub(crate) fn value(&self, factor: &str) -> &'static str {
        let at = FACTORS.iter().position(|(name, _)| *name == factor).unwrap();
        FACTORS[at].1[self.0[at]]
    }

    pub(crate) fn is(&self, factor: &str, values: &[&str]) -> bool {
        values.contains(&self.value(factor))
    }

    /// The names of the other releases.
    pub(crate) fn beside(&self) -> &'static [&'static str] {
        match self.value("beside") {
            "no" => &[],
            "one" => &[BESIDE],
            _ => &[BESIDE, QUANTILE],
        }
    }

    /// The form of a log of separated fields.
    fn separated(&self) -> Separated {
        match self.value("separated") {
            "marks" => Separated::Marks,
            "names" => Separated::Names,
            _ => Separated::Usual,
        }
    }

    /// Returns true if the release is a total over windows.
    pub(crate) fn runs(&self) -> bool {
        !self.is("running", &["no", "false"])
    }

    pub(crate) fn is_csv(&self) -> bool {
        self.is("out", &["csv"])
    }

    /// The row in the order of its factors, as a message prints it.
    pub(crate) fn shown(&self) -> String {
        let values =
            FACTORS.iter().zip(&self.0).map(|((name, values), value)| format!("{name}={}", values[*value]));
        values.collect::<Vec<_>>().join(" ")
    }

    fn zone(&self) -> &'static str {
        if self.is("zone", &["no"]) { "UTC" } else { "Europe/Berlin" }
    }

    /// The field names of the source for id, user, key and value.
    pub(crate) fn fields(&self) -> [&'static str; 4] {
        match self.value("source") {
            "combined" => ["agent", "user", "path", "bytes"],
            "synthetic" => ["time", "user", "key", "value"],
            "jsonl" if self.is("explode", &["first"]) => ["id", "user", "items.key", "items.value"],
            _ => ["id", "user", "key", "value"],
        }
    }
}

/// The key of the records that the condition of a source leaves out.
pub(crate) const LEFT_OUT: &str = "left-out";

impl Scenario {
    /// Makes the scenario of a row; a live run with windows of a second has them around `now`.
    pub(crate) fn new(row: Row, now: i64) -> Scenario {
        let ends = ends(&row, now);
        let events = events(&row, &ends);
        let job = job(&row, &ends);
        Scenario { row, job, events, ends }
    }

    pub(crate) fn is_synthetic(&self) -> bool {
        self.row.is("source", &["synthetic"])
    }

    /// Writes the files of the scenario.
    pub(crate) fn write(&self, directory: &Directory) {
        directory.write("job.toml", self.job.to_string());
        directory.write("a.token", "a-token-of-a-scenario\n");
        directory.write("an.token", "a-token-of-an-analyst\n");
        let words = KEYS.map(|key| format!("{key},/all/{key}\n")).concat();
        directory.write("words.csv", format!("key,place\n{words}"));
        let between = if self.row.is("by", &["several"]) { "\t/all\t[0, inf)\n" } else { "\n" };
        directory.write("keys.txt", KEYS.map(|key| format!("{key}{between}")).concat());
        directory.write("categories.txt", KEYS.map(|key| format!("{key}\n")).concat() + "other\n");
        directory.write("questions.jsonl", self.questions());
        if self.is_synthetic() {
            return;
        }
        let format = self.format();
        let log = |events: &[Event]| {
            let separated = self.row.separated();
            let left_out = |event: &Event| Event {
                id: format!("{}-left-out", event.id),
                key: LEFT_OUT.to_owned(),
                value: 999,
                ..event.clone()
            };
            let events: Vec<Event> = match self.row.value("where") {
                "key" | "release" => {
                    events.iter().flat_map(|event| [left_out(event), event.clone()]).collect()
                }
                _ => events.to_vec(),
            };
            let mut log = log::write(self.row.value("source"), &events, format, self.row.zone(), separated);
            if self.row.is("explode", &["first"]) && self.row.is("source", &["jsonl"]) {
                log = log::exploded(&log);
            }
            if self.row.is("bad", &["some"]) {
                log += &separated.unreadable();
            }
            log
        };
        let place = self.row.value("place");
        if place == "glob" {
            let half = self.events.len() / 2;
            directory.write("log-1.txt", log(&self.events[..half]));
            directory.write("log-2.txt", log(&self.events[half..]));
        } else {
            if place == "spool" {
                std::fs::create_dir(directory.join("spool")).unwrap();
            }
            directory.write(&self.file(), pack(place, log(&self.events).as_bytes()));
        }
    }

    /// The file of the log; a pattern if there are two.
    pub(crate) fn file(&self) -> String {
        match self.row.value("place") {
            "glob" => "log-*.txt".to_owned(),
            // A segment before the first one, that no run has open.
            "spool" => "spool/00000000.jsonl".to_owned(),
            packed @ ("gz" | "bz2" | "zst") => format!("log.txt.{packed}"),
            _ => "log.txt".to_owned(),
        }
    }

    fn format(&self) -> &'static str {
        match self.row.value("format") {
            "no" if self.row.is("source", &["combined"]) => "clf",
            "no" => "unix",
            format => format,
        }
    }

    /// Returns true if windows that begin before the run lack a part of their input.
    pub(crate) fn has_gaps(&self) -> bool {
        self.row.is("mode", &["run"]) && self.reads_stdin()
    }

    /// Returns true if the log is read from standard input.
    pub(crate) fn reads_stdin(&self) -> bool {
        self.row.is("place", &["stdin"])
    }

    /// The arguments of the command that runs it.
    pub(crate) fn arguments(&self, workers: &str) -> Vec<String> {
        let mut arguments: Vec<&str> = match self.row.value("mode") {
            "demo" => vec!["replay", "job.toml", "--demo"],
            mode => vec![mode, "job.toml"],
        };
        let file = self.file();
        if self.row.is("place", &["from"]) {
            arguments.extend(["--from", &file]);
        }
        arguments.extend(["-w", workers]);
        match self.row.value("out") {
            "stdout" => {}
            kind => {
                arguments.extend(["--out", if kind == "csv" { "releases.csv" } else { "releases.jsonl" }])
            }
        }
        if self.row.is("report", &["html"]) {
            arguments.extend(["--report", "report.html"]);
        }
        arguments.into_iter().map(str::to_owned).collect()
    }

    /// The file that lines go to.
    pub(crate) fn out(&self) -> Option<&'static str> {
        match self.row.value("out") {
            "stdout" => None,
            "csv" => Some("releases.csv"),
            _ => Some("releases.jsonl"),
        }
    }

    /// The released windows.
    pub(crate) fn windows(&self) -> BTreeSet<Window> {
        self.spans().keys().cloned().collect()
    }

    /// The released windows, each with the span of the events that count in it.
    fn spans(&self) -> BTreeMap<Window, (i64, i64)> {
        let mut spans = self.spans_of("visits", self.row.runs(), self.row.is("over", &["two"]));
        for name in self.row.beside() {
            spans.extend(self.spans_of(name, false, false));
        }
        spans
    }

    /// The windows of one release, for totals so far or not, and windows of two steps or of one.
    fn spans_of(&self, name: &str, runs: bool, two: bool) -> BTreeMap<Window, (i64, i64)> {
        let written = |time: i64| Timestamp::from_microsecond(time).unwrap().to_string();
        let window = |start: i64, end: i64| (name.to_owned(), written(start), written(end));
        if self.row.is("every", &["all"]) {
            if self.row.is("horizon", &["no"]) {
                let whole = (name.to_owned(), String::new(), String::new());
                return BTreeMap::from([(whole, (i64::MIN, i64::MAX))]);
            }
            let (start, end) = (self.ends[0], *self.ends.last().unwrap());
            return BTreeMap::from([(window(start, end), (start, end))]);
        }
        let mut ends = self.ends.clone();
        // Inferred windows are those that hold a record, in the whole span of all releases.
        let slides = !self.row.runs() && self.row.is("over", &["two"]);
        if self.row.is("horizon", &["no"]) && slides {
            let beside = around(&self.row, &ends);
            ends.insert(0, beside.0);
            ends.push(beside.1);
        }
        let each = (1..ends.len()).map(|at| {
            let (start, end) = (ends[at - 1], ends[at]);
            let since = match (runs, two) {
                (true, false) => ends[0],
                (true, true) => ends[(at - 1).saturating_sub(1)],
                _ => start,
            };
            (window(start, end), (since, end))
        });
        if runs || !two {
            return each.collect();
        }
        ends.windows(3).map(|ends| (window(ends[0], ends[2]), (ends[0], ends[2]))).collect()
    }

    /// The exact number of each window and key before contribution bounding, for counts, people and sums.
    pub(crate) fn truth(&self) -> BTreeMap<Window, BTreeMap<String, i64>> {
        if self.is_synthetic() {
            return BTreeMap::new();
        }
        let (statistic, keys) = (self.row.value("statistic"), self.row.value("keys"));
        let is_simple = ["count", "people", "sum", "histogram"].contains(&statistic);
        let spans = self.spans().into_iter();
        spans
            .filter_map(|(window, span)| match window.0.as_str() {
                "visits" if is_simple => {
                    let mut truth = self.truth_of(statistic, keys, span);
                    if self.row.is("rollup", &["yes"]) {
                        // In a table, a key of the level above is a list.
                        let above = |(key, number): (&String, &i64)| {
                            let (key, _) = key.rsplit_once(", [").unwrap();
                            let parts: Vec<&str> = key.split(", ").collect();
                            [(key.to_owned(), *number), (format!("{parts:?}").replace(", ", ","), *number)]
                        };
                        let above: Vec<_> = truth.iter().flat_map(above).collect();
                        truth.extend(above);
                    }
                    Some((window, truth))
                }
                BESIDE => Some((window, self.truth_of("people", "no", span))),
                _ => None,
            })
            .collect()
    }

    /// The questions as lines of JSON.
    fn questions(&self) -> String {
        let [_, _, key, value] = self.row.fields();
        let key = if self.row.is("by", &["derived", "several"]) { "word" } else { key };
        let line = |(at, (_, over)): (usize, (i64, i64))| {
            // A window is over when no late record can be of it.
            let late = if self.row.is("late", &["1s"]) { SECOND } else { 0 };
            let over = Timestamp::from_microsecond(over + late).unwrap();
            let about = format!("\"analyst\":\"ann\",\"at\":\"{over}\"");
            let condition = format!("{key} = \\\"a\\\" and {value} >= 0");
            let mean = format!(
                "{{\"id\":\"mean {at}\",{about},\"mean\":\"{value}\",\"of\":[0,50],\"where\":\"all\"}}"
            );
            format!("{{\"id\":\"count {at}\",{about},\"count\":\"{condition}\"}}\n{mean}\n")
        };
        self.asked_about().into_iter().enumerate().map(line).collect()
    }

    /// The windows that the questions are about.
    fn asked_about(&self) -> Vec<(i64, i64)> {
        let ends = &self.ends;
        if self.row.is("asked", &["no"]) {
            return Vec::new();
        }
        match self.row.is("every", &["all"]) {
            true => vec![(ends[0], ends[ends.len() - 1])],
            false => [1, ends.len() - 2].map(|at| (ends[at], ends[at + 1])).into(),
        }
    }

    /// The expected answers: the exact number of a count, where it is known.
    pub(crate) fn answers(&self) -> BTreeMap<String, Option<i64>> {
        let mut answers = BTreeMap::new();
        for (at, span) in self.asked_about().into_iter().enumerate() {
            let known = self.is_unbounded() && !self.is_synthetic();
            let of_key = |span| {
                let counts = self.truth_of("count", "discover", span).into_iter();
                counts.filter(|(key, _)| key.starts_with('a')).map(|(_, count)| count).sum()
            };
            let count = known.then(|| of_key(span));
            answers.insert(format!("ann count {at}"), count);
            answers.insert(format!("ann mean {at}"), None);
        }
        answers
    }

    fn truth_of(&self, statistic: &str, keys: &str, (since, until): (i64, i64)) -> BTreeMap<String, i64> {
        let mut seen = BTreeSet::new();
        let drops = self.row.is("unit", &["drop"]);
        let counted: Vec<&Event> = (self.events.iter())
            .filter(|event| event.user.is_some() || !drops)
            .filter(|event| self.row.is("id", &["no"]) || seen.insert(&event.id))
            .collect();
        let cell = |event: &Event| match (statistic, keys) {
            ("histogram", _) => bucket(event.value),
            (_, "no") => String::new(),
            _ => event.key.clone(),
        };
        let behind = if keys != "no" && self.row.is("by", &["several"]) { ", /all, [0, inf)" } else { "" };
        let number = |key: &str| {
            let here =
                counted.iter().filter(|event| (since..until).contains(&event.time) && cell(event) == *key);
            match statistic {
                // If the unit is the record, each record counts as a person.
                "people" if self.row.is("unit", &["record"]) => here.count() as i64,
                "people" => here.map(|event| &event.user).collect::<BTreeSet<_>>().len() as i64,
                "sum" => here.map(|event| event.value).sum(),
                "count" | "histogram" => here.count() as i64,
                other => panic!("{other} has no exact number here"),
            }
        };
        let keys: BTreeSet<String> = match (statistic, keys) {
            ("histogram", _) => [0, 10, 20, 30].map(bucket).into(),
            (_, "discover") => counted.iter().map(|event| event.key.clone()).collect(),
            (_, "no") => BTreeSet::from([String::new()]),
            _ => KEYS.map(str::to_owned).into(),
        };
        keys.iter().map(|key| (format!("{key}{behind}"), number(key))).collect()
    }

    /// Returns true if no contribution bound leaves out anything, so that the tally is the exact value.
    pub(crate) fn is_unbounded(&self) -> bool {
        self.row.is("bound", &["wide"])
            && self.row.is("windows", &["no"])
            && !self.row.is("unit", &["record"])
    }
}

/// The name of the bucket of a histogram that holds a value.
fn bucket(value: i64) -> String {
    match EDGES.iter().filter(|edge| value >= **edge).count() {
        0 => "(-inf, 10)".to_owned(),
        3 => "[30, inf)".to_owned(),
        at => format!("[{}, {})", EDGES[at - 1], EDGES[at]),
    }
}

fn zoned(row: &Row, time: i64) -> Zoned {
    Timestamp::from_microsecond(time).unwrap().to_zoned(TimeZone::get(row.zone()).unwrap())
}

/// The start of the first window, and the length of one.
fn first(row: &Row, now: i64) -> (Zoned, Span) {
    let zone = TimeZone::get(row.zone()).unwrap();
    let at =
        |year, month, day, hour| date(year, month, day).at(hour, 0, 0, 0).to_zoned(zone.clone()).unwrap();
    match row.value("every") {
        "second" if row.is("mode", &["run"]) => {
            (zoned(row, now.div_euclid(SECOND) * SECOND), Span::new().seconds(1))
        }
        "second" => (at(2026, 5, 4, 10), Span::new().seconds(1)),
        // The second day of four has 23 hours in Berlin.
        "day" => (at(2026, 3, 28, 0), Span::new().days(1)),
        // The last hour of the first week is missing in Berlin.
        "week" => (at(2026, 3, 23, 0), Span::new().weeks(1)),
        "month" => (at(2026, 1, 1, 0), Span::new().months(1)),
        _ => (at(2026, 5, 4, 10), Span::new().hours(1)),
    }
}

fn ends(row: &Row, now: i64) -> Vec<i64> {
    let (start, step) = first(row, now);
    (0..5).map(|times| start.checked_add(step * times).unwrap().timestamp().as_microsecond()).collect()
}

/// The end of a window before the first, and one after the last.
fn around(row: &Row, ends: &[i64]) -> (i64, i64) {
    let (_, step) = first(row, 0);
    let moved =
        |time: i64, step: Span| zoned(row, time).checked_add(step).unwrap().timestamp().as_microsecond();
    (moved(ends[0], -step), moved(ends[ends.len() - 1], step))
}

fn events(row: &Row, ends: &[i64]) -> Vec<Event> {
    let mut random = Random(11);
    let (from, until) = (ends[0], *ends.last().unwrap());
    let mut events = Vec::new();
    for number in 0..EVENTS {
        // The first and the last moment have an event each.
        let time = from + (until - SECOND - from) / SECOND * number / (EVENTS - 1) * SECOND;
        let missing = number % 40 == 7 && !row.is("unit", &["reject"]);
        let user = format!("u{}", random.below(PEOPLE));
        let event = Event {
            id: format!("id{number}"),
            user: (!missing).then_some(user),
            key: ["a", "a", "b", "c"][random.below(4) as usize].to_owned(),
            value: random.below(40) as i64,
            time,
        };
        if row.is("id", &["field"]) && number % 10 == 3 {
            events.push(event.clone());
        }
        events.push(event);
    }
    if row.is("horizon", &["stated"]) && !row.is("every", &["all"]) {
        let outside = |id: &str, time| Event { id: id.to_owned(), time, ..events[0].clone() };
        let (before, after) = (outside("before", from - SECOND), outside("after", until));
        events.insert(0, before);
        events.push(after);
    }
    if !row.is("order", &["sorted"]) {
        for at in (1..events.len()).rev() {
            events.swap(at, random.below(at as u64 + 1) as usize);
        }
    }
    events
}
