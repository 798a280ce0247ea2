//! Symbolic links of a path that lead nowhere: in a rotation for an instant, and to a disk that is not mounted for long.

use std::path::PathBuf;
use std::time::Instant;

use super::files::{FollowedPath, MISSED};

impl FollowedPath<'_> {
    /// Notes the links that lead nowhere, and reports those that have done so for some time. The look is not complete: nobody
    /// knows what is in the files that they will lead to.
    pub(super) fn note_dangling(&mut self, links: Vec<PathBuf>) {
        self.is_complete &= links.is_empty();
        let known = std::mem::take(&mut self.dangling);
        let since = |link: &PathBuf| known.get(link).copied().unwrap_or((Instant::now(), false));
        self.dangling = links.into_iter().map(|link| (link.clone(), since(&link))).collect();
        let is_due =
            |(_, (since, is_reported)): &(_, &mut (Instant, bool))| since.elapsed() > MISSED && !*is_reported;
        let mut due = self.dangling.iter_mut().filter(is_due).map(|(link, (_, is_reported))| {
            *is_reported = true;
            link
        });
        let Some(link) = due.next() else { return };
        let others = match due.count() {
            0 => String::new(),
            others => format!(", as {others} more"),
        };
        self.survey.warn(&format!(
            "source.path: {}: it is a symbolic link that leads to no file{others}; windows stay open until it does: mend or \
             remove it, or give a path that does not match it",
            link.display()
        ));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    use super::super::between::tests::{follow, text};
    use super::*;
    use crate::job::sources::survey::{Survey, Warn};
    use crate::job::sources::tests::Place;

    // Refutes a window that is sealed without the lines of a file to which a link does not lead for now, and a warning at
    // each look.
    #[test]
    fn no_look_is_complete_while_a_link_leads_nowhere() {
        for path in ["logs/*.log", "logs", "*/a.log"] {
            let place = Place::new("dangling-live");
            fs::create_dir_all(place.path("logs")).unwrap();
            place.write("logs/a.log", text("one", 0..3));
            let link = place.path(if path == "*/a.log" { "more" } else { "logs/b.log" });
            let said = Arc::new(Mutex::new(Vec::new()));
            let heard = Arc::clone(&said);
            let warn: Warn = Box::new(move |warning| heard.lock().unwrap().push(warning.to_owned()));
            let lines = follow(&place.path(path), |files, dealer, progress| {
                files.survey = Arc::new(Survey::for_run(Vec::new(), (Some(0), None), Some(warn)));
                let mut look = |files: &mut FollowedPath<'_>, is_complete: bool, warnings: usize| {
                    let read = files.read(Duration::ZERO, dealer, progress);
                    assert!(matches!(read, Ok(complete) if complete == is_complete), "{path}");
                    assert_eq!(said.lock().unwrap().len(), warnings, "{path}");
                };
                let wait = |files: &mut FollowedPath<'_>| {
                    files
                        .dangling
                        .values_mut()
                        .for_each(|(since, _)| *since -= MISSED + Duration::from_secs(1));
                };
                look(files, true, 0);
                for mended in 0..2 {
                    symlink(place.path("mounted"), &link).unwrap();
                    look(files, false, mended);
                    wait(files);
                    look(files, false, mended + 1);
                    look(files, false, mended + 1);
                    fs::remove_file(&link).unwrap();
                    look(files, true, mended + 1);
                }
                let warning = said.lock().unwrap()[0].clone();
                assert!(warning.contains(&format!("{}: it is a symbolic link", link.display())), "{warning}");
                assert!(warning.contains(": mend or remove it"), "{warning}");
                symlink(place.path("mounted"), &link).unwrap();
                look(files, false, 2);
                match path {
                    "*/a.log" => {
                        fs::create_dir(place.path("mounted")).unwrap();
                        place.write("mounted/a.log", text("two", 0..5));
                    }
                    _ => place.write("mounted", text("two", 0..5)),
                }
                look(files, true, 2);
            });
            assert_eq!(lines, 3 + 5, "{path}");
        }
    }

    // Refutes a link that leads nowhere once its name was read, and whose lines no window waits for.
    #[test]
    fn a_link_that_leads_nowhere_once_it_was_listed_is_waited_for() {
        let place = Place::new("dangling-listed");
        let link = place.path("b.json");
        symlink("nowhere", &link).unwrap();
        follow(&place.path("*.json"), |files, _, _| {
            let (found, is_whole) = files.by_file(std::slice::from_ref(&link)).unwrap();
            assert!(found.is_empty() && !is_whole);
        });
    }
}
