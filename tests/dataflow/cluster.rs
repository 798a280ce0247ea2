//! Jobs of two processes, one of which fails, is killed, is late or runs another job.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use discreet::ledger::ReleaseStatus;

use crate::kit::children::{SOON, end, hosts, process};
use crate::{DRIVERS, Scratch, WINDOWS};

#[test]
fn two_processes_release_what_one_would() {
    for driver in DRIVERS {
        let (scratch, hosts) = (Scratch::new("two", 100.0), hosts());
        let both =
            [0, 1].map(|index| process("whole", &scratch.0, &hosts, index).envs(driver).spawn().unwrap());
        for (status, said) in both.map(end) {
            assert_eq!(status.code(), Some(0), "{said}");
        }
        assert_eq!(
            (scratch.lines().len(), scratch.statuses()),
            (WINDOWS, vec![Some(ReleaseStatus::Sealed); WINDOWS])
        );
    }
}

#[test]
fn when_one_of_two_processes_is_killed_the_other_ends_and_nothing_partial_is_sealed() {
    for driver in DRIVERS {
        for killed in [0, 1] {
            let (scratch, hosts) = (Scratch::new(&format!("killed-{killed}"), 100.0), hosts());
            let mut both =
                [0, 1].map(|index| process("waits", &scratch.0, &hosts, index).envs(driver).spawn().unwrap());
            // Both have declared the time before 9 complete, and hold records of every window.
            let ready = [0, 1].map(|index| scratch.0.join(format!("ready-{index}")));
            let start = Instant::now();
            while !ready.iter().all(|path| path.exists()) {
                assert!(start.elapsed() < SOON, "they did not find together");
                thread::sleep(Duration::from_millis(5));
            }
            both[killed].kill().unwrap();
            let [first, second] = both;
            let [victim, other] = if killed == 0 { [first, second] } else { [second, first] };
            let (status, said) = end(other);
            assert_eq!(status.code(), Some(70), "{said}");
            end(victim);
            assert_eq!(scratch.statuses(), [None; WINDOWS]);
        }
    }
}

#[test]
fn when_the_input_of_one_process_fails_both_end_and_nothing_is_sealed() {
    for driver in DRIVERS {
        for (task, code) in [("errs", 69), ("returns early", 70), ("panics", 70)] {
            let (scratch, hosts) =
                (Scratch::new(&format!("cluster-{}", task.replace(' ', "-")), 100.0), hosts());
            let [healthy, failing] =
                [0, 1].map(|index| process(task, &scratch.0, &hosts, index).envs(driver).spawn().unwrap());
            let (status, said) = end(failing);
            assert_eq!(status.code(), Some(code), "{task}: {said}");
            let (status, said) = end(healthy);
            assert_eq!(status.code(), Some(70), "{task}: {said}");
            assert_eq!(scratch.statuses(), [None; WINDOWS]);
        }
    }
}

#[test]
fn a_process_waits_for_its_peers_until_a_deadline_and_lets_no_stranger_in() {
    for stranger in [&b""[..], b"GET / HTTP/1.1\r\n\r\n", &[0; 200]] {
        let (scratch, hosts) = (Scratch::new("alone", 100.0), hosts());
        let alone = process("whole", &scratch.0, &hosts, 0).spawn().unwrap();
        let address = hosts.split(' ').next().unwrap().to_owned();
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, stranger) = (Arc::clone(&stop), stranger.to_vec());
        let knocking = thread::spawn(move || {
            while !stopped.load(Ordering::SeqCst) {
                if let Ok(mut stream) = TcpStream::connect(&address) {
                    let _ = io::Write::write_all(&mut stream, &stranger);
                    thread::sleep(Duration::from_millis(200));
                }
                thread::sleep(Duration::from_millis(20));
            }
        });
        let (status, said) = end(alone);
        stop.store(true, Ordering::SeqCst);
        knocking.join().unwrap();
        assert_eq!(status.code(), Some(78), "{said}");
        assert_eq!(scratch.statuses(), [None; WINDOWS]);
    }
}

#[test]
fn processes_of_different_configurations_do_not_find_together() {
    let (scratch, hosts) = (Scratch::new("unlike", 100.0), hosts());
    let both = [0, 1].map(|index| {
        process("whole", &scratch.0, &hosts, index).env("AGREEMENT", index.to_string()).spawn().unwrap()
    });
    for (status, said) in both.map(end) {
        assert_eq!(status.code(), Some(78), "{said}");
    }
    assert_eq!(scratch.statuses(), [None; WINDOWS]);
}
