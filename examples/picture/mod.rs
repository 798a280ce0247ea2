//! The distance of answers from the population, by the number of queries: a small picture.

use std::fmt::Write;

/// The error of the last of this many answers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Point {
    pub(crate) asked: f64,
    pub(crate) plainly: f64,
    pub(crate) noised: f64,
}

const STYLE: &str = "text{font:12px system-ui,sans-serif;fill:#1b1f24}.grid{stroke:#e3e7eb}.line{fill:none;stroke-width:2}\
     .a{stroke:#b3423a}.b{stroke:#0a6c8f}.c{stroke:#57606a;stroke-dasharray:6 4}.dot.a{fill:#b3423a}.dot.b{fill:#0a6c8f}\
     @media(prefers-color-scheme:dark){text{fill:#e6e9ed}.grid{stroke:#272d35}.a{stroke:#ef8a80}.b{stroke:#58b9dc}\
     .c{stroke:#a2abb5}.dot.a{fill:#ef8a80}.dot.b{fill:#58b9dc}}";

/// A curve's class, its name, and its height at a point.
type Curve = (&'static str, &'static str, fn(&Point) -> f64);

/// The picture: questions by powers of ten, from left to right; errors in parts of one, from below.
pub(crate) fn drawn(points: &[Point], promise: f64) -> String {
    let most = points.iter().map(|point| point.plainly.max(point.noised)).fold(promise, f64::max);
    let top = (most * 20.0).ceil() / 20.0;
    let powers = |pick: fn(f64, f64) -> f64, start: f64| {
        points.iter().map(|point| point.asked.log10()).fold(start, pick)
    };
    let (first, last) = (powers(f64::min, f64::MAX).floor(), powers(f64::max, f64::MIN).ceil());
    let x = |asked: f64| 60.0 + 600.0 * (asked.log10() - first) / (last - first);
    let y = |error: f64| 340.0 - 300.0 * error / top;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 840 400\" role=\"img\"><title>How far the last answer is from \
         the population, by how many questions were asked</title><style>{STYLE}</style>"
    );
    let mut put = |text: String| {
        // Writing to a text does not fail.
        let _ = write!(svg, "{text}");
    };
    for step in 0..=(top * 20.0).round() as u32 {
        let (error, y) = (f64::from(step) / 20.0, y(f64::from(step) / 20.0));
        put(format!(
            "<path class=\"grid\" d=\"M60 {y:.1}H660\"/><text x=\"52\" y=\"{:.1}\" text-anchor=\"end\">{error:.2}</text>",
            y + 4.0
        ));
    }
    for power in first as i32..=last as i32 {
        let x = x(10f64.powi(power));
        put(format!(
            "<path class=\"grid\" d=\"M{x:.1} 40V340\"/><text x=\"{x:.1}\" y=\"360\" text-anchor=\"middle\">10<tspan dy=\"-5\" font-size=\"9\">{power}</tspan></text>"
        ));
    }
    put("<text x=\"360\" y=\"388\" text-anchor=\"middle\">questions asked, each built from the answers before</text>".to_owned());
    put("<text x=\"60\" y=\"24\">how far the answer to the last is from the share of the population</text>"
        .to_owned());
    put(format!(
        "<path class=\"line c\" d=\"M60 {0:.1}H660\"/><text x=\"668\" y=\"{1:.1}\">what is promised</text>",
        y(promise),
        y(promise) + 4.0
    ));
    let curves: [Curve; 2] =
        [("a", "exact answers", |point| point.plainly), ("b", "with bounded noise", |point| point.noised)];
    for (class, name, of) in curves {
        let place = |point: &Point| (x(point.asked), y(of(point)));
        let path: Vec<String> = points.iter().map(place).map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
        put(format!("<path class=\"line {class}\" d=\"M{}\"/>", path.join("L")));
        for (x, y) in points.iter().map(place) {
            put(format!("<circle class=\"dot {class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\"/>"));
        }
        if let Some((x, y)) = points.last().map(place) {
            put(format!("<text x=\"{:.1}\" y=\"{:.1}\">{name}</text>", x.max(660.0) + 8.0, y + 4.0));
        }
    }
    svg + "</svg>\n"
}
