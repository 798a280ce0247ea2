//! Tests of `discreet ledger`: show, amend, export, verify and repair.

#[cfg(feature = "postgres")]
use std::process::Command;

use crate::jobs::Jobs;
#[cfg(feature = "postgres")]
use crate::kit::server;
use crate::{discreet, json};

/// A ledger of one account, with one window charged.
pub(crate) fn ledger(name: &str) -> std::path::PathBuf {
    let directory = std::env::temp_dir().join(format!("discreet-command-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let path = directory.join("visits.ledger");
    make(&path);
    path
}

/// Creates such a ledger at a path or an address.
fn make(path: &std::path::Path) {
    use discreet::accounting::PrivacyCost;
    use discreet::ledger::{AccountSpec, Ledger};

    let mut ledger = Ledger::create(path).unwrap();
    ledger.register(&AccountSpec::lifetime("visits", PrivacyCost::zcdp(0.5)).unwrap()).unwrap();
    drop(ledger);
    charge(path, "visits", 10, 0.125);
}

/// Charges rho for a window that ends at `end`: the first 10 microseconds, or a day. Returns the row.
pub(crate) fn charge(ledger: &std::path::Path, account: &str, end: i64, rho: f64) -> discreet::ledger::Row {
    use discreet::accounting::{Adjacency, Interval, PrivacyCost, ReleaseCost};
    use discreet::ledger::{Charge, Digest, Ledger, Name, ReleaseId, ReleaseStatus, Sealing};

    let mut ledger = Ledger::open(ledger).unwrap();
    let job = Name::new("job", "web").unwrap();
    // A process that another test starts holds the lock of the former claim, from its fork to its exec.
    let began = std::time::Instant::now();
    let claim = loop {
        match ledger.claim(&job) {
            Err(error) if began.elapsed() > std::time::Duration::from_secs(10) => panic!("{error}"),
            Err(_) => std::thread::sleep(std::time::Duration::from_millis(5)),
            Ok(claim) => break claim,
        }
    };
    let release = ReleaseId {
        account: Name::new("account", account).unwrap(),
        job,
        version: Digest::of(b"version 1"),
        name: Name::new("release", "by_path").unwrap(),
        window: Interval::new((end - 86_400_000_000).max(0), end).unwrap(),
        part: None,
    };
    // Of this rho in either accounting.
    let cap = ledger.accounts().unwrap().into_iter().find(|known| known.name().as_str() == account).unwrap();
    let amount = || match cap.cap() {
        PrivacyCost::Gaussian { .. } => PrivacyCost::gaussian((2.0 * rho).sqrt()).unwrap(),
        _ => PrivacyCost::zcdp(rho).unwrap(),
    };
    let cost = ReleaseCost::new(Adjacency::PERSON, amount()).with_partial(amount()).unwrap();
    let charge = Some(Charge::Cost(cost));
    let rows = ledger.seal(
        &claim,
        &[Sealing { release, charge, status: ReleaseStatus::Sealed, line: "line".into(), state: None }],
    );
    rows.unwrap().remove(0)
}

#[test]
fn a_ledger_is_shown_amended_copied_and_verified() {
    let path = ledger("shown");
    looked_after(path.to_str().unwrap(), path.with_extension("copy").to_str().unwrap());
    std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
}

fn looked_after(path: &str, copy: &str) {
    let shown = json(&["ledger", "show", path, "--json"]);
    let visits = &shown["accounts"]["visits"];
    assert_eq!((&visits["spent"]["rho"], &visits["cap"]["rho"]), (&0.125.into(), &0.5.into()));
    assert_eq!(visits["releases"], 1);
    assert!(visits["promise"].as_str().unwrap().contains("one person more or less"));
    let (code, page, _) = discreet(&["ledger", "show", path]);
    assert!(code == 0 && page.contains("visits") && page.contains("rho 0.125"), "{page}");

    let who = ["--who", "an operator", "--why", "the review of March"];
    let amend =
        |rho| discreet(&[&["ledger", "amend", path, "--account", "visits", "--rho", rho], &who[..]].concat());
    assert_eq!(amend("0.25").0, 78);
    let (code, _, error) = amend("0,75");
    assert!(
        code == 78 && error.starts_with("error: rho: found text that is not understood; give "),
        "{error}"
    );
    let (code, _, error) = discreet(&["ledger", "forecast", path, "--account", "Visits"]);
    assert!(
        code == 78 && error.starts_with("error: account: found text that is not understood; give "),
        "{error}"
    );
    assert_eq!(discreet(&["ledger", "forecast", path, "--account", "visits"]).0, 0);
    assert_eq!(amend("0.75").0, 0);
    assert_eq!(json(&["ledger", "show", path, "--json"])["accounts"]["visits"]["cap"]["rho"], 0.75);

    assert_eq!(discreet(&["ledger", "export", path, copy]).0, 0);
    assert_eq!(discreet(&["ledger", "export", path, copy]).0, 78);
    let (code, page, _) = discreet(&["ledger", "verify", copy]);
    assert!(code == 0 && page.contains("3 rows"), "{page}");
    let (of, copied) = (json(&["ledger", "show", path, "--json"]), json(&["ledger", "show", copy, "--json"]));
    assert_eq!(of, copied);
}

// Refutes an amendment that is silent about its delta, and one that is refused without a remedy.
#[test]
fn an_amendment_says_what_its_delta_is_for() {
    let jobs = Jobs::new("amend", "quickstart.toml");
    let path = jobs.path("state/many.ledger");
    let text = std::fs::read_to_string(jobs.path("job.toml")).unwrap();
    let (head, _) = text.split_once("[[release]]").unwrap();
    for (account, budget, noise, keys) in [
        ("pure", "{ epsilon = 1 }", "laplace", ""),
        ("rho", "{ rho = 0.1 }", "gaussian", ""),
        ("both", "{ epsilon = 1, delta = 1e-6 }", "gaussian", ""),
        ("keys", "{ epsilon = 1, delta = 1e-6 }", "gaussian", "by = \"key\", keys = \"discover\""),
    ] {
        let own = head.lines().map(|line| match line.split_once(' ').map(|(word, _)| word) {
            Some("budget") => format!("budget = {budget}"),
            Some("account") => format!("account = \"{account}\""),
            _ => line.to_owned(),
        });
        let own: Vec<String> = own.collect();
        let bound = if keys.is_empty() { "" } else { "bound = { keys = 2 }\n" };
        let release = format!(
            "\n[[release]]\nname = \"all\"\nevery = \"1 day\"\npeople = {{ {keys} }}\n{bound}noise = \"{noise}\"\nshare = 1\n"
        );
        let config = jobs.path(&format!("{account}.toml"));
        std::fs::write(&config, own.join("\n") + &release).unwrap();
        let (code, _, error) = discreet(&["ledger", "init", &path, "--config", &config]);
        assert_eq!(code, 0, "{account}: {error}");
    }
    let amend = |account: &str, cap: &[&str]| {
        let who = ["--who", "ada", "--why", "a test"];
        let (code, page, error) =
            discreet(&[&["ledger", "amend", &path, "--account", account], cap, &who[..]].concat());
        assert_eq!(page.is_empty(), code != 0, "{page}{error}");
        (code, page + &error)
    };
    for (account, cap, expected, said) in [
        (
            "pure",
            &["--epsilon", "2", "--delta", "1e-6"][..],
            78,
            "error: --delta: account pure has a cap of epsilon 1 and no delta, and an amendment adds none; leave --delta out, or,",
        ),
        (
            "pure",
            &["--rho", "2"],
            78,
            "error: --rho: account pure has a cap of epsilon 1, and an amendment keeps",
        ),
        ("pure", &["--epsilon", "2"], 0, "account pure: the cap was epsilon 1, and is epsilon 2\n"),
        (
            "rho",
            &["--epsilon", "2"],
            78,
            "error: --delta: account rho has a cap of rho 0.1, which an epsilon comes to by",
        ),
        ("rho", &["--rho", "0.2"], 0, "account rho: the cap was rho 0.1, and is rho 0.2\n"),
        (
            "rho",
            &["--epsilon", "4", "--delta", "1e-6"],
            0,
            "\n--delta 1e-6 turns the epsilon into this rho, and is for",
        ),
        (
            "both",
            &["--epsilon", "2", "--delta", "1e-6"],
            0,
            "the account has no delta for discovered keys, stable means",
        ),
        ("keys", &["--rho", "2"], 78, "error: --rho: account keys has a cap of Gaussian rho "),
        (
            "keys",
            &["--epsilon", "2", "--delta", "4e-6"],
            0,
            "\n1.200e-6 of --delta 4e-6 is for discovered keys, stable means",
        ),
        (
            "keys",
            &["--epsilon", "3", "--delta", "4e-6", "--delta-for-keys", "2e-6"],
            0,
            "\n2.000e-6 of --delta 4e-6 is for discovered keys, stable means",
        ),
        // Three tenths would be less than there is.
        ("keys", &["--epsilon", "4", "--delta", "4e-6"], 0, "\n2.000e-6 of --delta 4e-6 is for"),
        (
            "both",
            &["--epsilon", "5", "--delta", "1e-6", "--delta-for-keys", "1e-7"],
            78,
            "error: --delta-for-keys: found 1e-7 for account both, which has no delta for",
        ),
        ("keys", &["--epsilon", "1", "--delta", "4e-6"], 78, "a cap can only be raised"),
    ] {
        let (code, page) = amend(account, cap);
        assert!(code == expected && page.contains(said), "{account} {cap:?}: {code} {page}");
    }
    let show = json(&["ledger", "show", &path, "--json"]);
    let delta = |account: &str| show["accounts"][account]["cap"]["delta"].as_f64().unwrap();
    assert!((delta("keys") - 2e-6).abs() < 1e-12 && delta("both") == 0.0, "{show}");
}

#[cfg(feature = "postgres")]
#[test]
fn a_ledger_on_a_server_is_looked_after_like_one_in_a_file() {
    let Some(server) = server::shared() else { return };
    let (address, scratch) = (server.address(&server.unused()), ledger("on-a-server"));
    make(&address);
    looked_after(address.to_str().unwrap(), scratch.with_extension("copy").to_str().unwrap());
    std::fs::remove_dir_all(scratch.parent().unwrap()).unwrap();
    let (code, _, error) = discreet(&["ledger", "show", server.address("missing").to_str().unwrap()]);
    assert!(code == 78 && error.contains("none of that name"), "{error}");
    assert!(server.sql("public", "SELECT 'missing'::regnamespace").is_err(), "showing a ledger made one");
    let (code, _, error) = discreet(&["ledger", "show", "postgres://me@127.0.0.1:1/books?ledger=visits"]);
    assert!(code == 74 && error.contains("no connection"), "{error}");
}

// Refutes a pooler that only the library refuses.
#[cfg(feature = "postgres")]
#[test]
fn a_ledger_behind_a_pooler_is_refused_with_the_remedy() {
    let Some(server) = server::shared() else { return };
    let Some(pooler) = server.pooler("transaction", ",options") else { return };
    let name = server.unused();
    make(&server.address(&name));
    let (code, _, error) =
        discreet(&["ledger", "show", server.address_through(&pooler, &name).to_str().unwrap()]);
    assert!(code == 78 && error.contains("connect to the server itself"), "{error}");
}

/// The server demands a password on its port; the command finds it where other clients do.
#[cfg(feature = "postgres")]
#[test]
fn a_password_comes_from_its_file_or_the_environment_and_is_never_said() {
    use std::os::unix::fs::PermissionsExt;

    let Some(server) = server::shared() else { return };
    let name = server.unused();
    make(&server.address(&name));
    server.sql("public", "CREATE ROLE reader LOGIN SUPERUSER PASSWORD 'hunter2'").unwrap();
    let address = server.address_by_port("reader", &name);
    let file = std::env::temp_dir().join(format!("discreet-pgpass-{}", std::process::id()));
    let show = |variable: &str, value: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_discreet"));
        command.env_remove("PGPASSWORD").env("PGPASSFILE", "/no/such/file").env(variable, value);
        let output = command.args(["ledger", "verify"]).arg(&address).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(!error.contains("hunter"), "{error}");
        (output.status.code().unwrap(), error)
    };
    assert_eq!(show("PGPASSWORD", "hunter2"), (0, String::new()));
    let (code, error) = show("PGPASSWORD", "hunter3");
    assert!(code == 78 && error.contains("authentication failed"), "{error}");
    let (code, error) = show("PGPASSFILE", "/no/such/file");
    assert!(code == 78 && error.contains("asks for a password"), "{error}");
    std::fs::write(&file, "127.0.0.1:*:postgres:reader:hunter2\n").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(show("PGPASSFILE", file.to_str().unwrap()), (0, String::new()));
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let (code, error) = show("PGPASSFILE", file.to_str().unwrap());
    assert!(code == 78 && error.contains("chmod 600"), "{error}");
    std::fs::remove_file(&file).unwrap();
    let open = address.to_str().unwrap().replace("reader@", "reader:hunter2@");
    let (code, _, error) = discreet(&["ledger", "show", &open]);
    assert!(code == 78 && error.contains("PGPASSFILE") && !error.contains("hunter"), "{error}");
}

#[test]
fn a_ledger_in_doubt_exits_with_74_and_a_wrong_path_with_78() {
    let path = ledger("doubted");
    let torn = path.with_extension("torn");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes.truncate(bytes.len() / 2);
    std::fs::write(&torn, bytes).unwrap();
    let (code, output, error) = discreet(&["ledger", "verify", torn.to_str().unwrap()]);
    assert_eq!((code, output.as_str()), (74, ""), "{error}");
    assert!(error.starts_with("error: ledger"), "{error}");

    let missing = path.with_extension("missing");
    let (code, _, error) = discreet(&["ledger", "show", missing.to_str().unwrap()]);
    assert_eq!(code, 78);
    assert!(error.contains("there is none"), "{error}");
    assert!(!missing.exists(), "showing a ledger made one");
    std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
}

// Refutes the sequence number of the last row as the number of rows: the copy lacks rows 3 and 4, and the
// anchor names the fourth alone, so that the repair is row 5 and its charge row 6.
#[test]
fn rows_are_counted_after_a_repair_that_leaves_a_gap() {
    use discreet::ledger::{Journal, Ledger};

    let path = ledger("gap");
    let (copy, anchor) = (path.with_extension("copy"), path.with_extension("anchor"));
    assert_eq!(discreet(&["ledger", "export", path.to_str().unwrap(), copy.to_str().unwrap()]).0, 0);
    charge(&path, "visits", 86_400_000_000, 0.125);
    let last = charge(&path, "visits", 172_800_000_000, 0.125);
    let mut journal = Journal::open(&anchor, Ledger::open(&path).unwrap().name()).unwrap();
    journal.begin().unwrap();
    journal.record([&last].into_iter()).unwrap();
    let (copy, anchor) = (copy.to_str().unwrap(), anchor.to_str().unwrap());
    let repair = ["ledger", "repair", copy, "--accept-loss", "--reason", "an older copy", "--anchor", anchor];
    let (code, page, error) = discreet(&repair);
    assert!(code == 0 && page.contains("rows up to 2 are proven and stay; 1 charge for"), "{page}{error}");
    let shown = json(&["ledger", "show", copy, "--json"]);
    assert_eq!((&shown["rows"], &shown["sequence"]), (&4.into(), &6.into()));
    let (code, page, _) = discreet(&["ledger", "verify", copy]);
    assert!(code == 0 && page.starts_with("sound: 4 rows; every account "), "{page}");
    assert!(discreet(&["ledger", "show", copy]).1.contains(", 4 rows\n"));
    std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
}

#[test]
fn a_ledger_in_doubt_is_repaired_on_purpose_only() {
    let path = ledger("repaired");
    let text = path.to_str().unwrap();
    let repair = |more: &[&str]| discreet(&[&["ledger", "repair", text], more].concat());
    assert_eq!(repair(&["--reason", "why not"]).0, 2);
    assert_eq!(repair(&["--accept-loss"]).0, 2);
    let (code, _, error) = repair(&["--accept-loss", "--reason", "why not"]);
    assert!(code == 78 && error.contains("nothing is in doubt"), "{error}");

    // Changes a byte of the published line, in every copy of it in the file.
    let mut bytes = std::fs::read(&path).unwrap();
    for place in 0..bytes.len() - 4 {
        if bytes[place..].starts_with(b"line") && bytes[place - 1] != b' ' {
            bytes[place] = b'm';
        }
    }
    std::fs::write(&path, bytes).unwrap();
    assert_eq!(discreet(&["ledger", "verify", text]).0, 74);
    let (code, _, error) =
        repair(&["--accept-loss", "--reason", "edited by hand", "--anchor", "/no/such/anchor"]);
    assert!(code == 74 && error.contains("anchor /no/such/anchor"), "{error}");
    let (code, page, error) = repair(&["--accept-loss", "--reason", "edited by hand"]);
    assert!(
        code == 0
            && page.contains("rows up to 1 are proven")
            && page.contains("no window that starts before 20")
            && page.contains("torn-1"),
        "{page}{error}"
    );
    let shown = json(&["ledger", "show", text, "--json"]);
    assert_eq!(shown["accounts"]["visits"]["spent"]["rho"], 0.125);
    assert_eq!(discreet(&["ledger", "verify", text]).0, 0);
    std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
}

// Refutes a checkpoint that a verification of the command does not leave, and a command that needs the key.
#[test]
fn a_large_ledger_is_verified_whole_and_shown_from_its_checkpoint() {
    use discreet::accounting::{Adjacency, Interval, PrivacyCost, ReleaseCost};
    use discreet::ledger::{Digest, Ledger, LedgerKey, Name, ReleaseId};

    let path = ledger("checkpointed");
    let mut laid = Ledger::open(&path).unwrap();
    let job = Name::new("job", "web").unwrap();
    let claim = laid.claim(&job).unwrap();
    let row = |window: i64| {
        let release = ReleaseId {
            account: Name::new("account", "visits").unwrap(),
            job: job.clone(),
            version: Digest::of(b"version 2"),
            name: Name::new("release", "by_path").unwrap(),
            window: Interval::new(10 * window, 10 * window + 10).unwrap(),
            part: None,
        };
        let cost = ReleaseCost::new(Adjacency::PERSON, PrivacyCost::zcdp(1e-6).unwrap());
        (release, cost, "line".to_owned())
    };
    let rows: Vec<_> = (1..10_100).map(row).collect();
    laid.lay_down_for_benches_of_the_library_itself(&claim, &rows).unwrap();
    drop((laid, claim));

    let key = LedgerKey::open(LedgerKey::beside(&path)).unwrap();
    let is_whole = || Ledger::open_with_key(&path, &key).unwrap().is_whole();
    assert!(is_whole(), "there is no checkpoint yet");
    let text = path.to_str().unwrap();
    let (code, page, _) = discreet(&["ledger", "verify", text]);
    assert!(code == 0 && page.contains("10101 rows"), "{page}");
    assert!(!is_whole(), "verifying left no checkpoint");
    let shown = json(&["ledger", "show", text, "--json"]);
    assert_eq!(shown["rows"], 10_101);
    assert_eq!(shown["accounts"]["visits"]["releases"], 10_100);

    // Without the key the command verifies everything, and says the same.
    std::fs::rename(LedgerKey::beside(&path), path.with_extension("elsewhere")).unwrap();
    assert_eq!(json(&["ledger", "show", text, "--json"]), shown);
    std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
}
