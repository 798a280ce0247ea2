//! What is counted, as the operator that releases sees it.

use crate::accounting::Interval;
use crate::gate::Sealable;
use crate::ledger::{Charge, Digest, Name, ReleaseId};

use crate::dataflow::engine::Travels;

/// A statistic of one window: how its exact tally is put together from what the workers send, and how it is told.
///
/// It vouches that one protected unit moves a tally by no more than the noise in its [`Sealable`] was made for; what
/// arrives here is already bounded.
pub trait WindowStatistic: 'static {
    /// What one worker knows of a window.
    type Part: Travels;
    /// What all of them know: exact, and private until it is sealed.
    type Tally: 'static;

    /// The tally of a window without a record.
    fn tally(&self, window: Interval) -> Self::Tally;

    /// Takes in a part. The order of parts makes no difference.
    fn absorb(&self, tally: &mut Self::Tally, part: Self::Part);

    /// How the release of a window is paid for. No tally is in reach: a price is public.
    fn charge(&self, window: Interval) -> Charge;

    /// How many windows there may be; later ones are skipped, each with a row that says so.
    fn last(&self) -> Option<u64> {
        None
    }

    /// The finished tally with the mechanism that will noise it.
    fn seal(&self, window: Interval, tally: Self::Tally) -> Box<dyn Sealable>;
}

/// What the releases of a statistic have in common: all of their identity but the window and which answer over it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Title {
    /// The budget that they are charged to.
    pub domain: Name,
    /// The job that releases them.
    pub job: Name,
    /// A hash of the job's version and of every parameter that privacy depends on, as [`Digest::of_version`] makes it.
    pub version: Digest,
    /// Which of the job's statistics.
    pub name: Name,
}

impl Title {
    /// The release of one window.
    pub fn of(&self, window: Interval) -> ReleaseId {
        let Title { domain, job, version, name } = self.clone();
        ReleaseId { domain, job, version, name, window, part: None }
    }

    /// The release of one of several answers over a window.
    pub fn part(&self, window: Interval, part: Digest) -> ReleaseId {
        ReleaseId { part: Some(part), ..self.of(window) }
    }
}
