//! Which memory is used: the bits that the processor sets in page tables.

use std::fs::OpenOptions;
use std::io::Write;

use crate::error::{Error, Result};
use crate::root::Root;

/// Clears the bits of all pages of a process (`/proc/PID/clear_refs`, value 1,
/// fs/proc/task_mmu.c), so that `Referenced` of smaps tells afterwards what was used since.
///
/// It changes no content. But the kernel chooses by these bits what to reclaim: until they are
/// set again, memory that is used rarely looks as if it were not.
///
/// # Errors
/// The process is gone or belongs to another user.
pub fn clear_used_bits(root: &Root, pid: u32) -> Result<()> {
    let path = root.path(format!("proc/{pid}/clear_refs"));
    OpenOptions::new()
        .write(true)
        .open(&path)
        .and_then(|mut file| file.write_all(b"1\n"))
        .map_err(|error| Error::io("clearing the used bits by", &path, error))
}
