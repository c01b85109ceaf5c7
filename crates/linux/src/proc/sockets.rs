//! Sockets of a process, from `/proc/PID/net/tcp` and the links of `/proc/PID/fd`.

use std::collections::BTreeSet;
use std::fs;

use crate::machine::root::Root;

/// `TCP_LISTEN` (include/net/tcp_states.h) as the table writes it.
const LISTENING: &str = "0A";

/// Whether a process waits for TCP connections: one of its descriptors is a listening socket of its
/// network. False where its descriptors may not be read.
#[must_use]
pub fn awaits_connections(root: &Root, pid: u32) -> bool {
    let tables = ["tcp", "tcp6"].map(|name| root.read(format!("proc/{pid}/net/{name}")));
    let tables = tables.into_iter().filter_map(Result::ok);
    let listening: BTreeSet<String> = tables.flat_map(|table| parse_listening(&table)).collect();
    if listening.is_empty() {
        return false;
    }
    let folder = format!("proc/{pid}/fd");
    let descriptors = root.list(&folder).unwrap_or_default().into_iter();
    let mut targets = descriptors.filter_map(|name| {
        let target = fs::read_link(root.path(&folder).join(name)).ok()?;
        let inode = target.to_str()?.strip_prefix("socket:[")?;
        Some(inode.strip_suffix(']')?.to_owned())
    });
    targets.any(|inode| listening.contains(&inode))
}

/// The inodes of the listening sockets in a table; a line that is something else has none.
fn parse_listening(table: &[u8]) -> Vec<String> {
    /// Columns of the state and of the inode (Documentation/networking/proc_net_tcp.rst).
    const STATE: usize = 3;
    const INODE: usize = 9;
    let text = String::from_utf8_lossy(table);
    let inode = |line: &str| {
        let columns: Vec<&str> = line.split_ascii_whitespace().collect();
        let is_listening = columns.get(STATE) == Some(&LISTENING);
        let inode = columns.get(INODE).filter(|_| is_listening)?;
        Some((*inode).to_owned())
    };
    text.lines().filter_map(inode).collect()
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
        assert_eq!(parse_listening(table), ["20341"]);
        assert!(parse_listening(b"\xff\n0A 0A 0A 0A").is_empty());
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
