//! What is asked for, or sought, that has a row already.

use super::*;

everywhere! {
    what_is_sought_is_told_if_it_is_there_and_nothing_is_drawn_for_it
}

/// Refutes a search that draws, charges or waits for a delivery, and one that tells twice what may be told
/// once.
fn what_is_sought_is_told_if_it_is_there_and_nothing_is_drawn_for_it(at: ScratchPlace) {
    let scratch = scratch(at, 10);
    let draws: Arc<AtomicU32> = Arc::default();
    let (gate, desk) = open(&scratch);
    desk.seek(release(0));
    assert!(matches!(desk.wait(), Some(GateEvent::Absent(id)) if id == release(0).id()));
    assert_eq!(draws.load(Ordering::Relaxed), 0);
    desk.submit(request(0, &draws)).unwrap();
    let first = row(&desk);
    // On its way, and then delivered.
    desk.seek(release(0));
    assert_eq!(row(&desk).line(), first.line());
    desk.delivered(&first);
    desk.seek(release(0));
    assert_eq!(row(&desk).line(), first.line());
    drop((gate, desk));
    assert_eq!(spent(&scratch), PrivacyCost::zcdp(COST).unwrap());

    let once = opening(&scratch).delivery(Delivery::AtMostOnce);
    let (gate, desk) = at_a_desk(once.open().unwrap());
    desk.seek(release(0));
    assert!(matches!(desk.wait(), Some(GateEvent::Withheld(row)) if row.release() == &release(0)));
    desk.submit(request(1, &draws)).unwrap();
    assert_eq!(row(&desk).release(), &release(1));
    desk.seek(release(1));
    assert!(matches!(desk.wait(), Some(GateEvent::Withheld(row)) if row.release() == &release(1)));
    drop(gate);
    assert!(desk.wait().is_none());
    assert_eq!(draws.load(Ordering::Relaxed), 2);
}

/// Refutes a request that hears nothing because it came right behind the word that the row before was
/// delivered.
#[test]
fn what_is_asked_for_again_after_its_delivery_is_told_again() {
    let scratch = scratch(ScratchPlace::File, 10);
    let draws = Arc::default();
    let (gate, desk) = open(&scratch);
    desk.submit(request(0, &draws)).unwrap();
    let first = row(&desk);
    for window in 1..200 {
        // Something to do, so that both words are heard together.
        desk.submit(request(window % 9, &draws)).unwrap();
        desk.delivered(&first);
        desk.submit(request(0, &draws)).unwrap();
        let asked = Instant::now();
        loop {
            assert!(asked.elapsed().as_secs() < 20, "nothing was told");
            let Some(GateEvent::Row(told, _)) = desk.hear() else { continue };
            if told.release() == first.release() {
                assert_eq!(told.line(), first.line());
                break;
            }
            desk.delivered(&told);
        }
    }
    drop(gate);
}
