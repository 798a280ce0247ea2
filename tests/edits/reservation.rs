//! A reservation and the state that it paid for, tested at the ledger itself, without the checks of a gate or
//! a command.

use discreet::accounting::{Adjacency, Interval, PrivacyCost, ReleaseCost};
use discreet::ledger::{
    AccountSpec, Charge, Digest, Ledger, LedgerErrorKind, LedgerKey, Name, ReleaseId, ReleaseStatus, Sealing,
    State,
};

use crate::Scene;

fn name(text: &str) -> Name {
    Name::new("name", text).unwrap()
}

/// The windows of a statistic that is charged once, with or without state.
struct Windows {
    ledger: Ledger,
    claim: discreet::ledger::Claim,
    next: i64,
    states: i64,
}

impl Windows {
    /// Returns true if the next window of this version was charged.
    fn charged(&mut self, version: u32, keeps: bool) -> bool {
        let cost = ReleaseCost::new(Adjacency::PERSON, PrivacyCost::zcdp(0.25).unwrap());
        let release = ReleaseId {
            account: name("visits"),
            job: name("web"),
            version: Digest::of_version(version, &Digest::of(b"parameters")),
            name: name("by_path"),
            window: Interval::new(self.next, self.next + 10).unwrap(),
            part: None,
        };
        self.next += 10;
        self.states += i64::from(keeps);
        let state = keeps.then(|| State {
            version: self.states,
            former: None,
            held: vec![version as u8],
            note: None,
        });
        let charge = Some(Charge::Once { cost, life: Interval::new(0, 1_000).unwrap() });
        let sealing =
            Sealing { release, charge, status: ReleaseStatus::Sealed, line: "a line".into(), state };
        let rows = self.ledger.seal(&self.claim, &[sealing]).unwrap();
        assert_eq!(rows[0].status(), ReleaseStatus::Sealed);
        rows[0].cost().is_some()
    }

    /// The refusal of a version of the statistic, if it is refused.
    fn refused(&mut self, version: u32) -> Option<String> {
        let trouble =
            self.ledger.agree(&self.claim, version, &name("by_path"), &Digest::of(b"parameters")).err()?;
        assert_eq!(trouble.kind(), LedgerErrorKind::Refused, "{trouble}");
        Some(trouble.to_string())
    }
}

// Refutes a reservation that pays for another version's state, and a version that returns to its own.
#[test]
fn a_reservation_holds_only_beside_the_state_of_its_version() {
    let scene = Scene::new();
    let path = scene.0.join("visits.ledger");
    let mut ledger = Ledger::create(&path).unwrap();
    assert!(LedgerKey::open(LedgerKey::beside(&path)).is_ok());
    ledger.register(&AccountSpec::lifetime("visits", PrivacyCost::zcdp(10.0)).unwrap()).unwrap();
    let claim = ledger.claim(&name("web")).unwrap();
    let mut windows = Windows { ledger, claim, next: 0, states: 0 };
    assert!(windows.charged(1, true));
    assert!(!windows.charged(1, true));
    assert!(windows.charged(2, true));
    assert!(windows.charged(1, true), "its state was replaced");
    assert!(!windows.charged(1, true));
    assert!(windows.charged(2, true));
    // A version without state replaces nothing.
    assert!(windows.charged(3, false));
    assert!(!windows.charged(2, true));

    // A version that returns is refused by name, unless it has neither state nor reservation.
    assert_eq!(windows.refused(2), None);
    assert_eq!(windows.refused(4), None);
    for version in [1, 3] {
        let said = windows.refused(version).unwrap();
        assert!(said.contains(&format!("version {version} of by_path")), "{said}");
        assert!(said.contains("was replaced by version 2"), "{said}");
    }
}
