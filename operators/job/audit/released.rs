//! The lines and rows that a copy has released, as residuals and scores.

use std::collections::{BTreeSet, HashMap};

use super::canaries::{Coins, named, number_of};
use super::copy::AuditCopy;
use crate::accounting::PrivacyCost;
use crate::audit::StatedNoise;
use crate::invalid::Invalid;
use crate::job::config::Accounting;
use crate::job::sources::steps;
use crate::ledger::Row;
use crate::mechanisms::release_line::{CellLine, LineKey, ReleaseLine, Says};
use crate::time::moment;

/// The released numbers of reserved keys, in steps, by window and cell.
pub(super) struct ReleasedNumbers {
    pub(super) windows: Vec<Vec<Option<i64>>>,
    pub(super) noise: StatedNoise,
    pub(super) kind: String,
    /// The scale of the noise, in steps.
    pub(super) scale: f64,
    /// The scale of the noise of the level above the keys, if there is one.
    pub(super) above: Option<f64>,
    /// The mistakes of the lines, of which there should be none.
    pub(super) mistakes: Vec<String>,
}

/// The places of released numbers, by the texts of their windows and keys.
struct Places {
    windows: HashMap<i64, usize>,
    keys: HashMap<String, usize>,
    digits: i32,
}

impl ReleasedNumbers {
    /// Reads the lines of a copy; `None` if none of them has a number.
    pub(super) fn read(copy: &AuditCopy, lines: &str) -> Result<Option<ReleasedNumbers>, Invalid> {
        let places = Places::of(copy);
        let mut windows = vec![vec![None; copy.slots.cells()]; places.windows.len()];
        let (mut noise, mut above, mut mistakes, mut closed) = (None, None, Vec::new(), 0);
        for line in lines.lines() {
            let Some(line) = ReleaseLine::read(line) else {
                mistakes.push("a line that is none of a release".to_owned());
                continue;
            };
            let window = places.window(line.window.start);
            match (line.says, window) {
                (Says::Closed { .. }, Some(_)) => closed += 1,
                (Says::Cell(cell), Some(window)) => {
                    let stated =
                        cell.noise.first().map(|noise| (noise.kind.to_string(), noise.scale().to_owned()));
                    if cell.rollup {
                        above = above.or_else(|| stated.as_ref()?.1.parse::<f64>().ok());
                    } else if noise.is_none() {
                        noise.clone_from(&stated);
                    }
                    if noise != stated && !cell.rollup {
                        mistakes.push("a line with another noise than the first".to_owned());
                    }
                    if let Some((place, value)) = places.find(&cell) {
                        let number = &mut windows[window][place];
                        if number.replace(value).is_some() {
                            mistakes.push("a second line of a key in a window".to_owned());
                        }
                    } else if !cell.rollup && !places.is_outside(&cell) {
                        mistakes.push("a line of a key that is not reserved".to_owned());
                    }
                }
                (Says::Refused(_), _) => mistakes.push("a window that the budget refused".to_owned()),
                (Says::Never(status, _), _) => mistakes.push(format!("a window that was {status}")),
                _ => mistakes.push("a line of a window that is not in the schedule".to_owned()),
            }
        }
        if closed != windows.len() {
            mistakes.push(format!("{closed} windows of {}", windows.len()));
        }
        if windows.iter().flatten().any(Option::is_none) {
            mistakes.push("no line of a key in a window".to_owned());
        }
        mistakes.sort_unstable();
        mistakes.dedup();
        let Some((kind, scale)) = noise else { return Ok(None) };
        let in_steps = 10_f64.powi(places.digits);
        let scale = scale.parse::<f64>().unwrap_or(0.0) * in_steps;
        let above = above.map(|scale| scale * in_steps);
        let noise = match (&*kind, copy.job.accounting()) {
            ("laplace", _) => StatedNoise::laplace(scale)?,
            (_, Some(Accounting::Gaussian)) => StatedNoise::rounded_gaussian(scale)?,
            _ => StatedNoise::discrete_gaussian(scale)?,
        };
        Ok(Some(ReleasedNumbers { windows, noise, kind, scale, above, mistakes }))
    }

    /// Returns the numbers that would be released without noise, in steps, by window and cell.
    pub(super) fn expected(&self, copy: &AuditCopy, coins: &Coins) -> Vec<Vec<i64>> {
        let mut expected = vec![vec![0_i64; copy.slots.cells()]; self.windows.len()];
        for canary in (0..copy.slots.canaries()).filter(|canary| coins.inside(*canary)) {
            for window in copy.windows_with(canary) {
                for cell in copy.slots.cells_of(canary) {
                    if let Some(number) = expected.get_mut(window).and_then(|cells| cells.get_mut(cell)) {
                        *number += copy.shape.moved;
                    }
                }
            }
        }
        expected
    }

    /// Returns the released numbers less those, in steps, by window and cell.
    pub(super) fn residuals(&self, copy: &AuditCopy, coins: &Coins) -> Vec<Vec<i64>> {
        let expected = self.expected(copy, coins);
        let less = |(released, expected): (&Vec<Option<i64>>, &Vec<i64>)| {
            let both = released
                .iter()
                .zip(expected)
                .filter_map(|(released, expected)| Some((*released)? - expected));
            both.collect()
        };
        self.windows.iter().zip(&expected).map(less).collect()
    }

    /// Returns the score of each canary with its coin: the sum of its numbers, in standard deviations of its noise.
    pub(super) fn scores(&self, copy: &AuditCopy, coins: &Coins) -> Vec<(f64, bool)> {
        let deviation = self.noise.deviation() * (copy.shape.keys as f64).sqrt();
        let sign = if copy.shape.moved < 0 { -1.0 } else { 1.0 };
        let score = |canary: u64| {
            let window = self.windows.get(copy.slots.window(canary) as usize)?;
            let cells = window.get(copy.slots.cells_of(canary))?;
            let sum: i64 = cells.iter().flatten().sum();
            Some((sign * sum as f64 / deviation, coins.inside(canary)))
        };
        (0..copy.slots.canaries()).filter_map(score).collect()
    }
}

impl AuditCopy {
    /// Returns the windows that the records of a canary are in.
    fn windows_with(&self, canary: u64) -> std::ops::Range<usize> {
        let last = self.slots.window(canary);
        let holding =
            self.plan.schedule.window(last).map(|window| self.plan.schedule.holding(window.start()));
        holding.map_or(0..0, |holding| holding.start as usize..holding.end as usize)
    }
}

impl Places {
    fn of(copy: &AuditCopy) -> Places {
        let window = |number: u64| Some((copy.plan.schedule.window(number)?.start(), number as usize));
        let windows = (0..copy.plan.schedule.count()).filter_map(window).collect();
        let keys = copy.keys().into_iter().enumerate().map(|(cell, key)| (key, cell)).collect();
        Places { windows, keys, digits: copy.plan.point().count() }
    }

    /// Returns the number of the window that starts at a moment; the only window may have none that can be written.
    fn window(&self, start: Option<&str>) -> Option<usize> {
        if self.windows.len() == 1 {
            return Some(0);
        }
        self.windows.get(&moment(start?)?).copied()
    }

    /// Returns the cell of a line, and its number in steps.
    fn find(&self, cell: &CellLine<'_>) -> Option<(usize, i64)> {
        let key = match cell.key.as_ref()? {
            LineKey::Texts { parts, .. } => parts.last()?,
            key => key.text(),
        };
        let place = self.keys.get(key).filter(|_| !cell.rollup)?;
        Some((*place, steps(cell.value?.as_bytes(), self.digits)?))
    }

    /// Returns true for a line of the two buckets beyond all edges.
    fn is_outside(&self, cell: &CellLine<'_>) -> bool {
        !self.keys.contains_key(&named(0)) && cell.key.is_some()
    }
}

/// The rows of a release.
pub(super) struct ReleasedRows {
    /// The number of rows.
    pub(super) rows: usize,
    /// The cost of all of them together; `None` if they have none, or costs that cannot be added.
    pub(super) charged: Option<PrivacyCost>,
    /// The amount that the account has spent; `None` unless it is of all time.
    pub(super) spent: Option<PrivacyCost>,
}

impl ReleasedRows {
    /// Adds up the rows of a copy.
    pub(super) fn of(copy: &AuditCopy, rows: &[Row], spent: Option<PrivacyCost>) -> ReleasedRows {
        let own: Vec<&Row> = rows.iter().filter(|row| row.release().name == copy.plan.name).collect();
        let mut costs = own.iter().filter_map(|row| row.cost());
        let first = costs.next().cloned();
        let charged = first.and_then(|first| costs.try_fold(first, |sum, cost| sum.plus(cost).ok()));
        ReleasedRows { rows: own.len(), charged, spent }
    }
}

/// Returns the canaries that lines have a key of, each alone with this number of keys.
pub(super) fn people_of(lines: &str, keys: u64) -> BTreeSet<u64> {
    let person = |line: &str| match ReleaseLine::read(line)?.says {
        Says::Cell(cell) => number_of(cell.key?.text()).map(|cell| cell / keys.max(1)),
        _ => None,
    };
    lines.lines().filter_map(person).collect()
}
