//! Totals over several windows, against an oracle that visits the windows in their order.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use serde_json::Value;

use super::*;

const DAYS: usize = 12;
const PEOPLE: usize = 60;
const KEYS: [&str; 3] = ["a", "b", "c"];
/// The range of a person's spending; the larger magnitude bounds a person's total.
const RANGE: (i64, i64) = (-4, 9);
/// The number of days in a total over the last days.
const LAST: usize = 4;

/// The records of a person on a day: all under one key, so that only the order of the days decides which
/// records count.
struct Visit {
    key: &'static str,
    prices: Vec<i64>,
}

/// The number of times that a person enters the people of the last days.
const ENTRIES: usize = 1;

/// The visits of each day, by person.
fn visits() -> Vec<BTreeMap<usize, Visit>> {
    let mut chance = 11_u64;
    let mut next = |below: u64| {
        chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((chance >> 33) % below) as usize
    };
    let mut days = Vec::new();
    for day in 0..DAYS {
        let mut people = BTreeMap::new();
        // A day without anybody is released like any other.
        for person in (0..PEOPLE).filter(|_| day != 5) {
            if next(3) == 0 {
                let prices = (0..=next(3)).map(|_| next(9) as i64 - 3).collect();
                people.insert(person, Visit { key: KEYS[next(3)], prices });
            }
        }
        days.push(people);
    }
    days
}

fn csv(days: &[BTreeMap<usize, Visit>]) -> String {
    let mut text = "who,key,price,time\n".to_owned();
    // Not in the order of time.
    for (day, people) in days.iter().enumerate().rev() {
        for (person, Visit { key, prices }) in people {
            for price in prices {
                writeln!(text, "p{person},{key},{price},2026-01-{:02}T06:00:00Z", day + 1).unwrap();
            }
        }
    }
    text
}

/// A job that counts at most `records` records of a person, over all days. If `records` is 1, the noise of
/// all totals but the sum rounds to zero: its deviation is below 0.1, and only 0.5 would show.
fn job(until: &str, records: u64) -> String {
    let strategy = if records > 1 { "strategy = \"tree\"" } else { "" };
    format!(
        r#"
        [job]
        name = "shop"
        version = 1
        from = "2026-01-01T00:00:00Z"
        {until}
        [source]
        type = "csv"
        path = "log.csv"
        time = {{ field = "time", format = "rfc3339" }}
        [privacy]
        person = {{ field = "who", missing = "drop" }}
        promise = "lifetime"
        budget = {{ rho = 500 }}
        ledger = "shop.ledger"
        account = "shop"
        [[release]]
        name = "people"
        every = "1 day"
        people = {{}}
        running = true
        noise = "gaussian"
        cost = {{ rho = 190 }}
        [[release]]
        name = "visits"
        every = "1 day"
        count = {{ by = "key", keys = ["a", "b", "c"] }}
        bound = {{ keys = 1, per_key = {records} }}
        running = true
        {strategy}
        noise = "gaussian"
        cost = {{ rho = 190 }}
        [[release]]
        name = "recent"
        every = "1 day"
        over = "{LAST} days"
        count = {{}}
        bound = {{ per_key = {records} }}
        running = true
        noise = "gaussian"
        cost = {{ rho = 100 }}
        [[release]]
        name = "spent"
        every = "1 day"
        over = "{LAST} days"
        sum = {{ of = "price", range = [{}, {}] }}
        running = true
        strategy = "fresh"
        noise = "gaussian"
        cost = {{ rho = 5 }}
        [[release]]
        name = "present"
        every = "1 day"
        over = "{LAST} days"
        people = {{ by = "key", keys = ["a", "b", "c"] }}
        bound = {{ keys = 1, entries = {ENTRIES} }}
        running = true
        noise = "gaussian"
        cost = {{ rho = 3 }}
        [[release]]
        name = "daily"
        every = "1 day"
        people = {{}}
        noise = "gaussian"
        cost = {{ rho = 0.5 }}
        "#,
        RANGE.0, RANGE.1
    )
}

const UNTIL: &str = "until = \"2026-01-13T00:00:00Z\"";

/// Release, day, and key.
type Place = (&'static str, usize, &'static str);

/// The exact running totals: after contribution bounding, and before it.
fn oracle(days: &[BTreeMap<usize, Visit>], most: u64) -> BTreeMap<Place, [i64; 2]> {
    // The contributions that count, by day.
    let mut visits: BTreeMap<Place, [i64; 2]> = BTreeMap::new();
    let mut all = |name, day, key, [tally, truth]: [i64; 2]| {
        let cell = visits.entry((name, day, key)).or_default();
        *cell = [cell[0] + tally, cell[1] + truth];
    };
    let mut seen = BTreeSet::new();
    let (mut key_of, mut by_key, mut left, mut spent) =
        (BTreeMap::new(), BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    for (day, people) in days.iter().enumerate() {
        for name in ["people", "recent", "spent"] {
            all(name, day, "", [0, 0]);
        }
        KEYS.iter().for_each(|key| all("visits", day, key, [0, 0]));
        for (person, Visit { key, prices }) in people {
            let new = i64::from(seen.insert(*person));
            all("people", day, "", [new, new]);
            let take = |left: &mut u64| {
                let taken = (*left).min(prices.len() as u64);
                *left -= taken;
                taken as i64
            };
            let records = prices.len() as i64;
            let own = *key_of.entry(*person).or_insert(*key) == *key;
            let counted = if own { take(by_key.entry(*person).or_insert(most)) } else { 0 };
            all("visits", day, key, [counted, records]);
            all("recent", day, "", [take(left.entry(*person).or_insert(most)), records]);
            let sum: i64 = prices.iter().sum();
            let left = spent.entry(*person).or_insert(RANGE.1.max(-RANGE.0));
            let kept = sum.clamp(RANGE.0, RANGE.1).clamp(-*left, *left);
            *left -= kept.abs();
            all("spent", day, "", [kept, sum]);
        }
    }
    let over = |(name, day, key): &Place| {
        let first = if matches!(*name, "recent" | "spent") { (day + 1).saturating_sub(LAST) } else { 0 };
        let sums = (first..=*day).filter_map(|day| visits.get(&(*name, day, *key)));
        sums.fold([0, 0], |sum: [i64; 2], own| [sum[0] + own[0], sum[1] + own[1]])
    };
    let mut totals: BTreeMap<Place, [i64; 2]> = visits.keys().map(|place| (*place, over(place))).collect();
    totals.extend(present(days));
    totals
}

/// The people of the last days, after contribution bounding and before it: of each person the first key, and there
/// `ENTRIES` stays.
fn present(days: &[BTreeMap<usize, Visit>]) -> BTreeMap<Place, [i64; 2]> {
    let mut key_of = BTreeMap::new();
    // The days on which a person was seen and counted, and the number of entries.
    let mut kept: BTreeMap<usize, (Vec<usize>, usize)> = BTreeMap::new();
    let mut cells = BTreeMap::new();
    for (day, people) in days.iter().enumerate() {
        for (person, Visit { key, .. }) in people {
            if *key_of.entry(*person).or_insert(*key) != *key {
                continue;
            }
            let (seen, entries) = kept.entry(*person).or_default();
            let stays = seen.last().is_some_and(|last| day <= last + LAST);
            if stays || *entries < ENTRIES {
                *entries += usize::from(!stays);
                seen.push(day);
            }
        }
        for key in KEYS {
            let counted = |person: &usize| {
                let is_there = kept[person].0.last().is_some_and(|last| day < last + LAST);
                key_of[person] == key && is_there
            };
            let tally = kept.keys().filter(|person| counted(person)).count() as i64;
            let recent = &days[(day + 1).saturating_sub(LAST)..=day];
            let there =
                recent.iter().flatten().filter(|(_, visit)| visit.key == key).map(|(person, _)| person);
            cells.insert(("present", day, key), [tally, there.collect::<BTreeSet<_>>().len() as i64]);
        }
    }
    cells
}

/// The lines of running totals, by release, day and key.
fn printed(text: &str) -> BTreeMap<(String, usize, String), Value> {
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let printed = lines.filter(|line| line.get("total").is_some());
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    printed
        .map(|line| {
            let day: usize = line["window"]["start"].as_str().unwrap()[8..10].parse().unwrap();
            ((text(&line["release"]), day - 1, text(&line["key"])), line)
        })
        .collect()
}

fn set(name: &str, until: &str, records: u64) -> (super::Place, Job) {
    let place = super::Place::new(name);
    fs::write(place.0.join("log.csv"), csv(&visits())).unwrap();
    let job = place.job(&job(until, records));
    (place, job)
}

// Refutes an exact number that is of one window, or of other windows than the total; a person who counts
// twice in the people so far; and a contribution bound that starts anew with a window, or depends on the
// worker.
#[test]
fn a_demo_states_beside_every_total_what_an_oracle_counts() {
    let (place, stated) = set("running-demo", UNTIL, 3);
    // Without an end in the file, a demonstration finds it in the data, which has a record on the last day.
    let found = place.job(&job("", 3));
    let oracle = oracle(&visits(), 3);
    assert!(oracle.iter().any(|((name, ..), [tally, truth])| *name == "visits" && tally < truth));
    assert!(oracle.iter().any(|((name, ..), [tally, truth])| *name == "spent" && tally != truth));
    let present: Vec<i64> =
        oracle.iter().filter(|((name, ..), _)| *name == "present").map(|(_, [tally, _])| *tally).collect();
    assert!(present.windows(2).any(|pair| pair[1] < pair[0]), "nobody leaves: {present:?}");
    for (job, workers) in [(&stated, 1), (&stated, 2), (&stated, 3), (&found, 2)] {
        let out = Some(place.0.join("demo.jsonl"));
        job.replay(Replay { workers, demo: true, out, ..Replay::default() }).unwrap();
        let lines = printed(&place.read("demo.jsonl"));
        assert_eq!(lines.len(), oracle.len());
        for ((name, day, key), exact) in &oracle {
            let line = &lines[&((*name).to_owned(), *day, (*key).to_owned())];
            let number = |field: &str| line[field].as_f64().unwrap();
            assert_eq!([number("tally"), number("truth")], exact.map(|number| number as f64), "{line}");
            // The noise exceeds this with a probability of 10^-10; the half is for rounding.
            let slack = 6.5 * line["noise"]["scale"].as_f64().unwrap() + 0.5;
            assert!((number("value") - number("tally")).abs() <= slack, "{line}");
            let (total, strategy) = match *name {
                "visits" => ("so far", "tree"),
                "people" => ("so far", "square-root"),
                "spent" => ("last 4", "fresh"),
                _ => ("last 4", "square-root"),
            };
            assert_eq!(
                (&line["total"], &line["noise"]["strategy"]),
                (&total.into(), &strategy.into()),
                "{line}"
            );
            fs::remove_file(place.0.join("demo.jsonl")).ok();
        }
    }
}

// Refutes lines that depend on the number of threads, a total that is drawn anew when it is released again,
// and one that is charged at every window.
#[test]
fn two_workers_release_what_one_does_and_pay_once() {
    for workers in [1, 2] {
        let (place, job) = set(&format!("running-{workers}"), UNTIL, 1);
        let finished = place.replay(&job, workers, "releases.jsonl");
        assert_eq!((finished.released(), finished.refused()), (6 * DAYS as u64, 0));
        let first = place.read("releases.jsonl");
        let spent =
            || Ledger::open(&job.privacy.ledger).unwrap().spent(&job.privacy.account, window()).unwrap();
        // Twice 190, 100, 5 and 3 for all totals, and a half for each day that is released on its own.
        let before = spent();
        assert_eq!(before.0, crate::accounting::PrivacyCost::zcdp(488.0 + 0.5 * DAYS as f64).unwrap());
        place.replay(&job, 3 - workers, "again.jsonl");
        let lines = |text: &str| text.lines().map(str::to_owned).collect::<BTreeSet<_>>();
        assert!(lines(&place.read("again.jsonl")) == lines(&first), "a new file receives other lines");
        assert_eq!(spent(), before);
        let lines = printed(&first);
        let is_exact = |name: &str| !["spent", "present"].contains(&name);
        let exact = oracle(&visits(), 1).into_iter().filter(|((name, ..), _)| is_exact(name));
        for ((name, day, key), [tally, _]) in exact {
            let line = &lines[&(name.to_owned(), day, key.to_owned())];
            assert_eq!(line["value"].as_i64(), Some(tally), "on {workers} workers: {line}");
        }
    }
}

// Refutes running totals that a run or a plan begins without knowing the number of windows.
#[test]
fn totals_so_far_need_a_last_window() {
    let (_place, job) = set("running-endless", "", 1);
    for refused in [job.plan().unwrap_err().to_string(), job.run(Live::default()).unwrap_err().to_string()] {
        assert!(
            refused.contains("job.until: found nothing; give the time of the last window of release[1]"),
            "{refused}"
        );
    }
    let refused = job.replay(Replay::default()).unwrap_err().to_string();
    assert!(refused.contains("job.until: found nothing"), "{refused}");
}

/// Running totals beside releases of single windows.
const BESIDE: &str = r#"
    [[release]]
    name = "so_far"
    every = "6h"
    people = { by = "key", keys = "discover" }
    bound = { keys = 2 }
    running = true
    noise = "gaussian"
    share = 0.3
    [[release]]
    name = "recent"
    every = "1h"
    over = "5h"
    count = {}
    bound = { per_key = 4 }
    running = true
    noise = "gaussian"
    share = 0.2
    [[release]]
    name = "present"
    every = "2h"
    over = "6h"
    people = { by = "key", keys = "discover" }
    bound = { keys = 2, entries = 3 }
    running = true
    noise = "gaussian"
    share = 0.2
    [[release]]
    name = "visits"
    every = "30m"
    count = {}
    bound = { per_key = 3 }
    noise = "gaussian"
    share = 0.3
"#;

// Refutes a plan in which totals, which are charged for their whole time at once, leave no room for windows
// with a share of their own, or find none; under every promise.
#[test]
fn totals_and_windows_of_others_fit_together() {
    for promise in ["lifetime", "any 3h", "each 6h"] {
        for workers in [1, 2] {
            let place = super::Place::new(&format!("running-beside-{}-{workers}", promise.replace(' ', "-")));
            let job = place.job(&text(promise, BESIDE));
            let finished = place.replay(&job, workers, "out.jsonl");
            assert_eq!(
                (finished.released(), finished.refused()),
                (8 + 48 + 24 + 96, 0),
                "{promise}, {workers}"
            );
            let text = place.read("out.jsonl");
            assert_eq!(text.matches("\"total\":\"last 5\"").count(), 48);
        }
    }
}

/// A job whose privacy unit is the record.
const RECORDS: &str = r#"
    [[release]]
    name = "values"
    every = "6h"
    histogram = { of = "value", edges = [0, 10.5, 30] }
    running = true
    noise = "gaussian"
    share = 0.5
    [[release]]
    name = "count"
    every = "6h"
    count = {}
    noise = "gaussian"
    share = 0.5
"#;

// Refutes records of one window that are bounded by those of another, though the privacy unit is the record;
// and a total over several buckets.
#[test]
fn records_are_added_up_one_by_one() {
    let place = super::Place::new("running-records");
    let text = text("lifetime", RECORDS)
        .replace("person = { field = \"user\", missing = \"drop\" }", "unit = \"record\"");
    let out = Some(place.0.join("demo.jsonl"));
    place.job(&text).replay(Replay { workers: 2, demo: true, out, ..Replay::default() }).unwrap();
    let text = place.read("demo.jsonl");
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let sum = |name: &str, field: &str| {
        let mut sums: BTreeMap<&str, i64> = BTreeMap::new();
        for line in lines.iter().filter(|line| line["release"] == name && line.get("value").is_some()) {
            let start = line["window"]["start"].as_str().unwrap();
            *sums.entry(start).or_default() += line[field].as_i64().unwrap();
        }
        sums.into_values().collect::<Vec<i64>>()
    };
    let mut so_far = 0;
    let mut expected = sum("count", "truth");
    expected.iter_mut().for_each(|own| {
        so_far += *own;
        *own = so_far;
    });
    assert_eq!((expected.len(), so_far), (8, 4000));
    assert_eq!((sum("values", "tally"), sum("values", "truth")), (expected.clone(), expected));
}
