//! A filter's steps, made ready for the columns that it is asked of: texts looked up, values laid out.

use super::Mask;
use super::column::{NONE, StoredColumn, block_of, words};
use crate::mechanisms::answers::filter::{FilterStep, ValueTest};

/// Numbers this near to each other are looked up by a bit.
const SPAN: u64 = 1 << 16;

/// One step, of these columns.
pub(super) enum Probe<'a> {
    /// Every row.
    All,
    /// No row.
    None,
    /// Numbers from `low` on, by at most `span`.
    Within {
        values: &'a [i64],
        present: &'a [u64],
        low: i64,
        span: u64,
    },
    /// Numbers from `low` on whose bit is set.
    Near {
        values: &'a [i64],
        present: &'a [u64],
        low: i64,
        bits: Box<[u64]>,
    },
    /// One of these numbers, which ascend.
    Among {
        values: &'a [i64],
        present: &'a [u64],
        numbers: &'a [i64],
    },
    /// Any other number.
    Other {
        values: &'a [i64],
        present: &'a [u64],
        number: i64,
    },
    /// This text.
    Code {
        codes: &'a [u32],
        code: u32,
    },
    /// Texts whose bit is set.
    Codes {
        codes: &'a [u32],
        bits: Box<[u64]>,
    },
    /// Any other text.
    NotCode {
        codes: &'a [u32],
        code: u32,
    },
    Not,
    And,
    Or,
}

impl<'a> Probe<'a> {
    pub(super) fn of(step: &'a FilterStep, columns: &'a [StoredColumn]) -> Probe<'a> {
        let (place, test) = match step {
            FilterStep::All => return Probe::All,
            FilterStep::Not => return Probe::Not,
            FilterStep::And => return Probe::And,
            FilterStep::Or => return Probe::Or,
            FilterStep::Field(place, test) => (*place as usize, test),
        };
        match (columns.get(place), test) {
            (Some(StoredColumn::Numbers { values, present }), ValueTest::Within(low, high))
                if low <= high =>
            {
                Probe::Within { values, present, low: *low, span: high.abs_diff(*low) }
            }
            (Some(StoredColumn::Numbers { values, present }), ValueTest::Among(numbers)) => {
                match &**numbers {
                    &[low, .., high] if high.abs_diff(low) < SPAN => {
                        let places = numbers.iter().map(|number| number.abs_diff(low));
                        Probe::Near { values, present, low, bits: bits(places) }
                    }
                    _ => Probe::Among { values, present, numbers },
                }
            }
            (Some(StoredColumn::Numbers { values, present }), ValueTest::NotNumber(number)) => {
                Probe::Other { values, present, number: *number }
            }
            (Some(StoredColumn::Texts { codes, texts, .. }), ValueTest::Words(words)) => {
                let found: Vec<u32> = words.iter().filter_map(|word| texts.get(word)).copied().collect();
                match found[..] {
                    [] => Probe::None,
                    [code] => Probe::Code { codes, code },
                    _ => Probe::Codes { codes, bits: bits(found.into_iter().map(u64::from)) },
                }
            }
            (Some(StoredColumn::Texts { codes, texts, .. }), ValueTest::NotWord(word)) => {
                Probe::NotCode { codes, code: texts.get(word).copied().unwrap_or(NONE) }
            }
            _ => Probe::None,
        }
    }

    /// Which rows of a block pass. Behind the last row it may say anything.
    pub(super) fn mask(&self, place: usize) -> Mask {
        match self {
            Probe::All => [u64::MAX; _],
            Probe::Within { values, present, low, span } => {
                let near = |value: i64| value.wrapping_sub(*low).cast_unsigned() <= *span;
                super::both(mask(block_of(values, place), near), words(present, place))
            }
            Probe::Near { values, present, low, bits } => {
                let set = |value: i64| is_set(bits, value.wrapping_sub(*low).cast_unsigned());
                super::both(mask(block_of(values, place), set), words(present, place))
            }
            Probe::Among { values, present, numbers } => {
                let known = |value: i64| numbers.binary_search(&value).is_ok();
                super::both(mask(block_of(values, place), known), words(present, place))
            }
            Probe::Other { values, present, number } => {
                super::both(mask(block_of(values, place), |value| value != *number), words(present, place))
            }
            Probe::Code { codes, code } => mask(block_of(codes, place), |one| one == *code),
            Probe::Codes { codes, bits } => mask(block_of(codes, place), |one| is_set(bits, one.into())),
            Probe::NotCode { codes, code } => mask(block_of(codes, place), |one| one != *code && one != NONE),
            Probe::None | Probe::Not | Probe::And | Probe::Or => Mask::default(),
        }
    }
}

/// A bit for each value of a block. Eight at a time, which the compiler turns into comparisons of several values at once:
/// half again as fast as 64, and twice as fast as whatever number there are.
#[inline]
fn mask<T: Copy>(values: &[T], passes: impl Fn(T) -> bool) -> Mask {
    let mut mask = Mask::default();
    let (eights, rest) = values.as_chunks::<8>();
    let byte = |values: &[T]| -> u64 {
        values.iter().enumerate().fold(0, |byte, (place, value)| byte | u64::from(passes(*value)) << place)
    };
    for (word, eights) in mask.iter_mut().zip(eights.chunks(8)) {
        *word = eights.iter().enumerate().fold(0, |word, (place, eight)| word | byte(eight) << (8 * place));
    }
    let last = eights.len();
    if let Some(word) = mask.get_mut(last / 8) {
        *word |= byte(rest) << (8 * (last % 8));
    }
    mask
}

/// Bits at these places.
fn bits(places: impl Iterator<Item = u64>) -> Box<[u64]> {
    let mut bits = Vec::new();
    for place in places {
        let word = (place / 64) as usize;
        if word >= bits.len() {
            bits.resize(word + 1, 0);
        }
        if let Some(word) = bits.get_mut(word) {
            *word |= 1_u64 << (place % 64);
        }
    }
    bits.into()
}

fn is_set(bits: &[u64], place: u64) -> bool {
    let word = usize::try_from(place / 64).ok().and_then(|word| bits.get(word));
    word.is_some_and(|word| word >> (place % 64) & 1 == 1)
}
