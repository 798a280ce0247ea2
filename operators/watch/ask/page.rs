//! The page with a form for questions, and its script.

use super::AskedBundle;
use crate::picture::{escape, page_style};

/// The script of the page. What comes from the server is shown as text, never as markup.
pub(super) const SCRIPT: &str = r#""use strict";
const at = id => document.getElementById(id);
const pause = seconds => new Promise(done => setTimeout(done, 1000 * seconds));
function fresh() {
  const bytes = crypto.getRandomValues(new Uint8Array(6));
  return "q-" + [...bytes].map(byte => byte.toString(16).padStart(2, "0")).join("");
}
function row(texts) {
  const line = document.createElement("tr");
  for (const text of texts) {
    const cell = document.createElement("td");
    cell.textContent = text;
    line.append(cell);
  }
  at("answers").tBodies[0].prepend(line);
}
function rounded(number, half, side) {
  if (Number.isInteger(number) || !(half > 0)) return String(number);
  const digits = Math.min(15, Math.max(0, 1 - Math.floor(Math.log10(half)))), unit = 10 ** digits;
  return (side(number * unit) / unit).toFixed(digits);
}
function answered(line) {
  const [low, high] = line.interval || [], half = (high - low) / 2;
  const window = line.version ? line.version.start + " to " + line.version.end : "";
  const value = line.value === undefined ? "refused: " + line.refused : rounded(line.value, half, Math.round);
  const within = low === undefined ? "" : rounded(low, half, Math.floor) + " to " + rounded(high, half, Math.ceil);
  const left = line.left === undefined ? "" : line.left + " (" + line.used + " used)";
  row([line.question, line.asked || "", value, within, window, left]);
}
async function ask(event) {
  event.preventDefault();
  const body = JSON.stringify({ id: at("id").value, ask: at("question").value });
  const headers = { "Authorization": "Bearer " + at("token").value.trim(), "Content-Type": "application/json" };
  at("send").disabled = true;
  at("state").textContent = "Waiting for the answer, which leaves at the next tick of the run.";
  try {
    for (;;) {
      const reply = await fetch("/ask", { method: "POST", headers, body, cache: "no-store" });
      const text = await reply.text(), again = Number(reply.headers.get("Retry-After"));
      if (again) { await pause(again); continue; }
      let line = {};
      try { line = JSON.parse(text); } catch (none) { line = { error: text }; }
      if (line.question) { answered(line); at("id").value = fresh(); at("state").textContent = "Answered."; }
      else at("state").textContent = reply.status === 401 ? "The token is of no analyst." : line.error;
      break;
    }
  } catch (gone) { at("state").textContent = "The run cannot be reached: " + gone.message; }
  at("send").disabled = false;
}
at("id").value = fresh();
at("form").addEventListener("submit", ask);
"#;

/// The language of questions: texts with what they ask.
const LANGUAGE: [(&str, &str); 9] = [
    ("count", "how many records there are"),
    ("count where age >= 18", "how many have such a number: =, !=, <, <=, >, >="),
    ("count where age in 18..65", "from 18 on and below 65; ..65 and 18.. are open at one side"),
    ("count where country in {\"DE\", \"AT\"}", "one of several texts, or numbers"),
    ("count where path starts with \"/api/\"", "a text with this at its start; or ends with, contains"),
    ("count where time >= \"2026-11-01T12:00:00Z\"", "a moment, or a date"),
    ("count where not (a = 1) and (b = 2 or c = 3)", "not binds closest, then and, then or"),
    ("mean of price in 0..100", "the mean of a field, each value clipped to the range; it takes two answers"),
    (
        "mean of price in 0..100 where country = \"DE\"",
        "that of some records; `a field` with a space stands in backquotes",
    ),
];

/// The rules of the form.
const FORM: &str = "form{display:grid;gap:12px;max-width:760px}label{display:grid;gap:4px}\
    input,textarea{font:inherit;padding:8px;border:1px solid var(--rule);border-radius:6px;background:transparent;color:inherit}\
    button{font:inherit;padding:8px 18px;justify-self:start}#state{min-height:1.5em;color:var(--muted)}";

/// Returns the page.
pub(super) fn page(bundles: &[AskedBundle]) -> String {
    let bundles: String = bundles.iter().map(bundle).collect();
    let row = |(text, asks): &(&str, &str)| {
        format!("<tr><td><code>{}</code></td><td>{}</td></tr>", escape(text), escape(asks))
    };
    let language: String = LANGUAGE.iter().map(row).collect();
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         script-src 'self'; connect-src 'self'\">\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
         <meta name=\"color-scheme\" content=\"light dark\"><title>Ask</title><style>{}{FORM}</style>\
         <script src=\"/ask.js\" defer></script></head><body><main><h1>Ask the stream</h1>\
         <form id=\"form\"><label>Question<textarea id=\"question\" rows=\"3\" required placeholder=\"count where age &gt;= 18\"></textarea></label>\
         <label>Token of the analyst<input id=\"token\" type=\"password\" required autocomplete=\"off\"></label>\
         <label>Id: the same id has the same answer for ever<input id=\"id\" required maxlength=\"128\"></label>\
         <button id=\"send\">Ask</button><p id=\"state\" role=\"status\"></p></form>\
         <table id=\"answers\"><caption>Answers</caption><thead><tr><th>Id</th><th>Question</th><th>Answer</th>\
         <th>Certainly within</th><th>About</th><th>Answers left</th></tr></thead><tbody></tbody></table>\
         {bundles}<h2>The language</h2><table><tbody>{language}</tbody></table></main></body></html>\n",
        page_style()
    )
}

fn bundle(bundle: &AskedBundle) -> String {
    let field = |(name, kind): &(String, String)| {
        format!("<tr><td><code>{}</code></td><td>{}</td></tr>", escape(name), escape(kind))
    };
    let fields: String = bundle.fields.iter().map(field).collect();
    format!(
        "<h2>{}</h2><p>A question is about the last window that is over; a window lasts {}. There are {} answers in all, and no \
         count is off by more than {}.</p><table><thead><tr><th>Field</th><th>Kind</th></tr></thead><tbody>{fields}</tbody></table>",
        escape(&bundle.name),
        escape(&bundle.every),
        bundle.answers,
        bundle.largest_error
    )
}
