use std::sync::LazyLock;

use super::*;
use crate::job::Job;
use crate::job::test_jobs::csv_job;

static JOB: LazyLock<String> = LazyLock::new(|| csv_job("shop", 2, "epsilon = 20, delta = 1e-5", ASK));

const ASK: &str = r#"
[watch]
listen = "127.0.0.1:0"
[[ask]]
name = "study"
every = "1 day"
fields = { age = "whole" }
bound = { per_key = 1 }
answers = 1000
tokens = { ann = "ann.token", ben = "ben.token" }
cost = { epsilon = 2, delta = 1e-6 }
"#;

fn begun() -> QuestionService {
    let job = Job::parse("job.toml", &JOB).unwrap();
    let service = QuestionService::new();
    service.begin(&job.ask_plans(job.horizon()).unwrap());
    service
}

/// Asks, and does not wait.
fn ask(service: &QuestionService, analyst: &str, line: &str) -> AskOutcome {
    service.ask(0, analyst, line, Duration::ZERO)
}

const COUNT: &str = r#"{"id":"q","ask":"count where age > 3"}"#;

fn key(analyst: &str) -> (usize, Digest) {
    let job = Job::parse("job.toml", &JOB).unwrap();
    let schema = job.asks[0].schema().unwrap();
    (0, schema.question(analyst, "q", 0).count("all").unwrap().part())
}

// Refutes a question that is asked before the run begins, or twice, one that is lost, and an id with two questions.
#[test]
fn a_question_is_taken_once_and_has_one_answer() {
    let service = QuestionService::new();
    let begins = AskUnavailable::Now("the run begins");
    assert_eq!(ask(&service, "ann", COUNT), AskOutcome::Unavailable(begins));
    let service = begun();
    let questions = service.questions(0);
    assert_eq!(ask(&service, "ann", COUNT), AskOutcome::Waits);
    assert_eq!(ask(&service, "ann", COUNT), AskOutcome::Waits);
    assert_eq!(ask(&service, "ben", COUNT), AskOutcome::Waits);
    let taken = questions.take(77);
    let asked: Vec<(&str, Time)> = taken.iter().map(|question| (question.analyst(), question.at())).collect();
    assert_eq!(asked, [("ann", 77), ("ben", 77)]);
    assert!(questions.take(78).is_empty());
    let other = ask(&service, "ann", r#"{"id":"q","count":"age > 4"}"#);
    assert_eq!(other, AskOutcome::OtherQuestion("count where age >= 4".to_owned()));
    let line = AskOutcome::Answered("line".to_owned());
    assert!(service.settle(key("ann"), line.clone(), None));
    assert!(!service.settle(key("ann"), AskOutcome::Answered("another".to_owned()), None));
    assert_eq!(ask(&service, "ann", COUNT), line);
    assert_eq!(ask(&service, "ben", COUNT), AskOutcome::Waits);
}

// Refutes an analyst who asks in another's name, and a mistake that takes a place or an id.
#[test]
fn what_is_no_question_is_refused_at_once() {
    let service = begun();
    for (line, why) in [
        ("", "question: "),
        (r#"{"ask":"count"}"#, "id: "),
        (r#"{"id":"q","ask":"count where agee > 1"}"#, "did you mean age?"),
        (r#"{"id":"q","ask":"count","where":"all"}"#, "\"ask\" alone"),
        (r#"{"id":"q","analyst":"ben","ask":"count"}"#, "analyst: "),
    ] {
        match ask(&service, "ann", line) {
            AskOutcome::Invalid(found) => assert!(found.contains(why), "{line}: {found}"),
            other => panic!("{line}: {other:?}"),
        }
    }
    assert!(service.questions(0).take(1).is_empty());
    // One that cannot be answered now may be asked again.
    assert_eq!(ask(&service, "ann", COUNT), AskOutcome::Waits);
    assert_eq!(service.questions(0).take(1).len(), 1);
    assert!(service.settle(key("ann"), AskOutcome::Invalid("at: ".to_owned()), None));
    assert_eq!(ask(&service, "ann", COUNT), AskOutcome::Waits);
    assert_eq!(service.questions(0).take(2).len(), 1);
}

// Refutes an id of a former run that takes another question, and one of which the right question is refused.
#[test]
fn an_id_of_a_former_run_is_that_of_its_question() {
    let service = begun();
    let other = r#"{"id":"q","ask":"count where age > 70"}"#;
    assert_eq!(ask(&service, "ann", other), AskOutcome::Waits);
    let line = r#"{"release":"study","window":{"start":"2026-01-01T00:00:00Z","end":"2026-01-03T00:00:00Z"},"part":"5f","question":"q","analyst":"ann","at":"2026-01-02T00:00:00Z","asked":"count where age >= 4","version":{"start":"2026-01-01T00:00:00Z","end":"2026-01-02T00:00:00Z"},"value":1,"interval":[0,2],"confidence":1,"noise":{"kind":"bounded","shape":"laplace:1","bound":1,"scale":1},"used":1,"left":2,"id":"7a","promise":"lifetime"}"#;
    let (outcome, text) = outcome_of(line);
    assert_eq!(outcome, AskOutcome::Answered(line.to_owned()));
    assert!(service.settle(key("ann"), outcome.clone(), text));
    let former = AskOutcome::OtherQuestion("count where age >= 4".to_owned());
    assert_eq!(ask(&service, "ann", other), former);
    assert_eq!(ask(&service, "ann", COUNT), outcome);
    let refused = line.replace(
        r#""value":1,"interval":[0,2],"confidence":1,"noise":{"kind":"bounded","shape":"laplace:1","bound":1,"scale":1}"#,
        r#""refused":"bundle""#,
    );
    assert_eq!(outcome_of(&refused).0, AskOutcome::Refused(refused.clone()));
    let skipped = r#"{"release":"study","window":{"start":"2026-01-01T00:00:00Z","end":"2026-01-03T00:00:00Z"},"part":"5f","skipped":true,"why":"input gap"}"#;
    assert!(matches!(outcome_of(skipped).0, AskOutcome::Invalid(why) if why.starts_with("at: ")));
}

// Refutes an analyst without answers who fills the ledger, and one who fills the memory with questions of another time.
#[test]
fn the_questions_of_one_analyst_are_bounded() {
    let service = begun();
    let asks = |number: usize| {
        let mut state = service.state();
        // As after a pause.
        if let Some(own) = state.analysts.get_mut(&(0, "ann".to_owned())) {
            own.rate.left = AT_ONCE;
        }
        drop(state);
        ask(&service, "ann", &format!(r#"{{"id":"{number}","ask":"count"}}"#))
    };
    for number in 0..WAITING_OF_ONE as usize {
        assert_eq!(asks(number), AskOutcome::Waits);
    }
    assert_eq!(asks(1_000), AskOutcome::Unavailable(AskUnavailable::Now("too many questions wait")));
    assert_eq!(ask(&service, "ben", COUNT), AskOutcome::Waits);
    let mut state = service.state();
    let own = state.analysts.get_mut(&(0, "ann".to_owned())).unwrap();
    (own.waiting, own.refused) = (0, REFUSED);
    drop(state);
    assert!(matches!(asks(1_001), AskOutcome::Unavailable(AskUnavailable::Over(_))));
    assert_eq!(asks(0), AskOutcome::Waits, "what was asked is");
}

// Refutes an analyst who keeps the others from asking, and one who waits for a run that has ended.
#[test]
fn an_analyst_asks_at_a_rate_and_until_the_end() {
    let service = begun();
    let questions = (0..100).map(|number| format!(r#"{{"id":"{number}","ask":"count"}}"#));
    let outcomes: Vec<AskOutcome> = questions.map(|line| ask(&service, "ann", &line)).collect();
    assert_eq!(outcomes[..20], vec![AskOutcome::Waits; 20]);
    assert!(outcomes[20..].contains(&AskOutcome::TooMany), "{outcomes:?}");
    assert_eq!(ask(&service, "ben", COUNT), AskOutcome::Waits);
    let mut rate = AskingRate { left: 0.5, at: Instant::now() };
    let begun = rate.at;
    assert!(!rate.take(begun + Duration::from_millis(40)));
    assert!(rate.take(begun + Duration::from_millis(100)));
    assert!(!rate.take(begun + Duration::from_millis(100)));
    service.questions(0).close("no window is left");
    let closed = AskOutcome::Unavailable(AskUnavailable::Over("no window is left"));
    assert_eq!(ask(&service, "ben", r#"{"id":"new","ask":"count"}"#), closed);
    let waits = std::thread::spawn({
        let service = service.clone();
        move || service.ask(0, "ben", COUNT, Duration::from_secs(600))
    });
    service.end();
    let over = AskOutcome::Unavailable(AskUnavailable::Over("the run has ended"));
    assert_eq!(waits.join().unwrap(), over);
    assert_eq!(ask(&service, "ann", COUNT), over);
}

// Refutes answers that are kept for as long as a job runs.
#[test]
fn the_newest_answers_are_kept() {
    let service = begun();
    let mut state = service.state();
    let keys = (0..KEPT + 5).map(|number| (0, Digest::of(&number.to_le_bytes())));
    let keys: Vec<(usize, Digest)> = keys.collect();
    for key in &keys {
        state
            .questions
            .insert(*key, WaitingQuestion { analyst: String::new(), text: String::new(), outcome: None });
    }
    drop(state);
    for key in &keys {
        assert!(service.settle(*key, AskOutcome::Answered("line".to_owned()), None));
    }
    let state = service.state();
    assert_eq!((state.questions.len(), state.settled.len()), (KEPT, KEPT));
    assert!(!state.questions.contains_key(&keys[4]) && state.questions.contains_key(&keys[5]));
}
