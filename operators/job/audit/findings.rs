//! The findings of an audit, and their page.

use std::fmt;
use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::audit::{Guesses, LawTest, canaries_for};

/// The findings about a job.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Findings {
    /// The findings about each audited release.
    pub releases: Vec<ReleaseFindings>,
    /// The names of the releases that were not audited, each with the reason.
    pub not_audited: Vec<(String, String)>,
    /// The probability that an honest job is refuted.
    pub level: f64,
}

/// The findings about one release.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReleaseFindings {
    /// The name of the release.
    pub name: String,
    /// The number of windows with canaries.
    pub windows: u64,
    /// The number of keys of a canary.
    pub keys: u64,
    /// The number of canaries.
    pub canaries: u64,
    /// The law of the noise, as the lines state it.
    pub noise: String,
    /// The number of deviations by which a canary moves its score.
    pub shift: f64,
    /// The tests, in the order of the page.
    pub tests: Vec<AuditTest>,
    /// The level of each test.
    pub level: f64,
    /// The mistakes of lines and rows, of which there should be none.
    pub mistakes: Vec<String>,
}

/// One test of a release.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AuditTest {
    /// The name of the test.
    pub name: &'static str,
    /// What was measured, in words.
    pub measured: String,
    /// What would have been refuted, in words.
    pub limit: String,
    /// True if the claim is refuted.
    pub refuted: bool,
    /// The probability, rounded up, of a result as far off under the claim, where the test has one.
    pub p: Option<f64>,
    /// The number that was measured, over the stated one.
    pub ratio: Option<f64>,
}

impl AuditTest {
    /// States a test of a law, whose number is measured in these words.
    pub(super) fn of_law(
        (name, words): (&'static str, &str),
        below: bool,
        (test, level, stated): (LawTest, f64, f64),
    ) -> AuditTest {
        let side = if below { "below" } else { "above" };
        AuditTest {
            name,
            measured: format!("{:.4} {words}", test.measured),
            limit: format!("{side} {:.4}", test.limit),
            refuted: test.refutes(level),
            p: Some(test.p),
            ratio: Some(test.measured / stated),
        }
    }

    /// States a test of guesses.
    pub(super) fn of_guesses(
        name: &'static str,
        guesses: Guesses,
        (refuted, bound): (bool, String),
    ) -> AuditTest {
        AuditTest {
            name,
            measured: format!("{} of {} guesses right", guesses.right(), guesses.guessed()),
            limit: bound,
            refuted,
            p: None,
            ratio: None,
        }
    }
}

impl Findings {
    /// Returns true if a claim is refuted.
    pub fn refuted(&self) -> bool {
        self.releases.iter().any(ReleaseFindings::refuted)
    }

    /// Fails where a claim is refuted, with the page of findings: for tests of a job.
    ///
    /// # Panics
    /// If a claim is refuted, or no release could be audited.
    #[track_caller]
    pub fn assert(&self) {
        assert!(!self.refuted(), "{self}");
        assert!(!self.releases.is_empty(), "no release of this job can be audited\n{self}");
    }

    /// Returns the findings as one object.
    pub fn to_json(&self) -> Value {
        let not_audited: Vec<Value> =
            self.not_audited.iter().map(|(name, why)| json!({ "release": name, "why": why })).collect();
        json!({
            "refuted": self.refuted(),
            "level": self.level,
            "releases": self.releases.iter().map(ReleaseFindings::to_json).collect::<Vec<_>>(),
            "not_audited": not_audited,
        })
    }
}

impl ReleaseFindings {
    /// Returns true if a claim about this release is refuted.
    pub fn refuted(&self) -> bool {
        !self.mistakes.is_empty() || self.tests.iter().any(|test| test.refuted)
    }

    /// Returns the ratio of the noise that is found with probability 9/10.
    fn found_ratio(&self) -> f64 {
        let cells = self.canaries * self.keys;
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..40 {
            let middle = f64::midpoint(low, high);
            if canaries_for(middle, self.level) <= cells { low = middle } else { high = middle }
        }
        low
    }

    fn to_json(&self) -> Value {
        let tests = self.tests.iter().map(|test| {
            json!({
                "test": test.name,
                "measured": test.measured,
                "limit": test.limit,
                "refuted": test.refuted,
                "p": test.p,
            })
        });
        json!({
            "release": self.name,
            "refuted": self.refuted(),
            "windows": self.windows,
            "keys": self.keys,
            "canaries": self.canaries,
            "noise": self.noise,
            "shift": self.shift,
            "finds_noise_below": self.found_ratio(),
            "tests": tests.collect::<Vec<_>>(),
            "mistakes": self.mistakes,
        })
    }

    /// Returns the likely cause of a refuted law, by the ratio that was measured.
    fn likely(&self) -> Option<String> {
        let test = self.tests.iter().find(|test| test.refuted && test.ratio.is_some())?;
        let ratio = test.ratio?;
        let keys = self.keys as f64;
        let causes = [
            (
                std::f64::consts::FRAC_1_SQRT_2,
                "a variance where a standard deviation belongs, or half of the sensitivity squared",
            ),
            (0.5, "half of the sensitivity, or noise of half of the scale"),
            (2.0, "a person who counts twice, or half of the sensitivity"),
            (keys.sqrt().recip(), "the number of keys of a person left out under Gaussian noise"),
            (keys.recip(), "the number of keys of a person left out under Laplace noise"),
            (0.0, "no noise, or noise that is drawn once for two windows"),
        ];
        let near = causes.iter().find(|(of, _)| (ratio - of).abs() <= 0.02 * of.max(0.5) && *of != 1.0);
        near.map(|(_, cause)| (*cause).to_owned())
    }
}

impl fmt::Display for ReleaseFindings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = |count: u64, one: &str| format!("{count} {one}{}", if count == 1 { "" } else { "s" });
        writeln!(
            f,
            "{}: {}, {} each in {}; {}",
            self.name,
            word(self.canaries, "canary").replace("canarys", "canaries"),
            word(self.keys, "key"),
            word(self.windows, "window"),
            self.noise
        )?;
        for test in &self.tests {
            let verdict = if test.refuted { "REFUTED" } else { "ok" };
            let p = test.p.filter(|_| test.refuted).map_or(String::new(), |p| format!(" (p = {p:.1e})"));
            writeln!(f, "  {:<11} {:<46} {:<42} {verdict}{p}", test.name, test.measured, test.limit)?;
        }
        for mistake in &self.mistakes {
            writeln!(f, "  {:<11} found {mistake:<40} {:<42} REFUTED", "lines", "")?;
        }
        if let Some(likely) = self.likely() {
            writeln!(f, "  likely     {likely}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut page = String::new();
        for release in &self.releases {
            writeln!(page, "{release}")?;
        }
        for (name, why) in &self.not_audited {
            writeln!(page, "{name}: not audited by canaries: {why}")?;
        }
        let ratios = self.releases.iter().map(ReleaseFindings::found_ratio);
        match (self.refuted(), self.releases.is_empty()) {
            (_, true) => writeln!(page, "nothing was audited")?,
            (true, _) => writeln!(
                page,
                "refuted: stop the job; what it has released since the first row of this version says too much"
            )?,
            (false, _) => writeln!(
                page,
                "nothing refuted, at level {:e}. It would have found noise below {:.3} of what is stated, nine times in ten.",
                self.level,
                ratios.fold(1.0, f64::min)
            )?,
        }
        f.write_str(&page)
    }
}
