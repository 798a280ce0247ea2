//! Lines of JSON objects: their wanted fields.
//!
//! A name with dots is a path: `user.id` is the field `id` of the object in the field `user`. A line that has
//! a field of that very name, dot and all, at its top has what stands there, null included; only otherwise is
//! the path followed.

use std::fmt;
use std::sync::Arc;

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::Bad;
use crate::job::sources::wanted::LineCells;

/// The wanted fields, each with its cell.
#[derive(Clone)]
pub(in crate::job::sources) struct WantedNames(Arc<Level>);

/// The names of the objects at one depth.
#[derive(Debug, Default)]
struct Level(Vec<JsonEntry>);

#[derive(Debug)]
struct JsonEntry {
    name: String,
    /// The cell of this name's own value.
    cell: Option<usize>,
    /// The wanted fields of the object that is its value.
    inside: Option<Level>,
}

/// The largest number of steps of a path; a longer name is not followed.
const DEEPEST: usize = 64;

impl WantedNames {
    pub(in crate::job::sources) fn new(fields: &[String]) -> WantedNames {
        let mut top = Level::default();
        for (cell, field) in fields.iter().enumerate() {
            top.entry(field).cell = Some(cell);
            let Some((path, last)) = field.rsplit_once('.') else { continue };
            if path.split('.').count() >= DEEPEST {
                continue;
            }
            let inner = path
                .split('.')
                .fold(&mut top, |level, step| level.entry(step).inside.get_or_insert_default());
            inner.entry(last).cell = Some(cell);
        }
        WantedNames(Arc::new(top))
    }

    pub(super) fn read(&self, line: &[u8], cells: &mut LineCells) -> Result<(), Bad> {
        self.parse(line, cells, &mut SeenCells::default()).map_err(|_| Bad)
    }

    fn parse(&self, line: &[u8], cells: &mut LineCells, seen: &mut SeenCells) -> serde_json::Result<()> {
        let mut json = serde_json::Deserializer::from_slice(line);
        json.deserialize_map(JsonObject { level: &self.0, line, cells, seen, depth: 0 })?;
        json.end()
    }

    /// The cell for which a line cannot be read, if it is one, and the kind of what stands there.
    pub(super) fn fault(&self, line: &[u8], cells: &mut LineCells) -> (Option<usize>, &'static str) {
        let mut seen = SeenCells::default();
        let _ = self.parse(line, cells, &mut seen);
        match (seen.at, seen.found) {
            (Some(cell), Some(found)) => (Some(cell), found),
            (cell, _) if str::from_utf8(line).is_err() => (cell, "bytes that are no UTF-8"),
            (Some(cell), None) => (Some(cell), "no JSON value"),
            (None, _) => (None, "no JSON object"),
        }
    }
}

impl Level {
    fn entry(&mut self, name: &str) -> &mut JsonEntry {
        let at = self.0.iter().position(|entry| entry.name == name).unwrap_or_else(|| {
            self.0.push(JsonEntry { name: name.to_owned(), cell: None, inside: None });
            self.0.len() - 1
        });
        &mut self.0[at]
    }
}

/// The cells, of the first 64, to which the line has given a value or a null: at its top, and by a path.
#[derive(Default)]
struct SeenCells {
    top: u64,
    path: u64,
    /// The cell of the field that is being read.
    at: Option<usize>,
    /// The kind of its value, if that is none for a cell.
    found: Option<&'static str>,
}

struct JsonObject<'a> {
    level: &'a Level,
    line: &'a [u8],
    cells: &'a mut LineCells,
    seen: &'a mut SeenCells,
    depth: usize,
}

impl<'de> Visitor<'de> for JsonObject<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        while let Some(entry) = map.next_key_seed(KnownKey(self.level))? {
            let Some(entry) = entry else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            self.seen.at = entry.cell;
            let value = map.next_value::<&RawValue>()?.get();
            if let Some(cell) = entry.cell
                && let Err(found) = self.take(cell, value)
            {
                self.seen.found = Some(found);
                return Err(A::Error::custom(found));
            }
            if let Some(inside) = &entry.inside {
                self.look_inside(inside, value).map_err(A::Error::custom)?;
            }
            self.seen.at = None;
        }
        Ok(())
    }
}

impl JsonObject<'_> {
    /// Takes a value for a cell. A null is no value, and is recorded too: a second value under its name makes
    /// the line bad.
    fn take(&mut self, cell: usize, value: &str) -> Result<(), &'static str> {
        let bit = 1u64.checked_shl(cell as u32).unwrap_or(0);
        let has = self.cells.has(cell);
        let (own, other) = match self.depth {
            0 => (&mut self.seen.top, self.seen.path),
            _ => (&mut self.seen.path, self.seen.top),
        };
        if *own & bit != 0 || (bit == 0 && has) {
            return Err("a second value");
        }
        *own |= bit;
        if other & bit != 0 {
            // A field at the top takes precedence over a path, in whichever order they come.
            if self.depth > 0 {
                return Ok(());
            }
            self.cells.forget(cell);
        }
        match value.as_bytes() {
            b"null" => {}
            [b'"', inner @ .., b'"'] if !inner.contains(&b'\\') => self.point(cell, inner),
            [b'"', ..] => {
                let text: String = serde_json::from_str(value).map_err(|_| "half of a surrogate pair")?;
                self.cells.write(cell, |beside| beside.extend_from_slice(text.as_bytes()));
            }
            _ => {
                plain(value)?;
                self.point(cell, value.as_bytes());
            }
        }
        Ok(())
    }

    /// Reads the wanted fields of the object in a field; any other value has no fields.
    fn look_inside(&mut self, level: &Level, value: &str) -> Result<(), &'static str> {
        if !value.starts_with('{') {
            return Ok(());
        }
        let (line, depth) = (self.line, self.depth + 1);
        let object = JsonObject { level, line, cells: self.cells, seen: self.seen, depth };
        let mut json = serde_json::Deserializer::from_str(value);
        json.deserialize_map(object).map_err(|_| "no object")
    }

    /// Takes bytes of the line for a cell.
    fn point(&mut self, cell: usize, bytes: &[u8]) {
        // They are borrowed from the line, so their addresses give their position in it.
        let from = bytes.as_ptr().addr().wrapping_sub(self.line.as_ptr().addr());
        self.cells.put(cell, from, from + bytes.len());
    }
}

/// Refuses an object and a list.
fn plain(value: &str) -> Result<(), &'static str> {
    match value.as_bytes().first() {
        Some(b'{') => Err("an object"),
        Some(b'[') => Err("a list"),
        _ => Ok(()),
    }
}

/// Finds the wanted name that equals a key.
struct KnownKey<'a>(&'a Level);

impl<'de, 'a> DeserializeSeed<'de> for KnownKey<'a> {
    type Value = Option<&'a JsonEntry>;

    fn deserialize<D: Deserializer<'de>>(self, key: D) -> Result<Option<&'a JsonEntry>, D::Error> {
        key.deserialize_str(self)
    }
}

impl<'a> Visitor<'_> for KnownKey<'a> {
    type Value = Option<&'a JsonEntry>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E>(self, key: &str) -> Result<Option<&'a JsonEntry>, E> {
        Ok(self.0.0.iter().find(|entry| entry.name == key))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn read(line: &str) -> Option<[Option<String>; 2]> {
        let names = WantedNames::new(&["a".into(), "b\"é".into()]);
        let mut cells = LineCells::new(2);
        names.read(line.as_bytes(), &mut cells).ok()?;
        let cell = |cell| {
            cells.has(cell).then(|| String::from_utf8(cells.get(line.as_bytes(), cell).to_vec()).unwrap())
        };
        Some([cell(0), cell(1)])
    }

    #[test]
    fn cells_are_what_a_person_reads() {
        let cells = |a: Option<&str>, b: Option<&str>| Some([a.map(str::to_owned), b.map(str::to_owned)]);
        assert_eq!(read(r#"{"a":"x","b\"\u00e9":1.50}"#), cells(Some("x"), Some("1.50")));
        assert_eq!(
            read(r#" { "x" : {"a":[1,{"a":2}]}, "a" : "t\n\"\ud83d\ude00" } "#),
            cells(Some("t\n\"😀"), None)
        );
        assert_eq!(
            read(r#"{"a":9007199254740993.000000000000000001,"b\"é":1e400}"#),
            cells(Some("9007199254740993.000000000000000001"), Some("1e400"))
        );
        assert_eq!(read(r#"{"a":true,"b\"é":false}"#), cells(Some("true"), Some("false")));
        assert_eq!(read(r#"{"a":null,"b\"é":""}"#), cells(None, Some("")));
        assert_eq!(read("{}"), cells(None, None));
        for bad in [
            "",
            "1",
            "null",
            "[]",
            r#"{"a":1}x"#,
            r#"{"a":1,"a":1}"#,
            r#"{"a":null,"a":null}"#,
            r#"{"a":null,"\u0061":1}"#,
            r#"{"a":{}}"#,
            r#"{"a":[1]}"#,
            r#"{"a":1"#,
            r#"{"a":}"#,
            r#"{a:1}"#,
            r#"{"a":01}"#,
            r#"{"a":NaN}"#,
            r#"{"a":"\ud800"}"#,
            r#"{"a":"x}"#,
            r#"{"a":tru}"#,
        ] {
            assert_eq!(read(bad), None, "{bad}");
        }
        let deep = format!("{{\"x\":{}{},\"a\":1}}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(read(&deep), cells(Some("1"), None), "what is not wanted may be deep");
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(read(&deep), None);
    }

    // Refutes a fault that is reported of another field, or in words that are not those of its kind.
    #[test]
    fn a_fault_names_its_field_and_the_kind_of_its_value() {
        let names = WantedNames::new(&["a".into(), "b.c".into()]);
        for (line, fault) in [
            (&br#"{"a":{}}"#[..], (Some(0), "an object")),
            (br#"{"x":1,"b":{"c":[1]}}"#, (Some(1), "a list")),
            (br#"{"a":1,"b":2,"a":3}"#, (Some(0), "a second value")),
            (br#"{"a":"\ud800"}"#, (Some(0), "half of a surrogate pair")),
            (b"{\"a\":\"\xff\"}", (Some(0), "bytes that are no UTF-8")),
            (b"{\"x\xff\":1}", (None, "bytes that are no UTF-8")),
            (br#"{"a":tru}"#, (Some(0), "no JSON value")),
            (br#"{"a":1,"x":}"#, (None, "no JSON object")),
            (br#"{"a":1} {}"#, (None, "no JSON object")),
            (b"[1]", (None, "no JSON object")),
        ] {
            let mut cells = LineCells::new(2);
            assert!(names.read(line, &mut cells).is_err(), "{line:?}");
            cells.clear();
            assert_eq!(names.fault(line, &mut cells), fault, "{}", String::from_utf8_lossy(line));
        }
    }

    fn found(name: &str, line: &str) -> Option<Option<String>> {
        let names = WantedNames::new(&[name.to_owned(), "user".to_owned()]);
        let mut cells = LineCells::new(2);
        names.read(line.as_bytes(), &mut cells).ok()?;
        let bytes = cells.get(line.as_bytes(), 0).to_vec();
        Some(cells.has(0).then(|| String::from_utf8(bytes).unwrap()))
    }

    // Refutes a path that is not followed, one that takes precedence over a field of its very name, and an
    // order that matters.
    #[test]
    fn a_name_with_dots_is_a_path_unless_a_field_at_the_top_has_it() {
        let some = |text: &str| Some(Some(text.to_owned()));
        for (line, value) in [
            (r#"{"shop":{"id":"x"}}"#, some("x")),
            (r#"{"shop":{"id":"x"}}"#, some("x")),
            (r#"{"other":{"id":"y"},"shop":{"name":"n","id":7,"inner":{"id":8}}}"#, some("7")),
            (r#"{"shop.id":"top","shop":{"id":"inner"}}"#, some("top")),
            (r#"{"shop":{"id":"inner"},"shop.id":"top"}"#, some("top")),
            (r#"{"shop":{"id":"inner"},"shop.id":null}"#, Some(None)),
            (r#"{"shop.id":null,"shop":{"id":"inner"}}"#, Some(None)),
            (r#"{"shop.id":"top","shop":{"id":{}}}"#, some("top")),
            (r#"{"shop":{}}"#, Some(None)),
            (r#"{"shop":{"id":null}}"#, Some(None)),
            (r#"{"shop":null}"#, Some(None)),
            (r#"{"shop":"x"}"#, Some(None)),
            (r#"{"shop":[{"id":"x"}]}"#, Some(None)),
            (r#"{"id":"x"}"#, Some(None)),
            (r#"{"shop":{"id":{"x":1}}}"#, None),
            (r#"{"shop":{"id":1,"id":2}}"#, None),
            (r#"{"shop":{"id":1},"shop":{"id":2}}"#, None),
            (r#"{"shop.id":1,"shop.id":2}"#, None),
        ] {
            assert_eq!(found("shop.id", line), value, "{line}");
        }
        // The object of a path may be wanted for itself, and is no plain value.
        assert_eq!(found("user.id", r#"{"user":{"id":1}}"#), None);
        assert_eq!(found("a.b.c", r#"{"a":{"b":{"c":1}},"a.b":{"c":2}}"#), some("1"));
        let deep = vec!["a"; 10_000].join(".");
        assert_eq!(found(&deep, &format!("{{\"{deep}\":1}}")), some("1"));
        assert_eq!(found(&deep, r#"{"a":{"a":1}}"#), Some(None));
    }

    proptest! {
        #[test]
        fn texts_survive(text in any::<String>(), other in any::<String>(), number in any::<i64>()) {
            let line = json!({"a": text, other: Value::Null, "b\"é": number}).to_string();
            let text = if other_is_a(&line) { None } else { Some(text) };
            prop_assert_eq!(read(&line), Some([text, Some(number.to_string())]));
        }
    }

    fn other_is_a(line: &str) -> bool {
        serde_json::from_str::<Value>(line).unwrap()["a"].is_null()
    }
}
