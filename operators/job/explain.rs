//! A released line in sentences: what it says, what it promises to whom, how sure its interval is, and what
//! it does not promise.
//!
//! A line is read by the one parser of lines. Of its value and its interval the digits are shown that the noise leaves a meaning;
//! other numbers are copied digit by digit. What a line does not
//! say, such as its statistic, its account and its version, is added from the job file where there is one.

mod alert;
mod cell;
mod top;

use std::fmt;

use cell::{CellSentences, NumberOrigin};

use super::Job;
use super::config::{
    AskSpec, BoundSpec, Every, Missing, PriceSpec, Protected, ReleaseSpec, fixed_span, shell_quoted,
};
use super::plan::described_statistic;
use super::statistics::ContributionKind;
use crate::accounting::{Adjacency, PrivacyUnit, Promise, Relation};
use crate::ledger::Name;
use crate::mechanisms::queries::ReleasedAnswer;
use crate::mechanisms::release_line::{CellLine, LineError, LineWindow, RefusedLine, ReleaseLine, Says};
use crate::time::{Zone, ZoneRules, at, in_json, in_words};
use crate::words::{visible, wrapped};

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
        let mut page = Explanation::head(&read.release, read.window, job);
        if read.demo {
            page.add("demo", DEMO);
        }
        match &read.says {
            Says::Cell(cell) => {
                page.cell(cell, stated.as_ref())?;
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

    fn head(release: &str, window: LineWindow<'_>, job: Option<&Job>) -> Explanation {
        let mut page = Explanation { parts: Vec::new() };
        page.add("release", release);
        let local = job.and_then(|job| window_in_zone(window, &job.source.zone)).unwrap_or_default();
        page.add("window", &format!("{}{local}", window_in_words(window)));
        page
    }

    fn add(&mut self, name: &'static str, text: &str) {
        self.parts.push((name, text.to_owned()));
    }

    fn cell(&mut self, cell: &CellLine<'_>, stated: Option<&StatedRelease<'_>>) -> Result<(), LineError> {
        let origin = stated
            .map_or(NumberOrigin::Line, |stated| NumberOrigin::Release(stated.release, stated.unit_noun()));
        let sentences = CellSentences { cell, origin };
        self.add("value", &sentences.value());
        self.add("interval", &sentences.interval());
        self.add("noise", &sentences.noise());
        if let Some(fitted) = sentences.fitted() {
            self.add("fitted", &fitted);
        }
        if let Some(covariances) = sentences.covariances() {
            self.add("covariance", &covariances);
        }
        let is_alert = cell.noise.iter().any(|noise| noise.crossing().is_some());
        self.promise(
            &cell.promise,
            match (cell.total.is_some(), is_alert) {
                (true, _) => "All totals of the release together cost",
                (_, true) => "All alarms of the release together cost, however many windows are silent,",
                (false, false) => "This window costs",
            },
        )?;
        self.add("id", &format!("{}, the hash of account, job, version, release and window.", cell.id));
        Ok(())
    }

    /// Adds the promise of a line and its cost.
    fn promise(&mut self, brief: &str, paid: &str) -> Result<(), LineError> {
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
        self.add("cost", &format!("{paid} {cost} of the budget{cut}."));
        Ok(())
    }

    fn closed(&mut self, cells: u64, sequence: i64, chain: &str, ledger: Option<&str>) {
        let lines = match cells {
            0 => "no line before this one: no key had enough people, or there was none, or an alert has ended or pauses".to_owned(),
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
        let has_interval = cell.low.is_some() || cell.high.is_some();
        // Picks of a window hold all together.
        if cell.confidence != "1" && has_interval && cell.noise.iter().all(|noise| noise.within.is_none()) {
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
        let mut page = Explanation::head(&release, window, job);
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
                let is_mean = asked.starts_with("mean");
                let origin = if is_mean { NumberOrigin::Mean } else { NumberOrigin::Count };
                let sentences = CellSentences { cell, origin };
                page.add("value", &sentences.value());
                page.add("interval", &sentences.interval());
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
        let paid = "All answers of the bundle together cost";
        page.promise(promise.as_deref().unwrap_or_default(), paid)?;
        page.parts.extend(stated.into_iter().flat_map(|(job, ask)| answers_by(job, ask)));
        page.add("no promise", NO_PROMISE);
        Ok(page)
    }
}

/// Prints the parts, each behind its name, in lines of at most 100 characters.
impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, text) in &self.parts {
            // A line may come from anywhere, and a terminal obeys what a text in it commands.
            let text = visible(text);
            write!(f, "{name:INDENT$}{}", wrapped(&text, WIDTH, INDENT).trim_start_matches(' '))?;
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

/// Returns the window in the local time of a zone, in a sentence, if the zone is another one than UTC.
fn window_in_zone(window: LineWindow<'_>, zone: &Zone) -> Option<String> {
    if *zone == Zone::utc() {
        return None;
    }
    let rules = ZoneRules::of(zone).ok()?;
    let local = |end: Option<&str>| Some(rules.local(at(end?).ok()?)?.strftime("%Y-%m-%d %H:%M").to_string());
    let (start, end) = (local(window.start)?, local(window.end)?);
    Some(format!(" In {} from {start} on and before {end}.", zone.name()))
}

/// The sentence of everything that no line promises.
const NO_PROMISE: &str = "Nothing is promised about records that came too late, were unreadable or never \
     reached the source, about ids that give one person two, or towards the operator, who may read the \
     records.";

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

    /// Returns the noun of the privacy unit.
    fn unit_noun(&self) -> &'static str {
        if self.job.privacy.privacy_unit == Protected::Record { "record" } else { "person" }
    }

    fn parts(&self) -> Vec<(&'static str, String)> {
        let StatedRelease { job, release } = self;
        let mut parts =
            vec![("statistic", format!("By the job file: {}.", described_statistic(job, release)))];
        parts.extend(
            (job.source.condition.iter())
                .map(|condition| ("records", format!("Those of the source where {condition}."))),
        );
        parts.extend([
            ("person", person(job)),
            ("bound", self.bound()),
            ("account", account(job, &release.price)),
            ("version", version(job, release.version)),
        ]);
        parts
    }

    fn bound(&self) -> String {
        if self.job.privacy.privacy_unit == Protected::Record {
            return "One record counts once in each window that holds it.".to_owned();
        }
        let BoundSpec { keys, per_key, windows, entries, weight } = self.release.bound;
        let statistic = self.release.statistic.as_statistic();
        let each = if statistic.is_keyed() { " of each key" } else { "" };
        let mut parts = Vec::new();
        parts.extend(keys.map(|keys| counted(keys.into(), "key")));
        parts.extend(per_key.map(|records| format!("{}{each}", counted(records.into(), "record"))));
        parts.extend(entries.map(|entries| match entries {
            1 => format!("1 entry{each}"),
            entries => format!("{entries} entries{each}"),
        }));
        // A key has one of these of a person.
        let one = match statistic.contribution() {
            ContributionKind::ClampedSum { .. } => Some("one sum, kept within the range,"),
            ContributionKind::OneValue => Some("one value"),
            ContributionKind::Presence | ContributionKind::Records => None,
        };
        parts.extend(one.filter(|_| !parts.is_empty()).map(|one| format!("{one}{each}")));
        parts.extend(windows.map(|windows| format!("{}, ever", counted(windows.into(), "window"))));
        let of = if self.release.running.is_some() { "all windows together" } else { "a window" };
        let in_part = match weight {
            Some(1) => " Of somebody with more than one of them, each counts in part.".to_owned(),
            Some(weight) => format!(" Of somebody with more than {weight} of them, each counts in part."),
            None => String::new(),
        };
        match (parts.is_empty(), one) {
            (true, None) if weight.is_some() => format!("One person counts in all keys of {of}.{in_part}"),
            (true, None) if statistic.counts_in_all_keys() && statistic.is_keyed() => {
                format!("One person counts once in each key of {of}.")
            }
            (true, None) => format!("One person counts once in {of}."),
            (true, Some(one)) => format!("One person counts with {one} in {of}."),
            (false, _) => format!("Of one person count at most, in {of}: {}.{in_part}", parts.join("; ")),
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
