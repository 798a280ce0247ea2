//! A count and a running total whose lines name the draw that they come from.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use discreet::gate::{DrawResult, Sealable};
use discreet::ledger::Digest;
use discreet::noise::{DiscreteLaplace, NoiseDistribution, NoiseSource};

/// A file that records every draw when it is made, and survives a kill. From it the oracle counts the draws.
#[derive(Clone)]
pub(crate) struct Draws(Arc<File>);

impl Draws {
    pub(crate) fn open(path: &Path) -> io::Result<Draws> {
        Ok(Draws(Arc::new(OpenOptions::new().append(true).create(true).open(path)?)))
    }

    /// Records a draw, and returns a word unique to it.
    fn note(&self, id: &Digest, noise: &mut NoiseSource) -> String {
        let token = format!("{:016x}", noise.below(u64::MAX));
        let line = format!("{} {id} {token}\n", std::process::id());
        (&*self.0).write_all(line.as_bytes()).unwrap();
        token
    }
}

fn noised(sum: i64, noise: &mut NoiseSource) -> i64 {
    sum + DiscreteLaplace::new(16.0).unwrap().draw(noise)
}

pub(crate) struct Count {
    pub(crate) id: Digest,
    pub(crate) sum: i64,
    pub(crate) draws: Draws,
}

impl Sealable for Count {
    fn draw(self: Box<Self>, _: Option<&[u8]>, noise: &mut NoiseSource) -> DrawResult {
        let token = self.draws.note(&self.id, noise);
        DrawResult {
            line: format!("{{\"count\":{},\"token\":\"{token}\"}}", noised(self.sum, noise)),
            state: None,
            step: None,
            note: None,
        }
    }
}

/// A running total: its state is the number of its releases, the exact total, and the word of its last draw,
/// and then bytes that stay, so that it is sealed as changes and as full copies. Its lines disclose all of
/// that, so that the oracle can follow it.
pub(crate) struct Running {
    pub(crate) id: Digest,
    pub(crate) sum: i64,
    pub(crate) draws: Draws,
}

impl Sealable for Running {
    fn keeps_state(&self) -> bool {
        true
    }

    fn draw(self: Box<Self>, state: Option<&[u8]>, noise: &mut NoiseSource) -> DrawResult {
        let state = state.map_or("0 0 none -", |state| std::str::from_utf8(state).unwrap());
        let mut words = state.split(' ');
        let mut word = || words.next().unwrap();
        let (times, before, after) = (word().parse::<i64>().unwrap(), word().parse::<i64>().unwrap(), word());
        let (times, exact) = (times + 1, before + self.sum);
        let token = self.draws.note(&self.id, noise);
        let total = noised(exact, noise);
        DrawResult {
            line: format!(
                "{{\"total\":{total},\"times\":{times},\"exact\":{exact},\"after\":\"{after}\",\"token\":\"{token}\"}}"
            ),
            state: Some(format!("{times} {exact} {token} {}", "-".repeat(3_000)).into_bytes()),
            step: None,
            note: None,
        }
    }
}
