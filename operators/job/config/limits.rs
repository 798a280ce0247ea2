//! `[limits]`: what a job may take from its machine.

use super::node::ConfigNode;
use super::span::{SIZE_WORDS, bytes};

/// What a job may take from its machine; nothing is limited that is not named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ResourceLimits {
    /// The most memory, in bytes.
    pub memory: Option<u64>,
}

pub(super) fn read_limits(node: ConfigNode<'_>) -> Option<ResourceLimits> {
    let fields = node.fields(&[], &["memory"])?;
    Some(ResourceLimits {
        memory: fields.read("memory", |node| node.parsed_words(bytes(node.text()?), &SIZE_WORDS)),
    })
}
