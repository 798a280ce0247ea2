//! Windows that are not over: records of them may still come. A replay, which closes all windows at the end of its
//! input, would release them for good without these.
//!
//! Which windows they are follows from the job file and the clock, and with a ledger from the windows that it has
//! settled: it depends on no record.

use std::collections::{BTreeSet, HashMap};
use std::fmt::{self, Display, Formatter};

use serde::Serialize;

use super::*;
use crate::accounting::Interval;
use crate::ledger::{Digest, Ledger, Name};
use crate::time::{Span, in_utc};

/// A second and an hour, in microseconds.
const SECOND: i64 = 1_000_000;
const HOUR: i64 = 3_600 * SECOND;

/// The windows of a job that a replay would release although they are not over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct UnfinishedWindows {
    /// The number of these windows, of all releases.
    pub windows: u64,
    /// The name of the release that has the first of them.
    pub release: String,
    /// The start of the first of them.
    pub start: String,
    /// The end of the first of them.
    pub end: String,
    /// The time until which records of the first of them are taken, if it is after the end.
    pub taken_until: Option<String>,
    /// The `job.until` with which each release has its windows that are over, and no other; `None` if a release would
    /// have none.
    pub until: Option<String>,
    /// The present, by the clock of this machine.
    pub now: String,
    /// True if a live run can release each window when it is over.
    #[serde(skip)]
    can_run: bool,
}

/// The newest end of a settled window of each release and version.
type SettledEnds = HashMap<(Name, Digest), Time>;

impl Job {
    /// Returns the windows of the job that are not over at this time, by the job file and its files of questions: those
    /// that a replay refuses to release. There are none of a log that is made up, which is whole at any time, and of a job without an
    /// end.
    ///
    /// # Errors
    ///
    /// If the job cannot be planned.
    pub fn unfinished_windows(&self, now: Time) -> Result<Option<UnfinishedWindows>, UnfitJob> {
        let offers = self.release_plans(self.horizon())?;
        let asks = self.with_questions(&self.ask_plans(self.horizon())?);
        Ok(self.unfinished(&offers, &asks, &SettledEnds::new(), now))
    }

    /// Returns the windows that are not over at this time and that have no row in the ledger.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub(super) fn unfinished_in(
        &self,
        ledger: &mut Ledger,
        (offers, asks): (&[ReleasePlan], &[(AskPlan, QuestionInput)]),
        now: Time,
    ) -> Result<Option<UnfinishedWindows>, LedgerError> {
        Ok(self.unfinished(offers, asks, &ledger.settled(&self.name)?, now))
    }

    fn unfinished(
        &self,
        offers: &[ReleasePlan],
        asks: &[(AskPlan, QuestionInput)],
        settled: &SettledEnds,
        now: Time,
    ) -> Option<UnfinishedWindows> {
        self.until.filter(|_| !matches!(self.source.records, RecordFormat::Synthetic(_)))?;
        let late = self.source.late.map_or(0, Span::as_microseconds);
        let closed = now.saturating_sub(late);
        let mut found: Vec<(Interval, &Name)> = Vec::new();
        let (mut windows, mut until, mut has_none) = (0, None, false);
        for (offer, release) in offers.iter().zip(&self.releases) {
            let schedule = &offer.schedule;
            let open = schedule.first_ending_after(closed);
            match open.checked_sub(1).and_then(|last| schedule.window(last)) {
                Some(last) => until = until.max(Some(last.end())),
                // The one window of everything ends wherever `until` does.
                None => has_none |= release.every != Every::All,
            }
            let version = self.version_digest(offer).ok();
            let passed = version.and_then(|version| settled.get(&(offer.name.clone(), version)));
            let first = open.max(passed.map_or(0, |end| schedule.first_ending_after(*end)));
            windows += schedule.count().saturating_sub(first);
            found.extend(schedule.window(first).map(|window| (window, &offer.name)));
        }
        for (ask, questions) in asks {
            let QuestionInput::Whole(questions) = questions else { continue };
            let newest = |at: Time| ask.schedule.first_ending_after(at.saturating_sub(late)).checked_sub(1);
            let asked: BTreeSet<u64> =
                questions.all().iter().filter_map(|question| newest(question.at())).collect();
            let open = asked.range(ask.schedule.first_ending_after(closed)..);
            windows += open.clone().count() as u64;
            found.extend(
                open.clone()
                    .next()
                    .and_then(|first| ask.schedule.window(*first))
                    .map(|window| (window, &ask.name)),
            );
        }
        let (first, release) = found.into_iter().min_by_key(|(window, _)| window.end())?;
        let is_after_from = |until: &Time| self.from.is_none_or(|from| from < *until);
        let whole_hour = || Some(closed.div_euclid(HOUR) * HOUR).filter(is_after_from);
        let until = if has_none { None } else { until.or_else(whole_hour) };
        Some(UnfinishedWindows {
            windows,
            release: release.to_string(),
            start: in_utc(first.start()),
            end: in_utc(first.end()),
            taken_until: (late > 0).then(|| in_utc(first.end().saturating_add(late))),
            until: until.map(in_utc),
            now: in_utc(now.div_euclid(SECOND) * SECOND),
            can_run: !self.source.records.is_columnar(),
        })
    }
}

impl UnfinishedWindows {
    /// Returns the reason for which a replay does not begin.
    pub(super) fn refusal(&self) -> RunError {
        let they = if self.windows == 1 { "it" } else { "each of them" };
        RunError::configuration(format!(
            "job.until: {self}. A replay releases {they} for good, and records that come later count in none; {}",
            self.remedies()
        ))
    }

    /// Returns the line of a plan or a check: a replay does not begin now.
    pub fn note(&self) -> String {
        format!("is refused now: {self}; {}", self.remedies())
    }

    /// Returns what can be done.
    fn remedies(&self) -> String {
        let it = if self.windows == 1 { "it" } else { "each" };
        let until = self.until.as_ref().map(|until| {
            format!("give until = \"{until}\", before which all are over, once their records are there")
        });
        let run = self.can_run.then(|| format!("let `discreet run` release {it} once it is over"));
        let remedies: Vec<String> = until.into_iter().chain(run).collect();
        let unfinished = "give --unfinished where no more records come";
        if remedies.is_empty() {
            format!("wait until it is over, or {unfinished}")
        } else {
            format!("{}, or {unfinished}", remedies.join(", "))
        }
    }
}

/// Formats the windows without what can be done about them.
impl Display for UnfinishedWindows {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let UnfinishedWindows { windows, release, start, end, taken_until, now, .. } = self;
        match windows {
            1 => write!(f, "1 window is not over at {now}, by the clock of this machine: that of {release}")?,
            _ => write!(
                f,
                "{windows} windows are not over at {now}, by the clock of this machine: the first, of {release},"
            )?,
        }
        write!(f, "{} from {start} to {end}", if *windows == 1 { "," } else { " is" })?;
        match taken_until {
            Some(until) => write!(f, ", of which records are taken until {until} (source.late)"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use super::*;
    use crate::job::test_jobs::csv_job;

    static JOB: LazyLock<String> = LazyLock::new(|| csv_job("visits", 2, "epsilon = 1", RELEASES));

    const RELEASES: &str = r#"
[[release]]
name = "hours"
every = "1 hour"
people = {}
noise = "laplace"
share = 0.5
[[release]]
name = "days"
every = "1 day"
people = {}
noise = "laplace"
share = 0.5
"#;

    fn found(text: &str, now: &str) -> Option<UnfinishedWindows> {
        let job = Job::parse("job.toml", text).unwrap();
        job.unfinished_windows(crate::time::at(now).unwrap()).unwrap()
    }

    fn numbers(text: &str, now: &str) -> Option<(u64, String, String, Option<String>)> {
        let short = |time: String| time.trim_start_matches("2026-01-").trim_end_matches(":00:00Z").to_owned();
        found(text, now).map(|UnfinishedWindows { windows, release, end, until, .. }| {
            (windows, release, short(end), until.map(short))
        })
    }

    fn some(
        windows: u64,
        release: &str,
        end: &str,
        until: Option<&str>,
    ) -> Option<(u64, String, String, Option<String>)> {
        Some((windows, release.to_owned(), end.to_owned(), until.map(str::to_owned)))
    }

    // Refutes a window that is over and counts, one that is not and does not, and an end by which some are not over.
    #[test]
    fn a_window_is_over_at_its_end_and_its_lateness() {
        assert_eq!(numbers(&JOB, "2026-01-03T00:00:00Z"), None);
        let last = some(2, "hours", "03T00", Some("02T23"));
        assert_eq!(numbers(&JOB, "2026-01-02T23:59:59.999999Z"), last);
        assert_eq!(numbers(&JOB, "2026-01-02T00:00:00Z"), some(25, "hours", "02T01", Some("02T00")));
        // No day is over: with an earlier end the release of days would have no window.
        assert_eq!(numbers(&JOB, "2026-01-01T23:30:00Z"), some(27, "hours", "02T00", None));
        assert_eq!(numbers(&JOB, "2025-01-01T00:00:00Z"), some(50, "hours", "01T01", None));
        let late = JOB.replace("[privacy]", "late = \"90 minutes\"\n[privacy]");
        assert_eq!(numbers(&late, "2026-01-03T01:30:00Z"), None);
        assert_eq!(numbers(&late, "2026-01-03T01:29:59Z"), last);
        let taken = found(&late, "2026-01-03T01:29:59Z").unwrap().taken_until;
        assert_eq!(taken.as_deref(), Some("2026-01-03T01:30:00Z"));
    }

    // Refutes a window of everything that ends with a time to come and is over, and one without a stated end that is
    // not; and a log that is made up and is not whole.
    #[test]
    fn a_window_of_everything_ends_where_the_job_does() {
        let (head, _) = JOB.split_once("[[release]]\nname = \"days\"").unwrap();
        let all = head.replace("1 hour", "all");
        assert_eq!(numbers(&all, "2026-01-02T12:30:00Z"), some(1, "hours", "03T00", Some("02T12")));
        assert_eq!(numbers(&all, "2026-01-01T00:30:00Z"), some(1, "hours", "03T00", None));
        let endless = all.replace("until = 2026-01-03T00:00:00Z\n", "");
        assert_eq!(numbers(&endless, "2026-01-02T12:30:00Z"), None);
        let made_up = JOB
            .replace(
                "type = \"csv\"\npath = \"log.csv\"\ntime = { field = \"time\", format = \"rfc3339\" }",
                "type = \"synthetic\"\npeople = 5\nrows = 9\nkeys = 2",
            )
            .replace("field = \"who\"", "field = \"user\"");
        assert_eq!(numbers(&made_up, "2026-01-02T12:30:00Z"), None);
    }

    // Refutes a remedy that the source does not have, and a sentence of several windows for one.
    #[test]
    fn the_message_says_what_can_be_done() {
        let refusal = |text: &str, now: &str| found(text, now).unwrap().refusal().to_string();
        assert_eq!(
            refusal(&JOB, "2026-01-02T00:10:00.5Z"),
            "job.until: 25 windows are not over at 2026-01-02T00:10:00Z, by the clock of this machine: the first, of hours, is \
             from 2026-01-02T00:00:00Z to 2026-01-02T01:00:00Z. A replay releases each of them for good, and records that come \
             later count in none; give until = \"2026-01-02T00:00:00Z\", before which all are over, once their records are there, let `discreet run` release \
             each once it is over, or give --unfinished where no more records come"
        );
        let (head, _) = JOB.split_once("[[release]]\nname = \"days\"").unwrap();
        let all = head.replace("1 hour", "all");
        let one = UnfinishedWindows { can_run: false, ..found(&all, "2026-01-01T00:30:00Z").unwrap() };
        let one = one.refusal().to_string();
        assert!(
            one.contains("1 window is not over at 2026-01-01T00:30:00Z, by the clock of this machine: that of hours, from ")
                && one.ends_with("A replay releases it for good, and records that come later count in none; wait until it is over, \
                                  or give --unfinished where no more records come"),
            "{one}"
        );
    }
}
