//! The sentences of a line of the most frequent keys.

use crate::job::plan::short;
use crate::mechanisms::release_line::CellLine;

/// A key that was picked, to be put in sentences.
pub(super) struct TopSentences<'c, 'l> {
    pub(super) cell: &'c CellLine<'l>,
    pub(super) within: u64,
    /// The number that keys are picked by, with the key: `The number of people for the key "/"`.
    pub(super) subject: String,
}

impl TopSentences<'_, '_> {
    /// Returns the place of the pick, and of a demonstration the place of its number.
    pub(super) fn value(&self) -> String {
        let place = self.cell.value.unwrap_or("-");
        let mut text = format!(
            "Pick {place} of the window, in the order of the largest numbers. {} decides, and is not released.",
            self.subject
        );
        for (exact, of) in
            [(self.cell.tally, "after the contribution bound"), (self.cell.truth, "of all records")]
        {
            let place = exact.map(|exact| format!(" By the exact numbers {of} its place is {exact}."));
            text += &place.unwrap_or_default();
        }
        if let Some(off) = self.cell.off {
            text += &format!(" Its number is {off} below the one that has the place of this pick.");
        }
        text
    }

    /// Returns what is known of the number.
    pub(super) fn interval(&self, percent: &str) -> String {
        format!(
            "The number of this key after the contribution bound is at most {} below the largest that was left when it was picked, with \
             probability at least {percent}, over the noise, for all picks of the window together. Nothing else bounds its place.",
            self.within
        )
    }

    /// Returns the noise in sentences.
    pub(super) fn noise(&self) -> String {
        let noise = self.cell.noise.first();
        let kind = noise.map_or("", |noise| &*noise.kind);
        let scale = noise.and_then(|noise| noise.scale().parse::<f64>().ok()).map_or(String::new(), short);
        match kind {
            "exponential" => format!(
                "The key was picked by the exponential mechanism: each {scale} less in its number makes a pick less likely by a factor of e."
            ),
            "permute-and-flip" => format!(
                "The key was picked by permute-and-flip, which is the largest of the numbers with exponential noise of scale {scale}."
            ),
            other => format!("The key was picked by the law {other} of scale {scale}."),
        }
    }
}
