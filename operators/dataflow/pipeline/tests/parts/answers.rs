//! Parts of a person in a bundle of answers: what their removal moves in an answer, against the bundle's
//! partial price, which is that of two steps.

use super::super::answering;
use super::super::answering::{Asked, asked, row, schema};
use super::*;
use crate::canonical::Digest;

/// As many scenes as reach the price of two steps under both promises about a part, in windows of each kind.
const RUNS: u64 = 108;

/// The price of two steps.
const TWO_STEPS: f64 = 4.0;

/// The questions about every window, as numbers of `SAMPLES`: how many records there are, how many have a
/// value above 0, how many have another one or none, and the mean of all values. The two in the middle divide
/// the records between them.
const QUESTIONS: [(usize, bool); 4] = [(0, false), (1, false), (2, false), (0, true)];

/// By how much all of a person moves each of them: records, or terms of 2^20 for a value at an end of its
/// range.
const MOST: [i128; 4] = [PER_KEY as i128, PER_KEY as i128, PER_KEY as i128, (PER_KEY as i128) << 20];

/// The answer to each question, and the rows with the charge of all of them.
fn answered(scene: &Scene, scripts: Vec<Script<Event>>) -> (Vec<Sealed>, BTreeMap<usize, Vec<i128>>) {
    let windows = scene.schedule.count() as usize;
    let posed = (0..windows).flat_map(|window| {
        let at = scene.schedule.window(window as u64).unwrap().end();
        QUESTIONS.iter().enumerate().map(move |(place, &(sample, mean))| -> Asked {
            (QUESTIONS.len() * window + place, sample, mean, at)
        })
    });
    let mut questions = vec![Script(Vec::new()); scripts.len()];
    questions[0].0.push((posed.collect(), Pulled::More));
    let recorder = Recorder::new(crate::accounting::PrivacyUnit::Person);
    let (sealing, schedule, account) = (recorder.clone(), scene.schedule.clone(), scene.account());
    let (finished, unanswered) = asked(&scripts, &questions, move |visits, questions| {
        let windows = visits.protect(|visit: &Event| visit.0).scheduled(schedule.clone(), |visit| visit.3);
        let people = windows.bound(Bound::keys(1).per_key(PER_KEY as u64));
        let answers = people.answer(schema(), row, questions).charged_to(&account);
        answers.release_at(&sealing, "questions", answering::Exactly::new())
    });
    assert!(finished.is_ok() && unanswered.is_empty(), "{finished:?}, {unanswered:?}");
    let sealed = recorder.sealed();
    let released = sealed.iter().flat_map(|sealed| &sealed.exact);
    let released: BTreeMap<usize, Vec<i128>> =
        released.map(|(id, numbers)| (id.parse().unwrap(), numbers.clone())).collect();
    assert_eq!(released.len(), QUESTIONS.len() * windows);
    (sealed, released)
}

// Refutes the price of one step for two; more records of a person than the bound says, before or after a
// removal; an answer that the removal of other windows' records moves; and a question that is answered, or a
// bundle that is paid, because of a person.
#[test]
fn a_part_of_a_person_moves_an_answer_by_no_more_than_two_steps() {
    // Of each promise: the largest part of a whole person's price, of counts and of means.
    let mut reached = [[0f64; 2]; 3];
    // How many records were lost, and how many came instead.
    let mut replaced = [0i128; 2];
    for seed in 0..RUNS {
        let scene = Scene::new(seed);
        let promise = scene.kinds[1];
        let [(one, with), (other, without)] = scene.scripts().map(|scripts| answered(&scene, scripts));
        let named = |sealed: &[Sealed]| -> BTreeMap<Digest, Charge> {
            sealed.iter().map(|sealed| (sealed.release.id(), sealed.charge.clone())).collect()
        };
        assert_eq!(named(&one), named(&other), "seed {seed}");
        let Charge::Once { cost, life } = &one[0].charge else { panic!("a bundle is paid once") };
        assert!((rho(&cost.partial().unwrap()) / rho(cost.amount()) - TWO_STEPS).abs() < 1e-3);
        let price = scene.price(*life, cost);
        let charged = scene.charged(&one, "questions");
        assert!(price <= charged * 1.000_001, "seed {seed}: {price} at {charged}");
        for window in 0..scene.schedule.count() as usize {
            let mut changed = [0i128; 2];
            for (place, &(_, mean)) in QUESTIONS.iter().enumerate() {
                let id = QUESTIONS.len() * window + place;
                let (with, without) = (&with[&id], &without[&id]);
                assert_eq!(with[0], without[0], "seed {seed}: another version was asked");
                let number = if mean { 2 } else { 1 };
                let moved = without[number] - with[number];
                if place == 1 || place == 2 {
                    changed[usize::from(moved > 0)] += moved.abs();
                }
                let part = (moved as f64 / MOST[place] as f64).powi(2);
                assert!(part <= price * 1.000_001, "seed {seed}, question {place}: {part} at {price}");
                let reached = &mut reached[promise][usize::from(mean)];
                *reached = reached.max(part);
            }
            // One step goes from all of the person to none, the other one comes back.
            assert!(changed.iter().all(|&records| records <= PER_KEY.into()), "seed {seed}: {changed:?}");
            assert!(promise > 0 || changed[1] == 0, "seed {seed}: somebody else's record came");
            replaced = [replaced[0].max(changed[0]), replaced[1].max(changed[1])];
        }
    }
    assert_eq!(replaced, [PER_KEY.into(); 2], "too weak a test");
    let [lifetime, spans @ ..] = reached;
    assert!(lifetime.iter().all(|&part| part > 0.99), "{lifetime:?}: too weak a test");
    for [counts, means] in spans {
        assert!(counts > 0.99 && means > 3.9, "{counts}, {means}: too weak a test");
    }
}
