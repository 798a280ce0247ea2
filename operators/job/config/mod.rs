//! Job files: TOML, read by hand so that every mistake has its line and column.
//!
//! Each table has a file of this directory, which lists its fields at its top; any other field is refused in
//! its place. Budgets, costs and shares are read from their text as exact decimals and are never floats. The
//! validity of a value is decided in its reader; the consistency of tables with each other, once all of them
//! are read; and nothing is validated again after that.
//!
//! `config/reviews.toml` is a job file with a comment on each field; the fields of windows that are added up
//! (`running`, `strategy`, and `over` beside them) are in `config/running.toml`.

mod ask;
mod cross_checks;
mod csv;
mod display;
mod every;
mod fields;
mod grammar;
mod log;
mod mistake;
mod node;
mod number;
mod privacy;
mod reference;
mod release;
mod source;
mod span;
mod tables;
#[cfg(test)]
pub(in crate::job) mod tests;
mod watch;

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use toml::de::DeTable;

pub use ask::AskSpec;
pub use csv::{CsvMarks, CsvSpec};
pub(in crate::job) use display::{cost_fields, list, path, text};
pub use every::RunningSpec;
pub use every::{CalendarUnit, Every};
pub use grammar::declare_fields;
pub use grammar::{FieldDefault, JOB_FIELDS, JobField};
pub use log::{LogFormat, LogLevel, LogSpec};
pub use mistake::{Mistake, MistakeKind, Mistakes};
pub use number::{BudgetShare, ConfigNumber, QuantileFraction};
pub use privacy::ResourceLimits;
pub use privacy::{Accounting, BudgetSpec, Missing, Privacy, Protected};
pub use reference::JobReference;
pub use release::{BoundSpec, CostSpec, PriceSpec, ReleaseSpec};
pub(in crate::job) use source::{AHEAD, SYNTHETIC_FIELDS};
pub use source::{
    ExplodeSpec, HttpSpec, RecordFormat, RecordOrder, SourcePlace, SourceSpec, Synthetic, TimeField,
};
pub use span::TimeFormat;
pub(in crate::job) use span::fixed as fixed_span;
pub use tables::TableSpec;
pub use watch::WatchSpec;

pub use super::derived::DerivedField;
pub use super::statistics::{
    AlertSpec, AltogetherSpec, AnswerRange, CountSpec, CountedNoun, GridSpec, GroupingSpec, HistogramSpec,
    JobFunction, KeyPart, KeysSpec, MarginalsSpec, MaxSpec, MaximumOf, MeanOfRecords, MeanSpec, MeansSpec,
    MeasureSpec, MeasuredSpec, MinSpec, MonotoneSpec, NoiseKind, PeopleSpec, QuantileSpec, RankedOf,
    RatioMeasure, RatioOfRecords, RatioSpec, StatisticSpec, SumSpec, TopSpec, VarianceOfRecords,
    VarianceSpec, VectorBound,
};
pub use crate::time::Zone;

use super::derived::{DerivedFields, FieldNames};
use crate::accounting::PrivacyCost;
use crate::invalid::{Invalid, found_by};
use crate::ledger::{AccountSpec, Name};
use crate::time::{Span, Time, at_in, minutes, seconds};
use cross_checks::Tables;
use mistake::ConfigPage;
pub(in crate::job) use mistake::MistakeDetail;
pub(in crate::job) use node::{ConfigNode, TableNode};

/// A job, as its file states it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Job {
    /// The name of the job.
    pub name: Name,
    /// The version of the job's code and parameters: that of each release without one of its own.
    pub version: u64,
    /// The start of the first window, if the file states one.
    pub from: Option<Time>,
    /// The time after which there is no window, if the file states one.
    pub until: Option<Time>,
    /// The slack of a live run: a window is published one slack after its end and its lateness, or a whole
    /// number of slacks later.
    pub slack: Span,
    /// The time for which a live run holds its windows open after a step of the clock.
    pub clock_hold: Span,
    /// The source of the records.
    pub source: SourceSpec,
    /// The public tables that are joined to each record.
    pub tables: Vec<TableSpec>,
    /// The derived fields, the columns of the tables among them.
    pub fields: DerivedFields,
    /// The privacy unit, the promise, and the budget account.
    pub privacy: Privacy,
    /// The resource limits of the job.
    pub limits: ResourceLimits,
    /// The metrics, the live page and the alerts of a live run.
    pub watch: WatchSpec,
    /// The log of the command.
    pub log: LogSpec,
    /// The releases; at least one, unless there are questions.
    pub releases: Vec<ReleaseSpec>,
    /// The questions that analysts may ask.
    pub asks: Vec<AskSpec>,
    /// The derived fields, with those of the parts of keys.
    pub(in crate::job) derived: DerivedFields,
    pub(in crate::job) account: AccountSpec,
    pub(crate) file: JobFile,
}

/// The path of the job file, for messages. It is always equal and prints nothing: jobs are equal wherever
/// they were read from, and a demonstration's key depends only on the statements of the job.
#[derive(Clone)]
pub(crate) struct JobFile(PathBuf);

impl JobFile {
    /// Returns the path.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Returns the path, quoted for a shell.
    pub(crate) fn quoted(&self) -> String {
        shell_quoted(&self.0)
    }
}

impl PartialEq for JobFile {
    fn eq(&self, _: &JobFile) -> bool {
        true
    }
}

impl fmt::Debug for JobFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JobFile")
    }
}

/// The largest job file, in bytes.
const LARGEST: u64 = 1 << 20;

/// Quotes a path as one word of a command line.
pub(crate) fn shell_quoted(path: &Path) -> String {
    let path = path.to_string_lossy();
    if !path.is_empty() && path.chars().all(|c| c.is_ascii_alphanumeric() || "/._-+=:@%,".contains(c)) {
        return path.into_owned();
    }
    format!("'{}'", path.replace('\'', "'\\''"))
}

impl Job {
    /// Reads a job file. Paths in it are relative to its directory.
    ///
    /// # Errors
    ///
    /// Every mistake in the file, each at its place.
    pub fn open(path: impl AsRef<Path>) -> Result<Job, Mistakes> {
        let path = path.as_ref();
        let shown = path.display().to_string();
        let unreadable = |error: io::Error| Mistakes::unreadable(&shown, found_by(&error), (1, 1));
        let mut bytes = Vec::new();
        let file = File::open(path).map_err(unreadable)?;
        file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(unreadable)?;
        if bytes.len() as u64 > LARGEST {
            return Err(Mistakes::unreadable(&shown, "more than 1 MiB", (1, 1)));
        }
        let text = match std::str::from_utf8(&bytes) {
            Ok(text) => text,
            Err(error) => {
                let sound = &bytes[..error.valid_up_to()];
                let line = sound.iter().filter(|byte| **byte == b'\n').count() + 1;
                let last = sound.rsplit(|byte| *byte == b'\n').next().unwrap_or(sound);
                let column = String::from_utf8_lossy(last).chars().count() + 1;
                return Err(Mistakes::unreadable(&shown, "a byte that is no UTF-8", (line, column)));
            }
        };
        Job::parse(path, text)
    }

    /// Reads the text of a job file at `path`, which need not exist.
    ///
    /// # Errors
    ///
    /// Every mistake in the text, each at its place.
    pub fn parse(path: impl AsRef<Path>, text: &str) -> Result<Job, Mistakes> {
        let path = path.as_ref();
        let (shown, beside) = (path.display().to_string(), path.parent().unwrap_or(Path::new("")));
        let page = ConfigPage::new(&shown, text);
        match DeTable::parse(text) {
            Ok(table) => {
                let job = read(&page, table.get_ref(), (path, beside));
                page.finish(job)
            }
            Err(error) => {
                let end = text.len();
                let found = error.message();
                let remedy = if found == "duplicate key" { "each field once" } else { "valid TOML" };
                let wrong = MistakeDetail::new(MistakeKind::Syntax, found, remedy);
                page.refuse(error.span().unwrap_or(end..end), "config", wrong);
                page.finish(None)
            }
        }
    }

    /// Returns the budget account that the job states, which the ledger must hold.
    ///
    /// The account's cap reserves a part of delta if some release charges a delta. Its promise is
    /// [`Promise::Windows`] if the releases state the number of windows in which a person counts.
    ///
    /// [`Promise::Windows`]: crate::accounting::Promise::Windows
    pub fn account(&self) -> &AccountSpec {
        &self.account
    }

    /// Returns the accounting of the budget account, stated or not; `None` of a budget of pure epsilon.
    pub fn accounting(&self) -> Option<Accounting> {
        Accounting::of(self.account.cap())
    }

    /// Changes the accounting of its account; returns false if the job cannot be kept in it.
    pub(in crate::job) fn keep_in(&mut self, accounting: Accounting) -> bool {
        let is_free = accounting == Accounting::Zcdp
            || cross_checks::obstacle(&self.privacy.budget, &self.releases).is_none();
        let charges = self.releases.iter().any(ReleaseSpec::charges_delta) || !self.asks.is_empty();
        let cap = self.privacy.budget.cap(accounting, charges).ok().filter(|_| is_free);
        if let Some(cap) = cap {
            self.privacy.accounting = Some(accounting);
            self.account.cap = cap;
            return true;
        }
        false
    }

    /// Returns the cap that the budget comes to if releases charge deltas, or if none does.
    pub(in crate::job) fn cap_of_budget(&self, deltas_are_charged: bool) -> Result<PrivacyCost, Invalid> {
        self.privacy.budget.cap(self.accounting().unwrap_or(Accounting::Zcdp), deltas_are_charged)
    }

    /// Returns the names under which the job releases anything: those of its releases, and of its bundles of answers.
    pub fn release_names(&self) -> impl Iterator<Item = &Name> {
        let asks = self.asks.iter().map(|ask| &ask.name);
        self.releases.iter().map(|release| &release.name).chain(asks)
    }

    /// Returns a cost in the account's currency, rounded up.
    pub(crate) fn cost(&self, words: &CostSpec) -> Result<PrivacyCost, Invalid> {
        cross_checks::cost_in_account_currency(words, &self.account)
    }
}

fn read<'a>(page: &'a ConfigPage<'a>, table: &'a DeTable<'a>, (path, beside): (&Path, &Path)) -> Option<Job> {
    let root = TableNode::root(
        page,
        table,
        &["job", "source", "privacy"],
        &["release", "ask", "tables", "fields", "limits", "watch", "log"],
    );
    let zone = root.node("source").and_then(|node| source::stated_zone(&node)).unwrap_or_else(Zone::utc);
    let heading = root.read("job", |node| heading(node, &zone));
    let time = root.node("source").and_then(|node| source::time_field(&node));
    let tables = match root.node("tables") {
        Some(node) => tables::read(&node, beside),
        None => Some(Vec::new()),
    };
    let joined = (tables.as_deref().unwrap_or_default(), root.node("tables"));
    let fields = fields::read(root.node("fields").as_ref(), (joined.0, joined.1.as_ref()), time.as_deref());
    // Without its fields a condition would be refused for another reason than its own.
    let none = DerivedFields::default();
    let names = FieldNames { derived: fields.as_ref().unwrap_or(&none), time: time.as_deref() };
    let source = root.read("source", |node| source::read(node, beside, names));
    let privacy = root.read("privacy", |node| privacy::read(node, beside));
    let limits = root.read("limits", |node| privacy::read_limits(node, beside)).unwrap_or_default();
    let watch = root.read("watch", |node| watch::read_watch(node, beside)).unwrap_or_default();
    let releases = match root.node("release") {
        Some(node) => entries("release", &node, |node| release::read(node, beside, names)),
        None => Some(Vec::new()),
    };
    let asks = match root.node("ask") {
        Some(node) => entries("ask", &node, |node| ask::read(&node, beside)),
        None => Some(Vec::new()),
    };
    if root.present(&["release", "ask"]).is_empty() && root.known {
        let remedy = "at least one [[release]], or [[ask]]";
        root.refuse::<()>("release", MistakeDetail::new(MistakeKind::Missing, "no release", remedy));
    }
    let log = root.read("log", log::read_log).unwrap_or_default();
    let JobHeading { name, version, from, until, slack, clock_hold } = heading?;
    let (source, joined, fields, privacy) = (source?, tables?, fields?, privacy?);
    let (releases, asks) = (releases?, asks?);
    // Two tables are compared only if both are valid by themselves.
    if !page.is_clean() {
        return None;
    }
    let tables = Tables {
        from,
        until,
        source: &source,
        joined: &joined,
        fields: &fields,
        privacy: &privacy,
        releases: &releases,
        asks: &asks,
        watch: &watch,
    };
    let derived = cross_checks::derived(&root, &tables, time.as_deref())?;
    let account = cross_checks::check(&root, &tables)?;
    let file = JobFile(path.to_owned());
    Some(Job {
        name,
        version,
        from,
        until,
        slack,
        clock_hold,
        source,
        tables: joined,
        fields,
        privacy,
        limits,
        watch,
        log,
        releases,
        asks,
        derived,
        account,
        file,
    })
}

/// The fields of `[job]`.
struct JobHeading {
    name: Name,
    version: u64,
    from: Option<Time>,
    until: Option<Time>,
    slack: Span,
    clock_hold: Span,
}

/// Reads `[job]`, whose dates are those of the source's zone.
fn heading(node: ConfigNode<'_>, zone: &Zone) -> Option<JobHeading> {
    let fields = node.fields(&["name", "version"], &["from", "until", "slack", "clock_hold"])?;
    let name = fields.read("name", |node| node.accept(Name::new("name", node.text()?)));
    let version = fields.read("version", |node| node.whole(1, u32::MAX.into()));
    let moment = |name| fields.read(name, |node| node.accept(at_in(node.moment()?, zone)));
    let (from, until) = (moment("from"), moment("until"));
    let length = |name, default: Result<Span, Invalid>| match fields.node(name) {
        Some(node) => node.accept_words(span::fixed(node.text()?), &span::unit_words(&[])),
        None => default.ok(),
    };
    let (slack, clock_hold) = (length("slack", seconds(1)), length("clock_hold", minutes(1)));
    Some(JobHeading { name: name?, version: version?, from, until, slack: slack?, clock_hold: clock_hold? })
}

/// Reads the entries of a list of tables.
fn entries<'a, T>(
    word: &str,
    node: &ConfigNode<'a>,
    read: impl Fn(ConfigNode<'a>) -> Option<T>,
) -> Option<Vec<T>> {
    if node.is_table() {
        return node.refuse("one table", format!("[[{word}]], in two pairs of brackets"));
    }
    let nodes = node.list()?;
    if nodes.is_empty() {
        return node.refuse(format!("no {word}"), format!("at least one [[{word}]]"));
    }
    // All entries are read before any is missed, so that each mistake is reported.
    let entries: Vec<Option<T>> = nodes.into_iter().map(read).collect();
    entries.into_iter().collect()
}
