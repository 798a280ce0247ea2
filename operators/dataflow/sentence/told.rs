//! What becomes of a tally: the way from a mechanism that is ready to what the gate seals.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::admission::{Admitted, Ledgered};
use super::unit::Person;
use crate::accounting::Interval;
use crate::dataflow::engine::Travels;
use crate::dataflow::release::{Statistic, Title};
use crate::gate::{self, Sealable};
use crate::invalid::{Invalid, Kind};
use crate::ledger::{Charge, Digest, lines};
use crate::mechanisms::{Head, Ready, Tally, Tellable};
use crate::noise::Noise;

/// What a worker sends of a window. Prints as `<private>`.
#[derive(Clone, Serialize, Deserialize)]
pub(super) enum Portion<P> {
    /// Some of its tally.
    Part(P),
    /// Whom it has admitted.
    Admitted(Admitted),
}

impl<P> fmt::Debug for Portion<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<private>")
    }
}

/// A mechanism that is ready, with what its releases have in common.
pub(super) struct Telling<R, P> {
    pub(super) ready: Arc<R>,
    pub(super) title: Title,
    pub(super) promise: Arc<str>,
    pub(super) charge: Charge,
    pub(super) counters: Option<Ledgered<P>>,
}

impl<R, P> Statistic for Telling<R, P>
where
    R: Ready<Tally: Tally<Part: Travels>, Answer: Tellable>,
    P: Person,
{
    type Part = Portion<<R::Tally as Tally>::Part>;
    type Tally = (R::Tally, Vec<Admitted>);

    fn tally(&self, _: Interval) -> Self::Tally {
        (self.ready.tally(), Vec::new())
    }

    fn absorb(&self, (tally, admitted): &mut Self::Tally, portion: Self::Part) {
        match portion {
            Portion::Part(part) => tally.absorb(part),
            Portion::Admitted(more) => admitted.push(more),
        }
    }

    fn charge(&self, _: Interval) -> Charge {
        self.charge.clone()
    }

    fn seal(&self, window: Interval, (tally, admitted): Self::Tally) -> Box<dyn Sealable> {
        if let Some(counters) = &self.counters {
            counters.admitted(window, admitted);
        }
        Box::new(Draw {
            ready: Arc::clone(&self.ready),
            title: self.title.clone(),
            promise: Arc::clone(&self.promise),
            counters: self.counters.clone(),
            window,
            tally,
        })
    }
}

/// One window, as the gate sees it.
struct Draw<R: Ready, P> {
    ready: Arc<R>,
    title: Title,
    promise: Arc<str>,
    counters: Option<Ledgered<P>>,
    window: Interval,
    tally: R::Tally,
}

impl<R: Ready<Answer: Tellable>, P: Person> Sealable for Draw<R, P> {
    fn keeps_state(&self) -> bool {
        self.counters.is_some() || self.ready.remembers()
    }

    fn draw(self: Box<Self>, state: Option<&[u8]>, noise: &mut Noise) -> gate::Drawn {
        let Draw { ready, title, promise, counters, window, tally } = *self;
        // One that cannot be read ended the job before its first window; and beginning anew would still be private.
        let before = state.and_then(|bytes| Remembered::read(bytes).ok());
        let drawn = ready.draw(tally, before.and_then(|before| before.mechanism), noise);
        let used = counters.map(|counters| counters.sealed(window));
        let remembered =
            Remembered { version: title.version, mechanism: drawn.state.as_deref(), used: used.as_deref() };
        let state = (remembered.mechanism.is_some() || remembered.used.is_some()).then(|| remembered.write());
        let (id, window) = (title.of(window).id().to_string(), lines::window(window));
        let head = Head { release: title.name.as_str(), window: &window, id: &id, promise: &promise };
        gate::Drawn { line: drawn.answer.tell(&head), state }
    }
}

/// What a statistic keeps from one window to the next: what its mechanism remembers, and in how many windows each person
/// has counted. The first outlives a version of the job, for what is public stays so; the second does not, for a new
/// version pays anew.
pub(super) struct Remembered<'a> {
    pub(super) version: Digest,
    pub(super) mechanism: Option<&'a [u8]>,
    pub(super) used: Option<&'a [u8]>,
}

/// The first byte of what is written.
const FORMAT: u8 = 1;

impl<'a> Remembered<'a> {
    pub(super) fn write(&self) -> Vec<u8> {
        let mut bytes = vec![FORMAT];
        bytes.extend(self.version.bytes());
        for part in [self.mechanism, self.used] {
            bytes.push(u8::from(part.is_some()));
            let part = part.unwrap_or_default();
            bytes.extend((part.len() as u64).to_le_bytes());
            bytes.extend(part);
        }
        bytes
    }

    pub(super) fn read(bytes: &'a [u8]) -> Result<Remembered<'a>, Invalid> {
        let odd = || Invalid::new("state", Kind::Malformed, "what this version of the library has written");
        let parsed = || -> Option<Remembered<'a>> {
            let (&FORMAT, rest) = bytes.split_first()? else { return None };
            let (version, mut rest) = rest.split_first_chunk()?;
            let mut part = || -> Option<Option<&'a [u8]>> {
                let (&there, after) = rest.split_first()?;
                let (length, after) = after.split_first_chunk()?;
                let (part, after) =
                    after.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
                rest = after;
                Some((there == 1).then_some(part))
            };
            let (mechanism, used) = (part()?, part()?);
            rest.is_empty().then_some(Remembered { version: Digest(*version), mechanism, used })
        };
        parsed().ok_or_else(odd)
    }
}
