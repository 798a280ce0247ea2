//! The amount that a release may spend, and its division among draws.

use dashu_int::UBig;

use super::additive::COUNTING;
use super::bound::ContributionBound;
use crate::accounting::{Adjacency, BudgetUnits, Omega, PrivacyCost, ReleaseCost, gdp};
use crate::invalid::{Invalid, InvalidKind};

/// The cost of additive noise, in one of the currencies that have a closed form for many cells at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spend {
    /// Pure epsilon.
    Pure(BudgetUnits),
    /// Rho of zCDP.
    Rho(BudgetUnits),
    /// Half the square of mu: Gaussian noise is rounded, and all else is what pure epsilon comes to.
    Mu(BudgetUnits),
}

impl Spend {
    /// Reads an amount.
    pub(super) fn of(amount: &PrivacyCost) -> Result<Spend, Invalid> {
        match amount {
            PrivacyCost::Pure { epsilon } => Ok(Spend::Pure(*epsilon)),
            PrivacyCost::Zcdp { rho, delta: BudgetUnits::ZERO, .. } => Ok(Spend::Rho(*rho)),
            PrivacyCost::Gaussian { rho, delta: BudgetUnits::ZERO } => Ok(Spend::Mu(*rho)),
            PrivacyCost::Zcdp { .. } | PrivacyCost::Gaussian { .. } => Err(Invalid::new(
                "delta",
                InvalidKind::Mixed,
                "rho alone here, and delta to the keys to discover",
            )),
            _ => Err(Invalid::new("currency", InvalidKind::Mixed, "rho or pure epsilon")),
        }
    }

    /// `percent` of it, rounded down, and the rest: together exactly all of it.
    pub(super) fn split(self, percent: u8) -> (Spend, Spend) {
        let part = |all: BudgetUnits| {
            let (bits, percent) = (all.to_bits(), u128::from(percent));
            let part = bits / 100 * percent + bits % 100 * percent / 100;
            (BudgetUnits::from_bits(part), BudgetUnits::from_bits(bits - part))
        };
        let (part, rest) = part(self.units());
        (self.alike(part), self.alike(rest))
    }

    /// The epsilon, the rho or half the square of mu.
    pub(super) fn units(self) -> BudgetUnits {
        let (Spend::Pure(units) | Spend::Rho(units) | Spend::Mu(units)) = self;
        units
    }

    /// Another amount in the same currency.
    fn alike(self, units: BudgetUnits) -> Spend {
        match self {
            Spend::Pure(_) => Spend::Pure(units),
            Spend::Rho(_) => Spend::Rho(units),
            Spend::Mu(_) => Spend::Mu(units),
        }
    }

    /// These parts of it, which are to be 1 together, each rounded down: together they are no more than all of it.
    pub(super) fn parts(self, parts: &[f64]) -> Vec<Spend> {
        const UNIT: u128 = 1 << 40;
        let mut left = UNIT;
        let part = |part: &f64| {
            // A part that floats have rounded up is cut to what is left.
            let part = ((part * UNIT as f64) as u128).min(left);
            left -= part;
            let bits = self.units().to_bits();
            self.alike(BudgetUnits::from_bits(bits / UNIT * part + bits % UNIT * part / UNIT))
        };
        parts.iter().map(part).collect()
    }

    /// One of this number of parts, rounded down.
    pub(super) fn part_of(self, parts: u64) -> Spend {
        self.alike(BudgetUnits::from_bits(self.units().to_bits() / u128::from(parts.max(1))))
    }

    /// Returns the largest pure epsilon or, in zCDP and in mu, the largest bounded range that each of `parts` mechanisms may
    /// have, in units of 2^-64.
    ///
    /// Rounded down: epsilons, or the rhos or squares of mu that ranges cost, add up to no more than what is spent. A range of
    /// epsilon costs `epsilon^2 / 8` of rho (Cesar and Rogers 2021); in units of 2^-64 that is `bits^2 <= 2^67 rho`, and the
    /// largest such whole number is taken.
    pub(super) fn range_of_each(self, parts: u64) -> u128 {
        let part = self.part_of(parts).units();
        match self {
            Spend::Pure(_) => part.to_bits(),
            // The mu of a range is that of half of it, as pure epsilon.
            Spend::Mu(_) => {
                let half = gdp::epsilon_within(gdp::mu_within_rho(part));
                let half = half.and_then(|half| BudgetUnits::at_most_float("epsilon", half));
                half.map_or(0, |half| 2 * half.to_bits())
            }
            // A root of less than 2^195.
            Spend::Rho(_) => {
                let square = UBig::from(part.to_bits()) << 67usize;
                u128::try_from(&square.nth_root(2)).unwrap_or(u128::MAX)
            }
        }
    }

    /// The cost of all of it, beside a delta, with the price of a part of a person.
    pub(super) fn cost_with(
        self,
        neighbours: Adjacency,
        delta: BudgetUnits,
        (cut, is_gaussian): (Cut, bool),
    ) -> Result<ReleaseCost, Invalid> {
        let cost = self.cost(neighbours, delta);
        match cut.price(cost.amount(), is_gaussian)? {
            Some(partial) => cost.with_partial(partial),
            None => Ok(cost),
        }
    }

    /// The cost of all of it, beside a delta.
    pub(super) fn cost(self, neighbours: Adjacency, delta: BudgetUnits) -> ReleaseCost {
        let amount = match self {
            Spend::Pure(epsilon) if delta == BudgetUnits::ZERO => PrivacyCost::Pure { epsilon },
            Spend::Pure(epsilon) => PrivacyCost::Approximate { epsilon, delta },
            Spend::Rho(rho) => PrivacyCost::Zcdp { rho, delta, omega: Omega::EVERY },
            Spend::Mu(rho) => PrivacyCost::Gaussian { rho, delta },
        };
        ReleaseCost::new(neighbours, amount)
    }
}

// How much more a window costs of which a stretch of time holds a part.
//
// A window's price is for the removal of all that a person has there. Where only the records of some time are
// removed, the bound keeps others in their place: other keys, other records of a key, another clipped sum.
// The two contributions, before and after, are both within the bound, so the price is that of a replacement:
//
// | | squared L2, in those of a whole person |
// |---|---|
// | another key for each | 2 |
// | the same keys, each by `d` where a whole person moves it by `m` | `d^2 / m^2`: 1 for counts, people and sums of one sign, 4 for sums of `-m..=m` and for the sums of means |
// | anything else | 4: the person goes, and comes back with less |
//
// Delta is that of the whole: keys that only one of two data sets has are not released but with that
// probability, in either of them.

/// A unit of factors: the most by which one is rounded up.
const ONE: u64 = 4096;

/// Factors from the price of a whole person to that of a part, each a number of 4,096ths and no less than 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    /// Of epsilon.
    epsilon: u64,
    /// Of rho under Gaussian noise.
    gaussian: u64,
    /// Of rho under any other.
    rho: u64,
}

impl Cut {
    /// A record without an id is within a stretch or is not.
    const NONE: Cut = Cut { epsilon: ONE, gaussian: ONE, rho: ONE };

    /// The person goes, and comes back with less: group privacy of two.
    pub(crate) fn two_steps(limits: &ContributionBound) -> Cut {
        Cut { epsilon: 2 * ONE, gaussian: 4 * ONE, rho: 4 * ONE }.of(limits)
    }

    /// Numbers of which a whole person moves each of `limits.keys()` by `most`, and a part moves one that
    /// stays by `same`, at most twice that. `listed` is how many keys there are, where they are public.
    pub(super) fn of_numbers(
        limits: &ContributionBound,
        listed: Option<usize>,
        most: u128,
        same: u128,
    ) -> Cut {
        let ratio = |over: u128, under: u128| over.saturating_mul(ONE.into()).div_ceil(under.max(1));
        let length = ratio(same, most).clamp(ONE.into(), (2 * ONE).into()) as u64;
        // `(same / most)^2`, each rounded up.
        let square = (length * length).div_ceil(ONE);
        let moved = |factor: u64| Cut::of_keys(limits, listed, factor);
        // Of other laws nothing is said but for a number that moves no farther, and for one that moves by two
        // steps.
        let rho = if length > ONE { 4 * ONE } else { moved(ONE) };
        Cut { epsilon: moved(length), gaussian: moved(square), rho }.of(limits)
    }

    /// Returns the factor of all keys of a person, where a key that stays has this one, and keys that leave and come
    /// have that of a whole person each.
    fn of_keys(limits: &ContributionBound, listed: Option<usize>, factor: u64) -> u64 {
        let keys = limits.keys();
        // Two sets of `keys` keys each are of no more than twice as many, and of no more than there are.
        let both = listed.map_or(2 * keys, |listed| (listed as u64).clamp(keys, 2 * keys));
        // Of those, `2 keys - both` are in both sets.
        let apart = 2 * u128::from(both - keys) * u128::from(ONE);
        let all = u128::from(2 * keys - both) * u128::from(factor) + apart;
        // At most twice the factor of one key.
        (all.div_ceil(keys.into()) as u64).max(factor)
    }

    /// Numbers of which a part may change all, as the sums of parents, or shares that are weighed together: those before and
    /// those after are within the bound. Where numbers have one sign their difference is no longer than both together; otherwise
    /// a part is two steps.
    pub(super) fn of_replaced(limits: &ContributionBound, has_one_sign: bool) -> Cut {
        match has_one_sign {
            true => Cut { epsilon: 2 * ONE, gaussian: 2 * ONE, rho: 2 * ONE }.of(limits),
            false => Cut::two_steps(limits),
        }
    }

    /// The numbers of a mean, of which a count has `counting` percent of the price if that is stated.
    ///
    /// Otherwise those of Laplace noise are two sums of distances, which are nowhere negative: what one of them loses and
    /// gains is at most what it has before and after together, and no single move is farther than that of a whole person.
    pub(super) fn of_means(limits: &ContributionBound, listed: Option<usize>, counting: Option<u8>) -> Cut {
        let gaussian = Cut::of_sum_and_count(limits, listed, counting.unwrap_or(COUNTING));
        if counting.is_some() {
            return gaussian;
        }
        let ends = Cut::of_replaced(limits, true);
        // A discovered key is found by a count, which shares the price of that window with a sum.
        let rho = if listed.is_some() { ends.rho } else { gaussian.rho };
        Cut { epsilon: ends.epsilon, rho, ..gaussian }
    }

    /// A sum and a count that share a price, of which the count has `counting` percent: all of a person's
    /// records in a key may give way to others of the opposite sign, which moves the sum by twice as much and
    /// the count not at all.
    pub(super) fn of_sum_and_count(limits: &ContributionBound, listed: Option<usize>, counting: u8) -> Cut {
        // One more: the split of a price rounds by less than a 4,096th of it.
        let summing = |factor: u64| (factor * ONE * u64::from(100 - counting.min(100))).div_ceil(100) + 1;
        // A key that stays may lose its records too, or exchange them.
        let moved = |factor: u64| Cut::of_keys(limits, listed, summing(factor).max(ONE));
        Cut { epsilon: moved(2), gaussian: moved(4), rho: 4 * ONE }.of(limits)
    }

    /// Numbers that share a price and are in the same keys: their part costs no more than if each had the larger factor.
    pub(super) fn of_both(self, other: Cut) -> Cut {
        Cut {
            epsilon: self.epsilon.max(other.epsilon),
            gaussian: self.gaussian.max(other.gaussian),
            rho: self.rho.max(other.rho),
        }
    }

    fn of(self, limits: &ContributionBound) -> Cut {
        if limits.has_parts() { self } else { Cut::NONE }
    }

    /// The factor of an amount in 4,096ths.
    pub(crate) fn factor(self, amount: &PrivacyCost, is_gaussian: bool) -> (u64, u64) {
        let factor = match amount {
            PrivacyCost::Pure { .. } => self.epsilon,
            _ if is_gaussian => self.gaussian,
            _ => self.rho,
        };
        (factor, ONE)
    }

    /// The price of a part, rounded up; `None` for an amount in which it is no multiple of the whole's.
    pub(crate) fn price(
        self,
        amount: &PrivacyCost,
        is_gaussian: bool,
    ) -> Result<Option<PrivacyCost>, Invalid> {
        let (factor, one) = self.factor(amount, is_gaussian);
        let times = |field, units: BudgetUnits| -> Result<BudgetUnits, Invalid> {
            let all = units.times(field, factor)?;
            Ok(BudgetUnits::from_bits(all.to_bits().div_ceil(one.into())))
        };
        Ok(match amount {
            PrivacyCost::Pure { epsilon } => Some(PrivacyCost::Pure { epsilon: times("epsilon", *epsilon)? }),
            PrivacyCost::Zcdp { rho, delta, omega: Omega::EVERY } => {
                Some(PrivacyCost::Zcdp { rho: times("rho", *rho)?, delta: *delta, omega: Omega::EVERY })
            }
            PrivacyCost::Gaussian { rho, delta } => {
                Some(PrivacyCost::Gaussian { rho: times("rho", *rho)?, delta: *delta })
            }
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Refutes a split that loses or invents a unit.
    #[test]
    fn the_parts_are_all_of_it() {
        for bits in [1, 2, 3, 99, 100, 101, 12_345_678_901_234_567_890, u128::MAX / 3] {
            for percent in [1, 30, 50, 99] {
                let (Spend::Rho(part), Spend::Rho(rest)) =
                    Spend::Rho(BudgetUnits::from_bits(bits)).split(percent)
                else {
                    panic!()
                };
                assert_eq!(part.to_bits() + rest.to_bits(), bits);
                let exact = bits as f64 * f64::from(percent) / 100.0;
                assert!((part.to_bits() as f64 - exact).abs() <= 1.0 + exact * 1e-15);
            }
        }
    }
}

#[cfg(test)]
mod cut_tests {
    use super::*;
    use crate::mechanisms::Bound;

    fn gaussian(keys: u64, listed: Option<usize>, most: u128, same: u128) -> u64 {
        let limits = Bound::keys(keys).checked().unwrap();
        Cut::of_numbers(&limits, listed, most, same).gaussian
    }

    /// The most that two contributions within a bound differ by, squared, in `most^2` for each of `keys`
    /// keys: every way to share keys, each key that is shared by `same`.
    fn slow(keys: u64, listed: u64, most: u64, same: u64) -> u64 {
        let shared = (0..=keys).filter(|shared| 2 * keys - shared <= listed.max(keys));
        let all = shared.map(|shared| shared * same * same + 2 * (keys - shared) * most * most).max();
        (all.unwrap() * ONE).div_ceil(keys * most * most)
    }

    // Refutes the price of a whole person for a part, and one that is more than any part comes to.
    #[test]
    fn a_part_costs_what_two_contributions_within_the_bound_differ_by() {
        for keys in 1..6 {
            for listed in keys..15 {
                for same in [8, 9, 12, 15, 16] {
                    let (found, least) =
                        (gaussian(keys, Some(listed as usize), 8, same as u128), slow(keys, listed, 8, same));
                    assert!(
                        found >= least && found <= least + 4,
                        "{keys} of {listed}, {same}: {found}, {least}"
                    );
                }
            }
            assert_eq!(gaussian(keys, None, 8, 8), 2 * ONE);
            assert_eq!(gaussian(keys, Some(1), 8, 8), ONE, "nothing else can be kept");
        }
    }

    // Refutes the larger of two prices, of which one is for keys that stay and the other for keys that leave and come: a
    // person may have keys of both kinds.
    #[test]
    fn a_part_of_a_mean_exchanges_records_in_some_keys_and_leaves_others() {
        for keys in 1..6 {
            for listed in keys..15 {
                for counting in [1, 30, 50, 60, 75, 99] {
                    let limits = Bound::keys(keys).checked().unwrap();
                    let cut = Cut::of_sum_and_count(&limits, Some(listed as usize), counting);
                    assert_eq!(Cut::of_means(&limits, Some(listed as usize), Some(counting)), cut);
                    let shared = (0..=keys).filter(|shared| 2 * keys - shared <= listed.max(keys));
                    // In hundredths of the price of a key.
                    let least = |factor: u64| {
                        let stays = (factor * u64::from(100 - counting)).max(100);
                        let all = shared.clone().map(|shared| shared * stays + 2 * (keys - shared) * 100);
                        (all.max().unwrap() * ONE).div_ceil(100 * keys)
                    };
                    for (found, least) in [(cut.gaussian, least(4)), (cut.epsilon, least(2))] {
                        assert!(
                            found >= least && found <= least + 4,
                            "{keys} of {listed}, {counting}: {found}, {least}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn a_record_has_parts_where_it_has_an_id() {
        assert_eq!(Cut::of_numbers(&ContributionBound::RECORD, None, 8, 16), Cut::NONE);
        assert_eq!(Cut::two_steps(&ContributionBound::RECORD), Cut::NONE);
        assert_eq!(Cut::of_means(&ContributionBound::RECORD, None, None), Cut::NONE);
        // What comes under one id is in one key, and may leave another in its place.
        let with_id = &ContributionBound::RECORD_WITH_ID;
        assert_eq!(Cut::two_steps(with_id).epsilon, 2 * ONE);
        assert_eq!(Cut::of_numbers(with_id, Some(2), 1, 1).epsilon, 2 * ONE);
    }

    // Group privacy of two: epsilon twice, and rho four times, which is the square of twice.
    #[test]
    fn two_steps_cost_a_group_of_two() {
        let cut = Cut::two_steps(&Bound::keys(3).checked().unwrap());
        let pure = |bits| PrivacyCost::Pure { epsilon: BudgetUnits::from_bits(bits) };
        assert_eq!(cut.price(&pure(100), false).unwrap(), Some(pure(200)));
        let rho = |bits| PrivacyCost::Zcdp {
            rho: BudgetUnits::from_bits(bits),
            delta: BudgetUnits::ZERO,
            omega: Omega::EVERY,
        };
        for is_gaussian in [false, true] {
            assert_eq!(cut.price(&rho(100), is_gaussian).unwrap(), Some(rho(400)));
        }
    }

    #[test]
    fn a_price_is_rounded_up() {
        let limits = Bound::keys(1).checked().unwrap();
        let cut = Cut::of_numbers(&limits, None, 50, 80);
        let rho = |bits| PrivacyCost::Zcdp {
            rho: BudgetUnits::from_bits(bits),
            delta: BudgetUnits::from_bits(7),
            omega: Omega::EVERY,
        };
        // (80 / 50)^2 = 2.56.
        assert_eq!(cut.price(&rho(100), true).unwrap(), Some(rho(257)));
        assert_eq!(cut.price(&rho(1), true).unwrap(), Some(rho(3)));
        assert_eq!(cut.price(&rho(100), false).unwrap(), Some(rho(400)));
        let pure = |bits| PrivacyCost::Pure { epsilon: BudgetUnits::from_bits(bits) };
        assert_eq!(cut.price(&pure(100), false).unwrap(), Some(pure(200)));
    }

    // A part that moves another key for each is twice as many cells, whose squares of mu add up; one that moves a number
    // farther is a group of two, whose mu is twice as large. A part that moves no farther is the whole.
    #[test]
    fn a_part_in_mu_costs_its_squares_or_a_group_of_two() {
        let mu = |bits| PrivacyCost::Gaussian {
            rho: BudgetUnits::from_bits(bits),
            delta: BudgetUnits::from_bits(7),
        };
        let cut = Cut::of_numbers(&Bound::keys(1).checked().unwrap(), None, 8, 8);
        assert_eq!(cut.price(&mu(100), true).unwrap(), Some(mu(200)));
        assert_eq!(cut.price(&mu(100), false).unwrap(), Some(mu(200)));
        let farther = Cut::of_numbers(&Bound::keys(1).checked().unwrap(), None, 8, 9);
        assert_eq!(farther.price(&mu(100), false).unwrap(), Some(mu(400)));
        let same = Cut::of_numbers(&Bound::keys(1).checked().unwrap(), Some(1), 8, 8);
        assert_eq!(same.price(&mu(100), false).unwrap(), Some(mu(100)));
        assert_eq!(
            Cut::two_steps(&Bound::keys(1).checked().unwrap()).price(&mu(100), true).unwrap(),
            Some(mu(400))
        );
    }
}
