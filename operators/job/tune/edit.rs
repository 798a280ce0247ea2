//! The text of a job file with its chosen numbers: each in the place of the former one, with a comment that
//! says why, and nothing else changed.

use std::ops::Range;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::sweep::{RUNNING, STATED_COST};
use super::{TunedChoice, TunedRelease, Tuning};
use crate::job::config::{Job, StatisticSpec};
use crate::job::plan::percent;

/// The word before the reason in a comment, by which a later run finds it.
const TUNED: &str = "# tuned: ";

/// A job file with its chosen numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditedJob {
    /// The text of the file, which is read as the tuned job.
    Text(String),
    /// The lines to write by hand, where the file is not written so that its numbers can be replaced.
    Lines(Vec<String>),
}

/// A number in the place of another one.
struct Replacement {
    place: Range<usize>,
    number: String,
    why: String,
}

impl Tuning {
    /// Edits the text of the job file at `path`.
    pub fn edited(&self, path: &Path, text: &str) -> EditedJob {
        let edited = replacements(self, text).and_then(|replacements| replaced(text, replacements));
        // A number that the text has in another place than it seems to have is found here.
        let is_so = |edited: &String| Job::parse(path, edited).is_ok_and(|job| job == self.tuned);
        match edited.filter(is_so) {
            Some(text) => EditedJob::Text(text),
            None => EditedJob::Lines(self.lines()),
        }
    }

    /// Returns the reason for which the shares were reduced, if they were.
    fn reduced(&self) -> Option<String> {
        let left = self.left.as_ref().filter(|_| self.is_reduced)?;
        Some(format!("{} left {} for the shares", left.have(), left.left()))
    }

    /// Returns the chosen numbers as lines of a job file.
    fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (at, release) in self.releases.iter().enumerate() {
            let changes = changes(release, self.reduced());
            let line = |change: &NumberChange| {
                format!(
                    "release[{}].{} = {}   {TUNED}{}",
                    at + 1,
                    change.path.join("."),
                    change.number,
                    change.why
                )
            };
            lines.extend(changes.iter().map(line));
        }
        lines
    }
}

/// A change of a number of a release.
struct NumberChange {
    path: &'static [&'static str],
    number: String,
    why: String,
}

/// Returns the changes of a release, whose shares were reduced for this reason, if they were.
fn changes(release: &TunedRelease, reduced: Option<String>) -> Vec<NumberChange> {
    let (Some(present), Some(chosen)) = (&release.present, &release.chosen) else { return Vec::new() };
    let TunedChoice { every, keys, per_key, weight, share, .. } = chosen;
    let mut changes = Vec::new();
    let mut change = |path, number: String, why: String| changes.push(NumberChange { path, number, why });
    let error = percent(chosen.error);
    let whole = percent(present.error);
    if *every != present.every {
        let why = format!("errs by {error} where \"{}\" errs by {whole}", present.every);
        change(&["every"], format!("\"{every}\""), why);
    }
    // Beside the other chosen numbers, so that the comment says what this one does, and which they are.
    let at_share = match *share == present.share {
        true => String::new(),
        false => format!(", both with share = {}", share.to_decimal()),
    };
    let beside = |swept: &[super::SweptBound], bound: u32| {
        let former = swept.iter().find(|swept| swept.bound == bound);
        former.map_or(whole.clone(), |former| percent(former.error))
    };
    if let Some((keys, former)) = keys.zip(present.keys).filter(|(keys, former)| keys != former) {
        let why = format!(
            "keys = {keys} errs by {error} where {former} errs by {}{at_share}",
            beside(&release.keys, former)
        );
        change(&["bound", "keys"], keys.to_string(), why);
    }
    if let Some((most, former)) = per_key.zip(present.per_key).filter(|(most, former)| most != former) {
        let former_error = beside(&release.per_key, former);
        let why = format!("per_key = {most} errs by {error} where {former} errs by {former_error}{at_share}");
        change(&["bound", "per_key"], most.to_string(), why);
    }
    if let Some((weight, former)) = weight.zip(present.weight).filter(|(weight, former)| weight != former) {
        let former_error = beside(&release.weights, former);
        let why =
            format!("weight = {weight} errs by {error} where {former} errs by {former_error}{at_share}");
        change(&["bound", "weight"], weight.to_string(), why);
    }
    if *share != present.share {
        let so = reduced.unwrap_or_else(|| "so the mean error of the releases is least".to_owned());
        let why = format!("errs by {error}, with the former numbers by {whole}; {so}");
        change(&["share"], share.to_decimal().to_string(), why);
    }
    changes
}

fn replacements(tuning: &Tuning, text: &str) -> Option<Vec<Replacement>> {
    let table = DeTable::parse(text).ok()?;
    let DeValue::Array(releases) = table.get_ref().get("release")?.get_ref() else { return None };
    let mut replacements = Vec::new();
    for (release, of_file) in tuning.releases.iter().zip(releases.iter()) {
        for NumberChange { path, number, why } in changes(release, tuning.reduced()) {
            let value = path.iter().try_fold(of_file, |value: &Spanned<DeValue<'_>>, name| {
                let DeValue::Table(table) = value.get_ref() else { return None };
                table.get(*name)
            })?;
            replacements.push(Replacement { place: value.span(), number, why });
        }
    }
    for (release, of_file) in tuning.releases.iter().zip(releases.iter()) {
        replacements.extend(as_it_is(release, of_file, text));
        replacements.extend(tuning.assumed_keys(release).and_then(|_| assumed(of_file, text)));
    }
    if let Some(estimate) = &tuning.estimate {
        let budget = table.get_ref().get("privacy").and_then(|privacy| match privacy.get_ref() {
            DeValue::Table(privacy) => privacy.get("budget"),
            _ => None,
        });
        let stated = budget.and_then(|budget| Some((of_a_line(text, &budget.span())?, budget.span())));
        replacements.extend(stated.map(|(number, place)| Replacement {
            place,
            number,
            why: estimate.paid(),
        }));
    }
    replacements.sort_by_key(|replacement| replacement.place.start);
    Some(replacements)
}

/// Returns the text of a value that stands in a line. A table of lines of its own has no end of a line that is its own.
fn of_a_line(text: &str, place: &Range<usize>) -> Option<String> {
    let stated = text.get(place.clone())?;
    (!stated.starts_with('[') && !stated.contains('\n')).then(|| stated.to_owned())
}

/// Returns the comment that says why a release is not tuned, at what makes it so: its cost, `running`, or its statistic.
fn as_it_is(release: &TunedRelease, of_file: &Spanned<DeValue<'_>>, text: &str) -> Option<Replacement> {
    let (why, DeValue::Table(table)) = (release.left?, of_file.get_ref()) else { return None };
    let word = match why {
        STATED_COST => "cost",
        RUNNING => "running",
        _ => StatisticSpec::WORDS.iter().copied().find(|word| table.contains_key(*word))?,
    };
    let place = table.get(word)?.span();
    let number = of_a_line(text, &place)?;
    Some(Replacement { place, number, why: format!("as it is: {why}") })
}

/// Returns the comment at a bound of keys that an estimate takes to be right.
fn assumed(of_file: &Spanned<DeValue<'_>>, text: &str) -> Option<Replacement> {
    let inner = |value: &Spanned<DeValue<'_>>, name: &str| match value.get_ref() {
        DeValue::Table(table) => table.get(name).map(Spanned::span),
        _ => None,
    };
    let DeValue::Table(table) = of_file.get_ref() else { return None };
    let place = inner(table.get("bound")?, "keys")?;
    let number = of_a_line(text, &place)?;
    Some(Replacement {
        place,
        number,
        why: "keys is as it was, and taken to be right: an estimate does not say how many a person has"
            .into(),
    })
}

/// Returns the text with its numbers replaced, and a comment at the end of each changed line.
fn replaced(text: &str, replacements: Vec<Replacement>) -> Option<String> {
    let mut edited = String::with_capacity(text.len() + 100 * replacements.len());
    let mut from = 0;
    let mut replacements = replacements.into_iter().peekable();
    while let Some(Replacement { place, number, why }) = replacements.next() {
        edited += text.get(from..place.start)?;
        edited += &number;
        let rest = text.get(place.end..)?;
        let end = place.end + rest.find('\n').unwrap_or(rest.len());
        let mut reasons = vec![why];
        from = place.end;
        // Further numbers of the line have one comment with it.
        while let Some(next) = replacements.next_if(|next| next.place.start < end) {
            edited += text.get(from..next.place.start)?;
            edited += &next.number;
            reasons.push(next.why);
            from = next.place.end;
        }
        let line = text.get(from..end)?;
        let ending = if line.ends_with('\r') { "\r" } else { "" };
        let kept = line.find(TUNED).map_or(line, |comment| line.get(..comment).unwrap_or(line)).trim_end();
        edited += &format!("{kept}   {TUNED}{}{ending}", reasons.join("; "));
        from = end;
    }
    edited += text.get(from..)?;
    Some(edited)
}
