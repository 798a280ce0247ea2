//! Whole sentences on one to four workers, and on two processes, against sequential references. What is
//! sealed is the exact tally, beside what would have been released: the one way past the noise, and in this build
//! alone.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::accounting::Interval;
use crate::dataflow::bounding::tests::{Random, VALUES};
use crate::dataflow::bounding::{Cap, ContributionSelector, PersonTable, Rule};
use crate::dataflow::spill::SpillSpace;
use crate::dataflow::*;
use crate::mechanisms::{Bound, Gaussian, Keys};
use crate::time::{Span, Time};

mod admission;
mod answering;
mod collection;
mod distinguished;
mod neighbours;
mod oracle;
mod parts;
mod recorder;
mod refusals;
mod resuming;
mod revealed;
mod running;
mod sharing;
mod spilling;
mod turns;
mod vectors;
mod weighted;

use recorder::{Exactly, Recorder, Sealed};

/// Person, key, value, time, id.
pub(super) type Event = (u64, u32, i64, Time, u64);

/// The batches of a source, a step at a time.
#[derive(Clone, Debug, Default)]
pub(super) struct Script<R>(pub(super) Vec<(Vec<R>, Pulled)>);

/// A script on its way.
pub(super) struct Scripted<R>(std::vec::IntoIter<(Vec<R>, Pulled)>);

impl<R> Script<R> {
    fn source(self) -> Scripted<R> {
        Scripted(self.0.into_iter())
    }
}

impl<R: Clone + 'static> Source for Scripted<R> {
    type Record = R;

    fn pull(&mut self, batch: &mut Vec<R>) -> Result<Pulled, SourceError> {
        let Some((records, pulled)) = self.0.next() else { return Ok(Pulled::End) };
        batch.extend(records);
        Ok(pulled)
    }
}

/// Time in which the windows of these tests lie: `[0, HORIZON)`.
pub(super) const HORIZON: Time = 120;

/// Records of a few people, some of them of no window; some early, some late, some of another age.
pub(super) fn events(random: &mut Random) -> Vec<Event> {
    let (people, keys) = (1 + random.below(8), 1 + random.below(9));
    let records = random.below(160);
    let event = |(id, random): (usize, &mut Random)| {
        let time = match random.below(20) {
            0 => random.pick(&[i64::MIN, i64::MAX, -1, HORIZON, 253_370_764_800_000_000]),
            _ => random.below(HORIZON as usize) as Time,
        };
        let limit = 1 + random.below(people);
        (random.below(limit) as u64, random.below(keys) as u32, random.pick(&VALUES), time, id as u64)
    };
    (0..records).map(|id| event((id, random))).collect()
}

/// Divides records among workers, in odd batches, with the progress that each declares beside them. Nothing
/// else is in it but what `random` decides: for other records in the same places the declarations are the
/// same.
pub(super) fn divided<R: Clone>(random: &mut Random, records: &[R], workers: usize) -> Vec<Script<R>> {
    let mut scripts = vec![Script(Vec::new()); workers];
    let mut declared = vec![Time::MIN; workers];
    let mut records = records.to_vec();
    random.shuffle(&mut records);
    let mut rest = &records[..];
    while !rest.is_empty() {
        let (worker, length) = (random.below(workers), 1 + random.below(40));
        let (batch, after) = rest.split_at(length.min(rest.len()));
        rest = after;
        let pulled = if random.below(3) == 0 {
            declared[worker] = declared[worker].max(random.below(HORIZON as usize) as Time);
            Pulled::Complete(declared[worker])
        } else {
            Pulled::More
        };
        scripts[worker].0.push((batch.to_vec(), pulled));
    }
    scripts
}

/// Every record with the time that its source had declared when it gave it.
pub(super) fn given<R: Clone>(scripts: &[Script<R>]) -> Vec<(Time, R)> {
    let mut all = Vec::new();
    for script in scripts {
        let mut declared = Time::MIN;
        for (records, pulled) in &script.0 {
            all.extend(records.iter().map(|record| (declared, record.clone())));
            if let Pulled::Complete(time) = pulled {
                declared = *time;
            }
        }
    }
    all
}

/// A place in which everything is spilled after each batch.
pub(super) fn spilled(directory: std::path::PathBuf) -> SpillSpace {
    SpillSpace::new(directory, (u64::MAX, 1), |_| {}).forced()
}

/// A run on this number of workers, in which everything is spilled after each batch if the number of records is odd: what is
/// released must not depend on it.
pub(super) fn configured(workers: usize, records: usize) -> Config {
    let space = (records % 2 == 1).then(|| Arc::new(spilled(std::env::temp_dir())));
    Config::threads(workers).unwrap().spilling(space)
}

/// Runs a dataflow on as many workers as there are scripts; spilled if the number of records is odd.
pub(super) fn run<R: Clone + Send + Sync + 'static>(
    scripts: &[Script<R>],
    build: impl for<'scope> Fn(Fed<'scope, R>) + Send + Sync + 'static,
) -> Result<Finished, RunError> {
    let records = scripts.iter().flat_map(|script| &script.0).map(|(records, _)| records.len()).sum();
    run_by(configured(scripts.len(), records), scripts, build)
}

/// Runs a dataflow on as many workers as there are scripts.
pub(super) fn run_by<R: Clone + Send + Sync + 'static>(
    config: Config,
    scripts: &[Script<R>],
    build: impl for<'scope> Fn(Fed<'scope, R>) + Send + Sync + 'static,
) -> Result<Finished, RunError> {
    let scripts = scripts.to_vec();
    execute(config, move |worker, feeds| {
        let source = scripts[worker.index()].clone().source();
        worker.dataflow(|scope| build(feeds.stream(scope, source)));
        Ok(())
    })
}

pub(super) fn span(length: i64) -> Span {
    Span::microseconds(length).unwrap()
}

/// Returns the tallies of each window by a single table that sees every record by itself: the reference for a
/// person's statistics.
pub(super) fn tallied<P, K, R, T>(
    schedule: &Schedule,
    table: impl Fn(ContributionSelector) -> PersonTable<P, K, R>,
    records: impl Fn(Interval, &mut PersonTable<P, K, R>),
    mut admit: impl FnMut(&P) -> bool,
    add: impl Fn(&mut T, R::Share) + Copy,
) -> BTreeMap<Time, Vec<(K, T)>>
where
    P: bounding::Identity + Eq + Clone,
    K: bounding::Identity + Ord + Clone,
    R: Rule,
    T: Default,
{
    let selector = ContributionSelector::new(recorder::SECRET);
    (0..)
        .map_while(|number| schedule.window(number))
        .map(|window| {
            let own = if schedule.overlaps() { selector.clone() } else { selector.within(window.start()) };
            let mut table = table(own);
            records(window, &mut table);
            (window.start(), table.close(&mut admit, add))
        })
        .collect()
}

impl<D, U: ProtectedUnit<D>, T> Windowed<'_, D, U, T> {
    /// So late, or not at all.
    fn late_by(self, late: i64) -> Self {
        if late == 0 { self } else { self.late(Span::microseconds(late)) }
    }
}
