use dashu_int::UBig;
use proptest::prelude::{Strategy as _, any, prop, prop_assert, prop_assert_eq, prop_oneof, proptest};

use super::*;
use crate::accounting::BudgetUnits;
use crate::accounting::running::{Strategy, buffered, buffers};
use crate::invalid::{Invalid, InvalidKind};
use crate::noise::NoiseSource;

mod law;
mod people;
mod sums;
mod totals;

const ALL: [Strategy; 4] = [Strategy::SquareRoot, Strategy::Buffered, Strategy::Tree, Strategy::Fresh];

fn rho(rho: f64) -> BudgetUnits {
    BudgetUnits::at_most_float("rho", rho).unwrap()
}

fn one() -> StreamContribution {
    StreamContribution::new(1, 1).unwrap()
}

fn so_far(strategy: Strategy, horizon: u64) -> PreparedRunning {
    PreparedRunning::so_far(strategy, horizon, one(), rho(0.5)).unwrap()
}

fn sliding(strategy: Strategy, width: u64) -> PreparedRunning {
    PreparedRunning::over_last(strategy, width, one(), rho(0.5)).unwrap()
}

/// Every strategy for this number of ticks, with the number of ticks that a total adds up: all, or the last
/// few.
fn each(ticks: u64) -> Vec<(PreparedRunning, usize)> {
    let so_far = ALL.map(|strategy| (so_far(strategy, ticks), ticks as usize));
    let sliding = [(sliding(Strategy::SquareRoot, 5), 5), (sliding(Strategy::Fresh, 5), 5)];
    so_far.into_iter().chain(sliding).collect()
}

/// Returns the measurements of these ticks, in order, and the totals without noise.
fn measured(running: &PreparedRunning, ticks: &[i64]) -> (Vec<i128>, Vec<f64>) {
    let (mut state, mut all) = (running.begin(), Vec::new());
    let totals = ticks
        .iter()
        .map(|exact| {
            running.released(&mut state, *exact, |measured| all.extend_from_slice(measured)).unwrap()
        })
        .collect();
    (all, totals)
}

/// Returns the square of the distance of two lists of measurements.
fn apart(left: &[i128], right: &[i128]) -> UBig {
    assert_eq!(left.len(), right.len());
    left.iter().zip(right).map(|(left, right)| UBig::from(left.abs_diff(*right)).pow(2)).sum()
}

// Refutes totals over other ticks: without noise every total is exact.
#[test]
fn without_noise_totals_are_exact() {
    for (running, width) in each(200) {
        let ticks: Vec<i64> = (0..200).map(|tick| (tick * 7919) % 101 - 30).collect();
        let (_, totals) = measured(&running, &ticks);
        // Buffers are rounded to 2^-28 at each tick.
        let off = if running.strategy() == Strategy::Buffered { 200.0 / f64::from(1 << 28) } else { 1e-9 };
        for (tick, total) in totals.iter().enumerate() {
            let exact: i64 = ticks[(tick + 1).saturating_sub(width)..=tick].iter().sum();
            assert!((total - exact as f64).abs() < off, "{} {tick}: {total} {exact}", running.strategy());
        }
    }
}

// Refutes a tree of one level too few, coefficients other than the charged ones, and a tick that matters more
// than the first: the charge is that of the largest distance by which one contribution moves the
// measurements, exactly; for buffers the distance is shorter by their roundings.
#[test]
fn what_is_charged_is_how_far_one_contribution_reaches() {
    for ticks in (1..=20).chain([31, 32, 33, 64]) {
        for (running, _) in each(ticks) {
            let zeros = vec![0; ticks as usize];
            let (without, _) = measured(&running, &zeros);
            let distance = |tick: usize| {
                let mut with = zeros.clone();
                with[tick] = 1;
                apart(&measured(&running, &with).0, &without)
            };
            let charged = running.plan.squared(1);
            let farthest = (0..ticks as usize).map(distance).max().unwrap();
            assert!(farthest <= charged, "{} {ticks}", running.strategy());
            match running.horizon() {
                Some(_) if running.strategy() != Strategy::Buffered => assert_eq!(farthest, charged),
                Some(_) => assert!(&farthest + (&farthest >> 18) > charged, "{ticks}"),
                // All coefficients are needed to reach as far.
                None if ticks >= 10 => assert_eq!(farthest, charged),
                None => {}
            }
        }
    }
}

// Refutes a charge of exact coefficients for buffers that are rounded: on top of some data a contribution
// moves the measurements by more than the exact coefficients would, and never by more than the charge covers.
#[test]
fn roundings_of_buffers_are_charged() {
    let (running, ticks) = (so_far(Strategy::Buffered, 50), 50);
    let exact = buffered::squared(buffers(50), 50) >> (256 - 2 * buffered::BITS as usize);
    let charged = running.plan.squared(1);
    let mut farther = 0;
    for data in 0..40 {
        let mut stream: Vec<i64> =
            (0..ticks).map(|tick| (tick * tick * 7919 + data * 104_729) % 1009).collect();
        let without = measured(&running, &stream).0;
        stream[0] += 1;
        let found = apart(&measured(&running, &stream).0, &without);
        farther += u32::from(found > exact);
        assert!(found <= charged, "{data}");
    }
    assert!(farther > 5, "{farther}");
}

// Refutes a horizon that is off by one: one tick more would add a measurement that the charge does not cover.
#[test]
fn the_horizon_is_the_last_tick_that_is_charged() {
    for strategy in [Strategy::SquareRoot, Strategy::Tree] {
        let (short, long) = (so_far(strategy, 7), so_far(strategy, 8));
        let mut ticks = [0; 8];
        let (without, _) = measured(&long, &ticks);
        ticks[0] = 1;
        assert!(apart(&measured(&long, &ticks).0, &without) > short.plan.squared(1), "{strategy}");
    }
    let mut noise = NoiseSource::seeded(1);
    for strategy in ALL {
        let running = so_far(strategy, 7);
        let mut state = running.begin();
        for _ in 0..7 {
            running.tick(&mut state, 1, &mut noise).unwrap();
        }
        let ended = state.clone();
        assert_eq!(running.tick(&mut state, 1, &mut noise), Err(TickError::Ended));
        assert_eq!(state, ended);
        // The state stays ended when it is read again.
        let mut state = running.resumed(&ended.to_bytes()).unwrap();
        assert_eq!(running.tick(&mut state, 1, &mut noise), Err(TickError::Ended));
        assert_eq!((state.ticks(), running.horizon()), (7, Some(7)));
    }
    // Totals without a horizon go on.
    let endless = sliding(Strategy::SquareRoot, 3);
    let mut state = endless.begin();
    assert!((0..1000).all(|_| endless.tick(&mut state, 1, &mut noise).is_ok()));
}

// Refutes noise that is cut off in place of the strategy: the real measurements of such totals, the workload
// over the noise, move by more than the charge would cover.
#[test]
fn noise_that_is_cut_would_cost_more() {
    let (width, kept) = (12, 24);
    let coefficients = crate::accounting::running::strategies::Coefficients::window(width);
    let mut work = vec![1.0; width as usize];
    work.resize(2000, 0.0);
    let divided = |work: &[f64], by: &[f64]| -> Vec<f64> {
        let mut found: Vec<f64> = Vec::new();
        for work in work {
            let known: f64 = by.iter().skip(1).zip(found.iter().rev()).map(|(by, found)| by * found).sum();
            found.push((work - known) / by[0]);
        }
        found
    };
    let strategy: Vec<f64> =
        coefficients.values.iter().map(|value| *value as f64 / coefficients.unit()).collect();
    let charged: f64 = strategy.iter().map(|value| value * value).sum();
    let mut noise = divided(&work, &strategy);
    noise.truncate(kept);
    let really: f64 = divided(&work, &noise).iter().map(|value| value * value).sum();
    assert!(really > charged * 1.001, "{really} {charged}");
}

// Refutes another variance, another charge, and one identity for two laws.
#[test]
fn rounded_totals_cost_the_same_and_are_other_totals() {
    for (running, _) in each(50) {
        let rounded = running.clone().rounded().unwrap();
        assert_eq!(rounded.law().variance(), running.law().variance());
        assert_eq!(rounded.charge(), running.charge());
        assert_ne!(rounded.parameters(), running.parameters());
        let mut noise = NoiseSource::recording(1);
        rounded.law().draw(&mut noise);
        assert_eq!(noise.requests()[0].law, "rounded-gaussian");
        // A twelfth more of a measurement's variance, which is thousands of steps and more but in a tree.
        let more = rounded.deviation() / running.deviation();
        assert!((1.0..1.2).contains(&more), "{more}");
    }
}

// By hand: in a tree over 4 ticks a contribution is in 3 nodes; 3 * 2^2 over twice 60 is 1/10.
#[test]
fn the_charge_is_what_the_integers_cost() {
    let tree =
        PreparedRunning::so_far(Strategy::Tree, 4, StreamContribution::new(2, 1).unwrap(), rho(0.1)).unwrap();
    assert_eq!(tree.law().variance().to_f64(), 60.0);
    assert_eq!(tree.charge().to_float_up(), 0.1);
    for (running, _) in each(50) {
        assert!(running.charge() <= rho(0.5) && running.charge() > rho(0.49999));
    }
    // At a price that needs hardly any noise a little is drawn, and the charge is lower.
    let dear = PreparedRunning::over_last(Strategy::Fresh, 2, one(), rho(500.0)).unwrap();
    assert!(dear.law().variance().to_f64() >= 0.001 && dear.charge() <= rho(500.0));
    // Three keys cost three times as much as one.
    let keys = |keys, rho| {
        PreparedRunning::so_far(Strategy::Buffered, 100, StreamContribution::new(1, keys).unwrap(), rho)
            .unwrap()
    };
    let (one, three) = (keys(1, rho(0.1)), keys(3, rho(0.3)));
    assert!((one.deviation() / three.deviation() - 1.0).abs() < 1e-9);
    assert_ne!(one.parameters(), three.parameters());
}

#[test]
fn parameters_that_cannot_be_are_named() {
    let named = |refused: Result<PreparedRunning, Invalid>| {
        let refused = refused.unwrap_err();
        (refused.field().to_owned(), refused.kind())
    };
    let field = |field: &str, kind| (field.to_owned(), kind);
    let so_far = |strategy, horizon| PreparedRunning::so_far(strategy, horizon, one(), rho(0.5));
    assert_eq!(named(so_far(Strategy::SquareRoot, 4097)), field("horizon", InvalidKind::TooLarge));
    assert_eq!(named(so_far(Strategy::Tree, 0)), field("horizon", InvalidKind::Zero));
    assert_eq!(named(so_far(Strategy::Tree, (1 << 32) + 1)), field("horizon", InvalidKind::TooLarge));
    let over = |strategy, width| PreparedRunning::over_last(strategy, width, one(), rho(0.5));
    assert_eq!(named(over(Strategy::Tree, 5)), field("strategy", InvalidKind::Mixed));
    assert_eq!(named(over(Strategy::Fresh, 16385)), field("width", InvalidKind::TooLarge));
    let spent = |rho| PreparedRunning::so_far(Strategy::Buffered, 10, one(), rho);
    assert_eq!(named(spent(BudgetUnits::ZERO)), field("rho", InvalidKind::Zero));
    assert_eq!(named(spent(BudgetUnits::from_bits(1))), field("rho", InvalidKind::TooSmall));
    assert_eq!(named(spent(BudgetUnits::UNBOUNDED)), field("rho", InvalidKind::TooLarge));
    assert_eq!(named(spent(rho(501.0))), field("rho", InvalidKind::TooLarge));
    assert!(
        StreamContribution::new(0, 1).is_err()
            && StreamContribution::new(1, 0).is_err()
            && StreamContribution::new((1 << 40) + 1, 1).is_err()
    );
}

// Refutes a state that forgets, and a node that is drawn twice: with a stop after every tick the totals are
// the same to the last bit.
#[test]
fn what_is_resumed_goes_on_as_if_it_had_not_stopped() {
    for (running, _) in each(1000) {
        let run = |resume: bool| -> Vec<u64> {
            let (mut noise, mut state) = (NoiseSource::seeded(7), running.begin());
            let tick = |tick: i64| {
                if resume {
                    let bytes = state.to_bytes();
                    state = running.resumed(&bytes).unwrap();
                    assert_eq!(state.to_bytes(), bytes);
                }
                running.tick(&mut state, tick * tick % 50, &mut noise).unwrap().to_bits()
            };
            (0..1000).map(tick).collect()
        };
        assert_eq!(run(true), run(false), "{}", running.strategy());
    }
}

// Refutes a late key whose noise has another distribution, and a state of another size than `memory` says:
// numbers are 8 or 16 bytes.
#[test]
fn a_key_that_is_found_late_is_where_it_would_be() {
    for (running, _) in each(30) {
        let mut noise = NoiseSource::seeded(9);
        let late = running.caught_up(0..20, &mut noise).unwrap();
        let (mut noise, mut state) = (NoiseSource::seeded(9), running.begin());
        for exact in 0..20 {
            running.tick(&mut state, exact, &mut noise).unwrap();
        }
        assert_eq!(late, state);
        assert_eq!(running.caught_up(0..31, &mut noise).is_err(), running.horizon().is_some());
        let full = running.caught_up(0..30, &mut noise).unwrap().to_bytes().len() as u64 - 41;
        assert!(full <= 16 * running.memory() && full >= 8 * (running.memory() - 1), "{full} {running:?}");
    }
}

#[test]
fn a_state_of_other_parameters_is_refused() {
    let all = each(50);
    let mut noise = NoiseSource::seeded(3);
    for (at, (running, _)) in all.iter().enumerate() {
        let mut state = running.begin();
        for tick in 0..20 {
            running.tick(&mut state, tick, &mut noise).unwrap();
        }
        let bytes = state.to_bytes();
        for (other, (foreign, _)) in all.iter().enumerate() {
            assert_eq!(foreign.resumed(&bytes).is_ok(), at == other);
            if at != other {
                let mut copy = state.clone();
                assert_eq!(foreign.tick(&mut copy, 1, &mut noise), Err(TickError::Foreign));
                assert_eq!(copy, state);
            }
        }
        // The bytes are cut anywhere, too long, of another version, of another tick, or with a float that is
        // not finite.
        assert!((0..bytes.len()).all(|end| running.resumed(&bytes[..end]).is_err()));
        assert!(running.resumed(&[bytes.as_slice(), &[0]].concat()).is_err());
        let with = |at: usize, value: u8| {
            let mut bytes = bytes.clone();
            bytes[at] = value;
            running.resumed(&bytes)
        };
        assert!(with(0, 2).is_err() && with(1, bytes[1] ^ 1).is_err());
        assert!(with(33, 1).is_err() || running.horizon().is_none());
        let mut endless = bytes.clone();
        endless.truncate(bytes.len() - 8);
        endless.extend(f64::NAN.to_bits().to_be_bytes());
        assert!(running.resumed(&endless).is_err());
        // Other noise makes another release.
        let cheaper = match running.horizon() {
            Some(ticks) => PreparedRunning::so_far(running.strategy(), ticks, one(), rho(0.25)),
            None => PreparedRunning::over_last(running.strategy(), 5, one(), rho(0.25)),
        };
        assert!(cheaper.unwrap().resumed(&bytes).is_err());
    }
}

#[test]
fn nothing_of_a_state_prints() {
    let running = so_far(Strategy::Tree, 10);
    let mut state = running.begin();
    running.tick(&mut state, 123_456, &mut NoiseSource::seeded(1)).unwrap();
    assert_eq!(format!("{state:?}"), "State(1 ticks, <private>)");
}

/// Ticks of any size, and contributions of one person to some of them.
fn neighbours() -> impl proptest::strategy::Strategy<Value = (Vec<i64>, Vec<(usize, i64)>)> {
    let ticks = prop::collection::vec(prop_oneof![-1000i64..1000, any::<i64>()], 1..80);
    let brought = prop::collection::vec((any::<prop::sample::Index>(), -30i64..=30), 0..6);
    (ticks, brought).prop_map(|(ticks, brought)| {
        let brought = brought.into_iter().map(|(at, amount)| (at.index(ticks.len()), amount)).collect();
        (ticks, brought)
    })
}

proptest! {
    // Refutes a length below that of one person's contributions to several ticks, on top of any data:
    // roundings, signs, and numbers at the ends of their type. Nothing panics, and both neighbouring inputs
    // draw the same noise.
    #[test]
    fn neighbours_are_never_farther_apart_than_is_charged((ticks, brought) in neighbours()) {
        let total: u64 = brought.iter().map(|(_, amount)| amount.unsigned_abs()).sum();
        let reach = StreamContribution::new(total.max(1), 1).unwrap();
        let mut with = ticks.clone();
        for (at, amount) in brought {
            with[at] = with[at].saturating_add(amount);
        }
        let horizon = ticks.len() as u64;
        let all = ALL.map(|strategy| PreparedRunning::so_far(strategy, horizon, reach, rho(0.5)).unwrap());
        let last = PreparedRunning::over_last(Strategy::SquareRoot, 7, reach, rho(0.5)).unwrap();
        for running in all.iter().chain([&last]) {
            let (here, there) = (measured(running, &ticks), measured(running, &with));
            prop_assert!(apart(&here.0, &there.0) <= running.plan.squared(u128::from(total.max(1)).pow(2)), "{}", running.strategy());
            prop_assert!(here.1.iter().chain(&there.1).all(|total| total.is_finite()));
            let asked = |ticks: &[i64]| {
                let (mut noise, mut state) = (NoiseSource::recording(5), running.begin());
                ticks.iter().for_each(|exact| { running.tick(&mut state, *exact, &mut noise).unwrap(); });
                noise.requests().to_vec()
            };
            prop_assert_eq!(asked(&ticks), asked(&with));
        }
    }
}
