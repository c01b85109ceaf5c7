//! Parses a condition: `or` of `and` of `not` of comparisons, with parentheses.

use std::iter::Peekable;
use std::vec::IntoIter;

use super::{Node, Operand};
use crate::fact::{FactKind, Value, describe};
use crate::version::Relation;
use hugewise_base::units::parse_size;

type Parsed<T> = Result<T, String>;

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Word(String),
    Text(String),
    Number(f64),
    Relation(Relation),
    Sign(char),
}

/// Parses a condition and checks the names and kinds of its facts.
pub(super) fn parse(text: &str) -> Parsed<Node> {
    let mut reader = Reader {
        tokens: tokens(text)?.into_iter().peekable(),
    };
    let node = reader.either()?;
    match reader.tokens.next() {
        None => Ok(node),
        Some(token) => Err(unexpected(&token)),
    }
}

fn unexpected(token: &Token) -> String {
    match token {
        Token::Word(word) => format!("unexpected `{word}`"),
        Token::Text(text) => format!("unexpected \"{text}\""),
        Token::Number(number) => format!("unexpected `{number}`"),
        Token::Relation(_) => "unexpected comparison".to_owned(),
        Token::Sign(sign) => format!("unexpected `{sign}`"),
    }
}

fn tokens(text: &str) -> Parsed<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let (token, behind) = token(first, rest)?;
        tokens.push(token);
        rest = behind.trim_start();
    }
    Ok(tokens)
}

fn token(first: char, rest: &str) -> Parsed<(Token, &str)> {
    if let Some((relation, behind)) = Relation::split(rest) {
        return Ok((Token::Relation(relation), behind));
    }
    match first {
        '(' | ')' | '[' | ']' | ',' | '*' => Ok((Token::Sign(first), &rest[1..])),
        '"' => {
            let (text, behind) = rest[1..].split_once('"').ok_or("a quote is not closed")?;
            Ok((Token::Text(text.to_owned()), behind))
        }
        '0'..='9' => {
            let (word, behind) = taken(rest, |c| c.is_ascii_alphanumeric() || c == '.');
            Ok((Token::Number(number(word)?), behind))
        }
        c if c.is_ascii_alphabetic() => {
            let (word, behind) = taken(rest, |c| {
                c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/')
            });
            Ok((Token::Word(word.to_owned()), behind))
        }
        other => Err(format!("unexpected `{other}`")),
    }
}

fn taken(text: &str, fits: impl Fn(char) -> bool) -> (&str, &str) {
    let end = text.find(|c| !fits(c)).unwrap_or(text.len());
    text.split_at(end)
}

/// A number, or a size with its unit.
fn number(word: &str) -> Parsed<f64> {
    let (digits, unit) = taken(word, |c| c.is_ascii_digit() || c == '.');
    let number: f64 = digits
        .parse()
        .map_err(|_| format!("`{word}` is no number"))?;
    let unit = match unit {
        "" => 1,
        unit => parse_size(&format!("1{unit}")).map_err(|_| format!("`{unit}` is no unit"))?,
    };
    Ok(number * unit as f64)
}

struct Reader {
    tokens: Peekable<IntoIter<Token>>,
}

impl Reader {
    fn next(&mut self) -> Parsed<Token> {
        self.tokens.next().ok_or_else(|| "ends early".to_owned())
    }

    fn takes(&mut self, wanted: &Token) -> bool {
        self.tokens.next_if_eq(wanted).is_some()
    }

    fn takes_word(&mut self, word: &str) -> bool {
        self.takes(&Token::Word(word.to_owned()))
    }

    fn demand(&mut self, sign: char) -> Parsed<()> {
        match self.next()? {
            Token::Sign(own) if own == sign => Ok(()),
            other => Err(unexpected(&other)),
        }
    }

    fn either(&mut self) -> Parsed<Node> {
        let mut node = self.both()?;
        while self.takes_word("or") {
            node = Node::Or(Box::new(node), Box::new(self.both()?));
        }
        Ok(node)
    }

    fn both(&mut self) -> Parsed<Node> {
        let mut node = self.single()?;
        while self.takes_word("and") {
            node = Node::And(Box::new(node), Box::new(self.single()?));
        }
        Ok(node)
    }

    fn single(&mut self) -> Parsed<Node> {
        if self.takes_word("not") {
            return Ok(Node::Not(Box::new(self.single()?)));
        }
        match self.next()? {
            Token::Sign('(') => {
                let node = self.either()?;
                self.demand(')')?;
                Ok(node)
            }
            Token::Word(name) => self.comparison(name),
            other => Err(unexpected(&other)),
        }
    }

    fn comparison(&mut self, name: String) -> Parsed<Node> {
        let (kind, _) = describe(&name).ok_or_else(|| format!("there is no fact `{name}`"))?;
        if self.takes_word("in") {
            return Ok(Node::OneOf(name.clone(), self.list(&name, kind)?));
        }
        if self.takes_word("contains") {
            return match self.next()? {
                Token::Text(part) if kind == FactKind::Text => Ok(Node::Contains(name, part)),
                _ => Err(format!("`{name}` contains needs text")),
            };
        }
        let relation = |token: &Token| matches!(token, Token::Relation(_));
        match self.tokens.next_if(relation) {
            Some(Token::Relation(relation)) => {
                let operand = self.operand(&name, kind)?;
                Ok(Node::Compare(name, relation, operand))
            }
            _ if kind == FactKind::Boolean => Ok(Node::Fact(name)),
            _ => Err(format!("`{name}` is neither true nor false")),
        }
    }

    fn list(&mut self, name: &str, kind: FactKind) -> Parsed<Vec<Value>> {
        self.demand('[')?;
        let mut values = vec![value(self.next()?, name, kind)?];
        while self.takes(&Token::Sign(',')) {
            values.push(value(self.next()?, name, kind)?);
        }
        self.demand(']')?;
        Ok(values)
    }

    fn operand(&mut self, name: &str, kind: FactKind) -> Parsed<Operand> {
        let token = self.next()?;
        match token {
            Token::Number(times) if self.takes(&Token::Sign('*')) => match self.next()? {
                Token::Word(other) => fact(name, kind, times, other),
                other => Err(unexpected(&other)),
            },
            Token::Word(other) if other != "true" && other != "false" => {
                fact(name, kind, 1.0, other)
            }
            token => Ok(Operand::Value(value(token, name, kind)?)),
        }
    }
}

fn fact(name: &str, kind: FactKind, times: f64, other: String) -> Parsed<Operand> {
    match describe(&other) {
        None => Err(format!("there is no fact `{other}`")),
        Some((others, _)) if others == kind => Ok(Operand::Fact(times, other)),
        Some(_) => Err(format!("`{name}` cannot be compared with `{other}`")),
    }
}

fn value(token: Token, name: &str, kind: FactKind) -> Parsed<Value> {
    match (kind, token) {
        (FactKind::Text | FactKind::Version, Token::Text(text)) => Ok(Value::Text(text)),
        (FactKind::Number, Token::Number(number)) => Ok(Value::Number(number)),
        (FactKind::Boolean, Token::Word(word)) => Ok(Value::Boolean(word == "true")),
        (FactKind::Text, _) => Err(format!("`{name}` is text")),
        (FactKind::Version, _) => Err(format!("`{name}` is a version, in quotes")),
        (FactKind::Number, _) => Err(format!("`{name}` is a number")),
        (FactKind::Boolean, _) => Err(format!("`{name}` is true or false")),
    }
}
