//! The mean of two numbers at once, on two real logs: clipped, shaped and stable, each beside the error that
//! it promises, its actual error, and the least error of an unbiased mean.
//!
//! The lesson: a shape saves where the numbers that can occur lie in a thin set, and bounds that are known
//! beat whatever must find them out. A stable mean needs no bounds but many people; where there are too few
//! it says so before it looks.
//!
//! ```text
//! cargo run --release --example means_of_two_logs -- DIRECTORY
//! ```
//!
//! where `retail.csv.gz` and `reviews.csv.bz2` lie in the directory, `../shared/data` unless it is given. Of
//! each person the first record counts, so that the truth is known. It is a demonstration, charged to ledgers
//! that are thrown away.
#![allow(clippy::print_stdout)]

use std::collections::HashMap;
use std::error::Error;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::mpsc;

use discreet::accounting::shape::{DataDomain as Vectors, MeanError, Norm, Shape};
use discreet::accounting::{Adjacency, Relation};
use discreet::ledger::Name;
use discreet::mechanisms::{Mechanism, Prepared, Ranges, StableVectors};
use discreet::noise::{DiscreteGaussian, NoiseDistribution, NoiseSource};
use discreet::prelude::*;
use ndarray::Array1;

const RHO: f64 = 0.01;

/// A log, and the facts about it that are known before it is read.
struct Log {
    file: &'static str,
    person: &'static str,
    fields: [&'static str; 2],
    /// The size of a step, for each number.
    steps: [f64; 2],
    ranges: [(i64, i64); 2],
    /// In steps; every vector is somewhere between these points.
    corners: [[f64; 2]; 4],
}

const LOGS: [Log; 2] = [
    Log {
        file: "retail.csv.gz",
        person: "CustomerID",
        fields: ["Quantity", "UnitPrice"],
        steps: [1.0, 0.01],
        ranges: [(0, 200), (0, 2_000)],
        // Who buys many buys what is cheap.
        corners: [[0.0, 0.0], [200.0, 100.0], [10.0, 2_000.0], [0.0, 2_000.0]],
    },
    Log {
        file: "reviews.csv.bz2",
        person: "reviewerId",
        fields: ["rating", "vendorId"],
        steps: [1.0, 1.0],
        ranges: [(0, 5), (0, 250)],
        corners: [[0.0, 0.0], [5.0, 0.0], [5.0, 250.0], [0.0, 250.0]],
    },
];

fn main() -> Result<(), Box<dyn Error>> {
    let data = std::env::args_os().nth(1).map_or_else(|| PathBuf::from("../shared/data"), PathBuf::from);
    for log in LOGS {
        match log.records(&data)? {
            Some(records) => log.means(records)?,
            None => println!("{} is not in {}: nothing to release", log.file, data.display()),
        }
    }
    Ok(())
}

/// The method by which two numbers are bounded.
enum How {
    Clipped([(i64, i64); 2]),
    Shaped(Vectors),
    Stable([(i64, i64); 2], Stable),
}

/// A person, and two whole numbers.
type Record = (u64, [i64; 2]);

impl Log {
    /// The first record of each person.
    fn records(&self, data: &Path) -> Result<Option<Vec<Record>>, Box<dyn Error>> {
        let Ok(file) = File::open(data.join(self.file)) else { return Ok(None) };
        let plain: Box<dyn Read> = match self.file.ends_with("gz") {
            true => Box::new(flate2::read::GzDecoder::new(file)),
            false => Box::new(bzip2::read::BzDecoder::new(file)),
        };
        let mut rows = csv::Reader::from_reader(plain);
        let names = rows.headers()?.clone();
        let place = |name| names.iter().position(|field| field == name).ok_or("a column is missing");
        let (person, fields) = (place(self.person)?, [place(self.fields[0])?, place(self.fields[1])?]);
        let mut first = HashMap::new();
        for row in rows.records() {
            let row = row?;
            if let Ok(who) = row[person].parse::<f64>() {
                let step = |at: usize| Ok((row[fields[at]].parse::<f64>()? / self.steps[at]).round() as i64);
                let read: Result<_, std::num::ParseFloatError> = step(0).and_then(|one| Ok([one, step(1)?]));
                first.entry(who as u64).or_insert(read?);
            }
        }
        Ok(Some(first.into_iter().collect()))
    }

    fn means(&self, records: Vec<Record>) -> Result<(), Box<dyn Error>> {
        let people = records.len() as u64;
        println!("{}: {people} people, {} and {}", self.file, self.fields[0], self.fields[1]);
        let clipped = |place: usize, value: i64| value.clamp(self.ranges[place].0, self.ranges[place].1);
        let mean = |of: &dyn Fn(&Record) -> i64| records.iter().map(of).sum::<i64>() as f64 / people as f64;
        let truth = [mean(&|record| record.1[0]), mean(&|record| record.1[1])];
        let within = [mean(&|record| clipped(0, record.1[0])), mean(&|record| clipped(1, record.1[1]))];
        self.line("exactly", truth, "");
        self.line("exactly, clipped", within, "");

        let domain = Vectors::points(self.corners.map(Vec::from))?;
        let shape = Shape::of(&domain, Relation::AddRemove, Norm::EUCLIDEAN)?;
        let bound = MeanError::of(&shape, RHO, people)?;
        let budget = PrivacyCost::zcdp(RHO)?;
        self.released("clipped", records.clone(), within, budget.clone(), How::Clipped(self.ranges))?;
        self.released("shaped", records.clone(), within, budget, How::Shaped(domain))?;
        println!("  Both together, in steps, if the number of people were known:");
        let plain = self.corners.iter().map(|corner| corner[0].hypot(corner[1])).fold(0.0, f64::max);
        let plain = Shape::of(&Vectors::ball(2.0, plain, 2)?, Relation::AddRemove, Norm::EUCLIDEAN)?;
        for (name, error, shape) in
            [("shaped", bound.shaped(), &shape), ("not shaped", bound.isotropic(), &plain)]
        {
            println!("  {name:18} {error:9.4}, and {:.4} in 2,000 draws", drawn(shape, people)?);
        }
        println!("  {:18} {:9.4}, unless it is biased", "at least", bound.lower_bound());
        self.stable(records, truth, people)
    }

    /// Releases the stable mean; its privacy cost has a currency of its own, and so its ledger has.
    fn stable(&self, records: Vec<Record>, truth: [f64; 2], people: u64) -> Result<(), Box<dyn Error>> {
        let stable = Stable::epsilon(2.0, 1e-6).people(people);
        let sides = [(-1_000_000, 1_000_000); 2];
        let vectors = StableVectors::new(Ranges::new(sides)?, Bound::keys(1).checked()?, Keys::whole())?;
        let prepared = match stable.prepare(&vectors) {
            Ok(prepared) => prepared,
            Err(refused) => {
                println!("  {:18} {refused}\n", "stable, epsilon 2");
                return Ok(());
            }
        };
        let budget = prepared.cost().amount().clone();
        self.released("stable, epsilon 2", records, truth, budget, How::Stable(sides, stable))?;
        println!();
        Ok(())
    }

    fn line(&self, name: &str, values: [f64; 2], also: &str) {
        let released = |at: usize| format!("{:.3}", values[at] * self.steps[at]);
        println!("  {name:18} {:>9} {:>9}  {also}", released(0), released(1));
    }

    /// Runs a pipeline over all records in one window, and prints the released mean and its error.
    fn released(
        &self,
        name: &str,
        records: Vec<Record>,
        truth: [f64; 2],
        budget: PrivacyCost,
        how: How,
    ) -> Result<(), Box<dyn Error>> {
        let directory = std::env::temp_dir().join(format!("discreet-means-{}", std::process::id()));
        std::fs::create_dir_all(&directory)?;
        let ledger = directory.join("means.ledger");
        Ledger::create(&ledger)?.register(&AccountSpec::new(
            Name::new("domain", "people")?,
            Adjacency::PERSON,
            Promise::Lifetime,
            budget,
        )?)?;
        let gate = Gate::open(&ledger, "means")?;
        let (cells, released) = mpsc::channel();
        discreet::execute(Config::threads(1)?, move |worker, feeds| {
            let (records, cells) = (records.clone(), cells.clone());
            worker.dataflow(|scope| {
                let people = feeds.stream(scope, All::of(records)).protect(|record| record.0);
                let people = people.whole("1970-01-01", "1970-01-02", |_| 0).bound(Bound::keys(1));
                let (mean, law) = (people.mean_of(|record| record.1), Gaussian::rho(RHO));
                let releases = match &how {
                    How::Clipped(ranges) => mean.within(*ranges).release(&gate, "mean", law),
                    How::Shaped(domain) => mean.over(domain.clone()).release(&gate, "mean", law),
                    How::Stable(sides, stable) => mean.stable(*sides).release(&gate, "mean", stable.clone()),
                };
                releases.deliver(move |release| {
                    let released = release.cells().map_err(std::io::Error::other)?;
                    cells.send(released.into_iter().next()).map_err(std::io::Error::other)
                });
            });
            Ok(())
        })?;
        let released = released.into_iter().next().flatten();
        std::fs::remove_dir_all(&directory)?;
        let Some(cell) = released else {
            println!("  {name:18} nothing: its test failed");
            return Ok(());
        };
        let values = [cell.value[0], cell.value[1]];
        let off = |at: usize| format!("{:.4}", (values[at] - truth[at]).abs() * self.steps[at]);
        let promised = |at: usize| {
            let ends = cell.low.as_ref().zip(cell.high.as_ref());
            let half = ends.map(|(low, high)| (high[at] - low[at]) / 2.0 * self.steps[at]);
            half.map_or(String::from("-"), |half| format!("{half:.4}"))
        };
        let law = &cell.noise[0];
        let also = match (law.over_bound, law.assumes.as_deref()) {
            (Some(over), _) => format!("; {over:.2} times the least of its sum"),
            (_, Some(assumed)) => format!("; {assumed}"),
            _ => String::new(),
        };
        let also = format!("off by {} {}, promised {} {}{also}", off(0), off(1), promised(0), promised(1));
        self.line(name, values, &also);
        Ok(())
    }
}

/// The root of the mean square of noise of this shape.
fn drawn(shape: &Shape, people: u64) -> Result<f64, Box<dyn Error>> {
    let (factor, mut noise, grain) = (shape.factor(), NoiseSource::from_os()?, f64::from(1 << 20));
    let law = DiscreteGaussian::with_sigma(grain / (2.0 * RHO).sqrt())?;
    let mut squares = 0.0;
    for _ in 0..2_000 {
        let whole: Array1<f64> = (0..shape.rank()).map(|_| law.draw(&mut noise) as f64 / grain).collect();
        squares += factor.dot(&whole).iter().map(|along| along.powi(2)).sum::<f64>();
    }
    Ok((squares / 2_000.0).sqrt() / people as f64)
}
