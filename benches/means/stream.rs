//! The time of a window of a mean: by a pipeline, beside the mean without protection.

use std::collections::BTreeMap;
use std::error::Error;
use std::hint::black_box;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use discreet::accounting::shape::DataDomain as Vectors;
use discreet::accounting::{Adjacency, PrivacyCost, PrivacyUnit, Promise};
use discreet::dataflow::bounding::{Cap, ContributionSelector, KeptRecords, PersonTable, Values};
use discreet::dataflow::{Config, Fed, execute};
use discreet::gate::Gate;
use discreet::ledger::{AccountSpec, Ledger, Name};
use discreet::mechanisms::{Bound, FoundMean, Gaussian};
use discreet::time::{Time, minutes};
use rustix::time::{ClockId, clock_gettime};
use timely::container::CapacityContainerBuilder;
use timely::dataflow::channels::pact::{Exchange, Pipeline};
use timely::dataflow::operators::Operator;

use super::events::{Event, Events, RANGE, SPAN};

const ROUNDS: usize = 3;
const WINDOWS: usize = 3;
const END: Time = WINDOWS as Time * SPAN;

type Build<const D: usize> = fn(Fed<'_, Event<D>>, &Gate);

/// Prints the time of each mean of this many people, of `D` numbers each.
pub(crate) fn measure<const D: usize>(directory: &Path, people: usize) -> Result<(), Box<dyn Error>> {
    let events = Events::<D>::of(people);
    let settings: [(&str, Build<D>); 6] = [
        ("plain", plain),
        ("plain, by person", plain_by_person),
        ("clipped, records", clipped_records),
        ("clipped, people", clipped_people),
        ("shaped, people", shaped_people),
        ("found, people", found_people),
    ];
    let mut best = [u64::MAX; 6];
    for round in 0..ROUNDS {
        for (place, (_, build)) in settings.into_iter().enumerate() {
            let ledger = directory.join(format!("{D}-{people}-{round}-{place}.ledger"));
            best[place] = best[place].min(run(&events, build, &ledger)?);
        }
    }
    let of = |spent: u64| spent as f64 / (WINDOWS * events.len()) as f64;
    for ((name, _), spent) in settings.iter().zip(best) {
        println!("{people} people, {D} numbers, {name}: {:.1} CPU ns a record", of(spent));
    }
    println!(
        "{people} people, {D} numbers: {} bytes of each person in an open window",
        held(&events)? / people
    );
    let ratio = |name: &str, above: u64, below: u64| {
        println!("ratio means.{name}_{D}_of_{people} {:.2}", above as f64 / below as f64);
    };
    let [plain, by_person, records, clipped, shaped, found] = best;
    ratio("clipped_records_over_plain", records, plain);
    ratio("clipped_people_over_plain", clipped, plain);
    ratio("clipped_people_over_plain_by_person", clipped, by_person);
    ratio("shaped_over_clipped", shaped, clipped);
    ratio("found_over_clipped", found, clipped);
    Ok(())
}

/// The memory of a worker for a window until it closes, if it is the only worker. A mean with found bounds,
/// or a stable one, then holds the numbers of all people once more, with the whitened or separated ones.
fn held<const D: usize>(events: &Events<D>) -> Result<usize, Box<dyn Error>> {
    let kept = KeptRecords::new(Values::<[i64; D]>::new());
    let table: PersonTable<u64, (), _> =
        PersonTable::new(ContributionSelector::new([7; 32]), Cap::new(1, 1)?, kept);
    let mut table = table.only([()].into());
    for event in events.each() {
        table.add(event.person, &(), (event.person, event.values));
    }
    Ok(table.bytes())
}

/// CPU time of all threads, in nanoseconds.
fn run<const D: usize>(events: &Events<D>, build: Build<D>, ledger: &Path) -> Result<u64, Box<dyn Error>> {
    let record = Adjacency { unit: PrivacyUnit::Record, ..Adjacency::PERSON };
    let mut laid = Ledger::create(ledger)?;
    for (name, neighbours) in [("people", Adjacency::PERSON), ("records", record)] {
        let name = Name::new("domain", name)?;
        laid.register(&AccountSpec::new(name, neighbours, Promise::Lifetime, PrivacyCost::zcdp(10.0)?)?)?;
    }
    drop(laid);
    let (gate, started) = (Arc::new(Gate::open(ledger, "bench")?), Arc::new(OnceLock::new()));
    let (starting, events) = (Arc::clone(&started), events.clone());
    execute(Config::threads(2)?, move |worker, feeds| {
        starting.get_or_init(cpu);
        let part = events.part(worker.index(), worker.peers(), WINDOWS);
        worker.dataflow(|scope| build(feeds.stream(scope, part), &gate));
        Ok(())
    })?;
    Ok(cpu() - started.get().copied().unwrap_or_default())
}

fn cpu() -> u64 {
    let spent = clock_gettime(ClockId::ProcessCPUTime);
    spent.tv_sec as u64 * 1_000_000_000 + spent.tv_nsec as u64
}

/// Adds up the records of each window, and divides the sums of complete windows.
macro_rules! added {
    ($events:ident, $route:expr, $dimension:ident) => {
        drop($events.through(|events| {
            let route = $route;
            events.unary_frontier::<CapacityContainerBuilder<Vec<()>>, _, _, _>(route, "Mean", |_, _| {
                let mut open: BTreeMap<Time, (u64, [i64; $dimension])> = BTreeMap::new();
                move |(input, frontier), _| {
                    input.for_each(|_, batch| {
                        for run in batch.chunk_by(|a, b| a.time.div_euclid(SPAN) == b.time.div_euclid(SPAN)) {
                            let window = run[0].time.div_euclid(SPAN);
                            let (count, sums) = open.entry(window).or_insert((0, [0; $dimension]));
                            *count += run.len() as u64;
                            for event in run {
                                sums.iter_mut().zip(&event.values).for_each(|(sum, value)| *sum += value);
                            }
                        }
                    });
                    while let Some(entry) = open.first_entry()
                        && !frontier.less_than(&((entry.key() + 1) * SPAN))
                    {
                        let (count, sums) = entry.remove();
                        black_box(sums.map(|sum| sum as f64 / count as f64));
                    }
                }
            })
        }))
    };
}

/// Each worker adds up what it reads.
fn plain<const D: usize>(events: Fed<'_, Event<D>>, _: &Gate) {
    added!(events, Pipeline, D);
}

/// Each worker adds up the records of its persons, after an exchange by person.
fn plain_by_person<const D: usize>(events: Fed<'_, Event<D>>, _: &Gate) {
    added!(events, Exchange::new(|event: &Event<D>| event.person), D);
}

fn clipped_records<const D: usize>(events: Fed<'_, Event<D>>, gate: &Gate) {
    events
        .protect_each()
        .tumbling(minutes(10), |event| event.time)
        .between(0, END)
        .one_by_one()
        .mean_of(|event| event.values)
        .within([(0, RANGE); D])
        .release(gate, "mean", Gaussian::rho(0.1))
        .deliver(|_| Ok(()));
}

/// The mean of all persons' numbers, by one of the stages that bound them.
macro_rules! of_people {
    ($events:ident, $gate:ident, $word:ident($($bound:expr),+)) => {
        $events
            .protect(|event| event.person)
            .tumbling(minutes(10), |event| event.time)
            .between(0, END)
            .bound(Bound::keys(1))
            .mean_of(|event| event.values)
            .$word($($bound),+)
            .release($gate, "mean", Gaussian::rho(0.1))
            .deliver(|_| Ok(()))
    };
}

fn clipped_people<const D: usize>(events: Fed<'_, Event<D>>, gate: &Gate) {
    of_people!(events, gate, within([(0, RANGE); D]));
}

fn shaped_people<const D: usize>(events: Fed<'_, Event<D>>, gate: &Gate) {
    of_people!(events, gate, over(Vectors::reaching(&[RANGE as f64; D])));
}

fn found_people<const D: usize>(events: Fed<'_, Event<D>>, gate: &Gate) {
    // With many numbers even the quartiles need some thousand people.
    let expected = |mean: FoundMean<()>| mean.people(100_000);
    of_people!(events, gate, followed([(-100 * RANGE, 100 * RANGE); D], expected));
}
