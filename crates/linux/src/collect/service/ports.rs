//! Free TCP ports.

use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;

use crate::machine::error::{Error, Result};

/// Returns a port that is free now on every address of the machine.
pub(super) fn free() -> Result<u16> {
    let bound = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0));
    let address = bound.and_then(|listener| listener.local_addr());
    let port = address.map(|address| address.port());
    port.map_err(|error| Error::io("looking for a free port below", Path::new("/"), error))
}

/// Returns true if a server could listen on the port.
pub(super) fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_free_until_it_is_taken() {
        let port = free().unwrap();
        let taken = TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).unwrap();
        assert!(!is_free(port));
        drop(taken);
        assert!(is_free(port));
    }
}
