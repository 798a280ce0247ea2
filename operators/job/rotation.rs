//! The names that a rotation gives to a log or an output, and the order in which it gave them.

use std::cmp::{Ordering, Reverse};
use std::path::{Path, PathBuf};

/// The endings of packed files.
const PACKED: [&str; 3] = [".gz", ".bz2", ".zst"];

/// Words that programs put behind the name of a file that they set aside, and the months of dates. Any other word
/// makes the name of another log: `visits-mobile.log` beside `visits.log`.
const WORDS: [&str; 20] = [
    "old", "bak", "backup", "prev", "save", "orig", "last", "copy", "jan", "feb", "mar", "apr", "may", "jun",
    "jul", "aug", "sep", "oct", "nov", "dec",
];

/// The number of digits up to which a number counts rotations; longer ones are times.
const INDEX: usize = 5;

/// What a rotation has put into a name.
#[derive(Clone, Debug, PartialEq, Eq)]
enum RotationMark {
    /// The number of rotations since, `a.log.2`.
    Number(u64),
    /// A time of which the year comes first, or seconds since 1970, `a.log-20261124`.
    Date(String),
    /// Nothing that names an order.
    Other,
}

/// A name that a rotation gives, without the ending of a packed file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RotationName {
    /// The name with each digit of a time as `0`, so that names of one rotation have one shape.
    shape: String,
    mark: RotationMark,
    /// True if a word stands in it, as a person would put it there.
    pub(super) has_word: bool,
}

/// The place of a rotated file among those of its log.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RotationPlace {
    Unknown,
    Number(Reverse<u64>),
    Date(String),
}

impl RotationName {
    /// Takes a name apart; `None` if no rotation gives it to this log.
    pub(super) fn of(log: &Path, found: &Path) -> Option<RotationName> {
        let (log, found) = (name_of(log)?, name_of(found)?);
        let found = unpacked(&found);
        if found == log {
            return Some(RotationName { shape: String::new(), mark: RotationMark::Other, has_word: false });
        }
        let behind = found.strip_prefix(&log).map(|rest| (rest, ""));
        let (rest, ending) = behind.filter(|(rest, _)| rest.starts_with(SEPARATORS)).or_else(|| {
            // `access-20261124.log`.
            let (stem, ending) = log.rsplit_once('.')?;
            let rest = found.strip_prefix(stem)?.strip_suffix(ending)?.strip_suffix('.')?;
            rest.starts_with(SEPARATORS).then_some((rest, ending))
        })?;
        let separator = rest.chars().next()?;
        let middle = rest.strip_prefix(separator)?;
        let digits: String = middle.chars().filter(char::is_ascii_digit).collect();
        let letters: String =
            middle.chars().filter(|letter| letter.is_alphabetic()).collect::<String>().to_lowercase();
        // The `T` and `Z` of a time.
        let word =
            if digits.len() >= 8 { letters.trim_end_matches('z').trim_matches('t') } else { &*letters };
        if !word.is_empty() && !WORDS.contains(&word) {
            return None;
        }
        let has_year = ["19", "20"].iter().any(|century| middle.starts_with(century)) && digits.len() >= 4;
        let is_number = digits.len() == middle.len() && !digits.is_empty();
        let (shape, mark) = if is_number && digits.len() <= INDEX && !has_year {
            ("#".to_owned(), RotationMark::Number(digits.parse().ok()?))
        } else {
            let shape =
                middle.chars().map(|letter| if letter.is_ascii_digit() { '0' } else { letter }).collect();
            let is_time = word.is_empty() && (has_year || is_number && digits.len() >= 9);
            (shape, if is_time { RotationMark::Date(digits) } else { RotationMark::Other })
        };
        Some(RotationName { shape: format!("{separator}{shape}.{ending}"), mark, has_word: !word.is_empty() })
    }

    /// Returns true if one rotation gives both names.
    pub(super) fn is_like(&self, other: &RotationName) -> bool {
        self.shape == other.shape
    }

    /// The shape of the names that one rotation gives: each digit of a time is `0`.
    pub(super) fn shape(&self) -> &str {
        &self.shape
    }

    /// The place in the order of rotation, the oldest first, among the names that one rotation gives.
    pub(super) fn place(&self) -> RotationPlace {
        match &self.mark {
            RotationMark::Other => RotationPlace::Unknown,
            RotationMark::Number(number) => RotationPlace::Number(Reverse(*number)),
            RotationMark::Date(digits) => RotationPlace::Date(digits.clone()),
        }
    }

    /// Compares the times at which two files were rotated, the earlier first; `None` where the names do not say.
    pub(super) fn order(&self, other: &RotationName) -> Option<Ordering> {
        let (own, other_place) = (self.place(), other.place());
        (self.is_like(other) && own != RotationPlace::Unknown && other_place != RotationPlace::Unknown)
            .then(|| own.cmp(&other_place))
    }
}

/// The characters that separate what a rotation puts into a name.
const SEPARATORS: [char; 4] = ['.', '-', '_', '~'];

/// The name of a file without the ending of a packed one.
fn unpacked(name: &str) -> &str {
    PACKED.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name)
}

/// The logs of which rotation gives this name, whether they are there or not.
pub(super) fn rotated_logs(path: &Path) -> impl Iterator<Item = PathBuf> {
    let logs: Vec<String> = name_of(path).iter().flat_map(|name| logs_of(name)).collect();
    logs.into_iter().map(|log| path.with_file_name(log)).filter(|log| RotationName::of(log, path).is_some())
}

/// Returns true if `path` is a name that rotation gives to a file named `name`, or to a copy of it:
/// `access.log.1`, `access.log-20261124.gz`, `access-20261124.log`.
pub(super) fn is_rotated(name: &Path, path: &Path) -> bool {
    match (name_of(name), name_of(path)) {
        (Some(name), Some(found)) => logs_of(&found).any(|log| log == name),
        _ => false,
    }
}

pub(super) fn name_of(path: &Path) -> Option<String> {
    path.file_name().map(|name| name.to_string_lossy().into_owned())
}

/// The names of logs to which rotation may give this name.
pub(super) fn logs_of(found: &str) -> impl Iterator<Item = String> {
    let ending = unpacked(found).rsplit_once('.').map(|(_, ending)| ending);
    found.match_indices(SEPARATORS).filter(|(at, _)| *at > 0).flat_map(move |(at, _)| {
        let stem = found.get(..at).unwrap_or_default();
        // The option `extension` of logrotate keeps the ending: `access-20261124.log`.
        let with_ending = ending.map(|ending| format!("{stem}.{ending}")).filter(|name| name != found);
        [Some(stem.to_owned()), with_ending].into_iter().flatten()
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn name(found: &str) -> Option<RotationName> {
        RotationName::of(Path::new("x/access.log"), Path::new("x").join(found).as_path())
    }

    // Refutes an order of numbers that is that of dates, and an order among names that do not say one.
    #[test]
    fn the_order_of_names_is_that_in_which_a_rotation_gave_them() {
        let order = |one: &str, other: &str| name(one).unwrap().order(&name(other).unwrap());
        for (earlier, later) in [
            ("access.log.2", "access.log.1"),
            ("access.log.10.gz", "access.log.9"),
            ("access.log-20261124.gz", "access.log-20261125"),
            ("access-20261124.log", "access-20261125.log.zst"),
            ("access.log.2026-11-24-23", "access.log.2026-11-25-00"),
            ("access.log.2026-11-24T23:00:00Z", "access.log.2026-11-25T00:00:00Z"),
            ("access.log-1764000000", "access.log-1764003600"),
            ("access.log.2025", "access.log.2026"),
        ] {
            assert_eq!(order(earlier, later), Some(Ordering::Less), "{earlier}, {later}");
            assert_eq!(order(later, earlier), Some(Ordering::Greater), "{earlier}, {later}");
        }
        for (one, other) in [
            ("access.log.1", "access.log-20261124"),
            ("access.log-24-11-2026", "access.log-25-11-2026"),
            ("access.log.gz", "access.log.1"),
            ("access.log.old", "access.log.1"),
            ("access.log.1", "access-1.log"),
            ("access.log-20261124", "access.log-2026112400"),
        ] {
            assert_eq!(order(one, other), None, "{one}, {other}");
        }
    }

    // Refutes another log that is read as a rotated file.
    #[test]
    fn a_word_makes_the_name_of_another_log() {
        for other in
            ["access-mobile.log", "access_error.log", "access.log.swp", "access-eu1.log", "other.log"]
        {
            assert_eq!(name(other), None, "{other}");
        }
        for (rotated, has_word) in [
            ("access.log~", false),
            ("access.log.OLD", true),
            ("access.log.bak2", true),
            ("access.log.1", false),
        ] {
            assert_eq!(name(rotated).map(|name| name.has_word), Some(has_word), "{rotated}");
        }
    }
}
