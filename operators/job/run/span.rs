//! Which windows hold the data: asked by a demonstration alone, for what exists is public everywhere else.

use super::*;
use crate::dataflow::{Pulled, Source};
use crate::job::config::{RecordFormat, SourcePlace};
use crate::job::offer::schedule;
use crate::job::sources::{Group, SourcePart};

/// No window is longer: with this much room before and behind, the first and the last record have theirs.
const ROOM: Time = 3_700 * 86_400_000_000;

/// The ends that the file leaves out, from the first and the last record.
pub(super) fn inferred(job: &Job, stated: Horizon) -> Result<Horizon, RunError> {
    if let RecordFormat::Csv(SourcePlace::Stdin)
    | RecordFormat::Jsonl(SourcePlace::Stdin)
    | RecordFormat::Combined(SourcePlace::Stdin) = &job.source.records
    {
        let message = "job.from, job.until: found nothing; give both: standard input is read once, so nobody can look \
                       which windows hold it";
        return Err(RunError::configuration(message));
    }
    let Some((first, last)) = ends(job)? else {
        let message =
            "the source holds no record with a time; give job.from and job.until, or another source";
        return Err(RunError::configuration(message));
    };
    let around = Horizon {
        from: Some(stated.from.unwrap_or(first.saturating_sub(ROOM))),
        until: Some(stated.until.unwrap_or(last.saturating_add(ROOM))),
    };
    let (mut from, mut until) = (stated.from, stated.until);
    for release in job.releases.iter().filter(|release| release.every != Every::All) {
        let windows = schedule(job, release, around, release.name.as_str())?;
        let holds_first = windows.window(windows.holding(first).start);
        let holds_last = windows.holding(last).end.checked_sub(1).and_then(|number| windows.window(number));
        if let Some(window) = holds_first.filter(|_| stated.from.is_none()) {
            from = Some(from.map_or(window.start(), |from| from.min(window.start())));
        }
        if let Some(window) = holds_last.filter(|_| stated.until.is_none()) {
            until = Some(until.map_or(window.end(), |until| until.max(window.end())));
        }
    }
    Ok(Horizon { from, until })
}

/// When the first record happened, and the last.
fn ends(job: &Job) -> Result<Option<(Time, Time)>, RunError> {
    let group = Group { key: None, value: None };
    let survey = Survey::none();
    let wanted = Wanted { groups: vec![group], secret: [0; 32], time: true, span: None, survey };
    let crew = Crew { process: 0, processes: 1, threads: 1 };
    let input =
        sources::open(&job.source, &Protected::Record, wanted, InputPace::Bounded, crew, Brake::new())?;
    let mut part: SourcePart<(), ()> = input.part(0);
    let (mut batch, mut ends) = (Vec::new(), None::<(Time, Time)>);
    loop {
        let pulled = part.pull(&mut batch)?;
        for record in batch.drain(..) {
            let (first, last) = ends.unwrap_or((record.time, record.time));
            ends = Some((first.min(record.time), last.max(record.time)));
        }
        match pulled {
            Pulled::End => return Ok(ends),
            Pulled::Idle => std::thread::sleep(std::time::Duration::from_millis(1)),
            Pulled::More | Pulled::Complete(_) => {}
        }
    }
}
