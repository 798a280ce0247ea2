#![allow(clippy::unwrap_used)]

use super::*;
use crate::accounting::Promise;
use crate::job::config::tests::refusals::{BUDGET, COUNT, SHARE, check};
use crate::job::config::tests::{GOOD, parse};
use crate::job::{Mistake, MistakeKind};

/// The lines of a running release that replace the good file's statistic and bound.
fn said(statistic: &str) -> String {
    format!("{statistic}\nrunning = true")
}

const PER_VENDOR: &str =
    "count = { by = \"vendor\", keys = \"discover\" }\nbound = { keys = 3, per_key = 1 }";

#[test]
fn totals_so_far_and_of_the_last_windows_are_read() {
    let release = |statistic: &str| {
        let text = GOOD.replace(COUNT, statistic).replace("1 month", "1 day");
        parse(&text).unwrap_or_else(|mistakes| panic!("{mistakes}")).releases.remove(0)
    };
    let so_far = release(&said(PER_VENDOR));
    assert_eq!(
        (so_far.running, so_far.total_windows(), so_far.sliding_length()),
        (Some(RunningSpec { strategy: None }), None, None)
    );
    let last = release(&said(&format!("over = \"2 weeks\"\nstrategy = \"fresh\"\n{PER_VENDOR}")));
    assert_eq!((last.running.unwrap().strategy, last.total_windows()), (Some(Strategy::Fresh), Some(14)));
    assert_eq!(last.sliding_length(), None);
    let longest = release(&said(&format!("over = \"3653 days\"\n{PER_VENDOR}")));
    assert_eq!(longest.total_windows(), Some(3_653));
    for strategy in STRATEGIES {
        let named = release(&said(&format!("strategy = \"{strategy}\"\n{PER_VENDOR}")));
        assert_eq!(named.running.unwrap().strategy, Some(strategy));
    }
    // A field that is false is the same as one left out.
    let not = release(&format!("over = \"2 weeks\"\nrunning = false\n{PER_VENDOR}"));
    assert_eq!((not.running, not.total_windows(), not.sliding_length()), (None, None, not.over));
    assert_eq!(not, release(&format!("over = \"2 weeks\"\n{PER_VENDOR}")));
}

// Refutes a word that is read as another, and a strategy without effect.
#[test]
fn what_is_no_running_total_is_refused_where_it_stands() {
    check(&[
        (SHARE, "share = 0.5\nrunning = «1", &["release[1].running", "a whole number", "true or false"]),
        (SHARE, "share = 0.5\nrunning = «\"yes\"", &["a text", "true or false"]),
        (SHARE, "share = 0.5\n«runing = true", &["release[1].runing", "did you mean running?"]),
        (
            SHARE,
            "share = 0.5\nstrategy = «\"tree\"",
            &["release[1].strategy", "a strategy where nothing is added up", "running = true beside it"],
        ),
        (SHARE, "share = 0.5\nrunning = false\nstrategy = «\"tree\"", &["running = true beside it"]),
        (
            COUNT,
            &said(&format!("strategy = «\"bufered\"\n{PER_VENDOR}")),
            &["release[1].strategy", "\"bufered\"", "did you mean buffered?"],
        ),
        (COUNT, &said(&format!("strategy = «true\n{PER_VENDOR}")), &["a text in quotes"]),
        (
            COUNT,
            &said(&format!("over = «\"45 days\"\n{PER_VENDOR}")),
            &["release[1].over", "a whole multiple of every"],
        ),
    ]);
}

// Refutes a total of a statistic that is no sum, and one of people who occur twice.
#[test]
fn what_is_no_sum_over_windows_is_refused() {
    let quantile = "quantile = { of = \"rating\", q = 0.5, range = [0, 5] }\nbound = { per_key = 1 }";
    let max = "max = { of = \"rating\", grid = \"log\" }\nbound = {}";
    let min = max.replacen("max", "min", 1);
    let means = "means = { of = [\"rating\"], within = [[0, 5]] }\nbound = { per_key = 1 }";
    for (statistic, word) in [(means, "means"), (max, "max"), (&min, "min"), (quantile, "quantile")] {
        let found = format!("a running {word}");
        let why = format!("a {word} of several windows is no sum of what each of them has");
        check(&[(
            COUNT,
            &format!("{statistic}\nrunning = «true"),
            &["release[1].running", &found, "count, people, sum, histogram, mean, variance or ratio", &why],
        )]);
    }
    check(&[
        (
            COUNT,
            &said(&format!("over = \"3 months\"\nstrategy = «\"tree\"\n{PER_VENDOR}")),
            &["release[1].strategy", "for totals so far alone", "square-root or fresh"],
        ),
        (
            COUNT,
            &said(&format!("over = \"3 months\"\nstrategy = «\"buffered\"\n{PER_VENDOR}")),
            &["so far alone"],
        ),
        (
            "every = \"1 month\"\ncount = { by = \"vendor\", keys = \"discover\" }\nbound = { keys = 3, per_key = 1, windows = 12 }",
            &format!("every = \"all\"\n{PER_VENDOR}\nrunning = «true"),
            &["release[1].running", "totals of one window", "or no running"],
        ),
        (
            "every = \"1 month\"\ncount = { by = \"vendor\", keys = \"discover\" }\nbound = { keys = 3, per_key = 1, windows = 12 }",
            &format!("every = \"1s\"\nover = «\"16385s\"\n{PER_VENDOR}\nrunning = true"),
            &["release[1].over", "too many windows", "at most 16,384 times"],
        ),
    ]);
}

// Refutes people over the last windows who are not bounded by what they cost, and a bound that bounds nothing.
#[test]
fn people_over_the_last_windows_are_bounded_by_their_entries() {
    let people = |bound: &str| said(&format!("over = \"3 months\"\npeople = {{}}{bound}"));
    let read = GOOD.replace(COUNT, &people("\nbound = { entries = 4 }\nstrategy = \"tree\""));
    let read = parse(&read).unwrap_or_else(|mistakes| panic!("{mistakes}")).releases.remove(0);
    assert_eq!((read.bound.entries, read.total_windows()), (Some(4), Some(3)));
    assert_eq!(read.running.unwrap().strategy, Some(Strategy::Tree));
    check(&[
        (
            COUNT,
            &people("\nbound = «{}"),
            &["release[1].bound", "no bound of entries", "entries = ..", "over all windows together"],
        ),
        (
            COUNT,
            &said("people = {}\nbound = { entries = «4 }"),
            &["release[1].bound.entries", "entries where nobody leaves", "with over and running = true"],
        ),
        (
            COUNT,
            &said(&PER_VENDOR.replace("per_key = 1 }", "per_key = 1, entries = «4 }")),
            &["release[1].bound.entries", "no entries"],
        ),
        (COUNT, &people("\nbound = { entries = «0 }"), &["release[1].bound.entries", "zero"]),
        (
            COUNT,
            "over = \"3 months\"\npeople = {}\nbound = { entries = «4, windows = 12 }",
            &["release[1].bound.entries", "no entries"],
        ),
    ]);
    let records = GOOD
        .replace(COUNT, &people("\nbound = { entries = 4 }"))
        .replace("person = { field = \"who\", missing = \"drop\" }", "unit = \"record\"");
    let refused = parse(&records).unwrap_err().to_string();
    assert!(refused.contains("release[1].over: found people over the last windows beside unit"), "{refused}");
    assert!(refused.contains("give count"), "{refused}");
}

// Refutes a bound of each window where all of them are bounded together, and noise that cannot be correlated.
#[test]
fn bounds_and_noise_are_of_all_windows_together() {
    let listed = PER_VENDOR.replace("\"discover\"", "[\"a\"]");
    check(&[
        (
            COUNT,
            &said(&PER_VENDOR.replace("per_key = 1 }", "per_key = 1, windows = «12 }")),
            &["release[1].bound.windows", "beside running", "over all of them together"],
        ),
        (
            COUNT,
            &said(&PER_VENDOR.replace("{ keys = 3, per_key = 1 }", "«{ per_key = 1 }")),
            &["no bound of keys", "how many keys a person counts in, over all windows together"],
        ),
    ]);
    let running = |text: &str| GOOD.replace(COUNT, &said(text));
    let printed = |text: &str| parse(text).unwrap_err().to_string();
    let laplace = printed(&running(PER_VENDOR).replace("\"gaussian\"", "\"laplace\""));
    assert!(laplace.starts_with("jobs/a.toml:22:9: release[1].noise: found laplace noise, which a running count does not have; give gaussian\n"), "{laplace}");
    let pure = running(&listed).replace(BUDGET, "{ epsilon = 1.0 }");
    let gaussian = printed(&pure);
    assert!(
        gaussian.starts_with("jobs/a.toml:22:9: release[1].noise: found Gaussian noise under a pure budget; give a budget of rho, or of epsilon and delta"),
        "{gaussian}"
    );
    let both = printed(&pure.replace("\"gaussian\"", "\"laplace\""));
    assert!(both.contains("give gaussian, and a budget of rho, or of epsilon and delta"), "{both}");
    let cost = printed(&running(&listed).replace(SHARE, "cost = { epsilon = 0.1 }"));
    assert!(cost.contains("release[1].cost.epsilon") && cost.contains("give rho\n"), "{cost}");
    let kinds = |text: &str| parse(text).unwrap_err().iter().map(Mistake::kind).collect::<Vec<_>>();
    assert_eq!(kinds(&pure), [MistakeKind::Conflict]);
    assert_eq!(kinds(&running(PER_VENDOR).replace("running = true", "running = 1")), [MistakeKind::Type]);
    let strategy = "running = true\nstrategy = \"log\"";
    assert_eq!(kinds(&running(PER_VENDOR).replace("running = true", strategy)), [MistakeKind::Unknown]);
    // One mistake each.
    for mistakes in [laplace, gaussian, both, cost] {
        assert_eq!(mistakes.matches("; give ").count(), 1, "{mistakes}");
    }
}

// Refutes a promise about a number of windows for a release that takes all of them.
#[test]
fn a_account_that_counts_windows_has_no_running_total() {
    let beside = format!(
        "{GOOD}[[release]]\nname = \"so_far\"\nevery = \"1 month\"\npeople = {{}}\nrunning = true\nnoise = \"gaussian\"\nshare = 0.5\n"
    );
    let printed = parse(&beside).unwrap_err();
    let first = printed.iter().next().unwrap();
    assert_eq!((first.field(), first.line(), first.column()), ("release[2].running", 27, 11));
    assert!(first.remedy().contains("another account"), "{printed}");
    assert_eq!(printed.iter().count(), 1, "{printed}");
    let apart = beside.replace(", windows = 12", "");
    assert_eq!(parse(&apart).unwrap().account().promise(), Promise::Lifetime);
}

// Refutes the refusal of a running total's share for want of a divisor: it needs none.
#[test]
fn a_share_is_of_all_windows_also_where_there_is_no_last_one() {
    let endless = GOOD.replace("until = \"2008-03-01T00:00:00Z\"\n", "");
    assert!(parse(&endless.replace(COUNT, &said(&format!("over = \"3 months\"\n{PER_VENDOR}")))).is_ok());
    assert!(parse(&endless.replace(COUNT, PER_VENDOR)).is_err());
}
