//! The core under every order of events: two processes of one job (one may be a zombie), crashes anywhere, commits whose
//! answer is lost, and a ledger that may lose its last commit. The core is the real one; the ledger and the sink around
//! it are as small as they can be.
//!
//! Each of the shortcuts that look harmless is built into that world, and the exploration finds what it breaks.

use std::collections::{HashSet, VecDeque};

use super::core::{Core, Delivery, Effect, Event, Outcome, Record, Uncertainty};
use crate::ledger::Fate;
use crate::noise::Noise;
use crate::noise::goodness::size;

type Name = u8;
/// The number of a draw: two lines are alike only if they are of one draw.
type Line = u8;

const REFUSAL: Line = 100;
const TOMBSTONE: Line = 101;

/// A way to build the path that looks shorter, or a ledger that does not keep what it promised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Flaw {
    None,
    /// A zombie is not stopped by the fence. Harmless by itself: names are unique.
    NoFence,
    PublishThenCommit,
    ChargeWithoutTheLine,
    RefundOnRestart,
    NoUniqueName,
    BudgetOutsideTheTransaction,
    UnknownMeansFailed,
    /// The ledger loses its last commit, and nobody asks the sink.
    Rollback,
    /// The ledger loses its last commit, and the gate compares it with what the sink holds.
    RollbackWithAnchor,
}

#[derive(Clone, Copy, Debug)]
struct Setting {
    flaw: Flaw,
    /// What each process asks for, in this order.
    wants: [&'static [Name]; 2],
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

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Ledger {
    fence: u8,
    rows: Vec<Option<Record<Line>>>,
    spent: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Process {
    generation: u8,
    core: Core<Name, Line>,
    /// Names that this process has asked for in this life.
    asked: usize,
    /// Names that it has drawn for in this life.
    drawn: Vec<Name>,
    todo: Vec<Effect<Name, Line>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct World {
    ledger: Ledger,
    /// The ledger before its last commit, until that is lost.
    before: Option<Box<Ledger>>,
    processes: [Option<Process>; 2],
    /// Every line that was ever visible, sorted.
    sink: Vec<(Name, Line)>,
    draws: u8,
    crashes: u8,
    /// Some process has drawn twice for one name: it could have chosen between the draws.
    redrawn: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Violation {
    TwoDraws,
    TwoValues,
    UnderCount,
    OverCap,
    DeliveredTwice,
}

impl World {
    fn new() -> World {
        let rows = vec![None; 2];
        World {
            ledger: Ledger { fence: 0, rows, spent: 0 },
            before: None,
            processes: [None, None],
            sink: Vec::new(),
            draws: 0,
            crashes: 0,
            redrawn: false,
        }
    }

    fn violations(&self, setting: Setting) -> Vec<Violation> {
        let drawn: HashSet<_> = self.sink.iter().filter(|(_, line)| *line < REFUSAL).collect();
        let names: HashSet<_> = self.sink.iter().map(|(name, _)| name).collect();
        let lines: HashSet<_> = self.sink.iter().collect();
        // A ledger that has just lost a commit is behind by that much; what counts then is that nothing new is said.
        let lost = u8::from(self.before.is_none() && setting.flaw == Flaw::RollbackWithAnchor);
        let found = [
            (self.redrawn, Violation::TwoDraws),
            (lines.len() > names.len(), Violation::TwoValues),
            (drawn.len() > usize::from(self.ledger.spent + lost), Violation::UnderCount),
            (self.ledger.spent > setting.cap, Violation::OverCap),
            (
                setting.delivery == Delivery::AtMostOnce && lines.len() < self.sink.len(),
                Violation::DeliveredTwice,
            ),
        ];
        found.into_iter().filter(|(is, _)| *is).map(|(_, violation)| violation).collect()
    }

    /// Every world that one event can make of this one.
    fn successors(&self, setting: Setting) -> Vec<World> {
        let mut next = Vec::new();
        for index in 0..2 {
            match &self.processes[index] {
                None => next.extend(self.started(index, setting)),
                Some(process) => {
                    if self.crashes < setting.crashes {
                        let mut world = self.clone();
                        world.processes[index] = None;
                        world.crashes += 1;
                        next.push(world);
                    }
                    if let Some(&name) = setting.wants[index].get(process.asked) {
                        let mut world = self.clone();
                        let event = Event::Wanted(name);
                        world.processes[index].as_mut().expect("it runs").asked += 1;
                        next.push(world.told(index, setting, event));
                    }
                    for place in 0..process.todo.len() {
                        next.extend(self.carried_out(index, place, setting));
                    }
                }
            }
        }
        let rolls = matches!(setting.flaw, Flaw::Rollback | Flaw::RollbackWithAnchor);
        if let (true, Some(before), [None, None]) = (rolls, &self.before, &self.processes) {
            next.push(World { ledger: Ledger::clone(before), before: None, ..self.clone() });
        }
        next
    }

    /// A process boots: it takes the fence and reads what is still to be delivered.
    fn started(&self, index: usize, setting: Setting) -> Option<World> {
        let mut world = self.clone();
        if world.ledger.fence == 4 {
            return None;
        }
        world.ledger.fence += 1;
        if setting.flaw == Flaw::RefundOnRestart {
            for row in &mut world.ledger.rows {
                if row.take_if(|row| row.fate == Fate::Sealed && !row.delivered).is_some() {
                    world.ledger.spent -= 1;
                }
            }
        }
        let rows = (0..).zip(&world.ledger.rows).filter_map(|(name, row)| Some((name, row.clone()?)));
        let waiting = rows.filter(|(_, row)| !row.delivered && !unstored(row, setting)).collect();
        let ahead = |(name, line): &(Name, Line)| {
            world.ledger.rows[usize::from(*name)].as_ref().is_none_or(|row| row.line != *line)
        };
        let behind = setting.flaw == Flaw::RollbackWithAnchor && world.sink.iter().any(ahead);
        let event = Event::Opened { waiting, behind };
        let mut core = Core::new(setting.delivery, setting.uncertainty);
        let todo = core.step(event);
        let generation = world.ledger.fence;
        world.processes[index] = Some(Process { generation, core, asked: 0, drawn: Vec::new(), todo });
        Some(world)
    }

    /// A process hears an event. Nobody else can see whether it has, so it hears at once of what it did: to crash
    /// before hearing is to crash after.
    fn told(mut self, index: usize, setting: Setting, event: Event<Name, Line>) -> World {
        let process = self.processes[index].as_mut().expect("only a running process hears");
        let effects = process.core.step(event);
        for effect in &effects {
            if let (Effect::Seal(name, line), Flaw::PublishThenCommit) = (effect, setting.flaw) {
                self.sink.push((*name, *line));
            }
        }
        process.todo.extend(effects);
        process.todo.sort_unstable();
        self.sink.sort_unstable();
        self
    }

    /// A process carries out one of its effects.
    fn carried_out(&self, index: usize, place: usize, setting: Setting) -> Vec<World> {
        let mut world = self.clone();
        let process = world.processes[index].as_mut().expect("only a running process acts");
        let generation = process.generation;
        let effect = process.todo.remove(place);
        let heard = |world: World, event| world.told(index, setting, event);
        match effect {
            Effect::Halt(_) | Effect::Withhold(_) => vec![world],
            Effect::LookUp(name) => {
                let mut row = world.ledger.rows[usize::from(name)].clone();
                row = row.filter(|row| !unstored(row, setting));
                let refuses =
                    setting.flaw == Flaw::BudgetOutsideTheTransaction && world.ledger.spent >= setting.cap;
                if row.is_none() && refuses {
                    row = Some(record(Fate::Refused, REFUSAL));
                }
                vec![heard(world, Event::LookedUp(name, row))]
            }
            Effect::Draw(name) => {
                if world.draws == setting.draws {
                    return Vec::new();
                }
                let line = world.draws;
                world.draws += 1;
                world.redrawn |= process.drawn.contains(&name);
                process.drawn.push(name);
                vec![heard(world, Event::Drawn(name, Some(line)))]
            }
            Effect::Deliver(name, record) => {
                world.sink.push((name, record.line));
                vec![heard(world, Event::Delivered(name))]
            }
            Effect::Mark(name) => {
                let row = world.ledger.rows[usize::from(name)].as_mut();
                let mine = row.is_some_and(|row| !std::mem::replace(&mut row.delivered, true));
                vec![heard(world, Event::Marked(name, mine))]
            }
            Effect::Recover(name) => {
                let row = world.ledger.rows[usize::from(name)].clone();
                let outcome = match row {
                    _ if generation != world.ledger.fence => Outcome::Fenced,
                    Some(row) => Outcome::Recorded(row),
                    None => Outcome::Aborted,
                };
                vec![heard(world, Event::Settled(name, outcome))]
            }
            Effect::Seal(name, line) => world.written(name, Some(line), generation, setting, heard),
            Effect::Lose(name) => world.written(name, None, generation, setting, heard),
            Effect::Skip(_) => unreachable!("this world has no clock"),
        }
    }

    /// The sealing transaction, with every way in which its answer may come back.
    fn written(
        self,
        name: Name,
        line: Option<Line>,
        generation: u8,
        setting: Setting,
        heard: impl Fn(World, Event<Name, Line>) -> World,
    ) -> Vec<World> {
        let settled = |world, outcome| heard(world, Event::Settled(name, outcome));
        if generation != self.ledger.fence && !matches!(setting.flaw, Flaw::NoFence | Flaw::NoUniqueName) {
            return vec![settled(self, Outcome::Fenced)];
        }
        let untouched = self.clone();
        let mut world = self;
        let before = world.ledger.clone();
        let ledger = &mut world.ledger;
        let slot = &mut ledger.rows[usize::from(name)];
        let outcome = match slot {
            Some(row) if unstored(row, setting) => Record { line: line.unwrap_or(TOMBSTONE), ..row.clone() },
            Some(row) if setting.flaw != Flaw::NoUniqueName => row.clone(),
            _ => {
                let fits = ledger.spent < setting.cap || setting.flaw == Flaw::BudgetOutsideTheTransaction;
                let row = match line {
                    _ if !fits => record(Fate::Refused, REFUSAL),
                    Some(line) => record(Fate::Sealed, line),
                    None => record(Fate::Lost, TOMBSTONE),
                };
                ledger.spent += u8::from(fits);
                *slot = Some(row.clone());
                world.before = Some(Box::new(before));
                row
            }
        };
        let mut next = vec![
            settled(world.clone(), Outcome::Recorded(outcome)),
            settled(untouched.clone(), Outcome::Aborted),
            settled(untouched, Outcome::Unknown),
        ];
        if setting.flaw == Flaw::UnknownMeansFailed {
            // The row is there; the process believes it is not, draws again, and publishes that.
            let line = world.draws;
            world.draws += 1;
            next.push(settled(world, Outcome::Recorded(record(Fate::Sealed, line))));
        } else {
            next.push(settled(world, Outcome::Unknown));
        }
        next
    }
}

fn record(fate: Fate, line: Line) -> Record<Line> {
    Record { fate, line, delivered: false }
}

/// Whether this row holds a charge and nothing else.
fn unstored(row: &Record<Line>, setting: Setting) -> bool {
    setting.flaw == Flaw::ChargeWithoutTheLine && row.fate == Fate::Sealed
}

/// Every reachable world; how many there are, and what is wrong in any of them.
fn explore(setting: Setting) -> (usize, Vec<Violation>) {
    let start = World::new();
    let mut seen = HashSet::from([start.clone()]);
    let mut queue = VecDeque::from([start]);
    let mut violations = HashSet::new();
    while let Some(world) = queue.pop_front() {
        violations.extend(world.violations(setting));
        for next in world.successors(setting) {
            if seen.insert(next.clone()) {
                queue.push_back(next);
            }
        }
    }
    let mut violations: Vec<_> = violations.into_iter().collect();
    violations.sort_unstable();
    (seen.len(), violations)
}

/// Settings in which nothing may go wrong. The larger ones run in `bash .ci/run --full`.
fn sound() -> Vec<Setting> {
    let apart: [&[Name]; 2] = [&[0], &[1]];
    let mut settings = vec![
        Setting::PLAIN,
        Setting { wants: apart, ..Setting::PLAIN },
        Setting { delivery: Delivery::AtMostOnce, ..Setting::PLAIN },
        Setting { uncertainty: Uncertainty::Halt, ..Setting::PLAIN },
        Setting { flaw: Flaw::NoFence, crashes: 2, ..Setting::PLAIN },
        Setting { flaw: Flaw::RollbackWithAnchor, ..Setting::PLAIN },
    ];
    if size(0, 1) == 1 {
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
        let (states, violations) = explore(setting);
        println!("{states} states, {violations:?}: {setting:?}");
        assert_eq!(violations, [], "{setting:?}");
        assert!(states > 10_000, "the exploration stopped after {states} states");
    }
}

#[test]
fn every_shortcut_is_found_to_break_it() {
    use Violation::{OverCap, TwoValues, UnderCount};
    let with = |flaw, cap| Setting { flaw, cap, ..Setting::PLAIN };
    let shortcuts = [
        (with(Flaw::PublishThenCommit, 1), vec![TwoValues, UnderCount]),
        (with(Flaw::ChargeWithoutTheLine, 1), vec![TwoValues, UnderCount]),
        (with(Flaw::RefundOnRestart, 1), vec![TwoValues, UnderCount]),
        (with(Flaw::NoUniqueName, 2), vec![TwoValues]),
        (Setting { wants: [&[0, 1], &[]], ..with(Flaw::BudgetOutsideTheTransaction, 1) }, vec![OverCap]),
        (with(Flaw::UnknownMeansFailed, 1), vec![TwoValues, UnderCount]),
        (with(Flaw::Rollback, 1), vec![TwoValues, UnderCount]),
    ];
    for (setting, expected) in shortcuts {
        let (_, violations) = explore(Setting { crashes: 2, ..setting });
        assert_eq!(violations, expected, "{setting:?}");
    }
}

/// Longer lives than can be explored: each schedule is one random order of everything that may happen.
#[test]
fn random_schedules_violate_nothing() {
    let both: [&[Name]; 2] = [&[0, 1], &[1, 0]];
    let setting = Setting { wants: both, draws: 20, ..Setting::PLAIN };
    let mut noise = Noise::seeded(1);
    let mut delivered = 0;
    for _ in 0..size(20_000, 1_000_000) {
        let mut world = World::new();
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
