//! The exact values of a pipeline, on one worker or several.

use std::sync::Arc;

use discreet::dataflow::revealed::{self, ExactRun, ExactTally};
use discreet::dataflow::{Config, Fed, RunError};

use crate::script::Script;

/// Returns the exact tallies of a pipeline on one worker: of each statistic that it
/// [reveals](discreet::dataflow::Tallied::reveal), in the order of their names. There is no noise, and what is kept
/// of a person who has more than the bound is the same in every run.
///
/// An input that declares nothing completes every window of a schedule with an end. One without an end has the
/// windows that the [script](Script::complete) declares.
///
/// # Errors
///
/// If a parameter of the pipeline is refused, if it ends in a gate, or if a script [loses](Script::lost) its source.
pub fn exact<R, F>(script: impl Into<Script<R>>, pipeline: F) -> Result<Vec<ExactTally>, RunError>
where
    R: Clone + Send + Sync + 'static,
    F: for<'scope> Fn(Fed<'scope, R>, &ExactRun) + Send + Sync + 'static,
{
    exact_of_parts(vec![script.into()], pipeline)
}

/// Returns the exact tallies of a pipeline on as many workers as there are parts, each of which reads its own.
///
/// # Errors
///
/// As [`exact`], and if there is no part, or there are more than a run may have workers.
pub fn exact_of_parts<R, F>(parts: Vec<Script<R>>, pipeline: F) -> Result<Vec<ExactTally>, RunError>
where
    R: Clone + Send + Sync + 'static,
    F: for<'scope> Fn(Fed<'scope, R>, &ExactRun) + Send + Sync + 'static,
{
    run(parts, 0, &Arc::new(pipeline))
}

/// Runs a pipeline with this seed of the contribution selection.
pub(crate) fn run<R, F>(
    parts: Vec<Script<R>>,
    seed: u64,
    pipeline: &Arc<F>,
) -> Result<Vec<ExactTally>, RunError>
where
    R: Clone + Send + Sync + 'static,
    F: for<'scope> Fn(Fed<'scope, R>, &ExactRun) + Send + Sync + 'static,
{
    let (config, pipeline) = (Config::threads(parts.len())?, Arc::clone(pipeline));
    revealed::execute(config, seed, move |worker, feeds, run| {
        let source = parts[worker.index()].clone().source();
        worker.dataflow(|scope| pipeline(feeds.stream(scope, source), run));
        Ok(())
    })
}
