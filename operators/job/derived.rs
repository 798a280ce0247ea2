//! The derived fields of a job, `[fields]`: values of each record, made of its other fields.

use std::sync::Arc;

use super::expression::{Expression, KnownFields, ValueKind};

/// A field that is made of others.
#[derive(Clone, Debug, PartialEq)]
pub struct DerivedField {
    /// The name of the field.
    pub name: String,
    /// The expression that makes it.
    pub expression: Expression,
}

impl DerivedField {
    /// Returns the path of the field in a job file, in which a column of a table has no expression.
    pub(in crate::job) fn path(&self) -> String {
        let table = if self.expression.is_stated() { "fields" } else { "tables" };
        format!("{table}.{}", self.name)
    }
}

/// The derived fields of a job, each behind those that it is made of.
///
/// A derived field hides a field of the source that has its name, except from its own expression. So none of them is made of itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DerivedFields(Vec<Arc<DerivedField>>);

impl DerivedFields {
    /// Appends a field that is made of those before it, unless it is there.
    pub(in crate::job) fn push(&mut self, field: DerivedField) {
        if self.get(&field.name).is_none() {
            self.0.push(Arc::new(field));
        }
    }

    /// Returns the field of this name.
    pub fn get(&self, name: &str) -> Option<&Arc<DerivedField>> {
        self.0.iter().find(|field| field.name == name)
    }

    /// Returns the fields, each behind those that it is made of.
    pub fn iter(&self) -> impl Iterator<Item = &DerivedField> {
        self.0.iter().map(|field| &**field)
    }

    /// Returns the derived fields among these, and those that they are made of, each behind those that it is made of.
    pub(in crate::job) fn all_behind(&self, names: &[&str]) -> Vec<&DerivedField> {
        let mut wanted: Vec<&str> = names.to_vec();
        let mut found = Vec::new();
        // A field is behind those that it is made of, so one way back finds them all.
        for field in self.0.iter().rev() {
            if wanted.contains(&&*field.name) {
                wanted.extend(field.expression.fields().filter(|of| *of != field.name));
                found.push(&**field);
            }
        }
        found.reverse();
        found
    }
}

/// The names of the fields that an expression or a condition may have.
#[derive(Clone, Copy, Debug)]
pub(in crate::job) struct FieldNames<'n> {
    /// The derived fields.
    pub(in crate::job) derived: &'n DerivedFields,
    /// The name of the field of the record's time, if it has one.
    pub(in crate::job) time: Option<&'n str>,
}

impl KnownFields for FieldNames<'_> {
    fn kind(&self, name: &str) -> Option<ValueKind> {
        self.derived.get(name).map(|field| field.expression.kind())
    }

    fn is_time(&self, name: &str) -> bool {
        self.time == Some(name)
    }
}
