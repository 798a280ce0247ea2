use crate::accounting::running::Strategy;
use crate::invalid::InvalidKind;
use crate::mechanisms::running::sums::RunningSums;
use crate::mechanisms::{
    Bound, ContributionBound, DecimalPoint, Drawn, Gaussian, Keys, Mean, Mechanism, Paid, PairStatistic,
    PairSums, Prepared, Range, Ratio, RunningNumbers, Tally, TotalSpan, Variance,
};
use crate::noise::NoiseSource;

const SO_FAR: TotalSpan = TotalSpan::SoFar { windows: 16 };
const LAST: TotalSpan = TotalSpan::Last { windows: 4 };

fn limits(keys: u64, per_key: u64) -> ContributionBound {
    Bound::keys(keys).per_key(per_key).checked().unwrap()
}

fn range(low: i64, high: i64) -> Range {
    Range::new(low, high).unwrap()
}

fn mean(limits: ContributionBound, keys: Keys<u32>) -> Mean<u32> {
    Mean::new(range(-3, 7), limits, keys).unwrap()
}

fn variance(limits: ContributionBound, keys: Keys<u32>) -> Variance<u32> {
    Variance::new(range(-3, 7), limits, keys).unwrap()
}

fn ratio(limits: ContributionBound, keys: Keys<u32>) -> Ratio<u32> {
    Ratio::new([range(-3, 7), range(1, 4)], limits, keys).unwrap()
}

fn one_key() -> Keys<u32> {
    Keys::public([1]).unwrap()
}

/// Draws the windows of these cells, and calls for each released estimate and its window.
fn released<F, const N: usize>(
    prepared: &RunningNumbers<u32, F, N>,
    windows: &[PairSums],
    noise: &mut NoiseSource,
    mut each: impl FnMut(usize, f64, [f64; 2]),
) where
    RunningNumbers<u32, F, N>: Prepared<
            Tally = crate::mechanisms::Cells<u32, PairSums>,
            Answer = crate::mechanisms::Answer<u32, f64>,
        >,
{
    let mut state = None;
    for (window, cell) in windows.iter().enumerate() {
        let mut tally = prepared.tally();
        tally.absorb((1, *cell));
        let Drawn { answer, state: after, .. } = prepared.draw(tally, state.as_deref(), noise);
        for (_, estimate) in answer.cells() {
            each(window, estimate.value(), [estimate.low(), estimate.high().unwrap()]);
        }
        state = after;
    }
}

/// Shares of one person's values in windows, of which each has a number of records, up to what is left.
fn shares<S: PairStatistic>(sums: &RunningSums<S>, windows: &[Vec<S::Value>]) -> Vec<PairSums> {
    let mut left = sums.each().limits().per_key();
    let mut first = true;
    let share = |values: &Vec<S::Value>| {
        let (share, used) = sums.contribution(values, left, first);
        left -= used;
        first &= values.is_empty();
        share
    };
    windows.iter().map(share).collect()
}

// Refutes a person who brings more to a stream than its noise is for, and a stream to which nobody brings as much: all divisions of
// up to three records at the ends of the ranges into two windows, beside a bound of two records.
#[test]
fn nobody_brings_more_to_a_stream_than_is_charged_and_somebody_as_much() {
    let limits = limits(2, 2);
    let mut most = [[0i128; 3]; 2];
    for number in 0..=3usize {
        for first in 0..=number {
            for ends in 0..1 << number {
                let values: Vec<i64> =
                    (0..number).map(|at| if ends >> at & 1 == 1 { 9 } else { -9 }).collect();
                let pairs = values.iter().map(|value| (*value, *value)).collect::<Vec<_>>();
                let sums = RunningSums::new(variance(limits, one_key()), SO_FAR).unwrap();
                let squares = shares(&sums, &[values[..first].to_vec(), values[first..].to_vec()]);
                let sums = RunningSums::new(ratio(limits, one_key()), SO_FAR).unwrap();
                let ratios = shares(&sums, &[pairs[..first].to_vec(), pairs[first..].to_vec()]);
                for (most, shares) in most.iter_mut().zip([&squares, &ratios]) {
                    let people: u64 = shares.iter().map(|share| share.people).sum();
                    assert_eq!(people, u64::from(number > 0));
                    let number = |share: &PairSums| [share.records.into(), share.sums[0], share.sums[1]];
                    let brought: Vec<[i128; 3]> = shares.iter().map(number).collect();
                    *most = std::array::from_fn(|at| {
                        most[at].max(brought.iter().map(|numbers| numbers[at].abs()).sum())
                    });
                }
            }
        }
    }
    // Two records, each by the width of 10, by the parts of a square, and by 7 and 4.
    assert_eq!(most, [[2, 20, 2 << 24], [2, 14, 8]]);
    let sums = RunningSums::new(variance(limits, one_key()), SO_FAR).unwrap();
    assert_eq!(sums.each().most_of_a_record(), [10, 1 << 24]);
    let sums = RunningSums::new(ratio(limits, one_key()), SO_FAR).unwrap();
    assert_eq!(sums.each().most_of_a_record().map(|(most, _)| most), [7, 4]);
}

// By hand: in a tree over 16 windows a contribution is in 5 nodes, of each of 2 keys. Of rho .5 the count has .15, the sum .21 and the
// squares .14; a mean's sum .35; and a ratio's sums .25 each. Refutes charges that come to more than the whole.
#[test]
fn the_totals_of_a_number_share_its_price() {
    let limits = limits(2, 3);
    let rho = |most: f64, draw: f64| 2.0 * 5.0 * most * most / (2.0 * draw * draw);
    fn check<F, const N: usize>(
        prepared: &RunningNumbers<u32, F, N>,
        parts: [(f64, f64); N],
        rho: impl Fn(f64, f64) -> f64,
    ) {
        let mut charged = 0.0;
        for (engine, (most, part)) in prepared.engines().iter().zip(parts) {
            let charge = engine.charge().to_float_up();
            assert!(charge <= part * (1.0 + 1e-12) && charge > part * 0.9999, "{charge} {part}");
            assert!((rho(most, engine.law().variance().to_f64().sqrt()) / charge - 1.0).abs() < 1e-3);
            charged += charge;
        }
        assert!(charged <= 0.5 + 1e-12 && charged > 0.4999, "{charged}");
    }
    let noise = Gaussian::rho(0.5);
    let sums = RunningSums::new(mean(limits, one_key()), SO_FAR).unwrap().by(Strategy::Tree);
    check(&noise.prepare(&sums).unwrap(), [(30.0, 0.35), (3.0, 0.15)], rho);
    let sums = RunningSums::new(variance(limits, one_key()), SO_FAR).unwrap().by(Strategy::Tree);
    let squares = 3.0 * f64::from(1 << 24);
    check(&noise.prepare(&sums).unwrap(), [(30.0, 0.21), (squares, 0.14), (3.0, 0.15)], rho);
    let sums = RunningSums::new(ratio(limits, one_key()), SO_FAR).unwrap().by(Strategy::Tree);
    let prepared = noise.prepare(&sums).unwrap();
    check(&prepared, [(21.0, 0.25), (12.0, 0.25)], rho);
    assert_eq!(prepared.paid(), Paid::Once { windows: Some(16) });
    // A selection of keys comes before them.
    let sums = RunningSums::new(mean(limits, Keys::discover(1e-6)), SO_FAR).unwrap();
    let found = noise.prepare(&sums).unwrap();
    let charged: f64 = found.engines().iter().map(|engine| engine.charge().to_float_up()).sum();
    assert!(charged <= 0.35 + 1e-12 && charged > 0.3499 && found.threshold().is_some(), "{charged}");
}

/// The values of a window: more in later ones, and of another mean.
fn values(window: i64) -> Vec<(i64, i64)> {
    (0..300 + 20 * window).map(|at| ((at * 7 + window) % 13 - 4, (at + window) % 6)).collect()
}

/// The statistics of all values of the windows up to this one, or of the last four.
fn exact(span: TotalSpan, window: i64) -> [f64; 3] {
    let since = if span == LAST { (window - 3).max(0) } else { 0 };
    let all: Vec<[f64; 2]> = (since..=window)
        .flat_map(values)
        .map(|(of, per)| [of.clamp(-3, 7) as f64, per.clamp(1, 4) as f64])
        .collect();
    let [sum, lower] = [0, 1].map(|at| all.iter().map(|values| values[at]).sum::<f64>());
    let mean = sum / all.len() as f64;
    let squares: f64 = all.iter().map(|[of, _]| (of - mean) * (of - mean)).sum();
    [mean, squares / all.len() as f64, sum / lower]
}

/// Adds the shares of people with one value each.
fn window<S: PairStatistic>(statistic: &S, values: impl Iterator<Item = S::Value>) -> PairSums {
    let mut all = PairSums::default();
    values.for_each(|value| all.add(&statistic.contribution(&[value])));
    all
}

// Refutes totals of other windows, numbers that are exchanged, and a middle that is left out; and, by 200 streams of 16 windows whose
// intervals are to hold 9 in 10, an interval that is made of one number alone. The windows of a stream are not independent: of 200
// means of 16 the standard deviation is at most .3 / 200^.5, of which 4.753 are alpha 1e-6.
#[test]
fn running_numbers_are_those_of_their_windows_and_intervals_hold_them() {
    let limits = limits(1, 1);
    for span in [SO_FAR, LAST] {
        let [mean, variance, ratio] = [0, 1, 2].map(|number| {
            let mut held = 0u32;
            let mut check = |window: usize, value: f64, [low, high]: [f64; 2]| {
                let truth = exact(span, window as i64)[number];
                assert!(low <= value && value <= high && (value - truth).abs() < 2.5, "{value} {truth}");
                held += u32::from(low <= truth && truth <= high);
            };
            for seed in 0..200 {
                let mut noise = NoiseSource::seeded(seed);
                let numbers = |window: i64| values(window).into_iter().map(|(of, _)| of);
                match number {
                    0 => {
                        let each = mean(limits, one_key());
                        let cells: Vec<PairSums> = (0..16).map(|at| window(&each, numbers(at))).collect();
                        let sums = RunningSums::new(each, span).unwrap();
                        released(&Gaussian::rho(0.5).prepare(&sums).unwrap(), &cells, &mut noise, &mut check);
                    }
                    1 => {
                        let each = variance(limits, one_key());
                        let cells: Vec<PairSums> = (0..16).map(|at| window(&each, numbers(at))).collect();
                        let sums = RunningSums::new(each, span).unwrap();
                        released(&Gaussian::rho(0.5).prepare(&sums).unwrap(), &cells, &mut noise, &mut check);
                    }
                    _ => {
                        let each = ratio(limits, one_key());
                        let cells: Vec<PairSums> =
                            (0..16).map(|at| window(&each, values(at).into_iter())).collect();
                        let sums = RunningSums::new(each, span).unwrap();
                        released(&Gaussian::rho(0.5).prepare(&sums).unwrap(), &cells, &mut noise, &mut check);
                    }
                }
            }
            held
        });
        for held in [mean, variance, ratio] {
            assert!(
                f64::from(held) > 3200.0 * (0.9 - 4.753 * 0.3 / 200f64.sqrt()),
                "{span:?}: {held} of 3200"
            );
        }
    }
}

// Refutes widths that do not share what may be outside: of a mean's two numbers at rho .5, where each is within 1.96 deviations,
// and of a variance's three, within 2.128.
#[test]
fn each_total_has_its_part_of_what_may_be_outside() {
    let sums = RunningSums::new(mean(limits(1, 1), one_key()), LAST).unwrap();
    let prepared = Gaussian::rho(0.5).prepare(&sums).unwrap();
    let deviations = |reach: f64, scale: f64| reach / scale;
    let [sum, records] = prepared.reaches();
    let noise = prepared.noise();
    assert!((1.9..2.3).contains(&deviations(sum, noise[0].scale())), "{sum} {noise:?}");
    assert!((1.9..2.6).contains(&deviations(records, noise[1].scale())), "{records} {noise:?}");
    let sums = RunningSums::new(variance(limits(1, 1), one_key()), LAST).unwrap();
    let prepared = Gaussian::rho(0.5).prepare(&sums).unwrap();
    let squares = deviations(prepared.reaches()[1], prepared.noise()[1].scale());
    assert!((2.127..2.14).contains(&squares), "{squares}");
    assert_eq!(prepared.noise()[1].number(), "squares");
}

// Refutes a state that forgets a number, or is read as that of another statistic; and keys that another version does not take over.
#[test]
fn a_state_goes_on_with_all_of_its_totals() {
    let each = variance(limits(1, 1), Keys::discover(1e-2));
    let sums = RunningSums::new(each.clone(), LAST).unwrap();
    let prepared = Gaussian::rho(5.0).prepare(&sums).unwrap();
    let run = |stops: bool| {
        let (mut noise, mut state) = (NoiseSource::seeded(3), None::<Vec<u8>>);
        let mut lines = Vec::new();
        for at in 0..12 {
            let mut tally = prepared.tally();
            // A key that emerges after others.
            for key in if at < 5 { vec![1] } else { vec![1, 2] } {
                tally.absorb((key, window(&each, values(at).into_iter().map(|(of, _)| of))));
            }
            let drawn = prepared.draw(tally, state.as_deref(), &mut noise);
            lines.push(format!("{:?}", drawn.answer.cells()));
            state = drawn.state;
            if stops {
                prepared.accepts(state.as_deref().unwrap()).unwrap();
                let fresh = Gaussian::rho(5.0).prepare(&sums).unwrap();
                assert_eq!(fresh.parameters(), prepared.parameters());
            }
        }
        (lines, state.unwrap())
    };
    let (lines, state) = run(false);
    assert_eq!((lines.clone(), state.clone()), run(true));
    assert!(
        lines[4].matches("Estimate").count() == 1 && lines[11].matches("Estimate").count() == 2,
        "{lines:?}"
    );
    assert!((0..state.len()).all(|end| prepared.accepts(&state[..end]).is_err()));
    assert!(prepared.accepts(&[&state[..], &[0]].concat()).is_err());
    let other = RunningSums::new(mean(limits(1, 1), Keys::discover(1e-2)), LAST).unwrap();
    let other = Gaussian::rho(5.0).prepare(&other).unwrap();
    assert_eq!(other.accepts(&state).unwrap_err().kind(), InvalidKind::Mixed);
    assert_ne!(other.parameters(), prepared.parameters());
    let inherited = other.inherits(&state).unwrap().unwrap();
    let drawn = other.draw(other.tally(), Some(&inherited), &mut NoiseSource::seeded(1));
    assert_eq!(drawn.answer.cells().iter().map(|(key, _)| *key).collect::<Vec<_>>(), [1, 2]);
    // Windows that are passed by are empty in totals over the last ones.
    let passed = prepared.passed_by(&state, 4, &mut NoiseSource::seeded(2));
    let drawn = prepared.draw(prepared.tally(), Some(&passed), &mut NoiseSource::seeded(3));
    let (_, estimate) = drawn.answer.cells()[0];
    assert_eq!((estimate.low(), estimate.high()), (0.0, Some(25.0)));
}

#[test]
fn terms_that_cannot_be_are_named() {
    let named = |bound: Bound, span| {
        let refused = RunningSums::new(mean(bound.checked().unwrap(), one_key()), span).unwrap_err();
        refused.field().to_owned()
    };
    assert_eq!(named(Bound::keys(1).windows(3), SO_FAR), "windows");
    assert_eq!(named(Bound::keys(1), TotalSpan::SoFar { windows: 0 }), "horizon");
    assert_eq!(named(Bound::keys(1), TotalSpan::Last { windows: 1 << 20 }), "width");
    // More than 2^40 parts of squares of one person.
    let wide = RunningSums::new(variance(limits(1, 1 << 17), one_key()), SO_FAR).unwrap();
    assert_eq!(Gaussian::rho(0.5).prepare(&wide).unwrap_err().field(), "each");
    let point = DecimalPoint::digits(2).unwrap();
    let sums =
        |each: Variance<u32>| Gaussian::rho(0.5).prepare(&RunningSums::new(each, SO_FAR).unwrap()).unwrap();
    let (whole, cents) =
        (sums(variance(limits(1, 1), one_key())), sums(variance(limits(1, 1), one_key()).with_point(point)));
    for (number, parts) in [100.0, 10_000.0, 1.0].into_iter().enumerate() {
        let over = whole.noise()[number].scale() / cents.noise()[number].scale();
        assert!((over / parts - 1.0).abs() < 1e-9, "{number} {over}");
    }
}
