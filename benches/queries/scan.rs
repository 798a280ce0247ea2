//! The scan of a million records: the time of a query beside the same condition written by hand.
//!
//! The floor is a loop over records that lie in a vector of structs, with the condition compiled into it. Its
//! condition is known when the program is built; a query's is known when it arrives. One thread, the best of
//! rounds in which both take turns.

use std::hint::black_box;
use std::time::{Duration, Instant};

use discreet::mechanisms::Range;
use discreet::mechanisms::queries::{ColumnStore, Field, MatchedTotals, QueryRow, Schema, Steps};

const RECORDS: usize = 1_000_000;
const ROUNDS: usize = 15;
const COUNTRIES: [&str; 4] = ["DE", "AT", "CH", "FR"];
const STEPS: Steps = Steps::new(1 << 20);

struct Record {
    age: Option<i64>,
    price: Option<i64>,
    country: Option<String>,
}

/// A subject: its name, the number of comparisons for each record, the query, and the same condition by hand.
struct Asked {
    name: &'static str,
    comparisons: f64,
    mean: Option<[&'static str; 2]>,
    filter: &'static str,
    plainly: fn(&[Record], &Range) -> MatchedTotals,
}

const ASKED: [Asked; 4] = [
    Asked { name: "number", comparisons: 1.0, mean: None, filter: "age >= 18", plainly: number },
    Asked { name: "word", comparisons: 1.0, mean: None, filter: "country = \"DE\"", plainly: word },
    Asked {
        name: "several",
        comparisons: 4.0,
        mean: None,
        filter: "age in 18..65 and country in {\"DE\", \"AT\"} and not price < 50",
        plainly: several,
    },
    Asked { name: "mean", comparisons: 1.0, mean: Some(["0", "100"]), filter: "age >= 18", plainly: mean },
];

/// Measures, and prints a line for each.
#[allow(clippy::unwrap_used)]
pub(crate) fn scan() {
    let fields = [Field::number("age"), Field::decimal("price", 2), Field::text("country")];
    let schema = Schema::new(fields).unwrap();
    let range = Range::new(0, 10_000).unwrap();
    let records = records();
    let mut columns = ColumnStore::new(&schema);
    let start = Instant::now();
    for Record { age, price, country } in &records {
        columns.push(&QueryRow::from([(*age).into(), (*price).into(), country.clone().into()]));
    }
    let kept = RECORDS as f64 / start.elapsed().as_secs_f64();
    println!("figure answers.keep_records_per_second {kept:.0} 1/s");
    println!("figure answers.keep_bytes_per_record {:.1} bytes", columns.heap() as f64 / RECORDS as f64);
    for Asked { name, comparisons, mean, filter, plainly } in ASKED {
        let asked = schema.question("bench", name, 0);
        let question = match mean {
            Some([low, high]) => asked.mean("price", low, high, filter).unwrap(),
            None => asked.count(filter).unwrap(),
        };
        let (mut scanned, mut floor) = (Duration::MAX, Duration::MAX);
        for _ in 0..ROUNDS {
            let (time, found) = timed(|| columns.found(black_box(&question), &STEPS));
            scanned = scanned.min(time);
            let (time, plain) = timed(|| plainly(black_box(&records), &range));
            floor = floor.min(time);
            assert_eq!((found.matched, found.terms), (plain.matched, plain.terms), "{name}");
        }
        let rate = RECORDS as f64 / scanned.as_secs_f64();
        println!("figure answers.scan_records_per_second_{name} {rate:.0} 1/s");
        println!("figure answers.scan_comparisons_per_second_{name} {:.0} 1/s", rate * comparisons);
        println!("ratio answers.scan_over_floor_{name} {:.2}", scanned.as_secs_f64() / floor.as_secs_f64());
    }
}

fn timed(work: impl FnOnce() -> MatchedTotals) -> (Duration, MatchedTotals) {
    let start = Instant::now();
    let found = black_box(work());
    (start.elapsed(), found)
}

/// Records from a shift register, the same in every run; a fiftieth of the values are absent.
fn records() -> Vec<Record> {
    let mut state = 88_172_645_463_325_252_u64;
    let mut below = |end: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % end
    };
    let record = |_| {
        let mut some = |end: u64| (below(50) > 0).then(|| below(end));
        Record {
            age: some(90).map(u64::cast_signed),
            price: some(12_000).map(u64::cast_signed),
            country: some(4).map(|place| COUNTRIES[place as usize].to_owned()),
        }
    };
    (0..RECORDS).map(record).collect()
}

fn count(records: &[Record], matches: impl Fn(&Record) -> bool) -> MatchedTotals {
    MatchedTotals { matched: records.iter().filter(|record| matches(record)).count() as u64, terms: 0 }
}

fn number(records: &[Record], _: &Range) -> MatchedTotals {
    count(records, |record| record.age.is_some_and(|age| age >= 18))
}

fn word(records: &[Record], _: &Range) -> MatchedTotals {
    count(records, |record| record.country.as_deref() == Some("DE"))
}

fn several(records: &[Record], _: &Range) -> MatchedTotals {
    count(records, |record| {
        record.age.is_some_and(|age| (18..65).contains(&age))
            && matches!(record.country.as_deref(), Some("DE" | "AT"))
            && record.price.is_none_or(|price| price >= 5_000)
    })
}

fn mean(records: &[Record], range: &Range) -> MatchedTotals {
    let mut found = MatchedTotals::default();
    for Record { age, price, .. } in records {
        if let (Some(18..), Some(price)) = (age, price) {
            found += MatchedTotals { matched: 1, terms: STEPS.term(range, *price).into() };
        }
    }
    found
}
