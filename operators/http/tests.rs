//! Servers on a free port of this machine, asked by hand.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use super::*;

fn settings(limits: ServerLimits) -> ServerSettings {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    ServerSettings { address, access: ServerAccess::default(), limits, name: "http-test" }
}

/// A server that repeats the path and the body, or streams numbers until it ends.
fn server(limits: ServerLimits) -> HttpServer {
    serving(settings(limits))
}

fn serving(settings: ServerSettings) -> HttpServer {
    let answer = |request: &HttpRequest| match (request.method, request.path.as_str()) {
        (HttpMethod::Get, "/events") => HttpResponse::events(|events| {
            let mut number = 0;
            while !events.is_over() {
                events.send("number", &format!("{number}\nand so on"))?;
                events.beat()?;
                number += 1;
                std::thread::sleep(Duration::from_millis(10));
            }
            Ok(())
        }),
        (HttpMethod::Post, "/busy") => HttpResponse::error(429).with("Retry-After", "1"),
        (method, path) => {
            let body = String::from_utf8_lossy(&request.body);
            HttpResponse::text(200, &format!("{method:?} {path} {:?} {body}", request.query))
        }
    };
    HttpServer::start(settings, answer).unwrap()
}

fn connect(server: &HttpServer) -> TcpStream {
    let socket = TcpStream::connect(server.address()).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    socket
}

/// Sends bytes, and reads to the end of the connection.
fn ask(server: &HttpServer, bytes: &[u8]) -> String {
    let mut socket = connect(server);
    // The server may answer, and close, before it has read everything.
    let _ = socket.write_all(bytes);
    let mut answer = Vec::new();
    let _ = socket.read_to_end(&mut answer);
    String::from_utf8(answer).unwrap()
}

fn get(server: &HttpServer, path: &str, more: &str) -> String {
    ask(
        server,
        format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{more}\r\n").as_bytes(),
    )
}

fn limits() -> ServerLimits {
    ServerLimits { body: 1000, ..ServerLimits::default() }
}

#[test]
fn requests_are_answered_one_after_another_on_one_connection() {
    let server = server(limits());
    let two = "POST /a?b=c HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nxyz\
               HEAD /b HTTP/1.1\r\nHost: localhost\r\n\r\n\
               GET /c HTTP/1.1\r\nHost: 127.0.0.1:1\r\nConnection: close\r\n\r\n";
    let answer = ask(&server, two.as_bytes());
    assert!(answer.contains("\r\n\r\nPost /a Some(\"b=c\") xyz\n"), "{answer}");
    assert!(answer.contains("\r\nContent-Length: 13\r\n"), "the length of what a HEAD leaves out: {answer}");
    assert!(!answer.contains("Get /b") && answer.ends_with("\r\n\r\nGet /c None \n"), "{answer}");
    assert_eq!(answer.matches("HTTP/1.1 200 OK\r\n").count(), 3);
    assert!(ask(&server, b"POST /busy HTTP/1.0\r\nContent-Length: 0\r\n\r\n").starts_with("HTTP/1.1 421 "));
    let busy = "POST /busy HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    assert!(ask(&server, busy.as_bytes()).starts_with("HTTP/1.1 429 Too Many Requests\r\n"));
}

#[test]
fn a_body_is_read_whole_up_to_its_limit() {
    let server = server(limits());
    let post = |length: usize, more: &str| {
        let head = format!(
            "POST / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{more}Content-Length: {length}\r\n\r\n"
        );
        ask(&server, &[head.as_bytes(), &vec![b'x'; length]].concat())
    };
    assert!(post(1000, "").ends_with(&format!("{}\n", "x".repeat(1000))));
    assert!(post(1001, "").starts_with("HTTP/1.1 413 "), "and the answer arrives");
    assert!(post(200_000, "").starts_with("HTTP/1.1 413 "));
    let mut socket = connect(&server);
    let head = b"POST / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n";
    socket.write_all(head).unwrap();
    let mut sign = [0; 25];
    socket.read_exact(&mut sign).unwrap();
    assert_eq!(&sign, b"HTTP/1.1 100 Continue\r\n\r\n");
    socket.write_all(b"ab").unwrap();
    let mut rest = String::new();
    socket.read_to_string(&mut rest).unwrap();
    assert!(rest.ends_with("Post / None ab\n"), "{rest}");
}

// Refutes a connection that is held by sending a byte now and then, or nothing.
#[test]
fn who_is_slow_is_left() {
    // The first head has a time of its own, however often a byte comes.
    let server = server(ServerLimits { first: Duration::from_millis(300), ..limits() });
    let began = Instant::now();
    let mut socket = connect(&server);
    let mut answer = String::new();
    for _ in 0..40 {
        if socket.write_all(b"G").is_err() {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let _ = socket.read_to_string(&mut answer);
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 408 "), "{answer}");
    let mut silent = connect(&server);
    answer.clear();
    silent.read_to_string(&mut answer).unwrap();
    assert_eq!(answer, "", "a connection that asked nothing is closed without an answer");
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    let long = format!("GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n", "a".repeat(20_000));
    assert!(ask(&server, long.as_bytes()).starts_with("HTTP/1.1 431 "));
    assert!(get(&server, "/still", "").starts_with("HTTP/1.1 200 "));
}

// Refutes streams that take all connections, and connections without a bound.
#[test]
fn connections_are_bounded_and_streams_leave_half_of_them() {
    let server = server(ServerLimits { connections: 4, ..limits() });
    let mut streams: Vec<TcpStream> = (0..2).map(|_| connect(&server)).collect();
    for stream in &mut streams {
        stream.write_all(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        let (mut text, began) = (String::new(), Instant::now());
        while !text.contains("event: number\ndata: 1\ndata: and so on\n\n: ") {
            let mut room = [0; 512];
            let read = stream.read(&mut room).unwrap();
            assert!(read > 0 && began.elapsed() < Duration::from_secs(10), "{text}");
            text += str::from_utf8(&room[..read]).unwrap();
        }
        assert!(text.contains("Content-Type: text/event-stream\r\n"));
    }
    assert!(get(&server, "/events", "").starts_with("HTTP/1.1 503 "), "no third stream");
    assert!(get(&server, "/metrics", "").starts_with("HTTP/1.1 200 "));
    let mut busy: Vec<TcpStream> = (0..2).map(|_| connect(&server)).collect();
    for socket in &mut busy {
        socket.write_all(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nab").unwrap();
    }
    let mut turned_away = String::new();
    let began = Instant::now();
    while !turned_away.starts_with("HTTP/1.1 503 ") {
        assert!(began.elapsed() < Duration::from_secs(5), "{turned_away}");
        turned_away = get(&server, "/", "");
    }
    assert!(turned_away.contains("\r\nRetry-After: 1\r\n"));
    drop(busy);
    let began = Instant::now();
    drop(server);
    assert!(began.elapsed() < Duration::from_secs(3), "it ends though it is listened to");
    for mut stream in streams {
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
    }
}

// Refutes a sender that silent connections keep out, one that is closed while another has waited longer, and a
// request that is closed for one that has none.
#[test]
fn silent_connections_give_way_to_a_request() {
    let server = server(ServerLimits { waiting: 4, ..limits() });
    let mut begun = connect(&server);
    begun.write_all(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nab").unwrap();
    let mut silent: Vec<TcpStream> = Vec::new();
    for _ in 0..4 {
        let mut socket = connect(&server);
        socket.write_all(b"P").unwrap();
        silent.push(socket);
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(get(&server, "/", "").starts_with("HTTP/1.1 200 "));
    let mut room = [0; 1];
    let is_closed = match silent[0].read(&mut room) {
        Ok(read) => read == 0,
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
    };
    assert!(is_closed, "it has waited longest");
    for socket in &mut silent[1..] {
        socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        let error = socket.read(&mut room).unwrap_err();
        assert!(matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut));
    }
    for _ in 0..50 {
        let mut socket = connect(&server);
        socket.write_all(b"P").unwrap();
        silent.push(socket);
        assert!(get(&server, "/", "").starts_with("HTTP/1.1 200 "));
    }
    begun.write_all(b"c").unwrap();
    let mut start = [0; 13];
    begun.read_exact(&mut start).unwrap();
    assert_eq!(&start, b"HTTP/1.1 200 ");
    // A connection that has been answered waits, too, and may go on.
    let mut kept = connect(&server);
    for _ in 0..3 {
        kept.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        kept.read_exact(&mut start).unwrap();
        assert_eq!(&start, b"HTTP/1.1 200 ");
        kept.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        while kept.read(&mut room).is_ok_and(|read| read > 0) {}
        kept.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    }
}

#[test]
fn the_token_is_asked_for_before_a_body_is_read() {
    let token = AccessToken::new("watch.token", "0123456789abcdef").unwrap();
    let server = serving(ServerSettings {
        access: ServerAccess { token: Some(token), posts: None },
        ..settings(limits())
    });
    let answer = get(&server, "/", "");
    assert!(
        answer.starts_with("HTTP/1.1 401 ") && answer.contains("\r\nWWW-Authenticate: Basic "),
        "{answer}"
    );
    assert!(get(&server, "/", "Authorization: Bearer 0123456789abcdeX\r\n").starts_with("HTTP/1.1 401 "));
    assert!(get(&server, "/", "Authorization: Bearer 0123456789abcdef\r\n").starts_with("HTTP/1.1 200 "));
    assert!(get(&server, "/", "Host: evil.example\r\n").starts_with("HTTP/1.1 400 "));
    assert!(ask(&server, b"\x00\xff\x16\x03\x01").starts_with("HTTP/1.1 400 "), "a handshake of TLS");
}
