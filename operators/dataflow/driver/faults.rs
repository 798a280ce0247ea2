//! What a panic does: it ends the process, at once, without a word of what it was about.
//!
//! A worker that panics alone would leave its siblings waiting for ever, and its message may hold a record. So the hook
//! says the same sentence for every panic, and ends the process before anything unwinds: nobody can catch it, and no
//! input is closed by being dropped.

use std::cell::Cell;
use std::io::Write;
use std::panic;
use std::process;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Set once this process ends its run by itself: then its connections may break without a word.
static ENDING: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Whether this thread draws for a dataflow.
    static DRAWS: Cell<bool> = const { Cell::new(false) };
}

/// Says that this thread, a gate's, draws for a dataflow: what becomes of it becomes of the run.
pub(crate) fn draws_for_a_dataflow() {
    DRAWS.set(true);
}

/// From now on a panic on a thread of a dataflow, or of a gate that draws for one, ends the process with exit code 70.
/// Other threads panic as they did before.
pub(crate) fn end_the_process_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |panicked| {
            let thread = thread::current();
            let name = thread.name().unwrap_or_default();
            let peer = name.strip_prefix("timely:recv-").or(name.strip_prefix("timely:send-"));
            if peer.is_some() {
                wait_for_a_reason();
            }
            if !name.starts_with("timely:") && !DRAWS.get() {
                return before(panicked);
            }
            // The library's own tests may know.
            #[cfg(test)]
            before(panicked);
            let what =
                peer.map_or("internal fault".into(), |peer| format!("process {peer} of the job is gone"));
            // The one place of the library that prints: whoever waits for this process is told nothing else.
            let _ = writeln!(std::io::stderr(), "discreet: {what}; nothing incomplete was released");
            process::exit(70);
        }));
    });
}

/// Lets the connections of this process break: it has said how it ends.
pub(crate) fn expect_connections_to_break() {
    ENDING.store(true, Ordering::SeqCst);
}

/// For so long a connection that has broken waits for what another one says of it.
const REASON: Duration = Duration::from_secs(2);

/// Holds a connection that has broken. Where somebody says why within a moment, the run ends by that, and this thread
/// stays where it is: to unwind would spoil what it shares with the workers.
fn wait_for_a_reason() {
    let broke = Instant::now();
    while broke.elapsed() < REASON {
        while ENDING.load(Ordering::SeqCst) {
            thread::park();
        }
        thread::sleep(REASON / 100);
    }
}
