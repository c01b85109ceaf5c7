//! Counts of memcached.

use hugewise_live::{Place, field_of_stats};

use super::MOST;
use super::connection::Connection;

/// A connection to memcached.
#[derive(Debug)]
pub(super) struct Memcached(Connection);

/// The commands, whose sum is the work.
const COMMANDS: [&str; 5] = ["cmd_get", "cmd_set", "cmd_touch", "cmd_flush", "cmd_meta"];

impl Memcached {
    /// Connects.
    pub(super) fn connect(place: &Place) -> Result<Self, String> {
        Connection::open(place).map(Self)
    }

    /// Asks for a field; without one, for the count of all commands.
    pub(super) fn count(&mut self, field: Option<&str>) -> Result<f64, String> {
        self.0.write(b"stats\r\n")?;
        let text = self.until_end()?;
        match field {
            Some(field) => field_of_stats(&text, &[field]),
            None => field_of_stats(&text, &COMMANDS),
        }
    }

    /// Reads the lines up to the last.
    fn until_end(&mut self) -> Result<String, String> {
        let mut text = String::new();
        while text.len() < MOST {
            let line = self.0.line()?;
            if line.starts_with("ERROR") {
                return Err("it does not answer like memcached".to_owned());
            }
            if line.trim_end() == "END" {
                return Ok(text);
            }
            text.push_str(&line);
        }
        Err("its answer is too long".to_owned())
    }
}
