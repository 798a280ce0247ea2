//! `config/everything.toml`, each of whose numbers is compared with plain code over the same records.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::Path;

use discreet::job::config::StatisticSpec;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Deserialize;
use serde_json::{Value, json};
use toml::de::DeValue;

use crate::cluster::{hosts, start_as};
use crate::scene::{Life, Scene};

#[path = "../../examples/invoices.rs"]
#[allow(dead_code, unreachable_pub)]
mod invoices;

/// Of this number of invoices one is read, so that the test is short; `DISCREET_FULL` reads all.
const SAMPLE: usize = 20;

/// An item of an invoice, with numbers in thousandths.
struct Item {
    month: i64,
    refund: bool,
    person: Option<String>,
    country: String,
    region: String,
    path: String,
    group: String,
    weekday: &'static str,
    hour: i64,
    quantity: i64,
    price: i64,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Row {
    invoice_no: String,
    stock_code: String,
    quantity: i64,
    invoice_date: String,
    unit_price: String,
    #[serde(rename = "CustomerID")]
    customer_id: String,
    country: String,
}

impl Item {
    fn kind(&self) -> &'static str {
        if self.refund { "refund" } else { "sale" }
    }

    fn amount(&self) -> i64 {
        self.price * self.quantity
    }

    /// The value of a field, in thousandths.
    fn value(&self, field: &str) -> i64 {
        match field {
            "items.price" => self.price,
            "items.quantity" => 1000 * self.quantity,
            "amount" => self.amount(),
            "big" => {
                if self.amount() >= 50_000 {
                    self.amount()
                } else {
                    0
                }
            }
            "hour" => 1000 * self.hour,
            other => panic!("{other}"),
        }
    }

    /// The text of a key by these parts, as JSON.
    fn key(&self, by: &Value) -> Value {
        let interval = |edges: &[i64], value: i64| {
            let below = edges.partition_point(|edge| 1000 * edge <= value);
            let end = |at: Option<&i64>, none: &str| at.map_or(none.to_owned(), ToString::to_string);
            let bracket = if below == 0 { "(" } else { "[" };
            let low = end(below.checked_sub(1).map(|at| &edges[at]), "-inf");
            format!("{bracket}{low}, {})", end(edges.get(below), "inf"))
        };
        match by {
            Value::Array(parts) => parts.iter().map(|part| self.key(part)).collect(),
            // A path has a slash before each segment.
            Value::Object(part) if part.contains_key("depth") => {
                self.path.split('/').nth(1).map_or(Value::Null, |first| json!(format!("/{first}")))
            }
            Value::Object(part) if part["of"] == "hour" => json!(interval(&[9, 12, 15], 1000 * self.hour)),
            Value::Object(_) => json!(interval(&[1, 5], self.price)),
            by => json!(match by.as_str().unwrap() {
                "places.region" => &self.region,
                "customer.country" => &self.country,
                "group" => &self.group,
                "kind" => self.kind(),
                "weekday" => self.weekday,
                other => panic!("{other}"),
            }),
        }
    }
}

fn month(year: i64, month: i64) -> i64 {
    year * 12 + month
}

/// Reads the rows that count for the job, from the table that its log is made of.
fn items(rows: &[Row], places: &BTreeMap<String, [String; 2]>) -> Vec<Item> {
    let thousandths = |price: &str| {
        let (sign, price) = price.strip_prefix('-').map_or((1, price), |price| (-1, price));
        let (whole, part) = price.split_once('.').unwrap_or((price, ""));
        sign * (1000 * whole.parse::<i64>().unwrap() + format!("{part:0<3}").parse::<i64>().unwrap())
    };
    let first: BTreeMap<&str, &Row> = rows.iter().rev().map(|row| (row.invoice_no.as_str(), row)).collect();
    let item = |row: &Row| {
        let head = first[row.invoice_no.as_str()];
        let time: jiff::civil::DateTime = head.invoice_date.parse().unwrap();
        let weekday = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
            [time.weekday().to_monday_zero_offset() as usize];
        let [region, path] = places.get(&head.country).cloned().unwrap_or_default();
        Item {
            month: month(time.year().into(), time.month().into()),
            refund: row.invoice_no.starts_with('C'),
            person: head.customer_id.strip_suffix(".0").map(str::to_owned),
            country: head.country.clone(),
            region,
            path,
            group: row.stock_code.chars().take(2).collect(),
            weekday,
            hour: time.hour().into(),
            quantity: row.quantity,
            price: thousandths(&row.unit_price),
        }
    };
    let counts = |row: &&Row| !row.unit_price.starts_with('-') && row.stock_code != "AMAZONFEE";
    rows.iter().filter(counts).map(item).filter(|item| item.person.is_some()).collect()
}

/// The records of a released number, with what is stated of its release.
struct Cell<'c> {
    release: &'c Value,
    word: &'c str,
    items: Vec<&'c Item>,
    /// The records of all keys in the windows of the cell.
    of_all_keys: Vec<&'c Item>,
}

/// An exact number with the bounds of the release and without; the first is `None` where a person has more than a bound
/// keeps, which a keyed hash then chooses.
type Exact = (Option<Value>, Value);

impl Cell<'_> {
    fn statistic(&self) -> &Value {
        &self.release[self.word]
    }

    fn number(&self, path: &str, end: usize) -> f64 {
        self.statistic()[path][end].as_f64().unwrap_or_else(|| panic!("{path} of {}", self.release))
    }

    fn field(&self, name: &str) -> &str {
        self.statistic()[name].as_str().unwrap()
    }

    fn people(&self) -> BTreeMap<&str, Vec<&Item>> {
        let mut people = BTreeMap::<_, Vec<&Item>>::new();
        for item in &self.items {
            people.entry(item.person.as_deref().unwrap()).or_default().push(item);
        }
        people
    }

    /// Returns the mean of a function of the records; nothing without a record.
    fn mean(&self, value: impl Fn(&Item) -> f64) -> Option<f64> {
        let sum: f64 = self.items.iter().map(|item| value(item)).sum();
        (!self.items.is_empty()).then(|| sum / self.items.len() as f64)
    }

    fn variance(&self, value: impl Fn(&Item) -> f64) -> Option<f64> {
        let mean = self.mean(&value)?;
        self.mean(|item| (value(item) - mean).powi(2))
    }

    /// Returns the step to which a value is rounded down, in thousandths: of a sum whose range has six digits a tenth.
    fn step(&self) -> i64 {
        match (self.word, &self.statistic()["grid"]) {
            ("sum", _) => 100,
            (_, Value::String(grid)) if grid == "log" => 1000,
            (_, Value::Object(grid)) if grid.contains_key("from") => 100,
            (_, Value::Object(grid)) if grid.get("log") == Some(&json!(0.01)) => 10,
            _ => 1,
        }
    }

    /// The statistic of the records, with its ranges and without.
    fn exact(&self, line: &Value) -> [Option<f64>; 2] {
        let step = self.step();
        let value = |field: &str, item: &Item| (item.value(field).div_euclid(step) * step) as f64 / 1000.0;
        let both = |exact: f64| [Some(exact); 2];
        match self.word {
            "count" | "histogram" | "marginals" => both(self.items.len() as f64),
            "people" => both(self.people().len() as f64),
            "alert" => {
                let above = self.statistic()["above"].as_u64().unwrap() as usize;
                both(f64::from(u8::from(self.people().len() > above)))
            }
            "top" => {
                let people = |key: &Value| {
                    let of_key = self.of_all_keys.iter().filter(|item| item.country == *key);
                    of_key.map(|item| item.person.as_deref()).collect::<BTreeSet<_>>().len()
                };
                let own = people(&line["key"]);
                let keys = self.statistic()["keys"].as_array().unwrap();
                both(1.0 + keys.iter().filter(|key| people(key) > own).count() as f64)
            }
            "sum" => {
                let of =
                    |items: &Vec<&Item>| items.iter().map(|item| value(self.field("of"), item)).sum::<f64>();
                let (low, high) = (self.number("range", 0), self.number("range", 1));
                let sums: Vec<f64> = self.people().values().map(of).collect();
                [Some(sums.iter().map(|sum| sum.clamp(low, high)).sum()), Some(sums.iter().sum())]
            }
            "mean" | "variance" => {
                let (low, high) = (self.number("range", 0), self.number("range", 1));
                let own = |item: &Item| value(self.field("of"), item);
                let clipped = |item: &Item| own(item).clamp(low, high);
                match self.word {
                    "mean" => [self.mean(clipped), self.mean(own)],
                    _ => [self.variance(clipped), self.variance(own)],
                }
            }
            "ratio" => {
                let sums = |clips: bool| {
                    let sum = |field: &str, range: &str| {
                        let (low, high) = (self.number(range, 0), self.number(range, 1));
                        let own = |item: &&Item| value(self.field(field), item);
                        let clipped = |own: f64| if clips { own.clamp(low, high) } else { own };
                        self.items.iter().map(|item| clipped(own(item))).sum::<f64>()
                    };
                    let below = sum("per", "per_range");
                    (below != 0.0).then(|| sum("of", "range") / below)
                };
                [sums(true), sums(false)]
            }
            "means" => {
                let names: Vec<&str> = self.statistic()["of"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|name| name.as_str().unwrap())
                    .collect();
                let at = names.iter().position(|name| *name == line["of"]).unwrap();
                let bounded = |item: &Item| {
                    let all: Vec<f64> = names.iter().map(|name| value(name, item)).collect();
                    let Some(axes) = self.statistic()["over"].as_array() else {
                        let ranges = ["within", "found_within", "stable"].map(|word| &self.statistic()[word]);
                        let range = &ranges.iter().find(|ranges| ranges.is_array()).unwrap()[at];
                        return all[at].clamp(range[0].as_f64().unwrap(), range[1].as_f64().unwrap());
                    };
                    let parts = all.iter().zip(axes).map(|(value, axis)| value / axis.as_f64().unwrap());
                    all[at] / parts.map(|part| part * part).sum::<f64>().sqrt().max(1.0)
                };
                [self.mean(bounded), self.mean(|item| value(names[at], item))]
            }
            "max" | "min" | "altogether" => {
                let of = |items: &Vec<&Item>| {
                    let values = items.iter().map(|item| value(self.field("of"), item));
                    match self.statistic()["each"].as_str() {
                        Some("sum") => values.sum(),
                        Some("least") => values.fold(f64::INFINITY, f64::min),
                        Some("count") => items.len() as f64,
                        _ => values.fold(f64::NEG_INFINITY, f64::max),
                    }
                };
                let people = self.people();
                let values = people.values().map(of);
                let found = match self.word {
                    "max" => values.reduce(f64::max),
                    "min" => values.reduce(f64::min),
                    // Of each person what is above 0.
                    _ => (!people.is_empty()).then(|| values.map(|value| value.max(0.0)).sum()),
                };
                [found; 2]
            }
            "quantile" => {
                // The least point of the grid at or below which there are enough values.
                let mut values: Vec<f64> = match self.statistic().get("each") {
                    Some(_) => self.people().values().map(|items| items.len() as f64).collect(),
                    None => self.items.iter().map(|item| value(self.field("of"), item)).collect(),
                };
                values.sort_by(f64::total_cmp);
                let (low, high) = (self.number("range", 0), self.number("range", 1));
                let step = self.statistic()["step"].as_f64().unwrap();
                let rank = (line["q"].as_f64().unwrap() * values.len() as f64).ceil().max(1.0) as usize - 1;
                let point = |value: f64| ((value / step - 1e-9).ceil() * step).clamp(low, high);
                [values.get(rank).map(|value| point(*value)); 2]
            }
            other => panic!("{other}"),
        }
    }

    /// Returns true if the bounds of the release keep all records of each person, in `life`, the records of the cells that
    /// are bounded together.
    fn keeps_all(&self, life: &[&Item]) -> bool {
        let bound = |name: &str| self.release["bound"][name].as_u64();
        let mut keys = BTreeMap::<&str, BTreeMap<String, u64>>::new();
        let by = &self.statistic()["by"];
        for item in life {
            let key = match self.word {
                "histogram" => bucket(self.statistic(), item),
                _ if by.is_null() => String::new(),
                _ => item.key(by).to_string(),
            };
            *keys.entry(item.person.as_deref().unwrap()).or_default().entry(key).or_default() += 1;
        }
        keys.values().all(|keys| {
            let many = bound("keys").is_none_or(|most| keys.len() as u64 <= most);
            many && bound("per_key").is_none_or(|most| keys.values().all(|records| *records <= most))
        })
    }
}

/// The bucket of a histogram that a record is in.
fn bucket(statistic: &Value, item: &Item) -> String {
    let edges: Vec<i64> =
        statistic["edges"].as_array().unwrap().iter().map(|edge| edge.as_i64().unwrap()).collect();
    let at = edges.partition_point(|edge| *edge <= item.quantity);
    match (at.checked_sub(1).map(|at| edges[at]), edges.get(at)) {
        (None, Some(high)) => format!("(-inf, {high})"),
        (Some(low), Some(high)) => format!("[{low}, {high})"),
        (Some(low), None) => format!("[{low}, inf)"),
        (None, None) => panic!("no edges"),
    }
}

/// Returns true if a window of the release that starts in `start` covers `month`, and if one that is over by its end does.
fn covers(release: &Value, start: i64, month: i64) -> [bool; 2] {
    let length = |field: &str| match release[field].as_str() {
        Some("1 month") => Some(1),
        Some("3 months") => Some(3),
        Some("all") => Some(1000),
        None => None,
        Some(other) => panic!("{other}"),
    };
    let every = length("every").unwrap();
    match (release["running"].as_bool(), length("over")) {
        (Some(true), None) => [month < start + every; 2],
        (Some(true), Some(over)) => {
            [start + every - over <= month && month < start + every, month < start + every]
        }
        (_, over) => {
            let own = start <= month && month < start + over.unwrap_or(every) || every == 1000;
            [own; 2]
        }
    }
}

/// The exact numbers of a line.
fn exact(line: &Value, releases: &[Value], items: &[Item]) -> Exact {
    let release = releases.iter().find(|release| release["name"] == line["release"]).unwrap();
    let word = *StatisticSpec::WORDS.iter().find(|word| release.get(**word).is_some()).unwrap();
    let start: Timestamp = line["window"]["start"].as_str().unwrap().parse().unwrap();
    let start = start.to_zoned(TimeZone::get("Europe/London").unwrap());
    let start = month(start.year().into(), start.month().into());
    let counts = |item: &&Item| release.get("where").is_none() || item.kind() == "sale";
    let life: Vec<&Item> =
        items.iter().filter(counts).filter(|item| covers(release, start, item.month)[1]).collect();
    let by = &release[word]["by"];
    let in_cell = |item: &&Item| match word {
        "histogram" => line["key"] == bucket(&release[word], item),
        // A total of the level above has all parts but the last.
        _ if line["rollup"] == true => {
            let parts = item.key(by);
            line["key"].as_array().unwrap()[..]
                == parts.as_array().unwrap()[..parts.as_array().unwrap().len() - 1]
        }
        "marginals" => {
            let parts = item.key(by);
            let [weekday, hour, region] = [0, 1, 2].map(|part| parts[part].as_str().unwrap());
            let weekday = if weekday == "Saturday" { "other" } else { weekday };
            let own = [("weekday", weekday), ("hour", hour), ("places.region", region)];
            let cell = line["key"].as_array().map_or(&[][..], Vec::as_slice);
            let is_listed = ["islands", "continent", "overseas"].contains(&region);
            is_listed
                && cell
                    .iter()
                    .all(|text| own.iter().any(|(name, category)| *text == format!("{name}={category}")))
        }
        _ => by.is_null() || item.key(by) == line["key"],
    };
    let in_window = |item: &&&Item| covers(release, start, item.month)[0];
    let of_all_keys: Vec<&Item> = life.iter().filter(in_window).copied().collect();
    let items = of_all_keys.iter().copied().filter(in_cell).collect();
    let cell = Cell { release, word, items, of_all_keys };
    let [tally, truth] = cell.exact(line).map(|exact| json!(exact));
    (cell.keeps_all(&life).then_some(tally), truth)
}

/// Returns true if two numbers are the same to the step in which values are counted.
fn is_near(found: &Value, exact: &Value) -> bool {
    match (found.as_f64(), exact.as_f64()) {
        (Some(found), Some(exact)) => (found - exact).abs() <= 1e-4 + 1e-6 * exact.abs(),
        (found, exact) => found == exact,
    }
}

/// Compares the exact numbers of a demonstration with those of plain code; returns the releases whose tallies were compared.
fn compare<'r>(lines: &[Value], releases: &'r [Value], items: &[Item]) -> BTreeSet<&'r str> {
    let mut compared = BTreeSet::new();
    for line in lines.iter().filter(|line| line["closed"] != true && line["release"] != "study") {
        let (tally, truth) = exact(line, releases, items);
        assert!(is_near(&line["truth"], &truth), "the truth is {truth}: {line}");
        let Some(tally) = tally else { continue };
        assert!(is_near(&line["tally"], &tally), "the tally is {tally}: {line}");
        let release = releases.iter().find(|release| release["name"] == line["release"]).unwrap();
        compared.insert(release["name"].as_str().unwrap());
    }
    // An analyst's number.
    let april = lines.iter().find(|line| line["question"] == "april").unwrap();
    let mut people = BTreeMap::<&str, u64>::new();
    for item in items.iter().filter(|item| item.month == month(2011, 4)) {
        *people.entry(item.person.as_deref().unwrap()).or_default() += 1;
    }
    let french = |item: &&Item| item.month == month(2011, 4) && item.country == "France";
    if people.values().all(|records| *records <= 50) {
        assert_eq!(april["tally"], items.iter().filter(french).count(), "{april}");
    }
    compared
}

/// Returns a value of a job file as JSON.
fn stated(value: &toml::Spanned<DeValue<'_>>) -> Value {
    match value.get_ref() {
        DeValue::String(text) => json!(text),
        DeValue::Integer(number) => json!(number.as_str().parse::<i64>().unwrap()),
        DeValue::Float(number) => json!(number.as_str().parse::<f64>().unwrap()),
        DeValue::Boolean(is_so) => json!(is_so),
        DeValue::Datetime(time) => json!(time.to_string()),
        DeValue::Array(list) => list.iter().map(stated).collect(),
        DeValue::Table(table) => {
            table.iter().map(|(name, value)| (name.get_ref().to_string(), stated(value))).collect()
        }
    }
}

fn parsed(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

// Refutes a statistic that counts other records than its words say, on any number of workers and in two processes: each
// tally and each truth is that of plain code.
#[test]
fn every_statistic_of_the_catalogue_is_what_plain_code_makes_of_the_records() {
    let project = Path::new(env!("CARGO_MANIFEST_DIR"));
    let data = project.join("../shared/data/retail.csv.gz");
    let Ok(file) = File::open(&data) else {
        println!("skipped: no ../shared/data: everything.toml is not replayed");
        return;
    };
    let sample = if std::env::var_os("DISCREET_FULL").is_some() { 1 } else { SAMPLE };
    let mut invoices = BTreeMap::<String, usize>::new();
    let reader = csv::Reader::from_reader(flate2::read::MultiGzDecoder::new(file));
    let rows: Vec<Row> = reader.into_deserialize().map(Result::unwrap).collect();
    let kept = |row: &Row| {
        let next = invoices.len();
        invoices.entry(row.invoice_no.clone()).or_insert(next).is_multiple_of(sample)
    };
    let rows: Vec<Row> = {
        let mut kept = kept;
        rows.into_iter().filter(|row| kept(row)).collect()
    };
    let scene = Scene::new("everything");
    for name in ["countries.tsv", "regions.txt", "everything-questions.jsonl"] {
        scene.write(name, fs::read(project.join("config").join(name)).unwrap());
    }
    let job = fs::read_to_string(project.join("config/everything.toml")).unwrap();
    let job = job.replace("127.0.0.1:9464", "127.0.0.1:0");
    scene.write("job.toml", &job);
    fs::create_dir(scene.at("state")).unwrap();
    let places: BTreeMap<String, [String; 2]> = (scene.read("countries.tsv").lines().skip(1))
        .map(|line| line.split('\t').map(str::to_owned).collect::<Vec<_>>())
        .map(|cells| (cells[0].clone(), [cells[1].clone(), cells[2].clone()]))
        .collect();
    let mut table = csv::Writer::from_writer(Vec::new());
    table
        .write_record([
            "InvoiceNo",
            "StockCode",
            "Quantity",
            "InvoiceDate",
            "UnitPrice",
            "CustomerID",
            "Country",
        ])
        .unwrap();
    for row in &rows {
        let quantity = row.quantity.to_string();
        let fields = [
            &row.invoice_no,
            &row.stock_code,
            &quantity,
            &row.invoice_date,
            &row.unit_price,
            &row.customer_id,
            &row.country,
        ];
        table.write_record(fields).unwrap();
    }
    let mut log = Vec::new();
    invoices::write(&table.into_inner().unwrap()[..], &mut log).unwrap();
    scene.write("everything.jsonl", log);

    let items = items(&rows, &places);
    let job = toml::de::DeTable::parse(&job).unwrap();
    let releases = stated(&job.get_ref()["release"]);
    let releases = releases.as_array().unwrap();
    let mut first = None;
    for workers in ["1", "2", "4"] {
        let lines = parsed(&scene.done(&["replay", "job.toml", "--demo", "-w", workers]).out);
        let compared = compare(&lines, releases, &items);
        // Of the stable mean, and on request of others, one record of a person counts, which a hash chooses.
        let missing: Vec<&Value> = (releases.iter().map(|release| &release["name"]))
            .filter(|name| !compared.contains(name.as_str().unwrap()) && *name != "usual_hour")
            .collect();
        assert!(missing.is_empty() || sample == 1, "no tally was compared of {missing:?}");
        let tallies = tallies(&lines);
        same(first.get_or_insert_with(|| tallies.clone()), &tallies, workers);
    }
    hosts(&scene);
    let lives = [1, 0].map(|process| start_as(&scene, process, &["replay", "job.toml", "--demo"]));
    let [second, one] = lives.map(Life::end);
    assert_eq!((one.code, second.code), (Some(0), Some(0)), "{one:?} {second:?}");
    let lines = parsed(&(scene.read("releases.jsonl") + &scene.read("other.jsonl")));
    same(&first.unwrap(), &tallies(&lines), "two processes");
}

/// Compares the exact numbers of two runs. A discovered key that few people have is in one of them, and not in the other.
fn same(first: &BTreeMap<String, [Value; 2]>, second: &BTreeMap<String, [Value; 2]>, what: &str) {
    let both: Vec<&String> = second.keys().filter(|name| first.contains_key(*name)).collect();
    for name in &both {
        assert_eq!(first[*name], second[*name], "{name} on {what}");
    }
    assert!(20 * both.len() > 19 * first.len().max(second.len()), "{} lines in both: {what}", both.len());
}

/// The exact numbers of each line.
fn tallies(lines: &[Value]) -> BTreeMap<String, [Value; 2]> {
    let name = |line: &Value| {
        ["release", "window", "key", "rollup", "of", "q", "question"]
            .map(|field| line[field].to_string())
            .join(" ")
    };
    let released = lines.iter().filter(|line| line["closed"] != true);
    released.map(|line| (name(line), [line["tally"].clone(), line["truth"].clone()])).collect()
}

/// The fields that exclude others of the catalogue, or name files and programs of a machine, and `q`.
const LEFT_OUT: &[&str] = &[
    "source.delimiter",
    "source.quote",
    "source.comment",
    "source.header",
    "source.people",
    "source.rows",
    "source.keys",
    "source.skew",
    "source.seed",
    "source.time.zone",
    "source.http",
    "source.http.listen",
    "source.http.token",
    "source.http.token.file",
    "source.http.batch",
    "source.http.hold",
    "privacy.unit",
    "privacy.budget.rho",
    "watch.token",
    "watch.token.file",
    "watch.exec",
    "release.bound.windows",
    "release.cost.epsilon",
    "ask.tokens",
    "ask.share",
];

// Refutes a field of job files that the catalogue does not show, and one that it is said to leave out and shows. Keys and
// grids are shown of some statistic.
#[test]
fn the_catalogue_has_every_field_of_job_files() {
    let project = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(project.join("config/everything.toml")).unwrap();
    let job = toml::de::DeTable::parse(&text).unwrap();
    let mut shown = BTreeSet::new();
    for (name, value) in job.get_ref().iter() {
        paths(name.get_ref(), &stated(value), &mut shown);
    }
    let scene = Scene::new("everything-fields");
    let page: Value = serde_json::from_str(&scene.done(&["fields", "--json"]).out).unwrap();
    let fields: Vec<&str> =
        page["fields"].as_array().unwrap().iter().map(|field| field["path"].as_str().unwrap()).collect();
    assert!(fields.len() > 200);
    let of_any = |path: &str| path.splitn(3, '.').nth(2).map(str::to_owned);
    let of_some: BTreeSet<String> = shown.iter().filter_map(|path| of_any(path)).collect();
    let parts = ["by", "keys", "grid", "rollup"];
    let is_shared =
        |path: &str| of_any(path).is_some_and(|rest| parts.contains(&rest.split('.').next().unwrap()));
    for path in fields {
        let is_shown = shown.contains(path) || (is_shared(path) && of_some.contains(&of_any(path).unwrap()));
        assert_eq!(is_shown, !LEFT_OUT.contains(&path), "{path}");
    }
}

/// Adds the paths of a value and of what is in it.
fn paths(path: &str, value: &Value, shown: &mut BTreeSet<String>) {
    match value {
        Value::Array(entries) if entries.iter().any(|entry| entry.is_object() || entry.is_array()) => {
            entries.iter().for_each(|entry| paths(path, entry, shown));
        }
        Value::Object(fields) => {
            fields.iter().for_each(|(name, value)| paths(&format!("{path}.{name}"), value, shown));
        }
        _ => {}
    }
    shown.insert(path.to_owned());
}
