//! The pattern of a source's path: files of one name or several in one directory or several, as in a shell.
//!
//! The walk is our own. The one of the `glob` crate leaves out what it cannot ask, and a window would be released from a
//! part of its lines.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, FileType, Metadata};
use std::io;
use std::path::{Component, Path, PathBuf};

use glob::{MatchOptions, Pattern, PatternError};

use super::reader::{is_out_of_files, unreadable};
use crate::dataflow::SourceError;
use crate::invalid::found_by;

/// The rules of a shell: `*` matches no hidden file, such as one that `rsync` has not finished.
const RULES: MatchOptions = MatchOptions {
    case_sensitive: true,
    require_literal_separator: false,
    require_literal_leading_dot: true,
};

/// The kind of what a path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PathKind {
    File,
    Directory,
    /// A pipe, a socket or a device.
    Other,
    /// A symbolic link that leads nowhere.
    DanglingLink,
    /// Nothing: it was renamed or removed since it was listed.
    Gone,
}

impl PathKind {
    /// Asks the system for it.
    pub(super) fn of(path: &Path) -> Result<PathKind, SourceError> {
        let mut is_link = false;
        loop {
            match fs::metadata(path) {
                Ok(facts) => return Ok(PathKind::of_facts(&facts)),
                Err(error) if !is_absent(&error) => return Err(unasked(path, &error)),
                Err(_) if is_link => return Ok(PathKind::DanglingLink),
                Err(_) => {}
            }
            match fs::symlink_metadata(path) {
                // Asked once more: it may have come, or be mended, since the first question.
                Ok(facts) if facts.is_symlink() => is_link = true,
                // Another file has the name by now.
                Ok(facts) => return Ok(PathKind::of_facts(&facts)),
                Err(error) if is_absent(&error) => return Ok(PathKind::Gone),
                Err(error) => return Err(unasked(path, &error)),
            }
        }
    }

    fn of_facts(facts: &Metadata) -> PathKind {
        match facts {
            facts if facts.is_file() => PathKind::File,
            facts if facts.is_dir() => PathKind::Directory,
            _ => PathKind::Other,
        }
    }
}

/// Returns true for the error of a path at which there is nothing.
pub(super) fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// The error of a path of which the system does not say what it is.
pub(super) fn unasked(path: &Path, error: &io::Error) -> SourceError {
    if is_out_of_files(error) {
        return unreadable(&path.display().to_string(), error);
    }
    let why =
        format!("found {}; let this user read it, or give a path that does not match it", found_by(error));
    SourceError::lost(path.display().to_string()).because(why)
}

/// Returns true for a name that only a pattern with a leading dot matches.
pub(super) fn is_hidden(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

/// A part of a pattern between two separators.
#[derive(Debug)]
enum PatternPart {
    /// This name.
    Literal(OsString),
    /// The directories with such a name, and the links to some.
    Matching(Pattern),
    /// `**`: the directory itself and all below it, but for hidden ones and links.
    Below,
}

impl PatternPart {
    fn of(text: &str) -> Result<PatternPart, PatternError> {
        Ok(match text {
            "**" => PatternPart::Below,
            _ if text.contains(['*', '?', '[']) => PatternPart::Matching(Pattern::new(text)?),
            _ => PatternPart::Literal(text.into()),
        })
    }

    /// Returns true if it names an entry of a directory.
    fn has(&self, directory: &Path, name: &OsStr) -> bool {
        match self {
            PatternPart::Literal(literal) => literal == name,
            PatternPart::Matching(pattern) => name != ".." && has_name(pattern, name),
            PatternPart::Below => name != ".." && !is_hidden(name) && !directory.join(name).is_symlink(),
        }
    }
}

fn has_name(pattern: &Pattern, name: &OsStr) -> bool {
    pattern.matches_with(&name.to_string_lossy(), RULES)
}

/// The directories of a pattern.
#[derive(Debug, Default)]
pub(super) struct PatternDirectories {
    pub(super) found: BTreeSet<PathBuf>,
    /// The links that lead nowhere where the pattern has a directory.
    pub(super) dangling: BTreeSet<PathBuf>,
}

impl PatternDirectories {
    /// Adds a path if it leads to a directory.
    fn add(&mut self, path: PathBuf) -> Result<(), SourceError> {
        match PathKind::of(&path)? {
            PathKind::Directory => _ = self.found.insert(path),
            PathKind::DanglingLink => _ = self.dangling.insert(path),
            PathKind::File | PathKind::Other | PathKind::Gone => {}
        }
        Ok(())
    }

    /// Adds a directory and those below it.
    fn add_below(&mut self, directory: PathBuf) -> Result<(), SourceError> {
        let mut waiting = vec![directory];
        while let Some(directory) = waiting.pop() {
            let below =
                entries(&directory)?.into_iter().filter(|(name, kind)| kind.is_dir() && !is_hidden(name));
            waiting.extend(below.map(|(name, _)| directory.join(name)));
            self.found.insert(directory);
        }
        Ok(())
    }
}

/// The names in a directory, and what they are; none in one that is gone.
pub(super) fn entries(directory: &Path) -> Result<Vec<(OsString, FileType)>, SourceError> {
    let place = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    let unread = |error: io::Error| unasked(place, &error);
    let listed = match fs::read_dir(place) {
        Ok(listed) => listed,
        Err(error) if is_absent(&error) => return Ok(Vec::new()),
        Err(error) => return Err(unread(error)),
    };
    let mut all = Vec::new();
    for entry in listed {
        let entry = entry.map_err(unread)?;
        match entry.file_type() {
            Ok(kind) => all.push((entry.file_name(), kind)),
            Err(error) if is_absent(&error) => {}
            Err(error) => return Err(unasked(&entry.path(), &error)),
        }
    }
    Ok(all)
}

/// A pattern of files; a path without `*` is one of itself.
pub(super) struct FilePattern {
    is_absolute: bool,
    /// The directories, without `.`.
    parts: Vec<PatternPart>,
    name: Pattern,
    /// True for `./*.log`, whose files keep the dot.
    has_dot: bool,
}

impl FilePattern {
    /// Parses a path: the names of files are behind its last separator, and those of `**` are all.
    pub(super) fn of(path: &Path) -> Result<FilePattern, PatternError> {
        let text = path.to_string_lossy();
        let (directories, name) = match text.rsplit_once('/') {
            _ if text == "**" || text.ends_with("/**") => (&*text, "*"),
            Some(parts) => parts,
            None => ("", &*text),
        };
        let names = || directories.split('/').filter(|part| !part.is_empty());
        let parts =
            names().filter(|part| *part != ".").map(PatternPart::of).collect::<Result<Vec<_>, _>>()?;
        Ok(FilePattern {
            is_absolute: text.starts_with('/'),
            has_dot: parts.is_empty() && names().count() > 0,
            parts,
            name: Pattern::new(name)?,
        })
    }

    fn start(&self) -> PathBuf {
        PathBuf::from(if self.is_absolute { "/" } else { "" })
    }

    /// The directories that are there; that of the process is empty.
    ///
    /// # Errors
    ///
    /// If one cannot be read.
    pub(super) fn directories(&self) -> Result<PatternDirectories, SourceError> {
        let mut all = PatternDirectories { found: [self.start()].into(), ..Default::default() };
        for part in &self.parts {
            for directory in std::mem::take(&mut all.found) {
                match part {
                    PatternPart::Literal(name) => all.add(directory.join(name))?,
                    PatternPart::Matching(pattern) => {
                        let named =
                            entries(&directory)?.into_iter().filter(|(name, _)| has_name(pattern, name));
                        for (name, _) in named.filter(|(_, kind)| kind.is_dir() || kind.is_symlink()) {
                            all.add(directory.join(name))?;
                        }
                    }
                    PatternPart::Below => all.add_below(directory)?,
                }
            }
        }
        Ok(all)
    }

    /// The path of an entry of such a directory, as the pattern has it.
    pub(super) fn path(&self, directory: &Path, entry: &OsStr) -> PathBuf {
        if self.has_dot { Path::new(".").join(entry) } else { directory.join(entry) }
    }

    /// Returns true if a file in one of the directories has a name of the pattern; a name that is no UTF-8 is one too.
    pub(super) fn has_name(&self, file: &Path) -> bool {
        file.file_name().is_some_and(|name| has_name(&self.name, name))
    }

    /// Returns true if it matches a whole path, whether a file is there or not.
    pub(super) fn matches(&self, file: &Path) -> bool {
        let directory = file.parent().unwrap_or(Path::new(""));
        let names =
            directory.components().filter(|part| !matches!(part, Component::CurDir | Component::RootDir));
        let names: Vec<&OsStr> = names.map(Component::as_os_str).collect();
        self.has_name(file)
            && directory.is_absolute() == self.is_absolute
            && leads_to(&self.parts, &self.start(), &names)
    }
}

/// Returns true if the parts of a pattern lead from a directory through these names.
fn leads_to(parts: &[PatternPart], from: &Path, names: &[&OsStr]) -> bool {
    let Some((part, rest)) = parts.split_first() else { return names.is_empty() };
    let is_below = matches!(part, PatternPart::Below);
    let next = || {
        let (name, more) = names.split_first()?;
        let rest = if is_below { parts } else { rest };
        Some(part.has(from, name) && leads_to(rest, &from.join(name), more))
    };
    is_below && leads_to(rest, from, names) || next() == Some(true)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::job::sources::tests::Place;

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
            ("l*/*.log", "logs/more/a.log"),
            ("/logs/*.log", "logs/a.log"),
        ] {
            assert!(!matches(pattern, file), "{pattern} {file}");
        }
    }

    // Refutes a walk that leaves out a directory or a file of a pattern, and a match of a path that no walk finds.
    #[test]
    fn a_pattern_matches_what_its_walk_finds() {
        let place = Place::new("walk");
        for directory in ["a/b/c", "a/.hidden/c", "e", "n[1]"] {
            fs::create_dir_all(place.path(directory)).unwrap();
        }
        let files =
            ["r.log", "a/r.log", "a/b/r.log", "a/b/c/r.log", "a/b/c/x.txt", "a/.hidden/c/r.log", "e/.r.log"];
        files.iter().for_each(|file| place.write(file, "x"));
        symlink("a/b", place.path("l")).unwrap();
        symlink("r.log", place.path("l.log")).unwrap();
        let found = |text: &str| {
            let pattern = FilePattern::of(&place.path(text)).unwrap();
            let directories = pattern.directories().unwrap();
            assert!(directories.dangling.is_empty(), "{text}");
            let mut found = Vec::new();
            for directory in &directories.found {
                for (name, _) in entries(directory).unwrap() {
                    let path = pattern.path(directory, &name);
                    if pattern.has_name(&path) && path.is_file() {
                        found.push(path.strip_prefix(place.path("")).unwrap().to_str().unwrap().to_owned());
                    }
                }
            }
            found.sort();
            (pattern, found)
        };
        // All paths to a file, also through links.
        let mut paths: Vec<String> = files.iter().map(|file| (*file).to_owned()).collect();
        paths.extend(["l.log", "l/r.log", "l/c/r.log", "l/c/x.txt"].map(str::to_owned));
        for (text, expected) in [
            ("*.log", vec!["l.log", "r.log"]),
            ("*/*.log", vec!["a/r.log", "l/r.log"]),
            ("*/r.log", vec!["a/r.log", "l/r.log"]),
            ("a/*/*.log", vec!["a/b/r.log"]),
            ("l/*/*.log", vec!["l/c/r.log"]),
            ("**/*.log", vec!["a/b/c/r.log", "a/b/r.log", "a/r.log", "l.log", "r.log"]),
            ("a/**/*.log", vec!["a/b/c/r.log", "a/b/r.log", "a/r.log"]),
            ("a/**/**/c/*", vec!["a/b/c/r.log", "a/b/c/x.txt"]),
            ("l/**/*.log", vec!["l/c/r.log", "l/r.log"]),
            ("**", vec!["a/b/c/r.log", "a/b/c/x.txt", "a/b/r.log", "a/r.log", "l.log", "r.log"]),
            ("a/./b//**", vec!["a/b/c/r.log", "a/b/c/x.txt", "a/b/r.log"]),
            ("a/.h*/c/*", vec!["a/.hidden/c/r.log"]),
            ("a/.hidden/**/*.log", vec!["a/.hidden/c/r.log"]),
            ("e/.*", vec!["e/.r.log"]),
            ("e/*", vec![]),
            ("n[1]/*", vec![]),
            ("nowhere/*/*.log", vec![]),
            ("a/r.log/*", vec![]),
        ] {
            let (pattern, found) = found(text);
            assert_eq!(found, expected, "{text}");
            for path in &paths {
                let is_matched = pattern.matches(&place.path(path));
                assert_eq!(is_matched, expected.contains(&path.as_str()), "{text} {path}");
            }
        }
    }

    #[test]
    fn a_pattern_of_the_directory_of_the_process_has_bare_paths() {
        for (text, file) in [
            ("*.toml", "Cargo.toml"),
            ("./*.toml", "./Cargo.toml"),
            ("./tests/*/main.rs", "tests/job/main.rs"),
        ] {
            let pattern = FilePattern::of(Path::new(text)).unwrap();
            let mut paths = Vec::new();
            for directory in pattern.directories().unwrap().found {
                let names = entries(&directory).unwrap().into_iter();
                paths.extend(names.map(|(name, _)| pattern.path(&directory, &name)));
            }
            assert!(paths.contains(&PathBuf::from(file)), "{text}");
            assert!(pattern.matches(Path::new(file)), "{text}");
        }
    }

    // Refutes a directory that is left out since a link to it leads nowhere.
    #[test]
    fn a_link_to_a_directory_that_is_gone_is_found() {
        let place = Place::new("walk-links");
        fs::create_dir(place.path("a")).unwrap();
        symlink("nowhere", place.path("b")).unwrap();
        symlink("nowhere", place.path("a/c")).unwrap();
        for (text, link) in
            [("*/v.log", "b"), ("b/v.log", "b"), ("b/w/v.log", "b"), ("a/c/*", "a/c"), ("*/c/*", "a/c")]
        {
            let directories = FilePattern::of(&place.path(text)).unwrap().directories().unwrap();
            assert!(directories.dangling.contains(&place.path(link)), "{text}");
        }
        let below = FilePattern::of(&place.path("**/*.log")).unwrap().directories().unwrap();
        assert!(below.dangling.is_empty(), "no link is followed below");
    }
}
