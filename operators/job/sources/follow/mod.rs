//! The reading thread of a live run: the data that is appended, and the time at which all of it had been
//! read.
//!
//! The thread works in rounds. It reads the clock, then everything that is present, and then declares that
//! this time has passed: the watermark. A backlog is therefore read before any window in it closes. Where a
//! source is not there, the watermark stands still.
//!
//! Files rotate while they are read ([`files`]), and are told apart by their content ([`content`]).

mod agree;
mod awaited;
mod between;
mod content;
mod copies;
mod cut;
mod dangling;
mod done;
mod earlier;
mod file;
mod files;
mod found;
#[cfg(test)]
mod interrupted;
mod listed;
mod missed;
mod new_file;
mod open;
mod order;
mod passed;
mod position;
mod resume;
mod spooled;
mod steady;
mod stream;
mod watch;
mod within;

use std::sync::Arc;
use std::time::{Duration, Instant};

pub(super) use files::FollowedPath;
pub(super) use spooled::follow_spool;
pub(super) use stream::{follow_input, follow_pipe};

use super::dealer::{Dealer, DealerMessage, Progress};
use super::reader::{ReadStop, ReaderText};
use crate::dataflow::Clock;
use crate::time::Span;
use earlier::is_first;
use watch::Watch;

/// The interval at which files are checked for more data.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// A file that is written at once has not grown for this part of the patience.
const SETTLED: u32 = 60;

/// The step in which a file system counts time, at most.
const TICK: Duration = Duration::from_millis(20);

/// Reads the content of a path's files, and then the data that is appended, until no worker wants more.
pub(super) fn follow_files(
    mut files: FollowedPath<'_>,
    dealer: &mut Dealer,
    (clock, ahead, late): (Arc<dyn Clock>, Span, Option<Span>),
    progress: &Arc<Progress>,
) -> Result<(), ReadStop> {
    let milestones = files.milestones;
    let former = milestones.former(dealer)?;
    let mut watch = Watch::new(clock).late_by(late);
    dealer.latest = watch.now().saturating_add(ahead.as_microseconds());
    files.resume(former, dealer, progress)?;
    if is_first(former) {
        files.first_look = Some((watch.now(), Instant::now()));
    }
    for &(start, end) in &files.gap_spans {
        dealer.broadcast(|| DealerMessage::Gap(start, end))?;
    }
    if files.take_gap() {
        // What is gone cannot be read again.
        files.gap_spans.extend(watch.connect(dealer)?);
    }
    let mut looked = Instant::now();
    loop {
        dealer.wait()?;
        let round = Instant::now();
        let now = watch.now();
        dealer.latest = now.saturating_add(ahead.as_microseconds());
        let is_complete = files.read(round.duration_since(looked), dealer, progress)?;
        if files.take_gap() {
            watch.lose();
            files.gap_spans.extend(watch.connect(dealer)?);
        }
        looked = round;
        let now = files.agree(now, dealer, progress)?;
        // A restart must find these files, or notice that they are gone, whenever the first window leaves.
        files.report_origins(dealer)?;
        // One that was found meanwhile is reported at the next look, before any window closes.
        if is_complete && !files.has_gap() {
            watch.mark(now, dealer, progress, (milestones, || files.changed_positions()))?;
        }
        std::thread::sleep(POLL_INTERVAL.saturating_sub(round.elapsed()));
    }
}

/// Deals the whole lines; the last lines of the text only where nothing follows at the moment. Returns true
/// if there were some.
fn deal(text: &mut ReaderText, turn: u64, all: bool, dealer: &mut Dealer) -> Result<bool, ReadStop> {
    let mut some = false;
    while let Some(piece) = text.cutter.cut(|| dealer.room()) {
        dealer.deal(piece, turn, text.columns.as_ref())?;
        some = true;
    }
    if all && let Some(piece) = text.cutter.cut_lines(|| dealer.room()) {
        dealer.deal(piece, turn, text.columns.as_ref())?;
        some = true;
    }
    Ok(some)
}
