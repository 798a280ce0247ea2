//! Tests of the kit: faults that it must find, pipelines that it must not refuse, and exact values beside a plain
//! computation.

use crate::Script;

mod exact_values;
mod faults;
mod honest;

/// Reader, page, time.
type Visit = (u64, u32, i64);

/// The end of the windows of these tests, which have a length of 10.
const HORIZON: i64 = 40;

/// Visits of six readers to four pages, of which each reader has several in each window, and of each page.
fn visits() -> Vec<Visit> {
    (0..90)
        .map(|at: i64| (((at * at % 11 + at / 11) % 6) as u64, (at * 7 % 13 % 4) as u32, at * 17 % HORIZON))
        .collect()
}

/// The same with declarations between them, so that some come late.
fn declared() -> Script<Visit> {
    let visits = visits();
    let (first, rest) = visits.split_at(40);
    let (second, last) = rest.split_at(30);
    Script::of(first.to_vec())
        .complete(12)
        .records(second.to_vec())
        .silence()
        .complete(25)
        .records(last.to_vec())
}

// Refutes a re-export that leads from an exact value to a release.
#[test]
fn the_kit_exposes_neither_a_gate_nor_a_ledger() {
    let sources = [
        include_str!("clock.rs"),
        include_str!("compare.rs"),
        include_str!("exact.rs"),
        include_str!("lib.rs"),
        include_str!("neighbours.rs"),
        include_str!("script.rs"),
        include_str!("unbounded.rs"),
    ];
    for source in sources {
        let code = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        let code: Vec<&str> = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        for word in ["Gate", "gate::", "edger", "Releases", "prelude", "discreet::*", "pub use discreet;"] {
            assert!(!code.iter().any(|line| line.contains(word)), "{word} in: {}", code.join("\n"));
        }
        assert!(code.iter().any(|line| line.contains("pub")), "no code is left to look at");
    }
}
