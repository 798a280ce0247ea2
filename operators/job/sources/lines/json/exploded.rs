//! The array of a line of which each element is a record: a name that continues its path is one of an
//! element, and each element has cells of its own.

use std::fmt;

use serde::de::{Deserializer, Error as _, IgnoredAny, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::{JsonEntry, JsonValue};

/// The array of which each element is a record.
pub(super) struct Exploded {
    pub(super) array: String,
    pub(super) most: u64,
    /// The cells of an element.
    pub(super) cells: Vec<usize>,
}

/// The words for another value in place of the array that is exploded.
pub(in crate::job::sources) const NO_LIST: &str = "no list";

impl JsonValue<'_> {
    /// Reads the elements of the array that is exploded, up to the most of them.
    pub(super) fn explode(&mut self, element: &JsonEntry, value: &str) -> Result<(), &'static str> {
        let second = std::mem::replace(&mut self.seen.array, true);
        (self.seen.at, self.seen.at_array) = (None, true);
        let found = match value.as_bytes() {
            _ if second => "a second value",
            b"null" => {
                self.seen.at_array = false;
                return Ok(());
            }
            [b'[', ..] => {
                let mut json = serde_json::Deserializer::from_str(value);
                let elements =
                    Elements { of: element, left: self.exploded.map_or(0, |all| all.most), inside: self };
                return json.deserialize_seq(elements).map_err(|_| "no element");
            }
            _ => NO_LIST,
        };
        self.seen.found = Some(found);
        Err(found)
    }
}

/// The visitor of the array that is exploded.
struct Elements<'e, 'a> {
    of: &'e JsonEntry,
    left: u64,
    inside: &'e mut JsonValue<'a>,
}

impl<'de> Visitor<'de> for Elements<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
        let own: &[usize] = self.inside.exploded.map_or(&[], |all| &all.cells);
        let bits = own.iter().fold(0, |bits, cell| bits | 1u64.checked_shl(*cell as u32).unwrap_or(0));
        while self.left > 0 {
            let Some(value) = list.next_element::<&RawValue>()? else { break };
            self.left -= 1;
            self.inside.seen.at_array = false;
            // An element is below the top, whatever the depth of its array.
            self.inside.depth += 1;
            let read = self.inside.read_cells(self.of, value.get());
            self.inside.depth -= 1;
            read.map_err(A::Error::custom)?;
            self.inside.cells.end_element();
            self.inside.seen.path &= !bits;
        }
        while list.next_element::<IgnoredAny>()?.is_some() {}
        self.inside.seen.at_array = false;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::super::WantedNames;
    use crate::job::config::ExplodeSpec;
    use crate::job::sources::wanted::LineCells;

    /// The texts of the cells of each element, by the parser and by looking into the whole value.
    fn elements(line: &str, most: u64) -> [Option<Vec<[Option<String>; 2]>>; 2] {
        let explode = ExplodeSpec { array: "of.items".to_owned(), most };
        let fields = ["of.items", "id"];
        let names = WantedNames::new(&fields.map(str::to_owned), Some(&explode));
        let mut cells = LineCells::new(2);
        // What stands in them from a line before is of no element of this one.
        names.read(br#"{"id":1,"of":{"items":[5,"x"]}}"#, &mut cells).unwrap();
        cells.clear();
        let read = names.read(line.as_bytes(), &mut cells).ok().map(|()| {
            (0..cells.records())
                .map(|record| {
                    cells.turn_to(record);
                    [0, 1].map(|cell| {
                        let text = cells.found(line.as_bytes(), cell)?;
                        Some(String::from_utf8(text.to_vec()).unwrap())
                    })
                })
                .collect()
        });
        let plain = |value: &Value| match value {
            Value::Null => Ok(None),
            Value::Object(_) | Value::Array(_) => Err(()),
            Value::String(text) => Ok(Some(text.clone())),
            other => Ok(Some(other.to_string())),
        };
        let oracle = || {
            let line: Value = serde_json::from_str(line).map_err(|_| ())?;
            let id = plain(&line["id"])?;
            let elements = match &line["of"]["items"] {
                Value::Null => &Vec::new(),
                Value::Array(elements) => elements,
                _ => return Err(()),
            };
            let element = |value: &Value| match value {
                Value::Object(_) | Value::Array(_) => Err(()),
                value => Ok([plain(value)?, id.clone()]),
            };
            elements.iter().take(most as usize).map(element).collect::<Result<Vec<_>, ()>>()
        };
        [read, oracle().ok()]
    }

    // Refutes an element that is lost, one beyond the most, a cell that one element has of another, and a value that is taken
    // for an array.
    #[test]
    fn each_element_of_an_exploded_array_has_cells_of_its_own() {
        let names = WantedNames::new(
            &["items.a", "items.b.c", "user"].map(str::to_owned),
            Some(&ExplodeSpec { array: "items".to_owned(), most: 3 }),
        );
        let mut cells = LineCells::new(3);
        let line =
            br#"{"items":[{"a":1,"b":{"c":"\u0078"}},{"b":{}},{"a":3,"a2":0},{"a":[]}],"user":"\u0075"}"#;
        names.read(line, &mut cells).unwrap();
        let mut found = Vec::new();
        for record in 0..cells.records() {
            cells.turn_to(record);
            assert_eq!(cells.element(), Some(record as u32));
            cells.write(1, |beside| beside.extend_from_slice(b"derived"));
            cells.turn_to(record);
            found.push([0, 1, 2].map(|cell| String::from_utf8(cells.get(line, cell).to_vec()).unwrap()));
        }
        assert_eq!(found, [["1", "x", "u"], ["", "", "u"], ["3", "", "u"]]);
        for (line, field, fault) in [
            (r#"{"items":{"a":1}}"#, Some("items"), "no list"),
            (r#"{"items":[],"items":[]}"#, Some("items"), "a second value"),
            (r#"{"items":[{"a":1},{"a":{}}]}"#, Some("items.a"), "an object"),
            (r#"{"items":[{"a":1},{"a":1,"a":2}]}"#, Some("items.a"), "a second value"),
            (r#"{"items":[1,2}"#, Some("items"), "no JSON value"),
        ] {
            cells.clear();
            assert!(names.read(line.as_bytes(), &mut cells).is_err(), "{line}");
            cells.clear();
            let (named, found) = names.fault(line.as_bytes(), &mut cells);
            assert_eq!((named.as_deref(), found), (field, fault), "{line}");
        }
    }

    fn json_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            "[a\"\\\\é]{0,3}".prop_map(Value::from),
        ];
        leaf.prop_recursive(2, 8, 3, |inner| prop::collection::vec(inner, 0..3).prop_map(Value::from))
    }

    proptest! {
        // Refutes any difference between the elements that are read and those of the whole value.
        #[test]
        fn elements_are_those_of_the_array(
            values in prop::collection::vec(json_value(), 0..5),
            alone in json_value(),
            is_array in prop::bool::weighted(0.9),
            id in json_value(),
            most in 1u64..6,
        ) {
            let items = if is_array { Value::from(values) } else { alone };
            let line = json!({"of": {"items": items}, "id": id}).to_string();
            let [read, oracle] = elements(&line, most);
            prop_assert_eq!(read, oracle, "{}", line);
        }
    }
}
