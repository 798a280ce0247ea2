use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

use super::*;
use crate::alert::Alerts;
use crate::watch::{LiveHeading, LiveRun, OperatorStatus, WatchServer, WatchSettings};

const ANN: &str = "token-of-ann-0123";
const BEN: &str = "token-of-ben-0123";
const WATCH: &str = "token-of-the-watch";

fn analyst(bundle: usize, name: &str, token: &str) -> AskingAnalyst {
    AskingAnalyst { bundle, name: name.to_owned(), token: token.to_owned() }
}

fn settings(analysts: Vec<AskingAnalyst>) -> AskSettings {
    let bundle = AskedBundle {
        name: "study".to_owned(),
        every: "1 day".to_owned(),
        fields: vec![("<page>".to_owned(), "text".to_owned())],
        answers: 1000,
        largest_error: 30,
    };
    let answer = |bundle: usize, analyst: &str, line: &str| AskReply {
        status: if line == "wait" { 202 } else { 200 },
        body: format!("{bundle} {analyst} {line}"),
        again: (line == "wait").then_some(1),
    };
    AskSettings { analysts, bundles: vec![bundle], answer: Box::new(answer) }
}

fn server(asks: Option<AskSettings>) -> WatchServer {
    let listen = SocketAddr::from(([127, 0, 0, 1], 0));
    let live = LiveRun::new(LiveHeading::default(), Alerts::new());
    let settings = WatchSettings { listen, token: Some(WATCH.to_owned()), operator: false };
    WatchServer::start(settings, live, Box::new(OperatorStatus::default), asks).unwrap()
}

fn request(server: &WatchServer, method: &str, path: &str, token: &str, body: &[u8]) -> String {
    let mut socket = TcpStream::connect(server.address()).unwrap();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n",
        body.len()
    );
    socket.write_all(head.as_bytes()).unwrap();
    // The server may answer, and close, before it has read everything.
    let _ = socket.write_all(body);
    let mut answer = Vec::new();
    let _ = socket.read_to_end(&mut answer);
    String::from_utf8(answer).unwrap()
}

// Refutes an analyst who asks as another, a token of the operator that asks, and one of an analyst that opens the other pages.
#[test]
fn each_token_asks_as_its_analyst_and_opens_nothing_else() {
    let server = server(Some(settings(vec![analyst(0, "ann", ANN), analyst(1, "ben", BEN)])));
    let asks = |token: &str, body: &[u8]| request(&server, "POST", "/ask", token, body);
    assert!(asks(ANN, b"line").ends_with("\r\n\r\n0 ann line\n"));
    assert!(asks(BEN, b"line").ends_with("\r\n\r\n1 ben line\n"));
    let waits = asks(BEN, b"wait");
    assert!(waits.starts_with("HTTP/1.1 202 ") && waits.contains("\r\nRetry-After: 1\r\n"), "{waits}");
    for token in [WATCH, "token-of-nobody-at-all", ""] {
        let refused = asks(token, b"line");
        assert!(refused.starts_with("HTTP/1.1 401 ") && refused.contains("Bearer realm"), "{refused}");
    }
    assert!(asks(ANN, b"\xff").starts_with("HTTP/1.1 400 "));
    assert!(asks(ANN, &vec![b'x'; LONGEST + 1]).starts_with("HTTP/1.1 413 "));
    for path in ["/", "/ask", "/metrics", "/ask.js"] {
        let get = |token: &str| request(&server, "GET", path, token, b"");
        assert!(get(ANN).starts_with("HTTP/1.1 401 "), "{path}");
        assert!(get(WATCH).starts_with("HTTP/1.1 200 "), "{path}");
    }
    assert!(request(&server, "POST", "/", WATCH, b"line").starts_with("HTTP/1.1 405 "));
    assert!(request(&server, "POST", "/", ANN, b"line").starts_with("HTTP/1.1 401 "));
    let page = request(&server, "GET", "/ask", WATCH, b"");
    assert!(page.contains("<code>&lt;page&gt;</code>") && page.contains("off by more than 30"), "{page}");
}

#[test]
fn a_job_without_tokens_takes_no_questions() {
    let server = server(None);
    assert!(request(&server, "POST", "/ask", WATCH, b"line").starts_with("HTTP/1.1 405 "));
    assert!(request(&server, "GET", "/ask", WATCH, b"").starts_with("HTTP/1.1 404 "));
    assert!(!request(&server, "GET", "/", WATCH, b"").contains("href=\"/ask\""));
}

// Refutes a question that may be of two analysts, and a token that can be guessed.
#[test]
fn one_token_is_of_one_analyst() {
    let refused = |analysts| AskServer::new(settings(analysts)).err().unwrap().to_string();
    let same = refused(vec![analyst(0, "ann", ANN), analyst(1, "ben", ANN)]);
    assert!(same.contains("ask.tokens: found one token of two analysts"), "{same}");
    let short = refused(vec![analyst(0, "ann", "short")]);
    assert!(short.contains("at least 16"), "{short}");
}
