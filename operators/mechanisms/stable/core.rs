//! The cores: at every level, the records near most of a few references that were chosen beforehand, and the
//! weight that each record gets for it. The good sets of pairs, from which the covariance comes, are below.
//!
//! A record is in the core of a level if at least `|R| - level` of the references lie within the level's
//! radius: `(x - x')' S^-1 (x - x') / 2 <= radius`. The radii grow by a factor of `1 / (1 - gamma)` a level
//! or a little more: they are whole multiples of 2^-32, each rounded up, so that the next level still holds
//! every record that one exchanged record may move out of this one.

use super::gram::{FormBounds, GramMatrix};

/// The inverse of the grid of radii: they are whole multiples of `1 / GRAIN`.
const GRAIN: u128 = 1 << 32;

/// The radius of each level, up to the top.
#[derive(Clone, Debug)]
pub(super) struct Radii(Vec<u128>);

/// The score and the weights of the records by their distances from the references. Secret, since they depend
/// on single records: never printed.
pub(super) struct Cores {
    /// The score, at most `k`.
    pub(super) score: u32,
    /// The number of the upper `k` cores that contain each record.
    pub(super) weights: Vec<u32>,
}

impl Levels {
    /// Returns `gamma = 20 lambda / (7 m)`, for `m` pairs, as numerator and denominator.
    pub(super) fn gamma(&self, pairs: u64) -> (u128, u128) {
        (20 * u128::from(self.lambda), 7 * u128::from(pairs))
    }

    /// Returns the radii for this number of pairs, which is at least `10 k lambda`, so that `gamma` is below
    /// a third.
    pub(super) fn radii(&self, pairs: u64) -> Radii {
        let (over, under) = self.gamma(pairs);
        let first = u128::from(self.lambda) * GRAIN;
        let radii = std::iter::successors(Some(first), |radius| {
            Some((radius * under).div_ceil(under.saturating_sub(over).max(1)))
        });
        Radii(radii.take(self.top() as usize + 1).collect())
    }

    /// Returns the cores of every level. The first records are the references: the caller has put the records
    /// in random order.
    pub(super) fn cores(
        &self,
        records: &[i64],
        dimension: usize,
        references: usize,
        pairs: u64,
        covariance: &Covariance,
    ) -> Cores {
        let radii = self.radii(pairs);
        let near = CovarianceView::of(
            records,
            dimension,
            references,
            u128::from(pairs) * u128::from(self.k),
            covariance,
        );
        let people = records.len() / dimension;
        let mut inside = vec![0usize; self.top() as usize + 1];
        let mut weights = Vec::with_capacity(people);
        for person in 0..people {
            let level = near.level(person, self.top(), &radii);
            if let Some(count) = inside.get_mut(level as usize) {
                *count += 1;
            }
            weights.push(self.top().saturating_add(1).saturating_sub(level.max(self.k + 1)));
        }
        let mut held = 0;
        let mut score = self.k;
        for level in 0..=self.k {
            held += inside[level as usize];
            score = score.min(u32::try_from(people - held).unwrap_or(u32::MAX).saturating_add(level));
        }
        Cores { score, weights }
    }
}

impl Radii {
    /// Returns the largest radius, rounded up.
    pub(super) fn last(&self) -> f64 {
        self.0.last().map_or(0.0, |radius| *radius as f64 / GRAIN as f64 * (1.0 + 1e-14))
    }

    fn at(&self, level: usize) -> f64 {
        self.0[level] as f64 / GRAIN as f64
    }
}

/// All records, in the coordinates in which the covariance is the identity.
struct CovarianceView<'a> {
    records: &'a [i64],
    dimension: usize,
    references: usize,
    /// The factor from `v' G^-1 v` to a distance: half of `2 m k`.
    times: u128,
    covariance: &'a Covariance,
    whitened: Vec<f64>,
    errors: Vec<f64>,
    /// A point among the references, the largest distance of a reference from it, and the largest of their
    /// errors.
    middle: Vec<f64>,
    farthest: f64,
    error: f64,
}

fn length(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

impl<'a> CovarianceView<'a> {
    fn of(
        records: &'a [i64],
        dimension: usize,
        references: usize,
        times: u128,
        covariance: &'a Covariance,
    ) -> CovarianceView<'a> {
        // Relative to the first record, so that coordinates far from zero lose no digits.
        let from = &records[..dimension];
        let mut whitened = vec![0.0; records.len()];
        let mut away = vec![0; dimension];
        let errors = records.chunks(dimension).zip(whitened.chunks_mut(dimension)).map(|(record, into)| {
            away.iter_mut().zip(record).zip(from).for_each(|((away, &x), &from)| *away = x - from);
            covariance.shape.whitened(&away, into)
        });
        let errors: Vec<f64> = errors.collect();
        let mut middle = vec![0.0; dimension];
        for place in whitened.chunks(dimension).take(references) {
            middle.iter_mut().zip(place).for_each(|(sum, x)| *sum += x / references as f64);
        }
        let reaches = whitened.chunks(dimension).take(references).map(|place| length(place, &middle));
        let farthest = reaches.fold(0.0, f64::max);
        let error = errors.iter().take(references).copied().fold(0.0, f64::max);
        CovarianceView {
            records,
            dimension,
            references,
            times,
            covariance,
            whitened,
            errors,
            middle,
            farthest,
            error,
        }
    }

    /// Returns the lowest level whose core contains a record, or one past the top.
    fn level(&self, person: usize, top: u32, radii: &Radii) -> u32 {
        let place = |index: usize| &self.whitened[index * self.dimension..(index + 1) * self.dimension];
        let own = place(person);
        // By the triangle inequality through the middle, no reference is farther. Most records are near all
        // of them.
        let far = length(own, &self.middle) + self.farthest;
        let all = self.covariance.shape.between(far, self.error + self.errors[person]);
        if all.high * self.times as f64 * (1.0 + 1e-14) <= radii.at(0) {
            return 0;
        }
        // The number of references that come within the radius at each level.
        let mut coming = vec![0usize; top as usize + 2];
        for other in 0..self.references {
            let error = self.errors[other] + self.errors[person];
            let known = self.covariance.shape.between(length(own, place(other)), error);
            coming[self.reached(person, other, known, top as usize, radii)] += 1;
        }
        let mut within = 0;
        for level in 0..=top {
            within += coming[level as usize];
            if within + level as usize >= self.references {
                return level;
            }
        }
        top + 1
    }

    /// Returns the lowest level whose radius holds the distance of two records.
    fn reached(&self, person: usize, other: usize, known: FormBounds, top: usize, radii: &Radii) -> usize {
        let times = self.times as f64;
        let (low, high) = (known.low * times * (1.0 - 1e-14), known.high * times * (1.0 + 1e-14));
        // The radius of `last` surely holds the distance; those below `first` surely do not.
        let (mut first, mut last) = (
            radii.0.partition_point(|&radius| (radius as f64 / GRAIN as f64) < low * (1.0 - 1e-14)),
            radii.0.partition_point(|&radius| (radius as f64 / GRAIN as f64) < high * (1.0 + 1e-14)),
        );
        if first == last {
            return last.min(top + 1);
        }
        let place = |index: usize| &self.records[index * self.dimension..(index + 1) * self.dimension];
        let apart: Vec<i64> = place(person).iter().zip(place(other)).map(|(a, b)| a - b).collect();
        while first < last {
            let middle = first + (last - first) / 2;
            if self.covariance.shape.exceeds(&apart, self.times, radii.0[middle], GRAIN) {
                first = middle + 1;
            } else {
                last = middle;
            }
        }
        last
    }
}

// The good sets: at every level, the pairs of records with no outliers among them, and the covariance of
// these pairs.
//
// A set of pairs is good at `lambda` if no pair in it has a larger leverage: `y' S^-1 y <= lambda`, with `S`
// the sum of `y y'` over the set, over the number of *all* pairs. The largest good set is unique: a pair that
// is removed from a superset of a good set is not in the good set, for its leverage there would be larger
// still. Levels are nested, and the search for one starts from the set above.
//
// With `u = x - x'` as integers, `y = u / sqrt 2` and `G` the sum of `u u'` over the set,
// `y' S^-1 y = m u' G^-1 u`; so a level tests `m u' G^-1 u > 10 k lambda / (10 k - level)`, and integers
// decide.

/// The parameters of the levels, all of them public.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Levels {
    /// The cap of both scores, even.
    pub(super) k: u32,
    /// The leverage that level zero allows.
    pub(super) lambda: u64,
}

/// The pairs of records, as their differences. Secret, like all that is derived from it here: none of it can
/// be printed.
pub(super) struct Pairs {
    pub(super) dimension: usize,
    pub(super) differences: Vec<i64>,
}

/// The covariance, on which two neighbouring inputs nearly agree.
pub(super) struct Covariance {
    /// The sum of `weight u u'`: the covariance, times `2 m k`.
    pub(super) shape: GramMatrix,
    /// The same sum, in integers.
    #[cfg(test)]
    pub(super) gram: Vec<i128>,
    /// The number of the upper `k` good sets that contain each pair.
    pub(super) weights: Vec<u32>,
}

/// The score of the sizes of the good sets of all levels, and their covariance.
pub(super) struct GoodSets {
    /// The score, at most `k`.
    pub(super) score: u32,
    /// The covariance, if the score is below `k`.
    pub(super) covariance: Option<Covariance>,
}

impl Pairs {
    /// Pairs record `i` with record `i + m`.
    pub(super) fn of(records: &[i64], dimension: usize) -> Pairs {
        let half = records.len() / dimension / 2 * dimension;
        let (first, second) = (records.iter().take(half), records.iter().skip(half));
        Pairs { dimension, differences: first.zip(second).map(|(a, b)| a - b).collect() }
    }

    pub(super) fn len(&self) -> usize {
        self.differences.len() / self.dimension
    }

    fn each(&self) -> impl Iterator<Item = &[i64]> {
        self.differences.chunks(self.dimension)
    }

    /// Returns the sum of `weight u u'`.
    pub(super) fn gram(&self, weights: impl Iterator<Item = u32>) -> Vec<i128> {
        let dimension = self.dimension;
        let mut gram = vec![0i128; dimension * dimension];
        for (u, weight) in self.each().zip(weights).filter(|(_, weight)| *weight > 0) {
            for (row, &left) in u.iter().enumerate() {
                let left = i128::from(left) * i128::from(weight);
                for (sum, &right) in gram[row * dimension..=row * dimension + row].iter_mut().zip(u) {
                    *sum += left * i128::from(right);
                }
            }
        }
        for row in 0..dimension {
            for column in row + 1..dimension {
                gram[row * dimension + column] = gram[column * dimension + row];
            }
        }
        gram
    }
}

impl Levels {
    /// The number of levels above level zero.
    pub(super) fn top(&self) -> u32 {
        2 * self.k
    }

    /// The number of references that the other records are compared with.
    pub(super) fn references(&self) -> usize {
        6 * self.k as usize + 64
    }

    /// Returns the leverage that a level allows, as a fraction.
    pub(super) fn allows(&self, level: u32) -> (u128, u128) {
        let tenfold = 10 * u128::from(self.k);
        (tenfold * u128::from(self.lambda), tenfold - u128::from(level))
    }

    /// Computes the good sets of every level, from the widest down.
    pub(super) fn good(&self, pairs: &Pairs) -> GoodSets {
        self.good_by(pairs, &GramMatrix::of)
    }

    pub(super) fn good_by(
        &self,
        pairs: &Pairs,
        shape_of: &dyn Fn(Vec<i128>, usize) -> Option<GramMatrix>,
    ) -> GoodSets {
        let all = pairs.len();
        let mut kept = vec![true; all];
        // For each pair, the number of levels above `k` whose good set contains it.
        let mut weights = vec![0u32; all];
        let mut score = self.k;
        let mut sweep = None;
        let mut size = all;
        for level in (0..=self.top()).rev() {
            loop {
                if size == 0 {
                    break;
                }
                let current: &LeverageSweep =
                    sweep.get_or_insert_with(|| LeverageSweep::of(pairs, &kept, shape_of));
                let Some(leaving) = current.leaving(pairs, &kept, self.allows(level)) else {
                    // The rank is not full: no set is good at this level or below.
                    kept.fill(false);
                    size = 0;
                    break;
                };
                if leaving.is_empty() {
                    break;
                }
                size -= leaving.len();
                leaving.into_iter().for_each(|pair| kept[pair] = false);
                sweep = None;
            }
            if level > self.k {
                kept.iter().zip(&mut weights).for_each(|(&kept, weight)| *weight += u32::from(kept));
            } else {
                let missing = u32::try_from(all - size).unwrap_or(u32::MAX).saturating_add(level);
                score = score.min(missing);
            }
        }
        let covariance = (score < self.k).then(|| pairs.gram(weights.iter().copied())).and_then(|gram| {
            #[cfg(test)]
            let copy = gram.clone();
            let shape = shape_of(gram, pairs.dimension)?;
            Some(Covariance {
                shape,
                #[cfg(test)]
                gram: copy,
                weights,
            })
        });
        GoodSets { score, covariance }
    }
}

/// The leverages of the pairs of one set, without the factor `m`; no leverages if the rank of the set is not
/// full.
struct LeverageSweep {
    shape: Option<GramMatrix>,
    leverages: Vec<FormBounds>,
    most: f64,
}

impl LeverageSweep {
    fn of(
        pairs: &Pairs,
        kept: &[bool],
        shape_of: &dyn Fn(Vec<i128>, usize) -> Option<GramMatrix>,
    ) -> LeverageSweep {
        let gram = pairs.gram(kept.iter().map(|&kept| u32::from(kept)));
        let Some(shape) = shape_of(gram, pairs.dimension) else {
            return LeverageSweep { shape: None, leverages: Vec::new(), most: 0.0 };
        };
        let mut whitened = vec![0.0; pairs.dimension];
        let mut most = 0.0f64;
        let leverages = pairs.each().zip(kept).map(|(u, &kept)| {
            if !kept {
                return FormBounds { low: 0.0, high: 0.0 };
            }
            let error = shape.whitened(u, &mut whitened);
            let length = whitened.iter().map(|value| value * value).sum::<f64>().sqrt();
            let between = shape.between(length, error);
            most = most.max(between.high);
            between
        });
        LeverageSweep { leverages: leverages.collect(), shape: Some(shape), most }
    }

    /// Returns the pairs whose leverage is above the allowed one, or `None` if the rank is not full.
    fn leaving(&self, pairs: &Pairs, kept: &[bool], (over, under): (u128, u128)) -> Option<Vec<usize>> {
        let shape = self.shape.as_ref()?;
        let times = pairs.len() as u128;
        let allowed = over as f64 / under as f64 / times as f64;
        let (surely, perhaps) = (allowed * (1.0 - 1e-14), allowed * (1.0 + 1e-14));
        let mut leaving = Vec::new();
        if self.most <= surely {
            return Some(leaving);
        }
        for (pair, u) in pairs.each().enumerate().filter(|(pair, _)| kept[*pair]) {
            let FormBounds { low, high } = self.leverages[pair];
            let leaves = if high <= surely {
                false
            } else if low > perhaps {
                true
            } else {
                shape.exceeds(u, times, over, under)
            };
            if leaves {
                leaving.push(pair);
            }
        }
        Some(leaving)
    }
}
