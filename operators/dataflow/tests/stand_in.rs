//! A gate for tests: it answers late, and in reverse order.

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, unbounded};

use crate::accounting::PrivacyCost;
use crate::dataflow::release::{ReleaseBackend, Wake};
use crate::gate::{
    BudgetStatus, GateEvent, HaltReason, ReleaseRequest, ResumePositions, ResumeUpdate, SkipReason,
};
use crate::ledger::{Digest, Forecast, LedgerError, Name, ReleaseId, ReleaseStatus, Row};
use crate::noise::NoiseSource;
use crate::time::Time;

pub(in super::super) fn row(release: ReleaseId, status: ReleaseStatus, line: String) -> Row {
    Row { line, ..Row::unwritten(release, status) }
}

/// A gate that answers after a while, in reverse order, from a thread of its own.
#[derive(Clone)]
pub(super) struct StandIn {
    asked: Sender<Asked>,
    events: Receiver<GateEvent>,
    delivered: Delivered,
}

/// The starts of windows, in the order of what was done with them.
pub(super) type Delivered = Arc<Account>;

/// The windows that a gate was asked for, and those whose delivery was confirmed.
#[derive(Default)]
pub(super) struct Account {
    pub(super) submitted: Mutex<Vec<Time>>,
    pub(super) delivered: Mutex<Vec<Time>>,
}

enum Asked {
    Submit(ReleaseRequest),
    Skip(ReleaseId, SkipReason),
}

impl StandIn {
    /// Creates the gate; `before` has been sealed by a former process, and after `answers` answers the ledger
    /// is in doubt.
    pub(super) fn new(wake: Wake, before: Vec<Row>, answers: usize, delivered: Delivered) -> StandIn {
        let ((asked, inbox), (outbox, events)) = (unbounded(), unbounded());
        let say = move |row: Row| {
            let budget_status = BudgetStatus {
                account: row.release().account.clone(),
                job: row.release().job.clone(),
                window: row.release().window,
                spent: PrivacyCost::zcdp(0.25).unwrap(),
                cap: PrivacyCost::zcdp(1.0).unwrap(),
                forecast: Arc::new(Forecast::unseen()),
                order: 0,
                took: Duration::ZERO,
            };
            let _ = outbox.send(GateEvent::Row(Box::new(row), Box::new(budget_status)));
            outbox.clone()
        };
        before.into_iter().for_each(|row| drop(say(row)));
        thread::spawn(move || {
            let mut left = answers;
            let mut group = Vec::new();
            loop {
                match inbox.recv_timeout(Duration::from_millis(2)) {
                    Ok(asked) => group.push(asked),
                    Err(end) => {
                        for asked in group.drain(..).rev() {
                            let row = match asked {
                                Asked::Skip(release, why) => {
                                    let line = format!("{}: skipped, {why:?}", release.window.start());
                                    row(release, ReleaseStatus::Skipped, line)
                                }
                                Asked::Submit(request) => {
                                    let line = request
                                        .sealable
                                        .draw(None, &mut NoiseSource::from_os().unwrap())
                                        .line;
                                    row(request.release, ReleaseStatus::Sealed, line)
                                }
                            };
                            let outbox = say(row);
                            left -= 1;
                            if left == 0 {
                                let _ = outbox.send(GateEvent::Halted(HaltReason::Unknown));
                                return wake();
                            }
                        }
                        wake();
                        if end == RecvTimeoutError::Disconnected {
                            return;
                        }
                    }
                }
            }
        });
        StandIn { asked, events, delivered }
    }
}

impl ReleaseBackend for StandIn {
    fn submit(&self, request: ReleaseRequest) -> Result<(), LedgerError> {
        self.delivered.submitted.lock().unwrap().push(request.release.window.start());
        let _ = self.asked.send(Asked::Submit(request));
        Ok(())
    }

    fn seek(&self, _: ReleaseId) {}

    fn skip(&self, release: ReleaseId, why: SkipReason) {
        let _ = self.asked.send(Asked::Skip(release, why));
    }

    fn hear(&self) -> Option<GateEvent> {
        self.events.try_recv().ok()
    }

    fn delivered(&self, row: &Row) {
        self.delivered.delivered.lock().unwrap().push(row.release().window.start());
    }

    fn last_row(&self, _: &Name, _: &Digest) -> Result<Option<Time>, LedgerError> {
        Ok(None)
    }

    fn resume_positions(&self, _: i64) -> Result<Option<ResumePositions>, LedgerError> {
        Ok(None)
    }

    fn keep_positions(&self, _: ResumeUpdate, _: Box<dyn FnOnce() + Send>) {}
}
