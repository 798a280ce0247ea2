//! Lines of output: an answer as a line of JSON for each cell.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::Formatter;

use super::answer::DecimalPoint;
use super::answer::{Answer, Coordinate, EstimatesPerKey, Noised, OpenEnd, Ranks};
use super::keys::{Key, Label};

/// The head of every line of a window. All of it is public, and is made elsewhere.
#[derive(Clone, Copy, Debug)]
pub struct Head<'a> {
    /// The name of the release.
    pub release: &'a str,
    /// The window, in JSON. It is copied as it is.
    pub window: &'a str,
    /// Under which id it is kept.
    pub id: &'a str,
    /// The promise and the cost: see [`Promise::briefly`](crate::accounting::Promise::briefly).
    pub promise: &'a str,
    /// The spans of windows that a total leaves out, as a list in JSON; empty where there are none. It is copied as it is.
    pub gaps: &'a str,
}

/// An answer that can be released as text.
///
/// A generic release asks this of [`Prepared::Answer`](super::Prepared::Answer).
///
/// ```
/// use discreet::accounting::Promise;
/// use discreet::mechanisms::{Bound, Gaussian, Head, Keys, Mechanism, Prepared, ReleaseLines, Total};
/// use discreet::noise::NoiseSource;
/// use discreet::time::in_words;
///
/// let visitors = Total::people(Bound::keys(1).checked()?, Keys::public(["/".to_owned()])?)?;
/// let prepared = Gaussian::rho(0.01).prepare(&visitors)?;
/// let answer = prepared.draw(prepared.tally(), None, &mut NoiseSource::from_os()?).answer;
/// let promise = Promise::Lifetime.briefly(prepared.cost(), in_words);
/// let line = answer.lines(&Head { release: "visitors", window: "null", id: "5f", promise: &promise, gaps: "" });
/// assert!(line.starts_with(r#"{"release":"visitors","window":null,"key":"/","value":"#));
/// assert!(line.ends_with(r#","id":"5f","promise":"lifetime, a person, rho 0.01"}"#));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait ReleaseLines {
    /// Its lines, joined by `\n`, with none at the end: no text at all where there is nothing to release.
    ///
    /// The text depends on nothing but the answer and the head. What is released once is kept as it was
    /// released, and never written anew.
    fn lines(&self, head: &Head<'_>) -> String;
}

/// A line is
///
/// ```text
/// {"release":"visits","window":{..},"key":"/","value":1234,"interval":[1216,1252],"interval_of":"bounded","confidence":0.9,"noise":{"kind":"gaussian","scale":10.9},"id":"5f..","promise":".."}
/// ```
///
/// in this order, without spaces. The noise is that of the cell: a key that was found in this window may have more. An end of an interval that is `null` is open: nothing is promised on that
/// side. A largest value has an open upper end, for it is too small by design, and nothing bounds the truth;
/// a smallest value has an open lower end.
/// An answer that is found by its rank says `"insufficient":true` behind its interval where there were too
/// few people, and its noise what is promised of the rank ([`Ranks`]); quantiles say `"q":0.5` before their
/// value, and have a line each; so have the coordinates of a vector, which say `"of":"price"`, or their place
/// from 0. The total of a [parent](Key::parent) says `"rollup":true` behind its key. There is no `key` where there are no others ([`Label::Whole`]). A mean has two noises,
/// `"noise":[{"number":"sum",..},{"number":"records",..}]`, the first of which says by how much it is above
/// the least of an unbiased mean ([`Noised::over_bound`]); a variance has a third between them, of `"squares"`,
/// and a ratio has those of `"sum"` and `"per"`, and both ends open where the sum below may be 0. A running total says `"total":"so far"` or
/// `"total":"last 24"` before its confidence, with `"gaps":[{..}]` where it leaves out windows that were skipped, and by which
/// strategy it is noised. Means whose ranges are found say `"covariance":[{"with":"price","value":4.1,"scale":0.2},..]`, one for each
/// coordinate, with the deviation of its noise, where the bounds fit. A stable mean says
/// `"grid"`, the step in which it is released. An alert has a value of 1 where it fired and of 0 where it was silent, and its noise says
/// `"above"` and `"surely"`, between which it may do either, and how many alarms are left ([`Crossing`](super::Crossing)). The most frequent
/// keys have their place as a value, and their noise says `"within"`: by how much the number of each may be below the largest that was left. `"interval_of":"bounded"` says that the interval holds the number
/// after the contribution bound and the range, which may have left something out; without it they leave nothing
/// out. Whole numbers are written with all of their digits, also where
/// they are beyond 64 bits.
///
/// What a window's lines have in common is written once, and copied. Beyond the text itself a cell allocates
/// nothing, but for the label of a key that has none to lend: of those given here, a
/// [`Bucket`](super::Bucket).
impl<K: Key, T: AnswerNumber> ReleaseLines for Answer<K, T> {
    fn lines(&self, head: &Head<'_>) -> String {
        let before = before(head);
        let afters: Vec<Vec<u8>> =
            (0..self.format.different()).map(|place| after(self, place, head)).collect();
        let of_too_few = match self.format.noise.first().and_then(|noise| noise.ranks) {
            Some(Ranks::Below { least: end, .. } | Ranks::Above { most: end, .. }) => Some(end),
            _ => None,
        };
        let mut text = Vec::with_capacity(
            self.cells.len() * (before.len() + afters.iter().map(Vec::len).max().unwrap_or(0) + NUMBERS),
        );
        for (place, (key, estimate)) in self.cells.iter().enumerate() {
            if place > 0 {
                text.push(b'\n');
            }
            text.extend_from_slice(&before);
            match key.label() {
                Label::Whole => {}
                Label::Number(number) => field(&mut text, "key", &number),
                Label::Text(key) => field(&mut text, "key", &*key),
                Label::Texts(parts) => field(&mut text, "key", &parts),
            }
            if self.format.is_above(place) {
                field(&mut text, "rollup", &true);
            }
            let of = self.format.place_of(place);
            let point = self.which(of, &mut text);
            text.extend_from_slice(b",\"value\":");
            estimate.value.put(point, &mut text);
            text.extend_from_slice(b",\"interval\":[");
            for (end, at, after) in
                [(OpenEnd::Low, &estimate.low, b','), (OpenEnd::High, &estimate.high, b']')]
            {
                match estimate.open == Some(end) {
                    true => text.extend_from_slice(b"null"),
                    false => at.put(point, &mut text),
                }
                text.push(after);
            }
            if of_too_few.is_some_and(|end| estimate.value.is(end)) {
                text.extend_from_slice(b",\"insufficient\":true");
            }
            text.extend_from_slice(&afters[of]);
        }
        written(text)
    }
}

impl<K, T> Answer<K, T> {
    /// Says which of a key's estimates it is, where it has several, and where its point stands.
    fn which(&self, place: usize, text: &mut Vec<u8>) -> DecimalPoint {
        let place = self.format.place_in_key(place);
        match &self.format.each {
            EstimatesPerKey::One | EstimatesPerKey::Levels { .. } | EstimatesPerKey::Tables { .. } => {}
            EstimatesPerKey::Quantiles => {
                if let Some(Ranks::Within { quantile, .. }) =
                    self.format.noise.get(place).and_then(|noise| noise.ranks)
                {
                    field(text, "q", &quantile.to_f64());
                }
            }
            EstimatesPerKey::Coordinates(coordinates) | EstimatesPerKey::OfKeys { coordinates, .. } => {
                let place = place % coordinates.len().max(1);
                let Some(Coordinate { name, point }) = coordinates.get(place) else {
                    return self.format.point;
                };
                match name {
                    Some(name) => field(text, "of", name),
                    None => field(text, "of", &place),
                }
                return *point;
            }
        }
        self.format.point
    }
}

/// A number that an answer is made of.
pub trait AnswerNumber {
    /// Writes it as JSON, with its decimal point there.
    fn put(&self, point: DecimalPoint, text: &mut Vec<u8>);

    /// Returns true if it is this whole number.
    fn is(&self, whole: i128) -> bool;
}

impl AnswerNumber for i128 {
    fn put(&self, point: DecimalPoint, text: &mut Vec<u8>) {
        if point == DecimalPoint::WHOLE {
            put(text, self);
        } else {
            text.extend_from_slice(point.shown(*self).as_bytes());
        }
    }

    fn is(&self, whole: i128) -> bool {
        *self == whole
    }
}

impl AnswerNumber for f64 {
    fn put(&self, point: DecimalPoint, text: &mut Vec<u8>) {
        put(text, &point.float(*self));
    }

    fn is(&self, whole: i128) -> bool {
        *self == whole as f64
    }
}

/// The size of a key and three numbers, about: the text then seldom moves while it grows.
const NUMBERS: usize = 80;

pub(super) fn before(head: &Head<'_>) -> Vec<u8> {
    let mut text = b"{\"release\":".to_vec();
    put(&mut text, head.release);
    text.extend_from_slice(b",\"window\":");
    text.extend_from_slice(head.window.as_bytes());
    text
}

/// Writes what the lines of all keys have behind their interval, for the estimate at this place.
fn after<K, T>(answer: &Answer<K, T>, place: usize, head: &Head<'_>) -> Vec<u8> {
    let mut text = Vec::new();
    covariances(answer, place, &mut text);
    let noise = answer.format.noise_of(place);
    if let Some(of) = &answer.format.of {
        field(&mut text, "total", &**of);
        if !head.gaps.is_empty() {
            text.extend_from_slice(b",\"gaps\":");
            text.extend_from_slice(head.gaps.as_bytes());
        }
    }
    if answer.format.bounded {
        field(&mut text, "interval_of", "bounded");
    }
    field(&mut text, "confidence", &answer.format.confidence);
    match &noise[..] {
        [noise] => field(&mut text, "noise", &NoiseLine { number: None, ..NoiseLine::of(noise) }),
        several => field(&mut text, "noise", &several.iter().map(NoiseLine::of).collect::<Vec<_>>()),
    }
    field(&mut text, "id", head.id);
    field(&mut text, "promise", head.promise);
    text.push(b'}');
    text
}

/// Writes the covariances of an estimate with all coordinates of its key, where they are released.
fn covariances<K, T>(answer: &Answer<K, T>, place: usize, text: &mut Vec<u8>) {
    let EstimatesPerKey::OfKeys { coordinates, covariances } = &answer.format.each else { return };
    let Some(covariances) = covariances.get(place).filter(|covariances| !covariances.is_empty()) else {
        return;
    };
    let point =
        |place: usize| coordinates.get(place).map_or(DecimalPoint::WHOLE, |coordinate| coordinate.point);
    let own = point(place % coordinates.len().max(1));
    let lines: Vec<CovarianceLine<'_>> = (covariances.iter().zip(coordinates.iter()).enumerate())
        .map(|(other, (covariance, coordinate))| {
            let scaled = |number: f64| own.float(coordinate.point.float(number));
            let with = match &coordinate.name {
                Some(name) => CoordinateName::Name(name),
                None => CoordinateName::Place(other),
            };
            CovarianceLine { with, value: scaled(covariance.value), scale: scaled(covariance.scale) }
        })
        .collect();
    field(text, "covariance", &lines);
}

/// The covariance of a line's coordinate with one of its key.
#[derive(Serialize)]
struct CovarianceLine<'a> {
    with: CoordinateName<'a>,
    value: f64,
    scale: f64,
}

#[derive(Serialize)]
#[serde(untagged)]
enum CoordinateName<'a> {
    Name(&'a str),
    Place(usize),
}

#[derive(Serialize)]
struct NoiseLine {
    #[serde(skip_serializing_if = "Option::is_none")]
    number: Option<&'static str>,
    kind: &'static str,
    scale: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    comparisons: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tau: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rank_error: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    above: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    surely: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    alarms: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    alarms_left: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    within: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    over_bound: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    strategy: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    grid: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    assumes: Option<&'static str>,
}

impl NoiseLine {
    fn of(noise: &Noised) -> NoiseLine {
        let within = match noise.ranks {
            Some(Ranks::Behind { within }) => Some(within),
            _ => None,
        };
        let (comparisons, tau, rank_error) = match noise.ranks {
            None | Some(Ranks::Behind { .. }) => (None, None, None),
            Some(Ranks::Below { comparisons, tau, .. } | Ranks::Above { comparisons, tau, .. }) => {
                (comparisons, Some(tau), None)
            }
            Some(Ranks::Within { rank_error, .. }) => (None, None, Some(rank_error)),
        };
        let Noised { number, kind, scale, crossing, over_bound, strategy, assumes, grid, .. } = *noise;
        // As much as anybody reads of it.
        let over_bound = over_bound.map(|over| (over * 1e4).round() / 1e4);
        NoiseLine {
            number: Some(number),
            kind,
            scale,
            comparisons,
            tau,
            rank_error,
            above: crossing.map(|crossing| crossing.above()),
            surely: crossing.map(|crossing| crossing.surely()),
            alarms: crossing.map(|crossing| crossing.alarms()),
            alarms_left: crossing.map(|crossing| crossing.left()),
            within,
            over_bound,
            strategy,
            grid,
            assumes,
        }
    }
}

/// `,"name":value`
pub(super) fn field(text: &mut Vec<u8>, name: &'static str, value: &(impl Serialize + ?Sized)) {
    text.extend_from_slice(b",\"");
    text.extend_from_slice(name.as_bytes());
    text.extend_from_slice(b"\":");
    put(text, value);
}

/// Numbers, text and lists of them have a JSON form, and a vector takes all of it in. What is no number is
/// `null`.
pub(super) fn put(text: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) {
    let _ = value.serialize(&mut Serializer::with_formatter(text, OneLine));
}

/// Compact JSON in which nothing ends a line for any reader: some take U+0085, U+2028 and U+2029 for line
/// ends.
struct OneLine;

impl Formatter for OneLine {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, to: &mut W, fragment: &str) -> io::Result<()> {
        let mut rest = fragment;
        while let Some((at, end)) =
            rest.char_indices().find(|(_, end)| "\u{85}\u{2028}\u{2029}".contains(*end))
        {
            to.write_all(&rest.as_bytes()[..at])?;
            write!(to, "\\u{:04x}", u32::from(end))?;
            rest = &rest[at + end.len_utf8()..];
        }
        to.write_all(rest.as_bytes())
    }
}

/// Every part of it was text, so nothing is replaced.
pub(super) fn written(text: Vec<u8>) -> String {
    String::from_utf8(text).unwrap_or_else(|odd| String::from_utf8_lossy(odd.as_bytes()).into_owned())
}

#[cfg(test)]
mod tests;
