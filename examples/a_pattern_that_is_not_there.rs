//! An analyst who looks for patterns until there is one: each query is built from the answers before. Every
//! person has a bucket and a coin, which have nothing to do with each other, so every rule that guesses coins
//! from buckets is right half of the time. On the records that it was made from, it is right more often.
//!
//! The lesson: answers with bounded noise are never farther from the records than their stated bound, and the
//! rule that is made of them is no better than it is. That a finding also holds for people who are not in the
//! records is not hoped for, but a theorem (`accounting::transfer`); without noise it fails, and by more the
//! more queries were asked.
//!
//! ```text
//! cargo run --release --example a_pattern_that_is_not_there [-- PICTURE.svg]
//! ```
//!
//! The picture is `examples/a_pattern_that_is_not_there.svg`. The records are the same in every run, the
//! noise is not. What is asserted of the noise holds for certain; what is asserted of the rules would fail
//! once in more than a billion runs.
#![allow(clippy::print_stdout)]

#[path = "picture/mod.rs"]
mod picture;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use discreet::accounting::transfer::Goal;
use discreet::mechanisms::queries::{CertainEstimate, Field, Query, QueryRow, Schema};
use discreet::noise::{BoundedDistribution, NoiseDistribution, NoiseSource};
use discreet::prelude::*;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome<()> {
    live()?;
    let (points, promise) = promised()?;
    if let Some(path) = std::env::args().nth(1) {
        std::fs::write(path, picture::drawn(&points, promise))?;
    }
    Ok(())
}

/// The secret: a person's code, from which buckets are made, and their coin. All bits are independent of each
/// other.
fn person(number: u64) -> (u64, bool) {
    let mut mixed = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for shift in [30, 27, 31] {
        mixed = (mixed ^ (mixed >> shift)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    }
    (mixed >> 20, mixed >> 19 & 1 == 1)
}

/// The number of records in which a rule is right: that coins are heads in its buckets, and tails in the
/// others.
fn right(records: &[(u64, bool)], rule: &[bool]) -> u64 {
    let buckets = rule.len() as u64;
    records.iter().filter(|(code, heads)| rule[(code % buckets) as usize] == *heads).count() as u64
}

/// The number of heads among the records of each bucket.
fn heads(records: &[(u64, bool)], buckets: usize) -> Vec<u64> {
    let mut heads = vec![0; buckets];
    for (code, _) in records.iter().filter(|(_, heads)| *heads) {
        heads[(code % buckets as u64) as usize] += 1;
    }
    heads
}

// First: an analyst at a stream.

const PEOPLE: u64 = 20_000;
const BUCKETS: usize = 800;

/// Queries the heads of each bucket, and then, from the answers, how often the rule that they make is right.
struct Analyst {
    schema: Schema,
    asked: usize,
    released: Released,
}

/// The released answers, by the number of their query.
type Released = Arc<Mutex<BTreeMap<usize, CertainEstimate>>>;

impl Analyst {
    fn questions(&self, released: &BTreeMap<usize, CertainEstimate>) -> Result<Vec<Query>, Invalid> {
        let asking = |number: usize, filter: &str| {
            self.schema.question("ann", &number.to_string(), at("2026-11-02")?).count(filter)
        };
        if self.asked == 0 {
            return (0..BUCKETS)
                .map(|bucket| asking(bucket, &format!("bucket = {bucket} and coin = 1")))
                .collect();
        }
        let rule = rule(released.values().map(|answer| answer.value), PEOPLE);
        let buckets =
            rule.iter().enumerate().filter(|(_, kept)| **kept).map(|(bucket, _)| bucket.to_string());
        let kept = format!("bucket in {{{}}}", buckets.collect::<Vec<_>>().join(", "));
        Ok(vec![asking(BUCKETS, &format!("{kept} and coin = 1 or not {kept} and coin = 0"))?])
    }
}

/// A rule that guesses heads in the buckets with more of them than expected.
fn rule(heads: impl Iterator<Item = f64>, people: u64) -> Vec<bool> {
    let heads: Vec<f64> = heads.collect();
    let usual = people as f64 / (2 * heads.len()) as f64;
    heads.into_iter().map(|heads| heads > usual).collect()
}

impl Source for Analyst {
    type Record = Query;

    fn pull(&mut self, batch: &mut Vec<Query>) -> Result<Pulled, SourceError> {
        let released = self.released.lock().unwrap_or_else(PoisonError::into_inner);
        if released.len() < self.asked {
            return Ok(Pulled::Idle);
        }
        if self.asked > BUCKETS {
            return Ok(Pulled::End);
        }
        let questions = self.questions(&released);
        let questions =
            questions.map_err(|refused| SourceError::refused("the analyst").because(refused.to_string()))?;
        self.asked += questions.len();
        batch.extend(questions);
        Ok(Pulled::More)
    }
}

fn live() -> Outcome<()> {
    let directory = std::env::temp_dir().join(format!("discreet-pattern-{}", std::process::id()));
    std::fs::create_dir_all(&directory)?;
    let ledger = directory.join("coins.ledger");
    // A bundle at epsilon 1 counts as rho = tanh(1/2) = 0.46, which takes a budget of this size.
    Ledger::create(&ledger)?.register(&AccountSpec::lifetime("coins", Budget::approximate(6.0, 1e-5))?)?;
    let gate = Gate::open(&ledger, "coins")?;
    let released = Released::default();
    let schema = Schema::new([Field::number("bucket"), Field::number("coin")])?.of_person("number")?;
    let (hears, noon) = (Arc::clone(&released), at("2026-11-01T12:00:00Z")?);
    discreet::execute(Config::threads(1)?, move |worker, feeds| {
        let analyst = Analyst { schema: schema.clone(), asked: 0, released: Arc::clone(&hears) };
        let (schema, hears) = (schema.clone(), Arc::clone(&hears));
        worker.dataflow(|scope| {
            let questions = feeds.stream(scope, analyst);
            feeds
                .stream(scope, All::of(0..PEOPLE))
                .protect(|number| *number)
                .tumbling(days(1), move |_| noon)
                .between("2026-11-01", "2026-11-02")
                .bound(Bound::keys(1))
                .answer(schema, row, questions)
                .release(&gate, "coins", BoundedNoise::bundle(BUCKETS as u64 + 1).epsilon(1.0, 1e-6))
                .releases
                .deliver(move |release| {
                    let refused = || std::io::Error::other("a question was refused");
                    let answer = release.answer().ok_or_else(refused)?;
                    let number = answer.question.parse().map_err(std::io::Error::other)?;
                    let estimate = answer.estimate.ok_or_else(refused)?;
                    hears.lock().unwrap_or_else(PoisonError::into_inner).insert(number, estimate);
                    Ok(())
                });
        });
        Ok(())
    })?;
    std::fs::remove_dir_all(&directory)?;
    compare(&released.lock().unwrap_or_else(PoisonError::into_inner))
}

fn row(number: &u64) -> QueryRow {
    let (code, heads) = person(*number);
    QueryRow::from([(code as i64 % BUCKETS as i64).into(), i64::from(heads).into()])
}

/// Compares the released answers with the truth, which nobody sees in a real run.
fn compare(released: &BTreeMap<usize, CertainEstimate>) -> Outcome<()> {
    let records: Vec<(u64, bool)> = (0..PEOPLE).map(person).collect();
    let exact = heads(&records, BUCKETS);
    let values: Vec<f64> = released.values().map(|answer| answer.value).collect();
    let (last, noised) = values.split_last().ok_or("no answers")?;
    let bound = released.values().next().ok_or("no answers")?.bound;
    assert_eq!(noised.len(), BUCKETS);
    let found = rule(noised.iter().copied(), PEOPLE);
    let worst = noised.iter().zip(&exact).map(|(released, exact)| (released - *exact as f64).abs());
    let worst = worst.fold((last - right(&records, &found) as f64).abs(), f64::max);
    // A released answer is rounded to a digit or two behind the point.
    assert!(worst <= bound + 0.01, "an answer is off by {worst}");
    let share = |right: f64| 100.0 * right / PEOPLE as f64;
    let plainly = share(right(&records, &rule(exact.iter().map(|heads| *heads as f64), PEOPLE)) as f64);
    println!(
        "An analyst asks {PEOPLE} people for the heads of {BUCKETS} buckets, and then how often the rule is right that says heads"
    );
    println!(
        "where there are more of them than usual. For anybody who comes new it is right 50.0% of the time."
    );
    println!("  exact answers:        {plainly:.1}% of the records, a discovery that is not there");
    println!(
        "  with bounded noise:   {:.1}% was released, {:.1}% is true of the records",
        share(*last),
        share(right(&records, &found) as f64)
    );
    println!(
        "  no answer is off by more than {bound} people ({:.1}%); the worst of these is off by {worst:.1}\n",
        share(bound)
    );
    // The noise for certain, and the records by six deviations.
    let near = share(bound) + 100.0 * 6.0 / (2.0 * (PEOPLE as f64).sqrt());
    assert!((share(*last) - 50.0).abs() <= near && plainly - 50.0 > near, "{last} {plainly} {near}");
    Ok(())
}

// Then: the promise, with enough people and queries to break it without noise.

const MANY: u64 = 3_000_000;
const ERROR: f64 = 0.12;

/// Looks for patterns among more and more buckets, in each number of them as the analyst above, until all
/// queries of the plan are used.
fn promised() -> Outcome<(Vec<picture::Point>, f64)> {
    let (plan, noise) = Goal::new(MANY, ERROR, 0.05)?.plan_bounded()?;
    let (bound, shift) = (noise.bound(), noise.shift() as f64);
    println!(
        "{MANY} people: {} questions, each built from the answers before, are answered within {ERROR} of the",
        plan.questions
    );
    println!(
        "population's share, all of them except with probability 0.05, by noise that never exceeds {bound:.0} people."
    );
    println!("  questions   buckets   exact answers   with bounded noise");
    let (law, mut source) = (BoundedDistribution::new(noise.into_weights())?, NoiseSource::from_os()?);
    let mut worst: f64 = 0.0;
    let mut answer = |exact: u64| {
        let noise = law.draw(&mut source) as f64 / shift;
        let released = exact as f64 + noise;
        worst = worst.max((released - exact as f64).abs());
        released
    };
    let records: Vec<(u64, bool)> = (0..MANY).map(person).collect();
    let most = (plan.questions as usize).saturating_sub(64) / 4 * 3;
    let tries: Vec<usize> =
        (0..9).rev().map(|times| most >> (2 * times)).filter(|buckets| *buckets > 1).collect();
    let (mut asked, mut points) = (0, Vec::new());
    for buckets in tries {
        let exact = heads(&records, buckets);
        let released: Vec<f64> = exact.iter().map(|heads| answer(*heads)).collect();
        let off = |right: f64| (right / MANY as f64 - 0.5).abs();
        let noised = off(answer(right(&records, &rule(released.into_iter(), MANY))));
        let plainly = off(right(&records, &rule(exact.iter().map(|heads| *heads as f64), MANY)) as f64);
        asked += buckets as u64 + 1;
        println!(
            "{asked:>11} {buckets:>9} {:>15} {:>20}",
            format!("off by {plainly:.4}"),
            format!("off by {noised:.4}")
        );
        points.push(picture::Point { asked: asked as f64, plainly, noised });
    }
    let last = points.last().ok_or("no questions")?;
    println!("No answer was farther from the records than {worst:.0} people.");
    assert!(asked <= plan.questions && worst <= bound, "{asked} questions, off by {worst}");
    assert!(points.iter().all(|point| point.noised <= ERROR) && last.plainly > ERROR, "{points:?}");
    Ok((points, ERROR))
}
