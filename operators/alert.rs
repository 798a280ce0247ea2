//! Alerts of a running job: each says once that something needs a look, and is cleared when that is over.
//!
//! An alert is of the public or of the operator. A public one follows from what has been released, and is
//! raised when it is. One of the operator may follow from the state of the process and its source: it reaches
//! the log, the operator's metrics and the operator's command, and nobody else.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A condition that needs the operator's attention.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Alert {
    /// A budget account has spent this part of its cap, in hundredths of a percent.
    Budget {
        /// The name of the account.
        account: String,
        /// The threshold that was reached.
        threshold: u32,
    },
    /// A window of this release was refused.
    Refused {
        /// The name of the release.
        release: String,
    },
    /// A window of this release was skipped, since a part of its input is missing.
    InputGap {
        /// The name of the release.
        release: String,
    },
    /// A threshold alert of a release has fired.
    Fired {
        /// The name of the release.
        release: String,
        /// The key, where the release has several.
        key: Option<String>,
        /// The start of the window.
        start: String,
        /// The number up to which it is silent.
        above: u64,
        /// The alarms that are left.
        left: u32,
    },
    /// The source is not connected, or delivers no sign that it is complete up to a time.
    SourceStalled,
    /// The job reads, and does not keep up with its source.
    Behind,
    /// Records came after each window that could hold them was closed.
    LateRecords,
    /// Records came that lie before the start of the first window.
    RecordsBeforeStart,
    /// The ledger takes long for a window.
    SlowLedger,
    /// The wall clock was set, and windows are held until it can be trusted.
    ClockHeld,
}

/// The audience of an alert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// Everyone: it follows from what was released.
    Public,
    /// The person who runs the job.
    Operator,
}

impl Alert {
    /// The kinds of alerts, each with its audience.
    pub const KINDS: [(&'static str, Audience); 10] = [
        ("budget", Audience::Public),
        ("window_refused", Audience::Public),
        ("input_gap", Audience::Public),
        ("above_threshold", Audience::Public),
        ("source_stalled", Audience::Operator),
        ("behind", Audience::Operator),
        ("late_records", Audience::Operator),
        ("records_before_start", Audience::Operator),
        ("slow_ledger", Audience::Operator),
        ("clock_held", Audience::Operator),
    ];

    /// Returns the kind, as metrics and commands name it.
    pub fn kind(&self) -> &'static str {
        self.row().0
    }

    /// Returns the audience.
    pub fn audience(&self) -> Audience {
        self.row().1
    }

    fn row(&self) -> (&'static str, Audience) {
        let [budget, refused, gap, fired, stalled, behind, late, before, ledger, clock] = Alert::KINDS;
        match self {
            Alert::Budget { .. } => budget,
            Alert::Refused { .. } => refused,
            Alert::InputGap { .. } => gap,
            Alert::Fired { .. } => fired,
            Alert::SourceStalled => stalled,
            Alert::Behind => behind,
            Alert::LateRecords => late,
            Alert::RecordsBeforeStart => before,
            Alert::SlowLedger => ledger,
            Alert::ClockHeld => clock,
        }
    }
}

impl fmt::Display for Alert {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Alert::Budget { account, threshold } => {
                let (percent, rest) = (threshold / 100, threshold % 100);
                write!(f, "account {account} has spent {percent}")?;
                if rest > 0 {
                    write!(f, "{}", format!(".{rest:02}").trim_end_matches('0'))?;
                }
                f.write_str(" % of its budget; see `discreet ledger forecast`")
            }
            Alert::Refused { release } => write!(f, "a window of {release} was refused; its line says why"),
            Alert::InputGap { release } => {
                write!(f, "a window of {release} was skipped: a part of its input is missing")
            }
            Alert::Fired { release, key, start, above, left } => {
                write!(f, "{release} has fired in the window from {start} on: more than {above}")?;
                if let Some(key) = key {
                    write!(f, " of {key:?}")?;
                }
                match left {
                    0 => f.write_str("; that was its last alarm: a new version is armed anew, and pays anew"),
                    1 => f.write_str("; 1 alarm is left"),
                    left => write!(f, "; {left} alarms are left"),
                }
            }
            Alert::SourceStalled => f.write_str("the source is not complete up to any later time than a minute ago, and nothing is read from it"),
            Alert::Behind => f.write_str("the job reads, and is a minute or more behind its source"),
            Alert::LateRecords => f.write_str(
                "records came after each window that could hold them was closed, and are in none; let what writes them flush \
                 sooner, or give source.late, in a new version, the time by which they may come later than their own",
            ),
            Alert::RecordsBeforeStart => f.write_str(
                "records came that lie before job.from, where there is no window, and are in none; are their times and the zone \
                 right, and is their file one of this job?",
            ),
            Alert::SlowLedger => f.write_str("the ledger takes more than a second for a window"),
            Alert::ClockHeld => f.write_str("the clock was set; windows wait until it can be trusted"),
        }
    }
}

/// The alerts of a run. Clones are the same alerts.
#[derive(Clone, Default)]
pub struct Alerts(Arc<Mutex<RaisedAlerts>>);

type AlertListener = Arc<dyn Fn(&Alert) + Send + Sync>;

#[derive(Default)]
struct RaisedAlerts {
    active: BTreeSet<Alert>,
    counts: BTreeMap<&'static str, u64>,
    listener: Option<AlertListener>,
}

impl Alerts {
    /// Makes the alerts of a run, none of which is raised.
    pub fn new() -> Alerts {
        Alerts::default()
    }

    /// Calls `listener` with each alert that is raised from now on, on the thread that raises it.
    pub fn listen(&self, listener: impl Fn(&Alert) + Send + Sync + 'static) {
        self.lock().listener = Some(Arc::new(listener));
    }

    /// Raises an alert; one that is raised already stays as it is.
    pub fn raise(&self, alert: Alert) {
        let mut raised = self.lock();
        if !raised.active.insert(alert.clone()) {
            return;
        }
        *raised.counts.entry(alert.kind()).or_default() += 1;
        let listener = raised.listener.clone();
        drop(raised);
        match alert.audience() {
            Audience::Public => {
                to_public!(WARN, "alert", alert = alert.kind(), "alert: {alert}");
            }
            Audience::Operator => {
                to_operator!(WARN, "alert", alert = alert.kind(), "alert: {alert}");
            }
        }
        if let Some(listener) = listener {
            listener(&alert);
        }
    }

    /// Takes an alert as raised already, by a former run: it is neither counted nor passed to the listener.
    pub fn take_as_raised(&self, alert: Alert) {
        self.lock().active.insert(alert);
    }

    /// Clears an alert, so that it may be raised again.
    pub fn clear(&self, alert: &Alert) {
        self.lock().active.remove(alert);
    }

    /// Returns the number of alerts of a kind that were raised so far.
    pub fn count(&self, kind: &str) -> u64 {
        self.lock().counts.get(kind).copied().unwrap_or(0)
    }

    fn lock(&self) -> MutexGuard<'_, RaisedAlerts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Alerts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Alerts")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Refutes an alert that is raised at every look, and one that is raised once for ever.
    #[test]
    fn an_alert_is_raised_once_until_it_is_cleared() {
        let (alerts, heard) = (Alerts::new(), Arc::new(Mutex::new(Vec::new())));
        let hears = Arc::clone(&heard);
        alerts.listen(move |alert| hears.lock().unwrap().push(alert.to_string()));
        let spent = |threshold| Alert::Budget { account: "visits".to_owned(), threshold };
        for alert in [Alert::Behind, Alert::Behind, spent(5000), spent(5000), spent(9550)] {
            alerts.raise(alert);
        }
        alerts.clear(&Alert::Behind);
        alerts.raise(Alert::Behind);
        assert_eq!((alerts.count("behind"), alerts.count("budget"), alerts.count("clock_held")), (2, 2, 0));
        let heard = heard.lock().unwrap();
        assert_eq!(heard.len(), 4);
        assert!(heard[1].starts_with("account visits has spent 50 % of"), "{}", heard[1]);
        assert!(heard[2].contains("95.5 %"), "{}", heard[2]);
        assert_eq!(
            (Alert::ClockHeld.kind(), Alert::ClockHeld.audience()),
            ("clock_held", Audience::Operator)
        );
    }
}
