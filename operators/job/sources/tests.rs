//! The whole way from bytes to records, and what its tests share.
#![allow(clippy::unwrap_used)]
mod alike;
mod beginnings;
mod conditions;
mod copied;
mod exploded;
mod following;
mod log;
mod many;
mod marked;
mod mirrored;
mod oracle;
mod processes;
mod refusals;
mod restarts;
mod rotation;
mod sorted;
mod synthetic;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::bytes::Packing;
use super::cutter::Sizes;
use super::input::open_in;
use super::*;
use crate::dataflow::{Pulled, Source as _, SourceError};
use crate::job::config::{Job, Protected, SourceSpec};
use crate::job::derived::DerivedFields;

/// A directory of its own that is gone when the test is.
pub(super) struct Place(PathBuf);

impl Place {
    pub(super) fn new(name: &str) -> Place {
        let path = std::env::temp_dir().join(format!("discreet-sources-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Place(path)
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        if name.is_empty() { self.0.clone() } else { self.0.join(name) }
    }

    pub(super) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).unwrap();
    }

    pub(super) fn append(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let mut file = fs::OpenOptions::new().append(true).create(true).open(self.path(name)).unwrap();
        file.write_all(bytes.as_ref()).unwrap();
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// These bytes, packed.
pub(super) fn packed(packing: Packing, bytes: &[u8]) -> Vec<u8> {
    match packing {
        Packing::Plain => bytes.to_vec(),
        Packing::Gzip => {
            let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            packer.write_all(bytes).unwrap();
            packer.finish().unwrap()
        }
        Packing::Bzip2 => {
            let mut packer = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
            packer.write_all(bytes).unwrap();
            packer.finish().unwrap()
        }
        Packing::Zstandard => {
            ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
        }
    }
}

pub(super) type Given = SourceRecord<Id, Id>;

/// A source as a job file states it, and who is protected.
pub(super) fn stated(source: &str, person: &str) -> (SourceSpec, Protected) {
    let text = format!(
        "[job]\nname = \"a\"\nversion = 1\n[source]\n{source}\n[privacy]\n{person}\npromise = \"lifetime\"\n\
         budget = {{ rho = 1 }}\nledger = \"a.ledger\"\naccount = \"a\"\n\
         [[release]]\nname = \"a\"\nevery = \"all\"\npeople = {{}}\nnoise = \"gaussian\"\nshare = 1\n"
    );
    let job = Job::parse("job.toml", &text).unwrap();
    (job.source, job.privacy.privacy_unit)
}

const USER: &str = "person = { field = \"user\", missing = \"drop\" }";

fn csv(path: &Path, more: &str) -> (SourceSpec, Protected) {
    stated(&format!("type = \"csv\"\npath = {:?}\n{more}", path.to_str().unwrap()), USER)
}

pub(super) fn wanted(keys: &[&str], values: &[(&str, i32)], time: bool) -> FieldRequirements {
    let keys =
        keys.iter().map(|&field| KeyField { fields: vec![field.to_owned()], condition: None }).collect();
    let values =
        values.iter().map(|&(field, digits)| NumberField { field: field.to_owned(), digits }).collect();
    let derived = DerivedFields::default();
    FieldRequirements { keys, values, derived, secret: [7; 32], time, span: None, survey: Survey::none() }
}

pub(super) fn threads(threads: usize) -> Crew {
    Crew { process: 0, processes: 1, threads }
}

fn sizes(chunk: usize) -> Sizes {
    Sizes { chunk, line: 1 << 20, block: chunk, patience: Duration::from_secs(2) }
}

fn id(bytes: &[u8]) -> Id {
    <Id as PersonIdentity>::of(bytes, &[7; 32])
}

pub(super) fn of(input: &SourceInput, workers: usize) -> Vec<SourcePart<Id, Id>> {
    (0..workers).map(|worker| input.part(worker)).collect()
}

/// Everything that the parts give until all have ended or one fails, each part's own; and what each had
/// declared.
pub(super) fn drained(mut parts: Vec<SourcePart<Id, Id>>) -> Result<Vec<Vec<Given>>, SourceError> {
    let mut given: Vec<Vec<Given>> = parts.iter().map(|_| Vec::new()).collect();
    let mut open: Vec<usize> = (0..parts.len()).collect();
    let deadline = Instant::now() + Duration::from_secs(60);
    while !open.is_empty() {
        assert!(Instant::now() < deadline, "the parts never end");
        let mut gone = None;
        open.retain(|part| match parts[*part].pull(&mut given[*part]) {
            Ok(Pulled::End) => false,
            Ok(Pulled::Idle) => {
                std::thread::sleep(Duration::from_micros(50));
                true
            }
            Ok(_) => true,
            Err(found) => {
                gone = Some(found);
                true
            }
        });
        if let Some(gone) = gone {
            return Err(gone);
        }
    }
    Ok(given)
}

/// As [`drained`], of a source that is opened for it, everything together and in order.
pub(super) fn read(
    source: &(SourceSpec, Protected),
    wanted: &FieldRequirements,
    workers: usize,
) -> Result<Vec<Given>, SourceError> {
    let input =
        open(&source.0, &source.1, wanted.clone(), InputPace::Bounded, threads(workers), Brake::new())?;
    let mut all = drained(of(&input, workers))?.concat();
    all.sort();
    Ok(all)
}
