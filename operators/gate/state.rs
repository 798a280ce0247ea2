//! Encryption of the state of mechanisms: the ledger stores it and cannot read it, and no state is accepted
//! in another's place.

use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use zeroize::Zeroizing;

use super::request;
use super::request::Noted;
use crate::ledger::{
    Claim, Digest, Ledger, LedgerError, LedgerErrorKind, LedgerKey, Name, Note, State, VersionTerms,
};

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

    /// Encrypts the state that follows version `after`, and its notes; `None` if there is no randomness.
    pub(super) fn encrypt(
        &self,
        of: StatisticRef<'_>,
        after: i64,
        state: &[u8],
        note: Option<&Noted>,
    ) -> Option<State> {
        let version = after + 1;
        let held = self.encrypted(&place(&self.ledger, of, version), state)?;
        let noted = |note: &Noted| {
            let held = self.encrypt_note(of, note.place, &note.text)?;
            Some(Note { place: note.place, since: note.since, held })
        };
        let note = match note {
            Some(note) => Some(noted(note)?),
            None => None,
        };
        Some(State { version, held, note })
    }

    /// Decrypts a state; `None` if it was encrypted with another key or for another place, or was changed
    /// since.
    pub(super) fn decrypt(&self, of: StatisticRef<'_>, state: &State) -> Option<Zeroizing<Vec<u8>>> {
        self.decrypted(&place(&self.ledger, of, state.version), &state.held)
    }

    /// Decrypts the note at this place, under the same conditions.
    pub(super) fn decrypt_note(
        &self,
        of: StatisticRef<'_>,
        at: i64,
        held: &[u8],
    ) -> Option<Zeroizing<Vec<u8>>> {
        self.decrypted(&place_of_note(&self.ledger, of, at), held)
    }

    /// Encrypts a note for this place; `None` if there is no randomness.
    pub(super) fn encrypt_note(&self, of: StatisticRef<'_>, at: i64, clear: &[u8]) -> Option<Vec<u8>> {
        self.encrypted(&place_of_note(&self.ledger, of, at), clear)
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
fn place(ledger: &Digest, (job, name): StatisticRef<'_>, version: i64) -> Vec<u8> {
    format!("{ledger}/{job}/{name}/{version}").into_bytes()
}

fn place_of_note(ledger: &Digest, (job, name): StatisticRef<'_>, place: i64) -> Vec<u8> {
    format!("{ledger}/{job}/{name}/note/{place}").into_bytes()
}

fn place_of_position(ledger: &Digest, (job, input): InputRef<'_>, place: &Digest) -> Vec<u8> {
    format!("{ledger}/{job}/position/{input}/{place}").into_bytes()
}

// The state of a statistic, and the checks before it gets a handle.

/// The newest state of a statistic, decrypted.
pub(super) struct KeptState {
    /// The number of changes of the state.
    pub(super) version: i64,
    pub(super) state: Zeroizing<Vec<u8>>,
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

/// A statistic that asks for a handle.
#[derive(Debug)]
pub(super) struct HandleRequest {
    /// The name of the statistic.
    pub(super) name: Name,
    /// The version of the statistic: its own, or the job's.
    pub(super) version: u32,
    /// Everything that the version binds.
    pub(super) terms: VersionTerms,
}

/// Checks the parameters of the statistic's version, and reads the state of the statistic.
///
/// # Errors
///
/// [`LedgerErrorKind::Refused`] if the version had other parameters; every other error halts the whole gate.
pub(super) fn open(
    ledger: &mut Ledger,
    claim: &Claim,
    cipher: &StateCipher,
    HandleRequest { name, version, terms }: &HandleRequest,
) -> Result<Option<Memory>, LedgerError> {
    let agree = |ledger: &mut Ledger| match ledger.agree(claim, *version, name, terms.clone()) {
        // A refusal is an answer, and no reason to ask again.
        Err(trouble) if trouble.kind() == LedgerErrorKind::Refused => Ok(Err(trouble)),
        asked => asked.map(Ok),
    };
    request::ask(ledger, claim, agree)??;
    let Some(kept) = kept(ledger, claim, cipher, name)? else { return Ok(None) };
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

/// Returns the state of a statistic of this job.
///
/// # Errors
///
/// If it cannot be read or decrypted: to go on without it would be to draw the same noise a second time.
pub(super) fn kept(
    ledger: &mut Ledger,
    claim: &Claim,
    cipher: &StateCipher,
    name: &Name,
) -> Result<Option<KeptState>, LedgerError> {
    let job = claim.job();
    let Some(sealed) = request::ask(ledger, claim, |ledger| ledger.state(job, name))? else {
        return Ok(None);
    };
    let opened = cipher.decrypt((job, name), &sealed).ok_or_else(|| undecrypted(name, job))?;
    Ok(Some(KeptState { version: sealed.version, state: opened }))
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
        let state = cipher.encrypt(own, 4, b"what is kept", Some(&note)).unwrap();
        let noted = state.note.clone().unwrap();
        assert_eq!((noted.place, noted.since), (3, 1));
        assert_eq!(cipher.decrypt_note(own, 3, &noted.held).unwrap()[..], b"what is noted"[..]);
        assert!(cipher.decrypt_note(own, 4, &noted.held).is_none(), "a note in another's place");
        assert!(cipher.decrypt_note((&web, &other), 3, &noted.held).is_none());
        assert!(cipher.decrypt_note(own, 5, &state.held).is_none(), "a state for a note");
        assert_eq!(cipher.decrypt(own, &state).unwrap()[..], b"what is kept"[..]);
        assert!(!state.held.windows(4).any(|bytes| bytes == b"kept"));
        assert_ne!(
            cipher.encrypt(own, 4, b"what is kept", None).unwrap().held,
            state.held,
            "a nonce was used twice"
        );

        assert!(cipher.decrypt((&other, &by_path), &state).is_none());
        assert!(cipher.decrypt((&web, &other), &state).is_none());
        assert!(cipher.decrypt(own, &State { version: 6, ..state.clone() }).is_none());
        assert!(StateCipher::new(&other_key, Digest::of(b"ledger")).decrypt(own, &state).is_none());
        assert!(StateCipher::new(&key, Digest::of(b"another")).decrypt(own, &state).is_none());
        for byte in 0..state.held.len() {
            let mut held = state.held.clone();
            held[byte] ^= 1;
            assert!(
                cipher.decrypt(own, &State { version: 5, held, note: None }).is_none(),
                "byte {byte} was changed unnoticed"
            );
        }
    }
}
