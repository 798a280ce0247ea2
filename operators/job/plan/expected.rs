//! The expected error of each release for a stated number of records and people, and the changes of the job file that
//! would make it smaller.
//!
//! The numbers are public, and no data is read. People are taken to come at any time alike, with equally many records in
//! equally common keys: a common key errs by less, and a rare one by more. Each change is planned as the job that it makes,
//! with this release alone: its share is of the whole budget, so the others do not decide its price.

use serde::Serialize;

use super::keys::ExpectedKeys;
use super::page::short;
use crate::decimal::Decimal;
use crate::job::config::{BudgetShare, CalendarUnit, Every, Job, PriceSpec, ReleaseSpec};
use crate::job::release_plan::ReleasePlan;
use crate::job::statistics::{ContributionKind, NoiseKind};
use crate::job::unfit::UnfitJob;
use crate::mechanisms::Noised;
use crate::time::Span;

/// The expected error of a release.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ExpectedError {
    /// The number of people in a cell; of a key that is just found, where keys are discovered.
    pub people: f64,
    /// The number of people in a window, of whom a key needs that many to be found, where keys are discovered.
    pub found_among: Option<f64>,
    /// The error within which nine tenths of all errors are, where [`Planned::people_for_a_tenth`](super::Planned) is a
    /// tenth.
    pub error: f64,
    /// The typical error of a quantile, within which nine tenths of all errors are where values differ and lie evenly among
    /// the answers. It is no promise; `error` is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub typical: Option<f64>,
    /// True if the release has a `where`, and nothing is known of the records that it keeps: it is taken to keep all.
    pub unconditional: bool,
    /// The changes that make it smaller by a fifth or more, the best first.
    pub changes: Vec<PlannedChange>,
    /// The errors of single keys, where a public sample was given and the release has keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keys: Option<ExpectedKeys>,
}

/// A change of the job file.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PlannedChange {
    /// The change, as the job file has it.
    pub change: String,
    /// The expected error with it.
    pub error: f64,
}

/// The people in a window of a release, and the records of each, in the mean of all windows.
#[derive(Clone, Copy, Debug)]
pub(super) struct WindowPresence {
    pub(super) people: f64,
    pub(super) records: f64,
}

/// The presence in the windows of a release, by its place among the releases of the job; `None` where they have no end.
pub(super) type PresenceOf<'p> = dyn Fn(usize, &ReleasePlan, &ReleaseSpec) -> Option<WindowPresence> + 'p;

/// The most changes that are proposed for a release.
const MOST: usize = 4;

/// The error from which on changes are proposed.
const LARGE: f64 = 0.05;

/// The part of the error that a change leaves at most.
const SMALLER: f64 = 0.8;

impl Job {
    /// Computes the expected error of each release for this number of records and people from the first window to the last.
    ///
    /// # Errors
    ///
    /// If a release has no last window, or the job cannot be planned.
    pub fn expected_errors(&self, rows: u64, people: u64) -> Result<Vec<ExpectedError>, UnfitJob> {
        let even = |_, offer: &ReleasePlan, release: &ReleaseSpec| {
            evenly_present(rows as f64, people as f64, (offer, release))
        };
        let mut expected = self.expected_by(&even)?;
        for (expected, release) in expected.iter_mut().zip(&self.releases) {
            expected.unconditional = release.condition.is_some();
        }
        Ok(expected)
    }

    /// Computes the expected error of each release by the people and records in its windows.
    pub(super) fn expected_by(&self, presence: &PresenceOf<'_>) -> Result<Vec<ExpectedError>, UnfitJob> {
        let offers = self.release_plans(self.horizon())?;
        let expected = |(at, (offer, release)): (usize, (&ReleasePlan, &ReleaseSpec))| {
            let Some((planned, keys)) = self.expected_error(presence, at, (offer, release)) else {
                let place = format!("release[{}].every", at + 1);
                return Err(UnfitJob::new(place, "found no last window; give job.until"));
            };
            let mut changes: Vec<PlannedChange> = Vec::new();
            if planned.error > LARGE {
                let made = self.changes(at, release).into_iter().filter_map(|(change, job)| {
                    let offers = job.release_plans(job.horizon()).ok()?;
                    let alone = (offers.first()?, job.releases.first()?);
                    let (made, _) = job.expected_error(presence, at, alone)?;
                    // Errors of one key are compared: a key that is found with fewer people is another one.
                    let error = match planned.found_among {
                        Some(_) if made.people > planned.people => return None,
                        Some(_) => made.error * made.people / planned.people,
                        None => made.error,
                    };
                    Some(PlannedChange { change, error })
                });
                // Each key has the same noise, however many there are.
                let most = u64::from(release.bound.weight.or(release.bound.keys).unwrap_or(1));
                let half = keys.filter(|keys| *keys >= 2 * most).map(|keys| PlannedChange {
                    change: format!("half of the {keys} keys"),
                    error: planned.error / 2.0,
                });
                changes.extend(made.chain(half).filter(|made| made.error <= planned.error * SMALLER));
            }
            changes.sort_by(|one, other| one.error.total_cmp(&other.error));
            changes.truncate(MOST);
            Ok(ExpectedError { changes, ..planned })
        };
        offers.iter().zip(&self.releases).enumerate().map(expected).collect()
    }

    /// Returns the expected error of a release, without changes, and the number of its keys, if they are listed; `None` if
    /// it cannot be planned, or has no last window.
    fn expected_error(
        &self,
        presence: &PresenceOf<'_>,
        at: usize,
        (offer, release): (&ReleasePlan, &ReleaseSpec),
    ) -> Option<(ExpectedError, Option<u64>)> {
        let settled = offer.prepare(self).ok()?;
        let statistic = release.statistic.as_statistic();
        let WindowPresence { people: present, records } = presence(at, offer, release)?;
        let keys = f64::from(release.bound.most_keys()).min(records.max(1.0));
        let cells = settled.threshold.is_none().then(|| offer.keys.listed()).flatten();
        let tabled = statistic.tabled();
        let most = f64::from(release.bound.per_key.unwrap_or(1));
        let (own, found_among) = match (settled.threshold, &cells) {
            (Some(threshold), _) => (threshold as f64, Some(present)),
            (None, Some(cells)) => {
                let cells = (cells.len() as f64).max(1.0);
                // Each combination of a person is in a cell of each table.
                let tables = tabled.as_ref().map_or(1.0, |tabled| tabled.tables as f64);
                (present * (tables * keys).min(tables * cells) / cells, None)
            }
            (None, None) => (present, None),
        };
        let counted = match statistic.contribution() {
            ContributionKind::Records => (records / keys).clamp(1.0, most),
            _ => 1.0,
        };
        // Of people with equally many keys, all alike.
        let sizes = std::iter::repeat_n(counted / most, keys.ceil() as usize);
        let counted = counted * release.bound.part(release.noise, sizes);
        // A key that is just found has the noise of that window.
        let apart = settled.finding.as_ref().and_then(|finding| finding.apart.as_ref());
        let is_found = settled.threshold.is_some();
        let errors = if is_found { statistic.errors_of_found(&settled) } else { statistic.errors(&settled) };
        let needed = statistic.people_for_a_tenth(&errors);
        let counted = (own * counted).max(f64::MIN_POSITIVE);
        let error = 0.1 * needed / counted;
        let noise = apart.filter(|_| is_found).map_or(&settled.noise[..], |found| &found.noise[..]);
        let typical = noise.iter().filter_map(Noised::typical).map(|typical| typical.nine_tenths).max();
        let typical = typical.map(|ranks| ranks as f64 / counted);
        let listed = cells
            .filter(|_| tabled.is_none() && release.statistic.grouping().is_some())
            .map(|cells| cells.len() as u64);
        let (changes, unconditional, keys) = (Vec::new(), false, None);
        Some((
            ExpectedError { people: own, found_among, error, typical, unconditional, changes, keys },
            listed,
        ))
    }

    /// Returns the jobs that a change of one field makes, with the change.
    fn changes(&self, at: usize, release: &ReleaseSpec) -> Vec<(String, Job)> {
        let mut made: Vec<(String, Job)> = Vec::new();
        let mut with = |change: String, edit: &dyn Fn(&mut Job)| {
            made.extend(self.variant(at, edit).map(|job| (change, job)));
        };
        if release.price != PriceSpec::Share(BudgetShare::WHOLE) {
            with("share = 1".to_owned(), &|job| job.release().price = PriceSpec::Share(BudgetShare::WHOLE));
        }
        for every in longer(release) {
            with(format!("every = \"{every}\""), &|job| job.release().every = every);
        }
        let halved = |bound: Option<u32>| bound.filter(|bound| *bound > 1).map(|bound| bound / 2);
        if let Some(weight) = halved(release.bound.weight) {
            with(format!("bound.weight = {weight}"), &|job| job.release().bound.weight = Some(weight));
        } else if let Some(keys) = halved(release.bound.keys) {
            with(format!("bound.keys = {keys}"), &|job| job.release().bound.keys = Some(keys));
        }
        if let Some(records) = halved(release.bound.per_key) {
            with(format!("bound.per_key = {records}"), &|job| job.release().bound.per_key = Some(records));
        }
        if let Some(windows) = halved(release.bound.windows) {
            with(format!("bound.windows = {windows}"), &|job| job.release().bound.windows = Some(windows));
        }
        for kind in release.statistic.as_statistic().noise_kinds() {
            if *kind != release.noise {
                with(format!("noise = \"{}\"", kind.word()), &|job| job.release().noise = *kind);
            }
        }
        if self.privacy.budget.epsilon.is_some() && self.privacy.budget.delta.is_none() {
            let change = "budget.delta = 1e-6, and noise = \"gaussian\"".to_owned();
            with(change, &|job| {
                job.privacy.budget.delta = Decimal::parse("delta", "1e-6").ok();
                job.release().noise = NoiseKind::Gaussian;
            });
        }
        made
    }

    /// Returns true if a job file can state this noise for a release.
    pub(super) fn is_possible(&self, at: usize, noise: NoiseKind) -> bool {
        self.variant(at, |job| job.release().noise = noise).is_some()
    }

    /// Returns the job with one release alone, edited; `None` if no job file says so.
    fn variant(&self, at: usize, edit: impl Fn(&mut Job)) -> Option<Job> {
        let mut job = self.clone();
        (job.releases, job.asks) = (vec![self.releases.get(at)?.clone()], Vec::new());
        edit(&mut job);
        // Paths were resolved, and mean the same beside a file of the working directory.
        Job::parse("job.toml", &job.to_string()).ok()
    }

    /// The only release of a variant.
    fn release(&mut self) -> &mut ReleaseSpec {
        &mut self.releases[0]
    }
}

/// Returns the presence in a window of a release if people come at any time alike; `None` if its windows have no end.
pub(super) fn evenly_present(
    rows: f64,
    people: f64,
    (offer, release): (&ReleasePlan, &ReleaseSpec),
) -> Option<WindowPresence> {
    let windows = offer.schedule.is_bounded().then(|| offer.schedule.count()).filter(|count| *count > 0)?;
    // The part of all time that a number of the release covers.
    let covered = match (release.running, release.total_windows()) {
        (Some(_), None) => windows,
        (Some(_), Some(windows)) => windows,
        (None, _) => release.sliding_length().and_then(|over| over.over(release.every)).unwrap_or(1),
    };
    let part = (covered as f64 / windows as f64).min(1.0);
    let each = rows / people.max(1.0);
    // A person is in a window unless all of its records are in others.
    let mut present = 1.0 - (1.0 - part).powf(each);
    let records = each * part / present.max(f64::MIN_POSITIVE);
    if let Some(most) = release.bound.windows {
        present = present.min(f64::from(most) / windows as f64);
    }
    Some(WindowPresence { people: people * present, records })
}

/// An hour, in microseconds.
const HOUR: i64 = 3_600_000_000;

/// Returns the next two usual steps between windows that are longer.
pub(in crate::job) fn longer(release: &ReleaseSpec) -> Vec<Every> {
    if release.over.is_some() || release.every == Every::All {
        return Vec::new();
    }
    let length = |every: &Every| match every {
        Every::Span(span) => span.as_microseconds(),
        Every::Calendar(count, unit) => {
            let days = match unit {
                CalendarUnit::Day => 1,
                CalendarUnit::Week | CalendarUnit::WeekFrom(_) => 7,
                CalendarUnit::Month => 30,
                CalendarUnit::Year => 365,
            };
            24 * HOUR * days * i64::from(*count)
        }
        Every::All => i64::MAX,
    };
    let hour = Span::microseconds(HOUR).ok().map(Every::Span);
    let units = [CalendarUnit::Day, CalendarUnit::Week, CalendarUnit::Month, CalendarUnit::Year];
    let usual = hour.into_iter().chain(units.map(|unit| Every::Calendar(1, unit))).chain([Every::All]);
    usual.filter(|every| length(every) > length(&release.every)).take(2).collect()
}

/// Writes a relative error in percent.
pub(in crate::job) fn percent(error: f64) -> String {
    format!("{}%", short((error * 1000.0).round() / 10.0))
}

/// The words before an error that is a part of a number.
pub(super) const AN_ERROR: &str = "an error of";
/// The words before one of a rank, a part of the people.
pub(super) const A_RANK: &str = "a rank that is off by";

/// Describes the expected error, with the words before it, and beside the size that it is of, unless that is the number itself.
pub(super) fn described(
    expected: &ExpectedError,
    units: &str,
    of: &str,
    error_is_of: Option<&str>,
) -> String {
    let ExpectedError { people, found_among, error, typical, unconditional, changes, keys } = expected;
    let all = if *unconditional { ", if its where keeps every record" } else { "" };
    let by_sample = keys.as_ref().map_or(String::new(), |keys| format!("; {}", keys.described(units)));
    let cell = match found_among {
        Some(window) if window < people => {
            return format!(
                "no key is found: one needs {} {units}, and a window has {}{all}{by_sample}",
                short(*people),
                short(window.round())
            );
        }
        Some(window) => {
            let (people, window) = (short(*people), short(window.round()));
            format!("{people} of {window} {units} in a key that is just found{all}")
        }
        None => format!("{} {units} in a cell{all}", short(people.round())),
    };
    let mut text = match error {
        1.0.. if typical.is_some_and(|typical| typical < 1.0) => {
            format!("nothing is promised with {cell}: {of} {} of it", percent(*error))
        }
        1.0.. => {
            format!("mostly noise: with {cell}, {of} {} of {}", percent(*error), error_is_of.unwrap_or("it"))
        }
        _ => {
            let beside = error_is_of.map_or(String::new(), |beside| format!(" of {beside}"));
            format!("{cell}: {of} {}{beside}", percent(*error))
        }
    };
    if let Some(typical) = typical {
        text += &format!(", typically by {} or less", percent(*typical));
    }
    text += &by_sample;
    for (place, PlannedChange { change, error }) in changes.iter().enumerate() {
        let between = if place == 0 { "; with" } else { "," };
        text += &format!("{between} {change}, {}", percent(*error));
    }
    text
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::job::test_jobs::csv_job;

    /// A job of ten days.
    fn job(release: &str, budget: &str) -> Job {
        let text = csv_job("pages", 10, budget, &format!("[[release]]\nname = \"pages\"\n{release}"));
        Job::parse("job.toml", &text).unwrap_or_else(|mistakes| panic!("{mistakes}"))
    }

    const COUNT: &str = r#"every = "1 day"
        count = { by = "page", keys = ["a", "b", "c", "d"] }
        bound = { keys = 2, per_key = 4 }
        noise = "laplace"
        share = 0.25"#;

    fn error(job: &Job) -> f64 {
        job.expected_errors(20_000, 1_000).unwrap()[0].error
    }

    // Refutes people who are in every window, keys that all have, and records beyond the bound.
    #[test]
    fn people_are_spread_over_windows_and_keys() {
        let job = job(COUNT, "epsilon = 1");
        let expected = &job.expected_errors(20_000, 1_000).unwrap()[0];
        // Twenty records of each person, of which none is in a day with this probability.
        let present = 1.0 - 0.9f64.powi(20);
        let people = 1_000.0 * present * 2.0 / 4.0;
        assert!((expected.people - people).abs() < 1e-6, "{expected:?}");
        // In a day in which a person is, two records and a bit are in two keys.
        let needed = job.plan().unwrap().releases[0].people_for_a_tenth as f64;
        let records = (2.0 / present / 2.0f64).max(1.0);
        assert!((expected.error / (0.1 * needed / (people * records)) - 1.0).abs() < 0.01, "{expected:?}");
        // A person who may count in a tenth of all windows is in no more of them.
        let bounded = COUNT.replace("per_key = 4", "per_key = 4, windows = 1");
        let bounded = self::job(&bounded, "epsilon = 1").expected_errors(20_000, 1_000).unwrap();
        assert!((bounded[0].people - 1_000.0 * 0.1 * 2.0 / 4.0).abs() < 1e-6, "{bounded:?}");
    }

    // Refutes an error that is not that of the job with the change, and a change that is left out though it helps most.
    #[test]
    fn a_change_leads_to_the_error_that_is_said() {
        let before = job(COUNT, "epsilon = 1");
        let expected = before.expected_errors(20_000, 1_000).unwrap().remove(0);
        assert_eq!(expected.changes.len(), MOST, "{expected:?}");
        assert!(expected.changes.is_sorted_by(|one, other| one.error <= other.error));
        let edits = [
            ("share = 1", "share = 0.25", "share = 1"),
            ("every = \"1 week\"", "every = \"1 day\"", "every = \"1 week\""),
            ("bound.keys = 1", "keys = 2", "keys = 1"),
            ("bound.per_key = 2", "per_key = 4", "per_key = 2"),
        ];
        let mut found = 0;
        for (change, from, to) in edits {
            assert!(COUNT.contains(from));
            let with = error(&job(&COUNT.replacen(from, to, 1), "epsilon = 1"));
            match expected.changes.iter().find(|made| made.change == change) {
                Some(made) => {
                    assert!((made.error / with - 1.0).abs() < 1e-9, "{change}: {with}, {made:?}");
                    found += 1;
                }
                None => assert!(
                    with > expected.error * SMALLER || with >= expected.changes[MOST - 1].error,
                    "{change}: {with}"
                ),
            }
        }
        assert!(found >= 3, "{expected:?}");
    }

    // Refutes a currency that is not proposed where it would help: of many windows each has Laplace noise of its own.
    #[test]
    fn a_budget_with_a_delta_is_proposed() {
        let hourly = COUNT.replace("1 day", "1h").replace("keys = 2, per_key = 4", "keys = 1, per_key = 1");
        let expected = job(&hourly, "epsilon = 1").expected_errors(20_000, 1_000).unwrap().remove(0);
        let change = "budget.delta = 1e-6, and noise = \"gaussian\"";
        let with = job(&hourly.replace("laplace", "gaussian"), "epsilon = 1, delta = 1e-6");
        let with = error(&with);
        assert!(with < expected.error * SMALLER, "{with}");
        let made = expected.changes.iter().find(|made| made.change == change);
        assert!(made.is_none_or(|made| (made.error / with - 1.0).abs() < 1e-9), "{made:?}");
        assert!(made.is_some() || expected.changes[MOST - 1].error <= with, "{expected:?}");
    }

    // Refutes a discovered key that is expected though a window has too few people, and a page that does not say so.
    #[test]
    fn a_key_that_is_discovered_needs_people() {
        let found =
            COUNT.replace("[\"a\", \"b\", \"c\", \"d\"]", "\"discover\"").replace("laplace", "gaussian");
        let job = job(&found, "epsilon = 1, delta = 1e-6");
        let said = |people: u64| {
            let expected = job.expected_errors(20 * people, people).unwrap().remove(0);
            described(&expected, "people", AN_ERROR, None)
        };
        assert!(said(10).starts_with("no key is found: one needs "), "{}", said(10));
        assert!(
            said(100_000).contains(" of 87840 people in a key that is just found: an error of "),
            "{}",
            said(100_000)
        );
    }

    // Refutes a change that is proposed because a key then needs more people, and errs by less of them.
    #[test]
    fn a_change_of_a_discovered_key_is_compared_on_the_same_key() {
        let found =
            COUNT.replace("[\"a\", \"b\", \"c\", \"d\"]", "\"discover\"").replace("laplace", "gaussian");
        let budget = "epsilon = 1, delta = 1e-6";
        let expected_of = |text: &str| job(text, budget).expected_errors(200_000, 10_000).unwrap().remove(0);
        let (expected, laplace) = (expected_of(&found), expected_of(&found.replace("gaussian", "laplace")));
        assert!(laplace.people > 2.0 * expected.people && laplace.error < expected.error, "{laplace:?}");
        assert!(!expected.changes.is_empty());
        for change in &expected.changes {
            assert_ne!(change.change, "noise = \"laplace\"", "{expected:?}");
        }
        let one = expected_of(&found.replace("keys = 2", "keys = 1"));
        let made = expected.changes.iter().find(|made| made.change == "bound.keys = 1").unwrap();
        assert!(one.people < expected.people);
        assert!((made.error - one.error * one.people / expected.people).abs() < 1e-9, "{made:?} {one:?}");
    }

    // Refutes an error that is stated as if a condition kept every record, without a word.
    #[test]
    fn a_condition_is_said_to_keep_all() {
        let filtered = format!("{COUNT}\nwhere = 'page != \"a\"'");
        let expected = job(&filtered, "epsilon = 1").expected_errors(20_000, 1_000).unwrap().remove(0);
        let said = described(&expected, "people", AN_ERROR, None);
        assert!(said.contains(" people in a cell, if its where keeps every record"), "{said}");
        let all = job(COUNT, "epsilon = 1").expected_errors(20_000, 1_000).unwrap().remove(0);
        assert!(!described(&all, "people", AN_ERROR, None).contains("where"));
    }
}
