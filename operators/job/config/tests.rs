use std::path::PathBuf;

use proptest::prelude::*;

use super::*;
use crate::accounting::{Adjacency, Omega, PrivacyCost, PrivacyUnit, Promise};

/// A job file with one release, valid in every field.
pub(in crate::job) const GOOD: &str = r#"[job]
name = "reviews"
version = 1
from = "2003-05-01T00:00:00Z"
until = "2008-03-01T00:00:00Z"
[source]
type = "csv"
path = "reviews.csv"
time = { field = "date", format = "%Y-%m-%d" }
[privacy]
person = { field = "who", missing = "drop" }
promise = "lifetime"
budget = { epsilon = 1.0, delta = 1e-6 }
ledger = "state/reviews.ledger"
account = "reviews"
[[release]]
name = "by_vendor"
every = "1 month"
count = { by = "vendor", keys = "discover" }
bound = { keys = 3, per_key = 1, windows = 12 }
noise = "gaussian"
share = 0.5
"#;

/// The good file, with one line in place of the one that starts with the same word in the same table.
pub(in crate::job) fn changed(table: &str, line: &str) -> String {
    let word = line.split([' ', '=']).next().unwrap();
    let mut within = "";
    let mut found = false;
    let mut text = String::new();
    for old in GOOD.lines() {
        within = if old.starts_with('[') { old } else { within };
        let replaced = within == table && old.split(' ').next() == Some(word);
        found |= replaced;
        text += if replaced { line } else { old };
        text += "\n";
    }
    assert!(found, "{table} has no {word}");
    text
}

pub(in crate::job) fn parse(text: &str) -> Result<Job, Mistakes> {
    Job::parse("jobs/a.toml", text)
}

fn csv(place: SourcePlace) -> RecordFormat {
    RecordFormat::Csv(place, CsvSpec::default())
}

fn good(table: &str, line: &str) -> Job {
    parse(&changed(table, line)).unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

#[test]
fn the_job_file_that_teaches_is_right() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/config/reviews.toml");
    let job = Job::open(path).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    assert_eq!((job.name.as_str(), job.version, job.releases.len()), ("reviews", 1, 5));
    assert_eq!(job.limits.memory, Some(2_000_000_000));
    assert_eq!(job.account().promise(), Promise::Windows(3));
    // Three tenths of delta are reserved for partition selection; (1, 7e-7) is mu = .2326989.
    let PrivacyCost::Gaussian { rho, delta } = job.account().cap() else { panic!() };
    assert!((rho.to_float_up() - 0.2326989 * 0.2326989 / 2.0).abs() < 1e-8);
    assert!((delta.to_float_up() - 3e-7).abs() < 1e-18);
    assert!(job.account().cap().epsilon(1e-6).unwrap() <= 1.0);
    let shares = job.releases.iter().map(|release| match release.price {
        PriceSpec::Share(share) => share.parts(),
        PriceSpec::Cost(_) => 0,
    });
    assert_eq!(shares.sum::<u64>(), BudgetShare::WHOLE.parts());
}

// Refutes a date that is read in UTC in a job of another zone, wherever the zone stands, and one with two midnights.
#[test]
fn dates_of_a_job_are_midnights_of_its_zone() {
    let date = |zone: &str, date: &str| {
        let from = GOOD.replace("\"2003-05-01T00:00:00Z\"", date);
        from.replace("time = { field = \"date\", format = \"%Y-%m-%d\" }", zone)
    };
    let utc = 1_051_747_200_000_000;
    let time = "time = { field = \"date\", format = \"%Y-%m-%d\"";
    let outer = format!("{time} }}\nzone = \"Europe/Berlin\"");
    let inner = format!("{time}, zone = \"Europe/Berlin\" }}");
    for (zone, hours) in [(&format!("{time} }}"), 0), (&outer, 2), (&inner, 2)] {
        for text in ["\"2003-05-01\"", "2003-05-01"] {
            let job = parse(&date(zone, text)).unwrap_or_else(|mistakes| panic!("{mistakes}"));
            assert_eq!(job.from, Some(utc - hours * 3_600_000_000), "{zone} {text}");
            assert_eq!(parse(&job.to_string()).unwrap().from, job.from);
        }
    }
    let havana = outer.replace("Europe/Berlin", "America/Havana");
    let refused = parse(&date(&havana, "\"2004-10-31\"")).map(|job| job.from);
    // The clocks of that autumn were not set back.
    assert_eq!(refused.unwrap(), crate::time::at("2004-10-31T04:00:00Z").ok());
    let refused = parse(&date(&havana, "\"2003-10-26\"")).unwrap_err().to_string();
    let said = "job.from: found a date that has two midnights in the zone; give the moment with its offset, such as \
                \"2003-10-26T00:00:00-04:00\" or \"2003-10-26T00:00:00-05:00\"";
    assert!(refused.contains(said), "{refused}");
}

#[test]
fn every_field_is_read_as_what_it_says() {
    let job = parse(GOOD).unwrap();
    assert_eq!((job.from, job.until), (Some(1_051_747_200_000_000), Some(1_204_329_600_000_000)));
    assert_eq!((job.slack.as_microseconds(), job.clock_hold.as_microseconds()), (1_000_000, 60_000_000));
    assert_eq!(job.source.records, csv(SourcePlace::Files(PathBuf::from("jobs/reviews.csv"))));
    let format = TimeFormat::Pattern("%Y-%m-%d".into());
    assert_eq!(job.source.time, Some(TimeField { field: "date".into(), format }));
    assert_eq!((job.source.order, job.source.late, job.source.bad_lines), (RecordOrder::Any, None, 0));
    assert_eq!(job.source.zone, Zone::utc());
    let protected = Protected::Person { field: "who".into(), missing: Missing::Drop };
    assert_eq!(job.privacy.privacy_unit, protected);
    assert_eq!(job.privacy.promise, Promise::Lifetime);
    assert_eq!(job.privacy.ledger, PathBuf::from("jobs/state/reviews.ledger"));
    assert_eq!(job.privacy.key, PathBuf::from("jobs/state/reviews.ledger.key"));
    let [release] = &job.releases[..] else { panic!() };
    assert_eq!(release.every, Every::Calendar(1, CalendarUnit::Month));
    let grouping =
        GroupingSpec { by: vec![KeyPart::Field("vendor".into())], keys: KeysSpec::Discover, rollup: false };
    assert_eq!(release.statistic, StatisticSpec::Count(CountSpec { grouping: Some(grouping) }));
    assert_eq!(
        release.bound,
        BoundSpec { keys: Some(3), per_key: Some(1), windows: Some(12), ..BoundSpec::NONE }
    );
    assert_eq!(release.noise, NoiseKind::Gaussian);
    assert_eq!(
        release.price,
        PriceSpec::Share(BudgetShare::of(&crate::Decimal::parse("share", "0.5").unwrap()).unwrap())
    );
}

#[test]
fn sources_of_lines_and_synthetic_ones_are_of_four_types() {
    let stdin = good("[source]", "path = \"-\"").source;
    assert_eq!(stdin.records, csv(SourcePlace::Stdin));
    let absolute = good("[source]", "path = \"/var/log/*.csv\"").source;
    assert_eq!(absolute.records, csv(SourcePlace::Files("/var/log/*.csv".into())));
    let jsonl = good("[source]", "type = \"jsonl\"").source;
    assert_eq!(jsonl.records, RecordFormat::Jsonl(SourcePlace::Files("jobs/reviews.csv".into())));

    let combined = |time: &str| {
        let text = changed("[source]", "type = \"combined\"")
            .replace("\"who\"", "\"client\"")
            .replace("\"vendor\"", "\"path\"");
        parse(&text.replace("time = { field = \"date\", format = \"%Y-%m-%d\" }", time)).unwrap().source
    };
    let clf = Some(TimeField { field: "time".into(), format: TimeFormat::Clf });
    assert_eq!((combined("").time, combined("").zone), (clf.clone(), Zone::utc()));
    let berlin = Zone::named("Europe/Berlin").unwrap();
    for time in ["time = { zone = \"Europe/Berlin\" }", "zone = \"Europe/Berlin\""] {
        assert_eq!((combined(time).time, combined(time).zone), (clf.clone(), berlin.clone()));
    }

    let made_up = "type = \"synthetic\"\npeople = 10\nrows = 100\nkeys = 5\nskew = 1.5\nseed = 7\n";
    let text = changed("[source]", made_up)
        .replace("\"who\"", "\"user\"")
        .replace("\"vendor\"", "\"key\"")
        .replace("path = \"reviews.csv\"\ntime = { field = \"date\", format = \"%Y-%m-%d\" }\n", "");
    let RecordFormat::Synthetic(synthetic) = parse(&text).unwrap().source.records else { panic!() };
    assert_eq!((synthetic.people, synthetic.rows, synthetic.keys, synthetic.seed), (10, 100, 5, Some(7)));
    assert_eq!(synthetic.skew.unwrap().to_f64(), 1.5);
}

#[test]
fn what_may_be_left_out_is_read_where_it_is_said() {
    let text = GOOD.replace("[privacy]", "order = \"sorted\"\nlate = \"5m\"\nbad = { lines = 100 }\nid = { field = \"review\" }\n[privacy]\nkey = \"/keys/a\"\nanchor = \"out.jsonl\"");
    let job = parse(&text.replace("[source]", "slack = \"2s\"\nclock_hold = \"5m\"\n[source]")).unwrap();
    assert_eq!((job.slack.as_microseconds(), job.clock_hold.as_microseconds()), (2_000_000, 300_000_000));
    assert_eq!(job.source.order, RecordOrder::Sorted);
    assert_eq!(job.source.late.unwrap().as_microseconds(), 300_000_000);
    assert_eq!((job.source.bad_lines, job.source.id.as_deref()), (100, Some("review")));
    assert_eq!(job.privacy.key, PathBuf::from("/keys/a"));
    assert_eq!(job.privacy.anchor, Some(PathBuf::from("jobs/out.jsonl")));
    for nothing in ["0s", "0 minutes", "0m"] {
        let text = GOOD.replace("[privacy]", &format!("late = \"{nothing}\"\n[privacy]"));
        assert_eq!(parse(&text).unwrap().source.late, None);
    }
}

#[test]
fn promises_become_the_accounts() {
    let promise = |words: &str| {
        let text = changed("[privacy]", &format!("promise = \"{words}\""));
        *parse(&text.replace(", windows = 12", "")).unwrap().account()
            == AccountSpec::new(
                Name::new("account", "reviews").unwrap(),
                Adjacency::PERSON,
                match words {
                    "lifetime" => Promise::Lifetime,
                    "any 30 days" => Promise::Any(2_592_000_000_000),
                    "each day" => Promise::Each(86_400_000_000),
                    _ => Promise::Each(600_000_000),
                },
                parse(GOOD).unwrap().account().cap().clone(),
            )
            .and_then(|account| account.with_person("field \"who\", missing \"drop\""))
            .unwrap()
    };
    for words in ["lifetime", "any 30 days", "each day", "each 10 minutes"] {
        assert!(promise(words), "{words}");
    }
    assert_eq!(parse(GOOD).unwrap().account().promise(), Promise::Windows(12));
    let record = changed("[privacy]", "person = 0").replace("person = 0", "unit = \"record\"");
    let record = parse(&record.replace("keys = 3, per_key = 1, windows = 12", "keys = 1")).unwrap();
    assert_eq!(record.account().neighbours().unit, PrivacyUnit::Record);
}

// By hand: .3 * 2^64 = 5534023222112865484.8, 1 * 2^64, 4e-6 / 2 * 2^64 = 36893488147419.1.
#[test]
fn the_cap_is_the_budget_exactly_and_keeps_a_delta_only_for_those_who_charge_one() {
    let cap = |budget: &str, keys: &str, law: &str| {
        let (budget, accounting) = budget.split_once(';').unwrap_or((budget, ""));
        let stated = format!("budget = {{ {budget} }}\n{accounting}");
        let text = changed("[privacy]", &stated).replace("\"discover\"", keys);
        parse(&text.replace("\"gaussian\"", law)).unwrap().account().cap().clone()
    };
    let listed = "[\"a\"]";
    let units = crate::accounting::BudgetUnits::from_bits;
    let pure = cap("epsilon = 0.3", listed, "\"laplace\"");
    assert_eq!(pure, PrivacyCost::Pure { epsilon: units(5_534_023_222_112_865_484) });
    let rho = cap("rho = 1", listed, "\"gaussian\"");
    assert_eq!(rho, PrivacyCost::Zcdp { rho: units(1 << 64), delta: units(0), omega: Omega::EVERY });
    let omega = cap("rho = 1, omega = 40", listed, "\"gaussian\"");
    assert_eq!(
        omega,
        PrivacyCost::Zcdp { rho: units(1 << 64), delta: units(0), omega: Omega::below(40.0).unwrap() }
    );
    // Half of it in zCDP; three tenths of 73786976294838, its units, in Gaussian accounting.
    for (accounting, part) in [("accounting = \"zcdp\"", 36_893_488_147_419), ("", 22_136_092_888_451)] {
        let pair = |delta: &str, keys| {
            let cap = cap(&format!("epsilon = 1, delta = 4e-6{delta};{accounting}"), keys, "\"gaussian\"");
            assert_eq!(matches!(cap, PrivacyCost::Gaussian { .. }), accounting.is_empty());
            cap.rho_and_delta().unwrap()
        };
        assert_eq!(pair("", "\"discover\"").1, units(part));
        assert_eq!(pair("", listed).1, units(0));
        assert!(pair("", "\"discover\"").0 < pair("", listed).0);
        // 1e-6 * 2^64 = 18446744073709.55.
        let stated = ", delta_for_keys = 1e-6";
        assert_eq!(pair(stated, "\"discover\"").1, units(18_446_744_073_709));
        assert_eq!(pair(stated, listed), pair(stated, "\"discover\""));
    }
    assert!(matches!(cap("epsilon = 1, delta = 4e-6", listed, "\"laplace\""), PrivacyCost::Gaussian { .. }));
    let omega = cap("epsilon = 1, delta = 4e-6, omega = 40", listed, "\"gaussian\"");
    assert!(matches!(omega, PrivacyCost::Zcdp { .. }));
}

#[test]
fn keys_are_in_the_order_of_their_bytes() {
    let job = parse(&GOOD.replace("\"discover\"", "[\"b\", \"a\", \"é\", \"B\"]")).unwrap();
    let keys = ["B", "a", "b", "é"].map(|key| vec![key.to_owned()]).to_vec();
    assert_eq!(job.releases[0].statistic.grouping().unwrap().keys, KeysSpec::Listed(keys));
    let job = parse(&GOOD.replace("\"discover\"", "{ file = \"vendors.txt\" }")).unwrap();
    let keys = KeysSpec::File("jobs/vendors.txt".into());
    assert_eq!(job.releases[0].statistic.grouping().unwrap().keys, keys);
}

// Refutes a time that needs a format where its column has one, and one whose stated format is forgotten.
#[cfg(feature = "arrow")]
#[test]
fn columnar_files_are_of_two_types_and_need_no_format() {
    let stated = "time = { field = \"date\", format = \"%Y-%m-%d\" }";
    for (word, expected) in [
        ("parquet", RecordFormat::Parquet as fn(SourcePlace) -> RecordFormat),
        ("arrow", RecordFormat::Arrow),
    ] {
        let text = changed("[source]", &format!("type = \"{word}\""));
        let job = parse(&text).unwrap();
        assert_eq!(job.source.records, expected(SourcePlace::Files(PathBuf::from("jobs/reviews.csv"))));
        assert!(job.source.records.is_columnar() && job.source.records.word() == word);
        assert!(matches!(job.source.time.as_ref().unwrap().format, TimeFormat::Pattern(_)));
        let typed = text.replace(stated, "time = { field = \"date\", zone = \"Europe/Berlin\" }");
        let job = parse(&typed).unwrap();
        let time = TimeField { field: "date".into(), format: TimeFormat::Column };
        assert_eq!((job.source.time.as_ref(), job.source.zone.name()), (Some(&time), "Europe/Berlin"));
        let printed = job.to_string();
        assert!(printed.contains("time = { field = \"date\" }\n"), "{printed}");
        let again = Job::parse("printed.toml", &printed).unwrap();
        assert_eq!((&again.source, again.to_string()), (&job.source, printed));
        let refused = |text: &str| parse(text).unwrap_err().to_string();
        let stdin = refused(&text.replace("path = \"reviews.csv\"", "path = \"-\""));
        assert!(stdin.contains("source.path: found standard input; give the path of"), "{stdin}");
        let untimed = refused(&text.replace(stated, ""));
        assert!(untimed.contains("found no time; give time = { field = .. }: a release"), "{untimed}");
    }
    assert!(!parse(GOOD).unwrap().source.records.is_columnar());
}

// Refutes a build without the feature that takes such a file for lines.
#[cfg(not(feature = "arrow"))]
#[test]
fn columnar_files_need_a_build_that_reads_them() {
    for (word, name) in [("parquet", "Parquet"), ("arrow", "Arrow")] {
        let mistakes = parse(&changed("[source]", &format!("type = \"{word}\""))).unwrap_err();
        let words = format!(
            "found {name} files, which this build does not read; give a build with `--features arrow`"
        );
        assert!(mistakes.to_string().contains(&words), "{mistakes}");
        assert_eq!(mistakes.iter().map(Mistake::field).collect::<Vec<_>>(), ["source.type"]);
    }
}

#[test]
fn a_file_that_cannot_be_read_is_a_mistake_with_a_place() {
    let directory = std::env::temp_dir().join(format!("discreet-config-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let path = directory.join("a.toml");
    std::fs::write(&path, b"[job]\nname = \"caf\xe9\"\n").unwrap();
    let bytes = Job::open(&path).unwrap_err().to_string();
    let none = Job::open(directory.join("none.toml")).unwrap_err().to_string();
    std::fs::remove_dir_all(&directory).unwrap();
    assert!(bytes.contains("a.toml:2:12: config: found a byte that is no UTF-8"), "{bytes}");
    assert!(none.contains("none.toml:1:1: config: found no such file"), "{none}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    // Refutes a panic, and a refusal without a field.
    #[test]
    fn any_text_is_a_job_or_a_list_of_mistakes(
        at in 0..GOOD.len(),
        length in 0..40usize,
        put in prop_oneof![
            "[ -~]{0,12}",
            "\\PC{0,6}",
            Just("\n".to_owned()), Just("[".to_owned()), Just("{".to_owned()), Just("\"\"\"".to_owned()),
            Just("-1".to_owned()), Just("[[release]]\n".to_owned()), Just("1e999".to_owned()),
        ],
    ) {
        // GOOD is plain ASCII.
        let end = (at + length).min(GOOD.len());
        let text = format!("{}{put}{}", &GOOD[..at], &GOOD[end..]);
        if let Err(mistakes) = parse(&text) {
            let lines = text.split('\n').count();
            prop_assert!(mistakes.iter().count() > 0);
            for mistake in mistakes.iter() {
                prop_assert!((1..=lines).contains(&mistake.line()) && mistake.column() > 0);
                prop_assert!(!mistake.remedy().is_empty() && !mistake.field().is_empty());
            }
        }
    }
}
#[cfg(test)]
mod catalogue;
#[cfg(test)]
mod disagreements;
#[cfg(test)]
pub(in crate::job) mod refusals;
#[cfg(test)]
mod typos;
