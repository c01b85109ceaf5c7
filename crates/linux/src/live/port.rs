//! The TCP ports at which a process waits for connections.

use std::collections::BTreeMap;
use std::fs;

use crate::machine::root::Root;

/// A listening socket of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ListeningPort {
    /// Its port.
    pub port: u16,
}

/// Returns the listening sockets of a process, by rising port; none if its descriptors may not be read.
#[must_use]
pub fn listeners(root: &Root, pid: u32) -> Vec<ListeningPort> {
    let tables = ["tcp", "tcp6"].map(|name| root.read(format!("proc/{pid}/net/{name}")));
    let tables = tables.into_iter().filter_map(Result::ok);
    let ports: BTreeMap<String, u16> = tables.flat_map(|table| parse(&table)).collect();
    let folder = format!("proc/{pid}/fd");
    let descriptors = root.list(&folder).unwrap_or_default().into_iter();
    let own = descriptors.filter_map(|name| {
        let target = fs::read_link(root.path(&folder).join(name)).ok()?;
        let inode = target
            .to_str()?
            .strip_prefix("socket:[")?
            .strip_suffix(']')?;
        ports.get(inode).copied()
    });
    let mut found: Vec<ListeningPort> = own.map(|port| ListeningPort { port }).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// Returns the inode and port of each listening socket in a table (Documentation/networking/proc_net_tcp.rst).
fn parse(table: &[u8]) -> Vec<(String, u16)> {
    const LISTENING: &str = "0A";
    let text = String::from_utf8_lossy(table);
    let socket = |line: &str| {
        let columns: Vec<&str> = line.split_ascii_whitespace().collect();
        let (local, state, inode) = (columns.get(1)?, columns.get(3)?, columns.get(9)?);
        let port = u16::from_str_radix(local.rsplit_once(':')?.1, 16).ok()?;
        (*state == LISTENING).then(|| ((*inode).to_owned(), port))
    };
    text.lines().filter_map(socket).collect()
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn our_own_port_is_found() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let found = listeners(&Root::real(), std::process::id());
        assert!(found.contains(&ListeningPort { port }), "{found:?}");
        drop(listener);
        assert!(!listeners(&Root::real(), std::process::id()).contains(&ListeningPort { port }));
        assert!(parse(b"\xff\n0A 0A 0A 0A").is_empty());
    }
}
