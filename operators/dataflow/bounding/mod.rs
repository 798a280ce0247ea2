//! Contribution bounding: the enforcement of the bound on one person. Pure: no streams, no files, no clocks.
//!
//! # The records that count
//!
//! Of every person at most `keys` keys count, and in each at most `per_key` records ([`Cap`]); in at most a
//! stated number of windows ([`WindowAdmission`]); or over all windows together, if they are added up
//! ([`LifetimeContribution`], and [`RollingPresence`] of people over the last windows). A keyed hash of the identities selects them ([`ContributionSelector`]): a
//! person's keys have an order, a person's records of a key have an order, and the lowest are kept. If two
//! hashes are equal, the keys themselves decide. The order of arrival has no part in it.
//!
//! So the kept records are a function of the *set* of a person's records, and they are the same for every
//! order, batch, division into panes, and number of workers:
//!
//! * **Dropping keys early is exact.** A table ([`PersonTable`]) gathers its records now and then, and drops
//!   the keys above the lowest `keys`. Records are only added, so the keys for which another was dropped
//!   stay, and stay below it: a dropped key never comes back, and all of its records are dropped with it.
//!   Those of a kept key were never dropped, for the same reason. Records in a key are dropped by the same
//!   rule, with `per_key` for `keys`.
//! * **Merging is exact.** The lowest of a union are the lowest of the lowest: panes and workers are joined
//!   and cut again.
//! * **Records that may be taken back** ([`Net`]) break the first step, for the keys for which another was
//!   dropped may vanish. Then all records of a person are held, and selected when the window closes.
//! * **Duplicates** ([`Identified`]) are found among the held records. A duplicate of a dropped record is
//!   dropped too: it has the same place.
//!
//! # Proof of the bound
//!
//! The kept records of one person depend on the records of no other. So let two inputs differ by everything
//! that one person did, and let a window be closed on both. Every other person's shares are the same, and
//! totals are sums of shares, so the difference is the shares of that one person. [`PersonTable::close`]
//! calls `add` at most once a key and for at most `keys` keys of a person, and a share is
//!
//! | rule | a share | one person moves the totals by |
//! |---|---|---|
//! | [`Count`], people | 1 | L0 `keys`, Linf 1, L1 `keys`, L2 squared `keys` |
//! | [`Count`], records | 1 to `per_key` | L0 `keys`, Linf `per_key`, L1 `keys per_key`, L2 squared `keys per_key^2` |
//! | [`Sum`] | clamped to `low..=high` | with `c = max(\|low\|, \|high\|)`: L0 `keys`, Linf `c`, L1 `keys c`, L2 squared `keys c^2` |
//! | [`Own`] | one number, of any size | any `keys` numbers |
//! | [`KeptRecords`] | at most `per_key` values | any `keys per_key` values |
//! | a record ([`RecordTotals`]) | one record | one key, by 1 or by `c` |
//!
//! and all four norms hold at once, and are reached. A person who is admitted to `n` windows moves their
//! vectors, laid end to end, by `n` times L0, L1 and L2 squared: the windows admitted are a function of the
//! person's own records too.
//!
//! Where windows are added up a person is in all totals from then on, and is bounded over all of them
//! ([`LifetimeContribution`]): the contributions of one person to a key in all windows add up, without signs,
//! to no more than `per_key` records, or `c`, or 1, and there are `keys` such keys in all.
//!
//! A sum is clamped once, when all of a person's values in a key are added up, in whole numbers that cannot
//! overflow on the way: clamping each pane first would make it depend on the division of the window, and
//! clamping each record would bound `per_key` of them and not the person.
//!
//! The proof needs persons that are distinguished by their whole identity ([`Identity`]). Two persons of one
//! hash would share a bound, and adding one would change the kept records of the other. It does not need a
//! secret hash: the key is secret only so that nobody selects their own kept records, or makes a table slow.
//!
//! The hash must not change while a window is open, in a restart either. The caller chooses whether it
//! depends on the window ([`ContributionSelector::within`]); if overlapping windows share panes it must not.
//!
//! # Implementation and cost
//!
//! A record of a person is added to the person's others, which are somewhere in memory: a hash map from
//! persons to short lists costs some 50 ns a record with 100 thousand people and over 200 ns with a million.
//! So a table does not use one. It appends the record to one of 32 parts, by the person's hash, and when a
//! part has 16,384 waiting (or as many as it holds already) gathers it: an index of the part's persons, a
//! counting sort of its records by person, and one pass that combines and cuts each person's records. All of
//! that fits the second-level cache, for a million people as for ten thousand. `benches/bounding.rs` has the
//! figures.
//!
//! The table has three parts: the people (`People`), the keys that are kept of each (`KeptKeys`), and what is held of
//! the records in these (`KeptValues`). Statistics over the same people share the first, and those by the same keys the
//! second; a record is looked up once, whatever reads it.
//!
//! A table holds 8 bytes and the identity's own size for each person, 8 for each kept key of a count, and at
//! most twice that between two gatherings, plus up to 8 MB of waiting records. [`PersonTable::bytes`] returns
//! its size; a closed table keeps its memory for the next window ([`PersonTable::choose_by`]). No record is
//! ever dropped because memory is short, for then one person's records would decide which of another's count.
//! A run that is short of memory writes panes to a temporary file, from which they come back as they were, reads more
//! slowly, or stops.
//!
//! Everything in a table is private, its size included.

mod identity;
mod kept_keys;
mod kept_values;
mod key_numbers;
mod lifetime;
mod measure;
mod people;
mod presence;
mod records;
mod rule;
mod selector;
mod spillable;
mod table;
#[cfg(test)]
pub(super) mod tests;

pub use identity::{Identity, IdentitySink};
pub(super) use kept_keys::{KeptKeys, KeyWork, MergedKeys, Moves, NONE};
pub(super) use kept_values::{KeptValues, ValueWork};
pub use lifetime::WindowAdmission;
pub use lifetime::{LifetimeContribution, RemainingContribution};
pub use measure::{AdditiveRule, Partial};
pub use measure::{Count, PartialSum, PersonSum, Sum};
pub use measure::{Few, Measure, Values};
pub(crate) use people::LITTLE;
pub(super) use people::{Merged, PARTS, People};
pub use presence::{KeyLevel, KeyPresence, PresenceBefore, PresenceLevels, RollingPresence};
pub use records::{HeldRecord, Identified, KeptRecords, Net, Netted};
pub use rule::Cap;
pub use rule::Own;
pub use rule::RecordTotals;
pub use rule::Rule;
pub use selector::ContributionSelector;
pub use selector::StableHasher;
pub use spillable::Spillable;
pub use table::PersonTable;
pub(super) use table::{held, share};
