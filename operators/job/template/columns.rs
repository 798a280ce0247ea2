//! The columns that a job file names: those of usual names, the person's by its values, and others for the comments.

use super::LogKind;
use super::names;
use super::names::{Candidates, LogNames, UnnamedColumns};
use super::person::{ChosenBy, LikelyPerson};

/// The most other columns that a comment names for one.
const MOST_OTHERS: usize = 8;

/// Returns the name of a column that has none, by its place from 0 on.
pub(super) fn column(place: usize) -> String {
    format!("column_{}", place + 1)
}

/// The columns that a job file names.
pub(super) struct NamedColumns {
    pub(super) person: NamedColumn,
    pub(super) key: NamedColumn,
    pub(super) value: NamedColumn,
}

/// A column, and others that may be meant.
pub(super) struct NamedColumn {
    pub(super) name: String,
    /// True if the log has it.
    pub(super) is_sure: bool,
    pub(super) others: Vec<String>,
    /// The column that was chosen by its values, where no usual name is known.
    pub(super) likely: Option<LikelyPerson>,
}

impl NamedColumns {
    pub(super) fn of(kind: LogKind, found: Option<&LogNames>) -> NamedColumns {
        let (key, other) =
            if kind == LogKind::Events { (names::KINDS, "kind") } else { (names::GOODS, "country") };
        let person = match kind {
            LogKind::AccessLog => return NamedColumns::fixed("client"),
            LogKind::Zeek => return NamedColumns::fixed("id.orig_h"),
            LogKind::Events => "user",
            LogKind::Orders => "customer",
        };
        if let Some(unnamed) = found.and_then(|found| found.unnamed.as_ref()) {
            return NamedColumns::of_places(unnamed, found.and_then(|found| found.person));
        }
        let mut person = NamedColumn::of(found, names::PERSON, person);
        if let Some(found) = found.filter(|_| !person.is_sure) {
            person.likely = found.person;
            let name = found.person.and_then(|likely| found.columns.get(likely.place));
            if let Some(name) = name.filter(|_| found.shows_person) {
                (person.name, person.is_sure) = (name.clone(), true);
            }
        }
        let mut key = NamedColumn::of(found, key, other);
        // Where all names are those of something else, one of these is the person's.
        key.is_sure &= key.name != person.name;
        NamedColumns {
            person,
            key,
            value: NamedColumn::of(
                found,
                names::VALUE,
                if kind == LogKind::Events { "value" } else { "amount" },
            ),
        }
    }

    /// Returns the columns of a log without names: any may be that of the person, and others are named for the comments.
    fn of_places(unnamed: &UnnamedColumns, likely: Option<LikelyPerson>) -> NamedColumns {
        let first = || unnamed.others.first().copied().unwrap_or_default();
        let likely = likely.unwrap_or_else(|| LikelyPerson { place: first(), by: ChosenBy::Place });
        let person = likely.place;
        let rest = || unnamed.others.iter().copied().filter(|place| *place != person);
        let value = rest().rfind(|place| unnamed.numbers.contains(place));
        let key = rest().find(|place| Some(*place) != value);
        let guess = |place: Option<usize>| NamedColumn {
            name: column(place.unwrap_or(person)),
            is_sure: false,
            others: Vec::new(),
            likely: None,
        };
        let others: Vec<String> = rest().map(column).take(MOST_OTHERS).collect();
        // A job file that runs as it is has some column of the person.
        NamedColumns {
            person: NamedColumn { name: column(person), is_sure: true, others, likely: Some(likely) },
            key: guess(key),
            value: guess(value),
        }
    }

    /// Returns the columns of a log that has its own.
    fn fixed(person: &str) -> NamedColumns {
        let column = |name: &str| NamedColumn {
            name: name.to_owned(),
            is_sure: true,
            others: Vec::new(),
            likely: None,
        };
        NamedColumns { person: column(person), key: column(person), value: column(person) }
    }
}

impl NamedColumn {
    fn of(found: Option<&LogNames>, candidates: Candidates, usual: &str) -> NamedColumn {
        let mut known =
            found.map_or(Vec::new(), |found| found.all(candidates)).into_iter().map(str::to_owned);
        match known.next() {
            Some(name) => {
                NamedColumn { name, is_sure: true, others: known.take(MOST_OTHERS).collect(), likely: None }
            }
            None => NamedColumn { name: usual.to_owned(), is_sure: false, others: Vec::new(), likely: None },
        }
    }
}
