//! The section of the most frequent keys: the picks of the newest windows, in order.

use std::collections::VecDeque;

use super::model::{ReleaseSeries, ends};
use super::page::HtmlPage;
use crate::mechanisms::release_line::{CellLine, LineWindow, RankInterval};
use crate::picture::{escape, grouped, named};

/// The picks of the newest windows.
#[derive(Debug, Default)]
pub(super) struct ReportedTop {
    /// The distance that is stated, and its confidence.
    stated: Option<(u64, String)>,
    /// The start and the end of each window, and its keys in order.
    windows: VecDeque<([String; 2], Vec<String>)>,
    /// The number of windows that are left out.
    omitted: u64,
}

/// The most windows that are shown.
const WINDOWS: usize = 31;

impl ReportedTop {
    /// Takes in a line, if it is one of a pick.
    pub(super) fn take(&mut self, window: LineWindow<'_>, cell: &CellLine<'_>) {
        let Some(RankInterval::Behind(within)) = cell.ranked() else { return };
        self.stated = Some((within, cell.confidence.to_owned()));
        let ends = ends(window);
        if self.windows.back().is_none_or(|(newest, _)| *newest != ends) {
            if self.windows.len() >= WINDOWS {
                self.windows.pop_front();
                self.omitted += 1;
            }
            self.windows.push_back((ends, Vec::new()));
        }
        if let Some((_, keys)) = self.windows.back_mut() {
            keys.push(cell.key_text().map_or(String::new(), |key| named(Some(&key))));
        }
    }

    pub(super) fn is_some(&self) -> bool {
        self.stated.is_some()
    }
}

impl HtmlPage<'_> {
    /// Writes the picks of the newest windows.
    pub(super) fn top(&mut self, series: &ReleaseSeries) {
        let reported = &series.top;
        let Some((within, confidence)) = &reported.stated else { return };
        self.text += &format!(
            "<p>The keys with the largest numbers, in order; no number is released. Each is within {} of the largest number that was \
             left, all of a window together with probability {}.</p>",
            grouped(&within.to_string()),
            escape(confidence)
        );
        if reported.omitted > 0 {
            self.text += &format!(
                "<p class=\"sub\">The newest {WINDOWS} windows; {} before them are in the table below.</p>",
                grouped(&reported.omitted.to_string())
            );
        }
        self.text += "<div class=\"scroll\"><table><thead><tr>";
        for column in ["from", "to", "keys in order"] {
            self.text += &format!("<th scope=\"col\">{column}</th>");
        }
        self.text += "</tr></thead><tbody>";
        for (window, keys) in &reported.windows {
            let [start, end] = window.each_ref().map(|end| self.moment(end));
            let keys: Vec<String> =
                (1..).zip(keys).map(|(place, key)| format!("{place}. {}", escape(key))).collect();
            self.text += &format!("<tr><td>{start}</td><td>{end}</td><td>{}</td></tr>", keys.join("<br>"));
        }
        self.text += "</tbody></table></div>";
    }
}
