//! The time of contribution bounding: the table beside an undefended count of the same records, and beside a
//! bound that takes five lines of code.
//!
//! One thread; windows of 500,000 records, people uniform, 1,000 keys by Zipf(1), at most 4 keys a person and
//! 2 records a key. The floor is a hash map from keys to counts with a hash like the table's. The five lines
//! are a hash map from people to short lists, first come, first kept, which is neither the same on two
//! workers nor mergeable. The figures are CPU time, since the machine may be shared; other programs still
//! take their share of its caches.
//!
//! What limits it: a record is hashed twice (person, key), appended to one of 32 places, found in an index of
//! its part, moved to its person, and compared with the person's other records. No step waits for main
//! memory, so a million people cost no more than ten thousand; the rest is instructions, and the two
//! unpredictable branches: a new person or not, and a new key of the person or not. Of the time, hashing and
//! appending take a third, finding persons a quarter, and combining, choosing and adding up the rest. Text
//! keys cost their hashing, their comparison and their memory on top.
#![allow(clippy::print_stdout)]

use std::collections::HashMap;
#[path = "dataflow/hash.rs"]
mod hash;

use std::error::Error;
use std::fs;
use std::hash::BuildHasherDefault;
use std::hint::black_box;

use discreet::dataflow::bounding::{Cap, ContributionSelector, Count, Identity, PersonTable, RecordTotals};
use hash::Fast;

const WINDOW: usize = 500_000;
const WINDOWS: usize = 8;
const KEYS: usize = 1000;

type Map<K, V> = HashMap<K, V, BuildHasherDefault<Fast>>;

fn main() -> Result<(), Box<dyn Error>> {
    let mut lines = Vec::new();
    for (people, label) in [(10_000, "10k"), (100_000, "100k"), (1_000_000, "1m")] {
        let windows = events(people);
        let mut table = PersonTable::new(ContributionSelector::new([7; 32]), Cap::new(4, 2)?, Count);
        let [floor, bounded, short] = measure(
            &windows,
            [
                &mut |window: &[(u64, u32)]| count(window.iter().map(|(_, key)| *key)),
                &mut |window: &[(u64, u32)]| bound(&mut table, window),
                &mut |window: &[(u64, u32)]| first_come(window),
            ],
        );
        let megabytes = table.bytes() >> 20;
        println!(
            "{label} people: count {floor:.1} ns a record, bounded {bounded:.1}, five lines {short:.1}; table {megabytes} MB"
        );
        lines.push(format!("ratio bounding.count_over_hash_map_{label} {:.2}", bounded / floor));
        lines.push(format!("ratio bounding.five_lines_over_count_{label} {:.2}", short / bounded));
        lines.push(format!("figure bounding.count_ns_per_record_{label} {bounded:.1} ns"));
    }

    let windows = events(100_000);
    let mut each = RecordTotals::new(ContributionSelector::new([7; 32]), None);
    let [floor, record] = measure(
        &windows,
        [&mut |window: &[(u64, u32)]| count(window.iter().map(|(_, key)| *key)), &mut |window: &[(
            u64,
            u32,
        )]| {
            window.iter().for_each(|(_, key)| each.add(key, |count: &mut u64| *count += 1));
            black_box(each.close().len());
        }],
    );
    lines.push(format!("ratio bounding.record_over_hash_map {:.2}", record / floor));

    let texts: Vec<Vec<(String, String)>> = windows
        .iter()
        .map(|window| {
            window.iter().map(|(person, key)| (format!("person-{person}"), format!("/page/{key}"))).collect()
        })
        .collect();
    let mut table = PersonTable::new(ContributionSelector::new([7; 32]), Cap::new(4, 2)?, Count);
    let [floor, bounded] = measure(
        &texts,
        [
            &mut |window: &[(String, String)]| count(window.iter().map(|(_, key)| key.as_str())),
            &mut |window: &[(String, String)]| bound(&mut table, window),
        ],
    );
    println!(
        "100k people, texts: count {floor:.1} ns a record, bounded {bounded:.1} (of which one copy of the person)"
    );
    lines.push(format!("ratio bounding.texts_over_hash_map_100k {:.2}", bounded / floor));

    for line in lines {
        println!("{line}");
    }
    Ok(())
}

/// The floor: records by key, without contribution bounding.
fn count<K: std::hash::Hash + Eq>(keys: impl Iterator<Item = K>) {
    let mut counts: Map<K, u64> = Map::default();
    for key in keys {
        *counts.entry(key).or_default() += 1;
    }
    black_box(counts.len());
}

fn bound<P, K>(table: &mut PersonTable<P, K, Count>, window: &[(P, K)])
where
    P: Identity + Eq + Clone,
    K: Identity + Ord + Clone,
{
    table.extend(window.iter().map(|(person, key)| (person.clone(), key, ())));
    black_box(table.totals(|_| true).len());
}

/// The naive bound: the first four keys of a person.
fn first_come(window: &[(u64, u32)]) {
    let mut people: Map<u64, Vec<(u32, u32)>> = Map::default();
    for (person, key) in window {
        let kept = people.entry(*person).or_default();
        match kept.iter().position(|(held, _)| held == key) {
            Some(at) => kept[at].1 = (kept[at].1 + 1).min(2),
            None if kept.len() < 4 => kept.push((*key, 1)),
            None => {}
        }
    }
    let mut counts: Map<u32, u64> = Map::default();
    for (key, count) in people.values().flatten() {
        *counts.entry(*key).or_default() += u64::from(*count);
    }
    black_box(counts.len());
}

/// The work on each window.
type Workload<'a, R> = &'a mut dyn FnMut(&[R]);

/// The CPU nanoseconds a record of each work, the best of five rounds in which they take turns.
fn measure<R, const N: usize>(windows: &[Vec<R>], mut works: [Workload<'_, R>; N]) -> [f64; N] {
    let mut best = [f64::INFINITY; N];
    for round in 0..6 {
        for (work, best) in works.iter_mut().zip(&mut best) {
            let start = cpu();
            for window in windows {
                work(window);
            }
            // The first round only touches memory.
            if round > 0 {
                *best = best.min((cpu() - start) as f64 / (windows.len() * WINDOW) as f64);
            }
        }
    }
    best
}

/// The nanoseconds that this thread has run.
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
