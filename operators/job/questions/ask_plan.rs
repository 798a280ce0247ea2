//! The plan of a bundle of answers: its windows, schema, noise and charge, before any question or record is read.

use super::input::QuestionInput;
use super::price::AskPrice;
use crate::accounting::Interval;
use crate::dataflow::{Schedule, terms};
use crate::invalid::Invalid;
use crate::job::config::{AskSpec, Job, Protected};
use crate::job::release_group::ReleaseFields;
use crate::job::release_plan::{Horizon, of_questions, schedule};
use crate::job::sources::{KeyField, MISSING, NumberField, PersonIdentity, SourceRecord};
use crate::job::unfit::UnfitJob;
use crate::ledger::{Charge, Digest, Name, VersionTerms};
use crate::mechanisms::queries::{
    Answers, Asks, Field, FieldKind, MatchedTotals, Query, QueryRow, ReadyAnswers, ReadyBundle, Schema, Value,
};
use crate::mechanisms::{Bound, BoundedNoise, DecimalPoint};
use crate::time::{Span, Time};

/// The plan of a bundle of answers.
#[derive(Clone, Debug)]
pub(crate) struct AskPlan {
    pub(crate) name: Name,
    /// The version of the bundle: its own, or the job's.
    pub(crate) version: u32,
    pub(crate) schedule: Schedule,
    pub(crate) bound: Bound,
    pub(crate) schema: Schema,
    /// The fields of a record, in the order of the schema.
    pub(crate) fields: Vec<AskedField>,
    /// The mechanism, with its price.
    pub(crate) bundle: ReadyBundle,
    /// The price of all answers.
    pub(crate) price: AskPrice,
    /// The time that is paid for, by the first answer.
    pub(crate) life: Interval,
    pub(crate) charge: Charge,
    /// The terms that the job file states beside those of the pipeline.
    pub(crate) stated: VersionTerms,
    /// All terms of the version.
    pub(crate) terms: VersionTerms,
}

/// A field that can be asked about.
#[derive(Clone, Debug)]
pub(crate) enum AskedField {
    Text(KeyField),
    Number(NumberField),
    /// The time of the record.
    Time,
}

/// A field that can be asked about, by its place in a record.
#[derive(Clone, Copy)]
enum AskedPlace {
    Text(usize),
    Number(usize),
    Time,
}

impl AskPlan {
    /// Returns the name of the bundle's version in the ids of its answers.
    pub(crate) fn version_digest(&self) -> Digest {
        Digest::of_version(self.version, self.terms.digest())
    }

    /// Returns the function from a record to its row.
    pub(crate) fn row<P: PersonIdentity, I: PersonIdentity>(
        &self,
        fields: &ReleaseFields,
    ) -> impl Fn(&SourceRecord<P, I>) -> QueryRow + use<P, I> {
        let place = |field: &AskedField| match field {
            AskedField::Text(key) => fields.keys.iter().position(|other| other == key).map(AskedPlace::Text),
            AskedField::Number(value) => {
                fields.values.iter().position(|other| other == value).map(AskedPlace::Number)
            }
            AskedField::Time => Some(AskedPlace::Time),
        };
        let places: Vec<Option<AskedPlace>> = self.fields.iter().map(place).collect();
        move |record| {
            QueryRow::new(places.iter().map(|place| match place {
                // An empty text is a missing one.
                Some(AskedPlace::Text(at)) => match record.key(*at) {
                    Some(text) if !text.is_empty() => Value::Text(text.text().into()),
                    _ => Value::None,
                },
                Some(AskedPlace::Number(at)) => match record.value(*at) {
                    MISSING => Value::None,
                    number => Value::Number(number),
                },
                Some(AskedPlace::Time) => Value::Number(record.time),
                None => Value::None,
            }))
        }
    }

    /// Returns the largest error of a count, in records.
    pub(crate) fn largest_error(&self) -> f64 {
        self.bundle.bound()
    }

    /// Returns the standard deviation of the noise of a count, in records.
    pub(crate) fn deviation(&self) -> f64 {
        self.bundle.deviation()
    }

    /// Returns the time at which the last window is complete.
    pub(crate) fn last_close(&self, late: Time) -> Time {
        let last = self.schedule.count().checked_sub(1).and_then(|last| self.schedule.window(last));
        last.map_or(Time::MIN, |window| window.end().saturating_add(late))
    }

    /// Returns the exact number that answers a query, of the records that count; `null` of a mean of none.
    pub(crate) fn exact(&self, query: &Query, found: MatchedTotals) -> String {
        let Asks::Mean { field, range } = query.asks() else { return found.matched.to_string() };
        let point = self.schema.fields().get(*field).map_or(DecimalPoint::WHOLE, Field::point);
        match self.bundle.steps().mean(range, found) {
            Some(mean) => point.float(mean).to_string(),
            None => "null".to_owned(),
        }
    }
}

impl Job {
    /// Reads the files of questions, and returns a warning for each one that is not there and for each line that is no
    /// question: a replay is refused for them.
    ///
    /// # Errors
    ///
    /// If the fields of an `[[ask]]` have no schema.
    pub fn check_questions(&self) -> Result<Vec<String>, UnfitJob> {
        let mut mistakes = Vec::new();
        for (index, ask) in self.asks.iter().enumerate() {
            let Some(questions) = ask.questions.as_deref() else { continue };
            if !questions.exists() {
                mistakes.push(format!(
                    "ask[{}].questions: {}: found no such file: `discreet replay` is refused without it, and `discreet run` reads it \
                     once it is there",
                    index + 1,
                    questions.display()
                ));
                continue;
            }
            let place = || format!("ask[{}].fields", index + 1);
            let schema = schema(self, ask).map_err(|invalid| UnfitJob::at(place(), &invalid))?;
            if let Err(refused) = QuestionInput::whole(Some(questions), &schema, 0) {
                mistakes.extend(refused.to_string().lines().map(str::to_owned));
                mistakes.push(format!(
                    "ask[{}].questions: {}: `discreet replay` is refused for such a line, and `discreet run` leaves it out",
                    index + 1,
                    questions.display()
                ));
            }
        }
        Ok(mistakes)
    }

    /// Returns a note for each bundle without a file of questions: a replay asks none of it.
    pub fn unasked_by_replay(&self) -> Vec<String> {
        let unasked = self.asks.iter().filter(|ask| ask.questions.is_none());
        let note = |ask: &AskSpec| {
            format!(
                "{}: its questions come over HTTP alone, to `discreet run`; `discreet replay` asks none of them",
                ask.name
            )
        };
        unasked.map(note).collect()
    }

    /// Returns these plans, each with the questions of its file that can be read, as a replay asks them.
    pub(crate) fn with_questions(&self, plans: &[AskPlan]) -> Vec<(AskPlan, QuestionInput)> {
        let late = self.source.late.map_or(0, Span::as_microseconds);
        let read = |(plan, ask): (&AskPlan, &AskSpec)| {
            let asked_at = plan.last_close(late);
            (plan.clone(), QuestionInput::readable(ask.questions.as_deref(), &plan.schema, asked_at))
        };
        plans.iter().zip(&self.asks).map(read).collect()
    }

    /// Returns the plans of the bundles of answers, in their order.
    pub(crate) fn ask_plans(&self, horizon: Horizon) -> Result<Vec<AskPlan>, UnfitJob> {
        let prices = self.ask_prices(horizon)?;
        let plans = self.asks.iter().zip(prices).enumerate();
        plans.map(|(index, (ask, price))| plan(self, ask, price, horizon, index)).collect()
    }
}

/// Returns the schema of the records, whose person nobody may ask about; questions have dates of the job's zone.
fn schema(job: &Job, ask: &AskSpec) -> Result<Schema, Invalid> {
    let schema = ask.schema()?.dated_in(job.source.zone.clone());
    match &job.privacy.privacy_unit {
        Protected::Person { field, .. } => schema.of_person(field),
        Protected::Record => Ok(schema),
    }
}

fn plan(
    job: &Job,
    ask: &AskSpec,
    price: AskPrice,
    horizon: Horizon,
    index: usize,
) -> Result<AskPlan, UnfitJob> {
    let place = format!("ask[{}]", index + 1);
    let refused = |invalid: Invalid| {
        let field = match invalid.field() {
            "share" => "analysts",
            "epsilon" | "delta" => price.field(),
            "keys" | "per_key" | "bound" => "bound",
            "answers" => "answers",
            _ => "fields",
        };
        UnfitJob::at(format!("{place}.{field}"), &invalid)
    };
    let schedule = schedule(job, (ask.every, None), horizon, &place)?;
    let bound = Bound::keys(1).per_key(ask.per_key.unwrap_or(1).into());
    let limits = match job.privacy.privacy_unit {
        Protected::Record => job.bound_of_a_record(),
        Protected::Person { .. } => bound.checked().map_err(refused)?,
    };
    let schema = schema(job, ask).map_err(refused)?;
    let bundle = BoundedNoise::bundle(ask.answers).epsilon(price.epsilon, price.delta);
    let bundle = ask.analysts.iter().fold(bundle, |bundle, (name, answers)| bundle.share(name, *answers));
    let prepared = bundle.prepare(&limits, &schema).map_err(refused)?;
    let life = schedule.life().map_err(|invalid| UnfitJob::at(format!("{place}.every"), &invalid))?;
    let charge = Charge::Once { cost: prepared.cost().clone(), life };
    let stated = of_questions(job, ask);
    let account = (job.account().name(), job.account().promise());
    let lateness = (&schedule, job.source.late);
    let terms = terms(&prepared.parameters(), lateness, account, &charge, Some(&stated));
    let fields = ask.fields.iter().map(|(name, kind)| match kind {
        FieldKind::Text => AskedField::Text(KeyField { fields: vec![name.clone()], condition: None }),
        FieldKind::Number => AskedField::Number(NumberField { field: name.clone(), digits: 0 }),
        FieldKind::Decimal(digits) => {
            AskedField::Number(NumberField { field: name.clone(), digits: i32::from(*digits) })
        }
        FieldKind::Time => AskedField::Time,
    });
    Ok(AskPlan {
        name: ask.name.clone(),
        version: ask.version.unwrap_or(job.numbered()),
        fields: fields.collect(),
        schedule,
        bound,
        schema,
        bundle: prepared,
        life,
        charge,
        stated,
        terms,
        price,
    })
}
