//! Tests of the noise of a plan: the people whom a key and a cell need, and guarantees about ranks.

use super::super::*;
use super::GOOD;
use crate::accounting::DiscreteGaussianCost;
use crate::mechanisms::{Ranks, TypicalRankError};

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

// Refutes a mean of distances whose plan names the numbers of another window, or moves of both as if each had its own.
#[test]
fn a_plan_of_a_mean_names_the_numbers_of_each_window() {
    let planned = |every: &str, per_key: u32| {
        let mean = "mean = { of = \"x\", range = [0, 9], by = \"page\", keys = \"discover\" }";
        let text = GOOD.replace(
            "people = {}\nbound = {}",
            &format!("{mean}\nbound = {{ keys = 1, per_key = {per_key} }}"),
        );
        let text =
            text.replace("gaussian", "laplace").replace("every = \"1 day\"", &format!("every = \"{every}\""));
        let job = Job::parse("a.toml", &text).unwrap_or_else(|mistakes| panic!("{mistakes}"));
        // A refusal of the former noise under this version names it.
        let offers = job.release_plans(job.horizon()).unwrap();
        assert!(offers[0].version_terms.names().any(|name| name == "numbers"));
        let release = job.plan().unwrap().releases.remove(0);
        let moves: Vec<String> = release.moves.iter().map(|moves| moves.number.to_string()).collect();
        let noise: Vec<String> = release.noise.iter().map(|noise| noise.number.to_string()).collect();
        (moves.join("; "), noise.join("; "), release.noise[0].found.is_some())
    };
    let both = "above_low + below_high";
    let of = |moves: &str, noise: &str, found: bool| (moves.to_owned(), noise.to_owned(), found);
    assert_eq!(
        planned("1 day", 1),
        of(
            &format!("{both}; sum; records"),
            "above_low; below_high; sum, in the window that finds a key; records, in the window that finds a key",
            false
        )
    );
    assert_eq!(planned("all", 1), of("sum; records", "sum; records", false));
    assert_eq!(planned("1 day", 5), of(both, "above_low; below_high", true));
    assert_eq!(planned("all", 5), of(both, "above_low; below_high", false));
}

// Refutes a page or a JSON that states other people than those of the exact law, and noise of a first window that is not
// drawn; of one window alone there is no other.
#[test]
fn a_plan_states_with_how_many_people_a_key_is_found() {
    let count = GOOD.replace("people = {}", "count = { by = \"page\", keys = \"discover\" }");
    let count = count.replace("bound = {}", "bound = { keys = 2, per_key = 3 }");
    let plan = |text: &str| Job::parse("a.toml", text).unwrap_or_else(|mistakes| panic!("{mistakes}")).plan();
    let several = plan(&count).unwrap();
    let PlannedKeys::Discovered { threshold, found_in_50, found_in_90, found_in_99, finding, .. } =
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
    // With a least number of people all numbers are as many more, and none is below it.
    let from_20 = plan(&count.replace("bound = {", "least_people = 20\nbound = {"));
    let from_20 = from_20.unwrap();
    let PlannedKeys::Discovered { threshold: raised, least_people, .. } = from_20.releases[0].keys else {
        panic!()
    };
    assert_eq!((raised, least_people), (threshold + 19, Some(20)));
    assert!(
        from_20
            .to_string()
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .contains("and with fewer than 20 in none")
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
    assert!(shows(&count) && !shows(&count.replace("per_key = 3", "per_key = 1")) && !shows(&GOOD));
    let one = plan(&count.replace("every = \"1 day\"", "every = \"all\"")).unwrap();
    assert_eq!(one.releases[0].noise[0].found, None);
    let rho = one.releases[0].cost.rho.unwrap() / 2.0;
    assert!(
        (one.releases[0].noise[0].scale - 3.0 * (1.0 / rho).sqrt()).abs()
            < 1e-6 * one.releases[0].noise[0].scale
    );
}

// By hand: sigma 1 / sqrt(2 rho), 1.645 sigma rounded up to whole people, ten times that.
#[test]
fn a_cell_needs_ten_times_its_interval() {
    let plan = Job::parse("a.toml", &GOOD).unwrap().plan().unwrap();
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
        expected::described(&expected(people as u64), "people", expected::A_RANK, None)
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
