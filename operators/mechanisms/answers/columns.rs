//! The rows that are kept of one version of the data.

use super::filter::Filter;
use super::found::Found;
use super::question::{Asks, Question};
use super::schema::Schema;
use super::steps::Steps;
use super::value::{Row, Value};

/// Rows of one schema, and what is found among them.
#[derive(Clone, Debug)]
pub struct Columns {
    rows: Vec<Row>,
}

impl Columns {
    /// None yet.
    pub fn new(_schema: &Schema) -> Columns {
        Columns { rows: Vec::new() }
    }

    /// One more row.
    pub fn push(&mut self, row: &Row) {
        self.rows.push(row.clone());
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// What a question finds among them.
    pub fn found(&self, question: &Question, steps: &Steps) -> Found {
        let filter: &Filter = question.filter();
        let mut found = Found::default();
        for row in self.rows.iter().filter(|row| filter.matches(row)) {
            match question.asks() {
                Asks::Count => found.matched += 1,
                Asks::Mean { field, range } => {
                    if let Some(Value::Number(value)) = row.values().get(*field) {
                        found += Found { matched: 1, terms: steps.term(range, *value).into() };
                    }
                }
            }
        }
        found
    }

    /// Memory that they hold beside their own size, in bytes.
    pub fn heap(&self) -> usize {
        self.rows.capacity() * size_of::<Row>()
    }
}
