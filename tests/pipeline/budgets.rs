//! The stream of budgets: what a job sees of its accounts is what the ledger holds, through a restart.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use discreet::accounting::{Interval, PrivacyCost};
use discreet::dataflow::{BudgetBrief, Config, Pulled, Source, SourceError, execute};
use discreet::gate::{AccountStatus, Gate};
use discreet::ledger::Ledger;
use discreet::mechanisms::{Bound, Gaussian, Keys};
use discreet::time::{Time, seconds};

use crate::scene::{JOB, Scratch, Visit, account, span};

const WINDOWS: Time = 8;
/// The cost of a window: a power of two, so that sums are exact.
const RHO: f64 = 1.0 / 64.0;

/// A visit of each window up to one; then the source ends, or is lost once these windows were delivered.
struct Visits {
    next: Time,
    last: Time,
    delivered: Arc<AtomicI64>,
    worker: usize,
}

impl Source for Visits {
    type Record = Visit;

    fn pull(&mut self, batch: &mut Vec<Visit>) -> Result<Pulled, SourceError> {
        if self.next == WINDOWS {
            return Ok(Pulled::End);
        }
        if self.next == self.last {
            let is_delivered = self.delivered.load(Ordering::SeqCst) == self.last;
            return if is_delivered { Err(SourceError::lost("the visits")) } else { Ok(Pulled::Idle) };
        }
        batch.push((self.worker as u64, 0, 0, 10 * self.next, 0));
        self.next += 1;
        Ok(Pulled::Complete(10 * self.next))
    }
}

type Seen<D> = Arc<Mutex<Vec<D>>>;

#[derive(Clone, Default)]
struct Heard {
    /// The worker of each status, and its time.
    statuses: Seen<(usize, Time, AccountStatus)>,
    alerts: Seen<(f64, u64)>,
    latest: Seen<((String, BudgetBrief), Time, isize)>,
    delivered: Arc<AtomicI64>,
}

/// Runs up to a window. The protected stream passes by the budgets, so that one that holds it back is never over.
fn run(scratch: &Scratch, workers: usize, last: Time) -> (bool, Heard) {
    let gate = Gate::open(scratch.ledger(), JOB).unwrap();
    let heard = Heard::default();
    let hears = heard.clone();
    let ended = execute(Config::threads(workers).unwrap(), move |worker, feeds| {
        use timely::dataflow::operators::vec::Map;
        use timely::dataflow::operators::{Concat, Inspect};
        let Heard { statuses, alerts, latest, delivered } = hears.clone();
        let index = worker.index();
        let source = Visits { next: 0, last, delivered: Arc::clone(&delivered), worker: index };
        worker.dataflow(|scope| {
            let budget = feeds.budget(scope, &gate, seconds(3_600))?;
            budget.clone().stream().inspect_core(move |event| {
                let Ok((stamp, batch)) = event else { return };
                let time = *stamp.least().unwrap();
                statuses.lock().unwrap().extend(batch.iter().map(|status| (index, time, status.clone())));
            });
            budget.clone().alerts([0.75, 0.25, 0.5])?.inspect(move |alert| {
                alerts.lock().unwrap().push((alert.part, alert.status.releases));
            });
            budget.clone().latest().inspect(move |change| latest.lock().unwrap().push(change.clone()));
            feeds
                .stream(scope, source)
                .through(|visits| visits.concat(budget.stream().flat_map(|_| None)))
                .protect(|visit| visit.0)
                .tumbling(span(10), |visit| visit.3)
                .between(0, 10 * WINDOWS)
                .bound(Bound::keys(1))
                .people_by(|visit| visit.1, Keys::public(0..1))
                .release(&gate, "people", Gaussian::rho(RHO))
                .deliver(move |_| {
                    delivered.fetch_add(1, Ordering::SeqCst);
                    Ok(())
                });
            Ok(())
        })
    });
    (ended.is_ok(), heard)
}

/// What the ledger shows of the account.
fn shown(scratch: &Scratch) -> (PrivacyCost, u64) {
    let mut ledger = Ledger::open(scratch.ledger()).unwrap();
    let (releases, newest): (u64, Interval) = ledger.releases(&account()).unwrap();
    (ledger.spent(&account(), newest).unwrap().0, releases)
}

// Refutes a status that is missing, wrong or on another worker, a stream that holds windows back or ends before the last commit,
// an alert that is lost, given twice or given again by a restart, and a collection that keeps a former status.
#[test]
fn budgets_are_those_of_the_ledger_through_a_restart() {
    for workers in [1, 3] {
        // Six of the eight windows fit.
        let cap = PrivacyCost::zcdp(6.0 * RHO).unwrap();
        let scratch = Scratch::new("budgets", &cap);
        let (mut refusals, mut parts) = (Vec::new(), Vec::new());
        for (last, is_over) in [(4, false), (WINDOWS, true), (WINDOWS, true)] {
            let before = shown(&scratch);
            let (ended, heard) = run(&scratch, workers, last);
            assert_eq!(ended, is_over, "{workers} workers, up to {last}");
            let statuses = heard.statuses.lock().unwrap();
            let (_, _, first) = &statuses[0];
            assert_eq!((first.spent.clone(), first.releases, first.refusals), (before.0, before.1, 0));
            assert!(statuses.iter().all(|(worker, _, status)| *worker == 0 && status.account == account()));
            assert!(statuses.is_sorted_by_key(|(_, time, _)| *time));
            let newest = &statuses.last().unwrap().2;
            assert_eq!((newest.spent.clone(), newest.releases), shown(&scratch));
            refusals.push(newest.refusals);
            parts.push(heard.alerts.lock().unwrap().clone());
            let mut held = heard.latest.lock().unwrap().clone();
            differential_dataflow::consolidation::consolidate_updates(&mut held);
            let net: BTreeMap<_, isize> =
                held.iter().fold(Default::default(), |mut net, (status, _, change)| {
                    *net.entry(status.clone()).or_default() += change;
                    net
                });
            let kept: Vec<_> = net.into_iter().filter(|(_, number)| *number != 0).collect();
            let brief = |status: &AccountStatus| BudgetBrief {
                spent: Some((status.spent_part().unwrap() * 1e6).ceil() as u32),
                refuses_from: status.refuses_from(),
                releases: status.releases,
                refusals: status.refusals,
            };
            assert_eq!(kept, [((account().as_str().to_owned(), brief(newest)), 1)]);
        }
        assert_eq!(refusals, [0, 2, 0]);
        let of = |run: usize| parts[run].iter().map(|(part, _)| *part).collect::<Vec<_>>();
        // 4, 6 and 6 of 6: the third run finds all of them spent, as the second has left them.
        assert_eq!([of(0), of(1), of(2)], [vec![0.25, 0.5], vec![0.5, 0.75], vec![0.75]]);
    }
}

#[test]
fn parts_of_a_budget_are_above_zero_and_at_most_one() {
    let scratch = Scratch::new("parts", &PrivacyCost::zcdp(1.0).unwrap());
    for part in [0.0, -0.5, 1.5, f64::NAN, f64::INFINITY] {
        let gate = Gate::open(scratch.ledger(), JOB).unwrap();
        let ended = execute(Config::threads(1).unwrap(), move |worker, feeds| {
            worker.dataflow(|scope| {
                feeds.budget(scope, &gate, seconds(1))?.alerts([0.5, part])?;
                Ok(())
            })
        });
        let refused = ended.unwrap_err().to_string();
        assert!(refused.starts_with("alerts: found "), "{part}: {refused}");
    }
}
