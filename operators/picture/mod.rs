//! Pictures in SVG: their elements, their axes, and their style.

mod draw;
mod style;
#[cfg(test)]
mod tests;

pub(crate) use draw::{
    AxisRange, Drawing, Scale, capitalized, counted, dated, escape, grouped, named, numbers, percent, px,
    said, short, spanned, times,
};
pub(crate) use style::page_style;
#[cfg(test)]
pub(crate) use style::{DARK, LIGHT};
