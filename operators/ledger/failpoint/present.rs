//! Failpoints of a build with the feature `failpoints`.

use std::collections::BTreeMap;
use std::io::Write;
use std::ops::RangeInclusive;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Signal, getpid, kill_process};

use super::super::error::{LedgerError, LedgerErrorKind};

/// The text that a process writes to standard error when its failpoint acts; every build with failpoints
/// contains it.
pub const MARKER: &str = "a failpoint of the crash tests was reached";

/// The environment variable that selects a failpoint and its action.
const VARIABLE: &str = "DISCREET_FAILPOINT";

/// An upper bound of the time in which a signal reaches every thread of its own process.
const SIGNAL: Duration = Duration::from_millis(20);

#[derive(Debug)]
struct FailpointPlan {
    point: String,
    hits: RangeInclusive<u32>,
    act: Act,
}

#[derive(Clone, Copy, Debug)]
enum Act {
    Abort,
    Error,
    Stop,
}

static PLAN: LazyLock<Option<FailpointPlan>> = LazyLock::new(|| {
    let text = std::env::var(VARIABLE).ok()?;
    let plan = read(&text);
    if plan.is_none() {
        // A test that went on would test nothing.
        let _ = writeln!(std::io::stderr(), "{VARIABLE}: found {text:?}; give POINT:HIT:abort|error|stop");
        std::process::exit(2);
    }
    plan
});

static HITS: Mutex<BTreeMap<&'static str, u32>> = Mutex::new(BTreeMap::new());

fn read(text: &str) -> Option<FailpointPlan> {
    let mut parts = text.split(':');
    let (point, hits, act) = (parts.next()?, parts.next()?, parts.next()?);
    let (first, last) = hits.split_once('-').unwrap_or((hits, hits));
    let act = match act {
        "abort" => Act::Abort,
        "error" => Act::Error,
        "stop" => Act::Stop,
        _ => return None,
    };
    Some(FailpointPlan { point: point.to_owned(), hits: first.parse().ok()?..=last.parse().ok()?, act })
}

/// Counts a visit of a failpoint, and performs the action if it is due.
///
/// # Errors
///
/// A [`LedgerError`] of this kind, if the environment variable selects `error` here.
pub fn reached(point: &'static str, kind: LedgerErrorKind) -> Result<(), LedgerError> {
    let hit = {
        let mut hits = HITS.lock().unwrap_or_else(PoisonError::into_inner);
        let hit = hits.entry(point).or_default();
        *hit += 1;
        *hit
    };
    let Some(plan) = PLAN.as_ref().filter(|plan| plan.point == point && plan.hits.contains(&hit)) else {
        return Ok(());
    };
    let _ = writeln!(std::io::stderr(), "{MARKER}: {point} {hit}");
    match plan.act {
        Act::Abort => loop {
            let _ = kill_process(getpid(), Signal::KILL);
            std::thread::sleep(SIGNAL);
        },
        Act::Error => Err(LedgerError::new(kind, format!("failpoint {point}"))),
        Act::Stop => {
            let _ = kill_process(getpid(), Signal::STOP);
            std::thread::sleep(SIGNAL);
            Ok(())
        }
    }
}

/// The number of times that each failpoint was reached.
pub fn hits() -> BTreeMap<&'static str, u32> {
    HITS.lock().unwrap_or_else(PoisonError::into_inner).clone()
}
