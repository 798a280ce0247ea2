//! The addresses of a live run: metrics, health, the live page, the operator's page, and questions of analysts.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use super::ask::{self, AskServer, AskSettings};
use super::live::{LiveRun, SCRIPT};
use super::metrics::{MetricKind, Metrics};
use crate::alert::Audience;
use crate::http::{
    AccessToken, EventStream, HttpMethod, HttpRequest, HttpResponse, HttpServer, PathAccess, ServerAccess,
    ServerLimits, ServerSettings,
};
use crate::picture::page_style;

/// The condition of a running process and its source. It is for the operator alone.
#[derive(Clone, Debug, Default)]
pub struct OperatorStatus {
    /// True unless a worker has stopped to take turns.
    pub alive: bool,
    /// The reason for which no window can leave at present, if there is one.
    pub waits: Option<&'static str>,
    /// The seconds since the time up to which the input is complete, if it ever was.
    pub lag: Option<f64>,
    /// The bytes that were read.
    pub read: u64,
    /// The records that were read.
    pub records: u64,
    /// The records that were read in a second, over the last seconds.
    pub rate: Option<f64>,
    /// The records that came after each window that could hold them was closed.
    pub late: u64,
    /// The records that were dropped, since they lie too far ahead of the clock.
    pub ahead: u64,
    /// Of the records that were read, those before the start of the first window.
    pub before: u64,
    /// The lines that could not be read.
    pub bad: u64,
    /// The seconds since the time from which a restart reads again, once that is written.
    pub position_age: Option<f64>,
    /// The rows that were written to the ledger.
    pub rows: u64,
    /// The answers that left at a later tick than the first one after their question.
    pub missed: u64,
    /// The windows that have begun and are not closed.
    pub open: u64,
    /// The seconds that the ledger took for the last window.
    pub ledger: Option<f64>,
    /// The memory of the process, in bytes.
    pub memory: Option<u64>,
    /// The numbers of the receiver over HTTP, if the source has one.
    pub received: Option<ReceivedBatches>,
}

/// The numbers of a receiver over HTTP since the start of the run.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReceivedBatches {
    /// The batches that were taken.
    pub batches: u64,
    /// The batches that were there already.
    pub repeated: u64,
    /// The records of the batches that were taken.
    pub records: u64,
    /// The requests that were refused.
    pub refused: u64,
    /// The bytes that the spool holds.
    pub held: u64,
}

/// The function that returns the present status.
pub type OperatorView = Box<dyn Fn() -> OperatorStatus + Send + Sync>;

/// The settings of a server.
#[derive(Clone, Debug)]
pub struct WatchSettings {
    /// The address.
    pub listen: SocketAddr,
    /// The text of the token that each request carries, if any.
    pub token: Option<String>,
    /// True if what is for the operator alone is served, too.
    pub operator: bool,
}

/// A server of a live run, until it is dropped.
pub struct WatchServer(HttpServer);

impl WatchServer {
    /// Serves a run from now on.
    ///
    /// # Errors
    ///
    /// If the address cannot be listened at, or the token is short.
    pub fn start(
        settings: WatchSettings,
        live: LiveRun,
        view: OperatorView,
        asks: Option<AskSettings>,
    ) -> io::Result<WatchServer> {
        let WatchSettings { listen: address, token, operator } = settings;
        let token = token.map(|token| AccessToken::new("watch.token", &token)).transpose();
        let token = token.map_err(|invalid| io::Error::new(io::ErrorKind::InvalidInput, invalid))?;
        let asks = asks.map(AskServer::new).transpose()?;
        let posts = asks.as_ref().map(|asks| PathAccess { path: ask::PATH, tokens: asks.tokens() });
        // Without tokens too, so that a question is refused for what it lacks.
        let mut limits = ServerLimits { body: ask::LONGEST, ..ServerLimits::default() };
        if asks.is_some() {
            // Analysts who wait leave the places of all others.
            limits.connections += 2 * ask::WAITING;
            limits.waiting = 2 * ask::WAITING;
        }
        let settings =
            ServerSettings { address, access: ServerAccess { token, posts }, limits, name: "watch" };
        let pages = WatchPages { live, view, operator, asks };
        let answer = move |request: &HttpRequest| pages.answer(request);
        HttpServer::start(settings, answer).map(WatchServer)
    }

    /// Returns the address, with the port that was taken.
    pub fn address(&self) -> SocketAddr {
        self.0.address()
    }
}

impl fmt::Debug for WatchServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WatchServer({})", self.address())
    }
}

/// What the server answers with.
struct WatchPages {
    live: LiveRun,
    view: OperatorView,
    operator: bool,
    asks: Option<AskServer>,
}

impl WatchPages {
    fn answer(&self, request: &HttpRequest) -> HttpResponse {
        let WatchPages { live, view, asks, .. } = self;
        let operator = self.operator;
        match (request.method, asks) {
            (HttpMethod::Post, Some(asks)) if request.path == ask::PATH => return asks.answer(request),
            (HttpMethod::Get, _) => {}
            _ => return HttpResponse::error(405).with("Allow", "GET, HEAD"),
        }
        match request.path.as_str() {
            "/" => HttpResponse::new(200, "text/html; charset=utf-8", live.page(asks.is_some()))
                .with("X-Frame-Options", "DENY"),
            "/live.js" => HttpResponse::new(200, "text/javascript; charset=utf-8", SCRIPT),
            "/events" => {
                let live = live.clone();
                HttpResponse::events(move |events| stream(events, &live))
            }
            "/metrics" => {
                let mut metrics = Metrics::default();
                live.write_metrics(&mut metrics);
                if operator {
                    write_operator(&mut metrics, live, &view());
                }
                HttpResponse::new(200, Metrics::CONTENT_TYPE, metrics.text())
            }
            "/healthz" if view().alive => HttpResponse::text(200, "alive"),
            "/healthz" => HttpResponse::text(503, "not alive: a worker takes no turns"),
            "/readyz" => match view().waits {
                None => HttpResponse::text(200, "ready"),
                Some(why) => HttpResponse::text(503, &format!("not ready: {why}")),
            },
            "/operator" if operator => {
                HttpResponse::new(200, "text/html; charset=utf-8", operator_page(&view()))
                    .with("X-Frame-Options", "DENY")
            }
            "/operator" => HttpResponse::text(404, "set operator = true in [watch] of the job file"),
            ask::PATH | ask::SCRIPT_PATH => match asks {
                Some(asks) if request.path == ask::PATH => asks.page(),
                Some(_) => AskServer::script(),
                None => HttpResponse::text(404, "give tokens in an [[ask]] of the job file"),
            },
            _ => HttpResponse::error(404),
        }
    }
}

/// The time between two events, at least.
const PACE: Duration = Duration::from_secs(1);

/// The number of waits without a change after which a sign of life is sent.
const QUIET: u32 = 15;

fn stream(events: &mut EventStream<'_>, live: &LiveRun) -> io::Result<()> {
    let mut version = live.version();
    events.send("tick", &live.mark_of(version))?;
    let mut quiet = 0;
    while !events.is_over() {
        std::thread::sleep(PACE / 4);
        let newest = live.wait(version, PACE - PACE / 4);
        if newest != version {
            let change;
            (version, change) = live.change(version);
            quiet = 0;
            events.send("change", &change)?;
            std::thread::sleep(PACE - PACE / 4);
        } else {
            quiet += 1;
            if quiet % QUIET == 0 {
                events.beat()?;
            }
        }
    }
    Ok(())
}

/// Writes the families of the operator.
fn write_operator(metrics: &mut Metrics, live: &LiveRun, status: &OperatorStatus) {
    let (gauge, counter) = (MetricKind::Gauge, MetricKind::Counter);
    let truth = |is_so: bool| Some(f64::from(u8::from(is_so)));
    let count = |number: u64| Some(number as f64);
    let of_receiver = |number: fn(&ReceivedBatches) -> u64| {
        status.received.as_ref().map(|received| number(received) as f64)
    };
    for (name, kind, help, value) in [
        ("alive", gauge, "1 unless a worker has stopped to take turns.", truth(status.alive)),
        ("ready", gauge, "1 while windows can leave.", truth(status.waits.is_none())),
        (
            "source_lag_seconds",
            gauge,
            "The time since the moment up to which the input is complete.",
            status.lag,
        ),
        ("source_read_bytes_total", counter, "The bytes that were read.", count(status.read)),
        ("source_records_total", counter, "The records that were read.", count(status.records)),
        (
            "source_late_records_total",
            counter,
            "The records that came after each window that could hold them was closed.",
            count(status.late),
        ),
        (
            "source_ahead_records_total",
            counter,
            "The records that were dropped, since they lie further ahead of the clock than source.ahead.",
            count(status.ahead),
        ),
        (
            "source_before_records_total",
            counter,
            "The records that lie before job.from, where there is no window.",
            count(status.before),
        ),
        ("source_bad_lines_total", counter, "The lines that could not be read.", count(status.bad)),
        (
            "source_position_age_seconds",
            gauge,
            "The time since the moment from which a restart reads the input again.",
            status.position_age,
        ),
        (
            "answers_missed_total",
            counter,
            "The answers that left at a later tick than the first one after their question.",
            count(status.missed),
        ),
        ("windows_open", gauge, "The windows that have begun and are not closed.", count(status.open)),
        (
            "ledger_rows_written_total",
            counter,
            "The rows that were written to the ledger.",
            count(status.rows),
        ),
        ("ledger_window_seconds", gauge, "The time that the ledger took for the last window.", status.ledger),
        (
            "resident_memory_bytes",
            gauge,
            "The memory of the process.",
            status.memory.map(|bytes| bytes as f64),
        ),
        ("received_batches_total", counter, "The batches that were taken.", of_receiver(|all| all.batches)),
        (
            "received_repeated_total",
            counter,
            "The batches that were there already.",
            of_receiver(|all| all.repeated),
        ),
        (
            "received_records_total",
            counter,
            "The records of the batches that were taken.",
            of_receiver(|all| all.records),
        ),
        (
            "received_refused_total",
            counter,
            "The requests that were refused.",
            of_receiver(|all| all.refused),
        ),
        ("spool_bytes", gauge, "The bytes that the spool holds.", of_receiver(|all| all.held)),
    ] {
        if let Some(value) = value {
            let name = format!("discreet_operator_{name}");
            metrics.family(&name, kind, &format!("Operator only. {help}"));
            metrics.sample(&name, &[], value);
        }
    }
    live.write_alerts(metrics, "discreet_operator_alerts_total", "Operator only", Audience::Operator);
}

/// The page of the operator, which the browser loads anew every two seconds.
fn operator_page(status: &OperatorStatus) -> String {
    let seconds = |value: Option<f64>| value.map_or("unknown".to_owned(), |value| format!("{value:.3} s"));
    let bytes = |value: u64| format!("{:.1} MB", value as f64 / 1e6);
    let rate = status.rate.map_or(String::new(), |rate| format!(", {rate:.0} a second"));
    let mut rows = vec![
        ("Alive", if status.alive { "yes" } else { "no: a worker takes no turns" }.to_owned()),
        ("Ready", status.waits.map_or("yes".to_owned(), |why| format!("no: {why}"))),
        ("Lag", seconds(status.lag)),
        ("Read", bytes(status.read)),
        ("Records", format!("{}{rate}", status.records)),
        ("Late records", status.late.to_string()),
        ("Records too far ahead", status.ahead.to_string()),
        ("Records before job.from", status.before.to_string()),
        ("Lines that cannot be read", status.bad.to_string()),
        (
            "A restart reads back",
            status.position_age.map_or("not written yet".to_owned(), |age| format!("{age:.3} s")),
        ),
        ("Answers after the first tick", status.missed.to_string()),
        ("Windows open", status.open.to_string()),
        ("Rows written", status.rows.to_string()),
        ("Ledger, last window", seconds(status.ledger)),
        ("Memory", status.memory.map_or("unknown".to_owned(), bytes)),
    ];
    if let Some(ReceivedBatches { batches, repeated, records, refused, held }) = &status.received {
        let taken = format!("{batches} taken, {repeated} there already, {refused} refused");
        rows.extend([("Batches", taken), ("Records received", records.to_string()), ("Spool", bytes(*held))]);
    }
    let rows: String =
        rows.iter().map(|(name, value)| format!("<div><dt>{name}</dt><dd>{value}</dd></div>")).collect();
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" content=\"2\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
         <meta name=\"color-scheme\" content=\"light dark\"><title>Operator only</title><style>{}</style></head>\
         <body><main><p class=\"kicker\">Operator only: it may depend on single records, and is not for publication</p>\
         <h1>The run and its source</h1><dl>{rows}</dl></main></body></html>\n",
        page_style()
    )
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpStream;

    use super::*;
    use crate::alert::Alerts;
    use crate::watch::live::LiveHeading;

    fn get(server: &WatchServer, path: &str) -> String {
        let mut socket = TcpStream::connect(server.address()).unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        socket.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).unwrap();
        answer
    }

    fn server(operator: bool, ready: bool) -> WatchServer {
        let listen = SocketAddr::from(([127, 0, 0, 1], 0));
        let live = LiveRun::new(LiveHeading::default(), Alerts::new());
        let waits = (!ready).then_some("the input that was there is still being read");
        let view = move || OperatorStatus {
            alive: ready,
            waits,
            read: 4242,
            late: 77,
            lag: Some(0.5),
            ..OperatorStatus::default()
        };
        WatchServer::start(WatchSettings { listen, token: None, operator }, live, Box::new(view), None)
            .unwrap()
    }

    // Refutes operator families that are served unasked.
    #[test]
    fn the_operator_is_asked_for_and_the_public_is_apart() {
        let public = server(false, false);
        let metrics = get(&public, "/metrics");
        assert!(metrics.contains("# HELP discreet_windows_settled_total Public. "), "{metrics}");
        assert!(!metrics.contains("operator") && !metrics.contains("4242"), "{metrics}");
        assert!(get(&public, "/operator").starts_with("HTTP/1.1 404 "));
        assert!(get(&public, "/healthz").starts_with("HTTP/1.1 503 "));
        let not_ready = get(&public, "/readyz");
        assert!(
            not_ready.starts_with("HTTP/1.1 503 ") && not_ready.contains("still being read"),
            "{not_ready}"
        );
        assert!(get(&public, "/../etc/passwd").starts_with("HTTP/1.1 404 "));
        let both = server(true, true);
        let metrics = get(&both, "/metrics");
        assert!(metrics.contains("\ndiscreet_operator_source_read_bytes_total 4242\n"), "{metrics}");
        let of_operator = |line: &&str| line.starts_with("# HELP discreet_operator_");
        assert!(metrics.lines().filter(of_operator).all(|line| line.contains(" Operator only. ")));
        assert!(metrics.contains("\ndiscreet_operator_source_late_records_total 77\n"), "{metrics}");
        assert!(get(&both, "/healthz").starts_with("HTTP/1.1 200 "));
        assert!(get(&both, "/readyz").starts_with("HTTP/1.1 200 "));
        assert!(get(&both, "/operator").contains("<dt>Lag</dt><dd>0.500 s</dd>"));
        let page = get(&both, "/");
        assert!(page.contains("No window has settled") && !page.contains("0.500"), "{page}");
    }

    #[test]
    fn a_short_token_is_refused() {
        let listen = SocketAddr::from(([127, 0, 0, 1], 0));
        let settings = WatchSettings { listen, token: Some("short".to_owned()), operator: false };
        let live = LiveRun::new(LiveHeading::default(), Alerts::new());
        let refused =
            WatchServer::start(settings, live, Box::new(OperatorStatus::default), None).unwrap_err();
        assert!(refused.to_string().contains("watch.token"), "{refused}");
    }
}
