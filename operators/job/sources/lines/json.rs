//! Lines of JSON objects: their wanted fields, and nothing below.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::Bad;
use crate::job::sources::wanted::Cells;

/// The fields that are wanted, each in its cell's place.
#[derive(Clone)]
pub(in crate::job::sources) struct Names(pub(in crate::job::sources) Vec<String>);

impl Names {
    pub(super) fn read(&self, line: &[u8], cells: &mut Cells) -> Result<(), Bad> {
        let mut json = serde_json::Deserializer::from_slice(line);
        let object = Object { names: &self.0, line, cells };
        json.deserialize_map(object).map_err(|_| Bad)?;
        json.end().map_err(|_| Bad)
    }
}

struct Object<'a> {
    names: &'a [String],
    line: &'a [u8],
    cells: &'a mut Cells,
}

impl<'de> Visitor<'de> for Object<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        // A null is seen too: a second one of its name makes the line bad.
        let mut nulls = 0u64;
        while let Some(cell) = map.next_key_seed(Known(self.names))? {
            let Some(cell) = cell else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            let bit = 1u64.checked_shl(cell as u32).unwrap_or(0);
            if self.cells.has(cell) || nulls & bit != 0 {
                return Err(serde::de::Error::custom("a field twice"));
            }
            let value = map.next_value::<&RawValue>()?.get();
            match value.as_bytes() {
                b"null" => nulls |= bit,
                [b'"', inner @ .., b'"'] if !inner.contains(&b'\\') => self.point(cell, inner),
                [b'"', ..] => {
                    let text: String = serde_json::from_str(value).map_err(serde::de::Error::custom)?;
                    self.cells.write(cell, |beside| beside.extend_from_slice(text.as_bytes()));
                }
                [b'{' | b'[', ..] => return Err(serde::de::Error::custom("no plain value")),
                plain => self.point(cell, plain),
            }
        }
        Ok(())
    }
}

impl Object<'_> {
    /// Takes bytes of the line for a cell.
    fn point(&mut self, cell: usize, bytes: &[u8]) {
        // They are borrowed from the line, so their addresses say where in it they are.
        let from = bytes.as_ptr().addr().wrapping_sub(self.line.as_ptr().addr());
        self.cells.put(cell, from, from + bytes.len());
    }
}

/// Which of the names a key is.
struct Known<'a>(&'a [String]);

impl<'de> DeserializeSeed<'de> for Known<'_> {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, key: D) -> Result<Option<usize>, D::Error> {
        key.deserialize_str(self)
    }
}

impl Visitor<'_> for Known<'_> {
    type Value = Option<usize>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E>(self, key: &str) -> Result<Option<usize>, E> {
        Ok(self.0.iter().position(|name| name == key))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn read(line: &str) -> Option<[Option<String>; 2]> {
        let names = Names(vec!["a".into(), "b\"é".into()]);
        let mut cells = Cells::new(2);
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
