//! The two ways in which a job finds a largest value, as one: its sentence is then built once.

use super::CellKey;
use crate::accounting::ReleaseCost;
use crate::canonical::Digest;
use crate::invalid::Invalid;
use crate::mechanisms::sealed::Sealed;
use crate::mechanisms::{Answer, Cells, Drawn, Inverted, Maximum, Noised, Ready, Searched, Tops};
use crate::noise::NoiseSource;

/// A largest value, ready to be found.
#[derive(Clone, Debug)]
pub(crate) enum PreparedMaximum {
    /// By noised comparisons.
    Searched(Searched<CellKey, Maximum>),
    /// By one choice.
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
    /// The noise, and what is promised.
    pub(crate) fn noise(&self) -> &[Noised] {
        either!(self, ready => ready.noise())
    }

    /// In people.
    pub(crate) fn reaches(&self) -> &[f64] {
        either!(self, ready => ready.reaches())
    }

    /// With how many people a key becomes public, where keys are discovered.
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
