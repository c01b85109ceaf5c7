//! A tool that watches a workload, and how to combine the two.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStderr, Command, Stdio};

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};

/// A tool that watches a command, or the machine while the command runs.
pub struct Watcher {
    /// Its name in the table.
    pub name: String,
    /// The data that it delivers.
    pub delivers: String,
    words: Vec<String>,
    takes: Takes,
    /// The factor by which its workload is shorter, for a tool that would take minutes.
    pub shorter: u64,
}

/// How it gets the command.
enum Takes {
    /// As its last words.
    Words,
    /// As its last argument, in one line.
    Line,
    /// Not at all: it watches from the time when stderr contains this text until it is interrupted.
    Nothing(&'static str),
}

impl Watcher {
    /// Creates a watcher that takes the command as its last arguments.
    pub fn before(name: &str, delivers: &str, words: Vec<String>) -> Self {
        Self {
            name: name.to_owned(),
            delivers: delivers.to_owned(),
            words,
            takes: Takes::Words,
            shorter: 1,
        }
    }

    /// Creates a watcher that takes the command as its last argument.
    pub fn around(name: &str, delivers: &str, words: Vec<String>) -> Self {
        Self {
            takes: Takes::Line,
            ..Self::before(name, delivers, words)
        }
    }

    /// Creates a watcher of the machine, active from the time when it prints `begun` until it is interrupted.
    pub fn beside(name: &str, delivers: &str, words: Vec<String>, begun: &'static str) -> Self {
        Self {
            takes: Takes::Nothing(begun),
            ..Self::before(name, delivers, words)
        }
    }

    /// Returns the same watcher with a workload shorter by a factor.
    pub fn shorter_by(self, shorter: u64) -> Self {
        Self { shorter, ..self }
    }

    /// Runs a workload under this watcher.
    pub fn run(&self, workload: Vec<String>) -> Result<()> {
        let Takes::Nothing(begun) = self.takes else {
            return succeed(&self.command(workload));
        };
        let beside = Beside::start(&self.words, begun)?;
        let ran = succeed(&workload);
        beside.end().and(ran)
    }

    fn command(&self, workload: Vec<String>) -> Vec<String> {
        let mut words = self.words.clone();
        match self.takes {
            Takes::Words => words.extend(workload),
            Takes::Line => words.push(workload.join(" ")),
            Takes::Nothing(_) => {}
        }
        words
    }
}

/// Runs a command without input or output.
pub fn succeed(words: &[String]) -> Result<()> {
    let status = quietly(words)?.stderr(Stdio::null()).status();
    let status = status.with_context(|| format!("starting {}", words[0]))?;
    ensure!(status.success(), "failed: {}", words.join(" "));
    Ok(())
}

fn quietly(words: &[String]) -> Result<Command> {
    let (program, rest) = words.split_first().context("no command")?;
    let mut command = Command::new(program);
    command
        .args(rest)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    Ok(command)
}

/// A watcher that runs concurrently with the workload.
struct Beside {
    child: Child,
    /// Held open, so that it never writes to a closed pipe.
    said: BufReader<ChildStderr>,
}

impl Beside {
    fn start(words: &[String], begun: &str) -> Result<Self> {
        let mut child = quietly(words)?.stderr(Stdio::piped()).spawn()?;
        let stderr = child.stderr.take().context("no stderr")?;
        let mut beside = Self {
            child,
            said: BufReader::new(stderr),
        };
        let mut line = String::new();
        while !line.contains(begun) {
            line.clear();
            let read = beside.said.read_line(&mut line)?;
            ensure!(read > 0, "it does not watch: {}", words.join(" "));
        }
        Ok(beside)
    }

    fn end(mut self) -> Result<()> {
        kill_process(Pid::from_child(&self.child), Signal::INT)?;
        std::io::copy(&mut self.said, &mut std::io::sink())?;
        ensure!(self.child.wait()?.success(), "the watcher failed");
        Ok(())
    }
}
