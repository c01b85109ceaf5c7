//! The accessed bits of page table entries, set by the processor.

use std::fs::OpenOptions;
use std::io::Write;

use hugewise_base::missing::Missing;
use hugewise_observe::forecast::UsedWhere;

use crate::machine::error::{Error, Result};
use crate::machine::root::Root;
use crate::probe::frozen::expand;

/// Clears the bits of all pages of a process (`/proc/PID/clear_refs`, value 1, fs/proc/task_mmu.c), so that
/// `Referenced` of smaps later shows the memory used since.
///
/// This changes no content. But the kernel uses these bits for reclaim: until they are set again, rarely used memory
/// looks unused.
///
/// # Errors
/// The process has ended or belongs to another user.
pub fn clear_accessed_bits(root: &Root, pid: u32) -> Result<()> {
    let path = root.path(format!("proc/{pid}/clear_refs"));
    OpenOptions::new()
        .write(true)
        .open(&path)
        .and_then(|mut file| file.write_all(b"1\n"))
        .map_err(|error| Error::io("clearing the accessed bits with", &path, error))
}

const DAMON: &str = "sys/kernel/mm/damon/admin/kdamonds";
const IDLE_PAGES: &str = "sys/kernel/mm/page_idle/bitmap";

/// Returns why the kernel's other two access monitors are not available, and how to get them. DAMON samples regions of
/// addresses (Documentation/admin-guide/mm/damon/usage.rst), and idle page tracking keeps a bit for each frame
/// (Documentation/admin-guide/mm/idle_page_tracking.rst). Both change the kernel's state while they run, so they are
/// only detected, not started.
#[must_use]
pub fn read_used_where(root: &Root) -> UsedWhere {
    UsedWhere {
        damon: damon(root),
        idle_pages: idle_pages(root),
    }
}

/// A context lists the available operations, and none exists until one is created.
fn damon(root: &Root) -> Missing {
    if !root.path(DAMON).exists() {
        return absent("DAMON (CONFIG_DAMON_SYSFS and CONFIG_DAMON_VADDR, Linux 5.18)");
    }
    let lists = expand(root, &format!("{DAMON}/*/contexts/*/avail_operations"));
    let Some(list) = lists.first() else {
        return Missing::unreadable("DAMON lists its operations only while a context exists");
    };
    match root.read_trimmed(list) {
        Ok(text) if text.split_whitespace().any(|word| word == "vaddr") => not_started("damo"),
        Ok(_) => absent("addresses of processes in DAMON (CONFIG_DAMON_VADDR)"),
        Err(error) => error.into_missing("root"),
    }
}

fn idle_pages(root: &Root) -> Missing {
    if root.path(IDLE_PAGES).exists() {
        not_started("a tool that marks its frames idle, as root")
    } else {
        absent("/sys/kernel/mm/page_idle (CONFIG_IDLE_PAGE_TRACKING)")
    }
}

fn absent(what: &str) -> Missing {
    Missing::not_supported(what)
}

fn not_started(by: &str) -> Missing {
    Missing::not_permitted(format!("{by}; hugewise does not start it"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::root::machine_of;

    const CONTEXT: &str = "sys/kernel/mm/damon/admin/kdamonds/0/contexts/0/avail_operations";

    fn told(files: &[(&str, &str)]) -> [String; 2] {
        let (_folder, root) = machine_of(files);
        let used = read_used_where(&root);
        [used.damon.to_string(), used.idle_pages.to_string()]
    }

    #[test]
    fn each_absence_names_what_would_help() {
        let [damon, idle] = told(&[]);
        assert!(damon.contains("CONFIG_DAMON_VADDR, Linux 5.18"), "{damon}");
        assert!(idle.contains("CONFIG_IDLE_PAGE_TRACKING"), "{idle}");
        let physical = told(&[(CONTEXT, "paddr\n")]);
        assert!(physical[0].contains("(CONFIG_DAMON_VADDR)"), "{physical:?}");
        let unknown = told(&[("sys/kernel/mm/damon/admin/kdamonds/nr_kdamonds", "0\n")]);
        assert!(unknown[0].contains("only while a context"), "{unknown:?}");
    }

    #[test]
    fn what_is_there_is_not_called_absent() {
        let there = [(CONTEXT, "vaddr\nfvaddr\npaddr\n"), (IDLE_PAGES, "")];
        let [damon, idle] = told(&there);
        assert!(damon.contains("damo; hugewise does not start"), "{damon}");
        assert!(idle.contains("marks its frames idle"), "{idle}");
        let only_files = told(&[(CONTEXT, "fvaddr\n")]);
        assert!(only_files[0].contains("(CONFIG_DAMON_VADDR)"));
    }
}
