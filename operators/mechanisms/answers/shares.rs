//! Whose the answers of a bundle are.

use std::collections::BTreeMap;

use super::used::BundleShare;
use crate::canonical::Digest;
use crate::invalid::{Invalid, InvalidKind};

/// The most analysts with a share of their own.
const ANALYSTS: usize = 4_096;

/// Everybody's, or divided.
#[derive(Clone, Debug)]
pub(super) enum Shares {
    /// So many, for whoever comes first.
    Anybody(u64),
    Named(BTreeMap<String, u64>),
}

impl Shares {
    pub(super) fn new(answers: u64, stated: &[(String, u64)]) -> Result<Shares, Invalid> {
        let refuse = |kind, remedy| Err(Invalid::new("share", kind, remedy));
        if stated.len() > ANALYSTS {
            return refuse(InvalidKind::TooLarge, "at most 4,096 analysts");
        }
        let (mut named, mut all) = (BTreeMap::new(), 0u64);
        for (analyst, share) in stated {
            if *share == 0 {
                return refuse(InvalidKind::Zero, "at least one answer to each analyst");
            }
            if named.insert(analyst.clone(), *share).is_some() {
                return refuse(InvalidKind::Mixed, "one share to each analyst");
            }
            all = all.saturating_add(*share);
        }
        if all > answers {
            return refuse(InvalidKind::TooLarge, "shares that together are no more than the answers");
        }
        Ok(if named.is_empty() { Shares::Anybody(answers) } else { Shares::Named(named) })
    }

    pub(super) fn of(&self, analyst: &str, opened: Digest) -> Option<BundleShare> {
        match self {
            Shares::Anybody(answers) => Some(BundleShare { opened, place: 0, shares: 1, answers: *answers }),
            Shares::Named(named) => {
                let answers = *named.get(analyst)?;
                let place = named.keys().position(|name| name == analyst)?;
                Some(BundleShare { opened, place, shares: named.len(), answers })
            }
        }
    }
}
