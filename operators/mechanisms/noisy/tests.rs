use super::*;
use crate::accounting::BudgetUnits;
use crate::mechanisms::additive::FINDING;
use crate::mechanisms::weight::Norm;
use crate::mechanisms::{
    Bound, Gaussian, Head, Keys, Laplace, Mean, Mechanism, Prepared, Range, ReleaseLines, Tally,
};

fn public() -> Keys<u32> {
    Keys::public([1, 2]).unwrap()
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
}

// Refutes a public key that spends all of the price of people who count in part, beside what finds their other keys: one key of all the
// records of a person, and others of one record or of the value 0; and people whose keys weigh the same and pay for more than that.
#[test]
fn people_in_part_pay_for_the_keys_that_are_found_too() {
    let (keys, most) = (10_u64, 100.0);
    for (norm, rule, family) in
        [(Norm::L2, None, Family::Gaussian), (Norm::L1, Some(Laplace::epsilon(0.1)), Family::Laplace)]
    {
        let limits = |per_key| Bound::keys(keys).per_key(per_key).weight(1, norm).checked().unwrap();
        let discover = || Keys::<u32>::discover(1e-6);
        let range = Range::new(0, 100).unwrap();
        for (total, least, is_equal) in [
            (Total::count(limits(100), discover()), 1.0, false),
            (Total::sum(range, limits(1), discover()), 0.0, false),
            (Total::people(limits(1), discover()), most, true),
        ] {
            let total = total.unwrap();
            let most = if is_equal { 1.0 } else { most };
            let prepared = match &rule {
                Some(laplace) => laplace.prepare(&total).unwrap(),
                None => Gaussian::rho(0.1).prepare(&total).unwrap(),
            };
            let threshold = prepared.selection.threshold().unwrap().noise().scale();
            let [known, first] =
                [prepared.noise(), prepared.noise_of_found().unwrap()].map(|of| of[0].scale());
            let mut worst = 0.0_f64;
            for public in 0..=keys {
                for large in [0, 1, keys] {
                    let shares: Vec<f64> =
                        (0..keys).map(|key| if key < large || is_equal { most } else { least }).collect();
                    let length = match norm {
                        Norm::L1 => shares.iter().sum::<f64>(),
                        Norm::L2 => shares.iter().map(|share| share * share).sum::<f64>().sqrt(),
                    };
                    let factor = (most / length.max(1e-9)).min(1.0);
                    let cost = |(key, share): (u64, &f64)| match key < public {
                        true => key_cost(family, &[(share * factor, known)]),
                        false => key_cost(family, &[(1.0, threshold), (share * factor, first)]),
                    };
                    worst = worst.max((0..).zip(&shares).map(cost).sum());
                }
            }
            assert!((0.08..=0.1 * (1.0 + 1e-6)).contains(&worst), "{norm:?} {least}: {worst}");
            assert_eq!(known < first, is_equal, "{norm:?} {least}");
        }
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
