//! The sentences of one released number: its name, its value, its interval and its noise.

use super::alert::AlertSentences;
use super::top::TopSentences;
use crate::job::config::{
    AlertSpec, CountedNoun, KeysSpec, MarginalsSpec, MaximumOf, RankedOf, ReleaseSpec, StatisticSpec,
    TopSpec, VectorBound,
};
use crate::mechanisms::BOTH_ENDS;
use crate::mechanisms::release_line::{
    CellLine, CellNoise, LineCovariance, LineKey, RankInterval, ShownNumbers, silent_among, spans_nearly,
};
use crate::mechanisms::stable::ASSUMED;

/// The source of a number, as far as it is known.
#[derive(Clone, Copy, Debug)]
pub(super) enum NumberOrigin<'j> {
    /// A line alone.
    Line,
    /// A release of a job, with the noun of its privacy unit: person or record.
    Release(&'j ReleaseSpec, &'static str),
    /// A query, for a count.
    Count,
    /// A query, for a mean.
    Mean,
}

/// A released number, to be put in sentences.
#[derive(Clone, Copy, Debug)]
pub(super) struct CellSentences<'c, 'l> {
    pub(super) cell: &'c CellLine<'l>,
    pub(super) origin: NumberOrigin<'c>,
}

/// The range that the values of a mean were brought into, where the job states a wider one.
const FOUND: &str = "the closer range that was found";

impl<'c, 'l> CellSentences<'c, 'l> {
    /// Returns the number in a sentence, and of a demonstration the exact ones.
    pub(super) fn value(&self) -> String {
        if let Some(alert) = self.alert() {
            return alert.value();
        }
        if let Some(top) = self.top() {
            return top.value();
        }
        let (cell, subject) = (self.cell, self.subject());
        let shown = cell.shown();
        let number = match shown.value {
            Some(value) => format!("{subject} is {value}."),
            None if cell.noise.iter().any(|law| law.assumes.is_some()) => format!(
                "{subject} is not released: there were too few people, or they do not agree on a shape, or the noise of the test \
                 decided so. The line does not say which."
            ),
            None => format!("{subject} has no value: it is no finite number."),
        };
        let level = match (self.origin, cell.rollup) {
            (NumberOrigin::Line, true) => {
                " It has all keys that begin so if keys are discovered, and those of the list if they are listed."
            }
            _ => "",
        };
        let least = self.release().and_then(|release| release.least_people);
        let level = match least {
            Some(people) if cell.key.is_some() => {
                format!("{level} As the job file is now, a key is found with at least {people} people.")
            }
            _ => level.to_owned(),
        };
        let few = match (cell.insufficient, cell.ranked()) {
            (true, Some(RankInterval::Smallest(_))) => {
                " There were too few people for a full answer: this is the largest possible one."
            }
            (true, _) => " There were too few people for a full answer: this is the least possible one.",
            (false, _) => "",
        };
        // Of found ranges, the exact number is stated within those of the job.
        let after = format!("after {}", and(&self.leaving_out()).replace(FOUND, "the stated range"));
        let all = match self.origin {
            NumberOrigin::Release(release, _) if release.condition.is_some() => {
                "of all records of its `where`"
            }
            _ => "of all records",
        };
        let mut exact = String::new();
        for (number, of) in [(shown.tally, &*after), (shown.truth, all)] {
            exact += &number.map(|number| format!(" The exact number {of} is {number}.")).unwrap_or_default();
        }
        exact += &cell.off.map(|off| self.off(off)).unwrap_or_default();
        format!("{number}{level}{few}{exact}")
    }

    /// Returns the sentences of an alert, if it is one.
    fn alert(&self) -> Option<AlertSentences<'_, 'l>> {
        let crossing = self.cell.noise.first()?.crossing()?;
        Some(AlertSentences { cell: self.cell, crossing, subject: self.subject() })
    }

    /// Returns the sentences of a pick of the most frequent keys, if it is one.
    fn top(&self) -> Option<TopSentences<'_, 'l>> {
        let within = self.cell.noise.first()?.within?;
        Some(TopSentences { cell: self.cell, within, subject: self.subject() })
    }

    /// Returns the error of a demonstration's value, in people or in ranks.
    fn off(&self, off: &str) -> String {
        match self.cell.q {
            Some(_) => format!(" Between it and the exact quantile are {off} {}.", self.ranked_noun()),
            None => format!(" It is off by {off} people."),
        }
    }

    /// Returns the release, if the job is known.
    fn release(&self) -> Option<&'c ReleaseSpec> {
        match self.origin {
            NumberOrigin::Release(release, _) => Some(release),
            _ => None,
        }
    }

    /// Returns the statistic of the release, if the job is known.
    fn statistic(&self) -> Option<&'c StatisticSpec> {
        self.release().map(|release| &release.statistic)
    }

    /// Returns the noun of the privacy unit.
    fn unit(&self) -> &'static str {
        match self.origin {
            NumberOrigin::Release(_, unit) => unit,
            _ => "person",
        }
    }

    /// Returns the noun of what is ranked: the values of records, or people by a value that each of them has.
    fn ranked_noun(&self) -> &'static str {
        match self.statistic() {
            Some(StatisticSpec::Quantile(quantile)) if matches!(quantile.each, RankedOf::Person(_)) => {
                "people"
            }
            _ => "values",
        }
    }

    /// Returns what a job may state that leaves something out of the number.
    fn leaving_out(&self) -> Vec<&'static str> {
        let numbers = self.numbers();
        let values = match (self.origin, self.statistic()) {
            (_, Some(statistic)) => match statistic {
                StatisticSpec::Sum(_)
                | StatisticSpec::Mean(_)
                | StatisticSpec::Variance(_)
                | StatisticSpec::Quantile(_) => Some("the range"),
                StatisticSpec::Ratio(_) => Some("the ranges"),
                StatisticSpec::Means(means) => Some(match means.bound {
                    VectorBound::Over(_) => "the ellipsoid",
                    VectorBound::Stable { .. } => "the box",
                    VectorBound::FoundWithin { .. } => FOUND,
                    VectorBound::Within(_) => "the range",
                }),
                _ => None,
            },
            (NumberOrigin::Count, _) => None,
            (NumberOrigin::Mean, _) => Some("the range"),
            _ if self.cell.noise.iter().any(|law| law.assumes.is_some()) => Some("the box"),
            _ if self.cell.of.is_some() => Some("the bound of its values"),
            _ if self.cell.q.is_some() || numbers.len() > 1 && !self.is_ratio() => Some("the range"),
            _ if self.is_ratio() => Some("the ranges"),
            // The numbers of people of a largest value have no range.
            _ if self.cell.ranked().is_some() => None,
            _ => Some("the range of a sum"),
        };
        let bound = (self.unit() == "person" || values.is_none()).then_some("the contribution bound");
        bound.into_iter().chain(values).collect()
    }

    /// Returns the names of the noised numbers that the released one is made of.
    fn numbers(&self) -> Vec<&'c str> {
        self.cell.noise.iter().filter_map(|noise| noise.number.as_deref()).collect()
    }

    fn is_ratio(&self) -> bool {
        self.numbers()[..] == ["sum", "per"]
    }

    /// Returns the name of the number: its statistic as far as it is known, its key, and the windows of a total.
    fn subject(&self) -> String {
        let cell = self.cell;
        let (what, key) = (self.what(), self.key());
        let total = match cell.total.as_deref() {
            None => String::new(),
            Some("so far") => " in all windows up to this one".to_owned(),
            Some(total) => match total.strip_prefix("last ") {
                Some(windows) => format!(" in the last {windows} windows up to this one"),
                None => format!(" in the windows {total:?}"),
            },
        };
        let gaps = match &cell.gaps[..] {
            [] => String::new(),
            gaps => {
                let gaps = gaps.iter().map(|gap| match (gap.start, gap.end) {
                    (Some(start), Some(end)) => format!("from {start} to {end}"),
                    (Some(start), None) => format!("from {start} on"),
                    _ => "of unknown time".to_owned(),
                });
                format!(", without windows that were skipped ({}),", gaps.collect::<Vec<_>>().join(", "))
            }
        };
        format!("{what}{key}{total}{gaps}")
    }

    fn what(&self) -> String {
        let cell = self.cell;
        match (&cell.of, self.statistic(), self.origin) {
            (Some(LineKey::Number(place)), ..) => return format!("The mean of coordinate {place}"),
            (Some(name), ..) => return format!("The mean of {:?}", name.text()),
            (None, Some(statistic), _) => return stated(statistic, cell.q, self.unit()),
            (_, _, NumberOrigin::Count) => return "The count".to_owned(),
            (_, _, NumberOrigin::Mean) => return "The mean".to_owned(),
            _ => {}
        }
        let what = match (cell.q, cell.ranked()) {
            (Some(q), _) => return format!("The quantile {q}"),
            (_, Some(RankInterval::Largest(_))) => "The value that was approached from below",
            (_, Some(RankInterval::Smallest(_))) => "The value that was approached from above",
            _ => match self.numbers()[..] {
                ["sum", "records"] | ["above_low", "below_high"] => "The mean",
                ["sum", "squares", "records"] => "The variance",
                ["sum", "per"] => "The ratio",
                _ => "The number",
            },
        };
        what.to_owned()
    }

    fn key(&self) -> String {
        let of = match self.statistic() {
            Some(StatisticSpec::Histogram(histogram)) => format!(" of {:?}", histogram.of),
            _ => String::new(),
        };
        match &self.cell.key {
            None => String::new(),
            Some(LineKey::Number(number)) => format!(" for the key {number}"),
            Some(LineKey::Text(text)) => match bucket(text) {
                Some(values) => format!(" for {values}").replacen("values", &format!("values{of}"), 1),
                None => format!(" for the key {text:?}"),
            },
            Some(LineKey::Texts { parts, .. }) => {
                let parts = parts.iter().map(|part| format!("{part:?}")).collect::<Vec<_>>().join(" and ");
                if !self.cell.rollup {
                    return format!(" for the key {parts}");
                }
                match self.statistic().and_then(StatisticSpec::grouping).map(|grouping| &grouping.keys) {
                    Some(KeysSpec::Listed(_) | KeysSpec::File(_)) => {
                        format!(" for the listed keys that begin with {parts}")
                    }
                    Some(KeysSpec::Discover) => {
                        format!(" for all keys that begin with {parts}, undiscovered ones too,")
                    }
                    Some(KeysSpec::Every) => format!(" for all keys that begin with {parts}"),
                    None => format!(" for the keys that begin with {parts}"),
                }
            }
        }
    }

    /// Returns the interval in sentences.
    pub(super) fn interval(&self) -> String {
        let cell = self.cell;
        if let Some(alert) = self.alert() {
            return alert.interval(&percent(cell.confidence));
        }
        if let Some(top) = self.top() {
            return top.interval(&percent(cell.confidence));
        }
        let ShownNumbers { low, high, .. } = cell.shown();
        let sure = match cell.confidence {
            "1" => "with certainty".to_owned(),
            confidence => {
                format!(
                    "with probability at least {}, over the noise, for this number by itself",
                    percent(confidence)
                )
            }
        };
        let people = |people: u64, side: &str| {
            let (is, people) =
                if people == 1 { ("is", "1 person") } else { ("are", &*format!("{people} people")) };
            format!("There {is} at most {people} without whom the exact one would not be {side} it, {sure}.")
        };
        match cell.ranked() {
            Some(RankInterval::Largest(most)) => {
                let people = people(most, "above");
                let least = low.map(|low| format!(" The exact one is at least {low}.")).unwrap_or_default();
                return format!(
                    "Open above: it is too small by design, since a larger number could be that of one person. {people}{least}"
                );
            }
            Some(RankInterval::Smallest(most)) => {
                let people = people(most, "below");
                let most = high.map(|high| format!(" The exact one is at most {high}.")).unwrap_or_default();
                return format!(
                    "Open below: it is too large by design, since a smaller number could be that of one person. {people}{most}"
                );
            }
            Some(RankInterval::Near(ranks)) => return self.near(ranks, &sure),
            // Has its own sentences.
            Some(RankInterval::Behind(_)) | None => {}
        }
        let after = and(&self.leaving_out());
        let number = match cell.interval_of.is_some() {
            true => format!("The exact number after {after}"),
            false => "The exact number".to_owned(),
        };
        let ends = match (low, high) {
            (Some(low), Some(high)) => format!("is between {low} and {high}"),
            (Some(low), None) => format!("is at least {low}, and nothing bounds it from above,"),
            (None, Some(high)) => format!("is at most {high}, and nothing bounds it from below,"),
            (None, None) if self.is_ratio() => {
                return "None: the sum below the line may be 0, and nothing then bounds the ratio."
                    .to_owned();
            }
            (None, None) => {
                return "None: nothing is promised of the distance to the exact number.".to_owned();
            }
        };
        let of = match (self.origin, cell.interval_of.as_deref()) {
            (NumberOrigin::Count | NumberOrigin::Mean, _) => {
                " It is of the records that the contribution bound keeps of each person.".to_owned()
            }
            (_, Some("bounded")) => {
                let by = if self.leaving_out().len() > 1 { "these" } else { &after };
                format!(" What {by} left out is not in it, and how much that is stays private.")
            }
            (_, Some(_)) => " It is of another number than the exact one.".to_owned(),
            (_, None) => " No contribution bound and no range leaves anything out of it.".to_owned(),
        };
        format!("{number} {ends} {sure}.{of}{}", self.next_to_nothing())
    }

    /// Returns the interval of a quantile, which is one of ranks.
    fn near(&self, ranks: u64, sure: &str) -> String {
        let cell = self.cell;
        let noun = self.ranked_noun();
        let are = if noun == "people" { "have theirs" } else { "are" };
        let silent = cell.q.and_then(|q| silent_among(q, ranks, noun, |number| number.to_string()));
        let silent = silent.map_or(String::new(), |silent| format!(" {}.", capitalized(&silent)));
        let ends = match (cell.low, cell.high) {
            (Some(low), Some(high)) => {
                format!(" Every possible answer is from {low} to {high}, which is public.")
            }
            _ => String::new(),
        };
        format!(
            "At most {ranks} {noun} {are} between this value and the exact quantile, {sure}. How far apart the two are is not \
             promised.{silent}{ends}"
        )
    }

    /// Returns a sentence about an interval that hardly says more than is known without it.
    fn next_to_nothing(&self) -> String {
        let cell = self.cell;
        let number = |text: Option<&str>| text.and_then(|text| text.parse::<f64>().ok());
        let (Some(low), Some(high)) = (number(cell.low), number(cell.high)) else { return String::new() };
        let field = cell.of.as_ref().map(LineKey::text);
        let ranges = self.statistic().map(StatisticSpec::answer_ranges).unwrap_or_default();
        let range = ranges.iter().find(|range| range.of.as_deref() == field);
        if let Some(range) = range.filter(|range| spans_nearly((low, high), (range.low, range.high))) {
            let nearly = if low <= range.low && range.high <= high { "" } else { "nearly " };
            return format!(
                " This says next to nothing: the interval is {nearly}the whole range that the job file leaves, from {} to {}.",
                range.low, range.high
            );
        }
        let is_number = self.numbers().is_empty() && cell.of.is_none();
        if is_number && !matches!(self.origin, NumberOrigin::Mean) && low <= 0.0 && 0.0 <= high {
            return " It holds 0: noise alone may have made this number.".to_owned();
        }
        String::new()
    }

    /// Returns the noise in sentences.
    pub(super) fn noise(&self) -> String {
        if let Some(alert) = self.alert() {
            return alert.noise();
        }
        if let Some(top) = self.top() {
            return top.noise();
        }
        self.cell.noise.iter().map(|law| self.law(law)).collect::<Vec<_>>().join(" ")
    }

    fn law(&self, law: &CellNoise<'_>) -> String {
        let of = match (law.number.as_deref(), self.cell.noise.len()) {
            (Some("per"), 2..) => " in the sum below the line".to_owned(),
            (Some("sum"), 2..) if self.is_ratio() => " in the sum above the line".to_owned(),
            (Some("squares"), 2..) => " in the sum of squares".to_owned(),
            (Some("records"), 2..) => " in the number of records".to_owned(),
            (Some("above_low"), 2..) => {
                " in the sum of the distances from the low end of the range".to_owned()
            }
            (Some("below_high"), 2..) => " in the sum of the distances from its high end".to_owned(),
            (Some(number), 2..) => format!(" in the {number}"),
            _ => String::new(),
        };
        let scale = law.scale();
        let first = match (&*law.kind, law.comparisons, self.cell.ranked().is_some()) {
            (kind, Some(1), _) => {
                format!(
                    "The value was found by 1 comparison of a number of people, with {kind} noise of scale {scale}"
                )
            }
            (kind, Some(comparisons), _) => format!(
                "The value was found by {comparisons} comparisons of numbers of people, each with {kind} noise of scale {scale}"
            ),
            (kind, None, true) => {
                format!("The value was chosen by its rank, by the law {kind} of scale {scale}, in ranks")
            }
            ("gaussian", ..) if matches!(self.statistic(), Some(StatisticSpec::Marginals(_))) => {
                format!(
                    "Gaussian noise of standard deviation {scale}, of several draws that are put together"
                )
            }
            ("gaussian", ..) if self.is_rounded() => {
                format!(
                    "Gaussian noise of standard deviation {scale}{of}, a normal distribution rounded to whole numbers"
                )
            }
            ("gaussian", ..) => format!("Discrete Gaussian noise of standard deviation {scale}{of}"),
            ("gaussian of the shape of the data", ..) => {
                format!("Gaussian noise of the shape of the records, of {scale} of their standard deviation")
            }
            ("laplace", ..) => format!("Discrete Laplace noise of scale {scale}{of}"),
            (kind, ..) => format!("Noise of the law {kind} with scale {scale}{of}"),
        };
        let mut text = first;
        if let Some(strategy) = &law.strategy {
            text += &format!(", at most, correlated over the windows by the strategy {strategy}");
        }
        if let Some(grid) = law.grid() {
            text += &format!(", on a public grid of step {grid}");
        }
        text.push('.');
        let is_an_end = law.number.as_deref().is_some_and(|number| BOTH_ENDS.contains(&number));
        if let Some(over) = law.over_bound().filter(|_| is_an_end) {
            text += &format!(
                " The mean of both sums has {over} times the deviation of an unbiased sum at this price, the least that is known to be \
                 possible."
            );
        } else if let Some(over) = law.over_bound() {
            text += &format!(" That is {over} times the least that is known to be possible at this price.");
        }
        match law.assumes.as_deref() {
            None => {}
            Some(ASSUMED) => {
                text += " Its privacy is proved for exact arithmetic, and it was computed with floating-point numbers: that their \
                         rounding reveals nothing is assumed, and not proved.";
            }
            Some(assumed) => text += &format!(" It assumes, and does not prove: {assumed}."),
        }
        text
    }

    /// Returns true if the account of the line is kept in Gaussian differential privacy, where noise is a rounded normal
    /// distribution.
    fn is_rounded(&self) -> bool {
        self.cell.promise.contains(", Gaussian rho ")
    }

    /// Returns the fitted value in sentences.
    pub(super) fn fitted(&self) -> Option<String> {
        let (fitted, by) = self.cell.fitted.as_ref()?;
        let by = match &**by {
            "filter" => "by the released values of its series up to this window (a Kalman filter)".to_owned(),
            "smooth" => "by all released values of its series, later ones too (a Kalman smoother)".to_owned(),
            "monotone" => {
                "by all released totals of its series, as numbers that never fall and are never below zero (isotonic regression)"
                    .to_owned()
            }
            "shrink" => {
                "by the released values of all keys of this window, towards their mean (the James-Stein estimator)".to_owned()
            }
            other => format!("by {other:?}"),
        };
        Some(format!(
            "{fitted}, {by}. It was added to the line after its release, and costs nothing: it is made of released and public \
             numbers alone. Where the numbers are as that fit assumes, it has less error on the whole. It has a bias, and no \
             interval: the stated one is of the value."
        ))
    }

    /// Returns the covariances in a sentence.
    pub(super) fn covariances(&self) -> Option<String> {
        let own = self.cell.of.as_ref();
        let said = |LineCovariance { with, value, scale }: &LineCovariance<'_>| {
            let with = match with {
                with if Some(with) == own => "itself, its variance,".to_owned(),
                LineKey::Number(number) => (*number).to_owned(),
                with => format!("{:?}", with.text()),
            };
            format!("with {with} {}, with noise of standard deviation {}", value.get(), scale.get())
        };
        let each: Vec<String> = self.cell.covariance.iter().map(said).collect();
        let each = each.join("; ");
        (!each.is_empty()).then(|| {
            format!(
                "{each}. It is of values that are brought into the found ranges, and costs nothing beside the mean."
            )
        })
    }
}

/// Returns the name of a statistic of the job, or of its quantile.
fn stated(statistic: &StatisticSpec, q: Option<&str>, unit: &str) -> String {
    let per_person = |each: &MaximumOf| match each {
        MaximumOf::Greatest(of) => format!("the greatest {of:?} of each {unit}"),
        MaximumOf::Least(of) => format!("the least {of:?} of each {unit}"),
        MaximumOf::Sum(of) => format!("the sum of {of:?} of each {unit}"),
        MaximumOf::Count => format!("the number of records of each {unit}"),
    };
    let extreme = |word: &str, each: &MaximumOf| match each {
        MaximumOf::Greatest(of) | MaximumOf::Least(of) => format!("The {word} {of:?}"),
        MaximumOf::Sum(of) => format!("The {word} sum of {of:?} of one {unit}"),
        MaximumOf::Count => format!("The {word} number of records of one {unit}"),
    };
    match statistic {
        StatisticSpec::Count(_) | StatisticSpec::Histogram(_) => "The number of records".to_owned(),
        StatisticSpec::People(_) if unit == "record" => "The number of records".to_owned(),
        StatisticSpec::Alert(AlertSpec { count, .. }) | StatisticSpec::Top(TopSpec { count, .. }) => {
            format!("The number of {}", count.noun(unit))
        }
        StatisticSpec::Marginals(MarginalsSpec { count, .. }) => match count {
            CountedNoun::People => format!("The number of {}, each once in a combination,", count.noun(unit)),
            CountedNoun::Records => format!("The number of {}", count.noun(unit)),
        },
        StatisticSpec::People(_) => "The number of people".to_owned(),
        StatisticSpec::Sum(sum) => format!("The sum of {:?}", sum.measure.of),
        StatisticSpec::Mean(mean) => format!("The mean of {:?}", mean.measure.of),
        StatisticSpec::Means(_) => "The mean".to_owned(),
        StatisticSpec::Variance(variance) => format!("The variance of {:?}", variance.measure.of),
        StatisticSpec::Ratio(ratio) => {
            format!("The sum of {:?} over that of {:?}", ratio.measure.upper.of, ratio.measure.lower.of)
        }
        StatisticSpec::Max(max) => extreme("largest", &max.each),
        StatisticSpec::Min(min) => extreme("smallest", &min.each),
        StatisticSpec::Altogether(total) => match total.each.of() {
            Some(of) => format!("The sum of {of:?} over all people, each {unit}'s where it is above 0,"),
            None => "The number of records".to_owned(),
        },
        StatisticSpec::Quantile(quantile) => {
            let of = match &quantile.each {
                RankedOf::Values(of) => format!("{of:?}"),
                RankedOf::Person(each) => per_person(each),
            };
            format!("The quantile {} of {of}", q.unwrap_or_default())
        }
    }
}

/// Joins nouns: `a`, `a and b`.
fn and(nouns: &[&str]) -> String {
    nouns.join(" and ")
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// Returns the values of a bucket such as `[10, 100)` in words; `None` if the text is none.
fn bucket(text: &str) -> Option<String> {
    let (low, high) = text.strip_prefix(['[', '('])?.strip_suffix(')')?.split_once(", ")?;
    let is_end = |end: &str| matches!(end, "inf" | "-inf") || end.parse::<f64>().is_ok();
    if !is_end(low) || !is_end(high) {
        return None;
    }
    Some(match (low, high) {
        ("-inf", "inf") => "all values".to_owned(),
        ("-inf", high) => format!("values below {high}"),
        (low, "inf") => format!("values from {low} on"),
        (low, high) => format!("values from {low} on and below {high}"),
    })
}

/// Returns a probability as a percentage, without digits that a float makes up.
pub(super) fn percent(confidence: &str) -> String {
    match confidence.parse::<f64>() {
        Ok(part) => format!("{}%", (part * 1e10).round() / 1e8),
        Err(_) => confidence.to_owned(),
    }
}
