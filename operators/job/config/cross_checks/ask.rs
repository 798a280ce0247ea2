//! Questions against the other tables: the fields that they may be about, and the budget that pays for them.

use super::{Tables, check_fields, entries};
use crate::job::MistakeKind;
use crate::job::config::every::Every;
use crate::job::config::mistake::MistakeDetail;
use crate::job::config::node::TableNode;
use crate::job::config::privacy::Protected;
use crate::job::config::source::{RecordFormat, SourcePlace};
use crate::job::derived::DerivedFields;
use crate::job::expression::ValueKind;
use crate::mechanisms::queries::FieldKind;

/// Refuses questions about fields that the records never have, or that say whose a record is; and those that the budget
/// cannot pay for.
pub(super) fn check(root: &TableNode<'_>, tables: &Tables<'_>) {
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

/// Returns true if a field is the one that says whose a record is, or is made of it.
fn says(fields: &DerivedFields, name: &str, person: &str) -> bool {
    let behind = fields.all_behind(&[name]);
    name == person || behind.iter().any(|field| field.expression.fields().any(|of| of == person))
}
