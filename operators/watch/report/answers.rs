//! The answers of a bundle of questions: of each analyst the ones that can be compared as a picture, and all of them as a
//! table with the text of each question, its answer and interval, and the answers of the bundle that it took.

use std::collections::{BTreeMap, HashSet, VecDeque};

use super::charts::{self, small_badge};
use super::model::{ChartPoint, ReleaseSeries, Track, TrackLevel};
use super::page::{HtmlPage, SLIM, WIDTH};
use crate::mechanisms::release_line::{AnswerLine, ShownNumbers};
use crate::picture::{Dates, Drawing, capitalized, counted, escape, grouped};
use crate::time::at;

/// The most answers of a table: browsers take long to lay out more.
const ANSWERS: usize = 10_000;

/// The most answers of a picture.
const BARS: usize = 30;

/// The answers of a bundle, in the order of their lines.
#[derive(Debug, Default)]
pub(super) struct ReportedAnswers {
    answers: VecDeque<ReportedAnswer>,
    /// The ids of the releases that were added.
    known: HashSet<String>,
    omitted: u64,
    /// The number of added ones that the bundle had no answer left for.
    unanswered: usize,
}

/// The answer of a question, or its refusal.
#[derive(Debug)]
struct ReportedAnswer {
    analyst: String,
    id: String,
    /// The question in words.
    asked: String,
    /// The time of the question.
    at: String,
    /// The window whose records were counted.
    window: [String; 2],
    /// The value and the ends of its interval, with the digits that mean something; `None` of a refusal.
    digits: Option<[String; 3]>,
    point: Option<ChartPoint>,
    /// The exact number of a demonstration.
    tally: String,
    /// The number of answers of the bundle that it took.
    took: usize,
    /// The number of answers that were left after it.
    left: Option<u64>,
    promise: String,
}

/// A picture of answers with one unit.
pub(super) struct AnswerChart {
    pub(super) title: String,
    tracks: Vec<Track>,
    /// The number of earlier answers, which are not drawn.
    pub(super) earlier: usize,
}

impl ReportedAnswers {
    /// Adds an answer once; with `newest`, the oldest beyond this number are dropped.
    pub(super) fn take(&mut self, answer: &AnswerLine<'_>, newest: Option<usize>) -> bool {
        if !self.known.insert(answer.id.clone().into_owned()) {
            return false;
        }
        self.unanswered += usize::from(answer.cell.is_none());
        if newest.is_some_and(|most| self.answers.len() >= most) {
            self.answers.pop_front();
            self.omitted += 1;
        }
        if self.answers.len() < ANSWERS {
            self.answers.push_back(ReportedAnswer::of(answer));
        } else {
            self.omitted += 1;
        }
        true
    }

    /// The number of answers and refusals that were added.
    pub(super) fn count(&self) -> usize {
        self.known.len()
    }

    /// The answers and the questions without one, in words.
    fn in_words(&self) -> String {
        let answers = counted(self.count() - self.unanswered, "answer");
        let analysts = counted(self.by_analyst().len(), "analyst");
        match self.unanswered {
            0 => format!("{answers} to questions of {analysts}"),
            unanswered => {
                let questions = counted(unanswered, "question");
                format!("{answers} and {questions} that the bundle had no answer left for, of {analysts}")
            }
        }
    }

    /// The answers of each analyst.
    fn by_analyst(&self) -> BTreeMap<&str, Vec<&ReportedAnswer>> {
        let mut analysts: BTreeMap<&str, Vec<&ReportedAnswer>> = BTreeMap::new();
        for answer in &self.answers {
            analysts.entry(answer.analyst.as_str()).or_default().push(answer);
        }
        analysts
    }

    /// The pictures of each analyst.
    pub(super) fn charts(&self, dates: &Dates) -> Vec<(&str, Vec<AnswerChart>)> {
        let charts = |(analyst, answers): (_, Vec<_>)| (analyst, charts_of(&answers, dates));
        let drawn = self.by_analyst().into_iter().map(charts);
        drawn.filter(|(_, charts)| !charts.is_empty()).collect()
    }
}

impl ReportedAnswer {
    fn of(answer: &AnswerLine<'_>) -> ReportedAnswer {
        let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
        let cell = answer.cell.as_ref();
        let number = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite());
        let point = cell.and_then(|cell| {
            let interval = cell.low.and_then(number).zip(cell.high.and_then(number));
            let truth = answer.tally.and_then(number);
            Some(ChartPoint { window: 0, value: number(cell.value?)?, interval, truth, fitted: None })
        });
        ReportedAnswer {
            analyst: answer.analyst.clone().into_owned(),
            id: answer.question.clone().into_owned(),
            asked: answer.asked.clone().into_owned(),
            at: answer.at.clone().into_owned(),
            window: [answer.version.start, answer.version.end].map(text),
            digits: cell.map(|cell| {
                let ShownNumbers { value, low, high, .. } = cell.shown();
                [value, low, high].map(Option::unwrap_or_default)
            }),
            point,
            tally: answer.tally.map_or(String::new(), |tally| {
                cell.map_or_else(|| tally.to_owned(), |cell| cell.beside(tally))
            }),
            // Each number of an answer has the noise of one.
            took: cell.map_or(0, |cell| cell.noise.len()),
            left: answer.left,
            promise: answer.promise.clone().into_owned(),
        }
    }

    /// The statistic and the condition of the question.
    fn parts(&self) -> (&str, &str) {
        const WHERE: &str = " where ";
        // A name in backquotes may hold any words.
        let mut is_name = false;
        let place = self.asked.char_indices().find(|(place, letter)| {
            is_name ^= *letter == '`';
            !is_name && self.asked.get(*place..).is_some_and(|rest| rest.starts_with(WHERE))
        });
        let split = place
            .and_then(|(place, _)| Some((self.asked.get(..place)?, self.asked.get(place + WHERE.len()..)?)));
        split.unwrap_or((&self.asked, "all"))
    }

    /// The window whose records were counted, in words.
    fn window_words(&self, dates: &Dates) -> String {
        let [start, end] = self.window.each_ref().map(|text| at(text).ok());
        dates.spanned(start, end)
    }
}

/// The pictures of the answers of an analyst: numbers of one unit together, where there are several.
fn charts_of(answers: &[&ReportedAnswer], dates: &Dates) -> Vec<AnswerChart> {
    let mut units: Vec<(&str, Vec<(&ReportedAnswer, ChartPoint)>)> = Vec::new();
    for answer in answers {
        let Some(point) = answer.point else { continue };
        let unit = answer.parts().0;
        match units.iter_mut().find(|(known, _)| *known == unit) {
            Some((_, alike)) => alike.push((answer, point)),
            None => units.push((unit, vec![(answer, point)])),
        }
    }
    units.retain(|(_, alike)| alike.len() > 1);
    units.iter().map(|(unit, alike)| AnswerChart::of(unit, alike, dates)).collect()
}

impl AnswerChart {
    fn of(unit: &str, answers: &[(&ReportedAnswer, ChartPoint)], dates: &Dates) -> AnswerChart {
        let earlier = answers.len().saturating_sub(BARS);
        let drawn = answers.get(earlier..).unwrap_or_default();
        let plain: Vec<String> = drawn.iter().map(|(answer, _)| answer.parts().1.to_owned()).collect();
        let dated = named_apart(&plain, |at| drawn.get(at).map(|(answer, _)| answer.window_words(dates)));
        let names = named_apart(&dated, |at| drawn.get(at).map(|(answer, _)| answer.id.clone()));
        let track = |(name, (_, point)): (String, &(&ReportedAnswer, ChartPoint))| Track {
            key: Some(name),
            rollup: false,
            q: None,
            of: None,
            // In the order of the answers.
            ordered: true,
            composed: false,
            points: vec![*point],
        };
        AnswerChart {
            title: if unit == "count" { "Counts of records".to_owned() } else { capitalized(unit) },
            tracks: names.into_iter().zip(drawn).map(track).collect(),
            earlier,
        }
    }

    /// Draws a bar for each answer, with its interval.
    pub(super) fn draw(&self, width: f64, slim: bool) -> Drawing {
        let tracks = self.tracks.iter().collect();
        let level = TrackLevel { rollup: false, tracks, name: None };
        charts::window(&level, &self.title, width, slim).0
    }
}

/// The names, each of those that are alike behind a text by which they differ.
fn named_apart(names: &[String], by: impl Fn(usize) -> Option<String>) -> Vec<String> {
    let is_alone = |name: &String| names.iter().filter(|other| *other == name).count() == 1;
    let apart = |(at, name): (usize, &String)| match by(at) {
        Some(text) if !is_alone(name) => format!("{text}: {name}"),
        _ => name.clone(),
    };
    names.iter().enumerate().map(apart).collect()
}

/// The cost in a promise: `epsilon 2, delta 0.000001` of `lifetime, a person, epsilon 2, delta 0.000001`.
fn cost(promise: &str) -> Option<&str> {
    let begins =
        [", epsilon ", ", rho ", ", omega "].into_iter().filter_map(|word| promise.find(word)).min()?;
    promise.get(begins + 2..)
}

impl HtmlPage<'_> {
    /// Writes the answers of a bundle, by analyst.
    pub(super) fn answers(&mut self, series: &ReleaseSeries) {
        let answers = &series.answers;
        let analysts = answers.by_analyst();
        self.text +=
            &format!("<section><h2>{}</h2><p class=\"sub\">{}</p>", escape(&series.name), answers.in_words());
        let paid = answers.answers.back().and_then(|newest| cost(&newest.promise));
        let paid = paid.map_or(String::new(), |paid| {
            format!("All answers of the bundle together cost {paid}, paid once, with the first. ")
        });
        self.text += &format!(
            "<p>{}A count takes one answer of the bundle, and a mean two. The interval of an answer holds the exact number of the \
             records that count with certainty.</p>",
            escape(&paid)
        );
        let charts = answers.charts(&self.dates);
        if !charts.is_empty() {
            let demo = self.heading.demo;
            self.both(
                "legend",
                |width, _| Some(charts::legend_of_answers(demo, width)),
                [620.0, SLIM],
                false,
            );
        }
        for (analyst, rows) in &analysts {
            self.text += &format!("<h3>{}</h3>", escape(analyst));
            for (_, charts) in charts.iter().filter(|(named, _)| named == analyst) {
                charts.iter().for_each(|chart| self.answer_chart(chart));
            }
            self.answer_table(rows);
        }
        if answers.omitted > 0 {
            let omitted = grouped(&answers.omitted.to_string());
            let more = if series.newest.is_some() { "older ones" } else { "more" };
            self.text += &format!("<p class=\"sub\">{omitted} {more} are in the file of releases.</p>");
        }
        self.text += "</section>";
    }

    fn answer_chart(&mut self, chart: &AnswerChart) {
        self.text += &format!("<p class=\"sub\">{}</p>", escape(&chart.title));
        let demo = self.heading.demo;
        let bars = |width: f64, slim: bool| {
            let mut bars = chart.draw(width, slim);
            if demo {
                bars.height += 18.0;
                let (right, y) = (bars.width, bars.height - 18.0);
                small_badge(&mut bars, right, y);
                bars.title.insert_str(0, "DEMO: ");
            }
            Some(bars)
        };
        self.both("wide", bars, [WIDTH, SLIM], false);
        if chart.earlier > 0 {
            let (earlier, are) =
                (counted(chart.earlier, "earlier answer"), if chart.earlier == 1 { "is" } else { "are" });
            self.text += &format!("<p class=\"sub\">{earlier} {are} not drawn.</p>");
        }
    }

    fn answer_table(&mut self, rows: &[&ReportedAnswer]) {
        let columns = [
            ("question", false),
            ("asked", false),
            ("at", false),
            ("of the records from", false),
            ("to", false),
            ("answer", true),
            ("at least", true),
            ("at most", true),
            ("answers taken", true),
            ("left", true),
            ("exact", true),
        ];
        let columns = columns.get(..if self.heading.demo { 11 } else { 10 }).unwrap_or_default();
        let class = |is_number: bool| if is_number { " class=\"number\"" } else { "" };
        self.text += "<div class=\"scroll\"><table><thead><tr>";
        for (column, is_number) in columns {
            self.text += &format!("<th scope=\"col\"{}>{column}</th>", class(*is_number));
        }
        self.text += "</tr></thead><tbody>";
        for row in rows {
            let [value, low, high] = match &row.digits {
                Some(digits) => digits.each_ref().map(|text| escape(text)),
                None => ["not answered".to_owned(), String::new(), String::new()],
            };
            let [from, to] = row.window.each_ref().map(|moment| self.moment(moment));
            let fields = [
                escape(&row.id),
                escape(&row.asked),
                self.moment(&row.at),
                from,
                to,
                value,
                low,
                high,
                row.took.to_string(),
                row.left.map_or(String::new(), |left| grouped(&left.to_string())),
                escape(&row.tally),
            ];
            self.text += "<tr>";
            for (field, (_, is_number)) in fields.iter().zip(columns) {
                self.text += &format!("<td{}>{field}</td>", class(*is_number));
            }
            self.text += "</tr>";
        }
        self.text += "</tbody></table></div>";
        if rows.iter().any(|row| row.digits.is_none()) {
            self.text += "<p class=\"sub\">One that is not answered took nothing: the bundle had no answer left for the analyst.</p>";
        }
    }
}
