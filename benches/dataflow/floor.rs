//! The floor: the same events by the same driver, counted by key and window without protection.

use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasherDefault;
use std::hint::black_box;

use timely::container::CapacityContainerBuilder;
use timely::dataflow::channels::pact::Exchange;
use timely::dataflow::operators::Operator;

use discreet::dataflow::Fed;
use discreet::gate::Gate;
use discreet::time::Time;

use super::events::{Event, SPAN};
use super::hash::Fast;
use super::run::Workload;

/// The count without protection.
pub(crate) const FLOOR: Workload = Workload { build: count, releases: false };

type Counts = HashMap<u32, u64, BuildHasherDefault<Fast>>;

/// Sends every event to the worker of its key, counts there in a hash map a window, and discards complete
/// windows.
fn count(events: Fed<'_, Event>, _: &Gate) {
    // The output stream is empty, so it is dropped.
    drop(events.through(|events| {
        let route = Exchange::new(|event: &Event| event.key.into());
        events.unary_frontier::<CapacityContainerBuilder<Vec<()>>, _, _, _>(route, "Count", |_, _| {
            let mut open: BTreeMap<Time, Counts> = BTreeMap::new();
            let mut last: (Time, Counts) = Default::default();
            move |(input, frontier), _| {
                input.for_each(|_, batch| {
                    for event in batch.drain(..) {
                        let window = event.time.div_euclid(SPAN);
                        if window != last.0 {
                            let before = (window, open.remove(&window).unwrap_or_default());
                            let (window, counts) = std::mem::replace(&mut last, before);
                            open.insert(window, counts);
                        }
                        *last.1.entry(event.key).or_default() += 1;
                    }
                });
                while let Some(entry) = open.first_entry()
                    && !frontier.less_than(&((entry.key() + 1) * SPAN))
                {
                    black_box(entry.remove().len());
                }
            }
        })
    }));
}
