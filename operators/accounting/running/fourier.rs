//! A Fourier transform of a power of two points.

use std::f64::consts::PI;

/// A complex number: real and imaginary part.
pub(super) type ComplexPair = (f64, f64);

/// In place: value `k` becomes the sum of `value_j e^(-2 pi i j k / n)`.
pub(super) fn transform(values: &mut [ComplexPair]) {
    let size = values.len();
    debug_assert!(size.is_power_of_two());
    let shift = usize::BITS - size.trailing_zeros();
    for at in 0..size {
        let other = if size > 1 { at.reverse_bits() >> shift } else { 0 };
        if at < other {
            values.swap(at, other);
        }
    }
    let turns: Vec<ComplexPair> = (0..size / 2)
        .map(|at| {
            let (sin, cos) = libm::sincos(-2.0 * PI * at as f64 / size as f64);
            (cos, sin)
        })
        .collect();
    let mut half = 1;
    while half < size {
        let every = size / (2 * half);
        for block in values.chunks_exact_mut(2 * half) {
            let (low, high) = block.split_at_mut(half);
            for ((low, high), turn) in low.iter_mut().zip(high).zip(turns.iter().step_by(every)) {
                let turned = (high.0 * turn.0 - high.1 * turn.1, high.0 * turn.1 + high.1 * turn.0);
                (*low, *high) = ((low.0 + turned.0, low.1 + turned.1), (low.0 - turned.0, low.1 - turned.1));
            }
        }
        half *= 2;
    }
}
