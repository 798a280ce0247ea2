//! A pipeline is killed, failed or suspended at every point of the write path, started again, and judged from outside.
//!
//! The subject is a program of its own (`tests/crash/subject.rs`), built with the feature `failpoints`; the recorder is
//! another, which outlives it; and what must hold afterwards stands in `tests/crash/oracle.rs`.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

#[path = "crash/injected.rs"]
mod injected;
#[path = "crash/matrix.rs"]
mod matrix;
#[path = "crash/oracle.rs"]
mod oracle;
#[path = "crash/plan.rs"]
mod plan;
#[path = "crash/scene.rs"]
mod scene;

/// Small in an ordinary run, full in `bash .ci/run --full`.
fn size(small: usize, full: usize) -> usize {
    if std::env::var_os("DISCREET_FULL").is_some() { full } else { small }
}

/// A sequence of choices that is the same in every run.
struct Chance(u64);

impl Chance {
    fn of(parts: &[usize]) -> Chance {
        Chance(
            parts.iter().fold(2026, |seed, part| (seed ^ *part as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)),
        )
    }

    /// A number below `limit`, by SplitMix64.
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % limit.max(1) as u64) as usize
    }
}

/// Does every piece of work, several at a time: most of a life is waiting for a disk.
fn in_parallel<T: Send, R: Send>(work: Vec<T>, each: impl Fn(T) -> R + Sync) -> Vec<R> {
    let queue = std::sync::Mutex::new(work.into_iter());
    let results = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().unwrap().next();
                    let Some(next) = next else { return };
                    let result = each(next);
                    results.lock().unwrap().push(result);
                }
            });
        }
    });
    results.into_inner().unwrap()
}

/// One after another: each keeps both cores busy.
static TURN: std::sync::Mutex<()> = std::sync::Mutex::new(());

fn turn() -> std::sync::MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Refutes: there is a point at which a crash, an error or a suspended process makes a window say two things, say
/// something that was not paid for, lose its line, its state or its charge, or never come to an end.
#[test]
fn no_crash_anywhere_costs_more_than_time() {
    let _turn = turn();
    matrix::run();
}

/// Refutes: there is a system call at which a kill or an error does what no point showed, such as inside of a commit or
/// of a checkpoint of SQLite's.
#[test]
fn no_failing_system_call_costs_more_than_time() {
    let _turn = turn();
    injected::every_call();
}

/// Refutes: a release is told while its commit is in the memory of the machine only, which a power cut empties.
#[test]
fn every_release_is_on_the_disk_before_it_is_told() {
    let _turn = turn();
    injected::order();
}
