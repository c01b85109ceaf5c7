//! Moves code into huge pages: a stopped thread maps anonymous memory, copies the code into it, collapses it, and moves
//! it over the code.
//!
//! The other threads need not be stopped. mremap(2) holds the lock of the address space from the removal of the old
//! mapping to the insertion of the new one. A thread that runs code of the range during that time waits in a page
//! fault, and finds the same bytes at the same addresses.
//!
//! A block with a written page is left unchanged: the page contains a breakpoint, a kernel probe or a patch, and its
//! author expects it in the file mapping.

use std::ops::Range;

use super::code;
use crate::spawn::registers::SystemCall;
use crate::spawn::tracee;

const READ_WRITE: u64 = (libc::PROT_READ | libc::PROT_WRITE) as u64;
const READ_RUN: u64 = (libc::PROT_READ | libc::PROT_EXEC) as u64;
const OWN: u64 = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS) as u64;
const NO_FILE: u64 = u64::MAX;
const OVER: u64 = (libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED) as u64;

/// The next system call.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Maps space for the copy and its alignment.
    Map,
    /// Unmaps the part before the aligned part.
    TrimHead,
    /// Unmaps the part after it.
    TrimTail,
    /// Collapses the copy.
    Collapse,
    /// Makes the copy executable and read-only.
    Protect,
    /// Moves the copy over the code.
    Replace,
    /// Unmaps the copy, because of this error.
    Discard(i32),
}

/// An ongoing copy of code into huge pages.
#[derive(Debug)]
pub(super) struct Copying {
    pid: u32,
    code: Range<u64>,
    block: u64,
    /// The whole mapping.
    room: Range<u64>,
    /// The start of the copy in the mapping.
    copy: u64,
    step: Step,
}

impl Copying {
    /// Creates the copy of whole blocks of code.
    pub(super) const fn new(pid: u32, code: Range<u64>, block: u64) -> Self {
        Self {
            pid,
            code,
            block,
            room: 0..0,
            copy: 0,
            step: Step::Map,
        }
    }

    pub(super) const fn code(&self) -> &Range<u64> {
        &self.code
    }

    const fn bytes(&self) -> u64 {
        self.code.end - self.code.start
    }

    /// Returns the next call.
    pub(super) fn call(&self) -> SystemCall {
        let (copy, bytes) = (self.copy, self.bytes());
        let end = copy + bytes;
        match self.step {
            Step::Map => {
                let arguments = [0, bytes + self.block, READ_WRITE, OWN, NO_FILE, 0];
                SystemCall::new(libc::SYS_mmap, arguments)
            }
            Step::TrimHead => unmap(self.room.start..copy),
            Step::TrimTail => unmap(end..self.room.end),
            Step::Collapse => {
                SystemCall::new(libc::SYS_madvise, [copy, bytes, libc::MADV_COLLAPSE as u64])
            }
            Step::Protect => SystemCall::new(libc::SYS_mprotect, [copy, bytes, READ_RUN]),
            Step::Replace => {
                let arguments = [copy, bytes, bytes, OVER, self.code.start];
                SystemCall::new(libc::SYS_mremap, arguments)
            }
            Step::Discard(_) => unmap(copy..end),
        }
    }

    /// Processes the result of that call; returns the outcome after the last one.
    pub(super) fn go_on(&mut self, result: Result<u64, i32>) -> Option<Result<(), i32>> {
        self.step = match (self.step, result) {
            (Step::Map, Ok(start)) => self.mapped(start),
            // An initially aligned copy has nothing before it: this error has no effect.
            (Step::TrimHead, _) => Step::TrimTail,
            (Step::TrimTail, _) => self.copied(),
            (Step::Collapse, Ok(_)) => Step::Protect,
            (Step::Protect, Ok(_)) => self.protected(),
            (Step::Collapse | Step::Protect | Step::Replace, Err(error)) => Step::Discard(error),
            (Step::Replace, Ok(_)) => return Some(Ok(())),
            (Step::Map, Err(error)) | (Step::Discard(error), _) => return Some(Err(error)),
        };
        None
    }

    const fn mapped(&mut self, start: u64) -> Step {
        self.room = start..start + self.bytes() + self.block;
        self.copy = start.next_multiple_of(self.block);
        Step::TrimHead
    }

    fn copied(&self) -> Step {
        match tracee::copy(self.pid, self.code.clone(), self.copy) {
            Ok(()) => Step::Collapse,
            Err(error) => Step::Discard(error),
        }
    }

    /// The program may have changed the code during the copy.
    fn protected(&self) -> Step {
        match code::is_unwritten(self.pid, &self.code) {
            true => Step::Replace,
            false => Step::Discard(libc::EBUSY),
        }
    }
}

fn unmap(range: Range<u64>) -> SystemCall {
    SystemCall::new(libc::SYS_munmap, [range.start, range.end - range.start])
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: u64 = 2 << 20;

    /// The mapping is released at every possible refusal.
    #[test]
    fn a_refusal_gives_the_copy_back() {
        let own = std::process::id();
        let mut copying = Copying::new(own, 4 * BLOCK..6 * BLOCK, BLOCK);
        assert_eq!(copying.go_on(Err(libc::ENOMEM)), Some(Err(libc::ENOMEM)));
        copying.step = Step::Map;
        assert_eq!(copying.go_on(Ok(101 * BLOCK + 4096)), None);
        assert_eq!(copying.copy, 102 * BLOCK);
        copying.step = Step::Collapse;
        assert_eq!(copying.go_on(Err(libc::EINVAL)), None);
        assert!(matches!(copying.step, Step::Discard(libc::EINVAL)));
        assert_eq!(copying.go_on(Ok(0)), Some(Err(libc::EINVAL)));
    }

    /// A range that is no longer code is not replaced.
    #[test]
    fn what_is_no_code_is_not_replaced() {
        let own = std::process::id();
        let mut copying = Copying::new(own, BLOCK..2 * BLOCK, BLOCK);
        copying.step = Step::Protect;
        assert_eq!(copying.go_on(Ok(0)), None);
        assert!(matches!(copying.step, Step::Discard(libc::EBUSY)));
    }
}
