use std::fmt;
use std::str::FromStr;

use regex::RegexBuilder;
use serde::{Deserialize, Serialize};

use super::{CommandLine, Places};

/// How a server is detected as ready.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(try_from = "String", into = "String")]
pub enum Ready {
    /// A connection is accepted.
    Tcp(Address),
    /// A GET of the path returns a status from 200 to 399.
    Http(Address, String),
    /// The regular expression matches the server's output; `^` and `$` match at lines.
    Log(String),
    /// The command, run repeatedly, succeeds.
    Exec(CommandLine),
}

/// A host and a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Name or number; an IPv6 number without its brackets.
    pub host: String,
    /// The port.
    pub port: Port,
}

/// A port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Port {
    /// `{port}`: a free one, found before each trial.
    Found,
    /// Always the same.
    Fixed(u16),
}

impl Address {
    /// The port in one trial.
    #[must_use]
    pub fn port(&self, places: &Places) -> u16 {
        match self.port {
            Port::Found => places.port,
            Port::Fixed(port) => port,
        }
    }
}

impl Ready {
    /// The address of the check, if it uses the network.
    #[must_use]
    pub fn address(&self) -> Option<&Address> {
        match self {
            Self::Tcp(address) | Self::Http(address, _) => Some(address),
            Self::Log(_) | Self::Exec(_) => None,
        }
    }

    /// Returns true if it contains a placeholder anywhere.
    #[must_use]
    pub fn mentions(&self, placeholder: &str) -> bool {
        self.to_string().contains(placeholder)
    }
}

/// Returns true if the pattern of [`Ready::Log`] matches a log.
#[must_use]
pub fn log_says(pattern: &str, log: &[u8]) -> bool {
    let log = String::from_utf8_lossy(log);
    compile(pattern).is_ok_and(|pattern| pattern.is_match(&log))
}

fn compile(pattern: &str) -> Result<regex::Regex, regex::Error> {
    RegexBuilder::new(pattern).multi_line(true).build()
}

impl FromStr for Ready {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fault = || {
            format!(
                "`{text}` does not say when a server is ready; write tcp:PORT, \
                 http://HOST:PORT/PATH, log:REGEX or exec:COMMAND"
            )
        };
        let (kind, rest) = text.trim().split_once(':').ok_or_else(fault)?;
        match kind {
            "tcp" => parse_address(rest).map(Self::Tcp),
            "http" => parse_url(rest).map(|(address, path)| Self::Http(address, path)),
            "https" => Err(format!(
                "`{text}`: https is not spoken here; write exec:'curl -fsk URL'"
            )),
            "log" => match compile(rest) {
                Ok(_) if rest.is_empty() => Err(fault()),
                Ok(_) => Ok(Self::Log(rest.to_owned())),
                Err(error) => Err(format!("log: {error}")),
            },
            "exec" => rest.parse().map(Self::Exec),
            _ => Err(fault()),
        }
    }
}

/// `//HOST:PORT/PATH`, or the same with a repeated `http:` in front.
fn parse_url(rest: &str) -> Result<(Address, String), String> {
    let fault = || format!("`http:{rest}` is not a URL; write http://HOST:PORT/PATH");
    let rest = rest.strip_prefix("http:").unwrap_or(rest);
    let rest = rest.strip_prefix("//").ok_or_else(fault)?;
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    // A line end would start another line of the request.
    if path.chars().any(|c| c.is_control() || c == ' ') || authority.contains('@') {
        return Err(fault());
    }
    let path = if path.starts_with('/') {
        path.to_owned()
    } else {
        format!("/{path}")
    };
    // The default port, if none is given.
    let has_port = authority
        .rsplit_once(':')
        .is_some_and(|(_, port)| !port.contains(']'));
    let address = if has_port {
        parse_address(authority)?
    } else {
        parse_address(&format!("{authority}:80"))?
    };
    Ok((address, path))
}

/// `PORT` or `HOST:PORT`.
fn parse_address(text: &str) -> Result<Address, String> {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) => (host, port),
        None => ("127.0.0.1", text),
    };
    let host = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
        .unwrap_or(host);
    let legal = |c: char| c.is_ascii_alphanumeric() || "-._:".contains(c);
    let port = match port {
        "{port}" => Some(Port::Found),
        number => number.parse().ok().filter(|&n| n > 0).map(Port::Fixed),
    };
    match port {
        Some(port) if !host.is_empty() && host.chars().all(legal) => Ok(Address {
            host: host.to_owned(),
            port,
        }),
        _ => Err(format!(
            "`{text}` is not a port; write PORT, HOST:PORT or {{port}}"
        )),
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:", self.host)?;
        } else {
            write!(f, "{}:", self.host)?;
        }
        match self.port {
            Port::Found => f.write_str("{port}"),
            Port::Fixed(port) => write!(f, "{port}"),
        }
    }
}

impl fmt::Display for Ready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "tcp:{address}"),
            Self::Http(address, path) => write!(f, "http://{address}{path}"),
            Self::Log(pattern) => write!(f, "log:{pattern}"),
            Self::Exec(command) => write!(f, "exec:{}", command.text()),
        }
    }
}

impl From<Ready> for String {
    fn from(ready: Ready) -> Self {
        ready.to_string()
    }
}

impl TryFrom<String> for Ready {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ready(text: &str) -> Ready {
        text.parse().expect(text)
    }

    #[test]
    fn each_kind_is_read() {
        for (text, shown) in [
            ("tcp:6379", "tcp:127.0.0.1:6379"),
            ("tcp:{port}", "tcp:127.0.0.1:{port}"),
            ("tcp:[::1]:80", "tcp:[::1]:80"),
            ("http://localhost:{port}", "http://localhost:{port}/"),
            ("http:http://h:1/a?b", "http://h:1/a?b"),
            ("http://h/x", "http://h:80/x"),
            ("http://[::1]?x", "http://[::1]:80/?x"),
            ("log:ready|done", "log:ready|done"),
            ("exec:test -e {dir}/x", "exec:test -e {dir}/x"),
        ] {
            assert_eq!(ready(text).to_string(), shown);
        }
        let places = Places {
            port: 7,
            dir: String::new(),
        };
        let port = |text: &str| ready(text).address().map(|at| at.port(&places));
        assert_eq!(port("tcp:{port}"), Some(7));
        assert_eq!(port("tcp:9"), Some(9));
        assert_eq!(port("log:x"), None);
    }

    #[test]
    fn what_is_none_of_them_is_refused_with_the_fault() {
        for (text, fault) in [
            ("6379", "tcp:PORT"),
            ("tcp:", "not a port"),
            ("tcp:0", "not a port"),
            ("tcp:70000", "not a port"),
            ("tcp::80", "not a port"),
            ("http:localhost", "not a URL"),
            ("http://h:1/a b", "not a URL"),
            ("http://u@h:1/", "not a URL"),
            ("https://h", "curl"),
            ("log:", "tcp:PORT"),
            ("log:(", "log:"),
            ("exec:", "empty"),
            ("udp:5", "tcp:PORT"),
        ] {
            let error = text.parse::<Ready>().expect_err(text);
            assert!(error.contains(fault), "{text}: {error}");
        }
    }

    #[test]
    fn a_log_is_searched_line_by_line() {
        let log = b"starting\nReady to accept connections\nmore\xff";
        assert!(log_says("^Ready", log) && log_says("connections$", log));
        assert!(!log_says("^to", log));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused_and_comes_back(text in "(tcp|http|log|exec|):.*") {
            if let Ok(ready) = text.parse::<Ready>() {
                prop_assert_eq!(ready.to_string().parse::<Ready>(), Ok(ready));
            }
        }
    }
}
