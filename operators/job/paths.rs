//! Paths of files: where symbolic links lead, and which of them name one file.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::ledger::durable::directory;

/// As many symbolic links as Linux follows.
const MOST_LINKS: usize = 40;

/// The path that the symbolic links of a name lead to, whether a file is there or not.
pub(crate) fn leads_to(path: &Path) -> PathBuf {
    let mut end = path.to_owned();
    for _ in 0..MOST_LINKS {
        let Ok(target) = fs::read_link(&end) else { break };
        end = end.parent().unwrap_or(Path::new("")).join(target);
    }
    end
}

/// Returns true where two paths name one file: one that is there, by any of its names, or one that would be made.
pub(crate) fn name_one_file(one: &Path, other: &Path) -> bool {
    let found = [one, other].map(|path| fs::metadata(path).map(|file| (file.dev(), file.ino())).ok());
    match found {
        [Some(one), Some(other)] => one == other,
        [None, None] => whole(one).is_some_and(|one| whole(other) == Some(one)),
        _ => false,
    }
}

/// The path of a file that is not there yet, without symbolic links.
fn whole(path: &Path) -> Option<PathBuf> {
    let end = leads_to(path);
    Some(directory(&end).canonicalize().ok()?.join(end.file_name()?))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::ledger::scratch::ScratchPlace;

    // Refutes a comparison of paths as texts, and one that sees only files that are there.
    #[test]
    fn every_name_of_a_file_is_found_to_be_one() {
        let scratch = ScratchPlace::File.scratch();
        let at = |name: &str| scratch.directory().join(name);
        fs::create_dir(at("real")).unwrap();
        symlink("real", at("link")).unwrap();
        symlink("link/new", at("to-new")).unwrap();
        symlink("to-new", at("to-to-new")).unwrap();
        symlink("turning", at("turning")).unwrap();
        fs::write(at("file"), "").unwrap();
        fs::hard_link(at("file"), at("twin")).unwrap();
        let alike = |one: &str, other: &str| name_one_file(&at(one), &at(other));
        for name in ["real/new", "link/new", "to-new", "to-to-new", "real/../link/./new"] {
            assert!(alike(name, "real/new") && alike("link/new", name), "{name}");
            assert!(!alike(name, "file") && !alike(name, "real/old"), "{name}");
        }
        assert!(alike("file", "twin") && alike("link/../file", "real/../twin"));
        assert!(!alike("file", "real") && !alike("nowhere/new", "real/new"));
        assert_eq!(leads_to(&at("to-to-new")), at("link/new"));
        assert_eq!(leads_to(&at("file")), at("file"));
        // A circle ends.
        assert!(!alike("turning", "file"));
    }
}
