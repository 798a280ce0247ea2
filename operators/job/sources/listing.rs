//! The files that the path of a source leads to.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::bytes::Packing;
use super::pattern::FilePattern;
use crate::dataflow::SourceError;
use crate::invalid::found_by;
use crate::job::rotation::{RotationName, rotated_logs};

/// A warning for each file of an input that ends which lies packed beside itself, as `gzip -k` leaves it.
pub(super) fn packed_twice(files: &[PathBuf]) -> impl Iterator<Item = String> {
    let packed = files.iter().filter(|file| Packing::of(file) != Packing::Plain);
    let pairs = packed.map(|file| (file, file.with_extension(""))).filter(|(_, plain)| files.contains(plain));
    pairs.map(|(file, plain)| {
        let (file, plain) = (file.display(), plain.display());
        format!("{file} is counted beside {plain}; if it is the packed copy, its lines count twice: remove one of them")
    })
}

/// The endings of files that are packed in a way which is not read.
const UNREAD: [&str; 7] = ["xz", "Z", "lzma", "lz4", "lz", "7z", "zip"];

fn is_hidden(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

/// The files of a path: all regular files of a directory, all matches of a pattern, or the file itself; hidden ones only
/// where they are named. They are in the order of their names, and rotated ones before their log, the oldest first.
fn files(path: &Path) -> Result<Vec<PathBuf>, SourceError> {
    in_order(all_files(path)?.into_iter())
}

/// The files of a path in no order, or the errors of single ones.
fn all_files(path: &Path) -> Result<Vec<Result<PathBuf, SourceError>>, SourceError> {
    let place = path.display().to_string();
    let lost = |error: io::Error| {
        SourceError::lost(&place).because(format!("found {}; give a file that can be read", found_by(&error)))
    };
    if path.is_dir() {
        let entries = fs::read_dir(path).map_err(lost)?.filter_map(|entry| match entry {
            Ok(entry) if !is_hidden(&entry.file_name()) && entry.path().is_file() => Some(Ok(entry.path())),
            Ok(_) => None,
            Err(error) => Some(Err(lost(error))),
        });
        return Ok(entries.collect());
    }
    let pattern = path.to_str().filter(|text| text.contains(['*', '?', '[']));
    match pattern {
        Some(pattern) if !path.exists() => {
            let no_pattern = |_| {
                SourceError::lost(&place).because("no pattern of files; give a path, or one with * in it")
            };
            let pattern = FilePattern::of(Path::new(pattern)).map_err(no_pattern)?;
            let mut found = Vec::new();
            for directory in pattern.directories() {
                let directory = directory.map_err(|error| lost(error.into()))?;
                let entries = match fs::read_dir(&directory) {
                    Ok(entries) => entries,
                    Err(error)
                        if matches!(error.kind(), io::ErrorKind::NotADirectory | io::ErrorKind::NotFound) =>
                    {
                        continue;
                    }
                    Err(error) => return Err(lost(error)),
                };
                for entry in entries {
                    let file = pattern.path(&directory, &entry.map_err(lost)?.file_name());
                    if pattern.has_name(&file) && file.is_file() {
                        found.push(Ok(file));
                    }
                }
            }
            Ok(found)
        }
        _ => fs::metadata(path).map(|_| vec![Ok(path.to_owned())]).map_err(lost),
    }
}

/// The files of a path, as in [`files`], and apart from them rotated ones that are packed in a way that is not read: of what a
/// run follows it has read them before.
pub(super) fn followed_files(path: &Path) -> Result<(Vec<PathBuf>, Vec<PathBuf>), SourceError> {
    let (all, mut left_out) = (all_files(path)?, Vec::new());
    let is_left_out = |file: &PathBuf| {
        is_unread(file) && rotated_logs(&file.with_extension("")).any(|log| log != file.with_extension(""))
    };
    let followed = all.into_iter().filter(|file| match file {
        Ok(file) if is_left_out(file) => {
            left_out.push(file.clone());
            false
        }
        _ => true,
    });
    let followed = in_order(followed.collect::<Vec<_>>().into_iter())?;
    Ok((followed, left_out))
}

fn is_unread(file: &Path) -> bool {
    file.extension().is_some_and(|ending| UNREAD.iter().any(|unread| ending == *unread))
}

fn in_order(files: impl Iterator<Item = Result<PathBuf, SourceError>>) -> Result<Vec<PathBuf>, SourceError> {
    let files = files.map(|file| match file {
        Ok(file) if is_unread(&file) => {
            let why = "it is packed in a way that is not read; pack it with gzip, bzip2 or zstd, or give a path that does not \
                       match it";
            Err(SourceError::refused(file.display().to_string()).because(why))
        }
        file => file,
    });
    let mut files = files.collect::<Result<Vec<PathBuf>, SourceError>>()?;
    let logs: BTreeSet<PathBuf> = files.iter().cloned().collect();
    files.sort_by_cached_key(|file| {
        let log = rotated_logs(file).find(|log| log != file && logs.contains(log));
        let place = log.as_ref().and_then(|log| Some(RotationName::of(log, file)?.place()));
        (log.unwrap_or_else(|| file.clone()), place.is_none(), place, file.clone())
    });
    Ok(files)
}

/// Each file once, whatever number of links lead to it: the first name that is no link.
pub(super) fn once_each(mut files: Vec<PathBuf>) -> Vec<PathBuf> {
    let number = |file: &PathBuf| fs::metadata(file).ok().map(|facts| (facts.dev(), facts.ino()));
    let (mut seen, mut kept) = (BTreeSet::new(), BTreeSet::new());
    for links in [false, true] {
        for file in files.iter().filter(|file| file.is_symlink() == links) {
            // What cannot be found is refused where it is opened.
            if number(file).is_none_or(|number| seen.insert(number)) {
                kept.insert(file.clone());
            }
        }
    }
    files.retain(|file| kept.contains(file));
    files
}

/// The files of a path that is [followed](followed_files) or read to its end; an error where there is none.
pub(super) fn some_files(path: &Path, is_followed: bool) -> Result<Vec<PathBuf>, SourceError> {
    let files = if is_followed { followed_files(path)?.0 } else { files(path)? };
    match files {
        files if files.is_empty() => Err(SourceError::lost(path.display().to_string())
            .because("no file is there; give a path that leads to some")),
        files => Ok(files),
    }
}

/// Returns true if a rotation is at the logs of a path: there is none, and rotated ones are.
pub(super) fn is_in_rotation(path: &Path) -> bool {
    let Ok(pattern) = FilePattern::of(path) else { return false };
    let entries = pattern.directories().flatten().filter_map(|directory| fs::read_dir(directory).ok());
    let is_rotated = |file: PathBuf| file.is_file() && rotated_logs(&file).any(|log| pattern.has_name(&log));
    entries.flatten().flatten().any(|entry| is_rotated(entry.path()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::job::sources::tests::Place;

    #[test]
    fn files_are_taken_by_their_names() {
        let place = Place::new("places");
        for name in ["b.csv", "a.csv", "a.txt", "c[1].csv"] {
            place.write(name, "x");
        }
        fs::create_dir(place.path("d.csv")).unwrap();
        let names = |path: &str| {
            let found = some_files(&place.path(path), false)?;
            Ok::<_, SourceError>(
                found
                    .iter()
                    .map(|file| file.file_name().unwrap().to_str().unwrap().to_owned())
                    .collect::<Vec<_>>(),
            )
        };
        assert_eq!(names("*.csv").unwrap(), ["a.csv", "b.csv", "c[1].csv"]);
        assert_eq!(names("").unwrap(), ["a.csv", "a.txt", "b.csv", "c[1].csv"]);
        assert_eq!(names("a.txt").unwrap(), ["a.txt"]);
        assert_eq!(names("c[1].csv").unwrap(), ["c[1].csv"], "a file that is named as a pattern would be");
        for gone in ["nothing", "*.gz", "d.csv", "d.csv/x", "***"] {
            let gone = names(gone).unwrap_err();
            assert!(!gone.is_refused() && gone.to_string().contains("; give "), "{gone}");
        }
    }

    #[test]
    fn a_log_that_is_away_is_known_by_its_rotated_files() {
        let place = Place::new("in-rotation");
        let paths = ["a.log", "*.log", "", "b.log", "*.csv", "nowhere/*.log"];
        let found = || paths.map(|path| is_in_rotation(&place.path(path)));
        assert_eq!(found(), [false; 6]);
        place.write("a.log.1.gz", "x");
        fs::create_dir(place.path("b.log.1")).unwrap();
        assert_eq!(found(), [true, true, false, false, false, false]);
    }

    // Refutes a file that a pattern leaves out for its name, one that is read though it cannot be unpacked, and a copy
    // that counts twice without a word.
    #[test]
    fn every_file_of_a_pattern_is_read_or_refused() {
        use std::os::unix::ffi::OsStrExt;
        let place = Place::new("patterns");
        fs::create_dir_all(place.path("one/logs")).unwrap();
        for name in [&b"a b.log"[..], b"x\xff.log", b"new\nline.log", b"other.txt"] {
            fs::write(place.path("one/logs").join(OsStr::from_bytes(name)), "x").unwrap();
        }
        for pattern in ["one/logs/*.log", "o*/logs/*.log", "*/*/*.log"] {
            assert_eq!(some_files(&place.path(pattern), false).unwrap().len(), 3, "{pattern}");
        }
        let twice = ["a b.log", "a b.log.gz", "c.log.gz"].map(PathBuf::from);
        let warnings: Vec<String> = packed_twice(&twice).collect();
        assert_eq!(warnings.len(), 1);
        assert!(warnings[0].starts_with("a b.log.gz is counted beside a b.log; "), "{warnings:?}");
        place.write("one/logs/a.log.xz", "x");
        for is_followed in [false, true] {
            let refused = some_files(&place.path("one/logs/*"), is_followed).unwrap_err();
            assert!(refused.is_refused() && refused.to_string().contains("a.log.xz: "), "{refused}");
        }
        // A rotated one was read before it was packed, where its log is followed.
        let packed = place.path("one/logs/a.log.xz");
        fs::rename(&packed, packed.with_file_name("a.log.1.xz")).unwrap();
        let (followed, left_out) = followed_files(&place.path("one/logs/*")).unwrap();
        assert_eq!((followed.len(), left_out), (4, vec![packed.with_file_name("a.log.1.xz")]));
        assert!(some_files(&place.path("one/logs/*"), false).unwrap_err().is_refused());
    }
}
