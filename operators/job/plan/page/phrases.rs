//! The rows of a page, in words: the windows of a release, its keys, its noise and its memory.

use super::short;
use crate::job::plan::{
    FoundNoise, Moves, OtherReleases, PlannedAlert, PlannedKeys, PlannedMarginals, PlannedMemory,
    PlannedNoise, PlannedRunning, PlannedTop, PlannedWindows,
};
use crate::mechanisms::{Ranks, TypicalRankError};

pub(super) fn windows(windows: &PlannedWindows) -> String {
    let PlannedWindows { every, over, from, until, count, leaves_out, .. } = windows;
    let size = over.as_ref().map_or(String::new(), |over| format!(" over {over}"));
    let when = match (from, until) {
        (Some(from), Some(until)) => format!(", from {from} to {until}"),
        (Some(from), None) => format!(", from {from} on"),
        (None, _) => String::new(),
    };
    let mut when = when;
    if every.ends_with("week") || every.ends_with("weeks") {
        when += &format!(
            "; a week begins on a Thursday, as 1970-01-01 was: every = \"{every} from Monday\" for others"
        );
    }
    if *leaves_out {
        when +=
            "; the rest of the time from job.from until job.until is in no whole window, and is not released";
    }
    match count {
        _ if every == "all" => format!("one, of everything{when}"),
        Some(count) => format!("every {every}{size}: {count}{when}"),
        None => format!("every {every}{size}{when}, with no last window"),
    }
}

pub(super) fn keys(keys: PlannedKeys, units: &str, is_running: bool) -> String {
    let windows = if is_running { "spans of windows in which they come" } else { "windows" };
    match keys {
        PlannedKeys::None => "none: one cell".to_owned(),
        PlannedKeys::Public { count } => format!("{count} public ones, each released in every window"),
        PlannedKeys::Discovered { found_in_50, found_in_90, found_in_99, least_people, finding, .. } => {
            let least =
                least_people.map_or(String::new(), |least| format!(", and with fewer than {least} in none"));
            let found = format!(
                "discovered: a key with {found_in_50} {units} is found in 50 of 100 {windows}, with {found_in_90} in 90 and with \
                 {found_in_99} in 99{least}; from then on it is in every window"
            );
            let kept = format!("Its {units} are those that the contribution bound keeps");
            match finding {
                Some(percent) => {
                    format!("{found}. Until it is found, {percent}% of its price is for that. {kept}")
                }
                None => format!("{found}. {kept}"),
            }
        }
    }
}

pub(super) fn moves(moves: &Moves) -> String {
    let Moves { number, l0, linf, l1, l2 } = moves;
    let cells = if *l0 == 1.0 { "1 cell".to_owned() } else { format!("{} cells", short(*l0)) };
    // Several parents are moved less than one that has all keys of a person.
    let by = if *l1 < l0 * linf * (1.0 - 1e-9) {
        format!("up to {}", short(*linf))
    } else {
        format!("{} each", short(*linf))
    };
    format!("{number} in {cells} by {by}: L1 {}, L2 {}", short(*l1), short(*l2))
}

/// Describes the move of a number in however many cells a unit is.
pub(super) fn moves_any(moves: &Moves, units: &str) -> String {
    // What is counted is a unit itself, or its records.
    let number = if moves.number == "people" { units } else { &moves.number };
    format!("{number} in any number of cells by {} each, and none down", short(moves.linf))
}

/// Describes the typical rank errors of a number.
pub(super) fn typical(noise: &PlannedNoise) -> Option<String> {
    let (Some(Ranks::Within { quantile, .. }), Some(TypicalRankError { half, nine_tenths, .. })) =
        (noise.ranks, noise.typical)
    else {
        return None;
    };
    let (number, q) = (&noise.number, quantile.to_f64());
    let ranks = if nine_tenths == 1 { "rank" } else { "ranks" };
    Some(format!("half within {half} and 90 of 100 within {nine_tenths} {ranks} of the {number} {q}"))
}

pub(super) fn noise(noise: &PlannedNoise, units: &str) -> String {
    let PlannedNoise { number, kind, scale, interval, found, one_outside_of: all, ranks, .. } = noise;
    let letter = if kind.starts_with("gaussian") { "sigma" } else { "b" };
    let part = format!("{} of {all}", all.saturating_sub(1));
    let said = match *ranks {
        Some(ranks @ (Ranks::Below { comparisons, tau, .. } | Ranks::Above { comparisons, tau, .. })) => {
            let side = if matches!(ranks, Ranks::Below { .. }) { "above" } else { "below" };
            let found = match comparisons {
                Some(comparisons) => {
                    format!("{kind} in {comparisons} comparisons, {letter} {}", short(*scale))
                }
                None => format!("{kind}, {} {units}", short(*scale)),
            };
            format!("{found}, 99 of 100 with at most {} {units} {side}", tau.saturating_mul(2))
        }
        Some(Ranks::Within { quantile, rank_error }) => {
            let scale = short(*scale);
            let q = quantile.to_f64();
            format!("{kind}, {scale} ranks, 99 of 100 within {rank_error} ranks of the {number} {q}")
        }
        Some(Ranks::Behind { within }) => {
            format!("{kind}, {} {units}, 99 of 100 with all picks within {within}", short(*scale))
        }
        None if *kind == "geometric" => {
            format!("{kind} on {number}, {letter} {}, and on the threshold", short(*scale))
        }
        None => {
            format!("{kind} on {number}, {letter} {}, {part} within {}", short(*scale), short(*interval))
        }
    };
    match found {
        Some(FoundNoise { scale, interval }) if ranks.is_none() => format!(
            "{said}; in the window that finds a key, {letter} {}, {part} within {}",
            short(*scale),
            short(*interval)
        ),
        Some(FoundNoise { scale, interval }) => format!(
            "{said}; in the window that finds a key, {} {units}, 99 of 100 within {}",
            short(*scale),
            short(*interval)
        ),
        None => said,
    }
}

/// Describes what an alert says.
pub(super) fn alert(alert: &PlannedAlert) -> String {
    let PlannedAlert { count: units, above, surely, alarms, pause, wrong, windows, .. } = alert;
    let paused = match pause {
        0 => String::new(),
        1 => ", and behind each a pause of 1 window".to_owned(),
        pause => format!(", and behind each a pause of {pause} windows"),
    };
    let windows = if *windows == 1 { "1 window".to_owned() } else { format!("{windows} windows") };
    let alarms = if *alarms == 1 { "1 alarm".to_owned() } else { format!("{alarms} alarms") };
    format!(
        "silent while there are at most {above} {units} in a cell, and surely fires from {surely} on, both in all of {windows} \
         with probability {}; {alarms}, after the last of which it has ended{paused}. Silent windows cost nothing",
        short(1.0 - wrong)
    )
}

/// Describes the picks of the most frequent keys, beside the numbers of all keys.
pub(super) fn top(top: &PlannedTop) -> String {
    let PlannedTop { count, k, keys, within, error_of_numbers, error_of_numbers_in_all } = top;
    let picks = if *k == 1 { "1 pick".to_owned() } else { format!("{k} picks, each") };
    let numbers = match error_of_numbers_in_all {
        None => format!("err by up to {}: a record has one key", short(*error_of_numbers)),
        Some(in_all) => format!(
            "err by up to {} for a person in one key, and {} in all",
            short(*error_of_numbers),
            short(*in_all)
        ),
    };
    format!(
        "{picks} within {within} {count} of the largest number that is left, in 99 of 100 windows; the numbers of all {keys} keys at this \
         price {numbers}"
    )
}

/// Describes the error of tables that are released together, beside the least, and beside tables by themselves.
pub(super) fn marginals(marginals: &PlannedMarginals) -> String {
    let PlannedMarginals { tables, error, apart, least } = marginals;
    let tables = if *tables == 1 { "1 table".to_owned() } else { format!("{tables} tables") };
    format!(
        "{tables}, whose cells have a deviation of {} in the mean of squares, at most {:.3} times that of any Gaussian noise; by themselves, \
         with the best parts of the price, {}",
        short(*error),
        error / least,
        short(*apart)
    )
}

/// Describes the price of the numbers themselves.
pub(super) fn instead_of_numbers(alert: &PlannedAlert) -> String {
    format!(
        "the number of each window, with errors that would tell as much, costs {} times as much for people who are in all of them",
        short(alert.instead_of_numbers)
    )
}

pub(super) fn strategy(running: &PlannedRunning) -> String {
    let PlannedRunning { total, horizon, strategy, best, deviation, ratio, numbers, fresh, as_windows } =
        running;
    let which = if *best { "the best" } else { "which the file names" };
    let totals = match horizon {
        Some(1) => "1 total".to_owned(),
        Some(windows) => format!("{windows} totals"),
        None => format!("totals over the {total} windows"),
    };
    let numbers = if *numbers == 1 { "1 number".to_owned() } else { format!("{numbers} numbers") };
    if let Some(windows) = as_windows {
        return format!(
            "{strategy}, {which}: of {totals} none has a deviation above {}; a key keeps {numbers}. With noise of its own for \
             each window it would be as large at this price if a person counted in {windows} windows and no more",
            short(*deviation),
        );
    }
    format!(
        "{strategy}, {which}: of {totals} none has a deviation above {}, {ratio:.3} times the least that any linear \
         strategy has; a key keeps {numbers}. With noise of its own for each window it would be {} at this price",
        short(*deviation),
        short(*fresh),
    )
}

pub(super) fn memory(memory: PlannedMemory) -> String {
    let person = match memory.a_person {
        0 => "nothing of a person".to_owned(),
        bytes => {
            let key = memory
                .a_key_of_a_person
                .map_or(String::new(), |bytes| format!(" and {bytes} of each key that one has there"));
            format!("{bytes} bytes of each person in an open window{key}, and up to twice that on the way")
        }
    };
    let key = memory.a_key.map_or(String::new(), |bytes| format!("; {bytes} bytes of each key"));
    let open = match memory.windows_open {
        Some(windows) => format!("; {windows} open at once in a live run, all of them in a replay"),
        None => String::new(),
    };
    let ever =
        memory.for_ever.map_or(String::new(), |bytes| format!("; {bytes} bytes of every person for ever"));
    format!("{person}{key}{open}{ever}")
}

pub(super) fn shares(people: &OtherReleases, keys: &OtherReleases) -> String {
    if keys.is_empty() {
        return format!("one table of people with {people}");
    }
    if keys == people {
        return format!("one table of people and of their keys with {people}");
    }
    format!("one table of people with {people}, and of their keys with {keys}")
}

#[cfg(test)]
mod tests {
    use super::*;

    // Refutes days that are in no number without a word, and weeks that are taken to begin on Monday.
    #[test]
    fn windows_that_leave_out_time_say_so() {
        let of = |every: &str, leaves_out| {
            let (from, until) = (Some("2026-03-05T00:00:00Z".to_owned()), None);
            let every = every.to_owned();
            let (over, weekday) = (None, None);
            windows(&PlannedWindows { every, over, from, until, count: Some(8), leaves_out, weekday })
        };
        assert_eq!(of("1 day", false), "every 1 day: 8, from 2026-03-05T00:00:00Z on");
        assert!(
            of("1 week", false)
                .contains("; a week begins on a Thursday, as 1970-01-01 was: every = \"1 week from Monday\"")
        );
        assert!(!of("1 week from Monday", false).contains("Thursday"));
        assert!(of("1 day", true).ends_with("is in no whole window, and is not released"));
    }
}
