//! Panels beside and below each other, on the same scales, with words below each.

use std::fmt::Write;

/// A line, and the class that colours it.
pub(crate) struct Curve {
    pub(crate) class: &'static str,
    pub(crate) points: Vec<(f64, f64)>,
}

/// One plot, and the text below it: large the result, small the rest.
pub(crate) struct Panel {
    pub(crate) curves: Vec<Curve>,
    pub(crate) comes_to: String,
    pub(crate) rest: [String; 2],
}

/// Plots on the same scales.
pub(crate) struct Row {
    pub(crate) title: &'static str,
    /// From left to right, and what stands where.
    pub(crate) across: (f64, f64),
    pub(crate) marks: Vec<(f64, &'static str)>,
    /// From below to above, and how far apart numbers stand.
    pub(crate) up: (f64, f64),
    pub(crate) step: f64,
    pub(crate) panels: Vec<Panel>,
}

const STYLE: &str = "text{font:13px system-ui,sans-serif;fill:#1b1f24}.title{font-size:20px;font-weight:600}.head{font-size:15px;font-weight:600}\
     .row{font-weight:600}.small{font-size:12px;fill:#57606a}.mark{font-size:11px;fill:#57606a}.comes{font-size:15px;font-weight:600}\
     .grid{stroke:#e3e7eb}.zero{stroke:#a2abb5}.line{fill:none;stroke-width:1.2;stroke-linejoin:round}.so{stroke:#1b1f24;stroke-width:1.6}\
     .fresh{stroke:#b3423a}.tree{stroke:#a8700a}.best{stroke:#0a6c8f}text.fresh{fill:#b3423a;stroke:none}text.tree{fill:#a8700a;stroke:none}\
     text.best{fill:#0a6c8f;stroke:none}@media(prefers-color-scheme:dark){text{fill:#e6e9ed}.small,.mark{fill:#a2abb5}.grid{stroke:#272d35}\
     .zero{stroke:#57606a}.so{stroke:#e6e9ed}.fresh{stroke:#ef8a80}.tree{stroke:#e0b050}.best{stroke:#58b9dc}text.fresh{fill:#ef8a80}\
     text.tree{fill:#e0b050}text.best{fill:#58b9dc}}";

const LEFT: f64 = 64.0;
const WIDE: f64 = 300.0;
const APART: f64 = 28.0;
const HIGH: f64 = 170.0;
/// From the title of a row to that of the next.
const ROW: f64 = HIGH + 126.0;
const TOP: f64 = 108.0;

/// The picture: a title, a line below it, and for each column its class and its head.
pub(crate) fn drawn(title: &str, below: &str, heads: &[(&str, &str)], rows: &[Row]) -> String {
    let width = LEFT + heads.len() as f64 * (WIDE + APART);
    let height = TOP + rows.len() as f64 * ROW;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\"><title>{title}</title>\
         <style>{STYLE}</style>"
    );
    let mut put = |text: String| {
        // Writing to a text does not fail.
        let _ = writeln!(svg, "{text}");
    };
    put(text((16.0, 32.0), "title", title));
    put(text((16.0, 54.0), "small", below));
    let left = |column: usize| LEFT + column as f64 * (WIDE + APART);
    for (column, (class, head)) in heads.iter().enumerate() {
        put(text((left(column), TOP - 22.0), &format!("head {class}"), head));
    }
    for (place, row) in rows.iter().enumerate() {
        let top = TOP + place as f64 * ROW + 20.0;
        put(text((16.0, top - 12.0), "row", row.title));
        let y = |value: f64| top + 4.0 + HIGH * (row.up.1 - value) / (row.up.1 - row.up.0);
        for (column, panel) in row.panels.iter().enumerate() {
            let left = left(column);
            let x = |value: f64| left + WIDE * (value - row.across.0) / (row.across.1 - row.across.0);
            row.scales(column == 0, left, &x, &y, &mut put);
            for Curve { class, points } in &panel.curves {
                let points = points.iter().map(|(across, up)| format!("{:.1} {:.1}", x(*across), y(*up)));
                put(format!(
                    "<path class=\"line {class}\" d=\"M{}\"/>",
                    points.collect::<Vec<_>>().join("L")
                ));
            }
            let class = panel.curves.last().map_or("", |curve| curve.class);
            put(text((left, top + HIGH + 42.0), &format!("comes {class}"), &panel.comes_to));
            for (line, rest) in panel.rest.iter().enumerate() {
                put(text((left, top + HIGH + 60.0 + 17.0 * line as f64), "small", rest));
            }
        }
    }
    svg + "</svg>\n"
}

impl Row {
    fn scales(
        &self,
        first: bool,
        left: f64,
        x: &dyn Fn(f64) -> f64,
        y: &dyn Fn(f64) -> f64,
        put: &mut dyn FnMut(String),
    ) {
        let steps = ((self.up.1 - self.up.0) / self.step).round() as u32;
        for value in (0..=steps).map(|step| self.up.0 + f64::from(step) * self.step) {
            let class = if value == 0.0 { "zero" } else { "grid" };
            put(format!("<path class=\"{class}\" d=\"M{left:.1} {:.1}h{WIDE:.1}\"/>", y(value)));
            if first {
                let place = format!("x=\"{:.1}\" y=\"{:.1}\"", left - 6.0, y(value) + 4.0);
                put(format!("<text {place} class=\"mark\" text-anchor=\"end\">{value:.0}</text>"));
            }
        }
        for (at, mark) in &self.marks {
            put(text((x(*at), y(self.up.0) + 15.0), "mark", mark));
        }
    }
}

fn text((x, y): (f64, f64), class: &str, said: &str) -> String {
    format!("<text x=\"{x:.1}\" y=\"{y:.1}\" class=\"{class}\">{said}</text>")
}
