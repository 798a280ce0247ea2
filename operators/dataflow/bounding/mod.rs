//! How much one person can matter, enforced. Pure: no streams, no files, no clocks.
//!
//! # What is kept
//!
//! Of every person at most `keys` keys, and in each at most `per_key` records ([`Cap`]); in at most so many
//! windows, where that is asked for ([`WindowAdmission`]); or of all windows together, where they are added
//! up ([`LifetimeContribution`]). Which ones a keyed hash of their identity decides
//! ([`ContributionSelector`]): a person's keys have an order, a person's records of a key have an order, and
//! the lowest are kept. Where two hashes are equal the keys themselves decide. Whatever arrived first has no
//! part in it.
//!
//! So what is kept is a function of the *set* of a person's records, and it is the same for every order,
//! batch, division into panes, and number of workers:
//!
//! * **Giving up on the way is exact.** A table ([`PersonTable`]) gathers what came now and then, and gives
//!   up what is above the lowest `keys`. Records are only added, so whatever a key was given up for stays,
//!   and stays below it: a key that was given up never comes back, and all of its records are given up with
//!   it. Those of a kept key were never given up, for the same reason. Records in a key are given up by the
//!   same rule, with `per_key` for `keys`.
//! * **Merging is exact.** The lowest of a union are the lowest of the lowest: panes and workers are joined
//!   and cut again.
//! * **Records that may be taken back** ([`Net`]) break the first step, for what a key was given up for may
//!   vanish. There everything of a person is held, and chosen when the window closes.
//! * **Duplicates** ([`Identified`]) are found among what is held. A duplicate of what was given up is given
//!   up too: it has the same place.
//!
//! # Why it bounds a person
//!
//! What is kept of one person depends on the records of no other. So let two inputs differ by everything that
//! one person did, and let a window be closed on both. Every other person's shares are the same, and totals
//! are sums of shares, so the difference is the shares of that one person. [`PersonTable::close`] calls `add`
//! at most once a key and for at most `keys` keys of a person, and a share is
//!
//! | rule | a share | one person moves the totals by |
//! |---|---|---|
//! | [`Count`], people | 1 | L0 `keys`, Linf 1, L1 `keys`, L2 squared `keys` |
//! | [`Count`], records | 1 to `per_key` | L0 `keys`, Linf `per_key`, L1 `keys per_key`, L2 squared `keys per_key^2` |
//! | [`Sum`] | clipped to `low..=high` | with `c = max(\|low\|, \|high\|)`: L0 `keys`, Linf `c`, L1 `keys c`, L2 squared `keys c^2` |
//! | [`Own`] | one number, of any size | `keys` numbers, whatever they are |
//! | [`KeptRecords`] | at most `per_key` values | `keys per_key` values, whatever is made of them |
//! | a record ([`RecordTotals`]) | one record | one key, by 1 or by `c` |
//!
//! and all four norms hold at once, and are reached. A person who is admitted to `n` windows moves their
//! vectors, laid end to end, by `n` times L0, L1 and L2 squared: the windows admitted are a function of the
//! person's own records too.
//!
//! Where windows are added up a person is in all totals from then on, and is bounded over all of them
//! ([`LifetimeContribution`]): what one person brings to a key at all windows adds up, without signs, to no
//! more than `per_key` records, or `c`, or 1, and there are `keys` such keys in all.
//!
//! A sum is clipped once, when everything of a person in a key is added up, in whole numbers that cannot
//! overflow on the way: clipping each pane first would make it depend on how the window was divided, and
//! clipping each record would bound `per_key` of them and not the person.
//!
//! It rests on persons being told apart by their whole identity ([`Identity`]). Two who were one by a hash
//! would be two bounds in one, and adding one would change what is kept of the other. It does not rest on the
//! hash being secret: that is only so that nobody chooses what is kept of themselves, or makes a table slow.
//!
//! The hash must not change while a window is open, in a restart either. Whether it depends on the window is
//! the caller's choice ([`ContributionSelector::within`]); where overlapping windows share panes it must not.
//!
//! # How it is done, and what it costs
//!
//! A record's person costs a visit to whatever is held of the person, and that is somewhere in memory: a hash
//! map from persons to short lists costs some 50 ns a record with 100 thousand people and over 200 ns with a
//! million. So a table does not go there. It appends the record to one of 32 parts, by the person's hash, and
//! when a part has 16,384 waiting (or as many as it holds already) gathers it: an index of the part's
//! persons, a counting sort of its records by person, and one pass that combines and cuts each person's few.
//! All of that fits the second-level cache, for a million people as for ten thousand. `benches/bounding.rs`
//! has the figures.
//!
//! Held are 8 bytes and the identity's own for each person, 8 for each kept key of a count, and at most twice
//! that on the way, plus the 8 MB that may wait. [`PersonTable::bytes`] says how much it is; one that is
//! closed keeps its memory for the next window ([`PersonTable::choose_by`]). Nothing is ever given up because
//! memory is short, for then one person's records would decide what counts of another. Whoever runs out of
//! memory reads more slowly, or stops.
//!
//! Everything in a table is private, its size included.

mod gather;
mod identity;
mod key_numbers;
mod lifetime;
mod measure;
mod records;
mod rule;
mod selector;
mod table;
#[cfg(test)]
pub(super) mod tests;

pub use identity::{Identity, IdentitySink};
pub use lifetime::WindowAdmission;
pub use lifetime::{LifetimeContribution, RemainingContribution};
pub use measure::{AdditiveRule, Partial};
pub use measure::{Count, PartialSum, PersonSum, Sum};
pub use measure::{Few, Measure, Values};
pub use records::{Identified, KeptRecords, Net, Netted, RankedRecord};
pub use rule::Cap;
pub use rule::Own;
pub use rule::RecordTotals;
pub use rule::{Keyed, Rule};
pub use selector::ContributionSelector;
pub use selector::Mixer;
pub use table::PersonTable;
pub(super) use table::{held, share};
