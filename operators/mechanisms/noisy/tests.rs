use super::*;
use crate::accounting::{BudgetUnits, PrivacyCost};
use crate::mechanisms::additive::FINDING;
use crate::mechanisms::{
    Bound, Cell, ContributionBound, Gaussian, Head, Keys, Laplace, Mechanism, Prepared, Range, ReleaseLines,
    Tally,
};

fn mean(low: i64, high: i64, per_key: u64, keys: Keys<u32>) -> Mean<u32> {
    let limits = Bound::keys(2).per_key(per_key).checked().unwrap();
    Mean::new(Range::new(low, high).unwrap(), limits, keys).unwrap()
}

fn public() -> Keys<u32> {
    Keys::public([1, 2]).unwrap()
}

fn share(mean: &Mean<u32>, values: &[i64]) -> Cell {
    mean.contribution(values.len() as u64, values.iter().map(|&value| mean.term(value)).sum())
}

// The noise of the largest budget is all but none: what is left is the exact mean, whose sum of an odd range
// is in half units. Refutes a lost half, a middle that is added twice, and a sum released as a mean.
#[test]
fn with_next_to_no_noise_the_mean_is_the_exact_one() {
    for (low, high) in [(0, 1), (-3, 4), (10, 20), (-20, -7)] {
        let mean = mean(low, high, 5, public());
        let prepared = Gaussian::rho(499.0).prepare(&mean).unwrap();
        let mut random = NoiseSource::seeded(5);
        let mut exact = prepared.tally();
        let (mut sum, mut count) = (0, 0);
        for _ in 0..2000 {
            let width = (high - low) as u64 + 20;
            let values: Vec<i64> =
                (0..1 + random.below(5)).map(|_| low - 10 + random.below(width) as i64).collect();
            sum += values.iter().map(|value| value.clamp(&low, &high)).sum::<i64>();
            count += values.len();
            exact.absorb((1, share(&mean, &values)));
        }
        let drawn = prepared.draw(exact, None, &mut random);
        let [(1, released), (2, nobody)] = drawn.answer.cells() else { panic!() };
        let truth = sum as f64 / count as f64;
        assert!((released.value() - truth).abs() < 1e-3, "{} for {truth}", released.value());
        assert!(released.low() <= truth && truth <= released.high && released.high - released.low() < 0.1);
        assert!(low as f64 <= nobody.low() && nobody.high <= high as f64);
        assert_eq!(drawn.state, None);
    }
}

// By hand for 2 keys, 5 records and a width of 7 at rho .1: the count has .03, sigma = 5 sqrt 2 / sqrt .06;
// the sum has .07 at 35 a key in half units, sigma = 35 sqrt 2 / sqrt .14 of them, and half of it in whole
// ones.
#[test]
fn sum_and_count_share_the_cost_as_stated() {
    let scales = |mechanism: &Gaussian, mean: &Mean<u32>| -> Vec<f64> {
        mechanism.prepare(mean).unwrap().noise().iter().map(Noised::scale).collect()
    };
    let near = |found: f64, truth: f64| assert!((found / truth - 1.0).abs() < 1e-9, "{found} {truth}");
    let found = scales(&Gaussian::rho(0.1), &mean(-3, 4, 5, public()));
    near(found[0], 35.0 * 2f64.sqrt() / 0.14f64.sqrt() / 2.0);
    near(found[1], 5.0 * 2f64.sqrt() / 0.06f64.sqrt());
    // Half each; and with keys to discover a third of it all, .033, to find them first, and all of it from then on.
    let found = scales(&Gaussian::rho(0.1).counting(50), &mean(-3, 4, 5, public()));
    near(found[1], 5.0 * 2f64.sqrt() / 0.1f64.sqrt());
    let discovered = Gaussian::rho(0.1).selecting(33).prepare(&mean(-3, 4, 5, Keys::discover(1e-6))).unwrap();
    let of_found = discovered.noise_of_found().unwrap();
    near(of_found[1].scale(), 5.0 * 2f64.sqrt() / (2.0 * 0.067 * 0.3f64).sqrt());
    near(discovered.noise()[1].scale(), 5.0 * 2f64.sqrt() / 0.06f64.sqrt());
    // With one record a key the count is the number of people: its draw finds the key too, with half of the price.
    let shared = Gaussian::rho(0.1).prepare(&mean(-3, 4, 1, Keys::discover(1e-6))).unwrap();
    near(shared.noise()[1].scale(), 2f64.sqrt() / 0.06f64.sqrt());
    let of_found = shared.noise_of_found().unwrap();
    near(of_found[1].scale(), 2f64.sqrt() / 0.1f64.sqrt());
    near(of_found[0].scale(), 7.0 * 2f64.sqrt() / 0.1f64.sqrt() / 2.0);
    let more = Gaussian::rho(0.1).counting(80).prepare(&mean(-3, 4, 1, Keys::discover(1e-6))).unwrap();
    near(more.noise_of_found().unwrap()[1].scale(), 2f64.sqrt() / 0.16f64.sqrt());
    assert_eq!(shared.noise()[1].number(), "records");
    let (rho, delta) = (
        BudgetUnits::at_least_float("rho", 0.1).unwrap(),
        BudgetUnits::at_least_float("delta", 1e-6).unwrap(),
    );
    for cost in [discovered.cost(), shared.cost()] {
        assert!(
            matches!(cost.amount(), PrivacyCost::Zcdp { rho: r, delta: d, .. } if (*r, *d) == (rho, delta))
        );
    }
    let pure = Laplace::epsilon(1.0).prepare(&mean(-3, 4, 5, public())).unwrap();
    near(pure.noise()[0].scale(), 70.0 / 0.7 / 2.0);
    near(pure.noise()[1].scale(), 10.0 / 0.3);
}

// 4,000 windows of a known truth, alpha 1e-6 one-sided: at least 9 in 10 intervals hold it, near the middle
// of the range, at its end, and with few records.
#[test]
fn intervals_hold_the_truth_as_often_as_they_say() {
    for (seed, people, value) in [(1, 400, 4), (2, 400, 10), (3, 6, 1)] {
        let mean = mean(0, 10, 1, Keys::public([1]).unwrap());
        let prepared = Gaussian::rho(0.2).prepare(&mean).unwrap();
        let mut noise = NoiseSource::seeded(seed);
        let held = (0..4000).filter(|_| {
            let mut exact = prepared.tally();
            (0..people).for_each(|_| exact.absorb((1, share(&mean, &[value]))));
            let drawn = prepared.draw(exact, None, &mut noise);
            let (_, released) = drawn.answer.cells()[0];
            assert!(0.0 <= released.low() && released.low() <= released.value());
            assert!(released.value() <= released.high && released.high <= 10.0);
            released.low() <= value as f64 && value as f64 <= released.high
        });
        let held = held.count();
        assert!(held as f64 > 4000.0 * 0.9 - 4.753 * (4000.0 * 0.09f64).sqrt(), "{held} of 4000");
    }
}

// By hand: of rho .2 the sum has .14, sigma = 10 sqrt 2 / sqrt .28 = 26.7 half units. Half of what may be
// outside is its own, so it is inside 1.96 sigma, which a thousand records make .0524 to either side
// together; the count adds a hundredth of that. With all of it for each, 1.645 sigma, it would be .044.
#[test]
fn sum_and_count_have_half_each_of_what_may_be_outside() {
    let mean = mean(0, 10, 1, Keys::public([1]).unwrap());
    let prepared = Gaussian::rho(0.2).prepare(&mean).unwrap();
    for seed in 0..20 {
        let mut exact = prepared.tally();
        (0..1000).for_each(|_| exact.absorb((1, share(&mean, &[5]))));
        let (_, released) = prepared.draw(exact, None, &mut NoiseSource::seeded(seed)).answer.cells()[0];
        let width = released.high - released.low();
        assert!((0.050..0.056).contains(&width), "{width}");
    }
}

#[test]
fn a_mean_over_a_whole_range_of_64_bits_is_refused_and_one_of_40_is_not() {
    let of =
        |high: i64| Mean::new(Range::new(0, high).unwrap(), ContributionBound::RECORD, public()).unwrap();
    assert_eq!(Gaussian::rho(0.1).prepare(&of(i64::MAX)).unwrap_err().field(), "sensitivity");
    assert!(Gaussian::rho(1.0).prepare(&of(1 << 38)).is_ok());
}

/// The cost of one key that a person moves by these distances, under noises of these scales.
fn key_cost(family: Family, moved: &[(f64, f64)]) -> f64 {
    let cost = |(by, scale): &(f64, f64)| match family {
        Family::Gaussian => (by / scale).powi(2) / 2.0,
        Family::Laplace => by / scale,
    };
    moved.iter().map(cost).sum()
}

// Refutes numbers of public keys, or of keys that are found, at more than what selection leaves of the price; and
// a price of which something is unused. For every number of public keys among those that a person is in.
#[test]
fn public_and_found_keys_cost_no_more_than_their_part() {
    let keys = 4;
    let limits = |per_key| Bound::keys(keys).per_key(per_key).checked().unwrap();
    let (gaussian, laplace) = (Gaussian::rho(0.3), Laplace::epsilon(0.3));
    let check = |name: &str, (known, emerging, above): (f64, f64, f64)| {
        for public in 0..=keys {
            let all = public as f64 * known + (keys - public) as f64 * emerging + above;
            assert!(all <= 0.3 * (1.0 + 1e-9) && all > 0.3 * 0.999_999, "{name} {public}: {all}");
        }
    };
    let totals = |prepared: &NoisyTotals<u32>, per_key: u64| {
        let threshold = prepared.selection.threshold().unwrap();
        let family = threshold.noise().family();
        let found = prepared.found.as_ref().unwrap();
        let [known, first] = [&prepared.numbers, &found.numbers].map(|of| of.column.noise().scale());
        let most = per_key as f64;
        let known = key_cost(family, &[(most, known)]);
        let emerging = key_cost(family, &[(1.0, threshold.noise().scale()), (most, first)]);
        // In the worst case all keys of a person have one parent.
        let above = prepared.above.as_ref().map_or(0.0, |(above, _)| {
            key_cost(family, &[(most * keys as f64, above.column.noise().scale())])
        });
        (known, emerging, above)
    };
    for per_key in [2, 5] {
        let count = Total::count(limits(per_key), Keys::discover(1e-6)).unwrap();
        let rolled = count.clone().rollup().unwrap();
        for (name, total) in [("count", &count), ("rollup", &rolled)] {
            check(name, totals(&gaussian.prepare(total).unwrap(), per_key));
            check(name, totals(&laplace.prepare(total).unwrap(), per_key));
            check(name, totals(&gaussian.clone().selecting(1).prepare(total).unwrap(), per_key));
        }
    }
    for per_key in [1, 5] {
        let range = Range::new(0, 10).unwrap();
        let mean = Mean::new(range, limits(per_key), Keys::<u32>::discover(1e-6)).unwrap();
        let of_mean = |prepared: &NoisyMeans<u32>| {
            let finding = prepared.selection.threshold().unwrap().noise();
            let found = &prepared.found.as_ref().unwrap().numbers;
            let (family, most) = (finding.family(), per_key as f64);
            let cost = |of: &Means| {
                let (counts, sums) = (of.counts.noise().scale(), of.sums.noise().scale());
                key_cost(family, &[(most, counts), (10.0 * most, sums)])
            };
            // One draw, where the count is the number of people.
            let apart = if per_key == 1 { 0.0 } else { key_cost(family, &[(1.0, finding.scale())]) };
            assert!(per_key > 1 || finding.scale() == found.counts.noise().scale());
            (cost(&prepared.numbers), cost(found) + apart, 0.0)
        };
        check("mean", of_mean(&gaussian.prepare(&mean).unwrap()));
        check("mean", of_mean(&laplace.prepare(&mean).unwrap()));
    }
}

// Refutes rows that change places, a key that was found with the noise or the interval of one that was public, and a line
// that says so.
#[test]
fn a_key_has_less_noise_once_it_is_public() {
    let total =
        Total::count(Bound::keys(1).per_key(10).checked().unwrap(), Keys::<u32>::discover(1e-6)).unwrap();
    let prepared = Gaussian::rho(0.5).prepare(&total).unwrap();
    let state = b"\x01\0\0\0\x04\0\0\0\x05";
    let scales = [&prepared.noise()[0], &prepared.noise_of_found().unwrap()[0]].map(|noised| noised.scale());
    assert!((scales[1] / scales[0] - 2f64.sqrt()).abs() < 1e-6);
    let mut squares = [0.0; 3];
    let rounds = 2_000;
    for round in 0..rounds {
        let mut exact = prepared.tally();
        for key in [2, 5, 9] {
            (0..300).for_each(|_| exact.absorb((key, total.contribution(10, 0))));
        }
        let answer = prepared.draw(exact, Some(state), &mut NoiseSource::seeded(round)).answer;
        let cells = answer.cells();
        assert_eq!(cells.iter().map(|(key, _)| *key).collect::<Vec<_>>(), [2, 5, 9]);
        for (square, (_, cell)) in squares.iter_mut().zip(cells) {
            *square += (cell.value() - 3_000).pow(2) as f64 / rounds as f64;
        }
        let widths = cells.iter().map(|(_, cell)| (cell.high - cell.value()) as f64).collect::<Vec<_>>();
        assert!(widths[0] == widths[2] && (widths[0] / widths[1] - 2f64.sqrt()).abs() < 0.05, "{widths:?}");
        if round == 0 {
            let head = Head { release: "visits", window: "null", id: "5f", promise: "", gaps: "" };
            let lines = answer.lines(&head);
            let says = |scale: f64| lines.matches(&format!("\"scale\":{scale:?}}}")).count();
            assert_eq!([says(scales[0]), says(scales[1])], [1, 2], "{lines}");
            assert!(
                lines.lines().nth(1).unwrap().contains(&format!("\"scale\":{:?}}}", scales[0])),
                "{lines}"
            );
        }
    }
    for (square, scale) in squares.iter().zip([scales[1], scales[0], scales[1]]) {
        // A mean of 2,000 squares has a deviation of 3.2%.
        assert!((square / (scale * scale) - 1.0).abs() < 0.16, "{square} {scale}");
    }
}

/// The people that keys needed and the noise of their numbers before: a part for finding them in every window, public or not, of 30%.
fn former(rho: f64, keys: u64, per_key: u64, delta: f64) -> (i64, f64) {
    let people = Sensitivity::each(&Bound::keys(keys).checked().unwrap(), 1).unwrap();
    let spend = |rho| Spend::Rho(BudgetUnits::at_least_float("rho", rho).unwrap());
    let noise = Additive::within(Family::Gaussian, spend(0.3 * rho), &people).unwrap();
    let threshold =
        Threshold::new(noise, keys, BudgetUnits::at_least_float("delta", delta).unwrap()).unwrap();
    (threshold.least(), per_key as f64 * (keys as f64 / (1.4 * rho)).sqrt())
}

// The thresholds and the noise of a count of records, before and after; `--nocapture` prints the table.
#[test]
fn keys_are_found_with_fewer_people_and_their_later_numbers_have_less_noise() {
    println!(
        "rho, keys, delta: people to find a key, before and now; noise of a later window, before and now"
    );
    for (rho, keys, delta) in
        [(0.1, 1, 1e-6), (0.1, 10, 1e-6), (0.01, 5, 1e-8), (0.002, 5, 1e-9), (0.001, 30, 1e-9)]
    {
        let (threshold, noise) = former(rho, keys, 5, delta);
        let limits = Bound::keys(keys).per_key(5).checked().unwrap();
        let total = Total::count(limits, Keys::<u32>::discover(delta)).unwrap();
        let now = Gaussian::rho(rho).prepare(&total).unwrap();
        let (least, scale) = (now.threshold().unwrap(), now.noise()[0].scale());
        println!("{rho}, {keys}, {delta:e}: {threshold}, {least}; {noise:.1}, {scale:.1}");
        let ratio = (least - 1) as f64 / (threshold - 1) as f64;
        assert!((0.3f64 / 0.5).sqrt() - ratio < 0.06 && ratio < 0.83, "{ratio}");
        assert!((scale / noise - 0.7f64.sqrt()).abs() < 1e-6);
        // A mean of one record in each key was found by its count, at 30% too.
        let mean = Mean::new(
            Range::new(0, 9).unwrap(),
            Bound::keys(keys).checked().unwrap(),
            Keys::<u32>::discover(delta),
        );
        assert_eq!(Gaussian::rho(rho).prepare(&mean.unwrap()).unwrap().threshold(), Some(least));
    }
}

// By computation, over every split: with half of the price the worse of the two, the people that find a key and the noise
// of its first number, is least, each in multiples of that with all of the price.
#[test]
fn half_of_the_price_errs_least_in_the_worse_of_both() {
    let limits = Bound::keys(3).per_key(4).checked().unwrap();
    let total = |keys: Keys<u32>| Total::count(limits, keys).unwrap();
    let (all, public) = (Total::people(limits, Keys::<u32>::discover(1e-7)).unwrap(), total(public()));
    let worse = |rho: f64, percent: u8| {
        let found = Gaussian::rho(rho).selecting(percent).prepare(&total(Keys::discover(1e-7))).unwrap();
        let least = Gaussian::rho(rho).prepare(&all).unwrap().threshold().unwrap();
        let scale = Gaussian::rho(rho).prepare(&public).unwrap().noise()[0].scale();
        let people = (found.threshold().unwrap() - 1) as f64 / (least - 1) as f64;
        people.max(found.noise_of_found().unwrap()[0].scale() / scale)
    };
    for rho in [0.0002, 0.002] {
        let best = (10..=90).map(|percent| worse(rho, percent)).min_by(f64::total_cmp).unwrap();
        let half = worse(rho, FINDING);
        assert!(half <= best * 1.005 && half < 1.43, "{rho}: {half} {best}");
        assert!(worse(rho, 30) > 1.28 * half, "{rho}");
    }
}

// Refutes an interval of no width at an end of the range, of a mean whose noise is farther out than the interval is for.
#[test]
fn an_interval_that_misses_the_range_is_all_of_it() {
    let range = Range::new(0, 10).unwrap();
    let about = |value: i128, off: i128| Estimate::between(value - off, value, value + off);
    // Half units from the middle: 10 records of 10 have 100.
    let mean = |sum: i128| divided(&range, &about(sum, 20), &about(10, 1), [1; 2]);
    let ends = |mean: Estimate<f64>| (mean.low, mean.value, mean.high);
    assert_eq!(ends(mean(150)), (0.0, 10.0, 10.0));
    assert_eq!(ends(mean(-150)), (0.0, 0.0, 10.0));
    let near = ends(mean(120));
    assert!(near.0 > 9.0 && near.0 < 10.0 && near.1 == 10.0 && near.2 == 10.0, "{near:?}");
    // Nothing but the noise is left out: an end that is the truth is an interval.
    assert_eq!(ends(divided(&range, &about(100, 0), &about(10, 0), [1; 2])), (10.0, 10.0, 10.0));
}
