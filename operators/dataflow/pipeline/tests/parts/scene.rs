//! One person whose records of some time are removed: under each promise, in windows of each kind of
//! schedule.

use super::*;

const DAY: Time = 86_400_000_000;
/// The clock of Berlin goes forward two days later, so one window has 23 hours.
const MARCH_27: Time = 20_539 * DAY;

/// The records of a run, and the stretch of time in which those of one person are removed.
pub(super) struct Scene {
    /// The kinds of schedule and of promise, as numbers.
    pub(super) kinds: [usize; 2],
    pub(super) schedule: Schedule,
    pub(super) promise: Promise,
    scripts: Vec<Script<Event>>,
    target: u64,
    /// `None` is all time.
    gone: Option<Interval>,
}

impl Scene {
    /// Consecutive seeds go through all kinds of schedules, of promises and of contributions.
    pub(super) fn new(seed: u64) -> Scene {
        let mut random = Random::new(seed);
        let [schedule_kind, promise_kind, contribution] = [seed % 3, seed / 3 % 3, seed / 9 % 4];
        // A day of the calendar is as long as a window of the others, in units of the scene's clock.
        let (from, unit) = if schedule_kind == 2 { (MARCH_27, DAY / 20) } else { (0, 1) };
        let until = from + HORIZON * unit;
        let schedule = match schedule_kind {
            0 => Schedule::tumbling(span(20), 0, Some(HORIZON)),
            1 => Schedule::sliding(span(40), span(20), 0, Some(HORIZON)),
            _ => {
                let days = Calendar::days(1).over(1 + random.below(2) as u32).in_zone("Europe/Berlin");
                Schedule::calendar(&days, from - DAY, Some(until + DAY))
            }
        };
        let schedule = schedule.unwrap();
        let window = schedule.window(random.below(schedule.count() as usize) as u64).unwrap();
        let (start, length) = (window.start(), window.end() - window.start());
        let middle = start + length / 2;
        // Half a window, a whole one, or what has nothing to do with either.
        let span = random.pick(&[length / 2, length / 2, length / 2, length, 30 * unit, 8 * HORIZON * unit]);
        let first = match promise_kind {
            _ if random.below(5) == 0 => from + random.below(HORIZON as usize) as Time * unit,
            _ => start,
        };
        let (promise, gone) = match promise_kind {
            0 => (Promise::Lifetime, None),
            1 => (Promise::Any(span.unsigned_abs()), Some(first)),
            _ => (Promise::Each(span.unsigned_abs()), Some(first.div_euclid(span) * span)),
        };
        let gone = gone.map(|gone| Interval::new(gone, gone + span).unwrap());
        // What is removed of the window ends in it, where it can.
        let cut = gone.map(|gone| gone.end()).filter(|end| (start + 8..window.end() - 8).contains(end));
        let target = random.below(1 << 30) as u64 + 100;
        let mut records = events(&mut random);
        for event in records.iter_mut().filter(|event| (0..HORIZON).contains(&event.3)) {
            event.3 = from + event.3 * unit;
        }
        records.extend(contributed(contribution, target, [start, cut.unwrap_or(middle), window.end()]));
        // Six people on either side of the middle: ranks are off by as much as one person moves them.
        let value = |person| if person % 2 == 0 { -10 } else { 10 };
        let both = (50..62).flat_map(|person| [(person, 3), (person, 4)]);
        records.extend(both.map(|(person, key)| -> Event { (person, key, value(person), start, 0) }));
        let workers = 1 + random.below(3);
        let scripts = divided(&mut random, &records, workers);
        Scene {
            kinds: [schedule_kind as usize, promise_kind as usize],
            schedule,
            promise,
            scripts,
            target,
            gone,
        }
    }

    /// The name of a budget of this promise.
    pub(super) fn account(&self) -> String {
        match self.promise {
            Promise::Any(span) => format!("any {span}"),
            Promise::Each(span) => format!("each {span}"),
            _ => "visits".to_owned(),
        }
    }

    /// Says whether no record is in two windows.
    pub(super) fn is_side_by_side(&self) -> bool {
        !self.schedule.overlaps()
    }

    /// Rows sealed with the removed records, and without them. No request for noise depends on them, where
    /// keys are listed.
    pub(super) fn replayed<R>(&self, seed: u64, release: impl Fn(&Recorder) -> R) -> [Vec<Sealed>; 2]
    where
        R: Fn(Fed<'_, Event>) + Send + Sync + 'static,
    {
        let [one, other] = replayed(self.scripts.clone(), |event| self.stays(event), seed, release);
        assert_eq!(one.len(), other.len(), "seed {seed}");
        for (one, other) in one.iter().zip(&other) {
            assert_eq!((&one.release, &one.charge), (&other.release, &other.charge), "seed {seed}");
        }
        [one, other]
    }

    /// Inputs with the removed records, and without them.
    pub(super) fn scripts(&self) -> [Vec<Script<Event>>; 2] {
        [self.scripts.clone(), without(&self.scripts, |event| self.stays(event))]
    }

    fn stays(&self, event: &Event) -> bool {
        event.0 != self.target || !self.removes(event.3)
    }

    fn removes(&self, time: Time) -> bool {
        self.gone.is_none_or(|gone| (gone.start()..gone.end()).contains(&time))
    }

    /// The most that the removal may move of a window, in prices of a whole person: by the definition of a
    /// promise, and not as an account computes it.
    pub(super) fn price(&self, window: Interval, cost: &ReleaseCost) -> f64 {
        let Some(gone) = self.gone else { return 1.0 };
        if gone.end() <= window.start() || window.end() <= gone.start() {
            0.0
        } else if gone.start() <= window.start() && window.end() <= gone.end() {
            1.0
        } else {
            rho(&cost.partial().unwrap()) / rho(cost.amount())
        }
    }

    /// The charge of an account of the promise for the removed stretch, in prices of a whole person.
    pub(super) fn charged(&self, sealed: &[Sealed], name: &str) -> f64 {
        let cap = PrivacyCost::approximate_zcdp(500.0, Omega::EVERY, Some(0.5));
        let mut account = Account::new(self.promise, Adjacency::PERSON, cap.unwrap()).unwrap();
        let mut whole = 1.0;
        for sealed in sealed.iter().filter(|sealed| sealed.release.name.as_str() == name) {
            let (window, cost) = match &sealed.charge {
                Charge::Cost(cost) => (sealed.release.window, cost),
                Charge::Once { cost, life } => (*life, cost),
            };
            whole = rho(cost.amount());
            account.charge(window, cost).unwrap();
            if matches!(sealed.charge, Charge::Once { .. }) {
                break;
            }
        }
        let stretch = self.gone.unwrap_or(Interval::new(0, 1).unwrap());
        rho(&account.spent(stretch).unwrap()) / whole
    }
}

/// The rho of an amount.
pub(super) fn rho(amount: &PrivacyCost) -> f64 {
    match amount {
        PrivacyCost::Zcdp { rho, .. } => rho.to_bits() as f64,
        _ => panic!("{amount}"),
    }
}

/// Adds records of the target from three times on: in the part of a window that is removed, in the part that
/// stays, and in the next window. The bound keeps something else of what stays than of all.
fn contributed(kind: u64, target: u64, times: [Time; 3]) -> Vec<Event> {
    let mut records = Vec::new();
    let mut add = |keys: &[u32], each: i64, value: &[i64], place: usize| {
        for &key in keys {
            for record in 0..each {
                let value = value[record as usize % value.len()];
                records.push((target, key, value, times[place] + record % 8, 0));
            }
        }
    };
    match kind {
        // Other keys.
        0 => {
            add(&[0, 1, 2, 3, 4, 5, 6], PER_KEY, &[1000], 0);
            add(&[7, 8], PER_KEY, &[1000], 1);
            add(&[7, 8], PER_KEY, &[1000], 2);
        }
        // Other values of the same keys, and only the last few of many records.
        1 => {
            add(&[3, 4], 90, &[-1000], 0);
            add(&[3, 4], PER_KEY, &[1000], 1);
            add(&[3, 4], PER_KEY, &[1000], 2);
        }
        // As much in a later window, with other signs.
        2 => {
            add(&[3, 4], PER_KEY, &[1000], 0);
            add(&[3, 4], PER_KEY, &[-1000], 2);
        }
        // Other buckets.
        _ => {
            add(&[3], 15, &[-7, -5, -3, -1, 1], 0);
            add(&[3], 6, &[3, 100], 1);
        }
    }
    records
}
