//! Random rows, and random filters with a reference evaluation, against which filters and columns are tested.

use proptest::collection::vec;
use proptest::prelude::*;

use super::{Field, QueryRow, Schema, Value};

/// 2026-11-01T00:00:00Z; random times are a number of seconds from it.
const NOON: i64 = 1_793_491_200_000_000;
const WORDS: [&str; 5] = ["DE", "AT", "", "a \"b\"\u{7f}\n", "日"];

pub(super) fn schema() -> Schema {
    let fields = [
        Field::number("age"),
        Field::decimal("price", 2),
        Field::time("when"),
        Field::text("country"),
        Field::number("order total"),
    ];
    Schema::new(fields).unwrap().of_person("client").unwrap()
}

/// A condition as a tree, the form that filters are not stored in.
#[derive(Clone, Debug)]
pub(super) enum Tree {
    All,
    Compared(usize, &'static str, i64),
    Among(usize, Vec<i64>),
    Between(usize, Option<i64>, Option<i64>),
    Word(&'static str, usize),
    Words(Vec<usize>),
    Part(&'static str, &'static str),
    Not(Box<Tree>),
    Both(Box<Tree>, Box<Tree>),
    Either(Box<Tree>, Box<Tree>),
}

/// Evaluates the condition on a row, by recursion.
pub(super) fn holds(tree: &Tree, row: &QueryRow) -> bool {
    let number = |field: usize| match row.values().get(field) {
        Some(Value::Number(number)) if field != 3 => Some(scaled_back(field, *number)),
        _ => None,
    };
    let word = || match row.values().get(3) {
        Some(Value::Text(text)) => Some(&**text),
        _ => None,
    };
    match tree {
        Tree::All => true,
        Tree::Compared(field, sign, with) => number(*field).is_some_and(|number| match *sign {
            "=" => number == *with,
            "!=" => number != *with,
            "<" => number < *with,
            "<=" => number <= *with,
            ">" => number > *with,
            _ => number >= *with,
        }),
        Tree::Among(field, numbers) => number(*field).is_some_and(|number| numbers.contains(&number)),
        Tree::Between(field, low, high) => number(*field).is_some_and(|number| {
            low.is_none_or(|low| low <= number) && high.is_none_or(|high| number < high)
        }),
        Tree::Word(sign, with) => word().is_some_and(|word| (word == WORDS[*with]) == (*sign == "=")),
        Tree::Words(words) => word().is_some_and(|word| words.iter().any(|with| WORDS[*with] == word)),
        Tree::Part(place, part) => word().is_some_and(|word| match *place {
            "starts with" => word.starts_with(part),
            "ends with" => word.ends_with(part),
            _ => word.contains(part),
        }),
        Tree::Not(tree) => !holds(tree, row),
        Tree::Both(left, right) => holds(left, row) && holds(right, row),
        Tree::Either(left, right) => holds(left, row) || holds(right, row),
    }
}

/// Returns the stored value of a field, from a small number.
fn scaled(field: usize, number: i64) -> i64 {
    if field == 2 { NOON + number * 1_000_000 } else { number }
}

fn scaled_back(field: usize, number: i64) -> i64 {
    if field == 2 { number.saturating_sub(NOON).div_euclid(1_000_000) } else { number }
}

/// Returns the condition as text, with more parentheses than it needs.
pub(super) fn written(tree: &Tree) -> String {
    let name = |field: usize| match field {
        4 => "`order total`".to_owned(),
        _ => schema().fields()[field].name().to_owned(),
    };
    let value = |field: &usize, number: &i64| match field {
        2 => format!("\"{}\"", jiff::Timestamp::from_microsecond(scaled(2, *number)).unwrap()),
        1 => format!("{number}e-2"),
        _ => number.to_string(),
    };
    let text = |word: &usize| serde_json::to_string(WORDS[*word]).unwrap();
    let list = |values: Vec<String>| values.join(",");
    match tree {
        Tree::All => "all".to_owned(),
        Tree::Compared(field, sign, with) => format!("{}{sign}{}", name(*field), value(field, with)),
        Tree::Among(field, numbers) => {
            let numbers = numbers.iter().map(|number| value(field, number)).collect();
            format!("{} in {{{}}}", name(*field), list(numbers))
        }
        Tree::Between(field, low, high) => {
            let end = |end: &Option<i64>| end.map_or(String::new(), |end| value(field, &end));
            format!("{} in {}..{}", name(*field), end(low), end(high))
        }
        Tree::Word(sign, with) => format!("country {sign}{}", text(with)),
        Tree::Words(words) => format!("country in {{{}}}", list(words.iter().map(text).collect())),
        Tree::Part(place, part) => format!("country {place} {}", serde_json::to_string(part).unwrap()),
        Tree::Not(tree) => format!("not({})", written(tree)),
        Tree::Both(left, right) => format!("({})and({})", written(left), written(right)),
        Tree::Either(left, right) => format!("({})or({})", written(left), written(right)),
    }
}

pub(super) fn trees() -> impl Strategy<Value = Tree> {
    let field = || prop::sample::select(vec![0_usize, 1, 2, 4]);
    let sign = prop::sample::select(vec!["=", "!=", "<", "<=", ">", ">="]);
    let leaf = prop_oneof![
        1 => Just(Tree::All),
        4 => (field(), sign, -3..4_i64).prop_map(|(field, sign, with)| Tree::Compared(field, sign, with)),
        2 => (field(), vec(-3..4_i64, 1..5)).prop_map(|(field, numbers)| Tree::Among(field, numbers)),
        1 => (field(), vec(prop_oneof![-300..300_i64, -90_000..90_000_i64], 1..9))
            .prop_map(|(field, numbers)| Tree::Among(field, numbers)),
        2 => (field(), prop::option::of(-3..1_i64), 1..4_i64)
            .prop_map(|(field, low, high)| Tree::Between(field, low, Some(high))),
        1 => (field(), -3..4_i64).prop_map(|(field, low)| Tree::Between(field, Some(low), None)),
        2 => (prop::sample::select(vec!["=", "!="]), 0..5_usize)
            .prop_map(|(sign, with)| Tree::Word(sign, with)),
        2 => vec(0..5_usize, 1..6).prop_map(Tree::Words),
        2 => (
            prop::sample::select(vec!["starts with", "ends with", "contains"]),
            prop::sample::select(vec!["D", "E", "DE", "b", "\n", "日", "z"]),
        )
            .prop_map(|(place, part)| Tree::Part(place, part)),
    ];
    leaf.prop_recursive(6, 40, 2, |inner| {
        let two = (inner.clone(), inner.clone()).prop_map(|(left, right)| (Box::new(left), Box::new(right)));
        prop_oneof![
            inner.prop_map(|tree| Tree::Not(Box::new(tree))),
            two.clone().prop_map(|(left, right)| Tree::Both(left, right)),
            two.prop_map(|(left, right)| Tree::Either(left, right)),
        ]
    })
}

/// Generates rows that fit the schema, and some that are short, long, or have values of other types.
pub(super) fn rows() -> impl Strategy<Value = QueryRow> {
    let value = |field: usize| {
        prop_oneof![
            8 => match field {
                3 => (0..4_usize).prop_map(|word| WORDS[word].into()).boxed(),
                _ => (-4..5_i64).prop_map(move |number| scaled(field, number).into()).boxed(),
            },
            1 => Just(Value::None),
            1 => prop_oneof![Just(Value::from("DE")), Just(Value::from(i64::MAX)), Just(Value::from(i64::MIN))],
        ]
    };
    ((value(0), value(1), value(2), value(3), value(4)), 0..7_usize).prop_map(|((a, b, c, d, e), length)| {
        QueryRow::new([a, b, c, d, e, Value::None].into_iter().take(length.max(3)))
    })
}
