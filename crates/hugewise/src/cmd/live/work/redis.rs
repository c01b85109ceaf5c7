//! Counts and latencies of Redis.

use hugewise_live::{Histogram, Place, Reply, field_of_info, histogram_of_redis};

use super::connection::Connection;

/// A connection to redis.
#[derive(Debug)]
pub(in crate::cmd::live) struct Redis(Connection);

/// The usual count of work.
const COMMANDS: &str = "total_commands_processed";

impl Redis {
    /// Connects; the password is that of redis-cli.
    pub(in crate::cmd::live) fn connect(place: &Place) -> Result<Self, String> {
        let mut redis = Self(Connection::open(place)?);
        if let Ok(password) = std::env::var("REDISCLI_AUTH") {
            redis.ask(&["AUTH", &password])?;
        }
        Ok(redis)
    }

    /// Asks for a field; without one, for the count of commands.
    pub(super) fn count(&mut self, field: Option<&str>) -> Result<f64, String> {
        let reply = self.ask(&["INFO", "all"])?;
        let text = reply.text().ok_or("it does not answer like redis")?;
        field_of_info(text, field.unwrap_or(COMMANDS))
    }

    /// Asks for the latencies of a command, or of all.
    pub(in crate::cmd::live) fn latencies(
        &mut self,
        command: Option<&str>,
    ) -> Result<Histogram, String> {
        let mut words = vec!["LATENCY", "HISTOGRAM"];
        words.extend(command);
        histogram_of_redis(&self.ask(&words)?)
    }

    /// Sends a command (RESP) and reads the answer.
    fn ask(&mut self, words: &[&str]) -> Result<Reply, String> {
        let mut text = format!("*{}\r\n", words.len());
        for word in words {
            text.push_str(&format!("${}\r\n{word}\r\n", word.len()));
        }
        self.0.write(text.as_bytes())?;
        Reply::read(self.0.answers())
    }
}
