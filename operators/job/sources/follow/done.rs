//! The files that were read to their ends and are gone, which are remembered for a while: a copy of one may come, and a
//! restart has to know that it was read.

use std::collections::BTreeMap;

use super::file::FollowedFile;
use super::files::{FollowedPath, base_of, generation_of};

/// A file that was read to its end and has no name any more.
pub(super) struct DoneFile {
    pub(super) name: String,
    pub(super) file: FollowedFile,
}

/// The number of such files that are remembered. In tests few, so that some are forgotten.
const REMEMBERED: usize = if cfg!(test) { 8 } else { 64 };

/// The number of them for each file that was followed at one time: all of many logs may be rotated at once.
const OF_EACH: usize = 4;

impl FollowedPath<'_> {
    /// Ends a file that is gone.
    pub(super) fn finish(&mut self, name: &str) {
        if let Some(mut file) = self.known.remove(name) {
            file.close();
            self.remember(name.to_owned(), file);
        }
    }

    /// Follows a file again that was gone.
    pub(super) fn follow_again(&mut self, name: &str) {
        if let Some(at) = self.done.iter().position(|done| done.name == name) {
            self.known.extend(self.done.remove(at).map(|done| (done.name, done.file)));
        }
    }

    /// A file that is followed, or was and is remembered.
    pub(super) fn file(&self, name: &str) -> Option<&FollowedFile> {
        let done = || self.done.iter().find(|done| done.name == name).map(|done| &done.file);
        self.known.get(name).or_else(done)
    }

    pub(super) fn file_mut(&mut self, name: &str) -> Option<&mut FollowedFile> {
        let done = self.done.iter_mut().find(|done| done.name == name).map(|done| &mut done.file);
        self.known.get_mut(name).or(done)
    }

    /// Remembers a file that is gone, and forgets others where they are too many.
    pub(super) fn remember(&mut self, name: String, mut file: FollowedFile) {
        file.is_log = false;
        self.done.push_back(DoneFile { name, file });
        self.most_known = self.most_known.max(self.known.len());
        if self.done.len() > REMEMBERED.max(OF_EACH * self.most_known) {
            let gone = oldest(self.done.iter().map(|done| &*done.name)).and_then(|at| self.done.remove(at));
            gone.into_iter().for_each(|gone| _ = self.sure.remove(&gone.name));
        }
    }

    /// Puts the files that a former run remembered in the order of their last changes.
    pub(super) fn order_done(&mut self) {
        self.done.make_contiguous().sort_by_key(|done| done.file.changed());
    }
}

/// The place of the oldest file of the log of which most are remembered: its newest ones are those that windows need and
/// that a rotation is still at. Files of several logs, and those of a former run, are in no order of time.
fn oldest<'a>(names: impl Iterator<Item = &'a str>) -> Option<usize> {
    let mut logs: BTreeMap<&str, Vec<(u64, usize)>> = BTreeMap::new();
    for (at, name) in names.enumerate() {
        logs.entry(base_of(name)).or_default().push((generation_of(name), at));
    }
    let most = logs.values().map(Vec::len).max()?;
    let oldest =
        logs.into_values().filter(|files| files.len() == most).filter_map(|files| files.into_iter().min());
    oldest.map(|(_, at)| at).min()
}

#[cfg(test)]
mod tests {
    use super::oldest;

    #[test]
    fn the_oldest_file_of_the_log_with_most_is_forgotten() {
        let oldest = |names: &[&str]| oldest(names.iter().copied());
        assert_eq!(oldest(&[]), None);
        assert_eq!(oldest(&["a", "b", "b//1"]), Some(1));
        assert_eq!(oldest(&["a//3", "b", "a//2", "a//10", "b//1"]), Some(2), "in no order");
        assert_eq!(oldest(&["a//3", "b//1", "a//2", "b"]), Some(2), "two logs with as many");
    }
}
