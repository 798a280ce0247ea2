//! A bundle of answers over the real gate: each query is answered once, and no more of them than the bundle
//! has, across restarts and crashes.

use std::sync::LazyLock;

use super::*;
use crate::accounting::Omega;
use crate::mechanisms::ReleaseLines;
use crate::mechanisms::queries::{Answers, ReadyAnswers};
use crate::mechanisms::queries::{Field, MatchedTotals, Query, Schema};
use crate::mechanisms::{Bound, BoundedNoise, Head, ReadyBundle};

everywhere! {
    the_last_answer_is_given_and_the_next_is_refused
    one_analyst_cannot_use_up_what_is_anothers
    an_id_has_one_answer_whatever_is_asked_under_it
    what_was_never_delivered_is_not_drawn_again
    other_parameters_pay_anew_and_replace_the_first
}

/// Bundles of three answers (a mean takes two of them), for any analyst, or two for ann and one for bob. Both
/// share a noise distribution, so that few are calibrated.
static ANYBODYS: LazyLock<Arc<ReadyBundle>> = LazyLock::new(|| prepare(BoundedNoise::bundle(3)));
static SHARED: LazyLock<Arc<ReadyBundle>> =
    LazyLock::new(|| prepare(BoundedNoise::bundle(3).share("ann", 2).share("bob", 1)));

fn schema() -> Schema {
    Schema::new([Field::number("age")]).unwrap()
}

fn prepare(bundle: BoundedNoise) -> Arc<ReadyBundle> {
    let limits = Bound::keys(1).checked().unwrap();
    Arc::new(bundle.epsilon(1.0, 1e-6).prepare(&limits, &schema()).unwrap())
}

/// Creates a ledger with a budget for two bundles and not for three.
fn ledger(at: ScratchPlace) -> Scratch {
    let scratch = at.scratch();
    let mut ledger = Ledger::create(scratch.ledger()).unwrap();
    let cap = PrivacyCost::approximate_zcdp(1.0, Omega::EVERY, Some(2.5e-6));
    ledger.register(&AccountSpec::lifetime("visits", cap).unwrap()).unwrap();
    scratch
}

/// Returns the cost of this number of bundles.
fn bundles(count: u64) -> PrivacyCost {
    let cost = PrivacyCost::approximate(1.0, 1e-6).unwrap();
    let one = cost.in_currency_of(&PrivacyCost::zcdp(1.0).unwrap()).unwrap();
    one.times(count).unwrap()
}

/// A process that answers queries of one bundle.
struct Study {
    bundle: Arc<ReadyBundle>,
    version: Digest,
    gate: Gate,
    handle: GateHandle,
    draws: Arc<AtomicU32>,
}

impl Study {
    fn open(scratch: &Scratch, bundle: &Arc<ReadyBundle>, version: u32) -> Study {
        let gate = opening(scratch).version(version).open().unwrap();
        let mut handle = gate.handle(&name_of("study"), &bundle.parameters(), || ()).unwrap();
        if let Some(memory) = handle.take_memory() {
            bundle.accepts(&memory.state).unwrap();
        }
        let version = Digest::of_version(version, &bundle.parameters());
        Study { bundle: Arc::clone(bundle), version, gate, handle, draws: Arc::default() }
    }

    fn submit(&self, question: &Query) -> ReleaseId {
        let life = Interval::new(0, 1_000).unwrap();
        let release = ReleaseId {
            account: name_of("visits"),
            job: name_of("web"),
            version: self.version,
            name: name_of("study"),
            window: life,
            part: Some(question.part()),
        };
        // Only the parameters that are paid for together: the row that paid is found by them.
        let opened = [&self.version.bytes()[..], b"visits", &0i64.to_be_bytes(), &1_000i64.to_be_bytes()];
        let answer = Answer {
            bundle: Arc::clone(&self.bundle),
            question: question.clone(),
            opened: Digest::of(&opened.concat()),
            id: release.id().to_string(),
            draws: Arc::clone(&self.draws),
        };
        let charge = Charge::Once { cost: self.bundle.cost().clone(), life };
        self.handle
            .submit(ReleaseRequest { release: release.clone(), charge, sealable: Box::new(answer) })
            .unwrap();
        release
    }

    fn asks(&self, question: &Query) -> Row {
        let release = self.submit(question);
        let row = row(&self.handle);
        assert_eq!(row.release(), &release);
        self.handle.delivered(&row);
        row
    }

    /// Returns true if the query is answered.
    fn answers(&self, question: &Query) -> bool {
        let row = self.asks(question);
        assert_eq!(row.status(), ReleaseStatus::Sealed, "{}", row.line());
        let refused = row.line().contains("\"refused\":\"bundle\"");
        assert_eq!(refused, !row.line().contains("\"value\""), "{}", row.line());
        !refused
    }

    fn draws(&self) -> u32 {
        self.draws.load(Ordering::Relaxed)
    }
}

struct Answer {
    bundle: Arc<ReadyBundle>,
    question: Query,
    opened: Digest,
    id: String,
    draws: Arc<AtomicU32>,
}

impl Sealable for Answer {
    fn keeps_state(&self) -> bool {
        true
    }

    fn draw(self: Box<Self>, state: Option<&[u8]>, noise: &mut NoiseSource) -> DrawResult {
        self.draws.fetch_add(1, Ordering::Relaxed);
        let found = MatchedTotals { matched: 1_000, terms: 0 };
        let version = Interval::new(10, 20).unwrap();
        let drawn = self.bundle.draw(&self.question, found, version, self.opened, state, noise);
        let head = Head { release: "study", window: "null", id: &self.id, promise: "lifetime", gaps: "" };
        DrawResult { line: drawn.answer.lines(&head), state: drawn.state, step: None, note: None }
    }
}

fn count(analyst: &str, id: &str) -> Query {
    schema().question(analyst, id, 15).count("age >= 18").unwrap()
}

fn mean(analyst: &str, id: &str) -> Query {
    schema().question(analyst, id, 15).mean("age", "0", "100", "all").unwrap()
}

fn the_last_answer_is_given_and_the_next_is_refused(at: ScratchPlace) {
    let scratch = ledger(at);
    let study = Study::open(&scratch, &ANYBODYS, 1);
    assert!(study.answers(&count("ann", "1")));
    drop(study);
    // Paid for as a whole, from the first answer on.
    assert_eq!(spent(&scratch), bundles(1));
    let study = Study::open(&scratch, &ANYBODYS, 1);
    assert!(study.answers(&mean("bob", "2")));
    assert!(!study.answers(&count("ann", "3")));
    drop(study);
    let study = Study::open(&scratch, &ANYBODYS, 1);
    for id in ["4", "5"] {
        assert!(!study.answers(&count("ann", id)));
        assert!(!study.answers(&mean("bob", id)));
    }
    // Answered queries are still answered.
    assert!(study.answers(&count("ann", "1")) && study.answers(&mean("bob", "2")));
    drop(study);
    assert_eq!(spent(&scratch), bundles(1));
}

fn one_analyst_cannot_use_up_what_is_anothers(at: ScratchPlace) {
    let scratch = ledger(at);
    let study = Study::open(&scratch, &SHARED, 1);
    assert!(study.answers(&count("bob", "1")));
    assert!(!study.answers(&count("bob", "2")));
    // Together with the next, in the order of arrival: the first gets the share.
    study.submit(&count("bob", "3"));
    study.submit(&mean("ann", "1"));
    study.submit(&count("ann", "2"));
    let event: Vec<bool> = (0..3).map(|_| row(&study.handle).line().contains("\"value\"")).collect();
    assert_eq!(event, [false, true, false]);
    drop(study);
    let study = Study::open(&scratch, &SHARED, 1);
    // None of these three was delivered.
    (0..3).for_each(|_| study.handle.delivered(&row(&study.handle)));
    assert!(!study.answers(&count("bob", "4")) && !study.answers(&count("ann", "3")));
    drop(study);
    assert_eq!(spent(&scratch), bundles(1));
}

fn an_id_has_one_answer_whatever_is_asked_under_it(at: ScratchPlace) {
    let scratch = ledger(at);
    let study = Study::open(&scratch, &ANYBODYS, 1);
    let first = study.asks(&count("ann", "1"));
    let other = schema().question("ann", "1", 99).count("age < 18").unwrap();
    for again in [count("ann", "1"), mean("ann", "1"), other.clone()] {
        assert_eq!(study.asks(&again), Row { delivered: true, ..first.clone() });
    }
    assert_eq!(study.draws(), 1);
    drop(study);
    let study = Study::open(&scratch, &ANYBODYS, 1);
    for again in [count("ann", "1"), mean("ann", "1"), other] {
        assert_eq!(study.asks(&again).line(), first.line());
    }
    // Under another analyst it is another query; and a refusal under an id stays one.
    assert_ne!(study.asks(&count("bob", "1")).line(), first.line());
    assert!(!study.answers(&mean("ann", "2")));
    assert!(!study.answers(&count("ann", "2")));
    assert!(study.answers(&count("ann", "3")));
    assert_eq!(study.draws(), 3);
    drop(study);
    assert_eq!(spent(&scratch), bundles(1));
}

/// Refutes an answer that is drawn again, or counted again, because the first was not delivered.
fn what_was_never_delivered_is_not_drawn_again(at: ScratchPlace) {
    let scratch = ledger(at);
    let study = Study::open(&scratch, &ANYBODYS, 1);
    // The process ends with all of them in progress.
    let asked =
        [count("ann", "1"), count("ann", "2"), count("ann", "1"), count("ann", "3"), count("ann", "4")];
    asked.iter().for_each(|question| _ = study.submit(question));
    let Study { gate, handle, draws, .. } = study;
    drop(gate);
    let mut lines = Vec::new();
    while let Some(event) = handle.wait() {
        if let GateEvent::Row(row, _) = event {
            lines.push(row.line().to_owned());
        }
    }
    drop(handle);
    assert_eq!(draws.load(Ordering::Relaxed), 4);
    lines.dedup();
    let study = Study::open(&scratch, &ANYBODYS, 1);
    let waiting: Vec<Row> = (0..4).map(|_| row(&study.handle)).collect();
    assert_eq!(waiting.iter().map(Row::line).collect::<Vec<_>>(), lines);
    waiting.iter().for_each(|row| study.handle.delivered(row));
    for (question, line) in [&asked[0], &asked[1], &asked[3], &asked[4]].into_iter().zip(&lines) {
        assert_eq!(study.asks(question).line(), line);
    }
    assert!(lines[2].contains("\"value\"") && lines[3].contains("\"refused\":\"bundle\""), "{lines:?}");
    assert_eq!(study.draws(), 0);
}

/// Refutes a fresh bundle for the cost of the old one.
fn other_parameters_pay_anew_and_replace_the_first(at: ScratchPlace) {
    let scratch = ledger(at);
    let study = Study::open(&scratch, &ANYBODYS, 1);
    assert!(study.answers(&mean("ann", "1")));
    drop(study);
    let study = Study::open(&scratch, &SHARED, 2);
    assert!(study.answers(&mean("ann", "1")), "a bundle of its own");
    assert!(!study.answers(&count("ann", "2")));
    drop(study);
    assert_eq!(spent(&scratch), bundles(2));
    // The state of the first bundle has been replaced by the second's.
    let gate = opening(&scratch).version(1).open().unwrap();
    let replaced = gate.handle(&name_of("study"), &ANYBODYS.parameters(), || ()).unwrap_err();
    assert_eq!(replaced.kind(), LedgerErrorKind::Refused);
    assert!(replaced.to_string().contains("was replaced by version 2"), "{replaced}");
    drop(gate);
    // A third bundle would have to be paid for, and the budget does not allow it.
    let study = Study::open(&scratch, &ANYBODYS, 3);
    let refused = study.asks(&count("ann", "1"));
    assert_eq!(refused.status(), ReleaseStatus::Refused);
    assert!(refused.line().contains("\"refused\":\"budget\""), "{}", refused.line());
    drop(study);
    let study = Study::open(&scratch, &SHARED, 2);
    assert!(study.answers(&count("bob", "1")), "nothing of the second is lost");
    drop(study);
    assert_eq!(spent(&scratch), bundles(2));
}
