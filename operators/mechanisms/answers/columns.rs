//! What is kept of one version of the data: its rows, a column for each field.

mod column;
mod probe;
#[cfg(test)]
mod tests;

use std::fmt;

use column::StoredColumn;
use probe::Probe;

use super::found::MatchedTotals;
use super::question::{Asks, Query};
use super::schema::Schema;
use super::steps::Steps;
use super::value::{QueryRow, Value};
use crate::mechanisms::Range;

/// So many rows are looked at together, and their conditions held as bits: few enough to stay in the nearest cache.
const BLOCK: usize = 1024;

/// Which rows of a block match.
type Mask = [u64; BLOCK / 64];

/// The rows that one worker keeps, by columns: 8 bytes a number, 4 a text and each different text once, and a bit for
/// whether there is one.
///
/// It prints as `<private>`.
///
/// ```
/// use discreet::mechanisms::answers::{Columns, Field, Row, Schema, Steps};
///
/// let schema = Schema::new([Field::number("age"), Field::text("country")])?;
/// let mut columns = Columns::new(&schema);
/// columns.push(&Row::from([34.into(), "DE".into()]));
/// columns.push(&Row::from([12.into(), "AT".into()]));
/// let question = schema.question("ann", "q1", 0).count("age >= 18")?;
/// assert_eq!(columns.found(&question, &Steps::new(1)).matched, 1);
/// # Ok::<(), discreet::Invalid>(())
/// ```
#[derive(Clone)]
pub struct ColumnStore {
    rows: usize,
    columns: Box<[StoredColumn]>,
}

impl ColumnStore {
    /// No rows yet.
    pub fn new(schema: &Schema) -> ColumnStore {
        ColumnStore {
            rows: 0,
            columns: schema.fields().iter().map(|field| StoredColumn::new(field.kind())).collect(),
        }
    }

    /// One more row. What it has too few of is absent, and so is what does not fit its field.
    pub fn push(&mut self, row: &QueryRow) {
        for (place, column) in self.columns.iter_mut().enumerate() {
            column.push(self.rows, row.values().get(place).unwrap_or(&Value::None));
        }
        self.rows += 1;
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// What a question finds among them. It was read by the schema of these columns; of a field that they have not, nothing
    /// passes.
    pub fn found(&self, question: &Query, steps: &Steps) -> MatchedTotals {
        let probes: Vec<Probe<'_>> =
            question.filter().program().iter().map(|step| Probe::of(step, &self.columns)).collect();
        let mut held = Vec::new();
        let masks =
            (0..self.rows.div_ceil(BLOCK)).map(|block| (block, self.matching(block, &probes, &mut held)));
        match question.asks() {
            Asks::Count => masks.map(|(_, mask)| MatchedTotals { matched: ones(&mask), terms: 0 }).sum(),
            Asks::Mean { field, range } => {
                let Some(StoredColumn::Numbers { values, present }) = self.columns.get(*field) else {
                    return MatchedTotals::default();
                };
                masks
                    .map(|(block, mask)| {
                        let mask = both(mask, column::words(present, block));
                        let terms = terms(column::block_of(values, block), &mask, range, steps);
                        MatchedTotals { matched: ones(&mask), terms }
                    })
                    .sum()
            }
        }
    }

    /// Which rows of a block match. What is held is for the conditions on the way, of which it has room from before.
    fn matching(&self, block: usize, probes: &[Probe<'_>], held: &mut Vec<Mask>) -> Mask {
        held.clear();
        for probe in probes {
            let mask = match probe {
                Probe::Not => held.pop().map(|mask| mask.map(|word| !word)),
                Probe::And => held.pop().zip(held.pop()).map(|(one, other)| both(one, other)),
                Probe::Or => held.pop().zip(held.pop()).map(|(one, other)| either(one, other)),
                leaf => Some(leaf.mask(block)),
            };
            held.push(mask.unwrap_or_default());
        }
        // Behind the last row nothing matches, whatever was denied.
        let rows = self.rows - (block * BLOCK).min(self.rows);
        let mut mask = held.pop().unwrap_or_default();
        for (place, word) in mask.iter_mut().enumerate() {
            *word &= match rows.saturating_sub(place * 64) {
                0 => 0,
                left @ 1..64 => (1 << left) - 1,
                _ => u64::MAX,
            };
        }
        mask
    }

    /// Memory that they hold beside their own size, in bytes.
    pub fn heap(&self) -> usize {
        size_of_val(&*self.columns) + self.columns.iter().map(StoredColumn::heap).sum::<usize>()
    }
}

impl fmt::Debug for ColumnStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<private>")
    }
}

fn ones(mask: &Mask) -> u64 {
    mask.iter().map(|word| u64::from(word.count_ones())).sum()
}

fn both(mut one: Mask, other: Mask) -> Mask {
    one.iter_mut().zip(other).for_each(|(one, other)| *one &= other);
    one
}

fn either(mut one: Mask, other: Mask) -> Mask {
    one.iter_mut().zip(other).for_each(|(one, other)| *one |= other);
    one
}

/// Ranges that are wider may overflow the sum of a block's distances.
const NARROW: u64 = 1 << 53;

/// The sum of the terms of the values that match.
fn terms(values: &[i64], mask: &Mask, range: &Range, steps: &Steps) -> i128 {
    let (low, high, width) = (range.low(), range.high(), range.width());
    if steps.rounds(range) || width > NARROW {
        let mut sum = 0;
        each(values, mask, |value| sum += i128::from(steps.term(range, value)));
        return sum;
    }
    // Terms are multiples of the distance from the middle, so distances from the least are added first. At most 2^10 of 2^53.
    let mut sum = 0;
    each(values, mask, |value| sum += value.clamp(low, high).abs_diff(low));
    let from_middle = 2 * i128::from(sum) - i128::from(ones(mask)) * i128::from(width);
    from_middle * i128::from(steps.unit(range) / width)
}

fn each(values: &[i64], mask: &Mask, mut take: impl FnMut(i64)) {
    for (values, &word) in values.chunks(64).zip(mask) {
        let mut left = word;
        while left != 0 {
            if let Some(value) = values.get(left.trailing_zeros() as usize) {
                take(*value);
            }
            left &= left - 1;
        }
    }
}
