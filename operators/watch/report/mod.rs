//! Reports: the released values, the extent of their noise and their privacy cost, as one page or as a
//! picture.
//!
//! A page is one file that needs no other and runs nothing. It is made of the lines that left, parsed again,
//! and of the status of their budget. The report of a demonstration also shows exact values, and each of its
//! pictures is marked as one.

mod alerts;
mod answers;
mod budget;
mod charts;
mod model;
mod page;
#[cfg(test)]
mod tests;
mod timeline;
mod top;

use std::collections::BTreeMap;

use model::Model;
pub(super) use page::PagePart;

use crate::accounting::PrivacyCost;
use crate::gate::BudgetStatus;
use crate::picture::{Dates, has_mark};
use crate::time::Zone;

/// The mark at the beginning of every page and picture.
const MARK: &str = "discreet report";

/// The mark of a report of a demonstration.
const DEMO_MARK: &str = "discreet report of a demo";

/// The heading of a report.
#[derive(Clone, Debug, Default)]
pub struct Heading {
    /// The job's name.
    pub job: String,
    /// The promise, in one or more sentences.
    pub promise: String,
    /// The name of the budget account.
    pub account: String,
    /// The cap of the job file, in words; a page shows that of the newest window where there is one.
    pub budget: String,
    /// The time at which the page was made, in words.
    pub made: String,
    /// The zone of the days of windows; UTC without one.
    pub zone: Option<Zone>,
    /// True for a demonstration, which shows exact values: its report is not private.
    pub demo: bool,
    /// The words of the plan about the releases of the job, by their names.
    pub releases: BTreeMap<String, ReleaseNotes>,
}

/// The words of a plan about a release: all of them are known before there is data.
#[derive(Clone, Debug, Default)]
pub struct ReleaseNotes {
    /// The place of the release in the job.
    pub place: usize,
    /// The reason for which windows may come without a number, in a sentence.
    pub empty: Option<String>,
    /// True if no contribution bound is smaller.
    pub least_bound: bool,
    /// True if no windows are longer: the only one holds everything.
    pub longest: bool,
    /// The names of keys and of their parents, where a roll-up releases both: "method and status" and "method".
    pub levels: Option<[String; 2]>,
    /// The ranges that numbers lie in whatever the records are.
    pub ranges: Vec<StatedRange>,
    /// True if closer ranges are found, by which records are clipped further than their exact numbers say.
    pub finds_ranges: bool,
}

/// The range that numbers of a release lie in, by the job alone.
#[derive(Clone, Debug, PartialEq)]
pub struct StatedRange {
    /// The field, where the release has several.
    pub of: Option<String>,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Heading {
    /// The dates of the windows, in words.
    fn dates(&self) -> Dates {
        Dates::of(self.zone.as_ref())
    }

    /// The names of the levels of a release, if the plan knows them.
    fn level_names(&self, release: &str) -> Option<&[String; 2]> {
        self.releases.get(release)?.levels.as_ref()
    }
}

/// A report, to which windows are added one after another.
#[derive(Debug)]
pub struct Report {
    heading: Heading,
    model: Model,
}

impl Report {
    /// Makes an empty report.
    pub fn new(heading: Heading) -> Report {
        Report { heading, model: Model::default() }
    }

    /// Returns true if nothing was added to it.
    pub fn is_empty(&self) -> bool {
        self.model.releases.is_empty()
    }

    /// Makes an empty report whose tables show this number of the newest rows.
    pub(super) fn of_newest(heading: Heading, rows: usize) -> Report {
        Report { heading, model: Model { newest_rows: Some(rows), ..Model::default() } }
    }

    /// States the cap of the account as its ledger does: it may have been raised since the job file was written.
    pub fn state_cap(&mut self, cap: &PrivacyCost) {
        self.heading.budget = cap.with_epsilon();
    }

    /// Begins with the status of the budget that windows before the first one have left.
    pub fn begin(&mut self, budget_status: &BudgetStatus) {
        self.model.begin(budget_status);
    }

    /// Adds the lines of a window, separated by `\n` (its cells and the line that closes it, or its one
    /// line), and the status of its budget. Lines that are not of a release are skipped.
    pub fn add(&mut self, lines: &str, budget_status: Option<&BudgetStatus>) {
        let known = self.model.releases.len();
        lines.split('\n').for_each(|line| self.model.take(line));
        if self.model.releases.len() > known {
            // In the order of the job, whichever window left first.
            let planned = &self.heading.releases;
            let place = |name: &str| planned.get(name).map_or(usize::MAX, |notes| notes.place);
            self.model.releases.sort_by_key(|series| place(&series.name));
        }
        if let Some(budget_status) = budget_status {
            self.model.spend(budget_status);
        }
    }

    /// Returns true if the text begins as a page or a picture of a report does.
    pub fn is_of(text: &[u8]) -> bool {
        has_mark(text, MARK)
    }

    /// Returns true if the text begins as the report of a demonstration does.
    pub fn is_of_demo(text: &[u8]) -> bool {
        has_mark(text, DEMO_MARK)
    }

    /// The parts of the page, in their order.
    pub(super) fn parts(&self) -> Vec<PagePart> {
        page::parts(&self.heading, &self.model)
    }

    /// The page of these parts.
    pub(super) fn framed(&self, parts: &[PagePart]) -> String {
        page::framed(&self.heading, parts)
    }

    /// The page, in HTML.
    pub fn html(&self) -> String {
        page::page(&self.heading, &self.model)
    }

    /// A picture of the first releases, in SVG. It has no room for [others](Report::left_out_of_svg).
    pub fn svg(&self) -> String {
        timeline::picture(&self.heading, &self.model).0
    }

    /// The names of the releases that the picture leaves out: the page has all of them.
    pub fn left_out_of_svg(&self) -> Vec<&str> {
        timeline::picture(&self.heading, &self.model).1
    }
}

/// The mark of a report with this heading.
fn mark(heading: &Heading) -> &'static str {
    if heading.demo { DEMO_MARK } else { MARK }
}
