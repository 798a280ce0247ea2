//! `[privacy]`: the privacy unit, the promise, the budget and its ledger.

use std::path::{Path, PathBuf};

use super::node::ConfigNode;
use super::span::{SIZE_WORDS, bytes, fixed, unit_words};
use crate::accounting::{
    Adjacency, DeltaForKeys, Omega, PrivacyCost, PrivacyUnit, Promise, Relation, gdp, limit,
};
use crate::decimal::Decimal;
use crate::invalid::{Invalid, InvalidKind};
use crate::ledger::{LedgerKey, Name};

/// The `[privacy]` table: the privacy unit, the promise, the budget, and the ledger that holds the budget
/// account.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Privacy {
    /// The privacy unit: a person, or one record.
    pub privacy_unit: Protected,
    /// The promise of the job file. The budget account may state [`Promise::Windows`] if this is
    /// [`Promise::Lifetime`].
    pub promise: Promise,
    /// The privacy budget, as written.
    pub budget: BudgetSpec,
    /// The accounting of the budget account, if the file states one.
    pub accounting: Option<Accounting>,
    /// The path of the ledger's file, or its address.
    pub ledger: PathBuf,
    /// The name of the budget account in the ledger.
    pub account: Name,
    /// The path of the file that holds the ledger's key.
    pub key: PathBuf,
    /// The path of the anchor, a file that the ledger must not be behind.
    pub anchor: Option<PathBuf>,
}

/// The privacy unit whose presence is hidden.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Protected {
    /// User-level privacy: all records of one person.
    Person {
        /// The field that identifies the person.
        field: String,
        /// The treatment of records that name no person.
        missing: Missing,
    },
    /// Event-level privacy: one record.
    Record,
}

/// The treatment of records that name no person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Missing {
    /// The records are left out.
    Drop,
    /// The records count as unreadable.
    Reject,
    /// The records all belong to one shared person.
    Shared,
}

impl Protected {
    /// Returns the adjacency that every privacy cost of the job refers to.
    pub fn adjacency(&self) -> Adjacency {
        let unit = match self {
            Protected::Person { .. } => PrivacyUnit::Person,
            Protected::Record => PrivacyUnit::Record,
        };
        Adjacency { unit, relation: Relation::AddRemove }
    }
}

impl Protected {
    /// Describes the identity of a person, as the budget account states it; `None` if the privacy unit is a
    /// record.
    pub fn person_identity(&self) -> Option<String> {
        let Protected::Person { field, missing } = self else { return None };
        let missing = match missing {
            Missing::Drop => "drop",
            Missing::Reject => "reject",
            Missing::Shared => "shared",
        };
        Some(format!("field {field:?}, missing \"{missing}\""))
    }
}

/// The currency in which a budget of epsilon and delta is kept, fixed as long as the account is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Accounting {
    /// Gaussian differential privacy: 7 to 8% less noise at epsilon 1 and delta 1e-6 where it is Gaussian.
    Gaussian,
    /// Zero-concentrated differential privacy.
    Zcdp,
}

impl Accounting {
    /// The words of the job file.
    pub(in crate::job) const WORDS: [(&str, Accounting); 2] =
        [("gaussian", Accounting::Gaussian), ("zcdp", Accounting::Zcdp)];

    /// Returns the accounting of a cap; `None` of pure epsilon.
    pub(in crate::job) fn of(cap: &PrivacyCost) -> Option<Accounting> {
        match cap {
            PrivacyCost::Gaussian { .. } => Some(Accounting::Gaussian),
            PrivacyCost::Zcdp { .. } => Some(Accounting::Zcdp),
            _ => None,
        }
    }

    /// Returns the word of the job file.
    pub fn word(self) -> &'static str {
        match self {
            Accounting::Gaussian => "gaussian",
            Accounting::Zcdp => "zcdp",
        }
    }
}

/// A privacy budget as the job file states it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BudgetSpec {
    /// The bound of the privacy loss.
    pub epsilon: Option<Decimal>,
    /// The probability with which the privacy loss may exceed epsilon.
    pub delta: Option<Decimal>,
    /// The budget in zCDP.
    pub rho: Option<Decimal>,
    /// The part of delta for discovered keys, stable means and answers to questions; the usual one if the file
    /// states none.
    pub delta_for_keys: Option<Decimal>,
    /// The Rényi order below which the budget holds; every order if the file states none.
    pub omega: Omega,
}

impl BudgetSpec {
    /// Returns true if the budget is pure epsilon.
    pub(in crate::job) fn is_pure(&self) -> bool {
        self.epsilon.is_some() && self.delta.is_none()
    }

    /// Returns the cap that the budget comes to. A part of delta is reserved if some release charges a delta.
    pub(in crate::job) fn cap(
        &self,
        accounting: Accounting,
        deltas_are_charged: bool,
    ) -> Result<PrivacyCost, Invalid> {
        let for_keys = match &self.delta_for_keys {
            Some(stated) => DeltaForKeys::Stated(stated),
            None if deltas_are_charged => DeltaForKeys::Usual,
            None => DeltaForKeys::None,
        };
        match (accounting, &self.epsilon, &self.delta) {
            (Accounting::Gaussian, Some(epsilon), Some(delta)) => gdp::limit(epsilon, delta, for_keys),
            _ => limit(self.epsilon.as_ref(), self.delta.as_ref(), self.rho.as_ref(), for_keys, self.omega),
        }
    }
}

pub(super) fn read(node: ConfigNode<'_>, beside: &Path) -> Option<Privacy> {
    let fields = node.fields(
        &["promise", "budget", "ledger", "account"],
        &["person", "unit", "accounting", "key", "anchor"],
    )?;
    let protected = match (fields.node("person"), fields.node("unit")) {
        (Some(_), Some(unit)) => unit.conflict("a unit beside person", "either person, or unit = \"record\""),
        (Some(node), None) => person(&node),
        (None, Some(unit)) => unit.one_of(&[("record", Protected::Record)]),
        (None, None) if !fields.known => None,
        (None, None) => {
            let remedy = "person = { field = .., missing = .. }, or unit = \"record\"; there is no default";
            let kind = crate::job::MistakeKind::Missing;
            fields.refuse("person", super::mistake::MistakeDetail::new(kind, "nothing", remedy))
        }
    };
    let promise = fields.read("promise", |node| {
        let text = node.text()?;
        let spans = text.starts_with("any ") || text.starts_with("each ");
        let known = if spans { unit_words(&["any", "each"]) } else { vec!["lifetime", "any", "each"] };
        node.accept_words(promise(text), &known)
    });
    let budget = fields.read("budget", budget);
    let accounting = fields.read("accounting", |node| node.one_of(&Accounting::WORDS));
    let ledger = fields.read("ledger", |node| ledger(&node, beside));
    let account = fields.read("account", |node| node.accept(Name::new("account", node.text()?)));
    let path = |name| fields.read(name, |node| Some(beside.join(node.non_empty_text()?)));
    let (key, anchor) = (path("key"), path("anchor"));
    let ledger = ledger?;
    let key = match key {
        Some(key) => key,
        None if is_address(&ledger) => {
            let kind = crate::job::MistakeKind::Missing;
            let remedy = "key = the path of a file; a ledger on a server has none beside it";
            return fields.refuse("key", super::mistake::MistakeDetail::new(kind, "nothing", remedy));
        }
        None => LedgerKey::beside(&ledger),
    };
    Some(Privacy {
        privacy_unit: protected?,
        promise: promise?,
        budget: budget?,
        accounting,
        ledger,
        account: account?,
        key,
        anchor,
    })
}

impl Privacy {
    /// Returns true if the ledger is on a server.
    pub fn is_remote(&self) -> bool {
        is_address(&self.ledger)
    }
}

fn is_address(ledger: &Path) -> bool {
    ledger.to_str().is_some_and(|text| text.contains("://"))
}

fn person(node: &ConfigNode<'_>) -> Option<Protected> {
    let fields = node.fields(&["field", "missing"], &[])?;
    let field = fields.read("field", |node| node.non_empty_text());
    let words = [("drop", Missing::Drop), ("reject", Missing::Reject), ("shared", Missing::Shared)];
    let missing = fields.read("missing", |node| node.one_of(&words));
    Some(Protected::Person { field: field?, missing: missing? })
}

/// Reads `lifetime`, `any 30 days`, `each day`.
fn promise(text: &str) -> Result<Promise, Invalid> {
    let length = |text| fixed(text).map(|span| span.as_microseconds().unsigned_abs());
    match text.split_once(' ') {
        None if text == "lifetime" => Ok(Promise::Lifetime),
        Some(("any", span)) => length(span).map(Promise::Any),
        Some(("each", span)) => length(span).map(Promise::Each),
        _ => {
            let remedy =
                "\"lifetime\", \"any\" with a span such as \"any 30 days\", or \"each\" such as \"each day\"";
            Err(Invalid::new("promise", InvalidKind::Malformed, remedy))
        }
    }
}

fn budget(node: ConfigNode<'_>) -> Option<BudgetSpec> {
    let fields = node.fields(&[], &["epsilon", "delta", "delta_for_keys", "rho", "omega"])?;
    if !fields.known {
        return None;
    }
    let read = |name| fields.read(name, |node| node.decimal());
    let names = ["epsilon", "delta", "delta_for_keys", "rho", "omega"];
    let read = names.map(read);
    if fields.present(&names).len() != read.iter().flatten().count() {
        return None;
    }
    let [epsilon, delta, delta_for_keys, rho, omega] = read;
    if delta_for_keys.is_some() && delta.is_none() {
        let node = node.descendant(&["delta_for_keys"]);
        return node.conflict("a part of a delta that is not stated", "epsilon and delta with it");
    }
    let omega = match omega {
        None => Omega::EVERY,
        Some(_) if epsilon.is_some() && delta.is_none() => {
            return node
                .descendant(&["omega"])
                .conflict("an omega beside pure epsilon", "epsilon and delta, or rho, with it");
        }
        Some(omega) => node.descendant(&["omega"]).accept(Omega::below(omega.to_f64()))?,
    };
    let words = BudgetSpec { epsilon, delta, delta_for_keys, rho, omega };
    // The mistake names the field that is wrong, also a field beside one that excludes it.
    match words.cap(Accounting::Zcdp, true).and_then(|_| words.cap(Accounting::Zcdp, false)) {
        Ok(_) => Some(words),
        Err(invalid) => node.descendant(&[invalid.field()]).accept(Err(invalid)),
    }
}

/// Reads a path, or an address of Postgres. An address with a password is refused and not shown.
fn ledger(node: &ConfigNode<'_>, beside: &Path) -> Option<PathBuf> {
    let text = node.non_empty_text()?;
    let place = "the path of a file on a local disk, or postgres://user@host/database?ledger=name";
    match text.split_once("://") {
        None if text == ":memory:" => {
            node.refuse("a ledger that is gone with its process", "the path of a file")
        }
        None => Some(beside.join(text)),
        Some(("postgres" | "postgresql", rest)) => {
            let user = rest.rsplit_once('@').map_or("", |(user, _)| user);
            if user.contains(':') {
                return node.refuse("an address with a password", "an address without; see PGPASSFILE");
            }
            Some(PathBuf::from(text))
        }
        Some(_) => node.refuse("an address of another kind", place),
    }
}

// `[limits]`: resource limits of a job.

/// The resource limits of a job; a resource without a field is not limited.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ResourceLimits {
    /// The most memory, in bytes.
    pub memory: Option<u64>,
    /// The directory for open windows that memory has no room for; that of the system where it is `None`.
    pub spill: Option<PathBuf>,
}

pub(super) fn read_limits(node: ConfigNode<'_>, beside: &Path) -> Option<ResourceLimits> {
    let fields = node.fields(&[], &["memory", "spill"])?;
    let memory = fields.node("memory");
    let spill = fields.read("spill", |node| match memory {
        Some(_) => Some(beside.join(node.non_empty_text()?)),
        None => node.conflict("a directory without a limit of memory", "memory beside it, or leave it out"),
    });
    Some(ResourceLimits {
        memory: memory.and_then(|node| node.accept_words(bytes(node.text()?), &SIZE_WORDS)),
        spill,
    })
}
