//! `[fields]`: the derived fields, each a name with its expression.

use super::node::ConfigNode;
use crate::job::derived::{DerivedField, DerivedFields, FieldNames};
use crate::job::expression::Expression;

/// The most derived fields of a job.
const MOST: usize = 256;

/// Reads the derived fields of records whose time is in this field.
pub(super) fn read(node: &ConfigNode<'_>, time: Option<&str>) -> Option<DerivedFields> {
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
        waiting.push((name, node, text, Expression::mentioned(text)));
    }
    let mut fields = DerivedFields::default();
    let mut is_sound = true;
    while !waiting.is_empty() {
        let is_ready = |at: &usize| {
            let (name, _, _, mentioned) = &waiting[*at];
            waiting.iter().all(|(other, ..)| other == name || !mentioned.iter().any(|of| of == other))
        };
        let Some(ready) = (0..waiting.len()).find(is_ready) else {
            let (_, node, ..) = waiting.first()?;
            return node.conflict("a field that is made of itself", "an expression of other fields");
        };
        let (name, node, text, _) = waiting.remove(ready);
        let known = FieldNames { derived: &fields, time };
        match node.accept(Expression::parse(text, &known)) {
            Some(expression) => fields.push(DerivedField { name: name.to_owned(), expression }),
            None => is_sound = false,
        }
    }
    is_sound.then_some(fields)
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
}
