#![allow(clippy::unwrap_used)]

mod law;
mod neighbours;
mod oracle;
mod price;
mod release;
mod whole;

use super::StableMean;
use super::core::Cores;
use super::core::{Covariance, Levels, Pairs};
use super::release::BoundingBox;
use crate::accounting::Relation;
use crate::noise::{DiscreteGaussian, NoiseDistribution, NoiseSource};

const WIDE: i64 = 1 << 46;

fn extent(dimension: usize) -> BoundingBox {
    BoundingBox::new(vec![(-WIDE, WIDE); dimension]).unwrap()
}

/// Draws independent Gaussian coordinates with these deviations around a centre.
fn gaussian(people: usize, deviations: &[f64], centre: &[i64], seed: u64) -> Vec<i64> {
    let mut noise = NoiseSource::seeded(seed);
    let laws: Vec<_> = deviations.iter().map(|&sigma| DiscreteGaussian::with_sigma(sigma).unwrap()).collect();
    (0..people)
        .flat_map(|_| {
            laws.iter().zip(centre).map(|(law, centre)| centre + law.draw(&mut noise)).collect::<Vec<_>>()
        })
        .collect()
}

fn cheap(dimension: u64) -> (u64, StableMean) {
    let people = StableMean::least_people(dimension, 8.0, 1e-6, Relation::Replace).unwrap();
    (people, StableMean::new(people, dimension, 8.0, 1e-6, Relation::Replace).unwrap())
}

impl Levels {
    /// Returns the cores of all records with the references that belong to these levels.
    fn cores_of(&self, records: &[i64], pairs: &Pairs, covariance: &Covariance) -> Cores {
        self.cores(records, pairs.dimension, self.references(), pairs.len() as u64, covariance)
    }
}
