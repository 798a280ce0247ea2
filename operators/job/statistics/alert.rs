//! `alert`: which windows have more than a number of records or people, paid for by the alarm.

use std::path::Path;

use super::counted::CountedNoun;
use super::exact::{ExactNumbers, ReleasedNumber};
use super::flow::{ReleaseFlow, sums};
use super::prepared::NumberSensitivity;
use super::{
    CellKey, ConfiguredNoise, ContributionKind, GroupingSpec, JobStatistic, KeyMemory, NoiseKind,
    NumberErrors, PreparedStatistic, StatedField, StatisticCheck, StatisticFlow, StatisticTerms, grouping,
};
use crate::dataflow::bounding::Count;
use crate::dataflow::{KeyedAggregation, ProtectedUnit, RunError};
use crate::decimal::Decimal;
use crate::invalid::{Invalid, InvalidKind};
use crate::job::config::ConfigNode;
use crate::job::sources::{PersonIdentity, SourceRecord};
use crate::mechanisms::{
    AboveThreshold, ContributionBound, Crossing, Cut, DecimalPoint, Keys, Mechanism, PreparedAlert,
    ThresholdAlert,
};

/// An alert on a count above a threshold.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AlertSpec {
    /// The count.
    pub count: CountedNoun,
    /// The number up to which it is silent.
    pub above: u64,
    /// The number of alarms that the price pays for.
    pub alarms: u32,
    /// The number of windows behind an alarm in which its key is not asked for.
    pub pause: u64,
    /// The probability of any mistake.
    pub wrong: Decimal,
    /// The number of windows that the probability is stated for; all up to the last one without a number.
    pub windows: Option<u64>,
    /// The grouping by key, if there is one.
    pub grouping: Option<GroupingSpec>,
}

impl AlertSpec {
    pub(super) fn read(node: &ConfigNode<'_>, beside: &Path) -> Option<AlertSpec> {
        let fields =
            node.fields(&["above"], &["count", "alarms", "pause", "wrong", "windows", "by", "keys"])?;
        let above = fields.read("above", |node| node.whole(0, Crossing::MOST));
        let count = CountedNoun::read(&fields, CountedNoun::People);
        let alarms = match fields.node("alarms") {
            Some(node) => node.whole(1, Crossing::MOST_ALARMS.into()),
            None => Some(1),
        };
        let pause = match fields.node("pause") {
            Some(node) => node.whole(0, Crossing::MOST),
            None => Some(0),
        };
        let wrong = match fields.node("wrong") {
            Some(node) => probability(&node),
            None => Some(Decimal::of("5", -2)),
        };
        let windows = match fields.node("windows") {
            Some(node) => node.whole(1, Crossing::MOST).map(Some),
            None => Some(None),
        };
        let grouping = grouping::read(&fields, beside);
        Some(AlertSpec {
            count: count?,
            above: above?,
            // At most a thousand.
            alarms: alarms? as u32,
            pause: pause?,
            wrong: wrong?,
            windows: windows?,
            grouping: grouping?,
        })
    }

    /// Returns the number of windows that a mistake is stated for, in a job of this number of them.
    pub(in crate::job) fn planned(&self, windows: Option<u64>) -> Option<u64> {
        self.windows.or(windows)
    }

    fn alert(&self, terms: &StatisticTerms<'_>) -> Result<ThresholdAlert<CellKey>, Invalid> {
        let Some(windows) = self.planned(terms.windows) else {
            let remedy = "windows = .., the number that its mistakes are stated for, or the time of the last window in job.until";
            return Err(Invalid::new("planned", InvalidKind::Missing, remedy));
        };
        let alert = ThresholdAlert::new(self.count.total(terms.limits, terms.keys)?, self.above)?;
        Ok(alert.alarms(self.alarms).pause(self.pause).windows(windows).wrong(self.wrong.to_f64()))
    }
}

/// Reads a probability that is no less than a line states.
fn probability(node: &ConfigNode<'_>) -> Option<Decimal> {
    let (decimal, remedy) = (node.decimal()?, "a number from 1e-9 on and below 1");
    match decimal.to_f64() {
        number if number < 1e-9 => node.refuse("a number below 1e-9", remedy),
        number if number >= 1.0 => node.refuse("a number that is not below 1", remedy),
        _ => Some(decimal),
    }
}

impl JobStatistic for AlertSpec {
    fn fields(&self) -> Vec<StatedField> {
        let AlertSpec { count, above, alarms, pause, wrong, windows, grouping } = self;
        let own = [
            ("count", Some(format!("\"{}\"", count.word()))),
            ("above", Some(above.to_string())),
            ("alarms", Some(alarms.to_string())),
            ("pause", Some(pause.to_string())),
            ("wrong", Some(wrong.to_string())),
            ("windows", windows.map(|windows| windows.to_string())),
        ];
        own.into_iter().chain(grouping::fields(grouping.as_ref())).collect()
    }

    fn grouping(&self) -> Option<&GroupingSpec> {
        self.grouping.as_ref()
    }

    fn noise_kinds(&self) -> &'static [NoiseKind] {
        &[NoiseKind::Geometric]
    }

    fn pays_once(&self) -> bool {
        true
    }

    fn counts_in_all_keys(&self) -> bool {
        true
    }

    fn contribution(&self) -> ContributionKind {
        self.count.contribution()
    }

    /// Refuses keys that are not listed, and bounds that change no price.
    fn check(&self, check: &StatisticCheck<'_>) -> Option<()> {
        check.listed_keys(self.grouping(), "an alert", "each is asked for in every window");
        check.no_bound("keys", "an alert", "in each key that is listed");
        check.no_bound("windows", "an alert", "in every window");
        Some(())
    }

    fn cut(&self, limits: ContributionBound, keys: &Keys<CellKey>) -> Result<Cut, Invalid> {
        Ok(ThresholdAlert::new(self.count.total(limits, keys)?, self.above)?.cut())
    }

    fn prepare(&self, terms: &StatisticTerms<'_>) -> Result<PreparedStatistic, Invalid> {
        let alert = self.alert(terms)?;
        let ready = terms.noise.prepare(&alert)?;
        let (crossing, number) = (ready.crossing(), self.count.word());
        let moved = alert.total().key_sensitivity();
        Ok(PreparedStatistic {
            sensitivities: vec![NumberSensitivity::new(number, moved, DecimalPoint::WHOLE, 1.0)],
            intervals: vec![(crossing.surely() - crossing.above()) as f64],
            ..PreparedStatistic::of(&ready, ready.noise())
        })
    }

    fn field_of(&self, parameter: &str) -> Option<&'static str> {
        match parameter {
            "planned" => Some("windows"),
            "above" => Some("above"),
            "wrong" => Some("wrong"),
            "alarms" => Some("alarms"),
            _ => None,
        }
    }

    fn describe(&self, unit: &str) -> String {
        let units = self.count.noun(unit);
        let by = grouping::describe(self.grouping());
        format!("an alert where there are more than {} {units}{by}", self.above)
    }

    /// Nobody: an alert says when there are enough, and not how many.
    fn people_for_a_tenth(&self, _: &NumberErrors) -> f64 {
        0.0
    }

    fn memory(&self) -> KeyMemory {
        KeyMemory::Counted
    }

    /// Returns the exact answers: 1 where there were more.
    fn exact_fields(&self, exact: &ExactNumbers, released: &ReleasedNumber<'_>) -> Option<String> {
        let [tally, truth] =
            exact.sums_of(released)?.map(|sums| u8::from(self.count.of(sums) > self.above.into()));
        Some(format!(",\"tally\":{tally},\"truth\":{truth}"))
    }
}

impl StatisticFlow for AlertSpec {
    fn lay<P: PersonIdentity, I: PersonIdentity, U: ProtectedUnit<SourceRecord<P, I>>>(
        &self,
        flow: &ReleaseFlow<'_, '_, P, I, U>,
    ) -> Result<(), RunError> {
        let alert = self.alert(&flow.terms).map(|statistic| KeyedAggregation { statistic, measure: Count });
        let asked = flow.bounded.clone().ask(flow.key(None), |_: &SourceRecord<P, I>| (), alert);
        flow.release(asked, false, sums)?;
        flow.show_everything(None)
    }
}

impl Mechanism<ThresholdAlert<CellKey>> for ConfiguredNoise {
    type Prepared = PreparedAlert<CellKey>;

    fn prepare(&self, alert: &ThresholdAlert<CellKey>) -> Result<PreparedAlert<CellKey>, Invalid> {
        match self.kind() {
            NoiseKind::Geometric => AboveThreshold::cost(self.cost()).prepare(alert),
            _ => Err(ConfiguredNoise::unsupported()),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::job::config::tests::refusals::{BOUND, COUNT, NOISE, check};
    use crate::job::config::tests::{GOOD, parse};

    /// Checks alerts that are refused, each in the place of the count of the good file.
    fn refused(cases: &[(&str, &str, &[&str])]) {
        let count = format!("{COUNT}\n{NOISE}");
        for (alert, bound, words) in cases {
            let text = format!("alert = {alert}\nbound = {bound}\nnoise = \"geometric\"\nshare = 0.5");
            check(&[(&count, &text, words)]);
        }
    }

    // Refutes an alert without its number, with keys that nobody lists, with a bound that changes nothing, and a job without a
    // last window in which mistakes are stated for no number of them.
    #[test]
    fn alerts_that_are_none() {
        let keys = "by = \"vendor\", keys = [\"a\", \"b\"]";
        refused(&[
            ("«{ alarms = 2 }", "{}", &["release[1].alert.above", "found nothing"]),
            ("{ above = «-1 }", "{}", &["release[1].alert.above", "negative"]),
            ("{ above = «1.5 }", "{}", &["release[1].alert.above"]),
            ("{ above = 5, alarms = «0 }", "{}", &["release[1].alert.alarms", "from 1 to 1000"]),
            ("{ above = 5, alarms = «1001 }", "{}", &["release[1].alert.alarms"]),
            ("{ above = 5, wrong = «0 }", "{}", &["release[1].alert.wrong", "below 1e-9", "below 1"]),
            ("{ above = 5, wrong = «1.0 }", "{}", &["release[1].alert.wrong", "not below 1"]),
            ("{ above = 5, windows = «0 }", "{}", &["release[1].alert.windows"]),
            ("{ above = 5, count = «\"sum\" }", "{}", &["release[1].alert.count", "people or records"]),
            ("{ above = 5, count = \"records\" }", "«{}", &["release[1].bound", "per_key"]),
            ("{ above = 5 }", "{ per_key = «2 }", &["release[1].bound.per_key", "more than there can be"]),
            (
                "{ above = 5, by = \"vendor\", keys = «\"discover\" }",
                "{}",
                &["keys to discover for an alert"],
            ),
            (
                &format!("{{ above = 5, {keys} }}"),
                "{ keys = «2 }",
                &["release[1].bound.keys", "costs the same in any number"],
            ),
            ("{ above = 5 }", "{ windows = «2 }", &["release[1].bound.windows", "in every window"]),
        ]);
        let other = GOOD.replace(COUNT, "alert = { above = 5 }");
        let shown = parse(&other).unwrap_err().to_string();
        assert!(shown.contains("gaussian noise, which alert does not have; give geometric"), "{shown}");
        let endless = GOOD
            .replace(
                &format!("{COUNT}\n{NOISE}"),
                "alert = { above = 5 }\nnoise = \"geometric\"\nshare = 0.5",
            )
            .replace("until = \"2008-03-01T00:00:00Z\"\n", "");
        assert!(!endless.contains(BOUND));
        let unfit = parse(&endless).unwrap().plan().unwrap_err();
        assert_eq!(unfit.field(), "release[1].alert.windows");
        assert!(unfit.to_string().contains("found nothing; give windows = .., the number"), "{unfit}");
        assert!(parse(&endless.replace("above = 5", "above = 5, windows = 60")).unwrap().plan().is_ok());
    }

    // Refutes a price that grows with the windows or with the keys of a person, and one that is divided by the windows.
    #[test]
    fn an_alert_is_paid_for_once() {
        let count = format!("{COUNT}\n{NOISE}");
        let planned = |every: &str, alert: &str| {
            let text = format!("alert = {alert}\nnoise = \"geometric\"\nshare = 0.5");
            let text = GOOD.replace(&count, &text).replace("every = \"1 month\"", every);
            parse(&text).unwrap().plan().unwrap()
        };
        let one = planned("every = \"1 month\"", "{ above = 500 }");
        let keys = "{ above = 500, by = \"vendor\", keys = [\"a\", \"b\", \"c\"] }";
        let many = planned("every = \"1 day\"\nover = \"7 days\"", keys);
        let [one, many] = [&one, &many].map(|plan| &plan.releases[0]);
        assert_eq!((one.paid_together, &one.paid, &one.cost), (1, &many.paid, &many.cost));
        let (one, many) = (one.alert.as_ref().unwrap(), many.alert.as_ref().unwrap());
        assert!(one.windows == 58 && many.windows > 1_700 && one.surely < many.surely, "{one:?} {many:?}");
        assert!(many.instead_of_numbers > 10.0 * one.instead_of_numbers, "{one:?} {many:?}");
        let overlapping = "every = \"1 day\"\nover = \"7 days\"";
        let page = planned(overlapping, "{ above = 500, alarms = 2, pause = 1 }").to_string();
        for words in [
            "an alert where there are more than 500 people\n",
            "silent while there are at most 500 people",
            "2 alarms",
            "a pause of 1 window",
            "Alerts stay armed",
        ] {
            assert!(page.contains(words), "{words}: {page}");
        }
        assert!(!page.contains("windows overlap"), "{page}");
    }
}
