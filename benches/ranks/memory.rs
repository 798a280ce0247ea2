//! The memory of a window: of each person while it is open, and of each key when it is released.

use std::error::Error;

use discreet::dataflow::bounding::{self, Cap, ContributionSelector, Few, KeptRecords, Own, PersonTable};
use discreet::mechanisms::{
    BinarySearch, Bound, Grid, Keys, Largest, Maximum, Mechanism, PerPerson, Prepared, RankedValues, Tops,
};

use super::events::{Events, KEYS};
use super::sentence::{BOUND, RHO, value};

/// Prints the bytes of one window, of which two workers have a half each.
pub(crate) fn measure(events: &Events) -> Result<(), Box<dyn Error>> {
    let (keys, per_key) = BOUND;
    let selector = || ContributionSelector::new([7; 32]);
    let mut largest = PersonTable::new(selector(), Cap::new(keys, 1 << 31)?, Own(PerPerson::Greatest));
    let measure = KeptRecords::new(bounding::Values::<i64>::new());
    let mut quantile = PersonTable::new(selector(), Cap::new(keys, per_key)?, measure);
    for (record, event) in (0..).zip(events.first_window()) {
        largest.add(event.person, &event.key, value(event));
        quantile.add(event.person, &event.key, (record, value(event)));
    }
    println!(
        "an open window: {} bytes for a largest value, {} for a quantile",
        largest.bytes(),
        quantile.bytes()
    );

    let bound = Bound::keys(keys).checked()?;
    let of =
        Largest::new(Maximum, PerPerson::Greatest, Grid::log_from_zero(), bound, Keys::public(0..KEYS)?)?;
    let most = BinarySearch::rho(RHO).prepare(&of)?.largest_needed().unwrap_or(usize::MAX);
    let add = |tops: &mut Tops, own: i128| tops.add(i64::try_from(own).unwrap_or(i64::MAX), most);
    let (mut held, mut sent) = (0, 0);
    for (_, mut tops) in largest.close(|_| true, add) {
        held = held.max(tops.bytes());
        tops.cut();
        // A copy has no spare capacity.
        sent = sent.max(tops.clone().bytes());
    }
    println!(
        "a key of a largest value: of the largest {most} people {held} bytes held, and {sent} sent, at most"
    );

    let mut people = 0;
    let add = |values: &mut RankedValues, own: Few<i64>| {
        people += 1;
        values.add(&own);
    };
    let released = quantile.close(|_| true, add);
    let bytes = |known: &RankedValues| known.clone().bytes();
    let (first, all) = (
        released.iter().map(|(_, known)| bytes(known)).max(),
        released.iter().map(|(_, known)| bytes(known)).sum::<usize>(),
    );
    println!("a key of a quantile: {} bytes sent at most, {all} of all keys", first.unwrap_or(0));
    println!("figure ranks.largest_bytes_a_key {held} bytes");
    println!("figure ranks.quantile_bytes_a_person_and_key {:.1} bytes", all as f64 / f64::from(people));
    Ok(())
}
