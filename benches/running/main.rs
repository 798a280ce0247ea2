//! The time of a running total that is released at every tick, by each strategy: beside the same total
//! without protection, and beside the draws that it takes.
//!
//! One key for a million ticks, and many for fewer; at each tick all keys one after the other, from empty
//! states to the last total; totals so far up to the last tick, and over the last 60. The floor adds up as
//! many numbers: for totals so far in one number a key, over the last ticks in a ring. CPU time of one
//! thread, the best of rounds in which all take turns; the lines at the end are the worst of the three.
//!
//! What limits it: half of fresh noise is the draw. A tree takes two draws a tick, which are half of its
//! time. Seven buffers are multiplied twice each, 128 bits by 62 and exactly, which is half of their time;
//! their number grows with the logarithm of the horizon. The square root takes time in proportion to its
//! memory: every tick that it remembers is multiplied once exactly and once in floats, and the floats are
//! added one after the other, so that each addition waits for the one before. That is most of the time of
//! totals over the last ticks, whose coefficients reach back twice the width: adding them in eight lanes
//! would save a third, and change the last digits. With 100,000 keys it reads two kilobytes a key at every
//! tick, from memory.
//!
//! A noise source of its own, as each release has one, costs as much as a hundred draws: nearly all of the
//! time of a single key, and hardly any of a thousand keys. A written state has two numbers for each that is
//! remembered, and takes as long as copying it number by number.
//!
//! The last lines, which `-- sealed` prints alone, are of the state that a gate seals with each window: 1,000
//! discovered keys, windows of a second. They are bytes, and no time.
#![allow(clippy::print_stdout)]

mod kept;
mod sealed;
mod subject;

use std::error::Error;

use discreet::accounting::BudgetUnits;
use discreet::accounting::running::{REMEMBERED, Strategy};
use discreet::mechanisms::running::{PreparedRunning, StreamContribution};

use kept::{Kept, Keys};
use sealed::{Sealed, sealed};
use subject::{Shape, Subject};

/// One key for a long time, and many keys for as long as makes ten million totals.
const SHAPES: [Shape; 3] = [
    Shape { keys: 1, ticks: 1_000_000 },
    Shape { keys: 1_000, ticks: 10_000 },
    Shape { keys: 100_000, ticks: 100 },
];
/// The most ticks that the square root remembers, and few keys, since they take long.
const LONGEST: Shape = Shape { keys: 20, ticks: REMEMBERED };
/// The width of totals over the last ticks: an hour of minutes.
const WIDTH: u64 = 60;
const RHO: f64 = 0.1;
const ROUNDS: usize = 5;

/// The kind of totals: so far, or over the last ticks.
#[derive(Clone, Copy)]
enum Totals {
    SoFar(Strategy),
    Last(Strategy),
}

use Totals::{Last, SoFar};

const ALL: [(&str, Totals); 6] = [
    ("square_root", SoFar(Strategy::SquareRoot)),
    ("buffered", SoFar(Strategy::Buffered)),
    ("tree", SoFar(Strategy::Tree)),
    ("fresh", SoFar(Strategy::Fresh)),
    ("sliding_square_root", Last(Strategy::SquareRoot)),
    ("sliding_fresh", Last(Strategy::Fresh)),
];

impl Totals {
    /// `None` for more ticks than the strategy has.
    fn running(self, ticks: u64) -> Result<Option<PreparedRunning>, Box<dyn Error>> {
        let (reach, rho) = (StreamContribution::new(1, 1)?, BudgetUnits::at_most_float("rho", RHO)?);
        Ok(match self {
            SoFar(Strategy::SquareRoot) if ticks > REMEMBERED => None,
            SoFar(strategy) => Some(PreparedRunning::so_far(strategy, ticks, reach, rho)?),
            Last(strategy) => Some(PreparedRunning::over_last(strategy, WIDTH, reach, rho)?),
        })
    }

    /// The number of draws. A node of the tree is drawn when it is complete: as many as leaves, but for one.
    fn draws(self) -> f64 {
        if matches!(self, SoFar(Strategy::Tree)) { 2.0 } else { 1.0 }
    }
}

/// The worst time of a strategy over the shapes.
#[derive(Clone, Copy, Default)]
struct Worst {
    nanoseconds: f64,
    undefended: f64,
    draws: f64,
}

fn main() -> Result<(), Box<dyn Error>> {
    if std::env::args().any(|argument| argument == "sealed") {
        return print_sealed();
    }
    // First, while no memory has been freed that could be reused.
    let kept = kept()?;
    let mut worst = [Worst::default(); ALL.len()];
    let mut draws = [Subject::draws("a draw", 1000.0), Subject::begun("a draw of a source of its own")];
    subject::measure(&mut draws, ROUNDS);
    for draw in &draws {
        println!("{:<32} {:8.1} ns", draw.name, draw.best);
    }
    for shape in SHAPES {
        released(shape, draws[0].best, &mut worst)?;
    }
    if let Some(running) = SoFar(Strategy::SquareRoot).running(LONGEST.ticks)? {
        let mut longest = [Subject::private("square_root", running, LONGEST)];
        subject::measure(&mut longest, ROUNDS);
        println!("{LONGEST}\n  {:<30} {:8.0} ns", longest[0].name, longest[0].best);
        worst[0].nanoseconds = worst[0].nanoseconds.max(longest[0].best);
    }
    for ((name, _), worst) in ALL.iter().zip(worst) {
        println!("figure running.{name} {:.1} ns_a_key_and_tick", worst.nanoseconds);
        println!("ratio running.{name}_over_undefended {:.1}", worst.undefended);
        println!("ratio running.{name}_over_its_draws {:.2}", worst.draws);
    }
    for (name, Kept { held, written, write, read }) in kept {
        if let Some(held) = held {
            println!("figure running.{name}_held {held:.0} bytes_a_key");
        }
        println!("figure running.{name}_written {written} bytes_a_key");
        println!("figure running.{name}_write {write:.0} ns_a_key");
        println!("figure running.{name}_read {read:.0} ns_a_key");
    }
    print_sealed()
}

/// The state of a job over 1,000 discovered keys with windows of a second; `-- sealed` prints this alone.
fn print_sealed() -> Result<(), Box<dyn Error>> {
    for Sealed { name, clear, whole, state, written } in sealed()? {
        println!("figure running.{name}_state {clear} bytes");
        println!("figure running.{name}_full_copy {whole} bytes");
        println!("figure running.{name}_state_bytes_per_window {state:.0} bytes");
        if let Some(written) = written {
            println!("figure running.{name}_written_per_window {written:.0} bytes");
        }
        if name == "buffered" {
            println!("figure running.state_bytes_per_window {state:.0} bytes");
        }
    }
    Ok(())
}

/// The state of totals so far of a million ticks, and of the others at their widest.
fn kept() -> Result<Vec<(&'static str, Kept)>, Box<dyn Error>> {
    let mut all = Vec::new();
    for (name, totals) in ALL {
        let keys = match totals.running(SHAPES[0].ticks)? {
            Some(running) => Keys::new(running, 10_000, 3 * WIDTH)?,
            None => {
                let longest = totals.running(REMEMBERED)?.ok_or("it remembers so many ticks")?;
                Keys::new(longest, 100, REMEMBERED)?
            }
        };
        all.push((name, keys));
    }
    all.iter().map(|(name, keys)| Ok((*name, keys.kept()?))).collect()
}

fn released(shape: Shape, draw: f64, worst: &mut [Worst]) -> Result<(), Box<dyn Error>> {
    let mut subjects = vec![Subject::undefended(shape), Subject::undefended_over(WIDTH as usize, shape)];
    let mut places = Vec::new();
    for (place, (name, totals)) in ALL.into_iter().enumerate() {
        if let Some(running) = totals.running(shape.ticks)? {
            places.push((place, totals));
            subjects.push(Subject::private(name, running, shape));
        }
    }
    subject::measure(&mut subjects, ROUNDS);
    println!("{shape}");
    let [so_far, last, private @ ..] = subjects.as_slice() else { return Ok(()) };
    println!("  {:<30} {:8.2} ns\n  {:<30} {:8.2} ns", so_far.name, so_far.best, last.name, last.best);
    for (Subject { name, best, .. }, (place, totals)) in private.iter().zip(places) {
        let floor = if matches!(totals, SoFar(_)) { so_far } else { last };
        let (undefended, draws) = (best / floor.best, totals.draws() * draw);
        println!("  {name:<30} {best:8.1} ns, {draws:.1} of them draws; {undefended:.1} x undefended");
        let worst = &mut worst[place];
        worst.nanoseconds = worst.nanoseconds.max(*best);
        worst.undefended = worst.undefended.max(undefended);
        worst.draws = worst.draws.max(best / draws);
    }
    Ok(())
}
