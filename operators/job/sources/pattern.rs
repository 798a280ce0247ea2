//! The pattern of a source's path: files of one name or several in one directory or several, as in a shell.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use glob::{GlobError, MatchOptions, Pattern, PatternError};

/// The rules of a shell: `*` matches no hidden file, such as one that `rsync` has not finished.
const RULES: MatchOptions = MatchOptions {
    case_sensitive: true,
    require_literal_separator: false,
    require_literal_leading_dot: true,
};

/// A pattern of files; a path without `*` is one of itself.
pub(super) struct FilePattern {
    directories: Pattern,
    name: Pattern,
    /// True for a pattern of names alone, in the directory of the process.
    is_bare: bool,
}

impl FilePattern {
    /// Parses a path: the names of files are behind its last separator.
    pub(super) fn of(path: &Path) -> Result<FilePattern, PatternError> {
        let text = path.to_string_lossy();
        let (directories, name) = match text.rsplit_once('/') {
            Some(("", name)) => ("/", name),
            Some(parts) => parts,
            None => (".", &*text),
        };
        let (directories, name) = (Pattern::new(directories)?, Pattern::new(name)?);
        Ok(FilePattern { directories, name, is_bare: !text.contains('/') })
    }

    /// The directories that are there.
    pub(super) fn directories(&self) -> impl Iterator<Item = Result<PathBuf, GlobError>> + use<> {
        glob::glob_with(self.directories.as_str(), RULES).into_iter().flatten()
    }

    /// The path of an entry of such a directory, as the pattern has it.
    pub(super) fn path(&self, directory: &Path, entry: &OsStr) -> PathBuf {
        if self.is_bare { PathBuf::from(entry) } else { directory.join(entry) }
    }

    /// Returns true if a file in one of the directories has a name of the pattern; a name that is no UTF-8 is one too.
    pub(super) fn has_name(&self, file: &Path) -> bool {
        file.file_name().is_some_and(|name| self.name.matches_with(&name.to_string_lossy(), RULES))
    }

    /// Returns true if it matches a whole path.
    pub(super) fn matches(&self, file: &Path) -> bool {
        let directory =
            file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        self.has_name(file) && self.directories.matches_path_with(directory, RULES)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_pattern_has_the_files_of_its_directories_alone() {
        let matches =
            |pattern: &str, file: &str| FilePattern::of(Path::new(pattern)).unwrap().matches(Path::new(file));
        for (pattern, file) in
            [("a.log", "a.log"), ("*.log", "a.log"), ("/*.log", "/a.log"), ("l*/*.log", "logs/a.log")]
        {
            assert!(matches(pattern, file), "{pattern} {file}");
        }
        for (pattern, file) in [
            ("*.log", ".a.log"),
            ("*.log", "logs/a.log"),
            ("logs/*.log", "a.log"),
            ("logs/*.log", "logs/more/a.log"),
        ] {
            assert!(!matches(pattern, file), "{pattern} {file}");
        }
    }
}
