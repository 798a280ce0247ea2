//! The fields of `[source]`.

use super::{JobField, MARK, SIZE, SPAN, field, number, table, text, whole, words};

/// The fields of `[source]`.
pub(super) const SOURCE: &[JobField] = &[
    table("source")
        .example(
            "[source]\ntype = \"csv\"\npath = \"visits/*.csv.gz\"\ntime = { field = \"time\", format = \
             \"rfc3339\" }",
        )
        .means("The records: where they come from, and what their fields mean."),
    words("source.type", &["csv", "jsonl", "combined", "synthetic", "parquet", "arrow"])
        .example("type = \"csv\"")
        .means(
            "The format of the records: separated text, JSON lines, the log of a web server, made up from a \
             seed, or columnar files.",
        ),
    field("source.path", "a path, or \"-\"")
        .without("required, but for a synthetic source")
        .example("path = \"visits/*.csv.gz\"")
        .means("The file, the directory or the pattern of files, packed or plain; \"-\" is standard input."),
    field("source.delimiter", MARK)
        .or("\",\"")
        .example("delimiter = \"\\t\"")
        .means("The character between two fields of csv."),
    field("source.quote", "an ASCII character, or \"\" for none").or("'\"'").example("quote = \"'\"").means(
        "The character around a field of csv that holds delimiters; within such a field it is doubled.",
    ),
    field("source.comment", MARK)
        .without("every line may be a record")
        .example("comment = \"#\"")
        .means("The first character of lines of csv that are no records."),
    field("source.header", "a list of texts")
        .without("the first line has the names")
        .example("header = [\"user\", \"page\", \"time\", \"price\"]")
        .means("The names of the columns of csv, where the files have no line of them."),
    field("source.where", "a condition such as \"status >= 500\"")
        .without("every record counts")
        .example("where = 'price >= 1 and page starts with \"/api/\"'")
        .means(
            "The condition of the records that count; the others are left out before anything else is read \
             of them.",
        ),
    whole("source.people")
        .without("required by a synthetic source, and of no other")
        .example("people = 20000")
        .means("The number of people of a synthetic log."),
    whole("source.rows")
        .without("required by a synthetic source, and of no other")
        .example("rows = 400000")
        .means("The number of records of a synthetic log."),
    whole("source.keys")
        .without("required by a synthetic source, and of no other")
        .example("keys = 40")
        .means("The number of keys of a synthetic log."),
    number("source.skew").without("as with 1.1").example("skew = 1.5").means(
        "The inequality of keys and people of a synthetic log, from 0 to 10: the exponent of Zipf's law.",
    ),
    whole("source.seed")
        .without("as with 0")
        .example("seed = 1")
        .means("The seed of a synthetic log, from which every record follows."),
    table("source.time")
        .without("required by windows of time, but for combined and synthetic sources")
        .example("time = { field = \"time\", format = \"rfc3339\" }")
        .means("The event time of a record, by which it belongs to windows."),
    text("source.time.field")
        .without("required, but for a combined source: \"time\"")
        .example("time = { field = \"time\", format = \"unix\" }")
        .means("The field that holds the time."),
    field("source.time.format", "a word, or a pattern such as \"%Y-%m-%d\"")
        .words(&["unix", "unix-ms", "rfc3339", "clf"])
        .without("required, but for a combined source (\"clf\") and a column with a type of time")
        .example("time = { field = \"time\", format = \"%d.%m.%Y %H:%M\" }")
        .means("The format of the time."),
    field("source.time.zone", "the name of a time zone")
        .or("\"UTC\"")
        .example("time = { field = \"time\", format = \"%Y-%m-%d\", zone = \"Europe/Berlin\" }")
        .means("The same as `source.zone`, beside the time; one of the two may be stated."),
    field("source.zone", "the name of a time zone")
        .or("\"UTC\"")
        .example("zone = \"Europe/Berlin\"")
        .means("The zone of times that state none, and of windows: days and months begin at its midnight.")
        .costs(
            "Under a promise of `each` or `any`, whose spans are of UTC, days of another zone are cut by them and cost more, \
             twice as much for counts. Windows that begin or end within the hour that its clocks repeat are skipped if times \
             state no offset.",
        ),
    words("source.order", &["any", "sorted"]).or("\"any\"").example("order = \"sorted\"").means(
        "The order of records that the source promises: sorted saves memory, and a line out of order ends \
         the job with 65.",
    ),
    field("source.late", SPAN).or("\"0s\"").example("late = \"5m\"").means(
        "The time after its end for which a window takes records; a live run drops later ones, and \
         publishes so much later.",
    ),
    field("source.ahead", SPAN).or("\"1 day\"").example("ahead = \"2h\"").means(
        "The time by which a record may lie ahead of the clock of a live run, which drops those further \
         ahead.",
    ),
    table("source.bad")
        .or("{ lines = 0 }")
        .example("bad = { lines = 100 }")
        .means("The unreadable lines that are left out; over HTTP there is no limit without it.")
        .costs("The end of a job by a bad line is seen from outside, and depends on single records."),
    whole("source.bad.lines").example("bad = { lines = 100 }").means(
        "The most unreadable lines of a replay, or of an hour of a live run, before the job ends with 65.",
    ),
    table("source.id")
        .without("every record counts")
        .example("id = { field = \"event\" }")
        .means("The id of a record; records with the same id count once."),
    text("source.id.field").example("id = { field = \"event\" }").means("The field that holds the id."),
    field("source.fields", "a list of texts")
        .without("any field may be read")
        .example("fields = [\"user\", \"page\", \"time\", \"price\"]")
        .means(
            "The fields of JSON lines, so that a misspelt one is refused; `discreet check --sample N \
             --write-fields` writes them.",
        ),
    table("source.explode")
        .without("each line is one record")
        .example("explode = { array = \"items\", most = 20 }")
        .means(
            "The array of JSON lines of which each element is a record of the line's person, at the line's time. \
             Its fields are named behind it: `items.price`, or `items` where elements are texts or numbers.",
        )
        .costs("As many records of one person as count: state `per_key` for them together."),
    text("source.explode.array")
        .example("explode = { array = \"order.items\", most = 20 }")
        .means("The field that holds the array, or the path to it; a line without it has no record."),
    whole("source.explode.most")
        .example("explode = { array = \"items\", most = 20 }")
        .means("The most elements of a line that count, from the first one on."),
    table("source.http")
        .without("files are read")
        .example("http = { listen = \"127.0.0.1:8080\" }")
        .means("The receiver of JSON lines over HTTP of a live run; `path` is the directory of its spool."),
    field("source.http.listen", "an address and a port")
        .example("http = { listen = \"127.0.0.1:8080\" }")
        .means("The address at which records are received."),
    table("source.http.token")
        .without("no token: an address of this machine alone")
        .example("http = { listen = \"127.0.0.1:8080\", token = { file = \"http.token\" } }")
        .means("The secret that each request carries."),
    field("source.http.token.file", "a path")
        .example("http = { listen = \"127.0.0.1:8080\", token = { file = \"http.token\" } }")
        .means("The file whose first line is the token."),
    field("source.http.batch", SIZE)
        .or("\"1 MB\"")
        .example("http = { listen = \"127.0.0.1:8080\", batch = \"4 MB\" }")
        .means("The largest batch of records, at most 16 MB."),
    field("source.http.hold", SIZE)
        .or("\"1 GB\"")
        .example("http = { listen = \"127.0.0.1:8080\", hold = \"10 GB\" }")
        .means(
            "The most bytes of the spool: more than what arrives in the longest window and its lateness; \
             beyond it senders get 429.",
        ),
];

/// The fields that are made of those of a source.
pub(super) const MADE: &[JobField] = &[
    field("tables", "a table of names with their public files, or tables of file, key and by")
        .without("no table")
        .example("[tables]\npages = { file = \"pages.csv\", key = \"page\", by = \"page\" }")
        .means(
            "Public tables that are joined to each record by a key: of the column `key`, by the field `by`; their columns are \
             fields such as pages.topic.",
        )
        .costs("A table is public, and costs nothing: it must not be made of the records."),
    field("fields", "a table of names with their expressions, such as \"domain of referer\"")
        .without("no derived field")
        .example("[fields]\nhost = \"domain of referer\"\neuros = \"cents / 100 if cents >= 0\"")
        .means("Derived fields: values of each record, made of its other fields by an expression."),
];
