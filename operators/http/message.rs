//! Requests, from their bytes; responses, to theirs; and the token that a request may need.

use std::fmt;
use std::io::{self, Write};
use std::net::IpAddr;

use crate::invalid::{Invalid, InvalidKind};

/// The most header fields of a request.
const FIELDS: usize = 64;

/// The methods that the server passes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HttpMethod {
    /// A `GET`, or a `HEAD`: the server leaves the body of its response out.
    Get,
    /// A `POST`, with its whole body.
    Post,
}

/// A complete request.
#[derive(Debug)]
pub(crate) struct HttpRequest {
    pub(crate) method: HttpMethod,
    /// The path, as it was sent: it begins with a slash, and no percent sign in it is decoded.
    pub(crate) path: String,
    /// The part behind the question mark.
    pub(crate) query: Option<String>,
    pub(crate) fields: HeaderFields,
    /// The body; empty for a `GET`.
    pub(crate) body: Vec<u8>,
}

/// The header fields of a request, with their names in lower case.
#[derive(Clone, Debug, Default)]
pub(crate) struct HeaderFields(Vec<(String, String)>);

impl HeaderFields {
    /// Returns the value of a field, by its name in lower case; `None` if it is absent or given twice.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let at = self.0.iter().position(|(field, _)| field == name)?;
        let (_, value) = self.0.get(at)?;
        (self.count(name) == 1).then_some(value)
    }

    fn all<'f>(&'f self, name: &'f str) -> impl Iterator<Item = &'f str> {
        self.0.iter().filter(move |(field, _)| field == name).map(|(_, value)| value.as_str())
    }

    fn count(&self, name: &str) -> usize {
        self.0.iter().filter(|(field, _)| field == name).count()
    }
}

/// The head of a request: all but its body.
#[derive(Debug)]
pub(super) struct RequestHead {
    pub(super) method: HttpMethod,
    /// True for a `HEAD`, whose response has no body.
    pub(super) is_head: bool,
    pub(super) path: String,
    pub(super) query: Option<String>,
    pub(super) fields: HeaderFields,
    /// The length of the body.
    pub(super) length: u64,
    /// True if the connection may serve another request.
    pub(super) keep_alive: bool,
    /// True if the sender waits for a sign before it sends the body.
    pub(super) expects: bool,
}

impl RequestHead {
    /// Reads a head from the first bytes of a connection, and returns it with its length; `None` if it is
    /// not complete.
    ///
    /// # Errors
    ///
    /// The response to a head that is no request, or to one with two readings.
    pub(super) fn read(bytes: &[u8]) -> Result<Option<(RequestHead, usize)>, HttpResponse> {
        let mut room = [httparse::EMPTY_HEADER; FIELDS];
        let mut parsed = httparse::Request::new(&mut room);
        let length = match parsed.parse(bytes) {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(httparse::Error::TooManyHeaders) => return Err(HttpResponse::error(431)),
            Err(_) => return Err(HttpResponse::error(400)),
        };
        let refused = |status| Err(HttpResponse::error(status));
        let (Some(method), Some(target), Some(version)) = (parsed.method, parsed.path, parsed.version) else {
            return refused(400);
        };
        let mut fields = Vec::with_capacity(parsed.headers.len());
        for field in parsed.headers.iter() {
            let Ok(value) = str::from_utf8(field.value) else { return refused(400) };
            fields.push((field.name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let fields = HeaderFields(fields);
        // A target of another form asks for a proxy.
        if !target.starts_with('/') || !target.bytes().all(|byte| byte.is_ascii_graphic()) {
            return refused(400);
        }
        if fields.count("host") > 1 || version == 1 && fields.count("host") == 0 {
            return refused(400);
        }
        let (method, is_head) = match method {
            "GET" => (HttpMethod::Get, false),
            "HEAD" => (HttpMethod::Get, true),
            "POST" => (HttpMethod::Post, false),
            _ => return Err(HttpResponse::error(405).with("Allow", "GET, HEAD, POST")),
        };
        // A body of chunks, or of two lengths, would end at two places.
        if fields.count("transfer-encoding") > 0 {
            return refused(if fields.count("content-length") > 0 { 400 } else { 411 });
        }
        let body = match (fields.count("content-length"), fields.get("content-length")) {
            (0, _) if method == HttpMethod::Post => return refused(411),
            (0, _) => 0,
            (_, Some(digits)) if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                // More digits than a length has are more bytes than any limit.
                digits.parse().unwrap_or(u64::MAX)
            }
            _ => return refused(400),
        };
        let connection = fields.all("connection").flat_map(|value| value.split(','));
        let closes = connection.map(str::trim).any(|word| word.eq_ignore_ascii_case("close"));
        let expects = fields.get("expect").is_some_and(|value| value.eq_ignore_ascii_case("100-continue"));
        let (path, query) = match target.split_once('?') {
            Some((path, query)) => (path.to_owned(), Some(query.to_owned())),
            None => (target.to_owned(), None),
        };
        let keep_alive = version == 1 && !closes;
        let head = RequestHead { method, is_head, path, query, fields, length: body, keep_alive, expects };
        Ok(Some((head, length)))
    }

    /// Refuses a request that its sender may not make: without a token, for a foreign host name on a
    /// loopback address, or on behalf of another site's page.
    pub(super) fn authorize(&self, loopback: bool, access: &ServerAccess) -> Result<(), HttpResponse> {
        let host = self.fields.get("host").unwrap_or_default();
        if loopback && !is_loopback(host) {
            return Err(HttpResponse::error(421));
        }
        if let Some(origin) = self.fields.get("origin")
            && origin.split_once("://").is_none_or(|(_, named)| !named.eq_ignore_ascii_case(host))
        {
            return Err(HttpResponse::error(403));
        }
        let given = self.fields.get("authorization");
        let (admitted, challenge) = match (&access.posts, &access.token) {
            (Some(posts), _) if self.method == HttpMethod::Post && posts.path == self.path => {
                let admitted =
                    given.is_some_and(|given| posts.tokens.iter().any(|token| token.admits(given)));
                (admitted, "Bearer realm=\"discreet\"")
            }
            (_, Some(token)) => {
                let admitted = given.is_some_and(|given| token.admits(given));
                (admitted, "Basic realm=\"discreet\", charset=\"UTF-8\"")
            }
            (_, None) => return Ok(()),
        };
        if admitted { Ok(()) } else { Err(HttpResponse::error(401).with("WWW-Authenticate", challenge)) }
    }
}

/// Returns true if a `Host` names this machine: no name system can lead it elsewhere.
fn is_loopback(host: &str) -> bool {
    let (name, port) = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, rest)) => (address, rest),
        None => host.find(':').map_or((host, ""), |at| host.split_at(at)),
    };
    let port = port.strip_prefix(':').unwrap_or(port);
    let named = name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    named && port.bytes().all(|byte| byte.is_ascii_digit())
}

/// The tokens that requests must carry.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServerAccess {
    /// The token of all requests but those to the path with tokens of its own, if any.
    pub(crate) token: Option<AccessToken>,
    /// The path to which posts carry one of several tokens.
    pub(crate) posts: Option<PathAccess>,
}

/// The tokens of posts to one path.
#[derive(Clone, Debug)]
pub(crate) struct PathAccess {
    pub(crate) path: &'static str,
    pub(crate) tokens: Vec<AccessToken>,
}

/// A token that admits requests.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct AccessToken(blake3::Hash);

redacted!(AccessToken);

/// The least length of a token: 16 characters of 64 are 96 bits.
const SHORTEST: usize = 16;

impl AccessToken {
    /// Makes a token of the first line of a text.
    ///
    /// # Errors
    ///
    /// If it is short, or has characters that no header field may hold.
    pub(crate) fn new(field: &'static str, text: &str) -> Result<AccessToken, Invalid> {
        let remedy = "a line of at least 16 letters and digits, as `openssl rand -hex 16` prints";
        let token = text.lines().next().unwrap_or_default().trim();
        if token.len() < SHORTEST || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(Invalid::new(field, InvalidKind::Malformed, remedy));
        }
        Ok(AccessToken(blake3::hash(token.as_bytes())))
    }

    /// Compares the value of an `Authorization` field; the time of it says nothing of the token.
    pub(crate) fn admits(&self, given: &str) -> bool {
        let Some((scheme, value)) = given.split_once(' ') else { return false };
        let value = value.trim();
        let token = if scheme.eq_ignore_ascii_case("bearer") {
            value.as_bytes().to_vec()
        } else if scheme.eq_ignore_ascii_case("basic") {
            let Some(pair) = base64(value) else { return false };
            match pair.iter().position(|byte| *byte == b':') {
                Some(colon) => pair.get(colon + 1..).unwrap_or_default().to_vec(),
                None => return false,
            }
        } else {
            return false;
        };
        // Hashes are compared in constant time.
        blake3::hash(&token) == self.0
    }
}

/// Decodes base64 with the alphabet of RFC 4648, section 4.
fn base64(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_end_matches('=');
    let (mut bytes, mut bits, mut held) = (Vec::with_capacity(text.len()), 0u32, 0u32);
    for byte in text.bytes() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = (bits << 6 | u32::from(value)) & 0xffff;
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held & 0xff) as u8);
        }
    }
    Some(bytes)
}

/// A response.
pub(crate) struct HttpResponse {
    pub(super) status: u16,
    fields: Vec<(&'static str, String)>,
    pub(super) body: ResponseBody,
}

/// The content of a response.
pub(super) enum ResponseBody {
    Whole(Vec<u8>),
    Events(EventWriter),
}

/// The function that writes the events of a stream; it returns once the reader or the server has gone.
type EventWriter = Box<dyn FnOnce(&mut EventStream<'_>) -> io::Result<()> + Send>;

impl HttpResponse {
    /// Makes a response of a body.
    pub(crate) fn new(status: u16, kind: &'static str, body: impl Into<Vec<u8>>) -> HttpResponse {
        let fields = vec![("Content-Type", kind.to_owned())];
        HttpResponse { status, fields, body: ResponseBody::Whole(body.into()) }
    }

    /// Makes a response of one line of plain text.
    pub(crate) fn text(status: u16, line: &str) -> HttpResponse {
        HttpResponse::new(status, "text/plain; charset=utf-8", format!("{line}\n"))
    }

    /// Makes a response that has the name of its status as its body.
    pub(crate) fn error(status: u16) -> HttpResponse {
        HttpResponse::text(status, reason(status))
    }

    /// Makes a stream of server-sent events. `write` runs on the thread of the connection.
    pub(crate) fn events(
        write: impl FnOnce(&mut EventStream<'_>) -> io::Result<()> + Send + 'static,
    ) -> HttpResponse {
        let fields = vec![("Content-Type", "text/event-stream".to_owned())];
        HttpResponse { status: 200, fields, body: ResponseBody::Events(Box::new(write)) }
    }

    /// Adds a header field. Control characters in its value become spaces.
    pub(crate) fn with(mut self, name: &'static str, value: &str) -> HttpResponse {
        let value = value.chars().map(|character| if character.is_control() { ' ' } else { character });
        self.fields.push((name, value.collect()));
        self
    }

    /// The head, as it is sent. A stream ends with its connection.
    pub(super) fn head(&self, keep_alive: bool) -> Vec<u8> {
        let now = jiff::Timestamp::now().strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
        let mut head = format!("HTTP/1.1 {} {}\r\nDate: {now}\r\n", self.status, reason(self.status));
        let mut field = |name: &str, value: &str| head += &format!("{name}: {value}\r\n");
        for (name, value) in &self.fields {
            field(name, value);
        }
        // Answers hold for the moment, and for nobody in between.
        field("Cache-Control", "no-store");
        field("X-Content-Type-Options", "nosniff");
        field("Referrer-Policy", "no-referrer");
        if let ResponseBody::Whole(body) = &self.body {
            field("Content-Length", &body.len().to_string());
        }
        field("Connection", if keep_alive { "keep-alive" } else { "close" });
        head += "\r\n";
        head.into_bytes()
    }
}

impl fmt::Debug for HttpResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HttpResponse({})", self.status)
    }
}

/// The name of a status.
fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        202 => "Accepted",
        204 => "No Content",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        409 => "Conflict",
        411 => "Length Required",
        413 => "Content Too Large",
        415 => "Unsupported Media Type",
        421 => "Misdirected Request",
        422 => "Unprocessable Content",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        507 => "Insufficient Storage",
        _ if status < 400 => "Status",
        _ => "Error",
    }
}

/// A stream of server-sent events, to one reader.
pub(crate) struct EventStream<'s> {
    pub(super) out: &'s mut dyn Write,
    pub(super) over: &'s dyn Fn() -> bool,
}

impl EventStream<'_> {
    /// Sends an event. Each line of `data` becomes one.
    ///
    /// # Errors
    ///
    /// If the reader has gone, or takes nothing for the time that a write may last.
    pub(crate) fn send(&mut self, event: &str, data: &str) -> io::Result<()> {
        let mut text = format!("event: {event}\n");
        for line in data.lines() {
            text += &format!("data: {line}\n");
        }
        text.push('\n');
        self.out.write_all(text.as_bytes())?;
        self.out.flush()
    }

    /// Sends a comment, by which a reader that has gone is noticed.
    ///
    /// # Errors
    ///
    /// As [`EventStream::send`].
    pub(crate) fn beat(&mut self) -> io::Result<()> {
        self.out.write_all(b": \n\n")?;
        self.out.flush()
    }

    /// Returns true once the server ends: the stream should, too, within a second.
    pub(crate) fn is_over(&self) -> bool {
        (self.over)()
    }
}

impl fmt::Debug for EventStream<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EventStream")
    }
}

#[cfg(test)]
mod parsing_tests {
    use proptest::prelude::*;

    use super::*;

    fn status(text: &str) -> u16 {
        RequestHead::read(text.as_bytes()).map_or_else(|error| error.status, |head| u16::from(head.is_some()))
    }

    // Refutes a body with two ends, a target that asks for a proxy, and a request for two hosts.
    #[test]
    fn a_request_with_two_readings_is_refused() {
        let post = |fields: &str| status(&format!("POST / HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n"));
        assert_eq!(post("Content-Length: 3\r\n"), 1);
        assert_eq!(post(""), 411);
        assert_eq!(post("Transfer-Encoding: chunked\r\n"), 411);
        assert_eq!(post("Transfer-Encoding: chunked\r\nContent-Length: 3\r\n"), 400);
        assert_eq!(post("Content-Length: 3\r\nContent-Length: 3\r\n"), 400);
        assert_eq!(post("Content-Length: +3\r\n"), 400);
        assert_eq!(post("Content-Length: 99999999999999999999999\r\n"), 1);
        assert_eq!(post("Host: other\r\nContent-Length: 0\r\n"), 400);
        assert_eq!(status("GET / HTTP/1.1\r\n\r\n"), 400);
        assert_eq!(status("GET / HTTP/1.0\r\n\r\n"), 1);
        assert_eq!(status("GET http://localhost/ HTTP/1.1\r\nHost: localhost\r\n\r\n"), 400);
        assert_eq!(status("PUT / HTTP/1.1\r\nHost: localhost\r\n\r\n"), 405);
        assert_eq!(status("GET / HTTP/1.1\r\nHost: loc"), 0);
        let many = "a: b\r\n".repeat(65);
        assert_eq!(status(&format!("GET / HTTP/1.1\r\n{many}\r\n")), 431);
    }

    // Refutes a name of an attacker that leads here, and a page of another site that writes here.
    #[test]
    fn a_name_that_may_lead_anywhere_is_refused_on_loopback() {
        for host in ["localhost", "LOCALHOST:9464", "127.0.0.1", "127.9.0.1:80", "[::1]:9464", "[::1]"] {
            assert!(is_loopback(host), "{host}");
        }
        for host in [
            "",
            "localhost.evil.example",
            "evil.example:9464",
            "127.0.0.1.nip.io",
            "0.0.0.0",
            "[::1",
            "a@localhost",
        ] {
            assert!(!is_loopback(host), "{host}");
        }
        let asks = |host: &str, more: &str| {
            let text = format!("GET / HTTP/1.1\r\nHost: {host}\r\n{more}\r\n");
            let (head, _) = RequestHead::read(text.as_bytes()).unwrap().unwrap();
            move |loopback| {
                head.authorize(loopback, &ServerAccess::default()).map_or_else(|error| error.status, |()| 200)
            }
        };
        assert_eq!(asks("localhost", "")(true), 200);
        assert_eq!(asks("evil.example", "")(true), 421);
        assert_eq!(asks("evil.example", "")(false), 200);
        assert_eq!(asks("localhost:1", "Origin: http://localhost:1\r\n")(true), 200);
        assert_eq!(asks("localhost:1", "Origin: http://evil.example\r\n")(true), 403);
        assert_eq!(asks("localhost:1", "Origin: null\r\n")(true), 403);
    }

    // Refutes a token that a prefix of it opens, and one that no browser can give.
    #[test]
    fn the_whole_token_admits_as_a_bearer_and_as_a_password() {
        let token = AccessToken::new("token", "0123456789abcdef\n").unwrap();
        assert!(token.admits("Bearer 0123456789abcdef") && token.admits("bearer  0123456789abcdef"));
        assert!(token.admits("Basic b3BlcmF0b3I6MDEyMzQ1Njc4OWFiY2RlZg=="), "operator:0123456789abcdef");
        for wrong in [
            "Bearer 0123456789abcde",
            "Bearer 0123456789abcdef0",
            "Bearer",
            "Bearer ",
            "Basic %%",
            "Basic ",
            "0123456789abcdef",
            "Digest 0123456789abcdef",
            "Basic MDEyMzQ1Njc4OWFiY2RlZg==",
        ] {
            assert!(!token.admits(wrong), "{wrong}");
        }
        assert!(AccessToken::new("token", "0123456789abcde").is_err());
        assert!(AccessToken::new("token", "").is_err());
        assert!(AccessToken::new("token", "0123456789abcdef ghi").is_err());
        assert_eq!(format!("{token:?}"), "<private>");
    }

    #[test]
    fn no_field_of_a_response_begins_another() {
        let head = HttpResponse::error(404).with("X", "a\r\nSet-Cookie: b").head(false);
        let head = String::from_utf8(head).unwrap();
        assert!(head.contains("\r\nX: a  Set-Cookie: b\r\n"), "{head}");
        assert!(
            head.starts_with("HTTP/1.1 404 Not Found\r\n") && head.ends_with("Connection: close\r\n\r\n")
        );
    }

    proptest! {
        // Refutes a panic on bytes, and a head whose reading depends on where its bytes were cut.
        #[test]
        fn any_bytes_are_a_request_or_an_error(
            lines in proptest::collection::vec(
                prop_oneof![
                    Just("GET /a?b=c HTTP/1.1\r\n".to_owned()), Just("POST / HTTP/1.0\n".to_owned()),
                    Just("Host: localhost\r\n".to_owned()), Just("Content-Length: 18446744073709551616\r\n".to_owned()),
                    Just("Authorization: Basic OjpAQA\r\n".to_owned()), Just("Transfer-Encoding:\r\n".to_owned()),
                    Just("Connection: a, close,\r\n".to_owned()), Just("\r\n".to_owned()), ".{0,12}", Just(" folded\r\n".to_owned()),
                ],
                0..8,
            ),
            noise in proptest::collection::vec(any::<u8>(), 0..24),
            at in any::<prop::sample::Index>(),
        ) {
            let mut bytes = lines.concat().into_bytes();
            let place = at.index(bytes.len() + 1);
            bytes.splice(place..place, noise);
            let whole = RequestHead::read(&bytes);
            if let Ok(Some((head, length))) = &whole {
                prop_assert!(*length <= bytes.len());
                prop_assert!(head.path.starts_with('/'));
                let token = Some(AccessToken::new("token", "0123456789abcdef").unwrap());
                let _ = head.authorize(true, &ServerAccess { token, posts: None });
                for cut in 0..*length {
                    prop_assert!(matches!(RequestHead::read(&bytes[..cut]), Ok(None)), "{cut}");
                }
            }
        }
    }
}
