use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::mechanisms::Edges;
use crate::mechanisms::answer::{Estimate, EstimateFormat};

const HEAD: Head<'_> = Head {
    release: "visits \"by\" path",
    window: r#"{"start":"2026-11-01T00:00:00Z","end":"2026-11-01T00:10:00Z"}"#,
    id: "5f",
    promise: "lifetime, a person, rho 0.01",
    gaps: "",
};

fn noise(number: &'static str, kind: &'static str, scale: f64) -> Noised {
    Noised::of(number, kind, scale)
}

fn answer<K, T>(cells: Vec<(K, [T; 3])>, noise: Vec<Noised>, point: DecimalPoint) -> Answer<K, T> {
    let estimate = |[low, value, high]: [T; 3]| Estimate { value, low, high, open: None };
    let cells = cells.into_iter().map(|(key, numbers)| (key, estimate(numbers))).collect();
    Answer {
        cells,
        format: EstimateFormat {
            noise,
            point,
            confidence: 0.9,
            each: EstimatesPerKey::One,
            of: None,
            bounded: false,
            found: None,
        },
        room: None,
    }
}

fn counts<K>(cells: Vec<(K, [i128; 3])>) -> Answer<K, i128> {
    answer(cells, vec![noise("people", "gaussian", 2.236)], DecimalPoint::WHOLE)
}

#[test]
fn a_line_is_written_as_the_page_says() {
    let released =
        counts(vec![("/".to_owned(), [1216, 1234, 1252]), ("/about".to_owned(), [-20, -2, 16])]).lines(&HEAD);
    let before = r#"{"release":"visits \"by\" path","window":{"start":"2026-11-01T00:00:00Z","end":"2026-11-01T00:10:00Z"}"#;
    let after = r#""confidence":0.9,"noise":{"kind":"gaussian","scale":2.236},"id":"5f","promise":"lifetime, a person, rho 0.01"}"#;
    let expected = [
        format!(r#"{before},"key":"/","value":1234,"interval":[1216,1252],{after}"#),
        format!(r#"{before},"key":"/about","value":-2,"interval":[-20,16],{after}"#),
    ];
    assert_eq!(released, expected.join("\n"));
}

#[test]
fn an_interval_of_a_bounded_number_says_so() {
    let mut cut = counts(vec![((), [1216, 1234, 1252])]);
    cut.format.bounded = true;
    let line = cut.lines(&HEAD);
    assert!(line.contains(r#""interval":[1216,1252],"interval_of":"bounded","confidence":0.9"#), "{line}");
}

#[test]
fn a_mean_says_both_of_its_noises() {
    let laws = vec![noise("sum", "laplace", 35.5), noise("records", "laplace", 7.0)];
    let mean = answer(vec![((), [2.5, 3.0, 1e21])], laws, DecimalPoint::WHOLE);
    let released: Value = serde_json::from_str(&mean.lines(&HEAD)).unwrap();
    assert_eq!((&released["value"], &released["interval"]), (&json!(3.0), &json!([2.5, 1e21])));
    let laws = json!([
        {"number": "sum", "kind": "laplace", "scale": 35.5},
        {"number": "records", "kind": "laplace", "scale": 7.0},
    ]);
    assert_eq!(released["noise"], laws);
}

// Refutes a point that stands elsewhere, digits that a float would lose, and a law in other units than its
// number.
#[test]
fn steps_are_printed_with_their_decimal_point() {
    let point = DecimalPoint::digits(2).unwrap();
    let noised = noise("sum", "laplace", 350.0).with_point(point);
    let released = answer(vec![((), [-1050, i128::MAX, 7])], vec![noised], point).lines(&HEAD);
    let most = "1701411834604692317316873037158841057.27";
    assert!(released.contains(&format!(r#""value":{most},"interval":[-10.5,0.07],"#)), "{released}");
    assert!(released.contains(r#""noise":{"kind":"laplace","scale":3.5}"#), "{released}");
    let mean = answer(vec![((), [250.0, 300.5, 1e21])], vec![], point);
    let released: Value = serde_json::from_str(&mean.lines(&HEAD)).unwrap();
    assert_eq!((&released["value"], &released["interval"]), (&json!(3.005), &json!([2.5, 1e19])));
}

#[test]
fn keys_are_written_by_their_type() {
    let key = |line: &str| serde_json::from_str::<Value>(line).unwrap().get("key").cloned();
    assert_eq!(key(&counts(vec![((), [0, 1, 2])]).lines(&HEAD)), None);
    assert_eq!(key(&counts(vec![(-7i64, [0, 1, 2])]).lines(&HEAD)), Some(json!(-7)));
    assert_eq!(key(&counts(vec![(u64::MAX, [0, 1, 2])]).lines(&HEAD)), Some(json!(u64::MAX)));
    let bucket = Edges::new([0, 10]).unwrap().bucket(3);
    assert_eq!(key(&counts(vec![(bucket, [0, 1, 2])]).lines(&HEAD)), Some(json!("[0, 10)")));
}

// Refutes a key that ends a line for a reader who takes more for line ends than U+000A.
#[test]
fn a_line_is_one_for_every_reader() {
    let key = "a\u{85}b\u{2028}\u{2029}\u{b}\u{c}\r\n\"\u{2027}\u{7f}é";
    let released = counts(vec![(key.to_owned(), [1, 2, 3])]).lines(&HEAD);
    assert!(
        !released.contains(['\u{85}', '\u{2028}', '\u{2029}', '\u{b}', '\u{c}', '\r', '\n']),
        "{released}"
    );
    assert!(released.contains(r"a\u0085b\u2028\u2029\u000b"), "{released}");
    assert_eq!(serde_json::from_str::<Value>(&released).unwrap()["key"], key);
}

#[test]
fn an_empty_answer_is_no_text() {
    assert_eq!(counts::<String>(vec![]).lines(&HEAD), "");
}

#[test]
fn whole_numbers_keep_all_of_their_digits() {
    let released = counts(vec![((), [i128::MIN, (1 << 64) + 1, i128::MAX])]).lines(&HEAD);
    let numbers = format!(r#""value":18446744073709551617,"interval":[{},{}],"#, i128::MIN, i128::MAX);
    assert!(released.contains(&numbers), "{released}");
}

proptest! {
    // The oracle is a JSON reader. Refutes a key that ends its line, its text or its object.
    #[test]
    fn whatever_a_key_holds_its_cell_is_one_line(
        keys in prop::collection::vec(prop_oneof![any::<String>(), "[\\x00-\\x1f\"\\\\{}\u{7f}\u{85}\u{2028}é日]{0,9}"], 1..6),
        release in any::<String>(),
        promise in "\\PC*",
        values in any::<[i64; 3]>(),
    ) {
        let cells = keys.iter().map(|key| (key.clone(), values.map(i128::from))).collect();
        let head = Head { release: &release, promise: &promise, ..HEAD };
        let released = counts(cells).lines(&head);
        let lines: Vec<Value> = released.split('\n').map(|line| serde_json::from_str(line).unwrap()).collect();
        prop_assert_eq!(lines.len(), keys.len());
        prop_assert!(!released.contains('\r'));
        for (line, key) in lines.iter().zip(&keys) {
            let expected = json!({
                "release": release,
                "window": {"start": "2026-11-01T00:00:00Z", "end": "2026-11-01T00:10:00Z"},
                "key": key,
                "value": values[1],
                "interval": [values[0], values[2]],
                "confidence": 0.9,
                "noise": {"kind": "gaussian", "scale": 2.236},
                "id": "5f",
                "promise": promise,
            });
            prop_assert_eq!(line, &expected);
        }
    }

    // To the last bit, as a reader of floats finds them.
    #[test]
    fn means_are_read_as_they_were(values in any::<[f64; 3]>().prop_filter("finite", |v| v.iter().all(|v| v.is_finite()))) {
        let released = answer(vec![((), values)], vec![noise("sum", "gaussian", 1.0)], DecimalPoint::WHOLE).lines(&HEAD);
        let number = |text: &str, end: char| text.split_once(end).unwrap().0.parse::<f64>().unwrap().to_bits();
        let after = |name: &str| released.split_once(name).unwrap().1;
        prop_assert_eq!(number(after("\"value\":"), ','), values[1].to_bits());
        prop_assert_eq!(number(after("\"interval\":["), ','), values[0].to_bits());
    }
}
