//! `[limits]`: resource limits of a job.

use super::node::ConfigNode;
use super::span::{SIZE_WORDS, bytes};

/// The resource limits of a job; a resource without a field is not limited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ResourceLimits {
    /// The most memory, in bytes.
    pub memory: Option<u64>,
}

pub(super) fn read_limits(node: ConfigNode<'_>) -> Option<ResourceLimits> {
    let fields = node.fields(&[], &["memory"])?;
    Some(ResourceLimits {
        memory: fields.read("memory", |node| node.accept_words(bytes(node.text()?), &SIZE_WORDS)),
    })
}
