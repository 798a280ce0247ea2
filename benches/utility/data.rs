//! The three logs, what a contribution bound keeps of them, and a synthetic log from a seed.

use std::collections::HashMap;
use std::error::Error;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use bzip2::read::MultiBzDecoder;
use flate2::read::MultiGzDecoder;

/// A record of a person.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record {
    pub(crate) person: u32,
    pub(crate) key: u32,
    pub(crate) value: i64,
}

/// The kept share of one person in one key.
#[derive(Clone, Debug)]
pub(crate) struct Contribution {
    pub(crate) person: u32,
    pub(crate) key: u32,
    pub(crate) values: Vec<i64>,
}

/// The logs that are there, read once: each as lists of records by a key, with a value.
pub(crate) struct Logs {
    pub(crate) reviews: Option<Reviews>,
    pub(crate) retail: Option<Retail>,
    pub(crate) access: Option<Access>,
}

/// Ratings by vendor.
pub(crate) struct Reviews(pub(crate) Vec<Record>);

pub(crate) struct Retail {
    /// Pieces by country.
    pub(crate) pieces: Vec<Record>,
    /// Prices in hundredths by product.
    pub(crate) prices: Vec<Record>,
}

/// Bytes by path.
pub(crate) struct Access(pub(crate) Vec<Record>);

/// Numbers for texts, in the order in which they come.
#[derive(Default)]
struct Names(HashMap<String, u32>);

impl Names {
    fn number(&mut self, name: &str) -> u32 {
        let next = self.0.len() as u32;
        *self.0.entry(name.to_owned()).or_insert(next)
    }
}

impl Logs {
    /// Reads the logs of a directory.
    pub(crate) fn read(directory: &Path) -> Result<Logs, Box<dyn Error>> {
        let open = |name: &str| match File::open(directory.join(name)) {
            Ok(file) => Some(BufReader::new(file)),
            Err(error) => {
                println!(
                    "{name}: its rows are left out, for it cannot be read from {}: {error}",
                    directory.display()
                );
                None
            }
        };
        let bz2 = |name| open(name).map(MultiBzDecoder::new);
        let gz = |name| open(name).map(MultiGzDecoder::new);
        Ok(Logs {
            reviews: bz2("reviews.csv.bz2").map(reviews).transpose()?,
            retail: gz("retail.csv.gz").map(retail).transpose()?,
            access: gz("access.log.gz").map(access).transpose()?,
        })
    }
}

fn reviews(log: impl Read) -> Result<Reviews, Box<dyn Error>> {
    let (mut people, mut vendors, mut records) = (Names::default(), Names::default(), Vec::new());
    for row in csv::Reader::from_reader(log).records() {
        let row = row?;
        let Ok(value) = row[2].parse() else { continue };
        records.push(Record { person: people.number(&row[0]), key: vendors.number(&row[1]), value });
    }
    Ok(Reviews(records))
}

fn retail(log: impl Read) -> Result<Retail, Box<dyn Error>> {
    let (mut people, mut products, mut countries) = (Names::default(), Names::default(), Names::default());
    let (mut pieces, mut prices) = (Vec::new(), Vec::new());
    for row in csv::Reader::from_reader(log).byte_records() {
        let row = row?;
        let text = |at: usize| String::from_utf8_lossy(&row[at]).into_owned();
        let (Ok(quantity), Ok(price)) = (text(2).parse::<i64>(), text(4).parse::<f64>()) else { continue };
        // A quarter of the lines names nobody.
        if row[5].is_empty() {
            continue;
        }
        let person = people.number(&text(5));
        pieces.push(Record { person, key: countries.number(&text(6)), value: quantity });
        prices.push(Record { person, key: products.number(&text(1)), value: (price * 100.0).round() as i64 });
    }
    Ok(Retail { pieces, prices })
}

fn access(log: impl Read) -> Result<Access, Box<dyn Error>> {
    let (mut people, mut paths, mut records) = (Names::default(), Names::default(), Vec::new());
    for line in BufReader::new(log).lines() {
        let line = line?;
        let mut quoted = line.splitn(3, '"');
        let (Some(head), Some(request), Some(rest)) = (quoted.next(), quoted.next(), quoted.next()) else {
            continue;
        };
        let client = head.split(' ').next().unwrap_or_default();
        let path = request.split(' ').nth(1).unwrap_or_default().split('?').next().unwrap_or_default();
        // A response without a body has a hyphen.
        let bytes = rest.split(' ').nth(2).and_then(|bytes| bytes.parse().ok()).unwrap_or(0);
        records.push(Record { person: people.number(client), key: paths.number(path), value: bytes });
    }
    Ok(Access(records))
}

/// The records that a bound keeps: of each person some keys, and of each of those some records, by a hash of a fixed seed.
pub(crate) fn bounded(records: &[Record], keys: usize, per_key: usize) -> Vec<Contribution> {
    let order = |record: &Record, place: usize| {
        let key = mixed(u64::from(record.person) << 32 | u64::from(record.key));
        (record.person, key, record.key, mixed(place as u64))
    };
    let mut sorted: Vec<(u32, u64, u32, u64, i64)> = (records.iter().enumerate())
        .map(|(place, record)| {
            let (person, hash, key, at) = order(record, place);
            (person, hash, key, at, record.value)
        })
        .collect();
    sorted.sort_unstable();
    let mut kept: Vec<Contribution> = Vec::new();
    let (mut of, mut count) = (None, 0);
    for (person, _, key, _, value) in sorted {
        if of != Some(person) {
            (of, count) = (Some(person), 0);
        }
        match kept.last_mut().filter(|last| last.person == person && last.key == key) {
            Some(last) if last.values.len() < per_key => last.values.push(value),
            None if count < keys => {
                count += 1;
                kept.push(Contribution { person, key, values: vec![value] });
            }
            _ => {}
        }
    }
    kept
}

/// Numbers of people by key.
pub(crate) fn people_by_key(kept: &[Contribution]) -> HashMap<u32, u64> {
    let mut people = HashMap::new();
    kept.iter().for_each(|own| *people.entry(own.key).or_insert(0) += 1);
    people
}

/// A log like that of `config/quickstart.toml`: 20,000 people, 40 pages of which a few are common, one record of each person
/// and page.
pub(crate) fn pages() -> Vec<Record> {
    let mut random = 1;
    let mut next = || {
        random += 1;
        (mixed(random) >> 11) as f64 * (-53f64).exp2()
    };
    let page = |uniform: f64| ((41f64).powf(uniform) - 1.0).min(39.0) as u32;
    (0..20_000u32)
        .flat_map(|person| std::iter::repeat_n(person, 6))
        .map(|person| Record { person, key: page(next()), value: (next() * 120.0) as i64 })
        .collect()
}

/// A number that looks random (splitmix64).
pub(crate) fn mixed(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
