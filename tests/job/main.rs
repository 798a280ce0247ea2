//! Tests of whole jobs from outside: the built command, job files, logs, signals and kills.
//!
//! Small in an ordinary run; `DISCREET_FULL=1 cargo test --test job` runs everything at full size.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod agreement;
mod alerts;
mod asking;
mod browser;
mod clock;
mod cluster;
mod columns;
mod everything;
mod evolves;
mod exits;
mod exploded;
mod fields;
mod gaps;
mod http;
mod jobs;
mod killed;
#[path = "../kit/mod.rs"]
mod kit;
mod logged;
mod logrotate;
mod marginals;
mod memory;
mod open_files;
mod operator;
mod packed;
mod past;
mod peers;
mod questions;
mod refusals;
mod replays;
mod resume;
mod rivals;
mod rotation;
mod same;
mod scene;
mod separated;
mod service;
mod signals;
mod spool;
mod top;
mod totals;
mod unfinished;
mod watch;
mod workers;

use kit::size;
use kit::trial::{Chance, in_parallel};
