//! The lines that were fitted, and the error of both numbers in those of a demonstration.

use std::fmt;

use super::{Fit, Measurement};
use crate::mechanisms::release_line::CellLine;

/// The outcome of a fit for the lines of a release.
#[derive(Clone, Debug, PartialEq)]
pub struct FitSummary {
    /// The name of the release.
    pub release: String,
    /// The fit.
    pub fit: Fit,
    /// The number of lines with a released number.
    pub lines: u64,
    /// The number of these that have a fitted value.
    pub fitted: u64,
    /// The numbers of the others, by reason.
    pub unfitted: UnfittedLines,
    /// The deviation of the released values from one window to the next, beyond their noise, where the fit is of a walk: what the
    /// stated one may be compared with. Zero if the noise alone explains more.
    pub movement: Option<f64>,
    /// The errors beside the exact numbers with the contribution bound, of a demonstration: of the noise alone.
    pub tally: Option<MeasuredError>,
    /// The errors beside the exact numbers without it.
    pub truth: Option<MeasuredError>,
}

/// The numbers of lines with a released number and without a fitted one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnfittedLines {
    /// Lines of a window that does not begin after the last one of their series: of another version, or out of order.
    pub again: u64,
    /// Lines of which the noise has no deviation: of too few people, or with an interval that ends at an end of the range.
    pub unmeasured: u64,
    /// Lines of a window that has fewer than four keys, or was not closed.
    pub few_keys: u64,
}

/// The errors of released and of fitted values, each the root of the mean of the squares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasuredError {
    /// That of the released values.
    pub value: f64,
    /// That of the fitted values.
    pub fitted: f64,
}

/// Sums of squared errors.
#[derive(Clone, Copy, Debug, Default)]
struct SquaredErrors {
    value: f64,
    fitted: f64,
    lines: u64,
}

impl SquaredErrors {
    fn add(&mut self, exact: Option<&str>, value: f64, fitted: f64) {
        let Some(exact) = exact.and_then(|exact| exact.parse::<f64>().ok()) else { return };
        self.value += (value - exact).powi(2);
        self.fitted += (fitted - exact).powi(2);
        self.lines += 1;
    }

    fn mean(self) -> Option<MeasuredError> {
        let root = |sum: f64| (sum / self.lines as f64).sqrt();
        (self.lines > 0).then(|| MeasuredError { value: root(self.value), fitted: root(self.fitted) })
    }
}

/// The sums of a release.
#[derive(Clone, Debug, Default)]
pub(super) struct FitTally {
    pub(super) lines: u64,
    pub(super) fitted: u64,
    pub(super) unfitted: UnfittedLines,
    tally: SquaredErrors,
    truth: SquaredErrors,
    /// The squared differences of successive values without what their noise explains, and the number of windows between them.
    moved: f64,
    windows: f64,
}

impl FitTally {
    /// Adds a line with its fitted value as it is printed.
    pub(super) fn add(&mut self, cell: &CellLine<'_>, fitted: &str) {
        self.fitted += 1;
        let number = |text: &str| text.parse::<f64>().ok();
        let (Some(value), Some(fitted)) = (cell.value.and_then(number), number(fitted)) else { return };
        self.tally.add(cell.tally, value, fitted);
        self.truth.add(cell.truth, value, fitted);
    }

    /// Adds the way from one value of a series to the next.
    pub(super) fn moved(&mut self, from: Measurement, to: Measurement, windows: f64) {
        self.moved += (to.value - from.value).powi(2) - from.variance - to.variance;
        self.windows += windows;
    }

    pub(super) fn summary(&self, release: &str, fit: Fit) -> FitSummary {
        let movement = (self.windows > 0.0).then(|| (self.moved / self.windows).max(0.0).sqrt());
        let FitTally { lines, fitted, unfitted, .. } = *self;
        let (tally, truth) = (self.tally.mean(), self.truth.mean());
        FitSummary { release: release.to_owned(), fit, lines, fitted, unfitted, movement, tally, truth }
    }
}

/// Writes a number with four digits.
fn short(number: f64) -> String {
    if number == 0.0 || !number.is_finite() {
        return number.to_string();
    }
    // Between -324 and 308.
    let places = 3 - number.abs().log10().floor() as i32;
    let shown = format!("{number:.*}", usize::try_from(places).unwrap_or(0));
    if shown.contains('.') { shown.trim_end_matches('0').trim_end_matches('.').to_owned() } else { shown }
}

impl FitSummary {
    /// Says that the values move by far more than the stated deviation, so that fitted ones lag behind them.
    pub fn lag(&self) -> Option<String> {
        let (Fit::Filter(deviation) | Fit::Smooth(deviation)) = self.fit else { return None };
        let movement = self.movement.filter(|movement| *movement > FAR * deviation)?;
        let (release, movement, deviation) = (&self.release, short(movement), short(deviation));
        Some(format!(
            "{release}: the values move by about {movement} from one window to the next, which is far more than {deviation}: the \
             fitted ones lag behind; give a larger deviation"
        ))
    }
}

impl FitSummary {
    /// Says for which reasons lines have no fitted value, and what helps: a sentence for each reason.
    pub fn without(&self) -> Vec<String> {
        let UnfittedLines { again, unmeasured, few_keys } = self.unfitted;
        let release = &self.release;
        let reason = |lines: u64, reason: &str| {
            let (values, have) = if lines == 1 { ("value", "has") } else { ("values", "have") };
            (lines > 0).then(|| format!("{release}: {lines} {values} {have} no fitted one: {reason}"))
        };
        let again = reason(
            again,
            "the window does not begin after the last one of its key, as where a second version of the release has answered it, or \
             lines are out of order; give the lines of one version alone, in the order of their windows",
        );
        let unmeasured = reason(
            unmeasured,
            "the line has no deviation of its noise, for it is of too few people, or its interval ends at an end of the range; the \
             released value stands",
        );
        let few_keys = reason(
            few_keys,
            "the window has fewer than four keys, or the line that closes it is not there; give whole windows, or --filter \
             RELEASE=DEVIATION, which fits each key by itself",
        );
        [again, unmeasured, few_keys].into_iter().flatten().collect()
    }
}

/// The movement beside the stated deviation from which on a fit is said to lag.
const FAR: f64 = 2.0;

/// Prints a line for what was fitted, one for the movement, and one for the errors.
impl fmt::Display for FitSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FitSummary { release, fit, lines, fitted, .. } = self;
        write!(f, "{release}: {fitted} of {lines} values have a fitted one, by {}", fit.word())?;
        if let Fit::Filter(deviation) | Fit::Smooth(deviation) = fit {
            write!(f, " with a deviation of {}", short(*deviation))?;
        }
        match self.movement {
            Some(movement) if movement > 0.0 => {
                let movement = short(movement);
                write!(
                    f,
                    "\n{release}: the values move by about {movement} from one window to the next, beyond their noise"
                )?;
            }
            Some(_) => write!(
                f,
                "\n{release}: the noise explains all that the values move from one window to the next"
            )?,
            None => {}
        }
        for (errors, exact) in [(self.tally, "the tally"), (self.truth, "the truth")] {
            let Some(MeasuredError { value, fitted }) = errors else { continue };
            let gain =
                if value > 0.0 { format!(", {} times it", short(fitted / value)) } else { String::new() };
            let (value, fitted) = (short(value), short(fitted));
            write!(
                f,
                "\n{release}: off from {exact} by {value} as released and by {fitted} as fitted{gain} (root mean square)"
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn errors_have_four_digits() {
        let said = [0.0, 1.0, 0.27938, 12345.6, 41.1199, 0.000_123_456].map(short);
        assert_eq!(said, ["0", "1", "0.2794", "12346", "41.12", "0.0001235"]);
    }
}
