//! The parser of expressions, from the text to steps in postfix order.
//!
//! It goes down with parentheses, signs and functions alone, of which at most [`DEEPEST`] are within each other.

use super::calendar::PARTS;
use super::number::ExactNumber;
use super::{Expression, Function, KnownFields, Step, ValueKind};
use crate::invalid::{Invalid, InvalidKind};
use crate::job::condition::Condition;
use crate::mechanisms::queries::{Token, Tokens};
use crate::words::meant;

/// The largest number of bytes of an expression.
const LONGEST: usize = 4_096;
/// The largest number of steps.
const STEPS: usize = 256;
/// The largest number of parentheses, signs and functions within each other.
const DEEPEST: usize = 32;
/// The largest number of edges of a bin.
const EDGES: usize = 1_000;
/// The largest count of segments, characters or parts.
const COUNT: u32 = 1_000;

/// The words that are no names of fields.
const RESERVED: [&str; 9] = ["of", "by", "if", "otherwise", "all", "and", "in", "not", "or"];

pub(super) fn read(text: &str, known: &dyn KnownFields) -> Result<Expression, Invalid> {
    if text.len() > LONGEST {
        let remedy = format!("a text of at most {LONGEST} bytes");
        return Err(Invalid::new("expression", InvalidKind::TooLarge, remedy));
    }
    let tokens = Tokens::of_expression(text)?;
    if *tokens.next() == Token::End {
        let remedy = "an expression such as \"domain of referer\"";
        return Err(Invalid::new("expression", InvalidKind::Missing, remedy));
    }
    let mut reader =
        ExpressionReader { text, tokens, known, steps: Vec::new(), fields: Vec::new(), depth: 0 };
    let whole = reader.expression()?;
    match reader.tokens.next() {
        Token::End => {}
        Token::Sign(")") => {
            return Err(reader.refuse("no parenthesis that ends and did not begin"));
        }
        _ => return Err(reader.refuse("an operator, \"if\", \"otherwise\" or the end")),
    }
    let kind = whole.kind.unwrap_or(ValueKind::Text);
    reader.read_as(&whole, kind)?;
    let ExpressionReader { steps, fields, .. } = reader;
    Ok(Expression { stated: text.to_owned(), normal: normal(text)?, steps, fields, kind })
}

/// Returns every name that the text mentions.
pub(super) fn mentioned(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let Ok(mut tokens) = Tokens::of_expression(text) else { return names };
    loop {
        match tokens.take() {
            Ok(Token::End) | Err(_) => return names,
            // The name of a function stands before its parameter or `of`.
            Ok(Token::Word(_))
                if matches!(tokens.next(), Token::Word("of") | Token::Number(_) | Token::Sign("{")) => {}
            Ok(Token::Word(name)) if RESERVED.contains(&name) => {}
            Ok(Token::Word(name) | Token::Name(name)) => names.push(name.to_owned()),
            Ok(_) => {}
        }
    }
}

fn normal(text: &str) -> Result<String, Invalid> {
    let mut tokens = Tokens::of_expression(text)?;
    let mut normal = Vec::new();
    loop {
        normal.push(match tokens.take()? {
            Token::End => return Ok(normal.join(" ")),
            Token::Word(word) => word.to_owned(),
            Token::Name(name) => format!("`{name}`"),
            Token::Number(number) => number.to_owned(),
            Token::Text(text) => serde_json::to_string(&text).unwrap_or_default(),
            Token::Sign(sign) => sign.to_owned(),
        });
    }
}

/// A part of an expression that was read.
struct Part {
    /// The byte offset at which it begins.
    at: usize,
    /// Its type; `None` if it is that of its fields, which are read as they are needed.
    kind: Option<ValueKind>,
    /// The steps of these fields.
    fields: Vec<usize>,
}

struct ExpressionReader<'a> {
    text: &'a str,
    tokens: Tokens<'a>,
    known: &'a dyn KnownFields,
    steps: Vec<Step>,
    fields: Vec<String>,
    depth: usize,
}

impl ExpressionReader<'_> {
    fn refuse(&self, due: &str) -> Invalid {
        self.tokens.refuse(InvalidKind::Malformed, due)
    }

    fn takes_word(&mut self, word: &str) -> Result<bool, Invalid> {
        let is = matches!(self.tokens.next(), Token::Word(next) if *next == word);
        if is {
            self.tokens.take()?;
        }
        Ok(is)
    }

    fn step(&mut self, step: Step) -> Result<usize, Invalid> {
        if self.steps.len() == STEPS {
            let due = format!("at most {STEPS} fields, values and operators, of which one more is");
            return Err(self.tokens.refuse_at(self.tokens.at(), InvalidKind::TooLarge, &due, ""));
        }
        self.steps.push(step);
        Ok(self.steps.len() - 1)
    }

    /// Has a part read as a type.
    fn read_as(&mut self, part: &Part, kind: ValueKind) -> Result<(), Invalid> {
        let refuse = |found: ValueKind| {
            let due = format!("{}, and no {},", kind.name(), found.name().trim_start_matches("a "));
            Err(self.tokens.refuse_at(part.at, InvalidKind::Mixed, &due, ""))
        };
        if let Some(found) = part.kind {
            return if found == kind { Ok(()) } else { refuse(found) };
        }
        for place in &part.fields {
            let Some(Step::Field(field, read)) = self.steps.get_mut(*place) else { continue };
            let is_time = self.fields.get(*field).is_some_and(|name| self.known.is_time(name));
            if is_time && kind == ValueKind::Number {
                return refuse(ValueKind::Time);
            }
            if !is_time && kind == ValueKind::Time {
                let due = "the field of the record's time";
                return Err(self.tokens.refuse_at(part.at, InvalidKind::Mixed, due, ""));
            }
            *read = kind;
        }
        Ok(())
    }

    fn expression(&mut self) -> Result<Part, Invalid> {
        let mut one = self.alternative()?;
        while self.takes_word("otherwise")? {
            let other = self.alternative()?;
            match (one.kind, other.kind) {
                (Some(kind), _) => self.read_as(&other, kind)?,
                (None, Some(kind)) => self.read_as(&one, kind)?,
                (None, None) => {}
            }
            one.kind = one.kind.or(other.kind);
            one.fields.extend(other.fields);
            self.step(Step::Otherwise)?;
        }
        Ok(one)
    }

    fn alternative(&mut self) -> Result<Part, Invalid> {
        let part = self.sum()?;
        if !matches!(self.tokens.next(), Token::Word("if")) {
            return Ok(part);
        }
        self.tokens.take()?;
        let begin = self.tokens.at();
        let mut open = 0_usize;
        loop {
            match self.tokens.next() {
                Token::Sign("(") => open += 1,
                Token::Sign(")") if open > 0 => open -= 1,
                Token::Sign(")") | Token::End => break,
                Token::Word("otherwise") if open == 0 => break,
                _ => {}
            }
            self.tokens.take()?;
        }
        let end = self.tokens.at();
        let condition = Condition::parse_part(self.text.get(..end).unwrap_or_default(), begin, self.known)?;
        let places = condition.fields().map(|name| place(&mut self.fields, name)).collect();
        self.step(Step::If(Box::new(condition), places))?;
        Ok(part)
    }

    fn sum(&mut self) -> Result<Part, Invalid> {
        let signs = [("+", Step::Add), ("-", Step::Subtract)];
        self.numbers(&signs, ExpressionReader::product)
    }

    fn product(&mut self) -> Result<Part, Invalid> {
        let signs = [("*", Step::Multiply), ("/", Step::Divide)];
        self.numbers(&signs, ExpressionReader::factor)
    }

    /// Reads parts with operators of numbers between them.
    fn numbers(
        &mut self,
        signs: &[(&str, Step)],
        operand: fn(&mut Self) -> Result<Part, Invalid>,
    ) -> Result<Part, Invalid> {
        let mut one = operand(self)?;
        while let Token::Sign(sign) = *self.tokens.next()
            && let Some((_, step)) = signs.iter().find(|(known, _)| *known == sign)
        {
            self.read_as(&one, ValueKind::Number)?;
            self.tokens.take()?;
            let other = operand(self)?;
            self.read_as(&other, ValueKind::Number)?;
            self.step(step.clone())?;
            one = Part { at: one.at, kind: Some(ValueKind::Number), fields: Vec::new() };
        }
        Ok(one)
    }

    fn factor(&mut self) -> Result<Part, Invalid> {
        let at = self.tokens.at();
        if self.depth == DEEPEST {
            let due = format!(
                "at most {DEEPEST} parentheses, signs and functions within each other, of which one more is"
            );
            return Err(self.tokens.refuse_at(at, InvalidKind::TooLarge, &due, ""));
        }
        let part = |kind| Part { at, kind: Some(kind), fields: Vec::new() };
        match self.tokens.next().clone() {
            Token::Sign("(") => {
                self.tokens.take()?;
                let inner = self.within(ExpressionReader::expression)?;
                if !self.tokens.takes(")")? {
                    return Err(self.refuse("the end of a parenthesis"));
                }
                Ok(Part { at, ..inner })
            }
            Token::Sign("-") => {
                self.tokens.take()?;
                let inner = self.within(ExpressionReader::factor)?;
                self.read_as(&inner, ValueKind::Number)?;
                self.step(Step::Negate)?;
                Ok(part(ValueKind::Number))
            }
            Token::Number(_) => {
                let number = self.number()?;
                self.step(Step::Number(number))?;
                Ok(part(ValueKind::Number))
            }
            Token::Text(text) if text.is_empty() => {
                Err(self.tokens.refuse_at(at, InvalidKind::Empty, "a text of at least one character", ""))
            }
            Token::Text(text) => {
                self.tokens.take()?;
                self.step(Step::Text(text))?;
                Ok(part(ValueKind::Text))
            }
            Token::Name(name) => {
                self.tokens.take()?;
                self.field(at, name)
            }
            Token::Word(name) if RESERVED.contains(&name) => {
                Err(self.refuse("a field, a value or a function"))
            }
            Token::Word(name) => {
                self.tokens.take()?;
                match self.tokens.next() {
                    Token::Word("of") | Token::Number(_) | Token::Sign("{") => self.call(at, name),
                    _ => self.field(at, name),
                }
            }
            _ => Err(self.refuse("a field, a value or a function")),
        }
    }

    /// Reads what is one level deeper.
    fn within(&mut self, inner: fn(&mut Self) -> Result<Part, Invalid>) -> Result<Part, Invalid> {
        self.depth += 1;
        let part = inner(self);
        self.depth -= 1;
        part
    }

    fn field(&mut self, at: usize, name: &str) -> Result<Part, Invalid> {
        let kind = self.known.kind(name);
        let place = place(&mut self.fields, name);
        let step = self.step(Step::Field(place, kind.unwrap_or(ValueKind::Text)))?;
        let fields = if kind.is_some() { Vec::new() } else { vec![step] };
        Ok(Part { at, kind, fields })
    }

    fn call(&mut self, at: usize, name: &str) -> Result<Part, Invalid> {
        let function = self.function(at, name)?;
        if !self.takes_word("of")? {
            // A word of its letters alone is a slip of it.
            return Err(match self.tokens.next() {
                Token::Word(word) if word.chars().all(|letter| "of".contains(letter)) => {
                    let found = format!(" in place of {word:?} (did you mean of?)");
                    self.tokens.refuse_at(self.tokens.at(), InvalidKind::Malformed, "\"of\"", &found)
                }
                _ => self.refuse("\"of\""),
            });
        }
        let argument = self.within(ExpressionReader::factor)?;
        self.read_as(&argument, function.reads())?;
        let kind = function.gives();
        self.step(Step::Call(function))?;
        Ok(Part { at, kind: Some(kind), fields: Vec::new() })
    }

    /// Reads what stands between the name of a function and `of`.
    fn function(&mut self, at: usize, name: &str) -> Result<Function, Invalid> {
        if let Some((_, part)) = PARTS.iter().find(|(word, _)| *word == name) {
            return Ok(Function::Calendar(*part));
        }
        if let Some((_, function)) = PLAIN.iter().find(|(word, _)| *word == name) {
            return Ok(function.clone());
        }
        match name {
            "depth" => self.count().map(Function::Depth),
            "start" => self.count().map(Function::Start),
            "part" => {
                let number = self.count()?;
                if !self.takes_word("by")? {
                    return Err(self.refuse("\"by\""));
                }
                match self.tokens.next().clone() {
                    Token::Text(separator) if !separator.is_empty() => {
                        self.tokens.take()?;
                        Ok(Function::Part(number, separator))
                    }
                    _ => Err(self.refuse("the text between two parts, of at least one character,")),
                }
            }
            "bin" => self.edges().map(Function::Bin),
            _ => {
                let words = FUNCTIONS;
                let near =
                    meant(name, &words).map(|near| format!(" (did you mean {near}?)")).unwrap_or_default();
                let due = format!("a function ({})", words.join(", "));
                let found = format!(" in place of {name:?}{near}");
                Err(self.tokens.refuse_at(at, InvalidKind::Malformed, &due, &found))
            }
        }
    }

    fn number(&mut self) -> Result<ExactNumber, Invalid> {
        let due = "a number of at most 10^15 and nine digits behind the point";
        let Token::Number(text) = *self.tokens.next() else { return Err(self.refuse(due)) };
        // A number whose further digits were cut off would be another one than the text states.
        let digits = text.split_once('.').map_or("", |(_, behind)| behind);
        let is_exact = digits.trim_end_matches('0').len() <= 9
            && text.bytes().all(|byte| b"0123456789.".contains(&byte));
        match ExactNumber::read(text.as_bytes()).filter(|_| is_exact) {
            Some(number) => {
                self.tokens.take()?;
                Ok(number)
            }
            None => Err(self.refuse(due)),
        }
    }

    fn count(&mut self) -> Result<u32, Invalid> {
        let Token::Number(text) = *self.tokens.next() else {
            return Err(self.refuse("a count of 1 or more"));
        };
        match text.parse() {
            Ok(count @ 1..=COUNT) => {
                self.tokens.take()?;
                Ok(count)
            }
            _ => Err(self.refuse(&format!("a whole number from 1 to {COUNT}"))),
        }
    }

    fn edges(&mut self) -> Result<Vec<ExactNumber>, Invalid> {
        if !self.tokens.takes("{")? {
            return Err(self.refuse("edges in braces"));
        }
        let mut edges: Vec<ExactNumber> = Vec::new();
        loop {
            let at = self.tokens.at();
            let is_negative = self.tokens.takes("-")?;
            let number = self.number()?;
            let edge = if is_negative { number.negative() } else { number };
            if edges.last().is_some_and(|before| *before >= edge) {
                return Err(self.tokens.refuse_at(
                    at,
                    InvalidKind::Mixed,
                    "an edge above the one before it",
                    "",
                ));
            }
            if edges.len() == EDGES {
                let due = format!("at most {EDGES} edges, of which one more is");
                return Err(self.tokens.refuse_at(at, InvalidKind::TooLarge, &due, ""));
            }
            edges.push(edge);
            if self.tokens.takes("}")? {
                return Ok(edges);
            }
            if !self.tokens.takes(",")? {
                return Err(self.refuse("a comma or the end of the edges"));
            }
        }
    }
}

/// The functions without a parameter.
const PLAIN: [(&str, Function); 9] = [
    ("lower", Function::Lower),
    ("trimmed", Function::Trimmed),
    ("domain", Function::Domain),
    ("path", Function::Path),
    ("length", Function::Length),
    ("number", Function::Number),
    ("floor", Function::Floor),
    ("absolute", Function::Absolute),
    ("text", Function::Text),
];

/// The words of all functions.
pub(super) const FUNCTIONS: [&str; 19] = [
    "lower", "trimmed", "domain", "path", "depth", "start", "part", "length", "number", "floor", "absolute",
    "text", "bin", "year", "month", "day", "weekday", "hour", "minute",
];

/// Returns the place of a field, which is new if it was not named before.
fn place(fields: &mut Vec<String>, name: &str) -> usize {
    fields.iter().position(|field| field == name).unwrap_or_else(|| {
        fields.push(name.to_owned());
        fields.len() - 1
    })
}
