//! The two accountings of a budget compared: the noise that each release would have in the other one, and the
//! least that Gaussian noise can have.

use serde::Serialize;

use crate::accounting::{DeltaForKeys, Omega, gdp};
use crate::decimal::Decimal;
use crate::job::config::{Accounting, Job, PriceSpec, ReleaseSpec};
use crate::job::release_plan::ReleasePlan;
use crate::job::statistics::{NoiseKind, PreparedStatistic};

/// The noise of a release beside that in the other accounting of the same budget.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ComparedNoise {
    /// The other accounting: `gaussian` or `zcdp`.
    pub other: &'static str,
    /// The scale of the noise over that in the other accounting.
    pub times: f64,
    /// The scale over the least that Gaussian noise has with the same share of this epsilon and delta, where no
    /// delta is for keys: one Gaussian release of all shares attains it. `None` of other noise, and of a stated
    /// cost.
    pub over_least: Option<f64>,
}

/// Compares the noise of each release; `None` for each if the budget has one accounting alone.
pub(super) fn compared(job: &Job, releases: &[PreparedStatistic]) -> Vec<Option<ComparedNoise>> {
    let other = job.in_the_other_accounting();
    let others = other.as_ref().and_then(|(accounting, other)| {
        let plans = other.release_plans(other.horizon()).ok()?;
        let prepared = |plan: &ReleasePlan| plan.prepare(other).ok();
        Some((*accounting, plans.iter().map(prepared).collect::<Vec<_>>()))
    });
    let Some((other, others)) = others else { return vec![None; releases.len()] };
    let least = least(job);
    let scale = |release: &PreparedStatistic| release.noise.first().map(|noise| noise.scale());
    let of = |(index, release): (usize, &PreparedStatistic)| {
        let times = scale(release)? / scale(others.get(index)?.as_ref()?)?;
        let stated = job.releases.get(index)?;
        let is_shared = stated.noise == NoiseKind::Gaussian && matches!(stated.price, PriceSpec::Share(_));
        Some(ComparedNoise { other: other.word(), times, over_least: least.filter(|_| is_shared) })
    };
    releases.iter().enumerate().map(of).collect()
}

/// Returns the scale of Gaussian noise over the least at the epsilon and delta of the budget.
fn least(job: &Job) -> Option<f64> {
    let budget = &job.privacy.budget;
    let all = gdp::limit(budget.epsilon.as_ref()?, budget.delta.as_ref()?, DeltaForKeys::None).ok()?;
    let (own, all) = (job.account().cap().rho_and_delta()?.0, all.rho_and_delta()?.0);
    Some((all.to_float_up() / own.to_float_down()).sqrt())
}

/// The mean factor by which the other accounting must be better to be proposed.
const WORTH: f64 = 1.01;

/// Returns the proposal of another budget or accounting, where it has less noise on the whole.
pub(super) fn proposal(
    job: &Job,
    releases: &[PreparedStatistic],
    compared: &[Option<ComparedNoise>],
) -> Option<String> {
    without_delta(job, releases).or_else(|| of_the_other_accounting(job, compared))
}

/// Returns the proposal of the same epsilon without its delta, where every release has a price in it and there is less noise
/// on the whole: a delta makes room for Gaussian noise, of which there is none.
fn without_delta(job: &Job, releases: &[PreparedStatistic]) -> Option<String> {
    job.privacy.budget.epsilon.as_ref().and(job.privacy.budget.delta.as_ref())?;
    let mut pure = job.clone();
    (pure.privacy.budget.delta, pure.privacy.budget.delta_for_keys) = (None, None);
    (pure.privacy.budget.omega, pure.privacy.accounting) = (Omega::EVERY, None);
    // Paths were resolved, and mean the same beside a file of the working directory.
    let pure = Job::parse("job.toml", &pure.to_string()).ok()?;
    let plans = pure.release_plans(pure.horizon()).ok()?;
    let others = plans.iter().map(|plan| plan.prepare(&pure).ok()).collect::<Option<Vec<_>>>()?;
    let scale = |release: &PreparedStatistic| release.noise.first().map(|noise| noise.scale().ln());
    let times = releases.iter().zip(&others).map(|(own, other)| Some(scale(own)? - scale(other)?));
    let times = times.collect::<Option<Vec<f64>>>()?;
    let mean = times.iter().sum::<f64>() / times.len().max(1) as f64;
    (mean.exp() > WORTH).then(|| {
        format!(
            "privacy.budget: without its delta noise is {:.2} times as large, in the mean of the releases, and more is promised: each of \
             them has a price in epsilon alone; leave out delta before `discreet ledger init`, or keep it as it is once account {} is stated",
            (-mean).exp(),
            job.account().name()
        )
    })
}

/// Returns the proposal of the other accounting, by the geometric mean over the releases and the bundles of answers.
fn of_the_other_accounting(job: &Job, compared: &[Option<ComparedNoise>]) -> Option<String> {
    let known: Vec<&ComparedNoise> = compared.iter().flatten().collect();
    let other = known.first()?.other;
    let (_, other_job) = job.in_the_other_accounting()?;
    let (own, others) = (job.ask_prices(job.horizon()).ok()?, other_job.ask_prices(job.horizon()).ok()?);
    // Bounded noise is as the inverse of its epsilon.
    let asks = own.iter().zip(&others).map(|(own, other)| other.epsilon / own.epsilon);
    let times: Vec<f64> = known.iter().map(|noise| noise.times).chain(asks).collect();
    let mean = times.iter().map(|times| times.ln()).sum::<f64>() / times.len() as f64;
    (mean.exp() > WORTH).then(|| {
        let name = job.account().name();
        format!(
            "privacy.accounting: with accounting = \"{other}\" noise is {:.2} times as large, in the mean of the releases; state it \
             before `discreet ledger init`, or keep it as it is once account {name} is stated",
            (-mean).exp()
        )
    })
}

/// The parts of delta, in hundredths, that are tried for discovered keys.
const PARTS: [u64; 9] = [2, 5, 10, 20, 30, 40, 50, 70, 90];

/// Returns the proposal of another part of delta for discovered keys than the stated one, where noise and thresholds are
/// lower with it on the whole: by the geometric mean over the releases, with their thresholds. The usual part is near the
/// best, and is not compared: that would prepare each release nine times more.
pub(super) fn proposal_for_keys(job: &Job, releases: &[PreparedStatistic]) -> Option<String> {
    let budget = &job.privacy.budget;
    budget.delta_for_keys.as_ref()?;
    let delta = budget.delta.as_ref().filter(|_| releases.iter().any(|own| own.threshold.is_some()))?;
    let size = |releases: &[PreparedStatistic]| -> Option<f64> {
        let scales = releases.iter().map(|own| own.noise.first().map(|noise| noise.scale().ln()));
        let thresholds =
            releases.iter().filter_map(|own| own.threshold).map(|least| Some((least as f64).ln()));
        let all = scales.chain(thresholds).collect::<Option<Vec<f64>>>()?;
        Some(all.iter().sum::<f64>() / all.len() as f64)
    };
    let tried = |hundredths: u64| {
        let stated =
            Decimal::parse("delta", &format!("{:e}", delta.to_f64() * hundredths as f64 / 100.0)).ok()?;
        let mut other = job.clone();
        other.privacy.budget.delta_for_keys = Some(stated.clone());
        let plans = other.keep_in(job.accounting()?).then(|| other.release_plans(other.horizon()).ok())??;
        let prepared = plans.iter().map(|plan| plan.prepare(&other).ok()).collect::<Option<Vec<_>>>()?;
        Some((size(&prepared)?, stated))
    };
    let (least, best) = PARTS.into_iter().filter_map(tried).min_by(|a, b| a.0.total_cmp(&b.0))?;
    let times = (least - size(releases)?).exp();
    (times * WORTH < 1.0).then(|| {
        format!(
            "privacy.budget.delta_for_keys: with delta_for_keys = {best} noise and the numbers of people that keys need are \
             {times:.2} times as large, in the mean; state it before `discreet ledger init`"
        )
    })
}

/// Returns the warning that a part of delta is kept for discovered keys and nothing of the job takes it.
pub(super) fn unused_delta_for_keys(job: &Job) -> Option<String> {
    let stated = job.privacy.budget.delta_for_keys.as_ref().filter(|part| part.to_f64() > 0.0)?;
    let takes = job.releases.iter().any(ReleaseSpec::charges_delta) || !job.asks.is_empty();
    (!takes).then(|| {
        format!(
            "privacy.budget.delta_for_keys: nothing takes it: no release of the job discovers keys, has a stable mean or answers \
             questions, and without {stated} of delta the epsilon comes to less rho, which is more noise; leave it out before \
             `discreet ledger init`, unless another job of the account takes it; keep it once the account is stated with it"
        )
    })
}

impl Job {
    /// Returns the same job with the other accounting of its account, if its budget has one.
    fn in_the_other_accounting(&self) -> Option<(Accounting, Job)> {
        let budget = &self.privacy.budget;
        budget.epsilon.as_ref().and(budget.delta.as_ref())?;
        let other = match self.accounting()? {
            Accounting::Gaussian => Accounting::Zcdp,
            Accounting::Zcdp => Accounting::Gaussian,
        };
        let mut job = self.clone();
        job.keep_in(other).then_some((other, job))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::Adjacency;
    use crate::accounting::pld::{Bundle, Pair};

    fn job(budget: &str, releases: &str) -> Job {
        let text = format!(
            "[job]\nname = \"shop\"\nversion = 1\nfrom = \"2026-01-01T00:00:00Z\"\nuntil = \"2026-01-02T00:00:00Z\"\n[source]\n\
             type = \"synthetic\"\npeople = 10\nrows = 10\nkeys = 2\nseed = 1\n[privacy]\nperson = {{ field = \"user\", missing = \
             \"drop\" }}\npromise = \"lifetime\"\n{budget}\nledger = \"l\"\naccount = \"a\"\n{releases}"
        );
        Job::parse("shop.toml", &text).unwrap()
    }

    const COUNT: &str = "[[release]]\nname = \"visits\"\nevery = \"1 hour\"\ncount = {}\nbound = { per_key = 3 }\nnoise = \
                         \"gaussian\"\nshare = 0.5\n";
    const PAIR: &str = "budget = { epsilon = 1.0, delta = 1e-6 }";

    // sqrt(rho) of the two conversions: .2207089 / .2367044 = .9324; with keys by 5e-7 and 7e-7: .2138 / .2327.
    #[test]
    fn gaussian_noise_is_what_the_conversions_say_and_near_the_least() {
        let plan = job(PAIR, COUNT).plan().unwrap();
        let compared = plan.releases[0].accounting.unwrap();
        assert_eq!(compared.other, "zcdp");
        assert!((compared.times - 0.93242).abs() < 1e-4, "{compared:?}");
        assert!((compared.over_least.unwrap() - 1.0).abs() < 1e-6, "{compared:?}");

        let keys = COUNT.replace("count = {}", "people = { by = \"key\", keys = \"discover\" }");
        let keys = keys.replace("{ per_key = 3 }", "{ keys = 2 }");
        let plan = job(PAIR, &keys).plan().unwrap();
        let compared = plan.releases[0].accounting.unwrap();
        assert!(compared.times < 0.93 && compared.times > 0.915, "{compared:?}");
        assert!((compared.over_least.unwrap() - 0.2367043806 / 0.2326988582).abs() < 1e-5, "{compared:?}");

        let stated = COUNT.replace("share = 0.5", "cost = { rho = 1e-5 }");
        let compared = job(PAIR, &stated).plan().unwrap().releases[0].accounting.unwrap();
        assert_eq!((compared.times, compared.over_least), (1.0, None));
    }

    // The noise of the jobs that teach, beside that of zCDP at the same epsilon and delta, and all of their windows
    // together by privacy-loss distributions: within the stated delta.
    #[test]
    fn the_configs_have_less_noise_within_the_same_promise() {
        for (name, most) in [("quickstart", 0.93), ("reviews", 0.93), ("retail", 0.96)] {
            let job = Job::open(format!("config/{name}.toml")).unwrap();
            let plan = job.plan().unwrap();
            for (stated, release) in job.releases.iter().zip(&plan.releases) {
                let compared = release.accounting.unwrap();
                let is_gaussian = stated.noise == NoiseKind::Gaussian;
                assert!(!is_gaussian || compared.times <= most, "{name} {}: {compared:?}", release.name);
                assert!(!is_gaussian || compared.over_least.unwrap() < 1.02, "{name}: {compared:?}");
            }
            let mu = (2.0 * plan.together.rho.unwrap()).sqrt();
            let all = Bundle::new(Adjacency::PERSON).add(&Pair::gaussian(1.0, mu).unwrap(), 1).unwrap();
            let budget = &job.privacy.budget;
            let [epsilon, delta] =
                [&budget.epsilon, &budget.delta].map(|part| part.as_ref().unwrap().to_f64());
            let exact = all.delta(epsilon).unwrap() + plan.together.delta;
            assert!(exact <= delta && exact > 0.6 * delta, "{name}: {exact:e}");
        }
    }

    #[test]
    fn the_other_accounting_is_proposed_where_it_has_less_noise() {
        let choice = "[[release]]\nname = \"usual\"\nevery = \"1 hour\"\nquantile = { of = \"value\", q = [0.5], range = [0, 10], \
                      step = 1 }\nbound = { per_key = 1 }\nnoise = \"exponential\"\nshare = 0.3\n";
        let warned = |accounting: &str, releases: &str| {
            let plan = job(&format!("{PAIR}\n{accounting}"), releases).plan().unwrap();
            plan.warnings.into_iter().find(|warning| warning.starts_with("privacy.accounting"))
        };
        assert!(warned("", choice).is_some());
        assert_eq!(warned("accounting = \"zcdp\"", choice), None);
        assert!(
            warned("accounting = \"gaussian\"", choice)
                .unwrap()
                .contains("accounting = \"zcdp\" noise is 0.8")
        );
        assert!(
            warned("accounting = \"zcdp\"", COUNT)
                .unwrap()
                .contains("accounting = \"gaussian\" noise is 0.93")
        );
        assert_eq!(warned("", COUNT), None);
        // Of one each the mean decides: 1.17 for the choice, .93 for the count.
        assert!(warned("accounting = \"gaussian\"", &format!("{COUNT}{choice}")).is_some());
        let counts = COUNT.replace("visits", "others").replace("0.5", "0.1");
        let more = COUNT.replace("visits", "more").replace("0.5", "0.05");
        assert_eq!(warned("", &format!("{COUNT}{counts}{more}{choice}")), None);
        let discovering = COUNT.replace(
            "count = {}\nbound = { per_key = 3 }",
            "people = { by = \"key\", keys = \"discover\" }\nbound = { keys = 2 }",
        );
        let part = |delta: &str| {
            let plan = job(&format!("budget = {{ epsilon = 1.0, delta = 1e-6{delta} }}"), &discovering)
                .plan()
                .unwrap();
            plan.warnings.into_iter().find(|warning| warning.starts_with("privacy.budget.delta_for_keys"))
        };
        assert_eq!(part(""), None);
        assert_eq!(part(", delta_for_keys = 3e-7"), None, "the usual three tenths are near the best");
        assert!(part(", delta_for_keys = 0.98e-6").unwrap().contains("delta_for_keys = "));
        assert!(part(", delta_for_keys = 1e-12").unwrap().contains("delta_for_keys = "));
        assert_eq!(part(", delta_for_keys = 0.3e-6"), None);
        // Refutes a part that nothing takes, in silence.
        let idle = |delta: &str| {
            let plan =
                job(&format!("budget = {{ epsilon = 1.0, delta = 1e-6{delta} }}"), COUNT).plan().unwrap();
            plan.warnings.into_iter().find(|warning| warning.starts_with("privacy.budget.delta_for_keys"))
        };
        assert!(
            idle(", delta_for_keys = 3e-7")
                .unwrap()
                .contains("nothing takes it: no release of the job discovers")
        );
        assert_eq!((idle(""), idle(", delta_for_keys = 0")), (None, None));
        // Refutes a delta that costs noise and buys none, in silence: a share of a half is a mu of .2367 / root 2, the price of
        // a pure epsilon of .134, or an epsilon of .5.
        let laplace = COUNT.replace("gaussian", "laplace");
        let without = |budget: &str, releases: &str| {
            let plan = job(&format!("budget = {budget}"), releases).plan().unwrap();
            plan.warnings.into_iter().find(|warning| warning.starts_with("privacy.budget: without its delta"))
        };
        let said = without("{ epsilon = 1.0, delta = 1e-6 }", &laplace.replace("1 hour", "1 day")).unwrap();
        assert!(said.contains("noise is 0.2"), "{said}");
        assert_eq!(without("{ epsilon = 1.0, delta = 1e-6 }", COUNT), None);
        assert_eq!(without("{ epsilon = 1.0 }", &laplace), None);
        // Of twenty-four windows squares add up, which is less than the sum.
        assert_eq!(without("{ epsilon = 1.0, delta = 1e-6 }", &laplace), None);
        // A budget of one currency has nothing to compare.
        let rho = job("budget = { rho = 0.01 }", COUNT).plan().unwrap();
        assert_eq!(rho.releases[0].accounting, None);
    }
}
