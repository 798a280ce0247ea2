//! Partition selection: which keys a window releases.
//!
//! Public keys have a row in every window. A key that is to be discovered is withheld until its noised number
//! of people reaches the [`Threshold`], whose page says why a lone person's key is safe; from then on it is
//! public ([`KnownKeys`]), and has a row in every window.
//!
//! # The price of a key, before and after it is found
//!
//! A window's price is for `keys` keys of a person, each at an equal part: every mechanism here draws for each
//! key by itself, so that its cost is a sum over the keys that a person is in. Which of them are public is known
//! before the window, from what was released. So each key has its part for itself, and may use it in one of two
//! ways:
//!
//! * A key that is **not yet public** spends [`FINDING`](super::additive::FINDING) percent of its part on being
//!   found, and the rest on its number, if it is found in this window.
//! * A key that **is public** takes part in no selection, and spends all of its part on its number.
//!
//! Beside a weight a key has no part of its own: one of many records may cost all of the price, beside others of one record. There a
//! public key spends no more than what finding leaves, too, unless all keys of a person weigh the same.
//!
//! In whichever keys a person is, no key costs more than its part, and the delta is that of keys which are not
//! public. Where one draw of the number of people finds the key and is released, nothing is spent apart. A mean
//! with one record of a person in a key does so with its count, which has at least that percentage
//! before the key is found.
//!
//! # What several keys cost together
//!
//! Let a person be in `j <= keys` keys, and move the number of key `i` by `d_i`, at most `D`. Each key has
//! draws of its own, so their costs add up, whichever the currency:
//!
//! | noise | a key that moves by `d` costs | because |
//! |---|---|---|
//! | Laplace, pure epsilon | `d / b` | losses add up |
//! | Gaussian, zCDP and mu | `d^2 / 2 sigma^2` | squared lengths add up |
//! | Laplace, zCDP | `rho_b(d)` (`accounting/laplace.rs`) | divergences of independent draws add up |
//! | Laplace, mu | half of `f(d / b)`, `f` the square of [`mu_of_pure`](crate::accounting::gdp::mu_of_pure) | the lemma below |
//!
//! **Lemma.** Independent draws of Laplace noise of scale `b` on numbers that move by `d_i` cost at most the
//! mu of which `mu^2 = f(d_1 / b) + f(d_2 / b) + ..`, and that is at most `(d_1 + d_2 + ..) / D` times
//! `f(D / b)`.
//!
//! **Proof.** Number `i` is purely `d_i / b`-private, so it is one function of a draw of `N(0, 1)` without the
//! person and of `N(mu_i, 1)` with them, `mu_i^2 = f(d_i / b)`. All numbers together are one function of a
//! vector of such draws, whose two laws differ in the mean by a vector of the squared length
//! `mu_1^2 + mu_2^2 + .. = mu^2`. What is orthogonal to that vector is the same in both and independent of the
//! rest, so the vector of draws is a function of one draw of `N(0, 1)` or of `N(mu, 1)`. And `f` is convex and
//! 0 at 0, so `f(x e) <= x f(e)` for `x` from 0 to 1: at `e = D / b` and `x = d_i / D`. ∎
//!
//! [`Additive::within`] takes the noise for which `keys` numbers that all move by `D` cost what is spent. So
//! a key costs at most one of `keys` equal parts; one that is to be found has two draws, whose parts of that
//! add up; and `j` keys cost at most `j` parts. `f(d / b)` being convex, and not linear, a person in fewer
//! keys or with less in each costs less than that, never more.
//!
//! # The part for finding
//!
//! The threshold is about `1 + z sigma / sqrt(s)` people with the part `s` for finding, and the noise of the first
//! number is wider by `1 / sqrt(1 - s)`: there is no split that is best for both. Half of the price is the one by which
//! the worse of the two is least: neither is more than 1.42 times what it would be with all of the price. Later windows
//! lose nothing by it. A lower part for finding saves noise in one window of a key, and loses keys in all.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::additive::Additive;
use super::answer::{Answer, Estimate, EstimateFormat, Noised};
use super::keys::{Key, KeyChoice, Keys};
use super::mechanism::Drawn;
use super::statistic::{Cell, Cells, Summary};
use crate::accounting::BudgetUnits;
use crate::invalid::Invalid;
use crate::noise::NoiseSource;

pub(super) mod known;
mod threshold;

use known::{KnownKeys, LONGEST};
pub(super) use threshold::Threshold;

/// Keys, with all that discovering them takes.
#[derive(Clone, Debug)]
pub(super) enum Selection<K> {
    Public(Arc<[K]>),
    Discovered { threshold: Threshold, at_most: usize },
}

/// A key that will be released, and its exact cell.
pub(super) struct SelectedRow<K, C = Cell> {
    pub(super) key: K,
    pub(super) cell: C,
    /// The noised number of people by which it became public, in this window.
    pub(super) passed: Option<i128>,
}

/// The rows of a window in the order of their keys, and the keys that are public after it, where they are
/// kept.
pub(super) struct SelectedRows<K, C> {
    pub(super) rows: Vec<SelectedRow<K, C>>,
    known: Option<KnownKeys<K>>,
    room: Option<usize>,
}

/// The delta that discovery costs beside the noise.
pub(super) fn delta<K>(keys: &Keys<K>) -> Result<BudgetUnits, Invalid> {
    match &keys.0 {
        KeyChoice::Public(_) => Ok(BudgetUnits::ZERO),
        KeyChoice::Discover { delta, .. } => delta.clone(),
    }
}

impl<K: Key> Selection<K> {
    /// `people` makes the noise for the number of people of a key, by which any one person is moved in
    /// `keys_per_person` keys.
    pub(super) fn new(
        keys: &Keys<K>,
        keys_per_person: u64,
        people: impl FnOnce() -> Result<Additive, Invalid>,
    ) -> Result<Selection<K>, Invalid> {
        match &keys.0 {
            KeyChoice::Public(keys) => Ok(Selection::Public(keys.clone())),
            KeyChoice::Discover { delta, at_most, people: least } => {
                let threshold = Threshold::new(people()?, keys_per_person, delta.clone()?)?;
                let threshold = threshold.at_least_people(*least)?;
                Ok(Selection::Discovered { threshold, at_most: *at_most })
            }
        }
    }

    pub(super) fn threshold(&self) -> Option<&Threshold> {
        match self {
            Selection::Public(_) => None,
            Selection::Discovered { threshold, .. } => Some(threshold),
        }
    }

    pub(super) fn tally<C: Summary>(&self) -> Cells<K, C> {
        match self {
            Selection::Public(keys) => Cells::of(keys),
            Selection::Discovered { .. } => Cells::open(),
        }
    }

    pub(super) fn accepts(&self, state: &[u8]) -> Result<(), Invalid> {
        KnownKeys::<K>::from_bytes(state).map(|_| ())
    }

    /// The rows of a window.
    ///
    /// Discovery asks for one draw of the people's noise for each key that somebody has and that is not
    /// public yet, in the order of the keys, and for none where the list of public keys is full. Nothing else
    /// here asks for noise.
    pub(super) fn rows<C: Summary>(
        &self,
        exact: Cells<K, C>,
        state: Option<&[u8]>,
        noise: &mut NoiseSource,
    ) -> SelectedRows<K, C> {
        let cells = exact.into_map();
        match self {
            Selection::Public(_) => {
                let rows =
                    cells.into_iter().map(|(key, cell)| SelectedRow { key, cell, passed: None }).collect();
                SelectedRows { rows, known: None, room: None }
            }
            Selection::Discovered { threshold, at_most } => {
                // State that cannot be read ended the job before its first draw (`accepts`). Beginning anew
                // would still be private: every window pays for the discovery of all of its keys.
                let known =
                    state.and_then(|bytes| KnownKeys::from_bytes(bytes).ok()).unwrap_or(KnownKeys::none());
                discover(threshold, *at_most, cells, known, noise)
            }
        }
    }
}

fn discover<K: Key, C: Summary>(
    threshold: &Threshold,
    at_most: usize,
    mut cells: BTreeMap<K, C>,
    known: KnownKeys<K>,
    noise: &mut NoiseSource,
) -> SelectedRows<K, C> {
    let public = |key: &K| (key.clone(), cells.remove(key).unwrap_or_default());
    let public: Vec<(K, C)> = known.iter().map(public).collect();
    let room = at_most.saturating_sub(known.len());
    let mut passed = Vec::new();
    if room > 0 {
        cells.retain(|key, cell| cell.people() > 0 && key.to_bytes().len() <= LONGEST);
        let draws = threshold.noise().draws(cells.len(), noise);
        for ((key, cell), draw) in cells.into_iter().zip(draws) {
            let noised = i128::from(cell.people()) + i128::from(draw);
            if threshold.passes(cell.people(), noised) {
                passed.push(SelectedRow { key, cell, passed: Some(noised) });
            }
        }
        // Stable: of equal numbers, the first in the order of keys.
        passed.sort_by_key(|row| Reverse(row.passed));
        passed.truncate(room);
    }
    let known = known.with(passed.iter().map(|row| row.key.clone()));
    let room = at_most.saturating_sub(known.len());
    let public = public.into_iter().map(|(key, cell)| SelectedRow { key, cell, passed: None });
    let mut rows: Vec<SelectedRow<K, C>> = public.chain(passed).collect();
    rows.sort_by(|a, b| a.key.cmp(&b.key));
    SelectedRows { rows, known: Some(known), room: Some(room) }
}

impl<K: Key, C> SelectedRows<K, C> {
    /// The estimates of every row, as many of each: what is drawn, and what is remembered.
    pub(super) fn drawn<T>(self, estimates: Vec<Estimate<T>>, format: EstimateFormat) -> Drawn<Answer<K, T>> {
        let each = format.each();
        let keys = self.rows.into_iter().flat_map(|row| std::iter::repeat_n(row.key, each));
        let answer = Answer { cells: keys.zip(estimates).collect(), format, room: self.room };
        Drawn { answer, state: self.known.map(|known| known.to_bytes()), step: None }
    }
}

/// The noise of one number of a cell, and how wide its intervals are.
#[derive(Clone, Debug)]
pub(super) struct NoisedColumn {
    noise: Additive,
    /// True if the threshold's own draw, made of the number of people, is the draw of this number too.
    shared: bool,
    half_width: u64,
    /// The probability left out at the lower end.
    outside: f64,
}

impl NoisedColumn {
    pub(super) fn new(noise: Additive, shared: bool, confidence: f64) -> Result<NoisedColumn, Invalid> {
        let half_width = noise.half_width(confidence)?;
        Ok(NoisedColumn { noise, shared, half_width, outside: (1.0 - confidence) / 2.0 })
    }

    /// The number of every row with its noise: one request for as many draws as there are rows without one.
    pub(super) fn estimates<K: Key, C>(
        &self,
        rows: &[SelectedRow<K, C>],
        value: impl Fn(&C) -> i128,
        threshold: Option<&Threshold>,
        noise: &mut NoiseSource,
    ) -> Vec<Estimate<i128>> {
        let threshold = threshold.filter(|_| self.shared);
        let shared = |row: &SelectedRow<K, C>| threshold.zip(row.passed);
        let fresh = rows.iter().filter(|row| shared(row).is_none()).count();
        let mut draws = self.noise.draws(fresh, noise).into_iter();
        let width = i128::from(self.half_width);
        let estimate = |row: &SelectedRow<K, C>| {
            if let Some((threshold, noised)) = shared(row) {
                let low = threshold.at_least(noised, self.outside);
                return Estimate::between(low, noised, noised + width);
            }
            // As many draws as rows without one; and no sum of shares comes within 2^63 of the end of its
            // type.
            let value = value(&row.cell).saturating_add(draws.next().unwrap_or_default().into());
            Estimate::between(value.saturating_sub(width), value, value.saturating_add(width))
        };
        rows.iter().map(estimate).collect()
    }

    pub(super) fn noise(&self) -> &Additive {
        &self.noise
    }

    pub(super) fn reach(&self) -> f64 {
        self.half_width as f64
    }

    pub(super) fn noised(&self, number: &'static str) -> Noised {
        Noised::additive(number, &self.noise)
    }
}
