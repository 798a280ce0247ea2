//! What bounding costs.
#![allow(clippy::print_stdout)]

use std::collections::HashMap;
use std::error::Error;
use std::fs;
use std::hash::{BuildHasherDefault, Hasher};
use std::hint::black_box;

use discreet::dataflow::bounding::{Cap, Chooser, Count, Table};

const WINDOW: usize = 500_000;
const WINDOWS: usize = 12;
const KEYS: usize = 1000;

fn main() -> Result<(), Box<dyn Error>> {
    for people in [10_000u64, 100_000, 1_000_000] {
        let windows = events(people);
        let floor = measure(&windows, |window| {
            let mut counts: HashMap<u32, u64, BuildHasherDefault<Fast>> = HashMap::default();
            for (_, key) in window {
                *counts.entry(*key).or_default() += 1;
            }
            black_box(counts.len());
        });
        let mut table = Table::new(Chooser::new([7; 32]), Cap::new(4, 2)?, Count);
        let bounded = measure(&windows, |window| {
            table.extend(window.iter().map(|(person, key)| (*person, key, ())));
            let tally = table.close(|_| true, |total: &mut u64, records| *total += u64::from(records));
            black_box(tally.len());
        });
        println!(
            "{people}: floor {floor:.1} bounded {bounded:.1} ratio {:.2} {} MB",
            bounded / floor,
            table.bytes() >> 20
        );
        let mut people: HashMap<u64, Vec<(u32, u32)>, BuildHasherDefault<Fast>> = HashMap::default();
        let naive = measure(&windows, |window| {
            for (person, key) in window {
                let kept = people.entry(*person).or_default();
                match kept.iter().position(|(held, _)| held == key) {
                    Some(at) => kept[at].1 = (kept[at].1 + 1).min(2),
                    None if kept.len() < 4 => kept.push((*key, 1)),
                    None => {}
                }
            }
            let mut counts: HashMap<u32, u64, BuildHasherDefault<Fast>> = HashMap::default();
            for (key, count) in people.values().flatten() {
                *counts.entry(*key).or_default() += u64::from(*count);
            }
            people = HashMap::default();
            black_box(counts.len());
        });
        println!("naive {naive:.1}");
    }
    Ok(())
}

/// CPU nanoseconds a record.
fn measure(windows: &[Vec<(u64, u32)>], mut work: impl FnMut(&[(u64, u32)])) -> f64 {
    work(&windows[0]);
    let mut best = f64::INFINITY;
    for _ in 0..3 {
        let start = cpu();
        for window in windows {
            work(window);
        }
        best = best.min((cpu() - start) as f64 / (windows.len() * WINDOW) as f64);
    }
    best
}

fn cpu() -> u64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|first| first.parse().ok()).unwrap_or(0)
}

fn events(people: u64) -> Vec<Vec<(u64, u32)>> {
    let mut state = 88172645463325252u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let total: f64 = (1..=KEYS).map(|rank| 1.0 / rank as f64).sum();
    let mut below = 0.0;
    let limits: Vec<f64> = (1..=KEYS)
        .map(|rank| {
            below += 1.0 / rank as f64 / total;
            below
        })
        .collect();
    let mut window = || {
        (0..WINDOW)
            .map(|_| {
                let share = (random() >> 11) as f64 / (1u64 << 53) as f64;
                (random() % people, limits.partition_point(|&limit| limit < share) as u32)
            })
            .collect()
    };
    (0..WINDOWS).map(|_| window()).collect()
}

#[derive(Default)]
struct Fast(u64);

impl Hasher for Fast {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("numbers only")
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(number.into());
    }

    fn write_u64(&mut self, number: u64) {
        let fold = |a: u64, b: u64| {
            let product = u128::from(a) * u128::from(b);
            product as u64 ^ (product >> 64) as u64
        };
        self.0 =
            fold(fold(number ^ 0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7345) ^ number, 0xa409_3822_299f_31d1);
    }
}
