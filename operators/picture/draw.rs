//! The elements of a picture: escaped text, finite numbers, axes, and a frame with a description.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, ToSpan};

use super::style::{DARK, FONTS, LIGHT, SHAPES, pictures};
use crate::time::{Zone, known};
use crate::words::visible;

/// A drawing without its frame.
#[derive(Clone, Debug, Default)]
pub(crate) struct Drawing {
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(crate) title: String,
    /// The description for readers who cannot see the drawing.
    pub(crate) description: String,
    pub(crate) body: String,
}

impl Drawing {
    /// The drawing as an SVG element of a page, of this class; `id` must be unique on the page.
    pub(crate) fn framed(&self, id: usize, class: &str) -> String {
        let Drawing { width, height, title, description, body } = self;
        format!(
            "<svg class=\"chart{class}\" viewBox=\"0 0 {} {}\" role=\"img\" aria-labelledby=\"t{id} d{id}\">\
             <title id=\"t{id}\">{}</title><desc id=\"d{id}\">{}</desc>{body}</svg>",
            px(*width),
            px(*height),
            escape(title),
            escape(description)
        )
    }

    /// The drawing as a picture of its own, in SVG with this mark at its beginning.
    pub(crate) fn picture(&self, mark: &str) -> String {
        let Drawing { width, height, title, description, body } = self;
        let (light, dark) = (pictures(&LIGHT), pictures(&DARK));
        let [right, bottom] = [width - 1.0, height - 1.0].map(px);
        let (width, height) = (px(*width), px(*height));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" data-generator=\"{mark}\" class=\"chart\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" role=\"img\" aria-labelledby=\"t d\">\
             <title id=\"t\">{}</title><desc id=\"d\">{}</desc>\
             <style>text{{font-family:{FONTS}}}{light}@media (prefers-color-scheme:dark){{{dark}}}{SHAPES}</style>\
             <rect class=\"card\" x=\"0.5\" y=\"0.5\" width=\"{right}\" height=\"{bottom}\" rx=\"10\"/>{body}</svg>\n",
            escape(title),
            escape(description)
        )
    }

    /// The drawing as a group of a larger one, at this place.
    pub(crate) fn placed(&self, x: f64, y: f64) -> String {
        format!("<g transform=\"translate({} {})\">{}</g>", px(x), px(y), self.body)
    }

    pub(crate) fn line(&mut self, class: &str, [x1, y1, x2, y2]: [f64; 4]) {
        let [x1, y1, x2, y2] = [x1, y1, x2, y2].map(px);
        self.body += &format!("<line class=\"{class}\" x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"/>");
    }

    pub(crate) fn rectangle(&mut self, class: &str, [x, y, width, height]: [f64; 4]) {
        let [x, y, width, height] = [x, y, width.max(0.0), height.max(0.0)].map(px);
        self.body +=
            &format!("<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"/>");
    }

    pub(crate) fn dot(&mut self, class: &str, x: f64, y: f64, radius: f64) {
        self.body +=
            &format!("<circle class=\"{class}\" cx=\"{}\" cy=\"{}\" r=\"{}\"/>", px(x), px(y), px(radius));
    }

    /// Draws a line through points, or a closed shape.
    pub(crate) fn path(&mut self, class: &str, points: impl Iterator<Item = (f64, f64)>, closed: bool) {
        let mut data = String::new();
        for (at, (x, y)) in points.enumerate() {
            data += &format!("{}{} {}", if at == 0 { "M" } else { "L" }, px(x), px(y));
        }
        if !data.is_empty() {
            let end = if closed { "Z" } else { "" };
            self.body += &format!("<path class=\"{class}\" d=\"{data}{end}\"/>");
        }
    }

    pub(crate) fn text(&mut self, class: &str, x: f64, y: f64, text: &str) {
        self.body +=
            &format!("<text class=\"{class}\" x=\"{}\" y=\"{}\">{}</text>", px(x), px(y), escape(text));
    }

    /// Draws text turned by 90 degrees, to be read upwards.
    pub(crate) fn turned(&mut self, class: &str, x: f64, y: f64, text: &str) {
        let (x, y) = (px(x), px(y));
        let text = escape(text);
        self.body +=
            &format!("<text class=\"{class}\" transform=\"translate({x} {y}) rotate(-90)\">{text}</text>");
    }
}

/// A coordinate in SVG.
pub(crate) fn px(place: f64) -> String {
    let place = if place.is_finite() { place.clamp(-1e6, 1e6) } else { 0.0 };
    let text = format!("{place:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// Text escaped for HTML and SVG, with its hidden characters seen.
pub(crate) fn escape(text: &str) -> String {
    let text = visible(text);
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            letter => escaped.push(letter),
        }
    }
    escaped
}

/// The beginning of a text that fits into `most` columns; letters from U+1100 on count as two.
pub(crate) fn short(text: &str, most: usize) -> String {
    let takes = |letter: char| if letter < '\u{1100}' { 1 } else { 2 };
    if text.chars().map(takes).sum::<usize>() <= most {
        return text.to_owned();
    }
    let mut taken = 0;
    let fits = |letter: &char| {
        taken += takes(*letter);
        taken < most
    };
    let kept: String = text.chars().take_while(fits).collect();
    kept + "…"
}

/// The name of a key on a page, with its hidden characters seen: it is as wide as it is drawn.
pub(crate) fn named(key: Option<&str>) -> String {
    match key {
        None => "all".to_owned(),
        Some("") => "(empty)".to_owned(),
        Some(key) => visible(key).into_owned(),
    }
}

/// A text with a capital at its beginning.
pub(crate) fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// A decimal number with its digits in groups of three, such as `1,234,567.5`; other text stays as it is.
pub(crate) fn grouped(number: &str) -> String {
    let (sign, digits) = number.strip_prefix('-').map_or(("", number), |digits| ("\u{2212}", digits));
    let (whole, rest) = digits.split_at(digits.find('.').unwrap_or(digits.len()));
    if whole.is_empty() || !whole.bytes().all(|byte| byte.is_ascii_digit()) {
        return number.to_owned();
    }
    let mut text = sign.to_owned();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text + rest
}

/// A number rounded for people: to about three digits, or to an integer from 100 on.
pub(crate) fn said(value: f64) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    let size = value.abs();
    if size >= 1e15 || (size > 0.0 && size < 1e-4) {
        return format!("{value:.2e}");
    }
    let digits = match size {
        100.0.. => 0,
        10.0.. => 1,
        1.0.. => 2,
        _ => 3,
    };
    let text = format!("{value:.digits$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    grouped(if text == "-0" { "0" } else { text })
}

/// A percentage, such as `12.3%`.
pub(crate) fn percent(part: f64) -> String {
    if part > 0.0 && part < 0.001 {
        return "less than 0.1%".to_owned();
    }
    format!("{}%", said((part * 1000.0).round() / 10.0))
}

/// A number with its noun: `1 window`, `2 windows`.
pub(crate) fn counted(count: usize, word: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {word}{plural}", grouped(&count.to_string()))
}

// Scales and axes: the places of numbers and times, and their labels.

/// A linear scale from numbers to places.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Scale {
    /// Makes the scale that maps `low` to `from`, and `high` to `to`.
    pub(crate) fn new((low, high): (f64, f64), (from, to): (f64, f64)) -> Scale {
        Scale { low, high, from, to }
    }

    pub(crate) fn at(&self, value: f64) -> f64 {
        let length = self.high - self.low;
        if !(length > 0.0 && length.is_finite() && value.is_finite()) {
            return f64::midpoint(self.from, self.to);
        }
        self.from + (value.clamp(self.low, self.high) - self.low) / length * (self.to - self.from)
    }
}

/// The range of an axis, and the ticks within it.
#[derive(Clone, Debug)]
pub(crate) struct AxisRange {
    pub(crate) ends: (f64, f64),
    pub(crate) ticks: Vec<(f64, String)>,
}

/// The room of an axis beyond its values, as a part of its length; none beyond zero.
const ROOM: f64 = 0.03;

/// A range that contains all values, and zero if the least of them is below a quarter of the largest or
/// `zero` is set, with about `most` ticks. It ends near the values, so that they fill the picture.
pub(crate) fn numbers(values: impl Iterator<Item = f64>, most: usize, zero: bool) -> AxisRange {
    let wider = |(low, high): (f64, f64), value: f64| (low.min(value), high.max(value));
    let (low, high) =
        values.filter(|value| value.is_finite()).fold((f64::INFINITY, f64::NEG_INFINITY), wider);
    let (mut low, mut high) = if low <= high { (low, high) } else { (0.0, 1.0) };
    if zero || (low > 0.0 && low < 0.25 * high) {
        low = low.min(0.0);
    }
    if zero || (high < 0.0 && high > 0.25 * low) {
        high = high.max(0.0);
    }
    let size = low.abs().max(high.abs());
    if high - low <= size * 1e-9 || size == 0.0 {
        let room = if size == 0.0 { 1.0 } else { size * 0.05 };
        (low, high) = if low >= 0.0 && size <= 1.0 { (0.0, 1.0) } else { (low - room, high + room) };
    }
    let step = nice((high - low) / most.max(1) as f64);
    let room = (high - low) * ROOM;
    let beyond = |end: f64, room: f64| if end == 0.0 || !room.is_finite() { end } else { end + room };
    let ends = (beyond(low, -room), beyond(high, room));
    let (first, last) = ((ends.0 / step).ceil(), (ends.1 / step).floor());
    let largest = ends.0.abs().max(ends.1.abs());
    // Rounding could yield more ticks: they are limited to about twice `most`.
    let count = (last - first).clamp(0.0, 2.0 * most as f64 + 2.0) as i32;
    let tick = |index: i32| {
        let value = (first + f64::from(index)) * step;
        (value, label(value, step, largest))
    };
    AxisRange { ends, ticks: (0..=count).map(tick).collect() }
}

/// The least of 1, 2, 5, 10, 20 .. that is not below the step.
fn nice(step: f64) -> f64 {
    let power = 10_f64.powf(step.log10().floor());
    let times = [1.0, 2.0, 5.0, 10.0].into_iter().find(|times| times * power >= step * 0.999);
    let nice = times.unwrap_or(10.0) * power;
    if nice.is_finite() && nice > 0.0 { nice } else { 1.0 }
}

/// A label such as `0`, `250`, `1.5k`, `20M`: all labels of an axis have the same unit.
fn label(value: f64, step: f64, largest: f64) -> String {
    if value.abs() < step / 2.0 {
        return "0".to_owned();
    }
    if !(1e-3..1e15).contains(&largest) {
        let digits = (largest / step).log10().ceil().clamp(0.0, 15.0) as usize;
        return format!("{value:.digits$e}").replace('-', "\u{2212}");
    }
    let units = [(1e12, "T"), (1e9, "B"), (1e6, "M"), (1e4, "k")];
    let (unit, name) = units.into_iter().find(|(unit, _)| largest >= *unit).unwrap_or((1.0, ""));
    let unit = if name == "k" { 1e3 } else { unit };
    let digits = (-(step / unit).log10().floor()).clamp(0.0, 6.0) as usize;
    grouped(&format!("{:.digits$}", value / unit)) + name
}

const SECOND: i64 = 1_000_000;
const HOUR: i64 = 3600 * SECOND;
const DAY: i64 = 24 * HOUR;

/// Steps of fixed length, in microseconds.
const STEPS: [i64; 20] = [
    1_000,
    10_000,
    100_000,
    SECOND,
    5 * SECOND,
    15 * SECOND,
    30 * SECOND,
    60 * SECOND,
    5 * 60 * SECOND,
    15 * 60 * SECOND,
    30 * 60 * SECOND,
    HOUR,
    2 * HOUR,
    3 * HOUR,
    6 * HOUR,
    12 * HOUR,
    DAY,
    2 * DAY,
    7 * DAY,
    14 * DAY,
];

/// Steps in months.
const MONTHS: [i16; 13] = [1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 2400, 6000];

/// The ticks of a time span, at most `most`, at round times of the UTC calendar.
pub(crate) fn times((start, end): (i64, i64), most: usize) -> Vec<(i64, String)> {
    let length = i128::from(end) - i128::from(start);
    let fits = |step: i128| length / step < most.max(1) as i128;
    if let Some(step) = STEPS.into_iter().find(|step| fits(i128::from(*step))) {
        let first = i128::from(start).div_euclid(step.into()) * i128::from(step);
        let ticks =
            (0..=most as i128 + 1).filter_map(|index| i64::try_from(first + index * i128::from(step)).ok());
        let ticks = ticks.filter(|tick| (start..=end).contains(tick));
        return ticks.filter_map(|tick| Some((tick, moment(civil(tick)?, step)))).collect();
    }
    let step = MONTHS.into_iter().find(|step| fits(i128::from(*step) * i128::from(30 * DAY)));
    by_months((start, end), step.unwrap_or(12_000), most)
}

fn by_months((start, end): (i64, i64), step: i16, most: usize) -> Vec<(i64, String)> {
    let Some(from) = civil(start) else { return Vec::new() };
    let months =
        (i32::from(from.year()) * 12 + i32::from(from.month()) - 1).div_euclid(step.into()) * i32::from(step);
    let named = (0..=most as i32 + 1).filter_map(|index| {
        let month = months + index * i32::from(step);
        let (year, month) = (i16::try_from(month.div_euclid(12)).ok()?, month.rem_euclid(12) as i8 + 1);
        let date = DateTime::new(year, month, 1, 0, 0, 0, 0).ok()?;
        let tick = date.to_zoned(TimeZone::UTC).ok()?.timestamp().as_microsecond();
        (start..=end).contains(&tick).then_some((tick, date))
    });
    let named: Vec<(i64, DateTime)> = named.collect();
    let years = named.iter().any(|(_, date)| date.month() == 1);
    let name = |(at, (tick, date)): (usize, &(i64, DateTime))| {
        let text = match (date.month(), at) {
            (1, _) => date.strftime("%Y"),
            (_, 0) if !years => date.strftime("%b %Y"),
            _ => date.strftime("%b"),
        };
        (*tick, text.to_string())
    };
    named.iter().enumerate().map(name).collect()
}

fn moment(moment: DateTime, step: i64) -> String {
    let midnight = moment.time() == jiff::civil::Time::midnight();
    let form = match step {
        DAY.. => "%b %-d",
        _ if midnight => "%b %-d",
        _ if step >= 60 * SECOND => "%H:%M",
        _ if step >= SECOND => "%H:%M:%S",
        _ => "%M:%S.%3f",
    };
    moment.strftime(form).to_string()
}

fn civil(time: i64) -> Option<DateTime> {
    Some(TimeZone::UTC.to_datetime(Timestamp::from_microsecond(time).ok()?))
}

/// The dates of a zone, in words.
#[derive(Clone, Debug)]
pub(crate) struct Dates {
    rules: TimeZone,
    /// The name of the zone, if it is another one than UTC.
    zone: Option<String>,
}

impl Dates {
    /// The dates of UTC.
    pub(crate) fn utc() -> Dates {
        Dates { rules: TimeZone::UTC, zone: None }
    }

    /// The dates of a zone; of UTC without one.
    pub(crate) fn of(zone: Option<&Zone>) -> Dates {
        let local = zone.filter(|zone| **zone != Zone::utc());
        let known = local.and_then(|zone| known(zone.name()).ok());
        known.map_or_else(Dates::utc, |(zone, rules)| Dates { rules, zone: Some(zone.name().to_owned()) })
    }

    /// The name of the zone, if it is another one than UTC.
    pub(crate) fn zone(&self) -> Option<&str> {
        self.zone.as_deref()
    }

    fn civil(&self, time: i64) -> Option<DateTime> {
        Some(self.rules.to_datetime(Timestamp::from_microsecond(time).ok()?))
    }

    /// The offset of local time from UTC where the zone is another one: a local time may occur twice.
    fn offset(&self, time: i64) -> String {
        let moment = Timestamp::from_microsecond(time).ok().filter(|_| self.zone.is_some());
        let zoned = moment.map(|moment| moment.to_zoned(self.rules.clone()));
        zoned.map_or(String::new(), |zoned| zoned.strftime(" %:z").to_string())
    }

    /// A time in words: the date alone at midnight.
    pub(crate) fn dated(&self, time: i64) -> String {
        let form = match self.civil(time) {
            None => return "a time without a name".to_owned(),
            Some(moment) if moment.time() == jiff::civil::Time::midnight() => {
                return moment.strftime("%Y-%m-%d").to_string();
            }
            Some(moment) if moment.subsec_nanosecond() == 0 && moment.second() == 0 => {
                moment.strftime("%Y-%m-%d %H:%M").to_string()
            }
            Some(moment) => moment.strftime("%Y-%m-%d %H:%M:%S%.f").to_string(),
        };
        form + &self.offset(time)
    }

    /// A time span in words: a whole day or month by its own name.
    pub(crate) fn spanned(&self, start: Option<i64>, end: Option<i64>) -> String {
        let (Some(start), Some(end)) = (start, end) else { return "a window without a name".to_owned() };
        if let (Some(from), Some(to)) = (self.civil(start), self.civil(end))
            && from.time() == jiff::civil::Time::midnight()
        {
            let after = |span: Span| from.checked_add(span).ok() == Some(to);
            if after(1.day()) {
                return self.dated(start);
            }
            if after(1.month()) && from.day() == 1 {
                return from.strftime("%B %Y").to_string();
            }
        }
        format!("{} to {}", self.dated(start), self.dated(end))
    }
}
