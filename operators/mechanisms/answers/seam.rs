//! The seam between questions and the mechanism that answers them: as [`Mechanism`](crate::mechanisms::Mechanism) is for windows.

use super::found::MatchedTotals;
use super::question::Query;
use super::schema::Schema;
use super::steps::Steps;
use crate::accounting::{Interval, ReleaseCost};
use crate::canonical::Digest;
use crate::invalid::Invalid;
use crate::mechanisms::sealed::Sealed;
use crate::mechanisms::{ContributionBound, Drawn, Tellable};
use crate::noise::NoiseSource;

/// A way to noise answers, with a price for all of them together.
pub trait Answers: Sealed + Send + Sync + 'static {
    /// The same with every parameter settled.
    type Ready: ReadyAnswers;

    /// Settles every parameter. All that can be refused is refused here, before there is data.
    ///
    /// # Errors
    /// Names the parameter that is out of range.
    fn ready(&self, limits: &ContributionBound, schema: &Schema) -> Result<Self::Ready, Invalid>;
}

/// Answers that are ready to be drawn, question after question.
pub trait ReadyAnswers: Sealed + Send + Sync + 'static {
    /// What it tells of a question.
    type Answer: Tellable + Send + 'static;

    /// What all answers cost together. It is paid once, before the first.
    fn cost(&self) -> &ReleaseCost;

    /// A hash of every parameter that an answer depends on, as [`Ready::parameters`](crate::mechanisms::Ready::parameters).
    fn parameters(&self) -> Digest;

    /// In which steps answers are counted.
    fn steps(&self) -> Steps;

    /// Whether somebody may ask. It is public.
    fn serves(&self, analyst: &str) -> bool;

    /// Whether state that a former answer left can be read: asked once, before the first draw of a process.
    ///
    /// # Errors
    /// Names `state` where it was not written by this mechanism, or by a later version of it.
    fn accepts(&self, state: &[u8]) -> Result<(), Invalid>;

    /// Draws, or refuses because of what was answered before. Total, as [`Ready::draw`](crate::mechanisms::Ready::draw) is:
    /// whether and how often noise is drawn depends on the question and on the state, which are public.
    ///
    /// `version` is the window that was counted, and `opened` says which opening of the bundle this is: what counts is how
    /// many answers that one has given.
    fn draw(
        &self,
        asked: &Query,
        found: MatchedTotals,
        version: Interval,
        opened: Digest,
        state: Option<&[u8]>,
        noise: &mut NoiseSource,
    ) -> Drawn<Self::Answer>;
}
