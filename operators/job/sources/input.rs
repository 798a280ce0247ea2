//! An input, opened: its reading thread, and the parts that workers take of it.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::{fmt, fs, thread};

use crossbeam_channel::{Receiver, Sender, bounded};

use super::accord::{ClusterLinks, InputAgreement};
#[cfg(feature = "arrow")]
use super::columnar::{WantedColumns, read_columns};
use super::cutter::Sizes;
use super::dealer::{Brake, Dealer, DealerMessage, Progress, SourceFault, WAITING};
use super::follow::{FollowedPath, follow_files, follow_input, follow_pipe, follow_spool};
use super::identity::PersonIdentity;
use super::line_reader::LineCheck;
use super::lines::{Combined, CsvFormat, LineFormat, WantedNames};
use super::listing::{is_in_rotation, is_stream, once_each, packed_twice, some_files};
use super::maker::Made;
use super::maker::Maker;
use super::milestones::Milestones;
use super::part::Chunks;
use super::part::{Lines, PartContext, SourcePart};
use super::reader::{ReadStop, TextFormat, read_all, read_input, read_text_file};
use super::receiver::BatchReceiver;
use super::spool::Spool;
use super::survey::Survey;
use super::synthetic::SyntheticLog;
use super::wanted::{CellLayout, FieldRequirements};
use crate::dataflow::{Clock, Peers, SourceError};
use crate::http::HttpServer;
use crate::job::config::{Protected, RecordFormat, SYNTHETIC_FIELDS, SourcePlace, SourceSpec};
use crate::time::Span;

/// The end of an input: it has one, or it is followed.
#[derive(Clone)]
pub(crate) enum InputPace {
    /// An input with an end: a replay.
    Bounded,
    /// An input without an end: a live run, by this clock.
    Follow(Arc<dyn Clock>),
}

/// The processes and threads of a run; every process has equally many threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Crew {
    /// The index of this process.
    pub(crate) process: usize,
    pub(crate) processes: usize,
    /// The number of workers of each process.
    pub(crate) threads: usize,
}

impl Crew {
    /// The index among this process's own workers of a worker of all; `None` where it is another process's.
    fn own(self, worker: usize) -> Option<usize> {
        worker.checked_sub(self.process.checked_mul(self.threads)?).filter(|own| *own < self.threads)
    }
}

/// A crew, with the links between its processes where they compare their inputs.
pub(crate) struct ClusterCrew {
    crew: Crew,
    others: Option<Box<dyn ClusterLinks>>,
}

impl ClusterCrew {
    pub(crate) fn new(crew: Crew, peers: Option<&Arc<Peers>>) -> ClusterCrew {
        ClusterCrew { crew, others: peers.map(|peers| Box::new(Arc::clone(peers)) as Box<dyn ClusterLinks>) }
    }
}

#[cfg(test)]
impl ClusterCrew {
    pub(super) fn between(crew: Crew, others: Box<dyn ClusterLinks>) -> ClusterCrew {
        ClusterCrew { crew, others: Some(others) }
    }
}

impl From<Crew> for ClusterCrew {
    fn from(crew: Crew) -> ClusterCrew {
        ClusterCrew { crew, others: None }
    }
}

/// A source that is being read.
pub(crate) struct SourceInput {
    source: SourceSpec,
    plan: CellLayout,
    crew: Crew,
    from: RecordSource,
    fault: Arc<SourceFault>,
    brake: Arc<Brake>,
    order: Arc<Chunks>,
    progress: Arc<Progress>,
    survey: Arc<Survey>,
    milestones: Arc<Milestones>,
    taken: Arc<()>,
    /// The longest line, in bytes.
    longest: usize,
}

/// The origin of the records.
enum RecordSource {
    /// Another process reads the whole source.
    OtherProcess,
    Lines {
        format: LineFormat,
        workers: Mutex<Vec<Option<Receiver<DealerMessage>>>>,
        spare: Sender<Vec<u8>>,
        live: bool,
    },
    Made {
        made: Arc<SyntheticLog>,
        pace: InputPace,
    },
}

/// Opens a source and begins to read it.
///
/// # Errors
///
/// If there is nothing to read, or the requested fields cannot be provided. No record has been read by then.
pub(crate) fn open(
    source: &SourceSpec,
    person: &Protected,
    wanted: FieldRequirements,
    pace: InputPace,
    crew: impl Into<ClusterCrew>,
    brake: Arc<Brake>,
) -> Result<SourceInput, SourceError> {
    open_in(Sizes::USUAL, source, person, wanted, pace, crew, brake)
}

pub(super) fn open_in(
    sizes: Sizes,
    source: &SourceSpec,
    person: &Protected,
    wanted: FieldRequirements,
    pace: InputPace,
    crew: impl Into<ClusterCrew>,
    brake: Arc<Brake>,
) -> Result<SourceInput, SourceError> {
    let ClusterCrew { crew, others } = crew.into();
    let plan = CellLayout::new(source, person, &wanted)?;
    if plan.time.is_none() {
        wanted.survey.leave_out_time();
    }
    // An error in the times is reported before anything is read.
    Maker::new(plan.clone(), source)?;
    let is_live = matches!(pace, InputPace::Follow(_));
    let name = match source.records.place() {
        Some(SourcePlace::Files(path)) => path.display().to_string(),
        Some(SourcePlace::Stdin) => "standard input".into(),
        None => "the synthetic source".into(),
    };
    let fault = SourceFault::new(name, (source.bad_lines, is_live), crew.processes > 1 && !plan.sorted);
    let order = Arc::new(Chunks::default());
    let taken = Arc::new(());
    let alone = plan.sorted || source.records.is_stdin();
    let parts = if alone { 1 } else { crew.processes };
    let milestones = Arc::new(Milestones::new(crew.threads, parts));
    let finish = |from, progress: Arc<Progress>| {
        progress.counts_bad_lines(&fault);
        Ok(SourceInput {
            source: source.clone(),
            plan: plan.clone(),
            crew,
            from,
            fault: Arc::clone(&fault),
            brake: Arc::clone(&brake),
            order,
            progress,
            survey: Arc::clone(&wanted.survey),
            milestones: Arc::clone(&milestones),
            taken: Arc::clone(&taken),
            longest: sizes.line,
        })
    };
    let (place, format, columns) = match &source.records {
        RecordFormat::Synthetic(synthetic) => {
            if let Some(field) = plan.fields.iter().find(|field| !SYNTHETIC_FIELDS.contains(&field.as_str()))
            {
                let why =
                    format!("it has no field named {field}; name one of {}", SYNTHETIC_FIELDS.join(", "));
                return Err(SourceError::refused(fault.place()).because(why));
            }
            let made = SyntheticLog::new(synthetic, wanted.span)
                .map_err(|invalid| SourceError::refused(fault.place()).because(invalid.to_string()))?;
            let progress = Progress::of(Some(synthetic.rows / crew.processes.max(1) as u64));
            return finish(RecordSource::Made { made: Arc::new(made), pace }, progress);
        }
        RecordFormat::Csv(place, form) => {
            let columns = CsvFormat::new(form, &plan.fields)?;
            (place, LineFormat::Csv(columns.columns()), Some(Arc::new(columns)))
        }
        RecordFormat::Jsonl(place) => {
            (place, LineFormat::Jsonl(WantedNames::new(&plan.fields, source.explode.as_ref())), None)
        }
        RecordFormat::Combined(place) => (place, LineFormat::Combined(Combined::new(&plan.fields)), None),
        #[cfg(feature = "arrow")]
        RecordFormat::Parquet(place) | RecordFormat::Arrow(place) => (place, LineFormat::Rows, None),
        #[cfg(not(feature = "arrow"))]
        RecordFormat::Parquet(_) | RecordFormat::Arrow(_) => {
            let why = "this build reads no columnar files; build it with `--features arrow`";
            return Err(SourceError::refused(fault.place()).because(why));
        }
    };
    let receiver = match (&source.http, place, &pace) {
        (Some(http), SourcePlace::Files(spool), InputPace::Follow(_)) => {
            let maker = Maker::new(plan.clone(), source)?;
            let check = LineCheck::new(&plan, format.clone(), maker, sizes.line);
            Some(BatchReceiver::open(spool, http, check)?)
        }
        _ => None,
    };
    let files = match place {
        // It may have no segment yet.
        SourcePlace::Files(_) if receiver.is_some() => Vec::new(),
        SourcePlace::Files(path) => {
            let files = match some_files(path, is_live) {
                // It is waited for.
                Err(error) if is_live && !error.is_refused() && is_in_rotation(path) => Vec::new(),
                found => once_each(found?),
            };
            if !is_live {
                packed_twice(&files).for_each(|warning| wanted.survey.warn(&warning));
            }
            files
        }
        SourcePlace::Stdin => Vec::new(),
    };
    if plan.sorted && crew.process > 0 {
        let progress = Progress::of(None);
        progress.end();
        return finish(RecordSource::OtherProcess, progress);
    }
    // A pipe has a name as a file has, and gives each of its bytes once.
    let stream = files.iter().any(|file| is_stream(file));
    if stream && crew.processes > 1 {
        let why = "no regular file, of which each process would read other parts; \
                   give a file that all processes can read";
        return Err(SourceError::refused(fault.place()).because(why));
    }
    if stream && source.records.is_columnar() {
        let why = "no regular file, and columnar files are read at their places; give the path of a file";
        return Err(SourceError::refused(fault.place()).because(why));
    }
    let total = match (place, &pace) {
        (SourcePlace::Files(_), InputPace::Bounded) if !stream => Some(length(&files)?),
        _ => None,
    };
    let progress = Progress::of(total);
    let texture = TextFormat { sizes, columns };
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..crew.threads).map(|_| bounded(WAITING)).unzip();
    // As many as can be on the way at once, so that none is lost.
    let (spare, back) = bounded(crew.threads * (WAITING + 2));
    let dealer = Dealer::new(
        senders,
        back,
        Arc::clone(&fault),
        Arc::clone(&brake),
        Arc::downgrade(&taken),
        (alone, wanted.survey.reports_places()),
        crew,
    );
    let reading = InputReader {
        place: place.clone(),
        files,
        stream,
        texture,
        #[cfg(feature = "arrow")]
        columns: WantedColumns::new(source, &plan),
        pace,
        dealer,
        progress: Arc::clone(&progress),
        // An input that one process reads alone has no second copy to compare with.
        accord: others
            .filter(|_| !alone)
            .map(|others| InputAgreement::new(others, crew.process, crew.processes)),
        survey: Arc::clone(&wanted.survey),
        milestones: Arc::clone(&milestones),
        ahead: source.ahead,
        late: source.late,
        received: receiver.map(|receiver| receiver.listen(&fault, &progress)).transpose()?,
    };
    thread::Builder::new().name("discreet-reader".into()).spawn(move || reading.run()).map_err(|_| {
        SourceError::lost(fault.place())
            .because("the system gives no thread to read it; raise the limit of threads")
    })?;
    let workers = Mutex::new(receivers.into_iter().map(Some).collect());
    finish(RecordSource::Lines { format, workers, spare, live: is_live }, progress)
}

fn length(files: &[PathBuf]) -> Result<u64, SourceError> {
    let mut sum = 0u64;
    for file in files {
        let facts = fs::metadata(file)
            .map_err(|error| super::reader::unreadable(&file.display().to_string(), &error))?;
        sum = sum.saturating_add(facts.len());
    }
    Ok(sum)
}

/// The work of the reading thread.
struct InputReader {
    place: SourcePlace,
    files: Vec<PathBuf>,
    /// True where the files are pipes.
    stream: bool,
    texture: TextFormat,
    /// The columns to read, where the files have columns.
    #[cfg(feature = "arrow")]
    columns: Option<WantedColumns>,
    pace: InputPace,
    dealer: Dealer,
    progress: Arc<Progress>,
    accord: Option<InputAgreement>,
    survey: Arc<Survey>,
    milestones: Arc<Milestones>,
    ahead: Span,
    late: Option<Span>,
    /// The spool that is read, and the server that fills it for as long as it is.
    received: Option<(Arc<Spool>, HttpServer)>,
}

impl InputReader {
    fn run(self) {
        let InputReader {
            place,
            files,
            stream,
            texture,
            #[cfg(feature = "arrow")]
            columns,
            pace,
            mut dealer,
            progress,
            accord,
            survey,
            milestones,
            ahead,
            late,
            received,
        } = self;
        let ended = match (pace, place) {
            (InputPace::Follow(clock), SourcePlace::Files(_)) if received.is_some() => {
                received.as_ref().map_or(Ok(()), |(spool, _)| {
                    follow_spool(spool, &texture, &mut dealer, (clock, &milestones, ahead), &progress)
                })
            }
            (InputPace::Bounded, SourcePlace::Files(_)) => {
                read_all(&files, &mut dealer, &progress, accord, |file, turn, hash, dealer| {
                    #[cfg(feature = "arrow")]
                    if let Some(columns) = &columns {
                        return read_columns(file, turn, hash, columns, dealer, &progress);
                    }
                    read_text_file(file, turn, hash, &texture, dealer, &progress)
                })
            }
            (InputPace::Bounded, SourcePlace::Stdin) => read_input(&texture, &mut dealer, &progress),
            (InputPace::Follow(clock), SourcePlace::Files(path)) if stream => {
                follow_pipe(&path, &texture, &mut dealer, (clock, &milestones, ahead), &progress)
            }
            (InputPace::Follow(clock), SourcePlace::Files(path)) => follow_files(
                FollowedPath::new(&path, &texture, accord, &milestones, survey),
                &mut dealer,
                (clock, ahead, late),
                &progress,
            ),
            (InputPace::Follow(clock), SourcePlace::Stdin) => {
                follow_input(&texture, &mut dealer, (clock, &milestones, ahead), &progress)
            }
        };
        if let Err(ReadStop::Gone(gone)) = ended {
            dealer.fault.fail(gone);
        }
    }
}

impl SourceInput {
    /// The part of a worker, by its index among all workers of the crew. Each is taken once; a part that was
    /// taken before, or that belongs to another process, ends at once.
    pub(crate) fn part<P: PersonIdentity, I: PersonIdentity>(&self, worker: usize) -> SourcePart<P, I> {
        let Some(own) = self.crew.own(worker) else { return SourcePart::nothing() };
        // The times were parsed once before.
        let Ok(maker) = Maker::new(self.plan.clone(), &self.source) else { return SourcePart::nothing() };
        let handle = PartContext {
            plan: self.plan.clone(),
            maker,
            fault: Arc::clone(&self.fault),
            brake: Arc::clone(&self.brake),
            order: Arc::clone(&self.order),
            progress: Arc::clone(&self.progress),
            survey: Arc::clone(&self.survey),
            milestones: Arc::clone(&self.milestones),
            reports: own == 0,
            _taken: Arc::clone(&self.taken),
        };
        match &self.from {
            RecordSource::OtherProcess => SourcePart::nothing(),
            RecordSource::Lines { format, workers, spare, live } => {
                let receiver = workers.lock().ok().and_then(|mut workers| workers.get_mut(own)?.take());
                let Some(chunks) = receiver else { return SourcePart::nothing() };
                SourcePart::of_lines(Lines::new(
                    handle,
                    chunks,
                    spare.clone(),
                    format.clone(),
                    *live,
                    self.longest,
                ))
            }
            RecordSource::Made { made, pace } => {
                let workers = self.crew.processes.saturating_mul(self.crew.threads);
                let clock = match pace {
                    InputPace::Bounded => None,
                    InputPace::Follow(clock) => Some(Arc::clone(clock)),
                };
                SourcePart::of_made(Made::new(handle, Arc::clone(made), clock, worker as u64, workers as u64))
            }
        }
    }

    /// The progress of this process's reading.
    pub(crate) fn progress(&self) -> Arc<Progress> {
        Arc::clone(&self.progress)
    }
}

impl fmt::Debug for SourceInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Input(<private>)")
    }
}
