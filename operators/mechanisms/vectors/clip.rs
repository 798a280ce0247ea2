//! Where each coordinate of a vector is clipped to.

use crate::invalid::{Invalid, InvalidKind};
use crate::mechanisms::bound::Range;

/// The most coordinates that a vector has.
pub(super) const MOST: usize = 256;

/// A range for each coordinate of a vector: what it is clipped to.
///
/// It is made of a list of whatever makes a [`Range`]: `[(0, 100), (-5, 5)]`, `[0..=100]`, a vector of such.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranges(Vec<Range>);

impl Ranges {
    /// These, one a coordinate.
    ///
    /// # Errors
    /// Names `ranges` unless there are from 1 to 256, and the coordinate (from 0) whose range is none.
    pub fn new<R: TryInto<Range, Error: Into<Invalid>>>(
        ranges: impl IntoIterator<Item = R>,
    ) -> Result<Ranges, Invalid> {
        let read = |(place, range): (usize, R)| {
            range.try_into().map_err(|refused| {
                let refused: Invalid = refused.into();
                Invalid::new(format!("ranges[{place}]"), refused.kind(), refused.remedy().to_owned())
            })
        };
        let ranges = ranges.into_iter().enumerate().map(read).collect::<Result<Vec<Range>, _>>()?;
        let kind = match ranges.len() {
            0 => InvalidKind::Empty,
            1..=MOST => return Ok(Ranges(ranges)),
            _ => InvalidKind::TooLarge,
        };
        Err(Invalid::new("ranges", kind, "a range for each coordinate, from 1 to 256 of them"))
    }

    /// One a coordinate.
    pub fn each(&self) -> &[Range] {
        &self.0
    }
}

impl<R: TryInto<Range, Error: Into<Invalid>>, const N: usize> TryFrom<[R; N]> for Ranges {
    type Error = Invalid;

    fn try_from(ranges: [R; N]) -> Result<Ranges, Invalid> {
        Ranges::new(ranges)
    }
}

impl<R: TryInto<Range, Error: Into<Invalid>>> TryFrom<Vec<R>> for Ranges {
    type Error = Invalid;

    fn try_from(ranges: Vec<R>) -> Result<Ranges, Invalid> {
        Ranges::new(ranges)
    }
}
