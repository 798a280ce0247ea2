//! The listener and its connections, each on a thread of its own.

use std::collections::HashMap;
use std::fmt;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::message::{EventStream, HttpRequest, HttpResponse, RequestHead, ResponseBody, ServerAccess};

/// The bounds of a server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ServerLimits {
    /// The most connections with a request at one time; at most half of them are streams.
    pub(crate) connections: usize,
    /// The most connections that wait for the head of a request.
    pub(crate) waiting: usize,
    /// The most bytes of the head of a request.
    pub(crate) head: usize,
    /// The most bytes of the body of a request.
    pub(crate) body: usize,
    /// The time for the head of the first request to arrive, all of it.
    pub(crate) first: Duration,
    /// The time for a whole request to arrive, and for a connection to wait for the next one.
    pub(crate) read: Duration,
    /// The time in which a reader must take something of a response.
    pub(crate) write: Duration,
}

impl Default for ServerLimits {
    fn default() -> ServerLimits {
        ServerLimits {
            connections: 32,
            waiting: 256,
            head: 16 << 10,
            body: 0,
            first: Duration::from_secs(5),
            read: Duration::from_secs(10),
            write: Duration::from_secs(5),
        }
    }
}

/// The place and the readers of a server.
#[derive(Clone, Debug)]
pub(crate) struct ServerSettings {
    /// The address; port 0 takes a free one.
    pub(crate) address: SocketAddr,
    pub(crate) access: ServerAccess,
    pub(crate) limits: ServerLimits,
    /// The name of its threads.
    pub(crate) name: &'static str,
}

/// The function that answers requests.
type RequestHandler = dyn Fn(&HttpRequest) -> HttpResponse + Send + Sync;

/// A server, until it is dropped.
pub(crate) struct HttpServer {
    address: SocketAddr,
    shared: Arc<SharedServer>,
    acceptor: Option<JoinHandle<()>>,
}

struct SharedServer {
    settings: ServerSettings,
    handler: Box<RequestHandler>,
    over: AtomicBool,
    streams: AtomicUsize,
    open: Mutex<OpenConnections>,
}

#[derive(Default)]
struct OpenConnections {
    next: u64,
    sockets: HashMap<u64, OpenConnection>,
}

struct OpenConnection {
    socket: TcpStream,
    /// The time since which it waits for the head of a request; `None` while it has one.
    waits: Option<Instant>,
}

/// The time between two looks whether the server ends.
const GLANCE: Duration = Duration::from_millis(200);
/// The most requests of one connection: nobody holds a thread for ever by asking.
const REQUESTS: usize = 1000;
/// The time that the threads of connections get to notice that the server has ended.
const FAREWELL: Duration = Duration::from_secs(1);

impl HttpServer {
    /// Listens at the address, and answers requests with `handler` from now on.
    ///
    /// # Errors
    ///
    /// If the address cannot be listened at.
    pub(crate) fn start(
        settings: ServerSettings,
        handler: impl Fn(&HttpRequest) -> HttpResponse + Send + Sync + 'static,
    ) -> io::Result<HttpServer> {
        let listener = TcpListener::bind(settings.address)?;
        // Between the poll and the call, a connection may go away.
        listener.set_nonblocking(true)?;
        let (address, name) = (listener.local_addr()?, settings.name);
        let shared = Arc::new(SharedServer {
            settings,
            handler: Box::new(handler),
            over: AtomicBool::new(false),
            streams: AtomicUsize::new(0),
            open: Mutex::default(),
        });
        let serving = Arc::clone(&shared);
        let acceptor = std::thread::Builder::new().name(name.into());
        let acceptor = acceptor.spawn(move || accept(&listener, &serving))?;
        Ok(HttpServer { address, shared, acceptor: Some(acceptor) })
    }

    /// Returns the address that the server listens at.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl fmt::Debug for HttpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HttpServer({})", self.address)
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::SeqCst);
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
        // What a connection waits for fails from now on.
        for connection in self.shared.open().sockets.values() {
            let _ = connection.socket.shutdown(Shutdown::Read);
        }
        let began = Instant::now();
        while !self.shared.open().sockets.is_empty() && began.elapsed() < FAREWELL {
            std::thread::sleep(Duration::from_millis(5));
        }
        for connection in self.shared.open().sockets.values() {
            let _ = connection.socket.shutdown(Shutdown::Both);
        }
    }
}

impl SharedServer {
    fn open(&self) -> MutexGuard<'_, OpenConnections> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::SeqCst)
    }

    /// Registers a connection. Where too many wait for a head, the one that has waited longest is closed: a
    /// sender sends its head at once, and nobody keeps it out by sending none.
    fn admit(self: &Arc<Self>, socket: &TcpStream) -> io::Result<Admission> {
        let kept = socket.try_clone()?;
        let mut open = self.open();
        let waiting = open.sockets.iter().filter_map(|(number, open)| Some((open.waits?, *number)));
        if waiting.clone().count() >= self.settings.limits.waiting
            && let Some((_, longest)) = waiting.min()
            && let Some(closed) = open.sockets.remove(&longest)
        {
            let _ = closed.socket.shutdown(Shutdown::Both);
        }
        let number = open.next;
        open.next += 1;
        open.sockets.insert(number, OpenConnection { socket: kept, waits: Some(Instant::now()) });
        Ok(Admission { number, shared: Arc::clone(self) })
    }
}

/// A place among the connections, until it is dropped.
struct Admission {
    number: u64,
    shared: Arc<SharedServer>,
}

impl Admission {
    /// Takes a place among the connections with a request. An `Err` if there are too many, or the connection was
    /// closed.
    fn begin(&self) -> Result<(), RequestEnd> {
        let mut open = self.shared.open();
        let busy = open.sockets.values().filter(|open| open.waits.is_none()).count();
        let own = open.sockets.get_mut(&self.number).ok_or(RequestEnd::Gone)?;
        if busy >= self.shared.settings.limits.connections {
            return Err(HttpResponse::error(503).with("Retry-After", "1").into());
        }
        own.waits = None;
        Ok(())
    }

    /// Gives the place back: the connection waits for another request.
    fn wait(&self) {
        if let Some(own) = self.shared.open().sockets.get_mut(&self.number) {
            own.waits = Some(Instant::now());
        }
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        self.shared.open().sockets.remove(&self.number);
    }
}

fn accept(listener: &TcpListener, shared: &Arc<SharedServer>) {
    let pause = Timespec { tv_sec: 0, tv_nsec: GLANCE.subsec_nanos().into() };
    while !shared.is_over() {
        let mut waited = [PollFd::new(listener, PollFlags::IN)];
        match poll(&mut waited, Some(&pause)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => continue,
            Ok(_) => {}
            Err(_) => std::thread::sleep(GLANCE),
        }
        let socket = match listener.accept() {
            Ok((socket, _)) => socket,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
            // Out of file descriptors, most likely: others may be closed.
            Err(_) => {
                std::thread::sleep(GLANCE);
                continue;
            }
        };
        let admitted = shared.admit(&socket);
        let thread = std::thread::Builder::new().name(shared.settings.name.into());
        match admitted {
            Ok(admission) => {
                // A thread that cannot be made drops the connection, and its place.
                let _ = thread.spawn(move || Connection::serve(socket, &admission));
            }
            // Out of file descriptors.
            Err(_) => drop(socket),
        }
    }
}

/// A connection: its socket, and the bytes that were read beyond the last request.
struct Connection<'s> {
    socket: TcpStream,
    held: Vec<u8>,
    shared: &'s SharedServer,
    place: &'s Admission,
}

/// The reason for which a connection ends without another request.
enum RequestEnd {
    /// The other side has left, or the server ends.
    Gone,
    /// The request is answered with this, and the connection closed.
    Refused(HttpResponse),
}

impl From<HttpResponse> for RequestEnd {
    fn from(response: HttpResponse) -> RequestEnd {
        RequestEnd::Refused(response)
    }
}

impl Connection<'_> {
    fn serve(socket: TcpStream, admission: &Admission) {
        let shared = &*admission.shared;
        let limits = &shared.settings.limits;
        // Some systems let a connection inherit this from its listener.
        let ready = socket.set_nonblocking(false).and_then(|()| socket.set_write_timeout(Some(limits.write)));
        if ready.is_err() {
            return;
        }
        let _ = socket.set_nodelay(true);
        let mut connection = Connection { socket, held: Vec::new(), shared, place: admission };
        let mut is_first = true;
        for _ in 0..REQUESTS {
            match connection.answer(std::mem::replace(&mut is_first, false)) {
                Ok(true) => admission.wait(),
                Ok(false) | Err(_) => break,
            }
        }
        connection.close();
    }

    /// Reads and answers one request; returns true if the connection may serve another.
    fn answer(&mut self, is_first: bool) -> io::Result<bool> {
        let (limits, now) = (&self.shared.settings.limits, Instant::now());
        let until = now + limits.read;
        let head_until = if is_first { until.min(now + limits.first) } else { until };
        let (head, body) = match self.request(head_until, until) {
            Ok(request) => request,
            Err(RequestEnd::Gone) => return Ok(false),
            Err(RequestEnd::Refused(response)) => {
                self.put(response, false, false)?;
                return Ok(false);
            }
        };
        let RequestHead { method, is_head, path, query, fields, keep_alive, .. } = head;
        let response = (self.shared.handler)(&HttpRequest { method, path, query, fields, body });
        let keep_alive =
            keep_alive && matches!(response.body, ResponseBody::Whole(_)) && !self.shared.is_over();
        self.put(response, keep_alive, is_head)?;
        Ok(keep_alive)
    }

    fn request(&mut self, head_until: Instant, until: Instant) -> Result<(RequestHead, Vec<u8>), RequestEnd> {
        let ServerSettings { limits, access, address, .. } = &self.shared.settings;
        let (head, length) = loop {
            if let Some(read) = RequestHead::read(&self.held)? {
                break read;
            }
            if self.held.len() >= limits.head {
                return Err(HttpResponse::error(431).into());
            }
            self.read_more(head_until)?;
        };
        if length > limits.head {
            return Err(HttpResponse::error(431).into());
        }
        head.authorize(address.ip().is_loopback(), access)?;
        let size = usize::try_from(head.length).ok().filter(|size| *size <= limits.body);
        let size = size.ok_or_else(|| HttpResponse::error(413))?;
        self.place.begin()?;
        self.held.drain(..length);
        if head.expects && self.held.len() < size {
            self.socket.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").map_err(|_| RequestEnd::Gone)?;
        }
        while self.held.len() < size {
            self.read_more(until)?;
        }
        let rest = self.held.split_off(size);
        Ok((head, std::mem::replace(&mut self.held, rest)))
    }

    /// Reads what has come, by this time at the latest.
    fn read_more(&mut self, until: Instant) -> Result<(), RequestEnd> {
        let left = until.saturating_duration_since(Instant::now());
        let begun = !self.held.is_empty();
        let late = || if begun { RequestEnd::Refused(HttpResponse::error(408)) } else { RequestEnd::Gone };
        if left.is_zero() {
            return Err(late());
        }
        let mut room = [0; 16 << 10];
        self.socket.set_read_timeout(Some(left)).map_err(|_| RequestEnd::Gone)?;
        match self.socket.read(&mut room) {
            Ok(0) => Err(RequestEnd::Gone),
            Ok(read) => {
                self.held.extend_from_slice(room.get(..read).unwrap_or_default());
                Ok(())
            }
            Err(error) => match error.kind() {
                io::ErrorKind::Interrupted => Ok(()),
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Err(late()),
                _ => Err(RequestEnd::Gone),
            },
        }
    }

    fn put(&mut self, response: HttpResponse, keep_alive: bool, is_head: bool) -> io::Result<()> {
        let stream = matches!(response.body, ResponseBody::Events(_));
        let place = if stream && !is_head { Some(StreamPlace::take(self.shared)) } else { None };
        if matches!(place, Some(None)) {
            return self.put(HttpResponse::error(503).with("Retry-After", "5"), false, false);
        }
        let mut bytes = response.head(keep_alive);
        match response.body {
            ResponseBody::Whole(body) => {
                if !is_head {
                    bytes.extend_from_slice(&body);
                }
                self.socket.write_all(&bytes)
            }
            ResponseBody::Events(write) => {
                self.socket.write_all(&bytes)?;
                if is_head {
                    return Ok(());
                }
                let over = || self.shared.is_over();
                write(&mut EventStream { out: &mut &self.socket, over: &over })
            }
        }
    }

    /// Closes the connection so that the last response arrives: bytes that stay unread would take it back.
    fn close(mut self) {
        let until = Instant::now() + FAREWELL;
        if self.socket.shutdown(Shutdown::Write).is_err() {
            return;
        }
        let mut most = 1 << 20;
        while most > 0 && !self.shared.is_over() {
            self.held.clear();
            match self.read_more(until) {
                Ok(()) => most = usize::saturating_sub(most, self.held.len()),
                Err(_) => return,
            }
        }
    }
}

/// A place among the streams, until it is dropped.
struct StreamPlace<'s>(&'s AtomicUsize);

impl StreamPlace<'_> {
    fn take(shared: &SharedServer) -> Option<StreamPlace<'_>> {
        let most = (shared.settings.limits.connections / 2).max(1);
        let taken = shared.streams.fetch_add(1, Ordering::SeqCst);
        let place = StreamPlace(&shared.streams);
        (taken < most).then_some(place)
    }
}

impl Drop for StreamPlace<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
