//! Says what OpenDP's own measurements cost and answer: a line for each line of standard input.
//!
//! ```text
//! gaussian SIGMA EPSILON                                 delta of a count
//! quantile pure|zcdp Q SCALE PER_PERSON HIGH DRAWS V..   epsilon or rho, and answers among 0, 1, .. HIGH
//! ```

use std::error::Error;
use std::io::{BufRead, stdin};
use std::str::FromStr;

use opendp::combinators::make_zCDP_to_approxDP;
use opendp::domains::{AtomDomain, VectorDomain};
use opendp::measurements::{TopKMeasure, make_gaussian, make_private_quantile};
use opendp::measures::{MaxDivergence, ZeroConcentratedDivergence};
use opendp::metrics::{AbsoluteDistance, SymmetricDistance};

fn main() -> Result<(), Box<dyn Error>> {
    for line in stdin().lock().lines() {
        let line = line?;
        let words: Vec<&str> = line.split(' ').collect();
        println!("{}", answer(&words).map_err(|error| format!("{}: {error}", words[0]))?);
    }
    Ok(())
}

fn read<T: FromStr<Err: Error + 'static>>(words: &[&str], at: usize) -> Result<T, Box<dyn Error>> {
    Ok(words.get(at).ok_or("a word is missing")?.parse()?)
}

fn answer(words: &[&str]) -> Result<String, Box<dyn Error>> {
    Ok(match words[0] {
        "gaussian" => {
            let noise = make_gaussian::<_, _, ZeroConcentratedDivergence>(
                AtomDomain::<i32>::default(),
                AbsoluteDistance::<i32>::default(),
                read(words, 1)?,
                None,
            )?;
            make_zCDP_to_approxDP(noise)?.map(&1)?.delta(read(words, 2)?)?.to_string()
        }
        "quantile" => match words.get(1) {
            Some(&"pure") => quantile(MaxDivergence, words)?,
            _ => quantile(ZeroConcentratedDivergence, words)?,
        },
        other => return Err(format!("no measurement is named {other}").into()),
    })
}

fn quantile<M: TopKMeasure<Distance = f64> + 'static>(
    measure: M,
    words: &[&str],
) -> Result<String, Box<dyn Error>> {
    let values: Vec<i32> = words[7..].iter().map(|word| word.parse()).collect::<Result<_, _>>()?;
    let measurement = make_private_quantile(
        VectorDomain::new(AtomDomain::<i32>::default()),
        SymmetricDistance,
        measure,
        (0..=read::<i32>(words, 5)?).collect(),
        read(words, 2)?,
        read(words, 3)?,
    )?;
    let mut line = measurement.map(&read::<u32>(words, 4)?)?.to_string();
    for _ in 0..read::<u32>(words, 6)? {
        line += &format!(" {}", measurement.invoke(&values)?);
    }
    Ok(line)
}
