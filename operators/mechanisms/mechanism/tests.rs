use super::parameters;
use crate::accounting::{BudgetUnits, PrivacyCost};
use crate::canonical::{Canonical, Digest};
use crate::mechanisms::statistic::KeyedStatistic;
use crate::mechanisms::{
    Bound, ContributionBound, DecimalPoint, Edges, Gaussian, Key, Keys, Laplace, Mean, Mechanism, Prepared,
    Range, Statistic, Total,
};

fn hashed<S: Statistic>(mechanism: &impl Mechanism<S>, statistic: &S) -> Digest {
    mechanism.prepare(statistic).unwrap().parameters()
}

fn range(low: i64, high: i64) -> Range {
    Range::new(low, high).unwrap()
}

fn count<K: Key>(bound: Bound, keys: Keys<K>) -> Total<K> {
    Total::count(bound.checked().unwrap(), keys).unwrap()
}

fn public() -> Keys<u32> {
    Keys::public([1, 2]).unwrap()
}

const BOUND: Bound = Bound::keys(3).per_key(2);

/// One parameter changed at a time, or moved from one place to another.
fn variations() -> Vec<Digest> {
    let usual = Gaussian::rho(0.1);
    let limits = BOUND.checked().unwrap();
    let rho = |bits| {
        Gaussian::cost(&PrivacyCost::Zcdp {
            rho: BudgetUnits::from_bits(bits),
            delta: BudgetUnits::ZERO,
            omega: crate::accounting::Omega::EVERY,
        })
    };
    let sum = |low, high| Total::sum(range(low, high), limits, public()).unwrap();
    let mean = |low, high| Mean::new(range(low, high), limits, public()).unwrap();
    let text = |keys: &[&str]| count(BOUND, Keys::public(keys.iter().map(|&key| key.to_owned())).unwrap());
    let found = |delta, most| count(BOUND, Keys::<u32>::discover(delta).at_most(most));
    let plain = count(BOUND, public());
    vec![
        hashed(&usual, &plain),
        // What is asked.
        hashed(&usual, &Total::people(limits, public()).unwrap()),
        hashed(&usual, &sum(-5, 9)),
        hashed(&usual, &sum(-4, 9)),
        hashed(&usual, &sum(-5, 8)),
        hashed(&usual, &mean(-5, 9)),
        hashed(&usual, &mean(-4, 9)),
        hashed(&usual, &sum(-5, 9).with_point(DecimalPoint::digits(2).unwrap())),
        hashed(&usual, &sum(-5, 9).with_point(DecimalPoint::digits(-2).unwrap())),
        hashed(&usual, &mean(-5, 9).with_point(DecimalPoint::digits(2).unwrap())),
        // Of whom, and how much.
        hashed(&usual, &count(Bound::keys(2).per_key(3), public())),
        hashed(&usual, &count(Bound::keys(4).per_key(2), public())),
        hashed(&usual, &count(Bound::keys(3).per_key(1), public())),
        hashed(&usual, &count(BOUND.windows(1), public())),
        hashed(&usual, &count(BOUND.windows(2), public())),
        hashed(&usual, &count(Bound::keys(1), public())),
        hashed(&usual, &Total::count(ContributionBound::RECORD, public()).unwrap()),
        // For which keys.
        hashed(&usual, &count(BOUND, Keys::public([1u32]).unwrap())),
        hashed(&usual, &count(BOUND, Keys::public([1u32, 3]).unwrap())),
        hashed(&usual, &count(BOUND, Keys::public([1u64, 2]).unwrap())),
        hashed(&usual, &count(BOUND, Keys::whole())),
        hashed(&usual, &count(BOUND, Edges::new([1, 2]).unwrap().keys())),
        hashed(&usual, &text(&["ab", "c"])),
        hashed(&usual, &text(&["a", "bc"])),
        hashed(&usual, &text(&["abc"])),
        hashed(&usual, &text(&["", "abc"])),
        hashed(&usual, &found(1e-6, 10)),
        hashed(&usual, &found(1e-6, 11)),
        hashed(&usual, &found(2e-6, 10)),
        hashed(&usual, &Total::people(limits, Keys::<u32>::discover(1e-6).at_most(10)).unwrap()),
        // With which noise.
        hashed(&Laplace::rho(0.1), &plain),
        hashed(&Laplace::epsilon(0.1), &plain),
        hashed(&Gaussian::rho(0.2), &plain),
        hashed(&rho(1 << 60), &plain),
        hashed(&rho((1 << 60) + 1), &plain),
        hashed(&usual.clone().confidence(0.95), &plain),
        hashed(&usual.clone().selecting(31), &plain),
        hashed(&usual.clone().counting(31), &plain),
        hashed(&usual.clone().selecting(31), &found(1e-6, 10)),
        hashed(&usual.clone().counting(31), &mean(-5, 9)),
    ]
}

// Refutes a parameter that is left out, and fields that run together.
#[test]
fn another_parameter_is_another_hash() {
    let found = variations();
    for (place, digest) in found.iter().enumerate() {
        assert_eq!(found.iter().position(|other| other == digest), Some(place));
    }
}

#[test]
fn what_means_the_same_has_the_same_hash() {
    assert_eq!(variations(), variations());
    let said = Gaussian::rho(0.1).confidence(0.9).selecting(30).counting(30);
    let listed = count(BOUND, Keys::public([2u32, 1]).unwrap());
    assert_eq!(hashed(&said, &listed), hashed(&Gaussian::rho(0.1), &count(BOUND, public())));
}

// Refutes another noise under the terms of keys that were found with a part of every window's price, and a change of the
// terms of all others.
#[test]
fn keys_that_are_found_apart_have_other_terms_than_before() {
    let hash_before = |asked: &Gaussian, stated: &KeyedStatistic<'_, u32>| {
        let rho = asked.0.spend().unwrap();
        parameters(&asked.0, rho, BudgetUnits::at_least_float("delta", 1e-6).unwrap(), stated)
    };
    let asked = Gaussian::rho(0.1);
    for (per_key, is_apart) in [(1, false), (5, true)] {
        let limits = Bound::keys(3).per_key(per_key).checked().unwrap();
        let total = Total::count(limits, Keys::<u32>::discover(1e-6)).unwrap();
        let before = hash_before(&asked, &total.stated());
        assert_eq!(hashed(&asked, &total) != before, is_apart);
    }
    let limits = Bound::keys(3).checked().unwrap();
    let mean = Mean::new(range(0, 9), limits, Keys::<u32>::discover(1e-6)).unwrap();
    let stated = KeyedStatistic { cut: mean.cut(None), ..mean.stated() };
    assert_ne!(hashed(&asked, &mean), hash_before(&asked, &stated));
}

/// Releases are found again by these. Another value makes every job release, and pay for, all of its windows
/// again.
#[test]
fn the_form_is_written_down() {
    let people = Total::people(Bound::keys(3).windows(12).checked().unwrap(), Keys::<String>::discover(1e-6));
    let mean = Mean::new(range(-5, 9), ContributionBound::RECORD, Keys::public(["a".to_owned()]).unwrap());
    let spelt_out = Canonical::new("discreet mechanism 1")
        .text("people")
        .text("no range")
        .text("person")
        .bytes(&3u64.to_be_bytes())
        .bytes(&1u64.to_be_bytes())
        .text("windows")
        .bytes(&12u64.to_be_bytes())
        .text("discover")
        .bytes(&BudgetUnits::at_least_float("delta", 1e-6).unwrap().to_bits().to_be_bytes())
        .bytes(&65_536u64.to_be_bytes())
        .text("gaussian")
        .text("rho")
        .bytes(&(1u128 << 61).to_be_bytes())
        .bytes(&0.9f64.to_bits().to_be_bytes())
        .number(30)
        .number(30)
        .finish();
    assert_eq!(hashed(&Gaussian::rho(0.125), &people.unwrap()), spelt_out);
    let written = [spelt_out, hashed(&Laplace::epsilon(0.5), &mean.unwrap())];
    assert_eq!(
        written.map(|digest| digest.to_string()),
        [
            "06da83f1f593a740a3293e8ec2e6461b59d9217f3ec078375c831d8691080663",
            "be6d2c1a12886a2bd9982517f2f5e368d64136af4dca568c39b28e1666154830",
        ]
    );
}
