//! The survey of a job's records, for its operator: the uses of fields in a run and a demonstration, and a sample.

use std::sync::Arc;
use std::time::Duration;

use super::publish::is_pipe;
use super::*;
use crate::dataflow::{Pulled, Source};
use crate::job::condition::Condition;
use crate::job::sources::{SourcePart, SurveyedCondition, SurveyedKind, Use};
use crate::job::statistics::CellKey;
use crate::mechanisms::queries::FieldKind;

/// The uses of each field by a job, in the order of its file.
pub(super) fn uses(job: &Job, offers: &[ReleasePlan]) -> Vec<Use> {
    let mut uses = Vec::new();
    let mut uses_as = |place: String, field: &str, kind: SurveyedKind| {
        let own = matches!(
            kind,
            SurveyedKind::Person(_) | SurveyedKind::Id | SurveyedKind::Time | SurveyedKind::Source
        );
        let is_derived = !own && job.derived.get(field).is_some();
        uses.push(Use { place, field: field.to_owned(), is_derived, kind });
    };
    if let Some(time) = &job.source.time {
        uses_as("source.time".to_owned(), &time.field, SurveyedKind::Time);
    }
    if let Some(id) = &job.source.id {
        uses_as("source.id".to_owned(), id, SurveyedKind::Id);
    }
    if let Protected::Person { field, missing } = &job.privacy.privacy_unit {
        uses_as("privacy.person".to_owned(), field, SurveyedKind::Person(*missing));
    }
    let compared = |condition: &Option<Condition>| {
        condition.iter().flat_map(Condition::fields).map(str::to_owned).collect::<Vec<_>>()
    };
    for field in compared(&job.source.condition) {
        uses_as("source.where".to_owned(), &field, SurveyedKind::Compared);
    }
    let behind = job.derived.all_behind(&read_fields(job, offers));
    for table in &job.tables {
        if behind.iter().any(|derived| table.has(&derived.name)) {
            let kind = SurveyedKind::Joined(Arc::clone(&table.table));
            uses_as(format!("tables.{}", table.name), table.by(), kind);
        }
    }
    for derived in behind {
        if job.tables.iter().any(|table| table.has(&derived.name)) {
            continue;
        }
        let is_stated = job.fields.get(&derived.name).is_some();
        let place = if is_stated { derived.path() } else { derived.name.clone() };
        for field in derived.expression.fields() {
            uses_as(place.clone(), field, SurveyedKind::Source);
        }
    }
    for (index, (release, offer)) in job.releases.iter().zip(offers).enumerate() {
        let place = format!("release[{}].{}", index + 1, release.statistic.word());
        for field in compared(&release.condition) {
            uses_as(format!("release[{}].where", index + 1), &field, SurveyedKind::Compared);
        }
        for field in offer.key.iter().flat_map(|key| &key.fields) {
            let listed = offer.keys.listed().filter(|keys| matches!(keys[..], [CellKey::Text(_), ..]));
            uses_as(format!("{place}.by"), field, SurveyedKind::Key(listed));
        }
        for (at, (field, point)) in offer.values.iter().enumerate() {
            let range = offer.statistic.as_statistic().unclamped(at);
            uses_as(format!("{place}.of"), field, SurveyedKind::Number { digits: point.count(), range });
        }
    }
    for (index, ask) in job.asks.iter().enumerate() {
        let place = format!("ask[{}].fields", index + 1);
        for (field, kind) in &ask.fields {
            match kind {
                FieldKind::Text => uses_as(place.clone(), field, SurveyedKind::Key(None)),
                FieldKind::Number => {
                    uses_as(place.clone(), field, SurveyedKind::Number { digits: 0, range: None });
                }
                FieldKind::Decimal(digits) => {
                    let kind = SurveyedKind::Number { digits: (*digits).into(), range: None };
                    uses_as(place.clone(), field, kind);
                }
                // That of the source is surveyed above.
                FieldKind::Time => {}
            }
        }
    }
    uses
}

/// The conditions of a job, that of its source first.
pub(super) fn conditions(job: &Job) -> Vec<SurveyedCondition> {
    let of_source = job.source.condition.iter().map(|condition| ("source.where".to_owned(), condition));
    let of_releases = (1..).zip(&job.releases).filter_map(|(number, release)| {
        Some((format!("release[{number}].where"), release.condition.as_ref()?))
    });
    let all = of_source.chain(of_releases);
    all.map(|(place, condition)| SurveyedCondition { place, condition: condition.clone() }).collect()
}

/// Returns the names of the fields that conditions, keys and values are of.
fn read_fields<'j>(job: &'j Job, offers: &'j [ReleasePlan]) -> Vec<&'j str> {
    let conditions = job.releases.iter().filter_map(|release| release.condition.as_ref());
    let conditions = job.source.condition.iter().chain(conditions).flat_map(Condition::fields);
    let keys = offers.iter().flat_map(|offer| &offer.key).flat_map(|key| &key.fields).map(String::as_str);
    let values = offers.iter().flat_map(|offer| &offer.values).map(|(field, _)| field.as_str());
    let asked = job.asks.iter().flat_map(|ask| ask.fields.keys()).map(String::as_str);
    conditions.chain(keys).chain(values).chain(asked).collect()
}

impl Job {
    /// Reads the first `most` records, and counts for each field of the job how often it was found, readable
    /// and within its range. It is for the operator of the records to see, and outside of the promise;
    /// nothing is spent or released. With `names`, the names of all fields of lines of JSON are reported as
    /// well.
    ///
    /// # Errors
    ///
    /// If `most` is 0, or the source cannot be read at all, or is standard input or a named pipe, which a run
    /// could not read again.
    pub fn sample(&self, most: u64, names: bool) -> Result<Arc<Survey>, RunError> {
        if most == 0 {
            return Err(RunError::configuration(
                "--sample: found zero; give how many records to look at, such as 1000",
            ));
        }
        if self.source.records.is_stdin() {
            let message = "--sample: the source is standard input, which is read once; give a job whose source is a file";
            return Err(RunError::configuration(message));
        }
        if let Some(SourcePlace::Files(path)) = self.source.records.place()
            && is_pipe(path)
        {
            let message = format!(
                "--sample: {} is a named pipe, which is read once; give a job whose source is a file",
                path.display()
            );
            return Err(RunError::configuration(message));
        }
        let offers = self.release_plans(self.horizon())?;
        let uses = uses(self, &offers);
        // A derived field that no release reads is checked too.
        let made_of = self.derived.iter().flat_map(|field| field.expression.fields()).map(str::to_owned);
        let wanted: Vec<String> = uses.iter().map(|used| used.field.clone()).chain(made_of).collect();
        let survey = Survey::for_open_data(uses, (self.from, self.until), most);
        let survey = survey.with_conditions(conditions(self)).with_people().in_zone(&self.source.zone);
        let survey = Arc::new(if names {
            survey.with_names(self.source.explode.as_ref().map(|explode| explode.array.clone()), wanted)
        } else {
            survey
        });
        let asks = self.ask_plans(self.horizon())?;
        let ReleaseFields { keys, values } = ReleaseFields::of(&offers, &asks);
        let wanted = FieldRequirements {
            keys,
            values,
            derived: self.derived.clone(),
            secret: [0; 32],
            time: self.source.time.is_some(),
            span: self.from.zip(self.until),
            survey: Arc::clone(&survey),
        };
        let mut source = self.source.clone();
        source.bad_lines = u64::MAX;
        let crew = Crew { process: 0, processes: 1, threads: 1 };
        let input = sources::open(
            &source,
            &self.privacy.privacy_unit,
            wanted,
            InputPace::Bounded,
            crew,
            Brake::new(),
        )?;
        let mut part: SourcePart<sources::Id, sources::Id> = input.part(0);
        let mut batch = Vec::new();
        while survey.counts() {
            let pulled = part.pull(&mut batch)?;
            batch.clear();
            match pulled {
                Pulled::End => break,
                Pulled::Idle => std::thread::sleep(Duration::from_millis(1)),
                Pulled::More | Pulled::Complete(_) | Pulled::Gap(..) => {}
            }
        }
        Ok(survey)
    }
}
