//! Arithmetic on dense tables: numbers in the order of their cells, of which the last attribute changes first.

/// Applies a function to all numbers that differ in one attribute alone: each as the number of its category.
fn along<T: Copy>(numbers: &mut [T], sizes: &[usize], attribute: usize, of: impl Fn(&mut [T])) {
    let size = sizes[attribute];
    let inner: usize = sizes[attribute + 1..].iter().product();
    let mut fiber = Vec::with_capacity(size);
    for block in numbers.chunks_mut(size * inner) {
        for start in 0..inner {
            fiber.clear();
            fiber.extend(block.iter().skip(start).step_by(inner));
            of(&mut fiber);
            for (number, new) in block.iter_mut().skip(start).step_by(inner).zip(&fiber) {
                *number = *new;
            }
        }
    }
}

/// Multiplies by `n I - 1 1^T` along each attribute of `n` categories: the residual of a table of counts, times all of them.
pub(super) fn contrasts(numbers: &mut [i128], sizes: &[usize]) {
    for (attribute, size) in sizes.iter().enumerate() {
        along(numbers, sizes, attribute, |fiber| {
            let sum: i128 = fiber.iter().sum();
            fiber.iter_mut().for_each(|number| *number = *size as i128 * *number - sum);
        });
    }
}

/// Projects to the residual: numbers of which each sum over one attribute is zero.
pub(super) fn project(numbers: &mut [f64], sizes: &[usize]) {
    for (attribute, size) in sizes.iter().enumerate() {
        along(numbers, sizes, attribute, |fiber| {
            let mean = fiber.iter().sum::<f64>() / *size as f64;
            fiber.iter_mut().for_each(|number| *number -= mean);
        });
    }
}

/// Returns the place of each cell of a table in one of some of its attributes: those that are kept.
pub(super) fn places_in(sizes: &[usize], kept: &[bool]) -> Vec<usize> {
    let mut places = vec![0];
    for (size, is_kept) in sizes.iter().zip(kept) {
        let longer = |place: &usize| {
            let (first, step) = if *is_kept { (place * size, 1) } else { (*place, 0) };
            (0..*size).map(move |category| first + step * category)
        };
        places = places.iter().flat_map(longer).collect();
    }
    places
}

/// Returns the sums of a table over the attributes that are not kept.
pub(super) fn sums(numbers: &[i128], sizes: &[usize], kept: &[bool]) -> Vec<i128> {
    let cells = sizes.iter().zip(kept).filter(|(_, is_kept)| **is_kept).map(|(size, _)| size).product();
    let mut sums = vec![0; cells];
    for (number, place) in numbers.iter().zip(places_in(sizes, kept)) {
        sums[place] += number;
    }
    sums
}

/// Adds a table of some attributes to one of more, each of its numbers `factor` times.
pub(super) fn spread(to: &mut [f64], sizes: &[usize], (from, kept, factor): (&[f64], &[bool], f64)) {
    for (number, place) in to.iter_mut().zip(places_in(sizes, kept)) {
        *number += from[place] * factor;
    }
}
