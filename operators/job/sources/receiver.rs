//! The receiver: batches of lines over HTTP, into the spool that a live run reads.
//!
//! ```text
//! POST /batches ──▶ token, bounds, lines ──▶ spool, synced ──▶ 200: it is kept, and counts once
//!                   400, 401, 413            422, 429, 503, 507: nothing of it is kept
//! ```
//!
//! An answer depends on the request, on the ids that were sent before, and on the room of the spool. It says
//! nothing of any record: of a line that no worker could read, it has the number, the field and the kind.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::dealer::{Progress, SourceFault};
use super::line_reader::{LineCheck, UnreadableLine};
use super::lines::LineFault;
use super::spool::{REMEMBERED, Spool, SpoolBatch, SpoolBounds, SpoolRefusal, SpooledBatch};
use crate::dataflow::SourceError;
use crate::http::{
    AccessToken, HttpMethod, HttpRequest, HttpResponse, HttpServer, ServerAccess, ServerLimits,
    ServerSettings,
};
use crate::invalid::found_by;
use crate::job::config::HttpSpec;

/// The size at which a segment of the spool is closed, as a part of all that the spool may hold.
const PARTS: u64 = 16;

/// The largest size at which a segment is closed, in bytes.
const SEGMENT: u64 = 64 << 20;

/// The longest id of a batch, in bytes.
const LONGEST_ID: usize = 255;

/// The time, in seconds, after which a sender may try again.
const RETRY_AFTER: &str = "5";

/// The numbers of a receiver since the start, for its operator.
#[derive(Debug, Default)]
pub(crate) struct ReceivedCounts {
    /// The batches that were taken.
    pub(crate) batches: AtomicU64,
    /// The batches that were there already.
    pub(crate) repeated: AtomicU64,
    /// The lines of the batches that were taken.
    pub(crate) records: AtomicU64,
    /// The requests that were refused by the receiver.
    pub(crate) refused: AtomicU64,
    /// The bytes that the spool holds.
    pub(crate) held: AtomicU64,
    address: OnceLock<SocketAddr>,
}

/// The vital signs of a receiver over HTTP, since the start of the run.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct ReceiverSigns {
    /// The batches that were taken.
    pub batches: u64,
    /// The batches that were there already.
    pub repeated: u64,
    /// The records of the batches that were taken.
    pub records: u64,
    /// The batches that were refused.
    pub refused: u64,
    /// The bytes that the spool holds.
    pub held: u64,
    /// The address at which batches are received.
    pub address: Option<SocketAddr>,
}

impl ReceivedCounts {
    pub(super) fn read(&self) -> ReceiverSigns {
        let [batches, repeated, records, refused, held] =
            [&self.batches, &self.repeated, &self.records, &self.refused, &self.held]
                .map(|count| count.load(Ordering::Relaxed));
        ReceiverSigns { batches, repeated, records, refused, held, address: self.address.get().copied() }
    }
}

/// A receiver whose spool is open, and that does not listen yet.
pub(super) struct BatchReceiver {
    spool: Arc<Spool>,
    settings: ServerSettings,
    checks: LineChecks,
}

/// The checks of lines, one for each request at a time.
struct LineChecks {
    first: LineCheck,
    spare: Mutex<Vec<LineCheck>>,
}

impl LineChecks {
    /// Checks every line of a batch; returns the number of its records.
    fn check(&self, body: &[u8]) -> Result<u64, UnreadableLine> {
        let spare = || self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        let check = spare().pop();
        let mut check = check.unwrap_or_else(|| self.first.clone());
        let checked = check.check(body);
        spare().push(check);
        checked
    }
}

impl BatchReceiver {
    /// Opens the spool. Of a batch, `check` is to read every line.
    pub(super) fn open(
        directory: &Path,
        spec: &HttpSpec,
        check: LineCheck,
    ) -> Result<BatchReceiver, SourceError> {
        let token = access_token(spec)?;
        let segment = (spec.hold / PARTS).clamp(1, SEGMENT);
        let bounds = SpoolBounds { segment, hold: spec.hold, remembered: REMEMBERED };
        let spool = Spool::open(directory, bounds).map_err(|error| {
            if error.kind() == io::ErrorKind::WouldBlock {
                let why = "another run receives into it; end that one, or give a directory of its own";
                return SourceError::lost(directory.display().to_string()).because(why);
            }
            lost(directory, &error, "give a directory that can be written")
        })?;
        let body = usize::try_from(spec.batch).unwrap_or(usize::MAX);
        let limits = ServerLimits { body, ..ServerLimits::default() };
        let access = ServerAccess { token, posts: None };
        let settings = ServerSettings { address: spec.listen, access, limits, name: "discreet-http" };
        let checks = LineChecks { first: check, spare: Mutex::default() };
        Ok(BatchReceiver { spool: Arc::new(spool), settings, checks })
    }

    /// Listens from now on. A spool that is broken ends the source.
    pub(super) fn listen(
        self,
        fault: &Arc<SourceFault>,
        progress: &Progress,
    ) -> Result<(Arc<Spool>, HttpServer), SourceError> {
        let (spool, address) = (Arc::clone(&self.spool), self.settings.address);
        let (fault, counts) = (Arc::clone(fault), progress.receives());
        let shown = Arc::clone(&counts);
        counts.held.store(spool.held(), Ordering::Relaxed);
        let handler = move |request: &HttpRequest| {
            let response = received((&self.spool, &self.checks), &counts, request);
            if self.spool.is_broken() {
                let why = "what was received could not be written to the disk; see to the disk, and start again: \
                           what was acknowledged is there";
                fault.fail(SourceError::lost(fault.place()).because(why));
            }
            response
        };
        let server = HttpServer::start(self.settings, handler).map_err(|error| {
            let why = format!("found {}; give an address that is free", found_by(&error));
            SourceError::lost(format!("source.http.listen: {address}")).because(why)
        })?;
        let _ = shown.address.set(server.address());
        Ok((spool, server))
    }
}

/// Returns the token that each batch carries, if any.
///
/// # Errors
///
/// If its file cannot be read, or holds no token.
pub(in crate::job) fn access_token(spec: &HttpSpec) -> Result<Option<AccessToken>, SourceError> {
    let Some(path) = &spec.token else { return Ok(None) };
    let text = fs::read_to_string(path).map_err(|error| lost(path, &error, "give a file with the token"))?;
    let token = AccessToken::new("source.http.token", &text);
    let token = token
        .map_err(|invalid| SourceError::lost(path.display().to_string()).because(invalid.to_string()))?;
    Ok(Some(token))
}

fn lost(place: &Path, error: &io::Error, remedy: &str) -> SourceError {
    SourceError::lost(place.display().to_string()).because(format!("found {}; {remedy}", found_by(error)))
}

/// Answers a request. The answer to a batch that is kept is the same, repeated or not.
fn received(
    (spool, checks): (&Spool, &LineChecks),
    counts: &ReceivedCounts,
    request: &HttpRequest,
) -> HttpResponse {
    let kept = batch_id(request).and_then(|id| {
        let batch = SpoolBatch::new(id, &request.body);
        // It was checked, perhaps by a former job: to refuse it now would be to ask for it twice.
        if spool.has(&batch).map_err(|refusal| refused(&refusal))? {
            return Ok((SpooledBatch::Repeated, 0));
        }
        let records = checks.check(&request.body).map_err(|line| unreadable(&line))?;
        spool.add(&batch).map(|kept| (kept, records)).map_err(|refusal| refused(&refusal))
    });
    let add = |counter: &AtomicU64, number: u64| _ = counter.fetch_add(number, Ordering::Relaxed);
    counts.held.store(spool.held(), Ordering::Relaxed);
    match kept {
        Ok((SpooledBatch::New, records)) => {
            add(&counts.batches, 1);
            add(&counts.records, records);
        }
        Ok((SpooledBatch::Repeated, _)) => add(&counts.repeated, 1),
        Err(response) => {
            add(&counts.refused, 1);
            return response;
        }
    }
    HttpResponse::text(200, "kept")
}

fn batch_id(request: &HttpRequest) -> Result<&str, HttpResponse> {
    if request.path != "/batches" || request.query.is_some() {
        return Err(HttpResponse::text(404, "found another path; send batches to /batches"));
    }
    if request.method != HttpMethod::Post {
        return Err(HttpResponse::text(405, "found no POST; send batches by POST").with("Allow", "POST"));
    }
    let coding = request.fields.get("content-encoding");
    if coding.is_some_and(|coding| !coding.eq_ignore_ascii_case("identity")) {
        return Err(HttpResponse::text(415, "Content-Encoding: found one; send the lines as they are"));
    }
    let id = request.fields.get("idempotency-key").unwrap_or_default();
    if id.is_empty() || id.len() > LONGEST_ID {
        let why = "Idempotency-Key: found none of 1 to 255 bytes; give the id of the batch, the same each time it is sent";
        return Err(HttpResponse::text(400, why));
    }
    Ok(id)
}

fn refused(refusal: &SpoolRefusal) -> HttpResponse {
    let later = |status, why| HttpResponse::text(status, why).with("Retry-After", RETRY_AFTER);
    match refusal {
        SpoolRefusal::Full => later(429, "the spool is full; send the batch again later"),
        SpoolRefusal::OtherBatch => HttpResponse::text(
            422,
            "Idempotency-Key: found that of another batch; give each batch an id of its own",
        ),
        SpoolRefusal::NoRoom => later(507, "the disk is full; send the batch again later"),
        SpoolRefusal::Unwritten | SpoolRefusal::Broken => {
            later(503, "the batch could not be written; send it again later")
        }
    }
}

/// Refuses a batch with a line that no worker could read: its sender can mend it.
fn unreadable(line: &UnreadableLine) -> HttpResponse {
    let UnreadableLine { number, fault: LineFault { field, found, wanted } } = line;
    let field = field.as_ref().map_or(String::new(), |field| format!("field {field}: "));
    let why = format!(
        "line {number}: {field}found {found}; give {wanted}, and send the batch again: nothing of it is kept"
    );
    HttpResponse::text(400, &why)
}
