//! The position of the `args=` words in a command: at `{args}`, otherwise right after the program's name.

use std::ffi::OsStr;

use super::service::CommandLine;
use crate::text::wrap::quoted_words;

/// The placeholder for the words, if they do not belong right after the program's name.
const PLACE: &str = "{args}";

/// A shell line has no unique position for arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the line does not begin with the plain name of one program; write {{args}} where the \
     arguments belong"
)]
pub struct NoPlace;

/// The words of a command with arguments inserted. Inside a word, which may be a shell line, they are quoted for the
/// shell.
#[must_use]
pub fn among<W>(command: &[W], arguments: &[String]) -> Vec<W>
where
    W: AsRef<OsStr> + Clone + From<String>,
{
    let own = || arguments.iter().cloned().map(W::from);
    if !has_place(command) {
        let (program, rest) = command.split_at(command.len().min(1));
        return program
            .iter()
            .cloned()
            .chain(own())
            .chain(rest.iter().cloned())
            .collect();
    }
    let words = command
        .iter()
        .flat_map(|word| match word.as_ref().to_str() {
            Some(PLACE) => own().collect(),
            Some(text) if places(text).next().is_some() => vec![W::from(filled(text, arguments))],
            _ => vec![word.clone()],
        });
    words.collect()
}

/// A shell line with arguments inserted.
///
/// # Errors
/// Fails if it has no placeholder and is not a simple command with a plain program name.
pub fn in_line(line: &str, arguments: &[String]) -> Result<String, NoPlace> {
    if arguments.is_empty() || has_place(&[line]) {
        return Ok(filled(line, arguments));
    }
    let command = CommandLine::Line(line.to_owned());
    let program = command.program().ok_or(NoPlace)?;
    let indent = line.len() - line.trim_start().len();
    let (lead, rest) = line.split_at(indent + program.len());
    Ok(format!("{lead} {}{rest}", quoted_words(arguments)))
}

/// Returns true if a command has a placeholder for arguments.
#[must_use]
pub fn has_place<W: AsRef<OsStr>>(command: &[W]) -> bool {
    let mut texts = command.iter().filter_map(|word| word.as_ref().to_str());
    texts.any(|text| places(text).next().is_some())
}

/// Returns true if a command, or a shell line, already contains the arguments, in their order.
#[must_use]
pub fn holds(command: &[String], arguments: &[String]) -> bool {
    let split = |text: &String| {
        let plainly = || text.split_whitespace().map(str::to_owned).collect();
        shlex::split(text).unwrap_or_else(plainly)
    };
    let words: Vec<String> = match command {
        [line] => split(line),
        words => words.to_vec(),
    };
    let own = words.get(1..).unwrap_or_default();
    !arguments.is_empty() && own.windows(arguments.len()).any(|some| some == arguments)
}

/// The start of each placeholder. `${args}` is a shell variable.
fn places(text: &str) -> impl Iterator<Item = usize> {
    let all = text.match_indices(PLACE).map(|(at, _)| at);
    all.filter(|at| !text[..*at].ends_with('$'))
}

fn filled(text: &str, arguments: &[String]) -> String {
    let words = quoted_words(arguments);
    let mut filled = String::new();
    let mut rest = 0;
    for at in places(text) {
        filled.push_str(&text[rest..at]);
        filled.push_str(&words);
        rest = at + PLACE.len();
    }
    filled.push_str(&text[rest..]);
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn arguments_stand_behind_the_program_or_in_their_place() {
        let with =
            |command: &str, arguments: &str| among(&words(command), &words(arguments)).join(" ");
        assert_eq!(with("memcached -m 64", "-L"), "memcached -L -m 64");
        assert_eq!(with("memcached", "-L -v"), "memcached -L -v");
        assert_eq!(
            with("env memcached {args} -m", "-L -v"),
            "env memcached -L -v -m"
        );
        let line = [
            "sh".to_owned(),
            "-c".to_owned(),
            "exec a {args} ${args}".to_owned(),
        ];
        let two = ["-x".to_owned(), "a b".to_owned()];
        assert_eq!(among(&line, &two)[2], "exec a -x 'a b' ${args}");
        let none = among(&words("env memcached {args} -m"), &[]);
        assert_eq!(none, words("env memcached -m"));
        assert_eq!(among(&words("a b"), &[]), words("a b"));
    }

    #[test]
    fn a_line_takes_them_where_its_program_is_plain() {
        let with = |line: &str| in_line(line, &words("-L"));
        let line = " /bin/memcached -p {port} >log";
        assert_eq!(
            with(line),
            Ok(" /bin/memcached -L -p {port} >log".to_owned())
        );
        assert_eq!(with("memcached"), Ok("memcached -L".to_owned()));
        let placed = "cd /x && exec memcached {args} -p 1";
        assert_eq!(
            with(placed),
            Ok("cd /x && exec memcached -L -p 1".to_owned())
        );
        for line in [
            "cd x; memcached",
            "A=1 memcached",
            "'my program' -x",
            "$X -v",
            "a | b",
        ] {
            assert_eq!(with(line), Err(NoPlace), "{line}");
            assert_eq!(in_line(line, &[]), Ok(line.to_owned()));
        }
    }

    #[test]
    fn arguments_that_are_there_are_found() {
        let holds = |command: &[&str], arguments: &str| {
            let command: Vec<String> = command.iter().map(|it| (*it).to_owned()).collect();
            holds(&command, &words(arguments))
        };
        assert!(holds(&["memcached", "-m", "64", "-L"], "-L"));
        assert!(holds(&["memcached -m '64' -L"], "-m 64"));
        assert!(!holds(&["memcached", "-m", "64"], "-m 65"));
        assert!(!holds(&["memcached", "-v", "-L"], "-L -v"));
        assert!(!holds(&["-L"], "-L"), "a program's name is no argument");
    }
}
