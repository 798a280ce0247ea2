//! Two neighbours, near every threshold: what an exchanged record may move, it moves no further.

use super::super::plan::moved;
use super::super::release::weighted;
use super::*;

/// What one side computes.
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
    let cores = levels.cores(records, dimension, levels.references(), pairs.len() as u64, &covariance);
    Side {
        first: good.score,
        both: both(good.score, Some(&cores), levels.k),
        mean: weighted(records, &cores.weights, &vec![0; dimension]),
        gram: covariance.gram,
    }
}

/// `v` by the inverse of the lower root of a Gram matrix of one or two axes.
fn whitened(gram: &[i128], v: &[f64]) -> Vec<f64> {
    let gram: Vec<f64> = gram.iter().map(|&entry| entry as f64).collect();
    let first = gram[0].sqrt();
    let one = v[0] / first;
    if v.len() == 1 {
        return vec![one];
    }
    let cross = gram[1] / first;
    vec![one, (v[1] - cross * one) / (gram[3] - cross * cross).sqrt()]
}

/// The eigenvalues of one covariance as the other sees it, less 1.
fn apart(one: &[i128], other: &[i128], dimension: usize) -> Vec<f64> {
    let columns: Vec<Vec<f64>> = other
        .chunks(dimension)
        .map(|row| whitened(one, &row.iter().map(|&entry| entry as f64).collect::<Vec<_>>()))
        .collect();
    let rows: Vec<Vec<f64>> = (0..dimension)
        .map(|axis| whitened(one, &columns.iter().map(|column| column[axis]).collect::<Vec<_>>()))
        .collect();
    if dimension == 1 {
        return vec![rows[0][0] - 1.0];
    }
    let (middle, half) = ((rows[0][0] + rows[1][1]) / 2.0, (rows[0][0] - rows[1][1]) / 2.0);
    let spread = half.hypot((rows[0][1] + rows[1][0]) / 2.0);
    vec![middle + spread - 1.0, middle - spread - 1.0]
}

/// Moves a pair until its leverage is near this.
fn plant(records: &mut [i64], dimension: usize, pair: usize, leverage: f64, toward: &mut Noise) {
    let m = records.len() / dimension / 2;
    let pairs = Pairs::of(records, dimension);
    let gram = pairs.gram((0..m).map(|each| u32::from(each != pair)));
    let way: Vec<f64> = (0..dimension).map(|_| toward.below(2001) as f64 - 1000.5).collect();
    let length: f64 = whitened(&gram, &way).iter().map(|value| value * value).sum::<f64>().sqrt();
    // With the pair itself in the sum, a form q becomes q / (1 + q).
    let wanted = leverage / m as f64;
    let scale = (wanted / (1.0 - wanted)).sqrt() / length;
    for axis in 0..dimension {
        let other = records[(pair + m) * dimension + axis];
        records[pair * dimension + axis] = other + (way[axis] * scale).round() as i64;
    }
}

#[test]
fn an_exchanged_record_moves_nothing_further_than_is_paid_for() {
    let rounds = if std::env::var_os("DISCREET_FULL").is_some() { 10_000 } else { 200 };
    let mut noise = Noise::seeded(77);
    let (mut told, mut farthest, mut widest, mut jumped) = (0, 0.0f64, 0.0f64, 0);
    let mut second = 0;
    for round in 0..rounds {
        let dimension = 1 + round % 2;
        let levels =
            Levels { k: 2 * (1 + noise.below(3) as u32), lambda: 11 * dimension as u64 + noise.below(5) };
        let m = (10 * u64::from(levels.k) * levels.lambda + noise.below(2)) as usize;
        let people = (2 * m + noise.below(2) as usize).max(levels.references());
        let mut records = gaussian(people, &vec![1e6; dimension], &vec![0; dimension], 1000 + round as u64);
        let m = people / 2;
        // All but a few pairs stay well inside; the few lie around the threshold.
        for value in &mut records {
            *value = (*value).clamp(-2_000_000, 2_000_000);
        }
        let planted = noise.below(u64::from(levels.k) + 2) as usize;
        let chance =
            |noise: &mut Noise| levels.lambda as f64 * (0.9 + 0.45 * noise.below(1000) as f64 / 1000.0);
        for pair in 0..planted {
            let leverage = chance(&mut noise);
            plant(&mut records, dimension, m - 1 - pair, leverage, &mut noise);
        }
        let mut other = records.clone();
        let exchanged = match noise.below(3) {
            0 => noise.below(people as u64) as usize,
            // One of the references, which all others are compared with.
            1 => noise.below(levels.references() as u64) as usize,
            _ => m - 1 - noise.below(planted.max(1) as u64) as usize,
        };
        if exchanged < m && noise.below(3) > 0 {
            let leverage = chance(&mut noise) * [1.0, 0.1, 100.0][noise.below(3) as usize % 3];
            plant(&mut other, dimension, exchanged, leverage.min(m as f64 / 2.0), &mut noise);
        } else {
            for axis in 0..dimension {
                other[exchanged * dimension + axis] = noise.below(40_000_000) as i64 - 20_000_000;
            }
        }
        let sides = [side(&levels, &records, dimension), side(&levels, &other, dimension)];
        let [one, two] = &sides;
        assert!(one.first.abs_diff(two.first) <= 2, "round {round}: first score");
        assert!(one.both.abs_diff(two.both) <= 2, "round {round}: larger score {} {}", one.both, two.both);
        jumped += u32::from(one.first != two.first);
        second += u32::from(one.both != two.both);
        if one.both >= levels.k || two.both >= levels.k {
            continue;
        }
        told += 1;
        let (over, under) = levels.gamma(m as u64);
        let gamma = over as f64 / under as f64;
        let moved = moved(&levels, people as u64);
        for (from, to) in [(one, two), (two, one)] {
            let apart = apart(&from.gram, &to.gram, dimension);
            let trace: f64 = apart.iter().map(|value| value.abs()).sum();
            assert!(trace <= gamma + gamma / (1.0 - gamma), "round {round}: trace {trace} of {gamma}");
            assert!(apart.iter().all(|&value| value >= -gamma), "round {round}: {apart:?} below {gamma}");
            widest = widest.max(trace / gamma);
            let way: Vec<f64> = from.mean.iter().zip(&to.mean).map(|(a, b)| a - b).collect();
            // The covariance is the sum over 2 m k.
            let lengthened = (2.0 * m as f64 * f64::from(levels.k)).sqrt();
            let length =
                whitened(&from.gram, &way).iter().map(|value| value * value).sum::<f64>().sqrt() * lengthened;
            assert!(length <= moved, "round {round}: mean {length} of {moved}");
            farthest = farthest.max(length / moved);
        }
    }
    // The thresholds are met: otherwise nothing is tested.
    assert!(told > rounds / 10 && jumped > 0 && second > 0, "{told} {jumped} {second}");
    assert!(widest > 0.1 && farthest > 0.01, "{widest} {farthest}");
}
