use super::*;
use crate::dataflow::tests::{Counts, title};
use crate::time::{Span, Time};

type TestQueue = WindowQueue<Counts, &'static str>;

fn queue(schedule: Schedule, skip_after: Option<i64>) -> TestQueue {
    let span = |length| Span::microseconds(length).unwrap();
    WindowQueue::new(Counts, title("visits"), schedule, (Some(span(3)), skip_after.map(span)), false)
}

/// Windows `[0, 10)`, `[10, 20)`, ... up to `until`; each closes three after its end.
fn tens(until: Option<Time>) -> Schedule {
    Schedule::tumbling(Span::microseconds(10), 0, until).unwrap()
}

fn handed_in(queue: &mut TestQueue, complete: Option<Time>, now: Option<Time>) -> Vec<(Time, &'static str)> {
    std::iter::from_fn(|| queue.next(complete, now, |_| true, |window| window.start() == 1_000))
        .map(|word| match word {
            WindowAction::Submit(request) => (request.release.window.start(), "submitted"),
            WindowAction::Skip(release, SkipReason::Late) => (release.window.start(), "missed"),
            WindowAction::Skip(release, _) => (release.window.start(), "input gap"),
        })
        .collect()
}

#[test]
fn a_window_is_handed_in_once_it_is_complete_to_its_close_and_not_before() {
    let mut queue = queue(tens(Some(40)), None);
    assert_eq!(handed_in(&mut queue, Some(12), None), []);
    assert_eq!(handed_in(&mut queue, Some(13), None), [(0, "submitted")]);
    assert_eq!(handed_in(&mut queue, Some(33), None), [(10, "submitted"), (20, "submitted")]);
    assert_eq!(handed_in(&mut queue, Some(Time::MAX), None), [(30, "submitted")]);
}

// Refutes a window that is sealed because the source declared that records come in order, which a later
// record may break.
#[test]
fn what_waits_for_the_end_of_the_input_is_handed_in_at_its_end() {
    let mut queue = TestQueue { at_end: true, ..queue(tens(Some(40)), None) };
    assert_eq!(handed_in(&mut queue, Some(33), None), []);
    assert_eq!(queue.settled(), Some(13));
    assert_eq!(handed_in(&mut queue, Some(Time::MAX), None).len(), 4);
}

#[test]
fn inputs_that_vanished_complete_nothing() {
    let mut queue = queue(tens(Some(40)), None);
    queue.absorb(Time::MIN, 0, 5);
    assert_eq!(handed_in(&mut queue, None, None), []);
    assert_eq!(queue.settled(), Some(13));
}

#[test]
fn without_a_last_window_the_end_of_the_input_completes_none() {
    let mut queue = queue(tens(None), None);
    assert_eq!(handed_in(&mut queue, Some(22), None), [(0, "submitted")]);
    assert_eq!(handed_in(&mut queue, Some(Time::MAX), None), []);
    assert!(queue.settled().is_some(), "the first is still with the gate");
    assert!(queue.hear(&title("visits").of(tens(None).window(0).unwrap()), "released").is_none());
    assert_eq!(queue.pop(), Some((13, "released")));
    assert_eq!(queue.settled(), None);
}

#[test]
fn a_part_that_comes_with_the_close_of_its_window_is_late() {
    let mut queue = queue(tens(Some(40)), None);
    queue.absorb(12, 0, 1);
    queue.absorb(13, 0, 100);
    queue.absorb(14, 0, 100);
    assert_eq!(queue.open.get(&0), Some(&1));
}

#[test]
fn a_part_of_no_window_and_a_part_of_a_window_that_has_gone_leave_nothing_behind() {
    let mut queue = queue(tens(Some(40)), Some(5));
    assert_eq!(handed_in(&mut queue, Some(0), Some(18)), [(0, "missed")]);
    queue.absorb(Time::MIN, 0, 1);
    queue.absorb(Time::MIN, 4, 1);
    queue.absorb(Time::MIN, u64::MAX, 1);
    assert!(queue.open.is_empty());
    queue.absorb(Time::MIN, 3, 1);
    assert_eq!(queue.open.len(), 1, "a far window costs its own tally and no other");
}

#[test]
fn a_window_is_in_time_until_its_deadline() {
    let mut queue = queue(tens(Some(40)), Some(5));
    assert_eq!(queue.next_deadline(), Some(18));
    assert_eq!(handed_in(&mut queue, Some(13), Some(17)), [(0, "submitted")]);
    assert_eq!(handed_in(&mut queue, Some(23), Some(28)), [(10, "missed")], "complete, and too late");
    assert_eq!(
        handed_in(&mut queue, Some(23), Some(27)),
        [],
        "a clock that was set back brings nothing back"
    );
}

#[test]
fn outcomes_leave_in_the_order_of_windows_whatever_the_order_of_the_gate() {
    let mut queue = queue(tens(Some(40)), None);
    assert_eq!(handed_in(&mut queue, Some(Time::MAX), None).len(), 4);
    let id = |number| title("visits").of(tens(None).window(number).unwrap());
    for (number, outcome) in [(3, "d"), (1, "b")] {
        queue.hear(&id(number), outcome);
        assert_eq!(queue.pop(), None);
        assert_eq!(queue.settled(), Some(13));
    }
    queue.hear(&id(0), "a");
    assert_eq!((queue.pop(), queue.pop(), queue.pop()), (Some((13, "a")), Some((23, "b")), None));
    assert_eq!(queue.settled(), Some(33));
    queue.hear(&id(2), "c");
    assert_eq!((queue.pop(), queue.pop()), (Some((33, "c")), Some((43, "d"))));
    assert_eq!((queue.settled(), queue.awaited()), (None, 0));
}

#[test]
fn a_release_of_a_former_process_is_delivered_once_and_not_asked_for_again() {
    let mut queue = queue(tens(Some(30)), None);
    let id = |number| title("visits").of(tens(None).window(number).unwrap());
    assert_eq!(queue.hear(&id(1), "sealed before"), Some("sealed before"));
    assert_eq!(queue.hear(&title("other").of(tens(None).window(0).unwrap()), "old"), Some("old"));
    assert_eq!(handed_in(&mut queue, Some(Time::MAX), None), [(0, "submitted"), (20, "submitted")]);
}

// Refutes a resume position beyond a window that has no outcome, and one that is written while windows that a
// former run has settled are requested again.
#[test]
fn records_are_needed_since_the_first_window_without_an_outcome() {
    let mut queue = queue(tens(Some(40)), None).beginning(1);
    let release = |number| title("visits").of(tens(None).window(number).unwrap());
    assert_eq!((queue.needed_since(None), queue.needed_since(Some(20))), (Some(10), None));
    assert_eq!(queue.hear(&release(0), "sealed before"), Some("sealed before"));
    assert!(queue.before.is_empty(), "it is not requested any more");
    assert_eq!(
        handed_in(&mut queue, Some(Time::MAX), None),
        [(10, "submitted"), (20, "submitted"), (30, "submitted")]
    );
    queue.hear(&release(2), "c");
    assert_eq!(queue.needed_since(Some(10)), Some(10));
    queue.hear(&release(1), "b");
    assert_eq!(queue.needed_since(Some(10)), Some(30), "a later one has its outcome already");
    queue.hear(&release(3), "d");
    assert_eq!(queue.needed_since(Some(10)), Some(Time::MAX));
}

#[test]
fn only_so_many_windows_are_with_the_gate_at_once() {
    let mut queue = queue(tens(Some(100_000)), None);
    let mut released = 0;
    while queue.settled().is_some() {
        assert!(handed_in(&mut queue, Some(Time::MAX), None).len() <= AT_THE_GATE);
        assert!(queue.awaited() <= AT_THE_GATE);
        let number = *queue.numbers.values().next().unwrap();
        let release = title("visits").of(tens(Some(100_000)).window(number).unwrap());
        queue.hear(&release, "released");
        released += std::iter::from_fn(|| queue.pop()).count();
    }
    assert_eq!(released, 10_000);
}
