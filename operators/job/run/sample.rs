//! The survey of a job's records, for its operator: the uses of fields in a run and a demonstration, and a sample.

use std::sync::Arc;
use std::time::Duration;

use super::publish::is_pipe;
use super::*;
use crate::dataflow::{Pulled, Source};
use crate::job::sources::{SourcePart, SurveyedKind, Use};

/// The uses of each field by a job, in the order of its file.
pub(super) fn uses(job: &Job, offers: &[ReleasePlan]) -> Vec<Use> {
    let mut uses = Vec::new();
    let mut uses_as =
        |place: String, field: &str, kind| uses.push(Use { place, field: field.to_owned(), kind });
    if let Some(time) = &job.source.time {
        uses_as("source.time".to_owned(), &time.field, SurveyedKind::Time);
    }
    if let Some(id) = &job.source.id {
        uses_as("source.id".to_owned(), id, SurveyedKind::Id);
    }
    if let Protected::Person { field, missing } = &job.privacy.privacy_unit {
        uses_as("privacy.person".to_owned(), field, SurveyedKind::Person(*missing));
    }
    for (index, (release, offer)) in job.releases.iter().zip(offers).enumerate() {
        let place = format!("release[{}].{}", index + 1, release.statistic.word());
        if let Some(key) = &offer.key {
            uses_as(format!("{place}.by"), key, SurveyedKind::Key);
        }
        if let Some((field, point)) = &offer.value {
            let range = offer.statistic.as_statistic().unclamped();
            uses_as(format!("{place}.of"), field, SurveyedKind::Number { digits: point.count(), range });
        }
    }
    uses
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
        let survey = Survey::for_open_data(uses(self, &offers), (self.from, self.until), most);
        let survey = Arc::new(if names { survey.with_names() } else { survey });
        let ReleaseFields { keys, values } = ReleaseFields::of(&offers);
        let wanted = FieldRequirements {
            keys,
            values,
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
