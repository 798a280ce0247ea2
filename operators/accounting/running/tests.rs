use super::*;

mod reference;

fn near(found: f64, truth: f64, part: f64) {
    assert!((found / truth - 1.0).abs() <= part, "{found} is not {truth}");
}

fn of(choice: &StrategyChoice, strategy: Strategy) -> &StrategyError {
    choice.strategies().iter().find(|figures| figures.strategy() == strategy).unwrap()
}

// Refutes constants that are not good enough, and sums over many ticks that lose digits: a horizon that is a
// power of two, one more (which has the constants of the next), and those between.
#[test]
fn the_best_is_near_the_least_at_every_horizon() {
    let mut horizons: Vec<u64> = (1001..1100).collect();
    for power in 10..=32u32 {
        let ticks = 1u64 << power;
        horizons.extend(
            [ticks - 1, ticks, ticks + 1, ticks + ticks / 3, ticks + ticks / 2]
                .into_iter()
                .filter(|t| *t > 1000),
        );
    }
    for horizon in horizons.into_iter().filter(|horizon| *horizon <= HORIZON) {
        let choice = so_far(horizon, 0.5).unwrap();
        let best = choice.best();
        assert!(best.ratio() <= 1.1255 && best.memory() <= 64, "{horizon}: {best:?}");
        let above = of(&choice, Strategy::Buffered).ratio() / of(&choice, Strategy::SquareRoot).ratio();
        assert!((1.0..1.002).contains(&above), "{horizon}: {above}");
        assert!(best.rms_deviation() >= choice.lower_bound() * (1.0 - 1e-12), "{horizon}: {best:?}");
    }
    assert!(so_far(1 << 20, 0.5).unwrap().best().ratio() <= 1.0716);
}

// The mean of |a| over the circle, and the loss of it by 2 W coefficients.
#[test]
fn sliding_totals_are_near_the_least_at_every_width() {
    for (width, least) in [(12, 1.9966), (24, 2.2775), (60, 2.6488), (288, 3.2845), (1440, 3.9368)] {
        let choice = over_last(width, 0.5).unwrap();
        near(choice.lower_bound(), least, 2e-5);
        let best = choice.best();
        assert_eq!(best.strategy(), Strategy::SquareRoot);
        assert!((1.0..1.0105).contains(&best.ratio()), "{width}: {best:?}");
        near(of(&choice, Strategy::Fresh).max_deviation(), (width as f64).sqrt(), 1e-12);
    }
    // By hand: one tick is its own total; for two the mean of 2 |cos x| is 4 / pi.
    assert_eq!(over_last(1, 0.5).unwrap().best().max_deviation(), 1.0);
    near(over_last(2, 0.5).unwrap().lower_bound(), 4.0 / PI, 1e-12);
    for width in 2..200 {
        assert!(of(&over_last(width, 0.5).unwrap(), Strategy::SquareRoot).ratio() < 1.0095, "{width}");
    }
}

// Refutes the transform, and a strategy whose noise does not fade: the same variance from the series, term by
// term.
#[test]
fn the_variance_of_a_sliding_total_is_that_of_its_series() {
    for width in [2, 3, 12, 60] {
        let coefficients = Coefficients::window(width);
        let mut work = vec![1.0; width as usize];
        work.resize(40 * coefficients.values.len(), 0.0);
        let noise = strategies::quotient(&work, &coefficients.floats());
        let variance: f64 = noise.iter().map(|value| value * value).sum();
        near(coefficients.variance_over(width).unwrap(), variance, 1e-10);
    }
    // A zero inside the circle.
    let growing = Coefficients { values: vec![1, -2], bits: 0 };
    assert_eq!(growing.variance_over(2), None);
    // A zero on the circle.
    let lasting = Coefficients { values: vec![1, 1], bits: 0 };
    assert_eq!(lasting.variance_over(3), None);
}

// Refutes a growth of another strategy, or one that is late or early by a tick: it ends at the largest, and
// where it never falls its mean is that of all totals.
#[test]
fn what_totals_err_by_grows_to_the_largest() {
    for horizon in [1, 2, 3, 7, 64, 1000] {
        for figures in so_far(horizon, 0.5).unwrap().strategies() {
            let growth = VarianceByTick::so_far(figures.strategy(), horizon).unwrap();
            let until = |tick| figures.sensitivity() * growth.until(tick);
            near(until(horizon), figures.max_deviation(), 1e-9);
            let mean = (1..=horizon).map(|tick| until(tick).powi(2)).sum::<f64>() / horizon as f64;
            if figures.strategy() == Strategy::Tree {
                assert!(mean.sqrt() >= figures.rms_deviation() * (1.0 - 1e-9));
                assert!((1..horizon).all(|tick| until(tick) <= until(tick + 1)));
            } else {
                near(mean.sqrt(), figures.rms_deviation(), 1e-6);
            }
        }
    }
}

#[test]
fn what_sliding_totals_err_by_grows_as_their_series() {
    for width in [1, 2, 3, 12, 60] {
        let coefficients = Coefficients::window(width);
        let growth = VarianceByTick::over_last(Strategy::SquareRoot, width).unwrap();
        let mut work = vec![1.0; width as usize];
        work.resize(9 * width as usize, 0.0);
        let mut variance = 0.0;
        for (at, value) in strategies::quotient(&work, &coefficients.floats()).iter().enumerate() {
            variance += value * value;
            near(growth.until(at as u64 + 1), variance.sqrt(), 1e-9);
        }
        let largest = of(&over_last(width, 0.5).unwrap(), Strategy::SquareRoot).max_deviation();
        near(growth.until(u64::MAX) * coefficients.sensitivity(), largest, 1e-12);
        let fresh = VarianceByTick::over_last(Strategy::Fresh, width).unwrap();
        assert!((1..100).all(|tick| fresh.until(tick).powi(2).round() as u64 == tick.min(width)));
    }
}

// Every factorisation is one: the noise of totals times the measurements is the workload, to 1e-12.
#[test]
fn noise_times_measurement_is_the_work() {
    let identity = |strategy: &[f64], work: &[f64]| {
        let noise = strategies::quotient(work, strategy);
        for (at, work) in work.iter().enumerate() {
            let product: f64 =
                (0..=at).map(|lag| strategy.get(lag).copied().unwrap_or(0.0) * noise[at - lag]).sum();
            assert!((product - work).abs() < 1e-12, "{at}: {product}");
        }
        noise
    };
    identity(&Coefficients::root(1024).floats(), &[1.0; 1024]);
    for width in [1, 12, 60] {
        let mut work = vec![1.0; width];
        work.resize(10 * width, 0.0);
        identity(&Coefficients::window(width as u64).floats(), &work);
    }
    for horizon in [32, 1024] {
        let buffers = buffers(horizon);
        let coefficient = |lag: u64| -> f64 {
            let one = buffered::ONE as f64;
            let series = |buffer: &buffered::Buffer| {
                buffer.weight as f64 / one * (buffer.decay() as f64 / one).powi(lag as i32 - 1)
            };
            if lag == 0 { 1.0 } else { buffers.iter().map(series).sum() }
        };
        let strategy: Vec<f64> = (0..horizon).map(coefficient).collect();
        let noise = identity(&strategy, &vec![1.0; horizon as usize]);
        // The figures by the poles of the inverse are those of its series.
        let series = BufferedStrategy::of(buffers).unwrap();
        let (mut variance, mut mean) = (0.0, 0.0);
        for value in &noise {
            variance += value * value;
            mean += variance / horizon as f64;
        }
        near(series.variance(horizon as f64), variance, 1e-10);
        near(series.mean_variance(horizon as f64), mean, 1e-10);
        near(
            buffered::length_squared(&buffered::floats(buffers), horizon as f64),
            strategy.iter().map(|value| value * value).sum(),
            1e-12,
        );
    }
}

// Refutes a charge below the truth: in integers it is never less than in floats, and larger by no more than
// its roundings.
#[test]
fn what_buffers_are_moved_by_is_bounded_from_above() {
    for (horizon, most) in [(1, 1e-7), (100, 1e-6), (1 << 20, 1e-4), (1 << 32, 1e-3)] {
        let buffers = buffers(horizon);
        let exact = buffered::length_squared(&buffered::floats(buffers), horizon as f64).sqrt();
        let bound = buffered::sensitivity(buffers, horizon);
        assert!(bound > exact * (1.0 - 1e-12) && bound < exact * (1.0 + most), "{horizon}: {bound} {exact}");
        // A contribution of 1,000 changes them a thousand times as much, on a coarser grid.
        let thousand =
            buffered::moved_squared(buffers, horizon, 1_000_000, buffered::BITS - 9).to_f64().value().sqrt();
        near(thousand / 1000.0 / f64::from(1 << (buffered::BITS - 9)), bound, 2.0 * most);
    }
}

// Where a sum over all ticks gives way to a formula, both are the same.
#[test]
fn formulas_are_what_sums_are() {
    let ticks = 100_000;
    let (mut value, mut squared, mut mean) = (1.0, 0.0, 0.0);
    for at in 1..=ticks {
        squared += value * value;
        mean += squared;
        value *= (2 * at - 1) as f64 / (2 * at) as f64;
    }
    near(strategies::root_squared(ticks), squared, 1e-11);
    near(strategies::root_mean(ticks), mean / ticks as f64, 1e-11);
    let step = PI / (4.0 * ticks as f64 + 2.0);
    let sum: f64 = (1..=ticks).map(|j| 0.5 / ((2 * j - 1) as f64 * step).sin()).sum();
    near(least_error_so_far(ticks), sum / ticks as f64, 1e-11);
    // The closed form of the mean agrees with the sum over the rounded coefficients.
    let (largest, mean) = Coefficients::root(1000).variances_so_far(1000);
    near(strategies::root_squared(1000), largest, 1e-5);
    near(strategies::root_mean(1000), mean, 1e-5);
}

// Refutes one level too few or too many, and a digit that is counted wrong.
#[test]
fn the_tree_is_counted_digit_by_digit() {
    for ticks in 1..300u64 {
        let variance =
            |tick: u64| -> f64 { (0..9).filter(|bit| tick >> bit & 1 == 1).map(strategies::node).sum() };
        let all: Vec<f64> = (1..=ticks).map(variance).collect();
        let (largest, mean) = strategies::variances(ticks);
        near(largest, all.iter().copied().fold(0.0, f64::max), 1e-12);
        near(mean, all.iter().sum::<f64>() / ticks as f64, 1e-12);
        // The spans of 1, 2, 4.. ticks that begin with the first, which is in all of them.
        let spans = (0..).take_while(|level| 1u64 << level <= ticks).count();
        assert_eq!(strategies::levels(ticks) as usize, spans);
    }
}

#[test]
fn what_is_out_of_range_is_named() {
    let refused = |refused: Result<StrategyChoice, Invalid>| {
        let refused = refused.unwrap_err();
        (refused.field().to_owned(), refused.kind())
    };
    assert_eq!(refused(so_far(0, 0.1)), ("horizon".to_owned(), InvalidKind::Zero));
    assert_eq!(refused(so_far(HORIZON + 1, 0.1)), ("horizon".to_owned(), InvalidKind::TooLarge));
    assert_eq!(refused(over_last(WIDTH + 1, 0.1)), ("width".to_owned(), InvalidKind::TooLarge));
    assert_eq!(refused(so_far(10, f64::NAN)), ("rho".to_owned(), InvalidKind::Nan));
    assert_eq!(refused(over_last(10, -1.0)), ("rho".to_owned(), InvalidKind::Negative));
}
