//! The live page: a report with a bar above it, and the script that changes it as windows settle.

use super::KEPT_WINDOWS;

/// The script of the live page. Each change brings the parts of the page that are new, which take the place of
/// the former ones; tables that are open stay open. Where changes were missed, as after a connection that was
/// lost, the page is fetched whole.
pub(in crate::watch) const SCRIPT: &str = r#""use strict";
const at = id => document.getElementById(id);
const job = document.title;
const number = mark => Number(mark.split("-")[1]);
const run = mark => mark.split("-")[0];
let shown = at("live").dataset.mark, busy = false, again = false;
function title() { document.title = at("settled").textContent + " settled: " + job; }
function named(parts) { return new Map([...parts].map(part => [part.dataset.part, part])); }
function show(order, fresh, settled, mark) {
  const main = document.querySelector("main"), former = named(main.children);
  let here = main.firstElementChild;
  for (const name of order) {
    const old = former.get(name), next = fresh.get(name) || old;
    if (old && next !== old) {
      const open = [...old.querySelectorAll("details")].map(part => part.open);
      next.querySelectorAll("details").forEach((part, index) => { part.open = !!open[index]; });
      if (here === old) here = next;
      old.replaceWith(next);
    }
    if (here === next) here = here.nextElementSibling; else main.insertBefore(next, here);
  }
  while (here) { const gone = here; here = here.nextElementSibling; gone.remove(); }
  at("settled").textContent = settled;
  shown = mark;
  title();
}
function parsed(text) { return new DOMParser().parseFromString(text, "text/html"); }
async function refresh() {
  if (busy) { again = true; return; }
  busy = true;
  try {
    const answer = await fetch("/", { cache: "no-store" });
    if (answer.ok) {
      const next = parsed(await answer.text()), mark = next.getElementById("live").dataset.mark;
      if (run(mark) !== run(shown) || number(mark) > number(shown)) {
        const parts = named(next.querySelector("main").children);
        show([...parts.keys()], parts, next.getElementById("settled").textContent, mark);
      }
    }
  } catch (gone) { at("state").textContent = "disconnected"; }
  busy = false;
  if (again) { again = false; refresh(); }
}
function change(event) {
  const { from, to, settled, order, parts } = JSON.parse(event.data);
  if (run(to) === run(shown) && number(to) <= number(shown)) return;
  if (run(from) !== run(shown) || number(from) > number(shown)) { refresh(); return; }
  const fresh = Object.entries(parts).map(([name, text]) => [name, parsed(text).body.firstElementChild]);
  show(order, new Map(fresh), settled, to);
}
title();
const events = new EventSource("/events");
events.addEventListener("tick", event => { at("state").textContent = "live"; if (event.data !== shown) refresh(); });
events.addEventListener("change", change);
events.onerror = () => { at("state").textContent = "disconnected"; };
"#;

/// The rules of the bar above the page.
const BAR: &str = "#live{max-width:1200px;margin:0 auto;padding:14px 28px 0;color:var(--muted);font-size:14px;\
    display:flex;flex-wrap:wrap;gap:4px 18px}#live b{color:var(--ink);font-variant-numeric:tabular-nums}\
    #state{color:var(--accent);font-weight:600}#live a{color:var(--accent)}main{padding-top:28px}\
    @media (max-width:580px){#live{padding:12px 18px 0}}";

/// The page of a report with the script and a bar.
pub(super) fn live_page(report: &str, (mark, settled): (&str, u64), asks: bool) -> String {
    let windows = if settled == 1 { "window" } else { "windows" };
    let ask = if asks { "<a href=\"/ask\">ask</a>" } else { "" };
    let bar = format!(
        "<div id=\"live\" role=\"status\" data-mark=\"{mark}\"><span id=\"state\">connecting</span>\
         <span><b id=\"settled\">{settled}</b> {windows} settled since the start</span>\
         <span>newest {KEPT_WINDOWS} of each release are shown</span><a href=\"/metrics\">metrics</a>{ask}</div>"
    );
    report
        .replacen(
            "style-src 'unsafe-inline'",
            "style-src 'unsafe-inline'; script-src 'self'; connect-src 'self'",
            1,
        )
        .replacen(
            "</head>",
            &format!("<style>{BAR}</style><script src=\"/live.js\" defer></script></head>"),
            1,
        )
        .replacen("<body>", &format!("<body>{bar}"), 1)
        .replacen("No window was complete.", "No window has settled since the start.", 1)
}
