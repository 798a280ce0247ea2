//! The grid of possible answers of a statistic by rank.
//!
//! A grid is a public list, and is written exactly: a step that does not lead from one end to the other is
//! refused, and no end is moved.

use dashu_int::{IBig, UBig};

use super::{measure, steps};
use crate::invalid::Invalid;
use crate::job::config::{ConfigNode, ConfigNumber, MistakeDetail, list};
use crate::mechanisms::{DecimalPoint, Grid};

/// The grid of possible answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GridSpec {
    /// Zero, and from one step on sixteen answers in every doubling. The step is 10^-n for the given number
    /// n.
    Log(i32),
    /// A logarithmic grid of whole numbers, on both sides of zero.
    SignedLog,
    /// Answers at an even step from one end to the other.
    Steps {
        /// The first answer.
        from: ConfigNumber,
        /// The last answer.
        to: ConfigNumber,
        /// The distance between two answers.
        step: ConfigNumber,
    },
    /// The listed answers, in ascending order.
    List(Vec<ConfigNumber>),
}

/// The forms of a grid, for a mistake.
const FORMS: &str = "\"log\" or \"signed log\", a table such as { log = 0.01 } or { from = 0, to = 100, step = 1 }, or a list of \
                     answers such as [1, 2, 5]";

/// The most answers in a range, so that their number times any weight fits 128 bits.
const MOST_POINTS: u64 = 1 << 40;
/// The most digits of a step after its decimal point, or zeros before it.
const DIGITS: i32 = 18;

impl GridSpec {
    /// Returns the number of answers from one number to another, both included; `None` if the step does not
    /// divide the distance.
    pub(in crate::job) fn answer_count(
        from: ConfigNumber,
        to: ConfigNumber,
        step: ConfigNumber,
    ) -> Option<u64> {
        let power = [from, to, step].iter().map(|number| number.parts().1).min()?;
        let whole = |number: ConfigNumber| {
            let (digits, own) = number.parts();
            IBig::from(digits) * IBig::from(10u8).pow((own - power).unsigned_abs() as usize)
        };
        let (_, length) = (whole(to) - whole(from)).into_parts();
        let (_, step) = whole(step).into_parts();
        let divides = step != UBig::ZERO && (&length % &step) == UBig::ZERO;
        divides.then(|| u64::try_from(length / step).ok()?.checked_add(1))?
    }

    pub(super) fn read(node: &ConfigNode<'_>) -> Option<GridSpec> {
        if node.is_list() {
            return measure::ascending_numbers(node, "answers").map(GridSpec::List);
        }
        if !node.is_table() {
            let words = [("log", GridSpec::Log(0)), ("signed log", GridSpec::SignedLog)];
            let Some(text) = node.as_text().filter(|text| !words.iter().any(|(word, _)| word == text)) else {
                return if node.as_text().is_some() { node.one_of(&words) } else { node.mistyped(FORMS) };
            };
            let unknown = MistakeDetail::unknown_word(text, &words.map(|(word, _)| word));
            return node.record_mistake(MistakeDetail { remedy: FORMS.to_owned(), ..unknown });
        }
        // A table with none of these fields has a misspelt one, of which the shorter form is the likelier.
        if node.has("log") || !["from", "to", "step"].iter().any(|name| node.has(name)) {
            let fields = node.fields(&["log"], &[])?;
            return fields.read("log", |node| match number(&node)?.parts() {
                (1, power) if power.abs() <= DIGITS => Some(GridSpec::Log(-power)),
                _ => node.refuse("a step that is no power of ten", "a power of ten, such as 0.01 for cents"),
            });
        }
        let fields = node.fields(&["from", "to", "step"], &[])?;
        let read = |name| fields.read(name, |node| number(&node));
        let (from, to, step) = (read("from"), read("to"), read("step"));
        let (from, to, step) = (from?, to?, step?);
        if from >= to {
            return node.descendant(&["to"]).refuse("an end that is not after from", "a number above from");
        }
        check_step(&node.descendant(&["step"]), from, to, step)?;
        Some(GridSpec::Steps { from, to, step })
    }

    /// Returns the value of the field that states it.
    pub(super) fn stated(&self) -> String {
        match self {
            GridSpec::Log(0) => "\"log\"".to_owned(),
            GridSpec::Log(digits) => format!("{{ log = {} }}", ConfigNumber::power(-digits)),
            GridSpec::SignedLog => "\"signed log\"".to_owned(),
            GridSpec::Steps { from, to, step } => format!("{{ from = {from}, to = {to}, step = {step} }}"),
            GridSpec::List(answers) => list(answers),
        }
    }

    /// Returns the answers in steps of at most `finest` digits, and the decimal point of a step.
    pub(super) fn grid(&self, finest: i32) -> Result<(Grid, DecimalPoint), Invalid> {
        match self {
            GridSpec::Log(digits) => Ok((Grid::log_from_zero(), DecimalPoint::digits(*digits)?)),
            GridSpec::SignedLog => Ok((Grid::log(), DecimalPoint::WHOLE)),
            GridSpec::Steps { from, to, step } => stepped(&[*from, *to, *step], finest),
            GridSpec::List(answers) => {
                let (answers, point) = steps::of_answers(answers, finest)?;
                Ok((Grid::list(answers)?, point))
            }
        }
    }

    /// Returns the grid in words, for the values of this field.
    pub(super) fn describe(&self, of: Option<&str>) -> String {
        // A logarithmic grid has sixteen answers in each doubling.
        match (self, of) {
            (GridSpec::Log(0) | GridSpec::SignedLog, Some(of)) => {
                format!("{}, in whole units of {of}, rounded down", self.described())
            }
            _ => self.described(),
        }
    }

    fn described(&self) -> String {
        match self {
            GridSpec::Log(0) => "whole numbers from 0 on, 4.5% apart".to_owned(),
            GridSpec::Log(digits) => {
                format!("numbers from 0 on, 4.5% apart, in steps of {}", ConfigNumber::power(-digits))
            }
            GridSpec::SignedLog => "whole numbers on both sides of 0, 4.5% apart".to_owned(),
            GridSpec::Steps { from, to, step } => format!("numbers from {from} to {to} in steps of {step}"),
            GridSpec::List(answers) => format!("{} numbers that are listed", answers.len()),
        }
    }
}

/// Returns the grid from the first of three numbers to the second, by the third.
pub(super) fn stepped(numbers: &[ConfigNumber; 3], finest: i32) -> Result<(Grid, DecimalPoint), Invalid> {
    let (steps, point) = steps::of_answers(numbers, finest)?;
    let grid = match *steps {
        [from, to, step] => Grid::linear(from, to, step.unsigned_abs()),
        _ => Grid::list([]),
    };
    Ok((grid?, point))
}

/// Refuses a step that does not lead from the first answer to the last, and a range of too many answers.
pub(super) fn check_step(
    node: &ConfigNode<'_>,
    from: ConfigNumber,
    to: ConfigNumber,
    step: ConfigNumber,
) -> Option<()> {
    if step <= ConfigNumber::ZERO {
        return node.refuse("a step that is not above 0", "the distance between two answers");
    }
    match GridSpec::answer_count(from, to, step) {
        Some(2..=MOST_POINTS) => Some(()),
        Some(_) => node.refuse("a step of more than 2^40 answers", "a larger step"),
        None => node.conflict(
            "a step that does not lead from the first answer to the last",
            "a step of which the range is a whole multiple",
        ),
    }
}

pub(super) fn number(node: &ConfigNode<'_>) -> Option<ConfigNumber> {
    node.accept(ConfigNumber::parse(node.number("a number, without quotes")?))
}
