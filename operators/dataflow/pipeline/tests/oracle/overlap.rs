//! Windows that overlap, of one statistic alone: each is made of the one before by the records that come and go.

use super::*;

fn sliding(seed: u64) -> Case {
    let mut case = case(seed, &mut Random::new(seed));
    case.schedule = Schedule::sliding(span(40), span(4), 0, Some(HORIZON)).unwrap();
    case
}

fn count(total: &mut Three, records: u32) {
    *total = [total[0] + 1, total[1] + i128::from(records), 0];
}

// Refutes somebody whose records in the panes that a window lost or gained are of several keys, and who is taken for
// somebody of one key a pane.
#[test]
fn a_window_is_what_one_table_of_it_would_be() {
    for seed in 0..60 {
        let case = Arc::new(sliding(seed));
        let recorder = Recorder::new(PrivacyUnit::Person);
        let (asked, sealing) = (Arc::clone(&case), recorder.clone());
        let finished = run(&case.scripts, move |visits| {
            visits
                .protect(|visit: &Event| visit.0)
                .scheduled(asked.schedule.clone(), |visit| visit.3)
                .late_by(asked.late)
                .bound(asked.bound())
                .count_by(|v| v.1, Keys::discover(1e-3))
                .release_at(&sealing, "count", Exactly(Gaussian::rho(0.5)));
        });
        assert!(finished.is_ok(), "seed {seed}: {finished:?}");
        let expected = case.expect(Count, |_, event| Some((event.1, ())), count, three);
        assert_eq!(Recorder::exact(&recorder.sealed(), "count"), expected, "seed {seed}");
    }
}

// Refutes a record with an id that counts once in each pane in which it came: in a window it counts in one key.
#[test]
fn an_id_counts_once_in_a_window_of_several_panes() {
    for seed in 0..60 {
        let case = Arc::new(sliding(seed));
        let recorder = Recorder::new(PrivacyUnit::Person);
        let (asked, sealing) = (Arc::clone(&case), recorder.clone());
        let finished = run(&case.scripts, move |visits| {
            visits
                .protect(|visit: &Event| visit.0)
                .identified_by(|visit| visit.4 % 10)
                .scheduled(asked.schedule.clone(), |visit| visit.3)
                .late_by(asked.late)
                .bound(asked.bound())
                .count_by(|v| v.1, Keys::discover(1e-3))
                .release_at(&sealing, "count", Exactly(Gaussian::rho(0.5)));
        });
        assert!(finished.is_ok(), "seed {seed}: {finished:?}");
        let once = |_: &ContributionSelector, event: &Event| Some((event.1, (event.4 % 10, ())));
        let expected = case.expect(Identified::new(Count), once, count, three);
        assert_eq!(Recorder::exact(&recorder.sealed(), "count"), expected, "seed {seed}");
    }
}
