//! `[privacy]`: who is protected, what is promised, and how much may be spent on it.

use std::path::{Path, PathBuf};

use super::node::ConfigNode;
use super::span::{fixed, unit_words};
use crate::accounting::{Adjacency, Omega, PrivacyCost, PrivacyUnit, Promise, Relation, limit};
use crate::decimal::Decimal;
use crate::invalid::{Invalid, InvalidKind};
use crate::ledger::{LedgerKey, Name};

/// Who is protected, what is promised, and where the account is kept.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Privacy {
    /// Whose presence is hidden.
    pub protected: Protected,
    /// What is promised. The domain may say [`Promise::Windows`] where this says [`Promise::Lifetime`].
    pub promise: Promise,
    /// How much may be spent.
    pub budget: BudgetWords,
    /// The ledger's file, or its address.
    pub ledger: PathBuf,
    /// The domain in it.
    pub domain: Name,
    /// The file of the ledger's key.
    pub key: PathBuf,
    /// A file that the ledger must not be behind.
    pub anchor: Option<PathBuf>,
}

/// Whose presence is hidden.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Protected {
    /// Everything that one person did.
    Person {
        /// The field that says who it was.
        field: String,
        /// What becomes of records in which nobody is named.
        missing: Missing,
    },
    /// One record.
    Record,
}

/// What becomes of records in which nobody is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Missing {
    /// They are left out.
    Drop,
    /// They count as unreadable.
    Reject,
    /// They are all one person's.
    Shared,
}

impl Protected {
    /// The neighbours about which every cost of the job speaks.
    pub fn neighbours(&self) -> Adjacency {
        let unit = match self {
            Protected::Person { .. } => PrivacyUnit::Person,
            Protected::Record => PrivacyUnit::Record,
        };
        Adjacency { unit, relation: Relation::AddRemove }
    }
}

impl Protected {
    /// Who one person is, as the account states it; nothing where a record is what is protected.
    pub fn person(&self) -> Option<String> {
        let Protected::Person { field, missing } = self else { return None };
        let missing = match missing {
            Missing::Drop => "drop",
            Missing::Reject => "reject",
            Missing::Shared => "shared",
        };
        Some(format!("field {field:?}, missing \"{missing}\""))
    }
}

/// A budget as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BudgetWords {
    /// The bound of the privacy loss.
    pub epsilon: Option<Decimal>,
    /// How much probability may lie beyond it.
    pub delta: Option<Decimal>,
    /// The budget in zCDP.
    pub rho: Option<Decimal>,
    /// Below which order it speaks; every order where it is not said.
    pub omega: Omega,
}

impl BudgetWords {
    /// Whether it is of epsilon alone.
    pub(super) fn is_pure(&self) -> bool {
        self.epsilon.is_some() && self.delta.is_none()
    }

    /// The cap that it comes to; half of delta is kept apart where some release charges a delta.
    pub(in crate::job) fn cap(&self, deltas_are_charged: bool) -> Result<PrivacyCost, Invalid> {
        limit(self.epsilon.as_ref(), self.delta.as_ref(), self.rho.as_ref(), deltas_are_charged, self.omega)
    }
}

pub(super) fn read(node: ConfigNode<'_>, beside: &Path) -> Option<Privacy> {
    let fields =
        node.fields(&["promise", "budget", "ledger", "domain"], &["person", "unit", "key", "anchor"])?;
    let protected = match (fields.node("person"), fields.node("unit")) {
        (Some(_), Some(unit)) => unit.conflict("a unit beside person", "either person, or unit = \"record\""),
        (Some(node), None) => person(&node),
        (None, Some(unit)) => unit.choose(&[("record", Protected::Record)]),
        (None, None) if !fields.known => None,
        (None, None) => {
            let remedy = "person = { field = .., missing = .. }, or unit = \"record\"; there is no default";
            let kind = crate::job::MistakeKind::Missing;
            fields.refuse("person", super::located::Wrong::new(kind, "nothing", remedy))
        }
    };
    let promise = fields.read("promise", |node| {
        let text = node.text()?;
        let spans = text.starts_with("any ") || text.starts_with("each ");
        let known = if spans { unit_words(&["any", "each"]) } else { vec!["lifetime", "any", "each"] };
        node.parsed_words(promise(text), &known)
    });
    let budget = fields.read("budget", budget);
    let ledger = fields.read("ledger", |node| ledger(&node, beside));
    let domain = fields.read("domain", |node| node.parsed(Name::new("domain", node.text()?)));
    let path = |name| fields.read(name, |node| Some(beside.join(node.some_text()?)));
    let (key, anchor) = (path("key"), path("anchor"));
    let ledger = ledger?;
    let key = match key {
        Some(key) => key,
        None if is_address(&ledger) => {
            let kind = crate::job::MistakeKind::Missing;
            let remedy = "key = the path of a file; a ledger on a server has none beside it";
            return fields.refuse("key", super::located::Wrong::new(kind, "nothing", remedy));
        }
        None => LedgerKey::beside(&ledger),
    };
    Some(Privacy {
        protected: protected?,
        promise: promise?,
        budget: budget?,
        ledger,
        domain: domain?,
        key,
        anchor,
    })
}

impl Privacy {
    /// Whether the ledger is on a server.
    pub fn is_remote(&self) -> bool {
        is_address(&self.ledger)
    }
}

fn is_address(ledger: &Path) -> bool {
    ledger.to_str().is_some_and(|text| text.contains("://"))
}

fn person(node: &ConfigNode<'_>) -> Option<Protected> {
    let fields = node.fields(&["field", "missing"], &[])?;
    let field = fields.read("field", |node| node.some_text());
    let words = [("drop", Missing::Drop), ("reject", Missing::Reject), ("shared", Missing::Shared)];
    let missing = fields.read("missing", |node| node.choose(&words));
    Some(Protected::Person { field: field?, missing: missing? })
}

/// `lifetime`, `any 30 days`, `each day`.
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

fn budget(node: ConfigNode<'_>) -> Option<BudgetWords> {
    let fields = node.fields(&[], &["epsilon", "delta", "rho", "omega"])?;
    if !fields.known {
        return None;
    }
    let read = |name| fields.read(name, |node| node.decimal());
    let (epsilon, delta, rho, omega) = (read("epsilon"), read("delta"), read("rho"), read("omega"));
    if fields.present(&["epsilon", "delta", "rho", "omega"]).len()
        != [&epsilon, &delta, &rho, &omega].into_iter().flatten().count()
    {
        return None;
    }
    let omega = match omega {
        None => Omega::EVERY,
        Some(_) if epsilon.is_some() && delta.is_none() => {
            return node
                .at(&["omega"])
                .conflict("an omega beside pure epsilon", "epsilon and delta, or rho, with it");
        }
        Some(omega) => node.at(&["omega"]).parsed(Omega::below(omega.to_f64()))?,
    };
    let words = BudgetWords { epsilon, delta, rho, omega };
    // What is wrong is named by its field: what is said beside something that excludes it, too.
    match words.cap(true).and_then(|_| words.cap(false)) {
        Ok(_) => Some(words),
        Err(invalid) => node.at(&[invalid.field()]).parsed(Err(invalid)),
    }
}

/// A path, or an address of Postgres. One with a password in it is not shown.
fn ledger(node: &ConfigNode<'_>, beside: &Path) -> Option<PathBuf> {
    let text = node.some_text()?;
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
