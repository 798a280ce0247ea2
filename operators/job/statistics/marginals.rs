//! `marginals`: several tables of counts over listed categories, of the same people or records.

use std::path::Path;

use super::counted::CountedNoun;
use super::exact::{ExactNumbers, ReleasedNumber};
use super::flow::{ReleaseFlow, sums};
use super::prepared::NumberSensitivity;
use super::{
    BETWEEN_PARTS, CellKey, ConfiguredNoise, ContributionKind, GroupingSpec, JobStatistic, KeyMemory,
    KeyPart, KeysSpec, NoiseKind, NoiseOptimality, NumberErrors, PreparedStatistic, StatedField,
    StatisticFlow, StatisticTerms, grouping, key_part,
};
use crate::accounting::{BudgetUnits, PrivacyCost};
use crate::dataflow::bounding::Count;
use crate::dataflow::{KeyedAggregation, ProtectedUnit, RunError};
use crate::invalid::{Invalid, InvalidKind};
use crate::job::MistakeKind;
use crate::job::config::{ConfigNode, MistakeDetail, TableNode, list, text};
use crate::job::sources::{PersonIdentity, SourceRecord};
use crate::job::unfit::UnfitJob;
use crate::mechanisms::{
    Attribute, ContributionBound, Cut, DecimalPoint, Key as _, Keys, Label, MarginalCell, MarginalCounts,
    MarginalTables, Mechanism, Noised, NoisyMarginals, Statistic as _,
};

/// Tables of counts over categories.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MarginalsSpec {
    /// What is counted.
    pub count: CountedNoun,
    /// The names of the attributes of each table.
    pub tables: Vec<Vec<String>>,
    /// The categories of each attribute, in the order of the attributes.
    pub categories: Vec<KeysSpec>,
    /// The attributes, each a part of the key of a record.
    pub grouping: Option<GroupingSpec>,
}

/// The most tables, and attributes of a table.
const MOST: usize = 1_000;

impl MarginalsSpec {
    pub(super) fn read(node: &ConfigNode<'_>, beside: &Path) -> Option<MarginalsSpec> {
        let fields = node.fields(&["by", "tables"], &["count", "categories"])?;
        let by = fields.read("by", |node| attributes(&node));
        let tables = fields.read("tables", |node| tables(&node));
        let count = CountedNoun::read(&fields, CountedNoun::Records);
        let by = by?;
        let categories = categories(&fields, &by, beside);
        let tables = tables?;
        let names: Vec<&str> = by.iter().map(KeyPart::of).collect();
        known_attributes(&fields.node("tables")?, &names)?;
        let grouping = GroupingSpec { by, keys: KeysSpec::Every, rollup: false };
        Some(MarginalsSpec { count: count?, tables, categories: categories?, grouping: Some(grouping) })
    }

    fn by(&self) -> &[KeyPart] {
        self.grouping.as_ref().map_or(&[], |grouping| &grouping.by)
    }

    /// Returns the tables with all categories. Reads files of categories. A refusal names a field of its table.
    pub(in crate::job) fn marginal_tables(&self) -> Result<MarginalTables, UnfitJob> {
        let attribute = |(part, categories): (&KeyPart, &KeysSpec)| {
            let place = format!("categories.{}", part.of());
            let texts = match part.texts() {
                Some(intervals) => intervals,
                None => grouping::texts(categories).map_err(|wrong| UnfitJob::new(place.clone(), wrong))?,
            };
            if texts.iter().any(|text| text.contains(BETWEEN_PARTS)) {
                return Err(UnfitJob::new(place, "found the character U+001F; give categories without it"));
            }
            Attribute::new(part.of(), texts).map_err(|invalid| UnfitJob::at(place, &invalid))
        };
        let attributes: Vec<Attribute> =
            self.by().iter().zip(&self.categories).map(attribute).collect::<Result<_, UnfitJob>>()?;
        let names: Vec<Vec<&str>> =
            self.tables.iter().map(|table| table.iter().map(String::as_str).collect()).collect();
        let names: Vec<&[&str]> = names.iter().map(Vec::as_slice).collect();
        MarginalTables::new(attributes, &names).map_err(|invalid| match invalid.field() {
            "tables" => UnfitJob::at("tables", &invalid),
            _ => UnfitJob::at("by", &invalid),
        })
    }
}

impl MarginalsSpec {
    fn counts(&self, terms: &StatisticTerms<'_>) -> Result<MarginalCounts<CellKey>, Invalid> {
        let tables = self.marginal_tables().map_err(|_| changed())?;
        match self.count {
            CountedNoun::People => MarginalCounts::people(terms.limits, tables),
            CountedNoun::Records => MarginalCounts::records(terms.limits, tables),
        }
    }
}

/// The keys of people that are in tables: combinations of categories, each of which is in a cell of each table.
pub(in crate::job) struct TabledKeys {
    /// The number of tables.
    pub(in crate::job) tables: u64,
    /// The number of combinations.
    pub(in crate::job) combinations: u64,
}

/// The errors of tables: roots of means of squared deviations, of all cells.
pub(in crate::job) struct MarginalErrors {
    /// The error of the noise that is drawn.
    pub(in crate::job) error: f64,
    /// The error where each table is released by itself, with its best part of the price.
    pub(in crate::job) apart: f64,
    /// The least of any Gaussian noise, or less.
    pub(in crate::job) least: f64,
}

impl MarginalsSpec {
    /// Returns the errors of prepared noise, beside others at its price.
    pub(in crate::job) fn beside_others(
        &self,
        prepared: &PreparedStatistic,
        cost: &PrivacyCost,
    ) -> Option<MarginalErrors> {
        let tables = self.marginal_tables().ok()?;
        let (rho, moved) =
            (cost.rho_and_delta()?.0.to_float_up(), &prepared.sensitivities.first()?.sensitivity);
        let error = in_mean_of_squares(&tables, prepared.noise.iter().map(Noised::scale));
        let design = tables.workload().design_for(u64::try_from(moved.l0()).ok()?);
        let each = moved.linf() as f64;
        Some(MarginalErrors {
            error,
            apart: each * design.error_apart(rho),
            least: each * design.least_error(rho),
        })
    }
}

/// Returns the refusal of tables whose files of categories were read before, and are others now.
fn changed() -> Invalid {
    Invalid::new("tables", InvalidKind::Mixed, "the files of categories as they were")
}

/// Reads the attributes: fields that are each there once, since a table names them.
fn attributes(node: &ConfigNode<'_>) -> Option<Vec<KeyPart>> {
    let by = key_part::read(node)?;
    let nodes = if node.is_list() { node.list()? } else { vec![node.clone()] };
    for ((at, part), node) in by.iter().enumerate().zip(&nodes) {
        if part.of().contains('=') {
            return node.refuse("a name with an equals sign", "a field without one, such as a derived one");
        }
        if by.iter().take(at).any(|other| other.of() == part.of()) {
            return node
                .conflict("an attribute again", "each field once, or a derived field of another name");
        }
    }
    Some(by)
}

/// Reads the names of the attributes of each table.
fn tables(node: &ConfigNode<'_>) -> Option<Vec<Vec<String>>> {
    let nodes = node.list()?;
    if nodes.is_empty() || nodes.len() > MOST {
        return node.refuse("a list of another length", "1 to 1,000 tables, each a list of fields of `by`");
    }
    let names = |node: &ConfigNode<'_>| -> Option<Vec<String>> {
        let names: Vec<Option<String>> = node.list()?.iter().map(ConfigNode::non_empty_text).collect();
        names.into_iter().collect()
    };
    let tables: Vec<Option<Vec<String>>> = nodes.iter().map(names).collect();
    tables.into_iter().collect()
}

/// Refuses names in tables that are no attributes.
fn known_attributes(node: &ConfigNode<'_>, names: &[&str]) -> Option<()> {
    let mut are_known = true;
    for name in node.list()?.iter().filter_map(ConfigNode::list).flatten() {
        if let Some(word) = name.as_text().filter(|word| !names.contains(word)) {
            name.record_mistake::<()>(MistakeDetail::unknown_word(word, names));
            are_known = false;
        }
    }
    are_known.then_some(())
}

/// Reads the categories of each attribute that is no interval.
fn categories(fields: &TableNode<'_>, by: &[KeyPart], beside: &Path) -> Option<Vec<KeysSpec>> {
    let node = fields.node("categories");
    let entries = match &node {
        Some(node) => node.entries("a table with the categories of each field")?,
        None => Vec::new(),
    };
    let mut categories = Vec::new();
    for part in by {
        let own = entries.iter().find(|(name, _)| *name == part.of()).map(|(_, node)| node);
        categories.push(match (part.texts().is_some(), own) {
            (true, None) => Some(KeysSpec::Every),
            (true, Some(node)) => {
                node.conflict("categories of intervals", "no categories: the edges state them")
            }
            (false, Some(node)) => listed(node, beside),
            (false, None) => {
                let found = format!("no categories of {}", part.of());
                let remedy = format!("categories = {{ {} = [..] }}, a list or {{ file = .. }}", part.of());
                fields.refuse("categories", MistakeDetail::new(MistakeKind::Missing, found, remedy))
            }
        });
    }
    let names: Vec<&str> = by.iter().map(KeyPart::of).collect();
    for (name, node) in entries.iter().filter(|(name, _)| !names.contains(name)) {
        node.record_mistake::<()>(MistakeDetail::unknown_word(name, &names));
        categories.push(None);
    }
    categories.into_iter().collect()
}

/// Reads the categories of a field.
fn listed(node: &ConfigNode<'_>, beside: &Path) -> Option<KeysSpec> {
    if node.is_table() {
        let [file] = node.entries_named(["file"])?;
        return match file {
            Some(file) => grouping::key_file(&file, beside),
            None => node.refuse("no file", "a list of categories, or { file = .. }"),
        };
    }
    if node.as_text() == Some("discover") {
        return node.refuse("categories to discover", "a list of categories, or { file = .. }");
    }
    grouping::key_list(node, 1)
}

/// Returns the root of the mean of the squares of all cells, of a number for the cells of each table.
fn in_mean_of_squares(tables: &MarginalTables, numbers: impl Iterator<Item = f64>) -> f64 {
    let (mut squares, mut all) = (0.0, 0.0);
    for (number, cells) in numbers.zip(tables.sizes()) {
        squares += cells as f64 * number.powi(2);
        all += cells as f64;
    }
    (squares / all).sqrt()
}

/// Returns the categories of the parts of a key.
fn combination(tables: Option<&MarginalTables>, key: &CellKey) -> CellKey {
    let categories = tables.and_then(|tables| tables.combination(key));
    categories.map_or(CellKey::Absent, |categories| CellKey::of_parts(categories.into_iter()))
}

/// Returns the key of a cell as a job releases it.
fn released(cell: &MarginalCell) -> CellKey {
    match cell.label() {
        Label::Texts(texts) => CellKey::of_several(texts.iter().map(|text| &**text)),
        _ => CellKey::Whole,
    }
}

impl JobStatistic for MarginalsSpec {
    fn fields(&self) -> Vec<StatedField> {
        let names = |table: &Vec<String>| list(&table.iter().map(|name| text(name)).collect::<Vec<_>>());
        let tables = list(&self.tables.iter().map(names).collect::<Vec<_>>());
        let stated = |(part, categories): (&KeyPart, &KeysSpec)| {
            Some(format!("{} = {}", text(part.of()), grouping::stated(categories)?))
        };
        let stated: Vec<String> = self.by().iter().zip(&self.categories).filter_map(stated).collect();
        let categories = (!stated.is_empty()).then(|| format!("{{ {} }}", stated.join(", ")));
        vec![
            ("count", Some(format!("\"{}\"", self.count.word()))),
            ("by", Some(key_part::stated(self.by()))),
            ("tables", Some(tables)),
            ("categories", categories),
        ]
    }

    fn grouping(&self) -> Option<&GroupingSpec> {
        self.grouping.as_ref()
    }

    fn noise_kinds(&self) -> &'static [NoiseKind] {
        &[NoiseKind::Gaussian]
    }

    fn contribution(&self) -> ContributionKind {
        self.count.contribution()
    }

    /// The cells of all tables.
    fn keys(&self, _: BudgetUnits) -> Result<Keys<CellKey>, UnfitJob> {
        let cells = self.marginal_tables()?.cells();
        Keys::public(cells.iter().map(released)).map_err(|invalid| UnfitJob::at("tables", &invalid))
    }

    fn cut(&self, limits: ContributionBound, _: &Keys<CellKey>) -> Result<Cut, Invalid> {
        Ok(Cut::two_steps(&limits))
    }

    fn prepare(&self, terms: &StatisticTerms<'_>) -> Result<PreparedStatistic, Invalid> {
        let counts = self.counts(terms)?;
        let ready = terms.noise.prepare(&counts)?;
        let noun = self.count.word();
        let name = |names: &Vec<String>| if names.is_empty() { "all".to_owned() } else { names.join(" x ") };
        Ok(PreparedStatistic {
            sensitivities: vec![NumberSensitivity::new(
                noun,
                &counts.sensitivity(),
                DecimalPoint::WHOLE,
                1.0,
            )],
            numbers: self.tables.iter().map(name).collect(),
            intervals: ready.widths().to_vec(),
            ..PreparedStatistic::of(&ready, ready.noise())
        })
    }

    fn field_of(&self, parameter: &str) -> Option<&'static str> {
        (parameter == "tables").then_some("tables")
    }

    fn describe(&self, unit: &str) -> String {
        let tables = match self.tables.len() {
            1 => "a table".to_owned(),
            tables => format!("{tables} tables"),
        };
        let each = match self.count {
            CountedNoun::People => ", each once in a combination",
            CountedNoun::Records => "",
        };
        format!(
            "{tables} of how many {} there are{each}, by {}",
            self.count.noun(unit),
            key_part::described(self.by())
        )
    }

    fn optimality(&self, prepared: &PreparedStatistic, cost: &PrivacyCost) -> Option<NoiseOptimality> {
        let MarginalErrors { error, least, .. } = self.beside_others(prepared, cost)?;
        let of = "all Gaussian noise for these tables, of which none can err less";
        Some(NoiseOptimality { ratio: error / least, of })
    }

    fn numbers_of_one(&self, _: usize) -> u32 {
        1
    }

    /// Those of a cell in the mean of squares: of the largest table there are the most cells, and of the number of all there is one.
    fn errors(&self, prepared: &PreparedStatistic) -> NumberErrors {
        let Ok(tables) = self.marginal_tables() else { return NumberErrors::NONE };
        let width = in_mean_of_squares(&tables, prepared.intervals.iter().copied());
        NumberErrors::of(prepared, &[width], 1)
    }

    fn tabled(&self) -> Option<TabledKeys> {
        let combinations = self.marginal_tables().ok()?.workload().combinations();
        Some(TabledKeys { tables: self.tables.len() as u64, combinations })
    }

    fn memory(&self) -> KeyMemory {
        KeyMemory::Counted
    }

    fn exact_fields(&self, exact: &ExactNumbers, released: &ReleasedNumber<'_>) -> Option<String> {
        let [tally, truth] = exact.marginals_of(released)?.map(|sums| self.count.of(sums));
        Some(format!(",\"tally\":{tally},\"truth\":{truth}"))
    }
}

impl StatisticFlow for MarginalsSpec {
    fn lay<P: PersonIdentity, I: PersonIdentity, U: ProtectedUnit<SourceRecord<P, I>>>(
        &self,
        flow: &ReleaseFlow<'_, '_, P, I, U>,
    ) -> Result<(), RunError> {
        let counts = self.counts(&flow.terms);
        if let (Some((_, numbers)), Ok(counts)) = (&flow.demo, &counts) {
            numbers.of_marginals(counts.tables());
        }
        // Without tables the run is refused.
        let tables = counts.as_ref().ok().map(|counts| counts.tables().clone());
        let counts = counts.map(|statistic| KeyedAggregation { statistic, measure: Count });
        // Texts become categories before people are bounded, so that those of no category take no places.
        let key = || {
            let (key, tables) = (flow.key(None), tables.clone());
            move |record: &SourceRecord<P, I>| combination(tables.as_ref(), &key(record))
        };
        let asked = flow.bounded.clone().ask(key(), |_: &SourceRecord<P, I>| (), counts);
        flow.release(asked, true, sums)?;
        flow.show_everything_by(key())
    }
}

impl Mechanism<MarginalCounts<CellKey>> for ConfiguredNoise {
    type Prepared = NoisyMarginals<CellKey>;

    fn prepare(&self, counts: &MarginalCounts<CellKey>) -> Result<NoisyMarginals<CellKey>, Invalid> {
        self.gaussian::<_, NoisyMarginals<CellKey>>(counts)
    }
}

#[cfg(test)]
mod tests {
    use crate::job::config::tests::refusals::{COUNT, NOISE, check};
    use crate::job::config::tests::{GOOD, parse};

    // Refutes tables of fields without categories, of fields that are none, and such as no noise but Gaussian is for.
    #[test]
    fn tables_that_are_none() {
        let count = format!("{COUNT}\n{NOISE}");
        let refused = |marginals: &str, words: &[&str]| {
            let text = format!(
                "marginals = {marginals}\nbound = {{ keys = 2, per_key = 2 }}\nnoise = \"gaussian\"\nshare = 0.5"
            );
            check(&[(&count, &text, words)]);
        };
        let place = "release[1].marginals";
        let of = |field: &str| format!("{place}.{field}");
        let categories = "categories = { a = [\"x\", \"y\"], b = [\"1\", \"2\"] }";
        refused("«{ tables = [[\"a\"]] }", &[&of("by"), "found nothing"]);
        refused("«{ by = \"a\", categories = { a = [\"x\", \"y\"] } }", &[&of("tables"), "found nothing"]);
        let pages = "categories = { page = [\"x\", \"y\"], b = [\"1\", \"2\"] }";
        let misspelt = format!("{{ by = [\"page\", \"b\"], tables = [[\"b\", «\"pag\"]], {pages} }}");
        refused(&misspelt, &[&of("tables"), "did you mean page?"]);
        refused("«{ by = \"a\", tables = [[\"a\"]] }", &[&of("categories"), "no categories of a"]);
        refused(
            "{ by = \"a\", tables = [[\"a\"]], categories = { a = «\"discover\" } }",
            &["categories to discover"],
        );
        refused(
            "{ by = [\"a\", «\"a\"], tables = [[\"a\"]], categories = { a = [\"x\", \"y\"] } }",
            &[&of("by"), "part 1 of the key again"],
        );
        refused(
            "{ by = { of = \"a\", edges = [1] }, tables = [[\"a\"]], categories = { a = «[\"x\", \"y\"] } }",
            &["categories of intervals"],
        );
        let unfit = |marginals: &str| {
            let text = format!("marginals = {marginals}\nbound = {{ keys = 2, per_key = 2 }}\n{NOISE}");
            let unfit = parse(&GOOD.replace(&count, &text)).unwrap().plan().unwrap_err();
            (unfit.field().to_owned(), unfit.to_string())
        };
        for (marginals, field) in [
            (format!("{{ by = [\"a\", \"b\"], tables = [[\"a\"]], {categories} }}"), "by"),
            (
                format!("{{ by = [\"a\", \"b\"], tables = [[\"a\", \"b\"], [\"b\", \"a\"]], {categories} }}"),
                "tables",
            ),
            ("{ by = \"a\", tables = [[\"a\"]], categories = { a = [\"x\"] } }".to_owned(), "categories.a"),
            (
                "{ by = \"a\", tables = [[\"a\"]], categories = { a = { file = \"none.txt\" } } }".to_owned(),
                "categories.a",
            ),
        ] {
            let (found, text) = unfit(&marginals);
            assert_eq!(found, of(field), "{text}");
        }
    }
}
