use super::*;
use crate::accounting::Omega;
use crate::mechanisms::{Bound, Head, ReleaseLines, Summary, Tally};

fn truncated(rho: f64, delta: f64, omega: f64) -> Stable {
    let omega = Omega::below(omega).unwrap();
    Stable::cost(&PrivacyCost::approximate_zcdp(rho, omega, Some(delta)).unwrap()).people(30_000)
}

fn limits() -> ContributionBound {
    Bound::keys(1).checked().unwrap()
}

fn vectors(side: i64) -> StableVectors<u32> {
    let sides = Ranges::new([(-side, side)]).unwrap();
    StableVectors::new(sides, limits(), Keys::public([7]).unwrap()).unwrap()
}

const STABLE: Stable =
    Stable { price: StablePrice::Approximate { epsilon: 4.0, delta: 1e-6 }, people: Some(30_000) };

fn released(records: &[i64], seed: u64) -> String {
    let vectors = vectors(1 << 27);
    let prepared = STABLE.prepare(&vectors).unwrap();
    let mut known = VectorRows::default();
    records.iter().for_each(|&record| vectors.add(&mut known, &[[record]]));
    let mut exact = prepared.tally();
    exact.absorb((7, known));
    let answer = prepared.draw(exact, None, &mut NoiseSource::seeded(seed)).answer;
    answer.lines(&Head { release: "r", window: "null", id: "5f", promise: "p", gaps: "" })
}

/// Returns nearly normal numbers of this deviation, around this middle.
fn normal(people: usize, middle: i64, deviation: i64) -> Vec<i64> {
    let mut random = NoiseSource::seeded(8);
    let mut uniform = || random.below(1 << 20) as i64 - (1 << 19);
    // The sum of twelve uniform numbers, each over a width of 1, has a variance of 1.
    (0..people).map(|_| middle + (0..12).map(|_| uniform()).sum::<i64>() * deviation / (1 << 20)).collect()
}

// Refutes a mean with a wrong position or scale, one that does not state its assumption, and one with an
// interval.
#[test]
fn a_mean_is_printed_whatever_its_scale() {
    for (middle, deviation) in [(0, 1_000), (-(1 << 26), 1 << 22), (123_456_789, 1_000_000)] {
        let line: serde_json::Value =
            serde_json::from_str(&released(&normal(30_000, middle, deviation), 3)).unwrap();
        let off = (line["value"].as_f64().unwrap() - middle as f64).abs();
        assert!(off < 0.1 * deviation as f64, "{off} of {deviation}");
        assert_eq!((&line["key"], &line["of"]), (&7.into(), &0.into()));
        assert_eq!(line["interval"], serde_json::json!([null, null]));
        assert_eq!(line["noise"]["assumes"], ASSUMED);
        let (scale, grid) =
            (line["noise"]["scale"].as_f64().unwrap(), line["noise"]["grid"].as_f64().unwrap());
        assert!(scale < 0.1 && grid <= scale && grid >= scale * 2f64.powi(28 - 30), "{scale} {grid}");
        assert_eq!(line["value"].as_f64().unwrap() % grid, 0.0);
    }
}

// Refutes failures whose lines differ by their reason, and one that ends the job.
#[test]
fn every_failure_is_reported_in_the_same_form() {
    let few = released(&normal(100, 0, 1_000), 3);
    assert!(
        few.starts_with(r#"{"release":"r","window":null,"key":7,"of":0,"value":null,"interval":[null,null]"#),
        "{few}"
    );
    let constant = released(&vec![5; 30_000], 3);
    let nobody = released(&[], 3);
    let wild: Vec<i64> =
        (0..30_000).map(|at| if at % 2 == 0 { at } else { i64::MAX - at }).map(|x| x << (x % 30)).collect();
    for other in [constant, nobody] {
        assert_eq!(other, few);
    }
    assert!(released(&wild, 3).contains("\"of\":0,\"value\":"), "an answer, or none");
}

#[test]
fn what_it_cannot_do_is_refused_by_public_numbers() {
    let sides = || Ranges::new([(0, 10)]).unwrap();
    let keys = || Keys::public([7]).unwrap();
    let field = |refused: Invalid| (refused.field().to_owned(), refused.kind());
    let of = |limits: Bound, keys: Keys<u32>| StableVectors::new(sides(), limits.checked().unwrap(), keys);
    // With a box of 2^41 steps the grid was 4, where the stated noise was some thousandth.
    for (side, fits) in [(1i64 << 27, true), (1 << 31, false), (1 << 40, false)] {
        let prepared = STABLE.prepare(&vectors(side)).map(|_| ()).map_err(field);
        assert_eq!(
            prepared,
            if fits { Ok(()) } else { Err(("extent".into(), InvalidKind::TooLarge)) },
            "{side}"
        );
    }
    assert_eq!(
        field(of(Bound::keys(1), Keys::discover(1e-6)).unwrap_err()),
        ("keys".into(), InvalidKind::Mixed)
    );
    assert_eq!(field(of(Bound::keys(2), keys()).unwrap_err()), ("keys".into(), InvalidKind::TooLarge));
    assert_eq!(
        field(of(Bound::keys(1).per_key(2), keys()).unwrap_err()),
        ("per_key".into(), InvalidKind::TooLarge)
    );
    let wide = StableVectors::new(Ranges::new([(0, i64::MAX)]).unwrap(), limits(), keys()).unwrap_err();
    assert_eq!(wide.field(), "extent");
    let prepared = |stable: Stable| field(stable.prepare(&vectors(10)).unwrap_err());
    assert_eq!(prepared(Stable::epsilon(4.0, 1e-6)), ("people".into(), InvalidKind::Missing));
    assert_eq!(prepared(STABLE.people(1_000)), ("people".into(), InvalidKind::TooSmall));
    assert_eq!(prepared(Stable::epsilon(f64::NAN, 1e-6).people(30_000)).0, "epsilon");
    let mean = STABLE.prepare(&vectors(10)).unwrap();
    assert_eq!(mean.cost().amount(), mean.plan().cost().amount(), "the test and the count are paid for");
    assert!(mean.accepts(&[1]).is_err() && !mean.remembers());
}

// Refutes a person who counts with two records, and one without a vector who counts.
#[test]
fn a_person_is_one_record_or_none() {
    let vectors = vectors(100);
    let known = |records: &[&[i64]]| {
        let mut known = VectorRows::default();
        vectors.add(&mut known, records);
        known.shown()
    };
    assert_eq!(known(&[&[5], &[6]]), [1, 0, 5]);
    assert_eq!(known(&[&[5, 6]]), [0, 0]);
    assert_eq!(known(&[]), [0, 0]);
}

#[test]
fn another_parameter_is_another_hash() {
    let hash = |stable: Stable, vectors: &StableVectors<u32>| stable.prepare(vectors).unwrap().parameters();
    let keyed =
        StableVectors::new(Ranges::new([(-10, 10)]).unwrap(), limits(), Keys::public([8]).unwrap()).unwrap();
    let named = vectors(10).with_coordinates(vec![Coordinate::named("a", DecimalPoint::WHOLE)]).unwrap();
    let hashes = [
        hash(STABLE, &vectors(10)),
        hash(STABLE, &vectors(11)),
        hash(STABLE.people(30_001), &vectors(10)),
        hash(Stable::epsilon(4.5, 1e-6).people(30_000), &vectors(10)),
        hash(Stable::epsilon(4.0, 2e-6).people(30_000), &vectors(10)),
        hash(truncated(0.3, 1e-6, 20.0), &vectors(10)),
        hash(truncated(0.31, 1e-6, 20.0), &vectors(10)),
        hash(truncated(0.3, 2e-6, 20.0), &vectors(10)),
        hash(truncated(0.3, 1e-6, 21.0), &vectors(10)),
        hash(STABLE, &keyed),
        hash(STABLE, &named),
    ];
    for (place, digest) in hashes.iter().enumerate() {
        assert_eq!(hashes.iter().position(|other| other == digest), Some(place));
    }
}

// Refutes a plan that takes more than the stated amount, that holds at fewer orders, and that charges less than it takes.
#[test]
fn a_stated_cost_is_charged_and_suffices() {
    for (rho, delta, omega) in [(0.3, 1e-6, 20.0), (0.5, 1e-5, 5.0), (2.0, 1e-7, 40.0)] {
        let stable = truncated(rho, delta, omega);
        let StablePrice::Amount(stated) = &stable.price else { panic!() };
        let prepared = stable.prepare(&vectors(10)).unwrap();
        assert_eq!(prepared.cost().amount(), stated);
        assert!(prepared.plan().cost().amount().within(stated));
        // Most of it is taken.
        let PrivacyCost::Zcdp { rho: taken, .. } = prepared.plan().cost().amount() else { panic!() };
        assert!(taken.to_float_up() > 0.999 * rho, "{taken:?}");
    }
    let refused = |stable: Stable| {
        let refused = stable.prepare(&vectors(10)).unwrap_err();
        (refused.field().to_owned(), refused.kind())
    };
    assert_eq!(refused(truncated(0.3, 1e-6, f64::INFINITY)), ("cost".into(), InvalidKind::Missing));
    assert_eq!(refused(truncated(0.3, 1e-6, 1e6)), ("cost".into(), InvalidKind::TooSmall));
    assert_eq!(refused(truncated(0.3, 1e-6, 200.0)), ("people".into(), InvalidKind::TooSmall));
    assert_eq!(refused(truncated(0.001, 1e-6, 20.0)), ("people".into(), InvalidKind::TooSmall));
    assert_eq!(refused(Stable::cost(&PrivacyCost::pure(1.0).unwrap()).people(30_000)).0, "cost");
}
