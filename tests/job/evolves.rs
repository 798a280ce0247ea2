//! A job that evolves while its stream goes on: releases come, go and change by versions of their own, and so
//! do the workers and processes.
//!
//! All records are in the file before the first window begins, so that none is late on a busy machine. The
//! windows close by the clock, and each life of the job is ended at one of them.

use std::collections::{BTreeMap, BTreeSet};

use rustix::process::Signal;
use serde_json::Value;

use crate::cluster::{beside, hosts, start_as};
use crate::jobs::{HEADER, SECOND, exact, line};
use crate::scene::{Life, Printed, Scene, moment, now, until};

/// The number of windows, of a second each.
const WINDOWS: i64 = 16;
/// People of each window who come at no other time, and people who come twice to every window.
const NEW: i64 = 160;
const REGULARS: i64 = 90;
/// People of a page that nobody visits after the first windows.
const RARE: i64 = 60;
const RARE_WINDOWS: i64 = 2;
/// The distance from an exact number that noise may make: the deviation is at most 1.5, and each mistake that is
/// looked for makes a difference of `RARE` or more.
const NEAR: i64 = 12;

const PAGES: [&str; 2] = ["a", "b"];

fn page(person: i64) -> &'static str {
    PAGES[(person % 2) as usize]
}

/// Visits: window, person, page.
fn visits() -> Vec<(i64, i64, &'static str)> {
    let mut visits = Vec::new();
    for window in 0..WINDOWS {
        for number in 0..NEW {
            let person = 10_000 + window * NEW + number;
            visits.push((window, person, page(person)));
        }
        for person in 0..REGULARS {
            visits.extend([(window, person, page(person)); 2]);
        }
        if window < RARE_WINDOWS {
            visits.extend((0..RARE).map(|number| (window, 1_000 + number, "rare")));
        }
    }
    visits
}

fn log(from: i64) -> String {
    let lines = visits().into_iter().enumerate().map(|(number, (window, person, page))| {
        line(person, from + window * SECOND + number as i64 * 7_919 % SECOND, page)
    });
    HEADER.to_owned() + &lines.collect::<String>()
}

/// The exact numbers of a window, by page; of a page that nobody visits, none.
fn truth(release: &str, window: i64) -> BTreeMap<&'static str, i64> {
    let visits = visits().into_iter();
    let (until, since) = if release == "so_far" { (window, 0) } else { (window, window) };
    let inside = visits.filter(|(at, _, _)| (since..=until).contains(at));
    let mut counted = BTreeMap::<(i64, &str), i64>::new();
    for (_, person, page) in inside {
        let page = if release == "added" { "" } else { page };
        *counted.entry((person, page)).or_default() += 1;
    }
    let most = if release == "changed 2" { 2 } else { 1 };
    let mut truth = BTreeMap::new();
    for ((_, page), visits) in counted {
        *truth.entry(page).or_default() += visits.min(most);
    }
    if ["so_far", "changed 1", "changed 2"].contains(&release) {
        truth.remove("rare");
    }
    truth
}

/// A release as it stands in the job file, with its version if it states one.
struct Stated(&'static str, &'static str, Option<u32>);

const SO_FAR: &str = "count = { by = \"page\", keys = [\"a\", \"b\"] }\nrunning = true\nbound = { keys = 1, per_key = 1 }\n\
                      noise = \"gaussian\"\ncost = { rho = 60 }\n";
const VISITORS: &str = "people = { by = \"page\", keys = \"discover\" }\nbound = { keys = 1 }\nnoise = \"gaussian\"\n\
                        cost = { rho = 2, delta = 1e-9 }\n";
const CHANGED: &str = "count = { by = \"page\", keys = [\"a\", \"b\"] }\nbound = { keys = 1, per_key = 1 }\nnoise = \"gaussian\"\n\
                       cost = { rho = 1 }\n";
const ADDED: &str = "people = {}\nnoise = \"gaussian\"\ncost = { rho = 1 }\n";

/// The same with a wider bound.
const WIDER: &str = "count = { by = \"page\", keys = [\"a\", \"b\"] }\nbound = { keys = 1, per_key = 2 }\nnoise = \"gaussian\"\n\
                     cost = { rho = 1 }\n";

fn job(from: i64, version: u32, releases: &[Stated]) -> String {
    let text = exact(from, Some(from + WINDOWS * SECOND))
        .replace("epsilon = 480", "epsilon = 500, delta = 1e-6")
        .replace("version = 1", &format!("version = {version}"));
    let (mut text, _) = text.split_once("[[release]]").map(|(head, tail)| (head.to_owned(), tail)).unwrap();
    for Stated(name, fields, version) in releases {
        let version = version.map_or(String::new(), |version| format!("version = {version}\n"));
        text += &format!("[[release]]\nname = \"{name}\"\n{version}every = \"1s\"\n{fields}\n");
    }
    text
}

/// The number of workers, or several processes.
#[derive(Clone, Copy)]
enum Crew {
    Workers(&'static str),
    Processes,
}

/// The end of a life.
#[derive(Clone, Copy)]
enum End {
    Asked,
    Killed,
    /// By itself, after the last window.
    Own,
}

/// Runs the job until a window of a release has left, and ends it.
fn live(scene: &Scene, crew: Crew, (release, window): (&str, i64), from: i64, end: End) {
    let mut lives: Vec<Life> = match crew {
        Crew::Workers(workers) => {
            vec![scene.start(&["run", "job.toml", "--out", "releases.jsonl", "-w", workers])]
        }
        Crew::Processes => {
            hosts(scene);
            [0, 1].map(|process| start_as(scene, process, &["run", "job.toml", "-w", "1"])).into()
        }
    };
    let closed = ["\"closed\":true".to_owned(), format!("\"release\":\"{release}\"")];
    let closed = [&closed[..], &[format!("\"start\":\"{}\"", moment(from + window * SECOND))]].concat();
    until("a window leaves", || {
        let printed = scene.read("releases.jsonl");
        let left = printed.lines().any(|line| closed.iter().all(|part| line.contains(part.as_str())));
        assert!(left || matches!(end, End::Own) || !lives[0].has_ended(), "{:?}", lives[0].said());
        left
    });
    match end {
        End::Killed => lives.into_iter().for_each(|life| _ = life.kill()),
        End::Asked | End::Own => {
            if let End::Asked = end {
                lives.iter().for_each(|life| life.signal(Signal::TERM));
            }
            for life in lives {
                let said = life.end();
                assert_eq!(said.code, Some(0), "{said:?}");
            }
        }
    }
}

/// The lines of a file of releases by release, start of the window, key and id; a release that changed has some
/// windows in two versions, and every line that stands there twice is the same.
fn lines(text: &str) -> BTreeMap<(String, String, String, String), String> {
    let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
    let mut lines = BTreeMap::new();
    for line in whole.lines() {
        let read: Value = serde_json::from_str(line).unwrap();
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let key = if read["closed"] == true { "closed".to_owned() } else { word(&read["key"]) };
        // The line that closes a window has the number of its row.
        let id = read["seq"].as_u64().map_or_else(|| word(&read["id"]), |row| row.to_string());
        let place = (word(&read["release"]), word(&read["window"]["start"]), key, id);
        let before = lines.insert(place, line.to_owned());
        assert!(before.is_none_or(|before| before == line), "one line with two texts: {line}");
    }
    lines
}

/// Compares all windows of a release with the exact numbers. `may_skip` are windows that a release need not
/// have: those that were over when it came.
fn near(printed: &Printed, name: &str, truth_of: &str, from: i64, may_skip: &BTreeSet<i64>) {
    for window in 0..WINDOWS {
        let place = (name.to_owned(), moment(from + window * SECOND));
        let cells = printed.0.get(&place).unwrap_or_else(|| panic!("{place:?} is missing"));
        if cells.is_empty() && may_skip.contains(&window) {
            continue;
        }
        let mut truth = truth(truth_of, window);
        if name == "visitors" {
            // It was found, and stays.
            truth.entry("rare").or_default();
        }
        let keys: BTreeSet<&str> = cells.keys().map(String::as_str).collect();
        assert_eq!(keys, truth.keys().copied().collect(), "{place:?}: other keys");
        for (key, number) in truth {
            let value = cells[key]["value"].as_i64().unwrap();
            assert!((value - number).abs() <= NEAR, "{place:?} {key}: {value}, and {number} came");
        }
    }
}

// Refutes a release that loses its total, its keys or its people, changes a line, or pays again because
// another release came, went or changed, because the job has another version, or because there are other
// workers or processes; and a change without a version.
#[test]
fn releases_come_go_and_change_and_leave_the_others_alone() {
    let from = (now() / SECOND + 3) * SECOND;
    let scene = Scene::new("evolves");
    let write = |version, releases: &[Stated]| scene.write("job.toml", job(from, version, releases));
    let end = |window| ("so_far", window);
    scene.write("visits.csv", log(from));

    write(
        1,
        &[
            Stated("so_far", SO_FAR, None),
            Stated("visitors", VISITORS, None),
            Stated("changed", CHANGED, None),
        ],
    );
    scene.init();
    live(&scene, Crew::Workers("1"), end(2), from, End::Asked);

    write(
        1,
        &[
            Stated("so_far", SO_FAR, None),
            Stated("visitors", VISITORS, None),
            Stated("changed", CHANGED, None),
            Stated("added", ADDED, None),
        ],
    );
    live(&scene, Crew::Workers("2"), end(5), from, End::Killed);

    // A change without a version of its own is refused, and changes nothing.
    let evolved = |changed: Option<u32>| {
        [Stated("so_far", SO_FAR, None), Stated("changed", WIDER, changed), Stated("added", ADDED, None)]
    };
    let before = (scene.read("releases.jsonl"), scene.charged("job.ledger"));
    write(1, &evolved(None));
    for arguments in
        [&["run", "job.toml", "--out", "releases.jsonl"][..], &["check", "job.toml", "--connect"]]
    {
        let said = scene.run(arguments);
        assert_eq!(said.code, Some(78), "{said:?}");
        for part in ["has opened changed in version 1", "bound.per_key (was 1, is 2)", "`version = 2` in its"]
        {
            assert!(said.err.contains(part) || said.out.contains(part), "{part}: {said:?}");
        }
    }
    assert_eq!((scene.read("releases.jsonl"), scene.charged("job.ledger")), before);

    // One is removed, and one has a new version.
    write(1, &evolved(Some(2)));
    live(&scene, Crew::Processes, end(8), from, End::Killed);

    // A new version of the job, where all releases state the versions that they have; one comes back.
    let all = || {
        [
            Stated("so_far", SO_FAR, Some(1)),
            Stated("visitors", VISITORS, Some(1)),
            Stated("changed", WIDER, Some(2)),
            Stated("added", ADDED, Some(1)),
        ]
    };
    write(7, &all());
    live(&scene, Crew::Workers("2"), end(11), from, End::Asked);
    live(&scene, Crew::Workers("1"), end(WINDOWS - 1), from, End::Own);

    // A new file has each window of the present versions once.
    scene.done(&["replay", "job.toml", "--out", "all.jsonl", "-w", "2"]);
    let printed = Printed::of(&scene.read("all.jsonl"));
    let passed = |until| (0..until).collect::<BTreeSet<i64>>();
    near(&printed, "so_far", "so_far", from, &BTreeSet::new());
    near(&printed, "visitors", "visitors", from, &(5..10).collect());
    near(&printed, "changed", "changed 2", from, &passed(10));
    near(&printed, "added", "added", from, &passed(5));

    // What has left is what stands there, and only the release that changed has windows in two versions.
    let [seen, kept] = ["releases.jsonl", "all.jsonl"].map(|name| lines(&scene.read(name)));
    let mut former = BTreeSet::new();
    for (place, line) in &seen {
        match kept.get(place) {
            Some(kept) => assert_eq!(kept, line),
            None if place.0 == "changed" => _ = former.insert(place.1.clone()),
            None => panic!("it has left, and is not there any more: {line}"),
        }
    }
    assert!(former.len() >= 3, "the first version of the one that changed has released: {former:?}");

    // Each window of each version is paid for once, and the total once for all.
    scene.verify("job.ledger");
    let (sealed, spent) = scene.charged("job.ledger");
    let rows = lines(&scene.read("all.jsonl"));
    let present = |name: &str| {
        rows.iter().filter(|((release, _, key, _), _)| release == name && key == "closed").count() as f64
    };
    let total = ["so_far", "visitors", "changed", "added"].map(present).iter().sum::<f64>();
    let before_it_changed = sealed as f64 - total;
    assert!(before_it_changed >= former.len() as f64 && before_it_changed <= 10.0, "{before_it_changed}");
    let due = 60.0 + 2.0 * present("visitors") + present("changed") + present("added") + before_it_changed;
    assert!((spent["rho"] - due).abs() < 1e-6, "{spent:?}, and {due} is due");

    // An old version without state comes back with its lines. The total begins anew in a new version, and its
    // old one is refused from then on.
    let replay = |changed: Stated, so_far| {
        write(7, &[Stated("so_far", SO_FAR, so_far), changed]);
        scene.run(&["replay", "job.toml", "--out", "old.jsonl"])
    };
    let said = replay(Stated("changed", CHANGED, Some(1)), Some(1));
    assert_eq!(said.code, Some(0), "{said:?}");
    let old = lines(&scene.read("old.jsonl"));
    let same = seen.iter().filter(|(place, _)| place.0 == "changed" && !kept.contains_key(*place));
    assert!(same.clone().count() > 0 && same.into_iter().all(|(place, line)| old.get(place) == Some(line)));
    let said = replay(Stated("changed", WIDER, Some(2)), Some(2));
    assert_eq!(said.code, Some(0), "{said:?}");
    scene.done(&["replay", "job.toml", "--out", "anew.jsonl"]);
    near(&Printed::of(&scene.read("anew.jsonl")), "so_far", "so_far", from, &BTreeSet::new());
    let spent = scene.charged("job.ledger");
    let said = replay(Stated("changed", WIDER, Some(2)), Some(1));
    assert_eq!(said.code, Some(78), "{said:?}");
    assert!(
        said.err.contains("version 1 of so_far") && said.err.contains("was replaced by version 2"),
        "{said:?}"
    );
    assert_eq!(scene.charged("job.ledger"), spent);
}

// Refutes people whose windows begin anew, keys that are forgotten, and other choices, with other workers or
// processes: compared with one run that was never ended, under the same key. The noise rounds to zero.
#[test]
fn other_workers_and_processes_give_the_same_releases() {
    let from = (now() / SECOND + 3) * SECOND;
    let bounded =
        |fields: &str| fields.replace("keys = 1", "keys = 1, windows = 3").replace("rho = 2,", "rho = 50,");
    let visitors = bounded(VISITORS);
    let counts = bounded(CHANGED).replace("rho = 1 ", "rho = 60 ");
    let scene = Scene::new("crews");
    let text = job(from, 1, &[]);
    let release =
        |name: &str, fields: &str| format!("[[release]]\nname = \"{name}\"\nevery = \"1s\"\n{fields}\n");
    scene.write("job.toml", text + &release("visitors", &visitors) + &release("counts", &counts));
    scene.write("visits.csv", log(from));
    scene.init();
    let whole = beside(&scene);
    live(&scene, Crew::Workers("1"), ("visitors", 2), from, End::Killed);
    live(&scene, Crew::Workers("2"), ("visitors", 5), from, End::Asked);
    live(&scene, Crew::Processes, ("visitors", 8), from, End::Killed);
    live(&scene, Crew::Workers("1"), ("visitors", WINDOWS - 1), from, End::Own);
    whole.done(&["replay", "job.toml", "--out", "releases.jsonl"]);
    let [one, other] = [&whole, &scene].map(|scene| Printed::of(&scene.read("releases.jsonl")));
    assert_eq!(one.0.len(), 2 * WINDOWS as usize);
    assert_eq!(other.values(), one.values());
    assert_eq!(other.field("id"), one.field("id"));
    // Regular people counted in their first three windows alone, and nobody has left a page that was found.
    let at = |window: i64, page: &str| {
        one.values()[&("visitors".to_owned(), moment(from + window * SECOND), page.to_owned())]
            .as_i64()
            .unwrap()
    };
    assert_eq!([at(2, "a"), at(3, "a"), at(9, "rare")], [(NEW + REGULARS) / 2, NEW / 2, 0]);
    scene.verify("job.ledger");
    assert_eq!(scene.charged("job.ledger"), whole.charged("job.ledger"));
}

// Refutes a first line that names a window of another version as the next one of a release that is new.
#[test]
fn the_first_line_tells_where_each_release_goes_on() {
    let scene = Scene::new("evolves");
    const DAY: i64 = 86_400 * SECOND;
    let job = exact((now() / DAY - 2) * DAY, None).replace("every = \"1s\"", "every = \"1 day\"");
    scene.write("visits.csv", HEADER.to_owned() + &line("someone", now(), "a"));
    scene.write("job.toml", &job);
    scene.init();
    let first_line = || {
        let life = scene.start(&["run", "job.toml", "--out", "releases.jsonl"]);
        until("it runs", || scene.read("releases.jsonl").matches("\"closed\":true").count() >= 2);
        until("it says so", || life.said().1.contains("started: job visits"));
        life.signal(Signal::TERM);
        let said = life.end();
        said.err.lines().find(|line| line.starts_with("started: ")).unwrap().to_owned()
    };
    let next = format!("the next window is of visits_by_page and ends {}", moment((now() / DAY + 1) * DAY));
    first_line();
    let line = first_line();
    assert!(line.contains(&next) && !line.contains("new is"), "{line}");
    let another = "[[release]]\nname = \"another\"\nevery = \"1 day\"\ncount = {}\nbound = { per_key = 1 }\nnoise = \"laplace\"\ncost = { epsilon = 20 }\n";
    scene.write("job.toml", format!("{job}{another}"));
    let line = first_line();
    // The file is read from its start, for its one record is of a window that is open.
    let start = moment((now() / DAY - 2) * DAY);
    let new = format!("new is another of version 1 from {start} on; ");
    assert!(line.contains(&next) && line.contains(&new), "{line}");
    scene.write("job.toml", job.replace("[[release]]", "[[release]]\nversion = 2"));
    let line = first_line();
    let new = format!("new is visits_by_page of version 2 from {start} on; ");
    assert!(line.contains(&new) && !line.contains("next window"), "{line}");
}

// Refutes a release that is new after an edit, and is answered from a part of its records: the former file could not read the
// others, and they lie before the resume position.
#[test]
fn a_new_release_begins_behind_what_the_former_file_could_not_read() {
    const LONG: i64 = 10 * SECOND;
    let scene = Scene::new("reading");
    until("a window has long to go", || now() % LONG < 3 * SECOND);
    let from = now() / LONG * LONG;
    let release = |name: &str, statistic: &str| {
        format!(
            "[[release]]\nname = \"{name}\"\nevery = \"10s\"\n{statistic}\nnoise = \"laplace\"\ncost = {{ epsilon = 20 }}\n\n"
        )
    };
    let job = exact(from, None).replace("[source]", "[source]\nbad = { lines = 1000 }");
    // The pages are no numbers, so no line is readable.
    let numbers = release("numbers", "sum = { of = \"page\", range = [0, 1] }");
    scene.write("job.toml", format!("{job}\n{numbers}"));
    scene.write(
        "visits.csv",
        HEADER.to_owned() + &(0..40).map(|person| line(person, from, "a")).collect::<String>(),
    );
    scene.init();
    let life = scene.start(&["run", "job.toml", "--out", "releases.jsonl"]);
    until("it runs", || scene.read("releases.jsonl").matches("visits_by_page").count() >= 3);
    life.signal(Signal::TERM);
    assert_eq!(life.end().code, Some(0));

    scene.write("job.toml", format!("{job}\n{}", release("people", "people = {}")));
    let restarted = now();
    assert!(restarted < from + LONG, "the machine is too slow for this test");
    let life = scene.start(&["run", "job.toml", "--out", "releases.jsonl"]);
    until("its first window is open", || now() > from + LONG + SECOND);
    life.signal(Signal::TERM);
    let said = life.end();
    let first = moment(from + LONG);
    let new = format!(
        "new is people of version 1 from {first} on, for the former file read the input in another way; "
    );
    assert!(said.err.contains(&new), "{said:?}");

    // The page is not read any more, which is no loss to a release that goes on, with a row or without.
    let people = release("people", "people = {}");
    scene.write("job.toml", format!("{}{people}", job.split("[[release]]").next().unwrap()));
    let life = scene.start(&["run", "job.toml", "--out", "releases.jsonl"]);
    until("a window is released", || scene.read("releases.jsonl").contains("\"people\""));
    life.signal(Signal::TERM);
    let said = life.end();
    let next = format!("the next window is of people and ends {}; windows", moment(from + 2 * LONG));
    assert!(said.err.contains(&next), "{said:?}");
    let of_people: Vec<Value> = scene
        .read("releases.jsonl")
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|line| line["release"] == "people")
        .collect();
    let start: jiff::Timestamp = of_people[0]["window"]["start"].as_str().unwrap().parse().unwrap();
    assert_eq!(start.as_microsecond(), from + LONG, "{of_people:?}");
}

// Refutes a page that shows a line of a former version, which had not left, in the place of that of the present one.
#[test]
fn pages_show_the_present_version_alone() {
    let scene = Scene::new("pages-of-versions");
    let from = crate::refusals::FROM;
    let records: String = (0..30).map(|person| line(person, from + person, "a")).collect();
    let others: String = (100..107).map(|person| line(person, from + person, "b")).collect();
    scene.write("visits.csv", HEADER.to_owned() + &records + &others);
    let text = |version, page: &str| {
        exact(from, Some(from + SECOND))
            .replace("version = 1", &format!("version = {version}"))
            .replace(
                "count = { by = \"page\", keys = [\"a\", \"b\", \"c\"] }",
                &format!("count = {{}}\nwhere = 'page = \"{page}\"'"),
            )
            .replace("keys = 1, per_key", "per_key")
    };
    scene.write("job.toml", text(1, "a"));
    scene.init();
    assert_eq!(scene.run(&["replay", "job.toml", "--out", "/dev/full"]).code, Some(74));
    scene.write("job.toml", text(2, "b"));
    for command in ["replay", "run"] {
        let (out, report) = (format!("{command}.jsonl"), format!("{command}.html"));
        scene.done(&[command, "job.toml", "--out", &out, "--report", &report]);
        let page = scene.read(&report);
        assert!(page.contains(">7<") && !page.contains(">30<"), "{command}: {page}");
    }
    // Nothing that was paid for is lost.
    assert!(scene.read("replay.jsonl").contains("\"value\":30"), "{}", scene.read("replay.jsonl"));
}
