//! The kernel thread khugepaged.

use hugewise_base::missing::{Fact, Missing};

use crate::machine::error::{Error, Kind, Result};
use crate::machine::root::Root;

/// The thread, if it was found. It does not exist in a container with its own PID namespace, nor without transparent
/// huge pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Khugepaged {
    pid: Option<u32>,
}

impl Khugepaged {
    /// Searches all processes for it.
    pub(super) fn find(root: &Root) -> Self {
        let names = root.list("proc").unwrap_or_default();
        let pid = names.iter().find_map(|name| {
            let pid: u32 = name.parse().ok()?;
            let comm = root.read_trimmed(format!("proc/{pid}/comm")).ok()?;
            (comm == "khugepaged").then_some(pid)
        });
        Self { pid }
    }

    /// Returns its time on a processor since boot, in nanoseconds: the first number of `/proc/PID/schedstat`.
    pub(super) fn cpu_ns(self, root: &Root) -> Fact<u64> {
        let absent = || Missing::not_supported("the kernel thread khugepaged");
        let pid = self.pid.ok_or_else(absent)?;
        read_cpu_ns(root, pid).map_err(|error| match error.kind {
            Kind::NotFound => absent(),
            _ => error.into_missing("root"),
        })
    }
}

fn read_cpu_ns(root: &Root, pid: u32) -> Result<u64> {
    let path = format!("proc/{pid}/schedstat");
    let text = root.read_trimmed(&path)?;
    let first = text.split_whitespace().next().unwrap_or_default();
    first
        .parse()
        .map_err(|_| Error::malformed(&root.path(&path), format!("`{text}`")))
}
