//! The terms that the version of a release binds, and the charge of its windows.
//!
//! The schedule is bound with its first window: state goes on from window to window, so a schedule that
//! begins earlier would have windows that no state was ever ahead of. Its end is bound where something
//! follows from it: the life against which a charge counts, the windows that are paid for where there are
//! fewer than the bound, the noise of running totals.
//!
//! # The price of the windows of one person
//!
//! A release of `N` windows, in `n` of which a person counts at most, costs `min(n, N)` times a window,
//! whether its windows overlap or not. It is enough: a person is admitted to the first `n` windows that keep
//! something of the person, by the person's own records alone, so no other window changes with the person and
//! nobody else is admitted to other ones. And it is what one person comes to: who has a record in each step
//! is admitted to the first `min(n, N)` windows, and can change each of them by all of its sensitivity. So
//! overlaps lower no price: a record in seven windows is in the sum of seven tallies, each with noise of its
//! own. What overlaps do is use windows up, as a visit on one day does with seven.
//!
//! Releases of one account each admit a person to windows of their own, and each of them can have its most
//! with the same records: their prices add up. They may be of different `n`. The test beside holds all of
//! this against every set of steps that a person can be in, for small schedules.

use crate::accounting::{Interval, Promise, ReleaseCost};
use crate::dataflow::windows::Schedule;
use crate::invalid::Invalid;
use crate::ledger::{Charge, Digest, Name, VersionTerms};
use crate::mechanisms::Paid;
use crate::time::{LIMIT, Span, Time, in_json, in_words};

/// The terms of a release: of its pipeline here, and of what is stated beside it.
pub(crate) fn terms(
    mechanism: &Digest,
    (schedule, late): (&Schedule, Option<Span>),
    (account, promise): (&Name, Promise),
    charge: &Charge,
    stated: Option<&VersionTerms>,
) -> VersionTerms {
    let late = late.map_or("0s".to_owned(), |late| in_words(late.as_microseconds().unsigned_abs()));
    let terms = VersionTerms::new()
        .binding("account", account)
        .binding("every", schedule.describe())
        .binding("late", late);
    let terms = match schedule.window(0) {
        Some(first) if schedule.is_whole() => {
            terms.binding("from", at(first.start())).binding("until", at(first.end()))
        }
        Some(first) => terms.binding("from", at(first.start())),
        None => terms,
    };
    let terms = match charge {
        Charge::Once { cost, life } if is_open(*life) => terms.binding_cost(cost),
        Charge::Once { cost, life } => terms.binding_cost(cost).binding("until", at(life.end())),
        Charge::Cost(_) => terms,
    };
    // Beside the mechanism, from which it follows: a later library may know a lower one, under which windows
    // are charged anew.
    let terms = match promise {
        Promise::Any(_) | Promise::Each(_) => terms.binding_partial(charge.cost()),
        Promise::Lifetime | Promise::Windows(_) => terms,
    };
    let terms = terms.binding_all("mechanism", mechanism);
    match stated {
        Some(stated) => terms.and(stated),
        None => terms,
    }
}

/// A time, as lines say it; one that has no name there, as a number.
fn at(time: Time) -> String {
    match in_json(time).trim_matches('"') {
        "null" => format!("{time} microseconds"),
        moment => moment.to_owned(),
    }
}

/// Returns the charge of a release's windows: one for each; or, if the windows of a person are bounded, a
/// reservation before the first; or one for all of them.
///
/// What is paid for all windows, however many there are, counts for as long as there may be any: where an
/// account holds everything together that makes no difference, and a schedule that goes on for longer goes on
/// with it. Where spans of time have their own, they are charged up to the last window and no further.
pub(crate) fn charge(
    (cost, paid): (&ReleaseCost, Paid),
    windows: Option<u64>,
    schedule: &Schedule,
    promise: Promise,
) -> Result<Charge, Invalid> {
    let life = || match promise {
        Promise::Lifetime | Promise::Windows(_) => Interval::new(schedule.life()?.start(), LIMIT),
        _ => schedule.life(),
    };
    if let Paid::Once { windows } = paid {
        let life = match windows {
            Some(windows) => schedule.life_of_the_first(windows)?,
            None => life()?,
        };
        return Ok(Charge::Once { cost: cost.clone(), life });
    }
    let Some(windows) = windows else { return Ok(Charge::Cost(cost.clone())) };
    let paid = windows.min(schedule.count());
    let amount = cost.amount().times(paid)?;
    // Fewer than the bound: a later end adds windows to what is paid for. The terms of a single window name
    // its end anyway.
    let has_fewer = schedule.count() < windows && !schedule.is_whole();
    let life = if has_fewer { schedule.life_of_the_first(paid)? } else { life()? };
    Ok(Charge::Once { cost: ReleaseCost::new(cost.neighbours(), amount), life })
}

/// Returns true if the interval has no end.
fn is_open(life: Interval) -> bool {
    life.end() == LIMIT
}

#[cfg(test)]
mod of_one_person;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::{Adjacency, PrivacyCost};
    use crate::time::{hours, minutes};

    const DAY: Time = 86_400_000_000;

    fn daily(from: Time, until: Option<Time>) -> Schedule {
        Schedule::tumbling(hours(24), from, until).unwrap()
    }

    fn cost() -> ReleaseCost {
        ReleaseCost::new(Adjacency::PERSON, PrivacyCost::zcdp(0.5).unwrap())
    }

    fn bound(
        schedule: &Schedule,
        late: i64,
        (paid, windows): (Paid, Option<u64>),
        promise: Promise,
    ) -> Digest {
        let charge = charge((&cost(), paid), windows, schedule, promise).unwrap();
        let late = (late > 0).then(|| minutes(late).unwrap());
        let account = Name::new("account", "visits").unwrap();
        *terms(&Digest::of(b"mechanism"), (schedule, late), (&account, promise), &charge, None).digest()
    }

    const EACH: (Paid, Option<u64>) = (Paid::EachWindow, None);
    const SOME: (Paid, Option<u64>) = (Paid::EachWindow, Some(3));
    const ONCE: (Paid, Option<u64>) = (Paid::Once { windows: None }, None);

    // Refutes a version under which windows are added before those that were settled, or that counts other
    // records.
    #[test]
    fn the_first_window_and_lateness_are_bound() {
        for way in [EACH, SOME, ONCE] {
            let due = bound(&daily(0, Some(10 * DAY)), 0, way, Promise::Lifetime);
            let other = |from, until| bound(&daily(from, Some(until)), 0, way, Promise::Lifetime);
            assert_ne!(other(-DAY, 10 * DAY), due, "earlier");
            assert_ne!(other(DAY, 10 * DAY), due, "later");
            assert_eq!(other(1 - DAY, 10 * DAY), due, "the same first window");
            assert_ne!(bound(&daily(0, Some(10 * DAY)), 1, way, Promise::Lifetime), due, "late");
            let hourly = Schedule::tumbling(hours(12), 0, Some(10 * DAY)).unwrap();
            assert_ne!(bound(&hourly, 0, way, Promise::Lifetime), due, "other windows");
        }
        let whole = |until| bound(&Schedule::whole(0, until).unwrap(), 0, EACH, Promise::Lifetime);
        assert_ne!(whole(DAY), whole(2 * DAY), "the end of the one window");
    }

    // Refutes an account under whose promise windows are cut, and charged another price for it under the same
    // version.
    #[test]
    fn the_partial_price_is_bound_where_windows_are_cut() {
        let account = Name::new("account", "visits").unwrap();
        let bound = |partial: Option<f64>, once: bool, promise| {
            let cost = match partial {
                Some(rho) => cost().with_partial(PrivacyCost::zcdp(rho).unwrap()).unwrap(),
                None => cost(),
            };
            let life = Interval::new(0, DAY).unwrap();
            let charge = if once { Charge::Once { cost, life } } else { Charge::Cost(cost) };
            let (mechanism, schedule) = (Digest::of(b"mechanism"), daily(0, Some(10 * DAY)));
            *terms(&mechanism, (&schedule, None), (&account, promise), &charge, None).digest()
        };
        for once in [false, true] {
            for promise in [Promise::Any(DAY as u64), Promise::Each(DAY as u64)] {
                assert_ne!(bound(Some(1.0), once, promise), bound(Some(1.5), once, promise));
                // Four times the whole is what is charged where nothing else was stated.
                assert_eq!(bound(Some(2.0), once, promise), bound(None, once, promise));
            }
            for promise in [Promise::Lifetime, Promise::Windows(3)] {
                assert_eq!(bound(Some(1.0), once, promise), bound(Some(1.5), once, promise));
            }
        }
    }

    // A later end is bound where a price or a life follows from it, and nowhere else. Refutes a price that
    // changes under a version, and spans of time that are not charged for windows in them.
    #[test]
    fn the_last_window_is_bound_where_something_follows_from_it() {
        let bound = |until, way, promise| bound(&daily(0, until), 0, way, promise);
        let later = [Some(20 * DAY), None];
        for until in later {
            for way in [EACH, SOME, ONCE] {
                assert_eq!(
                    bound(until, way, Promise::Lifetime),
                    bound(Some(10 * DAY), way, Promise::Lifetime)
                );
            }
            for promise in [Promise::Any(5 * DAY as u64), Promise::Each(5 * DAY as u64)] {
                assert_ne!(bound(until, ONCE, promise), bound(Some(10 * DAY), ONCE, promise));
                assert_eq!(bound(until, EACH, promise), bound(Some(10 * DAY), EACH, promise));
            }
        }
        // Three windows of a person cost more than two, and four no more than three: no terms but those of
        // fewer windows than the bound hold an end.
        let of = |until| {
            let schedule = daily(0, until);
            let charge = charge((&cost(), SOME.0), SOME.1, &schedule, Promise::Windows(3)).unwrap();
            let account = Name::new("account", "visits").unwrap();
            terms(
                &Digest::of(b"mechanism"),
                (&schedule, None),
                (&account, Promise::Windows(3)),
                &charge,
                None,
            )
        };
        let two = daily(0, Some(2 * DAY));
        let two = charge((&cost(), SOME.0), SOME.1, &two, Promise::Windows(3)).unwrap();
        assert!(matches!(two, Charge::Once { life, .. } if life == Interval::new(0, 2 * DAY).unwrap()));
        let one = of(Some(DAY));
        assert_eq!(of(Some(DAY + 1)), one, "no window more");
        for until in [Some(2 * DAY), Some(3 * DAY), None] {
            assert_ne!(of(until).digest(), one.digest());
        }
        let three = of(Some(3 * DAY));
        for until in [Some(4 * DAY), Some(20 * DAY), None] {
            assert_eq!(of(until), three, "what is paid for stays the same");
        }
        let named = |terms: &VersionTerms| terms.names().any(|name| name == "until");
        assert_eq!(
            [named(&one), named(&of(Some(2 * DAY))), named(&three), named(&of(None))],
            [true, true, false, false]
        );
    }
}
