//! The subject: a job that counts people in six windows, with one worker that behaves as its task says.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use discreet::accounting::{Adjacency, Interval, PrivacyCost, ReleaseCost};
use discreet::dataflow::{
    All, Attachment, Config, Deliver, Fed, Feeds, Finished, LeavingRelease, Pulled, RunError, Schedule,
    Scope, Source, SourceError, StatisticSchedule, StreamVec, Title, WindowStatistic, Worker, execute,
};
use discreet::gate::{Gate, Sealable};
use discreet::ledger::{Charge, Digest, Name};
use discreet::noise::{DiscreteGaussian, NoiseDistribution, NoiseSource};
use discreet::time::{Span, Time};
use timely::dataflow::operators::ToStream;

use crate::{COST, WINDOWS};

pub(crate) fn title() -> Title {
    let word = |word| Name::new("name", word).unwrap();
    Title { account: word("visits"), job: word("web"), version: Digest::of(b"1"), name: word("people") }
}

/// Six windows of ten.
pub(crate) fn schedule() -> Schedule {
    Schedule::tumbling(Span::microseconds(10), 0, Some(10 * WINDOWS as i64)).unwrap()
}

pub(crate) struct People;

impl WindowStatistic for People {
    type Part = i64;
    type Tally = i64;

    fn tally(&self, _: Interval) -> i64 {
        0
    }

    fn absorb(&self, tally: &mut i64, part: i64) {
        *tally += part;
    }

    fn charge(&self, _: Interval) -> Charge {
        Charge::Cost(ReleaseCost::new(Adjacency::PERSON, PrivacyCost::zcdp(COST).unwrap()))
    }

    fn sealable(&self, window: Interval, tally: i64) -> Box<dyn Sealable> {
        Box::new(move |noise: &mut NoiseSource| {
            let law = DiscreteGaussian::new(512.0).unwrap();
            format!("{} about {}", window.start(), tally + law.draw(noise))
        })
    }
}

/// Yields a record a turn, and then acts out its task.
struct Acting {
    turns: u32,
    then: fn() -> Result<Pulled, SourceError>,
    said: bool,
    /// The file that it creates when it acts.
    ready: PathBuf,
}

impl Source for Acting {
    type Record = Time;

    fn pull(&mut self, batch: &mut Vec<Time>) -> Result<Pulled, SourceError> {
        batch.push(i64::from(self.turns) % 60);
        if !std::mem::replace(&mut self.said, true) {
            return Ok(Pulled::Complete(9));
        }
        match self.turns.checked_sub(1) {
            Some(turns) => self.turns = turns,
            None => {
                fs::write(&self.ready, "").map_err(|_| SourceError::lost("its directory"))?;
                return (self.then)();
            }
        }
        Ok(Pulled::More)
    }
}

fn acting(then: fn() -> Result<Pulled, SourceError>, ready: PathBuf) -> Acting {
    Acting { turns: 300, then, said: false, ready }
}

pub(crate) fn released<'scope>(
    records: Fed<'scope, Time>,
    gate: &Gate,
) -> StreamVec<'scope, Time, LeavingRelease> {
    let parts = records.flat_map(|time| schedule().holding(time).map(|window| (window, 1)));
    parts.release_unproved_for_tests_of_the_library_itself(
        gate,
        StatisticSchedule::new(title(), schedule(), People),
    )
}

/// Writes every release as a line of the file `out`, and of standard output.
fn write_down(releases: StreamVec<'_, Time, LeavingRelease>, out: PathBuf) {
    releases.deliver(move |release| {
        use std::io::Write;
        let mut file = fs::OpenOptions::new().create(true).append(true).open(&out)?;
        // One write: a line torn by a kill would run into the next one.
        file.write_all(format!("{}\n", release.line()).as_bytes())?;
        file.sync_data()?;
        println!("\nsaid {}", release.window().start());
        Ok(())
    });
}

/// A worker that builds a dataflow: of the library's driver, or of a program that runs timely itself.
pub(crate) trait Builds {
    fn place(&self) -> (usize, usize);
    fn build(&mut self, build: impl FnOnce(Scope<'_, Time>));
}

impl Builds for Worker {
    fn place(&self) -> (usize, usize) {
        (self.index(), self.peers())
    }

    fn build(&mut self, build: impl FnOnce(Scope<'_, Time>)) {
        self.dataflow(build);
    }
}

impl Builds for timely::worker::Worker {
    fn place(&self) -> (usize, usize) {
        (self.index(), self.peers())
    }

    fn build(&mut self, build: impl FnOnce(Scope<'_, Time>)) {
        self.dataflow(build);
    }
}

/// Runs the job under the library's driver.
pub(crate) fn job(
    config: Config,
    task: String,
    directory: PathBuf,
    gate: Gate,
) -> Result<Finished, RunError> {
    execute(config, move |worker: &mut Worker, feeds: &mut Feeds| {
        build(worker, feeds, &task, &directory, &gate)
    })
}

/// Runs the job inside a program that runs timely itself.
pub(crate) fn hosted(
    config: timely::CommunicationConfig,
    task: String,
    directory: PathBuf,
    gate: Gate,
) -> Result<Finished, RunError> {
    let attachment = Attachment::new();
    let inside = attachment.clone();
    let config = timely::Config { communication: config, worker: timely::WorkerConfig::default() };
    let workers = timely::execute(config, move |worker| {
        let mut attached = inside.attach(worker)?;
        build(worker, attached.feeds(), &task, &directory, &gate)?;
        attached.finish()
    });
    workers.unwrap().join().into_iter().for_each(|worker| drop(worker.unwrap()));
    attachment.finished()
}

/// Builds the job. Worker 0 has the whole input, and ends it properly; faults happen at the last worker.
fn build(
    worker: &mut impl Builds,
    feeds: &mut Feeds,
    task: &str,
    directory: &Path,
    gate: &Gate,
) -> Result<(), RunError> {
    let (index, peers) = worker.place();
    let (first, last) = (index == 0, index + 1 == peers);
    let out = directory.join("out");
    if task == "external" {
        let (word, external) = feeds.external(2)?;
        worker.build(|scope| {
            // The input is whole and ends, but partition 1 is never declared complete.
            let foreign = [3, 13].to_stream(scope).container::<Vec<_>>();
            write_down(released(external.adopt(foreign), gate), out);
        });
        if first {
            word.complete(0, 60)?;
            word.complete(0, 60)?;
        }
        word.finish();
        return Ok(());
    }
    worker.build(|scope| {
        let records = if task == "whole" || task == "poor" || (first && task != "waits") {
            feeds.stream(scope, All::of((0..60).filter(move |_| first)))
        } else {
            let then: fn() -> Result<Pulled, SourceError> = match task {
                "errs" => || Err(SourceError::lost("part 2")),
                "refuses" => || Err(SourceError::refused("part 2, line 7")),
                "goes back" => || Ok(Pulled::Complete(8)),
                "panics" => || panic!("the record was 47"),
                _ => || Ok(Pulled::Idle),
            };
            return write_down(
                released(feeds.stream(scope, acting(then, directory.join(format!("ready-{index}")))), gate),
                out,
            );
        };
        write_down(released(records, gate), out);
    });
    if last && task == "returns early" {
        Err::<u8, _>(io::Error::from(io::ErrorKind::NotFound))
            .map_err(|error| Box::from(error.to_string()))?;
    }
    if last && task == "panics while building" {
        panic!("the record was 47");
    }
    Ok(())
}
