//! Encryption of the state of mechanisms: the ledger stores it and cannot read it, and no state is accepted
//! in another's place.
//!
//! A state is a full copy or a [change](super::change) of the one before. Each is bound to its ledger, job,
//! statistic and version number, and a change to its predecessor too, by the digest that covers all from the
//! full copy on: none can be dropped, doubled, moved or taken for the other kind.
//!
//! # What an observer of the file learns
//!
//! Without the key, the file of a ledger tells of each statistic with a state:
//!
//! * that it keeps one, the number of windows that it sealed one with, and which of these were full copies;
//! * the size of each full copy, change and note, and no length but it. Sizes are those of a public geometric
//!   series ([`padded`](super::change::padded)), so a change tells how many people or keys were active to
//!   within a quarter, and nothing at all below a kilobyte; a full copy likewise how many keys are known and
//!   not public. The change of a buffered total over public keys has a size that the number of these keys
//!   determines;
//! * nothing by its times: one note and one state are written with each sealed window, and the sizes and the
//!   number of changes alone decide when a full copy is due.
//!
//! Resume positions are not padded: they are of files and partitions, and of no person.
//! What was deleted is overwritten in SQLite, but file systems and copies may still hold it, encrypted.

use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use zeroize::Zeroizing;

use super::change::{self, CopySchedule};
use super::request;
use super::request::Noted;
use crate::ledger::{
    Agreement, Claim, Digest, Ledger, LedgerError, LedgerErrorKind, LedgerKey, Name, Note, State,
};
use crate::mechanisms::running::StateStep;

/// The length of a nonce in bytes: long enough to be drawn at random for every encryption.
const NONCE: usize = 24;

/// The owner of a state: a job, and one of its statistics.
pub(super) type StatisticRef<'a> = (&'a Name, &'a Name);

/// The owner of a resume position: a job, and the number of one of its inputs.
pub(super) type InputRef<'a> = (&'a Name, i64);

/// The cipher of the states in one ledger.
pub(super) struct StateCipher {
    cipher: XChaCha20Poly1305,
    ledger: Digest,
}

impl StateCipher {
    pub(super) fn new(key: &LedgerKey, ledger: Digest) -> StateCipher {
        let key = key.derive("discreet-dataflow 2026 mechanism state");
        StateCipher { cipher: XChaCha20Poly1305::new((&*key).into()), ledger }
    }

    /// Encrypts the state that a draw keeps, as a change of the one before or as a full copy, and its note;
    /// returns it with what is kept in memory of it. `None` if there is no randomness.
    pub(super) fn follow(
        &self,
        of: StatisticRef<'_>,
        before: Option<&KeptState>,
        next: Zeroizing<Vec<u8>>,
        (step, note): (Option<&StateStep>, Option<&Noted>),
    ) -> Option<(State, KeptState)> {
        let version = before.map_or(0, |before| before.version).checked_add(1)?;
        let change = before.and_then(|before| Some((before, before.change_to(&next, step)?)));
        let (mut state, schedule) = match change {
            Some((before, change)) => {
                let schedule = before.schedule.with_change(change::framed_size(change.len()));
                (self.encrypt(of, version, Some(before.digest), &change)?, schedule)
            }
            None => {
                let schedule = CopySchedule::whole(change::framed_size(next.len()));
                (self.encrypt(of, version, None, &next)?, schedule)
            }
        };
        if let Some(Noted { place, since, text }) = note {
            let held = self.encrypt_note(of, *place, text)?;
            state.note = Some(Note { place: *place, since: *since, held });
        }
        let kept = KeptState { version, digest: state.digest(), state: next, schedule };
        Some((state, kept))
    }

    /// Encrypts a full copy, or a change of the state with the digest `former`; `None` if there is no
    /// randomness.
    pub(super) fn encrypt(
        &self,
        of: StatisticRef<'_>,
        version: i64,
        former: Option<Digest>,
        clear: &[u8],
    ) -> Option<State> {
        let place = place(&self.ledger, of, version, former.as_ref());
        let held = self.encrypted(&place, &change::framed(clear))?;
        Some(State { version, former, held, note: None })
    }

    /// Decrypts a full copy or a change; `None` if it was encrypted with another key or for another place, or
    /// was changed since.
    pub(super) fn decrypt(&self, of: StatisticRef<'_>, state: &State) -> Option<Zeroizing<Vec<u8>>> {
        let place = place(&self.ledger, of, state.version, state.former.as_ref());
        let frame = self.decrypted(&place, &state.held)?;
        change::unframed(&frame).map(|clear| Zeroizing::new(clear.to_vec()))
    }

    /// Decrypts the note at this place, under the same conditions.
    pub(super) fn decrypt_note(
        &self,
        of: StatisticRef<'_>,
        at: i64,
        held: &[u8],
    ) -> Option<Zeroizing<Vec<u8>>> {
        let frame = self.decrypted(&place_of_note(&self.ledger, of, at), held)?;
        change::unframed(&frame).map(|clear| Zeroizing::new(clear.to_vec()))
    }

    /// Encrypts a note for this place; `None` if there is no randomness.
    pub(super) fn encrypt_note(&self, of: StatisticRef<'_>, at: i64, clear: &[u8]) -> Option<Vec<u8>> {
        self.encrypted(&place_of_note(&self.ledger, of, at), &change::framed(clear))
    }

    /// Encrypts a resume position of an input of a job.
    pub(super) fn encrypt_at(&self, of: InputRef<'_>, place: &Digest, clear: &[u8]) -> Option<Vec<u8>> {
        self.encrypted(&place_of_position(&self.ledger, of, place), clear)
    }

    /// Decrypts a resume position, under the same conditions.
    pub(super) fn decrypt_at(
        &self,
        of: InputRef<'_>,
        place: &Digest,
        held: &[u8],
    ) -> Option<Zeroizing<Vec<u8>>> {
        self.decrypted(&place_of_position(&self.ledger, of, place), held)
    }

    fn encrypted(&self, place: &[u8], clear: &[u8]) -> Option<Vec<u8>> {
        let mut nonce = [0; NONCE];
        getrandom::fill(&mut nonce).ok()?;
        let payload = Payload { msg: clear, aad: place };
        let sealed = self.cipher.encrypt(&XNonce::from(nonce), payload).ok()?;
        Some([&nonce[..], &sealed].concat())
    }

    fn decrypted(&self, place: &[u8], held: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        let (nonce, sealed) = held.split_first_chunk::<NONCE>()?;
        let payload = Payload { msg: sealed, aad: place };
        self.cipher.decrypt(&XNonce::from(*nonce), payload).ok().map(Zeroizing::new)
    }
}

/// Returns the associated data that binds a state to its place. Names are of a fixed alphabet without `/`, so
/// no two places have the same bytes.
fn place(ledger: &Digest, (job, name): StatisticRef<'_>, version: i64, former: Option<&Digest>) -> Vec<u8> {
    match former {
        None => format!("{ledger}/{job}/{name}/{version}").into_bytes(),
        Some(former) => format!("{ledger}/{job}/{name}/{version}/after/{former}").into_bytes(),
    }
}

fn place_of_note(ledger: &Digest, (job, name): StatisticRef<'_>, place: i64) -> Vec<u8> {
    format!("{ledger}/{job}/{name}/note/{place}").into_bytes()
}

fn place_of_position(ledger: &Digest, (job, input): InputRef<'_>, place: &Digest) -> Vec<u8> {
    format!("{ledger}/{job}/position/{input}/{place}").into_bytes()
}

// The state of a statistic, and the checks before it gets a handle.

/// The newest state of a statistic, decrypted: read from the ledger, or as it was sealed.
pub(super) struct KeptState {
    /// The number of times that the state has changed.
    version: i64,
    /// The digest of its newest row.
    digest: Digest,
    pub(super) state: Zeroizing<Vec<u8>>,
    schedule: CopySchedule,
}

impl KeptState {
    /// Returns the change to the next state, unless a full copy is due or smaller.
    fn change_to(&self, next: &[u8], step: Option<&StateStep>) -> Option<Zeroizing<Vec<u8>>> {
        if !self.schedule.takes_change(0) {
            return None;
        }
        let change = change::changed(&self.state, step, next);
        let size = change::framed_size(change.len());
        let is_due = size >= change::framed_size(next.len()) || !self.schedule.takes_change(size);
        let leads_there = || change::apply(&self.state, &change).is_some_and(|state| state[..] == *next);
        (!is_due && leads_there()).then_some(change)
    }
}

/// The whole state of a statistic, decrypted: the newest state, and its notes with their places. Erased when
/// it is dropped.
#[derive(Default)]
pub struct Memory {
    /// The newest state.
    pub state: Zeroizing<Vec<u8>>,
    /// The notes with their places, in order.
    pub notes: Vec<(i64, Zeroizing<Vec<u8>>)>,
    /// True if another version has kept it, perhaps of another statistic: text that such a reader
    /// cannot parse counts as no state.
    pub is_foreign: bool,
}

redacted!(Memory);

/// Checks the parameters of the statistic's version, also against those that wait for their first commit, and
/// reads the state of the statistic.
///
/// # Errors
///
/// [`LedgerErrorKind::Refused`] if the version had other parameters; every other error halts the whole gate.
pub(super) fn open(
    ledger: &mut Ledger,
    claim: &Claim,
    cipher: &StateCipher,
    waiting: &[Agreement],
    requested: &Agreement,
) -> Result<Option<Memory>, LedgerError> {
    let Agreement { name, version, terms } = requested;
    let agree = |ledger: &mut Ledger| match ledger.can_agree(claim, waiting, requested) {
        // A refusal is an answer, and no reason to ask again.
        Err(trouble) if trouble.kind() == LedgerErrorKind::Refused => Ok(Err(trouble)),
        asked => asked.map(Ok),
    };
    request::ask(ledger, claim, agree)??;
    let Some(kept) = kept(ledger, claim, cipher, name, None)? else { return Ok(None) };
    let job = claim.job();
    let own = Digest::of_version(*version, terms.digest());
    let keeper = request::ask(ledger, claim, |ledger| ledger.keeper(job, name))?;
    let notes = request::ask(ledger, claim, |ledger| ledger.notes(job, name))?;
    let open = |(place, held): (i64, Vec<u8>)| {
        let text = cipher.decrypt_note((job, name), place, &held).ok_or_else(|| undecrypted(name, job))?;
        Ok((place, text))
    };
    Ok(Some(Memory {
        state: kept.state,
        notes: notes.into_iter().map(open).collect::<Result<_, LedgerError>>()?,
        is_foreign: keeper != Some(own),
    }))
}

/// Returns the state of a statistic of this job: the one in memory, if the ledger has no other.
///
/// # Errors
///
/// If it cannot be read or decrypted: to go on without it would be to draw the same noise a second time.
pub(super) fn kept(
    ledger: &mut Ledger,
    claim: &Claim,
    cipher: &StateCipher,
    name: &Name,
    in_memory: Option<KeptState>,
) -> Result<Option<KeptState>, LedgerError> {
    let job = claim.job();
    if let Some(kept) = in_memory {
        let newest = request::ask(ledger, claim, |ledger| ledger.newest_state(job, name))?;
        if newest == Some((kept.version, kept.digest)) {
            return Ok(Some(kept));
        }
    }
    let sealed = request::ask(ledger, claim, |ledger| ledger.states(job, name))?;
    let mut newest: Option<KeptState> = None;
    for state in sealed {
        let clear = cipher.decrypt((job, name), &state).ok_or_else(|| undecrypted(name, job))?;
        let size = change::framed_size(clear.len());
        let (digest, version) = (state.digest(), state.version);
        newest = Some(match (newest, state.former) {
            (_, None) => KeptState { version, digest, state: clear, schedule: CopySchedule::whole(size) },
            (Some(before), Some(former))
                if before.digest == former && before.version.checked_add(1) == Some(version) =>
            {
                let state = change::apply(&before.state, &clear).ok_or_else(|| unfollowed(name, job))?;
                KeptState { version, digest, state, schedule: before.schedule.with_change(size) }
            }
            _ => return Err(unfollowed(name, job)),
        });
    }
    Ok(newest)
}

fn unfollowed(name: &Name, job: &Name) -> LedgerError {
    LedgerError::doubt(format!(
        "ledger: the changes of what {name} of job {job} has kept do not follow each other"
    ))
}

fn undecrypted(name: &Name, job: &Name) -> LedgerError {
    LedgerError::doubt(format!(
        "key: it does not open what {name} of job {job} has kept; give the key that it was sealed with"
    ))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The ciphers of one ledger under two keys.
    pub(in crate::gate) fn cipher(name: &str) -> (StateCipher, StateCipher) {
        let path = std::env::temp_dir().join(format!("discreet-cipher-{name}-{}", std::process::id()));
        let [own, other] = [0, 1].map(|_| {
            let key = LedgerKey::create(&path).unwrap();
            std::fs::remove_file(&path).unwrap();
            StateCipher::new(&key, Digest::of(b"ledger"))
        });
        (own, other)
    }

    // Refutes a change that does not lead to the state, and one that is larger than a full copy of it.
    #[test]
    fn a_change_that_leads_elsewhere_is_no_change() {
        let (cipher, _) = cipher("elsewhere");
        let [web, total] = ["web", "total"].map(|text| Name::new("name", text).unwrap());
        let kept = |text: &[u8]| Zeroizing::new(text.to_vec());
        let follow = |before: Option<&KeptState>, next: &[u8], step: Option<&StateStep>| {
            cipher.follow((&web, &total), before, kept(next), (step, None)).unwrap()
        };
        let first: Vec<u8> = (0..20_000u32).flat_map(u32::to_le_bytes).collect();
        let (state, before) = follow(None, &first, None);
        assert_eq!((state.version, state.former), (1, None));
        let (state, after) = follow(Some(&before), &first[1..], None);
        assert_eq!((state.version, state.former), (2, Some(before.digest)));
        // A step of one key, behind the end of the state.
        let mut step = (1u64 << 40).to_be_bytes().to_vec();
        step.extend([[0u8; 5].as_slice(), &1u64.to_be_bytes(), &[1], &[0; 9]].concat());
        let (step, rest) = StateStep::read(&step).unwrap();
        assert!(rest.is_empty());
        let (state, _) = follow(Some(&before), &first[1..], Some(&step));
        assert_eq!((state.version, state.former), (2, None));
        let (state, last) = follow(Some(&after), b"little", None);
        assert_eq!((state.version, state.former), (3, None));
        let (state, _) = follow(Some(&last), &first, None);
        assert_eq!((state.version, state.former), (4, None));
    }

    #[test]
    fn a_state_opens_in_its_own_place_alone() {
        let path = std::env::temp_dir().join(format!("discreet-vault-{}", std::process::id()));
        let key = LedgerKey::create(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let other_key = LedgerKey::create(&path).unwrap();
        std::fs::remove_file(&path).unwrap();

        let name = |text| Name::new("name", text).unwrap();
        let [web, by_path, other] = ["web", "by_path", "other"].map(name);
        let own = (&web, &by_path);
        let cipher = StateCipher::new(&key, Digest::of(b"ledger"));
        let note = Noted { place: 3, since: 1, text: b"what is noted".to_vec() };
        let kept = |text: &[u8]| Zeroizing::new(text.to_vec());
        let (first, _) = cipher.follow(own, None, kept(b"what is kept"), (None, Some(&note))).unwrap();
        assert_eq!((first.version, first.former), (1, None));
        let noted = first.note.clone().unwrap();
        let state = cipher.encrypt(own, 5, Some(first.digest()), b"what is kept").unwrap();
        assert_eq!((noted.place, noted.since), (3, 1));
        assert_eq!(cipher.decrypt_note(own, 3, &noted.held).unwrap()[..], b"what is noted"[..]);
        assert!(cipher.decrypt_note(own, 4, &noted.held).is_none(), "a note in another's place");
        assert!(cipher.decrypt_note((&web, &other), 3, &noted.held).is_none());
        assert!(cipher.decrypt_note(own, 5, &state.held).is_none(), "a state for a note");
        assert_eq!(cipher.decrypt(own, &state).unwrap()[..], b"what is kept"[..]);
        assert!(!state.held.windows(4).any(|bytes| bytes == b"kept"));
        assert_ne!(
            cipher.encrypt(own, 5, Some(first.digest()), b"what is kept").unwrap().held,
            state.held,
            "a nonce was used twice"
        );

        assert!(cipher.decrypt((&other, &by_path), &state).is_none());
        assert!(cipher.decrypt((&web, &other), &state).is_none());
        assert!(cipher.decrypt(own, &State { version: 6, ..state.clone() }).is_none());
        assert!(
            cipher.decrypt(own, &State { former: None, ..state.clone() }).is_none(),
            "a change for a copy"
        );
        let other = Some(Digest::of(b"another"));
        assert!(
            cipher.decrypt(own, &State { former: other, ..state.clone() }).is_none(),
            "another predecessor"
        );
        assert!(
            cipher.decrypt(own, &State { former: other, ..first.clone() }).is_none(),
            "a copy for a change"
        );
        assert!(StateCipher::new(&other_key, Digest::of(b"ledger")).decrypt(own, &state).is_none());
        assert!(StateCipher::new(&key, Digest::of(b"another")).decrypt(own, &state).is_none());
        for byte in 0..state.held.len() {
            let mut held = state.held.clone();
            held[byte] ^= 1;
            assert!(
                cipher.decrypt(own, &State { held, ..state.clone() }).is_none(),
                "byte {byte} was changed unnoticed"
            );
        }
    }
}
