//! The command under a policy, with its placeholders and arguments filled in.

use std::ffi::OsString;

use anyhow::Result;
use hugewise_experiment::run::plan::Program;
use hugewise_experiment::run::plan::arguments::{among, holds, in_line};
use hugewise_experiment::run::plan::service::CommandLine;
use hugewise_experiment::run::policy::runtime::placeholders::{fill, idle};
use hugewise_experiment::run::policy::{Policy, Settings};
use hugewise_experiment::run::record::Header;
use hugewise_text::wrap::quoted_words;

use crate::exit;
use crate::options::Options;

/// A command before a policy changes it.
#[derive(Clone, Debug)]
pub struct Workload {
    words: Vec<OsString>,
    form: Form,
    /// True if `{args}` is a placeholder: some policy sets arguments, and for the others it is empty. Otherwise it is
    /// the command's own text.
    has_arguments: bool,
}

/// How the command is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// As words, directly.
    Words,
    /// As one word, a shell line.
    Line,
}

impl Workload {
    /// The command of an experiment, or one of its programs, under any of these policies.
    pub fn among<'a>(
        options: &Options,
        program: Option<&Program>,
        policies: impl IntoIterator<Item = &'a Policy>,
    ) -> Self {
        let mut arguments = policies.into_iter().map(|it| &it.settings.args);
        let has_arguments = arguments.any(|it| !it.is_empty());
        Self {
            has_arguments,
            ..Self::plain(options, program)
        }
    }

    /// The command of a policy in a record.
    pub fn of(options: &Options, header: &Header, policy: &Policy) -> Self {
        Self {
            has_arguments: header.fills_arguments(),
            ..Self::plain(options, header.plan.program_of(&policy.name))
        }
    }

    /// Words that run under one policy.
    pub fn alone(words: Vec<OsString>, policy: &Policy) -> Self {
        Self {
            words,
            form: Form::Words,
            has_arguments: !policy.settings.args.is_empty(),
        }
    }

    /// The command without the arguments of a policy.
    fn plain(options: &Options, program: Option<&Program>) -> Self {
        let words = |it: &Program| it.command.iter().map(OsString::from).collect();
        Self {
            words: program.map_or_else(|| options.command.clone(), words),
            form: match options.shell && program.is_none() {
                true => Form::Line,
                false => Form::Words,
            },
            has_arguments: false,
        }
    }

    /// The words to execute under a policy; call [`check`](Self::check) first.
    pub fn under(&self, settings: &Settings) -> Vec<OsString> {
        let shell = ["/bin/sh", "-c"].map(OsString::from).into_iter();
        let shell = shell.filter(|_| self.form == Form::Line);
        shell.chain(self.filled(settings)).collect()
    }

    /// The command of a server under a policy. The placeholders of a trial are filled in later.
    pub fn line_under(&self, settings: &Settings) -> CommandLine {
        let words = self.filled(settings).into_iter();
        let mut words = words.map(|word| word.to_string_lossy().into_owned());
        match self.form {
            Form::Line => CommandLine::Line(words.next().unwrap_or_default()),
            Form::Words => CommandLine::Words(words.collect()),
        }
    }

    fn filled(&self, settings: &Settings) -> Vec<OsString> {
        let fill = |word: OsString| match word.to_str().map(|text| fill(text, settings)) {
            Some(Ok(filled)) => filled.into(),
            // `check` refuses these cases; a word that is not text has no placeholders.
            _ => word,
        };
        self.with_arguments(&settings.args)
            .into_iter()
            .map(fill)
            .collect()
    }

    fn with_arguments(&self, arguments: &[String]) -> Vec<OsString> {
        match (self.has_arguments, self.form) {
            (false, _) => self.words.clone(),
            (true, Form::Words) => among(&self.words, arguments),
            (true, Form::Line) => {
                let lines = self.texts().into_iter();
                let filled = lines.map(|line| in_line(&line, arguments).unwrap_or(line));
                filled.map(OsString::from).collect()
            }
        }
    }

    /// Its words as lossy UTF-8 text.
    fn texts(&self) -> Vec<String> {
        let words = self.words.iter();
        words
            .map(|word| word.to_string_lossy().into_owned())
            .collect()
    }

    /// Refuses a placeholder without a value, a value without a placeholder, and arguments that are set already.
    ///
    /// # Errors
    /// Suggests what to write.
    pub fn check(&self, policies: &[Policy]) -> Result<()> {
        let words = self.texts();
        for policy in policies {
            check_values(&words, policy)?;
            self.check_arguments(&words, policy)?;
        }
        Ok(())
    }

    fn check_arguments(&self, words: &[String], policy: &Policy) -> Result<()> {
        let arguments = &policy.settings.args;
        let refused = |why: String| Err(exit::usage(format!("policy `{}`: {why}", policy.name)));
        if holds(words, arguments) {
            let there = quoted_words(arguments);
            return refused(format!(
                "the command has {there} already; leave it out there, and the policy adds it"
            ));
        }
        let line = words.first().filter(|_| self.form == Form::Line);
        match line.map(|line| in_line(line, arguments)) {
            Some(Err(problem)) => refused(problem.to_string()),
            _ => Ok(()),
        }
    }
}

/// Refuses the placeholder of a runtime setting without a value, and a value without a placeholder.
fn check_values(words: &[String], policy: &Policy) -> Result<()> {
    let missing = words.iter().find_map(|it| fill(it, &policy.settings).err());
    if let Some(key) = missing {
        return Err(exit::usage(format!(
            "the command has {{{key}}}, and policy `{}` gives it no value; add {key}=VALUE",
            policy.name
        )));
    }
    if let Some(key) = idle(words, &policy.settings).first() {
        return Err(exit::usage(format!(
            "policy `{}`: {key} is set on the command line; write {{{key}}} in the command \
             where its value belongs",
            policy.name
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policies(texts: &[&str]) -> Vec<Policy> {
        let parsed = texts.iter().map(|text| text.parse().expect("a policy"));
        parsed.collect()
    }

    fn workload(line: &str, policies: &[Policy]) -> Workload {
        let options = Options {
            command: vec![line.into()],
            shell: true,
            ..Options::default()
        };
        Workload::among(&options, None, policies)
    }

    #[test]
    fn a_place_is_one_only_where_a_policy_sets_arguments() {
        let own = policies(&["as-is", "thp=never"]);
        let set = policies(&["as-is", "args=-L -v"]);
        let run = |all: &[Policy], at: usize| {
            workload("memcached {args} -m 9", all).under(&all[at].settings)[2].clone()
        };
        assert_eq!(run(&own, 0), "memcached {args} -m 9");
        assert_eq!(run(&set, 0), "memcached  -m 9");
        assert_eq!(run(&set, 1), "memcached -L -v -m 9");
    }

    #[test]
    fn a_server_has_the_arguments_in_its_line() {
        let all = policies(&["as-is", "args=-L"]);
        let line = |text: &str| workload(text, &all).line_under(&all[1].settings);
        assert_eq!(
            line("memcached -p {port}"),
            CommandLine::Line("memcached -L -p {port}".to_owned())
        );
        let options = Options {
            command: ["a", "b"].map(OsString::from).to_vec(),
            ..Options::default()
        };
        let words = Workload::among(&options, None, &all).line_under(&all[1].settings);
        let expected = ["a", "-L", "b"].map(str::to_owned).to_vec();
        assert_eq!(words, CommandLine::Words(expected));
    }

    #[test]
    fn arguments_without_a_place_and_those_that_are_there_are_refused() {
        let all = policies(&["as-is", "args=-L"]);
        let refusal = |line: &str| {
            let checked = workload(line, &all).check(&all);
            checked.err().map(|why| why.to_string())
        };
        assert_eq!(refusal("memcached -m 9"), None);
        assert_eq!(refusal("cd /x && exec memcached {args} -m 9"), None);
        let why = refusal("cd /x && exec memcached -m 9").expect("no place");
        assert!(
            why.contains("policy `args=-L`") && why.contains("write {args}"),
            "{why}"
        );
        let why = refusal("memcached -L -m 9").expect("the words are there");
        assert!(why.contains("has -L already"), "{why}");
    }
}
