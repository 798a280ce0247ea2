//! The floor: the same statistics of everybody, without protection, by hash maps on one thread.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use super::point::{Point, WINDOW};

/// Records, people who come again included, and the sum of their values.
type Total = (u64, u64);

/// Adds up every statistic of a point; returns the records that were counted.
pub(super) fn counted(path: &Path, point: &Point) -> std::io::Result<u64> {
    let mut totals: Vec<HashMap<(u64, Vec<u8>), Total>> = vec![HashMap::new(); point.statistics as usize];
    let mut lines = BufReader::with_capacity(1 << 20, File::open(path)?);
    let mut line = Vec::new();
    // The header.
    lines.read_until(b'\n', &mut line)?;
    loop {
        line.clear();
        if lines.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        let mut cells = line.trim_ascii_end().split(|byte| *byte == b',');
        let mut cell = || cells.next().unwrap_or_default();
        let (time, _person, key, other, value) = (cell(), cell(), cell(), cell(), cell());
        let number = |text: &[u8]| text.iter().fold(0, |number, digit| 10 * number + u64::from(digit - b'0'));
        let (pane, value) = (number(time) / WINDOW, number(value));
        for (index, totals) in totals.iter_mut().enumerate() {
            let key = if point.has_other_key && index % 2 == 1 { other } else { key };
            // Each pane is in as many windows as overlap there: a query adds them up of panes in the end.
            let total = match totals.get_mut(&(pane, key.to_vec())) {
                Some(total) => total,
                None => totals.entry((pane, key.to_vec())).or_default(),
            };
            *total = (total.0 + 1, total.1 + value);
        }
    }
    Ok(totals.iter().flat_map(HashMap::values).map(|(count, _)| count).sum())
}
