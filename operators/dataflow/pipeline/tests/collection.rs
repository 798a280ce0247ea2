//! Records that may be taken back.

use super::*;
use crate::accounting::PrivacyUnit;
use crate::dataflow::bounding::{Count, Net};

type Change = (Event, isize);

// Refutes a retraction that is ignored while its window is open, or obeyed once it has closed; a net below
// zero that takes from others; a change of a later time that is taken for one of now; and a bound before the
// net.
#[test]
fn what_was_taken_back_in_time_never_counted() {
    for seed in 0..120 {
        let mut random = Random::new(seed);
        let schedule = match random.below(2) {
            0 => Schedule::tumbling(span(20), 0, Some(HORIZON)),
            _ => Schedule::sliding(span(40), span(20), 0, Some(HORIZON)),
        };
        let schedule = schedule.unwrap();
        let mut changes: Vec<Change> = Vec::new();
        for event in events(&mut random) {
            for _ in 0..1 + random.below(3) {
                changes.push((event, random.pick(&[1, 1, -1, 2])));
            }
        }
        let scripts = divided(&mut random, &changes, [1, 2, 4][seed as usize % 3]);
        let recorder = Recorder::new(PrivacyUnit::Person);
        let (windows, sealing) = (schedule.clone(), recorder.clone());
        // What comes out may be of a later time than what went in.
        let delay = random.pick(&[0, 0, 15]);
        let finished = run(&scripts, move |changes: Fed<'_, Change>| {
            changes
                .collection(|visits| {
                    visits.filter(|visit| visit.1 != 3).consolidate().delay(move |time| time + delay)
                })
                .protect_collection(|visit| visit.0)
                .scheduled(windows.clone(), |visit| visit.3)
                .bound(Bound::keys(2).per_key(2))
                .count_by(|visit| visit.1, Keys::discover(1e-3))
                .release_at(&sealing, "count", Exactly(Gaussian::rho(0.5)));
        });
        assert!(finished.is_ok(), "seed {seed}: {finished:?}");

        let table = |selector| PersonTable::new(selector, Cap::new(2, 2).unwrap(), Net::new(Count));
        let all = given(&scripts);
        let fill = |window: Interval, table: &mut PersonTable<u64, u32, Net<Event, Count>>| {
            for (declared, (event, change)) in &all {
                if event.1 != 3
                    && (window.start()..window.end()).contains(&event.3)
                    && *declared + delay < window.end()
                {
                    table.add(event.0, &event.1, (*event, (), *change as i64));
                }
            }
        };
        let add = |total: &mut [i128; 3], records| {
            *total = [total[0] + 1, total[1] + i128::from(records), 0];
        };
        let expected: BTreeMap<Time, BTreeMap<String, [i128; 3]>> =
            tallied(&schedule, table, fill, |_| true, |total, records: u32| add(total, records))
                .into_iter()
                .map(|(start, keys)| {
                    (start, keys.into_iter().map(|(key, cell)| (key.to_string(), cell)).collect())
                })
                .collect();
        assert_eq!(Recorder::exact(&recorder.sealed(), "count"), expected, "seed {seed}");
    }
}
