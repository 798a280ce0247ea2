//! The paces of the statistics of an account, by the newest rows of each, and the statistics that have ended.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::mem;

use super::{EndedRelease, Pace};
use crate::accounting::{Interval, Prices, Promise};
use crate::ledger::account::AccountSpec;
use crate::ledger::agreement::WholeVersions;
use crate::ledger::error::LedgerError;
use crate::ledger::name::Name;
use crate::ledger::repair;
use crate::ledger::rows::{ReleaseId, Row};
use crate::time::{LIMIT, Time};

/// The number of its windows for which a release without a row, while others of its job have some, is taken to go
/// on.
const GRACE: i128 = 3;

/// The newest rows of each statistic, by account, job and name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pacing {
    seen: BTreeMap<(Name, Name, Name), Seen>,
    /// The job whose releases are known, with all of them, each with the end of its last window if it has one.
    known: Option<(Name, BTreeMap<Name, Option<Time>>)>,
    /// The versions with one window of everything, after which none comes.
    whole: WholeVersions,
}

impl Pacing {
    /// Sets all releases of a job, each with the end of its last window if it has one: its others have ended.
    pub(crate) fn know(&mut self, job: Name, releases: BTreeMap<Name, Option<Time>>) {
        self.known = Some((job, releases));
    }

    /// Adds versions with one window of everything; of rows that are added from now on.
    pub(crate) fn know_whole(&mut self, whole: WholeVersions) {
        self.whole.extend(whole);
    }

    /// Adds a row. Rows are added in the order in which they were written.
    pub(crate) fn row(&mut self, row: &Row) {
        let ReleaseId { account, job, name, window, part, version, .. } = &row.release;
        // Charges of a repair belong to no statistic, and all answers of a bundle are of the whole time that was paid for.
        if job.as_str() != repair::JOB && part.is_none() {
            let is_whole = self.whole.contains(&(job.clone(), name.clone(), *version));
            let seen = self.seen.entry((account.clone(), job.clone(), name.clone())).or_default();
            seen.row(*window, row.prices(), row.prepaid.is_some());
            seen.is_whole = is_whole;
        }
    }

    /// The paces of the statistics of an account that go on, and the statistics that have ended. No pace goes on
    /// with a window that ended before the newest one of its job: the job has passed it.
    pub(super) fn of(&self, account: &AccountSpec) -> Result<(Vec<Pace>, Vec<EndedRelease>), LedgerError> {
        let own = || self.seen.iter().filter(|((name, _, _), _)| *name == account.name);
        let mut reached: BTreeMap<&Name, i64> = BTreeMap::new();
        for ((_, job, _), seen) in own() {
            let newest = seen.newest.map_or(i64::MIN, |newest| newest.end());
            let reached = reached.entry(job).or_insert(newest);
            *reached = newest.max(*reached);
        }
        let (mut paces, mut ended) = (Vec::new(), Vec::new());
        for ((_, job, release), seen) in own() {
            let Some((last, length)) = seen.newest.map(|newest| (newest.end(), super::length(newest))) else {
                continue;
            };
            let Some(mut pace) = seen.clone().pace((job.clone(), release.clone()), account.promise) else {
                continue;
            };
            let reached = reached.get(job).copied().unwrap_or(last);
            let known = self.known.as_ref().filter(|(known, _)| known == job);
            let has_ended = match known.map(|(_, releases)| releases.get(release)) {
                Some(stated) => {
                    pace.until = stated.copied().flatten();
                    stated.is_none()
                }
                None => i128::from(reached) - i128::from(last) >= GRACE * length.max(pace.step.into()),
            };
            let floor = i128::from(reached) - length;
            pace.start_from(i64::try_from(floor).unwrap_or(i64::MIN))?;
            let is_over = !has_ended && (pace.windows() == 0 || seen.is_whole);
            if has_ended || is_over {
                ended.push(EndedRelease { job: pace.job, release: pace.release, last, is_over });
            } else {
                paces.push(pace);
            }
        }
        Ok((paces, ended))
    }
}

/// The newest rows of one statistic.
#[derive(Clone, Debug, Default)]
struct Seen {
    /// The newest window, of any status.
    newest: Option<Interval>,
    /// The start of the window before it.
    before: Option<i64>,
    /// The newest window that was paid for, and its costs: `None` if the charge of an earlier window paid for
    /// it.
    paid: Option<(Interval, Option<Prices>)>,
    /// True if the newest row is the one window of everything.
    is_whole: bool,
}

impl Seen {
    /// Adds a row. Rows are added in the order in which they were written.
    fn row(&mut self, window: Interval, prices: Option<Prices>, prepaid: bool) {
        // A window without an end has no next one.
        if window.end() > LIMIT {
            return;
        }
        let newest = self.newest.get_or_insert(window);
        match window.start().cmp(&newest.start()) {
            Ordering::Greater => self.before = Some(mem::replace(newest, window).start()),
            Ordering::Equal if window.end() > newest.end() => *newest = window,
            Ordering::Equal => {}
            Ordering::Less => self.before = self.before.max(Some(window.start())),
        }
        let newer = self.paid.as_ref().is_none_or(|(paid, _)| paid.start() <= window.start());
        if (prices.is_some() || prepaid) && newer {
            self.paid = Some((window, prices));
        }
    }

    /// The pace of the statistic; `None` if no window was paid for yet.
    fn pace(self, (job, release): (Name, Name), promise: Promise) -> Option<Pace> {
        let (newest, (_, prices)) = (self.newest?, self.paid?);
        // The first window of a statistic is taken to be followed by the next without a gap. The step is
        // above zero either way.
        let step = match self.before {
            Some(before) => newest.start().abs_diff(before),
            None => newest.end().abs_diff(newest.start()),
        };
        let shifted = |time: i64| time.checked_add_unsigned(step);
        let next = Interval::new(shifted(newest.start())?, shifted(newest.end())?).ok()?;
        // A statistic that counts a fixed number of windows of a person has paid for all of them with its
        // first.
        let prices = if let Promise::Windows(_) = promise { None } else { prices };
        let (price, partial) = prices.map(|prices| (prices.whole, prices.partial)).unzip();
        Some(Pace { job, release, next, step, price, partial, until: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::{BudgetUnits, PrivacyCost};

    fn amount(units: u128) -> PrivacyCost {
        PrivacyCost::Pure { epsilon: BudgetUnits::from_bits(units) }
    }

    /// Start, end, units charged, prepaid.
    fn pace(
        rows: &[(i64, i64, u128, bool)],
        promise: Promise,
    ) -> Option<(i64, i64, u64, Option<PrivacyCost>)> {
        let mut seen = Seen::default();
        for (start, end, units, prepaid) in rows {
            let cost = (*units > 0).then(|| Prices::same(amount(*units)));
            seen.row(Interval::new(*start, *end).unwrap(), cost, *prepaid);
        }
        let name = |name| Name::new("name", name).unwrap();
        let pace = seen.pace((name("job"), name("release")), promise)?;
        Some((pace.next.start(), pace.next.end(), pace.step, pace.price))
    }

    #[test]
    fn the_pace_is_that_of_the_newest_two_windows() {
        let lifetime = |rows: &[_]| pace(rows, Promise::Lifetime);
        // A single window is followed by the next without a gap.
        assert_eq!(lifetime(&[(0, 10, 3, false)]), Some((10, 20, 10, Some(amount(3)))));
        let rows = [(0, 10, 3, false), (20, 30, 4, false), (25, 35, 5, false)];
        assert_eq!(lifetime(&rows), Some((30, 40, 5, Some(amount(5)))));
        // In every order of writing.
        for order in [[0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            assert_eq!(lifetime(&order.map(|at: usize| rows[at])), lifetime(&rows), "{order:?}");
        }
        // A window that was refused or skipped counts for the pace, and the one that was paid for gives the
        // cost.
        assert_eq!(lifetime(&[(0, 10, 3, false), (10, 20, 0, false)]), Some((20, 30, 10, Some(amount(3)))));
        // Of two versions of one window, the later cost counts.
        let rows = [(0, 10, 3, false), (0, 10, 4, false)];
        assert_eq!(lifetime(&rows), Some((10, 20, 10, Some(amount(4)))));
        // A statistic that never paid has no cost, and a window without an end has no next one.
        assert_eq!(lifetime(&[(0, 10, 0, false)]), None);
        assert_eq!(lifetime(&[(0, i64::MAX, 3, false)]), None);
    }

    #[test]
    fn what_is_prepaid_costs_nothing_more() {
        let rows = [(0, 10, 3, false), (10, 20, 0, true)];
        assert_eq!(pace(&rows, Promise::Lifetime), Some((20, 30, 10, None)));
        assert_eq!(pace(&rows[..1], Promise::Windows(4)), Some((10, 20, 10, None)));
    }

    type NamedTimes = Vec<(String, i64)>;

    /// The paces that go on and the statistics that have ended, by name, of releases with windows of these lengths
    /// up to these times.
    fn going(pacing: &mut Pacing, newest: &[(&str, i64, i64)]) -> (NamedTimes, NamedTimes) {
        let name = |name| Name::new("name", name).unwrap();
        for (release, length, end) in newest {
            let seen = pacing.seen.entry((name("account"), name("job"), name(release))).or_default();
            for end in [end - length, *end] {
                seen.row(Interval::new(end - length, end).unwrap(), Some(Prices::same(amount(1))), false);
            }
        }
        let account = AccountSpec::lifetime("account", amount(100)).unwrap();
        let (paces, ended) = pacing.of(&account).unwrap();
        let paces = paces.into_iter().map(|pace| (pace.release.to_string(), pace.next.start()));
        (paces.collect(), ended.into_iter().map(|ended| (ended.release.to_string(), ended.last)).collect())
    }

    // Refutes a release that was removed or renamed and is counted for ever, one that is left out while it goes on,
    // and a window that lies behind its job.
    #[test]
    fn a_release_that_its_job_went_on_without_has_ended() {
        let owned = |all: &[(&str, i64)]| -> NamedTimes {
            all.iter().map(|(name, time)| ((*name).to_owned(), *time)).collect()
        };
        let of = |newest: &[_]| going(&mut Pacing::default(), newest);
        assert_eq!(of(&[("a", 10, 100), ("b", 10, 110)]), (owned(&[("a", 100), ("b", 110)]), vec![]));
        // The window up to 120 may still come, beside the other's; the one before cannot.
        assert_eq!(of(&[("a", 10, 100), ("b", 10, 120)]), (owned(&[("a", 110), ("b", 120)]), vec![]));
        assert_eq!(of(&[("a", 10, 100), ("b", 10, 129)]).1, vec![]);
        assert_eq!(of(&[("a", 10, 100), ("b", 10, 130)]), (owned(&[("b", 130)]), owned(&[("a", 100)])));
        // Long windows beside short ones go on.
        assert_eq!(
            of(&[("day", 1_440, 14_400), ("minute", 1, 15_839)]),
            (owned(&[("day", 14_400), ("minute", 15_839)]), vec![])
        );
        // All of a job that stands still.
        assert_eq!(of(&[("a", 10, 100)]), (owned(&[("a", 100)]), vec![]));

        let known = |releases: &[&str], newest: &[_]| {
            let name = |name: &&str| Name::new("name", name).unwrap();
            let mut pacing = Pacing::default();
            pacing.know(name(&"job"), releases.iter().map(|release| (name(release), None)).collect());
            going(&mut pacing, newest)
        };
        let newest = [("a", 10, 100), ("b", 10, 100)];
        assert_eq!(known(&["b", "c"], &newest), (owned(&[("b", 100)]), owned(&[("a", 100)])));
        // One that comes back goes on where its job is.
        assert_eq!(known(&["a", "b"], &[("a", 10, 100), ("b", 10, 200)]).0, owned(&[("a", 190), ("b", 200)]));
    }

    // Refutes a window after the only one of a release, of a job that is not known, and one that is left out though its release
    // has become one of many windows.
    #[test]
    fn no_window_comes_after_the_window_of_everything() {
        let of = |is_whole: bool| {
            let (mut pacing, name) = (Pacing::default(), |name| Name::new("name", name).unwrap());
            let seen = pacing.seen.entry((name("account"), name("job"), name("all"))).or_default();
            seen.row(Interval::new(0, 10).unwrap(), Some(Prices::same(amount(1))), false);
            seen.is_whole = is_whole;
            let account = AccountSpec::lifetime("account", amount(100)).unwrap();
            let (paces, ended) = pacing.of(&account).unwrap();
            (paces.len(), ended.iter().map(|ended| (ended.last, ended.is_over)).collect::<Vec<_>>())
        };
        assert_eq!(of(true), (0, vec![(10, true)]));
        assert_eq!(of(false), (1, vec![]));
    }

    // Refutes a window after the last one of its job, and a statistic whose last window is over and that goes on; windows of
    // a calendar, the last of which ends a little before or after that of equal steps, and is left out or followed by another.
    #[test]
    fn no_window_comes_after_the_last_of_its_job() {
        let name = |name: &str| Name::new("name", name).unwrap();
        let of = |until: &[(&str, Option<i64>)], newest: &[_]| {
            let mut pacing = Pacing::default();
            pacing.know(name("job"), until.iter().map(|(release, until)| (name(release), *until)).collect());
            let (paces, ended) = going(&mut pacing, newest);
            let account = AccountSpec::lifetime("account", amount(100)).unwrap();
            let windows: Vec<u64> = pacing.of(&account).unwrap().0.iter().map(Pace::windows).collect();
            (paces.len(), ended, windows)
        };
        let newest = [("a", 10, 100)];
        assert_eq!(of(&[("a", None)], &newest), (1, vec![], vec![u64::MAX]));
        assert_eq!(of(&[("a", Some(130))], &newest), (1, vec![], vec![3]));
        assert_eq!(of(&[("a", Some(126))], &newest), (1, vec![], vec![3]));
        assert_eq!(of(&[("a", Some(134))], &newest), (1, vec![], vec![3]));
        assert_eq!(of(&[("a", Some(110))], &newest), (1, vec![], vec![1]));
        assert_eq!(of(&[("a", Some(100))], &newest), (0, vec![("a".to_owned(), 100)], vec![]));
    }
}
