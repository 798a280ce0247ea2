//! The agreement of several processes on what they have read: each reads its own copies of the files, and compares them
//! with those of the others.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::POLL_INTERVAL;
use super::files::{FollowedPath, base_of};
use crate::job::sources::accord::{Behind, FileReport, InputAgreement, ProcessReport};
use crate::job::sources::dealer::{Dealer, Progress};
use crate::job::sources::reader::ReadStop;
use crate::time::Time;

impl FollowedPath<'_> {
    /// Waits until all processes have read the same; returns the moment up to which they all have.
    pub(super) fn agree(
        &mut self,
        now: Time,
        dealer: &mut Dealer,
        progress: &Arc<Progress>,
    ) -> Result<Time, ReadStop> {
        let Some(mut accord) = self.accord.take() else { return Ok(now) };
        let report = ProcessReport { time: now, files: self.unreported() };
        let (mut earliest, mut places) = (now, Vec::new());
        for (process, other) in accord.exchange(&report, dealer)? {
            earliest = earliest.min(other.time);
            places.extend(other.files.into_iter().map(|read| (process, read)));
        }
        // Each reported position as this process reaches it.
        places.sort_by_key(|(_, read)| read.length);
        for (process, read) in &places {
            self.catch_up(&accord, (*process, read), dealer, progress)?;
        }
        self.accord = Some(accord);
        Ok(earliest)
    }

    /// The files that were read further since the last report to the others.
    fn unreported(&mut self) -> Vec<FileReport> {
        let done = self.done.iter_mut().filter_map(|done| done.file.new_report(&done.name));
        let known = self.known.iter_mut().filter_map(|(name, file)| file.new_report(name));
        done.chain(known).collect()
    }

    /// This process's report on a file, and the path of the file.
    fn report(&self, name: &str) -> (Option<FileReport>, &Path) {
        match self.file(name) {
            Some(file) => (file.report(name), &file.path),
            None => (None, self.path),
        }
    }

    /// Reads a file as far as another process has read it, and compares it there.
    fn catch_up(
        &mut self,
        accord: &InputAgreement,
        (process, other): (usize, &FileReport),
        dealer: &mut Dealer,
        progress: &Arc<Progress>,
    ) -> Result<(), ReadStop> {
        let mut behind = Behind::new(0);
        loop {
            let read = self.report(&other.file).0.map_or(0, |own| own.length);
            if read < other.length {
                self.read_file(&other.file, other.length, dealer, progress)?;
            }
            let (own, path) = self.report(&other.file);
            let (length, place) = (own.as_ref().map_or(0, |own| own.length), path.display().to_string());
            if let Some(own) = &own {
                let grows = !own.whole && !other.whole;
                // The other process is behind, and compares what it has at the place where this one is.
                if length > other.length && grows {
                    return Ok(());
                }
                if length == other.length || !grows {
                    return Ok(accord.compare_file(own, (process, other), || place)?);
                }
            }
            if behind.is_too_late(length) {
                let own = if own.is_some() { format!("{length} bytes") } else { "nothing".to_owned() };
                let place = if own == "nothing" { format!("{place}: {}", other.file) } else { place };
                return Err(accord.mismatch(place, own, (process, format!("{} bytes", other.length))).into());
            }
            dealer.wait()?;
            std::thread::sleep(POLL_INTERVAL / 5);
            // The file that it follows may have been cut: then it has begun here too.
            let former = self.known.iter().filter(|(name, _)| base_of(name) == base_of(&other.file));
            let former: Vec<(String, u64)> =
                former.map(|(name, file)| (name.clone(), file.content.length())).collect();
            for (name, length) in former.into_iter().filter(|(name, _)| *name != other.file) {
                self.read_file(&name, length, dealer, progress)?;
            }
            self.list(Duration::ZERO, dealer, progress)?;
        }
    }
}
