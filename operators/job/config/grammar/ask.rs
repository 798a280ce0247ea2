//! The fields of `[[ask]]`.

use super::{JobField, field, number, table, text, whole};

/// The fields of the questions of analysts.
pub(super) const ASK: &[JobField] = &[
    field("ask", "a list of tables")
        .without("no question is answered")
        .example(
            "[[ask]]\nname = \"study\"\nevery = \"1 day\"\nfields = { country = \"text\", age = \"whole\" }\n\
             bound = { per_key = 3 }\nanswers = 1000\nquestions = \"questions.jsonl\"\n\
             cost = { epsilon = 1.0, delta = 1e-6 }",
        )
        .means(
            "Questions of analysts about the records, answered with bounded noise, and paid for together.",
        ),
    text("ask.name")
        .example("name = \"study\"")
        .means("The name of the bundle in its lines and in the ledger: a-z, 0-9, _ and -, at most 64."),
    whole("ask.version")
        .without("the version of [job]")
        .example("version = 2")
        .means("The version of this bundle alone.")
        .costs("In a new version all answers are paid for once more."),
    field("ask.every", "a length of time, or a word")
        .words(&["all"])
        .example("every = \"1 day\"")
        .means("The length of the windows: a question is about the records of the last one that is over.")
        .costs(
            "Answers cost the same however many windows there are: they are paid for once, for all of them.",
        ),
    field("ask.fields", "a table of names with their kinds: \"text\", \"whole\", \"2 digits\", \"time\"")
        .example("fields = { country = \"text\", age = \"whole\", price = \"2 digits\" }")
        .means("The fields that can be asked about; of numbers, the digits behind the point that count."),
    table("ask.bound")
        .without("one record, with unit = \"record\"; otherwise required")
        .example("bound = { per_key = 3 }")
        .means("The contribution bound: how many records of a person in a window count."),
    whole("ask.bound.per_key")
        .without("1, with unit = \"record\"; otherwise required")
        .example("bound = { per_key = 3 }")
        .means("The most records of a person in a window that count.")
        .costs("Noise grows in proportion; with fewer, more records are left out."),
    whole("ask.answers")
        .example("answers = 1000")
        .means("The number of answers in the bundle: a count takes one, and a mean two.")
        .costs(
            "All of them are paid for, asked or not; the noise grows with the root of their number, about.",
        ),
    field("ask.analysts", "a table of names with their numbers of answers")
        .without("answers go to those who ask first")
        .example("analysts = { ann = 600, ben = 400 }")
        .means("The analysts who may ask, each with a part of the answers that nobody else can use."),
    text("ask.questions")
        .without("required, or `tokens`")
        .example("questions = \"questions.jsonl\"")
        .means("The file with the questions, a line of JSON each; a live run reads what is appended to it."),
    field("ask.tokens", "a table of names with files")
        .without("nobody asks over HTTP")
        .example("tokens = { ann = \"ann.token\", ben = \"ben.token\" }")
        .means(
            "The analysts who may ask a live run over HTTP, at `/ask` of `watch.listen`, each with the file of a token.",
        ),
    field("ask.share", "a number above 0 and at most 1")
        .without("required, or `cost`")
        .example("share = 0.25")
        .means("The part of the budget, and of its delta, for all answers together."),
    table("ask.cost")
        .without("required, or `share`")
        .example("cost = { epsilon = 1.0, delta = 1e-6 }")
        .means("The cost of all answers together."),
    number("ask.cost.epsilon")
        .example("cost = { epsilon = 1.0, delta = 1e-6 }")
        .means("The epsilon of all answers together.")
        .costs("Half of it is twice the noise."),
    number("ask.cost.delta")
        .example("cost = { epsilon = 1.0, delta = 1e-7 }")
        .means("The delta of all answers together.")
        .costs("A smaller one has noise of a larger bound, by a little."),
];
