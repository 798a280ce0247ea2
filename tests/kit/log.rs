//! The same events written as each kind of log, in each time format and compression.

use std::fmt::Write as _;
use std::io::Write as _;

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// One record of a log. Without a user its person is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) id: String,
    pub(crate) user: Option<String>,
    pub(crate) key: String,
    pub(crate) value: i64,
    /// In microseconds since 1970, a whole second.
    pub(crate) time: i64,
}

/// The pattern of [`time`] for the format `pattern`.
pub(crate) const PATTERN: &str = "%Y-%m-%d %H:%M:%S";

/// The time of an event in the format of a job file; a pattern has the local time of its zone.
pub(crate) fn time(format: &str, microseconds: i64, zone: &str) -> String {
    let at = Timestamp::from_microsecond(microseconds).unwrap();
    let local = || at.to_zoned(TimeZone::get(zone).unwrap());
    match format {
        "unix" => (microseconds / 1_000_000).to_string(),
        "unix-ms" => (microseconds / 1_000).to_string(),
        "rfc3339" => at.to_string(),
        "clf" => local().strftime("%d/%b/%Y:%H:%M:%S %z").to_string(),
        _ => local().strftime(PATTERN).to_string(),
    }
}

/// The form of a log of separated fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Separated {
    /// Commas and double quotes, with a header.
    Usual,
    /// Tabs, single quotes and comments, with a header.
    Marks,
    /// Semicolons and no quotes, without a header.
    Names,
}

impl Separated {
    fn header(self) -> &'static str {
        match self {
            Separated::Usual => "id,user,key,value,time\n",
            Separated::Marks => "# written by a program\n\n# of this name\nid\tuser\tkey\tvalue\ttime\n",
            Separated::Names => "",
        }
    }

    fn line(self, id: &str, user: &str, key: &str, value: i64, time: &str) -> String {
        match self {
            Separated::Usual => format!("{id},{user},{key},{value},{time}\n"),
            Separated::Marks => {
                format!("{id}\t{user}\t'{key}'\t{value}\t{time}\n#{id}\tx\t{key}\t9\t{time}\n")
            }
            Separated::Names => format!("{id};{user};{key};{value};{time}\n"),
        }
    }

    /// A line that no format of logs accepts, in this form.
    pub(crate) fn unreadable(self) -> String {
        match self {
            Separated::Usual => "\"\u{1}{[unreadable\n".to_owned(),
            Separated::Marks => "'\u{1}{[unreadable\n".to_owned(),
            // Without quotes any line is whole, but for one of more than 1 MiB.
            Separated::Names => "unreadable".repeat(110_000) + "\n",
        }
    }
}

/// A log of these events as `source.type` names it; its fields are id, user, key, value and time, or, in a
/// combined log, agent, user, path, bytes and time.
pub(crate) fn write(kind: &str, events: &[Event], format: &str, zone: &str, separated: Separated) -> String {
    let mut log = if kind == "csv" { separated.header().to_owned() } else { String::new() };
    for Event { id, user, key, value, time: at } in events {
        let at = time(format, *at, zone);
        let _ = match kind {
            "csv" => {
                log += &separated.line(id, user.as_deref().unwrap_or_default(), key, *value, &at);
                Ok(())
            }
            "jsonl" => {
                let at = if format.starts_with("unix") { at } else { format!("\"{at}\"") };
                let user = user.as_ref().map(|user| format!("\"user\":\"{user}\",")).unwrap_or_default();
                writeln!(log, r#"{{"id":"{id}",{user}"key":"{key}","value":{value},"time":{at}}}"#)
            }
            _ => {
                let user = user.as_deref().unwrap_or("-");
                writeln!(log, "192.0.2.1 - {user} [{at}] \"GET {key} HTTP/1.1\" 200 {value} \"-\" \"{id}\"")
            }
        };
    }
    log
}

/// Lines of JSON with the key and the value of each in the first element of an array.
#[allow(dead_code, reason = "not every test explodes arrays")]
pub(crate) fn exploded(log: &str) -> String {
    let line = |line: &str| {
        let (from, to) = (line.find("\"key\":").unwrap(), line.find(",\"time\":").unwrap());
        let (before, element, after) = (&line[..from], &line[from..to], &line[to..]);
        format!("{before}\"items\":[{{{element}}},{{\"key\":\"a\",\"value\":999}}]{after}\n")
    };
    log.lines().map(line).collect()
}

/// The bytes in a compression, by its extension; any other leaves them as they are.
pub(crate) fn pack(extension: &str, bytes: &[u8]) -> Vec<u8> {
    match extension {
        "gz" => {
            let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            packed.write_all(bytes).unwrap();
            packed.finish().unwrap()
        }
        "bz2" => {
            let mut packed = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
            packed.write_all(bytes).unwrap();
            packed.finish().unwrap()
        }
        "zst" => ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest),
        _ => bytes.to_vec(),
    }
}
