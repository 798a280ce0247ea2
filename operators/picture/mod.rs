//! Pictures in SVG: their elements, their axes, and their style.

mod draw;
mod style;
#[cfg(test)]
mod tests;

pub(crate) use draw::{
    AxisRange, Dates, Drawing, Scale, capitalized, counted, escape, grouped, named, numbers, percent, px,
    said, short, times,
};
pub(crate) use style::page_style;

/// Returns true if the mark is within the first 512 bytes of a text, as in a page or a picture that has it.
pub(crate) fn has_mark(text: &[u8], mark: &str) -> bool {
    let beginning = text.get(..text.len().min(512)).unwrap_or_default();
    beginning.windows(mark.len()).any(|part| part == mark.as_bytes())
}
#[cfg(test)]
pub(crate) use style::{DARK, LIGHT};
