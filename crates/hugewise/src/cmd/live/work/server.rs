//! Counts of servers and commands.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use hugewise_live::{Place, field_of_info, field_of_stats, printed_count, sample_of_metrics};

use crate::http::{Endpoint, Question};
use crate::invoker;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long an answer may be, in bytes.
const MOST: usize = 16 << 20;

/// A connection to a server that answers with lines.
#[derive(Debug)]
pub(super) struct Server {
    stream: BufReader<TcpStream>,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Redis { field: String },
    Memcached { fields: Vec<String> },
}

/// The commands of memcached, whose sum is its work.
const COMMANDS: [&str; 5] = ["cmd_get", "cmd_set", "cmd_touch", "cmd_flush", "cmd_meta"];

impl Server {
    /// Connects to redis.
    pub(super) fn redis(place: &Place) -> Result<Self, String> {
        let field = place.field.as_deref().unwrap_or("total_commands_processed");
        let mut server = Self {
            stream: connect(place)?,
            kind: Kind::Redis {
                field: field.to_owned(),
            },
        };
        if let Ok(password) = std::env::var("REDISCLI_AUTH") {
            server.send(&["AUTH", &password])?;
            server.line()?;
        }
        Ok(server)
    }

    /// Connects to memcached.
    pub(super) fn memcached(place: &Place) -> Result<Self, String> {
        let fields = match &place.field {
            Some(field) => vec![field.clone()],
            None => COMMANDS.map(str::to_owned).to_vec(),
        };
        Ok(Self {
            stream: connect(place)?,
            kind: Kind::Memcached { fields },
        })
    }

    /// Asks for the count.
    pub(super) fn read(&mut self) -> Result<f64, String> {
        match &self.kind {
            Kind::Redis { field } => {
                let field = field.clone();
                self.send(&["INFO", "all"])?;
                field_of_info(&self.bulk()?, &field)
            }
            Kind::Memcached { fields } => {
                let fields = fields.clone();
                let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
                self.write(b"stats\r\n")?;
                field_of_stats(&self.until_end()?, &fields)
            }
        }
    }

    /// Sends a command of redis (RESP).
    fn send(&mut self, words: &[&str]) -> Result<(), String> {
        let mut text = format!("*{}\r\n", words.len());
        for word in words {
            text.push_str(&format!("${}\r\n{word}\r\n", word.len()));
        }
        self.write(text.as_bytes())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.stream
            .get_mut()
            .write_all(bytes)
            .map_err(|error| error.to_string())
    }

    fn line(&mut self) -> Result<String, String> {
        let mut line = String::new();
        let read = self.stream.by_ref().take(MOST as u64).read_line(&mut line);
        match read.map_err(|error| error.to_string())? {
            0 => Err("it closed the connection".to_owned()),
            _ if line.starts_with('-') => Err(format!("it answers: {}", line[1..].trim_end())),
            _ => Ok(line),
        }
    }

    /// Reads a bulk string of redis.
    fn bulk(&mut self) -> Result<String, String> {
        let head = self.line()?;
        let length = head
            .strip_prefix('$')
            .and_then(|it| it.trim_end().parse::<usize>().ok());
        let length = length.filter(|length| *length <= MOST);
        let length = length.ok_or("it does not answer like redis")?;
        let mut bytes = vec![0; length + 2];
        self.stream
            .read_exact(&mut bytes)
            .map_err(|error| error.to_string())?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Reads the lines of memcached up to the last.
    fn until_end(&mut self) -> Result<String, String> {
        let mut text = String::new();
        while text.len() < MOST {
            let line = self.line()?;
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

fn connect(place: &Place) -> Result<BufReader<TcpStream>, String> {
    let addresses = (place.host.as_str(), place.port).to_socket_addrs();
    let addresses = addresses.map_err(|error| error.to_string())?;
    let mut last = "its name has no address".to_owned();
    for address in addresses {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(stream) => {
                let set = stream
                    .set_read_timeout(Some(PATIENCE))
                    .and_then(|()| stream.set_nodelay(true));
                return set
                    .map(|()| BufReader::new(stream))
                    .map_err(|error| error.to_string());
            }
            Err(error) => last = error.to_string(),
        }
    }
    Err(last)
}

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
    pub(super) fn read(&mut self) -> Result<f64, String> {
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

/// A question for each reading.
#[derive(Debug)]
pub(super) enum Ask {
    /// A page of metrics.
    Http {
        endpoint: Endpoint,
        path: String,
        metric: String,
    },
    /// A line for the shell.
    Command { line: String },
}

impl Ask {
    /// A page of metrics.
    pub(super) fn http(url: &str, metric: &str) -> Result<Self, String> {
        let endpoint: Endpoint = url.parse()?;
        let behind = url.trim_start_matches("http://");
        let path = behind.find('/').map_or("/", |at| &behind[at..]);
        Ok(Self::Http {
            endpoint,
            path: path.to_owned(),
            metric: metric.to_owned(),
        })
    }

    /// A command that prints the count.
    pub(super) fn command(line: &str) -> Self {
        Self::Command {
            line: line.to_owned(),
        }
    }

    /// Asks.
    pub(super) fn read(&self) -> Result<f64, String> {
        match self {
            Self::Http {
                endpoint,
                path,
                metric,
            } => {
                let answer = endpoint.ask(Question {
                    path,
                    body: None,
                    patience: PATIENCE,
                    most: MOST,
                });
                let answer = answer.map_err(|error| format!("{error:#}"))?;
                match answer.status.is_success() {
                    true => sample_of_metrics(&String::from_utf8_lossy(&answer.body), metric),
                    false => Err(format!("it answers {}", answer.status)),
                }
            }
            Self::Command { line } => {
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
        }
    }
}

/// Has a command of the user run with the rights of the invoking user.
fn as_invoker(command: &mut Command) -> Result<(), String> {
    let rights = invoker::rights().map_err(|error| format!("{error:#}"))?;
    rights.give_to(command);
    Ok(())
}
