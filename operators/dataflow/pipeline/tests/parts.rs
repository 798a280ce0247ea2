//! Parts of a person, replayed: what it changes that only the records of some time are gone.

mod answers;
mod others;
mod scene;

use scene::{Scene, rho};

use super::neighbours::{replayed, without};
use super::*;
use crate::accounting::{Account, Adjacency, Omega, PrivacyCost, Promise, ReleaseCost};
use crate::ledger::Charge;

/// As many scenes as reach every price, under each promise and in windows of each kind.
const RUNS: u64 = 180;

const KEYS: u32 = 2;
const PER_KEY: i64 = 3;

/// A statistic, and the numbers that have noise of their own: which of people, records and sum, how far all
/// of a person moves it in a key, and which share of the price it has.
struct Released {
    name: &'static str,
    numbers: &'static [(usize, i128, f64)],
    /// The price of a part over the price of a whole, by hand.
    factor: f64,
}

/// `sum`: from -30 to 50, so (80 / 50)^2. `mean`: 70 percent for a sum that moves by twice as much, in half
/// units of 81 a record, where 30 percent count records. `both` has no other key to keep.
const RELEASED: [Released; 8] = [
    Released { name: "count", numbers: &[(1, PER_KEY as i128, 1.0)], factor: 2.0 },
    Released { name: "open", numbers: &[(1, PER_KEY as i128, 1.0)], factor: 2.0 },
    Released { name: "people", numbers: &[(0, 1, 1.0)], factor: 2.0 },
    Released { name: "sum", numbers: &[(2, 50, 1.0)], factor: 2.56 },
    Released { name: "amounts", numbers: &[(2, 50, 1.0)], factor: 2.0 },
    Released {
        name: "mean",
        numbers: &[(2, PER_KEY as i128 * 81, 0.7), (1, PER_KEY as i128, 0.3)],
        factor: 2.8,
    },
    Released { name: "histogram", numbers: &[(1, PER_KEY as i128, 1.0)], factor: 2.0 },
    Released { name: "both", numbers: &[(1, PER_KEY as i128, 1.0)], factor: 1.0 },
];

fn release(recorder: &Recorder, scene: &Scene) -> impl Fn(Fed<'_, Event>) + Send + Sync + use<> {
    let (recorder, schedule, account) = (recorder.clone(), scene.schedule.clone(), scene.account());
    move |visits| {
        let windows = visits.protect(|visit| visit.0).scheduled(schedule.clone(), |visit| visit.3);
        let people = windows.bound(Bound::keys(2).per_key(3));
        let noise = || Exactly(Gaussian::rho(0.5));
        let listed = || Keys::public(0..9);
        people.clone().count_by(|v| v.1, listed()).charged_to(&account).release_at(
            &recorder,
            "count",
            noise(),
        );
        people.clone().count_by(|v| v.1, Keys::discover(1e-3)).charged_to(&account).release_at(
            &recorder,
            "open",
            noise(),
        );
        people.clone().people_by(|v| v.1, listed()).charged_to(&account).release_at(
            &recorder,
            "people",
            noise(),
        );
        people.clone().sum_by(|v| v.1, listed(), |v| v.2, -30..=50).charged_to(&account).release_at(
            &recorder,
            "sum",
            noise(),
        );
        people.clone().sum_by(|v| v.1, listed(), |v| v.2, 0..=50).charged_to(&account).release_at(
            &recorder,
            "amounts",
            noise(),
        );
        people.clone().mean_by(|v| v.1, listed(), |v| v.2, -40..=41).charged_to(&account).release_at(
            &recorder,
            "mean",
            noise(),
        );
        let edges = crate::mechanisms::Edges::new([-6, -4, -2, 0, 2, 8]);
        people.clone().histogram_by(|v| v.2, edges).charged_to(&account).release_at(
            &recorder,
            "histogram",
            noise(),
        );
        people.count_by(|v| v.1 % 2, Keys::public(0..2)).charged_to(&account).release_at(
            &recorder,
            "both",
            noise(),
        );
    }
}

// Refutes the price of a whole person for a part of one, a price that nothing reaches, a charge of fewer
// windows than the removed records move, and a window that changes though none of its records did.
#[test]
fn a_part_of_a_person_moves_a_window_by_no_more_than_its_partial_price() {
    // Of each kind of schedule, and of promise.
    let mut reached = [[[0f64; 3]; 2]; RELEASED.len()];
    for seed in 0..RUNS {
        let scene = Scene::new(seed);
        let [one, other] = scene.replayed(seed, |recorder| release(recorder, &scene));
        for (released, reached) in RELEASED.iter().zip(&mut reached) {
            let mut together = 0.0;
            for sealed in one.iter().filter(|sealed| sealed.release.name.as_str() == released.name) {
                let Charge::Cost(cost) = &sealed.charge else { panic!("paid once") };
                let factor = rho(&cost.partial().unwrap()) / rho(cost.amount());
                assert!(
                    factor >= released.factor && factor < released.factor * 1.001,
                    "{}: {factor}",
                    released.name
                );
                let (window, price) = (sealed.release.window, scene.price(sealed.release.window, cost));
                let twin = other.iter().find(|other| other.release == sealed.release).unwrap();
                let cell = |sealed: &Sealed, name: &String| {
                    sealed.exact.get(name).cloned().unwrap_or_else(|| vec![0; 3])
                };
                let names: std::collections::BTreeSet<&String> =
                    sealed.exact.keys().chain(twin.exact.keys()).collect();
                let mut moved = 0.0;
                for name in names {
                    let (one, other) = (cell(sealed, name), cell(twin, name));
                    for &(number, most, share) in released.numbers {
                        let difference = (one[number] - other[number]) as f64 / most as f64;
                        moved += share * difference * difference / f64::from(KEYS);
                    }
                }
                assert!(
                    moved <= price * 1.000_001,
                    "seed {seed}, {} in {window:?}: {moved} at {price}",
                    released.name
                );
                together += moved;
                let [schedule, promise] = scene.kinds;
                reached[0][schedule] = reached[0][schedule].max(moved);
                reached[1][promise] = reached[1][promise].max(moved);
            }
            let charged = scene.charged(&one, released.name);
            assert!(
                together <= charged * 1.000_001,
                "seed {seed}, {}: {together} at {charged}",
                released.name
            );
        }
    }
    for (released, reached) in RELEASED.iter().zip(reached) {
        let [schedules, [lifetime, spans @ ..]] = reached;
        assert!(lifetime > 0.99, "{}: {lifetime}: too weak a test", released.name);
        for reached in schedules.into_iter().chain(spans) {
            assert!(
                reached >= released.factor * 0.99,
                "{}: {reached} of {}: too weak a test",
                released.name,
                released.factor
            );
        }
    }
}
