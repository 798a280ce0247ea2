#![allow(clippy::unwrap_used)]

use super::*;
use crate::accounting::BudgetUnits;
use crate::job::Job;
use crate::job::release_plan::ReleasePlan;
use crate::job::test_jobs::csv_job;
use crate::ledger::Charge;

/// A job with a month of days that are released by themselves, and the given running totals.
fn text(running: &str) -> String {
    let releases = format!(
        r#"
[[release]]
name = "visits"
every = "1 day"
people = {{}}
noise = "gaussian"
share = 0.6
[[release]]
name = "so_far"
running = true
noise = "gaussian"
{running}
"#
    );
    csv_job("shop", 31, "epsilon = 1.0, delta = 1e-6", &releases)
}

const SO_FAR: &str = "every = \"1 day\"\npeople = {}\nshare = 0.4";

fn offered(text: &str) -> Result<Vec<ReleasePlan>, UnfitJob> {
    let job = Job::parse("jobs/shop.toml", text).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    job.release_plans(job.horizon())
}

fn refused(text: &str) -> String {
    offered(text).unwrap_err().to_string()
}

// By hand: 0.4 of the cap, divided by nothing; and 0.6 of it by 31 days, independently of the other release.
#[test]
fn totals_have_their_share_once() {
    for promise in ["lifetime", "any 7 days", "each 7 days"] {
        let text = text(SO_FAR).replace("lifetime", promise);
        let job = Job::parse("jobs/shop.toml", &text).unwrap();
        let offers = job.release_plans(job.horizon()).unwrap();
        let (cap, _) = job.account().cap().rho_and_delta().unwrap();
        let rho = |offer: &ReleasePlan| match offer.cost.rho_and_delta().unwrap() {
            (rho, BudgetUnits::ZERO) => rho.to_bits(),
            _ => panic!(),
        };
        let days = match promise {
            "lifetime" => 31,
            "any 7 days" => 8,
            _ => 7,
        };
        assert_eq!((offers[0].together.windows(), offers[1].together.windows()), (days, 1), "{promise}");
        // A span holds a part of a month, and all kept contributions of a person may differ from those
        // before.
        let paid = if promise == "lifetime" { 1 } else { 4 };
        assert_eq!(rho(&offers[1]), cap.to_bits() * 4 / 10 / paid, "{promise}");
        assert_eq!(rho(&offers[0]), cap.to_bits() * 6 / (10 * u128::from(days)), "{promise}");
        assert_eq!(offers[1].running.unwrap().span, TotalSpan::SoFar { windows: 31 });
        let prepared = offers[1].prepare(&job).unwrap();
        // The first total starts at the start of the first window.
        let (_, Charge::Once { life, .. }) = job.terms_and_charge(&offers[1]).unwrap() else { panic!() };
        assert_eq!(Some(life.start()), job.horizon().from, "{promise}");
        let moved = &prepared.sensitivities[0].sensitivity;
        assert_eq!((prepared.cost.amount(), moved.l0()), (&offers[1].cost, 1));
    }
}

// Refutes windows as long as the time over which they are added up: a record would count in each of them.
#[test]
fn windows_that_are_added_up_lie_side_by_side() {
    let week = "every = \"1 day\"\nover = \"1 week\"\ncount = {}\nbound = { per_key = 2 }\nshare = 0.4";
    let offers = offered(&text(week)).unwrap();
    assert_eq!(offers[1].running.unwrap().span, TotalSpan::Last { windows: 7 });
    assert_eq!(offers[1].schedule, offers[0].schedule);
    assert_eq!(offers[1].schedule.count(), 31);
    // No last window is needed.
    let endless = text(week)
        .replace("until = 2026-02-01T00:00:00Z\n", "")
        .replace("share = 0.6", "cost = { rho = 1e-4 }");
    assert!(!offered(&endless).unwrap()[1].schedule.is_bounded());
}

// Refutes a refusal of the mechanism that is reported without the field of the file, or only when there is a
// run.
#[test]
fn what_no_total_can_be_is_named_by_its_field() {
    let far = |every: &str, until: &str| {
        let running = SO_FAR.replace("1 day", every);
        text(&running).replace("2026-02-01", until).replace("share = 0.6", "cost = { rho = 1e-9 }")
    };
    let printed = refused(&far("1s", "2200-01-01"));
    assert!(printed.starts_with("release[2].every: found 5490892800 windows, of which totals so far are released for 2^32 at most; give"), "{printed}");
    let root = |text: String| text.replace("running = true", "running = true\nstrategy = \"square-root\"");
    let printed = refused(&root(far("1h", "2027-01-01")));
    assert!(
        printed.starts_with("release[2].strategy: found square-root for 8760 windows")
            && printed.contains("give \"buffered\""),
        "{printed}"
    );
    assert!(offered(&root(far("1h", "2026-06-01"))).is_ok());
    assert!(offered(&far("1h", "2027-01-01")).is_ok());
    let endless = text(SO_FAR)
        .replace("until = 2026-02-01T00:00:00Z\n", "")
        .replace("share = 0.6", "cost = { rho = 1e-4 }");
    let printed = refused(&endless);
    assert!(
        printed.starts_with("job.until: found nothing; give the time of the last window of release[2]"),
        "{printed}"
    );
    assert!(printed.contains("over = \"..\""), "{printed}");
    let priced = refused(&text(&SO_FAR.replace("share = 0.4", "cost = { rho = 0.02 }")));
    assert!(
        priced.starts_with("release[2].cost: found Gaussian rho 0.02 for all windows together, where "),
        "{priced}"
    );
    let (_, proposal) = priced.split_once("give at most ").unwrap();
    assert!(offered(&text(&SO_FAR.replace("share = 0.4", proposal))).is_ok(), "{priced}");
    let tiny = refused(&text(&SO_FAR.replace("share = 0.4", "share = 1e-18")));
    assert!(tiny.starts_with("release[2].share: "), "{tiny}");
    let many =
        refused(&text("every = \"1 day\"\ncount = {}\nbound = { per_key = 2147483648 }\nshare = 1e-15"));
    assert!(many.starts_with("release[2].share: rho: "), "{many}");
}

// Refutes a strategy that is stated and ignored.
#[test]
fn the_strategy_of_the_file_is_drawn() {
    let name = |strategy: &str| {
        let job = Job::parse("a.toml", &text(&format!("{SO_FAR}\n{strategy}"))).unwrap();
        let offers = job.release_plans(job.horizon()).unwrap();
        let settled = offers[1].prepare(&job).unwrap();
        let noise = settled.noise[0];
        assert_eq!(settled.intervals.len(), 1);
        (noise.strategy().unwrap(), noise.scale())
    };
    let named = ["square-root", "buffered", "tree", "fresh"]
        .map(|strategy| (strategy, name(&format!("strategy = \"{strategy}\""))));
    for (strategy, (drawn, _)) in named {
        assert_eq!(strategy, drawn);
    }
    // Over 31 totals, each strategy errs by less than the next.
    assert!(named.windows(2).all(|pair| pair[0].1.1 < pair[1].1.1), "{named:?}");
    assert_eq!(name(""), named[0].1);
}

// Refutes people over the last windows without a last one, a bound of entries that is not that of the file, and a plan
// that has no sum of the last windows in its place.
#[test]
fn people_over_the_last_windows_have_a_span_of_their_own() {
    let people = "every = \"1 day\"\nover = \"7 days\"\npeople = {}\nbound = { entries = 4 }\nshare = 0.4";
    let job = Job::parse("a.toml", &text(people)).unwrap();
    let offers = job.release_plans(job.horizon()).unwrap();
    let of_last = TotalSpan::People { windows: 31, last: 7, entries: 4 };
    assert_eq!(offers[1].running.unwrap().span, of_last);
    let scale = |text: &str| {
        let job = Job::parse("a.toml", text).unwrap();
        let offers = job.release_plans(job.horizon()).unwrap();
        offers[1].prepare(&job).unwrap().noise[0].scale()
    };
    // Twice four changes, where people so far change once.
    let over = scale(&text(people)) / scale(&text(SO_FAR));
    assert!((over / 8f64.sqrt() - 1.0).abs() < 1e-3, "{over}");
    let endless = text(people)
        .replace("until = 2026-02-01T00:00:00Z\n", "")
        .replace("share = 0.6", "cost = { rho = 1e-9 }");
    let refused = refused(&endless);
    assert!(refused.starts_with("job.until: found nothing; give the time of the last window"), "{refused}");
    assert!(
        refused.contains("people over the last windows") && refused.contains("leave out running"),
        "{refused}"
    );
}
