//! A plan as a page to be read.

mod phrases;

use std::fmt;
use std::fmt::{Display, Formatter};

use phrases::{
    alert, instead_of_numbers, keys, marginals, memory, moves, moves_any, noise, shares, strategy, top,
    typical, windows,
};

use super::expected::{A_RANK, AN_ERROR, described, percent};
use super::{ExpectedAnswer, Plan, Planned, PlannedAlert, PlannedAsk, PlannedCost, PlannedKeys};
use crate::job::run::six_digits;
use crate::words::wrapped;

/// The column in which the second column begins.
const INDENT: usize = 15;
/// The column in which a line ends.
const WIDTH: usize = 100;
/// The column in which the statistic of a release ends.
const WIDE: usize = 110;

impl Display for Plan {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let span = match (&self.from, &self.until) {
            (Some(from), Some(until)) => format!(", from {from} until {until}"),
            (Some(from), None) => format!(", from {from} on"),
            (None, Some(until)) => format!(", until {until}"),
            (None, None) => String::new(),
        };
        writeln!(f, "{}, version {}{span}\n", self.job, self.version)?;
        line(f, "promise", &self.promise)?;
        line(
            f,
            "budget",
            &format!("{}, in account {} of {}", self.cost(&self.cap), self.account, self.ledger),
        )?;
        if let Some(accounting) = self.accounting {
            line(f, "accounting", accounting)?;
        }
        for release in &self.releases {
            writeln!(f)?;
            self.release(f, release)?;
        }
        for ask in &self.asks {
            writeln!(f)?;
            self.ask(f, ask)?;
        }
        writeln!(f)?;
        line(f, "together", &self.cost(&self.together))?;
        // A remainder of rounding is too small to be spent.
        let size = |cost: &PlannedCost| cost.rho.or(cost.epsilon).unwrap_or(0.0);
        let spent = size(&self.left) < 1e-9 * size(&self.cap);
        let left = match self.left.delta {
            _ if !spent => self.rounded(&self.left, false),
            0.0 => "nothing".to_owned(),
            delta => format!("nothing but delta {} for {}", amount(delta, false), self.deltas()),
        };
        line(f, "left over", &left)?;
        line(f, "a restart", &self.restart)?;
        if let Some(replay) = &self.replay {
            line(f, "a replay", &replay.to_string())?;
        }
        if let Some(unfinished) = &self.unfinished {
            line(f, "a replay", &unfinished.note())?;
        }
        for warning in &self.warnings {
            line(f, "warning", warning)?;
        }
        writeln!(f)?;
        line(
            f,
            "",
            "Noise is in the units of the file. The people of a cell are those whom it needs if each brings one record, \
             and half of the most that counts, and a mean is half of the way from the middle of its range to an end; no log was read for \
             them.",
        )
    }
}

impl Plan {
    fn release(&self, f: &mut Formatter<'_>, release: &Planned) -> fmt::Result {
        f.write_str(&wrapped(&format!("{}: {}", release.name, release.statistic), WIDE, 0))?;
        if u64::from(release.version) != self.version {
            line(f, "version", &format!("{} of this release, its own", release.version))?;
        }
        line(f, "windows", &windows(&release.windows))?;
        line(f, "bound", &release.bound)?;
        let units = if self.unit == "record" { "records" } else { "people" };
        let asked = |count: u64| format!("{count} listed ones, asked for in the order of their bytes");
        let of_keys = match (&release.alert, release.keys) {
            (Some(_), PlannedKeys::Public { count }) => asked(count),
            (None, PlannedKeys::Public { count }) if release.top.is_some() => {
                format!("{count} listed ones, of which it picks")
            }
            _ => keys(release.keys, units, release.running.is_some()),
        };
        line(f, "keys", &of_keys)?;
        // Of alerts and picks the number of keys changes no price.
        let in_any = release.alert.is_some() || release.top.is_some();
        let moved: Vec<String> = release
            .moves
            .iter()
            .map(|moved| if in_any { moves_any(moved, units) } else { moves(moved) })
            .collect();
        line(f, "moves", &moved.join("; "))?;
        let noises: Vec<String> = release.noise.iter().map(|law| noise(law, units)).collect();
        line(f, "noise", &noises.join("; "))?;
        let typical: Vec<String> = release.noise.iter().filter_map(typical).collect();
        if !typical.is_empty() {
            let stand_in = "of many values that differ and lie evenly among the answers; no promise, and more where many are equal";
            line(f, "typically", &format!("{}: {stand_in}", typical.join("; ")))?;
        }
        if let Some(planned) = &release.alert {
            return self.alert(f, release, planned);
        }
        let needed = release.people_for_a_tenth;
        let ranked = release.noise.iter().any(|noise| noise.ranks.is_some());
        let tenth = match &release.error_is_of {
            _ if release.top.is_some() => "a pick that is a tenth of it behind".to_owned(),
            _ if ranked => "a rank that is off by a tenth of them".to_owned(),
            Some(of) => format!("an error of a tenth of {of}"),
            None => "an error of a tenth".to_owned(),
        };
        let error = match needed {
            0 => format!("any number in a cell for {tenth}"),
            _ => {
                let nothing = needed.div_ceil(10);
                let below = match release.typical_ranks() {
                    Some(noise) => format!("below {nothing} nothing is promised, and below {noise}"),
                    None => format!("below {nothing}"),
                };
                format!("{needed} in a cell for {tenth}; {below} it is mostly noise")
            }
        };
        if let Some(planned) = &release.top {
            line(f, "top", &top(planned))?;
        }
        if let Some(planned) = &release.marginals {
            line(f, "tables", &marginals(planned))?;
        }
        line(f, units, &error)?;
        let of = match ranked {
            _ if release.top.is_some() => "a pick that is behind by",
            true => A_RANK,
            false => AN_ERROR,
        };
        if let Some(expected) = &release.expected {
            line(f, "expected", &described(expected, units, of, release.error_is_of.as_deref()))?;
        }
        if let Some(running) = &release.running {
            line(f, "strategy", &strategy(running))?;
            self.paid_once(f, release)?;
        } else {
            self.account(f, release)?;
        }
        let near = match release.near {
            Some(near) if near.ratio < 0.000_5 => {
                format!("less than 0.001 times the deviation of {}", near.of)
            }
            Some(near) => format!("{:.3} times the deviation of {}", near.ratio, near.of),
            None => "no bound is known that is near this noise".to_owned(),
        };
        line(f, "best known", &near)?;
        if let Some(compared) = &release.accounting {
            let least = compared.over_least.map_or(String::new(), |least| {
                format!(", and {least:.3} of the least that Gaussian noise has at this share of the budget")
            });
            line(
                f,
                "accounting",
                &format!("{:.3} of the noise with {}{least}", compared.times, compared.other),
            )?;
        }
        self.end(f, release)
    }

    /// Writes the memory of a release, and the releases that it shares people with.
    fn end(&self, f: &mut Formatter<'_>, release: &Planned) -> fmt::Result {
        line(f, "memory", &memory(release.memory))?;
        if release.shares_people.is_empty() {
            return Ok(());
        }
        line(f, "shares", &shares(&release.shares_people, &release.shares_keys))
    }

    /// Writes what an alert says, and what it costs.
    fn alert(&self, f: &mut Formatter<'_>, release: &Planned, planned: &PlannedAlert) -> fmt::Result {
        line(f, "alert", &alert(planned))?;
        self.paid_once(f, release)?;
        line(f, "instead of", &instead_of_numbers(planned))?;
        self.end(f, release)
    }

    /// Writes the cost of all windows, if it is paid with the first of them.
    fn paid_once(&self, f: &mut Formatter<'_>, release: &Planned) -> fmt::Result {
        let first = release.windows.count.map_or(String::new(), |count| format!(" of {count}"));
        let paid = format!("{}, paid once, with the first{first}", self.cost(&release.cost));
        line(f, "all windows", &paid)?;
        self.cut(f, release)
    }

    fn ask(&self, f: &mut Formatter<'_>, ask: &PlannedAsk) -> fmt::Result {
        let answers = match ask.answers {
            1 => "1 answer".to_owned(),
            answers => format!("{answers} answers"),
        };
        writeln!(f, "{}: {answers} to questions about {}", ask.name, ask.fields.join(", "))?;
        if u64::from(ask.version) != self.version {
            line(f, "version", &format!("{} of these questions, their own", ask.version))?;
        }
        let over = "a question is about the last one that is over";
        line(f, "windows", &format!("{}; {over}", windows(&ask.windows)))?;
        let bound = match (self.unit, ask.records) {
            ("record", _) => "one record".to_owned(),
            (_, 1) => "a person counts with 1 record in a window".to_owned(),
            (_, records) => format!("a person counts with {records} records in a window"),
        };
        line(f, "bound", &bound)?;
        let analysts: Vec<String> =
            ask.analysts.iter().map(|(name, answers)| format!("{name} has {answers}")).collect();
        let analysts = if analysts.is_empty() {
            "answers go to those who ask first".into()
        } else {
            analysts.join(", ")
        };
        line(f, "analysts", &analysts)?;
        let [means, counts] = ask.questions();
        let questions = format!(
            "{means} to {counts}: a count takes one answer, and a mean two; each is paid for with the first, so that a further one costs \
             nothing"
        );
        line(f, "questions", &questions)?;
        let (most, deviation) = (short(ask.largest_error), short(ask.deviation));
        let noise = format!(
            "bounded: no count is off by more than {most} records, so that its interval, as many to each side, holds the exact one with \
             certainty; the deviation is {deviation}"
        );
        line(f, "noise", &noise)?;
        let needed = ask.records_for_a_tenth();
        line(f, "records", &format!("{needed} in a count for an error of at most a tenth"))?;
        if let Some(expected) = &ask.expected {
            line(f, "expected", &self.expected_answer(expected))?;
        }
        let PlannedCost { rho, delta, .. } = ask.paid;
        let charged = rho.map_or(String::new(), |rho| {
            format!(", charged as rho {} and delta {}", amount(rho, true), amount(delta, true))
        });
        let stated = format!("epsilon {} and delta {}", amount(ask.epsilon, true), amount(ask.delta, true));
        line(f, "all answers", &format!("{stated}{charged}, paid once, with the first, asked or not"))
    }

    /// Describes the expected error of a count.
    fn expected_answer(&self, expected: &ExpectedAnswer) -> String {
        let ExpectedAnswer { people, records, error } = expected;
        let (people, records) = (short(people.round()), short(records.round()));
        let of = if self.unit == "record" { String::new() } else { format!(" of {people} people") };
        let (before, error) = (if *error >= 1.0 { "mostly noise: " } else { "" }, percent(*error));
        format!("{before}{records} records{of} in a window: a count of all of them is off by at most {error}")
    }

    /// Returns the uses of a delta that is charged beside a rho.
    fn deltas(&self) -> &'static str {
        let is_tested = |release: &Planned| {
            release.cost.delta > 0.0 && !matches!(release.keys, PlannedKeys::Discovered { .. })
        };
        match (self.releases.iter().any(is_tested), self.asks.is_empty()) {
            (false, true) => "keys",
            (false, false) => "keys and answers",
            (true, true) => "keys and tests",
            (true, false) => "keys, tests and answers",
        }
    }

    /// Writes the cost of a window that a span of time cuts, if it differs from that of a whole one.
    fn cut(&self, f: &mut Formatter<'_>, release: &Planned) -> fmt::Result {
        match &release.partial {
            Some(partial) => line(f, "a part", &format!("{}, where a span cuts it", self.cost(partial))),
            None => Ok(()),
        }
    }

    /// Writes the cost of a window, and the cost of all windows that one account holds together.
    fn account(&self, f: &mut Formatter<'_>, release: &Planned) -> fmt::Result {
        line(f, "a window", &self.cost(&release.cost))?;
        self.cut(f, release)?;
        let together = match release.paid_together {
            _ if release.windows.count.is_none()
                && release.paid.rho == release.cost.rho
                && release.paid.epsilon == release.cost.epsilon =>
            {
                "each window by itself".to_owned()
            }
            1 => format!("1 window: {}", self.cost(&release.paid)),
            windows => format!("{windows} windows: {}", self.cost(&release.paid)),
        };
        line(f, "an account", &together)
    }

    /// Formats a cost, which is not more than what is shown, as in `check` and in messages of the ledger.
    fn cost(&self, cost: &PlannedCost) -> String {
        self.rounded(cost, true)
    }

    /// Formats an amount, rounded up, or down for what is left.
    fn rounded(&self, cost: &PlannedCost, up: bool) -> String {
        let short = |number| amount(number, up);
        let epsilon = match (cost.epsilon, self.delta) {
            (Some(epsilon), Some(delta)) => {
                format!("epsilon {} at delta {}", short(epsilon), amount(delta, true))
            }
            (Some(epsilon), None) => format!("epsilon {}", short(epsilon)),
            (None, _) => "no epsilon at this delta".to_owned(),
        };
        let keys = if cost.delta > 0.0 {
            format!(", delta {} for {}", short(cost.delta), self.deltas())
        } else {
            String::new()
        };
        match cost.rho {
            Some(rho) => format!("rho {}{keys} ({epsilon})", short(rho)),
            None => epsilon,
        }
    }
}

/// Formats an amount of a budget with at most six digits, rounded up, or down for what is left: the rounding of payments.
fn amount(number: f64, up: bool) -> String {
    notation(six_digits(number, up))
}

/// Formats at most four significant digits, in scientific notation outside of 1e-4 to 1e15.
pub(in crate::job) fn short(number: f64) -> String {
    if number == 0.0 {
        return "0".to_owned();
    }
    notation(format!("{number:.3e}").parse().unwrap_or(number))
}

fn notation(number: f64) -> String {
    match number.abs() {
        0.0 | 1e-4..1e15 => format!("{number}"),
        _ => format!("{number:e}"),
    }
}

/// Writes a line with a name before it, broken between words.
pub(in crate::job) fn line(f: &mut Formatter<'_>, name: &str, text: &str) -> fmt::Result {
    let mut column = INDENT;
    write!(f, "  {name:width$}", width = INDENT - 2)?;
    for (place, word) in text.split(' ').enumerate() {
        let length = word.chars().count();
        if place > 0 && column + 1 + length > WIDTH {
            write!(f, "\n{:INDENT$}", "")?;
            column = INDENT;
        } else if place > 0 {
            f.write_str(" ")?;
            column += 1;
        }
        f.write_str(word)?;
        column += length;
    }
    writeln!(f)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Refutes a cost that is shown as less than what is charged, and a rest that is shown as more than there is.
    #[test]
    fn costs_are_rounded_up_and_what_is_left_down() {
        assert_eq!(amount(0.000573436167218, true), "0.000573437");
        assert_eq!(amount(0.000573436167218, false), "0.000573436");
        assert_eq!([amount(1e-6, true), amount(5e-7, true)], ["1e-6", "5e-7"]);
        assert_eq!([amount(0.0, true), amount(1.0, false), amount(0.1, true)], ["0", "1", "0.1"]);
        for place in 1..1_000 {
            let number = 0.7f64.powi(place % 60) / f64::from(place);
            let [up, down] = [true, false].map(|up| amount(number, up).parse::<f64>().unwrap());
            assert!(up >= number * (1.0 - 2e-9) && down <= number * (1.0 + 2e-9), "{number}");
            assert!(up - down <= 2e-5 * number, "{number}");
        }
    }
}
