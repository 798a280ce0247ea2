//! Checks between the tables of a job file, each of which is valid by itself, and the budget account that
//! follows from all of them.

use super::ask::AskSpec;
use super::every;
use super::every::Every;
use super::mistake::{MistakeDetail, listed};
use super::node::{ConfigNode, TableNode};
use super::number::BudgetShare;
use super::privacy::{Privacy, Protected};
use super::release::{CostSpec, PriceSpec, ReleaseSpec};
use super::source::{RecordFormat, RecordOrder, SourcePlace, SourceSpec, check_names};
use super::tables::TableSpec;
use super::watch::WatchSpec;
use crate::accounting::{BudgetUnits, Omega, PrivacyCost, Promise, ReleaseCost};
use crate::invalid::Invalid;
use crate::job::MistakeKind;
use crate::job::condition::Condition;
use crate::job::derived::{DerivedField, DerivedFields, FieldNames};
use crate::job::expression::{Expression, ValueKind};
use crate::job::release_plan::largest_fitting_cost;
use crate::job::statistics::{ContributionKind, KeyPart, KeysSpec, NoiseKind, StatisticCheck};
use crate::ledger::AccountSpec;
use crate::mechanisms::queries::FieldKind;
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
                        .refuse(refused.kind().found(), remedy);
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
    asks(root, tables);
    for (node, release) in releases() {
        every::agree(node, release);
        bound(node, release, &tables.privacy.privacy_unit);
        check_noise(node, release, tables);
        keys(node, release, tables.source);
        release.statistic.as_statistic().check(&StatisticCheck {
            release: node,
            table: node.descendant(&[release.statistic.word()]),
            noise: release.noise,
            by_record: tables.privacy.privacy_unit == Protected::Record,
            pure: tables.privacy.budget.is_pure(),
        });
    }
    let account = account(root, tables, common_window_bound(tables, &nodes)?)?;
    for (node, release) in releases() {
        if let PriceSpec::Cost(words) = &release.price {
            cost(&node.descendant(&["cost"]), words, release.bound.windows, &account);
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
            || release.running.is_some()
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

/// Returns true if a field is the one that says whose a record is, or is made of it.
fn says(fields: &DerivedFields, name: &str, person: &str) -> bool {
    let behind = fields.all_behind(&[name]);
    name == person || behind.iter().any(|field| field.expression.fields().any(|of| of == person))
}

/// Refuses questions about fields that the records never have, or that say whose a record is; and those that the budget
/// cannot pay for.
fn asks(root: &TableNode<'_>, tables: &Tables<'_>) {
    let privacy = tables.privacy;
    let own = matches!(tables.source.records, RecordFormat::Synthetic(_)).then_some("time");
    let time = tables.source.time.as_ref().map(|time| time.field.as_str()).or(own);
    for (index, (node, ask)) in entries(root, "ask").iter().zip(tables.asks).enumerate() {
        let others = tables.releases.iter().map(|release| &release.name);
        if others.chain(tables.asks.iter().take(index).map(|ask| &ask.name)).any(|name| *name == ask.name) {
            node.descendant(&["name"]).conflict::<()>("the name of another release", "a name of its own");
        }
        for (name, kind) in &ask.fields {
            let place = node.descendant(&["fields", name]);
            let derived = tables.fields.get(name).map(|derived| derived.expression.kind());
            match (&privacy.privacy_unit, kind) {
                (Protected::Person { field, .. }, _) if says(tables.fields, name, field) => {
                    let remedy = "other fields: nobody may ask whose a record is";
                    place.conflict::<()>("the field of the person", remedy);
                }
                (_, FieldKind::Time) if time != Some(name) || derived.is_some() => {
                    let remedy = "\"text\", or the field of source.time";
                    place.conflict::<()>("a time that is not that of the records", remedy);
                }
                (_, FieldKind::Number | FieldKind::Decimal(_)) if derived == Some(ValueKind::Text) => {
                    let remedy = "\"text\", or a field of numbers, such as \"number of ..\" makes";
                    place.conflict::<()>("a derived field of texts", remedy);
                }
                (_, FieldKind::Time) => {}
                _ => check_fields(tables, &place, [name.as_str()]),
            }
        }
        if privacy.privacy_unit == Protected::Record && ask.per_key.is_some_and(|most| most > 1) {
            let place = node.descendant(&["bound", "per_key"]);
            place.conflict::<()>("more than there can be", "1, or nothing: there is no second one");
        }
        if matches!(privacy.privacy_unit, Protected::Person { .. }) && ask.per_key.is_none() {
            let remedy = "bound = { per_key = .. }: how many records of a person count in a window";
            let wrong = MistakeDetail::new(MistakeKind::Missing, "no bound of per_key", remedy);
            node.descendant(&["bound"]).record_mistake::<()>(wrong);
        }
        if privacy.budget.delta.is_none() {
            let found = "questions under a budget without a delta";
            node.conflict::<()>(found, "a budget of epsilon and delta: bounded noise has a delta");
        }
        if tables.until.is_none() || (tables.from.is_none() && ask.every != Every::All) {
            let found = "questions about windows without end";
            let remedy = "from and until in [job]: all answers are paid for at once, for all of that time";
            node.descendant(&["every"]).conflict::<()>(found, remedy);
        }
        if tables.releases.iter().any(|release| release.bound.windows.is_some()) {
            let remedy = "no bound.windows: answers are about every window of a person";
            node.conflict::<()>("questions beside a bound of windows", remedy);
        }
        if matches!(tables.source.records.place(), Some(SourcePlace::Files(path)) if ask.questions.as_ref() == Some(path))
        {
            let found = "the file of the records";
            node.descendant(&["questions"]).conflict::<()>(found, "a file of questions");
        }
        if !ask.tokens.is_empty() && tables.watch.listen.is_none() {
            let remedy = "listen = \"127.0.0.1:9464\" in [watch]: questions are asked at that address";
            node.descendant(&["tokens"]).conflict::<()>("tokens without an address", remedy);
        }
    }
}

/// Refuses a contribution bound that is not stated although it could be more than 1.
fn bound(node: &ConfigNode<'_>, release: &ReleaseSpec, protected: &Protected) {
    let person = matches!(protected, Protected::Person { .. });
    let place = node.descendant(&["bound"]);
    let statistic = release.statistic.as_statistic();
    let (many_keys, contribution) = (statistic.is_keyed(), statistic.contribution());
    let one_value = contribution == ContributionKind::OneValue;
    let many_records = contribution.has_records();
    // If windows are added up, a person's contribution is bounded over all of them together.
    let of_all = release.running.is_some();
    let of = if of_all { ", over all windows together" } else { "" };
    // A person's sum is clipped to its range, whatever the number of records.
    let unclipped = contribution == ContributionKind::Records;
    let counts = [
        (
            "keys",
            release.bound.keys,
            person && many_keys,
            person && many_keys,
            if of_all {
                "how many keys a person counts in"
            } else {
                "how many keys of a window a person counts in"
            },
        ),
        (
            "per_key",
            release.bound.per_key,
            person && many_records,
            person && unclipped,
            "how many records a person counts with in each key",
        ),
    ];
    for (name, found, may_be_many, required, what) in counts {
        match found {
            None if required => {
                let remedy = format!("bound = {{ {name} = .. }}: {what}{of}");
                place.record_mistake::<()>(MistakeDetail::new(
                    MistakeKind::Missing,
                    format!("no bound of {name}"),
                    remedy,
                ));
            }
            Some(_) if one_value && name == "per_key" => {
                let remedy = "no per_key: a person is one value, of all its records";
                place
                    .descendant(&[name])
                    .conflict::<()>("records a key beside one value of a person", remedy);
            }
            Some(2..) if !may_be_many => {
                let remedy = "1, or nothing: there is no second one";
                place.descendant(&[name]).conflict::<()>("more than there can be", remedy);
            }
            _ => {}
        }
    }
    bound_of_entries(node, release, person);
    // Every mechanism refuses sensitivities above 2^40.
    let most =
        u64::from(release.bound.keys.unwrap_or(1)).saturating_mul(release.bound.per_key.unwrap_or(1).into());
    if most > 1 << 40 {
        place.conflict::<()>("keys times per_key above 2^40", "a smaller bound");
    }
}

/// Refuses people over the last windows that are not bounded by their entries, and entries of anything else.
fn bound_of_entries(node: &ConfigNode<'_>, release: &ReleaseSpec, person: bool) {
    let place = node.descendant(&["bound"]);
    match (release.is_of_present_people(), release.bound.entries) {
        (true, _) if !person => {
            let remedy = "count: a record is in one window, and people are not known";
            node.descendant(&["over"])
                .conflict::<()>("people over the last windows beside unit = \"record\"", remedy);
        }
        (true, None) => {
            let remedy = "bound = { entries = .. }: how many times a person enters each key, by coming again after the \
                          windows of `over` without a record, over all windows together";
            place.record_mistake::<()>(MistakeDetail::new(
                MistakeKind::Missing,
                "no bound of entries",
                remedy,
            ));
        }
        (false, Some(_)) => {
            let remedy = "no entries: they bound people over the last windows, with over and running = true";
            place.descendant(&["entries"]).conflict::<()>("entries where nobody leaves", remedy);
        }
        _ => {}
    }
}

/// Refuses a noise distribution that the statistic does not have, and noise, partition selection or a cost
/// that the currencies of the budget cannot pay for.
fn check_noise(node: &ConfigNode<'_>, release: &ReleaseSpec, tables: &Tables<'_>) {
    let budget = &tables.privacy.budget;
    let pure = budget.is_pure();
    let runs = release.running.is_some();
    if runs && !every::check_noise(node, release, pure) {
        return;
    }
    let kinds = release.statistic.as_statistic().noise_kinds();
    if !kinds.contains(&release.noise) {
        let words: Vec<&str> = kinds.iter().map(|kind| kind.word()).collect();
        let found =
            format!("{} noise, which {} does not have", release.noise.word(), release.statistic.word());
        node.descendant(&["noise"]).conflict::<()>(found, listed(&words));
        return;
    }
    if release.noise == NoiseKind::Gaussian && pure {
        let remedy = "\"laplace\", or a budget of rho, or of epsilon and delta";
        node.descendant(&["noise"]).conflict::<()>("Gaussian noise under a pure budget", remedy);
    }
    let discovers = release.selects_partitions();
    if discovers && budget.delta.is_none() {
        let found = "keys to discover under a budget without a delta";
        let remedy = "a list of keys, { file = .. }, or a budget of epsilon and delta";
        node.descendant(&[release.statistic.word(), "keys"]).conflict::<()>(found, remedy);
    }
    let has_delta = release.statistic.as_statistic().has_delta();
    if has_delta && (budget.delta.is_none() || budget.omega == Omega::EVERY) {
        let lacks = if budget.delta.is_none() { "a delta" } else { "an omega" };
        let remedy = "epsilon, delta and an omega, such as 20, in privacy.budget: a stable mean has no cost of every Rényi \
                      order, and a delta of its own";
        let place = node.descendant(&[release.statistic.word()]);
        place.conflict::<()>(format!("a stable mean under a budget without {lacks}"), remedy);
    }
    let PriceSpec::Cost(cost) = &release.price else { return };
    match (discovers || has_delta, &cost.delta) {
        (true, None) => {
            let remedy = match has_delta {
                true => "the field delta beside it: what the test of a stable mean costs",
                false => "the field delta beside it: what discovering keys costs",
            };
            node.descendant(&["cost"]).record_mistake::<()>(MistakeDetail::new(
                MistakeKind::Missing,
                "no delta",
                remedy,
            ));
        }
        (false, Some(_)) => {
            let remedy = "no delta: it pays for discovering keys and for stable means alone";
            node.descendant(&["cost", "delta"]).conflict::<()>("a delta for nothing", remedy);
        }
        _ => {}
    }
    if release.noise == NoiseKind::Gaussian && cost.epsilon.is_some() {
        let remedy = if runs { "rho" } else { "rho, or noise = \"laplace\"" };
        node.descendant(&["cost", "epsilon"]).conflict::<()>("pure epsilon for Gaussian noise", remedy);
    }
}

/// Refuses a file of keys that is the file of the records: a list of keys is public; the records are not.
fn keys(node: &ConfigNode<'_>, release: &ReleaseSpec, source: &SourceSpec) {
    let Some(KeysSpec::File(keys)) = release.statistic.grouping().map(|grouping| &grouping.keys) else {
        return;
    };
    if matches!(source.records.place(), Some(SourcePlace::Files(path)) if path == keys) {
        let found = "the file of the records";
        node.descendant(&[release.statistic.word(), "keys", "file"])
            .conflict::<()>(found, "a file of keys that are public");
    }
}

/// Returns the one number of windows in which all releases count a person, if they state one; the outer
/// `None` means that the releases disagree.
///
/// A ledger has one budget account for the job: with a number of windows it holds reservations, each for all
/// windows of a release, and without one it holds the windows themselves. So either every release reserves,
/// or none does.
#[expect(
    clippy::option_option,
    reason = "whether there is a number, and whether the releases agree, are two things"
)]
fn common_window_bound(tables: &Tables<'_>, nodes: &[ConfigNode<'_>]) -> Option<Option<u32>> {
    let of_windows = |release: &ReleaseSpec| release.bound.windows.filter(|_| release.running.is_none());
    let stated = tables.releases.iter().find_map(of_windows);
    let Some(stated) = stated else { return Some(None) };
    let mut agree = true;
    for (node, release) in nodes.iter().zip(tables.releases) {
        let place = node.descendant(&["bound", "windows"]);
        if release.running.is_some() {
            every::refuse_window_bounds(node);
            agree = false;
            continue;
        }
        match release.bound.windows {
            Some(_) if tables.privacy.privacy_unit == Protected::Record => {
                place.conflict::<()>(
                    "windows of a person beside unit = \"record\"",
                    "no windows: a record is in those that hold its time",
                );
                agree = false;
            }
            Some(_) if tables.privacy.promise != Promise::Lifetime => {
                let remedy = "no windows: under this promise each span of time pays for itself";
                place.conflict::<()>("windows beside a promise about spans of time", remedy);
                agree = false;
            }
            // A release that states a number is refused above.
            None if tables.privacy.promise != Promise::Lifetime
                || tables.privacy.privacy_unit == Protected::Record => {}
            // A release with a single window reserves that one.
            None if release.every == Every::All => {}
            Some(windows) if windows == stated => {}
            other => {
                let found = other.map_or("no number of windows", |_| "another number of windows");
                let remedy = format!(
                    "windows = {stated}, as in the first release that says it: an account has one number"
                );
                place.conflict::<()>(found, remedy);
                agree = false;
            }
        }
    }
    agree.then_some(Some(stated))
}

fn account(root: &TableNode<'_>, tables: &Tables<'_>, windows: Option<u32>) -> Option<AccountSpec> {
    let privacy = tables.privacy;
    let place = root.node("privacy")?;
    let charged = tables.releases.iter().any(ReleaseSpec::charges_delta) || !tables.asks.is_empty();
    let cap = place.descendant(&["budget"]).accept(privacy.budget.cap(charged))?;
    let promise = windows.map_or(privacy.promise, Promise::Windows);
    let stated = AccountSpec::new(privacy.account.clone(), privacy.privacy_unit.adjacency(), promise, cap);
    place.accept(stated.and_then(|account| match privacy.privacy_unit.person_identity() {
        Some(person) => account.with_person(&person),
        None => Ok(account),
    }))
}

/// Refuses a cost that the budget account cannot count, or that does not fit under its cap even once.
fn cost(place: &ConfigNode<'_>, words: &CostSpec, windows: Option<u32>, account: &AccountSpec) -> Option<()> {
    let amount = place.accept(cost_in_account_currency(words, account))?;
    let cost = ReleaseCost::new(account.neighbours(), amount.clone());
    place.accept(account.counts(&cost))?;
    let times = windows.unwrap_or(1).into();
    if amount.times(times).is_ok_and(|all| all.within(account.cap())) {
        return Some(());
    }
    let found = match times {
        1 => "a cost above the whole budget".to_owned(),
        windows => format!("a cost of which {windows} windows are above the whole budget"),
    };
    let fits = largest_fitting_cost(words, &amount, times, account.cap());
    place.conflict(found, fits.map_or("a larger budget".to_owned(), |fits| format!("at most {{ {fits} }}")))
}

/// Returns the cost in the account's currency, rounded up.
pub(super) fn cost_in_account_currency(
    words: &CostSpec,
    account: &AccountSpec,
) -> Result<PrivacyCost, Invalid> {
    let delta =
        words.delta.as_ref().map_or(Ok(BudgetUnits::ZERO), |delta| BudgetUnits::at_least("delta", delta))?;
    let own = match (&words.epsilon, &words.rho) {
        (Some(epsilon), _) => PrivacyCost::Pure { epsilon: BudgetUnits::at_least("epsilon", epsilon)? },
        (None, rho) => {
            let rho = rho.as_ref().map_or(Ok(BudgetUnits::ZERO), |rho| BudgetUnits::at_least("rho", rho))?;
            PrivacyCost::Zcdp { rho, delta: BudgetUnits::ZERO, omega: Omega::EVERY }
        }
    };
    // The noise has its own cost, and partition selection charges its delta beside it.
    Ok(match own.in_currency_of(account.cap())? {
        // The noise that is priced here satisfies zCDP at every order.
        PrivacyCost::Zcdp { rho, .. } => PrivacyCost::Zcdp { rho, delta, omega: Omega::EVERY },
        other => other,
    })
}
