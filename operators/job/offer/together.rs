//! The windows of a release that one account holds together: what its share of the budget is divided by.
//!
//! A share is a part of what every stretch or span of time may hold, so it is divided by the heaviest one: the one whose
//! windows, those that it cuts at their partial price, cost the most. What another release holds there is that release's
//! share, and shares come to no more than the whole.

use dashu_int::UBig;

use crate::accounting::{BudgetUnits, Interval, PrivacyCost, Promise};
use crate::dataflow::Schedule;

/// The windows of a release, as an account sees them.
pub(super) struct AccountWindows<'s> {
    pub(super) schedule: &'s Schedule,
    /// In how many of them a person counts, where that is bounded.
    pub(super) most: Option<u64>,
    /// Whether each starts one step after the one before.
    pub(super) even: bool,
}

/// How many windows are held whole, and how many are cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HeldWindows {
    /// Those inside of a stretch or span.
    pub(crate) whole: u64,
    /// Those that only overlap it.
    pub(crate) cut: u64,
}

/// How many times its whole price a window costs that is cut: `over / under`, never less than 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Weight {
    pub(crate) over: u64,
    pub(crate) under: u64,
}

impl Weight {
    /// A window costs the same either way.
    pub(crate) const EVEN: Weight = Weight { over: 1, under: 1 };

    /// Rounded up.
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

/// Even schedules of more windows than this are counted by a formula; all others are walked. No calendar has more than a
/// million windows.
const WALKED: u64 = 10_000;

/// What one account holds of a release at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Together {
    /// The windows of the heaviest stretch or span.
    held: HeldWindows,
    /// The most windows of any stretch or span.
    most: u64,
    weight: Weight,
}

impl Together {
    /// One window.
    pub(super) const ONE: Together =
        Together { held: HeldWindows { whole: 1, cut: 0 }, most: 1, weight: Weight::EVEN };

    pub(super) fn of(windows: &AccountWindows<'_>, promise: Promise, weight: Weight) -> Together {
        let HeldWindows { whole, cut } = held(windows, promise, Weight::EVEN);
        Together { held: held(windows, promise, weight), most: whole + cut, weight }
    }

    /// As many windows, none of them cut.
    #[cfg(test)]
    pub(super) fn whole(windows: u64) -> Together {
        Together { held: HeldWindows { whole: windows, cut: 0 }, most: windows, weight: Weight::EVEN }
    }

    /// What is paid once, and whose life is cut or is not.
    pub(super) fn once(cut: bool, weight: Weight) -> Together {
        let cut = u64::from(cut);
        Together { held: HeldWindows { whole: 1 - cut, cut }, most: 1, weight }
    }

    /// How many windows it is.
    pub(crate) fn windows(&self) -> u64 {
        self.held.whole + self.held.cut
    }

    /// The price of a window that is cut, where it is another than that of a whole one.
    pub(crate) fn partial(&self, cost: &PrivacyCost) -> Option<PrivacyCost> {
        let is_cut = self.held.cut > 0 && self.weight != Weight::EVEN;
        let partial = || self.each(cost, |units| Some(self.weight.times(units)), Some);
        is_cut.then(partial).flatten()
    }

    /// What all of them cost; `None` from 2^64 on.
    pub(crate) fn all(&self, cost: &PrivacyCost) -> Option<PrivacyCost> {
        let most = |delta: BudgetUnits| delta.times("delta", self.most).ok();
        self.each(cost, |units| self.sum(units), most)
    }

    /// As many whole windows as cost no less.
    pub(crate) fn divisor(&self) -> u64 {
        let all = self.weight.of(self.held).div_ceil(self.weight.under.into());
        u64::try_from(all).unwrap_or(u64::MAX).max(self.most)
    }

    /// The most that a window may cost, so that all of them cost no more than this.
    pub(super) fn divide(&self, all: BudgetUnits) -> BudgetUnits {
        let parts = UBig::from(all.to_bits()) * UBig::from(self.weight.under);
        let divisor = UBig::from(self.weight.of(self.held).max(1));
        // No more than all of it, which fits.
        let mut units = u128::try_from(parts / divisor).unwrap_or(0);
        // Windows that are cut round up, each by less than a unit.
        while units > 0 && self.sum(BudgetUnits::from_bits(units)).is_none_or(|sum| sum > all) {
            units -= 1;
        }
        BudgetUnits::from_bits(units)
    }

    /// The same of what a window costs either way.
    pub(super) fn divide_evenly(&self, all: BudgetUnits) -> BudgetUnits {
        BudgetUnits::from_bits(all.to_bits() / u128::from(self.most.max(1)))
    }

    fn sum(&self, units: BudgetUnits) -> Option<BudgetUnits> {
        let times = |units: BudgetUnits, count: u64| units.times("cost", count).ok();
        times(units, self.held.whole)?.plus("cost", times(self.weight.times(units), self.held.cut)?).ok()
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
            // A ledger counts the two.
            _ => None,
        }
    }
}

/// The windows of the heaviest stretch or span.
fn held(windows: &AccountWindows<'_>, promise: Promise, weight: Weight) -> HeldWindows {
    let count = windows.schedule.count();
    match promise {
        Promise::Lifetime | Promise::Windows(_) => {
            HeldWindows { whole: windows.most.map_or(count, |most| most.min(count)).max(1), cut: 0 }
        }
        Promise::Any(span) => match lattice(windows, span) {
            Some(lattice) => {
                // The places of one window stand for those of all.
                let window = (lattice.start, lattice.start + lattice.size);
                heaviest(places(window, span).into_iter().map(|place| lattice.held(place, span)), weight)
            }
            None => WindowWalk::of(windows.schedule).heaviest(span, false, weight),
        },
        Promise::Each(span) => match lattice(windows, span) {
            Some(lattice) => heaviest(lattice.blocks(span).map(|block| lattice.held(block, span)), weight),
            None => WindowWalk::of(windows.schedule).heaviest(span, true, weight),
        },
    }
}

fn heaviest(held: impl Iterator<Item = HeldWindows>, weight: Weight) -> HeldWindows {
    held.max_by_key(|held| weight.of(*held)).unwrap_or_default()
}

/// The places at which a stretch of length `span` holds something else of a window than at the one before: it begins to
/// cut it, to hold it whole, to cut it again, and to leave it.
fn places(window: (i128, i128), span: u64) -> [i128; 4] {
    let ((start, end), span) = (window, i128::from(span));
    [start - span + 1, end - span, start + 1, end]
}

/// All windows, one by one.
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

    /// What is held at the heaviest place: starts and ends both ascend, so each kind of place is one pass.
    fn heaviest(&self, span: u64, aligned: bool, weight: Weight) -> HeldWindows {
        let windows = || self.starts.iter().copied().zip(self.ends.iter().copied());
        if aligned {
            // In a block in which none starts, no more is held or cut than in the one before.
            let block = |(start, _): (i128, i128)| start.div_euclid(span.into()) * i128::from(span);
            return self.along(windows().map(block), span, weight);
        }
        let passes =
            (0..4).map(|kind| self.along(windows().map(|window| places(window, span)[kind]), span, weight));
        heaviest(passes, weight)
    }

    /// The heaviest of places that ascend.
    fn along(&self, places: impl Iterator<Item = i128>, span: u64, weight: Weight) -> HeldWindows {
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
        heaviest(held, weight)
    }
}

/// Windows of one size, one every step, of which there are enough to count as endless.
struct WindowLattice {
    start: i128,
    size: i128,
    step: i128,
}

/// None where the windows must be walked.
fn lattice(windows: &AccountWindows<'_>, span: u64) -> Option<WindowLattice> {
    let (schedule, count) = (windows.schedule, windows.schedule.count());
    if !windows.even || count <= WALKED {
        return None;
    }
    let (first, second) = (schedule.window(0)?, schedule.window(1)?);
    let [start, end, next] = [first.start(), first.end(), second.start()].map(i128::from);
    let lattice = WindowLattice { start, size: end - start, step: next - start };
    // Where the windows end soon after a stretch of them, fewer may be held than of endless ones. More than ten million
    // are not walked: then the share is divided by a few windows too many.
    let enough = i128::from(span) + 3 * lattice.size + 3 * lattice.step;
    (i128::from(count) * lattice.step >= enough || count > 10_000_000).then_some(lattice)
}

impl WindowLattice {
    /// What a stretch from `place` on holds.
    fn held(&self, place: i128, span: u64) -> HeldWindows {
        let span = i128::from(span);
        let number = |time: i128| (time - self.start).div_euclid(self.step);
        let overlapping = number(place + span - 1) - number(place - self.size);
        let whole = (number(place + span - self.size) - number(place - 1)).max(0);
        let count = |number: i128| u64::try_from(number).unwrap_or(u64::MAX);
        HeldWindows { whole: count(whole), cut: count(overlapping - whole) }
    }

    /// Blocks that stand for all: where a block begins after the start of a window, counted modulo the step, decides what
    /// it holds, and that changes at four places at most. All such distances are multiples of what divides both.
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

/// The largest number that divides both, by Euclid.
fn common(one: i128, other: i128) -> i128 {
    if other == 0 { one } else { common(other, one % other) }
}

#[cfg(test)]
mod tests;
