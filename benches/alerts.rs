//! The time in which a window of an alert is asked for, of one key and of many: beside the same comparison without protection, and
//! beside the number of each key with Gaussian noise, which is the release that an alert takes the place of.
//!
//! Each setting makes the lines of a window from exact counts: nobody is above the threshold, so that every key of every window is
//! asked for. Time of one thread, the best of rounds in which the settings take turns.
//!
//! The limit is a geometric draw by a coin of the exact bits of `exp` for each doubling of its scale, where a Gaussian draw has
//! a table; and the text of a line, as in the others.
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

use discreet::Invalid;
use discreet::mechanisms::{
    AboveThreshold, Bound, Gaussian, Head, Keys, Mechanism, Prepared, ReleaseLines, Tally, ThresholdAlert,
    Total,
};
use discreet::noise::NoiseSource;

const ROUNDS: usize = 10;
const WINDOWS: usize = 20;
/// The people of each key, and the threshold.
const PEOPLE: u64 = 300;
const ABOVE: u64 = 500;

const HEAD: Head<'static> =
    Head { release: "crowds", window: "null", id: "5f", promise: "lifetime", gaps: "" };

fn total(keys: u64) -> Result<Total<u64>, Invalid> {
    Total::people(Bound::keys(keys).checked()?, Keys::public(0..keys)?)
}

/// The exact counts of a window.
fn tally<P: Prepared<Tally = discreet::mechanisms::Cells<u64>>>(
    prepared: &P,
    keys: u64,
) -> Result<P::Tally, Invalid> {
    let (mut tally, total) = (prepared.tally(), total(keys)?);
    let mut cell = total.contribution(1, 0);
    (1..PEOPLE).for_each(|_| cell.add(&total.contribution(1, 0)));
    (0..keys).for_each(|key| tally.absorb((key, cell)));
    Ok(tally)
}

/// Lines of the same text without noise.
fn undefended(counts: &[u64]) -> String {
    let line = |(key, count): (usize, &u64)| {
        let fired = u8::from(*count > ABOVE);
        format!(
            "{{\"release\":\"crowds\",\"window\":null,\"key\":{key},\"value\":{fired},\"interval\":[{fired},1],\"confidence\":0.95,\
             \"noise\":{{\"kind\":\"none\",\"above\":{ABOVE}}},\"id\":\"5f\",\"promise\":\"none\"}}"
        )
    };
    counts.iter().enumerate().map(line).collect::<Vec<_>>().join("\n")
}

/// The least time of a window of these.
fn least(
    best: &mut Duration,
    windows: impl FnOnce() -> Result<(), Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    windows()?;
    *best = (*best).min(start.elapsed() / WINDOWS as u32);
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    for keys in [1u64, 1_000, 10_000] {
        let alert =
            AboveThreshold::rho(0.1).prepare(&ThresholdAlert::new(total(keys)?, ABOVE)?.windows(8_760))?;
        let numbers = Gaussian::rho(0.1).prepare(&total(keys)?)?;
        let counts = vec![PEOPLE; keys as usize];
        let [mut floor, mut asked, mut noised] = [Duration::MAX; 3];
        for _ in 0..ROUNDS {
            least(&mut floor, || {
                (0..WINDOWS).for_each(|_| _ = black_box(undefended(black_box(&counts))));
                Ok(())
            })?;
            let tallies = (0..WINDOWS).map(|_| tally(&alert, keys)).collect::<Result<Vec<_>, _>>()?;
            least(&mut asked, || {
                let (mut noise, mut state) = (NoiseSource::from_os()?, None);
                for tally in tallies {
                    let drawn = alert.draw(tally, state.as_deref(), &mut noise);
                    black_box(drawn.answer.lines(&HEAD));
                    state = drawn.state;
                }
                Ok(())
            })?;
            let tallies = (0..WINDOWS).map(|_| tally(&numbers, keys)).collect::<Result<Vec<_>, _>>()?;
            least(&mut noised, || {
                let mut noise = NoiseSource::from_os()?;
                for tally in tallies {
                    black_box(numbers.draw(tally, None, &mut noise).answer.lines(&HEAD));
                }
                Ok(())
            })?;
        }
        let each = |time: Duration| time.as_nanos() as f64 / keys as f64;
        println!(
            "{keys} keys: {:.0} ns a key and window without protection, {:.0} of an alert, {:.0} of numbers with Gaussian noise",
            each(floor),
            each(asked),
            each(noised)
        );
        println!("ratio alerts.alert_over_plain_{keys}_keys {:.2}", each(asked) / each(floor));
        println!("ratio alerts.alert_over_numbers_{keys}_keys {:.2}", each(asked) / each(noised));
    }
    Ok(())
}
