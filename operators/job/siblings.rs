//! The files beside a log or an output, and those of them to which a rotation has given their names.

use std::cell::RefCell;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::rotation::{is_rotated, name_of};

thread_local! {
    /// The directory that was listed last: of a thousand logs that are rotated at once, each is sought beside all others.
    static LAST: RefCell<Option<DirectoryNames>> = const { RefCell::new(None) };
}

/// The paths in the directory of a path, this one among them; none where it cannot be listed.
pub(super) fn paths_beside(path: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(directory_of(path)).into_iter().flatten().flatten();
    entries.map(|entry| path.with_file_name(entry.file_name()))
}

/// The files beside a path that have a name that a rotation makes of it.
pub(super) fn siblings_of(path: &Path) -> Vec<PathBuf> {
    let directory = directory_of(path);
    let Ok(stamp) = DirectoryStamp::of(directory) else { return Vec::new() };
    let siblings = LAST.with_borrow_mut(|last| {
        let seen = last.as_ref().filter(|last| last.stamp == stamp).map(|last| last.seen);
        let names = match last.take().filter(|last| last.stamp == stamp && last.is_settled()) {
            Some(names) => names,
            None => DirectoryNames::of(directory, stamp, seen).ok()?,
        };
        Some(last.insert(names).rotated(path))
    });
    let mut siblings = siblings.unwrap_or_default();
    siblings.retain(|path| path.is_file());
    siblings
}

fn directory_of(path: &Path) -> &Path {
    // A path without a directory lies in the current one.
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// What changes when a name comes to a directory or goes.
#[derive(Clone, Copy, PartialEq, Eq)]
struct DirectoryStamp {
    device: u64,
    node: u64,
    /// The time of the last change, which no program sets: seconds and nanoseconds.
    changed: (i64, i64),
}

impl DirectoryStamp {
    fn of(directory: &Path) -> io::Result<DirectoryStamp> {
        let facts = fs::metadata(directory)?;
        let changed = (facts.ctime(), facts.ctime_nsec());
        Ok(DirectoryStamp { device: facts.dev(), node: facts.ino(), changed })
    }

    /// The time within which two changes may have one stamp: a tick of the kernel, or two seconds where the file system counts
    /// in seconds.
    fn step(self) -> Duration {
        if self.changed.1 == 0 { Duration::from_secs(2) } else { Duration::from_millis(20) }
    }
}

/// The names in a directory.
struct DirectoryNames {
    stamp: DirectoryStamp,
    /// The time at which the stamp was first seen, and the one at which the names were listed.
    seen: Instant,
    listed: Instant,
    /// In order, each with its text first.
    names: Vec<(String, OsString)>,
}

impl DirectoryNames {
    /// Lists a directory that has a stamp, which was seen before at a time.
    fn of(directory: &Path, stamp: DirectoryStamp, seen: Option<Instant>) -> io::Result<DirectoryNames> {
        let listed = Instant::now();
        let named = |entry: io::Result<fs::DirEntry>| {
            let name = entry?.file_name();
            Ok((name.to_string_lossy().into_owned(), name))
        };
        let mut names = fs::read_dir(directory)?.map(named).collect::<io::Result<Vec<_>>>()?;
        names.sort();
        Ok(DirectoryNames { stamp, seen: seen.unwrap_or(listed), listed, names })
    }

    /// Returns true if names that came or went since they were listed have given the directory another stamp.
    fn is_settled(&self) -> bool {
        self.listed.duration_since(self.seen) >= self.stamp.step()
    }

    /// The paths that a rotation makes of this one, in their order.
    fn rotated(&self, path: &Path) -> Vec<PathBuf> {
        let Some(log) = name_of(path) else { return Vec::new() };
        // What a rotation puts into a name follows this part.
        let stem = log.rsplit_once('.').map_or(&*log, |(stem, _)| stem);
        let first = self.names.partition_point(|(name, _)| name.as_str() < stem);
        let like = self.names.iter().skip(first).take_while(|(name, _)| name.starts_with(stem));
        let mut paths: Vec<PathBuf> = like.map(|(_, name)| path.with_file_name(name)).collect();
        paths.retain(|found| is_rotated(path, found));
        paths
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::thread;

    use super::*;

    fn directory(name: &str) -> PathBuf {
        let directory = std::env::temp_dir().join(format!("discreet-siblings-{}-{name}", std::process::id()));
        _ = fs::remove_dir_all(&directory);
        fs::create_dir_all(&directory).unwrap();
        directory
    }

    // Refutes names of another time: a file system gives several changes one stamp, and a directory another one its name.
    #[test]
    fn each_name_is_seen_at_once() {
        let place = directory("at-once");
        let (log, away) = (place.join("a.log"), place.with_extension("away"));
        for number in 0..400 {
            let rotated = place.join(format!("a.log.{number}"));
            fs::write(&rotated, "").unwrap();
            assert!(siblings_of(&log).contains(&rotated), "{number} has come");
            if number % 100 == 0 {
                thread::sleep(Duration::from_millis(50));
                siblings_of(&log);
                assert!(siblings_of(&log).contains(&rotated), "{number} is there");
            }
            fs::remove_file(&rotated).unwrap();
            assert!(siblings_of(&log).is_empty(), "{number} is gone");
        }
        fs::write(place.join("a.log.1"), "").unwrap();
        assert_eq!(siblings_of(&log).len(), 1);
        fs::rename(&place, &away).unwrap();
        assert!(siblings_of(&log).is_empty());
        fs::create_dir(&place).unwrap();
        assert!(siblings_of(&log).is_empty());
        fs::remove_dir_all(&place).unwrap();
        fs::remove_dir_all(&away).unwrap();
    }

    // Refutes names that are listed for each log again, though nothing has changed, and ones that are not listed again within
    // the step of the file system.
    #[test]
    fn names_are_listed_once_where_none_has_changed() {
        let place = directory("once");
        for name in ["a.log", "a.log.1", "b.log", "b.log.1"] {
            fs::write(place.join(name), "").unwrap();
        }
        let listed = || LAST.with_borrow(|last| last.as_ref().map(|last| last.listed));
        let stamp = DirectoryStamp::of(&place).unwrap();
        siblings_of(&place.join("a.log"));
        let first = listed();
        siblings_of(&place.join("a.log"));
        assert!(listed() > first);
        thread::sleep(stamp.step() + Duration::from_millis(10));
        siblings_of(&place.join("a.log"));
        let settled = listed();
        assert!(settled > first);
        for log in ["a.log", "b.log", "c.log"] {
            siblings_of(&place.join(log));
        }
        assert!(listed() == settled);
        fs::remove_dir_all(&place).unwrap();
    }

    // Refutes siblings that a search by the first letters does not find, and those of other logs.
    #[test]
    fn the_siblings_of_a_log_are_those_among_all_names() {
        let place = directory("all");
        let bytes = OsStr::from_bytes(b"\xff.log.1");
        let names = [
            "a.log",
            "a.log.1",
            "a-20261124.log",
            "a.log-20261124.gz",
            "a",
            "a.1",
            "a~",
            "ab.log.1",
            "A.log.1",
        ];
        let names: Vec<&OsStr> = names.into_iter().map(OsStr::new).chain([bytes]).collect();
        for name in &names {
            fs::write(place.join(name), "").unwrap();
        }
        for log in ["a.log", "a", "ab.log", "A.log", "b.log", "\u{fffd}.log"] {
            let log = place.join(log);
            let mut expected: Vec<PathBuf> = names.iter().map(|name| place.join(name)).collect();
            expected.retain(|path| is_rotated(&log, path));
            expected.sort();
            assert_eq!(siblings_of(&log), expected, "{}", log.display());
        }
        fs::create_dir(place.join("a.log.2")).unwrap();
        assert!(!siblings_of(&place.join("a.log")).contains(&place.join("a.log.2")));
        fs::remove_dir_all(&place).unwrap();
    }
}
