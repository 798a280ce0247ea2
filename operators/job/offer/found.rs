//! The two mechanisms by which a job finds a largest value, as one type: its pipeline is then built once.

use super::CellKey;
use crate::accounting::ReleaseCost;
use crate::canonical::Digest;
use crate::invalid::Invalid;
use crate::mechanisms::sealed::Sealed;
use crate::mechanisms::{Answer, Cells, Drawn, Inverted, Maximum, Noised, Ready, Searched, Tops};
use crate::noise::NoiseSource;

/// A largest value, prepared to be released.
#[derive(Clone, Debug)]
pub(crate) enum PreparedMaximum {
    /// Search by noised comparisons.
    Searched(Searched<CellKey, Maximum>),
    /// A single draw of the exponential mechanism.
    Inverted(Inverted<CellKey, Maximum>),
}

macro_rules! either {
    ($found:expr, $ready:pat => $what:expr) => {
        match $found {
            PreparedMaximum::Searched($ready) => $what,
            PreparedMaximum::Inverted($ready) => $what,
        }
    };
}

impl PreparedMaximum {
    /// Returns the noise, and the promised ranks.
    pub(crate) fn noise(&self) -> &[Noised] {
        either!(self, ready => ready.noise())
    }

    /// Returns the half-widths of the intervals, in people.
    pub(crate) fn reaches(&self) -> &[f64] {
        either!(self, ready => ready.reaches())
    }

    /// Returns the number of people from which a key is released, with partition selection.
    pub(crate) fn threshold(&self) -> Option<i64> {
        either!(self, ready => ready.threshold())
    }
}

impl Sealed for PreparedMaximum {}

impl Ready for PreparedMaximum {
    type Tally = Cells<CellKey, Tops>;
    type Answer = Answer<CellKey, i128>;

    fn tally(&self) -> Cells<CellKey, Tops> {
        either!(self, ready => ready.tally())
    }

    fn cost(&self) -> &ReleaseCost {
        either!(self, ready => ready.cost())
    }

    fn parameters(&self) -> Digest {
        either!(self, ready => ready.parameters())
    }

    fn remembers(&self) -> bool {
        either!(self, ready => ready.remembers())
    }

    fn accepts(&self, state: &[u8]) -> Result<(), Invalid> {
        either!(self, ready => ready.accepts(state))
    }

    fn largest(&self) -> Option<usize> {
        either!(self, ready => ready.largest())
    }

    fn draw(
        &self,
        exact: Cells<CellKey, Tops>,
        state: Option<&[u8]>,
        noise: &mut NoiseSource,
    ) -> Drawn<Answer<CellKey, i128>> {
        either!(self, ready => ready.draw(exact, state, noise))
    }
}
