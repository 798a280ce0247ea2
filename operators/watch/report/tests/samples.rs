//! Sample releases of jobs, the same in every run.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::accounting::{Interval, PrivacyCost};
use crate::gate::BudgetStatus;
use crate::ledger::rows::window;
use crate::ledger::{Forecast, Name};
use crate::time::at;
use crate::watch::report::{Heading, Report};

pub(super) fn heading(demo: bool) -> Heading {
    Heading {
        job: "reviews".to_owned(),
        promise: "Hides everything that any one person ever did, against anyone who sees all releases, over all time; \
                  when the budget is spent, releases stop."
            .to_owned(),
        account: "reviews".to_owned(),
        budget: "epsilon 1, delta 1e-6".to_owned(),
        made: "2026-11-21 23:50 UTC".to_owned(),
        zone: None,
        demo,
        releases: BTreeMap::new(),
    }
}

/// A generator of approximately normal numbers with a standard deviation of about 1.
pub(super) struct Chance(u64);

impl Chance {
    pub(super) fn new(seed: u64) -> Chance {
        Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn part(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as f64 / f64::from(1_u32 << 31)
    }

    pub(super) fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.part()).sum::<f64>() - 6.0
    }
}

pub(super) fn months(count: usize) -> Vec<Interval> {
    let name = |month: usize| format!("{}-{:02}-01", 2003 + (month + 4) / 12, (month + 4) % 12 + 1);
    let start = |month: usize| at(&name(month)).unwrap();
    (0..count).map(|month| Interval::new(start(month), start(month + 1)).unwrap()).collect()
}

pub(super) struct Cell<'a> {
    pub(super) key: Option<&'a str>,
    pub(super) value: String,
    pub(super) reach: [String; 2],
    pub(super) exact: Option<[String; 2]>,
}

impl<'a> Cell<'a> {
    /// The line of a count with noise of this scale.
    pub(super) fn count(
        key: Option<&'a str>,
        truth: f64,
        kept: f64,
        scale: f64,
        chance: &mut Chance,
        demo: bool,
    ) -> Cell<'a> {
        let tally = (truth * kept).round();
        let value = (tally + scale * chance.normal()).round();
        let reach = (1.645 * scale).ceil();
        let text = |number: f64| format!("{number}");
        let exact = demo.then(|| [text(tally), text(truth.round())]);
        Cell { key, value: text(value), reach: [text(value - reach), text(value + reach)], exact }
    }
}

pub(super) fn line_of(release: &str, span: Interval, cells: &[Cell<'_>], noise: &str) -> String {
    let window = window(span);
    let mut lines: Vec<String> = cells.iter().map(|cell| {
        let key = cell.key.map_or(String::new(), |key| format!("\"key\":{},", serde_json::to_string(key).unwrap()));
        let exact = cell.exact.as_ref().map_or(String::new(), |[tally, truth]| format!(",\"demo\":true,\"tally\":{tally},\"truth\":{truth}"));
        let ([low, high], value) = (&cell.reach, &cell.value);
        format!("{{\"release\":\"{release}\",\"window\":{window},{key}\"value\":{value},\"interval\":[{low},{high}],\"confidence\":0.9,\"noise\":{noise},\"id\":\"5f\",\"promise\":\"lifetime, a person, rho 0.0026\"{exact}}}")
    }).collect();
    let (count, chain) = (cells.len(), "ab".repeat(32));
    lines.push(format!("{{\"release\":\"{release}\",\"window\":{window},\"closed\":true,\"cells\":{count},\"seq\":1,\"chain\":\"{chain}\"}}"));
    lines.join("\n")
}

pub(super) fn refused(release: &str, span: Interval) -> String {
    let window = window(span);
    format!(
        "{{\"release\":\"{release}\",\"window\":{window},\"refused\":\"budget\",\"account\":\"reviews\",\"spent\":{{\"rho\":0.0312,\"delta\":0.0}},\"asked\":{{\"rho\":0.0026,\"delta\":0.0}},\"limit\":{{\"rho\":0.0322,\"delta\":5e-7}}}}"
    )
}

pub(super) fn budget_status(span: Interval, part: f64) -> BudgetStatus {
    BudgetStatus {
        account: Name::new("account", "reviews").unwrap(),
        job: Name::new("job", "reviews").unwrap(),
        window: span,
        spent: PrivacyCost::zcdp(0.0322 * part).unwrap(),
        cap: PrivacyCost::zcdp(0.0322).unwrap(),
        forecast: Arc::new(Forecast::unseen()),
        order: 0,
        took: std::time::Duration::ZERO,
    }
}

pub(super) const GAUSSIAN: &str = r#"{"kind":"gaussian","scale":34.65}"#;
pub(super) const MEANS: &str =
    r#"[{"number":"sum","kind":"laplace","scale":35.5},{"number":"records","kind":"laplace","scale":7.0}]"#;

/// Fourteen months with nine keys, and a mean; the budget refuses the last two months. A demonstration has
/// exact values.
pub(super) fn a_year(demo: bool) -> Report {
    let keys =
        ["kitchen", "books", "garden", "music", "sports & outdoors", "toys", "office", "pets", "automotive"];
    let (mut report, mut chance) = (Report::new(heading(demo)), Chance::new(7));
    for (month, span) in months(14).into_iter().enumerate() {
        if month > 11 {
            report.add(&refused("reviews_by_department", span), Some(&budget_status(span, 0.97)));
            continue;
        }
        let cells = keys.iter().enumerate().map(|(at, key)| {
            let season = 1.0 + 0.35 * ((month as f64 + at as f64 * 1.7) / 12.0 * std::f64::consts::TAU).sin();
            let truth = 2600.0 / (1.0 + at as f64 * 0.75) * season * (1.0 + 0.03 * month as f64);
            Cell::count(Some(key), truth, 0.955, 34.65, &mut chance, demo)
        });
        let cells: Vec<Cell<'_>> = cells.collect();
        let spent = 0.0806 * (month + 1) as f64;
        report.add(
            &line_of("reviews_by_department", span, &cells, GAUSSIAN),
            Some(&budget_status(span, spent)),
        );
        let stars = 3.9 + 0.2 * (month as f64 / 3.0).sin();
        let value = stars + 0.03 * chance.normal();
        let number = |number: f64| format!("{number:.4}");
        let mean = Cell {
            key: None,
            value: number(value),
            reach: [number(value - 0.07), number(value + 0.05)],
            exact: demo.then(|| [number(stars), number(stars + 0.01)]),
        };
        report.add(&line_of("stars", span, &[mean], MEANS), Some(&budget_status(span, spent)));
    }
    report
}

/// One window with thirty keys, one of them negative.
pub(super) fn a_window(demo: bool) -> Report {
    let (mut report, mut chance) = (Report::new(heading(demo)), Chance::new(3));
    let keys: Vec<String> = (0..30)
        .map(|at| {
            [
                "/",
                "/about",
                "/docs/getting-started",
                "/blog",
                "/a/long/path/that/goes/on/and/on/for/ever.html",
            ][at % 5]
                .to_owned()
                + &"/x".repeat(at / 5)
        })
        .collect();
    let cells = keys
        .iter()
        .enumerate()
        .map(|(at, key)| Cell::count(Some(key), 900.0 / (at + 1) as f64, 0.8, 22.0, &mut chance, demo));
    let cells: Vec<Cell<'_>> = cells.collect();
    let span = Interval::new(at("2026-11-01").unwrap(), at("2026-11-02").unwrap()).unwrap();
    report.add(&line_of("visits_by_path", span, &cells, GAUSSIAN), Some(&budget_status(span, 0.31)));
    report
}

/// Ten-minute windows with keys that appear late, buckets, negative and huge numbers, and refused windows.
pub(super) fn a_day() -> Report {
    let (mut report, mut chance) = (Report::new(heading(false)), Chance::new(11));
    let day = at("2026-11-01").unwrap();
    for step in 0..144_i64 {
        let span = Interval::new(day + step * 600_000_000, day + (step + 1) * 600_000_000).unwrap();
        let rhythm = 300.0 - 220.0 * (step as f64 / 144.0 * std::f64::consts::TAU).cos();
        let mut cells = vec![Cell::count(Some("early"), rhythm, 1.0, 12.0, &mut chance, false)];
        if step > 70 && step % 9 != 0 {
            cells.push(Cell::count(Some("late"), rhythm / 2.0, 1.0, 12.0, &mut chance, false));
        }
        if step == 100 {
            cells.push(Cell::count(Some("once"), 60.0, 1.0, 12.0, &mut chance, false));
        }
        if step % 12 == 6 {
            cells.push(Cell::count(Some("now and then"), 80.0, 1.0, 12.0, &mut chance, false));
        }
        let out = (40..46).contains(&step) || step == 120;
        let text = if out { refused("visits", span) } else { line_of("visits", span, &cells, GAUSSIAN) };
        report.add(&text, Some(&budget_status(span, 0.006 * (step + 1) as f64)));
        let balance = Cell::count(None, -5.0 * step as f64 + 200.0, 1.0, 60.0, &mut chance, false);
        report.add(&line_of("balance", span, &[balance], GAUSSIAN), None);
        let buckets = ["(-inf, 0)", "[0, 10)", "[10, 100)", "[100, inf)"];
        let bucket = |(at, key): (usize, &&'static str)| {
            Cell::count(Some(*key), 50.0 * at as f64, 1.0, 9.0, &mut chance, false)
        };
        let cells: Vec<Cell<'_>> = buckets.iter().enumerate().map(bucket).collect();
        report.add(&line_of("sizes", span, &cells, GAUSSIAN), None);
        let huge = |add: u128| {
            (170_141_183_460_469_231_731_687_303_715_884_000_000_u128
                + add * 1_000_000_000_000_000_000_000_000_000_000_000)
                .to_string()
        };
        let huge = Cell {
            key: None,
            value: huge(step as u128),
            reach: [huge(step as u128 - step.min(9) as u128), huge(step as u128 + 9)],
            exact: None,
        };
        report.add(&line_of("huge", span, &[huge], GAUSSIAN), None);
    }
    report
}

/// A line of a release with a bound on ranks: `cell` is its value and its interval, and in a demonstration
/// the exact numbers.
pub(super) fn ranked(
    release: &str,
    span: Interval,
    named: &str,
    cell: &str,
    noise: &str,
    exact: &str,
) -> String {
    let window = window(span);
    format!(
        "{{\"release\":\"{release}\",\"window\":{window},{named}{cell},\"confidence\":0.9,\"noise\":{noise},\"id\":\"5f\",\"promise\":\"lifetime, a person, rho 0.0026\"{exact}}}"
    )
}

/// The largest order and the quantiles of all orders, month by month.
pub(super) fn ranks(demo: bool) -> Report {
    let (mut report, mut chance) = (Report::new(heading(demo)), Chance::new(5));
    for (month, span) in months(9).into_iter().enumerate() {
        let exact = |value: f64, off: u32| match demo {
            true => format!(",\"demo\":true,\"tally\":{value:.1},\"truth\":{value:.1},\"off\":{off}"),
            false => String::new(),
        };
        let lines: Vec<String> = (["books", "garden"].iter().enumerate())
            .map(|(at, key)| {
                let value = (181.0 * (at + 1) as f64 * (1.0 + 0.1 * chance.normal())).round();
                let cell = format!("\"value\":{value},\"interval\":[{},null]", (value * 0.95).round());
                let cell = if month == 3 { cell + ",\"insufficient\":true" } else { cell };
                let off = if month == 5 { 70 } else { 12 };
                ranked(
                    "largest",
                    span,
                    &format!("\"key\":\"{key}\","),
                    &cell,
                    LARGEST,
                    &exact(value * 1.1, off),
                )
            })
            .collect();
        report.add(&ended("largest", span, &lines), Some(&budget_status(span, 0.1 * (month + 1) as f64)));
        let lines: Vec<String> = ([("0.5", 3.5, 38), ("0.95", 4.75, 70)].iter())
            .map(|(q, value, error)| {
                let noise = format!("{{\"kind\":\"exponential\",\"scale\":4.0,\"rank_error\":{error}}}");
                let value = value + 0.1 * chance.normal();
                let cell = format!("\"value\":{value:.2},\"interval\":[0,5]");
                ranked("stars", span, &format!("\"q\":{q},"), &cell, &noise, &exact(value, 3))
            })
            .collect();
        report.add(&ended("stars", span, &lines), None);
    }
    report
}

pub(super) const LARGEST: &str = r#"{"kind":"gaussian","scale":10.0,"comparisons":10,"tau":33}"#;

/// The lines, with the one that closes their window.
pub(super) fn ended(release: &str, span: Interval, lines: &[String]) -> String {
    let (count, window, chain) = (lines.len(), window(span), "ab".repeat(32));
    let end = format!(
        "{{\"release\":\"{release}\",\"window\":{window},\"closed\":true,\"cells\":{count},\"seq\":1,\"chain\":\"{chain}\"}}"
    );
    [lines.join("\n"), end].join("\n")
}

pub(super) fn all_samples() -> Vec<(&'static str, Report)> {
    vec![
        ("year-demo", a_year(true)),
        ("year", a_year(false)),
        ("window-demo", a_window(true)),
        ("window", a_window(false)),
        ("day", a_day()),
        ("ranks-demo", ranks(true)),
        ("ranks", ranks(false)),
    ]
}
