//! What is wrong with a sentence is said before there is data, by name.

use super::*;
use crate::accounting::PrivacyUnit;
use crate::mechanisms::{Bound, Laplace, Stable};
use crate::time::minutes;

fn refused(build: impl for<'scope> Fn(Fed<'scope, Event>, &Recorder) + Send + Sync + 'static) -> String {
    let recorder = Recorder::new(PrivacyUnit::Person);
    let sealing = recorder.clone();
    let failure =
        run(&[Script::default(), Script::default()], move |visits| build(visits, &sealing)).unwrap_err();
    assert_eq!((failure.kind(), failure.exit_code()), (FailureKind::Configuration, 78));
    assert_eq!(recorder.sealed(), []);
    failure.to_string()
}

// Refutes a refusal that is forgotten on the way through the sentence, and one that names something else.
#[test]
fn every_word_refuses_by_name() {
    let at = |message: String| message.split(':').next().unwrap_or_default().to_owned();
    let ten = || span(10);
    assert_eq!(
        at(refused(move |visits, gate| {
            let windows = visits.protect(|v| v.0).tumbling(minutes(0), |v| v.3).from(0);
            windows.bound(Bound::keys(1)).count().release_at(gate, "a", Exactly(Gaussian::rho(0.1)));
        })),
        "span"
    );
    assert_eq!(
        at(refused(move |visits, gate| {
            let windows = visits.protect(|v| v.0).tumbling(ten(), |v| v.3).between(0, 5);
            windows.bound(Bound::keys(1)).count().release_at(gate, "a", Exactly(Gaussian::rho(0.1)));
        })),
        "until"
    );
    assert_eq!(
        at(refused(move |visits, gate| {
            let windows = visits.protect(|v| v.0).tumbling(ten(), |v| v.3).between("2026-11-01", "yesterday");
            windows.bound(Bound::keys(1)).count().release_at(gate, "a", Exactly(Gaussian::rho(0.1)));
        })),
        "time"
    );
    assert_eq!(
        at(refused(move |visits, gate| {
            let windows = visits.protect(|v| v.0).tumbling(ten(), |v| v.3).from(0).late(minutes(-1));
            windows.bound(Bound::keys(1)).count().release_at(gate, "a", Exactly(Gaussian::rho(0.1)));
        })),
        "span"
    );
    let bounded = move |bound: Bound| {
        at(refused(move |visits, gate| {
            let windows = visits.protect(|v| v.0).tumbling(ten(), |v| v.3).from(0);
            windows.bound(bound).count().release_at(gate, "a", Exactly(Gaussian::rho(0.1)));
        }))
    };
    assert_eq!(bounded(Bound::keys(0)), "keys");
    assert_eq!(bounded(Bound::keys(1).per_key(0)), "per_key");
    assert_eq!(bounded(Bound::keys(1).windows(0)), "windows");
    assert_eq!(
        at(refused(move |visits, gate| {
            let windows = visits.protect(|v| v.0).tumbling(ten(), |v| v.3).from(0);
            let people = windows.bound(Bound::keys(1));
            people.sum(|v| v.2, (5, 4)).release_at(gate, "a", Exactly(Gaussian::rho(0.1)));
        })),
        "range"
    );
    assert_eq!(
        at(refused(move |visits, gate| {
            let windows = visits.protect(|v| v.0).tumbling(ten(), |v| v.3).from(0);
            let people = windows.bound(Bound::keys(1));
            people.count_by(|v| v.1, Keys::public([1, 1])).release_at(gate, "a", Exactly(Gaussian::rho(0.1)));
        })),
        "keys"
    );
    assert_eq!(
        at(refused(move |visits, gate| {
            let windows = visits.protect(|v| v.0).tumbling(ten(), |v| v.3).from(0);
            windows.bound(Bound::keys(1)).count().release_at(gate, "a", Exactly(Laplace::epsilon(0.0)));
        })),
        "epsilon"
    );
    assert_eq!(
        at(refused(move |visits, gate| {
            let windows = visits.protect(|v| v.0).tumbling(ten(), |v| v.3).from(0);
            windows.bound(Bound::keys(1)).count().release_at(gate, "a b", Exactly(Gaussian::rho(0.1)));
        })),
        "release"
    );
}

// Refutes a removal that moves what other windows keep, under a promise whose price is that of one window.
#[test]
fn windows_of_a_person_are_not_bounded_under_a_promise_of_spans() {
    let charged = |account: &'static str, bound: Bound| {
        move |visits: Fed<'_, Event>, gate: &Recorder| {
            let windows = visits.protect(|v| v.0).tumbling(span(10), |v| v.3).between(0, 100);
            let count = windows.bound(bound).count().charged_to(account);
            count.release_at(gate, "a", Exactly(Gaussian::rho(0.1)));
        }
    };
    let message = refused(charged(recorder::SPANS, Bound::keys(1).windows(2)));
    assert!(message.starts_with("windows: ") && message.contains("a promise over a lifetime"), "{message}");
    let recorder = Recorder::new(PrivacyUnit::Person);
    for build in [charged(recorder::SPANS, Bound::keys(1)), charged("visits", Bound::keys(1).windows(2))] {
        let sealing = recorder.clone();
        assert!(run(&[Script::default()], move |visits| build(visits, &sealing)).is_ok());
    }
}

// What no two steps have a price for. Refutes a stable mean that is charged as if a stretch held all of each
// window, and a refusal of one whose windows no span of the promise cuts.
#[test]
fn a_stable_mean_is_refused_where_a_span_cuts_its_windows() {
    let charged = |account: &'static str| {
        move |visits: Fed<'_, Event>, gate: &Recorder| {
            let windows = visits.protect(|v| v.0).tumbling(span(20), |v| v.3).between(0, 100);
            let mean = windows.bound(Bound::keys(1)).mean_of(|v: &Event| [v.2, v.3]);
            let stable = mean.stable([-40..=41, 0..=100]).charged_to(account);
            stable.release_at(gate, "a", Exactly(Stable::epsilon(4.0, 1e-6).people(1_000_000)));
        }
    };
    for account in [recorder::SPANS_OF_LOW_ORDERS, "each 30 of low orders"] {
        let message = refused(charged(account));
        let says = ["currency: ", "a promise over a lifetime, or another mechanism", "a part of a person"];
        assert!(says.iter().all(|word| message.contains(word)), "{message}");
    }
    for account in ["each 20 of low orders", recorder::LOW_ORDERS] {
        let (recorder, build) = (Recorder::new(PrivacyUnit::Person), charged(account));
        let finished = run(&[Script::default()], move |visits| build(visits, &recorder));
        assert!(finished.is_ok(), "{account}: {finished:?}");
    }
}

// Refutes two statistics that would be one row.
#[test]
fn a_name_stands_for_one_statistic() {
    let message = refused(move |visits, gate| {
        let people = visits.protect(|v| v.0).tumbling(span(10), |v| v.3).from(0).bound(Bound::keys(1));
        people.clone().count().release_at(gate, "a", Exactly(Gaussian::rho(0.1)));
        people.people().release_at(gate, "a", Exactly(Gaussian::rho(0.1)));
    });
    assert_eq!(message, "release a: found two of that name; give each statistic of a job its own");
}

// Refutes a worker that leaves out operators which the others have, because it alone knows of a refusal: they
// would panic at its channels, and nobody would hear why.
#[test]
fn what_worker_0_alone_refuses_is_said_on_several_workers() {
    let message = refused(move |visits, gate| {
        let windows = visits.protect(|v| v.0).tumbling(span(10), |v| v.3).between(0, 20);
        let people = windows.bound(Bound::keys(1));
        let nowhere = people.clone().count().charged_to("nowhere");
        nowhere.release_at(gate, "count", Exactly(Gaussian::rho(0.1)));
        people.clone().people().release_at(gate, "people", Exactly(Gaussian::rho(0.1)));
        people.sum(|v| v.2, 0..=4).release_at(gate, "sum", Exactly(Gaussian::rho(0.1)));
    });
    assert_eq!(message, "account: there is none");
}

// Refutes a stream that prints its contents when it is printed.
#[test]
fn everything_on_the_way_prints_as_private() {
    let printed = Arc::new(Mutex::new(Vec::new()));
    let ears = Arc::clone(&printed);
    let finished = run(&[Script(vec![(vec![(1, 2, 3, 4, 5)], Pulled::More)])], move |visits| {
        let private = visits.protect(|visit: &Event| visit.0);
        let mut ears = ears.lock().unwrap();
        ears.push(format!("{private:?}"));
        let windowed = private.tumbling(span(10), |visit| visit.3).between(0, 10);
        ears.push(format!("{windowed:?}"));
        let bounded = windowed.bound(Bound::keys(1));
        ears.push(format!("{bounded:?}"));
        ears.push(format!("{:?}", bounded.count()));
    });
    assert!(finished.is_ok());
    assert_eq!(*printed.lock().unwrap(), ["<private>"; 4]);
}
