//! The steps from fork to exec, with the error message of each.

use std::io;

use super::calls::errno;
use super::wire::Order;

/// The step that failed on the way to the workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(super) enum Step {
    Binding = 1,
    HugePages,
    Groups,
    User,
    Directory,
    Input,
    Filter,
    Nodes,
    Cgroup,
    Exec,
    Gate,
    Mount,
}

impl Step {
    pub(super) fn check(self, result: libc::c_int) -> Result<(), Failure> {
        match result {
            -1 => Err(Failure {
                step: self as i32,
                errno: errno(),
            }),
            _ => Ok(()),
        }
    }
}

/// A failed step as plain numbers, because it crosses the shared page; step 0 is none.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Failure {
    pub(super) step: i32,
    pub(super) errno: i32,
}

impl Failure {
    pub(super) fn sentence(self, order: &Order) -> String {
        let doing = match self.step {
            1 => "binding it to its processors".to_owned(),
            2 => "setting its huge pages by prctl".to_owned(),
            3 => "setting its groups".to_owned(),
            4 => "setting its user".to_owned(),
            5 => format!("changing to {}", text(order.directory.as_deref())),
            6 => "giving it its input".to_owned(),
            7 => "filtering its system calls (seccomp)".to_owned(),
            8 => "setting its memory nodes by set_mempolicy".to_owned(),
            9 => "joining its cgroup".to_owned(),
            11 => "announcing that it can start".to_owned(),
            12 => "mounting its own tmpfs".to_owned(),
            _ => format!(
                "running `{}`",
                text(order.command.first().map(Vec::as_slice))
            ),
        };
        format!("{doing}: {}", io::Error::from_raw_os_error(self.errno))
    }
}

fn text(bytes: Option<&[u8]>) -> String {
    String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned()
}
