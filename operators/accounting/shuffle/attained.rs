//! The cost that shuffled responses really have in one case: a bound that no analysis can go below.
//!
//! Of two data sets that differ in one person, who has the first or the second choice, let everybody else have a third one; of
//! two choices, the first. What is seen of them are the numbers of reports of these two choices, and their law is known.

use super::binomial::{around, mass};

/// The number of pairs of counts over which the sum is taken: a tenth of a second of work.
const MOST: f64 = 4e6;

/// The mass of the counts that are left out, about, times e^epsilon: by that much a count may seem to be less likely for the
/// second data set than it is.
const LEFT: f64 = 1e-12;

/// Returns the delta that randomised response among this number of choices has at this epsilon, rounded down; `None` where
/// the sum is too long.
pub(super) fn delta((people, local): (f64, f64), choices: u32, epsilon: f64) -> Option<f64> {
    let (power, one) = (local.exp(), epsilon.exp());
    let rare = 1.0 / (power + f64::from(choices) - 1.0);
    let (true_one, others) = (power * rare, people - 1.0);
    let (low, high) = around(others, rare, (2.0 * (epsilon - LEFT.ln())).sqrt());
    let length = high - low + 1.0;
    let positive = |first: f64, second: f64| (first - one * second).max(0.0);
    let sum = if choices == 2 {
        // The others have the first choice: a report of the second one is rare.
        let counts = counted(others, rare, (low, high));
        let at = |count: usize| counts.get(count).copied().unwrap_or(0.0);
        (0..=counts.len()).fold([0.0, 0.0], |[up, down], count| {
            let (same, fewer) = (at(count), count.checked_sub(1).map_or(0.0, at));
            let (first, second) = (true_one * same + rare * fewer, rare * same + true_one * fewer);
            [up + positive(first, second), down + positive(second, first)]
        })
    } else {
        if length * length > MOST {
            return None;
        }
        let neither = 1.0 - true_one - rare;
        let firsts = counted(others, rare, (low, high));
        let of_rest = rare / (1.0 - rare);
        let rows: Vec<Vec<f64>> = firsts
            .iter()
            .enumerate()
            .map(|(at, first)| {
                let seconds = counted(others - low - at as f64, of_rest, (low, high));
                seconds.into_iter().map(|second| first * second).collect()
            })
            .collect();
        let at = |first: usize, second: usize| {
            rows.get(first).and_then(|row| row.get(second)).copied().unwrap_or(0.0)
        };
        let mut sum = 0.0;
        for first in 0..=rows.len() {
            for second in 0..=rows.len() {
                let own = |count: usize| count.checked_sub(1);
                let of_first = own(first).map_or(0.0, |first| at(first, second));
                let of_second = own(second).map_or(0.0, |second| at(first, second));
                let of_neither = neither * at(first, second);
                let seen = true_one * of_first + rare * of_second + of_neither;
                let other = rare * of_first + true_one * of_second + of_neither;
                sum += positive(seen, other);
            }
        }
        [sum, 0.0]
    };
    // The masses have an error of 1e-11, and the difference of two large ones is what counts.
    Some((sum[0].max(sum[1]) - 1e-10).max(0.0) * (1.0 - 1e-9))
}

/// The masses of these counts.
fn counted(count: f64, probability: f64, (low, high): (f64, f64)) -> Vec<f64> {
    let numbers = (0..).map(|at| low + f64::from(at)).take_while(|number| *number <= high);
    numbers.map(|number| mass(count, number, probability)).collect()
}
