//! The fields of `means`.

use super::statistics::{by, by_depth, by_edges, by_of, file, keys};
use super::{JobField, field, table, whole};

/// The fields of the means of several fields.
pub(super) const MEANS: &[JobField] = &[
    table("release.means")
        .without("another statistic")
        .example("means = { of = [\"price\", \"quantity\"], within = [[0, 100], [1, 20]] }")
        .means("The mean of each of several fields, over the records that have all of them.")
        .costs("The fields share one count; the means are released together, at the price of the release."),
    field("release.means.of", "a list of texts")
        .example("means = { of = [\"price\", \"quantity\"], within = [[0, 100], [1, 20]] }")
        .means("The fields that hold the numbers, at most 32."),
    field("release.means.within", "a list of ranges")
        .without("required, or `over`, `found_within` or `stable`")
        .example("means = { of = [\"price\", \"quantity\"], within = [[0, 99.5], [1, 20]] }")
        .means("The least and the largest value of each field, in the order of `of`.")
        .costs("Each sum has an equal part of the price, and noise that grows with its width."),
    field("release.means.over", "a list of numbers")
        .without("required, or `within`, `found_within` or `stable`")
        .example("means = { of = [\"east\", \"north\"], over = [50, 50] }")
        .means("The half-axes of an ellipsoid around zero, to whose border records outside are brought.")
        .costs("The noise has the least square error of all coordinates together: give one unit to all."),
    field("release.means.found_within", "a list of ranges")
        .without("required, or `within`, `over` or `stable`")
        .example("means = { of = [\"price\"], found_within = [[0, 1000000]] }")
        .means("Ranges that may be far too wide: closer ones are found, and follow the data.")
        .costs("A quarter of the price of a key's first window finds them; later ones take a twentieth to follow."),
    field("release.means.stable", "a list of ranges")
        .without("required, or `within`, `over` or `found_within`")
        .example("means = { of = [\"price\"], stable = [[0, 100000]], people = 50000 }")
        .means("A box that holds every value that can come: the noise takes its shape from one record of each person.")
        .costs("It needs tens of thousands of people, and a budget with a delta and an omega; floating-point assumed."),
    whole("release.means.people")
        .without("1000 beside `found_within`; required beside `stable`")
        .example("means = { of = [\"price\"], found_within = [[0, 1000000]], people = 5000 }")
        .means("The expected number of records of a key in a window for `found_within`, of people for `stable`.")
        .costs("With fewer than stated, no ranges may be found, and a stable mean is probably not released."),
    by("release.means.by", "means = { of = [\"t\"], within = [[0, 9]], by = \"page\", keys = \"discover\" }"),
    by_of(
        "release.means.by.of",
        "means = { of = [\"t\"], within = [[0, 9]], by = { of = \"p\", depth = 2 }, keys = [\"/\"] }",
    ),
    by_edges(
        "release.means.by.edges",
        "means = { of = [\"t\"], within = [[0, 9]], by = { of = \"age\", edges = [18, 30] } }",
    ),
    by_depth(
        "release.means.by.depth",
        "means = { of = [\"t\"], within = [[0, 9]], by = { of = \"p\", depth = 1 }, keys = [\"/\"] }",
    ),
    keys("release.means.keys", "means = { of = [\"t\"], within = [[0, 9]], by = \"page\", keys = [\"home\"] }"),
    file(
        "release.means.keys.file",
        "means = { of = [\"t\"], within = [[0, 9]], by = \"page\", keys = { file = \"p.txt\" } }",
    ),
];
