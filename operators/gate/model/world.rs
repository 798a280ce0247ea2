//! The model's world around the core: a ledger, a sink and two processes, and every event that may come next.

use super::{DrawId, Flaw, ModelName, Setting};
use crate::gate::core::{CommitOutcome, Core, Delivery, Effect, Event, RowRecord};
use crate::gate::request::HaltReason;
use crate::ledger::ReleaseStatus;

const REFUSAL: DrawId = 100;
const TOMBSTONE: DrawId = 101;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct ModelLedger {
    fence: u8,
    rows: Vec<Option<RowRecord<DrawId>>>,
    spent: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Process {
    generation: u8,
    core: Core<ModelName, DrawId>,
    /// The number of names that this process has requested in this life.
    asked: usize,
    /// The names that it has drawn for in this life.
    drawn: Vec<ModelName>,
    todo: Vec<Effect<ModelName, DrawId>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct World {
    ledger: ModelLedger,
    /// A second ledger with the same job and accounts, if the setting has one: another ledger behind the same
    /// pooler, or the write-ahead log that one file has under its second name.
    other: Option<ModelLedger>,
    /// The ledger before its last commit, as long as that commit may be lost.
    before: Option<Box<ModelLedger>>,
    processes: [Option<Process>; 2],
    /// Every line that was ever visible, sorted.
    pub(super) sink: Vec<(ModelName, DrawId)>,
    draws: u8,
    crashes: u8,
    /// True if some process has drawn twice for one name: it could have chosen between the draws.
    redrawn: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Violation {
    TwoDraws,
    TwoValues,
    UnderCount,
    OverCap,
    DeliveredTwice,
}

impl World {
    pub(super) fn new(setting: Setting) -> World {
        let ledger = ModelLedger { fence: 0, rows: vec![None; 2], spent: 0 };
        let two = matches!(setting.flaw, Flaw::TwoNames | Flaw::SwappedConnection | Flaw::SwapNoticed);
        World {
            other: two.then(|| ledger.clone()),
            ledger,
            before: None,
            processes: [None, None],
            sink: Vec::new(),
            draws: 0,
            crashes: 0,
            redrawn: false,
        }
    }

    pub(super) fn violations(&self, setting: Setting) -> Vec<Violation> {
        // The sink is sorted by name and line.
        let mut lines = self.sink.clone();
        lines.dedup();
        let drawn = lines.iter().filter(|(_, line)| *line < REFUSAL).count();
        let names = || lines.chunk_by(|(a, _), (b, _)| a == b);
        let paid = names().filter(|lines| lines[0].1 < REFUSAL).count();
        // A ledger that has just lost a commit is behind by that much; the requirement is then that nothing
        // new is released.
        let lost = u8::from(self.before.is_none() && setting.flaw == Flaw::RollbackWithAnchor);
        let found = [
            (self.redrawn, Violation::TwoDraws),
            (lines.len() > names().count(), Violation::TwoValues),
            (drawn > usize::from(self.ledger.spent + lost), Violation::UnderCount),
            (self.ledger.spent.max(paid as u8) > setting.cap, Violation::OverCap),
            (
                setting.delivery == Delivery::AtMostOnce && lines.len() < self.sink.len(),
                Violation::DeliveredTwice,
            ),
        ];
        found.into_iter().filter(|(is, _)| *is).map(|(_, violation)| violation).collect()
    }

    /// Returns every world that one event can make of this one.
    pub(super) fn successors(&self, setting: Setting) -> Vec<World> {
        let mut next = self.of_process(0, setting);
        if setting.flaw == Flaw::TwoNames {
            // The second process opens the file under its other name, and has a write-ahead log of its own
            // there.
            let worlds = self.clone().exchanged().of_process(1, setting);
            next.extend(worlds.into_iter().map(World::exchanged));
        } else {
            next.extend(self.of_process(1, setting));
        }
        let rolls = matches!(setting.flaw, Flaw::Rollback | Flaw::RollbackWithAnchor);
        if let (true, Some(before), [None, None]) = (rolls, &self.before, &self.processes) {
            next.push(World { ledger: ModelLedger::clone(before), before: None, ..self.clone() });
        }
        next
    }

    /// Returns every world that one event of a process can make of this one.
    fn of_process(&self, index: usize, setting: Setting) -> Vec<World> {
        let Some(process) = &self.processes[index] else {
            return self.started(index, setting).into_iter().collect();
        };
        let mut next = Vec::new();
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
            next.push(world.happened(index, setting, event));
        }
        for place in 0..process.todo.len() {
            next.extend(self.carried_out(index, place, setting));
            next.extend(self.carried_out_elsewhere(index, place, setting));
        }
        next
    }

    /// Carries out one effect of a process over a connection that the pooler has taken from the other ledger.
    fn carried_out_elsewhere(&self, index: usize, place: usize, setting: Setting) -> Vec<World> {
        let todo = &self.processes[index].as_ref().expect("only a running process acts").todo;
        let transaction = !matches!(
            todo[place],
            Effect::Draw(_) | Effect::Deliver(..) | Effect::Withhold(_) | Effect::Halt(_)
        );
        match setting.flaw {
            Flaw::SwappedConnection if transaction => {}
            Flaw::SwapNoticed if transaction => return vec![self.noticed(index, place, setting)],
            _ => return Vec::new(),
        }
        let worlds = self.clone().exchanged().carried_out(index, place, setting);
        worlds.into_iter().map(World::exchanged).collect()
    }

    /// Carries out a transaction that detects the wrong ledger: it writes nothing, and reports it.
    fn noticed(&self, index: usize, place: usize, setting: Setting) -> World {
        let mut world = self.clone();
        let process = world.processes[index].as_mut().expect("only a running process acts");
        let event = match process.todo.remove(place) {
            Effect::Seal(name, _) | Effect::Lose(name) | Effect::Skip(name) => {
                Event::Committed(name, CommitOutcome::Aborted)
            }
            Effect::Recover(name) => Event::Committed(name, CommitOutcome::Unknown),
            _ => Event::Doubted(HaltReason::Ledger),
        };
        world.happened(index, setting, event)
    }

    /// Exchanges the two ledgers.
    fn exchanged(mut self) -> World {
        if let Some(other) = &mut self.other {
            std::mem::swap(&mut self.ledger, other);
        }
        self
    }

    /// Starts a process: it takes the fence and reads the rows that are still to be delivered.
    fn started(&self, index: usize, setting: Setting) -> Option<World> {
        let mut world = self.clone();
        if world.ledger.fence == 4 {
            return None;
        }
        world.ledger.fence += 1;
        if let (Some(other), Flaw::SwappedConnection | Flaw::SwapNoticed) = (&mut world.other, setting.flaw) {
            // One process claims the same job in both.
            other.fence += 1;
        }
        if setting.flaw == Flaw::RefundOnRestart {
            for row in &mut world.ledger.rows {
                if row.take_if(|row| row.status == ReleaseStatus::Sealed && !row.delivered).is_some() {
                    world.ledger.spent -= 1;
                }
            }
        }
        let rows = (0..).zip(&world.ledger.rows).filter_map(|(name, row)| Some((name, row.clone()?)));
        let waiting = rows.filter(|(_, row)| !row.delivered && !unstored(row, setting)).collect();
        let ahead = |(name, line): &(ModelName, DrawId)| {
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

    /// Passes an event to a process. Nobody else can see whether it has received it, so it receives the
    /// events of its own effects at once: a crash before is a crash after.
    fn happened(mut self, index: usize, setting: Setting, event: Event<ModelName, DrawId>) -> World {
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

    /// Carries out one effect of a process.
    fn carried_out(&self, index: usize, place: usize, setting: Setting) -> Vec<World> {
        let mut world = self.clone();
        let process = world.processes[index].as_mut().expect("only a running process acts");
        let generation = process.generation;
        let effect = process.todo.remove(place);
        let heard = |world: World, event| world.happened(index, setting, event);
        match effect {
            Effect::Halt(_) | Effect::Withhold(_) => vec![world],
            Effect::LookUp(name) => {
                let mut row = world.ledger.rows[usize::from(name)].clone();
                row = row.filter(|row| !unstored(row, setting));
                let refuses =
                    setting.flaw == Flaw::BudgetOutsideTheTransaction && world.ledger.spent >= setting.cap;
                if row.is_none() && refuses {
                    row = Some(record(ReleaseStatus::Refused, REFUSAL));
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
                    _ if generation != world.ledger.fence => CommitOutcome::Fenced,
                    Some(row) => CommitOutcome::Recorded(row),
                    None => CommitOutcome::Aborted,
                };
                vec![heard(world, Event::Committed(name, outcome))]
            }
            Effect::Seal(name, line) => world.written(name, Some(line), generation, setting, heard),
            Effect::Lose(name) => world.written(name, None, generation, setting, heard),
            Effect::Skip(_) => unreachable!("this world has no clock"),
        }
    }

    /// Executes the sealing transaction, with every way in which its answer may come back.
    fn written(
        self,
        name: ModelName,
        line: Option<DrawId>,
        generation: u8,
        setting: Setting,
        heard: impl Fn(World, Event<ModelName, DrawId>) -> World,
    ) -> Vec<World> {
        let committed = |world, outcome| heard(world, Event::Committed(name, outcome));
        if generation != self.ledger.fence && !matches!(setting.flaw, Flaw::NoFence | Flaw::NoUniqueName) {
            return vec![committed(self, CommitOutcome::Fenced)];
        }
        let untouched = self.clone();
        let mut world = self;
        let before = world.ledger.clone();
        let ledger = &mut world.ledger;
        let slot = &mut ledger.rows[usize::from(name)];
        let outcome = match slot {
            Some(row) if unstored(row, setting) => {
                RowRecord { line: line.unwrap_or(TOMBSTONE), ..row.clone() }
            }
            Some(row) if setting.flaw != Flaw::NoUniqueName => row.clone(),
            _ => {
                let fits = ledger.spent < setting.cap || setting.flaw == Flaw::BudgetOutsideTheTransaction;
                let row = match line {
                    _ if !fits => record(ReleaseStatus::Refused, REFUSAL),
                    Some(line) => record(ReleaseStatus::Sealed, line),
                    None => record(ReleaseStatus::Lost, TOMBSTONE),
                };
                ledger.spent += u8::from(fits);
                *slot = Some(row.clone());
                world.before = Some(Box::new(before));
                row
            }
        };
        let mut next = vec![
            committed(world.clone(), CommitOutcome::Recorded(outcome)),
            committed(untouched.clone(), CommitOutcome::Aborted),
            committed(untouched, CommitOutcome::Unknown),
        ];
        if setting.flaw == Flaw::UnknownMeansFailed {
            // The row is there; the process believes that it is not, draws again, and publishes that.
            let line = world.draws;
            world.draws += 1;
            next.push(committed(world, CommitOutcome::Recorded(record(ReleaseStatus::Sealed, line))));
        } else {
            next.push(committed(world, CommitOutcome::Unknown));
        }
        next
    }
}

fn record(status: ReleaseStatus, line: DrawId) -> RowRecord<DrawId> {
    RowRecord { status, line, delivered: false }
}

/// Returns true if this row holds a charge and nothing else.
fn unstored(row: &RowRecord<DrawId>, setting: Setting) -> bool {
    setting.flaw == Flaw::ChargeWithoutTheLine && row.status == ReleaseStatus::Sealed
}
