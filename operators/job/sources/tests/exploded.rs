//! Arrays of JSON lines of which each element is a record.

use super::*;

const LINES: &str = r#"{"id":"7","user":"ann","items":[{"key":"a","value":1},{"value":2},{"key":"c"}]}
{"id":"7","user":"ann","items":[{"key":"a","value":1},{"value":2},{"key":"c"}]}
{"id":8,"user":"bob","items":[{"key":"d","value":4},{"key":"e"},{"key":"f"},{"key":"beyond"}]}
{"id":9,"user":"bob","items":[]}
{"id":10,"user":"bob"}
{"id":11,"items":[{"key":"nobody's"}]}
"#;

// Refutes an element of another person or with the id of another one, a field that an element has of the one before it,
// elements beyond the most, and a number of workers that matters.
#[test]
fn elements_are_records_of_their_lines_person() {
    let place = Place::new("exploded");
    place.write("a.jsonl", LINES);
    let more = format!(
        "type = \"jsonl\"\npath = {:?}\nid = {{ field = \"id\" }}\nexplode = {{ array = \"items\", most = 3 }}",
        place.path("a.jsonl")
    );
    let source = stated(&more, USER);
    let made = |person: &str, line: &str, index: u32, key: &str, value: i64| {
        let element = [line.as_bytes(), &index.to_le_bytes()].concat();
        Given::made_of(0, id(person.as_bytes()), id(&element), &[key], &[value])
    };
    let of_ann = [made("ann", "7", 0, "a", 1), made("ann", "7", 1, "", 2), made("ann", "7", 2, "c", MISSING)];
    let of_bob =
        [made("bob", "8", 0, "d", 4), made("bob", "8", 1, "e", MISSING), made("bob", "8", 2, "f", MISSING)];
    let mut expected = [&of_ann[..], &of_ann, &of_bob].concat();
    expected.sort();
    for workers in [1, 3] {
        let given = read(&source, &wanted(&["items.key"], &[("items.value", 0)], false), workers).unwrap();
        assert!(given == expected, "{workers} workers");
    }
}
