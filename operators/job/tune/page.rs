//! A tuning as a page to be read.

use std::fmt::{self, Display, Formatter};

use super::{SweptBound, SweptShare, SweptWindow, TUNING_CRITERION, TunedChoice, TunedRelease, Tuning};
use crate::job::config::ReleaseSpec;
use crate::job::plan::{line, percent};
use crate::job::run::{BudgetLeft, rounded_down, rounded_up};

/// The caution beside the errors of a release by an estimate.
pub(super) const KEYS_ARE_ASSUMED: &str = "and taken to be right, for an estimate does not say how many keys a person has: where people have more, what the bound leaves \
     out is not in these errors; a public sample (--like) or a demonstration shows it";

impl Tuning {
    /// Says what the shares come to, beside what is left for them.
    fn shares_of(&self, left: &BudgetLeft) -> String {
        let (given, most) = (self.tuned.shares(), left.parts());
        let shown = rounded_up(given);
        let most_shown = rounded_down(most);
        match given {
            _ if given > most => format!(
                "{shown} together, which is more: the budget would refuse windows; give shares that come to at most {most_shown}"
            ),
            _ if self.is_reduced => format!("{shown} together, reduced to what is left"),
            _ => format!("{shown} together"),
        }
    }

    /// Returns true if a number of the job file is another one than before.
    pub fn is_changed(&self) -> bool {
        self.releases.iter().any(TunedRelease::is_changed)
    }

    /// Returns the bound on the keys of a person that an estimate takes to be right.
    pub(super) fn assumed_keys(&self, release: &TunedRelease) -> Option<u32> {
        let chosen = release.chosen.as_ref().filter(|_| self.estimate.is_some())?;
        chosen.keys.filter(|_| release.keys.len() <= 1)
    }

    /// Says that a release with another number needs a new version; which one, of those that the ledger has.
    fn needs_version(&self) -> String {
        let Some(left) = &self.left else {
            return "Another bound, share or window is another release: a job that has run already needs a new version of each release \
                    that changes, which pays for its windows anew (docs/VERSIONS.md)."
                .to_owned();
        };
        let replaced = self.replaced().into_iter().filter_map(|at| self.tuned.releases.get(at));
        let (opened, new): (Vec<_>, Vec<_>) =
            replaced.partition(|release| left.opened.contains(&release.name));
        if opened.is_empty() {
            return "Another bound, share or window is another release: the ledger has nothing of those that change, and they keep \
                    their versions (docs/VERSIONS.md)."
                .to_owned();
        }
        let version = |release: &ReleaseSpec| {
            let next = release.version.map_or(self.tuned.version, u64::from) + 1;
            format!("version = {next} in {}", release.name)
        };
        let versions: Vec<String> = opened.into_iter().map(version).collect();
        let new: Vec<&str> = new.iter().map(|release| release.name.as_str()).collect();
        let keeps = match &new[..] {
            [] => String::new(),
            [name] => format!("; {name} has not run, and keeps its version"),
            names => format!("; {} have not run, and keep their versions", names.join(", ")),
        };
        format!(
            "Another bound, share or window is another release, which needs a new version and pays for its windows anew, beside what \
             its present version has paid. Give {}{keeps}; a release that has the version of the job and stays keeps its own \
             (docs/VERSIONS.md).",
            versions.join(", ")
        )
    }
}

impl TunedRelease {
    /// Returns true if a number of the release is another one than before.
    pub fn is_changed(&self) -> bool {
        match (&self.present, &self.chosen) {
            (Some(present), Some(chosen)) => present.numbers() != chosen.numbers(),
            _ => false,
        }
    }
}

impl TunedChoice {
    /// Returns the numbers without their error.
    fn numbers(&self) -> impl PartialEq {
        (self.every, self.keys, self.per_key, self.weight, self.share)
    }

    fn described(&self) -> String {
        let TunedChoice { every, keys, per_key, weight, share, error, left_out } = self;
        let mut numbers = vec![format!("every {every}")];
        numbers.extend(keys.map(|keys| format!("keys {keys}")));
        numbers.extend(per_key.map(|records| format!("per_key {records}")));
        numbers.extend(weight.map(|weight| format!("weight {weight}")));
        numbers.push(format!("share {}", share.to_decimal()));
        format!(
            "{}: errs by {}, {} of it without noise",
            numbers.join(", "),
            percent(*error),
            percent(*left_out)
        )
    }
}

impl Display for Tuning {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Tuning { name, rows, people, estimate, left, releases, .. } = self;
        writeln!(f, "{name}, by a log of {rows} records of {people} people\n")?;
        if let Some(estimate) = estimate {
            writeln!(f, "estimate")?;
            line(f, "paid", &estimate.paid())?;
            line(f, "released", &estimate.released())?;
            if let Some(doubt) = estimate.doubt() {
                line(f, "", doubt)?;
            }
            writeln!(f)?;
        }
        // What the estimate has paid is said already.
        let is_said = |left: &&BudgetLeft| {
            let has_versions = left.has_former_versions || left.has_present_version;
            estimate.is_some() && left.payers.len() == 1 && !has_versions
        };
        if let Some(left) = left.as_ref().filter(|left| left.is_shared() && !is_said(left)) {
            writeln!(f, "budget")?;
            line(f, "paid", &left.to_string())?;
            line(f, "shares", &self.shares_of(left))?;
            writeln!(f)?;
        }
        for release in releases {
            writeln!(f, "{}", release.name)?;
            match (release.left, &release.chosen) {
                (Some(left), _) => line(f, "as it is", left)?,
                (None, None) => line(f, "as it is", "no bound that was tried has a plan")?,
                (None, Some(_)) => {}
            }
            if let Some(present) = &release.present {
                line(f, "now", &present.described())?;
            }
            if let Some(chosen) = &release.chosen {
                let unchanged = if release.is_changed() { "" } else { ", as it is" };
                line(f, "chosen", &format!("{}{unchanged}", chosen.described()))?;
            }
            if let Some(keys) = self.assumed_keys(release) {
                line(f, "keys", &format!("{keys} as it is, {KEYS_ARE_ASSUMED}"))?;
            }
            let swept =
                [("keys", &release.keys), ("per_key", &release.per_key), ("weight", &release.weights)];
            for (name, swept) in swept {
                if swept.len() > 1 {
                    line(f, name, &bounds(swept))?;
                }
            }
            if release.shares.len() > 1 {
                line(f, "share", &shares(&release.shares))?;
            }
            if release.windows.len() > 1 {
                line(f, "every", &windows(&release.windows))?;
            }
            if let Some(weight) = &release.weight {
                line(f, "weight", &weight.sentence())?;
            }
            if let Some(range) = &release.range {
                line(f, "range", &range.sentence())?;
            }
            writeln!(f)?;
        }
        for ask in &self.tuned.asks {
            writeln!(f, "{}", ask.name)?;
            line(f, "as it is", "answers to questions are not tuned, and keep their price")?;
            writeln!(f)?;
        }
        line(f, "", TUNING_CRITERION)?;
        if self.is_changed() {
            line(f, "", &self.needs_version())?;
        }
        Ok(())
    }
}

fn bounds(swept: &[SweptBound]) -> String {
    let one = |swept: &SweptBound| format!("{}: {}", swept.bound, percent(swept.error));
    swept.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn shares(swept: &[SweptShare]) -> String {
    let one = |swept: &SweptShare| format!("{}: {}", swept.share.to_decimal(), percent(swept.error));
    swept.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn windows(swept: &[SweptWindow]) -> String {
    let one = |swept: &SweptWindow| format!("{}: {}", swept.every, percent(swept.error));
    swept.iter().map(one).collect::<Vec<_>>().join(", ")
}
