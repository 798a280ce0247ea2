//! What a ledger holds, apart from how it is kept: releases and amendments, which with domains are each a link of one chain.
//!
//! A link is the hash of the link before it and of every column that never changes, so no row can be edited, removed or
//! moved without breaking all that follow. What does change (how much is spent, whether a line was delivered) is either
//! recomputed from these rows or carries no promise.

use super::columns::{encode, fate_column};
use super::lines;
use super::name::Name;
use crate::accounting::{Interval, Prices, PrivacyCost, ReleaseCost};
use crate::canonical::{Canonical, Digest};

/// What is released: a job's statistic over one window, or one of several answers over it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ReleaseId {
    /// The budget it is charged to.
    pub domain: Name,
    /// The job that releases it.
    pub job: Name,
    /// A hash of every parameter that privacy depends on, the version of the job's code included, as
    /// [`Digest::of_version`] makes it.
    pub version: Digest,
    /// Which of the job's statistics.
    pub name: Name,
    /// The time whose data it reads.
    pub window: Interval,
    /// Which of several answers over the window; `None` where there is one.
    pub part: Option<Digest>,
}

impl ReleaseId {
    /// The one name under which it can be sealed, by whichever process, however often it is tried.
    pub fn id(&self) -> Digest {
        let window = Canonical::new("discreet release 1")
            .text(self.domain.as_str())
            .text(self.job.as_str())
            .digest(&self.version)
            .text(self.name.as_str())
            .number(self.window.start())
            .number(self.window.end());
        // At the end, and nothing where there is none: the releases of windows keep the names that they had.
        let named = match &self.part {
            Some(part) => window.digest(part),
            None => window,
        };
        named.finish()
    }
}

impl ReleaseId {
    /// The line that says that there will be no answer.
    pub(crate) fn tombstone(&self, fate: ReleaseStatus) -> String {
        lines::tombstone(self, fate_column(fate))
    }

    /// The line that says that a repair ended this window, and that an earlier value of it holds.
    pub(crate) fn lost_to_repair(&self) -> String {
        lines::lost_to_repair(self)
    }
}

/// What a release has become in the ledger. Written once, never changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ReleaseStatus {
    /// Noised, charged and durable: its line may leave.
    Sealed,
    /// It did not fit the budget; its line says so and cost nothing.
    Refused,
    /// Its time passed before it was ready; nothing was drawn and nothing charged.
    Skipped,
    /// It was charged, and its line could not be kept; or it starts before a repair of the ledger and had no row. Nothing
    /// is drawn for it any more. What was released for it before the repair holds.
    Lost,
}

/// How a release is paid for. It is stated before any data is seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Charge {
    /// By itself.
    Cost(ReleaseCost),
    /// Together with all others of its statistic in the same life: a running total, a bundle of answers, the first
    /// windows of each person. Whichever is sealed first pays for all of them, against the whole of that time.
    Once {
        /// What all of them cost together.
        cost: ReleaseCost,
        /// The time whose data they read, first to last.
        life: Interval,
    },
}

impl Charge {
    /// What it asks of the budget, where nobody has paid before.
    pub fn cost(&self) -> &ReleaseCost {
        match self {
            Charge::Cost(cost) | Charge::Once { cost, .. } => cost,
        }
    }
}

/// A row of the ledger, as it was written, once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub(crate) sequence: i64,
    pub(crate) release: ReleaseId,
    pub(crate) generation: i64,
    pub(crate) fate: ReleaseStatus,
    pub(crate) cost: Option<PrivacyCost>,
    /// The price where a stretch of time cuts the window, where it is not the cost.
    pub(crate) partial: Option<PrivacyCost>,
    pub(crate) life: Option<Interval>,
    pub(crate) prepaid: Option<Digest>,
    pub(crate) state: Option<Digest>,
    pub(crate) line: String,
    pub(crate) delivered: bool,
    pub(crate) chain: Digest,
}

impl Row {
    /// Its place among all rows of the ledger.
    pub fn sequence(&self) -> i64 {
        self.sequence
    }

    /// What it is about.
    pub fn release(&self) -> &ReleaseId {
        &self.release
    }

    /// What became of it.
    pub fn fate(&self) -> ReleaseStatus {
        self.fate
    }

    /// What it cost, in the domain's currency; `None` for what cost nothing or was prepaid.
    pub fn cost(&self) -> Option<&PrivacyCost> {
        self.cost.as_ref()
    }

    /// What it cost where a stretch of time cuts its window ([`ReleaseCost::partial`]), in the domain's currency; `None` for what
    /// cost nothing or was prepaid.
    pub fn partial(&self) -> Option<&PrivacyCost> {
        self.partial.as_ref().or(self.cost.as_ref())
    }

    /// Both prices, of what cost something.
    pub(crate) fn prices(&self) -> Option<Prices> {
        Some(Prices { whole: self.cost.clone()?, partial: self.partial()?.clone() })
    }

    /// The time against which its cost counts: its window, or the life that it paid for.
    pub fn charged(&self) -> Interval {
        self.life.unwrap_or(self.release.window)
    }

    /// The text that may leave, byte by byte: one line, several that are separated by `\n`, or nothing.
    pub fn line(&self) -> &str {
        &self.line
    }

    /// The line that ends a sealed window's text, by which a reader knows that it has all of it; `None` for what was not
    /// sealed, whose one line says so.
    ///
    /// `cells` is how many lines the text has: they are separated by `\n`, and an empty text has none.
    pub fn closing(&self) -> Option<String> {
        lines::closing(self)
    }

    /// All lines of its window: its text, and the line that ends it.
    pub fn lines(&self) -> String {
        let text = (!self.line.is_empty()).then(|| self.line.clone());
        let lines: Vec<String> = text.into_iter().chain(self.closing()).collect();
        lines.join("\n")
    }

    /// Whether the ledger holds that the line has left.
    pub fn is_delivered(&self) -> bool {
        self.delivered
    }

    /// The hash of this row and of all before it.
    pub fn chain(&self) -> &Digest {
        &self.chain
    }

    pub(crate) fn chained(&self, previous: &Digest) -> Digest {
        Canonical::new("discreet row 2")
            .digest(previous)
            .number(self.sequence)
            .digest(&self.release.id())
            .text(self.release.domain.as_str())
            .text(self.release.job.as_str())
            .digest(&self.release.version)
            .text(self.release.name.as_str())
            .number(self.release.window.start())
            .number(self.release.window.end())
            .number(self.generation)
            .text(fate_column(self.fate))
            .bytes(&self.cost.as_ref().and_then(encode).unwrap_or_default())
            .bytes(&self.partial.as_ref().and_then(encode).unwrap_or_default())
            .number(self.charged().start())
            .number(self.charged().end())
            .bytes(self.life.map_or(&[][..], |_| &[1]))
            .bytes(self.prepaid.as_ref().map_or(&[][..], |by| by.bytes()))
            .bytes(self.state.as_ref().map_or(&[][..], |state| state.bytes()))
            .text(&self.line)
            .finish()
    }
}

/// A cap that was raised, and who answers for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Amendment {
    pub(crate) sequence: i64,
    pub(crate) domain: Name,
    pub(crate) cap: PrivacyCost,
    pub(crate) who: String,
    pub(crate) why: String,
}

impl Amendment {
    pub(crate) fn chained(&self, previous: &Digest) -> Digest {
        Canonical::new("discreet amendment 1")
            .digest(previous)
            .number(self.sequence)
            .text(self.domain.as_str())
            .bytes(&encode(&self.cap).unwrap_or_default())
            .text(&self.who)
            .text(&self.why)
            .finish()
    }
}

/// What an operator accepted when the ledger was behind what it had published, or torn: rows after `sound` are lost, and
/// no window that starts before `floor` is drawn any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repair {
    pub(crate) sequence: i64,
    pub(crate) sound: i64,
    pub(crate) floor: i64,
    pub(crate) reason: String,
    /// The hashes of rows that had been told and are lost.
    pub(crate) given_up: Vec<Digest>,
}

impl Repair {
    pub(crate) fn chained(&self, previous: &Digest) -> Digest {
        Canonical::new("discreet repair 1")
            .digest(previous)
            .number(self.sequence)
            .number(self.sound)
            .number(self.floor)
            .text(&self.reason)
            .bytes(&self.given_up_column())
            .finish()
    }
}

impl Repair {
    pub(crate) fn given_up_column(&self) -> Vec<u8> {
        self.given_up.iter().flat_map(|chain| chain.0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn release() -> ReleaseId {
        let name = |name| Name::new("name", name).unwrap();
        ReleaseId {
            domain: name("visits"),
            job: name("web"),
            version: Digest([7; 32]),
            name: name("by_path"),
            window: Interval::new(0, 10).unwrap(),
            part: None,
        }
    }

    #[test]
    fn every_part_of_a_release_is_part_of_its_name() {
        let other = |change: fn(&mut ReleaseId)| {
            let mut release = release();
            change(&mut release);
            release.id()
        };
        let ids = [
            other(|_| ()),
            other(|release| release.domain = Name::new("name", "visit").unwrap()),
            other(|release| release.job = Name::new("name", "swe").unwrap()),
            other(|release| release.version = Digest([8; 32])),
            other(|release| release.name = Name::new("name", "by_hour").unwrap()),
            other(|release| release.window = Interval::new(0, 11).unwrap()),
            other(|release| release.window = Interval::new(-1, 10).unwrap()),
            other(|release| release.part = Some(Digest([7; 32]))),
            other(|release| release.part = Some(Digest([8; 32]))),
            other(|release| release.part = Some(Digest::NONE)),
        ];
        for (index, id) in ids.iter().enumerate() {
            assert!(!ids[..index].contains(id), "part {index} is not in the name");
        }
        assert_eq!(release().id(), ids[0]);
    }
}
