//! Queries and their answers as lines of JSON.

use std::fmt;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::certain::{Certain, DecimalNumber, Estimated};
use super::query::{Asks, Query};
use super::schema::Schema;
use crate::accounting::Interval;
use crate::invalid::{Invalid, InvalidKind};
use crate::mechanisms::lines::{before, field, put, written};
use crate::mechanisms::{DecimalPoint, Estimate, Head, Range, ReleaseLines};
use crate::time;
use crate::time::{Time, in_json};
use crate::words::{listed, meant, quoted};

/// The longest line in bytes: the longest filter with every character escaped, and room for the rest.
const LONGEST: usize = 1 << 19;

const MEMBERS: [&str; 8] = ["id", "analyst", "at", "ask", "count", "mean", "of", "where"];

impl Schema {
    /// Parses a query from a line of JSON, in one of three forms:
    ///
    /// ```text
    /// {"id":"q1","analyst":"ann","at":"2026-11-01T00:00:00Z","count":"age >= 18"}
    /// {"id":"q2","analyst":"ann","mean":"price","of":["0","99.50"],"where":"country = \"DE\""}
    /// {"id":"q3","analyst":"ann","ask":"mean of price in 0..99.50 where country = \"DE\""}
    /// ```
    ///
    /// The members are in any order, each once. `count` and `where` are filters. The two ends of `of` are
    /// numbers or strings of numbers, and are read exactly either way. A date in `at` is its
    /// midnight in the zone of [`dated_in`](Schema::dated_in). Without `at`, the time of the query is `asked_at`.
    ///
    /// ```
    /// use discreet::mechanisms::queries::{Field, Schema};
    ///
    /// let schema = Schema::new([Field::number("age")])?;
    /// let question = schema.question_line(r#"{"id":"q1","analyst":"ann","count":"age >= 18"}"#, 0)?;
    /// assert_eq!(question.text(), "count where age >= 18");
    /// # Ok::<(), discreet::Invalid>(())
    /// ```
    ///
    /// # Errors
    /// Names the member that is missing or wrong, `filter` if a filter cannot be parsed, or `question` if the
    /// line is not an object of these members.
    pub fn question_line(&self, line: &str, asked_at: Time) -> Result<Query, Invalid> {
        let members = Members::read(line)?;
        let analyst = members.text("analyst", "a text")?;
        self.question_of(&analyst, &members, asked_at)
    }

    /// Parses a query of a known analyst, whose name the line may leave out.
    ///
    /// # Errors
    /// As [`question_line`](Schema::question_line), and `analyst` if the line has another one.
    pub fn question_by(&self, analyst: &str, line: &str, asked_at: Time) -> Result<Query, Invalid> {
        let members = Members::read(line)?;
        if members.find("analyst").is_some() && members.text("analyst", "a text")? != analyst {
            let remedy = "no analyst, or the one whose token it is";
            return Err(Invalid::new("analyst", InvalidKind::Mixed, remedy));
        }
        self.question_of(analyst, &members, asked_at)
    }

    fn question_of(&self, analyst: &str, members: &Members<'_>, asked_at: Time) -> Result<Query, Invalid> {
        let id = members.text("id", "a text")?;
        let at = match members.find("at") {
            Some(_) => {
                let moment = "a date or a moment in double quotes, such as \"2026-11-01T00:00:00Z\"";
                let at = time::at_in(&members.text("at", moment)?, self.zone());
                at.map_err(|refused| {
                    let found = refused.found();
                    Invalid::new("at", refused.kind(), refused.remedy().to_owned()).with_found(found)
                })?
            }
            None => asked_at,
        };
        let asking = self.question(analyst, &id, at);
        let refuse = |field: &'static str, kind, remedy| Err(Invalid::new(field, kind, remedy));
        if members.find("ask").is_some() {
            if ["count", "mean", "of", "where"].iter().any(|other| members.find(other).is_some()) {
                return refuse("question", InvalidKind::Mixed, "\"ask\" alone: its text says all of it");
            }
            return asking.text(&members.text("ask", "a question such as \"count where age >= 18\"")?);
        }
        match (members.find("count"), members.find("mean")) {
            (Some(_), Some(_)) => refuse("question", InvalidKind::Mixed, "either \"count\" or \"mean\""),
            (None, None) => refuse(
                "question",
                InvalidKind::Missing,
                "\"count\", or \"mean\" with \"of\" and \"where\", or \"ask\" with a text",
            ),
            (Some(_), None) if members.find("of").or(members.find("where")).is_some() => {
                refuse("question", InvalidKind::Mixed, "\"count\" alone: its filter says which records")
            }
            (Some(_), None) => asking.count(&members.text("count", FILTER)?),
            (None, Some(_)) => {
                let field = members.text("mean", "the name of a field")?;
                let (low, high) = members.ends()?;
                asking.mean(&field, &low, &high, &members.text("where", FILTER)?)
            }
        }
    }
}

const FILTER: &str = "a filter such as \"age >= 18\", or \"all\" for every record";

/// The members of a line: all of them known, and each at most once.
#[derive(Debug)]
struct Members<'a>(Vec<(&'static str, &'a RawValue)>);

impl<'a> Members<'a> {
    fn read(line: &'a str) -> Result<Members<'a>, Invalid> {
        let refuse = |kind, remedy: String| Invalid::new("question", kind, remedy);
        if line.len() > LONGEST {
            return Err(refuse(InvalidKind::TooLarge, format!("a line of at most {LONGEST} bytes")));
        }
        let LineObject(all) = serde_json::from_str(line).map_err(|wrong| {
            let kind =
                if line.trim_ascii().is_empty() { InvalidKind::Missing } else { InvalidKind::Malformed };
            let like = r#"one object of JSON, such as {"id":"q1","analyst":"ann","count":"age >= 18"};"#;
            refuse(kind, format!("{like} what is at column {} belongs to none", wrong.column()))
        })?;
        let mut members = Members(Vec::new());
        for (name, value) in all {
            let Some(known) = MEMBERS.into_iter().find(|known| *known == name) else {
                let meant = meant(&name, &MEMBERS).map(|meant| format!(" (did you mean {meant}?)"));
                let remedy =
                    format!("no {}: {} are known", quoted(&name), listed(&MEMBERS).replace(" or ", " and "));
                return Err(refuse(InvalidKind::Malformed, remedy + &meant.unwrap_or_default()));
            };
            if members.find(known).is_some() {
                return Err(refuse(InvalidKind::Mixed, format!("\"{known}\" once")));
            }
            members.0.push((known, value));
        }
        Ok(members)
    }

    fn find(&self, name: &str) -> Option<&'a RawValue> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }

    fn text(&self, name: &'static str, due: &'static str) -> Result<String, Invalid> {
        let value = self.find(name).ok_or_else(|| Invalid::new(name, InvalidKind::Missing, due))?;
        serde_json::from_str(value.get()).map_err(|_| Invalid::new(name, InvalidKind::Malformed, due))
    }

    /// Returns the text of the two ends of a range. A number keeps its digits as written, without a
    /// conversion to a float.
    fn ends(&self) -> Result<(String, String), Invalid> {
        let refuse = |kind| {
            Invalid::new("of", kind, "the least and the largest value that count, such as [\"0\", \"99.50\"]")
        };
        let value = self.find("of").ok_or_else(|| refuse(InvalidKind::Missing))?;
        let ends: Vec<&RawValue> =
            serde_json::from_str(value.get()).map_err(|_| refuse(InvalidKind::Malformed))?;
        let end = |value: &RawValue| match value.get() {
            text if text.starts_with('"') => serde_json::from_str(text).ok(),
            number if number.starts_with(|first: char| first == '-' || first.is_ascii_digit()) => {
                Some(number.to_owned())
            }
            _ => None,
        };
        match ends[..] {
            [low, high] => end(low).zip(end(high)).ok_or_else(|| refuse(InvalidKind::Malformed)),
            [] => Err(refuse(InvalidKind::Empty)),
            _ => Err(refuse(InvalidKind::Malformed)),
        }
    }
}

/// A JSON object with all of its members, duplicates included.
pub(in crate::mechanisms) struct LineObject<'a>(pub(in crate::mechanisms) Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for LineObject<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<LineObject<'de>, D::Error> {
        struct All;
        impl<'de> Visitor<'de> for All {
            type Value = LineObject<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<LineObject<'de>, A::Error> {
                let mut all = Vec::new();
                while let Some(member) = map.next_entry()? {
                    all.push(member);
                }
                Ok(LineObject(all))
            }
        }
        deserializer.deserialize_map(All)
    }
}

// The line of an answer.

/// The outcome of a query: an answer with a bounded error, or a refusal, because the bundle had no answer
/// left for the analyst or could not record another one.
#[derive(Clone, Debug, PartialEq)]
pub struct Answered {
    pub(super) question: Query,
    pub(super) version: Interval,
    pub(super) estimate: Option<Estimated>,
    /// The decimal point of the queried field.
    pub(super) point: DecimalPoint,
    pub(super) law: Arc<BundleNoise>,
    pub(super) used: u64,
    pub(super) left: u64,
}

/// The noise of a bundle.
#[derive(Debug, PartialEq)]
pub(super) struct BundleNoise {
    pub(super) shape: String,
    pub(super) certain: Certain,
}

/// Writes the line
///
/// ```text
/// {"release":"study","window":{..},"part":"5f..","question":"q1","analyst":"ann","at":"2026-11-01T00:00:00Z","asked":"count where age >= 18","version":{..},"value":1234.5,"interval":[1068,1401],"confidence":1,"noise":{"kind":"bounded","shape":"polynomial:5","bound":166.98,"scale":46.3},"used":3,"left":97,"id":"7a..","promise":".."}
/// ```
///
/// in this order, without spaces. The window is the one that the bundle was paid for, and the version is the
/// window whose records were queried. The confidence is 1: the interval contains the true value with
/// certainty, and the value of a count is no farther from it than the bound. A mean has two noises: that of
/// its sum, in units of the field, and that of its count. A refusal has `"refused":"bundle"` in place of the
/// members from the value to the noise.
impl ReleaseLines for Answered {
    fn lines(&self, head: &Head<'_>) -> String {
        let mut text = before(head);
        field(&mut text, "part", &self.question.part().to_string());
        field(&mut text, "question", self.question.id());
        field(&mut text, "analyst", self.question.analyst());
        copied(&mut text, "at", &in_json(self.question.at()));
        field(&mut text, "asked", &self.question.text());
        let (start, end) = (in_json(self.version.start()), in_json(self.version.end()));
        copied(&mut text, "version", &format!("{{\"start\":{start},\"end\":{end}}}"));
        match &self.estimate {
            Some(estimate) => self.estimated(estimate, &mut text),
            None => field(&mut text, "refused", "bundle"),
        }
        field(&mut text, "used", &self.used);
        field(&mut text, "left", &self.left);
        field(&mut text, "id", head.id);
        field(&mut text, "promise", head.promise);
        text.push(b'}');
        written(text)
    }
}

impl Answered {
    /// Returns the answer, in records or in units of the field, with an interval that contains the true value
    /// with certainty; `None` for a refusal.
    pub fn estimate(&self) -> Option<Estimate<f64>> {
        let float = |number: DecimalNumber| number.1.float(number.0 as f64);
        self.estimate
            .map(|Estimated { value, low, high }| Estimate::between(float(low), float(value), float(high)))
    }

    /// Returns the number of answers of the analyst's share that are left after this one.
    pub fn left(&self) -> u64 {
        self.left
    }

    fn estimated(&self, estimate: &Estimated, text: &mut Vec<u8>) {
        let shown = |number: DecimalNumber| number.1.shown(number.0);
        copied(text, "value", &shown(estimate.value));
        copied(text, "interval", &format!("[{},{}]", shown(estimate.low), shown(estimate.high)));
        copied(text, "confidence", "1");
        let BundleNoise { certain, .. } = &*self.law;
        let bound = shown(certain.bound());
        let scale = certain.deviation / certain.steps.count() as f64;
        match self.question.asks() {
            Asks::Count => copied(text, "noise", &self.noise(None, &bound, scale)),
            Asks::Mean { range, .. } => {
                let (most, deviation) = certain.sum(range);
                let most = json(&self.point.float(most));
                let sum = self.noise(Some("sum"), &most, self.point.float(deviation));
                let records = self.noise(Some("records"), &bound, scale);
                copied(text, "noise", &format!("[{sum},{records}]"));
            }
        }
    }

    fn noise(&self, number: Option<&str>, bound: &str, scale: f64) -> String {
        let number = number.map_or(String::new(), |number| format!("\"number\":\"{number}\","));
        let (shape, scale) = (json(&self.law.shape), json(&scale));
        format!("{{{number}\"kind\":\"bounded\",\"shape\":{shape},\"bound\":{bound},\"scale\":{scale}}}")
    }
}

impl Certain {
    /// Returns the reach and the standard deviation of a sum's noise, in steps of its field; the reach is
    /// rounded up.
    fn sum(&self, range: &Range) -> (f64, f64) {
        let each = range.high().abs_diff(range.low()) as f64 / 2.0 / self.steps.unit(range) as f64;
        (self.reach as f64 * each * (1.0 + 8.0 * f64::EPSILON), self.deviation * each)
    }
}

/// Writes a member whose value is JSON already.
fn copied(text: &mut Vec<u8>, name: &'static str, json: &str) {
    text.extend_from_slice(b",\"");
    text.extend_from_slice(name.as_bytes());
    text.extend_from_slice(b"\":");
    text.extend_from_slice(json.as_bytes());
}

fn json(value: &(impl serde::Serialize + ?Sized)) -> String {
    let mut text = Vec::new();
    put(&mut text, value);
    written(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::mechanisms::Range;
    use crate::mechanisms::queries::{Asks, Field};

    fn schema() -> Schema {
        let fields =
            [Field::number("age"), Field::decimal("price", 2), Field::text("country"), Field::time("when")];
        Schema::new(fields).unwrap().of_person("client").unwrap()
    }

    #[test]
    fn a_line_is_the_question_that_is_asked_in_code() {
        let schema = schema();
        let read = |line: &str| schema.question_line(line, 7).unwrap();
        let count = schema.question("ann", "q1", 1_000_000).count("age >= 18").unwrap();
        let line = r#" {"id":"q1","analyst":"\u0061nn","at":"1970-01-01T00:00:01Z","count":"age >= 18"} "#;
        assert_eq!(read(line), count);
        assert_eq!((count.takes(), count.text().as_str()), (1, "count where age >= 18"));
        let mean = schema.question("ann", "q2", 7).mean("price", "-1.5", "100", "country = \"DE\"").unwrap();
        for of in [r#"["-1.5","100"]"#, "[-1.50, 1E+2]", r#"[-15e-1, "100.000"]"#] {
            let line = format!(
                r#"{{"where":"country = \"DE\"","of":{of},"mean":"price","analyst":"ann","id":"q2"}}"#
            );
            assert_eq!(read(&line), mean);
        }
        assert_eq!(mean.asks(), &Asks::Mean { field: 1, range: Range::new(-150, 10_000).unwrap() });
        assert_eq!((mean.takes(), mean.at()), (2, 7));
        assert_eq!(mean.text(), "mean of price in -1.5..100 where country = \"DE\"");
    }

    // Refutes a number that is converted to a float on its way.
    #[test]
    fn numbers_are_read_as_they_are_written() {
        let line = r#"{"id":"q","analyst":"a","mean":"age","of":[-9007199254740993,9223372036854775807],"where":"all"}"#;
        let question = schema().question_line(line, 0).unwrap();
        let range = Range::new(-9_007_199_254_740_993, i64::MAX).unwrap();
        assert_eq!(question.asks(), &Asks::Mean { field: 0, range });
        let line = r#"{"id":"q","analyst":"a","mean":"price","of":[0,0.10000000000000000001],"where":"all"}"#;
        assert_eq!(schema().question_line(line, 0).unwrap_err().field(), "of");
    }

    // Refutes an ambiguous line that is accepted, and an error that does not name the member.
    #[test]
    fn what_is_wrong_with_a_line_is_named() {
        let long = "x".repeat(129);
        let named = |id: &str, analyst: &str| {
            let (id, analyst) = (serde_json::to_string(id).unwrap(), serde_json::to_string(analyst).unwrap());
            format!(r#"{{"id":{id},"analyst":{analyst},"count":"all"}}"#)
        };
        let rest = |rest: &str| format!(r#"{{"id":"q","analyst":"a",{rest}}}"#);
        for (line, field, kind, words) in [
            (String::new(), "question", InvalidKind::Missing, "one object of JSON"),
            ("[1]".into(), "question", InvalidKind::Malformed, "one object of JSON, such as {\"id\""),
            ("{".into(), "question", InvalidKind::Malformed, "at column 1"),
            (named("q", "a") + "{}", "question", InvalidKind::Malformed, "one object of JSON"),
            ("[".repeat(100_000), "question", InvalidKind::Malformed, "one object of JSON"),
            (
                rest(&format!("\"count\":{}", "[".repeat(100_000))),
                "question",
                InvalidKind::Malformed,
                "one object",
            ),
            (rest(&"\"x\":1,".repeat(100_000)), "question", InvalidKind::TooLarge, "at most 524288 bytes"),
            (r#"{"analyst":"a","count":"all"}"#.into(), "id", InvalidKind::Missing, "a text"),
            (r#"{"id":"q","count":"all"}"#.into(), "analyst", InvalidKind::Missing, "a text"),
            (r#"{"id":7,"analyst":"a","count":"all"}"#.into(), "id", InvalidKind::Malformed, "a text"),
            (named("", "a"), "id", InvalidKind::Missing, "1 to 128 printable characters"),
            (named(&long, "a"), "id", InvalidKind::TooLarge, "1 to 128 printable characters"),
            (named("q", "a\u{202e}nn"), "analyst", InvalidKind::Malformed, "1 to 128 printable characters"),
            (named("q", "a\nb"), "analyst", InvalidKind::Malformed, "1 to 128 printable characters"),
            (rest(r#""count":"all","cuont":"all""#), "question", InvalidKind::Malformed, "no \"cuont\": "),
            (
                rest(r#""count":"all","cuont":"all""#),
                "question",
                InvalidKind::Malformed,
                "(did you mean count?)",
            ),
            (rest(r#""count":"all","id":"r""#), "question", InvalidKind::Mixed, "\"id\" once"),
            (
                rest(r#""count":"all","mean":"age""#),
                "question",
                InvalidKind::Mixed,
                "either \"count\" or \"mean\"",
            ),
            (rest(r#""count":"all","where":"all""#), "question", InvalidKind::Mixed, "\"count\" alone"),
            (rest(r#""at":"2026-11-01""#), "question", InvalidKind::Missing, "\"count\", or \"mean\""),
            (
                rest(r#""at":"today","count":"all""#),
                "at",
                InvalidKind::Malformed,
                "a date or a moment with its zone",
            ),
            (rest(r#""at":null,"count":"all""#), "at", InvalidKind::Malformed, "a moment in double quotes"),
            (rest(r#""count":"agee > 1""#), "filter", InvalidKind::Malformed, "(did you mean age?)"),
            (rest(r#""count":true"#), "count", InvalidKind::Malformed, "a filter such as"),
            (rest(r#""count":"""#), "filter", InvalidKind::Missing, "\"all\" for every record"),
            (rest(r#""mean":"age","of":[0,1]"#), "where", InvalidKind::Missing, "a filter such as"),
            (rest(r#""mean":"age","where":"all""#), "of", InvalidKind::Missing, "the least and the largest"),
            (
                rest(r#""mean":"age","of":[],"where":"all""#),
                "of",
                InvalidKind::Empty,
                "the least and the largest",
            ),
            (rest(r#""mean":"age","of":[1,2,3],"where":"all""#), "of", InvalidKind::Malformed, "the least"),
            (rest(r#""mean":"age","of":[1,null],"where":"all""#), "of", InvalidKind::Malformed, "the least"),
            (
                rest(r#""mean":"age","of":[1,1],"where":"all""#),
                "of",
                InvalidKind::TooSmall,
                "the first below the second",
            ),
            (
                rest(r#""mean":"age","of":[1,1.5],"where":"all""#),
                "of",
                InvalidKind::TooSmall,
                "a whole number",
            ),
            (
                rest(r#""mean":"age","of":["","1"],"where":"all""#),
                "of",
                InvalidKind::Missing,
                "a whole number",
            ),
            (
                rest(r#""mean":"agee","of":[0,1],"where":"all""#),
                "mean",
                InvalidKind::Malformed,
                "(did you mean age?)",
            ),
            (
                rest(r#""mean":"client","of":[0,1],"where":"all""#),
                "mean",
                InvalidKind::Malformed,
                "nobody may ask",
            ),
            (
                rest(r#""mean":"country","of":[0,1],"where":"all""#),
                "mean",
                InvalidKind::Mixed,
                "a field of numbers",
            ),
            (
                rest(r#""mean":"when","of":[0,1],"where":"all""#),
                "mean",
                InvalidKind::Mixed,
                "a field of numbers",
            ),
        ] {
            let refused = schema().question_line(&line, 0).unwrap_err();
            assert_eq!((refused.field(), refused.kind()), (field, kind), "{refused}");
            assert!(refused.remedy().contains(words), "{refused}");
            assert!(refused.to_string().len() < 400, "{refused}");
        }
    }

    // Refutes a date that is read in UTC where the schema has another zone, and a moment that is read in it.
    #[test]
    fn a_date_is_its_midnight_in_the_zone_of_the_schema() {
        let berlin = schema().dated_in(time::Zone::named("Europe/Berlin").unwrap());
        let asked = |schema: &Schema, at: &str| {
            let line = format!(r#"{{"id":"q","analyst":"ann","at":"{at}","count":"all"}}"#);
            schema.question_line(&line, 0).map(|question| question.at())
        };
        assert_eq!(asked(&schema(), "2026-11-29"), time::at("2026-11-29"));
        assert_eq!(asked(&berlin, "2026-11-29"), time::at("2026-11-28T23:00:00Z"));
        assert_eq!(asked(&berlin, "2026-11-29T00:00:00Z"), time::at("2026-11-29"));
        let havana = schema().dated_in(time::Zone::named("America/Havana").unwrap());
        let refused = asked(&havana, "2025-11-02").unwrap_err().to_string();
        assert!(
            refused.starts_with("at: found a date that has two midnights in the zone; give the moment"),
            "{refused}"
        );
    }

    // Refutes an identity that depends on the aggregate or the filter, and one under which two pairs of names
    // collide.
    #[test]
    fn a_question_is_known_by_its_analyst_and_its_id() {
        let schema = schema();
        let part = |analyst, id, filter| schema.question(analyst, id, 0).count(filter).unwrap().part();
        assert_eq!(part("ann", "q", "all"), part("ann", "q", "age = 1"));
        assert_ne!(part("ann", "q", "all"), part("bob", "q", "all"));
        assert_ne!(part("ab", "c", "all"), part("a", "bc", "all"));
    }

    proptest! {
        #[test]
        fn no_line_is_too_much(words in prop::collection::vec(prop::sample::select(vec![
            "{", "}", "\"id\":", "\"analyst\":", "\"at\":", "\"count\":", "\"mean\":", "\"of\":", "\"where\":", "\"a\"",
            "\"all\"", ",", "[", "]", "1", "-", "0.5", "\"", "\\", "null", "é", " ",
        ]), 0..40)) {
            let _ = schema().question_line(&words.concat(), 0);
            let _ = schema().question_line(&format!("{{\"id\":\"q\",\"analyst\":\"a\",{}}}", words.concat()), 0);
        }
    }
}
