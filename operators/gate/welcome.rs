//! What a statistic kept, and what must be so before it gets a desk.

use std::fmt;

use zeroize::Zeroizing;

use super::patience;
use super::vault::StateCipher;
use crate::ledger::{Claim, Digest, Ledger, LedgerError, LedgerErrorKind, Name, VersionTerms};

/// The newest state of a statistic, in clear.
pub(super) struct KeptState {
    /// How often it has changed.
    pub(super) version: i64,
    pub(super) state: Zeroizing<Vec<u8>>,
}

/// All that a statistic kept, in clear: its newest state, and what was noted beside it, each with its place. Erased when it is
/// dropped.
#[derive(Default)]
pub struct Memory {
    /// The newest state.
    pub state: Zeroizing<Vec<u8>>,
    /// Notes with their places, in order.
    pub notes: Vec<(i64, Zeroizing<Vec<u8>>)>,
    /// Whether another version of the job has kept it, perhaps of another statistic: what cannot be read of it is nothing.
    pub is_foreign: bool,
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<private>")
    }
}

/// A statistic that is about to be released from.
#[derive(Debug)]
pub(super) struct Guest {
    /// Which of the job's.
    pub(super) name: Name,
    /// The version of the job.
    pub(super) version: u32,
    /// Everything that the version binds.
    pub(super) terms: VersionTerms,
}

/// Holds the job's version to its parameters, and reads what the statistic kept.
///
/// # Errors
///
/// [`LedgerErrorKind::Refused`] where the version had other parameters; everything else is a doubt of the whole gate.
pub(super) fn welcome(
    ledger: &mut Ledger,
    claim: &Claim,
    vault: &StateCipher,
    Guest { name, version, terms }: &Guest,
) -> Result<Option<Memory>, LedgerError> {
    let agree = |ledger: &mut Ledger| match ledger.agree(claim, *version, name, terms.clone()) {
        // An answer, and no reason to ask again.
        Err(trouble) if trouble.kind() == LedgerErrorKind::Refused => Ok(Err(trouble)),
        asked => asked.map(Ok),
    };
    patience::ask(ledger, claim, agree)??;
    let Some(kept) = kept(ledger, claim, vault, name)? else { return Ok(None) };
    let job = claim.job();
    let own = Digest::of_version(*version, terms.digest());
    let keeper = patience::ask(ledger, claim, |ledger| ledger.keeper(job, name))?;
    let notes = patience::ask(ledger, claim, |ledger| ledger.notes(job, name))?;
    let open = |(place, held): (i64, Vec<u8>)| {
        let text = vault.open_note((job, name), place, &held).ok_or_else(|| unopened(name, job))?;
        Ok((place, text))
    };
    Ok(Some(Memory {
        state: kept.state,
        notes: notes.into_iter().map(open).collect::<Result<_, LedgerError>>()?,
        is_foreign: keeper != Some(own),
    }))
}

/// What a statistic of this job kept.
///
/// # Errors
///
/// If it cannot be read, or not be opened: to go on without it would be to draw again what was drawn.
pub(super) fn kept(
    ledger: &mut Ledger,
    claim: &Claim,
    vault: &StateCipher,
    name: &Name,
) -> Result<Option<KeptState>, LedgerError> {
    let job = claim.job();
    let Some(sealed) = patience::ask(ledger, claim, |ledger| ledger.state(job, name))? else {
        return Ok(None);
    };
    let opened = vault.open((job, name), &sealed).ok_or_else(|| unopened(name, job))?;
    Ok(Some(KeptState { version: sealed.version, state: opened }))
}

fn unopened(name: &Name, job: &Name) -> LedgerError {
    LedgerError::doubt(format!(
        "key: it does not open what {name} of job {job} has kept; give the key that it was sealed with"
    ))
}
