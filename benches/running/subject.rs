//! The timed work: every total of every key, from empty states to the last tick.

use std::collections::VecDeque;
use std::fmt;
use std::hint::black_box;

use rustix::time::{ClockId, clock_gettime};

use discreet::mechanisms::running::{PreparedRunning, TotalState};
use discreet::noise::{DiscreteGaussian, NoiseDistribution, NoiseSource};

/// The numbers of keys and of ticks: at each tick all keys, one after the other, as they come in a stream.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) keys: usize,
    pub(crate) ticks: u64,
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys = if self.keys == 1 { "key" } else { "keys" };
        write!(f, "{} {keys} x {} ticks", self.keys, self.ticks)
    }
}

/// A work that is timed, and the least nanoseconds of a key and tick so far.
pub(crate) struct Subject {
    pub(crate) name: String,
    pub(crate) best: f64,
    released: u64,
    work: Box<dyn FnMut() -> f64>,
}

impl Subject {
    fn new(name: &str, released: u64, work: impl FnMut() -> f64 + 'static) -> Subject {
        Subject { name: name.to_owned(), best: f64::INFINITY, released, work: Box::new(work) }
    }

    fn of(name: &str, shape: Shape, work: impl FnMut() -> f64 + 'static) -> Subject {
        Subject::new(name, shape.keys as u64 * shape.ticks, work)
    }

    /// Totals from one noise source for all keys; the time to make the source is left out.
    pub(crate) fn private(name: &str, running: PreparedRunning, shape: Shape) -> Subject {
        Subject::of(name, shape, move || {
            let mut noise = NoiseSource::from_os().expect("the operating system has randomness");
            let mut states: Vec<TotalState> = (0..shape.keys).map(|_| running.begin()).collect();
            let mut sum = 0.0;
            for tick in 0..shape.ticks {
                for (key, state) in states.iter_mut().enumerate() {
                    sum += running.tick(state, count(tick, key), &mut noise).expect("a tick of the horizon");
                }
            }
            sum
        })
    }

    /// The floor of totals so far: one number a key.
    pub(crate) fn undefended(shape: Shape) -> Subject {
        Subject::of("undefended", shape, move || {
            let mut totals = vec![0; shape.keys];
            let mut sum = 0.0;
            for tick in 0..shape.ticks {
                for (key, total) in totals.iter_mut().enumerate() {
                    *total += count(tick, key);
                    sum += *total as f64;
                }
            }
            sum
        })
    }

    /// The floor of totals over the last ticks: their counts in a ring, and their sum.
    pub(crate) fn undefended_over(width: usize, shape: Shape) -> Subject {
        Subject::of("sliding_undefended", shape, move || {
            let mut keys = vec![(VecDeque::with_capacity(width), 0); shape.keys];
            let mut sum = 0.0;
            for tick in 0..shape.ticks {
                for (key, (last, total)) in keys.iter_mut().enumerate() {
                    let exact = count(tick, key);
                    if last.len() == width {
                        *total -= last.pop_front().unwrap_or(0);
                    }
                    last.push_back(exact);
                    *total += exact;
                    sum += *total as f64;
                }
            }
            sum
        })
    }

    /// Draws alone, one after the other.
    pub(crate) fn draws(name: &str, deviation: f64) -> Subject {
        let law = DiscreteGaussian::with_sigma(deviation).expect("a deviation within the limits");
        let many = 1 << 20;
        Subject::new(name, many, move || {
            let mut noise = NoiseSource::from_os().expect("the operating system has randomness");
            (0..many).map(|_| law.draw(&mut noise)).fold(0, i64::wrapping_add) as f64
        })
    }

    /// One draw of a source of its own, as the gate has one for each release.
    pub(crate) fn begun(name: &str) -> Subject {
        let law = DiscreteGaussian::with_sigma(4.0).expect("a deviation within the limits");
        let many = 1 << 16;
        Subject::new(name, many, move || {
            let once =
                |_| law.draw(&mut NoiseSource::from_os().expect("the operating system has randomness"));
            (0..many).map(once).fold(0, i64::wrapping_add) as f64
        })
    }
}

/// A few hundred contributions a tick, the same in every run.
fn count(tick: u64, key: usize) -> i64 {
    ((tick.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize ^ key) as i64 & 255
}

/// Measures all subjects in turns, so that a busy machine slows all alike; CPU time of this thread.
pub(crate) fn measure(subjects: &mut [Subject], rounds: usize) {
    for _ in 0..rounds {
        for subject in subjects.iter_mut() {
            let start = cpu();
            black_box((subject.work)());
            subject.best = subject.best.min((cpu() - start) as f64 / subject.released as f64);
        }
    }
}

/// Nanoseconds that this thread has run.
pub(crate) fn cpu() -> u64 {
    let spent = clock_gettime(ClockId::ThreadCPUTime);
    spent.tv_sec as u64 * 1_000_000_000 + spent.tv_nsec as u64
}
