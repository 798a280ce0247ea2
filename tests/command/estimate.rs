//! `discreet tune --estimate`: what is charged, what is refused, and what is left of a command that is killed.

use std::collections::BTreeSet;
use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::kit::{Directory, Random, size};
use crate::{discreet, json};

const JOB: &str = r#"
[job]
name = "visits"
version = 1
from = 2026-01-01T00:00:00Z
until = 2026-01-04T00:00:00Z

[source]
type = "csv"
path = "visits.csv"
time = { field = "time", format = "rfc3339" }

[privacy]
person = { field = "user", missing = "drop" }
promise = "each day"
budget = { epsilon = 4, delta = 1e-6 }
ledger = "visits.ledger"
account = "visits"

[[release]]
name = "visits"
every = "1 day"
count = {}
bound = { per_key = 2 }
noise = "gaussian"
share = 0.6

[[release]]
name = "values"
every = "1 day"
mean = { of = "value", range = [0, 120] }
bound = { per_key = 2 }
noise = "gaussian"
share = 0.3
"#;

/// A directory with a job, the log of three days, and a ledger.
struct Scene(Directory);

impl Scene {
    fn new(name: &str) -> Scene {
        let scene = Scene(Directory::new(&format!("estimate-{name}")));
        scene.0.write("job.toml", JOB);
        let days: String = (1..4)
            .map(|day| {
                let log = scene.path(&format!("day-{day}.csv"));
                let words = [
                    "synth", "--rows", "3000", "--people", "700", "--keys", "3", "--seed", "5", "--format",
                    "csv", "--out", &log,
                ];
                assert_eq!(discreet(&words).0, 0);
                let log = fs::read_to_string(&log).unwrap().replace("2026-01-01", &format!("2026-01-0{day}"));
                if day == 1 { log } else { log.split_once('\n').unwrap().1.to_owned() }
            })
            .collect();
        scene.0.write("visits.csv", days);
        let init = ["ledger", "init", &scene.path("visits.ledger"), "--config", &scene.path("job.toml")];
        assert_eq!(discreet(&init).0, 0);
        scene
    }

    fn path(&self, name: &str) -> String {
        self.0.at(name).to_str().unwrap().to_owned()
    }

    /// Returns the estimate of the job on a tenth of its budget.
    fn estimate(&self, job: &str) -> Value {
        json(&["-q", "tune", &self.path(job), "--estimate", "0.1", "--json"])["estimate"].clone()
    }

    /// Returns the number of releases of the account, and the part of its cap that is spent on the newest
    /// window.
    fn spent(&self) -> (u64, f64) {
        let account =
            json(&["ledger", "show", &self.path("visits.ledger"), "--json"])["accounts"]["visits"].clone();
        let rho = |amount: &str| account[amount]["rho"].as_f64().unwrap();
        (account["releases"].as_u64().unwrap(), rho("spent") / rho("cap"))
    }

    fn is_sound(&self) {
        let (code, page, error) = discreet(&["ledger", "verify", &self.path("visits.ledger")]);
        assert!(code == 0 && page.starts_with("sound: "), "{page}{error}");
    }

    /// The whole lines of the file of the estimate.
    fn lines(&self) -> BTreeSet<String> {
        let text = fs::read_to_string(self.path("visits.estimate.jsonl")).unwrap_or_default();
        let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
        whole.lines().map(str::to_owned).collect()
    }

    fn start(&self, failpoint: Option<&str>) -> std::process::Child {
        let mut command = Command::new(env!("CARGO_BIN_EXE_discreet"));
        command.args(["-q", "tune", &self.path("job.toml"), "--estimate", "0.1", "--json"]);
        command.envs(failpoint.map(|failpoint| ("DISCREET_FAILPOINT", failpoint)));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }
}

/// Goes on with an estimate of which a part is there, and compares it with what has left.
fn goes_on(scene: &Scene, what: &str) {
    let left = scene.lines();
    let estimate = scene.estimate("job.toml");
    let (lines, spent) = (scene.lines(), scene.spent());
    assert!(lines.is_superset(&left), "{what}: a line was released, and is not any more");
    assert_eq!(spent.0, 3, "{what}: people, their records and values");
    assert!(spent.1 > 0.099 && spent.1 < 0.100_001, "{what}: {spent:?}");
    assert_eq!(
        (scene.estimate("job.toml"), scene.lines(), scene.spent()),
        (estimate.clone(), lines, spent),
        "{what}"
    );
    fs::remove_file(scene.path("visits.estimate.jsonl")).unwrap();
    assert_eq!((scene.estimate("job.toml"), scene.spent()), (estimate, spent), "{what}: a new file");
    scene.is_sound();
}

// Refutes a kill at any point that lets an estimate have other numbers, or be charged twice.
#[cfg(feature = "failpoints")]
#[test]
fn an_estimate_that_is_killed_at_a_point_has_the_same_numbers() {
    let points =
        ["before-lookup", "after-seed", "after-draw", "after-encode", "after-put-before-mark", "after-mark"];
    for (number, point) in points.iter().enumerate() {
        let scene = Scene::new(&format!("point-{number}"));
        let mut reached = false;
        for hit in 1..=2 {
            let ended = scene.start(Some(&format!("{point}:{hit}:abort"))).wait().unwrap();
            reached |= ended.code().is_none();
        }
        assert!(reached, "{point} was not reached");
        goes_on(&scene, point);
    }
}

// The same, at random moments.
#[test]
fn an_estimate_that_is_killed_at_any_time_has_the_same_numbers() {
    let mut random = Random(7);
    let mut killed = 0;
    for number in 0..size(4, 60) {
        let scene = Scene::new(&format!("time-{number}"));
        for _ in 0..3 {
            let mut child = scene.start(None);
            std::thread::sleep(Duration::from_millis(20 + random.below(600)));
            child.kill().unwrap();
            killed += usize::from(child.wait().unwrap().code().is_none());
        }
        goes_on(&scene, &number.to_string());
    }
    println!("killed: {killed} estimates in the middle");
}

// Refutes an estimate that a day of its time does not pay for: what is left of each day is what others may
// spend.
#[test]
fn each_day_has_paid_for_its_estimate() {
    let scene = Scene::new("days");
    let estimate = scene.estimate("job.toml");
    let people = estimate["people"].as_u64().unwrap();
    assert!(
        (500..900).contains(&people) && estimate["share"] == 0.1 && estimate["releases"] == 0.9,
        "{estimate}"
    );
    let beside = |name: &str, share: &str| {
        let (head, rest) = JOB.split_once("share = 0.6").unwrap();
        let own = format!("{head}share = {share}\n")
            .replace("name = \"visits\"\nversion", &format!("name = \"{name}\"\nversion"));
        assert!(!rest.is_empty() && own.contains(name));
        scene.0.write(&format!("{name}.toml"), own);
        discreet(&["-q", "replay", &scene.path(&format!("{name}.toml"))])
    };
    let (code, lines, error) = beside("more", "0.91");
    assert_eq!((code, lines.matches("\"refused\"").count()), (75, 3), "{lines}{error}");
    let (code, lines, error) = beside("rest", "0.89");
    assert_eq!(
        (code, lines.matches("\"refused\"").count(), lines.matches("\"value\"").count()),
        (0, 0, 3),
        "{lines}{error}"
    );
    // Next to nothing is left for the job itself, and its estimate is what it was.
    let again = scene.estimate("job.toml");
    for numbers in ["people", "records", "values"] {
        assert_eq!(again[numbers], estimate[numbers], "{numbers}");
    }
    assert_eq!((&again["others"], &again["releases"]), (&0.89.into(), &0.01.into()), "{again}");
    scene.is_sound();
}

// Refutes a refusal without its reason, and one after which something was charged.
#[test]
fn an_estimate_that_cannot_be_is_refused_before_it_is_charged() {
    let scene = Scene::new("refused");
    let config = scene.path("job.toml");
    let changed = |name: &str, old: &str, new: &str| {
        assert!(JOB.contains(old), "{old}");
        scene.0.write(name, JOB.replace(old, new));
        scene.path(name)
    };
    let full = changed("full.toml", "share = 0.3", "share = 0.4");
    let endless = changed("endless.toml", "until = 2026-01-04T00:00:00Z\n", "");
    let elsewhere = changed("elsewhere.toml", "visits.ledger", "none.ledger");
    let (csv, table, other) = (scene.path("visits.csv"), scene.path("lines.csv"), scene.path("full.toml"));
    let new = scene.path("new.toml");
    for (words, expected, said) in [
        (vec![&*full, "--estimate", "0.1"], 78, "release.share: found shares of 1 together"),
        (vec![&*endless, "--estimate", "0.1"], 78, "job.until: found nothing"),
        (vec![&*elsewhere, "--estimate", "0.1"], 78, "privacy.ledger: there is no ledger"),
        (vec![&*config, "--estimate", "0"], 78, "estimate: found"),
        (vec![&*config, "--estimate", "1.5"], 78, "estimate: found"),
        (vec![&*config, "--estimate", "x"], 78, "estimate: found"),
        (vec![&*config, "--estimate", "0.1", "--rows", "5", "--people", "5"], 2, "--rows"),
        (vec![&*config, "--estimate", "0.1", "--people", "5"], 2, "--people"),
        (vec![&*config, "--estimate", "0.1", "--like", &*csv], 2, "--like"),
        (vec![&*config, "--estimate-out", &*table], 2, "--estimate"),
        (vec![&*config, "--estimate", "0.1", "--estimate-out", &*table], 78, "found the name of a table"),
        (vec![&*config, "--estimate", "0.1", "--estimate-out", &*csv], 78, "is the file of source.path"),
        (vec![&*config, "--estimate", "0.1", "--estimate-out", &*other], 78, "found no line of a release"),
        (
            vec![&*config, "--estimate", "0.1", "--estimate-out", &*new, "--out", &*new],
            78,
            "--out: found the file of the estimate",
        ),
        (vec![&*config, "--estimate", "0.1", "--keys", "0"], 78, "keys: found zero"),
        (vec![&*config, "--estimate", "0.1", "--out", &*config], 78, "found a file, which is left as it is"),
    ] {
        let (code, output, error) = discreet(&[&["tune"], &words[..]].concat());
        assert_eq!((code, output.as_str()), (expected, ""), "{words:?}: {error}");
        assert!(error.contains(said), "{words:?}: {error}");
    }
    assert_eq!(scene.spent().0, 0);
    // A budget that others have spent.
    let spending = changed("spending.toml", "share = 0.6", "share = 0.7").clone();
    assert_eq!(discreet(&["-q", "replay", &spending]).0, 0);
    let spent = scene.spent();
    let (code, output, error) = discreet(&["tune", &config, "--estimate", "0.1"]);
    let said = "error: --estimate: found 0.1 of the budget of account visits, of which visits has left nothing; raise the cap";
    assert!(code == 75 && output.is_empty() && error.starts_with(said), "{code} {error}");
    assert_eq!(scene.spent(), spent);
    assert!(!fs::exists(scene.path("visits.estimate.jsonl")).unwrap());
}

// Refutes a tuned job that needs another estimate, or has no room beside it.
#[test]
fn a_job_that_is_tuned_by_an_estimate_runs_beside_it() {
    let scene = Scene::new("tuned");
    let out = scene.path("tuned.toml");
    let (code, page, error) =
        discreet(&["-q", "tune", &scene.path("job.toml"), "--estimate", "0.1", "--keys", "3", "--out", &out]);
    assert!(code == 0 && page.contains("\nwrote "), "{page}{error}");
    let written = fs::read_to_string(&out).unwrap();
    assert!(
        written.contains("# tuned: 0.1 of the budget of account visits has paid for an estimate;"),
        "{written}"
    );
    let estimate = scene.estimate("job.toml");
    assert_eq!(scene.estimate("tuned.toml"), estimate);
    let (code, lines, error) = discreet(&["-q", "replay", &out]);
    assert_eq!((code, lines.matches("\"value\"").count()), (0, 6), "{lines}{error}");
    let (releases, spent) = scene.spent();
    assert!(releases == 9 && spent <= 1.000_001, "{spent}");
}

/// The job file of another job of the account, with one release of this share.
fn beside(name: &str, share: &str) -> String {
    let (head, _) = JOB.split_once("share = 0.6").unwrap();
    format!("{head}share = {share}\n")
        .replace("name = \"visits\"\nversion", &format!("name = \"{name}\"\nversion"))
}

// Refutes an account whose other jobs have spent nothing, an estimate for which they leave no budget, shares of a tuned
// job that the budget would refuse, and advice to take what others have.
#[test]
fn what_other_jobs_have_paid_is_not_left() {
    let scene = Scene::new("shared");
    let (config, out) = (scene.path("job.toml"), scene.path("tuned.toml"));
    scene.0.write("other.toml", beside("other", "0.3"));
    let check = |name: &str| discreet(&["check", &scene.path(name), "--connect"]).1;
    let page = check("job.toml");
    assert!(page.contains("give shares that come to 1, unless another job"), "{page}");
    assert!(!page.contains("is left for its shares"), "{page}");
    assert_eq!(discreet(&["-q", "replay", &scene.path("other.toml")]).0, 0);

    let page = check("job.toml");
    assert!(page.contains("of which the budget would refuse windows"), "{page}");
    assert!(
        page.contains(
            "privacy.budget: account visits: other has paid up to Gaussian rho 0.105302 of Gaussian rho 0.351004 for a window"
        ),
        "{page}"
    );
    assert!(
        page.contains(", and at least 0.7 of the budget is left for its shares in each window\n"),
        "{page}"
    );
    assert!(
        page.contains(
            "of Gaussian rho 0.351004 in account visits Gaussian rho 0.315904 is spent by then, and the window asks for \
             Gaussian rho 0.105302; none of them fits: Gaussian rho 0.0351003 is left"
        ),
        "{page}"
    );
    let above = "warning: release.share: the shares of this job come to 0.9, and other has left 0.7 of the budget; give shares \
                 that come to at most 0.7\n";
    assert!(page.contains(above), "{page}");
    let line = json(&["check", &config, "--connect", "--json"]);
    assert_eq!((&line["within_budget"], &line["left"]["left"]), (&false.into(), &0.7.into()), "{line}");
    let less = JOB.replace("share = 0.6", "share = 0.2");
    scene.0.write("less.toml", &less);
    let page = check("less.toml");
    assert!(page.contains("within the budget"), "{page}");
    assert!(
        page.contains(
            "20% of it is given to no release and was paid by no other job; give shares that come to 0.7,"
        ),
        "{page}"
    );

    // The shares that are advised fit, to the last window.
    scene.0.write("fits.toml", JOB.replace("share = 0.6", "share = 0.4"));
    assert!(check("fits.toml").contains("within the budget"));

    // A log that is made up is no reason to take what others have; nothing is charged.
    let made_up = ["-q", "tune", &config, "--rows", "3000", "--people", "700", "--keys", "3"];
    let shares = |page: &Value| -> f64 {
        page["releases"]
            .as_array()
            .unwrap()
            .iter()
            .map(|release| release["chosen"]["share"].as_f64().unwrap())
            .sum()
    };
    let line = json(&[&made_up[..], &["--json"]].concat());
    assert!(line["is_reduced"] == true && shares(&line) <= 0.7 && shares(&line) > 0.68, "{line}");
    let line = json(&[&made_up[..], &["--keep-shares", "--json"]].concat());
    assert!(line["is_reduced"] == false && (shares(&line) - 0.9).abs() < 1e-9, "{line}");
    let page = discreet(&[&made_up[..], &["--keep-shares"]].concat()).1;
    assert!(page.contains("0.9 together, which is more: the budget would refuse windows;"), "{page}");

    let (code, page, error) =
        discreet(&["-q", "tune", &config, "--estimate", "0.1", "--keys", "3", "--out", &out]);
    assert!(code == 0 && page.contains("reduced to what is left"), "{page}{error}");
    let written = fs::read_to_string(&out).unwrap();
    assert!(written.contains("of the budget of account visits has paid for an estimate; the shares of this job have 0.6 together, others have paid 0.3, and nothing is left"), "{written}");
    assert!(
        written.contains("; other and visits-estimate have left 0.6 of the budget for the shares"),
        "{written}"
    );
    assert!(check("tuned.toml").contains("within the budget"));
    assert_eq!(discreet(&["-q", "replay", &out]).0, 0);
    let page = check("tuned.toml");
    assert!(page.contains("within the budget") && !page.contains("given to no release"), "{page}");

    // Nothing is left for another version, and what it was refused stays refused.
    scene.0.write("again.toml", written.replace("version = 1", "version = 2"));
    assert!(check("again.toml").contains("of which the budget would refuse windows"));
    assert_eq!(discreet(&["-q", "replay", &scene.path("again.toml")]).0, 75);
    let page = check("again.toml");
    assert!(page.contains("2 releases, of which the budget has refused windows"), "{page}");
    assert!(
        page.contains(
            "other, visits-estimate and former versions of this job have left nothing; raise the cap"
        ),
        "{page}"
    );
    for release in ["visits", "values"] {
        let refused = format!(
            "release {release}: 3 windows were refused for budget, the first from 2026-01-01T00:00:00Z to "
        );
        assert!(page.contains(&refused), "{page}");
    }
    scene.0.write("more.toml", JOB.replace("name = \"visits\"\nversion", "name = \"more\"\nversion"));
    let (code, _, error) = discreet(&["tune", &scene.path("more.toml"), "--estimate", "0.1"]);
    assert!(code == 75 && error.contains("other, visits and visits-estimate have left nothing"), "{error}");
    scene.is_sound();
}

// Refutes a message about an estimate that names what neither the job file nor the command line has.
#[test]
fn messages_about_an_estimate_are_about_the_job_file() {
    let inner = [
        "values_1",
        "records_of_a_person",
        "release people",
        "--out",
        "--without-archived",
        "release[3]",
        "release[4]",
        "release[5]",
    ];
    let is_own = |error: &str| {
        let error = error.replace("--estimate-out", "");
        assert!(!inner.iter().any(|word| error.contains(word)), "{error}");
    };
    let refused = |scene: &Scene, words: &[&str], expected: i32, said: &str| {
        let (code, output, error) = discreet(&[&["tune"], words].concat());
        assert_eq!((code, output.as_str()), (expected, ""), "{words:?}: {error}");
        assert!(error.contains(said), "{words:?}: {error}");
        is_own(&error);
        scene.is_sound();
    };
    let scene = Scene::new("words");
    let config = scene.path("job.toml");
    let changed = |name: &str, old: &str, new: &str| {
        assert!(JOB.contains(old), "{old}");
        scene.0.write(name, JOB.replace(old, new));
        scene.path(name)
    };
    let (gone, absent) = (changed("gone.toml", "visits.csv", "gone.csv"), scene.path("none/lines.jsonl"));
    refused(
        &scene,
        &[&config, "--estimate", "1e-15"],
        78,
        "--estimate: found 1e-15 of the budget, which is too small a part for",
    );
    refused(&scene, &[&config, "--estimate", "0.1", "--estimate-out", &absent], 78, "--estimate-out");
    refused(&scene, &[&gone, "--estimate", "0.1"], 69, "gone.csv: the source is gone");
    let nobody = Scene::new("words-nobody");
    nobody.0.write("visits.csv", "user,key,time\nu1,k1,2026-01-01T00:00:00Z\n");
    refused(
        &nobody,
        &[&nobody.path("job.toml"), "--estimate", "0.1"],
        65,
        "no column named value among user, key and time",
    );

    // Another estimate in the same version, and one that others leave no room for.
    scene.estimate("job.toml");
    let another = "--estimate: version 1 of job visits has another estimate already, of another part of the budget than 0.05";
    refused(&scene, &[&config, "--estimate", "0.05"], 78, another);
    let wider = changed("wider.toml", "[0, 120]", "[0, 240]");
    refused(
        &scene,
        &[&wider, "--estimate", "0.1"],
        78,
        "--estimate: version 1 of job visits has another estimate already",
    );
    let scene = Scene::new("words-spent");
    scene.0.write("other.toml", beside("other", "0.95"));
    assert_eq!(discreet(&["-q", "replay", &scene.path("other.toml")]).0, 0);
    let most = "--estimate: found 0.1 of the budget of account visits, of which other has left 0.05; give at most that, or raise";
    refused(&scene, &[&scene.path("job.toml"), "--estimate", "0.1"], 75, most);
    assert_eq!(discreet(&["-q", "tune", &scene.path("job.toml"), "--estimate", "0.05"]).0, 0);
    // Its lines are in an archive alone.
    let ledger = scene.path("visits.ledger");
    let archive = scene.path("old.archive");
    let before = ["--before", "2026-01-04T00:00:00Z", "--retired", "visits-estimate", "--retired", "other"];
    let (code, _, error) =
        discreet(&[&["ledger", "archive", &ledger, "--out", &archive], &before[..]].concat());
    assert_eq!(code, 0, "{error}");
    fs::remove_file(scene.path("visits.estimate.jsonl")).unwrap();
    let printed = "found no lines of the estimate, which are in archives of the ledger; print them with `discreet ledger lines ARCHIVE.. --job visits-estimate`";
    refused(&scene, &[&scene.path("job.toml"), "--estimate", "0.05"], 78, printed);

    // A field that no record has, by its place in the job file.
    let scene = Scene::new("words-field");
    let log = fs::read_to_string(scene.path("visits.csv")).unwrap();
    let lines: String = log
        .lines()
        .skip(1)
        .map(|line| {
            let parts: Vec<&str> = line.split(',').collect();
            format!("{{\"user\":\"{}\",\"time\":\"{}\"}}\n", parts[0], parts[3])
        })
        .collect();
    scene.0.write("visits.jsonl", lines);
    scene.0.write("job.toml", JOB.replace("\"csv\"", "\"jsonl\"").replace("visits.csv", "visits.jsonl"));
    let (code, _, error) = discreet(&["tune", &scene.path("job.toml"), "--estimate", "0.1"]);
    assert!(
        code == 0
            && error.contains("release[2].mean.of: field value: none of the first 1,000 records has it"),
        "{error}"
    );
    is_own(&error);
    // A time that is not over.
    let scene = Scene::new("words-until");
    scene.0.write(
        "job.toml",
        JOB.replace("until = 2026-01-04", "until = 2926-01-04").replace("each day", "lifetime"),
    );
    fs::remove_file(scene.path("visits.ledger")).unwrap();
    fs::remove_file(scene.path("visits.ledger.key")).unwrap();
    let init = ["ledger", "init", &scene.path("visits.ledger"), "--config", &scene.path("job.toml")];
    assert_eq!(discreet(&init).0, 0);
    let (code, _, error) = discreet(&["tune", &scene.path("job.toml"), "--estimate", "0.1"]);
    assert!(code == 0 || code == 78, "{code} {error}");
    assert!(
        error.contains("job.until: found 2926-01-04T00:00:00Z, which is after now: --estimate counts"),
        "{error}"
    );
    is_own(&error);
}
