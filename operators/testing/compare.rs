//! The comparison of the tallies of two replays.

use std::collections::{BTreeMap, HashMap};

use discreet::accounting::PrivacyUnit;
use discreet::dataflow::revealed::{ExactTally, ExactWindow};
use discreet::mechanisms::{ExactCell, ExactValue, Label};

use crate::unbounded::{ChangeNorm, Difference, Unbounded, Unit};

/// Returns the first difference between the tallies of the same input, if there is one.
pub(crate) fn first_difference(one: &[ExactTally], other: &[ExactTally]) -> Option<Difference> {
    if let Some(difference) = other_statistics(one, other) {
        return Some(difference);
    }
    one.iter().zip(other).find_map(|(one, other)| {
        other_windows(one, other).or_else(|| {
            let windows = one.windows().iter().zip(other.windows());
            windows.into_iter().find_map(|(with, without)| {
                let change = TallyChange::of(with, without);
                (!change.is_none()).then(|| change.difference(one.name(), Some(with)))
            })
        })
    })
}

/// Refuses a statistic that is revealed in one replay only: which there are is public.
fn other_statistics(one: &[ExactTally], other: &[ExactTally]) -> Option<Difference> {
    let is_same = one.len() == other.len() && one.iter().zip(other).all(|(a, b)| a.name() == b.name());
    let names = |tallies: &[ExactTally]| {
        tallies.iter().map(|tally| tally.name().to_owned()).collect::<Vec<_>>().join(", ")
    };
    (!is_same).then(|| Difference {
        statistic: names(one),
        window: None,
        cells: format!("other statistics: {}", names(other)),
    })
}

/// Returns the first window that one of two tallies has alone, or that is skipped in one of them alone.
fn other_windows(one: &ExactTally, other: &ExactTally) -> Option<Difference> {
    let of = |tally: &ExactTally, at: usize| {
        tally.windows().get(at).map(|window| (window.interval(), window.skipped()))
    };
    let count = one.windows().len().max(other.windows().len());
    let at = (0..count).find(|at| of(one, *at) != of(other, *at))?;
    let window = of(one, at).or(of(other, at)).map(|(window, _)| window);
    let words = |state| match state {
        None => "no such window".to_owned(),
        Some((_, None)) => "a window".to_owned(),
        Some((_, Some(why))) => format!("a window that is skipped ({why:?})"),
    };
    let cells = format!("{} in one replay, {} in the other", words(of(one, at)), words(of(other, at)));
    Some(Difference { statistic: one.name().to_owned(), window, cells })
}

/// Compares the tallies with a unit and without it; returns true if the unit moves anything.
pub(crate) fn compare(with: &[ExactTally], without: &[ExactTally], unit: Unit) -> Result<bool, Unbounded> {
    if let Some(difference) = other_statistics(with, without) {
        return Err(Unbounded::WindowDependsOnUnit { unit, difference });
    }
    let mut moves = false;
    for (with, without) in with.iter().zip(without) {
        moves |= compare_one(with, without, unit)?;
    }
    Ok(moves)
}

fn compare_one(with: &ExactTally, without: &ExactTally, unit: Unit) -> Result<bool, Unbounded> {
    // The other way round may be right: the duplicates of a record with an id are left out together.
    if with.bound().unit() == PrivacyUnit::Person && unit.is_a_record {
        return Err(Unbounded::OtherUnit { statistic: with.name().to_owned() });
    }
    if let Some(difference) = other_windows(with, without) {
        return Err(Unbounded::WindowDependsOnUnit { unit, difference });
    }
    let (mut moved, mut together) = (0, TallyChange::default());
    for (one, other) in with.windows().iter().zip(without.windows()) {
        let change = TallyChange::of(one, other);
        if change.is_none() {
            continue;
        }
        moved += 1;
        if with.is_of_all_windows() {
            together.add(change);
        } else {
            change.check(with, Some(one), unit)?;
        }
    }
    together.check(with, None, unit)?;
    match with.bound().windows() {
        Some(bound) if moved > bound => {
            let statistic = with.name().to_owned();
            Err(Unbounded::InTooManyWindows { unit, windows: moved, bound, statistic })
        }
        _ => Ok(moved > 0),
    }
}

/// The change of a tally, in the order of keys.
#[derive(Default)]
struct TallyChange {
    keys: Vec<CellChange>,
    /// The place of each key in the list.
    places: HashMap<Label<'static>, usize>,
}

struct CellChange {
    key: Label<'static>,
    /// The amount by which each coordinate changes.
    coordinates: BTreeMap<i64, u128>,
    people: u128,
    /// True if a key changes as one cell, whichever of its coordinates do: a set of values has no others.
    is_one_cell: bool,
    words: String,
}

impl CellChange {
    fn of(key: Label<'static>, with: Option<&ExactCell>, without: Option<&ExactCell>) -> Option<CellChange> {
        let coordinate = |cell: Option<&ExactCell>, at: &i64| -> i128 {
            cell.and_then(|cell| cell.coordinates.get(at)).copied().unwrap_or_default()
        };
        let all = [with, without].into_iter().flatten().flat_map(|cell| cell.coordinates.keys());
        let coordinates: BTreeMap<i64, u128> = all
            .map(|at| (*at, coordinate(with, at).abs_diff(coordinate(without, at))))
            .filter(|(_, change)| *change > 0)
            .collect();
        let people = |cell: Option<&ExactCell>| cell.map_or(0, |cell| cell.people);
        let moved = u128::from(people(with).abs_diff(people(without)));
        if coordinates.is_empty() && moved == 0 {
            return None;
        }
        let is_one_cell =
            [with, without].into_iter().flatten().any(|cell| matches!(cell.value, ExactValue::Values(_)));
        let value = |cell: Option<&ExactCell>| match cell.map(|cell| &cell.value) {
            None => "nothing".to_owned(),
            Some(ExactValue::Number(number)) => format!("{number} of {} people", people(cell)),
            Some(ExactValue::Mean { sum, records }) => format!("a sum of {sum} over {records} values"),
            Some(ExactValue::Values(values)) => format!("{} values", values.len()),
            Some(_) => "another value".to_owned(),
        };
        let named = match &key {
            Label::Whole => "the only key".to_owned(),
            Label::Number(number) => format!("key {number}"),
            Label::Text(text) => format!("key {text:?}"),
            Label::Texts(parts) => format!("key {parts:?}"),
            _ => "a key".to_owned(),
        };
        let words = format!("{named} from {} to {}", value(with), value(without));
        Some(CellChange { key, coordinates, people: moved, is_one_cell, words })
    }
}

/// The number of cells that a message names.
const NAMED: usize = 3;

impl TallyChange {
    fn of(with: &ExactWindow, without: &ExactWindow) -> TallyChange {
        let others: HashMap<&Label<'static>, &ExactCell> =
            without.cells().iter().map(|(key, cell)| (key, cell)).collect();
        let own: HashMap<&Label<'static>, &ExactCell> =
            with.cells().iter().map(|(key, cell)| (key, cell)).collect();
        let both = with.cells().iter().map(|(key, cell)| (key, Some(cell), others.get(key).copied()));
        let rest = without.cells().iter().filter(|(key, _)| !own.contains_key(key));
        let rest = rest.map(|(key, cell)| (key, None, Some(cell)));
        let mut change = TallyChange::default();
        both.chain(rest)
            .filter_map(|(key, with, without)| CellChange::of(key.clone(), with, without))
            .for_each(|key| change.push(key));
        change
    }

    fn push(&mut self, change: CellChange) {
        self.places.insert(change.key.clone(), self.keys.len());
        self.keys.push(change);
    }

    /// Adds the change of another window, without signs: what moves up in one and down in another moves twice.
    fn add(&mut self, other: TallyChange) {
        for change in other.keys {
            let Some(own) = self.places.get(&change.key).and_then(|at| self.keys.get_mut(*at)) else {
                self.push(change);
                continue;
            };
            for (at, moved) in change.coordinates {
                *own.coordinates.entry(at).or_default() += moved;
            }
            own.people += change.people;
            own.words = format!("{}, and {}", own.words, change.words);
        }
    }

    fn is_none(&self) -> bool {
        self.keys.is_empty()
    }

    fn difference(&self, statistic: &str, window: Option<&ExactWindow>) -> Difference {
        let mut cells: Vec<&str> = self.keys.iter().take(NAMED).map(|key| key.words.as_str()).collect();
        let more = self.keys.len().saturating_sub(NAMED).to_string() + " more";
        if self.keys.len() > NAMED {
            cells.push(&more);
        }
        Difference {
            statistic: statistic.to_owned(),
            window: window.map(ExactWindow::interval),
            cells: cells.join("; "),
        }
    }

    /// Compares the change with the bound that a statistic declares to its gate.
    fn check(&self, tally: &ExactTally, window: Option<&ExactWindow>, unit: Unit) -> Result<(), Unbounded> {
        let changes = || self.keys.iter().flat_map(|key| key.coordinates.values().copied());
        let cells = self.keys.iter().map(|key| match key.is_one_cell {
            true => key.coordinates.len().min(1),
            false => key.coordinates.len(),
        });
        let squares = changes().map(|change| change.saturating_mul(change));
        let declared = tally.sensitivity();
        let mut norms = vec![
            (ChangeNorm::L0, cells.sum::<usize>() as u128, declared.l0()),
            (ChangeNorm::Linf, changes().max().unwrap_or_default(), declared.linf()),
            (ChangeNorm::L1, changes().fold(0, u128::saturating_add), declared.l1()),
            (ChangeNorm::L2Squared, squares.fold(0, u128::saturating_add), declared.l2_squared()),
        ];
        if tally.discovers_keys() {
            let people = || self.keys.iter().map(|key| key.people).filter(|people| *people > 0);
            norms.push((ChangeNorm::KeysOfPeople, people().count() as u128, tally.bound().keys().into()));
            norms.push((ChangeNorm::PeopleOfAKey, people().max().unwrap_or_default(), 1));
        }
        match norms.into_iter().find(|(_, moved, bound)| moved > bound) {
            None => Ok(()),
            Some((norm, moved, bound)) => {
                let difference = Box::new(self.difference(tally.name(), window));
                Err(Unbounded::Moved { unit, norm, moved, bound, difference })
            }
        }
    }
}
