//! The floor: the largest value by key and window, from the same source by the same driver, without
//! protection.

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
use super::sentence::value;

/// The largest value by key, without protection.
pub(crate) const PLAIN: Workload = Workload { build: largest, releases: false };

type Largest = HashMap<u32, i64, BuildHasherDefault<Fast>>;

/// Sends every event to the worker of its key, keeps the largest value in a hash map a window, and discards
/// complete windows.
fn largest(events: Fed<'_, Event>, _: &Gate) {
    // The output stream is empty, so it is dropped.
    drop(events.through(|events| {
        let route = Exchange::new(|event: &Event| event.key.into());
        events.unary_frontier::<CapacityContainerBuilder<Vec<()>>, _, _, _>(route, "Largest", |_, _| {
            let mut open: BTreeMap<Time, Largest> = BTreeMap::new();
            let mut last: (Time, Largest) = Default::default();
            move |(input, frontier), _| {
                input.for_each(|_, batch| {
                    for event in batch.drain(..) {
                        let window = event.time.div_euclid(SPAN);
                        if window != last.0 {
                            let before = (window, open.remove(&window).unwrap_or_default());
                            let (window, largest) = std::mem::replace(&mut last, before);
                            open.insert(window, largest);
                        }
                        let own = value(&event);
                        last.1.entry(event.key).and_modify(|most| *most = own.max(*most)).or_insert(own);
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
