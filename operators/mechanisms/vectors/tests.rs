//! Tests of clipped and shaped means of vectors: against plain sums, by hand, and over many draws.

use super::*;
use crate::accounting::shape::{DataDomain, Norm};
use crate::mechanisms::{
    Bound, ContributionBound, Coordinate, DecimalPoint, Gaussian, Head, Keys, Laplace, Mechanism, Noised,
    Prepared, ReleaseLines, Statistic, Summary, Tally,
};
use crate::noise::NoiseSource;

fn limits(keys: u64, per_key: u64) -> ContributionBound {
    Bound::keys(keys).per_key(per_key).checked().unwrap()
}

fn public() -> Keys<u32> {
    Keys::public([1, 2]).unwrap()
}

fn clipped(ranges: &[(i64, i64)], per_key: u64) -> VectorMean<u32> {
    VectorMean::clipped(&Ranges::new(ranges.to_vec()).unwrap(), limits(2, per_key), public()).unwrap()
}

fn over(domain: &DataDomain, per_key: u64) -> VectorMean<u32> {
    VectorMean::over(domain, Norm::EUCLIDEAN, limits(2, per_key), public()).unwrap()
}

fn near(found: f64, truth: f64) {
    assert!((found / truth - 1.0).abs() < 1e-9, "{found} for {truth}");
}

/// Returns the records of this number of people, some of them beyond their bounds, and the mean of the
/// clipped records.
fn crowd(ranges: &[(i64, i64)], people: usize, random: &mut NoiseSource) -> (Vec<Vec<Vec<i64>>>, Vec<f64>) {
    let (mut sums, mut count) = (vec![0i64; ranges.len()], 0);
    let mut record = |random: &mut NoiseSource| -> Vec<i64> {
        count += 1;
        let value = |(sum, &(low, high)): (&mut i64, &(i64, i64))| {
            let value = low - 5 + random.below((high - low) as u64 + 10) as i64;
            *sum += value.clamp(low, high);
            value
        };
        sums.iter_mut().zip(ranges).map(value).collect()
    };
    let all = (0..people).map(|_| (0..1 + random.below(3)).map(|_| record(random)).collect()).collect();
    (all, sums.iter().map(|&sum| sum as f64 / f64::from(count)).collect())
}

// The noise of the largest budget is negligible. Refutes a swapped coordinate, a lost half, a middle that is
// added twice, and a shape that is not undone.
#[test]
fn with_next_to_no_noise_each_coordinate_is_its_own_mean() {
    let ranges = [(-3, 4), (10, 20), (0, 100)];
    // A box around zero that contains the ranges.
    let domain = DataDomain::reaching(&[4.0, 20.0, 100.0]).unwrap();
    for (place, mean) in [clipped(&ranges, 3), over(&domain, 3)].into_iter().enumerate() {
        let prepared = Gaussian::rho(499.0).prepare(&mean).unwrap();
        let mut random = NoiseSource::seeded(5);
        let (people, truth) = crowd(&ranges, 2_000, &mut random);
        let mut exact = prepared.tally();
        for records in &people {
            let records: Vec<Vec<i64>> = records
                .iter()
                .map(|record| {
                    let clip = |(value, &(low, high)): (&i64, &(i64, i64))| (*value).clamp(low, high);
                    // A vector outside of a domain is scaled as a whole, so the records are put inside first.
                    if place == 1 { record.iter().zip(&ranges).map(clip).collect() } else { record.clone() }
                })
                .collect();
            exact.absorb((2, mean.of_one(&records)));
        }
        let drawn = prepared.draw(exact, None, &mut random);
        let cells = drawn.answer.cells();
        assert_eq!(cells.iter().map(|(key, _)| *key).collect::<Vec<_>>(), [1, 1, 1, 2, 2, 2]);
        for ((_, released), truth) in cells[3..].iter().zip(&truth) {
            assert!((released.value() - truth).abs() < 0.01, "{} for {truth}", released.value());
            assert!(
                released.low() <= *truth && *truth <= released.high && released.high - released.low() < 0.5
            );
        }
        assert_eq!(drawn.state, None);
    }
}

// By hand, for 2 keys and 5 records at rho .1. Clipped to widths of 7 and 10, the count has .03 and each sum
// has half of .07; the sums move by 35 and 50 half units in a key. Refutes a coordinate that is not paid for,
// and one that pays for another's width.
#[test]
fn coordinates_share_the_cost_as_stated() {
    let scales = |mechanism: &Gaussian, mean: &VectorMean<u32>| -> Vec<f64> {
        mechanism.prepare(mean).unwrap().noise().iter().map(Noised::scale).collect()
    };
    let mean = clipped(&[(-3, 4), (10, 20)], 5);
    let found = scales(&Gaussian::rho(0.1), &mean);
    near(found[0], 35.0 * 2f64.sqrt() / 0.07f64.sqrt() / 2.0);
    near(found[1], 50.0 * 2f64.sqrt() / 0.07f64.sqrt() / 2.0);
    near(found[2], 5.0 * 2f64.sqrt() / 0.06f64.sqrt());
    assert_eq!(mean.sensitivity().l2_squared(), 2 * (35 * 35 + 50 * 50 + 10 * 10));
    // A box that reaches 1, 2, 3 has variances of 6, 12, 18 where one vector costs a half; all of .07 is for
    // one vector of length 5.
    let mean = over(&DataDomain::reaching(&[1.0, 2.0, 3.0]).unwrap(), 5);
    let found = scales(&Gaussian::rho(0.1), &mean);
    for (scale, variance) in found.iter().zip([6f64, 12.0, 18.0]) {
        near(*scale, (variance * 2.0 / 0.14).sqrt() * 5.0);
    }
    near(found[3], 5.0 * 2f64.sqrt() / 0.06f64.sqrt());
    let pure = Laplace::epsilon(1.0).prepare(&clipped(&[(-3, 4), (10, 20)], 5)).unwrap();
    near(pure.noise()[0].scale(), 70.0 / 0.35 / 2.0);
    near(pure.noise()[2].scale(), 10.0 / 0.3);
    let refused = Laplace::epsilon(1.0).prepare(&mean).unwrap_err();
    assert_eq!(refused.field(), "noise");
}

// By hand at rho .1: chi is the root of e^.2 - 1, and the sums have .07 of the cost. In units of its ranges a
// clipped vector is as good as a single number; the shape of a box is optimal, and has the same ratio.
#[test]
fn a_sum_says_how_far_above_the_bound_it_is() {
    let over_bound = |noise: &[Noised]| noise[0].over_bound();
    let ratio = (0.2f64.exp_m1() / 0.14).sqrt();
    let gaussian = Gaussian::rho(0.1);
    for mean in [clipped(&[(0, 7)], 5), clipped(&[(-3, 4), (10, 20), (0, 1_000)], 1)] {
        near(over_bound(gaussian.prepare(&mean).unwrap().noise()).unwrap(), ratio);
    }
    let domain = DataDomain::reaching(&[1.0, 2.0, 3.0]).unwrap();
    near(over_bound(gaussian.prepare(&over(&domain, 3)).unwrap().noise()).unwrap(), ratio);
    // A count has no such ratio, and neither have keys that are discovered.
    let prepared = gaussian.prepare(&clipped(&[(0, 7)], 5)).unwrap();
    assert_eq!(prepared.noise()[1].over_bound(), None);
    let ranges = Ranges::new([(0, 7)]).unwrap();
    let found = VectorMean::clipped(&ranges, limits(2, 1), Keys::<u32>::discover(1e-6)).unwrap();
    assert_eq!(over_bound(gaussian.prepare(&found).unwrap().noise()), None);
    // A bound of two keys is paid for even if there is only one.
    let one = VectorMean::clipped(&ranges, limits(2, 1), Keys::public([1]).unwrap()).unwrap();
    near(over_bound(gaussian.prepare(&one).unwrap().noise()).unwrap(), ratio * 2f64.sqrt());
    // Pure epsilon 1: chi is 2 sinh(1/2), the deviation is the root of 2 over .7.
    let pure = Laplace::epsilon(1.0).prepare(&one).unwrap();
    near(over_bound(pure.noise()).unwrap(), 2f64.sqrt() / 0.7 * 2.0 * 0.5f64.sinh() * 2.0);
}

// 2,000 windows with a known mean, alpha 1e-6 one-sided: at least 9 in 10 intervals contain it, for each
// coordinate.
#[test]
fn intervals_hold_the_truth_as_often_as_they_say() {
    let domain = DataDomain::reaching(&[10.0, 200.0]).unwrap();
    let means = [(1, [5, 76], clipped(&[(0, 10), (-50, 200)], 1)), (2, [1, -5], over(&domain, 1))];
    for (seed, record, mean) in means {
        let prepared = Gaussian::rho(0.2).prepare(&mean).unwrap();
        let mut noise = NoiseSource::seeded(seed);
        let mut held = [0; 2];
        for _ in 0..2_000 {
            let mut exact = prepared.tally();
            (0..400).for_each(|_| exact.absorb((1, mean.of_one(&[record]))));
            let drawn = prepared.draw(exact, None, &mut noise);
            for ((_, released), (truth, held)) in
                drawn.answer.cells().iter().zip(record.iter().zip(&mut held))
            {
                assert!(released.low() <= released.value() && released.value() <= released.high);
                *held += i32::from(released.low() <= *truth as f64 && *truth as f64 <= released.high);
            }
        }
        let least = 2000.0 * 0.9 - 4.753 * (2000.0 * 0.09f64).sqrt();
        assert!(held.iter().all(|&held| f64::from(held) > least), "{held:?} of 2000");
        // The coverage is not much higher either: where the count matters little, it is that of the sum, 95
        // of 100.
        assert!(held.iter().all(|&held| held < 1_960), "{held:?} of 2000");
    }
}

// Refutes more than `per_key` records, a record beyond its bound, and a record of another length that is
// dropped or read beyond its end.
#[test]
fn a_person_adds_no_more_than_was_said() {
    let mean = clipped(&[(-3, 4), (10, 20)], 2);
    let far = [i64::MIN, i64::MAX];
    assert_eq!(mean.of_one(&[far, far, far]).shown(), [1, 2, -14, 20]);
    assert_eq!(mean.of_one::<[i64; 2]>(&[]), Moments::default());
    let ragged: [&[i64]; 3] = [&[], &[4], &[1, 2, 3]];
    assert_eq!(mean.of_one(&ragged).shown(), [1, 2, 0, 0]);
    let mean = over(&DataDomain::ball(2.0, 10.0, 2).unwrap(), 3);
    for record in [far, [i64::MIN, i64::MIN], [7, 7], [8, 6], [0, 10]] {
        let shown = mean.of_one(&[record; 5]).shown();
        let squared: i128 = shown[2..].iter().map(|sum| sum * sum).sum();
        let most = 9i128 << 60;
        assert!(squared <= most && squared > most - (most >> 20) || record == [7, 7], "{record:?}");
        assert_eq!(shown[..2], [1, 3]);
    }
    assert_eq!(mean.of_one(&[&[1][..]]).shown(), [1, 1, 0, 0]);
}

// Refutes an answer that depends on the division of people among workers, or on their order.
#[test]
fn parts_add_up_in_any_order_and_division() {
    let mean = clipped(&[(0, 9), (0, 99)], 3);
    let prepared = Gaussian::rho(0.1).prepare(&mean).unwrap();
    let (people, _) = crowd(&[(0, 9), (0, 99)], 60, &mut NoiseSource::seeded(3));
    let answer = |workers: usize| {
        let mut exact = prepared.tally();
        for worker in (0..workers).rev() {
            let mut part = Moments::default();
            people.iter().skip(worker).step_by(workers).for_each(|records| mean.add(&mut part, records));
            exact.absorb((1, part));
        }
        prepared.draw(exact, None, &mut NoiseSource::seeded(9)).answer
    };
    assert!((2..6).all(|workers| answer(workers) == answer(1)));
    assert_eq!(format!("{:?}", mean.of_one(&[[1, 2]])), "<private>");
}

#[test]
fn a_line_is_written_for_each_coordinate() {
    let mean = clipped(&[(0, 10), (0, 1000)], 1);
    let mean = mean.with_coordinates(vec![
        Coordinate::named("minutes", DecimalPoint::WHOLE),
        Coordinate::named("fare", DecimalPoint::digits(2).unwrap()),
    ]);
    let mean = mean.unwrap();
    let prepared = Gaussian::rho(100.0).prepare(&mean).unwrap();
    let mut exact = prepared.tally();
    (0..4000).for_each(|_| exact.absorb((2, mean.of_one(&[[5, 250]]))));
    let answer = prepared.draw(exact, None, &mut NoiseSource::seeded(1)).answer;
    let released = answer.lines(&Head { release: "rides", window: "null", id: "5f", promise: "p", gaps: "" });
    let lines: Vec<serde_json::Value> =
        released.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of: Vec<_> = lines.iter().map(|line| (line["key"].as_u64(), line["of"].as_str())).collect();
    let (minutes, fare) = (Some("minutes"), Some("fare"));
    assert_eq!(of, [(Some(1), minutes), (Some(1), fare), (Some(2), minutes), (Some(2), fare)]);
    assert!((lines[3]["value"].as_f64().unwrap() - 2.5).abs() < 1e-3);
    assert!((lines[2]["value"].as_f64().unwrap() - 5.0).abs() < 1e-3);
    let scale = |line: usize| lines[line]["noise"][0]["scale"].as_f64().unwrap();
    assert!((scale(0) * 1e2 / (scale(1) * 1e2) - 1.0).abs() < 1e-6, "a hundredth of a hundredfold range");
    assert_eq!(lines[0]["noise"][1]["number"], "records");
    assert!(lines[0]["noise"][0]["over_bound"].is_null(), "a price at which hardly anything is hidden");
    assert_eq!(clipped(&[(0, 10)], 1).with_coordinates(vec![]).unwrap_err().field(), "of");
    let unnamed = Gaussian::rho(1.0).prepare(&clipped(&[(0, 10), (0, 10)], 1)).unwrap();
    let released = unnamed.draw(unnamed.tally(), None, &mut NoiseSource::seeded(1)).answer;
    let released = released.lines(&Head { release: "r", window: "null", id: "5f", promise: "p", gaps: "" });
    assert!(released.contains(r#","over_bound":2.1363}"#), "{released}");
    assert!(released.starts_with(r#"{"release":"r","window":null,"key":1,"of":0,"value":"#), "{released}");
}

#[test]
fn what_bounds_nothing_is_refused() {
    let field = |ranges: Vec<(i64, i64)>| Ranges::new(ranges).unwrap_err().field().to_owned();
    assert_eq!(field(vec![]), "ranges");
    assert_eq!(field(vec![(0, 1), (5, 5)]), "ranges[1]");
    assert_eq!(field(vec![(0, 1); 257]), "ranges");
    let wide = Ranges::new([(i64::MIN, i64::MAX)]).unwrap();
    let wide = VectorMean::clipped(&wide, limits(1, 1), public()).unwrap();
    assert_eq!(Gaussian::rho(0.1).prepare(&wide).unwrap_err().field(), "sensitivity");
    let ranges = Ranges::new([(i64::MIN, i64::MAX); 2]).unwrap();
    assert_eq!(VectorMean::clipped(&ranges, limits(1, 1), public()).unwrap_err().field(), "bound");
}

// Refutes a bound, a name or a decimal point that is missing from the hash of the parameters.
#[test]
fn another_parameter_is_another_hash() {
    let hash = |mean: &VectorMean<u32>| Gaussian::rho(0.1).prepare(mean).unwrap().parameters();
    let ball = |radius| over(&DataDomain::ball(2.0, radius, 2).unwrap(), 1);
    let named = |name, digits| {
        let point = DecimalPoint::digits(digits).unwrap();
        let released = vec![Coordinate::named(name, point), Coordinate::unnamed()];
        clipped(&[(0, 10), (0, 10)], 1).with_coordinates(released).unwrap()
    };
    let means = [
        clipped(&[(0, 10)], 1),
        clipped(&[(0, 10), (0, 10)], 1),
        clipped(&[(0, 10), (0, 11)], 1),
        clipped(&[(-1, 10), (0, 10)], 1),
        clipped(&[(0, 10), (0, 10)], 2),
        named("a", 0),
        named("b", 0),
        named("a", 1),
        ball(1.0),
        ball(2.0),
        over(&DataDomain::reaching(&[1.0, 2.0]).unwrap(), 1),
    ];
    let hashes: Vec<_> = means.iter().map(hash).collect();
    for (place, digest) in hashes.iter().enumerate() {
        assert_eq!(hashes.iter().position(|other| other == digest), Some(place));
    }
    assert_eq!(hashes, means.iter().map(hash).collect::<Vec<_>>());
}
