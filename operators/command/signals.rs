//! What a running job does when the system asks: it stops cleanly, or says how it is.

use std::io::Write;

use discreet::dataflow::Stop;
use discreet::job::Vitals;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;

use super::Refusal;

/// Stops a run on SIGTERM, SIGINT or SIGHUP: nothing incomplete is sealed. On SIGUSR1 a line says how it is, to whoever
/// runs it.
pub(crate) fn stop_on_request(stop: &Stop, vitals: Option<Vitals>) -> Result<(), Refusal> {
    let asked =
        if vitals.is_some() { vec![SIGTERM, SIGINT, SIGHUP, SIGUSR1] } else { vec![SIGTERM, SIGINT, SIGHUP] };
    let refuse = |error: std::io::Error| Refusal::new(format!("signals: {error}"));
    let mut signals = Signals::new(asked).map_err(refuse)?;
    let stop = stop.clone();
    let listen = move || {
        // By signals to this process alone: a process of a cluster is stopped by the others, too.
        let mut asked = false;
        for signal in signals.forever() {
            match (signal, &vitals) {
                (SIGUSR1, Some(vitals)) => _ = writeln!(std::io::stderr(), "operator only: {vitals}"),
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
