//! The words of an estimate's errors and of its file.

use super::releases::ValuesToEstimate;
use super::{OPTION, SUFFIX, shown};
use crate::dataflow::RunError;
use crate::job::config::BudgetShare;
use crate::job::unfit::UnfitJob;

/// The words of the command and of the job file, in the place of those of the second job, which its user has not written.
#[derive(Clone)]
pub(super) struct EstimateWords {
    pub(super) job: String,
    pub(super) version: u64,
    pub(super) share: BudgetShare,
    pub(super) values: Vec<ValuesToEstimate>,
}

impl EstimateWords {
    /// Returns what a release of the second job is of.
    pub(super) fn what(&self, at: usize) -> String {
        match at.checked_sub(2).map(|at| self.values.get(at)) {
            None if at == 0 => "the number of people".to_owned(),
            Some(Some(own)) if own.of_sums => {
                format!("the estimate of the sums of {} that people have", own.of)
            }
            Some(Some(own)) => format!("the estimate of the values of {}", own.of),
            _ => "the estimate of the number of records of a person".to_owned(),
        }
    }

    /// Returns the refusal of a release of the second job, whose places in the file come after this number of others.
    pub(super) fn unfit(&self, unfit: &UnfitJob, others: usize) -> RunError {
        let place = unfit.field().strip_prefix("release[").and_then(|rest| rest.split_once(']'));
        let own = place
            .and_then(|(number, rest)| Some((number.parse::<usize>().ok()?.checked_sub(others + 1)?, rest)));
        let Some((at, rest)) = own else { return unfit.clone().into() };
        let values = at.checked_sub(2).and_then(|at| self.values.get(at));
        if let Some((values, rest)) = values.zip(rest.strip_prefix(".quantile")) {
            return RunError::configuration(format!(
                "{}{rest}: {}, for {OPTION}",
                values.place,
                unfit.message()
            ));
        }
        RunError::configuration(format!(
            "{OPTION}: found {} of the budget, which is too small a part for {}; give a larger one",
            shown(self.share),
            self.what(at)
        ))
    }

    /// Returns a message about the second job in other words.
    pub(super) fn of(&self, message: &str) -> String {
        let EstimateWords { job, version, share, values } = self;
        let is_opened = format!("version: job {job}{SUFFIX} has opened ");
        if message.starts_with(&is_opened) {
            return format!(
                "{OPTION}: version {version} of job {job} has another estimate already, of another part of the budget than {}, of other \
                 records or values, or of another time; put back what it was, or give the job a new version, which pays for \
                 another estimate",
                shown(*share)
            );
        }
        let mut message = message.to_owned();
        for (at, own) in values.iter().enumerate() {
            message = message.replace(&format!("release[{}].quantile", at + 3), &own.place);
        }
        match message.strip_prefix("--out") {
            Some(rest) => format!("--estimate-out{rest}"),
            None => message,
        }
    }
}
