//! The budgets of a ledger as a stream, so that a job can react to them.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use differential_dataflow::{AsCollection, VecCollection};
use serde::{Deserialize, Serialize};

use crate::dataflow::driver::{Feeds, RunError};
use crate::dataflow::engine::{Operator, Pipeline, Scope, StreamVec};
use crate::gate::{AccountStatus, Gate};
use crate::invalid::{Invalid, InvalidKind, positive};
use crate::ledger::{Name, Outlook};
use crate::time::{Span, Time};

impl Feeds {
    /// Returns the status of each account of the gate's ledger, at worker 0: now, and whenever a commit changes it. Those of
    /// other processes are looked for at this interval.
    ///
    /// A status is at the time up to which the inputs of worker 0 are complete when it comes, in the turn of the driver in which
    /// the releases of the commit come or in the next one. The stream holds no window back, and ends with the inputs.
    ///
    /// All of it is public: costs depend on no record, so whatever a job does by it reveals nothing.
    ///
    /// # Errors
    ///
    /// If the interval is no span, or the ledger cannot be read.
    pub fn budget<'scope>(
        &mut self,
        scope: Scope<'scope, Time>,
        gate: &Gate,
        every: impl TryInto<Span, Error: Into<Invalid>>,
    ) -> Result<BudgetStream<'scope>, RunError> {
        let every: Span = every.try_into().map_err(Into::into)?;
        let interval = Duration::from_micros(every.as_microseconds().unsigned_abs());
        let here = scope.index() == 0;
        let statuses = here.then(|| gate.subscribe_to_budgets(interval)).transpose()?;
        // For those who look at the graph.
        let statuses = self.follow(scope, statuses).unary(Pipeline, "Budget", |capability, _| {
            drop(capability);
            |input, output| {
                input.for_each(|capability, batch| output.session(&capability).give_container(batch));
            }
        });
        Ok(BudgetStream { statuses })
    }
}

/// The status of the accounts of a ledger after each commit, at worker 0.
#[derive(Clone)]
pub struct BudgetStream<'scope> {
    statuses: StreamVec<'scope, Time, AccountStatus>,
}

impl fmt::Debug for BudgetStream<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BudgetStream").finish_non_exhaustive()
    }
}

impl<'scope> BudgetStream<'scope> {
    /// Returns the stream of statuses.
    pub fn stream(self) -> StreamVec<'scope, Time, AccountStatus> {
        self.statuses
    }

    /// Returns an alert for each of these parts of a cap that an account has spent, such as 0.8: each once in a run, and of
    /// those that are spent when it starts, the largest alone. An account whose spent budget becomes available again in time
    /// for every window has none.
    ///
    /// # Errors
    ///
    /// If a part is not above 0 and at most 1.
    pub fn alerts(
        self,
        parts: impl IntoIterator<Item = f64>,
    ) -> Result<StreamVec<'scope, Time, BudgetAlert>, Invalid> {
        let mut parts: Vec<f64> = parts.into_iter().map(part_of_a_budget).collect::<Result<_, _>>()?;
        parts.sort_by(f64::total_cmp);
        parts.dedup();
        Ok(self.statuses.unary(Pipeline, "BudgetAlerts", |capability, _| {
            drop(capability);
            // The number of parts that were reached, by account.
            let mut reached: BTreeMap<Name, usize> = BTreeMap::new();
            move |input, output| {
                input.for_each(|capability, batch| {
                    let mut session = output.session(&capability);
                    for status in batch.drain(..) {
                        let now = number_reached(&status, &parts);
                        let before = reached.get(&status.account).copied();
                        let first = before.unwrap_or(now.saturating_sub(1));
                        reached.insert(status.account.clone(), now.max(first));
                        for part in parts.get(first..now).into_iter().flatten() {
                            session.give(BudgetAlert { part: *part, status: status.clone() });
                        }
                    }
                });
            }
        }))
    }

    /// Returns the newest status of each account as a differential collection, in brief: a status takes back the former one.
    pub fn latest(self) -> VecCollection<'scope, Time, (String, BudgetBrief)> {
        let changes = self.statuses.unary(Pipeline, "LatestBudget", |capability, _| {
            drop(capability);
            let mut newest: BTreeMap<String, BudgetBrief> = BTreeMap::new();
            move |input, output| {
                input.for_each(|capability, batch| {
                    let Some(&time) = capability.least() else { return };
                    let mut session = output.session(&capability);
                    for status in batch.drain(..) {
                        let (account, brief) = (status.account.as_str().to_owned(), BudgetBrief::of(&status));
                        if let Some(former) = newest.insert(account.clone(), brief.clone()) {
                            session.give(((account.clone(), former), time, -1));
                        }
                        session.give(((account, brief), time, 1));
                    }
                });
            }
        });
        changes.as_collection()
    }
}

fn part_of_a_budget(part: f64) -> Result<f64, Invalid> {
    let refused = |kind| Invalid::new("alerts", kind, "parts of a budget, each above 0 and at most 1");
    let part = positive("alerts", part).map_err(|found| refused(found.kind()))?;
    if part > 1.0 { Err(refused(InvalidKind::TooLarge)) } else { Ok(part) }
}

/// Returns the number of parts, in ascending order, that an account has spent.
fn number_reached(status: &AccountStatus, parts: &[f64]) -> usize {
    let spent = status.spent_part().filter(|_| *status.forecast.outlook() != Outlook::Endless);
    spent.map_or(0, |spent| parts.partition_point(|part| *part <= spent))
}

/// An alert: an account has spent a part of its cap.
#[derive(Clone, Debug, PartialEq)]
pub struct BudgetAlert {
    /// The part.
    pub part: f64,
    /// The status of the account.
    pub status: AccountStatus,
}

/// The status of an account in numbers that have an order, for collections.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BudgetBrief {
    /// The spent part of the cap in millionths, rounded up; 1,000,000 where nothing is left. `None` where the currency of the
    /// account has no parameters.
    pub spent: Option<u32>,
    /// The start of the first window that will be refused, if every statistic continues at its newest cost and pace; `None` if
    /// none of those examined will be.
    pub refuses_from: Option<Time>,
    /// The number of sealed releases.
    pub releases: u64,
    /// The number of releases that the budget has refused since the gate was opened.
    pub refusals: u64,
}

impl BudgetBrief {
    fn of(status: &AccountStatus) -> BudgetBrief {
        let AccountStatus { releases, refusals, .. } = *status;
        // Saturates.
        let spent = status.spent_part().map(|part| (part * 1e6).ceil() as u32);
        BudgetBrief { spent, refuses_from: status.refuses_from(), releases, refusals }
    }
}
