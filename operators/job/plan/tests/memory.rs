//! Tests of the memory that a plan states.

use super::super::*;
use super::GOOD;
use crate::dataflow::bounding::{Cap, ContributionSelector, Count, Own, PersonTable, Sum};
use crate::job::statistics::CellKey;
use crate::mechanisms::PerPerson;

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
    assert_eq!(held(&GOOD, 1_000_000, 1_000_000), 1_000_000 * 48 + windows);
    assert_eq!(held(&GOOD, 1_000_000, 5_000), 100 * 5_000 * 48 + windows, "people come again in each window");
    let few = crate::dataflow::bounding::LITTLE as u64;
    let record = size_of::<crate::job::sources::SourceRecord<crate::job::sources::Id, ()>>() as u64;
    assert_eq!(held(&GOOD, 100 * few, 1), 100 * few * record + windows, "few records are kept as they come");
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
