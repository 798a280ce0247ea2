//! `discreet ledger repair`: the only way on for a ledger in doubt, and what it costs.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use discreet::ledger::{AcceptedLoss, AnchorEntry, Journal, Ledger, Published};
use discreet::time::in_utc;
use serde_json::json;

use super::Refusal;

#[derive(Debug, Args)]
pub(crate) struct RepairArgs {
    /// The ledger
    ledger: PathBuf,
    /// Accept that releases are lost: no window that starts before now is drawn any more, unless it is proven
    #[arg(long, required = true)]
    accept_loss: bool,
    /// Why, for whoever reads the ledger later
    #[arg(long)]
    reason: String,
    /// A file that knows what was released, an anchor or a file of releases (.jsonl, .csv); may be given more than once
    #[arg(long)]
    anchor: Vec<PathBuf>,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

impl RepairArgs {
    pub(crate) fn run(self) -> Result<String, Refusal> {
        let (mut anchors, mut published): (Vec<AnchorEntry>, Vec<Published>) = Default::default();
        for path in &self.anchor {
            if is_empty_output(path) {
                continue;
            }
            if is_of_releases(path) {
                published.extend(discreet::job::published(path)?);
            } else {
                anchors.extend(Journal::read(path)?);
            }
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.ok().and_then(|now| i64::try_from(now.as_micros()).ok());
        let now = now.ok_or_else(|| Refusal::new("clock: found a time before 1970; set the clock"))?;
        let loss = AcceptedLoss { reason: &self.reason, now, anchors: &anchors, published: &published };
        let repaired = Ledger::repair(&self.ledger, &loss)?;
        let torn = repaired.torn.as_ref().map(|path| path.display().to_string());
        if self.json {
            let line = json!({
                "sound": repaired.sound,
                "charges": repaired.charges,
                "floor": repaired.floor,
                "torn": torn,
            });
            return Ok(format!("{line}\n"));
        }
        let mut page = format!(
            "rows up to {} are proven and stay; {} charges were made for what is lost\n\
             no window that starts before {} is drawn any more, unless it is proven; a line that says `lost` of such a \
             window takes back no value that was released for it earlier\n",
            repaired.sound,
            repaired.charges,
            in_utc(repaired.floor)
        );
        page.extend(torn.map(|path| format!("the torn ledger is kept as {path}\n")));
        Ok(page)
    }
}

/// Returns true of a file of releases, by its name, that holds nothing: a run that ended early leaves one.
fn is_empty_output(path: &Path) -> bool {
    let is_named = path.extension().is_some_and(|found| found == "jsonl" || found == "csv");
    is_named && path.metadata().is_ok_and(|found| found.is_file() && found.len() == 0)
}

/// Whether a file begins as releases do, as lines of JSON or as a table, and not as an anchor.
fn is_of_releases(path: &Path) -> bool {
    // Opening a pipe waits for its writer.
    if !path.is_file() {
        return false;
    }
    let mut start = [0; 8];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && (start[0] == b'{' || start == *b"release,")
}
