//! Stands in for the gate: draws at once, from a source that writes down what it is asked for, and keeps all
//! that is sealed.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use zeroize::Zeroizing;

use crate::accounting::{Adjacency, Omega, PrivacyCost, PrivacyUnit, Promise, ReleaseCost};
use crate::dataflow::driver::ProcessShared;
use crate::dataflow::pipeline::backend::{Opened, StatisticBackend};
use crate::dataflow::release::{ReleaseBackend, Wake};
use crate::gate::{
    BudgetStatus, GateEvent, Memory, Noted, Positions, ReleaseRequest, ResumePositions, ResumeUpdate,
    SkipReason,
};
use crate::invalid::Invalid;
use crate::ledger::{
    AccountSpec, Digest, Forecast, LedgerError, Name, ReleaseId, ReleaseStatus, Row, VersionTerms,
};
use crate::mechanisms::mechanism;
use crate::mechanisms::{
    Cells, Drawn, Head, Key, Label, Mechanism, Paid, Prepared, ReleaseLines, Statistic, Summary,
};
use crate::noise::{NoiseSource, RecordedDraw as Asked};
use crate::time::Time;

/// The key of the contribution selection in all of these tests.
pub(in super::super::super::pipeline) const SECRET: [u8; 32] = [9; 32];

/// One window as it was sealed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super::super::pipeline) struct Sealed {
    pub(in super::super::super::pipeline) release: ReleaseId,
    pub(in super::super::super::pipeline) charge: crate::ledger::Charge,
    /// The requested noise distributions, and the number of draws from each.
    pub(in super::super::super::pipeline) requests: Vec<Asked>,
    /// The exact tally of each key, of whatever it is made.
    pub(in super::super::super::pipeline) exact: BTreeMap<String, Vec<i128>>,
    /// The line that would be released, with the noise of a seed that is the same for every release.
    pub(in super::super::super::pipeline) released: String,
}

/// The resume positions that rows were written with, and the end of the last row of each release.
#[derive(Default)]
struct Resume {
    ends: HashMap<(Name, Digest), Time>,
    pending: Vec<ResumeUpdate>,
    written: Option<ResumePositions>,
}

impl Resume {
    /// Writes a row, with the positions that came before it.
    fn row(&mut self, release: &ReleaseId) {
        let end = self.ends.entry((release.name.clone(), release.version)).or_insert(Time::MIN);
        *end = release.window.end().max(*end);
        for update in self.pending.drain(..) {
            let ResumeUpdate { input, replaces, since, reading, releases, parts, changed, is_urgent: _ } =
                update;
            assert_eq!(input, 0);
            let former = self.written.take().filter(|_| !replaces);
            let mut all = former.map_or_else(Vec::new, |former| former.parts);
            all.resize(parts, Positions::new());
            for (part, partition, position) in changed {
                match position {
                    Some(position) => _ = all[part].insert(partition, position),
                    None => _ = all[part].remove(&partition),
                }
            }
            self.written = Some(ResumePositions { since, reading, releases, parts: all });
        }
    }
}

/// Notes with their places.
type Notes = Vec<(i64, Vec<u8>)>;

/// A backend that records sealed releases in tests. It survives a run, as a ledger does.
#[derive(Clone)]
pub(in super::super::super::pipeline) struct Recorder {
    unit: PrivacyUnit,
    version: u32,
    kept: Arc<Mutex<HashMap<Name, Vec<u8>>>>,
    noted: Arc<Mutex<HashMap<Name, Notes>>>,
    sealed: Arc<Mutex<Vec<Sealed>>>,
    refusing: Arc<Mutex<Vec<Time>>>,
    answered: Arc<Mutex<usize>>,
    rows: Arc<Mutex<HashMap<Digest, String>>>,
    resume: Arc<Mutex<Resume>>,
    /// The seed of the next draw, where each has its own.
    seeds: Option<Arc<Mutex<u64>>>,
}

impl Recorder {
    pub(in super::super::super::pipeline) fn new(unit: PrivacyUnit) -> Recorder {
        let (kept, noted, sealed, refusing, answered, rows, resume) = Default::default();
        Recorder { unit, version: 1, kept, noted, sealed, refusing, answered, rows, resume, seeds: None }
    }

    /// The same, with a seed of its own for every draw from this one on: for what is released, not for what is
    /// asked.
    pub(in super::super::super::pipeline) fn seeded(self, first: u64) -> Recorder {
        Recorder { seeds: Some(Arc::new(Mutex::new(first))), ..self }
    }

    fn seed(&self) -> u64 {
        self.seeds.as_ref().map_or(1, |seeds| {
            let mut next = seeds.lock().unwrap();
            *next += 1;
            *next
        })
    }

    /// The same for a later version of the job.
    pub(in super::super::super::pipeline) fn of_version(&self, version: u32) -> Recorder {
        Recorder { version, ..self.clone() }
    }

    /// Refuses the windows that start then.
    pub(in super::super::super::pipeline) fn refuses(&self, starts: impl IntoIterator<Item = Time>) {
        self.refusing.lock().unwrap().extend(starts);
    }

    /// Returns true if it refuses the window that starts at this time.
    pub(in super::super::super::pipeline) fn is_refusing(&self, start: Time) -> bool {
        self.refusing.lock().unwrap().contains(&start)
    }

    /// Returns true once resume positions are kept for the next row.
    pub(in super::super::super::pipeline) fn has_positions(&self) -> bool {
        !self.resume.lock().unwrap().pending.is_empty()
    }

    /// Returns the number of windows that were answered so far.
    pub(in super::super::super::pipeline) fn answered(&self) -> usize {
        *self.answered.lock().unwrap()
    }

    /// Returns the windows that were sealed since the last call.
    pub(in super::super::super::pipeline) fn sealed(&self) -> Vec<Sealed> {
        std::mem::take(&mut *self.sealed.lock().unwrap())
    }

    /// The exact tallies of a statistic, by the start of its windows.
    pub(in super::super::super::pipeline) fn tallies(
        sealed: &[Sealed],
        name: &str,
    ) -> BTreeMap<Time, BTreeMap<String, Vec<i128>>> {
        let of_name = sealed.iter().filter(|sealed| sealed.release.name.as_str() == name);
        of_name.map(|sealed| (sealed.release.window.start(), sealed.exact.clone())).collect()
    }

    /// The same of one that is released as people, records and sums.
    pub(in super::super::super::pipeline) fn exact(
        sealed: &[Sealed],
        name: &str,
    ) -> BTreeMap<Time, BTreeMap<String, [i128; 3]>> {
        let three = |(key, numbers): (String, Vec<i128>)| (key, numbers.try_into().unwrap());
        let tallies = Recorder::tallies(sealed, name).into_iter();
        tallies.map(|(start, keys)| (start, keys.into_iter().map(three).collect())).collect()
    }
}

/// The budget for what has a price at low orders only.
pub(in super::super::super::pipeline) const LOW_ORDERS: &str = "low orders";

/// A budget for any short span of time. Every name of this form, or with `each`, is a budget of that promise.
pub(in super::super::super::pipeline) const SPANS: &str = "any 30";

/// The same for what has a price at low orders only.
pub(in super::super::super::pipeline) const SPANS_OF_LOW_ORDERS: &str = "any 30 of low orders";

impl StatisticBackend for Recorder {
    fn answers_for(&self, _: &ProcessShared) {}

    fn job(&self) -> Name {
        Name::new("job", "web").unwrap()
    }

    fn version(&self) -> u32 {
        self.version
    }

    fn secret(&self) -> Zeroizing<[u8; 32]> {
        Zeroizing::new(SECRET)
    }

    fn account(&self, named: Option<&str>, unit: PrivacyUnit) -> Result<AccountSpec, LedgerError> {
        if named == Some("nowhere") {
            return Err(LedgerError::refused("account: there is none"));
        }
        assert_eq!(unit, self.unit, "charged to a budget of another unit");
        let name = Name::new("account", "visits").unwrap();
        let neighbours = Adjacency { unit, ..Adjacency::PERSON };
        let cap = match named {
            Some(named) if named.ends_with(LOW_ORDERS) => {
                PrivacyCost::approximate_zcdp(500.0, Omega::below(10.0).unwrap(), Some(0.01))
            }
            _ => PrivacyCost::zcdp(500.0),
        };
        let words: Vec<&str> = named.unwrap_or_default().split(' ').collect();
        let promise = match words[..] {
            ["any", span, ..] => Promise::Any(span.parse().unwrap()),
            ["each", span, ..] => Promise::Each(span.parse().unwrap()),
            _ => Promise::Lifetime,
        };
        Ok(AccountSpec::new(name, neighbours, promise, cap.unwrap()).unwrap())
    }

    fn open(&self, name: &Name, _: u32, _: &VersionTerms, wake: Wake) -> Result<Opened, LedgerError> {
        let state = self.kept.lock().unwrap().get(name).cloned().map(Zeroizing::new);
        let notes = self.noted.lock().unwrap().get(name).cloned().unwrap_or_default();
        let notes = notes.into_iter().map(|(place, text)| (place, Zeroizing::new(text))).collect();
        let memory = state.map(|state| Memory { state, notes, is_foreign: false });
        let handle = Recording { recorder: self.clone(), released: Mutex::default(), wake: Mutex::new(wake) };
        Ok((Box::new(handle), memory))
    }
}

struct Recording {
    recorder: Recorder,
    released: Mutex<VecDeque<GateEvent>>,
    wake: Mutex<Wake>,
}

impl Recording {
    fn record(&self, release: ReleaseId, status: ReleaseStatus, line: String) {
        self.recorder.resume.lock().unwrap().row(&release);
        let budget_status = BudgetStatus {
            account: release.account.clone(),
            job: release.job.clone(),
            window: release.window,
            spent: PrivacyCost::zcdp(0.25).unwrap(),
            cap: PrivacyCost::zcdp(1.0).unwrap(),
            forecast: Arc::new(Forecast::unseen()),
            order: 0,
            took: std::time::Duration::ZERO,
        };
        let row = crate::dataflow::tests::stand_in::row(release, status, line);
        *self.recorder.answered.lock().unwrap() += 1;
        self.released.lock().unwrap().push_back(GateEvent::Row(Box::new(row), Box::new(budget_status)));
        (self.wake.lock().unwrap())();
    }
}

impl ReleaseBackend for Recording {
    fn submit(&self, request: ReleaseRequest) -> Result<(), LedgerError> {
        let ReleaseRequest { release, charge, sealable } = request;
        let row = self.recorder.rows.lock().unwrap().get(&release.id()).cloned();
        if let Some(line) = row {
            self.record(release, ReleaseStatus::Sealed, line);
            return Ok(());
        }
        let (mut kept, mut noise) =
            (self.recorder.kept.lock().unwrap(), NoiseSource::recording(self.recorder.seed()));
        let state = kept.get(&release.name).cloned();
        assert!(state.is_none() || sealable.keeps_state());
        let keeps_state = sealable.keeps_state();
        let drawn = sealable.draw(state.as_deref(), &mut noise);
        assert!(drawn.state.is_none() || keeps_state, "state is kept in turns only");
        if self.recorder.refusing.lock().unwrap().contains(&release.window.start()) {
            drop(kept);
            self.record(release, ReleaseStatus::Refused, "refused".to_owned());
            return Ok(());
        }
        if let Some(state) = drawn.state {
            kept.insert(release.name.clone(), state);
            if let Some(Noted { place, since, text }) = drawn.note {
                let mut noted = self.recorder.noted.lock().unwrap();
                let notes = noted.entry(release.name.clone()).or_default();
                assert!(notes.last().is_none_or(|(last, _)| *last < place), "a place was used twice");
                notes.push((place, text));
                notes.retain(|(place, _)| *place >= since);
            }
        }
        drop(kept);
        let (exact, released) = drawn.line.split_once('\u{1}').unwrap_or(("", &drawn.line));
        let exact = exact.lines().map(|line| {
            let (numbers, key) = line.split_once(' ').unwrap();
            let numbers: Vec<i128> = numbers.split(',').map(|number| number.parse().unwrap()).collect();
            (key.to_owned(), numbers)
        });
        let sealed = Sealed {
            release: release.clone(),
            charge,
            requests: noise.requests().to_vec(),
            exact: exact.collect(),
            released: released.to_owned(),
        };
        self.recorder.sealed.lock().unwrap().push(sealed);
        self.recorder.rows.lock().unwrap().insert(release.id(), drawn.line.clone());
        self.record(release, ReleaseStatus::Sealed, drawn.line);
        Ok(())
    }

    fn seek(&self, release: ReleaseId) {
        let row = self.recorder.rows.lock().unwrap().get(&release.id()).cloned();
        match row {
            Some(line) => self.record(release, ReleaseStatus::Sealed, line),
            None => {
                self.released.lock().unwrap().push_back(GateEvent::Absent(release.id()));
                (self.wake.lock().unwrap())();
            }
        }
    }

    fn skip(&self, release: ReleaseId, _: SkipReason) {
        self.record(release, ReleaseStatus::Skipped, "skipped".to_owned());
    }

    fn hear(&self) -> Option<GateEvent> {
        self.released.lock().unwrap().pop_front()
    }

    fn delivered(&self, _: &Row) {}

    fn last_row(&self, name: &Name, version: &Digest) -> Result<Option<Time>, LedgerError> {
        Ok(self.recorder.resume.lock().unwrap().ends.get(&(name.clone(), *version)).copied())
    }

    fn resume_positions(&self, _: i64) -> Result<Option<ResumePositions>, LedgerError> {
        Ok(self.recorder.resume.lock().unwrap().written.clone())
    }

    fn keep_positions(&self, update: ResumeUpdate, _: Box<dyn FnOnce() + Send>) {
        self.recorder.resume.lock().unwrap().pending.push(update);
    }
}

/// A mechanism that releases the exact tally beside its own answer.
#[derive(Clone, Debug)]
pub(in super::super::super::pipeline) struct Exactly<M>(pub(in super::super::super::pipeline) M);

pub(in super::super::super::pipeline) struct ExactlyReady<R>(R);

/// Exact cells, and what a mechanism made of them.
pub(in super::super::super::pipeline) struct Both<A>(String, A);

impl<M> mechanism::Sealed for Exactly<M> {}

impl<S, M, K, C> Mechanism<S> for Exactly<M>
where
    K: Key,
    C: Summary,
    S: Statistic<Tally = Cells<K, C>>,
    M: Mechanism<S>,
{
    type Prepared = ExactlyReady<M::Prepared>;

    fn prepare(&self, statistic: &S) -> Result<Self::Prepared, Invalid> {
        self.0.prepare(statistic).map(ExactlyReady)
    }
}

impl<R> mechanism::Sealed for ExactlyReady<R> {}

impl<R, K, C> Prepared for ExactlyReady<R>
where
    K: Key,
    C: Summary,
    R: Prepared<Tally = Cells<K, C>>,
{
    type Tally = Cells<K, C>;
    type Answer = Both<R::Answer>;
    type Value = R::Value;

    fn tally(&self) -> Cells<K, C> {
        self.0.tally()
    }

    fn cost(&self) -> &ReleaseCost {
        self.0.cost()
    }

    fn parameters(&self) -> Digest {
        self.0.parameters()
    }

    fn accepts(&self, state: &[u8]) -> Result<(), Invalid> {
        self.0.accepts(state)
    }

    fn remembers(&self) -> bool {
        self.0.remembers()
    }

    fn paid(&self) -> Paid {
        self.0.paid()
    }

    fn inherits(&self, state: &[u8]) -> Result<Option<Vec<u8>>, Invalid> {
        self.0.inherits(state)
    }

    fn covers(&self) -> u64 {
        self.0.covers()
    }

    fn passed_by(&self, state: &[u8], windows: u64, noise: &mut NoiseSource) -> Vec<u8> {
        self.0.passed_by(state, windows, noise)
    }

    fn largest_needed(&self) -> Option<usize> {
        self.0.largest_needed()
    }

    fn draw(&self, exact: Cells<K, C>, state: Option<&[u8]>, noise: &mut NoiseSource) -> Drawn<Self::Answer> {
        let mut text = String::new();
        for (key, numbers) in exact.exact_for_tests_of_the_library_itself() {
            let label = match key.label() {
                Label::Whole => String::new(),
                Label::Number(number) => number.to_string(),
                Label::Text(text) => text.into_owned(),
                Label::Texts(parts) => parts.join(", "),
            };
            if numbers.iter().any(|number| *number != 0) {
                let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
                text += &format!("{} {label}\n", numbers.join(","));
            }
        }
        let Drawn { answer, state, .. } = self.0.draw(exact, state, noise);
        Drawn { answer: Both(text, answer), state, step: None }
    }
}

impl<A: ReleaseLines> ReleaseLines for Both<A> {
    fn lines(&self, head: &Head<'_>) -> String {
        format!("{}\u{1}{}", self.0, self.1.lines(head))
    }
}
