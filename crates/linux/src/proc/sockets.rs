//! Sockets of a process, from `/proc/PID/net/tcp` and the links of `/proc/PID/fd`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::machine::root::Root;

/// `TCP_LISTEN` (include/net/tcp_states.h) in the notation of the table.
const LISTENING: &str = "0A";

/// Returns true if a process waits for TCP connections; false if its descriptors may not be read.
#[must_use]
pub fn awaits_connections(root: &Root, pid: u32) -> bool {
    listening(root, pid).next().is_some()
}

/// Returns the TCP ports at which a process waits for connections, ascending; empty if its descriptors may not be read.
#[must_use]
pub fn listening_ports(root: &Root, pid: u32) -> Vec<u16> {
    let ports: BTreeSet<u16> = listening(root, pid).collect();
    ports.into_iter().collect()
}

/// Returns the port of each descriptor that refers to a listening socket in the process's network namespace.
fn listening(root: &Root, pid: u32) -> impl Iterator<Item = u16> {
    let tables = ["tcp", "tcp6"].map(|name| root.read(format!("proc/{pid}/net/{name}")));
    let tables = tables.into_iter().filter_map(Result::ok);
    let ports: BTreeMap<String, u16> = tables.flat_map(|table| parse_listening(&table)).collect();
    let folder = format!("proc/{pid}/fd");
    let descriptors = match ports.is_empty() {
        true => Vec::new(),
        false => root.list(&folder).unwrap_or_default(),
    };
    let folder = root.path(&folder);
    descriptors.into_iter().filter_map(move |name| {
        let target = fs::read_link(folder.join(name)).ok()?;
        let inode = target.to_str()?.strip_prefix("socket:[")?;
        ports.get(inode.strip_suffix(']')?).copied()
    })
}

/// Parses the inodes and ports of the listening sockets in a table; malformed lines are ignored.
fn parse_listening(table: &[u8]) -> Vec<(String, u16)> {
    /// Columns of the local address, the state and the inode (Documentation/networking/proc_net_tcp.rst).
    const LOCAL: usize = 1;
    const STATE: usize = 3;
    const INODE: usize = 9;
    let text = String::from_utf8_lossy(table);
    let socket = |line: &str| {
        let columns: Vec<&str> = line.split_ascii_whitespace().collect();
        let is_listening = columns.get(STATE) == Some(&LISTENING);
        let inode = columns.get(INODE).filter(|_| is_listening)?;
        let port = columns.get(LOCAL)?.rsplit_once(':')?.1;
        Some(((*inode).to_owned(), u16::from_str_radix(port, 16).ok()?))
    };
    text.lines().filter_map(socket).collect()
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::process::Command;

    use super::*;

    #[test]
    fn a_table_has_the_inodes_of_what_listens() {
        let table = b"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   \
            0: 00000000:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 20341 1 0 100 0 0 10 0\n   \
            1: 0100007F:D2B2 0100007F:1F90 01 00000000:00000000 00:00000000 00000000     0        0 20342 1 0 20 4 30 10 -1\n";
        assert_eq!(parse_listening(table), [("20341".to_owned(), 8080)]);
        assert!(parse_listening(b"\xff\n0A 0A 0A 0A").is_empty());
    }

    #[test]
    fn our_own_port_is_found() {
        let root = Root::real();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let found = listening_ports(&root, std::process::id());
        assert!(found.contains(&port), "{found:?}");
        drop(listener);
        assert!(!listening_ports(&root, std::process::id()).contains(&port));
    }

    #[test]
    fn a_process_that_listens_is_told_from_one_that_does_not() {
        let root = Root::real();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        assert!(awaits_connections(&root, std::process::id()));
        let mut child = Command::new("sleep").arg("60").spawn().expect("sleep");
        let child_awaits = awaits_connections(&root, child.id());
        let _ = child.kill();
        let _ = child.wait();
        drop(listener);
        assert!(!child_awaits);
    }
}
