use serde_json::{Value, json};

use super::*;
use crate::mechanisms::queries::{Field, ReleasedAnswer};
use crate::mechanisms::{Bound, Estimate, Head, Range, ReleaseLines};
use crate::noise::goodness::size;

const HEAD: Head<'_> = Head { release: "study", window: "null", id: "5f", promise: "lifetime", gaps: "" };

fn schema() -> Schema {
    let fields = [Field::number("age"), Field::decimal("price", 2), Field::text("country")];
    Schema::new(fields).unwrap()
}

fn limits(records: u64) -> ContributionBound {
    Bound::keys(1).per_key(records).checked().unwrap()
}

fn bundle(answers: u64) -> BoundedNoise {
    BoundedNoise::bundle(answers).epsilon(1.0, 1e-6)
}

fn prepare(bundle: &BoundedNoise) -> ReadyBundle {
    bundle.prepare(&limits(1), &schema()).unwrap()
}

fn count(analyst: &str, id: &str) -> Query {
    schema().question(analyst, id, 0).count("all").unwrap()
}

fn mean(analyst: &str, id: &str) -> Query {
    schema().question(analyst, id, 0).mean("price", "0", "100", "all").unwrap()
}

fn version() -> Interval {
    Interval::new(0, 1_000_000).unwrap()
}

/// Queries, one after another, each drawn with the state that the one before it left.
struct Asked<'a> {
    bundle: &'a ReadyBundle,
    opened: Digest,
    state: Option<Vec<u8>>,
    noise: NoiseSource,
}

impl<'a> Asked<'a> {
    fn of(bundle: &'a ReadyBundle) -> Asked<'a> {
        Asked { bundle, opened: Digest::of(b"opened"), state: None, noise: NoiseSource::recording(1) }
    }

    fn asks(&mut self, question: &Query) -> Answered {
        let found = MatchedTotals { matched: 1000, terms: 0 };
        let state = self.state.take();
        let drawn =
            self.bundle.draw(question, found, version(), self.opened, state.as_deref(), &mut self.noise);
        self.state = drawn.state;
        drawn.answer
    }

    /// Returns true if the query is answered, and the number of answers that are left.
    fn outcome(&mut self, question: &Query) -> (bool, u64) {
        let answer = self.asks(question);
        (answer.estimate().is_some(), answer.left())
    }

    fn draws(&self) -> usize {
        self.noise.requests().iter().map(|request| request.count).sum()
    }
}

/// Refutes an answer too many, an answer too few, a mean that counts as one answer, and noise that is drawn
/// for a refusal.
#[test]
fn so_many_questions_are_answered_and_no_more() {
    let bundle = prepare(&bundle(4));
    let mut asked = Asked::of(&bundle);
    assert_eq!(asked.outcome(&count("ann", "1")), (true, 3));
    assert_eq!(asked.outcome(&mean("bob", "2")), (true, 1));
    assert_eq!(asked.draws(), 3);
    // A mean no longer fits, and a count still does.
    assert_eq!(asked.outcome(&mean("ann", "3")), (false, 1));
    assert_eq!(asked.outcome(&count("ann", "4")), (true, 0));
    let full = asked.state.clone();
    for id in ["5", "6"] {
        assert_eq!(asked.outcome(&count("ann", id)), (false, 0));
        assert_eq!(asked.outcome(&mean("bob", id)), (false, 0));
    }
    assert_eq!((asked.draws(), &asked.state), (4, &full));
}

/// Refutes a share that others use up, and an analyst without a share who gets an answer.
#[test]
fn every_analyst_draws_on_a_share_of_their_own() {
    let shared = prepare(&bundle(4).share("bob", 1).share("ann", 2));
    assert!(shared.serves("ann") && shared.serves("bob") && !shared.serves("eve"));
    let mut asked = Asked::of(&shared);
    assert_eq!(asked.outcome(&count("bob", "1")), (true, 0));
    assert_eq!(asked.outcome(&count("bob", "2")), (false, 0));
    assert_eq!(asked.outcome(&count("eve", "3")), (false, 0));
    assert_eq!(asked.outcome(&mean("ann", "4")), (true, 0));
    assert_eq!(asked.outcome(&count("ann", "5")), (false, 0));
    assert_eq!(asked.draws(), 3);
    assert!(prepare(&bundle(4)).serves("eve"));
}

/// Refutes counts that restart: under another opening, on a return to the first, or with a truncated state.
#[test]
fn what_was_answered_stays_counted() {
    let bundle = prepare(&bundle(2));
    let mut asked = Asked::of(&bundle);
    assert_eq!(asked.outcome(&count("ann", "1")), (true, 1));
    asked.opened = Digest::of(b"another");
    assert_eq!(asked.outcome(&count("ann", "1")), (true, 1));
    asked.opened = Digest::of(b"opened");
    assert_eq!(asked.outcome(&count("ann", "2")), (true, 0));
    assert_eq!(asked.outcome(&count("ann", "3")), (false, 0));
    // A state that cannot be read is refused by `accepts`, and answers nothing.
    asked.opened = Digest::of(b"a third");
    for odd in [&b""[..], b"\x02", b"\x01\0"] {
        assert!(bundle.accepts(odd).is_err());
        asked.state = Some(odd.to_vec());
        assert_eq!(asked.outcome(&count("ann", "4")), (false, 0));
        assert_eq!(asked.state.as_deref(), Some(odd));
    }
    assert_eq!(asked.draws(), 3);
    asked.state = None;
    asked.asks(&count("ann", "5"));
    assert!(bundle.accepts(&asked.state.unwrap()).is_ok());
}

/// Refutes noise beyond its bound. The bound holds for every draw, so each one is checked.
#[test]
fn no_answer_ever_errs_by_more_than_its_bound() {
    let bundle = prepare(&bundle(3));
    let (mut noise, mut farthest) = (NoiseSource::seeded(5), 0.0f64);
    let (count, mean) = (count("ann", "1"), mean("ann", "2"));
    for draw in 0..size(30_000, 10_000_000) as u64 {
        let matched = draw % 100_000;
        let found = MatchedTotals { matched, terms: 0 };
        let mut asks = |question, found| {
            let opened = Digest::NONE;
            bundle.draw(question, found, version(), opened, None, &mut noise).answer.estimate().unwrap()
        };
        let released = asks(&count, found);
        let truth = matched as f64;
        farthest = farthest.max((released.value() - truth).abs());
        assert!((released.value() - truth).abs() <= bundle.bound(), "{released:?} of {truth}");
        assert!(released.low() <= truth && truth <= released.high, "{released:?} of {truth}");
        if draw % 10 == 0 && matched > 0 {
            // Prices of 50 and of 100: the middle and the end of the range.
            let Asks::Mean { range, .. } = mean.asks() else { panic!() };
            let high = u64::min(matched, draw % 777);
            let terms = i128::from(high) * i128::from(bundle.steps().term(range, 10_000));
            let released = asks(&mean, MatchedTotals { matched, terms });
            let truth = 50.0 + 50.0 * high as f64 / matched as f64;
            let slip = 1e-9;
            assert!(
                released.low() - slip <= truth && truth <= released.high + slip,
                "{released:?} of {truth}"
            );
        }
    }
    assert!(farthest > bundle.bound() / 3.0, "{farthest} at most, of {}", bundle.bound());
}

/// Refutes a person who changes an answer by more than the noise was calibrated for.
#[test]
fn a_person_moves_an_answer_by_no_more_than_the_shift() {
    for records in [1, 2, 3, 10, 250] {
        let (bundle, limits) = (bundle(3), limits(records));
        let prepared = bundle.prepare(&limits, &schema()).unwrap();
        let asked = BoundedNoiseRequest::new(3, 1.0, 1e-6).unwrap();
        let law =
            bounded::CalibratedBoundedNoise::calibrate(&asked, &GridResolution::new(records, REACH).unwrap())
                .unwrap();
        assert_eq!(prepared.noise.bound(), law.reach());
        let steps = prepared.steps();
        assert_eq!(records * steps.count(), law.shift());
        for range in
            [(0, 1), (0, 10_000), (i64::MIN, i64::MAX)].map(|(low, high)| Range::new(low, high).unwrap())
        {
            for value in [range.low(), range.high(), 0, 1] {
                assert!(records * steps.term(&range, value).unsigned_abs() <= law.shift());
            }
        }
    }
    let record = bundle(3).prepare(&ContributionBound::RECORD, &schema()).unwrap();
    assert_eq!(record.cost().neighbours().unit, crate::accounting::PrivacyUnit::Record);
}

#[test]
fn a_bundle_costs_what_was_asked_for() {
    let prepared = prepare(&bundle(100));
    assert_eq!(
        prepared.cost(),
        &ReleaseCost::new(Adjacency::PERSON, PrivacyCost::approximate(1.0, 1e-6).unwrap())
    );
    // A budget in rho charges the rho of randomized response, beside the delta.
    let rho = prepared.cost().amount().in_currency_of(&PrivacyCost::zcdp(1.0).unwrap()).unwrap();
    let PrivacyCost::Zcdp { rho, delta, .. } = rho else { panic!("{rho}") };
    let excess = rho.to_float_up() / 0.5f64.tanh() - 1.0;
    assert!((0.0..1e-9).contains(&excess), "{excess}");
    assert!((1e-6..1e-6 + 1e-18).contains(&delta.to_float_up()), "{delta:?}");
}

#[test]
fn what_is_out_of_range_is_refused_by_name() {
    let refused = |bundle: BoundedNoise, limits: ContributionBound| {
        let refused = bundle.prepare(&limits, &schema()).unwrap_err();
        (refused.field().to_owned(), refused.kind())
    };
    let one = limits(1);
    assert_eq!(refused(BoundedNoise::bundle(5), one), ("epsilon".into(), InvalidKind::Missing));
    assert_eq!(refused(bundle(5).epsilon(0.0, 1e-6), one), ("epsilon".into(), InvalidKind::Zero));
    assert_eq!(refused(bundle(5).epsilon(1.0, 0.0), one).0, "delta");
    assert_eq!(refused(bundle(0), one), ("answers".into(), InvalidKind::Zero));
    assert_eq!(refused(bundle(5).share("ann", 0), one), ("share".into(), InvalidKind::Zero));
    assert_eq!(
        refused(bundle(5).share("ann", 3).share("bob", 3), one),
        ("share".into(), InvalidKind::TooLarge)
    );
    assert_eq!(
        refused(bundle(5).share("ann", u64::MAX).share("bob", 3), one),
        ("share".into(), InvalidKind::TooLarge)
    );
    assert_eq!(refused(bundle(5).share("ann", 1).share("ann", 1), one), ("share".into(), InvalidKind::Mixed));
    assert_eq!(refused(bundle(5), limits(1 << 21)), ("bound".into(), InvalidKind::TooLarge));
}

/// Refutes two bundles that differ in a parameter and have the same hash.
#[test]
fn every_parameter_is_part_of_the_hash() {
    let of = |bundle: &BoundedNoise, limits: &ContributionBound, schema: &Schema| {
        bundle.prepare(limits, schema).unwrap().parameters()
    };
    let (usual, one) = (bundle(5), limits(1));
    let other = Schema::new([Field::number("age"), Field::decimal("price", 3)]).unwrap();
    let windows = Bound::keys(1).windows(3).checked().unwrap();
    let hashes = [
        of(&usual, &one, &schema()),
        of(&bundle(6), &one, &schema()),
        of(&bundle(5).epsilon(1.1, 1e-6), &one, &schema()),
        of(&bundle(5).epsilon(1.0, 1.1e-6), &one, &schema()),
        of(&bundle(5).share("ann", 5), &one, &schema()),
        of(&bundle(5).share("ann", 4), &one, &schema()),
        of(&bundle(5).share("bob", 4), &one, &schema()),
        of(&bundle(5).share("ann", 4).share("bob", 1), &one, &schema()),
        of(&usual, &limits(2), &schema()),
        of(&usual, &windows, &schema()),
        of(&usual, &ContributionBound::RECORD, &schema()),
        of(&usual, &one, &other),
    ];
    for (index, hash) in hashes.iter().enumerate() {
        assert!(!hashes[..index].contains(hash), "bundle {index} is taken for another");
    }
    assert_eq!(of(&bundle(5), &one, &schema()), hashes[0]);
    // The order in which shares are stated does not matter.
    let shares = bundle(5).share("bob", 1).share("ann", 4);
    assert_eq!(of(&shares, &one, &schema()), hashes[7]);
}

// Refutes an answer that its line does not hold, the noise of another number, and a refusal that is read as an answer.
#[test]
fn an_answer_is_read_as_it_was_released() {
    let bundle = prepare(&bundle(3));
    let mut asked = Asked::of(&bundle);
    let count = schema().question("ann \"a\"", "q1", 1_500_000).count("age >= 18").unwrap();
    for (question, left) in [(&count, 2), (&mean("ann", "q2"), 0), (&count, 0)] {
        let answer = asked.asks(question);
        let line = answer.lines(&HEAD);
        let read = ReleasedAnswer::read(&line).unwrap();
        assert_eq!((&*read.question, &*read.analyst), (question.id(), question.analyst()), "{line}");
        assert_eq!((read.at, read.asked), (question.at(), question.text()), "{line}");
        assert_eq!((read.version.start(), read.version.end()), (0, 1_000_000), "{line}");
        assert_eq!((read.used, read.left), (3 - left, left), "{line}");
        let ends = |estimate: Estimate<f64>| [estimate.low, estimate.value, estimate.high];
        let found = read.estimate.map(|estimate| [estimate.low, estimate.value, estimate.high]);
        assert_eq!(found, answer.estimate().map(ends), "{line}");
        let noise = serde_json::from_str::<Value>(&line).unwrap()["noise"].clone();
        let bound = noise["bound"].as_f64().or(noise[0]["bound"].as_f64());
        // The parser of this value may be off in the last digit.
        let off =
            read.estimate.map(|estimate| estimate.bound).zip(bound).map(|(one, other)| one / other - 1.0);
        assert!(
            off.is_none_or(|off| off.abs() < 1e-15) && read.estimate.is_some() == bound.is_some(),
            "{line}"
        );
    }
    assert_eq!(ReleasedAnswer::read(r#"{"release":"study","window":null,"skipped":true}"#), None);
}

#[test]
fn a_line_is_written_as_the_page_says() {
    let bundle = prepare(&bundle(3));
    let mut asked = Asked::of(&bundle);
    let question = schema().question("ann \"a\"", "q1", 1_500_000).count("age >= 18").unwrap();
    let answer = asked.asks(&question);
    let certain = &answer.estimate.unwrap();
    let shown = |number: crate::mechanisms::queries::certain::DecimalNumber| number.1.shown(number.0);
    let before = format!(
        r#"{{"release":"study","window":null,"part":"{}","question":"q1","analyst":"ann \"a\"","at":"1970-01-01T00:00:01.5Z","asked":"{}","version":{{"start":"1970-01-01T00:00:00Z","end":"1970-01-01T00:00:01Z"}}"#,
        question.part(),
        question.text(),
    );
    let noise = format!(
        r#"{{"kind":"bounded","shape":"{}","bound":{},"scale":{}}}"#,
        bundle.law.shape,
        shown(bundle.law.certain.bound()),
        bundle.law.certain.deviation / bundle.steps().count() as f64,
    );
    let expected = format!(
        r#"{before},"value":{},"interval":[{},{}],"confidence":1,"noise":{noise},"used":1,"left":2,"id":"5f","promise":"lifetime"}}"#,
        shown(certain.value),
        shown(certain.low),
        shown(certain.high),
    );
    assert_eq!(answer.lines(&HEAD), expected);

    let released: Value = serde_json::from_str(&asked.asks(&mean("ann", "q2")).lines(&HEAD)).unwrap();
    let [sum, records] = [0, 1].map(|place| &released["noise"][place]);
    assert_eq!((&sum["number"], &records["number"]), (&json!("sum"), &json!("records")));
    // Half of the range is one unit, so the bound of the sum is this times the reach of the noise in units.
    let unit = bundle.steps().unit(&Range::new(0, 10_000).unwrap()) as f64;
    let reach = 50.0 * bundle.law.certain.reach as f64 / unit;
    let excess = sum["bound"].as_f64().unwrap() / reach - 1.0;
    assert!((0.0..1e-12).contains(&excess), "{excess}");
    assert_eq!(records["bound"].as_f64().unwrap(), bundle.bound());
    assert_eq!(
        (&released["used"], &released["left"], &released["confidence"]),
        (&json!(3), &json!(0), &json!(1))
    );

    let refused = asked.asks(&question);
    let expected =
        format!(r#"{before},"refused":"bundle","used":3,"left":0,"id":"5f","promise":"lifetime"}}"#);
    assert_eq!(refused.lines(&HEAD), expected);
    assert!(!format!("{bundle:?}").contains("weights"));
}
