//! The rows of a ledger, independent of the database: releases, amendments and repairs, which together with
//! the stated accounts are the links of one hash chain.
//!
//! A link is the hash of the link before it and of every column that never changes, so no row can be edited,
//! removed or moved without breaking all that follow. The columns that do change (the amount spent, the mark
//! of delivery) are either recomputed from these rows or carry no promise.

use super::name::Name;
use super::records::{encode, status_word};
use crate::accounting::{Interval, Prices, PrivacyCost, ReleaseCost};
use crate::canonical::{Canonical, Digest};
use crate::time::in_json;

/// The identity of a release: a job's statistic over one window, or one of several answers over it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ReleaseId {
    /// The account that the release is charged to.
    pub account: Name,
    /// The job that publishes the release.
    pub job: Name,
    /// A hash of every parameter that privacy depends on, the version of the job's code included, as
    /// [`Digest::of_version`] makes it.
    pub version: Digest,
    /// The name of the job's statistic.
    pub name: Name,
    /// The window of event time whose records the release reads.
    pub window: Interval,
    /// A hash of the name of one answer, if the window has several; `None` if it has one.
    pub part: Option<Digest>,
}

impl ReleaseId {
    /// The hash under which the release can be sealed once, by any process, after any number of attempts.
    pub fn id(&self) -> Digest {
        let window = Canonical::new("discreet release 1")
            .text(self.account.as_str())
            .text(self.job.as_str())
            .digest(&self.version)
            .text(self.name.as_str())
            .number(self.window.start())
            .number(self.window.end());
        // The part comes last and adds no byte if there is none, so that releases of whole windows keep their
        // ids.
        let named = match &self.part {
            Some(part) => window.digest(part),
            None => window,
        };
        named.finish()
    }
}

impl ReleaseId {
    /// The line of a tombstone: the window gets no answer.
    pub(crate) fn tombstone(&self, status: ReleaseStatus) -> String {
        tombstone(self, status_word(status))
    }

    /// The tombstone of a window that was skipped for this reason.
    pub(crate) fn skipped(&self, why: &str) -> String {
        format!("{{{},\"skipped\":true,\"why\":\"{why}\"}}", head(self))
    }

    /// The tombstone of a window whose charge would count before the floor of the ledger's archives.
    pub(crate) fn lost_to_archive(&self) -> String {
        format!("{{{},\"lost\":true,\"why\":\"{ARCHIVED}\"}}", head(self))
    }

    /// The tombstone of a window that starts before a repair: a value that was released for it earlier holds.
    pub(crate) fn lost_to_repair(&self) -> String {
        lost_to_repair(self)
    }
}

/// The status of a release in the ledger. Written once, never changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ReleaseStatus {
    /// Noised, charged and durable: its line may leave.
    Sealed,
    /// Over budget: its line reports the refusal, and it cost nothing.
    Refused,
    /// Skipped: its time passed before it was prepared. No noise was drawn and nothing charged.
    Skipped,
    /// Lost: it was charged and its line could not be kept, or it starts before a repair of the ledger and
    /// had no row. No noise is drawn for it any more. A value that was released for it before the repair
    /// holds.
    Lost,
}

/// The charge for a release. It is stated before any data is seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Charge {
    /// A charge for this release alone.
    Cost(ReleaseCost),
    /// One charge for all releases of the statistic in the same life: a running total, a bundle of answers,
    /// the first windows of each person. The first one sealed is charged for all of them, against the whole
    /// of that time.
    Once {
        /// The privacy cost of all of them together.
        cost: ReleaseCost,
        /// The time that their windows span, from the first to the last.
        life: Interval,
    },
}

impl Charge {
    /// The privacy cost to charge, unless an earlier release has paid for this one.
    pub fn cost(&self) -> &ReleaseCost {
        match self {
            Charge::Cost(cost) | Charge::Once { cost, .. } => cost,
        }
    }
}

/// A row of the ledger, which is written once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub(crate) sequence: i64,
    pub(crate) release: ReleaseId,
    pub(crate) generation: i64,
    pub(crate) status: ReleaseStatus,
    pub(crate) cost: Option<PrivacyCost>,
    /// The cost if a boundary in time cuts the window, where it differs from `cost`.
    pub(crate) partial: Option<PrivacyCost>,
    pub(crate) life: Option<Interval>,
    pub(crate) prepaid: Option<Digest>,
    pub(crate) state: Option<Digest>,
    pub(crate) line: String,
    pub(crate) delivered: bool,
    pub(crate) chain: Digest,
}

impl Row {
    /// Creates the row of a release that no ledger holds, without a line.
    pub(crate) fn unwritten(release: ReleaseId, status: ReleaseStatus) -> Row {
        Row {
            sequence: 1,
            release,
            generation: 1,
            status,
            cost: None,
            partial: None,
            life: None,
            prepaid: None,
            state: None,
            line: String::new(),
            delivered: false,
            chain: Digest::of(b""),
        }
    }

    /// The sequence number of the row in the ledger.
    pub fn sequence(&self) -> i64 {
        self.sequence
    }

    /// The identity of the release.
    pub fn release(&self) -> &ReleaseId {
        &self.release
    }

    /// The status of the release.
    pub fn status(&self) -> ReleaseStatus {
        self.status
    }

    /// The privacy cost, in the currency of the account; `None` for a release that cost nothing or was
    /// prepaid.
    pub fn cost(&self) -> Option<&PrivacyCost> {
        self.cost.as_ref()
    }

    /// The privacy cost if a boundary in time cuts the window ([`ReleaseCost::partial`]), in the currency of
    /// the account; `None` for a release that cost nothing or was prepaid.
    pub fn partial(&self) -> Option<&PrivacyCost> {
        self.partial.as_ref().or(self.cost.as_ref())
    }

    /// The whole and the partial cost; `None` for a release that cost nothing or was prepaid.
    pub(crate) fn prices(&self) -> Option<Prices> {
        Some(Prices { whole: self.cost.clone()?, partial: self.partial()?.clone() })
    }

    /// The time that the cost counts against: the window, or the life that the release paid for.
    pub fn charged(&self) -> Interval {
        self.life.unwrap_or(self.release.window)
    }

    /// The text that may leave, byte for byte: one line, several that are separated by `\n`, or none.
    pub fn line(&self) -> &str {
        &self.line
    }

    /// The closing line of a sealed window, by which a reader recognises that the text is complete; `None`
    /// for a release that was not sealed, whose single line reports its status.
    ///
    /// Its field `cells` is the number of lines of the text: they are separated by `\n`, and an empty text
    /// has none.
    pub fn closing(&self) -> Option<String> {
        closing(self, None)
    }

    /// Returns the [closing line](Row::closing) with the name of the ledger, as a file of releases has it.
    pub fn closing_of(&self, ledger: &Digest) -> Option<String> {
        closing(self, Some(ledger))
    }

    /// All lines of the window: the text, and the closing line.
    pub fn lines(&self) -> String {
        self.followed_by(self.closing())
    }

    /// All lines of the window with the name of the ledger, as a file of releases has them.
    pub fn lines_of(&self, ledger: &Digest) -> String {
        self.followed_by(self.closing_of(ledger))
    }

    fn followed_by(&self, closing: Option<String>) -> String {
        let text = (!self.line.is_empty()).then(|| self.line.clone());
        let lines: Vec<String> = text.into_iter().chain(closing).collect();
        lines.join("\n")
    }

    /// Returns true if the ledger marks the line as delivered.
    pub fn is_delivered(&self) -> bool {
        self.delivered
    }

    /// The hash of the chain up to this row.
    pub fn chain(&self) -> &Digest {
        &self.chain
    }

    pub(crate) fn chained(&self, previous: &Digest) -> Digest {
        Canonical::new("discreet row 2")
            .digest(previous)
            .number(self.sequence)
            .digest(&self.release.id())
            .text(self.release.account.as_str())
            .text(self.release.job.as_str())
            .digest(&self.release.version)
            .text(self.release.name.as_str())
            .number(self.release.window.start())
            .number(self.release.window.end())
            .number(self.generation)
            .text(status_word(self.status))
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

/// A raised cap, with the person responsible and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Amendment {
    pub(crate) sequence: i64,
    pub(crate) account: Name,
    pub(crate) cap: PrivacyCost,
    pub(crate) who: String,
    pub(crate) why: String,
}

impl Amendment {
    pub(crate) fn chained(&self, previous: &Digest) -> Digest {
        Canonical::new("discreet amendment 1")
            .digest(previous)
            .number(self.sequence)
            .text(self.account.as_str())
            .bytes(&encode(&self.cap).unwrap_or_default())
            .text(&self.who)
            .text(&self.why)
            .finish()
    }
}

/// A loss that the operator accepted because the ledger was torn, or behind the lines published from it: rows
/// after `sound` are lost, and no noise is drawn any more for windows that start before `floor`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repair {
    pub(crate) sequence: i64,
    pub(crate) sound: i64,
    pub(crate) floor: i64,
    pub(crate) reason: String,
    /// The chain hashes of rows that were released and are lost.
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

// The lines that the ledger writes itself: refusals, tombstones and closing lines.

/// The line of a release over budget. All of it is public: costs, caps and windows come from configuration.
pub(super) fn refusal(
    release: &ReleaseId,
    spent: &PrivacyCost,
    asked: &PrivacyCost,
    limit: &PrivacyCost,
) -> String {
    format!(
        "{{{},\"refused\":\"budget\",\"account\":\"{}\",\"spent\":{},\"asked\":{},\"limit\":{}}}",
        head(release),
        release.account,
        amount(spent),
        amount(asked),
        amount(limit),
    )
}

/// The line of a release that was skipped or lost.
pub(super) fn tombstone(release: &ReleaseId, status: &str) -> String {
    format!("{{{},\"{status}\":true}}", head(release))
}

/// The reason in the line of a window that a repair lost. The ledger cannot determine whether the window was
/// released before; a reader of both lines can.
const REPAIRED: &str = "starts before a repair of the ledger; a value that was released for it earlier holds";

/// The reason in the line of a window that an archive lost.
const ARCHIVED: &str =
    "is charged for a time before the floor of the ledger's archives, and was never released";

/// The line of a release that starts before a repair and has no row.
pub(super) fn lost_to_repair(release: &ReleaseId) -> String {
    format!("{{{},\"lost\":true,\"why\":\"{REPAIRED}\"}}", head(release))
}

/// The closing line of a sealed window: the number of lines before it, and the place of the window's row in
/// the ledger, with the ledger's name if it is given. A refusal or a tombstone is itself the last line of its
/// window.
pub(super) fn closing(row: &Row, ledger: Option<&Digest>) -> Option<String> {
    let cells = if row.line.is_empty() { 0 } else { row.line.split('\n').count() };
    let ledger = ledger.map_or(String::new(), |ledger| format!(",\"ledger\":\"{ledger}\""));
    (row.status == ReleaseStatus::Sealed).then(|| {
        format!(
            "{{{},\"closed\":true,\"cells\":{cells},\"seq\":{},\"chain\":\"{}\"{ledger}}}",
            head(&row.release),
            row.sequence,
            row.chain,
        )
    })
}

/// The fields that identify the release of a line. Lines of several answers over one window differ by their
/// part.
fn head(release: &ReleaseId) -> String {
    let part = release.part.as_ref().map_or(String::new(), |part| format!(",\"part\":\"{part}\""));
    format!("\"release\":\"{}\",\"window\":{}{part}", release.name, window(release.window))
}

/// The JSON form of a window in every line.
pub(crate) fn window(window: Interval) -> String {
    format!("{{\"start\":{},\"end\":{}}}", in_json(window.start()), in_json(window.end()))
}

/// The JSON form of a privacy cost, rounded up as all printed costs are.
fn amount(amount: &PrivacyCost) -> String {
    match amount {
        PrivacyCost::Pure { epsilon } => format!("{{\"epsilon\":{}}}", epsilon.to_float_up()),
        PrivacyCost::Zcdp { rho, delta, .. } | PrivacyCost::Gaussian { rho, delta } => {
            format!("{{\"rho\":{},\"delta\":{}}}", rho.to_float_up(), delta.to_float_up())
        }
        // A ledger counts no other currency.
        other => format!("\"{other}\""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn release() -> ReleaseId {
        let name = |name| Name::new("name", name).unwrap();
        ReleaseId {
            account: name("visits"),
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
            other(|release| release.account = Name::new("name", "visit").unwrap()),
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
