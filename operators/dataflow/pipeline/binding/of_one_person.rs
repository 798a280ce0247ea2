//! The price of the windows of one person, against all that the person can change: every set of steps of small
//! schedules, through the tables that bound people.

use super::*;
use crate::accounting::{Adjacency, PrivacyCost};
use crate::dataflow::bounding::{Cap, ContributionSelector, Count, PersonTable, WindowAdmission};
use crate::time::hours;

const HOUR: Time = 3_600_000_000;

/// The number of steps in which people have records.
const STEPS: u64 = 6;

/// One release: its windows, and the number of them in which a person counts.
struct Release {
    schedule: Schedule,
    most: u64,
    cost: u128,
}

impl Release {
    fn new((over, step): (i64, i64), most: u64, cost: u128) -> Release {
        let end = STEPS as Time * HOUR;
        let schedule = Schedule::sliding(hours(over), hours(step), 0, Some(end)).unwrap();
        Release { schedule, most, cost }
    }

    /// The amount that is charged for all windows.
    fn charged(&self) -> u128 {
        let rho = crate::accounting::BudgetUnits::from_bits(self.cost);
        let amount = PrivacyCost::Zcdp {
            rho,
            delta: crate::accounting::BudgetUnits::ZERO,
            omega: crate::accounting::Omega::EVERY,
        };
        let cost = ReleaseCost::new(Adjacency::PERSON, amount);
        let promise = Promise::Windows(self.most as u32);
        let charge = charge((&cost, Paid::EachWindow), Some(self.most), &self.schedule, promise).unwrap();
        match charge {
            Charge::Once { cost, .. } => match cost.amount() {
                PrivacyCost::Zcdp { rho, .. } => rho.to_bits(),
                other => panic!("{other}"),
            },
            Charge::Cost(_) => panic!("windows of a person are reserved"),
        }
    }

    /// The tally of every window, of people who have a record in each step of their set.
    fn tallies(&self, people: &[u64]) -> Vec<Vec<(u32, u64)>> {
        let mut admission = WindowAdmission::new(self.most).unwrap();
        let windows = (0..self.schedule.count()).filter_map(|number| self.schedule.window(number));
        let tally = |window: Interval| {
            let rule = Count;
            let mut table =
                PersonTable::new(ContributionSelector::new([1; 32]), Cap::new(1, 1).unwrap(), rule);
            for (person, steps) in people.iter().enumerate() {
                let held = |step: &u64| {
                    let time = *step as Time * HOUR;
                    steps >> step & 1 == 1 && window.start() <= time && time < window.end()
                };
                (0..STEPS).filter(held).for_each(|_| table.add(person as u64, &7u32, ()));
            }
            let admit = |person: &u64| admission.admit(person);
            table.close(admit, |people: &mut u64, _| *people += 1)
        };
        windows.map(tally).collect()
    }

    /// The cost of the windows that one person changes, beside others.
    fn changed(&self, steps: u64, others: &[u64]) -> u128 {
        let with: Vec<u64> = others.iter().copied().chain([steps]).collect();
        let (with, without) = (self.tallies(&with), self.tallies(others));
        let changed = with.iter().zip(&without).filter(|(with, without)| with != without).count();
        changed as u128 * self.cost
    }
}

const OVERLAPS: [(i64, i64); 7] = [(1, 1), (2, 2), (2, 1), (3, 1), (4, 2), (5, 1), (6, 1)];

// Refutes a price for fewer windows than one person is in, one for each record of an overlap, one for more windows than
// there are, and others whose windows change with the person.
#[test]
fn the_price_is_what_one_person_can_change() {
    for form in OVERLAPS {
        for most in 1..=STEPS + 1 {
            let release = Release::new(form, most, 5);
            for others in [&[][..], &[0b10_1101], &[0b11, 0b11_1111]] {
                let worst = (0..1 << STEPS).map(|steps| release.changed(steps, others)).max();
                assert_eq!(worst, Some(release.charged()), "{form:?} {most}");
            }
        }
    }
}

// Refutes prices of releases that one person cannot reach together, and an account of which each release has the largest
// number of windows of any.
#[test]
fn releases_of_one_account_add_up_each_with_its_own_windows() {
    for one in OVERLAPS {
        for other in OVERLAPS {
            for (most, fewer) in [(1, 1), (3, 3), (4, 1), (5, 2)] {
                let releases = [Release::new(one, most, 5), Release::new(other, fewer, 7)];
                let of = |steps| releases.iter().map(|release| release.changed(steps, &[])).sum::<u128>();
                let all: u128 = releases.iter().map(Release::charged).sum();
                assert_eq!((0..1 << STEPS).map(of).max(), Some(all), "{one:?} {other:?}");
            }
        }
    }
}

// One record is in as many windows as overlap: with fewer than that, a visit of one step is not in all that hold it.
#[test]
fn a_visit_of_one_step_uses_the_windows_that_hold_it() {
    for (over, used) in [(1, 1), (3, 3), (5, 2)] {
        let release = Release::new((over, 1), STEPS, 1);
        let worst = (0..STEPS).map(|step| release.changed(1 << step, &[])).max();
        assert_eq!(worst, Some(used), "{over}");
    }
}
