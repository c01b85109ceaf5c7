//! A plant of the laboratory, held until it is released.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};

use hugewise_lab::plant::{Need, Plant};

use crate::ground::{Beds, NOBODY, Role};

/// An established plant.
pub struct Raised {
    child: Child,
    stdin: Option<ChildStdin>,
    /// The process that holds it.
    pub pid: u32,
    /// First address.
    pub start: u64,
    /// End address (exclusive).
    pub end: u64,
}

/// Why there is no plant, or no longer one.
pub enum Refused {
    /// This machine does not support it.
    NotHere(String),
    /// It was not established, or did not last.
    Spoilt(String),
}

impl Raised {
    /// Starts the laboratory and waits for its line.
    pub fn plant(beds: &Beds, plant: &Plant, role: Role) -> Result<Self, Refused> {
        let mut child = command(beds, plant, role)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the laboratory");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("its output");
        BufReader::new(stdout).read_line(&mut line).expect("a line");
        let stdin = child.stdin.take();
        let mut raised = Self {
            child,
            stdin,
            pid: 0,
            start: 0,
            end: 0,
        };
        match parse_line(&line, plant.name) {
            Some((pid, start, end)) => {
                (raised.pid, raised.start, raised.end) = (pid, start, end);
                Ok(raised)
            }
            None => Err(raised.let_go().expect_err("a line or a reason")),
        }
    }

    /// Closes its input; the laboratory checks once more and ends.
    pub fn let_go(mut self) -> Result<(), Refused> {
        drop(self.stdin.take());
        let mut told = String::new();
        let mut stderr = self.child.stderr.take().expect("its messages");
        stderr.read_to_string(&mut told).expect("text");
        let status = self.child.wait().expect("the laboratory's end");
        let reason = told.trim().trim_start_matches("hugewise-lab: ").to_owned();
        match status.code() {
            Some(0) => Ok(()),
            Some(3) => Err(Refused::Spoilt(reason)),
            Some(4) => {
                let reason = reason.trim_start_matches("not on this machine: ");
                Err(Refused::NotHere(reason.to_owned()))
            }
            other => panic!("the laboratory ended with {other:?}: {told}"),
        }
    }
}

impl Drop for Raised {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let _ = self.child.wait();
    }
}

/// `plant NAME PID START-END`.
fn parse_line(line: &str, name: &str) -> Option<(u32, u64, u64)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let ["plant", planted, pid, span] = words[..] else {
        return None;
    };
    assert_eq!(planted, name);
    let (start, end) = span.split_once('-')?;
    let address = |word| u64::from_str_radix(word, 16).ok();
    Some((pid.parse().ok()?, address(start)?, address(end)?))
}

/// Runs in its own cgroup if needed: the shell enters it and executes the laboratory.
fn command(beds: &Beds, plant: &Plant, role: Role) -> Command {
    let mut command = if plant.needs.contains(&Need::Group) {
        let mut shell = Command::new("/bin/sh");
        shell
            .args(["-c", "echo $$ > \"$0\" && exec \"$@\""])
            .arg(beds.group().join("cgroup.procs"))
            .arg(beds.lab());
        shell
    } else {
        Command::new(beds.lab())
    };
    command
        .args(["plant", plant.name, "--hold-until-stdin-closes", "--folder"])
        .arg(beds.folder(plant));
    if std::env::var_os("HUGEWISE_ALL_MEMORY").is_some() {
        command.arg("--all-memory");
    }
    if role == Role::Nobody {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}
