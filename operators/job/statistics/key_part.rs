//! The parts of a key, `by`: fields of a record, intervals of numbers, and the beginnings of paths.

use crate::job::config::{ConfigNode, ConfigNumber, list, text};
use crate::job::expression::bin_names;

/// The most parts of a key.
const MOST: usize = 8;
/// The most edges of a part.
const EDGES: usize = 1_000;
/// The most segments of a path.
const SEGMENTS: u64 = 1_000;

/// The character between the parts of a key in one text. A record whose field holds it does not count.
pub(crate) const BETWEEN_PARTS: char = '\u{1f}';

/// A part of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyPart {
    /// The text of a field.
    Field(String),
    /// The interval between two edges that a number is in.
    Bins {
        /// The field.
        of: String,
        /// The edges, in ascending order.
        edges: Vec<ConfigNumber>,
    },
    /// The first segments of a path.
    Prefix {
        /// The field.
        of: String,
        /// The number of segments.
        depth: u32,
    },
}

impl KeyPart {
    /// Returns the name of the field that it is made of.
    pub fn of(&self) -> &str {
        match self {
            KeyPart::Field(of) | KeyPart::Bins { of, .. } | KeyPart::Prefix { of, .. } => of,
        }
    }

    /// Returns the expression of its text, which is also the name of a derived field; `None` for a field as it is.
    pub(crate) fn expression(&self) -> Option<String> {
        match self {
            KeyPart::Field(_) => None,
            KeyPart::Bins { of, edges } => {
                let edges: Vec<String> = edges.iter().map(ToString::to_string).collect();
                Some(format!("bin {{{}}} of `{of}`", edges.join(", ")))
            }
            KeyPart::Prefix { of, depth } => Some(format!("depth {depth} of `{of}`")),
        }
    }

    /// Returns the name of the field that has its text.
    pub(crate) fn field(&self) -> String {
        self.expression().unwrap_or_else(|| self.of().to_owned())
    }

    /// Returns the texts that it can have, if they are known: the intervals, in their order.
    pub(crate) fn texts(&self) -> Option<Vec<String>> {
        let KeyPart::Bins { edges, .. } = self else { return None };
        bin_names(&edges.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    fn stated(&self) -> String {
        match self {
            KeyPart::Field(of) => text(of),
            KeyPart::Bins { of, edges } => format!("{{ of = {}, edges = {} }}", text(of), list(edges)),
            KeyPart::Prefix { of, depth } => format!("{{ of = {}, depth = {depth} }}", text(of)),
        }
    }

    fn described(&self) -> String {
        match self {
            KeyPart::Field(of) => of.clone(),
            KeyPart::Bins { of, .. } => format!("interval of {of}"),
            KeyPart::Prefix { of, depth: 1 } => format!("first segment of {of}"),
            KeyPart::Prefix { of, depth } => format!("first {depth} segments of {of}"),
        }
    }
}

/// Returns the parts as a job file states them: one part by itself, several in a list.
pub(super) fn stated(parts: &[KeyPart]) -> String {
    match parts {
        [part] => part.stated(),
        parts => list(&parts.iter().map(KeyPart::stated).collect::<Vec<_>>()),
    }
}

/// Returns the parts in words.
pub(super) fn described(parts: &[KeyPart]) -> String {
    parts.iter().map(KeyPart::described).collect::<Vec<_>>().join(" and ")
}

/// Reads the parts of a key.
pub(super) fn read(node: &ConfigNode<'_>) -> Option<Vec<KeyPart>> {
    if !node.is_list() {
        return part(node).map(|part| vec![part]);
    }
    let nodes = node.list()?;
    if nodes.is_empty() || nodes.len() > MOST {
        return node.refuse("a list of another length", "1 to 8 fields");
    }
    // All are read before any is missed, so that each mistake is reported.
    let parts: Vec<Option<KeyPart>> = nodes.iter().map(part).collect();
    let parts: Vec<KeyPart> = parts.into_iter().collect::<Option<_>>()?;
    for (at, node) in nodes.iter().enumerate() {
        if let Some(first) = parts.iter().take(at).position(|other| *other == parts[at]) {
            return node.conflict(format!("part {} of the key again", first + 1), "each part once");
        }
    }
    Some(parts)
}

fn part(node: &ConfigNode<'_>) -> Option<KeyPart> {
    if !node.is_table() {
        return node.non_empty_text().map(KeyPart::Field);
    }
    let fields = node.fields(&["of"], &["edges", "depth"])?;
    let of = fields.read("of", |node| match node.non_empty_text()? {
        of if of.contains('`') => {
            node.refuse("a name with a backquote", "a field without one, such as a derived one")
        }
        of => Some(of),
    });
    let part = match (fields.node("edges"), fields.node("depth")) {
        (Some(_), Some(depth)) => {
            depth.conflict("a depth beside edges", "either edges, of a number, or depth, of a path")
        }
        (None, None) => node.conflict("neither edges nor depth", "edges, of a number, or depth, of a path"),
        (Some(node), None) => edges(&node).map(|edges| KeyPart::Bins { of: String::new(), edges }),
        (None, Some(node)) => {
            let depth = node.whole(1, SEGMENTS).and_then(|depth| u32::try_from(depth).ok());
            depth.map(|depth| KeyPart::Prefix { of: String::new(), depth })
        }
    };
    let name = of?;
    part.map(|part| match part {
        KeyPart::Bins { edges, .. } => KeyPart::Bins { of: name, edges },
        KeyPart::Prefix { depth, .. } => KeyPart::Prefix { of: name, depth },
        KeyPart::Field(_) => KeyPart::Field(name),
    })
}

fn edges(node: &ConfigNode<'_>) -> Option<Vec<ConfigNumber>> {
    let read =
        |entry: &ConfigNode<'_>| entry.accept(ConfigNumber::parse(entry.number("a number, without quotes")?));
    let edges: Vec<Option<ConfigNumber>> = node.list()?.iter().map(read).collect();
    let edges: Vec<ConfigNumber> = edges.into_iter().collect::<Option<_>>()?;
    match edges.len() {
        1..=EDGES if edges.windows(2).all(|pair| pair[0] < pair[1]) => Some(edges),
        1..=EDGES => node.refuse("edges that do not rise", "edges, each above the one before"),
        _ => node.refuse("a list of another length", "1 to 1,000 edges"),
    }
}
