use proptest::prelude::*;

use super::*;
use crate::mechanisms::answer::{
    Answer, Coordinate, DecimalPoint, Estimate, EstimateFormat, EstimatesPerKey, Noised, Ranks,
};
use crate::mechanisms::{Edges, Head, Quantile, ReleaseLines};

const HEAD: Head<'_> = Head {
    release: "visits",
    window: r#"{"start":"2026-11-01T00:00:00Z","end":"2026-11-01T00:10:00Z"}"#,
    id: "5f",
    promise: "lifetime, a person, rho 0.01",
    gaps: "",
};

fn answer<K, T: Copy>(cells: Vec<(K, [T; 3])>, noise: Vec<Noised>) -> Answer<K, T> {
    let estimate = |[low, value, high]: [T; 3]| Estimate::between(low, value, high);
    let cells = cells.into_iter().map(|(key, numbers)| (key, estimate(numbers))).collect();
    let format = EstimateFormat {
        noise,
        point: DecimalPoint::WHOLE,
        confidence: 0.9,
        each: EstimatesPerKey::One,
        of: None,
        bounded: true,
        found: None,
    };
    Answer { cells, format, room: None }
}

fn noise(number: &'static str, kind: &'static str, scale: f64) -> Noised {
    Noised::of(number, kind, scale)
}

fn read<K: Key, V: ReleasedValue>(
    answer: &Answer<K, impl crate::mechanisms::lines::AnswerNumber>,
) -> Vec<ReleasedCell<K, V>> {
    read_cells(&answer.lines(&HEAD)).unwrap()
}

proptest! {
    // Refutes a digit, a key or an end that is lost on the way to a line and back.
    #[test]
    fn a_total_is_what_was_drawn(cells: Vec<(String, [i128; 3])>, scale in 1e-3..1e9f64) {
        let cells: Vec<_> = cells.into_iter().enumerate().map(|(at, (key, numbers))| (format!("{key}{at}"), numbers)).collect();
        let released = read::<String, i128>(&answer(cells.clone(), vec![noise("people", "gaussian", scale)]));
        prop_assert_eq!(released.len(), cells.len());
        for (cell, (key, [low, value, high])) in released.iter().zip(&cells) {
            prop_assert_eq!((&cell.key, cell.low, cell.value, cell.high), (key, Some(*low), *value, Some(*high)));
            prop_assert_eq!((cell.confidence, cell.bounded, cell.insufficient), (0.9, true, false));
            prop_assert_eq!((&*cell.noise[0].kind, cell.noise[0].scale.to_bits()), ("gaussian", scale.to_bits()));
        }
    }

    // Refutes a float that is the nearest but one.
    #[test]
    fn a_mean_is_what_was_drawn(values in any::<[f64; 3]>().prop_filter("finite", |all| all.iter().all(|one| one.is_finite()))) {
        let laws = vec![noise("sum", "laplace", 35.1), noise("records", "laplace", 7.3)];
        let released = read::<i64, f64>(&answer(vec![(-7, values)], laws));
        let [cell] = &released[..] else { panic!() };
        let read = [cell.low.unwrap(), cell.value, cell.high.unwrap()].map(f64::to_bits);
        prop_assert_eq!(read, values.map(f64::to_bits));
        let numbers: Vec<_> = cell.noise.iter().map(|noise| (noise.number.as_deref(), noise.scale)).collect();
        prop_assert_eq!(numbers, [(Some("sum"), 35.1), (Some("records"), 7.3)]);
    }

    // Lines of another program must not make it panic.
    #[test]
    fn whatever_a_line_holds_it_is_cells_or_none(line in "\\PC*") {
        let _ = read_cells::<String, i128>(&line);
        let _ = read_cells::<u8, Array1<f64>>(&format!("{{\"release\":\"a\",\"window\":{{}},{line}}}"));
    }
}

// Refutes coordinates that are cells of their own, ones in another order, and a noise that is another coordinate's.
#[test]
fn a_vector_is_one_cell_a_key() {
    let laws =
        vec![noise("sum", "gaussian", 1.0), noise("sum", "gaussian", 2.0), noise("records", "gaussian", 3.0)];
    let mut vectors = answer(
        vec![(1u32, [0.5, 1.5, 2.5]), (1, [3.5, 4.5, 5.5]), (2, [6.5, 7.5, 8.5]), (2, [0.0, 0.0, 0.0])],
        laws,
    );
    let [price, weight] = ["price", "weight"].map(|name| Coordinate::named(name, DecimalPoint::WHOLE));
    vectors.format.each = EstimatesPerKey::Coordinates(vec![price, weight].into());
    let released = read::<u32, Array1<f64>>(&vectors);
    let values: Vec<_> = released
        .iter()
        .map(|cell| (cell.key, cell.value.to_vec(), cell.low.as_ref().unwrap().to_vec()))
        .collect();
    assert_eq!(values, [(1, vec![1.5, 4.5], vec![0.5, 3.5]), (2, vec![7.5, 0.0], vec![6.5, 0.0])]);
    assert_eq!(released[0].high.as_ref().map(|high| high.to_vec()), Some(vec![2.5, 5.5]));
    let scales: Vec<f64> = released[1].noise.iter().map(|noise| noise.scale).collect();
    assert_eq!(scales, [1.0, 2.0, 3.0]);
    // A stable mean has no interval.
    let open = vectors.lines(&HEAD).replace("\"interval\":[0.5,2.5]", "\"interval\":[null,null]");
    let released = read_cells::<u32, Array1<f64>>(&open).unwrap();
    assert_eq!((&released[0].low, &released[0].high, released[0].value[0]), (&None, &None, 1.5));
    assert!(released[1].low.is_some());
    // One number is no vector's.
    assert!(read_cells::<u32, f64>(&vectors.lines(&HEAD)).is_none());
}

// Refutes quantiles that lose their fraction or their rank error, and ones without an end above.
#[test]
fn quantiles_and_maxima_say_what_is_promised_of_their_ranks() {
    let quantile = |numerator, rank_error| {
        let ranks = Ranks::Within { quantile: Quantile::of(numerator, 20).unwrap(), rank_error };
        Noised { ranks: Some(ranks), ..noise("quantile", "exponential", 4.5) }
    };
    let mut quantiles =
        answer(vec![((), [1, 2, 3]), ((), [4, 5, 6])], vec![quantile(10, 7), quantile(19, 8)]);
    quantiles.format.each = EstimatesPerKey::Quantiles;
    let released = read::<(), Array1<i128>>(&quantiles);
    assert_eq!(released[0].value.to_vec(), [2, 5]);
    let ranks: Vec<_> = released[0].noise.iter().map(|noise| (noise.quantile, noise.rank_error)).collect();
    assert_eq!(ranks, [(Some(0.5), Some(7)), (Some(0.95), Some(8))]);
    let below = Ranks::Below { comparisons: Some(11), tau: 33, least: 9 };
    let mut largest = answer(
        vec![((), [9i128, 9, 9])],
        vec![Noised { ranks: Some(below), ..noise("largest", "gaussian", 2.0) }],
    );
    largest.cells[0].1 = largest.cells[0].1.open_above();
    let released = read::<(), i128>(&largest);
    assert_eq!((released[0].high, released[0].insufficient), (None, true));
    assert_eq!((released[0].noise[0].tau, released[0].noise[0].comparisons), (Some(33), Some(11)));
}

#[test]
fn what_a_total_leaves_out_is_said() {
    let mut total = answer(vec![("a".to_owned(), [1i128, 2, 3])], vec![noise("records", "gaussian", 2.0)]);
    total.format.of = Some("so far".into());
    let gaps = r#"[{"start":"1970-01-01T00:00:01Z","end":"1970-01-01T00:00:02Z"},{"start":"1970-01-01T00:00:03Z","end":null}]"#;
    let lines = total.lines(&Head { gaps, ..HEAD });
    let released = read_cells::<String, i128>(&lines).unwrap();
    let spans: Vec<_> = released[0].gaps.iter().map(|gap| (gap.start(), gap.end())).collect();
    assert_eq!(spans, [(1_000_000, 2_000_000), (3_000_000, i64::MAX)]);
}

// Refutes cells of other types that are taken for these.
#[test]
fn cells_of_other_types_are_none() {
    let bucket = Edges::new([0, 10]).unwrap().bucket(3);
    let lines = answer(vec![(bucket, [1i128, 2, 3])], vec![noise("people", "gaussian", 2.0)]).lines(&HEAD);
    assert_eq!(read_cells::<crate::mechanisms::Bucket, i128>(&lines).unwrap()[0].key, bucket);
    assert!(read_cells::<u32, i128>(&lines).is_none() && read_cells::<(), i128>(&lines).is_none());
    let lines = answer(vec![(300u64, [1.5, 2.5, 3.5])], vec![noise("people", "gaussian", 2.0)]).lines(&HEAD);
    assert!(read_cells::<u64, f64>(&lines).is_some());
    assert!(read_cells::<u8, f64>(&lines).is_none() && read_cells::<String, f64>(&lines).is_none());
    assert!(read_cells::<u64, i128>(&lines).is_none());
    assert_eq!(read_cells::<String, i128>("").unwrap(), []);
}
