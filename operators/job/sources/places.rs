//! Which files a source is.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::dataflow::SourceError;
use crate::invalid::found_by;

/// The files of a path, in the order of their names: all regular files of a directory, all matches of a pattern, or the
/// file itself.
pub(super) fn files(path: &Path) -> Result<Vec<PathBuf>, SourceError> {
    let place = path.display().to_string();
    let lost = |error: io::Error| {
        SourceError::lost(&place).because(format!("found {}; give a file that can be read", found_by(&error)))
    };
    if path.is_dir() {
        return in_order(fs::read_dir(path).map_err(lost)?.filter_map(|entry| match entry {
            Ok(entry) if entry.path().is_file() => Some(Ok(entry.path())),
            Ok(_) => None,
            Err(error) => Some(Err(lost(error))),
        }));
    }
    let pattern = path.to_str().filter(|text| text.contains(['*', '?', '[']));
    match pattern {
        Some(pattern) if !path.exists() => {
            let matches = glob::glob(pattern).map_err(|_| {
                SourceError::lost(&place).because("no pattern of files; give a path, or one with * in it")
            })?;
            in_order(matches.filter_map(|found| match found {
                Ok(file) if file.is_file() => Some(Ok(file)),
                Ok(_) => None,
                Err(error) => Some(Err(lost(error.into()))),
            }))
        }
        _ => fs::metadata(path).map(|_| vec![path.to_owned()]).map_err(lost),
    }
}

fn in_order(files: impl Iterator<Item = Result<PathBuf, SourceError>>) -> Result<Vec<PathBuf>, SourceError> {
    let mut files = files.collect::<Result<Vec<PathBuf>, SourceError>>()?;
    files.sort();
    Ok(files)
}

/// As [`files`], of which there must be some.
pub(super) fn some_files(path: &Path) -> Result<Vec<PathBuf>, SourceError> {
    match files(path)? {
        files if files.is_empty() => Err(SourceError::lost(path.display().to_string())
            .because("no file is there; give a path that leads to some")),
        files => Ok(files),
    }
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
            let found = some_files(&place.path(path))?;
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
}
