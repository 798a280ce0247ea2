//! The section of an alert: the band, its alarms, and what is left.

use std::collections::VecDeque;

use super::model::{ReleaseSeries, ends};
use super::page::HtmlPage;
use crate::mechanisms::Crossing;
use crate::mechanisms::release_line::{CellLine, LineWindow};
use crate::picture::{counted, escape, grouped, named};

/// The lines of an alert.
#[derive(Debug, Default)]
pub(super) struct ReportedAlert {
    /// The band and the alarms of the newest line.
    newest: Option<Crossing>,
    confidence: String,
    /// The start, the end and the key of each alarm, the alarms that were left, and in a demonstration whether the number
    /// was above.
    alarms: VecDeque<[String; 5]>,
    silent: u64,
    /// The lines of a demonstration that are wrong: an alarm where the number was not above.
    wrong: u64,
    is_keyed: bool,
}

impl ReportedAlert {
    /// Takes in a line; returns true if it is one of an alert.
    pub(super) fn take(&mut self, window: LineWindow<'_>, cell: &CellLine<'_>) -> bool {
        let Some(crossing) = cell.noise.first().and_then(|noise| noise.crossing()) else { return false };
        cell.confidence.clone_into(&mut self.confidence);
        self.newest = Some(crossing);
        self.is_keyed |= cell.key.is_some();
        if cell.value != Some("1") {
            self.silent += 1;
            return true;
        }
        self.wrong += u64::from(cell.tally == Some("0"));
        let above = match cell.tally {
            Some("1") => "yes",
            Some(_) => "no",
            None => "",
        };
        let key = cell.key_text().map_or(String::new(), |key| named(Some(&key)));
        let [start, end] = ends(window);
        if self.alarms.len() >= Crossing::MOST_ALARMS as usize {
            self.alarms.pop_front();
        }
        self.alarms.push_back([start, end, key, crossing.left().to_string(), above.to_owned()]);
        true
    }

    pub(super) fn is_some(&self) -> bool {
        self.newest.is_some()
    }
}

impl HtmlPage<'_> {
    /// Writes what an alert has said: its alarms, and how many windows were silent.
    pub(super) fn alert(&mut self, series: &ReleaseSeries) {
        let reported = &series.alert;
        let Some(crossing) = reported.newest else { return };
        let (above, surely) = (crossing.above(), crossing.surely());
        let (alarms, left) = (crossing.alarms(), crossing.left());
        let rest = match left {
            0 => "None is left: the alert has ended, and later windows have no line.".to_owned(),
            left => format!("{} left.", counted(left as usize, "alarm")),
        };
        self.text += &format!(
            "<p>Silent while the number is at most {}, and surely fires from {} on, in all windows that it is planned for together with \
             probability {}. Of {} for which it has paid, {} been raised. {rest}</p>",
            grouped(&above.to_string()),
            grouped(&surely.to_string()),
            escape(&reported.confidence),
            counted(alarms as usize, "alarm"),
            match alarms.saturating_sub(left) {
                1 => "1 has".to_owned(),
                raised => format!("{raised} have"),
            },
        );
        let silent = grouped(&reported.silent.to_string());
        self.text += &format!(
            "<p class=\"sub\">{silent} {} silent, which cost nothing.</p>",
            if reported.silent == 1 { "answer was" } else { "answers were" }
        );
        if reported.alarms.is_empty() {
            return;
        }
        let demo = self.heading.demo;
        let columns = [
            ("from", true),
            ("to", true),
            ("key", reported.is_keyed),
            ("alarms left", true),
            ("above", demo),
        ];
        self.text += "<div class=\"scroll\"><table><thead><tr>";
        for (column, _) in columns.iter().filter(|(_, is_shown)| *is_shown) {
            self.text += &format!("<th scope=\"col\">{column}</th>");
        }
        self.text += "</tr></thead><tbody>";
        for alarm in &reported.alarms {
            self.text += "<tr>";
            for (at, field) in alarm.iter().enumerate().filter(|(at, _)| columns[*at].1) {
                let field = if at < 2 { self.moment(field) } else { escape(field) };
                self.text += &format!("<td>{field}</td>");
            }
            self.text += "</tr>";
        }
        self.text += "</tbody></table></div>";
        if demo && reported.wrong > 0 {
            let wrong = counted(reported.wrong as usize, "alarm");
            self.text += &format!("<p>{wrong} came where the number was not above {above}.</p>");
        }
    }
}
