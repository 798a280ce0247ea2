//! File paths: resolution of symbolic links, and detection of two paths that name one file.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::ledger::place::directory;

/// The number of symbolic links that are followed before giving up, the same as in Linux.
const MOST_LINKS: usize = 40;

/// Returns the path that the symbolic links of a path lead to, even if no file exists there.
pub(crate) fn resolve_symlinks(path: &Path) -> PathBuf {
    let mut end = path.to_owned();
    for _ in 0..MOST_LINKS {
        let Ok(target) = fs::read_link(&end) else { break };
        end = end.parent().unwrap_or(Path::new("")).join(target);
    }
    end
}

/// Returns true if two paths name one file: an existing file under any of its names, or one path at which a
/// file would be created.
pub(crate) fn same_file(one: &Path, other: &Path) -> bool {
    let found = [one, other].map(|path| fs::metadata(path).map(|file| (file.dev(), file.ino())).ok());
    match found {
        [Some(one), Some(other)] => one == other,
        [None, None] => canonical_new_path(one).is_some_and(|one| canonical_new_path(other) == Some(one)),
        _ => false,
    }
}

/// Returns the path of a file that does not exist yet, without symbolic links.
fn canonical_new_path(path: &Path) -> Option<PathBuf> {
    let end = resolve_symlinks(path);
    Some(directory(&end).canonicalize().ok()?.join(end.file_name()?))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::ledger::scratch::ScratchPlace;

    // Refutes a comparison of paths as texts, and one that resolves only files that exist.
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
        let alike = |one: &str, other: &str| same_file(&at(one), &at(other));
        for name in ["real/new", "link/new", "to-new", "to-to-new", "real/../link/./new"] {
            assert!(alike(name, "real/new") && alike("link/new", name), "{name}");
            assert!(!alike(name, "file") && !alike(name, "real/old"), "{name}");
        }
        assert!(alike("file", "twin") && alike("link/../file", "real/../twin"));
        assert!(!alike("file", "real") && !alike("nowhere/new", "real/new"));
        assert_eq!(resolve_symlinks(&at("to-to-new")), at("link/new"));
        assert_eq!(resolve_symlinks(&at("file")), at("file"));
        // A cycle of symbolic links ends.
        assert!(!alike("turning", "file"));
    }
}
