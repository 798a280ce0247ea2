//! A version of a job has one set of parameters, in a file and on a server, after a restart, a copy and a
//! repair.

use std::fs;

use super::*;

everywhere! {
    a_version_is_held_to_the_parameters_it_began_with
    who_was_taken_over_agrees_to_nothing
    what_was_agreed_can_refuse_a_job_and_put_nothing_in_doubt
    what_was_agreed_is_exported
}

/// Lets `job` agree on these parameters of a statistic; returns the refusal, if any.
fn agree(
    scratch: &Scratch,
    (job, version): (&str, u32),
    statistic: &str,
    parameters: &[u8],
) -> Option<String> {
    let mut ledger = Ledger::open(scratch.ledger()).unwrap();
    let claim = ledger.claim(&name(job)).unwrap();
    said(&mut ledger, &claim, version, statistic, parameters)
}

fn said(
    ledger: &mut Ledger,
    claim: &Claim,
    version: u32,
    statistic: &str,
    parameters: &[u8],
) -> Option<String> {
    let trouble = ledger.agree(claim, version, &name(statistic), &Digest::of(parameters)).err()?;
    assert_eq!(trouble.kind(), LedgerErrorKind::Refused, "{trouble}");
    Some(trouble.to_string())
}

fn a_version_is_held_to_the_parameters_it_began_with(at: ScratchPlace) {
    let scratch = at.scratch();
    let head = ledger(&scratch, Promise::Lifetime, 10).head().unwrap();
    for _ in 0..2 {
        assert_eq!(agree(&scratch, ("web", 1), "by_path", b"first"), None);
    }
    let refused = agree(&scratch, ("web", 1), "by_path", b"second").unwrap();
    for word in ["job web", "by_path", "version 1", "give by_path a new version (`version = 2` in"] {
        assert!(refused.contains(word), "{refused}");
    }
    // Another version, statistic or job has parameters of its own; the old one keeps its parameters.
    assert_eq!(agree(&scratch, ("web", 2), "by_path", b"second"), None);
    assert_eq!(agree(&scratch, ("web", u32::MAX), "by_path", b"third"), None);
    assert_eq!(agree(&scratch, ("web", 1), "by_hour", b"second"), None);
    assert_eq!(agree(&scratch, ("app", 1), "by_path", b"second"), None);
    assert_eq!(agree(&scratch, ("web", 1), "by_path", b"first"), None);
    assert!(agree(&scratch, ("web", 2), "by_path", b"first").is_some());
    // The remedy is a version that the statistic never had, whatever others had.
    let refused = agree(&scratch, ("web", u32::MAX), "by_path", b"first").unwrap();
    assert!(refused.contains("a new version (a number below that it never had)"), "{refused}");
    assert_eq!(agree(&scratch, ("web", 6), "by_hour", b"first"), None);
    let refused = agree(&scratch, ("web", 1), "by_hour", b"first").unwrap();
    assert!(refused.contains("give by_hour a new version (`version = 7` in"), "{refused}");
    // The agreement is not a row of the chain.
    assert_eq!(Ledger::open(scratch.ledger()).unwrap().head().unwrap(), head);
}

fn who_was_taken_over_agrees_to_nothing(at: ScratchPlace) {
    let scratch = at.scratch();
    let mut first = ledger(&scratch, Promise::Lifetime, 10);
    let zombie = first.claim(&name("web")).unwrap();
    scratch.unlock("web");
    let mut second = Ledger::open(scratch.ledger()).unwrap();
    let successor = second.claim(&name("web")).unwrap();
    let mut agreeing =
        || first.agree(&zombie, 1, &name("by_path"), &Digest::of(b"the zombie's")).unwrap_err();
    let mut trouble = agreeing();
    if trouble.kind() == LedgerErrorKind::Unknown {
        // Its connection is lost.
        trouble = first.recover(&zombie, &[]).unwrap_err();
    }
    assert_eq!(trouble.kind(), LedgerErrorKind::Fenced, "{trouble}");
    assert_eq!(said(&mut second, &successor, 1, "by_path", b"the successor's"), None);
}

fn what_was_agreed_can_refuse_a_job_and_put_nothing_in_doubt(at: ScratchPlace) {
    let scratch = at.scratch();
    ledger(&scratch, Promise::Lifetime, 10);
    assert_eq!(agree(&scratch, ("web", 1), "by_path", b"first"), None);
    scratch.edit("UPDATE agreed SET parameters = zeroblob(32)", false).unwrap();
    assert!(agree(&scratch, ("web", 1), "by_path", b"first").is_some());
    scratch.edit("DELETE FROM agreed", false).unwrap();
    assert_eq!(agree(&scratch, ("web", 1), "by_path", b"second"), None);
}

fn what_was_agreed_is_exported(at: ScratchPlace) {
    let scratch = at.scratch();
    ledger(&scratch, Promise::Lifetime, 10);
    assert_eq!(agree(&scratch, ("web", 3), "by_path", b"first"), None);
    let copy = scratch.directory().join("copy.ledger");
    Ledger::open(scratch.ledger()).unwrap().export(&copy).unwrap();
    let mut copy = Ledger::open(&copy).unwrap();
    let claim = copy.claim(&name("web")).unwrap();
    assert!(said(&mut copy, &claim, 3, "by_path", b"second").is_some());
    assert_eq!(said(&mut copy, &claim, 3, "by_path", b"first"), None);
}

/// Refutes a repair after which a version may start again with other parameters, though those rows were not
/// torn.
#[test]
fn what_was_agreed_survives_a_repair() {
    let scratch = ScratchPlace::File.scratch();
    ledger(&scratch, Promise::Lifetime, 10);
    assert_eq!(agree(&scratch, ("web", 1), "by_path", b"first"), None);
    scratch.edit("UPDATE balance SET spent = zeroblob(49); UPDATE head SET sequence = 7", false).unwrap();
    let loss = AcceptedLoss { reason: "the head was edited", now: 0, anchors: &[], published: &[] };
    let repaired = Ledger::repair(scratch.ledger(), &loss).unwrap();
    assert!(repaired.torn.is_some_and(|torn| fs::exists(torn).unwrap()));
    assert!(agree(&scratch, ("web", 1), "by_path", b"second").is_some());
    assert_eq!(agree(&scratch, ("web", 1), "by_path", b"first"), None);
}

/// Refutes an id that is equal for two versions, or for two sets of parameters.
#[test]
fn a_version_and_its_parameters_are_both_part_of_a_releases_name() {
    let id = |version, parameters: &[u8]| {
        let version = Digest::of_version(version, &Digest::of(parameters));
        ReleaseId { version, ..sealing("web", (0, 10), 1, "").release }.id()
    };
    assert_eq!(id(1, b"first"), id(1, b"first"));
    assert_ne!(id(1, b"first"), id(2, b"first"));
    assert_ne!(id(1, b"first"), id(1, b"second"));
    assert_ne!(Digest::of_version(1, &Digest::of(b"first")), Digest::of(b"first"));
}
