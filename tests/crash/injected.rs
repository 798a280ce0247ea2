//! The same subject under system-call faults: a kill or an error at the n-th call of a kind; and the order of
//! calls, which proves that nothing is released before it is on the disk.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use discreet::ledger::{Ledger, ReleaseStatus};

use crate::oracle::{Past, judge};
use crate::plan;
use crate::scene::{Scene, Stage, was_killed};
use crate::{in_parallel, size};

/// The system calls by which a ledger, an anchor and a sink are written.
const CALLS: [&str; 6] = ["pwrite64", "write", "fsync", "fdatasync", "ftruncate", "unlink"];

const FAULTS: [&str; 4] = ["signal=SIGKILL", "error=EIO", "error=ENOSPC", "error=EINTR"];

/// Returns true for errors that the manual page lists for the call. Interrupted calls are repeated by their
/// callers.
fn sensible(call: &str, fault: &str) -> bool {
    match fault {
        "error=ENOSPC" => matches!(call, "pwrite64" | "write" | "fdatasync" | "fsync"),
        "error=EINTR" => matches!(call, "pwrite64" | "write" | "ftruncate"),
        _ => true,
    }
}

/// Returns true if strace is installed and may trace; prints a message otherwise.
fn strace_works() -> bool {
    let works = Command::new("strace").args(["-f", "-o", "/dev/null", "true"]).output();
    let works = works.is_ok_and(|output| output.status.success());
    if !works {
        println!("skipped: strace is not installed, or may not trace here, so no system call can be failed");
    }
    works
}

#[derive(Clone, Debug)]
struct Injection {
    call: &'static str,
    fault: &'static str,
    nth: usize,
    delivery: &'static str,
}

pub(crate) fn every_call() {
    if !strace_works() {
        return;
    }
    let stage = Stage::new("injected");
    let mut injections = Vec::new();
    for delivery in ["least", "most"] {
        let counts = count_calls(&stage.scene(delivery, "resume"));
        for call in CALLS {
            // A first checkpoint may find more to do than the trial did.
            let last = counts.get(call).map_or(0, |count| count + count / 8);
            for fault in FAULTS.into_iter().filter(|fault| sensible(call, fault)) {
                // All kills, and every error; in an ordinary run about this many of each, evenly from the
                // first to the last.
                let sampled = size(12, usize::MAX).min(last);
                let places = (0..sampled).map(|place| 1 + place * last / sampled);
                injections.extend(places.map(|nth| Injection { call, fault, nth, delivery }));
            }
        }
    }
    let results = in_parallel(injections, |injection| {
        let outcome = injected(&stage, &injection);
        (injection, outcome)
    });
    let mut tallies: BTreeMap<(&str, &str), (usize, usize)> = BTreeMap::new();
    for (injection, outcome) in &results {
        let (runs, happened) = tallies.entry((injection.call, injection.fault)).or_default();
        *runs += 1;
        *happened += usize::from(*outcome != Ok(false));
    }
    for ((call, fault), (runs, happened)) in &tallies {
        println!("{call:<10} {fault:<15} {runs:>5} runs, {happened:>5} hit");
    }
    let violations: Vec<_> = results
        .iter()
        .filter_map(|(injection, outcome)| Some((injection, outcome.as_ref().err()?)))
        .collect();
    violations.iter().take(20).for_each(|(injection, violation)| println!("{injection:?}\n  {violation}"));
    println!("system calls: {} runs, {} violations", results.len(), violations.len());
    assert!(violations.is_empty());
    for fault in FAULTS {
        let happened =
            tallies.iter().filter(|((_, other), _)| *other == fault).map(|(_, (_, happened))| happened);
        assert!(happened.sum::<usize>() > 0, "{fault} was never hit");
    }
}

/// The number of times that the busiest thread makes each call: strace counts them by thread.
fn count_calls(scene: &Scene) -> BTreeMap<String, usize> {
    let log = scene.path("calls");
    let trace = format!("trace={}", CALLS.join(","));
    let mut life = scene.start_under("strace", &["-f", "-qq", "-o", log.to_str().unwrap(), "-e", &trace]);
    assert!(life.end().unwrap().success(), "under strace: {}", life.complaint());
    let mut counts: BTreeMap<(String, String), usize> = BTreeMap::new();
    for line in fs::read_to_string(log).unwrap().lines() {
        let Some((thread, call)) = line.split_once(' ') else { continue };
        if let Some((call, _)) = call.trim_start().split_once('(') {
            *counts.entry((call.to_owned(), thread.to_owned())).or_default() += 1;
        }
    }
    let mut most = BTreeMap::new();
    for ((call, _), count) in counts {
        let busiest = most.entry(call).or_default();
        *busiest = count.max(*busiest);
    }
    most
}

/// Returns true if the fault happened.
fn injected(stage: &Stage, injection: &Injection) -> Result<bool, String> {
    let Injection { call, fault, nth, delivery } = injection;
    let scene = stage.scene(delivery, "resume");
    let log = scene.path("calls");
    let (trace, inject) = (format!("trace={call}"), format!("inject={call}:{fault}:when={nth}"));
    let log_path = log.to_str().unwrap();
    let mut arguments = vec!["-f", "-qq", "-o", log_path, "-e", &trace, "-e", &inject];
    if fault.starts_with("error") {
        // It is faster to ignore other calls, but then strace 6.1 forgets the signals that it has to send.
        arguments.push("--seccomp-bpf");
    }
    let outcome = || {
        let status = scene.start_under("strace", &arguments).end()?;
        let happened = was_killed(status) || fs::read_to_string(&log).unwrap().contains("INJECTED");
        scene.recover()?;
        judge(&scene, Past { bad_ends: 1, overlapped: false })?;
        Ok(happened)
    };
    let outcome = outcome()
        .map_err(|violation: String| format!("{violation}\n  in {}", scene.directory().display()))?;
    scene.remove();
    Ok(outcome)
}

/// Checks that every line was in the write-ahead log, and the log synced, before the recorder was given it.
pub(crate) fn order() {
    if !strace_works() {
        return;
    }
    let stage = Stage::new("order");
    for delivery in ["least", "most"] {
        let scene = stage.scene(delivery, "resume");
        let log = scene.path("calls");
        let log_path = log.to_str().unwrap();
        let arguments = [
            "-f",
            "-y",
            "-qq",
            "-s",
            "5000",
            "-o",
            log_path,
            "-e",
            "trace=pwrite64,write,sendto,fsync,fdatasync",
        ];
        let mut life = scene.start_under("strace", &arguments);
        assert!(life.end().unwrap().success(), "under strace: {}", life.complaint());
        let checked = in_order(&scene, &fs::read_to_string(log).unwrap());
        println!(
            "order of calls, {delivery}: {checked} releases were on the disk before they were delivered"
        );
        assert!(checked > 5);
    }
}

fn in_order(scene: &Scene, log: &str) -> usize {
    let calls: Vec<&str> = log.lines().collect();
    let first = |needle: &str, kind: &dyn Fn(&str) -> bool| {
        calls.iter().position(|call| kind(call) && call.contains(needle))
    };
    let to_the_log = |call: &str| call.contains("/ledger-wal>") && call.contains("write");
    let printed = |call: &str| call.contains("socket:[") || call.contains("UNIX");
    let mut ledger = Ledger::open(scene.path("ledger")).unwrap();
    let mut checked = 0;
    for release in plan::schedule() {
        let row = ledger.look_up(&release).unwrap().unwrap();
        if row.status() != ReleaseStatus::Sealed {
            continue;
        }
        let token = row.line().split_once("\"token\":\"").unwrap().1.trim_end_matches("\"}");
        let written = first(token, &to_the_log).expect("a line that was never written to the log");
        let printed =
            first(&row.release().id().to_string(), &printed).expect("a line that was never released");
        // The commit lasts until its thread does something other than write to the log.
        let thread = calls[written].split(' ').next().unwrap();
        let before = calls[written..printed.max(written)].iter().filter(|call| call.starts_with(thread));
        let mut after_the_commit = before
            .filter(|call| !to_the_log(call) && !call.contains("write64 resumed"))
            .map(|call| call.trim_end());
        // If the calls of two threads overlap, strace prints a call in two parts, and the second has its end.
        let sync = after_the_commit.next().unwrap_or_default();
        let end = if sync.ends_with("<unfinished ...>") {
            after_the_commit.next().unwrap_or_default()
        } else {
            sync
        };
        assert!(
            sync.contains("sync(") && sync.contains("/ledger-wal>") && end.ends_with("= 0"),
            "row {} was delivered before it was on the disk: after its commit came {sync:?}, {end:?}",
            row.sequence()
        );
        checked += 1;
    }
    checked
}
