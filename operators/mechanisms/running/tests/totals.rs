use std::collections::BTreeMap;

use crate::accounting::running;
use crate::invalid::InvalidKind;
use crate::mechanisms::running::totals::TotalSource;
use crate::mechanisms::{
    Answer, Bound, Drawn, Gaussian, Head, Keys, Mechanism, Paid, Prepared, Range, ReleaseLines, RunningTotal,
    RunningTotals, Tally, Total, TotalSpan,
};
use crate::noise::NoiseSource;

const SO_FAR: TotalSpan = TotalSpan::SoFar { windows: 16 };
const LAST: TotalSpan = TotalSpan::Last { windows: 4 };

fn count(keys: Keys<u32>, span: TotalSpan) -> RunningTotal<u32> {
    let limits = Bound::keys(3).per_key(5).checked().unwrap();
    RunningTotal::new(Total::count(limits, keys).unwrap(), span).unwrap()
}

fn prepare(keys: Keys<u32>, span: TotalSpan, rho: f64) -> RunningTotals<u32> {
    Gaussian::rho(rho).prepare(&count(keys, span)).unwrap()
}

/// Tallies these records of one person for each of these keys.
fn brought(
    prepared: &RunningTotals<u32>,
    cells: &[(u32, u64, bool)],
) -> <RunningTotals<u32> as Prepared>::Tally {
    let mut tally = prepared.tally();
    let statistic = count(Keys::discover(1e-2), SO_FAR);
    for (key, records, first) in cells {
        tally.absorb((*key, statistic.contribution(*records, 0, 5, *first).0));
    }
    tally
}

type Released = Drawn<Answer<u32, i128>>;

// The keys of a lone person, over the whole stream. Refutes spans that overlap; a threshold for one span in
// place of five, or for one key in place of three, and `>` for `>=`: each releases five or three times as
// many keys, or fewer by the likeliest. 5 standard deviations of 6,000 runs: alpha 6e-7.
#[test]
fn what_only_one_person_has_is_given_away_as_seldom_as_was_said() {
    let (delta, runs) = (0.1, 6000);
    for (span, spans) in [(SO_FAR, 5), (LAST, 3)] {
        let prepared = prepare(Keys::discover(delta), span, 0.05);
        let TotalSource::Discovered { threshold, .. } = &prepared.keys else { panic!() };
        let p = threshold.noise().tail(threshold.least() - 1);
        let expected = 1.0 - (1.0 - p).powi(3 * spans);
        assert!(expected <= delta && expected > delta / 3.0, "{expected}");
        let mut noise = NoiseSource::recording(7);
        let mut given_away = 0;
        for _ in 0..runs {
            let mut state = None;
            let mut released = false;
            for window in 0..16 {
                let cells: &[(u32, u64, bool)] =
                    if window == 5 { &[(1, 1, true), (2, 1, true), (3, 1, true)] } else { &[] };
                let drawn: Released = prepared.draw(brought(&prepared, cells), state.as_deref(), &mut noise);
                released |= !drawn.answer.cells().is_empty();
                state = drawn.state;
            }
            given_away += u32::from(released);
        }
        let (mean, n) = (expected * f64::from(runs), f64::from(runs));
        let off = (f64::from(given_away) - mean).abs();
        assert!(off <= 5.0 * (n * expected * (1.0 - expected)).sqrt(), "{span:?}: {given_away} for {mean}");
    }
}

// Refutes a selection that is priced for one span of windows, shares that come to more than the whole, and
// totals whose noise is for one key of a person, or for one record.
#[test]
fn what_is_charged_is_enough_for_every_span_and_every_total() {
    for (span, spans) in [(SO_FAR, 5.0), (LAST, 3.0)] {
        let prepared = prepare(Keys::discover(1e-6), span, 0.5);
        let TotalSource::Discovered { threshold, .. } = &prepared.keys else { panic!() };
        // A person is in 3 keys, in a span of each length, by 1.
        let selecting = 3.0 * spans / (2.0 * threshold.noise().scale().powi(2));
        let releasing = prepared.running().charge().to_float_up();
        assert!(selecting + releasing <= 0.5 * (1.0 + 1e-12), "{selecting} and {releasing}");
        assert!(selecting + releasing > 0.499, "less than was asked for");
        let unit = match span {
            TotalSpan::SoFar { windows } => running::so_far(windows, 0.35),
            TotalSpan::Last { windows } => running::over_last(windows, 0.35),
            TotalSpan::People { .. } => panic!("of records"),
        };
        // The bound is five records in each of three keys.
        let over = prepared.running().deviation() / unit.unwrap().best().max_deviation();
        assert!((over / (5.0 * 3f64.sqrt()) - 1.0).abs() < 1e-3, "{over}");
        assert_eq!(prepared.paid(), Paid::Once { windows: prepared.running().horizon() });
    }
}

// Refutes a key that is found without its earlier contributions, in either kind of total; the noise is almost
// zero.
#[test]
fn a_key_that_emerges_slowly_is_found_with_all_that_was_before() {
    for (span, last) in [(SO_FAR, 99), (LAST, 4)] {
        let asked = Gaussian::rho(500.0).selecting(1);
        let prepared = asked.prepare(&count(Keys::discover(1e-6), span)).unwrap();
        let mut noise = NoiseSource::recording(3);
        let (mut state, mut found) = (None, None);
        for window in 1..=16usize {
            // Three people a window are below the threshold of any one window.
            let cells = [(9, 5, true); 3];
            let drawn: Released = prepared.draw(brought(&prepared, &cells), state.as_deref(), &mut noise);
            state = drawn.state;
            if let [(9, released)] = drawn.answer.cells() {
                found.get_or_insert(window);
                let truth = 15 * window.min(last) as i128;
                assert!(
                    (released.value() - truth).abs() <= 4,
                    "{span:?}, window {window}: {released:?} for {truth}"
                );
            }
        }
        assert!(prepared.threshold().unwrap() > 6, "found at once");
        assert!(found.is_some_and(|window| window > 1 && window <= 8), "{span:?}: {found:?}");
    }
}

// Refutes intervals for other noise, or for another tick: too narrow, or half again as wide as needed.
#[test]
fn intervals_hold_the_truth_as_often_as_they_say() {
    for span in [SO_FAR, LAST] {
        let prepared = prepare(Keys::public([1]).unwrap(), span, 0.1);
        let mut noise = NoiseSource::recording(11);
        let mut missed = [0; 16];
        for _ in 0..1000 {
            let mut state = None;
            for missed in &mut missed {
                let drawn: Released = prepared.draw(prepared.tally(), state.as_deref(), &mut noise);
                let released = drawn.answer.cells()[0].1;
                *missed += i32::from(released.low() > 0 || released.high < 0);
                state = drawn.state;
            }
        }
        // 100 are expected at most; 5 standard deviations are 48.
        assert!(missed.iter().all(|missed| *missed <= 148), "{span:?}: {missed:?}");
        assert!(missed.iter().all(|missed| *missed >= 40), "{span:?}: {missed:?}");
    }
}

#[test]
fn a_line_says_what_it_is_a_total_of_and_how_it_was_noised() {
    let line = |span, gaps| {
        let prepared = prepare(Keys::public([1]).unwrap(), span, 0.1);
        let drawn: Released = prepared.draw(prepared.tally(), None, &mut NoiseSource::recording(1));
        drawn.answer.lines(&Head { release: "r", window: "null", id: "5f", promise: "p", gaps })
    };
    let so_far = line(SO_FAR, "");
    assert!(
        so_far.contains(r#"],"total":"so far","interval_of":"bounded","confidence":0.9,"noise":{"kind":"gaussian","scale":"#),
        "{so_far}"
    );
    assert!(
        so_far.contains(r#","over_bound":1."#) && so_far.contains(r#","strategy":"square-root"}"#),
        "{so_far}"
    );
    assert!(line(LAST, "").contains(r#","total":"last 4","interval_of""#));
    assert!(line(LAST, "[{}]").contains(r#","total":"last 4","gaps":[{}],"interval_of""#));
}

// Refutes a state that is read as another's, and bytes that cause a panic or are read in part.
#[test]
fn what_is_kept_is_read_whole_or_not_at_all() {
    let one = prepare(Keys::discover(1e-2), SO_FAR, 0.5);
    let mut noise = NoiseSource::recording(2);
    let crowd: Vec<(u32, u64, bool)> =
        (0..80).map(|_| (4, 1, true)).chain([(5, 2, true), (6, 1, true)]).collect();
    let first: Released = one.draw(brought(&one, &crowd), None, &mut noise);
    assert_eq!(first.answer.cells().len(), 1, "eighty are enough, and one is not");
    let state = first.state.unwrap();
    assert_eq!(one.accepts(&state), Ok(()));
    for length in 0..state.len() {
        assert!(one.accepts(&state[..length]).is_err(), "torn at {length}");
    }
    assert!(one.accepts(&[&state[..], &[0]].concat()).is_err());
    for other in [prepare(Keys::discover(1e-2), SO_FAR, 0.4), prepare(Keys::discover(1e-2), LAST, 0.5)] {
        assert_eq!(other.accepts(&state).unwrap_err().field(), "state");
    }
    // Public keys stay public in another version, and all else begins anew.
    let other = prepare(Keys::discover(1e-2), LAST, 0.5);
    let inherited = other.inherits(&state).unwrap().unwrap();
    assert_eq!(other.accepts(&inherited), Ok(()));
    let drawn: Released = other.draw(other.tally(), Some(&inherited), &mut noise);
    assert_eq!(drawn.answer.cells().iter().map(|(key, _)| *key).collect::<Vec<_>>(), [4]);
    assert!(drawn.answer.cells()[0].1.value().abs() < 60, "a total of nobody");
    let listed = prepare(Keys::public([1]).unwrap(), SO_FAR, 0.5);
    assert_eq!(listed.inherits(&state), Ok(None));
    assert_eq!(listed.accepts(&state).unwrap_err().kind(), InvalidKind::Mixed);
}

#[test]
fn what_is_no_sum_over_windows_is_refused_by_name() {
    let limits = Bound::keys(1).checked().unwrap();
    let keys = || Keys::public([1u32]).unwrap();
    let refused = |total: Total<u32>, span| RunningTotal::new(total, span).unwrap_err().field().to_owned();
    assert_eq!(refused(Total::people(limits, keys()).unwrap(), LAST), "over");
    let windows = Bound::keys(1).windows(3).checked().unwrap();
    assert_eq!(refused(Total::count(windows, keys()).unwrap(), SO_FAR), "windows");
    assert_eq!(refused(Total::count(limits, keys()).unwrap(), TotalSpan::SoFar { windows: 0 }), "horizon");
    assert_eq!(refused(Total::count(limits, keys()).unwrap(), TotalSpan::Last { windows: 1 << 15 }), "width");
    let wide = Range::new(0, 1 << 41).unwrap();
    let sum = RunningTotal::new(Total::sum(wide, limits, keys()).unwrap(), SO_FAR).unwrap();
    assert_eq!(Gaussian::rho(0.1).prepare(&sum).unwrap_err().field(), "each");
}

// Windows one after another. Refutes a share above the remaining one, also in a sum of both signs; a share
// below the largest possible; and a person who is counted twice.
#[test]
fn shares_come_to_no_more_than_one_person_may_bring() {
    let limits = Bound::keys(1).per_key(7).checked().unwrap();
    let keys = || Keys::public([1u32]).unwrap();
    let range = Range::new(-30, 50).unwrap();
    let totals = [
        Total::count(limits, keys()).unwrap(),
        Total::people(limits, keys()).unwrap(),
        Total::sum(range, limits, keys()).unwrap(),
    ];
    for (total, each) in totals.into_iter().zip([7, 1, 50]) {
        let running = RunningTotal::new(total, SO_FAR).unwrap();
        assert_eq!(running.each(), each);
        let mut noise = NoiseSource::recording(5);
        for _ in 0..200 {
            let mut left = each;
            let mut people = 0;
            for window in 0..9 {
                let (records, sum) = (noise.below(5), i128::from(noise.below(99)) - 49);
                if left == 0 {
                    break;
                }
                let (cell, used) = running.contribution(records, sum, left, window == 0);
                assert!(used <= left && cell.records <= 7 && cell.sum.unsigned_abs() <= u128::from(left));
                people += cell.people;
                left -= used;
            }
            assert!(people <= 1);
        }
        let all: BTreeMap<u64, u64> =
            [1, each].into_iter().map(|left| (left, running.contribution(9, 99, left, true).1)).collect();
        assert!(all.into_iter().all(|(left, used)| used == left), "less than is left");
    }
}
