//! The files that the path of a source leads to.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::bytes::Packing;
use super::pattern::{FilePattern, PathKind, entries, is_absent, is_hidden};
use super::reader::unreadable;
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

/// The files of a path that is followed, and what else it leads to.
#[derive(Debug, Default)]
pub(super) struct Listing {
    pub(super) files: Vec<PathBuf>,
    /// The rotated files that are packed in a way that is not read.
    pub(super) left_out: Vec<PathBuf>,
    /// The symbolic links that lead nowhere; one may do so for an instant, in a rotation.
    pub(super) dangling: Vec<PathBuf>,
}

/// The files of a path: all regular files of a directory, all matches of a pattern, or the file itself; hidden ones only
/// where they are named. They are in the order of their names, and rotated ones before their log, the oldest first.
fn files(path: &Path) -> Result<Vec<PathBuf>, SourceError> {
    let listing = all_files(path)?;
    match listing.dangling.first() {
        Some(link) => Err(leads_nowhere(link)),
        None => in_order(listing.files),
    }
}

/// The error of a symbolic link of which nobody knows what it would lead to.
fn leads_nowhere(link: &Path) -> SourceError {
    let why = "it is a symbolic link that leads to no file; mend or remove it, or give a path that does not match it";
    SourceError::lost(link.display().to_string()).because(why)
}

/// The files of a path in no order.
fn all_files(path: &Path) -> Result<Listing, SourceError> {
    let place = path.display().to_string();
    let lost = |error: io::Error| {
        SourceError::lost(&place).because(format!("found {}; give a file that can be read", found_by(&error)))
    };
    let mut listing = Listing::default();
    if path.is_dir() {
        for entry in fs::read_dir(path).map_err(lost)? {
            let entry = entry.map_err(lost)?;
            if !is_hidden(&entry.file_name()) {
                listing.add(entry.path())?;
            }
        }
        return Ok(listing);
    }
    let pattern = path.to_str().filter(|text| text.contains(['*', '?', '[']));
    match pattern {
        Some(pattern) if !path.exists() => {
            let no_pattern = |_| {
                SourceError::lost(&place).because("no pattern of files; give a path, or one with * in it")
            };
            let pattern = FilePattern::of(Path::new(pattern)).map_err(no_pattern)?;
            let directories = pattern.directories()?;
            listing.dangling.extend(directories.dangling);
            for directory in directories.found {
                for (name, _) in entries(&directory)? {
                    let file = pattern.path(&directory, &name);
                    if pattern.has_name(&file) {
                        listing.add(file)?;
                    }
                }
            }
        }
        _ => {
            fs::metadata(path).map_err(lost)?;
            listing.files.push(path.to_owned());
        }
    }
    Ok(listing)
}

impl Listing {
    /// Adds a path if it leads to a file. Nothing is left out that cannot be asked: a window would be released from a part of
    /// its lines.
    fn add(&mut self, path: PathBuf) -> Result<(), SourceError> {
        match PathKind::of(&path)? {
            PathKind::File => self.files.push(path),
            PathKind::DanglingLink => self.dangling.push(path),
            PathKind::Directory | PathKind::Other | PathKind::Gone => {}
        }
        Ok(())
    }
}

/// The files of a path, as in [`files`], and apart from them links that lead nowhere, and rotated ones that are packed in a
/// way that is not read: of what a run follows it has read them before.
pub(super) fn followed_files(path: &Path) -> Result<Listing, SourceError> {
    let is_left_out = |file: &PathBuf| {
        is_unread(file) && rotated_logs(&file.with_extension("")).any(|log| log != file.with_extension(""))
    };
    let Listing { files, dangling, .. } = all_files(path)?;
    let (left_out, files) = files.into_iter().partition(is_left_out);
    Ok(Listing { files: in_order(files)?, left_out, dangling })
}

fn is_unread(file: &Path) -> bool {
    file.extension().is_some_and(|ending| UNREAD.iter().any(|unread| ending == *unread))
}

fn in_order(mut files: Vec<PathBuf>) -> Result<Vec<PathBuf>, SourceError> {
    if let Some(file) = files.iter().find(|file| is_unread(file)) {
        let why = "it is packed in a way that is not read; pack it with gzip, bzip2 or zstd, or give a path that does not \
                   match it";
        return Err(SourceError::refused(file.display().to_string()).because(why));
    }
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
    let listing = match is_followed {
        true => followed_files(path)?,
        false => Listing { files: files(path)?, ..Listing::default() },
    };
    match listing {
        Listing { files, .. } if !files.is_empty() => Ok(files),
        Listing { dangling, .. } if !dangling.is_empty() => Err(leads_nowhere(&dangling[0])),
        _ => Err(SourceError::lost(path.display().to_string())
            .because("no file is there; give a path that leads to some")),
    }
}

/// The files of a path that is read to its end; an error where there is none, or they cannot be listed.
pub(in crate::job) fn listed_files(path: &Path) -> Result<Vec<PathBuf>, SourceError> {
    some_files(path, false)
}

/// Returns true for a pipe or a device; not for a file that was renamed since it was listed.
pub(super) fn is_stream(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|facts| !facts.is_file())
}

/// Opens each file of a path, as a run does, and reads none. Returns the symbolic links that lead nowhere, for which a live
/// run waits and a replay does not.
pub(in crate::job) fn try_files(path: &Path) -> Result<Vec<PathBuf>, SourceError> {
    let listing = followed_files(path)?;
    if listing.files.is_empty() {
        some_files(path, true)?;
    }
    for file in &listing.files {
        match File::open(file) {
            Err(error) if !is_absent(&error) => return Err(unreadable(&file.display().to_string(), &error)),
            // It was renamed or removed since.
            _ => {}
        }
    }
    Ok(listing.dangling)
}

/// Returns true if a rotation is at the logs of a path: there is none, and rotated ones are.
pub(super) fn is_in_rotation(path: &Path) -> bool {
    let Ok(pattern) = FilePattern::of(path) else { return false };
    // What cannot be read is no rotation: the listing says why.
    let directories = pattern.directories().unwrap_or_default();
    let is_rotated = |file: PathBuf| file.is_file() && rotated_logs(&file).any(|log| pattern.has_name(&log));
    directories.found.iter().any(|directory| {
        let names = entries(directory).unwrap_or_default();
        names.iter().any(|(name, _)| is_rotated(pattern.path(directory, name)))
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::ffi::OsStr;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;
    use crate::job::sources::tests::Place;

    // Refutes a log that is opened as a pipe by the name of its pattern, since it is renamed while a run starts.
    #[test]
    fn a_file_that_is_gone_is_no_stream() {
        let place = Place::new("stream");
        place.write("a.csv", "x");
        let streams = [Path::new("/dev/null"), &place.path("a.csv"), &place.path("a.csv.1")].map(is_stream);
        assert_eq!(streams, [true, false, false]);
    }

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
        let followed = followed_files(&place.path("one/logs/*")).unwrap();
        assert_eq!((followed.files.len(), followed.left_out), (4, vec![packed.with_file_name("a.log.1.xz")]));
        assert!(some_files(&place.path("one/logs/*"), false).unwrap_err().is_refused());
    }

    // Refutes a window that is released without the lines of a link that leads nowhere for now, as to a disk that is not
    // mounted.
    #[test]
    fn a_link_that_leads_nowhere_is_an_error_of_an_input_that_ends() {
        let place = Place::new("dangling");
        fs::create_dir_all(place.path("logs/x")).unwrap();
        place.write("logs/a.log", "x");
        place.write("logs/x/v.log", "x");
        let link = place.path("logs/b.log");
        for target in ["/nowhere/mounted/b.log", "a.log/b.log"] {
            symlink(target, &link).unwrap();
            for path in ["logs/*.log", "logs", "**/*.log", "logs/b*"] {
                let error = some_files(&place.path(path), false).unwrap_err().to_string();
                assert!(
                    error.contains("b.log: ") && error.contains("leads to no file; mend or"),
                    "{path}: {error}"
                );
            }
            let listing = followed_files(&place.path("logs/*.log")).unwrap();
            assert_eq!((listing.files.len(), listing.dangling), (1, vec![link.clone()]));
            let error = some_files(&place.path("logs/b*"), true).unwrap_err().to_string();
            assert!(error.contains("leads to no file"), "{error}");
            assert_eq!(some_files(&place.path("logs/a*"), false).unwrap().len(), 1, "it does not match");
            fs::remove_file(&link).unwrap();
        }
        symlink("/nowhere/mounted", place.path("logs/y")).unwrap();
        let error = some_files(&place.path("logs/*/v.log"), false).unwrap_err().to_string();
        assert!(error.contains("logs/y: ") && error.contains("leads to no file"), "{error}");
        fs::remove_file(place.path("logs/y")).unwrap();
        // A link that leads to a directory or a pipe is none that leads nowhere, and an editor's is hidden.
        symlink("x", place.path("logs/y")).unwrap();
        symlink("nowhere", place.path("logs/.#a.log")).unwrap();
        assert_eq!(some_files(&place.path("logs"), false).unwrap().len(), 1);
        assert_eq!(some_files(&place.path("logs/*/v.log"), false).unwrap().len(), 2);
    }

    // Refutes a file that is left out since its name can be listed and nothing else.
    #[test]
    fn what_cannot_be_asked_is_an_error() {
        let place = Place::new("unasked");
        for name in ["x", "y"] {
            fs::create_dir_all(place.path("logs").join(name)).unwrap();
            place.write(&format!("logs/{name}/v.log"), "x");
        }
        let chmod =
            |mode| fs::set_permissions(place.path("logs/y"), fs::Permissions::from_mode(mode)).unwrap();
        for mode in [0o444, 0o000] {
            chmod(mode);
            if rustix::process::geteuid().is_root() {
                println!("skipped: root may ask everything");
                break;
            }
            for path in ["logs/*/v.log", "logs/**/*.log", "logs/y/*.log"] {
                for is_followed in [false, true] {
                    let error = some_files(&place.path(path), is_followed).unwrap_err();
                    let text = error.to_string();
                    assert!(
                        !error.is_refused() && text.contains("logs/y") && text.contains("let this user"),
                        "{text}"
                    );
                }
            }
        }
        chmod(0o755);
        // A link that leads to itself cannot be asked by anybody.
        symlink("b.log", place.path("logs/b.log")).unwrap();
        for is_followed in [false, true] {
            let error = some_files(&place.path("logs/*.log"), is_followed).unwrap_err().to_string();
            assert!(error.contains("logs/b.log: ") && error.contains("let this user read it"), "{error}");
        }
    }
}
