//! Anchors: records outside of the ledger of its rows, by which alone a ledger differs from an older copy of
//! itself.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::archive;
use super::charge::last_repair;
use super::error::LedgerError;
use super::name::Name;
use super::place::{beside, could_be_made, is_absent, remove, sync_name};
use super::records::{decode, encode};
use super::records::{digest, number, read_repair};
use super::rows::Row;
use super::store::{SqlValue, Store, all, first};
use crate::accounting::{Interval, Prices, PrivacyCost};
use crate::canonical::Digest;
use crate::time::in_utc;

/// A released row: the name of its ledger, its sequence number, and the hash of the chain up to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// The name of the ledger.
    pub ledger: Digest,
    /// The sequence number of the row.
    pub sequence: i64,
    /// The hash of the chain up to the row.
    pub chain: Digest,
}

/// A row that a file of releases records. Such a file contains the window of the row, and not its privacy
/// cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Published {
    /// The sequence number of the row and its chain hash; `None` if the line that closes the window is torn.
    pub row: Option<(i64, Digest)>,
    /// The statistic.
    pub release: Name,
    /// The window.
    pub window: Interval,
    /// The id of the release, if a line of the window contains it.
    pub id: Option<Digest>,
    /// The name of the ledger, if the file contains it.
    pub ledger: Option<Digest>,
}

/// Checks that the ledger holds the row that a file of releases records, or held it and gave it up in a
/// repair.
pub(super) fn published(
    store: &mut dyn Store,
    ledger: &Digest,
    published: &Published,
) -> Result<(), LedgerError> {
    if let Some(anchor) = published.anchor(*ledger) {
        return held(store, ledger, &anchor);
    }
    // No line of a window leaves before its row is sealed.
    let (start, end) = (published.window.start(), published.window.end());
    let values =
        [SqlValue::Number(start), SqlValue::bytes(published.id.as_ref().map(|id| id.bytes().as_slice()))];
    let sealed =
        first(store, "SELECT sequence FROM release WHERE window_start = ?1 AND id = ?2", &values, |row| {
            number(row, 0)
        })?;
    let is_lost = last_repair(store)?.is_some_and(|(_, floor)| start < floor)
        || archive::floor(store)?.is_some_and(|(_, floor)| end <= floor);
    if sealed.is_some() || is_lost {
        return Ok(());
    }
    Err(LedgerError::doubt(format!(
        "ledger: values of release {}, window from {} to {}, were published, and this ledger has no row of it: it is an older \
         copy, or a copy that went on by itself; bring back the newest ledger",
        published.release,
        in_utc(start),
        in_utc(end)
    )))
}

/// Checks that the ledger holds the row of an anchor, or held it and gave it up in a repair.
pub(super) fn held(store: &mut dyn Store, ledger: &Digest, anchor: &Anchor) -> Result<(), LedgerError> {
    if anchor.ledger != *ledger {
        return Err(LedgerError::refused(
            "anchor: it is of another ledger; give the one of this ledger, or the ledger that it is of",
        ));
    }
    let found = first(
        store,
        "SELECT chain FROM release WHERE sequence = ?1 UNION SELECT chain FROM account WHERE sequence = ?1
         UNION SELECT chain FROM amendment WHERE sequence = ?1 UNION SELECT chain FROM repair WHERE sequence = ?1
         UNION SELECT chain FROM archive WHERE sequence = ?1 UNION SELECT chain FROM rekey WHERE sequence = ?1",
        &[SqlValue::Number(anchor.sequence)],
        |row| digest(row, 0),
    )?;
    if found == Some(anchor.chain) {
        return Ok(());
    }
    // A ledger that has archived the row is not behind it.
    let archived = archive::floor(store)?;
    if found.is_none() && archived.is_some_and(|(until, _)| anchor.sequence <= until) {
        return Ok(());
    }
    let repairs = all(store, "SELECT * FROM repair", &[], read_repair)?;
    if repairs.iter().any(|(repair, _)| repair.given_up.contains(&anchor.chain)) {
        return Ok(());
    }
    let head = first(store, "SELECT sequence FROM head", &[], |row| number(row, 0))?.unwrap_or(0);
    let published = anchor.sequence;
    let found = if published > head {
        format!("and this ledger ends with row {head}: it is an older copy, or the row is of another ledger")
    } else {
        format!(
            "and row {published} of this ledger is another: it is a copy that went on by itself, or another ledger"
        )
    };
    Err(LedgerError::doubt(format!(
        "ledger: row {published} was published, {found}; bring back the newest ledger"
    )))
}

// The anchor of a ledger in a file of its own, on another disk if possible: every row is written there
// before its line leaves, with its charge. A ledger that was reset to an older copy lacks rows that its
// anchor contains, and a repair reads from the anchor the amounts that were spent.
//
// One line a row: its sequence number, the chain's hash there, its account, its window, the time that it was
// charged for, its cost and, if different, its cost where a boundary in time cuts the window. A torn last
// line was never released. It is terminated and skipped, and not truncated: a process that truncates may
// have been suspended since it last read the file, and would truncate the lines of its successor.

const TITLE: &str = "discreet anchor 2, ledger";

const NO_ANCHOR: &str = "it is no anchor; give the path of one, or of a new file";

/// The end of a line that was torn.
const TORN: &str = " torn";

/// The anchor of a ledger: an existing file, or one that [`begin`](Journal::begin) creates.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    ledger: Digest,
    /// Open for appending: a process that was suspended writes after the lines of its successor, and not over
    /// them.
    file: Option<File>,
    /// True if the last line of the file is torn.
    torn: bool,
    /// The sequence numbers of the rows in the file. The last one is not enough: a row whose statistic had to
    /// wait is released after later ones.
    known: BTreeSet<i64>,
    newest: Option<Anchor>,
}

/// A row that an anchor records as released.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnchorEntry {
    /// The place of the row in its ledger.
    pub anchor: Anchor,
    /// The account that the row was charged to.
    pub account: Name,
    /// The window whose records the release reads.
    pub window: Interval,
    /// The time that the row was charged for.
    pub time: Interval,
    /// The privacy cost, if there was one.
    pub cost: Option<PrivacyCost>,
    /// The privacy cost where a boundary in time cuts the window, if it differs.
    pub partial: Option<PrivacyCost>,
}

impl AnchorEntry {
    /// The whole and the partial cost; `None` for a row that cost nothing.
    pub(super) fn prices(&self) -> Option<Prices> {
        let whole = self.cost.clone()?;
        Some(Prices { partial: self.partial.clone().unwrap_or_else(|| whole.clone()), whole })
    }
}

impl Journal {
    /// Opens the anchor of a ledger, or checks that one can be created; writes nothing to it.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or written, is no anchor, is empty, or is the anchor of another ledger.
    pub fn open(path: &Path, ledger: &Digest) -> Result<Journal, LedgerError> {
        let refuse = |error: io::Error| trouble(path, &error.to_string()).caused_by(error);
        let mut journal = Journal {
            path: path.to_owned(),
            ledger: *ledger,
            file: None,
            torn: false,
            known: BTreeSet::new(),
            newest: None,
        };
        if is_absent(path) {
            could_be_made(path).map_err(refuse)?;
            return Ok(journal);
        }
        let entries = Journal::read_of(path, ledger)?;
        let mut file = OpenOptions::new().read(true).append(true).open(path).map_err(refuse)?;
        let mut end = [b'\n'];
        file.seek(SeekFrom::End(-1)).and_then(|_| file.read_exact(&mut end)).map_err(refuse)?;
        journal.torn = end != [b'\n'];
        journal.newest = entries.last().map(|entry| entry.anchor);
        journal.known = entries.iter().map(|entry| entry.anchor.sequence).collect();
        journal.file = Some(file);
        Ok(journal)
    }

    /// The last row that the anchor held when it was opened.
    pub fn newest(&self) -> Option<Anchor> {
        self.newest
    }

    /// Returns true if the anchor's file exists.
    pub fn is_there(&self) -> bool {
        self.file.is_some()
    }

    /// Creates the file if there is none, and terminates a torn last line.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn begin(&mut self) -> Result<(), LedgerError> {
        match &mut self.file {
            None => {
                make(&self.path, &self.ledger).map_err(|error| trouble(&self.path, &error.to_string()))?;
                *self = Journal::open(&self.path, &self.ledger)?;
            }
            Some(file) => {
                let refuse = |error: io::Error| trouble(&self.path, &error.to_string()).caused_by(error);
                // A crash came between the file's final name and the removal of its temporary one.
                if file.metadata().map_err(refuse)?.nlink() > 1 {
                    remove(&in_the_making(&self.path, &self.ledger)).map_err(refuse)?;
                }
                if self.torn {
                    file.write_all(format!("{TORN}\n").as_bytes())
                        .and_then(|()| file.sync_data())
                        .map_err(refuse)?;
                    self.torn = false;
                }
            }
        }
        Ok(())
    }

    /// All rows of an anchor, oldest first, each of them once, from every process that wrote to it.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, is empty, or contains a malformed line.
    pub fn read(path: &Path) -> Result<Vec<AnchorEntry>, LedgerError> {
        read(path).map(|(_, entries)| entries)
    }

    /// All rows of the anchor of this ledger, as [`read`](Journal::read) returns them.
    ///
    /// # Errors
    ///
    /// As for [`read`](Journal::read), and if it is the anchor of another ledger.
    pub fn read_of(path: &Path, ledger: &Digest) -> Result<Vec<AnchorEntry>, LedgerError> {
        let (own, entries) = read(path)?;
        if own == *ledger {
            return Ok(entries);
        }
        let what = "it is of another ledger; give the anchor of this ledger, or the path of a new file, or the ledger that \
                    it is of";
        Err(LedgerError::refused(format!("anchor {}: {what}", path.display())))
    }

    /// Writes those of the rows that the anchor lacks, durably.
    ///
    /// # Errors
    ///
    /// If the file cannot be written: then none of these rows may be released.
    pub fn record<'a>(&mut self, rows: impl Iterator<Item = &'a Row>) -> Result<(), LedgerError> {
        let mut new: Vec<&Row> = rows.filter(|row| !self.known.contains(&row.sequence())).collect();
        if new.is_empty() {
            return Ok(());
        }
        let Some(file) = &mut self.file else { return Err(trouble(&self.path, GONE)) };
        is_in_place(&self.path, file)?;
        new.sort_by_key(|row| row.sequence());
        let text: String = new.iter().copied().map(line).collect();
        let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_data());
        written.map_err(|error| trouble(&self.path, &error.to_string()))?;
        self.known.extend(new.into_iter().map(Row::sequence));
        Ok(())
    }
}

/// The message for an anchor that was removed or replaced while it was in use.
const GONE: &str = "it was removed, or another file was put in its place, while it was in use; bring it back, or start \
                    again with a new one";

/// Checks that the path still leads to the open file: lines written to a file without a name are lost.
fn is_in_place(path: &Path, file: &File) -> Result<(), LedgerError> {
    let own = file.metadata().map_err(|error| trouble(path, &error.to_string()))?;
    let found = fs::metadata(path).ok();
    if found.is_some_and(|found| (found.dev(), found.ino()) == (own.dev(), own.ino())) {
        return Ok(());
    }
    Err(trouble(path, GONE))
}

/// The temporary path of an anchor until its title is on the disk. It contains part of the ledger's name, so
/// that no other file has it.
pub(crate) fn in_the_making(path: &Path, ledger: &Digest) -> PathBuf {
    beside(path, &format!(".{:.16}.new", ledger.to_string()))
}

/// Creates an anchor without rows. It gets its final name once its title is on the disk: so an anchor without
/// a title was emptied by a person, and not left by a crash.
fn make(path: &Path, ledger: &Digest) -> io::Result<()> {
    let new = in_the_making(path, ledger);
    // A file that a crash left is never written to: it may have the anchor's name already.
    remove(&new)?;
    let mut file = OpenOptions::new().write(true).create_new(true).open(&new)?;
    file.write_all(format!("{TITLE} {ledger}\n").as_bytes()).and_then(|()| file.sync_all())?;
    match fs::hard_link(&new, path) {
        Ok(()) => remove(&new)?,
        // Another process has made one at the same time.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => remove(&new)?,
        // A file system without hard links.
        Err(_) => fs::rename(&new, path)?,
    }
    sync_name(path)
}

/// The name of an anchor's ledger, and all rows of the anchor.
fn read(path: &Path) -> Result<(Digest, Vec<AnchorEntry>), LedgerError> {
    let refuse = |error: io::Error| trouble(path, &error.to_string()).caused_by(error);
    // The file's type is read before it is opened, for opening a pipe waits.
    let found = fs::metadata(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound if is_absent(path) => trouble(path, "there is none; give the path of one"),
        io::ErrorKind::NotFound => {
            trouble(path, "it is a symbolic link that leads nowhere; mount the disk that it leads to")
        }
        _ => refuse(error),
    });
    if !found?.is_file() {
        return Err(trouble(path, "it is no regular file; give the path of one, or of a new file"));
    }
    let text = fs::read_to_string(path).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidData => trouble(path, NO_ANCHOR),
        _ => refuse(error),
    })?;
    if text.is_empty() {
        return Err(trouble(
            path,
            "it is empty, and an anchor never is: somebody has emptied it, and an older copy of the ledger would pass for the \
             newest; bring back the anchor, or remove the file if this ledger is the newest",
        ));
    }
    let lines = (1..).zip(text.split_inclusive('\n'));
    let whole = |(number, line): (usize, &'_ str)| Some((number, line.strip_suffix('\n')?.to_owned()));
    let mut lines = lines.filter_map(whole).filter(|(_, line)| !line.ends_with(TORN));
    let ledger = lines.next().and_then(|(_, title)| Digest::parse(title.strip_prefix(TITLE)?.trim_start()));
    let ledger = ledger.ok_or_else(|| trouble(path, NO_ANCHOR))?;
    let broken = |number| trouble(path, &format!("line {number} makes no sense"));
    let read = |(number, line): (usize, String)| entry(ledger, &line).ok_or_else(|| broken(number));
    let mut entries: Vec<AnchorEntry> = lines.map(read).collect::<Result<_, _>>()?;
    entries.sort_by_key(|entry| entry.anchor.sequence);
    entries.dedup();
    Ok((ledger, entries))
}

fn line(row: &Row) -> String {
    let time = row.charged();
    let word = |amount: Option<&PrivacyCost>| {
        amount.and_then(encode).map_or_else(|| "-".to_owned(), |bytes| hex(&bytes))
    };
    let (cost, partial) = (word(row.cost()), word(row.partial.as_ref()));
    let (account, window) = (&row.release().account, row.release().window);
    let [from, until, start, end] = [window.start(), window.end(), time.start(), time.end()];
    format!("{} {} {account} {from} {until} {start} {end} {cost} {partial}\n", row.sequence(), row.chain())
}

fn entry(ledger: Digest, line: &str) -> Option<AnchorEntry> {
    let mut words = line.split(' ');
    let mut word = || words.next();
    let (sequence, chain) = (word()?.parse().ok()?, Digest::parse(word()?)?);
    let account = Name::new("account", word()?).ok()?;
    let mut interval = || Interval::new(word()?.parse().ok()?, word()?.parse().ok()?).ok();
    let (window, time) = (interval()?, interval()?);
    let amount = |word: &str| match word {
        "-" => Some(None),
        amount => Some(Some(decode(&unhex(amount)?)?)),
    };
    let (cost, partial) = (amount(word()?)?, amount(word()?)?);
    Some(AnchorEntry { anchor: Anchor { ledger, sequence, chain }, account, window, time, cost, partial })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let (pairs, []) = text.as_bytes().as_chunks::<2>() else { return None };
    pairs.iter().map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

/// An error of an anchor. An anchor that cannot be read or written leaves open whether the ledger is an older
/// copy.
fn trouble(path: &Path, what: &str) -> LedgerError {
    LedgerError::doubt(format!("anchor {}: {what}", path.display()))
}
