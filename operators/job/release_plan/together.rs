//! The windows of a release that one account holds together, the divisor of its share of the budget.
//!
//! A share is a part of the budget of every stretch or span of time, so it is divided by the heaviest one:
//! the one whose windows, including those that it cuts at their partial cost, cost the most. The windows of
//! another release in that stretch are paid from that release's share, and shares sum to no more than the
//! whole.

use dashu_int::UBig;

use crate::accounting::{BudgetUnits, Interval, PrivacyCost, Promise};
use crate::dataflow::Schedule;

/// The windows of a release, as the budget account counts them.
pub(super) struct AccountWindows<'s> {
    pub(super) schedule: &'s Schedule,
    /// The most windows in which a person counts, if they are bounded.
    pub(super) most: Option<u64>,
    /// True if each window starts one step after the one before.
    pub(super) even: bool,
}

/// The number of windows held whole, and the number held in part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HeldWindows {
    /// The windows inside of a stretch or span.
    pub(crate) whole: u64,
    /// The windows that only overlap it.
    pub(crate) cut: u64,
}

/// The cost of a window that is cut, relative to its whole cost: `over / under`, never less than 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CutFactor {
    pub(crate) over: u64,
    pub(crate) under: u64,
}

impl CutFactor {
    /// That of a window that costs the same whole or cut.
    pub(crate) const EVEN: CutFactor = CutFactor { over: 1, under: 1 };

    /// Multiplies by the factor, rounded up.
    fn times(self, units: BudgetUnits) -> BudgetUnits {
        let all = UBig::from(units.to_bits()) * UBig::from(self.over);
        let under = UBig::from(self.under);
        let up = (all + &under - UBig::ONE) / under;
        BudgetUnits::from_bits(u128::try_from(up).unwrap_or(u128::MAX - 1))
    }

    fn of(self, held: HeldWindows) -> u128 {
        u128::from(held.whole) * u128::from(self.under) + u128::from(held.cut) * u128::from(self.over)
    }
}

/// The number of windows above which an even schedule is counted by a formula; all others are walked. No
/// calendar has more than a million windows.
const WALKED: u64 = 10_000;

/// The windows of a release that one account holds at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ConcurrentWindows {
    /// The windows of the heaviest stretch or span.
    held: HeldWindows,
    /// The most windows of any stretch or span.
    most: u64,
    factor: CutFactor,
}

impl ConcurrentWindows {
    /// A single whole window.
    pub(super) const ONE: ConcurrentWindows =
        ConcurrentWindows { held: HeldWindows { whole: 1, cut: 0 }, most: 1, factor: CutFactor::EVEN };

    pub(super) fn of(windows: &AccountWindows<'_>, promise: Promise, factor: CutFactor) -> ConcurrentWindows {
        let HeldWindows { whole, cut } = held(windows, promise, CutFactor::EVEN);
        ConcurrentWindows { held: held(windows, promise, factor), most: whole + cut, factor }
    }

    /// Returns this number of windows, none of them cut.
    #[cfg(test)]
    pub(super) fn whole(windows: u64) -> ConcurrentWindows {
        ConcurrentWindows {
            held: HeldWindows { whole: windows, cut: 0 },
            most: windows,
            factor: CutFactor::EVEN,
        }
    }

    /// Returns the windows of a total that is paid once, and whose lifetime is cut or not.
    pub(super) fn once(cut: bool, factor: CutFactor) -> ConcurrentWindows {
        let cut = u64::from(cut);
        ConcurrentWindows { held: HeldWindows { whole: 1 - cut, cut }, most: 1, factor }
    }

    /// Returns the number of windows.
    pub(crate) fn windows(&self) -> u64 {
        self.held.whole + self.held.cut
    }

    /// Returns the cost of a window that is cut, if it differs from that of a whole one.
    pub(crate) fn partial(&self, cost: &PrivacyCost) -> Option<PrivacyCost> {
        let is_cut = self.held.cut > 0 && self.factor != CutFactor::EVEN;
        let partial = || self.each(cost, |units| Some(self.factor.times(units)), Some);
        is_cut.then(partial).flatten()
    }

    /// Returns the cost of all windows; `None` from 2^64 on.
    pub(crate) fn all(&self, cost: &PrivacyCost) -> Option<PrivacyCost> {
        let most = |delta: BudgetUnits| delta.times("delta", self.most).ok();
        self.each(cost, |units| self.sum(units), most)
    }

    /// Returns the least number of whole windows that costs no less.
    pub(crate) fn divisor(&self) -> u64 {
        let all = self.factor.of(self.held).div_ceil(self.factor.under.into());
        u64::try_from(all).unwrap_or(u64::MAX).max(self.most)
    }

    /// Returns the most that a window may cost if all of them together cost at most `all`.
    pub(super) fn divide(&self, all: BudgetUnits) -> BudgetUnits {
        let parts = UBig::from(all.to_bits()) * UBig::from(self.factor.under);
        let divisor = UBig::from(self.factor.of(self.held).max(1));
        // The quotient is no more than `all`, which fits.
        let mut units = u128::try_from(parts / divisor).unwrap_or(0);
        // Windows that are cut round up, each by less than a unit.
        while units > 0 && self.sum(BudgetUnits::from_bits(units)).is_none_or(|sum| sum > all) {
            units -= 1;
        }
        BudgetUnits::from_bits(units)
    }

    /// Returns the most that a window may cost if all of them together cost at most `all`, for a cost that is
    /// the same whole or cut.
    pub(super) fn divide_evenly(&self, all: BudgetUnits) -> BudgetUnits {
        BudgetUnits::from_bits(all.to_bits() / u128::from(self.most.max(1)))
    }

    fn sum(&self, units: BudgetUnits) -> Option<BudgetUnits> {
        let times = |units: BudgetUnits, count: u64| units.times("cost", count).ok();
        times(units, self.held.whole)?.plus("cost", times(self.factor.times(units), self.held.cut)?).ok()
    }

    fn each(
        &self,
        cost: &PrivacyCost,
        main: impl Fn(BudgetUnits) -> Option<BudgetUnits>,
        delta: impl Fn(BudgetUnits) -> Option<BudgetUnits>,
    ) -> Option<PrivacyCost> {
        match cost {
            PrivacyCost::Pure { epsilon } => Some(PrivacyCost::Pure { epsilon: main(*epsilon)? }),
            PrivacyCost::Zcdp { rho, delta: own, omega } => {
                Some(PrivacyCost::Zcdp { rho: main(*rho)?, delta: delta(*own)?, omega: *omega })
            }
            PrivacyCost::Gaussian { rho, delta: own } => {
                Some(PrivacyCost::Gaussian { rho: main(*rho)?, delta: delta(*own)? })
            }
            // Budget accounts hold only these currencies.
            _ => None,
        }
    }
}

/// Returns the windows of the heaviest stretch or span.
fn held(windows: &AccountWindows<'_>, promise: Promise, factor: CutFactor) -> HeldWindows {
    let count = windows.schedule.count();
    match promise {
        Promise::Lifetime | Promise::Windows(_) => {
            HeldWindows { whole: windows.most.map_or(count, |most| most.min(count)).max(1), cut: 0 }
        }
        Promise::Any(span) => match lattice(windows, span) {
            Some(lattice) => {
                // The places of one window represent those of all.
                let window = (lattice.start, lattice.start + lattice.size);
                heaviest(places(window, span).into_iter().map(|place| lattice.held(place, span)), factor)
            }
            None => WindowWalk::of(windows.schedule).heaviest(span, false, factor),
        },
        Promise::Each(span) => match lattice(windows, span) {
            Some(lattice) => heaviest(lattice.blocks(span).map(|block| lattice.held(block, span)), factor),
            None => WindowWalk::of(windows.schedule).heaviest(span, true, factor),
        },
    }
}

fn heaviest(held: impl Iterator<Item = HeldWindows>, factor: CutFactor) -> HeldWindows {
    held.max_by_key(|held| factor.of(*held)).unwrap_or_default()
}

/// Returns the places at which a stretch of length `span` begins to cut a window, to hold it whole, to cut it
/// again, and to leave it.
fn places(window: (i128, i128), span: u64) -> [i128; 4] {
    let ((start, end), span) = (window, i128::from(span));
    [start - span + 1, end - span, start + 1, end]
}

/// The starts and ends of all windows, walked one by one.
struct WindowWalk {
    starts: Vec<i128>,
    ends: Vec<i128>,
}

impl WindowWalk {
    fn of(schedule: &Schedule) -> WindowWalk {
        let windows: Vec<Interval> =
            (0..schedule.count()).map_while(|number| schedule.window(number)).collect();
        WindowWalk {
            starts: windows.iter().map(|window| window.start().into()).collect(),
            ends: windows.iter().map(|window| window.end().into()).collect(),
        }
    }

    /// Returns the windows at the heaviest place: starts and ends both ascend, so each kind of place is one
    /// pass.
    fn heaviest(&self, span: u64, aligned: bool, factor: CutFactor) -> HeldWindows {
        let windows = || self.starts.iter().copied().zip(self.ends.iter().copied());
        if aligned {
            // A block in which no window starts holds or cuts no more than the block before.
            let block = |(start, _): (i128, i128)| start.div_euclid(span.into()) * i128::from(span);
            return self.along(windows().map(block), span, factor);
        }
        let passes =
            (0..4).map(|kind| self.along(windows().map(|window| places(window, span)[kind]), span, factor));
        heaviest(passes, factor)
    }

    /// Returns the windows at the heaviest of places that ascend.
    fn along(&self, places: impl Iterator<Item = i128>, span: u64, factor: CutFactor) -> HeldWindows {
        let pass = |times: &[i128], passed: &mut usize, until: i128| {
            *passed += times[*passed..].iter().take_while(|time| **time <= until).count();
            *passed as u64
        };
        let [mut begun, mut over, mut ended, mut before] = [0; 4];
        let held = places.map(|place| {
            let last = place + i128::from(span);
            let overlapping = pass(&self.starts, &mut begun, last - 1) - pass(&self.ends, &mut over, place);
            let ended = pass(&self.ends, &mut ended, last);
            let whole = ended.saturating_sub(pass(&self.starts, &mut before, place - 1));
            HeldWindows { whole, cut: overlapping - whole }
        });
        heaviest(held, factor)
    }
}

/// Windows of one size, one every step, enough of them to be counted as endless.
struct WindowLattice {
    start: i128,
    size: i128,
    step: i128,
}

/// Returns the lattice of an even schedule; `None` if its windows must be walked.
fn lattice(windows: &AccountWindows<'_>, span: u64) -> Option<WindowLattice> {
    let (schedule, count) = (windows.schedule, windows.schedule.count());
    if !windows.even || count <= WALKED {
        return None;
    }
    let (first, second) = (schedule.window(0)?, schedule.window(1)?);
    let [start, end, next] = [first.start(), first.end(), second.start()].map(i128::from);
    let lattice = WindowLattice { start, size: end - start, step: next - start };
    // If the windows end soon after a stretch of them, fewer may be held than of endless ones. More than ten
    // million are not walked: then the share is divided by a few windows too many.
    let enough = i128::from(span) + 3 * lattice.size + 3 * lattice.step;
    (i128::from(count) * lattice.step >= enough || count > 10_000_000).then_some(lattice)
}

impl WindowLattice {
    /// Returns the windows that a stretch from `place` on holds.
    fn held(&self, place: i128, span: u64) -> HeldWindows {
        let span = i128::from(span);
        let number = |time: i128| (time - self.start).div_euclid(self.step);
        let overlapping = number(place + span - 1) - number(place - self.size);
        let whole = (number(place + span - self.size) - number(place - 1)).max(0);
        let count = |number: i128| u64::try_from(number).unwrap_or(u64::MAX);
        HeldWindows { whole: count(whole), cut: count(overlapping - whole) }
    }

    /// Returns blocks that represent all: the offset of a block's start after the start of a window, modulo
    /// the step, decides the windows that it holds, and these change at four offsets at most. All such
    /// offsets are multiples of the greatest common divisor of the step and the span.
    fn blocks(&self, span: u64) -> impl Iterator<Item = i128> + use<> {
        let (start, step, span) = (self.start, self.step, i128::from(span));
        let grid = common(step, span);
        let offset = (-start).rem_euclid(grid);
        let changes = [0, 1, self.size, 1 - span, self.size - span];
        changes.into_iter().map(move |change| {
            let least = change.rem_euclid(step);
            start + least + (offset - least).rem_euclid(grid)
        })
    }
}

/// Returns the greatest common divisor, by Euclid's algorithm.
fn common(one: i128, other: i128) -> i128 {
    if other == 0 { one } else { common(other, one % other) }
}

#[cfg(test)]
mod tests;
