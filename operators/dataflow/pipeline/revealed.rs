//! Exact tallies, for tests of a pipeline. **Nothing that is revealed here is private.**
//!
//! A test of a pipeline compares what it counts with a plain computation, and with what it counts without one
//! person. It needs the tallies before their noise. So a run can be started in which a pipeline ends in
//! [`reveal`](Tallied::reveal), where it ends in [`release`](Tallied::release) elsewhere: the same windows,
//! the same contribution bounding, and the same operator that takes a window for complete; no noise, no
//! price, no row.
//!
//! Revealed tallies cannot become a release, and a release is never without noise:
//!
//! * `reveal` takes an [`ExactRun`]. [`execute`] alone makes one, for one run, and each other run refuses it.
//! * A run that reveals refuses every gate: a pipeline of it that ends in `release` ends the run before a
//!   record is read.
//! * Nothing here takes a gate, a ledger or a mechanism, and no feature of Cargo changes a release.
//!
//! The crate `discreet-testing` is the kit that is built on it, with scripted inputs and the replay without each
//! person.
//!
//! ```
//! use discreet::dataflow::revealed;
//! use discreet::prelude::*;
//!
//! let tallies = revealed::execute(Config::threads(2)?, 1, |worker, feeds, run| {
//!     // Reader 1 twice on page 0: with a bound of one visit a page, one of them counts.
//!     let visits = [(1_u64, 0_u32), (1, 0), (2, 0), (2, 1)];
//!     let own: Vec<_> = visits.into_iter().skip(worker.index()).step_by(worker.peers()).collect();
//!     worker.dataflow(|scope| {
//!         feeds
//!             .stream(scope, All::of(own))
//!             .protect(|visit| visit.0)
//!             .whole(0, 10, |_| 5)
//!             .bound(Bound::keys(2))
//!             .count_by(|visit| visit.1, Keys::public(0..2_u32))
//!             .reveal(run, "visits");
//!     });
//!     Ok(())
//! })?;
//! let window = &tallies[0].windows()[0];
//! assert_eq!((window.number(&0_u32), window.number(&1_u32)), (Some(2), Some(1)));
//! # Ok::<(), RunError>(())
//! ```

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::admission::ContributionTable;
use super::aggregation::{Aggregation, LifetimeBound};
use super::backend::Portion;
use super::bounder::AggregationPart;
use super::columns::KeyFunction;
use super::tallied::Tallied;
use super::unit::ProtectedUnit;
use crate::accounting::{Adjacency, Interval, PrivacyCost, ReleaseCost};
use crate::dataflow::bounding::{ContributionSelector, Measure};
use crate::dataflow::driver::{self, Config, Feeds, RunError, Worker};
use crate::dataflow::engine::Travels;
use crate::dataflow::release::{
    ReleaseBackend, StatisticSchedule, Title, Wake, Waker, WindowStatistic, release,
};
use crate::gate::{
    BudgetStatus, GateEvent, ReleaseRequest, ResumePositions, ResumeUpdate, Sealable, SkipReason,
};
use crate::ledger::{Charge, Digest, Forecast, LedgerError, Name, ReleaseId, ReleaseStatus, Row};
use crate::mechanisms::exact::ExactStatistic;
use crate::mechanisms::{
    ContributionBound, ExactCell, ExactValue, Key, Label, Sensitivity, Statistic, Summary,
};
use crate::noise::NoiseSource;
use crate::time::Time;

/// Runs pipelines to their end as [`execute`](crate::execute) does, in one process, and returns the exact
/// tallies of each statistic that is [revealed](Tallied::reveal), in the order of their names.
///
/// `seed` chooses which records are kept of a person who has more than the bound: it takes the place of the
/// ledger's key. Another seed keeps others.
///
/// # Errors
///
/// As [`execute`](crate::execute), and if a pipeline ends in a gate, or the configuration has several
/// processes.
pub fn execute(
    config: Config,
    seed: u64,
    build: impl Fn(&mut Worker, &mut Feeds, &ExactRun) -> Result<(), RunError> + Send + Sync + 'static,
) -> Result<Vec<ExactTally>, RunError> {
    let mut secret = [0; 32];
    secret[..8].copy_from_slice(&seed.to_le_bytes());
    execute_by(config, secret, build)
}

/// Runs pipelines with this secret of the contribution selection.
pub(super) fn execute_by(
    config: Config,
    secret: [u8; 32],
    build: impl Fn(&mut Worker, &mut Feeds, &ExactRun) -> Result<(), RunError> + Send + Sync + 'static,
) -> Result<Vec<ExactTally>, RunError> {
    let (mark, tallies) = (Arc::new(()), Arc::default());
    let config = config.revealing(Arc::clone(&mark))?;
    let run = ExactRun { mark, secret, tallies: Arc::clone(&tallies) };
    driver::execute(config, move |worker, feeds| build(worker, feeds, &run))?;
    let tallies = std::mem::take(&mut *lock(&tallies));
    Ok(tallies.into_values().collect())
}

/// A run whose tallies are revealed, and that has no gate. [`execute`] alone makes one.
#[derive(Clone)]
pub struct ExactRun {
    mark: Arc<()>,
    secret: [u8; 32],
    tallies: RevealedTallies,
}

redacted!(ExactRun);

/// The tallies of a run, by the name of the statistic.
type RevealedTallies = Arc<Mutex<BTreeMap<String, ExactTally>>>;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The exact tallies of one statistic, and the bound that it declares to a gate. Nothing about them is
/// private.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExactTally {
    name: String,
    bound: ContributionBound,
    sensitivity: Sensitivity,
    is_of_all_windows: bool,
    discovers_keys: bool,
    windows: Vec<ExactWindow>,
}

impl ExactTally {
    /// Returns the name under which it was revealed.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the contribution bound.
    pub fn bound(&self) -> &ContributionBound {
        &self.bound
    }

    /// Returns the distance by which one unit may move the [coordinates](ExactCell::coordinates) of one window; of
    /// all windows together, if the [bound is of them](ExactTally::is_of_all_windows).
    pub fn sensitivity(&self) -> Sensitivity {
        self.sensitivity
    }

    /// Returns true if the bound is of all windows together, as that of totals over windows is.
    pub fn is_of_all_windows(&self) -> bool {
        self.is_of_all_windows
    }

    /// Returns true if its keys are discovered, which the number of people of each decides.
    pub fn discovers_keys(&self) -> bool {
        self.discovers_keys
    }

    /// Returns the windows that a gate would have been asked for, in their order.
    pub fn windows(&self) -> &[ExactWindow] {
        &self.windows
    }
}

/// One window of a statistic, exact. Nothing about it is private.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExactWindow {
    window: Interval,
    outcome: Result<Vec<(Label<'static>, ExactCell)>, SkipReason>,
}

impl ExactWindow {
    /// Returns the time of the window.
    pub fn interval(&self) -> Interval {
        self.window
    }

    /// Returns the reason for which the window is skipped, if it is.
    pub fn skipped(&self) -> Option<SkipReason> {
        self.outcome.as_ref().err().copied()
    }

    /// Returns the cells, in the order of their keys: of each public key, or of each key that somebody has.
    pub fn cells(&self) -> &[(Label<'static>, ExactCell)] {
        self.outcome.as_deref().unwrap_or_default()
    }

    /// Returns the cell of a key.
    pub fn cell(&self, key: &impl Key) -> Option<&ExactCell> {
        let label = key.label();
        self.cells().iter().find(|(own, _)| *own == label).map(|(_, cell)| cell)
    }

    /// Returns the count, the number of people or the sum of a key: 0 for a key that nobody has, and `None` if
    /// the window is skipped, or the value is no single number.
    pub fn number(&self, key: &impl Key) -> Option<i128> {
        match (&self.outcome, self.cell(key).map(|cell| &cell.value)) {
            (Ok(_), Some(ExactValue::Number(number))) => Some(*number),
            (Ok(_), None) => Some(0),
            _ => None,
        }
    }
}

impl<'scope, D, U, T, Q, G, V> Tallied<'scope, D, U, T, Q, G, V>
where
    D: 'static,
    U: ProtectedUnit<D>,
    Q: Aggregation<Statistic: ExactStatistic<Key = <Q as Aggregation>::Key>>,
    AggregationPart<Q>: Travels,
    T: Fn(&D) -> Time + 'static,
    G: Fn(&D) -> Q::Key + 'static,
    V: Fn(&D) -> <Q::Measure as Measure>::Value + 'static,
{
    /// Reveals the exact tally of every window to a test, under a name. **There is no noise, and nothing that comes
    /// of it is private.**
    ///
    /// It takes the place of [`release`](Tallied::release) in a [run that has no gate](crate::dataflow::revealed),
    /// and ends any other run before a record is read. A gate does not stand in for an [`ExactRun`]:
    ///
    /// ```compile_fail,E0308
    /// # use discreet::prelude::*;
    /// # fn pipeline(visits: Fed<'_, (u64, i64)>, gate: &Gate) {
    /// let visits = visits.protect(|visit| visit.0).tumbling(minutes(10), |visit| visit.1).from(0);
    /// visits.bound(Bound::keys(1)).count().reveal(gate, "visits");
    /// # }
    /// ```
    ///
    /// nor an [`ExactRun`] for a gate:
    ///
    /// ```compile_fail,E0308
    /// # use discreet::dataflow::revealed::ExactRun;
    /// # use discreet::prelude::*;
    /// # fn pipeline(visits: Fed<'_, (u64, i64)>, run: &ExactRun) {
    /// let visits = visits.protect(|visit| visit.0).tumbling(minutes(10), |visit| visit.1).from(0);
    /// visits.bound(Bound::keys(1)).count().release(run, "visits", Gaussian::rho(0.1));
    /// # }
    /// ```
    pub fn reveal(self, run: &ExactRun, name: &str) {
        let shared = Arc::clone(&self.bounded.items.context.shared);
        if let Err(failure) = self.revealed(run, name) {
            shared.fail(failure);
        }
    }

    fn revealed(self, run: &ExactRun, name: &str) -> Result<(), RunError> {
        let Tallied { bounded: people, key, value, question, function, counts, .. } = self;
        let context = Rc::clone(&people.items.context);
        if !context.shared.is_revealing(&run.mark) {
            let remedy = "reveal: the tallies of another run; `revealed::execute` makes one that has no gate";
            return Err(RunError::configuration(remedy));
        }
        if let Some(refused) = people.refused.clone() {
            return Err(refused.into());
        }
        let schedule =
            people.windows.schedule.clone().ok_or_else(|| RunError::configuration("windows: none"))?;
        let (question, limits) = (question?, *people.limits());
        let statistic = question.statistic().clone();
        let [account, job] = ["exact"; 2].map(|name| Name::new("release", name));
        let (account, job) = (account?, job?);
        let name = context.name(job.clone(), name)?;
        // The operator asks for a charge, and nobody charges it.
        let charge = Charge::Cost(ReleaseCost::new(Adjacency::PERSON, PrivacyCost::zcdp(1.0)?));
        let contributions = ContributionTable::new(&*people.unit, &question, &limits)?;
        let selector = ContributionSelector::new(run.secret);
        let cap = question.cap(&limits)?;

        let at_worker_0 = (people.items.stream.scope().index() == 0).then(|| {
            lock(&run.tallies).insert(
                name.as_str().to_owned(),
                ExactTally {
                    name: name.as_str().to_owned(),
                    bound: limits,
                    sensitivity: statistic.sensitivity(),
                    is_of_all_windows: matches!(question.over_life(), Some(LifetimeBound::Total(_))),
                    discovers_keys: question.listed().is_none(),
                    windows: Vec::new(),
                },
            );
            let log = WindowLog { name: name.as_str().to_owned(), tallies: Arc::clone(&run.tallies) };
            let revealing =
                RevealedStatistic { statistic, listed: question.listed(), charge, log: log.clone() };
            let waker = Waker::default();
            let events = RefCell::default();
            let backend = RevealingBackend { log, events, wake: Mutex::new(waker.wake()) };
            let title = Title { account, job, version: Digest::of(b"exact"), name: name.clone() };
            let plan = StatisticSchedule::of(title, &people.windows, schedule.clone(), revealing);
            (plan, Box::new(backend) as Box<dyn ReleaseBackend>, waker)
        });

        let admitted = contributions.map(|contributions| (contributions, Vec::new()));
        let reading = people.reading((key, KeyFunction::of::<G>(function)), value, counts);
        let parts = people.parts(reading, (question, cap), &schedule, &selector, admitted);
        // Rows without a line leave, and nobody takes them.
        let _ = release::<RevealedStatistic<Q::Statistic>>(parts, people.windows.at_end, at_worker_0);
        Ok(())
    }
}

/// The place for the windows of one statistic.
#[derive(Clone)]
struct WindowLog {
    name: String,
    tallies: RevealedTallies,
}

impl WindowLog {
    fn add(&self, window: ExactWindow) {
        if let Some(tally) = lock(&self.tallies).get_mut(&self.name) {
            tally.windows.push(window);
        }
    }
}

/// A statistic whose windows are noted as they are complete.
struct RevealedStatistic<S: ExactStatistic> {
    statistic: S,
    listed: Option<Arc<[S::Key]>>,
    charge: Charge,
    log: WindowLog,
}

impl<S: ExactStatistic> WindowStatistic for RevealedStatistic<S>
where
    (S::Key, S::Total): Travels,
{
    type Part = Portion<(S::Key, S::Total)>;
    type Tally = BTreeMap<S::Key, S::Total>;

    fn tally(&self, _: Interval) -> Self::Tally {
        let listed = self.listed.iter().flat_map(|keys| keys.iter());
        listed.map(|key| (key.clone(), S::Total::default())).collect()
    }

    fn absorb(&self, tally: &mut Self::Tally, portion: Self::Part) {
        // That people were admitted is for later processes to know.
        let Portion::Part((key, total)) = portion else { return };
        if self.listed.is_none() {
            tally.entry(key).or_default().join(total);
        } else if let Some(own) = tally.get_mut(&key) {
            own.join(total);
        }
    }

    fn charge(&self, _: Interval) -> Charge {
        self.charge.clone()
    }

    fn last(&self) -> Option<u64> {
        self.statistic.windows()
    }

    fn sealable(&self, window: Interval, tally: Self::Tally) -> Box<dyn Sealable> {
        let label = |key: &S::Key| match key.label() {
            Label::Whole => Label::Whole,
            Label::Number(number) => Label::Number(number),
            Label::Text(text) => Label::Text(text.into_owned().into()),
            Label::Texts(parts) => {
                Label::Texts(parts.into_iter().map(|part| part.into_owned().into()).collect())
            }
        };
        let cells = tally.into_iter().map(|(key, total)| (label(&key), self.statistic.exact(total)));
        self.log.add(ExactWindow { window, outcome: Ok(cells.collect()) });
        Box::new(|_: &mut NoiseSource| String::new())
    }
}

/// Takes the place of a gate: every window has its outcome at once, and no row is written.
struct RevealingBackend {
    log: WindowLog,
    events: RefCell<VecDeque<GateEvent>>,
    wake: Mutex<Wake>,
}

impl RevealingBackend {
    fn settle(&self, release: ReleaseId, status: ReleaseStatus) -> Result<(), LedgerError> {
        let nothing = PrivacyCost::zcdp(1.0)?;
        let budget_status = BudgetStatus {
            account: release.account.clone(),
            job: release.job.clone(),
            window: release.window,
            spent: nothing.clone(),
            cap: nothing,
            forecast: Arc::new(Forecast::unseen()),
            order: 0,
            took: Duration::ZERO,
        };
        let row = Row::unwritten(release, status);
        self.events.borrow_mut().push_back(GateEvent::Row(Box::new(row), Box::new(budget_status)));
        lock(&self.wake)();
        Ok(())
    }
}

impl ReleaseBackend for RevealingBackend {
    fn submit(&self, request: ReleaseRequest) -> Result<(), LedgerError> {
        self.settle(request.release, ReleaseStatus::Sealed)
    }

    fn seek(&self, release: ReleaseId) {
        self.events.borrow_mut().push_back(GateEvent::Absent(release.id()));
        lock(&self.wake)();
    }

    fn skip(&self, release: ReleaseId, why: SkipReason) {
        self.log.add(ExactWindow { window: release.window, outcome: Err(why) });
        // The cost is a constant, which is in range.
        let _ = self.settle(release, ReleaseStatus::Skipped);
    }

    fn hear(&self) -> Option<GateEvent> {
        self.events.borrow_mut().pop_front()
    }

    fn delivered(&self, _: &Row) {}

    fn last_row(&self, _: &Name, _: &Digest) -> Result<Option<Time>, LedgerError> {
        Ok(None)
    }

    fn resume_positions(&self, _: i64) -> Result<Option<ResumePositions>, LedgerError> {
        Ok(None)
    }

    fn keep_positions(&self, _: ResumeUpdate, written: Box<dyn FnOnce() + Send>) {
        written();
    }
}
