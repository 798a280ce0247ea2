//! The conditions after a scene, checked from outside: by the recorder's log, the record of draws, the
//! ledger, and its anchor.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use discreet::accounting::{Interval, PrivacyCost};
use discreet::ledger::{Journal, Ledger, ReleaseStatus, Row};

use crate::plan;
use crate::scene::Scene;

/// The history of a scene.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Past {
    /// The number of lives that ended with an error or a kill.
    pub(crate) bad_ends: usize,
    /// True if two lives overlapped: then the order of draws proves nothing.
    pub(crate) overlapped: bool,
}

/// The number of windows by their end.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ends {
    pub(crate) sealed: usize,
    pub(crate) refused: usize,
    pub(crate) skipped: usize,
    pub(crate) lost: usize,
    /// Released more than once, in the same words.
    pub(crate) repeated: usize,
    /// Marked as delivered, and never received: the possible cost of at-most-once delivery.
    pub(crate) unheard: usize,
}

impl Ends {
    pub(crate) fn add(&mut self, other: Ends) {
        self.sealed += other.sealed;
        self.refused += other.refused;
        self.skipped += other.skipped;
        self.lost += other.lost;
        self.repeated += other.repeated;
        self.unheard += other.unheard;
    }
}

/// The most lines in flight at once, which one bad end can lose if they are marked before they are delivered:
/// those of the windows requested last, and of the ones before, which count as done once they are marked.
const ON_THEIR_WAY: usize = 4 * plan::PACE as usize;

fn claim(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise()) }
}

/// Checks everything.
pub(crate) fn judge(scene: &Scene, past: Past) -> Result<Ends, String> {
    // Opening verifies the chain, every account and every state.
    let mut ledger = Ledger::open(scene.path("ledger")).map_err(|trouble| format!("verify: {trouble}"))?;
    let mut rows = Vec::new();
    for release in plan::schedule() {
        let row = ledger.look_up(&release).map_err(|trouble| trouble.to_string())?;
        rows.push(row.ok_or_else(|| format!("no status: {} {:?}", release.name, release.window))?);
    }
    rows.sort_by_key(Row::sequence);
    total_went_on(&rows)?;
    budgets_add_up(&mut ledger, &rows)?;
    nothing_else_was_written(&mut ledger, scene, rows.len())?;
    let (repeated, unheard) = deliveries(scene, &rows, past)?;
    anchor_is_held(&mut ledger, scene, &rows)?;
    one_seed_each(scene, &rows, past)?;
    let count = |status| rows.iter().filter(|row| row.status() == status).count();
    Ok(Ends {
        sealed: count(ReleaseStatus::Sealed),
        refused: count(ReleaseStatus::Refused),
        skipped: count(ReleaseStatus::Skipped),
        lost: count(ReleaseStatus::Lost),
        repeated,
        unheard,
    })
}

/// Checks for one account, one amendment, one row for each release, and no row of an earlier process after
/// one of a later.
fn nothing_else_was_written(ledger: &mut Ledger, scene: &Scene, rows: usize) -> Result<(), String> {
    let (last, _) = ledger.head().map_err(|trouble| trouble.to_string())?;
    claim(last == rows as i64 + 2, || format!("{last} rows, where {} were expected", rows + 2))?;
    let tables = rusqlite::Connection::open(scene.path("ledger")).unwrap();
    let mut generations = tables.prepare("SELECT generation FROM release ORDER BY sequence").unwrap();
    let generations: Vec<i64> =
        generations.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    claim(generations.is_sorted(), || format!("a process that was fenced off has written: {generations:?}"))
}

/// Checks that the cost of the visible lines is at most the amount spent, which is the sum of all rows, which
/// is within the cap.
fn budgets_add_up(ledger: &mut Ledger, rows: &[Row]) -> Result<(), String> {
    let bits = |amount: &PrivacyCost| match amount {
        PrivacyCost::Zcdp { rho, .. } => rho.to_bits(),
        other => panic!("the currency is zCDP, not {other}"),
    };
    let window = Interval::new(0, 1).unwrap();
    let (spent, cap) =
        ledger.spent(&plan::name(plan::ACCOUNT), window).map_err(|trouble| trouble.to_string())?;
    claim(cap == plan::units(plan::CAPS[1]), || format!("the cap is {cap}"))?;
    let charged: u128 = rows.iter().filter_map(Row::cost).map(bits).sum();
    claim(charged == bits(&spent), || format!("rows cost {charged}, and {} is spent", bits(&spent)))?;
    claim(bits(&spent) <= bits(&cap), || format!("{spent} of {cap} is spent"))?;
    // Computed from the configuration, not from the rows.
    let sealed = |statistic| {
        rows.iter()
            .filter(|row| row.status() == ReleaseStatus::Sealed && row.release().name.as_str() == statistic)
            .count()
    };
    let due = sealed("counts") as u64 + if sealed("total") > 0 { 2 } else { 0 };
    claim(bits(&plan::units(due)) <= charged, || {
        format!("{due} units are visible, and {charged} was charged")
    })?;
    let payers = rows
        .iter()
        .filter(|row| row.status() == ReleaseStatus::Refused || row.status() == ReleaseStatus::Skipped);
    claim(payers.clone().all(|row| row.cost().is_none()), || "a tombstone was charged".to_owned())
}

/// Checks that each line of the total follows its predecessor: no state was lost, and none was used twice.
fn total_went_on(rows: &[Row]) -> Result<(), String> {
    let (mut times, mut exact, mut after) = (0, 0, "none".to_owned());
    for row in rows
        .iter()
        .filter(|row| row.status() == ReleaseStatus::Sealed && row.release().name.as_str() == "total")
    {
        times += 1;
        exact += plan::source(row.release().window.start() / 10).sum::<i64>();
        let due = format!("\"times\":{times},\"exact\":{exact},\"after\":\"{after}\"");
        claim(row.line().contains(&due), || {
            format!("the total forked: {due}, and the line is {}", row.line())
        })?;
        after = token(row).ok_or("a line without a word")?;
    }
    Ok(())
}

fn token(row: &Row) -> Option<String> {
    Some(row.line().split_once("\"token\":\"")?.1.trim_end_matches("\"}").to_owned())
}

/// Checks that each name has one text, which is that of the ledger, and that all are delivered, or each at
/// most once.
fn deliveries(scene: &Scene, rows: &[Row], past: Past) -> Result<(usize, usize), String> {
    let log = fs::read(scene.path("recorded")).unwrap_or_default();
    let log = String::from_utf8(log).map_err(|_| "the recorder's log is no text".to_owned())?;
    let mut heard: BTreeMap<&str, Vec<(bool, &str)>> = BTreeMap::new();
    for entry in log.lines() {
        let (word, rest) = entry.split_once(' ').ok_or("the recorder's log is torn")?;
        let (id, line) = rest.split_once(' ').ok_or("the recorder's log is torn")?;
        heard.entry(id).or_default().push((word == "whole", line));
    }
    let ids: Vec<String> = rows.iter().map(|row| row.release().id().to_string()).collect();
    let known: BTreeSet<&str> = ids.iter().map(String::as_str).collect();
    claim(heard.keys().all(|id| known.contains(id)), || {
        "something was released that was never asked for".to_owned()
    })?;
    let (mut repeated, mut unheard) = (0, 0);
    for (row, id) in rows.iter().zip(&ids) {
        let printed = heard.get(id.as_str()).map_or(&[][..], Vec::as_slice);
        let same = |(whole, line): &(bool, &str)| {
            if *whole { *line == row.line() } else { row.line().starts_with(line) }
        };
        claim(printed.iter().all(same), || {
            format!("two values: the ledger says {}, and released was {printed:?}", row.line())
        })?;
        let whole = printed.iter().filter(|(whole, _)| *whole).count();
        repeated += usize::from(whole > 1);
        claim(row.is_delivered(), || format!("row {} is not marked", row.sequence()))?;
        if scene.delivery == "most" {
            claim(printed.len() <= 1, || {
                format!("row {} was delivered {} times", row.sequence(), printed.len())
            })?;
            unheard += usize::from(whole == 0);
        } else {
            claim(whole > 0, || format!("row {} was never delivered: {}", row.sequence(), row.line()))?;
        }
    }
    claim(unheard <= past.bad_ends * ON_THEIR_WAY, || {
        format!("{unheard} rows were never delivered, after {} bad ends", past.bad_ends)
    })?;
    Ok((repeated, unheard))
}

/// Checks that every delivered line is in the anchor, and every entry of the anchor in the ledger.
fn anchor_is_held(ledger: &mut Ledger, scene: &Scene, rows: &[Row]) -> Result<(), String> {
    let entries = Journal::read(&scene.path("anchor")).map_err(|trouble| trouble.to_string())?;
    for entry in &entries {
        ledger.holds(&entry.anchor).map_err(|trouble| format!("anchor: {trouble}"))?;
    }
    let log = fs::read_to_string(scene.path("recorded")).unwrap_or_default();
    for row in rows {
        let printed = log.contains(&row.release().id().to_string());
        let noted = entries.iter().any(|entry| entry.anchor.sequence == row.sequence());
        claim(noted || !printed, || {
            format!("row {} was delivered and is not in the anchor", row.sequence())
        })?;
    }
    Ok(())
}

/// Checks that a line comes from one draw, that a process draws once, and that no draw follows the one that
/// was sealed.
fn one_seed_each(scene: &Scene, rows: &[Row], past: Past) -> Result<(), String> {
    let log = fs::read_to_string(scene.path("draws")).unwrap_or_default();
    let draws: Vec<[&str; 3]> = log
        .lines()
        .map(|line| {
            line.split(' ')
                .collect::<Vec<_>>()
                .try_into()
                .map_err(|_| "the notes of draws are torn".to_owned())
        })
        .collect::<Result<_, _>>()?;
    let mut once = BTreeSet::new();
    for [process, id, _] in &draws {
        claim(once.insert((process, id)), || format!("process {process} drew twice for {id}"))?;
    }
    for row in rows.iter().filter(|row| row.status() == ReleaseStatus::Sealed) {
        let id = row.release().id().to_string();
        let token = token(row).ok_or("a line without a word")?;
        let of_it: Vec<&str> =
            draws.iter().filter(|[_, other, _]| *other == id).map(|[_, _, token]| *token).collect();
        let seeds = of_it.iter().filter(|other| **other == token).count();
        claim(seeds == 1, || format!("row {} has {seeds} seeds", row.sequence()))?;
        let last = of_it.last() == Some(&token.as_str());
        claim(past.overlapped || last, || {
            format!("row {} was drawn again after it was sealed", row.sequence())
        })?;
    }
    Ok(())
}
