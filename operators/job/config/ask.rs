//! `[[ask]]`: questions that analysts may ask of the records, and the bundle of answers that is paid for all of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::display::{path, text};
use super::every::Every;
use super::mistake::MistakeDetail;
use super::node::ConfigNode;
use super::number::BudgetShare;
use super::release::{CostSpec, PriceSpec, every, most};
use super::{MistakeKind, cost_fields};
use crate::accounting::Budget;
use crate::ledger::Name;
use crate::mechanisms::queries::{Field, FieldKind, Schema};

/// The questions that analysts may ask, and the bundle that answers them.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct AskSpec {
    /// The name of the bundle in its lines and in the ledger.
    pub name: Name,
    /// The version of the bundle, if it has one of its own; otherwise the job's.
    pub version: Option<u32>,
    /// The length of the windows: a question is about the records of the last one that is over.
    pub every: Every,
    /// The fields that can be asked about, by name.
    pub fields: BTreeMap<String, FieldKind>,
    /// The most records of a person in a window that count, if it is stated.
    pub per_key: Option<u32>,
    /// The number of answers.
    pub answers: u64,
    /// The number of answers for each analyst; empty if they are for those who ask first.
    pub analysts: BTreeMap<String, u64>,
    /// The file with the questions, a line of JSON each; `None` if they are asked over HTTP alone.
    pub questions: Option<PathBuf>,
    /// The files with the tokens of the analysts who may ask a live run over HTTP.
    pub tokens: BTreeMap<String, PathBuf>,
    /// The price of all answers together: a share of the budget, or an epsilon and a delta.
    pub price: PriceSpec,
}

/// The most answers of a bundle.
const MOST_ANSWERS: u64 = 1 << 32;

impl AskSpec {
    /// Returns the fields as the job file states them, in the order of the file's reference.
    pub(in crate::job) fn fields(&self) -> Vec<(&'static str, Option<String>)> {
        let table = |entries: Vec<String>| format!("{{ {} }}", entries.join(", "));
        let fields =
            self.fields.iter().map(|(name, kind)| format!("{} = {}", text(name), text(&word(*kind))));
        let analysts = self.analysts.iter().map(|(name, answers)| format!("{} = {answers}", text(name)));
        let analysts: Vec<String> = analysts.collect();
        let tokens = self.tokens.iter().map(|(name, file)| format!("{} = {}", text(name), path(file)));
        vec![
            ("name", Some(text(self.name.as_str()))),
            ("version", self.version.map(|version| version.to_string())),
            ("every", Some(format!("\"{}\"", self.every))),
            ("fields", Some(table(fields.collect()))),
            ("bound", self.per_key.map(|most| format!("{{ per_key = {most} }}"))),
            ("answers", Some(self.answers.to_string())),
            ("analysts", (!analysts.is_empty()).then(|| table(analysts))),
            ("questions", self.questions.as_deref().map(path)),
            ("tokens", (!self.tokens.is_empty()).then(|| table(tokens.collect()))),
            match &self.price {
                PriceSpec::Share(share) => ("share", Some(share.to_decimal().to_string())),
                PriceSpec::Cost(cost) => {
                    let parts =
                        cost_fields(cost).into_iter().filter_map(|(name, value)| Some((name, value?)));
                    ("cost", Some(table(parts.map(|(name, value)| format!("{name} = {value}")).collect())))
                }
            },
        ]
    }

    /// Returns the schema of the records without that of the person.
    pub(in crate::job) fn schema(&self) -> Result<Schema, crate::Invalid> {
        Schema::new(self.fields.iter().map(|(name, kind)| match kind {
            FieldKind::Text => Field::text(name.as_str()),
            FieldKind::Number => Field::number(name.as_str()),
            FieldKind::Decimal(digits) => Field::decimal(name.as_str(), *digits),
            FieldKind::Time => Field::time(name.as_str()),
        }))
    }
}

/// Returns the kind of a field as a job file states it.
fn word(kind: FieldKind) -> String {
    match kind {
        FieldKind::Text => "text".to_owned(),
        FieldKind::Number => "whole".to_owned(),
        FieldKind::Decimal(1) => "1 digit".to_owned(),
        FieldKind::Decimal(digits) => format!("{digits} digits"),
        FieldKind::Time => "time".to_owned(),
    }
}

pub(super) fn read(node: &ConfigNode<'_>, beside: &Path) -> Option<AskSpec> {
    let required = ["name", "every", "fields", "answers"];
    let others = ["version", "bound", "analysts", "questions", "tokens", "share", "cost"];
    let fields = node.fields(&required, &others)?;
    let name = fields.read("name", |node| node.accept(Name::new("ask", node.text()?)));
    let version = fields.read("version", |node| node.whole(1, u32::MAX.into()));
    let period = fields.read("every", every);
    let asked = fields.read("fields", |node| asked(&node));
    let per_key = match fields.node("bound") {
        Some(node) => node.fields(&[], &["per_key"]).map(|fields| most(&fields, "per_key")),
        None => Some(None),
    };
    let answers = fields.read("answers", |node| node.whole(1, MOST_ANSWERS));
    let analysts = match fields.node("analysts") {
        Some(node) => analysts(&node),
        None => Some(BTreeMap::new()),
    };
    let questions = match fields.node("questions") {
        Some(node) => node.non_empty_text().map(|path| Some(beside.join(path))),
        None if fields.node("tokens").is_none() => {
            let remedy = "a file of questions, a line of JSON each; or tokens of analysts who ask over HTTP";
            fields.refuse("questions", MistakeDetail::new(MistakeKind::Missing, "nothing", remedy))
        }
        None => Some(None),
    };
    let tokens = match fields.node("tokens") {
        Some(node) => tokens(&node, (analysts.as_ref(), beside)),
        None => Some(BTreeMap::new()),
    };
    let price = match (fields.node("share"), fields.node("cost")) {
        (Some(_), Some(cost)) => cost.conflict("a cost beside a share", "either share or cost"),
        (Some(share), None) => share.accept(BudgetShare::of(&share.decimal()?)).map(PriceSpec::Share),
        (None, Some(cost)) => costs(&cost).map(PriceSpec::Cost),
        (None, None) => {
            let remedy = "share, a part of the budget, or cost = { epsilon = .., delta = .. } of all answers";
            fields.refuse("", MistakeDetail::new(MistakeKind::Missing, "no price", remedy))
        }
    };
    Some(AskSpec {
        name: name?,
        // The number is in range, so it fits.
        version: version.and_then(|version| u32::try_from(version).ok()),
        every: period?,
        fields: asked?,
        per_key: per_key?,
        answers: answers?,
        analysts: analysts?,
        questions: questions?,
        tokens: tokens?,
        price: price?,
    })
}

/// Reads the fields that can be asked about.
fn asked(node: &ConfigNode<'_>) -> Option<BTreeMap<String, FieldKind>> {
    let entries = node.entries("a table of names with their kinds")?;
    if entries.is_empty() {
        return node.refuse("no field", "at least one field");
    }
    let mut fields = BTreeMap::new();
    for (name, node) in entries {
        let digits = |text: &str| {
            let (digits, word) = text.split_once(' ')?;
            let digits = digits.parse().ok().filter(|digits| (1..=18).contains(digits))?;
            matches!(word, "digit" | "digits").then_some(FieldKind::Decimal(digits))
        };
        let kind = match node.text()? {
            "text" => FieldKind::Text,
            "whole" => FieldKind::Number,
            "time" => FieldKind::Time,
            other => match digits(other) {
                Some(kind) => kind,
                None => {
                    let known = ["text", "whole", "2 digits", "time"];
                    return node.record_mistake(MistakeDetail::unknown_word(other, &known));
                }
            },
        };
        // The names are checked as a schema does: they are written into questions.
        node.accept(Schema::new([Field::text(name)]))?;
        fields.insert(name.to_owned(), kind);
    }
    Some(fields)
}

/// Reads the numbers of answers of analysts.
fn analysts(node: &ConfigNode<'_>) -> Option<BTreeMap<String, u64>> {
    let entries = node.entries("a table of analysts with their numbers of answers")?;
    if entries.is_empty() {
        return node
            .refuse("no analyst", "at least one, or no analysts: then answers go to those who ask first");
    }
    let answers =
        entries.into_iter().map(|(name, node)| Some((name.to_owned(), node.whole(1, MOST_ANSWERS)?)));
    answers.collect()
}

/// Reads the files with the tokens of analysts, each of whom has answers.
fn tokens(
    node: &ConfigNode<'_>,
    (analysts, beside): (Option<&BTreeMap<String, u64>>, &Path),
) -> Option<BTreeMap<String, PathBuf>> {
    let entries = node.entries("a table of analysts with the files of their tokens")?;
    if entries.is_empty() {
        return node.refuse("no analyst", "at least one, or no tokens: then nobody asks over HTTP");
    }
    let shares = analysts.filter(|analysts| !analysts.is_empty());
    let files = entries.into_iter().map(|(name, node)| {
        if shares.is_some_and(|shares| !shares.contains_key(name)) {
            return node.conflict("a token of an analyst without answers", "the name of one of the analysts");
        }
        // The name is written into questions.
        let schema = Schema::new([Field::text("any")]);
        node.accept(schema.and_then(|schema| schema.question(name, "id", 0).count("all")))?;
        Some((name.to_owned(), beside.join(node.non_empty_text()?)))
    });
    files.collect()
}

/// Reads the cost of all answers.
fn costs(node: &ConfigNode<'_>) -> Option<CostSpec> {
    let fields = node.fields(&["epsilon", "delta"], &[])?;
    let read = |name| fields.read(name, |node| node.decimal());
    let (epsilon, delta) = (read("epsilon")?, read("delta")?);
    let (of_epsilon, of_delta) = (epsilon.to_f64(), delta.to_f64());
    fields.read("epsilon", |node| node.accept(Budget::pure(of_epsilon)))?;
    fields.read("delta", |node| node.accept(Budget::approximate(1.0, of_delta)))?;
    Some(CostSpec { epsilon: Some(epsilon), rho: None, delta: Some(delta) })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{GOOD, parse};
    use super::*;
    use crate::accounting::{BudgetUnits, PrivacyCost};
    use crate::job::Job;

    const ASK: &str = r#"[[ask]]
name = "study"
every = "1 day"
fields = { vendor = "text", stars = "whole", price = "2 digits", date = "time" }
bound = { per_key = 3 }
answers = 1000
analysts = { ann = 600, "b c" = 1 }
questions = "questions.jsonl"
share = 0.25
"#;

    /// The good file without a bound of windows, and with questions.
    fn with(ask: &str) -> String {
        format!("{}{ask}", GOOD.replace(", windows = 12", ""))
    }

    #[test]
    fn questions_are_read_and_printed_as_the_same_job() {
        let job = parse(&with(ASK)).unwrap();
        let ask = &job.asks[0];
        assert_eq!(ask.fields["price"], FieldKind::Decimal(2));
        assert_eq!((ask.answers, ask.per_key, ask.analysts["b c"]), (1000, Some(3), 1));
        assert_eq!(ask.questions.as_deref(), Some(Path::new("jobs/questions.jsonl")));
        for text in [with(ASK), with(&ASK.replace("share = 0.25", "cost = { epsilon = 0.5, delta = 1e-7 }"))]
        {
            let job = parse(&text).unwrap();
            assert_eq!(Job::parse("job.toml", &job.to_string()).unwrap(), job);
        }
        let watched = "[watch]\nlisten = \"127.0.0.1:0\"\n";
        let tokens = ASK.replace("questions = \"questions.jsonl\"", "tokens = { \"b c\" = \"b.token\" }");
        let job = parse(&(with(&tokens) + watched)).unwrap();
        assert_eq!((&job.asks[0].questions, &job.asks[0].tokens["b c"]), (&None, &"jobs/b.token".into()));
        assert_eq!(Job::parse("job.toml", &job.to_string()).unwrap(), job);
        // Questions alone are a job, and have a delta.
        let releases = GOOD.find("[[release]]").unwrap();
        let job = parse(&format!("{}{ASK}", &GOOD[..releases])).unwrap();
        assert!(job.releases.is_empty());
        let PrivacyCost::Zcdp { delta, .. } = job.account().cap() else { panic!("{}", job.account().cap()) };
        assert!(*delta > BudgetUnits::ZERO, "{}", job.account().cap());
        assert_eq!(job.release_names().map(Name::as_str).collect::<Vec<_>>(), ["study"]);
    }

    // Refutes a mistake that is found while the job runs, or at another place than its own.
    #[test]
    fn what_cannot_be_asked_is_refused_at_its_place() {
        for (from, to, field, found) in [
            ("name = \"study\"", "name = \"by_vendor\"", "ask[1].name", "the name of another release"),
            ("vendor = \"text\"", "who = \"text\"", "ask[1].fields.who", "the field of the person"),
            ("vendor = \"text\"", "vendor = \"txt\"", "ask[1].fields.vendor", "did you mean text?"),
            ("vendor = \"text\"", "vendor = \"0 digits\"", "ask[1].fields.vendor", "2 digits"),
            ("vendor = \"text\"", "vendor = \"19 digits\"", "ask[1].fields.vendor", "2 digits"),
            ("vendor = \"text\"", "vendor = \"time\"", "ask[1].fields.vendor", "not that of the records"),
            ("vendor = \"text\"", "\"a`b\" = \"text\"", "ask[1].fields.\"a`b\"", "a backquote"),
            (
                "vendor = \"text\", stars = \"whole\", price = \"2 digits\", date = \"time\"",
                "",
                "ask[1].fields",
                "no field",
            ),
            ("bound = { per_key = 3 }\n", "", "ask[1]", "no bound of per_key"),
            ("per_key = 3", "per_key = 0", "ask[1].bound.per_key", "zero"),
            ("per_key = 3", "keys = 3", "ask[1].bound.keys", "an unknown field"),
            ("answers = 1000", "answers = 0", "ask[1].answers", "zero"),
            ("ann = 600, \"b c\" = 1", "", "ask[1].analysts", "no analyst"),
            ("ann = 600", "ann = 0", "ask[1].analysts.ann", "zero"),
            ("\"questions.jsonl\"", "\"reviews.csv\"", "ask[1].questions", "the file of the records"),
            ("questions = \"questions.jsonl\"\n", "", "ask[1].questions", "or tokens of analysts"),
            (
                "questions = \"questions.jsonl\"",
                "tokens = { ann = \"ann.token\" }",
                "ask[1].tokens",
                "tokens without an address",
            ),
            ("questions = \"questions.jsonl\"", "tokens = {}", "ask[1].tokens", "nobody asks over HTTP"),
            (
                "questions = \"questions.jsonl\"",
                "tokens = { bob = \"bob.token\" }",
                "ask[1].tokens.bob",
                "without answers",
            ),
            (
                "questions = \"questions.jsonl\"",
                "tokens = { ann = \"\" }",
                "ask[1].tokens.ann",
                "an empty text",
            ),
            ("share = 0.25", "share = 0.75", "ask[1].share", "shares of more than the whole budget"),
            ("share = 0.25", "cost = { epsilon = 0.5 }", "ask[1].cost.delta", "found nothing"),
            ("share = 0.25", "cost = { epsilon = 0.5, delta = 2 }", "ask[1].cost.delta", "give"),
            ("share = 0.25\n", "", "ask[1]", "no price"),
            (
                "share = 0.25",
                "share = 0.25\ncost = { epsilon = 0.5, delta = 1e-7 }",
                "ask[1].cost",
                "beside a share",
            ),
        ] {
            assert!(ASK.contains(from), "{from}");
            let mistakes = parse(&with(&ASK.replace(from, to))).unwrap_err();
            let [mistake] = mistakes.iter().collect::<Vec<_>>()[..] else { panic!("{to}: {mistakes}") };
            assert_eq!(mistake.field(), field, "{to}: {mistakes}");
            assert!(mistake.to_string().contains(found), "{to}: {mistakes}");
        }
        for (from, to, field, found) in [
            ("epsilon = 1.0, delta = 1e-6", "rho = 1", "ask[1]", "a budget without a delta"),
            ("until = \"2008-03-01T00:00:00Z\"\n", "", "ask[1].every", "windows without end"),
            ("keys = 3,", "keys = 3, windows = 2,", "ask[1]", "beside a bound of windows"),
            (
                "person = { field = \"who\", missing = \"drop\" }",
                "unit = \"record\"",
                "ask[1].bound.per_key",
                "more than there can be",
            ),
        ] {
            let text = with(ASK);
            assert!(text.contains(from), "{from}");
            let mistakes = parse(&text.replace(from, to)).unwrap_err();
            let is_there = mistakes
                .iter()
                .any(|mistake| mistake.field() == field && mistake.to_string().contains(found));
            assert!(is_there, "{to}: {mistakes}");
        }
        let mistakes = parse(&GOOD[..GOOD.find("[[release]]").unwrap()]).unwrap_err();
        assert!(mistakes.to_string().contains("at least one [[release]], or [[ask]]"), "{mistakes}");
        let mistakes = parse(&with(&ASK.replace("[[ask]]", "[ask]"))).unwrap_err();
        assert!(mistakes.to_string().contains("[[ask]], in two pairs of brackets"), "{mistakes}");
    }

    // Refutes shares and costs that come to more than the budget, together or by themselves, and a share of which nothing is
    // left where spans of time cut its life.
    #[test]
    fn the_answers_are_paid_within_the_budget() {
        let paid = |text: &str| {
            let job = parse(text).unwrap();
            let prices = job.ask_prices(job.horizon()).unwrap();
            prices.into_iter().map(|price| (price.epsilon, price.delta, price.paid)).collect::<Vec<_>>()
        };
        let text = with(ASK);
        let cap = parse(&text).unwrap().account().cap().clone();
        let whole = paid(&text.replace("share = 0.5", "share = 0.75"));
        assert!(whole[0].2.times(4).unwrap().within(&cap), "{whole:?} of {cap}");
        assert!(!whole[0].2.times(5).unwrap().within(&cap), "{whole:?} of {cap}");
        // Six digits, so that an identity that is made of them is the same on every machine.
        assert_eq!(format!("{:e}", whole[0].0).len(), "1.00000e-1".len());
        let cut = paid(&text.replace("promise = \"lifetime\"", "promise = \"any 30 days\""));
        assert!(cut[0].2.times(4).unwrap().within(&cap) && cut[0].0 < whole[0].0 && cut[0].1 < whole[0].1);
        for ask in ["cost = { epsilon = 1.0, delta = 1e-7 }", "cost = { epsilon = 0.1, delta = 9e-7 }"] {
            let text = text.replace("share = 0.25", ask);
            let refused = parse(&text).unwrap().release_plans(parse(&text).unwrap().horizon()).unwrap_err();
            assert_eq!(refused.field(), "ask[1].cost", "{refused}");
            assert!(refused.to_string().contains("is left beside the shares"), "{refused}");
        }
    }
}
