//! The fields of the statistics of a release.

use super::{JobField, RANGE, field, number, table, text, whole, words};

/// The parts of the key of a statistic.
pub(super) const fn by(path: &'static str, example: &'static str) -> JobField {
    field(path, "a text, a table, or a list of them")
        .without("one number for everything")
        .example(example)
        .means("The field that holds the key, or up to eight parts of it: there is a number for each key.")
        .costs("Each key has the noise of the whole, and fewer people.")
}

/// The field of a part of a key.
pub(super) const fn by_of(path: &'static str, example: &'static str) -> JobField {
    text(path).example(example).means("The field that the part is made of.")
}

/// The edges of a part of a key.
pub(super) const fn by_edges(path: &'static str, example: &'static str) -> JobField {
    field(path, "a list of numbers")
        .without("required, or `depth`")
        .example(example)
        .means("The edges of the intervals that a number is in, in rising order; an edge is in the interval above it.")
}

/// The segments of a part of a key.
pub(super) const fn by_depth(path: &'static str, example: &'static str) -> JobField {
    whole(path)
        .without("required, or `edges`")
        .example(example)
        .means("The number of segments from the beginning of a path.")
}

/// The keys of a statistic: a list, a table with a file, or a word.
pub(super) const fn keys(path: &'static str, example: &'static str) -> JobField {
    field(path, "a list of keys, a table, or a word")
        .words(&["discover"])
        .without("none; required beside `by`, but for intervals")
        .example(example)
        .means(
            "The keys that are published: a public list, or those that enough people have (partition \
             selection).",
        )
        .costs(
            "A list costs nothing and is published whole; discovered keys cost a delta, and a key of few \
             people never appears.",
        )
}

/// The file of the keys of a statistic.
pub(super) const fn file(path: &'static str, example: &'static str) -> JobField {
    field(path, "a path")
        .example(example)
        .means("The file of public keys, one a line, with tabs between several parts.")
}

/// The totals of the level above the keys.
const fn rollup(path: &'static str, example: &'static str) -> JobField {
    field(path, "true or false")
        .without("false")
        .example(example)
        .means(
            "Each window also has a line for each key without its last part, over all keys that begin so, undiscovered ones \
             included.",
        )
        .costs(
            "Keys and the level above have half of the price each; all keys of a person may be in one of the level above.",
        )
}

/// The field of numbers that a statistic is of.
const fn of(path: &'static str, example: &'static str) -> JobField {
    text(path).example(example).means("The field that holds the number.")
}

/// The field of a statistic of one value of each person, which may be the number of its records.
const fn each_of(path: &'static str, example: &'static str) -> JobField {
    of(path, example).without("required, but for each = \"count\"")
}

/// The possible answers of a statistic of one value of each person.
const fn grid(path: &'static str, example: &'static str) -> JobField {
    field(path, "a list of numbers, a table, or a word")
        .words(&["log", "signed log"])
        .example(example)
        .means(
            "The possible answers: \"log\" has sixteen in each doubling from 1 on, \"signed log\" the same \
             below zero, too.",
        )
        .costs(
            "The answer is one of them, so it is off by their distance, too; their number hardly matters \
             for the noise.",
        )
}

/// The unit of a logarithmic grid.
const fn grid_log(path: &'static str, example: &'static str) -> JobField {
    number(path)
        .without("required, or `from`, `to` and `step`")
        .example(example)
        .means("The unit of a logarithmic grid, a power of ten, such as 0.01 for cents.")
}

/// The first answer of an even grid.
const fn grid_from(path: &'static str, example: &'static str) -> JobField {
    number(path).without("required, or `log`").example(example).means("The first answer of an even grid.")
}

/// The last answer of an even grid.
const fn grid_to(path: &'static str, example: &'static str) -> JobField {
    number(path).without("required, or `log`").example(example).means("The last answer of an even grid.")
}

/// The distance between two answers of an even grid.
const fn grid_step(path: &'static str, example: &'static str) -> JobField {
    number(path)
        .without("required, or `log`")
        .example(example)
        .means("The distance between two answers of an even grid, of which the range is a whole multiple.")
}

/// The fields of each statistic.
pub(super) const STATISTICS: &[JobField] = &[
    table("release.count")
        .without("another statistic")
        .example("count = { by = \"page\", keys = \"discover\" }")
        .means("The number of records, of everything (`count = {}`) or of each key."),
    by("release.count.by", "count = { by = \"page\", keys = \"discover\" }"),
    by_of("release.count.by.of", "count = { by = { of = \"path\", depth = 2 }, keys = [\"/a\"] }"),
    by_edges("release.count.by.edges", "count = { by = { of = \"age\", edges = [18, 30] } }"),
    by_depth("release.count.by.depth", "count = { by = { of = \"path\", depth = 1 }, keys = [\"/a\"] }"),
    keys("release.count.keys", "count = { by = \"page\", keys = [\"home\", \"cart\"] }"),
    file("release.count.keys.file", "count = { by = \"page\", keys = { file = \"pages.txt\" } }"),
    rollup("release.count.rollup", "count = { by = [\"method\", \"status\"], keys = \"discover\", rollup = true }"),
    table("release.people")
        .without("another statistic")
        .example("people = { by = \"page\", keys = \"discover\" }")
        .means("The number of people, of everything (`people = {}`) or of each key."),
    by("release.people.by", "people = { by = \"page\", keys = \"discover\" }"),
    by_of("release.people.by.of", "people = { by = { of = \"path\", depth = 2 }, keys = [\"/a\"] }"),
    by_edges("release.people.by.edges", "people = { by = { of = \"age\", edges = [18, 30] } }"),
    by_depth("release.people.by.depth", "people = { by = { of = \"path\", depth = 1 }, keys = [\"/a\"] }"),
    keys("release.people.keys", "people = { by = \"page\", keys = [\"home\", \"cart\"] }"),
    file("release.people.keys.file", "people = { by = \"page\", keys = { file = \"pages.txt\" } }"),
    table("release.sum")
        .without("another statistic")
        .example("sum = { of = \"price\", range = [0, 100] }")
        .means("The sum of a field, in which the sum of each person is clipped to the range."),
    of("release.sum.of", "sum = { of = \"price\", range = [0, 100] }"),
    field("release.sum.range", RANGE)
        .example("sum = { of = \"price\", range = [-20, 100] }")
        .means("The least and the largest sum of one person in a key.")
        .costs(
            "Noise grows with the end that is farther from zero; what lies outside is left out of the sum.",
        ),
    by("release.sum.by", "sum = { of = \"price\", range = [0, 100], by = \"page\", keys = \"discover\" }"),
    by_of(
        "release.sum.by.of",
        "sum = { of = \"price\", range = [0, 100], by = { of = \"path\", depth = 2 }, keys = [\"/a\"] }",
    ),
    by_edges(
        "release.sum.by.edges",
        "sum = { of = \"price\", range = [0, 100], by = { of = \"age\", edges = [18, 30] } }",
    ),
    by_depth(
        "release.sum.by.depth",
        "sum = { of = \"price\", range = [0, 100], by = { of = \"path\", depth = 1 }, keys = [\"/a\"] }",
    ),
    keys(
        "release.sum.keys",
        "sum = { of = \"price\", range = [0, 100], by = \"page\", keys = [\"home\", \"cart\"] }",
    ),
    file(
        "release.sum.keys.file",
        "sum = { of = \"price\", range = [0, 100], by = \"page\", keys = { file = \"pages.txt\" } }",
    ),
    rollup("release.sum.rollup", "sum = { of = \"price\", range = [0, 9], by = [\"a\", \"b\"], keys = \"discover\", rollup = true }"),
    table("release.mean")
        .without("another statistic")
        .example("mean = { of = \"price\", range = [0, 100] }")
        .means("The mean of a field, in which the value of each record is clipped to the range.")
        .costs("A mean of few people is of little use: its noise is divided by their number."),
    of("release.mean.of", "mean = { of = \"price\", range = [0, 100] }"),
    field("release.mean.range", RANGE)
        .example("mean = { of = \"price\", range = [0, 50.5] }")
        .means("The least and the largest value of a record.")
        .costs("Noise grows with the width; values outside are clipped, which moves the mean."),
    by("release.mean.by", "mean = { of = \"price\", range = [0, 100], by = \"page\", keys = \"discover\" }"),
    by_of(
        "release.mean.by.of",
        "mean = { of = \"price\", range = [0, 100], by = { of = \"path\", depth = 2 }, keys = [\"/a\"] }",
    ),
    by_edges(
        "release.mean.by.edges",
        "mean = { of = \"price\", range = [0, 100], by = { of = \"age\", edges = [18, 30] } }",
    ),
    by_depth(
        "release.mean.by.depth",
        "mean = { of = \"price\", range = [0, 100], by = { of = \"path\", depth = 1 }, keys = [\"/a\"] }",
    ),
    keys(
        "release.mean.keys",
        "mean = { of = \"price\", range = [0, 100], by = \"page\", keys = [\"home\", \"cart\"] }",
    ),
    file(
        "release.mean.keys.file",
        "mean = { of = \"price\", range = [0, 100], by = \"page\", keys = { file = \"pages.txt\" } }",
    ),
    rollup("release.mean.rollup", "mean = { of = \"price\", range = [0, 9], by = [\"a\", \"b\"], keys = \"discover\", rollup = true }"),
    table("release.variance")
        .without("another statistic")
        .example("variance = { of = \"price\", range = [0, 100] }")
        .means("The variance of a field over records, each value clipped to the range.")
        .costs("Count, sum and sum of squares share the price, so it needs more people than a mean."),
    of("release.variance.of", "variance = { of = \"price\", range = [0, 100] }"),
    field("release.variance.range", RANGE)
        .example("variance = { of = \"price\", range = [0, 50.5] }")
        .means("The least and the largest value of a record.")
        .costs("Noise grows with the square of the width; values outside are clipped, which makes the variance smaller."),
    by("release.variance.by", "variance = { of = \"price\", range = [0, 100], by = \"page\", keys = \"discover\" }"),
    by_of(
        "release.variance.by.of",
        "variance = { of = \"price\", range = [0, 9], by = { of = \"path\", depth = 2 }, keys = [\"/a\"] }",
    ),
    by_edges(
        "release.variance.by.edges",
        "variance = { of = \"price\", range = [0, 100], by = { of = \"age\", edges = [18, 30] } }",
    ),
    by_depth(
        "release.variance.by.depth",
        "variance = { of = \"price\", range = [0, 9], by = { of = \"path\", depth = 1 }, keys = [\"/a\"] }",
    ),
    keys(
        "release.variance.keys",
        "variance = { of = \"price\", range = [0, 100], by = \"page\", keys = [\"home\", \"cart\"] }",
    ),
    file(
        "release.variance.keys.file",
        "variance = { of = \"price\", range = [0, 100], by = \"page\", keys = { file = \"pages.txt\" } }",
    ),
    rollup("release.variance.rollup", "variance = { of = \"x\", range = [0, 9], by = [\"a\", \"b\"], keys = \"discover\", rollup = true }"),
    table("release.ratio")
        .without("another statistic")
        .example("ratio = { of = \"price\", range = [0, 100], per = \"quantity\", per_range = [0, 20] }")
        .means("The sum of a field over the sum of another, over the records that have both, each value clipped to its range.")
        .costs("Both sums share the price; where the lower one may be 0, a line has no interval."),
    of("release.ratio.of", "ratio = { of = \"price\", range = [0, 100], per = \"quantity\", per_range = [0, 20] }"),
    field("release.ratio.range", RANGE)
        .example("ratio = { of = \"price\", range = [0, 50.5], per = \"quantity\", per_range = [0, 20] }")
        .means("The least and the largest value of a record in the upper sum.")
        .costs("Noise grows with the end that is farther from zero; values outside are clipped."),
    text("release.ratio.per")
        .example("ratio = { of = \"price\", range = [0, 100], per = \"weight\", per_range = [0, 20] }")
        .means("The field whose sum is below the line."),
    field("release.ratio.per_range", RANGE)
        .example("ratio = { of = \"price\", range = [0, 100], per = \"quantity\", per_range = [1, 20] }")
        .means("The least and the largest value of a record in the lower sum.")
        .costs("Noise grows with the end that is farther from zero; values outside are clipped."),
    by(
        "release.ratio.by",
        "ratio = {of=\"a\", range=[0,9], per=\"b\", per_range=[0,9], by = \"p\", keys=\"discover\"}",
    ),
    by_of(
        "release.ratio.by.of",
        "ratio = {of=\"a\", range=[0,9], per=\"b\", per_range=[0,9], by = {of=\"p\", depth=2}, keys=[\"/\"]}",
    ),
    by_edges(
        "release.ratio.by.edges",
        "ratio = {of=\"a\", range=[0,9], per=\"b\", per_range=[0,9], by = {of=\"age\", edges=[18]}}",
    ),
    by_depth(
        "release.ratio.by.depth",
        "ratio = {of=\"a\", range=[0,9], per=\"b\", per_range=[0,9], by = {of=\"p\", depth=1}, keys=[\"/\"]}",
    ),
    keys(
        "release.ratio.keys",
        "ratio = {of=\"a\", range=[0,9], per=\"b\", per_range=[0,9], by = \"p\", keys=[\"home\"]}",
    ),
    file(
        "release.ratio.keys.file",
        "ratio = {of=\"a\", range=[0,9], per=\"b\", per_range=[0,9], by = \"p\", keys={file=\"p.txt\"}}",
    ),
    rollup("release.ratio.rollup", "ratio ={of=\"a\",range=[0,9],per=\"b\",per_range=[0,9],by=[\"p\",\"q\"],keys=\"discover\",rollup=true}"),
    table("release.histogram")
        .without("another statistic")
        .example("histogram = { of = \"price\", edges = [1, 10, 100] }")
        .means("The number of records between each two edges, below the first, and from the last on."),
    of("release.histogram.of", "histogram = { of = \"price\", edges = [1, 10, 100] }"),
    field("release.histogram.edges", "a list of numbers")
        .example("histogram = { of = \"price\", edges = [1, 2.5, 10] }")
        .means("The edges of the buckets, in rising order; a value at an edge is in the bucket above it.")
        .costs(
            "Each bucket is a key with the noise of the whole: `bound.keys` says in how many of them a \
             person counts.",
        ),
    table("release.max")
        .without("another statistic")
        .example("max = { of = \"price\", each = \"sum\", grid = \"log\" }")
        .means("The largest value among people, without a known range.")
        .costs("It is too small by design, by a number of people that each line states."),
    each_of("release.max.of", "max = { of = \"price\", grid = \"log\" }"),
    words("release.max.each", &["greatest", "sum", "count"])
        .or("\"greatest\"")
        .example("max = { of = \"price\", each = \"sum\", grid = \"log\" }")
        .means("The value of a person: the greatest of its records, their sum, or their number."),
    grid("release.max.grid", "max = { of = \"price\", grid = \"log\" }"),
    grid_log("release.max.grid.log", "max = { of = \"price\", grid = { log = 0.01 } }"),
    grid_from("release.max.grid.from", "max = { of = \"price\", grid = { from = 0, to = 100, step = 5 } }"),
    grid_to("release.max.grid.to", "max = { of = \"price\", grid = { from = 0, to = 200, step = 5 } }"),
    grid_step("release.max.grid.step", "max = { of = \"price\", grid = { from = 0, to = 100, step = 2.5 } }"),
    by(
        "release.max.by",
        "max = { of = \"price\", grid = \"log\", by = \"page\", keys = [\"home\", \"cart\"] }",
    ),
    by_of(
        "release.max.by.of",
        "max = { of = \"price\", grid = \"log\", by = { of = \"path\", depth = 2 }, keys = [\"/a\"] }",
    ),
    by_edges(
        "release.max.by.edges",
        "max = { of = \"price\", grid = \"log\", by = { of = \"age\", edges = [18, 30] } }",
    ),
    by_depth(
        "release.max.by.depth",
        "max = { of = \"price\", grid = \"log\", by = { of = \"path\", depth = 1 }, keys = [\"/a\"] }",
    ),
    keys(
        "release.max.keys",
        "max = { of = \"price\", grid = \"log\", by = \"page\", keys = [\"home\", \"cart\"] }",
    ),
    file(
        "release.max.keys.file",
        "max = { of = \"price\", grid = \"log\", by = \"page\", keys = { file = \"pages.txt\" } }",
    ),
    table("release.min")
        .without("another statistic")
        .example("min = { of = \"price\", each = \"sum\", grid = \"log\" }")
        .means("The smallest value among people, without a known range.")
        .costs("It is too large by design, by a number of people that each line states."),
    each_of("release.min.of", "min = { of = \"price\", grid = \"log\" }"),
    words("release.min.each", &["least", "sum", "count"])
        .or("\"least\"")
        .example("min = { of = \"price\", each = \"sum\", grid = \"log\" }")
        .means("The value of a person: the least of its records, their sum, or their number."),
    grid("release.min.grid", "min = { of = \"price\", grid = \"log\" }"),
    grid_log("release.min.grid.log", "min = { of = \"price\", grid = { log = 0.01 } }"),
    grid_from("release.min.grid.from", "min = { of = \"price\", grid = { from = 0, to = 100, step = 5 } }"),
    grid_to("release.min.grid.to", "min = { of = \"price\", grid = { from = 0, to = 200, step = 5 } }"),
    grid_step("release.min.grid.step", "min = { of = \"price\", grid = { from = 0, to = 100, step = 2.5 } }"),
    by(
        "release.min.by",
        "min = { of = \"price\", grid = \"log\", by = \"page\", keys = [\"home\", \"cart\"] }",
    ),
    by_of(
        "release.min.by.of",
        "min = { of = \"price\", grid = \"log\", by = { of = \"path\", depth = 2 }, keys = [\"/a\"] }",
    ),
    by_edges(
        "release.min.by.edges",
        "min = { of = \"price\", grid = \"log\", by = { of = \"age\", edges = [18, 30] } }",
    ),
    by_depth(
        "release.min.by.depth",
        "min = { of = \"price\", grid = \"log\", by = { of = \"path\", depth = 1 }, keys = [\"/a\"] }",
    ),
    keys(
        "release.min.keys",
        "min = { of = \"price\", grid = \"log\", by = \"page\", keys = [\"home\", \"cart\"] }",
    ),
    file(
        "release.min.keys.file",
        "min = { of = \"price\", grid = \"log\", by = \"page\", keys = { file = \"pages.txt\" } }",
    ),
    table("release.altogether")
        .without("another statistic")
        .example("altogether = { of = \"price\", grid = \"log\" }")
        .means("The sum over all people, each where it is above 0, of values without a known range.")
        .costs("It is too small by design, by a number of people that each line states."),
    each_of("release.altogether.of", "altogether = { of = \"price\", grid = \"log\" }"),
    words("release.altogether.each", &["sum", "count"])
        .or("\"sum\"")
        .example("altogether = { each = \"count\", grid = \"log\" }")
        .means("The value of a person: the sum of its records, or their number."),
    grid("release.altogether.grid", "altogether = { of = \"price\", grid = \"log\" }"),
    grid_log("release.altogether.grid.log", "altogether = { of = \"price\", grid = { log = 0.01 } }"),
    grid_from(
        "release.altogether.grid.from",
        "altogether = { of = \"price\", grid = { from = 0, to = 100, step = 5 } }",
    ),
    grid_to(
        "release.altogether.grid.to",
        "altogether = { of = \"price\", grid = { from = 0, to = 200, step = 5 } }",
    ),
    grid_step(
        "release.altogether.grid.step",
        "altogether = { of = \"price\", grid = { from = 0, to = 100, step = 2.5 } }",
    ),
    by(
        "release.altogether.by",
        "altogether = { of = \"price\", grid = \"log\", by = \"page\", keys = [\"home\", \"cart\"] }",
    ),
    by_of(
        "release.altogether.by.of",
        "altogether = { of = \"price\", grid = \"log\", by = { of = \"path\", depth = 2 }, keys = [\"/a\"] }",
    ),
    by_edges(
        "release.altogether.by.edges",
        "altogether = { of = \"price\", grid = \"log\", by = { of = \"age\", edges = [18, 30] } }",
    ),
    by_depth(
        "release.altogether.by.depth",
        "altogether = { of = \"price\", grid = \"log\", by = { of = \"path\", depth = 1 }, keys = [\"/a\"] }",
    ),
    keys(
        "release.altogether.keys",
        "altogether = { of = \"price\", grid = \"log\", by = \"page\", keys = [\"home\", \"cart\"] }",
    ),
    file(
        "release.altogether.keys.file",
        "altogether = { of = \"price\", grid = \"log\", by = \"page\", keys = { file = \"pages.txt\" } }",
    ),
    table("release.quantile")
        .without("another statistic")
        .example("quantile = { of = \"price\", q = [0.5, 0.95], range = [0, 50], step = 0.01 }")
        .means(
            "The median and other quantiles of a field, or of one value of each person, each one of the \
             answers of an even grid.",
        )
        .costs("Each is off by a number of ranks that its line states."),
    each_of("release.quantile.of", "quantile = { of = \"price\", q = 0.5, range = [0, 50] }"),
    words("release.quantile.each", &["value", "greatest", "least", "sum", "count"])
        .or("\"value\"")
        .example("quantile = { each = \"count\", q = 0.5, range = [0, 50] }")
        .means(
            "What is ranked: the values of the field, or one value of each person: the greatest, the least, \
             or the sum of its records, or their number.",
        )
        .costs("One value of a person moves each rank by 1 where values move it by `per_key`."),
    field("release.quantile.q", "a number, or a list of numbers")
        .example("quantile = { of = \"price\", q = [0.5, 0.95], range = [0, 50] }")
        .means("The fractions of the quantiles, between 0 and 1, rising; at most 100.")
        .costs("Several share the price of the release: each is off by more ranks."),
    field("release.quantile.range", RANGE)
        .example("quantile = { of = \"price\", q = 0.5, range = [0, 200] }")
        .means("The least and the largest answer.")
        .costs("A value outside counts at the end; a wide range hardly costs accuracy."),
    number("release.quantile.step")
        .without("a million answers or more")
        .example("quantile = { of = \"price\", q = 0.5, range = [0, 50], step = 0.01 }")
        .means("The distance between two answers, of which the range is a whole multiple.")
        .costs("A value between two answers counts at the one above: a coarse step moves the quantile."),
    by(
        "release.quantile.by",
        "quantile = { of = \"price\", q = 0.5, range = [0, 50], by = \"page\", keys = [\"home\", \"cart\"] }",
    ),
    by_of(
        "release.quantile.by.of",
        "quantile = { of = \"t\", q = 0.5, range = [0, 9], by = { of = \"p\", depth = 2 }, keys = [\"/\"] }",
    ),
    by_edges(
        "release.quantile.by.edges",
        "quantile = { of = \"price\", q = 0.5, range = [0, 9], by = { of = \"age\", edges = [18, 30] } }",
    ),
    by_depth(
        "release.quantile.by.depth",
        "quantile = { of = \"t\", q = 0.5, range = [0, 9], by = { of = \"p\", depth = 1 }, keys = [\"/\"] }",
    ),
    keys(
        "release.quantile.keys",
        "quantile = { of = \"price\", q = 0.5, range = [0, 50], by = \"page\", keys = [\"home\", \"cart\"] }",
    ),
    file(
        "release.quantile.keys.file",
        "quantile = { of = \"price\", q = 0.5, range = [0, 9], by = \"page\", keys = { file = \"p.txt\" } }",
    ),
    table("release.alert")
        .without("another statistic")
        .example("alert = { above = 500, alarms = 5 }")
        .means(
            "An alert in each window with more people or records than a number: whether it fires is released, and not how many \
             there are (the sparse vector technique).",
        )
        .costs("All alarms are paid for together, before the first window; windows in which it is silent cost nothing."),
    words("release.alert.count", &["people", "records"])
        .or("\"people\"")
        .example("alert = { count = \"records\", above = 500 }")
        .means("What is counted in a window, or in each key of it.")
        .costs("Of records, `bound.per_key` widens the band between silence and a sure alarm in proportion."),
    whole("release.alert.above")
        .example("alert = { above = 500 }")
        .means("The number up to which it is silent; the plan states the one from which on it surely fires."),
    whole("release.alert.alarms")
        .or("1")
        .example("alert = { above = 500, alarms = 5 }")
        .means("The alarms that share the price, at most 1,000; after the last one it has ended, and its windows have no line.")
        .costs("With four times as many, the band between silence and a sure alarm is about twice as wide."),
    whole("release.alert.pause")
        .or("0")
        .example("alert = { above = 500, alarms = 5, pause = 24 }")
        .means(
            "The number of windows behind an alarm in which its key is not asked for and has no line, so that a crowd that \
             stays takes one alarm.",
        )
        .costs("A second crowd within the pause is missed."),
    number("release.alert.wrong")
        .or("0.05")
        .example("alert = { above = 500, wrong = 0.01 }")
        .means(
            "The probability of any mistake in all windows and keys together: an alarm at a number that is not above, or silence \
             at one at which it surely fires.",
        )
        .costs("A smaller one widens the band between silence and a sure alarm a little."),
    whole("release.alert.windows")
        .without("all windows up to job.until; required without that")
        .example("alert = { above = 500, windows = 4320 }")
        .means("The number of windows that the probability of a mistake is stated for; later ones are as private."),
    by("release.alert.by", "alert = { above = 50, by = \"page\", keys = [\"home\", \"cart\"] }"),
    by_of("release.alert.by.of", "alert = { above = 5, by = { of = \"path\", depth = 2 }, keys = [\"/a\"] }"),
    by_edges("release.alert.by.edges", "alert = { above = 5, by = { of = \"age\", edges = [18, 30] } }"),
    by_depth("release.alert.by.depth", "alert = { above = 5, by = { of = \"path\", depth = 1 }, keys = [\"/a\"] }"),
    field("release.alert.keys", "a list of keys, or a table")
        .without("none; required beside `by`, but for intervals")
        .example("alert = { above = 50, by = \"page\", keys = [\"home\", \"cart\"] }")
        .means("The keys that are asked for in each window, in the order of their bytes: a public list.")
        .costs("Each is asked for at the same price; more of them widen the band a little."),
    file("release.alert.keys.file", "alert = { above = 50, by = \"page\", keys = { file = \"pages.txt\" } }"),
    table("release.top")
        .without("another statistic")
        .example("top = { k = 3, by = \"page\", keys = [\"home\", \"cart\", \"help\", \"jobs\"] }")
        .means(
            "The keys of each window with the most people or records, in order, and no number of them (the exponential mechanism \
             in rounds).",
        )
        .costs("A person may be in any number of keys at the same price."),
    words("release.top.count", &["people", "records"])
        .or("\"people\"")
        .example("top = { count = \"records\", k = 1, by = \"page\", keys = [\"home\", \"cart\"] }")
        .means("What is counted in each key.")
        .costs("Of records, the distance to the largest number grows with `bound.per_key`."),
    whole("release.top.k")
        .example("top = { k = 2, by = \"page\", keys = [\"home\", \"cart\", \"help\"] }")
        .means("The keys that are picked, at most 1,000 and no more than are listed.")
        .costs("Of four times as many each is about twice as far from the largest number that is left; in pure epsilon, four times."),
    field("release.top.by", "a text, a table, or a list of them")
        .example("top = { k = 1, by = \"page\", keys = [\"home\", \"cart\"] }")
        .means("The field that holds the key, or up to eight parts of it."),
    by_of("release.top.by.of", "top = { k = 1, by = { of = \"path\", depth = 2 }, keys = [\"/a\", \"/b\"] }"),
    by_edges("release.top.by.edges", "top = { k = 1, by = { of = \"age\", edges = [18, 30] } }"),
    by_depth("release.top.by.depth", "top = { k = 1, by = { of = \"path\", depth = 1 }, keys = [\"/a\"] }"),
    field("release.top.keys", "a list of keys, or a table")
        .without("none; required but for intervals")
        .example("top = { k = 1, by = \"page\", keys = [\"home\", \"cart\"] }")
        .means("The keys that it picks from in each window: a public list.")
        .costs("More of them cost nothing, and widen the distance a little."),
    file("release.top.keys.file", "top = { k = 1, by = \"page\", keys = { file = \"pages.txt\" } }"),
    table("release.marginals")
        .without("another statistic")
        .example("marginals = { by = \"a\", tables = [[\"a\"], []], categories = { a = [\"x\", \"y\"] } }")
        .means(
            "Several tables of counts over categories, of the same records or people: they agree in all of their sums, and together \
             err as little as any Gaussian noise can.",
        )
        .costs("All tables are one release with one price; a table that others hold costs little."),
    words("release.marginals.count", &["people", "records"])
        .or("\"records\"")
        .example("marginals = { count = \"people\", by = { of = \"a\", edges = [5] }, tables = [[\"a\"]] }")
        .means("What is counted: records, or people once in each combination of all fields of `by`."),
    field("release.marginals.by", "a text, a table, or a list of them")
        .example("marginals = { by = \"a\", tables = [[\"a\"]], categories = { a = [\"x\", \"y\"] } }")
        .means("The fields that tables are made of, up to eight, each in a table at least; a record without one of them counts in no table."),
    by_of("release.marginals.by.of", "marginals = { by = { of = \"age\", edges = [18, 30] }, tables = [[\"age\"]] }"),
    by_edges("release.marginals.by.edges", "marginals = { by = { of = \"age\", edges = [18, 30] }, tables = [[\"age\"]] }"),
    by_depth("release.marginals.by.depth", "marginals = { by = { of = \"p\", depth = 1 }, tables = [[\"p\"]], categories.p = [\"/a\", \"/b\"] }"),
    field("release.marginals.tables", "a list of lists of fields of `by`")
        .example("marginals = { by = \"a\", tables = [[\"a\"], []], categories = { a = [\"x\", \"y\"] } }")
        .means("The tables, each by some of the fields; an empty one is the number of all that count.")
        .costs("Each combination of fields that no other table holds takes a part of the price."),
    field("release.marginals.categories", "a table with a list for each field, or { file = .. }")
        .without("required but for intervals")
        .example("marginals = { by = \"a\", tables = [[\"a\"]], categories = { a = [\"x\", \"other\"] } }")
        .means(
            "The categories of each field that has no edges: a public list. A text that is none is of the category `other`, where that is \
             listed, and otherwise its record counts in no table.",
        )
        .costs("More categories are more cells, with more noise together."),
];
