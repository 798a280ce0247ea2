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
        .without("required, or `over`, or `found_within`")
        .example("means = { of = [\"price\", \"quantity\"], within = [[0, 99.5], [1, 20]] }")
        .means("The least and the largest value of each field, in the order of `of`.")
        .costs("Each sum has an equal part of the price, and noise that grows with its width."),
    field("release.means.over", "a list of numbers")
        .without("required, or `within`, or `found_within`")
        .example("means = { of = [\"east\", \"north\"], over = [50, 50] }")
        .means("The half-axes of an ellipsoid around zero, to whose border records outside are brought.")
        .costs("The noise has the least square error of all coordinates together: give one unit to all."),
    field("release.means.found_within", "a list of ranges")
        .without("required, or `within`, or `over`")
        .example("means = { of = [\"price\"], found_within = [[0, 1000000]] }")
        .means("Ranges that may be far too wide: closer ones are found, and follow the data.")
        .costs("A quarter of the price of a key's first window finds them; later ones take a twentieth to follow."),
    whole("release.means.people")
        .or("1000")
        .example("means = { of = [\"price\"], found_within = [[0, 1000000]], people = 5000 }")
        .means("The expected number of records of a key in a window, for `found_within` alone.")
        .costs("Less than stated may find no ranges, and then the first window says almost nothing."),
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
