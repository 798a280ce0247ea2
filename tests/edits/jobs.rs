//! One job for each kind of statistic, with every field on a line of its own, and the edits to try on them.

use std::fmt::Write;

/// A job: its lines, each a field with its value; those of its release begin with `release.`.
#[derive(Clone)]
pub(crate) struct Job {
    pub(crate) name: &'static str,
    fields: Vec<(String, String)>,
    /// True for a second release, which no edit changes.
    other: bool,
}

/// One change of one field.
pub(crate) struct Edit {
    pub(crate) field: &'static str,
    pub(crate) change: &'static str,
    /// The new value; `None` to leave the field out.
    to: Option<&'static str>,
    on: EditedJobs,
    /// The name of the field in a refusal, if it is not the last part of its path.
    pub(crate) named: Option<&'static str>,
    /// True if the edit may add windows.
    pub(crate) more: bool,
    /// The further changes that make the file valid.
    with: &'static [(&'static str, Option<&'static str>)],
}

/// The jobs that an edit is tried on.
#[derive(Clone, Copy)]
enum EditedJobs {
    /// All that have its field.
    WithTheField,
    /// Those with these names.
    Named(&'static [&'static str]),
    /// Those of which this holds.
    Where(fn(&Job) -> bool),
}

const fn edit(field: &'static str, change: &'static str, to: &'static str) -> Edit {
    Edit { field, change, to: Some(to), on: EditedJobs::WithTheField, named: None, more: false, with: &[] }
}

impl Edit {
    const fn on(self, names: &'static [&'static str]) -> Edit {
        Edit { on: EditedJobs::Named(names), ..self }
    }

    const fn on_jobs(self, of: fn(&Job) -> bool) -> Edit {
        Edit { on: EditedJobs::Where(of), ..self }
    }

    const fn left_out(self) -> Edit {
        Edit { to: None, ..self }
    }

    const fn named(self, name: &'static str) -> Edit {
        Edit { named: Some(name), ..self }
    }

    const fn with_more(self) -> Edit {
        Edit { more: true, ..self }
    }

    const fn with(self, with: &'static [(&'static str, Option<&'static str>)]) -> Edit {
        Edit { with, ..self }
    }

    pub(crate) fn is_of(&self, job: &Job) -> bool {
        match self.on {
            EditedJobs::WithTheField => job.has(self.field),
            EditedJobs::Named(names) => names.contains(&job.name),
            EditedJobs::Where(of) => of(job),
        }
    }
}

impl Job {
    fn new(name: &'static str, release: &[(&str, &str)]) -> Job {
        let fields =
            COMMON.iter().chain(release).map(|(field, value)| ((*field).to_owned(), (*value).to_owned()));
        Job { name, fields: fields.collect(), other: false }
    }

    fn set(mut self, field: &str, value: Option<&str>) -> Job {
        let place = self.fields.iter().position(|(known, _)| known == field);
        match (place, value) {
            (Some(place), Some(value)) => self.fields[place].1 = value.to_owned(),
            (Some(place), None) => _ = self.fields.remove(place),
            (None, Some(value)) => self.fields.push((field.to_owned(), value.to_owned())),
            (None, None) => {}
        }
        self
    }

    /// The same job with other fields.
    fn but(self, changes: &[(&str, Option<&str>)]) -> Job {
        changes.iter().fold(self, |job, (field, value)| job.set(field, *value))
    }

    pub(crate) fn in_version(self, version: &'static str) -> Job {
        self.set("job.version", Some(version))
    }

    /// The same job at a small part of its cost, so that several versions fit under one cap.
    pub(crate) fn with_room(mut self) -> Job {
        for (field, value) in &mut self.fields {
            match &field[..] {
                "release.share" => *value = "0.02".to_owned(),
                "release.cost.rho" => *value = "0.004".to_owned(),
                "release.cost.epsilon" => *value = "0.02".to_owned(),
                _ => {}
            }
        }
        self
    }

    /// The same job with a bound on the windows of a person, under the promise that allows one.
    pub(crate) fn with_windows(self) -> Job {
        self.but(&[("privacy.promise", Some("\"lifetime\"")), ("release.bound.windows", Some("3"))])
    }

    fn has(&self, field: &str) -> bool {
        self.fields.iter().any(|(name, _)| name == field)
    }

    fn states(&self, field: &str, value: &str) -> bool {
        self.fields.iter().any(|(name, held)| name == field && held == value)
    }

    /// Returns true if it has windows of time at a stated cost, whatever their number.
    fn has_stated_windows(&self) -> bool {
        // A person counts in up to 20 windows, and there are fewer: the price is that of their number.
        let pays_for_all = self.states("release.bound.windows", "20");
        !self.states("release.every", "\"all\"") && !self.has("release.share") && !pays_for_all
    }

    /// Returns true if each of its windows is paid for by itself.
    fn is_paid_by_window(&self) -> bool {
        self.has_stated_windows() && !self.has("release.running") && !self.has("release.bound.windows")
    }

    /// Returns true if its windows share a part of the budget.
    fn has_shared_windows(&self) -> bool {
        !self.states("release.every", "\"all\"") && self.has("release.share") && !self.has("release.running")
    }

    fn reads_csv(&self) -> bool {
        self.states("source.type", "\"csv\"")
    }

    fn receives(&self) -> bool {
        self.has("source.http.listen")
    }

    fn reads_people_from_csv(&self) -> bool {
        self.reads_csv() && self.has("privacy.person.field")
    }

    /// Returns true if the job keeps state between its windows.
    pub(crate) fn keeps_state(&self) -> bool {
        self.states("release.running", "true")
            || self.has("release.bound.windows")
            || self.states("release.people.keys", "\"discover\"")
    }

    /// A sum with the budget of the others.
    pub(crate) fn over_the_same_account(self) -> Job {
        self.but(&[
            ("privacy.budget.delta", Some("1e-6")),
            ("release.noise", Some("\"gaussian\"")),
            ("release.cost.epsilon", None),
            ("release.cost.rho", Some("0.004")),
        ])
    }

    pub(crate) fn edited(&self, edit: &Edit) -> Job {
        self.clone().set(edit.field, edit.to).but(edit.with)
    }

    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        let (release, rest): (Vec<_>, Vec<_>) =
            self.fields.iter().partition(|(field, _)| field.starts_with("release."));
        for (field, value) in rest {
            writeln!(text, "{field} = {value}").unwrap();
        }
        writeln!(text, "[[release]]").unwrap();
        for (field, value) in release {
            writeln!(text, "{} = {value}", field.trim_start_matches("release.")).unwrap();
        }
        if self.other {
            text += "[[release]]\nname = \"beside\"\nevery = \"1 day\"\ncount = {}\nbound = { per_key = 1 }\n\
                     noise = \"gaussian\"\ncost = { rho = 0.01 }\n";
        }
        text
    }
}

const COMMON: &[(&str, &str)] = &[
    ("job.name", "\"visits\""),
    ("job.version", "1"),
    ("job.from", "\"2026-01-05T00:00:00Z\""),
    ("job.until", "\"2026-01-11T00:00:00Z\""),
    ("job.slack", "\"1s\""),
    ("job.clock_hold", "\"1m\""),
    ("source.type", "\"csv\""),
    ("source.path", "\"visits.csv\""),
    ("source.time.field", "\"time\""),
    ("source.time.format", "\"%Y-%m-%d %H:%M:%S\""),
    ("source.zone", "\"UTC\""),
    ("source.order", "\"any\""),
    ("source.late", "\"1h\""),
    ("source.ahead", "\"1 day\""),
    ("source.bad.lines", "10"),
    ("source.id.field", "\"id\""),
    ("privacy.person.field", "\"who\""),
    ("privacy.person.missing", "\"drop\""),
    ("privacy.promise", "\"lifetime\""),
    ("privacy.budget.epsilon", "8"),
    ("privacy.budget.delta", "1e-6"),
    ("privacy.ledger", "\"job.ledger\""),
    ("privacy.account", "\"visits\""),
    ("privacy.key", "\"job.ledger.key\""),
    ("privacy.anchor", "\"job.anchor\""),
    ("limits.memory", "\"8 GB\""),
    ("limits.spill", "\".\""),
    ("watch.listen", "\"127.0.0.1:0\""),
    ("watch.operator", "true"),
    ("watch.token.file", "\"watch.token\""),
    ("watch.exec", "[\"true\"]"),
    ("watch.budget", "[0.5]"),
    ("log.format", "\"text\""),
    ("log.level", "\"info\""),
    ("release.name", "\"visits_by_day\""),
    ("release.every", "\"1 day\""),
];

/// The jobs, one for each kind of statistic and of windows.
pub(crate) fn all() -> Vec<Job> {
    let grouped = "[\"a\", \"b\"]";
    let gaussian = ("release.noise", "\"gaussian\"");
    let mut running = Job::new(
        "running",
        &[
            ("release.running", "true"),
            ("release.strategy", "\"square-root\""),
            ("release.count.by", "\"page\""),
            ("release.count.keys", grouped),
            ("release.bound.keys", "1"),
            ("release.bound.per_key", "2"),
            gaussian,
            ("release.share", "0.2"),
        ],
    );
    running.other = true;
    vec![
        Job::new(
            "count",
            &[
                ("release.count.by", "\"page\""),
                ("release.count.keys", grouped),
                ("release.bound.keys", "2"),
                ("release.bound.per_key", "2"),
                ("release.bound.windows", "3"),
                gaussian,
                ("release.cost.rho", "0.02"),
            ],
        ),
        Job::new(
            "few",
            &[
                ("release.count.by", "\"page\""),
                ("release.count.keys", grouped),
                ("release.bound.keys", "2"),
                ("release.bound.per_key", "2"),
                ("release.bound.windows", "20"),
                gaussian,
                ("release.cost.rho", "0.006"),
            ],
        ),
        Job::new(
            "people",
            &[
                ("release.people.by", "\"page\""),
                ("release.people.keys", "\"discover\""),
                ("release.bound.keys", "1"),
                gaussian,
                ("release.share", "0.5"),
            ],
        ),
        Job::new(
            "discovered",
            &[
                ("release.people.by", "\"page\""),
                ("release.people.keys", "\"discover\""),
                ("release.bound.keys", "1"),
                gaussian,
                ("release.cost.rho", "0.02"),
                ("release.cost.delta", "1e-9"),
            ],
        ),
        Job::new(
            "sum",
            &[
                ("release.sum.of", "\"amount\""),
                ("release.sum.range", "[0, 10]"),
                ("release.sum.by", "\"page\""),
                ("release.sum.keys", "{ file = \"keys.txt\" }"),
                ("release.bound.keys", "1"),
                ("release.noise", "\"laplace\""),
                ("release.cost.epsilon", "0.1"),
            ],
        )
        .but(&[("privacy.budget.delta", None)]),
        Job::new(
            "mean",
            &[
                ("release.mean.of", "\"amount\""),
                ("release.mean.range", "[0, 10]"),
                ("release.mean.by", "\"page\""),
                ("release.mean.keys", grouped),
                ("release.bound.keys", "1"),
                ("release.bound.per_key", "1"),
                gaussian,
                ("release.share", "0.5"),
            ],
        ),
        Job::new(
            "histogram",
            &[
                ("release.histogram.of", "\"amount\""),
                ("release.histogram.edges", "[0, 5, 10]"),
                ("release.bound.keys", "1"),
                ("release.bound.per_key", "1"),
                gaussian,
                ("release.cost.rho", "0.01"),
            ],
        )
        .but(&[
            ("privacy.promise", Some("\"each day\"")),
            ("privacy.budget.epsilon", None),
            ("privacy.budget.delta", None),
            ("privacy.budget.rho", Some("0.5")),
            ("privacy.budget.omega", Some("64")),
        ]),
        Job::new(
            "max",
            &[
                ("release.max.of", "\"amount\""),
                ("release.max.each", "\"sum\""),
                ("release.max.grid", "{ from = 0, to = 100, step = 1 }"),
                ("release.max.by", "\"page\""),
                ("release.max.keys", grouped),
                ("release.bound.keys", "1"),
                gaussian,
                ("release.cost.rho", "0.01"),
            ],
        ),
        Job::new(
            "quantile",
            &[
                ("release.quantile.of", "\"amount\""),
                ("release.quantile.q", "[0.5, 0.9]"),
                ("release.quantile.range", "[0, 10]"),
                ("release.quantile.step", "1"),
                ("release.quantile.by", "\"page\""),
                ("release.quantile.keys", grouped),
                ("release.bound.keys", "1"),
                ("release.bound.per_key", "1"),
                ("release.noise", "\"exponential\""),
                ("release.cost.rho", "0.01"),
            ],
        ),
        running,
        Job::new(
            "last",
            &[
                ("release.running", "true"),
                ("release.over", "\"3 days\""),
                ("release.count", "{}"),
                ("release.bound.per_key", "2"),
                gaussian,
                ("release.cost.rho", "0.1"),
            ],
        ),
        Job::new(
            "sliding",
            &[
                ("release.over", "\"3 days\""),
                ("release.people", "{}"),
                gaussian,
                ("release.cost.rho", "0.01"),
            ],
        ),
        Job::new("whole", &[("release.people", "{}"), gaussian, ("release.share", "0.5")])
            .but(&[("release.every", Some("\"all\""))]),
        Job::new("records", &[("release.count", "{}"), gaussian, ("release.cost.rho", "0.01")]).but(&[
            ("privacy.person.field", None),
            ("privacy.person.missing", None),
            ("privacy.unit", Some("\"record\"")),
        ]),
        Job::new("lines", &[("release.people", "{}"), gaussian, ("release.cost.rho", "0.01")]).but(&[
            ("source.type", Some("\"jsonl\"")),
            ("source.path", Some("\"visits.json\"")),
            ("source.http.listen", Some("\"127.0.0.1:0\"")),
            ("source.http.token.file", Some("\"watch.token\"")),
            ("source.http.batch", Some("\"1 MB\"")),
            ("source.http.hold", Some("\"1 GB\"")),
        ]),
        Job::new("made up", &[("release.people", "{}"), gaussian, ("release.cost.rho", "0.01")]).but(&[
            ("source.type", Some("\"synthetic\"")),
            ("source.path", None),
            ("source.time.field", None),
            ("source.time.format", None),
            ("source.id.field", None),
            ("source.people", Some("50")),
            ("source.rows", Some("500")),
            ("source.keys", Some("3")),
            ("source.skew", Some("1")),
            ("source.seed", Some("7")),
            ("privacy.person.field", Some("\"user\"")),
        ]),
    ]
}

pub(crate) const EDITS: &[Edit] = &[
    edit("job.name", "another", "\"clicks\""),
    edit("job.version", "the next", "2"),
    edit("job.version", "the next, where the release states its own", "2")
        .on(STATING)
        .with(&[("release.version", Some("1"))]),
    edit("job.from", "earlier", "\"2026-01-02T00:00:00Z\"").named("from"),
    edit("job.from", "later", "\"2026-01-07T00:00:00Z\"").named("from"),
    edit("job.from", "earlier by less than a window", "\"2026-01-04T12:00:00Z\"")
        .on_jobs(Job::is_paid_by_window),
    edit("job.until", "later, with a cost of a window", "\"2026-01-14T00:00:00Z\"")
        .on_jobs(Job::is_paid_by_window)
        .with_more(),
    edit("job.until", "later, with bound.windows", "\"2026-01-14T00:00:00Z\"").on(&["count"]).with_more(),
    edit("job.until", "later, with fewer windows than bound.windows", "\"2026-01-14T00:00:00Z\"")
        .on(&["few"])
        .named("until (was 2026-01-11T00:00:00Z, is 2026-01-14T00:00:00Z)"),
    edit("job.until", "later by less than a window", "\"2026-01-11T12:00:00Z\"").on(&["few", "count"]),
    edit("job.until", "later, with running and over", "\"2026-01-14T00:00:00Z\"").on(&["last"]).with_more(),
    edit("job.until", "later, with running alone", "\"2026-01-14T00:00:00Z\"")
        .on(&["running"])
        .named("until"),
    edit("job.until", "later, with a share divided by windows", "\"2026-01-14T00:00:00Z\"")
        .on_jobs(Job::has_shared_windows)
        .named("until"),
    edit("job.until", "later, with every = \"all\"", "\"2026-01-14T00:00:00Z\"")
        .on(&["whole"])
        .named("until"),
    edit("job.until", "earlier, with a stated cost", "\"2026-01-09T00:00:00Z\"")
        .on_jobs(Job::has_stated_windows),
    edit("job.slack", "another", "\"5s\""),
    edit("job.clock_hold", "another", "\"5m\""),
    edit("source.type", "another", "\"jsonl\"").on(&["count", "whole", "records"]),
    edit("source.path", "the same records elsewhere", "\"copy.csv\"").on_jobs(Job::reads_csv),
    edit("source.people", "another", "60"),
    edit("source.rows", "another", "600"),
    edit("source.keys", "another", "4"),
    edit("source.skew", "another", "2"),
    edit("source.seed", "another", "8"),
    edit("source.time.field", "another", "\"other_time\""),
    edit("source.time.format", "another", "\"%Y-%d-%m %H:%M:%S\""),
    edit("source.time.zone", "another, instead of source.zone", "\"Asia/Tokyo\"")
        .on(&["count", "running", "whole"])
        .named("source.zone")
        .with(&[("source.zone", None)]),
    edit("source.zone", "another", "\"Asia/Tokyo\"").named("source.zone"),
    edit("source.order", "sorted, of records that are", "\"sorted\"").on_jobs(|job| !job.receives()),
    edit("source.order", "sorted, with http", "\"sorted\"").on_jobs(Job::receives).named("source.http"),
    edit("source.late", "another", "\"2h\"").named("late"),
    edit("source.ahead", "another", "\"2 days\"").named("source.ahead"),
    edit("source.bad.lines", "another", "20"),
    edit("source.id.field", "another", "\"other_id\""),
    edit("source.id.field", "left out", "").left_out(),
    edit("source.http.listen", "another", "\"127.0.0.2:0\""),
    edit("source.http.token.file", "another", "\"other.token\""),
    edit("source.http.batch", "another", "\"2 MB\""),
    edit("source.http.hold", "another", "\"2 GB\""),
    edit("source.fields", "declared", "[\"who\", \"time\", \"id\"]").on(&["lines"]),
    edit("privacy.person.field", "another", "\"other_who\"")
        .on_jobs(Job::reads_people_from_csv)
        .named("privacy.person"),
    edit("privacy.person.missing", "another", "\"shared\"").named("privacy.person"),
    edit("privacy.unit", "record, instead of person", "\"record\"")
        .on(&["discovered", "sliding", "max"])
        .named("unit")
        .with(&[
            ("privacy.person.field", None),
            ("privacy.person.missing", None),
            ("release.bound.keys", None),
            ("release.bound.per_key", None),
        ]),
    edit("privacy.promise", "another", "\"any 60 days\"")
        .on(&["discovered", "max", "quantile"])
        .named("privacy.account"),
    edit("privacy.budget.epsilon", "another", "9")
        .on(&["discovered", "sum", "quantile"])
        .named("privacy.budget"),
    edit("privacy.budget.delta", "another", "2e-6")
        .on(&["discovered", "max", "quantile"])
        .named("privacy.budget"),
    edit("privacy.budget.rho", "another", "0.6").named("privacy.budget"),
    edit("privacy.budget.omega", "another", "32").named("privacy.budget"),
    edit("privacy.ledger", "one that is not there", "\"other.ledger\"").named("other.ledger"),
    edit("privacy.account", "one that is not there", "\"other\"").named("other"),
    edit("privacy.key", "the same key elsewhere", "\"kept.key\""),
    edit("privacy.anchor", "another", "\"other.anchor\""),
    edit("limits.memory", "another", "\"9 GB\""),
    edit("limits.spill", "another", "\"/tmp\""),
    edit("watch.listen", "another", "\"127.0.0.2:0\""),
    edit("watch.operator", "another", "false"),
    edit("watch.token.file", "another", "\"other.token\""),
    edit("watch.exec", "another", "[\"false\"]"),
    edit("watch.budget", "another", "[0.25, 0.75]"),
    edit("log.format", "another", "\"json\""),
    edit("log.level", "another", "\"warn\""),
    edit("release.name", "another", "\"clicks_by_day\""),
    edit("release.version", "the next", "2").on(&["count", "people", "sum", "running", "last", "whole"]),
    edit("release.version", "that of the job, stated", "1").on(STATING),
    edit("release.every", "another", "\"2 days\"").on(&[
        "count",
        "discovered",
        "sum",
        "quantile",
        "records",
        "running",
    ]),
    edit("release.over", "another", "\"2 days\""),
    edit("release.over", "where there was none", "\"2 days\"").on(&["sum", "records"]),
    edit("release.running", "left out", "").left_out().on(&["last"]),
    edit("release.strategy", "another", "\"tree\""),
    edit("release.strategy", "left out, where it is the best", "").left_out().on(&["running"]),
    edit("release.noise", "another", "\"laplace\"").on(&[
        "count",
        "discovered",
        "mean",
        "histogram",
        "max",
        "records",
    ]),
    edit("release.bound.keys", "another", "3").on(&[
        "count",
        "people",
        "sum",
        "mean",
        "histogram",
        "max",
        "quantile",
        "running",
    ]),
    edit("release.bound.per_key", "another", "3").on(&[
        "count",
        "mean",
        "histogram",
        "quantile",
        "running",
        "last",
    ]),
    edit("release.bound.windows", "another", "2").named("privacy.account"),
    edit("release.share", "another", "0.25"),
    edit("release.cost.rho", "another", "0.005"),
    edit("release.cost.epsilon", "another", "0.05"),
    edit("release.cost.delta", "another", "2e-9"),
    edit("release.count.by", "another", "\"other_page\""),
    edit("release.people.by", "another", "\"other_page\""),
    edit("release.sum.by", "another", "\"other_page\""),
    edit("release.mean.by", "another", "\"other_page\""),
    edit("release.max.by", "another", "\"other_page\""),
    edit("release.quantile.by", "another", "\"other_page\""),
    edit("release.count.keys", "others", "[\"a\", \"c\"]"),
    edit("release.people.keys", "others", "[\"a\", \"c\"]").on(&["people"]),
    edit("release.sum.keys", "others", "[\"a\", \"c\"]"),
    edit("release.mean.keys", "others", "[\"a\", \"c\"]"),
    edit("release.max.keys", "others", "[\"a\", \"c\"]"),
    edit("release.quantile.keys", "others", "[\"a\", \"c\"]"),
    edit("release.count.keys", "the same in another order", "[\"b\", \"a\"]"),
    edit("release.count.keys.file", "the same keys in a file", "\"keys.txt\"")
        .on(&["count"])
        .with(&[("release.count.keys", None)]),
    edit("release.people.keys.file", "other keys in a file", "\"keys.txt\"")
        .on(&["people"])
        .named("people.keys")
        .with(&[("release.people.keys", None)]),
    edit("release.sum.keys.file", "the same keys in another file", "\"other_keys.txt\"")
        .on(&["sum"])
        .with(&[("release.sum.keys", None)]),
    edit("release.mean.keys.file", "the same keys in a file", "\"keys.txt\"")
        .on(&["mean"])
        .with(&[("release.mean.keys", None)]),
    edit("release.max.keys.file", "the same keys in a file", "\"keys.txt\"")
        .on(&["max"])
        .with(&[("release.max.keys", None)]),
    edit("release.quantile.keys.file", "the same keys in a file", "\"keys.txt\"")
        .on(&["quantile"])
        .with(&[("release.quantile.keys", None)]),
    edit("release.sum.of", "another", "\"other_amount\""),
    edit("release.mean.of", "another", "\"other_amount\""),
    edit("release.histogram.of", "another", "\"other_amount\""),
    edit("release.max.of", "another", "\"other_amount\""),
    edit("release.quantile.of", "another", "\"other_amount\""),
    edit("release.sum.range", "another", "[0, 9]"),
    edit("release.mean.range", "another", "[0, 9]"),
    edit("release.quantile.range", "another", "[0, 9]"),
    edit("release.histogram.edges", "others", "[0, 6, 10]"),
    edit("release.max.each", "another", "\"greatest\"").on(&["max"]),
    edit("release.max.grid", "another", "\"log\""),
    edit("release.max.grid.from", "another", "1").on(&["max"]).named("max.grid").with(GRID),
    edit("release.max.grid.to", "another", "50").on(&["max"]).named("max.grid").with(GRID_FROM),
    edit("release.max.grid.step", "another", "2").on(&["max"]).named("max.grid").with(GRID_ENDS),
    edit("release.max.grid.log", "instead of steps", "1")
        .on(&["max"])
        .named("max.grid")
        .with(&[("release.max.grid", None)]),
    edit("release.quantile.q", "others", "[0.5, 0.75]"),
    edit("release.quantile.step", "another", "2"),
];

/// Jobs whose only release may state its version.
const STATING: &[&str] = &["count", "people", "sum", "last", "whole"];

type With = &'static [(&'static str, Option<&'static str>)];
const GRID: With =
    &[("release.max.grid", None), ("release.max.grid.to", Some("100")), ("release.max.grid.step", Some("1"))];
const GRID_FROM: With =
    &[("release.max.grid", None), ("release.max.grid.from", Some("0")), ("release.max.grid.step", Some("1"))];
const GRID_ENDS: With =
    &[("release.max.grid", None), ("release.max.grid.from", Some("0")), ("release.max.grid.to", Some("100"))];

/// The files that the jobs read. Records are in the order of their times.
pub(crate) fn data() -> Vec<(&'static str, String)> {
    let mut text =
        "who,other_who,time,other_time,id,other_id,page,other_page,amount,other_amount\n".to_owned();
    for number in 0..160 {
        let (day, hour) = (5 + number / 20, number % 20);
        let (who, page) = (number % 23, ["a", "b"][number % 2]);
        writeln!(
            text,
            "p{who},q{},2026-01-{day:02} {hour:02}:00:00,2026-01-{day:02} {hour:02}:30:00,{number},{},{page},b,{},{}",
            number % 19,
            number / 2,
            number % 11,
            number % 7,
        )
        .unwrap();
    }
    let names: Vec<&str> = text.lines().next().unwrap_or_default().split(',').collect();
    let object = |line: &str| {
        let fields: Vec<String> = names
            .iter()
            .zip(line.split(','))
            .map(|(name, value)| format!("\"{name}\":\"{value}\""))
            .collect();
        format!("{{{}}}\n", fields.join(","))
    };
    let objects = text.lines().skip(1).map(object).collect();
    let keys = "a\nb\n".to_owned();
    vec![
        ("visits.json", objects),
        ("visits.csv", text.clone()),
        ("copy.csv", text),
        ("keys.txt", keys.clone()),
        ("other_keys.txt", keys),
    ]
}
