//! What one person more or less changes in an answer.

use super::*;

// Refutes an answer that one person moves by more than was said, in any version, and a question that is
// answered or not because of who is there.
#[test]
fn one_person_moves_every_answer_by_no_more_than_was_said() {
    let mut reached = [0i128; 2];
    for seed in 0..200 {
        let mut random = Random::new(seed);
        let case = Case { per_key: 2, ..case(seed, &mut random) };
        let records = events(&mut random);
        let target = random.below(4) as u64;
        let scripts = divided(&mut random, &records, case.workers);
        let without: Vec<Script<Event>> = scripts
            .iter()
            .map(|script| {
                let others = |(records, word): &(Vec<Event>, Pulled)| {
                    (records.iter().filter(|event| event.0 != target).copied().collect(), *word)
                };
                Script(script.0.iter().map(others).collect())
            })
            .collect();
        let together = random.below(2) == 0;
        let [(one, unanswered), (other, same)] = [scripts, without].map(|scripts| {
            let (recorder, schedule, late) =
                (Recorder::new(PrivacyUnit::Person), case.schedule.clone(), case.late);
            let sealing = recorder.clone();
            let (finished, unanswered) = asked(&scripts, &case.asks, move |visits, questions| {
                visits
                    .protect(|visit: &Event| visit.0)
                    .scheduled(schedule.clone(), |visit| visit.3)
                    .late_by(late)
                    .bound(Bound::keys(1).per_key(2))
                    .answer(schema(), row, questions)
                    .kept_for_tests_of_the_library_itself(together)
                    .release_at(&sealing, "questions", Exactly::new())
            });
            assert!(finished.is_ok(), "seed {seed}: {finished:?}");
            (released(&recorder), unanswered)
        });
        assert_eq!(unanswered, same);
        assert_eq!(one.len(), other.len());
        for ((id, one), (same, other)) in one.iter().zip(&other) {
            assert_eq!((id, one[0]), (same, other[0]), "another version was asked");
            let moved = [(one[1] - other[1]).abs(), (one[2] - other[2]).abs()];
            assert!(moved[0] <= 2 && moved[1] <= 2 << 20, "seed {seed}: {moved:?}");
            reached = [reached[0].max(moved[0]), reached[1].max(moved[1])];
        }
    }
    assert!(reached[0] == 2 && reached[1] > 2 * (99 << 20) / 100, "{reached:?}: too weak a test");
}
