//! The part of an account's budget that is left for a job: what other jobs, and former versions of its own releases,
//! have paid is subtracted.

use std::collections::BTreeSet;
use std::fmt::{self, Display, Formatter};
use std::path::Path;

use dashu_int::UBig;
use serde::{Serialize, Serializer};

use super::*;
use crate::accounting::{BudgetUnits, Interval, PrivacyCost, Promise};
use crate::dataflow::{Clock, SystemClock};
use crate::decimal::Decimal;
use crate::job::config::{BudgetShare, PriceSpec};
use crate::ledger::{Digest, Ledger, Name, RefusedWindows};

/// The windows of a release that are compared with the charges of others, at most.
const COMPARED: u64 = 10_000;

/// The most jobs that are named.
const NAMED: usize = 3;

/// The budget that is left for a job beside what others have paid from its account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct BudgetLeft {
    /// The name of the account.
    pub account: String,
    /// The other jobs that have paid from it.
    pub payers: Vec<String>,
    /// True if former versions of the job's own releases have paid too.
    pub has_former_versions: bool,
    /// The most that they have paid for any window of the job, in words.
    pub paid: String,
    /// The cap of the account, in words.
    pub cap: String,
    /// The part that is left for the shares of the job, in units of [`BudgetShare::parts`]; as JSON a number.
    #[serde(rename = "left", serialize_with = "as_part")]
    parts: u64,
    /// True if others have paid anything.
    #[serde(skip)]
    is_shared: bool,
    /// True if all that counts is counted for ever.
    #[serde(skip)]
    is_for_ever: bool,
}

fn as_part<S: Serializer>(parts: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(*parts as f64 / BudgetShare::WHOLE.parts() as f64)
}

impl BudgetLeft {
    /// Returns the part that is left for the shares of the job, in units of [`BudgetShare::parts`].
    pub fn parts(&self) -> u64 {
        self.parts
    }

    /// Returns that part as a share; `None` if nothing is left.
    pub fn share(&self) -> Option<BudgetShare> {
        BudgetShare::of(&Decimal::of(&self.parts.to_string(), -18)).ok()
    }

    /// Returns true if others have paid from the account.
    pub fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// Returns the others in words.
    fn others(&self) -> String {
        let mut others: Vec<String> = self.payers.iter().take(NAMED).cloned().collect();
        let more = self.payers.len().saturating_sub(NAMED);
        let jobs = if more == 1 { "job" } else { "jobs" };
        others.extend((more > 0).then(|| format!("{more} other {jobs}")));
        if self.has_former_versions {
            others.push("former versions of this job".to_owned());
        }
        match others.split_last() {
            Some((last, [])) => last.clone(),
            Some((last, others)) => format!("{} and {last}", others.join(", ")),
            None => "others".to_owned(),
        }
    }
}

impl Display for BudgetLeft {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let BudgetLeft { account, paid, cap, is_for_ever, .. } = self;
        let (most, window) = if *is_for_ever { ("", "") } else { ("up to ", " for a window of this job") };
        let (have, left) = (self.have(), self.left());
        write!(
            f,
            "account {account}: {have} paid {most}{paid} of {cap}{window}, and {left} is left for its shares"
        )
    }
}

impl BudgetLeft {
    /// Returns the part that is left, in words.
    pub(in crate::job) fn left(&self) -> String {
        match self.parts {
            // A millionth is left by rounding.
            0..1_000_000_000_000 => "nothing".to_owned(),
            parts => format!("{} of the budget", rounded_down(parts)),
        }
    }

    /// Returns the others in words, with a verb.
    pub(in crate::job) fn have(&self) -> String {
        let is_one = self.payers.len() == 1 && !self.has_former_versions;
        format!("{} {}", self.others(), if is_one { "has" } else { "have" })
    }
}

/// Returns a number of parts as a decimal of at most six digits, which is not above it.
pub(in crate::job) fn rounded_down(parts: u64) -> String {
    let millionth = BudgetShare::WHOLE.parts() / 1_000_000;
    let share = BudgetShare::of(&Decimal::of(&(parts / millionth).to_string(), -6));
    share.map_or_else(|_| "0".to_owned(), |share| share.to_decimal().to_string())
}

impl Job {
    /// Returns the budget that is left for the job in its ledger, beside other jobs; `None` where a part of the rows is in
    /// archives alone. Reads no record, and writes nothing.
    ///
    /// # Errors
    ///
    /// Any reason to refuse a run because of its ledger.
    pub fn budget_left(&self) -> Result<Option<BudgetLeft>, RunError> {
        self.budget_left_beside(None)
    }

    /// Returns the budget that is left for the job and another one together.
    pub(in crate::job) fn budget_left_beside(
        &self,
        other: Option<&Job>,
    ) -> Result<Option<BudgetLeft>, RunError> {
        let mut ledger = self.ledger()?;
        let mut own = self.versions()?;
        if let Some(other) = other {
            own.extend(other.versions()?);
        }
        Ok(self.beside(&mut ledger, &own)?.0)
    }

    /// Returns the budget that is left for the job, and the windows that it was refused in its present version.
    pub(super) fn left_in(
        &self,
        ledger: &mut Ledger,
    ) -> Result<(Option<BudgetLeft>, Vec<RefusedWindows>), RunError> {
        self.beside(ledger, &self.versions()?)
    }

    fn beside(
        &self,
        ledger: &mut Ledger,
        own: &BTreeSet<(Name, Name, Digest)>,
    ) -> Result<(Option<BudgetLeft>, Vec<RefusedWindows>), RunError> {
        let horizon = self.horizon();
        let mut windows: Vec<Interval> = Vec::new();
        for offer in self.release_plans(horizon)? {
            let schedule = &offer.schedule;
            // Where there are more, those around the present, in which the charges are that exist.
            let newest = schedule.first_ending_after(SystemClock.now());
            let first = newest.min(schedule.count()).saturating_sub(COMPARED);
            let last = schedule.count().min(first.saturating_add(2 * COMPARED));
            windows.extend((first..last).filter_map(|number| schedule.window(number)));
        }
        windows.extend(self.ask_plans(horizon)?.iter().map(|ask| ask.life));
        let found = ledger.rows_beside(&self.privacy.account, own, windows)?;
        let Some(paid) = found.paid else { return Ok((None, found.refused)) };
        let promise = found.account.promise();
        let payers = found.payers.iter().filter(|payer| **payer != self.name);
        let parts = self.parts_left(found.account.cap(), &paid);
        let left = BudgetLeft {
            account: self.privacy.account.to_string(),
            payers: payers.map(ToString::to_string).collect(),
            has_former_versions: found.payers.contains(&self.name),
            is_shared: paid != paid.nothing(),
            paid: paid.to_string(),
            cap: found.account.cap().to_string(),
            parts,
            is_for_ever: matches!(promise, Promise::Lifetime | Promise::Windows(_)),
        };
        Ok((Some(left), found.refused))
    }

    /// Returns the part of the stated budget that is left under a cap, of each currency that the shares of the job take.
    fn parts_left(&self, cap: &PrivacyCost, paid: &PrivacyCost) -> u64 {
        let whole = BudgetShare::WHOLE.parts();
        let part = |stated: BudgetUnits, cap: BudgetUnits, paid: BudgetUnits| {
            let (left, stated) = (cap.to_bits().saturating_sub(paid.to_bits()), stated.to_bits());
            let parts = UBig::from(left) * UBig::from(whole) / UBig::from(stated.max(1));
            u64::try_from(parts).map_or(whole, |parts| parts.min(whole))
        };
        match (self.account().cap(), cap, paid) {
            (
                PrivacyCost::Pure { epsilon: stated },
                PrivacyCost::Pure { epsilon: cap },
                PrivacyCost::Pure { epsilon: paid },
            ) => part(*stated, *cap, *paid),
            (
                PrivacyCost::Zcdp { rho: stated, delta: stated_delta, .. },
                PrivacyCost::Zcdp { rho: cap, delta: cap_delta, .. },
                PrivacyCost::Zcdp { rho: paid, delta: paid_delta, .. },
            ) => {
                let of_rho = part(*stated, *cap, *paid);
                let is_share = |price: &PriceSpec| matches!(price, PriceSpec::Share(_));
                let takes_delta = self.releases.iter().any(|own| own.charges_delta() && is_share(&own.price))
                    || self.asks.iter().any(|own| is_share(&own.price));
                let is_stated = *stated_delta != BudgetUnits::ZERO;
                if takes_delta && is_stated {
                    of_rho.min(part(*stated_delta, *cap_delta, *paid_delta))
                } else {
                    of_rho
                }
            }
            // Budget accounts hold only these two currencies.
            _ => whole,
        }
    }

    /// Returns the releases and bundles of the job in their present versions.
    fn versions(&self) -> Result<BTreeSet<(Name, Name, Digest)>, RunError> {
        let mut versions = BTreeSet::new();
        for offer in self.release_plans(self.horizon())? {
            let (terms, _) = self.terms_and_charge(&offer)?;
            versions.insert((
                self.name.clone(),
                offer.name.clone(),
                Digest::of_version(offer.version, terms.digest()),
            ));
        }
        for ask in self.ask_plans(self.horizon())? {
            versions.insert((
                self.name.clone(),
                ask.name.clone(),
                Digest::of_version(ask.version, ask.terms.digest()),
            ));
        }
        Ok(versions)
    }

    /// Returns the warning that the shares of the job leave a part of the budget unused, beside what others have paid if
    /// that is known. There is none where a stated cost may use it.
    pub fn unused_budget(&self, left: Option<&BudgetLeft>) -> Option<String> {
        let given = self.shares_alone()?;
        let whole = BudgetShare::WHOLE.parts();
        let left = left.filter(|left| left.is_shared());
        let most = left.map_or(whole, BudgetLeft::parts);
        let unused = most.saturating_sub(given);
        if unused < whole / 100 {
            return None;
        }
        let percent = unused / (whole / 100);
        Some(match left {
            None => format!(
                "privacy.budget: {percent}% of it is given to no release; give shares that come to 1, unless another job or an \
                 estimate of tune has the rest"
            ),
            Some(left) => format!(
                "privacy.budget: {percent}% of it is given to no release and was paid by no other job; give shares that come to \
                 {}, which {} left, unless another job is to have the rest",
                rounded_down(most),
                left.have()
            ),
        })
    }

    /// Returns the warning that the shares of the job are more than others have left, if they are.
    pub(super) fn shares_above(&self, left: &BudgetLeft) -> Option<String> {
        let given = self.shares();
        let is_above = left.is_shared() && given > left.parts();
        is_above.then(|| {
            let remedy = match left.parts() {
                0 => "raise the cap with `discreet ledger amend`, which weakens the promise to these people"
                    .to_owned(),
                most => format!("give shares that come to at most {}", rounded_down(most)),
            };
            format!(
                "release.share: the shares of this job come to {}, and {} left {}; {remedy}",
                rounded_down(given),
                left.have(),
                left.left(),
            )
        })
    }

    /// Returns the shares of the releases and questions together, in units of [`BudgetShare::parts`]; `None` if one of them
    /// has a stated cost.
    fn shares_alone(&self) -> Option<u64> {
        let prices = self.releases.iter().map(|release| &release.price);
        let mut prices = prices.chain(self.asks.iter().map(|ask| &ask.price));
        prices.all(|price| matches!(price, PriceSpec::Share(_))).then(|| self.shares())
    }

    /// Returns true if the ledger of the job is a file that is there.
    pub fn has_local_ledger(&self) -> bool {
        let is_there = |path: &Path| path.is_file();
        !self.privacy.is_remote() && is_there(&self.privacy.ledger)
    }
}
