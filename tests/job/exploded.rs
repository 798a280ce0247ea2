//! Lines of JSON of which each element of an array is a record.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::Value;

use crate::jobs::{PAGES, SECOND, exact};
use crate::kit::Random;
use crate::refusals::{FROM, SECRET, change, is_discreet};
use crate::scene::{Printed, Scene, moment};

/// The most elements of a line that count.
const MOST: usize = 3;
/// The records of a person in a cell that count.
const PER_KEY: i64 = 4;

/// The records of each person in each window and key, before and after the bound.
type Cells = BTreeMap<(String, String), (i64, i64)>;

/// Returns orders of a few people, and the records that they are.
fn orders() -> (String, Cells) {
    let mut random = Random(3);
    let mut counts: BTreeMap<(i64, &str, u64), i64> = BTreeMap::new();
    let mut lines = String::new();
    for number in 0..240 {
        let (window, person) = (number / 60, random.below(9));
        let time = FROM + window * SECOND + SECOND / 2;
        let pages: Vec<&str> = (0..random.below(7)).map(|_| PAGES[random.below(3) as usize]).collect();
        for page in pages.iter().take(MOST) {
            *counts.entry((window, page, person)).or_default() += 1;
        }
        // One element in five has no page, and takes the place of one that has.
        let mut elements: Vec<String> =
            pages.iter().map(|page| format!("{{\"page\":\"{page}\",\"price\":2.5}}")).collect();
        if random.below(5) == 0 && !elements.is_empty() {
            elements[0] = ["null", "{}", "7", "{\"page\":null}"][random.below(4) as usize].to_owned();
            *counts.get_mut(&(window, pages[0], person)).unwrap() -= 1;
        }
        let items = match random.below(10) {
            0 if pages.is_empty() => ",\"items\":null".to_owned(),
            1 if pages.is_empty() => String::new(),
            _ => format!(",\"items\":[{}]", elements.join(",")),
        };
        let time = time / SECOND;
        let line =
            format!("{{\"order\":{{\"id\":{number}{items}}},\"person\":\"p{person}\",\"time\":{time}}}\n");
        // A line that was delivered twice counts once, with all of its elements.
        (0..1 + u64::from(number % 7 == 0)).for_each(|_| lines += &line);
    }
    let mut cells = Cells::new();
    for window in 0..4 {
        for page in PAGES {
            cells.insert((moment(FROM + window * SECOND), page.to_owned()), (0, 0));
        }
    }
    for ((window, page, _), count) in counts {
        let cell = cells.get_mut(&(moment(FROM + window * SECOND), page.to_owned())).unwrap();
        *cell = (cell.0 + count, cell.1 + count.min(PER_KEY));
    }
    (lines, cells)
}

/// Writes a job over orders.
fn write_job(scene: &Scene, explode: &str) {
    scene.write("job.toml", exact(FROM, Some(FROM + 4 * SECOND)));
    let source = format!("type = \"jsonl\"\nid = {{ field = \"order.id\" }}\nexplode = {explode}");
    change(scene, "type = \"csv\"", &source);
    change(scene, "visits.csv", "orders.jsonl");
    change(scene, "by = \"page\"", "by = \"order.items.page\"");
    change(scene, "per_key = 1", &format!("per_key = {PER_KEY}"));
    change(scene, "keys = 1,", "keys = 3,");
}

const EXPLODE: &str = "{ array = \"order.items\", most = 3 }";

// Refutes elements that count twice or never, beyond the most of them or for another person; elements of two lines of one
// person that are bounded apart; and a number of workers that matters.
#[test]
fn elements_count_as_records_of_their_lines_person() {
    let scene = Scene::new("exploded");
    let (lines, cells) = orders();
    write_job(&scene, EXPLODE);
    scene.write("orders.jsonl", lines);
    scene.done(&["plan", "job.toml"]);
    for workers in ["1", "2", "4"] {
        let demo = Printed::of(&scene.done(&["replay", "job.toml", "--demo", "-w", workers]).out);
        let of = |field| -> BTreeMap<(String, String), i64> {
            let found = demo.field(field).into_iter();
            found.map(|((_, start, key), value)| ((start, key), value.as_i64().unwrap())).collect()
        };
        let expected = |which: fn(&(i64, i64)) -> i64| -> BTreeMap<(String, String), i64> {
            cells.iter().map(|(at, counts)| (at.clone(), which(counts))).collect()
        };
        assert_eq!(of("truth"), expected(|counts| counts.0), "{workers} workers");
        assert_eq!(of("tally"), expected(|counts| counts.1), "{workers} workers");
    }
    assert!(cells.values().any(|(truth, tally)| truth > tally), "the bound leaves out something");

    scene.init();
    let first = scene.done(&["replay", "job.toml"]).out;
    assert_eq!(scene.done(&["replay", "job.toml"]).out, first);
    let charged = scene.charged("job.ledger");
    change(&scene, "most = 3", "most = 4");
    for arguments in [&["check", "job.toml", "--connect"][..], &["replay", "job.toml"]] {
        let said = scene.run(arguments);
        assert!(said.code == Some(78) && said.err.contains("source.explode.most"), "{said:?}");
    }
    assert_eq!(scene.charged("job.ledger"), charged);
}

// Refutes elements of one line that are bounded each for itself: of two logs that differ by one person, however long her
// array, no cell differs by more than her bound.
#[test]
fn one_person_moves_a_cell_by_her_bound_alone() {
    let scene = Scene::new("exploded-neighbour");
    write_job(&scene, "{ array = \"order.items\", most = 1000 }");
    let (lines, _) = orders();
    let tallies = |more: &str| -> BTreeMap<(String, String, String), Value> {
        scene.write("orders.jsonl", format!("{lines}{more}"));
        Printed::of(&scene.done(&["replay", "job.toml", "--demo"]).out).field("tally")
    };
    let without = tallies("");
    let mut more = String::new();
    for order in 0..3 {
        let items = vec!["{\"page\":\"a\"}"; 200].join(",");
        let time = (FROM + SECOND / 2) / SECOND;
        writeln!(
            more,
            "{{\"order\":{{\"id\":\"o{order}\",\"items\":[{items}]}},\"person\":\"eve\",\"time\":{time}}}"
        )
        .unwrap();
    }
    let with = tallies(&more);
    let moved: Vec<i64> =
        with.iter().map(|(at, tally)| tally.as_i64().unwrap() - without[at].as_i64().unwrap()).collect();
    assert_eq!(moved.iter().copied().filter(|moved| *moved != 0).collect::<Vec<_>>(), [PER_KEY]);
}

// Refutes a line that is taken though an element cannot be read, a message with something of the line in it, and the names
// of elements that a sample does not find.
#[test]
fn an_unreadable_element_is_named_by_its_field() {
    let scene = Scene::new("exploded-bad");
    write_job(&scene, EXPLODE);
    change(&scene, "late = \"500ms\"", "bad = { lines = 5 }");
    let line = |items: &str| {
        format!(
            "{{\"order\":{{\"id\":\"{SECRET}\",\"items\":{items}}},\"person\":\"{SECRET}\",\"time\":{}}}\n",
            FROM / SECOND
        )
    };
    let bad = [
        line("{\"page\":\"a\"}"),
        line("\"a\""),
        line("[{\"page\":\"a\"},{\"page\":[1]}]"),
        line("[{\"page\":\"a\",\"page\":\"b\"}]"),
        line("[],\"items\":[{\"page\":\"a\"}]"),
    ];
    scene.write("orders.jsonl", line("[{\"page\":\"a\"},{\"price\":1}]") + &bad.concat());
    let said = scene.done(&["replay", "job.toml", "--demo"]);
    is_discreet("unreadable elements", &said);
    let tally: i64 =
        Printed::of(&said.out).field("tally").values().map(|tally| tally.as_i64().unwrap()).sum();
    assert_eq!(tally, 1, "{said:?}");
    assert!(said.err.contains("orders.jsonl:6"), "{said:?}");

    scene.write("orders.jsonl", line("[{\"page\":\"a\"},{\"price\":1}]"));
    let sample = scene.done(&["check", "job.toml", "--sample", "5"]);
    assert!(sample.out.contains("order.items.page: found 1, readable 1"), "{sample:?}");
}
