//! Failures that only a server has: a lost connection, a commit that is not synced, a failover, a missing
//! right.

use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ::postgres::{Client, NoTls};

use super::super::postgres::Postgres;
use super::super::store::Store;
use super::*;
use crate::server::{self, Server};

/// A ledger on the shared server, with a claim; `None` without a server.
fn shared() -> Option<(&'static Server, Scratch, Ledger, Claim)> {
    let server = server::shared()?;
    let scratch = ScratchPlace::Server(server).scratch();
    let mut ledger = ledger(&scratch, Promise::Lifetime, 10);
    let claim = ledger.claim(&name("web")).unwrap();
    Some((server, scratch, ledger, claim))
}

/// A closed ledger on a server of its own.
fn alone() -> Option<(Server, PathBuf)> {
    let server = Server::start()?;
    let place = server.address("visits");
    Ledger::create(&place).unwrap().register(&account(Promise::Lifetime, 10)).unwrap();
    Some((server, place))
}

fn doubt(place: &Path, about: &str) {
    let trouble = Ledger::open(place).unwrap_err();
    assert_eq!(trouble.kind(), LedgerErrorKind::Doubt, "{trouble}");
    assert!(trouble.to_string().contains(about), "{trouble}");
}

#[test]
fn a_server_that_stops_syncing_is_noticed_at_once() {
    let Some((server, place)) = alone() else { return };
    for (setting, off, on) in [("fsync", "off", "on"), ("full_page_writes", "off", "on")] {
        let mut ledger = Ledger::open(&place).unwrap();
        let claim = ledger.claim(&name("web")).unwrap();
        let set = |value: &str| {
            server.sql("public", &format!("ALTER SYSTEM SET {setting} = {value}")).unwrap();
            server.sql("public", "SELECT pg_reload_conf()").unwrap();
            let begun = Instant::now();
            while server.sql("public", &format!("SHOW {setting}")).unwrap() != value {
                assert!(begun.elapsed() < Duration::from_secs(10));
            }
            // Sessions are notified between two statements.
            std::thread::sleep(Duration::from_millis(300));
        };
        set(off);
        let trouble = ledger.seal(&claim, &[sealing("web", (0, 1), 1, "line")]).unwrap_err();
        assert_eq!(trouble.kind(), LedgerErrorKind::Doubt, "{trouble}");
        doubt(&place, setting);
        set(on);
        ledger.seal(&claim, &[sealing("web", (0, 1), 1, "line")]).unwrap();
    }
}

#[test]
fn a_standby_is_refused_and_a_failover_must_be_vouched_for() {
    let Some((mut server, place)) = alone() else { return };
    let vouched = |timeline: u32| PathBuf::from(format!("{}&timeline={timeline}", place.display()));
    server.crash();
    let standby = server.data().join("standby.signal");
    fs::write(&standby, "").unwrap();
    chown(&standby, Some(fs::metadata(server.data()).unwrap().uid()), None).unwrap();
    server.launch();
    doubt(&place, "standby");
    server.sql("public", "SELECT pg_promote()").unwrap();
    doubt(&place, "&timeline=2");
    doubt(&vouched(1), "&timeline=2");
    doubt(&vouched(3), "&timeline=2");
    Ledger::open(vouched(2)).unwrap();
    // The system is remembered, and an older history is no longer accepted.
    Ledger::open(&place).unwrap();
    server.sql("visits", "INSERT INTO server SELECT 3, system FROM server LIMIT 1").unwrap();
    doubt(&place, "was on 3");
    doubt(&vouched(2), "was on 3");
}

/// Refutes a trigger that misses a statement SQLite lacks, or a change that only a key column shows.
#[test]
fn the_triggers_of_a_server_refuse_more() {
    let Some((_, scratch, mut ledger, claim)) = shared() else { return };
    let state = Some(State {
        version: 1,
        former: None,
        held: b"what a mechanism keeps".to_vec(),
        note: Some(Note { place: 0, since: 0, held: vec![1] }),
    });
    ledger.seal(&claim, &[Sealing { state, ..sealing("web", (0, 1), 1, "line") }]).unwrap();
    ledger.bind(&LedgerKey::open(scratch.key()).unwrap()).unwrap();
    let tables =
        "server meta key_check head fence account release amendment repair state noted balance agreed";
    ledger.agree(&claim, 1, &name("by_path"), &Digest::of(b"first")).unwrap();
    for table in tables.split(' ') {
        let trouble = scratch.edit(&format!("TRUNCATE {table} CASCADE"), true).unwrap_err();
        assert!(trouble.contains("no table is emptied"), "{table}: {trouble}");
        // The ledger has no amendment and no repair yet; the state of a mechanism is deleted by a repair
        // alone.
        if !["amendment", "repair", "state", "noted"].contains(&table) {
            assert!(scratch.edit(&format!("DELETE FROM {table}"), true).is_err(), "{table}");
        }
    }
    for edit in [
        "UPDATE fence SET job = 'app', generation = generation + 1",
        "UPDATE balance SET place = place + 1",
        "UPDATE release SET delivered = delivered - 1",
        "UPDATE server SET timeline = timeline + 1",
        "UPDATE noted SET place = place + 1",
    ] {
        assert!(scratch.edit(edit, true).is_err(), "{edit}");
    }
}

#[test]
fn a_copy_on_another_server_is_refused() {
    let Some((_, scratch, ledger, claim)) = shared() else { return };
    drop((ledger, claim));
    scratch.edit("UPDATE server SET system = '7000000000000000000'", false).unwrap();
    doubt(&scratch.ledger(), "system identifier");
}

#[test]
fn a_schema_of_something_else_is_neither_opened_nor_made_a_ledger() {
    let Some(server) = server::shared() else { return };
    let place = |schema| server.address(schema);
    server.sql("public", "CREATE SCHEMA shop; CREATE TABLE shop.meta (format BIGINT)").unwrap();
    for trouble in
        [Ledger::open(place("shop")), Ledger::create(place("shop"))].map(|result| result.unwrap_err())
    {
        assert_eq!(trouble.kind(), LedgerErrorKind::Refused, "{trouble}");
    }
    assert_eq!(server.sql("shop", "SELECT count(*) FROM meta").unwrap(), "0");
    let nowhere = PathBuf::from(place("shop").to_str().unwrap().replace("/postgres?", "/nowhere?"));
    assert_eq!(Ledger::open(nowhere).unwrap_err().kind(), LedgerErrorKind::Refused);
}

/// Refutes a report of a lost commit that is given while the commit may still take place.
#[test]
fn a_commit_that_is_on_its_way_is_waited_for() {
    let Some((server, scratch, mut ledger, claim)) = shared() else { return };
    let row = ledger.seal(&claim, &[sealing("web", (0, 1), 1, "line")]).unwrap().remove(0);
    let mut lost = Postgres::open(scratch.ledger().to_str().unwrap()).unwrap();
    lost.begin().unwrap();
    lost.execute("UPDATE release SET delivered = 1", &[]).unwrap();
    let read = std::thread::scope(|scope| {
        let asking = scope.spawn(|| ledger.recover(&claim, &[row.release().clone()]).unwrap());
        let waiting = "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event_type = 'Lock'
                       AND application_name LIKE";
        let waiting = format!("{waiting} 'discreet {}%'", scratch.name());
        let begun = Instant::now();
        while server.sql("public", &waiting).unwrap() != "t" {
            assert!(begun.elapsed() < Duration::from_secs(10), "it does not wait");
        }
        assert!(!asking.is_finished());
        lost.commit().unwrap();
        asking.join().unwrap()
    });
    assert!(read[0].as_ref().unwrap().is_delivered(), "it was asked before the commit ended");
}

/// Refutes a gate that is suspended inside its transaction on another machine, and blocks all others with it.
#[test]
fn a_process_that_sleeps_inside_a_transaction_holds_nobody_up_for_long() {
    let Some((_, scratch, mut ledger, claim)) = shared() else { return };
    let mut asleep = Postgres::open(scratch.ledger().to_str().unwrap()).unwrap();
    asleep.begin().unwrap();
    let begun = Instant::now();
    ledger.seal(&claim, &[sealing("web", (0, 1), 1, "line")]).unwrap();
    assert!(begun.elapsed() < Duration::from_secs(14));
    // The session that resumes can write nothing.
    let trouble = asleep.execute("UPDATE release SET delivered = 1", &[]).unwrap_err();
    assert_eq!(trouble.kind(), LedgerErrorKind::Unknown, "{trouble}");
    assert!(asleep.commit().is_err());
}

#[test]
fn a_job_stays_its_own_after_its_connection_was_lost() {
    let Some((_, scratch, mut ledger, claim)) = shared() else { return };
    scratch.unlock("web");
    ledger.recover(&claim, &[]).unwrap();
    ledger.mark(&[]).unwrap();
    let begun = Instant::now();
    let trouble = Ledger::open(scratch.ledger()).unwrap().claim(&name("web")).unwrap_err();
    assert_eq!(trouble.kind(), LedgerErrorKind::Fenced, "{trouble}");
    assert!(begun.elapsed() < Duration::from_secs(3));
    // The refused transaction has not moved the fence.
    ledger.seal(&claim, &[sealing("web", (0, 1), 1, "line")]).unwrap();
}

/// Loses the connection at each statement of a seal: nothing is written, and the repeated call writes once.
#[test]
fn a_transaction_that_loses_its_connection_leaves_nothing() {
    let Some((_, scratch, mut ledger, claim)) = shared() else { return };
    let mut store = Postgres::open(scratch.ledger().to_str().unwrap()).unwrap();
    store.exclude(&name("other")).unwrap();
    store.begin().unwrap();
    store.execute("UPDATE head SET sequence = sequence + 1", &[]).unwrap();
    scratch.unlock("other");
    let trouble = store.execute("UPDATE head SET sequence = sequence + 1", &[]).unwrap_err();
    assert_eq!(trouble.kind(), LedgerErrorKind::Unknown, "{trouble}");
    assert_eq!(store.commit().unwrap_err().kind(), LedgerErrorKind::Busy);
    assert_eq!(store.begin().unwrap_err().kind(), LedgerErrorKind::Unknown);
    store.reconnect().unwrap();
    store.begin().unwrap();
    scratch.unlock("other");
    assert_eq!(
        store.commit().unwrap_err().kind(),
        LedgerErrorKind::Unknown,
        "a commit whose end is not known"
    );
    store.reconnect().unwrap();
    drop(store);
    ledger.verify().unwrap();
    ledger.seal(&claim, &[sealing("web", (0, 1), 1, "line")]).unwrap();
}

/// A failed transaction seems to end with COMMIT: Postgres answers ROLLBACK, and no error.
#[test]
fn a_failed_transaction_is_never_taken_for_a_commit() {
    let Some((_, scratch, _ledger, _claim)) = shared() else { return };
    let mut store = Postgres::open(scratch.ledger().to_str().unwrap()).unwrap();
    store.begin().unwrap();
    let trouble = store.execute("UPDATE head SET sequence = sequence", &[]).unwrap_err();
    assert_eq!(trouble.kind(), LedgerErrorKind::Refused, "{trouble}");
    assert!(store.commit().is_err());
    store.roll_back();
    // The next transaction is separate.
    store.begin().unwrap();
    store.commit().unwrap();
}

#[test]
fn a_commit_that_the_server_warns_about_is_in_doubt() {
    let Some((server, scratch, mut ledger, claim)) = shared() else { return };
    // Warns as a server does if a standby has not acknowledged in time.
    let warn = "CREATE FUNCTION warn() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN RAISE WARNING 'not on the standby'; RETURN NULL; END $$;
                CREATE CONSTRAINT TRIGGER warns AFTER UPDATE ON head DEFERRABLE INITIALLY DEFERRED
                FOR EACH ROW EXECUTE FUNCTION warn()";
    server.sql(scratch.name(), warn).unwrap();
    let trouble = ledger.seal(&claim, &[sealing("web", (0, 1), 1, "line")]).unwrap_err();
    assert_eq!(trouble.kind(), LedgerErrorKind::Doubt, "{trouble}");
}

#[test]
fn an_index_that_misses_a_row_is_noticed() {
    let Some((server, scratch, mut ledger, claim)) = shared() else { return };
    ledger.seal(&claim, &[sealing("web", (5, 6), 1, "line")]).unwrap();
    drop((ledger, claim));
    for (index, table, hidden) in [
        (
            "one_row",
            "release (window_start, id)",
            "INSERT INTO release SELECT id, 99, account, job, version, name, 7, 8, part, 1, status, cost, partial, life_start, life_end,
             prepaid, state, line, 0, chain FROM release",
        ),
        (
            "balance_pkey",
            "balance (account, reach, place, until)",
            "INSERT INTO balance SELECT name, 0, 77, 0, cap, cap FROM account",
        ),
        (
            "agreed_pkey",
            "agreed (job, version, name)",
            "INSERT INTO agreed SELECT name, 77, name, cap, cap FROM account",
        ),
    ] {
        let maintained = |maintained: bool| {
            let index = format!("WHERE indexrelid = '{index}'::regclass");
            format!("UPDATE pg_index SET indisready = {maintained} {index}")
        };
        for statement in [&maintained(false), hidden, &maintained(true)] {
            server.sql(scratch.name(), statement).unwrap();
        }
        doubt(&scratch.ledger(), table);
        scratch.edit("DELETE FROM release WHERE sequence = 99", false).unwrap();
        scratch.edit("DELETE FROM balance WHERE place = 77", false).unwrap();
        scratch.edit("DELETE FROM agreed", false).unwrap();
        server.sql(scratch.name(), &format!("REINDEX INDEX {index}")).unwrap();
    }
    Ledger::open(scratch.ledger()).unwrap();
}

/// Grants the rights of the ledger's module page: enough to seal, and not to raise a cap.
#[test]
fn a_role_with_the_rights_of_a_job_can_seal_and_not_amend() {
    let Some((server, scratch, ledger, claim)) = shared() else { return };
    drop((ledger, claim));
    let page = include_str!("../mod.rs");
    let grants =
        page.lines().filter_map(|line| line.strip_prefix("//! ")).filter(|line| line.starts_with("GRANT"));
    let grants: Vec<&str> = grants.collect();
    assert_eq!(grants.len(), 11);
    let role = format!("job_of_{}", scratch.name());
    let grants = grants.join("\n").replace("visits", scratch.name()).replace("TO job", &format!("TO {role}"));
    // The settings of a role have no effect.
    let lax = format!("ALTER ROLE {role} SET synchronous_commit = off");
    server.sql("public", &format!("CREATE ROLE {role} LOGIN; {lax}; {grants}")).unwrap();

    let place = PathBuf::from(scratch.ledger().to_str().unwrap().replace("discreet@", &format!("{role}@")));
    let mut ledger = Ledger::open(&place).unwrap();
    let claim = ledger.claim(&name("web")).unwrap();
    for _ in 0..2 {
        ledger.agree(&claim, 1, &name("by_path"), &Digest::of(b"first")).unwrap();
    }
    for version in [1, 2] {
        let window = (10 * version, 10 * version + 10);
        let note = Some(Note { place: version, since: version, held: b"what is noted".to_vec() });
        let state = Some(State { version, former: None, held: b"what a mechanism keeps".to_vec(), note });
        let rows = ledger.seal(&claim, &[Sealing { state, ..sealing("web", window, 2, "line") }]).unwrap();
        assert_eq!(ledger.mark(&rows).unwrap(), [true]);
    }
    ledger.recover(&claim, &[]).unwrap();
    let amended = ledger.amend(&name("visits"), &rho(11), "a job", "more").unwrap_err();
    let other = AccountSpec::new(name("other"), Adjacency::PERSON, Promise::Lifetime, rho(9)).unwrap();
    for trouble in [amended, ledger.register(&other).unwrap_err()] {
        assert_eq!(trouble.kind(), LedgerErrorKind::Refused, "{trouble}");
        assert!(trouble.to_string().contains("permission denied"), "{trouble}");
    }
    drop((ledger, claim));
    let mut shell = connect(server, &role);
    for statement in
        ["UPDATE account SET cap = cap", "DELETE FROM balance", "TRUNCATE release", "DROP TABLE release"]
    {
        let statement = format!("SET search_path = {}; {statement}", scratch.name());
        assert!(shell.batch_execute(&statement).is_err(), "{statement}");
    }
}

fn connect(server: &Server, role: &str) -> Client {
    let place = server.address("any").to_str().unwrap().replace("discreet@", &format!("{role}@"));
    Client::connect(place.split("&ledger").next().unwrap(), NoTls).unwrap()
}

/// Text that Postgres cannot hold is refused with an error that does not quote it, and nothing is written.
#[test]
fn an_error_repeats_nothing_of_a_line() {
    let Some((_, _scratch, mut ledger, claim)) = shared() else { return };
    let trouble = ledger.seal(&claim, &[sealing("web", (0, 1), 1, "forty-two\0")]).unwrap_err();
    assert!(!format!("{trouble} {trouble:?}").contains("forty"), "{trouble}");
    assert_eq!(ledger.head().unwrap().0, 1);
    ledger.seal(&claim, &[sealing("web", (0, 1), 1, "forty-two")]).unwrap();
}

#[test]
fn a_copy_that_fails_leaves_no_file_and_harms_none_that_is_there() {
    let Some((_, scratch, mut ledger, _claim)) = shared() else { return };
    let to = scratch.directory().join("copy.ledger");
    // A table name that no ledger has makes a read fail half-way.
    scratch.edit("ALTER TABLE balance RENAME TO accounts", false).unwrap();
    assert!(ledger.export(&to).is_err());
    assert!(!to.exists());
    scratch.edit("ALTER TABLE accounts RENAME TO balance", false).unwrap();
    ledger.export(&to).unwrap();
    let before = fs::read(&to).unwrap();
    assert!(ledger.export(&to).is_err());
    assert_eq!(fs::read(&to).unwrap(), before);
}

#[test]
fn ledgers_of_one_database_know_nothing_of_each_other() {
    let Some((_, _first, mut ledger, claim)) = shared() else { return };
    let Some((_, _second, mut other, _)) = shared() else { return };
    ledger.seal(&claim, &[sealing("web", (0, 1), 1, "line")]).unwrap();
    assert_eq!((spent(&mut ledger), spent(&mut other)), (rho(1), rho(0)));
    assert_ne!(ledger.name(), other.name());
}

// Refutes a session that is taken for the ledger's own because the same server process answers: in a pool of
// one it always does. Two ledgers of one process then sealed the windows of one in the other.
#[test]
fn a_pooler_is_refused_however_it_hands_out_its_session() {
    let Some(server) = server::shared() else { return };
    for (mode, ignored) in
        [("transaction", ""), ("transaction", ",options"), ("session", ""), ("session", ",options")]
    {
        let Some(pooler) = server.pooler(mode, ignored) else { return };
        let (direct, other) = (server.unused(), server.unused());
        drop(Ledger::create(server.address(&direct)).unwrap());
        let refused = [
            Ledger::open(server.address_through(&pooler, &direct)).unwrap_err(),
            Ledger::create(server.address_through(&pooler, &other)).unwrap_err(),
        ];
        for trouble in refused {
            assert_eq!(trouble.kind(), LedgerErrorKind::Refused, "{mode}{ignored}: {trouble}");
            assert!(
                trouble.to_string().contains("connect to the server itself"),
                "{mode}{ignored}: {trouble}"
            );
        }
        assert!(
            server.sql("public", &format!("SELECT '{other}'::regnamespace")).is_err(),
            "a schema was made"
        );
    }
}

// Refutes tables that are found by the last setting of a session.
#[test]
fn each_transaction_finds_its_own_ledger() {
    let Some((server, scratch, mut ledger, claim)) = shared() else { return };
    let other = ScratchPlace::Server(server).scratch();
    let mut twin = super::ledger(&other, Promise::Lifetime, 10);
    let twins = twin.claim(&name("web")).unwrap();
    let path = format!("SET search_path = {}", other.name());
    ledger.store().execute(Box::leak(path.into_boxed_str()), &[]).unwrap();
    ledger.seal(&claim, &[sealing("web", (0, 1), 1, "mine")]).unwrap();
    assert!(twin.look_up(&sealing("web", (0, 1), 1, "").release).unwrap().is_none());
    twin.seal(&twins, &[sealing("web", (0, 1), 1, "the twin's")]).unwrap();
    assert_eq!(ledger.look_up(&sealing("web", (0, 1), 1, "").release).unwrap().unwrap().line(), "mine");

    // The name of the first ledger now belongs to the second.
    let (first, second) = (scratch.name(), other.name());
    server
        .sql(
            "public",
            &format!("ALTER SCHEMA {first} RENAME TO {first}_away; ALTER SCHEMA {second} RENAME TO {first}"),
        )
        .unwrap();
    let trouble = ledger.seal(&claim, &[sealing("web", (1, 2), 1, "mine")]).unwrap_err();
    assert_eq!(trouble.kind(), LedgerErrorKind::Doubt, "{trouble}");
    assert!(trouble.to_string().contains("another ledger"), "{trouble}");
    let trouble = ledger.look_up(&sealing("web", (0, 1), 1, "").release).unwrap_err();
    assert!(trouble.to_string().contains("another ledger"), "{trouble}");
}
