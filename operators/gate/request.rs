//! What goes into the gate and what comes out: all that it ever sees of a statistic or a mechanism.

use std::fmt;
use std::sync::Arc;

use crate::accounting::{Interval, PrivacyCost};
use crate::ledger::{Charge, Digest, Forecast, Name, ReleaseId, Row};
use crate::noise::NoiseSource;

use super::doubt::HaltReason;

/// A window's exact statistic with the mechanism that will noise it.
///
/// A draw cannot fail. It is made once, from a fresh seed, after the ledger has said that the release has no row; what
/// it returns is the line that may leave. Its price was stated before, where no data was in reach.
pub trait Sealable: Send {
    /// Whether the mechanism remembers something from one release to the next. Then the releases of this statistic are
    /// sealed one after another, in the order in which they were asked for.
    fn keeps_state(&self) -> bool {
        false
    }

    /// Noises the statistic, and writes the line. `state` is what the last sealed release of this statistic kept.
    fn draw(self: Box<Self>, state: Option<&[u8]>, noise: &mut NoiseSource) -> DrawResult;
}

/// What a draw gave.
#[expect(missing_debug_implementations, reason = "until it is sealed, nobody may see it")]
pub struct DrawResult {
    /// The line that may leave.
    pub line: String,
    /// What the mechanism keeps for its next release; `None` leaves what there is.
    pub state: Option<Vec<u8>>,
    /// What is noted beside a state that is kept: it is written once, and not with every release again.
    pub note: Option<Noted>,
}

/// What a release adds to the notes of its statistic.
#[expect(missing_debug_implementations, reason = "it is a secret")]
pub struct Noted {
    /// Its place: one further for each note of the statistic.
    pub place: i64,
    /// Notes at earlier places than this are given up.
    pub since: i64,
    /// What it says.
    pub text: Vec<u8>,
}

/// A mechanism without a memory is a function of its noise.
impl<F: FnOnce(&mut NoiseSource) -> String + Send> Sealable for F {
    fn draw(self: Box<Self>, _: Option<&[u8]>, noise: &mut NoiseSource) -> DrawResult {
        DrawResult { line: self(noise), state: None, note: None }
    }
}

/// A complete window that asks to be released.
///
/// Only this library makes one, and computes its charge from the mechanism that draws its noise. A price that another crate
/// states by hand does not compile:
///
/// ```compile_fail,E0451
/// use discreet::gate::{Request, Sealable};
/// use discreet::ledger::{Charge, Release};
///
/// fn by_hand(release: Release, charge: Charge, sealable: Box<dyn Sealable>) -> Request {
///     Request { release, charge, sealable }
/// }
/// ```
pub struct ReleaseRequest {
    /// What is to be released.
    pub(crate) release: ReleaseId,
    /// How it is paid for: from configuration, never from data.
    pub(crate) charge: Charge,
    /// The secret, and how to tell it.
    pub(crate) sealable: Box<dyn Sealable>,
}

impl ReleaseRequest {
    /// A request whose charge nothing proves to pay for its draw. For tests and benches of this library itself.
    #[doc(hidden)]
    #[must_use]
    pub fn unproved_for_tests_of_the_library_itself(
        release: ReleaseId,
        charge: Charge,
        sealable: Box<dyn Sealable>,
    ) -> ReleaseRequest {
        ReleaseRequest { release, charge, sealable }
    }
}

impl fmt::Debug for ReleaseRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request").field("release", &self.release).finish_non_exhaustive()
    }
}

/// What the gate has to say.
#[derive(Clone, Debug)]
pub enum GateEvent {
    /// A row of the ledger, read back: its line may leave, and no other. Beside it, how its budget stands.
    Row(Box<Row>, Box<BudgetStatus>),
    /// The line of this row is not for this process to let leave: it has left before, or another process lets it. Only
    /// where nothing may be delivered twice.
    Withheld(Box<Row>),
    /// The ledger has no row under this name, and none is on its way: what was [sought](super::GateHandle::seek) was never
    /// released.
    Absent(Digest),
    /// Nothing more will be released by this process.
    Halted(HaltReason),
}

/// How much of a budget is spent where a window counts it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BudgetStatus {
    /// The budget.
    pub domain: Name,
    /// The window.
    pub window: Interval,
    /// What counts against it.
    pub spent: PrivacyCost,
    /// What it may count up to.
    pub cap: PrivacyCost,
    /// How long it lasts, if every statistic goes on at its newest price and pace.
    pub forecast: Arc<Forecast>,
    /// The place of the row beside it among all rows that the gate of this process gave out, from 0 on: the order in which
    /// their windows were handed in.
    pub order: u64,
}
