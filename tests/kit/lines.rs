//! Lines of releases, read from JSON or CSV.

use std::collections::BTreeMap;

use serde_json::Value;

/// A window of a release: its name, and the start and end of the window as they are written.
pub(crate) type Window = (String, String, String);

/// A cell of a window: its key, with the quantile if it has one.
pub(crate) type CellKey = String;

/// The name of the questions of analysts: each line of it is an answer, whose closing line follows.
pub(crate) const ANSWERS: &str = "study";

/// The windows of a file of releases.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Lines {
    /// The cells of each window that has its closing line.
    pub(crate) closed: BTreeMap<Window, BTreeMap<CellKey, Cell>>,
    /// The windows that were refused, skipped or lost, with their status.
    pub(crate) others: BTreeMap<Window, String>,
    /// The answers of the release [`ANSWERS`] by the analyst and the id, in one text.
    pub(crate) answers: BTreeMap<CellKey, Cell>,
}

/// One released value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Cell {
    pub(crate) value: String,
    pub(crate) id: String,
    /// The exact number after contribution bounding and before it, in a demonstration.
    pub(crate) exact: Option<(String, String)>,
}

impl Lines {
    /// Parses whole lines; returns the fault of the first malformed one. A torn window at the end is a fault
    /// unless `torn` is set.
    pub(crate) fn of(text: &str, is_csv: bool, torn: bool) -> Result<Lines, String> {
        let text = match text.rsplit_once('\n') {
            Some((_, rest)) if !torn && !rest.is_empty() => return Err(format!("a torn line: {rest}")),
            Some((whole, _)) => whole,
            None if torn || text.is_empty() => "",
            None => return Err(format!("a torn line: {text}")),
        };
        let mut lines = Lines::default();
        let mut open: Option<(Window, BTreeMap<CellKey, Cell>)> = None;
        let read = if is_csv { csv_rows(text)? } else { json_rows(text)? };
        for Row { window, key, cell, status, cells } in read {
            if open.as_ref().is_some_and(|(about, _)| *about != window) {
                return Err(format!("a line of {window:?} among those of another window"));
            }
            if window.0 == ANSWERS && status == "value" {
                if lines.answers.insert(key.clone(), cell).is_some() {
                    return Err(format!("two answers to {key:?}"));
                }
                continue;
            }
            // Each line of a question that was not answered has the window of all of them.
            if window.0 == ANSWERS {
                continue;
            }
            if lines.closed.contains_key(&window) || lines.others.contains_key(&window) {
                return Err(format!("{window:?} twice"));
            }
            match status.as_str() {
                "value" => {
                    let (_, row) = open.get_or_insert_with(|| (window.clone(), BTreeMap::new()));
                    if row.insert(key.clone(), cell).is_some() {
                        return Err(format!("{window:?}: two values of key {key:?}"));
                    }
                }
                "closed" => {
                    let row = open.take().map(|(_, row)| row).unwrap_or_default();
                    if cells != Some(row.len()) {
                        return Err(format!("{window:?}: {} values, and {cells:?} at its end", row.len()));
                    }
                    lines.closed.insert(window, row);
                }
                other => {
                    lines.others.insert(window, other.to_owned());
                }
            }
        }
        match open {
            Some((window, _)) if !torn => Err(format!("{window:?} without its closing line")),
            _ => Ok(lines),
        }
    }
}

struct Row {
    window: Window,
    key: CellKey,
    cell: Cell,
    status: String,
    cells: Option<usize>,
}

fn json_rows(text: &str) -> Result<Vec<Row>, String> {
    let row = |line: &str| {
        let line: Value = serde_json::from_str(line).map_err(|error| format!("{error}: {line}"))?;
        let text = |value: &Value| match value {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            Value::Array(parts) => parts.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "),
            other => other.to_string(),
        };
        let status = ["refused", "skipped", "lost"].into_iter().find(|word| line.get(word).is_some());
        let status = match (status, &line["closed"]) {
            (Some(word), _) => word,
            (None, Value::Bool(true)) => "closed",
            _ if line.get("value").is_some() || line.get("insufficient").is_some() => "value",
            _ => return Err(format!("a line of no known kind: {line}")),
        };
        let window = &line["window"];
        Ok(Row {
            window: (text(&line["release"]), text(&window["start"]), text(&window["end"])),
            key: match line["question"].as_str() {
                Some(id) => format!("{} {id}", text(&line["analyst"])),
                None => text(&line["key"]) + &text(&line["q"]),
            },
            cell: Cell {
                value: text(&line["value"]),
                id: text(&line["id"]),
                exact: line.get("tally").map(|tally| (text(tally), text(&line["truth"]))),
            },
            status: status.to_owned(),
            cells: line["cells"].as_u64().and_then(|cells| usize::try_from(cells).ok()),
        })
    };
    text.lines().map(row).collect()
}

fn csv_rows(text: &str) -> Result<Vec<Row>, String> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header = reader.headers().map_err(|error| error.to_string())?.clone();
    let row = |record: Result<csv::StringRecord, csv::Error>| {
        let record = record.map_err(|error| error.to_string())?;
        let at = |name: &str| {
            let place = header.iter().position(|column| column == name);
            place.and_then(|place| record.get(place)).unwrap_or_default().to_owned()
        };
        Ok(Row {
            window: (at("release"), at("start"), at("end")),
            key: at("key") + &at("q"),
            cell: Cell {
                value: at("value"),
                id: at("id"),
                exact: header.iter().any(|column| column == "tally").then(|| (at("tally"), at("truth"))),
            },
            status: at("status"),
            cells: at("cells").parse().ok(),
        })
    };
    reader.records().map(row).collect()
}
