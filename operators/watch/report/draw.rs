//! The pieces of a picture: text that cannot end its element, numbers that are numbers, and a frame with its description.

/// A drawing without its frame.
#[derive(Clone, Debug, Default)]
pub(super) struct Drawing {
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) title: String,
    /// What it shows, for those who do not see it.
    pub(super) description: String,
    pub(super) body: String,
}

impl Drawing {
    /// As an element of a page; `id` is a number that no other drawing there has.
    pub(super) fn framed(&self, id: usize) -> String {
        let Drawing { width, height, title, description, body } = self;
        format!(
            "<svg class=\"chart\" viewBox=\"0 0 {} {}\" role=\"img\" aria-labelledby=\"t{id} d{id}\">\
             <title id=\"t{id}\">{}</title><desc id=\"d{id}\">{}</desc>{body}</svg>",
            px(*width),
            px(*height),
            escape(title),
            escape(description)
        )
    }

    /// As a part of a larger one.
    pub(super) fn placed(&self, x: f64, y: f64) -> String {
        format!("<g transform=\"translate({} {})\">{}</g>", px(x), px(y), self.body)
    }

    pub(super) fn line(&mut self, class: &str, [x1, y1, x2, y2]: [f64; 4]) {
        let [x1, y1, x2, y2] = [x1, y1, x2, y2].map(px);
        self.body += &format!("<line class=\"{class}\" x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"/>");
    }

    pub(super) fn rectangle(&mut self, class: &str, [x, y, width, height]: [f64; 4]) {
        let [x, y, width, height] = [x, y, width.max(0.0), height.max(0.0)].map(px);
        self.body +=
            &format!("<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"/>");
    }

    pub(super) fn dot(&mut self, class: &str, x: f64, y: f64, radius: f64) {
        self.body +=
            &format!("<circle class=\"{class}\" cx=\"{}\" cy=\"{}\" r=\"{}\"/>", px(x), px(y), px(radius));
    }

    /// A line through points, or a closed shape.
    pub(super) fn path(&mut self, class: &str, points: impl Iterator<Item = (f64, f64)>, closed: bool) {
        let mut data = String::new();
        for (at, (x, y)) in points.enumerate() {
            data += &format!("{}{} {}", if at == 0 { "M" } else { "L" }, px(x), px(y));
        }
        if !data.is_empty() {
            let end = if closed { "Z" } else { "" };
            self.body += &format!("<path class=\"{class}\" d=\"{data}{end}\"/>");
        }
    }

    pub(super) fn text(&mut self, class: &str, x: f64, y: f64, text: &str) {
        self.body +=
            &format!("<text class=\"{class}\" x=\"{}\" y=\"{}\">{}</text>", px(x), px(y), escape(text));
    }

    /// Text that is read from below.
    pub(super) fn turned(&mut self, class: &str, x: f64, y: f64, text: &str) {
        let (x, y) = (px(x), px(y));
        let text = escape(text);
        self.body +=
            &format!("<text class=\"{class}\" transform=\"translate({x} {y}) rotate(-90)\">{text}</text>");
    }
}

/// A place on a picture.
pub(super) fn px(place: f64) -> String {
    let place = if place.is_finite() { place.clamp(-1e6, 1e6) } else { 0.0 };
    let text = format!("{place:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// Text as a page holds it. What no page may hold, and what turns the direction of the text around it, is shown as
/// U+FFFD.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\u{fffe}'
            | '\u{ffff}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}' => {
                escaped.push('\u{fffd}');
            }
            letter if letter.is_control() => escaped.push('\u{fffd}'),
            letter => escaped.push(letter),
        }
    }
    escaped
}

/// As much of a text as fits in so many places; letters beyond the Latin ones may take two.
pub(super) fn short(text: &str, most: usize) -> String {
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

/// A key as it is shown.
pub(super) fn named(key: Option<&str>) -> String {
    match key {
        None => "all".to_owned(),
        Some("") => "(empty)".to_owned(),
        Some(key) => key.to_owned(),
    }
}

/// Digits in groups of three: `1,234,567.5`. What is no plain number stays as it is.
pub(super) fn grouped(number: &str) -> String {
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

/// A number as people say it: three digits that count, or all that are before the point.
pub(super) fn said(value: f64) -> String {
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

/// `12.3%`
pub(super) fn percent(part: f64) -> String {
    if part > 0.0 && part < 0.001 {
        return "less than 0.1%".to_owned();
    }
    format!("{}%", said((part * 1000.0).round() / 10.0))
}

/// `1 window`, `2 windows`
pub(super) fn counted(count: usize, word: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {word}{plural}", grouped(&count.to_string()))
}
