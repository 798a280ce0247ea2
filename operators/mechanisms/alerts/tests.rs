#![allow(clippy::unwrap_used)]

use super::margins::{Arming, Planned};
use super::prepared::AlertState;
use super::*;
use crate::accounting::{PrivacyCost, gdp};
use crate::mechanisms::spend::Spend;
use crate::mechanisms::{Bound, Head, Keys, Mechanism, Paid, Prepared, Range, ReleaseLines, Tally};
use crate::noise::NoiseSource;

fn people() -> Total<()> {
    Total::people(Bound::keys(1).checked().unwrap(), Keys::whole()).unwrap()
}

fn spend(amount: PrivacyCost) -> Spend {
    Spend::of(&amount).unwrap()
}

fn planned(draws: f64, alarms: u32) -> Planned {
    Planned { step: 1, draws, alarms, wrong: 0.05 }
}

/// The epsilons of a threshold and of a number.
fn epsilons(arming: &Arming) -> [f64; 2] {
    [&arming.threshold, &arming.number].map(|law| 1.0 / law.scale().to_f64())
}

/// The largest noise of a threshold that the law below is summed up to.
const REACH: i64 = 400;

/// The probabilities that the first of these distances above a threshold to fire is each of them, and that none does.
fn law(distances: &[i64], [threshold, number]: [f64; 2]) -> Vec<f64> {
    let geometric = |level: i64| (1.0 - libm::exp(-threshold)) * libm::exp(-threshold * level as f64);
    // What is beyond the reach has the probability of its end.
    let mut alive: Vec<f64> = (0..REACH).map(geometric).collect();
    alive.push(libm::exp(-threshold * REACH as f64));
    let mut fires: Vec<f64> = Vec::new();
    for distance in distances {
        let mut fired = 0.0;
        for (level, left) in alive.iter_mut().enumerate() {
            let short = level as i64 - distance;
            let chance = if short <= 0 { 1.0 } else { libm::exp(-number * short as f64) };
            fired += *left * chance;
            *left *= 1.0 - chance;
        }
        fires.push(fired);
    }
    fires.push(alive.iter().sum());
    fires
}

/// All lists of this length of these numbers.
fn lists(numbers: &[i64], length: usize) -> Vec<Vec<i64>> {
    (0..length).fold(vec![Vec::new()], |lists, _| {
        lists.iter().flat_map(|list| numbers.iter().map(|number| [&list[..], &[*number]].concat())).collect()
    })
}

/// The least and the largest logarithm of a history's probability without a unit over that with it.
fn losses(lengths: impl Iterator<Item = usize>, numbers: &[i64], laws: [f64; 2]) -> [f64; 2] {
    let mut ends = [f64::INFINITY, f64::NEG_INFINITY];
    for length in lengths {
        for base in lists(numbers, length) {
            for moves in lists(&[0, 1], length) {
                let with: Vec<i64> = base.iter().zip(&moves).map(|(base, moves)| base + moves).collect();
                for (p, q) in law(&base, laws).iter().zip(law(&with, laws)) {
                    if *p > 1e-12 && q > 1e-12 {
                        let loss = libm::log(p / q);
                        ends = [ends[0].min(loss), ends[1].max(loss)];
                    }
                }
            }
        }
    }
    ends
}

// Refutes a price that some history exceeds, and one that none reaches: the range of losses is e1 + 2 e2, and the largest is
// e1 + e2, for all ways in which one unit moves up to three windows (the table of the enumeration has 1.5, 2, 1.7 and .75).
#[test]
fn histories_cost_what_is_charged() {
    for [threshold, number] in [[0.5, 0.5], [1.0, 0.5], [0.3, 0.7], [0.25, 0.25]] {
        let [least, most] = losses(1..=3, &[-5, -2, 0, 1, 3], [threshold, number]);
        assert!(most <= threshold + number + 1e-9 && least >= -number - 1e-9, "{least} {most}");
        let range = threshold + 2.0 * number;
        assert!((most - least - range).abs() < 1e-9, "{least} {most}: {range}");
    }
    // Six windows that are silent at a distance of 2 and then of 1: without noise of the threshold they would lose 2.85.
    let quiet = |distance: i64, laws| *law(&[distance; 6], laws).last().unwrap();
    let lost = |laws| libm::log(quiet(-2, laws) / quiet(-1, laws));
    assert!(lost([0.5, 0.5]) <= 1.0 && lost([1e3, 0.5]) > 2.5, "{} {}", lost([0.5, 0.5]), lost([1e3, 0.5]));
    // A number that a unit may move down as well costs 2 (e1 + 2 e2), as replaced units would.
    let mut ends = [f64::INFINITY, f64::NEG_INFINITY];
    for base in lists(&[-6, -3, -1, 0, 1, 3], 3) {
        for moves in lists(&[-1, 0, 1], 3) {
            let with: Vec<i64> = base.iter().zip(&moves).map(|(base, moves)| base + moves).collect();
            for (p, q) in law(&base, [0.5, 0.5]).iter().zip(law(&with, [0.5, 0.5])) {
                let loss = if *p > 1e-12 && q > 1e-12 { libm::log(p / q) } else { 0.0 };
                ends = [ends[0].min(loss), ends[1].max(loss)];
            }
        }
    }
    assert!(ends[1] - ends[0] > 2.5, "{ends:?}");
}

// Refutes draws that cost more than their part of the price, in any currency, and such as leave a part of it unspent.
#[test]
fn an_arming_costs_its_part_of_the_price() {
    for alarms in [1u32, 5, 100] {
        let parts = f64::from(alarms);
        for price in [0.05, 0.5, 2.0] {
            let of = |amount| epsilons(&Arming::least(spend(amount), planned(720.0, alarms)).unwrap());
            let [threshold, number] = of(PrivacyCost::pure(price).unwrap());
            let pure = parts * (threshold + number) / price;
            let [threshold, number] = of(PrivacyCost::zcdp(price).unwrap());
            let rho = parts * (threshold + 2.0 * number).powi(2) / 8.0 / price;
            let [threshold, number] = of(PrivacyCost::gaussian(price).unwrap());
            let mu = gdp::mu_of_bounded_range(threshold + 2.0 * number).unwrap() * parts.sqrt() / price;
            for of_price in [pure, rho, mu] {
                assert!((1.0 - 1e-6..=1.0 + 1e-12).contains(&of_price), "{alarms} {price}: {of_price}");
            }
        }
    }
    // A person with more records moves a number farther.
    let of =
        |step| Arming::least(spend(PrivacyCost::pure(1.0).unwrap()), Planned { step, ..planned(1.0, 1) });
    let [one, three] = [1, 3].map(|step| epsilons(&of(step).unwrap()));
    assert!((one[0] / three[0] - 3.0).abs() < 1e-9 && (one[1] / three[1] - 3.0).abs() < 1e-9);
}

// Refutes margins that are wrong more often than is stated, and wider ones than that needs.
#[test]
fn margins_are_the_least_that_hold() {
    for (draws, alarms) in [(24.0, 1), (720.0, 5), (4320.0, 2), (100_000.0, 1)] {
        let arming = Arming::least(spend(PrivacyCost::zcdp(0.1).unwrap()), planned(draws, alarms)).unwrap();
        let [threshold, number] = epsilons(&arming);
        for (draws, epsilon, margin) in
            [(draws, number, arming.below), (f64::from(alarms), threshold, arming.beyond)]
        {
            let missed = |margin: u64| draws * libm::exp(-epsilon * margin as f64);
            assert!(missed(margin) <= 0.025 && missed(margin - 1) > 0.025, "{draws} {margin}");
        }
    }
    // The widths of the published search over 481 divisions, at .05.
    for (rho, windows, width) in [
        (0.1, 24.0, 35.4),
        (0.1, 720.0, 46.5),
        (0.1, 8760.0, 54.4),
        (0.02, 8760.0, 121.6),
        (0.005, 100_000.0, 276.4),
    ] {
        let arming = Arming::least(spend(PrivacyCost::zcdp(rho).unwrap()), planned(windows, 1)).unwrap();
        let found = (arming.below + arming.beyond) as f64;
        assert!(found >= width - 0.1 && found <= width + 2.0, "{rho} {windows}: {found}");
    }
}

/// The exact counts of a window.
fn tally(alert: &PreparedAlert<()>, count: u64) -> Cells<()> {
    let mut exact = alert.tally();
    for _ in 0..count {
        exact.absorb(((), Cell { people: 1, records: 1, sum: 0 }));
    }
    exact
}

// Refutes noise of a threshold that is kept after an alarm, drawn anew before one, or left out; noise of a number of half the
// width; and a threshold that is off by one. Of 40,000 runs of four windows each history of up to two alarms comes as often as its
// law says: the sum of squared deviations of 11 cells is above 60 with a probability of 1e-8, and noise of numbers of .93 of its
// width makes it 150.
#[test]
fn histories_come_as_often_as_their_law_says() {
    let alert = ThresholdAlert::new(people(), 3).unwrap().alarms(2).wrong(0.9);
    let alert = AboveThreshold::epsilon(2.0).prepare(&alert).unwrap();
    let (threshold, laws) = (alert.threshold as i64, epsilons(&alert.arming));
    let counts = [0, 1, 3, 1].map(|more| (alert.threshold - 2 + more) as i64);
    let mut expected = std::collections::BTreeMap::new();
    let distances = counts.map(|count| count - threshold);
    for (first, once) in law(&distances, laws).into_iter().enumerate() {
        match distances.get(first + 1..) {
            None if first == distances.len() => _ = expected.insert(vec![first], once),
            rest => {
                for (second, twice) in law(rest.unwrap_or(&[]), laws).into_iter().enumerate() {
                    *expected.entry(vec![first, first + 1 + second]).or_insert(0.0) += once * twice;
                }
            }
        }
    }
    let mut found = std::collections::BTreeMap::new();
    let mut noise = NoiseSource::seeded(27);
    let runs = 40_000;
    for _ in 0..runs {
        let (mut state, mut fired) = (None, Vec::new());
        for (window, count) in counts.iter().enumerate() {
            let drawn = alert.draw(tally(&alert, *count as u64), state.as_deref(), &mut noise);
            fired.extend(drawn.answer.cells().iter().filter(|(_, cell)| cell.value() == 1).map(|_| window));
            state = drawn.state;
        }
        fired.extend((fired.len() < 2).then_some(counts.len()));
        *found.entry(fired).or_insert(0u32) += 1;
    }
    let mut squares = 0.0;
    for (history, chance) in &expected {
        let (expected, found) = (chance * f64::from(runs), f64::from(found.remove(history).unwrap_or(0)));
        assert!(expected > 5.0 || found < 40.0, "{history:?}: {expected} {found}");
        squares += if expected > 5.0 { (found - expected).powi(2) / expected } else { 0.0 };
    }
    assert!(found.is_empty() && expected.len() == 11, "{found:?} {expected:?}");
    assert!(squares < 60.0, "{squares}");
}

// Refutes a state that changes in a silent window, a version that goes on with the noise of another, an alarm beyond the last one,
// and a state of another format that is drawn from.
#[test]
fn an_arming_lasts_until_its_alarm() {
    let alert = ThresholdAlert::new(people(), 100).unwrap().alarms(2).windows(1_000);
    let alert = AboveThreshold::rho(0.5).prepare(&alert).unwrap();
    let mut noise = NoiseSource::seeded(5);
    let mut draw = |count: u64, state: Option<&[u8]>| alert.draw(tally(&alert, count), state, &mut noise);
    let first = draw(50, None);
    let armed = first.state.unwrap();
    assert_eq!((armed.len(), alert.accepts(&armed)), (22, Ok(())));
    for _ in 0..50 {
        let state = draw(100, Some(&armed)).state.unwrap();
        assert_eq!((&state[..6], &state[14..]), (&armed[..6], &armed[14..]), "the noise of the threshold");
    }
    let surely = alert.crossing().surely();
    let fired = draw(surely, Some(&armed));
    let [(_, cell)] = fired.answer.cells() else { panic!() };
    assert_eq!((cell.value(), cell.low(), cell.high()), (1, 1, Some(1)));
    assert_eq!(fired.answer.noise()[0].crossing().unwrap().left(), 1);
    let again = fired.state.unwrap();
    assert_eq!(again[..5], [1, 0, 0, 0, 1]);
    let last = draw(surely, Some(&again));
    assert_eq!(last.answer.noise()[0].crossing().unwrap().left(), 0);
    let ended = last.state.unwrap();
    assert_eq!((&ended[..6], ended.len()), (&[1, 0, 0, 0, 2, 0][..], 14));
    let after = draw(1_000_000, Some(&ended));
    assert!(after.answer.cells().is_empty() && after.state.as_deref() == Some(&ended[..]));
    assert_eq!(alert.inherits(&armed), Ok(None));
    for wrong in [
        &[][..],
        &[2; 14],
        &[1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0],
        &armed[..21],
        &armed[..14],
        &[&armed[..], &[9]].concat(),
    ] {
        assert_eq!(alert.accepts(wrong).unwrap_err().field(), "state");
        assert!(draw(1_000_000, Some(wrong)).answer.cells().is_empty());
    }
    assert_eq!((alert.remembers(), alert.paid()), (true, Paid::Once { windows: None }));
    assert_eq!(format!("{:?}", AlertState::read(&armed).unwrap()), "<private>");
}

// Refutes a key that is asked for in its pause, one that is left out of more windows than that, a pause of another key, and
// windows that were skipped and do not count.
#[test]
fn a_key_that_has_fired_is_left_out_of_its_pause() {
    let keys = Keys::public(["a", "b"].map(str::to_owned)).unwrap();
    let people = Total::people(Bound::keys(2).checked().unwrap(), keys).unwrap();
    let alert = ThresholdAlert::new(people, 10).unwrap().alarms(9).pause(3).windows(20);
    let alert = AboveThreshold::rho(50.0).prepare(&alert).unwrap();
    let mut noise = NoiseSource::seeded(3);
    let mut draw = |state: Option<&[u8]>| {
        let mut exact = alert.tally();
        exact.absorb(("a".to_owned(), Cell { people: 10_000, records: 0, sum: 0 }));
        let drawn = alert.draw(exact, state, &mut noise);
        let values = drawn.answer.cells().iter().map(|(key, cell)| format!("{key}{}", cell.value()));
        (values.collect::<String>(), drawn.state.unwrap())
    };
    let (first, after) = draw(None);
    let mut released = vec![first];
    let mut state = after.clone();
    for _ in 0..5 {
        let (values, next) = draw(Some(&state));
        released.push(values);
        state = next;
    }
    assert_eq!(released, ["a1b0", "b0", "b0", "b0", "a1b0", "b0"]);
    let mut source = NoiseSource::seeded(1);
    for (windows, values) in [(2, "b0"), (3, "a1b0"), (u64::MAX, "a1b0")] {
        let passed = alert.passed_by(&after, windows, &mut source);
        assert_eq!((alert.accepts(&passed), draw(Some(&passed)).0.as_str()), (Ok(()), values), "{windows}");
    }
}

// Refutes an alarm that is stated to be right beyond the windows that the alert is planned for.
#[test]
fn nothing_is_stated_beyond_the_planned_windows() {
    let alert = ThresholdAlert::new(people(), 10).unwrap().alarms(9).windows(2);
    let alert = AboveThreshold::rho(50.0).prepare(&alert).unwrap();
    let (mut state, mut noise) = (None, NoiseSource::seeded(3));
    let lows = [(); 4].map(|()| {
        let drawn = alert.draw(tally(&alert, 10_000), state.as_deref(), &mut noise);
        state = drawn.state;
        let (_, cell) = drawn.answer.cells()[0];
        (cell.value(), cell.low())
    });
    assert_eq!(lows, [(1, 1), (1, 1), (1, 0), (1, 0)]);
}

// Refutes keys that are asked in the order of their counts, a key behind the last alarm, and lines without what they say.
#[test]
fn keys_are_asked_in_their_order_until_the_last_alarm() {
    let limits = Bound::keys(3).per_key(2).checked().unwrap();
    let keys = || Keys::public(["a", "b", "c"].map(str::to_owned)).unwrap();
    let alert =
        ThresholdAlert::new(Total::count(limits, keys()).unwrap(), 10).unwrap().windows(20).wrong(0.01);
    let alert = AboveThreshold::rho(50.0).prepare(&alert).unwrap();
    let crossing = alert.crossing();
    let mut exact = alert.tally();
    for (key, count) in [("c", 1_000), ("b", 500), ("a", 0)] {
        exact.absorb((key.to_owned(), Cell { people: 1, records: count, sum: 0 }));
    }
    let answer = alert.draw(exact, None, &mut NoiseSource::seeded(1)).answer;
    let values: Vec<_> = answer.cells().iter().map(|(key, cell)| (key.as_str(), cell.value())).collect();
    assert_eq!(values, [("a", 0), ("b", 1)]);
    let head = Head { release: "crowds", window: "null", id: "5f", promise: "p", gaps: "" };
    let lines = answer.lines(&head);
    let noise = format!(
        "\"interval_of\":\"bounded\",\"confidence\":0.99,\"noise\":{{\"kind\":\"geometric\",\"scale\":{},\"above\":10,\"surely\":{},\
         \"alarms\":1,\"alarms_left\":0}},\"id\":\"5f\",\"promise\":\"p\"}}",
        answer.noise()[0].scale(),
        crossing.surely()
    );
    let head = "{\"release\":\"crowds\",\"window\":null,\"key\":";
    assert_eq!(
        lines,
        format!(
            "{head}\"a\",\"value\":0,\"interval\":[0,1],{noise}\n{head}\"b\",\"value\":1,\"interval\":[1,1],{noise}"
        )
    );
}

// Refutes a part of a person at the price of a whole one: another record may take the place of one that is gone, in another key.
#[test]
fn a_part_of_a_person_costs_two_steps() {
    let of = |keys: u64| {
        let listed = Keys::public(["a", "b", "c"].map(str::to_owned)).unwrap();
        ThresholdAlert::new(Total::people(Bound::keys(keys).checked().unwrap(), listed).unwrap(), 5)
            .unwrap()
            .cut()
    };
    let amount = PrivacyCost::zcdp(0.5).unwrap();
    assert_eq!([of(3), of(2)].map(|cut| cut.factor(&amount, false)), [(4 * 4096, 4096); 2]);
    let pure = PrivacyCost::pure(0.5).unwrap();
    assert_eq!([of(4), of(1)].map(|cut| cut.factor(&pure, false)), [(2 * 4096, 4096); 2]);
}

#[test]
fn what_is_no_alert_is_refused_by_name() {
    let limits = || Bound::keys(1).checked().unwrap();
    let refused = |total: Total<String>| ThresholdAlert::new(total, 1).unwrap_err().field().to_owned();
    let keys = || Keys::public(["a".to_owned()]).unwrap();
    assert_eq!(refused(Total::sum(Range::new(0, 9).unwrap(), limits(), keys()).unwrap()), "of");
    assert_eq!(refused(Total::people(limits(), Keys::discover(1e-6)).unwrap()), "keys");
    assert_eq!(ThresholdAlert::new(people(), (1 << 40) + 1).unwrap_err().field(), "above");
    let alert = || ThresholdAlert::new(people(), 1).unwrap();
    let refused =
        |mechanism: AboveThreshold, alert: ThresholdAlert<()>| mechanism.prepare(&alert).unwrap_err();
    let one = || AboveThreshold::rho(0.1);
    assert_eq!(refused(one(), alert().alarms(0)).field(), "alarms");
    assert_eq!(refused(one(), alert().alarms(1_001)).field(), "alarms");
    assert_eq!(refused(one(), alert().windows(0)).field(), "windows");
    for wrong in [0.0, 1e-10, 1.0, -1.0, f64::NAN] {
        assert_eq!(refused(one(), alert().wrong(wrong)).field(), "wrong");
    }
    assert_eq!(refused(AboveThreshold::epsilon(1e-12), alert()).field(), "epsilon");
    assert_eq!(refused(AboveThreshold::rho(-1.0), alert()).field(), "rho");
}

// Refutes parameters that are left out of the name of a release.
#[test]
fn every_parameter_is_another_release() {
    let digest = |mechanism: AboveThreshold, alert: ThresholdAlert<()>| {
        mechanism.prepare(&alert).unwrap().parameters()
    };
    let (one, alert) = (|| AboveThreshold::rho(0.1), || ThresholdAlert::new(people(), 7).unwrap());
    let all = [
        digest(one(), alert()),
        digest(one(), ThresholdAlert::new(people(), 8).unwrap()),
        digest(one(), alert().alarms(2)),
        digest(one(), alert().pause(2)),
        digest(one(), alert().windows(2)),
        digest(one(), alert().wrong(0.04)),
        digest(AboveThreshold::rho(0.2), alert()),
        digest(AboveThreshold::cost(&PrivacyCost::gaussian(0.1).unwrap()), alert()),
    ];
    assert!(all.iter().enumerate().all(|(at, own)| !all[..at].contains(own)));
    assert_eq!(digest(one(), alert()), all[0]);
}
