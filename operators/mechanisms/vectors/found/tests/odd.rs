//! Unusual data, states and parameters.

use super::*;
use crate::mechanisms::vectors::frame::Frame;
use crate::mechanisms::vectors::frame::{from_bytes, to_bytes};
use crate::mechanisms::{Head, ReleaseLines};

// Refutes an interval outside of the outer range, a frame that is lost on constant data, and a panic.
#[test]
fn constant_data_one_person_and_nobody_have_answers() {
    let mean = whole(&cube(2, -100_000, 100_000)).people(5000);
    let prepared = Gaussian::rho(0.5).prepare(&mean).unwrap();
    let mut noise = NoiseSource::seeded(2);
    let mut state: Option<Vec<u8>> = None;
    for _ in 0..5 {
        let drawn = prepared.draw(window(&mean, &vec![vec![77_777, -3]; 5000]), state.as_deref(), &mut noise);
        for (released, truth) in drawn.answer.cells().iter().zip([77_777.0, -3.0]) {
            assert!((released.1.value() - truth).abs() < 2.0, "{released:?}");
        }
        state = drawn.state;
    }
    let frames = from_bytes(state.as_deref().unwrap(), 1, 2).unwrap();
    let frame = frames[0].as_ref().unwrap();
    assert!((frame.centre[0] - 77_777.0).abs() < 0.5 && frame.factor.lengths()[0] < 0.5, "{frame:?}");
    for records in [vec![], vec![vec![5, 5]]] {
        for state in [None, state.as_deref()] {
            let drawn = prepared.draw(window(&mean, &records), state, &mut noise);
            for (_, released) in drawn.answer.cells() {
                assert!(-1e5 <= released.low() && released.high <= 1e5, "{released:?}");
            }
            // Bounds from noise alone are not kept, and those from many records are not lost in a window with
            // few.
            let left = from_bytes(drawn.state.as_deref().unwrap(), 1, 2).unwrap();
            assert_eq!(left[0].is_some(), state.is_some());
            if let Some(left) = &left[0] {
                assert!((left.centre[0] - 77_777.0).abs() < 5.0);
            }
        }
    }
}

// Refutes a range without width, to which the records beyond it are shortened: one in twelve brings all of the mean.
#[test]
fn values_that_are_mostly_zero_keep_the_stated_range() {
    let mean = whole(&cube(1, 0, 1000)).people(400);
    let prepared = Gaussian::rho(0.05).prepare(&mean).unwrap();
    let mut noise = NoiseSource::seeded(12);
    let records: Vec<Vec<i64>> = (0..6000).map(|at| vec![if at % 12 == 0 { 480 } else { 0 }]).collect();
    let mut state: Option<Vec<u8>> = None;
    for window_number in 0..4 {
        let drawn = prepared.draw(window(&mean, &records), state.as_deref(), &mut noise);
        let released = &drawn.answer.cells()[0].1;
        assert!((released.value() - 40.0).abs() < 4.0, "{window_number}: {released:?}");
        state = drawn.state;
    }
}

// Refutes a record of another length that is dropped, and one that counts as anything but the centre.
#[test]
fn a_record_of_another_length_counts_as_the_centre() {
    let mean = whole(&cube(2, -1000, 1000));
    let prepared = Gaussian::rho(400.0).prepare(&mean).unwrap();
    let state = to_bytes(&[Some(Frame::between(&[(90, 110), (-60, -40)], 2.0, mean.outer()))]);
    let released = |odd: Vec<i64>| {
        let records = [vec![vec![104, -50]; 3000], vec![odd; 1000]].concat();
        values(&prepared.draw(window(&mean, &records), Some(&state), &mut NoiseSource::seeded(4)).answer)
    };
    let centre = released(vec![100, -50]);
    assert!((centre[0] - 103.0).abs() < 0.1 && (centre[1] + 50.0).abs() < 0.1, "{centre:?}");
    for odd in [vec![], vec![7], vec![9, 9, 9]] {
        assert_eq!(released(odd), centre);
    }
}

// Refutes an answer that depends on the order of arrival.
#[test]
fn every_order_and_division_has_the_same_answer() {
    let mean = whole(&cube(3, -5000, 5000));
    let prepared = Gaussian::rho(1.0).prepare(&mean).unwrap();
    let mut noise = NoiseSource::seeded(6);
    let mut records: Vec<Vec<i64>> =
        (0..4000).map(|_| (0..3).map(|_| (300.0 * normal(&mut noise)) as i64).collect()).collect();
    let drawn = |exact| prepared.draw(exact, None, &mut NoiseSource::seeded(8));
    let first = drawn(window(&mean, &records));
    records.reverse();
    assert_eq!(drawn(window(&mean, &records)), first);
    let mut parts = prepared.tally();
    records.chunks(7).for_each(|chunk| {
        let mut rows = VectorRows::of(3);
        chunk.iter().for_each(|record| mean.add(&mut rows, std::slice::from_ref(record)));
        parts.absorb(((), rows));
    });
    assert_eq!(drawn(parts), first);
}

#[test]
fn state_that_nobody_wrote_is_refused() {
    let prepared = Gaussian::rho(0.1).prepare(&whole(&cube(2, -100, 100))).unwrap();
    let frame = Frame::between(&[(-5, 5), (0, 1)], 2.0, &[Range::new(-100, 100).unwrap(); 2]);
    let good = to_bytes(&[Some(frame)]);
    let accepts = |state: &[u8]| {
        prepared.accepts(state).map_err(|refused| (refused.field().to_owned(), refused.kind()))
    };
    assert_eq!((accepts(&good), accepts(&[3, 0])), (Ok(()), Ok(())));
    let refused = Err(("state".to_owned(), InvalidKind::Malformed));
    let torn = [
        &[][..],
        &[1, 0],
        &[2, 0],
        &[3],
        &[3, 2],
        &[3, 0, 0],
        &good[..good.len() - 1],
        &[&good[..], &[0]].concat(),
    ];
    for state in torn {
        assert_eq!(accepts(state), refused, "{state:?}");
    }
    for place in 2..good.len() {
        let mut changed = good.clone();
        changed[place] ^= 0xff;
        let _ = accepts(&changed);
        // A draw has an answer for any state.
        let drawn = prepared.draw(prepared.tally(), Some(&changed), &mut NoiseSource::seeded(1));
        assert!(
            drawn.answer.cells().iter().all(|(_, released)| (-100.0..=100.0).contains(&released.value()))
        );
        assert!(prepared.accepts(drawn.state.as_deref().unwrap()).is_ok());
    }
    for number in (2..good.len()).step_by(8) {
        let mut not_finite = good.clone();
        not_finite[number..number + 8].copy_from_slice(&f64::NAN.to_bits().to_be_bytes());
        assert_eq!(accepts(&not_finite), refused, "the number at {number}");
    }
}

// Refutes keys that share a frame or a noise, and a line that states the noise of another.
#[test]
fn each_key_has_its_own_bounds_and_says_its_own_noise() {
    let keys = Keys::public(["b".to_owned(), "a".to_owned()]).unwrap();
    let mean =
        FoundMean::new(&cube(2, -1_000_000, 1_000_000), Bound::keys(2).checked().unwrap(), keys).unwrap();
    let point = |digits| DecimalPoint::digits(digits).unwrap();
    let names = vec![Coordinate::named("price", point(2)), Coordinate::unnamed()];
    let mean = mean.with_coordinates(names).unwrap().people(4000);
    assert!(mean.clone().with_coordinates(vec![Coordinate::unnamed()]).is_err());
    let prepared = Gaussian::rho(1.0).prepare(&mean).unwrap();
    let mut noise = NoiseSource::seeded(9);
    let mut exact = prepared.tally();
    for _ in 0..4000 {
        let (a, b) = (normal(&mut noise), normal(&mut noise));
        exact.absorb(("a".to_owned(), mean.of_one(&[[(1000.0 + 10.0 * a) as i64, (50_000.0 * b) as i64]])));
        exact.absorb(("b".to_owned(), mean.of_one(&[[(-500_000.0 + 90_000.0 * a) as i64, 5]])));
    }
    exact.absorb(("c".to_owned(), mean.of_one(&[[1, 1]])));
    let answer = prepared.draw(exact, None, &mut noise).answer;
    let released: Vec<(&str, f64)> =
        answer.cells().iter().map(|(key, released)| (key.as_str(), released.value())).collect();
    let near = [("a", 1000.0, 1.0), ("a", 0.0, 3000.0), ("b", -500_000.0, 5000.0), ("b", 5.0, 0.1)];
    for ((key, value), (name, truth, off)) in released.into_iter().zip(near) {
        assert!(key == name && (value - truth).abs() < off, "{key} {value}");
    }
    let scales: Vec<f64> = answer.noise().iter().map(|noise| noise.scale()).collect();
    assert_eq!(scales.len(), 6);
    assert!(scales[1] > 1000.0 * scales[0], "in its own units, and the price with its point");
    assert!(scales[3] > scales[0] * 1000.0 && scales[2] == scales[5]);
    let text = answer.lines(&Head { release: "r", window: "null", id: "5f", promise: "p", gaps: "" });
    let lines: Vec<&str> = text.lines().collect();
    let heads = [
        r#""key":"a","of":"price","value":9.9"#,
        r#""key":"a","of":1,"#,
        r#""key":"b","of":"price","value":-5"#,
        r#""key":"b","of":1,"#,
    ];
    for (place, (line, head)) in lines.iter().zip(heads).enumerate() {
        assert!(line.contains(head), "{line}");
        let scale = answer.noise()[place / 2 * 3 + place % 2].scale();
        assert!(line.contains(&format!(r#""number":"sum","kind":"gaussian","scale":{scale}"#)), "{line}");
        assert!(line.contains(r#"{"number":"records","kind":"gaussian""#), "{line}");
    }
    assert_eq!(lines.len(), 4);
}

// 600 windows with a known frame, alpha 1e-6 one-sided: at least 9 in 10 intervals of each coordinate contain
// the true mean, and each contains its value. A normal interval of 0.9 is 3.3 deviations wide; these,
// for a quotient of two noised numbers, are less than 5.5.
#[test]
fn intervals_hold_the_truth_as_often_as_they_say() {
    let mean = whole(&cube(2, -10_000, 10_000)).people(500);
    let prepared = Gaussian::rho(0.5).prepare(&mean).unwrap();
    let state = to_bytes(&[Some(Frame::between(&[(-300, 300), (500, 900)], 2.0, mean.outer()))]);
    let records: Vec<Vec<i64>> = (0..200).map(|at| vec![at - 100, 800 - 3 * (at % 10)]).collect();
    let truth = [-0.5, 786.5];
    let mut noise = NoiseSource::seeded(12);
    let (mut held, mut widths, mut errors) = ([0; 2], [0.0; 2], [0.0; 2]);
    for _ in 0..600 {
        let answer = prepared.draw(window(&mean, &records), Some(&state), &mut noise).answer;
        for (place, (_, released)) in answer.cells().iter().enumerate() {
            held[place] += u32::from(released.low() <= truth[place] && truth[place] <= released.high);
            assert!(released.low() <= released.value() && released.value() <= released.high);
            widths[place] += (released.high - released.low()) / 600.0;
            errors[place] += (released.value() - truth[place]).powi(2) / 600.0;
        }
    }
    let least = 600.0 * 0.9 - 4.753 * (600.0 * 0.09f64).sqrt();
    assert!(held.iter().all(|&held| f64::from(held) > least), "{held:?}");
    for (width, error) in widths.iter().zip(errors) {
        assert!(*width < 5.5 * f64::sqrt(error), "{width} wide, where {} is the deviation", error.sqrt());
    }
}

#[test]
fn what_is_out_of_range_is_named() {
    let outer = cube(2, 0, 10);
    let limits = Bound::keys(1).checked().unwrap();
    let discovered = FoundMean::<u32>::new(&outer, limits, Keys::discover(1e-6)).unwrap_err();
    assert_eq!((discovered.field(), discovered.kind()), ("keys", InvalidKind::Mixed));
    let refused = |mean: FoundMean<()>, mechanism: Gaussian| {
        let refused = mechanism.prepare(&mean).unwrap_err();
        (refused.field().to_owned(), refused.kind())
    };
    let (mean, gaussian) = (whole(&outer), Gaussian::rho(0.1));
    let named = |field: &str, kind| (field.to_owned(), kind);
    assert_eq!(refused(mean.clone().people(0), gaussian.clone()), named("people", InvalidKind::Zero));
    assert_eq!(
        refused(mean.clone().people(u64::MAX), gaussian.clone()),
        named("people", InvalidKind::TooLarge)
    );
    assert_eq!(refused(mean.clone().finding(100), gaussian.clone()), named("finding", InvalidKind::TooLarge));
    assert_eq!(refused(mean.clone().following(0), gaussian.clone()), named("following", InvalidKind::Zero));
    assert_eq!(refused(mean.clone(), gaussian.counting(0)), named("counting", InvalidKind::Zero));
    assert_eq!(refused(mean.clone(), Gaussian::rho(1e-15)).1, InvalidKind::TooSmall);
    assert_eq!(refused(mean, Gaussian::rho(0.1).confidence(1.0)).0, "confidence");
    assert_eq!(
        Ranges::new(Vec::<(i64, i64)>::new()).unwrap_err().kind(),
        InvalidKind::Empty,
        "no coordinates"
    );
    // A longer contribution takes coarser steps, and a still longer one is refused.
    let many = |per_key| {
        let limits = Bound::keys(1).per_key(per_key).checked().unwrap();
        Gaussian::rho(0.1)
            .prepare(&FoundMean::new(&outer, limits, Keys::whole()).unwrap().people(1 << 30))
            .map(|_| ())
    };
    assert!(many(1 << 16).is_ok());
    assert!(many(1 << 31).is_err());
    // The widest ranges, and the largest number of coordinates.
    let widest = whole(&cube(256, i64::MIN, i64::MAX)).people(1 << 20);
    let prepared = Gaussian::rho(5.0).prepare(&widest).unwrap();
    let drawn = prepared.draw(window(&widest, &[vec![i64::MIN; 256]]), None, &mut NoiseSource::seeded(1));
    assert_eq!(drawn.answer.cells().len(), 256);
}

// Refutes a parameter that two releases of the same name could differ in.
#[test]
fn every_parameter_is_in_the_digest() {
    let mean = || whole(&cube(2, 0, 1000));
    let named = vec![Coordinate::named("a", DecimalPoint::WHOLE), Coordinate::unnamed()];
    let others = [
        mean(),
        mean().people(9999),
        mean().finding(24),
        mean().following(6),
        mean().with_coordinates(named).unwrap(),
        whole(&cube(2, 0, 1001)),
        whole(&cube(3, 0, 1000)),
        whole(&Ranges::new([(0, 1000), (1, 1000)]).unwrap()),
    ];
    let digests = others.iter().map(|mean| Gaussian::rho(0.1).prepare(mean).unwrap().parameters());
    let mut digests: Vec<_> = digests.collect();
    digests.push(Gaussian::rho(0.2).prepare(&mean()).unwrap().parameters());
    digests.push(Gaussian::rho(0.1).counting(31).prepare(&mean()).unwrap().parameters());
    for (place, digest) in digests.iter().enumerate() {
        assert!(!digests[..place].contains(digest), "{place}");
    }
    assert_eq!(Gaussian::rho(0.1).prepare(&mean()).unwrap().parameters(), digests[0]);
}
