//! A report: what was released, how far its noise reaches, and what it cost, as one page or as a picture.
//!
//! The page is one file that needs no other and runs nothing. It is made of the lines that left, read back, so it knows
//! nothing that they do not say. Where it is of a demo it also knows the truth, and says so at every turn.

mod budget;
mod charts;
mod draw;
mod model;
mod page;
#[cfg(test)]
mod tests;
mod timeline;

use model::Model;

use crate::gate::BudgetStatus;

/// Stands at the beginning of every page and picture.
const MARK: &str = "discreet report";

/// The mark of a report of a demonstration.
const DEMO_MARK: &str = "discreet report of a demo";

/// What stands at the top.
#[derive(Clone, Debug, Default)]
pub struct Heading {
    /// The job's name.
    pub job: String,
    /// What is promised, in a sentence or several.
    pub promise: String,
    /// The budget's name.
    pub domain: String,
    /// The cap, in words.
    pub budget: String,
    /// When the page was made, in words.
    pub made: String,
    /// Whether nothing on it is private.
    pub demo: bool,
}

/// A page that is told window after window.
#[derive(Debug)]
pub struct Report {
    heading: Heading,
    model: Model,
}

impl Report {
    /// One that was told nothing.
    pub fn new(heading: Heading) -> Report {
        Report { heading, model: Model::default() }
    }

    /// Tells it the lines of a window, separated by `\n`: its cells and the line that closes it, or its one line; and how
    /// its budget stands there. What is no line of a release is passed over.
    pub fn tell(&mut self, lines: &str, standing: Option<&BudgetStatus>) {
        lines.split('\n').for_each(|line| self.model.take(line));
        if let Some(standing) = standing {
            self.model.spend(standing);
        }
    }

    /// Returns true of a text that is a page or a picture that a report wrote, by its beginning.
    pub fn is_of(text: &[u8]) -> bool {
        begins_with(text, MARK)
    }

    /// Returns true of a report of a demonstration.
    pub fn is_of_demo(text: &[u8]) -> bool {
        begins_with(text, DEMO_MARK)
    }

    /// The page, in HTML.
    pub fn html(&self) -> String {
        page::page(&self.heading, &self.model)
    }

    /// The first releases as a picture, in SVG.
    pub fn svg(&self) -> String {
        timeline::picture(&self.heading, &self.model)
    }
}

/// The mark of a report of this kind.
fn mark(heading: &Heading) -> &'static str {
    if heading.demo { DEMO_MARK } else { MARK }
}

/// Returns true where a mark is in the first 512 bytes of a text.
fn begins_with(text: &[u8], mark: &str) -> bool {
    let beginning = text.get(..text.len().min(512)).unwrap_or_default();
    beginning.windows(mark.len()).any(|part| part == mark.as_bytes())
}
