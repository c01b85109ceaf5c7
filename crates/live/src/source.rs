//! Sources of a count of work: `--work`.

use std::fmt;
use std::str::FromStr;

/// A source of a number that grows as the process works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A field of `INFO` of Redis.
    Redis(Place),
    /// A field of `stats` of memcached.
    Memcached(Place),
    /// Committed transactions of PostgreSQL, by psql.
    Postgres {
        /// The connection, as psql takes it.
        connection: String,
    },
    /// A metric in the text format of Prometheus.
    Http {
        /// The address, which begins with `http://`.
        url: String,
        /// The name of the metric, with labels in braces for one series.
        metric: String,
    },
    /// A command that prints the number.
    Command {
        /// A line for the shell.
        line: String,
    },
    /// Calls of a function.
    Uprobe {
        /// The program or library.
        file: String,
        /// The function.
        symbol: String,
    },
    /// Hits of a static probe (USDT).
    Usdt {
        /// The program or library.
        file: String,
        /// The provider of the probe.
        provider: String,
        /// The name of the probe.
        name: String,
    },
    /// System calls, all or those named.
    Syscalls {
        /// Their names; empty for all.
        names: Vec<String>,
    },
    /// Instructions in user mode.
    Instructions,
    /// Bytes read and written (`rchar` and `wchar` of /proc/PID/io).
    Io,
}

/// A server, and one of its counters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The name or address of the host.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The counter; `None` for the usual one.
    pub field: Option<String>,
}

/// The forms of all sources, as an error lists them.
pub const FORMS: &str = "redis:[HOST:]PORT[#FIELD], memcached:[HOST:]PORT[#FIELD], postgres:DSN, http://HOST/PATH#METRIC, \
     cmd:COMMAND, uprobe:FILE:SYMBOL, usdt:FILE:PROVIDER:NAME, syscalls[:NAME,NAME], instructions, io";

/// The host of a port without one.
const HERE: &str = "127.0.0.1";

impl Place {
    /// Returns the place of a port on this machine.
    #[must_use]
    pub fn here(port: u16) -> Self {
        Self {
            host: HERE.to_owned(),
            port,
            field: None,
        }
    }

    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (place, field) = match text.split_once('#') {
            Some((_, "")) => return Err("it names no field behind #".to_owned()),
            Some((place, field)) => (place, Some(field.to_owned())),
            None => (text, None),
        };
        let (host, port) = place.rsplit_once(':').unwrap_or((HERE, place));
        let host = host.trim_matches(['[', ']']);
        let port = port.parse().ok().filter(|port| *port != 0);
        match (port, host) {
            (Some(_), "") => Err("it names no host before the port".to_owned()),
            (Some(port), host) => Ok(Self {
                host: host.to_owned(),
                port,
                field,
            }),
            (None, _) => Err(format!("`{place}` has no port from 1 to 65535")),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.host.as_str(), self.host.contains(':')) {
            (HERE, _) => {}
            (host, true) => write!(f, "[{host}]:")?,
            (host, false) => write!(f, "{host}:")?,
        }
        write!(f, "{}", self.port)?;
        match &self.field {
            Some(field) => write!(f, "#{field}"),
            None => Ok(()),
        }
    }
}

impl Source {
    /// Returns the name of what is counted, in the plural.
    #[must_use]
    pub fn unit(&self) -> String {
        match self {
            Self::Redis(Place { field: None, .. }) | Self::Memcached(Place { field: None, .. }) => {
                "commands".to_owned()
            }
            Self::Redis(Place { field, .. }) | Self::Memcached(Place { field, .. }) => {
                field.clone().unwrap_or_default()
            }
            Self::Postgres { .. } => "transactions".to_owned(),
            Self::Http { metric, .. } => {
                let name = metric.split('{').next().unwrap_or(metric);
                name.trim_end_matches("_total").to_owned()
            }
            Self::Command { .. } => "units".to_owned(),
            Self::Uprobe { symbol, .. } => format!("calls of {symbol}"),
            Self::Usdt { name, .. } => format!("hits of {name}"),
            Self::Syscalls { names } if names.is_empty() => "system calls".to_owned(),
            Self::Syscalls { names } => names.join("+"),
            Self::Instructions => "instructions".to_owned(),
            Self::Io => "bytes".to_owned(),
        }
    }

    /// Returns how late work is counted, in seconds. A session of PostgreSQL reports its transactions once a second at
    /// most (PGSTAT_MIN_INTERVAL, pgstat.c).
    #[must_use]
    pub fn delay(&self) -> f64 {
        match self {
            Self::Postgres { .. } => 1.0,
            _ => 0.0,
        }
    }

    /// Returns how long a period must be for a true count, in seconds: several times the delay of the source. The
    /// kernel counts at once.
    #[must_use]
    pub fn least_period(&self) -> f64 {
        match self {
            Self::Postgres { .. } => 5.0,
            Self::Io
            | Self::Syscalls { .. }
            | Self::Uprobe { .. }
            | Self::Usdt { .. }
            | Self::Instructions => 0.25,
            _ => 0.5,
        }
    }

    /// Returns the caveat of a source that may grow without useful work.
    #[must_use]
    pub fn caveat(&self) -> Option<&'static str> {
        match self {
            Self::Instructions => Some("a loop that waits counts as work"),
            Self::Syscalls { names } if names.is_empty() => {
                Some("calls that only wait count as work")
            }
            _ => None,
        }
    }
}

impl FromStr for Source {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |why: &str| format!("`{text}`: {why}");
        let (word, rest) = text.split_once(':').unwrap_or((text, ""));
        match (word, rest) {
            ("redis", rest) => Place::parse(rest).map(Self::Redis),
            ("memcached", rest) => Place::parse(rest).map(Self::Memcached),
            ("postgres" | "postgresql", "") => {
                Err("write postgres:DSN, as psql takes it".to_owned())
            }
            ("postgres" | "postgresql", _) => Ok(Self::Postgres {
                connection: text
                    .strip_prefix("postgres:")
                    .filter(|it| !it.starts_with("//"))
                    .unwrap_or(text)
                    .to_owned(),
            }),
            ("http", _) => metric_of_url(text).map(|(url, metric)| Self::Http { url, metric }),
            ("cmd", "") => Err("write cmd:COMMAND".to_owned()),
            ("cmd", line) => Ok(Self::Command {
                line: line.to_owned(),
            }),
            ("uprobe", rest) => match rest.rsplit_once(':') {
                Some((file, symbol)) if !file.is_empty() && !symbol.is_empty() => {
                    Ok(Self::Uprobe {
                        file: file.to_owned(),
                        symbol: symbol.to_owned(),
                    })
                }
                _ => Err("write uprobe:FILE:SYMBOL".to_owned()),
            },
            ("usdt", rest) => usdt(rest),
            ("syscalls", _) => Ok(Self::Syscalls {
                names: rest
                    .split(',')
                    .filter(|it| !it.is_empty())
                    .map(str::to_owned)
                    .collect(),
            }),
            ("instructions", "") => Ok(Self::Instructions),
            ("io", "") => Ok(Self::Io),
            _ => Err(format!("no such source; write one of {FORMS}")),
        }
        .map_err(|why| wrong(&why))
    }
}

/// Returns the address and the metric of `http://HOST/PATH#METRIC`.
pub(crate) fn metric_of_url(text: &str) -> Result<(String, String), String> {
    let (url, metric) = text.split_once('#').unwrap_or((text, ""));
    if !url.starts_with("http://") {
        return Err("write http://HOST[:PORT]/PATH#METRIC".to_owned());
    }
    if metric.is_empty() {
        return Err("it names no metric behind #".to_owned());
    }
    Ok((url.to_owned(), metric.to_owned()))
}

fn usdt(text: &str) -> Result<Source, String> {
    let mut parts = text.rsplitn(3, ':');
    match (parts.next(), parts.next(), parts.next()) {
        (Some(name), Some(provider), Some(file))
            if ![name, provider, file].iter().any(|it| it.is_empty()) =>
        {
            Ok(Source::Usdt {
                file: file.to_owned(),
                provider: provider.to_owned(),
                name: name.to_owned(),
            })
        }
        _ => Err("write usdt:FILE:PROVIDER:NAME".to_owned()),
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Redis(place) => write!(f, "redis:{place}"),
            Self::Memcached(place) => write!(f, "memcached:{place}"),
            Self::Postgres { connection } if connection.starts_with("postgres") => {
                f.write_str(connection)
            }
            Self::Postgres { connection } => write!(f, "postgres:{connection}"),
            Self::Http { url, metric } => write!(f, "{url}#{metric}"),
            Self::Command { line } => write!(f, "cmd:{line}"),
            Self::Uprobe { file, symbol } => write!(f, "uprobe:{file}:{symbol}"),
            Self::Usdt {
                file,
                provider,
                name,
            } => write!(f, "usdt:{file}:{provider}:{name}"),
            Self::Syscalls { names } if names.is_empty() => f.write_str("syscalls"),
            Self::Syscalls { names } => write!(f, "syscalls:{}", names.join(",")),
            Self::Instructions => f.write_str("instructions"),
            Self::Io => f.write_str("io"),
        }
    }
}
