//! Versions of a job that come and go, and schedules that start earlier than before: the state of one person
//! who has a record in every window, of which one may count for each reservation.
//!
//! One statistic with `windows = 1`, and runs one after another, each of some version and from some window
//! on, each ended at any point. The rows, the reservation and the counter change in one commit, as in the
//! gate's model. The exploration is over the evidence from which a run concludes that a window was released
//! already, and that a reservation still holds.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};

type ModelVersion = u8;
type ModelWindow = u8;

const WINDOWS: ModelWindow = 3;
const VERSIONS: ModelVersion = 2;
/// The maximum number of runs of one life.
const RUNS: u8 = 4;

/// The checks before a window is drawn and before a reservation is relied on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ModelRules {
    /// True if the first window is among the parameters that a version is held to.
    start_is_bound: bool,
    /// True if a window at or before the settled frontier without a row is skipped.
    passed_is_skipped: bool,
    /// The condition on which a reservation pays for a window.
    reservation: Reservation,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reservation {
    /// It pays if its version has one.
    Always,
    /// It pays only if the newest state is that of its version.
    BesideItsState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum ModelRow {
    /// Sealed; true if the person counted in it.
    Sealed(bool),
    Skipped,
}

/// The state that is sealed with the newest window: its owner, the number of the person's windows, and the
/// settled frontier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct ModelState {
    version: ModelVersion,
    counted: u8,
    settled: ModelWindow,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct ModelRun {
    version: ModelVersion,
    /// The window from which it runs.
    from: ModelWindow,
    next: ModelWindow,
    /// The state that the run began with or sealed last, if it is of its version.
    state: Option<ModelState>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Life {
    rows: BTreeMap<(ModelVersion, ModelWindow), ModelRow>,
    starts: BTreeMap<ModelVersion, ModelWindow>,
    state: Option<ModelState>,
    reserved: BTreeSet<ModelVersion>,
    spent: u8,
    runs: u8,
    run: Option<ModelRun>,
}

impl Life {
    /// Returns true if the person counted in more windows than were paid for.
    fn is_undercharged(&self) -> bool {
        let counted = self.rows.values().filter(|row| **row == ModelRow::Sealed(true)).count();
        counted > usize::from(self.spent)
    }

    fn successors(&self, rules: ModelRules) -> Vec<Life> {
        let Some(run) = &self.run else { return self.starts_of_runs(rules) };
        let ended = Life { run: None, ..self.clone() };
        if run.next == WINDOWS {
            return vec![ended];
        }
        vec![ended, self.with_next_window(run, rules)]
    }

    fn starts_of_runs(&self, rules: ModelRules) -> Vec<Life> {
        if self.runs == RUNS {
            return Vec::new();
        }
        let pairs = (1..=VERSIONS).flat_map(|version| (0..WINDOWS).map(move |from| (version, from)));
        let mut lives = Vec::new();
        for (version, from) in pairs {
            let agreed = self.starts.get(&version);
            if rules.start_is_bound && agreed.is_some_and(|agreed| *agreed != from) {
                continue;
            }
            let mut life = self.clone();
            life.runs += 1;
            let state = self.state.filter(|state| state.version == version);
            life.run = Some(ModelRun { version, from, next: from, state });
            lives.push(life);
        }
        lives
    }

    fn with_next_window(&self, run: &ModelRun, rules: ModelRules) -> Life {
        let (mut life, mut run) = (self.clone(), run.clone());
        let window = run.next;
        run.next += 1;
        let passed = run.state.is_some_and(|state| window <= state.settled);
        let released = life.rows.contains_key(&(run.version, window));
        // The first row of a version binds it; what has none is not bound.
        if !released {
            life.starts.entry(run.version).or_insert(run.from);
        }
        match passed && rules.passed_is_skipped {
            _ if released => {}
            true => _ = life.rows.insert((run.version, window), ModelRow::Skipped),
            false => life.seal(&mut run, window, passed, rules.reservation),
        }
        life.run = Some(run);
        life
    }

    /// Seals a window: the row, the charge and the state in one commit.
    fn seal(&mut self, run: &mut ModelRun, window: ModelWindow, passed: bool, reservation: Reservation) {
        let before = run.state;
        let counted = before.map_or(0, |state| state.counted);
        // A window that counts as released closes without a bound.
        let counts = passed || counted == 0;
        let own = before.is_some();
        let holds = match reservation {
            Reservation::Always => true,
            Reservation::BesideItsState => own,
        };
        if !(holds && self.reserved.contains(&run.version)) {
            self.reserved.insert(run.version);
            self.spent += 1;
        }
        self.rows.insert((run.version, window), ModelRow::Sealed(counts));
        let settled = before.map_or(window, |state| state.settled.max(window));
        let state =
            ModelState { version: run.version, counted: counted.saturating_add(u8::from(counts)), settled };
        (run.state, self.state) = (Some(state), Some(state));
    }
}

/// Explores every life; returns their number, and true if some life is undercharged.
fn explore(rules: ModelRules) -> (usize, bool) {
    let mut seen = HashSet::from([Life::default()]);
    let mut queue = VecDeque::from([Life::default()]);
    let mut undercharged = false;
    while let Some(life) = queue.pop_front() {
        undercharged |= life.is_undercharged();
        for next in life.successors(rules) {
            if seen.insert(next.clone()) {
                queue.push_back(next);
            }
        }
    }
    (seen.len(), undercharged)
}

const RULES: ModelRules =
    ModelRules { start_is_bound: true, passed_is_skipped: true, reservation: Reservation::BesideItsState };

/// Refutes a person who counts in more windows than reservations paid for, over all orders of two versions,
/// starts and ends of runs.
#[test]
fn no_order_of_versions_and_starts_is_undercharged() {
    // Either rule about earlier starts is enough alone.
    for rules in [
        RULES,
        ModelRules { start_is_bound: false, ..RULES },
        ModelRules { passed_is_skipped: false, ..RULES },
    ] {
        let (lives, undercharged) = explore(rules);
        println!("{lives} lives: {rules:?}");
        assert!(!undercharged, "{rules:?}");
        assert!(lives > 500, "the exploration stopped after {lives} lives");
    }
}

/// Refutes an exploration that would not have found the two flaws that it is for.
#[test]
fn conclusions_from_a_number_are_found_to_undercharge() {
    let earlier_start = ModelRules { start_is_bound: false, passed_is_skipped: false, ..RULES };
    let foreign_state = ModelRules { reservation: Reservation::Always, ..RULES };
    for rules in [earlier_start, foreign_state] {
        assert!(explore(rules).1, "{rules:?}");
    }
}
