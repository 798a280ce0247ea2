//! A stand-in until the calibration is here: truncated Laplace noise, answers composed one by one.

use std::fmt;

use crate::invalid::{Invalid, Kind};

#[derive(Clone, Debug)]
pub struct BoundedNoise {
    weights: Vec<u64>,
    shift: u64,
    shape: Shape,
    asked: Asked,
}

#[derive(Clone, Debug)]
pub struct Asked {
    pub queries: u64,
    pub epsilon: f64,
    pub delta: f64,
    pub goal: Goal,
    pub shape: Option<Shape>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Goal {
    Bound,
    Rms,
    Mixed(f64),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Shape(pub f64);

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "laplace:{}", self.0)
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Fineness {
    pub multiple: u64,
    pub reach: u64,
}

impl BoundedNoise {
    pub fn calibrate(asked: &Asked, grid: &Fineness) -> Result<BoundedNoise, Invalid> {
        if asked.queries == 0 || asked.queries > 1_000_000 {
            return Err(Invalid::new("queries", Kind::Zero, "a whole number from 1 to 1,000,000"));
        }
        let (epsilon, delta) = (asked.epsilon / asked.queries as f64, asked.delta / asked.queries as f64);
        let bound = libm::log(1.0 + (libm::exp(epsilon) - 1.0) / delta) / epsilon;
        let shift = ((grid.reach as f64 / bound) as u64 / grid.multiple * grid.multiple).max(grid.multiple);
        let reach = libm::ceil(bound * shift as f64) as u64;
        let weight =
            |j: u64| (libm::exp(-epsilon * j as f64 / shift as f64) * (1u64 << 62) as f64) as u64 + 1;
        Ok(BoundedNoise {
            weights: (0..=reach).map(|j| weight(j).min(1 << 62)).collect(),
            shift,
            shape: Shape(epsilon * bound),
            asked: asked.clone(),
        })
    }

    pub fn weights(&self) -> &[u64] {
        &self.weights
    }

    pub fn reach(&self) -> u64 {
        self.weights.len() as u64 - 1
    }

    pub fn shift(&self) -> u64 {
        self.shift
    }

    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    pub fn deviation(&self) -> f64 {
        self.shift as f64 * 2f64.sqrt() / (self.asked.epsilon / self.asked.queries as f64)
    }
}
