//! One job for each kind of statistic, with every field on a line of its own.

use std::fmt::Write;

use crate::edit::Edit;

/// A job: its lines, each a field with its value; those of its release begin with `release.`.
#[derive(Clone)]
pub(crate) struct Job {
    pub(crate) name: &'static str,
    fields: Vec<(String, String)>,
    /// True for a second release, which no edit changes.
    other: bool,
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

    pub(crate) fn has(&self, field: &str) -> bool {
        self.fields.iter().any(|(name, _)| name == field)
    }

    pub(crate) fn states(&self, field: &str, value: &str) -> bool {
        self.fields.iter().any(|(name, held)| name == field && held == value)
    }

    /// Returns true if it has windows of time at a stated cost, whatever their number.
    pub(crate) fn has_stated_windows(&self) -> bool {
        // A person counts in up to 20 windows, and there are fewer: the price is that of their number.
        let pays_for_all = self.states("release.bound.windows", "20");
        !self.states("release.every", "\"all\"") && !self.has("release.share") && !pays_for_all
    }

    /// Returns true if each of its windows is paid for by itself.
    pub(crate) fn is_paid_by_window(&self) -> bool {
        self.has_stated_windows() && !self.has("release.running") && !self.has("release.bound.windows")
    }

    /// Returns true if its windows share a part of the budget.
    pub(crate) fn has_shared_windows(&self) -> bool {
        !self.states("release.every", "\"all\"") && self.has("release.share") && !self.has("release.running")
    }

    pub(crate) fn reads_csv(&self) -> bool {
        self.states("source.type", "\"csv\"")
    }

    pub(crate) fn receives(&self) -> bool {
        self.has("source.http.listen")
    }

    pub(crate) fn reads_people_from_csv(&self) -> bool {
        self.reads_csv() && self.has("privacy.person.field")
    }

    /// Returns true if the job answers questions, and releases nothing else.
    pub(crate) fn asks(&self) -> bool {
        self.has("ask.name")
    }

    /// Returns true if the job keeps state between its windows.
    pub(crate) fn keeps_state(&self) -> bool {
        self.states("release.running", "true")
            || self.has("release.alert.above")
            || self.has("release.bound.windows")
            || self.has("release.means.found_within")
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
        let lists = ["release", "ask"];
        let of = |field: &str| lists.into_iter().find(|list| field.split('.').next() == Some(list));
        for (field, value) in self.fields.iter().filter(|(field, _)| of(field).is_none()) {
            writeln!(text, "{field} = {value}").unwrap();
        }
        for list in lists {
            let own: Vec<_> = self.fields.iter().filter(|(field, _)| of(field) == Some(list)).collect();
            if !own.is_empty() {
                writeln!(text, "[[{list}]]").unwrap();
            }
            for (field, value) in own {
                writeln!(text, "{} = {value}", &field[list.len() + 1..]).unwrap();
            }
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
            "rollup",
            &[
                ("release.count.by", "[\"page\", \"other_page\"]"),
                ("release.count.keys", "[[\"a\", \"a\"], [\"a\", \"b\"], [\"b\", \"a\"]]"),
                ("release.count.rollup", "true"),
                ("release.bound.keys", "2"),
                ("release.bound.per_key", "2"),
                gaussian,
                ("release.cost.rho", "0.02"),
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
            "variance",
            &[
                ("release.variance.of", "\"amount\""),
                ("release.variance.range", "[0, 10]"),
                ("release.variance.by", "\"page\""),
                ("release.variance.keys", grouped),
                ("release.bound.keys", "1"),
                ("release.bound.per_key", "1"),
                gaussian,
                ("release.share", "0.5"),
            ],
        ),
        Job::new(
            "ratio",
            &[
                ("release.ratio.of", "\"amount\""),
                ("release.ratio.range", "[0, 10]"),
                ("release.ratio.per", "\"other_amount\""),
                ("release.ratio.per_range", "[1, 10]"),
                ("release.ratio.by", "\"page\""),
                ("release.ratio.keys", grouped),
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
            "min",
            &[
                ("release.min.of", "\"amount\""),
                ("release.min.each", "\"sum\""),
                ("release.min.grid", "{ from = 0, to = 100, step = 1 }"),
                ("release.min.by", "\"page\""),
                ("release.min.keys", grouped),
                ("release.bound.keys", "1"),
                gaussian,
                ("release.cost.rho", "0.01"),
            ],
        ),
        Job::new(
            "altogether",
            &[
                ("release.altogether.of", "\"amount\""),
                ("release.altogether.each", "\"sum\""),
                ("release.altogether.grid", "{ from = 0, to = 1000, step = 1 }"),
                ("release.altogether.by", "\"page\""),
                ("release.altogether.keys", grouped),
                ("release.bound.keys", "1"),
                gaussian,
                ("release.cost.rho", "0.01"),
            ],
        ),
        Job::new(
            "means",
            &[
                ("release.means.of", "[\"amount\", \"other_amount\"]"),
                ("release.means.within", "[[0, 10], [0, 10]]"),
                ("release.means.by", "\"page\""),
                ("release.means.keys", grouped),
                ("release.bound.keys", "1"),
                ("release.bound.per_key", "1"),
                gaussian,
                ("release.cost.rho", "0.01"),
            ],
        ),
        Job::new(
            "over",
            &[
                ("release.means.of", "[\"amount\", \"other_amount\"]"),
                ("release.means.over", "[20, 10]"),
                ("release.bound.per_key", "1"),
                gaussian,
                ("release.cost.rho", "0.01"),
            ],
        ),
        Job::new(
            "found",
            &[
                ("release.means.of", "[\"amount\"]"),
                ("release.means.found_within", "[[0, 1000]]"),
                ("release.means.people", "50000"),
                ("release.bound.per_key", "1"),
                gaussian,
                ("release.cost.rho", "0.01"),
            ],
        ),
        Job::new(
            "stable",
            &[
                ("release.means.of", "[\"amount\"]"),
                ("release.means.stable", "[[0, 1000]]"),
                ("release.means.people", "16000000"),
                ("release.bound.per_key", "1"),
                gaussian,
                ("release.cost.rho", "0.01"),
                ("release.cost.delta", "1e-9"),
            ],
        )
        .but(&[("privacy.budget.omega", Some("20"))]),
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
        Job::new(
            "alert",
            &[
                ("release.alert.count", "\"records\""),
                ("release.alert.above", "5"),
                ("release.alert.alarms", "3"),
                ("release.alert.pause", "2"),
                ("release.alert.wrong", "0.1"),
                ("release.alert.windows", "50"),
                ("release.alert.by", "\"page\""),
                ("release.alert.keys", grouped),
                ("release.bound.per_key", "2"),
                ("release.noise", "\"geometric\""),
                ("release.cost.rho", "0.5"),
            ],
        ),
        Job::new(
            "top",
            &[
                ("release.top.count", "\"records\""),
                ("release.top.k", "1"),
                ("release.top.by", "\"page\""),
                ("release.top.keys", grouped),
                ("release.bound.per_key", "2"),
                ("release.noise", "\"exponential\""),
                ("release.cost.rho", "0.05"),
            ],
        ),
        Job::new(
            "marginals",
            &[
                ("release.marginals.count", "\"records\""),
                ("release.marginals.by", "\"page\""),
                ("release.marginals.tables", "[[\"page\"], []]"),
                ("release.marginals.categories", "{ page = [\"a\", \"b\"] }"),
                ("release.bound.keys", "1"),
                ("release.bound.per_key", "2"),
                gaussian,
                ("release.cost.rho", "0.05"),
            ],
        ),
        Job::new(
            "ranked",
            &[
                ("release.quantile.of", "\"amount\""),
                ("release.quantile.each", "\"sum\""),
                ("release.quantile.q", "[0.5, 0.9]"),
                ("release.quantile.range", "[0, 10]"),
                ("release.quantile.step", "1"),
                ("release.noise", "\"exponential\""),
                ("release.cost.rho", "0.01"),
            ],
        ),
        running,
        Job::new(
            "running_mean",
            &[
                ("release.running", "true"),
                ("release.strategy", "\"square-root\""),
                ("release.mean.of", "\"amount\""),
                ("release.mean.range", "[0, 10]"),
                ("release.bound.per_key", "3"),
                gaussian,
                ("release.share", "0.2"),
            ],
        ),
        Job::new(
            "last_variance",
            &[
                ("release.running", "true"),
                ("release.over", "\"3 days\""),
                ("release.variance.of", "\"amount\""),
                ("release.variance.range", "[0, 10]"),
                ("release.variance.by", "\"page\""),
                ("release.variance.keys", "\"discover\""),
                ("release.bound.keys", "1"),
                ("release.bound.per_key", "1"),
                gaussian,
                ("release.share", "0.2"),
            ],
        ),
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
            "present",
            &[
                ("release.running", "true"),
                ("release.over", "\"3 days\""),
                ("release.people.by", "\"page\""),
                ("release.people.keys", grouped),
                ("release.bound.keys", "1"),
                ("release.bound.entries", "2"),
                gaussian,
                ("release.share", "0.2"),
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
        Job::new(
            "questions",
            &[
                ("ask.name", "\"study\""),
                ("ask.version", "1"),
                ("ask.every", "\"1 day\""),
                ("ask.fields", "{ page = \"text\", amount = \"whole\" }"),
                ("ask.bound.per_key", "3"),
                ("ask.answers", "1000"),
                ("ask.analysts", "{ ann = 4, ben = 1 }"),
                ("ask.questions", "\"questions.jsonl\""),
                ("ask.tokens", "{ ann = \"a.token\" }"),
                ("ask.cost.epsilon", "0.3"),
                ("ask.cost.delta", "1e-7"),
            ],
        )
        .but(&[("release.name", None), ("release.every", None)]),
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
    // Of the last window but one, of one analyst; the answers of ben are used up by the first.
    let questions: String = [("ann", "all"), ("ann", "page = \\\"a\\\""), ("ben", "amount > 3"), ("ben", "all")]
        .iter()
        .zip(1..)
        .map(|((analyst, count), id)| {
            format!(
                "{{\"id\":\"{id}\",\"analyst\":\"{analyst}\",\"at\":\"2026-01-10T12:00:00Z\",\"count\":\"{count}\"}}\n"
            )
        })
        .collect();
    vec![
        ("visits.json", objects),
        ("visits.csv", text.clone()),
        ("copy.csv", text),
        ("keys.txt", keys.clone()),
        ("other_keys.txt", keys),
        ("questions.jsonl", questions.clone()),
        ("other_questions.jsonl", questions),
        ("pages.csv", "page,same\na,a\nb,b\n".to_owned()),
    ]
}
