//! Covering arrays: rows of option values in which every pair of values that rules allow occurs together.
//!
//! The construction is greedy, row by row, as in AETG (Cohen et al., 1997): a row starts with a pair that no
//! row has yet, and each further factor takes the value that adds the most such pairs, among those that can
//! still be completed.

use std::collections::BTreeSet;

/// An option, or a property of the data, with its values.
pub(crate) type Factor = (&'static str, &'static [&'static str]);

/// A combination that no row may have: one of the named values of each named factor.
pub(crate) type Combination = &'static [(&'static str, &'static [&'static str])];

/// Every choice of one value for each factor of a combination, by their numbers.
pub(crate) fn choices(factors: &[Factor], combination: Combination) -> Vec<Vec<(usize, usize)>> {
    let mut choices: Vec<Vec<(usize, usize)>> = vec![Vec::new()];
    for (name, values) in combination {
        let factor = factors.iter().position(|(factor, _)| factor == name).unwrap();
        let of = |value: &&str| factors[factor].1.iter().position(|known| known == value).unwrap();
        let with = |choice: &Vec<(usize, usize)>| {
            values
                .iter()
                .map(|value| [choice.as_slice(), &[(factor, of(value))]].concat())
                .collect::<Vec<_>>()
        };
        choices = choices.iter().flat_map(with).collect();
    }
    choices
}

/// A value for each factor, by its number.
pub(crate) type Values = Vec<usize>;

/// Two values of two factors: factor, value, later factor, value.
pub(crate) type Pair = (usize, usize, usize, usize);

/// The worth of a value of a factor beside the values that a row has so far.
pub(crate) type Gain<'a> = dyn FnMut(&[Option<usize>], usize, usize) -> u64 + 'a;

/// The factors of a model, and the combinations that are not allowed.
pub(crate) struct Space {
    factors: Vec<usize>,
    rules: Vec<Vec<(usize, Vec<usize>)>>,
    /// The rules that name a factor.
    naming: Vec<Vec<usize>>,
}

impl Space {
    pub(crate) fn new(factors: &[Factor], combinations: &[Combination]) -> Space {
        let number = |name: &str| {
            factors
                .iter()
                .position(|(factor, _)| *factor == name)
                .unwrap_or_else(|| panic!("no factor {name}"))
        };
        let values = |factor: usize, names: &[&str]| -> Vec<usize> {
            let (name, values) = factors[factor];
            let of = |value: &&str| values.iter().position(|known| known == value);
            names
                .iter()
                .map(|value| of(value).unwrap_or_else(|| panic!("no value {value} of {name}")))
                .collect()
        };
        let literal = |(name, names): &(&str, &[&str])| (number(name), values(number(name), names));
        let rules: Vec<Vec<_>> = combinations.iter().map(|rule| rule.iter().map(literal).collect()).collect();
        let naming = (0..factors.len()).map(|factor| {
            (0..rules.len()).filter(|rule| rules[*rule].iter().any(|(named, _)| *named == factor)).collect()
        });
        Space {
            naming: naming.collect(),
            factors: factors.iter().map(|(_, values)| values.len()).collect(),
            rules,
        }
    }

    /// Returns true if a rule forbids the values so far, of which this factor has the last one; the rule
    /// `free` is ignored.
    fn forbidden(&self, row: &[Option<usize>], factor: usize, free: Option<usize>) -> bool {
        let holds = |rule: &usize| {
            Some(*rule) != free
                && self.rules[*rule]
                    .iter()
                    .all(|(named, values)| row[*named].is_some_and(|value| values.contains(&value)))
        };
        self.naming[factor].iter().any(holds)
    }

    /// Returns true if a value can be given to a factor, and leaves one for each factor that shares a rule
    /// with it.
    fn fits(&self, row: &mut [Option<usize>], factor: usize, value: usize, free: Option<usize>) -> bool {
        row[factor] = Some(value);
        if self.forbidden(row, factor, free) {
            return false;
        }
        let neighbours: BTreeSet<usize> = (self.naming[factor].iter())
            .flat_map(|rule| self.rules[*rule].iter().map(|(named, _)| *named))
            .filter(|named| row[*named].is_none())
            .collect();
        neighbours.into_iter().all(|open| {
            let mut any = false;
            for value in 0..self.factors[open] {
                row[open] = Some(value);
                any |= !self.forbidden(row, open, free);
            }
            row[open] = None;
            any
        })
    }

    /// Completes a row, each factor with the value for which `gain` is largest; `None` if there is no such
    /// row.
    pub(crate) fn complete(
        &self,
        fixed: &[(usize, usize)],
        free: Option<usize>,
        gain: &mut Gain<'_>,
    ) -> Option<Values> {
        let mut row = vec![None; self.factors.len()];
        for (factor, value) in fixed {
            if !self.fits(&mut row, *factor, *value, free) {
                return None;
            }
        }
        // The factors with the most rules come first, so that a dead end shows early.
        let mut order: Vec<usize> = (0..row.len()).filter(|factor| row[*factor].is_none()).collect();
        order.sort_by_key(|factor| std::cmp::Reverse(self.naming[*factor].len()));
        let mut tries = 100_000;
        self.search(&mut row, &order, free, gain, &mut tries).then(|| row.into_iter().flatten().collect())
    }

    fn search(
        &self,
        row: &mut Vec<Option<usize>>,
        order: &[usize],
        free: Option<usize>,
        gain: &mut Gain<'_>,
        tries: &mut u32,
    ) -> bool {
        let Some((factor, rest)) = order.split_first() else { return true };
        let mut values: Vec<(u64, usize)> =
            (0..self.factors[*factor]).map(|value| (gain(row, *factor, value), value)).collect();
        values.sort_by_key(|(gain, value)| (std::cmp::Reverse(*gain), *value));
        for (_, value) in values {
            *tries = tries.saturating_sub(1);
            assert!(*tries > 0, "the rules of the model leave too few rows: {row:?}");
            if self.fits(row, *factor, value, free) && self.search(row, rest, free, gain, tries) {
                return true;
            }
            row[*factor] = None;
        }
        false
    }

    /// Every pair of values, allowed or not.
    fn pairs(&self) -> BTreeSet<Pair> {
        let mut pairs = BTreeSet::new();
        for (one, values) in self.factors.iter().enumerate() {
            for (other, others) in self.factors.iter().enumerate().skip(one + 1) {
                pairs.extend((0..*values).flat_map(|a| (0..*others).map(move |b| (one, a, other, b))));
            }
        }
        pairs
    }

    /// The rows that cover every allowed pair, then those for the allowed ones of further choices of values.
    pub(crate) fn array(&self, seed: u64, further: &[Vec<(usize, usize)>]) -> Vec<Values> {
        let mut random = crate::kit::Random(seed);
        let mut open = self.pairs();
        let mut rows: Vec<Values> = Vec::new();
        while !open.is_empty() {
            let start = usize::try_from(random.below(open.len() as u64)).unwrap_or(0);
            let (one, a, other, b) = *open.iter().nth(start).unwrap();
            let mut gain = |row: &[Option<usize>], factor: usize, value: usize| {
                let pairs = row
                    .iter()
                    .enumerate()
                    .filter_map(|(set, other)| Some(pair(set, (*other)?, factor, value)));
                // Ties are broken at random.
                pairs.filter(|pair| open.contains(pair)).count() as u64 * 64 + random.below(64)
            };
            match self.complete(&[(one, a), (other, b)], None, &mut gain) {
                Some(row) => {
                    open.retain(|(one, a, other, b)| row[*one] != *a || row[*other] != *b);
                    rows.push(row);
                }
                None => {
                    open.remove(&(one, a, other, b));
                }
            }
        }
        for choice in further {
            if !rows.iter().any(|row| choice.iter().all(|(factor, value)| row[*factor] == *value)) {
                rows.extend(self.complete(choice, None, &mut |_, _, _| random.below(64)));
            }
        }
        rows
    }
}

fn pair(one: usize, a: usize, other: usize, b: usize) -> Pair {
    if one < other { (one, a, other, b) } else { (other, b, one, a) }
}

/// The pairs of values that a row has.
pub(crate) fn pairs_of(row: &[usize]) -> impl Iterator<Item = Pair> + '_ {
    row.iter().enumerate().flat_map(move |(one, a)| {
        row.iter().enumerate().skip(one + 1).map(move |(other, b)| (one, *a, other, *b))
    })
}

// Refutes a generator that leaves out a pair of some allowed row, and one that makes a row which is not
// allowed: on spaces that are small enough to list every row.
#[test]
fn every_allowed_pair_is_covered() {
    const SMALL: &[Factor] = &[
        ("a", &["0", "1", "2"]),
        ("b", &["0", "1"]),
        ("c", &["0", "1", "2", "3"]),
        ("d", &["0", "1", "2"]),
        ("e", &["0", "1"]),
    ];
    const RULES: &[Combination] = &[
        &[("a", &["0"]), ("c", &["0", "1"])],
        &[("b", &["1"]), ("d", &["2"]), ("e", &["0"])],
        // Together the two rules exclude a = 2 without c = 3, which neither does alone.
        &[("a", &["2"]), ("c", &["3"]), ("e", &["0"])],
        &[("c", &["3"]), ("e", &["1"])],
    ];
    let mut random = crate::kit::Random(7);
    for case in 0..30 {
        let rules: Vec<Combination> =
            RULES.iter().filter(|_| case == 0 || random.below(2) == 0).copied().collect();
        let space = Space::new(SMALL, &rules);
        let mut all: Vec<Values> = vec![Vec::new()];
        for (_, values) in SMALL {
            all = all
                .iter()
                .flat_map(|row| (0..values.len()).map(|value| [row.as_slice(), &[value]].concat()))
                .collect();
        }
        let allowed = |row: &&Values| {
            let row: Vec<Option<usize>> = row.iter().copied().map(Some).collect();
            (0..row.len()).all(|factor| !space.forbidden(&row, factor, None))
        };
        let expected: BTreeSet<Pair> = all.iter().filter(allowed).flat_map(|row| pairs_of(row)).collect();
        let further = [vec![(0, 1), (2, 2), (3, 1)], vec![(0, 0), (2, 1), (3, 0)]];
        let rows = space.array(case, &further);
        let has = |choice: &Vec<(usize, usize)>, rows: &[Values]| {
            rows.iter().any(|row| choice.iter().all(|(factor, value)| row[*factor] == *value))
        };
        let all_allowed: Vec<Values> = all.iter().filter(allowed).cloned().collect();
        assert!(further.iter().all(|choice| has(choice, &rows) == has(choice, &all_allowed)));
        let found: BTreeSet<Pair> = rows.iter().flat_map(|row| pairs_of(row)).collect();
        assert_eq!(found, expected, "case {case}");
        assert!(rows.iter().all(|row| allowed(&row)));
        assert!(rows.len() <= 40, "{} rows for 12 pairs at the least", rows.len());
        assert_eq!(rows, space.array(case, &further), "the same seed has the same rows");
    }
}
