//! Questions of one answer each: a page of metrics, and a command that prints a number.

use std::process::{Command, Stdio};

use hugewise_live::printed_count;

use super::{MOST, PATIENCE, as_invoker};
use crate::http::{Endpoint, Question};

/// A page of metrics.
#[derive(Debug)]
pub(in crate::cmd::live) struct Page {
    endpoint: Endpoint,
    path: String,
}

impl Page {
    /// Parses its address.
    pub(in crate::cmd::live) fn new(url: &str) -> Result<Self, String> {
        let behind = url.trim_start_matches("http://");
        let path = behind.find('/').map_or("/", |at| &behind[at..]);
        Ok(Self {
            endpoint: url.parse()?,
            path: path.to_owned(),
        })
    }

    /// Asks for its text.
    pub(in crate::cmd::live) fn text(&self) -> Result<String, String> {
        let answer = self.endpoint.ask(Question {
            path: &self.path,
            body: None,
            patience: PATIENCE,
            most: MOST,
        });
        let answer = answer.map_err(|error| format!("{error:#}"))?;
        match answer.status.is_success() {
            true => Ok(String::from_utf8_lossy(&answer.body).into_owned()),
            false => Err(format!("it answers {}", answer.status)),
        }
    }
}

/// Runs a command that prints the count.
pub(super) fn count_of_command(line: &str) -> Result<f64, String> {
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", line])
        .stdin(Stdio::null())
        .stderr(Stdio::null());
    as_invoker(&mut command)?;
    let output = command.output().map_err(|error| error.to_string())?;
    match output.status.success() {
        true => printed_count(&String::from_utf8_lossy(&output.stdout)),
        false => Err(format!("it ends with {}", output.status)),
    }
}
