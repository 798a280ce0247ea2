//! Values of a job file with their places, and the few ways to read one.
//!
//! A reader that finds a mistake records it on the [`ConfigPage`] and returns `None`; its callers go on with
//! the fields beside it, so that one run reports every mistake.

use std::ops::Range;

use toml::de::{DeTable, DeValue};

use super::grammar;
use super::mistake::{ConfigPage, MistakeDetail, listed, quoted};
use crate::decimal::Decimal;
use crate::invalid::{Invalid, InvalidKind};
use crate::job::MistakeKind;
use crate::words::meant;

/// A value with its place in the file and the path of its field.
#[derive(Clone, Debug)]
pub(in crate::job) struct ConfigNode<'a> {
    page: &'a ConfigPage<'a>,
    field: String,
    place: Range<usize>,
    value: &'a DeValue<'a>,
}

/// A table whose fields were checked.
#[derive(Clone, Debug)]
pub(in crate::job) struct TableNode<'a> {
    page: &'a ConfigPage<'a>,
    field: String,
    place: Range<usize>,
    table: &'a DeTable<'a>,
    /// True if every field of the table is known; an unknown one may be the missing one, misspelt.
    pub(in crate::job) known: bool,
}

impl<'a> TableNode<'a> {
    /// Returns the root table of the file.
    pub(in crate::job) fn root(
        page: &'a ConfigPage<'a>,
        table: &'a DeTable<'a>,
        required: &[&'static str],
        optional: &[&'static str],
    ) -> TableNode<'a> {
        TableNode { page, field: String::new(), place: 0..0, table, known: true }.checked(required, optional)
    }

    /// Refuses fields that are neither required nor optional, and required fields that are missing.
    fn checked(mut self, required: &[&'static str], optional: &[&'static str]) -> TableNode<'a> {
        let known: Vec<&str> = required.iter().chain(optional).copied().collect();
        for (index, name) in known.iter().enumerate().filter(|_| cfg!(test)) {
            let path = self.name(name);
            let row = grammar::row(&path);
            assert!(row.is_some(), "{path}: a field without a row in JOB_FIELDS");
            let default = row.map_or(String::new(), |row| row.default.to_string());
            match index < required.len() {
                true => {
                    assert!(default.contains("required"), "{path}: required, and its row does not say so")
                }
                false => assert_ne!(default, "required", "{path}: optional, and its row says required"),
            }
        }
        let mut misspelt = Vec::new();
        for (key, _) in self.table.iter() {
            let name: &str = key.get_ref();
            if known.contains(&name) {
                continue;
            }
            let absent: Vec<&str> =
                known.iter().copied().filter(|known| !self.table.contains_key(*known)).collect();
            // A field that is present already may have been meant again: above all another table of a list.
            let meant = meant(name, &absent).or_else(|| meant(name, &known));
            misspelt.extend(meant);
            let wrong = MistakeDetail::new(MistakeKind::Unknown, "an unknown field", listed(&known));
            let wrong = MistakeDetail { meant: meant.map(str::to_owned), ..wrong };
            self.page.refuse(key.span(), &self.name(name), wrong);
            self.known = false;
        }
        for name in required {
            if !self.table.contains_key(*name) && !misspelt.contains(name) {
                let path = self.name(name);
                let takes =
                    grammar::row(&path).map(|field| format!(", {}", field.takes())).unwrap_or_default();
                let wrong =
                    MistakeDetail::new(MistakeKind::Missing, "nothing", format!("the field {name}{takes}"));
                self.page.refuse(self.place.clone(), &path, wrong);
            }
        }
        self
    }

    fn name(&self, name: &str) -> String {
        let name = if name.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c)) {
            name.to_owned()
        } else {
            quoted(name)
        };
        if self.field.is_empty() { name } else { format!("{}.{name}", self.field) }
    }

    /// Returns a field, if it is present.
    pub(in crate::job) fn node(&self, name: &str) -> Option<ConfigNode<'a>> {
        let (key, value) = self.table.get_key_value(name)?;
        // A table that exists through its fields alone has no place of its own.
        let place = if value.span().is_empty() { key.span() } else { value.span() };
        Some(ConfigNode { page: self.page, field: self.name(name), place, value: value.get_ref() })
    }

    /// Reads a field if it is present; a reader that fails has recorded the mistake.
    pub(in crate::job) fn read<T>(
        &self,
        name: &str,
        read: impl FnOnce(ConfigNode<'a>) -> Option<T>,
    ) -> Option<T> {
        self.node(name).and_then(read)
    }

    /// Returns the names of those fields that are present.
    pub(in crate::job) fn present(&self, names: &[&'static str]) -> Vec<&'static str> {
        names.iter().copied().filter(|name| self.table.contains_key(*name)).collect()
    }

    /// Records a mistake in the table as a whole, or in a field that it lacks.
    pub(in crate::job) fn refuse<T>(&self, name: &str, wrong: MistakeDetail) -> Option<T> {
        let field = if name.is_empty() { self.field.clone() } else { self.name(name) };
        self.page.refuse(self.place.clone(), &field, wrong);
        None
    }
}

impl<'a> ConfigNode<'a> {
    /// Reads a string.
    pub(in crate::job) fn text(&self) -> Option<&'a str> {
        match self.value {
            DeValue::String(text) => Some(text),
            _ => self.mistyped("a text in quotes"),
        }
    }

    /// Returns the value if it is a string; no other value is a mistake.
    pub(in crate::job) fn as_text(&self) -> Option<&'a str> {
        match self.value {
            DeValue::String(text) => Some(text),
            _ => None,
        }
    }

    /// Reads a string that is not empty.
    pub(in crate::job) fn non_empty_text(&self) -> Option<String> {
        let text = self.text()?;
        if text.is_empty() {
            self.refuse("an empty text", "a text of at least one character")
        } else {
            Some(text.into())
        }
    }

    /// Reads a number that is zero or more, from its text.
    pub(in crate::job) fn decimal(&self) -> Option<Decimal> {
        let text = self.number("a plain decimal number, without quotes")?;
        self.accept(Decimal::parse("number", text))
    }

    /// Reads a whole number from `least` to `most`.
    pub(in crate::job) fn whole(&self, least: u64, most: u64) -> Option<u64> {
        let range = format!("a whole number from {least} to {most}");
        if !matches!(self.value, DeValue::Integer(_)) {
            return self.mistyped(&range);
        }
        let text = self.number(&range)?;
        match Decimal::parse("number", text).map_err(|refused| refused.kind()).map(|decimal| decimal.to_u64())
        {
            Ok(Some(number)) if (least..=most).contains(&number) => Some(number),
            Ok(Some(0)) => self.refuse(InvalidKind::Zero.found(), range),
            Ok(_) => self.refuse(quoted(text), range),
            Err(kind) => self.refuse(kind.found(), range),
        }
    }

    /// Returns the text of a number as the file has it, never parsed as a float.
    pub(in crate::job) fn number(&self, needed: &str) -> Option<&'a str> {
        match self.value {
            DeValue::Integer(_) | DeValue::Float(_) => self.page.text.get(self.place.clone()),
            _ => self.mistyped(needed),
        }
    }

    /// Returns the text of a time, in quotes or not.
    pub(in crate::job) fn moment(&self) -> Option<&'a str> {
        match self.value {
            DeValue::Datetime(_) => self.page.text.get(self.place.clone()),
            DeValue::String(text) => Some(text),
            _ => self.mistyped("a time such as \"2003-05-01\" or \"2003-05-01T00:00:00Z\""),
        }
    }

    /// Returns the entries of a list.
    pub(in crate::job) fn list(&self) -> Option<Vec<ConfigNode<'a>>> {
        let DeValue::Array(entries) = self.value else { return self.mistyped("a list") };
        let entry = |(index, value): (usize, &'a toml::Spanned<DeValue<'a>>)| ConfigNode {
            page: self.page,
            field: format!("{}[{}]", self.field, index + 1),
            place: value.span(),
            value: value.get_ref(),
        };
        Some(entries.iter().enumerate().map(entry).collect())
    }

    /// Returns the entries of a table whose names are free.
    pub(in crate::job) fn entries(&self, needed: &str) -> Option<Vec<(&'a str, ConfigNode<'a>)>> {
        let DeValue::Table(table) = self.value else { return self.mistyped(needed) };
        let (page, field, place) = (self.page, self.field.clone(), self.place.clone());
        let table = TableNode { page, field, place, table, known: true };
        Some(
            table
                .table
                .iter()
                .filter_map(|(key, _)| Some((&**key.get_ref(), table.node(key.get_ref())?)))
                .collect(),
        )
    }

    /// Returns the entries with these names of a table whose own name is free; any other name is refused where it stands.
    pub(in crate::job) fn entries_named<const N: usize>(
        &self,
        known: [&'static str; N],
    ) -> Option<[Option<ConfigNode<'a>>; N]> {
        let entries = self.entries(&format!("a table of {}", listed(&known)))?;
        let mut right = true;
        for (name, _) in entries.iter().filter(|(name, _)| !known.contains(name)) {
            let wrong = MistakeDetail::new(MistakeKind::Unknown, "an unknown field", listed(&known));
            let wrong = MistakeDetail { meant: meant(name, &known).map(str::to_owned), ..wrong };
            let DeValue::Table(table) = self.value else { return None };
            let place = table.get_key_value(*name).map_or(self.place.clone(), |(key, _)| key.span());
            self.page.refuse(place, &format!("{}.{name}", self.field), wrong);
            right = false;
        }
        let named = |name: &str| entries.iter().find(|(own, _)| *own == name).map(|(_, node)| node.clone());
        right.then(|| known.map(named))
    }

    /// Reads a boolean.
    pub(in crate::job) fn boolean(&self) -> Option<bool> {
        match self.value {
            DeValue::Boolean(is_so) => Some(*is_so),
            _ => self.mistyped("true or false"),
        }
    }

    /// Returns true if the value is a list.
    pub(in crate::job) fn is_list(&self) -> bool {
        matches!(self.value, DeValue::Array(_))
    }

    /// Returns true if the value is a table.
    pub(in crate::job) fn is_table(&self) -> bool {
        matches!(self.value, DeValue::Table(_))
    }

    /// Returns true if the value is a table with this field.
    pub(in crate::job) fn has(&self, name: &str) -> bool {
        matches!(self.value, DeValue::Table(table) if table.contains_key(name))
    }

    /// Reads a table with these fields and no others.
    pub(in crate::job) fn fields(
        &self,
        required: &[&'static str],
        optional: &[&'static str],
    ) -> Option<TableNode<'a>> {
        let DeValue::Table(table) = self.value else {
            let known: Vec<&str> = required.iter().chain(optional).copied().collect();
            return self.mistyped(&format!("a table of {}", listed(&known)));
        };
        let (page, field, place) = (self.page, self.field.clone(), self.place.clone());
        Some(TableNode { page, field, place, table, known: true }.checked(required, optional))
    }

    /// Returns the meaning of a word.
    pub(in crate::job) fn one_of<T: Clone>(&self, words: &[(&'static str, T)]) -> Option<T> {
        if cfg!(test) {
            let row = grammar::row(&self.field);
            let has_these = row.is_some_and(|row| row.words.iter().eq(words.iter().map(|(word, _)| word)));
            assert!(has_these, "{}: other words than in JOB_FIELDS", self.field);
        }
        let text = self.text()?;
        if let Some((_, meaning)) = words.iter().find(|(word, _)| *word == text) {
            return Some(meaning.clone());
        }
        let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        self.record_mistake(MistakeDetail::unknown_word(text, &known))
    }

    /// Returns the value that a parser made of the text, or records the parser's refusal.
    pub(in crate::job) fn accept<T>(&self, result: Result<T, Invalid>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(invalid) => self.refuse(invalid.found(), invalid.remedy()),
        }
    }

    /// Does what [`ConfigNode::accept`] does, for a text of several words, one of which may be misspelt.
    pub(in crate::job) fn accept_words<T>(&self, result: Result<T, Invalid>, known: &[&str]) -> Option<T> {
        let DeValue::String(text) = self.value else { return self.accept(result) };
        let Err(invalid) = result else { return self.accept(result) };
        let letters = |word: &&str| !word.is_empty() && !known.contains(word);
        let unknown = text.split([' ', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']).filter(letters);
        let meant = meant(text, known).or_else(|| unknown.filter_map(|word| meant(word, known)).next());
        let wrong = MistakeDetail::new(MistakeKind::Value, invalid.found(), invalid.remedy());
        self.record_mistake(MistakeDetail { meant: meant.map(str::to_owned), ..wrong })
    }

    /// Returns the value at the path `names`, or its nearest ancestor that exists: mistakes about it are
    /// reported there.
    pub(in crate::job) fn descendant(&self, names: &[&str]) -> ConfigNode<'a> {
        let next = names.split_first().and_then(|(name, rest)| {
            let DeValue::Table(table) = self.value else { return None };
            let (page, field, place) = (self.page, self.field.clone(), self.place.clone());
            TableNode { page, field, place, table, known: true }.node(name).map(|node| node.descendant(rest))
        });
        next.unwrap_or_else(|| self.clone())
    }

    /// Refuses a value that is out of range or does not follow its grammar.
    pub(in crate::job) fn refuse<T>(&self, found: impl Into<String>, remedy: impl Into<String>) -> Option<T> {
        self.record_mistake(MistakeDetail::new(MistakeKind::Value, found, remedy))
    }

    /// Refuses a value that contradicts another.
    pub(in crate::job) fn conflict<T>(
        &self,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Option<T> {
        self.record_mistake(MistakeDetail::new(MistakeKind::Conflict, found, remedy))
    }

    pub(in crate::job) fn record_mistake<T>(&self, wrong: MistakeDetail) -> Option<T> {
        self.page.refuse(self.place.clone(), &self.field, wrong);
        None
    }

    /// Records that the value is of another type than is needed.
    pub(in crate::job) fn mistyped<T>(&self, needed: &str) -> Option<T> {
        let found = match self.value {
            DeValue::String(_) => "a text",
            DeValue::Integer(_) => "a whole number",
            DeValue::Float(_) => "a number",
            DeValue::Boolean(_) => "true or false",
            DeValue::Datetime(_) => "a time",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        };
        self.record_mistake(MistakeDetail::new(MistakeKind::Type, found, needed))
    }
}
