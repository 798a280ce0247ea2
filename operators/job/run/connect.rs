//! The inspection of a job with its ledger, its output and its questions, before a run: by the functions that a run opens
//! them with.

use std::fs;
use std::path::{Path, PathBuf};

use super::budget_left::{NO_LESS_RHO, in_six_digits};
use super::*;
use crate::accounting::{BudgetUnits, PrivacyCost, Promise};
use crate::dataflow::{Clock, SystemClock};
use crate::gate::{compare, resume_positions};
use crate::http::AccessToken;
use crate::invalid::found_by;
use crate::job::config::AskSpec;
use crate::job::questions::AnsweredQuestions;
use crate::job::release_plan::ceiling;
use crate::job::sinks;
use crate::ledger::{
    Anchor, Charge, Digest, Journal, Ledger, LedgerKey, RefusedWindows, ReleaseId as Released, Row, Shortfall,
};
use crate::time::{Span, in_utc};

/// The number of windows of each release that are examined, where they go on without end.
const EXAMINED_WINDOWS: u64 = 10_000;

/// The age, in microseconds, from which an ended window is none of a start that came a little late: a day.
const LONG_AGO: i64 = 86_400_000_000;

/// A rest that does not pay for one part in a thousand of a charge is reported as nothing.
const NEGLIGIBLE: u64 = 1_000;

/// The result of connecting a job that can run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Connected {
    /// The windows that would be refused for want of budget, by release.
    pub refused: Vec<Shortfall>,
    /// True if spent budget becomes available again in time.
    pub renews: bool,
    /// The key that the first start will bind the ledger to; `None` where the ledger is bound to it already.
    pub unbound: Option<PathBuf>,
    /// The moment of the last repair, where a window of the job starts before it.
    pub lost: Option<Time>,
    /// The reason for which a new output is refused without `--without-archived`.
    pub lacks_archived: Option<String>,
    /// The warning that the first start of a live run would release and charge windows that ended long ago.
    pub past_windows: Option<String>,
    /// The reasons for which a live run is refused that would serve pages or receive batches: their tokens
    /// cannot be read. A replay needs none.
    pub without_token: Vec<String>,
    /// The windows without a row that are not over, for which a replay is refused.
    pub unfinished: Option<UnfinishedWindows>,
    /// The windows that the job was refused for want of budget, in its present version, by release.
    pub was_refused: Vec<RefusedWindows>,
    /// The budget that is left for the job beside others; `None` where a part of the rows is in archives alone.
    pub left: Option<BudgetLeft>,
    /// The warning that the shares of the job are more than others have left.
    pub shares_above: Option<String>,
    /// The warnings about questions that were edited under the id of an answer, each with the line of its file.
    pub edited: Vec<String>,
    /// The warnings about questions that cannot be answered, each with the line of its file.
    pub unanswerable: Vec<String>,
}

impl Connected {
    /// Returns true if no window was refused for budget, and none would be.
    pub fn is_within_budget(&self) -> bool {
        self.refused.is_empty() && self.was_refused.is_empty()
    }

    /// The warnings for the operator: a ledger without its key yet, windows that would be refused, and the
    /// charge that would fit.
    pub fn warnings(&self) -> Vec<String> {
        let was_refused = self.was_refused.iter().map(|refused| {
            let RefusedWindows { release, first, windows, .. } = refused;
            let (windows, they) = if *windows == 1 { ("1 window was".to_owned(), "it stays") } else { (format!("{windows} windows were"), "they stay") };
            format!(
                "release {release}: {windows} refused for budget, the first from {} to {}: {they} refused in this version; once there \
                 is budget (`discreet ledger amend`), a new version asks for all windows again, each at its cost",
                in_utc(first.start()),
                in_utc(first.end())
            )
        });
        let unbound = self.unbound.iter().map(|key| {
            format!(
                "privacy.key: the ledger is not bound to a key yet; the first start binds it to {}, and refuses every other \
                 key from then on",
                key.display()
            )
        });
        let lost = self.lost.iter().map(|floor| {
            format!(
                "a window that starts before the last `ledger repair`, before {}, and has no row in the ledger is lost: it is \
                 never drawn",
                in_utc(*floor)
            )
        });
        let without_token = self.without_token.iter().map(|why| format!("{why}; `discreet run` is refused"));
        let past = self.past_windows.clone();
        let archived = self.lacks_archived.clone();
        let refused = self.refused.iter().map(|shortfall| warning(shortfall, self.renews));
        let above = self.shares_above.iter().cloned();
        let edited = self.edited.iter().chain(&self.unanswerable).cloned();
        let of_ledger = edited.chain(unbound).chain(lost).chain(past).chain(archived).chain(without_token);
        of_ledger.chain(above).chain(was_refused).chain(refused).collect()
    }
}

fn warning(shortfall: &Shortfall, renews: bool) -> String {
    let Shortfall { first, spent, asked, limit, refused, new, .. } = shortfall;
    let (start, end) = (in_utc(first.window.start()), in_utc(first.window.end()));
    let (account, name) = (&first.account, &first.name);
    let lacking = Lacking::of(shortfall);
    let left = match limit.less(spent) {
        // A rest that is left by rounding pays for nothing.
        Ok(left) if left.times(NEGLIGIBLE).is_ok_and(|many| asked.within(&many)) => {
            format!("{} is left{}", in_six_digits(&left, false), lacking.short())
        }
        // A repair charges what was lost, fitting or not.
        _ => format!("the {} of {account} is spent", lacking.word()),
    };
    if lacks_delta(limit, asked) {
        return format!(
            "release {name}: all windows would be refused: account {account} has no delta, which discovered keys, stable means and \
             questions ask for, and an amendment adds none. Give privacy.account another name, and `discreet ledger init` it \
             by this job; who is in both accounts spends both budgets"
        );
    }
    let fits = match new - refused {
        0 => format!("none of them fits: {left}"),
        fits if renews => format!("{fits} of them fit"),
        fits => format!("{fits} of them fit, and then {left}"),
    };
    let (limit, spent, asked) =
        (in_six_digits(limit, true), in_six_digits(spent, true), in_six_digits(asked, true));
    format!(
        "release {name}: {refused} of the {new} windows that it has not released would be refused, the first from {start} to \
         {end}: of {limit} in account {account} {spent} is spent by then, and the window asks for {asked}; {fits}. Leave the \
         release out, or raise the cap with {}, which weakens the promise to these people",
        lacking.amendment(*new)
    )
}

/// The part of a budget that a window lacks, beside its rho or epsilon.
enum Lacking {
    /// No part alone: the cap has one, or both are lacking, of which this is the delta that the window needs.
    Whole(Option<BudgetUnits>),
    /// The rho, beside a delta that suffices.
    Rho,
    /// The delta, of which the account needs this much.
    Delta(BudgetUnits),
}

impl Lacking {
    fn of(shortfall: &Shortfall) -> Lacking {
        let Shortfall { spent, asked, limit, .. } = shortfall;
        let both = [spent, asked, limit].map(PrivacyCost::rho_and_delta);
        let [Some((spent, spent_delta)), Some((asked, asked_delta)), Some((limit, limit_delta))] = both
        else {
            return Lacking::Whole(None);
        };
        let sum = |a: BudgetUnits, b| a.plus("delta", b).unwrap_or(BudgetUnits::UNBOUNDED);
        let needed = sum(spent_delta, asked_delta);
        match (sum(spent, asked) > limit, asked_delta != BudgetUnits::ZERO && needed > limit_delta) {
            (false, true) => Lacking::Delta(needed),
            (true, false) if limit_delta != BudgetUnits::ZERO => Lacking::Rho,
            (_, true) => Lacking::Whole(Some(needed)),
            (_, false) => Lacking::Whole(None),
        }
    }

    fn word(&self) -> &'static str {
        match self {
            Lacking::Whole(_) => "budget",
            Lacking::Rho => "rho",
            Lacking::Delta(_) => "delta for discovered keys, stable means and questions",
        }
    }

    /// Returns the part that does not suffice, in words.
    fn short(&self) -> String {
        match self {
            Lacking::Whole(_) => String::new(),
            Lacking::Rho | Lacking::Delta(_) => format!(", of which the {} does not suffice", self.word()),
        }
    }

    /// Returns the amendment for this many windows, in words.
    fn amendment(&self, windows: u64) -> String {
        let pays = if windows > 1 { " (which pays for this window alone)" } else { "" };
        match self {
            Lacking::Rho | Lacking::Whole(None) => "`discreet ledger amend`".to_owned(),
            Lacking::Whole(Some(needed)) => {
                format!(
                    "`discreet ledger amend` and its --delta-for-keys, {} or more{pays}",
                    ceiling(*needed)
                )
            }
            Lacking::Delta(needed) => {
                format!(
                    "`discreet ledger amend --delta-for-keys {}` or more{pays}, {NO_LESS_RHO}",
                    ceiling(*needed)
                )
            }
        }
    }
}

/// Returns true if a delta is asked of an account that has none.
fn lacks_delta(limit: &PrivacyCost, asked: &PrivacyCost) -> bool {
    match (limit.rho_and_delta(), asked.rho_and_delta()) {
        (Some((_, limit)), Some((_, asked))) => limit == BudgetUnits::ZERO && asked != BudgetUnits::ZERO,
        _ => false,
    }
}

impl Job {
    /// Examines the ledger and its key as a run does at its start, and the budget that is spent. Changes
    /// nothing, and reads no record.
    ///
    /// # Errors
    ///
    /// Any reason to refuse a run that writes to `out`: no ledger, one that is behind its anchor or that
    /// file, another key, an account that the ledger states otherwise, no directory for the anchor.
    pub fn connect(&self, out: Option<&Path>) -> Result<Connected, RunError> {
        let (mut ledger, out) = (self.ledger()?, publish::named(out));
        // In the order of a run.
        let published = out.map(|path| self.inspect_output(path, &ledger)).transpose()?.unwrap_or_default();
        // A new file may go on behind those that a rotation made of it.
        let is_new = out.is_some_and(|out| !published.files.iter().any(|file| file == out));
        let archived = if is_new { ledger.archived()? } else { None };
        let lacks = archived.filter(|(until, _)| published.newest.is_none_or(|(held, _)| held < *until));
        let lacks_archived = lacks.map(|archived| self.lacking(archived));
        let key = &self.privacy.key;
        let bound = ledger.is_bound(&LedgerKey::open(key)?).map_err(|trouble| trouble.about("key", key))?;
        self.compare_witnesses(&mut ledger, published)?;
        let (offers, asks) = (self.release_plans(self.horizon())?, self.ask_plans(self.horizon())?);
        self.check_version_terms(&mut ledger, (&offers, &asks))?;
        let account = &self.privacy.account;
        let settled = ledger.settled(&self.name)?;
        // A live run that goes on reads from there, and releases no window of which it lacks records.
        let positions = match self.is_read_once() {
            true => None,
            false => resume_positions(&mut ledger, &LedgerKey::open(key)?, &self.name)?,
        };
        let resumed = match positions {
            Some(positions) => Some((positions, self.reading((&offers, &asks), SystemClock.now())?)),
            None => None,
        };
        let mut asked: Vec<(Released, Charge)> = Vec::new();
        for offer in &offers {
            let schedule = &offer.schedule;
            let (terms, charge) = self.terms_and_charge(offer)?;
            let version = Digest::of_version(offer.version, terms.digest());
            // Windows before the newest one of this version are not drawn any more.
            let passed = settled.get(&(offer.name.clone(), version));
            let whole = resumed
                .as_ref()
                .map(|(positions, reading)| positions.whole_since((&offer.name, &version), reading));
            let first = schedule.resumed(passed.copied(), whole.unwrap_or(Time::MIN));
            let most = if schedule.is_bounded() { EXAMINED_WINDOWS * 10 } else { EXAMINED_WINDOWS };
            let last = schedule.count().min(first.saturating_add(most));
            asked.extend((first..last).map_while(|number| schedule.window(number)).map(|window| {
                let (account, job, name) = (account.clone(), self.name.clone(), offer.name.clone());
                (Released { account, job, version, name, window, part: None }, charge.clone())
            }));
        }
        asked.extend(asks.iter().map(|ask| {
            let version = ask.version_digest();
            let (account, job, name) = (account.clone(), self.name.clone(), ask.name.clone());
            let window = ask.life;
            (Released { account, job, version, name, window, part: None }, ask.charge.clone())
        }));
        // These windows are lost, and nothing is charged for them.
        let floor = ledger.floor()?.unwrap_or(Time::MIN);
        let is_first = settled.is_empty();
        let past_windows = if is_first { self.past_windows(&offers, SystemClock.now(), floor) } else { None };
        let lost = asked.iter().any(|(release, _)| release.window.start() < floor).then_some(floor);
        asked.retain(|(release, _)| release.window.start() >= floor);
        // In the order in which they would be released.
        asked.sort_by_key(|(release, _)| release.window.end());
        let unbound = (!bound).then(|| key.clone());
        let received = self.source.http.as_ref().map(sources::access_token);
        let tokens = [
            self.watch_token().err(),
            self.analyst_tokens().err(),
            received.and_then(Result::err).map(RunError::from),
        ];
        let without_token = tokens.iter().flatten().map(ToString::to_string).collect();
        let renews = matches!(self.account().promise(), Promise::Any(_) | Promise::Each(_));
        let questions = self.with_questions(&asks);
        let unfinished = self.unfinished_in(&mut ledger, (&offers, &questions), SystemClock.now())?;
        let (edited, unanswerable) = self.checked_questions(&mut ledger, &questions)?;
        let (left, was_refused) = self.left_in(&mut ledger)?;
        let refused = ledger.shortfalls(account, asked)?;
        // Windows of a time that others have not paid for may fit all the same.
        let is_short = !refused.is_empty() || !was_refused.is_empty();
        let cap = ledger.accounts()?.into_iter().find(|known| known.name() == account);
        let shares_above = left.as_ref().filter(|_| is_short).zip(cap);
        let shares_above = shares_above.and_then(|(left, known)| self.shares_above(left, known.cap()));
        Ok(Connected {
            refused,
            renews,
            unbound,
            lost,
            lacks_archived,
            past_windows,
            without_token,
            unfinished,
            was_refused,
            left,
            shares_above,
            edited,
            unanswerable,
        })
    }

    /// Returns the words about each question of a file whose id has the answer of another one in the ledger, and about each one that
    /// cannot be answered beside its answers.
    fn checked_questions(
        &self,
        ledger: &mut Ledger,
        asks: &[(AskPlan, QuestionInput)],
    ) -> Result<(Vec<String>, Vec<String>), RunError> {
        const TOGETHER: i64 = 500;
        let (mut edited, mut after) = (Vec::new(), 0);
        if self.asks.iter().all(|ask| ask.questions.is_none()) {
            return Ok((edited, Vec::new()));
        }
        let mut answered: Vec<AnsweredQuestions> =
            asks.iter().map(|_| AnsweredQuestions::default()).collect();
        let mut add = |row: &Row| {
            asks.iter().zip(&mut answered).for_each(|((ask, _), answered)| answered.add(ask, row));
        };
        ledger.undelivered(&self.name)?.iter().for_each(&mut add);
        loop {
            let rows = ledger.delivered_after(&self.name, after, TOGETHER)?;
            let Some(last) = rows.last() else { break };
            after = last.sequence();
            for row in rows.iter().filter(|row| row.release().part.is_some()) {
                let release = row.release();
                let of_row = |(ask, _): &&(AskPlan, _)| {
                    ask.name == release.name && ask.version_digest() == release.version
                };
                edited.extend(asks.iter().find(of_row).and_then(|(_, questions)| questions.answered(row)));
                add(row);
            }
        }
        Ok((edited, self.unanswerable(asks, &answered)))
    }

    /// Opens each file of a path, as a run of the job does, and reads none. Returns a warning for each symbolic link that
    /// leads to no file.
    ///
    /// # Errors
    ///
    /// If there is no file, or one that cannot be read.
    pub fn try_source(&self, path: &Path) -> Result<Vec<String>, RunError> {
        let warning = |link: PathBuf| {
            format!(
                "source.path: {}: it is a symbolic link that leads to no file: `discreet replay` is refused, and windows of \
                 `discreet run` stay open; mend or remove it, or give a path that does not match it",
                link.display()
            )
        };
        Ok(sources::try_files(path)?.into_iter().map(warning).collect())
    }

    /// Returns the warning that a first live run at this time would release windows that ended long ago, each
    /// at its cost, from this floor on. A job all of whose windows have ended is one of the past; and windows
    /// in which a pipe was not connected are skipped, at no cost.
    pub(super) fn past_windows(&self, offers: &[ReleasePlan], now: Time, floor: Time) -> Option<String> {
        let from = self.from.filter(|_| !self.is_read_once())?;
        let closed = now.saturating_sub(self.source.late.map_or(0, Span::as_microseconds));
        let ended = |offer: &ReleasePlan, time| {
            let schedule = &offer.schedule;
            schedule.first_ending_after(time).saturating_sub(schedule.first_starting_at(floor))
        };
        let is_over = |offer: &ReleasePlan| {
            let schedule = &offer.schedule;
            schedule.is_bounded() && schedule.first_ending_after(closed) == schedule.count()
        };
        let long_ago = closed.saturating_sub(LONG_AGO);
        if offers.iter().all(|offer| is_over(offer) || ended(offer, long_ago) == 0) {
            return None;
        }
        // All totals of a release are charged once, however many they are.
        let is_each = |offer: &&ReleasePlan| {
            self.terms_and_charge(offer).is_ok_and(|(_, charge)| matches!(charge, Charge::Cost(_)))
        };
        let windows: u64 = offers.iter().filter(is_each).map(|offer| ended(offer, closed)).sum();
        if windows == 0 {
            return None;
        }
        let from = in_utc(from);
        let windows = if windows == 1 { "1 window".to_owned() } else { format!("{windows} windows") };
        Some(format!(
            "job.from: {windows} since {from} ended before now, and the job has released none: the first start of `discreet run` \
             releases and charges them all, also those of which the source has no record; set from near now, unless the source \
             has their records"
        ))
    }

    /// Returns true if the source is standard input or a pipe, which no run reads again.
    pub(in crate::job) fn is_read_once(&self) -> bool {
        match self.source.records.place() {
            Some(SourcePlace::Stdin) => true,
            Some(SourcePlace::Files(path)) => publish::is_pipe(path),
            None => false,
        }
    }

    /// Returns the error of a second run of this job, if the job is running. Where the ledger cannot say so,
    /// there is none.
    pub fn running_already(&self) -> Option<RunError> {
        self.ledger().ok()?.running(&self.name).ok()?.map(RunError::from)
    }

    /// Returns the text of the token that each request to the pages of a run carries, if any.
    ///
    /// # Errors
    ///
    /// If its file cannot be read, or holds no token.
    pub fn watch_token(&self) -> Result<Option<String>, RunError> {
        self.watch.token.as_deref().map(|path| token_in("watch.token.file", path)).transpose()
    }

    /// Reads the tokens of the analysts who may ask over HTTP, each with the index of the bundle and the name.
    ///
    /// # Errors
    ///
    /// If a file cannot be read, or holds no token.
    pub fn analyst_tokens(&self) -> Result<Vec<(usize, String, String)>, RunError> {
        let of_bundle = |(bundle, ask): (usize, &AskSpec)| {
            let tokens = ask.tokens.clone().into_iter();
            tokens.map(move |(name, path)| Ok((bundle, name, token_in("ask.tokens", &path)?)))
        };
        self.asks.iter().enumerate().flat_map(of_bundle).collect()
    }

    /// Examines the output of a run.
    fn inspect_output(&self, out: &Path, ledger: &Ledger) -> Result<sinks::Witness, RunError> {
        self.keeps_apart("--out", out, None)?;
        sinks::witness_in(out, ledger.name()).map_err(of_out)
    }

    /// Compares the ledger with its anchor and with the newest row of an output, where they exist.
    fn compare_witnesses(&self, ledger: &mut Ledger, output: sinks::Witness) -> Result<(), RunError> {
        let anchor = self.privacy.anchor.as_deref();
        let journal = anchor.map(|path| Journal::open(path, ledger.name())).transpose()?;
        let newest =
            output.newest.map(|(sequence, chain)| Anchor { ledger: *ledger.name(), sequence, chain });
        let seen: Vec<Anchor> = journal.iter().filter_map(Journal::newest).chain(newest).collect();
        let is_there = journal.as_ref().is_some_and(Journal::is_there);
        let written = output.files.iter().map(PathBuf::as_path);
        let files: Vec<&Path> = anchor.filter(|_| is_there).into_iter().chain(written).collect();
        Ok(compare(ledger, &self.privacy.ledger, (&seen, output.unclosed.as_ref()), &files)?)
    }
}

/// Reads the text of a token from a file, which a field names.
fn token_in(field: &'static str, path: &Path) -> Result<String, RunError> {
    let text = fs::read_to_string(path).map_err(|error| {
        let found = found_by(&error);
        RunError::configuration(format!(
            "{field}: {}: found {found}; give a file with the token",
            path.display()
        ))
    })?;
    AccessToken::new(field, &text)
        .map_err(|invalid| RunError::configuration(format!("{}: {invalid}", path.display())))?;
    Ok(text)
}
