//! What a running job does when the system asks: it ends, goes on in another file, or says how it is.

use std::io::Write;
use std::sync::Arc;

use discreet::dataflow::Stop;
use discreet::job::{Reopen, Vitals};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGXFSZ};
use signal_hook::iterator::Signals;

use super::Refusal;

/// Lets a write past the limit on the size of files (`ulimit -f`) fail, instead of ending the process without a word.
pub(crate) fn survive_file_limits() {
    // Where it cannot be set, the process ends as it would have.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
}

/// Stops a run on SIGTERM or SIGINT: nothing incomplete is sealed; asked a second time, the process ends at once. SIGHUP
/// ends nothing: a closed terminal has nothing to do with a run. A live one reopens its output by it, and says on SIGUSR1
/// how it is, to whoever runs it.
pub(crate) fn listen(stop: &Stop, live: Option<(Vitals, Reopen)>) -> Result<(), Refusal> {
    let refuse = |error: std::io::Error| Refusal::new(format!("signals: {error}"));
    let mut heard = vec![SIGTERM, SIGINT, SIGHUP];
    heard.extend(live.is_some().then_some(SIGUSR1));
    let mut signals = Signals::new(heard).map_err(refuse)?;
    let stop = stop.clone();
    let listen = move || {
        // By signals to this process alone: a process of a cluster is stopped by the others, too.
        let mut asked = false;
        for signal in signals.forever() {
            match (signal, &live) {
                (SIGUSR1, Some((vitals, _))) => _ = writeln!(std::io::stderr(), "operator only: {vitals}"),
                (SIGHUP, Some((_, reopen))) => reopen.ask(),
                (SIGHUP, None) => {}
                // Who asks twice does not want to wait.
                _ if asked => std::process::exit(128 + signal),
                _ => {
                    asked = true;
                    stop.stop();
                }
            }
        }
    };
    std::thread::Builder::new().name("signals".into()).spawn(listen).map_err(refuse)?;
    Ok(())
}
