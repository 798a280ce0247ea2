#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::*;
use crate::accounting::{DiscreteGaussianCost, DiscreteLaplaceCost};
use crate::dataflow::bounding::{Cap, ContributionSelector, Count, Own, PersonTable, Sum};
use crate::job::statistics::CellKey;
use crate::mechanisms::{PerPerson, Ranks, TypicalRankError};

fn tau(noise: &PlannedNoise) -> u64 {
    match noise.ranks {
        Some(Ranks::Below { tau, .. }) => tau,
        other => panic!("{other:?}"),
    }
}

fn rank_error(noise: &PlannedNoise) -> u64 {
    match noise.ranks {
        Some(Ranks::Within { rank_error, .. }) => rank_error,
        other => panic!("{other:?}"),
    }
}

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

// Refutes a page or a JSON that states other people than those of the exact law, and noise of a first window that is not
// drawn; of one window alone there is no other.
#[test]
fn a_plan_states_with_how_many_people_a_key_is_found() {
    let count = GOOD.replace("people = {}", "count = { by = \"page\", keys = \"discover\" }");
    let count = count.replace("bound = {}", "bound = { keys = 2, per_key = 3 }");
    let plan = |text: &str| Job::parse("a.toml", text).unwrap_or_else(|mistakes| panic!("{mistakes}")).plan();
    let several = plan(&count).unwrap();
    let PlannedKeys::Discovered { threshold, found_in_50, found_in_90, found_in_99, finding } =
        several.releases[0].keys
    else {
        panic!()
    };
    assert_eq!((found_in_50, finding), (threshold, Some(50)));
    // Half of the price is for finding two keys of a person, each moved by one.
    let rho = several.releases[0].cost.rho.unwrap() / 2.0;
    let law = DiscreteGaussianCost::new((2.0 / (2.0 * rho)).sqrt(), 1).unwrap();
    for (people, chance) in [(found_in_90, 0.9), (found_in_99, 0.99)] {
        let found = |people: i64| 1.0 - law.tail(people - threshold + 1);
        assert!(found(people) >= chance && found(people - 1) < chance, "{people} {chance}");
    }
    let json = serde_json::to_value(&several).unwrap();
    let keys = &json["releases"][0]["keys"];
    assert_eq!(
        [&keys["found_in_50"], &keys["found_in_90"], &keys["found_in_99"]].map(|n| n.as_i64().unwrap()),
        [found_in_50, found_in_90, found_in_99]
    );
    let noise = &several.releases[0].noise[0];
    let first = noise.found.unwrap();
    assert!((first.scale / noise.scale - 2f64.sqrt()).abs() < 1e-6 && first.interval > noise.interval);
    let page = several.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
    let said = format!(
        "with {found_in_90} in 90 and with {found_in_99} in 99; from then on it is in every window. Until it is found, 50%"
    );
    assert!(page.contains(&said) && page.contains("; in the window that finds a key, sigma "), "{page}");
    // A refusal of the former noise under this version names it.
    let shows = |text: &str| {
        let job = Job::parse("a.toml", text).unwrap();
        let offers = job.release_plans(job.horizon()).unwrap();
        offers[0].version_terms.names().any(|name| name == "finding keys")
    };
    assert!(shows(&count) && !shows(&count.replace("per_key = 3", "per_key = 1")) && !shows(GOOD));
    let one = plan(&count.replace("every = \"1 day\"", "every = \"all\"")).unwrap();
    assert_eq!(one.releases[0].noise[0].found, None);
    let rho = one.releases[0].cost.rho.unwrap() / 2.0;
    assert!(
        (one.releases[0].noise[0].scale - 3.0 * (1.0 / rho).sqrt()).abs()
            < 1e-6 * one.releases[0].noise[0].scale
    );
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
            assert!(
                release.cost.rho.unwrap() * release.paid_together as f64
                    >= release.paid.rho.unwrap() * 0.999_999
            );
            sum += release.paid.rho.unwrap();
        }
        assert!(sum <= plan.cap.rho.unwrap() * 1.000_000_1);
        assert!(plan.together.epsilon.unwrap() <= job.privacy.budget.epsilon.as_ref().unwrap().to_f64());
        assert!(plan.together.rho.unwrap() + plan.left.rho.unwrap() <= plan.cap.rho.unwrap() * 1.000_000_1);
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
                // No bound is known for statistics by rank, for variances, with partition selection, or for people who
                // enter and leave.
                None => {
                    let is_ranked = release.noise[0].ranks.is_some();
                    let enters = release.running.as_ref().is_some_and(|running| running.as_windows.is_some());
                    assert!(release.noise.len() >= 2 || is_ranked || enters, "{}", release.name);
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

pub(super) const GOOD: &str = r#"
[job]
name = "shop"
version = 1
from = "2026-01-01T00:00:00Z"
until = "2026-04-11T00:00:00Z"

[source]
type = "csv"
path = "shop.csv"
time = { field = "date", format = "rfc3339" }

[privacy]
person = { field = "who", missing = "drop" }
promise = "lifetime"
budget = { epsilon = 1.0, delta = 1e-6 }
ledger = "shop.ledger"
account = "shop"

[[release]]
name = "visits"
every = "1 day"
people = {}
bound = {}
noise = "gaussian"
share = 1
"#;

// Refutes a promise that is not that of the words, one that saves nothing, and advice where people are protected.
#[test]
fn a_record_pays_for_the_windows_that_hold_its_time() {
    let record = GOOD.replace("person = { field = \"who\", missing = \"drop\" }", "unit = \"record\"");
    let record = record.replace("people = {}", "count = {}");
    let plan =
        |text: &str| Job::parse("a.toml", text).unwrap_or_else(|wrong| panic!("{wrong}")).plan().unwrap();
    let sliding = record.replace("every = \"1 day\"", "every = \"1 day\"\nover = \"7 days\"");
    for (text, windows) in [(&record, 1), (&sliding, 7)] {
        let whole = plan(text);
        let said = whole.warnings.iter().filter(|said| said.starts_with("privacy.promise: a record is in "));
        let said: Vec<&String> = said.collect();
        let [said] = &said[..] else { panic!("{:?}", whole.warnings) };
        let promise = "\"each 1 day\"";
        assert!(said.contains(promise), "{said}");
        let better = plan(&text.replace("promise = \"lifetime\"", &format!("promise = {promise}")));
        assert!(
            !better.warnings.iter().any(|said| said.starts_with("privacy.promise")),
            "{:?}",
            better.warnings
        );
        assert_eq!(better.releases[0].paid_together, windows);
        let times = better.releases[0].cost.rho.unwrap() / whole.releases[0].cost.rho.unwrap();
        let all = whole.releases[0].paid_together as f64;
        assert!((times * windows as f64 / all - 1.0).abs() < 1e-6, "{times} {all}");
    }
    for quiet in [GOOD.to_owned(), record.replace("every = \"1 day\"", "every = \"all\"")] {
        assert!(!plan(&quiet).warnings.iter().any(|said| said.starts_with("privacy.promise")));
    }
}

// Refutes a rule that never warns, and one that warns of a job without defects.
#[test]
fn what_will_not_work_is_said() {
    let warnings = |changes: &[(&str, &str)]| {
        let mut text = GOOD.to_owned();
        for (from, to) in changes {
            assert!(text.contains(from), "{from}");
            text = text.replace(from, to);
        }
        Job::parse("a.toml", &text).unwrap_or_else(|wrong| panic!("{wrong}")).plan().unwrap().warnings
    };
    assert_eq!(warnings(&[]), [""; 0]);
    let discover = (
        "people = {}\nbound = {}",
        "people = { by = \"page\", keys = \"discover\" }\nbound = { keys = 100 }",
    );
    for (changes, words) in [
        (&[("epsilon = 1.0", "epsilon = 0.01")][..], "a cell needs 50390 people"),
        (&[discover], "a key is released once about "),
        (&[("every = \"1 day\"", "every = \"1 day\"\nover = \"7 days\"")], "charged for 7 times"),
        (
            &[(
                "people = {}\nbound = {}",
                "people = { by = \"page\", keys = [\"a\"] }\nbound = { keys = 2 }",
            )],
            "give bound.keys = 1",
        ),
        (&[("delta = 1e-6", "delta = 0.01")], "a delta above 1/1000"),
        (&[("epsilon = 1.0", "epsilon = 11")], "an epsilon above 10"),
        (&[("epsilon = 1.0, delta = 1e-6", "rho = 3")], "this rho is an epsilon above 10"),
        (&[("share = 1", "share = 0.7")], "30% of it is given to no release"),
        (
            &[("until = \"2026-04-11T00:00:00Z\"\n", ""), ("share = 1", "cost = { rho = 0.001 }")],
            "at most 28 fit the budget",
        ),
    ] {
        let found = warnings(changes);
        assert!(found.iter().any(|warning| warning.contains(words)), "{words}: {found:?}");
    }
    let keys: String = (0..100_001).map(|key| format!("{key}\n")).collect();
    let file = std::env::temp_dir().join(format!("discreet-plan-{}.txt", std::process::id()));
    std::fs::write(&file, keys).unwrap();
    let listed =
        format!("people = {{ by = \"page\", keys = {{ file = {:?} }} }}\nbound = {{ keys = 1 }}", file);
    let found = warnings(&[("people = {}\nbound = {}", &listed)]);
    std::fs::remove_file(&file).unwrap();
    assert!(found.iter().any(|warning| warning.contains("100001 keys are released")), "{found:?}");
}

// Refutes a window without an end that is released with the next replay though nobody was warned, and a warning of one that
// ends, or of a log that is whole.
#[test]
fn a_window_without_an_end_is_warned_of() {
    let endless = GOOD.replace("until = \"2026-04-11T00:00:00Z\"\n", "").replace("1 day\"\n", "all\"\n");
    let twice = format!("{endless}[[release]]\n{}", endless.split_once("[[release]]\n").unwrap().1)
        .replacen("share = 1", "share = 0.5", 2)
        .replacen("share = 1", "share = 0.5", 1)
        .replacen("name = \"visits\"\nevery", "name = \"others\"\nevery", 1);
    let warnings = |text: &str| {
        let job = Job::parse("a.toml", text).unwrap_or_else(|wrong| panic!("{wrong}\n{text}"));
        let of_end = |warning: &String| warning.starts_with("job.until: ");
        job.plan().unwrap().warnings.into_iter().filter(of_end).collect::<Vec<_>>()
    };
    assert_eq!(
        warnings(&endless),
        [
            "job.until: release visits has one window over everything, which has no end: `discreet replay` releases it for good \
          at the end of its input, and records that come later are never in it, and no live run releases it; give until, the end \
          of the time that is to be published, unless no more records come"
        ]
    );
    let found = warnings(&twice);
    assert!(found.len() == 1 && found[0].contains("releases others and visits have one window"), "{found:?}");
    let days =
        GOOD.replace("until = \"2026-04-11T00:00:00Z\"\n", "").replace("share = 1", "cost = { rho = 0.001 }");
    assert_eq!(
        [warnings(GOOD), warnings(&GOOD.replace("1 day\"\n", "all\"\n")), warnings(&days)],
        [[""; 0]; 3]
    );
}

// By hand: sigma 1 / sqrt(2 rho), 1.645 sigma rounded up to whole people, ten times that.
#[test]
fn a_cell_needs_ten_times_its_interval() {
    let plan = Job::parse("a.toml", GOOD).unwrap().plan().unwrap();
    let release = &plan.releases[0];
    let sigma = (2.0 * release.cost.rho.unwrap()).sqrt().recip();
    assert!((release.noise[0].scale / sigma - 1.0).abs() < 1e-6);
    assert_eq!(release.people_for_a_tenth, 10 * (1.644_85 * sigma).round() as u64);
    let sums = GOOD.replace("people = {}", "sum = { of = \"price\", range = [-20, 50] }");
    let release = &Job::parse("a.toml", &sums).unwrap().plan().unwrap().releases[0];
    assert_eq!(release.moves[0].linf, 50.0);
    assert!((release.people_for_a_tenth as f64 / (20.0 * 1.644_85 * sigma) - 1.0).abs() < 1e-3);
}

// By hand: rho of 0.0322 divided among 100 days; a log grid takes 10 comparisons, so sigma is the root of 10
// / 2 rho.
#[test]
fn what_is_promised_of_ranks_is_planned() {
    let planned = |statistic: &str, noise: &str| {
        let text = GOOD.replace("people = {}\nbound = {}", statistic).replace("gaussian", noise);
        let plan = Job::parse("a.toml", &text).unwrap_or_else(|wrong| panic!("{wrong}")).plan().unwrap();
        (plan.to_string(), plan.releases[0].clone())
    };
    let (page, release) =
        planned("max = { of = \"price\", each = \"sum\", grid = { log = 0.01 } }", "gaussian");
    let noise = &release.noise[0];
    assert!(
        (noise.scale / (10.0 / (2.0 * release.cost.rho.unwrap())).sqrt() - 1.0).abs() < 1e-6,
        "{noise:?}"
    );
    let above = 2 * tau(noise);
    assert!((above as f64 / 2.0 / noise.scale - 3.0902).abs() < 0.01, "{noise:?}");
    assert!(matches!(noise.ranks, Some(Ranks::Below { comparisons: Some(10), .. })));
    assert_eq!(noise.interval, above as f64);
    assert_eq!(release.people_for_a_tenth, 10 * above);
    assert_eq!((release.moves[0].l0, release.moves[0].linf, release.near), (1.0, 1.0, None));
    assert!(release.memory.a_key.unwrap() > 16 * above);
    assert!(page.contains("gaussian in 10 comparisons, sigma ") && page.contains("people above"), "{page}");
    assert!(
        page.contains(
            "the largest sum of price of one person, among numbers from 0 on, 4.5% apart, in steps of 0.01"
        ),
        "{page}"
    );
    let (_, chosen) = planned("max = { each = \"count\", grid = \"log\" }", "exponential");
    assert!(matches!(chosen.noise[0].ranks, Some(Ranks::Below { comparisons: None, .. })));
    // Pure epsilon: a Laplace search pays for each of its comparisons, and a draw is paid for once. A warning
    // states it in these cases.
    let pure = |statistic: &str, noise: &str| {
        let text = GOOD.replace("people = {}\nbound = {}", statistic).replace("gaussian", noise);
        let text = text.replace("epsilon = 1.0, delta = 1e-6", "epsilon = 1.0");
        Job::parse("a.toml", &text).unwrap_or_else(|wrong| panic!("{wrong}")).plan().unwrap()
    };
    let plan = pure("max = { each = \"count\", grid = \"log\" }", "laplace");
    let (own, chosen) = (tau(&plan.releases[0].noise[0]), {
        let other = pure("max = { each = \"count\", grid = \"log\" }", "exponential");
        assert!(!other.warnings.iter().any(|words| words.contains("exponential")), "{:?}", other.warnings);
        tau(&other.releases[0].noise[0])
    });
    let words = format!(
        "laplace noise may be too small by {} people, and noise = \"exponential\" by {}",
        2 * own,
        2 * chosen
    );
    let warned = plan
        .warnings
        .iter()
        .find(|printed| printed.contains(&words))
        .unwrap_or_else(|| panic!("{:?}", plan.warnings));
    assert!(
        warned.ends_with(&format!("{:.0}% less", 100.0 * (1.0 - chosen as f64 / own as f64)))
            && own > 2 * chosen,
        "{warned}"
    );
    // With two points both are as good, and there is no warning.
    let plan = pure("max = { each = \"count\", grid = { from = 0, to = 1, step = 1 } }", "laplace");
    assert!(!plan.warnings.iter().any(|words| words.contains("exponential")), "{:?}", plan.warnings);
    // Permute-and-flip, where there is one: under pure epsilon, with steps, on a grid that it can walk.
    let median = |rest: &str| {
        format!("quantile = {{ of = \"price\", q = 0.5, range = [0, 500]{rest} }}\nbound = {{ per_key = 1 }}")
    };
    let error = |plan: &Plan| rank_error(&plan.releases[0].noise[0]);
    let [plan, flipped] = ["exponential", "permute-and-flip"].map(|noise| pure(&median(", step = 1"), noise));
    let words = format!(
        "exponential noise may be off by {} ranks, and noise = \"permute-and-flip\" by {} at the same price: ",
        error(&plan),
        error(&flipped)
    );
    assert!(plan.warnings.iter().any(|printed| printed.contains(&words)), "{words}: {:?}", plan.warnings);
    let hinted = |plan: &Plan| plan.warnings.iter().any(|words| words.contains("at the same price"));
    assert!(!hinted(&flipped) && !hinted(&pure(&median(""), "exponential")));
    assert!(!hinted(&pure(&median(", step = 0.001"), "exponential")));
    let seven = median(", step = 1").replace("q = 0.5", "q = [0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95]");
    let (_, of_rho) = planned(&seven, "exponential");
    assert!(of_rho.noise.len() == 7 && !hinted(&pure(&seven, "exponential")));
    assert!(hinted(&pure(&seven, "permute-and-flip")));
    let quantiles =
        "quantile = { of = \"price\", q = [0.5, 0.95], range = [0, 5], step = 0.5 }\nbound = { per_key = 2 }";
    let (page, release) = planned(quantiles, "exponential");
    let errors: Vec<u64> = release.noise.iter().map(rank_error).collect();
    assert_eq!((errors.len(), release.moves[0].linf), (2, 2.0));
    assert_eq!(release.people_for_a_tenth, 10 * errors.iter().max().unwrap());
    let words = format!("99 of 100 within {} ranks of the quantile 0.95", errors[1]);
    let page = page.replace("\n               ", " ");
    assert!(page.contains(&words), "{page}");
    // What is typical is less, and is not called noise where nothing is promised.
    let typical: Vec<TypicalRankError> = release.noise.iter().map(|noise| noise.typical.unwrap()).collect();
    let most = typical.iter().map(|typical| typical.nine_tenths).max().unwrap();
    assert!(
        typical
            .iter()
            .zip(&errors)
            .all(|(typical, error)| typical.half < typical.nine_tenths && typical.nine_tenths < *error)
    );
    let words = format!(
        "half within {} and 90 of 100 within {} ranks of the quantile 0.95",
        typical[1].half, typical[1].nine_tenths
    );
    assert!(page.contains(&words) && page.contains("no promise"), "{page}");
    let words = format!(
        "below {} nothing is promised, and below {most} it is mostly noise",
        errors.iter().max().unwrap()
    );
    assert!(page.contains(&words), "{page}");
    let text = GOOD.replace("people = {}\nbound = {}", quantiles).replace("gaussian", "exponential");
    let job = Job::parse("a.toml", &text).unwrap();
    let expected = |people: u64| job.expected_errors(people, people).unwrap().remove(0);
    let large = expected(100_000_000);
    let (promised, typical) = (large.error * large.people, large.typical.unwrap() * large.people);
    assert!((promised / *errors.iter().max().unwrap() as f64 - 1.0).abs() < 1e-9, "{large:?}");
    assert!((typical / most as f64 - 1.0).abs() < 1e-9, "{large:?}");
    let described = |part: f64| {
        let people = 100_000_000.0 * part / large.people;
        expected::described(&expected(people as u64), "people", true, None)
    };
    assert!(
        described(promised / 2.0).starts_with("nothing is promised with "),
        "{}",
        described(promised / 2.0)
    );
    assert!(described(typical / 2.0).starts_with("mostly noise: with "), "{}", described(typical / 2.0));
    assert!(
        described(promised * 2.0).contains("a rank that is off by 50%, typically by "),
        "{}",
        described(promised * 2.0)
    );
}

// Refutes a figure that is far from the memory of a table, after it has processed its input.
#[test]
fn people_take_the_memory_that_a_plan_states() {
    const PEOPLE: u64 = 200_000;
    let person = |number: u64| {
        let mut id = [0u8; parts::PERSON as usize];
        id[..8].copy_from_slice(&number.to_le_bytes());
        id
    };
    let keys: Vec<CellKey> = (0..3).map(|key| CellKey::Text(key.to_string().as_str().into())).collect();
    let stated = |statistic: &str| {
        let text = GOOD.replace("people = {}\nbound = {}", statistic);
        Job::parse("a.toml", &text).unwrap().plan().unwrap().releases[0].memory.a_person
    };
    let (selector, cap) = (ContributionSelector::new([1; 32]), Cap::new(3, 1).unwrap());
    let mut counts = PersonTable::new(selector.clone(), cap, Count);
    let mut sums = PersonTable::new(selector.clone(), cap, Sum::clipped(0, 9).unwrap());
    let mut own = PersonTable::new(selector, cap, Own(PerPerson::Sum));
    for number in 0..PEOPLE {
        for key in &keys {
            counts.add(person(number), key, ());
            sums.add(person(number), key, 1);
            own.add(person(number), key, 1);
        }
    }
    // The records that may wait unprocessed, in all parts: 16,384 each, or as many as are held.
    let grouped = "by = \"page\", keys = [\"a\"] }\nbound = { keys = 3";
    for (bytes, stated) in [
        (counts.bytes(), stated(&format!("count = {{ {grouped}, per_key = 1 }}"))),
        (sums.bytes(), stated(&format!("sum = {{ of = \"x\", range = [0, 9], {grouped} }}"))),
        (own.bytes(), stated(&format!("max = {{ of = \"x\", each = \"sum\", grid = \"log\", {grouped} }}"))),
    ] {
        let ratio = bytes as f64 / (stated * PEOPLE) as f64;
        assert!((0.5..4.0).contains(&ratio), "{bytes} bytes, where {} were stated", stated * PEOPLE);
    }
}

// By hand: 100 windows of an hour; a person takes 40 bytes and 8 for a count, and each window 1,500.
#[test]
fn a_replay_holds_what_its_windows_and_people_take() {
    let held = |text: &str, rows, people| {
        Job::parse("a.toml", text).unwrap().replay_memory(rows, people).unwrap().bytes
    };
    let windows = 100 * 1_500;
    assert_eq!(held(GOOD, 1_000_000, 1_000_000), 1_000_000 * 48 + windows);
    assert_eq!(held(GOOD, 1_000_000, 5_000), 100 * 5_000 * 48 + windows, "people come again in each window");
    let few = crate::dataflow::bounding::LITTLE as u64;
    let record = size_of::<crate::job::sources::SourceRecord<crate::job::sources::Id, ()>>() as u64;
    assert_eq!(held(GOOD, 100 * few, 1), 100 * few * record + windows, "few records are kept as they come");
    let sorted = GOOD.replace("[privacy]", "order = \"sorted\"\n[privacy]");
    assert_eq!(held(&sorted, 1_000_000, 1_000_000), 10_000 * 48, "one window is open");
    let running = GOOD.replace("people = {}", "people = {}\nrunning = true");
    let plan = Job::parse("a.toml", &running).unwrap().plan().unwrap();
    let brought = plan.releases[0].memory.for_ever.unwrap();
    assert_eq!(held(&running, 1_000_000, 5_000), 5_000 * (100 * 48 + brought) + windows, "everybody once");
    let endless =
        GOOD.lines().filter(|line| !line.trim().starts_with("until")).collect::<Vec<_>>().join("\n");
    let endless = endless.replace("\"lifetime\"", "\"each 1h\"");
    let refused = Job::parse("a.toml", &endless).unwrap().replay_memory(1, 1).unwrap_err();
    assert_eq!(refused.field(), "job.until");
}

#[test]
fn the_line_of_a_plan_has_the_names_that_are_documented() {
    let plan = Job::parse("a.toml", GOOD).unwrap().plan().unwrap();
    let line: serde_json::Value = serde_json::from_str(&serde_json::to_string(&plan).unwrap()).unwrap();
    let names =
        |value: &serde_json::Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ");
    assert_eq!(
        names(&line),
        "account accounting asks cap delta from job ledger left promise releases restart together unit until version warnings"
    );
    assert_eq!(
        names(&line["releases"][0]),
        "accounting bound cost keys memory moves name near noise paid paid_together partial people_for_a_tenth running shares_keys shares_people statistic version windows"
    );
    assert_eq!(line["releases"][0]["keys"]["kind"], "none");
    assert_eq!(line["releases"][0]["windows"]["count"], 100);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    // Refutes a panic, a plan with parts that are no numbers, and a refusal without a field.
    #[test]
    fn any_job_is_planned_or_refused_by_a_field(
        every in prop::sample::select(&["1s", "10m", "7h", "1 day", "1 week", "1 month", "10 years", "all"][..]),
        over in prop::sample::select(&[1u32, 1, 2, 30][..]),
        until in prop::sample::select(&["", "until = \"2026-01-01T00:00:01Z\"", "until = \"2027-01-01T00:00:00Z\"", "until = \"9999-01-01T00:00:00Z\""][..]),
        promise in prop::sample::select(&["lifetime", "any 1 us", "any 30 days", "each 90 minutes", "each 40000 days"][..]),
        budget in prop::sample::select(&["epsilon = 1, delta = 1e-6", "epsilon = 1e-9", "rho = 1e-15", "rho = 500", "epsilon = 500, delta = 0.9"][..]),
        statistic in prop::sample::select(&[
            "count = {}", "people = {}", "count = { by = \"page\", keys = \"discover\" }", "sum = { of = \"x\", range = [-9007199254740992, 1e-9] }",
            "sum = { of = \"x\", range = [0, 1e-30], by = \"page\", keys = [\"a\"] }", "mean = { of = \"x\", range = [1e-15, 9007199254740992] }",
            "histogram = { of = \"x\", edges = [-1e-18, 0, 4] }",
            "max = { of = \"x\", grid = \"signed log\", by = \"page\", keys = \"discover\" }",
            "max = { of = \"x\", each = \"sum\", grid = { log = 1e-9 } }", "max = { each = \"count\", grid = [1, 2, 1e12] }",
            "max = { of = \"x\", grid = { from = -9007199254740992, to = 9007199254740992, step = 65536 } }",
            "min = { of = \"x\", grid = \"signed log\", by = \"page\", keys = \"discover\" }", "min = { each = \"count\", grid = [1, 2, 1e12] }",
            "ratio = { of = \"x\", range = [-1e-9, 1e12], per = \"y\", per_range = [0, 1e-30] }",
            "ratio = { of = \"x\", range = [0, 5], per = \"y\", per_range = [-9007199254740992, 1], by = \"page\", keys = \"discover\" }",
            "variance = { of = \"x\", range = [1e-15, 9007199254740992] }", "variance = { of = \"x\", range = [0, 1e-30], by = \"page\", keys = \"discover\" }",
            "quantile = { of = \"x\", q = [0.000001, 0.5, 0.999999], range = [0, 5] }",
            "quantile = { of = \"x\", q = 0.5, range = [-1e-9, 1e12], by = \"page\", keys = [\"a\"] }",
            "quantile = { of = \"x\", q = 0.123456, range = [0, 1], step = 1e-9 }",
        ][..]),
        keys in prop::sample::select(&[1u32, 3, 1 << 20, 1 << 31][..]),
        per_key in prop::sample::select(&[1u32, 5, 1 << 20][..]),
        price in prop::sample::select(&["share = 1", "share = 1e-18", "cost = { rho = 1e-9 }", "cost = { epsilon = 1e-6 }", "cost = { rho = 1e-6, delta = 1e-12 }"][..]),
        running in prop::sample::select(&["", "", "running = true\n", "running = true\nstrategy = \"fresh\"\n", "running = true\nstrategy = \"tree\"\n"][..]),
        so_far: bool,
        laplace: bool,
    ) {
        let is_extreme = statistic.starts_with("max") || statistic.starts_with("min");
        let noise = match laplace {
            _ if statistic.starts_with("quantile") => "exponential",
            true if is_extreme => "exponential",
            true => "laplace",
            false => "gaussian",
        };
        let (count, unit) = every.split_at(every.find(|c: char| !c.is_ascii_digit()).unwrap_or(0));
        let over = count.parse::<u32>().map_or(String::new(), |count| format!("over = \"{}{unit}\"\n", count * over));
        let over = if so_far && !running.is_empty() { String::new() } else { over } + running;
        let keys = if statistic.contains("by") || statistic.contains("edges") { keys } else { 1 };
        let per_key = if statistic.contains("people") { 1 } else { per_key };
        let per_key = if is_extreme { String::new() } else { format!(", per_key = {per_key}") };
        let text = GOOD
            .replace("until = \"2026-04-11T00:00:00Z\"", until)
            .replace("lifetime", promise)
            .replace("epsilon = 1.0, delta = 1e-6", budget)
            .replace("every = \"1 day\"\n", &format!("every = \"{every}\"\n{over}"))
            .replace("people = {}\nbound = {}", &format!("{statistic}\nbound = {{ keys = {keys}{per_key} }}"))
            .replace("gaussian", noise)
            .replace("share = 1", price);
        let Ok(job) = Job::parse("a.toml", &text) else { return Ok(()) };
        match job.plan() {
            Ok(plan) => {
                let line = serde_json::to_string(&plan).unwrap();
                prop_assert!(plan.releases[0].noise.iter().all(|noise| noise.scale.is_finite() && noise.interval.is_finite()), "{}", line);
                prop_assert!(!plan.to_string().contains("NaN") && !plan.to_string().contains("inf"), "{}", plan);
            }
            Err(refused) => prop_assert!(refused.field().starts_with("release[1].") || refused.field().starts_with("job."), "{}", refused),
        }
    }
}

// Refutes a plan that holds the names of all releases once for each of them.
#[test]
fn releases_that_share_people_share_one_list_of_their_names() {
    let names: Arc<[String]> = ["a", "b", "c"].map(str::to_owned).into();
    let beside = |own| OtherReleases::beside(own, &names);
    assert_eq!((beside(1).to_string().as_str(), beside(1).is_empty()), ("a, c", false));
    assert_eq!(serde_json::to_string(&beside(0)).unwrap(), r#"["b","c"]"#);
    assert_eq!(Arc::strong_count(&names), 1);
    let _all: Vec<OtherReleases> = (0..3).map(beside).collect();
    assert_eq!(Arc::strong_count(&names), 4);
    assert!(OtherReleases::default().is_empty() && beside(0) != beside(1));
}
