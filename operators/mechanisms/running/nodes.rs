//! The binary tree, from the leaves: a node is measured when its last tick has come.

use dashu_int::UBig;
use smallvec::smallvec;

use super::state::Measured;
use crate::accounting::running::tree::{levels, node};

/// A measurement for each node that a tick completes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Nodes {
    levels: u32,
}

/// What is kept of each level: the last complete node that waits for its sibling, exact and as it is estimated.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NodeState {
    pub(super) exact: Vec<i128>,
    pub(super) told: Vec<f64>,
}

impl Nodes {
    pub(super) fn new(ticks: u64) -> Nodes {
        Nodes { levels: levels(ticks) }
    }

    pub(super) fn levels(self) -> usize {
        self.levels as usize
    }

    /// A tick is in one node a level.
    pub(super) fn squared(self, each: u64) -> UBig {
        UBig::from(self.levels) * UBig::from(each).pow(2)
    }

    /// `tick` counts from 1. Exact: 2^32 numbers of 64 bits.
    pub(super) fn measure(self, kept: &mut NodeState, tick: u64, exact: i64) -> Measured {
        let mut sum = i128::from(exact);
        let mut measured = smallvec![sum];
        let (waiting, place) = split(&mut kept.exact, tick);
        for sibling in waiting {
            sum += std::mem::take(sibling);
            measured.push(sum);
        }
        if let Some(place) = place {
            *place = sum;
        }
        measured
    }

    /// A node by its own measurement and its children's estimates, weighted by their precision; a total is one node for each
    /// binary digit of its tick.
    pub(super) fn tell(self, kept: &mut NodeState, tick: u64, noised: &[i128]) -> f64 {
        let (waiting, place) = split(&mut kept.told, tick);
        let mut values = noised.iter().map(|value| *value as f64);
        let mut estimate = values.next().unwrap_or(0.0);
        for ((level, own), sibling) in (1..).zip(values).zip(waiting) {
            let weight = node(level);
            estimate = weight * own + (1.0 - weight) * (std::mem::take(sibling) + estimate);
        }
        if let Some(place) = place {
            *place = estimate;
        }
        kept.told.iter().sum()
    }
}

/// The levels of nodes that this tick completes, and where the largest of them then waits.
fn split<T>(levels: &mut [T], tick: u64) -> (&mut [T], Option<&mut T>) {
    let completed = (tick.trailing_zeros() as usize).min(levels.len());
    let (waiting, rest) = levels.split_at_mut(completed);
    (waiting, rest.first_mut())
}
