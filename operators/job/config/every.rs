//! The window step of a release: a fixed span, a unit of the calendar, or a single window.

use std::fmt;

use super::mistake::{MistakeDetail, listed};
use super::node::{ConfigNode, TableNode};
use super::release::ReleaseSpec;
use super::span::{fixed, split};
use crate::accounting::running::Strategy;
use crate::dataflow::Weekday;
use crate::invalid::{Invalid, InvalidKind};
use crate::job::statistics::NoiseKind;
use crate::time::{Span, in_words};

/// The step between the starts of a release's windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Every {
    /// A fixed span: hours, minutes, seconds.
    Span(Span),
    /// A number of calendar units, in the zone of the source: a day may have 23 hours or 25.
    Calendar(u32, CalendarUnit),
    /// A single window over everything.
    All,
}

/// A unit of the calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum CalendarUnit {
    /// A day, from midnight to midnight.
    Day,
    /// Seven days, from Thursday on, as 1970-01-01 was one.
    Week,
    /// Seven days, from another day on.
    WeekFrom(Weekday),
    /// A month, from its first day to the first day of the next.
    Month,
    /// Twelve months.
    Year,
}

/// The shortest window, in microseconds: each release is published for ever, so a shorter step is refused.
const SHORTEST: i64 = 1_000_000;
/// The longest window, ten years: a policy against a mistaken unit.
const LONGEST_DAYS: i64 = 3_653;
/// The words between weeks and the day on which they begin.
const FROM: &str = " from ";
const DAY: i64 = 86_400_000_000;
const HOUR: u64 = 3_600_000_000;

impl Every {
    /// Reads `10m`, `1 day`, `1 week from Monday`, `1 month`, `all`.
    ///
    /// # Errors
    ///
    /// If the text is none of these, or the length is below a second or above ten years.
    pub fn parse(text: &str) -> Result<Every, Invalid> {
        if text == "all" {
            return Ok(Every::All);
        }
        let refuse = |kind, remedy: &'static str| Invalid::new("every", kind, remedy);
        let remedy =
            "\"all\", or a whole number and a unit, such as \"10m\", \"1 week from Monday\" or \"1 month\"";
        let (text, day) = match text.split_once(FROM) {
            Some((weeks, day)) => {
                let named = Weekday::ALL.into_iter().find(|weekday| weekday.name() == day);
                (weeks, Some(named.ok_or_else(|| refuse(InvalidKind::Malformed, remedy))?))
            }
            None => (text, None),
        };
        let (count, word) = split(text).map_err(|refused| refuse(refused.kind(), remedy))?;
        if day.is_some() && !matches!(word, "w" | "week" | "weeks") {
            return Err(refuse(InvalidKind::Malformed, remedy));
        }
        let (unit, longest) = match word {
            "d" | "day" | "days" => (CalendarUnit::Day, LONGEST_DAYS),
            "w" | "week" | "weeks" => match day.filter(|day| *day != Weekday::Thursday) {
                Some(day) => (CalendarUnit::WeekFrom(day), LONGEST_DAYS / 7),
                None => (CalendarUnit::Week, LONGEST_DAYS / 7),
            },
            "month" | "months" => (CalendarUnit::Month, 120),
            "year" | "years" => (CalendarUnit::Year, 10),
            _ => {
                const UNITS: &str =
                    "\"all\", or a unit: s, m, h, days, weeks, months or years, such as \"1 month\"";
                let span = fixed(text).map_err(|refused| match refused.kind() {
                    InvalidKind::Malformed => refuse(InvalidKind::Malformed, UNITS),
                    _ => refused,
                })?;
                return match span.as_microseconds() {
                    ..SHORTEST => Err(refuse(InvalidKind::TooSmall, "a window of at least a second")),
                    length if length > LONGEST_DAYS * DAY => {
                        Err(refuse(InvalidKind::TooLarge, "a window of at most ten years"))
                    }
                    _ => Ok(Every::Span(span)),
                };
            }
        };
        match u32::try_from(count) {
            Ok(0) => Err(refuse(InvalidKind::Zero, "a window of at least a second")),
            Ok(units) if count <= longest => Ok(Every::Calendar(units, unit)),
            _ => Err(refuse(InvalidKind::TooLarge, "a window of at most ten years")),
        }
    }

    /// Returns the number of windows that contain one moment if windows are as long as `self` and one starts
    /// with each `step`; `None` if the length is no multiple of the step.
    pub(crate) fn over(self, step: Every) -> Option<u64> {
        let whole =
            |long: u64, short: u64| (long >= short && long.is_multiple_of(short)).then(|| long / short);
        match (self, step) {
            (Every::Span(long), Every::Span(short)) => {
                whole(long.as_microseconds().unsigned_abs(), short.as_microseconds().unsigned_abs())
            }
            (Every::Calendar(long, unit), Every::Calendar(short, step)) => {
                let ((long_kind, long), (short_kind, short)) = (unit.times(long), step.times(short));
                if long_kind == short_kind { whole(long, short) } else { None }
            }
            _ => None,
        }
    }
}

/// Prints a text that is read as the same step: a span of whole days is printed in hours, since a day is a
/// calendar unit.
impl fmt::Display for Every {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Every::All => f.write_str("all"),
            Every::Calendar(count, unit) => {
                let word = match unit {
                    CalendarUnit::Day => "day",
                    CalendarUnit::Week | CalendarUnit::WeekFrom(_) => "week",
                    CalendarUnit::Month => "month",
                    CalendarUnit::Year => "year",
                };
                write!(f, "{count} {word}{}", if *count == 1 { "" } else { "s" })?;
                match unit {
                    CalendarUnit::WeekFrom(day) => write!(f, "{FROM}{}", day.name()),
                    _ => Ok(()),
                }
            }
            Every::Span(span) => {
                let length = span.as_microseconds().unsigned_abs();
                match length / HOUR {
                    hours @ 24.. if length.is_multiple_of(HOUR) => write!(f, "{hours} hours"),
                    _ => f.write_str(&in_words(length)),
                }
            }
        }
    }
}

impl CalendarUnit {
    /// Converts to days or to months: neither is a whole number of the other.
    fn times(self, count: u32) -> (CalendarUnit, u64) {
        match self {
            CalendarUnit::Day => (CalendarUnit::Day, count.into()),
            CalendarUnit::Week | CalendarUnit::WeekFrom(_) => (CalendarUnit::Day, u64::from(count) * 7),
            CalendarUnit::Month => (CalendarUnit::Month, count.into()),
            CalendarUnit::Year => (CalendarUnit::Month, u64::from(count) * 12),
        }
    }
}

// `running` and `strategy`: running totals over windows, paid for once.
//
// A running number is made of sums over windows, and a person's contribution is bounded over all of them together;
// so a statistic that is not made of such sums, and a bound of each single window, are refused in their place.

/// A running total over windows: over all windows so far, or, if the release states `over`, over the last
/// ones of that length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct RunningSpec {
    /// The strategy that correlates the noise; the best one if it is left out.
    pub strategy: Option<Strategy>,
}

pub(super) const STRATEGIES: [Strategy; 4] =
    [Strategy::Buffered, Strategy::SquareRoot, Strategy::Tree, Strategy::Fresh];

/// Reads `running` and `strategy` of a release; `Some(None)` if it has no running total.
#[expect(clippy::option_option, reason = "whether it is right, and whether it runs, are two things")]
pub(super) fn read(fields: &TableNode<'_>) -> Option<Option<RunningSpec>> {
    let runs = match fields.node("running") {
        Some(node) => node.boolean(),
        None => Some(false),
    };
    let strategy = match fields.node("strategy") {
        Some(node) => strategy(&node, runs).map(Some),
        None => Some(None),
    };
    let (runs, strategy) = (runs?, strategy?);
    Some(runs.then_some(RunningSpec { strategy }))
}

fn strategy(node: &ConfigNode<'_>, runs: Option<bool>) -> Option<Strategy> {
    let text = node.text()?;
    let Some(strategy) = STRATEGIES.into_iter().find(|strategy| strategy.name() == text) else {
        return node.record_mistake(MistakeDetail::unknown_word(text, &STRATEGIES.map(Strategy::name)));
    };
    match runs {
        Some(false) => {
            node.conflict("a strategy where nothing is added up", "running = true beside it, or no strategy")
        }
        _ => Some(strategy),
    }
}

impl ReleaseSpec {
    /// Returns the number of windows in each total, if the total is over the last windows.
    pub(crate) fn total_windows(&self) -> Option<u64> {
        self.running.and(self.over)?.over(self.every)
    }

    /// Returns the length of each window, if it is longer than the step between two.
    pub(crate) fn sliding_length(&self) -> Option<Every> {
        if self.running.is_some() { None } else { self.over }
    }
}

/// Checks `running` against the rest of its release.
pub(super) fn agree(node: &ConfigNode<'_>, release: &ReleaseSpec) -> Option<()> {
    let RunningSpec { strategy } = release.running?;
    if !release.statistic.as_statistic().adds_up() {
        let word = release.statistic.word();
        let found = format!("a running {word}");
        let why = "of several windows is no sum of what each of them has";
        let a = if word.starts_with('a') { "an" } else { "a" };
        let remedy = format!("count, people, sum, histogram, mean, variance or ratio: {a} {word} {why}");
        return node.descendant(&["running"]).conflict(found, remedy);
    }
    if release.statistic.grouping().is_some_and(|grouping| grouping.rollup) {
        let remedy = "no rollup, and another running release by the fields above";
        let place = node.descendant(&[release.statistic.word(), "rollup"]);
        place.conflict::<()>("a roll-up of running totals", remedy);
    }
    if release.every == Every::All {
        let remedy = "windows that follow each other, such as every = \"1 day\", or no running";
        node.descendant(&["running"]).conflict::<()>("totals of one window", remedy);
    }
    if release.bound.windows.is_some() {
        let remedy = "no windows: a person is bounded over all of them together";
        node.descendant(&["bound", "windows"]).conflict::<()>("windows of a person beside running", remedy);
    }
    // People over the last windows are those who entered so far, without those who left.
    let is_sum_of_last = release.over.is_some() && !release.is_of_present_people();
    if is_sum_of_last && matches!(strategy, Some(Strategy::Buffered | Strategy::Tree)) {
        let remedy = "square-root or fresh, or no over";
        node.descendant(&["strategy"]).conflict::<()>("a strategy for totals so far alone", remedy);
    }
    Some(())
}

/// Checks `running` against the budget: its noise is Gaussian, and the budget is not pure epsilon. Returns
/// true if both hold.
pub(super) fn check_noise(node: &ConfigNode<'_>, release: &ReleaseSpec, pure: bool) -> bool {
    let budget = "a budget of rho, or of epsilon and delta";
    let place = node.descendant(&["noise"]);
    match release.noise {
        _ if !release.statistic.as_statistic().adds_up() => {}
        NoiseKind::Gaussian if !pure => return true,
        NoiseKind::Gaussian => {
            let remedy = format!("{budget}: totals that are released at every window have no other noise");
            place.conflict::<()>("Gaussian noise under a pure budget", remedy);
        }
        other => {
            let and = if pure { format!(", and {budget}") } else { String::new() };
            place.conflict::<()>(
                format!("{} noise, which a running {} does not have", other.word(), release.statistic.word()),
                format!("{}{and}", listed(&[NoiseKind::Gaussian.word()])),
            );
        }
    }
    false
}

/// Refuses a running total or an alert beside releases that bound windows: a budget account promises either a number of
/// windows of each person, or not.
pub(super) fn refuse_window_bounds(node: &ConfigNode<'_>, release: &ReleaseSpec) -> Option<()> {
    let (field, what) = match release.running {
        Some(_) => ("running", "a running total"),
        None => (release.statistic.word(), "an alert"),
    };
    let remedy = "another account for it, in a job of its own, whose budget people spend beside this one: in this job a \
         release counts a person in a number of windows";
    node.descendant(&[field]).conflict(format!("{what} beside releases that bound windows"), remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn every(text: &str) -> Every {
        Every::parse(text).unwrap()
    }

    #[test]
    fn hours_are_spans_and_days_are_the_calendars() {
        assert_eq!(every("all"), Every::All);
        assert_eq!(every("10m"), Every::Span(Span::microseconds(600_000_000).unwrap()));
        assert_eq!(every("24h"), Every::Span(Span::microseconds(DAY).unwrap()));
        assert_eq!(every("1 day"), Every::Calendar(1, CalendarUnit::Day));
        assert_eq!(every("2 weeks"), Every::Calendar(2, CalendarUnit::Week));
        assert_eq!(every("1 month"), Every::Calendar(1, CalendarUnit::Month));
        assert_eq!(every("10 years"), Every::Calendar(10, CalendarUnit::Year));
    }

    #[test]
    fn a_printed_value_is_read_again() {
        for text in [
            "all",
            "10 minutes",
            "1 day",
            "2 weeks",
            "1 week from Monday",
            "3 weeks from Sunday",
            "1 month",
            "10 years",
            "90 seconds",
            "1 hour",
        ] {
            assert_eq!(every(text).to_string(), text);
        }
        // Weeks begin on Thursday where nothing is said.
        assert_eq!(every("1 week from Thursday"), every("1 week"));
        for text in ["24h", "48h", "36h", "90m", "1500ms", "87672 h"] {
            assert_eq!(every(&every(text).to_string()), every(text));
        }
    }

    #[test]
    fn windows_of_a_microsecond_or_a_century_are_refused() {
        for (text, kind) in [
            ("1 us", InvalidKind::TooSmall),
            ("999ms", InvalidKind::TooSmall),
            ("0 days", InvalidKind::Zero),
            ("0 h", InvalidKind::Zero),
            ("100 years", InvalidKind::TooLarge),
            ("11 years", InvalidKind::TooLarge),
            ("121 months", InvalidKind::TooLarge),
            ("3654 days", InvalidKind::TooLarge),
            ("87673 h", InvalidKind::TooLarge),
            ("99999999999 days", InvalidKind::TooLarge),
            ("monthly", InvalidKind::Malformed),
            ("", InvalidKind::Malformed),
            ("All", InvalidKind::Malformed),
            ("1 day from Monday", InvalidKind::Malformed),
            ("7 days from Monday", InvalidKind::Malformed),
            ("1h from Monday", InvalidKind::Malformed),
            ("1 week from monday", InvalidKind::Malformed),
            ("1 week from", InvalidKind::Malformed),
            ("0 weeks from Monday", InvalidKind::Zero),
            ("522 weeks from Monday", InvalidKind::TooLarge),
        ] {
            assert_eq!(Every::parse(text).map_err(|refused| refused.kind()), Err(kind), "{text}");
        }
        for text in ["1s", "87672 h", "3653 days", "521 weeks"] {
            assert!(Every::parse(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn a_window_slides_by_a_whole_part_of_itself() {
        for (over, step, times) in [
            ("3 months", "1 month", Some(3)),
            ("1 year", "1 month", Some(12)),
            ("2 weeks", "1 day", Some(14)),
            ("4 weeks", "1 week from Monday", Some(4)),
            ("14 days", "1 week from Monday", Some(2)),
            ("1h", "10m", Some(6)),
            ("10m", "10m", Some(1)),
            ("10m", "1h", None),
            ("1h", "7m", None),
            ("1 month", "1 day", None),
            ("2 days", "12h", None),
            ("all", "1 day", None),
            ("1 day", "all", None),
        ] {
            assert_eq!(every(over).over(every(step)), times, "{over} every {step}");
        }
    }
}

#[cfg(test)]
mod running_tests;
