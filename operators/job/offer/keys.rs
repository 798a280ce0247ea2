//! Files of keys, one key a line.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::invalid::found_by;
use crate::job::text::Text;

/// The most keys in a file: more keys are more rows of noise than anybody can read.
const MOST: usize = 1_000_000;
/// The longest key, in bytes.
const LONGEST: usize = 1_024;
/// The largest file of keys, in bytes.
const LARGEST: u64 = 64 << 20;

/// Returns the keys of a file in the order of their lines, or a message that names the line and never quotes
/// its text.
pub(super) fn read(path: &Path) -> Result<Vec<Text>, String> {
    let shown = path.display();
    let table = ["csv", "tsv", "json", "jsonl", "gz", "bz2", "zst", "parquet", "xlsx"];
    if path.extension().is_some_and(|ending| table.iter().any(|word| ending.eq_ignore_ascii_case(word))) {
        return Err(format!(
            "{shown}: a file of records; give a plain file with one key a line, such as keys.txt"
        ));
    }
    let unreadable = |error: std::io::Error| {
        format!("{shown}: found {}; give a plain file with one key a line", found_by(&error))
    };
    let mut text = String::new();
    let mut file = File::open(path).map_err(unreadable)?.take(LARGEST + 1);
    match file.read_to_string(&mut text) {
        Err(error) if error.kind() == std::io::ErrorKind::InvalidData => {
            return Err(format!("{shown}: no text in UTF-8; give one key a line"));
        }
        Err(error) => return Err(unreadable(error)),
        Ok(length) if length as u64 > LARGEST => {
            return Err(format!("{shown}: larger than 64 MiB; give at most 1,000,000 keys"));
        }
        Ok(_) => {}
    }
    lines(&text).map_err(|(line, wrong)| format!("{shown}:{line}: {wrong}"))
}

fn lines(text: &str) -> Result<Vec<Text>, (usize, String)> {
    let mut first: HashMap<&str, usize> = HashMap::new();
    let mut keys = Vec::new();
    for (index, key) in text.strip_prefix('\u{feff}').unwrap_or(text).lines().enumerate() {
        let line = index + 1;
        let wrong = if key.is_empty() {
            "an empty line; give a key, or no line"
        } else if key.len() > LONGEST {
            "a long line; give a key of at most 1,024 bytes"
        } else if key.contains('\t') {
            "a tab; give one key a line"
        } else if line > MOST {
            "more keys than 1,000,000; give fewer"
        } else {
            if let Some(first) = first.insert(key, line) {
                return Err((line, format!("the key of line {first} again; give each key once")));
            }
            keys.push(Text::new(key));
            continue;
        };
        return Err((line, wrong.to_owned()));
    }
    if keys.is_empty() {
        return Err((1, "no key; give at least one".to_owned()));
    }
    let columns = |key: &Text| key.text().bytes().filter(|byte| *byte == b',').count();
    let wide = columns(&keys[0]);
    // Two commas in every line mark a table, and hardly ever a list of names.
    if keys.len() > 1 && wide >= 2 && keys.iter().all(|key| columns(key) == wide) {
        return Err((1, "a table of several columns; give one key a line".to_owned()));
    }
    Ok(keys)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_a_line() {
        let keys = |text: &str| {
            lines(text).map(|keys| keys.iter().map(|key| key.text().into_owned()).collect::<Vec<_>>())
        };
        assert_eq!(keys("b\na\r\nBerlin, Germany\n").unwrap(), ["b", "a", "Berlin, Germany"]);
        assert_eq!(keys("\u{feff}a").unwrap(), ["a"]);
        let line = |text: &str| lines(text).unwrap_err();
        assert_eq!(line("a\n\nb").0, 2);
        assert_eq!(line("a\nb\na").0, 3);
        assert!(line("a\nb\na").1.contains("line 1 again"));
        assert_eq!(line(&format!("a\n{}", "x".repeat(1_025))).0, 2);
        assert_eq!((line("").0, line("a\tb").0), (1, 1));
        assert!(line("id,name,price\n1,x,2").1.contains("table"));
        let many: String = (0..1_000_001).map(|key| format!("{key}\n")).collect();
        assert_eq!(line(&many).0, 1_000_001);
    }

    // Refutes a mistake that quotes the text of the file.
    #[test]
    fn what_a_file_holds_is_never_told() {
        let directory = std::env::temp_dir().join(format!("discreet-keys-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let path = directory.join("keys.txt");
        for bytes in [&b"secret\nsecret\n"[..], b"secret\n\n", b"secret\xff\n", b"secret\tsecret"] {
            std::fs::write(&path, bytes).unwrap();
            let wrong = read(&path).unwrap_err();
            assert!(wrong.contains("keys.txt") && !wrong.contains("secret"), "{wrong}");
        }
        assert!(read(&directory.join("keys.CSV")).unwrap_err().contains("file of records"));
        assert!(read(&directory.join("none.txt")).unwrap_err().contains("none.txt: "));
        std::fs::remove_dir_all(&directory).unwrap();
    }
}
