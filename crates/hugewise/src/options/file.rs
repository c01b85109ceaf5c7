//! The experiment file as flags: its keys become words of the command line, which clap parses.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::Path;

use anyhow::Result;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command};
use hugewise_base::plain::{plain, plain_error};
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, Visitor};
use toml::Value;

use super::Options;
use crate::exit;
use hugewise_text::suggest::hint;

/// The verb that takes a file.
const VERB: &str = "run";

/// Keys that files may write in the plural, with their flags.
const PLURALS: [(&str, &str); 2] = [("policies", "policy"), ("metrics", "metric")];

/// The words of the command line. If `run` was given an experiment file, its flags are inserted; flags on the command
/// line override them.
///
/// # Errors
///
/// The file cannot be read, a key is not a flag, or a value is not valid for that flag.
pub fn with_file(command: Command, words: Vec<OsString>) -> Result<Vec<OsString>> {
    // The final parse reports errors of the command line itself.
    let Ok(matches) = command.try_get_matches_from(&words) else {
        return Ok(words);
    };
    let run = matches.subcommand_matches(VERB);
    let Some((run, path)) = run.and_then(|run| Some((run, file(run)?))) else {
        return Ok(words);
    };
    if run
        .get_many::<OsString>("command")
        .is_some_and(|it| it.len() > 1)
    {
        return Err(exit::usage(format!(
            "{} is an experiment file and holds the command: leave out what follows, and put \
             flags before it",
            path.display()
        )));
    }
    Ok(joined(&words, run, read(path)?))
}

/// The experiment file, given instead of a command.
fn file(run: &ArgMatches) -> Option<&Path> {
    let first = run.get_many::<OsString>("command")?.next()?;
    let path = Path::new(first);
    let is_file = path
        .extension()
        .is_some_and(|extension| extension == "toml");
    (is_file && !run.get_flag("shell")).then_some(path)
}

fn read(path: &Path) -> Result<FileWords> {
    let text = crate::file::read(path).and_then(|bytes| {
        String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    });
    let text = text.map_err(|error| {
        exit::usage(format!(
            "reading the experiment file {}: {error}",
            path.display()
        ))
    })?;
    toml::from_str(&text).map_err(|error| {
        let name = plain(&path.to_string_lossy());
        let error = plain_error(&error);
        exit::lines(exit::Exit::Usage, format_args!("{name}: {error}"))
    })
}

/// The verb, the file's flags that the line does not set, the line's flags, the command.
fn joined(words: &[OsString], run: &ArgMatches, file: FileWords) -> Vec<OsString> {
    let given = |id: &str| run.value_source(id) == Some(ValueSource::CommandLine);
    // Policies and the matrix are one question: a flag for either replaces both of the file.
    let policies = given("policy") || given("matrix");
    let replaced = |id: &str| given(id) || (policies && matches!(id, "policy" | "matrix"));
    let (program, rest) = words.split_at(1);
    let (verb, flags) = rest.split_at(1);
    let flags = flags.split_last().map_or(flags, |(_, flags)| flags);
    let flags = flags.strip_suffix(&[OsString::from("--")]).unwrap_or(flags);
    let kept = file.flags.into_iter().filter(|(id, _)| !replaced(id));
    let kept = kept.flat_map(|(_, words)| words);
    let mut all: Vec<OsString> = program.iter().chain(verb).cloned().collect();
    all.extend(kept.chain(flags.iter().cloned()));
    if !file.command.is_empty() {
        all.push("--".into());
        all.extend(file.command);
    }
    all
}

/// An experiment file as words of the command line.
#[derive(Debug, Default)]
struct FileWords {
    /// Each key, by the name of its argument.
    flags: Vec<(String, Vec<OsString>)>,
    command: Vec<OsString>,
}

impl<'de> Deserialize<'de> for FileWords {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let flags = Options::augment_args(Command::new(VERB).no_binary_name(true));
        deserializer.deserialize_map(Keys(flags))
    }
}

/// Reads the keys of a file, each as the flag of its name.
struct Keys(Command);

impl<'de> Visitor<'de> for Keys {
    type Value = FileWords;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("keys that are flags of run")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<FileWords, A::Error> {
        let mut words = FileWords::default();
        while let Some(arg) = map.next_key_seed(Key(&self.0))? {
            let found = map.next_value_seed(FlagValue(&self.0, arg))?;
            if arg.is_positional() {
                words.command = found;
            } else {
                words.flags.push((arg.get_id().to_string(), found));
            }
        }
        Ok(words)
    }
}

/// A key: the name of a flag, or `command`.
struct Key<'a>(&'a Command);

impl<'a, 'de> DeserializeSeed<'de> for Key<'a> {
    type Value = &'a Arg;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<&'a Arg, D::Error> {
        let key = String::deserialize(deserializer)?;
        let singular = PLURALS.iter().find(|(plural, _)| *plural == key);
        let name = singular.map_or(key.as_str(), |(_, name)| name);
        let mut known = self.0.get_arguments();
        known
            .find(|arg| key_of(arg) == name || is_alias(arg, name))
            .ok_or_else(|| {
                let hint = hint(&key, self.0.get_arguments().map(key_of));
                D::Error::custom(format!("unknown key `{key}`; {hint}"))
            })
    }
}

fn is_alias(arg: &Arg, name: &str) -> bool {
    let aliases = arg.get_all_aliases().unwrap_or_default();
    aliases.contains(&name)
}

fn key_of(arg: &Arg) -> &str {
    arg.get_long().unwrap_or_else(|| arg.get_id().as_str())
}

/// Reads the value of a key, which clap must accept.
struct FlagValue<'a>(&'a Command, &'a Arg);

impl<'de> DeserializeSeed<'de> for FlagValue<'_> {
    type Value = Vec<OsString>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        let Self(command, arg) = self;
        let words = words(arg, Value::deserialize(deserializer)?).map_err(D::Error::custom)?;
        if arg.is_positional() {
            return Ok(words);
        }
        let read = command.clone().try_get_matches_from(&words);
        read.map_err(|error| D::Error::custom(reason(&error)))?;
        Ok(words)
    }
}

/// A value as words of the command line.
fn words(arg: &Arg, value: Value) -> Result<Vec<OsString>, String> {
    let flag = format!("--{}", key_of(arg));
    match (arg.get_action(), value) {
        (ArgAction::SetTrue, Value::Boolean(true)) => Ok(vec![flag.into()]),
        (ArgAction::SetTrue, Value::Boolean(false)) => Ok(Vec::new()),
        (ArgAction::SetTrue, _) => Err("expected true or false".to_owned()),
        (_, value) if arg.is_positional() => match value {
            Value::String(line) => Ok(vec![line.into()]),
            Value::Array(words) => words
                .into_iter()
                .map(|word| Ok(text(word)?.into()))
                .collect(),
            _ => Err("expected a line for the shell or a list of words".to_owned()),
        },
        (ArgAction::Append, Value::Array(values)) => {
            let value = |value| Ok(format!("{flag}={}", text(value)?).into());
            values.into_iter().map(value).collect()
        }
        // Only `command` is a list of words; other flags refuse one.
        (_, Value::Array(values)) => {
            let values: Result<Vec<String>, String> = values.into_iter().map(text).collect();
            let list = serde_json::to_string(&values?).map_err(|error| error.to_string())?;
            Ok(vec![format!("{flag}={list}").into()])
        }
        (_, value) => Ok(vec![format!("{flag}={}", text(value)?).into()]),
    }
}

fn text(value: Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text),
        Value::Integer(number) => Ok(number.to_string()),
        Value::Float(number) => Ok(number.to_string()),
        other => Err(format!("expected text, found {}", other.type_str())),
    }
}

/// The reason why clap refuses a value, without the flag, which the user did not type.
fn reason(error: &clap::Error) -> String {
    if let Some(source) = std::error::Error::source(error) {
        return source.to_string();
    }
    let text = error.render().to_string();
    let said = text.split("\n\n").next().unwrap_or_default();
    said.trim_start_matches("error: ").to_owned()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use clap::FromArgMatches;

    use super::*;

    /// Parses `run FLAGS FILE` with this text in the file.
    fn options(flags: &[&str], text: &str) -> Result<Options> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("a.toml");
        std::fs::write(&path, text)?;
        let run = Options::augment_args(Command::new(VERB));
        let command = Command::new("hugewise").subcommand(run.clone());
        let path = path.into_os_string();
        let words = ["hugewise", VERB].iter().chain(flags).map(OsString::from);
        let words = with_file(command, words.chain([path]).collect())?;
        let matches = run.try_get_matches_from(&words[1..])?;
        Options::from_arg_matches(&matches)?.complete()
    }

    #[test]
    fn a_file_says_what_flags_say() {
        let text = r#"
            command = ["sort", "-n", "--", "data"]
            policies = ["thp=never", "big:thp=always"]
            baseline = "big"
            system = true
            precision = "0.5%"
            min-rounds = 12
            max-time = "5m"
            metrics = ["tps:1/s:higher=tps = ([0-9.]+)"]
            fail-if = ["wall_seconds > +2%"]
            exit-hold = "off"
            "#;
        let file = options(&[], text).expect("a good file");
        assert_eq!(file.policy.len(), 2);
        assert!(file.system && file.baseline.as_deref() == Some("big"));
        assert_eq!((file.precision, file.min_rounds), (Some(0.005), Some(12)));
        assert_eq!(file.limits.max_time, Some(Duration::from_secs(300)));
        assert_eq!((file.metric.len(), file.demands.fail_if.len()), (1, 1));
        assert_eq!(file.command, ["sort", "-n", "--", "data"]);
    }

    #[test]
    fn flags_replace_what_the_file_says() {
        let text = "command = 'a b'\nshell = true\nmatrix = ['thp=never,always']\nmax-rounds = 9\n\
                    metric = ['a=(b)', 'c=(d)']";
        let flags = ["--policy", "as-is", "--max-rounds=7", "--metric", "x=(y)"];
        let options = options(&flags, text).expect("a good file");
        assert_eq!((options.policy.len(), options.matrix.len()), (1, 0));
        assert_eq!(options.limits.max_rounds, Some(7));
        assert_eq!(options.metric.len(), 1);
        assert!(options.shell && options.command == ["a b"]);
    }

    #[test]
    fn a_server_is_the_command() {
        let line = "service = 'a --port {port}'\nready = 'tcp:{port}'\nload = ['b', 'c d']";
        let server = options(&[], line).expect("a server");
        assert!(server.shell && server.server.load.is_some());
        assert_eq!(server.command, ["a --port {port}"]);
        let words = "service = ['java', 'X.java']\nready = 'tcp:1'\nload = 'b'";
        let server = options(&[], words).expect("a server");
        assert!(!server.shell);
        assert_eq!(server.command, ["java", "X.java"]);
        assert!(options(&[], "service = 'a'\ncommand = ['b']").is_err());
        assert!(options(&[], "load = 'a'\ncommand = ['b']").is_err());
    }

    #[test]
    fn what_is_wrong_is_shown_with_its_line_and_a_way_out() {
        for (text, line, expected) in [
            ("polices = []", 1, "did you mean `policy`?"),
            ("\nready = 'soon'", 2, "`soon`"),
            ("system = 'yes'", 1, "expected true or false"),
            ("max-rounds = 'x'", 1, "invalid digit"),
            ("exit-hold = 'of'", 1, "possible values: on, off"),
            ("policy = ['thp=sometimes']", 1, "thp"),
            ("seed = [1]", 1, "invalid digit"),
            ("command = 5", 1, "a list of words"),
            ("directory = 'a'\ndirectory = 'b'", 2, "duplicate"),
        ] {
            let error = options(&[], text).expect_err(text).to_string();
            assert!(error.contains("a.toml: "), "{error}");
            assert!(
                error.contains(&format!("at line {line}, column")),
                "{error}"
            );
            assert!(error.contains(expected), "{error}");
            assert!(error.contains('^'), "{error}");
        }
    }
}
