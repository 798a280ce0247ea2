//! `discreet ledger rekey`: changes the key of a ledger.

use std::path::PathBuf;

use clap::Args;
use discreet::gate::rekey;
use discreet::ledger::LedgerKey;
use serde_json::json;

use super::super::Refusal;
use super::LedgerArg;

#[derive(Debug, Args)]
pub(crate) struct RekeyArgs {
    #[command(flatten)]
    at: LedgerArg,
    /// The present key, if it does not lie beside the ledger
    #[arg(long)]
    key: Option<PathBuf>,
    /// The path of the new key; without it, the new key takes the place of the present one, which is kept
    /// beside it
    #[arg(long)]
    to: Option<PathBuf>,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

impl RekeyArgs {
    pub(super) fn run(self) -> Result<String, Refusal> {
        let key = self.key.unwrap_or_else(|| LedgerKey::beside(&self.at.ledger));
        let rekeyed = rekey(&self.at.ledger, &key, self.to.as_deref())?;
        let (key, former) = (rekeyed.key.display().to_string(), rekeyed.former.display().to_string());
        let fingerprint = rekeyed.fingerprint.to_string();
        if self.json {
            let line = json!({ "key": key, "fingerprint": fingerprint, "former": former });
            return Ok(format!("{line}\n"));
        }
        Ok(format!(
            "the ledger is bound to {key}, fingerprint {fingerprint}\n\
             the former key, {former}, opens copies from before alone; give every process of a job the new one\n"
        ))
    }
}
