//! The command of a process, used in a command line that tests or follows a rule.

use hugewise_text::wrap::quoted;

/// The placeholder for the user's command in a command line.
pub const PLACE: &str = "CMD";

/// A longer command is not repeated, because it is not readable and the process still has it.
const LONGEST: usize = 400;

/// A command that can be started again unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// The working directory; `None` if it is the user's.
    pub folder: Option<String>,
    /// The program and its arguments.
    pub words: Vec<String>,
}

impl Command {
    /// Returns the command of a process; `None` if the process overwrote its arguments with a title.
    #[must_use]
    pub fn of_process(folder: &str, words: &[String]) -> Option<Self> {
        let command = Self {
            folder: Some(folder.to_owned()),
            words: words.to_vec(),
        };
        (!is_title(words) && command.line().len() <= LONGEST).then_some(command)
    }

    /// The command quoted for a shell.
    pub(super) fn line(&self) -> String {
        let words = self.words.iter().map(|word| quoted(word));
        words.collect::<Vec<_>>().join(" ")
    }

    /// Replaces `CMD` at the end of a line with this command.
    #[must_use]
    pub fn put_into(&self, line: &str) -> String {
        let Some(start) = line.strip_suffix(PLACE) else {
            return line.to_owned();
        };
        let line = format!("{start}{}", self.line());
        match &self.folder {
            Some(folder) => format!("cd {} && {line}", quoted(folder)),
            None => line,
        }
    }
}

/// Returns true if a process overwrote its arguments with a title, so they do not show how it was started.
#[must_use]
pub fn is_title(words: &[String]) -> bool {
    let first = words.first().map_or("", String::as_str);
    first.is_empty() || first.contains([' ', ':'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|&word| word.to_owned()).collect()
    }

    #[test]
    fn a_command_takes_the_place_that_is_left_for_it() {
        let java = words(&["java", "-jar", "my app.jar"]);
        let command = Command::of_process("/srv", &java).expect("no title");
        assert_eq!(
            command.put_into("hugewise run -- CMD"),
            "cd /srv && hugewise run -- java -jar 'my app.jar'"
        );
        assert_eq!(
            command.put_into("hugewise bench fork"),
            "hugewise bench fork"
        );
        let own = Command {
            folder: None,
            ..command
        };
        assert!(own.put_into("x -- CMD").starts_with("x -- java"));
    }

    #[test]
    fn a_title_is_no_command() {
        for title in ["redis-server *:6379", "postgres: checkpointer", ""] {
            assert_eq!(Command::of_process("/", &words(&[title])), None);
        }
        let long = words(&["java", &"x".repeat(LONGEST)]);
        assert_eq!(Command::of_process("/", &long), None);
    }
}
