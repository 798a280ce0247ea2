//! Where the operator that releases meets the gate: one desk a statistic, at the worker that holds the gate.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use crossbeam_channel::{Receiver, Sender, unbounded};

use crate::accounting::Amount;
use crate::gate::{Delivery, Doubt, Gate, Request, Told};
use crate::ledger::{Ledger, Name, Release, Row, Trouble};

/// What there is to hear at a desk.
#[derive(Debug)]
pub(crate) enum Heard {
    /// A row, read back; and what is spent and what the cap is where its release was charged.
    Row { row: Box<Row>, spent: Option<(Amount, Amount)> },
    /// Nothing more will be released.
    Halted(Doubt),
}

/// Called from the gate's thread when there is something to hear.
pub(crate) type Wake = Box<dyn Fn() + Send>;

/// One statistic's place at the gate. Nothing here waits.
pub(crate) trait Desk: Send {
    fn submit(&mut self, request: Request) -> Result<(), Trouble>;
    /// Its time has passed: what has no row yet is skipped.
    fn miss(&mut self, release: Release);
    fn hear(&mut self) -> Option<Heard>;
    fn delivered(&mut self, row: &Row);
}

/// The gate of a process, shared by its workers and by all statistics of its job. Opened once, before the job runs.
#[derive(Clone, Debug)]
pub struct Office(Option<Arc<Open>>);

#[derive(Debug)]
struct Open {
    gate: Option<Gate>,
    room: Arc<Room>,
    thread: Option<JoinHandle<()>>,
}

impl Office {
    /// Opens a ledger for a job, in the process that holds worker 0, and takes the job's fence.
    ///
    /// # Errors
    ///
    /// As [`Gate::open`].
    pub fn open(ledger: impl AsRef<Path>, job: &Name) -> Result<Office, Trouble> {
        let accounts = Ledger::open(&ledger)?;
        let (gate, told) = Gate::open(ledger, job, Delivery::AtLeastOnce)?;
        let room = Arc::new(Room::default());
        let inside = Arc::clone(&room);
        let thread = thread::Builder::new().name("gate".into()).spawn(move || inside.serve(&told, &accounts));
        let thread = thread.map_err(|error| Trouble::refused(format!("gate: no thread: {error}")))?;
        Ok(Office(Some(Arc::new(Open { gate: Some(gate), room, thread: Some(thread) }))))
    }

    /// For a process that does not hold worker 0: its windows are released elsewhere.
    pub fn elsewhere() -> Office {
        Office(None)
    }

    /// The desk of a statistic; `None` where the gate is elsewhere. `wake` is called when there is something to hear.
    pub(crate) fn desk(&self, name: &Name, wake: Wake) -> Option<Box<dyn Desk>> {
        let open = Arc::clone(self.0.as_ref()?);
        let heard = open.room.seat(name, wake);
        Some(Box::new(Seat { open, heard }))
    }

    pub(crate) fn is_elsewhere(&self) -> bool {
        self.0.is_none()
    }

    /// Hands nothing more to the gate.
    pub(crate) fn halt(&self) {
        if let Some(open) = &self.0 {
            open.room.halted.store(true, Ordering::SeqCst);
        }
    }
}

/// Closes the gate, which waits for what was submitted, and then the room.
impl Drop for Open {
    fn drop(&mut self) {
        self.room.closing.store(true, Ordering::SeqCst);
        self.gate = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Seat {
    open: Arc<Open>,
    heard: Receiver<Heard>,
}

impl Desk for Seat {
    fn submit(&mut self, request: Request) -> Result<(), Trouble> {
        match &self.open.gate {
            Some(gate) if !self.open.room.halted.load(Ordering::SeqCst) => gate.submit(request),
            _ => Ok(()),
        }
    }

    fn miss(&mut self, release: Release) {
        if let Some(gate) = self.open.gate.as_ref().filter(|_| !self.open.room.halted.load(Ordering::SeqCst))
        {
            gate.miss(release);
        }
    }

    fn hear(&mut self) -> Option<Heard> {
        self.heard.try_recv().ok()
    }

    fn delivered(&mut self, row: &Row) {
        if let Some(gate) = &self.open.gate {
            gate.delivered(row);
        }
    }
}

/// Where what the gate tells is passed on to the desk of its statistic.
#[derive(Debug, Default)]
struct Room {
    halted: AtomicBool,
    closing: AtomicBool,
    seats: Mutex<Seats>,
}

#[derive(Default)]
struct Seats {
    taken: HashMap<Name, (Sender<Heard>, Wake)>,
    /// Told before anybody sat there: rows that a former process did not deliver.
    early: Vec<(Name, Heard)>,
    doubt: Option<Doubt>,
}

impl std::fmt::Debug for Seats {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Seats").field("taken", &self.taken.len()).finish_non_exhaustive()
    }
}

impl Room {
    fn seats(&self) -> MutexGuard<'_, Seats> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn seat(&self, name: &Name, wake: Wake) -> Receiver<Heard> {
        let (sender, receiver) = unbounded();
        let mut seats = self.seats();
        let (mine, others) =
            std::mem::take(&mut seats.early).into_iter().partition(|(whose, _)| whose == name);
        seats.early = others;
        let mine: Vec<(Name, Heard)> = mine;
        let doubt = seats.doubt.map(Heard::Halted);
        for heard in mine.into_iter().map(|(_, heard)| heard).chain(doubt) {
            let _ = sender.send(heard);
        }
        wake();
        seats.taken.insert(name.clone(), (sender, wake));
        receiver
    }

    fn serve(&self, told: &Receiver<Told>, accounts: &Ledger) {
        for told in told {
            match told {
                Told::Row(row) => {
                    let about = row.release();
                    let spent = accounts.spent(&about.domain, about.window).ok();
                    self.pass_on(about.name.clone(), Heard::Row { row, spent });
                }
                Told::Halted(doubt) => self.doubt(doubt),
            }
        }
        if !self.closing.load(Ordering::SeqCst) {
            self.doubt(Doubt::Ledger);
        }
    }

    fn pass_on(&self, name: Name, heard: Heard) {
        let mut seats = self.seats();
        match seats.taken.get(&name) {
            Some((sender, wake)) => {
                let _ = sender.send(heard);
                wake();
            }
            None => seats.early.push((name, heard)),
        }
    }

    fn doubt(&self, doubt: Doubt) {
        let mut seats = self.seats();
        seats.doubt = Some(doubt);
        for (sender, wake) in seats.taken.values() {
            let _ = sender.send(Heard::Halted(doubt));
            wake();
        }
    }
}
