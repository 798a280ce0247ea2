//! A small HTTP/1.1 server, for the operator's own machine: few connections, few bytes, standard threads.
//!
//! [`HttpServer::start`] listens, and calls one function with each complete request. The function returns the
//! response: a body, or a stream of events that goes on for as long as its reader listens.
//!
//! ```text
//! bytes ──head──▶ who may ask ──body──▶ HttpRequest ──handler──▶ HttpResponse ──▶ bytes, or events
//!        400, 431  401, 403, 421  411, 413                       405, 503
//! ```
//!
//! * **Bounds.** Connections, the bytes of a head and of a body, and the time of each are bounded
//!   ([`ServerLimits`]). A request beyond the bound gets 503 at once. Streams take at most half of the
//!   places of requests, so that a scrape always finds one.
//! * **Silence takes no place.** A connection counts among those with a request once its head is complete and
//!   allowed. Those without one are bounded too: for a new one, the one that has waited longest is closed.
//! * **Readers.** On a loopback address, a request must name a loopback host: otherwise a page of any site
//!   could read from here, by a name of its own that leads to 127.0.0.1. A request that a page of another
//!   origin makes a browser send (`Origin`) is refused. With a token, each request carries it: as
//!   `Authorization: Bearer TOKEN`, or as the password of any user, which browsers ask for. Posts to one path may
//!   have tokens of their own, one for each who may post there.
//! * **Bytes from the network never panic.** Heads are read by `httparse`; a request in two readings
//!   (`Transfer-Encoding`, two lengths) is refused.
//!
//! There is no TLS: a server beyond the loopback address belongs behind a proxy that has it.

mod message;
mod server;
#[cfg(test)]
mod tests;

pub(crate) use message::{
    AccessToken, EventStream, HttpMethod, HttpRequest, HttpResponse, PathAccess, ServerAccess,
};
pub(crate) use server::{HttpServer, ServerLimits, ServerSettings};
