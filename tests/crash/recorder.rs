//! The sink, and the process behind it. Lines that have reached that process count as published: it writes
//! and syncs them before it acknowledges them, and outlives the subject.

use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

use discreet::ledger::failpoint::reached;
use discreet::ledger::{LedgerErrorKind, Row};

/// A connection to the recorder.
pub(crate) struct Sink(UnixStream);

impl Sink {
    /// Connects; every line put here is written to `log`.
    pub(crate) fn connect(socket: &Path, log: &Path) -> io::Result<Sink> {
        let mut stream = UnixStream::connect(socket)?;
        stream.write_all(format!("{}\n", log.display()).as_bytes())?;
        Ok(Sink(stream))
    }

    /// Delivers a line, in two halves, and waits until it is on the disk.
    pub(crate) fn put(&mut self, row: &Row) -> Result<(), Box<dyn std::error::Error>> {
        reached("before-put", LedgerErrorKind::Unknown)?;
        let (line, id) = (row.line(), row.release().id());
        let (first, second) = line.as_bytes().split_at(line.len() / 2);
        self.0.write_all(&[format!("{id} {}\n", line.len()).as_bytes(), first].concat())?;
        reached("mid-put", LedgerErrorKind::Unknown)?;
        self.0.write_all(second)?;
        self.0.read_exact(&mut [0])?;
        Ok(())
    }
}

/// Serves any number of subjects until it is killed.
pub(crate) fn serve(socket: &Path) -> io::Result<()> {
    let listener = UnixListener::bind(socket)?;
    println!("ready");
    for stream in listener.incoming() {
        let stream = stream?;
        // A subject that dies ends its own stream alone.
        std::thread::spawn(move || record(stream));
    }
    Ok(())
}

fn record(stream: UnixStream) -> io::Result<()> {
    let mut input = BufReader::new(stream.try_clone()?);
    let mut output = stream;
    let mut path = String::new();
    input.read_line(&mut path)?;
    let mut log = OpenOptions::new().append(true).create(true).open(path.trim_end())?;
    loop {
        let mut head = String::new();
        input.read_line(&mut head)?;
        let Some((id, length)) = head.strip_suffix('\n').and_then(|head| head.split_once(' ')) else {
            return Ok(());
        };
        let length: u64 = length.parse().map_err(io::Error::other)?;
        let mut line = Vec::new();
        (&mut input).take(length).read_to_end(&mut line)?;
        let whole = line.len() as u64 == length;
        // One write, so that the lines of two subjects of one ledger do not mix.
        let word = if whole { "whole" } else { "torn" };
        log.write_all(&[format!("{word} {id} ").as_bytes(), &line, b"\n"].concat())?;
        log.sync_data()?;
        if !whole {
            return Ok(());
        }
        output.write_all(b".")?;
    }
}
