//! Tests over a catalogue of bad configurations: the job file of each case, and its refusal.

use super::refusals::{BOUND, BUDGET, COUNT, DELTA, EPSILON, KEYS, NOISE, SHARE, check};
use super::{GOOD, parse};

/// Tests the numbers of a job file.
#[test]
fn numbers() {
    let sum =
        |range: &str| format!("sum = {{ of = \"rating\", range = {range} }}\nbound = {{ windows = 12 }}");
    let ranges =
        ["«[5, 1]", "«[1, 1]", "[«nan, 1]", "[0, «inf]", "[«-9223372036854775808, 9223372036854775807]"]
            .map(sum);
    check(&[
        // B1
        (EPSILON, "epsilon = «0,", &["zero"]),
        (EPSILON, "epsilon = «-1,", &["a negative number"]),
        (EPSILON, "epsilon = «-0.0,", &["a negative number"]),
        // B2
        (EPSILON, "epsilon = «nan,", &["NaN"]),
        (EPSILON, "epsilon = «inf,", &["an infinite number"]),
        (EPSILON, "epsilon = «1e400,", &["too large"]),
        // B3
        (EPSILON, "epsilon = «5e-324,", &["privacy.budget.epsilon"]),
        // B4
        (EPSILON, "epsilon = «1e6,", &["at most 500"]),
        // B5
        (DELTA, "delta = «0 }", &["zero"]),
        // B6
        (DELTA, "delta = «1 }", &["too large"]),
        (DELTA, "delta = «-1e-6 }", &["a negative number"]),
        // B7
        (BUDGET, "{ epsilon = 1, rho = «0.1 }", &["either rho"]),
        // B8, B9: the ends of a range; B10 and B11 are arithmetic of `mechanisms`.
        (COUNT, &ranges[0], &["ends before it starts"]),
        (COUNT, &ranges[1], &["a range of one number"]),
        (COUNT, &ranges[2], &["NaN"]),
        (COUNT, &ranges[3], &["an infinite number"]),
        // B12
        (BOUND, "{ keys = «0, per_key = 1, windows = 12 }", &["zero"]),
        (BOUND, "{ keys = «-1, per_key = 1, windows = 12 }", &["a negative number"]),
        (BOUND, "{ keys = «2147483649, per_key = 1, windows = 12 }", &["from 1 to 2147483648"]),
        // B13
        (BOUND, "«{ keys = 2147483648, per_key = 2147483648, windows = 12 }", &["above 2^40"]),
        // B14
        (EPSILON, "epsilon = «\"0,5\",", &["without quotes"]),
        (EPSILON, "epsilon = «１,", &["valid TOML"]),
        (EPSILON, "epsilon = «+1,", &["not understood"]),
        (EPSILON, "epsilon = «0x1,", &["not understood"]),
        (EPSILON, "epsilon = «1_0,", &["not understood"]),
        // B16
        (SHARE, "share = «1.000000000000000001", &["at most 1"]),
        (SHARE, "share = «0", &["above 0"]),
        // B17, B18: the horizon of a total is the job's; no statistic has its own.
        (SHARE, "share = 0.5\n«horizon = 0", &["an unknown field"]),
        // B19: the granularity is a whole number that no job file sets.
        (SHARE, "share = 0.5\n«granularity = 3", &["an unknown field"]),
    ]);
    // B5: partition selection costs a delta.
    let rho = GOOD.replace(BUDGET, "{ rho = 0.1 }");
    assert!(parse(&rho).unwrap_err().to_string().contains("without a delta"));
    // B4: no field lifts a policy.
    let lifted = GOOD.replace(EPSILON, "epsilon = 1.0, max_eps_per_release = 7,");
    assert!(
        parse(&lifted)
            .unwrap_err()
            .to_string()
            .contains("privacy.budget.max_eps_per_release: found an unknown field")
    );
    // B9: both ends are reported.
    assert_eq!(parse(&GOOD.replace(COUNT, &ranges[4].replace('«', ""))).unwrap_err().iter().count(), 2);
    // B15: a cost below one unit of 2^-64 is one unit.
    let tiny = GOOD.replace(SHARE, "cost = { rho = 1e-30, delta = 1e-30 }");
    let job = parse(&tiny).unwrap();
    let super::super::PriceSpec::Cost(words) = &job.releases[0].price else { panic!() };
    let (rho, delta) = job.cost(words).unwrap().rho_and_delta().unwrap();
    assert_eq!((rho.to_bits(), delta.to_bits()), (1, 1));
}

/// Tests the parts of a job file together.
#[test]
fn combined_fields() {
    let long = "x".repeat(1_025);
    let key = format!("[\"a\", «\"{long}\"]");
    check(&[
        // B21
        (EPSILON, "«epsilonn = 1.0,", &["did you mean epsilon?"]),
        // B22
        (EPSILON, "epsilon = 1.0, «epsilon = 1.0,", &["each field once"]),
        // B24: another case, a space, a confusable, a decomposed letter.
        ("account = \"reviews\"", "account = «\"Reviews\"", &["privacy.account"]),
        ("account = \"reviews\"", "account = «\"reviews \"", &["privacy.account"]),
        ("account = \"reviews\"", "account = «\"r\u{435}views\"", &["privacy.account"]),
        ("account = \"reviews\"", "account = «\"re\u{301}views\"", &["privacy.account"]),
        // B28
        (KEYS, "\"discover\" }\nover = «\"10 days\"\n#", &["a whole multiple"]),
        ("every = \"1 month\"", "every = «\"0 months\"", &["a window of at least a second"]),
        // B29: each of overlapping windows is charged, and no field says otherwise.
        (SHARE, "share = 0.5\n«parallel = true", &["an unknown field"]),
        // B30
        (KEYS, "[\"a\", «\"a\"]", &["the key of entry 1 again"]),
        (KEYS, "«[]", &["an empty list"]),
        (KEYS, "[\"a\", «\"\"]", &["an empty key"]),
        (KEYS, &key, &["a long key"]),
        // B31
        (KEYS, "{ file = «\"reviews.csv\" }", &["the file of the records"]),
        (KEYS, "{ file = «\"*.txt\" }", &["a pattern"]),
        (KEYS, "«\"from data\"", &["a list of keys"]),
        // B34
        (NOISE, "noise = «\"none\"\nshare = 0.5", &["gaussian or laplace"]),
        (NOISE, "noise = «\"debug\"\nshare = 0.5", &["gaussian or laplace"]),
        // B35: a threshold is computed, and never configured.
        (KEYS, "\"discover\", «threshold = 5", &["an unknown field"]),
        // B38: no field turns on a metric of private data.
        (SHARE, "share = 0.5\n«metrics = \"private\"", &["an unknown field"]),
        // B40: the delivery of releases is not configured in a job file.
        (SHARE, "share = 0.5\n«delivery = \"at most once\"", &["an unknown field"]),
        // B41: there is one version of these semantics; the job's own version is a number.
        ("version = 1", "version = «\"1\"", &["job.version"]),
        ("version = 1", "version = «0", &["zero"]),
    ]);
    // B26
    let nobody = GOOD.replace("person = { field = \"who\", missing = \"drop\" }\n", "");
    assert!(parse(&nobody).unwrap_err().to_string().contains("there is no default"));
    // B27: a share needs a number of windows that divides it; a cost is charged until the account refuses it.
    let endless = GOOD.replace("until = \"2008-03-01T00:00:00Z\"\n", "").replace(", windows = 12", "");
    assert!(
        parse(&endless).unwrap_err().to_string().contains("a share of a lifetime among windows without end")
    );
    assert!(parse(&endless.replace(SHARE, "cost = { rho = 0.001, delta = 1e-9 }")).is_ok());
    // B37: windows take late records for the stated lateness, and are held for that long; every length is
    // valid.
    assert!(parse(&GOOD.replace("[privacy]", "late = \"400 days\"\n[privacy]")).is_ok());
    // B23, B25, B42 and B43 are refused by the ledger, B32, B33 and B36 by the library; B39 would need a sink
    // that can be asked.
}
