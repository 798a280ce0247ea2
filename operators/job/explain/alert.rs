//! The sentences of a line of an alert.

use crate::job::plan::short;
use crate::mechanisms::Crossing;
use crate::mechanisms::release_line::CellLine;

/// The line of an alert, to be put in sentences.
pub(super) struct AlertSentences<'c, 'l> {
    pub(super) cell: &'c CellLine<'l>,
    pub(super) crossing: Crossing,
    /// The counted number and its key: `The number of people for the key "/"`.
    pub(super) subject: String,
}

impl AlertSentences<'_, '_> {
    fn has_fired(&self) -> bool {
        self.cell.value == Some("1")
    }

    /// Returns whether it fired, and of a demonstration whether it should have.
    pub(super) fn value(&self) -> String {
        let (above, alarms, left) = (self.crossing.above(), self.crossing.alarms(), self.crossing.left());
        let said = if self.has_fired() { "fired" } else { "was silent" };
        let rest = match left {
            0 => "none is left, and the alert has ended".to_owned(),
            1 => "1 is left after this window".to_owned(),
            left => format!("{left} are left after this window"),
        };
        let alarms = if alarms == 1 { "1 alarm".to_owned() } else { format!("{alarms} alarms") };
        let mut text = format!(
            "The alert {said}. It watches whether {} is above {above}, and says nothing else of that number. Of {alarms}, {rest}.",
            self.subject.replacen("The", "the", 1)
        );
        for (exact, of) in
            [(self.cell.tally, "after the contribution bound"), (self.cell.truth, "of all records")]
        {
            let is_above = exact.map(|exact| if exact == "1" { "is" } else { "is not" });
            text += &is_above.map(|is| format!(" The exact number {of} {is} above it.")).unwrap_or_default();
        }
        text
    }

    /// Returns what follows of the number.
    pub(super) fn interval(&self, percent: &str) -> String {
        let (above, surely) = (self.crossing.above(), self.crossing.surely());
        let sure = format!(
            "with probability at least {percent}, over the noise, for all windows and keys that the alert is planned for together"
        );
        match self.has_fired() {
            true if self.cell.low != Some("1") => {
                "None: it has been asked about more windows than it is planned for, in which it may fire wrongly more often.".to_owned()
            }
            true => format!("The number after the contribution bound was above {above}, {sure}."),
            false => format!(
                "The number after the contribution bound was below {surely}, {sure}. Whether it was above {above} is not known."
            ),
        }
    }

    /// Returns the noise in sentences.
    pub(super) fn noise(&self) -> String {
        let scale = self.cell.noise.first().and_then(|noise| noise.scale().parse::<f64>().ok());
        let scale = scale.map_or(String::new(), short);
        format!(
            "Geometric noise of scale {scale} was added to the number, and noise of another scale to the threshold. The first was \
             drawn for this window; the second is kept until the alert fires."
        )
    }
}
