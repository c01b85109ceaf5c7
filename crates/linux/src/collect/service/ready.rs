//! Polls a server until it is ready.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use hugewise_experiment::run::plan::service::{
    Address, CommandLine, Places, Port, Ready, log_says,
};

use super::{Attempt, Halt, Server, Step};
use crate::machine::error::Result;

/// The first and the longest pause between two checks, and that for checks that start a process.
const FIRST: Duration = Duration::from_millis(1);
const LONGEST: Duration = Duration::from_millis(20);
const LONGEST_EXEC: Duration = Duration::from_millis(100);
/// The time limit for one check over the network.
const ANSWER: Duration = Duration::from_secs(2);
/// How many bytes of the log are searched, from its end.
const SEARCHED: usize = 1 << 20;

/// Checks whether another program already answers before the server is started: it would receive the load.
pub(super) fn stranger(ready: &Ready) -> Option<String> {
    let address = ready
        .address()
        .filter(|address| address.port != Port::Found)?;
    let nobody = Places {
        port: 0,
        dir: String::new(),
    };
    connect(address, &nobody, ANSWER).map(|_| {
        format!(
            "{address} is in use before the service starts: end that program, or write {{port}} \
             for a free port"
        )
    })
}

impl Attempt<'_> {
    /// Waits until the server is ready; returns how long it took.
    pub(super) fn wait_until_ready(&self, server: &mut Server) -> Step<Duration> {
        let plan = self.service.plan;
        let longest = match plan.ready {
            Ready::Exec(_) => LONGEST_EXEC,
            _ => LONGEST,
        };
        let mut pause = FIRST;
        loop {
            let left = plan.ready_timeout.saturating_sub(server.born.elapsed());
            let ready = self.asks(&plan.ready, server, left)?;
            let took = server.born.elapsed();
            if self.interrupted() {
                return Ok(Err(Halt::Interrupted));
            }
            if server.has_ended(if ready { Duration::ZERO } else { pause })? {
                let how = server.how();
                let hint = match server.has_left() {
                    true => {
                        "; a server that goes on in the background must run in the foreground here, by an option such as `--daemonize no`"
                    }
                    false => "",
                };
                return Ok(Err(Halt::service(format!(
                    "the service ended before it was ready: {how}{hint}"
                ))));
            }
            if ready {
                return Ok(Ok(took));
            }
            if took >= plan.ready_timeout {
                return Ok(Err(Halt::service(self.never_ready())));
            }
            pause = (pause * 3 / 2).min(longest);
        }
    }

    fn never_ready(&self) -> String {
        let plan = self.service.plan;
        format!(
            "the service was not ready within {} s ({}); allow more with --ready-timeout",
            plan.ready_timeout.as_secs_f64(),
            self.places.fill(&plan.ready.to_string())
        )
    }

    fn asks(&self, ready: &Ready, server: &Server, left: Duration) -> Result<bool> {
        let limit = left.clamp(FIRST, ANSWER);
        Ok(match ready {
            Ready::Tcp(address) => connect(address, &self.places, limit).is_some(),
            Ready::Http(address, path) => {
                let path = self.places.fill(path);
                connect(address, &self.places, limit)
                    .is_some_and(|stream| answers(stream, address, &path, limit))
            }
            Ready::Log(pattern) => log_says(
                &self.places.fill(pattern),
                &server.running.log_so_far(SEARCHED),
            ),
            Ready::Exec(line) => self.succeeds(line, left.max(FIRST))?,
        })
    }

    fn succeeds(&self, line: &CommandLine, limit: Duration) -> Result<bool> {
        self.run_beside(line, limit)
    }
}

/// Connects to any of the addresses of a host.
fn connect(address: &Address, places: &Places, limit: Duration) -> Option<TcpStream> {
    let found = (address.host.as_str(), address.port(places)).to_socket_addrs();
    let mut all = found.ok()?;
    all.find_map(|one: SocketAddr| TcpStream::connect_timeout(&one, limit).ok())
}

/// Returns true if the response to a GET has a status from 200 to 399.
fn answers(mut stream: TcpStream, address: &Address, path: &str, limit: Duration) -> bool {
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {}\r\nUser-Agent: hugewise\r\nConnection: close\r\n\r\n",
        address.host
    );
    let timed = stream.set_write_timeout(Some(limit)).is_ok();
    if !timed || stream.write_all(request.as_bytes()).is_err() {
        return false;
    }
    let head = read_head(&mut stream, limit);
    status(&head).is_some_and(|status| (200..400).contains(&status))
}

/// Reads the first bytes of a response, enough for its status.
fn read_head(stream: &mut TcpStream, limit: Duration) -> Vec<u8> {
    const ENOUGH: usize = 64;
    let since = Instant::now();
    let mut head = Vec::new();
    let mut buffer = [0; ENOUGH];
    while head.len() < ENOUGH && !head.contains(&b'\n') {
        let left = limit.saturating_sub(since.elapsed());
        if left.is_zero() || stream.set_read_timeout(Some(left)).is_err() {
            break;
        }
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => break,
            Ok(count) => head.extend_from_slice(&buffer[..count]),
        }
    }
    head
}

/// Parses the status of `HTTP/1.1 200 OK`.
fn status(head: &[u8]) -> Option<u16> {
    let text = std::str::from_utf8(head.get(..12)?).ok()?;
    text.strip_prefix("HTTP/1.")?.get(2..)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_status_of_an_answer_is_read() {
        assert_eq!(status(b"HTTP/1.1 200 OK\r\n"), Some(200));
        assert_eq!(status(b"HTTP/1.0 503\r\n"), Some(503));
        for bad in [&b"HTTP/1.1 20"[..], b"SSH-2.0-OpenSSH", b"HTTP/1.1 x00 OK"] {
            assert_eq!(status(bad), None);
        }
    }

    #[test]
    fn an_answer_in_pieces_is_an_answer_and_an_error_is_none() {
        for (pieces, good) in [
            (&["HTT", "P/1.1 204", " No\r\n\r\n"][..], true),
            (&["HTTP/1.1 500 Oops\r\n\r\n"], false),
            (&[""], false),
        ] {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let port = listener.local_addr().unwrap().port();
            let server = thread::spawn(move || {
                let (mut stream, _) = listener.accept().unwrap();
                let mut asked = [0; 512];
                let _ = stream.read(&mut asked);
                for piece in pieces {
                    stream.write_all(piece.as_bytes()).unwrap();
                    thread::sleep(Duration::from_millis(5));
                }
            });
            let address = Address {
                host: "localhost".to_owned(),
                port: Port::Fixed(port),
            };
            let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
            assert_eq!(answers(stream, &address, "/", ANSWER), good, "{pieces:?}");
            server.join().unwrap();
        }
    }

    #[test]
    fn a_stranger_at_a_fixed_port_is_seen() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let ready: Ready = format!("tcp:{port}").parse().unwrap();
        assert!(stranger(&ready).unwrap().contains(&port.to_string()));
        drop(listener);
        assert_eq!(stranger(&ready), None);
        assert_eq!(stranger(&"tcp:{port}".parse().unwrap()), None);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = status(&bytes);
        }
    }
}
