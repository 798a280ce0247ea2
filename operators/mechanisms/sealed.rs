//! The private supertrait of all traits whose implementations state a price or a sensitivity.
//!
//! A crate outside cannot name [`Sealed`], so it cannot implement [`Mechanism`](super::Mechanism),
//! [`Ready`](super::Ready), [`Statistic`](super::Statistic), [`Tally`](super::Tally) or
//! [`Answers`](super::answers::Answers). What a ledger charges is then what this library proves for the noise that it draws.

/// A type of this library.
pub trait Sealed {}
