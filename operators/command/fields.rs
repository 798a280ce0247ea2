//! `discreet fields`: the fields of a job file.

use clap::Args;
use discreet::job::config::{JOB_FIELDS, JobField};
use serde_json::json;

#[derive(Debug, Args)]
pub(crate) struct FieldsOf {
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

impl FieldsOf {
    pub(crate) fn run(self) -> String {
        if self.json {
            return format!("{}\n", json!({ "fields": JOB_FIELDS }));
        }
        let width = JOB_FIELDS.iter().map(|field| field.path.len()).max().unwrap_or_default();
        let line = |field: &JobField| format!("{:width$}  {}\n", field.path, field.takes());
        JOB_FIELDS.iter().map(line).collect()
    }
}
