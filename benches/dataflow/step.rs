//! The cost of durability to a worker that does not wait for it: the time of its steps while the gate is
//! slow.
//!
//! The same job runs twice, with the same windows and records. In one run the gate's thread takes 20 ms
//! longer over each window, as it would with a slow disk. The floor is the other run: the cost of the feed,
//! the exchange and the hand-over.

use std::error::Error;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use discreet::accounting::{Adjacency, Interval, PrivacyCost, Promise, ReleaseCost};
use discreet::dataflow::{
    BATCH, Config, Deliver, Pulled, Schedule, Source, SourceError, StatisticSchedule, Title, WindowStatistic,
    execute,
};
use discreet::gate::{Gate, Sealable};
use discreet::ledger::{AccountSpec, Charge, Digest, Ledger, Name};
use discreet::noise::NoiseSource;
use discreet::time::{Span, Time};

const WINDOWS: u64 = 50;
const BATCHES_A_WINDOW: u64 = 400;
const SLOW: Duration = Duration::from_millis(20);
const ROUNDS: usize = 9;

/// Prints the time of a step.
pub(crate) fn measure(directory: &Path) -> Result<(), Box<dyn Error>> {
    let mut best = [Duration::MAX; 2];
    for round in 0..ROUNDS {
        for (which, slow) in [Duration::ZERO, SLOW].into_iter().enumerate() {
            let (fed, ended) = run(&directory.join(format!("step-{round}-{which}.ledger")), slow)?;
            println!("gate {slow:?} slower: fed in {fed:?}, ended after {ended:?}");
            best[which] = best[which].min(fed);
        }
    }
    let turns = (WINDOWS * BATCHES_A_WINDOW) as f64;
    println!("figure dataflow.step {:.2} us", best[0].as_secs_f64() * 1e6 / turns);
    println!(
        "ratio dataflow.step_with_slow_disk_over_without {:.2}",
        best[1].as_secs_f64() / best[0].as_secs_f64()
    );
    Ok(())
}

/// The time to feed all windows, one turn and one step a batch; and the time until the last is released.
fn run(ledger: &Path, slow: Duration) -> Result<(Duration, Duration), Box<dyn Error>> {
    let word = |word| Name::new("name", word);
    let title = Title {
        account: word("visits")?,
        job: word("web")?,
        version: Digest::of(b"1"),
        name: word("people")?,
    };
    let account =
        AccountSpec::new(word("visits")?, Adjacency::PERSON, Promise::Lifetime, PrivacyCost::zcdp(1.0)?)?;
    Ledger::create(ledger)?.register(&account)?;
    let gate = Gate::open(ledger, title.job.as_str())?;
    let cost = ReleaseCost::new(Adjacency::PERSON, PrivacyCost::zcdp(1.0 / 1024.0)?);

    let start = Instant::now();
    let fed = Arc::new(Mutex::new(Duration::ZERO));
    let feeding = Arc::clone(&fed);
    let finished = execute(Config::threads(1)?, move |worker, feeds| {
        let schedule = Schedule::tumbling(Span::microseconds(1), 0, Some(WINDOWS as Time))?;
        let plan = StatisticSchedule::new(title.clone(), schedule, Sums { slow, cost: cost.clone() });
        worker.dataflow(|scope| {
            let turns = Turns { turn: 0, start, fed: Arc::clone(&feeding) };
            // A batch arrives as one part at worker 0.
            let records = feeds.stream(scope, turns);
            let parts = records.map(|time| (time as u64, 1));
            parts.release_unproved_for_tests_of_the_library_itself(&gate, plan).deliver(|_| Ok(()));
        });
        Ok(())
    })?;
    assert_eq!(finished.released(), WINDOWS, "the budget was meant to last");
    let fed = *fed.lock().unwrap_or_else(PoisonError::into_inner);
    Ok((fed, start.elapsed()))
}

struct Turns {
    turn: u64,
    start: Instant,
    fed: Arc<Mutex<Duration>>,
}

impl Source for Turns {
    type Record = Time;

    fn pull(&mut self, batch: &mut Vec<Time>) -> Result<Pulled, SourceError> {
        let window = self.turn / BATCHES_A_WINDOW;
        if window == WINDOWS {
            *self.fed.lock().unwrap_or_else(PoisonError::into_inner) = self.start.elapsed();
            return Ok(Pulled::End);
        }
        self.turn += 1;
        batch.extend(std::iter::repeat_n(window as Time, BATCH));
        let last = self.turn.is_multiple_of(BATCHES_A_WINDOW);
        Ok(if last { Pulled::Complete(window as Time + 1) } else { Pulled::More })
    }
}

/// The number of records in a window, sealed `slow` later than it could be.
struct Sums {
    slow: Duration,
    cost: ReleaseCost,
}

impl WindowStatistic for Sums {
    type Part = i64;
    type Tally = i64;

    fn tally(&self, _: Interval) -> i64 {
        0
    }

    fn absorb(&self, tally: &mut i64, part: i64) {
        *tally += part;
    }

    fn charge(&self, _: Interval) -> Charge {
        Charge::Cost(self.cost.clone())
    }

    fn sealable(&self, window: Interval, tally: i64) -> Box<dyn Sealable> {
        let slow = self.slow;
        Box::new(move |_: &mut NoiseSource| {
            thread::sleep(slow);
            format!("{}: {tally}", window.start())
        })
    }
}
