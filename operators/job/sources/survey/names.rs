//! The names of the fields of lines of JSON, for the operator to declare them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use super::Survey;

/// A name is rare that fewer than one record in this number has.
const RARE: u64 = 200;

/// The names of the fields of lines of JSON.
pub(super) struct CollectedNames {
    /// The names, each with the number of values under it.
    pub(super) found: Mutex<BTreeMap<String, u64>>,
    /// The array of which each element is a record.
    pub(super) exploded: Option<String>,
    /// The names that the job has.
    pub(super) wanted: Vec<String>,
}

impl CollectedNames {
    /// Adds the paths of all plain values of an object.
    fn add(
        &self,
        object: &serde_json::Map<String, serde_json::Value>,
        before: &str,
        found: &mut BTreeMap<String, u64>,
    ) {
        for (name, value) in object {
            self.add_value(format!("{before}{name}"), value, found);
        }
    }

    fn add_value(&self, path: String, value: &serde_json::Value, found: &mut BTreeMap<String, u64>) {
        match value {
            serde_json::Value::Object(inner) => self.add(inner, &format!("{path}."), found),
            serde_json::Value::Array(elements) if self.exploded.as_ref() == Some(&path) => {
                for element in elements {
                    match element {
                        // An element that is an array has elements of its own.
                        serde_json::Value::Array(inner) => self.add_elements(&path, inner, found),
                        element => self.add_value(path.clone(), element, found),
                    }
                }
            }
            serde_json::Value::Array(elements) => self.add_elements(&path, elements, found),
            _ => *found.entry(path).or_default() += 1,
        }
    }

    /// Adds the elements of an array that the job names: all of them would be as many names as the longest array has elements.
    fn add_elements(&self, array: &str, elements: &[serde_json::Value], found: &mut BTreeMap<String, u64>) {
        let rests = self.wanted.iter().filter_map(|name| name.strip_prefix(array)?.strip_prefix('.'));
        let indices = rests.filter_map(|rest| {
            let word = rest.split('.').next()?;
            word.parse().ok().filter(|index: &usize| index.to_string() == word)
        });
        for index in indices.collect::<BTreeSet<usize>>() {
            if let Some(element) = elements.get(index) {
                self.add_value(format!("{array}.{index}"), element, found);
            }
        }
    }
}

impl Survey {
    /// Collects the names in a line of JSON.
    pub(in crate::job::sources) fn name_fields(&self, line: &[u8]) {
        let Some(names) = &self.names else { return };
        let Ok(serde_json::Value::Object(object)) = serde_json::from_slice(line) else { return };
        let mut found = names.found.lock().unwrap_or_else(PoisonError::into_inner);
        names.add(&object, "", &mut found);
    }

    /// The names of the fields, where they were collected: those of the job, and others that are not rare. A key that an
    /// object has in few records may be data, such as the name of a person.
    pub fn names(&self) -> Vec<String> {
        self.names_by(|wanted, is_rare| wanted || !is_rare)
    }

    /// The number of names that are left out.
    pub fn rare_names(&self) -> usize {
        self.names_by(|wanted, is_rare| !wanted && is_rare).len()
    }

    fn names_by(&self, takes: impl Fn(bool, bool) -> bool) -> Vec<String> {
        let Some(names) = &self.names else { return Vec::new() };
        let found = names.found.lock().unwrap_or_else(PoisonError::into_inner);
        let is_taken = |(name, count): &(&String, &u64)| {
            takes(names.wanted.contains(name), **count * RARE < self.lines())
        };
        found.iter().filter(is_taken).map(|(name, _)| name.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::sources::wanted::LineCells;

    #[test]
    fn paths_lead_to_plain_values() {
        let line =
            br#"{"a":1,"b":{"c":null,"d":{"e":"x"},"f":[{"g":1},[2,3]]},"b.c":2,"h":[[4,5],{"i":6,"j":7}]}"#;
        let elements = ["b.f.0.g", "b.f.1", "h.0.1", "h.1.i", "h.01.i", "h.2", "h.1x", "h", "b.d.0"];
        for (exploded, wanted, expected) in [
            (None, &[][..], &["a", "b.c", "b.d.e"][..]),
            (Some("b.f"), &[], &["a", "b.c", "b.d.e", "b.f.g"]),
            (Some("b.f"), &["b.f.1"], &["a", "b.c", "b.d.e", "b.f.1", "b.f.g"]),
            (Some("b"), &[], &["a", "b.c", "b.d.e"]),
            // What stands beside a field that the job names has its name too.
            (None, &elements, &["a", "b.c", "b.d.e", "b.f.0.g", "h.0.1", "h.1.i", "h.1.j"]),
        ] {
            let survey = Survey::for_open_data(Vec::new(), (None, None), 5);
            let wanted = wanted.iter().map(|name| (*name).to_owned()).collect();
            let survey = survey.with_names(exploded.map(str::to_owned), wanted);
            survey.name_fields(line);
            survey.name_fields(b"no JSON");
            assert_eq!(survey.names(), expected, "{exploded:?}");
        }
    }

    // Refutes a key of an object that one record in 400 has, such as the name of a person, and that becomes a field of the job
    // file; and a name that is left out though the job has it, or two records have it.
    #[test]
    fn a_rare_name_may_be_data() {
        let survey = Survey::for_open_data(Vec::new(), (None, None), u64::MAX);
        let survey = survey.with_names(None, vec!["once".to_owned()]);
        for number in 0..400 {
            let more = match number {
                7 => r#","friends":{"ann":1},"once":1"#,
                8 | 9 => r#","twice":1"#,
                _ => "",
            };
            survey.name_fields(format!(r#"{{"page":"a"{more}}}"#).as_bytes());
            survey.line(b"", &LineCells::new(0), &[], (None, || None));
        }
        assert_eq!(survey.names(), ["once", "page", "twice"]);
        assert_eq!(survey.rare_names(), 1);
    }
}
