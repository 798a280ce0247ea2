//! Noise of the shape of a domain: integer noise, the same in every direction, on records that are whitened first.

mod whitened;

pub use whitened::Whitened;
