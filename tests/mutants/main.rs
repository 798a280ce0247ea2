//! Mutants: small mistakes in the library, each of which some test must notice.
//!
//! ```sh
//! cargo test --test mutants             # all of them
//! cargo test --test mutants -- noise    # those whose name contains a word
//! cargo test --test mutants -- --check  # none: only that the library has each piece
//! cargo test --test mutants -- --audit  # those of which an audit is said to find or to miss each
//! ```
//!
//! Each entry of `list.txt` names a piece of code, what it is replaced by, and the tests that must fail. All
//! mutants are built at once, in a copy of the tree: each piece becomes a condition on the environment
//! variable `DISCREET_MUTANT`. Then the tests of each mutant are run with its number. Privacy bugs say as well whether
//! `discreet audit` finds them, with `audit: finds` or `audit: misses`: then the job files beside it are audited.

#![allow(clippy::print_stdout, clippy::print_stderr, clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output, Stdio};
use std::time::{Duration, Instant};

/// A mutant that runs for this long is one that never ends, which a test notices.
const TIME_LIMIT: Duration = Duration::from_secs(300);

/// The function that every mutated piece asks; a test of the library finds its number in the environment.
const SWITCH: &str = r#"
/// Returns true if the environment selects this mutant.
#[allow(dead_code)]
pub(crate) fn is_mutant(number: u32) -> bool {
    static SELECTED: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
    let selected = || std::env::var("DISCREET_MUTANT").ok().and_then(|text| text.parse().ok());
    *SELECTED.get_or_init(|| selected().unwrap_or(0)) == number
}
"#;

/// An entry of the list.
#[derive(Debug, Default)]
struct Mutant {
    name: String,
    file: String,
    /// A text before the piece, if the piece is not the only one of its kind in the file.
    after: String,
    replace: String,
    by: String,
    /// The filters of the tests that must fail.
    tests: Vec<String>,
    /// True if an audit finds it, and false if none does; `None` if it is not audited.
    audit: Option<bool>,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let list = fs::read_to_string(root.join("tests/mutants/list.txt")).unwrap();
    let mutants: Vec<Mutant> = list.split("\n\n").filter_map(parsed).collect();
    let work = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("mutants");
    copy(root, &work);
    for (number, mutant) in (1..).zip(&mutants) {
        if let Err(wrong) = plant(&work, number, mutant) {
            eprintln!("{}: {wrong}", mutant.name);
            return ExitCode::FAILURE;
        }
    }
    if std::env::args().any(|word| word == "--check") {
        return ExitCode::SUCCESS;
    }
    let lib = work.join("operators/lib.rs");
    let text = fs::read_to_string(&lib).unwrap();
    fs::write(&lib, text + SWITCH).unwrap();
    if std::env::args().any(|word| word == "--audit") {
        return audited(&work, &mutants);
    }
    let Some(tests) = build(&work) else { return ExitCode::FAILURE };
    let chosen = |mutant: &Mutant| words.is_empty() || words.iter().any(|word| mutant.name.contains(word));
    let mut survivors = 0;
    for (number, mutant) in (1u32..).zip(&mutants).filter(|(_, mutant)| chosen(mutant)) {
        let began = Instant::now();
        let killer = killer(&tests, &work, number, &mutant.tests);
        let seconds = began.elapsed().as_secs();
        match killer {
            Some(test) if fails_by_itself(&tests, &work, &test) => {
                eprintln!("without a mutant, this test fails: {test}");
                return ExitCode::FAILURE;
            }
            Some(test) => println!("killed    {:>4} s  {}: {test}", seconds, mutant.name),
            None => {
                survivors += 1;
                println!("SURVIVED  {:>4} s  {}", seconds, mutant.name);
            }
        }
    }
    println!("{} mutants, {survivors} survived", mutants.iter().filter(|mutant| chosen(mutant)).count());
    if survivors == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Audits a job with each of the mistakes that say what an audit finds, and once with none; prints what it found.
fn audited(work: &Path, mutants: &[Mutant]) -> ExitCode {
    let built = cargo(work, &["build", "--bin", "discreet"]);
    if !built.status.success() {
        eprintln!("{}", String::from_utf8_lossy(&built.stderr));
        return ExitCode::FAILURE;
    }
    let command = work.join("target/debug/discreet");
    let audit = |job: &str, number: u32| {
        let run = Command::new(&command)
            .args(["audit", job, "--canaries", "2000", "--level", "1e-7"])
            .current_dir(work)
            .env("DISCREET_MUTANT", number.to_string())
            .output()
            .unwrap();
        match run.status.code() {
            Some(0) => Some(false),
            Some(1) => Some(true),
            _ => None,
        }
    };
    let refutes = |number: u32| {
        let windows = audit("tests/mutants/audited_windows.toml", number)?;
        Some(windows || audit("tests/mutants/audited.toml", number)?)
    };
    if refutes(0) != Some(false) {
        eprintln!("without a mutant, the audit does not pass");
        return ExitCode::FAILURE;
    }
    let (mut found, mut all, mut otherwise) = (0, 0, 0);
    for (number, mutant) in (1u32..).zip(mutants) {
        let Some(is_found) = mutant.audit else { continue };
        let refuted = refutes(number);
        // A copy that cannot run is a mistake that is seen.
        let seen = refuted != Some(false);
        let word = if seen { "finds " } else { "misses" };
        println!("the audit {word}  {}", mutant.name);
        (all, found) = (all + 1, found + u32::from(seen));
        if seen != is_found {
            otherwise += 1;
            println!("    otherwise than the list says");
        }
    }
    println!("{all} privacy bugs: the audit finds {found}; each has a test of the library that fails");
    if otherwise == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Returns true if the test fails without a mutant.
fn fails_by_itself(tests: &Path, work: &Path, test: &str) -> bool {
    let name = test.split(" - ").next().unwrap_or(test).to_owned();
    killer(tests, work, 0, &["--exact".to_owned(), name]).is_some()
}

fn parsed(block: &str) -> Option<Mutant> {
    let mut mutant = Mutant::default();
    for line in block.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()) {
        let (field, value) = line.split_once(": ").unwrap_or_else(|| panic!("not a field: {line}"));
        match field {
            "mutant" => mutant.name = value.to_owned(),
            "file" => mutant.file = value.to_owned(),
            "after" => mutant.after = value.to_owned(),
            "replace" => mutant.replace = value.to_owned(),
            "by" => mutant.by = value.to_owned(),
            "audit" => mutant.audit = Some(value == "finds"),
            "tests" => mutant.tests = value.split_whitespace().map(str::to_owned).collect(),
            _ => panic!("no such field: {line}"),
        }
    }
    (!mutant.name.is_empty()).then_some(mutant)
}

/// Copies the files that a build of the library reads.
fn copy(root: &Path, work: &Path) {
    for part in ["operators", "tests", "benches", "examples", "config", "docs", "proptest-regressions"] {
        let _ = fs::remove_dir_all(work.join(part));
        copy_directory(&root.join(part), &work.join(part));
    }
    for entry in fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            fs::copy(&path, work.join(path.file_name().unwrap())).unwrap();
        }
    }
}

fn copy_directory(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy_directory(&path, &target);
        } else {
            fs::copy(&path, &target).unwrap();
        }
    }
}

/// Replaces the piece by a condition. The piece is an expression, and the only one of its text behind
/// `after`.
fn plant(work: &Path, number: u32, mutant: &Mutant) -> Result<(), String> {
    let path = work.join(&mutant.file);
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", mutant.file))?;
    let begin = match mutant.after.as_str() {
        "" => 0,
        after => text.find(after).ok_or_else(|| format!("{} lacks: {after}", mutant.file))? + after.len(),
    };
    let place = text[begin..].find(&mutant.replace);
    let place = begin + place.ok_or_else(|| format!("{} lacks: {}", mutant.file, mutant.replace))?;
    if mutant.after.is_empty() && text[place + 1..].contains(&mutant.replace) {
        return Err(format!("{} has it twice, give after: {}", mutant.file, mutant.replace));
    }
    let end = place + mutant.replace.len();
    let Mutant { replace, by, .. } = mutant;
    let condition = format!("(if crate::is_mutant({number}) {{ {by} }} else {{ {replace} }})");
    fs::write(&path, format!("{}{condition}{}", &text[..place], &text[end..]))
        .map_err(|error| error.to_string())
}

/// Builds a part of the copy.
fn cargo(work: &Path, part: &[&str]) -> Output {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    Command::new(cargo)
        .args(part)
        .args(["--features", "postgres failpoints"])
        .current_dir(work)
        .env("CARGO_TARGET_DIR", work.join("target"))
        .env("CARGO_PROFILE_TEST_OPT_LEVEL", "0")
        .env("RUSTFLAGS", "-A warnings")
        .stdout(Stdio::inherit())
        .output()
        .unwrap()
}

/// Builds the tests of the library in the copy; returns their program.
fn build(work: &Path) -> Option<PathBuf> {
    let built = cargo(work, &["test", "--lib", "--no-run"]);
    let said = String::from_utf8_lossy(&built.stderr);
    let program =
        said.lines().rev().find_map(|line| line.trim().strip_prefix("Executable")?.rsplit_once('('));
    match program {
        Some((_, path)) if built.status.success() => Some(PathBuf::from(path.trim_end_matches(')'))),
        _ => {
            eprintln!("{said}");
            None
        }
    }
}

/// Runs the tests that match the filters until one fails, which has noticed the mutant; returns it.
fn killer(tests: &Path, work: &Path, number: u32, filters: &[String]) -> Option<String> {
    let log = work.join("log");
    let mut run = Command::new(tests)
        .args(filters)
        .current_dir(work)
        .env("DISCREET_MUTANT", number.to_string())
        .env("PROPTEST_RNG_SEED", "1")
        .stdout(fs::File::create(&log).unwrap())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let began = Instant::now();
    loop {
        let ended = run.try_wait().unwrap();
        let said = fs::read_to_string(&log).unwrap();
        let failed = said.lines().find_map(|line| line.strip_prefix("test ")?.strip_suffix(" ... FAILED"));
        let late = began.elapsed() > TIME_LIMIT;
        if ended.is_none() && (failed.is_some() || late) {
            run.kill().unwrap();
            run.wait().unwrap();
        }
        match (ended, failed) {
            (_, Some(test)) => return Some(test.to_owned()),
            (Some(status), None) if status.success() => return None,
            (Some(status), None) => return Some(format!("a test that ended the process, {status}")),
            (None, None) if late => return Some("a test that did not end".to_owned()),
            (None, None) => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}
