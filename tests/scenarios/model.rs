//! The model: the options of a job and of the command with their values, and the combinations that are
//! refused.
//!
//! A factor is an option of the job file, an option of the command, or a property of the data; `no` leaves
//! the option out.

use crate::covering::{Combination, Factor};

const STATISTICS: &[&str] = &[
    "count",
    "people",
    "sum",
    "mean",
    "means",
    "variance",
    "ratio",
    "histogram",
    "max",
    "min",
    "altogether",
    "quantile",
    "top",
    "marginals",
    "alert",
];

/// Statistics of single windows: all but the last.
const OF_WINDOWS: &[&str] = match STATISTICS.split_last() {
    Some((_, others)) => others,
    None => &[],
};

pub(crate) const FACTORS: &[Factor] = &[
    ("mode", &["demo", "replay", "run"]),
    ("source", &["csv", "jsonl", "combined", "synthetic"]),
    // The delivery of the records: a file by its compression, two files by a glob, standard input by `path =
    // "-"`, `--from`, or the spool of a receiver over HTTP.
    ("place", &["plain", "gz", "bz2", "zst", "glob", "stdin", "from", "spool", "made up"]),
    ("format", &["no", "unix", "unix-ms", "rfc3339", "clf", "pattern"]),
    ("zone", &["no", "source", "time"]),
    ("order", &["no", "any", "sorted"]),
    ("late", &["no", "0s", "1s"]),
    ("bad", &["no", "some"]),
    ("id", &["no", "field"]),
    ("fields", &["no", "declared"]),
    // Each line has its key and its value in the first element of an array, of which one counts.
    ("explode", &["no", "first"]),
    // The form of a CSV source: its marks with comments, or the names of its columns in the job file.
    ("separated", &["no", "marks", "names"]),
    // Records that a condition leaves out lie between the others, and count nowhere; or not for the release.
    ("where", &["no", "key", "release"]),
    ("unit", &["drop", "reject", "shared", "record"]),
    ("promise", &["lifetime", "any", "each"]),
    (
        "budget",
        &["epsilon delta", "epsilon delta keys", "epsilon delta omega", "epsilon", "rho", "rho omega"],
    ),
    ("accounting", &["no", "gaussian", "zcdp"]),
    ("price", &["share", "rho", "epsilon"]),
    ("every", &["second", "hour", "day", "week", "month", "all"]),
    ("over", &["no", "two"]),
    ("running", &["no", "false", "best", "buffered", "square-root", "tree", "fresh"]),
    ("statistic", STATISTICS),
    // The form of a statistic: `each` and `grid` of a max or min, `each`, `q` and `step` of a quantile, the range of others.
    ("form", &["0", "1", "2", "3", "4"]),
    ("keys", &["no", "listed", "file", "discover"]),
    // The key: a field, a derived field, or that field beside a derived one that is the same everywhere.
    ("by", &["field", "derived", "several"]),
    // The totals of the level above the keys.
    ("rollup", &["no", "yes"]),
    ("least people", &["no", "2"]),
    ("noise", &["gaussian", "laplace", "exponential", "permute-and-flip", "geometric"]),
    ("bound", &["wide", "tight"]),
    ("windows", &["no", "some"]),
    // The entries of people over the last windows.
    ("entries", &["no", "some"]),
    // People with more than the bound count in part.
    ("weight", &["no", "some"]),
    ("horizon", &["stated", "no"]),
    // `slack`, `clock_hold`, `ahead`, `key`, `anchor`, all of `[limits]`, all of `[watch]` and the version of a release together, and
    // `skew` and `seed` of a synthetic source.
    ("others", &["no", "all"]),
    ("log", &["no", "text error", "text info", "json warn", "json debug", "text trace"]),
    // Other releases of the same job: people over everything, and with two of them a quantile too.
    ("beside", &["no", "one", "two"]),
    // Questions of analysts: a bundle for who asks first that has a share of the budget, or one with analysts and a cost.
    ("asked", &["no", "share", "cost"]),
    ("workers", &["1", "2"]),
    // The number of processes of the second run.
    ("processes", &["1", "2"]),
    ("out", &["stdout", "jsonl", "csv"]),
    ("report", &["no", "html"]),
];

/// The expected outcome of a combination.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Because {
    /// `discreet check` refuses it with 78 and names this field.
    Check(&'static str),
    /// Its mode refuses it with this exit code, and this text is in the message.
    Mode(i32, &'static str),
    /// The combination makes no valid job.
    Senseless,
}

pub(crate) struct Rule(pub(crate) Combination, pub(crate) Because);

use Because::{Check, Mode, Senseless};

/// The words of a field that need a feature, and are tested in `tests/job/columns.rs`.
pub(crate) const OF_FEATURES: &[(&str, &str)] = &[("source.type", "parquet"), ("source.type", "arrow")];

const RUNS: &[&str] = &["best", "buffered", "square-root", "tree", "fresh"];
const TIMED: &[&str] = &["second", "hour", "day", "week", "month"];
const ASKED: &[&str] = &["share", "cost"];
/// Statistics of which totals over the last windows are sums.
const SUMMED: &[&str] = &["count", "sum", "mean", "variance", "ratio", "histogram"];
/// Statistics that may have keys; a histogram has its buckets.
const KEYED: &[&str] =
    &["count", "people", "sum", "mean", "means", "variance", "ratio", "max", "min", "altogether", "quantile"];
const UNWEIGHTED: &[&str] =
    &["means", "variance", "ratio", "max", "min", "altogether", "quantile", "top", "marginals", "alert"];
const NO_PEOPLE: &[&str] = &[
    "count",
    "sum",
    "mean",
    "means",
    "variance",
    "ratio",
    "histogram",
    "max",
    "min",
    "altogether",
    "quantile",
    "top",
    "marginals",
    "alert",
];
const WRITTEN: &[&str] = &["csv", "jsonl", "combined"];

pub(crate) const RULES: &[Rule] = &[
    // Sources.
    Rule(
        &[
            ("source", &["synthetic"]),
            ("place", &["plain", "gz", "bz2", "zst", "glob", "stdin", "from", "spool"]),
        ],
        Senseless,
    ),
    Rule(&[("source", WRITTEN), ("place", &["made up"])], Senseless),
    Rule(&[("source", &["csv", "jsonl", "synthetic"]), ("format", &["no"]), ("zone", &["time"])], Senseless),
    Rule(&[("source", &["csv", "jsonl"]), ("format", &["no"]), ("every", TIMED)], Check("source")),
    Rule(&[("mode", &["run"]), ("place", &["from"])], Senseless),
    Rule(&[("source", &["csv", "combined"]), ("place", &["spool"])], Check("source.http")),
    Rule(&[("place", &["spool"]), ("order", &["sorted"])], Check("source.http")),
    Rule(&[("mode", &["run"]), ("place", &["spool"]), ("processes", &["2"])], Senseless),
    Rule(&[("source", &["csv", "combined", "synthetic"]), ("fields", &["declared"])], Check("source.fields")),
    Rule(
        &[("source", &["jsonl", "combined", "synthetic"]), ("separated", &["marks", "names"])],
        Check("source.delimiter"),
    ),
    Rule(&[("source", &["csv", "combined", "synthetic"]), ("explode", &["first"])], Check("source.explode")),
    Rule(&[("explode", &["first"]), ("unit", &["record"])], Check("source.explode")),
    // Without a log, a synthetic source spans a day, which is 86,400 windows of a second.
    Rule(&[("source", &["synthetic"]), ("horizon", &["no"]), ("every", &["second"])], Senseless),
    Rule(
        &[
            ("source", &["csv", "jsonl"]),
            ("format", &["no"]),
            ("order", &["sorted"]),
            ("horizon", &["no"]),
            ("every", &["all"]),
        ],
        Check("source"),
    ),
    // One window with ends requires times, too.
    Rule(
        &[("source", &["csv", "jsonl"]), ("format", &["no"]), ("horizon", &["stated"]), ("every", &["all"])],
        Check("source"),
    ),
    // Bad lines are written into logs.
    Rule(&[("source", &["synthetic"]), ("bad", &["some"])], Senseless),
    // Statistics and noise.
    Rule(
        &[("statistic", &["histogram"]), ("keys", &["listed", "file", "discover"])],
        Check("release[1].histogram.by"),
    ),
    Rule(
        &[
            ("statistic", &["count", "people", "sum", "mean", "means", "variance", "ratio", "histogram"]),
            ("noise", &["exponential", "permute-and-flip"]),
        ],
        Check("release[1].noise"),
    ),
    // Noise of the shape of an ellipsoid, and ranges that are found for keys that are known.
    Rule(
        &[("statistic", &["means"]), ("form", &["1", "2", "3", "4"]), ("noise", &["laplace"])],
        Check("release[1].noise"),
    ),
    Rule(
        &[("statistic", &["means"]), ("form", &["2", "3", "4"]), ("keys", &["discover"])],
        Check("release[1].means.keys"),
    ),
    // A stable mean has no cost of every order, and none of a part of a person.
    Rule(
        &[
            ("statistic", &["means"]),
            ("form", &["4"]),
            ("budget", &["epsilon delta", "epsilon delta keys", "epsilon", "rho", "rho omega"]),
        ],
        Check("release[1].means"),
    ),
    Rule(
        &[
            ("statistic", &["means"]),
            ("form", &["4"]),
            ("promise", &["any"]),
            ("unit", &["drop", "reject", "shared"]),
            ("horizon", &["stated"]),
        ],
        Check("privacy.promise"),
    ),
    Rule(
        &[("statistic", &["means"]), ("form", &["4"]), ("promise", &["any"]), ("horizon", &["no"])],
        Senseless,
    ),
    Rule(&[("statistic", &["means"]), ("form", &["4"]), ("promise", &["each"])], Senseless),
    // The share of a second is too little for any number of people.
    Rule(
        &[("statistic", &["means"]), ("form", &["4"]), ("price", &["share"]), ("every", &["second", "hour"])],
        Senseless,
    ),
    Rule(
        &[("statistic", &["max", "min", "altogether"]), ("noise", &["permute-and-flip"])],
        Check("release[1].noise"),
    ),
    Rule(&[("statistic", &["quantile"]), ("noise", &["gaussian", "laplace"])], Check("release[1].noise")),
    Rule(
        &[("statistic", &["alert"]), ("noise", &["gaussian", "laplace", "exponential", "permute-and-flip"])],
        Check("release[1].noise"),
    ),
    Rule(&[("statistic", OF_WINDOWS), ("noise", &["geometric"])], Check("release[1].noise")),
    // An alert asks each key in every window, and costs the same for a person in any number of windows.
    Rule(&[("statistic", &["alert"]), ("keys", &["discover"])], Check("release[1].alert.keys")),
    Rule(&[("statistic", &["alert"]), ("windows", &["some"])], Check("release[1].bound.windows")),
    // The most frequent keys are picked out of a list.
    Rule(&[("statistic", &["top"]), ("noise", &["gaussian", "laplace"])], Check("release[1].noise")),
    Rule(&[("statistic", &["top"]), ("keys", &["no"])], Check("release[1].top.by")),
    Rule(&[("statistic", &["top"]), ("keys", &["discover"])], Check("release[1].top.keys")),
    // Tables have Gaussian noise, and listed categories of fields.
    Rule(
        &[("statistic", &["marginals"]), ("noise", &["laplace", "exponential", "permute-and-flip"])],
        Check("release[1].noise"),
    ),
    Rule(&[("statistic", &["marginals"]), ("keys", &["no"])], Check("release[1].marginals.by")),
    Rule(&[("statistic", &["marginals"]), ("keys", &["discover"])], Check("release[1].marginals.categories")),
    Rule(&[("budget", &["epsilon"]), ("noise", &["gaussian"])], Check("release[1].noise")),
    // An accounting is of an epsilon with a delta, and a Gaussian one of every order and no stable mean.
    Rule(&[("budget", &["epsilon"]), ("accounting", &["gaussian", "zcdp"])], Check("privacy.accounting")),
    Rule(
        &[("budget", &["rho", "rho omega", "epsilon delta omega"]), ("accounting", &["gaussian"])],
        Check("privacy.accounting"),
    ),
    Rule(
        &[
            ("noise", &["permute-and-flip"]),
            ("budget", &["epsilon delta", "epsilon delta keys", "epsilon delta omega", "rho", "rho omega"]),
        ],
        Check("release[1].noise"),
    ),
    // A mechanism examines every possible answer, so their number is stated.
    Rule(
        &[("statistic", &["quantile"]), ("form", &["0"]), ("noise", &["permute-and-flip"])],
        Check("release[1].quantile"),
    ),
    Rule(&[("keys", &["no"]), ("by", &["derived", "several"])], Senseless),
    // Keys of several parts have a level above, of which sums over records and keys are totals.
    Rule(&[("rollup", &["yes"]), ("by", &["field", "derived"])], Check("rollup")),
    Rule(
        &[
            ("rollup", &["yes"]),
            (
                "statistic",
                &["people", "means", "max", "min", "altogether", "quantile", "top", "marginals", "alert"],
            ),
        ],
        Check("rollup"),
    ),
    // A histogram has no other keys.
    Rule(&[("rollup", &["yes"]), ("statistic", &["histogram"])], Senseless),
    Rule(&[("rollup", &["yes"]), ("running", RUNS)], Check("rollup")),
    // The records that a release leaves out count for the others.
    Rule(&[("where", &["release"]), ("beside", &["two"])], Senseless),
    Rule(&[("where", &["release"]), ("beside", &["one"]), ("unit", &["record"])], Senseless),
    Rule(&[("least people", &["2"]), ("keys", &["no", "listed", "file"])], Check("release[1].least_people")),
    Rule(&[("least people", &["2"]), ("running", RUNS)], Check("release[1].least_people")),
    Rule(&[("least people", &["2"]), ("unit", &["record"])], Check("release[1].least_people")),
    // Discovered keys cost a delta.
    Rule(&[("budget", &["epsilon", "rho", "rho omega"]), ("keys", &["discover"])], Check("keys")),
    // Prices.
    Rule(&[("budget", &["epsilon"]), ("price", &["rho"])], Check("release[1].cost")),
    Rule(&[("noise", &["gaussian"]), ("price", &["epsilon"])], Check("release[1].cost.epsilon")),
    Rule(
        &[
            ("promise", &["lifetime"]),
            ("price", &["share"]),
            ("every", TIMED),
            ("running", &["no", "false"]),
            ("statistic", OF_WINDOWS),
            ("windows", &["no"]),
            ("horizon", &["no"]),
        ],
        Check("release[1].share"),
    ),
    // Windows.
    Rule(&[("every", &["all"]), ("over", &["two"])], Check("release[1].over")),
    Rule(&[("windows", &["some"]), ("unit", &["record"])], Check("release[1].bound.windows")),
    Rule(&[("windows", &["some"]), ("promise", &["any", "each"])], Check("release[1].bound.windows")),
    Rule(&[("mode", &["replay"]), ("horizon", &["no"]), ("every", TIMED)], Mode(78, "job.from")),
    Rule(&[("mode", &["run"]), ("horizon", &["no"]), ("every", &["all"])], Mode(78, "job.until")),
    // Such a run has no end.
    Rule(&[("mode", &["run"]), ("horizon", &["no"]), ("every", TIMED)], Senseless),
    // The windows that hold the data are found before they are read, which a pipe does not allow.
    Rule(
        &[("mode", &["demo"]), ("place", &["stdin"]), ("horizon", &["no"]), ("every", TIMED)],
        Mode(78, "job.from"),
    ),
    // Several processes read no standard input, and infer no windows.
    Rule(&[("processes", &["2"]), ("place", &["stdin"])], Senseless),
    Rule(&[("mode", &["demo"]), ("processes", &["2"]), ("horizon", &["no"]), ("every", TIMED)], Senseless),
    Rule(
        &[("unit", &["record"]), ("statistic", &["max", "min", "altogether"]), ("form", &["2"])],
        Check("each"),
    ),
    Rule(&[("unit", &["record"]), ("statistic", &["quantile"]), ("form", &["4"])], Check("each")),
    // Totals over windows.
    Rule(
        &[
            ("running", RUNS),
            ("statistic", &["means", "max", "min", "altogether", "quantile", "top", "marginals", "alert"]),
        ],
        Check("release[1].running"),
    ),
    Rule(&[("running", RUNS), ("every", &["all"])], Check("release[1].running")),
    Rule(&[("running", RUNS), ("windows", &["some"])], Check("release[1].bound.windows")),
    Rule(&[("running", RUNS), ("noise", &["laplace"])], Check("release[1].noise")),
    Rule(
        &[("running", &["buffered", "tree"]), ("over", &["two"]), ("statistic", SUMMED)],
        Check("release[1].strategy"),
    ),
    // People over the last windows are bounded by their entries, and nothing else is.
    Rule(
        &[("running", RUNS), ("over", &["two"]), ("statistic", &["people"]), ("unit", &["record"])],
        Check("release[1].over"),
    ),
    Rule(
        &[("running", RUNS), ("over", &["two"]), ("statistic", &["people"]), ("entries", &["no"])],
        Check("release[1].bound"),
    ),
    Rule(&[("entries", &["some"]), ("running", &["no", "false"])], Check("release[1].bound.entries")),
    Rule(&[("entries", &["some"]), ("over", &["no"])], Check("release[1].bound.entries")),
    Rule(&[("entries", &["some"]), ("statistic", NO_PEOPLE)], Check("release[1].bound.entries")),
    // People of several keys in one window count in part, and nothing else does.
    Rule(&[("weight", &["some"]), ("unit", &["record"])], Check("release[1].bound")),
    Rule(&[("weight", &["some"]), ("statistic", UNWEIGHTED)], Check("release[1].bound.weight")),
    Rule(&[("weight", &["some"]), ("running", RUNS)], Check("release[1].bound.weight")),
    Rule(&[("weight", &["some"]), ("rollup", &["yes"])], Check("release[1].bound.weight")),
    Rule(
        &[("weight", &["some"]), ("keys", &["no"]), ("statistic", &["count", "people", "sum", "mean"])],
        Check("release[1].bound.weight"),
    ),
    // Questions are paid for at once, for all of the time, and bounded noise has a delta.
    Rule(&[("asked", ASKED), ("budget", &["epsilon", "rho", "rho omega"])], Check("ask[1]")),
    Rule(&[("asked", ASKED), ("horizon", &["no"])], Check("ask[1].every")),
    Rule(&[("asked", ASKED), ("windows", &["some"])], Check("ask[1]")),
];

/// Combinations of three values that are covered too: each of them is an option of its own, in each mode.
pub(crate) const TRIPLES: &[Combination] = &[
    &[("mode", &["demo", "replay", "run"]), ("statistic", KEYED), ("keys", &["listed", "file", "discover"])],
    &[
        ("mode", &["demo", "replay", "run"]),
        ("statistic", &["means", "max", "min", "altogether", "quantile"]),
        ("form", &["0", "1", "2", "3", "4"]),
    ],
    &[
        ("mode", &["demo", "replay", "run"]),
        ("statistic", &["quantile"]),
        ("form", &["2"]),
        ("bound", &["wide", "tight"]),
    ],
    &[("mode", &["demo", "replay", "run"]), ("statistic", &["alert"]), ("keys", &["no", "listed", "file"])],
    &[("mode", &["demo", "replay", "run"]), ("statistic", &["alert"]), ("form", &["0", "1", "2", "3", "4"])],
    &[("mode", &["demo", "replay", "run"]), ("statistic", &["alert"]), ("over", &["two"])],
    &[("mode", &["demo", "replay", "run"]), ("statistic", &["top"]), ("keys", &["listed", "file"])],
    &[("mode", &["demo", "replay", "run"]), ("statistic", &["top"]), ("form", &["0", "1"])],
    &[
        ("mode", &["demo", "replay", "run"]),
        ("statistic", &["top", "marginals", "alert"]),
        ("by", &["several"]),
    ],
    &[("mode", &["demo", "replay", "run"]), ("statistic", &["marginals"]), ("keys", &["listed", "file"])],
    &[("mode", &["demo", "replay", "run"]), ("statistic", &["marginals"]), ("form", &["0", "1"])],
    &[("mode", &["demo", "replay", "run"]), ("statistic", &["top"]), ("noise", &["permute-and-flip"])],
    &[("mode", &["demo", "replay", "run"]), ("statistic", KEYED), ("by", &["several"])],
    &[
        ("mode", &["demo", "replay", "run"]),
        ("statistic", &["count", "sum", "mean", "variance", "ratio"]),
        ("rollup", &["yes"]),
    ],
    &[("mode", &["demo", "replay", "run"]), ("asked", &["share"]), ("every", &["all"])],
    &[("mode", &["demo", "replay", "run"]), ("asked", &["cost"]), ("others", &["all"])],
];

/// A known fault that is being fixed: rows with this combination are left out, and counted in the summary.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) combination: Combination,
    /// The steps to reproduce it.
    pub(crate) reproduction: &'static str,
}

pub(crate) const FAULTS: &[Fault] = &[];
