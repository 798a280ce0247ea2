//! The fields of `[job]`, `[limits]`, `[watch]` and `[log]`: the job as a process.

use super::{JobField, MOMENT, SIZE, SPAN, field, table, text, whole, words};

/// The fields of `[job]`.
pub(super) const JOB: &[JobField] = &[
    table("job")
        .example("[job]\nname = \"visits\"\nversion = 1")
        .means("The name of the job, its version, and which windows there are."),
    text("job.name")
        .example("name = \"visits\"")
        .means("The name of the job in the ledger and in its log: a-z, 0-9, _ and -, at most 64."),
    whole("job.version")
        .example("version = 1")
        .means(
            "The version of each release that states none of its own: another one for each edit that \
             changes which records count, or how (docs/VERSIONS.md).",
        )
        .costs("Each window is released and paid for once more in a new version, from the same budget."),
    field("job.from", MOMENT)
        .without("required by windows of time; a demonstration takes it from the data")
        .example("from = \"2026-01-01T00:00:00Z\"")
        .means(
            "The start of the first window: the data never decides which windows there are. A date such as \"2026-01-01\" is its \
             midnight in `source.zone`; one that has two or none there is refused.",
        )
        .costs("Every window since then is released and paid for, with records or without."),
    field("job.until", MOMENT)
        .without("no last window; required by a replay, and by totals so far")
        .example("until = \"2027-01-01\"")
        .means(
            "The time after which there is no window; a date is its midnight in `source.zone`. A replay is refused while a window before it is not over, unless \
             `--unfinished` is given.",
        )
        .costs(
            "A share of a lifetime is divided by the windows from `from` to `until`, and totals so far are \
             noised for their number.",
        ),
    field("job.slack", SPAN)
        .or("\"1s\"")
        .example("slack = \"5s\"")
        .means(
            "The delay of a live run: a window is published one slack after its end and its lateness, or a \
             whole number of slacks later.",
        )
        .costs(
            "A longer one hides more: the time of a line says nothing of its window as long as its work \
             fits into one slack.",
        ),
    field("job.clock_hold", SPAN)
        .or("\"1m\"")
        .example("clock_hold = \"10m\"")
        .means("The time for which a live run holds its windows open after the clock was set."),
];

/// The fields of `[limits]`.
pub(super) const LIMITS: &[JobField] = &[
    table("limits")
        .without("no limit")
        .example("[limits]\nmemory = \"2 GB\"")
        .means("The limits of the process."),
    field("limits.memory", SIZE).without("no limit").example("memory = \"2 GB\"").means(
        "The most memory of the process, without the pages of its program: before it is reached, open windows \
         wait in an encrypted temporary file, and past it the job ends with 70.",
    ),
    field("limits.spill", "a path")
        .without("the system's directory for temporary files")
        .example("spill = \"/var/tmp\"")
        .means("The directory of the temporary file, beside `memory`."),
];

/// The fields of `[watch]` and `[log]`: what an operator sees.
pub(super) const SIGHT: &[JobField] = &[
    table("watch")
        .without("no server and no command; alerts go to standard error")
        .example("[watch]\nlisten = \"127.0.0.1:9464\"")
        .means("The metrics, the live page and the alerts of a live run; no part of a version."),
    field("watch.listen", "an address and a port")
        .without("no server")
        .example("listen = \"127.0.0.1:9464\"")
        .means("The address of the metrics and the live page; port 0 takes a free one."),
    field("watch.operator", "true or false")
        .or("false")
        .example("operator = true")
        .means("True to serve what is for the operator alone, too.")
        .costs(
            "Those figures may depend on single records and are outside of the promise: show them to nobody \
             else.",
        ),
    table("watch.token")
        .without("no token: an address of this machine alone")
        .example("token = { file = \"watch.token\" }")
        .means("The secret that each request carries."),
    field("watch.token.file", "a path")
        .example("token = { file = \"watch.token\" }")
        .means("The file whose first line is the token, of at least 16 letters and digits."),
    field("watch.exec", "a list of texts")
        .without("no command")
        .example("exec = [\"/usr/local/bin/page-me\"]")
        .means("The command with its arguments that is run once for each alert."),
    field("watch.budget", "a list of numbers")
        .or("[0.5, 0.8, 0.95]")
        .example("budget = [0.9]")
        .means("The parts of the budget at which an alert is raised."),
    table("log")
        .without("text, from the level info on")
        .example("[log]\nformat = \"json\"")
        .means("The form and the extent of what the command says on standard error; no part of a version."),
    words("log.format", &["text", "json"])
        .or("\"text\"")
        .example("format = \"json\"")
        .means("The form of a line of the log: a sentence, or an object of JSON."),
    words("log.level", &["error", "warn", "info", "debug", "trace"])
        .or("\"info\"")
        .example("level = \"warn\"")
        .means("The least urgent level that is logged.")
        .costs("Lines for the operator may depend on single records, at every level."),
];
