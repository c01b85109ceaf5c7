//! The command of a process, to be put into a line that tests a rule or follows it.

use hugewise_text::wrap::quoted;

/// What stands in a line for the user's own command.
pub const PLACE: &str = "CMD";

/// A longer command is not repeated: nobody reads it, and the process has it.
const LONGEST: usize = 400;

/// A command that can be started again as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// The folder in which it was started; none where that is the user's own.
    pub folder: Option<String>,
    /// The program and its arguments.
    pub words: Vec<String>,
}

impl Command {
    /// That of a process; `None` where the process wrote a title over its words.
    #[must_use]
    pub fn of_process(folder: &str, words: &[String]) -> Option<Self> {
        let command = Self {
            folder: Some(folder.to_owned()),
            words: words.to_vec(),
        };
        (!is_title(words) && command.line().len() <= LONGEST).then_some(command)
    }

    /// As a shell takes it.
    pub(super) fn line(&self) -> String {
        let words = self.words.iter().map(|word| quoted(word));
        words.collect::<Vec<_>>().join(" ")
    }

    /// The line with this command in the place of `CMD` at its end.
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

/// Whether a process wrote a title over its words, so that they tell nothing of how it was started.
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
