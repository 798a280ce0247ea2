//! What a statistic kept, and what must be so before it gets a desk.

use zeroize::Zeroizing;

use super::patience;
use super::vault::Vault;
use crate::ledger::{Claim, Digest, Ledger, Name, Trouble, TroubleKind};

/// The newest state of a statistic, in clear.
pub(super) struct Kept {
    /// How often it has changed.
    pub(super) version: i64,
    pub(super) state: Zeroizing<Vec<u8>>,
}

/// A statistic that is about to be released from.
#[derive(Debug)]
pub(super) struct Guest {
    /// Which of the job's.
    pub(super) name: Name,
    /// The version of the job.
    pub(super) version: u32,
    /// Every parameter that privacy depends on.
    pub(super) parameters: Digest,
}

/// Holds the job's version to its parameters, and reads what the statistic kept.
///
/// # Errors
///
/// [`TroubleKind::Refused`] where the version had other parameters; everything else is a doubt of the whole gate.
pub(super) fn welcome(
    ledger: &mut Ledger,
    claim: &Claim,
    vault: &Vault,
    Guest { name, version, parameters }: &Guest,
) -> Result<Option<Kept>, Trouble> {
    let agree = |ledger: &mut Ledger| match ledger.agree(claim, *version, name, parameters) {
        // An answer, and no reason to ask again.
        Err(trouble) if trouble.kind() == TroubleKind::Refused => Ok(Err(trouble)),
        asked => asked.map(Ok),
    };
    patience::ask(ledger, claim, agree)??;
    kept(ledger, claim, vault, name)
}

/// What a statistic of this job kept.
///
/// # Errors
///
/// If it cannot be read, or not be opened: to go on without it would be to draw again what was drawn.
pub(super) fn kept(
    ledger: &mut Ledger,
    claim: &Claim,
    vault: &Vault,
    name: &Name,
) -> Result<Option<Kept>, Trouble> {
    let job = claim.job();
    let Some(sealed) = patience::ask(ledger, claim, |ledger| ledger.state(job, name))? else {
        return Ok(None);
    };
    let opened = vault.open((job, name), &sealed).ok_or_else(|| {
        Trouble::doubt(format!(
            "key: it does not open what {name} of job {job} has kept; give the key that it was sealed with"
        ))
    })?;
    Ok(Some(Kept { version: sealed.version, state: opened }))
}
