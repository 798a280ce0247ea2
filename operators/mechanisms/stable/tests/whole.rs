//! Decisions by integers, and floats that do not contradict them.

use super::super::gram::{FormBounds, GramMatrix, STRADDLED};
use super::*;

// Refutes a rank by floats: of two matrices that floats cannot distinguish, one is singular.
#[test]
fn rank_is_exact() {
    let gram =
        |rows: [[i64; 2]; 2]| Pairs { dimension: 2, differences: rows.concat() }.gram([1, 1].into_iter());
    let big = 1i64 << 46;
    let (singular, full) = ([[big, big], [big - 1, big - 1]], [[big, big], [big - 1, big]]);
    assert!(GramMatrix::of(gram(singular), 2).is_none());
    assert!(GramMatrix::of(gram(full), 2).is_some());
    let in_floats = |gram: Vec<i128>| {
        let gram: Vec<f64> = gram.iter().map(|&entry| entry as f64).collect();
        gram[0] * gram[3] - gram[1] * gram[2] > 0.0
    };
    let wrong = in_floats(gram(singular)) || !in_floats(gram(full));
    assert!(wrong, "the mutant is distinguished");
}

// Refutes an error bound of floats: big integers alone decide the same. On random records floats decide
// nearly all.
#[test]
fn floats_decide_as_big_integers_do() {
    let (mut asked, mut straddled) = (0, 0);
    for (seed, dimension) in [(1, 1), (2, 2), (3, 3), (4, 4)] {
        let levels = Levels { k: 2, lambda: 12 + 4 * dimension as u64 };
        let people = 20 * 2 * levels.lambda as usize;
        let deviations: Vec<f64> = (0..dimension).map(|axis| 10f64.powi(2 + 2 * axis as i32)).collect();
        let records = gaussian(people, &deviations, &vec![3; dimension], seed);
        let pairs = Pairs::of(&records, dimension);
        let begun = STRADDLED.get();
        let plain = levels.good(&pairs);
        let cores = |covariance: &Covariance| levels.cores_of(&records, &pairs, covariance);
        let plain_cores = plain.covariance.as_ref().map(cores);
        straddled += STRADDLED.get() - begun;
        asked += pairs.len() + people;
        let begun = STRADDLED.get();
        let exact = levels.good_by(&pairs, &GramMatrix::exactly);
        let exact_cores = exact.covariance.as_ref().map(cores);
        assert!(STRADDLED.get() - begun >= pairs.len() as u64);
        assert_eq!(plain.score, exact.score);
        let (Some(plain), Some(exact)) = (plain.covariance, exact.covariance) else { continue };
        assert_eq!(plain.weights, exact.weights);
        let (Some(plain), Some(exact)) = (plain_cores, exact_cores) else { continue };
        assert_eq!((plain.score, plain.weights), (exact.score, exact.weights));
    }
    assert!(straddled * 1000 <= asked as u64, "{straddled} of {asked}");
}

// Refutes an error bound that is too small: if axes nearly coincide, the float value of a form has lost most
// of its digits, and its bounds still hold. Forms are compared with the ends of the bounds as fractions of
// 2^100.
#[test]
fn what_floats_know_holds_the_truth_where_axes_nearly_coincide() {
    let mut noise = NoiseSource::seeded(31);
    let (mut lost, mut known) = (0, 0);
    for round in 0..40 {
        let (dimension, near) = (2 + round % 3, 1u64 << (4 + round));
        let pairs = 50 * dimension;
        let differences: Vec<i64> = (0..pairs)
            .flat_map(|_| {
                let all = noise.below(1 << 46) as i64 - (1 << 45);
                (0..dimension).map(|_| all + noise.below(near) as i64).collect::<Vec<_>>()
            })
            .collect();
        let pairs = Pairs { dimension, differences };
        let Some(shape) = GramMatrix::of(pairs.gram(std::iter::repeat_n(1, pairs.len())), dimension) else {
            panic!()
        };
        let mut white = [vec![0.0; dimension], vec![0.0; dimension]];
        let [one, other] = &mut white;
        for two in pairs.differences.chunks_exact(2 * dimension) {
            let (u, v) = two.split_at(dimension);
            let errors = [shape.whitened(u, one), shape.whitened(v, other)];
            let length = |v: &[f64]| v.iter().map(|x| x * x).sum::<f64>().sqrt();
            let apart: Vec<f64> = one.iter().zip(other.iter()).map(|(a, b)| a - b).collect();
            let between: Vec<i64> = u.iter().zip(v).map(|(a, b)| a - b).collect();
            let forms = [(u, length(one), errors[0]), (&between, length(&apart), errors[0] + errors[1])];
            for (v, length, error) in forms {
                let FormBounds { low, high } = shape.between(length, error);
                if high == f64::INFINITY {
                    continue;
                }
                let at = |end: f64| (end * 2f64.powi(100)) as u128;
                assert!(low == 0.0 || shape.exceeds(v, 1, at(low) - 1, 1 << 100), "{round}: {low} {high}");
                assert!(!shape.exceeds(v, 1, at(high) + 1, 1 << 100), "{round}: {low} {high}");
                known += 1;
                // The mutant: lengths without their error would be wrong.
                let square = length * length;
                lost += u32::from(
                    !shape.exceeds(v, 1, at(square * (1.0 - 1e-8)), 1 << 100)
                        || shape.exceeds(v, 1, at(square * (1.0 + 1e-8)), 1 << 100),
                );
            }
        }
    }
    assert!(known > 1000 && lost > 100, "{known} {lost}");
}

// Refutes a tie that is broken by rounding: a record at the radius, to the last bit, is within it.
#[test]
fn a_leverage_at_the_limit_is_decided_exactly() {
    let shape = GramMatrix::of(vec![3_000_000_007, 1, 1, 5_000_000_029], 2).unwrap();
    let exact = GramMatrix::exactly(vec![3_000_000_007, 1, 1, 5_000_000_029], 2).unwrap();
    // For v = (1, 0), v' adj v = 5000000029; the determinant is the product of the diagonal less 1.
    let determinant = 3_000_000_007u128 * 5_000_000_029 - 1;
    for shape in [shape, exact] {
        assert!(!shape.exceeds(&[1, 0], determinant, 5_000_000_029, 1));
        assert!(shape.exceeds(&[1, 0], determinant, 5_000_000_029 - 1, 1));
    }
}

// Refutes 4 k references: records on either side, each near half of them, would both have a weight, and lie
// too far apart.
#[test]
fn two_records_that_share_no_reference_have_no_weight_together() {
    let levels = Levels { k: 4, lambda: 10 };
    let pairs = 10 * 4 * 10u64;
    let (over, under) = levels.gamma(pairs);
    let top = (10.0 * (1.0 - over as f64 / under as f64).powi(-8)).sqrt();
    let outermost = |references: usize| {
        // One axis, on which v' G^-1 v m k is the square of v / 10^6.
        let unit = 1_000_000i64;
        let covariance = Covariance {
            shape: GramMatrix::of(vec![i128::from(pairs) * 4 * i128::from(unit * unit)], 1).unwrap(),
            gram: Vec::new(),
            weights: Vec::new(),
        };
        // All references are within the radius of level zero of each other; no other record is far.
        let near = (10f64.sqrt() * unit as f64) as i64 / 2;
        let mut records = vec![0; 2 * pairs as usize];
        for (reference, x) in records[..references].iter_mut().enumerate() {
            *x = if reference % 2 == 0 { near } else { -near };
        }
        let away = near + (top * unit as f64) as i64 - 10;
        let last = records.len() - 2;
        records[last..].copy_from_slice(&[away, -away]);
        let cores = levels.cores(&records, 1, references, pairs, &covariance);
        assert!(cores.score < levels.k, "{}", cores.score);
        // Two records that shared a reference would be apart by two radii at most.
        assert!(2.0 * away as f64 / unit as f64 > 2.5 * top);
        (cores.weights[last], cores.weights[last + 1])
    };
    assert!(outermost(4 * 4).0 > 0 && outermost(4 * 4).1 > 0);
    assert_eq!(outermost(levels.references()), (0, 0));
    let shared = |references: usize, k: usize| 2 * (references - 2 * k) > references + 1;
    for k in 2..=1000 {
        assert!(shared(Levels { k, lambda: 1 }.references(), k as usize));
        assert!(!shared(4 * k as usize, k as usize));
    }
}

#[test]
#[ignore = "a measurement"]
#[allow(clippy::print_stdout)]
fn how_long_a_hundred_thousand_records_take() {
    for (dimension, people) in [(1, 100_000), (5, 100_000), (20, 100_000), (20, 240_000)] {
        let levels =
            Levels { k: 60, lambda: [0, 39, 0, 0, 0, 54][dimension.min(5)] + 3 * (dimension as u64 / 6) };
        let deviations: Vec<f64> = (0..dimension).map(|axis| 1e3 * 1.4f64.powi(axis as i32)).collect();
        let records = gaussian(people, &deviations, &vec![1000; dimension], 7);
        STRADDLED.set(0);
        let begun = std::time::Instant::now();
        let pairs = Pairs::of(&records, dimension);
        let good = levels.good(&pairs);
        let first = begun.elapsed().as_secs_f64();
        let cores = levels.cores_of(&records, &pairs, good.covariance.as_ref().unwrap());
        println!(
            "d = {dimension}, n = {people}: sets {first:.2} s (score {}), cores {:.2} s (score {}), {} decisions by big integers",
            good.score,
            begun.elapsed().as_secs_f64() - first,
            cores.score,
            STRADDLED.get()
        );
    }
}
