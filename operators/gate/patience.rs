//! How long a gate waits for a server that does not answer. A file is asked once.

use std::time::Duration;

use crate::ledger::{Claim, Ledger, LedgerError, LedgerErrorKind, ReleaseId, Row};

/// How often a server is asked again, and how long to wait before the second time; each further wait is twice as long.
const PATIENCE: (u32, Duration) = (9, Duration::from_millis(100));

/// Asks the ledger for what means the same however often it is asked.
pub(super) fn ask<T>(
    ledger: &mut Ledger,
    claim: &Claim,
    question: impl Fn(&mut Ledger) -> Result<T, LedgerError>,
) -> Result<T, LedgerError> {
    match question(ledger) {
        Ok(answer) => Ok(answer),
        Err(trouble) if ledger.is_remote() && may_pass(&trouble) => {
            ask_anew(ledger, claim, &[], |ledger, _| question(ledger))
        }
        Err(trouble) => Err(trouble),
    }
}

/// Asks over new connections, until there is an answer or patience ends: first for the fence and these rows, then the
/// question.
pub(super) fn ask_anew<T>(
    ledger: &mut Ledger,
    claim: &Claim,
    releases: &[ReleaseId],
    question: impl Fn(&mut Ledger, Vec<Option<Row>>) -> Result<T, LedgerError>,
) -> Result<T, LedgerError> {
    let (tries, mut pause) = PATIENCE;
    let mut last = None;
    for _ in 0..tries {
        let rows = ledger.recover(claim, releases);
        match rows.and_then(|rows| question(ledger, rows)) {
            Ok(answer) => return Ok(answer),
            Err(trouble) if may_pass(&trouble) => {
                last = Some(trouble);
                std::thread::sleep(pause);
            }
            Err(trouble) => return Err(trouble),
        }
        pause *= 2;
    }
    let last = last.map_or_else(|| "ledger: no answer".to_owned(), |trouble| trouble.to_string());
    Err(LedgerError::new(LedgerErrorKind::Unknown, last))
}

fn may_pass(trouble: &LedgerError) -> bool {
    matches!(trouble.kind(), LedgerErrorKind::Busy | LedgerErrorKind::Unknown)
}
