//! Requests and searches for releases that have a row already.

use super::*;

everywhere! {
    a_sealed_row_that_is_asked_for_is_delivered_without_a_draw
}

/// Refutes a search that draws, charges or waits for a delivery, and one that gives out a row twice where it
/// may be given out once.
fn a_sealed_row_that_is_asked_for_is_delivered_without_a_draw(at: ScratchPlace) {
    let scratch = scratch(at, 10);
    let draws: Arc<AtomicU32> = Arc::default();
    let (gate, handle) = open(&scratch);
    handle.seek(release(0));
    assert!(matches!(handle.wait(), Some(GateEvent::Absent(id)) if id == release(0).id()));
    assert_eq!(draws.load(Ordering::Relaxed), 0);
    handle.submit(request(0, &draws)).unwrap();
    let first = row(&handle);
    // In progress, and then delivered.
    handle.seek(release(0));
    assert_eq!(row(&handle).line(), first.line());
    handle.delivered(&first);
    handle.seek(release(0));
    assert_eq!(row(&handle).line(), first.line());
    drop((gate, handle));
    assert_eq!(spent(&scratch), PrivacyCost::zcdp(COST).unwrap());

    let once = opening(&scratch).delivery(Delivery::AtMostOnce);
    let (gate, handle) = at_a_desk(once.open().unwrap());
    handle.seek(release(0));
    assert!(matches!(handle.wait(), Some(GateEvent::Withheld(row)) if row.release() == &release(0)));
    handle.submit(request(1, &draws)).unwrap();
    assert_eq!(row(&handle).release(), &release(1));
    handle.seek(release(1));
    assert!(matches!(handle.wait(), Some(GateEvent::Withheld(row)) if row.release() == &release(1)));
    drop(gate);
    assert!(handle.wait().is_none());
    assert_eq!(draws.load(Ordering::Relaxed), 2);
}

/// Refutes a request that gets no answer because it came directly after the confirmation that the row before
/// was delivered.
#[test]
fn a_delivered_release_that_is_asked_for_again_is_delivered_again() {
    let scratch = scratch(ScratchPlace::File, 10);
    let draws = Arc::default();
    let (gate, handle) = open(&scratch);
    handle.submit(request(0, &draws)).unwrap();
    let first = row(&handle);
    for window in 1..200 {
        // Other requests keep the thread busy, so that it receives both messages together.
        handle.submit(request(window % 9, &draws)).unwrap();
        handle.delivered(&first);
        handle.submit(request(0, &draws)).unwrap();
        let asked = Instant::now();
        loop {
            assert!(asked.elapsed().as_secs() < 20, "nothing was delivered");
            let Some(GateEvent::Row(event, _)) = handle.hear() else { continue };
            if event.release() == first.release() {
                assert_eq!(event.line(), first.line());
                break;
            }
            handle.delivered(&event);
        }
    }
    drop(gate);
}
