//! An answer as the line that leaves.

use std::sync::Arc;

use super::certain::{Certain, DecimalNumber, Estimated};
use super::question::{Asks, Query};
use crate::accounting::Interval;
use crate::mechanisms::lines::{before, field, put, written};
use crate::mechanisms::{DecimalPoint, Estimate, Head, Range, Tellable};
use crate::time::in_json;

/// What became of a question: an answer whose error is bounded, or word that its share of the bundle is used up.
#[derive(Clone, Debug, PartialEq)]
pub struct Answered {
    pub(super) question: Query,
    pub(super) version: Interval,
    pub(super) told: Option<Estimated>,
    /// That of the field that was asked for.
    pub(super) point: DecimalPoint,
    pub(super) law: Arc<BundleNoise>,
    pub(super) used: u64,
    pub(super) left: u64,
}

/// The noise of a bundle.
#[derive(Debug, PartialEq)]
pub(super) struct BundleNoise {
    pub(super) shape: String,
    pub(super) certain: Certain,
}

/// Its line is
///
/// ```text
/// {"release":"study","window":{..},"part":"5f..","question":"q1","analyst":"ann","at":"2026-11-01T00:00:00Z","asked":"count where age >= 18","version":{..},"value":1234.5,"interval":[1068,1401],"confidence":1,"noise":{"kind":"bounded","shape":"polynomial:5","bound":166.98,"scale":46.3},"used":3,"left":97,"id":"7a..","promise":".."}
/// ```
///
/// in this order, without spaces. The window is what the bundle was paid for, and the version the window whose records
/// were asked. The confidence is 1: the truth *is* in the interval, and the value of a count is no farther from it than
/// the bound. A mean has two noises: that of its sum, in units of the field, and that of its records. A refusal says
/// `"refused":"bundle"` in place of everything from the value to the noise.
impl Tellable for Answered {
    fn tell(&self, head: &Head<'_>) -> String {
        let mut text = before(head);
        field(&mut text, "part", &self.question.part().to_string());
        field(&mut text, "question", self.question.id());
        field(&mut text, "analyst", self.question.analyst());
        copied(&mut text, "at", &in_json(self.question.at()));
        field(&mut text, "asked", &self.question.text());
        let (start, end) = (in_json(self.version.start()), in_json(self.version.end()));
        copied(&mut text, "version", &format!("{{\"start\":{start},\"end\":{end}}}"));
        match &self.told {
            Some(told) => self.estimated(told, &mut text),
            None => field(&mut text, "refused", "bundle"),
        }
        field(&mut text, "used", &self.used);
        field(&mut text, "left", &self.left);
        field(&mut text, "id", head.id);
        field(&mut text, "promise", head.promise);
        text.push(b'}');
        written(text)
    }
}

impl Answered {
    /// The answer, in records or in the field's units, and between which numbers the truth is, for certain; `None` where
    /// it was refused.
    pub fn estimate(&self) -> Option<Estimate<f64>> {
        let float = |number: DecimalNumber| number.1.float(number.0 as f64);
        self.told
            .map(|Estimated { value, low, high }| Estimate::between(float(low), float(value), float(high)))
    }

    /// How many answers are left after it, of the share of whoever asked.
    pub fn left(&self) -> u64 {
        self.left
    }

    fn estimated(&self, told: &Estimated, text: &mut Vec<u8>) {
        let shown = |number: DecimalNumber| number.1.shown(number.0);
        copied(text, "value", &shown(told.value));
        copied(text, "interval", &format!("[{},{}]", shown(told.low), shown(told.high)));
        copied(text, "confidence", "1");
        let BundleNoise { certain, .. } = &*self.law;
        let bound = shown(certain.bound());
        let scale = certain.deviation / certain.steps.count() as f64;
        match self.question.asks() {
            Asks::Count => copied(text, "noise", &self.noise(None, &bound, scale)),
            Asks::Mean { range, .. } => {
                let (most, deviation) = certain.sum(range);
                let most = json(&self.point.float(most));
                let sum = self.noise(Some("sum"), &most, self.point.float(deviation));
                let records = self.noise(Some("records"), &bound, scale);
                copied(text, "noise", &format!("[{sum},{records}]"));
            }
        }
    }

    fn noise(&self, number: Option<&str>, bound: &str, scale: f64) -> String {
        let number = number.map_or(String::new(), |number| format!("\"number\":\"{number}\","));
        let (shape, scale) = (json(&self.law.shape), json(&scale));
        format!("{{{number}\"kind\":\"bounded\",\"shape\":{shape},\"bound\":{bound},\"scale\":{scale}}}")
    }
}

impl Certain {
    /// The reach and the deviation of a sum's noise, in steps of its field; the reach rounded up.
    fn sum(&self, range: &Range) -> (f64, f64) {
        let each = range.high().abs_diff(range.low()) as f64 / 2.0 / self.steps.unit(range) as f64;
        (self.reach as f64 * each * (1.0 + 8.0 * f64::EPSILON), self.deviation * each)
    }
}

/// What is JSON already.
fn copied(text: &mut Vec<u8>, name: &'static str, json: &str) {
    text.extend_from_slice(b",\"");
    text.extend_from_slice(name.as_bytes());
    text.extend_from_slice(b"\":");
    text.extend_from_slice(json.as_bytes());
}

fn json(value: &(impl serde::Serialize + ?Sized)) -> String {
    let mut text = Vec::new();
    put(&mut text, value);
    written(text)
}
