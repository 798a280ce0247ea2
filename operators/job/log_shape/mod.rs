//! The shape of a log: of each record the person, the time, and the cell and the value that each release
//! reads of it.
//!
//! It is read from a log that is stated to be public, or generated, and never from the records that a job
//! protects: a file of the job's own source is refused. What the contribution bound of a release would leave
//! out of each of its cells is counted in it exactly ([`cells`]), so that a bound can be chosen without a
//! draw of noise, and at no cost.

pub(in crate::job) mod cells;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::config::{ConfigNumber, Job, Protected, RecordFormat, SourcePlace};
use super::paths::same_file;
use super::release_group::ReleaseFields;
use super::release_plan::ReleasePlan;
use super::sources::{
    self, Brake, Crew, FieldRequirements, Id, InputPace, MISSING, SourcePart, SourceRecord, Survey,
    SyntheticLog, listed_files,
};
use super::statistics::{CellKey, StatisticSpec};
use crate::dataflow::{Pulled, RunError, Source};
use crate::mechanisms::{DecimalPoint, Edges};
use crate::time::Time;

/// The shape of a log.
#[derive(Clone)]
pub struct LogShape {
    rows: u64,
    people: u64,
    /// The number of people for whom each of the shape stands.
    scale: f64,
    /// True if the records have the values of their fields.
    has_values: bool,
    /// The records of each release that count for it.
    releases: Vec<ReleaseRecords>,
}

/// The numbers that state a log.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StatedLog {
    /// The number of records.
    pub rows: u64,
    /// The number of people who have them.
    pub people: u64,
    /// The number of keys; without it as many as the largest list of a release has, or 100 if keys are
    /// discovered.
    pub keys: Option<u64>,
    /// The skew of keys and of people.
    pub skew: Option<ConfigNumber>,
}

/// The records of a log that count for a release.
#[derive(Clone, Default)]
struct ReleaseRecords {
    records: Vec<CountedRecord>,
    /// The number of keys: those that are listed, or those that the log has.
    keys: u64,
}

/// A record, as a release counts it.
#[derive(Clone, Copy)]
struct CountedRecord {
    person: u32,
    key: u32,
    time: Time,
    value: i64,
}

/// The most records of a shape, each of 24 bytes for each release.
const MOST: u64 = 20_000_000;

/// The most records that are generated of a stated log; each of them stands for several people of a larger
/// one.
const GENERATED: u64 = 500_000;

/// The number of keys of a stated log whose keys are discovered.
const KEYS: u64 = 100;

redacted!(LogShape);

impl LogShape {
    /// Reads the shape of a sample that is stated to be public, in the format of the job's source. Records
    /// outside of the windows of the job do not count.
    ///
    /// # Errors
    ///
    /// If the sample is a file of the job's own, cannot be read as its source can, or has no record in its
    /// windows; and if the source of the job is synthetic.
    pub fn of_sample(job: &Job, sample: &Path) -> Result<LogShape, RunError> {
        if matches!(job.source.records, RecordFormat::Synthetic(_)) {
            let message = "--like: the source of this job is synthetic, and no file is like it; leave it out";
            return Err(RunError::configuration(message));
        }
        refuse_own_files(job, sample)?;
        let mut sampled = job.clone();
        sampled.read_from(sample)?;
        // A sample of what a job receives is a file of such lines.
        sampled.source.http = None;
        read(&sampled, "--like")
    }

    /// Reads the shape of the log that the job itself generates.
    ///
    /// # Errors
    ///
    /// If the source of the job is not synthetic, or none of its records is in a window.
    pub fn of_synthetic(job: &Job) -> Result<LogShape, RunError> {
        if !matches!(job.source.records, RecordFormat::Synthetic(_)) {
            let message = "--rows: found nothing; give --rows and --people, or --like with a public sample";
            return Err(RunError::configuration(message));
        }
        read(job, "source.rows")
    }

    /// Generates a log of these numbers. Its keys stand for those that a release lists, the most common one
    /// for the first; its records have no values.
    ///
    /// # Errors
    ///
    /// If the job has no last window or cannot be planned, or the numbers state no log.
    pub fn stated(job: &Job, log: StatedLog) -> Result<LogShape, RunError> {
        let offers = job.release_plans(job.horizon())?;
        let span = match (job.from, job.until) {
            (Some(from), Some(until)) => Some((from, until)),
            _ if job.is_timed() => {
                let message = "job.until: found no last window; give job.until";
                return Err(RunError::configuration(message));
            }
            (from, until) => from.or(until).map(|time| (time.saturating_sub(1), time.saturating_add(1))),
        };
        let listed = |offer: &ReleasePlan| offer.keys.listed().map_or(KEYS, |keys| keys.len() as u64);
        let keys = log.keys.unwrap_or_else(|| offers.iter().map(listed).max().unwrap_or(1));
        let part = log.rows.div_ceil(GENERATED).max(1);
        let (rows, people) = (log.rows / part, log.people.div_ceil(part));
        let made = SyntheticLog::of(people, rows, keys, log.skew, None, span)
            .map_err(|invalid| RunError::configuration(format!("--{invalid}")))?;
        let mut releases: Vec<ReleaseRecords> = offers.iter().map(|_| ReleaseRecords::default()).collect();
        let cells: Vec<Option<u64>> =
            offers.iter().map(|offer| offer.keys.listed().map(|keys| keys.len() as u64)).collect();
        let mut numbers: HashMap<u64, u32> = HashMap::new();
        for number in 0..rows {
            let row = made.row(number);
            let next = numbers.len() as u32;
            let person = *numbers.entry(row.user).or_insert(next);
            for ((release, offer), cells) in releases.iter_mut().zip(&offers).zip(&cells) {
                let key = row.key - 1;
                // A value is in some bucket; a record of another key than the listed ones is in none.
                let key = match (cells, &offer.statistic) {
                    (Some(cells), StatisticSpec::Histogram(_)) => key % cells,
                    (Some(1), _) if offer.statistic.grouping().is_none() => 0,
                    (Some(cells), _) if key >= *cells => continue,
                    _ => key,
                };
                let (key, time) = (u32::try_from(key).unwrap_or(u32::MAX), row.time);
                release.records.push(CountedRecord { person, key, time, value: 0 });
            }
        }
        for (release, cells) in releases.iter_mut().zip(&cells) {
            release.keys = cells.unwrap_or(keys);
        }
        let scale = log.people as f64 / people as f64;
        Ok(LogShape { rows: log.rows, people: log.people, scale, has_values: false, releases })
    }

    /// Lets the shape stand for a log of this number of people, each with as many records as one of the
    /// sample.
    #[must_use]
    pub fn of_people(self, people: u64) -> LogShape {
        let factor = people as f64 / self.people.max(1) as f64;
        let rows = (self.rows as f64 * factor).round() as u64;
        LogShape { rows, people, scale: self.scale * factor, ..self }
    }

    /// Returns the number of records of the log.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Returns the number of people who have them.
    pub fn people(&self) -> u64 {
        self.people
    }

    /// Returns true if the records have the values of their fields: those of a log that is stated have none.
    pub(in crate::job) fn has_values(&self) -> bool {
        self.has_values
    }

    /// Returns the number of keys of a release: those that it lists, or those that the log has.
    pub(in crate::job) fn keys(&self, release: usize) -> u64 {
        self.releases.get(release).map_or(0, |release| release.keys)
    }
}

/// Refuses a sample that is a file of the job's own: what it protects is no public sample.
fn refuse_own_files(job: &Job, sample: &Path) -> Result<(), RunError> {
    let is_own = match job.source.records.place() {
        Some(SourcePlace::Stdin) => sample == Path::new("-"),
        Some(SourcePlace::Files(source)) => {
            // A path that leads to nothing has no file that could be given.
            let files = |path: &Path| -> Vec<PathBuf> {
                let listed = listed_files(path).unwrap_or_default();
                listed.into_iter().chain([path.to_owned()]).collect()
            };
            let (own, given) = (files(source), files(sample));
            given.iter().any(|given| own.iter().any(|own| same_file(own, given)))
        }
        None => false,
    };
    if is_own {
        return Err(RunError::configuration(format!(
            "--like: {} is of the source of the job, whose records are protected; give a public sample of other people, \
             or --rows and --people alone",
            sample.display()
        )));
    }
    job.keeps_apart("--like", sample, None)
}

/// Reads the records of a job's source; `option` is what named it.
fn read(job: &Job, option: &str) -> Result<LogShape, RunError> {
    let offers = job.release_plans(job.horizon())?;
    let fields = ReleaseFields::of(&offers, &[]);
    let span = job.from.zip(job.until);
    let wanted = FieldRequirements {
        keys: fields.keys.clone(),
        values: fields.values.clone(),
        derived: job.derived.clone(),
        // The ids of a public log need no secret.
        secret: [0; 32],
        time: job.is_timed() || job.from.is_some() || job.until.is_some(),
        span,
        survey: Survey::none(),
    };
    let is_timed = wanted.time;
    let crew = Crew { process: 0, processes: 1, threads: 1 };
    let (person, brake) = (&job.privacy.privacy_unit, Brake::new());
    let input = sources::open(&job.source, person, wanted, InputPace::Bounded, crew, brake)?;
    let mut part: SourcePart<Id, Id> = input.part(0);
    let mut counted = Counted::new(job, &offers, &fields);
    let (mut batch, mut all) = (Vec::new(), 0u64);
    loop {
        let pulled = part.pull(&mut batch)?;
        for record in batch.drain(..) {
            all += 1;
            let is_within = job.from.is_none_or(|from| from <= record.time)
                && job.until.is_none_or(|until| record.time < until);
            if is_within || !is_timed {
                counted.add(&record);
            }
        }
        if counted.rows > MOST {
            let message = format!("{option}: found more than 20,000,000 records; give a smaller log");
            return Err(RunError::configuration(message));
        }
        match pulled {
            Pulled::End => break,
            Pulled::Idle => std::thread::sleep(Duration::from_millis(1)),
            Pulled::More | Pulled::Complete(_) | Pulled::Gap(..) => {}
        }
    }
    if counted.rows == 0 {
        return Err(RunError::configuration(format!(
            "{option}: none of its {all} records is within the windows of the job; give a log of the time from job.from \
             until job.until"
        )));
    }
    Ok(counted.shape())
}

/// The records of a log, as they are counted.
struct Counted<'c> {
    releases: Vec<CountedRelease<'c>>,
    rows: u64,
    people: HashMap<Id, u32>,
    /// The people and ids of the records, where a record with an id that came before does not count.
    ids: Option<HashSet<(Id, Id)>>,
    /// True if each record is protected by itself.
    by_record: bool,
}

/// A release, with the places of its fields in a record.
struct CountedRelease<'c> {
    key: Option<usize>,
    parts: usize,
    buckets: Option<(Edges, DecimalPoint)>,
    values: Vec<usize>,
    /// True if keys are discovered: then each key gets a number as it comes.
    is_open: bool,
    numbers: HashMap<CellKey, u32>,
    records: Vec<CountedRecord>,
    offer: &'c ReleasePlan,
}

impl<'c> Counted<'c> {
    fn new(job: &Job, offers: &'c [ReleasePlan], fields: &ReleaseFields) -> Counted<'c> {
        let release = |offer: &'c ReleasePlan| {
            let listed = offer.keys.listed();
            let numbers = listed.iter().flat_map(|keys| keys.iter().cloned()).zip(0u32..).collect();
            CountedRelease {
                key: fields.key(offer),
                parts: offer.statistic.grouping().map_or(0, |grouping| grouping.by.len()),
                buckets: match &offer.statistic {
                    StatisticSpec::Histogram(histogram) => histogram.edges().ok(),
                    _ => None,
                },
                values: fields.values(offer),
                is_open: listed.is_none(),
                numbers,
                records: Vec::new(),
                offer,
            }
        };
        Counted {
            releases: offers.iter().map(release).collect(),
            rows: 0,
            people: HashMap::new(),
            ids: job.source.id.is_some().then(HashSet::new),
            by_record: job.privacy.privacy_unit == Protected::Record,
        }
    }

    fn add(&mut self, record: &SourceRecord<Id, Id>) {
        if self.ids.as_mut().is_some_and(|ids| !ids.insert((record.person, record.id))) {
            return;
        }
        // There are fewer records than 2^32.
        let next = if self.by_record { self.rows as u32 } else { self.people.len() as u32 };
        let person = if self.by_record { next } else { *self.people.entry(record.person).or_insert(next) };
        self.rows += 1;
        for release in &mut self.releases {
            release.add(person, record);
        }
    }

    fn shape(self) -> LogShape {
        let people = if self.by_record { self.rows } else { self.people.len() as u64 };
        let release = |release: CountedRelease<'_>| {
            let listed = release.offer.keys.listed().map(|keys| keys.len());
            let keys = listed.unwrap_or(release.numbers.len()) as u64;
            ReleaseRecords { records: release.records, keys }
        };
        let releases = self.releases.into_iter().map(release).collect();
        LogShape { rows: self.rows, people, scale: 1.0, has_values: true, releases }
    }
}

impl CountedRelease<'_> {
    /// Adds a record, unless it lacks a key or a value of the release, or has a key that is not listed: then
    /// it takes no place from its person's others.
    fn add(&mut self, person: u32, record: &SourceRecord<Id, Id>) {
        if self.values.iter().any(|at| record.value(*at) == MISSING) {
            return;
        }
        let value = self.values.first().map_or(0, |at| record.value(*at));
        let text = match self.key.map(|at| record.key(at).unwrap_or_default()) {
            Some(text) if text.is_empty() => return,
            text => text,
        };
        let key = match (&self.buckets, text) {
            (Some((edges, point)), _) => CellKey::Bucket(edges.bucket(value), *point),
            (None, Some(text)) if self.parts == 1 => CellKey::Text(text),
            (None, Some(text)) if self.parts > 1 => CellKey::Texts(text),
            (None, _) => CellKey::Whole,
        };
        let next = self.numbers.len() as u32;
        let number = match self.is_open {
            true => Some(*self.numbers.entry(key).or_insert(next)),
            false => self.numbers.get(&key).copied(),
        };
        self.records.extend(number.map(|key| CountedRecord { person, key, time: record.time, value }));
    }
}

#[cfg(test)]
pub(in crate::job) mod tests;
