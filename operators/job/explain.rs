//! A released line in sentences: what it says, what it promises to whom, how sure its interval is, and what
//! it does not promise.
//!
//! A line is read by the one parser of lines, and its numbers are copied digit by digit. What a line does not
//! say, such as its statistic, its account and its version, is added from the job file where there is one.

use std::fmt;

use super::Job;
use super::config::{
    AskSpec, BoundSpec, Every, Missing, PriceSpec, Protected, ReleaseSpec, fixed_span, shell_quoted,
};
use crate::accounting::{Adjacency, PrivacyUnit, Promise, Relation};
use crate::ledger::Name;
use crate::mechanisms::queries::ReleasedAnswer;
use crate::mechanisms::release_line::{
    CellLine, CellNoise, LineError, LineKey, LineWindow, RankInterval, RefusedLine, ReleaseLine, Says,
};
use crate::time::{in_json, in_words};
use crate::words::wrapped;

/// The width of a page, in characters.
const WIDTH: usize = 100;
/// The place at which the sentences of a part begin.
const INDENT: usize = 12;

/// A released line in sentences, in named parts.
///
/// ```
/// use discreet::job::Explanation;
///
/// let line = r#"{"release":"visitors","window":{"start":"2026-01-01T09:00:00Z","end":"2026-01-01T10:00:00Z"},"value":3398,"interval":[3279,3517],"confidence":0.9,"noise":{"kind":"gaussian","scale":72.3},"id":"12f97b81","promise":"lifetime, a person, rho 0.0005734"}"#;
/// let page = Explanation::of(line, None)?.to_string();
/// assert!(page.contains("between 3279 and 3517 with probability at least 90%"));
/// # Ok::<(), discreet::job::LineError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    parts: Vec<(&'static str, String)>,
}

impl Explanation {
    /// Explains a line of JSON, with what the job file knows of its release.
    ///
    /// # Errors
    ///
    /// If the line is damaged, or no release of the job has its name. The error names the field, and quotes
    /// nothing of the line.
    pub fn of(line: &str, job: Option<&Job>) -> Result<Explanation, LineError> {
        if let Some(answer) = ReleasedAnswer::parse(line)? {
            return Explanation::of_answer(line, &answer, job);
        }
        let read = ReleaseLine::parse(line)?;
        let ask = job.and_then(|job| Some((job, ask_of(job, &read.release).ok()?)));
        let release = job.filter(|_| ask.is_none());
        let stated = release.map(|job| StatedRelease::find(job, &read.release)).transpose()?;
        let mut page = Explanation::head(&read.release, read.window);
        if read.demo {
            page.add("demo", DEMO);
        }
        match &read.says {
            Says::Cell(cell) => {
                page.cell(cell)?;
                page.stated(stated.as_ref());
                page.not_promised(cell, stated.as_ref());
            }
            // It was explained above.
            Says::Answer(_) => {}
            Says::Closed { cells, sequence, chain, ledger } => {
                page.closed(*cells, *sequence, chain, ledger.as_deref());
            }
            Says::Refused(refused) => page.refused(refused),
            Says::Never(status, why) => page.never(status, why.as_deref()),
        }
        match ask {
            Some((job, ask)) => page.parts.extend(answers_by(job, ask)),
            // Stated above.
            None if matches!(read.says, Says::Cell(_)) => {}
            None => page.stated(stated.as_ref()),
        }
        Ok(page)
    }

    fn head(release: &str, window: LineWindow<'_>) -> Explanation {
        let mut page = Explanation { parts: Vec::new() };
        page.add("release", release);
        page.add("window", &window_in_words(window));
        page
    }

    fn add(&mut self, name: &'static str, text: &str) {
        self.parts.push((name, text.to_owned()));
    }

    fn cell(&mut self, cell: &CellLine<'_>) -> Result<(), LineError> {
        self.add("value", &value(cell));
        self.add("interval", &interval(cell, LEFT_OUT_NOTHING));
        self.add("noise", &cell.noise.iter().map(|law| noise(law, cell)).collect::<Vec<_>>().join(" "));
        if !cell.covariance.is_empty() {
            let each = cell.covariance.iter().map(|entry| {
                let with = match &entry.with {
                    LineKey::Number(number) => number.to_string(),
                    other => format!("{:?}", other.text()),
                };
                format!(
                    "with {with} {}, with noise of standard deviation {}",
                    entry.value.get(),
                    entry.scale.get()
                )
            });
            let each = each.collect::<Vec<_>>().join("; ");
            self.add("covariance", &format!("{each}. It costs nothing beside the mean."));
        }
        self.promise(&cell.promise, cell.total.is_some())?;
        self.add("id", &format!("{}, the hash of account, job, version, release and window.", cell.id));
        Ok(())
    }

    /// Adds the promise of a line and its cost.
    fn promise(&mut self, brief: &str, is_total: bool) -> Result<(), LineError> {
        let remedy = "the promise of a line, such as \"lifetime, a person, rho 0.01\"";
        let damaged = || LineError::new("promise", "another text", remedy);
        let (promise, adjacency, cost) = read_promise(brief).ok_or_else(damaged)?;
        let unit = match adjacency.unit {
            PrivacyUnit::Person => "all records of one person together (user-level privacy)",
            PrivacyUnit::Record => "one record, and no person who has several (event-level privacy)",
        };
        self.add("promise", &format!("{} What is hidden: {unit}.", promise.sentence(adjacency, in_words)));
        let (cost, cut) = match cost.split_once(", or ") {
            Some((cost, cut)) => (cost, format!(", or {cut}")),
            None => (cost, String::new()),
        };
        let paid = match is_total {
            true => "All totals of the release together cost",
            false => "This window costs",
        };
        self.add("cost", &format!("{paid} {cost} of the budget{cut}."));
        Ok(())
    }

    fn closed(&mut self, cells: u64, sequence: i64, chain: &str, ledger: Option<&str>) {
        let lines = match cells {
            0 => "no line before this one: no key had enough people, or there was none".to_owned(),
            1 => "one line before this one".to_owned(),
            cells => format!("{cells} lines before this one"),
        };
        self.add(
            "status",
            &format!(
                "Released, and complete: the window has {lines}. Its answer is final in this version \
                 of the release."
            ),
        );
        let of = ledger.map_or(String::new(), |ledger| format!(" of the ledger {ledger}"));
        self.add("ledger", &format!("Row {sequence}{of}, with the hash {chain} over all rows up to it."));
        self.add("cost", "None of its own: the lines before it state the cost of the window.");
    }

    fn refused(&mut self, refused: &RefusedLine<'_>) {
        let RefusedLine { by, account, spent, asked, limit } = refused;
        self.add(
            "status",
            &format!(
                "Refused for {by}: nothing was published, nothing was charged, and what was drawn is \
                 discarded."
            ),
        );
        self.add(
            "account",
            &format!("{account} had spent {spent}; the window asked for {asked}, and the limit is {limit}."),
        );
        self.add("promise", "The refusal follows from public costs alone, and says nothing of a person.");
    }

    fn never(&mut self, status: &str, why: Option<&str>) {
        let reason = match (status, why) {
            ("skipped", Some("input gap")) => {
                "Skipped: a part of the input could not be read while the window was open, and nothing is \
                 answered from a part."
            }
            ("skipped", Some("late")) => {
                "Skipped: its deadline had passed, or a later window of the release was settled before it."
            }
            ("skipped", _) => "Skipped: the window gets no answer.",
            _ => "Lost: the window gets no answer, in any version.",
        };
        let known = status == "skipped" && matches!(why, Some("input gap" | "late"));
        let rest = why.filter(|_| !known).map(|why| format!(" It {why}.")).unwrap_or_default();
        self.add("status", &format!("{reason}{rest}"));
        self.add(
            "cost",
            match status {
                "skipped" => "None: nothing was published, and nothing was charged.",
                _ => "None of this line: what a value that was released earlier has cost stays charged.",
            },
        );
    }

    /// Adds what the job file states, or that it would have said more.
    fn stated(&mut self, stated: Option<&StatedRelease<'_>>) {
        match stated {
            Some(stated) => self.parts.extend(stated.parts()),
            None => {
                let is_named = self.parts.iter().any(|(name, _)| *name == "account");
                let account = if is_named { "" } else { ", its account" };
                let text = format!(
                    "The line does not say its statistic, its contribution bound{account} and its version: \
                     the job file does (--job JOB)."
                );
                self.add("unsaid", &text);
            }
        }
    }

    fn not_promised(&mut self, cell: &CellLine<'_>, stated: Option<&StatedRelease<'_>>) {
        let mut text = String::new();
        if cell.confidence != "1" {
            text += "The interval is about the noise of this one number: of many numbers, some are outside \
                 of theirs. ";
        }
        text += NO_PROMISE;
        if stated.is_some_and(|stated| stated.release.selects_partitions()) {
            text += " A key that has no line may have had people, but few.";
        }
        self.add("no promise", &text);
    }

    fn of_answer(line: &str, answer: &ReleasedAnswer, job: Option<&Job>) -> Result<Explanation, LineError> {
        let (release, window, promise) = ReleaseLine::head(line)
            .ok_or_else(|| LineError::new("line", "no answer of a query", "the line as it was written"))?;
        let stated = job.map(|job| Ok((job, ask_of(job, &release)?))).transpose()?;
        let mut page = Explanation::head(&release, window);
        let ReleasedAnswer { question, analyst, asked, at, version, used, left, .. } = answer;
        let moment = |time| in_json(time).trim_matches('"').to_owned();
        page.add("query", &format!("{question:?} of {analyst:?}, asked at {}: {asked}.", moment(*at)));
        let (start, end) = (moment(version.start()), moment(version.end()));
        page.add("records", &format!("Those of the window from {start} to {end}."));
        let cell = match ReleaseLine::read(line).map(|line| line.says) {
            Some(Says::Answer(answer)) => answer.cell,
            _ => None,
        };
        match (&answer.estimate, &cell) {
            (Some(estimate), Some(cell)) => {
                page.add("value", &value(cell));
                page.add("interval", &interval(cell, KEPT_RECORDS));
                page.add(
                    "noise",
                    &format!(
                        "Bounded: the first noise never exceeds {}, however the questions were chosen.",
                        estimate.bound
                    ),
                );
            }
            _ => page.add(
                "status",
                "Refused: the bundle had no answer left for the analyst, or could not record another one.",
            ),
        }
        let own = if answer.estimate.is_some() { ", this one among them" } else { "" };
        page.add(
            "share",
            &format!("The analyst has used {}{own}, and has {left} left.", counted(*used, "answer")),
        );
        page.promise(promise.as_deref().unwrap_or_default(), false)?;
        let (_, cost) = page.parts.pop().unwrap_or_default();
        page.add("cost", &cost.replacen("This window costs", "All answers of the bundle together cost", 1));
        page.parts.extend(stated.into_iter().flat_map(|(job, ask)| answers_by(job, ask)));
        page.add("no promise", NO_PROMISE);
        Ok(page)
    }
}

/// Prints the parts, each behind its name, in lines of at most 100 characters.
impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, text) in &self.parts {
            write!(f, "{name:INDENT$}{}", wrapped(text, WIDTH, INDENT).trim_start_matches(' '))?;
        }
        Ok(())
    }
}

/// The sentence of a line of a demonstration.
const DEMO: &str = "This line is of a demonstration: it protects nobody, and no budget was charged. It is \
     for records that may be shown.";

fn window_in_words(window: LineWindow<'_>) -> String {
    match (window.start, window.end) {
        (Some(start), Some(end)) => format!("From {start} on and before {end}."),
        (Some(start), None) => format!("From {start} on, without an end."),
        (None, Some(end)) => format!("Everything before {end}."),
        (None, None) => "One window over everything.".to_owned(),
    }
}

/// Returns the number of a cell in a sentence, and of a demonstration the exact ones.
fn value(cell: &CellLine<'_>) -> String {
    let number = match cell.value {
        Some(value) => format!("{} is {value}.", subject(cell)),
        None if cell.noise.iter().any(|law| law.assumes.is_some()) => format!(
            "{} is not released: there were too few people, or they do not agree on a shape, or the noise of the test \
             decided so. The line does not say which.",
            subject(cell)
        ),
        None => format!("{} has no value: it is no finite number.", subject(cell)),
    };
    let few = match (cell.insufficient, cell.ranked()) {
        (true, Some(RankInterval::Smallest(_))) => {
            " There were too few people for a full answer: this is the largest possible one."
        }
        (true, _) => " There were too few people for a full answer: this is the least possible one.",
        (false, _) => "",
    };
    let mut exact = String::new();
    let truths = [(cell.tally, "after the contribution bound and the range"), (cell.truth, "of all records")];
    for (number, of) in truths {
        exact += &number.map(|number| format!(" The exact number {of} is {number}.")).unwrap_or_default();
    }
    // A quantile is a rank among values, of records or of people, and a maximum one among people.
    let ranked = if cell.q.is_some() { "values" } else { "people" };
    exact += &cell.off.map(|off| format!(" It is off by {off} {ranked}.")).unwrap_or_default();
    format!("{number}{few}{exact}")
}

/// Returns the names of the noised numbers that a released one is made of.
fn numbers<'c>(cell: &'c CellLine<'_>) -> Vec<&'c str> {
    cell.noise.iter().filter_map(|noise| noise.number.as_deref()).collect()
}

fn is_ratio(cell: &CellLine<'_>) -> bool {
    numbers(cell)[..] == ["sum", "per"]
}

/// Returns the name of a number: its statistic as far as the line says it, its key, and the windows of a
/// total.
fn subject(cell: &CellLine<'_>) -> String {
    let numbers = numbers(cell);
    let what = match (&cell.of, cell.q, cell.ranked()) {
        (Some(LineKey::Text(name)), ..) => format!("The mean of {name:?}"),
        (Some(LineKey::Number(place)), ..) => format!("The mean of coordinate {place}"),
        (_, Some(q), _) => format!("The quantile {q}"),
        (_, _, Some(RankInterval::Largest(_))) => "The value from below".to_owned(),
        (_, _, Some(RankInterval::Smallest(_))) => "The value from above".to_owned(),
        _ => match numbers[..] {
            ["sum", "records"] => "The mean".to_owned(),
            ["sum", "squares", "records"] => "The variance".to_owned(),
            ["sum", "per"] => "The ratio".to_owned(),
            _ => "The number".to_owned(),
        },
    };
    let key = match &cell.key {
        None => String::new(),
        Some(LineKey::Number(number)) => format!(" for the key {number}"),
        Some(LineKey::Text(text)) => match bucket(text) {
            Some(values) => format!(" for {values}"),
            None => format!(" for the key {text:?}"),
        },
        Some(LineKey::Texts { parts, .. }) => {
            let parts: Vec<String> = parts.iter().map(|part| format!("{part:?}")).collect();
            match cell.rollup {
                true => format!(" for all keys that begin with {}", parts.join(" and ")),
                false => format!(" for the key {}", parts.join(" and ")),
            }
        }
    };
    let total = match cell.total.as_deref() {
        None => String::new(),
        Some("so far") => " in all windows up to this one".to_owned(),
        Some(total) => match total.strip_prefix("last ") {
            Some(windows) => format!(" in the last {windows} windows, this one among them"),
            None => format!(" in the windows {total:?}"),
        },
    };
    let gaps = match &cell.gaps[..] {
        [] => String::new(),
        gaps => {
            let gaps = gaps.iter().map(|gap| match (gap.start, gap.end) {
                (Some(start), Some(end)) => format!("from {start} to {end}"),
                (Some(start), None) => format!("from {start} on"),
                _ => "of unknown time".to_owned(),
            });
            format!(", without windows that were skipped ({}),", gaps.collect::<Vec<_>>().join(", "))
        }
    };
    format!("{what}{key}{total}{gaps}")
}

/// Returns the values of a bucket such as `[10, 100)` in words; `None` if the text is none.
fn bucket(text: &str) -> Option<String> {
    let (low, high) = text.strip_prefix(['[', '('])?.strip_suffix(')')?.split_once(", ")?;
    let is_end = |end: &str| matches!(end, "inf" | "-inf") || end.parse::<f64>().is_ok();
    if !is_end(low) || !is_end(high) {
        return None;
    }
    Some(match (low, high) {
        ("-inf", "inf") => "all values".to_owned(),
        ("-inf", high) => format!("values below {high}"),
        (low, "inf") => format!("values from {low} on"),
        (low, high) => format!("values from {low} on and below {high}"),
    })
}

/// The sentence of an interval that holds the number of all records.
const LEFT_OUT_NOTHING: &str = " The contribution bound and the range can leave nothing out of it.";

/// The sentence of the interval of an answer, whose line does not say what a bound may have left out.
const KEPT_RECORDS: &str = " It is of the records that the contribution bound keeps of each person.";

/// The sentence of everything that no line promises.
const NO_PROMISE: &str = "Nothing is promised about records that came too late, were unreadable or never \
     reached the source, about ids that give one person two, or towards the operator, who may read the \
     records.";

/// Returns the interval of a cell in sentences; `unbounded` is the last one if the line says nothing of a
/// bound.
fn interval(cell: &CellLine<'_>, unbounded: &str) -> String {
    let sure = match cell.confidence {
        "1" => "with certainty".to_owned(),
        confidence => {
            format!(
                "with probability at least {}, over the noise, for this number by itself",
                percent(confidence)
            )
        }
    };
    match cell.ranked() {
        Some(RankInterval::Largest(people)) => {
            let least = cell.low.map(|low| format!(" The exact one is at least {low}.")).unwrap_or_default();
            return format!(
                "Open above: it is too small by design, for nothing of one person may be published. Without \
                 {people} people or fewer the exact one would not be above it, {sure}.{least}"
            );
        }
        Some(RankInterval::Smallest(people)) => {
            let most = cell.high.map(|high| format!(" The exact one is at most {high}.")).unwrap_or_default();
            return format!(
                "Open below: it is too large by design, for nothing of one person may be published. Without \
                 {people} people or fewer the exact one would not be below it, {sure}.{most}"
            );
        }
        Some(RankInterval::Near(values)) => {
            let ends = match (cell.low, cell.high) {
                (Some(low), Some(high)) => {
                    format!(" Every possible answer is from {low} to {high}, which is public.")
                }
                _ => String::new(),
            };
            return format!(
                "At most {values} values are between this value and the exact quantile, {sure}. How far \
                 that is in values is not promised.{ends}"
            );
        }
        None => {}
    }
    let number = match cell.interval_of.is_some() {
        true => "The exact number after the contribution bound and the range",
        false => "The exact number",
    };
    let ends = match (cell.low, cell.high) {
        (Some(low), Some(high)) => format!("is between {low} and {high}"),
        (Some(low), None) => format!("is at least {low}, and nothing bounds it from above,"),
        (None, Some(high)) => format!("is at most {high}, and nothing bounds it from below,"),
        (None, None) if is_ratio(cell) => {
            return "None: the sum below the line may be 0, and nothing then bounds the ratio.".to_owned();
        }
        (None, None) => return "None: nothing is promised of the distance to the exact number.".to_owned(),
    };
    let of = match cell.interval_of.as_deref() {
        Some("bounded") => {
            " What the bound and the range left out is not in it, and how much that is stays private."
        }
        Some(_) => " It is of another number than the exact one.",
        None => unbounded,
    };
    format!("{number} {ends} {sure}.{of}")
}

/// Returns a probability as a percentage, without digits that a float makes up.
fn percent(confidence: &str) -> String {
    match confidence.parse::<f64>() {
        Ok(part) => format!("{}%", (part * 1e10).round() / 1e8),
        Err(_) => confidence.to_owned(),
    }
}

/// Returns a noise in a sentence.
fn noise(law: &CellNoise<'_>, cell: &CellLine<'_>) -> String {
    let of = match (&law.number, cell.noise.len()) {
        (Some(number), 2..) => format!(" in the {number}"),
        _ => String::new(),
    };
    let scale = law.scale();
    let first = match (&*law.kind, law.comparisons, cell.ranked().is_some()) {
        (kind, Some(comparisons), _) => {
            format!(
                "The value was found by {comparisons} comparisons with {kind} noise of scale {scale}, in \
                 people"
            )
        }
        (kind, None, true) => {
            format!("The value was chosen by its rank, by the law {kind} of scale {scale}, in values")
        }
        ("gaussian", ..) => format!("Discrete Gaussian noise of standard deviation {scale}{of}"),
        ("gaussian of the shape of the data", ..) => {
            format!("Gaussian noise of the shape of the records, of {scale} of their standard deviation")
        }
        ("laplace", ..) => format!("Discrete Laplace noise of scale {scale}{of}"),
        (kind, ..) => format!("Noise of the law {kind} with scale {scale}{of}"),
    };
    let mut text = first;
    if let Some(strategy) = &law.strategy {
        text += &format!(", at most, correlated over the windows by the strategy {strategy}");
    }
    if let Some(grid) = law.grid() {
        text += &format!(", on a public grid of step {grid}");
    }
    text.push('.');
    if let Some(over) = law.over_bound() {
        text += &format!(" That is {over} times the least that is known to be possible at this price.");
    }
    if let Some(assumed) = &law.assumes {
        text += &format!(" It assumes, and does not prove: {assumed}.");
    }
    text
}

/// Reads the promise of a line, which [`Promise::briefly`] has written: the promise, its adjacency, and the
/// cost.
fn read_promise(brief: &str) -> Option<(Promise, Adjacency, &str)> {
    let (when, rest) = brief.split_once(", a ")?;
    let (unit, cost) = rest.split_once(", ")?;
    let (unit, relation) = match unit.strip_suffix(" replaced") {
        Some(unit) => (unit, Relation::Replace),
        None => (unit, Relation::AddRemove),
    };
    let unit = match unit {
        "person" => PrivacyUnit::Person,
        "record" => PrivacyUnit::Record,
        _ => return None,
    };
    let length = |text| fixed_span(text).ok().map(|span| span.as_microseconds().unsigned_abs());
    let promise = match when.split_once(' ') {
        None if when == "lifetime" => Promise::Lifetime,
        Some(("lifetime", most)) => {
            Promise::Windows(most.strip_prefix("in ")?.strip_suffix(" windows")?.parse().ok()?)
        }
        Some(("any", span)) => Promise::Any(length(span)?),
        Some(("each", span)) => Promise::Each(length(span)?),
        _ => return None,
    };
    (!cost.is_empty()).then_some((promise, Adjacency { unit, relation }, cost))
}

/// The statements of a job about one of its releases.
struct StatedRelease<'j> {
    job: &'j Job,
    release: &'j ReleaseSpec,
}

impl<'j> StatedRelease<'j> {
    fn find(job: &'j Job, name: &str) -> Result<StatedRelease<'j>, LineError> {
        let release = job.releases.iter().find(|release| release.name.as_str() == name);
        Ok(StatedRelease { job, release: release.ok_or_else(|| of_another(job))? })
    }

    fn parts(&self) -> Vec<(&'static str, String)> {
        let StatedRelease { job, release } = self;
        let unit = job.privacy.privacy_unit.adjacency().unit;
        let describe = release.statistic.as_statistic().describe(&unit.to_string());
        let statistic = format!("By the job file, a window has {describe}.");
        vec![
            ("statistic", statistic),
            ("person", person(job)),
            ("bound", self.bound()),
            ("account", account(job, &release.price)),
            ("version", version(job, release.version)),
        ]
    }

    fn bound(&self) -> String {
        if self.job.privacy.privacy_unit == Protected::Record {
            return "One record counts once in each window that holds it.".to_owned();
        }
        let BoundSpec { keys, per_key, windows, entries } = self.release.bound;
        let mut parts = Vec::new();
        parts.extend(keys.map(|keys| counted(keys.into(), "key")));
        parts.extend(per_key.map(|records| format!("{} of each key", counted(records.into(), "record"))));
        parts.extend(entries.map(|entries| match entries {
            1 => "1 entry of each key".to_owned(),
            entries => format!("{entries} entries of each key"),
        }));
        parts.extend(windows.map(|windows| format!("{}, ever", counted(windows.into(), "window"))));
        let of = if self.release.running.is_some() { "all windows together" } else { "a window" };
        match parts.is_empty() {
            true => format!("One person counts once in {of}."),
            false => format!("Of one person count at most, in {of}: {}.", parts.join("; ")),
        }
    }
}

/// Returns the error of a line of a release that the job does not have.
fn of_another(job: &Job) -> LineError {
    let names: Vec<&str> = job.release_names().map(Name::as_str).collect();
    let remedy = format!("the job file of the line; this one has {}", names.join(", "));
    LineError::new("release", "a name that the job file has not", remedy)
}

fn ask_of<'j>(job: &'j Job, name: &str) -> Result<&'j AskSpec, LineError> {
    job.asks.iter().find(|ask| ask.name.as_str() == name).ok_or_else(|| of_another(job))
}

/// Returns what a job says of its questions.
fn answers_by(job: &Job, ask: &AskSpec) -> Vec<(&'static str, String)> {
    let fields: Vec<&str> = ask.fields.keys().map(String::as_str).collect();
    let every = match ask.every {
        Every::All => "of all time".to_owned(),
        every => format!("of the last {every} that is over"),
    };
    let bundle = format!(
        "By the job file, {} to questions about {}, {every}.",
        counted(ask.answers, "answer"),
        fields.join(", ")
    );
    let bound = match job.privacy.privacy_unit {
        Protected::Record => "One record counts once.".to_owned(),
        Protected::Person { .. } => {
            let records = counted(ask.per_key.unwrap_or(1).into(), "record");
            format!("Of one person count at most, in a window: {records}.")
        }
    };
    vec![
        ("statistic", bundle),
        ("person", person(job)),
        ("bound", bound),
        ("account", account(job, &ask.price)),
        ("version", version(job, ask.version)),
    ]
}

fn counted(count: u64, one: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        count => format!("{count} {one}s"),
    }
}

fn person(job: &Job) -> String {
    match &job.privacy.privacy_unit {
        Protected::Record => "Not protected as such: the privacy unit is one record.".to_owned(),
        Protected::Person { field, missing } => {
            let missing = match missing {
                Missing::Drop => "are left out",
                Missing::Reject => "are unreadable",
                Missing::Shared => "belong to one shared person",
            };
            format!("One value of the field {field:?}; records without one {missing}.")
        }
    }
}

fn account(job: &Job, price: &PriceSpec) -> String {
    let share = match price {
        PriceSpec::Share(share) => format!(" The release has {} of it.", share.to_decimal()),
        PriceSpec::Cost(_) => String::new(),
    };
    let (account, ledger) = (job.account(), shell_quoted(&job.privacy.ledger));
    format!("{} of the ledger {ledger}, with a budget of {}.{share}", account.name(), account.cap())
}

fn version(job: &Job, own: Option<u32>) -> String {
    format!("{} of job {}, as its file is now.", own.map_or(job.version, u64::from), job.name)
}

#[cfg(test)]
mod tests;
