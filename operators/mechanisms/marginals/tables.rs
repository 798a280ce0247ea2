//! The public part of marginals: attributes with their categories, the tables that are wanted, and the cells of them.

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::accounting::shape::{Attributes, Marginals};
use crate::canonical::Canonical;
use crate::invalid::{Invalid, InvalidKind};
use crate::mechanisms::keys::{Key, Label};

/// An attribute of a record, with its categories.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribute {
    name: String,
    categories: Vec<String>,
    places: HashMap<String, usize>,
    other: Option<usize>,
}

impl Attribute {
    /// The category of all texts that are none of the others, where it is listed.
    pub const OTHER: &'static str = "other";

    /// The character between the name of an attribute and a category, where a cell is released.
    const BETWEEN: char = '=';

    /// Creates an attribute with its categories, in the order in which they are released. A text that is no category is of the
    /// category [`OTHER`](Attribute::OTHER), where that is listed; without it, its record counts in no table.
    ///
    /// # Errors
    /// Names `attribute` where the name is empty or has an equals sign; `categories` where there are fewer than two, or one is there
    /// twice.
    pub fn new(
        name: impl Into<String>,
        categories: impl IntoIterator<Item = impl Into<String>>,
    ) -> Result<Attribute, Invalid> {
        let name = name.into();
        if name.is_empty() || name.contains(Attribute::BETWEEN) {
            let kind = if name.is_empty() { InvalidKind::Empty } else { InvalidKind::Malformed };
            return Err(Invalid::new("attribute", kind, "a name without an equals sign"));
        }
        let categories: Vec<String> = categories.into_iter().map(Into::into).collect();
        if categories.len() < 2 {
            return Err(Invalid::new("categories", InvalidKind::TooSmall, "two categories or more"));
        }
        let places: HashMap<String, usize> = categories.iter().cloned().zip(0..).collect();
        if places.len() < categories.len() {
            return Err(Invalid::new("categories", InvalidKind::Mixed, "each category once"));
        }
        let other = places.get(Attribute::OTHER).copied();
        Ok(Attribute { name, categories, places, other })
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The categories, in the order in which they are released.
    pub fn categories(&self) -> &[String] {
        &self.categories
    }

    /// Returns the text of a category in the key of a cell.
    fn text(&self, category: &str) -> String {
        format!("{}{}{category}", self.name, Attribute::BETWEEN)
    }

    /// Returns the place of the category of a text.
    fn place(&self, text: &str) -> Option<usize> {
        self.places.get(text).copied().or(self.other)
    }
}

/// The tables that are wanted together, each of some attributes.
#[derive(Clone, Debug, PartialEq)]
pub struct MarginalTables {
    attributes: Arc<[Attribute]>,
    workload: Marginals,
}

impl MarginalTables {
    /// States the attributes, and the names of those of each table; a table of none is the number of all records. The attributes of a
    /// cell are in the order in which they are stated here.
    ///
    /// # Errors
    /// Names `attributes` where there are none or more than 16, or a name is there twice; `tables` where there are none or more than
    /// 1,000, where one is there twice or has an attribute that is not stated, where no table has an attribute, or where they have more
    /// than 2^20 cells.
    pub fn new(
        attributes: impl IntoIterator<Item = Attribute>,
        tables: &[&[&str]],
    ) -> Result<MarginalTables, Invalid> {
        let attributes: Arc<[Attribute]> = attributes.into_iter().collect();
        let refused = |field, kind, remedy| Err(Invalid::new(field, kind, remedy));
        let place = |name: &str| attributes.iter().position(|attribute| attribute.name == name);
        if !attributes.iter().enumerate().all(|(at, attribute)| place(&attribute.name) == Some(at)) {
            return refused("attributes", InvalidKind::Mixed, "each attribute once");
        }
        let places = |table: &&[&str]| table.iter().map(|name| place(name)).collect::<Option<Vec<usize>>>();
        let Some(placed) = tables.iter().map(places).collect::<Option<Vec<_>>>() else {
            return refused("tables", InvalidKind::Mixed, "attributes that have categories");
        };
        // One that is in no table would decide which records count.
        if (0..attributes.len()).any(|at| !placed.iter().flatten().any(|used| *used == at)) {
            return refused("attributes", InvalidKind::Mixed, "attributes that are in a table");
        }
        let sizes: Vec<u64> = attributes.iter().map(|attribute| attribute.categories.len() as u64).collect();
        let sets: Vec<&[usize]> = placed.iter().map(Vec::as_slice).collect();
        let workload = Marginals::new(&sizes, &sets).map_err(|refused| match refused.field() {
            "sizes" => Invalid::new("attributes", refused.kind(), "1 to 16 attributes"),
            _ => refused,
        })?;
        Ok(MarginalTables { attributes, workload })
    }

    /// The attributes.
    pub fn attributes(&self) -> &[Attribute] {
        &self.attributes
    }

    /// The tables as sets of attributes, with the parts of the price for which they err least.
    pub fn workload(&self) -> &Marginals {
        &self.workload
    }

    /// Returns the names of the attributes of each table.
    pub fn names(&self) -> Vec<Vec<&str>> {
        let names = |table: &Attributes| table.iter().map(|at| self.attributes[at].name()).collect();
        self.workload.tables().iter().map(names).collect()
    }

    /// Returns the number of cells of each table.
    pub fn sizes(&self) -> Vec<usize> {
        self.workload.tables().iter().map(|table| self.categories(*table).iter().product()).collect()
    }

    /// Returns the numbers of categories of these attributes.
    pub(super) fn categories(&self, of: Attributes) -> Vec<usize> {
        of.iter().map(|at| self.attributes[at].categories.len()).collect()
    }

    /// Returns the categories of a key with a text for each attribute, in their order; `None` if it counts in no table.
    pub(crate) fn combination<K: Key>(&self, key: &K) -> Option<Vec<&str>> {
        self.each_of(key, |attribute, text| Some(attribute.categories[attribute.place(text)?].as_str()))
    }

    /// Returns the cells of all tables that count the records of a key.
    #[cfg(feature = "cli")]
    pub(crate) fn cells_of<K: Key>(&self, key: &K) -> Vec<MarginalCell> {
        let Some(categories) = self.combination(key) else { return Vec::new() };
        let text = |at: usize| self.attributes[at].text(categories[at]);
        let cell = |table: &Attributes| MarginalCell(table.iter().map(text).collect());
        self.workload.tables().iter().map(cell).collect()
    }

    /// Returns the place of each attribute's category, of a [combination](MarginalTables::combination). Another key has none: of two
    /// keys that are the same combination one would count in the cells of the other.
    pub(super) fn places_of_combination<K: Key>(&self, key: &K) -> Option<Vec<usize>> {
        self.each_of(key, |attribute, text| attribute.places.get(text).copied())
    }

    /// Asks each attribute for something of its text in a key; `None` if there are other texts than one for each.
    fn each_of<'t, K: Key, T>(
        &'t self,
        key: &K,
        of: impl Fn(&'t Attribute, &str) -> Option<T>,
    ) -> Option<Vec<T>> {
        let texts = match key.label() {
            Label::Texts(texts) => texts,
            Label::Text(text) => vec![text],
            Label::Number(number) => vec![number.to_string().into()],
            Label::Whole => Vec::new(),
        };
        let is_of_each = texts.len() == self.attributes.len();
        let each =
            || self.attributes.iter().zip(&texts).map(|(attribute, text)| of(attribute, text)).collect();
        is_of_each.then(each).flatten()
    }

    /// Returns the cells of all tables, in the order of the tables and of the categories.
    pub fn cells(&self) -> Vec<MarginalCell> {
        let mut cells = Vec::new();
        for table in self.workload.tables() {
            let attributes: Vec<&Attribute> = table.iter().map(|at| &self.attributes[at]).collect();
            let mut texts: Vec<Vec<String>> = vec![Vec::new()];
            for attribute in attributes {
                let longer = |text: &Vec<String>| {
                    let longer = |category: &String| [&text[..], &[attribute.text(category)]].concat();
                    attribute.categories.iter().map(longer).collect::<Vec<_>>()
                };
                texts = texts.iter().flat_map(longer).collect();
            }
            cells.extend(texts.into_iter().map(|texts| MarginalCell(texts.into())));
        }
        cells
    }

    /// Writes everything that is stated.
    pub(super) fn canonical(&self, form: Canonical) -> Canonical {
        let count = |form: Canonical, many: usize| form.bytes(&(many as u64).to_be_bytes());
        let form = self.attributes.iter().fold(count(form, self.attributes.len()), |form, attribute| {
            let form = count(form.text(&attribute.name), attribute.categories.len());
            attribute.categories.iter().fold(form, |form, category| form.text(category))
        });
        self.workload
            .tables()
            .iter()
            .fold(form, |form, table| table.iter().fold(count(form, table.iter().count()), count))
    }
}

/// So that `MarginalTables::new(..)` stands where tables are asked for, and what is wrong with them is said there.
impl TryFrom<Result<MarginalTables, Invalid>> for MarginalTables {
    type Error = Invalid;

    fn try_from(tables: Result<MarginalTables, Invalid>) -> Result<MarginalTables, Invalid> {
        tables
    }
}

/// A cell of a table: a category of each of its attributes, as `country=DE`. The number of all records has none.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "Vec<String>", into = "Vec<String>")]
pub struct MarginalCell(Arc<[String]>);

impl MarginalCell {
    /// Returns the attributes with their categories.
    pub fn categories(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().filter_map(|text| text.split_once(Attribute::BETWEEN))
    }
}

impl From<Vec<String>> for MarginalCell {
    fn from(texts: Vec<String>) -> MarginalCell {
        MarginalCell(texts.into())
    }
}

impl From<MarginalCell> for Vec<String> {
    fn from(cell: MarginalCell) -> Vec<String> {
        cell.0.to_vec()
    }
}

/// Released as a list of texts, `["country=DE","device=phone"]`.
impl Key for MarginalCell {
    fn to_bytes(&self) -> Vec<u8> {
        texts_to_bytes(&self.0)
    }

    fn from_bytes(bytes: &[u8]) -> Option<MarginalCell> {
        texts_from_bytes(bytes).map(MarginalCell::from)
    }

    fn label(&self) -> Label<'_> {
        if self.0.is_empty() {
            Label::Whole
        } else {
            Label::Texts(self.0.iter().map(|text| text.into()).collect())
        }
    }

    fn from_label(label: &Label<'_>) -> Option<MarginalCell> {
        match label {
            Label::Whole => Some(MarginalCell(Arc::new([]))),
            Label::Texts(texts) => Some(texts.iter().map(ToString::to_string).collect::<Vec<_>>().into()),
            _ => None,
        }
    }
}

/// A key of several texts, such as those of the attributes of a record. A record of no texts counts nowhere.
impl Key for Vec<String> {
    fn to_bytes(&self) -> Vec<u8> {
        texts_to_bytes(self)
    }

    fn from_bytes(bytes: &[u8]) -> Option<Vec<String>> {
        texts_from_bytes(bytes)
    }

    fn is_absent(&self) -> bool {
        self.is_empty()
    }

    fn label(&self) -> Label<'_> {
        if self.is_empty() {
            Label::Whole
        } else {
            Label::Texts(self.iter().map(|text| text.into()).collect())
        }
    }

    fn from_label(label: &Label<'_>) -> Option<Vec<String>> {
        match label {
            Label::Whole => Some(Vec::new()),
            Label::Texts(texts) => Some(texts.iter().map(ToString::to_string).collect()),
            _ => None,
        }
    }
}

/// Each text with its length before it.
fn texts_to_bytes(texts: &[String]) -> Vec<u8> {
    let bytes = |text: &String| [&(text.len() as u64).to_be_bytes(), text.as_bytes()].concat();
    texts.iter().flat_map(bytes).collect()
}

fn texts_from_bytes(mut bytes: &[u8]) -> Option<Vec<String>> {
    let mut texts = Vec::new();
    while !bytes.is_empty() {
        let (length, rest) = bytes.split_first_chunk()?;
        let (text, rest) = rest.split_at_checked(usize::try_from(u64::from_be_bytes(*length)).ok()?)?;
        texts.push(str::from_utf8(text).ok()?.to_owned());
        bytes = rest;
    }
    Some(texts)
}
