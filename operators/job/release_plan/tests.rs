#![allow(clippy::unwrap_used)]

use std::sync::LazyLock;

use proptest::prelude::*;

use super::*;
use crate::accounting::Promise;
use crate::job::test_jobs::csv_job;
use crate::mechanisms::Label;

static GOOD: LazyLock<String> =
    LazyLock::new(|| csv_job("shop", 31, "epsilon = 1.0, delta = 1e-6", RELEASES));

const RELEASES: &str = r#"
[[release]]
name = "visits"
every = "1 day"
count = { by = "page", keys = "discover" }
bound = { keys = 3, per_key = 2 }
noise = "gaussian"
share = 0.4

[[release]]
name = "spent"
every = "all"
sum = { of = "price", range = [0, 9.99] }
bound = {}
noise = "gaussian"
cost = { rho = 0.001 }
"#;

fn job(text: &str) -> Job {
    Job::parse("jobs/shop.toml", text).unwrap()
}

fn offered(job: &Job) -> Result<Vec<ReleasePlan>, UnfitJob> {
    job.release_plans(job.horizon())
}

fn refused(text: &str) -> String {
    offered(&job(text)).unwrap_err().to_string()
}

#[test]
fn a_window_longer_than_the_span_of_the_job_is_refused() {
    let refused = refused(&GOOD.replace("\"1 day\"", "\"2 months\""));
    let message = "job.until: found a time before release[1] has a window; give a later one, or a smaller release[1].every";
    assert_eq!(refused, message);
}

/// Returns the cost that one account pays for all plans together.
fn sum(offers: &[ReleasePlan]) -> PrivacyCost {
    let all = |offer: &ReleasePlan| offer.together.all(&offer.cost).unwrap();
    offers.iter().map(all).reduce(|sum, more| sum.plus(&more).unwrap()).unwrap()
}

// Refutes a price that the mechanism does not charge, and prices that do not fit under the cap together.
#[test]
fn the_configs_are_offered_within_their_budgets() {
    for entry in std::fs::read_dir("config").unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "toml") {
            continue;
        }
        let job = Job::open(&path).unwrap();
        let offers = offered(&job).unwrap();
        assert!(sum(&offers).within(job.account().cap()), "{}", path.display());
        for offer in &offers {
            assert_eq!(offer.prepare(&job).unwrap().cost.amount(), &offer.cost);
            assert!(offer.together.windows() > 0);
        }
    }
}

// By hand: 31 days; 0.4 of the cap divided among them, rounded down, and the same of the delta.
#[test]
fn a_share_is_divided_by_the_windows_of_a_lifetime() {
    let job = job(&GOOD);
    let offers = offered(&job).unwrap();
    assert_eq!((offers[0].together.windows(), offers[1].together.windows()), (31, 1));
    let (rho, delta) = offers[0].cost.rho_and_delta().unwrap();
    let (cap, all) = job.account().cap().rho_and_delta().unwrap();
    let part = |all: BudgetUnits| all.to_bits() * 4 / 310;
    assert_eq!((rho.to_bits(), delta.to_bits()), (part(cap), part(all)));
    assert_eq!(offers[1].values, [("price".into(), DecimalPoint::digits(6).unwrap())]);
    assert_eq!(offers[0].key.as_ref().unwrap().fields, ["page"]);
    assert_eq!(delta_of(&offers[1].cost), BudgetUnits::ZERO);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    // Refutes a share that is rounded up, or down by more than a unit.
    #[test]
    fn shares_are_rounded_down_by_less_than_a_unit(share in 1u64..10u64.pow(18), windows in 1u64..4_000_000_000) {
        let text = GOOD
            .replace("epsilon = 1.0, delta = 1e-6", "rho = 0.3")
            .replace("\"discover\"", "[\"a\"]")
            .replace("share = 0.4", &format!("share = {share}e-18"))
            .replace("cost = { rho = 0.001 }", "share = 1e-18");
        let job = job(&text);
        let schedules: Vec<Schedule> =
            job.releases.iter().map(|release| schedule(&job, lengths(release), job.horizon(), "").unwrap()).collect();
        let cost = &fit::costs(&job, &[], &[ConcurrentWindows::whole(windows), ConcurrentWindows::ONE], &schedules).unwrap()[0];
        let (PrivacyCost::Zcdp { rho, .. }, PrivacyCost::Zcdp { rho: cap, .. }) = (cost, job.account().cap()) else { panic!() };
        let big = dashu_int::UBig::from;
        let exact = big(cap.to_bits()) * big(share.into());
        let divisor = big(10u128.pow(18)) * big(windows.into());
        prop_assert!(big(rho.to_bits()) * &divisor <= exact);
        prop_assert!(big(rho.to_bits() + 1) * &divisor > exact);
    }
}

// Refutes a suggested cost that does not fit either, or that is much less than would fit.
#[test]
fn what_is_proposed_for_a_cost_fits() {
    let epsilons = GOOD.replace(
        "noise = \"gaussian\"\ncost = { rho = 0.001 }",
        "noise = \"laplace\"\ncost = { epsilon = 0.15 }",
    );
    let discovering = GOOD.replace("share = 0.4", "cost = { rho = 0.0009, delta = 1.5e-8 }");
    let pure = GOOD
        .replace("gaussian", "laplace")
        .replace(", delta = 1e-6", "")
        .replace("\"discover\"", "[\"a\"]")
        .replace("rho = 0.001", "epsilon = 0.7");
    for (text, place, change) in [
        (GOOD.replace("rho = 0.001 }", "rho = 0.02 }"), "release[2].cost", "cost = { rho = 0.02 }"),
        (epsilons, "release[2].cost", "cost = { epsilon = 0.15 }"),
        (discovering, "release[1].cost", "cost = { rho = 0.0009, delta = 1.5e-8 }"),
        (pure, "release[2].cost", "cost = { epsilon = 0.7 }"),
    ] {
        let printed = refused(&text);
        assert!(printed.starts_with(&format!("{place}: found ")), "{printed}");
        let (_, proposal) = printed.split_once("give at most ").unwrap();
        assert!(text.contains(change) && proposal != change, "{printed}");
        let changed = text.replace(change, proposal);
        assert!(offered(&job(&changed)).is_ok(), "{changed}");
    }
    let nothing = refused(&GOOD.replace("share = 0.4", "share = 1"));
    assert!(
        nothing.contains("release[2].cost: ") && nothing.contains("nothing of Gaussian rho"),
        "{nothing}"
    );
}

#[test]
fn a_lifetime_without_end_runs_until_it_is_spent() {
    let text = GOOD
        .replace("until = 2026-02-01T00:00:00Z\n", "")
        .replace("share = 0.4", "cost = { rho = 0.001, delta = 1e-9 }");
    assert!(offered(&job(&text)).is_ok());
}

#[test]
fn what_is_missing_or_unfit_is_named_by_its_field() {
    let untimed = GOOD
        .replace("from = 2026-01-01T00:00:00Z\nuntil = 2026-02-01T00:00:00Z\n", "")
        .replace("share = 0.4", "cost = { rho = 0.001, delta = 1e-9 }");
    assert!(refused(&untimed).starts_with("job.from: found nothing; give "), "{}", refused(&untimed));
    let only_all = untimed.replace("every = \"1 day\"", "every = \"all\"");
    let all = offered(&job(&only_all)).unwrap();
    assert_eq!(all[0].schedule.window(0).map(|window| (window.start(), window.end())), Some((-LIMIT, LIMIT)));
    let no_room = GOOD.replace("every = \"1 day\"", "every = \"2 months\"");
    assert!(refused(&no_room).starts_with("job.until: "), "{}", refused(&no_room));
    let tiny = GOOD.replace("share = 0.4", "share = 1e-18");
    assert!(refused(&tiny).starts_with("release[1].share: "), "{}", refused(&tiny));
    let file = GOOD.replace("\"discover\"", "{ file = \"none.txt\" }");
    assert!(refused(&file).starts_with("release[1].count.keys: jobs/none.txt: "), "{}", refused(&file));
}

#[test]
fn cells_are_written_as_the_file_has_them() {
    let text = GOOD.replace(
        "sum = { of = \"price\", range = [0, 9.99] }\nbound = {}",
        "histogram = { of = \"price\", edges = [-0.5, 0, 2.25] }\nbound = { keys = 1, per_key = 1 }",
    );
    let offers = offered(&job(&text)).unwrap();
    let StatisticSpec::Histogram(histogram) = &offers[1].statistic else { panic!() };
    let (edges, point) = histogram.edges().unwrap();
    assert_eq!(edges.bucket(225).low(), Some(225));
    assert_eq!(point.count(), 2);
    let keys = offers[1].keys.listed().unwrap();
    let printed: Vec<String> = keys.iter().map(ToString::to_string).collect();
    assert_eq!(printed, ["(-inf, -0.5)", "[-0.5, 0)", "[0, 2.25)", "[2.25, inf)"]);
    let whole = GOOD.replace(
        "count = { by = \"page\", keys = \"discover\" }\nbound = { keys = 3, per_key = 2 }",
        "people = {}",
    );
    let offers = offered(&job(&whole)).unwrap();
    let keys = offers[0].keys.listed().unwrap();
    assert_eq!(keys.iter().map(crate::mechanisms::Key::label).collect::<Vec<_>>(), [Label::Whole]);
}

// Refutes answers that differ from those of the file in any digit.
#[test]
fn answers_are_the_points_of_the_file() {
    let asked = |statistic: &str, noise: &str| {
        let spent = "sum = { of = \"price\", range = [0, 9.99] }\nbound = {}\nnoise = \"gaussian\"";
        assert!(GOOD.contains(spent));
        let offers =
            offered(&job(&GOOD.replace(spent, &format!("{statistic}\nnoise = \"{noise}\"")))).unwrap();
        let point = offers[1].point();
        let (grid, _) = match &offers[1].statistic {
            StatisticSpec::Max(max) => max.grid().unwrap(),
            StatisticSpec::Quantile(quantile) => quantile.grid().unwrap(),
            other => panic!("{other:?}"),
        };
        let at = |index: u64| point.shown(grid.at(index).unwrap().into());
        ([at(1), at(2), at(grid.top() - 1), at(grid.top())], grid.top(), offers[1].values.first().cloned())
    };
    let printed = |texts: [&str; 4]| texts.map(str::to_owned);
    let (answers, top, value) =
        asked("max = { of = \"price\", grid = { from = -0.5, to = 40, step = 0.25 } }", "gaussian");
    assert_eq!((answers, top), (printed(["-0.5", "-0.25", "39.75", "40"]), 163));
    // Values are read in finer steps than those between answers.
    assert_eq!(value, Some(("price".into(), DecimalPoint::digits(5).unwrap())));
    let (answers, top, value) = asked("max = { each = \"count\", grid = [1, 2, 5, 1000000] }", "laplace");
    assert_eq!((answers, top, value), (printed(["1", "2", "5", "1000000"]), 4, None));
    let (answers, _, _) =
        asked("max = { of = \"price\", each = \"sum\", grid = { log = 0.01 } }", "exponential");
    assert_eq!(answers[..2], printed(["0", "0.01", "", ""])[..2]);
    assert_eq!(answers[3], "92233720368547758.07");
    let (answers, _, _) = asked("max = { of = \"price\", grid = \"signed log\" }", "gaussian");
    assert_eq!((answers[0].as_str(), answers[3].as_str()), ("-9223372036854775808", "9223372036854775807"));
    let quantile = "quantile = { of = \"price\", q = [0.5, 0.95], range = [0, 9.99]";
    let (answers, top, _) =
        asked(&format!("{quantile}, step = 0.01 }}\nbound = {{ per_key = 1 }}"), "exponential");
    assert_eq!((answers, top), (printed(["0", "0.01", "9.98", "9.99"]), 1_000));
    let (answers, top, _) = asked(&format!("{quantile} }}\nbound = {{ per_key = 1 }}"), "exponential");
    assert_eq!((answers, top), (printed(["0", "0.000001", "9.989999", "9.99"]), 9_990_001));
}

// Refutes windows that differ from the words of the file.
#[test]
fn every_word_for_windows_is_a_schedule() {
    let text = |every: &str| GOOD.replace("every = \"1 day\"", every);
    let first = |every: &str| {
        let offers = offered(&job(&text(every))).unwrap();
        let schedule = &offers[0].schedule;
        let window = schedule.window(0).unwrap();
        let day = 86_400_000_000.0;
        let start = (window.start() - 1_767_225_600_000_000) as f64 / day;
        (schedule.count(), start, (window.end() - window.start()) as f64 / day)
    };
    assert_eq!(first("every = \"1 day\""), (31, 0.0, 1.0));
    assert_eq!(first("every = \"12h\""), (62, 0.0, 0.5));
    assert_eq!(first("every = \"6h\"\nover = \"12h\""), (123, 0.0, 0.5));
    assert_eq!(first("every = \"1 day\"\nover = \"1 week\""), (25, 0.0, 7.0));
    assert_eq!(first("every = \"1 month\""), (1, 0.0, 31.0));
    // 2026-01-01 is a Thursday, as 1970-01-01 was.
    assert_eq!(first("every = \"1 week\""), (4, 0.0, 7.0));
    assert_eq!(first("every = \"all\""), (1, 0.0, 31.0));
    assert_eq!(job(&text("every = \"all\"")).account().promise(), Promise::Lifetime);
}
