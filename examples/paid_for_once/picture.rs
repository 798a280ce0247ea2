//! The picture: on top the errors of totals so far, below the released totals of the last seven days where
//! there is least to release.

use super::panels::{self, Curve, Panel, Row};
use super::{EACH, HOURS, HOW, How, Off, RHO, Totals, Year};

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
/// The hour of 2007 at which each month begins.
const BEGINS: [f64; 12] =
    [0.0, 744.0, 1416.0, 2160.0, 2880.0, 3624.0, 4344.0, 5088.0, 5832.0, 6552.0, 7296.0, 8016.0];

impl Year {
    pub(crate) fn picture(&self) -> String {
        let count = self.so_far.exact.last().copied().unwrap_or(0.0);
        let below = format!(
            "{} reviews of 2007, at most {EACH} of a person. Each kind of noise pays once for all of its {} totals, and all pay the same: \
             rho = {RHO}.",
            digits(count),
            digits(HOURS as f64)
        );
        let heads = HOW.map(|how| (how.class, how.head));
        let rows = [self.so_far.errors(), self.last.slack()];
        panels::drawn(
            "A year of reviews, released every hour: three kinds of noise at one price",
            &below,
            &heads,
            &rows,
        )
    }
}

impl Totals {
    /// The errors of all totals. Hours are a prime number apart, so that of the tree good ones and bad ones
    /// are shown.
    fn errors(&self) -> Row {
        let drawn = self.each().map(|(How { class, .. }, released)| {
            let off = |at: usize| (at as f64, released.totals[at] - self.exact[at]);
            vec![Curve { class, points: (0..HOURS).step_by(11).map(off).collect() }]
        });
        let because = [
            "each holds the noise of all hours before it",
            "each holds the noise of up to 13 spans of time",
            "the noises of the hours nearly cancel",
        ];
        let across = (0.0, HOURS as f64);
        let marks = (0..12).step_by(2).map(|month| (BEGINS[month], MONTHS[month])).collect();
        self.row("Reviews of the year so far: by how many each total is off", drawn, because, across, marks)
    }

    /// The released totals of the slack season.
    fn slack(&self) -> Row {
        let (from, until) = (BEGINS[8] as usize + 192, BEGINS[9] as usize + 264);
        let shown = |released: &[f64]| {
            (from..until).step_by(2).map(|at| (at as f64, released[at])).collect::<Vec<_>>()
        };
        let drawn = self.each().map(|(How { class, .. }, released)| {
            [("so", &self.exact), (class, &released.totals)]
                .map(|(class, released)| Curve { class, points: shown(released) })
                .into()
        });
        let because = [
            "each holds the noise of 168 hours",
            "each is the difference of two totals so far",
            "noise that is made for spans of seven days",
        ];
        let title = "Reviews of the last seven days, in the slackest weeks: in colour as released, in black as they are";
        let across = (from as f64, until as f64);
        self.row(title, drawn, because, across, vec![(BEGINS[8] + 216.0, "10 Sep"), (BEGINS[9], "1 Oct")])
    }

    fn row(
        &self,
        title: &'static str,
        drawn: [Vec<Curve>; 3],
        because: [&'static str; 3],
        across: (f64, f64),
        marks: Vec<(f64, &'static str)>,
    ) -> Row {
        let heights = drawn.iter().flatten().flat_map(|curve| &curve.points).map(|(_, up)| *up);
        let (low, high) = heights.fold((0.0, 0.0), |(low, high), up| (f64::min(low, up), f64::max(high, up)));
        let step = if high - low > 2_000.0 { 500.0 } else { 200.0 };
        let panels =
            self.each().into_iter().zip(drawn).zip(because).map(|(((_, released), curves), because)| {
                let Off { usual, most } = self.off(released);
                let comes_to = format!("usually off by {}, at most {}", digits(usual), digits(most));
                let said = match released.within {
                    Some(within) => format!("said of each: within {}, nine times in ten", digits(within)),
                    None => String::from("nothing is said of how far it is off"),
                };
                Panel { curves, comes_to, rest: [because.to_owned(), said] }
            });
        let up = ((low / step).floor() * step, (high / step).ceil() * step);
        Row { title, across, marks, up, step, panels: panels.collect() }
    }
}

/// A number with its thousands apart.
fn digits(number: f64) -> String {
    let (thousands, rest) = (number.round() as u64 / 1_000, number.round() as u64 % 1_000);
    if thousands == 0 { rest.to_string() } else { format!("{thousands},{rest:03}") }
}
