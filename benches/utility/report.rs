//! The rows of the tables, and how they are printed.

/// A figure, the algorithm that it is of, and a second figure beside it, such as the half-width of an interval.
#[derive(Clone, Debug)]
pub(crate) struct Figure {
    pub(crate) value: f64,
    pub(crate) within: Option<f64>,
    pub(crate) how: String,
}

impl Figure {
    pub(crate) fn new(value: f64, how: impl Into<String>) -> Figure {
        Figure { value, within: None, how: how.into() }
    }

    pub(crate) fn within(self, within: f64) -> Figure {
        Figure { within: Some(within), ..self }
    }

    /// Returns the smaller one, by the second figure if the first is the same.
    pub(crate) fn or(self, other: Figure) -> Figure {
        if (other.value, other.within) < (self.value, self.within) { other } else { self }
    }

    fn long(&self) -> String {
        match self.within {
            None => format!("{} ({})", digits(self.value), self.how),
            Some(within) => format!("{}; {} ({})", digits(self.value), digits(within), self.how),
        }
    }
}

/// One statistic: what is released, in which unit the errors are, and the error of each library.
#[derive(Debug)]
pub(crate) struct Row {
    /// Its name in the lines of ratios.
    pub(crate) name: &'static str,
    pub(crate) released: String,
    pub(crate) error: &'static str,
    pub(crate) ours: Figure,
    pub(crate) opendp: Option<Figure>,
    pub(crate) tumult: Option<Figure>,
    /// Another algorithm, published unless it says otherwise.
    pub(crate) other: Option<Figure>,
    /// The least that is known to be possible, or the least of a kind of noise.
    pub(crate) least: Option<Figure>,
    /// True if more is better, as of keys that are found.
    pub(crate) more_is_better: bool,
    /// Its name in README.md, if it is a row there too.
    pub(crate) short: Option<&'static str>,
}

/// Two errors within this part of each other are called equal.
const ALIKE: f64 = 0.02;

impl Row {
    /// Returns the better one of the two libraries.
    fn peer(&self) -> Option<f64> {
        let peers = self.opendp.iter().chain(&self.tumult).map(|figure| figure.value);
        peers.reduce(if self.more_is_better { f64::max } else { f64::min })
    }

    /// Returns the quotient of our error and another: below 1 where ours is better.
    fn over(&self, other: f64) -> f64 {
        if self.more_is_better { other / self.ours.value } else { self.ours.value / other }
    }

    fn verdict(&self) -> &'static str {
        match self.peer().map(|peer| self.over(peer)) {
            None => "no peer",
            Some(ratio) if ratio < 1.0 - ALIKE => "better",
            Some(ratio) if ratio > 1.0 + ALIKE => "worse",
            Some(_) => "equal",
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Report(Vec<Row>);

impl Report {
    /// Adds a row, and prints it.
    pub(crate) fn add(&mut self, row: Row) {
        println!("{}, {}:", row.released, row.error);
        let say = |name: &str, figure: Option<&Figure>| {
            if let Some(figure) = figure {
                println!("  {name:<8} {}", figure.long());
            }
        };
        say("ours", Some(&row.ours));
        say("opendp", row.opendp.as_ref());
        say("tumult", row.tumult.as_ref());
        say("other", row.other.as_ref());
        say("least", row.least.as_ref());
        self.0.push(row);
    }

    /// Prints the ratios to watch, and the two tables.
    pub(crate) fn print(&self) {
        println!();
        for row in &self.0 {
            if let Some(peer) = row.peer() {
                println!("ratio utility.{}_over_peer {:.3}", row.name, row.over(peer));
            }
            if let Some(other) = &row.other {
                println!("ratio utility.{}_over_other {:.3}", row.name, row.over(other.value));
            }
            if let Some(least) = row.least.as_ref().filter(|least| least.value > 0.0) {
                println!("ratio utility.{}_over_least {:.3}", row.name, row.over(least.value));
            }
        }
        println!("\nREADME.md:\n");
        println!("| one release at (1, 1e-6), and its error | here | OpenDP | Tumult | least | here is |");
        println!("|---|---|---|---|---|---|");
        let cell = |figure: Option<&Figure>| figure.map_or_else(String::new, |figure| digits(figure.value));
        for row in &self.0 {
            let Some(short) = row.short else { continue };
            println!(
                "| {short} | {} | {} | {} | {} | {} |",
                digits(row.ours.value),
                cell(row.opendp.as_ref()),
                cell(row.tumult.as_ref()),
                cell(row.least.as_ref()),
                row.verdict(),
            );
        }
        println!("\nBENCHMARKS.md:\n");
        println!("| released, and its error | here | OpenDP | Tumult | another algorithm | least known |");
        println!("|---|---|---|---|---|---|");
        let cell = |figure: Option<&Figure>| figure.map_or_else(String::new, Figure::long);
        for row in &self.0 {
            println!(
                "| {}: {} | {} | {} | {} | {} | {} |",
                row.released,
                row.error,
                row.ours.long(),
                cell(row.opendp.as_ref()),
                cell(row.tumult.as_ref()),
                cell(row.other.as_ref()),
                cell(row.least.as_ref()),
            );
        }
        println!();
        let count = |verdict: &str| self.0.iter().filter(|row| row.verdict() == verdict).count();
        let (all, better, equal, worse) = (self.0.len(), count("better"), count("equal"), count("worse"));
        println!(
            "of {all} rows, beside the better one of OpenDP and Tumult: {better} better, {equal} equal, {worse} worse"
        );
    }
}

/// Three digits of a number, and all of those before its point.
pub(crate) fn digits(value: f64) -> String {
    if value < 1e-6 {
        return "0".to_owned();
    }
    let places = (2.0 - value.abs().log10().floor()).clamp(0.0, 6.0) as usize;
    let text = format!("{value:.places$}");
    match text.split_once('.') {
        None => grouped(&text),
        Some((whole, part)) => match part.trim_end_matches('0') {
            "" => grouped(whole),
            part => format!("{}.{part}", grouped(whole)),
        },
    }
}

/// A whole number with its thousands apart.
pub(crate) fn thousands(number: usize) -> String {
    grouped(&number.to_string())
}

fn grouped(whole: &str) -> String {
    let mut apart = String::new();
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place).is_multiple_of(3) {
            apart.push(',');
        }
        apart.push(digit);
    }
    apart
}
