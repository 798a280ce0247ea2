//! `discreet help config`, and the page in the tree that it writes.

use std::path::Path;

use crate::discreet;

fn page(arguments: &[&str]) -> String {
    let (code, page, error) = discreet(&[&["help"], arguments].concat());
    assert_eq!((code, error.as_str()), (0, ""), "{arguments:?}");
    page
}

// Refutes a page that was edited by hand, and one that is older than the fields of a job file.
#[test]
fn the_page_in_the_tree_is_what_the_command_prints() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/CONFIG.md");
    let held = std::fs::read_to_string(path).unwrap();
    let printed = page(&["config", "--markdown"]);
    assert!(
        held == printed,
        "docs/CONFIG.md is not what the command prints; run `cargo run -- help config --markdown > docs/CONFIG.md`"
    );
}

#[test]
fn a_field_a_table_or_all_of_them_are_printed() {
    let whole = page(&["config"]);
    assert!(whole.lines().all(|line| line.chars().count() <= 100));
    for words in ["\n[source] ---", "\nrelease.max.grid.step\n", "\nlog.level\n"] {
        assert!(whole.contains(words), "{words}");
    }
    let field = page(&["config", "source.late"]);
    assert!(
        field.starts_with("source.late\n    a length of time (default \"0s\")\n        late = \"5m\"\n"),
        "{field}"
    );
    assert_eq!(page(&["config", "source[1].late"]), field, "a path as a mistake has it");
    let table = page(&["config", "release.bound"]);
    assert!(table.contains("release.bound.keys\n") && !table.contains("release.noise"), "{table}");
    assert!(table.contains("Cost: More keys: Gaussian noise grows with the square root"), "{table}");
    assert!(page(&["config", "limits", "--markdown"]).starts_with("## `[limits]`\n"));
}

// Refutes an error without the paths that are near, and one that a terminal acts on.
#[test]
fn an_unknown_path_is_refused_with_the_nearest_ones() {
    for (field, words) in [
        ("source.lat", "field: found \"source.lat\", which no job file has; give source.late\n"),
        ("epsilon", "give privacy.budget.epsilon, release.cost.epsilon or ask.cost.epsilon\n"),
        ("xyzzy", "give job, source, tables, fields, privacy, limits, watch, log, release or ask\n"),
        ("\u{1b}[2J", "found \"\\u{1b}[2J\", which"),
    ] {
        let (code, output, error) = discreet(&["help", "config", field]);
        assert!(code == 78 && output.is_empty() && error.contains(words), "{field}: {code} {error}");
    }
}

// Refutes a help of its own that is another one than that of the command.
#[test]
fn help_of_a_command_is_what_the_command_prints_with_its_option() {
    for words in [
        &[][..],
        &["plan"],
        &["tune"],
        &["ledger"],
        &["ledger", "init"],
        &["calibrate", "gaussian"],
        &["help"],
    ] {
        let with_option = discreet(&[words, &["--help"]].concat());
        assert_eq!(discreet(&[&["help"], words].concat()), with_option, "{words:?}");
        assert!(with_option.0 == 0 && with_option.1.contains("Usage: discreet"), "{words:?}");
    }
    for unknown in [&["plam"][..], &["ledger", "inti"]] {
        let (code, output, error) = discreet(&[&["help"], unknown].concat());
        assert!(code == 2 && output.is_empty() && error.contains("unrecognized subcommand"), "{error}");
    }
    assert_eq!(discreet(&["help", "config", "source.late", "source.path"]).0, 2);
}

// Refutes a list for programs that lacks what the page says.
#[test]
fn fields_as_json_have_what_the_page_has() {
    let fields = crate::json(&["fields", "--json"]);
    let of = |path: &str| {
        let fields = fields["fields"].as_array().unwrap();
        fields.iter().find(|field| field["path"] == path).unwrap().clone()
    };
    assert_eq!(of("source.late")["default"]["value"], "\"0s\"");
    assert_eq!(of("job.name")["default"], "required");
    assert_eq!(of("job.slack")["example"], "slack = \"5s\"");
    assert!(of("release.share")["cost"].as_str().unwrap().starts_with("Half of the share"));
}
