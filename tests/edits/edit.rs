//! The edits to try on a job between two runs.

use crate::jobs::Job;

/// One change of one field.
pub(crate) struct Edit {
    pub(crate) field: &'static str,
    pub(crate) change: &'static str,
    /// The new value; `None` to leave the field out.
    pub(crate) to: Option<&'static str>,
    on: EditedJobs,
    /// The name of the field in a refusal, if it is not the last part of its path.
    pub(crate) named: Option<&'static str>,
    /// True if the edit may add windows.
    pub(crate) more: bool,
    /// The further changes that make the file valid.
    pub(crate) with: &'static [(&'static str, Option<&'static str>)],
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
            // The fields of the source and of the account are bound as those of every release.
            EditedJobs::WithTheField | EditedJobs::Where(_)
                if job.asks() && !self.field.starts_with("ask.") =>
            {
                false
            }
            EditedJobs::WithTheField => job.has(self.field),
            EditedJobs::Named(names) => names.contains(&job.name),
            EditedJobs::Where(of) => of(job),
        }
    }
}

/// Jobs whose only release may state its version.
const STATING: &[&str] = &["count", "people", "sum", "last", "whole"];

/// Jobs whose only difference to others of CSV is what they release.
const SEPARATED: &[&str] = &["count", "running", "whole"];

/// The names of the columns in the files of the jobs, in another order.
const NAMES: &str = r#"["who", "other_who", "other_time", "time", "id", "other_id", "page", "other_page", "amount", "other_amount"]"#;

type With = &'static [(&'static str, Option<&'static str>)];
const GRID: With =
    &[("release.max.grid", None), ("release.max.grid.to", Some("100")), ("release.max.grid.step", Some("1"))];
const GRID_FROM: With =
    &[("release.max.grid", None), ("release.max.grid.from", Some("0")), ("release.max.grid.step", Some("1"))];
const GRID_ENDS: With =
    &[("release.max.grid", None), ("release.max.grid.from", Some("0")), ("release.max.grid.to", Some("100"))];
const MIN_GRID: With =
    &[("release.min.grid", None), ("release.min.grid.to", Some("100")), ("release.min.grid.step", Some("1"))];
const MIN_GRID_FROM: With =
    &[("release.min.grid", None), ("release.min.grid.from", Some("0")), ("release.min.grid.step", Some("1"))];
const MIN_GRID_ENDS: With =
    &[("release.min.grid", None), ("release.min.grid.from", Some("0")), ("release.min.grid.to", Some("100"))];
const SUM_GRID: With = &[
    ("release.altogether.grid", None),
    ("release.altogether.grid.to", Some("100")),
    ("release.altogether.grid.step", Some("1")),
];
const SUM_GRID_FROM: With = &[
    ("release.altogether.grid", None),
    ("release.altogether.grid.from", Some("0")),
    ("release.altogether.grid.step", Some("1")),
];
const SUM_GRID_ENDS: With = &[
    ("release.altogether.grid", None),
    ("release.altogether.grid.from", Some("0")),
    ("release.altogether.grid.to", Some("100")),
];

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
    edit("job.until", "later, with people over the last windows", "\"2026-01-14T00:00:00Z\"")
        .on(&["present"])
        .named("until"),
    edit("job.until", "later, with a share divided by windows", "\"2026-01-14T00:00:00Z\"")
        .on_jobs(Job::has_shared_windows)
        .named("until"),
    edit("job.until", "later, with every = \"all\"", "\"2026-01-14T00:00:00Z\"")
        .on(&["whole"])
        .named("until"),
    edit("job.until", "earlier, with a stated cost", "\"2026-01-09T00:00:00Z\"")
        .on_jobs(Job::has_stated_windows),
    edit("job.until", "later, with questions", "\"2026-01-14T00:00:00Z\"").on(&["questions"]).named("until"),
    edit("job.slack", "another", "\"5s\""),
    edit("job.clock_hold", "another", "\"5m\""),
    edit("source.type", "another", "\"jsonl\"").on(&["count", "whole", "records"]),
    edit("source.path", "the same records elsewhere", "\"copy.csv\"").on_jobs(Job::reads_csv),
    edit("source.delimiter", "another", "\"\\t\"").on(SEPARATED),
    edit("source.delimiter", "a comma, stated", "\",\"").on(SEPARATED),
    edit("source.quote", "another", "\"'\"").on(SEPARATED),
    edit("source.quote", "none", "\"\"").on(SEPARATED),
    edit("source.quote", "the double quote, stated", "'\"'").on(SEPARATED),
    edit("source.comment", "stated", "\"#\"").on(SEPARATED),
    edit("source.header", "stated", NAMES).on(SEPARATED),
    edit("source.where", "stated", "'value >= 0'").on(SEPARATED),
    edit("tables", "one that nothing reads", "{ pages = \"pages.csv\" }").on(SEPARATED),
    edit("tables", "one that is read", "{ other_page = { file = \"pages.csv\", by = \"page\" } }")
        .on(&["count"])
        .named("count.by")
        .with(&[("release.count.by", Some("\"other_page.same\""))]),
    edit("fields", "one that is read, another", "{ page = \"lower of other_page\" }")
        .on(&["count", "running"])
        .named("fields.page"),
    edit("fields", "one that nothing reads", "{ unread = \"lower of page\" }").on(SEPARATED),
    edit("source.explode.array", "stated", "\"visits\"")
        .on(&["lines"])
        .with(&[("source.explode.most", Some("5"))]),
    edit("source.explode.most", "stated", "5")
        .on(&["lines"])
        .named("source.explode.array")
        .with(&[("source.explode.array", Some("\"visits\""))]),
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
    edit("privacy.budget.delta_for_keys", "another", "2e-7").on(&["discovered"]).named("privacy.budget"),
    edit("privacy.accounting", "another", "\"zcdp\"").on(&["discovered"]).named("privacy.accounting"),
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
    edit("ask.name", "another", "\"other_study\""),
    edit("ask.version", "the next", "2"),
    edit("ask.every", "another", "\"2 days\"").named("every"),
    edit("ask.fields", "another", "{ page = \"text\", amount = \"1 digit\" }"),
    edit("ask.bound.per_key", "another", "2").named("ask.bound"),
    edit("ask.answers", "another", "1001"),
    edit("ask.analysts", "others", "{ ann = 4, ben = 2 }"),
    edit("ask.questions", "the same questions elsewhere", "\"other_questions.jsonl\""),
    edit("ask.tokens", "another", "{ ann = \"other.token\" }"),
    edit("ask.share", "instead of a cost", "0.2")
        .on(&["questions"])
        .with(&[("ask.cost.epsilon", None), ("ask.cost.delta", None)]),
    edit("ask.cost.epsilon", "another", "0.2").named("ask.cost"),
    edit("ask.cost.delta", "another", "2e-7").named("ask.cost"),
    edit("release.name", "another", "\"clicks_by_day\""),
    edit("release.version", "the next", "2")
        .on(&["count", "people", "sum", "running", "last", "present", "whole"]),
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
    edit("release.where", "stated", "'page != \"z\"'").on(STATING),
    edit("release.least_people", "stated, or another", "3").on(&["discovered"]),
    edit("release.noise", "another", "\"laplace\"").on(&[
        "count",
        "discovered",
        "mean",
        "means",
        "variance",
        "ratio",
        "histogram",
        "max",
        "min",
        "altogether",
        "records",
    ]),
    edit("release.bound.keys", "another", "3").on(&[
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
        "running",
    ]),
    edit("release.bound.per_key", "another", "3").on(&[
        "count",
        "mean",
        "means",
        "variance",
        "ratio",
        "over",
        "found",
        "histogram",
        "quantile",
        "running",
        "last",
    ]),
    edit("release.bound.windows", "another", "2").named("privacy.account"),
    edit("release.bound.entries", "another", "3"),
    edit("release.bound.weight", "stated", "1").on(&["count"]),
    edit("release.share", "another", "0.25"),
    edit("release.cost.rho", "another", "0.005"),
    edit("release.cost.epsilon", "another", "0.05"),
    edit("release.cost.delta", "another", "2e-9"),
    edit("release.count.by", "another", "\"other_page\"")
        .on_jobs(|job| job.has("release.count.by") && !job.has("release.count.rollup")),
    edit("release.count.by.of", "the beginning of a path instead", "\"page\"")
        .on_jobs(|job| job.has("release.count.by") && !job.has("release.count.rollup"))
        .named("count.by")
        .with(&[("release.count.by", None), ("release.count.by.depth", Some("1"))]),
    edit("release.count.by.depth", "the beginning of a path instead", "1")
        .on_jobs(|job| job.has("release.count.by") && !job.has("release.count.rollup"))
        .named("count.by")
        .with(&[("release.count.by", None), ("release.count.by.of", Some("\"page\""))]),
    edit("release.count.by.edges", "intervals instead", "[5]")
        .on_jobs(|job| job.has("release.count.by") && !job.has("release.count.rollup"))
        .named("count.by")
        .with(&[("release.count.by", None), ("release.count.by.of", Some("\"amount\""))]),
    edit("release.people.by", "another", "\"other_page\""),
    edit("release.people.by.of", "the beginning of a path instead", "\"page\"")
        .on_jobs(|job| job.has("release.people.by"))
        .named("people.by")
        .with(&[("release.people.by", None), ("release.people.by.depth", Some("1"))]),
    edit("release.people.by.depth", "the beginning of a path instead", "1")
        .on_jobs(|job| job.has("release.people.by"))
        .named("people.by")
        .with(&[("release.people.by", None), ("release.people.by.of", Some("\"page\""))]),
    edit("release.people.by.edges", "intervals instead", "[5]")
        .on_jobs(|job| job.has("release.people.by"))
        .named("people.by")
        .with(&[("release.people.by", None), ("release.people.by.of", Some("\"amount\""))]),
    edit("release.sum.by", "another", "\"other_page\""),
    edit("release.sum.by.of", "the beginning of a path instead", "\"page\"")
        .on_jobs(|job| job.has("release.sum.by"))
        .named("sum.by")
        .with(&[("release.sum.by", None), ("release.sum.by.depth", Some("1"))]),
    edit("release.sum.by.depth", "the beginning of a path instead", "1")
        .on_jobs(|job| job.has("release.sum.by"))
        .named("sum.by")
        .with(&[("release.sum.by", None), ("release.sum.by.of", Some("\"page\""))]),
    edit("release.sum.by.edges", "intervals instead", "[5]")
        .on_jobs(|job| job.has("release.sum.by"))
        .named("sum.by")
        .with(&[("release.sum.by", None), ("release.sum.by.of", Some("\"amount\""))]),
    edit("release.mean.by", "another", "\"other_page\""),
    edit("release.mean.by.of", "the beginning of a path instead", "\"page\"")
        .on_jobs(|job| job.has("release.mean.by"))
        .named("mean.by")
        .with(&[("release.mean.by", None), ("release.mean.by.depth", Some("1"))]),
    edit("release.mean.by.depth", "the beginning of a path instead", "1")
        .on_jobs(|job| job.has("release.mean.by"))
        .named("mean.by")
        .with(&[("release.mean.by", None), ("release.mean.by.of", Some("\"page\""))]),
    edit("release.mean.by.edges", "intervals instead", "[5]")
        .on_jobs(|job| job.has("release.mean.by"))
        .named("mean.by")
        .with(&[("release.mean.by", None), ("release.mean.by.of", Some("\"amount\""))]),
    edit("release.max.by", "another", "\"other_page\""),
    edit("release.max.by.of", "the beginning of a path instead", "\"page\"")
        .on_jobs(|job| job.has("release.max.by"))
        .named("max.by")
        .with(&[("release.max.by", None), ("release.max.by.depth", Some("1"))]),
    edit("release.max.by.depth", "the beginning of a path instead", "1")
        .on_jobs(|job| job.has("release.max.by"))
        .named("max.by")
        .with(&[("release.max.by", None), ("release.max.by.of", Some("\"page\""))]),
    edit("release.max.by.edges", "intervals instead", "[5]")
        .on_jobs(|job| job.has("release.max.by"))
        .named("max.by")
        .with(&[("release.max.by", None), ("release.max.by.of", Some("\"amount\""))]),
    edit("release.quantile.by", "another", "\"other_page\""),
    edit("release.quantile.by.of", "the beginning of a path instead", "\"page\"")
        .on_jobs(|job| job.has("release.quantile.by"))
        .named("quantile.by")
        .with(&[("release.quantile.by", None), ("release.quantile.by.depth", Some("1"))]),
    edit("release.quantile.by.depth", "the beginning of a path instead", "1")
        .on_jobs(|job| job.has("release.quantile.by"))
        .named("quantile.by")
        .with(&[("release.quantile.by", None), ("release.quantile.by.of", Some("\"page\""))]),
    edit("release.quantile.by.edges", "intervals instead", "[5]")
        .on_jobs(|job| job.has("release.quantile.by"))
        .named("quantile.by")
        .with(&[("release.quantile.by", None), ("release.quantile.by.of", Some("\"amount\""))]),
    edit("release.count.keys", "others", "[\"a\", \"c\"]")
        .on_jobs(|job| job.has("release.count.by") && !job.has("release.count.rollup")),
    edit("release.count.rollup", "left out", "").left_out(),
    edit("release.count.rollup", "false", "false"),
    edit("release.sum.rollup", "stated, with another part", "true")
        .on_jobs(|job| job.has("release.sum.by") && !job.has("release.running"))
        .named("sum.by")
        .with(&[
            ("release.sum.by", Some("[\"page\", \"other_page\"]")),
            ("release.sum.keys", Some("[[\"a\", \"a\"], [\"b\", \"b\"]]")),
        ]),
    edit("release.mean.rollup", "stated, with another part", "true")
        .on_jobs(|job| job.has("release.mean.by") && !job.has("release.running"))
        .named("mean.by")
        .with(&[
            ("release.mean.by", Some("[\"page\", \"other_page\"]")),
            ("release.mean.keys", Some("[[\"a\", \"a\"], [\"b\", \"b\"]]")),
        ]),
    edit("release.variance.rollup", "stated, with another part", "true")
        .on_jobs(|job| job.has("release.variance.by") && !job.has("release.running"))
        .named("variance.by")
        .with(&[
            ("release.variance.by", Some("[\"page\", \"other_page\"]")),
            ("release.variance.keys", Some("[[\"a\", \"a\"], [\"b\", \"b\"]]")),
        ]),
    edit("release.ratio.rollup", "stated, with another part", "true")
        .on_jobs(|job| job.has("release.ratio.by") && !job.has("release.running"))
        .named("ratio.by")
        .with(&[
            ("release.ratio.by", Some("[\"page\", \"other_page\"]")),
            ("release.ratio.keys", Some("[[\"a\", \"a\"], [\"b\", \"b\"]]")),
        ]),
    edit("release.people.keys", "others", "[\"a\", \"c\"]").on(&["people"]),
    edit("release.sum.keys", "others", "[\"a\", \"c\"]"),
    edit("release.mean.keys", "others", "[\"a\", \"c\"]"),
    edit("release.max.keys", "others", "[\"a\", \"c\"]"),
    edit("release.quantile.keys", "others", "[\"a\", \"c\"]"),
    edit("release.count.keys", "the same in another order", "[\"b\", \"a\"]")
        .on_jobs(|job| job.has("release.count.by") && !job.has("release.count.rollup")),
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
    edit("release.min.by", "another", "\"other_page\""),
    edit("release.min.by.of", "the beginning of a path instead", "\"page\"")
        .on_jobs(|job| job.has("release.min.by"))
        .named("min.by")
        .with(&[("release.min.by", None), ("release.min.by.depth", Some("1"))]),
    edit("release.min.by.depth", "the beginning of a path instead", "1")
        .on_jobs(|job| job.has("release.min.by"))
        .named("min.by")
        .with(&[("release.min.by", None), ("release.min.by.of", Some("\"page\""))]),
    edit("release.min.by.edges", "intervals instead", "[5]")
        .on_jobs(|job| job.has("release.min.by"))
        .named("min.by")
        .with(&[("release.min.by", None), ("release.min.by.of", Some("\"amount\""))]),
    edit("release.min.keys", "others", "[\"a\", \"c\"]"),
    edit("release.min.keys.file", "the same keys in a file", "\"keys.txt\"")
        .on(&["min"])
        .with(&[("release.min.keys", None)]),
    edit("release.min.of", "another", "\"other_amount\""),
    edit("release.min.each", "another", "\"least\"").on(&["min"]),
    edit("release.min.grid", "another", "\"log\""),
    edit("release.min.grid.from", "another", "1").on(&["min"]).named("min.grid").with(MIN_GRID),
    edit("release.min.grid.to", "another", "50").on(&["min"]).named("min.grid").with(MIN_GRID_FROM),
    edit("release.min.grid.step", "another", "2").on(&["min"]).named("min.grid").with(MIN_GRID_ENDS),
    edit("release.min.grid.log", "instead of steps", "1")
        .on(&["min"])
        .named("min.grid")
        .with(&[("release.min.grid", None)]),
    edit("release.ratio.by", "another", "\"other_page\""),
    edit("release.ratio.by.of", "the beginning of a path instead", "\"page\"")
        .on_jobs(|job| job.has("release.ratio.by"))
        .named("ratio.by")
        .with(&[("release.ratio.by", None), ("release.ratio.by.depth", Some("1"))]),
    edit("release.ratio.by.depth", "the beginning of a path instead", "1")
        .on_jobs(|job| job.has("release.ratio.by"))
        .named("ratio.by")
        .with(&[("release.ratio.by", None), ("release.ratio.by.of", Some("\"page\""))]),
    edit("release.ratio.by.edges", "intervals instead", "[5]")
        .on_jobs(|job| job.has("release.ratio.by"))
        .named("ratio.by")
        .with(&[("release.ratio.by", None), ("release.ratio.by.of", Some("\"amount\""))]),
    edit("release.ratio.keys", "others", "[\"a\", \"c\"]"),
    edit("release.ratio.keys.file", "the same keys in a file", "\"keys.txt\"")
        .on(&["ratio"])
        .with(&[("release.ratio.keys", None)]),
    edit("release.ratio.of", "another", "\"other_amount\""),
    edit("release.ratio.range", "another", "[0, 9]"),
    edit("release.ratio.per", "another", "\"amount\""),
    edit("release.ratio.per_range", "another", "[0, 9]"),
    edit("release.variance.by", "another", "\"other_page\""),
    edit("release.variance.by.of", "the beginning of a path instead", "\"page\"")
        .on_jobs(|job| job.has("release.variance.by"))
        .named("variance.by")
        .with(&[("release.variance.by", None), ("release.variance.by.depth", Some("1"))]),
    edit("release.variance.by.depth", "the beginning of a path instead", "1")
        .on_jobs(|job| job.has("release.variance.by"))
        .named("variance.by")
        .with(&[("release.variance.by", None), ("release.variance.by.of", Some("\"page\""))]),
    edit("release.variance.by.edges", "intervals instead", "[5]")
        .on_jobs(|job| job.has("release.variance.by"))
        .named("variance.by")
        .with(&[("release.variance.by", None), ("release.variance.by.of", Some("\"amount\""))]),
    edit("release.variance.keys", "others", "[\"a\", \"c\"]"),
    edit("release.variance.keys.file", "the same keys in a file", "\"keys.txt\"")
        .on(&["variance"])
        .with(&[("release.variance.keys", None)]),
    edit("release.variance.of", "another", "\"other_amount\""),
    edit("release.variance.range", "another", "[0, 9]"),
    edit("release.alert.count", "another", "\"people\"").with(&[("release.bound.per_key", None)]),
    edit("release.alert.above", "another", "6"),
    edit("release.alert.alarms", "another", "2"),
    edit("release.alert.pause", "another", "1"),
    edit("release.alert.wrong", "another", "0.2"),
    edit("release.alert.windows", "another", "100"),
    edit("release.alert.by", "another", "\"other_page\""),
    edit("release.alert.by.of", "the beginning of a path instead", "\"page\"")
        .on_jobs(|job| job.has("release.alert.by"))
        .named("alert.by")
        .with(&[("release.alert.by", None), ("release.alert.by.depth", Some("1"))]),
    edit("release.alert.by.depth", "the beginning of a path instead", "1")
        .on_jobs(|job| job.has("release.alert.by"))
        .named("alert.by")
        .with(&[("release.alert.by", None), ("release.alert.by.of", Some("\"page\""))]),
    edit("release.alert.by.edges", "intervals instead", "[5]")
        .on_jobs(|job| job.has("release.alert.by"))
        .named("alert.by")
        .with(&[("release.alert.by", None), ("release.alert.by.of", Some("\"amount\""))]),
    edit("release.alert.keys", "others", "[\"a\", \"c\"]"),
    edit("release.alert.keys.file", "the same keys in a file", "\"keys.txt\"")
        .on(&["alert"])
        .with(&[("release.alert.keys", None)]),
    edit("release.top.count", "another", "\"people\"").with(&[("release.bound.per_key", None)]),
    edit("release.top.k", "another", "2"),
    edit("release.top.by", "another", "\"other_page\""),
    edit("release.top.by.of", "the beginning of a path instead", "\"page\"")
        .on_jobs(|job| job.has("release.top.by"))
        .named("top.by")
        .with(&[("release.top.by", None), ("release.top.by.depth", Some("1"))]),
    edit("release.top.by.depth", "the beginning of a path instead", "1")
        .on_jobs(|job| job.has("release.top.by"))
        .named("top.by")
        .with(&[("release.top.by", None), ("release.top.by.of", Some("\"page\""))]),
    edit("release.top.by.edges", "intervals instead", "[5]")
        .on_jobs(|job| job.has("release.top.by"))
        .named("top.by")
        .with(&[
            ("release.top.by", None),
            ("release.top.by.of", Some("\"amount\"")),
            ("release.top.keys", None),
        ]),
    edit("release.top.keys", "others", "[\"a\", \"c\"]"),
    edit("release.top.keys.file", "the same keys in a file", "\"keys.txt\"")
        .on(&["top"])
        .with(&[("release.top.keys", None)]),
    edit("release.marginals.count", "another", "\"people\"").with(&[("release.bound.per_key", None)]),
    edit("release.marginals.tables", "others", "[[\"page\"]]"),
    edit("release.marginals.categories", "others", "{ page = [\"a\", \"c\"] }"),
    edit("release.marginals.by", "another", "\"other_page\"").with(&[
        ("release.marginals.tables", Some("[[\"other_page\"], []]")),
        ("release.marginals.categories", Some("{ other_page = [\"a\", \"b\"] }")),
    ]),
    edit("release.marginals.by.of", "the beginning of a path instead", "\"page\"")
        .on_jobs(|job| job.has("release.marginals.by"))
        .named("marginals.by")
        .with(&[("release.marginals.by", None), ("release.marginals.by.depth", Some("1"))]),
    edit("release.marginals.by.depth", "the beginning of a path instead", "1")
        .on_jobs(|job| job.has("release.marginals.by"))
        .named("marginals.by")
        .with(&[("release.marginals.by", None), ("release.marginals.by.of", Some("\"page\""))]),
    edit("release.marginals.by.edges", "intervals instead", "[5]")
        .on_jobs(|job| job.has("release.marginals.by"))
        .named("marginals.by")
        .with(&[
            ("release.marginals.by", None),
            ("release.marginals.by.of", Some("\"amount\"")),
            ("release.marginals.tables", Some("[[\"amount\"], []]")),
            ("release.marginals.categories", None),
        ]),
    edit("release.quantile.q", "others", "[0.5, 0.75]"),
    edit("release.quantile.each", "another", "\"greatest\"").on(&["ranked"]),
    edit("release.quantile.step", "another", "2"),
    edit("release.means.of", "in another order", "[\"other_amount\", \"amount\"]").on(&["means", "over"]),
    edit("release.means.within", "another", "[[0, 10], [0, 9]]"),
    edit("release.means.over", "another", "[20, 9]"),
    edit("release.means.found_within", "another", "[[0, 2000]]"),
    edit("release.means.people", "another", "40000").on(&["found"]),
    edit("release.means.stable", "another", "[[0, 2000]]"),
    edit("release.means.by", "another", "\"other_page\""),
    edit("release.means.by.of", "the beginning of a path instead", "\"page\"")
        .on_jobs(|job| job.has("release.means.by"))
        .named("means.by")
        .with(&[("release.means.by", None), ("release.means.by.depth", Some("1"))]),
    edit("release.means.by.depth", "the beginning of a path instead", "1")
        .on_jobs(|job| job.has("release.means.by"))
        .named("means.by")
        .with(&[("release.means.by", None), ("release.means.by.of", Some("\"page\""))]),
    edit("release.means.by.edges", "intervals instead", "[5]")
        .on_jobs(|job| job.has("release.means.by"))
        .named("means.by")
        .with(&[("release.means.by", None), ("release.means.by.of", Some("\"amount\""))]),
    edit("release.means.keys", "others", "[\"a\", \"c\"]"),
    edit("release.means.keys.file", "the same keys in a file", "\"keys.txt\"")
        .on(&["means"])
        .with(&[("release.means.keys", None)]),
    edit("release.altogether.by", "another", "\"other_page\""),
    edit("release.altogether.by.of", "the beginning of a path instead", "\"page\"")
        .on_jobs(|job| job.has("release.altogether.by"))
        .named("altogether.by")
        .with(&[("release.altogether.by", None), ("release.altogether.by.depth", Some("1"))]),
    edit("release.altogether.by.depth", "the beginning of a path instead", "1")
        .on_jobs(|job| job.has("release.altogether.by"))
        .named("altogether.by")
        .with(&[("release.altogether.by", None), ("release.altogether.by.of", Some("\"page\""))]),
    edit("release.altogether.by.edges", "intervals instead", "[5]")
        .on_jobs(|job| job.has("release.altogether.by"))
        .named("altogether.by")
        .with(&[("release.altogether.by", None), ("release.altogether.by.of", Some("\"amount\""))]),
    edit("release.altogether.keys", "others", "[\"a\", \"c\"]"),
    edit("release.altogether.keys.file", "the same keys in a file", "\"keys.txt\"")
        .on(&["altogether"])
        .with(&[("release.altogether.keys", None)]),
    edit("release.altogether.of", "another", "\"other_amount\""),
    edit("release.altogether.each", "another", "\"count\"")
        .on(&["altogether"])
        .with(&[("release.altogether.of", None)]),
    edit("release.altogether.grid", "another", "\"log\""),
    edit("release.altogether.grid.from", "another", "1")
        .on(&["altogether"])
        .named("altogether.grid")
        .with(SUM_GRID),
    edit("release.altogether.grid.to", "another", "50")
        .on(&["altogether"])
        .named("altogether.grid")
        .with(SUM_GRID_FROM),
    edit("release.altogether.grid.step", "another", "2")
        .on(&["altogether"])
        .named("altogether.grid")
        .with(SUM_GRID_ENDS),
    edit("release.altogether.grid.log", "instead of steps", "1")
        .on(&["altogether"])
        .named("altogether.grid")
        .with(&[("release.altogether.grid", None)]),
];
