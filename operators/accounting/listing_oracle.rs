//! Random lists of mechanisms against an oracle that knows no theorem: it lists every joint outcome of the
//! real laws on two neighbours and adds up `(P - e^epsilon Q)_+`.

use proptest::prelude::*;

use super::*;

type ListingBound = fn(&Listing, f64) -> Result<f64, Invalid>;

/// One outcome on one side and on the other.
type Outcomes = Vec<(f64, f64)>;

/// A mechanism and its outcomes. Noise beyond 1e-17 of all mass is left out, which can only lower the oracle.
fn mechanism() -> impl Strategy<Value = (AccountedMechanism, Outcomes)> {
    prop_oneof![
        (0.05f64..3.0).prop_map(|epsilon| {
            let likely = 1.0 / (1.0 + (-epsilon).exp());
            (AccountedMechanism::pure(epsilon).unwrap(), vec![(likely, 1.0 - likely), (1.0 - likely, likely)])
        }),
        (0.4f64..2.0, 1u64..4).prop_map(|(scale, shift)| {
            let law = |z: i64| (-(z.abs() as f64) / scale).exp();
            (AccountedMechanism::discrete_laplace(scale, shift).unwrap(), shifted(law, 40.0 * scale, shift))
        }),
        (0.4f64..5.0, 1u64..4).prop_map(|(sigma, shift)| {
            let law = |z: i64| (-(z as f64 / sigma).powi(2) / 2.0).exp();
            (AccountedMechanism::discrete_gaussian(sigma, shift).unwrap(), shifted(law, 8.7 * sigma, shift))
        }),
        (0.1f64..2.0, 1e-7f64..1e-3).prop_map(|(epsilon, delta)| {
            let likely = (1.0 - delta) / (1.0 + (-epsilon).exp());
            let rest = 1.0 - delta - likely;
            (
                AccountedMechanism::approximate(epsilon, delta).unwrap(),
                vec![(delta, 0.0), (likely, rest), (rest, likely), (0.0, delta)],
            )
        }),
    ]
}

fn shifted(law: impl Fn(i64) -> f64, reach: f64, shift: u64) -> Outcomes {
    let (reach, shift) = (reach as i64 + 1, shift as i64);
    let mass: f64 = (-reach..=reach).map(&law).sum();
    (-reach - shift..=reach).map(|z| (law(z) / mass, law(z + shift) / mass)).collect()
}

/// The hockey stick of all of them together, both ways.
fn oracle(parts: &[Outcomes], epsilon: f64) -> f64 {
    let mut joint = vec![(1.0, 1.0)];
    for part in parts {
        joint = joint.iter().flat_map(|a| part.iter().map(move |b| (a.0 * b.0, a.1 * b.1))).collect();
    }
    let stick = |p: f64, q: f64| (p - epsilon.exp() * q).max(0.0);
    let there: f64 = joint.iter().map(|(p, q)| stick(*p, *q)).sum();
    let back: f64 = joint.iter().map(|(p, q)| stick(*q, *p)).sum();
    there.max(back)
}

proptest! {
    // Refutes an accountant that reports an epsilon below the truth, by any way of adding up; and one whose
    // price depends on the order of the list. At most 40,000 joint outcomes a case.
    #[test]
    fn no_way_of_adding_up_is_below_the_truth(
        list in prop::collection::vec(mechanism(), 1..4),
        log_delta in -18.0f64..-2.0,
    ) {
        let list: Vec<_> = list.into_iter().scan(1, |size, entry| {
            *size *= entry.1.len();
            (*size <= 40_000).then_some(entry)
        }).collect();
        let mut listing = Listing::default();
        let mut reversed = Listing::default();
        list.iter().for_each(|(mechanism, _)| listing.add(*mechanism, 1).unwrap());
        list.iter().rev().for_each(|(mechanism, _)| reversed.add(*mechanism, 1).unwrap());
        let own: f64 = list.iter().map(|(mechanism, _)| mechanism.delta() * 1.001).sum();
        let parts: Vec<Outcomes> = list.into_iter().map(|(_, outcomes)| outcomes).collect();
        // Beside what the mechanisms fail with by themselves.
        let delta = log_delta.exp() + own;
        let ways: [ListingBound; 4] =
            [Listing::pld, Listing::renyi, Listing::zcdp, Listing::basic];
        for (way, price) in ways.iter().enumerate() {
            let epsilon = price(&listing, delta).unwrap();
            prop_assert_eq!(epsilon, price(&reversed, delta).unwrap());
            let truth = oracle(&parts, epsilon);
            prop_assert!(truth <= delta * (1.0 + 1e-9) + 1e-15, "way {}: epsilon {} has delta {:e}", way, epsilon, truth);
            if way == 0 && epsilon > 0.01 {
                // The exact accountant is not far above, either.
                let less = oracle(&parts, epsilon * (1.0 - 1e-5));
                prop_assert!(less >= delta * (1.0 - 1e-6) - 1e-15, "epsilon {} is loose: {:e} of {:e}", epsilon, less, delta);
            }
        }
    }
}
