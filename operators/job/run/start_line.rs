//! The first line of a live run: the next window, the releases that are new, and from where the input is read.

use super::*;
use crate::accounting::Interval;
use crate::gate::{ResumePositions, version_digest};
use crate::time::{Span, in_utc};

/// Returns the first line of a run that reads in this way.
pub(super) fn start_line(
    job: &Job,
    (offers, reading): (&[ReleasePlan], &InputReading),
    (now, gate): (Time, &Gate),
) -> Result<String, RunError> {
    let account = job.account();
    // A job has one input.
    let positions = gate.resume_positions(0)?;
    let (next, new) = match &positions {
        Some(positions) => resumed(job, (offers, reading), (positions, gate))?,
        None => (next_window(job, offers, (now, gate)), None),
    };
    let input = match (job.source.records.place(), gate.settled()) {
        (Some(SourcePlace::Stdin), _) => "standard input is read from now on".to_owned(),
        (None, None) => "the records are synthetic".to_owned(),
        (Some(SourcePlace::Files(_)), _) if positions.is_none() => {
            "the input is read from its start".to_owned()
        }
        (_, None) => "the input is read from where the former run was".to_owned(),
        (_, Some(settled)) => {
            format!("windows are settled up to {}: it resumes where the open ones begin", in_utc(settled))
        }
    };
    let windows: String = next.into_iter().chain(new).map(|part| part + "; ").collect();
    Ok(format!(
        "job {}, version {}, account {} of {}; {windows}{input}",
        job.name,
        job.version,
        account.name(),
        stated_account(job, gate).map_or_else(|| account.cap(), AccountSpec::cap)
    ))
}

/// The next window of a job that reads its input from the start.
fn next_window(job: &Job, offers: &[ReleasePlan], (now, gate): (Time, &Gate)) -> Option<String> {
    let closed = now.saturating_sub(job.source.late.map_or(0, Span::as_microseconds));
    // A first run settles the windows since `from`, and without it those that are open.
    let since = gate.settled().or_else(|| job.from.map(|_| Time::MIN)).unwrap_or(closed);
    next_of(offers.iter().map(|offer| (offer, window_of(offer, offer.schedule.first_ending_after(since)))))
}

/// The next window of the releases that go on from resume positions, and the releases that are new or come back.
fn resumed(
    job: &Job,
    (offers, reading): (&[ReleasePlan], &InputReading),
    (positions, gate): (&ResumePositions, &Gate),
) -> Result<(Option<String>, Option<String>), RunError> {
    let (mut going_on, mut new, mut back) = (Vec::new(), Vec::new(), Vec::new());
    for offer in offers {
        let version = job.version_digest(offer)?;
        let whole = positions.whole_since((&offer.name, &version), reading);
        let first = offer.schedule.resumed(gate.last_row(&offer.name, &version)?, whole);
        let window = window_of(offer, first);
        if positions.releases.contains(&version_digest(&offer.name, &version)) {
            going_on.push((offer, window));
            continue;
        }
        let since = window
            .map_or("with no window".to_owned(), |window| format!("from {} on", in_utc(window.start())));
        let named = format!("{} of version {} {since}", offer.name, offer.version);
        let known = if gate.has_opened(&offer.name, offer.version) { &mut back } else { &mut new };
        known.push(named);
    }
    let is_read_anew = reading.since_after(&positions.reading) > positions.reading.since;
    let why = if is_read_anew { ", for the former file read the input in another way" } else { "" };
    let named = |what: &str, releases: Vec<String>| {
        (!releases.is_empty()).then(|| format!("{what} is {}", releases.join(", ")))
    };
    let news: Vec<String> = named("new", new).into_iter().chain(named("back", back)).collect();
    let news = (!news.is_empty()).then(|| format!("{}{why}", news.join("; ")));
    Ok((next_of(going_on.into_iter()), news))
}

/// The window of a release with this number; `None` behind its last one.
fn window_of(offer: &ReleasePlan, number: u64) -> Option<Interval> {
    let is_inside = !offer.schedule.is_bounded() || number < offer.schedule.count();
    offer.schedule.window(number).filter(|_| is_inside)
}

/// The first of these windows; `None` without a release.
fn next_of<'o>(
    windows: impl ExactSizeIterator<Item = (&'o ReleasePlan, Option<Interval>)>,
) -> Option<String> {
    let is_none = windows.len() == 0;
    let ends = windows.filter_map(|(offer, window)| Some((window?.end(), offer.name.as_str())));
    let first = ends.min().and_then(|(end, name)| Some((jiff::Timestamp::from_microsecond(end).ok()?, name)));
    match first {
        Some((end, name)) => Some(format!("the next window is of {name} and ends {end}")),
        None if is_none => None,
        None => Some("all of its windows have ended".to_owned()),
    }
}
