//! The part of an account's budget that is left for a job: what other jobs, and former versions of its own releases,
//! have paid is subtracted, and for a job file with other numbers what its releases have paid as they are.
//!
//! Numbers are shown to six digits: payments are rounded up, and caps alike, so that a spent one shows the same number beside
//! it; what is left is rounded down.

use std::collections::BTreeSet;
use std::fmt::{self, Display, Formatter};
use std::path::Path;

use dashu_int::UBig;
use serde::{Serialize, Serializer};

use super::*;
use crate::accounting::{BudgetUnits, Interval, PrivacyCost, Promise};
use crate::dataflow::{Clock, SystemClock};
use crate::decimal::Decimal;
use crate::gate::resume_positions;
use crate::job::config::{BudgetShare, PriceSpec, ReleaseSpec};
use crate::job::release_plan::ceiling;
use crate::ledger::{Digest, Ledger, LedgerKey, MostPaid, Name, RefusedWindows};
use crate::time::in_utc;

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
    /// True if the present version has paid for releases that are to be replaced by others.
    pub has_present_version: bool,
    /// The most that they have paid for any window of the job that is to come, in words.
    pub paid: String,
    /// The window for which they have paid the most, its start and its end; `None` if all that counts is counted for ever.
    pub most_paid_for: Option<(String, String)>,
    /// The cap of the account, in words.
    pub cap: String,
    /// The part that is left for the shares of the job, in units of [`BudgetShare::parts`]; as JSON a number.
    #[serde(rename = "left", serialize_with = "as_part")]
    parts: u64,
    /// The same of each currency.
    #[serde(skip)]
    each: PartsLeft,
    /// The releases of the job whose present version the ledger has.
    #[serde(skip)]
    pub(in crate::job) opened: BTreeSet<Name>,
    /// True if others have paid anything.
    #[serde(skip)]
    is_shared: bool,
    /// True if all that counts is counted for ever.
    #[serde(skip)]
    is_for_ever: bool,
}

/// A part of the budget that is smaller than one over this is none.
const NONE: u64 = 1_000_000_000;

/// The part that is left of each currency of the budget, in units of [`BudgetShare::parts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PartsLeft {
    /// Of epsilon, or rho.
    own: u64,
    /// Of the delta for discovered keys, stable means and questions, where a share of the job takes it.
    delta: Option<u64>,
    /// The delta that the account needs in all for the shares of the job that take it.
    needed: BudgetUnits,
}

impl PartsLeft {
    /// Returns the smaller one.
    fn least(self) -> u64 {
        self.delta.map_or(self.own, |delta| delta.min(self.own))
    }

    /// Returns the part of delta, if it is smaller than the other.
    fn short_of_delta(self) -> Option<u64> {
        self.delta.filter(|delta| *delta < self.own)
    }
}

/// Writes a number of parts as a number.
pub(in crate::job) fn as_part<S: Serializer>(parts: &u64, serializer: S) -> Result<S::Ok, S::Error> {
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
        let versions = match (self.has_former_versions, self.has_present_version) {
            (true, true) => Some("the present and former versions of this job"),
            (true, false) => Some("former versions of this job"),
            (false, true) => Some("the present version of this job"),
            (false, false) => None,
        };
        others.extend(versions.map(str::to_owned));
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
        let (have, left) = (self.have(), self.left());
        let window = match &self.most_paid_for {
            Some((start, end)) => {
                format!(" for a window of this job, the most for that from {start} to {end}")
            }
            None if *is_for_ever => String::new(),
            None => " for a window of this job".to_owned(),
        };
        // Another window may have more.
        let (up_to, at_least) = match (*is_for_ever, self.nothing_is_left()) {
            (true, _) => ("", ""),
            (false, true) => ("up to ", ""),
            (false, false) => ("up to ", "at least "),
        };
        let each = if at_least.is_empty() { "" } else { " in each window" };
        write!(
            f,
            "account {account}: {have} paid {up_to}{paid} of {cap}{window}, and {at_least}{left} is left for its shares{each}"
        )
    }
}

impl BudgetLeft {
    /// Returns the part that is left, in words.
    pub(in crate::job) fn left(&self) -> String {
        let of = |parts: u64, whole: &str| match parts < MILLIONTH {
            true => format!("nothing of {whole}"),
            false => format!("{} of {whole}", rounded_down(parts)),
        };
        match self.each.short_of_delta() {
            Some(delta) => format!("{}, and {},", of(delta, DELTA), of(self.each.own, "its rho")),
            None if self.nothing_is_left() => "nothing".to_owned(),
            None => of(self.parts, "the budget"),
        }
    }

    /// Returns true if less than a millionth is left, which is left by rounding.
    fn nothing_is_left(&self) -> bool {
        self.parts < MILLIONTH
    }

    /// Returns the others in words, with a verb.
    pub(in crate::job) fn have(&self) -> String {
        let is_one = match self.payers.len() {
            0 => !self.has_former_versions,
            1 => !self.has_former_versions && !self.has_present_version,
            _ => false,
        };
        format!("{} {}", self.others(), if is_one { "has" } else { "have" })
    }
}

/// The condition on the other options of an amendment of delta for keys.
pub(super) const NO_LESS_RHO: &str = "beside an --epsilon and a --delta whose rest comes to no less rho";

/// The delta of an account, in words.
const DELTA: &str = "its delta for discovered keys, stable means and questions";

/// A millionth of the budget, in units of [`BudgetShare::parts`].
const MILLIONTH: u64 = BudgetShare::WHOLE.parts() / 1_000_000;

/// Returns a number of parts as a decimal of at most six digits, which is not above it.
pub(in crate::job) fn rounded_down(parts: u64) -> String {
    millionths(parts / MILLIONTH)
}

/// Returns a number of parts as a decimal of at most six digits, which is not below it.
pub(in crate::job) fn rounded_up(parts: u64) -> String {
    millionths(parts.div_ceil(MILLIONTH))
}

fn millionths(count: u64) -> String {
    let share = BudgetShare::of(&Decimal::of(&count.to_string(), -6));
    share.map_or_else(|_| "0".to_owned(), |share| share.to_decimal().to_string())
}

/// Returns a cost in words with at most six digits of each number, none of which is below it, or above it.
pub(super) fn in_six_digits(cost: &PrivacyCost, up: bool) -> String {
    let of =
        |units: BudgetUnits| six_digits(if up { units.to_float_up() } else { units.to_float_down() }, up);
    match cost {
        PrivacyCost::Pure { epsilon } => format!("epsilon {}", of(*epsilon)),
        PrivacyCost::Zcdp { rho, delta, .. } | PrivacyCost::Gaussian { rho, delta } => {
            let law = if matches!(cost, PrivacyCost::Gaussian { .. }) { "Gaussian " } else { "" };
            let delta =
                if *delta == BudgetUnits::ZERO { String::new() } else { format!(", delta {}", of(*delta)) };
            format!("{law}rho {}{delta}", of(*rho))
        }
        // Budget accounts hold only these currencies.
        other => other.to_string(),
    }
}

/// Returns a number that is not negative with at most six significant digits, not below it, or not above it, but for the
/// part in 10^9 by which a cost in units misses its decimal.
pub(in crate::job) fn six_digits(number: f64, up: bool) -> f64 {
    let text = format!("{number:.5e}");
    let read = |digits: i64, power: &str| format!("{digits}e{power}").parse::<f64>().unwrap_or(number);
    let Some((mantissa, power)) = text.split_once('e') else { return number };
    let (digits, power) = (mantissa.replace('.', "").parse::<i64>(), power.parse::<i32>());
    let (Ok(digits), Ok(power)) = (digits, power) else { return number };
    let power = (power - 5).to_string();
    let near = read(digits, &power);
    match up {
        _ if (near - number).abs() <= 1e-9 * number => near,
        true if near < number => read(digits + 1, &power),
        false if near > number => read(digits - 1, &power),
        _ => near,
    }
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

    /// Returns the budget that is left for a job file with other numbers, in which each of these releases, by their places
    /// from 0 on, is another one: it needs a new version, beside whose windows those are charged that the present version
    /// has paid for. They are subtracted, too.
    ///
    /// # Errors
    ///
    /// As of [`Job::budget_left`].
    pub fn budget_left_without(&self, replaced: &BTreeSet<usize>) -> Result<Option<BudgetLeft>, RunError> {
        let mut ledger = self.ledger()?;
        let names = replaced.iter().filter_map(|at| self.releases.get(*at)).map(|release| &release.name);
        let names: BTreeSet<&Name> = names.collect();
        let stay = self.versions()?.into_iter().filter(|(_, name, _)| !names.contains(name)).collect();
        Ok(self.beside(&mut ledger, &stay)?.0)
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
        let windows = self.windows_to_come(ledger)?;
        let found = ledger.rows_beside(&self.privacy.account, own, windows)?;
        let Some(MostPaid { paid, window }) = found.paid else { return Ok((None, found.refused)) };
        let promise = found.account.promise();
        let payers: BTreeSet<&Name> = found.payers.iter().map(|(job, ..)| job).collect();
        let present = self.versions()?;
        let own = found.payers.iter().filter(|(job, ..)| *job == self.name);
        let (by_present, by_former): (Vec<_>, Vec<_>) = own.partition(|payer| present.contains(*payer));
        let is_for_ever = matches!(promise, Promise::Lifetime | Promise::Windows(_));
        let shared = paid != paid.nothing();
        let window = window.filter(|_| shared && !is_for_ever);
        let each = self.parts_left(found.account.cap(), &paid);
        let left = BudgetLeft {
            account: self.privacy.account.to_string(),
            payers: payers
                .into_iter()
                .filter(|payer| **payer != self.name)
                .map(ToString::to_string)
                .collect(),
            has_former_versions: !by_former.is_empty(),
            has_present_version: !by_present.is_empty(),
            is_shared: shared,
            paid: in_six_digits(&paid, true),
            most_paid_for: window.map(|window| (in_utc(window.start()), in_utc(window.end()))),
            cap: in_six_digits(found.account.cap(), true),
            parts: each.least(),
            each,
            opened: self.opened_releases(ledger)?,
            is_for_ever,
        };
        Ok((Some(left), found.refused))
    }

    /// Returns the releases of the job whose present version the ledger has: each of these needs another one to be changed.
    fn opened_releases(&self, ledger: &mut Ledger) -> Result<BTreeSet<Name>, RunError> {
        let opened = ledger.opened(&self.name)?;
        let is_opened = |release: &&ReleaseSpec| {
            let version = release.version.unwrap_or(self.version as u32);
            opened.contains(&(release.name.clone(), version))
        };
        Ok(self.releases.iter().filter(is_opened).map(|release| release.name.clone()).collect())
    }

    /// Returns the windows of the job that are to be paid for: of one that has a resume position, those since then; none
    /// that a repair has lost; and all of them where these are none.
    fn windows_to_come(&self, ledger: &mut Ledger) -> Result<Vec<Interval>, RunError> {
        let horizon = self.horizon();
        let key = if self.is_read_once() { None } else { LedgerKey::open(&self.privacy.key).ok() };
        // Without the key it is not known, and all windows count.
        let resumes = key.and_then(|key| resume_positions(ledger, &key, &self.name).ok().flatten());
        let since = resumes.map(|positions| positions.since).max(ledger.floor()?).unwrap_or(Time::MIN);
        let (mut to_come, mut all): (Vec<Interval>, Vec<Interval>) = (Vec::new(), Vec::new());
        for offer in self.release_plans(horizon)? {
            let schedule = &offer.schedule;
            // Where there are more, those around the present, in which the charges are that exist.
            let newest = schedule.first_ending_after(SystemClock.now());
            let first = newest.min(schedule.count()).saturating_sub(COMPARED);
            let last = schedule.count().min(first.saturating_add(2 * COMPARED));
            let windows = |first: u64| (first..last).filter_map(|number| schedule.window(number));
            all.extend(windows(first));
            to_come.extend(windows(first.max(schedule.first_starting_at(since))));
        }
        let lives: Vec<Interval> = self.ask_plans(horizon)?.iter().map(|ask| ask.life).collect();
        let mut windows = if to_come.is_empty() { all } else { to_come };
        windows.extend(lives);
        Ok(windows)
    }

    /// Returns the part of the stated budget that is left under a cap, of each currency that the shares of the job take.
    fn parts_left(&self, cap: &PrivacyCost, paid: &PrivacyCost) -> PartsLeft {
        let whole = BudgetShare::WHOLE.parts();
        let part = |stated: BudgetUnits, cap: BudgetUnits, paid: BudgetUnits| {
            let (left, stated) = (cap.to_bits().saturating_sub(paid.to_bits()), stated.to_bits());
            let parts = UBig::from(left) * UBig::from(whole) / UBig::from(stated.max(1));
            // Of shares that are no round numbers, rounding leaves a part that no release can have.
            u64::try_from(parts)
                .map_or(whole, |parts| if parts < whole / NONE { 0 } else { parts.min(whole) })
        };
        let alone = |own: u64| PartsLeft { own, delta: None, needed: BudgetUnits::ZERO };
        if let (
            PrivacyCost::Pure { epsilon: stated },
            PrivacyCost::Pure { epsilon: cap },
            PrivacyCost::Pure { epsilon: paid },
        ) = (self.account().cap(), cap, paid)
        {
            return alone(part(*stated, *cap, *paid));
        }
        let both = [self.account().cap(), cap, paid].map(PrivacyCost::rho_and_delta);
        match both {
            [Some((stated, stated_delta)), Some((cap, cap_delta)), Some((paid, paid_delta))] => {
                let own = part(stated, cap, paid);
                let taken = self.shares_of_delta();
                if taken == 0 || stated_delta == BudgetUnits::ZERO {
                    return alone(own);
                }
                let asked = UBig::from(stated_delta.to_bits()) * UBig::from(taken) / UBig::from(whole);
                let asked = BudgetUnits::from_bits(u128::try_from(asked).unwrap_or(u128::MAX));
                PartsLeft {
                    own,
                    delta: Some(part(stated_delta, cap_delta, paid_delta)),
                    needed: paid_delta.plus("delta", asked).unwrap_or(BudgetUnits::UNBOUNDED),
                }
            }
            // Budget accounts hold only these currencies.
            _ => alone(whole),
        }
    }

    /// Returns the shares of the releases and questions that take a part of delta, in units of [`BudgetShare::parts`].
    fn shares_of_delta(&self) -> u64 {
        let parts = |price: &PriceSpec| match price {
            PriceSpec::Share(share) => share.parts(),
            PriceSpec::Cost(_) => 0,
        };
        let releases = self.releases.iter().filter(|own| own.charges_delta()).map(|own| parts(&own.price));
        releases.chain(self.asks.iter().map(|own| parts(&own.price))).sum()
    }

    /// Returns the releases and bundles of the job in their present versions.
    fn versions(&self) -> Result<BTreeSet<(Name, Name, Digest)>, RunError> {
        let plans = (self.release_plans(self.horizon())?, self.ask_plans(self.horizon())?);
        let versions = PresentVersions::of(self, (&plans.0, &plans.1))?;
        Ok(versions.iter().map(|(name, version)| (self.name.clone(), name.clone(), *version)).collect())
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

    /// Returns the warning that the shares of the job are more than others have left, if they are. Of an account without a
    /// delta there is another one for each release that asks for it.
    pub(super) fn shares_above(&self, left: &BudgetLeft, cap: &PrivacyCost) -> Option<String> {
        if !left.is_shared() {
            return None;
        }
        let (given, taken) = (self.shares(), self.shares_of_delta());
        let has_delta = cap.rho_and_delta().is_some_and(|(_, delta)| delta != BudgetUnits::ZERO);
        let PartsLeft { own, delta, needed } = left.each;
        let (of, given, most, raise) = match delta {
            _ if given > own => ("of this job", given, own, String::new()),
            Some(delta) if taken > delta && has_delta => {
                let raise = format!(" --delta-for-keys {}` or more, {NO_LESS_RHO}", ceiling(needed));
                ("of this job that take delta", taken, delta, raise)
            }
            _ => return None,
        };
        let remedy = match most {
            0 => format!(
                "raise the cap with `discreet ledger amend{}, which weakens the promise to these people",
                if raise.is_empty() { "`" } else { &raise }
            ),
            most if raise.is_empty() => format!("give shares that come to at most {}", rounded_down(most)),
            most => {
                format!(
                    "give them shares that come to at most {}, or `discreet ledger amend{raise}",
                    rounded_down(most)
                )
            }
        };
        let (given, left, have) = (rounded_up(given), left.left(), left.have());
        let left = left.trim_end_matches(',');
        Some(format!("release.share: the shares {of} come to {given}, and {have} left {left}; {remedy}"))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::Omega;

    // Refutes a payment that is shown too small, a rest that is shown too large, and two numbers of one amount that differ
    // by more than a millionth.
    #[test]
    fn payments_are_rounded_up_and_what_is_left_down() {
        let whole = BudgetShare::WHOLE.parts();
        for (parts, up, down) in [
            (0, "0", "0"),
            (1, "1e-6", "0"),
            (42_020_000_000_000_000, "0.04202", "0.04202"),
            (42_020_000_000_000_001, "0.042021", "0.04202"),
            (whole - 1, "1", "0.999999"),
            (whole, "1", "1"),
        ] {
            assert_eq!((rounded_up(parts).as_str(), rounded_down(parts).as_str()), (up, down), "{parts}");
        }
        let rho = |rho: u128, delta: u128| PrivacyCost::Zcdp {
            rho: BudgetUnits::from_bits(rho),
            delta: BudgetUnits::from_bits(delta),
            omega: Omega::EVERY,
        };
        // By hand: a third of 2^64 units, and one unit; a decimal that no number of units is.
        let decimal = rho((1 << 64) / 10, (1u128 << 64) * 5 / 10_000_000);
        assert_eq!([true, false].map(|up| in_six_digits(&decimal, up)), ["rho 0.1, delta 0.0000005"; 2]);
        let (third, one) = (rho((1 << 64) / 3, 0), rho(0, 1));
        assert_eq!([true, false].map(|up| in_six_digits(&third, up)), ["rho 0.333334", "rho 0.333333"]);
        let cost = rho(1 << 62, (1 << 64) / 3_000_000);
        assert_eq!(in_six_digits(&cost, true), "rho 0.25, delta 0.000000333334");
        assert!(in_six_digits(&one, true).starts_with("rho 0, delta 0.0000000000000000000542102"));
        for number in [0.0, 1e-9, 0.0420212345, 0.999_999_5, 0.1, 12_345_678.9] {
            let (up, down) = (six_digits(number, true), six_digits(number, false));
            let is_near = |shown: f64| (shown - number).abs() <= 1e-5 * number;
            assert!(down <= number * (1.0 + 1e-9) && number * (1.0 - 1e-9) <= up, "{down} {number} {up}");
            assert!(is_near(up) && is_near(down), "{down} {number} {up}");
        }
    }
}
