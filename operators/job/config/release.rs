//! `[[release]]`: what is published, how often, of how much of a person, and at what price.

use std::path::Path;

use super::every::Every;
use super::located::{Wrong, listed};
use super::node::{ConfigNode, TableNode};
use super::number::BudgetShare;
use super::running::{self, RunningSpec};
use super::span::unit_words;
use super::statistic::{self, KeysSpec, StatisticSpec};
use crate::accounting::Budget;
use crate::accounting::running::WIDTH;
use crate::decimal::Decimal;
use crate::job::MistakeKind;
use crate::ledger::Name;

/// One statistic, published once a window.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ReleaseSpec {
    /// Its name.
    pub name: Name,
    /// Which windows it has.
    pub every: Every,
    /// How long each is, where it is longer than the step between two; where windows are added up, over how long a time.
    pub over: Option<Every>,
    /// How windows are added up, where they are.
    pub running: Option<RunningSpec>,
    /// What is published.
    pub statistic: StatisticSpec,
    /// How much one person can matter.
    pub bound: BoundSpec,
    /// What the answer is hidden in.
    pub noise: NoiseKind,
    /// What a window may cost; where windows are added up, all of them.
    pub price: PriceSpec,
}

/// How much one protected unit can matter. What is not said is 1 where it can be nothing else; the rest is required.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct BoundSpec {
    /// In how many keys of a window.
    pub keys: Option<u32>,
    /// With how many records a key.
    pub per_key: Option<u32>,
    /// In how many windows, ever.
    pub windows: Option<u32>,
}

/// The law of the noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NoiseKind {
    /// Discrete Gaussian.
    Gaussian,
    /// Discrete Laplace.
    Laplace,
    /// The exponential mechanism: no number is added, an answer is drawn.
    Exponential,
    /// Permute-and-flip: the same of few answers, nearer to the best of them.
    PermuteAndFlip,
}

impl NoiseKind {
    pub(super) const WORDS: [(&str, NoiseKind); 4] = [
        ("gaussian", NoiseKind::Gaussian),
        ("laplace", NoiseKind::Laplace),
        ("exponential", NoiseKind::Exponential),
        ("permute-and-flip", NoiseKind::PermuteAndFlip),
    ];

    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            NoiseKind::Gaussian => "gaussian",
            NoiseKind::Laplace => "laplace",
            NoiseKind::Exponential => "exponential",
            NoiseKind::PermuteAndFlip => "permute-and-flip",
        }
    }

    /// The laws that can answer a statistic.
    pub(super) fn of(statistic: &StatisticSpec) -> &'static [NoiseKind] {
        match statistic {
            StatisticSpec::Max { .. } => &[NoiseKind::Gaussian, NoiseKind::Laplace, NoiseKind::Exponential],
            StatisticSpec::Quantile(..) => &[NoiseKind::Exponential, NoiseKind::PermuteAndFlip],
            _ => &[NoiseKind::Gaussian, NoiseKind::Laplace],
        }
    }
}

/// What a window may cost, or all of them where they are added up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PriceSpec {
    /// A part of the budget, divided by the windows that one person can be charged for: not at all, where all are paid at once.
    Share(BudgetShare),
    /// So much a window.
    Cost(CostWords),
}

/// A cost as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CostWords {
    /// In pure epsilon.
    pub epsilon: Option<Decimal>,
    /// In zCDP.
    pub rho: Option<Decimal>,
    /// What discovering keys may cost beside it.
    pub delta: Option<Decimal>,
}

/// One person in more keys, or with more in a key, than this is no bound.
const MOST: u64 = 1 << 31;

const BESIDE: [&str; 6] = ["over", "running", "strategy", "bound", "share", "cost"];

impl ReleaseSpec {
    /// Whether it releases keys that nobody listed.
    pub fn discovers(&self) -> bool {
        self.statistic.grouping().is_some_and(|grouping| grouping.keys == KeysSpec::Discover)
    }

    /// Whether what it costs holds a delta.
    pub fn charges_delta(&self) -> bool {
        self.discovers() || matches!(&self.price, PriceSpec::Cost(cost) if cost.delta.is_some())
    }
}

pub(super) fn read(node: ConfigNode<'_>, beside: &Path) -> Option<ReleaseSpec> {
    let optional: Vec<&'static str> = BESIDE.into_iter().chain(statistic::WORDS).collect();
    let fields = node.fields(&["name", "every", "noise"], &optional)?;
    let name = fields.read("name", |node| node.parsed(Name::new("release", node.text()?)));
    let every = fields.read("every", every);
    let running = running::read(&fields);
    let over = fields.read("over", every_over(every, running.flatten().is_some()));
    let statistic = one_statistic(&fields, beside);
    let bound = match fields.node("bound") {
        Some(node) => bound(&node),
        None => Some(BoundSpec { keys: None, per_key: None, windows: None }),
    };
    let noise = fields.read("noise", |node| noise(&node, statistic.as_ref()));
    let price = price(&fields);
    Some(ReleaseSpec {
        name: name?,
        every: every?,
        over,
        running: running?,
        statistic: statistic?,
        bound: bound?,
        noise: noise?,
        price: price?,
    })
}

/// A law; of a word that is none, those of the statistic are named.
fn noise(node: &ConfigNode<'_>, statistic: Option<&StatisticSpec>) -> Option<NoiseKind> {
    let text = node.text()?;
    let known = NoiseKind::WORDS.iter().find(|(word, _)| *word == text);
    if let Some((_, kind)) = known {
        return Some(*kind);
    }
    let words: Vec<&str> = match statistic.map(NoiseKind::of) {
        Some(kinds) => kinds.iter().map(|kind| kind.word()).collect(),
        None => NoiseKind::WORDS.iter().map(|(word, _)| *word).collect(),
    };
    node.wrong(Wrong::word(text, &words))
}

fn every(node: ConfigNode<'_>) -> Option<Every> {
    node.parsed_words(Every::parse(node.text()?), &unit_words(&["all"]))
}

/// No moment is in more windows of one release than this.
const MOST_OVERLAPS: u64 = 1_000;

/// A length that the step divides: no person is in more windows than the quotient, and one more.
fn every_over(step: Option<Every>, runs: bool) -> impl FnOnce(ConfigNode<'_>) -> Option<Every> {
    move |node| {
        let over = every(node.clone())?;
        match over.over(step?) {
            Some(1..=MOST_OVERLAPS) => Some(over),
            Some(1..=WIDTH) if runs => Some(over),
            Some(_) if runs => {
                node.conflict("a total of too many windows", "at most 16,384 times the length in every")
            }
            Some(_) => {
                node.conflict("a window that starts too often", "at most 1,000 times the length in every")
            }
            None => node.conflict(
                "a length that is no multiple of every",
                "a whole multiple of every, in the same units",
            ),
        }
    }
}

fn one_statistic(fields: &TableNode<'_>, beside: &Path) -> Option<StatisticSpec> {
    match fields.present(&statistic::WORDS)[..] {
        [word] => fields.read(word, |node| statistic::read(word, &node, beside)),
        // The field that is not known was to be the statistic.
        [] if !fields.known => None,
        [] => {
            let remedy = format!("one statistic: {}", listed(&statistic::WORDS));
            fields.refuse("", Wrong::new(MistakeKind::Missing, "no statistic", remedy))
        }
        [_, second, ..] => fields.read(second, |node| {
            node.conflict("a second statistic", "one statistic a release: write another [[release]]")
        }),
    }
}

fn bound(node: &ConfigNode<'_>) -> Option<BoundSpec> {
    let fields = node.fields(&[], &["keys", "per_key", "windows"])?;
    // Within `MOST`, so it fits.
    let read = |name| fields.read(name, |node| node.whole(1, MOST).and_then(|most| u32::try_from(most).ok()));
    Some(BoundSpec { keys: read("keys"), per_key: read("per_key"), windows: read("windows") })
}

fn price(fields: &TableNode<'_>) -> Option<PriceSpec> {
    match (fields.node("share"), fields.node("cost")) {
        (Some(_), Some(cost)) => cost.conflict("a cost beside a share", "either share or cost"),
        (Some(share), None) => share.parsed(BudgetShare::of(&share.decimal()?)).map(PriceSpec::Share),
        (None, Some(cost)) => costs(&cost).map(PriceSpec::Cost),
        (None, None) => {
            let remedy = "share, a part of the budget, or cost = { rho = .. } a window";
            fields.refuse("", Wrong::new(MistakeKind::Missing, "no price", remedy))
        }
    }
}

fn costs(node: &ConfigNode<'_>) -> Option<CostWords> {
    let fields = node.fields(&[], &["epsilon", "rho", "delta"])?;
    let read = |name| fields.read(name, |node| node.decimal());
    let words = CostWords { epsilon: read("epsilon"), rho: read("rho"), delta: read("delta") };
    // Each in the range of its own kind.
    let float = |words: &Option<Decimal>| words.as_ref().map(Decimal::to_f64);
    let ranges = [
        ("epsilon", float(&words.epsilon).map(Budget::pure)),
        ("rho", float(&words.rho).map(Budget::zcdp)),
        ("delta", float(&words.delta).map(|delta| Budget::approximate(1.0, delta))),
    ];
    for (name, range) in ranges {
        fields.read(name, |node| node.parsed(range?));
    }
    match fields.present(&["epsilon", "rho"])[..] {
        [_] => Some(words),
        [] if !fields.known => None,
        [] => node.wrong(Wrong::new(MistakeKind::Missing, "nothing to pay with", "rho or epsilon")),
        _ => node.conflict("both epsilon and rho", "either epsilon or rho"),
    }
}
