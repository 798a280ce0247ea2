//! The values of one field.

use std::collections::HashMap;

use super::{BLOCK, Mask};
use crate::mechanisms::answers::schema::FieldKind;
use crate::mechanisms::answers::value::Value;

/// The code of no text.
pub(super) const NONE: u32 = 0;

#[derive(Clone)]
pub(super) enum StoredColumn {
    Numbers {
        /// Zero where there is none.
        values: Vec<i64>,
        /// A bit for each row.
        present: Vec<u64>,
    },
    Texts {
        /// [`NONE`], or which text it is.
        codes: Vec<u32>,
        /// The texts that there are, by the order in which they came; the first has code 1.
        texts: HashMap<Box<str>, u32>,
        /// Their length altogether.
        length: usize,
    },
}

impl StoredColumn {
    pub(super) fn new(kind: FieldKind) -> StoredColumn {
        match kind {
            FieldKind::Text => StoredColumn::Texts { codes: Vec::new(), texts: HashMap::new(), length: 0 },
            FieldKind::Number | FieldKind::Decimal(_) | FieldKind::Time => {
                StoredColumn::Numbers { values: Vec::new(), present: Vec::new() }
            }
        }
    }

    /// The value of the next row, before which there are so many.
    pub(super) fn push(&mut self, rows: usize, value: &Value) {
        match self {
            StoredColumn::Numbers { values, present } => {
                let number = match value {
                    Value::Number(number) => Some(*number),
                    Value::None | Value::Text(_) => None,
                };
                append(values, number.unwrap_or(0));
                if rows.is_multiple_of(64) {
                    append(present, 0);
                }
                if let Some(word) = present.last_mut() {
                    *word |= u64::from(number.is_some()) << (rows % 64);
                }
            }
            StoredColumn::Texts { codes, texts, length } => {
                let code = match value {
                    Value::Text(text) => match texts.get(text) {
                        Some(code) => *code,
                        // Beyond 2^32 texts, which no memory holds, there are none.
                        None => u32::try_from(texts.len() + 1).map_or(NONE, |code| {
                            *length += text.len();
                            *texts.entry(text.clone()).or_insert(code)
                        }),
                    },
                    Value::None | Value::Number(_) => NONE,
                };
                append(codes, code);
            }
        }
    }

    pub(super) fn heap(&self) -> usize {
        match self {
            StoredColumn::Numbers { values, present } => {
                size_of::<u64>() * (values.capacity() + present.capacity())
            }
            // A map keeps a byte beside each entry, and an eighth of its places free.
            StoredColumn::Texts { codes, texts, length } => {
                let entry = size_of::<(Box<str>, u32)>() + 1;
                size_of::<u32>() * codes.capacity() + texts.capacity() * 8 / 7 * entry + length
            }
        }
    }
}

/// The values of a block's rows: fewer in the last.
pub(super) fn block_of<T>(values: &[T], block: usize) -> &[T] {
    let rest = values.get(block * BLOCK..).unwrap_or(&[]);
    rest.get(..BLOCK).unwrap_or(rest)
}

/// The bits of a block's rows.
pub(super) fn words(bits: &[u64], block: usize) -> Mask {
    let mut mask = Mask::default();
    let words = bits.get(block * mask.len()..).unwrap_or(&[]);
    mask.iter_mut().zip(words).for_each(|(word, bits)| *word = *bits);
    mask
}

/// Grows by an eighth, where a vector by itself would double what is kept for as long as the version is.
fn append<T>(values: &mut Vec<T>, value: T) {
    if values.len() == values.capacity() {
        values.reserve_exact((values.len() / 8).max(64));
    }
    values.push(value);
}
