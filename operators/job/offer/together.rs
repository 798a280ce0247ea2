//! How many windows of a release one account holds together: what its share of the budget is divided by.

use crate::accounting::Promise;
use crate::dataflow::Schedule;
use crate::time::Time;

/// The windows of a release, as an account sees them.
pub(super) struct Windows<'s> {
    pub(super) schedule: &'s Schedule,
    /// In how many of them a person counts, where that is bounded.
    pub(super) most: Option<u64>,
    /// Whether each starts one step after the one before.
    pub(super) even: bool,
}

/// Even schedules of more windows than this are counted by a formula; all others are walked. No calendar has more than a
/// million windows.
const WALKED: u64 = 10_000;

/// The most windows of `counted` that any one charge meets, itself included, when all releases of a job charge their windows
/// in the order of their ends. Under [`Promise::Any`] that is asked of the windows of every release: a day that is charged
/// meets more hours than an hour does.
pub(super) fn together(counted: &Windows<'_>, all: &[Windows<'_>], promise: Promise) -> u64 {
    let count = counted.schedule.count();
    let most = match promise {
        Promise::Lifetime | Promise::Windows(_) => counted.most.map_or(count, |most| most.min(count)),
        Promise::Any(span) => {
            let met = |asking: &Windows<'_>| met_by(counted, asking, span);
            all.iter().map(met).max().unwrap_or(count)
        }
        Promise::Each(span) => in_a_block(counted, span),
    };
    // A release has a window, and pays for it.
    most.clamp(1, count.max(1))
}

/// How many windows of `counted` end in `(start - span, end]`, at most, over the windows `start..end` of `asking`.
fn met_by(counted: &Windows<'_>, asking: &Windows<'_>, span: u64) -> u64 {
    let ended = |time: i128| ended_by(counted.schedule, clamped(time));
    let met = |start: Time, end: Time| ended(end.into()) - ended(i128::from(start) - i128::from(span));
    let [counted_walks, asking_walks] =
        [counted, asking].map(|windows| windows.schedule.count() <= WALKED || !windows.even);
    if asking_walks && (!counted_walks || asking.schedule.count() <= counted.schedule.count()) {
        return walk(asking.schedule).map(|(start, end)| met(start, end)).max().unwrap_or(0);
    }
    if counted_walks {
        // The most is met by the first window that ends no sooner than some window of those counted.
        let asked = |(_, end): (Time, Time)| {
            let window = asking.schedule.window(ended_by(asking.schedule, end.saturating_sub(1)))?;
            Some(met(window.start(), window.end()))
        };
        return walk(counted.schedule).filter_map(asked).max().unwrap_or(0);
    }
    let (Some(own), Some(other)) = (Lattice::of(counted.schedule), Lattice::of(asking.schedule)) else {
        return counted.schedule.count();
    };
    // Ends of the one are `own.end + k own.step`, of the other `other.end + m other.step`; the first lie at most `gap`
    // before the second, and `gap` is any number that the two steps reach.
    let gap = (other.end - own.end).rem_euclid(common(own.step, other.step));
    let length = other.size + i128::from(span);
    u64::try_from((length - gap + own.step - 1) / own.step).unwrap_or(u64::MAX)
}

/// How many windows overlap one aligned block of `span`, at most.
fn in_a_block(counted: &Windows<'_>, span: u64) -> u64 {
    let (schedule, span) = (counted.schedule, i128::from(span));
    if !counted.even || schedule.count() <= WALKED {
        // In a block in which none starts there are no more than in the one before.
        let at = |(start, _): (Time, Time)| {
            let block = i128::from(start).div_euclid(span) * span;
            started_by(schedule, clamped(block + span - 1)) - ended_by(schedule, clamped(block))
        };
        return walk(schedule).map(at).max().unwrap_or(0);
    }
    let Some(Lattice { step, size, .. }) = Lattice::of(schedule) else { return schedule.count() };
    // Windows start at multiples of their step, as blocks do of theirs, so a block starts `r` after one, `r` a multiple of what
    // divides both. It meets the windows that start after `r - size` and up to `r + span - 1`: the most at `r = 0`, or where
    // the last of these just reaches the next multiple.
    let grid = common(step, span);
    let met = |r: i128| (r + span - 1).div_euclid(step) - (r - size).div_euclid(step);
    let short = step - (span - 1).rem_euclid(step);
    let reaches = (short + grid - 1) / grid * grid;
    let later = if reaches < step { met(reaches) } else { 0 };
    u64::try_from(met(0).max(later)).unwrap_or(u64::MAX)
}

/// Windows of one size, one every step: when the first ends.
struct Lattice {
    end: i128,
    size: i128,
    step: i128,
}

impl Lattice {
    fn of(schedule: &Schedule) -> Option<Lattice> {
        let (first, second) = (schedule.window(0)?, schedule.window(1)?);
        let [start, end, next] = [first.start(), first.end(), second.start()].map(i128::from);
        Some(Lattice { end, size: end - start, step: next - start })
    }
}

fn walk(schedule: &Schedule) -> impl Iterator<Item = (Time, Time)> {
    (0..schedule.count())
        .map_while(|number| schedule.window(number))
        .map(|window| (window.start(), window.end()))
}

/// How many windows end at a moment or before it.
fn ended_by(schedule: &Schedule, time: Time) -> u64 {
    schedule.first_ending_after(time)
}

/// How many windows start at a moment or before it.
fn started_by(schedule: &Schedule, time: Time) -> u64 {
    let holding = schedule.holding(time);
    match schedule.window(0) {
        _ if !holding.is_empty() => holding.end,
        Some(first) if time < first.start() => 0,
        _ => schedule.count(),
    }
}

fn clamped(time: i128) -> Time {
    time.clamp(Time::MIN.into(), Time::MAX.into()) as Time
}

/// The largest number that divides both, by Euclid.
fn common(one: i128, other: i128) -> i128 {
    if other == 0 { one } else { common(other, one % other) }
}

#[cfg(test)]
mod tests;
