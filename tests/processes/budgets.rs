//! The stream of budgets in one process, beside another that spends from the same account.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use discreet::dataflow::{Config, Pulled, Source, SourceError, execute};
use discreet::gate::AccountStatus;
use discreet::mechanisms::{Bound, Gaussian, Keys};
use discreet::time::{Span, Time};
use serde_json::Value;
use timely::dataflow::operators::Inspect;

use super::*;

/// A visit of each window up to a number that grows.
struct Visits {
    next: Time,
    upto: Arc<AtomicI64>,
}

impl Source for Visits {
    type Record = (u64, Time);

    fn pull(&mut self, batch: &mut Vec<(u64, Time)>) -> Result<Pulled, SourceError> {
        let upto = self.upto.load(Ordering::SeqCst);
        if upto == Time::MAX {
            return Ok(Pulled::End);
        }
        if self.next == upto {
            return Ok(Pulled::Idle);
        }
        batch.push((7, self.next));
        self.next += 1;
        Ok(Pulled::Complete(self.next))
    }
}

/// What `discreet ledger show` prints of the account: the spent rho, the cap and the sealed releases.
fn shown(path: &Path) -> (f64, f64, u64) {
    let output = Command::new(env!("CARGO_BIN_EXE_discreet"))
        .args(["ledger", "show", "--json"])
        .arg(path)
        .output()
        .unwrap();
    let shown: Value = serde_json::from_slice(&output.stdout).unwrap();
    let account = &shown["accounts"]["visits"];
    let rho = |amount: &Value| amount["rho"].as_f64().unwrap();
    (rho(&account["spent"]), rho(&account["cap"]), account["releases"].as_u64().unwrap())
}

fn said(status: &AccountStatus) -> (f64, f64, u64) {
    let rho = |amount: &PrivacyCost| amount.parameters()[0].1;
    (rho(&status.spent), rho(&status.cap), status.releases)
}

fn follow(path: PathBuf, upto: Arc<AtomicI64>, statuses: Sender<AccountStatus>) {
    let gate = Opening::new(&path, "web").unwrap().key(path.with_extension("key")).open().unwrap();
    let statuses = Mutex::new(Some(statuses));
    let ended = execute(Config::threads(1).unwrap(), move |worker, feeds| {
        let (source, statuses) =
            (Visits { next: 0, upto: Arc::clone(&upto) }, statuses.lock().unwrap().take().unwrap());
        worker.dataflow(|scope| {
            let budget = feeds.budget(scope, &gate, Span::microseconds(10_000))?;
            budget.stream().inspect(move |status| statuses.send(status.clone()).unwrap());
            feeds
                .stream(scope, source)
                .protect(|visit| visit.0)
                .tumbling(Span::microseconds(1), |visit| visit.1)
                .from(0)
                .bound(Bound::keys(1))
                .people_by(|_| 0, Keys::public(0..1))
                .release(&gate, "by_path", Gaussian::rho(COST))
                .deliver(|_| Ok(()));
            Ok(())
        })
    });
    ended.unwrap();
}

/// Waits until the newest status says this.
fn waits_for(expected: (f64, f64, u64), statuses: &Receiver<AccountStatus>) {
    let since = Instant::now();
    let mut newest = None;
    while newest != Some(expected) {
        assert!(since.elapsed() < Duration::from_secs(30), "{newest:?}, and not {expected:?}");
        newest = statuses.recv_timeout(Duration::from_secs(30)).ok().as_ref().map(said);
    }
}

// Refutes a stream that misses what another process spends, or says otherwise than the command.
#[test]
fn the_stream_of_budgets_says_what_the_ledger_shows_beside_another_process() {
    let scratch = Directory::new("budgets");
    let path = made(scratch.join("followed.ledger"), 40.0 * COST);
    LedgerKey::create(path.with_extension("key")).unwrap();
    let (upto, (sender, statuses)) = (Arc::new(AtomicI64::new(0)), channel());
    let (ledger, windows) = (path.clone(), Arc::clone(&upto));
    let following = std::thread::spawn(move || follow(ledger, windows, sender));
    waits_for(shown(&path), &statuses);
    for round in 1..=3_i64 {
        let mut spender = child("spender", &path, Path::new(""), &format!("job{round}"));
        let out = begun(&mut spender);
        go(&mut spender);
        assert!(spender.wait().unwrap().success());
        drop(out);
        let of_both = 4 * round as u64 + 2 * (round as u64 - 1);
        let expected = shown(&path);
        assert_eq!((expected.0, expected.2), (of_both as f64 * COST, of_both));
        waits_for(expected, &statuses);
        upto.store(2 * round, Ordering::SeqCst);
        waits_for((expected.0 + 2.0 * COST, expected.1, of_both + 2), &statuses);
        assert_eq!(shown(&path).2, of_both + 2);
    }
    upto.store(Time::MAX, Ordering::SeqCst);
    following.join().unwrap();
}
