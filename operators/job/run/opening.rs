//! The opening of a job's ledger and its gate: one that states the same budget, promise and people, with its key. A check
//! and a run open it by the same function, so that a job that passes one is not refused by the other.

use std::collections::BTreeMap;

use super::*;
use crate::accounting::{BudgetUnits, PrivacyCost};
use crate::dataflow::{Schedule, SpillSpace};
use crate::job::config::{Accounting, shell_quoted};
use crate::job::release_plan::shortest;
use crate::ledger::place::directory;
use crate::ledger::{AccountSpec, Ledger, LedgerKey, Name};
use crate::time::in_utc;
use crate::words::meant;

impl Job {
    /// Opens the ledger that the file names, and refuses one that is not this job's: of another budget,
    /// promise or unit, or without its key.
    pub(super) fn ledger(&self) -> Result<Ledger, RunError> {
        let (place, asked) = (&self.privacy.ledger, self.account());
        let (at, name) = (place.display(), asked.name());
        let is_local = !place.to_string_lossy().contains("://");
        let init = || {
            let ledger = shell_quoted(place);
            format!("discreet ledger init {ledger} --config {}", self.file.quoted())
        };
        // Where nobody may look, it may be there: then opening it says why.
        if is_local && matches!(place.try_exists(), Ok(false)) {
            return Err(RunError::configuration(format!(
                "privacy.ledger: there is no ledger {at}; make it: {}; or, where there was one, mount the volume it is on",
                init()
            )));
        }
        let key = LedgerKey::open(&self.privacy.key)?;
        let mut ledger = Ledger::open_with_key(place, &key)?;
        let stated = ledger.accounts()?;
        let Some(known) = stated.iter().find(|known| known.name() == name) else {
            let remedy = unstated(name.as_str(), &stated, &init());
            return Err(RunError::configuration(format!(
                "privacy.account: found no account {name} in ledger {at}{remedy}"
            )));
        };
        self.is_charged_to(known)?;
        // A cap that was raised since is the same budget: a job goes on with the settings that it began with.
        // So are the same settings of a job that charges a delta now and did not then, or the other way
        // round.
        let caps = ledger.caps(name)?;
        let accounting = self.accounting();
        if let Some(other) = Accounting::of(known.cap()).filter(|other| Some(*other) != accounting) {
            return Err(RunError::configuration(format!(
                "privacy.accounting: found {} for account {name} in ledger {at}, which is stated with {word}; give accounting = \
                 \"{word}\" in [privacy], which keeps all releases as they were, or another account",
                accounting.map_or("a budget without delta", Accounting::word),
                word = other.word()
            )));
        }
        let words = [true, false].map(|charges| self.cap_of_budget(charges));
        if !words.into_iter().flatten().any(|cap| caps.contains(&cap)) {
            let stated = caps.first().unwrap_or(known.cap());
            return Err(RunError::configuration(format!(
                "privacy.budget: found another budget for account {name} in ledger {at}, {}; give what was stated, also where the \
                 cap is to be raised: that is done by `discreet ledger amend`, and the file stays as it is",
                self.other_budget(stated)
            )));
        }
        let anchor = self.privacy.anchor.as_deref().map(directory);
        if let Some(directory) = anchor.filter(|directory| !directory.is_dir()) {
            let message = format!("privacy.anchor: there is no directory {}; make it", directory.display());
            return Err(RunError::configuration(message));
        }
        self.check_spill()?;
        Ok(ledger)
    }

    /// Returns the numbers of the file's budget that are not those of the stated cap, in words: by epsilon and delta where
    /// the stated ones are found again.
    fn other_budget(&self, stated: &PrivacyCost) -> String {
        let (asked, budget) = (self.account().cap(), &self.privacy.budget);
        let known = stated.stated_as(budget.delta.as_ref());
        let (Some((epsilon, delta)), Some(own), Some(own_delta)) = (known, &budget.epsilon, &budget.delta)
        else {
            return format!("{} where {} is stated", asked.with_epsilon(), stated.with_epsilon());
        };
        let mut differ = Vec::new();
        let parts = [("epsilon", own, &epsilon), ("delta", own_delta, &delta)];
        for (field, own, stated) in parts.into_iter().filter(|(_, own, stated)| own != stated) {
            differ.push(format!("{field} {own} where {stated} is stated"));
        }
        let of = |cap: &PrivacyCost| cap.rho_and_delta().map_or(BudgetUnits::ZERO, |(_, delta)| delta);
        let part =
            |delta: BudgetUnits| shortest(delta).map_or_else(|| delta.to_string(), |delta| delta.to_string());
        let is_stated = budget.delta_for_keys.is_some();
        if of(asked) != of(stated) && (is_stated || differ.is_empty()) {
            let is = match (is_stated, of(stated) == BudgetUnits::ZERO) {
                (_, true) => "none is stated".to_owned(),
                (_, false) => format!("{} is stated", part(of(stated))),
            };
            let own = match (is_stated, of(asked) == BudgetUnits::ZERO) {
                (true, _) => part(of(asked)),
                (false, true) => "left out".to_owned(),
                (false, false) => format!("left out, which is {},", part(of(asked))),
            };
            differ.push(format!("delta_for_keys {own} where {is}"));
        }
        match differ.is_empty() {
            true => format!("{} where {} is stated", asked.with_epsilon(), stated.with_epsilon()),
            false => differ.join(", and "),
        }
    }

    /// Refuses a directory for open windows that is not there.
    fn check_spill(&self) -> Result<(), RunError> {
        match &self.limits.spill {
            Some(directory) if !directory.is_dir() => Err(RunError::configuration(format!(
                "limits.spill: there is no directory {}; make it",
                directory.display()
            ))),
            _ => Ok(()),
        }
    }

    /// The place of open windows that memory has no room for, if the job limits its memory.
    pub(super) fn spill_space(
        &self,
        workers: usize,
        notice: Option<OperatorNotice>,
    ) -> Result<Option<Arc<SpillSpace>>, RunError> {
        let Some(limit) = self.limits.memory else { return Ok(None) };
        self.check_spill()?;
        let directory = self.limits.spill.clone().unwrap_or_else(std::env::temp_dir);
        let warn = move |text: &str| {
            if let Some(notice) = &notice {
                notice(text);
            }
        };
        Ok(Some(Arc::new(SpillSpace::new(directory, (limit, workers), warn))))
    }

    /// Opens the job's ledger for a sink, once `examine` has accepted it.
    fn open_gate(
        &self,
        (offers, asks): (&[ReleasePlan], &[AskPlan]),
        (mut sink, without_archived): (Option<&mut Sink>, bool),
        examine: impl FnOnce(&mut Ledger) -> Result<(), RunError>,
    ) -> Result<Gate, RunError> {
        let privacy = &self.privacy;
        let mut ledger = self.ledger()?;
        let archived = ledger.archived()?.filter(|_| !without_archived);
        if let Some(sink) = &mut sink {
            sink.of_ledger(ledger.name()).map_err(of_out)?;
        }
        let lacks =
            |sink: &Sink, until| sink.is_new() && sink.newest_position().is_none_or(|held| held < until);
        if let Some(archived) = archived
            && sink.as_deref().is_some_and(|sink| lacks(sink, archived.0))
        {
            return Err(RunError::configuration(self.lacking(archived)));
        }
        // Before a file receives anything.
        self.check_version_terms(&mut ledger, (offers, asks))?;
        examine(&mut ledger)?;
        let sink = sink.as_deref();
        let releases = last_windows(offers, asks);
        let mut opening = Opening::new(&privacy.ledger, self.name.as_str())?
            .version(self.numbered())
            .key(&privacy.key)
            .releases(releases);
        if let Some(anchor) = &privacy.anchor {
            opening = opening.anchor(anchor);
        }
        let witness = sink.map(Sink::witness).transpose()?.unwrap_or_default();
        for file in &witness.files {
            opening = opening.released_in(file);
        }
        if let Some((sequence, chain)) = witness.newest {
            opening = opening.released(sequence, chain);
        }
        if let Some(window) = witness.unclosed {
            opening = opening.unclosed(window);
        }
        Ok(opening.over(ledger)?)
    }

    /// Compares the account that the file states with the ledger's: its privacy unit and its promise. A cap
    /// may have been raised since.
    ///
    /// # Errors
    ///
    /// If one cap would cover different people, or another promise.
    pub fn is_charged_to(&self, known: &AccountSpec) -> Result<(), RunError> {
        let (asked, name) = (self.account(), known.name());
        let remedy = "one cap would speak about different people: put back what it was; or state another account, with another \
                      privacy.account and `discreet ledger init`: a budget of its own, and who is in both accounts spends both";
        if known.neighbours() != asked.neighbours() {
            return Err(RunError::configuration(format!(
                "privacy.unit: found a {} where account {name} protects a {}; {remedy}",
                asked.neighbours().unit,
                known.neighbours().unit
            )));
        }
        if known.person() != asked.person() {
            let stated = |person: Option<&str>| person.unwrap_or("nothing").to_owned();
            return Err(RunError::configuration(format!(
                "privacy.person: found {}, and account {name} is of the person {}; {remedy}",
                stated(asked.person()),
                stated(known.person())
            )));
        }
        if known.promise() != asked.promise() {
            return Err(RunError::configuration(format!(
                "privacy.account: found another promise than account {name} states; put back what it was (privacy.promise, and \
                 bound.windows); or state another account, with another privacy.account and `discreet ledger init`: a budget \
                 of its own, and who is in both accounts spends both"
            )));
        }
        Ok(())
    }

    /// The gate of a process: the first holds the ledger, which `examine` may refuse before a file receives anything.
    pub(super) fn gate_of(
        &self,
        crew: Crew,
        plans: (&[ReleasePlan], &[AskPlan]),
        sink: (Option<&mut Sink>, bool),
        examine: impl FnOnce(&mut Ledger) -> Result<(), RunError>,
    ) -> Result<Gate, RunError> {
        match crew.process {
            0 => self.open_gate(plans, sink, examine),
            _ => Ok(Gate::elsewhere(self.name.as_str(), &self.privacy.key)?.with_version(self.numbered())),
        }
    }

    /// Returns the releases of the job, each with the end of its last window if it has one.
    ///
    /// # Errors
    ///
    /// If the job cannot be planned.
    pub fn last_windows(&self) -> Result<BTreeMap<Name, Option<Time>>, RunError> {
        Ok(last_windows(&self.release_plans(self.horizon())?, &self.ask_plans(self.horizon())?))
    }

    /// Returns the reason for which a new output is refused: these rows are in archives alone.
    pub(super) fn lacking(&self, (until, floor): (i64, Time)) -> String {
        format!(
            "--out: it is new, and would lack rows up to {until} of the ledger, of windows that end by {}: they are in archives; \
             print them with `discreet ledger lines ARCHIVE.. --job {}`, with all archives, and give --without-archived to go on without them, or \
             give the former file",
            in_utc(floor),
            self.name
        )
    }
}

/// Returns the releases of a job, each with the end of its last window if it has one.
fn last_windows(offers: &[ReleasePlan], asks: &[AskPlan]) -> BTreeMap<Name, Option<Time>> {
    let offers = offers.iter().map(|offer| (&offer.name, &offer.schedule));
    let schedules = offers.chain(asks.iter().map(|ask| (&ask.name, &ask.schedule)));
    let last = |schedule: &Schedule| {
        let number = schedule.count().checked_sub(1).filter(|_| schedule.is_bounded());
        number.and_then(|number| schedule.window(number)).map(|window| window.end())
    };
    schedules.map(|(name, schedule)| (name.clone(), last(schedule))).collect()
}

fn unstated(name: &str, stated: &[AccountSpec], init: &str) -> String {
    let names: Vec<&str> = stated.iter().map(|account| account.name().as_str()).collect();
    if names.is_empty() {
        return format!("; state it: {init}");
    }
    let meant = meant(name, &names).map(|meant| format!(" (did you mean {meant}?)")).unwrap_or_default();
    format!(
        ", which states {}{meant}; give {} in privacy.account. Another account is for another group of people, with a budget of \
         its own, and who is in both groups spends both; state it for such a group alone: {init}",
        names.join(", "),
        if names.len() == 1 { "this name" } else { "one of these names" }
    )
}
