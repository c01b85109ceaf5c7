//! Splits a text into sentences, without code.

use std::sync::LazyLock;

use regex::Regex;

/// The kind of text of a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A Rust comment.
    Comment,
    /// A Rust string literal of at least five words.
    Literal,
    /// Markdown, without code blocks.
    Markdown,
}

/// A sentence, with inline code and placeholders replaced by `X`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sentence {
    /// The line on which its block starts, from 1.
    pub line: usize,
    pub kind: Kind,
    pub text: String,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Comment, Self::Literal, Self::Markdown];

    /// Returns its name in the output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Comment => "comment",
            Self::Literal => "string",
            Self::Markdown => "text",
        }
    }
}

/// Shorter parts, such as headings of a list, are not sentences.
const FEWEST_WORDS: usize = 4;
/// Literals with fewer spaces are names or formats.
const FEWEST_SPACES: usize = 4;

static CODE: LazyLock<Regex> = LazyLock::new(|| expression("`[^`]*`"));
static PLACEHOLDER: LazyLock<Regex> = LazyLock::new(|| expression(r"\{[^}]*\}"));
static LITERAL: LazyLock<Regex> = LazyLock::new(|| expression(r#""((?:[^"\\]|\\.)*)""#));
static ITEM: LazyLock<Regex> = LazyLock::new(|| expression(r"^([*+-]|\d+\.) "));

fn expression(text: &str) -> Regex {
    Regex::new(text).expect("a valid expression")
}

/// Returns the sentences of a Markdown text. Each cell of a table is a text with sentences.
pub fn of_markdown(text: &str) -> Vec<Sentence> {
    let mut blocks = Blocks::new(Kind::Markdown);
    let mut is_code = false;
    for (number, line) in (1..).zip(text.split('\n')) {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        if is_code {
            continue;
        }
        let line = if is_fence { "" } else { line };
        let line = CODE.replace_all(line, "X");
        let line = line.trim();
        if line.starts_with('|') {
            let cells = line.trim_matches('|').split('|');
            cells.for_each(|cell| blocks.add(number, &cell.trim().replace(';', ".")));
        }
        if line.starts_with(['|', '#', '>']) || line.chars().all(|c| "-=|: ".contains(c)) {
            blocks.end();
            continue;
        }
        let item = ITEM.find(line).map_or(0, |mark| mark.end());
        if item > 0 {
            blocks.end();
        }
        blocks.push(number, &line[item..]);
    }
    blocks.end();
    blocks.sentences
}

/// Returns the sentences of the comments and the string literals of a Rust source.
pub fn of_rust(text: &str) -> Vec<Sentence> {
    let mut blocks = Blocks::new(Kind::Comment);
    for (number, line) in (1..).zip(text.split('\n')) {
        if let Some(comment) = comment(line) {
            blocks.push(number, &CODE.replace_all(comment, "X"));
            continue;
        }
        blocks.end();
        for literal in LITERAL
            .captures_iter(line)
            .map(|all| all.extract::<1>().1[0])
        {
            if literal.matches(' ').count() >= FEWEST_SPACES {
                let text = PLACEHOLDER.replace_all(literal, "X");
                let sentence = |text| Sentence {
                    line: number,
                    kind: Kind::Literal,
                    text,
                };
                blocks.sentences.extend(split(&text).map(sentence));
            }
        }
    }
    blocks.end();
    blocks.sentences
}

/// Returns the text of a line with only a comment.
fn comment(line: &str) -> Option<&str> {
    let text = line.trim_start().strip_prefix("//")?;
    let text = text.strip_prefix(['/', '!']).unwrap_or(text);
    Some(text.strip_prefix(char::is_whitespace).unwrap_or(text))
}

/// Collects lines of one block, and splits it at its end.
struct Blocks {
    kind: Kind,
    start: usize,
    lines: Vec<String>,
    sentences: Vec<Sentence>,
}

impl Blocks {
    fn new(kind: Kind) -> Self {
        Self {
            kind,
            start: 0,
            lines: Vec::new(),
            sentences: Vec::new(),
        }
    }

    fn push(&mut self, number: usize, line: &str) {
        if self.lines.is_empty() {
            self.start = number;
        }
        self.lines.push(line.to_owned());
    }

    fn end(&mut self) {
        let text = std::mem::take(&mut self.lines).join(" ");
        self.add(self.start, &text);
    }

    fn add(&mut self, line: usize, text: &str) {
        let kind = self.kind;
        let sentence = |text| Sentence { line, kind, text };
        self.sentences.extend(split(text).map(sentence));
    }
}

/// Splits after `.`, `!` or `?` and spaces, if a capital, code or a mark of emphasis follows.
fn split(text: &str) -> impl Iterator<Item = String> {
    let mut parts = Vec::new();
    let mut start = 0;
    for (at, _) in text.match_indices(['.', '!', '?']) {
        let rest = &text[at + 1..];
        let next = rest.trim_start();
        let opens = |c: char| c.is_ascii_uppercase() || "`\"*".contains(c);
        if next.len() < rest.len() && next.starts_with(opens) {
            parts.push(&text[start..=at]);
            start = text.len() - next.len();
        }
    }
    parts.push(&text[start..]);
    let is_long = |part: &&str| part.split_whitespace().count() >= FEWEST_WORDS;
    let parts = parts.into_iter().filter(is_long);
    let parts: Vec<String> = parts.map(|part| part.trim().to_owned()).collect();
    parts.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found<'a>(sentences: &'a [Sentence]) -> Vec<(usize, Kind, &'a str)> {
        let parts = |it: &'a Sentence| (it.line, it.kind, it.text.as_str());
        sentences.iter().map(parts).collect()
    }

    #[test]
    fn markdown_has_paragraphs_items_and_cells() {
        let text = "# A heading is not read\n\nOne two three `a b c`\nfive. Six seven eight nine.\n\
                    * An item has four words\n2. Another one has five\n\n\
                    ```\nNot this line of code.\n```\n\
                    | one | this cell; and is two sentences |\n|---|---|\n";
        let sentences = of_markdown(text);
        let expected = [
            (3, Kind::Markdown, "One two three X five."),
            (3, Kind::Markdown, "Six seven eight nine."),
            (5, Kind::Markdown, "An item has four words"),
            (6, Kind::Markdown, "Another one has five"),
            (11, Kind::Markdown, "this cell. and is two sentences"),
        ];
        assert_eq!(found(&sentences), expected);
    }

    #[test]
    fn rust_has_comments_and_literals() {
        let text = "//! The first block of\n//! two lines here. Then `code` and more.\n\n\
                    let a = \"a text of {count} words, \\\"quoted\\\"\"; // not this comment at all\n\
                    let b = \"too few words here\";\n    // An indented comment is read.\n";
        let sentences = of_rust(text);
        let expected = [
            (1, Kind::Comment, "The first block of two lines here."),
            (1, Kind::Comment, "Then X and more."),
            (4, Kind::Literal, "a text of X words, \\\"quoted\\\""),
            (6, Kind::Comment, "An indented comment is read."),
        ];
        assert_eq!(found(&sentences), expected);
    }

    #[test]
    fn only_a_capital_begins_a_sentence() {
        let parts: Vec<String> =
            split("One of about 1.5 MiB, e.g. two of them. Three is  the next one!").collect();
        let expected = [
            "One of about 1.5 MiB, e.g. two of them.",
            "Three is  the next one!",
        ];
        assert_eq!(parts, expected);
    }
}
