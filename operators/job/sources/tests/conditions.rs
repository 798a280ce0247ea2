//! Conditions of sources: records that count, of each format.

use super::*;

/// The keys of the records that a source gives.
fn keys(source: &(SourceSpec, Protected), workers: usize) -> Vec<String> {
    let given = read(source, &wanted(&["key"], &[], false), workers).unwrap();
    let mut keys: Vec<String> =
        given.iter().map(|record| record.key(0).unwrap().text().into_owned()).collect();
    keys.sort();
    keys
}

const CONDITIONS: [(&str, &[&str]); 6] = [
    ("all", &["a", "b", "c", "d"]),
    ("value >= 2.5", &["b", "c"]),
    ("not value >= 2.5", &["a", "d"]),
    ("key in {\\\"a\\\", \\\"c\\\"} and value < 10", &["a"]),
    ("user != \\\"ann\\\"", &["c", "d"]),
    ("other contains \\\"no column has it\\\"", &[]),
];

// Refutes a record that counts though the condition does not hold, one that is lost though it does, and a line that cannot be
// read for a value that is no number.
#[test]
fn records_count_of_which_the_condition_holds() {
    let place = Place::new("conditions");
    place.write("a.csv", "user,key,value,other\nann,a,1,x\nann,b,2.50,x\nbob,c,1e3,\nbob,d,-,x\n");
    let lines = [("ann", "a", "1"), ("ann", "b", "2.50"), ("bob", "c", "1e3"), ("bob", "d", "\"-\"")];
    let line = |(user, key, value)| format!("{{\"user\":\"{user}\",\"key\":\"{key}\",\"value\":{value}}}\n");
    place.write("a.jsonl", lines.map(line).concat());
    for (condition, expected) in CONDITIONS {
        for (kind, name) in [("csv", "a.csv"), ("jsonl", "a.jsonl")] {
            let path = place.path(name);
            let more = format!("type = \"{kind}\"\npath = {path:?}\nwhere = \"{condition}\"");
            for workers in [1, 3] {
                assert_eq!(keys(&stated(&more, USER), workers), expected, "{kind}: {condition}");
            }
        }
    }
}

// Refutes two keys of several parts that have one text, and a key that lacks a part.
#[test]
fn a_part_of_a_key_holds_no_separator() {
    let place = Place::new("parts-of-keys");
    place.write("a.csv", "user,key,other\nann,a,b\nann,a\u{1f}b,c\nann,a,\nann,,b\nann,a,b\u{1f}\n");
    let source = csv(&place.path("a.csv"), "");
    let keys = vec![KeyField { fields: vec!["key".to_owned(), "other".to_owned()], condition: None }];
    let given = read(&source, &FieldRequirements { keys, ..wanted(&[], &[], false) }, 1).unwrap();
    let mut texts: Vec<String> =
        given.iter().map(|record| record.key(0).unwrap().text().into_owned()).collect();
    texts.sort();
    assert_eq!(texts, ["", "", "", "", "a\u{1f}b"]);
}
