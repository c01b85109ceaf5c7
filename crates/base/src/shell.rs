//! Words of command lines that a reader can paste into a shell.

use super::plain::is_obeyed;

/// Quotes a word for a shell, on one line. Control characters become `$'…\n…'`, which bash, zsh and ksh support.
#[must_use]
pub fn quoted(word: &str) -> String {
    let safe = |c: char| c.is_ascii_alphanumeric() || "=,.:_+-/@%".contains(c);
    if !word.is_empty() && word.chars().all(safe) {
        word.to_owned()
    } else if word.contains(is_obeyed) {
        format!("$'{}'", word.chars().map(escaped).collect::<String>())
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// Quotes words for a shell, on one line.
#[must_use]
pub fn quoted_words<W: AsRef<str>>(words: &[W]) -> String {
    let words: Vec<String> = words.iter().map(|word| quoted(word.as_ref())).collect();
    words.join(" ")
}

/// Returns a variable assignment to put before a command. If the name is not a valid shell variable, name and value are
/// quoted together, so that the shell executes no part of them.
#[must_use]
pub fn assignment(name: &str, value: &str) -> String {
    match is_variable(name) {
        true => format!("{name}={}", quoted(value)),
        false => quoted(&format!("{name}={value}")),
    }
}

/// Returns several assignments, with `env` in front if a shell would refuse one of the names.
#[must_use]
pub fn environment<'a>(variables: impl IntoIterator<Item = (&'a str, &'a str)>) -> Vec<String> {
    let variables: Vec<(&str, &str)> = variables.into_iter().collect();
    let is_odd = variables.iter().any(|(name, _)| !is_variable(name));
    let env = is_odd.then(|| "env".to_owned());
    let words = variables
        .iter()
        .map(|(name, value)| assignment(name, value));
    env.into_iter().chain(words).collect()
}

/// Returns the command with which root writes a value to a setting of the machine. The path is relative to the root.
#[must_use]
pub fn write(path: &str, value: &str) -> String {
    format!("echo {} > {}", quoted(value), quoted(&format!("/{path}")))
}

/// Returns true if a text is a valid name of a shell variable.
#[must_use]
pub fn is_variable(name: &str) -> bool {
    let mut letters = name.chars();
    let begins = |c: char| c.is_ascii_alphabetic() || c == '_';
    letters.next().is_some_and(begins) && letters.all(|c| begins(c) || c.is_ascii_digit())
}

/// Escapes a character for use between `$'` and `'`.
fn escaped(c: char) -> String {
    match c {
        '\n' | '\t' | '\r' | '\'' | '\\' => c.escape_default().to_string(),
        _ if c.is_ascii_control() => format!("\\x{:02x}", u32::from(c)),
        _ if is_obeyed(c) && u32::from(c) > 0xffff => format!("\\U{:08x}", u32::from(c)),
        _ if is_obeyed(c) => format!("\\u{:04x}", u32::from(c)),
        _ => c.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_stays_one_line_that_a_shell_takes() {
        for (word, typed) in [
            ("sort", "sort"),
            ("", "''"),
            ("it's", "'it'\\''s'"),
            ("a\\nb", "'a\\nb'"),
            ("print('a')\nx\\y", "$'print(\\'a\\')\\nx\\\\y'"),
            ("\u{1b}[1m\u{9b}\u{202e}", "$'\\x1b[1m\\u009b\\u202e'"),
            ("\u{e0001}", "$'\\U000e0001'"),
        ] {
            assert_eq!(quoted(word), typed);
        }
    }

    #[test]
    fn no_name_and_no_path_is_obeyed() {
        assert_eq!(assignment("A", "b c"), "A='b c'");
        assert_eq!(assignment("A=1; id; B", "x"), "'A=1; id; B=x'");
        assert_eq!(environment([("A", "1")]), ["A=1"]);
        assert_eq!(
            environment([("A", "1"), ("$(id)", "2")]),
            ["env", "A=1", "'$(id)=2'"]
        );
        assert_eq!(write("sys/x", "0"), "echo 0 > /sys/x");
        assert_eq!(write("sys/x; id #", "0"), "echo 0 > '/sys/x; id #'");
    }

    #[test]
    fn a_variable_is_letters_and_digits() {
        for name in ["A", "_a9", "LD_BIND_NOW"] {
            assert!(is_variable(name), "{name}");
        }
        for name in ["", "9a", "A;id", "A=", "é", "A B", "A\n", "$A"] {
            assert!(!is_variable(name), "{name}");
        }
    }
}
