//! Edits of a job file: declaring the fields of its source.

use toml::de::{DeTable, DeValue};

use super::told::text as quoted;

/// The longest line of a list, in bytes.
const WIDTH: usize = 110;

/// Returns the text of a job file with these fields declared in its `[source]`, and nothing else changed;
/// `None` if the table is not written with one field a line.
pub fn declare_fields(text: &str, fields: &[String]) -> Option<String> {
    let table = DeTable::parse(text).ok()?;
    let DeValue::Table(source) = table.get_ref().get("source")?.get_ref() else { return None };
    let list = list(fields);
    if let Some((_, value)) = source.get_key_value("fields") {
        let place = value.span();
        return Some(format!("{}{list}{}", text.get(..place.start)?, text.get(place.end..)?));
    }
    let (key, _) = source.get_key_value("type")?;
    let start = key.span().start;
    let line = text.get(..start)?.rfind('\n').map_or(0, |newline| newline + 1);
    if !text.get(line..start)?.trim().is_empty() {
        return None;
    }
    let end = text.get(start..)?.find('\n').map_or(text.len(), |newline| start + newline);
    Some(format!("{}\nfields = {list}{}", text.get(..end)?, text.get(end..)?))
}

/// Formats a list over as many lines as it needs.
fn list(fields: &[String]) -> String {
    let mut list = "[".to_owned();
    let mut width = list.len() + "fields = ".len();
    for (at, field) in fields.iter().enumerate() {
        let field = quoted(field);
        let separator = if at == 0 { "" } else { ", " };
        if at > 0 && width + separator.len() + field.len() >= WIDTH {
            list += ",\n    ";
            width = 4;
        } else {
            list += separator;
            width += separator.len();
        }
        width += field.len();
        list += &field;
    }
    list + "]"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    // Refutes a list that is inserted elsewhere, and a change of anything else.
    #[test]
    fn fields_are_declared_behind_the_type_or_in_the_place_of_those_before() {
        let before = "[job]\nname = \"x\" # type = 1\n\n[source]\ntype = \"jsonl\"   # a log\npath = \"a\"\n";
        let after = before.replace("# a log\n", "# a log\nfields = [\"a\", \"b.c\\\"\"]\n");
        assert_eq!(declare_fields(before, &fields(&["a", "b.c\""])).as_deref(), Some(after.as_str()));
        let again = after.replace("[\"a\", \"b.c\\\"\"]", "[\"d\"]");
        assert_eq!(declare_fields(&after, &fields(&["d"])).as_deref(), Some(again.as_str()));
        for inline in ["source = { type = \"jsonl\" }\n", "source.type = \"jsonl\"\n", "[job]\n", "[source"] {
            assert_eq!(declare_fields(inline, &fields(&["a"])), None, "{inline}");
        }
        let many: Vec<String> = (0..200).map(|number| format!("field-{number}")).collect();
        let long = declare_fields(before, &many).unwrap();
        assert!(long.lines().all(|line| line.len() <= WIDTH + 1), "{long}");
        assert!(DeTable::parse(&long).is_ok() && long.matches("\"field-").count() == 200);
    }
}
