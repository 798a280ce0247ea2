//! The backend of a pipeline, which charges and seals: the gate, or a recorder in tests.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::admission::Admitted;
use super::aggregation::GroupingKey;
use super::ledgered::{Ledgered, Pages};
use super::left_out::LeftOut;
use super::unit::Person;
use crate::accounting::{Interval, PrivacyUnit};
use crate::dataflow::driver::ProcessShared;
use crate::dataflow::engine::Travels;
use crate::dataflow::release::{ReleaseBackend, Title, Wake, WindowStatistic};
use crate::dataflow::windows::Schedule;
use crate::gate;
use crate::gate::{Gate, Memory, Sealable};
use crate::invalid::{Invalid, InvalidKind};
use crate::ledger::{AccountSpec, Charge, Digest, LedgerError, Name, VersionTerms, rows};
use crate::mechanisms::{Head, Paid, Prepared, ReleaseLines, Tally};
use crate::noise::NoiseSource;
use crate::time::Time;

/// The use of a ledger's key by which is chosen what is kept of a person.
pub(crate) const CHOICE: &str = "discreet-dataflow 2026-11 what is kept of a person";

/// A handle, and what was kept for its statistic.
pub(super) type Opened = (Box<dyn ReleaseBackend>, Option<Memory>);

/// The backend of a job's statistics, which charges and seals their releases.
pub(super) trait StatisticBackend {
    /// Is halted when the run fails, and refuses to be elsewhere than worker 0 is.
    fn answers_for(&self, shared: &ProcessShared);

    fn job(&self) -> Name;

    /// The version of a statistic that states none: the job's.
    fn version(&self) -> u32;

    /// Returns the key of the contribution selection.
    fn secret(&self) -> Zeroizing<[u8; 32]>;

    /// The budget that pays: the one of that name, or the only one for such a unit.
    fn account(&self, named: Option<&str>, unit: PrivacyUnit) -> Result<AccountSpec, LedgerError>;

    /// Opens the statistic in a version with these terms.
    fn open(
        &self,
        name: &Name,
        version: u32,
        terms: &VersionTerms,
        wake: Wake,
    ) -> Result<Opened, LedgerError>;
}

/// The gate.
pub(super) struct AtGate<'a>(pub(super) &'a Gate);

impl StatisticBackend for AtGate<'_> {
    fn answers_for(&self, shared: &ProcessShared) {
        shared.on_failure(Box::new(self.0.halter()));
    }

    fn job(&self) -> Name {
        self.0.job().clone()
    }

    fn version(&self) -> u32 {
        self.0.version()
    }

    fn secret(&self) -> Zeroizing<[u8; 32]> {
        self.0.key().derive_for_ids(CHOICE)
    }

    fn account(&self, named: Option<&str>, unit: PrivacyUnit) -> Result<AccountSpec, LedgerError> {
        let named = named.map(|name| Name::new("account", name)).transpose()?;
        self.0.account(named.as_ref(), unit).cloned()
    }

    fn open(
        &self,
        name: &Name,
        version: u32,
        terms: &VersionTerms,
        wake: Wake,
    ) -> Result<Opened, LedgerError> {
        if self.0.is_elsewhere() {
            return Err(LedgerError::refused("ledger: the process that holds worker 0 must open it"));
        }
        let mut handle = self.0.handle_in_version(version, name, terms.clone(), wake)?;
        let memory = handle.take_memory();
        Ok((Box::new(handle), memory))
    }
}

// What becomes of a tally: the way from a mechanism that is ready to what the gate seals.

/// A message of a worker about a window. Prints as `<private>`.
#[derive(Clone, Serialize, Deserialize)]
pub(super) enum Portion<P> {
    /// Some of its tally.
    Part(P),
    /// The people that the window has admitted.
    Admitted(Admitted),
}

redacted!([P] Portion<P>);

/// A mechanism that is ready, with what its releases have in common.
pub(super) struct PreparedRelease<R, P, K> {
    pub(super) prepared: Arc<R>,
    pub(super) title: Title,
    pub(super) promise: Arc<str>,
    pub(super) charge: Charge,
    pub(super) schedule: Schedule,
    pub(super) counters: Option<Ledgered<P, K>>,
}

impl<R, P, K> WindowStatistic for PreparedRelease<R, P, K>
where
    R: Prepared<Tally: Tally<Part: Travels>, Answer: ReleaseLines>,
    P: Person,
    K: GroupingKey,
{
    type Part = Portion<<R::Tally as Tally>::Part>;
    type Tally = (R::Tally, Vec<Admitted>);

    fn tally(&self, _: Interval) -> Self::Tally {
        (self.prepared.tally(), Vec::new())
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

    fn last(&self) -> Option<u64> {
        match self.prepared.paid() {
            Paid::Once { windows } => windows,
            Paid::EachWindow => None,
        }
    }

    fn unreleased(&self, window: Interval, (_, admitted): Self::Tally) {
        if let Some(counters) = &self.counters {
            counters.admitted(window, admitted);
        }
    }

    fn part_unreleased(&self, window: Interval, portion: Self::Part) {
        if let (Some(counters), Portion::Admitted(admitted)) = (&self.counters, portion) {
            counters.admitted(window, vec![admitted]);
        }
    }

    fn sealable(&self, window: Interval, (tally, admitted): Self::Tally) -> Box<dyn Sealable> {
        if let Some(counters) = &self.counters {
            counters.admitted(window, admitted);
        }
        Box::new(WindowDraw {
            prepared: Arc::clone(&self.prepared),
            title: self.title.clone(),
            promise: Arc::clone(&self.promise),
            counters: self.counters.clone(),
            schedule: self.schedule.clone(),
            window,
            tally,
        })
    }
}

/// One window, as the gate sees it.
struct WindowDraw<R: Prepared, P, K> {
    prepared: Arc<R>,
    title: Title,
    promise: Arc<str>,
    counters: Option<Ledgered<P, K>>,
    schedule: Schedule,
    window: Interval,
    tally: R::Tally,
}

impl<R: Prepared<Answer: ReleaseLines>, P: Person, K: GroupingKey> Sealable for WindowDraw<R, P, K> {
    fn keeps_state(&self) -> bool {
        self.counters.is_some() || self.prepared.remembers()
    }

    fn draw(self: Box<Self>, state: Option<&[u8]>, noise: &mut NoiseSource) -> gate::DrawResult {
        let WindowDraw { prepared, title, promise, counters, schedule, window, tally } = *self;
        // One of this version that cannot be read ended the job before its first window; of another's,
        // nothing is inherited.
        let before = state.and_then(|bytes| Remembered::read(bytes).ok());
        let kept = before
            .as_ref()
            .and_then(|before| before.held_for(&*prepared, title.version, (window, &schedule), noise));
        let own = before.filter(|before| before.version == title.version);
        let (mut left_out, mut gaps) = (LeftOut::default(), String::new());
        let covered = prepared.covers();
        if covered > 1 {
            left_out = own.as_ref().map(|before| before.left_out.clone()).unwrap_or_default();
            left_out.add(&schedule, own.as_ref().map(|before| before.through), window);
            gaps = left_out.in_json(&schedule, covered, window);
        }
        let drawn = prepared.draw(tally, kept.as_deref(), noise);
        // A step leads from the state that was sealed, and not from one that was made of it.
        let step = drawn.step.filter(|_| matches!(kept, Some(Cow::Borrowed(_))));
        let step = step.map(|step| step.behind(MECHANISM_AT));
        let sealed = counters.map(|counters| counters.sealed(window, own.and_then(|own| own.pages)));
        let (pages, note) = sealed.map_or((None, None), |(pages, note)| (Some(pages), Some(note)));
        let remembered = Remembered {
            version: title.version,
            through: window.end(),
            mechanism: drawn.state.as_deref(),
            pages,
            left_out,
        };
        let state = (remembered.mechanism.is_some() || pages.is_some()).then(|| remembered.write());
        let (id, window) = (title.of(window).id().to_string(), rows::window(window));
        let head =
            Head { release: title.name.as_str(), window: &window, id: &id, promise: &promise, gaps: &gaps };
        gate::DrawResult { line: drawn.answer.lines(&head), state, step, note }
    }
}

/// The state that a statistic keeps from one window to the next: its mechanism's, and the places of its notes
/// on the contributions of each person. What is public of the first outlives a version of the job; the rest
/// does not, for a new version pays anew.
pub(super) struct Remembered<'a> {
    pub(super) version: Digest,
    /// The end of the window that it was sealed with.
    pub(super) through: Time,
    pub(super) mechanism: Option<&'a [u8]>,
    pub(super) pages: Option<Pages>,
    /// The windows before that have no part in the mechanism's state.
    pub(super) left_out: LeftOut,
}

/// The first byte of what is written.
const FORMAT: u8 = 3;

/// The first byte of what earlier versions of the library have written, without the windows that are left out.
const WITHOUT_LEFT_OUT: u8 = 2;

/// The place of the mechanism's state in what is written: behind the format, the version, the time, and the
/// mark and the length of the state.
const MECHANISM_AT: usize = 1 + 32 + 8 + 1 + 8;

impl<'a> Remembered<'a> {
    /// Returns the state that a mechanism kept, as it holds for a window.
    fn held_for<R: Prepared>(
        &self,
        prepared: &R,
        version: Digest,
        (window, schedule): (Interval, &Schedule),
        noise: &mut NoiseSource,
    ) -> Option<Cow<'a, [u8]>> {
        let kept = self.mechanism?;
        if self.version != version {
            return prepared.inherits(kept).ok().flatten().map(Cow::Owned);
        }
        let next = schedule.first_ending_after(self.through);
        let passed = schedule.first_ending_after(window.end() - 1).saturating_sub(next);
        Some(match passed {
            0 => Cow::Borrowed(kept),
            passed => Cow::Owned(prepared.passed_by(kept, passed, noise)),
        })
    }

    pub(super) fn write(&self) -> Vec<u8> {
        let mut bytes = vec![FORMAT];
        bytes.extend(self.version.bytes());
        bytes.extend(self.through.to_le_bytes());
        let pages = self.pages.map(|pages| pages.write());
        for part in [self.mechanism, pages.as_deref()] {
            bytes.push(u8::from(part.is_some()));
            let part = part.unwrap_or_default();
            bytes.extend((part.len() as u64).to_le_bytes());
            bytes.extend(part);
        }
        bytes.extend(self.left_out.write());
        bytes
    }

    pub(super) fn read(bytes: &'a [u8]) -> Result<Remembered<'a>, Invalid> {
        let odd =
            || Invalid::new("state", InvalidKind::Malformed, "what this version of the library has written");
        let parsed = || -> Option<Remembered<'a>> {
            let (format @ &(WITHOUT_LEFT_OUT | FORMAT), rest) = bytes.split_first()? else { return None };
            let (version, rest) = rest.split_first_chunk()?;
            let (through, mut rest) = rest.split_first_chunk()?;
            let mut part = || -> Option<Option<&'a [u8]>> {
                let (&there, after) = rest.split_first()?;
                let (length, after) = after.split_first_chunk()?;
                let (part, after) =
                    after.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
                rest = after;
                Some((there == 1).then_some(part))
            };
            let (mechanism, pages) = (part()?, part()?);
            let pages = match pages {
                Some(pages) => Some(Pages::read(pages)?),
                None => None,
            };
            let (version, through) = (Digest(*version), Time::from_le_bytes(*through));
            let left_out = LeftOut::read(rest).filter(|_| *format == FORMAT || rest.is_empty())?;
            Some(Remembered { version, through, mechanism, pages, left_out })
        };
        parsed().ok_or_else(odd)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    // Refutes a step of a mechanism's state that is applied to other bytes, which would cost its size.
    #[test]
    fn the_state_of_a_mechanism_is_where_its_steps_are_applied() {
        let pages = Pages::read(&[7; 48]);
        let mechanism = Some(&b"kept"[..]);
        let (version, left_out) =
            (Digest::of(b"version 1"), LeftOut::read(&[[0; 8], [1; 8]].concat()).unwrap());
        let written = Remembered { version, through: 7, mechanism, pages, left_out }.write();
        assert_eq!(written.get(MECHANISM_AT..MECHANISM_AT + 4), mechanism);
    }

    // Refutes a state that the version before has written and this one refuses.
    #[test]
    fn a_state_without_the_windows_that_are_left_out_is_read() {
        let (version, left_out) = (Digest::of(b"version 1"), LeftOut::default());
        let mechanism = Some(&b"kept"[..]);
        let mut written = Remembered { version, through: 7, mechanism, pages: None, left_out }.write();
        for format in [FORMAT, WITHOUT_LEFT_OUT] {
            written[0] = format;
            let read = Remembered::read(&written).unwrap();
            assert_eq!((read.through, read.mechanism, read.left_out), (7, mechanism, LeftOut::default()));
        }
        written.extend([0; 16]);
        assert!(Remembered::read(&written).is_err(), "it has none");
    }
}
