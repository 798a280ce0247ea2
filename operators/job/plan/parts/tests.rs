#![allow(clippy::unwrap_used)]

use crate::job::Job;
use crate::job::plan::tests::GOOD;

// By hand: all of the budget once, over a hundred days, and independent noise errs by the root of a hundred.
#[test]
fn totals_are_planned_as_paid_once() {
    let planned = |changes: &[(&str, &str)]| {
        let mut text = GOOD.replace("people = {}", "people = {}\nrunning = true");
        changes.iter().for_each(|(from, to)| text = text.replace(from, to));
        let plan = Job::parse("a.toml", &text).unwrap_or_else(|wrong| panic!("{wrong}")).plan().unwrap();
        let page = plan.to_string().replace("\n               ", " ");
        let running = plan.releases[0].running.clone().unwrap();
        (plan, running, page)
    };
    let (plan, running, page) = planned(&[]);
    let release = &plan.releases[0];
    assert_eq!((running.total.as_str(), running.horizon, running.best), ("so far", Some(100), true));
    assert_eq!((release.paid_together, release.cost.rho, release.paid.rho), (1, plan.cap.rho, plan.cap.rho));
    assert_eq!((running.deviation, release.near.unwrap().ratio), (release.noise[0].scale, running.ratio));
    let unit = (2.0 * release.cost.rho.unwrap()).sqrt().recip();
    assert!((running.fresh / (10.0 * unit) - 1.0).abs() < 1e-3, "{running:?}");
    assert!((1.0..1.17).contains(&running.ratio) && running.numbers <= 64, "{running:?}");
    // 32 bytes for a person, the size of a key and its 8 bytes, and half as much again in a tree of them.
    assert!((32 * 3 / 2..200).contains(&release.memory.for_ever.unwrap()), "{:?}", release.memory);
    for words in [
        "visits: so far, how many people",
        "once, over all windows together: the first ones",
        "buffered, the best: of 100 totals none has a deviation above ",
        "times the least that any linear strategy has; a key keeps ",
        "  all windows  rho 0.0280145 (epsilon 1 at delta 1e-6), paid once, with the first of 100",
        "Totals go on where they were, at no cost: ",
        "would begin anew as another version, which pays anew.",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    assert!(!page.contains("a window     rho") && plan.warnings.is_empty(), "{page}");
    // Totals of the last windows, without an end: a share of a lifetime, and no release that stops.
    let week = "sum = { of = \"price\", range = [-20, 50] }\nover = \"7 days\"\nrunning";
    let (plan, running, page) =
        planned(&[("people = {}\nrunning", week), ("until = 2026-04-11T00:00:00Z\n", "")]);
    assert_eq!((running.total.as_str(), running.horizon, running.strategy), ("last 7", None, "square-root"));
    assert_eq!(plan.warnings, [""; 0]);
    assert!((running.fresh / (50.0 * 7f64.sqrt() * unit) - 1.0).abs() < 1e-3, "{running:?}");
    assert!(page.contains("visits: in the last 7 windows, the sum of price"), "{page}");
    assert!(
        page.contains("with values of 50 together, without their signs, over all windows together"),
        "{page}"
    );
    assert!(page.contains("every 1 day, from 2026-01-01T00:00:00Z on, with no last window"), "{page}");
    // A strategy that is worse is stated in the plan, and drawn.
    let (plan, running, page) = planned(&[("running = true", "running = true\nstrategy = \"fresh\"")]);
    assert!(
        !running.best && running.fresh == running.deviation && page.contains("fresh, which the file names"),
        "{page}"
    );
    assert!(
        plan.warnings.iter().any(|warning| warning.contains("leave out strategy")),
        "{:?}",
        plan.warnings
    );
    let keys =
        "count = { by = \"page\", keys = [\"a\"] }\nbound = { keys = 3, per_key = 2 }\nrunning = true\n#";
    let (plan, ..) = planned(&[("people = {}\nrunning = true\nbound", keys), ("share = 1", "\nshare = 1")]);
    let memory = plan.releases[0].memory;
    assert_eq!((memory.a_person, memory.a_key_of_a_person), (40, Some(8)));
    assert!(memory.for_ever.unwrap() > 3 * 16);
}
