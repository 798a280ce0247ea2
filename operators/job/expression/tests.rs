//! Expressions against a slow interpreter of their trees, over whole numbers of any size; and texts that are none.

use dashu_int::IBig;
use dashu_int::ops::DivRemEuclid;

use super::parser::FUNCTIONS;
use super::*;
use crate::invalid::InvalidKind;
use crate::time::Zone;

/// Records with a number `price`, a text `host`, a time `time`, and fields that are what is made of them.
pub(in crate::job) struct Records;

impl KnownFields for Records {
    fn kind(&self, name: &str) -> Option<ValueKind> {
        match name {
            "price" => Some(ValueKind::Number),
            "host" => Some(ValueKind::Text),
            _ => None,
        }
    }

    fn is_time(&self, name: &str) -> bool {
        name == "time"
    }
}

type Cells<'c> = &'c [(&'c str, &'c str)];

fn cell_of<'c>(cells: Cells<'c>, name: &str) -> Option<&'c str> {
    cells.iter().find(|(field, _)| *field == name).map(|(_, cell)| *cell)
}

fn evaluated(
    expression: &Expression,
    cells: Cells<'_>,
    time: Option<Time>,
    zone: &ZoneRules,
) -> Option<String> {
    let names: Vec<&str> = expression.fields().collect();
    let mut made = Vec::new();
    let cell = |at: usize| cell_of(cells, names[at]).map(str::as_bytes);
    expression.write(time, zone, cell, &mut made).then(|| String::from_utf8(made).unwrap())
}

fn of(text: &str, cells: Cells<'_>) -> Option<String> {
    let zone = ZoneRules::of(&Zone::named("Europe/Berlin").unwrap()).unwrap();
    let expression = Expression::parse(text, &Records).unwrap_or_else(|refused| panic!("{text}: {refused}"));
    evaluated(&expression, cells, cell_of(cells, "time").map(|time| time.parse().unwrap()), &zone)
}

#[test]
fn an_expression_has_one_value_for_a_record() {
    // 2026-11-28T23:30:00Z, which is Sunday in Berlin.
    let record = [
        ("time", "1795908600000000"),
        ("referer", "https://News.Example.com/a?b"),
        ("path", "/api/v1/users/7?x=1"),
        ("cents", "1999"),
        ("quantity", "3"),
        ("status", "503"),
        ("agent", " Mozilla/5.0 "),
        ("empty", ""),
        ("code", "DE-10115"),
        ("price", "19.99"),
        ("host", "a.example"),
    ];
    for (text, value) in [
        ("domain of referer", Some("news.example.com")),
        ("cents / 100", Some("19.99")),
        ("cents / 100 * quantity", Some("59.97")),
        ("cents - quantity * 2", Some("1993")),
        ("(cents - quantity) * 2", Some("3992")),
        ("cents - quantity - 2", Some("1994")),
        ("-quantity + 1", Some("-2")),
        ("- -quantity", Some("3")),
        ("cents / (quantity - 3)", None),
        ("hour of time", Some("0")),
        ("weekday of time", Some("Sunday")),
        ("day of time", Some("2026-11-29")),
        ("month of time", Some("2026-11")),
        ("year of time + 1", Some("2027")),
        ("minute of time", Some("30")),
        ("depth 2 of path", Some("/api/v1")),
        ("path of referer", Some("/a")),
        ("start 2 of code", Some("DE")),
        ("part 2 by \"-\" of code", Some("10115")),
        ("part 3 by \"-\" of code", None),
        ("lower of trimmed of agent", Some("mozilla/5.0")),
        ("length of code", Some("8")),
        ("number of part 2 by \"-\" of code + 1", Some("10116")),
        ("bin {0, 500, 1000} of status", Some("[500, 1000)")),
        ("bin {503} of status", Some("[503, inf)")),
        ("bin {-1.5, 600} of status", Some("[-1.5, 600)")),
        ("bin {504} of status", Some("(-inf, 504)")),
        ("floor of (cents / 100)", Some("19")),
        ("absolute of (quantity - 5)", Some("2")),
        ("text of (price / 10)", Some("1.999")),
        ("\"error\" if status >= 500 otherwise \"fine\"", Some("error")),
        (
            "\"error\" if (status >= 600 or status < 0) otherwise \"slow\" if quantity = 3 otherwise \"fine\"",
            Some("slow"),
        ),
        ("(1 if host = \"a.example\") + 1", Some("2")),
        ("(1 if host = \"b\") + 1", None),
        ("1 if price > 19.98", Some("1")),
        ("empty otherwise missing otherwise code", Some("DE-10115")),
        ("empty otherwise 7", Some("7")),
        ("number of agent otherwise 0", Some("0")),
        ("`status`", Some("503")),
        ("missing", None),
        ("missing + 1", None),
        ("agent + 1", None),
        ("time", Some("1795908600000000")),
        ("hour of (time if status = 503)", Some("0")),
        ("hour of (time if status = 500)", None),
    ] {
        assert_eq!(of(text, &record).as_deref(), value, "{text}");
    }
    assert_eq!(of("hour of time", &[]), None);
}

// Refutes an error without its place, and a text that is taken for something else.
#[test]
fn what_is_no_expression_is_refused_at_its_column() {
    for (text, kind, place) in [
        ("", InvalidKind::Missing, "an expression such as"),
        ("1 +", InvalidKind::Malformed, "a field, a value or a function at column 4 in place of the end"),
        ("1 2", InvalidKind::Malformed, "at column 3"),
        ("(1", InvalidKind::Malformed, "the end of a parenthesis at column 3"),
        ("1)", InvalidKind::Malformed, "at column 2"),
        ("a & b", InvalidKind::Malformed, "a word of an expression at column 3"),
        ("domein of referer", InvalidKind::Malformed, "did you mean domain?"),
        ("depth of path", InvalidKind::Malformed, "a count of 1 or more at column 7"),
        ("depth 0 of path", InvalidKind::Malformed, "from 1 to 1000 at column 7"),
        ("depth 1.5 of path", InvalidKind::Malformed, "column 7"),
        ("start 2 code", InvalidKind::Malformed, "\"of\" at column 9"),
        ("part 2 of code", InvalidKind::Malformed, "\"by\" at column 8"),
        ("part 2 by \"\" of code", InvalidKind::Malformed, "at column 11"),
        ("bin {} of a", InvalidKind::Malformed, "at column 6"),
        ("bin {1, 1} of a", InvalidKind::Mixed, "an edge above the one before it at column 9"),
        ("bin {1 2} of a", InvalidKind::Malformed, "a comma or the end of the edges at column 8"),
        ("1 + host", InvalidKind::Mixed, "a number, and no text, at column 5"),
        ("lower of price", InvalidKind::Mixed, "a text, and no number, at column 10"),
        ("hour of host", InvalidKind::Mixed, "a time, and no text, at column 9"),
        ("hour of code", InvalidKind::Mixed, "the field of the record's time at column 9"),
        ("time + 1", InvalidKind::Mixed, "a number, and no time, at column 1"),
        ("\"x\" otherwise 1", InvalidKind::Mixed, "a text, and no number, at column 15"),
        ("a if status >=", InvalidKind::Malformed, "column 15"),
        ("a if status ~ 5 otherwise b", InvalidKind::Malformed, "column 13"),
        ("a if price = \"x\"", InvalidKind::Mixed, "column 14"),
        ("1e99", InvalidKind::Malformed, "10^15"),
        ("0.0000000001", InvalidKind::Malformed, "nine digits"),
        ("1000000000000001", InvalidKind::Malformed, "10^15"),
        ("\"\"", InvalidKind::Empty, "column 1"),
        ("'x'", InvalidKind::Malformed, "double quotes"),
        ("otherwise", InvalidKind::Malformed, "column 1"),
        ("a otherwise", InvalidKind::Malformed, "column 12"),
    ] {
        let refused = Expression::parse(text, &Records).unwrap_err();
        assert_eq!(refused.kind(), kind, "{text}: {refused}");
        assert!(refused.remedy().contains(place), "{text}: {refused}");
    }
}

#[test]
fn an_expression_is_no_deeper_and_longer_than_stated() {
    let deep = |open: &str, close: &str, depth: usize| {
        Expression::parse(&format!("{}a{}", open.repeat(depth), close.repeat(depth)), &Records)
    };
    for (open, close) in [("(", ")"), ("-", ""), ("lower of ", "")] {
        assert!(deep(open, close, 31).is_ok(), "{open}");
        assert_eq!(deep(open, close, 33).unwrap_err().kind(), InvalidKind::TooLarge, "{open}");
        assert_eq!(deep(open, close, 100_000).unwrap_err().kind(), InvalidKind::TooLarge, "{open}");
    }
    assert!(Expression::parse(&vec!["a"; 128].join("+"), &Records).is_ok());
    assert_eq!(
        Expression::parse(&vec!["a"; 129].join("+"), &Records).unwrap_err().kind(),
        InvalidKind::TooLarge
    );
}

#[test]
fn a_normal_text_is_of_the_same_expression() {
    for (text, normal) in [
        ("cents/100+1", "cents / 100 + 1"),
        ("\"a\\\"\"  if `x`>=  5", "\"a\\\"\" if `x` >= 5"),
        ("part 2 by \"-\" of code", "part 2 by \"-\" of code"),
    ] {
        let expression = Expression::parse(text, &Records).unwrap();
        assert_eq!(expression.normal(), normal);
        assert_eq!(Expression::parse(normal, &Records).unwrap().normal(), normal);
    }
    let text = "domain of host + `a b` if c in {1} otherwise d";
    assert_eq!(Expression::mentioned(text), ["host", "a b", "c", "d"]);
}

// A generator, so that every run tries the same expressions.
struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}

/// A tree whose text is an expression.
enum Tree {
    Number(&'static str),
    Text(&'static str),
    Field(&'static str, ValueKind),
    Negate(Box<Tree>),
    Binary(char, Box<[Tree; 2]>),
    If(Box<Tree>, usize),
    Otherwise(Box<[Tree; 2]>),
    Call(&'static str, Box<Tree>),
}

/// Conditions, with what they are.
type Holds = fn(Cells<'_>) -> bool;
const CONDITIONS: [(&str, Holds); 4] = [
    ("a >= 3", |cells| number_in(cell_of(cells, "a")).is_some_and(|a| a >= IBig::from(3_000_000_000_u64))),
    ("not t = \"x\"", |cells| cell_of(cells, "t") != Some("x")),
    ("(a < 0 or host = \"b\")", |cells| {
        number_in(cell_of(cells, "a")).is_some_and(|a| a < IBig::ZERO) || cell_of(cells, "host") == Some("b")
    }),
    ("all", |_| true),
];
const NUMBERS: [&str; 8] = ["0", "1", "3", "0.1", "1000000000000000", "0.000000001", "7.25", "999999999.5"];
const TEXTS: [&str; 5] = ["\"x\"", "\"3\"", "\"/a/b\"", "\"http://B.example/c\"", "\"-\""];
const CELLS: [&str; 12] = [
    "",
    "0",
    "3",
    "-2.5",
    "1e15",
    "12345678.987654321",
    "0.0000000019",
    "x",
    "b",
    "/A/b?c",
    "http://b/",
    " 5 ",
];

fn grown(dice: &mut Dice, kind: ValueKind, depth: usize) -> Tree {
    let boxed = |dice: &mut Dice, kind| Box::new(grown(dice, kind, depth - 1));
    let two = |dice: &mut Dice, kind| Box::new([grown(dice, kind, depth - 1), grown(dice, kind, depth - 1)]);
    if depth == 0 || dice.below(5) == 0 {
        return match (kind, dice.below(2)) {
            (ValueKind::Number, 0) => Tree::Number(dice.one(&NUMBERS)),
            (ValueKind::Number, _) => Tree::Field(dice.one(&["a", "price"]), kind),
            (_, 0) => Tree::Text(dice.one(&TEXTS)),
            (..) => Tree::Field(dice.one(&["t", "host"]), kind),
        };
    }
    match (dice.below(8), kind) {
        (0, _) => Tree::If(boxed(dice, kind), dice.below(CONDITIONS.len())),
        (1, _) => Tree::Otherwise(two(dice, kind)),
        (2, ValueKind::Number) => Tree::Negate(boxed(dice, kind)),
        (3, ValueKind::Number) => Tree::Call(dice.one(&["floor", "absolute"]), boxed(dice, kind)),
        (4, ValueKind::Number) => Tree::Call(dice.one(&["length", "number"]), boxed(dice, ValueKind::Text)),
        (_, ValueKind::Number) => Tree::Binary(dice.one(&['+', '-', '*', '/']), two(dice, kind)),
        (2 | 3, _) => Tree::Call(dice.one(&["text", "bin {-1, 0, 2.5}"]), boxed(dice, ValueKind::Number)),
        _ => {
            let functions = ["lower", "domain", "path", "trimmed", "depth 1", "start 2", "part 2 by \"/\""];
            Tree::Call(dice.one(&functions), boxed(dice, ValueKind::Text))
        }
    }
}

impl Tree {
    /// The text, with parentheses only where they are needed, and the level of the grammar.
    fn text(&self) -> (String, u8) {
        let at = |tree: &Tree, least: u8| match tree.text() {
            (text, level) if level >= least => text,
            (text, _) => format!("({text})"),
        };
        match self {
            Tree::Number(text) | Tree::Text(text) | Tree::Field(text, _) => ((*text).to_owned(), 4),
            Tree::Negate(of) => (format!("-{}", at(of, 4)), 4),
            Tree::Call(name, of) => (format!("{name} of {}", at(of, 4)), 4),
            Tree::Binary(sign, of) => {
                let level = if "+-".contains(*sign) { 2 } else { 3 };
                (format!("{} {sign} {}", at(&of[0], level), at(&of[1], level + 1)), level)
            }
            Tree::If(of, condition) => (format!("{} if {}", at(of, 2), CONDITIONS[*condition].0), 1),
            Tree::Otherwise(of) => (format!("{} otherwise {}", at(&of[0], 0), at(&of[1], 1)), 0),
        }
    }

    fn value(&self, cells: Cells<'_>) -> Option<Slow> {
        let number = |tree: &Tree| match tree.value(cells)? {
            Slow::Number(number) => Some(number),
            Slow::Text(_) => None,
        };
        let bounded = |number: IBig| {
            let most = IBig::from(10).pow(24);
            (number <= most && number >= -most).then_some(Slow::Number(number))
        };
        let one = IBig::from(1_000_000_000_u64);
        match self {
            Tree::Number(text) => number_in(Some(text)).map(Slow::Number),
            Tree::Text(text) => Some(Slow::Text(text.trim_matches('"').to_owned())),
            Tree::Field(name, ValueKind::Number) => number_in(cell_of(cells, name)).map(Slow::Number),
            Tree::Field(name, _) => {
                cell_of(cells, name).filter(|cell| !cell.is_empty()).map(|cell| Slow::Text(cell.to_owned()))
            }
            Tree::Negate(of) => number(of).map(|number| Slow::Number(-number)),
            Tree::Binary(sign, of) => {
                let (left, right) = (number(&of[0])?, number(&of[1])?);
                match sign {
                    '+' => bounded(left + right),
                    '-' => bounded(left - right),
                    '*' => bounded(floored(left * right, one)),
                    _ if right == IBig::ZERO => None,
                    _ => bounded(floored(left * one, right)),
                }
            }
            Tree::If(of, condition) => of.value(cells).filter(|_| CONDITIONS[*condition].1(cells)),
            Tree::Otherwise(of) => of[0].value(cells).or_else(|| of[1].value(cells)),
            Tree::Call(name, of) => match (*name, of.value(cells)?) {
                ("floor", Slow::Number(number)) => Some(Slow::Number(floored(number, one.clone()) * one)),
                ("absolute", Slow::Number(number)) => {
                    Some(Slow::Number(if number < IBig::ZERO { -number } else { number }))
                }
                ("text", number @ Slow::Number(_)) => Some(Slow::Text(number.shown())),
                ("number", Slow::Text(text)) => number_in(Some(&text)).map(Slow::Number),
                ("length", Slow::Text(text)) => Some(Slow::Number(IBig::from(text.chars().count()) * one)),
                (_, Slow::Number(number)) => {
                    let name = if number < -one.clone() {
                        "(-inf, -1)"
                    } else if number < IBig::ZERO {
                        "[-1, 0)"
                    } else if number < IBig::from(2_500_000_000_u64) {
                        "[0, 2.5)"
                    } else {
                        "[2.5, inf)"
                    };
                    Some(Slow::Text(name.to_owned()))
                }
                (name, Slow::Text(text)) => {
                    let part = match name {
                        "lower" => Some(text.to_lowercase()),
                        "trimmed" => Some(text.trim().to_owned()),
                        "domain" => texts::domain(&text).map(Cow::into_owned),
                        "path" => texts::path(&text).map(Cow::into_owned),
                        "depth 1" => texts::prefix(&text, 1).map(Cow::into_owned),
                        "start 2" => Some(text.chars().take(2).collect()),
                        _ => text.split('/').nth(1).map(str::to_owned),
                    };
                    part.filter(|part| !part.is_empty()).map(Slow::Text)
                }
            },
        }
    }
}

enum Slow {
    /// A number of steps of 10^-9.
    Number(IBig),
    Text(String),
}

impl Slow {
    fn shown(&self) -> String {
        let number = match self {
            Slow::Text(text) => return text.clone(),
            Slow::Number(number) => number,
        };
        let (sign, size) = if *number < IBig::ZERO { ("-", -number) } else { ("", number.clone()) };
        let digits = format!("{size:0>10}");
        let (whole, rest) = digits.split_at(digits.len() - 9);
        match rest.trim_end_matches('0') {
            "" => format!("{sign}{whole}"),
            rest => format!("{sign}{whole}.{rest}"),
        }
    }
}

fn floored(number: IBig, by: IBig) -> IBig {
    let (number, by) = if by < IBig::ZERO { (-number, -by) } else { (number, by) };
    let (quotient, _) = number.div_rem_euclid(by);
    quotient
}

/// The steps of a number in its own notation.
fn number_in(text: Option<&str>) -> Option<IBig> {
    let text = text?.trim();
    let (mantissa, power) = match text.split_once('e') {
        Some((mantissa, power)) => (mantissa, power.parse::<usize>().ok()?),
        None => (text, 0),
    };
    let (sign, size) = match mantissa.strip_prefix('-') {
        Some(size) => (-1, size),
        None => (1, mantissa),
    };
    let (whole, behind) = size.split_once('.').unwrap_or((size, ""));
    if !format!("{whole}{behind}").bytes().all(|byte| byte.is_ascii_digit()) || size.is_empty() {
        return None;
    }
    let digits: IBig = format!("{whole}{behind}").parse().ok()?;
    let steps = floored(digits * sign * IBig::from(10).pow(power + 9), IBig::from(10).pow(behind.len()));
    (steps <= IBig::from(10).pow(24) && steps >= -IBig::from(10).pow(24)).then_some(steps)
}

#[test]
fn random_expressions_are_what_a_slow_interpreter_says() {
    let rounds = if std::env::var_os("DISCREET_FULL").is_some() { 1_000_000 } else { 20_000 };
    let zone = ZoneRules::of(&Zone::utc()).unwrap();
    let mut dice = Dice(1);
    let (mut missing, mut longest) = (0, 0);
    for _ in 0..rounds {
        let kind = dice.one(&[ValueKind::Number, ValueKind::Text]);
        let depth = dice.below(6);
        let tree = grown(&mut dice, kind, depth);
        let (text, _) = tree.text();
        let parsed = |text: &str| {
            Expression::parse(text, &Records).unwrap_or_else(|refused| panic!("{text}: {refused}"))
        };
        let expression = match parsed(&text) {
            // A field by itself is a text.
            expression if expression.kind() != kind => parsed(&format!("({text}) + 0")),
            expression => expression,
        };
        assert_eq!(expression.kind(), kind, "{text}");
        longest = longest.max(expression.steps.len());
        for _ in 0..2 {
            let mut cells: Vec<(&str, &str)> = Vec::new();
            for name in ["a", "price", "t", "host"] {
                if dice.below(6) > 0 {
                    cells.push((name, dice.one(&CELLS)));
                }
            }
            let expected = tree.value(&cells).map(|value| value.shown());
            let found = evaluated(&expression, &cells, None, &zone);
            missing += usize::from(found.is_none());
            assert_eq!(found, expected, "{text} of {cells:?}");
        }
    }
    assert!(missing > rounds / 4 && missing < rounds * 7 / 4, "{missing}");
    assert!(longest > 30, "{longest}");
}

// Refutes a panic, and an error whose column is beyond the text.
#[test]
fn any_text_is_an_expression_or_is_refused_within_it() {
    let rounds = if std::env::var_os("DISCREET_FULL").is_some() { 1_000_000 } else { 20_000 };
    let words = [
        "of",
        "by",
        "if",
        "otherwise",
        "all",
        "and",
        "not",
        "in",
        "starts",
        "with",
        "(",
        ")",
        "{",
        "}",
        ",",
        "+",
        "-",
        "*",
        "/",
        "=",
        "<",
        "..",
        "1",
        "2.5",
        "\"x\"",
        "\"",
        "`",
        "`a b`",
        "ä",
        "time",
        "a",
        "host",
        "price",
        " ",
        "&",
        "\u{0}",
    ];
    let words: Vec<&str> = words.into_iter().chain(FUNCTIONS).collect();
    let mut dice = Dice(2);
    let mut sound = 0;
    for _ in 0..rounds {
        let length = dice.below(8) + 1;
        let between = dice.one(&["", " "]);
        let text = (0..length).map(|_| dice.one(&words)).collect::<Vec<_>>().join(between);
        match Expression::parse(&text, &Records) {
            Ok(expression) => {
                sound += 1;
                let normal = expression.normal();
                assert_eq!(Expression::parse(normal, &Records).unwrap().normal(), normal, "{text}");
            }
            Err(refused) => {
                let column = refused.remedy().split("at column ").nth(1).map(|rest| {
                    rest.chars()
                        .take_while(char::is_ascii_digit)
                        .collect::<String>()
                        .parse::<usize>()
                        .unwrap()
                });
                assert!(
                    column.is_none_or(|column| (1..=text.chars().count() + 1).contains(&column)),
                    "{text}: {refused}"
                );
            }
        }
    }
    assert!(sound > rounds / 100, "{sound}");
}
