//! The combined log of a web server: `client ident user [time] "method path protocol" status bytes "referer"
//! "agent"`, in which `-` stands for nothing.

use memchr::{memchr, memchr2, memmem};

use super::{Bad, LINE_END, LineFault, OPEN_QUOTE};
use crate::job::sources::wanted::LineCells;

/// The cells for the fields of the log.
#[derive(Clone, Debug)]
pub(in crate::job::sources) struct Combined {
    client: Option<usize>,
    user: Option<usize>,
    time: Option<usize>,
    method: Option<usize>,
    path: Option<usize>,
    status: Option<usize>,
    bytes: Option<usize>,
    referer: Option<usize>,
    agent: Option<usize>,
}

impl Combined {
    pub(in crate::job::sources) fn new(fields: &[String]) -> Combined {
        let cell = |name: &str| fields.iter().position(|field| field == name);
        Combined {
            client: cell("client"),
            user: cell("user"),
            time: cell("time"),
            method: cell("method"),
            path: cell("path"),
            status: cell("status"),
            bytes: cell("bytes"),
            referer: cell("referer"),
            agent: cell("agent"),
        }
    }

    #[inline]
    pub(super) fn read(&self, line: &[u8], cells: &mut LineCells) -> Result<(), Bad> {
        self.parse(line, cells, &mut CLIENT.clone()).map_err(|_| Bad)
    }

    /// Reads a line; `part` becomes the one that is being read. An error says what was found there.
    #[inline]
    fn parse(&self, line: &[u8], cells: &mut LineCells, part: &mut LinePart) -> Result<(), &'static str> {
        let mut rest = Rest { line, at: 0 };
        rest.word(self.client, cells)?;
        *part = ("ident", "a word and a space");
        rest.word(None, cells)?;
        // A user's name may have spaces in it.
        *part = ("user", "a name before \" [\"");
        rest.until(b" [", self.user, cells)?;
        *part = ("time", "a time before \"] \"");
        rest.until(b"] \"", self.time, cells)?;
        *part = ("request", "a text in quotation marks and a space");
        let (from, to) = rest.quoted()?;
        self.request(line, from, to, cells);
        rest.space()?;
        *part = ("status", "a word");
        rest.word(self.status, cells)?;
        *part = ("bytes", "a word");
        rest.word(self.bytes, cells)?;
        // A log in the common format ends here.
        if self.referer.is_none() && self.agent.is_none() {
            return Ok(());
        }
        for (name, cell) in [("referer", self.referer), ("agent", self.agent)] {
            *part = (name, "a text in quotation marks, as of the combined format");
            match rest.byte() {
                Some(b'"') => {}
                Some(_) => return Err("a text without quotation marks"),
                None => return Err(LINE_END),
            }
            let (from, to) = rest.quoted()?;
            text(cell, line, from, to, cells);
            let _ = rest.space();
        }
        Ok(())
    }

    /// Returns the fault of a line that cannot be read.
    pub(super) fn fault(&self, line: &[u8], cells: &mut LineCells) -> LineFault {
        let mut part = CLIENT;
        let found = self.parse(line, cells, &mut part).err().unwrap_or(LINE_END);
        let (field, wanted) = part;
        LineFault::of(field, found, wanted)
    }

    /// Takes `GET /path HTTP/1.1` apart. A request that is not HTTP is a method by itself, with no path.
    fn request(&self, line: &[u8], from: usize, to: usize, cells: &mut LineCells) {
        let request = line.get(from..to).unwrap_or_default();
        let end = memchr(b' ', request).unwrap_or(request.len());
        text(self.method, line, from, from + end, cells);
        let path = (end + 1).min(request.len());
        let tail = memmem::rfind(request, b" HTTP/").filter(|at| *at >= path).unwrap_or(request.len());
        text(self.path, line, from + path, from + tail, cells);
    }
}

/// A part of a line: its name, and the kind of what is read there.
type LinePart = (&'static str, &'static str);

const CLIENT: LinePart = ("client", "a word and a space");

/// The unread rest of a line.
struct Rest<'l> {
    line: &'l [u8],
    at: usize,
}

impl Rest<'_> {
    fn left(&self) -> &[u8] {
        self.line.get(self.at..).unwrap_or_default()
    }

    fn byte(&mut self) -> Option<u8> {
        let byte = self.left().first().copied();
        self.at += 1;
        byte
    }

    fn space(&mut self) -> Result<(), &'static str> {
        match self.byte() {
            Some(b' ') => Ok(()),
            Some(_) => Err("no space behind it"),
            None => Err(LINE_END),
        }
    }

    /// Reads a word, and the space behind it, if the line goes on.
    fn word(&mut self, cell: Option<usize>, cells: &mut LineCells) -> Result<(), &'static str> {
        let length = memchr(b' ', self.left()).unwrap_or(self.left().len());
        if length == 0 {
            return Err(if self.left().is_empty() { LINE_END } else { "a second space" });
        }
        let from = self.at;
        self.at += length + 1;
        plain(cell, self.line, from, from + length, cells);
        Ok(())
    }

    fn until(&mut self, end: &[u8], cell: Option<usize>, cells: &mut LineCells) -> Result<(), &'static str> {
        let length = memmem::find(self.left(), end).ok_or(LINE_END)?;
        let from = self.at;
        self.at += length + end.len();
        plain(cell, self.line, from, from + length, cells);
        Ok(())
    }

    /// Reads up to the next quotation mark that has no backslash before it, from behind the last one.
    fn quoted(&mut self) -> Result<(usize, usize), &'static str> {
        let from = self.at;
        loop {
            let at = memchr2(b'"', b'\\', self.left()).ok_or(OPEN_QUOTE)?;
            let found = self.left().get(at).copied();
            self.at += at + 1;
            if found == Some(b'"') {
                return Ok((from, self.at - 1));
            }
            self.at += 1;
        }
    }
}

fn plain(cell: Option<usize>, line: &[u8], from: usize, to: usize, cells: &mut LineCells) {
    match cell {
        Some(cell) if line.get(from..to) == Some(b"-") => cells.put(cell, from, from),
        Some(cell) => cells.put(cell, from, to),
        None => {}
    }
}

/// Puts text into a cell, with the backslashes removed that escape a quotation mark or another backslash.
fn text(cell: Option<usize>, line: &[u8], from: usize, to: usize, cells: &mut LineCells) {
    let bytes = line.get(from..to).unwrap_or_default();
    match cell {
        Some(cell) if memchr(b'\\', bytes).is_some() => cells.write(cell, |beside| {
            let mut escaped = false;
            for (at, byte) in bytes.iter().enumerate() {
                let next = bytes.get(at + 1);
                escaped = !escaped && *byte == b'\\' && matches!(next, Some(b'"' | b'\\'));
                if !escaped {
                    beside.push(*byte);
                }
            }
        }),
        _ => plain(cell, line, from, to, cells),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const FIELDS: [&str; 9] =
        ["client", "user", "time", "method", "path", "status", "bytes", "referer", "agent"];

    fn read(line: &str, fields: &[&str]) -> Option<Vec<String>> {
        let names: Vec<String> = fields.iter().map(|field| (*field).to_owned()).collect();
        let mut cells = LineCells::new(names.len());
        Combined::new(&names).read(line.as_bytes(), &mut cells).ok()?;
        Some(
            (0..names.len())
                .map(|cell| String::from_utf8(cells.get(line.as_bytes(), cell).to_vec()).unwrap())
                .collect(),
        )
    }

    #[test]
    fn a_line_has_nine_fields() {
        let line = r#"10.0.0.1 - ada lovelace [17/May/2015:10:05:03 +0000] "GET /a?b=\"c\" d HTTP/1.1" 200 203 "http://x/" "Moz \\\"x\" \x41""#;
        assert_eq!(
            read(line, &FIELDS).unwrap(),
            [
                "10.0.0.1",
                "ada lovelace",
                "17/May/2015:10:05:03 +0000",
                "GET",
                "/a?b=\"c\" d",
                "200",
                "203",
                "http://x/",
                "Moz \\\"x\" \\x41"
            ]
        );
        assert_eq!(read(line, &["agent", "client"]).unwrap(), ["Moz \\\"x\" \\x41", "10.0.0.1"]);
        let empty = r#"::1 - - [t] "-" 408 - "-" "-""#;
        assert_eq!(read(empty, &FIELDS).unwrap(), ["::1", "", "t", "", "", "408", "", "", ""]);
        let old = r#"::1 - - [t] "GET /" 200 1 "-" "-" 0.003"#;
        assert_eq!(read(old, &FIELDS[3..5]).unwrap(), ["GET", "/"]);
        let noise = r#"::1 - - [t] "\x16\x03" 400 0 "-" "-""#;
        assert_eq!(read(noise, &FIELDS[3..5]).unwrap(), ["\\x16\\x03", ""]);
    }

    #[test]
    fn a_torn_line_is_bad_wherever_it_is_torn() {
        let line =
            r#"10.0.0.1 - ada [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 203 "http://x/" "Moz""#;
        for cut in 0..line.len() {
            assert_eq!(read(&line[..cut], &FIELDS), None, "{}", &line[..cut]);
        }
        // The common format has no more fields, and no more are wanted.
        let common = line.split_at(line.find(" \"http").unwrap()).0;
        assert_eq!(read(common, &FIELDS[..7]).unwrap()[6], "203");
        assert_eq!(read(common, &FIELDS), None);
        assert_eq!(read("\"GET / HTTP/1.1\"", &FIELDS), None);
    }

    // Refutes a fault that is reported of another field, or in words that are not those of its kind.
    #[test]
    fn a_fault_names_the_part_of_the_line() {
        let line =
            r#"10.0.0.1 - ada [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 203 "http://x/" "Moz""#;
        let names = FIELDS.map(str::to_owned);
        for (line, field, found) in [
            ("", "client", LINE_END),
            (" - ada", "client", "a second space"),
            ("10.0.0.1", "ident", LINE_END),
            ("10.0.0.1 - ada 17/May/2015", "user", LINE_END),
            ("10.0.0.1 - ada [17/May/2015 \"GET /\"", "time", LINE_END),
            (&line[..55], "request", OPEN_QUOTE),
            (&line.replace("HTTP/1.1\" ", "HTTP/1.1\""), "request", "no space behind it"),
            (&line[..60], "request", LINE_END),
            (&line.replace("200 ", " "), "status", "a second space"),
            (&line[..64], "bytes", LINE_END),
            (&line[..68], "referer", LINE_END),
            (&line.replace("\"http://x/\"", "-"), "referer", "a text without quotation marks"),
            (&line[..75], "referer", OPEN_QUOTE),
            (&line[..80], "agent", LINE_END),
        ] {
            let mut cells = LineCells::new(names.len());
            let format = Combined::new(&names);
            assert!(format.read(line.as_bytes(), &mut cells).is_err(), "{line}");
            let fault = format.fault(line.as_bytes(), &mut cells);
            assert_eq!((fault.field.as_deref(), &*fault.found), (Some(field), found), "{line}");
        }
    }
}
