//! The column that is likely to be the person's, where no usual name says so: people come again, and there are many.
//!
//! Values of the first lines are compared with each other, and a place in the line is all that leaves.

use std::collections::HashMap;

use crate::job::sources::is_number;

/// The number of values from which a column of very few different ones is not taken for people.
const MANY_VALUES: usize = 200;

/// The number of different values from which a column may be one of people, however many there are.
const ENOUGH_PEOPLE: usize = 20;

/// The number of values of each person at which people are too few.
const VALUES_OF_A_PERSON: usize = 100;

/// The reason for which a column was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChosenBy {
    /// The most different values come again in it.
    Recurrence,
    /// Its values differ the most, where too few come again.
    Difference,
    /// It is the first one, where the lines do not tell the columns apart.
    Place,
}

impl ChosenBy {
    /// Says why the column was chosen, of no value.
    pub(super) fn reason(self) -> &'static str {
        match self {
            ChosenBy::Recurrence => {
                "of the columns without times and decimals, it has the most different values that come again"
            }
            ChosenBy::Difference => {
                "in no column without times and decimals do enough values come again, and its values differ the most; it may be the id of a record"
            }
            ChosenBy::Place => {
                "the first lines do not tell the columns apart, and it is the first one that may be"
            }
        }
    }
}

/// The place of the column that is likely to be the person's, from 0 on, with the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LikelyPerson {
    pub(super) place: usize,
    pub(super) by: ChosenBy,
}

impl LikelyPerson {
    /// Chooses among the columns at these places, the first one of those that are alike; `None` where all have times or decimals.
    pub(super) fn among(rows: &[Vec<String>], places: impl Iterator<Item = usize>) -> Option<LikelyPerson> {
        let columns: Vec<ColumnValues> = places
            .map(|place| ColumnValues::of(rows, place))
            .filter(ColumnValues::has_words_or_whole_numbers)
            .collect();
        let most = |of: &dyn Fn(&ColumnValues) -> usize| {
            columns.iter().rev().filter(|column| of(column) > 0).max_by_key(|column| of(column))
        };
        let (place, by) = if let Some(column) =
            most(&|column| if column.may_be_people() { column.recurring } else { 0 })
        {
            (column.place, ChosenBy::Recurrence)
        } else if let Some(column) = most(&|column| if column.different > 1 { column.different } else { 0 }) {
            (column.place, ChosenBy::Difference)
        } else {
            (columns.first()?.place, ChosenBy::Place)
        };
        Some(LikelyPerson { place, by })
    }
}

/// The numbers of the values of one column.
struct ColumnValues {
    place: usize,
    all: usize,
    different: usize,
    /// The different values that at least two lines have.
    recurring: usize,
    times: usize,
    decimals: usize,
    whole_numbers: usize,
}

impl ColumnValues {
    fn of(rows: &[Vec<String>], place: usize) -> ColumnValues {
        let mut lines: HashMap<&str, usize> = HashMap::new();
        let cells = rows.iter().filter_map(|row| row.get(place)).map(|cell| cell.trim());
        for cell in cells.filter(|cell| !cell.is_empty()) {
            *lines.entry(cell).or_default() += 1;
        }
        let count = |holds: &dyn Fn(&str) -> bool| {
            lines.iter().filter(|(cell, _)| holds(cell)).map(|(_, lines)| lines).sum::<usize>()
        };
        ColumnValues {
            place,
            all: count(&|_| true),
            different: lines.len(),
            recurring: lines.values().filter(|lines| **lines > 1).count(),
            times: count(&is_like_a_time),
            decimals: count(&is_decimal),
            whole_numbers: count(&is_whole),
        }
    }

    /// Returns false where most values are times, or numbers of which some are not whole.
    fn has_words_or_whole_numbers(&self) -> bool {
        let has_decimals = self.decimals > 0 && (self.decimals + self.whole_numbers) * 2 > self.all;
        self.times * 2 <= self.all && !has_decimals
    }

    /// Returns false for a column of one value, or of very few for so long a log.
    fn may_be_people(&self) -> bool {
        let are_few = self.all >= MANY_VALUES
            && self.different < ENOUGH_PEOPLE
            && self.different * VALUES_OF_A_PERSON < self.all;
        self.different > 1 && !are_few
    }
}

fn is_whole(cell: &str) -> bool {
    let digits = cell.strip_prefix('+').unwrap_or(cell);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns true for a number, of money or not, that is not whole or not positive.
fn is_decimal(cell: &str) -> bool {
    let is_money = |letter: char| matches!(letter, '$' | '€' | '£' | ' ');
    !is_whole(cell) && is_number(cell.replace(',', ".").trim_matches(is_money).as_bytes())
}

/// Returns true for a text with a date or a time of day, of whichever format.
fn is_like_a_time(cell: &str) -> bool {
    cell.split(|letter: char| letter.is_whitespace() || matches!(letter, 'T' | ',' | '[' | ']'))
        .any(|word| is_date(word) || is_time_of_day(word))
}

fn is_digits(text: &str, most: usize) -> bool {
    (1..=most).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_date(word: &str) -> bool {
    let date = word.split(':').next().unwrap_or_default();
    let is_month = |text: &str| {
        is_digits(text, 2) || (text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_alphabetic()))
    };
    let is_cut = |mark: char| match date.split(mark).collect::<Vec<_>>()[..] {
        [first, month, last] => {
            let has_year_first = first.len() == 4 && is_digits(first, 4) && is_digits(last, 2);
            let has_year_last = is_digits(first, 2) && is_digits(last, 4) && matches!(last.len(), 2 | 4);
            is_month(month) && (has_year_first || has_year_last)
        }
        _ => false,
    };
    let is_joined = || {
        let within = |from: usize, (low, high): (u32, u32)| {
            date[from..from + 2].parse::<u32>().is_ok_and(|number| (low..=high).contains(&number))
        };
        date.len() == 8
            && is_digits(date, 8)
            && within(0, (19, 20))
            && within(4, (1, 12))
            && within(6, (1, 31))
    };
    ['-', '.', '/'].into_iter().any(is_cut) || is_joined()
}

fn is_time_of_day(word: &str) -> bool {
    let local = word.split(['+', '-', 'Z', 'z']).next().unwrap_or_default();
    match local.split(':').collect::<Vec<_>>()[..] {
        [hour, minute] => is_digits(hour, 2) && minute.len() == 2 && is_digits(minute, 2),
        [hour, minute, second] => {
            let second = second.split(['.', ',']).next().unwrap_or_default();
            is_digits(hour, 2) && is_digits(minute, 2) && is_digits(second, 2)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn likely(rows: usize, row: impl Fn(usize) -> Vec<String>) -> Option<LikelyPerson> {
        let rows: Vec<Vec<String>> = (0..rows).map(row).collect();
        LikelyPerson::among(&rows, 0..rows.first().map_or(2, Vec::len))
    }

    fn chosen(place: usize, by: ChosenBy) -> Option<LikelyPerson> {
        Some(LikelyPerson { place, by })
    }

    // Refutes a hall that is taken for a person, and an id of a record or a price that is taken for one.
    #[test]
    fn people_come_again_and_are_many() {
        let cell = |text: &str, number: usize| format!("{text}{number}");
        let log = |number: usize| {
            vec![
                cell("hall", number % 3),
                cell("record", number),
                cell("card ", number * 7 % 150),
                cell("item", number % 40),
                format!("{}.{}", number % 300, number % 10),
                format!("{:02}.11.2026 10:{:02}", number % 28 + 1, number % 60),
            ]
        };
        assert_eq!(likely(1_000, log), chosen(2, ChosenBy::Recurrence));
        // Whole numbers may be people, and times of whichever form are none.
        let numbers = |number: usize| {
            vec![
                format!("{}", number % 90),
                format!("2026{:02}{:02}", number % 12 + 1, number % 28 + 1),
                format!("{}", 1_000 + number % 120),
            ]
        };
        assert_eq!(likely(1_000, numbers), chosen(2, ChosenBy::Recurrence));
        // Three halls alone, and one value alone, are no people; an id of the records is the second choice.
        let halls = |number: usize| vec![cell("hall", number % 3), "x".to_owned(), cell("record", number)];
        assert_eq!(likely(1_000, halls), chosen(2, ChosenBy::Difference));
        assert_eq!(likely(199, halls), chosen(0, ChosenBy::Recurrence));
        let few = |number: usize| vec!["x".to_owned(), cell("hall", number % 3)];
        assert_eq!(likely(1_000, few), chosen(1, ChosenBy::Difference));
        // Of those that are alike the first.
        let alike = |number: usize| vec!["1.5".to_owned(), cell("a", number % 30), cell("b", number % 30)];
        assert_eq!(likely(100, alike), chosen(1, ChosenBy::Recurrence));
        assert_eq!(likely(1, alike), chosen(1, ChosenBy::Place));
        assert_eq!(likely(0, alike), chosen(0, ChosenBy::Place));
        assert_eq!(likely(5, |_| vec!["1.5".to_owned(), "10:30".to_owned()]), None);
    }

    #[test]
    fn times_and_decimals_are_known_by_their_form() {
        for time in [
            "2026-01-01",
            "1/31/26",
            "29.11.2026 18:15",
            "2026-01-01T00:00:00.25+02:00",
            "[17/May/2026:10:15:03 +0000]",
            "29 Nov 2026, 8:05",
            "20260131",
            "10:15:03Z",
        ] {
            assert!(is_like_a_time(time), "{time}");
        }
        for other in ["10.0.0.1", "u10", "00:1a:2b:3c:4d:5e", "1.2.3", "20269931", "ann-lee", "::1", "17", ""]
        {
            assert!(!is_like_a_time(other), "{other}");
        }
        for decimal in ["1.5", "-3", "3,50 €", "$4.00"] {
            assert!(is_decimal(decimal) && !is_whole(decimal), "{decimal}");
        }
        for whole in ["17", "+4930123", "007"] {
            assert!(is_whole(whole) && !is_decimal(whole), "{whole}");
        }
    }
}
