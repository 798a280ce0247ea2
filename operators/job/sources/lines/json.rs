//! Lines of JSON objects: their wanted fields.
//!
//! A name with dots is a path: `user.id` is the field `id` of the object in the field `user`, and `tags.0` the
//! first element of the array in `tags`. A line that has a field of that very name, dot and all, at its top has
//! what stands there, null included; only otherwise is the path followed.
//!
//! An array may be exploded: a name that continues its path is one of its elements, and each element has cells
//! of its own.

mod exploded;

use std::fmt;
use std::sync::Arc;

use exploded::Exploded;
pub(in crate::job::sources) use exploded::NO_LIST;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::Bad;
use crate::job::config::ExplodeSpec;
use crate::job::sources::wanted::LineCells;

/// The wanted fields, each with its cell.
#[derive(Clone)]
pub(in crate::job::sources) struct WantedNames(Arc<Names>);

struct Names {
    top: Level,
    /// The name of each cell.
    fields: Vec<String>,
    exploded: Option<Exploded>,
}

/// The names of the objects at one depth.
#[derive(Debug, Default)]
struct Level(Vec<JsonEntry>);

#[derive(Debug)]
struct JsonEntry {
    name: String,
    /// The index in an array that the name is.
    index: Option<usize>,
    /// The cell of this name's own value.
    cell: Option<usize>,
    /// The wanted fields of the object or the array that is its value.
    inside: Option<Level>,
    /// True where its value is the array that is exploded: the cell and the fields are those of an element.
    is_exploded: bool,
}

/// The largest number of steps of a path; a longer name is not followed.
const DEEPEST: usize = 64;

impl WantedNames {
    pub(in crate::job::sources) fn new(fields: &[String], explode: Option<&ExplodeSpec>) -> WantedNames {
        let mut top = Level::default();
        let mut of_elements = Vec::new();
        for (cell, field) in fields.iter().enumerate() {
            match explode.filter(|explode| explode.holds(field)) {
                Some(_) => of_elements.push(cell),
                None => top.entry(field).cell = Some(cell),
            }
            if let Some(entry) = top.followed(field) {
                entry.cell = Some(cell);
            }
        }
        if let Some(entry) = explode.and_then(|explode| top.followed(&explode.array)) {
            entry.is_exploded = true;
        }
        let exploded = explode.map(|ExplodeSpec { array, most }| Exploded {
            array: array.clone(),
            most: *most,
            cells: of_elements,
        });
        WantedNames(Arc::new(Names { top, fields: fields.to_vec(), exploded }))
    }

    pub(super) fn read(&self, line: &[u8], cells: &mut LineCells) -> Result<(), Bad> {
        self.parse(line, cells, &mut SeenCells::default()).map_err(|_| Bad)?;
        cells.end_line();
        Ok(())
    }

    fn parse(&self, line: &[u8], cells: &mut LineCells, seen: &mut SeenCells) -> serde_json::Result<()> {
        let exploded = self.0.exploded.as_ref();
        if let Some(exploded) = exploded {
            cells.explode(&exploded.cells);
        }
        let mut json = serde_json::Deserializer::from_slice(line);
        json.deserialize_map(JsonValue { level: &self.0.top, exploded, line, cells, seen, depth: 0 })?;
        json.end()
    }

    /// The field for which a line cannot be read, if it is one, and the kind of what stands there.
    pub(super) fn fault(&self, line: &[u8], cells: &mut LineCells) -> (Option<String>, &'static str) {
        let Names { fields, exploded, .. } = &*self.0;
        let mut seen = SeenCells::default();
        let _ = self.parse(line, cells, &mut seen);
        let array = exploded.as_ref().filter(|_| seen.at_array).map(|exploded| &exploded.array);
        let field = array.or_else(|| fields.get(seen.at?)).cloned();
        let found = match (seen.found, &field) {
            (Some(found), Some(_)) => found,
            _ if str::from_utf8(line).is_err() => "bytes that are no UTF-8",
            (_, Some(_)) => "no JSON value",
            (_, None) => "no JSON object",
        };
        (field, found)
    }
}

impl Level {
    fn entry(&mut self, name: &str) -> &mut JsonEntry {
        let at = self.0.iter().position(|entry| entry.name == name).unwrap_or_else(|| {
            let index = name.parse().ok().filter(|index: &usize| index.to_string() == name);
            let name = name.to_owned();
            self.0.push(JsonEntry { name, index, cell: None, inside: None, is_exploded: false });
            self.0.len() - 1
        });
        &mut self.0[at]
    }

    /// The entry at the end of a path, unless that has too many steps.
    fn followed(&mut self, path: &str) -> Option<&mut JsonEntry> {
        let mut steps = path.split('.');
        let last = steps.next_back()?;
        if steps.clone().count() >= DEEPEST {
            return None;
        }
        let level = steps.fold(self, |level, step| level.entry(step).inside.get_or_insert_default());
        Some(level.entry(last))
    }
}

/// The cells, of the first 64, to which the line has given a value or a null: at its top, and by a path.
#[derive(Default)]
struct SeenCells {
    top: u64,
    path: u64,
    /// The cell of the field that is being read.
    at: Option<usize>,
    /// True while the array that is exploded is read, and no cell of an element.
    at_array: bool,
    /// True once the array that is exploded was read.
    array: bool,
    /// The kind of its value, if that is none for a cell.
    found: Option<&'static str>,
}

/// The visitor of an object or an array.
struct JsonValue<'a> {
    level: &'a Level,
    exploded: Option<&'a Exploded>,
    line: &'a [u8],
    cells: &'a mut LineCells,
    seen: &'a mut SeenCells,
    depth: usize,
}

impl<'de> Visitor<'de> for JsonValue<'_> {
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
            // A value that is no JSON is one of this field.
            self.seen.at = entry.cell.filter(|_| !entry.is_exploded);
            self.seen.at_array = entry.is_exploded;
            let value = map.next_value::<&RawValue>()?.get();
            self.read(entry, value).map_err(A::Error::custom)?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
        let last = self.level.0.iter().filter_map(|entry| entry.index).max();
        let mut at = 0;
        while last.is_some_and(|last| at <= last) {
            let Some(value) = list.next_element::<&RawValue>()? else { return Ok(()) };
            let level = self.level;
            if let Some(entry) = level.0.iter().find(|entry| entry.index == Some(at)) {
                self.read(entry, value.get()).map_err(A::Error::custom)?;
            }
            at += 1;
        }
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }
}

impl JsonValue<'_> {
    /// Reads the value of a name.
    fn read(&mut self, entry: &JsonEntry, value: &str) -> Result<(), &'static str> {
        match entry.is_exploded {
            true => self.explode(entry, value),
            false => self.read_cells(entry, value),
        }
    }

    /// Reads the cell of a name or of an element, and those inside of it.
    fn read_cells(&mut self, entry: &JsonEntry, value: &str) -> Result<(), &'static str> {
        self.seen.at = entry.cell;
        if let Some(cell) = entry.cell
            && let Err(found) = self.take(cell, value)
        {
            self.seen.found = Some(found);
            return Err(found);
        }
        if let Some(inside) = &entry.inside {
            self.look_inside(inside, value)?;
        }
        self.seen.at = None;
        Ok(())
    }

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

    /// Reads the wanted fields of an object, or the wanted elements of an array; any other value has none.
    fn look_inside(&mut self, level: &Level, value: &str) -> Result<(), &'static str> {
        let mut json = serde_json::Deserializer::from_str(value);
        let (exploded, line, depth) = (self.exploded, self.line, self.depth + 1);
        let inside = JsonValue { level, exploded, line, cells: self.cells, seen: self.seen, depth };
        match value.as_bytes().first() {
            Some(b'{') => json.deserialize_map(inside).map_err(|_| "no object"),
            Some(b'[') => json.deserialize_seq(inside).map_err(|_| "no list"),
            _ => Ok(()),
        }
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
        let names = WantedNames::new(&["a".into(), "b\"é".into()], None);
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
        let names = WantedNames::new(&["a".into(), "b.c".into()], None);
        for (line, fault) in [
            (&br#"{"a":{}}"#[..], (Some("a"), "an object")),
            (br#"{"x":1,"b":{"c":[1]}}"#, (Some("b.c"), "a list")),
            (br#"{"a":1,"b":2,"a":3}"#, (Some("a"), "a second value")),
            (br#"{"a":"\ud800"}"#, (Some("a"), "half of a surrogate pair")),
            (b"{\"a\":\"\xff\"}", (Some("a"), "bytes that are no UTF-8")),
            (b"{\"x\xff\":1}", (None, "bytes that are no UTF-8")),
            (br#"{"a":tru}"#, (Some("a"), "no JSON value")),
            (br#"{"a":1,"x":}"#, (None, "no JSON object")),
            (br#"{"a":1} {}"#, (None, "no JSON object")),
            (b"[1]", (None, "no JSON object")),
        ] {
            let mut cells = LineCells::new(2);
            assert!(names.read(line, &mut cells).is_err(), "{line:?}");
            cells.clear();
            let (field, found) = names.fault(line, &mut cells);
            assert_eq!((field.as_deref(), found), fault, "{}", String::from_utf8_lossy(line));
        }
    }

    fn found(name: &str, line: &str) -> Option<Option<String>> {
        let names = WantedNames::new(&[name.to_owned(), "user".to_owned()], None);
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

    // Refutes an index that is not followed, and one that is no index.
    #[test]
    fn a_number_in_a_path_is_an_element_of_an_array() {
        let some = |text: &str| Some(Some(text.to_owned()));
        for (name, line, value) in [
            ("tags.0", r#"{"tags":["x","y"]}"#, some("x")),
            ("tags.1", r#"{"tags":["x",7,[]]}"#, some("7")),
            ("tags.2", r#"{"tags":["x","y"]}"#, Some(None)),
            ("tags.1", r#"{"tags":[{"a":1},null]}"#, Some(None)),
            ("tags.0", r#"{"tags":{"0":"x"}}"#, some("x")),
            ("tags.00", r#"{"tags":["x"]}"#, Some(None)),
            ("tags.0", r#"{"tags":[["x"]]}"#, None),
            ("a.1.b.0", r#"{"a":[0,{"b":["x"]}]}"#, some("x")),
        ] {
            assert_eq!(found(name, line), value, "{name} of {line}");
        }
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
