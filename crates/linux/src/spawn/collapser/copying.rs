//! Code in huge pages: a stopped thread maps anonymous memory, and moves it over the code once it
//! holds the same bytes and is huge.
//!
//! The other threads need not be stopped. mremap(2) holds the lock of the address space from the
//! end of the old mapping to the beginning of the new one, so a thread that runs code of the range
//! in that moment waits in a page fault, and finds the same bytes at the same addresses.
//!
//! A block in which a page was written stays as it is: that is a breakpoint, a probe of the kernel,
//! or a patch, and whoever made it looks for it in the mapping of the file.

use std::ops::Range;

use super::code;
use crate::spawn::registers::SystemCall;
use crate::spawn::tracee;

const READ_WRITE: u64 = (libc::PROT_READ | libc::PROT_WRITE) as u64;
const READ_RUN: u64 = (libc::PROT_READ | libc::PROT_EXEC) as u64;
const OWN: u64 = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS) as u64;
const NO_FILE: u64 = u64::MAX;
const OVER: u64 = (libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED) as u64;

/// Which call comes next.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Room for the copy, and for its alignment.
    Map,
    /// What lies before the aligned part goes back.
    TrimHead,
    /// What lies behind it goes back.
    TrimTail,
    /// The copy becomes huge.
    Collapse,
    /// It may be run, and no longer be written.
    Protect,
    /// It takes the place of the code.
    Replace,
    /// It goes back, because of this error.
    Discard(i32),
}

/// Code on its way into huge pages.
#[derive(Debug)]
pub(super) struct Copying {
    pid: u32,
    code: Range<u64>,
    block: u64,
    /// What was mapped.
    room: Range<u64>,
    /// Where in it the copy begins.
    copy: u64,
    step: Step,
}

impl Copying {
    /// Of whole blocks of code.
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

    /// The next call.
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

    /// Takes the result of that call; how it ended, where it was the last one.
    pub(super) fn go_on(&mut self, result: Result<u64, i32>) -> Option<Result<(), i32>> {
        self.step = match (self.step, result) {
            (Step::Map, Ok(start)) => self.mapped(start),
            // There is nothing before a copy that was aligned at once: an error without effect.
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

    /// The program may have changed the code meanwhile.
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

    /// What was mapped goes back, whatever is refused.
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

    /// Nothing takes the place of what is no code any more.
    #[test]
    fn what_is_no_code_is_not_replaced() {
        let own = std::process::id();
        let mut copying = Copying::new(own, BLOCK..2 * BLOCK, BLOCK);
        copying.step = Step::Protect;
        assert_eq!(copying.go_on(Ok(0)), None);
        assert!(matches!(copying.step, Step::Discard(libc::EBUSY)));
    }
}
