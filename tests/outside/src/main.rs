//! The pages of a site that can be reached from its home page, kept as links come and go, with timely and differential; and
//! on the same workers, the number of readers of each of them by hour, privately.
//!
//! ```text
//! outside LEDGER OUT [-w WORKERS] [-n PROCESSES -p PROCESS -h HOSTS]
//! ```

use std::error::Error;
use std::fs::OpenOptions;
use std::io::Write;

use differential_dataflow::input::InputSession;
use differential_dataflow::operators::Iterate;
use discreet::dataflow::Attachment;
use discreet::prelude::*;
use timely::dataflow::operators::Probe;
use timely::dataflow::operators::probe::Handle;

/// From a page to a page.
const LINKS: [(u32, u32); 5] = [(0, 1), (1, 2), (2, 0), (3, 4), (4, 3)];
/// The link that is taken away after the first hour.
const LINK: (u32, u32) = (1, 2);
const PAGES: u32 = 5;
const READERS: u64 = 60;
const HOUR: Time = 3_600_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args();
    let (Some(ledger), Some(out)) = (arguments.nth(1), arguments.next()) else {
        return Err("outside LEDGER OUT, and the arguments of timely".into());
    };
    // Worker 0 is in process 0, and releases there.
    let process = std::env::args().skip_while(|argument| argument != "-p").nth(1);
    let gate = match process.as_deref() {
        None | Some("0") => Gate::open(&ledger, "site")?,
        Some(_) => Gate::elsewhere("site", format!("{ledger}.key"))?,
    };
    let attachment = Attachment::new();
    let inside = attachment.clone();
    let workers = timely::execute_from_args(arguments, move |worker| {
        let mut attached = inside.attach(worker)?;
        let failed = run(worker, &mut attached, &gate, &out);
        match failed {
            Ok(()) => attached.finish(),
            Err(failure) => Err(attached.fail(failure)),
        }
    })?;
    workers.join().into_iter().try_for_each(|worker| worker.map(drop))?;
    match attachment.finished() {
        Ok(finished) => println!("{finished}"),
        Err(failure) => {
            eprintln!("{failure}");
            std::process::exit(failure.exit_code().into());
        }
    }
    Ok(())
}

/// Builds both, and feeds them hour by hour. Worker 0 has the links, and each worker a part of the visits.
fn run(
    worker: &mut timely::worker::Worker,
    attached: &mut discreet::dataflow::Attached,
    gate: &Gate,
    out: &str,
) -> Result<(), RunError> {
    let (index, peers) = (worker.index(), worker.peers());
    let start = at("2026-11-01T00:00:00Z")?;
    let (mut links, mut visits) = (
        InputSession::<Time, (u32, u32), isize>::new(),
        InputSession::<Time, (u64, u32, Time), isize>::new(),
    );
    let (declared, external) = attached.feeds().external(peers)?;
    let probe = Handle::new();
    let out = out.to_owned();
    worker.dataflow(|scope| {
        let links = links.to_collection(scope);
        let home = links.clone().filter(|(from, _)| *from == 0).map(|(from, _)| from).distinct();
        let reachable = home.clone().iterate(|scope, reached| {
            let (links, home) = (links.enter(scope), home.enter(scope));
            reached.map(|page| (page, ())).join_map(links, |_, (), to| *to).concat(home).distinct()
        });
        // A visit counts while its page can be reached; the join only adds to a person's own records.
        let read = visits
            .to_collection(scope)
            .map(|(reader, page, time)| (page, (reader, time)))
            .join_map(reachable.map(|page| (page, ())), |page, (reader, time), ()| (*reader, *page, *time));
        let released = external
            .adopt_collection(read)
            .protect_collection(|(reader, _, _)| *reader)
            .tumbling(hours(1), |(_, _, time)| *time)
            .between("2026-11-01T00:00:00Z", "2026-11-01T02:00:00Z")
            .bound(Bound::keys(u64::from(PAGES)))
            .people_by(|(_, page, _)| *page, Keys::public(0..PAGES))
            .release(gate, "readers_by_page", Gaussian::rho(50.0));
        released.clone().stream().probe_with(&probe);
        released.deliver(move |release| {
            let hour = (release.window().start() - start) / HOUR;
            let cells = release.cells().map_err(std::io::Error::other)?;
            let lines: String =
                cells.into_iter().map(|cell| format!("{hour} {} {}\n", cell.key, cell.value)).collect();
            OpenOptions::new().create(true).append(true).open(&out)?.write_all(lines.as_bytes())
        });
    });

    if index == 0 {
        LINKS.into_iter().for_each(|link| links.update_at(link, start, 1));
        links.update_at(LINK, start + HOUR, -1);
    }
    for hour in 0..2 {
        let now = start + hour * HOUR;
        for reader in (0..READERS).filter(|reader| *reader as usize % peers == index) {
            // The readers of a page are those whose number it divides, but for one.
            for page in (0..PAGES).filter(|page| reader % u64::from(page + 1) == 0) {
                visits.update_at((reader, page, now + 1), now + 1, 1);
            }
        }
        let end = now + HOUR;
        // Those of this hour are complete; the links may change at its end.
        links.advance_to(end);
        visits.advance_to(end);
        links.flush();
        visits.flush();
        declared.complete(index, end)?;
        attached.step_while(|| probe.less_than(&end))?;
    }
    declared.finish();
    Ok(())
}
