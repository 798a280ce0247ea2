//! Tests of malformed values, for every value of every option: each is refused by name, with the finding and
//! the remedy, and none ends in a panic.

use crate::discreet;

/// Valid commands.
const GOOD: [&str; 17] = [
    "calibrate laplace --epsilon 1 --sensitivity 1",
    "calibrate gaussian --epsilon 1 --delta 1e-6 --sensitivity 1",
    "calibrate max --grid 1024 --rho 0.1 --confidence 0.99 --keys 1",
    "calibrate alert --above 500 --rho 0.1 --windows 720 --keys 1 --alarms 1 --wrong 0.05 --per-key 1",
    "calibrate top --k 3 --rho 0.1 --keys 10 --per-key 1 --confidence 0.9",
    "calibrate marginals --sizes 10,20,5 --tables 0+1,2 --rho 0.1 --keys 1 --per-key 1",
    "calibrate quantile --grid 1024 --rho 0.1 --confidence 0.99 --keys 1 --q 0.5 --per-key 1",
    "calibrate shuffle --people 10000 --local-epsilon 1 --delta 1e-6 --choices 2",
    "calibrate adaptive --people 100000 --error 0.05 --failure 0.05",
    "calibrate bounded --queries 10 --epsilon 1 --delta 1e-6 --shape polynomial:4 --goal bound",
    "calibrate shape --box 1,2 --relation replace --norm 2 --rho 0.1 --people 1000",
    "calibrate shape --points POINTS --rho 0.1 --people 1000",
    "calibrate stable-mean --people 1000000 --dimension 2 --epsilon 2 --delta 1e-6 --relation replace --width 1000",
    "calibrate found-mean --people 100000 --dimension 2 --reach 1000000 --rho 0.1",
    "calibrate running --horizon 100 --rho 0.1",
    "calibrate sliding --width 10 --rho 0.1",
    "synth --rows 5 --people 5 --keys 5 --skew 1 --seed 1 --from 2026-01-01 --until 2026-01-02",
];

const WRONG: [&str; 9] = ["0", "-1", "NaN", "1e400", "1e-400", "", "abc", "/", "/nowhere/file"];

/// Values of the test that an option accepts.
const RIGHT: [(&str, &str); 5] =
    [("--goal", "0"), ("--tables", "0"), ("--above", "0"), ("--skew", "0"), ("--seed", "0")];

#[test]
fn every_wrong_value_is_refused_by_name_with_a_remedy() {
    let points = std::env::temp_dir().join(format!("discreet-{}-points.csv", std::process::id()));
    std::fs::write(&points, "1,2\n2,1\n-1,0\n").unwrap();
    let mut tried = 0;
    for line in GOOD {
        let words: Vec<&str> = line
            .split(' ')
            .map(|word| if word == "POINTS" { points.to_str().unwrap() } else { word })
            .collect();
        let (code, page, _) = discreet(&words);
        assert!(code == 0 && !page.is_empty(), "{line}: {code}");
        for at in (1..words.len()).filter(|at| words[at - 1].starts_with("--")) {
            for wrong in WRONG.into_iter().filter(|wrong| !RIGHT.contains(&(words[at - 1], wrong))) {
                let mut changed = words.clone();
                changed[at] = wrong;
                let (code, output, error) = discreet(&changed);
                let field = words[at - 1].trim_start_matches('-');
                assert_eq!(output, "", "{changed:?}");
                assert!(!error.contains("panicked"), "{changed:?}: {error}");
                // The command line parser itself refuses an option without a value.
                let named = match code {
                    2 => error.contains(&format!("'--{field} <")),
                    78 => {
                        error.starts_with("error: ")
                            && error.contains(": found ")
                            && error.contains("; give ")
                    }
                    _ => false,
                };
                assert!(named, "{changed:?} exits with {code}: {error}");
                tried += 1;
            }
        }
    }
    std::fs::remove_file(&points).unwrap();
    assert!(tried > 380, "{tried}");
}

/// Every command that reads a job file refuses a file that is none.
#[test]
fn what_is_no_job_file_is_refused_by_name() {
    let directory = std::env::temp_dir();
    let place = |name: &str| directory.join(format!("discreet-{}-{name}", std::process::id()));
    let (binary, empty) = (place("binary.toml"), place("empty.toml"));
    std::fs::write(&binary, [0xff, 0xfe, 0]).unwrap();
    std::fs::write(&empty, "").unwrap();
    for path in [&binary, &empty, &directory, &place("missing.toml")] {
        let path = path.to_str().unwrap();
        for command in
            [["plan", path].as_slice(), &["plan", "--json", path], &["check", path], &["replay", path]]
        {
            let (code, output, error) = discreet(command);
            assert_eq!((code, output.as_str()), (78, ""), "{command:?}: {error}");
            assert!(error.starts_with(&format!("error: {path}:1:")), "{command:?}: {error}");
            assert!(error.contains(": found ") && error.contains("; give "), "{command:?}: {error}");
        }
    }
    [binary, empty].iter().for_each(|path| std::fs::remove_file(path).unwrap());
}

// Refutes a page that is lost without a word, as on a full disk, and one that passes for printed.
#[test]
fn a_page_that_cannot_be_written_is_said_and_ends_with_74() {
    let jobs = crate::jobs::Jobs::new("full", "quickstart.toml");
    let (config, ledger, copy) =
        (jobs.path("job.toml"), jobs.path("state/quickstart.ledger"), jobs.path("copy.ledger"));
    let prices = jobs.path("prices.json");
    std::fs::write(&prices, "[{ \"mechanism\": \"zcdp\", \"rho\": 0.1 }]").unwrap();
    assert_eq!(discreet(&["ledger", "init", &ledger, "--config", &config]).0, 0);
    let calibration: Vec<&str> =
        GOOD.iter().find(|line| line.starts_with("calibrate ")).unwrap().split(' ').collect();
    let commands = [
        vec!["help"],
        vec!["--help"],
        vec!["-h"],
        vec!["--version"],
        vec!["help", "ledger"],
        vec!["ledger", "show", "--help"],
        vec!["plan", &config],
        vec!["plan", &config, "--json"],
        vec!["check", &config],
        vec!["check", &config, "--print"],
        vec!["check", &config, "--connect", "--json"],
        vec!["fields"],
        vec!["man"],
        vec!["completions", "bash"],
        vec!["price", &prices, "--delta", "1e-6"],
        calibration,
        vec!["synth", "--rows", "100", "--people", "5", "--keys", "3"],
        vec!["ledger", "init", &ledger, "--config", &config],
        vec!["ledger", "show", &ledger],
        vec!["ledger", "forecast", &ledger, "--json"],
        vec!["ledger", "verify", &ledger],
        vec!["ledger", "export", &ledger, &copy],
        vec!["replay", &config],
    ];
    for command in commands {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_discreet"))
            .args(&command)
            .stdout(std::fs::File::create("/dev/full").unwrap())
            .output()
            .unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(74), "{command:?}: {error}");
        let lost: Vec<&str> = error.lines().filter(|line| line.starts_with("error: ")).collect();
        assert_eq!(lost.len(), 1, "{command:?}: {error}");
        assert!(lost[0].contains("standard output") && !lost[0].contains("os error"), "{command:?}: {error}");
    }
}

// Refutes a process outside of the number of processes that runs as if it were the only one.
#[test]
fn a_process_outside_of_their_number_is_refused() {
    let jobs = crate::jobs::Jobs::new("outside", "quickstart.toml");
    let config = jobs.path("job.toml");
    let hosts = jobs.path("hosts");
    std::fs::write(&hosts, "127.0.0.1:1\n127.0.0.1:2\n").unwrap();
    for (arguments, words) in [
        (&["-n", "0"][..], "--processes: found 0; give 1 or more"),
        (&["-n", "1", "-p", "7"], "--process: found 7 of 1 processes; leave it out, or"),
        (&["-p", "1"], "--process: found 1 of 1 processes; leave it out, or"),
        (
            &["-n", "2", "-p", "2", "--hosts", &hosts],
            "--process: found 2 of 2 processes; give a number from 0 to 1",
        ),
    ] {
        for command in ["replay", "run"] {
            let (code, output, error) = discreet(&[&[command, &config], arguments].concat());
            assert_eq!((code, output.as_str()), (78, ""), "{command} {arguments:?}: {error}");
            assert!(error.contains(words), "{command} {arguments:?}: {error}");
        }
    }
}

/// Refutes a subcommand without help.
#[test]
fn every_subcommand_says_how_it_is_used() {
    let calibrations = GOOD.iter().filter_map(|line| line.strip_prefix("calibrate "));
    let names = calibrations.filter_map(|line| line.split(' ').next()).map(|name| vec!["calibrate", name]);
    for words in names.chain([vec!["price"], vec!["synth"], vec!["plan"], vec!["tune"], vec!["calibrate"]]) {
        let (code, page, error) = discreet(&[words.as_slice(), &["-h"]].concat());
        assert!(code == 0 && error.is_empty() && page.contains("Usage: discreet "), "{words:?}: {page}");
    }
}

/// Refutes completions that lack a subcommand or do not parse, and a page that is none or lacks an option.
#[test]
fn shells_and_man_know_the_command() {
    for (shell, own) in
        [("bash", "complete -F"), ("zsh", "#compdef discreet"), ("fish", "complete -c discreet")]
    {
        let (code, script, error) = discreet(&["completions", shell]);
        assert!(code == 0 && error.is_empty() && script.contains(own), "{shell}: {error}");
        for word in ["replay", "calibrate", "forecast", "workers"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
        let path = std::env::temp_dir().join(format!("discreet-{}-completions.{shell}", std::process::id()));
        std::fs::write(&path, &script).unwrap();
        match std::process::Command::new(shell).arg("-n").arg(&path).status() {
            Ok(status) => assert!(status.success(), "{shell}"),
            Err(_) => println!("skipped: no {shell}: its completions are not parsed"),
        }
        std::fs::remove_file(path).unwrap();
    }
    assert_eq!(discreet(&["completions", "cmd"]).0, 2);
    let (code, page, _) = discreet(&["man"]);
    assert!(code == 0 && page.contains(".TH discreet 1") && page.contains("Exit codes"), "{page}");
    let place = std::env::temp_dir().join(format!("discreet-man-{}", std::process::id()));
    let place = place.to_str().unwrap();
    assert_eq!(discreet(&["man", "--out", place]).0, 78, "a directory that is not there");
    std::fs::create_dir(place).unwrap();
    assert_eq!(discreet(&["man", "--out", place]).0, 0);
    let read = |name: &str| std::fs::read_to_string(format!("{place}/{name}.1")).unwrap();
    assert!(read("discreet-run").contains("report") && read("discreet-ledger-init").contains("config"));
    std::fs::remove_dir_all(place).unwrap();
}
