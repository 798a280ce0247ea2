//! The first thing that is wrong with a damaged line, by the name of its field. Nothing of the line is quoted:
//! it may be any text.

use std::error::Error;
use std::fmt;

use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::{LineWindow, ReleaseLine};
use crate::mechanisms::queries::{LineObject, ReleasedAnswer};
use crate::time::moment;

/// The error of a line that is no released line: its field, and what to give.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineError {
    field: &'static str,
    found: String,
    remedy: String,
}

impl LineError {
    pub(crate) fn new(field: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> LineError {
        LineError { field, found: found.into(), remedy: remedy.into() }
    }

    /// Returns the field of the line, or `line` if it is no object of JSON.
    pub fn field(&self) -> &str {
        self.field
    }
}

impl fmt::Display for LineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: found {}; give {}", self.field, self.found, self.remedy)
    }
}

impl Error for LineError {}

/// The form of a field's value.
#[derive(Clone, Copy)]
enum Form {
    Text,
    /// A text, a number, or the parts of a key.
    Key,
    Number,
    /// A number, or null where there is none.
    Open,
    Whole,
    Truth,
    Window,
    Windows,
    /// Two numbers, of which each may be null.
    Ends,
    Noise,
    /// A part of a budget.
    Amount,
    Moment,
}

/// Every field of a line, with the form of its value.
const FIELDS: &[(&str, Form)] = &[
    ("release", Form::Text),
    ("window", Form::Window),
    ("key", Form::Key),
    ("rollup", Form::Truth),
    ("q", Form::Number),
    ("of", Form::Key),
    ("value", Form::Open),
    ("interval", Form::Ends),
    ("insufficient", Form::Truth),
    ("fitted", Form::Number),
    ("fitted_by", Form::Text),
    ("total", Form::Text),
    ("gaps", Form::Windows),
    ("interval_of", Form::Text),
    ("confidence", Form::Number),
    ("noise", Form::Noise),
    ("id", Form::Text),
    ("promise", Form::Text),
    ("demo", Form::Truth),
    ("tally", Form::Open),
    ("truth", Form::Open),
    ("off", Form::Open),
    ("closed", Form::Truth),
    ("cells", Form::Whole),
    ("seq", Form::Whole),
    ("chain", Form::Text),
    ("ledger", Form::Text),
    ("refused", Form::Text),
    ("account", Form::Text),
    ("spent", Form::Amount),
    ("asked", Form::Amount),
    ("limit", Form::Amount),
    ("skipped", Form::Truth),
    ("lost", Form::Truth),
    ("why", Form::Text),
    ("part", Form::Text),
    ("question", Form::Text),
    ("analyst", Form::Text),
    ("at", Form::Moment),
    ("version", Form::Window),
    ("used", Form::Whole),
    ("left", Form::Whole),
];

impl Form {
    fn is_of(self, text: &str) -> bool {
        let number = |text: &str| serde_json::from_str::<f64>(text).is_ok_and(f64::is_finite);
        match self {
            Form::Text => serde_json::from_str::<String>(text).is_ok(),
            Form::Key => {
                Form::Text.is_of(text) || number(text) || serde_json::from_str::<Vec<String>>(text).is_ok()
            }
            Form::Number => number(text),
            Form::Open => text == "null" || number(text),
            Form::Whole => serde_json::from_str::<i64>(text).is_ok(),
            Form::Truth => matches!(text, "true" | "false"),
            Form::Window => serde_json::from_str(text).is_ok_and(|window| is_window(&window)),
            Form::Windows => {
                serde_json::from_str::<Vec<LineWindow<'_>>>(text).is_ok_and(|all| all.iter().all(is_window))
            }
            Form::Ends => {
                let ends = serde_json::from_str::<[&RawValue; 2]>(text);
                ends.is_ok_and(|ends| ends.iter().all(|end| Form::Open.is_of(end.get())))
            }
            Form::Noise => match text.starts_with('[') {
                true => serde_json::from_str::<Vec<&RawValue>>(text)
                    .is_ok_and(|all| !all.is_empty() && all.iter().all(|noise| is_noise(noise.get()))),
                false => is_noise(text),
            },
            Form::Amount => Form::Text.is_of(text) || text.starts_with('{'),
            Form::Moment => serde_json::from_str::<String>(text).is_ok_and(|at| moment(&at).is_some()),
        }
    }

    fn remedy(self) -> &'static str {
        match self {
            Form::Text => "a text",
            Form::Key => "a text, a number, or a list of texts",
            Form::Number => "a number",
            Form::Open => "a number, or null",
            Form::Whole => "a whole number",
            Form::Truth => "true or false",
            Form::Window => "a start and an end, each a moment, in this order of time",
            Form::Windows => "a list of windows, each with a start and an end",
            Form::Ends => "two numbers; an end that is open is null",
            Form::Noise => "the kind and the scale of each noise",
            Form::Amount => "an amount such as {\"rho\":0.5}",
            Form::Moment => "a moment such as \"2026-01-01T00:00:00Z\"",
        }
    }
}

/// Returns true if a window has a start and, behind it, an end or none.
fn is_window(window: &LineWindow<'_>) -> bool {
    let start = window.start.map(moment);
    match (start, window.end.map(moment)) {
        (Some(Some(start)), Some(Some(end))) => start < end,
        (None | Some(Some(_)), None) | (None, Some(Some(_))) => true,
        _ => false,
    }
}

fn is_noise(text: &str) -> bool {
    let Ok(LineObject(members)) = serde_json::from_str(text) else { return false };
    let has = |name: &str, form: Form| {
        members.iter().any(|(member, value)| member == name && form.is_of(value.get()))
    };
    has("kind", Form::Text) && has("scale", Form::Number)
}

impl<'a> ReleaseLine<'a> {
    /// Parses a line as [`ReleaseLine::read`] does; a damaged one is refused by the name of its field.
    pub(crate) fn parse(text: &'a str) -> Result<ReleaseLine<'a>, LineError> {
        let names = members(text)?;
        if let Some(field) = missing(&names) {
            return Err(LineError::new(field, "nothing", due(field)));
        }
        ReleaseLine::read(text).ok_or_else(|| LineError::new("line", "no line of a release", EXAMPLE))
    }
}

impl ReleasedAnswer {
    /// Reads the release, the window and the answer of a line that answers a query; `None` if it is of none.
    pub(crate) fn parse(text: &str) -> Result<Option<ReleasedAnswer>, LineError> {
        let names = members(text)?;
        if !names.iter().any(|name| name == "question") {
            return Ok(None);
        }
        let unlike = || LineError::new("line", "no answer of a query", EXAMPLE);
        let own = ["release", "window", "analyst", "at", "asked", "version", "used", "left", "id", "promise"];
        let answer = ["value", "interval", "confidence", "noise"];
        let is_refused = names.iter().any(|name| name == "refused");
        let needed = own.into_iter().chain(answer.into_iter().filter(|_| !is_refused));
        if let Some(field) = first_missing(&names, needed) {
            return Err(LineError::new(field, "nothing", due(field)));
        }
        ReleasedAnswer::read(text).map(Some).ok_or_else(unlike)
    }
}

/// The remedy of a text that is no line.
const EXAMPLE: &str =
    "one line of JSON as a run or a replay writes it, {\"release\":..}, whole and unchanged";

/// Returns the names of the members of a line, each of which has a value of its form.
fn members(text: &str) -> Result<Vec<String>, LineError> {
    if text.trim_ascii().is_empty() {
        return Err(LineError::new("line", "nothing", EXAMPLE));
    }
    let LineObject(members) = serde_json::from_str(text).map_err(|wrong| {
        let found = match serde_json::from_str::<IgnoredAny>(text) {
            Ok(_) => "a value of JSON that is no object".to_owned(),
            Err(_) => format!("no JSON from column {} on", wrong.column()),
        };
        LineError::new("line", found, EXAMPLE)
    })?;
    let is_query = members.iter().any(|(name, _)| name == "question");
    for &(field, form) in FIELDS {
        // An amount in a refusal, and the text of a query.
        let form = if field == "asked" && is_query { Form::Text } else { form };
        let mut values = members.iter().filter(|(name, _)| name == field);
        match (values.next(), values.next()) {
            (Some(_), Some(_)) => return Err(LineError::new(field, "the field twice", "it once")),
            (Some((_, value)), None) if !form.is_of(value.get()) => {
                return Err(LineError::new(field, "another value", form.remedy()));
            }
            _ => {}
        }
    }
    Ok(members.into_iter().map(|(name, _)| name).collect())
}

/// Returns the first field that a line of these fields lacks.
fn missing(names: &[String]) -> Option<&'static str> {
    let has = |name: &str| names.iter().any(|known| known == name);
    let own: &[&str] = if has("closed") {
        &["cells", "seq", "chain"]
    } else if has("refused") {
        &["account", "spent", "asked", "limit"]
    } else if has("skipped") || has("lost") {
        &[]
    } else {
        &["value", "interval", "confidence", "noise", "id", "promise"]
    };
    first_missing(names, ["release", "window"].into_iter().chain(own.iter().copied()))
}

fn first_missing(names: &[String], mut needed: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    needed.find(|field| !names.iter().any(|name| name == field))
}

/// Returns the remedy of a field that is missing.
fn due(field: &str) -> &'static str {
    FIELDS.iter().find(|(name, _)| *name == field).map_or(EXAMPLE, |(_, form)| form.remedy())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CELL: &str = r#"{"release":"visits","window":{"start":"2026-11-01T00:00:00Z","end":"2026-11-02T00:00:00Z"},"key":"secret","value":12,"interval":[10,null],"confidence":0.9,"noise":{"kind":"gaussian","scale":7.0},"id":"5f","promise":"lifetime, a person, rho 0.1","demo":true,"tally":3,"truth":null}"#;

    fn refused(text: &str) -> String {
        let error = ReleaseLine::parse(text).unwrap_err();
        assert!(!error.to_string().contains("secret"), "{error}");
        error.to_string()
    }

    // Refutes an error that names another field, and one that quotes the line.
    #[test]
    fn a_damaged_line_is_refused_by_its_field() {
        assert!(ReleaseLine::parse(CELL).is_ok());
        for (old, new, error) in [
            ("\"value\":12", "\"value\":\"secret\"", "value: found another value; give a number, or null"),
            ("\"value\":12,", "", "value: found nothing; give a number, or null"),
            ("\"visits\"", "7", "release: found another value; give a text"),
            ("\"release\":\"visits\",", "", "release: found nothing; give a text"),
            (
                "[10,null]",
                "[10]",
                "interval: found another value; give two numbers; an end that is open is null",
            ),
            ("[10,null]", "[10,\"secret\"]", "interval: found another value; "),
            ("0.9", "\"0.9\"", "confidence: found another value; give a number"),
            (
                "\"kind\":\"gaussian\",",
                "",
                "noise: found another value; give the kind and the scale of each noise",
            ),
            ("7.0", "true", "noise: found another value; "),
            ("{\"kind\":\"gaussian\",\"scale\":7.0}", "[]", "noise: found another value; "),
            ("2026-11-02", "2026-10-02", "window: found another value; give a start and an end"),
            ("2026-11-02", "secret", "window: found another value; "),
            ("\"id\":\"5f\",", "", "id: found nothing; give a text"),
            ("\"id\":\"5f\",", "\"id\":\"5f\",\"id\":\"secret\",", "id: found the field twice; give it once"),
            ("\"demo\":true", "\"demo\":1", "demo: found another value; give true or false"),
            ("\"tally\":3", "\"tally\":[\"secret\"]", "tally: found another value; give a number, or null"),
            (
                "\"key\":\"secret\"",
                "\"key\":{\"secret\":1}",
                "key: found another value; give a text, a number, or a list of texts",
            ),
            ("\"truth\":null}", "\"truth\":nul", "line: found no JSON from column "),
        ] {
            assert!(CELL.contains(old), "{old}");
            let found = refused(&CELL.replacen(old, new, 1));
            assert!(found.starts_with(error), "{new}: {found}");
        }
        assert!(refused("").starts_with("line: found nothing; give one line of JSON"));
        assert!(refused("[\"secret\"]").starts_with("line: found a value of JSON that is no object; "));
        assert!(refused("release,secret").starts_with("line: found no JSON from column 1 on; "));
        let head = &CELL[..CELL.find(",\"key\"").unwrap()];
        assert_eq!(
            refused(&format!("{head},\"closed\":true,\"cells\":3,\"chain\":\"a\"}}")),
            "seq: found nothing; give a whole number"
        );
        let refusal = r#""refused":"budget","account":"a","spent":{"rho":1},"asked":3,"limit":{"rho":1}"#;
        assert!(refused(&format!("{head},{refusal}}}")).starts_with("asked: found another value; "));
        assert!(
            refused(&format!("{head},\"skipped\":false}}")).starts_with("line: found no line of a release")
        );
    }

    // Refutes an answer of a query that is taken for the cell of a window, and one whose damage is not found.
    #[test]
    fn an_answer_of_a_query_is_parsed_as_one() {
        assert_eq!(ReleasedAnswer::parse(CELL), Ok(None));
        let window = r#"{"start":"2026-11-01T00:00:00Z","end":"2026-11-02T00:00:00Z"}"#;
        let line = format!(
            r#"{{"release":"study","window":{window},"part":"5f","question":"q1","analyst":"ann","at":"2026-11-02T09:00:00Z","asked":"count where age >= 18","version":{window},"value":12.5,"interval":[-3,28],"confidence":1,"noise":{{"kind":"bounded","shape":"polynomial:5","bound":15.5,"scale":4.5}},"used":3,"left":97,"id":"7a","promise":"lifetime, a person, rho 0.1"}}"#
        );
        assert_eq!(ReleasedAnswer::parse(&line).unwrap().unwrap().left, 97);
        let damaged = line.replace(",\"left\":97", "");
        assert_eq!(
            ReleasedAnswer::parse(&damaged).unwrap_err().to_string(),
            "left: found nothing; give a whole number"
        );
        let damaged = line.replace("2026-11-02T09:00:00Z", "nine");
        assert_eq!(ReleasedAnswer::parse(&damaged).unwrap_err().field(), "at");
    }
}
