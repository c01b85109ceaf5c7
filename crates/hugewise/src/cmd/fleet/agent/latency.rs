//! A latency that a command of the plan prints.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use hugewise_model::fleet::guardrail;

use crate::stderr::message;

/// A command that takes longer is killed; the arm would wait for it.
const PATIENCE: Duration = Duration::from_secs(5);

/// The command, and whether its failure was said.
pub(super) struct Latency<'a> {
    asked: Option<&'a guardrail::Latency>,
    said: bool,
}

impl<'a> Latency<'a> {
    pub(super) fn new(asked: Option<&'a guardrail::Latency>) -> Self {
        Self { asked, said: false }
    }

    /// Its seconds now; none where the command fails, which is said once a period.
    pub(super) fn read(&mut self) -> Option<f64> {
        let asked = self.asked?;
        match run(&asked.command) {
            Ok(seconds) => Some(seconds),
            Err(why) => {
                if !self.said {
                    message(format_args!(
                        "the command of p99, {:?}: {why}",
                        asked.command
                    ));
                }
                self.said = true;
                None
            }
        }
    }
}

fn run(command: &[String]) -> Result<f64, String> {
    let (program, arguments) = command.split_first().ok_or("it is empty")?;
    let child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut child = child.map_err(|error| error.to_string())?;
    wait(&mut child)?;
    let mut text = String::new();
    let stdout = child.stdout.take().ok_or("it has no output")?;
    let read = stdout.take(4096).read_to_string(&mut text);
    read.map_err(|error| error.to_string())?;
    let seconds: f64 = text
        .trim()
        .parse()
        .map_err(|_| format!("`{}` is not a number of seconds", text.trim()))?;
    match seconds.is_finite() {
        true => Ok(seconds),
        false => Err(format!("{seconds} is not a number of seconds")),
    }
}

fn wait(child: &mut Child) -> Result<(), String> {
    let began = Instant::now();
    loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => return Err(status.to_string()),
            None if began.elapsed() < PATIENCE => sleep(Duration::from_millis(10)),
            None => {
                // It may have ended meanwhile.
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("it took more than {} s", PATIENCE.as_secs()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(line: &str) -> Result<f64, String> {
        run(&["sh", "-c", line].map(str::to_owned))
    }

    #[test]
    fn a_command_prints_seconds_or_says_why_not() {
        assert_eq!(sh("echo 0.25"), Ok(0.25));
        assert!(sh("echo soon").unwrap_err().contains("`soon`"));
        assert!(sh("echo inf").is_err());
        assert!(sh("exit 3").unwrap_err().contains('3'));
        assert!(run(&["/no/such/program".to_owned()]).is_err());
    }
}
