//! Two neighbouring inputs, near every threshold: an exchanged record moves the results by no more than the
//! bounds.

use super::super::plan::moved;
use super::super::release::weighted;
use super::*;

/// The results of one of the two inputs.
struct Side {
    first: u32,
    both: u32,
    gram: Vec<i128>,
    mean: Vec<f64>,
}

fn side(levels: &Levels, records: &[i64], dimension: usize) -> Side {
    let pairs = Pairs::of(records, dimension);
    let good = levels.good(&pairs);
    let Some(covariance) = good.covariance else {
        return Side { first: good.score, both: levels.k, gram: vec![], mean: vec![] };
    };
    let cores = levels.cores_of(records, &pairs, &covariance);
    Side {
        first: good.score,
        both: good.score.max(cores.score),
        mean: weighted(records, &cores.weights, &vec![0; dimension]),
        gram: covariance.gram,
    }
}

/// Returns `v` times the inverse of the lower root of a Gram matrix, in floats.
fn whitened(gram: &[i128], v: &[f64]) -> Vec<f64> {
    let dimension = v.len();
    let mut root = vec![0.0; dimension * dimension];
    let mut white: Vec<f64> = Vec::new();
    for row in 0..dimension {
        for column in 0..=row {
            let inner: f64 =
                (0..column).map(|k| root[row * dimension + k] * root[column * dimension + k]).sum();
            let rest = gram[row * dimension + column] as f64 - inner;
            root[row * dimension + column] =
                if row == column { rest.sqrt() } else { rest / root[column * dimension + column] };
        }
        let inner: f64 = white.iter().enumerate().map(|(k, value)| root[row * dimension + k] * value).sum();
        white.push((v[row] - inner) / root[row * dimension + row]);
    }
    white
}

fn squares(v: &[f64]) -> f64 {
    v.iter().map(|value| value * value).sum()
}

/// Returns the eigenvalues of one covariance relative to the other, less 1, by rotations.
fn apart(one: &[i128], other: &[i128], dimension: usize) -> Vec<f64> {
    let columns: Vec<Vec<f64>> = other
        .chunks(dimension)
        .map(|row| whitened(one, &row.iter().map(|&entry| entry as f64).collect::<Vec<_>>()))
        .collect();
    let mut rows: Vec<Vec<f64>> = (0..dimension)
        .map(|axis| whitened(one, &columns.iter().map(|column| column[axis]).collect::<Vec<_>>()))
        .collect();
    for _ in 0..8 {
        for (p, q) in [(0, 1), (0, 2), (1, 2)].into_iter().filter(|&(_, q)| q < dimension) {
            let angle = 0.5 * (2.0 * rows[p][q]).atan2(rows[p][p] - rows[q][q]);
            let (sine, cosine) = angle.sin_cos();
            for row in &mut rows {
                (row[p], row[q]) = (cosine * row[p] + sine * row[q], cosine * row[q] - sine * row[p]);
            }
            let (over, under) = rows.split_at_mut(q);
            for (up, down) in over[p].iter_mut().zip(&mut under[0]) {
                (*up, *down) = (cosine * *up + sine * *down, cosine * *down - sine * *up);
            }
        }
    }
    (0..dimension).map(|axis| rows[axis][axis] - 1.0).collect()
}

/// Moves a pair until its leverage is near this.
fn plant(records: &mut [i64], dimension: usize, pair: usize, leverage: f64, toward: &mut NoiseSource) {
    let m = records.len() / dimension / 2;
    let pairs = Pairs::of(records, dimension);
    let gram = pairs.gram((0..m).map(|each| u32::from(each != pair)));
    let way: Vec<f64> = (0..dimension).map(|_| toward.below(2001) as f64 - 1000.5).collect();
    let length = squares(&whitened(&gram, &way)).sqrt();
    // With the pair itself in the sum, a form q becomes q / (1 + q).
    let wanted = leverage / m as f64;
    let scale = (wanted / (1.0 - wanted)).sqrt() / length;
    for axis in 0..dimension {
        let other = records[(pair + m) * dimension + axis];
        records[pair * dimension + axis] = other + (way[axis] * scale).round() as i64;
    }
}

/// Records well inside: either a few pairs, with `lambda` as little above the rest as possible, or Gaussian
/// ones with more room.
fn inside(
    levels: &Levels,
    people: usize,
    dimension: usize,
    tight: bool,
    noise: &mut NoiseSource,
) -> Vec<i64> {
    if !tight {
        let records = gaussian(people, &vec![1e6; dimension], &vec![0; dimension], noise.below(1 << 40));
        return records.into_iter().map(|x| x.clamp(-2_000_000, 2_000_000)).collect();
    }
    // All pairs have nearly the same length, in any direction, around one place.
    let mut records: Vec<i64> = (0..people * dimension).map(|_| noise.below(400_000) as i64).collect();
    let half = people / 2;
    for pair in 0..half {
        let way: Vec<f64> = (0..dimension).map(|_| noise.below(2001) as f64 - 1000.5).collect();
        let long = (0.8 + noise.below(1000) as f64 / 2500.0) * 1e6 / squares(&way).sqrt();
        for axis in 0..dimension {
            let other = records[(pair + half) * dimension + axis];
            records[pair * dimension + axis] = other + (way[axis] * long) as i64;
        }
    }
    assert!(levels.lambda >= dimension as u64);
    records
}

/// The largest observed changes, over the allowed ones.
#[derive(Debug, Default)]
struct Most {
    score: u32,
    trace: f64,
    lowest: f64,
    mean: f64,
    released: u32,
    first: u32,
    both: u32,
}

fn compare(round: u64, noise: &mut NoiseSource, most: &mut Most) {
    let dimension = 1 + round as usize % 3;
    let tight = noise.below(2) == 0;
    let room = if tight { 2 * dimension as u64 + noise.below(3) } else { 11 * dimension as u64 };
    let levels = Levels { k: 2 + noise.below(5) as u32, lambda: room };
    let m = 10 * u64::from(levels.k) * levels.lambda + noise.below(2);
    let people = ((2 * m + noise.below(2)) as usize).max(levels.references());
    let mut records = inside(&levels, people, dimension, tight, noise);
    let m = people / 2;
    let planted = noise.below(u64::from(levels.k) + 2) as usize;
    let near =
        |noise: &mut NoiseSource| levels.lambda as f64 * (0.9 + 0.45 * noise.below(1000) as f64 / 1000.0);
    for pair in 0..planted {
        let leverage = near(noise);
        plant(&mut records, dimension, m - 1 - pair, leverage, noise);
    }
    let mut other = records.clone();
    let exchanged = match noise.below(3) {
        0 => noise.below(people as u64) as usize,
        // One of the references, which all other records are compared with.
        1 => noise.below(levels.references() as u64) as usize,
        _ => m - 1 - noise.below(planted.max(1) as u64) as usize,
    };
    if exchanged < m && noise.below(3) > 0 {
        let leverage = near(noise) * [1.0, 0.1, 100.0][noise.below(3) as usize % 3];
        plant(&mut other, dimension, exchanged, leverage.min(m as f64 / 2.0), noise);
    } else {
        for axis in 0..dimension {
            other[exchanged * dimension + axis] = noise.below(40_000_000) as i64 - 20_000_000;
        }
    }
    let sides = [side(&levels, &records, dimension), side(&levels, &other, dimension)];
    let [one, two] = &sides;
    most.score = most.score.max(one.first.abs_diff(two.first)).max(one.both.abs_diff(two.both));
    assert!(most.score <= 2, "round {round}: {} {} {} {}", one.first, two.first, one.both, two.both);
    most.first += u32::from(one.first != two.first);
    most.both += u32::from(one.both != two.both);
    if one.both >= levels.k || two.both >= levels.k {
        return;
    }
    most.released += 1;
    let (over, under) = levels.gamma(m as u64);
    let gamma = over as f64 / under as f64;
    let allowed = moved(&levels, people as u64);
    for (from, to) in [(one, two), (two, one)] {
        let apart = apart(&from.gram, &to.gram, dimension);
        let trace: f64 = apart.iter().map(|value| value.abs()).sum();
        most.trace = most.trace.max(trace / (gamma + gamma / (1.0 - gamma)));
        let lowest = apart.iter().fold(0.0, |least: f64, value| least.max(-value));
        most.lowest = most.lowest.max(lowest / gamma);
        let way: Vec<f64> = from.mean.iter().zip(&to.mean).map(|(a, b)| a - b).collect();
        // The covariance is the sum over 2 m k.
        let lengthened = (2.0 * m as f64 * f64::from(levels.k)).sqrt();
        most.mean = most.mean.max(squares(&whitened(&from.gram, &way)).sqrt() * lengthened / allowed);
        assert!(most.trace <= 1.0 && most.lowest <= 1.0 && most.mean <= 1.0, "round {round}: {most:?}");
    }
}

#[test]
#[allow(clippy::print_stdout)]
fn an_exchanged_record_moves_nothing_further_than_is_paid_for() {
    let rounds = crate::noise::goodness::size(200, 10_000) as u64;
    let mut noise = NoiseSource::seeded(77);
    let mut most = Most::default();
    (0..rounds).for_each(|round| compare(round, &mut noise, &mut most));
    println!("{most:?}");
    // The thresholds are reached: otherwise nothing is tested.
    assert!(u64::from(most.released) > rounds / 10 && most.first > 0 && most.both > 0, "{most:?}");
    assert!(most.score > 0 && most.trace > 0.1 && most.mean > 0.05, "{most:?}");
}
