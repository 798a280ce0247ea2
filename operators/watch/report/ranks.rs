//! What is promised of values that are known by their place among people, and not by their size: in words, for there is
//! nothing to draw.

use super::draw::{counted, grouped, percent};
use super::errors::{ErrorMean, holds};
use super::model::{NoiseNotes, ReleaseSeries};
use crate::told::{CellLine, RankInterval};

/// More promises than these are not read.
const SAID: usize = 8;

/// What is promised of the values of a release, in a sentence or two.
pub(super) fn promised(series: &ReleaseSeries) -> Option<String> {
    let ranked: Vec<(&NoiseNotes, RankInterval)> =
        series.laws.iter().filter_map(|laws| Some((laws, laws.ranked?))).collect();
    let mut said: Vec<String> = Vec::new();
    for (laws, ranked) in &ranked {
        let words = match (ranked, &laws.q) {
            (RankInterval::Largest(people), _) => {
                let place = ordinal(*people);
                format!("each value is between the {place} largest and the largest, or one answer above it")
            }
            (RankInterval::Near(ranks), None) => {
                format!("the rank of each value is off by at most {ranks}")
            }
            (RankInterval::Near(ranks), Some(q)) => {
                format!("the rank of q {q} is off by at most {ranks}")
            }
        };
        if !said.contains(&words) {
            said.push(words);
        }
    }
    let more = said.len().saturating_sub(SAID);
    said.truncate(SAID);
    if more > 0 {
        said.push(format!("and so on for {more} more"));
    }
    let confidence = &ranked.first()?.0.confidence;
    Some(format!("At confidence {confidence} {}.", said.join("; ")))
}

fn many(people: u64) -> String {
    counted(usize::try_from(people).unwrap_or(usize::MAX), "person").replace("persons", "people")
}

/// `1st`, `2nd`, `66th`, `1,011th`
fn ordinal(number: u64) -> String {
    let ending = match (number % 100, number % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{}{ending}", grouped(&number.to_string()))
}

/// In a demo, by how many people values were off, where a rank is promised.
#[derive(Clone, Debug, Default)]
pub(super) struct Off {
    mean: ErrorMean,
    most: u64,
    /// So many were off by no more than is promised.
    kept: u64,
}

impl Off {
    pub(super) fn take(&mut self, cell: &CellLine<'_>) {
        let (Some(ranked), Some(off)) = (cell.ranked(), cell.off) else { return };
        let Ok(off) = off.parse::<u64>() else { return };
        self.mean.add(off as f64);
        self.most = self.most.max(off);
        // An answer beyond everybody is off by nobody, but its interval then holds nobody either.
        let within = match ranked {
            RankInterval::Largest(_) => holds(cell.low, cell.tally, cell.high),
            RankInterval::Near(_) => true,
        };
        self.kept += u64::from(within && off <= ranked.allowed());
    }

    /// How many values kept what is promised, beside how many should, and how far off they were.
    pub(super) fn share(&self, confidence: Option<&str>) -> Option<String> {
        let mean = self.mean.value()?;
        let promised = confidence.and_then(|part| part.parse::<f64>().ok());
        let promised = promised.map_or(String::new(), |part| format!("; {} are promised to", percent(part)));
        Some(format!(
            "{} of {} values are where they are promised to be: {}{promised}. They are off by {} on average, and by {} at \
             most.",
            grouped(&self.kept.to_string()),
            grouped(&self.mean.count.to_string()),
            percent(self.kept as f64 / self.mean.count as f64),
            many(mean.round() as u64),
            many(self.most)
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_said_as_people_say_them() {
        assert_eq!(
            [1, 2, 3, 4, 11, 12, 13, 21, 22, 66, 103, 1011].map(ordinal),
            ["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "22nd", "66th", "103rd", "1,011th"]
        );
        assert_eq!([0, 1, 38].map(many), ["0 people", "1 person", "38 people"]);
    }
}
