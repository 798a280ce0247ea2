use super::*;
use crate::noise::NoiseSource;

fn cell(people: u64, records: u64, sum: i128) -> Cell {
    Cell { people, records, sum }
}

// The oracle: a list that is sorted and added up. Any order, any division into parts, the same table.
#[test]
fn the_table_is_the_same_for_every_order_and_division() {
    let mut random = NoiseSource::seeded(1);
    for _ in 0..300 {
        let shares: Vec<(u32, Cell)> = (0..random.below(40))
            .map(|_| {
                let sum = i128::from(random.below(100)) - 50;
                (random.below(6) as u32, cell(1, random.below(5), sum))
            })
            .collect();
        let mut oracle: Vec<(u32, Cell)> = Vec::new();
        for key in 0..6 {
            let of_key: Vec<_> = shares.iter().filter(|share| share.0 == key).map(|share| share.1).collect();
            let sum = of_key.iter().map(|share| share.sum).sum();
            if !of_key.is_empty() {
                oracle.push((key, cell(of_key.len() as u64, of_key.iter().map(|c| c.records).sum(), sum)));
            }
        }
        let mut shuffled = shares.clone();
        for place in (1..shuffled.len()).rev() {
            shuffled.swap(place, random.below(place as u64 + 1) as usize);
        }
        // Some shares are added up before they travel.
        let mut exact = Cells::open();
        for part in shuffled.chunks(1 + random.below(4) as usize) {
            let mut before = Cells::open();
            part.iter().cloned().for_each(|share| before.absorb(share));
            before.into_map().into_iter().for_each(|part| exact.absorb(part));
        }
        assert_eq!(exact.into_map().into_iter().collect::<Vec<_>>(), oracle);
    }
}

#[test]
fn a_public_table_has_every_key_and_no_other() {
    let mut exact = Cells::of(&Arc::from([1u32, 3]));
    exact.absorb((2, cell(1, 1, 1)));
    exact.absorb((3, cell(1, 2, 4)));
    let cells: Vec<_> = exact.into_map().into_iter().collect();
    assert_eq!(cells, [(1, Cell::default()), (3, cell(1, 2, 4))]);
}

// Refutes a sum that saturates: it would depend on the order. And one that panics.
#[test]
fn sums_at_the_end_of_their_type_neither_fail_nor_depend_on_the_order() {
    let shares = [cell(u64::MAX, 1, i128::MAX), cell(1, u64::MAX, 1), cell(1, 1, -1), cell(0, 0, i128::MIN)];
    let total = |order: [usize; 4]| {
        let mut sum = Cell::default();
        order.iter().for_each(|&place| sum.add(&shares[place]));
        sum
    };
    assert_eq!(total([0, 1, 2, 3]), total([3, 2, 1, 0]));
    assert_eq!(total([0, 1, 2, 3]), total([1, 3, 0, 2]));
}

#[test]
fn parts_travel() {
    let part = ("a".to_owned(), cell(1, 2, -(1 << 100)));
    let bytes = serde_json::to_vec(&part).unwrap();
    assert_eq!(serde_json::from_slice::<(String, Cell)>(&bytes).unwrap(), part);
}

#[test]
fn nothing_of_a_tally_prints() {
    let mut exact = Cells::open();
    exact.absorb((77u32, cell(7, 7, 7)));
    assert_eq!(format!("{exact:?} {:?}", cell(7, 7, 7)), "<private> <private>");
}

#[test]
fn a_test_sees_people_records_and_sum() {
    let mut exact = Cells::open();
    exact.absorb((7u32, cell(1, 2, -3)));
    exact.absorb((5u32, cell(4, 5, 6)));
    assert_eq!(exact.exact_for_tests_of_the_library_itself(), [(5, vec![4, 5, 6]), (7, vec![1, 2, -3])]);
}
