#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;
use crate::mechanisms::queries::sample::{holds, rows, schema, trees, written};
use crate::mechanisms::queries::{Field, Filter};

fn kept(schema: &Schema, rows: &[QueryRow]) -> ColumnStore {
    let mut columns = ColumnStore::new(schema);
    rows.iter().for_each(|row| columns.push(row));
    columns
}

/// Returns the totals of a query, row by row with `Filter::matches`.
fn plainly(question: &Query, steps: &Steps, rows: &[QueryRow]) -> MatchedTotals {
    let filter: &Filter = question.filter();
    let mut found = MatchedTotals::default();
    for row in rows.iter().filter(|row| filter.matches(row)) {
        match question.asks() {
            Asks::Count => found.matched += 1,
            Asks::Mean { field, range } => {
                if let Some(Value::Number(value)) = row.values().get(*field) {
                    found += MatchedTotals { matched: 1, terms: steps.term(range, *value).into() };
                }
            }
        }
    }
    found
}

#[track_caller]
fn same(one: MatchedTotals, other: MatchedTotals) {
    assert_eq!((one.matched, one.terms), (other.matched, other.terms));
}

proptest! {
    // Refutes a block that ends too early or too late, a negation that matches after the last row, an absent
    // value that counts as zero, and a wrong look-up of a text.
    #[test]
    fn columns_find_what_rows_do(
        tree in trees(),
        few in prop::collection::vec(rows(), 1..70),
        times in prop_oneof![Just(1_usize), Just(16), Just(40)],
        steps in prop_oneof![Just(1_u64), Just(7), Just(1_000_000), Just(1 << 60)],
    ) {
        let schema = schema();
        let rows = vec![few; times].concat();
        let (columns, steps) = (kept(&schema, &rows), Steps::new(steps));
        let matching = rows.iter().filter(|row| holds(&tree, row)).count() as u64;
        let asked = |id| schema.question("ann", id, 0);
        let count = asked("1").count(&written(&tree)).unwrap();
        same(columns.found(&count, &steps), MatchedTotals { matched: matching, terms: 0 });
        for (field, low, high) in [
            ("age", "-2", "3"),
            ("age", "-3000000", "5000001"),
            ("price", "-0.02", "0.01"),
            ("age", "-9223372036854775808", "9223372036854775807"),
            ("order total", "-5000000000000000", "4999999999999999"),
        ] {
            let mean = asked("2").mean(field, low, high, &written(&tree)).unwrap();
            same(columns.found(&mean, &steps), plainly(&mean, &steps, &rows));
        }
    }
}

#[test]
fn what_workers_keep_adds_up() {
    let schema = Schema::new([Field::number("age")]).unwrap();
    let row = |age: i64| QueryRow::from([age.into()]);
    let (one, other) = (kept(&schema, &[row(1), row(5)]), kept(&schema, &[row(9)]));
    let question = schema.question("ann", "q", 0).mean("age", "0", "8", "age > 1").unwrap();
    let found = [&one, &other].into_iter().map(|columns| columns.found(&question, &Steps::new(80))).sum();
    same(found, MatchedTotals { matched: 2, terms: 20 + 80 });
    assert!(ColumnStore::new(&schema).is_empty() && one.len() == 2);
}

// Refutes a 64-bit sum that overflows in a block.
#[test]
fn sums_do_not_overflow() {
    let schema = Schema::new([Field::number("age")]).unwrap();
    let columns = kept(&schema, &vec![QueryRow::from([i64::MAX.into()]); 5_000]);
    let steps = Steps::new(1 << 62);
    for (low, high) in [(i64::MIN, i64::MAX), (-(1 << 60), 1 << 60), (0, 1), (-(1 << 52), 1 << 52)] {
        let asked = schema.question("ann", "q", 0);
        let question = asked.mean("age", &low.to_string(), &high.to_string(), "all").unwrap();
        let Asks::Mean { range, .. } = question.asks() else { panic!() };
        let terms = 5_000 * i128::from(steps.unit(range));
        same(columns.found(&question, &steps), MatchedTotals { matched: 5_000, terms });
    }
}

// Refutes memory of twice the stored size, and a size that omits texts.
#[test]
fn a_number_takes_little_more_than_eight_bytes() {
    let schema = Schema::new([Field::number("age"), Field::time("when"), Field::text("country")]).unwrap();
    let mut columns = ColumnStore::new(&schema);
    for place in 0..100_000_i64 {
        columns.push(&QueryRow::from([
            place.into(),
            place.into(),
            ["DE", "AT"][(place % 2) as usize].into(),
        ]));
        if place > 5_000 {
            let each = columns.heap() as f64 / columns.len() as f64;
            assert!((20.0..24.0).contains(&each), "{each} bytes a row, for two numbers and a text");
        }
    }
    let before = columns.heap();
    columns.push(&QueryRow::from([0.into(), 0.into(), "x".repeat(10_000).into()]));
    assert!(columns.heap() >= before + 10_000);
}

#[test]
fn what_is_kept_is_not_shown() {
    let schema = Schema::new([Field::number("age")]).unwrap();
    let columns = kept(&schema, &[QueryRow::from([77.into()])]);
    let question = schema.question("ann", "q", 0).count("all").unwrap();
    assert_eq!(format!("{columns:?} {:?}", columns.found(&question, &Steps::new(1))), "<private> <private>");
}
