//! A job that is killed in the middle, and started again: its releases are repeated, to the byte, and paid
//! for once.
//!
//! The lesson: a draw is seen by nobody until one commit has sealed it with its charge, and every released
//! line was read back from that commit. So a restart needs nothing but the same input, from its start. This
//! program starts itself twice, and kills the first.
//!
//! ```text
//! cargo run --release --example said_once
//! ```
#![allow(clippy::print_stdout)]

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use discreet::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    if let Some(ledger) = std::env::args().nth(1) {
        return job(ledger).map(drop);
    }
    let directory = std::env::temp_dir().join(format!("discreet-said-once-{}", std::process::id()));
    std::fs::create_dir_all(&directory)?;
    let ledger = directory.join("visits.ledger");
    let visits = AccountSpec::lifetime("visits", Budget::zcdp(0.25))?;
    Ledger::create(&ledger)?.register(&visits)?;

    let mut before = Vec::new();
    for (life, lines) in [("killed ", 3), ("resumed", 8)] {
        let mut child = Command::new(std::env::current_exe()?).arg(&ledger).stdout(Stdio::piped()).spawn()?;
        let said = BufReader::new(child.stdout.take().ok_or("no output")?);
        let said = said.lines().take(lines).collect::<Result<Vec<_>, _>>()?;
        child.kill().and_then(|()| child.wait())?;
        said.iter().for_each(|line| println!("{life} {line:.105}.."));
        assert!(before.iter().all(|line| said.contains(line)), "something else was said before");
        before = said;
    }
    println!("spent: {}", Ledger::open(&ledger)?.spent(visits.name(), Interval::new(0, 1)?)?.0);
    Ok(std::fs::remove_dir_all(&directory)?)
}

fn job(ledger: String) -> Result<Finished, Box<dyn std::error::Error>> {
    let gate = Gate::open(ledger, "web")?;
    Ok(discreet::execute(Config::threads(1)?, move |worker, feeds| {
        worker.dataflow(|scope| {
            feeds
                .stream(scope, All::of((0..4_000).map(|number| (number % 900, number * 7_200_000))))
                .protect(|(person, _)| *person)
                .tumbling(hours(1), |(_, time)| *time)
                .between("1970-01-01", "1970-01-01T08:00:00Z")
                .bound(Bound::keys(1))
                .people()
                .release(&gate, "visitors", Gaussian::rho(0.015625))
                .deliver(|release| {
                    std::thread::sleep(std::time::Duration::from_millis(50));
                    writeln!(std::io::stdout(), "{}", release.line())
                });
        });
        Ok(())
    })?)
}
