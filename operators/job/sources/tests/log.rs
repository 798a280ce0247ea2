//! A program that writes a log, what rotates it, and the paths by which it is followed.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};

use super::following::{Followed, Settable};
use super::*;

/// A program that writes a log, and what rotates it.
pub(super) struct Log {
    pub(super) place: Place,
    /// The open file of the writer, which goes on in a file that was renamed until it opens the new one.
    open: File,
    pub(super) written: u64,
    begins: Beginning,
}

/// The beginning of each file of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beginning {
    Nothing,
    /// The header of a table of many columns, which is longer than what is compared.
    Header,
    /// Comments that are longer than what is compared, and a header.
    Comments,
    /// This number of equal records.
    Records(usize),
}

impl Beginning {
    pub(super) const ALL: [Beginning; 5] = [
        Beginning::Nothing,
        Beginning::Header,
        Beginning::Comments,
        Beginning::Records(1),
        Beginning::Records(100),
    ];
}

/// The number of columns of a table beside the user's.
const COLUMNS: usize = 70;

/// The user of the records with which files begin.
pub(super) const BEGINNING: &str = "the program";

pub(super) fn line(number: u64) -> String {
    format!("{{\"user\":\"somebody {number}\"}}\n")
}

impl Log {
    pub(super) fn new(name: &str) -> Log {
        let place = Place::new(name);
        let open = Log::opened(&place, Beginning::Nothing);
        Log { place, open, written: 0, begins: Beginning::Nothing }
    }

    /// One whose files begin alike.
    pub(super) fn beginning(name: &str, begins: Beginning) -> Log {
        let place = Place::new(name);
        let open = Log::opened(&place, begins);
        Log { place, open, written: 0, begins }
    }

    fn opened(place: &Place, begins: Beginning) -> File {
        let mut file = OpenOptions::new().append(true).create(true).open(place.path("a.log")).unwrap();
        if file.metadata().unwrap().len() == 0 {
            let text = match begins {
                Beginning::Nothing => String::new(),
                Beginning::Header => {
                    let columns = (0..COLUMNS).map(|column| format!(",a_column_of_the_log_{column}"));
                    format!("user{}\n", columns.collect::<String>())
                }
                Beginning::Comments => format!("{}user\n", "# a line on what this log has\n".repeat(60)),
                Beginning::Records(number) => format!("{{\"user\":\"{BEGINNING}\"}}\n").repeat(number),
            };
            file.write_all(text.as_bytes()).unwrap();
        }
        file
    }

    fn line(&self, number: u64) -> String {
        match self.begins {
            Beginning::Header => format!("somebody {number}{}\n", ",".repeat(COLUMNS)),
            Beginning::Comments => format!("'somebody {number}'\n"),
            _ => line(number),
        }
    }

    pub(super) fn write(&mut self, lines: u64) {
        let text: String = (self.written..self.written + lines).map(|number| self.line(number)).collect();
        self.open.write_all(text.as_bytes()).unwrap();
        self.written += lines;
    }

    pub(super) fn reopen(&mut self) {
        self.open = Log::opened(&self.place, self.begins);
    }

    pub(super) fn exists(&self, name: &str) -> bool {
        self.place.path(name).exists()
    }

    /// Renames the older files: `a.log.1` to `a.log.2`, and so on.
    pub(super) fn shift(&self) {
        for number in (1..9).rev() {
            for packed in ["", ".gz"] {
                let of = |number: u32| self.place.path(&format!("a.log.{number}{packed}"));
                if of(number).exists() {
                    fs::rename(of(number), of(number + 1)).unwrap();
                }
            }
        }
    }

    pub(super) fn rename(&self) {
        self.shift();
        if self.exists("a.log") {
            fs::rename(self.place.path("a.log"), self.place.path("a.log.1")).unwrap();
        }
    }

    /// Copies the file and cuts it, as `copytruncate` does.
    pub(super) fn copy_and_cut(&self) {
        self.shift();
        if self.exists("a.log") {
            fs::copy(self.place.path("a.log"), self.place.path("a.log.1")).unwrap();
            OpenOptions::new().write(true).open(self.place.path("a.log")).unwrap().set_len(0).unwrap();
            drop(Log::opened(&self.place, self.begins));
        }
    }

    /// Packs a file and removes it, as `gzip` does.
    pub(super) fn pack(&self, name: &str) {
        if self.exists(name) {
            let bytes = fs::read(self.place.path(name)).unwrap();
            let packed = packed(Packing::Gzip, &bytes);
            let (first, rest) = packed.split_at(packed.len() / 2);
            self.place.write(&format!("{name}.gz"), first);
            self.place.append(&format!("{name}.gz"), rest);
            let written = fs::metadata(self.place.path(name)).unwrap().modified().unwrap();
            let file = OpenOptions::new().append(true).open(self.place.path(&format!("{name}.gz"))).unwrap();
            file.set_modified(written).unwrap();
            fs::remove_file(self.place.path(name)).unwrap();
        }
    }

    pub(super) fn remove(&self, name: &str) {
        if self.exists(name) {
            fs::remove_file(self.place.path(name)).unwrap();
        }
    }

    pub(super) fn source(&self, path: &str) -> (SourceSpec, Protected) {
        let path = self.place.path(path);
        let kind = match self.begins {
            Beginning::Header => "\"csv\"",
            Beginning::Comments => "\"csv\"\ndelimiter = \"\\t\"\nquote = \"'\"\ncomment = \"#\"",
            _ => "\"jsonl\"",
        };
        stated(&format!("type = {kind}\npath = {:?}", path.to_str().unwrap()), USER)
    }

    /// Follows it by a pattern or a name, on two workers.
    pub(super) fn follow(&self, path: &str) -> Followed {
        Followed::new(&self.source(path), &Arc::<Settable>::default(), 2)
    }

    /// Compares what was given with the lines from one number on that were written.
    pub(super) fn check(&self, followed: &[Followed]) -> Result<(), String> {
        let mut given: BTreeMap<Id, u32> = BTreeMap::new();
        for record in followed.iter().flat_map(|followed| &followed.found) {
            *given.entry(record.person).or_default() += 1;
        }
        // Where a file begins as another one that was read, its beginning may be taken for that.
        given.remove(&id(BEGINNING.as_bytes()));
        for number in 0..self.written {
            match given.remove(&id(format!("somebody {number}").as_bytes())) {
                Some(1) => {}
                times => return Err(format!("line {number} of {} was given {times:?} times", self.written)),
            }
        }
        if given.is_empty() { Ok(()) } else { Err("lines that nobody wrote".to_owned()) }
    }
}

pub(super) const PATHS: [&str; 3] = ["a.log", "a.log*", ""];
