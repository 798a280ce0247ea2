//! Tests of the plans of the example jobs: their pages, their warnings, and the noise that a run draws.

use std::path::{Path, PathBuf};

use super::super::*;
use super::GOOD;
use crate::accounting::{DiscreteGaussianCost, DiscreteLaplaceCost};

fn configs() -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir("config").unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "toml"));
    paths.sort();
    assert!(paths.len() >= 4);
    paths
}

/// Returns the configs to begin with: the catalogue of all words has a budget that promises little, and bounds that are wide.
fn examples() -> Vec<PathBuf> {
    configs().into_iter().filter(|path| !path.ends_with("everything.toml")).collect()
}

/// The amount of a cost in its currency.
fn size(cost: &PlannedCost) -> f64 {
    cost.rho.or(cost.epsilon).unwrap()
}

fn planned(path: &Path) -> (Job, Plan) {
    let job = Job::open(path).unwrap();
    let plan = job.plan().unwrap();
    (job, plan)
}

/// The expected pages. `DISCREET_WRITE_PAGES=1` writes them anew, to be reviewed before they are kept.
#[test]
fn the_pages_of_the_configs_are_as_they_were_read() {
    for path in configs() {
        let page = planned(&path).1.to_string();
        let kept =
            Path::new("operators/job/plan/pages").join(path.file_stem().unwrap()).with_extension("txt");
        if std::env::var_os("DISCREET_WRITE_PAGES").is_some() {
            std::fs::write(&kept, &page).unwrap();
        }
        assert_eq!(page, std::fs::read_to_string(&kept).unwrap(), "{}", kept.display());
        assert!(page.lines().all(|line| line.chars().count() <= 110), "{page}");
    }
}

// Refutes an example that its reader copies and that is refused.
#[test]
fn the_job_files_of_the_pages_are_planned_without_a_warning() {
    for page in ["README.md", "docs/JOBS.md"] {
        let text = std::fs::read_to_string(page).unwrap();
        let (_, block) = text.split_once("```toml\n").unwrap();
        let (block, _) = block.split_once("```").unwrap();
        let plan = Job::parse("job.toml", block).unwrap().plan().unwrap();
        assert_eq!(plan.warnings, [""; 0], "{page}");
    }
}

#[test]
fn the_configs_are_planned_without_a_warning() {
    for path in examples() {
        assert_eq!(planned(&path).1.warnings, [""; 0], "{}", path.display());
    }
}

// Refutes a page that differs from the noise that is drawn and the cost that is charged.
#[test]
fn a_plan_states_what_is_drawn_and_charged() {
    for path in examples() {
        let (job, plan) = planned(&path);
        let offers = job.release_plans(job.horizon()).unwrap();
        let mut sum = 0.0;
        for (release, offer) in plan.releases.iter().zip(&offers) {
            let settled = offer.prepare(&job).unwrap();
            let laws = &settled.noise;
            assert_eq!(release.noise.len(), laws.len());
            let point = offer.point();
            for (at, (noise, law)) in release.noise.iter().zip(laws).enumerate() {
                if release.marginals.is_some() {
                    let of_law = (law.kind(), law.scale(), settled.intervals[at]);
                    assert_eq!((noise.kind, noise.scale, noise.interval), of_law);
                    continue;
                }
                assert_eq!(
                    (&*noise.number, noise.kind, noise.scale),
                    (law.number(), law.kind(), law.scale())
                );
                if law.ranks().is_some() {
                    assert!(noise.interval >= 1.0 && noise.ranks.is_some());
                    continue;
                }
                // The scale is in steps, and that of a mean's sum in half steps.
                if law.strategy().is_some() {
                    // A total is no whole number before it is rounded.
                    let reach =
                        DiscreteGaussianCost::new(noise.scale.max(1.0), 1).unwrap().interval(0.9).unwrap();
                    assert_eq!(noise.interval, reach as f64 + 1.0, "{release:?}");
                    continue;
                }
                if let Some(alert) = &release.alert {
                    assert_eq!(noise.interval, (alert.surely - alert.above) as f64, "{release:?}");
                    continue;
                }
                let halves = if laws.len() > 1 && noise.number == "sum" { 2.0 } else { 1.0 };
                let is_ratio = laws.iter().any(|law| law.number() == "per");
                let unit = match &*noise.number {
                    // In steps of two ranges.
                    _ if is_ratio => {
                        release.moves[at].linf / settled.sensitivities[at].sensitivity.linf() as f64
                    }
                    "sum" => point.float(1.0) / halves,
                    // In parts of the largest square.
                    "squares" => release.moves[at].linf / settled.sensitivities[at].sensitivity.linf() as f64,
                    _ => 1.0 / halves,
                };
                let confidence = match laws.len() {
                    1 => 0.9,
                    2 => 0.95,
                    _ => 29.0 / 30.0,
                };
                let reach = match noise.kind {
                    "gaussian" => {
                        DiscreteGaussianCost::new(noise.scale / unit, 1).unwrap().interval(confidence)
                    }
                    _ => DiscreteLaplaceCost::new(noise.scale / unit, 1).unwrap().interval(confidence),
                };
                assert!((reach.unwrap() as f64 * unit / noise.interval - 1.0).abs() < 1e-6, "{release:?}");
            }
            assert_eq!(release.cost, PlannedCost::of(settled.cost.amount(), plan.delta));
            assert!(size(&release.cost) * release.paid_together as f64 >= size(&release.paid) * 0.999_999);
            sum += size(&release.paid);
        }
        assert!(sum <= size(&plan.cap) * 1.000_000_1);
        assert!(plan.together.epsilon.unwrap() <= job.privacy.budget.epsilon.as_ref().unwrap().to_f64());
        assert!(size(&plan.together) + size(&plan.left) <= size(&plan.cap) * 1.000_000_1);
    }
}

// The discrete distributions need hardly more than the best that is known; a bound that is above them would
// be wrong.
#[test]
fn the_noise_is_near_the_best_that_is_known() {
    for path in examples() {
        for release in planned(&path).1.releases {
            match release.near {
                // Seven tenths of a mean's cost are for its sum.
                Some(near) if release.noise.len() == 2 => {
                    assert!((1.195..1.2).contains(&near.ratio), "{near:?}");
                }
                Some(near) if release.running.is_some() => {
                    assert!((1.0..1.17).contains(&near.ratio), "{near:?}");
                    assert_eq!(release.running.as_ref().map(|running| running.ratio), Some(near.ratio));
                }
                Some(near) => assert!((0.999..1.01).contains(&near.ratio), "{near:?}"),
                // No bound is known for alerts, for statistics by rank, for variances, with partition selection, or for people who
                // enter and leave.
                None => {
                    let is_ranked = release.noise[0].ranks.is_some();
                    let enters = release.running.as_ref().is_some_and(|running| running.as_windows.is_some());
                    let is_alert = release.alert.is_some();
                    assert!(release.noise.len() >= 2 || is_ranked || enters || is_alert, "{}", release.name);
                }
            }
        }
    }
    let pure = GOOD.replace("gaussian", "laplace").replace("epsilon = 1.0, delta = 1e-6", "epsilon = 1.0");
    let near = |text: &str| Job::parse("a.toml", text).unwrap().plan().unwrap().releases[0].near;
    let ratio = near(&pure).unwrap().ratio;
    assert!((0.999..1.001).contains(&ratio), "{ratio}");
    let wide = pure.replace("people = {}", "sum = { of = \"price\", range = [0, 10] }");
    let ratio = near(&wide).unwrap().ratio;
    // At epsilon 1 the staircase is 4% below Laplace; here a window has a hundredth of that.
    assert!((1.0..1.01).contains(&ratio), "{ratio}");
    let keys = pure
        .replace("people = {}", "people = { by = \"page\", keys = [\"a\", \"b\"] }")
        .replace("{}", "{ keys = 2 }");
    assert_eq!(near(&keys), None);
}
