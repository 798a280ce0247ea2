//! The subscribers of the budgets see what the ledger shows, after each commit of any process.

use std::time::Duration;

use crossbeam_channel::Receiver;

use super::*;
use crate::gate::AccountStatus;
use crate::ledger::ReleaseStatus;

everywhere! {
    a_subscriber_sees_what_the_ledger_shows
    a_subscriber_sees_what_other_processes_commit
}

/// What the ledger shows of an account: spent, cap, the sealed releases, the last of their windows, and the first window that
/// will be refused.
type Shown = (PrivacyCost, PrivacyCost, u64, Option<Interval>, Option<i64>);

fn shown(scratch: &Scratch, account: &Name) -> Shown {
    let mut ledger = Ledger::open(scratch.ledger()).unwrap();
    let (releases, newest) = ledger.releases(account).unwrap();
    let (spent, cap) = ledger.spent(account, newest).unwrap();
    let newest = Some(newest).filter(|_| releases > 0);
    (spent, cap, releases, newest, ledger.forecast(account).unwrap().refuses_from())
}

fn said(status: &AccountStatus) -> Shown {
    (status.spent.clone(), status.cap.clone(), status.releases, status.newest, status.refuses_from())
}

fn wait(statuses: &Receiver<AccountStatus>) -> AccountStatus {
    statuses.recv_timeout(Duration::from_secs(20)).unwrap()
}

// Refutes a status that comes after its row, is behind it, counts a refused window as released, or is given to one of two.
fn a_subscriber_sees_what_the_ledger_shows(at: ScratchPlace) {
    let (scratch, draws, account) = (scratch(at, 3), Arc::default(), name_of("visits"));
    let (gate, handle) = open(&scratch);
    let statuses = gate.subscribe_to_budgets(Duration::from_secs(3_600)).unwrap();
    let first = wait(&statuses);
    assert_eq!(said(&first), shown(&scratch, &account));
    assert_eq!((first.account.clone(), first.spent_part(), first.refusals), (account.clone(), Some(0.0), 0));
    let mut late = None;
    for window in 0..5 {
        handle.submit(request(window, &draws)).unwrap();
        let row = row(&handle);
        let status = statuses.try_recv().unwrap();
        assert_eq!(said(&status), shown(&scratch, &account), "window {window}");
        let sealed = u64::try_from(window + 1).unwrap().min(3);
        assert_eq!((status.releases, status.refusals), (sealed, window as u64 + 1 - sealed));
        assert_eq!(row.status() == ReleaseStatus::Sealed, window < 3);
        assert!(statuses.try_recv().is_err(), "one status for a commit");
        late.get_or_insert_with(|| gate.subscribe_to_budgets(Duration::from_secs(3_600)).unwrap());
        let late = late.as_ref().unwrap();
        assert_eq!(wait(late), status, "the other subscriber");
    }
    drop((gate, handle));
    // What the former run has refused is not counted.
    let (gate, _handle) = open(&scratch);
    let status = wait(&gate.subscribe_to_budgets(Duration::from_secs(3_600)).unwrap());
    assert_eq!(said(&status), shown(&scratch, &account));
    assert_eq!((status.releases, status.refusals, status.spent_part()), (3, 0, Some(1.0)));
}

// Refutes a commit or an amendment of another process that is missed, or read twice, and another pace that is not counted.
fn a_subscriber_sees_what_other_processes_commit(at: ScratchPlace) {
    let (scratch, draws, account) = (scratch(at, 9), Arc::default(), name_of("visits"));
    let (gate, handle) = open(&scratch);
    let statuses = gate.subscribe_to_budgets(Duration::from_millis(20)).unwrap();
    wait(&statuses);
    let other = Opening::new(scratch.ledger(), "other").unwrap().key(scratch.key()).open().unwrap();
    let others = other.handle(&name_of("by_path"), &parameters(), || ()).unwrap();
    for window in 0..3 {
        // Ahead of the windows of this job.
        let mut release = request(window + 2, &draws);
        release.release.job = name_of("other");
        others.submit(release).unwrap();
        row(&others);
        assert_eq!(said(&wait(&statuses)), shown(&scratch, &account), "of the other, {window}");
        handle.submit(request(window, &draws)).unwrap();
        row(&handle);
        assert_eq!(said(&wait(&statuses)), shown(&scratch, &account), "own, {window}");
    }
    let cap = PrivacyCost::zcdp(20.0 * COST).unwrap();
    Ledger::open(scratch.ledger()).unwrap().amend(&account, &cap, "a person", "a reason").unwrap();
    let status = wait(&statuses);
    assert_eq!((said(&status), status.releases), (shown(&scratch, &account), 6));
    assert_eq!(status.cap, cap);
    // A subscriber that has stopped listening is forgotten.
    drop(statuses);
    handle.submit(request(3, &draws)).unwrap();
    row(&handle);
}
