//! Tests of the ledger's promises against rivals, zombies, typos, and a slow account that adds up all
//! charges.

mod archives;
mod checkpoints;
mod lines;
mod names;
mod notes;
mod parts;
mod repairing;
#[cfg(feature = "postgres")]
mod server;
mod tampering;
mod versions;

use std::sync::Barrier;

use proptest::prelude::*;

use super::scratch::{Scratch, ScratchPlace, everywhere};
use super::*;
use crate::accounting::{Adjacency, BudgetUnits, Interval, Omega, PrivacyCost, Promise, ReleaseCost};
use crate::noise::goodness::size;

fn name(text: &str) -> Name {
    Name::new("name", text).unwrap()
}

fn rho(units: u128) -> PrivacyCost {
    PrivacyCost::Zcdp { rho: BudgetUnits::from_bits(units), delta: BudgetUnits::ZERO, omega: Omega::EVERY }
}

/// The same cost for a window and for a part of one.
fn cost(units: u128) -> ReleaseCost {
    ReleaseCost::new(Adjacency::PERSON, rho(units)).with_partial(rho(units)).unwrap()
}

fn account(promise: Promise, cap: u128) -> AccountSpec {
    AccountSpec::new(name("visits"), Adjacency::PERSON, promise, rho(cap)).unwrap()
}

fn sealing(job: &str, window: (i64, i64), units: u128, line: &str) -> Sealing {
    Sealing {
        release: ReleaseId {
            account: name("visits"),
            job: name(job),
            version: Digest::of(b"version 1"),
            name: name("by_path"),
            window: Interval::new(window.0, window.1).unwrap(),
            part: None,
        },
        charge: Some(Charge::Cost(cost(units))),
        status: ReleaseStatus::Sealed,
        line: line.to_owned(),
        state: None,
    }
}

/// A new ledger with one account.
fn ledger(scratch: &Scratch, promise: Promise, cap: u128) -> Ledger {
    let mut ledger = Ledger::create(scratch.ledger()).unwrap();
    ledger.register(&account(promise, cap)).unwrap();
    ledger
}

fn spent(ledger: &mut Ledger) -> PrivacyCost {
    ledger.spent(&name("visits"), Interval::new(0, 1).unwrap()).unwrap().0
}

everywhere! {
    a_release_is_said_once_and_charged_once
    what_does_not_fit_is_refused_for_good_and_costs_nothing
    caps_are_raised_by_somebody_for_a_reason_and_never_lowered
    nothing_is_made_by_a_typo
    nothing_is_released_for_free
    what_is_paid_once_pays_for_its_own_statistic_and_life_alone
    what_is_paid_once_counts_in_every_span_of_its_life
    a_job_runs_once_and_its_zombie_seals_nothing
    deliveries_are_marked_once
    a_ledger_keeps_the_key_that_it_was_first_used_with
    rivals_are_granted_exactly_the_cap
    ledgers_grant_what_a_slow_account_grants
}

fn a_release_is_said_once_and_charged_once(at: ScratchPlace) {
    let scratch = at.scratch();
    let mut ledger = ledger(&scratch, Promise::Lifetime, 10);
    let claim = ledger.claim(&name("web")).unwrap();
    let first = ledger.seal(&claim, &[sealing("web", (0, 10), 3, "one draw")]).unwrap();
    let second = ledger.seal(&claim, &[sealing("web", (0, 10), 4, "another draw")]).unwrap();
    assert_eq!(first, second);
    assert_eq!(first[0].line(), "one draw");
    assert_eq!(spent(&mut ledger), rho(3));

    drop((ledger, claim));
    let mut ledger = Ledger::open(scratch.ledger()).unwrap();
    assert_eq!(ledger.look_up(&sealing("web", (0, 10), 3, "").release).unwrap().as_ref(), Some(&first[0]));
    assert_eq!(spent(&mut ledger), rho(3));
}

fn what_does_not_fit_is_refused_for_good_and_costs_nothing(at: ScratchPlace) {
    let scratch = at.scratch();
    let mut ledger = ledger(&scratch, Promise::Lifetime, 10);
    let claim = ledger.claim(&name("web")).unwrap();
    let batch = [
        sealing("web", (0, 10), 7, "fits"),
        sealing("web", (10, 20), 4, "does not"),
        sealing("web", (20, 30), 3, "fits beside the first"),
    ];
    let rows = ledger.seal(&claim, &batch).unwrap();
    assert_eq!(
        rows.iter().map(Row::status).collect::<Vec<_>>(),
        [ReleaseStatus::Sealed, ReleaseStatus::Refused, ReleaseStatus::Sealed]
    );
    let unit = BudgetUnits::from_bits(1).to_float_up();
    let expected = format!(
        "{{\"release\":\"by_path\",\"window\":{{\"start\":\"1970-01-01T00:00:00.00001Z\",\"end\":\"1970-01-01T00:00:00.00002Z\"}},\
         \"refused\":\"budget\",\"account\":\"visits\",\"spent\":{{\"rho\":{},\"delta\":0}},\"asked\":{{\"rho\":{},\"delta\":0}},\
         \"limit\":{{\"rho\":{},\"delta\":0}}}}",
        7.0 * unit,
        4.0 * unit,
        10.0 * unit
    );
    assert_eq!(rows[1].line(), expected);
    assert_eq!(spent(&mut ledger), rho(10));

    // A raised cap helps later windows, and revives none that was refused.
    ledger.amend(&name("visits"), &rho(20), "an operator", "the review of March").unwrap();
    let again = ledger.seal(&claim, &batch).unwrap();
    assert_eq!(again, rows);
    let later = ledger.seal(&claim, &[sealing("web", (30, 40), 10, "later")]).unwrap();
    assert_eq!(later[0].status(), ReleaseStatus::Sealed);
    drop(ledger);
    assert_eq!(spent(&mut Ledger::open(scratch.ledger()).unwrap()), rho(20));
}

fn caps_are_raised_by_somebody_for_a_reason_and_never_lowered(at: ScratchPlace) {
    let scratch = at.scratch();
    let mut ledger = ledger(&scratch, Promise::Lifetime, 10);
    let mut amend = |cap, who, why| ledger.amend(&name("visits"), &rho(cap), who, why).unwrap_err().kind();
    assert_eq!(amend(9, "me", "less"), LedgerErrorKind::Refused);
    assert_eq!(amend(10, "me", "the same"), LedgerErrorKind::Refused);
    assert_eq!(amend(11, " ", "nobody"), LedgerErrorKind::Refused);
    assert_eq!(amend(11, "me", ""), LedgerErrorKind::Refused);
    let unknown = ledger.amend(&name("visit"), &rho(11), "me", "a typo").unwrap_err();
    assert!(unknown.to_string().contains("account visit"), "{unknown}");
}

fn nothing_is_made_by_a_typo(at: ScratchPlace) {
    let scratch = at.scratch();
    assert_eq!(Ledger::open(scratch.ledger()).unwrap_err().kind(), LedgerErrorKind::Refused);
    assert!(!scratch.ledger().exists());
    let mut ledger = ledger(&scratch, Promise::Lifetime, 10);
    assert_eq!(Ledger::create(scratch.ledger()).unwrap_err().kind(), LedgerErrorKind::Refused);

    let claim = ledger.claim(&name("web")).unwrap();
    let mut elsewhere = sealing("web", (0, 10), 1, "line");
    elsewhere.release.account = name("visit");
    let error = ledger.seal(&claim, &[elsewhere]).unwrap_err();
    assert_eq!(error.kind(), LedgerErrorKind::Refused);
    assert!(error.to_string().contains("account visit"), "{error}");

    ledger.register(&account(Promise::Lifetime, 10)).unwrap();
    for other in [account(Promise::Lifetime, 11), account(Promise::Any(30), 10)] {
        assert_eq!(ledger.register(&other).unwrap_err().kind(), LedgerErrorKind::Refused);
    }
}

fn a_ledger_keeps_the_key_that_it_was_first_used_with(at: ScratchPlace) {
    let scratch = at.scratch();
    let mut ledger = ledger(&scratch, Promise::Lifetime, 10);
    let own = LedgerKey::open(scratch.key()).unwrap();
    let other = LedgerKey::create(scratch.directory().join("other.key")).unwrap();
    ledger.bind(&own).unwrap();
    for _ in 0..2 {
        ledger.bind(&own).unwrap();
        assert_eq!(ledger.bind(&other).unwrap_err().kind(), LedgerErrorKind::Refused);
        drop(ledger);
        ledger = Ledger::open(scratch.ledger()).unwrap();
    }
    for edit in ["UPDATE key_check SET mac = zeroblob(32)", "DELETE FROM key_check"] {
        assert!(scratch.edit(edit, true).is_err(), "{edit}");
    }
}

fn nothing_is_released_for_free(at: ScratchPlace) {
    let scratch = at.scratch();
    let mut ledger = ledger(&scratch, Promise::Lifetime, 10);
    let claim = ledger.claim(&name("web")).unwrap();
    let first = sealing("web", (0, 10), 3, "the first window");
    let refused = |ledger: &mut Ledger, sealing: Sealing| {
        let error = ledger.seal(&claim, std::slice::from_ref(&sealing)).unwrap_err();
        assert_eq!(error.kind(), LedgerErrorKind::Refused, "{error}");
        assert!(ledger.look_up(&sealing.release).unwrap().is_none());
    };
    // Refused: a sealing without a charge, one under another job's claim, and one that asks for a refusal.
    refused(&mut ledger, Sealing { charge: None, ..first.clone() });
    refused(&mut ledger, Sealing { charge: None, status: ReleaseStatus::Lost, ..first.clone() });
    refused(&mut ledger, Sealing { status: ReleaseStatus::Refused, ..first.clone() });
    refused(&mut ledger, sealing("app", (0, 10), 1, "another job's"));
    // A skipped window has no values and no charge.
    let skipped =
        Sealing { charge: None, status: ReleaseStatus::Skipped, ..sealing("web", (30, 40), 0, "skipped") };
    assert_eq!(ledger.seal(&claim, &[skipped]).unwrap()[0].status(), ReleaseStatus::Skipped);
    assert_eq!(spent(&mut ledger), rho(0));
}

fn once(job: &str, window: (i64, i64), life: (i64, i64), units: u128) -> Sealing {
    let cost = cost(units);
    let charge = Charge::Once { cost, life: Interval::new(life.0, life.1).unwrap() };
    Sealing { charge: Some(charge), ..sealing(job, window, units, "line") }
}

fn what_is_paid_once_pays_for_its_own_statistic_and_life_alone(at: ScratchPlace) {
    let scratch = at.scratch();
    let mut ledger = ledger(&scratch, Promise::Lifetime, 10);
    let claim = ledger.claim(&name("web")).unwrap();
    let mut costs = |sealing: Sealing| {
        let row = ledger.seal(&claim, &[sealing]).unwrap().remove(0);
        (row.status() == ReleaseStatus::Sealed)
            .then(|| row.cost().map_or(0, |cost| u32::from(*cost == rho(3)) * 3))
    };
    assert_eq!(costs(once("web", (0, 10), (0, 100), 3)), Some(3));
    assert_eq!(costs(once("web", (10, 20), (0, 100), 3)), Some(0));
    assert_eq!(costs(once("web", (90, 100), (0, 100), 3)), Some(0));
    // Another statistic, another version and another life are each charged; then the budget is spent.
    let mut other = once("web", (0, 10), (0, 100), 3);
    other.release.name = name("by_hour");
    assert_eq!(costs(other), Some(3));
    let mut other = once("web", (0, 10), (0, 100), 3);
    other.release.version = Digest::of(b"version 2");
    assert_eq!(costs(other), Some(3));
    assert_eq!(costs(once("web", (100, 110), (100, 200), 3)), None);
    assert_eq!(costs(once("web", (110, 120), (100, 200), 3)), None);
    // The life is still paid for.
    assert_eq!(costs(once("web", (20, 30), (0, 100), 3)), Some(0));
    // A window outside of its life is not paid for.
    for window in [(-5, 5), (95, 105)] {
        let error = ledger.seal(&claim, &[once("web", window, (0, 100), 3)]).unwrap_err();
        assert_eq!(error.kind(), LedgerErrorKind::Refused, "{error}");
    }
    assert_eq!(spent(&mut ledger), rho(9));
    drop((ledger, claim));
    assert_eq!(spent(&mut Ledger::open(scratch.ledger()).unwrap()), rho(9));
}

fn what_is_paid_once_counts_in_every_span_of_its_life(at: ScratchPlace) {
    let scratch = at.scratch();
    let mut ledger = ledger(&scratch, Promise::Each(10), 5);
    let claim = ledger.claim(&name("web")).unwrap();
    ledger.seal(&claim, &[once("web", (0, 10), (0, 50), 4)]).unwrap();
    let mut status = |window| ledger.seal(&claim, &[sealing("web", window, 2, "line")]).unwrap()[0].status();
    assert_eq!([status((40, 49)), status((50, 60))], [ReleaseStatus::Refused, ReleaseStatus::Sealed]);
}

fn a_job_runs_once_and_its_zombie_seals_nothing(at: ScratchPlace) {
    let scratch = at.scratch();
    let mut first = ledger(&scratch, Promise::Lifetime, 10);
    let zombie = first.claim(&name("web")).unwrap();
    let mut second = Ledger::open(scratch.ledger()).unwrap();
    assert_eq!(second.claim(&name("web")).unwrap_err().kind(), LedgerErrorKind::Fenced);
    // Another job may run at the same time, on the same budget.
    let beside = second.claim(&name("app")).unwrap();
    second.seal(&beside, &[sealing("app", (0, 10), 1, "beside")]).unwrap();

    // The lock is gone, as after a move to another machine; the fence still holds.
    scratch.unlock("web");
    let successor = second.claim(&name("web")).unwrap();
    assert_eq!((zombie.generation(), successor.generation()), (1, 2));
    let mut error = first.seal(&zombie, &[sealing("web", (0, 10), 1, "zombie")]).unwrap_err();
    if first.is_remote() {
        assert_eq!(error.kind(), LedgerErrorKind::Unknown, "its connection is gone");
        error = first.recover(&zombie, &[]).unwrap_err();
    }
    assert_eq!(error.kind(), LedgerErrorKind::Fenced);
    second.seal(&successor, &[sealing("web", (0, 10), 1, "successor")]).unwrap();
    assert_eq!(spent(&mut first), rho(2));
}

fn deliveries_are_marked_once(at: ScratchPlace) {
    let scratch = at.scratch();
    let mut ledger = ledger(&scratch, Promise::Lifetime, 10);
    let claim = ledger.claim(&name("web")).unwrap();
    let rows =
        ledger.seal(&claim, &[sealing("web", (0, 1), 1, "a"), sealing("web", (1, 2), 1, "b")]).unwrap();
    assert_eq!(ledger.undelivered(&name("web")).unwrap(), rows);
    assert_eq!(ledger.mark(&rows[..1]).unwrap(), [true]);
    assert_eq!(ledger.mark(&rows).unwrap(), [false, true]);
    assert_eq!(ledger.undelivered(&name("web")).unwrap(), []);
}

/// Runs four pipelines at once on a budget of 60% of their demand. Refutes a check outside of the
/// transaction, which was seen to grant 200 and record 50.
fn rivals_are_granted_exactly_the_cap(at: ScratchPlace) {
    for round in 0..at.tries(size(3, 100)) {
        let scratch = at.scratch();
        ledger(&scratch, Promise::Lifetime, 60);
        let barrier = Barrier::new(4);
        let pipeline = |job: String| {
            let mut ledger = Ledger::open(scratch.ledger()).unwrap();
            let claim = ledger.claim(&name(&job)).unwrap();
            barrier.wait();
            let statuses = (0..25)
                .map(|k| ledger.seal(&claim, &[sealing(&job, (k, k + 1), 1, "line")]).unwrap()[0].status());
            statuses.filter(|status| *status == ReleaseStatus::Sealed).count()
        };
        let granted: usize = std::thread::scope(|scope| {
            let threads = [0, 1, 2, 3].map(|job| scope.spawn(move || pipeline(format!("job{job}"))));
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        let mut ledger = Ledger::open(scratch.ledger()).unwrap();
        assert_eq!((granted, spent(&mut ledger)), (60, rho(60)), "round {round}");
    }
}

/// The slow account: sums all granted charges in each stretch of time that the new charge overlaps.
fn fits(
    promise: Promise,
    granted: &[((i64, i64), u128)],
    window: (i64, i64),
    units: u128,
    cap: u128,
) -> bool {
    let sum = |shares: &dyn Fn((i64, i64)) -> bool| {
        granted.iter().filter(|(other, _)| shares(*other)).map(|(_, units)| units).sum::<u128>() + units
            <= cap
    };
    match promise {
        Promise::Lifetime | Promise::Windows(_) => sum(&|_| true),
        Promise::Any(span) => {
            let span = span as i64;
            (window.0 - span + 1..window.1).all(|at| sum(&|other| other.0 < at + span && other.1 > at))
        }
        Promise::Each(span) => {
            let span = span as i64;
            let (first, last) = (window.0.div_euclid(span), (window.1 - 1).div_euclid(span));
            (first..=last).all(|block| sum(&|other| other.0 < (block + 1) * span && other.1 > block * span))
        }
    }
}

/// Refutes an account that grants more or less than its promise, on any calendar, with any pattern of
/// reopening.
fn ledgers_grant_what_a_slow_account_grants(at: ScratchPlace) {
    let promises = vec![Promise::Lifetime, Promise::Windows(3), Promise::Any(20), Promise::Each(15)];
    let windows = prop::collection::vec((-50i64..50, 1i64..40, 1u128..4), 1..25);
    let config = ProptestConfig::with_cases(at.tries(size(24, 400)) as u32);
    proptest!(config, |(promise in prop::sample::select(promises), windows in windows)| {
        let scratch = at.scratch();
        let mut ledger = ledger(&scratch, promise, 8);
        let mut claim = ledger.claim(&name("web")).unwrap();
        let mut granted = Vec::new();
        let mut seen = Vec::new();
        for (index, (start, length, units)) in windows.into_iter().enumerate() {
            let window = (start, start + length);
            if seen.contains(&window) {
                continue;
            }
            seen.push(window);
            let expected = fits(promise, &granted, window, units, 8);
            let row = &ledger.seal(&claim, &[sealing("web", window, units, "line")]).unwrap()[0];
            prop_assert_eq!(row.status() == ReleaseStatus::Sealed, expected);
            if expected {
                granted.push((window, units));
            }
            if index % 7 == 6 {
                drop((ledger, claim));
                ledger = Ledger::open(scratch.ledger()).unwrap();
                claim = ledger.claim(&name("web")).unwrap();
            }
        }
        prop_assert!(ledger.verify().is_ok());
    });
}
