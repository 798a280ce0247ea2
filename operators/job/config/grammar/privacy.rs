//! The fields of `[privacy]`.

use super::{JobField, field, number, table, text, words};

/// The fields of `[privacy]`.
pub(super) const PRIVACY: &[JobField] = &[
    table("privacy")
        .example(
            "[privacy]\nperson = { field = \"user\", missing = \"drop\" }\npromise = \"each day\"\n\
             budget = { epsilon = 1.0, delta = 1e-6 }\nledger = \"state/visits.ledger\"\naccount = \
                  \"visits\"",
        )
        .means(
            "The promise: who is protected, over which time, by which budget, and where the budget is kept.",
        ),
    table("privacy.person")
        .without("required, or `unit`")
        .example("person = { field = \"user\", missing = \"drop\" }")
        .means("User-level privacy: all records of one person together are hidden.")
        .costs("Noise is as large as the bound lets one person matter."),
    text("privacy.person.field")
        .example("person = { field = \"user\", missing = \"drop\" }")
        .means("The field that says whose a record is.")
        .costs("A person with two ids is two people, and the promise holds for each id alone."),
    words("privacy.person.missing", &["drop", "reject", "shared"])
        .example("person = { field = \"user\", missing = \"shared\" }")
        .means(
            "The treatment of records without a person: left out, unreadable, or all of one shared person.",
        )
        .costs(
            "Records that are dropped are missing in every number; shared ones count at most as much as one \
             person's.",
        ),
    words("privacy.unit", &["record"])
        .without("required, or `person`")
        .example("unit = \"record\"")
        .means("Event-level privacy: one record is hidden.")
        .costs("Little noise, and no promise for a person with several records."),
    field("privacy.promise", "a word, the last two with a length of time")
        .words(&["lifetime", "any", "each"])
        .example("promise = \"any 30 days\"")
        .means(
            "The time over which the budget holds: ever, in any span of this length, or in each of the \
             spans that follow one another.",
        )
        .costs("The longer the time, the more windows share the budget, and the larger the noise of each."),
    table("privacy.budget")
        .example("budget = { epsilon = 1.0, delta = 1e-6 }")
        .means(
            "The privacy budget of all releases of the account together: epsilon, epsilon with delta, or \
             rho.",
        )
        .costs("Half of the budget is twice the noise, or for Gaussian noise of a rho 1.4 times."),
    number("privacy.budget.epsilon")
        .without("required, or `rho`")
        .example("budget = { epsilon = 1.0, delta = 1e-6 }")
        .means("The bound of the privacy loss, at most 500; alone it is pure, and permits no Gaussian noise.")
        .costs("Above 10 it promises little."),
    number("privacy.budget.delta")
        .without("none: pure epsilon, or a rho")
        .example("budget = { epsilon = 1.0, delta = 1e-7 }")
        .means("The probability with which the loss may exceed epsilon; required to discover keys.")
        .costs("It should be far below one over the number of people."),
    number("privacy.budget.delta_for_keys")
        .without("where some release has a delta: three tenths of delta, or half with `accounting = \"zcdp\"`")
        .example("budget = { epsilon = 1.0, delta = 1e-6, delta_for_keys = 1e-7 }")
        .means(
            "The part of delta for discovered keys, stable means and answers to questions; the rest is for the noise.",
        )
        .costs("The more of it, the larger all noise; the less, the more people a key needs."),
    number("privacy.budget.rho").without("none: epsilon is stated").example("budget = { rho = 0.02 }").means(
        "The budget in zero-concentrated differential privacy, at most 500, which Gaussian noise is paid in.",
    ),
    number("privacy.budget.omega")
        .without("every order")
        .example("budget = { epsilon = 1.0, delta = 1e-6, omega = 40 }")
        .means(
            "The Rényi order below which the budget holds, for `stable` means, of this job or of a program that \
             shares the account.",
        )
        .costs("A budget that holds below an order alone promises less."),
    words("privacy.accounting", &["gaussian", "zcdp"])
        .without(
            "`gaussian` for an epsilon with a delta, without omega, stable means and questions; else `zcdp`",
        )
        .example("accounting = \"zcdp\"")
        .means(
            "The currency in which the account keeps an epsilon with a delta, fixed by `ledger init`: `gaussian` needs 5 to \
             11% less Gaussian noise for an epsilon from 0.1 to 4 and a delta from 1e-8 to 1e-5, `zcdp` less of any other.",
        )
        .costs("An account keeps the one that it was stated with."),
    field("privacy.ledger", "a path, or an address of postgres://")
        .example("ledger = \"state/visits.ledger\"")
        .means("The ledger of the budget and of all that was released: a file, or a database on a server."),
    text("privacy.account")
        .example("account = \"visits\"")
        .means("The account of the ledger that is charged; jobs about the same people share one.")
        .costs("People who are in two accounts spend both budgets."),
    field("privacy.key", "a path")
        .without("the path of the ledger with `.key` behind it; required by a server")
        .example("key = \"keys/visits.key\"")
        .means(
            "The file of the key by which the ledger is encrypted and the records of a person are chosen.",
        ),
    field("privacy.anchor", "a path")
        .without("no anchor")
        .example("anchor = \"/other/disk/visits.anchor\"")
        .means("The file, best on another disk, that shows when an older copy of the ledger was put back.")
        .costs("Without it, and with a new output, a budget that was put back is spent twice unseen."),
];
