//! Audits of jobs: canaries in a copy of each release, and tests of what the copy has released.
//!
//! ```text
//! Job ─copy─▶ one release, of reserved keys ─replay─▶ lines, rows ─read─▶ residuals, scores ─test─▶ Findings
//!               canaries, by fair coins ──┘
//! ```
//!
//! The copy goes the whole way of a release: reading, bounding, noise, gate, ledger and delivery. Its ledger is thrown away, so
//! an audit costs nothing, and says nothing of anybody.

mod canaries;
mod copy;
mod findings;
mod released;

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

pub use findings::{AuditTest, Findings, ReleaseFindings};

use super::config::{Job, Mistakes};
use super::release_plan::ReleasePlan;
use super::run::Replay;
use super::unfit::UnfitJob;
use crate::accounting::{DiscreteLaplaceCost, PrivacyCost, Promise, gdp};
use crate::audit::{
    Guesses, TradeOff, another_law, epsilon_of_mu, refuting_count, repeated_noise, too_little_noise,
    too_much_shift,
};
use crate::dataflow::RunError;
use crate::invalid::{Invalid, InvalidKind};
use crate::ledger::{Ledger, LedgerKey, Name, Row};
use canaries::Coins;
use copy::{AuditCopy, LoneCopy};
use released::{ReleasedNumbers, ReleasedRows};

/// The delta at which a bound of mu is stated as an epsilon.
const DELTA: f64 = 1e-5;

/// The delta at which (epsilon, delta) is tested: with a larger one no number of guesses refutes anything at usual levels.
const SMALL: f64 = 1e-9;

/// The number of tests of a release at most, among which its level is divided.
const TESTS: f64 = 7.0;

/// The number of people alone with keys, for each canary; and the most lines of them.
const ALONE: u64 = 10;
const MOST_LINES: u64 = 1_000_000;

/// An audit of a job, in a copy of each of its releases.
///
/// ```no_run
/// use discreet::job::Audit;
///
/// Audit::of("config/access_log.toml")?.run()?.assert();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Audit {
    job: Job,
    canaries: u64,
    level: f64,
    release: Option<Name>,
    workers: usize,
    seed: Option<[u8; 32]>,
}

impl Audit {
    /// Reads the job file that is to be audited.
    ///
    /// # Errors
    /// Every mistake in the file, each at its place.
    pub fn of(path: impl AsRef<Path>) -> Result<Audit, Mistakes> {
        Ok(Audit::of_job(Job::open(path)?))
    }

    /// Audits a job with 10,000 canaries at level 1e-4.
    pub fn of_job(job: Job) -> Audit {
        Audit { job, canaries: 10_000, level: 1e-4, release: None, workers: 1, seed: None }
    }

    /// Sets the number of canaries of each release.
    ///
    /// # Errors
    /// Names `canaries` unless there are 100 to 1,000,000.
    pub fn canaries(self, canaries: u64) -> Result<Audit, Invalid> {
        let kind = if canaries < 100 { InvalidKind::TooSmall } else { InvalidKind::TooLarge };
        match canaries {
            100..=1_000_000 => Ok(Audit { canaries, ..self }),
            _ => Err(Invalid::new("canaries", kind, "a number from 100 to 1,000,000")),
        }
    }

    /// Sets the probability with which an honest job is refuted at most.
    ///
    /// # Errors
    /// Names `level` unless it is from 1e-12 to a tenth.
    pub fn level(self, level: f64) -> Result<Audit, Invalid> {
        match level {
            level if (1e-12..=0.1).contains(&level) => Ok(Audit { level, ..self }),
            level if level.is_nan() => {
                Err(Invalid::new("level", InvalidKind::Nan, "a number from 1e-12 to 0.1"))
            }
            level => {
                let kind = if level < 1e-12 { InvalidKind::TooSmall } else { InvalidKind::TooLarge };
                Err(Invalid::new("level", kind, "a number from 1e-12 to 0.1"))
            }
        }
    }

    /// Audits this release alone.
    ///
    /// # Errors
    /// Names `release` where the job has none of this name.
    pub fn release(self, name: &str) -> Result<Audit, Invalid> {
        let found =
            self.job.releases.iter().map(|release| &release.name).find(|found| found.as_str() == name);
        match found.cloned() {
            Some(found) => Ok(Audit { release: Some(found), ..self }),
            None => Err(Invalid::new("release", InvalidKind::Missing, "the name of a release of the job")),
        }
    }

    /// Sets the number of workers of each replay.
    #[must_use]
    pub fn workers(self, workers: usize) -> Audit {
        Audit { workers, ..self }
    }

    /// Throws the coins of canaries by a seed, and not by the operating system: an audit that is to be repeated. The noise is
    /// another one each time.
    #[must_use]
    pub fn seed(self, seed: [u8; 32]) -> Audit {
        Audit { seed: Some(seed), ..self }
    }

    /// Runs the audit.
    ///
    /// # Errors
    /// If the job, or a copy of it, cannot run.
    pub fn run(&self) -> Result<Findings, RunError> {
        let plans = self.job.release_plans(self.job.horizon())?;
        let is_asked = |plan: &&ReleasePlan| self.release.as_ref().is_none_or(|name| *name == plan.name);
        let asked = plans.iter().filter(is_asked).count().max(1) as f64;
        let level = self.level / asked / TESTS;
        let (mut releases, mut not_audited) = (Vec::new(), Vec::new());
        for (release, plan) in self.job.releases.iter().zip(&plans) {
            if !is_asked(&plan) {
                continue;
            }
            let place = Directory::make(plan.name.as_str())?;
            match AuditCopy::of(&self.job, (release, plan), self.canaries, &place.0)? {
                Ok(copy) => {
                    let mut found = self.audit(&copy, &place, level)?;
                    let alone = Directory::make(plan.name.as_str())?;
                    if let Some(lone) = LoneCopy::of(&self.job, (release, plan), &alone.0)? {
                        found.tests.push(self.audit_keys(&lone, &alone, level)?);
                    }
                    releases.push(found);
                }
                Err(why) => not_audited.push((plan.name.to_string(), why.to_owned())),
            }
        }
        for ask in &self.job.asks {
            not_audited.push((ask.name.to_string(), "its numbers are answers to questions".to_owned()));
        }
        Ok(Findings { releases, not_audited, level: self.level })
    }

    fn audit(&self, copy: &AuditCopy, place: &Directory, level: f64) -> Result<ReleaseFindings, RunError> {
        let coins = Coins::of(&self.coin_seed()?, self.canaries);
        let path = place.canaries();
        canaries::write(&path, (&copy.slots, &copy.shape, &coins), &copy.plan)
            .map_err(|error| place.unwritable(&error))?;
        let (lines, rows, spent) = self.replayed(&copy.job, place)?;
        let rows = ReleasedRows::of(copy, &rows, spent);
        let refused = |invalid: Invalid| RunError::from(UnfitJob::at("noise", &invalid));
        let Some(numbers) = ReleasedNumbers::read(copy, &lines).map_err(refused)? else {
            return Err(RunError::configuration(format!(
                "audit: {}: no line of the copy has a number",
                copy.plan.name
            )));
        };
        Ok(self.findings(copy, &coins, (&numbers, &rows), level))
    }

    /// Audits the keys that a release discovers: with probability delta at most, a person alone with some makes one of them
    /// known.
    fn audit_keys(&self, copy: &LoneCopy, place: &Directory, level: f64) -> Result<AuditTest, RunError> {
        let keys = copy.shape.keys;
        let canaries = (ALONE * self.canaries).min(MOST_LINES / (keys * copy.shape.records).max(1)).max(1);
        canaries::write_alone(&place.canaries(), (canaries, &copy.shape), &copy.plan)
            .map_err(|error| place.unwritable(&error))?;
        let (lines, ..) = self.replayed(&copy.job, place)?;
        let found = released::people_of(&lines, keys).len() as u64;
        let allowed = refuting_count(canaries, copy.delta, level);
        Ok(AuditTest {
            name: "keys",
            measured: format!("{found} of {canaries} people alone with a key found"),
            limit: format!("{allowed} or more, at delta {:.1e}", copy.delta),
            refuted: found >= allowed,
            p: None,
            ratio: None,
        })
    }

    /// Replays a copy over the canaries in its directory; returns its lines, its rows, and what its account has spent, if that is
    /// of all time.
    fn replayed(
        &self,
        copy: &Job,
        place: &Directory,
    ) -> Result<(String, Vec<Row>, Option<PrivacyCost>), RunError> {
        let (ledger, key) = (&copy.privacy.ledger, LedgerKey::create(&copy.privacy.key)?);
        Ledger::create_alone(ledger)?.register(copy.account())?;
        let out = place.0.join("lines.jsonl");
        let (workers, to) = (self.workers, Some(out.clone()));
        copy.replay(Replay { workers, out: to, unfinished: true, ..Replay::default() })?;
        let mut ledger = Ledger::open_with_key(ledger, &key)?;
        let (rows, account) = (ledger.rows_of(&copy.name)?, copy.account());
        let is_of_all_time = matches!(account.promise(), Promise::Lifetime | Promise::Windows(_));
        let window = rows.last().map(|row| row.release().window).filter(|_| is_of_all_time);
        let spent = window.map(|window| ledger.spent(account.name(), window)).transpose()?;
        let lines = fs::read_to_string(&out).map_err(|error| place.unwritable(&error))?;
        Ok((lines, rows, spent.map(|(spent, _)| spent)))
    }

    fn findings(
        &self,
        copy: &AuditCopy,
        coins: &Coins,
        (numbers, rows): (&ReleasedNumbers, &ReleasedRows),
        level: f64,
    ) -> ReleaseFindings {
        let (keys, noise) = (copy.shape.keys, &numbers.noise);
        let moved = copy.shape.moved.unsigned_abs();
        let shift = moved as f64 * (keys as f64).sqrt() / noise.deviation();
        let residuals = numbers.residuals(copy, coins);
        let in_deviations = |cells: &Vec<i64>| -> Vec<f64> {
            cells.iter().map(|residual| *residual as f64 / noise.deviation()).collect()
        };
        let by_window: Vec<Vec<f64>> = residuals.iter().map(in_deviations).collect();
        let all: Vec<f64> = by_window.iter().flatten().copied().collect();
        let scores = numbers.scores(copy, coins);
        let excess = noise.excess();
        let mut tests = vec![
            AuditTest::of_law(
                ("noise", "of the stated deviation"),
                true,
                (too_little_noise(&all, excess, level), level, 1.0),
            ),
            AuditTest::of_law(
                ("shift", &format!("deviations, {shift:.4} is stated")),
                false,
                (too_much_shift(&scores, shift, level), level, shift),
            ),
        ];
        let mut steps: Vec<i64> = residuals.into_iter().flatten().collect();
        let mut law = AuditTest::of_law(
            ("law", "from the stated law at most"),
            false,
            (another_law(&mut steps, |at| noise.up_to(at), level), level, 1.0),
        );
        law.ratio = None;
        tests.push(law);
        if let Some((first, others)) = by_window.split_first().filter(|(_, others)| !others.is_empty()) {
            let former: Vec<f64> =
                first.iter().chain(others.iter().take(others.len() - 1).flatten()).copied().collect();
            let next: Vec<f64> = others.iter().flatten().copied().collect();
            // Differences next to each other share a window, by which the variance of their sum of squares is half as
            // large again: as with an excess of 2 more.
            let test = repeated_noise(&former, &next, excess + 2.0, level);
            tests.push(AuditTest::of_law(("windows", "of it between neighbours"), true, (test, level, 1.0)));
        }
        tests.extend(self.guesses(copy, (numbers, &scores), level));
        let mut mistakes = numbers.mistakes.clone();
        match rows.charged.as_ref().and_then(|charged| charge(copy, numbers, charged)) {
            Some(charge) => tests.push(charge),
            None => mistakes.push("no charge in the rows that the noise can be compared with".to_owned()),
        }
        tests.extend(rows.charged.as_ref().zip(rows.spent.as_ref()).and_then(account));
        if rows.rows != numbers.windows.len() {
            mistakes.push(format!("{} rows of {} windows", rows.rows, numbers.windows.len()));
        }
        ReleaseFindings {
            name: copy.plan.name.to_string(),
            windows: numbers.windows.len() as u64,
            keys,
            canaries: self.canaries,
            noise: format!("{} noise of scale {}", numbers.kind, six(numbers.scale)),
            shift,
            tests,
            level,
            mistakes,
        }
    }

    /// Returns the tests of guesses: by the curve of the stated noise, and by (epsilon, delta) alone.
    fn guesses(
        &self,
        copy: &AuditCopy,
        (numbers, scores): (&ReleasedNumbers, &[(f64, bool)]),
        level: f64,
    ) -> [AuditTest; 2] {
        // A tenth: fewer cannot refute, and more are guessed by chance.
        let guesses = Guesses::from_scores(scores, (self.canaries / 10) as usize);
        let moved = copy.shape.moved.unsigned_abs() as f64;
        let curve = numbers.noise.trade_off(copy.shape.moved.unsigned_abs(), copy.shape.keys);
        let mu = guesses.least_mu(level);
        let bound = match mu {
            0.0 => "mu above 0".to_owned(),
            mu => format!("mu above {mu:.4}, epsilon {:.4} at {DELTA:e}", epsilon_of_mu(mu, DELTA)),
        };
        let by_curve = (guesses.refute(&curve, level), bound);
        // What this noise is worth to one canary, whose window it has paid for.
        let (epsilon, delta) = match (&curve, numbers.kind == "laplace") {
            (TradeOff::Gaussian { mu }, _) => (epsilon_of_mu(*mu, SMALL), SMALL),
            (_, true) => (moved * copy.shape.keys as f64 / numbers.scale, 0.0),
            _ => (epsilon_of_mu(moved / numbers.scale, SMALL), SMALL),
        };
        let least = guesses.least_epsilon(delta, level);
        let at = if delta == 0.0 { String::new() } else { format!(" at delta {delta:e}") };
        let by_epsilon = (least > epsilon, format!("epsilon above {least:.4}{at}"));
        [
            AuditTest::of_guesses("one run, f", guesses, by_curve),
            AuditTest::of_guesses("one run", guesses, by_epsilon),
        ]
    }

    fn coin_seed(&self) -> Result<[u8; 32], RunError> {
        if let Some(seed) = self.seed {
            return Ok(seed);
        }
        let mut seed = [0; 32];
        getrandom::fill(&mut seed)
            .map_err(|error| RunError::configuration(format!("audit: no randomness for coins: {error}")))?;
        Ok(seed)
    }
}

/// Compares the price of the noise in the lines with the charges of their rows, for a person who is in as many windows as
/// the bound allows.
fn charge(copy: &AuditCopy, numbers: &ReleasedNumbers, charged: &PrivacyCost) -> Option<AuditTest> {
    let (moved, keys) = (copy.shape.moved.unsigned_abs(), copy.shape.keys as f64);
    let windows = numbers.windows.len() as f64;
    let windows = copy.plan.bound.checked().ok()?.windows().map_or(windows, |most| windows.min(most as f64));
    let is_laplace = numbers.kind == "laplace";
    // What noise of a scale is worth to a canary that moves a number.
    let worth = |moved: u64, scale: f64| -> Option<f64> {
        let ratio = moved as f64 / scale;
        Some(match charged {
            PrivacyCost::Pure { .. } => ratio,
            PrivacyCost::Zcdp { .. } if is_laplace => DiscreteLaplaceCost::new(scale, moved).ok()?.rho(),
            PrivacyCost::Gaussian { .. } if is_laplace => gdp::mu_of_pure(ratio).ok()?.powi(2) / 2.0,
            _ => ratio * ratio / 2.0,
        })
    };
    let (word, paid) = match charged {
        PrivacyCost::Pure { epsilon } => ("epsilon", epsilon.to_float_up()),
        PrivacyCost::Zcdp { rho, .. } | PrivacyCost::Gaussian { rho, .. } => ("rho", rho.to_float_up()),
        _ => return None,
    };
    // All keys of a canary are below one of the level above.
    let above = match numbers.above {
        Some(scale) => worth(moved * copy.shape.keys, scale)?,
        None => 0.0,
    };
    let worth = worth(moved, numbers.scale)? * keys + above;
    Some(AuditTest {
        name: "charge",
        measured: format!("noise worth {word} {}", six(worth * windows)),
        limit: format!("charged {}", six(paid)),
        refuted: worth * windows > paid * (1.0 + 1e-9),
        p: None,
        ratio: None,
    })
}

/// Compares the charges of the rows with what their account has spent, where both are in one currency.
fn account((charged, spent): (&PrivacyCost, &PrivacyCost)) -> Option<AuditTest> {
    let (word, charged, spent) = match (charged, spent) {
        (PrivacyCost::Pure { epsilon }, PrivacyCost::Pure { epsilon: spent }) => ("epsilon", epsilon, spent),
        (PrivacyCost::Zcdp { rho, .. }, PrivacyCost::Zcdp { rho: spent, .. })
        | (PrivacyCost::Gaussian { rho, .. }, PrivacyCost::Gaussian { rho: spent, .. }) => {
            ("rho", rho, spent)
        }
        _ => return None,
    };
    Some(AuditTest {
        name: "account",
        measured: format!("{word} {} spent", six(spent.to_float_up())),
        limit: format!("below {} of its rows", six(charged.to_float_up())),
        refuted: spent < charged,
        p: None,
        ratio: None,
    })
}

/// Returns a number with six digits.
fn six(number: f64) -> String {
    let digits = (5 - number.abs().log10().floor() as i32).clamp(0, 12) as usize;
    format!("{number:.digits$}")
}

/// A directory that is removed when this is dropped.
struct Directory(PathBuf);

impl Directory {
    fn make(name: &str) -> Result<Directory, RunError> {
        static MADE: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        let number = MADE.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let path =
            std::env::temp_dir().join(format!("discreet-audit-{}-{number}-{name}", std::process::id()));
        let made = Directory(path);
        fs::DirBuilder::new().mode(0o700).create(&made.0).map_err(|error| made.unwritable(&error))?;
        Ok(made)
    }

    /// Returns the file of the records of canaries.
    fn canaries(&self) -> PathBuf {
        self.0.join("canaries.jsonl")
    }

    fn unwritable(&self, error: &std::io::Error) -> RunError {
        let place = self.0.display();
        RunError::configuration(format!(
            "audit: {place}: {error}; set TMPDIR to a directory that can be written"
        ))
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // What cannot be removed lies in a directory for temporary files, and is of nobody.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests;
