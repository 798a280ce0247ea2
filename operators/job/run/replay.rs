//! A bounded run, in event time: what a budget buys, or has bought.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use super::demo::{Demo, ThrownAway};
use super::*;
use crate::ledger::Row;

/// How a job is replayed.
#[derive(Debug)]
#[non_exhaustive]
pub struct Replay {
    /// How many threads share the work.
    pub workers: usize,
    /// Whether it is a demonstration: charged to a ledger that is thrown away, with the truth beside the noise.
    pub demo: bool,
    /// The file that lines go to; standard output where there is none.
    pub out: Option<PathBuf>,
    /// What stops it before its end.
    pub stop: Stop,
    /// Who looks on.
    pub onlooker: Onlooker,
}

impl Default for Replay {
    fn default() -> Replay {
        Replay { workers: 1, demo: false, out: None, stop: Stop::new(), onlooker: Onlooker::default() }
    }
}

/// What a demonstration was told, until its truth is known.
type Kept = Arc<Mutex<Vec<(Row, Standing)>>>;

impl Job {
    /// Runs the job over all of its input, which ends, and releases every window of its horizon then.
    ///
    /// It is a real release, charged to the ledger, unless it is a demonstration. To replay it again tells the same
    /// lines, and charges nothing.
    ///
    /// # Errors
    ///
    /// As [`execute`], and where the job cannot run as it is configured.
    pub fn replay(&self, replay: Replay) -> Result<Finished, Failure> {
        let Replay { workers, demo, out, stop, onlooker } = replay;
        let Onlooker { told, reading, ending } = onlooker;
        let config = Config::threads(workers)?;
        let horizon = self.replayed(demo)?;
        let offers = self.offers(horizon)?;
        let sink = sink(out.as_deref(), demo)?;
        let crew = Crew { process: 0, processes: 1, threads: workers };
        let way = |outlet| Way { config, stop, pace: Pace::Bounded, crew, outlet, reading, ending };
        if !demo {
            let gate = self.open_gate(Some(&sink))?;
            let outlet = Outlet { sink: Some(sink), only_news: false, when: When::AtOnce, told: tell(told) };
            let run = Run { job: self, offers, horizon, gate, demo: None, at_end: true };
            return run.go(way(outlet)).map(|(finished, _, _)| finished);
        }
        let thrown_away = ThrownAway::make(self)?;
        let gate = thrown_away.open(self)?;
        let demo = Some(Demo::new(offers.len(), &gate));
        let kept = Kept::default();
        let keep = Arc::clone(&kept);
        let keep = move |release: &Release| {
            let told = (release.row().clone(), release.standing().clone());
            keep.lock().unwrap_or_else(PoisonError::into_inner).push(told);
        };
        let outlet = Outlet { sink: None, only_news: false, when: When::AtOnce, told: Box::new(keep) };
        let run = Run { job: self, offers, horizon, gate, demo, at_end: true };
        let (finished, offers, demo) = run.go(way(outlet))?;
        let kept = std::mem::take(&mut *kept.lock().unwrap_or_else(PoisonError::into_inner));
        show(sink, told, &offers, demo.as_ref(), &kept)?;
        Ok(finished)
    }

    /// The windows of a replay: those that the file states, or, in a demonstration, those that hold the data.
    fn replayed(&self, demo: bool) -> Result<Horizon, Failure> {
        match self.horizon() {
            horizon if !self.is_timed() => Ok(horizon),
            horizon @ Horizon { from: Some(_), until: Some(_) } => Ok(horizon),
            horizon if demo => span::inferred(self, horizon),
            Horizon { from, .. } => {
                let field = if from.is_none() { "job.from" } else { "job.until" };
                Err(Failure::configuration(format!(
                    "{field}: found nothing; give the time from which on, and until which, there are windows: a replay \
                     cannot take it from the data, for which windows there are is public (with --demo it does)"
                )))
            }
        }
    }
}

fn tell(told: Option<Told>) -> Box<dyn FnMut(&Release) + Send> {
    match told {
        Some(mut told) => Box::new(move |release| told(&release.to_string(), release.standing())),
        None => Box::new(|_| {}),
    }
}

/// Tells a demonstration, now that everything is known of it.
fn show(
    mut sink: Sink,
    mut told: Option<Told>,
    offers: &[Offer],
    demo: Option<&Demo>,
    kept: &[(Row, Standing)],
) -> Result<(), Failure> {
    for (row, standing) in kept {
        let told_of = offers.iter().enumerate().find(|(_, offer)| offer.name == row.release().name);
        let (Some((at, offer)), Some(demo)) = (told_of, demo) else {
            continue;
        };
        let lines = demo.tell(at, offer, row.release().window, &row.lines());
        sink.put_lines(&lines).map_err(|error| Failure::sink(&error))?;
        if let Some(told) = &mut told {
            told(&lines, standing);
        }
    }
    sink.settle().map_err(|error| Failure::sink(&error))
}
