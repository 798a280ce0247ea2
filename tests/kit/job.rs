//! The text of a job file, composed of fields.

/// A job file with up to three releases: tables with their fields, each value as TOML.
#[derive(Clone, Debug, Default)]
pub(crate) struct JobText(Vec<(String, Vec<(String, String)>)>);

impl JobText {
    /// Sets a field of a table: `set("source.order", "\"any\"")`. An inner table is one value.
    pub(crate) fn set(&mut self, path: &str, value: impl Into<String>) -> &mut JobText {
        let (table, field) = path.split_once('.').unwrap();
        let at = self.0.iter().position(|(name, _)| *name == table).unwrap_or_else(|| {
            self.0.push((table.to_owned(), Vec::new()));
            self.0.len() - 1
        });
        let fields = &mut self.0[at].1;
        fields.retain(|(name, _)| name != field);
        fields.push((field.to_owned(), value.into()));
        self
    }

    /// Sets a field to a text in quotes.
    pub(crate) fn text(&mut self, path: &str, value: &str) -> &mut JobText {
        self.set(path, format!("\"{value}\""))
    }
}

impl std::fmt::Display for JobText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (table, fields) in &self.0 {
            match table.as_str() {
                "release" | "second" | "third" => writeln!(f, "[[release]]")?,
                "ask" => writeln!(f, "[[ask]]")?,
                table => writeln!(f, "[{table}]")?,
            }
            for (name, value) in fields {
                writeln!(f, "{name} = {value}")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

/// An inline table of the given parts.
pub(crate) fn inline(parts: &[(&str, Option<String>)]) -> String {
    let said: Vec<String> =
        parts.iter().filter_map(|(name, value)| Some(format!("{name} = {}", value.as_ref()?))).collect();
    if said.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", said.join(", ")) }
}

pub(crate) fn quoted(text: &str) -> String {
    format!("\"{text}\"")
}
