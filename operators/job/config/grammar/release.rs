//! The fields of `[[release]]`, but for those of its statistic.

use super::{JobField, SPAN, field, number, table, text, whole, words};

/// The fields of `[[release]]`.
pub(super) const RELEASE: &[JobField] = &[
    field("release", "a list of tables")
        .without("required, or `ask`")
        .example(
            "[[release]]\nname = \"visitors\"\nevery = \"1 hour\"\npeople = { by = \"page\", keys = \
             \"discover\" }\n\
             bound = { keys = 5 }\nnoise = \"gaussian\"\nshare = 0.6",
        )
        .means(
            "One statistic that is published for each window: one of count, people, sum, mean, means, \
             variance, ratio, histogram, max, min, altogether, quantile, alert, top and marginals.",
        ),
    text("release.name")
        .example("name = \"visitors_by_page\"")
        .means("The name of the release in its lines and in the ledger: a-z, 0-9, _ and -, at most 64."),
    whole("release.version")
        .without("the version of [job]")
        .example("version = 2")
        .means("The version of this release alone.")
        .costs("Each window is released and paid for once more in a new version."),
    field("release.every", "a length of time, or a word")
        .words(&["all"])
        .example("every = \"1 hour\"")
        .means(
            "The length of a window, from a second to ten years; \"all\" is one window over everything. Weeks begin on Thursday, and \
             on another day with \"1 week from Monday\".",
        )
        .costs("More windows share the budget of a span, and each holds fewer people beside the same noise."),
    field("release.over", SPAN)
        .without("windows that follow each other")
        .example("over = \"6 hours\"")
        .means(
            "The length of windows of which one starts with each `every`, or of the last windows in a \
             running total.",
        )
        .costs(
            "A record is in several windows, each of which is paid for; a running total is paid for once.",
        ),
    field("release.running", "true or false")
        .or("false")
        .example("running = true")
        .means(
            "True to publish totals over all windows so far, or over the last ones with `over`; means, variances and \
             ratios that are made of such totals; and the distinct people of all windows so far, or of the last ones.",
        )
        .costs(
            "All totals are paid for once; a person is bounded over all windows together, and the noise \
             grows with the logarithm of their number.",
        ),
    words("release.strategy", &["buffered", "square-root", "tree", "fresh"])
        .without("the strategy with the least error")
        .example("strategy = \"tree\"")
        .means("The strategy that correlates the noise of running totals.")
        .costs("A tree errs two to three times as much, and fresh noise by far more, at the same price."),
    field("release.where", "a condition such as \"status >= 500\"")
        .without("every record of the source counts")
        .example("where = 'status >= 500 and not path starts with \"/health\"'")
        .means("The condition of the records that count for this release; others take no place of a person's records."),
    table("release.bound")
        .without("1 of each, where more is not possible")
        .example("bound = { keys = 5, per_key = 3 }")
        .means("The contribution bound: how much one person can matter."),
    whole("release.bound.keys")
        .without("1 without keys or with unit = \"record\"; otherwise required")
        .example("bound = { keys = 5, per_key = 2 }")
        .means(
            "The most keys of a window in which a person counts; of all windows together in a running total.",
        )
        .costs(
            "More keys: Gaussian noise grows with the square root, Laplace noise in proportion; with fewer, \
             more records are left out.",
        ),
    whole("release.bound.per_key")
        .without(
            "1 where a person is one value; required by counts, means, histograms and quantiles of people",
        )
        .example("bound = { keys = 3, per_key = 10 }")
        .means("The most records of a person that count for a key.")
        .costs("Noise grows in proportion; with fewer, more records are left out."),
    whole("release.bound.windows")
        .without("no bound: a person counts in each window")
        .example("bound = { keys = 3, per_key = 2, windows = 4 }")
        .means(
            "The most windows in which a person ever counts, under `promise = \"lifetime\"`; where one release of \
             a job has it, all have, each its own.",
        )
        .costs(
            "The budget is divided by it and no more by all windows; later windows miss people who have \
             counted.",
        ),
    whole("release.bound.entries")
        .without("required by people with `over` and `running = true`; refused elsewhere")
        .example("bound = { keys = 3, entries = 4 }")
        .means(
            "The most times that a person enters a key, of people over the last windows: by a record after as many \
             windows without one as `over` holds, over all windows together.",
        )
        .costs("Noise grows with the square root; with fewer, people who come back after a pause are missed."),
    whole("release.bound.weight")
        .without("a person with more than `keys` counts in `keys` of them, and not in the others")
        .example("bound = { keys = 30, per_key = 10, weight = 3 }")
        .means(
            "The number of whole keys that a person comes to at most: of somebody with more, each key counts in part. \
             Of counts, people, sums, means and histograms of a window; `keys`, which is above it, may be left out where \
             keys are listed.",
        )
        .costs(
            "The noise is that of `keys = weight`; a smaller weight counts people with much in smaller parts, and \
             those with little in full.",
        ),
    words("release.noise", &["gaussian", "laplace", "exponential", "permute-and-flip", "geometric"])
        .example("noise = \"gaussian\"")
        .means(
            "The law of the noise, or the mechanism that selects a quantile, a largest or a smallest value, or the most frequent keys; \
             of an alert it is geometric.",
        )
        .costs(
            "Gaussian noise is the smaller one for people with many keys, and Laplace noise for one key and \
             a pure budget.",
        ),
    whole("release.least_people")
        .without("1: any number of people")
        .example("least_people = 20")
        .means(
            "The least number of people of a key that is discovered, up to 2^31: k-anonymity of the published keys, whatever the noise. \
             Of keys of a window, and not of a running total.",
        )
        .costs("A key needs as many people more to be found, less one."),
    field("release.share", "a number above 0 and at most 1")
        .without("required, or `cost`")
        .example("share = 0.25")
        .means(
            "The part of the budget for this release, divided by the windows that can be charged for one \
             person.",
        )
        .costs("Half of the share is 1.4 times the noise, and twice the noise under a pure budget."),
    table("release.cost")
        .without("required, or `share`")
        .example("cost = { rho = 0.00005, delta = 1e-9 }")
        .means("The cost of one window, or of all totals of a running release."),
    number("release.cost.epsilon")
        .without("none: rho is stated")
        .example("cost = { epsilon = 0.01, delta = 1e-9 }")
        .means("The cost in pure epsilon, for noise other than Gaussian."),
    number("release.cost.rho")
        .without("none: epsilon is stated")
        .example("cost = { rho = 0.00005, delta = 1e-9 }")
        .means("The cost in zero-concentrated differential privacy."),
    number("release.cost.delta")
        .without("none; required where keys are discovered")
        .example("cost = { rho = 0.00005, delta = 1e-8 }")
        .means("The delta that discovering keys, or the test of a stable mean, costs beside it.")
        .costs("A smaller one lets keys appear later, with more people."),
];
