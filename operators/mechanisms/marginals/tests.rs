#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use super::residuals::{contrasts, places_in, project, sums};
use super::*;
use crate::accounting::PrivacyCost;
use crate::mechanisms::{
    Answer, Bound, Gaussian, Head, Keys, Mechanism, Prepared, ReleaseLines, Tally, Total,
};
use crate::noise::NoiseSource;

type Counts = MarginalCounts<Vec<String>>;

fn attribute(name: &str, categories: usize) -> Attribute {
    Attribute::new(name, (0..categories).map(|category| format!("{name}{category}"))).unwrap()
}

pub(super) fn counts(bound: Bound, sizes: &[(&str, usize)], tables: &[&[&str]]) -> Counts {
    let attributes = sizes.iter().map(|(name, size)| attribute(name, *size));
    Counts::records(bound.checked().unwrap(), MarginalTables::new(attributes, tables).unwrap()).unwrap()
}

/// Age by country, and device: the workload of the reference.
fn published() -> Counts {
    counts(Bound::keys(1), &[("a", 10), ("c", 20), ("d", 5)], &[&["a", "c"], &["d"]])
}

fn key(texts: &[&str]) -> Vec<String> {
    texts.iter().map(ToString::to_string).collect()
}

/// The numbers of an answer, by the texts of their cells.
fn numbers(answer: &Answer<MarginalCell, f64>) -> BTreeMap<String, f64> {
    let number = |(cell, estimate): &(MarginalCell, crate::mechanisms::Estimate<f64>)| {
        (Vec::from(cell.clone()).join(","), estimate.value())
    };
    answer.cells().iter().map(number).collect()
}

/// All numbers of this length up to each size.
pub(super) fn odometer(sizes: &[usize]) -> Vec<Vec<usize>> {
    sizes.iter().fold(vec![Vec::new()], |lists, size| {
        lists.iter().flat_map(|list| (0..*size).map(|at| [&list[..], &[at]].concat())).collect()
    })
}

// Refutes a length that is left out, or is that of one cell alone: the records of one combination move a residual by exactly what is
// stated, whichever it is.
#[test]
fn a_record_moves_a_residual_by_what_is_stated() {
    let squared = |numbers: &[i128]| numbers.iter().map(|number| (number * number) as u128).sum::<u128>();
    for sizes in [vec![], vec![2], vec![5], vec![3, 2], vec![2, 4, 3]] {
        let of = |keys, per_key| {
            let limits = Bound::keys(keys).per_key(per_key).checked().unwrap();
            Sensitivity::each(&limits, u128::from(per_key)).unwrap().of_residual(&sizes).unwrap()
        };
        let (one, three) = (of(1, 1), of(2, 3));
        let cells: usize = sizes.iter().product();
        for cell in 0..cells {
            let moved = |records: i128| {
                let mut numbers = vec![0; cells];
                numbers[cell] = records;
                contrasts(&mut numbers, &sizes);
                numbers
            };
            let numbers = moved(1);
            assert_eq!(squared(&numbers), one.l2_squared(), "{sizes:?}");
            assert_eq!(numbers.iter().map(|number| number.unsigned_abs()).max(), Some(one.linf()));
            assert_eq!(numbers.iter().map(|number| number.unsigned_abs()).sum::<u128>(), one.l1());
            assert_eq!(numbers.len() as u128, one.l0());
            assert_eq!(squared(&moved(3)), three.l2_squared());
        }
    }
}

// Refutes a residual whose part of the price is not its own, all of which come to more or less than what is spent, and other
// variances than the published ones at a rho of .1.
#[test]
fn residuals_have_their_parts_of_the_price() {
    let prepared = Gaussian::rho(0.1).prepare(&published()).unwrap();
    // Variances of the residuals, not yet times the numbers of categories.
    for (residual, variance) in
        prepared.residuals.iter().zip([180.147_485, 115.350_673, 57.675_336, 36.477_086, 5.767_534])
    {
        let all: f64 = residual.sizes.iter().map(|size| *size as f64).product();
        let found = (residual.noise.deviation() / all).powi(2);
        assert!((found / variance - 1.0).abs() < 1e-6, "{found} {variance}");
    }
    for bound in [Bound::keys(1), Bound::keys(2).per_key(3)] {
        let counts = counts(bound, &[("a", 10), ("c", 20), ("d", 5)], &[&["a", "c"], &["d"]]);
        for gaussian in [Gaussian::rho(0.1), Gaussian::cost(&PrivacyCost::gaussian(0.447_213_595_5).unwrap())]
        {
            let prepared = gaussian.prepare(&counts).unwrap();
            let cost: f64 = (prepared.residuals.iter())
                .map(|residual| {
                    let one = counts.moved.of_residual(&residual.sizes).unwrap().l2_squared() as f64;
                    one / 2.0 / residual.noise.scale().powi(2)
                })
                .sum();
            let times = counts.tables.workload().design_for(counts.limits.keys()).times();
            assert!((1.0 - 1e-6..=1.0 + 1e-12).contains(&(cost * times / 0.1)), "{cost} {times}");
        }
    }
    // The error of a cell is that of the closed form, which is the least.
    let design = published().tables().workload().design();
    let tables = [10.0 * 20.0, 5.0];
    let square: f64 = prepared.deviations().iter().zip(tables).map(|(sd, cells)| sd * sd * cells).sum();
    let error = (square / tables.iter().sum::<f64>()).sqrt();
    assert!((error / design.least_error(0.1) - 1.0).abs() < 1e-6, "{error}");
    assert!((error - 2.5477).abs() < 1e-3, "{error}");
}

// Refutes a table that is put together otherwise than it is taken apart, a text of no category that is lost where there is another
// one, and one that is counted where there is none.
#[test]
fn tables_without_noise_are_the_counts() {
    let country = Attribute::new("country", ["DE", "FR", "other"]).unwrap();
    let tables = MarginalTables::new(
        [country, attribute("d", 2), attribute("h", 4)],
        &[&["country", "d"], &["h", "country"], &[], &["d"]],
    )
    .unwrap();
    let limits = Bound::keys(1).checked().unwrap();
    let records = |country: &str, device: &str, hour: &str| key(&[country, device, hour]);
    let said = [
        (records("DE", "d0", "h3"), 7u64),
        (records("FR", "d1", "h3"), 2),
        (records("PL", "d1", "h0"), 5),
        (records("IT", "d1", "h0"), 1),
        // No category.
        (records("DE", "none", "h0"), 100),
        (key(&["DE", "d0"]), 1_000),
    ];
    for counts_people in [false, true] {
        let counts = Counts::new(limits, tables.clone(), counts_people).unwrap();
        let prepared = Gaussian::rho(490.0).prepare(&counts).unwrap();
        let mut tally = prepared.tally();
        for (key, records) in &said {
            let combination = tables.combination(key).unwrap_or_default();
            let combination: Vec<String> = combination.into_iter().map(str::to_owned).collect();
            (0..*records).for_each(|_| tally.absorb((combination.clone(), counts.contribution(1, 0))));
            // A key that is no combination would count beside another one of its person.
            if *key != combination {
                tally.absorb((key.clone(), counts.contribution(1, 0)));
            }
        }
        let answer = prepared.draw(tally, None, &mut NoiseSource::seeded(1)).answer;
        let found = numbers(&answer);
        for (cell, number) in [
            ("country=DE,d=d0", 7.0),
            ("country=FR,d=d1", 2.0),
            ("country=other,d=d1", 6.0),
            ("country=FR,d=d0", 0.0),
            ("country=DE,h=h3", 7.0),
            ("country=other,h=h0", 6.0),
            ("country=other,h=h3", 0.0),
            ("", 15.0),
            ("d=d0", 7.0),
            ("d=d1", 8.0),
        ] {
            assert!((found[cell] - number).abs() < 0.25, "{cell} {}", found[cell]);
        }
        assert_eq!(found.len(), 3 * 2 + 3 * 4 + 1 + 2);
    }
}

// Refutes tables that disagree in their sums, cells whose deviation is another one than is stated, and intervals that hold less
// often than they say. Of 4,000 windows a variance is within 5 deviations of 2.2% each: any of 13 is not with a probability of 1e-5,
// and a factor of 1 - 1/n that is left out makes 15% of a variance. Shares of .9 have deviations of .5%.
#[test]
fn noise_has_the_stated_deviation_and_tables_agree() {
    for bound in [Bound::keys(1), Bound::keys(2).per_key(2)] {
        let counts = counts(bound, &[("a", 3), ("b", 4)], &[&["a", "b"], &["b"], &[]]);
        let prepared = Gaussian::rho(0.2).prepare(&counts).unwrap();
        let mut noise = NoiseSource::seeded(5);
        let windows = 4_000;
        let cells = [(0, 12), (12, 16), (16, 17)];
        let (mut squares, mut held) = (vec![0.0; 17], vec![0; 17]);
        for window in 0..windows {
            let mut tally = prepared.tally();
            let record = (key(&["a1", "b2"]), counts.contribution(1, 0));
            (0..9).for_each(|_| tally.absorb(record.clone()));
            let answer = prepared.draw(tally, None, &mut noise).answer;
            for (place, (cell, estimate)) in answer.cells().iter().enumerate() {
                let is_one = cell.categories().all(|(_, category)| ["a1", "b2"].contains(&category));
                let truth = if is_one { 9.0 } else { 0.0 };
                squares[place] += (estimate.value() - truth).powi(2);
                held[place] += u32::from((estimate.low()..=estimate.high().unwrap()).contains(&truth));
            }
            if window < 50 {
                let found = numbers(&answer);
                let sum = |of: &str| -> f64 {
                    found
                        .iter()
                        .filter(|(cell, _)| cell.contains(',') && cell.ends_with(of))
                        .map(|(_, n)| n)
                        .sum()
                };
                for category in ["b=b0", "b=b1", "b=b2", "b=b3"] {
                    assert!((found[category] - sum(category)).abs() < 1e-9, "{found:?}");
                }
                assert!((found[""] - sum("")).abs() < 1e-9, "{found:?}");
            }
        }
        for ((first, end), deviation) in cells.into_iter().zip(prepared.deviations()) {
            for place in first..end {
                let ratio = squares[place] / f64::from(windows) / deviation.powi(2);
                assert!((ratio - 1.0).abs() < 5.0 * 0.0224, "{place}: {ratio}");
                let share = f64::from(held[place]) / f64::from(windows);
                // The total has few steps, of which one is at the end of the interval.
                let most = if place == 16 { 0.96 } else { 0.9 + 5.0 * 0.0048 };
                assert!((0.9 - 5.0 * 0.0048..most).contains(&share), "{place}: {share}");
            }
        }
    }
}

// Refutes intervals of few steps that hold less often than they say, and one table of one attribute that errs more than the counts of
// its keys do at the same price.
#[test]
fn small_noise_is_bounded_and_one_table_is_no_worse() {
    let counts = counts(Bound::keys(1), &[("a", 2)], &[&["a"]]);
    let prepared = Gaussian::rho(8.0).prepare(&counts).unwrap();
    assert!(prepared.residuals.iter().any(|residual| residual.noise.deviation() < 1.0));
    let mut noise = NoiseSource::seeded(6);
    let windows = 2_000;
    let held = (0..windows).filter(|_| {
        let answer = prepared.draw(prepared.tally(), None, &mut noise).answer;
        let (_, estimate) = &answer.cells()[0];
        (estimate.low()..=estimate.high().unwrap()).contains(&0.0)
    });
    let share = held.count() as f64 / f64::from(windows);
    assert!(share > 0.9 && prepared.widths()[0] < 4.0 * prepared.deviations()[0], "{share}");

    for categories in [2, 7, 50] {
        let tables = MarginalTables::new([attribute("a", categories)], &[&["a"]]).unwrap();
        let limits = Bound::keys(1).checked().unwrap();
        let marginals =
            Gaussian::rho(0.1).prepare(&Counts::records(limits, tables).unwrap()).unwrap().deviations();
        let keys = Keys::public(0..categories as u64).unwrap();
        let plain = Gaussian::rho(0.1).prepare(&Total::count(limits, keys).unwrap()).unwrap();
        assert!(marginals[0] <= plain.noise()[0].scale() * (1.0 + 1e-9), "{categories}: {marginals:?}");
    }
}

// Refutes draws that depend on what is counted.
#[test]
fn neighbours_ask_for_the_same_noise() {
    let counts = counts(Bound::keys(1), &[("a", 3), ("b", 2)], &[&["a", "b"], &["a"]]);
    let prepared = Gaussian::rho(0.1).prepare(&counts).unwrap();
    let asked = |keys: &[Vec<String>]| {
        let mut noise = NoiseSource::recording(7);
        let mut tally = prepared.tally();
        keys.iter().for_each(|key| tally.absorb((key.clone(), counts.contribution(1, 0))));
        prepared.draw(tally, None, &mut noise);
        noise.requests().to_vec()
    };
    let nobody = asked(&[]);
    assert!(!nobody.is_empty());
    assert_eq!(asked(&[key(&["a1", "b0"])]), nobody);
    assert_eq!(asked(&[key(&["a1", "b0"]), key(&["nothing", "b0"])]), nobody);
}

// Refutes more records of a person than the bound, and none of whom counts.
#[test]
fn people_count_within_their_bound() {
    let counts = counts(Bound::keys(1).per_key(3), &[("a", 2)], &[&["a"]]);
    let number = |records| counts.number(&counts.contribution(records, 0));
    assert_eq!([number(0), number(2), number(3), number(100)], [0, 2, 3, 3]);
    let people = Counts::people(Bound::keys(1).checked().unwrap(), counts.tables().clone()).unwrap();
    assert_eq!([0, 1, 100].map(|records| people.number(&people.contribution(records, 0))), [0, 1, 1]);
}

// Refutes the price of a whole person for a part of one, of which others may take the place.
#[test]
fn a_part_of_a_person_is_two_steps() {
    let price = |bound| {
        let counts = counts(bound, &[("a", 2)], &[&["a"]]);
        let prepared = Gaussian::rho(0.1).prepare(&counts).unwrap();
        prepared.cost().partial().unwrap().rho_and_delta().unwrap().0.to_float_up()
    };
    assert!((price(Bound::keys(3)) - 0.4).abs() < 1e-9);
}

#[test]
fn what_is_no_table_is_refused_by_name() {
    let two = || [attribute("a", 2), attribute("b", 3)];
    let refused = |attributes: Vec<Attribute>, tables: &[&[&str]]| {
        let refused = MarginalTables::new(attributes, tables).unwrap_err();
        (refused.field().to_owned(), refused.to_string())
    };
    for (attributes, tables, field) in [
        (two().to_vec(), &[&["a", "c"][..]][..], "tables"),
        (two().to_vec(), &[&["a", "a"], &["b"]], "tables"),
        (two().to_vec(), &[&["a", "b"], &["b", "a"]], "tables"),
        (two().to_vec(), &[], "attributes"),
        (two().to_vec(), &[&["a"]], "attributes"),
        (vec![attribute("a", 2), attribute("a", 2)], &[&["a"]], "attributes"),
        (vec![attribute("a", 1_100_000)], &[&["a"]], "attributes"),
        (vec![attribute("a", 2_000), attribute("b", 2_000)], &[&["a", "b"]], "tables"),
    ] {
        let (found, text) = refused(attributes, tables);
        assert_eq!(found, field, "{text}");
    }
    let field = |attribute: Result<Attribute, Invalid>| attribute.unwrap_err().field().to_owned();
    assert_eq!(field(Attribute::new("", ["a", "b"])), "attribute");
    assert_eq!(field(Attribute::new("a=b", ["a", "b"])), "attribute");
    assert_eq!(field(Attribute::new("a", ["a"])), "categories");
    assert_eq!(field(Attribute::new("a", ["a", "b", "a"])), "categories");
    let pure = Gaussian::cost(&PrivacyCost::pure(1.0).unwrap());
    assert_eq!(pure.prepare(&published()).unwrap_err().field(), "delta");
}

// Refutes cells that are released under one name, other tables under one version, and lines that are not read again as they are.
#[test]
fn cells_are_released_by_their_categories() {
    let counts = counts(Bound::keys(1), &[("a", 2), ("b", 3)], &[&["a", "b"], &["b"], &[]]);
    let prepared = Gaussian::rho(0.1).prepare(&counts).unwrap();
    let answer = prepared.draw(prepared.tally(), None, &mut NoiseSource::seeded(1)).answer;
    let head = Head {
        release: "who",
        window: "{\"start\":\"2026-01-01T00:00:00Z\",\"end\":\"2026-01-02T00:00:00Z\"}",
        id: "5f",
        promise: "p",
        gaps: "",
    };
    let lines = answer.lines(&head);
    assert_eq!(lines.lines().count(), 6 + 3 + 1);
    let first = lines.lines().next().unwrap();
    assert!(first.contains("\"key\":[\"a=a0\",\"b=b0\"],\"value\":"), "{first}");
    let scale = |line: &str| {
        line.split_once("\"scale\":").unwrap().1.split_once('}').unwrap().0.parse::<f64>().unwrap()
    };
    let scales: Vec<f64> = lines.lines().map(scale).collect();
    let [pairs, single, all] = prepared.deviations()[..] else { panic!() };
    assert_eq!((scales[0], scales[5], scales[6], scales[9]), (pairs, pairs, single, all));
    let cells = crate::mechanisms::read_cells::<MarginalCell, f64>(&lines).unwrap();
    for (read, (cell, estimate)) in cells.iter().zip(answer.cells()) {
        assert_eq!((&read.key, read.value), (cell, estimate.value()));
        assert_eq!(MarginalCell::from_bytes(&cell.to_bytes()).as_ref(), Some(cell));
    }
    let names: Vec<(&str, &str)> = answer.cells()[4].0.categories().collect();
    assert_eq!(names, [("a", "a1"), ("b", "b1")]);
    let others = [
        counts.clone(),
        self::counts(Bound::keys(1), &[("a", 2), ("b", 3)], &[&["a", "b"], &["b"]]),
        self::counts(Bound::keys(1), &[("a", 2), ("b", 4)], &[&["a", "b"], &["b"], &[]]),
        self::counts(Bound::keys(2), &[("a", 2), ("b", 3)], &[&["a", "b"], &["b"], &[]]),
        Counts::people(Bound::keys(1).checked().unwrap(), counts.tables().clone()).unwrap(),
    ];
    let digest = |counts: &Counts| format!("{:?}", Gaussian::rho(0.1).prepare(counts).unwrap().parameters());
    let different: std::collections::BTreeSet<String> = others.iter().map(digest).collect();
    assert_eq!(different.len(), others.len());
}

// Refutes an order of cells that is not that of the sums, and a projection that is none.
#[test]
fn cells_are_in_the_order_of_their_attributes() {
    let sizes = [2, 3, 4];
    let numbers: Vec<i128> =
        odometer(&sizes).iter().map(|at| (100 * at[0] + 10 * at[1] + at[2]) as i128).collect();
    let of = sums(&numbers, &sizes, &[true, false, true]);
    for (place, at) in odometer(&[2, 4]).iter().enumerate() {
        assert_eq!(of[place], (3 * (100 * at[0] + at[1]) + 10 * 3) as i128);
    }
    assert_eq!(places_in(&sizes, &[false; 3]), vec![0; 24]);
    let mut once: Vec<f64> = (0..24).map(|number| f64::from(number * number % 7)).collect();
    project(&mut once, &sizes);
    let mut twice = once.clone();
    project(&mut twice, &sizes);
    assert!(once.iter().zip(&twice).all(|(once, twice)| (once - twice).abs() < 1e-12));
    assert!(once.chunks(4).all(|fiber| fiber.iter().sum::<f64>().abs() < 1e-12));
}
