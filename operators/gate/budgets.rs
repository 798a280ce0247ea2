//! The status of every account after each commit, for the subscribers of the budgets of a ledger.
//!
//! Rows are read back from the ledger, those of other processes as well, so that all of them see the same. Without a subscriber
//! nothing is read.

use std::collections::BTreeMap;
use std::mem;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::Sender;

use crate::accounting::{Interval, PrivacyCost};
use crate::ledger::{Forecast, Ledger, LedgerError, LedgerErrorKind, Name, Pacing, ReleaseStatus, Row};
use crate::time::Time;

/// The status of a budget account, as the ledger has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountStatus {
    /// The name of the account.
    pub account: Name,
    /// The amount that counts against its newest window with a charge.
    pub spent: PrivacyCost,
    /// The cap.
    pub cap: PrivacyCost,
    /// The window of a sealed release that ends last.
    pub newest: Option<Interval>,
    /// The time until which the budget lasts, if every statistic continues at its newest cost and pace.
    pub forecast: Arc<Forecast>,
    /// The number of sealed releases.
    pub releases: u64,
    /// The number of releases that the budget has refused since the gate was opened, to any job.
    pub refusals: u64,
}

impl AccountStatus {
    /// Returns the spent part of the cap, 1 where nothing is left: of several parameters, the largest. `None` where the
    /// currency has no parameters.
    pub fn spent_part(&self) -> Option<f64> {
        self.spent.part_of(&self.cap)
    }

    /// Returns the start of the first window that will be refused; `None` if none of those examined will be.
    pub fn refuses_from(&self) -> Option<Time> {
        self.forecast.refuses_from()
    }
}

/// The subscribers of the budgets, on the gate's thread.
#[derive(Default)]
pub(super) struct Subscribers {
    outboxes: Vec<Sender<AccountStatus>>,
    seen: Accounts,
    /// The time from one look for rows of other processes to the next.
    every: Duration,
    looked: Option<Instant>,
}

/// The accounts, up to a position of the ledger.
#[derive(Clone, Default)]
pub(super) struct Accounts {
    of: BTreeMap<Name, AccountStatus>,
    read: i64,
}

/// The number of times that the ledger is read anew because it has changed meanwhile.
const AGAIN: usize = 100;

impl Subscribers {
    /// Adds a subscriber, which receives the present status of each account first; `seen` is what the first of them finds.
    pub(super) fn add(
        &mut self,
        (outbox, every): (Sender<AccountStatus>, Duration),
        seen: impl FnOnce() -> Result<Accounts, LedgerError>,
    ) -> Result<(), LedgerError> {
        if self.outboxes.is_empty() {
            (self.seen, self.every, self.looked) = (seen()?, every, Some(Instant::now()));
        }
        self.every = self.every.min(every);
        // A subscriber that has gone is found out later.
        self.seen.of.values().for_each(|status| drop(outbox.send(status.clone())));
        self.outboxes.push(outbox);
        Ok(())
    }

    /// Returns the moment of the next look; `None` without a subscriber.
    pub(super) fn due(&self) -> Option<Instant> {
        self.looked.filter(|_| !self.outboxes.is_empty())?.checked_add(self.every)
    }

    /// Returns the accounts as they were at the last look; `None` without a subscriber.
    pub(super) fn seen(&self) -> Option<Accounts> {
        (!self.outboxes.is_empty()).then(|| self.seen.clone())
    }

    /// Sends what has changed since the last look.
    pub(super) fn send(&mut self, seen: Accounts) {
        let before = mem::replace(&mut self.seen, seen);
        self.looked = Some(Instant::now());
        for (name, status) in &self.seen.of {
            if before.of.get(name) != Some(status) {
                self.outboxes.retain(|outbox| outbox.send(status.clone()).is_ok());
            }
        }
    }
}

impl Accounts {
    /// Reads all accounts, in one state of the ledger.
    pub(super) fn first(ledger: &mut Ledger, pacing: &Pacing) -> Result<Accounts, LedgerError> {
        for _ in 0..AGAIN {
            let mut accounts = Accounts { of: BTreeMap::new(), read: ledger.head()?.0 };
            for account in ledger.accounts()? {
                let (name, cap) = (account.name().clone(), account.cap().clone());
                let (releases, newest) = ledger.releases(&name)?;
                let newest = Some(newest).filter(|_| releases > 0);
                let (spent, forecast) = (cap.nothing(), Arc::new(Forecast::unseen()));
                let account = name.clone();
                let status = AccountStatus { account, spent, cap, newest, forecast, releases, refusals: 0 };
                accounts.of.insert(name, status);
            }
            accounts.update(ledger, pacing)?;
            if ledger.head()?.0 == accounts.read {
                return Ok(accounts);
            }
        }
        let busy = "ledger: other processes write to it without a pause";
        Err(LedgerError::new(LedgerErrorKind::Busy, busy))
    }

    /// Reads the rows since the last look, of which those of other jobs are added to the paces: the gate has added its own, in
    /// the order in which they were written.
    pub(super) fn later(
        mut self,
        ledger: &mut Ledger,
        (mut pacing, job): (Pacing, &Name),
    ) -> Result<(Accounts, Pacing), LedgerError> {
        for _ in 0..AGAIN {
            let head = ledger.head()?.0;
            if head == self.read {
                break;
            }
            let mut others = Vec::new();
            ledger.rows_after(self.read, |row| {
                self.count(&row);
                if row.release().job != *job {
                    others.push(row);
                }
            })?;
            // After most commits there are none, and no version is looked up.
            if !others.is_empty() {
                pacing.know_whole(ledger.whole_versions()?);
                others.iter().for_each(|row| pacing.row(row));
            }
            self.read = self.read.max(head);
            self.update(ledger, &pacing)?;
        }
        Ok((self, pacing))
    }

    fn count(&mut self, row: &Row) {
        self.read = self.read.max(row.sequence());
        let Some(status) = self.of.get_mut(&row.release().account) else { return };
        let window = row.release().window;
        match row.status() {
            ReleaseStatus::Sealed => {
                status.releases += 1;
                let newer = status.newest.filter(|newest| newest.end() >= window.end());
                status.newest = newer.or(Some(window));
            }
            ReleaseStatus::Refused => status.refusals += 1,
            ReleaseStatus::Skipped | ReleaseStatus::Lost => {}
        }
    }

    /// Reads the balance of each account, whose cap an amendment may have changed, and forecasts it.
    fn update(&mut self, ledger: &mut Ledger, pacing: &Pacing) -> Result<(), LedgerError> {
        for (name, status) in &mut self.of {
            let newest = status.newest.map_or_else(|| Interval::new(0, 1), Ok)?;
            (status.spent, status.cap) = ledger.spent(name, newest)?;
            status.forecast = Arc::new(ledger.outlook(pacing, name, newest)?);
        }
        Ok(())
    }
}
