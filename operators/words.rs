//! Words of a public text in an error message: the probable meaning of a misspelt one, and the list of the
//! known ones.

#[cfg(feature = "cli")]
use std::borrow::Cow;

/// Returns the known word that is nearest to the found one, if it is near: at most one slip in three letters.
pub(crate) fn meant<'w>(found: &str, known: &[&'w str]) -> Option<&'w str> {
    let found: Vec<char> = found.to_lowercase().chars().take(65).collect();
    let near = |word: &&'w str| {
        let letters: Vec<char> = word.to_lowercase().chars().collect();
        let slips = slips(&found, &letters);
        let unlike = unlikeness(&found, &letters);
        (slips <= (found.len().max(letters.len()) / 3).max(1) && slips < letters.len())
            .then_some(((slips, unlike), *word))
    };
    // The first of those that are equally near.
    known.iter().filter_map(near).min_by_key(|(slips, _)| *slips).map(|(_, word)| word)
}

/// Quotes a found word: shortened if it is long, and without characters that a terminal acts on.
pub(crate) fn quoted(found: &str) -> String {
    let cut: String = found.chars().take(40).collect();
    let more = if cut.len() < found.len() { ".." } else { "" };
    format!("\"{}{more}\"", cut.escape_debug())
}

/// Returns a text whose hidden characters are seen as `\u{1b}`: those that a terminal acts on, that a page may not contain, or that
/// change the direction of the text around them. Two texts that differ in these alone look different.
#[cfg(feature = "cli")]
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    let is_hidden = |letter: char| {
        letter.is_control()
            || matches!(letter, '\u{fffe}' | '\u{ffff}' | '\u{200e}' | '\u{200f}')
            || matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if !text.contains(is_hidden) {
        return text.into();
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for letter in text.chars() {
        match is_hidden(letter) {
            true => shown.extend(letter.escape_unicode()),
            false => shown.push(letter),
        }
    }
    shown.into()
}

/// Formats a list as `a`, `a or b`, `a, b or c`.
pub(crate) fn listed(words: &[impl AsRef<str>]) -> String {
    match words {
        [] => "nothing".to_owned(),
        [only] => only.as_ref().to_owned(),
        [first @ .., last] => {
            let first: Vec<&str> = first.iter().map(AsRef::as_ref).collect();
            format!("{} or {}", first.join(", "), last.as_ref())
        }
    }
}

/// Breaks a text into lines of at most this width, each behind `indent` spaces, and ends the last one.
#[cfg(feature = "cli")]
pub(crate) fn wrapped(text: &str, width: usize, indent: usize) -> String {
    let mut lines = String::new();
    let mut at = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if at > indent && at + 1 + length <= width {
            lines.push(' ');
            at += 1;
        } else {
            if at > 0 {
                lines.push('\n');
            }
            lines.extend(std::iter::repeat_n(' ', indent));
            at = indent;
        }
        lines += word;
        at += length;
    }
    lines + "\n"
}

/// Returns 0 if one word is the other in another order, 1 if it is the other with letters left out, and else
/// 2: the first two slips are more frequent than the wrong key.
fn unlikeness(one: &[char], other: &[char]) -> u8 {
    let (short, long) = if one.len() < other.len() { (one, other) } else { (other, one) };
    let mut left = long.iter();
    let within = short.iter().all(|letter| left.any(|other| other == letter));
    let sorted = |letters: &[char]| {
        let mut letters = letters.to_vec();
        letters.sort_unstable();
        letters
    };
    if sorted(one) == sorted(other) { 0 } else { 2 - u8::from(within) }
}

/// Computes the least number of letters left out, put in, changed, or swapped with their neighbour (once
/// each) that leads from one word to the other.
fn slips(from: &[char], to: &[char]) -> usize {
    let mut rows: Vec<Vec<usize>> = vec![(0..=to.len()).collect()];
    for i in 1..=from.len() {
        let mut row = vec![i];
        for j in 1..=to.len() {
            let changed = rows[i - 1][j - 1] + usize::from(from[i - 1] != to[j - 1]);
            let mut least = changed.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[from.len()][to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_counted() {
        let count = |from: &str, to: &str| {
            let letters = |word: &str| word.chars().collect::<Vec<_>>();
            slips(&letters(from), &letters(to))
        };
        for (from, to, slips) in [
            ("", "", 0),
            ("", "abc", 3),
            ("kitten", "sitting", 3),
            ("gausian", "gaussian", 1),
            ("laplcae", "laplace", 1),
            ("keys", "keys", 0),
        ] {
            assert_eq!((count(from, to), count(to, from)), (slips, slips), "{from} {to}");
        }
    }

    // Refutes a line that is too wide, a word that is lost, and a long word that is broken.
    #[cfg(feature = "cli")]
    #[test]
    fn a_text_is_broken_between_words() {
        assert_eq!(wrapped("a bb  ccc\ndddd", 6, 2), "  a bb\n  ccc\n  dddd\n");
        assert_eq!(wrapped("a bbbbbbbb c", 4, 0), "a\nbbbbbbbb\nc\n");
        assert_eq!(wrapped("aa bb", 5, 0), "aa bb\n");
        assert_eq!(wrapped("", 5, 2), "\n");
    }

    #[test]
    fn only_near_words_are_meant() {
        let known = ["count", "people", "sum", "mean", "histogram"];
        assert_eq!(meant("cuont", &known), Some("count"));
        assert_eq!(meant("Histogramm", &known), Some("histogram"));
        assert_eq!(meant("epsilonn", &["delta", "epsilon"]), Some("epsilon"));
        assert_eq!(meant("cont", &["cost", "count"]), Some("count"));
        assert_eq!(meant("ady", &["any", "day"]), Some("day"));
        assert_eq!(meant("gb", &["MB", "GB"]), Some("GB"));
        assert_eq!(meant("quantile", &known), None);
        assert_eq!(meant("max", &known), None);
        assert_eq!(meant("", &known), None);
        assert_eq!(meant(&"count".repeat(1000), &known), None);
    }
}
