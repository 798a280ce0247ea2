//! Audits of jobs whose lines are as they are, and of the same lines with a mistake in them.
//!
//! The noise of a run is another one each time, so every audit here is at level 1e-9.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::job::test_jobs::csv_job;

const LEVEL: f64 = 1e-9;

/// A job of four days with one release.
fn audit(budget: &str, release: &str) -> Audit {
    let release = format!("[[release]]\nname = \"visits\"\n{release}\n");
    let job = Job::parse("audited.toml", &csv_job("audited", 4, budget, &release)).unwrap();
    Audit::of_job(job).canaries(1_000).unwrap().level(LEVEL).unwrap()
}

const PAIR: &str = "epsilon = 1, delta = 1e-6";

const COUNT: &str = "every = \"1 day\"\ncount = { by = \"page\", keys = [\"a\", \"b\", \"c\", \"d\"] }\nbound = { keys = 4, per_key = 3 }\n\
                     noise = \"gaussian\"\nshare = 0.5";

/// The numbers that an audit of the only release has read.
struct Released {
    audit: Audit,
    copy: AuditCopy,
    coins: Coins,
    numbers: ReleasedNumbers,
    rows: ReleasedRows,
    lines: String,
}

impl Released {
    fn of(audit: Audit) -> Released {
        let plans = audit.job.release_plans(audit.job.horizon()).unwrap();
        let place = Directory::make("test").unwrap();
        let release = (&audit.job.releases[0], &plans[0]);
        let copy = AuditCopy::of(&audit.job, release, audit.canaries, &place.0).unwrap().ok().unwrap();
        let coins = Coins::of(&[7; 32], audit.canaries);
        canaries::write(&place.canaries(), (&copy.slots, &copy.shape, &coins), &copy.plan).unwrap();
        let (lines, rows, spent) = audit.replayed(&copy.job, &place).unwrap();
        let rows = ReleasedRows::of(&copy, &rows, spent);
        let numbers = ReleasedNumbers::read(&copy, &lines).unwrap().unwrap();
        Released { audit, copy, coins, numbers, rows, lines }
    }

    fn findings(&self) -> ReleaseFindings {
        self.audit.findings(&self.copy, &self.coins, (&self.numbers, &self.rows), LEVEL / TESTS)
    }

    /// Returns the names of the tests that refute the same numbers with a mistake: each number is made of its noise, of what
    /// it would be without, and of the noise of the same key in the first window.
    fn refuted_with(&self, mistake: fn(f64, f64, f64) -> f64) -> Vec<&'static str> {
        self.refuted_at(LEVEL / TESTS, mistake)
    }

    fn refuted_at(&self, level: f64, mistake: fn(f64, f64, f64) -> f64) -> Vec<&'static str> {
        let expected = self.numbers.expected(&self.copy, &self.coins);
        let residuals = self.numbers.residuals(&self.copy, &self.coins);
        let mut numbers = ReleasedNumbers::read(&self.copy, &self.lines).unwrap().unwrap();
        for (window, cells) in numbers.windows.iter_mut().enumerate() {
            for (cell, number) in cells.iter_mut().enumerate() {
                let noise = [residuals[window][cell], residuals[0][cell]].map(|noise| noise as f64);
                let made = mistake(noise[0], expected[window][cell] as f64, noise[1]);
                *number = Some(made.round() as i64);
            }
        }
        let findings = self.audit.findings(&self.copy, &self.coins, (&numbers, &self.rows), level);
        findings.tests.iter().filter(|test| test.refuted).map(|test| test.name).collect()
    }
}

// Refutes an audit that takes another law, another price, or another order of keys for a mistake.
#[test]
fn honest_releases_are_not_refuted() {
    let day = "every = \"1 day\"\nnoise = \"gaussian\"\nshare = 0.5\n";
    let laplace = day.replace("gaussian", "laplace");
    for (budget, release) in [
        (PAIR, COUNT.to_owned()),
        (PAIR, format!("{day}people = {{}}")),
        (PAIR, format!("{day}people = {{}}\nbound = {{ windows = 2 }}")),
        (PAIR, format!("{day}people = {{ by = \"page\", keys = \"discover\" }}\nbound = {{ keys = 3 }}")),
        (PAIR, format!("{day}sum = {{ of = \"price\", range = [-2.5, 1] }}")),
        (
            PAIR,
            format!(
                "{day}histogram = {{ of = \"price\", edges = [0, 1, 2] }}\nbound = {{ keys = 2, per_key = 2 }}"
            ),
        ),
        (PAIR, format!("{}over = \"2 days\"\ncount = {{}}\nbound = {{ per_key = 2 }}", day)),
        (
            PAIR,
            format!(
                "{day}count = {{ by = [\"page\", \"kind\"], keys = \"discover\", rollup = true }}\nbound = {{ keys = 2, per_key = 1 }}"
            ),
        ),
        ("rho = 0.5", format!("{day}count = {{}}\nbound = {{ per_key = 1 }}").replace("1 day", "all")),
        (
            "epsilon = 2",
            format!("{laplace}people = {{ by = \"page\", keys = [\"a\", \"b\"] }}\nbound = {{ keys = 2 }}"),
        ),
        ("rho = 0.5", format!("{laplace}count = {{}}\nbound = {{ per_key = 2 }}")),
        (PAIR, format!("{laplace}where = \"page = 1\"\nsum = {{ of = \"price\", range = [0, 9] }}")),
    ] {
        let findings = audit(budget, &release).run().unwrap();
        findings.assert();
        let [found] = &findings.releases[..] else { panic!("{findings}") };
        assert!(found.mistakes.is_empty() && found.tests.len() >= 6, "{findings}");
        assert!(findings.not_audited.is_empty(), "{findings}");
    }
}

// Refutes a test that finds nothing: each mistake is found by the tests that are made for it.
#[test]
fn mistakes_of_the_noise_are_found() {
    let released = Released::of(audit("epsilon = 8, delta = 1e-6", COUNT).canaries(10_000).unwrap());
    assert!(!released.findings().refuted());
    assert_eq!(released.refuted_with(|noise, truth, _| noise + truth), [""; 0]);
    let refuted = |mistake| {
        let found = released.refuted_with(mistake);
        move |name: &str| found.contains(&name)
    };
    // A variance for a deviation; a twentieth too little; the number of keys left out.
    assert!(refuted(|noise, truth, _| noise * std::f64::consts::FRAC_1_SQRT_2 + truth)("noise"));
    assert!(refuted(|noise, truth, _| noise * 0.95 + truth)("noise"));
    assert!(refuted(|noise, truth, _| noise / 2.0 + truth)("noise"));
    assert!(refuted(|_, truth, _| truth)("noise"));
    // Half of the sensitivity: each person counts twice for it.
    assert!(refuted(|noise, truth, _| noise + 2.0 * truth)("shift"));
    // Noise that is drawn once, for all windows or in part.
    assert!(refuted(|_, truth, first| first + truth)("windows"));
    assert!(refuted(|noise, truth, first| (noise + first) / 2.0_f64.sqrt() + truth)("windows"));
    // No loss of privacy by itself, and another law.
    let larger = refuted(|noise, truth, _| noise * 1.2 + truth);
    assert!(larger("law") && !larger("noise") && !larger("shift"));
    assert!(refuted(|noise, truth, _| noise.abs() + truth)("law"));
    // A person who is left out is no loss of privacy: the numbers without the noise are another question.
    assert!(!refuted(|noise, _, _| noise)("shift"));
}

// Refutes a run in which guesses of coins find nothing: without noise each is right.
#[test]
fn guesses_find_numbers_without_noise() {
    let released = Released::of(audit(PAIR, COUNT).canaries(10_000).unwrap());
    let found = released.refuted_at(1e-5, |_, truth, _| truth);
    assert!(found.contains(&"one run, f") && found.contains(&"one run"), "{found:?}");
}

// Refutes lines that are not read to the end, and a charge that is not compared.
#[test]
fn mistakes_of_lines_and_rows_are_found() {
    let Released { audit, copy, coins, numbers, mut rows, lines } = Released::of(audit(PAIR, COUNT));
    let read = |lines: &str| ReleasedNumbers::read(&copy, lines).unwrap().unwrap().mistakes;
    assert_eq!(read(&lines), [""; 0]);
    let all: Vec<&str> = lines.lines().collect();
    let joined = |lines: &[&str]| lines.join("\n");
    assert_eq!(read(&joined(&[&all[..], &all[..1]].concat())), ["a second line of a key in a window"]);
    assert_eq!(read(&joined(&all[1..])), ["no line of a key in a window"]);
    assert_eq!(read(&joined(&all[..all.len() - 1])), ["3 windows of 4"]);
    assert_eq!(read(&lines.replacen("audit/", "other/", 1))[0], "a line of a key that is not reserved");
    assert_eq!(
        read(&lines.replacen("\"scale\":", "\"scale\":1", 1))[0],
        "a line with another noise than the first"
    );
    assert_eq!(read(&format!("{lines}nothing"))[0], "a line that is none of a release");

    let refuted = |rows: &ReleasedRows| audit.findings(&copy, &coins, (&numbers, rows), 1e-10).refuted();
    assert!(!refuted(&rows));
    let (cost, paid) = (rows.charged.clone().unwrap(), rows.rows);
    rows.charged = Some(PrivacyCost::Gaussian {
        rho: crate::accounting::BudgetUnits::from_bits(cost.rho_and_delta().unwrap().0.to_bits() / 2),
        delta: crate::accounting::BudgetUnits::ZERO,
    });
    assert!(refuted(&rows), "half of the price");
    rows.charged = Some(cost.clone());
    assert!(!refuted(&rows));
    let spent = rows.spent.replace(PrivacyCost::Gaussian {
        rho: crate::accounting::BudgetUnits::from_bits(cost.rho_and_delta().unwrap().0.to_bits() - 1),
        delta: crate::accounting::BudgetUnits::ZERO,
    });
    assert!(refuted(&rows) && spent == Some(cost.clone()), "an account that has spent less than its rows");
    rows.spent = spent;
    rows.charged = None;
    assert!(refuted(&rows), "no price");
    rows = ReleasedRows { charged: Some(cost), rows: paid - 1, spent: None };
    assert!(refuted(&rows), "a row too few");
}

// Refutes canaries within the bound, by which no record beyond it would be found to count.
#[test]
fn canaries_bring_more_than_counts() {
    let released = Released::of(audit(PAIR, COUNT));
    let plans = released.audit.job.release_plans(released.audit.job.horizon()).unwrap();
    assert_eq!(released.copy.shape.records, plans[0].bound.checked().unwrap().per_key() + 1);
}

// Refutes an audit of another release than the one that is asked for, and one that passes in silence.
#[test]
fn what_is_not_audited_is_said() {
    let quantile = "every = \"1 day\"\nquantile = { of = \"price\", q = 0.5, range = [0, 9], step = 1 }\nbound = { per_key = 1 }\n\
                    noise = \"exponential\"\nshare = 0.5";
    let findings = audit(PAIR, quantile).run().unwrap();
    assert!(findings.releases.is_empty() && !findings.refuted());
    assert!(
        findings.to_string().contains("visits: not audited by canaries: it draws an answer"),
        "{findings}"
    );
    assert!(std::panic::catch_unwind(|| findings.assert()).is_err());
    let running = COUNT.replace("count =", "running = true\ncount =");
    assert_eq!(audit(PAIR, &running).run().unwrap().not_audited.len(), 1);

    let audit = audit(PAIR, COUNT);
    assert_eq!(audit.clone().release("others").unwrap_err().field(), "release");
    assert_eq!(audit.clone().canaries(99).unwrap_err().field(), "canaries");
    assert_eq!(audit.clone().level(0.5).unwrap_err().field(), "level");
    assert_eq!(audit.clone().level(f64::NAN).unwrap_err().field(), "level");
    let seeded = audit.release("visits").unwrap().workers(2).seed([3; 32]);
    let [one, other] = [(); 2].map(|()| seeded.run().unwrap());
    assert!(!one.refuted() && one.releases[0].canaries == other.releases[0].canaries);
    assert_eq!(one.to_json()["releases"][0]["release"], "visits");
}
