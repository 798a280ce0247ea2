//! Checks between the tables of a job file, each of which is valid by itself, and the budget account that
//! follows from all of them.

mod account;
mod ask;
mod release;

pub(super) use account::{cost_in_account_currency, obstacle};

use super::ask::AskSpec;
use super::every;
use super::every::Every;
use super::mistake::MistakeDetail;
use super::node::{ConfigNode, TableNode};
use super::number::BudgetShare;
use super::privacy::{Privacy, Protected};
use super::release::{PriceSpec, ReleaseSpec};
use super::source::{RecordFormat, RecordOrder, SourcePlace, SourceSpec, check_names};
use super::tables::TableSpec;
use super::watch::WatchSpec;
use crate::accounting::Promise;
use crate::job::MistakeKind;
use crate::job::condition::Condition;
use crate::job::derived::{DerivedField, DerivedFields, FieldNames};
use crate::job::expression::{Expression, ValueKind};
use crate::job::statistics::{KeyPart, StatisticCheck};
use crate::ledger::AccountSpec;
use crate::time::Time;

/// The tables of a job file, after each was read by itself.
pub(super) struct Tables<'t> {
    pub(super) from: Option<Time>,
    pub(super) until: Option<Time>,
    pub(super) source: &'t SourceSpec,
    pub(super) joined: &'t [TableSpec],
    pub(super) fields: &'t DerivedFields,
    pub(super) privacy: &'t Privacy,
    pub(super) releases: &'t [ReleaseSpec],
    pub(super) asks: &'t [AskSpec],
    pub(super) watch: &'t WatchSpec,
}

/// Returns the places of the entries of a list of tables; none if there is no list.
fn entries<'n>(root: &TableNode<'n>, word: &str) -> Vec<ConfigNode<'n>> {
    root.node(word).and_then(|node| node.list()).unwrap_or_default()
}

/// Returns the derived fields with those of the parts of keys.
pub(super) fn derived(
    root: &TableNode<'_>,
    tables: &Tables<'_>,
    time: Option<&str>,
) -> Option<DerivedFields> {
    let mut derived = tables.fields.clone();
    for (node, release) in entries(root, "release").iter().zip(tables.releases) {
        for part in release.statistic.grouping().into_iter().flat_map(|grouping| &grouping.by) {
            let Some(text) = part.expression() else { continue };
            let names = FieldNames { derived: tables.fields, time };
            match Expression::parse(&text, &names) {
                Ok(expression) => derived.push(DerivedField { name: text, expression }),
                Err(refused) => {
                    let remedy = "edges of at most 10^15 and nine digits, of numbers, or a depth, of texts";
                    return node
                        .descendant(&[release.statistic.word(), "by"])
                        .refuse(refused.found(), remedy);
                }
            }
        }
    }
    Some(derived)
}

/// Checks the tables against each other; returns the budget account that they state together.
pub(super) fn check(root: &TableNode<'_>, tables: &Tables<'_>) -> Option<AccountSpec> {
    let nodes = entries(root, "release");
    let releases = || nodes.iter().zip(tables.releases);
    times(root, tables);
    names(root, tables, &nodes);
    exploded(root, tables);
    shares(root, tables, &nodes);
    ask::check(root, tables);
    for (node, release) in releases() {
        every::agree(node, release);
        release::check(node, release, tables);
        release.statistic.as_statistic().check(&StatisticCheck {
            release: node,
            table: node.descendant(&[release.statistic.word()]),
            noise: release.noise,
            by_record: tables.privacy.privacy_unit == Protected::Record,
            pure: tables.privacy.budget.is_pure(),
        });
    }
    let account = account::stated(root, tables, &nodes)?;
    for (node, release) in releases() {
        if let PriceSpec::Cost(words) = &release.price {
            account::check_cost(&node.descendant(&["cost"]), words, release.bound.windows, &account);
        }
    }
    Some(account)
}

fn times(root: &TableNode<'_>, tables: &Tables<'_>) -> Option<()> {
    if let (Some(from), Some(until)) = (tables.from, tables.until)
        && from >= until
    {
        root.node("job")?
            .descendant(&["until"])
            .conflict::<()>("a time that is not after from", "a time after from");
    }
    let made_up = matches!(tables.source.records, RecordFormat::Synthetic(_));
    let timed = tables.releases.iter().any(|release| release.every != Every::All)
        || tables.asks.iter().any(|ask| ask.every != Every::All);
    // A single window over everything has ends, too, if the job states them.
    let ends = tables.from.is_some() || tables.until.is_some();
    let sorted = tables.source.order == RecordOrder::Sorted;
    if (timed || ends || sorted) && tables.source.time.is_none() && !made_up {
        let unless = match (timed, ends) {
            (true, _) => ": a release has windows of time",
            (false, true) => ", or no from and until in [job]: they select records by time",
            (false, false) => ", or order = \"any\": sorted is by time",
        };
        let format = if tables.source.records.is_columnar() { "" } else { ", format = .." };
        let remedy = format!("time = {{ field = ..{format} }}{unless}");
        root.node("source")?.record_mistake::<()>(MistakeDetail::new(
            MistakeKind::Missing,
            "no time",
            remedy,
        ));
    }
    Some(())
}

/// Refuses a release name that occurs twice, fields that the records never have, and a key file that is the
/// ledger's own.
fn names(root: &TableNode<'_>, tables: &Tables<'_>, nodes: &[ConfigNode<'_>]) -> Option<()> {
    for (index, (node, release)) in nodes.iter().zip(tables.releases).enumerate() {
        if let Some(first) = tables.releases[..index].iter().position(|other| other.name == release.name) {
            let found = format!("the name of release[{}] again", first + 1);
            node.descendant(&["name"]).conflict::<()>(found, "a name of its own");
        }
        let word = release.statistic.word();
        let by = release.statistic.grouping().into_iter().flat_map(|grouping| &grouping.by).map(KeyPart::of);
        check_fields(tables, &node.descendant(&[word, "by"]), by);
        let of = node.descendant(&[word, "of"]);
        let several = if of.is_list() { of.list()? } else { vec![of] };
        for of in several.into_iter().chain([node.descendant(&[word, "per"])]) {
            check_fields(tables, &of, of.as_text());
            let derived = of.as_text().and_then(|name| tables.fields.get(name));
            if derived.is_some_and(|derived| derived.expression.kind() == ValueKind::Text) {
                of.conflict::<()>(
                    "a derived field of texts",
                    "a field of numbers, such as \"number of ..\" makes",
                );
            }
        }
        let compared = release.condition.iter().flat_map(Condition::fields);
        check_fields(tables, &node.descendant(&["where"]), compared);
    }
    let compared = tables.source.condition.iter().flat_map(Condition::fields);
    check_fields(tables, &root.node("source")?.descendant(&["where"]), compared);
    for (path, of) in [
        (["privacy", "person", "field"], "person"),
        (["source", "id", "field"], "id of a record"),
        (["source", "time", "field"], "time"),
    ] {
        let field = root.node(path[0])?.descendant(&path[1..]);
        let Some(name) = field.as_text() else { continue };
        check_names(tables.source, &field, std::iter::once(name));
        if tables.fields.get(name).is_some() {
            // Which person a record is of, and which record it is, are the source's to say.
            made_at(root, name)?.conflict::<()>(
                format!("the field of the {of}"),
                "another name: that one is read from the source",
            );
        }
    }
    for field in tables.fields.iter() {
        let made_of =
            field.expression.fields().filter(|of| *of == field.name || tables.fields.get(of).is_none());
        check_fields(tables, &made_at(root, &field.name)?, made_of);
    }
    for table in tables.joined {
        if matches!(tables.source.records.place(), Some(SourcePlace::Files(path)) if *path == table.file) {
            let found = "the file of the records";
            root.node("tables")?.descendant(&[&table.name]).conflict::<()>(found, "a table that is public");
        }
    }
    if tables.privacy.key == tables.privacy.ledger {
        root.node("privacy")?
            .descendant(&["key"])
            .conflict::<()>("the ledger's own file", "a file of its own");
    }
    Some(())
}

/// Refuses a person, a time and an id that are of an element: a line has one of each, so that all of its elements are
/// bounded as those of one person.
fn exploded(root: &TableNode<'_>, tables: &Tables<'_>) -> Option<()> {
    let source = root.node("source")?;
    let Some(explode) = &tables.source.explode else { return Some(()) };
    if tables.privacy.privacy_unit == Protected::Record {
        source.descendant(&["explode"]).conflict::<()>(
            "unit = \"record\", of which a line would have several",
            "person = { field = .. } in [privacy], with the id of the line where nothing else says whose it is",
        );
    }
    for path in [["privacy", "person", "field"], ["source", "id", "field"], ["source", "time", "field"]] {
        let field = root.node(path[0])?.descendant(&path[1..]);
        if field.as_text().is_some_and(|name| explode.holds(name)) {
            field.conflict::<()>("a field of the elements of source.explode", "a field of the line");
        }
    }
    Some(())
}

/// Returns the place at which a derived field is made.
fn made_at<'n>(root: &TableNode<'n>, name: &str) -> Option<ConfigNode<'n>> {
    let stated = root.node("fields").map(|fields| fields.descendant(&[name])).filter(|node| !node.is_table());
    let table = name.split('.').next().unwrap_or_default();
    stated.or_else(|| Some(root.node("tables")?.descendant(&[table])))
}

/// Refuses names that are neither of derived fields nor of fields that the records of the source may have.
fn check_fields<'n>(tables: &Tables<'_>, node: &ConfigNode<'_>, names: impl IntoIterator<Item = &'n str>) {
    let others: Vec<&str> = names.into_iter().filter(|name| tables.fields.get(name).is_none()).collect();
    let table_of = |name: &str| {
        let (table, _) = name.split_once('.')?;
        tables.joined.iter().find(|joined| joined.name == table)
    };
    for name in others.iter().filter(|name| table_of(name).is_some()) {
        let columns: Vec<&str> = tables.fields.iter().map(|field| field.name.as_str()).collect();
        let of_table = |column: &&str| {
            table_of(column).map(|table| &table.name) == table_of(name).map(|table| &table.name)
        };
        let columns: Vec<&str> = columns.into_iter().filter(of_table).collect();
        let wrong =
            MistakeDetail { kind: MistakeKind::Unknown, ..MistakeDetail::unknown_word(name, &columns) };
        node.record_mistake::<()>(wrong);
    }
    check_names(tables.source, node, others.into_iter().filter(|name| table_of(name).is_none()));
}

/// Refuses shares that sum to more than the budget, and shares of a lifetime that no number of windows
/// divides.
fn shares(root: &TableNode<'_>, tables: &Tables<'_>, nodes: &[ConfigNode<'_>]) {
    let mut sum = 0;
    let mut add = |node: &ConfigNode<'_>, share: BudgetShare| {
        let before = sum;
        sum += u128::from(share.parts());
        let whole = u128::from(BudgetShare::WHOLE.parts());
        if before <= whole && sum > whole {
            let remedy = "shares that come to at most 1 together";
            node.descendant(&["share"]).conflict::<()>("shares of more than the whole budget", remedy);
        }
    };
    for (node, release) in nodes.iter().zip(tables.releases) {
        let PriceSpec::Share(share) = release.price else { continue };
        add(node, share);
        let ends = release.every == Every::All
            || release.pays_once()
            || release.bound.windows.is_some()
            || (tables.from.is_some() && tables.until.is_some());
        if tables.privacy.promise == Promise::Lifetime && !ends {
            let remedy = "from and until in [job], bound.windows, or a cost instead of the share";
            node.descendant(&["share"])
                .conflict::<()>("a share of a lifetime among windows without end", remedy);
        }
    }
    for (node, ask) in entries(root, "ask").iter().zip(tables.asks) {
        if let PriceSpec::Share(share) = ask.price {
            add(node, share);
        }
    }
}
