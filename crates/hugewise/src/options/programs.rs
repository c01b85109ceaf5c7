//! `--program` and `--matrix program=…`: the compared programs.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::str::FromStr;

use anyhow::Result;
use hugewise_experiment::run::plan::Program;
use hugewise_experiment::run::policy::{Axis, ParseError};

use super::Options;
use crate::{exit, program};

/// One axis of a matrix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Factor {
    /// The values of one policy key.
    Policies(Axis),
    /// Command lines.
    Programs(Vec<Vec<String>>),
}

/// The key of a matrix whose values are programs.
const PROGRAM: &str = "program";

impl FromStr for Factor {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim().split_once('=') {
            Some((PROGRAM, list)) => {
                let commands = list.split(',').map(split);
                Ok(Self::Programs(commands.collect::<Result<_, _>>()?))
            }
            _ => {
                let axis: Axis = text
                    .parse()
                    .map_err(|error: ParseError| error.to_string())?;
                Ok(Self::Policies(axis))
            }
        }
    }
}

/// Parses `NAME=CMD`.
pub fn parse_program(text: &str) -> Result<Program, String> {
    let Some((name, line)) = text.split_once('=') else {
        return Err(format!(
            "`{text}` has no name; write NAME=CMD, as new=./new"
        ));
    };
    let name = name.trim();
    if name.is_empty() || name.contains(|c: char| c == ':' || c.is_control()) {
        return Err("the name before `=` may not be empty or hold `:`; write NAME=CMD".to_owned());
    }
    Ok(Program {
        name: name.to_owned(),
        command: split(line)?,
    })
}

/// Splits a command line into words as a POSIX shell does.
fn split(line: &str) -> Result<Vec<String>, String> {
    let words = shlex::split(line).ok_or_else(|| format!("`{line}`: a quote is not closed"))?;
    match words.first() {
        Some(first) if !first.is_empty() => Ok(words),
        _ => Err("a program is empty; write its command".to_owned()),
    }
}

impl Options {
    /// The axes of policies.
    pub fn axes(&self) -> Vec<Axis> {
        let axes = self.matrix.iter().filter_map(|factor| match factor {
            Factor::Policies(axis) => Some(axis.clone()),
            Factor::Programs(_) => None,
        });
        axes.collect()
    }

    /// The programs, each with the arguments that follow the flags; empty for a single command.
    ///
    /// # Errors
    ///
    /// There is only one program, two have the same name, or another flag cannot be combined with programs.
    pub fn programs(&self) -> Result<Vec<Program>> {
        let mut programs = self.named_programs()?;
        if programs.is_empty() {
            return Ok(programs);
        }
        self.check_programs(&programs)?;
        let arguments = self.command.iter();
        let arguments: Vec<String> = arguments
            .map(|it| it.to_string_lossy().into_owned())
            .collect();
        for program in &mut programs {
            program.command.extend(arguments.iter().cloned());
        }
        Ok(programs)
    }

    fn named_programs(&self) -> Result<Vec<Program>> {
        let mut crossed = self.matrix.iter().filter_map(|factor| match factor {
            Factor::Programs(commands) => Some(commands),
            Factor::Policies(_) => None,
        });
        let first = crossed.next();
        if crossed.next().is_some() || (first.is_some() && !self.program.is_empty()) {
            return Err(exit::usage(
                "the programs are named twice; write --program NAME=CMD for each, or --matrix \
                 program=CMD,CMD once",
            ));
        }
        Ok(first.map_or_else(|| self.program.clone(), |commands| named(commands)))
    }

    fn check_programs(&self, programs: &[Program]) -> Result<()> {
        let refusal = if programs.len() < 2 {
            "one program has nothing to be compared with: name another with --program NAME=CMD, or \
             write: hugewise run -- CMD"
        } else if self.shell {
            "--shell takes one line; with programs write --program \"NAME=sh -c 'LINE'\""
        } else if self.server.service.is_some() {
            "--service is the command; run it once for each program"
        } else {
            return self.check_names(programs);
        };
        Err(exit::usage(refusal))
    }

    fn check_names(&self, programs: &[Program]) -> Result<()> {
        for (at, program) in programs.iter().enumerate() {
            if programs[..at].iter().any(|it| it.name == program.name) {
                return Err(exit::usage(format!(
                    "two programs are called `{}`; give one of them another name",
                    program.name
                )));
            }
        }
        match self.command.first().filter(|word| is_program(word)) {
            None => Ok(()),
            Some(word) => Err(exit::usage(format!(
                "what follows the flags is added to the arguments of each program, and `{0}` is a \
                 program itself; to compare it: --program NAME={0}; as an argument, write it in each \
                 --program",
                word.to_string_lossy()
            ))),
        }
    }

    /// Refuses a program that cannot be found.
    pub fn check_found(&self, programs: &[Program]) -> Result<()> {
        if self.makes_programs() {
            return Ok(());
        }
        programs.iter().try_for_each(|it| {
            let first = it.command.first().map_or("", String::as_str);
            program::find(first.as_ref(), self.directory.as_deref(), "sh -c 'LINE'")
        })
    }
}

/// Returns true if a word is the path of an executable file.
fn is_program(word: &OsString) -> bool {
    let path = Path::new(word);
    let is_path = word.to_string_lossy().contains('/');
    let metadata = std::fs::metadata(path).ok().filter(|_| is_path);
    metadata.is_some_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}

/// Names programs by the last parts of their paths, as few as distinguish them. The same command given twice is a valid
/// question (an A/A test): the second gets a number.
fn named(commands: &[Vec<String>]) -> Vec<Program> {
    let path = |command: &[String]| command.first().cloned().unwrap_or_default();
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    let mut programs = Vec::new();
    for command in commands {
        let own = path(command);
        let others = commands.iter().map(|it| path(it)).filter(|it| *it != own);
        let name = apart(&own, &others.collect::<Vec<_>>()).replace(':', "_");
        let count = counts.entry(name.clone()).or_default();
        *count += 1;
        programs.push(Program {
            name: match count {
                1 => name,
                more => format!("{name} #{more}"),
            },
            command: command.clone(),
        });
    }
    programs
}

/// The shortest end of a path that no other path has.
fn apart(path: &str, others: &[String]) -> String {
    let parts = |path: &str| -> Vec<String> {
        let parts = path.split('/').filter(|part| !matches!(*part, "" | "."));
        parts.map(str::to_owned).collect()
    };
    let own = parts(path);
    let end = |parts: &[String], count: usize| parts[parts.len().saturating_sub(count)..].join("/");
    let alone = |count: &usize| {
        let mut others = others.iter().map(|other| parts(other));
        others.all(|other| end(&other, *count) != end(&own, *count))
    };
    let count = (1..=own.len()).find(alone).unwrap_or(own.len());
    end(&own, count)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &str) -> Vec<String> {
        let factor: Factor = format!("program={list}").parse().expect("programs");
        let Factor::Programs(commands) = factor else {
            panic!("{factor:?}")
        };
        named(&commands).into_iter().map(|it| it.name).collect()
    }

    #[test]
    fn programs_are_called_by_the_ends_of_their_paths() {
        assert_eq!(names("./old,./new --fast"), ["old", "new"]);
        assert_eq!(names("a/bench,b/bench"), ["a/bench", "b/bench"]);
        assert_eq!(names("./x,./x"), ["x", "x #2"]);
        assert_eq!(names("bench,b/bench"), ["bench", "b/bench"]);
    }

    #[test]
    fn a_command_is_split_as_a_shell_would() {
        let program = parse_program("new=./new --title 'a b' c\\ d").expect("a program");
        assert_eq!(program.name, "new");
        assert_eq!(program.command, ["./new", "--title", "a b", "c d"]);
        for (bad, word) in [
            ("./new", "NAME=CMD"),
            ("=./new", "empty"),
            ("a:b=./new", "`:`"),
            ("new=", "empty"),
            ("new=./new 'a", "quote"),
        ] {
            let error = parse_program(bad).expect_err(bad);
            assert!(error.contains(word), "{bad}: {error}");
        }
    }
}
