//! The expected errors of single keys, by the shape of a sample that is stated to be public.
//!
//! A plan by itself knows how many people a mean key has. A sample knows the common keys from the rare ones:
//! of each key the people are counted who are left after contribution bounding, in the mean of all windows.

use serde::Serialize;

use super::expected::{WindowPresence, evenly_present};
use super::{ExpectedError, percent, short};
use crate::dataflow::Schedule;
use crate::job::config::{Job, Protected, ReleaseSpec};
use crate::job::log_shape::LogShape;
use crate::job::log_shape::cells::CellMeasure;
use crate::job::release_plan::ReleasePlan;
use crate::job::statistics::ContributionKind;
use crate::job::unfit::UnfitJob;

/// The expected errors of single keys of a release.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ExpectedKeys {
    /// The number of keys: those that the release lists, or those that have enough people to be found.
    pub count: u64,
    /// The number of keys that the sample has, where keys are discovered.
    pub sampled: Option<u64>,
    /// The most common key, the median one and the rarest; `None` without a key.
    pub errors: Option<[ExpectedKey; 3]>,
}

/// The expected error of a key.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ExpectedKey {
    /// The number of people who count in it, in the mean of all windows.
    pub people: f64,
    /// The error within which nine tenths of all errors are; `None` where nobody has the key.
    pub error: Option<f64>,
}

impl Job {
    /// Computes the expected error of each release as [`Job::expected_errors`] does, with the errors of its
    /// keys by the shape of a log.
    ///
    /// # Errors
    ///
    /// If a release has no last window, or the job cannot be planned.
    pub fn expected_errors_like(
        &self,
        shape: &LogShape,
        rows: u64,
        people: u64,
    ) -> Result<Vec<ExpectedError>, UnfitJob> {
        let shape = shape.clone().of_people(people);
        // Records a person, beside those of the sample.
        let denser = rows as f64 / shape.rows().max(1) as f64;
        let presence = |at: usize, offer: &ReleasePlan, release: &ReleaseSpec| {
            let (rows, people) = shape.counted(at);
            let even = evenly_present(rows * denser, people, (offer, release))?;
            if release.running.is_some() {
                return Some(even);
            }
            let (people, records) = shape.presence(at, (&offer.schedule, release.bound.windows))?;
            Some(WindowPresence { people, records: records * denser })
        };
        let mut expected = self.expected_by(&presence)?;
        let offers = self.release_plans(self.horizon())?;
        for (at, (expected, (offer, release))) in
            expected.iter_mut().zip(offers.iter().zip(&self.releases)).enumerate()
        {
            expected.keys = self.expected_keys((at, &shape, denser), offer, release)?;
        }
        Ok(expected)
    }

    fn expected_keys(
        &self,
        (at, shape, denser): (usize, &LogShape, f64),
        offer: &ReleasePlan,
        release: &ReleaseSpec,
    ) -> Result<Option<ExpectedKeys>, UnfitJob> {
        let statistic = release.statistic.as_statistic();
        // The last windows that a sliding total has are not counted one by one.
        // Cells of tables are none of the keys of a log.
        if statistic.tabled().is_some()
            || !statistic.is_keyed()
            || (release.running.is_some() && release.total_windows().is_some())
        {
            return Ok(None);
        }
        let place = || format!("release[{}]", at + 1);
        let settled = offer.prepare(self).map_err(|invalid| UnfitJob::at(place(), &invalid))?;
        let life = || {
            let life = offer.schedule.life()?;
            Schedule::whole(life.start(), life.end())
        };
        // A total so far has all windows in the end.
        let whole = release.running.map(|_| life()).transpose();
        let whole = whole.map_err(|invalid| UnfitJob::at(format!("{}.every", place()), &invalid))?;
        let schedule = whole.as_ref().unwrap_or(&offer.schedule);
        let windows = schedule.count() as f64;
        let Some(cells) = shape.cells(at, (schedule, release.bound.windows), CellMeasure::Records) else {
            return Ok(None);
        };
        let (keys, per_key) = match self.privacy.privacy_unit {
            Protected::Record => (u32::MAX, u32::MAX),
            Protected::Person { .. } => (release.bound.most_keys(), release.bound.per_key.unwrap_or(1)),
        };
        let bounded = match release.bound.weight {
            Some(_) => cells.weighed(&release.bound, release.noise),
            None => cells.bounded(keys, per_key),
        };
        let mut found: Vec<(f64, f64)> = Vec::new();
        let of_cells: Vec<_> = cells.cells.iter().zip(&bounded).collect();
        for of_key in of_cells.chunk_by(|one, other| one.0.key == other.0.key) {
            let most = of_key.iter().map(|(_, content)| content.people).fold(0.0, f64::max);
            if settled.threshold.is_some_and(|threshold| most < threshold as f64) {
                continue;
            }
            let sum = |number: fn(f64, f64) -> f64| {
                of_key.iter().map(|(_, content)| number(content.people, content.records)).sum::<f64>()
            };
            found.push((sum(|people, _| people) / windows, sum(|_, records| records) / windows));
        }
        if settled.threshold.is_none() {
            let nobody = (shape.keys(at) as usize).saturating_sub(found.len());
            found.extend(std::iter::repeat_n((0.0, 0.0), nobody));
        }
        found.sort_by(|one, other| other.0.total_cmp(&one.0));
        let needed = 0.1 * statistic.people_for_a_tenth(&statistic.errors(&settled));
        let error = |(people, records): &(f64, f64)| {
            let counted = match statistic.contribution() {
                ContributionKind::Records => {
                    (records / people * denser).clamp(1.0, f64::from(per_key).max(1.0))
                }
                _ => 1.0,
            };
            let error = (*people > 0.0).then(|| needed / (people * counted));
            ExpectedKey { people: *people, error }
        };
        let errors = match &found[..] {
            [] => None,
            [first, ..] => {
                let (median, last) = (found.get(found.len() / 2).unwrap_or(first), found.last());
                Some([error(first), error(median), error(last.unwrap_or(first))])
            }
        };
        let sampled = settled.threshold.map(|_| shape.keys(at));
        Ok(Some(ExpectedKeys { count: found.len() as u64, sampled, errors }))
    }
}

impl ExpectedKeys {
    /// Describes the keys; `units` are people or records.
    pub(super) fn described(&self, units: &str) -> String {
        let ExpectedKeys { count, sampled, errors } = self;
        let Some([common, median, rarest]) = errors else {
            let keys = sampled.map_or(String::new(), |sampled| format!(" of the {sampled} keys"));
            return format!("none{keys} of the sample has enough {units} to be found");
        };
        if common.people <= 0.0 {
            return format!("the sample has none of the {count} keys, so it says nothing of them");
        }
        let which = match sampled {
            Some(sampled) => format!("{count} keys of {sampled} that are found"),
            None => format!("{count} keys"),
        };
        let key = |key: &ExpectedKey| {
            // Of few people a tenth matters.
            let people =
                if key.people < 10.0 { (key.people * 10.0).round() / 10.0 } else { key.people.round() };
            (short(people), key.error.map_or("only noise".to_owned(), percent))
        };
        let [(common, first), (median, second), (rarest, third)] = [common, median, rarest].map(key);
        format!(
            "by the sample, the most common of {which} has {common} {units}, {first}, the median one {median}, {second}, and \
             the rarest one {rarest}, {third}"
        )
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::fmt::Write as _;

    use super::*;
    use crate::job::test_jobs::csv_job;
    use crate::ledger::scratch::ScratchPlace;

    fn job(keys: &str) -> Job {
        let release = format!(
            r#"
            [[release]]
            name = "pages"
            every = "1 day"
            people = {{ by = "page", keys = {keys} }}
            bound = {{ keys = 1 }}
            noise = "gaussian"
            share = 1
            "#
        );
        let text = csv_job("pages", 2, "epsilon = 20, delta = 1e-3", &release);
        Job::parse("job.toml", &text).unwrap_or_else(|mistakes| panic!("{mistakes}"))
    }

    /// A log of two days. On the first day 100 people have page a, of whom 60 have b as well; 10 more have c;
    /// one has z.
    fn log() -> String {
        let mut log = "who,time,page\n".to_owned();
        let mut row = |who: usize, page: &str, day: u32| {
            writeln!(log, "u{who},2026-01-0{day}T10:00:00Z,{page}").unwrap();
        };
        (0..100).for_each(|who| row(who, "a", 1));
        (0..60).for_each(|who| row(who, "b", 1));
        (100..110).for_each(|who| row(who, "c", 1));
        row(110, "z", 2);
        // Twice, and outside of the windows.
        row(110, "z", 2);
        row(111, "a", 3);
        log
    }

    // Refutes people who are counted before contribution bounding, a key that is found though too few people
    // have it, and a number that does not grow with the people who are stated.
    #[test]
    fn the_keys_of_a_sample_have_the_people_that_the_bound_leaves() {
        let scratch = ScratchPlace::File.scratch();
        let sample = scratch.directory().join("sample.csv");
        std::fs::write(&sample, log()).unwrap();
        let listed = job("[\"a\", \"b\", \"c\", \"d\", \"z\"]");
        let shape = LogShape::of_sample(&listed, &sample).unwrap();
        assert_eq!((shape.rows(), shape.people()), (172, 111));
        let expected = listed.expected_errors_like(&shape, 172, 111).unwrap().remove(0).keys.unwrap();
        assert_eq!((expected.count, expected.sampled), (5, None));
        let [common, median, rarest] = expected.errors.unwrap();
        // Of 60 people with two pages each has half of a place; in the mean of two windows, half of that.
        assert_eq!((common.people, median.people, rarest.people), (35.0, 5.0, 0.0));
        let interval = listed.plan().unwrap().releases[0].noise[0].interval;
        assert!((common.error.unwrap() - interval / 35.0).abs() < 1e-9, "{common:?}");
        assert_eq!(rarest.error, None);
        let doubled = listed.expected_errors_like(&shape, 344, 222).unwrap().remove(0).keys.unwrap();
        assert_eq!(doubled.errors.unwrap()[0].people, 70.0);
        let found = job("\"discover\"");
        let shape = LogShape::of_sample(&found, &sample).unwrap();
        let expected = found.expected_errors_like(&shape, 172, 111).unwrap().remove(0).keys.unwrap();
        let threshold = found.release_plans(found.horizon()).unwrap()[0].prepare(&found).unwrap().threshold;
        let threshold = threshold.unwrap();
        assert!((2..=10).contains(&threshold), "{threshold}");
        assert_eq!((expected.count, expected.sampled), (3, Some(4)));
        assert_eq!(expected.errors.unwrap()[2].people, 5.0);
        // Of a sample, a window has the people who are in it.
        let all = found.expected_errors_like(&shape, 172, 111).unwrap().remove(0);
        assert_eq!(all.found_among, Some(55.5));
        let filtered =
            job("[\"a\", \"z\"]").to_string().replace("share = 1", "share = 1\nwhere = 'page = \"z\"'");
        let filtered = Job::parse("job.toml", &filtered).unwrap_or_else(|mistakes| panic!("{mistakes}"));
        let of_one = LogShape::of_sample(&filtered, &sample).unwrap();
        let of_one = filtered.expected_errors_like(&of_one, 172, 111).unwrap().remove(0);
        assert_eq!((of_one.people, of_one.unconditional), (0.25, false));
        let other = job("[\"x\", \"y\"]");
        let none = LogShape::of_sample(&other, &sample).unwrap();
        let none = other.expected_errors_like(&none, 172, 111).unwrap().remove(0).keys.unwrap();
        assert!(none.described("people").contains("has none of the 2 keys"), "{}", none.described("people"));
        let page = expected.described("people");
        assert!(page.contains("the most common of 3 keys of 4 that are found has 35 people, "), "{page}");
        assert!(page.contains("and the rarest one 5, "), "{page}");
    }
}
