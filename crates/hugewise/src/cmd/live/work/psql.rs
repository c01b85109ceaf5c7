//! Counts of PostgreSQL, by psql.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use hugewise_live::printed_count;

use super::as_invoker;

/// A psql that stays connected.
#[derive(Debug)]
pub(super) struct Psql {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

/// The transactions of all databases.
const TRANSACTIONS: &[u8] = b"SELECT sum(xact_commit + xact_rollback) FROM pg_stat_database;\n";

impl Psql {
    /// Starts psql.
    pub(super) fn connect(connection: &str) -> Result<Self, String> {
        let mut command = Command::new("psql");
        command.args(["-XAtqw", "-v", "ON_ERROR_STOP=1", "-d", connection]);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        as_invoker(&mut command)?;
        let mut child = command
            .spawn()
            .map_err(|error| format!("starting psql: {error}"))?;
        let (Some(to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("psql has no pipe".to_owned());
        };
        Ok(Self {
            child,
            to,
            from: BufReader::new(from),
        })
    }

    /// Asks for the count.
    pub(super) fn count(&mut self) -> Result<f64, String> {
        let ended = "psql ended; try its connection by hand: psql -d DSN";
        self.to
            .write_all(TRANSACTIONS)
            .map_err(|_| ended.to_owned())?;
        let mut line = String::new();
        match self.from.read_line(&mut line) {
            Ok(1..) => printed_count(&line),
            _ => Err(ended.to_owned()),
        }
    }
}

impl Drop for Psql {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
