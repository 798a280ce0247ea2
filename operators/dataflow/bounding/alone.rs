//! What a [`PersonTable`](super::PersonTable) would count of one person in the key that there is but one of, without a table: for
//! operators that hold each person's records themselves.

use super::cap::Cap;
use super::chooser::ContributionSelector;
use super::identity::Identity;
use super::rule::{Keyed, Rule};

/// What is held of a record.
pub(in crate::dataflow) fn held<P: Identity, R: Rule>(
    rule: &R,
    chooser: &ContributionSelector,
    person: &P,
    value: R::Value,
) -> R::Held {
    rule.hold(chooser, || chooser.choice(chooser.person(person), chooser.key(&())), value)
}

/// What counts of everything that is held of a person, in any order; nothing where nothing is left.
pub(in crate::dataflow) fn share<R: Rule>(
    rule: &R,
    cap: Cap,
    held: impl IntoIterator<Item = R::Held>,
) -> Option<R::Share> {
    let mut group: Vec<Keyed<R::Held>> = held.into_iter().map(|held| Keyed { key: 0, held }).collect();
    if group.is_empty() {
        return None;
    }
    let left = rule.settle(cap, &mut group);
    let left = rule.cancel(&mut group[..left]);
    (left > 0).then(|| rule.share(cap, &group[..left]))
}
