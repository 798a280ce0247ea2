//! The table of `docs/VERSIONS.md`, as it is printed there.

use crate::edit::Edit;

/// The outcome of an edit under the same version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The edit is refused, and a new version is demanded.
    Version,
    /// The edit is refused, and a new account is demanded.
    Account,
    /// The edit is refused for the content of the ledger, or its lack.
    Refused,
    /// The same lines, at no cost.
    Harmless,
    /// New releases, which are charged.
    Anew,
}

pub(crate) struct Table(Vec<(String, String, Outcome)>);

impl Table {
    pub(crate) fn read() -> Table {
        let page = include_str!("../../docs/VERSIONS.md");
        let mut rows = Vec::new();
        for line in page.lines().filter(|line| line.starts_with("| `")) {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            let outcome = match cells[3] {
                "new version" => Outcome::Version,
                "new account" => Outcome::Account,
                "refused" => Outcome::Refused,
                "same lines" => Outcome::Harmless,
                "anew" => Outcome::Anew,
                other => panic!("{line}: {other} is no outcome"),
            };
            // Statistics that have a field in common share a row.
            for field in cells[1].split(", ") {
                rows.push((field.trim_matches('`').to_owned(), cells[2].to_owned(), outcome));
            }
        }
        for (index, row) in rows.iter().enumerate() {
            let same = |other: &&(String, String, Outcome)| (&other.0, &other.1) == (&row.0, &row.1);
            assert!(rows[..index].iter().find(same).is_none(), "{row:?} is there twice");
        }
        Table(rows)
    }

    /// The rows: fields, and the change to each.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(field, change, _)| (&field[..], &change[..]))
    }

    pub(crate) fn due(&self, edit: &Edit) -> Outcome {
        let row =
            self.0.iter().find(|(field, change, _)| (&field[..], &change[..]) == (edit.field, edit.change));
        row.unwrap_or_else(|| panic!("docs/VERSIONS.md has no row for {} {}", edit.field, edit.change)).2
    }
}
