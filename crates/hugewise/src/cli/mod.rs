//! The command line: its verbs.

use std::ffi::OsString;

use anyhow::Result;
use clap::{Command, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::exit::Exit;
use crate::stderr::{lines, message};
use crate::{cmd, options, output};

mod examples;
mod groups;
mod tips;

/// The text of `--version`, with the commit and the target, which a bug report needs.
const VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    " (commit ",
    env!("HUGEWISE_COMMIT"),
    ", ",
    env!("HUGEWISE_TARGET"),
    ")"
);

/// Do huge pages help a program on this machine or hurt it, by how much, and why?
#[derive(Debug, Parser)]
#[command(
    name = "hugewise",
    version = VERSION,
    after_long_help = "Exit codes:  0 done, 1 internal error, 2 usage, 3 a trial failed,\n\
                       \x20            4 not possible on this machine, 5 a --fail-if condition\n\
                       \x20            holds or advise --check fails, 6 another experiment\n\
                       \x20            has the machine, 7 --strict: in doubt,\n\
                       \x20            130 interrupted",
    max_term_width = 100
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Run a command under several memory policies and compare
    Run(Box<cmd::run::Arguments>),
    /// Report again from a record, or compare two
    Report(cmd::report::Arguments),
    /// List what was measured here, and where a command changed
    History(cmd::history::Arguments),
    /// Switch a running process's pages, compare its work
    #[cfg(feature = "live")]
    Live(Box<cmd::live::Arguments>),
    /// Measure memory itself, by page size
    #[cfg(feature = "bench")]
    Bench(Box<cmd::bench::Arguments>),
    /// Count page walks, faults and huge pages, by interval
    Stat(Box<cmd::stat::Arguments>),
    /// Watch huge pages live, of the machine and each process
    #[cfg(feature = "monitor")]
    Watch(cmd::watch::Arguments),
    /// Sample where TLB misses come from (experimental)
    #[cfg(feature = "tlb")]
    Misses(Box<cmd::misses::Arguments>),
    /// Simulate the TLB misses of a command, without counters
    #[cfg(feature = "tlb")]
    Simulate(cmd::simulate::Arguments),
    /// Time the stalls in kernel memory management
    Trace(cmd::trace::Arguments),
    /// Find which memory earns the effect of huge pages
    #[cfg(feature = "attribute")]
    Attribute(Box<cmd::attribute::Arguments>),
    /// Make the memory of a running process huge, with proof
    Collapse(cmd::collapse::Arguments),
    /// Explain why memory of a process is huge or not
    Inspect(cmd::inspect::Arguments),
    /// Show where page faults come from and how long they take
    Faults(Box<cmd::faults::Arguments>),
    /// Run a command under one policy, without measuring
    Exec(cmd::exec::Arguments),
    /// Say what to set for what runs here, and who says so
    #[cfg(feature = "advise")]
    Advise(Box<cmd::advise::Arguments>),
    /// Check what can be measured here, and what may mislead
    Doctor(cmd::doctor::Arguments),
    /// Run one experiment over many hosts
    #[cfg(feature = "fleet")]
    Fleet(cmd::fleet::Arguments),
    /// Give the huge page state of the machine to Prometheus
    #[cfg(feature = "monitor")]
    Export(cmd::export::Arguments),
    /// Print the manual page of the program or of a verb
    Man(cmd::man::Arguments),
    /// Print completions for a shell
    Completions(cmd::completions::Arguments),
}

impl Verb {
    /// Returns true for a verb that prints no result of its own, or only on request.
    pub fn is_quiet(&self) -> bool {
        match self {
            Self::Exec(_) => true,
            #[cfg(feature = "monitor")]
            Self::Export(_) => true,
            #[cfg(feature = "fleet")]
            Self::Fleet(_) => true,
            _ => false,
        }
    }
}

/// The command line with its verbs in groups, and the examples in its help.
pub fn command() -> Command {
    let command = Cli::command();
    #[cfg(feature = "attribute")]
    let command = command.mut_subcommand("attribute", cmd::attribute::with_short_help);
    with_examples(groups::listed(command), "")
}

/// Parses the words of the command line, and those of an experiment file in it. Ends the program after printing help or
/// a usage error.
///
/// # Errors
///
/// The experiment file cannot be read, or is wrong.
pub fn parse(words: Vec<OsString>) -> Result<Cli> {
    let words = options::with_file(Cli::command(), words)?;
    let matches = command().try_get_matches_from(&words);
    let matches =
        matches.unwrap_or_else(|error| end(&tips::mended(error, innermost(&command(), &words))));
    Ok(Cli::from_arg_matches(&matches).unwrap_or_else(|error| end(&error)))
}

/// Prints a usage error in the same form as all other errors, or prints the requested help.
fn end(error: &clap::Error) -> ! {
    let text = error.render().to_string();
    let Some(text) = text.strip_prefix("error: ") else {
        if let Err(closed) = output::check_stdout() {
            message(closed);
            std::process::exit(Exit::Internal as i32);
        }
        error.exit();
    };
    lines(text.trim_end());
    std::process::exit(error.exit_code());
}

/// The command that the first words select: `hugewise`, or `fleet` of `hugewise fleet …`.
fn innermost<'a>(command: &'a Command, words: &[OsString]) -> &'a Command {
    let mut below = words.iter().skip(1).map_while(|word| word.to_str());
    let found = below.try_fold(command, |command, word| {
        command.find_subcommand(word).ok_or(command)
    });
    found.unwrap_or_else(|last| last)
}

/// Adds the examples of a verb and of its subverbs at the end of their long help.
fn with_examples(command: Command, verb: &str) -> Command {
    let below = command
        .get_subcommands()
        .map(|sub| sub.get_name().to_owned());
    let below: Vec<String> = below.collect();
    let command = below.into_iter().fold(command, |command, name| {
        let path = format!("{verb} {name}").trim().to_owned();
        command.mut_subcommand(name, |sub| with_examples(sub, &path))
    });
    let examples = examples::text(verb);
    let notes = command.get_after_long_help().or(command.get_after_help());
    match (notes.map(ToString::to_string), examples.is_empty()) {
        (_, true) => command,
        (None, false) => command.after_long_help(examples),
        (Some(notes), false) => command.after_long_help(format!("{notes}\n\n{examples}")),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use hugewise_advise::knowledge::Knowledge;

    use super::*;

    /// Every verb by its full name, including subverbs.
    fn verbs(command: &Command, path: &str) -> Vec<(String, Command)> {
        let mut all = Vec::new();
        for sub in command.get_subcommands() {
            let path = format!("{path} {}", sub.get_name()).trim().to_owned();
            all.extend(verbs(sub, &path));
            all.push((path, sub.clone().term_width(80)));
        }
        all
    }

    #[test]
    fn short_help_fits_a_screen_and_long_help_ends_with_examples() {
        /// A terminal of 80 columns and 24 lines; `run` has more flags.
        const LINES: usize = 24;
        const LINES_OF_RUN: usize = 40;
        let short = command().term_width(80).render_help().to_string();
        assert!(short.lines().count() <= LINES, "{short}");
        let wide = short.lines().find(|line| line.chars().count() > 80);
        assert_eq!(wide, None, "hugewise");
        let mut too_long = Vec::new();
        for (name, mut verb) in verbs(&command(), "") {
            let most = if name == "run" { LINES_OF_RUN } else { LINES };
            let short = verb.render_help().to_string();
            let lines = short.lines().count();
            if lines > most {
                too_long.push(format!("{name}: {lines} lines\n{short}"));
            }
            let wide = short.lines().find(|line| line.chars().count() > 80);
            assert_eq!(wide, None, "{name}");
            let long = verb.render_long_help().to_string();
            let examples = examples::text(&name);
            assert!(examples.starts_with("Examples:\n  # "), "{name}");
            // An example broken by wrapping would be pasted as two commands.
            assert!(long.contains(&examples), "{name}: {long}");
        }
        assert!(too_long.is_empty(), "{}", too_long.join("\n"));
    }

    #[test]
    fn examples_are_command_lines_that_parse() {
        let root = command();
        for (name, _) in verbs(&root, "") {
            let text = examples::text(&name).replace("\\\n    ", "");
            for line in text.lines().filter_map(|line| line.split_once("hugewise ")) {
                let words = words(line.1);
                let lead = words.join(" ");
                assert!(lead.replace('-', " ").starts_with(&name), "{name}: {lead}");
                let words = std::iter::once("hugewise".to_owned()).chain(words);
                let parsed = Cli::try_parse_from(words);
                assert!(parsed.is_ok(), "{lead}: {parsed:?}");
            }
        }
    }

    /// Users who follow a rule paste its lines.
    #[test]
    fn tests_of_rules_are_command_lines_that_parse() {
        let knowledge = Knowledge::compiled().expect("every file is right");
        let rules = knowledge.subjects().flat_map(|subject| &subject.rules);
        let mut wrong = Vec::new();
        for rule in rules {
            let Some(line) = &rule.experiment else {
                continue;
            };
            if let Err(why) = Cli::try_parse_from(words(line)) {
                wrong.push(format!("{}: {line}: {why}", rule.id));
            }
            let mut files = line.split(' ').filter(|word| word.starts_with("examples/"));
            let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
            wrong.extend(
                files
                    .find(|file| !root.join(file).exists())
                    .map(|file| format!("{}: there is no {file}", rule.id)),
            );
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    /// Splits words as a shell does; the examples use no quotes except single ones.
    fn words(line: &str) -> Vec<String> {
        let mut words = vec![String::new()];
        let mut quoted = false;
        for c in line.trim().chars() {
            match c {
                '\'' => quoted = !quoted,
                '|' | '>' if !quoted => break,
                ' ' if !quoted => words.push(String::new()),
                c => words.last_mut().expect("one word").push(c),
            }
        }
        words.retain(|word| !word.is_empty());
        words
    }
}
