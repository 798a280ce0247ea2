//! The page, in its order: the heading, the promise, each release, the budget, the noise. It has no script
//! and loads nothing, and its content security policy forbids both.

use std::collections::BTreeSet;

use super::charts::{legend, promised, small_badge};
use super::model::{Model, NewestCovariances, NoiseNotes, ReleaseSeries, Track, TrackLevel};
use super::timeline::{Timeline, panels};
use super::{Heading, budget, charts, mark};
use crate::picture::{Dates, Drawing, capitalized, counted, escape, grouped, named, page_style, px, said};
use crate::time::{at, in_utc};

/// The width at which pictures are drawn for wide windows; browsers scale them.
pub(super) const WIDTH: f64 = 1144.0;

/// The width of their other form, for windows in which the letters of the wide one would be too small.
pub(super) const SLIM: f64 = 364.0;

/// The width of a picture with words beside it.
const BESIDE: f64 = 540.0;

/// A page as it is being written.
pub(super) struct HtmlPage<'a> {
    pub(super) heading: &'a Heading,
    pub(super) dates: Dates,
    pub(super) text: String,
    /// The number of pictures so far.
    pictures: usize,
}

/// A part of a page, which may be replaced by itself: its name, and its text.
pub(in crate::watch) type PagePart = (String, String);

/// The number of pictures of a part, at most, so that each has its own id in a page.
const PICTURES: usize = 1_000;

/// The page of all releases.
pub(super) fn page(heading: &Heading, model: &Model) -> String {
    framed(heading, &parts(heading, model))
}

/// The page of these parts.
pub(super) fn framed(heading: &Heading, parts: &[PagePart]) -> String {
    let mut page = HtmlPage { heading, dates: heading.dates(), text: String::new(), pictures: 0 };
    page.head();
    parts.iter().for_each(|(_, text)| page.text += text);
    page.text + "</main></body></html>\n"
}

/// The parts of the page, in their order.
pub(super) fn parts(heading: &Heading, model: &Model) -> Vec<PagePart> {
    let (mut parts, dates) = (Vec::new(), heading.dates());
    let mut add = |name: String, write: &dyn Fn(&mut HtmlPage<'_>)| {
        let (text, pictures) = (String::new(), parts.len() * PICTURES);
        let mut page = HtmlPage { heading, dates: dates.clone(), text, pictures };
        write(&mut page);
        if !page.text.is_empty() {
            let text = format!("<div data-part=\"{}\">{}</div>", escape(&name), page.text);
            parts.push((name, text));
        }
    };
    add("heading".to_owned(), &|page| page.header(model));
    if model.releases.is_empty() {
        add("nothing".to_owned(), &|page| {
            page.text += "<section><h2>Nothing was released</h2><p>No window was complete.</p></section>";
        });
    }
    for series in &model.releases {
        add(format!("release {}", series.name), &|page| page.release(series));
    }
    add("budget".to_owned(), &|page| page.budget(model));
    add("noise".to_owned(), &|page| page.noise(model));
    add("made".to_owned(), &|page| page.footer());
    parts
}

impl HtmlPage<'_> {
    fn head(&mut self) {
        let Heading { job, demo, .. } = self.heading;
        let (job, style, mark) = (escape(job), page_style(), mark(self.heading));
        let title = if *demo { format!("DEMO: {job}") } else { job.clone() };
        self.text += &format!(
            "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\
             <meta name=\"generator\" content=\"{mark}\">\
             <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
             <meta name=\"color-scheme\" content=\"light dark\"><title>{title}</title><style>{style}</style></head>\
             <body><main>"
        );
    }

    fn header(&mut self, model: &Model) {
        let Heading { job, promise, account, budget, made, demo, .. } = self.heading;
        // An amendment may have raised the cap since the run began.
        let newest = model.budget.newest.as_ref().filter(|(name, ..)| name.as_str() == account);
        let budget = newest.map_or_else(|| budget.clone(), |(_, _, cap)| cap.with_epsilon());
        let kicker = "<p class=\"kicker\">What was released, and what it cost</p>";
        self.text += &format!("<header>{kicker}<h1>{}</h1>", escape(job));
        if *demo {
            self.text += "<div class=\"demo\" role=\"note\"><strong>DEMO</strong>Nothing on this page is private. It \
                shows the truth beside what would be published, and its budget is thrown away. Do not publish it.</div>";
        }
        self.text += &format!("<p class=\"promise\">{}</p><dl>", escape(promise));
        for (name, value) in [("Budget", &budget), ("Account", account), ("Made", made)] {
            self.text += &format!("<div><dt>{name}</dt><dd>{}</dd></div>", escape(value));
        }
        if let Some(zone) = self.dates.zone() {
            let zone = escape(zone);
            self.text += &format!("<div><dt>Dates</dt><dd>of {zone}; axes and lines are in UTC</dd></div>");
        }
        self.text += "</dl></header>";
    }

    fn footer(&mut self) {
        self.text += &format!(
            "<footer><p>Made {} by discreet {}. {}</p></footer>",
            escape(&self.heading.made),
            env!("CARGO_PKG_VERSION"),
            if self.heading.demo {
                "A demo: not for publication."
            } else {
                "Everything on this page had been released before."
            }
        );
    }

    fn release(&mut self, series: &ReleaseSeries) {
        if series.answers.count() > 0 {
            return self.answers(series);
        }
        let windows = counted(series.windows.len(), "window");
        let starts = series.windows.iter().filter_map(|window| window.start).min();
        let ends = series.windows.iter().filter_map(|window| window.end).max();
        let when = match (starts, ends) {
            (Some(start), Some(end)) if series.windows.len() > 1 => {
                let zone = self.dates.zone().unwrap_or("UTC");
                format!("{} to {}, {}", self.time(start), self.time(end), escape(zone))
            }
            (start, end) => self.span(start, end),
        };
        let keys: String = [(false, "key"), (true, "total")]
            .map(|(rollup, noun)| {
                let of_level = |track: &&Track| track.rollup == rollup;
                let tracks = series.tracks.iter().filter(of_level);
                let keys: BTreeSet<&str> = tracks.filter_map(|track| track.key.as_deref()).collect();
                if keys.is_empty() { String::new() } else { format!(", {}", counted(keys.len(), noun)) }
            })
            .concat();
        let total = match series.total.as_deref() {
            None => String::new(),
            Some("so far") => "; each number is the total so far".to_owned(),
            Some(total) => format!("; each number is the total of the {total} windows"),
        };
        self.text += &format!(
            "<section><h2>{}</h2><p class=\"sub\">{windows}{keys}: {}{}</p>",
            escape(&series.name),
            when,
            escape(&total)
        );
        if series.alert.is_some() {
            self.alert(series);
        } else if series.top.is_some() {
            self.top(series);
        } else if series.tracks.is_empty() {
            self.text +=
                &format!("<p>There is no number to draw. {}</p>", escape(&self.without_number(series)));
        } else {
            self.chart(series);
        }
        let gone = series.windows.len()
            - series.windows.iter().filter(|window| window.outcome.word() == "released").count();
        if gone > 0 {
            let have = if gone == 1 { "has" } else { "have" };
            self.text +=
                &format!("<p>{} {have} no answer; the reasons are below.</p>", counted(gone, "window"));
        }
        if !series.alert.is_some() {
            self.errors(series);
            self.covariances(series);
            self.table(series);
        }
        self.text += "</section>";
    }

    /// Writes the covariances of the newest window that has some.
    fn covariances(&mut self, series: &ReleaseSeries) {
        /// The most rows: those of a few keys with a few fields.
        const ROWS: usize = 60;
        let NewestCovariances { window: [start, end], rows } = &series.covariances;
        if rows.is_empty() {
            return;
        }
        let keyed = rows.iter().any(|row| row.key.is_some());
        let (window, zone) = (self.span(*start, *end), escape(self.dates.zone().unwrap_or("UTC")));
        self.text += &format!(
            "<h3>Variances and covariances of the values, {window}, {zone}</h3><div class=\"scroll\"><table><thead><tr>"
        );
        let key = if keyed { "<th scope=\"col\">key</th>" } else { "" };
        self.text += &format!("{key}<th scope=\"col\">of</th><th scope=\"col\">with</th>");
        for column in ["covariance", "deviation of its noise", "correlation"] {
            self.text += &format!("<th scope=\"col\" class=\"number\">{column}</th>");
        }
        self.text += "</tr></thead><tbody>";
        for row in rows.iter().take(ROWS) {
            let with = if row.with == row.of { "itself" } else { &row.with };
            let correlation = series.covariances.correlation(row).map_or(String::new(), said);
            let key = if keyed {
                format!("<td>{}</td>", escape(&named(row.key.as_deref())))
            } else {
                String::new()
            };
            self.text += &format!("<tr>{key}<td>{}</td><td>{}</td>", escape(&row.of), escape(with));
            for number in [said(row.value), said(row.scale), correlation] {
                self.text += &format!("<td class=\"number\">{number}</td>");
            }
            self.text += "</tr>";
        }
        self.text += "</tbody></table></div>";
        if rows.len() > ROWS {
            let more = grouped(&(rows.len() - ROWS).to_string());
            self.text += &format!("<p class=\"sub\">{more} more are in the file of releases.</p>");
        }
        self.text += "<p class=\"sub\">A field with itself is its variance. A correlation is made of these numbers, and left out where \
            the noise leaves none. They are of values that are brought into the found ranges, and cost nothing beside the means.</p>";
    }

    fn chart(&mut self, series: &ReleaseSeries) {
        let over_time = series.windows.len() > 1;
        let demo = self.heading.demo;
        self.both("legend", |width, _| Some(legend(series, demo, over_time, width)), [620.0, SLIM], false);
        if let Some(words) = promised(series) {
            let silent = charts::silent(series).map_or(String::new(), |silent| format!(" {silent}"));
            self.text += &format!("<p>{}{}</p>", escape(&words), escape(&silent));
        }
        let mut notes = Vec::new();
        if over_time && series.tracks.len() > 1 {
            notes.push("Each panel has a scale of its own.".to_owned());
        }
        for level in series.levels(self.heading.level_names(&series.name)) {
            if let Some(name) = &level.name {
                self.text += &format!("<h3>{}</h3>", escape(&capitalized(name)));
            }
            let hidden = if over_time { self.over_time(series, &level) } else { self.bars(series, &level) };
            if hidden > 0 {
                let are = if hidden == 1 { "is" } else { "are" };
                let more = counted(hidden, &format!("more {}", level.noun()));
                let with = if level.by_interval() { "wider intervals, or fewer," } else { "smaller numbers" };
                notes.push(format!("{more} with {with} {are} not shown."));
            }
        }
        let thinned = Timeline::new(series).thinned();
        if thinned > 1 {
            notes.push(format!(
                "Each point is the mean of {thinned} windows, and so are its interval's ends."
            ));
        }
        if series.insufficient > 0 {
            let are = if series.insufficient == 1 { "is" } else { "are" };
            let values = counted(series.insufficient as usize, "value");
            notes.push(format!("{values} {are} of too few people to say more."));
        }
        if !notes.is_empty() {
            self.text += &format!("<p class=\"sub\">{}</p>", notes.join(" "));
        }
        let ranges = self.heading.releases.get(&series.name).map_or(&[][..], |notes| &notes.ranges);
        for words in charts::next_to_nothing(series, ranges) {
            self.text += &format!("<p>{}</p>", escape(&words));
        }
    }

    fn over_time(&mut self, series: &ReleaseSeries, level: &TrackLevel<'_>) -> usize {
        let timeline = Timeline::new(series);
        let (mut wide, columns, hidden) = panels(&timeline, level, WIDTH, 3);
        let class = ["one", "two", "three"].get(columns - 1).unwrap_or(&"three");
        // Three beside each other are as wide as a slim one already.
        let slim = if columns < 3 { Some(panels(&timeline, level, SLIM, 1).0) } else { None };
        let form = if slim.is_some() { " full" } else { "" };
        self.text += &format!("<div class=\"panels {class}{form}\">");
        for panel in &mut wide {
            self.mark(panel);
            self.draw(panel);
        }
        self.text += "</div>";
        if let Some(mut slim) = slim {
            self.text += "<div class=\"panels one slim\">";
            for panel in &mut slim {
                self.mark(panel);
                self.draw(panel);
            }
            self.text += "</div>";
        }
        hidden
    }

    fn bars(&mut self, series: &ReleaseSeries, level: &TrackLevel<'_>) -> usize {
        let demo = self.heading.demo;
        let bars = |width: f64, slim: bool| {
            let mut bars = charts::window(level, &series.name, width, slim).0;
            if demo {
                // Below the bars, whose numbers may reach to the edge: the axis has no label there.
                bars.height += 18.0;
                let (right, y) = (bars.width, bars.height - 18.0);
                small_badge(&mut bars, right, y);
                bars.title.insert_str(0, "DEMO: ");
            }
            Some(bars)
        };
        self.both("wide", bars, [WIDTH, SLIM], false);
        charts::window(level, &series.name, WIDTH, false).1
    }

    fn errors(&mut self, series: &ReleaseSeries) {
        let errors = &series.errors;
        let notes = self.heading.releases.get(&series.name).cloned().unwrap_or_default();
        let shows = self.heading.demo && errors.bound.value().is_some() && errors.noise.value().is_some();
        if shows {
            self.text += "<div class=\"after\"><div>\
                <h3>What the bound left out beside what the noise added, on average</h3>";
            self.both("beside", |width, _| charts::errors(errors, width), [BESIDE, SLIM], true);
            self.text += "</div><div>";
        }
        let words = if self.heading.demo {
            let confidence = series.laws.first().map(|laws| laws.confidence.as_str());
            vec![
                errors.advice(&notes),
                errors.fitted(),
                errors.share(confidence),
                errors.off.share(confidence),
            ]
        } else {
            vec![errors.reach()]
        };
        let found = (shows && notes.finds_ranges).then(|| {
            "The exact number has each value within the stated range; the range that was found is closer, and what it \
             clips is in no interval: it counts as noise here."
                .to_owned()
        });
        for words in words.into_iter().flatten().chain(found) {
            self.text += &format!("<p>{}</p>", escape(&words));
        }
        if shows {
            self.text += "</div></div>";
        }
    }

    /// The reason for which a release has no number, in a sentence.
    fn without_number(&self, series: &ReleaseSeries) -> String {
        let released = series.windows.iter().any(|window| window.outcome.word() == "released");
        if !released {
            return "No window has an answer, for the reasons below.".to_owned();
        }
        let planned = self.heading.releases.get(&series.name).and_then(|notes| notes.empty.clone());
        planned.unwrap_or_else(|| "No window had enough for one.".to_owned())
    }

    /// Draws a picture in a form for wide windows and one for narrow ones; a browser shows one of them.
    pub(super) fn both(
        &mut self,
        class: &str,
        drawing: impl Fn(f64, bool) -> Option<Drawing>,
        widths: [f64; 2],
        mark: bool,
    ) {
        for (width, slim) in widths.into_iter().zip([false, true]) {
            let Some(mut drawing) = drawing(width, slim) else { continue };
            if mark {
                self.mark(&mut drawing);
            }
            // The legend is not wider than its words.
            let most = if drawing.width < width {
                format!(" style=\"max-width:{}px\"", px(drawing.width))
            } else {
                String::new()
            };
            self.text += &format!("<div class=\"{class} {}\"{most}>", if slim { "slim" } else { "full" });
            self.draw(&drawing);
            self.text += "</div>";
        }
    }

    fn table(&mut self, series: &ReleaseSeries) {
        if series.rows.is_empty() {
            return;
        }
        let ranked = |named: &str| match named {
            "q" => series.laws.iter().any(|laws| laws.q.is_some()),
            "of" => series.laws.iter().any(|laws| laws.of.is_some()),
            "fitted" => series.is_fitted(),
            "off" => series.laws.iter().any(|laws| laws.ranked.is_some()),
            _ => true,
        };
        let columns =
            ["from", "to", "key", "of", "q", "value", "low", "high", "fitted", "tally", "truth", "off"];
        let said = if self.heading.demo { 12 } else { 9 };
        let columns: Vec<(usize, &str)> =
            columns.into_iter().enumerate().take(said).filter(|(_, named)| ranked(named)).collect();
        let class = |at: usize| if at > 3 { " class=\"number\"" } else { "" };
        self.text +=
            "<details><summary>The numbers, as a table</summary><div class=\"scroll\"><table><thead><tr>";
        for &(at, column) in &columns {
            self.text += &format!("<th scope=\"col\"{}>{column}</th>", class(at));
        }
        self.text += "</tr></thead><tbody>";
        for row in &series.rows {
            self.text += "<tr>";
            for &(at, _) in &columns {
                let field = row.get(at).map_or("", String::as_str);
                let field = if at < 2 { self.moment(field) } else { escape(field) };
                self.text += &format!("<td{}>{field}</td>", class(at));
            }
            self.text += "</tr>";
        }
        self.text += "</tbody></table></div>";
        if series.omitted > 0 {
            let omitted = grouped(&series.omitted.to_string());
            let more = if series.newest.is_some() { "older ones" } else { "more" };
            self.text += &format!("<p class=\"sub\">{omitted} {more} are in the file of releases.</p>");
        }
        self.text += "</details>";
    }

    fn budget(&mut self, model: &Model) {
        let gone = budget::gone(model, &self.dates);
        if gone.is_empty() && model.budget.spent.is_empty() && model.budget.newest.is_none() {
            return;
        }
        self.text += "<section><h2>The budget</h2>";
        if let Some((account, spent, cap)) = &model.budget.newest {
            self.text += &format!(
                "<p class=\"sub\">{}: {} of {} is spent, as the newest window counts it</p>",
                escape(account.as_str()),
                escape(&spent.to_string()),
                escape(&cap.to_string())
            );
        }
        self.both("wide", |width, _| budget::chart(&model.budget, (width, 220.0)), [WIDTH, SLIM], true);
        if let Some(once) = budget::once(&model.budget) {
            self.text += &format!("<p>{}</p>", escape(&once));
        }
        if let Some(outlook) = budget::outlook(&model.budget, &self.dates) {
            self.text += &format!("<p>{}</p>", escape(&outlook));
        }
        /// The most sentences about windows without an answer; further ones are alike.
        const REASONS: usize = 20;
        if !gone.is_empty() {
            self.text += "<h3>Windows without an answer</h3><ul>";
            for words in gone.iter().take(REASONS) {
                self.text += &format!("<li>{}</li>", escape(words));
            }
            self.text += "</ul>";
        }
        if gone.len() > REASONS {
            self.text +=
                &format!("<p class=\"sub\">And {} more.</p>", grouped(&(gone.len() - REASONS).to_string()));
        }
        self.text += "</section>";
    }

    fn noise(&mut self, model: &Model) {
        if model.releases.iter().all(|series| series.laws.is_empty()) {
            return;
        }
        self.text += "<section><h2>The noise</h2><div class=\"scroll\"><table><thead><tr>";
        for column in ["release", "number", "noise", "scale", "confidence", "promise and cost of a window"] {
            self.text += &format!("<th scope=\"col\">{column}</th>");
        }
        self.text += "</tr></thead><tbody>";
        for series in &model.releases {
            for laws in &series.laws {
                for [number, kind, scale] in &laws.noises {
                    let scale = scale.parse::<f64>().map_or_else(|_| scale.clone(), said);
                    let fields = [&series.name, number, kind, &scale, &laws.confidence, &laws.promise];
                    let cells = fields.map(|field| format!("<td>{}</td>", escape(field)));
                    self.text += &format!("<tr>{}</tr>", cells.concat());
                }
            }
        }
        let laws = || model.releases.iter().flat_map(|series| &series.laws);
        self.text += "</tbody></table></div><div class=\"notes\">";
        if laws().any(|laws| laws.ranked.is_some()) {
            self.text += "<p>Where a place in the order is promised, an interval says where the answers end that are \
                possible, and no more. The scale of an exponential draw is in what is ranked: an answer that is so much \
                further off is drawn less often by the factor e.</p>";
        }
        if model.releases.iter().any(|series| series.total.is_some()) {
            self.text += "<p>The totals of a release over several windows have noise that hangs together, and are paid for once: \
                its cost is that of all of its windows, and its scale is the largest that a total has.</p>";
        }
        let is_certain = |laws: &NoiseNotes| {
            laws.confidence == "1" && laws.noises.iter().any(|[_, kind, _]| kind == "bounded")
        };
        if laws().any(is_certain) {
            self.text += "<p>At confidence 1 an interval holds the exact number after the bound with certainty: its noise is bounded, \
                by the whole bundle together.</p>";
        }
        if laws().all(|laws| laws.ranked.is_some() || is_certain(laws)) {
            self.text += "</div></section>";
            return;
        }
        self.text += "<p>An interval says how far the noise reaches: the exact number after the \
            bound lies in it at least as often as its confidence says. It says nothing of what the bound left out, and \
            each number has its own: of many intervals, some miss. The scale is about the standard deviation of \
            Gaussian noise, and about the mean distance from zero of Laplace noise.</p></div></section>";
    }

    /// A moment of a line, for people and for programs: in the zone of the windows, with UTC beside it as an attribute.
    pub(super) fn moment(&self, moment: &str) -> String {
        match at(moment).ok().filter(|_| self.dates.zone().is_some()) {
            Some(time) => self.time(time),
            None => escape(moment),
        }
    }

    /// A time in words, in the zone of the windows, with UTC beside it as an attribute.
    fn time(&self, time: i64) -> String {
        let words = escape(&self.dates.dated(time));
        match self.dates.zone() {
            Some(_) => format!("<time datetime=\"{}\">{words}</time>", escape(&in_utc(time))),
            None => words,
        }
    }

    /// A time span in words, in the zone of the windows, with its start in UTC beside it as an attribute.
    fn span(&self, start: Option<i64>, end: Option<i64>) -> String {
        let words = escape(&self.dates.spanned(start, end));
        match start.filter(|_| self.dates.zone().is_some()) {
            Some(start) => format!("<time datetime=\"{}\">{words}</time>", escape(&in_utc(start))),
            None => words,
        }
    }

    fn draw(&mut self, drawing: &Drawing) {
        self.pictures += 1;
        self.text += &drawing.framed(self.pictures, "");
    }

    /// Marks a picture of a demonstration as one.
    fn mark(&self, drawing: &mut Drawing) {
        if self.heading.demo {
            let right = drawing.width;
            small_badge(drawing, right, 2.0);
            drawing.title.insert_str(0, "DEMO: ");
        }
    }
}
