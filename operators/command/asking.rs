//! The questions of analysts over HTTP: what a live run serves, and `discreet ask`, which asks one.

use std::io::{self, IsTerminal, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use discreet::job::{AskOutcome, AskUnavailable, Explanation, Job, QuestionService};
use discreet::mechanisms::queries::FieldKind;
use discreet::watch::{AskReply, AskSettings, AskedBundle, AskingAnalyst};
use serde_json::{Value, json};

use super::{Refusal, SOURCE_IS_GONE, log};

/// The time for which a request waits for its answer, below the limits of proxies.
const PATIENCE: Duration = Duration::from_secs(10);

/// Returns the settings by which a run serves questions; `None` where no analyst has a token.
pub(super) fn settings(job: &Job, service: &QuestionService) -> Result<Option<AskSettings>, Refusal> {
    let analysts = job.analyst_tokens()?.into_iter();
    let analysts: Vec<AskingAnalyst> =
        analysts.map(|(bundle, name, token)| AskingAnalyst { bundle, name, token }).collect();
    if analysts.is_empty() {
        return Ok(None);
    }
    let planned = job.plan().map_err(|refused| Refusal::new(refused.to_string()))?.asks;
    let bundles = job.asks.iter().zip(planned).map(|(ask, planned)| AskedBundle {
        name: planned.name,
        every: ask.every.to_string(),
        fields: ask.fields.iter().map(|(name, kind)| (name.clone(), in_words(*kind))).collect(),
        answers: planned.answers,
        largest_error: planned.largest_error.ceil() as u64,
    });
    let (bundles, service) = (bundles.collect(), service.clone());
    let answer =
        move |bundle: usize, analyst: &str, line: &str| reply(service.ask(bundle, analyst, line, PATIENCE));
    Ok(Some(AskSettings { analysts, bundles, answer: Box::new(answer) }))
}

fn in_words(kind: FieldKind) -> String {
    match kind {
        FieldKind::Text => "text".to_owned(),
        FieldKind::Number => "whole number".to_owned(),
        FieldKind::Decimal(digits) => format!("number, {digits} digits behind the point"),
        FieldKind::Time => "time".to_owned(),
    }
}

fn reply(outcome: AskOutcome) -> AskReply {
    let error =
        |status, why: &str, again| AskReply { status, body: json!({ "error": why }).to_string(), again };
    match outcome {
        AskOutcome::Answered(body) => AskReply { status: 200, body, again: None },
        AskOutcome::Refused(body) => AskReply { status: 409, body, again: None },
        AskOutcome::Waits => {
            AskReply { status: 202, body: json!({ "waits": true }).to_string(), again: Some(1) }
        }
        AskOutcome::Invalid(why) => error(422, &why, None),
        AskOutcome::OtherQuestion(text) => {
            let why = format!("id: it is that of another question, {text}; give an id of its own");
            error(409, &why, None)
        }
        AskOutcome::TooMany => {
            error(429, "an analyst may ask 10 questions a second; ask again in a second", Some(1))
        }
        AskOutcome::Unavailable(AskUnavailable::Now(why)) => {
            error(503, &format!("{why}; ask again in a second"), Some(1))
        }
        AskOutcome::Unavailable(AskUnavailable::Over(why)) => error(503, why, None),
    }
}

// `discreet ask`: one question to a live run.

/// The exit code of a question that is refused for its bundle or the budget, as that of a window is.
const REFUSED_FOR_BUDGET: u8 = 75;

/// The environment variable that has the token.
const TOKEN: &str = "DISCREET_TOKEN";

#[derive(Debug, Args)]
pub(crate) struct AskArgs {
    /// The address of the run, which it prints at its start, such as http://127.0.0.1:9464
    url: String,
    /// The question: 'count where age >= 18', or 'mean of price in 0..100 where country = "DE"'
    question: String,
    /// The id; the same id has the same answer for ever, and a new one takes from the bundle. Without it, a random one is made
    #[arg(long)]
    id: Option<String>,
    /// The time whose newest window it is about, or a date, which is its midnight in the zone of the job; without it, now
    #[arg(long, value_name = "TIME")]
    at: Option<String>,
    /// The file with the token; without it, the environment variable DISCREET_TOKEN has it
    #[arg(long, value_name = "FILE")]
    token: Option<PathBuf>,
    /// The most seconds to wait for the answer
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    wait: u64,
    /// Print the released line
    #[arg(long)]
    json: bool,
}

impl AskArgs {
    pub(crate) fn run(self) -> Result<String, Refusal> {
        let server = HttpPlace::read(&self.url)?;
        let token = self.token()?;
        let id = match &self.id {
            Some(id) => id.clone(),
            None => random_id()?,
        };
        let mut line = json!({ "id": id, "ask": self.question });
        if let Some(at) = &self.at {
            line["at"] = json!(at);
        }
        if self.id.is_none() && io::stderr().is_terminal() {
            log::note(&format!(
                "the id of this question is {id}; the same answer is given again with --id {id}"
            ));
        }
        let until = Instant::now() + Duration::from_secs(self.wait);
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let answer = server.post(&token, &line.to_string(), left)?;
            let Some(HttpAnswer { status, again, body }) = answer else {
                return Err(self.unanswered(&id));
            };
            match again {
                Some(seconds) if Instant::now() < until => {
                    let left = until.saturating_duration_since(Instant::now());
                    std::thread::sleep(Duration::from_secs(seconds).min(left));
                }
                Some(_) => return Err(self.unanswered(&id)),
                None => return self.shown(status, &body, &id),
            }
        }
    }

    fn unanswered(&self, id: &str) -> Refusal {
        let message = format!("url: no answer within {} seconds; ask again with --id {id}", self.wait);
        Refusal::with(SOURCE_IS_GONE, message)
    }

    fn token(&self) -> Result<String, Refusal> {
        let text = match &self.token {
            Some(path) => {
                std::fs::read_to_string(path).map_err(|error| Refusal::unreadable("--token", path, &error))?
            }
            None => std::env::var(TOKEN).map_err(|_| {
                Refusal::new(format!("--token: found nothing; give the file with the token, or set {TOKEN}"))
            })?,
        };
        let token = text.lines().next().unwrap_or_default().trim();
        match token.bytes().all(|byte| byte.is_ascii_graphic()) && !token.is_empty() {
            true => Ok(token.to_owned()),
            false => Err(Refusal::new("--token: found no token; give one line of letters and digits")),
        }
    }

    /// Returns the page of an answer, or the refusal.
    fn shown(&self, status: u16, body: &str, id: &str) -> Result<String, Refusal> {
        let line: Value = serde_json::from_str(body).unwrap_or_default();
        if line["question"].is_string() {
            let page = match self.json {
                true => format!("{}\n", body.trim_end()),
                false => Explanation::of(body.trim_end(), None)
                    .map_err(|error| Refusal::new(error.to_string()))?
                    .to_string(),
            };
            return if status == 200 { Ok(page) } else { Err(Refusal::with(REFUSED_FOR_BUDGET, page)) };
        }
        let why = line["error"].as_str().unwrap_or_else(|| body.trim_end());
        match status {
            401 => Err(Refusal::new("--token: it is the token of no analyst of this run; give that of one")),
            404 | 405 => Err(Refusal::new(
                "url: the run there takes no questions; give tokens in an [[ask]] of its job file",
            )),
            503 => Err(Refusal::with(SOURCE_IS_GONE, format!("url: {why}; ask again with --id {id}"))),
            409 if line["refused"].is_string() => Err(Refusal::with(
                REFUSED_FOR_BUDGET,
                format!("question: the budget refuses it: {}", body.trim_end()),
            )),
            _ => Err(Refusal::new(format!("question: {why}"))),
        }
    }
}

fn random_id() -> Result<String, Refusal> {
    let mut bytes = [0u8; 8];
    getrandom::fill(&mut bytes)
        .map_err(|error| Refusal::new(format!("--id: no random numbers ({error}); give one")))?;
    Ok(bytes.iter().fold("q-".to_owned(), |id, byte| format!("{id}{byte:02x}")))
}

/// The address of a server without TLS.
struct HttpPlace {
    /// The host with its port.
    host: String,
    address: SocketAddr,
}

struct HttpAnswer {
    status: u16,
    /// The seconds after which the request may be sent again.
    again: Option<u64>,
    body: String,
}

/// The most bytes of a response.
const LONGEST: u64 = 1 << 20;

impl HttpPlace {
    fn read(url: &str) -> Result<HttpPlace, Refusal> {
        let refuse = |found: &str| {
            Refusal::new(format!(
                "url: found {found}; give the address of the run, such as http://127.0.0.1:9464"
            ))
        };
        if url.starts_with("https://") {
            return Err(refuse("https, which needs a proxy of this machine that has it"));
        }
        let rest = url.strip_prefix("http://").unwrap_or(url);
        let host = rest.split('/').next().unwrap_or_default();
        let path = rest.get(host.len()..).unwrap_or_default();
        if !["", "/", "/ask"].contains(&path) {
            return Err(refuse("a path of another page"));
        }
        let named =
            if host.ends_with(']') || !host.contains(':') { format!("{host}:80") } else { host.to_owned() };
        let mut addresses = named.to_socket_addrs().map_err(|_| refuse("no host with a port"))?;
        let address = addresses.next().ok_or_else(|| refuse("a host without an address"))?;
        Ok(HttpPlace { host: host.to_owned(), address })
    }

    /// Sends a question; `None` if there is no reply within this time.
    fn post(&self, token: &str, line: &str, within: Duration) -> Result<Option<HttpAnswer>, Refusal> {
        let gone = |error: io::Error| {
            let message =
                format!("url: {} cannot be reached ({error}); look whether the run is there", self.host);
            Refusal::with(SOURCE_IS_GONE, message)
        };
        let mut socket = TcpStream::connect_timeout(&self.address, PATIENCE).map_err(gone)?;
        let within = within.clamp(Duration::from_secs(1), 3 * PATIENCE);
        socket.set_read_timeout(Some(within)).map_err(gone)?;
        let head = format!(
            "POST /ask HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n",
            self.host,
            line.len()
        );
        socket.write_all((head + line).as_bytes()).map_err(gone)?;
        let mut bytes = Vec::new();
        match socket.take(LONGEST).read_to_end(&mut bytes) {
            Err(error) if [io::ErrorKind::WouldBlock, io::ErrorKind::TimedOut].contains(&error.kind()) => {
                return Ok(None);
            }
            read => read.map_err(gone)?,
        };
        read_answer(&bytes).map(Some).ok_or_else(|| gone(io::ErrorKind::UnexpectedEof.into()))
    }
}

/// Reads a response that ends with its connection, of the length that its head states.
fn read_answer(bytes: &[u8]) -> Option<HttpAnswer> {
    let mut room = [httparse::EMPTY_HEADER; 64];
    let mut parsed = httparse::Response::new(&mut room);
    let Ok(httparse::Status::Complete(length)) = parsed.parse(bytes) else { return None };
    let field = |name: &str| {
        let found = parsed.headers.iter().find(|field| field.name.eq_ignore_ascii_case(name))?;
        str::from_utf8(found.value).ok()?.trim().parse::<u64>().ok()
    };
    let body = bytes.get(length..)?;
    if field("content-length").is_some_and(|length| length != body.len() as u64) {
        return None;
    }
    let body = str::from_utf8(body).ok()?.to_owned();
    Some(HttpAnswer { status: parsed.code?, again: field("retry-after"), body })
}
