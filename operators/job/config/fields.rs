//! `[fields]`: the derived fields, each a name with its expression; and the columns of `[tables]`, which are others.

use super::node::ConfigNode;
use super::tables::TableSpec;
use crate::job::derived::{DerivedField, DerivedFields, FieldNames};
use crate::job::expression::Expression;

/// The most derived fields of a job.
const MOST: usize = 256;

/// A field that waits for those that it is made of.
struct Waiting<'n> {
    name: String,
    /// The place of a mistake.
    node: ConfigNode<'n>,
    /// The names that it mentions.
    mentioned: Vec<String>,
    made: Made<'n>,
}

/// The way in which a field is made.
enum Made<'n> {
    Stated(&'n str),
    Joined(Expression),
}

/// Reads the derived fields of records whose time is in this field; the columns of tables are among them.
pub(super) fn read(
    node: Option<&ConfigNode<'_>>,
    tables: (&[TableSpec], Option<&ConfigNode<'_>>),
    time: Option<&str>,
) -> Option<DerivedFields> {
    let mut waiting = match node {
        Some(node) => stated(node)?,
        None => Vec::new(),
    };
    let (tables, place) = tables;
    for (spec, place) in tables.iter().zip(place.into_iter().cycle()) {
        for (column, cells) in spec.table.columns() {
            let (name, node) = (format!("{}.{column}", spec.name), place.descendant(&[&spec.name]));
            if let Some(stated) = waiting.iter().find(|field| field.name == name) {
                return stated.node.conflict("the name of a column of a table", "a name of its own");
            }
            let made = Made::Joined(Expression::of_column(cells, spec.by()));
            waiting.push(Waiting { name, node, mentioned: vec![spec.by().to_owned()], made });
        }
    }
    let mut fields = DerivedFields::default();
    let mut is_sound = true;
    while !waiting.is_empty() {
        let is_ready = |at: &usize| {
            let Waiting { name, mentioned, .. } = &waiting[*at];
            waiting.iter().all(|other| other.name == *name || !mentioned.contains(&other.name))
        };
        let Some(ready) = (0..waiting.len()).find(is_ready) else {
            let field = waiting.first()?;
            return field.node.conflict("a field that is made of itself", "an expression of other fields");
        };
        let Waiting { name, node, made, .. } = waiting.remove(ready);
        let known = FieldNames { derived: &fields, time };
        let expression = match made {
            Made::Stated(text) => node.accept(Expression::parse(text, &known)),
            Made::Joined(expression) => Some(expression),
        };
        match expression {
            Some(expression) => fields.push(DerivedField { name, expression }),
            None => is_sound = false,
        }
    }
    is_sound.then_some(fields)
}

fn stated<'n>(node: &ConfigNode<'n>) -> Option<Vec<Waiting<'n>>> {
    let entries = node.entries("a table of names with their expressions")?;
    if entries.len() > MOST {
        return node.refuse("more than 256 fields", "at most 256 fields");
    }
    let mut waiting = Vec::new();
    for (name, node) in entries {
        if name.is_empty() {
            return node.refuse("a field without a name", "a name of at least one character");
        }
        let text = node.text()?;
        let (name, mentioned) = (name.to_owned(), Expression::mentioned(text));
        waiting.push(Waiting { name, node, mentioned, made: Made::Stated(text) });
    }
    Some(waiting)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{GOOD, parse};
    use crate::job::Job;

    fn with(fields: &str) -> String {
        format!("{GOOD}\n[fields]\n{fields}\n")
    }

    #[test]
    fn fields_are_in_the_order_in_which_they_are_made() {
        let job = parse(&with("a = \"b + c\"\nb = \"2 * c\"\nc = \"number of c\"")).unwrap();
        let names: Vec<&str> = job.fields.iter().map(|field| field.name.as_str()).collect();
        assert_eq!(names, ["c", "b", "a"]);
        let behind = |name: &str| {
            job.fields.all_behind(&[name]).iter().map(|field| field.name.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(behind("b"), ["c", "b"]);
        assert_eq!(behind("vendor"), [""; 0]);
        let again = Job::parse("job.toml", &job.to_string()).unwrap();
        assert_eq!((&again.fields, &again.derived), (&job.fields, &job.derived));
    }

    // Refutes an error without its field, and two types of one field.
    #[test]
    fn what_cannot_be_made_is_refused_at_its_field() {
        for (fields, field, found) in [
            ("a = \"b\"\nb = \"a\"", "fields.a", "a field that is made of itself"),
            ("a = \"b +\"", "fields.a", "at column 4"),
            ("a = 7", "fields.a", "a whole number"),
            ("a = \"lower of b\"\nc = \"a + 1\"", "fields.c", "a number, and no text, at column 1"),
            ("a = \"length of b\"\nc = \"1 if a = \\\"x\\\"\"", "fields.c", "values of one type"),
            ("who = \"lower of who\"", "fields.who", "the field of the person"),
        ] {
            let mistakes = Job::parse("job.toml", &with(fields)).unwrap_err();
            let [mistake] = mistakes.iter().collect::<Vec<_>>()[..] else { panic!("{fields}: {mistakes}") };
            assert_eq!(mistake.field(), field, "{fields}: {mistakes}");
            assert!(mistake.to_string().contains(found), "{fields}: {mistakes}");
        }
        let mistakes = Job::parse("job.toml", &format!("{GOOD}\nfields = 7\n")).unwrap_err();
        assert!(mistakes.to_string().contains("fields"), "{mistakes}");
    }

    // Refutes a column that is read though the table does not have it, and a table that is read though it is not public.
    #[test]
    fn tables_are_read_with_the_job_and_their_columns_are_fields() {
        let directory = std::env::temp_dir().join(format!("discreet-tables-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join("pages.csv"), "url,topic\n/a,x\n").unwrap();
        std::fs::write(directory.join("twice.tsv"), "url\ttopic\n/a\tx\n/a\ty\n").unwrap();
        // What is no plain file might never end.
        std::fs::create_dir_all(directory.join("pipe.csv")).unwrap();
        let parse = |text: &str| Job::parse(directory.join("job.toml"), text);
        let with = |tables: &str, by: &str| {
            let text = GOOD.replace("\"vendor\"", &format!("\"{by}\""));
            let fields =
                if tables.contains("[fields]") { "" } else { "[fields]\npath = \"path of request\"" };
            format!("{text}\n[tables]\n{tables}\n{fields}\n")
        };
        let job = parse(&with("pages = { file = \"pages.csv\", by = \"path\" }", "pages.topic")).unwrap();
        assert_eq!(job.fields.get("pages.topic").unwrap().expression.fields().collect::<Vec<_>>(), ["path"]);
        let again = Job::parse("job.toml", &job.to_string()).unwrap();
        assert_eq!((&again.tables, &again.fields), (&job.tables, &job.fields));
        let job = parse(&with("pages = \"pages.csv\"", "pages.topic")).unwrap();
        assert_eq!(job.fields.get("pages.topic").unwrap().expression.fields().collect::<Vec<_>>(), ["url"]);
        for (tables, by, field, found) in [
            ("pages = \"pages.csv\"", "pages.tpoic", "release[1].count.by", "did you mean pages.topic?"),
            ("pages = \"none.csv\"", "vendor", "tables.pages", "found no such file"),
            ("pages = \"twice.tsv\"", "vendor", "tables.pages", "the key of an earlier line again in line 3"),
            ("pages = { file = \"pages.csv\", key = \"id\" }", "vendor", "tables.pages.file", "no column id"),
            ("pages = { path = \"pages.csv\" }", "vendor", "tables.pages.path", "an unknown field"),
            ("\"a.b\" = \"pages.csv\"", "vendor", "tables.\"a.b\"", "a name that is empty or has a point"),
            ("pages = \"reviews.csv\"", "vendor", "tables.pages", "found"),
            ("pages = 7", "vendor", "tables.pages", "a whole number"),
            ("pages = \"pipe.csv\"", "vendor", "tables.pages", "no plain file"),
            (
                "pages = \"pages.csv\"\n[fields]\n\"pages.topic\" = \"lower of url\"\n[limits]",
                "vendor",
                "fields.\"pages.topic\"",
                "the name of a column of a table",
            ),
        ] {
            let mistakes = parse(&with(tables, by)).unwrap_err();
            let [mistake] = mistakes.iter().collect::<Vec<_>>()[..] else { panic!("{tables}: {mistakes}") };
            assert_eq!(mistake.field(), field, "{tables}: {mistakes}");
            assert!(mistake.to_string().contains(found), "{tables}: {mistakes}");
        }
        // Without a [fields] table, too.
        let text = with("pages = \"pages.csv\"\n[limits]", "vendor").replace("\"who\"", "\"pages.topic\"");
        let mistakes = parse(&text.replace("[fields]\npath = \"path of request\"", "")).unwrap_err();
        assert!(mistakes.to_string().contains("tables.pages: found the field of the person"), "{mistakes}");
        std::fs::remove_dir_all(&directory).unwrap();
    }
}
