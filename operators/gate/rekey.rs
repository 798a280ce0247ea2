//! A change of a ledger's key: everything that the old key encrypts or authenticates is made anew with another.
//!
//! The new key is on the disk before the ledger is bound to it, and the old one stays there until the ledger
//! is. So at each moment the key that the ledger is bound to is in a file; the same command again goes on
//! where a killed one ended. Keyed hashes of ids alone stay as they were, see [`LedgerKey`].

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};

use super::state::StateCipher;
use crate::ledger::place::{beside, is_absent, sync_name};
use crate::ledger::{
    Digest, Ledger, LedgerError, LedgerErrorKind, LedgerKey, SealedPlace, State, failpoint,
    is_given_by_service,
};

/// The outcome of a change of the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rekeyed {
    /// The path of the key that the ledger is bound to.
    pub key: PathBuf,
    /// Its fingerprint.
    pub fingerprint: Digest,
    /// The path of the former key, which opens earlier copies of the ledger.
    pub former: PathBuf,
}

/// Changes the key of a ledger: draws another, and binds the ledger to it. Without `to` the new key takes the
/// place of the old one, which is kept beside it.
///
/// # Errors
///
/// [`LedgerErrorKind::Fenced`] while a job runs; [`LedgerErrorKind::Refused`] if the key is not that of the
/// ledger, or cannot be replaced at its path; [`LedgerErrorKind::Doubt`] for a ledger that does not add up.
pub fn rekey(ledger: impl AsRef<Path>, key: &Path, to: Option<&Path>) -> Result<Rekeyed, LedgerError> {
    let refuse = |path: &Path, what: &str| LedgerError::refused(format!("key {}: {what}", path.display()));
    if to.is_none() && is_given_by_service(key) {
        return Err(refuse(
            key,
            "it is a credential of the service, which cannot be replaced from here; give a path with --to, and that file as \
             the credential of the next start",
        ));
    }
    let new_path = to.map_or_else(|| beside(key, ".new"), Path::to_owned);
    // First the ledger: where there is none, its key is not what is missing.
    let mut opened = Ledger::open(ledger)?;
    let old = LedgerKey::open(key)?;
    let new = match opened.is_bound(&old) {
        Ok(true) => {
            // Before a key is written: a command that a running job refuses leaves no file.
            let jobs = opened.exclude_jobs()?;
            let new = if is_absent(&new_path) {
                let found = fs::metadata(key).map_err(|error| refuse(key, &error.to_string()))?;
                // A key that its owner may only read stays so.
                let mode = if found.mode() & 0o200 == 0 { 0o400 } else { 0o600 };
                let new = old.succeed(&new_path, mode)?;
                if to.is_none() {
                    chown(&new_path, Some(found.uid()), Some(found.gid()))
                        .map_err(|error| refuse(&new_path, &error.to_string()))?;
                }
                new
            } else {
                LedgerKey::open(&new_path)?
            };
            if !new.succeeds(&old) {
                return Err(refuse(
                    &new_path,
                    "there is a key already, which was not made for this ledger; move it away, or give another path",
                ));
            }
            failpoint::reached("rekey-key-written", LedgerErrorKind::Unknown)?;
            let ciphers = (StateCipher::new(&old, *opened.name()), StateCipher::new(&new, *opened.name()));
            // Another command may have found the new key and bound the ledger to it, so it is never removed.
            let stays =
                format!("the new key stays as {}; the same command goes on with it", new_path.display());
            let changed = opened.change_key(&new, jobs, &mut |place, held| resealed(&ciphers, &place, held));
            changed.map_err(|error| error.followed_by(&stays))?;
            new
        }
        Ok(false) => return Err(refuse(key, "the ledger is bound to none yet; the first start binds it")),
        // A command that was killed after its commit leaves the new key beside the old one.
        Err(other) => match LedgerKey::open(&new_path) {
            Ok(new) if opened.is_bound(&new).unwrap_or(false) => new,
            _ => return Err(other.about("key", key)),
        },
    };
    let fingerprint = new.fingerprint();
    if to.is_some() {
        return Ok(Rekeyed { key: new_path, fingerprint, former: key.to_owned() });
    }
    let former = replace(key, &new_path, &old).map_err(|error| refuse(key, &error.to_string()))?;
    failpoint::reached("rekey-replaced", LedgerErrorKind::Unknown)?;
    Ok(Rekeyed { key: key.to_owned(), fingerprint, former })
}

/// Puts the new key in the place of the old one, after keeping that beside it.
fn replace(key: &Path, new: &Path, old: &LedgerKey) -> io::Result<PathBuf> {
    let former = beside(key, &format!(".former-{:.16}", old.fingerprint().to_string()));
    if is_absent(&former) {
        // Written whole before it gets the name by which it is found.
        let part = beside(&former, ".part");
        crate::ledger::place::remove(&part)?;
        old.keep(&part)?;
        fs::rename(&part, &former)?;
        sync_name(&former)?;
    }
    let _ = failpoint::reached("rekey-former-kept", LedgerErrorKind::Unknown);
    // The file itself is replaced, and not a symbolic link to it.
    fs::rename(new, fs::canonicalize(key)?)?;
    sync_name(key)?;
    Ok(former)
}

fn resealed(
    (old, new): &(StateCipher, StateCipher),
    place: &SealedPlace<'_>,
    held: &[u8],
) -> Result<Vec<u8>, LedgerError> {
    let (clear, of) = match *place {
        SealedPlace::State(job, name, [(version, former), _]) => {
            let state = State { version, former, held: held.to_vec(), note: None };
            (old.decrypt((job, name), &state), format!("the state of {name} of job {job}"))
        }
        SealedPlace::Note(job, name, at) => {
            (old.decrypt_note((job, name), at, held), format!("a note of {name} of job {job}"))
        }
        SealedPlace::Position(job, input, at) => {
            (old.decrypt_at((job, input), at, held), format!("the resume positions of job {job}"))
        }
    };
    let clear = clear.ok_or_else(|| LedgerError::doubt(format!("key: it does not open {of}")))?;
    let sealed = match *place {
        SealedPlace::State(job, name, [_, (version, former)]) => {
            new.encrypt((job, name), version, former, &clear).map(|state| state.held)
        }
        SealedPlace::Note(job, name, at) => new.encrypt_note((job, name), at, &clear),
        SealedPlace::Position(job, input, at) => new.encrypt_at((job, input), at, &clear),
    };
    sealed.ok_or_else(|| LedgerError::refused("no randomness"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use zeroize::Zeroizing;

    use super::*;
    use crate::accounting::{Adjacency, Interval, PrivacyCost, ReleaseCost};
    use crate::gate::request::Noted;
    use crate::ledger::scratch::{Scratch, ScratchPlace, everywhere};
    use crate::ledger::{AccountSpec, Charge, Name, PositionUpdate, ReleaseId, ReleaseStatus, Sealing};

    everywhere! {
        a_changed_key_opens_everything_and_the_former_one_nothing
        a_key_is_changed_while_no_job_runs_and_for_its_own_ledger_alone
    }

    fn name(text: &str) -> Name {
        Name::new("name", text).unwrap()
    }

    /// A ledger with a state, a note and a position; returns its key.
    fn kept(scratch: &Scratch) -> LedgerKey {
        let mut ledger = Ledger::create(scratch.ledger()).unwrap();
        let key = LedgerKey::open(scratch.key()).unwrap();
        ledger.bind(&key).unwrap();
        ledger.register(&AccountSpec::lifetime("visits", PrivacyCost::zcdp(1.0)).unwrap()).unwrap();
        let cipher = StateCipher::new(&key, *ledger.name());
        let (job, total) = (name("web"), name("total"));
        let note = Noted { place: 3, since: 1, text: b"what is noted".to_vec() };
        let kept = |text: &[u8]| Zeroizing::new(text.to_vec());
        let of = (&job, &total);
        let first = vec![7; 1 << 15];
        let (state, before) = cipher.follow(of, None, kept(&first), (None, Some(&note))).unwrap();
        let (change, _) =
            cipher.follow(of, Some(&before), kept(&[&first[..], b"more"].concat()), (None, None)).unwrap();
        assert!(change.former.is_some());
        let release = |start| ReleaseId {
            account: name("visits"),
            job: job.clone(),
            version: Digest::of(b"version 1"),
            name: total.clone(),
            window: Interval::new(start, start + 10).unwrap(),
            part: None,
        };
        let cost = ReleaseCost::new(Adjacency::PERSON, PrivacyCost::zcdp(0.1).unwrap());
        let (charge, status) = (Some(Charge::Cost(cost)), ReleaseStatus::Sealed);
        let sealing = |start, state| Sealing {
            release: release(start),
            charge: charge.clone(),
            status,
            line: "line".into(),
            state: Some(state),
        };
        let place = Digest::of(b"a partition");
        let position = cipher.encrypt_at((&job, 2), &place, b"a position");
        let update = PositionUpdate { input: 2, replaces: false, changed: vec![(place, position)] };
        let claim = ledger.claim(&job).unwrap();
        ledger.seal_with(&claim, &[sealing(0, state), sealing(10, change)], (&[update], &[])).unwrap();
        ledger.checkpoint().unwrap();
        key
    }

    fn opens(scratch: &Scratch, key: &LedgerKey) -> bool {
        let mut ledger = Ledger::open(scratch.ledger()).unwrap();
        let cipher = StateCipher::new(key, *ledger.name());
        let (job, total) = (name("web"), name("total"));
        let states = ledger.states(&job, &total).unwrap();
        let (at, note) = ledger.notes(&job, &total).unwrap().remove(0);
        let (place, position) = ledger.positions(&job, 2).unwrap().remove(0);
        let clear = [
            cipher.decrypt((&job, &total), &states[0]),
            cipher.decrypt((&job, &total), &states[1]),
            cipher.decrypt_note((&job, &total), at, &note),
            cipher.decrypt_at((&job, 2), &place, &position),
        ];
        let first = vec![7; 1 << 15];
        let more = crate::gate::change::changed(&first, None, &[&first[..], b"more"].concat());
        let expected = [&first[..], &more, b"what is noted", b"a position"];
        let open = clear
            .iter()
            .zip(expected)
            .filter(|(clear, expected)| clear.as_ref().is_some_and(|clear| clear[..] == **expected));
        let (open, bound) = (open.count(), ledger.is_bound(key).is_ok());
        assert!(open == 4 && bound || open == 0 && !bound, "{open} of four open, bound {bound}");
        bound
    }

    fn a_changed_key_opens_everything_and_the_former_one_nothing(at: ScratchPlace) {
        let scratch = at.scratch();
        let first = kept(&scratch);
        assert!(opens(&scratch, &first));
        fs::set_permissions(scratch.key(), fs::Permissions::from_mode(0o400)).unwrap();
        let changed = rekey(scratch.ledger(), &scratch.key(), None).unwrap();
        let second = LedgerKey::open(scratch.key()).unwrap();
        assert_eq!(fs::metadata(scratch.key()).unwrap().mode() & 0o7777, 0o400);
        assert_eq!(changed.fingerprint, second.fingerprint());
        assert!(opens(&scratch, &second) && !opens(&scratch, &first));
        assert_eq!(LedgerKey::open(&changed.former).unwrap().fingerprint(), first.fingerprint());
        let refused = Ledger::open(scratch.ledger()).unwrap().bind(&first).unwrap_err();
        assert!(refused.to_string().contains("rekey"), "{refused}");
        assert!(!Ledger::open_from_checkpoint(&scratch.ledger(), &second).unwrap().is_whole());
        // To another path, and once more: the command that had been done changes nothing.
        let to = scratch.directory().join("third.key");
        let third = rekey(scratch.ledger(), &scratch.key(), Some(&to)).unwrap();
        assert_eq!(rekey(scratch.ledger(), &scratch.key(), Some(&to)).unwrap(), third);
        assert!(opens(&scratch, &LedgerKey::open(&to).unwrap()) && !opens(&scratch, &second));
        // What a command leaves that was killed after its commit is finished by the next one.
        fs::rename(&to, beside(&scratch.key(), ".new")).unwrap();
        assert_eq!(rekey(scratch.ledger(), &scratch.key(), None).unwrap().fingerprint, third.fingerprint);
        assert!(opens(&scratch, &LedgerKey::open(scratch.key()).unwrap()));
    }

    fn a_key_is_changed_while_no_job_runs_and_for_its_own_ledger_alone(at: ScratchPlace) {
        let scratch = at.scratch();
        let first = kept(&scratch);
        let mut ledger = Ledger::open(scratch.ledger()).unwrap();
        let claim = ledger.claim(&name("web")).unwrap();
        let new = beside(&scratch.key(), ".new");
        for to in [None, Some(&*new)] {
            let refused = rekey(scratch.ledger(), &scratch.key(), to).unwrap_err();
            assert_eq!(refused.kind(), LedgerErrorKind::Fenced);
            // Nothing was changed, and nothing is left.
            assert!(is_absent(&new) && is_absent(&beside(&new, ".part")), "{to:?}");
        }
        drop((ledger, claim));
        let other = scratch.directory().join("other.key");
        LedgerKey::create(&other).unwrap();
        assert!(rekey(scratch.ledger(), &other, None).is_err());
        // A file that is no key of this ledger is not taken for its next one.
        assert!(rekey(scratch.ledger(), &scratch.key(), Some(&other)).is_err());
        assert!(opens(&scratch, &first));
        assert!(is_absent(&new));
        // Where it is unknown what another command did with the key, it stays, and the message says so.
        let position = "UPDATE position SET held = zeroblob(49)";
        scratch.edit(position, false).unwrap();
        let refused = rekey(scratch.ledger(), &scratch.key(), None).unwrap_err().to_string();
        let stays = format!("; the new key stays as {}; the same command goes on with it", new.display());
        assert!(refused.ends_with(&stays) && !is_absent(&new), "{refused}");
        scratch.edit("UPDATE state SET held = zeroblob(49)", false).unwrap();
        assert!(rekey(scratch.ledger(), &scratch.key(), None).is_err());
    }
}
