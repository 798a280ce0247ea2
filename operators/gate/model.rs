//! The core under every order of events: two processes of one job (one may be a zombie), crashes anywhere,
//! commits whose answer is lost, and a ledger that may lose its last commit. The core is the real one; the
//! ledger and the sink around it are as small as they can be.
//!
//! Each of the shortcuts that look harmless is built into that [`World`], and the exploration finds the
//! guarantee that it breaks.

mod versions;
mod world;

use std::collections::{BTreeSet, HashSet, VecDeque};
use std::rc::Rc;

use self::world::{Violation, World};
use super::core::{Delivery, Uncertainty};
use crate::noise::NoiseSource;
use crate::noise::goodness::{full, size};

type ModelName = u8;
/// The number of a draw: two lines are equal only if they come from one draw.
type DrawId = u8;

/// A shorter design of the path that looks harmless, or a ledger that breaks its assumptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Flaw {
    None,
    /// A zombie is not stopped by the fence. Harmless alone: names are unique.
    NoFence,
    PublishThenCommit,
    ChargeWithoutTheLine,
    RefundOnRestart,
    NoUniqueName,
    BudgetOutsideTheTransaction,
    UnknownMeansFailed,
    /// One file under two names, as a hard link or a bind mount gives it: each name has its own write-ahead
    /// log and lock.
    TwoNames,
    /// A pooler hands a transaction the connection of another ledger that has the same job and accounts.
    SwappedConnection,
    /// The pooler does so, and each transaction checks the name of its ledger.
    SwapNoticed,
    /// The ledger loses its last commit, and nobody compares it with the sink.
    Rollback,
    /// The ledger loses its last commit, and the gate compares it with the rows that the sink holds.
    RollbackWithAnchor,
}

#[derive(Clone, Copy, Debug)]
struct Setting {
    flaw: Flaw,
    /// The releases that each process requests, in this order.
    wants: [&'static [ModelName]; 2],
    cap: u8,
    delivery: Delivery,
    uncertainty: Uncertainty,
    crashes: u8,
    draws: u8,
}

impl Setting {
    const PLAIN: Setting = Setting {
        flaw: Flaw::None,
        wants: [&[0], &[0]],
        cap: 1,
        delivery: Delivery::AtLeastOnce,
        uncertainty: Uncertainty::Reread,
        crashes: 3,
        draws: 4,
    };
}

/// Explores the reachable worlds until these violations are found, or every world has been; returns the number
/// of worlds, and the violations in any of them.
fn explore(setting: Setting, until: &[Violation]) -> (usize, Vec<Violation>) {
    let start = Rc::new(World::new(setting));
    let mut seen = HashSet::from([Rc::clone(&start)]);
    let mut queue = VecDeque::from([start]);
    let mut violations = BTreeSet::new();
    while let Some(world) = queue.pop_front() {
        violations.extend(world.violations(setting));
        if !until.is_empty() && violations.iter().eq(until) {
            break;
        }
        for next in world.successors(setting) {
            let next = Rc::new(next);
            if seen.insert(Rc::clone(&next)) {
                queue.push_back(next);
            }
        }
    }
    (seen.len(), violations.into_iter().collect())
}

/// Settings that must have no violation. The larger ones run in `bash .ci/run --full`.
fn sound() -> Vec<Setting> {
    let apart: [&[ModelName]; 2] = [&[0], &[1]];
    let mut settings = vec![
        Setting::PLAIN,
        Setting { wants: apart, ..Setting::PLAIN },
        Setting { delivery: Delivery::AtMostOnce, ..Setting::PLAIN },
        Setting { uncertainty: Uncertainty::Halt, ..Setting::PLAIN },
        Setting { flaw: Flaw::NoFence, crashes: 2, ..Setting::PLAIN },
        Setting { flaw: Flaw::RollbackWithAnchor, ..Setting::PLAIN },
        Setting { flaw: Flaw::SwapNoticed, crashes: 1, ..Setting::PLAIN },
    ];
    if full() {
        settings.extend([
            Setting { wants: apart, cap: 2, ..Setting::PLAIN },
            Setting { wants: [&[0], &[0, 1]], crashes: 2, ..Setting::PLAIN },
            Setting { wants: [&[0, 1], &[0, 1]], crashes: 1, ..Setting::PLAIN },
        ]);
    }
    settings
}

/// Refutes G1, G2 or G4 for some order of two processes, up to three crashes and lost answers.
#[test]
fn the_path_violates_nothing_in_any_order() {
    for setting in sound() {
        let (states, violations) = explore(setting, &[]);
        println!("{states} states, {violations:?}: {setting:?}");
        assert_eq!(violations, [], "{setting:?}");
        assert!(states > 10_000, "the exploration stopped after {states} states");
    }
}

// Every world is explored in `bash .ci/run --full`: so no shortcut breaks more than is expected of it.
#[test]
fn every_shortcut_is_found_to_break_it() {
    use Violation::{OverCap, TwoValues, UnderCount};
    let with = |flaw, cap| Setting { flaw, cap, ..Setting::PLAIN };
    let apart: [&[ModelName]; 2] = [&[0], &[1]];
    let shortcuts = [
        (with(Flaw::PublishThenCommit, 1), vec![TwoValues, UnderCount]),
        (with(Flaw::ChargeWithoutTheLine, 1), vec![TwoValues, UnderCount]),
        (with(Flaw::RefundOnRestart, 1), vec![TwoValues, UnderCount]),
        (with(Flaw::NoUniqueName, 2), vec![TwoValues]),
        (Setting { wants: [&[0, 1], &[]], ..with(Flaw::BudgetOutsideTheTransaction, 1) }, vec![OverCap]),
        (with(Flaw::UnknownMeansFailed, 1), vec![TwoValues, UnderCount]),
        (with(Flaw::TwoNames, 1), vec![TwoValues, UnderCount]),
        (Setting { wants: apart, ..with(Flaw::TwoNames, 1) }, vec![UnderCount, OverCap]),
        (Setting { crashes: 1, ..with(Flaw::SwappedConnection, 1) }, vec![TwoValues, UnderCount]),
        (with(Flaw::Rollback, 1), vec![TwoValues, UnderCount]),
    ];
    for (setting, expected) in shortcuts {
        let until = if full() { &[] } else { &expected[..] };
        let (states, violations) = explore(Setting { crashes: setting.crashes.min(2), ..setting }, until);
        println!("{states} states, {violations:?}: {:?}", setting.flaw);
        assert_eq!(violations, expected, "{setting:?}");
    }
}

/// Longer lives than can be explored: each schedule is one random order of the possible events.
#[test]
fn random_schedules_violate_nothing() {
    let both: [&[ModelName]; 2] = [&[0, 1], &[1, 0]];
    let setting = Setting { wants: both, draws: 20, ..Setting::PLAIN };
    let mut noise = NoiseSource::seeded(1);
    let mut delivered = 0;
    for _ in 0..size(20_000, 1_000_000) {
        let mut world = World::new(setting);
        for _ in 0..120 {
            let mut next = world.successors(setting);
            if next.is_empty() {
                break;
            }
            world = next.swap_remove(noise.below(next.len() as u64) as usize);
            assert_eq!(world.violations(setting), [], "{world:?}");
        }
        delivered += world.sink.len();
    }
    assert!(delivered > 0, "no schedule delivered anything");
}
