//! `[source]`: the source of the records, and the meaning of their fields.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use super::csv;
use super::csv::CsvSpec;
use super::mistake::MistakeDetail;
use super::node::{ConfigNode, TableNode};
use super::number::ConfigNumber;
use super::span::TimeFormat;
use super::span::{SIZE_WORDS, bytes, fixed, unit_words};
use super::watch::{check_token, read_address, read_token_file};
use crate::job::MistakeKind;
use crate::job::condition::Condition;
use crate::job::derived::FieldNames;
use crate::time::{Span, Zone};

/// The source of the records.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SourceSpec {
    /// The format of the records, and their place.
    pub records: RecordFormat,
    /// The field of a record's event time; `None` if no release needs one.
    pub time: Option<TimeField>,
    /// The zone of times that name none, and of days and months.
    pub zone: Zone,
    /// The order of records that the source promises.
    pub order: RecordOrder,
    /// The allowed lateness: the time after its end for which a window takes records; `None` for no lateness.
    pub late: Option<Span>,
    /// The time by which a record of a live run may lie ahead of the watermark; one that lies further ahead is
    /// dropped.
    pub ahead: Span,
    /// The most unreadable lines before the source is refused.
    pub bad_lines: u64,
    /// The condition of the records that count, if there is one.
    pub condition: Option<Condition>,
    /// The field of the record id; records with the same id count once.
    pub id: Option<String>,
    /// The fields of lines of JSON, if the file declares them: each a name, or the path to it with dots.
    pub fields: Option<Vec<String>>,
    /// The array of which each element is a record, if lines of JSON have one.
    pub explode: Option<ExplodeSpec>,
    /// The receiver of records over HTTP, if a live run has one; the place is its spool.
    pub http: Option<HttpSpec>,
}

/// The array in a line of JSON of which each element is a record.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExplodeSpec {
    /// The name of the array, or the path to it with dots.
    pub array: String,
    /// The most elements of a line that count, from the first one on.
    pub most: u64,
}

impl ExplodeSpec {
    /// Returns true for the name of an element, and of a field of one.
    pub(crate) fn holds(&self, field: &str) -> bool {
        let rest = field.strip_prefix(self.array.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }
}

/// The format of the records.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum RecordFormat {
    /// Lines of separated fields, with the marks and names of this form.
    Csv(SourcePlace, CsvSpec),
    /// One JSON object a line.
    Jsonl(SourcePlace),
    /// The combined log of a web server.
    Combined(SourcePlace),
    /// The rows of Parquet files, for replays.
    Parquet(SourcePlace),
    /// The rows of Arrow IPC files, of the file format or the stream format, for replays.
    Arrow(SourcePlace),
    /// Synthetic records, from a seed.
    Synthetic(Synthetic),
}

impl SourceSpec {
    /// Returns the zone in whose local time, without an offset, the times may be stated.
    pub(crate) fn local_zone(&self) -> Option<&Zone> {
        let is_local = self.time.as_ref().is_some_and(|time| time.format.is_local());
        Some(&self.zone).filter(|zone| is_local && **zone != Zone::utc())
    }
}

impl RecordFormat {
    /// The word of `source.type` in a job file.
    pub fn word(&self) -> &'static str {
        match self {
            RecordFormat::Csv(..) => "csv",
            RecordFormat::Jsonl(_) => "jsonl",
            RecordFormat::Combined(_) => "combined",
            RecordFormat::Parquet(_) => "parquet",
            RecordFormat::Arrow(_) => "arrow",
            RecordFormat::Synthetic(_) => "synthetic",
        }
    }

    /// The place that records are read from; `None` for synthetic records.
    pub fn place(&self) -> Option<&SourcePlace> {
        match self {
            RecordFormat::Csv(place, _)
            | RecordFormat::Jsonl(place)
            | RecordFormat::Combined(place)
            | RecordFormat::Parquet(place)
            | RecordFormat::Arrow(place) => Some(place),
            RecordFormat::Synthetic(_) => None,
        }
    }

    /// Returns true for columnar files, which have an end and are not appended to.
    pub fn is_columnar(&self) -> bool {
        matches!(self, RecordFormat::Parquet(_) | RecordFormat::Arrow(_))
    }

    /// Returns true if records come from standard input, which is read once.
    pub fn is_stdin(&self) -> bool {
        self.place() == Some(&SourcePlace::Stdin)
    }
}

/// The place that records are read from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SourcePlace {
    /// Standard input.
    Stdin,
    /// The files of this path, which may hold `*`; relative paths are joined to the job file's directory.
    Files(PathBuf),
}

/// The receiver of records over HTTP.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct HttpSpec {
    /// The address at which a live run listens.
    pub listen: SocketAddr,
    /// The file whose first line each request must carry, if the address has one.
    pub token: Option<PathBuf>,
    /// The most bytes of a batch.
    pub batch: u64,
    /// The most bytes that the spool holds.
    pub hold: u64,
}

/// The parameters of synthetic records. Their fields are user, key, value and time.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Synthetic {
    /// The number of people.
    pub people: u64,
    /// The number of records.
    pub rows: u64,
    /// The number of keys.
    pub keys: u64,
    /// The skew of keys and of people.
    pub skew: Option<ConfigNumber>,
    /// The seed from which all records are generated.
    pub seed: Option<u64>,
}

/// The field of a record's event time, and its format.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct TimeField {
    /// The name of the field.
    pub field: String,
    /// The format of the time.
    pub format: TimeFormat,
}

/// The order of records that a source promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RecordOrder {
    /// No order.
    Any,
    /// Ascending event time; a line out of order fails the source.
    Sorted,
}

/// The fields of a combined log.
pub(super) const COMBINED_FIELDS: [&str; 9] =
    ["client", "user", "time", "method", "path", "status", "bytes", "referer", "agent"];

/// The fields of synthetic records.
pub(in crate::job) const SYNTHETIC_FIELDS: [&str; 4] = ["user", "key", "value", "time"];

const TYPES: [&str; 6] = ["csv", "jsonl", "combined", "synthetic", "parquet", "arrow"];
const COMMON: [&str; 8] = ["time", "zone", "order", "late", "ahead", "bad", "where", "id"];

/// The time by which records may lie ahead, where nothing is said.
pub(in crate::job) const AHEAD: i64 = 86_400_000_000;

pub(super) fn read(node: ConfigNode<'_>, beside: &Path, names: FieldNames<'_>) -> Option<SourceSpec> {
    // The fields depend on the type, so it is read first.
    let kind = node.descendant(&["type"]);
    let kind = if kind.is_table() { None } else { Some(kind.one_of(&TYPES.map(|word| (word, word)))?) };
    let (required, own): (&[&str], &[&str]) = match kind {
        Some("synthetic") => (&["type", "people", "rows", "keys"], &["skew", "seed"]),
        Some("jsonl") => (&["type", "path"], &["fields", "explode", "http"]),
        Some("csv") => (&["type", "path"], &csv::FIELDS),
        Some(_) => (&["type", "path"], &[]),
        // The type itself is missing or misspelt: the fields of any type are accepted.
        None => (
            &["type"],
            &[
                "path",
                "delimiter",
                "quote",
                "comment",
                "header",
                "people",
                "rows",
                "keys",
                "skew",
                "seed",
                "fields",
                "explode",
                "http",
            ],
        ),
    };
    // Those of a csv source are refused below where the type is another one.
    let is_other = kind.is_some_and(|kind| kind != "csv");
    let of_csv = csv::FIELDS.into_iter().filter(|name| is_other && node.has(name));
    let optional: Vec<&str> = COMMON.into_iter().chain(own.iter().copied()).chain(of_csv).collect();
    let fields = node.fields(required, &optional)?;
    if let Some(kind) = kind.filter(|_| is_other) {
        csv::refuse(&fields, kind);
    }
    let records = match kind {
        Some("synthetic") => synthetic(&fields).map(RecordFormat::Synthetic),
        Some("csv") => {
            let (place, form) = (place(&fields, beside), csv::read(&fields));
            place.zip(form).map(|(place, form)| RecordFormat::Csv(place, form))
        }
        Some("jsonl") => place(&fields, beside).map(RecordFormat::Jsonl),
        Some("combined") => place(&fields, beside).map(RecordFormat::Combined),
        Some("parquet") => columnar(&fields, beside, "Parquet").map(RecordFormat::Parquet),
        Some("arrow") => columnar(&fields, beside, "Arrow").map(RecordFormat::Arrow),
        // A source without a type has been refused; one whose type is a table is refused here.
        _ => fields.read("type", |node| node.text()).and(None),
    };
    let combined = kind == Some("combined");
    let by_itself = match kind {
        Some("combined") => Some(TimeFormat::Clf),
        Some("parquet" | "arrow") => Some(TimeFormat::Column),
        _ => None,
    };
    let named = fields.node("time");
    let (time, inner) = match named {
        Some(node) => {
            time(&node, combined, by_itself).map_or((None, None), |(field, zone)| (Some(field), zone))
        }
        None => (combined.then(|| TimeField { field: "time".into(), format: TimeFormat::Clf }), None),
    };
    let outer = fields.read("zone", zone);
    if let (Some(_), Some(_), Some(node)) = (&inner, &outer, fields.node("zone")) {
        return node.conflict("a second zone", "one zone, here or in time");
    }
    let zone = inner.or(outer).unwrap_or_else(Zone::utc);
    let order = fields
        .read("order", |node| node.one_of(&[("any", RecordOrder::Any), ("sorted", RecordOrder::Sorted)]));
    let late = fields.read("late", late);
    let ahead = fields.read("ahead", |node| node.accept_words(fixed(node.text()?), &unit_words(&[])));
    let ahead = match ahead {
        Some(ahead) => ahead,
        None => Span::microseconds(AHEAD).ok()?,
    };
    let bad_lines = fields.read("bad", |node| {
        node.fields(&["lines"], &[])?.read("lines", |node| node.whole(0, i64::MAX as u64))
    });
    let id =
        fields.read("id", |node| node.fields(&["field"], &[])?.read("field", |node| node.non_empty_text()));
    let condition = fields.read("where", |node| node.accept(Condition::parse(node.text()?, &names)));
    let declared = fields.read("fields", |node| {
        let nodes = node.list()?;
        if nodes.is_empty() {
            return node.refuse("no field", "the names of the fields that the records have");
        }
        nodes.iter().map(ConfigNode::non_empty_text).collect::<Option<Vec<String>>>()
    });
    let explode = fields.read("explode", |node| {
        let fields = node.fields(&["array", "most"], &[])?;
        let array = fields.read("array", |node| node.non_empty_text());
        let most = fields.read("most", |node| node.whole(1, MOST_ELEMENTS));
        Some(ExplodeSpec { array: array?, most: most? })
    });
    let http = fields.read("http", |node| {
        // Senders keep no order among them: a record that was acknowledged would end every start.
        if order == Some(RecordOrder::Sorted) {
            return node.conflict("records in order of time", "order = \"any\" in source.order");
        }
        if let Some(SourcePlace::Files(path)) = records.as_ref().and_then(RecordFormat::place)
            && !path.to_string_lossy().contains(['*', '?', '['])
        {
            return http(&node, beside);
        }
        node.conflict("a path that is no directory", "the directory of the spool in source.path")
    });
    // A sender that was acknowledged does not mend its lines: one of them must not end every start.
    let bad_by_default = if http.is_some() { i64::MAX as u64 } else { 0 };
    Some(SourceSpec {
        records: records?,
        time,
        zone,
        order: order.unwrap_or(RecordOrder::Any),
        late: late.flatten(),
        ahead,
        bad_lines: bad_lines.unwrap_or(bad_by_default),
        condition,
        id,
        fields: declared,
        explode,
        http,
    })
}

fn place(fields: &TableNode<'_>, beside: &Path) -> Option<SourcePlace> {
    let path = fields.read("path", |node| node.non_empty_text())?;
    Some(if path == "-" { SourcePlace::Stdin } else { SourcePlace::Files(beside.join(path)) })
}

/// Reads the place of columnar files.
fn columnar(fields: &TableNode<'_>, beside: &Path, name: &str) -> Option<SourcePlace> {
    if !cfg!(feature = "arrow") {
        let found = format!("{name} files, which this build does not read");
        fields.read("type", |node| {
            node.refuse::<()>(found, "a build with `--features arrow`, or csv or jsonl")
        });
    }
    match place(fields, beside)? {
        SourcePlace::Stdin => fields.read("path", |node| {
            node.conflict(
                "standard input",
                format!("the path of {name} files, which are read at their places"),
            )
        }),
        files => Some(files),
    }
}

/// The largest number of elements of a line that may count: a line of 1 MiB has fewer.
const MOST_ELEMENTS: u64 = 1_000_000;

/// An address to listen at.
const EXAMPLE: &str = "127.0.0.1:8080";

/// The default of the most bytes of a batch.
const BATCH_BYTES: u64 = 1_000_000;

/// The default of the most bytes of a spool.
const HOLD_BYTES: u64 = 1_000_000_000;

/// The bytes that the spool may hold beside those of a batch.
const HELD_BESIDE: u64 = 100;

/// The most bytes that a batch may be allowed to have: each connection holds one in memory.
const MOST_BATCH_BYTES: u64 = 16_000_000;

fn http(node: &ConfigNode<'_>, beside: &Path) -> Option<HttpSpec> {
    let fields = node.fields(&["listen"], &["token", "batch", "hold"])?;
    let size = |name, default| match fields.node(name) {
        Some(node) => node.accept_words(bytes(node.text()?), &SIZE_WORDS),
        None => Some(default),
    };
    let (batch, hold) = (size("batch", BATCH_BYTES)?, size("hold", HOLD_BYTES)?);
    if let Some(node) = fields.node("batch").filter(|_| batch > MOST_BATCH_BYTES) {
        return node.refuse("a size that is too large", "a size of at most 16 MB");
    }
    // A batch has up to a line end and a record beside it.
    if hold < batch.saturating_add(HELD_BESIDE) {
        return node.conflict("a spool that holds no batch", "a larger hold, or a smaller batch");
    }
    let listen = fields.read("listen", |node| read_address(&node, EXAMPLE));
    let token = read_token_file(&fields, beside)?;
    check_token(&fields, listen?, token.as_deref(), EXAMPLE)?;
    Some(HttpSpec { listen: listen?, token, batch, hold })
}

fn synthetic(fields: &TableNode<'_>) -> Option<Synthetic> {
    let many = |name| fields.read(name, |node| node.whole(1, 1 << 40));
    let (people, rows, keys) = (many("people"), many("rows"), many("keys"));
    let skew = fields.read("skew", |node| {
        let text = node.number("a number from 0 to 10")?;
        match node.accept(ConfigNumber::parse(text))? {
            skew if (0.0..=10.0).contains(&skew.to_f64()) => Some(skew),
            _ => node.refuse("a number out of range", "a number from 0 to 10"),
        }
    });
    let seed = fields.read("seed", |node| node.whole(0, i64::MAX as u64));
    Some(Synthetic { people: people?, rows: rows?, keys: keys?, skew, seed })
}

/// Reads the field of time, and the zone if it is stated here. A combined log has both field and format by
/// itself, and a column may have a type that is a time.
fn time(
    node: &ConfigNode<'_>,
    combined: bool,
    by_itself: Option<TimeFormat>,
) -> Option<(TimeField, Option<Zone>)> {
    let fields = match (combined, &by_itself) {
        (true, _) => node.fields(&[], &["field", "format", "zone"]),
        (false, Some(_)) => node.fields(&["field"], &["format", "zone"]),
        (false, None) => node.fields(&["field", "format"], &["zone"]),
    }?;
    let (field, format) = (fields.node("field"), fields.node("format"));
    let field = match field {
        Some(node) => node.non_empty_text(),
        None => combined.then(|| "time".to_owned()),
    };
    let format = match format {
        Some(node) => {
            node.text().and_then(|text| node.accept_words(TimeFormat::parse(text), &TimeFormat::WORDS))
        }
        None => by_itself,
    };
    let zone = fields.read("zone", zone);
    Some((TimeField { field: field?, format: format? }, zone))
}

fn zone(node: ConfigNode<'_>) -> Option<Zone> {
    let found = Zone::named(node.text()?);
    let names = if found.is_err() { Zone::names() } else { Vec::new() };
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    node.accept_words(found, &names)
}

/// Reads a lateness, which may be zero.
fn late(node: ConfigNode<'_>) -> Option<Option<Span>> {
    let text = node.text()?;
    let unit = text.trim_start_matches('0');
    if unit.len() < text.len() && !unit.starts_with(|c: char| c.is_ascii_digit()) {
        // A lateness of zero, in any unit; an unknown unit is refused below.
        let one = format!("1{unit}");
        return node.accept_words(fixed(&one), &unit_words(&[])).map(|_| None);
    }
    node.accept_words(fixed(text), &unit_words(&[])).map(Some)
}

/// Returns the name of the field of the records' time, as far as the table of the source states one.
pub(super) fn time_field(node: &ConfigNode<'_>) -> Option<String> {
    let by_itself =
        node.descendant(&["type"]).as_text().filter(|word| ["combined", "synthetic"].contains(word));
    let field = node.descendant(&["time", "field"]).as_text().or(by_itself.map(|_| "time"));
    field.map(str::to_owned)
}

/// Returns the zone that the table of the source states, unless it is a mistake.
pub(super) fn stated_zone(node: &ConfigNode<'_>) -> Option<Zone> {
    let stated = |path: &[&str]| Zone::named(node.descendant(path).as_text()?).ok();
    stated(&["time", "zone"]).or_else(|| stated(&["zone"]))
}

/// Refuses names of fields that the records of this source never have.
pub(super) fn check_names<'n>(
    source: &SourceSpec,
    node: &ConfigNode<'_>,
    names: impl Iterator<Item = &'n str>,
) {
    let known: Vec<&str> = match (&source.records, &source.fields) {
        (RecordFormat::Combined(_), _) => COMBINED_FIELDS.to_vec(),
        (RecordFormat::Synthetic(_), _) => SYNTHETIC_FIELDS.to_vec(),
        (RecordFormat::Jsonl(_), Some(declared))
        | (RecordFormat::Csv(_, CsvSpec { header: Some(declared), .. }), _) => {
            declared.iter().map(String::as_str).collect()
        }
        (
            RecordFormat::Csv(..)
            | RecordFormat::Jsonl(_)
            | RecordFormat::Parquet(_)
            | RecordFormat::Arrow(_),
            _,
        ) => return,
    };
    for name in names.filter(|name| !known.contains(name)) {
        let wrong = MistakeDetail { kind: MistakeKind::Unknown, ..MistakeDetail::unknown_word(name, &known) };
        node.record_mistake::<()>(wrong);
    }
}
