//! Months are those of a zone, and a month without records is released like the others.

use discreet::dataflow::{All, Calendar, Config, execute};
use discreet::gate::Gate;
use discreet::mechanisms::{Bound, Laplace};
use discreet::time::{Time, at};

use crate::scene::{JOB, Scratch, Visit, json, pure, write_down};

/// Midnight in Berlin at the start of each month of 2026 and the first of 2027: by hand, summer time begins
/// on March 29 and ends on October 25.
const MIDNIGHTS: [&str; 13] = [
    "2025-12-31T23:00:00Z",
    "2026-01-31T23:00:00Z",
    "2026-02-28T23:00:00Z",
    "2026-03-31T22:00:00Z",
    "2026-04-30T22:00:00Z",
    "2026-05-31T22:00:00Z",
    "2026-06-30T22:00:00Z",
    "2026-07-31T22:00:00Z",
    "2026-08-31T22:00:00Z",
    "2026-09-30T22:00:00Z",
    "2026-10-31T23:00:00Z",
    "2026-11-30T23:00:00Z",
    "2026-12-31T23:00:00Z",
];
/// July, without records.
const EMPTY: usize = 6;

// Refutes months of UTC or of a fixed offset, a record of midnight in the month before, and a month that is
// left out.
#[test]
fn a_year_of_months_in_berlin() {
    let midnights: Vec<Time> = MIDNIGHTS.iter().map(|moment| at(moment).unwrap()).collect();
    // In month m, m people at its first moment and one at its last; and one on either side of the year.
    let of_month = |month: usize| {
        let first = (0..month).map(|_| midnights[month]).collect::<Vec<_>>();
        first.into_iter().chain([midnights[month + 1] - 1])
    };
    let times = (0..12).filter(|month| *month != EMPTY).flat_map(of_month);
    let times = times.chain([midnights[0] - 1, midnights[12]]);
    let visits: Vec<Visit> = times.enumerate().map(|(person, time)| (person as u64, 0, 0, time, 0)).collect();

    let scratch = Scratch::new("calendar", &pure());
    let (gate, directory) = (Gate::open(scratch.ledger(), JOB).unwrap(), scratch.0.to_path_buf());
    let (from, until) = (midnights[0], midnights[12]);
    let finished = execute(Config::threads(2).unwrap(), move |worker, feeds| {
        let own: Vec<Visit> = visits.iter().copied().skip(worker.index()).step_by(2).collect();
        worker.dataflow(|scope| {
            let printed = feeds
                .stream(scope, All::of(own))
                .protect(|visit| visit.0)
                .windows(Calendar::months(1).in_zone("Europe/Berlin"), |visit| visit.3)
                .between(from, until)
                .bound(Bound::keys(1))
                .count()
                .release(&gate, "visits", Laplace::epsilon(80.0));
            write_down(printed.stream(), &directory);
        });
        Ok(())
    });
    assert_eq!(finished.unwrap().released(), 12);

    let lines = scratch.lines();
    assert_eq!(lines.len(), 24, "an answer a month, and a line that closes it");
    for (month, printed) in lines.chunks(2).enumerate() {
        let [answer, closing] = [json(&printed[0]), json(&printed[1])];
        for line in [&answer, &closing] {
            assert_eq!(line["window"]["start"], MIDNIGHTS[month]);
            assert_eq!(line["window"]["end"], MIDNIGHTS[month + 1]);
        }
        let came = if month == EMPTY { 0 } else { month as i64 + 1 };
        assert_eq!(answer["value"], came, "month {month}");
        assert_eq!(closing["cells"], 1);
    }
}
