//! Records of nobody: each is bounded, identified and counted by itself.

use super::*;

// Refutes a record that is bounded with others, or that is counted by two workers.
#[test]
fn a_record_by_itself_counts_by_itself() {
    for seed in 0..120 {
        let mut random = Random::new(seed);
        let case = Arc::new(case(seed, &mut random));
        let recorder = Recorder::new(PrivacyUnit::Record);
        let (asked, sealing) = (Arc::clone(&case), recorder.clone());
        let finished = run(&case.scripts, move |visits| {
            let case = &asked;
            let noise = || Exactly(Gaussian::rho(0.5));
            let each = visits
                .protect_each()
                .scheduled(case.schedule.clone(), |visit: &Event| visit.3)
                .late_by(case.late)
                .one_by_one();
            each.clone().count_by(|v| v.1, Keys::public(0..9)).release_at(&sealing, "count", noise());
            each.mean_by(|v| v.1, Keys::discover(1e-3), |v| v.2, -40..=41).release_at(
                &sealing,
                "mean",
                noise(),
            );
        });
        assert!(finished.is_ok(), "seed {seed}: {finished:?}");
        let sealed = recorder.sealed();
        let range = Range::new(-40, 41).unwrap();
        let mut count = Tallies::new();
        let mut mean = Tallies::new();
        for window in (0..).map_while(|number| case.schedule.window(number)) {
            let (mut counts, mut means) = (BTreeMap::new(), BTreeMap::new());
            for event in case.in_time(window) {
                let key = event.1.to_string();
                let one: &mut Three = counts.entry(key.clone()).or_default();
                *one = [one[0] + 1, one[1] + 1, 0];
                let one: &mut Three = means.entry(key).or_default();
                *one = [one[0] + 1, one[1] + 1, one[2] + range.term(event.2)];
            }
            count.insert(window.start(), counts);
            mean.insert(window.start(), means);
        }
        assert_eq!(Recorder::exact(&sealed, "count"), count, "seed {seed}");
        assert_eq!(Recorder::exact(&sealed, "mean"), mean, "seed {seed}");
    }
}

// Refutes an id of a record that counts in two keys, or on two workers.
#[test]
fn an_id_by_itself_counts_once() {
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let case = Arc::new(case(seed, &mut random));
        let recorder = Recorder::new(PrivacyUnit::Record);
        let (asked, sealing) = (Arc::clone(&case), recorder.clone());
        let finished = run(&case.scripts, move |visits| {
            let case = &asked;
            visits
                .protect_each()
                .identified_by(|visit: &Event| visit.4 % 50)
                .scheduled(case.schedule.clone(), |visit| visit.3)
                .late_by(case.late)
                .one_by_one()
                .count()
                .release_at(&sealing, "count", Exactly(Gaussian::rho(0.5)));
        });
        assert!(finished.is_ok(), "seed {seed}: {finished:?}");
        let sealed = Recorder::exact(&recorder.sealed(), "count");
        for window in (0..).map_while(|number| case.schedule.window(number)) {
            let mut ids: Vec<u64> = case.in_time(window).iter().map(|event| event.4 % 50).collect();
            ids.sort_unstable();
            ids.dedup();
            let found = sealed[&window.start()].values().next().map_or(0, |cell| cell[1]);
            assert_eq!(found, ids.len() as i128, "seed {seed}, {window:?}");
        }
    }
}
