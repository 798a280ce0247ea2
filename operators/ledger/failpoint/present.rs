//! What a place does where there are any.

use std::collections::BTreeMap;
use std::io::Write;
use std::ops::RangeInclusive;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Signal, getpid, kill_process};

use super::super::error::{LedgerError, LedgerErrorKind};

/// What every process says on its standard error when it comes to its place, and so what every such build holds.
pub const MARKER: &str = "a failpoint of the crash tests was reached";

/// Where the environment says it.
const VARIABLE: &str = "DISCREET_FAILPOINT";

/// A signal to the own process reaches every thread of it in less.
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
        // To go on would be to test nothing.
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

/// Comes to a place.
///
/// # Errors
///
/// Trouble of this kind, where the environment asks for it.
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

/// How often each place was reached.
pub fn hits() -> BTreeMap<&'static str, u32> {
    HITS.lock().unwrap_or_else(PoisonError::into_inner).clone()
}
