//! The reviews of a year, with person and time; and their exact totals, which nobody sees in a real run.

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;

use discreet::prelude::*;

use super::{EACH, FROM, HOUR, Outcome};

/// A review: its person, and its time.
pub(crate) type Review = (u64, Time);

/// The reviews of the year; `None` where the log is missing.
pub(crate) fn reviews(data: &Path) -> Outcome<Option<Vec<Review>>> {
    let Ok(file) = File::open(data.join("reviews.csv.bz2")) else { return Ok(None) };
    let mut rows = csv::Reader::from_reader(bzip2::read::BzDecoder::new(file));
    let mut log = Vec::new();
    for row in rows.records() {
        let row = row?;
        if row[3].starts_with("2007") {
            log.push((row[0].parse()?, at(&format!("{}:00Z", row[3].replace(' ', "T")))?));
        }
    }
    Ok(Some(log))
}

/// A synthetic log of the same size, with days, weeks and a slack season, of people who come by chance.
pub(crate) fn made_up(hours: usize) -> Outcome<Vec<Review>> {
    let (start, mut seed) = (at(FROM)?, 7u64);
    let mut random = move |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    let mut log = Vec::new();
    for at in 0..hours as Time {
        let by_day = if (7..23).contains(&(at % 24)) { 32 } else { 8 };
        let by_week = if at / 24 % 7 < 5 { by_day } else { by_day / 2 };
        let slack = (5_700..6_900).contains(&at);
        let most = if slack { by_week / 6 } else { by_week };
        for _ in 0..most + random(1 + most as u64) as i64 - most / 2 {
            log.push((random(150_000), start + at * HOUR + random(3_600) as Time * 1_000_000));
        }
    }
    Ok(log)
}

/// The number of reviews of each hour that count: the first few of each person.
pub(crate) fn counted(log: &[Review], hours: usize) -> Outcome<Vec<f64>> {
    let start = at(FROM)?;
    let mut log = log.to_vec();
    log.sort_by_key(|(_, time)| *time);
    let (mut used, mut counted) = (HashMap::new(), vec![0.0; hours]);
    for (person, time) in log {
        let used = used.entry(person).or_insert(0);
        let place = usize::try_from((time - start) / HOUR)?;
        if *used < EACH
            && let Some(counted) = counted.get_mut(place)
        {
            *used += 1;
            *counted += 1.0;
        }
    }
    Ok(counted)
}

/// The totals over the last `width` hours, at each hour.
pub(crate) fn summed(counted: &[f64], width: usize) -> Vec<f64> {
    (1..=counted.len()).map(|end| counted[end.saturating_sub(width)..end].iter().sum()).collect()
}
