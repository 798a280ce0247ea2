//! Questions of analysts over HTTP: `POST /ask`, each with the token of its analyst, and the page with a form for them.
//!
//! The page and its script are public: they have the fields that can be asked about, and nothing of a record. What an
//! analyst sees is the line of the answer, once it has left the run.

mod page;

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;

use crate::http::{AccessToken, HttpRequest, HttpResponse};

/// The path of questions.
pub(super) const PATH: &str = "/ask";
/// The path of the script of their page.
pub(super) const SCRIPT_PATH: &str = "/ask.js";
/// The most bytes of a question.
pub(super) const LONGEST: usize = 64 << 10;
/// The most analysts who wait at one time, each on a thread.
pub(super) const WAITING: usize = 1_000;

/// The analysts who may ask, and their questions.
pub struct AskSettings {
    /// The analysts.
    pub analysts: Vec<AskingAnalyst>,
    /// The bundles of answers.
    pub bundles: Vec<AskedBundle>,
    /// The function that answers.
    pub answer: AskView,
}

/// The function from a bundle, an analyst and the line of a question to the reply, for which it waits some seconds.
pub type AskView = Box<dyn Fn(usize, &str, &str) -> AskReply + Send + Sync>;

/// An analyst who may ask.
#[derive(Clone)]
pub struct AskingAnalyst {
    /// The index of the bundle of which the answers are.
    pub bundle: usize,
    /// The name.
    pub name: String,
    /// The text of the token.
    pub token: String,
}

redacted!(AskingAnalyst);

/// The public description of a bundle of answers.
#[derive(Clone, Debug)]
pub struct AskedBundle {
    /// The name.
    pub name: String,
    /// The windows: a question is about the last one that is over.
    pub every: String,
    /// The fields that can be asked about, each with its kind.
    pub fields: Vec<(String, String)>,
    /// The number of answers.
    pub answers: u64,
    /// The largest error of a count.
    pub largest_error: u64,
}

/// The reply to a question.
#[derive(Clone, Debug)]
pub struct AskReply {
    /// The status of HTTP.
    pub status: u16,
    /// One object of JSON.
    pub body: String,
    /// The seconds after which the same question may be asked again, if it may.
    pub again: Option<u32>,
}

/// The answering side of the server.
pub(super) struct AskServer {
    analysts: Vec<(AccessToken, usize, String)>,
    page: String,
    answer: AskView,
    waiting: AtomicUsize,
}

impl AskServer {
    /// Reads the tokens.
    ///
    /// # Errors
    ///
    /// If one is short, or two analysts have the same.
    pub(super) fn new(settings: AskSettings) -> io::Result<AskServer> {
        let refuse = |why: String| io::Error::new(io::ErrorKind::InvalidInput, why);
        let mut analysts: Vec<(AccessToken, usize, String)> = Vec::new();
        for AskingAnalyst { bundle, name, token } in settings.analysts {
            let token =
                AccessToken::new("ask.tokens", &token).map_err(|invalid| refuse(invalid.to_string()))?;
            if analysts.iter().any(|(other, ..)| *other == token) {
                return Err(refuse(format!(
                    "ask.tokens: found one token of two analysts, of whom {name} is one; give each a token of its own"
                )));
            }
            analysts.push((token, bundle, name));
        }
        let page = page::page(&settings.bundles);
        Ok(AskServer { analysts, page, answer: settings.answer, waiting: AtomicUsize::new(0) })
    }

    /// Returns the tokens that admit questions.
    pub(super) fn tokens(&self) -> Vec<AccessToken> {
        self.analysts.iter().map(|(token, ..)| token.clone()).collect()
    }

    /// Returns the page with the form.
    pub(super) fn page(&self) -> HttpResponse {
        HttpResponse::new(200, "text/html; charset=utf-8", self.page.as_str()).with("X-Frame-Options", "DENY")
    }

    /// Returns the script of the page.
    pub(super) fn script() -> HttpResponse {
        HttpResponse::new(200, "text/javascript; charset=utf-8", page::SCRIPT)
    }

    /// Answers the question of a request, whose token was accepted.
    pub(super) fn answer(&self, request: &HttpRequest) -> HttpResponse {
        let given = request.fields.get("authorization").unwrap_or_default();
        let Some((_, bundle, analyst)) = self.analysts.iter().find(|(token, ..)| token.admits(given)) else {
            return HttpResponse::error(401);
        };
        let Ok(line) = str::from_utf8(&request.body) else {
            return refused(400, "question: found bytes that are no UTF-8; give one object of JSON");
        };
        let place = WaitingPlace::take(&self.waiting);
        if place.number >= WAITING {
            return refused(503, "too many analysts wait; ask again in a second").with("Retry-After", "1");
        }
        let reply = (self.answer)(*bundle, analyst, line);
        let response = HttpResponse::new(reply.status, JSON, reply.body + "\n");
        match reply.again {
            Some(seconds) => response.with("Retry-After", &seconds.to_string()),
            None => response,
        }
    }
}

const JSON: &str = "application/json; charset=utf-8";

fn refused(status: u16, why: &str) -> HttpResponse {
    HttpResponse::new(status, JSON, json!({ "error": why }).to_string() + "\n")
}

impl fmt::Debug for AskSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AskSettings").field("bundles", &self.bundles).finish_non_exhaustive()
    }
}

/// A place among the analysts who wait, until it is dropped.
struct WaitingPlace<'w> {
    of: &'w AtomicUsize,
    number: usize,
}

impl WaitingPlace<'_> {
    fn take(of: &AtomicUsize) -> WaitingPlace<'_> {
        WaitingPlace { of, number: of.fetch_add(1, Ordering::SeqCst) }
    }
}

impl Drop for WaitingPlace<'_> {
    fn drop(&mut self) {
        self.of.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests;
