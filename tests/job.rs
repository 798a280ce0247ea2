//! Whole jobs, tried from outside: the built command, job files, logs, signals and kills.
//!
//! Small in an ordinary run; `DISCREET_FULL=1 cargo test --test job` does everything at full size.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

#[path = "job/agreement.rs"]
mod agreement;
#[path = "job/cluster.rs"]
mod cluster;
mod common;
#[path = "job/exits.rs"]
mod exits;
#[path = "job/fields.rs"]
mod fields;
#[path = "job/jobs.rs"]
mod jobs;
#[path = "job/killed.rs"]
mod killed;
#[path = "job/memory.rs"]
mod memory;
#[path = "job/packed.rs"]
mod packed;
#[path = "job/peers.rs"]
mod peers;
#[path = "job/refusals.rs"]
mod refusals;
#[path = "job/replays.rs"]
mod replays;
#[path = "job/rivals.rs"]
mod rivals;
#[path = "job/rotation.rs"]
mod rotation;
#[path = "job/same.rs"]
mod same;
#[path = "job/scene.rs"]
mod scene;
#[path = "job/signals.rs"]
mod signals;
#[path = "job/totals.rs"]
mod totals;
#[path = "trial/mod.rs"]
mod trial;
#[path = "job/workers.rs"]
mod workers;

use common::size;
use trial::{Chance, in_parallel};
