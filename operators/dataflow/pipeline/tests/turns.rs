//! The order in which windows of several statistics are handed to the gate.

use super::*;
use crate::accounting::PrivacyUnit;
use crate::mechanisms::Exponential;
use crate::mechanisms::Grid;

/// The lateness of each statistic, and the length of its windows.
const STATISTICS: [(&str, i64, i64); 4] =
    [("total", 0, 10), ("count", 0, 20), ("median", 0, 30), ("late", 7, 20)];

fn release(recorder: &Recorder) -> impl Fn(Fed<'_, Event>) + Send + Sync + use<> {
    let recorder = recorder.clone();
    move |visits| {
        let people = |at: usize| {
            let (_, late, length) = STATISTICS[at];
            let windows = visits.clone().protect(|visit| visit.0).tumbling(span(length), |visit| visit.3);
            windows.between(0, HORIZON).late_by(late).bound(Bound::keys(2).per_key(3))
        };
        let noise = || Exactly(Gaussian::rho(0.5));
        people(0).count().running().release_at(&recorder, "total", noise());
        people(1).count_by(|v| v.1, Keys::discover(1e-3)).release_at(&recorder, "count", noise());
        let median = people(2).quantiles(|v: &Event| v.2, [0.5], Grid::linear(-40, 41, 1));
        median.release_at(&recorder, "median", Exactly(Exponential::rho(0.5)));
        people(3).people().release_at(&recorder, "late", noise());
    }
}

// Refutes an order by who is ready first, which is a matter of threads and of records; and one that waits for
// a statistic whose windows are all handed in.
#[test]
fn windows_are_handed_in_by_their_close_and_name() {
    let mut random = Random::new(11);
    let records = events(&mut random);
    let mut before = None;
    for time in 0..20 {
        for workers in [1, 2, 4] {
            // Other batches and other progress at each time; in the end the same records.
            let late = |(_, records): &(usize, Vec<Event>)| !records.is_empty();
            let mut scripts = vec![Script(Vec::new()); workers];
            let batches: Vec<Vec<Event>> =
                records.chunks(1 + random.below(9)).map(<[Event]>::to_vec).collect();
            for (batch, records) in batches.into_iter().enumerate().filter(late) {
                scripts[batch % workers].0.push((records, Pulled::More));
            }
            for (worker, script) in scripts.iter_mut().enumerate() {
                for step in 1..=(HORIZON / 5) {
                    script.0.push((Vec::new(), Pulled::Complete(5 * step - (worker as i64 + time) % 3)));
                }
            }
            let recorder = Recorder::new(PrivacyUnit::Person);
            let finished = run(&scripts, release(&recorder));
            assert!(finished.is_ok(), "{finished:?}");
            let sealed = recorder.sealed();
            let handed: Vec<(Time, String)> = sealed
                .iter()
                .map(|sealed| {
                    let name = sealed.release.name.as_str();
                    let (_, late, _) = STATISTICS.iter().find(|statistic| statistic.0 == name).unwrap();
                    (sealed.release.window.end() + late, name.to_owned())
                })
                .collect();
            let mut sorted = handed.clone();
            sorted.sort();
            assert_eq!(handed, sorted, "{workers} workers");
            assert_eq!(handed.len(), 12 + 6 + 4 + 6);
            assert_eq!(before.get_or_insert_with(|| sealed.clone()), &sealed, "{workers} workers");
        }
    }
}
