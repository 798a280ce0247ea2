//! OpenDP's own measurements, from a crate of its own beside this one, which takes a minute or two to build the first time.

use std::io::Write;
use std::process::{Command, Stdio};

use super::peers::zcdp_rho;
use super::{DELTA, EPSILON};

/// True if OpenDP can be run: quantiles among few points are then its own, and not simulated.
#[derive(Clone, Copy)]
pub(crate) struct Opendp(bool);

impl Opendp {
    /// Builds its crate, and checks by its own conversion that the Gaussian noise that it is given here is the least.
    pub(crate) fn build() -> Opendp {
        let sigma = 1.0 / (2.0 * zcdp_rho(EPSILON, DELTA)).sqrt();
        let asked = [1.0 + 1e-6, 1.0 - 1e-4].map(|part| format!("gaussian {} {EPSILON}", sigma * part));
        match answers(&asked.join("\n")) {
            Ok(deltas) => {
                let deltas: Vec<f64> = deltas.iter().filter_map(|delta| delta.parse().ok()).collect();
                assert!(deltas[0] <= DELTA && deltas[1] > DELTA, "{deltas:?}");
                println!("OpenDP runs: its conversion of zCDP is the one here");
                Opendp(true)
            }
            Err(reason) => {
                println!("OpenDP does not run, and is simulated: {reason}");
                Opendp(false)
            }
        }
    }

    /// Answers for a quantile among 0, 1 and so on up to `high`, and what they cost each; nothing if OpenDP does not run.
    pub(crate) fn quantile(
        self,
        (measure, q, scale): (&str, f64, f64),
        (per_person, high, draws): (u64, i64, usize),
        values: &[i64],
    ) -> Option<(f64, Vec<i64>)> {
        if !self.0 {
            return None;
        }
        let values: Vec<String> = values.iter().map(i64::to_string).collect();
        let asked =
            format!("quantile {measure} {q} {scale} {per_person} {high} {draws} {}", values.join(" "));
        let lines = answers(&asked).ok()?;
        let mut words = lines.first()?.split(' ');
        let cost = words.next()?.parse().ok()?;
        Some((cost, words.filter_map(|word| word.parse().ok()).collect()))
    }
}

/// A line for each line that is asked.
fn answers(asked: &str) -> Result<Vec<String>, String> {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/opendp/Cargo.toml");
    let mut running = Command::new(env!("CARGO"))
        .args(["run", "--release", "--quiet", "--manifest-path", manifest, "--bin", "accuracy"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| error.to_string())?;
    let mut input = running.stdin.take().ok_or("no standard input")?;
    input
        .write_all(asked.as_bytes())
        .and_then(|()| input.write_all(b"\n"))
        .map_err(|error| error.to_string())?;
    drop(input);
    let output = running.wait_with_output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(format!("its crate could not be built or run ({})", output.status));
    }
    let text = String::from_utf8(output.stdout).map_err(|error| error.to_string())?;
    Ok(text.lines().map(str::to_owned).collect())
}
