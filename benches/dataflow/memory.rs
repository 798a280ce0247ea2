//! The memory of an open window.

use std::error::Error;

use discreet::dataflow::bounding::{Cap, ContributionSelector, Count, PersonTable};

use super::events::{Events, KEYS};

/// Bytes of the table of a whole window, before it is closed: two workers have a half each.
pub(crate) fn of_a_window(events: &Events) -> Result<usize, Box<dyn Error>> {
    let table = PersonTable::new(ContributionSelector::new([7; 32]), Cap::new(4, 2)?, Count);
    let mut table = table.only((0..KEYS).collect());
    for event in events.first_window() {
        table.add(event.person, &event.key, ());
    }
    Ok(table.bytes())
}
