//! The version terms of a release: every field of the job file that decides which records count, for whom,
//! and in which window.
//!
//! The pipeline binds its own parameters: account, windows and the first of them, lateness, and the mechanism
//! with its bound, keys, noise and price. A closure of the pipeline is bound here by the field that it is
//! made from. Each field of the file is named below, so that a new one does not compile before its binding is
//! decided. `docs/VERSIONS.md` has the whole table.

use std::fmt::Write;

use super::ReleasePlan;
use super::fit::shortest;
use crate::accounting::{BudgetUnits, PrivacyCost};
use crate::dataflow::{RunError, charge, terms};
use crate::invalid::Invalid;
use crate::job::condition::Condition;
use crate::job::config::{
    AHEAD, AskSpec, BoundSpec, CsvSpec, ExplodeSpec, Job, KeysSpec, PriceSpec, Protected, RecordFormat,
    ReleaseSpec, RunningSpec, SourceSpec, TimeField, cost_fields,
};
use crate::job::derived::DerivedField;
use crate::job::questions::AskPlan;
use crate::job::statistics::{BETWEEN_PARTS, CellKey, StatisticSpec};
use crate::ledger::{Charge, Digest, Ledger, LedgerError, LedgerErrorKind, VersionTerms};
use crate::time::in_words;

/// Returns the fields that the pipeline does not bind, and the words of the file for those that it does.
pub(super) fn stated(job: &Job, release: &ReleaseSpec, offer: &ReleasePlan) -> VersionTerms {
    // A version is not bound: it is what the terms are those of. The account binds `privacy`. The pipeline binds `from`, and `until` if anything depends on it. The
    // other fields concern the run and its machine.
    let Job {
        name: _,
        version: _,
        from: _,
        until,
        slack: _,
        clock_hold: _,
        source,
        // A column that is read is bound with its cells, as a derived field.
        tables: _,
        fields: _,
        derived: _,
        privacy: _,
        limits: _,
        releases: _,
        asks: _,
        account: _,
        watch: _,
        log: _,
        file: _,
    } = job;
    let ReleaseSpec {
        name: _,
        version: _,
        every,
        over,
        running,
        condition,
        statistic,
        bound,
        noise,
        least_people,
        price,
    } = release;
    let word = statistic.word();
    let mut terms = reading(VersionTerms::new(), source);
    let conditions = || source.condition.iter().chain(condition);
    let read = offer.key.iter().flat_map(|key| &key.fields).map(String::as_str);
    let read = read.chain(offer.values.iter().map(|(field, _)| field.as_str()));
    let mut read: Vec<&str> = read.chain(conditions().flat_map(Condition::fields)).collect();
    read.sort_unstable();
    terms = derived(terms, job, &read);
    if let Some(condition) = condition {
        terms = terms.binding("where", format!("{:?}", condition.normal()));
    }
    terms = terms.binding("every", format!("\"{every}\""));
    if let Some(over) = over {
        terms = terms.binding("over", format!("\"{over}\""));
    }
    if let Some(RunningSpec { strategy }) = running {
        terms = terms.binding("running", true);
        if let Some(strategy) = strategy {
            terms = terms.showing("strategy", format!("\"{strategy}\""));
        }
    }
    terms = terms.binding("statistic", word);
    for (field, value) in statistic.as_statistic().fields() {
        let Some(value) = value else { continue };
        let name = format!("{word}.{field}");
        terms = match field {
            // The keys themselves, and categories, wherever they are listed, are bound by the mechanism.
            "keys" => terms.showing(&name, keys(release, offer)),
            "categories" => terms.showing(&name, categories(statistic).unwrap_or(value)),
            // Those of an alert are shown below, stated or not.
            "windows" => terms,
            _ => terms.binding(&name, value),
        };
    }
    if let StatisticSpec::Alert(alert) = statistic
        && let Some(windows) = alert.planned(offer.windows())
    {
        // The mechanism binds the number, for which the band is made.
        terms = terms.showing("alert.windows", windows);
    }
    let BoundSpec { keys, per_key, windows, entries, weight } = bound;
    let bounds = [
        ("keys", keys),
        ("per_key", per_key),
        ("windows", windows),
        ("entries", entries),
        ("weight", weight),
    ];
    for (field, value) in bounds {
        if let Some(value) = value {
            terms = terms.showing(&format!("bound.{field}"), value);
        }
    }
    if let Some(people) = least_people {
        terms = terms.showing("least_people", people);
    }
    terms = terms.showing("noise", format!("\"{}\"", noise.word()));
    match price {
        PriceSpec::Cost(cost) => {
            for (field, value) in cost_fields(cost) {
                if let Some(value) = value {
                    terms = terms.showing(&format!("cost.{field}"), value);
                }
            }
            terms
        }
        // The cost of a window is the share's, divided by the number of windows that an account holds
        // together.
        PriceSpec::Share(share) => terms
            .showing("share", share.to_decimal())
            .showing("privacy.budget", job.account().cap())
            .showing("windows that share the budget", offer.together.windows())
            .showing("until", until.map_or("nothing".to_owned(), crate::time::in_json)),
    }
}

/// Adds the derived fields behind those that are read. The parts of a key are bound where they are stated.
fn derived(mut terms: VersionTerms, job: &Job, read: &[&str]) -> VersionTerms {
    let is_stated = |field: &&DerivedField| job.fields.get(&field.name).is_some();
    for field in job.derived.all_behind(read).into_iter().filter(is_stated) {
        terms = terms.binding(&field.path(), format!("{:?}", field.expression.normal()));
    }
    terms
}

/// Returns the terms of a bundle of answers. The mechanism binds the schema, the bound, the answers and their shares.
pub(in crate::job) fn of_questions(job: &Job, ask: &AskSpec) -> VersionTerms {
    let conditions = job.source.condition.iter().flat_map(Condition::fields);
    let mut read: Vec<&str> = ask.fields.keys().map(String::as_str).chain(conditions).collect();
    read.sort_unstable();
    let terms = derived(reading(VersionTerms::new(), &job.source), job, &read);
    let mut terms = terms.binding("every", format!("\"{}\"", ask.every)).binding("statistic", "answers");
    for (field, value) in ask.fields() {
        // The name and the version are those of the terms, and the questions change no record.
        if let Some(value) = value.filter(|_| !["name", "version", "every", "questions"].contains(&field)) {
            terms = terms.showing(&format!("ask.{field}"), value);
        }
    }
    match ask.price {
        PriceSpec::Cost(_) => terms,
        PriceSpec::Share(_) => terms
            .showing("privacy.budget", job.account().cap())
            .showing("until", job.until.map_or("nothing".to_owned(), crate::time::in_json)),
    }
}

/// Returns the digest of everything by which the input becomes records: which there are, at which times, and of whom.
pub(in crate::job) fn reading_digest(job: &Job) -> Digest {
    let mut read: Vec<&str> = job.source.condition.iter().flat_map(Condition::fields).collect();
    read.sort_unstable();
    let of_lines = reading(VersionTerms::new(), &job.source);
    let terms = derived(of_lines, job, &read);
    let of_whom = match &job.privacy.privacy_unit {
        Protected::Person { field, missing } => format!("{field:?} {missing:?}"),
        Protected::Record => "record".to_owned(),
    };
    *terms.binding("privacy.person", of_whom).digest()
}

/// Adds the fields that decide how records are read.
fn reading(terms: VersionTerms, source: &SourceSpec) -> VersionTerms {
    // The place of the records and the way of reading a file of them change no record: `path`, `order`,
    // `bad`. The parameters of synthetic records stand for their place. Lateness is bound by the pipeline.
    // The declaration of fields changes no record.
    let SourceSpec {
        records,
        time,
        zone,
        order: _,
        late: _,
        ahead,
        bad_lines: _,
        condition,
        id,
        fields: _,
        explode,
        http: _,
    } = source;
    let mut terms = terms.binding("source.type", format!("\"{}\"", records.word()));
    if let RecordFormat::Csv(_, form) = records {
        // They are bound where they are stated otherwise, so that versions from before them hold.
        for ((field, value), (_, usual)) in form.fields().into_iter().zip(CsvSpec::default().fields()) {
            if let Some(value) = value.filter(|value| Some(value) != usual.as_ref()) {
                terms = terms.binding(&format!("source.{field}"), value);
            }
        }
    }
    let terms = match time {
        Some(TimeField { field, format }) => terms
            .binding("source.time.field", format!("{field:?}"))
            .binding("source.time.format", format!("{:?}", format.to_string())),
        None => terms,
    };
    let terms = terms.binding("source.zone", format!("{:?}", zone.name()));
    // It is bound where it is stated otherwise, so that versions from before it hold.
    let terms = match ahead.as_microseconds() {
        AHEAD => terms,
        _ => terms.binding("source.ahead", format!("{:?}", in_words(ahead.as_microseconds().unsigned_abs()))),
    };
    let terms = match condition {
        Some(condition) => terms.binding("source.where", format!("{:?}", condition.normal())),
        None => terms,
    };
    let terms = match explode {
        Some(ExplodeSpec { array, most }) => terms
            .binding("source.explode.array", format!("{array:?}"))
            .binding("source.explode.most", most.to_string()),
        None => terms,
    };
    match id {
        Some(id) => terms.binding("source.id.field", format!("{id:?}")),
        None => terms,
    }
}

/// Formats the listed keys, in their order.
fn keys(release: &ReleaseSpec, offer: &ReleasePlan) -> String {
    if release.statistic.grouping().is_some_and(|grouping| grouping.keys == KeysSpec::Discover) {
        return "\"discover\"".to_owned();
    }
    let listed = offer.keys.listed().unwrap_or_default();
    let mut keys = String::new();
    for key in listed.iter() {
        let comma = if keys.is_empty() { "" } else { ", " };
        // Writing to a `String` never fails.
        let _ = match key {
            CellKey::Text(text) => write!(keys, "{comma}{:?}", text.text()),
            CellKey::Texts(text) => {
                write!(keys, "{comma}{:?}", text.text().split(BETWEEN_PARTS).collect::<Vec<_>>())
            }
            _ => Ok(()),
        };
    }
    keys
}

/// Formats the categories of marginals, wherever they are listed; `None` if their files cannot be read.
fn categories(statistic: &StatisticSpec) -> Option<String> {
    let StatisticSpec::Marginals(marginals) = statistic else { return None };
    let tables = marginals.marginal_tables().ok()?;
    let each = tables.attributes().iter().map(|attribute| (attribute.name(), attribute.categories()));
    Some(format!("{:?}", each.collect::<Vec<_>>()))
}

/// A change of the budget by releases that were added or removed.
struct BudgetChange {
    /// The budget as it was.
    was: PrivacyCost,
    cause: String,
    remedy: String,
    /// True if a new version is no remedy.
    alone: bool,
}

impl Job {
    /// Compares the terms of each release with those that the ledger holds for this version of it. Nothing is
    /// written.
    ///
    /// # Errors
    ///
    /// The refusal with which a run would end, naming the fields that changed.
    pub(in crate::job) fn check_version_terms(
        &self,
        ledger: &mut Ledger,
        (offers, asks): (&[ReleasePlan], &[AskPlan]),
    ) -> Result<(), RunError> {
        let mut stated = Vec::new();
        for offer in offers {
            stated.push((offer.version, &offer.name, self.terms(offer)?));
        }
        stated.extend(asks.iter().map(|ask| (ask.version, &ask.name, ask.terms.clone())));
        let cause = self.budget_change(ledger)?;
        let mut refused = Vec::new();
        for (version, name, mut terms) in stated {
            if let Some(BudgetChange { was, cause, remedy, alone }) = &cause {
                terms = terms.explaining(("privacy.budget", was), cause, (remedy, *alone));
            }
            match ledger.would_agree(&self.name, version, name, terms) {
                Err(trouble) if trouble.kind() == LedgerErrorKind::Refused => refused.push((name, trouble)),
                compared => compared?,
            }
        }
        let mut refused = refused.into_iter();
        let Some((_, first)) = refused.next() else { return Ok(()) };
        let others: Vec<String> = refused.map(|(name, _)| name.to_string()).collect();
        match others.split_last() {
            None => Err(first.into()),
            Some((last, [])) => {
                Err(LedgerError::refused(format!("{first}. The same is so of {last}")).into())
            }
            Some((last, others)) => {
                let others = others.join(", ");
                Err(LedgerError::refused(format!("{first}. The same is so of {others} and {last}")).into())
            }
        }
    }

    /// Returns what has changed the budget of a job whose first release that takes a part of delta was added, or whose last
    /// one was removed; `None` where the job file states that part.
    fn budget_change(&self, ledger: &mut Ledger) -> Result<Option<BudgetChange>, RunError> {
        let budget = &self.privacy.budget;
        if budget.delta_for_keys.is_some() || budget.delta.is_none() {
            return Ok(None);
        }
        let takers: Vec<&str> = (self.releases.iter().filter(|release| release.charges_delta()))
            .map(|release| release.name.as_str())
            .chain(self.asks.iter().map(|ask| ask.name.as_str()))
            .collect();
        let Ok(was) = self.cap_of_budget(takers.is_empty()) else { return Ok(None) };
        let caps = ledger.caps(self.account().name())?;
        let has_delta =
            |cap: &PrivacyCost| cap.rho_and_delta().is_some_and(|(_, delta)| delta != BudgetUnits::ZERO);
        const USES: &str = "for discovered keys, stable means or questions";
        if takers.is_empty() {
            let for_keys = was.rho_and_delta().and_then(|(_, delta)| shortest(delta));
            let Some(for_keys) = for_keys.filter(|_| caps.contains(&was)) else { return Ok(None) };
            let cause = format!(
                "for no release takes a part of delta any more, {USES}, so that all of delta turns the epsilon into rho"
            );
            let remedy =
                format!("state delta_for_keys = {for_keys} in privacy.budget, which keeps it as it was");
            return Ok(Some(BudgetChange { was, cause, remedy, alone: false }));
        }
        let (takers, verb) = match takers.split_last() {
            Some((last, [])) => ((*last).to_owned(), "takes"),
            Some((last, others)) => (format!("{} and {last}", others.join(", ")), "take"),
            None => return Ok(None),
        };
        let cause = format!(
            "for {takers} {verb} a part of delta, {USES}, as no release did, and the rest turns the epsilon into less rho"
        );
        let alone = !caps.iter().any(has_delta);
        let remedy = match alone {
            true => format!(
                "leave {takers} out; the account has no delta for it, and `discreet ledger amend` adds none: write another job \
                 with an account of its own (another privacy.account, and `discreet ledger init`); who is in both accounts spends \
                 both budgets"
            ),
            false => format!("leave {takers} out"),
        };
        Ok(Some(BudgetChange { was, cause, remedy, alone }))
    }

    /// Returns the terms of a release's version, as its pipeline states them to the ledger.
    fn terms(&self, offer: &ReleasePlan) -> Result<VersionTerms, Invalid> {
        self.terms_and_charge(offer).map(|(terms, _)| terms)
    }

    /// Returns the digest by which the ledger knows a release's version.
    pub(in crate::job) fn version_digest(&self, offer: &ReleasePlan) -> Result<Digest, Invalid> {
        Ok(Digest::of_version(offer.version, self.terms(offer)?.digest()))
    }

    /// Returns the terms of a release's version, and the charge of its windows.
    pub(in crate::job) fn terms_and_charge(
        &self,
        offer: &ReleasePlan,
    ) -> Result<(VersionTerms, Charge), Invalid> {
        let settled = offer.prepare(self)?;
        let (windows, promise) = (self.contribution_bound(offer)?.windows(), self.account().promise());
        let charge = charge((&settled.cost, settled.paid), windows, &offer.schedule, promise)?;
        let schedule = (&offer.schedule, self.source.late);
        let account = (self.account().name(), promise);
        Ok((terms(&settled.parameters, schedule, account, &charge, Some(&offer.version_terms)), charge))
    }
}
