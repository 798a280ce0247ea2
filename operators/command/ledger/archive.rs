//! `discreet ledger archive`, and the commands that read an archive: `verify` and `lines`.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use discreet::ledger::{Archive, ArchiveOrder, Ledger, LedgerKey, Name};
use discreet::time::{Time, in_utc};
use jiff::fmt::temporal::Pieces;
use serde_json::json;

use super::super::values::account;
use super::super::{Refusal, counted};
use super::{LedgerArg, now};

#[derive(Debug, Args)]
pub(crate) struct ArchiveArgs {
    #[command(flatten)]
    at: LedgerArg,
    /// The path of the archive; a file that an interrupted run of the same command left is replaced
    #[arg(long)]
    out: PathBuf,
    /// The floor: a time, such as 2026-01-01T00:00:00Z; windows that end at or before it are archived, and
    /// never drawn again
    #[arg(long)]
    before: String,
    /// The key of the ledger, if it does not lie beside it
    #[arg(long)]
    key: Option<PathBuf>,
    /// A job that will not settle its windows up to that time; may be given more than once
    #[arg(long, value_parser = account())]
    retired: Vec<Name>,
    /// Leave the file of the ledger as large as it is: its free space is used by rows to come
    #[arg(long)]
    keep_size: bool,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

impl ArchiveArgs {
    pub(super) fn run(self) -> Result<String, Refusal> {
        let before: jiff::Timestamp = self.before.parse().map_err(|_| {
            // A time with its zone that is no timestamp lies outside of their range.
            let is_time = Pieces::parse(&self.before).is_ok_and(|read| read.to_numeric_offset().is_some());
            let found = if is_time {
                let (first, last) = (jiff::Timestamp::MIN, jiff::Timestamp::MAX);
                format!("a time that is not from {first:.0} to {last:.0}")
            } else {
                "text that is not understood".to_owned()
            };
            Refusal::new(format!("before: found {found}; give a past time, such as 2026-01-01T00:00:00Z"))
        })?;
        let key = LedgerKey::open(self.key.unwrap_or_else(|| LedgerKey::beside(&self.at.ledger)))?;
        let order = ArchiveOrder {
            to: &self.out,
            before: before.as_microsecond(),
            now: now()?,
            key: &key,
            retired: &self.retired,
            shrinks: !self.keep_size,
        };
        let archived = Ledger::archive(&self.at.ledger, &order)?;
        let path = archived.path.display().to_string();
        if self.json {
            let line = json!({
                "archive": path,
                "hash": archived.file.to_string(),
                "until": archived.until,
                "removed": archived.removed,
                "floor": order.before,
            });
            return Ok(format!("{line}\n"));
        }
        Ok(format!(
            "{path} holds the rows up to {}; {} removed from the ledger\nhash   {}\n\
             no window that ends by {} is drawn any more\n",
            archived.until,
            counted(archived.removed, "row"),
            archived.file,
            in_utc(order.before)
        ))
    }
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// The ledger: a file, or postgres://user@host/database?ledger=name; or an archive
    ledger: PathBuf,
    /// An archive of the ledger, which is verified with it; all of them, the oldest first
    #[arg(long)]
    archive: Vec<PathBuf>,
}

impl VerifyArgs {
    pub(super) fn run(self) -> Result<String, Refusal> {
        if is_packed(&self.ledger) {
            let archive = Archive::verify(&self.ledger)?;
            return Ok(format!(
                "sound: {} of ledger {}, after {} up to {}; every account is the sum of its rows\n\
                 chain  {}\nhash   {}\nformer {}\n",
                counted(archive.rows, "row"),
                archive.ledger,
                archive.from,
                archive.until,
                archive.chain,
                archive.hash,
                archive.former
            ));
        }
        // Opening a ledger without its key verifies all of it.
        let mut ledger = Ledger::open(&self.ledger)?;
        if let Some(key) = (LedgerArg { ledger: self.ledger }).key()
            && ledger.is_bound(&key).unwrap_or(false)
        {
            ledger.bind(&key)?;
            ledger.checkpoint()?;
        }
        let (rows, (_, chain), archived) = (ledger.row_count()?, ledger.head()?, ledger.archived()?);
        let mut page = format!(
            "sound: {}; every account is the sum of its rows\nchain  {chain}\n",
            counted(rows, "row")
        );
        if !self.archive.is_empty() {
            let rows = ledger.verify_archives(&self.archive)?;
            page += &format!("archives: sound, {}\n", counted(rows, "row"));
        } else if let Some((until, _)) = archived {
            page += &format!(
                "rows up to {until} are in archives, which were not read; give each with --archive to verify them too\n"
            );
        }
        Ok(page)
    }
}

/// Returns true if a file begins as archives do: as a packed one.
fn is_packed(path: &Path) -> bool {
    let mut start = [0; 2];
    let is_file = path.metadata().is_ok_and(|found| found.is_file());
    is_file
        && File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok()
        && start == [0x1f, 0x8b]
}

#[derive(Debug, Args)]
pub(crate) struct LinesArgs {
    /// The archives of a ledger, all of them: windows that an older one holds may have left with a newer one
    #[arg(required = true, value_name = "ARCHIVE")]
    archives: Vec<PathBuf>,
    /// The job whose lines are printed
    #[arg(long, value_parser = account())]
    job: Name,
}

impl LinesArgs {
    pub(super) fn run(self) -> Result<String, Refusal> {
        // First all of them are verified: no line of a torn archive leaves.
        let archives =
            self.archives.iter().map(|path| Archive::verify(path)).collect::<Result<Vec<_>, _>>()?;
        if let Some(other) = archives.iter().position(|archive| archive.ledger != archives[0].ledger) {
            return Err(Refusal::new(format!(
                "{} and {} are archives of two ledgers; give those of one",
                self.archives[0].display(),
                self.archives[other].display()
            )));
        }
        let mut in_order: Vec<(i64, &PathBuf)> =
            archives.iter().map(|archive| archive.from).zip(&self.archives).collect();
        in_order.sort_unstable();
        in_order.dedup_by_key(|(from, _)| *from);
        let floor = archives.iter().map(|archive| archive.floor).max().unwrap_or(Time::MIN);
        let mut out = std::io::stdout().lock();
        let (mut broken, mut written, mut jobs) = (None, false, BTreeSet::new());
        for (_, path) in in_order {
            Archive::releases(path, &mut |row| {
                // A later window has its row in the ledger as well, and a new output its line.
                let left = row.release().window.end() <= floor;
                if left && row.release().job == self.job && broken.is_none() {
                    written = true;
                    broken = writeln!(out, "{}", row.lines_of(&archives[0].ledger)).err();
                } else if left && !jobs.contains(&row.release().job) {
                    jobs.insert(row.release().job.clone());
                }
                Ok(())
            })?;
        }
        if !written {
            let jobs: Vec<&str> = jobs.iter().map(Name::as_str).collect();
            let others = match jobs[..] {
                [] => "give every archive of the ledger, and look for later windows in the output".to_owned(),
                _ => format!("there are windows of {}", jobs.join(", ")),
            };
            return Err(Refusal::new(format!(
                "--job: found {}, of which these archives hold no window; {others}",
                self.job
            )));
        }
        match broken {
            Some(error) => Err(Refusal::new(format!("standard output: {error}"))),
            None => Ok(String::new()),
        }
    }
}
