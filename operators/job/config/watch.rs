//! `[watch]`: what an operator sees of a live run, and where. It decides nothing of what is released.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use super::node::TableNode;
use super::number::BudgetShare;
use super::{ConfigNode, MistakeDetail, MistakeKind};
use crate::decimal::Decimal;

/// The settings of the metrics, the live page and the alerts of a live run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WatchSpec {
    /// The address of the metrics and the live page; there are none without one.
    pub listen: Option<SocketAddr>,
    /// True if what concerns the operator alone is served, too.
    pub operator: bool,
    /// The file with the token that each request carries.
    pub token: Option<PathBuf>,
    /// The command that is run for each alert, with its arguments; empty if there is none.
    pub exec: Vec<String>,
    /// The parts of the budget at which an alert is raised, in rising order.
    pub budget: Vec<BudgetShare>,
}

impl Default for WatchSpec {
    fn default() -> WatchSpec {
        // Half is a plan, four fifths a decision, and at 95 % it is late.
        let budget =
            ["0.5", "0.8", "0.95"].map(|part| BudgetShare::of(&Decimal::parse("budget", part).ok()?).ok());
        let budget = budget.into_iter().flatten().collect();
        WatchSpec { listen: None, operator: false, token: None, exec: Vec::new(), budget }
    }
}

pub(super) fn read_watch(node: ConfigNode<'_>, beside: &Path) -> Option<WatchSpec> {
    let fields = node.fields(&[], &["listen", "operator", "token", "exec", "budget"])?;
    let listen = match fields.node("listen") {
        None => None,
        Some(node) => Some(read_address(&node, "127.0.0.1:9464")?),
    };
    let token = read_token_file(&fields, beside)?;
    let operator = match fields.node("operator") {
        Some(node) => node.boolean()?,
        None => false,
    };
    let exec = match fields.node("exec") {
        None => Vec::new(),
        Some(node) => {
            let words: Option<Vec<String>> = node.list()?.iter().map(ConfigNode::non_empty_text).collect();
            let words = words?;
            if words.is_empty() {
                return node.refuse("an empty list", "a command and its arguments, or leave the field out");
            }
            words
        }
    };
    let mut budget = match fields.node("budget") {
        None => WatchSpec::default().budget,
        Some(node) => {
            let share = |node: &ConfigNode<'_>| node.accept(BudgetShare::of(&node.decimal()?));
            node.list()?.iter().map(share).collect::<Option<Vec<BudgetShare>>>()?
        }
    };
    budget.sort();
    budget.dedup();
    if let Some(address) = listen {
        check_token(&fields, address, token.as_deref(), "127.0.0.1:9464")?;
    } else if operator || token.is_some() {
        let remedy = "listen = \"127.0.0.1:9464\", or leave out operator and token: without an address nothing is served";
        return fields.refuse("listen", MistakeDetail::new(MistakeKind::Missing, "nothing", remedy));
    }
    Some(WatchSpec { listen, operator, token, exec, budget })
}

/// Reads an address to listen at; `example` is one.
pub(super) fn read_address(node: &ConfigNode<'_>, example: &str) -> Option<SocketAddr> {
    match node.text()?.parse::<SocketAddr>() {
        Ok(address) => Some(address),
        Err(_) => {
            let remedy = format!("an address and a port, such as \"{example}\"");
            node.refuse("a text that is no address", remedy)
        }
    }
}

/// Reads the file with the token of a server, if the table has one.
pub(super) fn read_token_file(fields: &TableNode<'_>, beside: &Path) -> Option<Option<PathBuf>> {
    match fields.node("token") {
        None => Some(None),
        Some(node) => {
            let table = node.fields(&["file"], &[])?;
            Some(Some(beside.join(table.node("file")?.non_empty_text()?)))
        }
    }
}

/// Refuses an address that others can reach without a token beside it.
pub(super) fn check_token(
    fields: &TableNode<'_>,
    address: SocketAddr,
    token: Option<&Path>,
    example: &str,
) -> Option<()> {
    if address.ip().is_loopback() || token.is_some() {
        return Some(());
    }
    let remedy = format!(
        "token = {{ file = \"..\" }}, since others can reach this address; or an address of this machine alone, such \
         as \"{example}\""
    );
    fields.refuse("token", MistakeDetail::new(MistakeKind::Missing, "nothing", remedy))
}
