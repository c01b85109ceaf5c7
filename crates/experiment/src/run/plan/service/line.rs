use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A command as one line for `/bin/sh`, or as its words.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(
    untagged,
    expecting = "expected a line for the shell or a list of words"
)]
pub enum CommandLine {
    /// A line for the shell.
    Line(String),
    /// A program and its arguments.
    Words(Vec<String>),
}

/// The values of the placeholders in one trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// `{port}`: a port that was free at the start of the trial.
    pub port: u16,
    /// `{dir}`: a private folder of the trial.
    pub dir: String,
}

impl Places {
    /// A text with its placeholders filled in; other braces stay as they are.
    #[must_use]
    pub fn fill(&self, text: &str) -> String {
        text.replace("{port}", &self.port.to_string())
            .replace("{dir}", &self.dir)
    }
}

impl CommandLine {
    /// The executed words. A line with one simple command replaces its shell, so that a signal reaches the program and
    /// not a waiting shell.
    #[must_use]
    pub fn words(&self, places: &Places) -> Vec<String> {
        match self {
            Self::Words(words) => words.iter().map(|word| places.fill(word)).collect(),
            Self::Line(line) => {
                let line = places.fill(line);
                let line = if is_simple(&line) {
                    format!("exec {line}")
                } else {
                    line
                };
                vec!["/bin/sh".to_owned(), "-c".to_owned(), line]
            }
        }
    }

    /// As users write it.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::Line(line) => line.clone(),
            Self::Words(words) => words.join(" "),
        }
    }

    /// The program, if the line has its plain name: without quotes and placeholders.
    #[must_use]
    pub fn program(&self) -> Option<&str> {
        let first = match self {
            Self::Words(words) => words.first()?,
            Self::Line(line) if is_simple(line) => line.split_whitespace().next()?,
            Self::Line(_) => return None,
        };
        let plain = |c: char| c.is_alphanumeric() || "/._+-".contains(c);
        first.chars().all(plain).then_some(first)
    }

    /// Returns true if the command contains it anywhere.
    #[must_use]
    pub fn mentions(&self, placeholder: &str) -> bool {
        match self {
            Self::Line(line) => line.contains(placeholder),
            Self::Words(words) => words.iter().any(|word| word.contains(placeholder)),
        }
    }

    /// Returns true if there is nothing to run.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Line(line) => line.trim().is_empty(),
            Self::Words(words) => words.first().is_none_or(String::is_empty),
        }
    }
}

impl FromStr for CommandLine {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Err("the command is empty".to_owned());
        }
        Ok(Self::Line(text.to_owned()))
    }
}

/// Returns true if a line is a program on the `PATH` with its arguments and redirections. In doubt it is not: the shell
/// then runs it unchanged.
fn is_simple(line: &str) -> bool {
    const JOINTS: [char; 8] = [';', '&', '|', '\n', '(', ')', '`', '#'];
    /// Shell words that cannot follow `exec`, or have another meaning there.
    const WORDS: [&str; 22] = [
        "!", "{", "case", "for", "if", "until", "while", "exec", "cd", "eval", "exit", "export",
        "readonly", "return", "set", "shift", "trap", "umask", "unset", ".", ":", "ulimit",
    ];
    let first = line.split_whitespace().next().unwrap_or_default();
    !line.contains(JOINTS) && !first.contains('=') && !WORDS.contains(&first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn places() -> Places {
        Places {
            port: 4711,
            dir: "/tmp/x".to_owned(),
        }
    }

    fn shell_line(line: &str) -> String {
        let words = CommandLine::Line(line.to_owned()).words(&places());
        assert_eq!(words[..2], ["/bin/sh", "-c"]);
        words[2].clone()
    }

    #[test]
    fn placeholders_are_filled_in_and_other_braces_stay() {
        let line = CommandLine::Words(vec![
            "a".to_owned(),
            "--port={port}".to_owned(),
            "{dir}/{x}".to_owned(),
        ]);
        assert_eq!(line.words(&places()), ["a", "--port=4711", "/tmp/x/{x}"]);
        assert!(line.mentions("{port}") && !line.mentions("{y}"));
    }

    #[test]
    fn a_simple_line_replaces_its_shell() {
        assert_eq!(
            shell_line("redis-server --port {port} >/dev/null"),
            "exec redis-server --port 4711 >/dev/null"
        );
        for kept in [
            "a; b", "a && b", "a | b", "X=1 a", "exec a", "cd x", "(a)", "a &", "",
        ] {
            let line = shell_line(kept);
            assert!(kept.is_empty() || line == kept, "{line}");
        }
    }

    #[test]
    fn a_program_is_named_where_it_is_plain() {
        let program = |line: &str| {
            CommandLine::Line(line.to_owned())
                .program()
                .map(str::to_owned)
        };
        assert_eq!(program(" wrk -t1 "), Some("wrk".to_owned()));
        assert_eq!(program("/a/b.c"), Some("/a/b.c".to_owned()));
        for unknown in ["X=1 wrk", "wrk; x", "'a b'", "{dir}/x", "$X", "cd x"] {
            assert_eq!(program(unknown), None, "{unknown}");
        }
    }

    proptest! {
        #[test]
        fn any_line_is_one_line_of_a_shell(line in ".*") {
            let words = CommandLine::Line(line.clone()).words(&places());
            prop_assert_eq!(words.len(), 3);
            prop_assert!(words[2].ends_with(&places().fill(&line)));
        }
    }
}
