//! External changes to the files of a job, tried through the built command: a second name for the ledger, a
//! disk that is full, a file that was cut, lost or restored.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod disks;
mod edits;
#[allow(dead_code, reason = "shared with the tests of whole jobs")]
#[path = "../job/jobs.rs"]
mod jobs;
#[path = "../kit/mod.rs"]
mod kit;
mod mounts;
mod names;
mod outputs;
#[allow(dead_code, reason = "shared with the tests of whole jobs")]
#[path = "../job/scene.rs"]
mod scene;

use jobs::{SECOND, exact, log};
use scene::Scene;

/// The start of the first window.
const FROM: i64 = 1_500_000_000 * SECOND;

/// The number of windows of the job, each of a second.
const WINDOWS: i64 = 4;

/// A job of a few windows, its log, and its ledger without releases.
fn fresh(name: &str) -> Scene {
    let scene = Scene::new(name);
    scene.write("job.toml", exact(FROM, Some(FROM + WINDOWS * SECOND)));
    scene.write("visits.csv", log(FROM, WINDOWS, 5).0);
    scene.init();
    scene
}
