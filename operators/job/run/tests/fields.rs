//! Releases by several keys and of several values, whose records have all of them.

use std::fmt::Write;

use super::*;

/// Lines in which each field is missing now and then.
fn csv() -> String {
    let mut text = "who,page,shop,price,size\n".to_owned();
    let field = |number: usize, absent: usize, text: String| {
        if number.is_multiple_of(absent) { String::new() } else { text }
    };
    for number in 1..3_000 {
        let page = field(number, 7, format!("p{}", number % 5));
        let shop = field(number, 11, format!("s{}", number / 3 % 4));
        let price = field(number, 13, format!("{}.{:02}", number % 17, number % 100));
        let size = field(number, 5, (number * 7 % 900).to_string());
        writeln!(text, "u{},{page},{shop},{price},{size}", number % 40).unwrap();
    }
    text
}

const RELEASES: [&str; 7] = [
    "name = \"visits\"\n count = {}",
    "name = \"by_page\"\n count = { by = \"page\", keys = [\"p0\", \"p1\", \"p2\"] }",
    "name = \"by_shop\"\n people = { by = \"shop\", keys = \"discover\" }",
    "name = \"spent_by_shop\"\n sum = { of = \"price\", range = [0, 100000], by = \"shop\", keys = [\"s0\", \"s3\"] }",
    "name = \"euros_by_page\"\n mean = { of = \"price\", range = [0, 20], by = \"page\", keys = [\"p4\"] }",
    "name = \"sizes_by_shop\"\n mean = { of = \"size\", range = [0, 1000], by = \"shop\", keys = [\"s1\"] }",
    "name = \"sizes\"\n histogram = { of = \"size\", edges = [0, 300, 600, 900] }",
];

fn job(releases: &[&str]) -> String {
    let mut text = r#"
        [job]
        name = "shop"
        version = 1
        [source]
        type = "csv"
        path = "log.csv"
        [privacy]
        person = { field = "who", missing = "drop" }
        promise = "lifetime"
        budget = { epsilon = 60, delta = 1e-6 }
        ledger = "shop.ledger"
        account = "shop"
        "#
    .to_owned();
    for release in releases {
        write!(text, "[[release]]\n{release}\nevery = \"all\"\nnoise = \"gaussian\"\nshare = 0.1\n").unwrap();
        // Nobody is cut, so that the tallies of two runs are comparable.
        let is_keyed = release.contains("by =") || release.contains("edges");
        text += match (release.contains("people"), is_keyed) {
            (true, _) => "bound = { keys = 6 }\n",
            (false, true) => "bound = { keys = 6, per_key = 100 }\n",
            (false, false) => "bound = { per_key = 100 }\n",
        };
    }
    text
}

// Refutes a release that reads the key or the value of another, counts records that only another counts, or leaves out
// records that another does not count.
#[test]
fn releases_together_have_the_tallies_that_each_has_alone() {
    let place = Place::new("fields");
    fs::write(place.0.join("log.csv"), csv()).unwrap();
    let demo = |releases: &[&str], workers| {
        let out = Some(place.0.join("demo.jsonl"));
        let job = place.job(&job(releases));
        job.replay(Replay { workers, demo: true, out, ..Replay::default() }).unwrap();
        tallies(&place.read("demo.jsonl"))
    };
    let mut alone: Vec<String> = RELEASES.iter().flat_map(|release| demo(&[release], 1)).collect();
    alone.sort();
    assert_eq!(alone.len(), 1 + 3 + 4 + 2 + 1 + 1 + 5, "{alone:?}");
    for workers in [1, 3] {
        assert_eq!(demo(&RELEASES, workers), alone);
    }
    let mut reversed = RELEASES;
    reversed.reverse();
    assert_eq!(demo(&reversed, 1), alone);
}
