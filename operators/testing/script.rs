//! Scripted inputs: records, declarations of completeness, input gaps, silence and loss, in a given order.

use std::collections::VecDeque;
use std::fmt;

use discreet::dataflow::{Pulled, Source, SourceError};
use discreet::time::{Moment, Time};

/// The script of an input. A run reads it step by step, and it ends after the last one.
///
/// ```
/// use discreet_testing::Script;
///
/// // Reader, page, time; the first ten microseconds are complete before the second record comes.
/// let visits = Script::of([(1_u64, 7_u32, 3_i64)]).complete(10).records([(2, 7, 12)]).gap(20, 25).complete(30);
/// ```
#[derive(Clone)]
pub struct Script<R> {
    steps: Vec<ScriptStep<R>>,
}

#[derive(Clone)]
enum ScriptStep<R> {
    Records(Vec<R>),
    Complete(Time),
    Gap(Time, Time),
    Silence,
    Lost(String),
    /// A value that was meant to be a time and is none, with the reason.
    NoTime(String),
}

impl<R> Script<R> {
    /// Creates the script of an input that ends at once.
    pub fn new() -> Script<R> {
        Script { steps: Vec::new() }
    }

    /// Creates the script of these records.
    pub fn of(records: impl IntoIterator<Item = R>) -> Script<R> {
        Script::new().records(records)
    }

    fn step(mut self, step: ScriptStep<R>) -> Script<R> {
        self.steps.push(step);
        self
    }

    /// Adds records.
    #[must_use]
    pub fn records(self, records: impl IntoIterator<Item = R>) -> Script<R> {
        self.step(ScriptStep::Records(records.into_iter().collect()))
    }

    /// Adds the [declaration](Pulled::Complete) that everything before a moment has come. A text that is no moment
    /// ends the run.
    #[must_use]
    pub fn complete(self, time: impl Moment) -> Script<R> {
        let step = time.moment().map(ScriptStep::Complete);
        self.step(step.unwrap_or_else(|invalid| ScriptStep::NoTime(invalid.to_string())))
    }

    /// Adds an input [gap](Pulled::Gap) between two moments.
    #[must_use]
    pub fn gap(self, from: impl Moment, until: impl Moment) -> Script<R> {
        let step = from.moment().and_then(|from| Ok(ScriptStep::Gap(from, until.moment()?)));
        self.step(step.unwrap_or_else(|invalid| ScriptStep::NoTime(invalid.to_string())))
    }

    /// Adds a turn in which nothing comes, and nothing is declared.
    #[must_use]
    pub fn silence(self) -> Script<R> {
        self.step(ScriptStep::Silence)
    }

    /// Adds the loss of the source: the run ends there with an error that names the place, and what was not
    /// declared complete is not tallied.
    #[must_use]
    pub fn lost(self, place: &str) -> Script<R> {
        self.step(ScriptStep::Lost(place.to_owned()))
    }

    /// Returns the source that follows the script: the part of one worker.
    pub fn source(self) -> Scripted<R> {
        Scripted(self.steps.into())
    }

    /// Deals the records to the parts of several workers; each part has all other steps. In order 0 they come as
    /// they are, in turns; in another, the records between two other steps are shuffled, and dealt at random.
    pub fn dealt(self, workers: usize, order: u64) -> Vec<Script<R>> {
        let mut random = ArrivalOrder(order);
        let mut parts: Vec<Script<R>> = (0..workers.max(1)).map(|_| Script::new()).collect();
        let (mut turn, count) = (0, parts.len());
        let mut pending = Vec::new();
        let mut steps = self.steps.into_iter().peekable();
        while let Some(step) = steps.next() {
            match step {
                ScriptStep::Records(records) => {
                    pending.extend(records);
                    if matches!(steps.peek(), Some(ScriptStep::Records(_))) {
                        continue;
                    }
                    let mut dealt: Vec<Vec<R>> = (0..count).map(|_| Vec::new()).collect();
                    if order != 0 {
                        random.shuffle(&mut pending);
                    }
                    for record in pending.drain(..) {
                        let to = if order == 0 { turn } else { random.below(count) };
                        turn = (turn + 1) % count;
                        dealt[to].push(record);
                    }
                    for (part, records) in parts.iter_mut().zip(dealt) {
                        part.steps.push(ScriptStep::Records(records));
                    }
                }
                other => {
                    for part in &mut parts {
                        part.steps.push(other.without_records());
                    }
                }
            }
        }
        parts
    }

    /// The script of other records in the same places; `None` leaves one out.
    pub(crate) fn with<S>(&self, record: impl Fn(&R) -> Option<S>) -> Script<S> {
        let step = |step: &ScriptStep<R>| match step {
            ScriptStep::Records(records) => ScriptStep::Records(records.iter().filter_map(&record).collect()),
            other => other.without_records(),
        };
        Script { steps: self.steps.iter().map(step).collect() }
    }

    /// Returns the script of the numbers of its records, and the records.
    pub(crate) fn numbered(self) -> (Script<usize>, Vec<R>) {
        let mut all = Vec::new();
        let step = |step: ScriptStep<R>| match step {
            ScriptStep::Records(records) => {
                let first = all.len();
                all.extend(records);
                ScriptStep::Records((first..all.len()).collect())
            }
            other => other.without_records(),
        };
        let steps = self.steps.into_iter().map(step).collect();
        (Script { steps }, all)
    }
}

impl<R> ScriptStep<R> {
    /// The same step of other records, of which it has none.
    fn without_records<S>(&self) -> ScriptStep<S> {
        match self {
            ScriptStep::Records(_) => ScriptStep::Records(Vec::new()),
            ScriptStep::Complete(time) => ScriptStep::Complete(*time),
            ScriptStep::Gap(from, until) => ScriptStep::Gap(*from, *until),
            ScriptStep::Silence => ScriptStep::Silence,
            ScriptStep::Lost(place) => ScriptStep::Lost(place.clone()),
            ScriptStep::NoTime(reason) => ScriptStep::NoTime(reason.clone()),
        }
    }
}

impl<R> Default for Script<R> {
    fn default() -> Script<R> {
        Script::new()
    }
}

impl<R> fmt::Debug for Script<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Script").field("steps", &self.steps.len()).finish_non_exhaustive()
    }
}

impl<R> From<Vec<R>> for Script<R> {
    fn from(records: Vec<R>) -> Script<R> {
        Script::of(records)
    }
}

impl<R, const N: usize> From<[R; N]> for Script<R> {
    fn from(records: [R; N]) -> Script<R> {
        Script::of(records)
    }
}

/// A source that follows a script.
#[derive(Clone)]
pub struct Scripted<R>(VecDeque<ScriptStep<R>>);

impl<R> fmt::Debug for Scripted<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scripted").field("steps", &self.0.len()).finish_non_exhaustive()
    }
}

impl<R: Clone + 'static> Source for Scripted<R> {
    type Record = R;

    fn pull(&mut self, batch: &mut Vec<R>) -> Result<Pulled, SourceError> {
        match self.0.pop_front() {
            None => Ok(Pulled::End),
            Some(ScriptStep::Records(records)) => {
                batch.extend(records);
                Ok(Pulled::More)
            }
            Some(ScriptStep::Complete(time)) => Ok(Pulled::Complete(time)),
            Some(ScriptStep::Gap(from, until)) => Ok(Pulled::Gap(from, until)),
            Some(ScriptStep::Silence) => Ok(Pulled::Idle),
            Some(ScriptStep::Lost(place)) => Err(SourceError::lost(place)),
            Some(ScriptStep::NoTime(reason)) => Err(SourceError::refused("script").because(reason)),
        }
    }
}

/// An order that a number gives: the same in every run.
struct ArrivalOrder(u64);

impl ArrivalOrder {
    /// SplitMix64 (Steele, Lea and Flood, 2014).
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below another, which is not 0. No test needs it to be exactly uniform.
    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    fn shuffle<T>(&mut self, all: &mut [T]) {
        for last in (1..all.len()).rev() {
            all.swap(last, self.below(last + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The steps of a source, in words.
    fn read<R: Clone + fmt::Debug + 'static>(script: Script<R>) -> Vec<String> {
        let (mut source, mut read) = (script.source(), Vec::new());
        loop {
            let mut batch = Vec::new();
            match source.pull(&mut batch) {
                Ok(Pulled::More) => read.push(format!("{batch:?}")),
                Ok(pulled) => read.push(format!("{pulled:?}")),
                Err(error) => read.push(error.to_string()),
            }
            if read.last().is_some_and(|last| last == "End" || last.contains("gone")) {
                return read;
            }
        }
    }

    #[test]
    fn a_script_is_read_step_by_step() {
        let script = Script::of([1, 2]).silence().complete(10).gap(20, 30).records([3]).lost("the far side");
        let expected =
            ["[1, 2]", "Idle", "Complete(10)", "Gap(20, 30)", "[3]", "the far side: the source is gone"];
        assert_eq!(read(script), expected);
        assert_eq!(read(Script::<u8>::new()), ["End"]);
    }

    // Refutes a record that is lost, doubled, or moved over a declaration, and a part that declares less than
    // another.
    #[test]
    fn records_are_dealt_between_the_same_declarations() {
        let script = || Script::of(0..20).records(20..40).complete(10).records(40..60).gap(20, 30);
        for workers in [1, 2, 4] {
            for order in 0..5 {
                let parts = script().dealt(workers, order);
                assert_eq!(parts.len(), workers);
                let mut phases = [Vec::new(), Vec::new()];
                for part in parts {
                    let [
                        ScriptStep::Records(first),
                        ScriptStep::Complete(10),
                        ScriptStep::Records(second),
                        ScriptStep::Gap(20, 30),
                    ] = &part.steps[..]
                    else {
                        panic!("order {order}: {} steps", part.steps.len())
                    };
                    phases[0].extend(first.clone());
                    phases[1].extend(second.clone());
                }
                let in_order: Vec<i32> = phases[0].clone();
                phases.iter_mut().for_each(|phase| phase.sort_unstable());
                assert_eq!(phases[0], (0..40).collect::<Vec<_>>());
                assert_eq!(phases[1], (40..60).collect::<Vec<_>>());
                assert_eq!(in_order == phases[0], workers == 1 && order == 0, "{workers}, order {order}");
            }
        }
    }

    #[test]
    fn what_is_left_out_moves_no_other_record() {
        let (numbers, records) = Script::of(["a", "b", "c"]).complete(1).records(["d"]).numbered();
        let parts = numbers.dealt(2, 3);
        let others = |part: &Script<usize>| part.with(|number| (*number != 1).then(|| records[*number]));
        for part in &parts {
            let (all, others) = (part.with(|number| Some(records[*number])), others(part));
            let without_b = |words: Vec<String>| -> Vec<String> {
                words
                    .into_iter()
                    .map(|word| word.replace("\"b\", ", "").replace(", \"b\"", "").replace("\"b\"", ""))
                    .collect()
            };
            assert_eq!(read(others), without_b(read(all)));
        }
    }
}
