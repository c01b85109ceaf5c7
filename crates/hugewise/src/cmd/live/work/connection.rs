//! A connection to a server that answers with lines.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};

use hugewise_live::Place;

use super::{MOST, PATIENCE};

/// An open connection.
#[derive(Debug)]
pub(super) struct Connection(BufReader<TcpStream>);

impl Connection {
    /// Connects.
    pub(super) fn open(place: &Place) -> Result<Self, String> {
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
                        .map(|()| Self(BufReader::new(stream)))
                        .map_err(|error| error.to_string());
                }
                Err(error) => last = error.to_string(),
            }
        }
        Err(last)
    }

    /// The answers.
    pub(super) fn answers(&mut self) -> &mut impl BufRead {
        &mut self.0
    }

    /// Sends bytes.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), String> {
        let stream = self.0.get_mut();
        stream.write_all(bytes).map_err(|error| error.to_string())
    }

    /// Reads a line.
    pub(super) fn line(&mut self) -> Result<String, String> {
        let mut line = String::new();
        let read = self.0.by_ref().take(MOST as u64).read_line(&mut line);
        match read.map_err(|error| error.to_string())? {
            0 => Err("it closed the connection".to_owned()),
            _ => Ok(line),
        }
    }
}
