//! The way in which a job reads its input: what it needs of each line. A live run keeps it beside its resume positions, so that
//! after an edit of the file a release that is new begins behind what was left out before.

use super::*;
use crate::gate::InputReading;
use crate::job::release_plan::reading_digest;
use crate::job::sources::fields_read;

impl Job {
    /// Returns the fields and settings that these releases and questions need of each line.
    pub(super) fn requirements(
        &self,
        (fields, asks): (&ReleaseFields, &[AskPlan]),
        horizon: Horizon,
        (secret, survey): ([u8; 32], Arc<Survey>),
    ) -> FieldRequirements {
        FieldRequirements {
            keys: fields.keys.clone(),
            values: fields.values.clone(),
            derived: self.derived.clone(),
            secret,
            // A single window over everything has ends, too, where the file states them.
            time: self.is_timed()
                || horizon.from.is_some()
                || horizon.until.is_some()
                || asks.iter().flat_map(|ask| &ask.fields).any(|field| matches!(field, AskedField::Time)),
            span: horizon.from.zip(horizon.until),
            survey,
        }
    }

    /// Returns the way in which a live run of these releases and questions reads, from a time on.
    ///
    /// # Errors
    ///
    /// If no field has the times of records, which the releases need.
    pub(super) fn reading(
        &self,
        (offers, asks): (&[ReleasePlan], &[AskPlan]),
        since: Time,
    ) -> Result<InputReading, RunError> {
        let fields = ReleaseFields::of(offers, asks);
        let wanted = self.requirements((&fields, asks), self.horizon(), ([0; 32], Survey::none()));
        let fields = fields_read(&self.source, &self.privacy.privacy_unit, &wanted)?;
        Ok(InputReading { settings: reading_digest(self), fields, since })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::job::test_jobs::csv_job;

    const COUNT: &str =
        "[[release]]\nname = \"count\"\nevery = \"1 day\"\npeople = {}\nnoise = \"laplace\"\nshare = 0.1\n";

    fn text() -> String {
        let sum = "[[release]]\nname = \"sum\"\nevery = \"1 day\"\nsum = { of = \"price\", range = [0, 9] }\nnoise = \"laplace\"\nshare = 0.1\n";
        csv_job("shop", 4, "epsilon = 1", &format!("{COUNT}{sum}"))
    }

    fn reading(text: &str) -> InputReading {
        let job = Job::parse("shop.toml", text).unwrap_or_else(|wrong| panic!("{wrong}"));
        let horizon = job.horizon();
        job.reading((&job.release_plans(horizon).unwrap(), &job.ask_plans(horizon).unwrap()), 50).unwrap()
    }

    /// The time since which a new release of the later file lacks no record, where the former run began at 10.
    fn whole(former: &str, later: &str) -> Time {
        let former = InputReading { since: 10, ..reading(former) };
        reading(later).since_after(&former)
    }

    // Refutes an edit by which lines become readable that the former run left out, or records come at other times or of other
    // people, and which is taken for the same reading.
    #[test]
    fn an_edit_that_may_bring_more_records_is_another_reading() {
        let (job, person) = (text(), "field = \"who\", missing = \"drop\"");
        let source = |more: &str| job.replace("[privacy]", &format!("{more}\n[privacy]"));
        for (former, later) in [
            (job.clone(), job.replace("rfc3339", "unix")),
            (job.clone(), job.replace("field = \"time\"", "field = \"when\"")),
            (job.clone(), job.replace(person, "field = \"user\", missing = \"drop\"")),
            (job.clone(), job.replace(person, "field = \"who\", missing = \"reject\"")),
            (job.clone(), source("zone = \"Europe/Berlin\"")),
            (job.clone(), source("ahead = \"1h\"")),
            (job.clone(), source("delimiter = \";\"")),
            (job.clone(), source("comment = \"#\"")),
            (job.clone(), source("header = [\"who\", \"time\", \"price\"]")),
            (job.clone(), source("where = \"price > 3\"")),
            (source("where = \"price > 3\""), source("where = \"price > 2\"")),
            // The price needs to be there no more, or to be a number.
            (job.clone(), csv_job("shop", 4, "epsilon = 1", COUNT)),
            (
                job.clone(),
                job.replace(
                    "sum = { of = \"price\", range = [0, 9] }",
                    "count = { by = \"price\", keys = [\"1\"] }\nbound = { keys = 1, per_key = 1 }",
                ),
            ),
            (job.clone(), job.replace("\"price\"", "\"age\"")),
        ] {
            assert_eq!((whole(&former, &later), whole(&former, &former)), (50, 10), "{former}\n{later}");
        }
    }

    #[test]
    fn an_edit_that_brings_no_more_records_goes_on() {
        let job = text();
        for later in [
            format!("{job}{}", COUNT.replace("count", "further")),
            format!(
                "{job}{}",
                COUNT
                    .replace("count", "further")
                    .replace("people = {}", "sum = { of = \"age\", range = [0, 9] }")
            ),
            job.replace("log.csv", "other.csv"),
            job.replace("every = \"1 day\"", "every = \"2 days\""),
            job.replace("[0, 9]", "[0.25, 1000]"),
            job.replace("[privacy]", "bad = { lines = 9 }\nlate = \"1h\"\n[privacy]"),
            format!("{job}\n[fields]\nhost = \"domain of page\"\n"),
        ] {
            assert_eq!(whole(&job, &later), 10, "{later}");
        }
    }
}
