//! People over the last windows: what is charged for those who enter and leave, and what is released.

use std::collections::BTreeMap;

use super::*;
use crate::accounting::running;
use crate::mechanisms::running::totals::TotalSource;
use crate::mechanisms::{
    Bound, Gaussian, Head, Keys, Mechanism, Prepared, ReleaseLines, RunningTotal, RunningTotals, Tally,
    Total, TotalSpan,
};
use crate::noise::NoiseSource;
use crate::noise::goodness::size;

const ENTRIES: u64 = 3;
const KEYS: u64 = 2;

fn of_entries(strategy: Strategy, horizon: u64, entries: u64) -> PreparedRunning {
    let reach = StreamContribution::entries(entries, 1).unwrap();
    PreparedRunning::so_far(strategy, horizon, reach, rho(0.5)).unwrap()
}

/// The changes of a number that a person enters and leaves, where `present` has a bit for each tick; and the number of
/// entries.
fn changes(present: u32, ticks: u32) -> (Vec<i64>, u64) {
    let at = |tick: u32| i64::from(present >> tick & 1);
    let changes: Vec<i64> = (0..ticks).map(|tick| at(tick) - tick.checked_sub(1).map_or(0, at)).collect();
    let entries = changes.iter().filter(|change| **change == 1).count() as u64;
    (changes, entries)
}

/// Numbers of other people, tick by tick.
fn others(ticks: u32, seed: i64) -> Vec<i64> {
    (0..i64::from(ticks)).map(|tick| (tick * tick * 7919 + seed * 104_729) % 1009 - 500).collect()
}

// Every pattern of eleven ticks, of a person among others. Refutes a charge of fewer changes than a person makes, and
// one of their sum without signs, which is 6 times as much for three entries.
#[test]
fn every_pattern_of_presence_is_charged_for() {
    let ticks = 11;
    for strategy in ALL {
        let mut farthest: BTreeMap<u64, UBig> = BTreeMap::new();
        for entries in 1..=ENTRIES {
            let running = of_entries(strategy, ticks.into(), entries);
            let charged = running.plan.squared(2 * u128::from(entries));
            for seed in 0..if strategy == Strategy::Buffered { 3 } else { 1 } {
                let others = others(ticks, seed);
                let without = measured(&running, &others).0;
                for present in 0u32..1 << ticks {
                    let (changes, own) = changes(present, ticks);
                    if own > entries {
                        continue;
                    }
                    let with: Vec<i64> = others.iter().zip(&changes).map(|(one, own)| one + own).collect();
                    let found = apart(&measured(&running, &with).0, &without);
                    assert!(found <= charged, "{strategy}: {changes:?} moves it by {found}, for {charged}");
                    let farthest = farthest.entry(entries).or_default();
                    *farthest = farthest.clone().max(found);
                }
            }
            // In exact numbers: rho, in units of 2^-64, is no less than `squared / (2 variance)`.
            let variance = running.law().variance();
            let paid = UBig::from(running.charge().to_bits()) * variance.numerator() * 2u8;
            assert!(paid >= (&charged * variance.denominator()) << 64, "{strategy}");
            // Half of it is too little.
            if entries == 1 {
                let (found, half) = (&farthest[&entries], running.plan.squared(1));
                assert!(*found > half, "{strategy}: {found}, where half is {half}");
            }
        }
        // Noise of its own for each change is reached exactly, by who comes and goes.
        if strategy == Strategy::Fresh {
            assert_eq!(farthest[&ENTRIES], UBig::from(2 * ENTRIES));
        }
    }
}

// Over a long time. Refutes a charge of half of the changes, and says how much is charged for nothing: less than a third.
#[test]
fn who_stays_long_moves_the_measurements_nearly_as_far_as_is_charged() {
    let ticks = 4096;
    for strategy in ALL {
        let running = of_entries(strategy, ticks, 2);
        let mut changes = vec![0; ticks as usize];
        for (change, tick) in [0, 1023, 2048, 3071].into_iter().enumerate() {
            changes[tick] = if change % 2 == 0 { 1 } else { -1 };
        }
        let found = apart(&measured(&running, &changes).0, &measured(&running, &vec![0; ticks as usize]).0);
        let charged = running.plan.squared(4);
        assert!(found <= charged, "{strategy}");
        assert!(&found * 3u8 > &charged * 2u8, "{strategy}: {found} of {charged}");
    }
}

// In exact arithmetic, of the columns that are in use. Refutes a strategy for which the proof does not hold: products of
// columns are not below zero, and do not rise with the distance.
#[test]
fn products_of_columns_do_not_rise_with_their_distance() {
    let ticks = 40usize;
    for strategy in ALL {
        let running = of_entries(strategy, ticks as u64, 1);
        assert!(running.plan.falls(), "{strategy}");
        let column = |tick: usize| {
            let mut alone = vec![0; ticks];
            // Buffers are rounded: at this size the roundings do not matter.
            alone[tick] = 1 << 20;
            measured(&running, &alone).0
        };
        let columns: Vec<Vec<i128>> = (0..ticks).map(column).collect();
        let product = |left: usize, right: usize| -> f64 {
            columns[left].iter().zip(&columns[right]).map(|(left, right)| *left as f64 * *right as f64).sum()
        };
        let off = 1e-6 * product(0, 0);
        for left in 0..ticks {
            for right in left + 1..ticks {
                let (near, far) = (product(left, right - 1), product(left, right));
                assert!(far >= 0.0 && far <= near + off, "{strategy} {left} {right}: {far} after {near}");
            }
        }
    }
    // Every series in use, up to the longest horizon.
    for bits in 0..=32 {
        let found = buffers(1 << bits);
        assert!(buffered::falls(found), "{bits}");
    }
}

// Refutes a rising coefficient, or one below zero, taken for one that falls.
#[test]
fn coefficients_that_rise_are_refused() {
    use crate::accounting::running::strategies::Coefficients;
    let falls = |values: &[i64]| Coefficients { values: values.to_vec(), bits: 0 }.falls();
    assert!(falls(&[3, 3, 1, 0]) && falls(&[1]));
    assert!(!falls(&[3, 1, 2]) && !falls(&[3, 1, -1]));
    let half = buffered::ONE / 2;
    let series = |weights: &[u64]| {
        let buffer = |weight: &u64| buffered::Buffer { loss: half, weight: *weight };
        buffered::falls(&weights.iter().map(buffer).collect::<Vec<_>>())
    };
    assert!(series(&[half, half]) && !series(&[half, half, 1]));
    // Sliding totals have coefficients that jump.
    let reach = StreamContribution::entries(1, 1).unwrap();
    assert_eq!(
        PreparedRunning::over_last(Strategy::SquareRoot, 5, reach, rho(0.5)).unwrap_err().field(),
        "strategy"
    );
    for (entries, keys, field) in [(0, 1, "entries"), ((1 << 31) + 1, 1, "entries"), (1, 0, "keys")] {
        assert_eq!(StreamContribution::entries(entries, keys).unwrap_err().field(), field);
    }
}

fn people(keys: Keys<u32>, windows: u64, entries: u64) -> RunningTotal<u32> {
    let limits = Bound::keys(KEYS).checked().unwrap();
    let span = TotalSpan::People { windows, last: 4, entries };
    RunningTotal::new(Total::people(limits, keys).unwrap(), span).unwrap()
}

fn prepare(keys: Keys<u32>, rho: f64) -> RunningTotals<u32> {
    Gaussian::rho(rho).prepare(&people(keys, 16, ENTRIES)).unwrap()
}

/// Tallies the people of keys, and those who are new.
fn levels(
    prepared: &RunningTotals<u32>,
    cells: &[(u32, u64, u64)],
) -> <RunningTotals<u32> as Prepared>::Tally {
    let mut tally = prepared.tally();
    let statistic = people(Keys::discover(1e-2), 16, ENTRIES);
    cells.iter().for_each(|(key, people, new)| tally.absorb((*key, statistic.level(*people, *new))));
    tally
}

// Refutes noise for other numbers of keys and of changes, and a charge above the price.
#[test]
fn the_noise_is_that_of_all_changes_in_all_keys() {
    let prepared = prepare(Keys::public([1, 2]).unwrap(), 0.5);
    let engine = prepared.running();
    let unit = running::so_far(16, 0.5).unwrap().best().max_deviation();
    let over = engine.deviation() / unit;
    assert!((over / ((2 * ENTRIES * KEYS) as f64).sqrt() - 1.0).abs() < 1e-3, "{over}");
    assert!(engine.charge() <= rho(0.5));
    assert_eq!(prepared.noise()[0].over_bound(), None);
    let named = |entries, last, windows| {
        let span = TotalSpan::People { windows, last, entries };
        let total = Total::people(Bound::keys(KEYS).checked().unwrap(), Keys::public([1]).unwrap()).unwrap();
        Gaussian::rho(0.5).prepare(&RunningTotal::new(total, span).unwrap()).unwrap().parameters()
    };
    let own = named(3, 4, 16);
    assert_eq!(own, named(3, 4, 16));
    for other in [named(2, 4, 16), named(3, 5, 16), named(3, 4, 17)] {
        assert_ne!(own, other, "another release");
    }
}

// Refutes a total that adds up numbers of people, one that begins again after windows that were skipped, and a state
// that forgets the number of the window before: with next to no noise.
#[test]
fn what_is_released_is_the_number_of_people() {
    for keys in [Keys::public([7, 8]).unwrap(), Keys::discover(1e-6)] {
        let is_open = keys.listed().is_none();
        let prepared = Gaussian::rho(500.0).selecting(1).prepare(&people(keys, 40, ENTRIES)).unwrap();
        let mut noise = NoiseSource::recording(5);
        let mut state: Option<Vec<u8>> = None;
        let mut found = 0;
        for window in 0..30u64 {
            let people = [(7, 4_000 + 900 * (window * 7 % 5), 500), (8, 3_000 - 90 * window, 400)];
            if window % 4 == 3 {
                // The window has no answer.
                state = state.map(|state| prepared.passed_by(&state, 1, &mut noise));
                continue;
            }
            let tally = levels(&prepared, &people);
            let mut again = NoiseSource::recording(window);
            let drawn = prepared.draw(tally, state.as_deref(), &mut again);
            for (key, released) in drawn.answer.cells() {
                let truth = people.iter().find(|(own, ..)| own == key).unwrap().1;
                let off = (released.value() - i128::from(truth)).abs();
                assert!(off < 12, "{window}: {} for {truth}", released.value());
                found += 1;
            }
            let written = drawn.state.unwrap();
            assert!(drawn.step.is_none(), "a step has no number of people");
            assert!(prepared.accepts(&written).is_ok());
            assert!(prepared.accepts(&written[..written.len() - 1]).is_err(), "torn");
            state = Some(written);
        }
        assert!(found >= if is_open { 40 } else { 46 }, "{found} numbers");
    }
}

// Refutes a line that takes the number for that of all people, though some may not enter again.
#[test]
fn a_line_says_that_its_number_is_of_bounded_entries() {
    let prepared = prepare(Keys::public([1]).unwrap(), 0.05);
    let drawn = prepared.draw(levels(&prepared, &[(1, 100, 0)]), None, &mut NoiseSource::recording(1));
    let head = Head { release: "weekly", window: "{}", id: "5f", promise: "each", gaps: "" };
    let line = drawn.answer.lines(&head);
    assert!(line.contains("\"interval_of\":\"bounded\"") && line.contains("\"total\":\"last 4\""), "{line}");
}

// Seeded: 4,000 runs of the last of 16 totals. Refutes noise of another deviation than is stated, one that is drawn for E
// changes in place of 2 E, which has half of the variance, and an interval that holds the truth too seldom. A variance of
// 4,000 draws has a standard deviation of 2.24% of itself: 5 of them are alpha = 6e-7, and what is refuted is 22 of them
// away.
#[test]
fn released_numbers_err_as_the_plan_says() {
    let runs = size(4_000, 40_000);
    let prepared = prepare(Keys::public([1]).unwrap(), 0.05);
    let deviation = prepared.running().deviation_until(16);
    let (mut noise, mut squares, mut outside) = (NoiseSource::seeded(19), 0.0, 0u32);
    for _ in 0..runs {
        let mut state: Option<Vec<u8>> = None;
        let mut last = None;
        for window in 0..16u64 {
            let truth = 100 + 30 * (window % 3);
            let drawn = prepared.draw(levels(&prepared, &[(1, truth, 0)]), state.as_deref(), &mut noise);
            let (_, released) = drawn.answer.cells()[0];
            last = Some((released, truth as i128));
            state = drawn.state;
        }
        let (released, truth) = last.unwrap();
        squares += ((released.value() - truth) as f64).powi(2);
        outside += u32::from(truth < released.low() || released.high().is_some_and(|high| truth > high));
    }
    // A released number is rounded to an integer, which adds a twelfth.
    let expected = deviation.powi(2) + 1.0 / 12.0;
    let (found, spread) = (squares / runs as f64, (2.0 / runs as f64).sqrt());
    assert!((found / expected - 1.0).abs() < 5.0 * spread, "{found} for {expected}");
    // Intervals of 90%: the number outside of them is at most binomial.
    let (most, n) = (0.1, runs as f64);
    let limit = n * most + 5.0 * (n * most * (1.0 - most)).sqrt();
    assert!(f64::from(outside) <= limit && f64::from(outside) > n * most / 3.0, "{outside} of {runs}");
}

// The keys of a lone person, who enters them three times. Refutes a search in which an entry counts as a person who comes
// for the first time: it would give away keys three times as often. 5 standard deviations of 6,000 runs: alpha 6e-7.
#[test]
fn who_comes_back_does_not_give_a_key_away_again() {
    let (delta, runs) = (0.1, 6000);
    let prepared = prepare(Keys::discover(delta), 0.05);
    let TotalSource::Discovered { threshold, .. } = &prepared.keys else { panic!() };
    let p = threshold.noise().tail(threshold.least() - 1);
    // Two keys, in spans of 1, 2, 4, 8 and 16 windows.
    let expected = 1.0 - (1.0 - p).powi(2 * 5);
    assert!(expected <= delta && expected > delta / 3.0, "{expected}");
    let mut noise = NoiseSource::recording(7);
    let mut given_away = 0;
    for _ in 0..runs {
        let mut state = None;
        let mut released = false;
        for window in 0..16u64 {
            let (level, new) = (u64::from(window % 5 < 4), u64::from(window == 0));
            let cells: &[(u32, u64, u64)] = &[(1, level, new), (2, level, new)];
            let cells = if level == 0 { &[] } else { cells };
            let drawn = prepared.draw(levels(&prepared, cells), state.as_deref(), &mut noise);
            released |= !drawn.answer.cells().is_empty();
            state = drawn.state;
        }
        given_away += u32::from(released);
    }
    let (mean, n) = (expected * f64::from(runs), f64::from(runs));
    let off = (f64::from(given_away) - mean).abs();
    assert!(off <= 5.0 * (n * expected * (1.0 - expected)).sqrt(), "{given_away} for {mean}");
}

#[test]
fn what_nobody_enters_and_leaves_is_refused() {
    let limits = Bound::keys(1).per_key(2).checked().unwrap();
    let refused = |total: Total<u32>, span| RunningTotal::new(total, span).unwrap_err().field().to_owned();
    let span = |windows, last, entries| TotalSpan::People { windows, last, entries };
    let count = || Total::count(limits, Keys::public([1]).unwrap()).unwrap();
    let people = || Total::people(limits, Keys::public([1]).unwrap()).unwrap();
    assert_eq!(refused(count(), span(9, 3, 1)), "over");
    assert_eq!(refused(people(), span(9, 0, 1)), "width");
    assert_eq!(refused(people(), span(9, 3, 0)), "entries");
    assert_eq!(refused(people(), span(0, 3, 1)), "horizon");
    assert_eq!(refused(people(), TotalSpan::Last { windows: 3 }), "over");
}
