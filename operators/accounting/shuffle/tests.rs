use super::*;
use crate::noise::goodness::full;

fn shuffle(people: u64, local: f64, randomizer: Randomizer) -> Shuffle {
    Shuffle::new(people, local, randomizer).unwrap()
}

const BINARY: Randomizer = Randomizer::Response { choices: 2 };

// Refutes a sum that drops the numbers of clones that it does not split: they count in full.
#[test]
fn numbers_of_clones_that_are_not_split_count_in_full() {
    let (people, epsilon) = (20_000, 0.1);
    let shuffle = shuffle(people, 2.0, Randomizer::Any);
    let (others, mean) = (people as f64 - 1.0, (people as f64 - 1.0) * shuffle.clones());
    // Without deviations the numbers within 40 of the mean are split.
    let [mut split, mut below, mut above] = [0.0; 3];
    for count in 0..people {
        let (count, mass) = (count as f64, mass(others, count as f64, shuffle.clones()));
        match count {
            count if count < (mean - 40.0).floor() => below += mass,
            count if count > (mean + 40.0).ceil() => above += mass,
            count => split += mass * shuffle.split(count, epsilon),
        }
    }
    assert!(below > 0.1 && above > 0.1);
    let found = shuffle.delta_within(epsilon, 0.0);
    assert!(found >= split + below + above, "{found}: {split}, {below}, {above}");
}

// (people, local epsilon, delta) to the closed form, and the clones of any randomizer; from an independent program.
#[test]
fn epsilons_of_any_randomizer_are_those_of_the_tables() {
    for (people, local, delta, closed, any) in [
        (1_000, 1.0, 1e-6, 0.56620, 0.18241),
        (10_000, 1.0, 1e-6, 0.21403, 0.05301),
        (10_000, 2.0, 1e-6, 0.50092, 0.15505),
        (100_000, 4.0, 1e-8, 0.59123, 0.21493),
    ] {
        let shuffle = shuffle(people, local, Randomizer::Any);
        near(shuffle.epsilon_closed(delta).unwrap(), closed);
        near(shuffle.epsilon(delta).unwrap(), any);
        assert_eq!(shuffle.epsilon_attained(delta).unwrap(), None);
    }
    // Outside its condition the closed form says nothing.
    assert_eq!(shuffle(1_000, 4.0, Randomizer::Any).epsilon_closed(1e-6).unwrap(), 4.0);
}

fn near(found: f64, wanted: f64) {
    assert!((found - wanted).abs() <= 1e-4, "{found} {wanted}");
}

// (people, local epsilon, delta, choices, the least and the attained epsilon); from an independent program. 0 choices are unary.
const BLANKETS: [(u64, f64, f64, u32, f64, f64); 17] = [
    (1_000, 1.0, 1e-6, 2, 0.14867, 0.12661),
    (1_000, 1.0, 1e-6, 4, 0.11785, 0.11769),
    (1_000, 1.0, 1e-6, 16, 0.06427, 0.06423),
    (1_000, 1.0, 1e-6, 128, 0.02240, 0.02239),
    (1_000, 1.0, 1e-6, 0, 0.12111, 0.0),
    (10_000, 1.0, 1e-6, 2, 0.04321, 0.03566),
    (10_000, 1.0, 1e-6, 4, 0.03426, 0.03426),
    (10_000, 1.0, 1e-6, 16, 0.01859, 0.01859),
    (10_000, 1.0, 1e-6, 128, 0.00629, 0.00629),
    (10_000, 1.0, 1e-6, 0, 0.03521, 0.0),
    (10_000, 2.0, 1e-6, 2, 0.11440, 0.08702),
    (10_000, 2.0, 1e-6, 4, 0.10198, 0.10195),
    (10_000, 2.0, 1e-6, 16, 0.06750, 0.06748),
    (10_000, 2.0, 1e-6, 128, 0.02577, 0.02576),
    (10_000, 2.0, 1e-6, 0, 0.08438, 0.0),
    (100_000, 4.0, 1e-8, 2, 0.15067, 0.10973),
    (100_000, 4.0, 1e-8, 128, 0.08090, 0.08090),
];

// Refutes a bound that is larger than the blanket's, and one below what the reports really cost.
#[test]
fn epsilons_of_known_randomizers_are_those_of_the_tables() {
    // Every row takes some seconds without optimization.
    let rows = BLANKETS.into_iter().enumerate().filter(|(at, _)| [0, 1, 3, 4, 7].contains(at) || full());
    for (_, (people, local, delta, choices, least, attained)) in rows {
        let randomizer = if choices == 0 { Randomizer::Unary } else { Randomizer::Response { choices } };
        let shuffle = shuffle(people, local, randomizer);
        let found = shuffle.epsilon(delta).unwrap();
        near(found, least);
        match shuffle.epsilon_attained(delta).unwrap() {
            None => assert_eq!(choices, 0),
            Some(floor) => {
                near(floor, attained);
                assert!(floor <= found, "{people} {local} {choices}: {floor} {found}");
            }
        }
    }
}

// The largest local epsilons of 10,000 people; from an independent program.
#[test]
fn local_epsilons_are_calibrated_by_the_blanket() {
    for (epsilon, choices, any, local) in
        [(0.1, 16, 1.5239, 2.3904), (0.5, 16, 3.7024, 4.4843), (1.0, 128, 4.7970, 5.8514)]
    {
        let calibrated = |randomizer| Shuffle::calibrate(10_000, epsilon, 1e-6, randomizer).unwrap();
        near(calibrated(Randomizer::Any), any);
        // The other program puts numbers into wider buckets, and finds somewhat less.
        let found = calibrated(Randomizer::Response { choices });
        assert!((local - 1e-4..local + 5e-4).contains(&found), "{found} {local}");
    }
}

/// The hockey stick of binary randomised response itself: the law of the number of ones, when one person's
/// bit is 1 or 0 and the others' bits are `ones` ones, by adding people one at a time.
fn response(people: usize, ones: usize, local: f64, epsilon: f64) -> f64 {
    let truth = local.exp() / (local.exp() + 1.0);
    let law = |first: f64| {
        let mut law = vec![1.0 - first, first];
        for person in 1..people {
            let one = if person <= ones { truth } else { 1.0 - truth };
            let mut next = vec![0.0; law.len() + 1];
            for (count, mass) in law.iter().enumerate() {
                next[count] += mass * (1.0 - one);
                next[count + 1] += mass * one;
            }
            law = next;
        }
        law
    };
    let (p, q) = (law(truth), law(1.0 - truth));
    let stick =
        |p: &[f64], q: &[f64]| p.iter().zip(q).map(|(p, q)| (p - epsilon.exp() * q).max(0.0)).sum::<f64>();
    stick(&p, &q).max(stick(&q, &p))
}

/// The clones' hockey stick by its definition: every number of clones, every split, no threshold.
fn clones(people: usize, local: f64, gamma: f64, epsilon: f64) -> f64 {
    let choose =
        |n: usize, k: usize| (0..k).fold(1.0, |product, i| product * (n - i) as f64 / (i + 1) as f64);
    let a = local.exp() / (local.exp() + 1.0);
    let mut delta = 0.0;
    for count in 0..people {
        let weight = choose(people - 1, count)
            * gamma.powi(count as i32)
            * (1.0 - gamma).powi((people - 1 - count) as i32);
        let half = |k: i64| {
            if (0..=count as i64).contains(&k) {
                choose(count, k as usize) * 0.5f64.powi(count as i32)
            } else {
                0.0
            }
        };
        for k in 0..=count as i64 + 1 {
            let p = a * half(k - 1) + (1.0 - a) * half(k);
            let q = (1.0 - a) * half(k - 1) + a * half(k);
            delta += weight * (p - epsilon.exp() * q).max(0.0);
        }
    }
    delta
}

// Refutes a threshold off by one, a dropped count, a tail on the wrong side; and a bound below the
// mechanism's own cost.
#[test]
fn small_batches_are_exact_and_above_the_mechanism() {
    for people in 2..=12usize {
        for local in [0.1, 0.5, 1.0, 2.0, 4.0] {
            for part in [0.0, 0.05, 0.3, 0.7, 0.99] {
                let epsilon = part * local;
                // Of two choices the blanket is the clones.
                for (randomizer, gamma) in
                    [(Randomizer::Any, f64::exp(-local)), (BINARY, 2.0 / (f64::exp(local) + 1.0))]
                {
                    let found = shuffle(people as u64, local, randomizer).delta(epsilon);
                    let truth = clones(people, local, gamma, epsilon);
                    assert!(
                        (found - truth).abs() <= 1e-9 * truth + 1e-15,
                        "{people} {local} {epsilon}: {found:e} {truth:e}"
                    );
                }
                let bound = shuffle(people as u64, local, BINARY).delta(epsilon);
                for ones in 0..people {
                    let own = response(people, ones, local, epsilon);
                    assert!(
                        bound >= own * (1.0 - 1e-12) - 1e-16,
                        "{people} {ones} {local} {epsilon}: {bound:e} {own:e}"
                    );
                }
            }
        }
    }
}

// More people, weaker reports of one's own and more epsilon never cost more delta; nothing is above the local
// epsilon.
#[test]
fn more_people_hide_better() {
    let delta = |people, local, epsilon| shuffle(people, local, Randomizer::Any).delta(epsilon);
    for people in [2, 10, 100, 1_000, 20_000] {
        assert!(delta(people * 2, 1.0, 0.02) <= delta(people, 1.0, 0.02));
        assert!(delta(people, 1.1, 0.02) >= delta(people, 1.0, 0.02));
        assert!(delta(people, 1.0, 0.03) <= delta(people, 1.0, 0.02));
        assert!(shuffle(people, 1.0, Randomizer::Any).epsilon(1e-9).unwrap() <= 1.0);
        assert_eq!(delta(people, 1.0, 1.0), 0.0);
    }
    let response = |choices| shuffle(10_000, 2.0, Randomizer::Response { choices }).epsilon(1e-6).unwrap();
    assert!(response(50) < response(3) && response(3) < response(2));
    // Reports that say nearly nothing cost nearly nothing.
    for local in [1e-3, 1e-9, 1e-15, 1e-17, 1e-300, f64::MIN_POSITIVE] {
        for randomizer in [BINARY, Randomizer::Response { choices: 3 }, Randomizer::Unary] {
            let cost = shuffle(100, local, randomizer).delta(0.0);
            assert!(cost <= local.max(number::TINY) && cost > 0.0, "{local:e}: {cost:e}");
        }
    }
    assert_eq!(Shuffle::new(1, 1.0, BINARY).unwrap_err().field(), "people");
    assert_eq!(Shuffle::new(9, 1.0, Randomizer::Response { choices: 1 }).unwrap_err().field(), "choices");
}
