//! The pages of `docs/proofs`: their headings, their links, and the code, mutants and tests that they name.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The headings of a page, in this order.
const HEADINGS: [&str; 4] = ["Statement", "Argument", "In the code", "Refuted mistakes"];

/// The directories of the library by whose name a path of a test begins.
const MODULES: [&str; 4] = ["accounting", "mechanisms", "noise", "dataflow"];

struct Page {
    name: String,
    text: String,
}

impl Page {
    /// The lines below a heading, up to the next one.
    fn below(&self, heading: &str) -> Vec<&str> {
        let line = format!("## {heading}");
        let lines = self.text.lines().skip_while(|found| *found != line).skip(1);
        lines.take_while(|found| !found.starts_with("## ")).collect()
    }

    /// The cells of the rows of the tables below a heading, without the rows of their heads.
    fn rows(&self, heading: &str) -> Vec<Vec<&str>> {
        let lines = self.below(heading);
        let is_row = |index: &usize| {
            let is_head = lines.get(index + 1).is_some_and(|next| next.starts_with("|---"));
            lines[*index].starts_with("| ") && !is_head
        };
        let places = (0..lines.len()).filter(is_row);
        places.map(|index| lines[index].trim_matches('|').split(" | ").map(str::trim).collect()).collect()
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The files of a directory, and of those within it.
fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

/// All pages, the index among them.
fn pages() -> Vec<Page> {
    let read = |path: PathBuf| Page {
        name: path.file_name().unwrap().to_string_lossy().into_owned(),
        text: std::fs::read_to_string(path).unwrap(),
    };
    files(&root().join("docs/proofs")).into_iter().map(read).collect()
}

/// The pages beside the index.
fn proofs() -> Vec<Page> {
    pages().into_iter().filter(|page| page.name != "README.md").collect()
}

/// The targets of the links of a text to files, without the places within them.
fn links(text: &str) -> Vec<&str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.filter_map(|target| target.split('#').next()).filter(|path| !path.is_empty()).collect()
}

/// The pieces of a text between backquotes.
fn quoted(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// The words that stand behind one of these words in the code of the library, such as the names of functions.
fn named(code: &str, kinds: &[&str]) -> BTreeSet<String> {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    let words: Vec<&str> = code.split_whitespace().collect();
    let pairs = words.windows(2).filter(|pair| kinds.contains(&pair[0]));
    pairs.map(|pair| pair[1].chars().take_while(|letter| is_part(*letter)).collect()).collect()
}

// Refutes a page without one of its parts, and one that the index does not list.
#[test]
fn a_page_of_proof_has_its_parts_and_is_in_the_index() {
    let pages = pages();
    let index = pages.iter().find(|page| page.name == "README.md").unwrap();
    assert!(pages.len() > 10, "{}", pages.len());
    for page in proofs() {
        let headings: Vec<&str> = page.text.lines().filter_map(|line| line.strip_prefix("## ")).collect();
        assert_eq!(headings, HEADINGS, "docs/proofs/{}", page.name);
        assert!(links(&index.text).contains(&page.name.as_str()), "the index has no {}", page.name);
        for heading in HEADINGS {
            assert!(page.below(heading).iter().any(|line| !line.is_empty()), "{}: {heading}", page.name);
        }
    }
}

// Refutes a link to a file that was moved.
#[test]
fn the_files_that_pages_of_proof_link_to_are_there() {
    let directory = root().join("docs/proofs");
    for page in pages() {
        for link in links(&page.text) {
            assert!(directory.join(link).exists(), "docs/proofs/{} links to {link}", page.name);
        }
    }
}

// Refutes a step whose function has another name by now, or is in another file.
#[test]
fn the_code_that_pages_of_proof_name_is_in_the_files_beside_it() {
    let directory = root().join("docs/proofs");
    for page in proofs() {
        let rows = page.rows("In the code");
        assert!(!rows.is_empty(), "docs/proofs/{} names no code", page.name);
        for cells in rows {
            let place = cells[1];
            let read = |link: &str| std::fs::read_to_string(directory.join(link)).unwrap();
            let code: String = links(place).into_iter().map(read).collect();
            let names = named(&code, &["fn", "struct", "enum", "trait", "type"]);
            for name in quoted(place) {
                let last = name.rsplit("::").next().unwrap();
                assert!(names.contains(last), "docs/proofs/{}: {name} is not in {place}", page.name);
            }
        }
    }
}

// Refutes a mistake that no mutant makes, and a test that is not there.
#[test]
fn the_mutants_and_the_tests_that_pages_of_proof_name_are_there() {
    let list = std::fs::read_to_string(root().join("tests/mutants/list.txt")).unwrap();
    let mutants: BTreeSet<&str> = list.lines().filter_map(|line| line.strip_prefix("mutant: ")).collect();
    let of_library = files(&root().join("operators"));
    let of_library = of_library.iter().filter(|path| path.extension().is_some_and(|kind| kind == "rs"));
    let code: String = of_library.map(|path| std::fs::read_to_string(path).unwrap()).collect();
    let functions = named(&code, &["fn"]);
    for page in proofs() {
        for cells in page.rows("Refuted mistakes") {
            assert_eq!(cells.len(), 2, "docs/proofs/{}: {cells:?}", page.name);
            // A claim without a mutant is in words of its own.
            if let [mutant] = quoted(cells[0])[..]
                && cells[0] == format!("`{mutant}`")
            {
                assert!(mutants.contains(mutant), "docs/proofs/{}: no mutant {mutant}", page.name);
            }
            assert_eq!(quoted(cells[1]).len(), 1, "docs/proofs/{}: {cells:?}", page.name);
        }
        let text = page.below("Refuted mistakes").join("\n");
        for path in quoted(&text) {
            let (Some((module, _)), Some((_, test))) = (path.split_once("::"), path.rsplit_once("::")) else {
                continue;
            };
            if MODULES.contains(&module) {
                assert!(functions.contains(test), "docs/proofs/{}: no test {path}", page.name);
            }
        }
    }
}
